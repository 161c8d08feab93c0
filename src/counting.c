// SPDX-License-Identifier: MIT
// What concerns all counters at once: they are taken 4 to 16 at a time, as lanes of 64-bit words.
#include "counting.h"

#include "place_many.h"

// A word with `value` in every lane of `width` bits.
static inline uint64_t every_lane(uint32_t width, uint64_t value)
{
    return UINT64_MAX / perhaps__cell_most(width) * value;
}

// The sums of every second lane, each with the lane above it to run over into; a sum that does becomes the maximum.
static uint64_t add_half(uint64_t a, uint64_t b, uint64_t lanes, uint32_t width)
{
    uint64_t sums = (a & lanes) + (b & lanes);
    uint64_t over = sums & ~lanes; // at most one bit a lane, the lowest above it
    return (sums | (over - (over >> width))) & lanes;
}

void perhaps__counting_unite(const struct perhaps__counters *counters, const struct perhaps__counters *others)
{
    uint32_t width = counters->width;
    uint64_t lanes = every_lane(2 * width, perhaps__cell_most(width));
    uint64_t words = counters->count / (64 / width);
    for (uint64_t i = 0; i < words; i++) {
        uint64_t a = perhaps__little64(counters->words[i]);
        uint64_t b = perhaps__little64(others->words[i]);
        uint64_t low = add_half(a, b, lanes, width);
        uint64_t high = add_half(a >> width, b >> width, lanes, width);
        perhaps__set_word(&counters->words[i], perhaps__little64(low | high << width));
    }
}

void perhaps__counting_shares(const struct perhaps__counters *counters, double shares[PERHAPS_TIMES + 1])
{
    const uint64_t most = UINT64_C(1) << 18;
    const uint64_t in_line = PERHAPS_LINE * 8 / counters->width;
    uint64_t lines = counters->count / in_line;
    uint64_t looked_at = perhaps__min(lines, most);
    uint64_t numbers[PERHAPS_TIMES + 1] = {0}; // of counters of each value, the last one: that or more
    for (uint64_t i = 0; i < looked_at; i++) {
        // Evenly spaced over the filter: i * lines / 2^18.
        uint64_t line = looked_at < most ? i : perhaps__multiply_high(i << 46, lines);
        for (uint64_t j = line * in_line; j < (line + 1) * in_line; j++) {
            uint64_t value = perhaps__cell_get((const uint8_t *)counters->words, j, counters->width);
            numbers[perhaps__min(value, PERHAPS_TIMES)]++;
        }
    }
    uint64_t sum = 0;
    for (size_t value = PERHAPS_TIMES + 1; value-- > 0;) {
        sum += numbers[value];
        shares[value] = (double)sum / (double)(looked_at * in_line);
    }
}

void perhaps__counting_to_bits(const struct perhaps__view *view, uint64_t *words)
{
    for (uint64_t i = 0; i < view->range; i++) {
        if (perhaps__cell_get(view->memory, i, view->shape.cell_bits) != 0) {
            (void)perhaps__bit_set(words, i);
        }
    }
}
