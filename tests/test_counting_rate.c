// SPDX-License-Identifier: MIT
// The errors of threshold queries, "perhaps at least t times", measured against the filter's own predictions: for keys
// that were never added and for keys that are one short, in multisets that are skewed and even. Seeds and keys are
// fixed.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#include "counting.h"
#include "filter.h"

#define SIGMAS 5.0

// How often key i of n is there.
typedef uint64_t multiset(uint64_t i, uint64_t n);

// Zipf's law: the most frequent key n/2 times, key i as often divided by i, the second half once.
static uint64_t zipf(uint64_t i, uint64_t n)
{
    return (n / 2 + i) / (i + 1);
}

// One to twelve times each, more than any threshold measured.
static uint64_t even(uint64_t i, uint64_t n)
{
    (void)n;
    return i % 12 + 1;
}

static uint64_t once(uint64_t i, uint64_t n)
{
    (void)i;
    (void)n;
    return 1;
}

static uint64_t hash_of(uint64_t key)
{
    return key * UINT64_C(0x9e3779b97f4a7c15);
}

struct setting {
    double fpr;
    uint32_t width;
    uint32_t policy;
    uint64_t capacity;
    uint64_t keys;
    multiset *times;
};

static perhaps_filter *make(const struct setting *setting)
{
    perhaps_filter *filter = support_create(
        &SUPPORT_OPTIONS(.kind = PERHAPS_KIND_COUNTING, .capacity = setting->capacity, .fpr = setting->fpr, .seed = 11,
                         .counter_bits = setting->width, .policy = setting->policy));
    for (uint64_t i = 0; i < setting->keys; i++) {
        for (uint64_t j = setting->times(i, setting->keys); j > 0; j--) {
            assert_true(perhaps_add_hash(filter, hash_of(i)) >= 0);
        }
    }
    return filter;
}

// Hits among independent queries, each with probability `rate`; two more or less where so few are expected that they do
// not spread like a normal distribution.
static double allowed(uint64_t queries, double rate)
{
    double expected = (double)queries * rate;
    return SIGMAS * sqrt(expected * (1.0 - rate)) + (expected < 10.0 ? 2.0 : 0.0) + 1e-6;
}

static void assert_rate(const struct setting *setting, const char *what, uint64_t t, uint64_t hits, uint64_t queries,
                        double rate)
{
    double difference = (double)hits - (double)queries * rate;
    // What is predicted for keys one short bounds conservative filters from above.
    bool bounds = setting->policy == PERHAPS_POLICY_CONSERVATIVE && t > 1 && strcmp(what, "one short") == 0;
    if (difference > allowed(queries, rate) || (!bounds && -difference > allowed(queries, rate))) {
        fail_msg("p %g, %u bits, policy %u, %llu keys: %llu of %llu keys (%s) are perhaps there %llu times, %.2f "
                 "expected, %.2f allowed",
                 setting->fpr, setting->width, setting->policy, (unsigned long long)setting->keys,
                 (unsigned long long)hits, (unsigned long long)queries, what, (unsigned long long)t,
                 (double)queries * rate, allowed(queries, rate));
    }
}

// Questions with an answer at each threshold: times is true up to the bound.
static void note(uint64_t hits[PERHAPS_TIMES + 1], uint64_t bound)
{
    for (uint64_t t = 1; t <= PERHAPS_TIMES && t <= bound; t++) {
        hits[t]++;
    }
}

static void measure_absent(const struct setting *setting, const perhaps_filter *filter, const perhaps_statistics *s)
{
    const uint64_t queries = SUPPORT_SCALED(UINT64_C(1000000));
    uint64_t hits[PERHAPS_TIMES + 1] = {0};
    for (uint64_t i = 0; i < queries; i++) {
        note(hits, perhaps_count_at_most_hash(filter, hash_of(SUPPORT_ABSENT + i)));
    }
    for (uint64_t t = 1; t <= PERHAPS_TIMES; t++) {
        assert_rate(setting, "absent", t, hits[t], queries, s->times_fpr[t - 1]);
    }
}

static void measure_one_short(const struct setting *setting, const perhaps_filter *filter, const perhaps_statistics *s)
{
    uint64_t keys[PERHAPS_TIMES] = {0};
    uint64_t hits[PERHAPS_TIMES] = {0};
    for (uint64_t i = 0; i < setting->keys; i++) {
        uint64_t there = setting->times(i, setting->keys);
        if (there < PERHAPS_TIMES) {
            keys[there]++;
            hits[there] += (uint64_t)perhaps_might_contain_times_hash(filter, hash_of(i), there + 1);
        }
    }
    for (uint64_t there = 1; there < PERHAPS_TIMES; there++) {
        assert_rate(setting, "one short", there + 1, hits[there], keys[there], s->times_fpr_next[there]);
    }
}

