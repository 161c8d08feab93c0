// SPDX-License-Identifier: MIT
// Layer 1: what adding and asking need to know of a filter, in one cache line at its beginning. perhaps_ask_hash() of the
// public header calls `ask` through the first word; kernels take the whole from the same address.
//
// Hashes come as the caller has them and are placed here (place.h), where the memory access is known that they lead to.
#ifndef PERHAPS_VIEW_H
#define PERHAPS_VIEW_H

#include "base.h"

struct perhaps__view;

// What adding changed; added to, not set.
struct perhaps__tally {
    uint64_t keys;     // that changed something
    uint64_t set_bits; // that were clear; not counted by kinds that do not keep them
};

// Answers, 0 or 1, for many hashes.
typedef void perhaps__ask_many_function(const struct perhaps__view *view, const uint64_t *hashes, size_t count,
                                        uint8_t *out);

// Adds many hashes; out, if not NULL, becomes 1 for those that changed something, otherwise 0.
typedef void perhaps__add_many_function(const struct perhaps__view *view, const uint64_t *hashes, size_t count,
                                        uint8_t *out, struct perhaps__tally *tally);

struct perhaps__view {
    perhaps_ask_function *ask; // first, as the public header promises
    perhaps__ask_many_function *ask_many;
    perhaps__add_many_function *add_many;
    perhaps__add_many_function *add_few; // the same without a pipeline to fill
    void *memory;                        // the payload; only read in filters that are read-only
    uint64_t range;                      // what positions are reduced to: bits, or blocks
    uint64_t seed_key;
    uint64_t positions;
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
