// SPDX-License-Identifier: MIT
// The verbs of counting filters. Each is one text for all widths, near and far; at the end a table of what becomes of
// it.
#include "counting.h"
#include "place_many.h"

#define INLINE static inline __attribute__((always_inline))

// Counters of a key as they are before it changes them.
struct seen {
    uint64_t units[PERHAPS_MAX_POSITIONS]; // the bytes that hold them
    uint64_t zeros;                        // how many are 0
    uint64_t ones;                         // how many are 1
    bool extreme;                          // one of them is the maximum, or next to it
};

INLINE void look(const struct perhaps__view *view, const uint64_t *positions, struct seen *seen, unsigned width)
{
    uint64_t zeros = 0;
    uint64_t ones = 0;
    uint64_t carries = 0;
    for (uint64_t i = 0; i < view->positions; i++) {
        seen->units[i] = perhaps__cell_unit(view->memory, positions[i], width);
        uint64_t value = perhaps__cell_in_unit(seen->units[i], positions[i], width);
        zeros += value == 0;
        ones += value == 1;
        carries |= value + 2; // runs over from the last but one on
    }
    seen->zeros = zeros;
    seen->ones = ones;
    seen->extreme = carries >> width != 0;
}

/* ---------------------------------------------------------------- adding and removing */

// Adds `by`, 1 or -1, to each of a key's counters, none of which comes to its end with that. A unit that is not any
// more what was seen has been changed at another position of the key: that of a neighbour, or the same one, which has
// had its turn. Returns how many of the latter there were that began at `from`.
INLINE uint64_t change_key(const struct perhaps__view *view, const uint64_t *positions, const struct seen *seen,
                           uint64_t by, uint64_t from, unsigned width)
{
    uint64_t again = 0;
    for (uint64_t i = 0; i < view->positions; i++) {
        uint64_t unit = perhaps__cell_unit(view->memory, positions[i], width);
        if (PERHAPS_UNLIKELY(unit != seen->units[i])) {
            uint64_t value = perhaps__cell_in_unit(seen->units[i], positions[i], width);
            if (perhaps__cell_in_unit(unit, positions[i], width) != value) {
                again += value == from;
                continue;
            }
        }
        perhaps__cell_change_unit(view->memory, positions[i], unit, width, by);
    }
    return again;
}

// The same where counters may come to their end, and stay there, and for the conservative policy, by which only the
// smallest counters rise (Estan and Varghese 2002).
INLINE void raise_with_care(const struct perhaps__view *view, const uint64_t *positions, const struct seen *seen,
                            struct perhaps__tally *tally, unsigned width)
{
    const uint64_t most = perhaps__cell_most(width);
    uint64_t highest = most - 1; // that is raised
    if (view->shape.policy == PERHAPS_POLICY_CONSERVATIVE) {
        for (uint64_t i = 0; i < view->positions; i++) {
            highest = perhaps__min(highest, perhaps__cell_in_unit(seen->units[i], positions[i], width));
        }
    }
    for (uint64_t i = 0; i < view->positions; i++) {
        uint64_t value = perhaps__cell_get(view->memory, positions[i], width);
        bool rises = (value == perhaps__cell_in_unit(seen->units[i], positions[i], width)) & (value <= highest);
        perhaps__cell_change(view->memory, positions[i], width, rises);
        tally->used += rises & (value == 0);
        tally->saturated += rises & (value == most - 1);
    }
}

INLINE void lower_with_care(const struct perhaps__view *view, const uint64_t *positions, const struct seen *seen,
                            struct perhaps__tally *tally, unsigned width)
{
    const uint64_t most = perhaps__cell_most(width);
    for (uint64_t i = 0; i < view->positions; i++) {
        uint64_t value = perhaps__cell_get(view->memory, positions[i], width);
        bool falls = (value == perhaps__cell_in_unit(seen->units[i], positions[i], width)) & (value != most);
        perhaps__cell_change(view->memory, positions[i], width, 0 - (uint64_t)falls);
        tally->used -= falls & (value == 1);
    }
}

