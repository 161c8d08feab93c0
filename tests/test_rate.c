// SPDX-License-Identifier: MIT
// The error rate that was promised, measured, and that there are no false negatives.
//
//     test_rate KIND [quick]    quick: a part of it, in seconds
//
// Seeds and keys are fixed, so that a run that passed once passes always; 5 standard deviations leave less than one
// chance in a million for each comparison to fail by accident when seeds or keys are changed.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#include "blocked.h"
#include "filter.h"

static bool quick;
static uint32_t kind;

static perhaps_filter *make_filter(uint64_t capacity, double fpr, uint64_t seed)
{
    return support_create(&SUPPORT_OPTIONS(.kind = kind, .capacity = capacity, .fpr = fpr, .seed = seed));
}

// Whether the kind promises this rate, and there is time for it.
static bool is_measured(double rate)
{
    double smallest = 1.0;
    double largest = 0.0;
    assert_int_equal(perhaps_kind_range(kind, &smallest, &largest), PERHAPS_OK);
    return rate >= smallest && rate <= largest && !(quick && rate < 1e-3);
}

#define SIGMAS 5.0

// Hits among `queries` independent ones, each with probability `rate`. Two hits more or less are allowed where so few are
// expected that they do not spread like a normal distribution.
static void assert_rate(const char *what, uint64_t hits, uint64_t queries, double rate)
{
    double expected = (double)queries * rate;
    double deviation = sqrt(expected * (1.0 - rate));
    if (fabs((double)hits - expected) > SIGMAS * deviation + (expected < 10.0 ? 2.0 : 0.0)) {
        fail_msg("%s: %llu of %llu absent keys pass, %.1f expected, standard deviation %.1f", what,
                 (unsigned long long)hits, (unsigned long long)queries, expected, deviation);
    }
}

// Counters are of several bits, and count as one when they are above zero.
static double cells(const perhaps_statistics *s)
{
    return (double)s->bits / (kind == PERHAPS_KIND_COUNTING ? s->counter_bits : 1);
}

// Variance of X, the number of bits set: that of the occupancy problem with a = n*k/m throws a bit.
static double bloom_variance(const perhaps_statistics *s, double keys)
{
    double load = keys * s->positions / cells(s);
    double empty = exp(-load);
    return cells(s) * empty * (1.0 - (1.0 + load) * empty);
}

// For blocked it is summed over pairs of bits: in one lane, in two lanes of a block, and in two blocks. A key leaves a bit
// of its own block clear with probability q, and both of a pair with q2 (one lane) or q^2 (two lanes).
static double blocked_variance(const perhaps_filter *filter, const perhaps_statistics *s, double keys)
{
    const struct perhaps__block_shape *shape = perhaps__block_shape(filter->layers[0]->shape.layout);
    double bits = (double)s->bits;
    double block_bits = 8.0 * shape->bytes;
    double blocks = bits / block_bits;
    double q = pow(1.0 - 1.0 / shape->lane_bits, shape->bits_per_lane);
    double q2 = pow(1.0 - 2.0 / shape->lane_bits, shape->bits_per_lane);
    double hit = (1.0 - q) / blocks;
    double clear = exp(keys * log1p(-hit));
    double same_lane = exp(keys * log1p(-(1.0 - q2) / blocks)) - clear * clear;
    double same_block = exp(keys * log1p(-(1.0 - q * q) / blocks)) - clear * clear;
    double other_block = clear * clear * expm1(keys * log1p(-hit * hit / ((1.0 - hit) * (1.0 - hit))));
    double variance = bits * (clear * (1.0 - clear) + (shape->lane_bits - 1.0) * same_lane +
                              (block_bits - shape->lane_bits) * same_block + (bits - block_bits) * other_block);
    return fmax(variance, 0.0); // of a single key it is none, and rounding makes it less
}

static double deviation_of_set_bits(const perhaps_filter *filter, const perhaps_statistics *s, double keys)
{
    return sqrt(kind == PERHAPS_KIND_BLOCKED ? blocked_variance(filter, s, keys) : bloom_variance(s, keys));
}

