// SPDX-License-Identifier: MIT
// How large a filter is made: the formulas against a summation of their definition, the smallest size that keeps the
// promise, the triples (n, p, bytes), and a table of sizes that must never change by accident.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#include "sizing.h"

// E[(X/m)^k] from the whole distribution of X, the number of different bits that n*k throws hit, one throw at a time:
// a throw hits one of the x bits that are set already with probability x/m.
static double summed_fpr(uint64_t capacity, uint64_t bits, uint32_t positions)
{
    double *chance = support_allocate((size_t)(bits + 1) * sizeof *chance); // of x bits being set
    double m = (double)bits;
    uint64_t most = 0;
    chance[0] = 1.0;
    for (uint64_t i = 0; i < capacity * positions; i++) {
        most += most < bits;
        for (uint64_t x = most; x > 0; x--) {
            chance[x] = chance[x] * ((double)x / m) + chance[x - 1] * ((double)(bits - x + 1) / m);
        }
        chance[0] = 0.0;
    }
    double sum = 0.0;
    for (uint64_t x = 0; x <= most; x++) {
        sum += chance[x] * pow((double)x / m, positions);
    }
    free(chance);
    return sum;
}

static void assert_near(double value, double expected, double relative_error)
{
    if (!(fabs(value - expected) <= relative_error * expected)) {
        fail_msg("%.17g is not %.17g: relative difference %.3g", value, expected, value / expected - 1.0);
    }
}

static void test_exact_expectation(void **state)
{
    static const uint64_t capacities[] = {1, 2, 3, 10, 33, 100};
    static const uint64_t sizes[] = {512, 1024, 2048};
    static const uint32_t positions[] = {1, 2, 3, 4, 7, 10, 13, 20, 25, 30, 31};
    for (size_t i = 0; i < SUPPORT_COUNT(capacities); i++) {
        for (size_t j = 0; j < SUPPORT_COUNT(sizes); j++) {
            for (size_t l = 0; l < SUPPORT_COUNT(positions); l++) {
                double expected = summed_fpr(capacities[i], sizes[j], positions[l]);
                assert_near(perhaps__bloom_expected_fpr(capacities[i], sizes[j], positions[l]), expected, 1e-11);
            }
        }
    }
}

// The second-order formula may promise too little, never too much: it lies above the whole sum, by no more than that.
static void assert_barely_above(double formula, double sum, double relative)
{
    assert_true(formula >= sum * (1.0 - 1e-9)); // at k = 1 and 2 they are equal but for rounding
    assert_near(formula, sum, relative);
}

// Where the sum gives way to the second-order formula (n*k > 10^4) the two differ by at most 7e-6 of the value, at
// k = 30; less for smaller k. Held against the whole distribution on both sides of the step.
static void test_second_order_continues_the_sum(void **state)
{
    static const struct {
        uint32_t positions;
        double relative_error; // measured: 1e-15, 6e-8, 2e-7, 2e-6, 7e-6
    } cases[] = {{1, 1e-11}, {7, 1e-7}, {10, 4e-7}, {20, 4e-6}, {30, 1e-5}};
    for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
        uint32_t k = cases[i].positions;
        uint64_t below = 10000 / k;
        uint64_t bits = (uint64_t)((double)(below * k) / 0.6931 / PERHAPS_UNIT_BITS + 1.0) * PERHAPS_UNIT_BITS;
        assert_near(perhaps__bloom_expected_fpr(below, bits, k), summed_fpr(below, bits, k), 1e-11);
        assert_barely_above(perhaps__bloom_expected_fpr(below + 1, bits, k), summed_fpr(below + 1, bits, k),
                            cases[i].relative_error);
    }
}

// The largest relative difference is far from the ends of the range too: at a third and three times the load.
static void test_second_order_at_other_loads(void **state)
{
    static const uint64_t sizes[] = {5120, 48640};
    for (size_t i = 0; i < SUPPORT_COUNT(sizes); i++) {
        assert_barely_above(perhaps__bloom_expected_fpr(1429, sizes[i], 7), summed_fpr(1429, sizes[i], 7), 2e-7);
        assert_barely_above(perhaps__bloom_expected_fpr(334, sizes[i], 30), summed_fpr(334, sizes[i], 30), 2e-5);
    }
}

