// SPDX-License-Identifier: MIT
// What changed in a column of a SQLite table.
//
// A position is a few numbers of 64 bits: the way, the schema's version, and what the way needs. Whatever is compared
// is read in one transaction. An unknown or broken log, another schema, a row that is not there any more: then nobody
// knows.
#include <perhaps/guard.h>

#include <string.h>
#include <sys/stat.h>

#include "fail.h"
#include "store_sqlite.h"

#define CANNOT_TELL 1

enum word { WAY, SCHEMA, FIRST, SECOND, THIRD, WORDS = 11 };
// Of PERHAPS_SQLITE_LOG: number and token of the last row.
// Of PERHAPS_SQLITE_APPENDED: the last row id, whether there is one, and a digest of that row's key.
// Of PERHAPS_SQLITE_VERSION:
enum version_word { PROVEN = FIRST, COUNTER, DEVICE, FILE_NUMBER, SIZE, MODIFIED, CHANGED, OPENING, DATA_VERSION };

struct words {
    uint64_t at[WORDS];
};

static void store_words(perhaps_store_position *position, const struct words *words)
{
    position->length = 8 * (size_t)WORDS;
    for (size_t i = 0; i < position->length; i++) {
        position->bytes[i] = (unsigned char)(words->at[i / 8] >> i % 8 * 8);
    }
}

static bool load_words(struct words *words, const perhaps_store_position *position)
{
    *words = (struct words){{0}};
    for (size_t i = 0; i < 8 * (size_t)WORDS && i < position->length; i++) {
        words->at[i / 8] |= (uint64_t)position->bytes[i] << i % 8 * 8;
    }
    return position->length == 8 * (size_t)WORDS;
}

static int cannot_tell(const struct perhaps__guard_sqlite_source *source, perhaps_error *error, const char *why)
{
    struct perhaps__guard_failure failure = {.code = CANNOT_TELL, .subject = source->path};
    return perhaps__guard_fail(error, failure, "the database cannot tell what changed: %s", why);
}

/* ---------------------------------------------------------------- transactions */

static int run(const struct perhaps__guard_sqlite_source *source, perhaps_error *error, const char *sql)
{
    int code = perhaps__guard_sqlite_numbers(source, error, 0, NULL, "%s", sql);
    return code < 0 ? code : 0;
}

// Nothing was written. An open transaction would keep writers waiting, and its state for ever: where memory is short, the
// connection's own cache is enough to end it; if not, the next one does it.
static void end(const struct perhaps__guard_sqlite_source *source)
{
    if (sqlite3_get_autocommit(source->db) == 0 && run(source, NULL, "ROLLBACK") < 0) {
        (void)sqlite3_db_release_memory(source->db);
        (void)run(source, NULL, "ROLLBACK");
    }
}

// Begins to read, and learns the schema's version: the transaction has its state from here on.
static int begin(const struct perhaps__guard_sqlite_source *source, uint64_t *schema, perhaps_error *error)
{
    sqlite3_int64 number = 0;
    end(source); // one that could not be ended for want of memory
    int code = run(source, error, "BEGIN");
    if (code == 0) {
        code = perhaps__guard_sqlite_numbers(source, error, 1, &number, "PRAGMA main.schema_version");
        if (code < 0) {
            end(source);
        }
    }
    *schema = (uint64_t)number;
    return code < 0 ? code : 0;
}

/* ---------------------------------------------------------------- by version */

