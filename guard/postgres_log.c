// SPDX-License-Identifier: MIT
// Finding and reading the log of a column.
#include "postgres_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- names */

// Names have at most 63 bytes; the longest suffix is ".truncate". With a dot in it, a name could be taken for a table's
// and its column's, so that two columns had one log: then the digest tells where the table's ends.
static const char names_sql[] =
    "SELECT v.name, pg_catalog.format('%I.%I', n.nspname, v.name), pg_catalog.format('%I.%I', n.nspname, c.relname),"
    " pg_catalog.quote_ident(a.attname),"
    " CASE WHEN o.oid IS NULL THEN 'pg_catalog.bytea'"
    " ELSE pg_catalog.format('pg_catalog.text COLLATE %I.%I', m.nspname, o.collname) END,"
    " pg_catalog.quote_ident(v.name || '.insert'), pg_catalog.quote_ident(v.name || '.delete'),"
    " pg_catalog.quote_ident(v.name || '.update'), pg_catalog.quote_ident(v.name || '.truncate')"
    " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
    " JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attname = $2"
    " LEFT JOIN pg_catalog.pg_collation o ON o.oid = a.attcollation"
    " LEFT JOIN pg_catalog.pg_namespace m ON m.oid = o.collnamespace,"
    " LATERAL (SELECT c.relname || '.' || a.attname AS pair,"
    " CASE WHEN pg_catalog.strpos(c.relname || a.attname, '.') > 0"
    " THEN pg_catalog.octet_length(c.relname) || '.' ELSE '' END AS mark) w,"
    " LATERAL (SELECT 'perhaps_log.' || CASE WHEN w.mark = '' AND pg_catalog.octet_length(w.pair) <= 42 THEN w.pair"
    " ELSE pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(w.mark || w.pair,"
    " pg_catalog.getdatabaseencoding())), 'hex'), 32) END AS name) v"
    " WHERE c.oid = $1::pg_catalog.oid";

static char *copy(const PGresult *row, int column)
{
    return perhaps__guard_postgres_print("%s", PQgetvalue(row, 0, column));
}

// The operators in it are those of pg_catalog, whoever writes: the function says where to look.
//
// It knows the column by its name, which may go: then it notes a gap, as after TRUNCATE, for the owner's write must not
// fail on the log's account. Whatever else goes wrong with the key is another column of that name. The block that
// catches this writes nothing, so that it takes no number of a transaction. The type is that of the log's column,
// without its name, as a collation can be renamed, too.
static char *make_body(const struct perhaps__guard_postgres_log *log)
{
    const char *c = log->column;
    return perhaps__guard_postgres_print("\nDECLARE\n"
                                         "  gone %s.key%%TYPE;\n"
                                         "  come %s.key%%TYPE;\n"
                                         "  gap boolean = TG_OP = 'TRUNCATE';\n"
                                         "BEGIN\n"
                                         "  BEGIN\n"
                                         "    IF TG_OP IN ('UPDATE', 'DELETE') THEN gone = OLD.%s; END IF;\n"
                                         "    IF TG_OP IN ('UPDATE', 'INSERT') THEN come = NEW.%s; END IF;\n"
                                         "  EXCEPTION WHEN OTHERS THEN\n"
                                         "    gap = true;\n"
                                         "  END;\n"
                                         "  IF gap THEN\n"
                                         "    INSERT INTO %s(delta) VALUES (0);\n"
                                         "    RETURN NULL;\n"
                                         "  END IF;\n"
                                         "  IF gone IS NOT NULL THEN\n"
                                         "    INSERT INTO %s(delta, key) VALUES (-1, gone);\n"
                                         "  END IF;\n"
                                         "  IF come IS NOT NULL THEN\n"
                                         "    INSERT INTO %s(delta, key) VALUES (1, come);\n"
                                         "  END IF;\n"
                                         "  RETURN NULL;\n"
                                         "END\n",
                                         log->log, log->log, c, c, log->log, log->log, log->log);
}

