// SPDX-License-Identifier: MIT
// Guards that start anew over what was written to a SQLite table meanwhile, and files that they must not believe.
#include "follow_helpers.h"

#include <time.h>

/* ---------------------------------------------------------------- restarts */

static void test_a_start(void **state)
{
    const struct setting setting = CUCKOO_FOLLOWS;
    perhaps_guard *guard = start_guard(&setting);
    assert_int_equal(statistics_of(guard).state, PERHAPS_GUARD_LOADING);
    assert_string_equal(perhaps_guard_state_name(PERHAPS_GUARD_LOADING), "loading");
    assert_int_equal(asks(guard, 999), 1); // whatever it is
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(perhaps_guard_reload(guard, "f", NULL, &error), PERHAPS_E_IO); // there is none
    assert_int_equal(perhaps_guard_save(guard, "f", &error), PERHAPS_E_FULL);
    assert_int_equal(access("f", F_OK), -1);
    catch_up(guard, 1, "not known where");
    assert_int_equal(statistics_of(guard).state, PERHAPS_GUARD_LOADING);
    assert_int_equal(asks(guard, 999), 1);
    rebuild(guard);
    assert_int_equal(statistics_of(guard).state, PERHAPS_GUARD_READY);
    assert_int_equal(missed(guard), 0);
    assert_true(passed(guard) < 30);
    save(guard);
    assert_int_equal(copies_in("f"), 500);
    perhaps_guard_free(guard);
}

static void test_restart_with_a_log(void **state)
{
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    restart_over_changes(&setting, many_changes, 0, NULL);
    assert_int_equal(copies_in("f"), count_keys(sqlite)); // none too many: taken out exactly
    perhaps_guard *guard = start_guard(&setting);         // and again, from there
    run(db, "DELETE FROM t WHERE k = '500'");
    reload(guard, 0, NULL);
    assert_int_equal(statistics_of(guard).changes, 1);
    save(guard);
    assert_int_equal(copies_in("f"), count_keys(sqlite));
    perhaps_guard_free(guard);
}

static void test_restart_with_a_log_and_counters(void **state)
{
    install_log();
    const struct setting setting = {.kind = PERHAPS_KIND_COUNTING, .flags = PERHAPS_GUARD_FOLLOWS};
    restart_over_changes(&setting, many_changes, 0, NULL);
    assert_int_equal(copies_in("f"), count_keys(sqlite));
}

// Kinds that take nothing out: more passes, nothing is missed.
static void test_restart_of_bits(void **state)
{
    install_log();
    const struct setting setting = {.flags = PERHAPS_GUARD_FOLLOWS};
    make_file(&setting);
    run(db, many_changes);
    perhaps_guard *guard = start_guard(&setting);
    reload(guard, 0, NULL);
    assert_int_equal(missed(guard), 0);
    assert_int_equal(statistics_of(guard).residue, 400);
    perhaps_guard_free(guard);
}

static void test_restart_without_a_log(void **state)
{
    const struct setting setting = CUCKOO_FOLLOWS;
    restart_over_changes(&setting, "INSERT INTO t(k) VALUES ('700')", 1, "it has no log");
    restart_over_changes(&setting, "SELECT 1", 0, NULL); // nothing was written, and the file proves it
    // Put back from a copy, and written to as often as the one that it replaces.
    assert_int_equal(system("cp a.db copy.db"), 0); // NOLINT(cert-env33-c)
    run(db, "INSERT INTO t(k) VALUES ('701')");
    make_file(&setting);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(rename("copy.db", "a.db"), 0);
    db = open_writer("a.db");
    run(db, "INSERT INTO t(k) VALUES ('702')");
    perhaps_guard *guard = start_guard(&setting);
    reload(guard, 1, "it has no log");
    rebuild(guard);
    assert_int_equal(missed(guard), 0);
    perhaps_guard_free(guard);
}

// In WAL mode nothing in the file proves that nothing was written.
static void test_restart_in_wal_mode(void **state)
{
    run(db, "PRAGMA journal_mode = WAL");
    const struct setting setting = CUCKOO_FOLLOWS;
    restart_over_changes(&setting, "SELECT 1", 1, "it has no log");
    install_log();
    perhaps_guard *guard = start_guard(&setting);
    reload(guard, 1, "it has no log"); // the file was made before it
    perhaps_guard_free(guard);
    restart_over_changes(&setting, many_changes, 0, NULL);
}

