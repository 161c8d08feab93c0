// SPDX-License-Identifier: MIT
// Measures the false-positive rate of one filter while it is filled, from empty to four times its capacity, beside
// what theory says. Run by hand through scripts/picture-fill, which draws docs/fpr-against-fill.svg from it.
//
//     fill [capacity, default 1e6]
//
// Keys are 64-bit integers: those from 0 on are added, those from 2^40 on are asked for and were never added. A
// point is measured until 20,000 answers were false positives, with at least 10^6 and at most 10^8 questions. No
// question is asked twice, so that what chance does to one point it does not do to the next.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "perhaps/perhaps.h"
#include "sizing.h"

#define BATCH 4096
#define STEPS_TO_CAPACITY 20
#define MULTIPLES 4
#define ENOUGH_PASSED UINT64_C(20000)
#define FEWEST_ASKED UINT64_C(1000000)
#define MOST_ASKED UINT64_C(100000000)

static uint64_t keys[BATCH];
static uint64_t offsets[BATCH + 1];
static uint8_t answers[BATCH];
static uint64_t next_absent = UINT64_C(1) << 40;

static void must(int result)
{
    if (result < 0) {
        (void)fprintf(stderr, "fill: %s\n", perhaps_message(result));
        exit(1);
    }
}

static void fill_keys(uint64_t first)
{
    for (uint64_t i = 0; i < BATCH; i++) {
        keys[i] = first + i;
    }
}

static void add_keys(perhaps_filter *filter, uint64_t first, uint64_t end)
{
    while (first < end) {
        size_t count = (size_t)(end - first < BATCH ? end - first : BATCH);
        fill_keys(first);
        must(perhaps_add_many(filter, keys, offsets, count, NULL, NULL));
        first += count;
    }
}

struct tally {
    uint64_t asked;
    uint64_t passed;
};

static struct tally ask_absent(const perhaps_filter *filter)
{
    struct tally tally = {0, 0};
    while (tally.asked < FEWEST_ASKED || (tally.passed < ENOUGH_PASSED && tally.asked < MOST_ASKED)) {
        fill_keys(next_absent);
        must(perhaps_might_contain_many(filter, keys, offsets, BATCH, answers, NULL));
        for (size_t i = 0; i < BATCH; i++) {
            tally.passed += answers[i];
        }
        next_absent += BATCH;
        tally.asked += BATCH;
    }
    return tally;
}

// How far the measured count lies from what the bits really set predict, in standard deviations.
static double deviation(struct tally tally, double predicted)
{
    double asked = (double)tally.asked;
    double spread = sqrt(asked * predicted * (1.0 - predicted));
    return spread > 0.0 ? ((double)tally.passed - asked * predicted) / spread : 0.0;
}

static void print_point(const perhaps_filter *filter, uint64_t added, double *worst)
{
    perhaps_statistics now = {.size = sizeof now};
    must(perhaps_stats(filter, &now));
    struct tally tally = ask_absent(filter);
    double measured = (double)tally.passed / (double)tally.asked;
    double expected = added > 0 ? perhaps__bloom_expected_fpr(added, now.bits, now.positions) : 0.0;
    double sigmas = deviation(tally, now.fpr_now);
    *worst = fmax(*worst, fabs(sigmas));
    printf("%llu %.2f %.6f %llu %llu %.6g %.3g %.6g %.6g %+.1f\n", (unsigned long long)added,
           (double)added / (double)now.capacity, now.fill, (unsigned long long)tally.asked,
           (unsigned long long)tally.passed, measured, sqrt(measured * (1.0 - measured) / (double)tally.asked),
           now.fpr_now, expected, sigmas);
    (void)fflush(stdout);
}

static void measure_filter(uint64_t capacity, double fpr)
{
    perhaps_options options = {.size = sizeof options, .capacity = capacity, .fpr = fpr};
    perhaps_filter *filter = NULL;
    must(perhaps_create(&options, &filter, NULL));
    perhaps_statistics empty = {.size = sizeof empty};
    must(perhaps_stats(filter, &empty));
    printf("# capacity %llu, target %g, m %llu, k %u\n", (unsigned long long)capacity, fpr,
           (unsigned long long)empty.bits, empty.positions);
    puts("# added added/capacity fill asked passed measured error (X/m)^k E[(X/m)^k] sigma");
    double worst = 0.0;
    uint64_t added = 0;
    for (uint64_t step = 0; step <= STEPS_TO_CAPACITY * MULTIPLES; step++) {
        uint64_t next = capacity / STEPS_TO_CAPACITY * step;
        add_keys(filter, added, next);
        added = next;
        print_point(filter, added, &worst);
    }
    printf("# largest distance from (X/m)^k: %.1f standard deviations\n\n\n", worst);
    perhaps_free(filter);
}

int main(int argc, char **argv)
{
    uint64_t capacity = argc > 1 ? (uint64_t)strtod(argv[1], NULL) : 1000000;
    if (capacity < STEPS_TO_CAPACITY) {
        (void)fprintf(stderr, "fill: a capacity of at least %d, please\n", STEPS_TO_CAPACITY);
        return 1;
    }
    for (uint64_t i = 0; i <= BATCH; i++) {
        offsets[i] = i * sizeof keys[0];
    }
    measure_filter(capacity, 0.01);
    measure_filter(capacity, 0.001);
    return 0;
}
