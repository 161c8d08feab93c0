#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""test_manual.py MANDOC PERHAPS PAGE: the page has no lint, and describes every option where it belongs.

An option is described by an ".It" with its letter and its long name, in the subsection of its command or, for options
that several commands share, in the common one.
"""
import re
import subprocess
import sys

SHARED = "Options that several commands share"
WITHOUT_COMMAND = "Options without a command"


def items_of(page):
    """The lines .It of each subsection, by its title."""
    items, title = {}, None
    for line in page.splitlines():
        if line.startswith((".Ss ", ".Sh ")):
            title = line[4:].strip('"')
        elif line.startswith(".It "):
            items.setdefault(title, []).append(line)
    return items


def describes(line, letter, name, value):
    flags = re.findall(r"\bFl (\S+)", line)
    return f"-{name}" in flags and (letter == "-" or letter[1:] in flags) and (value == "-" or "=" in line)


def missing(options, page):
    items = items_of(page)
    for option in options:
        command, letter, name, value = option.split()
        places = items.get(WITHOUT_COMMAND if command == "-" else command, []) + items.get(SHARED, [])
        if command in ("size", "merge"):  # sizes as for create
            places += items.get("create", [])
        if not any(describes(line, letter, name[2:], value) for line in places):
            yield f"the page does not describe {option}"


def main(mandoc, perhaps, path):
    lint = subprocess.run([mandoc, "-T", "lint", path], capture_output=True, text=True, check=False)
    problems = (lint.stdout + lint.stderr).splitlines()
    options = subprocess.run([perhaps, "--generate", "man-options"], capture_output=True, text=True, check=True)
    with open(path, encoding="utf-8") as page:
        problems += missing(options.stdout.splitlines(), page.read())
    print("\n".join(problems) if problems else "the page has no lint and describes every option")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
