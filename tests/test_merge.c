// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

// Keys 0 to 1199 and 800 to 1999, 400 of them common.
static void test_equals_adding_to_one(void **state)
{
    perhaps_filter *first = support_filter(2000, 0.01, 4);
    perhaps_filter *second = support_filter(2000, 0.01, 4);
    perhaps_filter *both = support_filter(2000, 0.01, 4);
    support_add_keys(first, SUPPORT_WORDS, 0, 1200);
    support_add_keys(second, SUPPORT_WORDS, 800, 1200);
    support_add_keys(both, SUPPORT_WORDS, 0, 2000);
    struct support_bytes second_before = support_encode(second);
    uint64_t sum = support_stats(first).adds + support_stats(second).adds;
    assert_int_equal(support_stats(first).adds_exact, 1);

    assert_int_equal(perhaps_merge(first, second, NULL), PERHAPS_OK);
    support_assert_same_payload(first, both);
    assert_int_equal(support_stats(first).adds, sum);
    assert_int_equal(support_stats(first).adds_exact, 0);
    assert_int_equal(support_count_present(first, SUPPORT_WORDS, 0, 2000), 2000);
    support_assert_unchanged(second, second_before);

    // What was merged stays merged through encode and decode.
    struct support_bytes merged = support_encode(first);
    perhaps_filter *copy = support_decode(merged.data, merged.size);
    assert_int_equal(support_stats(copy).adds_exact, 0);
    assert_int_equal(support_stats(copy).adds, sum);
    support_assert_same(first, copy);
    free(merged.data);
    free(second_before.data);
    perhaps_free(copy);
    perhaps_free(first);
    perhaps_free(second);
    perhaps_free(both);
}

static void test_with_an_empty_one(void **state)
{
    perhaps_filter *full = support_filter(100, 0.01, 4);
    perhaps_filter *empty = support_filter(100, 0.01, 4);
    support_add_keys(full, SUPPORT_URLS, 0, 100);
    struct support_bytes before = support_encode(full);
    assert_int_equal(perhaps_merge(full, empty, NULL), PERHAPS_OK);
    support_assert_unchanged(full, before);
    assert_int_equal(perhaps_merge(empty, full, NULL), PERHAPS_OK);
    support_assert_same_payload(empty, full);
    assert_int_equal(support_stats(empty).adds, support_stats(full).adds);
    free(before.data);
    perhaps_free(full);
    perhaps_free(empty);
}

static void test_with_itself(void **state)
{
    perhaps_filter *filter = support_filter(100, 0.01, 4);
    support_add_keys(filter, SUPPORT_URLS, 0, 100);
    struct support_bytes before = support_encode(filter);
    assert_int_equal(perhaps_merge(filter, filter, NULL), PERHAPS_OK);
    support_assert_unchanged(filter, before);
    free(before.data);
    perhaps_free(filter);
}

// Capacity, target and metadata stay those of `into`; equal sizes are enough.
static void test_keeps_what_belongs_to_into(void **state)
{
    perhaps_sizing sizing = support_size(1000, 0.01, 0);
    perhaps_filter *into = support_filter(1000, 0.01, 4);
    perhaps_filter *from = support_create(&SUPPORT_OPTIONS(.capacity = 999, .fpr = 0.0101, .seed = 4));
    assert_int_equal(support_stats(from).bits, sizing.bits);
    assert_int_equal(support_stats(from).positions, sizing.positions);
    assert_int_equal(perhaps_set_metadata(into, "into", 4), PERHAPS_OK);
    assert_int_equal(perhaps_set_metadata(from, "other", 5), PERHAPS_OK);
    assert_int_equal(perhaps_add(from, "a", 1), 1);
    assert_int_equal(perhaps_merge(into, from, NULL), PERHAPS_OK);
    const void *metadata;
    size_t length;
    assert_int_equal(perhaps_metadata(into, &metadata, &length), PERHAPS_OK);
    assert_int_equal(length, 4);
    assert_memory_equal(metadata, "into", 4);
    assert_int_equal(support_stats(into).capacity, 1000);
    assert_true(support_stats(into).fpr_target == 0.01);
    assert_int_equal(perhaps_might_contain(into, "a", 1), 1);
    perhaps_free(into);
    perhaps_free(from);
}

// A refused merge changes neither side, and its text names both values.
static void assert_mismatch(const perhaps_options *into_options, const perhaps_options *from_options, const char *what,
                            uint64_t into_value, uint64_t from_value)
{
    perhaps_filter *into = support_create(into_options);
    perhaps_filter *from = support_create(from_options);
    assert_int_equal(perhaps_add_hash(into, 1), 1);
    assert_int_equal(perhaps_add_hash(from, 2), 1);
    struct support_bytes into_before = support_encode(into);
    struct support_bytes from_before = support_encode(from);
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_merge(into, from, &error), PERHAPS_E_MISMATCH, &error);
    char values[64];
    (void)snprintf(values, sizeof values, "%llu and %llu", (unsigned long long)into_value,
                   (unsigned long long)from_value);
    assert_non_null(strstr(error.text, what));
    assert_non_null(strstr(error.text, values));
    assert_true(error.limit == into_value && error.value == from_value);
    assert_int_equal(perhaps_merge(into, from, NULL), PERHAPS_E_MISMATCH);
    support_assert_unchanged(into, into_before);
    support_assert_unchanged(from, from_before);
    free(into_before.data);
    free(from_before.data);
    perhaps_free(into);
    perhaps_free(from);
}

static void test_mismatches(void **state)
{
    const perhaps_options base = SUPPORT_OPTIONS(.capacity = 1000, .fpr = 0.01, .seed = 4);
    perhaps_options other = base;
    other.seed = 5;
    assert_mismatch(&base, &other, "seed", 4, 5);
    assert_mismatch(&other, &base, "seed", 5, 4);
    other = base;
    other.hash_source = PERHAPS_HASH_CALLER;
    assert_mismatch(&base, &other, "hash source", PERHAPS_HASH_XXH3, PERHAPS_HASH_CALLER);
    other = base;
    other.capacity = 2000;
    assert_mismatch(&base, &other, "size in bits", support_size(1000, 0.01, 0).bits, support_size(2000, 0.01, 0).bits);
    // One unit for one key at 0.5 and at 0.01, with another number of positions.
    const perhaps_options coarse = SUPPORT_OPTIONS(.capacity = 1, .fpr = 0.5, .seed = 4);
    const perhaps_options fine = SUPPORT_OPTIONS(.capacity = 1, .fpr = 1e-6, .seed = 4);
    perhaps_sizing a = support_size(1, 0.5, 0);
    perhaps_sizing b = support_size(1, 1e-6, 0);
    assert_true(a.bits == b.bits && a.positions != b.positions);
    assert_mismatch(&coarse, &fine, "number of positions", a.positions, b.positions);
}

static void test_arguments(void **state)
{
    perhaps_filter *filter = support_filter(10, 0.01, 0);
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_merge(NULL, filter, &error), PERHAPS_E_ARGUMENT, &error);
    support_assert_failed(perhaps_merge(filter, NULL, &error), PERHAPS_E_ARGUMENT, &error);
    assert_int_equal(perhaps_merge(NULL, NULL, NULL), PERHAPS_E_ARGUMENT);
    perhaps_free(filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equals_adding_to_one), cmocka_unit_test(test_with_an_empty_one),
        cmocka_unit_test(test_with_itself),          cmocka_unit_test(test_keeps_what_belongs_to_into),
        cmocka_unit_test(test_mismatches),           cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
