// SPDX-License-Identifier: MIT
// Which columns and queries can serve as a store: those that PostgreSQL compares bytewise.
//
// text, varchar and bytea are compared byte by byte, unless a collation says otherwise, which only those can that are
// declared as not deterministic (https://www.postgresql.org/docs/15/collation.html). Everything else has several texts for
// one value ('007' and '7', two spellings of a uuid), and a filter, which knows bytes only, would turn some of them away.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "postgres_source.h"
#include "store_options.h"

#define GIVE_BYTEWISE "give a column that compares bytewise"

/* ---------------------------------------------------------------- does it exist? */

#define RELATIONS                                                                                                      \
    " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"                             \
    " WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')"                                                                    \
    " AND CASE WHEN $1::text IS NULL THEN pg_catalog.pg_table_is_visible(c.oid) ELSE n.nspname = $1 END"

static int fail_no_table(const struct perhaps__guard_postgres_source *source, perhaps_error *error)
{
    int code = 0;
    const char *const schema[] = {source->options->schema};
    PGresult *result =
        perhaps__guard_postgres_ask(source,
                                    "SELECT pg_catalog.string_agg(c.relname, ', ' ORDER BY c.relname)" RELATIONS
                                    " AND n.nspname NOT IN ('pg_catalog', 'information_schema')",
                                    schema, 1, &code, error);
    if (result == NULL) {
        return code;
    }
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_ARGUMENT, .subject = source->name};
    bool none = PQgetisnull(result, 0, 0) != 0;
    code = perhaps__guard_fail(error, failure, "there is no table or view \"%s\" in %s%s%s; %s%s",
                               source->options->table, schema[0] != NULL ? "schema \"" : "the search path",
                               schema[0] != NULL ? schema[0] : "", schema[0] != NULL ? "\"" : "",
                               none ? "there is none at all" : "there are: ", PQgetvalue(result, 0, 0));
    PQclear(result);
    return code;
}

static int fail_no_column(const struct perhaps__guard_postgres_source *source, const char *relation,
                          perhaps_error *error)
{
    int code = 0;
    PGresult *result = perhaps__guard_postgres_ask(
        source,
        "SELECT pg_catalog.string_agg(attname, ', ' ORDER BY attnum) FROM pg_catalog.pg_attribute"
        " WHERE attrelid = $1::pg_catalog.oid AND attnum > 0 AND NOT attisdropped",
        &relation, 1, &code, error);
    if (result == NULL) {
        return code;
    }
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_ARGUMENT, .subject = source->name};
    code = perhaps__guard_fail(error, failure, "%s \"%s\" has no column \"%s\"; it has: %s", source->kind,
                               source->options->table, source->options->column, PQgetvalue(result, 0, 0));
    PQclear(result);
    return code;
}

static int check_column(const struct perhaps__guard_postgres_source *source, const char *relation, perhaps_error *error)
{
    int code = 0;
    const char *const names[] = {relation, source->options->column};
    PGresult *result =
        perhaps__guard_postgres_ask(source,
                                    "SELECT attnum < 0 FROM pg_catalog.pg_attribute"
                                    " WHERE attrelid = $1::pg_catalog.oid AND attname = $2 AND NOT attisdropped",
                                    names, 2, &code, error);
    if (result == NULL) {
        return code;
    }
    if (PQntuples(result) == 0) {
        code = fail_no_column(source, relation, error);
    } else if (PQgetvalue(result, 0, 0)[0] == 't') {
        code = perhaps__guard_postgres_refuse(source, PERHAPS_E_UNSUPPORTED, error, "is a system column, a number",
                                              GIVE_BYTEWISE);
    }
    PQclear(result);
    return code;
}

