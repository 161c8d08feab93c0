// SPDX-License-Identifier: MIT
// The one text of the blocked kernels. Included once by blocked_scalar.c, blocked_avx2.c and blocked_neon.c, which
// define before:
//
//   TARGET           function attribute of the level
//   vector           its widest vector
//   load, store      from and to aligned memory
//   unite(a, b)      a | b
//   covers(b, m, n)  whether the n vectors at b have every bit of the n at m set
//   make_mask_LAYOUT(placed, mask)  the bits of a key in a block, for the four layouts
//   TABLE            name of the table of kernels that results
#include "blocked.h"
#include "place.h"
#include "view.h"

#define INLINE static inline __attribute__((always_inline)) TARGET
#define VECTORS(block_bytes) ((block_bytes) / sizeof(vector))

INLINE void fetch_block(const uint8_t *bytes, uint64_t count, uint64_t placed, size_t block_bytes, int for_writing)
{
    const uint8_t *block = bytes + perhaps__multiply_high(placed, count) * block_bytes;
    // Into the second level only (prefetcht2): a line that waits for the first level holds one of its few fill buffers,
    // 1.45 times slower at 125 MB.
    if (for_writing) {
        __builtin_prefetch(block, 1, 1);
    } else {
        __builtin_prefetch(block, 0, 1);
    }
}

// Sets the bits of a mask in a block; whether one of them was clear.
INLINE bool set_mask(uint8_t *block, const vector *mask, size_t vectors)
{
    bool had_all = covers(block, mask, vectors);
    for (size_t i = 0; i < vectors; i++) {
        uint8_t *at = block + i * sizeof(vector);
        store(at, unite(load(at), mask[i]));
    }
    return !had_all;
}

// The verbs of a layout, with the size of its blocks as a constant.
#define DEFINE_LAYOUT(layout, block_bytes)                                                                             \
    INLINE bool contains_##layout(const uint8_t *bytes, uint64_t count, uint64_t placed)                               \
    {                                                                                                                  \
        vector mask[VECTORS(block_bytes)];                                                                             \
        make_mask_##layout(placed, mask);                                                                              \
        return covers(bytes + perhaps__multiply_high(placed, count) * (block_bytes), mask, VECTORS(block_bytes));      \
    }                                                                                                                  \
    INLINE bool insert_##layout(uint8_t *bytes, uint64_t count, uint64_t placed)                                       \
    {                                                                                                                  \
        vector mask[VECTORS(block_bytes)];                                                                             \
        make_mask_##layout(placed, mask);                                                                              \
        return set_mask(bytes + perhaps__multiply_high(placed, count) * (block_bytes), mask, VECTORS(block_bytes));    \
    }                                                                                                                  \
    TARGET static bool add_##layout(uint8_t *bytes, uint64_t count, uint64_t placed)                                   \
    {                                                                                                                  \
        return insert_##layout(bytes, count, placed);                                                                  \
    }                                                                                                                  \
    TARGET static uint64_t add_many_##layout(uint8_t *bytes, uint64_t count, const uint64_t *placed,                   \
                                             const uint64_t *ahead, size_t keys, uint8_t *out)                         \
    {                                                                                                                  \
        uint64_t changed = 0;                                                                                          \
        for (size_t i = 0; i < keys; i++) {                                                                            \
            if (ahead != NULL) {                                                                                       \
                fetch_block(bytes, count, ahead[i], block_bytes, 1);                                                   \
            }                                                                                                          \
            bool is_new = insert_##layout(bytes, count, placed[i]);                                                    \
            changed += is_new;                                                                                         \
            if (out != NULL) {                                                                                         \
                out[i] = is_new;                                                                                       \
            }                                                                                                          \
        }                                                                                                              \
        return changed;                                                                                                \
    }                                                                                                                  \
    TARGET static void might_contain_many_##layout(const uint8_t *bytes, uint64_t count, const uint64_t *placed,       \
                                                   const uint64_t *ahead, size_t keys, uint8_t *out)                   \
    {                                                                                                                  \
        size_t i = 0;                                                                                                  \
        for (; ahead != NULL && i < keys; i++) {                                                                       \
            fetch_block(bytes, count, ahead[i], block_bytes, 0);                                                       \
            out[i] = contains_##layout(bytes, count, placed[i]);                                                       \
        }                                                                                                              \
        for (; i < keys; i++) {                                                                                        \
            out[i] = contains_##layout(bytes, count, placed[i]);                                                       \
        }                                                                                                              \
    }                                                                                                                  \
    TARGET static int ask_##layout(const void *filter, uint64_t hash)                                                  \
    {                                                                                                                  \
        const struct perhaps__view *view = filter;                                                                     \
        return contains_##layout(view->memory, view->range, perhaps__place(hash, view->seed_key));                     \
    }                                                                                                                  \
    TARGET static void ask_many_##layout(const struct perhaps__view *view, const uint64_t *hashes, size_t keys,        \
                                         uint8_t *out)                                                                 \
    {                                                                                                                  \
        const uint8_t *bytes = view->memory;                                                                           \
        uint64_t count = view->range;                                                                                  \
        uint64_t seed_key = view->seed_key;                                                                            \
        for (size_t i = 0; i < keys; i++) {                                                                            \
            out[i] = contains_##layout(bytes, count, perhaps__place(hashes[i], seed_key));                             \
        }                                                                                                              \
    }

DEFINE_LAYOUT(32_4x64, 32)
DEFINE_LAYOUT(32_8x32, 32)
DEFINE_LAYOUT(64_8x64, 64)
DEFINE_LAYOUT(64_8x64_two, 64)

#define TABLE_ROW(number, layout)                                                                                      \
    [number] = {add_##layout, add_many_##layout, might_contain_many_##layout, ask_##layout, ask_many_##layout}

const struct perhaps__blocked_kernel TABLE[] = {
    TABLE_ROW(PERHAPS_BLOCK_32_4X64, 32_4x64),
    TABLE_ROW(PERHAPS_BLOCK_32_8X32, 32_8x32),
    TABLE_ROW(PERHAPS_BLOCK_64_8X64, 64_8x64),
    TABLE_ROW(PERHAPS_BLOCK_64_8X64_TWO, 64_8x64_two),
};