static void test_one_million_keys(void **state)
{
    perhaps_sizing sizing = support_size(1000000, 0.01, 0);
    assert_int_equal(sizing.kind, PERHAPS_KIND_BLOOM);
    assert_int_equal(sizing.positions, 7);
    assert_int_equal(sizing.bits, 9593344);
    assert_int_equal(sizing.bytes, 9593344 / 8);
    assert_int_equal(sizing.capacity, 1000000);
    assert_true(sizing.fpr == 0.01);
    assert_true(sizing.fpr_expected <= 0.01 && sizing.fpr_expected > 0.00999);
    assert_true(sizing.bits_per_key == 9.593344);
}

// Never to change by accident: another size is another file for the same options.
static void test_pinned_sizes(void **state)
{
    static const struct {
        uint64_t capacity;
        double fpr;
        uint64_t bits;
        uint32_t positions;
    } pinned[] = {
        {1, 0.5, 512, 1},
        {1, 0.01, 512, 6},
        {1, 1e-9, 512, 29},
        {10, 0.1, 512, 3},
        {57, 0.01, 1024, 6},
        {57, 1e-6, 2048, 19},
        {100, 0.5, 512, 1},
        {100, 0.01, 1024, 6},
        {100, 0.0001, 2048, 13},
        {100, 1e-9, 4608, 29},
        {1000, 0.5, 1536, 1},
        {1000, 0.25, 3072, 2},
        {1000, 0.01, 9728, 6},
        {1000, 0.001, 14848, 9},
        {1000, 1e-6, 29184, 19},
        {9973, 0.03, 73216, 5},
        {9973, 0.01, 95744, 7},
        {100000, 0.01, 959488, 7},
        {100000, 1e-9, 4313600, 30},
        {1000000, 0.5, 1442816, 1},
        {1000000, 0.1, 4808704, 3},
        {1000000, 0.001, 14377984, 10},
        {1000000, 0.0001, 19173376, 13},
        {1000000, 1e-6, 28755456, 20},
        {10000000, 0.01, 95929856, 7},
        {1000000000, 0.01, UINT64_C(9592954880), 7},
        {1000000000, 1e-9, UINT64_C(43248775168), 30},
        {UINT64_C(100000000000), 1e-6, UINT64_C(2876657013248), 20},
    };
    for (size_t i = 0; i < SUPPORT_COUNT(pinned); i++) {
        perhaps_sizing sizing = support_size(pinned[i].capacity, pinned[i].fpr, 0);
        if (sizing.bits != pinned[i].bits || sizing.positions != pinned[i].positions) {
            fail_msg("n = %llu, p = %g: %llu bits and k = %u, pinned %llu and %u", (unsigned long long)sizing.capacity,
                     sizing.fpr, (unsigned long long)sizing.bits, sizing.positions, (unsigned long long)pinned[i].bits,
                     pinned[i].positions);
        }
    }
}

static const uint64_t grid_capacities[] = {1,    2,    3,    7,    10,    47,     100,    333,
                                           1000, 1428, 1429, 5000, 10001, 123456, 1000000};
static const double grid_rates[] = {0.5, 0.3, 0.25, 0.1, 0.05, 0.01, 0.003, 1e-3, 1e-4, 1e-6, 1e-9};

// The promise is kept, and no filter of one unit less keeps it, whatever its k.
static void test_smallest_that_keeps_the_promise(void **state)
{
    for (size_t i = 0; i < SUPPORT_COUNT(grid_capacities); i++) {
        for (size_t j = 0; j < SUPPORT_COUNT(grid_rates); j++) {
            uint64_t n = grid_capacities[i];
            double p = grid_rates[j];
            perhaps_sizing sizing = support_size(n, p, 0);
            assert_int_equal(sizing.bits % PERHAPS_UNIT_BITS, 0);
            double expected = perhaps__bloom_expected_fpr(n, sizing.bits, sizing.positions) + perhaps__hash_floor(n);
            assert_true(sizing.fpr_expected == expected && expected <= p);
            assert_in_range(sizing.positions, 1, 31);
            double budget = p - perhaps__hash_floor(n);
            for (uint32_t k = 1; k <= 34 && sizing.bits > PERHAPS_UNIT_BITS; k++) {
                if (perhaps__bloom_expected_fpr(n, sizing.bits - PERHAPS_UNIT_BITS, k) <= budget) {
                    fail_msg("n = %llu, p = %g: k = %u does with one unit less than k = %u", (unsigned long long)n, p,
                             k, sizing.positions);
                }
            }
        }
    }
}

