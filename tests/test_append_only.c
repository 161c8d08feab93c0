// SPDX-License-Identifier: MIT
// Why a table is followed by its row ids on its owner's word alone: the strictest schema there is has ways round it, after
// which rows below the last one have other keys, and nothing shows it. If one of them is closed some day, this goes red.
#include "follow_helpers.h"

// Nothing is updated or deleted, and each id is above all that ever were.
#define STRICT                                                                                                         \
    "CREATE TRIGGER no_update BEFORE UPDATE ON t BEGIN SELECT RAISE(ABORT, 'append only'); END;"                       \
    "CREATE TRIGGER no_delete BEFORE DELETE ON t BEGIN SELECT RAISE(ABORT, 'append only'); END;"                       \
    "CREATE TRIGGER only_above AFTER INSERT ON t WHEN NEW.id <= (SELECT seq FROM sqlite_sequence WHERE name = 't') "   \
    "BEGIN SELECT RAISE(ABORT, 'append only'); END;"
#define ROWS(first, last)                                                                                              \
    "WITH RECURSIVE n(v) AS (SELECT " #first " UNION ALL SELECT v + 1 FROM n WHERE v < " #last ") "                    \
    "INSERT INTO t(k, u) SELECT CAST(v AS TEXT), v FROM n;"

static void copy_file(const char *from, const char *to)
{
    char bytes[1 << 16];
    FILE *in = fopen(from, "rb");
    FILE *out = fopen(to, "r+b");
    out = out != NULL ? out : fopen(to, "wb");
    assert_true(in != NULL && out != NULL);
    for (size_t got; (got = fread(bytes, 1, sizeof bytes, in)) > 0;) {
        assert_int_equal(fwrite(bytes, 1, got, out), got);
    }
    assert_int_equal(ftruncate(fileno(out), ftell(out)) | fclose(in) | fclose(out), 0);
}

static void make_strict(const char *unique)
{
    char sql[200];
    (void)snprintf(sql, sizeof sql, "DROP TABLE t; CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, k TEXT, u %s)",
                   unique);
    run(db, sql);
    run(db, STRICT ROWS(0, 489));
    copy_file("a.db", "copy.db");
    run(db, ROWS(490, 499));
}

// What the triggers are for.
static void test_the_schema_is_strict(void **state)
{
    static const char *const refused_sql[] = {
        "UPDATE t SET k = 'x' WHERE id = 5",
        "UPDATE OR REPLACE t SET id = 4 WHERE id = 5",
        "DELETE FROM t WHERE id = 500",
        "DELETE FROM t",
        "INSERT INTO t(id, k) VALUES (-1, 'x')",
        "INSERT OR IGNORE INTO t(id, k) VALUES (0, 'x')",
        "INSERT OR REPLACE INTO t(id, k) VALUES (500, 'x')",
        "REPLACE INTO t(id, k, u) VALUES (499, 'x', 499)",
        "INSERT INTO t(id, k) VALUES (5, 'x') ON CONFLICT DO UPDATE SET k = 'x'",
    };
    make_strict("UNIQUE");
    for (size_t i = 0; i < COUNT(refused_sql); i++) {
        assert_int_equal(sqlite3_exec(db, refused_sql[i], NULL, NULL, NULL), SQLITE_CONSTRAINT);
    }
    run(db, "INSERT INTO t(k) VALUES ('x')");
}

/* ---------------------------------------------------------------- ways round it */

// With the program at rest: the copy, and then as many rows as there were, of which the last is the same.
static void restore_a_copy(void)
{
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    copy_file("copy.db", "a.db");
    db = open_writer("a.db");
    run(db, "INSERT INTO t(k) VALUES ('999');" ROWS(491, 499));
}

static void switch_triggers_off(void)
{
    assert_int_equal(sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL), SQLITE_OK);
    run(db, "UPDATE t SET k = '999' WHERE id = 5");
    assert_int_equal(sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 1, NULL), SQLITE_OK);
}

static void write_a_blob(void)
{
    sqlite3_blob *blob = NULL;
    assert_int_equal(sqlite3_blob_open(db, "main", "t", "k", 200, 1, &blob), SQLITE_OK);
    assert_int_equal(sqlite3_blob_write(blob, "999", 3, 0), SQLITE_OK);
    assert_int_equal(sqlite3_blob_close(blob), SQLITE_OK);
}

// REPLACE deletes rows without asking the triggers, and SQLite's memory of ids is a table that anybody may write, and that
// takes no trigger.
static void replace_rows(void)
{
    run(db, "UPDATE sqlite_sequence SET seq = 0; REPLACE INTO t(id, k, u) VALUES (499, '999', 499);"
            "INSERT INTO t(id, k, u) VALUES (500, '499', 'another')");
}

static void go_round(const char *unique, void (*way)(void))
{
    const struct setting by_row = {.kind = PERHAPS_KIND_BLOOM, .flags = PERHAPS_GUARD_FOLLOWS, .appended = 1};
    const struct setting by_default = {.kind = PERHAPS_KIND_BLOOM, .flags = PERHAPS_GUARD_FOLLOWS};
    make_strict(unique);
    make_file(&by_row);
    assert_int_equal(rename("f", "by_row"), 0);
    make_file(&by_default);
    assert_int_equal(perhaps_store_sqlite_way(sqlite, NULL), PERHAPS_SQLITE_VERSION); // not by row ids
    way();
    perhaps_guard *guard = start_guard(&by_default);
    reload(guard, 1, "it has no log"); // which is right
    perhaps_guard_free(guard);
    assert_int_equal(rename("by_row", "f"), 0);
    guard = start_guard(&by_row);
    reload(guard, 0, ""); // on the owner's word, which was broken
    assert_int_equal(ask(sqlite, BYTES("999")), 1);
    assert_int_equal(asks(guard, 999), 0);
    perhaps_guard_free(guard);
}

static void test_restored_copy(void **state)
{
    go_round("", restore_a_copy);
}

static void test_triggers_off(void **state)
{
    go_round("", switch_triggers_off);
}

static void test_blob(void **state)
{
    go_round("", write_a_blob);
}

static void test_replace(void **state)
{
    go_round("UNIQUE", replace_rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_schema_is_strict),
        TEST(test_restored_copy),
        TEST(test_triggers_off),
        TEST(test_blob),
        TEST(test_replace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
