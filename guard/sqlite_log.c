// SPDX-License-Identifier: MIT
// Installing, finding and removing the log of a column.
#include "sqlite_log.h"

#include <perhaps/guard.h>

#include <stdarg.h>
#include <string.h>

#include "fail.h"

/* ---------------------------------------------------------------- statements */

// Steps a statement once, and reads what it gives.
static int read_row(const struct perhaps__guard_sqlite_source *source, sqlite3_stmt *statement, int count,
                    sqlite3_int64 *numbers, perhaps_error *error)
{
    int result = sqlite3_step(statement);
    for (int i = 0; result == SQLITE_ROW && i < count; i++) {
        numbers[i] = sqlite3_column_int64(statement, i);
    }
    int code = result == SQLITE_ROW;
    if (result != SQLITE_ROW && result != SQLITE_DONE) {
        code = perhaps__guard_sqlite_fail(source, result, error);
    }
    (void)sqlite3_finalize(statement);
    return code;
}

int perhaps__guard_sqlite_numbers(const struct perhaps__guard_sqlite_source *source, perhaps_error *error, int count,
                                  sqlite3_int64 *numbers, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *sql = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    sqlite3_stmt *statement = NULL;
    int result = sql == NULL ? SQLITE_NOMEM : sqlite3_prepare_v2(source->db, sql, -1, &statement, NULL);
    sqlite3_free(sql);
    if (result != SQLITE_OK) {
        return perhaps__guard_sqlite_fail(source, result, error);
    }
    return read_row(source, statement, count, numbers, error);
}

/* ---------------------------------------------------------------- names and definitions */

// The name that the schema has for one that was given, or NULL: then *code says why.
static char *name_in_schema(const struct perhaps__guard_sqlite_source *source, int *code, perhaps_error *error,
                            const char *sql, const char *first, const char *second)
{
    sqlite3_stmt *statement = perhaps__guard_sqlite_prepare(source, code, error, sql, first, second);
    if (statement == NULL) {
        return NULL;
    }
    char *name = NULL;
    int result = sqlite3_step(statement);
    if (result == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(statement, 0);
        name = text != NULL ? sqlite3_mprintf("%s", text) : NULL; // %s of NULL would be another name
    }
    if (name == NULL) { // no memory, another error, or what was there when the store was opened is gone
        result = result == SQLITE_ROW ? SQLITE_NOMEM : result == SQLITE_DONE ? SQLITE_ERROR : result;
        *code = perhaps__guard_sqlite_fail(source, result, error);
    }
    (void)sqlite3_finalize(statement);
    return name;
}

// What an object is made by, from its name on: %L stands for the log, %T for the table, %C for the column.
static const struct {
    const char *kind;
    const char *suffix;
    const char *definition;
} objects[PERHAPS__GUARD_LOG_OBJECTS] = {
    {"TABLE", "",
     "(seq INTEGER PRIMARY KEY AUTOINCREMENT, token INTEGER NOT NULL DEFAULT (random()), delta INTEGER NOT NULL, key)"},
    {"TRIGGER", ".insert",
     " AFTER INSERT ON %T WHEN typeof(NEW.%C) IN ('text', 'blob') BEGIN"
     " INSERT INTO %L(delta, key) VALUES (1, NEW.%C); END"},
    {"TRIGGER", ".delete",
     " AFTER DELETE ON %T WHEN typeof(OLD.%C) IN ('text', 'blob') BEGIN"
     " INSERT INTO %L(delta, key) VALUES (-1, OLD.%C); END"},
    // Whatever column an UPDATE names: a generated one changes with others.
    {"TRIGGER", ".update",
     " AFTER UPDATE ON %T WHEN OLD.%C IS NOT NEW.%C BEGIN"
     " INSERT INTO %L(delta, key) SELECT -1, OLD.%C WHERE typeof(OLD.%C) IN ('text', 'blob');"
     " INSERT INTO %L(delta, key) SELECT 1, NEW.%C WHERE typeof(NEW.%C) IN ('text', 'blob'); END"},
};

static char *define(const struct perhaps__guard_log *log, int object)
{
    sqlite3_str *text = sqlite3_str_new(NULL);
    sqlite3_str_appendf(text, "CREATE %s \"%w\"", objects[object].kind, log->names[object]);
    const char *at = objects[object].definition;
    for (const char *mark; (mark = strchr(at, '%')) != NULL; at = mark + 2) {
        const char *name = mark[1] == 'L' ? log->names[0] : mark[1] == 'T' ? log->table : log->column;
        sqlite3_str_append(text, at, (int)(mark - at));
        sqlite3_str_appendf(text, "\"%w\"", name);
    }
    sqlite3_str_appendall(text, at);
    return sqlite3_str_finish(text);
}

