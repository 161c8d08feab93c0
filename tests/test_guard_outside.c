// SPDX-License-Identifier: MIT
// Guards that run beside writers of a SQLite table, and the log of what those write.
#include "follow_helpers.h"

#include <pthread.h>

/* ---------------------------------------------------------------- while the program runs */

static void test_following(void **state)
{
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    perhaps_guard *guard = start_guard(&setting);
    rebuild(guard);
    assert_int_equal(asks(guard, 700), 0);
    run(db, "INSERT INTO t(k) VALUES ('700'), ('700')");
    catch_up(guard, 0, NULL);
    assert_int_equal(asks(guard, 700), 1);
    // Rows with one key, removed one by one.
    run(db, "DELETE FROM t WHERE id = (SELECT max(id) FROM t)");
    catch_up(guard, 0, NULL);
    assert_int_equal(asks(guard, 700), 1);
    run(db, "DELETE FROM t WHERE k = '700'");
    catch_up(guard, 0, NULL);
    assert_int_equal(asks(guard, 700), 0);
    perhaps_guard_statistics statistics = statistics_of(guard);
    assert_int_equal(statistics.catch_ups, 3);
    assert_int_equal(statistics.changes, 3);
    assert_int_equal(statistics.residue, 0);
    assert_true(statistics.staleness_seconds >= 0.0 && statistics.staleness_seconds < 3600.0);
    run(db, many_changes);
    catch_up(guard, 0, NULL);
    assert_int_equal(missed(guard), 0);
    save(guard);
    assert_int_equal(copies_in("f"), count_keys(sqlite));
    // A guard that follows is not written through.
    assert_int_equal(perhaps_guard_add(guard, "a", 1, NULL, NULL, NULL), PERHAPS_E_UNSUPPORTED);
    perhaps_guard_free(guard);
}

// A text and a blob of the same bytes are one key.
static void test_text_and_blob(void **state)
{
    run(db, "DROP TABLE t; CREATE TABLE t (id INTEGER PRIMARY KEY, k BLOB)");
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    perhaps_guard *guard = start_guard(&setting);
    rebuild(guard);
    run(db, "INSERT INTO t(k) VALUES ('700'), (x'373030'), ('701'), (''), (x'00')");
    catch_up(guard, 0, NULL);
    run(db, "DELETE FROM t WHERE k = '700'; UPDATE t SET k = CAST(k AS BLOB)");
    catch_up(guard, 0, NULL);
    assert_int_equal(missed(guard), 0);
    assert_int_equal(asks(guard, 700), 1);
    save(guard);
    assert_int_equal(copies_in("f"), 4);
    run(db, "INSERT INTO t(k) VALUES ('700')");
    catch_up(guard, 0, NULL);
    run(db, "DELETE FROM t WHERE k IN ('700', x'373030')"); // both at once
    catch_up(guard, 0, NULL);
    save(guard);
    assert_int_equal(copies_in("f"), 3);
    perhaps_guard_free(guard);
}

// Nothing is known: "perhaps" to everything, until a rebuild.
static void test_without_a_log(void **state)
{
    const struct setting setting = CUCKOO_FOLLOWS;
    perhaps_guard *guard = start_guard(&setting);
    rebuild(guard);
    catch_up(guard, 0, NULL); // nothing was written
    assert_int_equal(asks(guard, 999), 0);
    run(db, "INSERT INTO t(k) VALUES ('700')");
    catch_up(guard, 1, "it has no log");
    assert_int_equal(asks(guard, 999), 1);
    perhaps_guard_statistics statistics = statistics_of(guard);
    assert_int_equal(statistics.state, PERHAPS_GUARD_CATCHING_UP);
    assert_int_equal(statistics.verdict, PERHAPS_GUARD_DEGRADED);
    assert_int_equal(statistics.catch_ups_failed, 1);
    rebuild(guard);
    assert_int_equal(asks(guard, 999), 0);
    assert_int_equal(asks(guard, 700), 1);
    catch_up(guard, 0, NULL);
    assert_int_equal(statistics_of(guard).state, PERHAPS_GUARD_READY);
    perhaps_guard_free(guard);
}

