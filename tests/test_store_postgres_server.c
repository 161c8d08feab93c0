// SPDX-License-Identifier: MIT
// PostgreSQL stores when the server is not there, goes, comes back, is another one, is locked, or has changed.
#include "postgres_helpers.h"

#include <unistd.h>

#define TABLE "CREATE TABLE t(c text, u text UNIQUE); INSERT INTO t VALUES ('x', 'x')"

/* ---------------------------------------------------------------- connections */

static void test_servers_that_are_not_there(void **state)
{
    perhaps_store_options options = column_of("t", "c");
    perhaps_error error = refused_by("host=/nowhere dbname=shop password=secret", &options, PERHAPS_E_IO,
                                     "there is no connection to the server (");
    assert_string_equal(error.subject, "shop@/nowhere");
    assert_contains_text(error.text, "No such file or directory");
    assert_null(strstr(error.text, "secret"));
    char conninfo[256];
    (void)snprintf(conninfo, sizeof conninfo, "%s dbname=missing", server());
    error = refused_by(conninfo, &options, PERHAPS_E_IO, "database \"missing\" does not exist");
    assert_contains_text(error.subject, "missing@/tmp/");
}

// None of them has its password, or a part of it, in any text. What is not a URI at all is a name of a database to libpq.
static void test_addresses_that_cannot_be_read(void **state)
{
    static const char *const addresses[] = {"host=/nowhere dbnam=shop",
                                            "host=/nowhere password=secret word",
                                            "host=/nowhere password='secret",
                                            "host=/nowhere password=my secret=1",
                                            "postgresql://me:secret%zz@nowhere/shop",
                                            "postgresql://me:secret@[nowhere/shop",
                                            "postgresql://me:secret@nowhere/shop?secret",
                                            "postgresql://me:a@secret@nowhere/shop",
                                            "postgresql://me:12/secret@nowhere/shop",
                                            "postgres://me:pa/secret@nowhere/shop",
                                            "mysql://me:secret@nowhere/shop?a=b",
                                            "me:secret@nowhere/shop"};
    perhaps_store_options options = column_of("t", "c");
    for (size_t i = 0; i < COUNT(addresses); i++) {
        perhaps_error error = refused_by(addresses[i], &options, PERHAPS_E_ARGUMENT, "it is not shown");
        assert_string_equal(error.subject, "conninfo");
        assert_null(strstr(error.text, "secret"));
        assert_null(strstr(error.text, "nowhere"));
    }
    // These can be read: an @ in its place, or in a parameter, or as %40.
    (void)refused_by("postgresql://me:secret@/shop?host=/nowhere", &options, PERHAPS_E_IO, "there is no connection");
    (void)refused_by("postgresql://me:se%40cr%2Fet@/shop?host=/nowhere", &options, PERHAPS_E_IO, "no connection");
    (void)refused_by("postgresql:///shop?host=@nowhere", &options, PERHAPS_E_IO, "there is no connection");
}

static void test_name_without_password(void **state)
{
    make(TABLE);
    char conninfo[256];
    (void)snprintf(conninfo, sizeof conninfo, "%s password=secret", server());
    perhaps_store_options options = column_of("t", "c");
    perhaps_store_postgres *postgres = NULL;
    assert_int_equal(perhaps_store_postgres_open(conninfo, &options, &postgres, NULL), 0);
    assert_contains_text(perhaps_store_postgres_name(postgres), "postgres@/tmp/perhaps-postgres-");
    assert_null(strstr(perhaps_store_postgres_name(postgres), "secret"));
    perhaps_store_postgres_close(postgres);
}

static void check_lost(perhaps_store_postgres *postgres, const void *key, size_t length)
{
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(ask_with(postgres, key, length, &error), PERHAPS_E_IO);
    assert_contains_text(error.text, "there is no connection to the server");
}

