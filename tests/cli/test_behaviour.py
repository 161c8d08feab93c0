#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What transcripts cannot show: pipes that stay open, signals, locks, terminals, full disks, long input.

    PERHAPS=PROGRAM python3 tests/cli/test_behaviour.py [-v] [CLASS[.TEST]...]

Classes whose name begins with Long take more than a few seconds; "quick" and "long" select all without and with it.
No test measures time: waits are bounded, and a wait that runs out is a failure.
"""
import contextlib
import fcntl
import os
import pathlib
import pty
import random
import resource
import select
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import unittest

PERHAPS = os.environ.get("PERHAPS", "perhaps")
PATIENCE = 60  # seconds until something that must happen has not happened


def wait_until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain until {what}")
        time.sleep(0.01)


def read_some(stream, what):
    """What can be read from a pipe or a terminal once something can."""
    ready, _, _ = select.select([stream], [], [], PATIENCE)
    if not ready:
        raise AssertionError(f"waited in vain for {what}")
    return os.read(stream if isinstance(stream, int) else stream.fileno(), 1 << 16)


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="perhaps-cli-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.temporary = self.folder / "tmp"
        self.work = self.folder / "work"
        self.temporary.mkdir()
        self.work.mkdir()
        self.environment = {**os.environ, "TMPDIR": str(self.temporary), "LC_ALL": "C"}

    def start(self, *arguments, **options):
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        process = subprocess.Popen([PERHAPS, *map(str, arguments)], cwd=self.work, env=self.environment, **options)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            with contextlib.suppress(OSError):
                if stream:
                    stream.close()
        process.wait()

    def run_tool(self, *arguments, data=None, status=0, **options):
        process = subprocess.run([PERHAPS, *map(str, arguments)], cwd=self.work, env=self.environment, check=False,
                                 capture_output=True, timeout=20 * PATIENCE,
                                 **({"stdin": subprocess.DEVNULL} if data is None else {"input": data}), **options)
        if status is not None:
            self.assertEqual(process.returncode, status, process.stderr)
        return process

    def lines(self, name, keys):
        (self.work / name).write_bytes(b"".join(b"%s\n" % str(key).encode() for key in keys))
        return name

    def filter(self, name="f.filter", keys=range(100), *options):
        self.run_tool("create", "-q", *options, name, self.lines("filter.keys", keys))
        return name

    def tree(self):
        return {path.relative_to(self.work): path.read_bytes() for path in self.work.rglob("*") if path.is_file()}

    def refuse(self, *arguments, **options):
        """One line on standard error, status 2, nothing changed, nothing left. Returns the line."""
        before = self.tree()
        process = self.run_tool(*arguments, status=2, **options)
        self.assertEqual(process.stderr.count(b"\n"), 1, process.stderr)
        self.assertEqual(self.tree(), before)
        self.assertEqual(list(self.temporary.iterdir()), [])
        return process.stderr.decode()


class Streaming(Case):
    def test_check_answers_while_it_reads(self):
        process = self.start("check", self.filter())
        for key in (b"7", b"8", b""):
            process.stdin.write(key + b"\nabsent-%s\n5" % key)  # the 5 is the beginning of a line
            process.stdin.flush()
            if key:
                expected = b"7\n" if key == b"7" else b"58\n"
                self.assertEqual(read_some(process.stdout, "an answer"), expected)
        output, errors = process.communicate()
        self.assertEqual((output, errors, process.returncode), (b"5\n5\n", b"", 0))

    def test_count_answers_while_it_reads(self):
        process = self.start("count", self.filter("f.filter", range(100), "--kind", "counting", "-p", "1e-6"))
        for key, bound in ((b"7", b"1"), (b"absent", b"0")):
            process.stdin.write(key + b"\n8")  # the 8 is the beginning of a line
            process.stdin.flush()
            self.assertEqual(read_some(process.stdout, "an answer"), key + b"\t" + bound + b"\n")
            process.stdin.write(b"\n")
            process.stdin.flush()
            self.assertEqual(read_some(process.stdout, "an answer"), b"8\t1\n")
        self.assertEqual(process.communicate()[0], b"")
        self.assertEqual(process.returncode, 0)

    def test_guard_answers_while_it_reads(self):
        with contextlib.closing(sqlite3.connect(self.work / "s.db")) as store:
            store.execute("CREATE TABLE t (k TEXT)")
            store.executemany("INSERT INTO t VALUES (?)", ((str(key),) for key in range(100)))
            store.commit()
        process = self.start("guard", self.filter(), "--store", "sqlite:s.db", "--table", "t", "--column", "k")
        process.stdin.write(b"7\nabsent\n")
        process.stdin.flush()
        self.assertEqual(read_some(process.stdout, "an answer"), b"7\n")
        process.communicate()
        self.assertEqual(process.returncode, 0)

    def test_quiet_stops_at_the_first_match(self):
        process = self.start("check", "-q", self.filter())
        process.stdin.write(b"7\n")
        process.stdin.flush()
        process.wait(PATIENCE)  # though its input is still open
        self.assertEqual(process.returncode, 0)

    def closed_pipe(self, **options):
        self.lines("many", [7] * 200000)
        process = self.start("check", self.filter(), "many", **options)
        process.stdout.close()
        process.wait(PATIENCE)
        self.assertEqual(process.stderr.read(), b"")
        self.assertEqual(process.returncode, -signal.SIGPIPE)

    def test_a_closed_pipe_ends_it_quietly(self):
        self.closed_pipe()

    def test_also_when_the_parent_ignores_sigpipe(self):
        self.closed_pipe(preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN), restore_signals=False)


class SecretKey(Case):
    def create(self, *arguments, **options):
        (self.work / "keys").write_text("alice\nbob\n")
        return self.run_tool("create", "-q", "-n", 10, *arguments, "keys", **options)

    def setUp(self):
        super().setUp()
        (self.work / "secret").write_bytes(bytes(range(1, 17)))
        (self.work / "secret").chmod(0o600)
        if b"libsodium" in self.create("--key-file", "secret", "probe", status=None).stderr:
            self.skipTest("this build has no keyed filters")

    def test_from_a_pipe_in_parts(self):
        self.create("--key-file", "secret", "a.filter")
        reading, writing = os.pipe()
        os.set_inheritable(reading, True)
        process = self.start("create", "-q", "-n", 10, "--key-file", f"/dev/fd/{reading}", "b.filter", "keys",
                             close_fds=False)
        os.close(reading)
        for part in (b"01", b"02030405060708090a0b0c0d0e", b"0f10", b"\n"):
            os.write(writing, part)
            time.sleep(0.02)  # so that they are likely to be read apart; together they are right, too
        os.close(writing)
        self.assertEqual(process.wait(PATIENCE), 0, process.stderr.read())
        self.assertEqual((self.work / "a.filter").read_bytes(), (self.work / "b.filter").read_bytes())

    def test_is_in_no_file(self):
        self.create("--key-file", "secret", "a.filter")
        for path in self.folder.rglob("*"):
            if path.is_file() and path.name != "secret":
                content = path.read_bytes()
                self.assertNotIn(bytes(range(1, 9)), content)
                self.assertNotIn(bytes(range(9, 17)), content)


class LongLines(Case):
    def test_lines_of_every_length_around_the_block(self):
        block = 256 * 1024
        lengths = [0, 1, block - 2, block - 1, block, block + 1, 3 * block + 7, 1 << 20, 5 << 20, 3]
        keys = [bytes([97 + i % 26]) * length for i, length in enumerate(lengths)]
        (self.work / "long").write_bytes(b"\n".join(keys))
        self.run_tool("create", "-q", "-p", "1e-6", "f.filter", "long")
        self.assertEqual(self.run_tool("check", "f.filter", "long").stdout, b"\n".join(keys) + b"\n")
        self.assertEqual(self.run_tool("check", "f.filter", data=b"\n".join(keys)).stdout, b"\n".join(keys) + b"\n")
        shorter = b"\n".join(key[:-1] for key in keys if len(key) > 1) + b"\n"
        self.assertEqual(self.run_tool("check", "-v", "f.filter", data=shorter).stdout, shorter)
        self.assertEqual(self.run_tool("check", "-c", "f.filter", "long").stdout, b"%d\n" % len(lengths))

    def test_a_mebibyte_of_any_bytes(self):
        key = random.Random(1).randbytes(1 << 20).replace(b"\0", b"\n")
        self.run_tool("create", "-q", "-z", "-p", "1e-6", "f.filter", data=key)
        self.assertEqual(self.run_tool("check", "-z", "f.filter", data=key + b"\0").stdout, key + b"\0")
        self.run_tool("check", "-zq", "f.filter", data=key[:-1], status=1)

    def test_random_pieces(self):
        """However the input is cut into reads, the answers are the same."""
        source = random.Random(2)
        keys = [source.randbytes(source.choice([0, 1, 5, 33, 1000, 70000])).replace(b"\n", b"") for _ in range(499)]
        keys.append(b"without a newline")
        data = b"\n".join(keys)
        self.run_tool("create", "-q", "-p", "1e-6", "f.filter", data=data)
        process = self.start("check", "-c", "f.filter")
        at = 0
        while at < len(data):
            piece = source.choice([1, 10, 4096, 65536, 300000])
            process.stdin.write(data[at:at + piece])
            process.stdin.flush()
            at += piece
        self.assertEqual(process.communicate()[0], b"%d\n" % len(keys))


class Locking(Case):
    def is_locked(self, name):
        """The file is made before it is locked, so that seeing it is not enough."""
        try:
            with open(self.work / name, "rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except FileNotFoundError:
            pass
        return False

    def start_slow_add(self):
        """An add that holds the lock and waits for more keys."""
        process = self.start("add", "-q", self.filter())
        wait_until(lambda: self.is_locked("f.filter.lock"), "the lock is held")
        return process

    def test_adds_wait_for_each_other(self):
        first = self.start_slow_add()
        second = self.start("add", "-q", "f.filter", self.lines("second", ["two"]))
        with self.assertRaises(subprocess.TimeoutExpired):
            second.wait(0.3)
        first.communicate(b"one\n")
        self.assertEqual((first.returncode, second.wait(PATIENCE)), (0, 0))
        self.assertEqual(self.run_tool("check", "f.filter", data=b"one\ntwo\n").stdout, b"one\ntwo\n")
        self.assertFalse((self.work / "f.filter.lock").exists())

    def test_no_wait(self):
        first = self.start_slow_add()
        for command in (["add", "f.filter"], ["remove", "f.filter"], ["create", "-f", "-n", "5", "f.filter"],
                        ["convert", "-f", "--kind", "bloom", "-o", "f.filter", "f.filter"],
                        ["merge", "-f", "-o", "f.filter", "f.filter", "f.filter"]):
            text = self.refuse(*command, "--no-wait")
            self.assertIn("f.filter: another process is changing the filter", text)
        first.communicate(b"one\n")
        self.assertEqual(first.returncode, 0)

    def test_a_link_and_its_target_have_one_lock(self):
        self.start_slow_add()
        (self.work / "link").symlink_to("f.filter")
        self.assertIn("f.filter.lock", self.refuse("add", "--no-wait", "link"))

    def test_readers_do_not_wait(self):
        self.start_slow_add()
        self.assertEqual(self.run_tool("check", "f.filter", data=b"7\n").stdout, b"7\n")

    def test_a_lock_left_behind_is_harmless(self):
        self.filter()
        (self.work / "f.filter.lock").touch()
        self.run_tool("add", "--no-wait", "f.filter", data=b"one\n")
        self.assertFalse((self.work / "f.filter.lock").exists())

    def test_what_was_made_while_create_waited(self):
        """It is looked for again once the lock is there, and not overwritten."""
        with open(self.work / "f.filter.lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            process = self.start("create", "-n", "5", "f.filter")
            wait_until(lambda: self.has_open(process, "f.filter.lock"), "it waits for the lock")
            (self.work / "f.filter").write_bytes(b"somebody else's")
        self.assertEqual(process.communicate()[1], b"perhaps: f.filter: exists; -f overwrites it\n")
        self.assertEqual(process.returncode, 2)
        self.assertEqual((self.work / "f.filter").read_bytes(), b"somebody else's")

    def has_open(self, process, name):
        descriptors = pathlib.Path(f"/proc/{process.pid}/fd")
        with contextlib.suppress(OSError):  # closed meanwhile
            return any(path.resolve() == (self.work / name).resolve() for path in descriptors.iterdir())
        return False

    def test_adds_and_removes_at_once(self):
        """Whoever waits for the lock sees what the others did: no count is lost."""
        self.filter("f.filter", range(1000), "--kind", "counting", "--counter-bits", "16", "-p", "1e-6")
        self.run_tool("add", "-q", "f.filter", "filter.keys", "filter.keys")  # three: as many as are taken away
        processes = [self.start(*command, "-q", "f.filter", "filter.keys")
                     for command in 3 * (["add"], ["add"], ["remove"])]
        self.assertEqual([process.wait(PATIENCE) for process in processes], [0] * 9)
        bounds = self.run_tool("count", "f.filter", "filter.keys").stdout
        self.assertEqual(bounds, b"".join(b"%d\t6\n" % key for key in range(1000)))

    def test_twenty_adds_at_once(self):
        self.run_tool("create", "-q", "-n", "3000", "-p", "1e-6", "f.filter")
        parts = [self.lines(f"part{i}", range(100 * i, 100 * i + 100)) for i in range(20)]
        processes = [self.start("add", "-q", "f.filter", part) for part in parts]
        self.assertEqual([process.wait(PATIENCE) for process in processes], [0] * 20)
        self.assertEqual(self.run_tool("check", "-c", "f.filter", *parts).stdout, b"2000\n")
        self.assertFalse((self.work / "f.filter.lock").exists())

    def test_readers_see_whole_filters(self):
        self.run_tool("create", "-q", "-n", "100000", "f.filter", self.lines("keys", range(100)))
        writers = [self.start("add", "-q", "f.filter", self.lines(f"part{i}", range(100 * i, 100 * i + 100)))
                   for i in range(10)]
        while any(process.poll() is None for process in writers):
            self.assertEqual(self.run_tool("check", "-c", "f.filter", "keys").stdout, b"100\n")


class Signals(Case):
    def check_signal(self, number, *command):
        before = self.tree()
        process = self.start(*command)
        process.stdin.write(b"one\n" * 100000)
        process.stdin.flush()
        wait_until((self.work / "f.filter.lock").exists, "the lock is there")
        process.send_signal(number)
        process.wait(PATIENCE)
        self.assertEqual(process.returncode, -number)
        self.assertEqual(self.tree(), before)
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_add(self):
        self.filter()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self.check_signal(number, "add", "f.filter")

    def test_remove(self):
        self.filter("f.filter", ["one"], "--kind", "cuckoo", "-n", "10")
        self.check_signal(signal.SIGINT, "remove", "f.filter")

    def test_create(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self.check_signal(number, "create", "f.filter")
            self.check_signal(number, "create", "-n", "5", "f.filter", "-")

    def test_signals_wait_for_a_save(self):
        """One that comes while a filter is being written takes effect when it is in place."""
        module = os.environ.get("PERHAPS_PAUSE_FSYNC")
        if module is None:
            self.skipTest("PERHAPS_PAUSE_FSYNC is not set")
        self.environment["LD_PRELOAD"] = module
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            process = self.start("create", "-q", "-f", "-n", "5", "f.filter")
            wait_until((self.work / "at-fsync").exists, "the filter is being written")
            process.send_signal(number)
            wait_until(lambda: process.poll() is not None or self.is_pending(process, number), "the signal is there")
            (self.work / "go-on").touch()
            process.wait(PATIENCE)
            self.assertEqual(process.returncode, -number)
            for name in ("at-fsync", "go-on"):
                (self.work / name).unlink()
            self.assertLessEqual(set(self.tree()), {pathlib.Path("f.filter"), pathlib.Path("f.filter.lock")})
            if number != signal.SIGQUIT:  # which is not caught: it may leave the lock, and a core
                self.assertEqual(set(self.tree()), {pathlib.Path("f.filter")})
            del self.environment["LD_PRELOAD"]
            self.run_tool("verify", "-q", "f.filter")
            self.environment["LD_PRELOAD"] = module
            (self.work / "f.filter").unlink()

    @staticmethod
    def is_pending(process, number):
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
        pending = next(line.split()[1] for line in status.splitlines() if line.startswith("ShdPnd:"))
        return int(pending, 16) >> (number - 1) & 1 == 1

    def test_ignored_signals_stay_ignored(self):
        process = self.start("create", "-q", "f.filter",
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        wait_until((self.work / "f.filter.lock").exists, "the lock is there")
        process.send_signal(signal.SIGINT)
        process.communicate(b"one\n")
        self.assertEqual(process.returncode, 0)


class Terminal(Case):
    def test_waiting_for_keys_is_said(self):
        keyboard, terminal = pty.openpty()
        self.addCleanup(os.close, keyboard)
        process = self.start("check", self.filter(), stdin=terminal)
        os.close(terminal)
        self.assertIn(b"reading keys from the terminal", read_some(process.stderr, "the note"))
        os.write(keyboard, b"7\n")
        self.assertEqual(read_some(process.stdout, "an answer"), b"7\n")
        os.write(keyboard, b"\x04")
        self.assertEqual(process.wait(PATIENCE), 0)

    def progress(self, *options):
        """What a create that takes more than a second shows on a terminal."""
        screen, terminal = pty.openpty()
        self.addCleanup(os.close, screen)
        process = self.start("create", "-n", "5M", "f.filter", "-", *options, stderr=terminal)
        os.close(terminal)
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            process.stdin.write(b"one\n" * 2000)
            process.stdin.flush()
            time.sleep(0.01)
        process.communicate()
        self.assertEqual(process.returncode, 0)
        shown = b""
        with contextlib.suppress(OSError):  # EIO: nobody has the terminal open any more
            while select.select([screen], [], [], 0)[0]:
                shown += os.read(screen, 1 << 16)
        return shown

    def test_progress(self):
        shown = self.progress()
        self.assertRegex(shown, rb"\r[0-9]+ keys")
        self.assertIn(b"\r\033[K", shown)

    def test_no_progress(self):
        self.assertNotIn(b"\r\033[K", self.progress("--no-progress"))

    def test_quiet(self):
        self.assertNotIn(b"keys", self.progress("-q"))


def limit_file_size():
    resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))


class FullDisk(Case):
    def mount(self, folder, size):
        folder.mkdir(exist_ok=True)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=False,
                                 capture_output=True)
        if mounted.returncode != 0:
            self.skipTest(f"cannot mount a tmpfs: {mounted.stderr.decode().strip()}")
        self.addCleanup(subprocess.run, ["umount", folder], check=True)

    def test_a_small_tmpfs(self):
        small = self.work / "small"
        self.mount(small, "256k")
        text = self.refuse("create", "-n", "1M", "small/f.filter")
        self.assertIn("small/f.filter", text)
        self.assertIn("No space left on device", text)
        self.run_tool("create", "-q", "-n", "100k", "-p", "0.01", "small/f.filter")  # 120 kB; a second one has no room
        (small / "filler").write_bytes(bytes(60000))
        self.assertIn("No space left on device", self.refuse("add", "small/f.filter", data=b"one\n"))
        self.assertIn("No space left on device", self.refuse("create", "-f", "-n", "100k", "small/f.filter"))
        self.assertIn("No space left on device", self.refuse("merge", "-f", "-o", "small/f.filter", "small/f.filter",
                                                             "small/f.filter"))
        self.run_tool("verify", "-q", "small/f.filter")
        (small / "f.filter").unlink()
        self.run_tool("create", "-q", "-n", "50k", "--kind", "cuckoo", "small/f.filter", "-", data=b"one\n")
        (small / "filler").write_bytes(bytes(150000))
        self.assertIn("No space left on device", self.refuse("remove", "small/f.filter", data=b"one\n"))
        self.assertEqual(self.run_tool("check", "small/f.filter", data=b"one\n").stdout, b"one\n")

    def test_no_room_for_the_report(self):
        with contextlib.closing(sqlite3.connect(self.work / "s.db")) as store:
            store.execute("CREATE TABLE t (k TEXT)")
            store.commit()
        self.filter()
        self.mount(self.work / "small", "4k")
        (self.work / "small" / "filler").write_bytes(bytes(4096))
        text = self.refuse("guard", "f.filter", "--store", "sqlite:s.db", "--table", "t", "--column", "k",
                           "--report", "small/report.json", data=b"absent\n")
        self.assertIn("small/report.json: No space left on device", text)

    def test_a_limit_on_the_size_of_files(self):
        text = self.refuse("create", "-n", "1M", "f.filter", preexec_fn=limit_file_size)
        self.assertIn("File too large", text)

    def test_no_room_for_the_spool(self):
        self.lines("many", range(1100000))
        text = self.refuse("create", "f.filter", "many", preexec_fn=limit_file_size)
        self.assertIn(f"{self.temporary}: no temporary file for the keys: File too large", text)

    def test_no_directory_for_the_spool(self):
        self.lines("many", range(1100000))
        self.environment["TMPDIR"] = "/no/such"
        text = self.refuse("create", "f.filter", "many")
        self.assertIn("/no/such: no temporary file for the keys: No such file or directory", text)


class Unwritable(Case):
    def test_a_directory_of_somebody_else(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to become somebody else")
        self.filter("f.filter", range(100), "--kind", "counting")
        self.folder.chmod(0o755)
        self.work.chmod(0o755)
        tool = shutil.copy(PERHAPS, self.folder / "tool")  # the build may lie where nobody else can go
        before = self.tree()
        for command in (["add", "f.filter", "filter.keys"], ["create", "-n", "5", "x.filter"],
                        ["remove", "f.filter", "filter.keys"], ["create", "-n", "5", "-f", "f.filter"]):
            process = self.run_tool(*command, status=2, executable=tool, user=65534, group=65534)
            self.assertRegex(process.stderr, 
                             rb"\Aperhaps: ([fx]\.filter): cannot be written: its lock \1\.lock cannot be taken: "
                             rb"Permission denied; whoever changes a filter has to be able to write in its folder\n\Z")
            self.assertEqual(self.tree(), before)


class Stores(Case):
    def test_a_locked_store(self):
        # Another process: POSIX locks of this one would be lost when refuse() has read and closed the file.
        locker = subprocess.Popen(["sqlite3", self.work / "s.db"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.end, locker)
        locker.stdin.write(b"CREATE TABLE t (k TEXT); BEGIN EXCLUSIVE; SELECT 'locked';\n")
        locker.stdin.flush()
        read_some(locker.stdout, "the lock")
        self.filter()
        text = self.refuse("guard", "f.filter", "--store", "sqlite:s.db", "--table", "t", "--column", "k", "--no-wait",
                           data=b"7\n")
        self.assertRegex(text, "s.db: .*locked")


class Foreign(Case):
    def changed(self, offset, value):
        """A filter with another 32-bit number in its header, and the checksum that goes with it."""
        try:
            import xxhash
        except ImportError:
            self.skipTest("needs python3-xxhash")
        data = bytearray((self.work / self.filter()).read_bytes())
        data[offset:offset + 4] = struct.pack("<I", value)
        size = struct.unpack_from("<Q", data, 16)[0]
        data[size - 8:size] = struct.pack("<Q", xxhash.xxh3_64_intdigest(bytes(data[:size - 8])))
        (self.work / "changed.filter").write_bytes(data)
        return "changed.filter"

    def test_a_newer_format(self):
        name = self.changed(8, 99)
        for command in (["info"], ["verify"], ["check", "-c"], ["add"]):
            self.assertIn("99", self.refuse(*command, name, data=b"7\n"))

    def test_an_unknown_kind(self):
        self.refuse("info", self.changed(56, 77))

    def test_a_filter_of_hashes(self):
        maker = os.environ.get("PERHAPS_MAKE_CALLER_FILTER")
        if maker is None:
            self.skipTest("PERHAPS_MAKE_CALLER_FILTER is not set")
        subprocess.run([maker, self.work / "f.filter"], check=True)
        self.lines("keys", ["7"])
        self.assertIn(b"caller", self.run_tool("info", "f.filter").stdout)
        for command in (["check", "f.filter"], ["add", "f.filter"], ["remove", "f.filter"], ["count", "f.filter"],
                        ["calibrate", "f.filter", "--present", "keys", "--absent", "keys"],
                        ["guard", "f.filter", "--store", "sqlite:s.db", "--table", "t", "--column", "k"]):
            self.assertIn("f.filter: its keys are hashes", self.refuse(*command, data=b"7\n"))


class LongInput(Case):
    def test_ten_million_lines(self):
        """Without loss: through files and through pipes, with a size and without."""
        count = 10_000_000
        with open(self.work / "keys", "wb") as keys:
            subprocess.run(["seq", "-f", "%032.0f", str(count)], stdout=keys, check=True)
        self.run_tool("create", "-q", "-n", "10M", "-p", "0.01", "a.filter", "keys")
        self.run_tool("create", "-q", "b.filter", "keys")
        with open(self.work / "keys", "rb") as keys:
            process = self.start("create", "-q", "c.filter", stdin=keys)
            self.assertEqual(process.wait(20 * PATIENCE), 0)
        a, b, c = ((self.work / f"{name}.filter").read_bytes() for name in "abc")
        self.assertTrue(a == b == c)
        self.assertEqual(self.run_tool("check", "-c", "a.filter", "keys").stdout, b"%d\n" % count)
        with open(self.work / "printed", "wb") as printed:
            process = self.start("check", "a.filter", "keys", stdout=printed)
            self.assertEqual(process.wait(20 * PATIENCE), 0)
        subprocess.run(["cmp", self.work / "keys", self.work / "printed"], check=True)
        self.run_tool("check", "-vq", "a.filter", "keys", status=1)

    def test_more_keys_than_are_counted_exactly(self):
        count = 18_000_000
        process = self.start("create", "f.filter")
        keys = subprocess.Popen(["seq", str(count)], stdout=process.stdin)
        process.stdin.close()
        self.assertEqual(keys.wait(20 * PATIENCE), 0)
        self.assertRegex(process.stderr.read(), rb"at most about \d+ distinct keys \(an estimate, rounded up\)")
        self.assertEqual(process.wait(20 * PATIENCE), 0)
        info = self.run_tool("info", "--json", "f.filter").stdout
        capacity = int(info.split(b'"capacity":')[1].split(b",")[0])
        self.assertGreaterEqual(capacity, count)
        self.assertLess(capacity, count * 1.0025)  # three standard errors up, and at most three off
        self.assertEqual(list(self.temporary.iterdir()), [])


def main():
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_IGN:  # as in the background of a shell; children would inherit it
            signal.signal(number, signal.SIG_DFL)
    words = sys.argv[1:]
    if words and words[0] in ("quick", "long"):
        classes = [name for name, value in globals().items()
                   if isinstance(value, type) and issubclass(value, Case) and value is not Case]
        words[:1] = [name for name in classes if (name == "LongInput") == (words[0] == "long")]
    unittest.main(argv=[sys.argv[0], *words])


if __name__ == "__main__":
    main()
