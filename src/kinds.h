// SPDX-License-Identifier: MIT
// Layer 3: the one table of kinds: their names, ranges, options, sizing and operations.
#ifndef PERHAPS_KINDS_H
#define PERHAPS_KINDS_H

#include "layer.h"
#include "sizing.h"

struct perhaps__kind {
    const char *name;
    double smallest_fpr;
    double largest_fpr;
    perhaps__size_function *size_of;
    perhaps__size_function *first_size_of;     // of the first layer of a growing filter; NULL: size_of
    perhaps__next_size_function *next_size_of; // of the others; NULL: sizes of layers do not depend on each other
    perhaps__fpr_function *fpr_for;
    // What the caller may choose of the shape, and what it is otherwise; 0: nothing, and it is derived or unused.
    struct perhaps__shape defaults;
    uint32_t policies;  // set of 1 << enum perhaps_policy, 0 for no choice
    uint64_t cell_bits; // set of 1 << cell_bits that may be asked for
    uint32_t slots;     // set of 1 << slots
    bool grows;         // by layers
    const struct perhaps__layer_operations *operations;
};

// The row of a kind, or NULL for a number that is none (PERHAPS_KIND_DEFAULT is none).
const struct perhaps__kind *perhaps__kind(uint32_t kind);

// The kind that PERHAPS_KIND_DEFAULT stands for, otherwise the number itself.
uint32_t perhaps__resolve_kind(uint32_t kind);

// The name of a kind whose range contains p, or NULL; for messages that point to it.
const char *perhaps__kind_that_can(double fpr);

// Checks the options that make up a shape, for a kind, and fills in what is always the same. What sizing derives is 0.
int perhaps__take_shape(const struct perhaps__kind *kind, const perhaps_options *options, struct perhaps__shape *shape,
                        perhaps_error *error);

#endif
