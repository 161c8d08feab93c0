// SPDX-License-Identifier: MIT
// A column, or a query, of a SQLite database as a store.
#include <perhaps/guard.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "store_options.h"
#include "store_sqlite.h"

// A key is a value of either type with its bytes: SQLite never takes TEXT 'ab' for BLOB x'6162'. One
// statement asks for both, so that one index search does. The column is named with its table, because SQLite
// reads a quoted name that is no column any more, once somebody dropped it, as a string.
#define COLUMN "SELECT t.\"%w\" FROM main.\"%w\" AS t"
#define LOOK_UP COLUMN " WHERE t.\"%w\" IN (?1, ?2)"

// For each canonical form, what takes a column's texts for equal that have the same one. A collation alone can use an index
// that has it.
static const struct {
    const char *before;
    const char *after;
} forms[] = {{"", ""}, {"", " COLLATE NOCASE"}, {"", " COLLATE RTRIM"}, {"rtrim(", ", ' ') COLLATE NOCASE"}};

static int fail_memory(const struct perhaps__guard_sqlite_source *source, perhaps_error *error)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_MEMORY, .subject = source->path};
    return perhaps__guard_fail(error, failure, "there is no memory to open the database; allow this program more");
}

/* ---------------------------------------------------------------- the connection */

// The text of the look-up, after a prefix, for sqlite3_free().
static char *look_up_text(const perhaps_store_options *options, const char *prefix)
{
    if (options->query != NULL) {
        return sqlite3_mprintf("%s%s", prefix, options->query);
    }
    if (options->canonical == 0) {
        return sqlite3_mprintf("%s" LOOK_UP, prefix, options->column, options->table, options->column);
    }
    return sqlite3_mprintf("%s" COLUMN " WHERE %st.\"%w\"%s = ?1", prefix, options->column, options->table,
                           forms[options->canonical].before, options->column, forms[options->canonical].after);
}

static sqlite3_stmt *prepare_look_up(const struct perhaps__guard_sqlite_source *source, const char *prefix, int *code,
                                     perhaps_error *error)
{
    char *text = look_up_text(source->options, prefix);
    if (text == NULL) {
        *code = perhaps__guard_sqlite_fail(source, SQLITE_NOMEM, error);
        return NULL;
    }
    sqlite3_stmt *statement = perhaps__guard_sqlite_prepare(source, code, error, "%s", text);
    sqlite3_free(text);
    return statement;
}

// Reads the plan of the look-up. A search uses an index; a single scan in it, as in a view over two tables
// of which one has no index, makes the whole as slow as that scan.
static int check_plan(const struct perhaps__guard_sqlite_source *source, int *indexed, perhaps_error *error)
{
    int code = 0;
    sqlite3_stmt *plan = prepare_look_up(source, "EXPLAIN QUERY PLAN ", &code, error);
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
    *indexed = search && !scan;
    return code;
}

static void disconnect(perhaps_store_sqlite *sqlite)
{
    (void)sqlite3_finalize(sqlite->look_up);
    (void)sqlite3_close(sqlite->source.db);
    sqlite->look_up = NULL;
    sqlite->source.db = NULL;
}

// Nothing of the store but what belongs to the connection is written to: listings read the rest without a lock.
static int connect_to(perhaps_store_sqlite *sqlite, struct perhaps__guard_sqlite_source *source, perhaps_error *error)
{
    int indexed = 0;
    int code = perhaps__guard_sqlite_open(source, error);
    if (code < 0) {
        return code;
    }
    sqlite->source.db = source->db;
    sqlite->source.device = source->device;
    sqlite->source.number = source->number;
    code = perhaps__guard_sqlite_check(source, error);
    code = code < 0 ? code : check_plan(source, &indexed, error);
    if (code == 0) {
        sqlite->look_up = prepare_look_up(source, "", &code, error);
        __atomic_store_n(&sqlite->indexed, indexed, __ATOMIC_RELAXED);
    }
    if (code < 0) {
        disconnect(sqlite);
    }
    return code;
}

