// SPDX-License-Identifier: MIT
// What changed in a column of a PostgreSQL table, by its log.
//
// Transactions are committed in another order than they began, wrote, or drew numbers from a sequence: no number says "all
// before this was seen". A snapshot does: it names the transactions that were not over. So a position is one, with the
// number and the sum of tokens of the rows that it saw, and with the signature of the log. New is what was written by
// transactions that it did not see, and the snapshot of now does.
#include <perhaps/guard.h>

#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "postgres_position.h"
#include "store_options.h"
#include "store_postgres.h"

#define CANNOT_TELL 1

/* ---------------------------------------------------------------- complaints */

static int cannot_tell(const char *name, perhaps_error *error, const char *why)
{
    struct perhaps__guard_failure failure = {.code = CANNOT_TELL, .subject = name};
    return perhaps__guard_fail(error, failure, "the database cannot tell what changed: %s", why);
}

#define NO_LOG "its log is not there, or not whole; install it (perhaps guard --install-log), or remove it first"
#define FOREIGN "its log has transactions of another server's; remove it, and install it anew"

/* ---------------------------------------------------------------- transactions */

static int begin(const struct perhaps__guard_postgres_source *source, bool writes, perhaps_error *error)
{
    return perhaps__guard_postgres_run(source,
                                       writes ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE"
                                              : "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
                                       error);
}

// One snapshot for everything up to the end. It is taken by the first question, when the table's lock is there: in one that
// is older, a table that another session rewrote meanwhile (TRUNCATE, ALTER TABLE) would be empty.
static int lock_table(const struct perhaps__guard_postgres_source *source,
                      const struct perhaps__guard_postgres_log *log, perhaps_error *error)
{
    if (strcmp(source->kind, "table") != 0) {
        return perhaps__guard_postgres_refuse(source, PERHAPS_E_UNSUPPORTED, error,
                                              "has no log, because no trigger watches what a view shows",
                                              "rebuild the filter when that changed (perhaps rebuild)");
    }
    char *sql = perhaps__guard_postgres_print("LOCK TABLE %s IN ACCESS SHARE MODE", log->table);
    if (sql == NULL) {
        return perhaps__guard_postgres_fail_memory(source, error);
    }
    PGresult *result = PQexec(source->connection, sql);
    free(sql);
    int code =
        PQresultStatus(result) == PGRES_COMMAND_OK ? 0 : perhaps__guard_postgres_fail_following(source, result, error);
    PQclear(result);
    return code;
}

static int connect_anew(perhaps_store_postgres *postgres, perhaps_error *error)
{
    struct perhaps__guard_postgres_following *following = &postgres->following;
    int code = perhaps__guard_postgres_open_another(postgres, &following->source, error);
    return code < 0 ? code : perhaps__guard_postgres_log_init(&following->log, &following->source, error);
}

// Under the lock: begins on the connection that stays, or, where that was lost, on a new one. That it was lost shows when it
// is used: libpq does not always say so.
static int begin_here(perhaps_store_postgres *postgres, bool writes, perhaps_error *error)
{
    struct perhaps__guard_postgres_source *source = &postgres->following.source;
    int code = source->connection != NULL ? begin(source, writes, NULL) : PERHAPS_E_IO;
    if (code < 0) {
        perhaps__guard_postgres_disconnect(source);
        code = connect_anew(postgres, error);
        code = code < 0 ? code : begin(source, writes, error);
    }
    code = code < 0 ? code : lock_table(source, &postgres->following.log, error);
    if (code < 0) {
        perhaps__guard_postgres_disconnect(source);
    }
    return code;
}

// Ends what begin_here() began. When not all was well the connection is given up: with the next one, the table is
// judged anew, which may be another one of that name by then.
static int release(perhaps_store_postgres *postgres, int code, perhaps_error *error)
{
    struct perhaps__guard_postgres_source *source = &postgres->following.source;
    code = code != 0 ? code : perhaps__guard_postgres_run(source, "COMMIT", error);
    if (code != 0) {
        perhaps__guard_postgres_disconnect(source);
    }
    return code;
}

/* ---------------------------------------------------------------- where the log is */

