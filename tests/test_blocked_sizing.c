// SPDX-License-Identifier: MIT
// How large a blocked filter is made: the mixture against a sum of its definition, the smallest size that keeps the
// promise, which layout is taken, and the triples (n, p, bytes).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#include "sizing.h"

#define FIRST PERHAPS_BLOCK_32_4X64
#define LAST PERHAPS_BLOCK_64_8X64_TWO

static void assert_near(double value, double expected, double relative_error)
{
    if (!(fabs(value - expected) <= relative_error * expected)) {
        fail_msg("%.17g is not %.17g: relative difference %.3g", value, expected, value / expected - 1.0);
    }
}

// What docs/format.md says of the layouts, written down a second time.
struct shape {
    unsigned bytes;
    unsigned lanes;
    unsigned lane_bits;
    unsigned bits;
};
static const struct shape shapes[] = {{0}, {32, 4, 64, 1}, {32, 8, 32, 1}, {64, 8, 64, 1}, {64, 8, 64, 2}};

static void test_shapes(void **state)
{
    for (uint32_t layout = FIRST; layout <= LAST; layout++) {
        const struct perhaps__block_shape *shape = perhaps__block_shape(layout);
        assert_true(shape->bytes == shapes[layout].bytes && shape->lanes == shapes[layout].lanes);
        assert_true(shape->lane_bits == shapes[layout].lane_bits && shape->bits_per_lane == shapes[layout].bits);
        assert_int_equal(shape->lanes * shape->lane_bits, shape->bytes * 8);
    }
    assert_null(perhaps__block_shape(0));
    assert_null(perhaps__block_shape(LAST + 1));
    assert_null(perhaps__block_shape(UINT32_MAX));
}

// The probability that an absent key finds its bits of one lane set, for every number j of keys in the block up to n:
// from the whole distribution of the number of bits set, one throw at a time.
static double *lane_rates(const struct shape *shape, uint64_t n)
{
    double *rates = support_allocate((size_t)(n + 1) * sizeof *rates);
    double chance[65] = {1.0}; // of x bits being set
    double bits = shape->lane_bits;
    for (uint64_t j = 0; j <= n; j++) {
        for (unsigned x = 0; x <= shape->lane_bits; x++) {
            rates[j] += chance[x] * pow(x / bits, shape->bits);
        }
        for (unsigned i = 0; i < shape->bits; i++) {
            for (unsigned x = shape->lane_bits; x > 0; x--) {
                chance[x] = chance[x] * (x / bits) + chance[x - 1] * ((bits - x + 1) / bits);
            }
            chance[0] = 0.0;
        }
    }
    return rates;
}

// Sum over all j of P(j of n keys share a block) * P(all lanes hit), the binomial weights by way of logarithms.
static double summed_fpr(uint64_t n, uint64_t bits, uint32_t layout)
{
    const struct shape *shape = &shapes[layout];
    double blocks = (double)(bits / 8 / shape->bytes);
    double *rates = lane_rates(shape, n);
    double sum = 0.0;
    for (uint64_t j = blocks > 1.0 ? 0 : n; j <= n; j++) {
        double count = (double)j;
        double rest = (double)(n - j);
        double weight = blocks > 1.0 ? lgamma((double)n + 1.0) - lgamma(count + 1.0) - lgamma(rest + 1.0) -
                                           count * log(blocks) + rest * log1p(-1.0 / blocks)
                                     : 0.0;
        sum += exp(weight) * pow(rates[j], shape->lanes);
    }
    free(rates);
    return sum;
}

static void test_expectation(void **state)
{
    static const uint64_t capacities[] = {1, 2, 3, 10, 33, 100, 500, 3000};
    static const uint64_t units[] = {1, 2, 3, 7, 20, 61, 300};
    for (size_t i = 0; i < SUPPORT_COUNT(capacities); i++) {
        for (size_t j = 0; j < SUPPORT_COUNT(units); j++) {
            for (uint32_t layout = FIRST; layout <= LAST; layout++) {
                uint64_t n = capacities[i];
                uint64_t bits = units[j] * PERHAPS_UNIT_BITS;
                if (n / (bits / 8 / shapes[layout].bytes) <= 500) {
                    assert_near(perhaps__blocked_expected_fpr(n, bits, layout), summed_fpr(n, bits, layout), 1e-9);
                }
            }
        }
    }
}

