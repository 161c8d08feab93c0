// SPDX-License-Identifier: MIT
// Layer 2: the textbook Bloom filter (Bloom 1970): k positions of a key anywhere in m bits.
//
// Hashes are placed (place.h) before they come here. Nothing here allocates, locks or does I/O.
#ifndef PERHAPS_BLOOM_H
#define PERHAPS_BLOOM_H

#include "base.h"

struct perhaps__bloom {
    uint64_t *words;    // bits / 64 of them, aligned to PERHAPS_LINE
    uint64_t bits;      // m, a multiple of PERHAPS_UNIT_BITS
    uint64_t set_bits;  // X, kept by every change
    uint32_t positions; // k, 1 to PERHAPS_MAX_POSITIONS
};

// Sets the bits of a key; whether one of them was clear.
bool perhaps__bloom_add(struct perhaps__bloom *bloom, uint64_t placed);

// Whether all bits of a key are set.
bool perhaps__bloom_might_contain(const struct perhaps__bloom *bloom, uint64_t placed);

// The same for many keys: results, 0 or 1, go to out, which adding may leave NULL. Adding returns how many keys
// changed something.
uint64_t perhaps__bloom_add_many(struct perhaps__bloom *bloom, const uint64_t *placed, size_t count, uint8_t *out);
void perhaps__bloom_might_contain_many(const struct perhaps__bloom *bloom, const uint64_t *placed, size_t count,
                                       uint8_t *out);

void perhaps__bloom_clear(struct perhaps__bloom *bloom);

// Or of two filters of one size.
void perhaps__bloom_merge(struct perhaps__bloom *into, const struct perhaps__bloom *from);

// Bits that are really set; what set_bits must be.
uint64_t perhaps__bloom_count(const struct perhaps__bloom *bloom);

// (X/m)^k: positions are independent of the bits for a key that was never added.
double perhaps__bloom_fpr_now(const struct perhaps__bloom *bloom);

// Distinct keys that leave X bits set on average: -(m/k) ln(1 - X/m) (Swamidass and Baldi 2007).
double perhaps__bloom_distinct(const struct perhaps__bloom *bloom);

#endif