static void assert_same_size(perhaps_sizing a, perhaps_sizing b)
{
    if (a.bits != b.bits || a.positions != b.positions || a.capacity != b.capacity || a.fpr != b.fpr) {
        fail_msg("n %llu, p %.17g, m %llu, k %u became n %llu, p %.17g, m %llu, k %u", (unsigned long long)a.capacity,
                 a.fpr, (unsigned long long)a.bits, a.positions, (unsigned long long)b.capacity, b.fpr,
                 (unsigned long long)b.bits, b.positions);
    }
    assert_true(a.fpr_expected == b.fpr_expected && a.bytes == b.bytes && a.bits_per_key == b.bits_per_key);
}

// The filter that perhaps_create() makes of options is the one that perhaps_size_for() told of.
static void assert_created_alike(perhaps_sizing sizing, uint64_t capacity, double fpr, uint64_t bytes)
{
    perhaps_filter *filter =
        support_create(&SUPPORT_OPTIONS(.capacity = capacity, .fpr = fpr, .bytes = bytes, .seed = 1));
    perhaps_statistics statistics = support_stats(filter);
    assert_true(statistics.bits == sizing.bits && statistics.positions == sizing.positions);
    assert_true(statistics.capacity == sizing.capacity && statistics.fpr_target == sizing.fpr);
    perhaps_free(filter);
}

// From n and bytes comes a p that is within the bytes; with that p, n gives the same filter.
static void test_rate_from_bytes(void **state)
{
    static const double bits_per_key[] = {2.0, 3.3, 5.0, 9.6, 14.4, 20.0, 30.0, 43.0, 60.0};
    for (size_t i = 0; i < SUPPORT_COUNT(grid_capacities); i++) {
        for (size_t j = 0; j < SUPPORT_COUNT(bits_per_key); j++) {
            uint64_t n = grid_capacities[i];
            uint64_t bytes = (uint64_t)((double)n * bits_per_key[j] / 8.0) + 64;
            perhaps_sizing sizing = support_size(n, 0.0, bytes);
            assert_true(sizing.capacity == n && sizing.bytes <= bytes);
            assert_true(sizing.fpr_expected <= sizing.fpr && sizing.fpr >= 1e-9 && sizing.fpr <= 0.5);
            assert_same_size(sizing, support_size(n, sizing.fpr, 0));
            assert_created_alike(sizing, n, 0.0, bytes);
            // A promise that is smaller by a thousandth does not fit.
            if (sizing.fpr > 1.001e-9) {
                assert_true(support_size(n, sizing.fpr * 0.999, 0).bytes > bytes);
            }
        }
    }
}

// From p and bytes comes the largest n.
static void test_capacity_from_bytes(void **state)
{
    static const uint64_t sizes[] = {64, 100, 128, 1000, 65536, 1000000, 1199168, 100000000, UINT64_C(1) << 40};
    for (size_t i = 0; i < SUPPORT_COUNT(sizes); i++) {
        for (size_t j = 0; j < SUPPORT_COUNT(grid_rates); j++) {
            perhaps_sizing sizing = support_size(0, grid_rates[j], sizes[i]);
            assert_true(sizing.bytes <= sizes[i] && sizing.fpr == grid_rates[j] && sizing.capacity > 0);
            assert_same_size(sizing, support_size(sizing.capacity, grid_rates[j], 0));
            perhaps_options more = SUPPORT_OPTIONS(.capacity = sizing.capacity + 1, .fpr = grid_rates[j]);
            perhaps_sizing too_large = {.size = sizeof too_large};
            int result = perhaps_size_for(&more, &too_large, NULL);
            assert_true(result == PERHAPS_E_LIMIT || (result == PERHAPS_OK && too_large.bytes > sizes[i]));
            if (sizes[i] <= 1000000) {
                assert_created_alike(sizing, 0, grid_rates[j], sizes[i]);
            }
        }
    }
}

// n, p -> bytes; n, bytes -> p; p, bytes -> n: the same filter each time.
static void test_round_trips(void **state)
{
    for (size_t i = 0; i < SUPPORT_COUNT(grid_capacities); i++) {
        for (size_t j = 0; j < SUPPORT_COUNT(grid_rates); j++) {
            perhaps_sizing from_rate = support_size(grid_capacities[i], grid_rates[j], 0);
            perhaps_sizing from_bytes = support_size(grid_capacities[i], 0.0, from_rate.bytes);
            assert_true(from_bytes.bytes <= from_rate.bytes && from_bytes.fpr <= from_rate.fpr);
            perhaps_sizing capacity = support_size(0, from_rate.fpr, from_rate.bytes);
            assert_true(capacity.bits == from_rate.bits && capacity.capacity >= from_rate.capacity);
            // The p, and the n, that came out, put in again with the bytes that came out.
            assert_same_size(support_size(from_bytes.capacity, 0.0, from_bytes.bytes), from_bytes);
            assert_same_size(support_size(0, capacity.fpr, capacity.bytes), capacity);
        }
    }
}

