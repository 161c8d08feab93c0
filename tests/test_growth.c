// SPDX-License-Identifier: MIT
// Filters that grow by layers, and filters that refuse at capacity. Everything is run for each kind that can.
//
//     test_growth [keys]    how far filters grow that are looked at at every power of ten, 1,000 and more
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sizing.h"
#include "support.h"

static perhaps_options growing(uint32_t kind, uint64_t capacity, double fpr)
{
    return SUPPORT_OPTIONS(.kind = kind, .capacity = capacity, .fpr = fpr, .at_capacity = PERHAPS_AT_CAPACITY_GROW);
}

static bool can_grow(uint32_t kind)
{
    perhaps_options options = growing(kind, 100, 0.01);
    perhaps_sizing sizing = {.size = sizeof sizing};
    return perhaps_size_for(&options, &sizing, NULL) == PERHAPS_OK;
}

#define FOR_EACH_KIND_THAT_GROWS(kind)                                                                                 \
    for (uint32_t kind = 1; perhaps_kind_name(kind) != NULL; kind++)                                                   \
        if (can_grow(kind))

// ---- the plan

static double sum_of_budgets(const struct perhaps__growth *growth, uint64_t *capacity, uint32_t *layers)
{
    double sum = 0.0;
    uint64_t before = 0;
    uint64_t one;
    double fpr;
    *capacity = 0;
    for (*layers = 0; perhaps__growth_layer(growth, *layers, &one, &fpr); ++*layers) {
        assert_true(fpr >= growth->smallest_fpr && fpr <= growth->fpr);
        assert_true(one > before); // a layer is known by it
        before = one;
        *capacity += one;
        sum += fpr;
    }
    return sum;
}

static void test_budgets_stay_within_the_rate(void **state)
{
    static const double rates[] = {0.25, 0.01, 1e-4};
    static const uint32_t factors[] = {2, 4, 8};
    static const double smallest[] = {1e-9, 1e-6, 4e-9};
    for (size_t i = 0; i < 27; i++) {
        struct perhaps__growth growth = {
            .capacity = 1000, .fpr = rates[i % 3], .factor = factors[i / 3 % 3], .smallest_fpr = smallest[i / 9]};
        uint64_t capacity;
        uint32_t layers;
        double sum = sum_of_budgets(&growth, &capacity, &layers);
        assert_true(sum < growth.fpr && layers >= 4);
        static const uint64_t most[] = {1000, 1001, 2000, 3000, 50000, 10000000, UINT64_C(3000000000)};
        for (size_t j = 0; j < SUPPORT_COUNT(most); j++) {
            growth.max_capacity = most[j];
            sum = sum_of_budgets(&growth, &capacity, &layers);
            if (layers > 0) { // otherwise it is refused: more layers than the rate can be shared out among
                assert_int_equal(capacity, most[j]);
                assert_true(sum <= growth.fpr * (1.0 + 1e-12) && sum > growth.fpr * 0.999);
            }
            assert_true(layers > 0 || growth.smallest_fpr * 5 > growth.fpr);
        }
    }
}

// The older, smaller layers are the stricter ones, and capacities rise.
static void test_planned_layers_rise(void **state)
{
    struct perhaps__growth growth = {
        .capacity = 1000, .fpr = 0.01, .factor = 2, .smallest_fpr = 1e-6, .max_capacity = 10000000};
    uint64_t before = 0;
    double fpr_before = 0.0;
    uint64_t capacity;
    double fpr;
    for (uint32_t i = 0; perhaps__growth_layer(&growth, i, &capacity, &fpr); i++) {
        assert_true(capacity > before && fpr >= fpr_before);
        before = capacity;
        fpr_before = fpr;
    }
    assert_true(fpr > 0.004); // the largest layer keeps about half of the rate
}

