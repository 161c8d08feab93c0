# SPDX-License-Identifier: MIT
"""What docs/sizing.md and docs/cuckoo.md promise of a layer's size, computed from their formulas: check() demands that it
keeps its rate at capacity, and, but for cuckoo, that 512 bits fewer would not.
"""
import math

from format_reference import LAYOUTS, demand

EXACT_THROWS = 10000
ROUNDING = 1e-12  # relative: sums in another order
LAYOUT_RATES = ((0.015, 1), (0.0055, 2), (0.00018, 3), (0, 4))  # the smallest p of each layout
ROOM = {1: (0.47, 0), 2: (0.84, 70), 4: (0.95, 32), 8: (0.98, 20)}  # load and few


def exact_rate(throws, m, k):
    """The sum over j of distinct(k, j) covered(throws, j)."""
    covered = [1.0] + [0.0] * k
    distinct = [1.0] + [0.0] * k
    for _ in range(throws):
        covered = [1.0] + [covered[j] * (1 - j / m) + covered[j - 1] * j / m for j in range(1, k + 1)]
    for _ in range(k):
        distinct = [0.0] + [distinct[j] * j / m + distinct[j - 1] * (1 - (j - 1) / m) for j in range(1, k + 1)]
    return math.fsum(a * b for a, b in zip(covered, distinct))


def bloom_rate(n, m, k):
    if n * k <= EXACT_THROWS:
        return exact_rate(n * k, m, k)
    a = n * k / m
    mean = -math.expm1(n * k * math.log1p(-1 / m))
    variance = math.exp(-a) * (1 - (1 + a) * math.exp(-a)) / m
    return mean**k * math.exp(k * (k - 1) / 2 * variance / mean**2)


def blocked_rate(n, m, layout):
    size, lanes, w, b = LAYOUTS[layout]
    blocks = m // (8 * size)
    rates = []
    for j in range(n + 1):
        clear, both_clear = (1 - 1 / w)**(b * j), (1 - 2 / w)**(b * j)
        passes = 1 - clear if b == 1 else (1 - clear) / w + (1 - 1 / w) * (1 - 2 * clear + both_clear)
        rates.append(math.comb(n, j) * (1 / blocks)**j * (1 - 1 / blocks)**(n - j) * passes**lanes)
    return math.fsum(rates)


def cuckoo_rate(n, layer):
    fingerprints = 2**layer.cell_bits - 2**(layer.cell_bits - layer.layout)
    return -math.expm1(n * math.log1p(-2 / (fingerprints * layer.range)))


def has_room(n, layer):
    slots, b = layer.slots, layer.range
    load, few = ROOM[slots]
    pairs = b / 2 / (1 / (2**layer.layout - 1) + 2 / b)
    k = 2 * slots + 1
    crowded = math.comb(n, k) * pairs**(1 - k)
    return n <= 2 * slots or n <= load * b * slots - few and (slots == 1 or crowded <= 1e-9)


def check(layer, name):
    n, m = layer.capacity, layer.bits // (layer.cell_bits if layer.kind == 3 else 1)
    budget = layer.fpr - n / 2**64
    if layer.kind == 4:
        demand(layer.range % 2 == 0 and has_room(n, layer), f"{name}: has no room for its keys")
        demand(cuckoo_rate(n, layer) <= budget * (1 + ROUNDING), f"{name}: misses its rate")
        return
    if layer.kind == 2:
        demand(layer.layout == next(layout for rate, layout in LAYOUT_RATES if budget >= rate), f"{name}: layout")
        shapes, own, rate = [layer.layout], layer.layout, blocked_rate
    else:
        lower = max(1, min(30, math.floor(-math.log2(budget))))
        shapes, own, rate = [lower, lower + 1], layer.positions, bloom_rate
    demand(own in shapes and rate(n, m, own) <= budget * (1 + ROUNDING), f"{name}: misses its rate")
    for shape in shapes if m > 512 else ():
        demand(rate(n, m - 512, shape) > budget * (1 - ROUNDING), f"{name}: is larger than it must be")
