// SPDX-License-Identifier: MIT
// The alarm's sequential test, the interval over many guards, the window, latencies.
//
//     test_guard_alarm [scale]    more guards and queries; the long tier takes 20
#include <time.h>

#include "guard_store.h"

#include "alarm.h"
#include "latency.h"

static unsigned long scale = 1;

struct bell {
    uint64_t rings;
    perhaps_guard_alarm last;
};

static void ring(void *context, const perhaps_guard_alarm *alarm)
{
    struct bell *bell = context;
    bell->rings++;
    bell->last = *alarm;
}

static bool none_is_there(uint64_t key)
{
    (void)key;
    return false;
}

// Asks for absent keys until the alarm rings, or `most` were asked; how many that took.
static uint64_t ask_absent(perhaps_guard *guard, const struct bell *bell, uint64_t first, uint64_t most)
{
    uint64_t asked = 0;
    while (asked < most && bell->rings == 0) {
        uint64_t key = first + asked++;
        if (asks(guard, key) == 1) {
            (void)perhaps_guard_report(guard, &key, sizeof key, none_is_there(key));
        }
    }
    return asked;
}

static perhaps_guard *guard_with_bell(const perhaps_filter *filter, struct bell *bell)
{
    perhaps_guard_options options = {.size = sizeof options, .filter = filter, .context = bell, .alarm = ring};
    return guard_with(&options);
}

// A filter of p at capacity, and then with so many more keys that its rate is `times` as high.
static perhaps_filter *filter_at(double p, double times, uint64_t seed)
{
    perhaps_options options = {.size = sizeof options, .capacity = 20000, .fpr = p, .seed = seed};
    perhaps_filter *filter = NULL;
    assert_int_equal(perhaps_create(&options, &filter, NULL), 0);
    perhaps_statistics own = {.size = sizeof own};
    for (uint64_t key = UINT64_C(1) << 60;; key++) {
        assert_true(perhaps_add(filter, &key, sizeof key) >= 0);
        if (key % 64 == 0) {
            assert_int_equal(perhaps_stats(filter, &own), 0);
            if (own.fpr_now >= times * p) {
                return filter;
            }
        }
    }
}

/* ---------------------------------------------------------------- alarms */

// What guard.h says.
static double expected_delay(double p)
{
    double h = log(100 * p * 1e7 / PERHAPS__GUARD_SAMPLE);
    return PERHAPS__GUARD_SAMPLE * h / (2 * p * log(2) - (1 - 2 * p) * log((1 - p) / (1 - 2 * p)));
}

// The rate is doubled: the mean delay over guards is the one documented, within a quarter.
static void test_delay(void **state)
{
    static const double rates[] = {0.05, 0.01};
    for (size_t i = 0; i < COUNT(rates); i++) {
        double sum = 0.0;
        enum { GUARDS = 40 };
        perhaps_filter *filter = filter_at(rates[i], 2.0, 3);
        for (uint64_t guard_number = 0; guard_number < GUARDS; guard_number++) {
            struct bell bell = {.rings = 0};
            perhaps_guard *guard = guard_with_bell(filter, &bell);
            sum += (double)ask_absent(guard, &bell, guard_number << 32, UINT64_C(100000000));
            assert_int_equal(bell.rings, 1);
            assert_true(bell.last.fpr_observed > 1.4 * rates[i]);
            assert_true(bell.last.fpr_target >= rates[i] && bell.last.fpr_target <= rates[i]);
            perhaps_guard_statistics statistics = statistics_of(guard);
            assert_int_equal(statistics.alarms, 1);
            assert_int_equal(statistics.alarmed, 1);
            assert_true(statistics.alarm_level >= 1.0);
            assert_int_equal(statistics.alarm_refuted, bell.last.refuted);
            (void)ask_absent(guard, &(struct bell){.rings = 0}, 1, 100000);
            assert_int_equal(bell.rings, 1); // once for each filter
            perhaps_guard_free(guard);
        }
        print_message("p = %g: alarm after %.0f queries, documented %.0f\n", rates[i], sum / GUARDS,
                      expected_delay(rates[i]));
        assert_true(fabs(sum / GUARDS / expected_delay(rates[i]) - 1.0) < 0.25);
        perhaps_free(filter);
    }
}

