// SPDX-License-Identifier: MIT
// The Bloom filter for many keys at once; place_many.h has what it shares with other kinds of k positions.
#include "bloom.h"
#include "place_many.h"

/* ---------------------------------------------------------------- adding */

static inline void note(uint64_t set, size_t i, uint8_t *out, struct perhaps__tally *tally)
{
    tally->keys += set > 0;
    tally->used += set;
    if (out != NULL) {
        out[i] = set > 0;
    }
}

// Positions are used as they come: there is nothing to look ahead at.
size_t perhaps__bloom_add_near(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint8_t *out,
                               struct perhaps__tally *tally, int *refusal)
{
    (void)refusal;
    for (size_t i = 0; i < count; i++) {
        struct perhaps__walk walk = perhaps__walk_start(perhaps__place(hashes[i], view->seed_key));
        uint64_t set = 0;
        for (uint64_t j = 0; j < view->positions; j++) {
            set += perhaps__bit_set(view->memory, perhaps__walk_next(&walk, view->range));
        }
        note(set, i, out, tally);
    }
    return count;
}

size_t perhaps__bloom_add_far(const struct perhaps__view *shared, const uint64_t *hashes, size_t count, uint8_t *out,
                              struct perhaps__tally *tally, int *refusal)
{
    (void)refusal;
    const struct perhaps__view view = *shared; // out could be part of the original, for all a compiler knows
    perhaps__key ring[PERHAPS_PLACE_AHEAD];
    perhaps__ring_start(ring, &view, hashes, count, 1, true);
    for (size_t i = 0; i < count; i++) {
        const uint64_t *positions = perhaps__ring_key(ring, &view, hashes, i, true);
        uint64_t set = 0;
        for (uint64_t j = 0; j < view.positions; j++) {
            set += perhaps__bit_set(view.memory, positions[j]);
        }
        note(set, i, out, tally);
        perhaps__ring_go_on(ring, &view, hashes, count, i, 1, true);
    }
    return count;
}

/* ---------------------------------------------------------------- asking */

void perhaps__bloom_ask_far(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint8_t *out)
{
    perhaps__ask_far(view, hashes, count, out, 1);
}

void perhaps__bloom_ask_near(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint8_t *out)
{
    perhaps__ask_near(view, hashes, count, out, 1);
}