// The estimate is a function of X, so it scatters as X does: d/dX of -(m/k) ln(1 - X/m) is 1/(k (1 - X/m)).
static void assert_distinct(const perhaps_filter *filter, const perhaps_statistics *s, uint64_t keys)
{
    double deviation = deviation_of_set_bits(filter, s, (double)keys) / (s->positions * (1.0 - s->fill));
    if (!(fabs(s->distinct_estimate - (double)keys) <= SIGMAS * deviation + 1.0)) {
        fail_msg("%.1f distinct keys estimated, %llu added, standard deviation %.1f", s->distinct_estimate,
                 (unsigned long long)keys, deviation);
    }
}

static uint64_t queries_for(double rate, uint64_t least, uint64_t most)
{
    double queries = 100.0 / rate; // 100 hits: a standard deviation of 10 %
    queries = fmin(fmax(queries, (double)least), (double)most);
    return SUPPORT_SCALED((uint64_t)queries);
}

// Of one filter that holds `keys` keys: what it answers is what it predicts, and estimates hold.
static void measure(const perhaps_filter *filter, enum support_family family, uint64_t keys, uint64_t most)
{
    perhaps_statistics s = support_stats(filter);
    uint64_t queries = queries_for(s.fpr_now, 100000, most);
    uint64_t hits = support_count_present(filter, family, SUPPORT_ABSENT, queries);
    assert_rate(support_family_name(family), hits, queries, s.fpr_now);
    assert_distinct(filter, &s, keys);
}

// How much the rate of a filter scatters around its expectation, relative to it: k times as much as X does.
static double bloom_scatter(const perhaps_statistics *s, double keys)
{
    return s->positions * sqrt(bloom_variance(s, keys)) / (double)s->set_bits;
}

// In a blocked filter it is a mean over blocks, and scatters as they do.
static double blocked_scatter(const perhaps_filter *filter)
{
    const struct perhaps__block_shape *shape = perhaps__block_shape(filter->layers[0]->shape.layout);
    uint64_t blocks = filter->layers[0]->payload_size / shape->bytes;
    double sum = 0.0;
    double squares = 0.0;
    for (uint64_t i = 0; i < blocks; i++) {
        uint8_t *block = filter->layers[0]->payload + i * shape->bytes;
        struct perhaps__blocked one = {.bytes = block, .count = 1, .layout = filter->layers[0]->shape.layout};
        double rate = perhaps__blocked_fill(&one).fpr;
        sum += rate;
        squares += rate * rate;
    }
    double mean = sum / (double)blocks;
    return sqrt((squares / (double)blocks - mean * mean) / (double)blocks) / mean;
}

static void assert_promise(const perhaps_filter *filter, double rate, uint64_t keys)
{
    perhaps_statistics s = support_stats(filter);
    double scatter = kind == PERHAPS_KIND_BLOCKED ? blocked_scatter(filter) : bloom_scatter(&s, (double)keys);
    assert_true(s.fpr_now <= rate * (1.0 + SIGMAS * scatter));
    assert_true(s.fpr_now >= 0.99 * rate * (1.0 - SIGMAS * scatter)); // and memory is not wasted
}

static const double all_rates[] = {0.5, 0.25, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6};

static void test_at_capacity(void **state)
{
    const uint64_t n = 1000000;
    for (size_t i = 0; i < SUPPORT_COUNT(all_rates); i++) {
        if (!is_measured(all_rates[i])) {
            continue;
        }
        perhaps_filter *filter = make_filter(n, all_rates[i], 100 + i);
        support_add_keys(filter, SUPPORT_INTEGERS, 0, n);
        measure(filter, SUPPORT_INTEGERS, n, 100000000);
        assert_promise(filter, all_rates[i], n);
        assert_int_equal(support_count_present(filter, SUPPORT_INTEGERS, 0, n), n);
        perhaps_free(filter);
    }
}

