// SPDX-License-Identifier: MIT
// The cuckoo kernels: every verb for one key and for many, for each shape of bucket.
#include "cuckoo_batch.h"

#define INLINE PERHAPS_CUCKOO_INLINE

enum verb { ASK, ADD, COUNT, REMOVE };

// Where results go; what a verb has no use for is NULL.
struct results {
    uint8_t *out;
    uint64_t *counts;
    struct perhaps__tally *tally;
    int *refusal;
};

INLINE bool is_present(const struct perhaps__cuckoo *table, const struct perhaps__cuckoo_spots *spots)
{
    uint64_t pattern = perhaps__cuckoo_pattern(table, spots->fingerprint);
    return (perhaps__cuckoo_has_pattern(table, spots->first, pattern) |
            perhaps__cuckoo_has_pattern(table, spots->second, pattern)) != 0;
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

INLINE size_t run_few(enum verb verb, const struct perhaps__cuckoo *table, const uint64_t *hashes, size_t count,
                      const struct results *results)
{
    for (size_t i = 0; i < count; i++) {
        struct perhaps__cuckoo_spots spots = perhaps__cuckoo_start(table, hashes[i]);
        if (!step(verb, table, &spots, results, i)) {
            return i;
        }
    }
    return count;
}

INLINE size_t run(enum verb verb, struct perhaps__cuckoo_batch *batch, const struct perhaps__cuckoo *table,
                  const struct results *results)
{
    struct perhaps__cuckoo_block blocks[2];
    struct perhaps__cuckoo_block *now = &blocks[0];
    struct perhaps__cuckoo_block *next = &blocks[1];
    size_t placed = perhaps__cuckoo_take_first(batch, table, now);
    for (size_t i = 0; i < batch->count;) {
        size_t coming = perhaps__cuckoo_take(batch, next);
        for (size_t j = 0; j < placed; j++, i++) {
            if (batch->far && j < coming) {
                perhaps__cuckoo_fetch_key(table, next, j);
            }
            struct perhaps__cuckoo_spots spots = perhaps__cuckoo_spots_in(now, j);
            if (!step(verb, table, &spots, results, i)) {
                return i;
            }
        }
        struct perhaps__cuckoo_block *done = now;
        now = next;
        next = done;
        placed = coming;
    }
    return batch->count;
}

// Few keys are looked at one by one; those of near tables are not fetched.
#define RUN_near(verb, view, table, hashes, count, results)                                                            \
    ((count) < PERHAPS_CUCKOO_FEW                                                                                      \
         ? run_few(verb, table, hashes, count, results)                                                                \
         : run(verb, &(struct perhaps__cuckoo_batch){view, hashes, count, 0, false}, table, results))
#define RUN_far(verb, view, table, hashes, count, results)                                                             \
    run(verb, &(struct perhaps__cuckoo_batch){view, hashes, count, 0, true}, table, results)

// The verbs for buckets of a number of slots that are one group each (whole) or several. In near ones fetching ahead only
// costs.
#define DEFINE_ASK(name, view_slots, view_bits, base, whole)                                                           \
    static int ask_##name(const void *filter, uint64_t hash)                                                           \
    {                                                                                                                  \
        const struct perhaps__view *view = filter;                                                                     \
        const struct perhaps__cuckoo table = perhaps__cuckoo_table(view, view_slots, view_bits, base, whole);          \
        return perhaps__cuckoo_ask(&table, hash);                                                                      \
    }                                                                                                                  \
    DEFINE_ASK_MANY(name, near, view_slots, view_bits, base, whole)                                                    \
    DEFINE_ASK_MANY(name, far, view_slots, view_bits, base, whole)

#define DEFINE_ASK_MANY(name, distance, view_slots, view_bits, base, whole)                                            \
    static void ask_##distance##_##name(const struct perhaps__view *view, const uint64_t *hashes, size_t count,        \
                                        uint8_t *out)                                                                  \
    {                                                                                                                  \
        const struct perhaps__cuckoo table = perhaps__cuckoo_table(view, view_slots, view_bits, base, whole);          \
        const struct results results = {.out = out};                                                                   \
        (void)RUN_##distance(ASK, view, &table, hashes, count, &results);                                              \
    }