static void test_natural_layers(void **state)
{
    const struct perhaps__growth growth = {.capacity = 7, .fpr = 0.02, .factor = 8, .smallest_fpr = 1e-9};
    uint64_t capacity;
    double fpr;
    assert_true(perhaps__growth_layer(&growth, 0, &capacity, &fpr) && capacity == 7 && fpr == 0.02 * (0.25 + 0.5 / 32));
    assert_true(perhaps__growth_layer(&growth, 3, &capacity, &fpr) && capacity == 3584 &&
                fpr == 0.02 * (0.025 + 0.5 / 32));
    assert_false(perhaps__growth_layer(&growth, 22, &capacity, &fpr)); // 7 * 8^22 > 2^64
    assert_false(perhaps__growth_layer(&growth, PERHAPS_LAYERS_MAX, &capacity, &fpr));
}

// ---- growing

// The share of keys that were never added which the filter lets through.
static double measured_fpr(const perhaps_filter *filter, uint64_t queries)
{
    return (double)support_count_present(filter, SUPPORT_INTEGERS, SUPPORT_ABSENT, queries) / (double)queries;
}

// Filled to 20 times its capacity, checked at every doubling.
static void grow_and_check(perhaps_options options, uint64_t keys, double most_memory)
{
    perhaps_filter *filter = support_create(&options);
    uint64_t done = 0;
    for (uint64_t target = options.capacity; done < keys; target = target * 2 < keys ? target * 2 : keys) {
        support_add_keys(filter, SUPPORT_INTEGERS, done, target - done);
        done = target;
        assert_int_equal(support_count_present(filter, SUPPORT_INTEGERS, 0, done), done);
        perhaps_statistics s = support_stats(filter);
        assert_true(s.fpr_bound <= options.fpr && s.fpr_target == options.fpr);
        assert_true(s.capacity_now >= s.adds && s.adds <= done);
        uint64_t queries = 200000;
        double deviation = sqrt(options.fpr * (double)queries) / (double)queries;
        assert_true(measured_fpr(filter, queries) <= options.fpr + 5.0 * deviation);
        assert_true(fabs(measured_fpr(filter, queries) - s.fpr_now) <= 5.0 * deviation);
        assert_true(fabs(s.distinct_estimate / (double)done - 1.0) < 0.05);
    }
    perhaps_statistics s = support_stats(filter);
    options.at_capacity = PERHAPS_AT_CAPACITY_GO_ON;
    options.growth = 0;
    options.max_capacity = 0;
    options.capacity = keys;
    perhaps_sizing right = {.size = sizeof right};
    assert_int_equal(perhaps_size_for(&options, &right, NULL), PERHAPS_OK);
    assert_true((double)s.bytes <= most_memory * (double)right.bytes);
    perhaps_free(filter);
}

// ---- powers of ten

// The most memory beside a filter sized right, at the largest number of keys; docs/decisions.md has what was measured.
static double most_memory(uint32_t kind, bool planned)
{
    return planned ? 2.2 : kind == PERHAPS_KIND_CUCKOO ? 3.0 : 3.6;
}

static double memory_beside_one_sized_right(const perhaps_filter *filter, perhaps_options options, uint64_t keys)
{
    options.at_capacity = PERHAPS_AT_CAPACITY_GO_ON;
    options.growth = 0;
    options.max_capacity = 0;
    options.capacity = keys;
    perhaps_sizing right = {.size = sizeof right};
    assert_int_equal(perhaps_size_for(&options, &right, NULL), PERHAPS_OK);
    return (double)support_stats(filter).bytes / (double)right.bytes;
}

static void grow_by_powers_of_ten(perhaps_options options, uint64_t keys)
{
    const uint64_t queries = 1000000;
    perhaps_filter *filter = support_create(&options);
    double memory = 0.0;
    for (uint64_t done = 0, target = options.capacity; done < keys; done = target, target *= 10) {
        support_add_keys(filter, SUPPORT_INTEGERS, done, target - done);
        assert_int_equal(support_count_present(filter, SUPPORT_INTEGERS, 0, target), target);
        double rate = measured_fpr(filter, queries);
        assert_true(rate <= options.fpr); // keys are fixed: what passed once passes always
        memory = memory_beside_one_sized_right(filter, options, target);
        print_message("%-8s %-9s %8llu keys: %2u layers, FPR %.5f, memory %.2f\n", perhaps_kind_name(options.kind),
                      options.max_capacity != 0 ? "planned" : "unplanned", (unsigned long long)target,
                      support_stats(filter).layers, rate, memory);
    }
    assert_true(memory <= most_memory(options.kind, options.max_capacity != 0));
    perhaps_free(filter);
}