// Beside the promise the exact expectation: the mean over seeds must be that, up to what is left to chance.
static void assert_mean(const perhaps_sizing *sizing, const double *rates, uint64_t seeds, uint64_t queries)
{
    double sum = 0.0;
    double squares = 0.0;
    for (uint64_t i = 0; i < seeds; i++) {
        sum += rates[i];
        squares += rates[i] * rates[i];
    }
    double mean = sum / (double)seeds;
    double measured = (squares / (double)seeds - mean * mean) / (double)seeds;
    double expected = sizing->fpr_expected; // test_sizing.c holds it against the definition
    // Where hits are rare, the variance of the sample is too rough; then it is the binomial one.
    double deviation = sqrt(fmax(measured, expected * (1.0 - expected) / (double)(seeds * queries)));
    double least = 1.0 / (double)(seeds * queries); // a single hit
    if (mean > sizing->fpr + SIGMAS * deviation + least || fabs(mean - expected) > SIGMAS * deviation + 5.0 * least) {
        fail_msg("n = %llu, p = %g: mean %.4g over %llu seeds, expected %.4g, standard deviation %.2g",
                 (unsigned long long)sizing->capacity, sizing->fpr, mean, (unsigned long long)seeds, expected,
                 deviation);
    }
}

static void measure_small(uint64_t n, double p, uint64_t seeds, uint64_t queries)
{
    perhaps_sizing sizing = {.size = sizeof sizing};
    const perhaps_options options = SUPPORT_OPTIONS(.kind = kind, .capacity = n, .fpr = p);
    assert_int_equal(perhaps_size_for(&options, &sizing, NULL), PERHAPS_OK);
    double *rates = support_allocate((size_t)seeds * sizeof *rates);
    for (uint64_t seed = 0; seed < seeds; seed++) {
        perhaps_filter *filter = make_filter(n, p, seed);
        support_add_keys(filter, SUPPORT_INTEGERS, seed * n, n);
        uint64_t hits = support_count_present(filter, SUPPORT_INTEGERS, SUPPORT_ABSENT, queries);
        rates[seed] = (double)hits / (double)queries;
        perhaps_free(filter);
    }
    assert_mean(&sizing, rates, seeds, queries);
    free(rates);
}

static void test_small_filters(void **state)
{
    static const uint64_t capacities[] = {1, 10, 100, 1000};
    for (size_t i = 0; i < SUPPORT_COUNT(capacities); i++) {
        for (size_t j = 0; j < SUPPORT_COUNT(all_rates); j++) {
            if (!is_measured(all_rates[j])) {
                continue;
            }
            // At least 100 hits in all, as far as the filter's real expectation allows.
            uint64_t queries = (uint64_t)fmin(fmax(2000.0, 0.1 / all_rates[j]), 100000.0);
            measure_small(capacities[i], all_rates[j], 1000, queries > 2000 ? SUPPORT_SCALED(queries) : queries);
        }
    }
}

// At half the capacity, at it, and at two and four times as many keys, with another family of keys for every rate.
static void test_around_capacity(void **state)
{
    const uint64_t n = quick ? 100000 : SUPPORT_SCALED(1000000);
    for (size_t i = 0; i < SUPPORT_COUNT(all_rates); i++) {
        if (!is_measured(all_rates[i])) {
            continue;
        }
        enum support_family family = (enum support_family)(i % SUPPORT_FAMILIES);
        perhaps_filter *filter = make_filter(n, all_rates[i], i);
        uint64_t added = 0;
        for (uint64_t target = n / 2; target <= 4 * n; target *= 2) {
            support_add_keys(filter, family, added, target - added);
            added = target;
            measure(filter, family, added, quick ? 1000000 : 10000000);
            assert_int_equal(support_count_present(filter, family, 0, added), added);
        }
        // Four times the capacity, and it says so.
        assert_true(support_stats(filter).fpr_now > (all_rates[i] < 0.2 ? 5.0 : 1.5) * all_rates[i]);
        perhaps_free(filter);
    }
}

static void test_families(void **state)
{
    const uint64_t n = 100000;
    for (enum support_family family = 0; family < SUPPORT_FAMILIES; family++) {
        for (size_t i = 0; i < 2; i++) {
            perhaps_filter *filter = make_filter(n, i == 0 ? 0.02 : 1e-4, family);
            support_add_keys(filter, family, 0, n);
            measure(filter, family, n, quick ? 300000 : 5000000);
            perhaps_free(filter);
        }
    }
}

