// SPDX-License-Identifier: MIT
// Sizing of blocked filters. The textbook formula takes every block for evenly filled and misses its p: blocks get a
// binomial number of keys, and the full ones answer "perhaps" far more often. Here the mixture is summed.
#include <math.h>

#include "sizing.h"

// A 32-byte block may need this much more than the smallest layout and is taken all the same: at p = 1 % it asks for
// 4.3 % more bits than a 64-byte one and is looked up in half the vector instructions.
#define SPEED_IS_WORTH 1.05

static const struct perhaps__block_shape shapes[] = {
    [PERHAPS_BLOCK_32_4X64] = {32, 4, 64, 1},
    [PERHAPS_BLOCK_32_8X32] = {32, 8, 32, 1},
    [PERHAPS_BLOCK_64_8X64] = {64, 8, 64, 1},
    [PERHAPS_BLOCK_64_8X64_TWO] = {64, 8, 64, 2},
};
#define FIRST_LAYOUT PERHAPS_BLOCK_32_4X64
#define LAST_LAYOUT PERHAPS_BLOCK_64_8X64_TWO

const struct perhaps__block_shape *perhaps__block_shape(uint32_t layout)
{
    return layout >= FIRST_LAYOUT && layout <= LAST_LAYOUT ? &shapes[layout] : NULL;
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
    for (double j = 0.0; j <= keys && (j <= mean || weight > 1e-20); j += 1.0) {
        sum += weight * power(lane_hit(shape, clear, both_clear), shape->lanes);
        weight *= (keys - j) / (j + 1.0) * odds;
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

static bool is_worth_taking(uint32_t layout, uint64_t units, uint64_t fewest)
{
    return units == fewest || (shapes[layout].bytes == 32 && (double)units <= (double)fewest * SPEED_IS_WORTH);
}

bool perhaps__blocked_size(uint64_t capacity, double fpr, struct perhaps__size *size)
{
    double floor_rate = perhaps__hash_floor(capacity);
    if (floor_rate > fpr / 4.0) {
        return false;
    }
    uint64_t units[LAST_LAYOUT + 1];
    uint64_t fewest = 0;
    for (uint32_t layout = FIRST_LAYOUT; layout <= LAST_LAYOUT; layout++) {
        units[layout] = units_for(capacity, fpr - floor_rate, layout);
        if (units[layout] != 0 && (fewest == 0 || units[layout] < fewest)) {
            fewest = units[layout];
        }
    }
    for (uint32_t layout = FIRST_LAYOUT; layout <= LAST_LAYOUT; layout++) {
        if (units[layout] != 0 && is_worth_taking(layout, units[layout], fewest)) {
            uint64_t bits = units[layout] * PERHAPS_UNIT_BITS;
            *size = (struct perhaps__size){
                .capacity = capacity,
                .fpr = fpr,
                .fpr_expected = perhaps__blocked_expected_fpr(capacity, bits, layout) + floor_rate,
                .bits = bits,
                .positions = shapes[layout].lanes * shapes[layout].bits_per_lane,
                .layout = layout,
            };
            return true;
        }
    }
    return false;
}

// Every layout offers the rate that these bits give it. The smallest offer that sizing turns into a filter which fits
// is taken; sizing may prefer a faster layout that does not, but the fastest one's own offer always does.
bool perhaps__blocked_fpr_for(uint64_t capacity, uint64_t bits, double smallest, double largest,
                              struct perhaps__size *size)
{
    if (bits < PERHAPS_UNIT_BITS) {
        return false;
    }
    uint64_t usable = perhaps__min(bits, PERHAPS_MAX_BITS) & ~(uint64_t)(PERHAPS_UNIT_BITS - 1);
    double floor_rate = perhaps__hash_floor(capacity);
    bool found = false;
    for (uint32_t layout = FIRST_LAYOUT; layout <= LAST_LAYOUT; layout++) {
        // A hair above the rate itself, so that rounding does not ask for one unit more.
        double offer = (perhaps__blocked_expected_fpr(capacity, usable, layout) + floor_rate) * (1.0 + 1e-12);
        double fpr = fmax(fmax(offer, floor_rate * 4.0), smallest);
        struct perhaps__size candidate;
        if (fpr <= largest && (!found || fpr < size->fpr) && perhaps__blocked_size(capacity, fpr, &candidate) &&
            candidate.bits <= bits) {
            *size = candidate;
            found = true;
        }
    }
    return found;
}