static void test_restart_by_row_ids(void **state)
{
    const struct setting setting = {.kind = PERHAPS_KIND_CUCKOO, .flags = PERHAPS_GUARD_FOLLOWS, .appended = 1};
    const char *const appending = "WITH RECURSIVE n(v) AS (SELECT 450 UNION ALL SELECT v + 1 FROM n WHERE v < 549) "
                                  "INSERT INTO t(k) SELECT CAST(v AS TEXT) FROM n";
    restart_over_changes(&setting, appending, 0, NULL);
    assert_int_equal(copies_in("f"), 550); // half of them were there
    restart_over_changes(&setting, "DELETE FROM t WHERE id = (SELECT max(id) FROM t); INSERT INTO t(k) VALUES ('701')",
                         1, "last row"); // its id was reused
    restart_over_changes(&setting, "DELETE FROM t", 1, "last row");
    restart_over_changes(&setting, "INSERT INTO t(k) VALUES ('1')", 0, NULL); // from none at all
}

// The word of an owner that rows are only appended is no proof of anything else.
static void test_another_way(void **state)
{
    struct setting setting = {.kind = PERHAPS_KIND_CUCKOO, .flags = PERHAPS_GUARD_FOLLOWS, .appended = 1};
    make_file(&setting);
    setting.appended = 0;
    perhaps_guard *guard = start_guard(&setting);
    reload(guard, 1, "row ids");
    perhaps_guard_free(guard);
}

/* ---------------------------------------------------------------- files that are not to be used */

static void test_other_files(void **state)
{
    install_log();
    struct setting setting = CUCKOO_FOLLOWS;
    make_file(&setting);
    setting.kind = PERHAPS_KIND_BLOOM;
    perhaps_guard *guard = start_guard(&setting);
    reload(guard, 1, "another kind");
    perhaps_guard_free(guard);
    setting.kind = PERHAPS_KIND_CUCKOO;
    setting.fpr = 0.001;
    guard = start_guard(&setting);
    reload(guard, 1, "rate");
    perhaps_guard_free(guard);

    // Of another column of the same table, with a log of its own.
    run(db, "ALTER TABLE t ADD COLUMN l TEXT");
    assert_int_equal(perhaps_store_sqlite_install_log("a.db", "t", "l", 0, NULL), 1);
    setting.fpr = 0.0;
    guard = start_guard(&setting);
    rebuild(guard);
    save(guard);
    perhaps_store_sqlite *other = open_column("T", "L");
    perhaps_store store;
    perhaps_store_changes changes;
    assert_int_equal(perhaps_store_sqlite_store(other, &store), 0);
    assert_int_equal(perhaps_store_sqlite_changes(other, 0, &changes, NULL), 0);
    perhaps_options made = {.size = sizeof made, .kind = PERHAPS_KIND_CUCKOO, .capacity = 1, .fpr = 0.01};
    perhaps_filter *filter = NULL;
    made.flags = PERHAPS_SHARED;
    assert_int_equal(perhaps_create(&made, &filter, NULL), 0);
    perhaps_guard_options options = {.size = sizeof options,
                                     .adopted = filter,
                                     .store = &store,
                                     .changes = &changes,
                                     .flags = PERHAPS_GUARD_FOLLOWS | PERHAPS_GUARD_NOT_READY};
    perhaps_guard *foreign = NULL;
    assert_int_equal(perhaps_guard_create(&options, &foreign, NULL), 0);
    reload(foreign, 1, "another store");
    perhaps_guard_free(foreign);
    perhaps_store_sqlite_close(other);
    perhaps_guard_free(guard);
}