static int name_objects(struct perhaps__guard_log *log, const struct perhaps__guard_sqlite_source *source,
                        perhaps_error *error)
{
    for (int i = 0; i < PERHAPS__GUARD_LOG_OBJECTS; i++) {
        log->names[i] = sqlite3_mprintf("perhaps_log.%s.%s%s", log->table, log->column, objects[i].suffix);
        log->sql[i] = log->names[i] != NULL ? define(log, i) : NULL;
        if (log->sql[i] == NULL) {
            return perhaps__guard_sqlite_fail(source, SQLITE_NOMEM, error);
        }
    }
    return 0;
}

int perhaps__guard_log_init(struct perhaps__guard_log *log, const struct perhaps__guard_sqlite_source *source,
                            perhaps_error *error)
{
    int code = 0;
    perhaps__guard_log_release(log);
    log->table = name_in_schema(source, &code, error,
                                "SELECT name FROM main.sqlite_master WHERE name = %Q COLLATE NOCASE AND type IN "
                                "('table', 'view')%.0s",
                                source->options->table, "");
    if (log->table != NULL) {
        log->column = name_in_schema(source, &code, error,
                                     "SELECT name FROM pragma_table_xinfo(%Q, 'main') WHERE name = %Q COLLATE NOCASE",
                                     source->options->table, source->options->column);
    }
    if (log->column != NULL) {
        code = name_objects(log, source, error);
    }
    if (code < 0) {
        perhaps__guard_log_release(log);
    }
    return code;
}

void perhaps__guard_log_release(struct perhaps__guard_log *log)
{
    sqlite3_free(log->table);
    sqlite3_free(log->column);
    for (int i = 0; i < PERHAPS__GUARD_LOG_OBJECTS; i++) {
        sqlite3_free(log->names[i]);
        sqlite3_free(log->sql[i]);
    }
    *log = (struct perhaps__guard_log){.table = NULL};
}

int perhaps__guard_log_is_whole(const struct perhaps__guard_log *log, const struct perhaps__guard_sqlite_source *source,
                                int *strange, perhaps_error *error)
{
    sqlite3_int64 found[2] = {0, 0};
    int code = perhaps__guard_sqlite_numbers(
        source, error, 2, found,
        "SELECT count(*), total(sql IN (%Q, %Q, %Q, %Q)) FROM main.sqlite_master WHERE name COLLATE NOCASE IN "
        "(%Q, %Q, %Q, %Q)",
        log->sql[0], log->sql[1], log->sql[2], log->sql[3], log->names[0], log->names[1], log->names[2], log->names[3]);
    if (code < 0) {
        return code;
    }
    bool whole = found[0] == PERHAPS__GUARD_LOG_OBJECTS && found[1] == PERHAPS__GUARD_LOG_OBJECTS;
    if (strange != NULL) {
        *strange = !whole && found[0] > 0;
    }
    return whole;
}

/* ---------------------------------------------------------------- installing and removing */

int perhaps__guard_sqlite_open_writable(struct perhaps__guard_sqlite_source *source, perhaps_error *error)
{
    source->writable = true;
    int code = perhaps__guard_sqlite_open(source, error);
    if (code < 0 || sqlite3_db_readonly(source->db, "main") == 0) {
        return code;
    }
    (void)sqlite3_close(source->db);
    source->db = NULL;
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_IO, .subject = source->path};
    return perhaps__guard_fail(error, failure,
                               "the database cannot be written; the log is in it, and only who may write "
                               "can install, shorten or remove it");
}

static int run(const struct perhaps__guard_sqlite_source *source, perhaps_error *error, const char *sql)
{
    return perhaps__guard_sqlite_numbers(source, error, 0, NULL, "%s", sql);
}

static int fail_strange(const struct perhaps__guard_sqlite_source *source, const struct perhaps__guard_log *log,
                        perhaps_error *error)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_UNSUPPORTED, .subject = source->path};
    return perhaps__guard_fail(
        error, failure,
        "there is a table or trigger \"%s\" already that is not as this release makes it; remove "
        "the log, or rename what is not one",
        log->names[0]);
}

