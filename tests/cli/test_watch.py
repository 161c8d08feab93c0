#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perhaps guard --watch: signals, writers beside it, metrics, files that are not to be used, and kills.

    PERHAPS=PROGRAM PROMTOOL=PROGRAM python3 tests/cli/test_watch.py quick | kills COUNT | [-v] [CLASS[.TEST]...]

"kills" kills the guard that many times at random moments, and starts it again over what was written meanwhile.
"""
import fcntl
import os
import pathlib
import random
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from test_behaviour import PATIENCE, Case, wait_until  # noqa: E402

PROMTOOL = os.environ.get("PROMTOOL", "promtool")
STORE = ("--store", "sqlite:s.db", "--table", "t", "--column", "k")


class WatchCase(Case):
    """A table of the keys 0 to 999 and one more, and guards that watch it."""

    store = STORE

    def setUp(self):
        super().setUp()
        self.make_table()

    def make_table(self):
        self.db = sqlite3.connect(self.work / "s.db", isolation_level=None, timeout=PATIENCE)
        self.addCleanup(self.db.close)
        self.db.execute("PRAGMA synchronous = OFF")
        self.db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, k TEXT)")
        self.db.execute("CREATE INDEX i ON t(k)")
        self.db.execute("INSERT INTO t VALUES (0, 'resident')")  # stays
        self.db.executemany("INSERT INTO t(k) VALUES (?)", ((str(i),) for i in range(1000)))

    def install_log(self):
        self.run_tool("guard", "--install-log", *self.store)

    def begin_journal(self, kind):
        self.run_tool("create", "-q", "--journal", "--kind", kind, "-n", "100", "f", "/dev/null")

    def watch(self, *options, **more):
        with open(self.work / "errors", "wb") as errors:
            buffered = () if more.pop("buffered", False) else ("--line-buffered",)
            return self.start("guard", "--watch", "f", *self.store, "--interval", "0.02", "--metrics-file", "m.prom",
                              *buffered, *options, stdin=more.pop("stdin", subprocess.PIPE), stderr=errors, **more)

    def metric(self, name):
        """As the guard wrote it last."""
        text = (self.work / "m.prom").read_text()
        return float(next(line.split()[1] for line in text.splitlines() if line.startswith(f"perhaps_guard_{name}{{")))

    def wait_until_caught_up(self):
        """Until the filter has what the store has now. (A key that passes does not show that: one in a hundred passes
        before it is there, and all do while the filter is made.)"""
        now = time.time()

        def written():
            path = self.work / "m.prom"
            return path.stat().st_mtime if path.exists() else 0.0

        before = written()

        def has_caught_up():
            nonlocal before
            then, before = before, written()
            # What is read now was counted after the file before it was written.
            return then < before and then - self.metric("staleness_seconds") > now

        wait_until(has_caught_up, "the guard has caught up")

    def errors(self):
        return (self.work / "errors").read_text()

    def rows(self):
        return {row[0] for row in self.db.execute("SELECT k FROM t WHERE k IS NOT NULL")}

    def ask(self, process, keys):
        """What the guard prints of these keys, which must end with one that the store has."""
        keys = list(keys)
        writer = threading.Thread(target=lambda: (process.stdin.write("".join(f"{key}\n" for key in keys).encode()),
                                                  process.stdin.flush()))
        writer.start()
        printed = []
        while not printed or printed[-1] != keys[-1]:
            line = process.stdout.readline()
            if not line:
                raise AssertionError(f"the guard ended: {self.errors()}")
            printed.append(line.decode().rstrip("\n"))
        writer.join()
        return printed

    def ask_all(self, process):
        """Every key of the store, and as many others: printed are exactly those that it has."""
        rows = sorted(self.rows())
        absent = [f"absent {i}" for i in range(len(rows))]
        asked = [key for pair in zip(absent, rows) for key in pair]
        self.assertEqual(self.ask(process, asked), rows)

    def end_by(self, process, number, status=0):
        process.send_signal(number)
        self.assertEqual(process.wait(PATIENCE), status, self.errors())

    def change(self, generator):
        """A transaction of what a table has to put up with."""
        ids = [row[0] for row in self.db.execute("SELECT id FROM t WHERE id > 0 ORDER BY random() LIMIT 6")]
        self.db.execute("BEGIN IMMEDIATE")
        self.db.execute("DELETE FROM t WHERE id = ?", (ids[0],))
        self.db.execute("INSERT INTO t(id, k) VALUES (?, ?)", (ids[0], f"reused {generator.random()}"))
        self.db.execute("UPDATE t SET k = ? WHERE id = ?", (f"updated {generator.random()}", ids[1]))
        self.db.execute("INSERT INTO t(k) SELECT k FROM t WHERE id = ?", (ids[2],))
        self.db.execute("DELETE FROM t WHERE k = (SELECT k FROM t WHERE id = ?)", (ids[3],))
        self.db.execute("INSERT INTO t(k) VALUES (?), (?)", (str(generator.randrange(10**6)), str(ids[4])))
        self.db.execute("COMMIT" if generator.random() < 0.9 else "ROLLBACK")


    def trim(self):
        """Keeps the table from growing."""
        self.db.execute("DELETE FROM t WHERE id IN (SELECT id FROM t WHERE id > 0 ORDER BY random() LIMIT max(0, ("
                        "SELECT count(*) - 1500 FROM t)))")

    def kill_again_and_again(self, generator, count, *options):
        loaded = 0
        for _ in range(count):
            process = self.watch(*options)
            self.ask_all(process)  # at once, while it loads
            until = time.monotonic() + generator.random() * 0.4
            killer = threading.Timer(generator.random() * 0.4, process.kill)
            killer.start()
            while time.monotonic() < until:
                self.change(generator)
            killer.join()
            process.wait()
            loaded += "brought up to date" in self.errors()  # unless it was killed before
            for _ in range(generator.randrange(4)):
                self.change(generator)
            self.trim()
        return loaded


class Signals(WatchCase):
    def test_term_saves(self):
        self.install_log()
        process = self.watch()
        self.ask_all(process)
        self.db.execute("INSERT INTO t(k) VALUES ('new')")
        self.end_by(process, signal.SIGTERM)
        self.assertTrue((self.work / "f").exists())
        self.assertFalse((self.work / "f.lock").exists())
        self.db.execute("DELETE FROM t WHERE k = '17'; ")
        process = self.watch()
        self.ask_all(process)
        self.assertIn("brought up to date", self.errors())
        self.end_by(process, signal.SIGINT)

    def test_a_key_that_is_cut_off_is_none(self):
        process = self.watch()
        self.ask(process, ["5"])
        process.stdin.write(b"7")
        process.stdin.flush()
        self.end_by(process, signal.SIGTERM)
        self.assertEqual(process.stdout.read(), b"")

    def test_hup_loads(self):
        self.install_log()
        process = self.watch()
        self.ask_all(process)
        wait_until(lambda: (self.work / "f").exists(), "the filter is saved")
        before = (self.work / "f").stat().st_size
        self.run_tool("rebuild", "f", *STORE, "-n", "100000")
        self.assertGreater((self.work / "f").stat().st_size, before)
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: "brought up to date" in self.errors(), "it is loaded")
        (self.work / "f").write_bytes(b"nothing")
        process.send_signal(signal.SIGHUP)
        wait_until(lambda: "not loaded: is not a perhaps filter" in self.errors(), "it is refused")
        self.ask_all(process)
        self.db.execute("INSERT INTO t(k) VALUES ('new')")
        self.wait_until_caught_up()
        self.assertEqual(self.ask(process, ["new", "resident"]), ["new", "resident"])
        self.end_by(process, signal.SIGTERM)
        self.run_tool("verify", "f")

    def test_stay_until_a_signal(self):
        process = self.watch("--stay", stdin=subprocess.DEVNULL)
        wait_until(lambda: (self.work / "f").exists(), "the filter is saved")
        self.assertIsNone(process.poll())
        self.end_by(process, signal.SIGTERM)

    def test_end_of_input(self):
        process = self.watch()
        out, _ = process.communicate(b"5\nnone\n6\n", PATIENCE)
        self.assertEqual(out, b"5\n6\n")
        self.assertEqual(process.returncode, 0)
        self.run_tool("verify", "f") # worth waiting for
        process = self.watch()
        self.assertEqual(process.communicate(b"none\n", PATIENCE)[0], b"")
        self.assertEqual(process.returncode, 1)


class Output(WatchCase):
    """Standard output that nobody reads."""

    KEYS = 60000

    def blocked(self, *options):
        """A guard that has found more than a pipe holds."""
        (self.work / "asked").write_text("absent\nresident\n" * self.KEYS)
        with open(self.work / "asked", "rb") as asked:
            process = self.watch(*options, stdin=asked, buffered=True)
        wait_until(lambda: self.waiting(process) > 50000 and not self.grows(process), "standard output is full")
        return process

    @staticmethod
    def waiting(process):
        return struct.unpack("i", fcntl.ioctl(process.stdout, termios.FIONREAD, b"\0\0\0\0"))[0]

    def grows(self, process):
        before = self.waiting(process)
        time.sleep(0.1)
        return self.waiting(process) != before

    def test_term_ends_it(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            for option in ((), ("--stay",)):
                with self.subTest(number=number, option=option):
                    self.run_tool("guard", "--install-log", *STORE)
                    process = self.blocked(*option)
                    self.db.execute("INSERT INTO t(k) VALUES (?)", (f"new {number} {option}",))
                    self.end_by(process, number)
                    self.assertIn("bytes were not written", self.errors())
                    printed = process.stdout.read()
                    self.assertTrue(b"resident\n".startswith(printed.replace(b"resident\n", b"")))
                    self.assertFalse((self.work / "f.lock").exists())
                    self.run_tool("verify", "f")
                    process = self.watch()
                    self.ask_all(process)
                    self.assertIn("brought up to date", self.errors())
                    self.end_by(process, signal.SIGTERM)

    def test_it_follows_meanwhile(self):
        self.install_log()
        process = self.blocked()
        before = self.metric("changes_total")
        self.db.execute("INSERT INTO t(k) VALUES ('new')")
        wait_until(lambda: self.metric("changes_total") > before, "the guard has caught up")
        self.assertEqual(process.stdout.read(), b"resident\n" * self.KEYS)
        self.assertEqual(process.wait(PATIENCE), 0)
        self.assertNotIn("not written", self.errors())

    def test_a_slow_reader_gets_what_was_found(self):
        process = self.blocked()
        process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        printed = b""
        while piece := os.read(process.stdout.fileno(), 50000):
            printed += piece
        self.assertEqual(process.wait(PATIENCE), 0)
        self.assertNotIn("not written", self.errors())
        self.assertEqual(printed, b"resident\n" * (len(printed) // 9))

    def test_a_reader_that_goes(self):
        process = self.blocked()
        process.stdout.close()
        self.assertEqual(process.wait(PATIENCE), -signal.SIGPIPE)


class Writers(WatchCase):
    def follow(self, *options):
        process = self.watch(*options)
        self.ask_all(process)
        generator = random.Random(1)
        for _ in range(20):
            self.change(generator)
        self.db.execute("INSERT INTO t(k) VALUES ('')")
        self.wait_until_caught_up()
        self.ask_all(process)
        return process

    def test_with_a_log(self):
        self.install_log()
        for kind in ("bloom", "cuckoo", "counting", "blocked"):
            with self.subTest(kind):
                (self.work / "f").unlink(missing_ok=True)
                process = self.follow("--kind", kind)
                self.end_by(process, signal.SIGTERM)

    def test_in_wal_mode(self):
        self.db.execute("PRAGMA journal_mode = WAL")
        self.install_log()
        self.end_by(self.follow(), signal.SIGTERM)

    def test_without_a_log(self):
        process = self.follow()
        wait_until(lambda: "it has no log" in self.errors(), "it says why it makes the filter anew")
        self.end_by(process, signal.SIGTERM)

    def test_the_log_is_shortened(self):
        self.install_log()
        self.end_by(self.follow(), signal.SIGTERM)
        self.assertEqual(self.db.execute('SELECT count(*) FROM "perhaps_log.t.k"').fetchone()[0], 1)
        self.run_tool("guard", "--remove-log", *STORE)
        self.assertEqual(self.db.execute("SELECT count(*) FROM sqlite_master WHERE name LIKE '%log%'").fetchone()[0], 0)

    def test_with_a_journal(self):
        """Nothing is saved, and everything is there, also when the guard is killed; nobody else changes the file."""
        self.install_log()
        for kind in ("bloom", "cuckoo", "counting", "blocked"):
            with self.subTest(kind):
                self.begin_journal(kind)
                process = self.follow("--interval", "0.01")
                added = self.run_tool("add", "f", "/dev/null", status=2)
                self.assertIn("is locked: the filter is open for changing it elsewhere", added.stderr.decode())
                self.db.execute("INSERT INTO t(k) VALUES ('newest')")
                self.wait_until_caught_up()
                self.assertEqual(self.run_tool("check", "f", data=b"newest\n").stdout, b"newest\n")
                process.kill()
                process.wait()
                self.assertEqual(self.run_tool("check", "f", data=b"newest\n").stdout, b"newest\n")
                self.db.execute("DELETE FROM t WHERE k = 'newest'")
                process = self.watch()
                self.ask_all(process)
                self.assertIn("brought up to date", self.errors())
                process.send_signal(signal.SIGHUP)
                self.ask_all(process)
                self.end_by(process, signal.SIGTERM)
                self.run_tool("verify", "f")
                for path in ("f", "f.journal"):
                    (self.work / path).unlink()

    def test_locked_store(self):
        self.install_log()
        process = self.watch("--no-wait")
        self.ask_all(process)
        self.db.execute("BEGIN EXCLUSIVE")
        self.db.execute("INSERT INTO t(k) VALUES ('new')")
        wait_until(lambda: "behind the store" in self.errors(), "it says that it is behind")
        self.db.execute("COMMIT")
        wait_until(lambda: "up to date with the store again" in self.errors(), "it has caught up")
        self.ask_all(process)
        self.end_by(process, signal.SIGTERM)

    def test_append_only(self):
        process = self.watch("--append-only")
        self.ask_all(process)
        self.db.execute("INSERT INTO t(k) VALUES ('new')")
        self.wait_until_caught_up()
        self.assertEqual(self.ask(process, ["new", "resident"]), ["new", "resident"])
        self.end_by(process, signal.SIGTERM)
        self.db.execute("INSERT INTO t(k) VALUES ('newer')")
        process = self.watch("--append-only")
        self.ask_all(process)
        self.assertIn("brought up to date", self.errors())
        self.end_by(process, signal.SIGTERM)


class Files(WatchCase):
    """Files that are not to be used: the filter is made from the store, and no key of the store is missed meanwhile."""

    def check(self, words, *options):
        process = self.watch(*options)
        self.ask_all(process)
        self.assertIn(words, self.errors())
        wait_until(lambda: "made from the store, for" in self.errors(), "it is made from the store")
        self.ask_all(process)
        self.end_by(process, signal.SIGTERM)
        process = self.watch(*options)
        self.ask_all(process)
        self.assertIn("brought up to date", self.errors())
        self.end_by(process, signal.SIGTERM)

    def test_missing(self):
        self.install_log()
        self.check("No such file")

    def test_empty_filter_without_a_position(self):
        self.install_log()
        self.run_tool("create", "-q", "-n", "10", "--metadata", "mine", "f")
        self.check("does not say where")
        self.assertIn(b"mine", self.run_tool("info", "f").stdout)

    def test_damaged(self):
        self.install_log()
        self.check("No such file")
        data = bytearray((self.work / "f").read_bytes())
        data[-1] ^= 1
        (self.work / "f").write_bytes(data)
        self.check("damaged")

    def test_other_parameters(self):
        self.install_log()
        self.check("No such file")
        self.check("rate", "-p", "0.001")
        self.check("another kind", "-p", "0.001", "--kind", "cuckoo")

    def test_another_database(self):
        self.install_log()
        self.check("No such file")
        self.db.close()
        (self.work / "s.db").unlink()
        self.db = sqlite3.connect(self.work / "s.db", isolation_level=None)
        self.db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, k TEXT)")
        self.db.execute("INSERT INTO t(k) VALUES ('other'), ('another')")
        self.install_log()
        self.check("cannot tell what changed")

    def test_secret_key(self):
        (self.work / "key").write_bytes(bytes(range(16)))
        (self.work / "key").chmod(0o600)
        self.install_log()
        self.check("No such file", "--key-file", "key")
        process = self.watch()
        self.assertEqual(process.wait(PATIENCE), 2)
        self.assertIn("secret key", self.errors())

    def test_no_log(self):
        self.check("No such file")
        self.db.execute("INSERT INTO t(k) VALUES ('new')")
        self.check("it has no log")


class Metrics(WatchCase):
    def test_readable_at_any_time(self):
        self.install_log()
        metrics = self.work / "m.prom"
        process = self.watch()
        generator = random.Random(1)
        wait_until(metrics.exists, "there are metrics")
        for i in range(60):
            self.change(generator)
            self.ask(process, ["resident"])
            text = metrics.read_text()
            self.assertTrue(text.endswith("\n") and text.count("# HELP") == text.count("# TYPE") == 52)
            if i % 20 == 0:
                checked = subprocess.run([PROMTOOL, "check", "metrics"], input=text, text=True, capture_output=True,
                                         check=False)
                self.assertEqual((checked.returncode, checked.stderr), (0, ""))
        self.end_by(process, signal.SIGTERM)
        values = dict(line.rsplit(" ", 1) for line in metrics.read_text().splitlines() if line[0] != "#")
        self.assertEqual(values['perhaps_guard_queries_total{guard="f"}'], "60")
        self.assertEqual(values['perhaps_guard_state{guard="f",state="ready"}'], "1")
        self.assertGreater(float(values['perhaps_guard_staleness_seconds{guard="f"}']), 0.0)
        self.assertGreater(int(values['perhaps_guard_catch_ups_total{guard="f"}']), 0)
        self.assertEqual([path.name for path in self.work.glob("m.prom*")], ["m.prom"])

    def test_without_watch(self):
        self.run_tool("create", "-q", "f", data=b"1\n")
        self.run_tool("guard", "-q", "f", *STORE, "--metrics-file", "m.prom", data=b"1\n")
        self.assertIn('perhaps_guard_confirmed_total{guard="f"} 1\n', (self.work / "m.prom").read_text())


class LongLock(WatchCase):
    def test_lock_that_is_held(self):
        self.install_log()
        process = self.watch()
        self.ask_all(process)
        wait_until(lambda: (self.work / "f").exists(), "the filter is saved")
        holder = self.start("add", "f")  # waits for keys, and holds the lock
        wait_until(lambda: (self.work / "f.lock").exists(), "the lock is held")
        self.db.execute("INSERT INTO t(k) VALUES ('new')")
        self.wait_until_caught_up()
        self.assertEqual(self.ask(process, ["new", "resident"]), ["new", "resident"])
        self.end_by(process, signal.SIGTERM, status=2)
        self.assertIn("not saved: another process", self.errors())
        holder.kill()


class KillCase(WatchCase):
    """Killed at random moments: whatever was written meanwhile, no key of the store is ever missed."""

    kills = 20

    def setUp(self):
        super().setUp()
        self.generator = random.Random(20)

    def test_with_a_log(self):
        self.install_log()
        fifth = self.kills // 5
        self.assertGreater(self.kill_again_and_again(self.generator, fifth, "--kind", "cuckoo", "--interval", "0.01"),
                           fifth // 5)

    def test_bloom_in_wal_mode(self):
        self.db.execute("PRAGMA journal_mode = WAL")
        self.install_log()
        self.kill_again_and_again(self.generator, self.kills // 5, "--interval", "0.01")

    def test_counting(self):
        self.install_log()
        self.kill_again_and_again(self.generator, self.kills // 5, "--kind", "counting", "--interval", "0.01")

    def test_with_a_journal(self):
        self.install_log()
        self.begin_journal("cuckoo")
        fifth = self.kills // 5
        self.assertGreater(self.kill_again_and_again(self.generator, fifth, "--interval", "0.01"), fifth // 5)

    def test_without_a_log(self):
        self.kill_again_and_again(self.generator, self.kills - 4 * (self.kills // 5), "--interval", "0.01")


def main():
    words = sys.argv[1:]
    loader = unittest.defaultTestLoader
    if words[:1] == ["kills"]:
        KillCase.kills = int(words[1])
        names = ["KillCase", "LongLock"]
    elif words == ["quick"]:
        names = ["Signals", "Output", "Writers", "Files", "Metrics"]
    else:
        unittest.main()
        return
    suite = unittest.TestSuite(loader.loadTestsFromName(name, sys.modules["__main__"]) for name in names)
    sys.exit(not unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful())


if __name__ == "__main__":
    main()
