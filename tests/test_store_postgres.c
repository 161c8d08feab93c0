// SPDX-License-Identifier: MIT
// A column, or a query, of a PostgreSQL database as a store: which are taken and which refused, which bytes are a key, how
// keys are listed and counted. (Locks, lost connections, other servers: test_store_postgres_server.c.)
#include "postgres_helpers.h"

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
        perhaps_store_options options = column_of(cases[i].table, cases[i].column);
        if (cases[i].words == NULL) {
            perhaps_store_postgres_close(open_options(&options));
            continue;
        }
        perhaps_error error = refused(&options, PERHAPS_E_UNSUPPORTED, cases[i].words);
        assert_contains_text(error.subject, "postgres@/tmp/perhaps-postgres-");
        assert_contains_text(error.text, cases[i].table);
        assert_contains_text(error.text, cases[i].column);
        assert_contains_text(error.text, "; give a column that compares bytewise");
    }
}

static void test_columns_by_type(void **state)
{
    make("CREATE EXTENSION IF NOT EXISTS citext; CREATE DOMAIN word AS text; CREATE DOMAIN amount AS int;"
         "CREATE DOMAIN caseless AS citext; CREATE TYPE mood AS ENUM ('sad', 'glad');"
         "CREATE TABLE t(txt text, vc varchar(20), any_length varchar, bl bytea, w word, ch char(4), ci citext, ca "
         "caseless,"
         " i int, big bigint, num numeric, re real, amount amount, id uuid, day date, yes boolean, json jsonb, na name,"
         " one \"char\", mo mood, array_ text[])");
    static const struct column_case cases[] = {
        {"t", "txt", NULL},
        {"t", "vc", NULL},
        {"t", "any_length", NULL},
        {"t", "bl", NULL},
        {"t", "w", NULL},
        {"t", "ch", "is of type character, which ignores spaces at the end of a key"},
        {"t", "ci", "is of type citext, which takes upper and lower case for one key"},
        {"t", "ca", "is of type citext, which takes upper and lower case"},
        {"t", "i", "is of type integer, which takes '007' and '7' for one number"},
        {"t", "big", "is of type bigint, which takes '007'"},
        {"t", "num", "is of type numeric, which takes '007'"},
        {"t", "re", "is of type real, which takes '007'"},
        {"t", "amount", "is of type integer"},
        {"t", "id", "is of type uuid, which has several texts for one value"},
        {"t", "day", "is of type date, which has several texts"},
        {"t", "yes", "is of type boolean, which has several texts"},
        {"t", "json", "is of type jsonb, which has several texts"},
        {"t", "na", "is of type name"},
        {"t", "one", "is of type \"char\""},
        {"t", "mo", "is of type mood"},
        {"t", "array_", "is of type text[]"},
        {"t", "ctid", "is a system column, a number"},
        {"t", "tableoid", "is a system column"},
    };
    check_columns(cases, COUNT(cases));
}

static void test_columns_by_collation(void **state)
{
    make("CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);"
         "CREATE COLLATION strict (provider = icu, locale = 'und');"
         "CREATE DOMAIN loose_word AS text COLLATE loose;"
         "CREATE TABLE t(plain text, c text COLLATE \"C\", icu text COLLATE strict, lo text COLLATE loose, dom "
         "loose_word,"
         " lv varchar(9) COLLATE loose)");
    static const struct column_case cases[] = {
        {"t", "plain", NULL},
        {"t", "c", NULL},
        {"t", "icu", NULL},
        {"t", "lo",
         "column \"lo\" of table \"t\" compares with collation \"loose\", so it would confirm keys whose bytes the "
         "filter "
         "never saw; give a column that compares bytewise"},
        {"t", "dom", "compares with collation \"loose\""},
        {"t", "lv", "compares with collation \"loose\""},
    };
    check_columns(cases, COUNT(cases));
}