// In a transaction. 0, and rows->snapshot to be released; CANNOT_TELL: there is no log to be believed; or an error.
static int read_log(const struct perhaps__guard_postgres_source *source, const struct perhaps__guard_postgres_log *log,
                    const char *then, struct perhaps__guard_postgres_found *found,
                    struct perhaps__guard_postgres_rows *rows, perhaps_error *error)
{
    *rows = (struct perhaps__guard_postgres_rows){.snapshot = NULL};
    int code = perhaps__guard_postgres_log_find(log, source, found, error);
    if (code < 0) {
        return code;
    }
    if (!found->whole) {
        (void)cannot_tell(source->name, error, NO_LOG);
        return CANNOT_TELL;
    }
    code = perhaps__guard_postgres_log_read(log, source, then, rows, error);
    if (code == 0 && (rows->rows == 0 || rows->foreign > 0)) {
        free(rows->snapshot);
        (void)cannot_tell(source->name, error, rows->rows == 0 ? NO_LOG : FOREIGN);
        return CANNOT_TELL;
    }
    return code;
}

static int fail_crowded(const struct perhaps__guard_postgres_source *source, perhaps_error *error)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_LIMIT, .subject = source->name};
    return perhaps__guard_fail(error, failure,
                               "more transactions are under way than a position has room for; wait until there are "
                               "fewer");
}

// In a transaction: where the store is now.
static int take_position(const struct perhaps__guard_postgres_source *source,
                         const struct perhaps__guard_postgres_log *log, perhaps_store_position *position,
                         perhaps_error *error)
{
    struct perhaps__guard_postgres_found found;
    struct perhaps__guard_postgres_rows rows;
    perhaps_error why = {.size = sizeof why};
    int code = read_log(source, log, NULL, &found, &rows, &why);
    if (code == CANNOT_TELL) {
        perhaps__guard_postgres_position_none(position);
        return 0;
    }
    if (code < 0) {
        perhaps__guard_hand_on(error, &why);
        return code;
    }
    code = perhaps__guard_postgres_position_store(position, &found, &rows) ? 0 : fail_crowded(source, error);
    free(rows.snapshot);
    return code;
}

static int position(void *context, perhaps_store_position *position, perhaps_error *error)
{
    perhaps_store_postgres *postgres = context;
    (void)pthread_mutex_lock(&postgres->following.lock);
    int code = begin_here(postgres, false, error);
    if (code == 0) {
        code = take_position(&postgres->following.source, &postgres->following.log, position, error);
        code = release(postgres, code, error);
    }
    (void)pthread_mutex_unlock(&postgres->following.lock);
    return code;
}

static int list_at(const struct perhaps__guard_postgres_source *source, const struct perhaps__guard_postgres_log *log,
                   perhaps_store_position *position, int (*visit)(void *visitor, const void *key, size_t length),
                   void *visitor, perhaps_error *error)
{
    int code = begin(source, false, error);
    code = code < 0 ? code : lock_table(source, log, error);
    code = code < 0 ? code : take_position(source, log, position, error);
    return code < 0 ? code : perhaps__guard_postgres_list(source, visit, visitor, error);
}

static int list(void *context, perhaps_store_position *position,
                int (*visit)(void *visitor, const void *key, size_t length), void *visitor, perhaps_error *error)
{
    struct perhaps__guard_postgres_source source;
    struct perhaps__guard_postgres_log log = {.name = NULL};
    int code = perhaps__guard_postgres_open_another(context, &source, error);
    if (code == 0) {
        code = perhaps__guard_postgres_log_init(&log, &source, error);
        code = code < 0 ? code : list_at(&source, &log, position, visit, visitor, error);
        perhaps__guard_postgres_log_release(&log);
        perhaps__guard_postgres_disconnect(&source);
    }
    return code;
}

/* ---------------------------------------------------------------- changes */

// Whether the log of now is the one of then, with all its rows: 0, or CANNOT_TELL.
static int believe(const struct perhaps__guard_postgres_source *source,
                   const struct perhaps__guard_postgres_place *then, const struct perhaps__guard_postgres_found *found,
                   const struct perhaps__guard_postgres_rows *rows, perhaps_error *error)
{
    if (rows->truncated > 0) {
        return cannot_tell(source->name, error, "the table was emptied (TRUNCATE), or its column had another name");
    }
    if (strcmp(found->signature, then->signature) != 0) {
        return cannot_tell(source->name, error,
                           "table, column or log are others than then, or were altered or rewritten, so that the log "
                           "may have gaps");
    }
    return rows->rows_then == then->rows && rows->sum_then == then->sum
               ? 0
               : cannot_tell(source->name, error, "its log does not reach back so far, or is one of another history");
}