static void measure(const struct setting *setting)
{
    perhaps_filter *filter = make(setting);
    perhaps_statistics s = support_stats(filter);
    assert_true(s.times_fpr[0] == s.fpr_now && s.times_fpr_next[0] == s.fpr_now);
    for (size_t t = 1; t < PERHAPS_TIMES; t++) {
        assert_true(s.times_fpr[t] <= s.times_fpr[t - 1]);
    }
    measure_absent(setting, filter, &s);
    measure_one_short(setting, filter, &s);
    perhaps_free(filter);
}

static void test_thresholds(void **state)
{
    static multiset *const multisets[] = {zipf, even, once};
    static const double rates[] = {0.25, 0.02}; // with few positions high thresholds still are met
    static const uint32_t widths[] = {4, 8, 16};
    const uint64_t n = SUPPORT_SCALED(UINT64_C(200000));
    for (size_t i = 0; i < SUPPORT_COUNT(multisets); i++) {
        for (size_t j = 0; j < SUPPORT_COUNT(rates); j++) {
            for (size_t k = 0; k < SUPPORT_COUNT(widths); k++) {
                measure(&(struct setting){rates[j], widths[k], PERHAPS_POLICY_MULTISET, n, n, multisets[i]});
            }
            measure(&(struct setting){rates[j], 4, PERHAPS_POLICY_CONSERVATIVE, n, n, multisets[i]});
            measure(&(struct setting){rates[j], 8, PERHAPS_POLICY_CONSERVATIVE, n, n, multisets[i]});
        }
        measure(&(struct setting){0.02, 4, PERHAPS_POLICY_MULTISET, n / 4, n, multisets[i]}); // far too full
        measure(&(struct setting){0.02, 4, PERHAPS_POLICY_MULTISET, n, n / 10, multisets[i]});
    }
}

// A filter with one key has no others that could confuse it.
static void test_a_single_key(void **state)
{
    perhaps_filter *filter = make(&(struct setting){0.01, 4, PERHAPS_POLICY_MULTISET, 1, 1, once});
    perhaps_statistics s = support_stats(filter);
    assert_true(s.times_fpr[0] > 0.0 && s.times_fpr[1] == 0.0);
    assert_true(s.times_fpr_next[1] < 1e-6 * s.times_fpr_next[0]);
    assert_true(s.times_fpr_next[14] == s.times_fpr_next[1] && s.times_fpr_next[15] == 1.0);
    assert_int_equal(perhaps_clear(filter), PERHAPS_OK);
    s = support_stats(filter);
    assert_true(s.times_fpr_next[0] == 0.0 && s.times_fpr_next[1] == 0.0 && s.saturation_chance == 0.0);
    perhaps_free(filter);
}

// After removals predictions hold for what is left.
static void test_after_removing(void **state)
{
    struct setting setting = {0.05, 8, PERHAPS_POLICY_MULTISET, 0, SUPPORT_SCALED(UINT64_C(100000)), even};
    setting.capacity = setting.keys;
    perhaps_filter *filter = make(&setting);
    uint64_t all = setting.keys;
    setting.keys = all / 2;
    for (uint64_t i = setting.keys; i < all; i++) {
        for (uint64_t j = even(i, all); j > 0; j--) {
            assert_int_equal(perhaps_remove_hash(filter, hash_of(i)), 1);
        }
    }
    perhaps_statistics s = support_stats(filter);
    measure_absent(&setting, filter, &s);
    measure_one_short(&setting, filter, &s);
    perhaps_free(filter);
}

// Of a filter that is only sampled: as all its counters say, up to what a sample of 2^18 lines scatters.
static void test_sampled_shares(void **state)
{
    perhaps_filter *filter = support_create(
        &SUPPORT_OPTIONS(.kind = PERHAPS_KIND_COUNTING, .bytes = (UINT64_C(40) << 20) + 1024, .fpr = 0.01));
    const uint64_t keys = SUPPORT_SCALED(UINT64_C(6000000));
    support_add_keys(filter, SUPPORT_INTEGERS, 0, keys);
    support_add_keys(filter, SUPPORT_INTEGERS, 0, keys / 4);
    perhaps_statistics s = support_stats(filter);
    uint64_t counters = filter->layers[0]->range;
    uint64_t at_least[PERHAPS_TIMES + 1] = {0};
    for (uint64_t i = 0; i < counters; i++) {
        for (unsigned value = filter->layers[0]->payload[i / 2] >> 4 * (i % 2) & 15; value > 0; value--) {
            at_least[value]++;
        }
    }
    const double sample = ldexp(128.0, 18);
    assert_true((double)counters > sample);
    assert_true(s.set_bits == at_least[1] && s.saturated == at_least[15]);
    for (uint64_t t = 1; t < 15; t++) {
        double share = (double)at_least[t] / (double)counters;
        double deviation = sqrt(share * (1.0 - share) / sample);
        double measured = pow(s.times_fpr[t - 1], 1.0 / s.positions);
        if (fabs(measured - share) > (t == 1 ? 1e-12 : SIGMAS * deviation + 3.0 / sample)) {
            fail_msg("at least %u: %.9f of the counters, %.9f expected", (unsigned)t, measured, share);
        }
    }
    perhaps_free(filter);
}

