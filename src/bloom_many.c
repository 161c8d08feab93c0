// SPDX-License-Identifier: MIT
// The Bloom filter for many keys at once: memory accesses are put in flight long before their results are needed, and
// keys that are decided leave the work without a branch that could be mispredicted.
#include "bloom.h"
#include "place.h"
#include "sizing.h"
#include "words.h"

#define INLINE static inline __attribute__((always_inline))

// Keys that go through the rounds together: many, so that the last rounds, with few keys left, still have enough in
// flight. 256 to 1024 measure alike.
#define BLOCK 512

// Where all positions of a key are fetched at once: how many keys are on their way, with k lines each.
#define KEYS_AHEAD 32

// The walk of a key, `skipped` positions on.
INLINE struct perhaps__walk walk_from(uint64_t placed, uint64_t skipped)
{
    struct perhaps__walk walk = perhaps__walk_start(placed);
    walk.at += skipped * walk.step;
    return walk;
}

// Into the second level only: a line that waits for the first level holds one of its few fill buffers.
INLINE void fetch(const uint64_t *words, uint64_t bit)
{
    __builtin_prefetch(&words[bit >> 6], 0, 1);
}

/* ---------------------------------------------------------------- adding */

// Sets the bits of a key; how many were clear.
INLINE uint64_t set_all(uint64_t *words, uint64_t bits, uint64_t positions, uint64_t placed)
{
    struct perhaps__walk walk = perhaps__walk_start(placed);
    uint64_t set = 0;
    for (uint64_t i = 0; i < positions; i++) {
        set += perhaps__bit_set(words, perhaps__walk_next(&walk, bits));
    }
    return set;
}

INLINE void note(uint64_t set, size_t i, uint8_t *out, struct perhaps__tally *tally)
{
    tally->keys += set > 0;
    tally->used += set;
    if (out != NULL) {
        out[i] = set > 0;
    }
}

size_t perhaps__bloom_add_near(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint8_t *out,
                               struct perhaps__tally *tally, int *refusal)
{
    (void)refusal;
    for (size_t i = 0; i < count; i++) {
        uint64_t placed = perhaps__place(hashes[i], view->seed_key);
        note(set_all(view->memory, view->range, view->positions, placed), i, out, tally);
    }
    return count;
}

// The positions of a key, all asked for.
INLINE void fetch_key(const struct perhaps__view *view, const uint64_t *hash, uint64_t *positions)
{
    struct perhaps__walk walk = perhaps__walk_start(perhaps__place(*hash, view->seed_key));
    for (uint64_t i = 0; i < view->positions; i++) {
        positions[i] = perhaps__walk_next(&walk, view->range);
        fetch(view->memory, positions[i]);
    }
    perhaps__fetch_hashes(hash);
}

INLINE uint64_t set_fetched(const struct perhaps__view *view, const uint64_t *positions)
{
    uint64_t set = 0;
    for (uint64_t i = 0; i < view->positions; i++) {
        set += perhaps__bit_set(view->memory, positions[i]);
    }
    return set;
}

size_t perhaps__bloom_add_far(const struct perhaps__view *shared, const uint64_t *hashes, size_t count, uint8_t *out,
                              struct perhaps__tally *tally, int *refusal)
{
    (void)refusal;
    const struct perhaps__view view = *shared; // out could be part of the original, for all a compiler knows
    uint64_t positions[KEYS_AHEAD][PERHAPS_MAX_POSITIONS];
    for (size_t i = 0; i < KEYS_AHEAD && i < count; i++) {
        fetch_key(&view, hashes + i, positions[i]);
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t *key = positions[i % KEYS_AHEAD];
        note(set_fetched(&view, key), i, out, tally);
        if (i + KEYS_AHEAD < count) {
            fetch_key(&view, hashes + i + KEYS_AHEAD, key);
        }
    }
    return count;
}

/* ---------------------------------------------------------------- asking, far */

// Keys whose positions so far were all set, dense: their placed hashes, and where their results go.
struct undecided {
    uint64_t placed[BLOCK];
    uint16_t index[BLOCK];
    size_t count;
};

// Every key of a block is undecided at first; its first line is asked for.
static void begin_rounds(const struct perhaps__view *view, const uint64_t *hashes, size_t count,
                         struct undecided *undecided)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t placed = perhaps__place(hashes[i], view->seed_key);
        struct perhaps__walk walk = perhaps__walk_start(placed);
        fetch(view->memory, perhaps__walk_next(&walk, view->range));
        perhaps__fetch_hashes(hashes + i);
        undecided->placed[i] = placed;
        undecided->index[i] = (uint16_t)i;
    }
    undecided->count = count;
}

// `next` if `set`, otherwise `position`, by arithmetic: a compiler makes a branch of the plain expression, and it is
// taken at random.
INLINE uint64_t next_if(bool set, uint64_t next, uint64_t position)
{
    return position ^ ((position ^ next) & (0 - (uint64_t)set));
}

