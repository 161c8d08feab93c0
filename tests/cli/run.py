#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the recorded transcripts of the command-line tool.

    tests/cli/run.py --perhaps PROGRAM [NAME...]            compares every case (or those named); status 1 if one differs
    tests/cli/run.py --perhaps PROGRAM --record [NAME...]   writes what the program does now; look at the diff before
                                                            you commit it
    tests/cli/run.py --perhaps PROGRAM --without NAME...    all but those named

A case is cases/NAME.sh, run by bash in an empty directory of its own with lib.sh read first, and beside it what must
come out: NAME.stdout, NAME.stderr and NAME.exit (no file: nothing, status 0). In these, {*} stands for anything within
a line. The path of the directory is written as {dir}. After each case the directory for temporary files must be empty
and no *.lock may be left.
"""
import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CASES = HERE / "cases"
TIMEOUT = 120


def environment(program, scratch):
    (scratch / "bin").mkdir()
    (scratch / "bin" / "perhaps").symlink_to(program)
    (scratch / "tmp").mkdir()
    keep = {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
    return {**keep, "PATH": f"{scratch / 'bin'}:{os.environ['PATH']}", "LC_ALL": "C", "HOME": "/",
            "TMPDIR": str(scratch / "tmp"), "SCRATCH": str(scratch), "BASH_ENV": str(HERE / "lib.sh")}


def leftovers(scratch):
    found = [path for path in (scratch / "tmp").rglob("*")] + [*(scratch / "dir").rglob("*.lock")]
    return "".join(f"left behind: {path.relative_to(scratch)}\n" for path in found)


def run(case, program):
    """What comes out of a case: {"stdout": ..., "stderr": ..., "exit": ...}"""
    with tempfile.TemporaryDirectory(prefix="perhaps-cli-") as folder:
        scratch = pathlib.Path(folder)
        work = scratch / "dir"
        work.mkdir()
        done = subprocess.run(["bash", str(case)], cwd=work, env=environment(program, scratch), capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT, check=False)
        stderr = done.stderr.decode(errors="backslashreplace") + leftovers(scratch)
        return {
            "stdout": done.stdout.decode(errors="backslashreplace").replace(str(work), "{dir}"),
            "stderr": stderr.replace(str(work), "{dir}").replace(str(scratch), "{scratch}"),
            "exit": f"{done.returncode}\n",
        }


def expected(case, stream):
    path = case.with_suffix(f".{stream}")
    return path.read_text() if path.exists() else {"exit": "0\n"}.get(stream, "")


def matches(pattern, text):
    parts = [re.escape(part) for part in pattern.split("{*}")]
    return re.fullmatch("[^\n]*".join(parts), text) is not None


def differences(case, result):
    for stream, text in result.items():
        pattern = expected(case, stream)
        if not matches(pattern, text):
            yield from difflib.unified_diff(pattern.splitlines(True), text.splitlines(True),
                                            f"{case.stem}.{stream} expected", f"{case.stem}.{stream}")


def record(case, result):
    for stream, text in result.items():
        path = case.with_suffix(f".{stream}")
        if text == {"exit": "0\n"}.get(stream, ""):
            path.unlink(missing_ok=True)
        elif not (path.exists() and matches(path.read_text(), text)):  # keeps {*} where it still fits
            path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description="Runs the recorded transcripts of the command-line tool.")
    parser.add_argument("--perhaps", required=True, type=pathlib.Path)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--without", nargs="+", default=[], metavar="NAME", help="cases to leave out")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    program = arguments.perhaps.resolve()
    cases = [CASES / f"{name}.sh" for name in arguments.names] or sorted(CASES.glob("*.sh"))
    cases = [case for case in cases if case.stem not in arguments.without]
    failed = 0
    for case in cases:
        result = run(case, program)
        if arguments.record:
            record(case, result)
            continue
        difference = list(differences(case, result))
        failed += bool(difference)
        print(f"{'FAILED' if difference else 'ok':6} {case.stem}", flush=True)
        sys.stdout.writelines(difference)
    if not arguments.record:
        print(f"{len(cases) - failed} of {len(cases)} transcripts match")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