// The same with a trigger: it rebuilds by itself.
static void test_rebuilds_by_itself(void **state)
{
    struct setting setting = CUCKOO_FOLLOWS;
    setting.triggers = PERHAPS_GUARD_ON_DEGRADED;
    perhaps_guard *guard = start_guard(&setting);
    rebuild(guard);
    run(db, "INSERT INTO t(k) VALUES ('700')");
    catch_up(guard, 1, "it has no log");
    assert_int_equal(perhaps_guard_rebuild_wait(guard, NULL), 0);
    assert_int_equal(statistics_of(guard).rebuilds, 2);
    assert_int_equal(asks(guard, 999), 0);
    perhaps_guard_free(guard);
}

// A store that does not answer: "perhaps" to everything, until it does.
static void test_locked(void **state)
{
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    perhaps_guard *guard = start_guard(&setting);
    rebuild(guard);
    run(db, "BEGIN EXCLUSIVE; INSERT INTO t(k) VALUES ('700')");
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(perhaps_guard_catch_up(guard, &error), PERHAPS_E_IO);
    assert_int_equal(asks(guard, 999), 1);
    assert_int_equal(statistics_of(guard).state, PERHAPS_GUARD_CATCHING_UP);
    assert_int_equal(perhaps_guard_catch_up(guard, &error), PERHAPS_E_IO);
    run(db, "COMMIT");
    catch_up(guard, 0, NULL);
    assert_int_equal(asks(guard, 999), 0);
    assert_int_equal(asks(guard, 700), 1);
    assert_int_equal(statistics_of(guard).state, PERHAPS_GUARD_READY);
    perhaps_guard_free(guard);
}

// A question that nobody's filter answered, and one that another filter did, are no false positives of the one in use.
static void test_asked_before_the_exchange(void **state)
{
    const struct setting setting = CUCKOO_FOLLOWS;
    perhaps_guard *guard = start_guard(&setting);
    assert_int_equal(asks(guard, 900), 1);
    assert_int_equal(asks(guard, 901), 1);
    assert_int_equal(perhaps_guard_report(guard, "900", 3, 0), 0); // before the filter is ready
    rebuild(guard);
    assert_int_equal(asks(guard, 901), 0);
    assert_int_equal(perhaps_guard_report(guard, "901", 3, 0), 0);
    perhaps_guard_statistics statistics = statistics_of(guard);
    assert_int_equal(statistics.refuted, 2);
    assert_int_equal(statistics.unfiltered, 2);
    assert_int_equal(statistics.alarm_refuted, 0);
    assert_true(statistics.fpr_observed == 0.0);
    perhaps_guard_free(guard);
}

/* ---------------------------------------------------------------- writers through the guard */

static int write_row(void *context, const void *key, size_t length, perhaps_error *error)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(db, context, -1, &statement, NULL);
    if (result == SQLITE_OK) {
        (void)sqlite3_bind_text(statement, 1, key, (int)length, SQLITE_STATIC);
        result = sqlite3_step(statement);
    }
    (void)sqlite3_finalize(statement);
    return result == SQLITE_DONE ? 0 : PERHAPS_E_IO;
}

static void insert_through(perhaps_guard *guard, const char *key)
{
    char sql[] = "INSERT INTO t(k) VALUES (?1)";
    assert_true(perhaps_guard_add(guard, key, strlen(key), write_row, sql, NULL) >= 0);
}

static int remove_through(perhaps_guard *guard, const char *key)
{
    char sql[] = "DELETE FROM t WHERE id = (SELECT max(id) FROM t WHERE k = ?1)";
    return perhaps_guard_remove(guard, key, strlen(key), write_row, sql, NULL);
}

