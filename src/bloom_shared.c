// SPDX-License-Identifier: MIT
// Adding to a Bloom filter beside other threads: bits are set by atomic OR, so that none is lost, and readers need nothing.
#include "bloom.h"
#include "place_many.h"

// How many bits this thread has set.
static uint64_t set_key(const struct perhaps__view *view, const uint64_t *positions)
{
    uint64_t set = 0;
    for (uint64_t i = 0; i < view->positions; i++) {
        // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): the ring has all view->positions of them
        set += perhaps__bit_set_shared(view->memory, positions[i]);
    }
    return set;
}

// Under the lock of the key no other adder of it is between looking and setting: the first of them finds a bit clear, and
// leaves none. Other keys may set some of its bits meanwhile, but whoever finds one clear sets it: so "one was clear" is
// asked first, and not "who has set one".
static bool claim_key(const struct perhaps__view *view, const uint64_t *positions, uint64_t *set)
{
    // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): the ring has all view->positions of them
    uint32_t *stripe = perhaps__stripe(&view->stripes, positions[0]);
    bool was_absent = false;
    perhaps__stripe_lock(stripe);
    for (uint64_t i = 0; i < view->positions; i++) {
        // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): the ring has all view->positions of them
        was_absent |= !perhaps__bit_get(view->memory, positions[i]);
    }
    *set = was_absent ? set_key(view, positions) : 0;
    perhaps__stripe_unlock(stripe);
    return was_absent;
}

size_t perhaps__bloom_add_shared(const struct perhaps__view *shared, const uint64_t *hashes, size_t count, uint8_t *out,
                                 struct perhaps__tally *tally, int *refusal)
{
    (void)refusal;
    const struct perhaps__view view = *shared; // out could be part of the original, for all a compiler knows
    perhaps__key ring[PERHAPS_PLACE_AHEAD];
    perhaps__ring_start(ring, &view, hashes, count, 1, true);
    for (size_t i = 0; i < count; i++) {
        const uint64_t *positions = perhaps__ring_key(ring, &view, hashes, i, true);
        uint64_t set = 0;
        bool is_new = view.claim ? claim_key(&view, positions, &set) : (set = set_key(&view, positions)) > 0;
        tally->used += set;
        tally->keys += is_new;
        if (out != NULL) {
            out[i] = is_new;
        }
        perhaps__ring_go_on(ring, &view, hashes, count, i, 1, true);
    }
    return count;
}
