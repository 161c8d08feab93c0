// SPDX-License-Identifier: MIT
// SQLite stores when memory runs out: each allocation of SQLite fails once.
#include "scarce_sqlite.h"

struct opening {
    const char *table;
    const char *column;
    int code; // with enough memory
};

// Nothing is leaked (a sanitizer sees that), and nothing but the lack of memory is reported.
static void open_with_scarce_memory(const void *arguments)
{
    const struct opening *opening = arguments;
    perhaps_store_sqlite *sqlite = NULL;
    perhaps_error error = {.size = sizeof error};
    int code = perhaps_store_sqlite_open("a.db", opening->table, opening->column, 0, &sqlite, &error);
    if (code != PERHAPS_E_MEMORY && code != opening->code) {
        fail_msg("%s.%s: code %d: %s", opening->table, opening->column, code, error.text);
    }
    assert_int_equal(error.code, code);
    assert_int_equal(sqlite != NULL, code == 0);
    perhaps_store_sqlite_close(sqlite);
}

static void test_scarce_memory_when_opened(void **state)
{
    make("a.db", "CREATE TABLE t(c TEXT, u TEXT UNIQUE); INSERT INTO t VALUES ('x', 'x'); CREATE VIEW v AS SELECT u AS "
                 "c, c COLLATE NOCASE AS no, CAST(c AS INT) AS i FROM t");
    static const struct opening openings[] = {
        {"t", "c", 0},
        {"v", "c", 0},
        {"v", "no", PERHAPS_E_UNSUPPORTED},
        {"v", "i", PERHAPS_E_UNSUPPORTED},
        {"t", "rowid", PERHAPS_E_UNSUPPORTED},
        {"t", "none", PERHAPS_E_ARGUMENT},
        {"none", "c", PERHAPS_E_ARGUMENT},
    };
    for (size_t i = 0; i < COUNT(openings); i++) {
        with_scarce_memory(open_with_scarce_memory, &openings[i]);
    }
    sqlite3 *writer = open_writer("a.db"); // with an open log, there is shared memory to set up
    run(writer, "PRAGMA journal_mode = WAL; INSERT INTO t VALUES ('y', 'y')");
    with_scarce_memory(open_with_scarce_memory, &openings[0]);
    assert_int_equal(sqlite3_close(writer), SQLITE_OK);
}

static char long_key[100000];
static int visited;

static int count_visit(void *visitor, const void *key, size_t length)
{
    visited++;
    if (length != 1) {
        assert_int_equal(length, sizeof long_key);
        assert_memory_equal(key, long_key, length);
    }
    return 0;
}

// A store that is opened with enough memory, and used with less. A question that fails must not answer "no",
// and a listing must not end early. `arguments` is the table.
static void use_with_scarce_memory(const void *arguments)
{
    long failing = allocations_left;
    allocations_left = -1;
    perhaps_store_sqlite *sqlite = open_column(arguments, "c");
    perhaps_store store;
    assert_int_equal(perhaps_store_sqlite_store(sqlite, &store), 0);
    allocations_left = failing;
    int found = store.contains(store.context, long_key, sizeof long_key, NULL);
    long left = allocations_left;
    allocations_left = failing;
    visited = 0;
    int listed = store.each_key(store.context, count_visit, NULL, NULL);
    left = left < allocations_left ? left : allocations_left;
    allocations_left = failing;
    uint64_t count = 42;
    int counted = perhaps_store_sqlite_count(sqlite, &count, NULL);
    left = left < allocations_left ? left : allocations_left;
    allocations_left = -1;
    assert_true(found == 1 || found == PERHAPS_E_MEMORY);
    assert_true(listed == PERHAPS_E_MEMORY || (listed == 0 && visited == 3));
    assert_true(counted == PERHAPS_E_MEMORY || (counted == 0 && count == 3));
    assert_int_equal(count, counted == 0 ? 3 : 42);
    assert_int_equal(ask(sqlite, BYTES("x")), 1); // it recovers
    perhaps_store_sqlite_close(sqlite);
    allocations_left = left;
}

static void test_scarce_memory_when_used(void **state)
{
    make("a.db", "CREATE TABLE t(c); INSERT INTO t VALUES ('x'), (x'79');"
                 "CREATE VIEW v AS SELECT c FROM t UNION ALL SELECT CAST(zeroblob(0) || c AS TEXT) FROM t WHERE 0");
    memset(long_key, 'k', sizeof long_key);
    sqlite3 *db = open_writer("a.db");
    insert(db, long_key, sizeof long_key, false);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    with_scarce_memory(use_with_scarce_memory, "t");
    with_scarce_memory(use_with_scarce_memory, "v");
}

// A value that SQLite keeps as a number of zeros until somebody wants to see it: without memory, it comes out
// as an empty one, without a word.
static void test_scarce_memory_for_zeros(void **state)
{
    make("a.db",
         "CREATE TABLE t(i); INSERT INTO t VALUES (1), (2), (3);"
         "CREATE VIEW v AS SELECT CASE i WHEN 1 THEN 'x' WHEN 2 THEN x'79' ELSE zeroblob(100000) END AS c FROM t");
    memset(long_key, 0, sizeof long_key);
    with_scarce_memory(use_with_scarce_memory, "v");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, enter_folder, leave_folder)

int main(void)
{
    make_memory_scarce(); // before SQLite is used
    const struct CMUnitTest tests[] = {
        TEST(test_scarce_memory_when_opened),
        TEST(test_scarce_memory_when_used),
        TEST(test_scarce_memory_for_zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