// Beyond 500 keys in a block the answer is 1, not a number that underflow made small.
static void test_hopelessly_full(void **state)
{
    for (uint32_t layout = FIRST; layout <= LAST; layout++) {
        uint64_t blocks = 64;
        uint64_t bits = blocks * shapes[layout].bytes * 8;
        double near = perhaps__blocked_expected_fpr(blocks * 500, bits, layout);
        assert_true(near > 0.95 && near <= 1.0);
        assert_true(perhaps__blocked_expected_fpr(blocks * 501, bits, layout) == 1.0);
        assert_true(perhaps__blocked_expected_fpr(UINT64_C(1) << 60, bits, layout) == 1.0);
    }
}

// What evenly filled blocks would need is too little: the rate is then 1.05 to 12.6 times the one asked for.
static void test_uneven_blocks_cost(void **state)
{
    static const struct {
        double fpr;
        uint32_t layout;
        double times;
    } cases[] = {{0.1, 1, 1.047}, {0.01, 2, 1.463}, {0.001, 3, 1.494}, {1e-4, 4, 3.886}, {1e-6, 4, 12.6}};
    const uint64_t n = 10000000;
    for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
        double k = shapes[cases[i].layout].lanes * shapes[cases[i].layout].bits;
        double even = -k * (double)n / log1p(-pow(cases[i].fpr, 1.0 / k));
        uint64_t bits = (uint64_t)(even / PERHAPS_UNIT_BITS) * PERHAPS_UNIT_BITS;
        double times = perhaps__blocked_expected_fpr(n, bits, cases[i].layout) / cases[i].fpr;
        assert_near(times, cases[i].times, 0.01);
    }
}

// ---- sizes

static const uint64_t grid_capacities[] = {1, 2, 3, 7, 10, 47, 100, 333, 1000, 1428, 5000, 10001, 123456, 1000000};
static const double grid_rates[] = {0.25,   0.2,  0.1,   0.05, 0.03,   0.015,  0.0149, 0.01, 0.0055,
                                    0.0054, 3e-3, 0.001, 5e-4, 1.8e-4, 1.7e-4, 1e-4,   1e-5, 1e-6};

static perhaps_sizing size_of(uint64_t capacity, double fpr, uint64_t bytes)
{
    const perhaps_options options =
        SUPPORT_OPTIONS(.kind = PERHAPS_KIND_BLOCKED, .capacity = capacity, .fpr = fpr, .bytes = bytes);
    perhaps_sizing sizing = {.size = sizeof sizing};
    perhaps_error error = SUPPORT_ERROR;
    if (perhaps_size_for(&options, &sizing, &error) != PERHAPS_OK) {
        fail_msg("n = %llu, p = %g, %llu bytes: %s", (unsigned long long)capacity, fpr, (unsigned long long)bytes,
                 error.text);
    }
    return sizing;
}

static struct perhaps__size private_size(uint64_t capacity, double fpr)
{
    const struct perhaps__shape any = {0};
    struct perhaps__size size = {0};
    assert_true(perhaps__blocked_size(&any, capacity, fpr, &size));
    return size;
}

// The promise is kept, by that layout no smaller filter keeps it, and what is told is what is made.
static void test_smallest_that_keeps_the_promise(void **state)
{
    for (size_t i = 0; i < SUPPORT_COUNT(grid_capacities); i++) {
        for (size_t j = 0; j < SUPPORT_COUNT(grid_rates); j++) {
            uint64_t n = grid_capacities[i];
            double p = grid_rates[j];
            double floor_rate = perhaps__hash_floor(n);
            struct perhaps__size size = private_size(n, p);
            perhaps_sizing sizing = size_of(n, p, 0);
            assert_true(sizing.bits == size.bits && sizing.positions == size.shape.positions && sizing.fpr == p);
            assert_int_equal(sizing.kind, PERHAPS_KIND_BLOCKED);
            assert_int_equal(size.bits % PERHAPS_UNIT_BITS, 0);
            assert_int_equal(size.shape.positions, shapes[size.shape.layout].lanes * shapes[size.shape.layout].bits);
            double expected = perhaps__blocked_expected_fpr(n, size.bits, size.shape.layout) + floor_rate;
            assert_true(sizing.fpr_expected == expected && expected <= p);
            assert_true(
                size.bits == PERHAPS_UNIT_BITS ||
                perhaps__blocked_expected_fpr(n, size.bits - PERHAPS_UNIT_BITS, size.shape.layout) + floor_rate > p);
        }
    }
}