// Tests positions `from` to `to` - 1 of the undecided keys, and asks for positions `to` to `end` - 1 of those that
// remain so. For a decided key it asks for a line that is here already.
static void run_round(const struct perhaps__view *view, uint64_t from, uint64_t to, uint64_t end,
                      struct undecided *undecided)
{
    const uint64_t *words = view->memory;
    size_t kept = 0;
    for (size_t i = 0; i < undecided->count; i++) {
        struct perhaps__walk walk = walk_from(undecided->placed[i], from);
        uint64_t position = 0;
        bool set = true;
        for (uint64_t j = from; j < to; j++) {
            position = perhaps__walk_next(&walk, view->range);
            set &= perhaps__bit_get(words, position);
        }
        for (uint64_t j = to; j < end; j++) {
            fetch(words, next_if(set, perhaps__walk_next(&walk, view->range), position));
        }
        undecided->placed[kept] = undecided->placed[i];
        undecided->index[kept] = undecided->index[i];
        kept += set;
    }
    undecided->count = kept;
}

// Rounds of 1, 1, 2, 3, 5, ... positions. Half of the absent keys leave at each position, so two single ones come first;
// after them most keys are present ones, and longer rounds cost those less work: k = 7 takes four rounds, not seven, for
// 2.2 lines an absent key instead of 2.0. Returns how many keys are present.
static size_t ask_by_rounds(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint8_t *out)
{
    struct undecided undecided;
    begin_rounds(view, hashes, count, &undecided);
    uint64_t from = 0;
    uint64_t to = 1;
    uint64_t length = 1;
    while (from < to) {
        uint64_t end = perhaps__min(to + length, view->positions);
        run_round(view, from, to, end, &undecided);
        length += to - from;
        from = to;
        to = end;
    }
    memset(out, 0, count);
    for (size_t i = 0; i < undecided.count; i++) {
        out[undecided.index[i]] = 1;
    }
    return undecided.count;
}

static bool has_fetched(const struct perhaps__view *view, const uint64_t *positions)
{
    bool all = true;
    for (uint64_t i = 0; i < view->positions; i++) {
        all &= perhaps__bit_get(view->memory, positions[i]);
    }
    return all;
}

// All k lines of every key, which is what present keys need anyway. Returns how many keys are present.
static size_t ask_fetched(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint8_t *out)
{
    uint64_t positions[KEYS_AHEAD][PERHAPS_MAX_POSITIONS];
    size_t present = 0;
    for (size_t i = 0; i < KEYS_AHEAD && i < count; i++) {
        fetch_key(view, hashes + i, positions[i]);
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t *key = positions[i % KEYS_AHEAD];
        out[i] = has_fetched(view, key);
        present += out[i];
        if (i + KEYS_AHEAD < count) {
            fetch_key(view, hashes + i + KEYS_AHEAD, key);
        }
    }
    return present;
}

// Rounds win as long as most keys are absent: at 10^8 keys an absent key takes half the time of fetching all its lines,
// and a present one half as much again. The block before says what to expect of the next.
void perhaps__bloom_ask_far(const struct perhaps__view *shared, const uint64_t *hashes, size_t count, uint8_t *out)
{
    const struct perhaps__view view = *shared; // out could be part of the original, for all a compiler knows
    bool mostly_present = false;
    for (size_t i = 0; i < count; i += BLOCK) {
        size_t asked = (size_t)perhaps__min(BLOCK, count - i);
        size_t present = mostly_present ? ask_fetched(&view, hashes + i, asked, out + i)
                                        : ask_by_rounds(&view, hashes + i, asked, out + i);
        mostly_present = present > asked / 2;
    }
}

/* ---------------------------------------------------------------- asking, near */

// In a filter that fits the cache, waiting is short and only mispredicted branches are dear: two positions of every
// key are tested together, and all the others of the quarter that is left.
static void ask_in_cache(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint8_t *out)
{
    const uint64_t *words = view->memory;
    struct undecided undecided = {.count = 0};
    for (size_t i = 0; i < count; i++) {
        uint64_t placed = perhaps__place(hashes[i], view->seed_key);
        struct perhaps__walk walk = perhaps__walk_start(placed);
        bool first = perhaps__bit_get(words, perhaps__walk_next(&walk, view->range));
        bool second = view->positions < 2 || perhaps__bit_get(words, perhaps__walk_next(&walk, view->range));
        out[i] = first & second;
        undecided.placed[undecided.count] = placed;
        undecided.index[undecided.count] = (uint16_t)i;
        undecided.count += first & second;
    }
    for (size_t i = 0; i < undecided.count; i++) {
        struct perhaps__walk walk = walk_from(undecided.placed[i], 2);
        bool all = true;
        for (uint64_t j = 2; j < view->positions; j++) {
            all &= perhaps__bit_get(words, perhaps__walk_next(&walk, view->range));
        }
        out[undecided.index[i]] = all;
    }
}

void perhaps__bloom_ask_near(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint8_t *out)
{
    for (size_t i = 0; i < count; i += BLOCK) {
        ask_in_cache(view, hashes + i, (size_t)perhaps__min(BLOCK, count - i), out + i);
    }
}