static bool take_names(struct perhaps__guard_postgres_log *log, const PGresult *row)
{
    log->name = copy(row, 0);
    log->log = copy(row, 1);
    log->table = copy(row, 2);
    log->column = copy(row, 3);
    log->type = copy(row, 4);
    bool whole =
        log->name != NULL && log->log != NULL && log->table != NULL && log->column != NULL && log->type != NULL;
    for (int i = 0; i < PERHAPS__GUARD_POSTGRES_TRIGGERS; i++) {
        log->triggers[i] = copy(row, 5 + i);
        whole = whole && log->triggers[i] != NULL;
    }
    log->body = whole ? make_body(log) : NULL;
    return whole && log->body != NULL;
}

int perhaps__guard_postgres_log_init(struct perhaps__guard_postgres_log *log,
                                     const struct perhaps__guard_postgres_source *source, perhaps_error *error)
{
    char relation[16];
    (void)snprintf(relation, sizeof relation, "%u", source->relation);
    const char *const values[] = {relation, source->options->column};
    int code = 0;
    perhaps__guard_postgres_log_release(log);
    PGresult *row = perhaps__guard_postgres_ask(source, names_sql, values, 2, &code, error);
    if (row == NULL) {
        return code;
    }
    if (PQntuples(row) != 1) { // altered since it was judged
        code = perhaps__guard_postgres_refuse(source, PERHAPS_E_IO, error, "is not there any more", "open it again");
    } else if (!take_names(log, row)) {
        code = perhaps__guard_postgres_fail_memory(source, error);
    }
    PQclear(row);
    if (code < 0) {
        perhaps__guard_postgres_log_release(log);
    }
    return code;
}

void perhaps__guard_postgres_log_release(struct perhaps__guard_postgres_log *log)
{
    free(log->name);
    free(log->log);
    free(log->table);
    free(log->column);
    free(log->type);
    free(log->body);
    for (int i = 0; i < PERHAPS__GUARD_POSTGRES_TRIGGERS; i++) {
        free(log->triggers[i]);
    }
    *log = (struct perhaps__guard_postgres_log){.name = NULL};
}

/* ---------------------------------------------------------------- is it whole? */