// The test by itself, over simulated keys: of healthy runs of 10^7 absent queries at most 1 % ring. A simulation goes from
// one key that passes to the next, so that it is fast.
static double uniform(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return ((double)(*random >> 11) + 0.5) * 0x1p-53;
}

static bool rings_in_time(struct perhaps__guard_test *test, double p, uint64_t *random)
{
    uint64_t absent = 0;
    perhaps__guard_test_begin(test, p, 0);
    for (;;) {
        absent += (uint64_t)(log(uniform(random)) / log1p(-p));
        if (absent > 10000000 / PERHAPS__GUARD_SAMPLE) {
            return false;
        }
        if (perhaps__guard_test_refuted(test, absent, 1.0)) {
            return true;
        }
    }
}

static void test_false_alarms(void **state)
{
    static const double rates[] = {0.1, 0.01, 0.001};
    static struct perhaps__guard_test whole; // too large for the stack
    struct perhaps__guard_test *test = &whole;
    (void)pthread_mutex_init(&test->lock, NULL);
    uint64_t random = 1;
    for (size_t i = 0; i < COUNT(rates); i++) {
        uint64_t runs = (i == 0 ? 200 : 2000) * scale;
        uint64_t alarms = 0;
        for (uint64_t run = 0; run < runs; run++) {
            alarms += rings_in_time(test, rates[i], &random);
        }
        print_message("p = %g: %llu false alarms in %llu healthy runs of 10^7 queries\n", rates[i],
                      (unsigned long long)alarms, (unsigned long long)runs);
        assert_true((double)alarms <= 0.01 * (double)runs);
    }
}

static void test_healthy_guard_is_quiet(void **state)
{
    struct bell bell = {.rings = 0};
    perhaps_filter *filter = filter_at(0.02, 0.98, 7);
    perhaps_guard *guard = guard_with_bell(filter, &bell);
    uint64_t queries = 1000000 * scale;
    assert_int_equal(ask_absent(guard, &bell, 0, queries), queries);
    assert_int_equal(bell.rings, 0);
    perhaps_guard_statistics statistics = statistics_of(guard);
    assert_true(statistics.alarm_absent > queries / PERHAPS__GUARD_SAMPLE - queries / 100);
    assert_true(statistics.alarm_absent < queries / PERHAPS__GUARD_SAMPLE + queries / 100);
    assert_true(statistics.alarm_level < 1.0);
    perhaps_guard_free(guard);
    perhaps_free(filter);
}

// Absent keys that pass, and are of the sample: as hot as can be.
static void test_hot_keys_are_quiet(void **state)
{
    struct bell bell = {.rings = 0};
    perhaps_filter *filter = filter_at(0.01, 0.9, 8);
    perhaps_guard *guard = guard_with_bell(filter, &bell);
    uint64_t hot = 0;
    for (uint64_t key = 0; hot < 3; key++) {
        uint64_t hash = 0;
        assert_int_equal(perhaps_hash(filter, &key, sizeof key, &hash), 0);
        if (perhaps_might_contain_hash(filter, hash) == 1 && perhaps__guard_in_sample(hash)) {
            hot++;
            for (uint64_t i = 0; i < 1000000; i++) {
                assert_int_equal(asks(guard, key), 1);
                assert_int_equal(perhaps_guard_report(guard, &key, sizeof key, 0), 0);
            }
        }
    }
    assert_int_equal(bell.rings, 0);
    perhaps_guard_statistics statistics = statistics_of(guard);
    assert_int_equal(statistics.refuted, 3000000);
    assert_int_equal(statistics.alarm_refuted, 3);
    assert_int_equal(statistics.verdict, PERHAPS_GUARD_ABOVE_TARGET); // which the interval is taken in by
    perhaps_guard_free(guard);
    perhaps_free(filter);
}

