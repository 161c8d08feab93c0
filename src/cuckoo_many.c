// SPDX-License-Identifier: MIT
// The cuckoo kernels: every verb for one key and for many, for each shape of bucket.
#include "cuckoo.h"

#define INLINE PERHAPS_CUCKOO_INLINE

enum verb { ASK, ADD, COUNT, REMOVE };

// Where results go; what a verb has no use for is NULL.
struct results {
    uint8_t *out;
    uint64_t *counts;
    struct perhaps__tally *tally;
    int *refusal;
};

INLINE struct perhaps__cuckoo_spots start(const struct perhaps__cuckoo *table, uint64_t hash)
{
    return perhaps__cuckoo_spots(table, perhaps__cuckoo_home(table, perhaps__place(hash, table->seed_key)));
}

INLINE bool is_present(const struct perhaps__cuckoo *table, const struct perhaps__cuckoo_spots *spots)
{
    return (perhaps__cuckoo_has(table, spots->first, spots->fingerprint) |
            perhaps__cuckoo_has(table, spots->second, spots->fingerprint)) != 0;
}

INLINE void note(const struct results *results, size_t i, bool result)
{
    if (results->out != NULL) {
        results->out[i] = result;
    }
}

// Does what is to be done with key i; false when it is refused.
INLINE bool step(enum verb verb, const struct perhaps__cuckoo *table, const struct perhaps__cuckoo_spots *spots,
                 const struct results *results, size_t i)
{
    if (verb == ASK) {
        results->out[i] = is_present(table, spots);
    } else if (verb == COUNT) {
        results->counts[i] = perhaps__cuckoo_count(table, spots);
    } else if (verb == REMOVE) {
        note(results, i, perhaps__cuckoo_remove(table, spots, results->tally));
    } else {
        int status = perhaps__cuckoo_add(table, spots, results->tally);
        if (PERHAPS_UNLIKELY(status < 0)) {
            *results->refusal = status;
            return false;
        }
        note(results, i, status);
    }
    return true;
}

INLINE size_t run_near(enum verb verb, const struct perhaps__cuckoo *table, const uint64_t *hashes, size_t count,
                       const struct results *results)
{
    size_t i = 0;
    for (; i < count; i++) {
        struct perhaps__cuckoo_spots spots = start(table, hashes[i]);
        if (!step(verb, table, &spots, results, i)) {
            break;
        }
    }
    return i;
}

INLINE struct perhaps__cuckoo_spots fetch(const struct perhaps__cuckoo *table, const uint64_t *hash)
{
    struct perhaps__cuckoo_spots spots = start(table, *hash);
    perhaps__cuckoo_fetch(table, spots.first);
    perhaps__cuckoo_fetch(table, spots.second);
    perhaps__fetch_hashes(hash);
    return spots;
}

INLINE size_t run_far(enum verb verb, const struct perhaps__cuckoo *table, const uint64_t *hashes, size_t count,
                      const struct results *results)
{
    struct perhaps__cuckoo_spots keys[PERHAPS_CUCKOO_AHEAD];
    for (size_t i = 0; i < PERHAPS_CUCKOO_AHEAD && i < count; i++) {
        keys[i] = fetch(table, hashes + i);
    }
    size_t i = 0;
    for (; i < count; i++) {
        if (!step(verb, table, &keys[i % PERHAPS_CUCKOO_AHEAD], results, i)) {
            break;
        }
        if (i + PERHAPS_CUCKOO_AHEAD < count) {
            keys[i % PERHAPS_CUCKOO_AHEAD] = fetch(table, hashes + i + PERHAPS_CUCKOO_AHEAD);
        }
    }
    return i;
}

// The verbs for buckets of a number of slots that are one group each (whole) or several. In near ones fetching ahead only
// costs.
#define DEFINE_ASK(name, view_slots, view_bits, whole)                                                                 \
    static int ask_##name(const void *filter, uint64_t hash)                                                           \
    {                                                                                                                  \
        const struct perhaps__view *view = filter;                                                                     \
        struct perhaps__cuckoo table = perhaps__cuckoo_table(view, view_slots, view_bits, whole);                      \
        struct perhaps__cuckoo_spots spots = start(&table, hash);                                                      \
        return is_present(&table, &spots);                                                                             \
    }                                                                                                                  \
    DEFINE_ASK_MANY(name, near, view_slots, view_bits, whole)                                                          \
    DEFINE_ASK_MANY(name, far, view_slots, view_bits, whole)