// The sample is of all parts of the filter; what is known exactly is not taken from it. The first line always is in it.
static void test_sample_is_spread(void **state)
{
    perhaps_filter *filter = support_create(
        &SUPPORT_OPTIONS(.kind = PERHAPS_KIND_COUNTING, .bytes = (UINT64_C(40) << 20) + 1024, .fpr = 0.01));
    struct perhaps__layer *layer = filter->layers[0];
    memset(layer->payload + layer->payload_size / 2, 0x22, layer->payload_size / 2);
    memset(layer->payload, 0xff, 64);
    perhaps__layer_recount(layer, &layer->tally);
    perhaps_statistics s = support_stats(filter);
    assert_true(s.saturated == 128);
    assert_true(fabs(s.fill - 0.5) < 1e-5 && fabs(pow(s.times_fpr[1], 1.0 / s.positions) - 0.5) < 1e-4);
    assert_true(s.times_fpr[14] == pow(s.saturated_share, s.positions) && s.times_fpr[15] == s.times_fpr[14]);
    perhaps_free(filter);
}

// That a counter saturates, over many filters that are filled far beyond their capacity. Larger ones than need be: the
// prediction grows with the 15th power of the fill, and the fill of small ones scatters.
static void test_saturation_chance(void **state)
{
    const uint64_t seeds = SUPPORT_SCALED(UINT64_C(1000));
    uint64_t saturated = 0;
    double predicted = 0.0;
    for (uint64_t seed = 0; seed < seeds; seed++) {
        perhaps_filter *filter = support_create(
            &SUPPORT_OPTIONS(.kind = PERHAPS_KIND_COUNTING, .capacity = 1000, .fpr = 0.01, .seed = seed));
        for (uint64_t key = 0; key < 5800; key++) { // at capacity it is about 1 in 10^14 for each counter
            assert_true(perhaps_add_hash(filter, seed * 10000 + key) >= 0);
        }
        perhaps_statistics s = support_stats(filter);
        saturated += s.saturated > 0;
        predicted += s.saturation_chance;
        perhaps_free(filter);
    }
    double rate = predicted / (double)seeds;
    assert_true(rate > 0.05 && rate < 0.5);
    if (fabs((double)saturated - predicted) > allowed(seeds, rate)) {
        fail_msg("%llu of %llu filters have a saturated counter, %.1f expected", (unsigned long long)saturated,
                 (unsigned long long)seeds, predicted);
    }
}

// Fan, Cao, Almeida and Broder (2000): with ln 2 adds a counter, 4 bits overflow (a count of 16) with a chance of at
// most 1.37e-15 m. Ours stick at 15, one less: 16/ln 2 times as likely, and a little less than the bound.
static void test_saturation_at_capacity(void **state)
{
    const uint64_t n = SUPPORT_SCALED(UINT64_C(1000000));
    perhaps_filter *filter =
        support_create(&SUPPORT_OPTIONS(.kind = PERHAPS_KIND_COUNTING, .capacity = n, .fpr = 0.01));
    support_add_keys(filter, SUPPORT_INTEGERS, 0, n);
    perhaps_statistics s = support_stats(filter);
    double chance = s.saturation_chance / (double)filter->layers[0]->range;
    assert_true(s.saturated == 0);
    assert_true(chance > 5e-16 && chance < 1.37e-15 * 16.0 / log(2.0));
    perhaps_free(filter);
    filter = support_create(
        &SUPPORT_OPTIONS(.kind = PERHAPS_KIND_COUNTING, .capacity = 100, .fpr = 0.01, .counter_bits = 16));
    support_add_keys(filter, SUPPORT_INTEGERS, 0, 30000);
    s = support_stats(filter);
    assert_true(s.fill == 1.0 && s.saturation_chance == 1.0 && isinf(s.distinct_estimate));
    assert_true(s.fpr_now == 1.0 && s.times_fpr_next[1] == 1.0);
    perhaps_free(filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_thresholds),
        cmocka_unit_test(test_a_single_key),
        cmocka_unit_test(test_after_removing),
        cmocka_unit_test(test_sampled_shares),
        cmocka_unit_test(test_sample_is_spread),
        cmocka_unit_test(test_saturation_chance),
        cmocka_unit_test(test_saturation_at_capacity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
