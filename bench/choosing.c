// SPDX-License-Identifier: MIT
// The table of docs/choosing.md: what each kind needs and takes, for a few error rates. Run by hand:
//
//     choosing [keys, default 10000000] [rounds, default 3]
//
// Kinds take turns in each round; figures are medians, in nanoseconds a key, for batches of ready hashes. All keys are
// added, then asked for, as many others are asked for, and, where a kind can, all are removed again.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "perhaps/perhaps.h"

#define BLOCK (UINT64_C(1) << 20)
#define MOST_ROUNDS 51

enum { ADD, PRESENT, ABSENT, REMOVE, OPERATIONS };

static uint64_t keys = 10000000;
static unsigned rounds = 3;
static uint64_t hashes[BLOCK];
static uint8_t out[BLOCK];

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void must(int result)
{
    if (result < 0) {
        (void)fprintf(stderr, "choosing: %s\n", perhaps_message(result));
        exit(1);
    }
}

// Key number i as a hash; numbers from `keys` on are never added.
static uint64_t hash_of(uint64_t i)
{
    i = (i ^ (i >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    i = (i ^ (i >> 27)) * UINT64_C(0x94d049bb133111eb);
    return i ^ (i >> 31);
}

static void run(perhaps_filter *filter, int operation, size_t count)
{
    if (operation == ADD) {
        must(perhaps_add_many_hash(filter, hashes, count, NULL, NULL));
    } else if (operation == REMOVE) {
        must(perhaps_remove_many_hash(filter, hashes, count, NULL, NULL));
    } else {
        must(perhaps_might_contain_many_hash(filter, hashes, count, out, NULL));
    }
}

// Nanoseconds a key for all keys; hashes are made outside the time that is taken.
static double measure(perhaps_filter *filter, int operation)
{
    double time = 0.0;
    for (uint64_t at = 0; at < keys; at += BLOCK) {
        size_t count = (size_t)(keys - at < BLOCK ? keys - at : BLOCK);
        for (size_t i = 0; i < count; i++) {
            hashes[i] = hash_of(at + i + (operation == ABSENT ? keys : 0));
        }
        double start = now();
        run(filter, operation, count);
        time += now() - start;
    }
    return time / (double)keys;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *times)
{
    qsort(times, rounds, sizeof *times, ascending);
    return times[rounds / 2];
}

static double times[8][OPERATIONS][MOST_ROUNDS];
static double bits[8];

static void measure_kind(uint32_t kind, double fpr, unsigned round)
{
    perhaps_options options = {.size = sizeof options, .kind = kind, .capacity = keys, .fpr = fpr};
    perhaps_error error = {.size = sizeof error};
    perhaps_statistics s = {.size = sizeof s};
    perhaps_filter *filter = NULL;
    if (perhaps_create(&options, &filter, &error) < 0) {
        (void)fprintf(stderr, "choosing: %s\n", error.text);
        exit(1);
    }
    must(perhaps_stats(filter, &s));
    bits[kind] = s.bits_per_key;
    bool removes = perhaps_remove_hash(filter, 0) >= 0; // an empty filter: nothing happens
    for (int operation = 0; operation < OPERATIONS; operation++) {
        times[kind][operation][round] = operation != REMOVE || removes ? measure(filter, operation) : 0.0;
    }
    perhaps_free(filter);
}

static void print_kind(uint32_t kind, double fpr)
{
    printf("| %g | %s | %.2f |", fpr, perhaps_kind_name(kind), bits[kind]);
    for (int operation = 0; operation < OPERATIONS; operation++) {
        double time = median(times[kind][operation]);
        if (time > 0.0) {
            printf(" %.1f |", time);
        } else {
            printf(" – |");
        }
    }
    printf("\n");
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    static const double rates[] = {0.03, 0.01, 0.001, 0.0001};
    keys = argc > 1 ? strtoull(argv[1], NULL, 10) : keys;
    rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : rounds;
    rounds = rounds < 1 ? 1 : rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds;
    printf("| p | kind | bits a key | add | look up, present | look up, absent | remove |\n");
    printf("|--:|---|--:|--:|--:|--:|--:|\n");
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        for (unsigned round = 0; round < rounds; round++) {
            for (uint32_t kind = 1; perhaps_kind_name(kind) != NULL; kind++) {
                measure_kind(kind, rates[i], round);
            }
        }
        for (uint32_t kind = 1; perhaps_kind_name(kind) != NULL; kind++) {
            print_kind(kind, rates[i]);
        }
    }
    return 0;
}
