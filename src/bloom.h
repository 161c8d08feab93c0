// SPDX-License-Identifier: MIT
// Layer 2: the textbook Bloom filter (Bloom 1970): k positions of a key anywhere in m bits.
//
// Hashes are placed (place.h) before they come here. Nothing here allocates, locks or does I/O.
#ifndef PERHAPS_BLOOM_H
#define PERHAPS_BLOOM_H

#include "base.h"
#include "view.h"

struct perhaps__bloom {
    uint64_t *words;    // bits / 64 of them, aligned to PERHAPS_LINE
    uint64_t bits;      // m, a multiple of PERHAPS_UNIT_BITS
    uint64_t set_bits;  // X, kept by every change
    uint32_t positions; // k, 1 to PERHAPS_MAX_POSITIONS
};

// Sets the bits of a key; whether one of them was clear.
bool perhaps__bloom_add(struct perhaps__bloom *bloom, uint64_t placed);

// Whether all bits of a key are set; for a hash that is not placed, on a struct perhaps__view.
perhaps_ask_function perhaps__bloom_ask;

// The same for many hashes, in a filter that fits the cache.
perhaps__ask_many_function perhaps__bloom_ask_many;

// The most keys that the _many calls take at once.
#define PERHAPS_BLOOM_BLOCK 1024

// The same for up to PERHAPS_BLOOM_BLOCK keys: results, 0 or 1, go to out, which adding may leave NULL. Adding returns
// how many keys changed something. `ahead`, as many placed hashes or NULL, is what comes next: its memory is fetched
// meanwhile.
uint64_t perhaps__bloom_add_many(struct perhaps__bloom *bloom, const uint64_t *placed, const uint64_t *ahead,
                                 size_t count, uint8_t *out);
void perhaps__bloom_might_contain_many(const struct perhaps__bloom *bloom, const uint64_t *placed,
                                       const uint64_t *ahead, size_t count, uint8_t *out);

// Or of two filters of one size.
void perhaps__bloom_merge(struct perhaps__bloom *into, const struct perhaps__bloom *from);

// Bits that are really set; what set_bits must be.
uint64_t perhaps__bloom_count(const struct perhaps__bloom *bloom);

#endif