// The program writes, saves, writes on, and dies. What it wrote after the save is in the log.
static void test_all_writes_through_the_guard(void **state)
{
    install_log();
    const struct setting setting = CUCKOO_ALONE;
    perhaps_guard *guard = start_guard(&setting);
    insert_through(guard, "700"); // before it is ready
    rebuild(guard);
    insert_through(guard, "701");
    assert_int_equal(remove_through(guard, "1"), 1);
    save(guard);
    insert_through(guard, "702");
    insert_through(guard, "702");
    assert_int_equal(remove_through(guard, "2"), 1);
    assert_int_equal(perhaps_guard_catch_up(guard, NULL), PERHAPS_E_UNSUPPORTED);
    perhaps_guard_free(guard);

    guard = start_guard(&setting);
    insert_through(guard, "703");
    reload(guard, 0, NULL);
    assert_int_equal(missed(guard), 0);
    assert_int_equal(remove_through(guard, "702"), 0);
    assert_int_equal(asks(guard, 702), 1);
    assert_int_equal(remove_through(guard, "702"), 1);
    assert_int_equal(remove_through(guard, "701"), 1);
    save(guard);
    assert_int_equal(copies_in("f"), 500); // two of them gone, 700 and 703 came
    assert_true(isnan(statistics_of(guard).staleness_seconds));
    perhaps_guard_free(guard);
}

// Through it and past it: what others removed stays, and is counted.
static void test_both_kinds_of_writers(void **state)
{
    install_log();
    const struct setting setting = {.kind = PERHAPS_KIND_CUCKOO, .flags = PERHAPS_GUARD_OUTSIDE_WRITERS};
    perhaps_guard *guard = start_guard(&setting);
    rebuild(guard);
    insert_through(guard, "700");
    run(db, "INSERT INTO t(k) VALUES ('701'); DELETE FROM t WHERE k = '1'");
    catch_up(guard, 0, NULL);
    assert_int_equal(missed(guard), 0);
    assert_int_equal(asks(guard, 1), 1);
    assert_int_equal(statistics_of(guard).residue, 1);
    save(guard);
    insert_through(guard, "702");
    perhaps_guard_free(guard);
    guard = start_guard(&setting);
    reload(guard, 0, NULL);
    assert_int_equal(missed(guard), 0);
    perhaps_guard_free(guard);
}

/* ---------------------------------------------------------------- in the middle of a rebuild */

static int count_log(void)
{
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM \"perhaps_log.t.k\"", -1, &statement, NULL), 0);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int count = sqlite3_column_int(statement, 0);
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    return count;
}

static perhaps_guard *guard_in_progress;
static bool wrote_in_progress;

static int write_in_progress(void *context, const perhaps_guard_progress *progress)
{
    if (progress->keys == 4096 && !wrote_in_progress) { // the listing has its state by now
        wrote_in_progress = true;
        run(db, "INSERT INTO t(k) VALUES ('700'); DELETE FROM t WHERE k = '1'");
        catch_up(guard_in_progress, 0, NULL); // into the old one
        save(guard_in_progress);
        assert_int_equal(perhaps_guard_forget(guard_in_progress, NULL), 0); // the new one still needs what there is
    }
    return 0;
}