// Half of the answers are reported: the rate, and the delay, are about the same.
static void test_half_of_the_reports(void **state)
{
    for (int doubled = 0; doubled <= 1; doubled++) {
        struct bell bell = {.rings = 0};
        perhaps_filter *filter = filter_at(0.05, doubled ? 2.0 : 0.98, 9);
        perhaps_guard *guard = guard_with_bell(filter, &bell);
        uint64_t passed_on = 0;
        for (uint64_t key = 0; key < 1000000 && bell.rings == 0; key++) {
            if (asks(guard, key) == 1 && passed_on++ % 2 == 0) {
                assert_int_equal(perhaps_guard_report(guard, &key, sizeof key, 0), 0);
            }
        }
        assert_int_equal(bell.rings, doubled);
        perhaps_guard_free(guard);
        perhaps_free(filter);
    }
}

static uint64_t random_hash(uint64_t *random)
{
    (void)uniform(random);
    (void)uniform(random);
    return (*random ^ *random >> 33) * UINT64_C(0x9e3779b97f4a7c15) / PERHAPS__GUARD_SAMPLE * PERHAPS__GUARD_SAMPLE;
}

static void test_seen_lately(void **state)
{
    static struct perhaps__guard_seen seen;
    uint64_t news = 0;
    uint64_t random = 3;
    for (uint64_t i = 0; i < 1000000; i++) {
        uint64_t hash = random_hash(&random);
        news += perhaps__guard_see(&seen, hash);
        assert_false(perhaps__guard_see(&seen, hash));
        assert_false(perhaps__guard_see(&seen, PERHAPS__GUARD_SAMPLE) && i > 0); // hot
    }
    assert_in_range(news, 999900, 1000000);
}

// What was seen within the last age counts as seen; what was not for two ages is new, also when marks come round again.
static void test_seen_long_ago(void **state)
{
    static struct perhaps__guard_seen seen;
    static const uint64_t ages[] = {0, 3, 15};
    uint64_t news[COUNT(ages)] = {0};
    uint64_t asked[COUNT(ages)] = {0};
    uint64_t seed = 1;
    for (uint64_t i = 0; i < (uint64_t)20 * PERHAPS__GUARD_SEEN; i++) {
        uint64_t random = seed + i;
        assert_true(perhaps__guard_see(&seen, random_hash(&random)));
        for (size_t j = 0; j < COUNT(ages); j++) {
            uint64_t back = ages[j] * PERHAPS__GUARD_SEEN + PERHAPS__GUARD_SEEN / 4;
            if (i % 64 == 0 && back <= i) {
                random = seed + i - back;
                asked[j]++;
                news[j] += perhaps__guard_see(&seen, random_hash(&random));
            }
        }
    }
    assert_true(news[0] <= asked[0] / 50); // whose line was full
    assert_true(news[1] == asked[1]);
    assert_true(news[2] >= asked[2] - asked[2] / 50); // who stayed for so long
}

// A line that is full gives the places of the age before away first.
static void test_a_full_line(void **state)
{
    static struct perhaps__guard_seen seen;
    const uint64_t step = UINT64_C(16) * PERHAPS__GUARD_SEEN_LINES; // to the next hash of a line
    for (uint64_t i = 1; i <= PERHAPS__GUARD_SEEN_PLACES; i++) {
        assert_true(perhaps__guard_see(&seen, i * step | i << 61));
        seen.count += i == PERHAPS__GUARD_SEEN_PLACES / 2 ? PERHAPS__GUARD_SEEN : 0;
    }
    for (uint64_t i = 1; i <= PERHAPS__GUARD_SEEN_PLACES / 2; i++) {
        assert_true(perhaps__guard_see(&seen, (8 + i) * step | (4 + i) << 61)); // beginning at a newer one
    }
    for (uint64_t i = 1; i <= PERHAPS__GUARD_SEEN_PLACES / 2; i++) {
        assert_false(perhaps__guard_see(&seen, (4 + i) * step | (4 + i) << 61));
        assert_false(perhaps__guard_see(&seen, (8 + i) * step | (4 + i) << 61));
    }
}

