// SPDX-License-Identifier: MIT
// Layer 2: counting the slots of a cuckoo table that are taken. Slots lie one behind the other without gaps, so that
// buckets do not matter to it: eight slots of f bits are f bytes.
#ifndef PERHAPS_CUCKOO_COUNT_H
#define PERHAPS_CUCKOO_COUNT_H

#include "cuckoo.h"

// How vectors of 16 bytes take slots apart, for one width. Each slot gets a lane of 8, 16, 32 or 64 bits, the least that has
// room for it wherever in a byte it begins: `order` brings the bytes that it lies in to the lane, and `mask` keeps its bits.
// A step is as many slots as two or four vectors have lanes, and in whole bytes, so that every step is like the first.
#define PERHAPS_CUCKOO_STEP 4

struct perhaps__cuckoo_lanes {
    _Alignas(32) uint8_t order[PERHAPS_CUCKOO_STEP][16];
    _Alignas(32) uint8_t mask[PERHAPS_CUCKOO_STEP][16];
    uint32_t from[PERHAPS_CUCKOO_STEP]; // the byte of a step that a vector begins with
    uint32_t lane_bits;
    uint32_t vectors; // in a step
    uint32_t slots;
    uint32_t bytes;
    uint32_t reach; // bytes that are read
};

// Free slots in so many steps from a byte on.
typedef uint64_t perhaps__cuckoo_free_function(const struct perhaps__cuckoo_lanes *lanes, const uint8_t *bytes,
                                               uint64_t steps);
perhaps__cuckoo_free_function perhaps__cuckoo_free_avx2;
perhaps__cuckoo_free_function perhaps__cuckoo_free_neon;

#endif
