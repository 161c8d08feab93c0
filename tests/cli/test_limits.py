#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_limits.py: the tool under "ulimit -v". PERHAPS is its path.

Whatever address space there is, a command succeeds, or exits with 2 and one line that says why; a file that it would have
replaced is then as it was, and nothing is left behind. From the least with which the tool starts at all, up to where
the command succeeds.
"""
import os
import pathlib
import resource
import struct
import subprocess
import sys
import tempfile
import unittest

PERHAPS = os.environ.get("PERHAPS", "perhaps")
KIB = 1024
MIB = 1024 * KIB
STEP = 128 * KIB
PLENTY = 256 * MIB


def run(folder, limit, *arguments):
    """The finished process, with at most `limit` bytes of address space."""
    return subprocess.run(
        [PERHAPS, *arguments], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C", "TMPDIR": str(folder / "tmp")},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))


def least_to_start(folder):
    limit = 2 * MIB
    while run(folder, limit, "--version").returncode != 0:
        limit += STEP
    return limit


def snapshot(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Limits(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="perhaps-limits-")
        self.folder = pathlib.Path(self.scratch.name)
        (self.folder / "tmp").mkdir()
        keys = "".join(f"key {i}\n" for i in range(20000))
        (self.folder / "keys").write_text(keys)
        (self.folder / "absent").write_text("".join(f"other {i}\n" for i in range(20000)))
        subprocess.run(["sqlite3", str(self.folder / "s.db"), "CREATE TABLE t (c TEXT PRIMARY KEY)",
                        "INSERT INTO t VALUES ('key 1')"], check=True)
        for kind, name in (("bloom", "f"), ("counting", "c")):
            self.must("create", "--kind", kind, "-n", "500k", f"{name}.filter", "keys")
        self.least = least_to_start(self.folder)

    def tearDown(self):
        self.scratch.cleanup()

    def must(self, *arguments):
        done = run(self.folder, resource.RLIM_INFINITY, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)

    def assert_refused(self, done, before, text=b""):
        self.assertEqual(done.returncode, 2, done)
        self.assertTrue(done.stderr.startswith(b"perhaps: ") and done.stderr.count(b"\n") == 1, done.stderr)
        self.assertIn(text, done.stderr)
        self.assertEqual(snapshot(self.folder), before)

    def rise(self, *arguments):
        """From the least limit up to the first one under which it succeeds; how often it was refused."""
        before = snapshot(self.folder)
        refused = 0
        for limit in range(self.least, PLENTY, STEP):
            done = run(self.folder, limit, *arguments)
            if done.returncode == 0:
                return refused
            self.assert_refused(done, before)
            refused += 1
        self.fail(f"{arguments} never succeeds")

    def test_every_command(self):
        commands = [
            ("create", "-q", "-n", "1M", "new.filter", "keys"),
            ("create", "-q", "counted.filter", "keys"),
            ("create", "-q", "--kind", "cuckoo", "cuckoo.filter", "keys"),
            ("add", "-q", "f.filter", "keys", "absent"),
            ("check", "f.filter", "keys"),
            ("remove", "-q", "c.filter", "keys"),
            ("count", "c.filter", "keys"),
            ("info", "f.filter"),
            ("merge", "-q", "-o", "merged.filter", "f.filter", "f.filter"),
            ("convert", "-q", "--kind", "bloom", "-o", "converted.filter", "c.filter"),
            ("verify", "c.filter"),
            ("calibrate", "f.filter", "--present", "keys", "--absent", "absent"),
            ("guard", "-q", "f.filter", "--store", "sqlite:s.db", "--table", "t", "--column", "c", "keys"),
        ]
        for command in commands:
            with self.subTest(command=command):
                self.assertGreater(self.rise(*command), 0, "no limit was tight enough to test anything")

    def test_a_filter_larger_than_memory(self):
        before = snapshot(self.folder)
        done = run(self.folder, 64 * MIB, "create", "-n", "1G", "-p", "0.01", "huge.filter", "keys")
        self.assert_refused(done, before, b"memory")

    def test_a_line_longer_than_memory(self):
        with open(self.folder / "line", "wb") as file:
            file.truncate(300 * MIB)  # nothing but zeros, and no newline
        size = (self.folder / "line").stat().st_size
        for command in (("check", "f.filter", "line"), ("add", "f.filter", "line"), ("create", "x.filter", "line")):
            done = run(self.folder, 64 * MIB, *command)
            self.assertEqual(done.returncode, 2, done)
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
            self.assertIn(b"memory", done.stderr)
        self.assertEqual((self.folder / "line").stat().st_size, size)
        self.assertEqual(sorted(os.listdir(self.folder)), ["absent", "c.filter", "f.filter", "keys", "line", "s.db", "tmp"])

    def hostile(self, name, fields, length):
        """A header that says other things than it holds, in a file that is nearly all hole."""
        header = bytearray((self.folder / "f.filter").read_bytes()[:4096])
        for offset, value in fields.items():
            struct.pack_into("<Q", header, offset, value)
        with open(self.folder / name, "wb") as file:
            file.write(header)
            file.truncate(length)

    def test_hostile_headers(self):
        """They ask for a TiB, and are refused with the memory that a small filter takes."""
        tib = 1 << 40
        header_size, payload_size, section_size, chunks = 16, 24, 32, 48
        cases = {
            "header": ({header_size: tib}, tib),
            "half-header": ({header_size: tib // 2, payload_size: tib // 2}, tib),
            "payload": ({payload_size: tib}, 4096),
            "sections": ({section_size: tib}, 4096),
            "chunks": ({chunks: tib}, 4096),
            "all": ({header_size: 1 << 20, payload_size: tib, section_size: tib, chunks: tib}, 1 << 20),
        }
        for name, (fields, length) in cases.items():
            self.hostile(name, fields, length)
        # More than a TiB: that a hole is mapped costs nothing.
        limits = {"mapped": 2 * tib, "copied": self.least + 4 * MIB}
        for name in cases:
            for command in (("info", name), ("verify", name), ("check", name, "keys"), ("add", name, "keys"),
                            ("merge", "-o", "x.filter", name, "f.filter")):
                limit = limits["copied" if command[0] in ("add", "merge") else "mapped"]
                with self.subTest(name=name, command=command):
                    done = run(self.folder, limit, *command)
                    self.assertEqual(done.returncode, 2, done)
                    self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
                    self.assertNotIn(b"memory", done.stderr.lower(), "it was asked for")
        self.assertFalse((self.folder / "x.filter").exists())

    def test_a_journal_of_holes(self):
        """A TiB long, and nothing in it: read with the memory that an empty one takes. With damage at its end: refused so."""
        self.must("create", "-q", "--journal", "-n", "1000", "j.filter", "keys")
        journal = self.folder / "j.filter.journal"
        limit = self.least + 8 * MIB
        for last, status in ((b"x", 2), (b"\0", 0)):
            with open(journal, "r+b") as file:
                file.truncate(1 << 40)
                file.seek(-1, os.SEEK_END)
                file.write(last)
            for command in (("info", "j.filter"), ("check", "j.filter", "keys"), ("add", "-q", "j.filter", "keys")):
                with self.subTest(last=last, command=command):
                    done = run(self.folder, limit, *command)
                    self.assertEqual(done.returncode, status, done)
                    self.assertEqual(done.stderr.count(b"damaged at byte"), status // 2, done.stderr)
        self.assertLess(journal.stat().st_size, MIB, "the hole was not cut off")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