static uint64_t most_keys = 100000;

static void test_powers_of_ten(void **state)
{
    FOR_EACH_KIND_THAT_GROWS(kind)
    {
        for (unsigned planned = 0; planned < 2; planned++) {
            perhaps_options options = growing(kind, 1000, 0.01);
            options.max_capacity = planned != 0 ? most_keys : 0;
            grow_by_powers_of_ten(options, most_keys);
            if (kind == PERHAPS_KIND_CUCKOO) {
                options.policy = PERHAPS_POLICY_MULTISET;
                grow_by_powers_of_ten(options, most_keys);
            }
        }
    }
}

static void test_growing_keeps_the_rate(void **state)
{
    FOR_EACH_KIND_THAT_GROWS(kind)
    {
        for (uint32_t factor = 2; factor <= 8; factor *= 2) {
            perhaps_options options = growing(kind, 1000, 0.01);
            options.growth = factor;
            grow_and_check(options, SUPPORT_SCALED(200000), 40.0);
            options.max_capacity = 1000000;
            grow_and_check(options, SUPPORT_SCALED(200000), 40.0);
        }
    }
}

// Every add that is answered is remembered when the batch is cut anywhere, and batches do what single adds do.
static void test_batches_and_single_adds_make_the_same_filter(void **state)
{
    enum { KEYS = 3000 };
    uint64_t *hashes = support_allocate(KEYS * sizeof *hashes);
    uint8_t *out = support_allocate(KEYS);
    uint64_t random = 5;
    for (size_t i = 0; i < KEYS; i++) {
        hashes[i] = support_random(&random) % 2000; // with repetitions
    }
    FOR_EACH_KIND_THAT_GROWS(kind)
    {
        perhaps_options options = growing(kind, 50, 0.01);
        perhaps_filter *single = support_create(&options);
        perhaps_filter *batch = support_create(&options);
        size_t done = 0;
        assert_int_equal(perhaps_add_many_hash(batch, hashes, KEYS, out, &done), PERHAPS_OK);
        assert_int_equal(done, KEYS);
        for (size_t i = 0; i < KEYS; i++) {
            assert_int_equal(perhaps_add_hash(single, hashes[i]), out[i]);
        }
        support_assert_same(single, batch);
        assert_true(support_stats(single).layers > 3);
        perhaps_free(single);
        perhaps_free(batch);
    }
    free(hashes);
    free(out);
}

static void test_many_adds_of_few_keys_do_not_grow(void **state)
{
    FOR_EACH_KIND_THAT_GROWS(kind)
    {
        perhaps_options options = growing(kind, 1000, 0.01);
        perhaps_filter *filter = support_create(&options);
        for (unsigned round = 0; round < 92000 / 300; round++) {
            support_add_keys(filter, SUPPORT_WORDS, 0, 300);
        }
        perhaps_statistics s = support_stats(filter);
        assert_true(s.layers == 1 && s.adds <= 300 && s.adds >= 295);
        perhaps_free(filter);
    }
}

// ---- limits

// A growing filter at a limit: what it took is there, the next key is refused, and nothing is changed by that.
static void assert_limit(const perhaps_options *options, uint64_t at_least, uint64_t at_most)
{
    perhaps_filter *filter = support_create(options);
    uint64_t hash = 0;
    int result = 0;
    while (result >= 0 && hash <= 2 * at_most) {
        result = perhaps_add_hash(filter, hash);
        hash += result >= 0;
    }
    assert_int_equal(result, PERHAPS_E_LIMIT);
    assert_in_range(support_stats(filter).adds, at_least, at_most);
    struct support_bytes before = support_encode(filter);
    uint64_t more[2] = {hash, hash + 1};
    size_t done = 7;
    assert_int_equal(perhaps_add_hash(filter, hash), PERHAPS_E_LIMIT);
    assert_int_equal(perhaps_add_many_hash(filter, more, 2, NULL, &done), PERHAPS_E_LIMIT);
    assert_int_equal(done, 0);
    support_assert_unchanged(filter, before);
    for (uint64_t i = 0; i < hash; i++) { // also that they may be added again
        assert_int_equal(perhaps_might_contain_hash(filter, i), 1);
        assert_int_equal(perhaps_add_hash(filter, i), 0);
    }
    support_assert_unchanged(filter, before);
    free(before.data);
    perhaps_free(filter);
}

