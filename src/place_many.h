// SPDX-License-Identifier: MIT
// Layer 1: the positions of many keys at once, for kinds whose keys have k cells anywhere in an array of cells: the
// bits of bloom, the counters of counting. Memory accesses are put in flight long before their results are needed, and
// keys that are decided leave the work without a branch that could be mispredicted.
//
// One text for every width of a cell, which is a constant wherever these functions are called, as are `far` and `near`.
#ifndef PERHAPS_PLACE_MANY_H
#define PERHAPS_PLACE_MANY_H

#include "place.h"
#include "sizing.h"
#include "view.h"
#include "words_cells.h"

// In second-level caches: k independent accesses overlap by themselves, so that arrays a few times as large count as
// near. Measured: docs/benchmarks.md.
#define PERHAPS_PLACE_NEAR 4

// Keys that go through the rounds together: many, so that the last rounds, with few keys left, still have enough in
// flight. 256 to 1024 measure alike.
#define PERHAPS_PLACE_BLOCK 512

// Where all positions of a key are fetched at once: how many keys are on their way, with k lines each.
#define PERHAPS_PLACE_AHEAD 32

/* ---------------------------------------------------------------- one key */

// 1 when all cells of a key are set, otherwise 0.
PERHAPS_CELL_INLINE int perhaps__ask_cells(const struct perhaps__view *view, uint64_t hash, unsigned width)
{
    struct perhaps__walk walk = perhaps__walk_start(perhaps__place(hash, view->seed_key));
    for (uint64_t i = 0; i < view->positions; i++) {
        if (!perhaps__cell_is_set(view->memory, perhaps__walk_next(&walk, view->range), width)) {
            return 0;
        }
    }
    return 1;
}

/* ---------------------------------------------------------------- key after key */

// Keys on their way: far ones are in a ring of PERHAPS_PLACE_AHEAD, all their positions asked for; of near ones there
// is only the present one, in a ring of 1. That is small, which matters in calls for one key: every page of a stack
// frame is touched.
//
//     perhaps__key ring[PERHAPS_PLACE_AHEAD];
//     perhaps__ring_start(ring, view, hashes, count, width, far);
//     for (size_t i = 0; i < count; i++) {
//         const uint64_t *positions = perhaps__ring_key(ring, view, hashes, i, far);
//         ...
//         perhaps__ring_go_on(ring, view, hashes, count, i, width, far);
//     }
typedef uint64_t perhaps__key[PERHAPS_MAX_POSITIONS];

// The positions of a key, all asked for if it is far.
PERHAPS_CELL_INLINE void perhaps__walk_key(const struct perhaps__view *view, const uint64_t *hash, uint64_t *positions,
                                           unsigned width, bool far)
{
    struct perhaps__walk walk = perhaps__walk_start(perhaps__place(*hash, view->seed_key));
    for (uint64_t i = 0; i < view->positions; i++) {
        positions[i] = perhaps__walk_next(&walk, view->range);
        if (far) {
            perhaps__cell_fetch(view->memory, positions[i], width);
        }
    }
    if (far) {
        perhaps__fetch_hashes(hash);
    }
}

PERHAPS_CELL_INLINE void perhaps__ring_start(perhaps__key *ring, const struct perhaps__view *view,
                                             const uint64_t *hashes, size_t count, unsigned width, bool far)
{
    for (size_t i = 0; far && i < PERHAPS_PLACE_AHEAD && i < count; i++) {
        perhaps__walk_key(view, hashes + i, ring[i], width, far);
    }
}

// The positions of key i.
PERHAPS_CELL_INLINE const uint64_t *perhaps__ring_key(perhaps__key *ring, const struct perhaps__view *view,
                                                      const uint64_t *hashes, size_t i, bool far)
{
    if (far) {
        return ring[i % PERHAPS_PLACE_AHEAD];
    }
    perhaps__walk_key(view, hashes + i, ring[0], 1, false);
    return ring[0];
}

// Key i is done; its place is for the next one.
PERHAPS_CELL_INLINE void perhaps__ring_go_on(perhaps__key *ring, const struct perhaps__view *view,
                                             const uint64_t *hashes, size_t count, size_t i, unsigned width, bool far)
{
    if (far && i + PERHAPS_PLACE_AHEAD < count) {
        perhaps__walk_key(view, hashes + i + PERHAPS_PLACE_AHEAD, ring[i % PERHAPS_PLACE_AHEAD], width, far);
    }
}

/* ---------------------------------------------------------------- asking, far */

// Keys whose cells so far were all set, dense: their placed hashes, the position that is tested next, and where their
// results go.
struct perhaps__undecided {
    uint64_t placed[PERHAPS_PLACE_BLOCK];
    uint64_t position[PERHAPS_PLACE_BLOCK];
    uint16_t index[PERHAPS_PLACE_BLOCK];
    size_t count;
};