static uint64_t nanoseconds(struct timespec time)
{
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

// What proves, when the program starts anew, that nothing was written: only without a WAL, where every change of the
// database raises a counter in the file, under a lock that excludes this reader. The rest tells a file that was put into
// its place. SQLite's own handle reads it: to open and close the file once more would give its locks away.
static void read_file(const struct perhaps__guard_sqlite_source *source, struct words *words)
{
    enum { WRITE_VERSION = 18, READ_VERSION = 19, CHANGE_COUNTER = 24, HEAD = 28 };
    unsigned char head[HEAD] = {0};
    sqlite3_file *file = NULL;
    struct stat status;
    if (sqlite3_file_control(source->db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || file == NULL ||
        file->pMethods == NULL || file->pMethods->xRead(file, head, HEAD, 0) != SQLITE_OK ||
        stat(source->path, &status) < 0 || head[WRITE_VERSION] != 1 || head[READ_VERSION] != 1) {
        return;
    }
    words->at[PROVEN] = 1;
    for (int i = 0; i < 4; i++) {
        words->at[COUNTER] = words->at[COUNTER] << 8 | head[CHANGE_COUNTER + i];
    }
    words->at[DEVICE] = (uint64_t)status.st_dev;
    words->at[FILE_NUMBER] = (uint64_t)status.st_ino;
    words->at[SIZE] = (uint64_t)status.st_size;
    words->at[MODIFIED] = nanoseconds(status.st_mtim);
    words->at[CHANGED] = nanoseconds(status.st_ctim);
}

// In a transaction of the connection that stays open.
static int read_version(const struct perhaps__guard_sqlite_following *following, struct words *words,
                        perhaps_error *error)
{
    sqlite3_int64 version = 0;
    int code = perhaps__guard_sqlite_numbers(&following->source, error, 1, &version, "PRAGMA main.data_version");
    if (code < 0) {
        return code;
    }
    words->at[WAY] = PERHAPS_SQLITE_VERSION;
    words->at[OPENING] = following->opening;
    words->at[DATA_VERSION] = (uint64_t)version;
    read_file(&following->source, words);
    return 0;
}

static int compare_versions(const struct perhaps__guard_sqlite_following *following, const struct words *from,
                            const struct words *now, perhaps_error *error)
{
    if (!following->steady) {
        return cannot_tell(&following->source, error, "its keys depend on the time, or on chance");
    }
    bool same_file = from->at[PROVEN] == 1 &&
                     memcmp(&from->at[PROVEN], &now->at[PROVEN], sizeof from->at[0] * (OPENING - PROVEN)) == 0;
    bool same_version = from->at[OPENING] == now->at[OPENING] && from->at[DATA_VERSION] == now->at[DATA_VERSION];
    return same_file || same_version ? 0
                                     : cannot_tell(&following->source, error,
                                                   "it has no log, and is not the one that it was; a log would tell "
                                                   "(perhaps guard --install-log)");
}

/* ---------------------------------------------------------------- by the log */

static int read_log(const struct perhaps__guard_sqlite_source *source, const struct perhaps__guard_log *log,
                    struct words *words, perhaps_error *error)
{
    sqlite3_int64 last[2] = {0, 0};
    int code = perhaps__guard_sqlite_numbers(
        source, error, 2, last, "SELECT seq, token FROM main.\"%w\" ORDER BY seq DESC LIMIT 1", log->names[0]);
    words->at[WAY] = PERHAPS_SQLITE_LOG;
    words->at[FIRST] = (uint64_t)last[0];
    words->at[SECOND] = (uint64_t)last[1];
    return code < 0 ? code : 0;
}

// Keys whose statement gives them with how often they are there before and now.
static int visit_changes(const struct perhaps__guard_sqlite_source *source, sqlite3_stmt *statement,
                         perhaps_store_change *change, void *visitor, perhaps_error *error)
{
    int result = SQLITE_ROW;
    int code = 0;
    while (code == 0 && (result = sqlite3_step(statement)) == SQLITE_ROW) {
        sqlite3_int64 before = sqlite3_column_int64(statement, 1);
        sqlite3_int64 after = sqlite3_column_int64(statement, 2);
        const void *key = sqlite3_column_blob(statement, 0);
        int length = sqlite3_column_bytes(statement, 0);
        if (key == NULL && sqlite3_errcode(source->db) == SQLITE_NOMEM) {
            result = SQLITE_NOMEM;
            break;
        }
        code = change(visitor, key != NULL ? key : "", (size_t)length, before > 0, after > 0);
    }
    if (code == 0 && result != SQLITE_DONE) {
        code = perhaps__guard_sqlite_fail(source, result, error);
    }
    (void)sqlite3_finalize(statement);
    return code;
}

// A key's rows before are those that it has now, less those that the log says came, and plus those that went. A text and a
// blob of the same bytes are one key.
static int each_logged(const struct perhaps__guard_sqlite_following *following, const struct words *from,
                       perhaps_store_change *change, void *visitor, perhaps_error *error)
{
    const struct perhaps__guard_log *log = &following->log;
    int code = 0;
    sqlite3_stmt *statement = perhaps__guard_sqlite_prepare(
        &following->source, &code, error,
        // p.k: a column of the table may have any name, and would come first
        "SELECT k, now - came, now FROM (SELECT p.k AS k, p.came AS came, (SELECT count(*) FROM main.\"%w\" AS t "
        "WHERE t.\"%w\" IN (CAST(p.k AS TEXT), p.k)) AS now FROM (SELECT CAST(l.key AS BLOB) AS k, "
        "sum(l.delta) AS came FROM main.\"%w\" AS l WHERE l.seq > %lld AND l.delta <> 0 GROUP BY 1) AS p)",
        log->table, log->column, log->names[0], (sqlite3_int64)from->at[FIRST]);
    return statement == NULL ? code : visit_changes(&following->source, statement, change, visitor, error);
}

static int changes_by_log(const struct perhaps__guard_sqlite_following *following, const struct words *from,
                          struct words *now, perhaps_store_change *change, void *visitor, perhaps_error *error)
{
    const struct perhaps__guard_sqlite_source *source = &following->source;
    int whole = following->logged ? perhaps__guard_log_is_whole(&following->log, source, NULL, error) : 0;
    if (whole < 0) {
        return whole;
    }
    if (whole == 0 || now->at[SCHEMA] != from->at[SCHEMA]) {
        return cannot_tell(source, error, "its schema changed, so that the log may have gaps");
    }
    sqlite3_int64 token = 0;
    int code = perhaps__guard_sqlite_numbers(source, error, 1, &token, "SELECT token FROM main.\"%w\" WHERE seq = %lld",
                                             following->log.names[0], (sqlite3_int64)from->at[FIRST]);
    if (code < 0) {
        return code;
    }
    if (code == 0 || (uint64_t)token != from->at[SECOND]) {
        return cannot_tell(source, error, "its log does not reach back so far, or is another one");
    }
    code = read_log(source, &following->log, now, error);
    return code < 0 || now->at[FIRST] == from->at[FIRST] ? code : each_logged(following, from, change, visitor, error);
}

/* ---------------------------------------------------------------- by row ids */

// FNV-1a (Fowler, Noll, Vo 1991): to notice that the last row is another one, not to defy anybody.
static uint64_t digest(const void *bytes, size_t length)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(1099511628211);
    }
    return hash;
}