#define DEFINE_ASK_MANY(name, distance, view_slots, view_bits, whole)                                                  \
    static void ask_##distance##_##name(const struct perhaps__view *view, const uint64_t *hashes, size_t count,        \
                                        uint8_t *out)                                                                  \
    {                                                                                                                  \
        const struct perhaps__cuckoo table = perhaps__cuckoo_table(view, view_slots, view_bits, whole);                \
        const struct results results = {.out = out};                                                                   \
        (void)run_##distance(ASK, &table, hashes, count, &results);                                                    \
    }

#define DEFINE(name, view_slots, whole)                                                                                \
    DEFINE_ASK(name, view_slots, view->shape.cell_bits, whole)                                                         \
    DEFINE_DISTANCE(name, near, view_slots, whole)                                                                     \
    DEFINE_DISTANCE(name, far, view_slots, whole)

#define DEFINE_DISTANCE(name, distance, view_slots, whole)                                                             \
    static size_t add_##distance##_##name(const struct perhaps__view *view, const uint64_t *hashes, size_t count,      \
                                          uint8_t *out, struct perhaps__tally *tally, int *refusal)                    \
    {                                                                                                                  \
        const struct perhaps__cuckoo table = perhaps__cuckoo_table(view, view_slots, view->shape.cell_bits, whole);    \
        const struct results results = {.out = out, .tally = tally, .refusal = refusal};                               \
        return run_##distance(ADD, &table, hashes, count, &results);                                                   \
    }                                                                                                                  \
    static void count_##distance##_##name(const struct perhaps__view *view, const uint64_t *hashes, size_t count,      \
                                          uint64_t *out)                                                               \
    {                                                                                                                  \
        const struct perhaps__cuckoo table = perhaps__cuckoo_table(view, view_slots, view->shape.cell_bits, whole);    \
        const struct results results = {.counts = out};                                                                \
        (void)run_##distance(COUNT, &table, hashes, count, &results);                                                  \
    }                                                                                                                  \
    static void remove_##distance##_##name(const struct perhaps__view *view, const uint64_t *hashes, size_t count,     \
                                           uint8_t *out, struct perhaps__tally *tally)                                 \
    {                                                                                                                  \
        const struct perhaps__cuckoo table = perhaps__cuckoo_table(view, view_slots, view->shape.cell_bits, whole);    \
        const struct results results = {.out = out, .tally = tally};                                                   \
        (void)run_##distance(REMOVE, &table, hashes, count, &results);                                                 \
    }

DEFINE(whole1, 1, true)
DEFINE(whole2, 2, true)
DEFINE(whole4, 4, true)
DEFINE(whole8, 8, true)
DEFINE(groups, view->shape.slots, false)

// The usual buckets, with the width of a fingerprint as a constant: a look-up then takes 86 instructions, not 125.
#define DEFINE_WIDTH(bits) DEFINE_ASK(four_##bits, 4, bits, true)
PERHAPS_CUCKOO_WIDTHS(DEFINE_WIDTH)

#define KERNEL(ask, name)                                                                                              \
    {                                                                                                                  \
        ask_##ask, ask_near_##ask, ask_far_##ask, add_near_##name, add_far_##name, count_near_##name,                  \
            count_far_##name, remove_near_##name, remove_far_##name                                                    \
    }
#define WIDTH(bits) [bits] = KERNEL(four_##bits, whole4),

const struct perhaps__cuckoo_kernel *perhaps__cuckoo_kernel(uint32_t slots, uint32_t fingerprint_bits)
{
    static const struct perhaps__cuckoo_kernel whole[] = {[1] = KERNEL(whole1, whole1),
                                                          [2] = KERNEL(whole2, whole2),
                                                          [4] = KERNEL(whole4, whole4),
                                                          [8] = KERNEL(whole8, whole8)};
    static const struct perhaps__cuckoo_kernel groups = KERNEL(groups, groups);
    static const struct perhaps__cuckoo_kernel four[] = {PERHAPS_CUCKOO_WIDTHS(WIDTH)};
    if (slots == 4 && fingerprint_bits >= 5 && fingerprint_bits < PERHAPS_COUNT(four)) {
        return &four[fingerprint_bits];
    }
    return perhaps__cuckoo_group(slots, fingerprint_bits) == slots ? &whole[slots] : &groups;
}
