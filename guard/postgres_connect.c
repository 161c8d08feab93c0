// SPDX-License-Identifier: MIT
// Connecting to PostgreSQL, and its complaints in the words of this library.
#include "postgres_source.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "store_options.h"

enum { WORDS = 160, OLDEST_SERVER = 130000 };

/* ---------------------------------------------------------------- texts */

char *perhaps__guard_postgres_print(const char *format, ...)
{
    va_list arguments;
    va_list again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = length < 0 ? NULL : malloc((size_t)length + 1);
    if (text != NULL) {
        (void)vsnprintf(text, (size_t)length + 1, format, again);
    }
    va_end(again);
    va_end(arguments);
    return text;
}

// Messages of libpq have several lines, and one more.
const char *perhaps__guard_postgres_words(const char *message, char *text, size_t room)
{
    size_t length = 0;
    for (; message[length] != '\0' && length + 1 < room; length++) {
        bool control = message[length] > 0 && message[length] < ' ';
        text[length] = ' ';
        if (!control) {
            text[length] = message[length];
        }
    }
    while (length > 0 && text[length - 1] == ' ') {
        length--;
    }
    text[length] = '\0';
    return text;
}

/* ---------------------------------------------------------------- complaints */

// The server's first line alone: it needs no name of the program that speaks, and a message has little room.
static const char *say(const struct perhaps__guard_postgres_source *source, const PGresult *result, char *text,
                       size_t room)
{
    const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    return perhaps__guard_postgres_words(primary != NULL ? primary : PQerrorMessage(source->connection), text, room);
}

int perhaps__guard_postgres_fail_memory(const struct perhaps__guard_postgres_source *source, perhaps_error *error)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_MEMORY, .subject = source->name};
    return perhaps__guard_fail(error, failure, "there is no memory for a question; allow this program more");
}

static bool has_state(const PGresult *result, const char *wanted)
{
    const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    return state != NULL && strcmp(state, wanted) == 0;
}

static int fail_doing(const struct perhaps__guard_postgres_source *source, const PGresult *result, const char *doing,
                      perhaps_error *error)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_IO, .subject = source->name};
    char words[WORDS];
    (void)say(source, result, words, sizeof words);
    if (PQstatus(source->connection) != CONNECTION_OK) {
        return perhaps__guard_fail(error, failure,
                                   "the connection to the server is lost (%s); see that it runs, and try again", words);
    }
    if (result == NULL) {
        return perhaps__guard_postgres_fail_memory(source, error);
    }
    if (has_state(result, "55P03")) { // lock_not_available
        return perhaps__guard_fail(error, failure,
                                   "another session kept the table locked for longer than %u ms (%s); wait until it is "
                                   "done, or allow more time",
                                   source->options->wait_milliseconds, words);
    }
    char what[WORDS];
    return perhaps__guard_fail(error, failure, "PostgreSQL cannot %s %s (%s); mend that, or give another", doing,
                               perhaps__guard_store_describe(source->options, source->kind, what, sizeof what), words);
}

int perhaps__guard_postgres_fail(const struct perhaps__guard_postgres_source *source, const PGresult *result,
                                 perhaps_error *error)
{
    return fail_doing(source, result, "read", error);
}

// The server says that the role lacks a right: what it may not do, and what would help.
static int fail_right(const struct perhaps__guard_postgres_source *source, const PGresult *result, int code,
                      const char *lacks, const char *advice, perhaps_error *error)
{
    struct perhaps__guard_failure failure = {.code = code, .subject = source->name};
    char words[WORDS];
    return perhaps__guard_fail(error, failure, "the role may not %s (%s); %s", lacks,
                               say(source, result, words, sizeof words), advice);
}

int perhaps__guard_postgres_fail_log(const struct perhaps__guard_postgres_source *source, const PGresult *result,
                                     perhaps_error *error)
{
    return !has_state(result, "42501") // insufficient_privilege
               ? fail_doing(source, result, "change the log of", error)
               : fail_right(source, result, PERHAPS_E_IO, "change the log",
                            "connect as the table's owner, with the right to create in its schema; to shorten the log, "
                            "it needs INSERT and DELETE there",
                            error);
}

int perhaps__guard_postgres_fail_following(const struct perhaps__guard_postgres_source *source, const PGresult *result,
                                           perhaps_error *error)
{
    return !has_state(result, "42501")
               ? perhaps__guard_postgres_fail(source, result, error)
               : fail_right(source, result, PERHAPS_E_UNSUPPORTED, "read all that tells what changed",
                            "grant it SELECT on the whole table and on its log", error);
}