static void test_limits(void **state)
{
    FOR_EACH_KIND_THAT_GROWS(kind)
    {
        perhaps_options options = growing(kind, 100, 0.01);
        options.max_capacity = 1000;
        assert_limit(&options, 980, 1000);
        options.max_capacity = 0;
        options.max_bytes = 1000;
        assert_limit(&options, 290, 700);
        options.max_bytes = 0;
        double smallest;
        double largest;
        assert_int_equal(perhaps_kind_range(kind, &smallest, &largest), PERHAPS_OK);
        options.fpr = smallest * 11.0; // shares of 1/3.8 and 1/10.1 are enough, 1/17.5 is not
        assert_limit(&options, 295, 300);
    }
}

static void test_no_memory_to_grow(void **state)
{
    FOR_EACH_KIND_THAT_GROWS(kind)
    {
        for (unsigned allocation = 1; allocation <= 2; allocation++) { // payload, layer
            struct support_memory memory = {0};
            perhaps_allocator allocator = support_memory_allocator(&memory);
            perhaps_options options = growing(kind, 100, 0.01);
            options.allocator = &allocator;
            perhaps_filter *filter = support_create(&options);
            memory.fail_at = memory.calls + allocation;
            uint64_t hash = 0;
            while (perhaps_add_hash(filter, hash) >= 0) {
                hash++;
            }
            struct support_bytes before = support_encode(filter);
            memory.fail_at = memory.calls + allocation;
            assert_int_equal(perhaps_add_hash(filter, hash), PERHAPS_E_MEMORY);
            support_assert_unchanged(filter, before);
            memory.fail_at = 0;
            assert_int_equal(perhaps_add_hash(filter, hash), 1); // later there is some
            assert_int_equal(support_stats(filter).layers, 2);
            for (uint64_t i = 0; i <= hash; i++) {
                assert_int_equal(perhaps_might_contain_hash(filter, i), 1);
            }
            free(before.data);
            perhaps_free(filter);
            assert_true(support_memory_is_clean(&memory));
        }
    }
}

static void assert_refused(perhaps_options options, int code, const char *subject)
{
    perhaps_filter *filter = NULL;
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_create(&options, &filter, &error), code, &error);
    assert_null(filter);
    assert_non_null(strstr(error.subject, subject));
}

static void test_options_that_are_none(void **state)
{
    perhaps_options options = growing(PERHAPS_KIND_BLOOM, 100, 0.01);
    options.growth = 3;
    assert_refused(options, PERHAPS_E_OPTION, "growth");
    options.growth = 16;
    assert_refused(options, PERHAPS_E_OPTION, "growth");
    options = growing(PERHAPS_KIND_BLOOM, 100, 0.01);
    options.max_capacity = 99;
    assert_refused(options, PERHAPS_E_OPTION, "max_capacity");
    options = growing(PERHAPS_KIND_BLOOM, 100, 0.01);
    options.max_bytes = 64;
    assert_refused(options, PERHAPS_E_LIMIT, "max_bytes");
    options = growing(PERHAPS_KIND_BLOOM, 100, 0.0);
    options.bytes = 1000;
    assert_refused(options, PERHAPS_E_OPTION, "bytes");
    options = SUPPORT_OPTIONS(.capacity = 100, .fpr = 0.01, .growth = 2);
    assert_refused(options, PERHAPS_E_OPTION, "growth");
    options = SUPPORT_OPTIONS(.capacity = 100, .fpr = 0.01, .max_capacity = 200, .at_capacity = 1);
    assert_refused(options, PERHAPS_E_OPTION, "max_capacity");
    options = SUPPORT_OPTIONS(.capacity = 100, .fpr = 0.01, .at_capacity = 3);
    assert_refused(options, PERHAPS_E_OPTION, "at_capacity");
    options = growing(PERHAPS_KIND_BLOOM, 100, 3.5e-9); // its first share is below the smallest
    assert_refused(options, PERHAPS_E_LIMIT, "fpr");
}

