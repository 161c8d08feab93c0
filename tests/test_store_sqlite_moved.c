// SPDX-License-Identifier: MIT
// Database files that others replace or delete while they are open, and rows that change between the steps of a question.
#include "follow_helpers.h"

#include <pthread.h>

// As it is done to have the new file at once: beside, and then over the old one.
static void replace(const char *sql)
{
    make("new.db", sql);
    assert_int_equal(rename("new.db", "a.db"), 0);
}

static int fails(const char *key)
{
    int code = ask(sqlite, key, strlen(key));
    assert_true(code < 0);
    return code;
}

/* ---------------------------------------------------------------- questions */

#define T "CREATE TABLE t(k TEXT);"

static void test_replaced(void **state)
{
    sqlite = open_column("t", "k");
    assert_int_equal(ask(sqlite, BYTES("1")), 1);
    assert_int_equal(perhaps_store_sqlite_indexed(sqlite), 1);
    replace(T "INSERT INTO t VALUES ('new'), ('newer')");
    assert_int_equal(ask(sqlite, BYTES("1")), 0); // the old file, which is still open, would say otherwise
    assert_int_equal(ask(sqlite, BYTES("new")), 1);
    assert_int_equal(perhaps_store_sqlite_indexed(sqlite), 0);
    replace(T "INSERT INTO t VALUES ('newest')");
    assert_int_equal(count_keys(sqlite), 1);
    assert_int_equal(ask(sqlite, BYTES("newest")), 1);
}

static void test_deleted(void **state)
{
    sqlite = open_column("t", "k");
    assert_int_equal(rename("a.db", "b.db"), 0);
    uint64_t count = 0;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fails("1"), PERHAPS_E_IO);
        assert_int_equal(perhaps_store_sqlite_count(sqlite, &count, NULL), PERHAPS_E_IO);
    }
    assert_int_equal(rename("b.db", "a.db"), 0);
    assert_int_equal(ask(sqlite, BYTES("1")), 1);
}

// What takes its place is judged anew.
static void test_replaced_by_another(void **state)
{
    sqlite = open_column("t", "k");
    replace("CREATE TABLE t(k INTEGER); INSERT INTO t VALUES (1)");
    assert_int_equal(fails("1"), PERHAPS_E_UNSUPPORTED);
    replace("CREATE TABLE t(k TEXT COLLATE NOCASE); INSERT INTO t VALUES ('a')");
    assert_int_equal(fails("A"), PERHAPS_E_UNSUPPORTED);
    replace("CREATE TABLE other(k TEXT)");
    assert_int_equal(fails("1"), PERHAPS_E_ARGUMENT);
    FILE *file = fopen("new.db", "w");
    assert_true(file != NULL && fputs("no database, but a text of some length", file) >= 0 && fclose(file) == 0);
    assert_int_equal(rename("new.db", "a.db"), 0);
    assert_int_equal(fails("1"), PERHAPS_E_IO);
    replace("CREATE VIEW t AS SELECT 'x' AS k");
    assert_int_equal(ask(sqlite, BYTES("x")), 1);
}

// The path is what counts, also when it is a link that points elsewhere now.
static void test_link(void **state)
{
    make("1.db", T "INSERT INTO t VALUES ('one')");
    make("2.db", T "INSERT INTO t VALUES ('two')");
    assert_int_equal(unlink("a.db") | symlink("1.db", "a.db"), 0);
    sqlite = open_column("t", "k");
    assert_int_equal(ask(sqlite, BYTES("one")), 1);
    assert_int_equal(unlink("a.db") | symlink("2.db", "a.db"), 0);
    assert_int_equal(ask(sqlite, BYTES("one")), 0);
    assert_int_equal(ask(sqlite, BYTES("two")), 1);
}

static int ignore_visit(void *visitor, const void *key, size_t length)
{
    *(uint64_t *)visitor += key != NULL && length > 0;
    return 0;
}

// So is what is listed, by whichever connection: a filter of keys that compare otherwise would deny what the column has.
static void test_listings_are_judged(void **state)
{
    static const char *const others[] = {
        "CREATE TABLE t(k TEXT COLLATE NOCASE); INSERT INTO t VALUES ('a'), ('A')",
        "PRAGMA encoding = 'UTF-16'; CREATE TABLE t(k TEXT); INSERT INTO t VALUES ('a'), ('A')",
        "CREATE TABLE t(k INTEGER); INSERT INTO t VALUES (1)",
    };
    perhaps_store store;
    perhaps_store_changes changes;
    sqlite = open_column("t", "k");
    assert_int_equal(perhaps_store_sqlite_store(sqlite, &store), 0);
    assert_int_equal(perhaps_store_sqlite_changes(sqlite, 0, &changes, NULL), 0);
    for (size_t i = 0; i < COUNT(others); i++) {
        uint64_t keys = 0;
        uint64_t count = 0;
        perhaps_store_position position;
        replace(others[i]);
        assert_int_equal(store.each_key(store.context, ignore_visit, &keys, NULL), PERHAPS_E_UNSUPPORTED);
        assert_int_equal(store.count(store.context, &count, NULL), PERHAPS_E_UNSUPPORTED);
        assert_int_equal(changes.list(changes.context, &position, ignore_visit, &keys, NULL), PERHAPS_E_UNSUPPORTED);
        assert_int_equal(keys + count, 0);
    }
}