// No server, no answer: neither for a key that was there, nor for one that never was, nor for one that cannot be.
static void test_server_that_goes_and_comes_back(void **state)
{
    make(TABLE);
    perhaps_store_postgres *postgres = open_column("t", "c");
    assert_int_equal(ask(postgres, BYTES("x")), 1);
    control("stop");
    for (int i = 0; i < 2; i++) {
        check_lost(postgres, BYTES("x"));
        check_lost(postgres, BYTES("y"));
        check_lost(postgres, BYTES("\xff"));
        check_lost(postgres, BYTES("a\0b"));
    }
    struct visits visits = {0};
    assert_int_equal(list(postgres, &visits, NULL), PERHAPS_E_IO);
    assert_int_equal(visits.count, 0);
    control("start");
    assert_int_equal(ask(postgres, BYTES("x")), 1);
    assert_int_equal(ask(postgres, BYTES("y")), 0);
    control("stop");
    control("start"); // unnoticed in between: the question is asked once more
    assert_int_equal(ask(postgres, BYTES("x")), 1);
    assert_int_equal(ask(postgres, BYTES("\xff")), 0);
    perhaps_store_postgres_close(postgres);
}

// A connection that the server's owner ends, in the middle of a listing, too.
static void end_sessions(void)
{
    make("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'perhaps'");
}

static int end_after_one(void *visitor, const void *key, size_t length)
{
    (void)key;
    (void)length;
    if (++*(int *)visitor == 1) {
        end_sessions();
    }
    return 0;
}

static void test_sessions_that_are_ended(void **state)
{
    make("CREATE TABLE t AS SELECT i || repeat('x', 1000) AS c FROM generate_series(1, 50000) AS i");
    perhaps_store_postgres *postgres = open_column("t", "c");
    end_sessions();
    assert_int_equal(ask(postgres, BYTES("y")), 0);
    perhaps_store store = store_of(postgres);
    int visits = 0;
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(store.each_key(store.context, end_after_one, &visits, &error), PERHAPS_E_IO);
    assert_true(visits > 0 && visits < 50000);
    assert_true(strlen(error.text) > 0);
    perhaps_store_postgres_close(postgres);
}

// A listing that is broken off does not go on in the server.
static void test_listings_that_are_broken_off(void **state)
{
    make("CREATE TABLE t AS SELECT 'k' || i AS c FROM generate_series(1, 300000) AS i");
    perhaps_store_postgres *postgres = open_column("t", "c");
    struct visits one = {.stop_after = 1, .stop_with = 5};
    assert_int_equal(list(postgres, &one, NULL), 5);
    perhaps_store_postgres_close(postgres);
    PGconn *session = open_session();
    for (int i = 0;; i++) {
        PGresult *result = PQexec(session, "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'perhaps'");
        bool gone = strcmp(PQgetvalue(result, 0, 0), "0") == 0;
        PQclear(result);
        if (gone) {
            break;
        }
        assert_true(i < 2000);
        (void)usleep(10000);
    }
    PQfinish(session);
}

/* ---------------------------------------------------------------- arguments */

static void test_arguments(void **state)
{
    perhaps_store_options good = column_of("t", "c");
    perhaps_store_postgres *postgres = NULL;
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(perhaps_store_postgres_open(NULL, &good, &postgres, &error), PERHAPS_E_ARGUMENT);
    assert_string_equal(error.subject, "conninfo");
    assert_int_equal(perhaps_store_postgres_open(server(), NULL, &postgres, &error), PERHAPS_E_ARGUMENT);
    assert_string_equal(error.subject, "options");
    assert_int_equal(perhaps_store_postgres_open(server(), &good, NULL, &error), PERHAPS_E_ARGUMENT);
    assert_string_equal(error.subject, "postgres");
    perhaps_store_options options = good;
    options.size--;
    assert_string_equal(refused(&options, PERHAPS_E_OPTION, "size").subject, "size");
    options = good;
    options.canonical = 4;
    assert_string_equal(refused(&options, PERHAPS_E_OPTION, "canonical form").subject, "canonical");
    options = good;
    options.table = NULL;
    assert_string_equal(refused(&options, PERHAPS_E_ARGUMENT, "NULL").subject, "table");
    options = good;
    options.column = NULL;
    assert_string_equal(refused(&options, PERHAPS_E_ARGUMENT, "NULL").subject, "column");
    options = good;
    options.list = "SELECT 1";
    assert_string_equal(refused(&options, PERHAPS_E_ARGUMENT, "with a query only").subject, "list");
    options = good;
    options.query = "SELECT $1";
    assert_string_equal(refused(&options, PERHAPS_E_ARGUMENT, "stands in for").subject, "query");
    assert_int_equal(perhaps_store_postgres_store(NULL, NULL), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_store_postgres_indexed(NULL), PERHAPS_E_ARGUMENT);
    assert_string_equal(perhaps_store_postgres_name(NULL), "");
    perhaps_store_postgres_close(NULL);
}

