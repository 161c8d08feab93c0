// SPDX-License-Identifier: MIT
// What it costs to share a filter between threads, and what it brings. Run by hand:
//
//     threads [keys, default 10000000] [rounds, default 5] [number of a kind, default all]
//
// For each kind two filters of one size are filled and asked in turn (A B A B ...): one that is not shared, and one that
// is, first by one thread and then by two, each with half of the work. Figures are medians of the rounds, in nanoseconds
// for a key and, for two threads, in keys per second compared with one. docs/threads.md has a run and how to read it.
//
// Before them, what the memory gives: the lines of a blocked filter of that size, fetched ahead and read or written, by one
// thread and by two. More than that no filter can gain.
#include <pthread.h>
#include <stdlib.h>

#include "harness.h"
#include "limit.h"

#define BLOCK (UINT64_C(1) << 20)
#define MOST_ROUNDS HARNESS_MAX_REPEAT

static uint64_t keys = 10000000;
static unsigned rounds = 5;

// What is measured: a filter, or, without one, lines of an array.
struct target {
    perhaps_filter *filter;
    uint8_t *array;
    uint64_t lines;
};

// A part of the work of one measurement. Hashes are made outside the time that is taken.
struct part {
    const struct target *target;
    bool adds;
    uint64_t first;
    uint64_t end;
    double time; // spent in the library
    pthread_barrier_t *start;
};

static void do_block(const struct part *part, const uint64_t *hashes, size_t count, uint8_t *out)
{
    const struct target *target = part->target;
    struct job job = {.hashes = hashes, .count = count, .array = target->array, .lines = target->lines};
    if (target->filter == NULL) {
        (part->adds ? limit_write : limit_read)(&job);
    } else {
        harness_must(part->adds ? perhaps_add_many_hash(target->filter, hashes, count, NULL, NULL)
                                : perhaps_might_contain_many_hash(target->filter, hashes, count, out, NULL),
                     "a batch");
    }
}

static void *work(void *context)
{
    struct part *part = context;
    uint64_t *hashes = calloc(BLOCK + HARNESS_SLACK, sizeof *hashes);
    uint8_t *out = malloc(BLOCK);
    if (hashes == NULL || out == NULL) {
        harness_must(PERHAPS_E_MEMORY, "a block of keys");
    }
    (void)pthread_barrier_wait(part->start);
    for (uint64_t at = part->first; at < part->end; at += BLOCK) {
        size_t count = (size_t)(part->end - at < BLOCK ? part->end - at : BLOCK);
        for (size_t i = 0; i < count; i++) {
            hashes[i] = harness_hash(at + i);
        }
        double start = harness_now();
        do_block(part, hashes, count, out);
        part->time += harness_now() - start;
    }
    free(hashes);
    free(out);
    return NULL;
}

// Nanoseconds a key, as all threads together get through them: each took its part in so much time of its own.
static double measure(const struct target *target, bool adds, unsigned threads)
{
    pthread_t ids[2];
    struct part parts[2];
    pthread_barrier_t start;
    double rate = 0.0; // keys a nanosecond
    (void)pthread_barrier_init(&start, NULL, threads);
    for (unsigned i = 0; i < threads; i++) {
        parts[i] = (struct part){target, adds, keys * i / threads, keys * (i + 1) / threads, 0.0, &start};
        if (pthread_create(&ids[i], NULL, work, &parts[i]) != 0) {
            harness_die("no thread can be had");
        }
    }
    for (unsigned i = 0; i < threads; i++) {
        (void)pthread_join(ids[i], NULL);
        rate += (double)(parts[i].end - parts[i].first) / parts[i].time;
    }
    (void)pthread_barrier_destroy(&start);
    return 1.0 / rate;
}

static double median(const double *times)
{
    return harness_summary(times, rounds).median;
}

// Not shared; shared, one thread; shared, two threads.
enum { ALONE, ONE, TWO, CASES };

static void print_row(const char *name, unsigned what, double times[CASES][MOST_ROUNDS])
{
    double t[CASES];
    for (unsigned c = ALONE; c < CASES; c++) {
        t[c] = median(times[c]);
    }
    printf("%-9s %-8s %8.2f %8.2f %6.2f %8.2f %6.2f\n", name, what == 0 ? "add" : "look up", t[ALONE], t[ONE],
           t[ONE] / t[ALONE], t[TWO], t[ONE] / t[TWO]);
    (void)fflush(stdout);
}

// The same columns: the array is no more shared in the second than in the first, which shows what noise there is.
static void measure_memory(void)
{
    static double times[2][CASES][MOST_ROUNDS];
    uint64_t bytes = (uint64_t)(1.32 * (double)keys) / 64 * 64 + 64; // as blocked at p = 1 %
    struct target memory = {.array = harness_allocate((size_t)bytes, PAGES_HUGE), .lines = bytes / 64};
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned c = ALONE; c < CASES; c++) {
            times[0][c][round] = measure(&memory, true, c == TWO ? 2 : 1);
            times[1][c][round] = measure(&memory, false, c == TWO ? 2 : 1);
        }
    }
    print_row("memory", 0, times[0]);
    print_row("memory", 1, times[1]);
    harness_release(memory.array, (size_t)bytes);
}

static void measure_kind(uint32_t kind)
{
    static double times[2][CASES][MOST_ROUNDS];
    perhaps_filter *filters[2];
    for (uint32_t i = 0; i < 2; i++) {
        perhaps_options options = {
            .size = sizeof options, .kind = kind, .capacity = keys, .fpr = 0.01, .flags = i == 0 ? 0 : PERHAPS_SHARED};
        filters[i] = harness_create(&options);
    }
    for (unsigned round = 0; round < rounds; round++) {
        for (unsigned c = ALONE; c < CASES; c++) {
            struct target target = {.filter = filters[c != ALONE]};
            harness_must(perhaps_clear(target.filter), "clear");
            times[0][c][round] = measure(&target, true, c == TWO ? 2 : 1);
            times[1][c][round] = measure(&target, false, c == TWO ? 2 : 1);
        }
    }
    print_row(perhaps_kind_name(kind), 0, times[0]);
    print_row(perhaps_kind_name(kind), 1, times[1]);
    perhaps_free(filters[0]);
    perhaps_free(filters[1]);
}

int main(int argc, char **argv)
{
    keys = harness_count(argc, argv, 1, keys);
    rounds = (unsigned)harness_count(argc, argv, 2, rounds);
    rounds = rounds < 1 ? 1 : rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds;
    printf("%llu keys, batches of ready hashes, medians of %u rounds, ns a key\n", (unsigned long long)keys, rounds);
    printf("%-9s %-8s %8s %8s %6s %8s %6s\n", "kind", "", "alone", "shared", "ratio", "2 threads", "gain");
    uint32_t only = (uint32_t)harness_count(argc, argv, 3, 0);
    measure_memory();
    for (uint32_t kind = 1; perhaps_kind_name(kind) != NULL; kind++) {
        if (only == 0 || only == kind) {
            measure_kind(kind);
        }
    }
    return 0;
}