// ---- refusing

static void test_refusing_at_capacity(void **state)
{
    for (uint32_t kind = 1; perhaps_kind_name(kind) != NULL; kind++) {
        perhaps_options options =
            SUPPORT_OPTIONS(.kind = kind, .capacity = 1000, .fpr = 0.001, .at_capacity = PERHAPS_AT_CAPACITY_REFUSE);
        perhaps_filter *filter = support_create(&options);
        uint64_t hash = 0;
        int result = 0;
        while (result >= 0) {
            result = perhaps_add_hash(filter, hash);
            hash += result >= 0;
        }
        assert_int_equal(result, PERHAPS_E_FULL);
        assert_in_range(hash, 1000, 1100); // false positives and, by fill, a few more
        struct support_bytes before = support_encode(filter);
        assert_int_equal(perhaps_add_hash(filter, hash), PERHAPS_E_FULL);
        support_assert_unchanged(filter, before);
        perhaps_statistics s = support_stats(filter);
        assert_true(s.at_capacity == PERHAPS_AT_CAPACITY_REFUSE && s.layers == 1 && s.growth == 0);
        free(before.data);
        perhaps_free(filter);
    }
}

// ---- the rest of the verbs

static void test_encoding(void **state)
{
    FOR_EACH_KIND_THAT_GROWS(kind)
    {
        perhaps_options options = growing(kind, 300, 0.02);
        options.seed = 9;
        options.max_capacity = 1000000;
        options.max_bytes = 5000000;
        perhaps_filter *filter = support_create(&options);
        support_add_keys(filter, SUPPORT_URLS, 0, 5000);
        struct support_bytes bytes = support_encode(filter);
        perhaps_filter *copy = support_decode(bytes.data, bytes.size);
        support_assert_unchanged(copy, bytes);
        assert_int_equal(support_count_present(copy, SUPPORT_URLS, 0, 5000), 5000);
        perhaps_statistics s = support_stats(copy);
        assert_true(s.layers == support_stats(filter).layers && s.layers >= 4 && s.max_capacity == 1000000);
        assert_true(s.max_bytes == 5000000 && s.growth == 2 && s.encoded_bytes == bytes.size);
        support_add_keys(copy, SUPPORT_URLS, 5000, 40000); // and it grows on, as the original does
        support_add_keys(filter, SUPPORT_URLS, 5000, 40000);
        support_assert_same(filter, copy);
        free(bytes.data);
        perhaps_free(filter);
        perhaps_free(copy);
    }
}

// Every bit counts in several layers too.
static void test_every_bit_flipped(void **state)
{
    FOR_EACH_KIND_THAT_GROWS(kind)
    {
        perhaps_options options = growing(kind, 5, 0.1);
        perhaps_filter *filter = support_create(&options);
        support_add_keys(filter, SUPPORT_WORDS, 0, 30);
        assert_true(support_stats(filter).layers >= 3);
        struct support_bytes bytes = support_encode(filter);
        for (size_t bit = 0; bit < bytes.size * 8; bit++) {
            bytes.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
            perhaps_filter *copy = NULL;
            int result = perhaps_decode(bytes.data, bytes.size, NULL, &copy, NULL);
            assert_true(result == PERHAPS_E_DAMAGED || result == PERHAPS_E_NOT_A_FILTER);
            bytes.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
        }
        free(bytes.data);
        perhaps_free(filter);
    }
}

