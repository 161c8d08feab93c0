// SPDX-License-Identifier: MIT
// Layer 1: what the verbs need to know of a filter, in two cache lines at its beginning. perhaps_ask_hash() of the
// public header calls `ask` through the first word; kernels take the whole from the same address.
//
// Hashes come as the caller has them and are placed here (place.h), where the memory access is known that they lead to.
#ifndef PERHAPS_VIEW_H
#define PERHAPS_VIEW_H

#include "base.h"
#include "stripes.h"

struct perhaps__view;

// What is fixed when a filter is made, besides its size. Members that a kind does not use are 0.
struct perhaps__shape {
    uint32_t positions; // bits or counters set and looked at per key
    uint32_t layout;    // of a block: enum perhaps__block_layout
    uint32_t cell_bits; // width of a counter or a fingerprint
    uint32_t slots;     // in a bucket
    uint32_t policy;    // enum perhaps_policy
    uint32_t search;    // buckets looked at for a relocation path
};

// What stands in for divisions by the range; see cuckoo_place.h.
struct perhaps__divider {
    uint64_t multiplier;
    uint64_t sum_multiplier;
    uint64_t sums;
    uint32_t shift;
};

// What kernels count as they change a payload, since it was made, loaded or cleared. Each uses what applies to it.
//
// Slots, counters and bits are as many as the payload has. Keys, copies (in counters) and removals know no such limit:
// merges double them, and a file may say anything. They stay at 2^64 - 1, and whether there is anything is never
// decided by them.
struct perhaps__tally {
    uint64_t keys;      // adds of keys that were surely absent
    uint64_t used;      // bits set, counters above zero, slots taken; not kept by kinds that count when asked
    uint64_t copies;    // adds less removals, in kinds that count
    uint64_t removals;  // keys removed
    uint64_t saturated; // counters at their maximum
    uint64_t paths[PERHAPS_PATHS];
    uint64_t deepest;
    uint64_t refused_full;
    uint64_t refused_copies;
    uint64_t refused_early;
    uint64_t unsettled; // look-ups beside moves that were given up
};

// Answers, 0 or 1, for many hashes.
typedef void perhaps__ask_many_function(const struct perhaps__view *view, const uint64_t *hashes, size_t count,
                                        uint8_t *out);

// Adds many hashes, in order; out, if not NULL, becomes 1 for those that were surely absent, otherwise 0. Returns how
// many were added: fewer than `count` when the next one is refused, *refusal then says why. Nothing is changed or
// written for that one and those after it.
typedef size_t perhaps__add_many_function(const struct perhaps__view *view, const uint64_t *hashes, size_t count,
                                          uint8_t *out, struct perhaps__tally *tally, int *refusal);

// How often at most, or PERHAPS_COUNT_UNBOUNDED, for many hashes.
typedef void perhaps__count_many_function(const struct perhaps__view *view, const uint64_t *hashes, size_t count,
                                          uint64_t *out);

// Takes back one add of each hash, in order; out, if not NULL, becomes 0 for those that were surely absent, otherwise 1.
typedef void perhaps__remove_many_function(const struct perhaps__view *view, const uint64_t *hashes, size_t count,
                                           uint8_t *out, struct perhaps__tally *tally);

// Where many keys belong, for kinds that work that out apart from the rest; the kind says what a block of them is.
struct perhaps__cuckoo_block;
typedef void perhaps__place_many_function(const struct perhaps__view *view, const uint64_t *hashes, size_t count,
                                          struct perhaps__cuckoo_block *block);

struct perhaps__view {
    perhaps_ask_function *ask; // first, as the public header promises
    perhaps__ask_many_function *ask_many;
    perhaps__add_many_function *add_many;
    perhaps__add_many_function *add_few; // the same without a pipeline to fill
    void *memory;                        // the payload; only read in filters that are read-only
    uint64_t range;                      // what positions are reduced to: bits, blocks, counters or buckets
    uint64_t seed_key;
    uint64_t positions;                         // shape.positions, beside what is used with it
    perhaps__count_many_function *count_many;   // NULL: the kind does not count
    perhaps__remove_many_function *remove_many; // NULL: it does not remove
    perhaps__place_many_function *place_many;
    struct perhaps__divider divider; // by range, for kinds that divide by it
    struct perhaps__shape shape;
    struct perhaps__stripes stripes; // of a filter that threads share; otherwise words is NULL
    struct perhaps__tally *tally;    // of the layer, for what kernels read or count beside other threads
    bool claim;                      // of several adders of one absent key exactly one is told that it was
};

// The caller's array of hashes streams from memory and is asked for this many keys ahead: the processor's own prefetching
// stops at every page.
#define PERHAPS_HASHES_AHEAD 512

static inline __attribute__((always_inline)) void perhaps__fetch_hashes(const uint64_t *hashes)
{
    // The address may lie beyond the array: it is only a hint, and no pointer.
    __builtin_prefetch((const void *)((uintptr_t)hashes + PERHAPS_HASHES_AHEAD * sizeof *hashes));
}

#endif