static void write_file(const char *path, const void *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void test_damaged_files(void **state)
{
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    make_file(&setting);
    perhaps_filter *filter = NULL;
    perhaps_error error = {.size = sizeof error};
    const perhaps_load_options copy = {.size = sizeof copy, .flags = PERHAPS_OPEN_COPY};
    assert_int_equal(perhaps_open("f", &copy, &filter, NULL), 0);
    const void *found = NULL;
    size_t length = 0;
    assert_int_equal(perhaps_position(filter, &found, &length), 0);
    assert_true(length > 24);
    unsigned char record[PERHAPS_POSITION_MAX];
    memcpy(record, found, length);
    perhaps_guard *guard = start_guard(&setting);

    assert_int_equal(perhaps_set_position(filter, NULL, 0), 0);
    assert_int_equal(perhaps_save(filter, "f", NULL), 0);
    reload(guard, 1, "does not say");
    // Every byte of the record, changed: nothing is believed that is not as it was written but for the position itself,
    // which the store refuses.
    for (size_t i = 0; i < length; i++) {
        record[i] ^= 0x40;
        assert_int_equal(perhaps_set_position(filter, record, length), 0);
        assert_int_equal(perhaps_save(filter, "f", NULL), 0);
        int code = perhaps_guard_reload(guard, "f", NULL, &error);
        bool unused = i >= length - 64; // words of a position that its way has no use for
        if (code != 1 && !(unused && code == 0)) {
            fail_msg("byte %zu: %d (%s)", i, code, error.text);
        }
        record[i] ^= 0x40;
    }
    for (size_t cut = 1; cut < length; cut += 7) {
        assert_int_equal(perhaps_set_position(filter, record, length - cut), 0);
        assert_int_equal(perhaps_save(filter, "f", NULL), 0);
        assert_int_equal(perhaps_guard_reload(guard, "f", NULL, &error), 1);
    }
    write_file("f", "no filter at all", 16);
    assert_int_equal(perhaps_guard_reload(guard, "f", NULL, &error), PERHAPS_E_NOT_A_FILTER);
    perhaps_free(filter);
    perhaps_guard_free(guard);
}

// The file of a guard that did not know its copies exactly: none is taken out.
static void test_files_that_are_not_exact(void **state)
{
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    make_file(&setting);
    perhaps_filter *filter = NULL;
    const perhaps_load_options copy = {.size = sizeof copy, .flags = PERHAPS_OPEN_COPY};
    assert_int_equal(perhaps_open("f", &copy, &filter, NULL), 0);
    const void *found = NULL;
    size_t length = 0;
    unsigned char record[PERHAPS_POSITION_MAX];
    assert_int_equal(perhaps_position(filter, &found, &length), 0);
    memcpy(record, found, length);
    assert_int_equal(record[8], 1);
    record[8] = 0;
    assert_int_equal(perhaps_set_position(filter, record, length), 0);
    assert_int_equal(perhaps_save(filter, "f", NULL), 0);
    perhaps_free(filter);
    run(db, "DELETE FROM t WHERE id <= 100; INSERT INTO t(k) VALUES ('700')");
    perhaps_guard *guard = start_guard(&setting);
    reload(guard, 0, NULL);
    assert_int_equal(missed(guard), 0);
    assert_int_equal(statistics_of(guard).residue, 100);
    save(guard);
    assert_int_equal(copies_in("f"), 501);
    perhaps_guard_free(guard);
    guard = start_guard(&setting); // and remains so
    run(db, "DELETE FROM t WHERE k = '700'");
    reload(guard, 0, NULL);
    assert_int_equal(statistics_of(guard).residue, 1);
    perhaps_guard_free(guard);
}

/* ---------------------------------------------------------------- histories that have a gap */

static void test_gaps(void **state)
{
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    restart_over_changes(&setting, "DELETE FROM \"perhaps_log.t.k\"", 1, "does not reach");
    run(db, "UPDATE t SET k = '499' WHERE k = '498'"); // until it has rows again, there is no log
    restart_over_changes(&setting,
                         "DROP TRIGGER \"perhaps_log.t.k.insert\"; INSERT INTO t(k) VALUES ('800');"
                         "CREATE TRIGGER \"perhaps_log.t.k.insert\" AFTER INSERT ON t BEGIN SELECT 1; END",
                         1, "schema");
    assert_int_equal(perhaps_store_sqlite_install_log("a.db", "t", "k", 0, NULL), PERHAPS_E_UNSUPPORTED);
    assert_int_equal(perhaps_store_sqlite_remove_log("a.db", "t", "k", 0, NULL), 1);
    assert_int_equal(perhaps_store_sqlite_remove_log("a.db", "t", "k", 0, NULL), 0);
    install_log();
    make_file(&setting);
    // A trigger that was away for a while, and is as it was.
    run(db, "CREATE TABLE kept AS SELECT sql FROM sqlite_master WHERE name = 'perhaps_log.t.k.insert'");
    make_file(&setting);
    run(db, "DROP TRIGGER \"perhaps_log.t.k.insert\"; INSERT INTO t(k) VALUES ('802')");
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT sql FROM kept", -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    char *sql = strdup((const char *)sqlite3_column_text(statement, 0));
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    run(db, sql);
    free(sql);
    perhaps_guard *again = start_guard(&setting);
    assert_int_equal(perhaps_store_sqlite_way(sqlite, NULL), PERHAPS_SQLITE_LOG);
    reload(again, 1, "schema changed");
    perhaps_guard_free(again);
    make_file(&setting);
    // The same log again, without what was written in between.
    assert_int_equal(perhaps_store_sqlite_remove_log("a.db", "t", "k", 0, NULL), 1);
    run(db, "INSERT INTO t(k) VALUES ('801')");
    install_log();
    perhaps_guard *guard = start_guard(&setting);
    reload(guard, 1, "");
    perhaps_guard_free(guard);
}

// From a copy, whose log counts on from an older number and comes to the same one.
static void test_restored_database(void **state)
{
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    assert_int_equal(system("cp a.db copy.db"), 0); // NOLINT(cert-env33-c)
    run(db, "INSERT INTO t(k) VALUES ('900'), ('901')");
    make_file(&setting);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(rename("copy.db", "a.db"), 0);
    db = open_writer("a.db");
    sqlite3_stmt *statement = NULL;
    run(db, "INSERT INTO t(k) VALUES ('700'), ('701')");
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT max(seq) FROM \"perhaps_log.t.k\"", -1, &statement, NULL), 0);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(statement, 0), 3); // as in the one that was replaced
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    perhaps_guard *guard = start_guard(&setting);
    reload(guard, 1, "another");
    rebuild(guard);
    assert_int_equal(missed(guard), 0);
    perhaps_guard_free(guard);
}

