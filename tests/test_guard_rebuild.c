// SPDX-License-Identifier: MIT
// Rebuilds: a new filter from the store, while keys come and go. (What is made: test_guard_next.c. While questions go on:
// test_guard_threads.c.)
#include "guard_store.h"

static perhaps_guard *guard_with_flags(struct rows *rows, perhaps_filter *filter, uint32_t flags)
{
    perhaps_store store = store_of(rows);
    perhaps_guard_options options = {.size = sizeof options, .adopted = filter, .store = &store, .flags = flags};
    return guard_with(&options);
}

/* ---------------------------------------------------------------- one rebuild */

static void test_not_ready_until_rebuilt(void **state)
{
    struct rows *rows = make_rows(true);
    fill_rows(rows, 5000);
    perhaps_guard *guard =
        guard_with_flags(rows, shared_filter(PERHAPS_KIND_BLOOM, 100, 0.01), PERHAPS_GUARD_NOT_READY);
    assert_int_equal(asks(guard, 60000), 1);
    perhaps_guard_statistics statistics = statistics_of(guard);
    assert_int_equal(statistics.verdict, PERHAPS_GUARD_DEGRADED);
    assert_int_equal(statistics.not_ready, 1);
    assert_int_equal(perhaps_guard_rebuild(guard, 0, NULL), 0);
    statistics = statistics_of(guard);
    assert_int_equal(statistics.verdict, PERHAPS_GUARD_HEALTHY);
    assert_int_equal(statistics.not_ready, 0);
    assert_int_equal(statistics.rebuilds, 1);
    assert_in_range(statistics.capacity, 5000, 6000); // what the store counts, and an eighth
    assert_int_equal(missed(guard, rows), 0);
    assert_true(passed(guard, rows) < 60536 / 50);
    perhaps_guard_free(guard);
    free_rows(rows);
}

// A filter that refuses, with room for what was planned too small: made again, larger.
static void test_too_small(void **state)
{
    struct rows *rows = make_rows(true);
    fill_rows(rows, 30000);
    perhaps_store store = store_of(rows);
    perhaps_options next = {
        .size = sizeof next, .kind = PERHAPS_KIND_CUCKOO, .fpr = 0.01, .at_capacity = PERHAPS_AT_CAPACITY_REFUSE};
    perhaps_guard_options options = {.size = sizeof options,
                                     .adopted = shared_filter(PERHAPS_KIND_CUCKOO, 100, 0.01),
                                     .store = &store,
                                     .next = &next};
    perhaps_guard *guard = guard_with(&options);
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(perhaps_guard_rebuild(guard, 1000, &error), PERHAPS_E_FULL); // 8,000 are not enough either
    assert_non_null(strstr(error.text, "8000 keys"));
    assert_int_equal(statistics_of(guard).capacity, 100);
    assert_int_equal(statistics_of(guard).rebuilds_failed, 1);
    assert_int_equal(perhaps_guard_rebuild(guard, 10000, &error), 0);
    assert_int_equal(statistics_of(guard).capacity, 40000);
    assert_int_equal(missed(guard, rows), 0);
    perhaps_guard_free(guard);
    free_rows(rows);
}

