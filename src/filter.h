// SPDX-License-Identifier: MIT
// Layer 3: what a perhaps_filter is. Only files of layers 3 and 4 see this.
#ifndef PERHAPS_FILTER_H
#define PERHAPS_FILTER_H

#include "alloc.h"
#include "layer.h"

struct perhaps_filter {
    struct perhaps__view view; // first: see perhaps_ask_hash()
    uint32_t kind;
    uint32_t hash_source;
    uint64_t seed;
    uint64_t capacity; // as asked for at creation
    double fpr;
    bool adds_exact; // false after a merge
    struct perhaps__layer layer;
    uint8_t *metadata;
    size_t metadata_size;
    perhaps_allocator allocator;
    // The mapped file that holds the payload of a read-only filter, or NULL; unmap gives it back.
    void *mapping;
    size_t mapping_size;
    void (*unmap)(void *mapping, size_t size);
};

// Everything about a filter but its contents.
struct perhaps__plan {
    uint32_t kind;
    uint32_t hash_source;
    uint64_t seed;
    struct perhaps__size size;
};

// A filter of a plan without payload: its layer's payload is NULL until perhaps__filter_attach(). NULL when memory
// is short. Released by perhaps_free().
perhaps_filter *perhaps__filter_new(const perhaps_allocator *allocator, const struct perhaps__plan *plan);

// Gives the layer its payload: zeroed memory of its own (false: there is none to be had), or bytes of a mapping.
bool perhaps__filter_allocate(perhaps_filter *filter);
void perhaps__filter_attach(perhaps_filter *filter, uint8_t *payload);

// The verbs for hashes, on a filter that is not read-only where they change it. Those that change it return how many were
// handled: fewer than `count` when the next one is refused, *refusal then says why.
size_t perhaps__filter_add(perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out, int *refusal);
size_t perhaps__filter_remove(perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out, int *refusal);
void perhaps__filter_count(const perhaps_filter *filter, const uint64_t *hashes, size_t count, uint64_t *out);

// Whether a key that was added at most `most` times may have been added `times` times.
static inline bool perhaps__may_be(uint64_t most, uint64_t times)
{
    return times <= most;
}

// 0, or why the filter cannot be changed, or removed from.
int perhaps__filter_may_change(const perhaps_filter *filter);
int perhaps__filter_may_remove(const perhaps_filter *filter);

bool perhaps__filter_is_read_only(const perhaps_filter *filter);

// The result of hashing and placing a fixed list of keys; see docs/format.md.
uint64_t perhaps__filter_probe(const perhaps_filter *filter);

#endif