static void test_columns_of_views_and_others(void **state)
{
    make("CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);"
         "CREATE TABLE t(txt text, lo text COLLATE loose, i int, b bytea, other text COLLATE \"C\");"
         "CREATE VIEW v AS SELECT txt, lo, i, b, txt || 'x' AS joined, i::text AS as_text, txt::int AS as_int,"
         " lo COLLATE \"C\" AS strict, txt COLLATE loose AS loosened FROM t;"
         "CREATE VIEW both_ AS SELECT txt FROM t UNION ALL SELECT other FROM t;"
         "CREATE VIEW loosest AS SELECT txt FROM t UNION ALL SELECT lo FROM t;"
         "CREATE MATERIALIZED VIEW kept AS SELECT txt, lo FROM t;"
         "CREATE TABLE parts(k text) PARTITION BY HASH (k);"
         "CREATE TABLE made(a text, g text GENERATED ALWAYS AS (a || '!') STORED);"
         "CREATE EXTENSION file_fdw; CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;"
         "CREATE FOREIGN TABLE away(k text) SERVER files OPTIONS (filename '/dev/null')");
    static const struct column_case cases[] = {
        {"v", "txt", NULL},
        {"v", "b", NULL},
        {"v", "joined", NULL},
        {"v", "as_text", NULL},
        {"v", "strict", NULL},
        {"kept", "txt", NULL},
        {"parts", "k", NULL},
        {"made", "g", NULL},
        {"v", "lo", "column \"lo\" of view \"v\" compares with collation \"loose\""},
        {"v", "loosened", "collation \"loose\""},
        {"v", "as_int", "is of type integer"},
        {"v", "i", "is of type integer"},
        {"kept", "lo", "collation \"loose\""},
        {"both_", "txt", NULL},
        {"loosest", "txt", "collation \"loose\""},
        {"away", "k", "column \"k\" of foreign table \"away\" is compared by another server"},
    };
    check_columns(cases, COUNT(cases));
}

