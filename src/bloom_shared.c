// SPDX-License-Identifier: MIT
// Adding to a Bloom filter beside other threads: bits are set by atomic OR, so that none is lost, and readers need nothing.
#include "bloom.h"
#include "place.h"
#include "sizing.h"
#include "words.h"

// As in bloom_many.c.
#define KEYS_AHEAD 32

static void fetch_key(const struct perhaps__view *view, const uint64_t *hash, uint64_t *positions)
{
    const uint64_t *words = view->memory;
    struct perhaps__walk walk = perhaps__walk_start(perhaps__place(*hash, view->seed_key));
    for (uint64_t i = 0; i < view->positions; i++) {
        positions[i] = perhaps__walk_next(&walk, view->range);
        __builtin_prefetch(&words[positions[i] >> 6], 0, 1);
    }
    perhaps__fetch_hashes(hash);
}

// How many bits this thread has set.
static uint64_t set_fetched(const struct perhaps__view *view, const uint64_t *positions)
{
    uint64_t set = 0;
    for (uint64_t i = 0; i < view->positions; i++) {
        set += perhaps__bit_set_shared(view->memory, positions[i]);
    }
    return set;
}

// Under the lock of the key no other adder of it is between looking and setting: the first of them finds a bit clear, and
// leaves none. Other keys may set some of its bits meanwhile, but whoever finds one clear sets it: so "one was clear" is
// asked first, and not "who has set one".
static bool claim_fetched(const struct perhaps__view *view, const uint64_t *positions, uint64_t *set)
{
    uint32_t *stripe = perhaps__stripe(&view->stripes, positions[0]);
    bool was_absent = false;
    perhaps__stripe_lock(stripe);
    for (uint64_t i = 0; i < view->positions; i++) {
        was_absent |= !perhaps__bit_get(view->memory, positions[i]);
    }
    *set = was_absent ? set_fetched(view, positions) : 0;
    perhaps__stripe_unlock(stripe);
    return was_absent;
}

size_t perhaps__bloom_add_shared(const struct perhaps__view *shared, const uint64_t *hashes, size_t count, uint8_t *out,
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
        uint64_t set = 0;
        bool is_new = view.claim ? claim_fetched(&view, key, &set) : (set = set_fetched(&view, key)) > 0;
        tally->used += set;
        tally->keys += is_new;
        if (out != NULL) {
            out[i] = is_new;
        }
        if (i + KEYS_AHEAD < count) {
            fetch_key(&view, hashes + i + KEYS_AHEAD, key);
        }
    }
    return count;
}
