// SPDX-License-Identifier: MIT
// Layer 2: the blocked Bloom filter (Putze, Sanders and Singler 2007), in the split form of Apple, Impala and Parquet:
// a key touches one aligned block and sets one or two bits in every lane of it. One cache line a key, and a
// handful of vector instructions.
//
// The block is chosen by the high bits of the placed hash (multiply-high, so that more than 2^32 blocks work), the bits
// by its low half: lane i takes the top bits of low * salt[i]. docs/format.md has the exact rule, and salts.
#ifndef PERHAPS_BLOCKED_H
#define PERHAPS_BLOCKED_H

#include "base.h"
#include "view.h"

struct perhaps__blocked_kernel;

struct perhaps__blocked {
    uint8_t *bytes;  // count blocks, aligned to PERHAPS_LINE
    uint64_t count;  // of blocks
    uint32_t layout; // enum perhaps__block_layout
};

// The verbs for one layout on one level of processor, on a view whose range is the number of blocks. "Near" is for
// filters that fit the cache, "far" for the others; the results are the same.
struct perhaps__blocked_kernel {
    perhaps_ask_function *ask;
    perhaps__ask_many_function *ask_near;
    perhaps__ask_many_function *ask_far;
    perhaps__add_many_function *add_near;
    perhaps__add_many_function *add_far;
    perhaps__add_many_function *add_shared; // beside other threads, under the lock of the block
};

// The kernel for a layout on the running processor.
const struct perhaps__blocked_kernel *perhaps__blocked_kernel(uint32_t layout);

// The bits that a key sets in a block, as 64-bit words in file order; for tests and the probe fingerprint.
void perhaps__blocked_mask(uint32_t layout, uint64_t placed, uint64_t words[8]);

// What the blocks say about the filter at this moment.
struct perhaps__blocked_fill {
    double fill; // share of bits set
    double fpr;  // mean over the blocks of the product of their lanes' fills: what an absent key meets
};

// Looks at every block of filters up to 2^18 blocks, and at 2^18 evenly spaced ones of larger filters.
struct perhaps__blocked_fill perhaps__blocked_fill(const struct perhaps__blocked *blocked);

#endif