/* ---------------------------------------------------------------- guards */

static const char *const other_rows = "CREATE TABLE t (id INTEGER PRIMARY KEY, k TEXT, other); CREATE INDEX i ON t(k);"
                                      "WITH RECURSIVE n(v) AS (SELECT 400 UNION ALL SELECT v + 1 FROM n WHERE v < 899) "
                                      "INSERT INTO t(k) SELECT CAST(v AS TEXT) FROM n";

static void replace_store(bool logged)
{
    make("new.db", other_rows);
    if (logged) {
        assert_int_equal(perhaps_store_sqlite_install_log("new.db", "t", "k", 0, NULL), 1);
    }
    assert_int_equal(rename("new.db", "a.db"), 0);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    db = open_writer("a.db");
}

// It notices at the next catch-up, and follows the new file from the next rebuild on.
static void follow_over(const struct setting *setting, bool logged)
{
    perhaps_guard *guard = start_guard(setting);
    rebuild(guard);
    catch_up(guard, 0, "");
    replace_store(logged);
    catch_up(guard, 1, "another file has taken its place");
    assert_int_equal(asks(guard, 950), 1); // nothing is proof now
    assert_int_equal(missed(guard), 0);
    catch_up(guard, 1, "");
    rebuild(guard);
    assert_int_equal(statistics_of(guard).state, PERHAPS_GUARD_READY);
    assert_int_equal(missed(guard), 0);
    assert_true(passed(guard) < 30);
    catch_up(guard, 0, "");
    run(db, "INSERT INTO t(k) VALUES ('950')");
    perhaps_error error = {.size = sizeof error};
    int code = perhaps_guard_catch_up(guard, &error);
    if (code == 1) { // without a log, nobody knows
        rebuild(guard);
    }
    assert_int_equal(code, logged || setting->appended != 0 ? 0 : 1);
    assert_int_equal(asks(guard, 950), 1);
    save(guard);
    perhaps_guard_free(guard);
    guard = start_guard(setting);
    reload(guard, 0, "");
    assert_int_equal(missed(guard), 0);
    perhaps_guard_free(guard);
}

static void test_guards_go_over(void **state)
{
    static const struct setting settings[] = {
        CUCKOO_FOLLOWS,
        {.kind = PERHAPS_KIND_BLOOM, .flags = PERHAPS_GUARD_FOLLOWS, .appended = 1},
        {.kind = PERHAPS_KIND_BLOOM, .flags = PERHAPS_GUARD_OUTSIDE_WRITERS},
    };
    for (size_t i = 0; i < COUNT(settings); i++) {
        for (int logged = 0; logged < 2; logged++) {
            if (logged != 0) {
                install_log();
            }
            follow_over(&settings[i], logged != 0);
        }
    }
}

// While there is no file, there is no new filter, and nothing is proof.
static void test_guard_without_its_store(void **state)
{
    install_log();
    perhaps_guard *guard = start_guard(&(struct setting)CUCKOO_FOLLOWS);
    rebuild(guard);
    assert_int_equal(rename("a.db", "b.db"), 0);
    for (int i = 0; i < 2; i++) {
        catch_up(guard, 1, i == 0 ? "another file has taken its place" : "");
        assert_int_equal(perhaps_guard_rebuild(guard, 0, NULL), PERHAPS_E_IO);
        assert_int_equal(perhaps_store_sqlite_way(sqlite, NULL), PERHAPS_E_IO);
        assert_int_equal(asks(guard, 950), 1);
    }
    assert_int_equal(rename("b.db", "a.db"), 0);
    rebuild(guard);
    catch_up(guard, 0, "");
    assert_int_equal(missed(guard), 0);
    perhaps_guard_free(guard);
}