int perhaps__guard_postgres_refuse(const struct perhaps__guard_postgres_source *source, int code, perhaps_error *error,
                                   const char *reason, const char *remedy)
{
    struct perhaps__guard_failure failure = {.code = code, .subject = source->name};
    char what[WORDS];
    return perhaps__guard_fail(error, failure, "%s %s; %s",
                               perhaps__guard_store_describe(source->options, source->kind, what, sizeof what), reason,
                               remedy);
}

static int refuse_server(const struct perhaps__guard_postgres_source *source, perhaps_error *error, const char *reason)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_UNSUPPORTED, .subject = source->name};
    return perhaps__guard_fail(error, failure, "%s", reason);
}

/* ---------------------------------------------------------------- questions */

PGresult *perhaps__guard_postgres_ask(const struct perhaps__guard_postgres_source *source, const char *sql,
                                      const char *const values[], int count, int *code, perhaps_error *error)
{
    PGresult *result = PQexecParams(source->connection, sql, count, NULL, values, NULL, NULL, 0);
    if (PQresultStatus(result) == PGRES_TUPLES_OK) {
        return result;
    }
    *code = perhaps__guard_postgres_fail(source, result, error);
    PQclear(result);
    return NULL;
}

int perhaps__guard_postgres_run(const struct perhaps__guard_postgres_source *source, const char *sql,
                                perhaps_error *error)
{
    PGresult *result = PQexec(source->connection, sql);
    int code = PQresultStatus(result) == PGRES_COMMAND_OK ? 0 : perhaps__guard_postgres_fail(source, result, error);
    PQclear(result);
    return code;
}

/* ---------------------------------------------------------------- the address */

// What libpq says of an address that it cannot read quotes it, in the user's language: the password, or a part of it, with
// it. So none of its words are handed on.
static int refuse_address(perhaps_error *error, const char *why)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_ARGUMENT, .subject = "conninfo"};
    return perhaps__guard_fail(error, failure,
                               "%s; it is not shown, as it may hold a password. It has the form \"dbname=shop "
                               "host=db.example\" or postgresql://USER@HOST/DATABASE",
                               why);
}

// In a URI, a password with an @ or a / of its own ends at that: what follows would be taken for a part of the host,
// the port or the database, and be shown as such.
static bool has_stray_at(const char *address)
{
    const char *behind = strstr(address, "://");
    if (strncmp(address, "postgres://", 11) != 0 && strncmp(address, "postgresql://", 13) != 0) {
        return false;
    }
    behind += 3;
    size_t end = strcspn(behind, "@/?");
    if (behind[end] == '@') {
        end += 1 + strcspn(behind + end + 1, "@?");
    } else if (behind[end] == '/') {
        end += strcspn(behind + end, "@?");
    }
    return behind[end] == '@';
}

// What is neither a URI nor has an = is the name of a database to libpq.
static int check_address(const char *address, perhaps_error *error)
{
    bool uri = strncmp(address, "postgres://", 11) == 0 || strncmp(address, "postgresql://", 13) == 0;
    if (!uri && strchr(address, '=') == NULL) {
        return strchr(address, '@') == NULL ? 0 : refuse_address(error, "the address is no URI, and has an @");
    }
    char *words = NULL;
    PQconninfoOption *parsed = PQconninfoParse(address, &words);
    bool readable = parsed != NULL;
    PQconninfoFree(parsed);
    PQfreemem(words);
    if (!readable) {
        return refuse_address(error, "PostgreSQL's library cannot read the address, or does not know an option in it");
    }
    return uri && has_stray_at(address)
               ? refuse_address(error,
                                "the address has an @ too many: in a password, @ is written as %40, and / as %2F")
               : 0;
}

/* ---------------------------------------------------------------- connecting */

// libpq would print what the server remarks on standard error.
static void ignore_notice(void *context, const char *message)
{
    (void)context;
    (void)message;
}

// Without user and password, so that messages and reports can show it.
static void name_source(struct perhaps__guard_postgres_source *source)
{
    const char *database = PQdb(source->connection);
    const char *host = PQhost(source->connection);
    (void)snprintf(source->name, sizeof source->name, "%s@%s", database != NULL ? database : "",
                   host != NULL ? host : "");
}

