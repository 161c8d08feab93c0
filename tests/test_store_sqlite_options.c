// SPDX-License-Identifier: MIT
// SQLite stores that are a query, or a column in a canonical form; and the canonical forms themselves, against the
// collations that they stand for.
#include "sqlite_helpers.h"

static perhaps_store_options query_of(const char *query, const char *list)
{
    return (perhaps_store_options){.size = sizeof(perhaps_store_options), .query = query, .list = list};
}

static perhaps_store_options column_of(const char *column, uint32_t canonical)
{
    return (perhaps_store_options){
        .size = sizeof(perhaps_store_options), .table = "t", .column = column, .canonical = canonical};
}

static perhaps_store_sqlite *open_options(const perhaps_store_options *options)
{
    perhaps_store_sqlite *sqlite = NULL;
    perhaps_error error = {.size = sizeof error};
    if (perhaps_store_sqlite_open_options("a.db", options, &sqlite, &error) < 0) {
        fail_msg("%s: %s", error.subject, error.text);
    }
    return sqlite;
}

static perhaps_error refused_options(const perhaps_store_options *options, int code, const char *words)
{
    perhaps_store_sqlite *sqlite = NULL;
    perhaps_error error = {.size = sizeof error};
    int result = perhaps_store_sqlite_open_options("a.db", options, &sqlite, &error);
    if (result != code || error.code != code) {
        fail_msg("%s: code %d (%d), not %d: %s", words, result, error.code, code, error.text);
    }
    assert_contains_text(error.text, words);
    assert_null(sqlite);
    return error;
}

/* ---------------------------------------------------------------- canonical forms */