static int install(const struct perhaps__guard_sqlite_source *source, const struct perhaps__guard_log *log,
                   perhaps_error *error)
{
    int strange = 0;
    int whole = perhaps__guard_log_is_whole(log, source, &strange, error);
    if (whole != 0 || strange != 0) {
        return whole == 1 ? 0 : whole < 0 ? whole : fail_strange(source, log, error);
    }
    int code = 0;
    for (int i = 0; i < PERHAPS__GUARD_LOG_OBJECTS && code >= 0; i++) {
        code = run(source, error, log->sql[i]);
    }
    if (code >= 0) {
        code = perhaps__guard_sqlite_numbers(source, error, 0, NULL, "INSERT INTO main.\"%w\"(delta) VALUES (0)",
                                             log->names[0]);
    }
    return code < 0 ? code : 1;
}

// Also a part of one: what has its names and is no log is not touched, as it is of another type or on another table.
static int uninstall(const struct perhaps__guard_sqlite_source *source, const struct perhaps__guard_log *log,
                     perhaps_error *error)
{
    sqlite3_int64 found = 0;
    int code = 0;
    for (int i = PERHAPS__GUARD_LOG_OBJECTS - 1; i >= 0 && code >= 0; i--) {
        sqlite3_int64 there = 0;
        const char *kind = i == 0 ? "table" : "trigger";
        code = perhaps__guard_sqlite_numbers(source, error, 1, &there,
                                             "SELECT count(*) FROM main.sqlite_master WHERE type = %Q AND name = %Q",
                                             kind, log->names[i]);
        if (code >= 0 && there > 0) {
            code = perhaps__guard_sqlite_numbers(source, error, 0, NULL, "DROP %s main.\"%w\"", kind, log->names[i]);
        }
        found += there;
    }
    return code < 0 ? code : found > 0;
}

typedef int change_function(const struct perhaps__guard_sqlite_source *source, const struct perhaps__guard_log *log,
                            perhaps_error *error);

static int change_opened(struct perhaps__guard_sqlite_source *source, change_function *change, perhaps_error *error)
{
    struct perhaps__guard_log log = {.table = NULL};
    int code = perhaps__guard_sqlite_check(source, error);
    if (code == 0 && strcmp(source->kind, "table") != 0) {
        struct perhaps__guard_failure failure = {.code = PERHAPS_E_UNSUPPORTED, .subject = source->path};
        return perhaps__guard_fail(error, failure, "\"%s\" is a view, which no trigger watches; give a table",
                                   source->options->table);
    }
    code = code < 0 ? code : run(source, error, "BEGIN IMMEDIATE");
    if (code < 0) {
        return code;
    }
    code = perhaps__guard_log_init(&log, source, error);
    code = code < 0 ? code : change(source, &log, error);
    int changed = code;
    code = code < 0 ? code : run(source, error, "COMMIT");
    if (code < 0) {
        (void)run(source, NULL, "ROLLBACK");
    }
    perhaps__guard_log_release(&log);
    return code < 0 ? code : changed;
}

static int change_log(const char *path, const char *table, const char *column, unsigned busy_milliseconds,
                      change_function *change, perhaps_error *error)
{
    if (path == NULL || table == NULL || column == NULL) {
        struct perhaps__guard_failure failure = {.code = PERHAPS_E_ARGUMENT, .subject = "path"};
        return perhaps__guard_fail(error, failure, "path, table or column is NULL, and the call needs all of them");
    }
    const perhaps_store_options options = {
        .size = sizeof options, .table = table, .column = column, .wait_milliseconds = busy_milliseconds};
    struct perhaps__guard_sqlite_source source = {.path = path, .options = &options, .kind = "table"};
    int code = perhaps__guard_sqlite_open_writable(&source, error);
    if (code == 0) {
        code = change_opened(&source, change, error);
        (void)sqlite3_close(source.db);
    }
    return code;
}

int perhaps_store_sqlite_install_log(const char *path, const char *table, const char *column,
                                     unsigned busy_milliseconds, perhaps_error *error)
{
    return change_log(path, table, column, busy_milliseconds, install, error);
}

int perhaps_store_sqlite_remove_log(const char *path, const char *table, const char *column, unsigned busy_milliseconds,
                                    perhaps_error *error)
{
    return change_log(path, table, column, busy_milliseconds, uninstall, error);
}
