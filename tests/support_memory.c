// SPDX-License-Identifier: MIT
#include "support_memory.h"

#include <stdlib.h>
#include <string.h>

// What stands right before every block.
struct tag {
    uint64_t magic;
    uint64_t bytes;
    uint64_t alignment;
};

static const uint64_t tag_magic = UINT64_C(0x5ca1ab1e0ddba115);

static size_t prefix_size(size_t alignment)
{
    return alignment > sizeof(struct tag) ? alignment : 2 * sizeof(struct tag);
}

// Filled with rubbish: the contract does not promise zeros. The block ends where the allocation ends, so that
// AddressSanitizer sees an overrun.
static void *counting_allocate(void *context, size_t bytes, size_t alignment)
{
    struct support_memory *memory = context;
    memory->calls++;
    memory->total += bytes;
    memory->largest = bytes > memory->largest ? bytes : memory->largest;
    if (memory->calls == memory->fail_at || (memory->most_at_once != 0 && bytes > memory->most_at_once)) {
        return NULL;
    }
    void *base;
    size_t prefix = prefix_size(alignment);
    if (posix_memalign(&base, alignment, prefix + bytes) != 0) {
        return NULL;
    }
    memset(base, 0xa5, prefix + bytes);
    uint8_t *block = (uint8_t *)base + prefix;
    struct tag tag = {tag_magic, bytes, alignment};
    memcpy(block - sizeof tag, &tag, sizeof tag);
    memory->live_blocks++;
    memory->live_bytes += bytes;
    return block;
}

static void look_for_secret(struct support_memory *memory, const uint8_t *block, size_t bytes)
{
    for (size_t i = 0; memory->secret != NULL && i + memory->secret_size <= bytes; i++) {
        memory->secrets_found += memcmp(block + i, memory->secret, memory->secret_size) == 0;
    }
}

static void counting_release(void *context, void *block, size_t bytes, size_t alignment)
{
    struct support_memory *memory = context;
    struct tag tag;
    memcpy(&tag, (uint8_t *)block - sizeof tag, sizeof tag);
    if (tag.magic != tag_magic || tag.bytes != bytes || tag.alignment != alignment) {
        memory->misused = true;
        return; // leaked on purpose: the block cannot be trusted
    }
    look_for_secret(memory, block, bytes);
    memory->live_blocks--;
    memory->live_bytes -= bytes;
    uint8_t *base = (uint8_t *)block - prefix_size(alignment);
    memset(base, 0xdd, prefix_size(alignment) + bytes);
    free(base);
}

perhaps_allocator support_memory_allocator(struct support_memory *memory)
{
    return (perhaps_allocator){memory, counting_allocate, counting_release};
}

bool support_memory_is_clean(const struct support_memory *memory)
{
    return memory->live_blocks == 0 && memory->live_bytes == 0 && !memory->misused;
}
