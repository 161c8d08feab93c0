// SPDX-License-Identifier: MIT
// Each allocation of a guard fails once: nothing is lost, and nothing leaks.
#include "guard_store.h"

struct memory {
    uint64_t calls;
    uint64_t fail_at; // the call that fails, counted from 1; 0: none
    uint64_t fail_from;
    size_t held;
};

static void *allocate(void *context, size_t bytes, size_t alignment)
{
    struct memory *memory = context;
    memory->calls++;
    if (memory->calls == memory->fail_at || (memory->fail_from != 0 && memory->calls >= memory->fail_from)) {
        return NULL;
    }
    void *block = NULL;
    assert_int_equal(posix_memalign(&block, alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes), 0);
    memory->held += bytes;
    return block;
}

static void release(void *context, void *block, size_t bytes, size_t alignment)
{
    struct memory *memory = context;
    (void)alignment;
    assert_non_null(block);
    memory->held -= bytes;
    free(block);
}

static perhaps_guard_options options_with(const perhaps_allocator *allocator, const perhaps_store *store,
                                          perhaps_filter *filter)
{
    return (perhaps_guard_options){
        .size = sizeof(perhaps_guard_options), .adopted = filter, .store = store, .allocator = allocator};
}

static void test_create(void **state)
{
    perhaps_filter *filter = shared_filter(PERHAPS_KIND_CUCKOO, 100, 0.01);
    for (uint64_t fail_at = 1;; fail_at++) {
        struct memory memory = {.fail_at = fail_at};
        perhaps_allocator allocator = {&memory, allocate, release};
        perhaps_guard_options options = options_with(&allocator, NULL, filter);
        perhaps_guard *guard = NULL;
        perhaps_error error = {.size = sizeof error};
        int code = perhaps_guard_create(&options, &guard, &error);
        if (code == 0) {
            assert_true(fail_at > 4);  // guard, hasher and its parts, generation, set
            perhaps_guard_free(guard); // and with it the filter, which was the caller's until now
            assert_int_equal(memory.held, 0);
            return;
        }
        assert_int_equal(code, PERHAPS_E_MEMORY);
        assert_int_equal(error.code, PERHAPS_E_MEMORY);
        assert_null(guard);
        assert_int_equal(memory.held, 0);
    }
}

// No memory for a key that the filter refused: then everything is "perhaps", as when the set is full.
static void test_overflow(void **state)
{
    struct memory memory = {.calls = 0};
    perhaps_allocator allocator = {&memory, allocate, release};
    struct rows *rows = make_rows(true);
    perhaps_store store = store_of(rows);
    perhaps_filter *filter = shared_filter(PERHAPS_KIND_BLOOM, 1000, 0.01);
    perhaps_guard_options options = options_with(&allocator, &store, NULL);
    options.filter = filter; // borrowed: all keys go beside it
    perhaps_guard *guard = guard_with(&options);
    add_rows(guard, rows, 0, 10);
    assert_int_equal(statistics_of(guard).verdict, PERHAPS_GUARD_HEALTHY);
    memory.fail_from = memory.calls + 1;
    add_rows(guard, rows, 10, 10);
    assert_int_equal(missed(guard, rows), 0);
    assert_int_equal(statistics_of(guard).verdict, PERHAPS_GUARD_DEGRADED);
    memory.fail_from = 0;
    assert_int_equal(perhaps_guard_rebuild(guard, 0, NULL), 0);
    assert_int_equal(missed(guard, rows), 0);
    assert_int_equal(statistics_of(guard).verdict, PERHAPS_GUARD_HEALTHY);
    perhaps_guard_free(guard);
    assert_int_equal(memory.held, 0);
    perhaps_free(filter);
    free_rows(rows);
}

struct meanwhile {
    perhaps_guard *guard;
    struct rows *rows;
};

static void change_rows(void *context, uint64_t key)
{
    struct meanwhile *meanwhile = context;
    if (key < 300) {
        (void)remove_row(meanwhile->guard, meanwhile->rows, 2 * key);
        assert_in_range(add_row(meanwhile->guard, meanwhile->rows, 1000 + key), 0, 1);
    }
}

// A rebuild that has no memory for a filter's frame, or for keys that are written meanwhile, leaves the old filter.
static void test_rebuild(void **state)
{
    uint64_t failures = 0;
    for (uint64_t fail_at = 1;; fail_at++) {
        struct memory memory = {.calls = 0};
        perhaps_allocator allocator = {&memory, allocate, release};
        struct rows *rows = make_rows(true);
        perhaps_store store = store_of(rows);
        perhaps_guard_options options =
            options_with(&allocator, &store, shared_filter(PERHAPS_KIND_CUCKOO, 2000, 0.05));
        perhaps_guard *guard = guard_with(&options);
        struct meanwhile meanwhile = {guard, rows};
        add_rows(guard, rows, 0, 800);
        rows->at_key = change_rows;
        rows->at_context = &meanwhile;
        memory.fail_at = memory.calls + fail_at;
        perhaps_error error = {.size = sizeof error};
        int code = perhaps_guard_rebuild(guard, 2000, &error);
        assert_int_equal(missed(guard, rows), 0);
        assert_int_equal(statistics_of(guard).rebuilds, code == 0);
        assert_int_equal(statistics_of(guard).rebuilds_failed, code != 0);
        rows->at_key = NULL;
        memory.fail_at = 0;
        assert_int_equal(perhaps_guard_rebuild(guard, 2000, NULL), 0); // the failure left nothing behind
        uint64_t count = 0;
        (void)rows_count(rows, &count, NULL);
        assert_int_equal((uint64_t)statistics_of(guard).distinct_estimate, count);
        perhaps_guard_free(guard);
        free_rows(rows);
        assert_int_equal(memory.held, 0);
        if (code == 0) {
            break;
        }
        failures++;
        assert_int_equal(code, PERHAPS_E_MEMORY);
        assert_int_equal(error.code, PERHAPS_E_MEMORY);
    }
    assert_true(failures > 300); // one for each key that is remembered
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_rebuild),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
