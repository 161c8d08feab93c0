// SPDX-License-Identifier: MIT
// Layer 2: keys of a batch sorted by where their blocks lie, so that a lock is taken once for many of them.
//
// A locked instruction takes about 5 ns and waits for all stores before it; taken for every key it more than doubles the
// time of an add (measured: 2.5 times at 10^7 keys). Sorting 2,048 keys by 64 regions costs about 2 ns a key, and leaves
// one lock for 32 of them.
#ifndef PERHAPS_BLOCKED_REGIONS_H
#define PERHAPS_BLOCKED_REGIONS_H

#include "blocked.h"
#include "place.h"

#define PERHAPS_REGIONS 64
#define PERHAPS_REGION_KEYS 2048

// The keys of a batch by region, within a region in the order in which they came. The regions are counted from that of the
// first key, round the end: threads that began with the same one would follow each other from lock to lock.
struct perhaps__regions {
    uint64_t placed[PERHAPS_REGION_KEYS];
    uint16_t index[PERHAPS_REGION_KEYS]; // where the result goes
    uint16_t begin[PERHAPS_REGIONS + 1]; // of a region, and behind the last one
    uint64_t first;
};

// A region is 2^shift blocks that follow each other. A block lies in one region: its number decides, not the hash.
static inline unsigned perhaps__region_shift(uint64_t blocks)
{
    unsigned shift = 0;
    while ((blocks - 1) >> shift >= PERHAPS_REGIONS) {
        shift++;
    }
    return shift;
}

// The lock of a region; each in a cache line of its own.
static inline uint32_t *perhaps__lock_of_region(const struct perhaps__view *view, uint64_t region)
{
    return perhaps__stripe(&view->stripes, region * (PERHAPS_LINE / sizeof(uint32_t)));
}

// That of a region of sorted keys, by their count.
static inline uint32_t *perhaps__region_lock(const struct perhaps__view *view, const struct perhaps__regions *regions,
                                             uint64_t region)
{
    return perhaps__lock_of_region(view, (regions->first + region) % PERHAPS_REGIONS);
}

// Sorts at most PERHAPS_REGION_KEYS keys.
void perhaps__sort_by_region(const struct perhaps__view *view, unsigned shift, const uint64_t *hashes, size_t count,
                             struct perhaps__regions *regions);

#endif
