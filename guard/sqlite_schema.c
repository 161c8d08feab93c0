// SPDX-License-Identifier: MIT
// Which columns can serve as a store: those that SQLite compares bytewise.
//
// The owner of a NOCASE column means one user by "Ann" and "ANN", the owner of an INTEGER column one number
// by '7' and '007'. A filter knows bytes only, and would turn away a key that such a store has. So these
// columns are refused, in tables and in views. (Whatever is judged here, the look-up compares the bytes of
// the rows that it finds: no other bytes are ever confirmed.)
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "fail.h"
#include "sqlite_source.h"
#include "store_options.h"

/* ---------------------------------------------------------------- questions about the schema */

// The first column of the first row, cut to what a message can hold.
struct answer {
    int result; // SQLITE_ROW, SQLITE_DONE (no row, no text) or an error
    bool null;
    char text[160];
};

static void read_answer(sqlite3_stmt *statement, struct answer *answer)
{
    answer->null = sqlite3_column_type(statement, 0) == SQLITE_NULL;
    const unsigned char *text = sqlite3_column_text(statement, 0);
    if (text != NULL) {
        (void)snprintf(answer->text, sizeof answer->text, "%s", (const char *)text);
    } else if (!answer->null) {
        answer->result = SQLITE_NOMEM;
    }
}

// The text of a statement, for sqlite3_free(). In `sql`, %w stands for the column and a second %w for the table, as parts of
// quoted identifiers; or %s for the SQL that is judged.
static char *format_query(const struct perhaps__guard_sqlite_source *source, const char *sql)
{
    return source->judged != NULL ? sqlite3_mprintf(sql, source->judged)
                                  : sqlite3_mprintf(sql, source->options->column, source->options->table);
}

// Runs one statement. ?1 stands for the table and ?2 for the column, as texts; in SQL that is judged, ?1 is NULL.
static struct answer query(const struct perhaps__guard_sqlite_source *source, const char *sql)
{
    struct answer answer = {.result = SQLITE_NOMEM};
    char *text = format_query(source, sql);
    if (text == NULL) {
        return answer;
    }
    sqlite3_stmt *statement = NULL;
    answer.result = sqlite3_prepare_v2(source->db, text, -1, &statement, NULL);
    sqlite3_free(text);
    const char *const names[] = {source->options->table, source->options->column};
    int count = source->judged != NULL ? 0 : sqlite3_bind_parameter_count(statement);
    for (int i = 0; i < 2 && i < count && answer.result == SQLITE_OK; i++) {
        answer.result = sqlite3_bind_text(statement, i + 1, names[i], -1, SQLITE_STATIC);
    }
    if (answer.result == SQLITE_OK) {
        answer.result = sqlite3_step(statement);
    }
    if (answer.result == SQLITE_ROW) {
        read_answer(statement, &answer);
    }
    sqlite3_finalize(statement);
    return answer;
}

static bool failed(const struct answer *answer)
{
    return answer->result != SQLITE_ROW && answer->result != SQLITE_DONE;
}

/* ---------------------------------------------------------------- refusals */

static int refuse_with(const struct perhaps__guard_sqlite_source *source, perhaps_error *error, const char *reason,
                       const char *remedy)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_UNSUPPORTED, .subject = source->path};
    char what[160];
    return perhaps__guard_fail(error, failure, "%s %s; give a column that compares bytewise%s",
                               perhaps__guard_store_describe(source->options, source->kind, what, sizeof what), reason,
                               remedy);
}

static int refuse(const struct perhaps__guard_sqlite_source *source, perhaps_error *error, const char *reason)
{
    return refuse_with(source, error, reason, "");
}

// A statement of our own that SQLite does not accept speaks of the view or the column, not of the file: a
// view over something that is gone, a collation or function that only its owner's program has.
static int fail_query(const struct perhaps__guard_sqlite_source *source, const struct answer *answer,
                      perhaps_error *error)
{
    if (answer->result != SQLITE_ERROR) {
        return perhaps__guard_sqlite_fail(source, answer->result, error);
    }
    char reason[160];
    (void)snprintf(reason, sizeof reason, "cannot be judged (%s)", sqlite3_errmsg(source->db));
    return refuse(source, error, reason);
}

/* ---------------------------------------------------------------- does it exist? */

