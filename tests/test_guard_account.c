// SPDX-License-Identifier: MIT
// The guard's account: the rates and the verdict that follow from its counts.
#include "guard_helpers.h"

static void test_nothing_known_yet(void **state)
{
    perhaps_guard *guard = make_guard(NULL);
    for (int round = 0; round < 3; round++) {
        perhaps_guard_statistics statistics = stats_of(guard);
        assert_true(isnan(statistics.fpr_observed));
        assert_exactly(statistics.fpr_observed_low, 0);
        assert_exactly(statistics.fpr_observed_high, 1);
        assert_int_equal(statistics.verdict, PERHAPS_GUARD_HEALTHY);
        if (round == 0) {
            ask_present(guard, 100); // present keys say nothing about absent ones,
        } else {
            report(guard, 100 * (uint64_t)(round == 1), 1); // not even when confirmed
        }
    }
    assert_counts(guard, 0, 100, 0, 0);
    perhaps_guard_free(guard);
}

static void test_observed_rate(void **state)
{
    perhaps_guard *guard = make_guard(NULL);
    ask_absent(guard, 90, 0);
    perhaps_guard_statistics statistics = stats_of(guard);
    assert_exactly(statistics.fpr_observed, 0); // nothing passed on: every absent key counts
    assert_exactly(statistics.fpr_observed_low, 0);
    ask_absent(guard, 10, 1);
    ask_present(guard, 1000);
    report(guard, 10, 0);
    report(guard, 1000, 1);
    statistics = stats_of(guard);
    assert_exactly(statistics.fpr_observed, 0.1); // whatever the share of present keys
    // Wilson's interval for 10 of 100 at 95 %, to 25 digits: see test_interval.c.
    assert_true(fabs(statistics.fpr_observed_low - 0.05522913706067507511608) < 1e-15);
    assert_true(fabs(statistics.fpr_observed_high - 0.1743656615049134626197) < 1e-15);
    perhaps_guard_free(guard);
}

// Who reports half of the answers must not see half the rate.
static void test_unresolved_questions_bias_no_rate(void **state)
{
    perhaps_guard *guard = make_guard(NULL);
    ask_absent(guard, 900, 0);
    ask_absent(guard, 100, 1);
    ask_present(guard, 100);
    report(guard, 50, 0);
    report(guard, 50, 1);
    assert_counts(guard, 900, 50, 50, 100);
    perhaps_guard_statistics half = stats_of(guard);
    assert_exactly(half.fpr_observed, 0.1);
    report(guard, 50, 0);
    report(guard, 50, 1);
    perhaps_guard_statistics all = stats_of(guard);
    assert_exactly(all.fpr_observed, 0.1);
    // And what is not known makes the interval wider.
    assert_true(half.fpr_observed_low < all.fpr_observed_low);
    assert_true(half.fpr_observed_high > all.fpr_observed_high);
    perhaps_guard_free(guard);
}

// At capacity, with 200,000 absent keys that never repeat, at the highest confidence: the prediction from the
// fill must lie in the interval. The seed is fixed, so this is no matter of luck.
static void test_observed_meets_predicted(void **state)
{
    perhaps_guard_options options = {.size = sizeof options, .filter = filter, .confidence = 0.999};
    perhaps_guard *guard = NULL;
    assert_int_equal(perhaps_guard_create(&options, &guard, NULL), 0);
    for (uint64_t key = CAPACITY; key < CAPACITY + 200000; key++) {
        if (perhaps_guard_ask(guard, &key, sizeof key) == 1) {
            assert_int_equal(perhaps_guard_report(guard, &key, sizeof key, 0), 0);
        }
    }
    perhaps_guard_statistics statistics = stats_of(guard);
    perhaps_statistics own = {.size = sizeof own};
    assert_int_equal(perhaps_stats(filter, &own), 0);
    assert_exactly(statistics.fpr_predicted, own.fpr_now);
    assert_exactly(statistics.fpr_target, FPR);
    assert_true(statistics.fpr_observed_low <= own.fpr_now && own.fpr_now <= statistics.fpr_observed_high);
    assert_true(statistics.fpr_observed_high - statistics.fpr_observed_low < 0.005);
    perhaps_guard_free(guard);
}