/* ---------------------------------------------------------------- locks */

static void test_locked_table(void **state)
{
    make(TABLE);
    perhaps_store_options options = column_of("t", "c");
    options.wait_milliseconds = 50;
    perhaps_store_postgres *postgres = open_options(&options);
    PGconn *session = open_session();
    run(session, "BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE");
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(ask_with(postgres, BYTES("x"), &error), PERHAPS_E_IO);
    assert_contains_text(error.text, "kept the table locked for longer than 50 ms (");
    assert_int_equal(ask(postgres, BYTES("\xff")), PERHAPS_E_IO); // what cannot be there is no answer either
    struct visits visits = {0};
    assert_int_equal(list(postgres, &visits, NULL), PERHAPS_E_IO);
    options.wait_milliseconds = 0;
    (void)refused(&options, PERHAPS_E_IO, "kept the table locked for longer than 0 ms");
    run(session, "COMMIT");
    assert_int_equal(ask(postgres, BYTES("x")), 1);
    run(session, "BEGIN; INSERT INTO t VALUES ('w', 'w')"); // writers lock nobody out, and show nothing yet
    assert_int_equal(ask(postgres, BYTES("w")), 0);
    run(session, "COMMIT");
    assert_int_equal(ask(postgres, BYTES("w")), 1);
    PQfinish(session);
    perhaps_store_postgres_close(postgres);
}

/* ---------------------------------------------------------------- changes by others */

static void expect_error(perhaps_store_postgres *postgres, int code, const char *words)
{
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(ask_with(postgres, BYTES("x"), &error), code);
    assert_contains_text(error.text, words);
}

static void test_columns_that_change(void **state)
{
    make("CREATE EXTENSION IF NOT EXISTS citext; " TABLE);
    perhaps_store_postgres *postgres = open_column("t", "c");
    make("ALTER TABLE t ALTER c TYPE varchar(40)");
    assert_int_equal(ask(postgres, BYTES("x")), 1);
    make("ALTER TABLE t ALTER c TYPE citext");
    expect_error(postgres, PERHAPS_E_UNSUPPORTED, "is of type citext");
    make("ALTER TABLE t ALTER c TYPE bytea USING c::text::bytea");
    assert_int_equal(ask(postgres, BYTES("x")), 1);
    assert_int_equal(ask(postgres, BYTES("\xff")), 0);
    make("INSERT INTO t VALUES ('\\xff', 'y')");
    assert_int_equal(ask(postgres, BYTES("\xff")), 1);
    make("ALTER TABLE t RENAME c TO d");
    expect_error(postgres, PERHAPS_E_ARGUMENT, "has no column \"c\"");
    make("DROP TABLE t");
    expect_error(postgres, PERHAPS_E_ARGUMENT, "there is no table or view \"t\"");
    make(TABLE);
    assert_int_equal(ask(postgres, BYTES("x")), 1);
    assert_int_equal(ask(postgres, BYTES("\xff")), 0);
    perhaps_store_postgres_close(postgres);
}

// A text column that becomes bytea can hold what no text could: the shortcut for such keys must notice.
static void test_text_that_becomes_bytes(void **state)
{
    make("CREATE TABLE t(c text)");
    perhaps_store_postgres *postgres = open_column("t", "c");
    assert_int_equal(ask(postgres, BYTES("a\0b")), 0);
    make("ALTER TABLE t ALTER c TYPE bytea USING c::bytea; INSERT INTO t VALUES ('\\x610062')");
    assert_int_equal(ask(postgres, BYTES("a\0b")), 1);
    perhaps_store_postgres_close(postgres);
}

static void test_collation_that_changes(void **state)
{
    make("CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);"
         "CREATE TABLE t(c text); INSERT INTO t VALUES ('X')");
    perhaps_store_postgres *postgres = open_column("t", "c");
    assert_int_equal(ask(postgres, BYTES("x")), 0);
    make("ALTER TABLE t ALTER c TYPE text COLLATE loose");
    expect_error(postgres, PERHAPS_E_UNSUPPORTED, "compares with collation \"loose\"");
    perhaps_store_postgres_close(postgres);
}