static void assert_limit(perhaps_options options, const char *word)
{
    struct support_memory memory = {0};
    perhaps_allocator allocator = support_memory_allocator(&memory);
    options.size = sizeof options;
    options.allocator = &allocator;
    perhaps_filter *filter = NULL;
    perhaps_sizing sizing = {.size = sizeof sizing};
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_create(&options, &filter, &error), PERHAPS_E_LIMIT, &error);
    assert_non_null(strstr(error.text, word));
    support_assert_failed(perhaps_size_for(&options, &sizing, &error), PERHAPS_E_LIMIT, &error);
    assert_true(filter == NULL && sizing.bits == 0 && memory.calls == 0);
}

static void test_limits(void **state)
{
    assert_limit((perhaps_options){.capacity = UINT64_MAX, .fpr = 0.5}, "64-bit hash");
    assert_limit((perhaps_options){.capacity = UINT64_MAX, .fpr = 1e-9}, "64-bit hash");
    assert_limit((perhaps_options){.capacity = UINT64_C(1) << 60, .fpr = 0.5}, "more keys than any filter");
    assert_limit((perhaps_options){.capacity = UINT64_C(1) << 54, .fpr = 0.01}, "more keys than any filter");
    assert_limit((perhaps_options){.capacity = 1, .bytes = 63}, "too few");
    assert_limit((perhaps_options){.capacity = 1000000, .bytes = 64}, "too few");
    assert_limit((perhaps_options){.capacity = UINT64_MAX, .bytes = UINT64_MAX}, "too few");
    assert_limit((perhaps_options){.bytes = 63, .fpr = 0.5}, "64 bytes");
    assert_limit((perhaps_options){.bytes = 1, .fpr = 1e-9}, "64 bytes");
}

// p less n/2^64 is what sizing has; below a quarter of p it refuses. At p = 1e-9 that is from 2^64 * 2.5e-10 keys on.
static void test_hash_floor(void **state)
{
    uint64_t most = (uint64_t)(ldexp(1.0, 64) * 1e-9 / 4.0);
    perhaps_sizing sizing = support_size(most - 1, 1e-9, 0);
    assert_true(sizing.fpr_expected <= 1e-9);
    double without = perhaps__bloom_expected_fpr(sizing.capacity, sizing.bits, sizing.positions);
    assert_true(without <= 0.7501e-9 && without > 0.7499e-9);
    assert_limit((perhaps_options){.capacity = most + 1, .fpr = 1e-9}, "64-bit hash");
    assert_true(perhaps__hash_floor(UINT64_C(1) << 40) == ldexp(1.0, -24));
    // From bytes, too, no promise is made that the hash cannot keep.
    sizing = support_size(UINT64_C(1) << 34, 0.0, UINT64_C(1) << 40);
    assert_true(sizing.fpr >= 4.0 * perhaps__hash_floor(UINT64_C(1) << 34));
}

// Far beyond any memory: refused at once and cleanly, by the library's own allocator too.
static void test_beyond_memory(void **state)
{
    struct support_memory memory = {.most_at_once = UINT64_C(1) << 30};
    perhaps_allocator allocator = support_memory_allocator(&memory);
    const perhaps_options options =
        SUPPORT_OPTIONS(.capacity = UINT64_C(1) << 48, .fpr = 0.01, .allocator = &allocator);
    perhaps_options plain = options;
    plain.allocator = NULL;
    perhaps_filter *filter = NULL;
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_create(&options, &filter, &error), PERHAPS_E_MEMORY, &error);
    assert_int_equal(error.value, support_size(options.capacity, 0.01, 0).bytes);
    assert_true(support_memory_is_clean(&memory) && memory.calls > 0);
    support_assert_failed(perhaps_create(&plain, &filter, &error), PERHAPS_E_MEMORY, &error);
    assert_null(filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_expectation),
        cmocka_unit_test(test_second_order_continues_the_sum),
        cmocka_unit_test(test_second_order_at_other_loads),
        cmocka_unit_test(test_one_million_keys),
        cmocka_unit_test(test_pinned_sizes),
        cmocka_unit_test(test_smallest_that_keeps_the_promise),
        cmocka_unit_test(test_rate_from_bytes),
        cmocka_unit_test(test_capacity_from_bytes),
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_hash_floor),
        cmocka_unit_test(test_beyond_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
