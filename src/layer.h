// SPDX-License-Identifier: MIT
// Layer 3: one layer of a filter: a kernel of some kind, with what it was made for. Every choice by kind outside
// kinds.c is a switch in layer.c.
#ifndef PERHAPS_LAYER_H
#define PERHAPS_LAYER_H

#include "blocked.h"
#include "bloom.h"
#include "sizing.h"
#include "view.h"

struct perhaps__layer {
    uint32_t kind;
    uint32_t positions; // bits set per key
    uint64_t capacity;  // n
    double fpr;         // its budget p
    uint64_t adds;      // adds that changed something
    uint64_t bits;      // m
    uint8_t *payload;   // the kernel's bytes, owned by the filter
    uint64_t payload_size;
    union {
        struct perhaps__bloom bloom;
        struct perhaps__blocked blocked;
    } kernel;
};

// An empty layer of a size, its payload to be attached.
void perhaps__layer_init(struct perhaps__layer *layer, uint32_t kind, const struct perhaps__size *size);

// Gives the layer its payload, aligned to PERHAPS_LINE: zeroed, or that of a filter that is loaded.
void perhaps__layer_attach(struct perhaps__layer *layer, uint8_t *payload);

// What a look-up in this layer needs; the payload is attached.
struct perhaps__view perhaps__layer_view(const struct perhaps__layer *layer, uint64_t seed_key);

// The layout of its blocks, 0 when the kind has none.
uint32_t perhaps__layer_layout(const struct perhaps__layer *layer);

// Adds one placed hash; whether that changed something. Adding keeps `adds`. Asking goes through the view.
bool perhaps__layer_add(struct perhaps__layer *layer, uint64_t placed);

// Keys that the _many forms take at once, and so how far ahead memory is fetched; at most PERHAPS_BLOCK_MAX.
#define PERHAPS_BLOCK_MAX 1024
size_t perhaps__layer_block(const struct perhaps__layer *layer);

// The same for many keys, at most perhaps__layer_block(). `ahead`, as many placed hashes or NULL, is what comes next: its memory is fetched meanwhile.
void perhaps__layer_add_many(struct perhaps__layer *layer, const uint64_t *placed, const uint64_t *ahead, size_t count,
                             uint8_t *out);
void perhaps__layer_might_contain_many(const struct perhaps__layer *layer, const uint64_t *placed,
                                       const uint64_t *ahead, size_t count, uint8_t *out);

void perhaps__layer_clear(struct perhaps__layer *layer);

// Both of one kind and size. `adds` becomes the sum.
void perhaps__layer_merge(struct perhaps__layer *into, const struct perhaps__layer *from);

// Bits that are really set, counted. O(m).
uint64_t perhaps__layer_count(const struct perhaps__layer *layer);

// Takes over what a file says, and whether that agrees with the payload.
bool perhaps__layer_restore(struct perhaps__layer *layer, uint64_t adds, uint64_t set_bits);

// The state of a layer as its bits tell it.
struct perhaps__layer_state {
    double fill;
    double fpr_now;
    double distinct; // keys that leave this fill on average
    uint64_t set_bits;
};
struct perhaps__layer_state perhaps__layer_state(const struct perhaps__layer *layer);

// A digest of where fixed hashes are placed in this layer; part of the probe fingerprint.
uint64_t perhaps__layer_probe(const struct perhaps__layer *layer, const uint64_t *placed, size_t count);

#endif
