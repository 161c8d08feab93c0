// SPDX-License-Identifier: MIT
// A column of a SQLite database as a store.
#include <perhaps/guard.h>

#include <pthread.h>
#include <string.h>

#include "fail.h"
#include "store_sqlite.h"

// A key is a value of either type with its bytes: SQLite never takes TEXT 'ab' for BLOB x'6162'. One
// statement asks for both, so that one index search does. The column is named with its table, because SQLite
// reads a quoted name that is no column any more, once somebody dropped it, as a string.
#define LOOK_UP "SELECT t.\"%w\" FROM main.\"%w\" AS t WHERE t.\"%w\" IN (?1, ?2)"
#define LIST "SELECT DISTINCT t.\"%w\" FROM main.\"%w\" AS t WHERE typeof(t.\"%w\") IN ('text', 'blob')"

static int fail_argument(perhaps_error *error, const char *subject)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_ARGUMENT, .subject = subject};
    return perhaps__guard_fail(error, failure, "the argument is NULL, and the call needs it");
}

/* ---------------------------------------------------------------- one key */

static int bind_key(sqlite3_stmt *statement, const void *key, size_t length)
{
    const char *bytes = length > 0 ? key : ""; // NULL would be bound as the value NULL
    int result = sqlite3_bind_text64(statement, 1, bytes, length, SQLITE_STATIC, SQLITE_UTF8);
    return result != SQLITE_OK ? result : sqlite3_bind_blob64(statement, 2, bytes, length, SQLITE_STATIC);
}

// The bytes of the row's value, never NULL; false when there is no memory for them.
static bool read_bytes(sqlite3_stmt *statement, const void **bytes, size_t *length)
{
    *bytes = sqlite3_column_blob(statement, 0);
    *length = (size_t)sqlite3_column_bytes(statement, 0);
    if (*bytes != NULL) {
        return true;
    }
    *bytes = ""; // what SQLite has no pointer for when all is well
    return sqlite3_errcode(sqlite3_db_handle(statement)) != SQLITE_NOMEM;
}

// Whether the row has exactly the bytes of the key: SQLITE_OK if not, SQLITE_ROW if so, or an error. SQLite
// found the row by its own idea of equality; this one decides, so that no view, however it is composed,
// confirms other bytes.
static int compare_row(sqlite3_stmt *statement, const void *key, size_t length)
{
    int type = sqlite3_column_type(statement, 0);
    if (type != SQLITE_TEXT && type != SQLITE_BLOB) {
        return SQLITE_OK;
    }
    const void *bytes = NULL;
    size_t count = 0;
    if (!read_bytes(statement, &bytes, &count)) {
        return SQLITE_NOMEM;
    }
    bool same = count == length && (length == 0 || memcmp(bytes, key, length) == 0);
    return same ? SQLITE_ROW : SQLITE_OK;
}

// SQLITE_ROW when a row has the key, SQLITE_DONE when none has it, or an error.
static int find_row(sqlite3_stmt *statement, const void *key, size_t length)
{
    int result = bind_key(statement, key, length);
    while (result == SQLITE_OK) {
        result = sqlite3_step(statement);
        if (result == SQLITE_ROW) {
            result = compare_row(statement, key, length);
        }
    }
    return result;
}

static int look_up(const perhaps_store_sqlite *sqlite, const void *key, size_t length, perhaps_error *error)
{
    int result = find_row(sqlite->look_up, key, length);
    int code = result == SQLITE_ROW;
    if (result != SQLITE_ROW && result != SQLITE_DONE) {
        code = perhaps__guard_sqlite_fail(&sqlite->source, result, error);
    }
    // At once: until then the database is locked against writers, and the key is the caller's.
    (void)sqlite3_reset(sqlite->look_up);
    (void)sqlite3_clear_bindings(sqlite->look_up);
    return code;
}

static int contains(void *context, const void *key, size_t length, perhaps_error *error)
{
    perhaps_store_sqlite *sqlite = context;
    if (key == NULL && length > 0) {
        return fail_argument(error, "key");
    }
    (void)pthread_mutex_lock(&sqlite->lock);
    // No row can hold a key that is longer than any value of SQLite.
    bool too_long = length > (size_t)sqlite3_limit(sqlite->source.db, SQLITE_LIMIT_LENGTH, -1);
    int found = too_long ? 0 : look_up(sqlite, key, length, error);
    (void)pthread_mutex_unlock(&sqlite->lock);
    return found;
}

/* ---------------------------------------------------------------- every key */

static int visit_row(const struct perhaps__guard_sqlite_source *source, sqlite3_stmt *statement,
                     int (*visit)(void *visitor, const void *key, size_t length), void *visitor, perhaps_error *error)
{
    const void *bytes = NULL;
    size_t length = 0;
    if (!read_bytes(statement, &bytes, &length)) {
        return perhaps__guard_sqlite_fail(source, SQLITE_NOMEM, error);
    }
    return visit(visitor, bytes, length);
}

