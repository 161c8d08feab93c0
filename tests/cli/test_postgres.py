#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_postgres.py: perhaps guard before a PostgreSQL table. PERHAPS is the tool's path; run under tests/postgres/server,
which sets the other variables."""
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

PERHAPS = os.environ["PERHAPS"]
SERVER = os.environ["PERHAPS_TEST_SERVER"]
CONNINFO = os.environ["PERHAPS_TEST_POSTGRES"]
FOLDER = os.environ["PERHAPS_TEST_FOLDER"]
STORE = f"postgres:{CONNINFO} password=secret"


def psql(sql):
    return subprocess.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", sql, CONNINFO],
                          check=True, capture_output=True, text=True).stdout


class Postgres(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="perhaps-postgres-cli-")
        self.folder = pathlib.Path(self.scratch.name)
        psql("DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public;"
             "CREATE TABLE users(name text PRIMARY KEY, padded char(8), id int);"
             "INSERT INTO users SELECT 'user ' || i, 'p' || i, i FROM generate_series(1, 1000) AS i")
        (self.folder / "stored").write_text(psql("SELECT name FROM users"))
        self.run_tool("create", "-q", "f.filter", "stored")

    def tearDown(self):
        self.scratch.cleanup()

    def run_tool(self, *arguments, keys="", status=0, **environment):
        done = subprocess.run([PERHAPS, *arguments], cwd=self.folder, input=keys, capture_output=True, text=True,
                              timeout=120, check=False, env={**os.environ, "LC_ALL": "C", **environment})
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertNotIn("secret", done.stdout + done.stderr)
        return done

    def guard(self, *options, keys, status=0, store=STORE, column="name"):
        return self.run_tool("guard", "f.filter", "--store", store, "--table", "users", "--column", column, *options,
                             keys=keys, status=status)

    def test_confirms(self):
        keys = "".join(f"user {i}\n" for i in range(900, 3000))
        done = self.guard(keys=keys)
        self.assertEqual(done.stdout, "".join(f"user {i}\n" for i in range(900, 1001)))
        self.assertIn("confirmed:        101\n", done.stderr)
        self.assertNotIn("no index", done.stderr)
        self.guard("-q", keys="nobody\n", status=1)

    def test_uris_and_schema(self):
        for scheme in ("postgres", "postgresql"):
            store = f"{scheme}://tester:secret@/postgres?host={FOLDER}"
            self.assertEqual(self.guard("-q", "--schema=public", keys="user 7\n", store=store).stdout, "user 7\n")
        done = self.guard("--schema=other", keys="user 7\n", status=2)
        self.assertIn('no table or view "users" in schema "other"', done.stderr)

    def test_report_has_no_password(self):
        self.guard("--report", "report.json", keys="user 7\n")
        report = json.loads((self.folder / "report.json").read_text())
        self.assertEqual(report["store"]["text"], f"postgres@{FOLDER}")
        self.assertNotIn("secret", (self.folder / "report.json").read_text())
        self.assertTrue(report["indexed"])

    def test_query_and_canonical(self):
        (self.folder / "ids").write_text(psql("SELECT id FROM users WHERE id <= 10"))
        self.run_tool("create", "-q", "f.filter", "-f", "ids")
        done = self.run_tool("guard", "-q", "f.filter", "--store", STORE, "--query",
                             "SELECT id::text FROM users WHERE id::text = $1 AND id <= 10",
                             keys="7\n007\n11\n")
        self.assertEqual(done.stdout, "7\n")
        (self.folder / "padded").write_text(psql("SELECT rtrim(padded) FROM users"))
        self.run_tool("create", "-q", "f.filter", "-f", "padded")
        done = self.guard("-q", "--audit", "--canonical=rtrim", keys="p7     \np7\nP7\n", column="padded")
        self.assertEqual(done.stdout, "p7     \np7\n")

    def test_refuses(self):
        for options, words in (
                ({"column": "id"}, "is of type integer, which takes '007' and '7' for one number"),
                ({"column": "padded"}, "ignores spaces at the end of a key; give a column that compares bytewise, or its "
                                       "canonical form, rtrim"),
                ({"column": "ctid"}, "is a system column"),
                ({"column": "nmae"}, 'table "users" has no column "nmae"; it has: name, padded, id'),
                ({"store": "postgres:host=/nowhere"}, "there is no connection to the server"),
                ({"store": "postgres:nonsense=1 password=secret"}, "library cannot read the address"),
                ({"store": "postgres:host=x password='secret"}, "library cannot read the address"),
                ({"store": "postgresql://tester:a@secret@nowhere/shop"}, "has an @ too many"),
                ({"store": "mysql://tester:secret@nowhere/shop"}, "'mysql:...' is not of the form sqlite:PATH or postgres:"),
                ({"store": "host=x password=secret"}, "begins neither with sqlite: nor with postgres:")):
            done = self.guard(keys="user 7\n", status=2, **options)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stdout, "")

    def test_without_libpq(self):
        """Everything else works; a PostgreSQL store is refused."""
        (self.folder / "libpq.so.5").write_text("")
        arguments = ("guard", "f.filter", "--table", "users", "--column", "name", "--store", STORE)
        done = self.run_tool(*arguments, keys="user 7\n", status=2, LD_LIBRARY_PATH=str(self.folder))
        self.assertIn("libpq.so.5: PostgreSQL's library cannot be loaded", done.stderr)
        self.assertIn("file too short); install it (Debian: libpq5)", done.stderr)
        self.run_tool("check", "-q", "f.filter", keys="user 7\n", LD_LIBRARY_PATH=str(self.folder))

    def test_locked_table(self):
        locker = subprocess.Popen(["psql", "-XAtq", CONNINFO], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        locker.stdin.write("BEGIN; LOCK TABLE users IN ACCESS EXCLUSIVE MODE; SELECT 'locked';\n")
        locker.stdin.flush()
        self.assertEqual(locker.stdout.readline(), "locked\n")
        done = self.guard("--no-wait", keys="user 7\n", status=2)
        self.assertIn("another session kept the table locked for longer than 0 ms", done.stderr)
        locker.communicate("ROLLBACK;\n")

    def test_server_stops_in_the_middle(self):
        """What was answered stays answered; the next key is an error, not an "absent"."""
        command = [PERHAPS, "guard", "--line-buffered", "f.filter", "--store", STORE, "--table", "users", "--column",
                   "name"]
        with subprocess.Popen(command, cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as tool:
            tool.stdin.write("user 1\n")
            tool.stdin.flush()
            self.assertEqual(tool.stdout.readline(), "user 1\n")
            subprocess.run([SERVER, "stop"], check=True)
            try:
                output, errors = tool.communicate("user 2\nuser 3\n", timeout=60)
            finally:
                subprocess.run([SERVER, "start"], check=True)
            self.assertEqual((tool.returncode, output), (2, ""))
            self.assertIn("there is no connection to the server", errors)
            self.assertNotIn("verdict", errors)


if __name__ == "__main__":
    unittest.main()
