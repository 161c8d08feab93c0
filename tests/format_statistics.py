# SPDX-License-Identifier: MIT
"""What `perhaps info --json` must say of a filter, computed from its bytes: every member that it prints.

Written from docs/format.md, include/perhaps/perhaps.h ("What is known about a filter") and docs/sizing.md, so that a
mistake in the library's sums is not made here as well. compare() names what differs.
"""
import base64
import math

KINDS = {1: "bloom", 2: "blocked", 3: "counting", 4: "cuckoo"}
SOURCES = {1: "xxh3", 2: "caller", 3: "siphash"}
POLICIES = {1: "multiset", 2: "unique", 3: "conservative"}
AT_CAPACITY = ("go-on", "refuse", "grow")
TIMES = 16
TOLERANCE = 1e-9  # relative; what two maths libraries may differ by, and no more


def bits_of_key(layer):
    """The different bits that a key sets on average: two in one lane may coincide."""
    _, lanes, lane_bits, bits_in_lane = layer.block_layout()
    return lanes * bits_in_lane - (lanes / lane_bits if bits_in_lane == 2 else 0)


def blocked_fpr(layer):
    """The mean over the blocks of the product over their lanes of (share of bits set)^b."""
    size, lanes, lane_bits, bits_in_lane = layer.block_layout()
    rates = []
    for start in range(0, len(layer.payload), size):
        block = int.from_bytes(layer.payload[start:start + size], "little")
        set_bits = [(block >> i * lane_bits & (1 << lane_bits) - 1).bit_count() for i in range(lanes)]
        rates.append(math.prod(count / lane_bits for count in set_bits)**bits_in_lane)
    return math.fsum(rates) / len(rates)


def cuckoo_fpr(layer):
    """n balls in F b/2 bins; policy unique: no two of them in one."""
    fingerprints = 2**layer.cell_bits - 2**(layer.cell_bits - layer.layout)
    if layer.policy == 2:
        return 2 * layer.count_used() / (fingerprints * layer.range)
    return -math.expm1(layer.count_used() * math.log1p(-2 / (fingerprints * layer.range)))


def distinct(fill, cells, positions):
    """-(m/k) ln(1 - X/m); None, as JSON has no infinity, when there is nothing left to tell from."""
    return None if fill == 1 else -cells / positions * math.log1p(-fill) if fill else 0.0


def poisson_tail(mean, least):
    """P(Poisson(mean) >= least), summed until terms no longer count."""
    terms = [math.exp(least * math.log(mean) - mean - math.lgamma(least + 1))] if mean > 0 else [0.0]
    while terms[-1] > terms[0] * 1e-20:
        terms.append(terms[-1] * mean / (least + len(terms)))
    return math.fsum(terms)


def of_counters(layer):
    k, m, most = layer.positions, layer.range, 2**layer.cell_bits - 1
    cells = [layer.cell(i) for i in range(m)]
    fill = layer.count_used() / m
    next_fill = max(0.0, 1 - (1 - fill) * (1 - 1 / m)**-k)
    saturated = cells.count(most)
    tail = poisson_tail(-math.log1p(-fill), most) if fill < 1 else 1.0
    return {
        "counter_bits": layer.cell_bits,
        "saturated": saturated,
        "saturated_share": saturated / m,
        "saturation_chance": -math.expm1(m * math.log1p(-tail)) if tail < 1 else 1.0,
        "times_fpr": [(sum(cell >= min(t, most) for cell in cells) / m)**k for t in range(1, TIMES + 1)],
        "times_fpr_next": [fill**k] + [next_fill**k if t <= most else 1.0 for t in range(2, TIMES + 1)],
    }


def of_layer(layer):
    """What is summed or multiplied over layers, and what `info` prints of each layer of a filter that grows."""
    used = layer.count_used()
    cells = {3: layer.range, 4: layer.range * layer.slots}.get(layer.kind, layer.bits)
    fill = used / cells
    estimate, fpr = {
        1: lambda: (distinct(fill, cells, layer.positions), fill**layer.positions),
        2: lambda: (distinct(fill, cells, bits_of_key(layer)), blocked_fpr(layer)),
        3: lambda: (distinct(fill, cells, layer.positions), fill**layer.positions),
        4: lambda: (float(used), cuckoo_fpr(layer)),
    }[layer.kind]()
    return {"used": used, "cells": cells, "fill": fill, "estimate": estimate, "fpr_now": fpr}


