// SPDX-License-Identifier: MIT
// Layer 2: the textbook Bloom filter (Bloom 1970): k positions of a key anywhere in m bits.
//
// Nothing here allocates, locks or does I/O.
#ifndef PERHAPS_BLOOM_H
#define PERHAPS_BLOOM_H

#include "base.h"
#include "place_sorted.h"
#include "view.h"

// The verbs, on a view whose range is the number of bits. "Near" is for filters that fit the cache, "far" for the
// others; the results are the same.
perhaps_ask_function perhaps__bloom_ask;
perhaps__ask_many_function perhaps__bloom_ask_near;
perhaps__ask_many_function perhaps__bloom_ask_far;
perhaps__add_many_function perhaps__bloom_add_near;
perhaps__add_many_function perhaps__bloom_add_far;

// Large batches, region by region.
extern const struct perhaps__visits perhaps__bloom_visits;

// Beside other threads.
perhaps__add_many_function perhaps__bloom_add_shared;

#endif