// The SELECT of a column's keys. The schema is named, so that the search path does not matter any more.
static int make_keys(struct perhaps__guard_postgres_source *source, const char *schema, perhaps_error *error)
{
    const perhaps_store_options *options = source->options;
    char *quoted_schema = PQescapeIdentifier(source->connection, schema, strlen(schema));
    char *table = PQescapeIdentifier(source->connection, options->table, strlen(options->table));
    char *column = PQescapeIdentifier(source->connection, options->column, strlen(options->column));
    if (quoted_schema != NULL && table != NULL && column != NULL) {
        source->keys = perhaps__guard_postgres_print("SELECT t.%s FROM %s.%s AS t", column, quoted_schema, table);
    }
    PQfreemem(quoted_schema);
    PQfreemem(table);
    PQfreemem(column);
    return source->keys == NULL ? perhaps__guard_postgres_fail_memory(source, error) : 0;
}

// `row` has the schema, what kind of relation it is, and its number.
static int check_relation(struct perhaps__guard_postgres_source *source, const PGresult *row, perhaps_error *error)
{
    char kind = PQgetvalue(row, 0, 1)[0];
    source->kind = kind == 'v' || kind == 'm' ? "view" : "table";
    if (kind == 'f') {
        source->kind = "foreign table";
        return perhaps__guard_postgres_refuse(source, PERHAPS_E_UNSUPPORTED, error,
                                              "is compared by another server, not by this one", GIVE_BYTEWISE);
    }
    source->relation = (Oid)strtoul(PQgetvalue(row, 0, 2), NULL, 10);
    int code = check_column(source, PQgetvalue(row, 0, 2), error);
    return code < 0 ? code : make_keys(source, PQgetvalue(row, 0, 0), error);
}

static int check_table(struct perhaps__guard_postgres_source *source, perhaps_error *error)
{
    int code = 0;
    const char *const names[] = {source->options->schema, source->options->table};
    PGresult *result = perhaps__guard_postgres_ask(
        source, "SELECT n.nspname, c.relkind, c.oid" RELATIONS " AND c.relname = $2", names, 2, &code, error);
    if (result == NULL) {
        return code;
    }
    code = PQntuples(result) == 0 ? fail_no_table(source, error) : check_relation(source, result, error);
    PQclear(result);
    return code;
}

/* ---------------------------------------------------------------- is it a query? */

static int refuse_query(const char *which, perhaps_error *error, const char *reason)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_ARGUMENT, .subject = which};
    return perhaps__guard_fail(error, failure, "%s; give another", reason);
}

static int refuse_words(const struct perhaps__guard_postgres_source *source, const char *which, const PGresult *result,
                        perhaps_error *error)
{
    if (PQstatus(source->connection) != CONNECTION_OK || result == NULL) {
        return perhaps__guard_postgres_fail(source, result, error);
    }
    char words[160];
    char reason[220];
    const char *primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    (void)snprintf(reason, sizeof reason, "PostgreSQL does not take the query (%s)",
                   perhaps__guard_postgres_words(primary != NULL ? primary : "", words, sizeof words));
    return refuse_query(which, error, reason);
}

// A query must stand for itself before it is put into another: then nothing in it can end the outer one.
static int check_query(const struct perhaps__guard_postgres_source *source, const char *which, const char *sql,
                       int parameters, perhaps_error *error)
{
    PGresult *result = PQprepare(source->connection, "", sql, 0, NULL);
    int code = 0;
    if (PQresultStatus(result) == PGRES_COMMAND_OK) {
        PQclear(result);
        result = PQdescribePrepared(source->connection, "");
    }
    if (PQresultStatus(result) != PGRES_COMMAND_OK) {
        code = refuse_words(source, which, result, error);
    } else if (PQnparams(result) != parameters) {
        code = refuse_query(which, error,
                            parameters == 1 ? "the query must have one parameter, $1: the key"
                                            : "the list has a parameter");
    } else if (PQnfields(result) != 1) {
        code = refuse_query(which, error, "the query must give one column: the key");
    }
    PQclear(result);
    return code;
}

static int check_queries(struct perhaps__guard_postgres_source *source, perhaps_error *error)
{
    const perhaps_store_options *options = source->options;
    int code = check_query(source, "query", options->query, 1, error);
    if (code == 0 && options->list != NULL) {
        code = check_query(source, "list", options->list, 0, error);
        source->keys = perhaps__guard_postgres_print("%s", options->list);
        code = code == 0 && source->keys == NULL ? perhaps__guard_postgres_fail_memory(source, error) : code;
    }
    return code;
}