static void test_above_target(void **state)
{
    perhaps_guard *guard = make_guard(NULL);
    ask_absent(guard, 900, 0);
    ask_present(guard, 100); // which the store, as reported, does not have
    uint64_t reported = 0;
    for (; stats_of(guard).verdict == PERHAPS_GUARD_HEALTHY; reported++) {
        report(guard, 1, 0);
    }
    perhaps_guard_statistics statistics = stats_of(guard);
    assert_int_equal(statistics.verdict, PERHAPS_GUARD_ABOVE_TARGET);
    assert_true(statistics.fpr_observed_low > FPR);
    assert_true(statistics.fpr_predicted < 2 * FPR);
    assert_in_range(reported, 2, 100);
    perhaps_guard_free(guard);
}

// Fill alone decides, before anyone asks, and over everything that was observed.
static void test_saturated(void **state)
{
    perhaps_guard *guard = make_guard(NULL);
    assert_int_equal(stats_of(guard).verdict, PERHAPS_GUARD_HEALTHY);
    ask_present(guard, 100);
    report(guard, 100, 0);
    assert_int_equal(stats_of(guard).verdict, PERHAPS_GUARD_ABOVE_TARGET);
    perhaps_guard_statistics statistics = stats_of(guard);
    for (uint64_t key = CAPACITY; statistics.verdict != PERHAPS_GUARD_SATURATED; key++) {
        assert_true(statistics.fpr_predicted <= 2 * FPR);
        assert_true(perhaps_add(filter, &key, sizeof key) >= 0);
        statistics = stats_of(guard);
    }
    assert_true(statistics.fpr_predicted > 2 * FPR);
    assert_counts(guard, 0, 0, 100, 0);
    perhaps_guard_free(guard);
}

static void test_statistics_sizes(void **state)
{
    perhaps_guard *guard = make_guard(NULL);
    ask_present(guard, 3);
    struct {
        perhaps_guard_statistics known;
        char later[8];
    } statistics;
    memset(&statistics, 0x5a, sizeof statistics);
    static const size_t refused_sizes[] = {0, sizeof(size_t) - 1, sizeof statistics.known + 1, sizeof statistics};
    for (size_t i = 0; i < COUNT(refused_sizes); i++) {
        statistics.known.size = refused_sizes[i];
        assert_int_equal(perhaps_guard_stats(guard, &statistics.known), PERHAPS_E_OPTION);
        assert_int_equal(statistics.known.size, refused_sizes[i]);
        assert_int_equal(statistics.known.queries, 0x5a5a5a5a5a5a5a5a);
    }
    statistics.known.size = offsetof(perhaps_guard_statistics, surely_absent);
    assert_int_equal(perhaps_guard_stats(guard, &statistics.known), 0);
    assert_int_equal(statistics.known.size, offsetof(perhaps_guard_statistics, surely_absent));
    assert_int_equal(statistics.known.queries, 3);
    assert_int_equal(statistics.known.surely_absent, 0x5a5a5a5a5a5a5a5a);
    assert_int_equal(perhaps_guard_stats(NULL, &statistics.known), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_guard_stats(guard, NULL), PERHAPS_E_ARGUMENT);
    perhaps_guard_free(guard);
}

static void test_verdict_names(void **state)
{
    assert_string_equal(perhaps_guard_verdict_name(PERHAPS_GUARD_HEALTHY), "healthy");
    assert_string_equal(perhaps_guard_verdict_name(PERHAPS_GUARD_ABOVE_TARGET), "above target");
    assert_string_equal(perhaps_guard_verdict_name(PERHAPS_GUARD_SATURATED), "saturated");
    assert_string_equal(perhaps_guard_verdict_name(PERHAPS_GUARD_DEGRADED), "degraded");
    assert_null(perhaps_guard_verdict_name(4));
    assert_null(perhaps_guard_verdict_name(UINT32_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_known_yet),        TEST(test_observed_rate), TEST(test_unresolved_questions_bias_no_rate),
        TEST(test_observed_meets_predicted), TEST(test_above_target),  TEST(test_saturated),
        TEST(test_statistics_sizes),         TEST(test_verdict_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