INLINE size_t add_all(const struct perhaps__view *shared, const uint64_t *hashes, size_t count, uint8_t *out,
                      struct perhaps__tally *tally, perhaps__key *ring, unsigned width, bool far)
{
    const struct perhaps__view view = *shared; // counters are bytes, which could be part of the original
    const bool conservative = view.shape.policy == PERHAPS_POLICY_CONSERVATIVE;
    perhaps__ring_start(ring, &view, hashes, count, width, far);
    for (size_t i = 0; i < count; i++) {
        const uint64_t *positions = perhaps__ring_key(ring, &view, hashes, i, far);
        struct seen seen;
        look(&view, positions, &seen, width);
        if (PERHAPS_UNLIKELY(seen.extreme | conservative)) {
            raise_with_care(&view, positions, &seen, tally, width);
        } else {
            tally->used += seen.zeros - change_key(&view, positions, &seen, 1, 0, width);
        }
        tally->keys += seen.zeros > 0;
        tally->copies++;
        if (out != NULL) {
            out[i] = seen.zeros > 0;
        }
        perhaps__ring_go_on(ring, &view, hashes, count, i, width, far);
    }
    return count;
}

// Copies stay at zero where keys that saturated their counters are removed more often than they were added.
INLINE void remove_all(const struct perhaps__view *shared, const uint64_t *hashes, size_t count, uint8_t *out,
                       struct perhaps__tally *tally, perhaps__key *ring, unsigned width, bool far)
{
    const struct perhaps__view view = *shared;
    perhaps__ring_start(ring, &view, hashes, count, width, far);
    for (size_t i = 0; i < count; i++) {
        const uint64_t *positions = perhaps__ring_key(ring, &view, hashes, i, far);
        struct seen seen;
        look(&view, positions, &seen, width);
        if (seen.zeros == 0) {
            if (PERHAPS_UNLIKELY(seen.extreme)) {
                lower_with_care(&view, positions, &seen, tally, width);
            } else {
                tally->used -= seen.ones - change_key(&view, positions, &seen, UINT64_MAX, 1, width);
            }
            tally->copies -= tally->copies > 0;
            tally->removals++;
        }
        if (out != NULL) {
            out[i] = seen.zeros == 0;
        }
        perhaps__ring_go_on(ring, &view, hashes, count, i, width, far);
    }
}

/* ---------------------------------------------------------------- counting */

INLINE void count_all(const struct perhaps__view *shared, const uint64_t *hashes, size_t count, uint64_t *out,
                      perhaps__key *ring, unsigned width, bool far)
{
    const struct perhaps__view view = *shared;
    perhaps__ring_start(ring, &view, hashes, count, width, far);
    for (size_t i = 0; i < count; i++) {
        const uint64_t *positions = perhaps__ring_key(ring, &view, hashes, i, far);
        uint64_t smallest = UINT64_MAX;
        for (uint64_t j = 0; j < view.positions; j++) {
            smallest = perhaps__min(smallest, perhaps__cell_get(view.memory, positions[j], width));
        }
        out[i] = smallest < perhaps__cell_most(width) ? smallest : PERHAPS_COUNT_UNBOUNDED;
        perhaps__ring_go_on(ring, &view, hashes, count, i, width, far);
    }
}

/* ---------------------------------------------------------------- the table */

// A call for so few keys has no pipeline to fill.
#define FEW 8