static int fail_no_table(const struct perhaps__guard_sqlite_source *source, perhaps_error *error)
{
    struct answer tables = query(source, "SELECT group_concat(name, ', ') FROM main.sqlite_master "
                                         "WHERE type IN ('table', 'view')");
    if (failed(&tables)) {
        return perhaps__guard_sqlite_fail(source, tables.result, error);
    }
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_ARGUMENT, .subject = source->path};
    return perhaps__guard_fail(error, failure, "there is no table or view \"%s\"; %s%s", source->options->table,
                               tables.null ? "the database is empty" : "there are: ", tables.text);
}

// Finds out what the name belongs to. A virtual table has no pages of its own: what equals what in it is
// decided by a module (in a full-text table, = can mean MATCH).
static int check_table(struct perhaps__guard_sqlite_source *source, perhaps_error *error)
{
    struct answer kind = query(source, "SELECT iif(type = 'table' AND rootpage = 0, 'virtual', type) "
                                       "FROM main.sqlite_master WHERE name = ?1 COLLATE NOCASE "
                                       "AND type IN ('table', 'view')");
    if (failed(&kind)) {
        return perhaps__guard_sqlite_fail(source, kind.result, error);
    }
    if (kind.result == SQLITE_DONE) {
        return fail_no_table(source, error);
    }
    if (strcmp(kind.text, "virtual") == 0) {
        source->kind = "virtual table";
        return refuse(source, error, "is compared by the module of the table, not by SQLite");
    }
    source->kind = strcmp(kind.text, "view") == 0 ? "view" : "table";
    return 0;
}

// A name that is no column may still be one of the names of the row id, unless the table is WITHOUT ROWID.
static bool is_row_id(const struct perhaps__guard_sqlite_source *source)
{
    static const char *const names[] = {"rowid", "oid", "_rowid_"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (sqlite3_stricmp(source->options->column, names[i]) == 0) {
            return sqlite3_table_column_metadata(source->db, "main", source->options->table, source->options->column,
                                                 NULL, NULL, NULL, NULL, NULL) == SQLITE_OK;
        }
    }
    return false;
}

static int fail_no_column(const struct perhaps__guard_sqlite_source *source, perhaps_error *error)
{
    if (is_row_id(source)) {
        return refuse(source, error, "is the row id, a number");
    }
    struct answer columns = query(source, "SELECT group_concat(name, ', ') FROM pragma_table_xinfo(?1, 'main')");
    if (failed(&columns)) {
        return fail_query(source, &columns, error);
    }
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_ARGUMENT, .subject = source->path};
    return perhaps__guard_fail(error, failure, "%s \"%s\" has no column \"%s\"; it has: %s", source->kind,
                               source->options->table, source->options->column, columns.text);
}

static int check_column(const struct perhaps__guard_sqlite_source *source, perhaps_error *error)
{
    struct answer found = query(source, "SELECT name FROM pragma_table_xinfo(?1, 'main') "
                                        "WHERE name = ?2 COLLATE NOCASE");
    if (failed(&found)) {
        return fail_query(source, &found, error);
    }
    return found.result == SQLITE_ROW ? 0 : fail_no_column(source, error);
}

/* ---------------------------------------------------------------- does it compare bytewise? */

static int check_encoding(const struct perhaps__guard_sqlite_source *source, perhaps_error *error)
{
    struct answer encoding = query(source, "PRAGMA main.encoding");
    if (failed(&encoding)) {
        return perhaps__guard_sqlite_fail(source, encoding.result, error);
    }
    if (strcmp(encoding.text, "UTF-8") == 0) {
        return 0;
    }
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_UNSUPPORTED, .subject = source->path};
    return perhaps__guard_fail(error, failure,
                               "the database keeps text as %s, so its bytes inside differ from "
                               "those outside; copy it into one that was made with PRAGMA "
                               "encoding = 'UTF-8'",
                               encoding.text);
}

// Whether `type` contains `part`, which is in upper case, in upper or lower case.
static bool type_contains(const char *type, const char *part)
{
    for (int length = (int)strlen(part); *type != '\0'; type++) {
        if (sqlite3_strnicmp(type, part, length) == 0) {
            return true;
        }
    }
    return false;
}

