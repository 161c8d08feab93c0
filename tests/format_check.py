#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The golden files, read by the second reader of docs/format.md: same answers, same statistics, same bytes, and sizes that
keep their promises.

    tests/format_check.py [--key HEX] [--tool PERHAPS] FOLDER

Every *.perhaps of the folder is asked for the keys in its *.keys, and what PERHAPS says of it (`info --json`) is compared with
what its bytes say. A .keys file has a line for each key with its answer, "+" perhaps or "-" surely absent: a space,
then the key in hexadecimal, or the hash as a number where the caller hashes.

In journals/, the operations of NAME.journal are done on NAME, and what comes of it is written as a file: it has to be
NAME.whole. PERHAPS must say the same of NAME with the journal as of NAME.whole; likewise with journals that are made of
it here, whose last operations are void, and whose last record is torn.
"""
import collections
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import xxhash

from format_journal import ADD, AMBIGUOUS, COPIES, FULL, REMOVE, VOID, Journal, Replay
from format_reference import Filter, demand, take_key
from format_sizing import check as check_size
from format_statistics import compare, statistics


def ask_tool(tool, path, secret):
    """What `perhaps info --json` says, but for the file's name."""
    command = [tool, "info", "--json"]
    with tempfile.TemporaryDirectory() as folder:
        if secret is not None:
            key_file = pathlib.Path(folder) / "key"
            key_file.write_text(secret.hex() + "\n", encoding="ascii")
            key_file.chmod(0o600)
            command.append(f"--key-file={key_file}")
        done = subprocess.run([*command, path], capture_output=True, check=False)
    demand(done.returncode == 0, f"{path.name}: {done.stderr.decode()}")
    said = json.loads(done.stdout)
    del said["filter"]
    return said


def check_answers(path, golden):
    keys = path.with_suffix(".keys").read_text(encoding="ascii").splitlines()
    for line in keys:
        sign, key = line[:1], line[2:]
        key = int(key) if golden.source == 2 else bytes.fromhex(key)
        demand(golden.might_contain(key) == (sign == "+"), f"{path.name}: key {line}")
    return len(keys)


def check_statistics(path, golden, length, said):
    differences = list(compare(said, statistics(golden, length)))
    demand(not differences, f"{path.name}: " + "; ".join(differences))


def check_sizes(path, read):
    for i, layer in enumerate(read.layers):
        check_size(layer, f"{path.name}: layer {i}")


def check_filters(folder, secret, tool):
    files = sorted(folder.glob("*.perhaps"))
    demand(files, "no golden files")
    for path in files:
        data = path.read_bytes()
        golden = Filter(data, secret)
        check_sizes(path, golden)
        keys = check_answers(path, golden)
        members = 0
        if tool is not None:
            said = ask_tool(tool, path, secret if golden.source == 3 else None)
            check_statistics(path, golden, len(data), said)
            members = len(said)
        print(f"{path.name}: {keys} keys answered as recorded, {members} statistics as computed")


def void_record(data, sequence, first):
    """A record that makes the operations from `first` on void, for the end of a journal."""
    head = struct.pack("<IIQ", 40, VOID, sequence)
    head += struct.pack("<Q", xxhash.xxh3_64_intdigest(head, struct.unpack_from("<Q", data, 56)[0]))
    value = struct.pack("<Q", first)
    return head + value + struct.pack("<Q", xxhash.xxh3_64_intdigest(value, struct.unpack("<Q", head[16:])[0]))


def variants(data, journal):
    """The journal as it is, with void operations (some of them a part of a record), and torn in its last record."""
    yield data, data
    middle = (journal.last + journal.base) // 2
    for first in (journal.last - 1, middle, journal.base + 1):
        longer = data + void_record(data, journal.last + 1, first)
        yield longer, longer
    for cut, zeros in ((1, 0), (9, 64), (30, 0)):
        yield data[:-cut] + bytes(zeros), data[:journal.last_record]


def check_overlays(path, recorded, tool):
    """What the tool says of a filter with its journal is what is true of the filter that both are together."""
    owner = Filter(path.read_bytes())
    data = path.with_suffix(".journal").read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / path.name
        copy.write_bytes(path.read_bytes())
        for journal_data, whole_records in variants(data, Journal(data, owner)):
            copy.with_suffix(".journal").write_bytes(journal_data)
            journal = Journal(journal_data, owner)
            replay = Replay(owner, recorded)
            replay.run(journal.records)
            encoded = replay.encode()
            said = ask_tool(tool, copy, None)
            about = said.pop("journal")
            demand(about == {"operations": journal.last - owner.folded, "bytes": len(whole_records),
                             "generation": owner.generation}, f"{path.name}: {about}")
            check_statistics(path, Filter(encoded), len(encoded), said)


def check_journal(path, seen, tool):
    owner = Filter(path.read_bytes())
    whole = path.with_suffix(".whole").read_bytes()
    journal = Journal(path.with_suffix(".journal").read_bytes(), owner)
    made = Filter(whole)
    check_sizes(path, made)
    demand(made.file_id == 0 and owner.generation == 2 and journal.records, path.name)
    replay = Replay(owner, owner.layers + made.layers)
    counts = replay.run(journal.records)
    demand(replay.position == made.position, f"{path.name}: position")
    for i, (cells, layer) in enumerate(zip(replay.layers, made.layers)):
        demand(cells.payload() == layer.payload, f"{path.name}: payload of layer {i}")
    demand(replay.encode() == whole, f"{path.name}: header")
    if tool is not None:
        check_overlays(path, replay.recorded, tool)
    seen.update(counts)
    seen.update(kind for _, kind, _ in journal.records)
    print(f"{path.name}: {len(journal.records)} records, up to operation {journal.last}: "
          + ", ".join(f"{count} {what}" for what, count in counts.items() if count > 0))


# What the journals must have made happen between them, so that a comparison that finds nothing means something.
TO_BE_SEEN = (ADD, REMOVE, FULL, COPIES, AMBIGUOUS, "grown", "moved", "chosen layer")


def check_journals(folder, tool):
    files = sorted(path for path in folder.iterdir() if not path.suffix)
    demand(files, "no golden journals")
    seen = collections.Counter()
    for path in files:
        check_journal(path, seen, tool)
    for what in TO_BE_SEEN:
        demand(seen[what] > 0, f"in no golden journal: {what}")


def main():
    arguments, secret = take_key(sys.argv[1:])
    tool = None
    if arguments[:1] == ["--tool"]:
        tool, arguments = arguments[1], arguments[2:]
    folder = pathlib.Path(arguments[0])
    check_filters(folder, secret, tool)
    check_journals(folder / "journals", tool)


if __name__ == "__main__":
    main()