// Under the lock. A file that took the place of the one that is open is judged as that was, and asked from now on; when it
// cannot be, that is an error each time, until it can.
static int use_newest(perhaps_store_sqlite *sqlite, perhaps_error *error)
{
    if (sqlite->source.db != NULL && !perhaps__guard_sqlite_has_moved(&sqlite->source)) {
        return 0;
    }
    struct perhaps__guard_sqlite_source source = perhaps__guard_sqlite_source_of(sqlite);
    source.kind = "table";
    disconnect(sqlite);
    return connect_to(sqlite, &source, error);
}

/* ---------------------------------------------------------------- one key */

static int bind_text(sqlite3_stmt *statement, const struct perhaps__guard_store_key *key)
{
    return sqlite3_bind_text64(statement, 1, key->bytes, key->length, SQLITE_STATIC, SQLITE_UTF8);
}

static int bind_blob(sqlite3_stmt *statement, int parameter, const struct perhaps__guard_store_key *key)
{
    return sqlite3_bind_blob64(statement, parameter, key->bytes, key->length, SQLITE_STATIC);
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

// Whether the row has exactly the bytes of the key, or its canonical form: SQLITE_OK if not, SQLITE_ROW if so, or an error.
// SQLite found the row by its own idea of equality; this one decides, so that no view, however it is composed,
// confirms other bytes.
static int compare_row(sqlite3_stmt *statement, uint32_t canonical, const struct perhaps__guard_store_key *key)
{
    int type = sqlite3_column_type(statement, 0);
    if (type != SQLITE_TEXT && (type != SQLITE_BLOB || canonical != 0)) {
        return SQLITE_OK;
    }
    const void *bytes = NULL;
    size_t length = 0;
    struct perhaps__guard_store_key found;
    if (!read_bytes(statement, &bytes, &length) || !perhaps__guard_store_key_make(&found, canonical, bytes, length)) {
        return SQLITE_NOMEM;
    }
    bool same = found.length == key->length && memcmp(found.bytes, key->bytes, key->length) == 0;
    free(found.owned);
    return same ? SQLITE_ROW : SQLITE_OK;
}

// SQLITE_ROW when a row has the key, SQLITE_DONE when none has it, or an error.
static int find_row(const perhaps_store_sqlite *sqlite, int result, const struct perhaps__guard_store_key *key)
{
    while (result == SQLITE_OK) {
        result = sqlite3_step(sqlite->look_up);
        if (result == SQLITE_ROW) {
            result = compare_row(sqlite->look_up, sqlite->options->canonical, key);
        }
    }
    return result;
}

// As a text, and as a blob: in one go where the statement is ours, one after the other where there is one parameter.
static int find_key(const perhaps_store_sqlite *sqlite, const struct perhaps__guard_store_key *key)
{
    sqlite3_stmt *statement = sqlite->look_up;
    int parameters = sqlite3_bind_parameter_count(statement);
    int result = bind_text(statement, key);
    if (result == SQLITE_OK && parameters > 1) {
        result = bind_blob(statement, 2, key);
    }
    result = find_row(sqlite, result, key);
    if (result != SQLITE_DONE || parameters > 1 || sqlite->options->canonical != 0) {
        return result;
    }
    (void)sqlite3_reset(statement);
    return find_row(sqlite, bind_blob(statement, 1, key), key);
}

// Where it takes two steps they see one state: a row that is a blob at the first, and a text at the second, would be missed
// by both.
static int find_key_at_once(const perhaps_store_sqlite *sqlite, const struct perhaps__guard_store_key *key)
{
    bool one_step = sqlite->options->query == NULL || sqlite->options->canonical != 0;
    int result = one_step ? SQLITE_OK : sqlite3_exec(sqlite->source.db, "BEGIN", NULL, NULL, NULL);
    return result == SQLITE_OK ? find_key(sqlite, key) : result;
}

static int look_up(perhaps_store_sqlite *sqlite, const struct perhaps__guard_store_key *key, perhaps_error *error)
{
    int result = find_key_at_once(sqlite, key);
    int code = result == SQLITE_ROW;
    if (result != SQLITE_ROW && result != SQLITE_DONE) {
        code = perhaps__guard_sqlite_fail(&sqlite->source, result, error);
    }
    // At once: until then the database is locked against writers, and the key is the caller's.
    (void)sqlite3_reset(sqlite->look_up);
    (void)sqlite3_clear_bindings(sqlite->look_up);
    sqlite3 *db = sqlite->source.db;
    if (sqlite3_get_autocommit(db) == 0 && sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL) != SQLITE_OK) {
        disconnect(sqlite); // without memory: the next question must not be answered from this state
    }
    return code;
}