// Keys that were turned away count once: at once the last one of a thread, the others when the next one comes.
static void test_absent_keys_count_once(void **state)
{
    perhaps_filter *filter = filter_at(0.01, 0.9, 10);
    perhaps_guard *guard = guard_with_bell(filter, &(struct bell){.rings = 0});
    uint64_t distinct = 0;
    for (uint64_t key = 0; distinct < 100; key++) {
        uint64_t hash = 0;
        assert_int_equal(perhaps_hash(filter, &key, sizeof key, &hash), 0);
        if (perhaps_might_contain_hash(filter, hash) == 1 || !perhaps__guard_in_sample(hash)) {
            continue;
        }
        distinct++;
        for (int i = 0; i < 3; i++) {
            assert_int_equal(asks(guard, key), 0);
            assert_int_equal(statistics_of(guard).alarm_absent, distinct);
        }
    }
    for (uint64_t key = 0; key < 1000; key++) {
        (void)asks(guard, key);
    }
    assert_in_range(statistics_of(guard).alarm_absent, distinct, distinct + 1);
    perhaps_guard_free(guard);
    perhaps_free(filter);
}

// After a rebuild the test begins anew.
static void test_rebuild_on_alarm(void **state)
{
    struct rows *rows = make_rows(true);
    for (uint64_t key = 0; key < 20000; key++) {
        rows->rows[key] = 1;
    }
    perhaps_store store = store_of(rows);
    struct bell bell = {.rings = 0};
    perhaps_guard_options options = {.size = sizeof options,
                                     .adopted = shared_filter(PERHAPS_KIND_BLOOM, 10000, 0.05),
                                     .store = &store,
                                     .triggers = PERHAPS_GUARD_ON_ALARM,
                                     .context = &bell,
                                     .alarm = ring};
    perhaps_guard *guard = guard_with(&options);
    for (uint64_t key = 0; key < 20000; key++) {
        assert_in_range(perhaps_guard_add(guard, &key, sizeof key, NULL, NULL, NULL), 0, 1);
    }
    (void)ask_absent(guard, &bell, 1000000, 10000000);
    assert_int_equal(bell.rings, 1);
    assert_int_equal(perhaps_guard_rebuild_wait(guard, NULL), 0);
    perhaps_guard_statistics statistics = statistics_of(guard);
    assert_int_equal(statistics.rebuilds, 1);
    assert_int_equal(statistics.alarmed, 0);
    assert_int_equal(statistics.alarm_refuted, 0);
    assert_true(statistics.fpr_predicted < 0.05);
    assert_int_equal(missed(guard, rows), 0);
    perhaps_guard_free(guard);
    free_rows(rows);
}

/* ---------------------------------------------------------------- the interval */

// 2,000 guards, each asked for as many absent keys as give about a hundred false positives: the share of intervals that
// contain the filter's true rate. That is known, since the key family is finite: every key of it is asked once outside.
static void test_coverage(void **state)
{
    enum { GUARDS = 2000, KEYS = 5000 };
    perhaps_filter *filter = filter_at(0.02, 1.0, 11);
    perhaps_statistics own = {.size = sizeof own};
    assert_int_equal(perhaps_stats(filter, &own), 0);
    uint64_t covered = 0;
    struct bell bell = {.rings = 0};
    for (uint64_t number = 0; number < GUARDS; number++) {
        perhaps_guard *guard = guard_with_bell(filter, &bell);
        (void)ask_absent(guard, &(struct bell){.rings = 0}, number << 32, KEYS);
        perhaps_guard_statistics statistics = statistics_of(guard);
        covered += statistics.fpr_observed_low <= own.fpr_now && own.fpr_now <= statistics.fpr_observed_high;
        perhaps_guard_free(guard);
    }
    print_message("the interval contains the true rate in %.2f %% of %d guards\n", 100.0 * (double)covered / GUARDS,
                  GUARDS);
    assert_in_range(covered, GUARDS * 93 / 100, GUARDS * 97 / 100);
    perhaps_free(filter);
}

/* ---------------------------------------------------------------- the window and latencies */

static void sleep_milliseconds(long milliseconds)
{
    struct timespec time = {.tv_nsec = milliseconds * 1000000};
    (void)nanosleep(&time, NULL);
}

