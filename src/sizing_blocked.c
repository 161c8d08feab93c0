// SPDX-License-Identifier: MIT
// Sizing of blocked filters. The textbook formula takes every block for evenly filled and misses its p: blocks get a
// binomial number of keys, and the full ones answer "perhaps" far more often. Here the mixture is summed.
#include <math.h>

#include "sizing.h"

static const struct perhaps__block_shape shapes[] = {
    [PERHAPS_BLOCK_32_4X64] = {32, 4, 64, 1},
    [PERHAPS_BLOCK_32_8X32] = {32, 8, 32, 1},
    [PERHAPS_BLOCK_64_8X64] = {64, 8, 64, 1},
    [PERHAPS_BLOCK_64_8X64_TWO] = {64, 8, 64, 2},
};

const struct perhaps__block_shape *perhaps__block_shape(uint32_t layout)
{
    return layout >= PERHAPS_BLOCK_32_4X64 && layout < PERHAPS_COUNT(shapes) ? &shapes[layout] : NULL;
}

static double power(double base, uint32_t exponent)
{
    double result = 1.0;
    for (uint32_t i = 0; i < exponent; i++) {
        result *= base;
    }
    return result;
}

// The probability that a query finds its bits of one lane set, after throws that left a given bit clear with
// probability `clear` and two given bits with `both_clear`.
static double lane_hit(const struct perhaps__block_shape *shape, double clear, double both_clear)
{
    if (shape->bits_per_lane == 1) {
        return 1.0 - clear;
    }
    double same = 1.0 / shape->lane_bits; // both bits of the query fall on one
    return same * (1.0 - clear) + (1.0 - same) * (1.0 - 2.0 * clear + both_clear);
}

// Sums P(j keys in a block) * (FPR of a block with j keys). Lanes are independent, so the latter is a power.
static double mixture(uint64_t capacity, double blocks, const struct perhaps__block_shape *shape)
{
    double keys = (double)capacity;
    double weight = exp(keys * log1p(-1.0 / blocks)); // j = 0
    double odds = 1.0 / (blocks - 1.0);
    double one_clear = power(1.0 - 1.0 / shape->lane_bits, shape->bits_per_lane);
    double two_clear = power(1.0 - 2.0 / shape->lane_bits, shape->bits_per_lane);
    double clear = 1.0;
    double both_clear = 1.0;
    double sum = 0.0;
    double mean = keys / blocks;
    for (uint64_t j = 0; j <= capacity && ((double)j <= mean || weight > 1e-20); j++) {
        sum += weight * power(lane_hit(shape, clear, both_clear), shape->lanes);
        weight *= (double)(capacity - j) / (double)(j + 1) * odds;
        clear *= one_clear;
        both_clear *= two_clear;
    }
    return sum;
}

double perhaps__blocked_expected_fpr(uint64_t capacity, uint64_t bits, uint32_t layout)
{
    const struct perhaps__block_shape *shape = &shapes[layout];
    uint64_t blocks = bits / (8 * (uint64_t)shape->bytes);
    if (capacity / blocks > 500) {
        return 1.0; // hopelessly full; and exp(-mean) would vanish
    }
    if (blocks == 1) {
        double keys = (double)capacity;
        double clear = pow(1.0 - 1.0 / shape->lane_bits, keys * shape->bits_per_lane);
        double both_clear = pow(1.0 - 2.0 / shape->lane_bits, keys * shape->bits_per_lane);
        return power(lane_hit(shape, clear, both_clear), shape->lanes);
    }
    return mixture(capacity, (double)blocks, shape);
}

static double blocked_expectation(uint64_t capacity, uint64_t units, uint32_t layout)
{
    return perhaps__blocked_expected_fpr(capacity, units * PERHAPS_UNIT_BITS, layout);
}

// Where the search begins: what evenly filled blocks would need, as for a Bloom filter of the same k.
static uint64_t units_for(uint64_t capacity, double fpr, uint32_t layout)
{
    const struct perhaps__block_shape *shape = &shapes[layout];
    uint32_t positions = shape->lanes * shape->bits_per_lane;
    double even = -(double)positions * (double)capacity / log1p(-pow(fpr, 1.0 / positions));
    return perhaps__smallest_units(blocked_expectation, capacity, fpr, layout, ceil(even / PERHAPS_UNIT_BITS));
}

// The layout depends on p alone: then more keys never make a smaller filter, and (n, bytes) and (p, bytes) have one
// answer. Down to `smallest_fpr` a layout is taken that needs the fewest bits, or is a 32-byte block that needs at most
// 5 % more than a 64-byte one and is looked up in half the vector instructions: 1.046 times the fewest at p = 0.015,
// 1.050 at 0.0055. At 0.00018 the third and the fourth need equally many. test_blocked.c holds it to that.
static const struct choice {
    uint32_t layout;
    double smallest_fpr;
} choices[] = {
    {PERHAPS_BLOCK_32_4X64, 0.015},
    {PERHAPS_BLOCK_32_8X32, 0.0055},
    {PERHAPS_BLOCK_64_8X64, 0.00018},
    {PERHAPS_BLOCK_64_8X64_TWO, 0.0},
};

static uint32_t layout_for(double fpr)
{
    const struct choice *choice = choices;
    while (fpr < choice->smallest_fpr) {
        choice++; // ends at the last one: no rate is below 0
    }
    return choice->layout;
}

bool perhaps__blocked_size(const struct perhaps__shape *asked, uint64_t capacity, double fpr,
                           struct perhaps__size *size)
{
    (void)asked;
    double floor_rate = perhaps__hash_floor(capacity);
    if (floor_rate > fpr / 4.0) {
        return false;
    }
    uint32_t layout = layout_for(fpr);
    uint64_t units = units_for(capacity, fpr - floor_rate, layout);
    if (units == 0) {
        return false;
    }
    uint64_t bits = units * PERHAPS_UNIT_BITS;
    *size = (struct perhaps__size){
        .capacity = capacity,
        .fpr = fpr,
        .fpr_expected = perhaps__blocked_expected_fpr(capacity, bits, layout) + floor_rate,
        .bits = bits,
        .range = bits / 8 / shapes[layout].bytes,
        .shape = {.positions = shapes[layout].lanes * shapes[layout].bits_per_lane, .layout = layout},
    };
    return true;
}

// Every layout offers the rate that these bits give it, or the smallest rate that it is taken for if that is larger. An
// offer for which sizing takes another layout is void. From the strictest on, the first offer that stands is the
// smallest.
bool perhaps__blocked_fpr_for(const struct perhaps__shape *asked, uint64_t capacity, uint64_t bits, double smallest,
                              double largest, struct perhaps__size *size)
{
    if (bits < PERHAPS_UNIT_BITS) {
        return false;
    }
    uint64_t usable = perhaps__min(bits, PERHAPS_MAX_BITS) & ~(uint64_t)(PERHAPS_UNIT_BITS - 1);
    double floor_rate = perhaps__hash_floor(capacity);
    for (size_t i = PERHAPS_COUNT(choices); i > 0; i--) {
        const struct choice *choice = &choices[i - 1];
        // A hair above the rate itself, so that rounding does not ask for one unit more.
        double offer = (perhaps__blocked_expected_fpr(capacity, usable, choice->layout) + floor_rate) * (1.0 + 1e-12);
        double fpr = fmax(fmax(offer, floor_rate * 4.0), fmax(smallest, choice->smallest_fpr));
        if (fpr <= largest && layout_for(fpr) == choice->layout && perhaps__blocked_size(asked, capacity, fpr, size) &&
            size->bits <= bits) {
            return true;
        }
    }
    return false;
}
