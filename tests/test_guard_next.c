// SPDX-License-Identifier: MIT
// What a rebuild makes: a filter like the one in use, or what the owner says, within its limits.
#include "guard_store.h"

#include <unistd.h>

// The filter that is in use, as it is saved.
static perhaps_filter *saved_by(perhaps_guard *guard)
{
    char path[] = "/tmp/perhaps-guard-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0 && close(fd) == 0);
    perhaps_filter *saved = NULL;
    assert_int_equal(perhaps_guard_save(guard, path, NULL), 0);
    assert_int_equal(perhaps_open(path, NULL, &saved, NULL), 0);
    assert_int_equal(unlink(path), 0);
    return saved;
}

static void assert_metadata(perhaps_guard *guard, const char *expected)
{
    perhaps_filter *saved = saved_by(guard);
    const void *metadata = NULL;
    size_t length = 0;
    assert_int_equal(perhaps_metadata(saved, &metadata, &length), 0);
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(metadata, expected, length);
    perhaps_free(saved);
}

static perhaps_options options_in_use(perhaps_guard *guard)
{
    perhaps_filter *saved = saved_by(guard);
    perhaps_options options = {.size = sizeof options};
    assert_int_equal(perhaps_options_of(saved, &options), 0);
    perhaps_free(saved);
    return options;
}

// The kind, p, seed and shape of the present filter, or what the owner says. The metadata goes on with it.
static void test_what_is_made(void **state)
{
    struct rows *rows = make_rows(true);
    fill_rows(rows, 1000);
    perhaps_options like = {.size = sizeof like,
                            .kind = PERHAPS_KIND_COUNTING,
                            .capacity = 500,
                            .fpr = 0.003,
                            .counter_bits = 8,
                            .flags = PERHAPS_SHARED};
    perhaps_filter *filter = NULL;
    assert_int_equal(perhaps_create(&like, &filter, NULL), 0);
    perhaps_guard *guard = guard_of(rows, filter);
    assert_int_equal(perhaps_set_metadata(filter, "whose", 5), 0);
    assert_int_equal(perhaps_guard_rebuild(guard, 2000, NULL), 0);
    assert_metadata(guard, "whose");
    perhaps_guard_statistics statistics = statistics_of(guard);
    assert_int_equal(statistics.kind, PERHAPS_KIND_COUNTING);
    assert_int_equal(statistics.capacity, 2000);
    assert_true(statistics.fpr_target > 0.0029 && statistics.fpr_target < 0.0031);
    perhaps_guard_free(guard);

    perhaps_store store = store_of(rows);
    perhaps_options next = {.size = sizeof next, .kind = PERHAPS_KIND_BLOCKED, .capacity = 3000, .fpr = 0.02};
    perhaps_guard_options options = {
        .size = sizeof options, .adopted = shared_filter(PERHAPS_KIND_BLOOM, 10, 0.1), .store = &store, .next = &next};
    guard = guard_with(&options);
    next.kind = 99; // it was copied
    assert_int_equal(perhaps_guard_rebuild(guard, 0, NULL), 0);
    statistics = statistics_of(guard);
    assert_int_equal(statistics.kind, PERHAPS_KIND_BLOCKED);
    assert_int_equal(statistics.capacity, 3000);
    assert_int_equal(missed(guard, rows), 0);
    perhaps_guard_free(guard);
    free_rows(rows);
}

