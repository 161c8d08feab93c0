// SPDX-License-Identifier: MIT
// A column of a SQLite table as a store: which columns are taken and which refused, which bytes are a key,
// how keys are listed and counted. (Files that are not what they should be: test_store_sqlite_files.c.)
#include "sqlite_helpers.h"

#include "sqlite_source.h"

/* ---------------------------------------------------------------- columns that are taken, and refused */

// The words are those that a refusal must contain; none, and the column is taken.
struct column_case {
    const char *table;
    const char *column;
    const char *words;
};

static void check_columns(const struct column_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (cases[i].words == NULL) {
            perhaps_store_sqlite_close(open_column(cases[i].table, cases[i].column));
            continue;
        }
        perhaps_error error = refused("a.db", cases[i].table, cases[i].column, PERHAPS_E_UNSUPPORTED, cases[i].words);
        assert_string_equal(error.subject, "a.db");
        assert_contains_text(error.text, cases[i].table);
        assert_contains_text(error.text, cases[i].column);
        assert_contains_text(error.text, "; give a column that compares bytewise");
    }
}

static void test_columns_by_declared_type(void **state)
{
    make("a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, txt TEXT, vc VARCHAR(20), nc NCHAR, cl CLOB, bl BLOB,"
                 " bare, i INT, bi BIGINT, re REAL, fl FLOAT, db DOUBLE PRECISION, num NUMERIC, dec DECIMAL(9,2),"
                 " boo BOOLEAN, dt DATE, str STRING, fp \"FLOATING POINT\", ci CHARINT)");
    static const struct column_case cases[] = {
        {"t", "txt", NULL},
        {"t", "vc", NULL},
        {"t", "nc", NULL},
        {"t", "cl", NULL},
        {"t", "bl", NULL},
        {"t", "bare", NULL},
        {"t", "TXT", NULL},
        {"T", "Bare", NULL},
        {"t", "id", "has INTEGER affinity, so that '007' and '7' are one number"},
        {"t", "i", "INTEGER affinity"},
        {"t", "bi", "INTEGER affinity"},
        {"t", "ci", "INTEGER affinity"},
        {"t", "fp", "INTEGER affinity"}, // "FLOATING POINT" contains INT
        {"t", "re", "has REAL affinity, so that '7.0' and '7' are one number"},
        {"t", "fl", "REAL affinity"},
        {"t", "db", "REAL affinity"},
        {"t", "num", "has NUMERIC affinity, so that '007' and '7' are one number"},
        {"t", "dec", "NUMERIC affinity"},
        {"t", "boo", "NUMERIC affinity"},
        {"t", "dt", "NUMERIC affinity"},
        {"t", "str", "NUMERIC affinity"},
        {"t", "rowid", "is the row id, a number"},
        {"t", "OID", "is the row id"},
        {"t", "_rowid_", "is the row id"},
    };
    check_columns(cases, COUNT(cases));
}

static int compare_lengths(void *context, int a_length, const void *a, int b_length, const void *b)
{
    return a_length - b_length;
}

static void test_columns_by_collation(void **state)
{
    make("a.db", "CREATE TABLE t(no TEXT COLLATE NOCASE, rt TEXT COLLATE RTRIM, bi TEXT COLLATE BINARY,"
                 " lower TEXT COLLATE binary, b BLOB COLLATE NOCASE)");
    sqlite3 *db = open_writer("a.db"); // with a collation that only the program of the table's owner knows
    assert_int_equal(sqlite3_create_collation(db, "swedish", SQLITE_UTF8, NULL, compare_lengths), SQLITE_OK);
    run(db, "CREATE TABLE own(c TEXT COLLATE swedish)");
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    static const struct column_case cases[] = {
        {"t", "bi", NULL},
        {"t", "lower", NULL},
        {"t", "no",
         "column \"no\" of table \"t\" compares with collation NOCASE, so it would confirm keys whose bytes the "
         "filter never saw; give a column that compares bytewise"},
        {"t", "rt", "compares with collation RTRIM, so it would confirm keys"},
        {"t", "b", "collation NOCASE"},
        {"own", "c", "collation swedish"},
    };
    check_columns(cases, COUNT(cases));
}