/* ---------------------------------------------------------------- does it compare bytewise? */

static int refuse_type(const struct perhaps__guard_postgres_source *source, Oid type, perhaps_error *error)
{
    char number[16];
    (void)snprintf(number, sizeof number, "%u", type);
    const char *const values[] = {number};
    int code = 0;
    PGresult *result = perhaps__guard_postgres_ask(
        source,
        "SELECT pg_catalog.format_type(oid, NULL), CASE WHEN typname = 'citext' THEN"
        " 'takes upper and lower case for one key' WHEN oid = 1042 THEN 'ignores spaces at the end of a key'"
        " WHEN typcategory = 'N' THEN 'takes ''007'' and ''7'' for one number'"
        " ELSE 'has several texts for one value' END"
        " FROM pg_catalog.pg_type WHERE oid = $1::pg_catalog.oid",
        values, 1, &code, error);
    if (result == NULL) {
        return code;
    }
    char reason[200];
    (void)snprintf(reason, sizeof reason, "is of type %s, which %s", PQgetvalue(result, 0, 0),
                   PQgetvalue(result, 0, 1));
    code = perhaps__guard_postgres_refuse(
        source, PERHAPS_E_UNSUPPORTED, error, reason,
        type == PERHAPS__GUARD_POSTGRES_CHAR ? GIVE_BYTEWISE ", or its canonical form, rtrim" : GIVE_BYTEWISE);
    PQclear(result);
    return code;
}

// Finds the parameter's type for keys of this one.
static int judge_type(struct perhaps__guard_postgres_source *source, Oid type, perhaps_error *error)
{
    bool trimmed = (source->options->canonical & PERHAPS_CANONICAL_RTRIM) != 0;
    source->text = type != PERHAPS__GUARD_POSTGRES_BYTEA;
    if (type == PERHAPS__GUARD_POSTGRES_CHAR && trimmed) {
        source->type = PERHAPS__GUARD_POSTGRES_CHAR;
        return 0;
    }
    if (type == PERHAPS__GUARD_POSTGRES_TEXT || type == PERHAPS__GUARD_POSTGRES_VARCHAR) {
        source->type = PERHAPS__GUARD_POSTGRES_TEXT;
        return 0;
    }
    source->type = PERHAPS__GUARD_POSTGRES_BYTEA;
    if (source->text) {
        return refuse_type(source, type, error);
    }
    return source->options->canonical == 0
               ? 0
               : perhaps__guard_postgres_refuse(source, PERHAPS_E_UNSUPPORTED, error,
                                                "is of type bytea, which has no letters and spaces",
                                                "leave the canonical form out");
}

// SQL for the canonical form of a key whose type is judged. Only char(n) is equal to it by itself, which lets questions use
// its index. Collation "C" knows the 26 letters and no others.
static void choose_form(struct perhaps__guard_postgres_source *source)
{
    static const struct {
        const char *before;
        const char *after;
    } forms[] = {{"", ""},
                 {"pg_catalog.lower(", " COLLATE pg_catalog.\"C\")"},
                 {"pg_catalog.rtrim(", "::pg_catalog.text)"},
                 {"pg_catalog.lower(pg_catalog.rtrim(", "::pg_catalog.text) COLLATE pg_catalog.\"C\")"}};
    uint32_t form = source->options->canonical;
    if (source->type == PERHAPS__GUARD_POSTGRES_CHAR && form == PERHAPS_CANONICAL_RTRIM) {
        form = 0;
    } else if (source->text) {
        source->type = PERHAPS__GUARD_POSTGRES_TEXT;
    }
    source->before = forms[form].before;
    source->after = forms[form].after;
}