// Three truth values follow the key.
static int visit_change(const struct perhaps__guard_postgres_source *source, const PGresult *row,
                        perhaps_store_change *change, void *visitor, perhaps_error *error)
{
    if (PQgetvalue(row, 0, 3)[0] != 0) {
        return cannot_tell(source->name, error,
                           "its log tells of more rows than the table has; was it written to by hand?");
    }
    return change(visitor, PQgetvalue(row, 0, 0), (size_t)PQgetlength(row, 0, 0), PQgetvalue(row, 0, 1)[0] != 0,
                  PQgetvalue(row, 0, 2)[0] != 0);
}

static int visit_changes(const struct perhaps__guard_postgres_source *source, perhaps_store_change *change,
                         void *visitor, perhaps_error *error)
{
    int code = 0;
    PGresult *row = PQgetResult(source->connection);
    while (code == 0 && PQresultStatus(row) == PGRES_SINGLE_TUPLE) {
        code = visit_change(source, row, change, visitor, error);
        PQclear(row);
        row = PQgetResult(source->connection);
    }
    if (code == 0 && PQresultStatus(row) != PGRES_TUPLES_OK) {
        code = perhaps__guard_postgres_fail(source, row, error);
    }
    while (row != NULL) { // to the end, so that the connection can go on
        PQclear(row);
        row = PQgetResult(source->connection);
    }
    return code;
}

// A key's rows then are those that it has now, less those that the log says came, and plus those that went. Rows of the
// partitions that the signature is of: one that is attached after the snapshot was taken is read all the same, with
// rows that never came.
static int each_logged(const struct perhaps__guard_postgres_source *source,
                       const struct perhaps__guard_postgres_log *log, const char *then, perhaps_store_change *change,
                       void *visitor, perhaps_error *error)
{
    char *sql = perhaps__guard_postgres_print(
        "WITH RECURSIVE tree(oid) AS (SELECT %u::pg_catalog.oid UNION ALL SELECT i.inhrelid FROM "
        "pg_catalog.pg_inherits i"
        " JOIN tree ON i.inhparent = tree.oid)"
        " SELECT n.key, n.now > n.came, n.now > 0, n.now < n.came FROM (SELECT p.key, p.came,"
        " pg_catalog.count(t.%s) AS now FROM (SELECT l.key, pg_catalog.sum(l.delta) AS came FROM %s AS l"
        " WHERE l.delta <> 0 AND NOT pg_catalog.pg_visible_in_snapshot(l.xid, $1::pg_catalog.pg_snapshot)"
        " GROUP BY l.key) AS p LEFT JOIN %s AS t ON t.%s = p.key"
        " AND t.tableoid = ANY (ARRAY(SELECT tree.oid FROM tree)) GROUP BY p.key, p.came) AS n",
        source->relation, log->column, log->log, log->table, log->column);
    if (sql == NULL) {
        return perhaps__guard_postgres_fail_memory(source, error);
    }
    int sent = PQsendQueryParams(source->connection, sql, 1, NULL, &then, NULL, NULL, 1);
    free(sql);
    if (sent == 0) {
        return perhaps__guard_postgres_fail(source, NULL, error);
    }
    (void)PQsetSingleRowMode(source->connection);
    return visit_changes(source, change, visitor, error);
}

static int changes_since(const struct perhaps__guard_postgres_following *following,
                         const struct perhaps__guard_postgres_place *then, perhaps_store_position *to,
                         perhaps_store_change *change, void *visitor, perhaps_error *error)
{
    const struct perhaps__guard_postgres_source *source = &following->source;
    struct perhaps__guard_postgres_found found;
    struct perhaps__guard_postgres_rows rows;
    int code = read_log(source, &following->log, then->snapshot, &found, &rows, error);
    if (code != 0) {
        return code;
    }
    code = believe(source, then, &found, &rows, error);
    if (code == 0 && !perhaps__guard_postgres_position_store(to, &found, &rows)) {
        code = fail_crowded(source, error);
    }
    free(rows.snapshot);
    return code == 0 && rows.changed > 0 ? each_logged(source, &following->log, then->snapshot, change, visitor, error)
                                         : code;
}