static void test_columns_of_special_tables(void **state)
{
    make("a.db", "CREATE TABLE strict_(t TEXT, b BLOB, a ANY, i INT) STRICT;"
                 "CREATE TABLE loose(a ANY);"
                 "CREATE TABLE keyed(k TEXT PRIMARY KEY, rowid TEXT, v INTEGER) WITHOUT ROWID;"
                 "CREATE TABLE made(a TEXT, g TEXT AS (a || '!'), s TEXT AS (a || '?') STORED, n INT AS (1),"
                 " x AS (a COLLATE NOCASE));"
                 "CREATE VIRTUAL TABLE words USING fts5(body)");
    static const struct column_case cases[] = {
        {"strict_", "t", NULL},
        {"strict_", "b", NULL},
        {"strict_", "a", NULL},
        {"strict_", "i", "INTEGER affinity"},
        {"loose", "a", "NUMERIC affinity"},
        {"keyed", "k", NULL},
        {"keyed", "rowid", NULL},
        {"keyed", "v", "INTEGER affinity"},
        {"made", "g", NULL},
        {"made", "s", NULL},
        {"made", "n", "INTEGER affinity"},
        {"words", "body", "column \"body\" of virtual table \"words\" is compared by the module of the table"},
        {"words", "words", "module"},
    };
    check_columns(cases, COUNT(cases));
    refused("a.db", "keyed", "oid", PERHAPS_E_ARGUMENT, "has no column \"oid\"");
}

static void test_columns_of_views(void **state)
{
    make("a.db", "CREATE TABLE t(txt TEXT, no TEXT COLLATE NOCASE, rt TEXT COLLATE RTRIM, i INT, b BLOB);"
                 "CREATE VIEW v AS SELECT txt, no, rt, i, b, txt || 'x' AS joined, +no AS plus,"
                 " CAST(txt AS INTEGER) AS asint, CAST(i AS TEXT) AS astext, no COLLATE BINARY AS bin,"
                 " txt COLLATE NOCASE AS nocase, CAST(txt AS REAL) AS asreal, CAST(txt AS NUMERIC) AS asnum FROM t;"
                 "CREATE VIEW over(a, b) AS SELECT txt, no FROM v;"
                 "CREATE VIEW both AS SELECT txt FROM t UNION ALL SELECT no FROM t;"
                 "CREATE VIEW other AS SELECT no AS txt FROM t UNION ALL SELECT txt FROM t;"
                 "CREATE VIEW lost AS SELECT gone FROM missing;"
                 "CREATE VIEW unknown AS SELECT own_function(txt) AS f FROM t;"
                 "CREATE VIEW foreign_ AS SELECT txt COLLATE swedish AS s FROM t");
    static const struct column_case cases[] = {
        {"v", "txt", NULL},
        {"v", "b", NULL},
        {"v", "joined", NULL},
        {"v", "astext", NULL},
        {"v", "bin", NULL},
        {"over", "a", NULL},
        {"both", "txt", NULL},
        {"v", "no", "column \"no\" of view \"v\" compares with collation NOCASE"},
        {"v", "rt", "collation RTRIM"},
        {"v", "plus", "collation NOCASE"},
        {"v", "nocase", "collation NOCASE"},
        {"v", "i", "INTEGER affinity"},
        {"v", "asint", "INTEGER affinity"},
        {"v", "asreal", "REAL affinity"},
        {"v", "asnum", "NUMERIC affinity"},
        {"over", "b", "collation NOCASE"},
        {"other", "txt", "collation NOCASE"},
        {"lost", "gone", "cannot be judged (no such table: main.missing)"},
        {"unknown", "f", "cannot be judged (no such function: own_function)"},
        {"foreign_", "s", "no such collation sequence: swedish"},
    };
    check_columns(cases, COUNT(cases));
    refused("a.db", "v", "rowid", PERHAPS_E_ARGUMENT, "view \"v\" has no column \"rowid\"");
}

