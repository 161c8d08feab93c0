// SPDX-License-Identifier: MIT
// From counting to bloom: the same answers, and everything else that is taken over.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

static perhaps_filter *make(uint64_t capacity, double fpr, uint32_t width, uint32_t policy)
{
    return support_create(&SUPPORT_OPTIONS(.kind = PERHAPS_KIND_COUNTING, .capacity = capacity, .fpr = fpr, .seed = 8,
                                           .counter_bits = width, .policy = policy));
}

static perhaps_filter *convert(const perhaps_filter *from)
{
    perhaps_filter *filter = NULL;
    assert_int_equal(perhaps_convert(from, PERHAPS_KIND_BLOOM, NULL, &filter, NULL), PERHAPS_OK);
    assert_non_null(filter);
    return filter;
}

static void assert_answers_alike(const perhaps_filter *counting, const perhaps_filter *bloom, uint64_t questions)
{
    uint64_t random = 1;
    uint64_t present = 0;
    for (uint64_t i = 0; i < questions; i++) {
        uint64_t hash = i % 2 == 0 ? i / 2 : support_random(&random);
        int answer = perhaps_might_contain_hash(counting, hash);
        assert_int_equal(perhaps_might_contain_hash(bloom, hash), answer);
        present += (uint64_t)answer;
    }
    assert_in_range(present, 1, questions - 1);
}

// One key in three is removed again, one in seven is there twenty times.
static void fill(perhaps_filter *filter, uint64_t keys, bool removes)
{
    for (uint64_t key = 0; key < keys; key++) {
        for (int i = 0; i < (key % 7 == 0 ? 20 : 1); i++) {
            assert_true(perhaps_add_hash(filter, key) >= 0);
        }
    }
    for (uint64_t key = 0; removes && key < keys; key += 3) {
        assert_int_equal(perhaps_remove_hash(filter, key), 1);
    }
}

static void check(uint64_t capacity, double fpr, uint32_t width, uint32_t policy)
{
    perhaps_filter *counting = make(capacity, fpr, width, policy);
    assert_int_equal(perhaps_set_metadata(counting, "made of", 7), PERHAPS_OK);
    assert_int_equal(perhaps_set_position(counting, "17", 2), PERHAPS_OK);
    bool removes = policy == PERHAPS_POLICY_MULTISET;
    fill(counting, capacity, removes);
    struct support_bytes before = support_encode(counting);
    perhaps_filter *bloom = convert(counting);
    support_assert_unchanged(counting, before);
    assert_answers_alike(counting, bloom, SUPPORT_SCALED(UINT64_C(200000)));
    perhaps_statistics from = support_stats(counting);
    perhaps_statistics to = support_stats(bloom);
    assert_true(to.kind == PERHAPS_KIND_BLOOM && to.bits * width == from.bits && to.positions == from.positions);
    assert_true(to.capacity == from.capacity && to.fpr_target == from.fpr_target && to.seed == from.seed);
    assert_true(to.hash_source == from.hash_source && to.set_bits == from.set_bits && to.fpr_now == from.fpr_now);
    assert_true(to.adds == from.adds && to.adds_exact == !removes);
    assert_true((to.policy | to.counter_bits) == 0 && (to.copies | to.removals | to.saturated) == 0);
    const void *metadata = NULL;
    size_t length = 0;
    assert_int_equal(perhaps_metadata(bloom, &metadata, &length), PERHAPS_OK);
    assert_int_equal(length, 7);
    assert_memory_equal(metadata, "made of", 7);
    assert_int_equal(perhaps_position(bloom, &metadata, &length), PERHAPS_OK);
    assert_int_equal(length, 2);
    assert_memory_equal(metadata, "17", 2);
    // It is a Bloom filter like any other, on its own: written, read, added to.
    struct support_bytes bytes = support_encode(bloom);
    perhaps_filter *copy = support_decode(bytes.data, bytes.size);
    support_assert_same(bloom, copy);
    perhaps_free(counting);
    assert_int_equal(perhaps_remove_hash(bloom, 0), PERHAPS_E_UNSUPPORTED);
    assert_true(perhaps_add_hash(bloom, UINT64_MAX) >= 0);
    assert_int_equal(perhaps_might_contain_hash(bloom, UINT64_MAX), 1);
    free(bytes.data);
    free(before.data);
    perhaps_free(copy);
    perhaps_free(bloom);
}

static void test_answers_as_before(void **state)
{
    static const uint32_t widths[] = {4, 8, 16};
    for (size_t i = 0; i < SUPPORT_COUNT(widths); i++) {
        check(10000, 0.01, widths[i], PERHAPS_POLICY_MULTISET);
        check(10000, 0.01, widths[i], PERHAPS_POLICY_CONSERVATIVE);
        check(50, 1e-9, widths[i], PERHAPS_POLICY_MULTISET);
        check(1000, 0.5, widths[i], PERHAPS_POLICY_MULTISET);
    }
}