// Whole: the table, the function as it is made here, and its triggers, which fire for everybody, and when this column
// changes (their conditions stay with a column that is renamed, when another one takes its name), on the table and on
// each partition (a trigger for each row is PostgreSQL's to copy there). A table that inherits has none of them, and
// one on another server tells nobody. The table that has the name now, which is locked, must be the one that was
// judged.
//
// The signature is of whatever must not have changed since a position: the database; of table and partitions the number, the
// file (another one, when the table was rewritten or emptied) and how they hang together; the column, the function, the
// triggers, each with the transaction that wrote its row of the catalogue last, which tells a trigger that was off for
// a while.
static const char find_sql[] =
    "WITH RECURSIVE tree(oid, link) AS (SELECT $1::pg_catalog.oid, ''::pg_catalog.text"
    " UNION ALL SELECT i.inhrelid, i.xmin::pg_catalog.text FROM pg_catalog.pg_inherits i JOIN tree"
    " ON i.inhparent = tree.oid),"
    " log AS (SELECT l.oid, l.relkind FROM pg_catalog.pg_class c JOIN pg_catalog.pg_class l"
    " ON l.relnamespace = c.relnamespace AND l.relname = $2 WHERE c.oid = $1::pg_catalog.oid),"
    " function AS (SELECT p.oid, p.xmin AS version, p.prosrc = $3 AND p.prosecdef AS fits FROM pg_catalog.pg_class c"
    " JOIN pg_catalog.pg_proc p ON p.pronamespace = c.relnamespace AND p.proname = $2 AND p.pronargs = 0"
    " AND p.prorettype = 'pg_catalog.trigger'::pg_catalog.regtype"
    " WHERE c.oid = $1::pg_catalog.oid),"
    " wanted(name, type) AS (VALUES ($2 || '.insert', 5), ($2 || '.delete', 9), ($2 || '.update', 17),"
    " ($2 || '.truncate', 32)),"
    " triggers AS (SELECT g.tgrelid, g.oid, g.xmin AS version, g.tgenabled = 'A' AND g.tgtype = w.type"
    " AND g.tgattr::pg_catalog.text = '' AND g.tgfoid = (SELECT f.oid FROM function f)"
    " AND (w.type = 32 OR g.tgrelid <> $1::pg_catalog.oid OR EXISTS (SELECT FROM pg_catalog.pg_depend d"
    " JOIN pg_catalog.pg_attribute a ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid AND a.attname = $4"
    " WHERE d.classid = 'pg_catalog.pg_trigger'::pg_catalog.regclass AND d.objid = g.oid"
    " AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid = $1::pg_catalog.oid)) AS fits"
    " FROM tree JOIN pg_catalog.pg_trigger g ON g.tgrelid = tree.oid JOIN wanted w ON w.name = g.tgname),"
    " parts AS (SELECT tree.oid, c.relkind, pg_catalog.concat_ws(':', tree.oid, c.relfilenode, tree.link,"
    " (SELECT pg_catalog.string_agg(g.oid || '.' || g.version, ',' ORDER BY g.oid) FROM triggers g"
    " WHERE g.tgrelid = tree.oid)) AS version, (SELECT pg_catalog.count(*) FROM triggers g"
    " WHERE g.tgrelid = tree.oid AND g.fits) AS triggers FROM tree JOIN pg_catalog.pg_class c ON c.oid = tree.oid)"
    " SELECT (SELECT pg_catalog.count(*) FROM log WHERE relkind = 'r') = 1"
    " AND (SELECT pg_catalog.count(*) FROM function WHERE fits) = 1"
    " AND NOT EXISTS (SELECT FROM parts WHERE relkind NOT IN ('r', 'p')"
    " OR triggers <> CASE WHEN oid = $1::pg_catalog.oid THEN 4 ELSE 3 END)"
    " AND pg_catalog.to_regclass($5) = $1::pg_catalog.oid"
    " AND NOT pg_catalog.row_security_active($1::pg_catalog.oid)"
    " AND NOT EXISTS (SELECT FROM log WHERE pg_catalog.row_security_active(log.oid)),"
    " EXISTS (SELECT FROM log) OR EXISTS (SELECT FROM function)"
    " OR EXISTS (SELECT FROM triggers WHERE tgrelid = $1::pg_catalog.oid), EXISTS (SELECT FROM function),"
    " pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.concat_ws('|',"
    " (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()),"
    " (SELECT pg_catalog.string_agg(log.oid::pg_catalog.text, ',') FROM log),"
    " (SELECT pg_catalog.string_agg(f.oid || '.' || f.version, ',') FROM function f),"
    " (SELECT a.attnum || '.' || a.xmin FROM pg_catalog.pg_attribute a"
    " WHERE a.attrelid = $1::pg_catalog.oid AND a.attname = $4),"
    " (SELECT pg_catalog.string_agg(parts.version, ';' ORDER BY parts.oid) FROM parts)"
    "), pg_catalog.getdatabaseencoding())), 'hex'), 32)";

int perhaps__guard_postgres_log_find(const struct perhaps__guard_postgres_log *log,
                                     const struct perhaps__guard_postgres_source *source,
                                     struct perhaps__guard_postgres_found *found, perhaps_error *error)
{
    char relation[16];
    (void)snprintf(relation, sizeof relation, "%u", source->relation);
    const char *const values[] = {relation, log->name, log->body, source->options->column, log->table};
    int code = 0;
    PGresult *row = perhaps__guard_postgres_ask(source, find_sql, values, 5, &code, error);
    if (row == NULL) {
        return code;
    }
    found->whole = PQgetvalue(row, 0, 0)[0] == 't';
    found->any = PQgetvalue(row, 0, 1)[0] == 't';
    found->function = PQgetvalue(row, 0, 2)[0] == 't';
    (void)snprintf(found->signature, sizeof found->signature, "%s", PQgetvalue(row, 0, 3));
    PQclear(row);
    return 0;
}

