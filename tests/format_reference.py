#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A second reader of docs/format.md, written from its text alone, on an independent build of xxHash.

    tests/format_reference.py [--key HEX] FILE...          prints what each filter says of itself

HEX is the secret key of filters that have one, as 32 hexadecimal digits. What operations do and journals are in
format_journal.py, statistics in format_statistics.py, sizes in format_sizing.py, and format_check.py compares with the
golden files.
"""
import pathlib
import struct
import sys

import xxhash

MASK = 2**64 - 1
PROBE_LENGTHS = (0, 1, 3, 5, 8, 12, 16, 33, 128, 200, 240, 256, 600)
LAYOUTS = {1: (32, 4, 64, 1), 2: (32, 8, 32, 1), 3: (64, 8, 64, 1), 4: (64, 8, 64, 2)}  # bytes, lanes, bits, of a key
SALT = (0x5692161D, 0xDBD23897, 0x1E535EED, 0xB7A4712D, 0xB6BF613D, 0xD1770797, 0x12AE3023, 0xD56B1FBB)


def checksum(data):
    return xxhash.xxh3_64_intdigest(data, 0)


def mix(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def demand(condition, what):
    if not condition:
        raise ValueError(what)


def rotate(x, bits):
    return (x << bits | x >> (64 - bits)) & MASK


def sip_round(a, b, c, d):
    a, c = (a + b) & MASK, (c + d) & MASK
    b, d = rotate(b, 13) ^ a, rotate(d, 16) ^ c
    a, c = rotate(a, 32), (c + b) & MASK
    a = (a + d) & MASK
    b, d = rotate(b, 17) ^ c, rotate(d, 21) ^ a
    return a, b, rotate(c, 32), d


def siphash(data, secret):
    """SipHash-2-4, after the paper of Aumasson and Bernstein."""
    low, high = struct.unpack("<QQ", secret)
    state = (low ^ 0x736F6D6570736575, high ^ 0x646F72616E646F6D, low ^ 0x6C7967656E657261, high ^ 0x7465646279746573)
    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) % 256])
    for (word,) in struct.iter_unpack("<Q", padded):
        state = sip_round(*sip_round(*state[:3], state[3] ^ word))
        state = (state[0] ^ word, *state[1:])
    state = (*state[:2], state[2] ^ 0xFF, state[3])
    for _ in range(4):
        state = sip_round(*state)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def key_check(secret):
    return siphash(b"perhaps: key check value", secret) & 0xFFFFFFFF | 1


class Layer:
    """A record of the layer section, and the payload that belongs to it."""

    def __init__(self, record, kind, payload, place):
        (self.offset, self.size, self.capacity, self.fpr, self.adds, self.bits, self.used, self.positions, self.layout,
         self.range, self.copies, self.removals, self.cell_bits, self.slots, self.policy, self.search,
         reserved) = struct.unpack("<QQQdQQQIIQQQIIIIQ", record)
        demand(self.size == self.bits // 8 and reserved == 0, "layer")
        self.kind = kind
        self.payload = payload[self.offset:self.offset + self.size]
        self.place = place
        demand(self.layout in LAYOUTS if kind == 2 else 4 <= self.layout <= self.cell_bits if kind == 4
               else self.layout == 0, "layout")
        self.number = int.from_bytes(self.payload, "little") if kind >= 3 else 0
        demand(self.count_used() == self.used, "used")

    def count_used(self):
        if self.kind == 3:
            return sum(self.cell(i) > 0 for i in range(self.range))
        if self.kind == 4:
            return sum(self.cell(i) > 0 for i in range(self.range * self.slots))
        return sum(byte.bit_count() for byte in self.payload)

    def cell(self, number):
        """A counter, or a slot."""
        return self.number >> number * self.cell_bits & (1 << self.cell_bits) - 1

    def home(self, key_hash):
        """The fingerprint of a key, and its two buckets."""
        at = self.place(key_hash)
        least = 1 << self.cell_bits - self.layout
        fingerprint = least + ((at >> 32) * ((1 << self.cell_bits) - least) >> 32)
        first = (at & (1 << 52) - 1) % self.range
        return fingerprint, first, self.other_bucket(fingerprint, first)

    def other_bucket(self, fingerprint, bucket):
        total = (fingerprint >> self.cell_bits - self.layout) * 0x9E3779B1 & 0xFFFFFFFF
        total = (total ^ total >> 16) | 1
        return (total - bucket) % self.range

    def count_at_most(self, key_hash):
        """The bound for kinds that count; None stands for no bound."""
        if self.kind == 3:
            smallest = min(self.cell(position) for position in self.walk(key_hash))
            return None if smallest == (1 << self.cell_bits) - 1 else smallest
        fingerprint, first, second = self.home(key_hash)
        return sum(self.cell(bucket * self.slots + i) == fingerprint
                   for bucket in {first, second} for i in range(self.slots))

    def block_layout(self):
        """Of blocked: bytes of a block, lanes, bits of a lane, bits of a key in a lane."""
        return LAYOUTS[self.layout]

    def block(self, key_hash):
        """The number of a key's block, and its bits there as one number."""
        size, lanes, lane_bits, bits_of_key = self.block_layout()
        at = self.place(key_hash)
        choices = (at & 0xFFFFFFFF, (at * 0x9FB21C651E98DF25 & MASK) >> 32)[:bits_of_key]
        mask = 0
        for choice in choices:
            for i in range(lanes):
                bit = (choice * SALT[i] & 0xFFFFFFFF) >> (27 if lane_bits == 32 else 26)
                mask |= 1 << i * lane_bits + bit
        return at * (len(self.payload) // size) >> 64, mask

    def walk(self, key_hash):
        at = self.place(key_hash)
        step = ((at << 32 | at >> 32) & MASK) | 1
        for _ in range(self.positions):
            yield (((at ^ (at >> 32)) * 0xD6E8FEB86659FD93 & MASK) * self.range) >> 64
            at = (at + step) & MASK

    def might_contain(self, key_hash):
        if self.kind == 2:
            number, mask = self.block(key_hash)
            size = LAYOUTS[self.layout][0]
            return mask & ~int.from_bytes(self.payload[number * size:(number + 1) * size], "little") == 0
        if self.kind >= 3:
            return self.count_at_most(key_hash) != 0
        return all(self.payload[bit // 8] >> bit % 8 & 1 for bit in self.walk(key_hash))

    def positions_of(self, key_hash):
        """What the probe fingerprint mixes for a key."""
        if self.kind == 2:
            block, mask = self.block(key_hash)
            return [block] + [mask >> 64 * i & MASK for i in range(8)]
        if self.kind == 4:
            return self.home(key_hash)
        return self.walk(key_hash)


class Filter:
    def __init__(self, data, secret=None):
        self.secret = secret
        demand(data[:8] == b"\xb6perhaps", "magic")
        (self.version, fixed_size, header_size, payload_size, section_size, sections, chunk_shift, chunks, self.kind,
         self.source, self.seed, self.capacity, self.fpr, self.flags, self.probe, layers) = struct.unpack(
             "<IIQQQIIQIIQQdQQI", data[8:108])
        (self.growth, self.max_capacity, self.max_bytes, self.ambiguous, self.at_capacity,
         self.key_check) = struct.unpack("<IQQQII", data[108:144])
        demand(self.version == 1 and fixed_size == 192 and 1 <= layers <= 32 and chunk_shift == 20, "fixed part")
        self.file_id, self.generation, self.folded = struct.unpack("<QQQ", data[144:168])
        demand(not any(data[168:192]) and self.flags < 4, "reserved")
        demand((self.file_id != 0 and self.generation != 0) if self.flags & 2
               else self.file_id == self.generation == self.folded == 0, "identity")
        demand(self.source != 3 or secret is not None, "its secret key is needed")
        demand(self.key_check == (key_check(secret) if self.source == 3 else 0), "key check value")
        demand(header_size % 64 == 0 and header_size + payload_size == len(data), "sizes")
        header = data[:header_size]
        demand(checksum(header[:-8]) == struct.unpack("<Q", header[-8:])[0], "header checksum")
        self.header_checksum = struct.unpack("<Q", header[-8:])[0]
        self.read_sections(header[192:192 + section_size], sections, data[header_size:])
        demand(len(self.layers) == layers, "number of layers")
        self.check_chunks(header[192 + section_size:-8], chunks)
        demand(self.fingerprint(self.layers) == self.probe, "probe fingerprint")

    def read_sections(self, data, count, payload):
        self.metadata = b""
        self.position = b""
        at = 0
        for _ in range(count):
            kind, flags, size = struct.unpack_from("<IIQ", data, at)
            body = data[at + 16:at + 16 + size]
            at += 16 + (size + 7) // 8 * 8
            if kind == 1:
                demand(flags == 1 and size % 112 == 0, "layer section")
                self.layers = [Layer(body[i:i + 112], self.kind, payload, self.place) for i in range(0, size, 112)]
            elif kind == 2:
                demand(flags == 0 and 1 <= size <= 65536, "metadata section")
                self.metadata = body
            elif kind == 3:
                demand(flags == 0 and 1 <= size <= 4096, "position section")
                self.position = body
        demand(at == len(data), "section size")
        end = 0
        for layer in self.layers:
            demand(layer.offset == end, "payload offset")
            end += layer.size
        demand(end == len(payload), "payload size")

    def check_chunks(self, table, chunks):
        parts = [layer.payload[i:i + 2**20] for layer in self.layers for i in range(0, layer.size, 2**20)]
        demand(chunks == len(parts), "chunks")
        for i, part in enumerate(parts):
            demand(checksum(part) == struct.unpack_from("<Q", table, 8 * i)[0], f"chunk {i}")
        demand(not any(table[8 * chunks:]) and len(table) - 8 * chunks < 64, "padding")

    def hash(self, key):
        if self.source == 3:
            return siphash(key, self.secret)
        return key if self.source == 2 else xxhash.xxh3_64_intdigest(key, self.seed)

    def place(self, key_hash):
        return mix(key_hash ^ mix((self.seed + 0x9E3779B97F4A7C15) & MASK))

    def might_contain(self, key):
        return any(layer.might_contain(self.hash(key)) for layer in self.layers)

    def fingerprint(self, layers):
        """The probe fingerprint of a filter with these layers."""
        sequence = bytes(i % 251 for i in range(600))
        digest = 0
        for number, length in enumerate(PROBE_LENGTHS):
            key_hash = number if self.source == 2 else self.hash(sequence[:length])
            for layer in layers:
                for position in layer.positions_of(key_hash):
                    digest = mix(digest ^ position)
        return digest


def take_key(arguments):
    """The other arguments, and the secret key or None."""
    if arguments[:1] != ["--key"]:
        return arguments, None
    secret = bytes.fromhex(arguments[1])
    demand(len(secret) == 16, "a secret key has 16 bytes")
    vector = bytes(range(15))  # the test vector of the paper
    demand(siphash(vector, bytes(range(16))) == 0xA129CA6149BE45E5, "SipHash is not SipHash")
    return arguments[2:], secret


def main():
    names, secret = take_key(sys.argv[1:])
    for name in names:
        read = Filter(pathlib.Path(name).read_bytes(), secret)
        print(f"{name}: n {read.capacity} p {read.fpr} seed {read.seed} probe {read.probe:#x} "
              f"metadata {len(read.metadata)}")
        for layer in read.layers:
            print(f"  layer: n {layer.capacity} p {layer.fpr} bits {layer.bits} range {layer.range} k {layer.positions} "
                  f"layout {layer.layout} used {layer.used} adds {layer.adds}")


if __name__ == "__main__":
    main()