int perhaps__guard_sqlite_list(const struct perhaps__guard_sqlite_source *source,
                               int (*visit)(void *visitor, const void *key, size_t length), void *visitor,
                               perhaps_error *error)
{
    int code = 0;
    sqlite3_stmt *statement =
        perhaps__guard_sqlite_prepare(source, &code, error, LIST, source->column, source->table, source->column);
    if (statement == NULL) {
        return code;
    }
    int result = SQLITE_ROW;
    while (code == 0 && (result = sqlite3_step(statement)) == SQLITE_ROW) {
        code = visit_row(source, statement, visit, visitor, error);
    }
    if (code == 0 && result != SQLITE_DONE) {
        code = perhaps__guard_sqlite_fail(source, result, error);
    }
    (void)sqlite3_finalize(statement);
    return code;
}

// On a connection of its own. On that of the questions a listing would hold its snapshot, and answers would come from
// there: a key that was removed meanwhile would still be found.
static int each_key(void *context, int (*visit)(void *visitor, const void *key, size_t length), void *visitor,
                    perhaps_error *error)
{
    const perhaps_store_sqlite *sqlite = context;
    if (visit == NULL) {
        return fail_argument(error, "visit");
    }
    struct perhaps__guard_sqlite_source source = sqlite->source;
    source.db = NULL;
    int code = perhaps__guard_sqlite_open(&source, error);
    if (code == 0) {
        code = perhaps__guard_sqlite_list(&source, visit, visitor, error);
        (void)sqlite3_close(source.db);
    }
    return code;
}

/* ---------------------------------------------------------------- counting */

// Runs a statement that gives one row of two numbers.
static int read_numbers(const struct perhaps__guard_sqlite_source *source, sqlite3_stmt *statement, uint64_t numbers[2],
                        perhaps_error *error)
{
    int result = sqlite3_step(statement);
    int code = 0;
    if (result == SQLITE_ROW) {
        numbers[0] = (uint64_t)sqlite3_column_int64(statement, 0);
        numbers[1] = (uint64_t)sqlite3_column_int64(statement, 1);
    } else {
        code = perhaps__guard_sqlite_fail(source, result, error);
    }
    (void)sqlite3_finalize(statement);
    return code;
}

// Distinct texts and distinct blobs. With an index they come in order, and nothing has to be remembered.
static int count_by_type(const struct perhaps__guard_sqlite_source *source, uint64_t numbers[2], perhaps_error *error)
{
    int code = 0;
    sqlite3_stmt *statement = perhaps__guard_sqlite_prepare(
        source, &code, error,
        "SELECT (SELECT count(*) FROM (SELECT DISTINCT t.\"%w\" FROM main.\"%w\" AS t "
        "WHERE typeof(t.\"%w\") = 'text')), "
        "(SELECT count(*) FROM (SELECT DISTINCT t.\"%w\" FROM main.\"%w\" AS t "
        "WHERE typeof(t.\"%w\") = 'blob'))",
        source->column, source->table, source->column, source->column, source->table, source->column);
    return statement == NULL ? code : read_numbers(source, statement, numbers, error);
}

// Distinct byte strings. SQLite remembers all of them in a temporary tree.
static int count_by_bytes(const struct perhaps__guard_sqlite_source *source, uint64_t numbers[2], perhaps_error *error)
{
    int code = 0;
    sqlite3_stmt *statement =
        perhaps__guard_sqlite_prepare(source, &code, error,
                                      "SELECT count(DISTINCT CAST(t.\"%w\" AS BLOB)), 0 FROM main.\"%w\" AS t "
                                      "WHERE typeof(t.\"%w\") IN ('text', 'blob')",
                                      source->column, source->table, source->column);
    return statement == NULL ? code : read_numbers(source, statement, numbers, error);
}

static int count_distinct(const struct perhaps__guard_sqlite_source *source, uint64_t *count, perhaps_error *error)
{
    uint64_t numbers[2] = {0, 0};
    int code = count_by_type(source, numbers, error);
    // Only where there are both can a text and a blob be one key.
    if (code == 0 && numbers[0] > 0 && numbers[1] > 0) {
        code = count_by_bytes(source, numbers, error);
    }
    if (code == 0) {
        *count = numbers[0] + numbers[1];
    }
    return code;
}

int perhaps_store_sqlite_count(perhaps_store_sqlite *sqlite, uint64_t *count, perhaps_error *error)
{
    if (sqlite == NULL || count == NULL) {
        return fail_argument(error, sqlite == NULL ? "sqlite" : "count");
    }
    (void)pthread_mutex_lock(&sqlite->lock);
    int code = count_distinct(&sqlite->source, count, error);
    (void)pthread_mutex_unlock(&sqlite->lock);
    return code;
}

// For a guard: on a connection of its own as well, as it may take long, and questions would wait.
static int count_keys(void *context, uint64_t *count, perhaps_error *error)
{
    const perhaps_store_sqlite *sqlite = context;
    if (count == NULL) {
        return fail_argument(error, "count");
    }
    struct perhaps__guard_sqlite_source source = sqlite->source;
    source.db = NULL;
    int code = perhaps__guard_sqlite_open(&source, error);
    if (code == 0) {
        code = count_distinct(&source, count, error);
        (void)sqlite3_close(source.db);
    }
    return code;
}

