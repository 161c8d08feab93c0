// SPDX-License-Identifier: MIT
// Writing through the guard: the filter follows the store, one copy for each key, and refuses no write.
#include "guard_store.h"

static const uint32_t kinds[] = {PERHAPS_KIND_BLOOM, PERHAPS_KIND_BLOCKED, PERHAPS_KIND_COUNTING, PERHAPS_KIND_CUCKOO};

static bool can_remove(uint32_t kind)
{
    return kind == PERHAPS_KIND_COUNTING || kind == PERHAPS_KIND_CUCKOO;
}

/* ---------------------------------------------------------------- adding and removing */

static void test_add_and_remove(void **state)
{
    for (size_t i = 0; i < COUNT(kinds); i++) {
        struct rows *rows = make_rows(true);
        perhaps_guard *guard = guard_of(rows, shared_filter(kinds[i], 4000, 0.001));
        add_rows(guard, rows, 0, 3000);
        assert_int_equal(missed(guard, rows), 0);
        for (uint64_t key = 0; key < 3000; key += 2) {
            assert_int_equal(remove_row(guard, rows, key), can_remove(kinds[i]));
        }
        assert_int_equal(missed(guard, rows), 0);
        perhaps_guard_statistics statistics = statistics_of(guard);
        assert_int_equal(statistics.adds, 3000);
        assert_int_equal(statistics.removals, 1500);
        assert_int_equal(statistics.residue, can_remove(kinds[i]) ? 0 : 1500);
        assert_int_equal(statistics.kind, kinds[i]);
        uint64_t still = passed(guard, rows);
        assert_true(can_remove(kinds[i]) ? still < 300 : still >= 1500);
        perhaps_guard_free(guard);
        free_rows(rows);
    }
}

// At the moment of the write to the store the filter has the key already; when it is deleted, it still has.
struct witness {
    perhaps_guard *guard;
    int answer;
};

static int look(void *context, const void *key, size_t length, perhaps_error *error)
{
    (void)error;
    struct witness *witness = context;
    witness->answer = perhaps_guard_ask(witness->guard, key, length);
    return 0;
}

static void test_filter_first_then_store(void **state)
{
    struct rows *rows = make_rows(true);
    struct witness witness = {.guard = guard_of(rows, shared_filter(PERHAPS_KIND_CUCKOO, 1000, 0.001))};
    uint64_t key = 5;
    assert_int_equal(asks(witness.guard, key), 0);
    assert_int_equal(perhaps_guard_add(witness.guard, &key, sizeof key, look, &witness, NULL), 1);
    assert_int_equal(witness.answer, 1);
    rows->rows[key] = 1;
    witness.answer = 7;
    assert_int_equal(perhaps_guard_remove(witness.guard, &key, sizeof key, look, &witness, NULL), 0); // nothing deleted
    assert_int_equal(witness.answer, 1);
    assert_int_equal(asks(witness.guard, key), 1);
    assert_int_equal(remove_row(witness.guard, rows, key), 1);
    assert_int_equal(asks(witness.guard, key), 0);
    perhaps_guard_free(witness.guard);
    free_rows(rows);
}

static void test_rows_with_one_key_removed_one_by_one(void **state)
{
    for (size_t i = 2; i < COUNT(kinds); i++) {
        struct rows *rows = make_rows(true);
        perhaps_filter *filter = shared_filter(kinds[i], 1000, 0.001);
        perhaps_guard *guard = guard_of(rows, filter);
        for (int row = 0; row < 40; row++) { // more than a cuckoo filter has slots for copies
            assert_int_equal(add_row(guard, rows, 9), row == 0);
        }
        perhaps_statistics own = {.size = sizeof own};
        assert_int_equal(perhaps_stats(filter, &own), 0);
        assert_int_equal(own.copies, 1);
        for (int left = 39; left >= 0; left--) {
            assert_int_equal(remove_row(guard, rows, 9), left == 0);
            assert_int_equal(asks(guard, 9), left > 0);
        }
        assert_int_equal(statistics_of(guard).residue, 0);
        perhaps_guard_free(guard);
        free_rows(rows);
    }
}

// A tiny filter at p = 0.1 mistakes many keys: removing one that the store never had must take nobody's copy.
static void test_removing_what_was_never_there(void **state)
{
    struct rows *rows = make_rows(true);
    perhaps_guard *guard = guard_of(rows, shared_filter(PERHAPS_KIND_CUCKOO, 2000, 0.1));
    add_rows(guard, rows, 0, 1900);
    uint64_t mistaken = 0;
    for (uint64_t key = 2000; key < 30000; key++) {
        mistaken += asks(guard, key) == 1;
        assert_int_equal(remove_row(guard, rows, key), 0);
    }
    assert_true(mistaken > 1000);
    assert_int_equal(missed(guard, rows), 0);
    perhaps_guard_free(guard);
    free_rows(rows);
}

