// SPDX-License-Identifier: MIT
// Layer 3: the one table of kinds: their names, ranges and sizing.
#ifndef PERHAPS_KINDS_H
#define PERHAPS_KINDS_H

#include "sizing.h"

struct perhaps__kind {
    const char *name;
    double smallest_fpr;
    double largest_fpr;
    perhaps__size_function *size_of;
    perhaps__fpr_function *fpr_for;
};

// The row of a kind, or NULL for a number that is none (PERHAPS_KIND_DEFAULT is none).
const struct perhaps__kind *perhaps__kind(uint32_t kind);

// The kind that PERHAPS_KIND_DEFAULT stands for, otherwise the number itself.
uint32_t perhaps__resolve_kind(uint32_t kind);

// The name of a kind whose range contains p, or NULL; for messages that point to it.
const char *perhaps__kind_that_can(double fpr);

#endif
