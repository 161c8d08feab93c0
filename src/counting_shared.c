// SPDX-License-Identifier: MIT
// Changing counters beside other threads: by compare-and-swap of the byte, or the two bytes, that hold them, so that no
// increment is lost and none runs over. Readers need nothing.
#include "counting.h"
#include "place_many.h"

#define INLINE static inline __attribute__((always_inline))

// The lock of a key: keys that share it only wait for each other.
INLINE uint32_t *lock_of(const struct perhaps__view *view, const uint64_t *positions)
{
    // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): the ring has all view->positions of them
    return perhaps__stripe(&view->stripes, positions[0]);
}

// Whether position i is one of those before it, and has had its turn.
INLINE bool is_again(const uint64_t *positions, uint64_t i)
{
    bool again = false;
    for (uint64_t j = 0; j < i; j++) {
        // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): the ring has all view->positions of them
        again |= positions[j] == positions[i];
    }
    return again;
}

// Raises a counter by one if it is at most `highest`. What it was.
INLINE uint64_t raise_cell(const struct perhaps__view *view, uint64_t cell, uint64_t highest, unsigned width)
{
    for (;;) {
        uint64_t unit = perhaps__cell_unit(view->memory, cell, width);
        uint64_t value = perhaps__cell_in_unit(unit, cell, width);
        if (value > highest || perhaps__cell_swap(view->memory, cell, unit, 1, width)) {
            return value;
        }
    }
}

// Lowers a counter by one unless it is 0 or stays at its maximum. What it was.
INLINE uint64_t lower_cell(const struct perhaps__view *view, uint64_t cell, unsigned width)
{
    for (;;) {
        uint64_t unit = perhaps__cell_unit(view->memory, cell, width);
        uint64_t value = perhaps__cell_in_unit(unit, cell, width);
        bool stays = value == 0 || value == perhaps__cell_most(width);
        if (stays || perhaps__cell_swap(view->memory, cell, unit, UINT64_MAX, width)) {
            return value;
        }
    }
}

INLINE uint64_t smallest_cell(const struct perhaps__view *view, const uint64_t *positions, unsigned width)
{
    uint64_t smallest = UINT64_MAX;
    for (uint64_t i = 0; i < view->positions; i++) {
        smallest = perhaps__min(smallest, perhaps__cell_get(view->memory, positions[i], width));
    }
    return smallest;
}

// Raises those of a key's counters that are at most `highest`. Whether one of them was 0.
INLINE bool raise_key(const struct perhaps__view *view, const uint64_t *positions, uint64_t highest,
                      struct perhaps__tally *tally, unsigned width)
{
    const uint64_t most = perhaps__cell_most(width);
    bool had_zero = false;
    for (uint64_t i = 0; i < view->positions; i++) {
        if (!is_again(positions, i)) {
            uint64_t value = raise_cell(view, positions[i], highest, width);
            had_zero |= value == 0;
            tally->used += value == 0;
            tally->saturated += (value == most - 1) & (value <= highest);
        }
    }
    return had_zero;
}

// Under the lock of the key. Another key may raise a counter that both share between the look and the raise; by the
// conservative policy it is then high enough for both: each key's add leaves its counters at least one above the smallest
// that it saw, and that was at least the number of its adds before.
INLINE bool raise_locked(const struct perhaps__view *view, const uint64_t *positions, struct perhaps__tally *tally,
                         unsigned width)
{
    uint64_t highest = perhaps__cell_most(width) - 1;
    uint32_t *lock = lock_of(view, positions);
    perhaps__stripe_lock(lock);
    uint64_t smallest = smallest_cell(view, positions, width);
    if (view->shape.policy == PERHAPS_POLICY_CONSERVATIVE) {
        highest = perhaps__min(highest, smallest);
    }
    (void)raise_key(view, positions, highest, tally, width);
    perhaps__stripe_unlock(lock);
    return smallest == 0;
}

// Check and decrement are one step among removals of a key: of two at once, of a key that is there once, one finds it.
INLINE bool lower_locked(const struct perhaps__view *view, const uint64_t *positions, struct perhaps__tally *tally,
                         unsigned width)
{
    uint32_t *lock = lock_of(view, positions);
    perhaps__stripe_lock(lock);
    bool is_there = smallest_cell(view, positions, width) > 0;
    for (uint64_t i = 0; is_there && i < view->positions; i++) {
        tally->used -= !is_again(positions, i) && lower_cell(view, positions[i], width) == 1;
    }
    perhaps__stripe_unlock(lock);
    tally->copies -= is_there;
    tally->removals += is_there;
    return is_there;
}

INLINE bool add_key(const struct perhaps__view *view, const uint64_t *positions, struct perhaps__tally *tally,
                    unsigned width)
{
    bool locked = view->claim || view->shape.policy == PERHAPS_POLICY_CONSERVATIVE;
    uint64_t highest = perhaps__cell_most(width) - 1;
    bool is_new =
        locked ? raise_locked(view, positions, tally, width) : raise_key(view, positions, highest, tally, width);
    tally->keys += is_new;
    tally->copies++;
    return is_new;
}

// Adds or removes many keys.
INLINE void change_all(const struct perhaps__view *shared, const uint64_t *hashes, size_t count, uint8_t *out,
                       struct perhaps__tally *tally, bool adds, unsigned width)
{
    const struct perhaps__view view = *shared;
    perhaps__key ring[PERHAPS_PLACE_AHEAD];
    perhaps__ring_start(ring, &view, hashes, count, width, true);
    for (size_t i = 0; i < count; i++) {
        const uint64_t *positions = perhaps__ring_key(ring, &view, hashes, i, true);
        bool result = adds ? add_key(&view, positions, tally, width) : lower_locked(&view, positions, tally, width);
        if (out != NULL) {
            out[i] = result;
        }
        perhaps__ring_go_on(ring, &view, hashes, count, i, width, true);
    }
}

#define DEFINE(width)                                                                                                  \
    static size_t add_##width(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint8_t *out,    \
                              struct perhaps__tally *tally, int *refusal)                                              \
    {                                                                                                                  \
        (void)refusal;                                                                                                 \
        change_all(view, hashes, count, out, tally, true, width);                                                      \
        return count;                                                                                                  \
    }                                                                                                                  \
    static void remove_##width(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint8_t *out,   \
                               struct perhaps__tally *tally)                                                           \
    {                                                                                                                  \
        change_all(view, hashes, count, out, tally, false, width);                                                     \
    }

DEFINE(4)
DEFINE(8)
DEFINE(16)

void perhaps__counting_share(struct perhaps__view *view)
{
    uint32_t width = view->shape.cell_bits;
    view->add_many = width == 4 ? add_4 : width == 8 ? add_8 : add_16;
    view->add_few = view->add_many;
    if (view->remove_many != NULL) {
        view->remove_many = width == 4 ? remove_4 : width == 8 ? remove_8 : remove_16;
    }
}
