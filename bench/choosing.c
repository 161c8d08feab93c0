// SPDX-License-Identifier: MIT
// The table of docs/choosing.md: what each kind needs and takes, for a few error rates. Run by hand:
//
//     choosing [keys, default 10000000] [rounds, default 3]
//
// Kinds take turns in each round; figures are medians, in nanoseconds a key, for batches of ready hashes. All keys are
// added, then asked for, as many others are asked for, and, where a kind can, all are removed again.
#include <stdlib.h>

#include "harness.h"

#define BLOCK (UINT64_C(1) << 20)
#define MOST_ROUNDS HARNESS_MAX_REPEAT

enum { ADD, PRESENT, ABSENT, REMOVE, OPERATIONS };

static uint64_t keys = 10000000;
static unsigned rounds = 3;
static uint64_t hashes[BLOCK];
static uint8_t out[BLOCK];

static void run(perhaps_filter *filter, int operation, size_t count)
{
    if (operation == ADD) {
        harness_must(perhaps_add_many_hash(filter, hashes, count, NULL, NULL), "add");
    } else if (operation == REMOVE) {
        harness_must(perhaps_remove_many_hash(filter, hashes, count, NULL, NULL), "remove");
    } else {
        harness_must(perhaps_might_contain_many_hash(filter, hashes, count, out, NULL), "look up");
    }
}

// Nanoseconds a key for all keys; hashes are made outside the time that is taken.
static double measure(perhaps_filter *filter, int operation)
{
    double time = 0.0;
    for (uint64_t at = 0; at < keys; at += BLOCK) {
        size_t count = (size_t)(keys - at < BLOCK ? keys - at : BLOCK);
        for (size_t i = 0; i < count; i++) {
            hashes[i] = harness_hash(at + i + (operation == ABSENT ? keys : 0)); // from `keys` on they are never added
        }
        double start = harness_now();
        run(filter, operation, count);
        time += harness_now() - start;
    }
    return time / (double)keys;
}

static double median(const double *times)
{
    return harness_summary(times, rounds).median;
}

static double times[8][OPERATIONS][MOST_ROUNDS];
static double bits[8];

static void measure_kind(uint32_t kind, double fpr, unsigned round)
{
    perhaps_options options = {.size = sizeof options, .kind = kind, .capacity = keys, .fpr = fpr};
    perhaps_statistics s = {.size = sizeof s};
    perhaps_filter *filter = harness_create(&options);
    harness_must(perhaps_stats(filter, &s), "stats");
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
    keys = harness_count(argc, argv, 1, keys);
    rounds = (unsigned)harness_count(argc, argv, 2, rounds);
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