static void test_changes_during_a_rebuild(void **state)
{
    run(db, "PRAGMA journal_mode = WAL");
    install_log();
    run(db, "WITH RECURSIVE n(v) AS (SELECT 1000 UNION ALL SELECT v + 1 FROM n WHERE v < 9999) "
            "INSERT INTO t(k) SELECT CAST(v AS TEXT) FROM n");
    sqlite = open_column("t", "k");
    perhaps_store_changes changes;
    assert_int_equal(perhaps_store_sqlite_store(sqlite, &stored), 0);
    assert_int_equal(perhaps_store_sqlite_changes(sqlite, 0, &changes, NULL), 0);
    perhaps_options made = {
        .size = sizeof made, .kind = PERHAPS_KIND_CUCKOO, .capacity = 20000, .fpr = 0.01, .flags = PERHAPS_SHARED};
    perhaps_filter *filter = NULL;
    assert_int_equal(perhaps_create(&made, &filter, NULL), 0);
    perhaps_guard_options options = {.size = sizeof options,
                                     .adopted = filter,
                                     .store = &stored,
                                     .changes = &changes,
                                     .progress = write_in_progress,
                                     .flags = PERHAPS_GUARD_FOLLOWS};
    assert_int_equal(perhaps_guard_create(&options, &guard_in_progress, NULL), 0);
    wrote_in_progress = true;
    rebuild(guard_in_progress);
    wrote_in_progress = false;
    rebuild(guard_in_progress);
    assert_true(wrote_in_progress);
    assert_int_equal(statistics_of(guard_in_progress).state, PERHAPS_GUARD_READY);
    assert_int_equal(asks(guard_in_progress, 20000), 0);
    assert_int_equal(asks(guard_in_progress, 700), 1); // also in the new one
    assert_int_equal(missed(guard_in_progress), 0);
    save(guard_in_progress);
    assert_int_equal(copies_in("f"), 9500);
    assert_true(count_log() > 9000);
    assert_int_equal(perhaps_guard_forget(guard_in_progress, NULL), 0);
    assert_int_equal(count_log(), 1);
    perhaps_guard_free(guard_in_progress);
}

/* ---------------------------------------------------------------- a store that fails half-way */

static perhaps_store_changes real_changes;
static size_t fail_after; // changes; 0: not

struct cut {
    perhaps_store_change *change;
    void *visitor;
    size_t left;
};

static int cut_change(void *visitor, const void *key, size_t length, int before, int after)
{
    struct cut *cut = visitor;
    return cut->left-- == 0 ? PERHAPS_E_IO : cut->change(cut->visitor, key, length, before, after);
}

static int each_change_cut(void *context, const perhaps_store_position *from, perhaps_store_position *to,
                           perhaps_store_change *change, void *visitor, perhaps_error *error)
{
    struct cut cut = {.change = change, .visitor = visitor, .left = fail_after};
    return fail_after == 0 ? real_changes.each_change(context, from, to, change, visitor, error)
                           : real_changes.each_change(context, from, to, cut_change, &cut, error);
}

// What was done comes again. Taken out twice, a key would take others with it, which look like it.
static void test_changes_that_are_cut_off(void **state)
{
    install_log();
    sqlite = open_column("t", "k");
    perhaps_filter *filter = NULL;
    assert_int_equal(perhaps_store_sqlite_store(sqlite, &stored), 0);
    assert_int_equal(perhaps_store_sqlite_changes(sqlite, 0, &real_changes, NULL), 0);
    perhaps_store_changes changes = real_changes;
    changes.each_change = each_change_cut;
    perhaps_options made = {
        .size = sizeof made, .kind = PERHAPS_KIND_CUCKOO, .capacity = 1000, .fpr = 0.1, .flags = PERHAPS_SHARED};
    assert_int_equal(perhaps_create(&made, &filter, NULL), 0);
    perhaps_guard_options options = {.size = sizeof options,
                                     .adopted = filter,
                                     .store = &stored,
                                     .changes = &changes,
                                     .flags = PERHAPS_GUARD_FOLLOWS};
    perhaps_guard *guard = NULL;
    assert_int_equal(perhaps_guard_create(&options, &guard, NULL), 0);
    fail_after = 0;
    assert_int_equal(perhaps_guard_rebuild(guard, 600, NULL), 0);
    run(db, "DELETE FROM t WHERE id % 2 = 0");
    for (fail_after = 1; fail_after < 250; fail_after += 10) {
        assert_int_equal(perhaps_guard_catch_up(guard, NULL), PERHAPS_E_IO);
        assert_int_equal(asks(guard, 999), 1);
    }
    fail_after = 0;
    catch_up(guard, 0, NULL);
    assert_int_equal(missed(guard), 0);
    assert_true(statistics_of(guard).residue > 200);
    rebuild(guard); // is exact again
    run(db, "DELETE FROM t WHERE id % 3 = 0");
    catch_up(guard, 0, NULL);
    save(guard);
    assert_int_equal(copies_in("f"), count_keys(sqlite));
    perhaps_guard_free(guard);
}

