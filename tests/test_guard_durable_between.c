// SPDX-License-Identifier: MIT
// What comes between a filter with a journal and its guard: resumes and rebuilds that fail or are beside a write, and other
// guards at the same file. Whatever it is, no key of the store is missed.
#include "durable_guards.h"

#include <pthread.h>
#include <stdint.h>

/* ---------------------------------------------------------------- resumes that fail */

// The guard goes on with the filter that it has. What the resume took out of it already is not taken out once more, wherever
// between the first removal and the position behind the last the disk was full.
static void test_resume_that_fails(void **state)
{
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    make_from_store(&alike, &setting);
    int code = -1;
    for (uint64_t room = 0; code < 0; room += 104) {
        perhaps_guard *guard = start(&setting);
        assert_int_equal(perhaps_guard_rebuild(guard, 600, NULL), 0);
        run(db, "DELETE FROM t WHERE CAST(k AS INT) BETWEEN 100 AND 299");
        limit_files(journal_of_file().bytes + room);
        code = perhaps_guard_resume(guard, NULL);
        limit_files(0);
        assert_true(code == 0 || code == PERHAPS_E_IO);
        assert_true(code < 0 || room > 1600); // there were failures behind the removals as well
        catch_up(guard, 0, NULL);
        assert_int_equal(missed(guard), 0);
        run(db, "WITH RECURSIVE n(v) AS (SELECT 100 UNION ALL SELECT v + 1 FROM n WHERE v < 299) "
                "INSERT INTO t(k) SELECT CAST(v AS TEXT) FROM n");
        catch_up(guard, 0, NULL);
        assert_int_equal(missed(guard), 0);
        perhaps_guard_free(guard);
    }
}

/* ---------------------------------------------------------------- reports beside a rebuild */

struct late {
    perhaps_store store; // the one that is listed
    perhaps_guard *guard;
    int reported;
};

// As soon as the listing has shown its snapshot, somebody writes a row behind the guard's back, and reports it.
static int list_and_report(void *context, int (*visit)(void *visitor, const void *key, size_t length), void *visitor,
                           perhaps_error *error)
{
    struct late *late = context;
    int code = late->store.each_key(late->store.context, visit, visitor, error);
    run(db, "INSERT INTO t(k) VALUES ('late')");
    late->reported = perhaps_guard_add(late->guard, "late", 4, NULL, NULL, NULL);
    return code;
}

static int ask_listed(void *context, const void *key, size_t length, perhaps_error *error)
{
    const struct late *late = context;
    return late->store.contains(late->store.context, key, length, error);
}

// The filter in use is full. The one that is being made has room.
static void report_beside_rebuild(const perhaps_options *options)
{
    perhaps_error error = {.size = sizeof error};
    struct late late = {.reported = 1};
    begin_file(options);
    sqlite = open_column("t", "k");
    assert_int_equal(perhaps_store_sqlite_store(sqlite, &late.store), 0);
    const perhaps_store store = {
        .context = &late, .contains = ask_listed, .each_key = list_and_report, .flags = late.store.flags};
    const perhaps_guard_options guarded = {.size = sizeof guarded, .adopted = open_file(), .store = &store};
    assert_code(perhaps_guard_create(&guarded, &late.guard, &error), 0, &error);
    int code = 1;
    for (int i = 500; code >= 0 && i < KEYS; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "%d", i);
        code = insert_through(late.guard, key, &error);
    }
    assert_code(code, PERHAPS_E_FULL, &error);
    rebuild(late.guard);
    assert_int_equal(late.reported, PERHAPS_E_FULL); // it was told that the filter did not take it
    assert_int_equal(perhaps_guard_ask(late.guard, "late", 4), 1);
    assert_int_equal(perhaps_guard_ask(late.guard, "later", 5), 0);
    perhaps_guard_free(late.guard);
    assert_true(options->kind != PERHAPS_KIND_CUCKOO || copies_in(FILTER) == count_keys(sqlite));
}

static void test_report_beside_rebuild(void **state)
{
    perhaps_options small = bloom;
    small.capacity = 100;
    small.at_capacity = PERHAPS_AT_CAPACITY_REFUSE;
    report_beside_rebuild(&small);
}

static void test_report_beside_rebuild_that_counts(void **state)
{
    perhaps_options small = cuckoo;
    small.capacity = 100;
    report_beside_rebuild(&small);
}

/* ---------------------------------------------------------------- others at the same file */

static void write_numbers(perhaps_guard *guard, int first, int last)
{
    run(db, "PRAGMA synchronous = OFF"); // nothing crashes
    for (int i = first; i <= last; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "%d", i);
        assert_true(insert_through(guard, key, NULL) >= 0);
    }
}

static void remove_numbers(perhaps_guard *guard, int first, int last, int expected)
{
    run(db, "PRAGMA synchronous = OFF");
    for (int i = first; i <= last; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "%d", i);
        assert_int_equal(remove_through(guard, key), expected);
    }
}