// Keys that look alike: each gets a copy of its own, so that taking one leaves the other.
static void test_look_alikes(void **state)
{
    struct rows *rows = make_rows(true);
    perhaps_guard *guard = guard_of(rows, shared_filter(PERHAPS_KIND_CUCKOO, 20000, 0.1));
    uint64_t alike = 0;
    for (uint64_t key = 0; key < 18000; key++) {
        alike += add_row(guard, rows, key) == 0;
    }
    assert_true(alike > 200);
    for (uint64_t key = 0; key < 18000; key += 3) {
        (void)remove_row(guard, rows, key);
    }
    assert_int_equal(missed(guard, rows), 0);
    perhaps_guard_free(guard);
    free_rows(rows);
}

/* ---------------------------------------------------------------- failures */

static void test_writes_that_fail(void **state)
{
    struct rows *rows = make_rows(true);
    perhaps_guard *guard = guard_of(rows, shared_filter(PERHAPS_KIND_CUCKOO, 1000, 0.001));
    uint64_t key = 1;
    rows->fail_write = PERHAPS_E_IO;
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(perhaps_guard_add(guard, &key, sizeof key, rows_insert, rows, &error), PERHAPS_E_IO);
    assert_int_equal(error.code, PERHAPS_E_IO);
    assert_string_equal(error.subject, "store");
    assert_int_equal(asks(guard, key), 1); // nobody knows whether the store has it
    assert_int_equal(statistics_of(guard).residue, 1);
    assert_int_equal(statistics_of(guard).adds, 0);
    rows->fail_write = 0;
    assert_int_equal(add_row(guard, rows, 2), 1);
    rows->fail_write = PERHAPS_E_IO;
    assert_int_equal(remove_row(guard, rows, 2), PERHAPS_E_IO);
    assert_int_equal(asks(guard, 2), 1);
    rows->fail_write = 0;
    rows->fail_contains = PERHAPS_E_IO;
    assert_int_equal(remove_row(guard, rows, 2), PERHAPS_E_IO); // not asked, not written
    assert_int_equal(rows->rows[2], 1);
    assert_int_equal(statistics_of(guard).removals, 0);
    perhaps_guard_free(guard);
    free_rows(rows);
}

// A store that deletes, and then cannot say whether that was the last row.
static int delete_and_break(void *context, const void *key, size_t length, perhaps_error *error)
{
    struct rows *rows = context;
    int result = rows_delete(context, key, length, error);
    rows->fail_contains = PERHAPS_E_IO;
    return result;
}

static void test_store_that_cannot_say_what_is_left(void **state)
{
    struct rows *rows = make_rows(true);
    perhaps_guard *guard = guard_of(rows, shared_filter(PERHAPS_KIND_CUCKOO, 1000, 0.001));
    uint64_t key = 3;
    add_rows(guard, rows, key, 1);
    rows->rows[key] = 2;
    assert_int_equal(perhaps_guard_remove(guard, &key, sizeof key, delete_and_break, rows, NULL), 0);
    assert_int_equal(asks(guard, key), 1);
    assert_int_equal(statistics_of(guard).residue, 1);
    perhaps_guard_free(guard);
    free_rows(rows);
}