// A guard that lets everything through, because its filter is full, answers again.
static void test_rebuild_heals(void **state)
{
    struct rows *rows = make_rows(true);
    perhaps_store store = store_of(rows);
    perhaps_options small = {.size = sizeof small,
                             .kind = PERHAPS_KIND_CUCKOO,
                             .capacity = 50,
                             .fpr = 0.001,
                             .at_capacity = PERHAPS_AT_CAPACITY_REFUSE,
                             .flags = PERHAPS_SHARED};
    perhaps_filter *filter = NULL;
    assert_int_equal(perhaps_create(&small, &filter, NULL), 0);
    perhaps_guard_options options = {.size = sizeof options,
                                     .adopted = filter,
                                     .store = &store,
                                     .overflow = 10,
                                     .triggers = PERHAPS_GUARD_ON_DEGRADED};
    perhaps_guard *guard = guard_with(&options);
    add_rows(guard, rows, 0, 1000); // which starts a rebuild by itself; more come than it was planned for, perhaps
    int result = perhaps_guard_rebuild_wait(guard, NULL);
    perhaps_guard_statistics statistics = statistics_of(guard);
    assert_true(result == 0 ? statistics.rebuilds >= 1 : result == PERHAPS_E_FULL && statistics.rebuilds_failed >= 1);
    assert_int_equal(missed(guard, rows), 0);
    assert_int_equal(perhaps_guard_rebuild(guard, 0, NULL), 0);
    assert_int_equal(statistics_of(guard).verdict, PERHAPS_GUARD_HEALTHY);
    assert_int_equal(statistics_of(guard).overflow, 0);
    assert_int_equal(missed(guard, rows), 0);
    perhaps_guard_free(guard);
    free_rows(rows);
}

static void test_residue_goes(void **state)
{
    struct rows *rows = make_rows(true);
    perhaps_guard *guard = guard_of(rows, shared_filter(PERHAPS_KIND_BLOOM, 3000, 0.01));
    add_rows(guard, rows, 0, 3000);
    for (uint64_t key = 0; key < 2000; key++) {
        assert_int_equal(remove_row(guard, rows, key), 0);
    }
    assert_int_equal(statistics_of(guard).residue, 2000);
    perhaps_plan plan = {.size = sizeof plan};
    assert_int_equal(perhaps_guard_plan(guard, NULL, &plan, NULL), 0);
    assert_true((plan.reasons & PERHAPS_PLAN_RESIDUE) != 0);
    assert_int_equal(plan.distinct, 1000);
    // Who has no time to count the store.
    const perhaps_plan_options estimated = {.size = sizeof estimated, .distinct = PERHAPS_PLAN_ESTIMATED};
    assert_int_equal(perhaps_guard_plan(guard, &estimated, &plan, NULL), 0);
    assert_int_equal(plan.distinct, statistics_of(guard).distinct_estimate - 2000);
    assert_true(plan.distinct != 1000 && (plan.reasons & PERHAPS_PLAN_RESIDUE) != 0);
    assert_int_equal(perhaps_guard_rebuild(guard, 0, NULL), 0);
    assert_int_equal(statistics_of(guard).residue, 0);
    assert_true(passed(guard, rows) < 64536 / 50);
    assert_int_equal(missed(guard, rows), 0);
    perhaps_guard_free(guard);
    free_rows(rows);
}

/* ---------------------------------------------------------------- what goes wrong */

static void test_listing_fails(void **state)
{
    struct rows *rows = make_rows(true);
    perhaps_guard *guard = guard_of(rows, shared_filter(PERHAPS_KIND_CUCKOO, 3000, 0.01));
    add_rows(guard, rows, 0, 2000);
    rows->fail_listing = PERHAPS_E_IO;
    rows->fail_from = 1000;
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(perhaps_guard_rebuild(guard, 0, &error), PERHAPS_E_IO);
    assert_string_equal(error.subject, "store");
    assert_true(strlen(error.text) > 0);
    assert_int_equal(rows->listed, 1000);
    perhaps_guard_statistics statistics = statistics_of(guard);
    assert_int_equal(statistics.rebuilds, 0);
    assert_int_equal(statistics.rebuilds_failed, 1);
    assert_int_equal(statistics.capacity, 3000);
    assert_int_equal(missed(guard, rows), 0);
    error.code = 0;
    assert_int_equal(perhaps_guard_rebuild_start(guard, 0, NULL), 0);
    assert_int_equal(perhaps_guard_rebuild_wait(guard, &error), PERHAPS_E_IO);
    assert_int_equal(error.code, PERHAPS_E_IO);
    assert_int_equal(statistics_of(guard).rebuilds_failed, 2);
    rows->fail_listing = 0;
    assert_int_equal(perhaps_guard_rebuild(guard, 0, NULL), 0);
    assert_int_equal(perhaps_guard_rebuild_wait(guard, &error), 0);
    assert_int_equal(missed(guard, rows), 0);
    perhaps_guard_free(guard);
    free_rows(rows);
}

