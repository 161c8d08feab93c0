// SPDX-License-Identifier: MIT
// Layer 3: which way a large batch of keys goes to a filter that nobody shares: one after the other, or sorted by region.
// Whichever it is, bytes, results and counts are the same.
#ifndef PERHAPS_BULK_H
#define PERHAPS_BULK_H

#include "alloc.h"
#include "layer.h"

// What the choice depends on; docs/decisions.md, 28. Test builds may change it, nobody else.
struct perhaps__bulk_limits {
    uint64_t smallest; // bytes of a layer, from which on a batch may be sorted
    uint64_t cache;    // bytes of the last cache, whose layers are not sorted either; 0: those of this machine
    uint64_t most;     // positions sorted at a time
    uint64_t sample;   // keys handled one after the other for a look at the clock, and that is done how many times
    uint64_t samples;
    uint64_t slow; // picoseconds a position, from which on sorting is worth it
};

#ifdef PERHAPS_TEST_SUPPORT
extern struct perhaps__bulk_limits perhaps__bulk_limits;
#endif

// How many keys are best handed over at a time: all, or as many as are sorted together; 0 where it does not matter, for
// so few keys are never sorted.
size_t perhaps__bulk_keys(const struct perhaps__layer *layer, size_t count);

// As add_many() and ask_many() of the layer's view. Memory that is not to be had only makes them slower.
size_t perhaps__bulk_add(struct perhaps__layer *layer, const perhaps_allocator *allocator, const uint64_t *hashes,
                         size_t count, uint8_t *out, int *refusal);
void perhaps__bulk_ask(const struct perhaps__layer *layer, const perhaps_allocator *allocator, const uint64_t *hashes,
                       size_t count, uint8_t *out);

#endif
