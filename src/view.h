// SPDX-License-Identifier: MIT
// Layer 1: what a look-up needs to know of a filter, in one cache line at its beginning. perhaps_ask_hash() of the public
// header calls `ask` through the first word; kernels take the whole from the same address.
#ifndef PERHAPS_VIEW_H
#define PERHAPS_VIEW_H

#include "base.h"

struct perhaps__view;

// Answers, 0 or 1, for many hashes that are not placed.
typedef void perhaps__ask_many_function(const struct perhaps__view *view, const uint64_t *hashes, size_t count,
                                        uint8_t *out);

struct perhaps__view {
    perhaps_ask_function *ask; // first, as the public header promises
    perhaps__ask_many_function *ask_many;
    const void *memory; // the payload
    uint64_t range;     // what positions are reduced to: bits, or blocks
    uint64_t seed_key;
    uint64_t positions;
};

#endif