struct watcher {
    uint64_t calls;
    uint64_t keys;
    uint64_t expected;
    uint64_t cancel_at;
    int result;
    uint64_t ended;
};

static int watch(void *context, const perhaps_guard_progress *progress)
{
    struct watcher *watcher = context;
    watcher->calls++;
    watcher->keys = progress->keys;
    watcher->expected = progress->expected;
    return watcher->cancel_at != 0 && progress->keys >= watcher->cancel_at;
}

static void note_end(void *context, int result, const perhaps_error *error)
{
    struct watcher *watcher = context;
    (void)error;
    watcher->result = result;
    watcher->ended++;
}

static void test_progress_and_cancel(void **state)
{
    struct rows *rows = make_rows(true);
    fill_rows(rows, 50000);
    perhaps_store store = store_of(rows);
    struct watcher watcher = {.result = 77};
    perhaps_guard_options options = {.size = sizeof options,
                                     .adopted = shared_filter(PERHAPS_KIND_BLOOM, 100, 0.01),
                                     .store = &store,
                                     .flags = PERHAPS_GUARD_NOT_READY,
                                     .context = &watcher,
                                     .progress = watch,
                                     .rebuilt = note_end};
    perhaps_guard *guard = guard_with(&options);
    watcher.cancel_at = 20000;
    assert_int_equal(perhaps_guard_rebuild(guard, 0, NULL), 1);
    assert_int_equal(watcher.keys, 20480);
    assert_int_equal(watcher.expected, 50000);
    assert_int_equal(watcher.calls, 5);
    assert_int_equal(watcher.result, 1);
    assert_int_equal(statistics_of(guard).rebuilds_cancelled, 1);
    assert_int_equal(statistics_of(guard).not_ready, 1); // and nothing is called absent
    assert_int_equal(asks(guard, 60000), 1);
    watcher.cancel_at = 0;
    assert_int_equal(perhaps_guard_rebuild_start(guard, 0, NULL), 0);
    assert_int_equal(perhaps_guard_rebuild_wait(guard, NULL), 0);
    assert_int_equal(watcher.keys, 49152);
    assert_int_equal(watcher.ended, 2);
    assert_int_equal(missed(guard, rows), 0);
    perhaps_guard_rebuild_cancel(guard); // nothing is running: nothing is cancelled
    assert_int_equal(perhaps_guard_rebuild(guard, 0, NULL), 0);
    perhaps_guard_free(guard);
    free_rows(rows);
}

// A rebuild asked for while one is running; and from a store that cannot be listed.
static void begin_another(void *context, uint64_t key)
{
    perhaps_guard *guard = context;
    if (key == 10) {
        perhaps_error error = {.size = sizeof error};
        assert_int_equal(perhaps_guard_rebuild(guard, 0, &error), PERHAPS_E_ARGUMENT);
        assert_string_equal(error.subject, "rebuild");
        assert_int_equal(perhaps_guard_rebuild_start(guard, 0, NULL), PERHAPS_E_ARGUMENT);
        assert_int_equal(statistics_of(guard).rebuilding, 1);
    }
}

