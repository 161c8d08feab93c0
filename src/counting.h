// SPDX-License-Identifier: MIT
// Layer 2: the counting Bloom filter (Fan, Cao, Almeida and Broder 2000): m counters of 4, 8 or 16 bits at the
// positions of a Bloom filter of m bits. A key has k positions; where two of them coincide they are one. A counter that
// has reached its maximum stays there: how many adds it has seen is not known any more.
//
// Nothing here allocates, locks or does I/O.
#ifndef PERHAPS_COUNTING_H
#define PERHAPS_COUNTING_H

#include "base.h"
#include "place_sorted.h"
#include "view.h"

// The verbs for counters of one width, on a view whose range is the number of counters. "Near" is for filters that fit
// the cache, "far" for the others; the results are the same. Adding follows view->shape.policy; only the multiset
// policy allows removing.
struct perhaps__counting_kernel {
    perhaps_ask_function *ask;
    perhaps__ask_many_function *ask_near;
    perhaps__ask_many_function *ask_far;
    perhaps__add_many_function *add_near;
    perhaps__add_many_function *add_far;
    perhaps__count_many_function *count_near;
    perhaps__count_many_function *count_far;
    perhaps__remove_many_function *remove_near;
    perhaps__remove_many_function *remove_far;
};

// NULL for a width that is none.
const struct perhaps__counting_kernel *perhaps__counting_kernel(uint32_t width);

// Large batches, region by region: adding by the multiset policy only. NULL for a width that is none.
const struct perhaps__visits *perhaps__counting_visits(uint32_t width);

// Makes the functions of a view that change counters those for a filter that threads share.
void perhaps__counting_share(struct perhaps__view *view);

// An array of counters.
struct perhaps__counters {
    uint64_t *words; // aligned to PERHAPS_LINE
    uint64_t count;  // a multiple of 512
    uint32_t width;
};

// Adds `others` to `counters`, each sum at most the maximum. Both have the same count and width.
void perhaps__counting_unite(const struct perhaps__counters *counters, const struct perhaps__counters *others);

// shares[c]: the share of counters of at least c, for c up to PERHAPS_TIMES. Counted in filters of up to 2^18 lines of
// 64 bytes, and in larger ones in as many, evenly spaced.
void perhaps__counting_shares(const struct perhaps__counters *counters, double shares[PERHAPS_TIMES + 1]);

// Sets, in a Bloom filter of as many bits, all zero, the bit of every counter above zero.
void perhaps__counting_to_bits(const struct perhaps__view *view, uint64_t *words);

#endif