// A filter of the old file must not be saved with a position in the new one.
static void test_no_position_in_another_file(void **state)
{
    install_log();
    make_file(&(struct setting)CUCKOO_ALONE);
    perhaps_guard *guard = start_guard(&(struct setting)CUCKOO_ALONE);
    reload(guard, 0, "");
    replace_store(true);
    perhaps_error error = {.size = sizeof error};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(perhaps_guard_save(guard, "f", &error), PERHAPS_E_IO);
        assert_contains_text(error.text, "open the store anew");
        rebuild(
            guard); // answers from the new file, and does not go over to it: the old filter, too, would be saved as one of it
        assert_int_equal(missed(guard), 0);
    }
    assert_int_equal(perhaps_guard_save(guard, "f", &error), PERHAPS_E_IO);
    perhaps_guard_free(guard);
    guard = start_guard(&(struct setting)CUCKOO_ALONE);
    reload(guard, 1, "cannot tell what changed");
    perhaps_guard_free(guard);
}

/* ---------------------------------------------------------------- threads */

struct asker {
    pthread_t thread;
    int stop;
    uint64_t asked;
    uint64_t wrong;
};

// Every file has the key.
static void *ask_without_pause(void *context)
{
    struct asker *asker = context;
    while (__atomic_load_n(&asker->stop, __ATOMIC_RELAXED) == 0) {
        asker->wrong += ask(sqlite, BYTES("450")) != 1;
        asker->asked++;
    }
    return NULL;
}

static void test_replaced_beside_questions(void **state)
{
    perhaps_store store;
    perhaps_store_changes changes;
    struct asker askers[2] = {{.stop = 0}, {.stop = 0}};
    sqlite = open_column("t", "k");
    assert_int_equal(perhaps_store_sqlite_store(sqlite, &store), 0);
    assert_int_equal(perhaps_store_sqlite_changes(sqlite, 0, &changes, NULL), 0);
    for (size_t i = 0; i < COUNT(askers); i++) {
        assert_int_equal(pthread_create(&askers[i].thread, NULL, ask_without_pause, &askers[i]), 0);
    }
    for (int i = 0; i < 30; i++) {
        uint64_t keys = 0;
        perhaps_store_position position;
        replace_store(i % 2 == 0);
        assert_int_equal(store.each_key(store.context, ignore_visit, &keys, NULL), 0);
        assert_int_equal(changes.list(changes.context, &position, ignore_visit, &keys, NULL), 0);
        assert_int_equal(keys, 1000);
    }
    for (size_t i = 0; i < COUNT(askers); i++) {
        __atomic_store_n(&askers[i].stop, 1, __ATOMIC_RELAXED);
        assert_int_equal(pthread_join(askers[i].thread, NULL), 0);
        assert_true(askers[i].asked > 0);
        assert_int_equal(askers[i].wrong, 0);
    }
}

/* ---------------------------------------------------------------- between two steps */

static bool armed;

// When a statement of the store has ended, a row turns from a blob into a text.
static int write_between(unsigned type, void *context, void *statement, void *data)
{
    if (type == SQLITE_TRACE_PROFILE && armed && strncmp(sqlite3_sql(statement), "SELECT k", 8) == 0) {
        armed = false;
        run(db, "UPDATE t SET k = CAST(k AS TEXT) WHERE id = 1000");
    }
    return 0;
}

static int trace_all(sqlite3 *opened, char **message, const void *unused)
{
    return sqlite3_trace_v2(opened, SQLITE_TRACE_PROFILE, write_between, NULL);
}

static void test_a_question_sees_one_state(void **state)
{
    perhaps_store_options options = {.size = sizeof options, .query = "SELECT k FROM t WHERE k = ?1"};
    perhaps_error error = {.size = sizeof error};
    run(db, "PRAGMA journal_mode = WAL; CREATE TABLE u(id INTEGER PRIMARY KEY, k); DROP TABLE t;"
            "ALTER TABLE u RENAME TO t; INSERT INTO t VALUES (1000, x'6b6579')");
    assert_int_equal(sqlite3_auto_extension((void (*)(void))trace_all), SQLITE_OK);
    assert_code(perhaps_store_sqlite_open_options("a.db", &options, &sqlite, &error), 0, &error);
    (void)sqlite3_cancel_auto_extension((void (*)(void))trace_all);
    armed = true;
    assert_int_equal(ask(sqlite, BYTES("key")), 1);
    assert_false(armed); // it was written
    run(db, "DELETE FROM t");
    assert_int_equal(ask(sqlite, BYTES("key")), 0); // and the state was let go
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_replaced),
        TEST(test_deleted),
        TEST(test_replaced_by_another),
        TEST(test_link),
        TEST(test_listings_are_judged),
        TEST(test_guards_go_over),
        TEST(test_guard_without_its_store),
        TEST(test_no_position_in_another_file),
        TEST(test_replaced_beside_questions),
        TEST(test_a_question_sees_one_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
