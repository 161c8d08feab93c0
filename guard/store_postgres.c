// SPDX-License-Identifier: MIT
// A column, or a query, of a PostgreSQL database as a store.
#include <perhaps/guard.h>

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "store_options.h"
#include "store_postgres.h"

// No value of PostgreSQL is longer than 1 GiB.
#define LONGEST_VALUE ((size_t)1 << 30)

static int open_source(struct perhaps__guard_postgres_source *source, perhaps_error *error)
{
    int code = perhaps__guard_postgres_connect(source, error);
    if (code == 0) {
        code = perhaps__guard_postgres_check(source, error);
    }
    if (code < 0) {
        perhaps__guard_postgres_disconnect(source);
    }
    return code;
}

int perhaps__guard_postgres_open_another(const struct perhaps_store_postgres *postgres,
                                         struct perhaps__guard_postgres_source *source, perhaps_error *error)
{
    *source = (struct perhaps__guard_postgres_source){.conninfo = postgres->conninfo, .options = postgres->options};
    return open_source(source, error);
}

/* ---------------------------------------------------------------- which bytes can be a text */

// The length of a well-formed character (RFC 3629, section 4, which is what PostgreSQL takes), or 0.
static size_t character(const unsigned char *bytes, size_t left)
{
    unsigned char first = bytes[0];
    size_t length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (length > left) {
        return 0;
    }
    unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (length > 1 && (bytes[1] < least || bytes[1] > most)) {
        return 0;
    }
    for (size_t i = 2; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return length;
}

static bool is_utf8(const unsigned char *bytes, size_t length)
{
    size_t step = 0;
    for (size_t i = 0; i < length; i += step) {
        step = character(bytes + i, length - i);
        if (step == 0) {
            return false;
        }
    }
    return true;
}

// Whether a row can hold these bytes at all. What cannot be there is not there, and the server, which would complain, is
// not asked.
static bool can_be_there(const struct perhaps__guard_postgres_source *source, const void *key, size_t length)
{
    if (length >= LONGEST_VALUE || (source->text && length > 0 && memchr(key, 0, length) != NULL)) {
        return false;
    }
    return !source->text || !source->utf8 || is_utf8(key, length);
}

/* ---------------------------------------------------------------- one key */

// Whether the row that was found has the key. Anything else would mean that equality has changed since it was judged, and
// the key could be in another row.
static int compare_row(const struct perhaps__guard_postgres_source *source, const PGresult *result,
                       const struct perhaps__guard_store_key *form, perhaps_error *error)
{
    if (PQntuples(result) == 0) {
        return 0;
    }
    struct perhaps__guard_store_key found;
    if (!perhaps__guard_store_key_make(&found, source->options->canonical, PQgetvalue(result, 0, 0),
                                       (size_t)PQgetlength(result, 0, 0))) {
        return perhaps__guard_postgres_fail_memory(source, error);
    }
    bool same = found.length == form->length && memcmp(found.bytes, form->bytes, form->length) == 0;
    free(found.owned);
    return same ? 1
                : perhaps__guard_postgres_refuse(source, PERHAPS_E_UNSUPPORTED, error,
                                                 "finds other bytes than were asked for: it compares otherwise by now",
                                                 "open the store again, to see why");
}

static PGresult *execute(const struct perhaps__guard_postgres_source *source,
                         const struct perhaps__guard_store_key *form)
{
    const char *const values[] = {form->bytes};
    const int lengths[] = {(int)form->length};
    const int formats[] = {1};
    return PQexecPrepared(source->connection, PERHAPS__GUARD_POSTGRES_LOOK_UP, 1, values, lengths, formats, 1);
}

// Asks once. Whatever goes wrong but a lock, the connection is given up. Bytes that no row can hold are not sent, but the
// server is asked all the same, for the empty key: an answer is one only when the store is there, and still what it was.
static int ask_once(struct perhaps__guard_postgres_source *source, const struct perhaps__guard_store_key *form,
                    perhaps_error *error)
{
    static const struct perhaps__guard_store_key empty = {.bytes = ""};
    bool possible = can_be_there(source, form->bytes, form->length);
    PGresult *result = execute(source, possible ? form : &empty);
    int code = 0;
    if (PQresultStatus(result) != PGRES_TUPLES_OK) {
        code = perhaps__guard_postgres_fail(source, result, error);
    } else if (possible) {
        code = compare_row(source, result, form, error);
    }
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    if (code < 0 && (state == NULL || strcmp(state, "55P03") != 0)) {
        perhaps__guard_postgres_disconnect(source);
    }
    PQclear(result);
    return code;
}

// What fails on a connection that has been there is tried once more on a new one, where the column is judged anew: the
// server may have been started anew long ago, or the table altered.
static int look_up(struct perhaps__guard_postgres_source *source, const struct perhaps__guard_store_key *form,
                   perhaps_error *error)
{
    if (source->connection != NULL) {
        perhaps_error first = {.size = sizeof first};
        int code = ask_once(source, form, &first);
        if (code >= 0) {
            return code;
        }
        if (source->connection != NULL) {
            perhaps__guard_hand_on(error, &first);
            return code;
        }
    }
    int code = open_source(source, error);
    return code < 0 ? code : ask_once(source, form, error);
}

static int contains(void *context, const void *key, size_t length, perhaps_error *error)
{
    perhaps_store_postgres *postgres = context;
    if (key == NULL && length > 0) {
        return perhaps__guard_store_null("key", error);
    }
    struct perhaps__guard_store_key form;
    if (!perhaps__guard_store_key_make(&form, postgres->options->canonical, key, length)) {
        return perhaps__guard_postgres_fail_memory(&postgres->source, error);
    }
    (void)pthread_mutex_lock(&postgres->lock);
    int found = look_up(&postgres->source, &form, error);
    (void)pthread_mutex_unlock(&postgres->lock);
    free(form.owned);
    return found;
}

/* ---------------------------------------------------------------- every key */

typedef int visit_key(void *visitor, const void *key, size_t length);

static int visit_row(const struct perhaps__guard_postgres_source *source, const PGresult *row, visit_key *visit,
                     void *visitor, perhaps_error *error)
{
    struct perhaps__guard_store_key form;
    if (!perhaps__guard_store_key_make(&form, source->options->canonical, PQgetvalue(row, 0, 0),
                                       (size_t)PQgetlength(row, 0, 0))) {
        return perhaps__guard_postgres_fail_memory(source, error);
    }
    int code = visit(visitor, form.bytes, form.length);
    free(form.owned);
    return code;
}

// Row by row, so that only one is in memory.
static int visit_rows(const struct perhaps__guard_postgres_source *source, visit_key *visit, void *visitor,
                      perhaps_error *error)
{
    int code = 0;
    PGresult *row = PQgetResult(source->connection);
    while (code == 0 && PQresultStatus(row) == PGRES_SINGLE_TUPLE) {
        code = visit_row(source, row, visit, visitor, error);
        PQclear(row);
        row = code == 0 ? PQgetResult(source->connection) : NULL;
    }
    if (code == 0 && PQresultStatus(row) != PGRES_TUPLES_OK) { // the end of the rows, without a row
        code = perhaps__guard_postgres_fail(source, row, error);
    }
    PQclear(row);
    return code;
}

// One SELECT sees one snapshot at this level too, and takes it when it has the table's lock. That of REPEATABLE READ is
// taken before: a table that another session rewrote meanwhile (ALTER TABLE, TRUNCATE) is empty to it.
static int begin_snapshot(const struct perhaps__guard_postgres_source *source, perhaps_error *error)
{
    return perhaps__guard_postgres_run(source, "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY", error);
}

int perhaps__guard_postgres_list(const struct perhaps__guard_postgres_source *source, visit_key *visit, void *visitor,
                                 perhaps_error *error)
{
    char *sql = perhaps__guard_postgres_print("SELECT DISTINCT %sq.key%s FROM (%s\n) AS q(key) WHERE q.key IS NOT NULL",
                                              source->before, source->after, source->keys);
    if (sql == NULL) {
        return perhaps__guard_postgres_fail_memory(source, error);
    }
    int sent = PQsendQueryParams(source->connection, sql, 0, NULL, NULL, NULL, NULL, 1);
    free(sql);
    if (sent == 0) {
        return perhaps__guard_postgres_fail(source, NULL, error);
    }
    (void)PQsetSingleRowMode(source->connection);
    return visit_rows(source, visit, visitor, error);
}

// A listing that is broken off ends when the server can write to nobody any more.
static int each_key(void *context, visit_key *visit, void *visitor, perhaps_error *error)
{
    if (visit == NULL) {
        return perhaps__guard_store_null("visit", error);
    }
    struct perhaps__guard_postgres_source source;
    int code = perhaps__guard_postgres_open_another(context, &source, error);
    if (code == 0) {
        code = begin_snapshot(&source, error);
        code = code < 0 ? code : perhaps__guard_postgres_list(&source, visit, visitor, error);
        perhaps__guard_postgres_disconnect(&source);
    }
    return code;
}

static int count_distinct(const struct perhaps__guard_postgres_source *source, uint64_t *count, perhaps_error *error)
{
    char *sql = perhaps__guard_postgres_print("SELECT pg_catalog.count(DISTINCT %sq.key%s) FROM (%s\n) AS q(key)",
                                              source->before, source->after, source->keys);
    if (sql == NULL) {
        return perhaps__guard_postgres_fail_memory(source, error);
    }
    PGresult *result = PQexec(source->connection, sql);
    free(sql);
    int code = 0;
    if (PQresultStatus(result) == PGRES_TUPLES_OK) {
        *count = strtoull(PQgetvalue(result, 0, 0), NULL, 10);
    } else {
        code = perhaps__guard_postgres_fail(source, result, error);
    }
    PQclear(result);
    return code;
}

static int count_keys(void *context, uint64_t *count, perhaps_error *error)
{
    if (count == NULL) {
        return perhaps__guard_store_null("count", error);
    }
    struct perhaps__guard_postgres_source source;
    int code = perhaps__guard_postgres_open_another(context, &source, error);
    if (code == 0) {
        code = count_distinct(&source, count, error);
        perhaps__guard_postgres_disconnect(&source);
    }
    return code;
}

/* ---------------------------------------------------------------- opening and closing */

// What the planner would do for a table that is large: a scan of a small one is cheaper than its index.
static int read_plan(const struct perhaps__guard_postgres_source *source, int *indexed, perhaps_error *error)
{
    PQclear(PQexec(source->connection, "BEGIN"));
    PQclear(PQexec(source->connection, "SET LOCAL enable_seqscan = off"));
    PGresult *plan = PQexec(source->connection, "EXPLAIN (COSTS OFF) EXECUTE " PERHAPS__GUARD_POSTGRES_LOOK_UP "('')");
    int code = PQresultStatus(plan) == PGRES_TUPLES_OK ? 0 : perhaps__guard_postgres_fail(source, plan, error);
    bool search = false;
    bool scan = false;
    for (int i = 0; i < PQntuples(plan); i++) {
        search = search || strstr(PQgetvalue(plan, i, 0), "Index Cond") != NULL;
        scan = scan || strstr(PQgetvalue(plan, i, 0), "Seq Scan") != NULL;
    }
    *indexed = search && !scan;
    PQclear(plan);
    PQclear(PQexec(source->connection, "ROLLBACK"));
    return code;
}

static perhaps_store_postgres *allocate(const char *conninfo, const perhaps_store_options *options)
{
    perhaps_store_postgres *postgres = calloc(1, sizeof *postgres);
    if (postgres == NULL) {
        return NULL;
    }
    (void)pthread_mutex_init(&postgres->lock, NULL); // cannot fail with default attributes
    (void)pthread_mutex_init(&postgres->following.lock, NULL);
    postgres->conninfo = perhaps__guard_postgres_print("%s", conninfo);
    postgres->options = perhaps__guard_store_options_copy(options);
    if (postgres->conninfo == NULL || postgres->options == NULL) {
        perhaps_store_postgres_close(postgres);
        return NULL;
    }
    return postgres;
}

int perhaps_store_postgres_open(const char *conninfo, const perhaps_store_options *options,
                                perhaps_store_postgres **postgres, perhaps_error *error)
{
    if (conninfo == NULL || postgres == NULL) {
        return perhaps__guard_store_null(conninfo == NULL ? "conninfo" : "postgres", error);
    }
    int code = perhaps__guard_store_options_check(options, error);
    if (code < 0) {
        return code;
    }
    code = perhaps__guard_libpq_load(error);
    if (code < 0) {
        return code;
    }
    perhaps_store_postgres *opened = allocate(conninfo, options);
    if (opened == NULL) {
        struct perhaps__guard_failure failure = {.code = PERHAPS_E_MEMORY};
        return perhaps__guard_fail(error, failure, "there is no memory to open the store; allow this program more");
    }
    code = perhaps__guard_postgres_open_another(opened, &opened->source, error);
    if (code == 0) {
        code = read_plan(&opened->source, &opened->indexed, error);
    }
    if (code < 0) {
        perhaps_store_postgres_close(opened);
        return code;
    }
    memcpy(opened->name, opened->source.name, sizeof opened->name);
    *postgres = opened;
    return 0;
}

void perhaps_store_postgres_close(perhaps_store_postgres *postgres)
{
    if (postgres != NULL) {
        perhaps__guard_postgres_stop_following(postgres);
        (void)pthread_mutex_destroy(&postgres->following.lock);
        perhaps__guard_postgres_disconnect(&postgres->source);
        (void)pthread_mutex_destroy(&postgres->lock);
        free(postgres->options);
        free(postgres->conninfo);
        free(postgres);
    }
}

int perhaps_store_postgres_store(perhaps_store_postgres *postgres, perhaps_store *store)
{
    if (postgres == NULL || store == NULL) {
        return PERHAPS_E_ARGUMENT;
    }
    bool listed = postgres->options->query == NULL || postgres->options->list != NULL;
    uint32_t distinct = postgres->options->canonical == 0 ? PERHAPS_STORE_DISTINCT : 0;
    *store = (perhaps_store){.context = postgres,
                             .contains = contains,
                             .each_key = listed ? each_key : NULL,
                             .count = listed ? count_keys : NULL,
                             .flags = PERHAPS_STORE_SNAPSHOT | distinct};
    return 0;
}

int perhaps_store_postgres_indexed(const perhaps_store_postgres *postgres)
{
    return postgres == NULL ? PERHAPS_E_ARGUMENT : postgres->indexed;
}

const char *perhaps_store_postgres_name(const perhaps_store_postgres *postgres)
{
    return postgres == NULL ? "" : postgres->name;
}