// A row by a condition; its words stay zero when there is none.
static int read_row(const struct perhaps__guard_sqlite_source *source, const struct perhaps__guard_log *log,
                    struct words *words, const char *condition, sqlite3_int64 id, perhaps_error *error)
{
    int code = 0;
    sqlite3_stmt *statement = perhaps__guard_sqlite_prepare(
        source, &code, error, "SELECT t.rowid, CAST(t.\"%w\" AS BLOB) FROM main.\"%w\" AS t%s", log->column, log->table,
        condition);
    if (statement == NULL) {
        return code;
    }
    (void)sqlite3_bind_int64(statement, 1, id); // where the condition has no parameter, an error that does not matter
    int result = sqlite3_step(statement);
    words->at[FIRST] = words->at[SECOND] = words->at[THIRD] = 0;
    if (result == SQLITE_ROW) {
        words->at[FIRST] = (uint64_t)sqlite3_column_int64(statement, 0);
        words->at[SECOND] = 1;
        const void *key = sqlite3_column_blob(statement, 1);
        words->at[THIRD] = digest(key, key != NULL ? (size_t)sqlite3_column_bytes(statement, 1) : 0);
    } else if (result != SQLITE_DONE) {
        code = perhaps__guard_sqlite_fail(source, result, error);
    }
    (void)sqlite3_finalize(statement);
    return code;
}