/* ---------------------------------------------------------------- threads */

struct asking {
    perhaps_guard *guard;
    uint32_t stop;
    int missed;
};

static void *ask_without_pause(void *context)
{
    struct asking *asking = context;
    while (__atomic_load_n(&asking->stop, __ATOMIC_RELAXED) == 0) {
        for (int i = 0; i < 100; i++) { // these stay
            asking->missed += asks(asking->guard, i) != 1;
        }
    }
    return NULL;
}

// Questions go on while the filter follows, is made anew, saved and loaded again.
static void test_questions_meanwhile(void **state)
{
    run(db, "PRAGMA journal_mode = WAL");
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    perhaps_guard *guard = start_guard(&setting);
    struct asking asking = {.guard = guard};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, ask_without_pause, &asking), 0);
    rebuild(guard);
    for (int i = 0; i < 20; i++) {
        run(db, "INSERT INTO t(k) SELECT CAST(CAST(k AS INT) + 500 AS TEXT) FROM t WHERE CAST(k AS INT) < 500;"
                "DELETE FROM t WHERE CAST(k AS INT) BETWEEN 100 AND 150 OR CAST(k AS INT) > 800;"
                "INSERT INTO t(k) SELECT CAST(id AS TEXT) FROM t WHERE id BETWEEN 100 AND 150");
        catch_up(guard, 0, NULL);
        save(guard);
        if (i % 5 == 0) {
            rebuild(guard);
        }
        reload(guard, 0, NULL);
    }
    __atomic_store_n(&asking.stop, 1, __ATOMIC_RELAXED);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(asking.missed, 0);
    assert_int_equal(missed(guard), 0);
    save(guard);
    assert_int_equal(copies_in("f"), count_keys(sqlite));
    perhaps_guard_free(guard);
}

static void *write_without_pause(void *context)
{
    struct asking *asking = context;
    for (int i = 0; __atomic_load_n(&asking->stop, __ATOMIC_RELAXED) == 0 && i < 20000; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "%d", 600 + i % 300);
        if (i / 300 % 2 == 0) {
            insert_through(asking->guard, key);
        } else {
            (void)remove_through(asking->guard, key);
        }
    }
    return NULL;
}

// A save in the midst of writes through the guard: its position and its filter are of one moment, so that what comes after
// it comes exactly once.
static void test_saves_beside_writes(void **state)
{
    run(db, "PRAGMA journal_mode = WAL");
    install_log();
    const struct setting setting = CUCKOO_ALONE;
    for (int round = 0; round < 8; round++) {
        perhaps_guard *guard = start_guard(&setting);
        rebuild(guard);
        struct asking asking = {.guard = guard};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, write_without_pause, &asking), 0);
        for (int i = 0; i < 20; i++) {
            save(guard);
        }
        __atomic_store_n(&asking.stop, 1, __ATOMIC_RELAXED);
        assert_int_equal(pthread_join(thread, NULL), 0);
        perhaps_guard_free(guard); // dies without another save
        guard = start_guard(&setting);
        reload(guard, 0, NULL);
        assert_int_equal(missed(guard), 0);
        save(guard);
        assert_int_equal(copies_in("f"), count_keys(sqlite));
        perhaps_guard_free(guard);
    }
}

/* ---------------------------------------------------------------- the log, and refusals */