// Rows that become due without a write: nothing proves that the keys are the same.
static void test_views_of_the_time(void **state)
{
    install_log();
    run(db, "CREATE VIEW due AS SELECT k FROM t WHERE datetime('now') > '2000-01-01'");
    perhaps_store_options options = {.size = sizeof options, .table = "due", .column = "k"};
    perhaps_store_sqlite *other = NULL;
    perhaps_store_changes changes;
    perhaps_store_position before;
    perhaps_store_position now;
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(perhaps_store_sqlite_open_options("a.db", &options, &other, &error), 0);
    assert_int_equal(perhaps_store_sqlite_changes(other, 0, &changes, &error), 0);
    assert_int_equal(changes.position(changes.context, &before, &error), 0);
    assert_int_equal(changes.each_change(changes.context, &before, &now, NULL, NULL, &error), 1);
    perhaps_store_sqlite_close(other);
}

/* ---------------------------------------------------------------- a store that never can tell */

static int each_change_unknown(void *context, const perhaps_store_position *from, perhaps_store_position *to,
                               perhaps_store_change *change, void *visitor, perhaps_error *error)
{
    return 1;
}

static perhaps_guard *start_unknown_guard(void)
{
    perhaps_store_changes changes;
    reopen(&(struct setting){.kind = PERHAPS_KIND_BLOOM}, &stored, &changes);
    changes.each_change = each_change_unknown;
    perhaps_filter *filter = NULL;
    perhaps_options made = {.size = sizeof made, .capacity = 1000, .fpr = 0.01, .flags = PERHAPS_SHARED};
    assert_int_equal(perhaps_create(&made, &filter, NULL), 0);
    perhaps_guard_options options = {.size = sizeof options,
                                     .adopted = filter,
                                     .store = &stored,
                                     .changes = &changes,
                                     .triggers = PERHAPS_GUARD_ON_DEGRADED,
                                     .flags = PERHAPS_GUARD_FOLLOWS | PERHAPS_GUARD_NOT_READY};
    perhaps_guard *guard = NULL;
    assert_int_equal(perhaps_guard_create(&options, &guard, NULL), 0);
    return guard;
}

// A filter that is behind at once may be chance, and is made again at once. After the second the store is left alone for a
// second at least; it would be listed without end.
static void test_rebuilds_take_a_rest(void **state)
{
    perhaps_guard *guard = start_unknown_guard();
    struct timespec began;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &began);
    rebuild(guard);
    for (int i = 0; i < 20; i++) {
        catch_up(guard, 1, "");
        assert_int_equal(perhaps_guard_rebuild_wait(guard, NULL), 0);
    }
    uint64_t rebuilds = statistics_of(guard).rebuilds;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    assert_in_range(rebuilds, 2, 3 + (uint64_t)(now.tv_sec - began.tv_sec));
    assert_int_equal(asks(guard, 999), 1);                                       // nothing is proof meanwhile
    for (int i = 0; i < 300 && statistics_of(guard).rebuilds == rebuilds; i++) { // and it goes on, when it has rested
        (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        catch_up(guard, 1, "");
    }
    assert_int_equal(perhaps_guard_rebuild_wait(guard, NULL), 0);
    assert_int_equal(statistics_of(guard).rebuilds, rebuilds + 1);
    perhaps_guard_free(guard);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_start),
        TEST(test_restart_with_a_log),
        TEST(test_restart_with_a_log_and_counters),
        TEST(test_restart_of_bits),
        TEST(test_restart_without_a_log),
        TEST(test_restart_in_wal_mode),
        TEST(test_restart_by_row_ids),
        TEST(test_another_way),
        TEST(test_other_files),
        TEST(test_damaged_files),
        TEST(test_files_that_are_not_exact),
        TEST(test_gaps),
        TEST(test_restored_database),
        TEST(test_views_of_the_time),
        TEST(test_rebuilds_take_a_rest),
    };
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