static int read_appended(const struct perhaps__guard_sqlite_source *source, const struct perhaps__guard_log *log,
                         struct words *words, perhaps_error *error)
{
    words->at[WAY] = PERHAPS_SQLITE_APPENDED;
    return read_row(source, log, words, " ORDER BY t.rowid DESC LIMIT 1", 0, error);
}

static int each_appended(const struct perhaps__guard_sqlite_following *following, const struct words *from,
                         perhaps_store_change *change, void *visitor, perhaps_error *error)
{
    const struct perhaps__guard_log *log = &following->log;
    sqlite3_int64 last = from->at[SECOND] != 0 ? (sqlite3_int64)from->at[FIRST] : INT64_MIN;
    int code = 0;
    sqlite3_stmt *statement = perhaps__guard_sqlite_prepare(
        &following->source, &code, error,
        "SELECT p.k, EXISTS (SELECT 1 FROM main.\"%w\" AS o WHERE o.\"%w\" IN (CAST(p.k AS TEXT), p.k) AND "
        "o.rowid <= %lld), 1 FROM (SELECT DISTINCT CAST(t.\"%w\" AS BLOB) AS k FROM main.\"%w\" AS t "
        "WHERE t.rowid > %lld AND typeof(t.\"%w\") IN ('text', 'blob')) AS p",
        log->table, log->column, last, log->column, log->table, last, log->column);
    return statement == NULL ? code : visit_changes(&following->source, statement, change, visitor, error);
}

static int changes_by_row(const struct perhaps__guard_sqlite_following *following, const struct words *from,
                          struct words *now, perhaps_store_change *change, void *visitor, perhaps_error *error)
{
    const struct perhaps__guard_sqlite_source *source = &following->source;
    struct words there = {{0}};
    if (!following->appended) {
        return cannot_tell(source, error, "it was followed by row ids before, and is not any more");
    }
    int code = from->at[SECOND] == 0 ? 0
                                     : read_row(source, &following->log, &there, " WHERE t.rowid = ?1",
                                                (sqlite3_int64)from->at[FIRST], error);
    if (code < 0) {
        return code;
    }
    if (now->at[SCHEMA] != from->at[SCHEMA] || there.at[SECOND] != from->at[SECOND] ||
        there.at[THIRD] != from->at[THIRD]) {
        return cannot_tell(source, error, "its last row of then is not there any more, or its schema changed");
    }
    code = read_appended(source, &following->log, now, error);
    return code < 0 ? code : each_appended(following, from, change, visitor, error);
}

/* ---------------------------------------------------------------- positions */

// In a transaction of a connection, whose schema's version is known. *done is false when only the version is left.
static int read_position(const struct perhaps__guard_sqlite_following *following,
                         const struct perhaps__guard_sqlite_source *source, struct words *words, bool *done,
                         perhaps_error *error)
{
    *done = true;
    if (following->appended) {
        return read_appended(source, &following->log, words, error);
    }
    int whole = following->logged ? perhaps__guard_log_is_whole(&following->log, source, NULL, error) : 0;
    *done = false;
    if (whole != 1) {
        return whole;
    }
    int code = read_log(source, &following->log, words, error);
    *done = words->at[FIRST] != 0; // one that somebody emptied has no row to be found again
    return code;
}

// On the connection that stays open.
static int position_here(const struct perhaps__guard_sqlite_following *following, bool version_only,
                         struct words *words, perhaps_error *error)
{
    bool done = false;
    int code = begin(&following->source, &words->at[SCHEMA], error);
    if (code < 0) {
        return code;
    }
    if (!version_only) {
        code = read_position(following, &following->source, words, &done, error);
    }
    if (code == 0 && !done) {
        code = read_version(following, words, error);
    }
    end(&following->source);
    return code;
}

// The connection stays with its file, which nobody writes to any more; or it could not go over to the next one.
static bool is_left_behind(const struct perhaps__guard_sqlite_following *following)
{
    return following->source.db == NULL || perhaps__guard_sqlite_has_moved(&following->source);
}

static int fail_moved(const struct perhaps__guard_sqlite_source *source, perhaps_error *error)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_IO, .subject = source->path};
    return perhaps__guard_fail(error, failure,
                               "another file has taken the place of the database; open the store anew, and rebuild");
}