static double bits_per_key(uint32_t layout, double p)
{
    const uint64_t n = 10000000;
    uint64_t low = 0;
    uint64_t high = UINT64_C(1) << 24; // units: 858 bits for each key
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (perhaps__blocked_expected_fpr(n, middle * PERHAPS_UNIT_BITS, layout) <= p) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return (double)(high * PERHAPS_UNIT_BITS) / (double)n;
}

// Of all layouts that which needs the fewest bits, or one of 32 bytes within 5 % of it, and then the first; and all
// four have their place.
static void test_layouts(void **state)
{
    unsigned taken[LAST + 1] = {0};
    for (double p = 0.25; p >= 1e-6; p *= 0.93) {
        uint32_t layout = private_size(10000000, p).shape.layout;
        double needed[LAST + 1];
        double fewest = (double)INFINITY;
        for (uint32_t i = FIRST; i <= LAST; i++) {
            needed[i] = bits_per_key(i, p);
            fewest = fmin(fewest, needed[i]);
        }
        assert_true(needed[layout] <= fewest * (shapes[layout].bytes == 32 ? 1.0505 : 1.005));
        for (uint32_t i = FIRST; i < layout; i++) { // those that are faster are not worth it
            assert_true(needed[i] > fewest * (shapes[i].bytes == 32 ? 1.045 : 0.999));
        }
        taken[layout]++;
    }
    assert_true(taken[1] > 5 && taken[2] > 5 && taken[3] > 5 && taken[4] > 5);
    assert_int_equal(private_size(1000, 0.01).shape.layout, PERHAPS_BLOCK_32_8X32);
}

// What was asked of this kind, and of bloom beside it.
static void test_bits_per_key(void **state)
{
    static const struct {
        double fpr;
        double bloom;
        double blocked;
    } most[] = {{0.01, 9.6, 10.6}, {0.001, 14.4, 16.0}, {0.0001, 19.2, 23.2}};
    for (size_t i = 0; i < SUPPORT_COUNT(most); i++) {
        for (uint64_t n = 1000000; n <= 100000000; n *= 10) {
            assert_true(support_size(n, most[i].fpr, 0).bits_per_key <= most[i].bloom);
            assert_true(size_of(n, most[i].fpr, 0).bits_per_key <= most[i].blocked);
        }
    }
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
        {1, 0.25, 512, 4},
        {1, 1e-6, 512, 16},
        {10, 0.1, 512, 4},
        {57, 0.01, 1024, 8},
        {100, 0.25, 512, 4},
        {100, 0.0001, 2560, 16},
        {1000, 0.25, 3584, 4},
        {1000, 0.01, 10752, 8},
        {1000, 0.001, 15872, 8},
        {1000, 1e-6, 38912, 16},
        {9973, 0.03, 76800, 4},
        {100000, 0.01, 1053184, 8},
        {1000000, 0.25, 3289600, 4},
        {1000000, 0.1, 4930560, 4},
        {1000000, 0.03, 7681536, 4},
        {1000000, 0.01, 10529280, 8},
        {1000000, 0.001, 15725056, 8},
        {1000000, 0.0001, 22884864, 16},
        {1000000, 1e-6, 39014912, 16},
        {10000000, 0.01, 105292800, 8},
        {1000000000, 0.01, UINT64_C(10529233920), 8},
        {1000000000, 1e-6, UINT64_C(39015096832), 16},
        {UINT64_C(100000000000), 1e-6, UINT64_C(3903885822976), 16},
    };
    for (size_t i = 0; i < SUPPORT_COUNT(pinned); i++) {
        perhaps_sizing sizing = size_of(pinned[i].capacity, pinned[i].fpr, 0);
        if (sizing.bits != pinned[i].bits || sizing.positions != pinned[i].positions) {
            fail_msg("n = %llu, p = %g: %llu bits and k = %u", (unsigned long long)sizing.capacity, sizing.fpr,
                     (unsigned long long)sizing.bits, sizing.positions);
        }
    }
}

