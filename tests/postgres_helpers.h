// SPDX-License-Identifier: MIT
// What the tests of PostgreSQL stores share: sessions of their own, a schema that is made anew for each test, and
// questions. They run under tests/postgres/server.
#ifndef PERHAPS_TESTS_POSTGRES_HELPERS_H
#define PERHAPS_TESTS_POSTGRES_HELPERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// After <stdarg.h>, <stddef.h>, <setjmp.h> and <stdint.h>, which it needs.
#include <cmocka.h>

#include <libpq-fe.h>

#include <perhaps/guard.h>

#include "visits.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define BYTES(literal) (literal), sizeof(literal) - 1

// How libpq reaches the test's server.
static inline const char *server(void)
{
    const char *conninfo = getenv("PERHAPS_TEST_POSTGRES");
    if (conninfo == NULL) {
        fail_msg("PERHAPS_TEST_POSTGRES is not set; run this by tests/postgres/server run");
    }
    return conninfo;
}

static inline void control(const char *command)
{
    char text[512];
    (void)snprintf(text, sizeof text, "\"$PERHAPS_TEST_SERVER\" %s", command);
    assert_int_equal(system(text), 0); // NOLINT(cert-env33-c): the script is our own
}

static inline void ignore_notice(void *context, const char *message)
{
    (void)context;
    (void)message;
}

static inline PGconn *open_session(void)
{
    PGconn *session = PQconnectdb(server());
    if (PQstatus(session) != CONNECTION_OK) {
        fail_msg("%s", PQerrorMessage(session));
    }
    (void)PQsetNoticeProcessor(session, ignore_notice, NULL);
    return session;
}

static inline void run(PGconn *session, const char *sql)
{
    PGresult *result = PQexec(session, sql);
    if (PQresultStatus(result) != PGRES_COMMAND_OK && PQresultStatus(result) != PGRES_TUPLES_OK) {
        fail_msg("%s: %s", sql, PQerrorMessage(session));
    }
    PQclear(result);
}

static inline void make(const char *sql)
{
    PGconn *session = open_session();
    run(session, sql);
    PQfinish(session);
}

// What a failed test left is undone first: a server that was stopped, sessions whose locks would be waited for.
static inline int enter_schema(void **state)
{
    if (PQping(server()) != PQPING_OK) {
        control("start");
    }
    make("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
         " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
    make("DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public");
    return 0;
}

// Into the one column of table t.
static inline void insert(PGconn *session, const void *key, size_t length, bool as_text)
{
    const Oid types[] = {as_text ? 25 : 17};
    const char *const values[] = {key};
    const int lengths[] = {(int)length};
    const int formats[] = {1};
    PGresult *result = PQexecParams(session, "INSERT INTO t VALUES ($1)", 1, types, values, lengths, formats, 0);
    if (PQresultStatus(result) != PGRES_COMMAND_OK) {
        fail_msg("%s", PQerrorMessage(session));
    }
    PQclear(result);
}

static inline perhaps_store_options column_of(const char *table, const char *column)
{
    return (perhaps_store_options){
        .size = sizeof(perhaps_store_options), .table = table, .column = column, .wait_milliseconds = 20000};
}

static inline perhaps_store_options query_of(const char *query, const char *list)
{
    return (perhaps_store_options){
        .size = sizeof(perhaps_store_options), .query = query, .list = list, .wait_milliseconds = 20000};
}

static inline perhaps_store_postgres *open_options(const perhaps_store_options *options)
{
    perhaps_store_postgres *postgres = NULL;
    perhaps_error error = {.size = sizeof error};
    if (perhaps_store_postgres_open(server(), options, &postgres, &error) < 0) {
        fail_msg("%s: %s", error.subject, error.text);
    }
    return postgres;
}

static inline perhaps_store_postgres *open_column(const char *table, const char *column)
{
    perhaps_store_options options = column_of(table, column);
    return open_options(&options);
}

static inline void assert_contains_text(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("\"%s\" does not contain \"%s\"", text, part);
    }
}

// Opening fails with the code and the words, and leaves the result alone.
static inline perhaps_error refused_by(const char *conninfo, const perhaps_store_options *options, int code,
                                       const char *words)
{
    static char mark;
    perhaps_store_postgres *const untouched = (perhaps_store_postgres *)(void *)&mark;
    perhaps_store_postgres *postgres = untouched;
    perhaps_error error = {.size = sizeof error};
    int result = perhaps_store_postgres_open(conninfo, options, &postgres, &error);
    if (result != code || error.code != code) {
        fail_msg("%s: code %d (%d), not %d: %s", words, result, error.code, code, error.text);
    }
    assert_contains_text(error.text, words);
    assert_ptr_equal(postgres, untouched);
    assert_int_equal(perhaps_store_postgres_open(conninfo, options, &postgres, NULL), code);
    return error;
}

static inline perhaps_error refused(const perhaps_store_options *options, int code, const char *words)
{
    return refused_by(server(), options, code, words);
}

static inline perhaps_store store_of(perhaps_store_postgres *postgres)
{
    perhaps_store store;
    assert_int_equal(perhaps_store_postgres_store(postgres, &store), 0);
    return store;
}

// The key is copied to memory that ends where it ends, so that a sanitizer sees every byte read beyond it.
static inline int ask_with(perhaps_store_postgres *postgres, const void *key, size_t length, perhaps_error *error)
{
    perhaps_store store = store_of(postgres);
    void *copy = malloc(length > 0 ? length : 1);
    assert_non_null(copy);
    memcpy(copy, key, length);
    int answer = store.contains(store.context, length > 0 ? copy : NULL, length, error);
    free(copy);
    return answer;
}

static inline int ask(perhaps_store_postgres *postgres, const void *key, size_t length)
{
    perhaps_error error = {.size = sizeof error};
    int answer = ask_with(postgres, key, length, &error);
    if (answer < 0) {
        assert_int_equal(error.code, answer);
        assert_true(strlen(error.text) > 0);
    }
    return answer;
}

static inline uint64_t count_keys(perhaps_store_postgres *postgres)
{
    uint64_t count = UINT64_MAX;
    perhaps_error error = {.size = sizeof error};
    perhaps_store store = store_of(postgres);
    if (store.count(store.context, &count, &error) < 0) {
        fail_msg("%s", error.text);
    }
    return count;
}

static inline int list(perhaps_store_postgres *postgres, struct visits *visits, perhaps_error *error)
{
    perhaps_store store = store_of(postgres);
    return store.each_key(store.context, note_visit, visits, error);
}

#endif
