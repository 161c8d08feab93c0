// SPDX-License-Identifier: MIT
// What the tests of guards that follow a SQLite table share: the table, programs that start, and what they do.
#ifndef PERHAPS_TESTS_FOLLOW_HELPERS_H
#define PERHAPS_TESTS_FOLLOW_HELPERS_H

#include "sqlite_helpers.h"

#include "follow_guards.h"

#include <math.h>

static sqlite3 *db;
static perhaps_store_sqlite *sqlite;

static inline int setup(void **state)
{
    if (enter_folder(state) != 0) {
        return -1;
    }
    db = open_writer("a.db");
    run(db, "CREATE TABLE t (id INTEGER PRIMARY KEY, k TEXT, other); CREATE INDEX i ON t(k);"
            "WITH RECURSIVE n(v) AS (SELECT 0 UNION ALL SELECT v + 1 FROM n WHERE v < 499) "
            "INSERT INTO t(k) SELECT CAST(v AS TEXT) FROM n");
    return 0;
}

static inline int teardown(void **state)
{
    perhaps_store_sqlite_close(sqlite);
    sqlite = NULL;
    return sqlite3_close(db) == SQLITE_OK ? leave_folder(state) : -1;
}

static inline void install_log(void)
{
    perhaps_error error = {.size = sizeof error};
    if (perhaps_store_sqlite_install_log("a.db", "t", "k", 1000, &error) < 0) {
        fail_msg("%s", error.text);
    }
}

static void reopen(const struct setting *setting, perhaps_store *store, perhaps_store_changes *changes)
{
    perhaps_error error = {.size = sizeof error};
    perhaps_store_sqlite_close(sqlite);
    sqlite = open_column("t", "k");
    assert_int_equal(perhaps_store_sqlite_store(sqlite, store), 0);
    if (perhaps_store_sqlite_changes(sqlite, setting->appended, changes, &error) < 0) {
        fail_msg("%s", error.text);
    }
}

static void write_sql(const char *sql)
{
    run(db, sql);
}

// Rows that go, come, come again with the same id, and change in place; several with one key. After it the table has
// 400 to 699, and 900 to 999.
static const char *const many_changes __attribute__((unused)) =
    "DELETE FROM t WHERE CAST(k AS INT) < 400;"
    "WITH RECURSIVE n(v) AS (SELECT 500 UNION ALL SELECT v + 1 FROM n WHERE v < 699) "
    "INSERT INTO t(k) SELECT CAST(v AS TEXT) FROM n;"
    "INSERT INTO t(k) SELECT k FROM t WHERE k IN ('500', '501'); DELETE FROM t WHERE k = '501' AND id % 2 = 0;"
    "WITH RECURSIVE n(v) AS (SELECT 800 UNION ALL SELECT v + 1 FROM n WHERE v < 899) "
    "INSERT INTO t(id, k) SELECT v - 799, CAST(v AS TEXT) FROM n;" // ids of rows that are gone
    "UPDATE t SET k = CAST(CAST(k AS INT) + 100 AS TEXT) WHERE CAST(k AS INT) >= 800;"
    "UPDATE t SET other = 7; INSERT INTO t(k) VALUES (NULL); INSERT INTO t(k) VALUES ('400');"
    "DELETE FROM t WHERE id = (SELECT max(id) FROM t WHERE k = '400')";

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
