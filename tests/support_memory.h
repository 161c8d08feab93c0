// SPDX-License-Identifier: MIT
// An allocator that counts, that can be made to fail, and that notices when memory comes back with another size than
// it was handed out with. Without cmocka: the fuzz targets use it too.
#ifndef PERHAPS_TESTS_SUPPORT_MEMORY_H
#define PERHAPS_TESTS_SUPPORT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "perhaps/perhaps.h"

struct support_memory {
    uint64_t calls;        // allocations asked for so far
    uint64_t fail_at;      // the call, counted from 1, that gets NULL; 0: none
    uint64_t most_at_once; // larger requests get NULL; 0: no limit
    uint64_t largest;      // the largest request so far
    uint64_t total;        // bytes asked for so far
    uint64_t live_blocks;
    uint64_t live_bytes;
    // A secret that no block may hold any more when it is released; NULL: none.
    const uint8_t *secret;
    size_t secret_size;
    uint64_t secrets_found;
    bool misused; // a release with wrong numbers, or memory written before its beginning
};

// The allocator to hand to the library; `memory` must outlive what is made with it.
perhaps_allocator support_memory_allocator(struct support_memory *memory);

// Nothing is left and nothing was misused.
bool support_memory_is_clean(const struct support_memory *memory);

#endif