static int contains(void *context, const void *key, size_t length, perhaps_error *error)
{
    perhaps_store_sqlite *sqlite = context;
    if (key == NULL && length > 0) {
        return perhaps__guard_store_null("key", error);
    }
    // No row can hold a key that is longer than any value of SQLite.
    if (length > sqlite->longest) {
        return 0;
    }
    struct perhaps__guard_store_key form;
    if (!perhaps__guard_store_key_make(&form, sqlite->options->canonical, key, length)) {
        return fail_memory(&sqlite->source, error);
    }
    (void)pthread_mutex_lock(&sqlite->lock);
    int found = use_newest(sqlite, error);
    found = found < 0 ? found : look_up(sqlite, &form, error);
    (void)pthread_mutex_unlock(&sqlite->lock);
    free(form.owned);
    return found;
}

/* ---------------------------------------------------------------- every key */

typedef int visit_key(void *visitor, const void *key, size_t length);

static int visit_row(const struct perhaps__guard_sqlite_source *source, sqlite3_stmt *statement, visit_key *visit,
                     void *visitor, perhaps_error *error)
{
    const void *bytes = NULL;
    size_t length = 0;
    struct perhaps__guard_store_key form;
    if (!read_bytes(statement, &bytes, &length) ||
        !perhaps__guard_store_key_make(&form, source->options->canonical, bytes, length)) {
        return perhaps__guard_sqlite_fail(source, SQLITE_NOMEM, error);
    }
    int code = visit(visitor, form.bytes, form.length);
    free(form.owned);
    return code;
}