#define DEFINE(name, view_slots, whole)                                                                                \
    DEFINE_ASK(name, view_slots, view->shape.cell_bits, view->shape.layout, whole)                                     \
    DEFINE_DISTANCE(name, near, view_slots, whole)                                                                     \
    DEFINE_DISTANCE(name, far, view_slots, whole)

#define DEFINE_DISTANCE(name, distance, view_slots, whole)                                                             \
    static size_t add_##distance##_##name(const struct perhaps__view *view, const uint64_t *hashes, size_t count,      \
                                          uint8_t *out, struct perhaps__tally *tally, int *refusal)                    \
    {                                                                                                                  \
        const struct perhaps__cuckoo table =                                                                           \
            perhaps__cuckoo_table(view, view_slots, view->shape.cell_bits, view->shape.layout, whole);                 \
        const struct results results = {.out = out, .tally = tally, .refusal = refusal};                               \
        return RUN_##distance(ADD, view, &table, hashes, count, &results);                                             \
    }                                                                                                                  \
    static void count_##distance##_##name(const struct perhaps__view *view, const uint64_t *hashes, size_t count,      \
                                          uint64_t *out)                                                               \
    {                                                                                                                  \
        const struct perhaps__cuckoo table =                                                                           \
            perhaps__cuckoo_table(view, view_slots, view->shape.cell_bits, view->shape.layout, whole);                 \
        const struct results results = {.counts = out};                                                                \
        (void)RUN_##distance(COUNT, view, &table, hashes, count, &results);                                            \
    }                                                                                                                  \
    static void remove_##distance##_##name(const struct perhaps__view *view, const uint64_t *hashes, size_t count,     \
                                           uint8_t *out, struct perhaps__tally *tally)                                 \
    {                                                                                                                  \
        const struct perhaps__cuckoo table =                                                                           \
            perhaps__cuckoo_table(view, view_slots, view->shape.cell_bits, view->shape.layout, whole);                 \
        const struct results results = {.out = out, .tally = tally};                                                   \
        (void)RUN_##distance(REMOVE, view, &table, hashes, count, &results);                                           \
    }

DEFINE(whole1, 1, true)
DEFINE(whole2, 2, true)
DEFINE(whole4, 4, true)
DEFINE(whole8, 8, true)
DEFINE(groups, view->shape.slots, false)

// The usual buckets, with the width of a fingerprint as a constant: a look-up then takes 86 instructions, not 125.
#define DEFINE_WIDTH(bits) DEFINE_ASK(four_##bits, 4, bits, bits, true)
PERHAPS_CUCKOO_WIDTHS(DEFINE_WIDTH)

#define KERNEL(ask, name)                                                                                              \
    {                                                                                                                  \
        ask_##ask, ask_near_##ask, ask_far_##ask, add_near_##name, add_far_##name, count_near_##name,                  \
            count_far_##name, remove_near_##name, remove_far_##name                                                    \
    }
#define WIDTH(bits) [bits] = KERNEL(four_##bits, whole4),

const struct perhaps__cuckoo_kernel *perhaps__cuckoo_kernel(uint32_t slots, uint32_t fingerprint_bits,
                                                            uint32_t base_bits)
{
    static const struct perhaps__cuckoo_kernel whole[] = {[1] = KERNEL(whole1, whole1),
                                                          [2] = KERNEL(whole2, whole2),
                                                          [4] = KERNEL(whole4, whole4),
                                                          [8] = KERNEL(whole8, whole8)};
    static const struct perhaps__cuckoo_kernel groups = KERNEL(groups, groups);
    static const struct perhaps__cuckoo_kernel four[] = {PERHAPS_CUCKOO_WIDTHS(WIDTH)};
    if (slots == 4 && fingerprint_bits >= 5 && fingerprint_bits < PERHAPS_COUNT(four) &&
        base_bits == fingerprint_bits) {
        return &four[fingerprint_bits];
    }
    return perhaps__cuckoo_group(slots, fingerprint_bits) == slots ? &whole[slots] : &groups;
}