static int each_change(void *context, const perhaps_store_position *from, perhaps_store_position *to,
                       perhaps_store_change *change, void *visitor, perhaps_error *error)
{
    perhaps_store_postgres *postgres = context;
    struct perhaps__guard_postgres_place then;
    if (!perhaps__guard_postgres_position_load(&then, from)) {
        return cannot_tell(postgres->name, error,
                           perhaps__guard_postgres_position_is_none(from)
                               ? NO_LOG
                               : "the position is not one that this release knows");
    }
    (void)pthread_mutex_lock(&postgres->following.lock);
    int code = begin_here(postgres, false, error);
    if (code == 0) {
        code = changes_since(&postgres->following, &then, to, change, visitor, error);
        code = release(postgres, code, error);
    }
    (void)pthread_mutex_unlock(&postgres->following.lock);
    return code;
}

/* ---------------------------------------------------------------- forgetting */

// Of another history, nothing is forgotten.
static int forget_until(const struct perhaps__guard_postgres_following *following,
                        const struct perhaps__guard_postgres_place *place, perhaps_error *error)
{
    struct perhaps__guard_postgres_found found;
    struct perhaps__guard_postgres_rows rows;
    int code = read_log(&following->source, &following->log, place->snapshot, &found, &rows, error);
    if (code != 0) {
        return code < 0 ? code : 0;
    }
    code = believe(&following->source, place, &found, &rows, NULL);
    free(rows.snapshot);
    return code == 0 ? perhaps__guard_postgres_log_fold(&following->log, &following->source, place->snapshot, error)
                     : 0;
}

static int forget(void *context, const perhaps_store_position *position, perhaps_error *error)
{
    perhaps_store_postgres *postgres = context;
    struct perhaps__guard_postgres_place place;
    if (!perhaps__guard_postgres_position_load(&place, position)) {
        return 0; // nothing is kept
    }
    (void)pthread_mutex_lock(&postgres->following.lock);
    int code = begin_here(postgres, true, error);
    if (code == 0) {
        code = forget_until(&postgres->following, &place, error);
        code = release(postgres, code, error);
    }
    (void)pthread_mutex_unlock(&postgres->following.lock);
    return code;
}

/* ---------------------------------------------------------------- beginning to follow */

// What cannot be followed at all is refused at once, and not at each look.
static int refuse_unlogged(const struct perhaps__guard_postgres_source *source, perhaps_error *error)
{
    return perhaps__guard_postgres_refuse(source, PERHAPS_E_UNSUPPORTED, error,
                                          "has no log that is whole, and nothing else tells what changed in it",
                                          "install one (perhaps guard --install-log), or remove it first");
}

// Under the lock.
static int start(perhaps_store_postgres *postgres, perhaps_error *error)
{
    struct perhaps__guard_postgres_following *following = &postgres->following;
    perhaps_store_position unused;
    int code = begin_here(postgres, false, error);
    if (code == 0) {
        code = take_position(&following->source, &following->log, &unused, error);
        code = release(postgres, code, error);
    }
    if (code == 0 && perhaps__guard_postgres_position_is_none(&unused)) {
        code = refuse_unlogged(&following->source, error);
    }
    if (code == 0 && following->identity == NULL) {
        following->identity =
            perhaps__guard_postgres_print("postgres %s.%s", following->log.table, following->log.column);
        code = following->identity != NULL ? 0 : perhaps__guard_postgres_fail_memory(&following->source, error);
    }
    return code;
}

void perhaps__guard_postgres_stop_following(struct perhaps_store_postgres *postgres)
{
    struct perhaps__guard_postgres_following *following = &postgres->following;
    perhaps__guard_postgres_disconnect(&following->source);
    perhaps__guard_postgres_log_release(&following->log);
    free(following->identity);
    following->identity = NULL;
}

int perhaps_store_postgres_changes(perhaps_store_postgres *postgres, perhaps_store_changes *changes,
                                   perhaps_error *error)
{
    if (postgres == NULL || changes == NULL) {
        return perhaps__guard_store_null(postgres == NULL ? "postgres" : "changes", error);
    }
    if (postgres->options->query != NULL || postgres->options->canonical != 0) {
        struct perhaps__guard_failure failure = {.code = PERHAPS_E_UNSUPPORTED, .subject = postgres->name};
        return perhaps__guard_fail(error, failure,
                                   "only a column without a canonical form can be followed in PostgreSQL; give one");
    }
    (void)pthread_mutex_lock(&postgres->following.lock);
    int code = start(postgres, error);
    (void)pthread_mutex_unlock(&postgres->following.lock);
    if (code == 0) {
        *changes = (perhaps_store_changes){.size = sizeof *changes,
                                           .context = postgres,
                                           .identity = postgres->following.identity,
                                           .position = position,
                                           .list = list,
                                           .each_change = each_change,
                                           .forget = forget};
    }
    return code;
}