static void test_window(void **state)
{
    perhaps_filter *filter = shared_filter(PERHAPS_KIND_BLOOM, 1000, 0.01);
    perhaps_guard_options options = {.size = sizeof options, .filter = filter, .window_milliseconds = 40};
    perhaps_guard *guard = guard_with(&options);
    for (uint64_t key = 0; key < 1000; key++) {
        assert_int_equal(asks(guard, key), 0);
    }
    perhaps_guard_statistics statistics = statistics_of(guard);
    assert_int_equal(statistics.queries, 1000);
    for (int i = 0; i < 20; i++) { // until all that is beyond the window
        sleep_milliseconds(6);
        statistics = statistics_of(guard);
    }
    assert_int_equal(statistics.queries, 1000);
    assert_int_equal(statistics.window_queries, 0);
    assert_true(isnan(statistics.window_fpr_observed));
    assert_true(statistics.window_seconds >= 0.035);
    for (uint64_t key = 0; key < 7; key++) {
        assert_int_equal(asks(guard, key), 0);
    }
    statistics = statistics_of(guard);
    assert_int_equal(statistics.window_queries, 7);
    assert_int_equal(statistics.window_surely_absent, 7);
    assert_true(statistics.window_fpr_observed >= 0.0 && statistics.window_fpr_observed <= 0.0);
    perhaps_guard_free(guard);
    perhaps_free(filter);
}

static void test_buckets(void **state)
{
    uint32_t last = 0;
    for (uint64_t ns = 0; ns < UINT64_C(1) << 39; ns += 1 + ns / 100) {
        uint32_t bucket = perhaps__guard_bucket(ns);
        assert_in_range(bucket, last, last + 1);
        assert_true(perhaps__guard_bucket_end(bucket) >= ns);
        assert_true((double)perhaps__guard_bucket_end(bucket) <= 1.125 * (double)ns + 1);
        assert_true(bucket == 0 || perhaps__guard_bucket_end(bucket - 1) < ns);
        last = bucket;
    }
    assert_int_equal(perhaps__guard_bucket(UINT64_MAX), PERHAPS__GUARD_BUCKETS - 1);
    static struct perhaps__guard_histogram histogram;
    for (uint64_t i = 1; i <= 1000; i++) {
        perhaps__guard_took(&histogram, i);
    }
    perhaps_guard_latency latency = perhaps__guard_latency(&histogram);
    assert_int_equal(latency.count, 1000);
    assert_true(latency.p50 >= 500e-9 && latency.p50 <= 563e-9);
    assert_true(latency.p99 >= 990e-9 && latency.p99 <= 1114e-9);
    assert_true(fabs(latency.sum - 500500e-9) < 1e-12);
}

static void test_latencies_are_taken(void **state)
{
    struct rows *rows = make_rows(true);
    perhaps_guard *guard = guard_of(rows, shared_filter(PERHAPS_KIND_BLOOM, 1000, 0.01));
    add_rows(guard, rows, 0, 1000);
    for (uint64_t key = 0; key < 1000; key++) {
        assert_int_equal(perhaps_guard_contains(guard, &key, sizeof key, NULL), 1);
    }
    perhaps_guard_statistics statistics = statistics_of(guard);
    assert_int_equal(statistics.ask_latency.count, 1000 / 256);
    assert_int_equal(statistics.store_latency.count, 1000);
    assert_true(statistics.store_latency.p50 > 0.0);
    assert_true(statistics.store_latency.p99 >= statistics.store_latency.p50);
    assert_true(statistics.store_latency.sum > 0.0);
    perhaps_guard_free(guard);
    free_rows(rows);
}

int main(int argc, char **argv)
{
    scale = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delay),
        cmocka_unit_test(test_false_alarms),
        cmocka_unit_test(test_healthy_guard_is_quiet),
        cmocka_unit_test(test_hot_keys_are_quiet),
        cmocka_unit_test(test_half_of_the_reports),
        cmocka_unit_test(test_seen_lately),
        cmocka_unit_test(test_seen_long_ago),
        cmocka_unit_test(test_a_full_line),
        cmocka_unit_test(test_absent_keys_count_once),
        cmocka_unit_test(test_rebuild_on_alarm),
        cmocka_unit_test(test_coverage),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_latencies_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
