// SPDX-License-Identifier: MIT
// Installing and removing the log of a column: in one transaction, of the one session that may write.
//
// Triggers for each row, not for each statement with its tables of old and new rows: those are not told what is written to a
// partition directly, and have to be one for each event all the same.
#include <perhaps/guard.h>

#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "postgres_log.h"
#include "store_options.h"

typedef int change_function(const struct perhaps__guard_postgres_source *source,
                            const struct perhaps__guard_postgres_log *log,
                            const struct perhaps__guard_postgres_found *found, perhaps_error *error);

static int run(const struct perhaps__guard_postgres_source *source, const char *sql, perhaps_error *error)
{
    PGresult *result = PQexec(source->connection, sql);
    int code = PQresultStatus(result) == PGRES_COMMAND_OK ? 0 : perhaps__guard_postgres_fail_log(source, result, error);
    PQclear(result);
    return code;
}

// Takes SQL from perhaps__guard_postgres_print(), and releases it.
static int run_made(const struct perhaps__guard_postgres_source *source, char *sql, perhaps_error *error)
{
    int code = sql == NULL ? perhaps__guard_postgres_fail_memory(source, error) : run(source, sql, error);
    free(sql);
    return code;
}

/* ---------------------------------------------------------------- installing */

static int install_table(const struct perhaps__guard_postgres_source *source,
                         const struct perhaps__guard_postgres_log *log, perhaps_error *error)
{
    // The first row is one that has been forgotten: a log that has none was emptied by somebody.
    char *sql = perhaps__guard_postgres_print(
        "CREATE TABLE %s (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
        " xid xid8 NOT NULL DEFAULT pg_current_xact_id(),"
        " token bigint NOT NULL DEFAULT (uuid_hash_extended(gen_random_uuid(), 0) & 9223372036854775807),"
        " weight bigint NOT NULL DEFAULT 1, delta smallint NOT NULL, key %s);"
        " INSERT INTO %s(xid, delta) VALUES ('0', 0)",
        log->log, log->type, log->log);
    return run_made(source, sql, error);
}

// Writers need no right on the log: the function has its owner's. Who may call it could attach it to a table of their own,
// and write what they like.
static int install_function(const struct perhaps__guard_postgres_source *source,
                            const struct perhaps__guard_postgres_log *log, perhaps_error *error)
{
    char *body = PQescapeLiteral(source->connection, log->body, strlen(log->body));
    char *sql =
        body == NULL
            ? NULL
            : perhaps__guard_postgres_print("CREATE FUNCTION %s() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER"
                                            " SET search_path = pg_catalog, pg_temp AS %s;"
                                            " REVOKE ALL ON FUNCTION %s() FROM PUBLIC",
                                            log->log, body, log->log);
    PQfreemem(body);
    return run_made(source, sql, error);
}

static int install_trigger(const struct perhaps__guard_postgres_source *source,
                           const struct perhaps__guard_postgres_log *log, int trigger, perhaps_error *error)
{
    static const char *const events[PERHAPS__GUARD_POSTGRES_TRIGGERS] = {"INSERT", "DELETE", "UPDATE", "TRUNCATE"};
    const char *c = log->column;
    char *when = trigger == 0   ? perhaps__guard_postgres_print("ROW WHEN (NEW.%s IS NOT NULL)", c)
                 : trigger == 1 ? perhaps__guard_postgres_print("ROW WHEN (OLD.%s IS NOT NULL)", c)
                 : trigger == 2 ? perhaps__guard_postgres_print("ROW WHEN (OLD.%s IS DISTINCT FROM NEW.%s)", c, c)
                                : perhaps__guard_postgres_print("STATEMENT");
    char *sql =
        when == NULL
            ? NULL
            : perhaps__guard_postgres_print("CREATE TRIGGER %s AFTER %s ON %s FOR EACH %s EXECUTE FUNCTION %s();"
                                            " ALTER TABLE %s ENABLE ALWAYS TRIGGER %s",
                                            log->triggers[trigger], events[trigger], log->table, when, log->log,
                                            log->table, log->triggers[trigger]);
    free(when);
    return run_made(source, sql, error);
}

static int fail_strange(const struct perhaps__guard_postgres_source *source,
                        const struct perhaps__guard_postgres_log *log, perhaps_error *error)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_UNSUPPORTED, .subject = source->name};
    return perhaps__guard_fail(error, failure,
                               "there is a table, function or trigger \"%s\" already that is not as this release makes "
                               "it; remove the log, or rename what is not one",
                               log->name);
}

// Whatever else makes a log that is new not whole.
static int fail_blind(const struct perhaps__guard_postgres_source *source, perhaps_error *error)
{
    return perhaps__guard_postgres_refuse(source, PERHAPS_E_UNSUPPORTED, error,
                                          "cannot be followed: another table inherits from it, a partition is on "
                                          "another server, or row security hides rows from the role",
                                          "give another table, or role");
}