def of_growth(read, counted):
    return {
        "growth": read.growth,
        "capacity_now": sum(layer.capacity for layer in read.layers),
        "max_capacity": read.max_capacity,
        "max_bytes": read.max_bytes,
        "fpr_bound": math.fsum(layer.fpr for layer in read.layers),
        "ambiguous": read.ambiguous,
        "layer": [{
            "capacity": layer.capacity,
            "bytes": len(layer.payload),
            "adds": layer.adds,
            "fill": found["fill"],
            "fpr_target": layer.fpr,
            "fpr_now": found["fpr_now"],
        } for layer, found in zip(read.layers, counted)],
    }


def of_kind(read):
    newest = read.layers[-1]
    members = {}
    if newest.policy:
        members.update(policy=POLICIES[newest.policy], copies=sum(layer.copies for layer in read.layers),
                       removals=sum(layer.removals for layer in read.layers))
    if read.kind == 3:
        members.update(of_counters(newest))
    if read.kind == 4:
        members.update(slots=newest.slots, fingerprint_bits=newest.cell_bits,
                       buckets=sum(layer.range for layer in read.layers))
    return members


def text_or_bytes(data):
    if not data:
        return None
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"bytes": base64.b64encode(data).decode()}


def statistics(read, length):
    """Everything but the name of the file, of a filter without a journal that is `length` bytes long."""
    counted = [of_layer(layer) for layer in read.layers]
    estimates = [found["estimate"] for found in counted]
    bits = sum(layer.bits for layer in read.layers)
    members = {
        "kind": KINDS[read.kind],
        "format_version": read.version,
        "hash_source": SOURCES[read.source],
        "seed": read.seed,
        "capacity": read.capacity,
        "adds": sum(layer.adds for layer in read.layers),
        "adds_exact": not read.flags & 1,
        "distinct_estimate": None if None in estimates else math.fsum(estimates),
        "layers": len(read.layers),
        "positions": read.layers[-1].positions,
        "bits": bits,
        "set_bits": sum(found["used"] for found in counted),
        "fill": sum(found["used"] for found in counted) / sum(found["cells"] for found in counted),
        "fpr_target": read.fpr,
        "fpr_now": combine([found["fpr_now"] for found in counted]),
        "bytes": sum(len(layer.payload) for layer in read.layers),
        "encoded_bytes": length,
        "bits_per_key": bits / sum(layer.capacity for layer in read.layers),
        "at_capacity": AT_CAPACITY[read.at_capacity],
        "metadata": text_or_bytes(read.metadata),
    }
    if read.source == 3:
        members.update(key_check=read.key_check, key_missing=False)
    if read.growth:
        members.update(of_growth(read, counted))
    return members | of_kind(read)


def combine(rates):
    """1 - the product of (1 - rate), without the digits that small rates would lose to the 1."""
    return -math.expm1(math.fsum(math.log1p(-rate) for rate in rates)) if max(rates) < 1 else 1.0


def compare(said, computed, name=""):
    """Lines that say what differs; none when all is the same."""
    if isinstance(computed, dict) and isinstance(said, dict):
        for member in sorted(said.keys() | computed.keys()):
            if member not in said or member not in computed:
                yield f"{name}{member}: {'computed' if member in computed else 'said'} only"
            else:
                yield from compare(said[member], computed[member], f"{name}{member}.")
    elif isinstance(computed, list) and isinstance(said, list) and len(computed) == len(said):
        for i, (one, other) in enumerate(zip(said, computed)):
            yield from compare(one, other, f"{name}{i}.")
    elif isinstance(computed, float) and isinstance(said, (int, float)):
        if not math.isclose(said, computed, rel_tol=TOLERANCE, abs_tol=0):
            yield f"{name[:-1]}: {said!r} is said, {computed!r} computed"
    elif said != computed:
        yield f"{name[:-1]}: {said!r} is said, {computed!r} computed"
