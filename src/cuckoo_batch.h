// SPDX-License-Identifier: MIT
// Layer 2: the keys of a batch in blocks. Where those of a block belong is worked out together, by vectors; in tables that
// do not fit the cache, while one block is worked on, the lines of the next one are asked for, key by key.
#ifndef PERHAPS_CUCKOO_BATCH_H
#define PERHAPS_CUCKOO_BATCH_H

#include "cuckoo.h"

// So few keys are not worth the vectors, and the pages of stack that blocks take.
#define PERHAPS_CUCKOO_FEW 6

struct perhaps__cuckoo_batch {
    const struct perhaps__view *view;
    const uint64_t *hashes;
    size_t count;
    size_t taken; // placed so far
    bool far;     // a constant
};

// Works out where the next keys belong. How many.
PERHAPS_CUCKOO_INLINE size_t perhaps__cuckoo_take(struct perhaps__cuckoo_batch *batch,
                                                  struct perhaps__cuckoo_block *block)
{
    size_t placed = (size_t)perhaps__min(batch->count - batch->taken, PERHAPS_CUCKOO_BLOCK);
    if (placed > 0) {
        batch->view->place_many(batch->view, batch->hashes + batch->taken, placed, block);
        batch->taken += placed;
    }
    return placed;
}

PERHAPS_CUCKOO_INLINE struct perhaps__cuckoo_spots perhaps__cuckoo_spots_in(const struct perhaps__cuckoo_block *block,
                                                                            size_t i)
{
    return (struct perhaps__cuckoo_spots){block->fingerprint[i], block->first[i], block->second[i]};
}

PERHAPS_CUCKOO_INLINE void perhaps__cuckoo_fetch_key(const struct perhaps__cuckoo *table,
                                                     const struct perhaps__cuckoo_block *block, size_t i)
{
    perhaps__cuckoo_fetch(table, block->first[i]);
    perhaps__cuckoo_fetch(table, block->second[i]);
}

// The first block of a batch; its lines are asked for before any is needed. How many keys it has.
PERHAPS_CUCKOO_INLINE size_t perhaps__cuckoo_take_first(struct perhaps__cuckoo_batch *batch,
                                                        const struct perhaps__cuckoo *table,
                                                        struct perhaps__cuckoo_block *block)
{
    size_t placed = perhaps__cuckoo_take(batch, block);
    for (size_t i = 0; batch->far && i < placed; i++) {
        perhaps__cuckoo_fetch_key(table, block, i);
    }
    return placed;
}

#endif