// The walk of a key, `skipped` positions on.
PERHAPS_CELL_INLINE struct perhaps__walk perhaps__walk_from(uint64_t placed, uint64_t skipped)
{
    struct perhaps__walk walk = perhaps__walk_start(placed);
    walk.at += skipped * walk.step;
    return walk;
}

// Every key of a block is undecided at first; its first line is asked for.
PERHAPS_CELL_INLINE void perhaps__begin_rounds(const struct perhaps__view *view, const uint64_t *hashes, size_t count,
                                               struct perhaps__undecided *undecided, unsigned width)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t placed = perhaps__place(hashes[i], view->seed_key);
        struct perhaps__walk walk = perhaps__walk_start(placed);
        uint64_t position = perhaps__walk_next(&walk, view->range);
        perhaps__cell_fetch(view->memory, position, width);
        perhaps__fetch_hashes(hashes + i);
        undecided->placed[i] = placed;
        undecided->position[i] = position;
        undecided->index[i] = (uint16_t)i;
    }
    undecided->count = count;
}

// `next` if `set`, otherwise `position`, by arithmetic: a compiler makes a branch of the plain expression, and it is
// taken at random.
PERHAPS_CELL_INLINE uint64_t perhaps__next_if(bool set, uint64_t next, uint64_t position)
{
    return position ^ ((position ^ next) & (0 - (uint64_t)set));
}

// Tests one position of the undecided keys, and asks for the next one, number `next`, of those that remain so. For a
// decided key it asks for a line that is here already.
PERHAPS_CELL_INLINE void perhaps__run_single(const struct perhaps__view *view, uint64_t next,
                                             struct perhaps__undecided *undecided, unsigned width)
{
    size_t kept = 0;
    for (size_t i = 0; i < undecided->count; i++) {
        uint64_t placed = undecided->placed[i];
        uint64_t position = undecided->position[i];
        struct perhaps__walk walk = perhaps__walk_from(placed, next);
        uint64_t later = perhaps__walk_next(&walk, view->range);
        bool set = perhaps__cell_is_set(view->memory, position, width);
        perhaps__cell_fetch(view->memory, perhaps__next_if(set, later, position), width);
        undecided->placed[kept] = placed;
        undecided->position[kept] = later;
        undecided->index[kept] = undecided->index[i];
        kept += set;
    }
    undecided->count = kept;
}

// The same for positions `from` to `to` - 1, and `to` to `end` - 1. They are computed again: few keys come so far.
PERHAPS_CELL_INLINE void perhaps__run_round(const struct perhaps__view *view, uint64_t from, uint64_t to, uint64_t end,
                                            struct perhaps__undecided *undecided, unsigned width)
{
    size_t kept = 0;
    for (size_t i = 0; i < undecided->count; i++) {
        struct perhaps__walk walk = perhaps__walk_from(undecided->placed[i], from);
        uint64_t position = 0;
        bool set = true;
        for (uint64_t j = from; j < to; j++) {
            position = perhaps__walk_next(&walk, view->range);
            set &= perhaps__cell_is_set(view->memory, position, width);
        }
        for (uint64_t j = to; j < end; j++) {
            uint64_t next = perhaps__next_if(set, perhaps__walk_next(&walk, view->range), position);
            perhaps__cell_fetch(view->memory, next, width);
        }
        undecided->placed[kept] = undecided->placed[i];
        undecided->index[kept] = undecided->index[i];
        kept += set;
    }
    undecided->count = kept;
}

