// SPDX-License-Identifier: MIT
// Layer 2: the textbook Bloom filter (Bloom 1970): k positions of a key anywhere in m bits.
//
// Nothing here allocates, locks or does I/O.
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

// The verbs, on a view whose range is the number of bits. "Near" is for filters that fit the cache, "far" for the
// others; the results are the same.
perhaps_ask_function perhaps__bloom_ask;
perhaps__ask_many_function perhaps__bloom_ask_near;
perhaps__ask_many_function perhaps__bloom_ask_far;
perhaps__add_many_function perhaps__bloom_add_near;
perhaps__add_many_function perhaps__bloom_add_far;

// Or of two filters of one size.
void perhaps__bloom_merge(struct perhaps__bloom *into, const struct perhaps__bloom *from);

// Bits that are really set; what set_bits must be.
uint64_t perhaps__bloom_count(const struct perhaps__bloom *bloom);

#endif