static void test_clear_leaves_the_first_layer(void **state)
{
    FOR_EACH_KIND_THAT_GROWS(kind)
    {
        perhaps_options options = growing(kind, 50, 0.01);
        perhaps_filter *filter = support_create(&options);
        perhaps_filter *fresh = support_create(&options);
        support_add_keys(filter, SUPPORT_WORDS, 0, 1000);
        assert_int_equal(perhaps_clear(filter), PERHAPS_OK);
        support_assert_same(filter, fresh);
        assert_int_equal(support_count_present(filter, SUPPORT_WORDS, 0, 1000), 0);
        support_add_keys(filter, SUPPORT_WORDS, 0, 1000);
        assert_int_equal(support_count_present(filter, SUPPORT_WORDS, 0, 1000), 1000);
        perhaps_free(filter);
        perhaps_free(fresh);
    }
}

static void test_merging_is_refused(void **state)
{
    FOR_EACH_KIND_THAT_GROWS(kind)
    {
        perhaps_options options = growing(kind, 50, 0.01);
        perhaps_filter *a = support_create(&options);
        perhaps_filter *b = support_create(&options);
        perhaps_error error = SUPPORT_ERROR;
        support_assert_failed(perhaps_merge(a, b, &error), PERHAPS_E_UNSUPPORTED, &error);
        perhaps_free(a);
        perhaps_free(b);
    }
}

static void test_statistics_of_layers(void **state)
{
    FOR_EACH_KIND_THAT_GROWS(kind)
    {
        perhaps_options options = growing(kind, 100, 0.01);
        perhaps_filter *filter = support_create(&options);
        support_add_keys(filter, SUPPORT_DIGESTS, 0, 2000);
        perhaps_statistics whole = support_stats(filter);
        perhaps_statistics sum = {0};
        double absent = 1.0;
        for (uint32_t i = 0; i < whole.layers; i++) {
            perhaps_statistics one = {.size = sizeof one};
            assert_int_equal(perhaps_stats_of_layer(filter, i, &one), PERHAPS_OK);
            assert_int_equal(one.capacity, UINT64_C(100) << i);
            assert_true(fabs(one.fpr_target / (0.005 / ((i + 1.0) * (i + 2.0)) + 0.005 / 32) - 1.0) < 1e-12);
            assert_true(one.layers == 1 && one.adds <= one.capacity && one.fpr_now <= 2.0 * one.fpr_target);
            sum.adds += one.adds;
            sum.bytes += one.bytes;
            sum.capacity += one.capacity;
            absent *= 1.0 - one.fpr_now;
        }
        assert_true(whole.adds == sum.adds && whole.bytes == sum.bytes && whole.capacity_now == sum.capacity);
        assert_true(fabs(whole.fpr_now - (1.0 - absent)) < 1e-12 && whole.capacity == 100);
        perhaps_statistics one = {.size = sizeof one};
        assert_int_equal(perhaps_stats_of_layer(filter, whole.layers, &one), PERHAPS_E_ARGUMENT);
        assert_int_equal(perhaps_stats_of_layer(NULL, 0, &one), PERHAPS_E_ARGUMENT);
        assert_int_equal(perhaps_stats_of_layer(filter, 0, NULL), PERHAPS_E_ARGUMENT);
        one.size = sizeof one + 8;
        assert_int_equal(perhaps_stats_of_layer(filter, 0, &one), PERHAPS_E_OPTION);
        perhaps_free(filter);
    }
}

int main(int argc, char **argv)
{
    most_keys = argc > 1 ? strtoull(argv[1], NULL, 10) : most_keys;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_budgets_stay_within_the_rate),
        cmocka_unit_test(test_planned_layers_rise),
        cmocka_unit_test(test_natural_layers),
        cmocka_unit_test(test_powers_of_ten),
        cmocka_unit_test(test_growing_keeps_the_rate),
        cmocka_unit_test(test_batches_and_single_adds_make_the_same_filter),
        cmocka_unit_test(test_many_adds_of_few_keys_do_not_grow),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_no_memory_to_grow),
        cmocka_unit_test(test_options_that_are_none),
        cmocka_unit_test(test_refusing_at_capacity),
        cmocka_unit_test(test_encoding),
        cmocka_unit_test(test_every_bit_flipped),
        cmocka_unit_test(test_clear_leaves_the_first_layer),
        cmocka_unit_test(test_merging_is_refused),
        cmocka_unit_test(test_statistics_of_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