// All that its owner asked for, but for the capacity: shape, policy, growth and its limits, whatever the filter is.
static void test_what_is_kept(void **state)
{
    static const perhaps_options made[] = {
        {.kind = PERHAPS_KIND_COUNTING, .policy = PERHAPS_POLICY_CONSERVATIVE, .counter_bits = 16, .seed = 3},
        {.kind = PERHAPS_KIND_BLOOM, .at_capacity = PERHAPS_AT_CAPACITY_REFUSE},
        {.kind = PERHAPS_KIND_BLOOM, .at_capacity = PERHAPS_AT_CAPACITY_GROW, .growth = 4, .max_capacity = 50000},
        {.kind = PERHAPS_KIND_BLOCKED, .at_capacity = PERHAPS_AT_CAPACITY_GROW, .max_bytes = 1 << 20},
        {.kind = PERHAPS_KIND_CUCKOO, .slots = 2, .fingerprint_bits = 20, .search = 99},
        {.kind = PERHAPS_KIND_CUCKOO,
         .policy = PERHAPS_POLICY_MULTISET,
         .at_capacity = PERHAPS_AT_CAPACITY_GROW,
         .max_capacity = 20000,
         .max_bytes = 1 << 20},
    };
    struct rows *rows = make_rows(true);
    fill_rows(rows, 1000);
    for (size_t i = 0; i < COUNT(made); i++) {
        perhaps_options options = made[i];
        options.size = sizeof options;
        options.capacity = 100;
        options.fpr = 0.01;
        options.flags = PERHAPS_SHARED;
        perhaps_filter *filter = NULL;
        assert_int_equal(perhaps_create(&options, &filter, NULL), 0);
        perhaps_options before = {.size = sizeof before};
        assert_int_equal(perhaps_options_of(filter, &before), 0);
        perhaps_guard *guard = guard_of(rows, filter);
        assert_int_equal(perhaps_guard_rebuild(guard, 0, NULL), 0);
        perhaps_options after = options_in_use(guard);
        assert_in_range(after.capacity, 1000, 1200);
        after.capacity = before.capacity;
        assert_memory_equal(&after, &before, sizeof after);
        perhaps_guard_free(guard);
    }
    free_rows(rows);
}

static perhaps_guard *growing_guard(struct rows *rows, uint64_t max_capacity, uint64_t max_bytes)
{
    perhaps_options options = {.size = sizeof options,
                               .capacity = 100,
                               .fpr = 0.01,
                               .flags = PERHAPS_SHARED,
                               .at_capacity = PERHAPS_AT_CAPACITY_GROW,
                               .max_capacity = max_capacity,
                               .max_bytes = max_bytes};
    perhaps_filter *filter = NULL;
    assert_int_equal(perhaps_create(&options, &filter, NULL), 0);
    return guard_of(rows, filter);
}

// The owner's limits hold: neither the reserve, nor a capacity that was asked for, nor another attempt exceeds them.
static void test_limits(void **state)
{
    struct rows *rows = make_rows(true);
    fill_rows(rows, 10000);
    perhaps_error error = {.size = sizeof error};
    perhaps_guard *guard = growing_guard(rows, 10500, 0);
    assert_int_equal(perhaps_guard_rebuild(guard, 0, NULL), 0);
    assert_int_equal(statistics_of(guard).capacity, 10500); // and not 11,250
    assert_int_equal(perhaps_guard_rebuild(guard, 50000, NULL), 0);
    assert_int_equal(statistics_of(guard).capacity, 10500);
    assert_int_equal(missed(guard, rows), 0);
    perhaps_guard_free(guard);

    guard = growing_guard(rows, 4000, 0);
    assert_int_equal(perhaps_guard_rebuild(guard, 1000, &error), PERHAPS_E_FULL);
    assert_non_null(strstr(error.text, "a filter for 4000 keys"));
    assert_non_null(strstr(error.text, "raise the limits"));
    assert_int_equal(statistics_of(guard).capacity, 100);
    perhaps_guard_free(guard);

    perhaps_sizing sizing = {.size = sizeof sizing};
    perhaps_options first = {
        .size = sizeof first, .capacity = 10500, .fpr = 0.01, .at_capacity = PERHAPS_AT_CAPACITY_GROW};
    assert_int_equal(perhaps_size_for(&first, &sizing, NULL), 0);
    guard = growing_guard(rows, 0, sizing.bytes); // enough for all keys, but not for an eighth more
    assert_int_equal(perhaps_guard_rebuild(guard, 0, NULL), 0);
    assert_int_equal(statistics_of(guard).capacity, 10000);
    assert_int_equal(missed(guard, rows), 0);
    perhaps_guard_free(guard);

    guard = growing_guard(rows, 0, sizing.bytes / 2);
    assert_int_equal(perhaps_guard_rebuild(guard, 0, &error), PERHAPS_E_LIMIT);
    assert_string_equal(error.subject, "max_bytes");
    assert_int_equal(statistics_of(guard).capacity, 100);
    perhaps_guard_free(guard);
    free_rows(rows);
}