static void test_misuse(void **state)
{
    struct rows *rows = make_rows(true);
    fill_rows(rows, 100);
    perhaps_guard *guard = guard_of(rows, shared_filter(PERHAPS_KIND_BLOOM, 100, 0.01));
    rows->at_key = begin_another;
    rows->at_context = guard;
    assert_int_equal(perhaps_guard_rebuild(guard, 0, NULL), 0);
    assert_int_equal(statistics_of(guard).rebuilding, 0);
    assert_int_equal(perhaps_guard_rebuild(NULL, 0, NULL), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_guard_rebuild_wait(NULL, NULL), PERHAPS_E_ARGUMENT);
    perhaps_guard_rebuild_cancel(NULL);
    perhaps_guard_free(guard);
    perhaps_store store = {.context = rows, .contains = rows_contains};
    perhaps_filter *filter = shared_filter(PERHAPS_KIND_BLOOM, 100, 0.01);
    perhaps_guard_options options = {.size = sizeof options, .adopted = filter, .store = &store};
    guard = guard_with(&options);
    assert_int_equal(perhaps_guard_rebuild(guard, 0, NULL), PERHAPS_E_UNSUPPORTED);
    assert_int_equal(perhaps_guard_rebuild_wait(guard, NULL), 0);
    perhaps_guard_free(guard);
    free_rows(rows);
}

/* ---------------------------------------------------------------- keys that come and go meanwhile */

struct turmoil {
    perhaps_guard *guard;
    struct rows *rows;
    uint64_t random;
    uint64_t every; // keys of the listing between two changes
    uint64_t missed;
    uint64_t changes;
};

#define TURMOIL_KEYS 20000

// Adds and removes rows of keys around where the listing is: some that it has passed, some that it has not.
static void change_rows(void *context, uint64_t listed)
{
    struct turmoil *turmoil = context;
    if (listed >= TURMOIL_KEYS || listed % turmoil->every != 0) {
        return;
    }
    for (int i = 0; i < 4; i++) {
        uint64_t key = draw(&turmoil->random, TURMOIL_KEYS);
        if (draw(&turmoil->random, 2) == 0) {
            (void)add_row(turmoil->guard, turmoil->rows, key);
            turmoil->missed += asks(turmoil->guard, key) == 0;
        } else {
            (void)remove_row(turmoil->guard, turmoil->rows, key);
        }
        turmoil->changes++;
    }
}

// Five rebuilds of 20,000 keys under random removals and adds. With a snapshot, what the new filter holds is exact: as many
// copies as the store has keys. Without, it holds them all, and what may be too much is counted.
static void test_changes_meanwhile(void **state)
{
    for (int snapshot = 0; snapshot <= 1; snapshot++) {
        struct rows *rows = make_rows(snapshot == 1);
        perhaps_guard *guard = guard_of(rows, shared_filter(PERHAPS_KIND_CUCKOO, 2 * TURMOIL_KEYS, 0.05));
        add_rows(guard, rows, 0, TURMOIL_KEYS);
        struct turmoil turmoil = {.guard = guard, .rows = rows, .random = 5, .every = 3};
        rows->at_key = change_rows;
        rows->at_context = &turmoil;
        for (int round = 0; round < 5; round++) {
            assert_int_equal(perhaps_guard_rebuild(guard, 2 * TURMOIL_KEYS, NULL), 0);
            perhaps_guard_statistics statistics = statistics_of(guard);
            uint64_t copies = (uint64_t)statistics.distinct_estimate;
            assert_int_equal(missed(guard, rows), 0);
            if (snapshot == 1) {
                assert_int_equal(copies, distinct(rows));
                assert_int_equal(statistics.residue, 0);
            } else {
                assert_true(copies >= distinct(rows));
                assert_true(copies <= distinct(rows) + statistics.residue);
            }
        }
        assert_int_equal(turmoil.missed, 0);
        assert_true(turmoil.changes > 100000);
        // Everything goes, one by one: no copy of another key may go with it.
        rows->at_key = NULL;
        for (uint64_t key = 0; key < TURMOIL_KEYS; key++) {
            while (rows->rows[key] > 0) {
                (void)remove_row(guard, rows, key);
            }
            if (key % 1000 == 0) {
                assert_int_equal(missed(guard, rows), 0);
            }
        }
        if (snapshot == 1) {
            assert_int_equal((uint64_t)statistics_of(guard).distinct_estimate, 0);
        }
        perhaps_guard_free(guard);
        free_rows(rows);
    }
}