// Bit for bit the Bloom filter to which the same keys were added.
static void test_is_the_bloom_filter_of_the_keys(void **state)
{
    perhaps_filter *counting = make(5000, 0.01, 4, PERHAPS_POLICY_MULTISET);
    perhaps_filter *expected = support_filter(5000, 0.01, 8);
    support_add_keys(counting, SUPPORT_URLS, 0, 5000);
    support_add_keys(expected, SUPPORT_URLS, 0, 5000);
    perhaps_filter *bloom = convert(counting);
    support_assert_same(bloom, expected);
    assert_int_equal(perhaps_merge(bloom, expected, NULL), PERHAPS_OK);
    perhaps_free(bloom);
    perhaps_free(counting);
    perhaps_free(expected);
}

// Emptied by removing, or never filled, it becomes a new Bloom filter.
static void test_empty(void **state)
{
    perhaps_filter *counting = make(100, 0.01, 4, PERHAPS_POLICY_MULTISET);
    perhaps_filter *expected = support_filter(100, 0.01, 8);
    perhaps_filter *bloom = convert(counting);
    support_assert_same(bloom, expected);
    perhaps_free(bloom);
    assert_int_equal(perhaps_add_hash(counting, 5), 1);
    assert_int_equal(perhaps_remove_hash(counting, 5), 1);
    bloom = convert(counting);
    assert_true(support_stats(bloom).adds == 0 && support_stats(bloom).set_bits == 0);
    struct support_bytes bytes = support_encode(bloom);
    perhaps_filter *copy = support_decode(bytes.data, bytes.size);
    free(bytes.data);
    perhaps_free(copy);
    perhaps_free(bloom);
    perhaps_free(counting);
    perhaps_free(expected);
}

static void assert_refused(const perhaps_filter *from, uint32_t kind, int code, const char *words)
{
    perhaps_filter *filter = NULL;
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_convert(from, kind, NULL, &filter, &error), code, &error);
    assert_null(filter);
    assert_non_null(strstr(error.text, words));
}

static void test_refused(void **state)
{
    perhaps_filter *counting = make(100, 0.01, 4, PERHAPS_POLICY_MULTISET);
    perhaps_filter *bloom = support_filter(100, 0.01, 8);
    perhaps_filter *out = NULL;
    assert_refused(counting, PERHAPS_KIND_BLOCKED, PERHAPS_E_UNSUPPORTED, "kind counting cannot become one of kind bl");
    assert_refused(counting, PERHAPS_KIND_COUNTING, PERHAPS_E_UNSUPPORTED, "counting to bloom");
    assert_refused(bloom, PERHAPS_KIND_BLOOM, PERHAPS_E_UNSUPPORTED, "kind bloom");
    assert_refused(counting, PERHAPS_KIND_DEFAULT, PERHAPS_E_OPTION, "no kind");
    assert_refused(counting, 77, PERHAPS_E_OPTION, "no kind");
    assert_int_equal(perhaps_convert(NULL, PERHAPS_KIND_BLOOM, NULL, &out, NULL), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_convert(counting, PERHAPS_KIND_BLOOM, NULL, NULL, NULL), PERHAPS_E_ARGUMENT);
    struct support_memory memory = {0};
    perhaps_allocator half = support_memory_allocator(&memory);
    half.release = NULL;
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_convert(counting, PERHAPS_KIND_BLOOM, &half, &out, &error), PERHAPS_E_OPTION, &error);
    assert_null(out);
    perhaps_free(counting);
    perhaps_free(bloom);
}

// Each allocation fails once: nothing is left, and what is converted stays as it was.
static void test_memory_runs_out(void **state)
{
    perhaps_filter *counting = make(100, 0.01, 4, PERHAPS_POLICY_MULTISET);
    assert_int_equal(perhaps_set_metadata(counting, "made of", 7), PERHAPS_OK);
    assert_int_equal(perhaps_set_position(counting, "17", 2), PERHAPS_OK);
    assert_int_equal(perhaps_add_hash(counting, 5), 1);
    struct support_bytes before = support_encode(counting);
    for (uint64_t fail_at = 1; fail_at <= 6; fail_at++) {
        struct support_memory memory = {.fail_at = fail_at};
        perhaps_allocator allocator = support_memory_allocator(&memory);
        perhaps_filter *filter = NULL;
        perhaps_error error = SUPPORT_ERROR;
        int status = perhaps_convert(counting, PERHAPS_KIND_BLOOM, &allocator, &filter, &error);
        if (fail_at <= 5) { // filter, payload, layer, metadata, position
            support_assert_failed(status, PERHAPS_E_MEMORY, &error);
            assert_null(filter);
        } else {
            assert_int_equal(status, PERHAPS_OK);
            assert_int_equal(perhaps_might_contain_hash(filter, 5), 1);
        }
        perhaps_free(filter);
        assert_true(support_memory_is_clean(&memory));
    }
    support_assert_unchanged(counting, before);
    free(before.data);
    perhaps_free(counting);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_as_before),
        cmocka_unit_test(test_is_the_bloom_filter_of_the_keys),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