static int fail_connect(const struct perhaps__guard_postgres_source *source, perhaps_error *error)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_IO, .subject = source->name};
    char words[WORDS];
    return perhaps__guard_fail(error, failure,
                               "there is no connection to the server (%s); see that it runs and lets you in",
                               perhaps__guard_postgres_words(PQerrorMessage(source->connection), words, sizeof words));
}

// Nothing here writes, whatever a query calls; and each statement sees what was committed before it, whatever the role
// is set to (see begin_snapshot()). A lock_timeout of 0 would wait for ever.
static int set_session(const struct perhaps__guard_postgres_source *source, perhaps_error *error)
{
    unsigned wait = source->options->wait_milliseconds;
    wait = wait == 0 ? 1 : wait;
    char sql[192];
    (void)snprintf(sql, sizeof sql,
                   "SET default_transaction_read_only = on; "
                   "SET default_transaction_isolation = 'read committed'; SET lock_timeout = %u",
                   wait < INT_MAX ? wait : INT_MAX);
    return perhaps__guard_postgres_run(source, sql, error);
}

// A conversion between client and server would give the same text other bytes, and several texts the same.
static int set_encoding(struct perhaps__guard_postgres_source *source, perhaps_error *error)
{
    const char *encoding = PQparameterStatus(source->connection, "server_encoding");
    source->utf8 = encoding != NULL && strcmp(encoding, "UTF8") == 0;
    if (!source->utf8 && (encoding == NULL || strcmp(encoding, "SQL_ASCII") != 0)) {
        char reason[200];
        (void)snprintf(reason, sizeof reason,
                       "the database keeps text as %s, so its bytes inside differ from those outside; copy it into one "
                       "whose encoding is UTF8",
                       encoding != NULL ? encoding : "nobody knows what");
        return refuse_server(source, error, reason);
    }
    return PQsetClientEncoding(source->connection, encoding) == 0 ? 0
                                                                  : perhaps__guard_postgres_fail(source, NULL, error);
}

static int refuse_standby(const struct perhaps__guard_postgres_source *source, perhaps_error *error)
{
    PGresult *result = PQexec(source->connection, "SELECT pg_catalog.pg_is_in_recovery()");
    int code = 0;
    if (PQresultStatus(result) != PGRES_TUPLES_OK) {
        code = perhaps__guard_postgres_fail(source, result, error);
    } else if (PQgetvalue(result, 0, 0)[0] == 't') {
        code =
            refuse_server(source, error,
                          "the server is a standby, which lags behind what was written, and would deny keys that are "
                          "there; connect to the primary (target_session_attrs=primary)");
    }
    PQclear(result);
    return code;
}

static int judge_server(struct perhaps__guard_postgres_source *source, perhaps_error *error)
{
    if (PQserverVersion(source->connection) < OLDEST_SERVER) {
        return refuse_server(source, error, "the server is older than PostgreSQL 13; connect to a newer one");
    }
    int code = set_encoding(source, error);
    if (code == 0) {
        code = set_session(source, error);
    }
    return code < 0 ? code : refuse_standby(source, error);
}

int perhaps__guard_postgres_connect(struct perhaps__guard_postgres_source *source, perhaps_error *error)
{
    int code = check_address(source->conninfo, error);
    if (code < 0) {
        return code;
    }
    // What comes later wins: conninfo over our patience. A host that is gone would otherwise be waited for for minutes.
    const char *const own_patience[] = {"connect_timeout", "dbname", "fallback_application_name", NULL};
    const char *const own_values[] = {"10", source->conninfo, "perhaps", NULL};
    size_t first = getenv("PGCONNECT_TIMEOUT") != NULL ? 1 : 0;
    source->connection = PQconnectdbParams(own_patience + first, own_values + first, 1);
    if (source->connection == NULL) {
        struct perhaps__guard_failure failure = {.code = PERHAPS_E_MEMORY};
        return perhaps__guard_fail(error, failure, "there is no memory to connect; allow this program more");
    }
    (void)PQsetNoticeProcessor(source->connection, ignore_notice, NULL);
    name_source(source);
    return PQstatus(source->connection) == CONNECTION_OK ? judge_server(source, error) : fail_connect(source, error);
}

void perhaps__guard_postgres_disconnect(struct perhaps__guard_postgres_source *source)
{
    if (source->connection != NULL) {
        PQfinish(source->connection);
    }
    free(source->keys);
    free(source->look_up);
    source->connection = NULL;
    source->relation = 0;
    source->keys = NULL;
    source->look_up = NULL;
}