// The documented rules, in their order (https://sqlite.org/datatype3.html, section 3.1.1).
static void test_affinity_rules(void **state)
{
    static const struct {
        const char *type;
        enum perhaps__guard_affinity affinity;
    } cases[] = {
        {"", PERHAPS__GUARD_BLOB},         {"blob", PERHAPS__GUARD_BLOB},       {"xBlobx", PERHAPS__GUARD_BLOB},
        {"TEXT", PERHAPS__GUARD_TEXT},     {"VarChar(9)", PERHAPS__GUARD_TEXT}, {"clob", PERHAPS__GUARD_TEXT},
        {"INT", PERHAPS__GUARD_INTEGER},   {"POINT", PERHAPS__GUARD_INTEGER},   {"CHARINT", PERHAPS__GUARD_INTEGER},
        {"TEXTBLOB", PERHAPS__GUARD_TEXT}, {"REAL", PERHAPS__GUARD_REAL},       {"double", PERHAPS__GUARD_REAL},
        {"float", PERHAPS__GUARD_REAL},    {"NUM", PERHAPS__GUARD_NUMERIC},     {"STRING", PERHAPS__GUARD_NUMERIC},
        {"IN", PERHAPS__GUARD_NUMERIC},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(perhaps__guard_sqlite_affinity(cases[i].type), cases[i].affinity);
    }
}

/* ---------------------------------------------------------------- keys */

static const struct {
    const char *bytes;
    size_t length;
} odd_keys[] = {
    {BYTES("")},
    {BYTES("a")},
    {BYTES("ab")},
    {BYTES("ab ")},
    {BYTES("AB")},
    {BYTES("a\0b")},
    {BYTES("a\0")},
    {BYTES("\0")},
    {BYTES("\xff\xfe")},
    {BYTES("\xff")},
    {BYTES("\xc3\x28")},
    {BYTES("\xed\xa0\x80")}, // a surrogate, as UTF-8 forbids it
    {BYTES("\xef\xbb\xbf"
           "a")}, // a byte order mark
    {BYTES("caf\xc3\xa9")},
    {BYTES("cafe\xcc\x81")}, // the same text, other bytes
    {BYTES("007")},
    {BYTES("7")},
    {BYTES("7.0")},
    {BYTES(" 7")},
    {BYTES("'; DROP TABLE t --")},
};

// Puts every second key in, as text or as blob: exactly those are there, and listed with their bytes.
static void check_odd_keys(const char *schema, bool as_text)
{
    for (size_t parity = 0; parity < 2; parity++) {
        sqlite3 *db = open_writer("a.db");
        run(db, schema);
        size_t expected = 0;
        for (size_t i = parity; i < COUNT(odd_keys); i += 2) {
            insert(db, odd_keys[i].bytes, odd_keys[i].length, as_text);
            expected++;
        }
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
        perhaps_store_sqlite *sqlite = open_column("t", "c");
        for (size_t i = 0; i < COUNT(odd_keys); i++) {
            assert_int_equal(ask(sqlite, odd_keys[i].bytes, odd_keys[i].length), i % 2 == parity);
        }
        struct visits visits = {0};
        assert_int_equal(list(sqlite, &visits, NULL), 0);
        assert_int_equal(visits.count, expected);
        assert_int_equal(count_keys(sqlite), expected);
        for (size_t used = 0; used < visits.used; used += 1 + (size_t)visits.bytes[used]) {
            assert_int_equal(ask(sqlite, visits.bytes + used + 1, (size_t)visits.bytes[used]), 1);
        }
        perhaps_store_sqlite_close(sqlite);
    }
}

