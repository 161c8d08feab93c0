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
    uint64_t set_bits;               // X, kept by bloom; 0 in kinds that count when asked
    struct perhaps__blocked blocked; // of kind blocked
};

// An empty layer of a size, its payload to be attached.
void perhaps__layer_init(struct perhaps__layer *layer, uint32_t kind, const struct perhaps__size *size);

// Gives the layer its payload, aligned to PERHAPS_LINE: zeroed, or that of a filter that is loaded.
void perhaps__layer_attach(struct perhaps__layer *layer, uint8_t *payload);

// The view through which the layer is asked and added to; the payload is attached.
struct perhaps__view perhaps__layer_view(const struct perhaps__layer *layer, uint64_t seed_key);

// Takes account of what adding through the view has changed.
void perhaps__layer_note(struct perhaps__layer *layer, const struct perhaps__tally *tally);

// The layout of its blocks, 0 when the kind has none.
uint32_t perhaps__layer_layout(const struct perhaps__layer *layer);

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