static void test_nothing_is_written(void **state)
{
    make(TABLE "; CREATE FUNCTION note(k text) RETURNS text LANGUAGE plpgsql AS"
               " $$ BEGIN INSERT INTO t VALUES (k, k); RETURN k; END $$");
    perhaps_store_options options = query_of("SELECT note($1)", NULL);
    perhaps_store_postgres *postgres = open_options(&options);
    expect_error(postgres, PERHAPS_E_IO, "cannot execute INSERT in a read-only transaction");
    perhaps_store_postgres_close(postgres);
}

/* ---------------------------------------------------------------- other servers */

static void test_encodings(void **state)
{
    make("DROP DATABASE IF EXISTS latin");
    make("DROP DATABASE IF EXISTS ascii");
    make("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'");
    make("CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'");
    char conninfo[256];
    perhaps_store_options options = column_of("t", "c");
    (void)snprintf(conninfo, sizeof conninfo, "%s dbname=latin", server());
    (void)refused_by(conninfo, &options, PERHAPS_E_UNSUPPORTED, "the database keeps text as LATIN1");
    (void)snprintf(conninfo, sizeof conninfo, "%s dbname=ascii client_encoding=UTF8", server());
    PGconn *session = PQconnectdb(conninfo);
    assert_int_equal(PQsetClientEncoding(session, "SQL_ASCII"), 0);
    run(session, "CREATE TABLE t(c text); INSERT INTO t VALUES (E'\\xff\\xfe'), ('x')");
    PQfinish(session);
    perhaps_store_postgres *postgres = NULL;
    assert_int_equal(perhaps_store_postgres_open(conninfo, &options, &postgres, NULL), 0);
    assert_int_equal(ask(postgres, BYTES("\xff\xfe")), 1);
    assert_int_equal(ask(postgres, BYTES("\xff")), 0);
    assert_int_equal(ask(postgres, BYTES("a\0b")), 0);
    struct visits visits = {0};
    assert_int_equal(list(postgres, &visits, NULL), 0);
    assert_int_equal(visits.used, 5);
    perhaps_store_postgres_close(postgres);
}

// What the environment says about the client's encoding changes nothing.
static void test_encoding_of_the_client(void **state)
{
    make("CREATE TABLE t(c text); INSERT INTO t VALUES (U&'caf\\00e9')");
    assert_int_equal(setenv("PGCLIENTENCODING", "LATIN1", 1), 0);
    perhaps_store_postgres *postgres = open_column("t", "c");
    assert_int_equal(ask(postgres, BYTES("caf\xc3\xa9")), 1);
    assert_int_equal(ask(postgres, BYTES("caf\xe9")), 0);
    struct visits visits = {0};
    assert_int_equal(list(postgres, &visits, NULL), 0);
    assert_memory_equal(visits.bytes, "\5caf\xc3\xa9", 6);
    perhaps_store_postgres_close(postgres);
    assert_int_equal(unsetenv("PGCLIENTENCODING"), 0);
}

// The last of all: the server stays a standby.
static void test_standby(void **state)
{
    make(TABLE);
    perhaps_store_options options = column_of("t", "c");
    perhaps_store_postgres *postgres = open_options(&options);
    make("CHECKPOINT");
    control("stop");
    control("standby");
    (void)refused(&options, PERHAPS_E_UNSUPPORTED, "the server is a standby, which lags behind");
    expect_error(postgres, PERHAPS_E_UNSUPPORTED, "connect to the primary");
    perhaps_store_postgres_close(postgres);
}

#define TEST(function) cmocka_unit_test_setup(function, enter_schema)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_servers_that_are_not_there),
        TEST(test_addresses_that_cannot_be_read),
        TEST(test_name_without_password),
        TEST(test_server_that_goes_and_comes_back),
        TEST(test_sessions_that_are_ended),
        TEST(test_listings_that_are_broken_off),
        TEST(test_arguments),
        TEST(test_locked_table),
        TEST(test_columns_that_change),
        TEST(test_text_that_becomes_bytes),
        TEST(test_collation_that_changes),
        TEST(test_nothing_is_written),
        TEST(test_encodings),
        TEST(test_encoding_of_the_client),
        TEST(test_standby),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