static void test_odd_keys(void **state)
{
    static const char *const types[] = {"TEXT", "BLOB", ""};
    for (size_t i = 0; i < COUNT(types); i++) {
        for (int indexed = 0; indexed < 2; indexed++) {
            char schema[128];
            (void)snprintf(schema, sizeof schema, "DROP TABLE IF EXISTS t; CREATE TABLE t(c %s%s)", types[i],
                           indexed ? " UNIQUE" : "");
            check_odd_keys(schema, true);
            check_odd_keys(schema, false);
        }
    }
}

static void test_values_that_are_no_keys(void **state)
{
    make("a.db", "CREATE TABLE bare(c); INSERT INTO bare VALUES (7), (1.5), (NULL), ('x'), (x'79'), ('8');"
                 "CREATE TABLE typed(c TEXT); INSERT INTO typed VALUES (7), (NULL)");
    perhaps_store_sqlite *bare = open_column("bare", "c");
    assert_int_equal(ask(bare, BYTES("7")), 0);
    assert_int_equal(ask(bare, BYTES("1.5")), 0);
    assert_int_equal(ask(bare, BYTES("")), 0);
    assert_int_equal(ask(bare, BYTES("x")), 1);
    assert_int_equal(ask(bare, BYTES("y")), 1);
    assert_int_equal(ask(bare, BYTES("8")), 1);
    struct visits visits = {0};
    assert_int_equal(list(bare, &visits, NULL), 0);
    assert_int_equal(visits.count, 3);
    assert_memory_equal(visits.bytes, "\1x\1y\0018", 6);
    assert_int_equal(count_keys(bare), 3);
    perhaps_store_sqlite_close(bare);
    perhaps_store_sqlite *typed = open_column("typed", "c"); // its affinity made a text of the number
    assert_int_equal(ask(typed, BYTES("7")), 1);
    assert_int_equal(count_keys(typed), 1);
    perhaps_store_sqlite_close(typed);
}

// 3 MB, so that a row spills over many pages; and a key that differs in the last byte only.
static void test_long_keys(void **state)
{
    size_t length = 3000000;
    char *key = malloc(length);
    assert_non_null(key);
    memset(key, 'k', length);
    sqlite3 *db = open_writer("a.db");
    run(db, "CREATE TABLE t(c TEXT)");
    insert(db, key, length, true);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    perhaps_store_sqlite *sqlite = open_column("t", "c");
    assert_int_equal(ask(sqlite, key, length), 1);
    assert_int_equal(ask(sqlite, key, length - 1), 0);
    key[length - 1] = 'K';
    assert_int_equal(ask(sqlite, key, length), 0);
    // Longer than any value can be: not there, and not read. Only the length is looked at.
    perhaps_store store;
    assert_int_equal(perhaps_store_sqlite_store(sqlite, &store), 0);
    assert_int_equal(store.contains(store.context, key, SIZE_MAX / 2, NULL), 0);
    perhaps_store_sqlite_close(sqlite);
    free(key);
}

// The second SELECT of a view compares otherwise than the first, which decides: still, only bytes count.
static void test_views_confirm_bytes_only(void **state)
{
    make("a.db", "CREATE TABLE t(txt TEXT, no TEXT COLLATE NOCASE, i INT, str STRING);"
                 "INSERT INTO t VALUES ('first', 'Second', 3, '004'), ('005', '005', 'five', 'four');"
                 "CREATE VIEW v AS SELECT txt AS c FROM t UNION ALL SELECT no FROM t UNION ALL SELECT i FROM t "
                 "UNION ALL SELECT str FROM t");
    perhaps_store_sqlite *sqlite = open_column("v", "c");
    static const char *const there[] = {"first", "Second", "005", "five", "four"};
    static const char *const not_there[] = {"First", "second", "SECOND", "3", "03", "4", "004", "5", "Five"};
    for (size_t i = 0; i < COUNT(there); i++) {
        assert_int_equal(ask(sqlite, there[i], strlen(there[i])), 1);
    }
    for (size_t i = 0; i < COUNT(not_there); i++) {
        assert_int_equal(ask(sqlite, not_there[i], strlen(not_there[i])), 0);
    }
    assert_int_equal(count_keys(sqlite), COUNT(there));
    perhaps_store_sqlite_close(sqlite);
}

