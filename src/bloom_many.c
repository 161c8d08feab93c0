// SPDX-License-Identifier: MIT
// The Bloom filter for many keys at once: memory accesses are put in flight long before their results are needed, and
// keys that are decided leave the work without a branch that could be mispredicted.
#include "bloom.h"
#include "place.h"
#include "words.h"

#define INLINE static inline __attribute__((always_inline))

// The i-th position of a key, without walking to it.
INLINE uint64_t position_of(uint64_t placed, uint64_t i, uint64_t bits)
{
    struct perhaps__walk walk = perhaps__walk_start(placed);
    walk.at += i * walk.step;
    return perhaps__walk_next(&walk, bits);
}

// Into the second level only: see fetch_block() in blocked_kernel.h.
INLINE void fetch(const uint64_t *words, uint64_t bit)
{
    __builtin_prefetch(&words[bit >> 6], 0, 1);
}

// `next` if `set`, otherwise `position`, by arithmetic: a compiler makes a branch of the plain expression, and it is
// taken at random.
INLINE uint64_t next_if(bool set, uint64_t next, uint64_t position)
{
    return position ^ ((position ^ next) & (0 - (uint64_t)set));
}

INLINE void fetch_all(const struct perhaps__bloom *bloom, uint64_t placed)
{
    struct perhaps__walk walk = perhaps__walk_start(placed);
    for (uint32_t i = 0; i < bloom->positions; i++) {
        __builtin_prefetch(&bloom->words[perhaps__walk_next(&walk, bloom->bits) >> 6], 1, 1);
    }
}

uint64_t perhaps__bloom_add_many(struct perhaps__bloom *bloom, const uint64_t *placed, const uint64_t *ahead,
                                 size_t count, uint8_t *out)
{
    uint64_t changed = 0;
    for (size_t i = 0; i < count; i++) {
        if (ahead != NULL) {
            fetch_all(bloom, ahead[i]);
        }
        bool is_new = perhaps__bloom_add(bloom, placed[i]);
        changed += is_new;
        if (out != NULL) {
            out[i] = is_new;
        }
    }
    return changed;
}

// Keys that every position so far found set, dense: their hashes, where their results go, and the position that is
// looked at next.
struct undecided {
    uint64_t placed[PERHAPS_BLOOM_BLOCK];
    uint64_t position[PERHAPS_BLOOM_BLOCK];
    uint16_t index[PERHAPS_BLOOM_BLOCK];
};

// Round 0 for all keys: tests their first position, and fetches the first of the keys ahead.
static size_t first_round(const struct perhaps__bloom *bloom, const uint64_t *placed, const uint64_t *ahead,
                          size_t count, struct undecided *undecided)
{
    const uint64_t *words = bloom->words;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (ahead != NULL) {
            fetch(words, position_of(ahead[i], 0, bloom->bits));
        }
        uint64_t position = position_of(placed[i], 0, bloom->bits);
        uint64_t next = position_of(placed[i], 1, bloom->bits);
        bool set = perhaps__bit_get(words, position);
        undecided->placed[kept] = placed[i];
        undecided->position[kept] = next;
        undecided->index[kept] = (uint16_t)i;
        fetch(words, next_if(set, next, position)); // of a decided key, a line that is here already
        kept += set;
    }
    return kept;
}

// Round i: tests position i of the undecided keys and fetches position i + 1 of those that remain.
static size_t next_round(const struct perhaps__bloom *bloom, uint64_t round, size_t count, struct undecided *undecided)
{
    const uint64_t *words = bloom->words;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t placed = undecided->placed[i];
        uint64_t position = undecided->position[i];
        uint64_t next = position_of(placed, round + 1, bloom->bits);
        bool set = perhaps__bit_get(words, position);
        undecided->placed[kept] = placed;
        undecided->position[kept] = next;
        undecided->index[kept] = undecided->index[i];
        fetch(words, next_if(set, next, position));
        kept += set;
    }
    return kept;
}

void perhaps__bloom_might_contain_many(const struct perhaps__bloom *bloom, const uint64_t *placed,
                                       const uint64_t *ahead, size_t count, uint8_t *out)
{
    struct undecided undecided;
    size_t kept = first_round(bloom, placed, ahead, count, &undecided);
    for (uint32_t round = 1; round < bloom->positions && kept > 0; round++) {
        kept = next_round(bloom, round, kept, &undecided);
    }
    memset(out, 0, count);
    for (size_t i = 0; i < kept; i++) {
        out[undecided.index[i]] = 1;
    }
}

// In a filter that fits the cache, waiting is short and only mispredicted branches are dear: two positions of every
// key are tested together, and all the others of the quarter that is left.
static void ask_in_cache(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint8_t *out)
{
    const uint64_t *words = view->memory;
    uint64_t undecided[PERHAPS_BLOOM_BLOCK];
    uint16_t index[PERHAPS_BLOOM_BLOCK];
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t placed = perhaps__place(hashes[i], view->seed_key);
        bool first = perhaps__bit_get(words, position_of(placed, 0, view->range));
        bool second = view->positions < 2 || perhaps__bit_get(words, position_of(placed, 1, view->range));
        out[i] = first & second;
        undecided[kept] = placed;
        index[kept] = (uint16_t)i;
        kept += first & second;
    }
    for (size_t i = 0; i < kept; i++) {
        struct perhaps__walk walk = perhaps__walk_start(undecided[i]);
        walk.at += 2 * walk.step;
        bool all = true;
        for (uint64_t j = 2; j < view->positions; j++) {
            all &= perhaps__bit_get(words, perhaps__walk_next(&walk, view->range));
        }
        out[index[i]] = all;
    }
}

void perhaps__bloom_ask_many(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint8_t *out)
{
    for (size_t i = 0; i < count; i += PERHAPS_BLOOM_BLOCK) {
        ask_in_cache(view, hashes + i, (size_t)perhaps__min(PERHAPS_BLOOM_BLOCK, count - i), out + i);
    }
}
