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

// A key on its way: its block is known and has been asked for.
struct flight {
    uint8_t *block;
    uint64_t placed;
};

// How many keys are on their way. 64 to 512 measure alike.
#define AHEAD 128

// How many keys ahead a lock is asked for: it may be in the cache of another processor.
#define LOCKS_AHEAD 16

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

// Beside other threads. A key whose bits are all there costs no lock; the others are set under the lock of their block,
// by vector operations: locked instructions word by word would take 5 ns each and not overlap.
struct shared_flight {
    struct flight key;
    uint32_t *stripe;
};

INLINE struct shared_flight fetch_shared(const struct perhaps__view *view, const uint64_t *hash, size_t block_bytes)
{
    struct flight key = fetch(view, hash, block_bytes);
    uint64_t number = (uint64_t)(key.block - (uint8_t *)view->memory) / block_bytes;
    uint32_t *stripe = perhaps__stripe(&view->stripes, number);
    return (struct shared_flight){.key = key, .stripe = stripe};
}

#define DEFINE_SHARED(layout, block_bytes)                                                                             \
    INLINE bool insert_shared_##layout(struct shared_flight flight)                                                    \
    {                                                                                                                  \
        vector mask[VECTORS(block_bytes)];                                                                             \
        make_mask_##layout(flight.key.placed, mask);                                                                   \
        if (covers(flight.key.block, mask, VECTORS(block_bytes))) {                                                    \
            return false;                                                                                              \
        }                                                                                                              \
        perhaps__stripe_lock(flight.stripe);                                                                           \
        bool is_new = set_mask(flight.key.block, mask, VECTORS(block_bytes));                                          \
        perhaps__stripe_unlock(flight.stripe);                                                                         \
        return is_new;                                                                                                 \
    }                                                                                                                  \
    TARGET static size_t add_shared_##layout(const struct perhaps__view *shared, const uint64_t *hashes, size_t count, \
                                             uint8_t *out, struct perhaps__tally *tally, int *refusal)                 \
    {                                                                                                                  \
        (void)refusal;                                                                                                 \
        const struct perhaps__view view = *shared;                                                                     \
        struct shared_flight flight[AHEAD];                                                                            \
        for (size_t i = 0; i < AHEAD && i < count; i++) {                                                              \
            flight[i] = fetch_shared(&view, hashes + i, block_bytes);                                                  \
        }                                                                                                              \
        for (size_t i = 0; i < count; i++) {                                                                           \
            if (i + LOCKS_AHEAD < count) {                                                                             \
                __builtin_prefetch(flight[(i + LOCKS_AHEAD) % AHEAD].stripe, 1);                                       \
            }                                                                                                          \
            note(insert_shared_##layout(flight[i % AHEAD]), i, out, tally);                                            \
            if (i + AHEAD < count) {                                                                                   \
                flight[i % AHEAD] = fetch_shared(&view, hashes + i + AHEAD, block_bytes);                              \
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