// The collation of the keys of a SELECT, which may be that of a question with its parameter.
static int judge_collation(const struct perhaps__guard_postgres_source *source, const char *sql, int parameters,
                           perhaps_error *error)
{
    char *text = perhaps__guard_postgres_print(
        "SELECT c.collname, c.collisdeterministic FROM pg_catalog.pg_collation c WHERE c.oid ="
        " pg_catalog.pg_collation_for((SELECT q.key FROM (%s\n) AS q(key) LIMIT 0))::pg_catalog.regcollation",
        sql);
    if (text == NULL) {
        return perhaps__guard_postgres_fail_memory(source, error);
    }
    const Oid types[] = {source->type};
    const char *const values[] = {NULL};
    PGresult *result = PQexecParams(source->connection, text, parameters, types, values, NULL, NULL, 0);
    free(text);
    int code = 0;
    if (PQresultStatus(result) != PGRES_TUPLES_OK) {
        code = parameters > 0 ? refuse_words(source, "query", result, error)
                              : perhaps__guard_postgres_fail(source, result, error);
    } else if (PQntuples(result) == 0) {
        code = perhaps__guard_postgres_refuse(source, PERHAPS_E_UNSUPPORTED, error, "has no collation that is certain",
                                              GIVE_BYTEWISE);
    } else if (PQgetvalue(result, 0, 1)[0] != 't') {
        char reason[200];
        (void)snprintf(reason, sizeof reason,
                       "compares with collation \"%s\", so it would confirm keys whose bytes the filter never saw",
                       PQgetvalue(result, 0, 0));
        code = perhaps__guard_postgres_refuse(source, PERHAPS_E_UNSUPPORTED, error, reason, GIVE_BYTEWISE);
    }
    PQclear(result);
    return code;
}

// Prepares a SELECT, unexecuted, to see the type of its one column. (Of a domain, PostgreSQL tells the type beneath.)
static int judge(struct perhaps__guard_postgres_source *source, const char *sql, int parameters, perhaps_error *error)
{
    PGresult *result = PQprepare(source->connection, "", sql, 0, NULL);
    if (PQresultStatus(result) == PGRES_COMMAND_OK) {
        PQclear(result);
        result = PQdescribePrepared(source->connection, "");
    }
    int code = PQresultStatus(result) == PGRES_COMMAND_OK ? judge_type(source, PQftype(result, 0), error)
                                                          : perhaps__guard_postgres_fail(source, result, error);
    PQclear(result);
    if (code == 0) {
        choose_form(source);
        code = source->text ? judge_collation(source, sql, parameters, error) : 0;
    }
    return code;
}

/* ---------------------------------------------------------------- the look-up */

// Comparing outside of the query makes the same of every query: a key is there when a row has its bytes.
static int make_look_up(struct perhaps__guard_postgres_source *source, perhaps_error *error)
{
    const char *query = source->options->query;
    source->look_up = perhaps__guard_postgres_print(
        "SELECT q.key FROM (%s\n) AS q(key) WHERE %sq.key%s OPERATOR(pg_catalog.=) $1 LIMIT 1",
        query != NULL ? query : source->keys, source->before, source->after);
    if (source->look_up == NULL) {
        return perhaps__guard_postgres_fail_memory(source, error);
    }
    PGresult *result =
        PQprepare(source->connection, PERHAPS__GUARD_POSTGRES_LOOK_UP, source->look_up, 1, &source->type);
    int code = 0;
    if (PQresultStatus(result) != PGRES_COMMAND_OK) {
        code = query != NULL ? refuse_words(source, "query", result, error)
                             : perhaps__guard_postgres_fail(source, result, error);
    }
    PQclear(result);
    return code;
}

int perhaps__guard_postgres_check(struct perhaps__guard_postgres_source *source, perhaps_error *error)
{
    const perhaps_store_options *options = source->options;
    source->kind = "table";
    int code = options->query != NULL ? check_queries(source, error) : check_table(source, error);
    if (code == 0 && source->keys != NULL) {
        code = judge(source, source->keys, 0, error);
    }
    if (code == 0 && options->query != NULL) {
        code = judge(source, options->query, 1, error);
    }
    return code < 0 ? code : make_look_up(source, error);
}