static void test_misuse(void **state)
{
    struct rows *rows = make_rows(true);
    perhaps_guard *guard = guard_of(rows, shared_filter(PERHAPS_KIND_CUCKOO, 1000, 0.001));
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(perhaps_guard_add(NULL, "x", 1, NULL, NULL, &error), PERHAPS_E_ARGUMENT);
    assert_string_equal(error.subject, "guard");
    assert_int_equal(perhaps_guard_add(guard, NULL, 1, NULL, NULL, &error), PERHAPS_E_ARGUMENT);
    assert_string_equal(error.subject, "key");
    assert_int_equal(perhaps_guard_remove(NULL, "x", 1, rows_delete, rows, NULL), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_guard_remove(guard, NULL, 1, rows_delete, rows, NULL), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_guard_remove(guard, "x", 1, NULL, NULL, &error), PERHAPS_E_ARGUMENT);
    assert_string_equal(error.subject, "write");
    perhaps_guard_free(guard);
    perhaps_guard_options options = {.size = sizeof options,
                                     .adopted = shared_filter(PERHAPS_KIND_CUCKOO, 1000, 0.001)};
    guard = guard_with(&options);
    assert_int_equal(perhaps_guard_remove(guard, "x", 1, rows_delete, rows, &error), PERHAPS_E_UNSUPPORTED);
    assert_int_equal(perhaps_guard_add(guard, "x", 1, NULL, NULL, NULL), 1);
    assert_int_equal(perhaps_guard_ask(guard, "x", 1), 1);
    perhaps_guard_free(guard);
    perhaps_options hashed = {.size = sizeof hashed, .capacity = 9, .fpr = 0.1, .hash_source = PERHAPS_HASH_CALLER};
    perhaps_filter *caller = NULL;
    assert_int_equal(perhaps_create(&hashed, &caller, NULL), 0);
    guard = guard_of(rows, caller);
    uint64_t key = 0;
    assert_int_equal(add_row(guard, rows, key), PERHAPS_E_UNSUPPORTED);
    assert_int_equal(remove_row(guard, rows, key), PERHAPS_E_UNSUPPORTED);
    assert_int_equal(rows->rows[key], 0);
    perhaps_guard_free(guard);
    free_rows(rows);
}

/* ---------------------------------------------------------------- keys that the filter refuses */

static perhaps_filter *refusing_filter(uint64_t capacity)
{
    perhaps_options options = {.size = sizeof options,
                               .kind = PERHAPS_KIND_CUCKOO,
                               .capacity = capacity,
                               .fpr = 0.001,
                               .at_capacity = PERHAPS_AT_CAPACITY_REFUSE,
                               .flags = PERHAPS_SHARED};
    perhaps_filter *filter = NULL;
    assert_int_equal(perhaps_create(&options, &filter, NULL), 0);
    return filter;
}

// The store takes every key; the filter 100 of them, the exact set 50 more; then the guard lets everything through.
static void test_refused_keys(void **state)
{
    struct rows *rows = make_rows(true);
    perhaps_store store = store_of(rows);
    perhaps_guard_options options = {
        .size = sizeof options, .adopted = refusing_filter(100), .store = &store, .overflow = 50};
    perhaps_guard *guard = guard_with(&options);
    add_rows(guard, rows, 0, 150);
    perhaps_guard_statistics statistics = statistics_of(guard);
    assert_int_equal(statistics.overflow, 50);
    assert_int_equal(statistics.overflow_limit, 50);
    assert_int_equal(statistics.refused, 50);
    assert_int_not_equal(statistics.verdict, PERHAPS_GUARD_DEGRADED);
    assert_int_equal(missed(guard, rows), 0);
    assert_true(passed(guard, rows) < 500); // exact, so that nothing else passes
    assert_int_equal(perhaps_guard_save(guard, "/nowhere/at/all", NULL), PERHAPS_E_FULL);

    for (uint64_t key = 0; key < 150; key += 2) { // from the filter and from the set
        assert_int_equal(remove_row(guard, rows, key), 1);
        assert_true(asks(guard, key) == 0 || key < 100);
    }
    assert_int_equal(statistics_of(guard).overflow, 25);
    assert_int_equal(missed(guard, rows), 0);
    add_rows(guard, rows, 1000, 120);
    assert_int_equal(statistics_of(guard).verdict, PERHAPS_GUARD_DEGRADED);
    assert_int_equal(missed(guard, rows), 0);
    assert_int_equal(asks(guard, 60000), 1);
    uint64_t offsets[] = {0, 8};
    uint64_t absent = 60001;
    uint8_t out = 0;
    assert_int_equal(perhaps_guard_ask_many(guard, &absent, offsets, 1, &out, NULL), 0);
    assert_int_equal(out, 1);
    perhaps_guard_free(guard);
    free_rows(rows);
}

// What a batch asks for is looked for beside the filter as well.
static void test_refused_keys_in_batches(void **state)
{
    struct rows *rows = make_rows(true);
    perhaps_guard *guard = guard_of(rows, refusing_filter(10));
    add_rows(guard, rows, 0, 100);
    static uint64_t keys[100];
    static uint64_t offsets[101];
    uint8_t out[100];
    for (uint64_t i = 0; i < 100; i++) {
        keys[i] = i;
        offsets[i + 1] = (i + 1) * sizeof keys[0];
    }
    assert_int_equal(perhaps_guard_ask_many(guard, keys, offsets, 100, out, NULL), 0);
    for (size_t i = 0; i < 100; i++) {
        assert_int_equal(out[i], 1);
    }
    perhaps_guard_free(guard);
    free_rows(rows);
}

