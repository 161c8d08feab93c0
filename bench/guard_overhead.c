// SPDX-License-Identifier: MIT
// What a guard costs on the reading path. Run by hand:
//
//     guard_overhead [keys, default 1000000] [rounds, default 15] [threads, default 2]
//
// One filter at capacity, with p = 0.01, is asked for the same keys by perhaps_might_contain() and by
// perhaps_guard_ask(), in turn (A B A B ...), by all threads at once. Keys are sixteen bytes, made outside the time
// that is taken; a half, or none, are in the filter. Figures are nanoseconds an ask in one thread: the medians of the
// rounds, and the median of the differences within a round. docs/guard.md has a run.
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include <perhaps/guard.h>

#include "harness.h"

#define BLOCK 65536
#define MOST_ROUNDS HARNESS_MAX_REPEAT
#define MOST_THREADS 16

static uint64_t keys = 1000000;
static unsigned rounds = 15;
static unsigned threads = 2;

// Of this thread: others may be on the processor meanwhile.
static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

struct key {
    uint64_t half[2];
};

static struct key key_of(uint64_t i)
{
    return (struct key){{i * UINT64_C(0x9e3779b97f4a7c15), i}};
}

struct part {
    const perhaps_filter *filter;
    perhaps_guard *guard; // NULL: the bare filter
    uint64_t first;
    uint64_t present; // one key in so many is there; 0: none
    double time;
    uint64_t passed;
    pthread_barrier_t *start;
};

static uint64_t ask_block(const struct part *part, const struct key *block)
{
    uint64_t passed = 0;
    if (part->guard == NULL) {
        for (size_t i = 0; i < BLOCK; i++) {
            passed += (uint64_t)perhaps_might_contain(part->filter, &block[i], sizeof block[i]);
        }
        return passed;
    }
    for (size_t i = 0; i < BLOCK; i++) {
        passed += (uint64_t)perhaps_guard_ask(part->guard, &block[i], sizeof block[i]);
    }
    return passed;
}

static void *work(void *context)
{
    struct part *part = context;
    struct key *block = malloc(BLOCK * sizeof *block);
    harness_must(block == NULL ? PERHAPS_E_MEMORY : 0, "a block of keys");
    (void)pthread_barrier_wait(part->start);
    for (uint64_t at = 0; at < keys; at += BLOCK) {
        for (uint64_t i = 0; i < BLOCK; i++) {
            uint64_t number = part->first + at + i;
            bool there = part->present != 0 && i % part->present == 0;
            block[i] = key_of(there ? number % keys : number | UINT64_C(1) << 40);
        }
        double start = now();
        part->passed += ask_block(part, block);
        part->time += now() - start;
    }
    free(block);
    return NULL;
}

// Nanoseconds an ask, the mean of the threads.
static double measure(const perhaps_filter *filter, perhaps_guard *guard, uint64_t present, unsigned round)
{
    pthread_t ids[MOST_THREADS];
    struct part parts[MOST_THREADS];
    pthread_barrier_t start;
    double time = 0.0;
    (void)pthread_barrier_init(&start, NULL, threads);
    for (unsigned i = 0; i < threads; i++) {
        uint64_t first = (round * threads + i + 1) * keys; // absent keys never repeat, as the alarm likes least
        parts[i] = (struct part){filter, guard, first, present, 0.0, 0, &start};
        harness_must(pthread_create(&ids[i], NULL, work, &parts[i]) != 0 ? PERHAPS_E_MEMORY : 0, "a thread");
    }
    for (unsigned i = 0; i < threads; i++) {
        (void)pthread_join(ids[i], NULL);
        uint64_t asked = (keys + BLOCK - 1) / BLOCK * BLOCK;
        time += parts[i].time / (double)asked;
    }
    (void)pthread_barrier_destroy(&start);
    return time / threads;
}

static double median(const double *times)
{
    return harness_summary(times, rounds).median;
}

static void compare(const perhaps_filter *filter, perhaps_guard *guard, const char *kind, uint64_t present)
{
    static double bare[MOST_ROUNDS];
    static double guarded[MOST_ROUNDS];
    static double more[MOST_ROUNDS];
    for (unsigned round = 0; round < rounds; round++) {
        bare[round] = measure(filter, NULL, present, round);
        guarded[round] = measure(filter, guard, present, round);
        more[round] = guarded[round] - bare[round];
    }
    printf("%-9s %-14s %8.2f %8.2f %8.2f\n", kind, present != 0 ? "half present" : "all absent", median(bare),
           median(guarded), median(more));
    (void)fflush(stdout);
}

static void measure_kind(uint32_t kind)
{
    perhaps_options options = {
        .size = sizeof options, .kind = kind, .capacity = keys, .fpr = 0.01, .flags = PERHAPS_SHARED};
    perhaps_filter *filter = harness_create(&options);
    perhaps_guard *guard = NULL;
    for (uint64_t i = 0; i < keys; i++) {
        struct key key = key_of(i);
        harness_must(perhaps_add(filter, &key, sizeof key), "add");
    }
    perhaps_guard_options guarding = {.size = sizeof guarding, .filter = filter};
    harness_must(perhaps_guard_create(&guarding, &guard, NULL), "guard");
    compare(filter, guard, perhaps_kind_name(kind), 0);
    compare(filter, guard, perhaps_kind_name(kind), 2);
    perhaps_guard_free(guard);
    perhaps_free(filter);
}

int main(int argc, char **argv)
{
    keys = harness_count(argc, argv, 1, keys);
    rounds = (unsigned)harness_count(argc, argv, 2, rounds);
    threads = (unsigned)harness_count(argc, argv, 3, threads);
    if (keys == 0 || rounds == 0 || rounds > MOST_ROUNDS || threads == 0 || threads > MOST_THREADS) {
        (void)fprintf(stderr, "guard_overhead: give keys, rounds (at most %d) and threads (at most %d)\n", MOST_ROUNDS,
                      MOST_THREADS);
        return 2;
    }
    printf("%llu keys, %u threads, ns an ask\n%-9s %-14s %8s %8s %8s\n", (unsigned long long)keys, threads, "kind",
           "keys asked for", "filter", "guard", "more");
    for (uint32_t kind = PERHAPS_KIND_BLOOM; kind <= PERHAPS_KIND_CUCKOO; kind++) {
        measure_kind(kind);
    }
    return 0;
}
