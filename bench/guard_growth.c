// SPDX-License-Identifier: MIT
// Three guards in front of a store that grows to ten times what their first filter was made for: one that never
// rebuilds, one that rebuilds when its alarm was raised, one when its filter is full. Run by hand through
// scripts/picture-guard, which draws docs/guard-growth.svg from it.
//
//     guard_growth [capacity, default 1e5]
//
// The store has the numbers below n as 64-bit keys, first half as many as the capacity; after every 200,000 questions for
// absent keys, none of which is asked twice, a tenth of the capacity is added through the guard. Time is counted in
// questions: a rebuild that was begun is waited for after every 10,000. A point is one step: the share of its questions
// that passed and that the store refuted; its standard error; and what the bits that were set predicted, on average. The
// last column counts rebuilds.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <perhaps/guard.h>

#include "harness.h"

#define QUESTIONS 10000
#define SLICES 20
#define STEPS_TO_CAPACITY 10
#define MULTIPLES 10
#define FIRST_ABSENT (UINT64_C(1) << 40)

/* ---------------------------------------------------------------- the store */

static int contains(void *context, const void *key, size_t length, perhaps_error *error)
{
    (void)error;
    const uint64_t *count = context;
    return length == sizeof *count && *(const uint64_t *)key < __atomic_load_n(count, __ATOMIC_RELAXED);
}

static int each_key(void *context, int (*visit)(void *visitor, const void *key, size_t length), void *visitor,
                    perhaps_error *error)
{
    (void)error;
    uint64_t end = __atomic_load_n((const uint64_t *)context, __ATOMIC_RELAXED);
    int code = 0;
    for (uint64_t key = 0; key < end && code == 0; key++) {
        code = visit(visitor, &key, sizeof key);
    }
    return code;
}

static int count_keys(void *context, uint64_t *count, perhaps_error *error)
{
    (void)error;
    *count = __atomic_load_n((const uint64_t *)context, __ATOMIC_RELAXED);
    return 0;
}

static int write_key(void *context, const void *key, size_t length, perhaps_error *error)
{
    (void)length;
    (void)error;
    __atomic_store_n((uint64_t *)context, *(const uint64_t *)key + 1, __ATOMIC_RELAXED);
    return 0;
}

/* ---------------------------------------------------------------- a guard */

struct guarded {
    perhaps_guard *guard;
    uint64_t stored;
    uint64_t next_absent;
};

static void make_guard(struct guarded *guarded, uint64_t capacity, uint32_t triggers)
{
    perhaps_options made = {.size = sizeof made, .capacity = capacity, .fpr = 0.01, .flags = PERHAPS_SHARED};
    perhaps_store store = {.context = &guarded->stored,
                           .contains = contains,
                           .each_key = each_key,
                           .count = count_keys,
                           .flags = PERHAPS_STORE_SNAPSHOT | PERHAPS_STORE_DISTINCT};
    perhaps_guard_options options = {.size = sizeof options, .store = &store, .triggers = triggers};
    guarded->next_absent = FIRST_ABSENT;
    harness_must(perhaps_create(&made, &options.adopted, NULL), "create");
    harness_must(perhaps_guard_create(&options, &guarded->guard, NULL), "guard");
}

static void add_keys(struct guarded *guarded, uint64_t end)
{
    for (uint64_t key = guarded->stored; key < end; key++) {
        harness_must(perhaps_guard_add(guarded->guard, &key, sizeof key, write_key, &guarded->stored, NULL), "add");
    }
    harness_must(perhaps_guard_rebuild_wait(guarded->guard, NULL), "rebuild");
}

static perhaps_guard_statistics look(const struct guarded *guarded)
{
    perhaps_guard_statistics statistics = {.size = sizeof statistics};
    harness_must(perhaps_guard_stats(guarded->guard, &statistics), "stats");
    return statistics;
}

// Returns the predicted rate, on average.
static double ask_absent(struct guarded *guarded)
{
    double predicted = 0.0;
    for (int slice = 0; slice < SLICES; slice++) {
        predicted += look(guarded).fpr_predicted;
        for (int i = 0; i < QUESTIONS; i++) {
            uint64_t key = guarded->next_absent++;
            harness_must(perhaps_guard_contains(guarded->guard, &key, sizeof key, NULL), "contains");
        }
        harness_must(perhaps_guard_rebuild_wait(guarded->guard, NULL), "rebuild");
    }
    return predicted / SLICES;
}

/* ---------------------------------------------------------------- the course of it */

static void print_step(const struct guarded *guarded, const perhaps_guard_statistics *before,
                       const perhaps_guard_statistics *after, double predicted)
{
    double refuted = (double)(after->refuted - before->refuted);
    double asked = refuted + (double)(after->surely_absent - before->surely_absent);
    double observed = refuted / asked;
    printf("%.1f %llu %llu %.0f %.0f %.6g %.3g %.6g %+.1f %llu\n", (double)after->queries / 1e6,
           (unsigned long long)guarded->stored, (unsigned long long)after->capacity, asked, refuted, observed,
           sqrt(observed * (1.0 - observed) / asked), predicted,
           (observed - predicted) / sqrt(predicted * (1.0 - predicted) / asked), (unsigned long long)after->rebuilds);
}

static void run(uint64_t capacity, uint32_t triggers, const char *title)
{
    printf("# %s: capacity %llu, target 0.01\n", title, (unsigned long long)capacity);
    puts("# Mqueries keys capacity absent refuted observed error predicted sigma rebuilds");
    struct guarded guarded = {.guard = NULL};
    make_guard(&guarded, capacity, triggers);
    for (uint64_t step = STEPS_TO_CAPACITY / 2; step <= STEPS_TO_CAPACITY * MULTIPLES; step++) {
        add_keys(&guarded, capacity / STEPS_TO_CAPACITY * step);
        perhaps_guard_statistics before = look(&guarded);
        double predicted = ask_absent(&guarded);
        perhaps_guard_statistics after = look(&guarded);
        print_step(&guarded, &before, &after, predicted);
    }
    perhaps_guard_free(guarded.guard);
    printf("\n\n");
}

int main(int argc, char **argv)
{
    uint64_t capacity = harness_count(argc, argv, 1, 100000);
    if (capacity < STEPS_TO_CAPACITY) {
        (void)fprintf(stderr, "guard_growth: a capacity of at least %d, please\n", STEPS_TO_CAPACITY);
        return 1;
    }
    run(capacity, 0, "no rebuilds");
    run(capacity, PERHAPS_GUARD_ON_ALARM, "rebuilt on alarm");
    run(capacity, PERHAPS_GUARD_ON_FILL, "rebuilt when full");
    return 0;
}