/* ---------------------------------------------------------------- listing and counting */

static void test_listing_stops(void **state)
{
    make("a.db", "CREATE TABLE t(c TEXT); INSERT INTO t VALUES ('a'), ('b'), ('b'), ('c')");
    perhaps_store_sqlite *sqlite = open_column("t", "c");
    struct visits all = {0};
    assert_int_equal(list(sqlite, &all, NULL), 0);
    assert_int_equal(all.count, 3); // each key once
    static const int stops[] = {1, 42, -1, PERHAPS_E_MEMORY};
    for (size_t i = 0; i < COUNT(stops); i++) {
        struct visits some = {.stop_after = 2, .stop_with = stops[i]};
        perhaps_error error = {.size = sizeof error};
        assert_int_equal(list(sqlite, &some, &error), stops[i]);
        assert_int_equal(some.count, 2);
        assert_int_equal(error.code, 0);
    }
    struct visits last = {.stop_after = 3, .stop_with = 9};
    assert_int_equal(list(sqlite, &last, NULL), 9);
    perhaps_store store;
    assert_int_equal(perhaps_store_sqlite_store(sqlite, &store), 0);
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(store.each_key(store.context, NULL, NULL, &error), PERHAPS_E_ARGUMENT);
    assert_string_equal(error.subject, "visit");
    perhaps_store_sqlite_close(sqlite);
}

static int visit_and_ask(void *visitor, const void *key, size_t length)
{
    perhaps_store_sqlite *sqlite = visitor;
    assert_int_equal(ask(sqlite, key, length), 1);
    assert_int_equal(ask(sqlite, BYTES("elsewhere")), 0);
    struct visits inner = {0};
    assert_int_equal(list(sqlite, &inner, NULL), 0);
    assert_int_equal(inner.count, 3);
    assert_int_equal(count_keys(sqlite), 3);
    return 0;
}

static void test_visits_may_ask_and_list(void **state)
{
    make("a.db", "CREATE TABLE t(c TEXT); INSERT INTO t VALUES ('a'), ('b'), ('c')");
    perhaps_store_sqlite *sqlite = open_column("t", "c");
    perhaps_store store;
    assert_int_equal(perhaps_store_sqlite_store(sqlite, &store), 0);
    assert_int_equal(store.each_key(store.context, visit_and_ask, sqlite, NULL), 0);
    perhaps_store_sqlite_close(sqlite);
}

static void test_counting(void **state)
{
    make("a.db", "CREATE TABLE t(mixed, texts TEXT, blobs BLOB, none); CREATE INDEX i ON t(texts);"
                 "INSERT INTO t VALUES ('ab', 'a', x'61', 1), (x'6162', 'A', x'61', NULL), ('ab', 'a', x'', 2.5),"
                 " (x'6163', 'b', x'', 3), ('7', 'b', x'00', 4), (7, '', x'0000', 5), (NULL, NULL, NULL, 6)");
    static const struct {
        const char *column;
        uint64_t count;
    } cases[] = {{"mixed", 3}, {"texts", 4}, {"blobs", 4}, {"none", 0}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        perhaps_store_sqlite *sqlite = open_column("t", cases[i].column);
        assert_int_equal(count_keys(sqlite), cases[i].count);
        perhaps_store_sqlite_close(sqlite);
    }
}

