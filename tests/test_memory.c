// SPDX-License-Identifier: MIT
// Memory runs out; for files see test_file_faults.c.
#include <stdlib.h>

#include "support.h"

// Each allocation of a call fails once: a clean error, nothing left; then the call succeeds.
static void test_memory_runs_out_in_decode(void **state)
{
    perhaps_filter *made = support_filter(10, 0.01, 3);
    support_add_keys(made, SUPPORT_WORDS, 0, 10);
    assert_int_equal(perhaps_set_metadata(made, "where it was made of", 21), PERHAPS_OK);
    struct support_bytes bytes = support_encode(made);
    perhaps_free(made);
    int result = PERHAPS_E_MEMORY;
    uint64_t fail_at = 0;
    while (result == PERHAPS_E_MEMORY) {
        struct support_memory memory = {.fail_at = ++fail_at};
        perhaps_allocator allocator = support_memory_allocator(&memory);
        perhaps_load_options options = {.size = sizeof options, .allocator = &allocator};
        perhaps_filter *filter = NULL;
        perhaps_error error = SUPPORT_ERROR;
        result = perhaps_decode(bytes.data, bytes.size, &options, &filter, &error);
        if (result == PERHAPS_E_MEMORY) {
            support_assert_failed(result, PERHAPS_E_MEMORY, &error);
            assert_null(filter);
        }
        perhaps_free(filter);
        assert_true(support_memory_is_clean(&memory));
    }
    assert_int_equal(result, PERHAPS_OK);
    assert_int_equal(fail_at, 7); // header, filter, layer, metadata, payload, checksums; then none is left to fail
    free(bytes.data);
}

static void test_memory_runs_out_in_create(void **state)
{
    for (uint64_t fail_at = 1; fail_at <= 4; fail_at++) { // filter, payload, layer
        struct support_memory memory = {.fail_at = fail_at};
        perhaps_allocator allocator = support_memory_allocator(&memory);
        const perhaps_options options = SUPPORT_OPTIONS(.capacity = 1000, .fpr = 0.01, .allocator = &allocator);
        perhaps_filter *filter = NULL;
        perhaps_error error = SUPPORT_ERROR;
        int result = perhaps_create(&options, &filter, &error);
        if (fail_at <= 3) {
            support_assert_failed(result, PERHAPS_E_MEMORY, &error);
            assert_null(filter);
        } else {
            assert_int_equal(result, PERHAPS_OK);
        }
        perhaps_free(filter);
        assert_true(support_memory_is_clean(&memory));
    }
}

static void test_memory_runs_out_in_set_metadata(void **state)
{
    struct support_memory memory = {0};
    perhaps_allocator allocator = support_memory_allocator(&memory);
    perhaps_filter *filter = support_create(&SUPPORT_OPTIONS(.capacity = 10, .fpr = 0.01, .allocator = &allocator));
    assert_int_equal(perhaps_set_metadata(filter, "kept", 4), PERHAPS_OK);
    struct support_bytes before = support_encode(filter);
    memory.fail_at = memory.calls + 1;
    assert_int_equal(perhaps_set_metadata(filter, "other", 5), PERHAPS_E_MEMORY);
    support_assert_unchanged(filter, before);
    free(before.data);
    perhaps_free(filter);
    assert_true(support_memory_is_clean(&memory));
}

// Filters take their memory at the alignment that they need and give it back with the numbers that they took it with;
// queries, adds, merges and encoding take none.
static void test_only_what_is_told_allocates(void **state)
{
    struct support_memory memory = {0};
    perhaps_allocator allocator = support_memory_allocator(&memory);
    const perhaps_options options = SUPPORT_OPTIONS(.capacity = 1000, .fpr = 0.01, .allocator = &allocator);
    perhaps_filter *filter = support_create(&options);
    perhaps_filter *other = support_create(&options);
    uint64_t calls = memory.calls;
    support_add_keys(filter, SUPPORT_WORDS, 0, 1000);
    support_add_keys(other, SUPPORT_URLS, 0, 1000);
    assert_in_range(support_count_present(filter, SUPPORT_WORDS, 0, 2000), 1000, 1100);
    assert_int_equal(perhaps_merge(filter, other, NULL), PERHAPS_OK);
    struct support_bytes bytes = support_encode(filter);
    assert_int_equal(perhaps_clear(filter), PERHAPS_OK);
    assert_true(memory.calls == calls);
    assert_true(memory.live_bytes <= 2 * support_stats(filter).bytes + 4096);
    free(bytes.data);
    perhaps_free(filter);
    perhaps_free(other);
    assert_true(support_memory_is_clean(&memory));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_runs_out_in_decode),
        cmocka_unit_test(test_memory_runs_out_in_create),
        cmocka_unit_test(test_memory_runs_out_in_set_metadata),
        cmocka_unit_test(test_only_what_is_told_allocates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