// Rounds of 1, 1, 1, 2, 3, 5, ... positions. Half of the absent keys leave at each position, so single ones come first;
// after them most keys are present ones, and longer rounds cost those less work: k = 7 takes five rounds, not seven, for
// 2.1 lines an absent key instead of 2.0. Returns how many keys are present.
PERHAPS_CELL_INLINE size_t perhaps__ask_by_rounds(const struct perhaps__view *view, const uint64_t *hashes,
                                                  size_t count, uint8_t *out, unsigned width)
{
    struct perhaps__undecided undecided;
    perhaps__begin_rounds(view, hashes, count, &undecided, width);
    uint64_t from = 0;
    for (; from < 2 && from + 1 < view->positions; from++) {
        perhaps__run_single(view, from + 1, &undecided, width);
    }
    uint64_t to = from + 1;
    uint64_t length = 2;
    while (from < to) {
        uint64_t end = perhaps__min(to + length, view->positions);
        perhaps__run_round(view, from, to, end, &undecided, width);
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

// All k lines of every key, which is what present keys need anyway. Returns how many keys are present.
PERHAPS_CELL_INLINE size_t perhaps__ask_fetched(const struct perhaps__view *view, const uint64_t *hashes, size_t count,
                                                uint8_t *out, unsigned width)
{
    perhaps__key ring[PERHAPS_PLACE_AHEAD];
    size_t present = 0;
    perhaps__ring_start(ring, view, hashes, count, width, true);
    for (size_t i = 0; i < count; i++) {
        const uint64_t *positions = perhaps__ring_key(ring, view, hashes, i, true);
        bool all = true;
        for (uint64_t j = 0; j < view->positions; j++) {
            all &= perhaps__cell_is_set(view->memory, positions[j], width);
        }
        out[i] = all;
        present += all;
        perhaps__ring_go_on(ring, view, hashes, count, i, width, true);
    }
    return present;
}

// Rounds win as long as most keys are absent: at 10^8 keys an absent key takes half the time of fetching all its lines,
// and a present one half as much again. The block before says what to expect of the next.
PERHAPS_CELL_INLINE void perhaps__ask_far(const struct perhaps__view *shared, const uint64_t *hashes, size_t count,
                                          uint8_t *out, unsigned width)
{
    const struct perhaps__view view = *shared; // out could be part of the original, for all a compiler knows
    bool mostly_present = false;
    for (size_t i = 0; i < count; i += PERHAPS_PLACE_BLOCK) {
        size_t asked = (size_t)perhaps__min(PERHAPS_PLACE_BLOCK, count - i);
        size_t present = mostly_present ? perhaps__ask_fetched(&view, hashes + i, asked, out + i, width)
                                        : perhaps__ask_by_rounds(&view, hashes + i, asked, out + i, width);
        mostly_present = present > asked / 2;
    }
}

/* ---------------------------------------------------------------- asking, near */

// In an array that fits the cache, waiting is short and only mispredicted branches are dear: two positions of every
// key are tested together, and all the others of the quarter that is left. Returns how many keys are present.
PERHAPS_CELL_INLINE size_t perhaps__ask_in_cache(const struct perhaps__view *view, const uint64_t *hashes, size_t count,
                                                 uint8_t *out, unsigned width)
{
    const void *memory = view->memory;
    struct perhaps__undecided undecided;
    undecided.count = 0; // its arrays need no zeros
    for (size_t i = 0; i < count; i++) {
        uint64_t placed = perhaps__place(hashes[i], view->seed_key);
        struct perhaps__walk walk = perhaps__walk_start(placed);
        bool first = perhaps__cell_is_set(memory, perhaps__walk_next(&walk, view->range), width);
        bool second =
            view->positions < 2 || perhaps__cell_is_set(memory, perhaps__walk_next(&walk, view->range), width);
        out[i] = first & second;
        undecided.placed[undecided.count] = placed;
        undecided.index[undecided.count] = (uint16_t)i;
        undecided.count += first & second;
    }
    size_t present = 0;
    for (size_t i = 0; i < undecided.count; i++) {
        struct perhaps__walk walk = perhaps__walk_from(undecided.placed[i], 2);
        bool all = true;
        for (uint64_t j = 2; j < view->positions; j++) {
            all &= perhaps__cell_is_set(memory, perhaps__walk_next(&walk, view->range), width);
        }
        out[undecided.index[i]] = all;
        present += all;
    }
    return present;
}

// One key after the other, up to its first clear cell: where hardly a key is absent, branches are predicted. Returns how
// many keys are present.
PERHAPS_CELL_INLINE size_t perhaps__ask_each(const struct perhaps__view *view, const uint64_t *hashes, size_t count,
                                             uint8_t *out, unsigned width)
{
    size_t present = 0;
    for (size_t i = 0; i < count; i++) {
        int set = perhaps__ask_cells(view, hashes[i], width);
        out[i] = (uint8_t)set;
        present += (size_t)set;
    }
    return present;
}

PERHAPS_CELL_INLINE void perhaps__ask_near(const struct perhaps__view *shared, const uint64_t *hashes, size_t count,
                                           uint8_t *out, unsigned width)
{
    const struct perhaps__view view = *shared;
    bool nearly_all = false; // were present in the block before, 15 of 16
    for (size_t i = 0; i < count; i += PERHAPS_PLACE_BLOCK) {
        size_t asked = (size_t)perhaps__min(PERHAPS_PLACE_BLOCK, count - i);
        size_t present = nearly_all ? perhaps__ask_each(&view, hashes + i, asked, out + i, width)
                                    : perhaps__ask_in_cache(&view, hashes + i, asked, out + i, width);
        nearly_all = asked - present < asked / 16;
    }
}

#endif