// ---- triples

// One more key never makes a smaller filter. (A layout chosen by what this very n needs did that.)
static void test_more_keys_are_never_less(void **state)
{
    for (size_t i = 0; i < SUPPORT_COUNT(grid_rates); i++) {
        uint64_t before = 0;
        for (uint64_t n = 1; n <= SUPPORT_SCALED(3000); n++) {
            uint64_t bits = private_size(n, grid_rates[i]).bits;
            assert_true(bits >= before);
            before = bits;
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
}

// From n and bytes the smallest p: whatever is smaller, down to the kind's limit, takes more bytes.
static void test_rate_from_bytes(void **state)
{
    static const double budgets[] = {3.4, 5.0, 8.9, 10.2, 10.6, 12.1, 15.8, 20.0, 23.0, 30.0, 39.1, 60.0};
    for (size_t i = 0; i < SUPPORT_COUNT(grid_capacities); i++) {
        for (size_t j = 0; j < SUPPORT_COUNT(budgets); j++) {
            uint64_t n = grid_capacities[i];
            uint64_t bytes = (uint64_t)((double)n * budgets[j] / 8.0) + 64;
            perhaps_sizing sizing = size_of(n, 0.0, bytes);
            assert_true(sizing.capacity == n && sizing.bytes <= bytes);
            assert_true(sizing.fpr_expected <= sizing.fpr && sizing.fpr >= 1e-6 && sizing.fpr <= 0.25);
            assert_same_size(sizing, size_of(n, sizing.fpr, 0));
            for (double p = sizing.fpr * 0.999; p > 1e-6; p *= 0.9) {
                assert_true(size_of(n, p, 0).bytes > bytes);
            }
        }
    }
}

// From p and bytes the largest n: no more keys, up to half as many again, fit.
static void test_capacity_from_bytes(void **state)
{
    static const uint64_t sizes[] = {64, 100, 128, 1000, 3000, 65536, 1199168, 100000000, UINT64_C(1) << 40};
    for (size_t i = 0; i < SUPPORT_COUNT(sizes); i++) {
        for (size_t j = 0; j < SUPPORT_COUNT(grid_rates); j++) {
            perhaps_sizing sizing = size_of(0, grid_rates[j], sizes[i]);
            assert_true(sizing.bytes <= sizes[i] && sizing.fpr == grid_rates[j] && sizing.capacity > 0);
            assert_same_size(sizing, size_of(sizing.capacity, grid_rates[j], 0));
            uint64_t n = sizing.capacity;
            for (uint64_t more = 1; more <= n / 2 + 1; more += 1 + more / 8) {
                assert_true(size_of(n + more, grid_rates[j], 0).bytes > sizes[i]);
            }
        }
    }
}

static void test_round_trips(void **state)
{
    for (size_t i = 0; i < SUPPORT_COUNT(grid_capacities); i++) {
        for (size_t j = 0; j < SUPPORT_COUNT(grid_rates); j++) {
            perhaps_sizing from_rate = size_of(grid_capacities[i], grid_rates[j], 0);
            perhaps_sizing from_bytes = size_of(grid_capacities[i], 0.0, from_rate.bytes);
            assert_true(from_bytes.bytes <= from_rate.bytes && from_bytes.fpr <= from_rate.fpr);
            perhaps_sizing capacity = size_of(0, from_rate.fpr, from_rate.bytes);
            assert_true(capacity.bits == from_rate.bits && capacity.capacity >= from_rate.capacity);
            assert_same_size(size_of(from_bytes.capacity, 0.0, from_bytes.bytes), from_bytes);
            assert_same_size(size_of(0, capacity.fpr, capacity.bytes), capacity);
            if (from_bytes.bytes < 2000000) {
                perhaps_filter *filter =
                    support_create(&SUPPORT_OPTIONS(.kind = PERHAPS_KIND_BLOCKED, .capacity = grid_capacities[i],
                                                    .bytes = from_rate.bytes));
                perhaps_statistics s = support_stats(filter);
                assert_true(s.bits == from_bytes.bits && s.positions == from_bytes.positions);
                assert_true(s.fpr_target == from_bytes.fpr && s.capacity == from_bytes.capacity);
                perhaps_free(filter);
            }
        }
    }
}

// ---- refusals

static void assert_refused(perhaps_options options, int code, const char *word)
{
    struct support_memory memory = {0};
    perhaps_allocator allocator = support_memory_allocator(&memory);
    options.size = sizeof options;
    options.allocator = &allocator;
    options.kind = options.kind != 0 ? options.kind : PERHAPS_KIND_BLOCKED;
    perhaps_filter *filter = NULL;
    perhaps_sizing sizing = {.size = sizeof sizing};
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_create(&options, &filter, &error), code, &error);
    if (strstr(error.text, word) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, word);
    }
    support_assert_failed(perhaps_size_for(&options, &sizing, &error), code, &error);
    assert_true(filter == NULL && sizing.bits == 0 && memory.calls == 0);
}