// Keys that were added twice, or that are false positives, are no reason to count more.
static void test_repeated_keys_do_not_count(void **state)
{
    const uint64_t n = 50000;
    perhaps_filter *filter = make_filter(n, 0.01, 9);
    for (int i = 0; i < 3; i++) {
        support_add_keys(filter, SUPPORT_WORDS, 0, n);
    }
    perhaps_statistics s = support_stats(filter);
    assert_distinct(filter, &s, n);
    assert_in_range(s.adds, n - n / 200, n);
    perhaps_free(filter);
}

// The mean of the estimate over many small filters is the number of keys: it is not biased by more than chance.
static void test_distinct_estimate_of_small_filters(void **state)
{
    static const uint64_t keys[] = {1, 10, 100, 300};
    const uint64_t seeds = 2000;
    const uint64_t bytes = kind == PERHAPS_KIND_COUNTING ? 4 * 192 : 192;
    for (size_t i = 0; i < SUPPORT_COUNT(keys); i++) {
        double sum = 0.0;
        double deviation = 0.0;
        for (uint64_t seed = 0; seed < seeds; seed++) {
            perhaps_filter *filter =
                support_create(&SUPPORT_OPTIONS(.kind = kind, .capacity = 100, .bytes = bytes, .seed = seed));
            support_add_keys(filter, SUPPORT_UUIDS, seed * 1000, keys[i]);
            perhaps_statistics s = support_stats(filter);
            sum += s.distinct_estimate;
            deviation = deviation_of_set_bits(filter, &s, (double)keys[i]) / (s.positions * (1.0 - s.fill));
            perhaps_free(filter);
        }
        // The estimator itself is off by a few thousandths at this size, and because it is convex in X.
        double allowed = SIGMAS * deviation / sqrt((double)seeds) + 0.005 * (double)keys[i] + 0.01;
        double mean = sum / (double)seeds;
        if (!(fabs(mean - (double)keys[i]) <= allowed)) {
            fail_msg("%llu keys, %.3f estimated, %.3f allowed", (unsigned long long)keys[i], mean, allowed);
        }
    }
}

// Ten million keys of the five families in one filter, asked as added, and from its encoded form.
static void test_no_false_negative(void **state)
{
    const uint64_t each = SUPPORT_SCALED(quick ? UINT64_C(100000) : UINT64_C(2000000));
    perhaps_filter *filter = make_filter(5 * each, 0.01, 2026);
    for (enum support_family family = SUPPORT_DECIMALS; family < SUPPORT_FAMILIES; family++) {
        support_add_keys(filter, family, 0, each);
    }
    struct support_bytes bytes = support_encode(filter);
    perhaps_filter *copy = support_decode(bytes.data, bytes.size);
    for (enum support_family family = SUPPORT_DECIMALS; family < SUPPORT_FAMILIES; family++) {
        assert_int_equal(support_count_present(filter, family, 0, each), each);
        assert_int_equal(support_count_present(copy, family, 0, each), each);
    }
    free(bytes.data);
    perhaps_free(copy);
    perhaps_free(filter);
}

int main(int argc, char **argv)
{
    quick = argc > 2 && strcmp(argv[2], "quick") == 0;
    for (kind = 1; perhaps_kind_name(kind) != NULL && argc > 1; kind++) {
        if (strcmp(perhaps_kind_name(kind), argv[1]) == 0) {
            break;
        }
    }
    if (argc < 2 || perhaps_kind_name(kind) == NULL) {
        (void)fprintf(stderr, "usage: test_rate KIND [quick]\n");
        return 2;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_at_capacity),
        cmocka_unit_test(test_small_filters),
        cmocka_unit_test(test_around_capacity),
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_repeated_keys_do_not_count),
        cmocka_unit_test(test_distinct_estimate_of_small_filters),
        cmocka_unit_test(test_no_false_negative),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
