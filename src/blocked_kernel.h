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
#include "blocked_regions.h"
#include "place.h"
#include "view.h"

#define INLINE static inline __attribute__((always_inline)) TARGET
#define VECTORS(block_bytes) ((block_bytes) / sizeof(vector))

// A key on its way: its block is known and has been asked for.
struct flight {
    uint8_t *block;
    uint64_t placed;
};

// How many keys are on their way. 64 to 512 measure alike.
#define AHEAD 128

INLINE struct flight start(const struct perhaps__view *view, uint64_t hash, size_t block_bytes)
{
    uint64_t placed = perhaps__place(hash, view->seed_key);
    uint64_t block = perhaps__multiply_high(placed, view->range);
    return (struct flight){.block = (uint8_t *)view->memory + block * block_bytes, .placed = placed};
}

// Into the second level only (prefetcht2): a line that waits for the first level holds one of its few fill buffers.
INLINE struct flight fetch(const struct perhaps__view *view, const uint64_t *hash, size_t block_bytes)
{
    struct flight key = start(view, *hash, block_bytes);
    __builtin_prefetch(key.block, 0, 1);
    perhaps__fetch_hashes(hash);
    return key;
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

INLINE void note(bool is_new, size_t i, uint8_t *out, struct perhaps__tally *tally)
{
    tally->keys += is_new;
    if (out != NULL) {
        out[i] = is_new;
    }
}

// The verbs of a layout, with the size of its blocks as a constant: near for filters that fit the cache, where fetching
// ahead only costs; far for the others.
#define DEFINE_LAYOUT(layout, block_bytes)                                                                             \
    INLINE bool contains_##layout(struct flight key)                                                                   \
    {                                                                                                                  \
        vector mask[VECTORS(block_bytes)];                                                                             \
        make_mask_##layout(key.placed, mask);                                                                          \
        return covers(key.block, mask, VECTORS(block_bytes));                                                          \
    }                                                                                                                  \
    INLINE bool insert_##layout(struct flight key)                                                                     \
    {                                                                                                                  \
        vector mask[VECTORS(block_bytes)];                                                                             \
        make_mask_##layout(key.placed, mask);                                                                          \
        return set_mask(key.block, mask, VECTORS(block_bytes));                                                        \
    }                                                                                                                  \
    TARGET static int ask_##layout(const void *filter, uint64_t hash)                                                  \
    {                                                                                                                  \
        return contains_##layout(start(filter, hash, block_bytes));                                                    \
    }                                                                                                                  \
    TARGET static void ask_near_##layout(const struct perhaps__view *shared, const uint64_t *hashes, size_t count,     \
                                         uint8_t *out)                                                                 \
    {                                                                                                                  \
        const struct perhaps__view view = *shared; /* out could be part of the original, for all a compiler knows */   \
        for (size_t i = 0; i < count; i++) {                                                                           \
            out[i] = contains_##layout(start(&view, hashes[i], block_bytes));                                          \
        }                                                                                                              \
    }                                                                                                                  \
    TARGET static void ask_far_##layout(const struct perhaps__view *shared, const uint64_t *hashes, size_t count,      \
                                        uint8_t *out)                                                                  \
    {                                                                                                                  \
        const struct perhaps__view view = *shared;                                                                     \
        struct flight flight[AHEAD];                                                                                   \
        for (size_t i = 0; i < AHEAD && i < count; i++) {                                                              \
            flight[i] = fetch(&view, hashes + i, block_bytes);                                                         \
        }                                                                                                              \
        size_t i = 0;                                                                                                  \
        for (; i + AHEAD < count; i++) {                                                                               \
            out[i] = contains_##layout(flight[i % AHEAD]);                                                             \
            flight[i % AHEAD] = fetch(&view, hashes + i + AHEAD, block_bytes);                                         \
        }                                                                                                              \
        for (; i < count; i++) {                                                                                       \
            out[i] = contains_##layout(flight[i % AHEAD]);                                                             \
        }                                                                                                              \
    }                                                                                                                  \
    TARGET static size_t add_near_##layout(const struct perhaps__view *shared, const uint64_t *hashes, size_t count,   \
                                           uint8_t *out, struct perhaps__tally *tally, int *refusal)                   \
    {                                                                                                                  \
        (void)refusal;                                                                                                 \
        const struct perhaps__view view = *shared;                                                                     \
        for (size_t i = 0; i < count; i++) {                                                                           \
            note(insert_##layout(start(&view, hashes[i], block_bytes)), i, out, tally);                                \
        }                                                                                                              \
        return count;                                                                                                  \
    }                                                                                                                  \
    TARGET static size_t add_far_##layout(const struct perhaps__view *shared, const uint64_t *hashes, size_t count,    \
                                          uint8_t *out, struct perhaps__tally *tally, int *refusal)                    \
    {                                                                                                                  \
        (void)refusal;                                                                                                 \
        const struct perhaps__view view = *shared;                                                                     \
        struct flight flight[AHEAD];                                                                                   \
        for (size_t i = 0; i < AHEAD && i < count; i++) {                                                              \
            flight[i] = fetch(&view, hashes + i, block_bytes);                                                         \
        }                                                                                                              \
        size_t i = 0;                                                                                                  \
        for (; i + AHEAD < count; i++) {                                                                               \
            note(insert_##layout(flight[i % AHEAD]), i, out, tally);                                                   \
            flight[i % AHEAD] = fetch(&view, hashes + i + AHEAD, block_bytes);                                         \
        }                                                                                                              \
        for (; i < count; i++) {                                                                                       \
            note(insert_##layout(flight[i % AHEAD]), i, out, tally);                                                   \
        }                                                                                                              \
        return count;                                                                                                  \
    }

DEFINE_LAYOUT(32_4x64, 32)
DEFINE_LAYOUT(32_8x32, 32)
DEFINE_LAYOUT(64_8x64, 64)
DEFINE_LAYOUT(64_8x64_two, 64)

// Beside other threads: vector stores under the lock of a region, so that exactly one adder of an absent key finds it
// absent. Locked instructions word by word would take 5 ns each and not overlap.
INLINE struct flight start_placed(const struct perhaps__view *view, uint64_t placed, size_t block_bytes)
{
    uint64_t block = perhaps__multiply_high(placed, view->range);
    return (struct flight){.block = (uint8_t *)view->memory + block * block_bytes, .placed = placed};
}

#define DEFINE_SHARED(layout, block_bytes)                                                                             \
    TARGET static void add_region_##layout(const struct perhaps__view *view, const struct perhaps__regions *keys,      \
                                           size_t region, uint8_t *out, struct perhaps__tally *tally)                  \
    {                                                                                                                  \
        size_t i = keys->begin[region];                                                                                \
        size_t end = keys->begin[region + 1];                                                                          \
        uint32_t *lock = perhaps__region_lock(view, keys, region);                                                     \
        if (i == end) {                                                                                                \
            return;                                                                                                    \
        }                                                                                                              \
        perhaps__stripe_lock(lock);                                                                                    \
        __builtin_prefetch(perhaps__region_lock(view, keys, region + 1), 1);                                           \
        for (; i < end; i++) {                                                                                         \
            uint64_t next = keys->placed[i + AHEAD < keys->begin[PERHAPS_REGIONS] ? i + AHEAD : i];                    \
            __builtin_prefetch(start_placed(view, next, block_bytes).block, 0, 1);                                     \
            note(insert_##layout(start_placed(view, keys->placed[i], block_bytes)), keys->index[i], out, tally);       \
        }                                                                                                              \
        perhaps__stripe_unlock(lock);                                                                                  \
    }                                                                                                                  \
    TARGET static void add_few_shared_##layout(const struct perhaps__view *view, unsigned shift,                       \
                                               const uint64_t *hashes, size_t count, uint8_t *out,                     \
                                               struct perhaps__tally *tally)                                           \
    {                                                                                                                  \
        for (size_t i = 0; i < count; i++) {                                                                           \
            struct flight key = start(view, hashes[i], block_bytes);                                                   \
            uint64_t number = perhaps__multiply_high(key.placed, view->range);                                         \
            uint32_t *lock = perhaps__lock_of_region(view, number >> shift);                                           \
            bool is_new = false;                                                                                       \
            if (!contains_##layout(key)) {                                                                             \
                perhaps__stripe_lock(lock);                                                                            \
                is_new = insert_##layout(key);                                                                         \
                perhaps__stripe_unlock(lock);                                                                          \
            }                                                                                                          \
            note(is_new, i, out, tally);                                                                               \
        }                                                                                                              \
    }                                                                                                                  \
    TARGET static size_t add_shared_##layout(const struct perhaps__view *shared, const uint64_t *hashes, size_t count, \
                                             uint8_t *out, struct perhaps__tally *tally, int *refusal)                 \
    {                                                                                                                  \
        (void)refusal;                                                                                                 \
        const struct perhaps__view view = *shared;                                                                     \
        unsigned shift = perhaps__region_shift(view.range);                                                            \
        struct perhaps__regions keys;                                                                                  \
        for (size_t i = 0; i < count; i += PERHAPS_REGION_KEYS) {                                                      \
            size_t block = (size_t)perhaps__min(PERHAPS_REGION_KEYS, count - i);                                       \
            uint8_t *block_out = out != NULL ? out + i : NULL;                                                         \
            if (block < PERHAPS_REGION_KEYS / 8) {                                                                     \
                add_few_shared_##layout(&view, shift, hashes + i, block, block_out, tally);                            \
                continue;                                                                                              \
            }                                                                                                          \
            perhaps__sort_by_region(&view, shift, hashes + i, block, &keys);                                           \
            for (size_t j = 0; j < AHEAD && j < block; j++) {                                                          \
                __builtin_prefetch(start_placed(&view, keys.placed[j], block_bytes).block, 0, 1);                      \
            }                                                                                                          \
            for (size_t region = 0; region < PERHAPS_REGIONS; region++) {                                              \
                add_region_##layout(&view, &keys, region, block_out, tally);                                           \
            }                                                                                                          \
        }                                                                                                              \
        return count;                                                                                                  \
    }

DEFINE_SHARED(32_4x64, 32)
DEFINE_SHARED(32_8x32, 32)
DEFINE_SHARED(64_8x64, 64)
DEFINE_SHARED(64_8x64_two, 64)

#define TABLE_ROW(number, layout)                                                                                      \
    [number] = {ask_##layout,      ask_near_##layout, ask_far_##layout,                                                \
                add_near_##layout, add_far_##layout,  add_shared_##layout}

const struct perhaps__blocked_kernel TABLE[] = {
    TABLE_ROW(PERHAPS_BLOCK_32_4X64, 32_4x64),
    TABLE_ROW(PERHAPS_BLOCK_32_8X32, 32_8x32),
    TABLE_ROW(PERHAPS_BLOCK_64_8X64, 64_8x64),
    TABLE_ROW(PERHAPS_BLOCK_64_8X64_TWO, 64_8x64_two),
};