/* ---------------------------------------------------------------- rows */

static uint64_t number(const PGresult *row, int column)
{
    return strtoull(PQgetvalue(row, 0, column), NULL, 10);
}

int perhaps__guard_postgres_log_read(const struct perhaps__guard_postgres_log *log,
                                     const struct perhaps__guard_postgres_source *source, const char *then,
                                     struct perhaps__guard_postgres_rows *rows, perhaps_error *error)
{
    char *sql = perhaps__guard_postgres_print(
        "SELECT pg_catalog.pg_current_snapshot(), r.* FROM (SELECT"
        " coalesce(pg_catalog.sum(q.weight), 0), coalesce(pg_catalog.sum(q.token), 0) %% 9223372036854775808,"
        " coalesce(pg_catalog.sum(q.weight) FILTER (WHERE q.was), 0),"
        " coalesce(pg_catalog.sum(q.token) FILTER (WHERE q.was), 0) %% 9223372036854775808,"
        " pg_catalog.count(*) FILTER (WHERE NOT q.was AND q.delta = 0), pg_catalog.count(*) FILTER (WHERE NOT q.was),"
        " pg_catalog.count(*) FILTER (WHERE NOT q.here)"
        " FROM (SELECT l.weight, l.token, l.delta,"
        " pg_catalog.pg_visible_in_snapshot(l.xid, pg_catalog.pg_current_snapshot()) AS here,"
        " pg_catalog.pg_visible_in_snapshot(l.xid, $1::pg_catalog.pg_snapshot) AS was FROM %s AS l) AS q) AS r",
        log->log);
    if (sql == NULL) {
        return perhaps__guard_postgres_fail_memory(source, error);
    }
    PGresult *row = PQexecParams(source->connection, sql, 1, NULL, &then, NULL, NULL, 0);
    free(sql);
    if (PQresultStatus(row) != PGRES_TUPLES_OK) {
        int code = perhaps__guard_postgres_fail_following(source, row, error);
        PQclear(row);
        return code;
    }
    *rows = (struct perhaps__guard_postgres_rows){.snapshot = copy(row, 0),
                                                  .rows = number(row, 1),
                                                  .sum = number(row, 2),
                                                  .rows_then = number(row, 3),
                                                  .sum_then = number(row, 4),
                                                  .truncated = number(row, 5),
                                                  .changed = number(row, 6),
                                                  .foreign = number(row, 7)};
    PQclear(row);
    return rows->snapshot != NULL ? 0 : perhaps__guard_postgres_fail_memory(source, error);
}

// A single row that is folded already stays as it is.
int perhaps__guard_postgres_log_fold(const struct perhaps__guard_postgres_log *log,
                                     const struct perhaps__guard_postgres_source *source, const char *snapshot,
                                     perhaps_error *error)
{
    char *sql = perhaps__guard_postgres_print(
        "WITH gone AS (DELETE FROM %s AS l WHERE pg_catalog.pg_visible_in_snapshot(l.xid, $1::pg_catalog.pg_snapshot)"
        " AND EXISTS (SELECT FROM %s AS m WHERE m.xid <> '0'"
        " AND pg_catalog.pg_visible_in_snapshot(m.xid, $1::pg_catalog.pg_snapshot))"
        " RETURNING l.weight, l.token)"
        " INSERT INTO %s(xid, weight, token, delta) SELECT '0', pg_catalog.sum(weight),"
        " pg_catalog.sum(token) %% 9223372036854775808, 0 FROM gone HAVING pg_catalog.count(*) > 0",
        log->log, log->log, log->log);
    if (sql == NULL) {
        return perhaps__guard_postgres_fail_memory(source, error);
    }
    PGresult *result = PQexecParams(source->connection, sql, 1, NULL, &snapshot, NULL, NULL, 0);
    free(sql);
    int code = PQresultStatus(result) == PGRES_COMMAND_OK ? 0 : perhaps__guard_postgres_fail_log(source, result, error);
    PQclear(result);
    return code;
}