#define DEFINE_NEAR(width)                                                                                             \
    static int ask_##width(const void *filter, uint64_t hash)                                                          \
    {                                                                                                                  \
        return perhaps__ask_cells(filter, hash, width);                                                                \
    }                                                                                                                  \
    static void ask_near_##width(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint8_t *out) \
    {                                                                                                                  \
        perhaps__ask_near(view, hashes, count, out, width);                                                            \
    }                                                                                                                  \
    static size_t add_near_##width(const struct perhaps__view *view, const uint64_t *hashes, size_t count,             \
                                   uint8_t *out, struct perhaps__tally *tally, int *refusal)                           \
    {                                                                                                                  \
        (void)refusal;                                                                                                 \
        perhaps__key ring[1];                                                                                          \
        return add_all(view, hashes, count, out, tally, ring, width, false);                                           \
    }                                                                                                                  \
    static void count_near_##width(const struct perhaps__view *view, const uint64_t *hashes, size_t count,             \
                                   uint64_t *out)                                                                      \
    {                                                                                                                  \
        perhaps__key ring[1];                                                                                          \
        count_all(view, hashes, count, out, ring, width, false);                                                       \
    }                                                                                                                  \
    static void remove_near_##width(const struct perhaps__view *view, const uint64_t *hashes, size_t count,            \
                                    uint8_t *out, struct perhaps__tally *tally)                                        \
    {                                                                                                                  \
        perhaps__key ring[1];                                                                                          \
        remove_all(view, hashes, count, out, tally, ring, width, false);                                               \
    }

#define DEFINE_FAR(width)                                                                                              \
    static void ask_far_##width(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint8_t *out)  \
    {                                                                                                                  \
        perhaps__ask_far(view, hashes, count, out, width);                                                             \
    }                                                                                                                  \
    static size_t add_far_##width(const struct perhaps__view *view, const uint64_t *hashes, size_t count,              \
                                  uint8_t *out, struct perhaps__tally *tally, int *refusal)                            \
    {                                                                                                                  \
        (void)refusal;                                                                                                 \
        perhaps__key ring[PERHAPS_PLACE_AHEAD];                                                                        \
        return add_all(view, hashes, count, out, tally, ring, width, true);                                            \
    }                                                                                                                  \
    static void count_far_##width(const struct perhaps__view *view, const uint64_t *hashes, size_t count,              \
                                  uint64_t *out)                                                                       \
    {                                                                                                                  \
        if (count < FEW) {                                                                                             \
            count_near_##width(view, hashes, count, out);                                                              \
            return;                                                                                                    \
        }                                                                                                              \
        perhaps__key ring[PERHAPS_PLACE_AHEAD];                                                                        \
        count_all(view, hashes, count, out, ring, width, true);                                                        \
    }                                                                                                                  \
    static void remove_far_##width(const struct perhaps__view *view, const uint64_t *hashes, size_t count,             \
                                   uint8_t *out, struct perhaps__tally *tally)                                         \
    {                                                                                                                  \
        if (count < FEW) {                                                                                             \
            remove_near_##width(view, hashes, count, out, tally);                                                      \
            return;                                                                                                    \
        }                                                                                                              \
        perhaps__key ring[PERHAPS_PLACE_AHEAD];                                                                        \
        remove_all(view, hashes, count, out, tally, ring, width, true);                                                \
    }

#define KERNEL(width)                                                                                                  \
    {                                                                                                                  \
        ask_##width, ask_near_##width, ask_far_##width, add_near_##width, add_far_##width, count_near_##width,         \
            count_far_##width, remove_near_##width, remove_far_##width,                                                \
    }

DEFINE_NEAR(4)
DEFINE_FAR(4)
DEFINE_NEAR(8)
DEFINE_FAR(8)
DEFINE_NEAR(16)
DEFINE_FAR(16)

const struct perhaps__counting_kernel *perhaps__counting_kernel(uint32_t width)
{
    static const struct perhaps__counting_kernel kernel_4 = KERNEL(4);
    static const struct perhaps__counting_kernel kernel_8 = KERNEL(8);
    static const struct perhaps__counting_kernel kernel_16 = KERNEL(16);
    switch (width) {
    case 4:
        return &kernel_4;
    case 8:
        return &kernel_8;
    case 16:
        return &kernel_16;
    default:
        return NULL;
    }
}