// A borrowed filter is not changed: what is added goes beside it.
static void test_borrowed_filter(void **state)
{
    struct rows *rows = make_rows(true);
    perhaps_store store = store_of(rows);
    perhaps_filter *filter = shared_filter(PERHAPS_KIND_BLOOM, 1000, 0.01);
    perhaps_guard_options options = {.size = sizeof options, .filter = filter, .store = &store};
    perhaps_guard *guard = guard_with(&options);
    add_rows(guard, rows, 0, 500);
    perhaps_statistics own = {.size = sizeof own};
    assert_int_equal(perhaps_stats(filter, &own), 0);
    assert_int_equal(own.adds, 0);
    assert_int_equal(missed(guard, rows), 0);
    assert_int_equal(statistics_of(guard).overflow, 500);
    perhaps_guard_free(guard);
    perhaps_free(filter);
    free_rows(rows);
}

// Others write as well: what looks like a copy of their key is another's, and stays.
static void test_outside_writers(void **state)
{
    struct rows *rows = make_rows(true);
    perhaps_store store = store_of(rows);
    perhaps_guard_options options = {.size = sizeof options,
                                     .adopted = shared_filter(PERHAPS_KIND_CUCKOO, 2000, 0.1),
                                     .store = &store,
                                     .flags = PERHAPS_GUARD_OUTSIDE_WRITERS};
    perhaps_guard *guard = guard_with(&options);
    add_rows(guard, rows, 0, 1500);
    for (uint64_t key = 5000; key < 20000; key++) {
        rows->rows[key] = 1; // behind the guard's back
        assert_int_equal(remove_row(guard, rows, key), 0);
    }
    assert_int_equal(missed(guard, rows), 0);
    assert_int_equal(statistics_of(guard).residue, 15000);
    rows->rows[30000] = 1;
    uint64_t key = 30000;
    assert_in_range(perhaps_guard_add(guard, &key, sizeof key, NULL, NULL, NULL), 0, 1); // reported
    assert_int_equal(asks(guard, 30000), 1);
    perhaps_guard_free(guard);
    free_rows(rows);
}

/* ---------------------------------------------------------------- one key, many threads */

#define THREADS 4
#define ROUNDS 3000

struct writer {
    perhaps_guard *guard;
    struct rows *rows;
    uint64_t seed;
    uint64_t missed;
    uint64_t failed;
};

// Everyone adds and removes rows of the same few keys; who has just added one must see it until he removes it.
static void *add_and_remove(void *context)
{
    struct writer *writer = context;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        writer->seed = writer->seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint64_t key = (writer->seed >> 40) % 8;
        writer->failed += add_row(writer->guard, writer->rows, key) < 0;
        writer->missed += asks(writer->guard, key) == 0;
        writer->failed += remove_row(writer->guard, writer->rows, key) < 0;
    }
    return NULL;
}

static void test_one_key_from_many_threads(void **state)
{
    struct rows *rows = make_rows(true);
    perhaps_filter *filter = shared_filter(PERHAPS_KIND_CUCKOO, 1000, 1e-6);
    perhaps_guard *guard = guard_of(rows, filter);
    struct writer writers[THREADS];
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        writers[i] = (struct writer){.guard = guard, .rows = rows, .seed = i};
        assert_int_equal(pthread_create(&threads[i], NULL, add_and_remove, &writers[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(writers[i].missed, 0);
        assert_int_equal(writers[i].failed, 0);
    }
    perhaps_statistics own = {.size = sizeof own};
    assert_int_equal(perhaps_stats(filter, &own), 0);
    assert_int_equal(own.copies, 0); // exactly one copy came and went for each key
    assert_int_equal(statistics_of(guard).residue, 0);
    perhaps_guard_free(guard);
    free_rows(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add_and_remove),
        cmocka_unit_test(test_filter_first_then_store),
        cmocka_unit_test(test_rows_with_one_key_removed_one_by_one),
        cmocka_unit_test(test_removing_what_was_never_there),
        cmocka_unit_test(test_look_alikes),
        cmocka_unit_test(test_writes_that_fail),
        cmocka_unit_test(test_store_that_cannot_say_what_is_left),
        cmocka_unit_test(test_misuse),
        cmocka_unit_test(test_refused_keys),
        cmocka_unit_test(test_refused_keys_in_batches),
        cmocka_unit_test(test_borrowed_filter),
        cmocka_unit_test(test_outside_writers),
        cmocka_unit_test(test_one_key_from_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