enum perhaps__guard_affinity perhaps__guard_sqlite_affinity(const char *type)
{
    static const struct {
        const char *part;
        enum perhaps__guard_affinity affinity;
    } rules[] = {
        // the first that applies
        {"INT", PERHAPS__GUARD_INTEGER}, {"CHAR", PERHAPS__GUARD_TEXT}, {"CLOB", PERHAPS__GUARD_TEXT},
        {"TEXT", PERHAPS__GUARD_TEXT},   {"BLOB", PERHAPS__GUARD_BLOB}, {"REAL", PERHAPS__GUARD_REAL},
        {"FLOA", PERHAPS__GUARD_REAL},   {"DOUB", PERHAPS__GUARD_REAL},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (type_contains(type, rules[i].part)) {
            return rules[i].affinity;
        }
    }
    return type[0] == '\0' ? PERHAPS__GUARD_BLOB : PERHAPS__GUARD_NUMERIC;
}

// The declared type of a column does not settle its affinity: a view's column has none when it is an
// expression (yet CAST(x AS INTEGER) compares as a number), and ANY means one thing in STRICT tables and
// another elsewhere. But CREATE TABLE AS is documented to declare the affinities that SQLite itself sees in a
// SELECT, so it is asked to, without rows, in a temporary table, which also a read-only connection may make:
// it is small enough never to leave memory, and goes with the connection.
static struct answer seen_type(const struct perhaps__guard_sqlite_source *source)
{
    struct answer type = query(source, "DROP TABLE IF EXISTS temp.perhaps_probe");
    if (!failed(&type)) {
        type =
            query(source, source->judged != NULL ? "CREATE TEMP TABLE perhaps_probe AS WITH perhaps_keys(key) AS (%s\n)"
                                                   " SELECT key FROM perhaps_keys LIMIT 0"
                                                 : "CREATE TEMP TABLE perhaps_probe AS "
                                                   "SELECT t.\"%w\" AS key FROM main.\"%w\" AS t LIMIT 0");
    }
    return failed(&type) ? type : query(source, "SELECT type FROM pragma_table_xinfo('perhaps_probe', 'temp')");
}

static int check_affinity(const struct perhaps__guard_sqlite_source *source, perhaps_error *error)
{
    struct answer type = seen_type(source);
    if (failed(&type)) {
        return fail_query(source, &type, error);
    }
    switch (perhaps__guard_sqlite_affinity(type.text)) {
    case PERHAPS__GUARD_BLOB:
    case PERHAPS__GUARD_TEXT:
        return 0;
    case PERHAPS__GUARD_INTEGER:
        return refuse(source, error, "has INTEGER affinity, so that '007' and '7' are one number to SQLite");
    case PERHAPS__GUARD_REAL:
        return refuse(source, error, "has REAL affinity, so that '7.0' and '7' are one number to SQLite");
    case PERHAPS__GUARD_NUMERIC:
        break;
    }
    return refuse(source, error, "has NUMERIC affinity, so that '007' and '7' are one number to SQLite");
}

// SQLite names the collation of a table's column, but not of a view's. There, a UNION tells: it compares by the
// collation of its first SELECT, which contributes no row here, and those of the four texts become one row
// that the collation takes for equal. (A view that is a compound SELECT itself compares, as a
// whole, by the collation of its own first SELECT, which is the one seen here.)
#define COLLATION_OF                                                                                                   \
    "SELECT CASE count(*) * 10 + sum(unicode(key) = unicode('b')) "                                                    \
    "WHEN 42 THEN 'BINARY' WHEN 32 THEN 'NOCASE' WHEN 31 THEN 'RTRIM' "                                                \
    "ELSE 'unknown' END "

static struct answer view_collation(const struct perhaps__guard_sqlite_source *source)
{
    return query(source, source->judged != NULL
                             ? "WITH perhaps_keys(key) AS (%s\n) " COLLATION_OF
                               "FROM (SELECT key FROM perhaps_keys WHERE 0 "
                               "UNION SELECT 'A' UNION SELECT 'a' UNION SELECT 'b' UNION SELECT 'b ')"
                             : COLLATION_OF "FROM (SELECT t.\"%w\" AS key FROM main.\"%w\" AS t WHERE 0 "
                                            "UNION SELECT 'A' UNION SELECT 'a' UNION SELECT 'b' UNION SELECT 'b ')");
}

static struct answer table_collation(const struct perhaps__guard_sqlite_source *source)
{
    struct answer answer = {.result = SQLITE_ROW};
    const char *name = NULL;
    int result = sqlite3_table_column_metadata(source->db, "main", source->options->table, source->options->column,
                                               NULL, &name, NULL, NULL, NULL);
    if (result != SQLITE_OK) {
        answer.result = result;
    } else {
        (void)snprintf(answer.text, sizeof answer.text, "%s", name);
    }
    return answer;
}

