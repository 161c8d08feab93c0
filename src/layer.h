// SPDX-License-Identifier: MIT
// Layer 3: one layer of a filter: a kernel of some kind, with what it was made for. Every choice by kind outside
// kinds.c is a switch in layer.c.
#ifndef PERHAPS_LAYER_H
#define PERHAPS_LAYER_H

#include "bloom.h"
#include "sizing.h"

struct perhaps__layer {
    uint32_t kind;
    uint64_t capacity; // n
    double fpr;        // its budget p
    uint64_t adds;     // adds that changed something
    uint8_t *payload;  // the kernel's bytes, owned by the filter
    uint64_t payload_size;
    union {
        struct perhaps__bloom bloom;
    } kernel;
};

// Bytes of payload that a size needs.
uint64_t perhaps__payload_size(uint32_t kind, const struct perhaps__size *size);

// An empty layer of a size over zeroed payload.
void perhaps__layer_init(struct perhaps__layer *layer, uint32_t kind, const struct perhaps__size *size,
                         uint8_t *payload);

// The verbs, for placed hashes; see bloom.h. The many forms also keep `adds`.
bool perhaps__layer_add(struct perhaps__layer *layer, uint64_t placed);
bool perhaps__layer_might_contain(const struct perhaps__layer *layer, uint64_t placed);
void perhaps__layer_add_many(struct perhaps__layer *layer, const uint64_t *placed, size_t count, uint8_t *out);
void perhaps__layer_might_contain_many(const struct perhaps__layer *layer, const uint64_t *placed, size_t count,
                                       uint8_t *out);
void perhaps__layer_clear(struct perhaps__layer *layer);

// Both of one kind and size. `adds` becomes the sum.
void perhaps__layer_merge(struct perhaps__layer *into, const struct perhaps__layer *from);

// Whether what the layer counts agrees with its payload.
bool perhaps__layer_is_consistent(const struct perhaps__layer *layer);

// A digest of where fixed hashes are placed in this layer; part of the probe fingerprint.
uint64_t perhaps__layer_probe(const struct perhaps__layer *layer, const uint64_t *placed, size_t count);

#endif
