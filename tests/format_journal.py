# SPDX-License-Identifier: MIT
"""Journals, and what operations do: the parts "What operations do" and "The journal" of docs/format.md, written from their
text alone.

Journal reads the operations. Replay does them on a filter and writes it as a file, which has to be, byte for byte, what the
library makes of the same filter and journal.
"""
import collections
import math
import struct

import xxhash

from format_reference import MASK, checksum, demand

ADD, REMOVE, CLEAR, VOID, POSITION = range(1, 6)
BLOOM, BLOCKED, COUNTING, CUCKOO = range(1, 5)
MULTISET, UNIQUE, CONSERVATIVE = 1, 2, 3
GROWS = 2
SMALLEST_RATE = {BLOOM: 1e-9, BLOCKED: 1e-6, CUCKOO: 4e-9}
DONE, FULL, COPIES, AMBIGUOUS = "done", "full", "copies", "ambiguous"


class Journal:
    """The operations of a journal, as (sequence, type, values), without those that are void."""

    def __init__(self, data, owner):
        (magic, version, size, file_id, generation, base, filter_checksum, reserved, seed) = struct.unpack_from(
            "<8sIIQQQQQQ", data)
        demand(magic == b"\xb6journal" and version == 1 and size == 64 and reserved == 0, "journal")
        demand(seed == checksum(data[:56]), "header checksum of the journal")
        demand((file_id, generation, base, filter_checksum) ==
               (owner.file_id, owner.generation, owner.folded, owner.header_checksum), "whose journal it is")
        self.records = []
        self.base = self.last = base
        at = self.last_record = 64
        while at < len(data):
            size = self.read_record(data, at, seed)
            if size == 0:
                break
            self.last_record = at
            at += size

    def read_record(self, data, at, seed):
        """The size of the record at some place; 0 where it is incomplete."""
        if len(data) - at < 24:
            return 0
        size, kind, sequence, head = struct.unpack_from("<IIQQ", data, at)
        if head != xxhash.xxh3_64_intdigest(data[at:at + 16], seed):
            demand(not any(data[at + 16:]), f"record at {at}")
            return 0
        count = (size - 32) // 8
        demand(size == 32 + 8 * count and sequence == self.last + 1, f"record at {at}")
        counts = {ADD: range(1, 65537), REMOVE: range(1, 65537), CLEAR: (0,), VOID: (1,), POSITION: range(1, 514)}
        demand(count in counts.get(kind, ()), f"record at {at}")
        if len(data) - at < size:
            return 0
        body = data[at + 24:at + size - 8]
        if struct.unpack_from("<Q", data, at + size - 8)[0] != xxhash.xxh3_64_intdigest(body, head):
            demand(not any(data[at + size - 8:]), f"record at {at}")
            return 0
        values = struct.unpack(f"<{count}Q", body)
        self.last += count if kind in (ADD, REMOVE) else 1
        if kind == VOID:
            self.records = [(first, what, done[:max(0, values[0] - first)]) for first, what, done in self.records
                            if first < values[0]]
        elif kind == POSITION:
            length = values[0]
            demand(length <= 4096 and count == 1 + (length + 7) // 8 and not any(body[8 + length:]), f"record at {at}")
            self.records.append((sequence, kind, (body[8:8 + length],)))
        else:
            self.records.append((sequence, kind, values))
        return size


class Cells:
    """A layer that changes: its bits, counters or slots as a list of numbers, of `width` bits each."""

    def __init__(self, layer, is_empty=False):
        self.layer = layer  # where keys belong; its own payload is not looked at any more
        self.width = layer.cell_bits or 1
        count = layer.range * layer.slots if layer.kind == CUCKOO else layer.bits // self.width
        number = 0 if is_empty else int.from_bytes(layer.payload, "little")
        self.cells = [number >> i * self.width & (1 << self.width) - 1 for i in range(count)]
        self.moved = 0  # adds for which others were moved
        self.adds, self.copies, self.removals = (0, 0, 0) if is_empty else (layer.adds, layer.copies, layer.removals)

    def used(self):
        return sum(cell > 0 for cell in self.cells)

    def payload(self):
        number = sum(cell << i * self.width for i, cell in enumerate(self.cells))
        return number.to_bytes(self.layer.size, "little")

    def has(self, key_hash):
        return all(self.cells[i] for i in self.places(key_hash))

    def places(self, key_hash):
        """The bits or counters of a key, each once."""
        if self.layer.kind == BLOCKED:
            block, mask = self.layer.block(key_hash)
            first = block * self.layer.block_layout()[0] * 8
            return {first + bit for bit in range(mask.bit_length()) if mask >> bit & 1}
        return set(self.layer.walk(key_hash))

    def is_full(self):
        """Whether a key more is refused where "at capacity" refuses or grows."""
        return self.adds >= self.layer.capacity or self.layer.kind == BLOOM and self.is_filled()

    def is_filled(self):
        """Whether more is in use than n keys use, and the scatter of their number besides."""
        n, k, m = self.layer.capacity, self.layer.positions, self.layer.range
        return self.used() > -m * math.expm1(-(n + math.sqrt(n) + 1) * k / m)

    def add(self, key_hash):
        for i in self.places(key_hash):
            self.cells[i] = 1
        return DONE

    def fold_into(self, _):
        return False


class Counters(Cells):
    def is_full(self):
        return self.is_filled()

    def add(self, key_hash):
        places = self.places(key_hash)
        lowest = min(self.cells[i] for i in places)
        for i in places:
            if self.cells[i] < (1 << self.width) - 1 and (self.layer.policy != CONSERVATIVE or self.cells[i] == lowest):
                self.cells[i] += 1
        self.copies += 1
        return DONE

    def remove(self, key_hash):
        for i in self.places(key_hash) if self.has(key_hash) else ():
            if self.cells[i] < (1 << self.width) - 1:
                self.cells[i] -= 1


class Slots(Cells):
    def bucket(self, number):
        """The slots of a bucket, from the lowest on."""
        return range(number * self.layer.slots, (number + 1) * self.layer.slots)

    def lowest(self, bucket, value):
        """The lowest slot of a bucket that holds something, or is free (0)."""
        return next((slot for slot in self.bucket(bucket) if self.cells[slot] == value), None)

    def has(self, key_hash):
        fingerprint, *buckets = self.layer.home(key_hash)
        return any(self.lowest(bucket, fingerprint) is not None for bucket in buckets)

    def is_full(self):
        return self.used() >= self.layer.capacity

    def add(self, key_hash):
        fingerprint, first, second = self.layer.home(key_hash)
        if self.layer.policy == UNIQUE and self.has(key_hash):
            return DONE
        free = [sum(self.cells[slot] == 0 for slot in self.bucket(bucket)) for bucket in (first, second)]
        slot = self.lowest(second if free[1] > free[0] else first, 0)
        if slot is None and all(self.cells[i] == fingerprint for b in (first, second) for i in self.bucket(b)):
            return COPIES
        slot = self.make_room(first, second) if slot is None else slot
        if slot is None:
            return FULL
        self.cells[slot] = fingerprint
        self.copies += 1
        return DONE

    def make_room(self, first, second):
        """A slot in one of two full buckets, freed by moving others; None when no path is found."""
        buckets = [first] if first == second else [first, second]
        through = {bucket: None for bucket in buckets}  # the slot through which a bucket came into the list
        for bucket in buckets:
            for slot in self.bucket(bucket):
                if len(buckets) >= self.layer.search:
                    break
                other = self.layer.other_bucket(self.cells[slot], bucket)
                if other in through:
                    continue
                buckets.append(other)
                through[other] = slot
                if self.lowest(other, 0) is not None:
                    return self.move(through, other)
        return None

    def move(self, through, bucket):
        """Moves the fingerprints of a path, its far end first, and gives the slot that is free then."""
        self.moved += 1
        free = self.lowest(bucket, 0)
        while through[bucket] is not None:
            slot = through[bucket]
            self.cells[free] = self.cells[slot]
            free, bucket = slot, slot // self.layer.slots
        return free

    def remove(self, key_hash):
        fingerprint, first, second = self.layer.home(key_hash)
        slot = self.lowest(first, fingerprint)
        self.cells[self.lowest(second, fingerprint) if slot is None else slot] = 0

    def fold_into(self, other):
        fine, coarse = self.layer, other.layer
        return (fine.range % coarse.range == 0 and (fine.slots, fine.layout) == (coarse.slots, coarse.layout) and
                fine.cell_bits >= coarse.cell_bits)


def cells_of(layer, is_empty=False):
    return {COUNTING: Counters, CUCKOO: Slots}.get(layer.kind, Cells)(layer, is_empty)


def planned_capacities(n, growth, limit):
    """The capacities of all layers of a filter that has a max capacity."""
    capacities, left = [], limit
    while left > 0:
        natural = n * growth**len(capacities)
        capacities.append(left if left - natural <= natural else natural)
        left -= capacities[-1]
    return capacities


def planned_rate(capacities, index, p, smallest):
    """The layer's share of p in proportion to its capacity, but not less than the smallest rate."""
    for i, capacity in enumerate(capacities):
        if p * capacity / sum(capacities[i:]) >= smallest:
            return p * capacities[index] / sum(capacities[i:]) if index >= i else smallest
        p -= smallest
    return smallest


def plan(read, index):
    """Capacity and rate of a layer, counted from 0; None when there is none."""
    smallest = SMALLEST_RATE[read.kind]
    if read.max_capacity == 0:
        capacity, rate = read.capacity * read.growth**index, read.fpr * (1 / ((index + 1) * (index + 2)) + 1 / 32) / 2
    else:
        capacities = planned_capacities(read.capacity, read.growth, read.max_capacity)
        if index >= len(capacities) or smallest * len(capacities) > read.fpr:
            return None
        is_even = read.kind == CUCKOO and read.layers[0].policy == MULTISET
        capacity = capacities[index]
        rate = read.fpr / len(capacities) if is_even else planned_rate(capacities, index, read.fpr, smallest)
    return (capacity, rate) if index < 32 and capacity <= MASK and rate >= smallest else None


class Replay:
    """A filter to which operations are done. `recorded` has the layers that it may grow by, for their sizes: those of
    the filter that the library made."""

    def __init__(self, read, recorded):
        self.read = read
        self.recorded = recorded
        self.layers = [cells_of(layer) for layer in read.layers]
        self.position = read.position
        self.ambiguous = read.ambiguous
        self.is_sum = read.flags & 1
        self.seen = collections.Counter()

    def run(self, records):
        """Does them. How often each thing was refused, or happened on the way."""
        for _, kind, values in records:
            if kind == CLEAR:
                self.clear()
            elif kind == POSITION:
                self.position = values[0]
            else:
                results = (self.add(value) if kind == ADD else self.remove(value) for value in values)
                refusal = next((result for result in results if result != DONE), None)  # ends the record
                self.seen.update([refusal] if refusal is not None else [])
        return self.seen

    def clear(self):
        self.layers = [cells_of(self.layers[0].layer, is_empty=True)]
        self.position = b""
        self.ambiguous = self.is_sum = 0

    def add(self, key_hash):
        is_new = not any(layer.has(key_hash) for layer in self.layers)
        keeps_copies = self.layers[0].layer.policy in (MULTISET, CONSERVATIVE)
        if len(self.layers) > 1 and not keeps_copies and any(layer.has(key_hash) for layer in self.layers[:-1]):
            return DONE
        result = self.add_to_last(key_hash, is_new or keeps_copies)
        if result == DONE:
            self.layers[-1].adds += is_new
        return result

    def add_to_last(self, key_hash, takes_room):
        is_bounded = self.read.at_capacity != 0
        last = self.layers[-1]
        before = last.moved
        result = FULL if is_bounded and takes_room and last.is_full() else last.add(key_hash)
        self.seen["moved"] += last.moved - before
        if result == FULL and self.read.at_capacity == GROWS and self.grow():
            return self.add_to_last(key_hash, takes_room)
        return result

    def grow(self):
        """Appends the next larger layer, or the largest one that is missing; whether there is one."""
        capacities = [layer.layer.capacity for layer in self.layers]
        natural = 1
        while plan(self.read, natural) is not None and plan(self.read, natural)[0] <= max(capacities):
            natural += 1
        for index in range(natural, 0, -1):
            planned = plan(self.read, index)
            layer = None if planned is None or planned[0] in capacities else self.recorded_layer(*planned)
            if layer is not None and len(self.layers) < 32:
                self.layers.append(cells_of(layer, is_empty=True))
                self.seen["grown"] += 1
                return True
        return False

    def recorded_layer(self, capacity, rate):
        """The layer for so many keys. None when max bytes does not allow it: then it is not recorded either."""
        found = [layer for layer in self.recorded if layer.capacity == capacity]
        if not found and self.read.max_bytes != 0:
            return None
        demand(len(found) > 0, f"a layer for {capacity} keys is to be appended, which is not recorded")
        demand(math.isclose(found[0].fpr, rate, rel_tol=1e-12), f"the rate of the layer for {capacity} keys")
        bytes_then = sum(cells.layer.size for cells in self.layers) + found[0].size
        return found[0] if self.read.max_bytes == 0 or bytes_then <= self.read.max_bytes else None

    def remove(self, key_hash):
        having = sorted((layer for layer in self.layers if layer.has(key_hash)), key=lambda cells: cells.layer.capacity)
        if not having:
            return DONE
        self.seen["chosen layer"] += len(having) > 1
        if not all(having[-1].fold_into(other) for other in having[:-1]):
            self.ambiguous += 1
            return AMBIGUOUS
        having[-1].remove(key_hash)
        having[-1].copies = max(0, having[-1].copies - 1)
        having[-1].removals += 1
        return DONE

    def encode(self):
        """The filter as a file without a journal."""
        read = self.read
        sections = [(1, 1, self.layer_records()), (2, 0, read.metadata), (3, 0, self.position)]
        sections = [(kind, flags, data) for kind, flags, data in sections if data]
        body = b"".join(struct.pack("<IIQ", kind, flags, len(data)) + data + bytes(-len(data) % 8)
                        for kind, flags, data in sections)
        payloads = [cells.payload() for cells in self.layers]
        chunks = [checksum(payload[i:i + 2**20]) for payload in payloads for i in range(0, len(payload), 2**20)]
        table = struct.pack(f"<{len(chunks)}Q", *chunks)
        size = (192 + len(body) + len(table) + 8 + 63) // 64 * 64
        fixed = struct.pack("<8sIIQQQIIQIIQQdQQI", b"\xb6perhaps", 1, 192, size, sum(map(len, payloads)), len(body),
                            len(sections), 20, len(chunks), read.kind, read.source, read.seed, read.capacity, read.fpr,
                            self.is_sum, read.fingerprint([cells.layer for cells in self.layers]), len(self.layers))
        fixed += struct.pack("<IQQQII", read.growth, read.max_capacity, read.max_bytes, self.ambiguous,
                             read.at_capacity, read.key_check)
        header = (fixed + bytes(48) + body + table).ljust(size - 8, b"\0")
        return header + struct.pack("<Q", checksum(header)) + b"".join(payloads)

    def layer_records(self):
        records, offset = b"", 0
        for cells in self.layers:
            layer = cells.layer
            records += struct.pack("<QQQdQQQIIQQQIIIIQ", offset, layer.size, layer.capacity, layer.fpr, cells.adds,
                                   layer.bits, cells.used(), layer.positions, layer.layout, layer.range, cells.copies,
                                   cells.removals, layer.cell_bits, layer.slots, layer.policy, layer.search, 0)
            offset += layer.size
        return records