static int position(void *context, perhaps_store_position *position, perhaps_error *error)
{
    perhaps_store_sqlite *sqlite = context;
    struct words words = {{0}};
    (void)pthread_mutex_lock(&sqlite->following.lock);
    // The filter was made from the file that is followed, and has no position in another one.
    int code = is_left_behind(&sqlite->following) ? fail_moved(&sqlite->following.source, error)
                                                  : position_here(&sqlite->following, false, &words, error);
    (void)pthread_mutex_unlock(&sqlite->following.lock);
    store_words(position, &words);
    return code;
}

// In a transaction of the listing's own connection.
static int list_at(const struct perhaps__guard_sqlite_following *own, const struct words *version,
                   perhaps_store_position *position, const char *keys,
                   int (*visit)(void *visitor, const void *key, size_t length), void *visitor, perhaps_error *error)
{
    const struct perhaps__guard_sqlite_source *source = &own->source;
    struct words words = {{0}};
    bool done = false;
    int code = begin(source, &words.at[SCHEMA], error);
    if (code < 0) {
        return code;
    }
    code = read_position(own, source, &words, &done, error);
    if (code == 0) {
        store_words(position, done ? &words : version); // an older one is safe
        code = perhaps__guard_sqlite_list(source, keys, visit, visitor, error);
    }
    end(source);
    return code;
}

// Where the connection that stays open is, which cannot tell more than the version later on; and how it is followed, for the
// listing's own connection. A rebuild is what makes one go over to a file that took the place of another.
static int begin_listing(perhaps_store_sqlite *sqlite, struct words *version,
                         struct perhaps__guard_sqlite_following *own, perhaps_error *error)
{
    (void)pthread_mutex_lock(&sqlite->following.lock);
    int code = perhaps__guard_sqlite_follow_newest(sqlite, error);
    code = code < 0 ? code : position_here(&sqlite->following, true, version, error);
    own->logged = sqlite->following.logged;
    own->appended = sqlite->following.appended;
    (void)pthread_mutex_unlock(&sqlite->following.lock);
    return code < 0 ? code : perhaps__guard_sqlite_open_another(sqlite, &own->source, error);
}

static int list(void *context, perhaps_store_position *position,
                int (*visit)(void *visitor, const void *key, size_t length), void *visitor, perhaps_error *error)
{
    perhaps_store_sqlite *sqlite = context;
    struct words version = {{0}};
    struct perhaps__guard_sqlite_following own = {.logged = false};
    int code = begin_listing(sqlite, &version, &own, error);
    if (code < 0) {
        return code;
    }
    if (own.logged) {
        code = perhaps__guard_log_init(&own.log, &own.source, error);
    }
    code = code < 0 ? code : list_at(&own, &version, position, sqlite->keys, visit, visitor, error);
    perhaps__guard_log_release(&own.log);
    (void)sqlite3_close(own.source.db);
    return code;
}

/* ---------------------------------------------------------------- changes */

static int changes_from(const struct perhaps__guard_sqlite_following *following, const struct words *from,
                        struct words *now, perhaps_store_change *change, void *visitor, perhaps_error *error)
{
    int code = 0;
    switch (from->at[WAY]) {
    case PERHAPS_SQLITE_LOG:
        return changes_by_log(following, from, now, change, visitor, error);
    case PERHAPS_SQLITE_APPENDED:
        return changes_by_row(following, from, now, change, visitor, error);
    case PERHAPS_SQLITE_VERSION:
        code = read_version(following, now, error);
        return code < 0 ? code : compare_versions(following, from, now, error);
    default:
        return cannot_tell(&following->source, error, "the position is not one that this release knows");
    }
}