// A canonical form takes for equal what the collation takes for equal, and more.
static bool form_covers(uint32_t canonical, const char *collation)
{
    return sqlite3_stricmp(collation, "BINARY") == 0 ||
           ((canonical & PERHAPS_CANONICAL_LOWER) != 0 && sqlite3_stricmp(collation, "NOCASE") == 0) ||
           ((canonical & PERHAPS_CANONICAL_RTRIM) != 0 && sqlite3_stricmp(collation, "RTRIM") == 0);
}

static int check_collation(const struct perhaps__guard_sqlite_source *source, perhaps_error *error)
{
    bool seen = source->judged != NULL || strcmp(source->kind, "view") == 0;
    struct answer collation = seen ? view_collation(source) : table_collation(source);
    if (failed(&collation)) {
        return fail_query(source, &collation, error);
    }
    if (form_covers(source->options->canonical, collation.text)) {
        return 0;
    }
    char reason[256];
    (void)snprintf(reason, sizeof reason,
                   "compares with collation %s, so it would confirm keys whose bytes the filter never saw",
                   collation.text);
    const char *remedy = sqlite3_stricmp(collation.text, "NOCASE") == 0  ? ", or its canonical form, lower"
                         : sqlite3_stricmp(collation.text, "RTRIM") == 0 ? ", or its canonical form, rtrim"
                                                                         : "";
    return refuse_with(source, error, reason, remedy);
}

/* ---------------------------------------------------------------- is it a query? */

static int refuse_query(const char *which, perhaps_error *error, const char *reason)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_ARGUMENT, .subject = which};
    return perhaps__guard_fail(error, failure, "%s; give another", reason);
}

static int refuse_words(const struct perhaps__guard_sqlite_source *source, const char *which, int result,
                        perhaps_error *error)
{
    if (result != SQLITE_ERROR) {
        return perhaps__guard_sqlite_fail(source, result, error);
    }
    char reason[200];
    (void)snprintf(reason, sizeof reason, "SQLite does not take the query (%s)", sqlite3_errmsg(source->db));
    return refuse_query(which, error, reason);
}

// A query must stand for itself before it is put into another: then nothing in it can end the outer one.
static int check_shape(const struct perhaps__guard_sqlite_source *source, const char *which, int parameters,
                       perhaps_error *error)
{
    sqlite3_stmt *statement = NULL;
    const char *rest = "";
    int result = sqlite3_prepare_v2(source->db, source->judged, -1, &statement, &rest);
    int code = 0;
    if (result != SQLITE_OK) {
        code = refuse_words(source, which, result, error);
    } else if (rest[strspn(rest, " \t\r\n")] != '\0') {
        code = refuse_query(which, error, "there is more than one statement");
    } else if (sqlite3_bind_parameter_count(statement) != parameters) {
        code = refuse_query(which, error,
                            parameters == 1 ? "the query must have one parameter, ?1: the key"
                                            : "the list has a parameter");
    } else if (sqlite3_column_count(statement) != 1 || sqlite3_stmt_readonly(statement) == 0) {
        code = refuse_query(which, error, "the query must be a SELECT of one column: the key");
    }
    (void)sqlite3_finalize(statement);
    return code;
}

static int judge(struct perhaps__guard_sqlite_source *source, perhaps_error *error)
{
    int code = check_collation(source, error); // first: the other would stumble over an unknown one
    return code < 0 ? code : check_affinity(source, error);
}

static int check_query(struct perhaps__guard_sqlite_source *source, const char *which, const char *sql, int parameters,
                       perhaps_error *error)
{
    source->judged = sql;
    int code = check_shape(source, which, parameters, error);
    return code < 0 ? code : judge(source, error);
}

/* ---------------------------------------------------------------- all of it */

static int check_queries(struct perhaps__guard_sqlite_source *source, perhaps_error *error)
{
    int code = check_query(source, "query", source->options->query, 1, error);
    if (code == 0 && source->options->list != NULL) {
        code = check_query(source, "list", source->options->list, 0, error);
    }
    return code;
}

int perhaps__guard_sqlite_check(struct perhaps__guard_sqlite_source *source, perhaps_error *error)
{
    int code = check_encoding(source, error);
    if (code == 0 && source->options->query != NULL) {
        return check_queries(source, error);
    }
    if (code == 0) {
        code = check_table(source, error);
    }
    if (code == 0) {
        code = check_column(source, error);
    }
    return code < 0 ? code : judge(source, error);
}