static int install(const struct perhaps__guard_postgres_source *source, const struct perhaps__guard_postgres_log *log,
                   const struct perhaps__guard_postgres_found *found, perhaps_error *error)
{
    if (found->whole || found->any) {
        return found->whole ? 0 : fail_strange(source, log, error);
    }
    int code = install_table(source, log, error);
    code = code < 0 ? code : install_function(source, log, error);
    for (int i = 0; i < PERHAPS__GUARD_POSTGRES_TRIGGERS && code == 0; i++) {
        code = install_trigger(source, log, i, error);
    }
    struct perhaps__guard_postgres_found made = {.whole = false};
    code = code < 0 ? code : perhaps__guard_postgres_log_find(log, source, &made, error);
    if (code == 0 && !made.whole) {
        code = fail_blind(source, error);
    }
    return code < 0 ? code : 1;
}

/* ---------------------------------------------------------------- removing */

// Also a part of one. What has its names and is no log is of another kind, and stays, or makes this fail. The function's
// triggers go with it wherever they are: the table may have another name by now.
static int uninstall(const struct perhaps__guard_postgres_source *source, const struct perhaps__guard_postgres_log *log,
                     const struct perhaps__guard_postgres_found *found, perhaps_error *error)
{
    int code = 0;
    for (int i = 0; i < PERHAPS__GUARD_POSTGRES_TRIGGERS && code == 0 && found->any; i++) {
        char *sql = perhaps__guard_postgres_print("DROP TRIGGER IF EXISTS %s ON %s", log->triggers[i], log->table);
        code = run_made(source, sql, error);
    }
    if (code == 0 && found->function) {
        code = run_made(source, perhaps__guard_postgres_print("DROP FUNCTION %s() CASCADE", log->log), error);
    }
    if (code == 0 && found->any) {
        code = run_made(source, perhaps__guard_postgres_print("DROP TABLE IF EXISTS %s", log->log), error);
    }
    return code < 0 ? code : found->any;
}

/* ---------------------------------------------------------------- both */

// The table is locked before anything is looked at: writers that are at work have ended, and the next ones see the triggers.
static int begin(const struct perhaps__guard_postgres_source *source, const struct perhaps__guard_postgres_log *log,
                 const char *lock, perhaps_error *error)
{
    int code = run(
        source, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL search_path = pg_catalog, pg_temp", error);
    return code < 0
               ? code
               : run_made(source, perhaps__guard_postgres_print("LOCK TABLE %s IN %s MODE", log->table, lock), error);
}

static int change_checked(const struct perhaps__guard_postgres_source *source, change_function *change,
                          const char *lock, perhaps_error *error)
{
    if (strcmp(source->kind, "table") != 0) {
        return perhaps__guard_postgres_refuse(source, PERHAPS_E_UNSUPPORTED, error,
                                              "is of a view, which no trigger watches", "give a table");
    }
    struct perhaps__guard_postgres_log log = {.name = NULL};
    struct perhaps__guard_postgres_found found = {.whole = false};
    int code = perhaps__guard_postgres_log_init(&log, source, error);
    code = code < 0 ? code : begin(source, &log, lock, error);
    code = code < 0 ? code : perhaps__guard_postgres_log_find(&log, source, &found, error);
    code = code < 0 ? code : change(source, &log, &found, error);
    int changed = code;
    code = code < 0 ? code : run(source, "COMMIT", error); // without it, the end of the session undoes all
    perhaps__guard_postgres_log_release(&log);
    return code < 0 ? code : changed;
}

static int change_log(const char *conninfo, const perhaps_store_options *options, change_function *change,
                      const char *lock, perhaps_error *error)
{
    if (conninfo == NULL) {
        return perhaps__guard_store_null("conninfo", error);
    }
    int code = perhaps__guard_store_options_check(options, error);
    if (code == 0 && (options->query != NULL || options->canonical != 0)) {
        struct perhaps__guard_failure failure = {.code = PERHAPS_E_UNSUPPORTED, .subject = "options"};
        code = perhaps__guard_fail(error, failure,
                                   "only a column has a log, as it is; leave query and canonical form out");
    }
    code = code < 0 ? code : perhaps__guard_libpq_load(error);
    if (code < 0) {
        return code;
    }
    struct perhaps__guard_postgres_source source = {.conninfo = conninfo, .options = options};
    code = perhaps__guard_postgres_connect(&source, error);
    code = code < 0 ? code : perhaps__guard_postgres_check(&source, error);
    code = code < 0 ? code : change_checked(&source, change, lock, error);
    perhaps__guard_postgres_disconnect(&source);
    return code;
}

int perhaps_store_postgres_install_log(const char *conninfo, const perhaps_store_options *options, perhaps_error *error)
{
    return change_log(conninfo, options, install, "SHARE ROW EXCLUSIVE", error);
}

int perhaps_store_postgres_remove_log(const char *conninfo, const perhaps_store_options *options, perhaps_error *error)
{
    return change_log(conninfo, options, uninstall, "ACCESS EXCLUSIVE", error);
}
