// SPDX-License-Identifier: MIT
// Layer 1: (n, p, bytes) triples. Any one follows from the other two; see perhaps_options in the header.
#ifndef PERHAPS_SIZING_H
#define PERHAPS_SIZING_H

#include "base.h"
#include "view.h"

// Filters come in units of 512 bits, so that a last-bit difference between two maths libraries does not decide
// their size.
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
    uint64_t bits;       // of the payload, in whole units
    uint64_t range;      // what positions are reduced to: bits, blocks, counters or buckets
    struct perhaps__shape shape;
};

// The rate at which a 64-bit hash alone takes an absent key for one of n: n/2^64.
double perhaps__hash_floor(uint64_t capacity);

// The expected FPR of a filter of `units` units for n keys, hash floor aside; `shape` is what else the kind needs to
// know.
typedef double perhaps__expectation(uint64_t capacity, uint64_t units, uint32_t shape);

// The smallest number of units whose expectation is at most p, or 0 when that exceeds PERHAPS_MAX_BITS. The expectation
// falls as units grow; the closer `guess` is, the fewer steps.
uint64_t perhaps__smallest_units(perhaps__expectation *expectation, uint64_t capacity, double fpr, uint32_t shape,
                                 double guess);

// The functions of a kind, as kinds.c lists them. `asked` is the part of the shape that the caller chose, checked and with
// defaults filled in; what is 0 in it follows from n and p. All return false when no filter of the kind can do it.

// The smallest filter for n keys at p, 0 < p < 1; for blocked, of the layout that p gets. More keys never get less.
typedef bool perhaps__size_function(const struct perhaps__shape *asked, uint64_t capacity, double fpr,
                                    struct perhaps__size *size);
// The smallest p that at most `bits` bits can promise for n keys, between `smallest` and `largest`.
typedef bool perhaps__fpr_function(const struct perhaps__shape *asked, uint64_t capacity, uint64_t bits,
                                   double smallest, double largest, struct perhaps__size *size);

// The size of the layer of a growing filter that comes after one of size `before`, for kinds in which it depends on that.
typedef bool perhaps__next_size_function(const struct perhaps__size *before, uint64_t capacity, double fpr,
                                         struct perhaps__size *size);

perhaps__next_size_function perhaps__cuckoo_next_size;

// The first layer of a growing filter, where it is sized otherwise than a filter of its own.
perhaps__size_function perhaps__cuckoo_first_size;

perhaps__size_function perhaps__bloom_size;
perhaps__fpr_function perhaps__bloom_fpr_for;

perhaps__size_function perhaps__blocked_size;
perhaps__fpr_function perhaps__blocked_fpr_for;

perhaps__size_function perhaps__counting_size;
perhaps__fpr_function perhaps__counting_fpr_for;

perhaps__size_function perhaps__cuckoo_size;
perhaps__fpr_function perhaps__cuckoo_fpr_for;

// How a filter grows; see "Growth" in the header.
struct perhaps__growth {
    uint64_t capacity;     // of the first layer
    double fpr;            // of all layers together
    double smallest_fpr;   // that the kind can promise
    uint32_t factor;       // from layer to layer; 0: does not grow
    uint64_t max_capacity; // of all layers together; 0: not known
    bool even;             // with max_capacity: the same rate for every layer
};

// Whether the layers of filters of a shape, planned ahead, share their rate evenly: where keys are removed, the larger ones
// are to have fingerprints at least as wide as the smaller ones, which the cheapest plan (strict for small layers) would
// turn round.
static inline bool perhaps__grows_evenly(const struct perhaps__shape *shape)
{
    return shape->policy == PERHAPS_POLICY_MULTISET;
}

// Capacity and error budget of a layer, counted from 0. False when the filter cannot have it: beyond max_capacity or
// PERHAPS_LAYERS_MAX, a capacity beyond 64 bits, or a budget smaller than the kind can keep.
bool perhaps__growth_layer(const struct perhaps__growth *growth, uint32_t index, uint64_t *capacity, double *fpr);

// The largest n for which at most `bits` bits can promise p, for a kind that is sized by `size_of`.
bool perhaps__capacity_for(perhaps__size_function *size_of, const struct perhaps__shape *asked, uint64_t bits,
                           double fpr, struct perhaps__size *size);

// The expected FPR E[(X/m)^k] of a Bloom filter of m bits after n keys with k independent positions each, X being the
// number of bits set. Exact for n*k <= 10^4, otherwise to second order.
double perhaps__bloom_expected_fpr(uint64_t capacity, uint64_t bits, uint32_t positions);

// The layouts of a block. A block is 32 or 64 bytes, cut into lanes of 32 or 64 bits; a key sets one or two bits in
// every lane. Numbers are part of the file format. In order of speed, the fastest first (bench/README.md).
enum perhaps__block_layout {
    PERHAPS_BLOCK_32_4X64 = 1,    // 32 bytes, 4 lanes of 64 bits, one bit each: k = 4
    PERHAPS_BLOCK_32_8X32 = 2,    // 32 bytes, 8 lanes of 32 bits, one bit each: k = 8
    PERHAPS_BLOCK_64_8X64 = 3,    // 64 bytes, 8 lanes of 64 bits, one bit each: k = 8
    PERHAPS_BLOCK_64_8X64_TWO = 4 // 64 bytes, 8 lanes of 64 bits, two bits each: k = 16
};

struct perhaps__block_shape {
    uint32_t bytes;
    uint32_t lanes;
    uint32_t lane_bits;
    uint32_t bits_per_lane;
};

// The shape of a layout, or NULL for a number that is none.
const struct perhaps__block_shape *perhaps__block_shape(uint32_t layout);

// The expected FPR of a blocked filter: the mixture over how many of the n keys share a block, which is binomial.
double perhaps__blocked_expected_fpr(uint64_t capacity, uint64_t bits, uint32_t layout);

#endif
