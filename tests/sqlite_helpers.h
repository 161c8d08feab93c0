// SPDX-License-Identifier: MIT
// What the tests of SQLite stores share: a folder for each test, databases in it, and questions about them.
#ifndef PERHAPS_TESTS_SQLITE_HELPERS_H
#define PERHAPS_TESTS_SQLITE_HELPERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// After <stdarg.h>, <stddef.h>, <setjmp.h> and <stdint.h>, which it needs.
#include <cmocka.h>

#include <sqlite3.h>

#include <perhaps/guard.h>

#include "visits.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define BYTES(literal) (literal), sizeof(literal) - 1

static char folder[] = "/tmp/perhaps-store-XXXXXX";

static inline int enter_folder(void **state)
{
    memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
    return mkdtemp(folder) != NULL ? chdir(folder) : -1;
}

static inline int leave_folder(void **state)
{
    char command[64];
    (void)snprintf(command, sizeof command, "rm -rf -- '%s'", folder);
    return chdir("/") == 0 ? system(command) : -1; // NOLINT(cert-env33-c): the name is our own
}

static inline sqlite3 *open_writer(const char *path)
{
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL), SQLITE_OK);
    // No test cuts the power, and waiting for the disk was most of their time.
    assert_int_equal(sqlite3_exec(db, "PRAGMA synchronous = OFF", NULL, NULL, NULL), SQLITE_OK);
    return db;
}

static inline void run(sqlite3 *db, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) {
        fail_msg("%s: %s", sql, message);
    }
}

static inline void make(const char *path, const char *sql)
{
    sqlite3 *db = open_writer(path);
    run(db, sql);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

// Into the one column of table t.
static inline void insert(sqlite3 *db, const void *key, size_t length, bool as_text)
{
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, "INSERT INTO t VALUES (?1)", -1, &statement, NULL), SQLITE_OK);
    int result = as_text ? sqlite3_bind_text(statement, 1, key, (int)length, SQLITE_STATIC)
                         : sqlite3_bind_blob(statement, 1, key, (int)length, SQLITE_STATIC);
    assert_int_equal(result, SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
}

static inline perhaps_store_sqlite *open_column(const char *table, const char *column)
{
    perhaps_store_sqlite *sqlite = NULL;
    perhaps_error error = {.size = sizeof error};
    if (perhaps_store_sqlite_open("a.db", table, column, 0, &sqlite, &error) < 0) {
        fail_msg("%s.%s: %s: %s", table, column, error.subject, error.text);
    }
    return sqlite;
}

static inline void assert_contains_text(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("\"%s\" does not contain \"%s\"", text, part);
    }
}

// Opening fails with the code and the words, names the file, and leaves the result alone.
static inline perhaps_error refused(const char *path, const char *table, const char *column, int code,
                                    const char *words)
{
    perhaps_store_sqlite *const untouched = (perhaps_store_sqlite *)folder;
    perhaps_store_sqlite *sqlite = untouched;
    perhaps_error error = {.size = sizeof error};
    int result = perhaps_store_sqlite_open(path, table, column, 0, &sqlite, &error);
    if (result != code || error.code != code) {
        fail_msg("%s %s.%s: code %d (%d), not %d: %s", path, table, column, result, error.code, code, error.text);
    }
    assert_contains_text(error.text, words);
    assert_ptr_equal(sqlite, untouched);
    assert_int_equal(perhaps_store_sqlite_open(path, table, column, 0, &sqlite, NULL), code);
    return error;
}

// The key is copied to memory that ends where it ends, so that a sanitizer sees every byte read beyond it.
static inline int ask(perhaps_store_sqlite *sqlite, const void *key, size_t length)
{
    perhaps_store store;
    assert_int_equal(perhaps_store_sqlite_store(sqlite, &store), 0);
    void *copy = malloc(length > 0 ? length : 1);
    assert_non_null(copy);
    memcpy(copy, key, length);
    perhaps_error error = {.size = sizeof error};
    int answer = store.contains(store.context, length > 0 ? copy : NULL, length, &error);
    free(copy);
    if (answer < 0) {
        assert_int_equal(error.code, answer);
        assert_true(strlen(error.text) > 0);
    }
    return answer;
}

static inline uint64_t count_keys(perhaps_store_sqlite *sqlite)
{
    uint64_t count = UINT64_MAX;
    perhaps_error error = {.size = sizeof error};
    if (perhaps_store_sqlite_count(sqlite, &count, &error) < 0) {
        fail_msg("%s", error.text);
    }
    return count;
}

static inline int list(perhaps_store_sqlite *sqlite, struct visits *visits, perhaps_error *error)
{
    perhaps_store store;
    assert_int_equal(perhaps_store_sqlite_store(sqlite, &store), 0);
    return store.each_key(store.context, note_visit, visits, error);
}

#endif