int perhaps__guard_sqlite_list(const struct perhaps__guard_sqlite_source *source, const char *keys,
                               int (*visit)(void *visitor, const void *key, size_t length), void *visitor,
                               perhaps_error *error)
{
    int code = 0;
    sqlite3_stmt *statement = perhaps__guard_sqlite_prepare(
        source, &code, error,
        "WITH perhaps_keys(key) AS (%s\n) SELECT DISTINCT %skey%s FROM perhaps_keys WHERE typeof(key) IN ('text', %Q)",
        keys, forms[source->options->canonical].before, forms[source->options->canonical].after,
        source->options->canonical == 0 ? "blob" : "text");
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

int perhaps__guard_sqlite_open_another(const perhaps_store_sqlite *sqlite, struct perhaps__guard_sqlite_source *source,
                                       perhaps_error *error)
{
    *source = perhaps__guard_sqlite_source_of(sqlite);
    source->kind = "table";
    int code = perhaps__guard_sqlite_open(source, error);
    if (code < 0) {
        return code;
    }
    code = perhaps__guard_sqlite_check(source, error);
    if (code < 0) {
        (void)sqlite3_close(source->db);
        source->db = NULL;
    }
    return code;
}

// On a connection of its own. On that of the questions a listing would hold its snapshot, and answers would come from
// there: a key that was removed meanwhile would still be found.
static int each_key(void *context, visit_key *visit, void *visitor, perhaps_error *error)
{
    const perhaps_store_sqlite *sqlite = context;
    if (visit == NULL) {
        return perhaps__guard_store_null("visit", error);
    }
    struct perhaps__guard_sqlite_source source;
    int code = perhaps__guard_sqlite_open_another(sqlite, &source, error);
    if (code == 0) {
        code = perhaps__guard_sqlite_list(&source, sqlite->keys, visit, visitor, error);
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
static int count_by_type(const struct perhaps__guard_sqlite_source *source, const char *keys, uint64_t numbers[2],
                         perhaps_error *error)
{
    int code = 0;
    sqlite3_stmt *statement =
        perhaps__guard_sqlite_prepare(source, &code, error,
                                      "SELECT (SELECT count(*) FROM (WITH perhaps_keys(key) AS (%s\n) "
                                      "SELECT DISTINCT key FROM perhaps_keys WHERE typeof(key) = 'text')), "
                                      "(SELECT count(*) FROM (WITH perhaps_keys(key) AS (%s\n) "
                                      "SELECT DISTINCT key FROM perhaps_keys WHERE typeof(key) = 'blob'))",
                                      keys, keys);
    return statement == NULL ? code : read_numbers(source, statement, numbers, error);
}

// Distinct byte strings, or distinct canonical texts. SQLite remembers all of them in a temporary tree.
static int count_by_bytes(const struct perhaps__guard_sqlite_source *source, const char *keys, uint64_t numbers[2],
                          perhaps_error *error)
{
    uint32_t canonical = source->options->canonical;
    int code = 0;
    sqlite3_stmt *statement = perhaps__guard_sqlite_prepare(
        source, &code, error,
        "WITH perhaps_keys(key) AS (%s\n) "
        "SELECT count(DISTINCT %skey%s), 0 FROM perhaps_keys WHERE typeof(key) IN ('text', %Q)",
        keys, canonical == 0 ? "CAST(" : forms[canonical].before, canonical == 0 ? " AS BLOB)" : forms[canonical].after,
        canonical == 0 ? "blob" : "text");
    return statement == NULL ? code : read_numbers(source, statement, numbers, error);
}

static int count_distinct(const struct perhaps__guard_sqlite_source *source, const char *keys, uint64_t *count,
                          perhaps_error *error)
{
    uint64_t numbers[2] = {0, 0};
    bool bytewise = source->options->canonical == 0;
    int code = bytewise ? count_by_type(source, keys, numbers, error) : count_by_bytes(source, keys, numbers, error);
    // Only where there are both can a text and a blob be one key.
    if (code == 0 && numbers[0] > 0 && numbers[1] > 0) {
        code = count_by_bytes(source, keys, numbers, error);
    }
    if (code == 0) {
        *count = numbers[0] + numbers[1];
    }
    return code;
}

int perhaps_store_sqlite_count(perhaps_store_sqlite *sqlite, uint64_t *count, perhaps_error *error)
{
    if (sqlite == NULL || count == NULL) {
        return perhaps__guard_store_null(sqlite == NULL ? "sqlite" : "count", error);
    }
    if (sqlite->keys == NULL) {
        struct perhaps__guard_failure failure = {.code = PERHAPS_E_UNSUPPORTED, .subject = sqlite->path};
        return perhaps__guard_fail(error, failure,
                                   "a store of a query without a list cannot be counted; give a list, too");
    }
    (void)pthread_mutex_lock(&sqlite->lock);
    int code = use_newest(sqlite, error);
    code = code < 0 ? code : count_distinct(&sqlite->source, sqlite->keys, count, error);
    (void)pthread_mutex_unlock(&sqlite->lock);
    return code;
}

// For a guard: on a connection of its own as well, as it may take long, and questions would wait.
static int count_keys(void *context, uint64_t *count, perhaps_error *error)
{
    const perhaps_store_sqlite *sqlite = context;
    if (count == NULL) {
        return perhaps__guard_store_null("count", error);
    }
    struct perhaps__guard_sqlite_source source;
    int code = perhaps__guard_sqlite_open_another(sqlite, &source, error);
    if (code == 0) {
        code = count_distinct(&source, sqlite->keys, count, error);
        (void)sqlite3_close(source.db);
    }
    return code;
}

/* ---------------------------------------------------------------- opening and closing */

static int make_keys(perhaps_store_sqlite *sqlite, perhaps_error *error)
{
    const perhaps_store_options *options = sqlite->options;
    if (options->query != NULL && options->list == NULL) {
        return 0;
    }
    sqlite->keys = options->query != NULL ? sqlite3_mprintf("%s", options->list)
                                          : sqlite3_mprintf(COLUMN, options->column, options->table);
    return sqlite->keys != NULL ? 0 : perhaps__guard_sqlite_fail(&sqlite->source, SQLITE_NOMEM, error);
}

// Everything that can fail once the structure and the names in it are there.
static int prepare(perhaps_store_sqlite *sqlite, perhaps_error *error)
{
    struct perhaps__guard_sqlite_source source = perhaps__guard_sqlite_source_of(sqlite);
    int code = connect_to(sqlite, &source, error);
    if (code == 0) {
        sqlite->source.kind = source.kind;
        sqlite->longest = (size_t)sqlite3_limit(source.db, SQLITE_LIMIT_LENGTH, -1);
        code = make_keys(sqlite, error);
    }
    return code;
}

// Memory of SQLite's: so that a limit to that holds for all of the store.
static perhaps_store_sqlite *allocate(const char *path, const perhaps_store_options *options)
{
    perhaps_store_sqlite *sqlite = sqlite3_malloc64(sizeof *sqlite);
    if (sqlite == NULL) {
        return NULL;
    }
    *sqlite = (perhaps_store_sqlite){.options = perhaps__guard_store_options_copy(options),
                                     .path = sqlite3_mprintf("%s", path)};
    sqlite->source =
        (struct perhaps__guard_sqlite_source){.path = sqlite->path, .options = sqlite->options, .kind = "table"};
    (void)pthread_mutex_init(&sqlite->lock, NULL); // cannot fail with default attributes
    (void)pthread_mutex_init(&sqlite->following.lock, NULL);
    if (sqlite->options == NULL || sqlite->path == NULL) {
        perhaps_store_sqlite_close(sqlite);
        return NULL;
    }
    return sqlite;
}

int perhaps_store_sqlite_open_options(const char *path, const perhaps_store_options *options,
                                      perhaps_store_sqlite **sqlite, perhaps_error *error)
{
    if (path == NULL || sqlite == NULL) {
        return perhaps__guard_store_null(path == NULL ? "path" : "sqlite", error);
    }
    int code = perhaps__guard_store_options_check(options, error);
    if (code == 0 && options->schema != NULL) {
        struct perhaps__guard_failure failure = {.code = PERHAPS_E_ARGUMENT, .subject = "schema"};
        code = perhaps__guard_fail(error, failure, "a SQLite database has no schemas; leave it out");
    }
    if (code < 0) {
        return code;
    }
    perhaps_store_sqlite *opened = allocate(path, options);
    if (opened == NULL) {
        struct perhaps__guard_sqlite_source source = {.path = path};
        return fail_memory(&source, error);
    }
    code = prepare(opened, error);
    if (code < 0) {
        perhaps_store_sqlite_close(opened);
        return code;
    }
    *sqlite = opened;
    return 0;
}

int perhaps_store_sqlite_open(const char *path, const char *table, const char *column, unsigned busy_milliseconds,
                              perhaps_store_sqlite **sqlite, perhaps_error *error)
{
    perhaps_store_options options = {
        .size = sizeof options, .table = table, .column = column, .wait_milliseconds = busy_milliseconds};
    return perhaps_store_sqlite_open_options(path, &options, sqlite, error);
}

void perhaps_store_sqlite_close(perhaps_store_sqlite *sqlite)
{
    if (sqlite != NULL) {
        perhaps__guard_sqlite_stop_following(sqlite);
        (void)pthread_mutex_destroy(&sqlite->following.lock);
        disconnect(sqlite);
        (void)pthread_mutex_destroy(&sqlite->lock);
        free(sqlite->options);
        sqlite3_free(sqlite->path);
        sqlite3_free(sqlite->keys);
        sqlite3_free(sqlite);
    }
}

int perhaps_store_sqlite_store(perhaps_store_sqlite *sqlite, perhaps_store *store)
{
    if (sqlite == NULL || store == NULL) {
        return PERHAPS_E_ARGUMENT;
    }
    // A text and a blob with the same bytes are two values and one key: distinct but for those.
    uint32_t distinct = sqlite->options->canonical == 0 ? PERHAPS_STORE_DISTINCT : 0;
    *store = (perhaps_store){.context = sqlite,
                             .contains = contains,
                             .each_key = sqlite->keys != NULL ? each_key : NULL,
                             .count = sqlite->keys != NULL ? count_keys : NULL,
                             .flags = PERHAPS_STORE_SNAPSHOT | distinct};
    return 0;
}

int perhaps_store_sqlite_indexed(const perhaps_store_sqlite *sqlite)
{
    return sqlite == NULL ? PERHAPS_E_ARGUMENT : __atomic_load_n(&sqlite->indexed, __ATOMIC_RELAXED);
}