// One program follows and knows its filter exactly; another writes through it, in between, which the position does not tell.
static void test_writers_between(void **state)
{
    install_log();
    const struct setting follows = CUCKOO_FOLLOWS;
    const struct setting alone = CUCKOO_ALONE;
    make_from_store(&alike, &follows);
    for (int followed = 0; followed < 2; followed++) {
        perhaps_guard *guard = guard_on(open_file(), &alone, followed != 0);
        write_numbers(guard, 500 + followed * 50, 549 + followed * 50);
        perhaps_guard_free(guard);
        guard = start(&follows);
        resume(guard, followed != 0 ? 0 : 1, "it does not say where");
        assert_int_equal(missed(guard), 0);
        assert_true(copies_in(FILTER) <= count_keys(sqlite)); // not one came twice
        perhaps_guard_rebuild(guard, 2000, NULL);
        perhaps_guard_free(guard);
    }
}

// The same, in a filter that the other has made anew, and may take keys out of.
static void test_removals_between(void **state)
{
    install_log();
    const struct setting follows = CUCKOO_FOLLOWS;
    const struct setting alone = CUCKOO_ALONE;
    make_from_store(&alike, &follows);
    for (int followed = 0; followed < 2; followed++) {
        perhaps_guard *guard = guard_on(open_file(), &alone, followed != 0);
        assert_int_equal(perhaps_guard_rebuild(guard, 600, NULL), 0);
        remove_numbers(guard, followed * 100, followed * 100 + 99, 1);
        perhaps_guard_free(guard);
        guard = start(&follows);
        resume(guard, followed != 0 ? 0 : 1, "it does not say where");
        assert_int_equal(missed(guard), 0); // not one was taken out twice
        assert_int_equal(copies_in(FILTER), count_keys(sqlite));
        perhaps_guard_free(guard);
    }
}

// Who takes nothing out puts no second copy in where a key is "perhaps" already: its copy is another's, of which nobody
// knows.
static void test_copies_that_are_not_there(void **state)
{
    const struct setting writers = {.flags = PERHAPS_GUARD_OUTSIDE_WRITERS};
    const struct setting alone = CUCKOO_ALONE;
    perhaps_options small = alike;
    small.capacity = 400;
    run(db, "DELETE FROM t");
    begin_file(&small);
    perhaps_guard *guard = guard_on(open_file(), &writers, false);
    write_numbers(guard, 0, 299);
    perhaps_guard_free(guard);
    assert_true(copies_in(FILTER) < 300);
    guard = guard_on(open_file(), &alone, false);
    remove_numbers(guard, 0, 149, 0);
    assert_int_equal(missed(guard), 0);
    assert_int_equal(statistics_of(guard).residue, 150);
    rebuild(guard);
    remove_numbers(guard, 150, 199, 1);
    assert_int_equal(missed(guard), 0);
    assert_int_equal(copies_in(FILTER), count_keys(sqlite));
    perhaps_guard_free(guard);
}

/* ---------------------------------------------------------------- threads */

static void *add_hundred(void *context)
{
    char sql[] = "INSERT INTO t(k) VALUES (?1)";
    uintptr_t failed = 0;
    for (int i = 500; i < 600; i++) {
        char key[16];
        int length = snprintf(key, sizeof key, "%d", i);
        failed += perhaps_guard_add(context, key, (size_t)length, write_in_turn, sql, NULL) < 0;
    }
    return (void *)failed; // NOLINT(performance-no-int-to-ptr): a count, where a thread returns a pointer
}

// Writers on both sides at once. What the catch-up changes in the guard is nothing that they read.
static void test_adders_beside_catch_ups(void **state)
{
    const struct setting setting = {.flags = PERHAPS_GUARD_OUTSIDE_WRITERS};
    pthread_t thread;
    void *failed = NULL;
    run(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF"); // writers and listings do not wait for each other
    install_log();
    make_from_store(&cuckoo, &setting);
    perhaps_guard *guard = start(&setting);
    resume(guard, 0, NULL);
    assert_int_equal(pthread_create(&thread, NULL, add_hundred, guard), 0);
    for (int i = 0; i < 20; i++) {
        (void)pthread_mutex_lock(&writing);
        run(db, "INSERT INTO t(k) SELECT CAST(600 + count(*) % 400 AS TEXT) FROM t");
        (void)pthread_mutex_unlock(&writing);
        catch_up(guard, 0, NULL);
    }
    assert_int_equal(pthread_join(thread, &failed), 0);
    assert_null(failed);
    catch_up(guard, 0, NULL);
    assert_int_equal(missed(guard), 0);
    perhaps_guard_free(guard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_resume_that_fails),
        TEST(test_report_beside_rebuild),
        TEST(test_report_beside_rebuild_that_counts),
        TEST(test_writers_between),
        TEST(test_removals_between),
        TEST(test_copies_that_are_not_there),
        TEST(test_adders_beside_catch_ups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
