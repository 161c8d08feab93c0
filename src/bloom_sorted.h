// SPDX-License-Identifier: MIT
// Layer 2: adding to a Bloom filter region by region. The positions of many keys are first sorted by the region of the array
// that they lie in, and then set while the region is in the second-level cache, so that the memory is read and written
// through, and not at random. What it needs beside the filter is the caller's.
//
// Bytes, answers and counts are those of adding one key after the other. The positions of a region stay in the order of
// their keys, so whoever comes first to a bit that is clear finds it so; and a key was absent if one of its bits was.
#ifndef PERHAPS_BLOOM_SORTED_H
#define PERHAPS_BLOOM_SORTED_H

#include "view.h"

// How keys are sorted in one filter.
struct perhaps__sorting {
    uint64_t keys; // at a time, at most
    uint64_t regions;
    uint64_t room;  // for positions of a region, on average filled by that many keys
    uint64_t bytes; // of memory
};

// For `positions` positions at a time, that are those of at least one key. The memory is a little more than four bytes each.
struct perhaps__sorting perhaps__bloom_sorting(const struct perhaps__view *view, uint64_t positions);

// Adds at most sorting->keys keys. `memory` is aligned to PERHAPS_LINE; what is in it does not matter.
void perhaps__bloom_add_sorted(const struct perhaps__view *view, const struct perhaps__sorting *sorting, void *memory,
                               const uint64_t *hashes, size_t count, uint8_t *out, struct perhaps__tally *tally);

#endif