static void test_refusals_name_the_kind_that_can(void **state)
{
    static const double elsewhere[] = {0.5, 0.26, 0.9e-6, 1e-8, 1e-9};
    for (size_t i = 0; i < SUPPORT_COUNT(elsewhere); i++) {
        assert_refused((perhaps_options){.capacity = 10, .fpr = elsewhere[i]}, PERHAPS_E_OPTION, "take kind bloom");
        assert_refused((perhaps_options){.capacity = 10, .fpr = elsewhere[i]}, PERHAPS_E_OPTION, "of kind blocked");
        assert_refused((perhaps_options){.bytes = 1000, .fpr = elsewhere[i]}, PERHAPS_E_OPTION, "take kind bloom");
    }
    assert_refused((perhaps_options){.capacity = 10, .fpr = 0.6}, PERHAPS_E_OPTION, "no kind");
    assert_refused((perhaps_options){.capacity = 10, .fpr = 1e-10}, PERHAPS_E_OPTION, "no kind");
    double smallest = 0.0;
    double largest = 0.0;
    assert_int_equal(perhaps_kind_range(PERHAPS_KIND_BLOCKED, &smallest, &largest), PERHAPS_OK);
    assert_true(smallest == 1e-6 && largest == 0.25);
    assert_string_equal(perhaps_kind_name(PERHAPS_KIND_BLOCKED), "blocked");
}

static void test_limits(void **state)
{
    assert_refused((perhaps_options){.capacity = UINT64_MAX, .fpr = 0.25}, PERHAPS_E_LIMIT, "64-bit hash");
    assert_refused((perhaps_options){.capacity = UINT64_C(1) << 54, .fpr = 0.1}, PERHAPS_E_LIMIT, "more keys");
    assert_refused((perhaps_options){.capacity = 1, .bytes = 63}, PERHAPS_E_LIMIT, "too few");
    assert_refused((perhaps_options){.capacity = 1000000, .bytes = 64}, PERHAPS_E_LIMIT, "too few");
    assert_refused((perhaps_options){.capacity = 1000000, .bytes = 400000}, PERHAPS_E_LIMIT, "too few"); // 3.2 bits
    assert_refused((perhaps_options){.bytes = 63, .fpr = 0.25}, PERHAPS_E_LIMIT, "64 bytes");
}

// At p = 1e-6 the hash leaves three quarters of p to the bits of 2^64 * 2.5e-7 keys.
static void test_hash_floor(void **state)
{
    uint64_t most = (uint64_t)(ldexp(1.0, 64) * 1e-6 / 4.0);
    struct perhaps__size size = private_size(most - 1000, 1e-6);
    double without = perhaps__blocked_expected_fpr(size.capacity, size.bits, size.shape.layout);
    assert_true(size.fpr_expected <= 1e-6 && without <= 0.7501e-6 && without > 0.7499e-6);
    assert_refused((perhaps_options){.capacity = most + 1000, .fpr = 1e-6}, PERHAPS_E_LIMIT, "64-bit hash");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_expectation),
        cmocka_unit_test(test_hopelessly_full),
        cmocka_unit_test(test_uneven_blocks_cost),
        cmocka_unit_test(test_smallest_that_keeps_the_promise),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_bits_per_key),
        cmocka_unit_test(test_pinned_sizes),
        cmocka_unit_test(test_more_keys_are_never_less),
        cmocka_unit_test(test_rate_from_bytes),
        cmocka_unit_test(test_capacity_from_bytes),
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_refusals_name_the_kind_that_can),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_hash_floor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