static int equal_in_sqlite(sqlite3_stmt *statement, const char *a, size_t a_length, const char *b, size_t b_length)
{
    assert_int_equal(sqlite3_bind_text(statement, 1, a, (int)a_length, SQLITE_STATIC), SQLITE_OK);
    assert_int_equal(sqlite3_bind_text(statement, 2, b, (int)b_length, SQLITE_STATIC), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int equal = sqlite3_column_int(statement, 0);
    assert_int_equal(sqlite3_reset(statement), SQLITE_OK);
    return equal;
}

// Two keys have one canonical form exactly when SQLite takes them for equal: short ones of few letters, so that many are,
// every byte among them now and then.
static void compare_with_sqlite(const char *sql, uint32_t forms)
{
    static const char letters[] = "aAzZ@[`{ \t\0b\xe9";
    sqlite3 *db = open_writer("a.db");
    sqlite3_stmt *statement = NULL;
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
    uint64_t random = 1;
    int equal = 0;
    for (int i = 0; i < 200000; i++) {
        char keys[2][4];
        size_t lengths[2];
        char forms_of[2][4];
        size_t form_lengths[2];
        for (int side = 0; side < 2; side++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            lengths[side] = (size_t)(random >> 60) % 5;
            for (size_t j = 0; j < lengths[side]; j++) {
                uint64_t pick = random >> (16 + 10 * j) & 1023;
                keys[side][j] = pick < 40 ? (char)(random >> 8) : letters[pick % (sizeof letters - 1)];
            }
            form_lengths[side] = perhaps_canonical(forms, keys[side], lengths[side], forms_of[side]);
            char again[4];
            assert_int_equal(perhaps_canonical(forms, forms_of[side], form_lengths[side], again), form_lengths[side]);
            assert_memory_equal(again, forms_of[side], form_lengths[side]);
        }
        int same = form_lengths[0] == form_lengths[1] && memcmp(forms_of[0], forms_of[1], form_lengths[0]) == 0 ? 1 : 0;
        assert_int_equal(same, equal_in_sqlite(statement, keys[0], lengths[0], keys[1], lengths[1]));
        equal += same;
    }
    assert_true(equal > 2000);
    assert_int_equal(sqlite3_finalize(statement), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void test_forms_against_collations(void **state)
{
    compare_with_sqlite("SELECT ?1 = ?2", 0);
    compare_with_sqlite("SELECT ?1 = ?2 COLLATE NOCASE", PERHAPS_CANONICAL_LOWER);
    compare_with_sqlite("SELECT ?1 = ?2 COLLATE RTRIM", PERHAPS_CANONICAL_RTRIM);
    compare_with_sqlite("SELECT rtrim(?1, ' ') = rtrim(?2, ' ') COLLATE NOCASE",
                        PERHAPS_CANONICAL_LOWER | PERHAPS_CANONICAL_RTRIM);
}

static void test_forms_in_place(void **state)
{
    char key[] = "Ann B  ";
    assert_int_equal(perhaps_canonical(PERHAPS_CANONICAL_LOWER | PERHAPS_CANONICAL_RTRIM, key, 7, key), 5);
    assert_memory_equal(key, "ann b", 5);
    assert_int_equal(perhaps_canonical(PERHAPS_CANONICAL_LOWER, NULL, 0, NULL), 0);
    assert_int_equal(perhaps_canonical(PERHAPS_CANONICAL_RTRIM, "   ", 3, key), 0);
}

static void check_answers(perhaps_store_sqlite *sqlite, const char *const asked[], size_t count, int answer)
{
    for (size_t i = 0; i < count; i++) {
        if (ask(sqlite, asked[i], strlen(asked[i])) != answer) {
            fail_msg("\"%s\": not %d", asked[i], answer);
        }
    }
}

static void test_columns_in_a_form(void **state)
{
    make("a.db", "CREATE TABLE t(no TEXT COLLATE NOCASE UNIQUE, rt TEXT COLLATE RTRIM, plain TEXT, i INT, bare);"
                 "INSERT INTO t VALUES ('Ann', 'Bob ', 'Eve ', 1, x'58'), ('zo', 'bob', 'EVE', 2, 'y')");
    static const char *const anns[] = {"Ann", "ANN", "ann", "ZO"};
    static const char *const no_anns[] = {"Ann ", "an", "", "annn"};
    static const char *const bobs[] = {"Bob", "Bob   ", "bob "};
    static const char *const no_bobs[] = {"BOB", " Bob", "Bo"};
    static const char *const eves[] = {"EVE", "eve  ", "Eve"};
    static const struct {
        const char *column;
        uint32_t forms;
        const char *const *there;
        const char *const *not_there;
        int indexed;
        uint64_t count;
    } cases[] = {{"no", PERHAPS_CANONICAL_LOWER, anns, no_anns, 1, 2},
                 {"rt", PERHAPS_CANONICAL_RTRIM, bobs, no_bobs, 0, 2},
                 {"plain", PERHAPS_CANONICAL_LOWER | PERHAPS_CANONICAL_RTRIM, eves, no_bobs, 0, 1},
                 {"plain", PERHAPS_CANONICAL_LOWER | PERHAPS_CANONICAL_RTRIM, eves, no_anns, 0, 1}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        perhaps_store_options options = column_of(cases[i].column, cases[i].forms);
        perhaps_store_sqlite *sqlite = open_options(&options);
        check_answers(sqlite, cases[i].there, 3, 1);
        check_answers(sqlite, cases[i].not_there, 3, 0);
        assert_int_equal(perhaps_store_sqlite_indexed(sqlite), cases[i].indexed);
        assert_int_equal(count_keys(sqlite), cases[i].count);
        perhaps_store_sqlite_close(sqlite);
    }
}

static void test_forms_that_do_not_fit(void **state)
{
    make("a.db", "CREATE TABLE t(no TEXT COLLATE NOCASE, rt TEXT COLLATE RTRIM, i INT)");
    perhaps_store_options options = column_of("no", PERHAPS_CANONICAL_RTRIM);
    (void)refused_options(&options, PERHAPS_E_UNSUPPORTED, "compares with collation NOCASE");
    options = column_of("rt", PERHAPS_CANONICAL_LOWER);
    (void)refused_options(&options, PERHAPS_E_UNSUPPORTED, "compares with collation RTRIM");
    options = column_of("i", PERHAPS_CANONICAL_LOWER | PERHAPS_CANONICAL_RTRIM);
    (void)refused_options(&options, PERHAPS_E_UNSUPPORTED, "INTEGER affinity");
    options = column_of("no", 4);
    assert_string_equal(refused_options(&options, PERHAPS_E_OPTION, "canonical form").subject, "canonical");
}

// Listings give the canonical form of every text; blobs have no letters, and are no keys then.
static void test_listing_in_a_form(void **state)
{
    make("a.db", "CREATE TABLE t(c); INSERT INTO t VALUES ('Ann '), ('ANN'), (x'414e4e'), (7), (NULL)");
    perhaps_store_options options = column_of("c", PERHAPS_CANONICAL_LOWER | PERHAPS_CANONICAL_RTRIM);
    perhaps_store_sqlite *sqlite = open_options(&options);
    struct visits visits = {0};
    assert_int_equal(list(sqlite, &visits, NULL), 0);
    assert_int_equal(visits.count, 1); // as often as it is counted: a filter takes few copies of one key
    assert_memory_equal(visits.bytes, "\3ann", 4);
    assert_int_equal(count_keys(sqlite), 1);
    perhaps_store store;
    assert_int_equal(perhaps_store_sqlite_store(sqlite, &store), 0);
    assert_int_equal(store.flags, PERHAPS_STORE_SNAPSHOT);
    perhaps_store_sqlite_close(sqlite);
}

// A key that is longer than the room that is ready for short ones.
static void test_long_keys_in_a_form(void **state)
{
    char key[1000];
    memset(key, 'K', sizeof key);
    sqlite3 *db = open_writer("a.db");
    run(db, "CREATE TABLE t(c TEXT COLLATE NOCASE)");
    insert(db, key, sizeof key, true);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    perhaps_store_options options = column_of("c", PERHAPS_CANONICAL_LOWER);
    perhaps_store_sqlite *sqlite = open_options(&options);
    memset(key, 'k', sizeof key);
    assert_int_equal(ask(sqlite, key, sizeof key), 1);
    assert_int_equal(ask(sqlite, key, sizeof key - 1), 0);
    perhaps_store_sqlite_close(sqlite);
}

/* ---------------------------------------------------------------- queries */

static void test_queries(void **state)
{
    make("a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY, name, hidden INT); CREATE INDEX i ON t(name);"
                 "INSERT INTO t VALUES (7, 'seven', 0), (8, 'eight', 1), (9, x'6e696e65', 0), (10, 'seven', 0)");
    perhaps_store_options options = query_of("SELECT name FROM t WHERE name = ?1 AND NOT hidden -- visible ones",
                                             "SELECT name FROM t WHERE NOT hidden ;\n");
    perhaps_store_sqlite *sqlite = open_options(&options);
    assert_int_equal(ask(sqlite, BYTES("seven")), 1);
    assert_int_equal(ask(sqlite, BYTES("nine")), 1); // a blob
    assert_int_equal(ask(sqlite, BYTES("eight")), 0);
    assert_int_equal(perhaps_store_sqlite_indexed(sqlite), 1);
    struct visits visits = {0};
    assert_int_equal(list(sqlite, &visits, NULL), 0);
    assert_int_equal(visits.count, 2);
    assert_int_equal(count_keys(sqlite), 2);
    perhaps_store_sqlite_close(sqlite);
    options = query_of("SELECT CAST(id AS TEXT) FROM t WHERE id = CAST(:key AS INTEGER)", NULL);
    sqlite = open_options(&options);
    assert_int_equal(ask(sqlite, BYTES("7")), 1);
    assert_int_equal(ask(sqlite, BYTES("007")), 0);
    perhaps_store store;
    assert_int_equal(perhaps_store_sqlite_store(sqlite, &store), 0);
    assert_null(store.each_key);
    assert_null(store.count);
    uint64_t count = 0;
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(perhaps_store_sqlite_count(sqlite, &count, &error), PERHAPS_E_UNSUPPORTED);
    assert_contains_text(error.text, "without a list");
    perhaps_store_sqlite_close(sqlite);
}

// Whatever a query finds, only the bytes that it was asked for count.
static void test_queries_confirm_bytes_only(void **state)
{
    make("a.db", "CREATE TABLE t(name TEXT); INSERT INTO t VALUES ('Ann'), ('bob')");
    perhaps_store_options options = query_of("SELECT name FROM t WHERE name LIKE ?1", "SELECT name FROM t");
    perhaps_store_sqlite *sqlite = open_options(&options);
    assert_int_equal(ask(sqlite, BYTES("Ann")), 1);
    static const char *const others[] = {"ann", "%", "BOB", "b_b"};
    check_answers(sqlite, others, COUNT(others), 0);
    perhaps_store_sqlite_close(sqlite);
}

static void test_queries_in_a_form(void **state)
{
    make("a.db", "CREATE TABLE t(name TEXT COLLATE NOCASE); INSERT INTO t VALUES ('Ann')");
    perhaps_store_options options = query_of("SELECT name FROM t WHERE name = ?1", "SELECT name FROM t");
    (void)refused_options(&options, PERHAPS_E_UNSUPPORTED, "the query compares with collation NOCASE");
    options.canonical = PERHAPS_CANONICAL_LOWER;
    perhaps_store_sqlite *sqlite = open_options(&options);
    assert_int_equal(ask(sqlite, BYTES("ANN")), 1);
    assert_int_equal(ask(sqlite, BYTES("an")), 0);
    perhaps_store_sqlite_close(sqlite);
}

static void test_queries_that_are_refused(void **state)
{
    make("a.db", "CREATE TABLE t(id INT, name TEXT)");
    static const struct {
        const char *query;
        const char *list;
        int code;
        const char *subject;
        const char *words;
    } cases[] = {
        {"SELECT nmae FROM t WHERE name = ?1", NULL, PERHAPS_E_ARGUMENT, "query", "no such column: nmae"},
        {"SELECT name FORM t WHERE name = ?1", NULL, PERHAPS_E_ARGUMENT, "query", "syntax error"},
        {"", NULL, PERHAPS_E_ARGUMENT, "query", "must have one parameter"},
        {"-- nothing", NULL, PERHAPS_E_ARGUMENT, "query", "must have one parameter"},
        {"SELECT name FROM t", NULL, PERHAPS_E_ARGUMENT, "query", "must have one parameter, ?1"},
        {"SELECT name FROM t WHERE name IN (?1, ?2)", NULL, PERHAPS_E_ARGUMENT, "query", "must have one parameter"},
        {"SELECT name, id FROM t WHERE name = ?1", NULL, PERHAPS_E_ARGUMENT, "query", "must be a SELECT of one column"},
        {"DELETE FROM t WHERE name = ?1", NULL, PERHAPS_E_ARGUMENT, "query", "must be a SELECT"},
        {"DELETE FROM t WHERE name = ?1 RETURNING name", NULL, PERHAPS_E_ARGUMENT, "query", "must be a SELECT"},
        {"SELECT name FROM t WHERE name = ?1; DELETE FROM t", NULL, PERHAPS_E_ARGUMENT, "query", "more than one"},
        {"SELECT name FROM t WHERE name = ?1) SELECT (1", NULL, PERHAPS_E_ARGUMENT, "query", "syntax error"},
        {"SELECT id FROM t WHERE id = ?1", NULL, PERHAPS_E_UNSUPPORTED, "a.db", "the query has INTEGER affinity"},
        {"SELECT name FROM t WHERE name = ?1", "SELECT name, id FROM t", PERHAPS_E_ARGUMENT, "list", "one column"},
        {"SELECT name FROM t WHERE name = ?1", "SELECT ?1", PERHAPS_E_ARGUMENT, "list", "has a parameter"},
        {"SELECT name FROM t WHERE name = ?1", "SELECT id FROM t", PERHAPS_E_UNSUPPORTED, "a.db", "INTEGER affinity"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        perhaps_store_options options = query_of(cases[i].query, cases[i].list);
        perhaps_error error = refused_options(&options, cases[i].code, cases[i].words);
        assert_string_equal(error.subject, cases[i].subject);
    }
}

static void test_arguments(void **state)
{
    make("a.db", "CREATE TABLE t(c TEXT)");
    perhaps_store_options good = column_of("c", 0);
    perhaps_store_sqlite *sqlite = NULL;
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(perhaps_store_sqlite_open_options(NULL, &good, &sqlite, &error), PERHAPS_E_ARGUMENT);
    assert_string_equal(error.subject, "path");
    assert_int_equal(perhaps_store_sqlite_open_options("a.db", NULL, &sqlite, &error), PERHAPS_E_ARGUMENT);
    assert_string_equal(error.subject, "options");
    assert_int_equal(perhaps_store_sqlite_open_options("a.db", &good, NULL, &error), PERHAPS_E_ARGUMENT);
    assert_string_equal(error.subject, "sqlite");
    perhaps_store_options options = good;
    options.schema = "main";
    assert_string_equal(refused_options(&options, PERHAPS_E_ARGUMENT, "no schemas").subject, "schema");
    options = good;
    options.size = 8;
    assert_string_equal(refused_options(&options, PERHAPS_E_OPTION, "size").subject, "size");
    options = good;
    options.query = "SELECT ?1";
    assert_string_equal(refused_options(&options, PERHAPS_E_ARGUMENT, "stands in").subject, "query");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, enter_folder, leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_forms_against_collations),
        TEST(test_forms_in_place),
        TEST(test_columns_in_a_form),
        TEST(test_forms_that_do_not_fit),
        TEST(test_listing_in_a_form),
        TEST(test_long_keys_in_a_form),
        TEST(test_queries),
        TEST(test_queries_confirm_bytes_only),
        TEST(test_queries_in_a_form),
        TEST(test_queries_that_are_refused),
        TEST(test_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