static void test_log_refusals(void **state)
{
    perhaps_error error = {.size = sizeof error};
    run(db, "CREATE VIEW v AS SELECT k FROM t; CREATE TABLE n (k TEXT COLLATE NOCASE)");
    assert_int_equal(perhaps_store_sqlite_install_log("a.db", "v", "k", 0, &error), PERHAPS_E_UNSUPPORTED);
    assert_contains_text(error.text, "view");
    assert_int_equal(perhaps_store_sqlite_install_log("a.db", "n", "k", 0, &error), PERHAPS_E_UNSUPPORTED);
    assert_contains_text(error.text, "NOCASE");
    assert_int_equal(perhaps_store_sqlite_install_log("a.db", "t", NULL, 0, &error), PERHAPS_E_ARGUMENT);
    run(db, "CREATE TABLE \"perhaps_log.t.k\" (mine)");
    assert_int_equal(perhaps_store_sqlite_install_log("a.db", "t", "k", 0, &error), PERHAPS_E_UNSUPPORTED);
    assert_contains_text(error.text, "not as this release makes it");
    run(db, "DROP TABLE \"perhaps_log.t.k\"");
    assert_int_equal(perhaps_store_sqlite_install_log("a.db", "T", "K", 0, &error), 1);
    assert_int_equal(perhaps_store_sqlite_install_log("a.db", "t", "k", 0, &error), 0);
    sqlite = open_column("t", "k");
    assert_int_equal(perhaps_store_sqlite_way(sqlite, NULL), PERHAPS_SQLITE_LOG);
    assert_int_equal(perhaps_store_sqlite_remove_log("a.db", "t", "k", 0, &error), 1);
    assert_int_equal(perhaps_store_sqlite_way(sqlite, NULL), PERHAPS_SQLITE_VERSION);
    perhaps_store_changes changes;
    assert_int_equal(perhaps_store_sqlite_changes(sqlite, 1, &changes, NULL), 0);
    assert_int_equal(perhaps_store_sqlite_way(sqlite, NULL), PERHAPS_SQLITE_APPENDED);
    run(db, "BEGIN EXCLUSIVE");
    assert_int_equal(perhaps_store_sqlite_install_log("a.db", "t", "k", 0, &error), PERHAPS_E_IO);
    run(db, "COMMIT");
}

static void test_rows_refusals(void **state)
{
    run(db, "CREATE TABLE w (k TEXT PRIMARY KEY) WITHOUT ROWID; CREATE TABLE r (rowid TEXT, k TEXT);"
            "CREATE VIEW v AS SELECT k FROM t");
    static const char *const tables[] = {"w", "r", "v"};
    for (size_t i = 0; i < COUNT(tables); i++) {
        perhaps_store_sqlite *other = open_column(tables[i], "k");
        perhaps_store_changes changes;
        perhaps_error error = {.size = sizeof error};
        assert_int_equal(perhaps_store_sqlite_changes(other, 1, &changes, &error), PERHAPS_E_UNSUPPORTED);
        assert_contains_text(error.text, "row ids");
        assert_int_equal(perhaps_store_sqlite_changes(other, 0, &changes, &error), 0);
        perhaps_store_sqlite_close(other);
    }
}

// Of a query, and of a canonical form, only the version is known, whatever log there is.
static void test_queries(void **state)
{
    install_log();
    const perhaps_store_options kinds[] = {
        {.size = sizeof kinds[0], .query = "SELECT k FROM t WHERE k = ?1"},
        {.size = sizeof kinds[0], .table = "t", .column = "k", .canonical = PERHAPS_CANONICAL_LOWER},
    };
    for (size_t i = 0; i < COUNT(kinds); i++) {
        perhaps_store_sqlite *other = NULL;
        perhaps_store_changes changes;
        perhaps_store_position before;
        perhaps_store_position now;
        perhaps_error error = {.size = sizeof error};
        assert_int_equal(perhaps_store_sqlite_open_options("a.db", &kinds[i], &other, &error), 0);
        assert_int_equal(perhaps_store_sqlite_changes(other, 1, &changes, &error), PERHAPS_E_UNSUPPORTED);
        assert_int_equal(perhaps_store_sqlite_changes(other, 0, &changes, &error), 0);
        assert_int_equal(perhaps_store_sqlite_way(other, &error), PERHAPS_SQLITE_VERSION);
        assert_int_equal(changes.position(changes.context, &before, &error), 0);
        assert_int_equal(changes.each_change(changes.context, &before, &now, NULL, NULL, &error), 0);
        run(db, "INSERT INTO t(k) VALUES ('700')");
        assert_int_equal(changes.each_change(changes.context, &before, &now, NULL, NULL, &error), 1);
        perhaps_store_sqlite_close(other);
    }
}

