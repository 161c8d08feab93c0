// SPDX-License-Identifier: MIT
// Layer 2: the search for a relocation path, and the moves along it.
#ifndef PERHAPS_CUCKOO_SEARCH_H
#define PERHAPS_CUCKOO_SEARCH_H

#include "cuckoo.h"

// Buckets in the order in which the search came to them, and lists of them by a hash of their number. Few lists, because
// they are set up for every search, and most searches end after some ten buckets.
#define PERHAPS_CUCKOO_LISTS 256

struct perhaps__cuckoo_search {
    uint64_t bucket[PERHAPS_SEARCH_MAX];
    uint16_t list[PERHAPS_CUCKOO_LISTS]; // its last bucket, or none
    uint16_t next[PERHAPS_SEARCH_MAX];
    uint16_t parent[PERHAPS_SEARCH_MAX];
    uint8_t slot[PERHAPS_SEARCH_MAX]; // of the parent: whose fingerprint could move here
    uint32_t count;
    uint32_t roots; // the first ones: buckets of the key
    uint32_t limit;
};

// Whether there is a path. Its far end is the last bucket found, which has a free slot, and it leads by `parent` to a root.
bool perhaps__cuckoo_find_path(const struct perhaps__cuckoo *table, const struct perhaps__cuckoo_spots *spots,
                               struct perhaps__cuckoo_search *search);

// Moves along the path that was found and writes the fingerprint into the slot that is free then; how many were moved.
// Every fingerprint is copied before its old place is overwritten.
uint32_t perhaps__cuckoo_move_along(const struct perhaps__cuckoo *table, const struct perhaps__cuckoo_search *search,
                                    uint64_t fingerprint);

// Where the fingerprint lies that the path moves to a bucket of the search.
static inline uint64_t perhaps__cuckoo_from(const struct perhaps__cuckoo *table,
                                            const struct perhaps__cuckoo_search *search, uint32_t node)
{
    return perhaps__cuckoo_at(table, search->bucket[search->parent[node]]) + (uint64_t)search->slot[node] * table->bits;
}

// Whether a table that says it is full with `used` slots taken is at a load at which tables of its shape still take every
// key.
bool perhaps__cuckoo_is_early(const struct perhaps__cuckoo *table, uint64_t used);

#endif