static void test_indexed(void **state)
{
    make("a.db", "CREATE TABLE t(p TEXT PRIMARY KEY, u BLOB UNIQUE, i TEXT, second TEXT, no TEXT, scan TEXT, bare);"
                 "CREATE INDEX i1 ON t(i, second); CREATE INDEX i2 ON t(no COLLATE NOCASE); CREATE INDEX i3 ON t(bare);"
                 "CREATE TABLE \"SEARCH me\"(c TEXT); CREATE TABLE w(k TEXT PRIMARY KEY) WITHOUT ROWID;"
                 "CREATE VIEW v AS SELECT p, scan, p || 'x' AS made FROM t;"
                 "CREATE VIEW half AS SELECT p FROM t UNION ALL SELECT scan FROM t");
    static const struct {
        const char *table;
        const char *column;
        int indexed;
    } cases[] = {
        {"t", "p", 1},    {"t", "u", 1},    {"t", "i", 1},         {"t", "second", 0}, {"t", "no", 0},
        {"t", "scan", 0}, {"t", "bare", 1}, {"SEARCH me", "c", 0}, {"w", "k", 1},      {"v", "p", 1},
        {"v", "scan", 0}, {"v", "made", 0}, {"half", "p", 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        perhaps_store_sqlite *sqlite = open_column(cases[i].table, cases[i].column);
        if (perhaps_store_sqlite_indexed(sqlite) != cases[i].indexed) {
            fail_msg("%s.%s: not %d", cases[i].table, cases[i].column, cases[i].indexed);
        }
        perhaps_store_sqlite_close(sqlite);
    }
}

/* ---------------------------------------------------------------- with a filter in front */

static int add_to_filter(void *visitor, const void *key, size_t length)
{
    int result = perhaps_add(visitor, key, length);
    return result < 0 ? result : 0;
}

static perhaps_filter *filter_of(perhaps_store_sqlite *sqlite)
{
    perhaps_options options = {.size = sizeof options, .capacity = count_keys(sqlite), .fpr = 0.1, .seed = 1};
    perhaps_filter *filter = NULL;
    assert_int_equal(perhaps_create(&options, &filter, NULL), 0);
    perhaps_store store;
    assert_int_equal(perhaps_store_sqlite_store(sqlite, &store), 0);
    assert_int_equal(store.each_key(store.context, add_to_filter, filter, NULL), 0);
    return filter;
}

// Even numbers are in the table: a filter made from its listing turns none of them away, and what it lets
// through beside them is refuted.
static void test_behind_a_guard(void **state)
{
    make("a.db", "CREATE TABLE t(c TEXT PRIMARY KEY); WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 2 FROM n "
                 "WHERE i < 1998) INSERT INTO t SELECT 'key ' || i FROM n");
    perhaps_store_sqlite *sqlite = open_column("t", "c");
    perhaps_filter *filter = filter_of(sqlite);
    perhaps_store store;
    assert_int_equal(perhaps_store_sqlite_store(sqlite, &store), 0);
    perhaps_guard_options options = {.size = sizeof options, .filter = filter, .store = &store};
    perhaps_guard *guard = NULL;
    assert_int_equal(perhaps_guard_create(&options, &guard, NULL), 0);
    for (int i = 0; i < 2000; i++) {
        char key[32];
        int length = snprintf(key, sizeof key, "key %d", i);
        assert_int_equal(perhaps_guard_contains(guard, key, (size_t)length, NULL), i % 2 == 0);
    }
    perhaps_guard_statistics statistics = {.size = sizeof statistics};
    assert_int_equal(perhaps_guard_stats(guard, &statistics), 0);
    assert_int_equal(statistics.confirmed, 1000);
    assert_int_equal(statistics.surely_absent + statistics.refuted, 1000);
    assert_in_range(statistics.refuted, 50, 150);
    assert_int_equal(statistics.unresolved, 0);
    perhaps_guard_free(guard);
    perhaps_free(filter);
    perhaps_store_sqlite_close(sqlite);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, enter_folder, leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_columns_by_declared_type),
        TEST(test_columns_by_collation),
        TEST(test_columns_of_special_tables),
        TEST(test_columns_of_views),
        cmocka_unit_test(test_affinity_rules),
        TEST(test_odd_keys),
        TEST(test_values_that_are_no_keys),
        TEST(test_long_keys),
        TEST(test_views_confirm_bytes_only),
        TEST(test_listing_stops),
        TEST(test_visits_may_ask_and_list),
        TEST(test_counting),
        TEST(test_indexed),
        TEST(test_behind_a_guard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