// The moment between the beginning of a rebuild and the snapshot: a key that is removed there is not in the listing.
struct early {
    perhaps_guard *guard;
    struct rows *rows;
};

static int change_then_list(void *context, int (*visit)(void *visitor, const void *key, size_t length), void *visitor,
                            perhaps_error *error)
{
    struct early *early = context;
    for (uint64_t key = 0; key < 1000; key++) {
        assert_true(remove_row(early->guard, early->rows, key) >= 0);
        assert_true(add_row(early->guard, early->rows, key + 5000) >= 0);
        if (key % 2 == 0) {
            assert_true(add_row(early->guard, early->rows, key) >= 0); // and back again
        }
    }
    return rows_each_key(early->rows, visit, visitor, error);
}

static int early_contains(void *context, const void *key, size_t length, perhaps_error *error)
{
    struct early *early = context;
    return rows_contains(early->rows, key, length, error);
}

static void test_changes_before_the_snapshot(void **state)
{
    struct early early = {.rows = make_rows(true)};
    perhaps_store store = {&early, early_contains, change_then_list, NULL, PERHAPS_STORE_SNAPSHOT, 0};
    perhaps_guard_options options = {
        .size = sizeof options, .adopted = shared_filter(PERHAPS_KIND_CUCKOO, 10000, 0.1), .store = &store};
    early.guard = guard_with(&options);
    add_rows(early.guard, early.rows, 0, 4000);
    assert_int_equal(perhaps_guard_rebuild(early.guard, 10000, NULL), 0);
    assert_int_equal(missed(early.guard, early.rows), 0);
    assert_int_equal((uint64_t)statistics_of(early.guard).distinct_estimate, 4500);
    perhaps_guard_free(early.guard);
    free_rows(early.rows);
}

/* ---------------------------------------------------------------- triggers */

// Rows come and go for long; the guard makes a new filter whenever there are too many, or too much is residue.
static void test_triggers(void **state)
{
    struct rows *rows = make_rows(true);
    perhaps_store store = store_of(rows);
    perhaps_guard_options options = {.size = sizeof options,
                                     .adopted = shared_filter(PERHAPS_KIND_BLOOM, 500, 0.01),
                                     .store = &store,
                                     .triggers = PERHAPS_GUARD_ON_FILL | PERHAPS_GUARD_ON_RESIDUE,
                                     .rebuild_residue = 0.5};
    perhaps_guard *guard = guard_with(&options);
    for (uint64_t key = 0; key < 20000; key++) {
        assert_in_range(add_row(guard, rows, key), 0, 1);
        if (key % 1000 == 999) {
            assert_int_equal(perhaps_guard_rebuild_wait(guard, NULL), 0);
        }
    }
    perhaps_guard_statistics statistics = statistics_of(guard);
    assert_in_range(statistics.rebuilds, 4, 12);
    assert_true(statistics.capacity >= 20000);
    uint64_t before = statistics.rebuilds;
    for (uint64_t key = 0; key < 19000; key++) {
        assert_int_equal(remove_row(guard, rows, key), 0);
    }
    assert_int_equal(perhaps_guard_rebuild_wait(guard, NULL), 0);
    statistics = statistics_of(guard);
    assert_true(statistics.rebuilds > before);
    assert_int_equal(missed(guard, rows), 0);
    perhaps_guard_free(guard);
    free_rows(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_not_ready_until_rebuilt),
        cmocka_unit_test(test_too_small),
        cmocka_unit_test(test_rebuild_heals),
        cmocka_unit_test(test_residue_goes),
        cmocka_unit_test(test_listing_fails),
        cmocka_unit_test(test_progress_and_cancel),
        cmocka_unit_test(test_misuse),
        cmocka_unit_test(test_changes_meanwhile),
        cmocka_unit_test(test_changes_before_the_snapshot),
        cmocka_unit_test(test_triggers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
