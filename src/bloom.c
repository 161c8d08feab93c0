// SPDX-License-Identifier: MIT
#include "bloom.h"

#include <math.h>

#include "place.h"
#include "words.h"

// How many keys ahead the first line of a key is asked for: enough to cover a memory access.
#define AHEAD 16

bool perhaps__bloom_add(struct perhaps__bloom *bloom, uint64_t placed)
{
    struct perhaps__walk walk = perhaps__walk_start(placed);
    uint64_t added = 0;
    for (uint32_t i = 0; i < bloom->positions; i++) {
        added += perhaps__bit_set(bloom->words, perhaps__walk_next(&walk, bloom->bits));
    }
    bloom->set_bits += added;
    return added > 0;
}

bool perhaps__bloom_might_contain(const struct perhaps__bloom *bloom, uint64_t placed)
{
    struct perhaps__walk walk = perhaps__walk_start(placed);
    for (uint32_t i = 0; i < bloom->positions; i++) {
        if (!perhaps__bit_get(bloom->words, perhaps__walk_next(&walk, bloom->bits))) {
            return false;
        }
    }
    return true;
}

static inline __attribute__((always_inline)) void prefetch_first(const struct perhaps__bloom *bloom, uint64_t placed)
{
    struct perhaps__walk walk = perhaps__walk_start(placed);
    __builtin_prefetch(&bloom->words[perhaps__walk_next(&walk, bloom->bits) >> 6]);
}

uint64_t perhaps__bloom_add_many(struct perhaps__bloom *bloom, const uint64_t *placed, size_t count, uint8_t *out)
{
    uint64_t changed = 0;
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count) {
            prefetch_first(bloom, placed[i + AHEAD]);
        }
        bool is_new = perhaps__bloom_add(bloom, placed[i]);
        changed += is_new;
        if (out != NULL) {
            out[i] = is_new;
        }
    }
    return changed;
}

void perhaps__bloom_might_contain_many(const struct perhaps__bloom *bloom, const uint64_t *placed, size_t count,
                                       uint8_t *out)
{
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count) {
            prefetch_first(bloom, placed[i + AHEAD]);
        }
        out[i] = perhaps__bloom_might_contain(bloom, placed[i]);
    }
}

void perhaps__bloom_clear(struct perhaps__bloom *bloom)
{
    memset(bloom->words, 0, bloom->bits / 8);
    bloom->set_bits = 0;
}

void perhaps__bloom_merge(struct perhaps__bloom *into, const struct perhaps__bloom *from)
{
    uint64_t count = into->bits / 64;
    for (uint64_t i = 0; i < count; i++) {
        into->words[i] |= from->words[i];
    }
    into->set_bits = perhaps__bloom_count(into);
}

uint64_t perhaps__bloom_count(const struct perhaps__bloom *bloom)
{
    return perhaps__count_bits(bloom->words, bloom->bits / 64);
}

double perhaps__bloom_fpr_now(const struct perhaps__bloom *bloom)
{
    return pow((double)bloom->set_bits / (double)bloom->bits, bloom->positions);
}

double perhaps__bloom_distinct(const struct perhaps__bloom *bloom)
{
    double bits = (double)bloom->bits;
    double distinct = -bits / bloom->positions * log1p(-(double)bloom->set_bits / bits);
    return distinct > 0.0 ? distinct : 0.0; // log1p(-0.0) would print as -0
}