// A filter of hashes that a program supplies cannot be made of the store's keys.
static void test_caller(void **state)
{
    struct rows *rows = make_rows(true);
    perhaps_options options = {.size = sizeof options,
                               .capacity = 100,
                               .fpr = 0.01,
                               .hash_source = PERHAPS_HASH_CALLER,
                               .flags = PERHAPS_SHARED};
    perhaps_filter *filter = NULL;
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(perhaps_create(&options, &filter, NULL), 0);
    perhaps_guard *guard = guard_of(rows, filter);
    assert_int_equal(perhaps_guard_rebuild(guard, 0, &error), PERHAPS_E_UNSUPPORTED);
    assert_non_null(strstr(error.text, "another hash source"));
    perhaps_guard_free(guard);
    free_rows(rows);
}

// A keyed filter is not made anew without its key.
static void test_keyed(void **state)
{
    const uint8_t key[PERHAPS_KEY_BYTES] = {1};
    struct rows *rows = make_rows(true);
    fill_rows(rows, 100);
    perhaps_options made = {.size = sizeof made, .capacity = 100, .fpr = 0.01, .key = key, .flags = PERHAPS_SHARED};
    perhaps_filter *filter = NULL;
    if (perhaps_create(&made, &filter, NULL) == PERHAPS_E_UNSUPPORTED) {
        free_rows(rows);
        skip(); // built without keys
    }
    perhaps_guard *guard = guard_of(rows, filter);
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(perhaps_guard_rebuild(guard, 100, &error), PERHAPS_E_KEY);
    assert_non_null(strstr(error.text, "give `next`"));
    perhaps_guard_free(guard);
    free_rows(rows);
}

static perhaps_filter *half_full(void)
{
    perhaps_filter *filter = shared_filter(PERHAPS_KIND_BLOOM, 1000, 0.01);
    for (uint64_t key = 0; key < 500; key++) {
        assert_true(perhaps_add(filter, &key, sizeof key) >= 0);
    }
    return filter;
}

// Two replicas that merge each other again and again have counted any number of keys, and hold as many as before.
static void test_merged_filters_are_not_full(void **state)
{
    struct rows *rows = make_rows(true);
    fill_rows(rows, 500);
    const perhaps_store store = store_of(rows);
    perhaps_filter *filter = half_full();
    perhaps_filter *other = half_full();
    for (int i = 0; i < 40; i++) {
        assert_int_equal(perhaps_merge(filter, other, NULL), 0);
        assert_int_equal(perhaps_merge(other, filter, NULL), 0);
    }
    perhaps_free(other);
    const perhaps_guard_options options = {
        .size = sizeof options, .adopted = filter, .store = &store, .triggers = PERHAPS_GUARD_ON_FILL};
    perhaps_guard *guard = guard_with(&options);
    uint64_t key = 3;
    assert_int_equal(perhaps_guard_contains(guard, &key, sizeof key, NULL), 1);
    assert_int_equal(perhaps_guard_rebuild_wait(guard, NULL), 0);
    perhaps_guard_statistics statistics = statistics_of(guard);
    assert_int_equal(statistics.rebuilds + statistics.rebuilds_failed, 0);
    assert_int_equal(perhaps_guard_rebuild(guard, 0, NULL), 0);
    assert_in_range(statistics_of(guard).capacity, 500, 2000);
    perhaps_guard_free(guard);
    free_rows(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_made), cmocka_unit_test(test_what_is_kept),
        cmocka_unit_test(test_limits),       cmocka_unit_test(test_caller),
        cmocka_unit_test(test_keyed),        cmocka_unit_test(test_merged_filters_are_not_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