// What was consumed goes; the row of the position stays.
static void test_forgetting(void **state)
{
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    restart_over_changes(&setting, many_changes, 0, NULL);
    assert_int_equal(count_log(), 1);
    perhaps_guard *guard = start_guard(&setting);
    reload(guard, 0, NULL);
    perhaps_guard_free(guard);
}

static void refuse_guard(perhaps_guard_options options, int code, const char *words)
{
    perhaps_error error = {.size = sizeof error};
    perhaps_guard *guard = NULL;
    options.size = sizeof options;
    assert_int_equal(perhaps_guard_create(&options, &guard, &error), code);
    assert_contains_text(error.text, words);
}

static void test_option_refusals(void **state)
{
    sqlite = open_column("t", "k");
    perhaps_store_changes changes;
    perhaps_filter *filter = NULL;
    perhaps_options made = {.size = sizeof made, .capacity = 1, .fpr = 0.1, .flags = PERHAPS_SHARED};
    assert_int_equal(perhaps_create(&made, &filter, NULL), 0);
    assert_int_equal(perhaps_store_sqlite_store(sqlite, &stored), 0);
    assert_int_equal(perhaps_store_sqlite_changes(sqlite, 0, &changes, NULL), 0);
    perhaps_guard_options good = {.adopted = filter, .store = &stored, .changes = &changes};
    perhaps_guard_options options = good;
    options.flags = PERHAPS_GUARD_FOLLOWS | PERHAPS_GUARD_OUTSIDE_WRITERS;
    refuse_guard(options, PERHAPS_E_OPTION, "clear one");
    options.flags = PERHAPS_GUARD_FOLLOWS;
    options.changes = NULL;
    refuse_guard(options, PERHAPS_E_OPTION, "needs its changes");
    options = good;
    options.adopted = NULL;
    options.filter = filter;
    refuse_guard(options, PERHAPS_E_OPTION, "`adopted`");
    options = good;
    options.store = NULL;
    refuse_guard(options, PERHAPS_E_OPTION, "each_key");
    perhaps_store_changes bad = changes;
    options = good;
    options.changes = &bad;
    bad.size = 8;
    refuse_guard(options, PERHAPS_E_OPTION, "size");
    bad = changes;
    bad.list = NULL;
    refuse_guard(options, PERHAPS_E_ARGUMENT, "list");
    assert_int_equal(perhaps_guard_reload(NULL, "f", NULL, NULL), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_guard_catch_up(NULL, NULL), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_guard_forget(NULL, NULL), PERHAPS_E_ARGUMENT);
    perhaps_free(filter);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_following),
        TEST(test_text_and_blob),
        TEST(test_without_a_log),
        TEST(test_rebuilds_by_itself),
        TEST(test_locked),
        TEST(test_asked_before_the_exchange),
        TEST(test_all_writes_through_the_guard),
        TEST(test_both_kinds_of_writers),
        TEST(test_changes_during_a_rebuild),
        TEST(test_changes_that_are_cut_off),
        TEST(test_questions_meanwhile),
        TEST(test_saves_beside_writes),
        TEST(test_log_refusals),
        TEST(test_rows_refusals),
        TEST(test_queries),
        TEST(test_forgetting),
        TEST(test_option_refusals),
    };
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