static void test_missing_names(void **state)
{
    make("CREATE TABLE t(c text, u text, gone text); ALTER TABLE t DROP COLUMN gone; CREATE VIEW v AS SELECT c FROM t;"
         "CREATE INDEX i ON t(c); CREATE SEQUENCE s; CREATE SCHEMA IF NOT EXISTS apart; DROP TABLE IF EXISTS apart.x;"
         "CREATE TABLE apart.x(c text); CREATE SCHEMA IF NOT EXISTS hollow");
    static const struct {
        const char *schema;
        const char *table;
        const char *column;
        const char *words;
    } cases[] = {
        {NULL, "users", "c", "there is no table or view \"users\" in the search path; there are: t, v"},
        {NULL, "T", "c", "there is no table or view \"T\""},
        {NULL, "i", "c", "no table or view \"i\""},
        {NULL, "s", "last_value", "no table or view \"s\""},
        {NULL, "x", "c", "no table or view \"x\""},
        {NULL, "apart.x", "c", "no table or view \"apart.x\""},
        {"apart", "t", "c", "no table or view \"t\" in schema \"apart\"; there are: x"},
        {"hollow", "t", "c", "in schema \"hollow\"; there is none at all"},
        {"nowhere", "t", "c", "in schema \"nowhere\"; there is none at all"},
        {NULL, "t", "nmae", "table \"t\" has no column \"nmae\"; it has: c, u"},
        {NULL, "t", "C", "has no column \"C\""},
        {NULL, "t", "gone", "has no column \"gone\""},
        {NULL, "v", "u", "view \"v\" has no column \"u\"; it has: c"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        perhaps_store_options options = column_of(cases[i].table, cases[i].column);
        options.schema = cases[i].schema;
        (void)refused(&options, PERHAPS_E_ARGUMENT, cases[i].words);
    }
}

// A table that the search path finds is meant for good: another that is put before it is not asked.
static void test_schemas_and_odd_names(void **state)
{
    make("CREATE SCHEMA IF NOT EXISTS \"od\"\"d %s$1\"; DROP TABLE IF EXISTS \"od\"\"d %s$1\".\"sel\"\"ect\";"
         "CREATE TABLE \"od\"\"d %s$1\".\"sel\"\"ect\"(\"or\"\"der $1 %n\" text);"
         "INSERT INTO \"od\"\"d %s$1\".\"sel\"\"ect\" VALUES ('x');"
         "CREATE TABLE t(key text, t text); INSERT INTO t VALUES ('k', 't')");
    perhaps_store_options options = column_of("sel\"ect", "or\"der $1 %n");
    options.schema = "od\"d %s$1";
    perhaps_store_postgres *postgres = open_options(&options);
    assert_int_equal(ask(postgres, "x", 1), 1);
    assert_int_equal(ask(postgres, "y", 1), 0);
    assert_int_equal(count_keys(postgres), 1);
    perhaps_store_postgres_close(postgres);
    static const char *const columns[] = {"key", "t"};
    for (size_t i = 0; i < COUNT(columns); i++) {
        postgres = open_column("t", columns[i]);
        assert_int_equal(ask(postgres, columns[i], 1), 1);
        assert_int_equal(ask(postgres, "x", 1), 0);
        perhaps_store_postgres_close(postgres);
    }
}

/* ---------------------------------------------------------------- keys */

static const struct {
    const char *bytes;
    size_t length;
    bool utf8; // a text of a UTF-8 database can be this
} odd_keys[] = {
    {BYTES(""), true},
    {BYTES("a"), true},
    {BYTES("ab"), true},
    {BYTES("ab "), true},
    {BYTES("AB"), true},
    {BYTES("caf\xc3\xa9"), true},
    {BYTES("cafe\xcc\x81"), true}, // the same text, other bytes
    {BYTES("\xef\xbb\xbf"
           "a"),
     true}, // a byte order mark
    {BYTES("\xf4\x8f\xbf\xbf"), true},
    {BYTES("\xed\x9f\xbf"), true},
    {BYTES("007"), true},
    {BYTES("7"), true},
    {BYTES(" 7"), true},
    {BYTES("'; DROP TABLE t --"), true},
    {BYTES("\\x6162"), true}, // how bytea looks as text
    {BYTES("a\0b"), false},
    {BYTES("a\0"), false},
    {BYTES("\0"), false},
    {BYTES("\xff\xfe"), false},
    {BYTES("\xc3\x28"), false},
    {BYTES("\xc3"), false},
    {BYTES("\xed\xa0\x80"), false}, // a surrogate
    {BYTES("\xe0\x9f\xbf"), false}, // longer than it must be
    {BYTES("\xf0\x8f\xbf\xbf"), false},
    {BYTES("\xf4\x90\x80\x80"), false}, // beyond the last character
    {BYTES("\xf5\x80\x80\x80"), false},
    {BYTES("\x80"), false},
};

// Puts every second key in that the column can hold: exactly those are there, and listed with their bytes.
static void check_odd_keys(const char *schema, bool as_text, size_t parity)
{
    PGconn *session = open_session();
    run(session, schema);
    size_t expected = 0;
    for (size_t i = parity; i < COUNT(odd_keys); i += 2) {
        if (odd_keys[i].utf8 || !as_text) {
            insert(session, odd_keys[i].bytes, odd_keys[i].length, as_text);
            expected++;
        }
    }
    PQfinish(session);
    perhaps_store_postgres *postgres = open_column("t", "c");
    for (size_t i = 0; i < COUNT(odd_keys); i++) {
        bool there = i % 2 == parity && (odd_keys[i].utf8 || !as_text);
        assert_int_equal(ask(postgres, odd_keys[i].bytes, odd_keys[i].length), there);
    }
    struct visits visits = {0};
    assert_int_equal(list(postgres, &visits, NULL), 0);
    assert_int_equal(visits.count, expected);
    assert_int_equal(count_keys(postgres), expected);
    for (size_t used = 0; used < visits.used; used += 1 + (size_t)visits.bytes[used]) {
        assert_int_equal(ask(postgres, visits.bytes + used + 1, (size_t)visits.bytes[used]), 1);
    }
    perhaps_store_postgres_close(postgres);
}

static void test_odd_keys(void **state)
{
    static const char *const types[] = {"text", "varchar", "bytea"};
    for (size_t i = 0; i < COUNT(types); i++) {
        for (size_t parity = 0; parity < 2; parity++) {
            char schema[128];
            (void)snprintf(schema, sizeof schema, "DROP TABLE IF EXISTS t; CREATE TABLE t(c %s%s)", types[i],
                           parity == 0 ? " UNIQUE" : "");
            check_odd_keys(schema, i < 2, parity);
        }
    }
}

static void test_long_keys(void **state)
{
    size_t length = 3000000;
    char *key = malloc(length);
    assert_non_null(key);
    memset(key, 'k', length);
    PGconn *session = open_session();
    run(session, "CREATE TABLE t(c text); INSERT INTO t VALUES (NULL)");
    insert(session, key, length, true);
    PQfinish(session);
    perhaps_store_postgres *postgres = open_column("t", "c");
    assert_int_equal(ask(postgres, key, length), 1);
    assert_int_equal(ask(postgres, key, length - 1), 0);
    key[length - 1] = 'K';
    assert_int_equal(ask(postgres, key, length), 0);
    assert_int_equal(count_keys(postgres), 1);
    // Longer than any value can be: not there, and not read. Only the length is looked at.
    perhaps_store store = store_of(postgres);
    assert_int_equal(store.contains(store.context, key, SIZE_MAX / 2, NULL), 0);
    perhaps_store_postgres_close(postgres);
    free(key);
}

/* ---------------------------------------------------------------- queries */

static void test_queries(void **state)
{
    make("CREATE TABLE t(id int, name text, hidden boolean); INSERT INTO t VALUES (7, 'seven', false), (8, 'eight', "
         "true),"
         " (9, NULL, false), (10, 'seven', false)");
    perhaps_store_options options = query_of("SELECT name FROM t WHERE name = $1 AND NOT hidden -- visible ones",
                                             "SELECT name FROM t WHERE NOT hidden ;\n");
    perhaps_store_postgres *postgres = open_options(&options);
    assert_int_equal(ask(postgres, BYTES("seven")), 1);
    assert_int_equal(ask(postgres, BYTES("eight")), 0);
    struct visits visits = {0};
    assert_int_equal(list(postgres, &visits, NULL), 0);
    assert_int_equal(visits.count, 1);
    assert_memory_equal(visits.bytes, "\5seven", 6);
    assert_int_equal(count_keys(postgres), 1);
    perhaps_store_postgres_close(postgres);
    options = query_of("SELECT id::text FROM t WHERE id::text = $1", NULL);
    postgres = open_options(&options);
    assert_int_equal(ask(postgres, BYTES("7")), 1);
    assert_int_equal(ask(postgres, BYTES("007")), 0);
    perhaps_store store = store_of(postgres);
    assert_null(store.each_key);
    assert_null(store.count);
    perhaps_store_postgres_close(postgres);
}

// Whatever a query finds, only the bytes that it was asked for count.
static void test_queries_confirm_bytes_only(void **state)
{
    make("CREATE TABLE t(name text); INSERT INTO t VALUES ('Ann'), ('bob')");
    perhaps_store_options options = query_of("SELECT name FROM t WHERE lower(name) = lower($1)", "SELECT name FROM t");
    perhaps_store_postgres *postgres = open_options(&options);
    assert_int_equal(ask(postgres, BYTES("Ann")), 1);
    assert_int_equal(ask(postgres, BYTES("ann")), 0);
    assert_int_equal(ask(postgres, BYTES("BOB")), 0);
    perhaps_store_postgres_close(postgres);
}

// A function that is declared to be stable, and is not: it compares with one text and gives another. No question can be
// answered by such a query, and none is.
static void test_queries_that_lie(void **state)
{
    make("CREATE FUNCTION moody() RETURNS text LANGUAGE plpgsql STABLE AS $$ DECLARE n int; BEGIN"
         " n := coalesce(nullif(current_setting('test.n', true), ''), '0')::int;"
         " PERFORM set_config('test.n', (n + 1)::text, false); RETURN 'x' || n % 2; END $$");
    perhaps_store_options options = query_of("SELECT moody() WHERE $1 <> ''", NULL);
    perhaps_store_postgres *postgres = open_options(&options);
    int lies = 0;
    for (int i = 0; i < 4; i++) {
        perhaps_error error = {.size = sizeof error};
        int answer = ask_with(postgres, i % 2 == 0 ? "x0" : "x1", 2, &error);
        assert_int_not_equal(answer, 1);
        if (answer < 0) {
            assert_contains_text(error.text, "finds other bytes than were asked for");
            lies++;
        }
    }
    assert_true(lies > 0);
    perhaps_store_postgres_close(postgres);
}

static void test_queries_that_are_refused(void **state)
{
    make("CREATE EXTENSION IF NOT EXISTS citext;"
         "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);"
         "CREATE TABLE t(id int, name text, ci citext, c text COLLATE \"C\", lo text COLLATE loose)");
    static const struct {
        const char *query;
        const char *list;
        int code;
        const char *words;
    } cases[] = {
        {"SELECT nmae FROM t WHERE name = $1", NULL, PERHAPS_E_ARGUMENT, "column \"nmae\" does not exist"},
        {"", NULL, PERHAPS_E_ARGUMENT, "the query must"},
        {"SELECT name FROM t", NULL, PERHAPS_E_ARGUMENT, "must have one parameter, $1"},
        {"SELECT name FROM t WHERE name IN ($1, $2)", NULL, PERHAPS_E_ARGUMENT, "must have one parameter"},
        {"SELECT name, id FROM t WHERE name = $1", NULL, PERHAPS_E_ARGUMENT, "must give one column"},
        {"DELETE FROM t WHERE name = $1", NULL, PERHAPS_E_ARGUMENT, "must give one column"},
        {"DELETE FROM t WHERE name = $1 RETURNING name", NULL, PERHAPS_E_ARGUMENT, "syntax error"},
        {"SELECT name FROM t WHERE name = $1; SELECT 1", NULL, PERHAPS_E_ARGUMENT, "multiple commands"},
        {"SELECT name FROM t WHERE name = $1) x(key), (SELECT 1", NULL, PERHAPS_E_ARGUMENT, "syntax error"},
        {"SELECT id FROM t WHERE id = $1::int", NULL, PERHAPS_E_UNSUPPORTED, "the query is of type integer"},
        {"SELECT ci FROM t WHERE ci = $1", NULL, PERHAPS_E_UNSUPPORTED, "the query is of type citext"},
        {"SELECT lo FROM t WHERE lo = $1", NULL, PERHAPS_E_UNSUPPORTED, "the query compares with collation \"loose\""},
        {"SELECT c FROM t WHERE c = $1 UNION ALL SELECT lo FROM t", NULL, PERHAPS_E_UNSUPPORTED,
         "has no collation that is certain"},
        {"SELECT name FROM t WHERE id = $1", NULL, PERHAPS_E_ARGUMENT, "operator does not exist: integer = text"},
        {"SELECT name FROM t WHERE name = $1", "SELECT name, id FROM t", PERHAPS_E_ARGUMENT, "must give one column"},
        {"SELECT name FROM t WHERE name = $1", "SELECT $1", PERHAPS_E_ARGUMENT, "the list has a parameter"},
        {"SELECT name FROM t WHERE name = $1", "SELECT id FROM t", PERHAPS_E_UNSUPPORTED, "is of type integer"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        perhaps_store_options options = query_of(cases[i].query, cases[i].list);
        (void)refused(&options, cases[i].code, cases[i].words);
    }
}

/* ---------------------------------------------------------------- canonical forms */

struct canonical_case {
    const char *column;
    uint32_t forms;
    const char *asked;
    int answer;
};

static void test_canonical_forms(void **state)
{
    make("CREATE TABLE t(txt text, ch char(8)); INSERT INTO t VALUES ('Ann', 'Bob'), ('zo\u00c9  ', 'x  '), ('ann ', "
         "NULL)");
    static const struct canonical_case cases[] = {
        {"txt", PERHAPS_CANONICAL_LOWER, "ANN", 1},
        {"txt", PERHAPS_CANONICAL_LOWER, "ann ", 1},
        {"txt", PERHAPS_CANONICAL_LOWER, "ann  ", 0},
        {"txt", PERHAPS_CANONICAL_LOWER, "ZO\u00c9  ", 1},
        {"txt", PERHAPS_CANONICAL_LOWER, "zo\u00e9  ", 0}, // only the 26 letters
        {"txt", PERHAPS_CANONICAL_RTRIM, "Ann   ", 1},
        {"txt", PERHAPS_CANONICAL_RTRIM, "ANN", 0},
        {"txt", PERHAPS_CANONICAL_LOWER | PERHAPS_CANONICAL_RTRIM, "aNN     ", 1},
        {"ch", PERHAPS_CANONICAL_RTRIM, "Bob", 1},
        {"ch", PERHAPS_CANONICAL_RTRIM, "Bob          ", 1},
        {"ch", PERHAPS_CANONICAL_RTRIM, "BOB", 0},
        {"ch", PERHAPS_CANONICAL_RTRIM, " Bob", 0},
        {"ch", PERHAPS_CANONICAL_LOWER | PERHAPS_CANONICAL_RTRIM, "BOB ", 1},
        {"ch", PERHAPS_CANONICAL_LOWER | PERHAPS_CANONICAL_RTRIM, "BO", 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        perhaps_store_options options = column_of("t", cases[i].column);
        options.canonical = cases[i].forms;
        perhaps_store_postgres *postgres = open_options(&options);
        if (ask(postgres, cases[i].asked, strlen(cases[i].asked)) != cases[i].answer) {
            fail_msg("%s \"%s\" with forms %u: not %d", cases[i].column, cases[i].asked, cases[i].forms,
                     cases[i].answer);
        }
        perhaps_store_postgres_close(postgres);
    }
}

static void test_canonical_listing(void **state)
{
    make("CREATE TABLE t(txt text, ch char(4), b bytea); INSERT INTO t VALUES ('Ann ', 'Ab'), ('ANN', 'ab'), (NULL, "
         "NULL)");
    perhaps_store_options options = column_of("t", "txt");
    options.canonical = PERHAPS_CANONICAL_LOWER | PERHAPS_CANONICAL_RTRIM;
    perhaps_store_postgres *postgres = open_options(&options);
    struct visits visits = {0};
    assert_int_equal(list(postgres, &visits, NULL), 0);
    assert_int_equal(visits.count, 1); // as often as it is counted: a filter takes few copies of one key
    assert_memory_equal(visits.bytes, "\3ann", 4);
    assert_int_equal(count_keys(postgres), 1);
    assert_int_equal(store_of(postgres).flags, PERHAPS_STORE_SNAPSHOT);
    perhaps_store_postgres_close(postgres);
    options = column_of("t", "ch");
    options.canonical = PERHAPS_CANONICAL_RTRIM;
    postgres = open_options(&options);
    struct visits padded = {0};
    assert_int_equal(list(postgres, &padded, NULL), 0);
    assert_int_equal(padded.count, 2);
    assert_int_equal(padded.used, 6);
    assert_int_equal(count_keys(postgres), 2);
    perhaps_store_postgres_close(postgres);
    options.canonical = PERHAPS_CANONICAL_LOWER;
    (void)refused(&options, PERHAPS_E_UNSUPPORTED, "ignores spaces at the end");
    options = column_of("t", "b");
    options.canonical = PERHAPS_CANONICAL_LOWER;
    (void)refused(&options, PERHAPS_E_UNSUPPORTED, "bytea, which has no letters");
}

/* ---------------------------------------------------------------- listing and counting */

static void test_listing_stops(void **state)
{
    make("CREATE TABLE t(c text); INSERT INTO t VALUES ('a'), ('b'), ('b'), ('c'), (NULL)");
    perhaps_store_postgres *postgres = open_column("t", "c");
    struct visits all = {0};
    assert_int_equal(list(postgres, &all, NULL), 0);
    assert_int_equal(all.count, 3); // each key once
    static const int stops[] = {1, 42, -1, PERHAPS_E_MEMORY};
    for (size_t i = 0; i < COUNT(stops); i++) {
        struct visits some = {.stop_after = 2, .stop_with = stops[i]};
        perhaps_error error = {.size = sizeof error};
        assert_int_equal(list(postgres, &some, &error), stops[i]);
        assert_int_equal(some.count, 2);
        assert_int_equal(error.code, 0);
    }
    perhaps_store store = store_of(postgres);
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(store.each_key(store.context, NULL, NULL, &error), PERHAPS_E_ARGUMENT);
    assert_string_equal(error.subject, "visit");
    assert_int_equal(store.count(store.context, NULL, &error), PERHAPS_E_ARGUMENT);
    assert_string_equal(error.subject, "count");
    assert_int_equal(store.contains(store.context, NULL, 1, &error), PERHAPS_E_ARGUMENT);
    assert_string_equal(error.subject, "key");
    perhaps_store_postgres_close(postgres);
}

// One statement has one snapshot, which it takes behind its locks. (That of REPEATABLE READ is taken before: a table that is
// rewritten meanwhile would be listed as empty.)
static void test_listings_are_one_statement(void **state)
{
    perhaps_store_options options =
        query_of("SELECT $1::text", "SELECT name || ' ' || setting FROM pg_catalog.pg_settings"
                                    " WHERE name IN ('transaction_isolation', 'transaction_read_only') ORDER BY name");
    perhaps_store_postgres *postgres = open_options(&options);
    struct visits visits = {0};
    assert_int_equal(list(postgres, &visits, NULL), 0);
    assert_int_equal(visits.count, 2);
    visits.bytes[visits.used] = '\0';
    assert_contains_text(visits.bytes, "transaction_isolation read committed");
    assert_contains_text(visits.bytes, "transaction_read_only on");
    perhaps_store_postgres_close(postgres);
}

static int visit_and_ask(void *visitor, const void *key, size_t length)
{
    perhaps_store_postgres *postgres = visitor;
    assert_int_equal(ask(postgres, key, length), 1);
    assert_int_equal(ask(postgres, BYTES("elsewhere")), 0);
    struct visits inner = {0};
    assert_int_equal(list(postgres, &inner, NULL), 0);
    assert_int_equal(inner.count, 3);
    assert_int_equal(count_keys(postgres), 3);
    return 0;
}

static void test_visits_may_ask_and_list(void **state)
{
    make("CREATE TABLE t(c text); INSERT INTO t VALUES ('a'), ('b'), ('c')");
    perhaps_store_postgres *postgres = open_column("t", "c");
    perhaps_store store = store_of(postgres);
    assert_int_equal(store.each_key(store.context, visit_and_ask, postgres, NULL), 0);
    perhaps_store_postgres_close(postgres);
}

static void test_indexed(void **state)
{
    make("CREATE TABLE t(p text PRIMARY KEY, u bytea UNIQUE, scan text, hashed text, folded text, ch char(4));"
         "CREATE INDEX h ON t USING hash (hashed); CREATE INDEX f ON t(lower(folded COLLATE \"C\"));"
         "CREATE INDEX c ON t(ch);"
         "CREATE VIEW v AS SELECT p, scan, p || 'x' AS made FROM t;"
         "CREATE VIEW half AS SELECT p FROM t UNION ALL SELECT scan FROM t");
    static const struct {
        const char *table;
        const char *column;
        uint32_t canonical;
        int indexed;
    } cases[] = {
        {"t", "p", 0, 1},      {"t", "u", 0, 1},      {"t", "scan", 0, 0},
        {"t", "hashed", 0, 1}, {"t", "folded", 0, 0}, {"t", "folded", PERHAPS_CANONICAL_LOWER, 1},
        {"t", "ch", 2, 1},     {"v", "p", 0, 1},      {"v", "scan", 0, 0},
        {"v", "made", 0, 0},   {"half", "p", 0, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        perhaps_store_options options = column_of(cases[i].table, cases[i].column);
        options.canonical = cases[i].canonical;
        perhaps_store_postgres *postgres = open_options(&options);
        if (perhaps_store_postgres_indexed(postgres) != cases[i].indexed) {
            fail_msg("%s.%s: not %d", cases[i].table, cases[i].column, cases[i].indexed);
        }
        perhaps_store_postgres_close(postgres);
    }
}

#define TEST(function) cmocka_unit_test_setup(function, enter_schema)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_columns_by_type),
        TEST(test_columns_by_collation),
        TEST(test_columns_of_views_and_others),
        TEST(test_missing_names),
        TEST(test_schemas_and_odd_names),
        TEST(test_odd_keys),
        TEST(test_long_keys),
        TEST(test_queries),
        TEST(test_queries_confirm_bytes_only),
        TEST(test_queries_that_lie),
        TEST(test_queries_that_are_refused),
        TEST(test_canonical_forms),
        TEST(test_canonical_listing),
        TEST(test_listing_stops),
        TEST(test_listings_are_one_statement),
        TEST(test_visits_may_ask_and_list),
        TEST(test_indexed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