/* ---------------------------------------------------------------- opening and closing */

// Reads the plan of the look-up. A search uses an index; a single scan in it, as in a view over two tables
// of which one has no index, makes the whole as slow as that scan.
static int check_plan(perhaps_store_sqlite *sqlite, perhaps_error *error)
{
    const struct perhaps__guard_sqlite_source *source = &sqlite->source;
    int code = 0;
    sqlite3_stmt *plan = perhaps__guard_sqlite_prepare(source, &code, error, "EXPLAIN QUERY PLAN " LOOK_UP,
                                                       source->column, source->table, source->column);
    if (plan == NULL) {
        return code;
    }
    bool search = false;
    bool scan = false;
    int result;
    while ((result = sqlite3_step(plan)) == SQLITE_ROW) {
        const char *detail = (const char *)sqlite3_column_text(plan, 3);
        search = search || sqlite3_strglob("SEARCH *", detail) == 0;
        scan = scan || sqlite3_strglob("SCAN *", detail) == 0;
    }
    if (result != SQLITE_DONE) {
        code = perhaps__guard_sqlite_fail(source, result, error);
    }
    (void)sqlite3_finalize(plan);
    sqlite->indexed = search && !scan;
    return code;
}

// Everything that can fail once the structure and the names in it are there.
static int prepare(perhaps_store_sqlite *sqlite, perhaps_error *error)
{
    struct perhaps__guard_sqlite_source *source = &sqlite->source;
    int code = perhaps__guard_sqlite_open(source, error);
    if (code == 0) {
        code = perhaps__guard_sqlite_check(source, error);
    }
    if (code == 0) {
        code = check_plan(sqlite, error);
    }
    if (code == 0) {
        sqlite->look_up =
            perhaps__guard_sqlite_prepare(source, &code, error, LOOK_UP, source->column, source->table, source->column);
    }
    return code;
}

// The structure with copies of the three names behind it, in one piece of memory.
static perhaps_store_sqlite *allocate(const char *path, const char *table, const char *column)
{
    size_t path_size = strlen(path) + 1;
    size_t table_size = strlen(table) + 1;
    size_t column_size = strlen(column) + 1;
    perhaps_store_sqlite *sqlite = sqlite3_malloc64(sizeof *sqlite + path_size + table_size + column_size);
    if (sqlite == NULL) {
        return NULL;
    }
    char *names = (char *)(sqlite + 1);
    *sqlite = (perhaps_store_sqlite){.source = {
                                         .path = memcpy(names, path, path_size),
                                         .table = memcpy(names + path_size, table, table_size),
                                         .column = memcpy(names + path_size + table_size, column, column_size),
                                         .kind = "table",
                                     }};
    return sqlite;
}

int perhaps_store_sqlite_open(const char *path, const char *table, const char *column, unsigned busy_milliseconds,
                              perhaps_store_sqlite **sqlite, perhaps_error *error)
{
    if (path == NULL || table == NULL || column == NULL || sqlite == NULL) {
        return fail_argument(error, path == NULL     ? "path"
                                    : table == NULL  ? "table"
                                    : column == NULL ? "column"
                                                     : "sqlite");
    }
    perhaps_store_sqlite *opened = allocate(path, table, column);
    if (opened == NULL) {
        struct perhaps__guard_failure failure = {.code = PERHAPS_E_MEMORY, .subject = path};
        return perhaps__guard_fail(error, failure, "there is no memory to open the database; allow this program more");
    }
    (void)pthread_mutex_init(&opened->lock, NULL); // cannot fail with default attributes
    (void)pthread_mutex_init(&opened->following.lock, NULL);
    opened->source.busy_milliseconds = busy_milliseconds;
    int code = prepare(opened, error);
    if (code < 0) {
        perhaps_store_sqlite_close(opened);
        return code;
    }
    *sqlite = opened;
    return 0;
}

void perhaps_store_sqlite_close(perhaps_store_sqlite *sqlite)
{
    if (sqlite != NULL) {
        perhaps__guard_sqlite_stop_following(sqlite);
        (void)pthread_mutex_destroy(&sqlite->following.lock);
        (void)sqlite3_finalize(sqlite->look_up);
        (void)sqlite3_close(sqlite->source.db);
        (void)pthread_mutex_destroy(&sqlite->lock);
        sqlite3_free(sqlite);
    }
}

int perhaps_store_sqlite_store(perhaps_store_sqlite *sqlite, perhaps_store *store)
{
    if (sqlite == NULL || store == NULL) {
        return PERHAPS_E_ARGUMENT;
    }
    // A text and a blob with the same bytes are two values and one key: distinct but for those.
    *store = (perhaps_store){.context = sqlite,
                             .contains = contains,
                             .each_key = each_key,
                             .count = count_keys,
                             .flags = PERHAPS_STORE_SNAPSHOT | PERHAPS_STORE_DISTINCT};
    return 0;
}

int perhaps_store_sqlite_indexed(const perhaps_store_sqlite *sqlite)
{
    return sqlite == NULL ? PERHAPS_E_ARGUMENT : sqlite->indexed;
}
