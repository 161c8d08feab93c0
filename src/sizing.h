// SPDX-License-Identifier: MIT
// Layer 1: (n, p, bytes) triples. Any one follows from the other two; see perhaps_options in the header.
#ifndef PERHAPS_SIZING_H
#define PERHAPS_SIZING_H

#include "base.h"

// Filters come in units of 512 bits, so that a last-bit difference between two maths libraries
// does not decide their size.
#define PERHAPS_UNIT_BITS 512

// The largest m: beyond it a double no longer holds every size exactly. One PiB of filter.
#define PERHAPS_MAX_BITS (UINT64_C(1) << 53)

// The largest k that sizing chooses (p = 1e-9 asks for 30) and that loading believes.
#define PERHAPS_MAX_POSITIONS 64

// A size that delivers p for n keys.
struct perhaps__size {
    uint64_t capacity;
    double fpr;          // what was asked for
    double fpr_expected; // what it delivers at capacity, the hash floor included
    uint64_t bits;
    uint32_t positions;
};

// The rate at which a 64-bit hash alone takes an absent key for one of n: n/2^64.
double perhaps__hash_floor(uint64_t capacity);

// The expected FPR E[(X/m)^k] of a Bloom filter of m bits after n keys with k independent positions each, X
// being the number of bits set; without the hash floor. Exact for n*k <= 10^4, otherwise to second order.
double perhaps__bloom_expected_fpr(uint64_t capacity, uint64_t bits, uint32_t positions);

// The smallest Bloom filter for n keys at p (0 < p < 1). False when it would exceed PERHAPS_MAX_BITS or when the
// hash floor exceeds p/4.
bool perhaps__bloom_size(uint64_t capacity, double fpr, struct perhaps__size *size);

// The smallest p that at most `bits` bits can promise for n keys, not below `smallest`. False when `bits` is less
// than a unit or p would exceed `largest`.
bool perhaps__bloom_fpr_for(uint64_t capacity, uint64_t bits, double smallest, double largest,
                            struct perhaps__size *size);

// The signature of perhaps__bloom_size() and its like.
typedef bool perhaps__size_function(uint64_t capacity, double fpr, struct perhaps__size *size);

// The largest n for which at most `bits` bits can promise p, for a kind that is sized by `size_of`. False when that
// is none.
bool perhaps__capacity_for(perhaps__size_function *size_of, uint64_t bits, double fpr, struct perhaps__size *size);

#endif