static int each_change(void *context, const perhaps_store_position *from, perhaps_store_position *to,
                       perhaps_store_change *change, void *visitor, perhaps_error *error)
{
    perhaps_store_sqlite *sqlite = context;
    const struct perhaps__guard_sqlite_following *following = &sqlite->following;
    struct words then;
    struct words now = {{0}};
    if (!load_words(&then, from)) {
        return cannot_tell(&following->source, error, "the position is not one that this release knows");
    }
    (void)pthread_mutex_lock(&sqlite->following.lock);
    int code =
        is_left_behind(following) ? cannot_tell(&following->source, error, "another file has taken its place") : 0;
    code = code != 0 ? code : begin(&following->source, &now.at[SCHEMA], error);
    if (code == 0) {
        code = changes_from(following, &then, &now, change, visitor, error);
        end(&following->source);
    }
    (void)pthread_mutex_unlock(&sqlite->following.lock);
    store_words(to, &now);
    return code;
}

static int delete_before(const struct perhaps__guard_sqlite_source *source, const char *log, const struct words *words,
                         perhaps_error *error)
{
    sqlite3_int64 seq = (sqlite3_int64)words->at[FIRST];
    int code = perhaps__guard_sqlite_numbers(source, error, 0, NULL,
                                             "DELETE FROM main.\"%w\" WHERE seq < %lld AND EXISTS (SELECT 1 FROM "
                                             "main.\"%w\" WHERE seq = %lld AND token = %lld)",
                                             log, seq, log, seq, (sqlite3_int64)words->at[SECOND]);
    return code < 0 ? code : 0;
}

static int forget(void *context, const perhaps_store_position *position, perhaps_error *error)
{
    perhaps_store_sqlite *sqlite = context;
    struct words words;
    if (!load_words(&words, position) || words.at[WAY] != PERHAPS_SQLITE_LOG) {
        return 0; // nothing is kept
    }
    struct perhaps__guard_sqlite_source source = perhaps__guard_sqlite_source_of(sqlite);
    int code = perhaps__guard_sqlite_open_writable(&source, error);
    if (code < 0) {
        return code;
    }
    struct perhaps__guard_log log = {.table = NULL};
    code = perhaps__guard_log_init(&log, &source, error);
    code = code < 0 ? code : delete_before(&source, log.names[0], &words, error);
    perhaps__guard_log_release(&log);
    (void)sqlite3_close(source.db);
    return code;
}

/* ---------------------------------------------------------------- all of it */

int perhaps_store_sqlite_changes(perhaps_store_sqlite *sqlite, int appended, perhaps_store_changes *changes,
                                 perhaps_error *error)
{
    if (sqlite == NULL || changes == NULL) {
        struct perhaps__guard_failure failure = {.code = PERHAPS_E_ARGUMENT, .subject = "sqlite"};
        return perhaps__guard_fail(error, failure, "the store or the changes are NULL, and the call needs both");
    }
    (void)pthread_mutex_lock(&sqlite->following.lock);
    int code = perhaps__guard_sqlite_start_following(sqlite, appended != 0, error);
    (void)pthread_mutex_unlock(&sqlite->following.lock);
    if (code == 0) {
        *changes = (perhaps_store_changes){.size = sizeof *changes,
                                           .context = sqlite,
                                           .identity = sqlite->following.identity,
                                           .position = position,
                                           .list = list,
                                           .each_change = each_change,
                                           .forget = forget};
    }
    return code;
}

int perhaps_store_sqlite_way(perhaps_store_sqlite *sqlite, perhaps_error *error)
{
    perhaps_store_changes changes;
    if (sqlite == NULL) {
        return PERHAPS_E_ARGUMENT;
    }
    int code = sqlite->following.identity == NULL ? perhaps_store_sqlite_changes(sqlite, 0, &changes, error) : 0;
    if (code < 0) {
        return code;
    }
    (void)pthread_mutex_lock(&sqlite->following.lock);
    const struct perhaps__guard_sqlite_following *following = &sqlite->following;
    if (is_left_behind(following)) {
        code = fail_moved(&following->source, error);
    } else if (following->appended) {
        code = PERHAPS_SQLITE_APPENDED;
    } else if (following->logged) {
        code = perhaps__guard_log_is_whole(&following->log, &following->source, NULL, error);
        code = code == 1 ? (int)PERHAPS_SQLITE_LOG : code;
    }
    (void)pthread_mutex_unlock(&sqlite->following.lock);
    return code;
}
