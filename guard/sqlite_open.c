// SPDX-License-Identifier: MIT
// Opening a database file, and SQLite's complaints in the words of this library.
#include "sqlite_source.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "fail.h"
#include "store_options.h"

/* ---------------------------------------------------------------- complaints */

static int fail_locked(const struct perhaps__guard_sqlite_source *source, perhaps_error *error)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_IO, .subject = source->path};
    return perhaps__guard_fail(error, failure,
                               "another connection kept the database locked for longer than %u ms (%s); "
                               "wait until it is done, or allow more time",
                               source->options->wait_milliseconds, sqlite3_errmsg(source->db));
}

// Everything else: a disk that fails, a view that broke meanwhile.
static int fail_other(const struct perhaps__guard_sqlite_source *source, int result, perhaps_error *error)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_IO, .subject = source->path};
    // SQLite keeps the last errno, of whatever operation.
    if (result == SQLITE_CANTOPEN || result == SQLITE_IOERR) {
        failure.system_error = sqlite3_system_errno(source->db);
    }
    char what[160];
    const char *reason = failure.system_error != 0 ? strerror(failure.system_error) : "";
    return perhaps__guard_fail(error, failure, "SQLite cannot read %s (%s%s%s); repair the database, or give another",
                               perhaps__guard_store_describe(source->options, source->kind, what, sizeof what),
                               sqlite3_errmsg(source->db), reason[0] != '\0' ? ": " : "", reason);
}

int perhaps__guard_sqlite_fail(const struct perhaps__guard_sqlite_source *source, int result, perhaps_error *error)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_IO, .subject = source->path};
    switch (result) {
    case SQLITE_NOMEM:
        failure.code = PERHAPS_E_MEMORY;
        return perhaps__guard_fail(error, failure, "SQLite ran out of memory; allow this program more");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return fail_locked(source, error);
    case SQLITE_NOTADB:
        return perhaps__guard_fail(error, failure, "this is not a SQLite database (%s); give the path of one",
                                   sqlite3_errmsg(source->db));
    case SQLITE_CORRUPT:
        return perhaps__guard_fail(error, failure, "the database is damaged (%s); restore it from a copy",
                                   sqlite3_errmsg(source->db));
    case SQLITE_READONLY: // nothing here writes, but for SQLite itself, to repair
        return perhaps__guard_fail(error, failure,
                                   "a crashed writer left a change half done, which only a writer can take back (%s); "
                                   "open the database once for writing",
                                   sqlite3_errmsg(source->db));
    default:
        return fail_other(source, result, error);
    }
}

sqlite3_stmt *perhaps__guard_sqlite_prepare(const struct perhaps__guard_sqlite_source *source, int *code,
                                            perhaps_error *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *sql = sqlite3_vmprintf(format, arguments);
    va_end(arguments);
    sqlite3_stmt *statement = NULL;
    int result = SQLITE_NOMEM;
    if (sql != NULL) {
        // Persistent: the look-up lives as long as the store, and the others do not suffer from it.
        result = sqlite3_prepare_v3(source->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL);
        sqlite3_free(sql);
    }
    if (result != SQLITE_OK) {
        *code = perhaps__guard_sqlite_fail(source, result, error);
        return NULL;
    }
    return statement;
}

/* ---------------------------------------------------------------- opening */

// SQLite itself would make a database of an empty path, wait for ever for a writer to a named pipe, and call
// a missing file and a directory by the same name.
static int check_file(const char *path, struct stat *status, perhaps_error *error)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_IO, .subject = path};
    if (path[0] == '\0') {
        failure.code = PERHAPS_E_ARGUMENT;
        failure.subject = "path";
        return perhaps__guard_fail(error, failure, "the path is empty; give that of a SQLite database");
    }
    if (stat(path, status) < 0) {
        failure.system_error = errno;
        return perhaps__guard_fail(error, failure,
                                   "the database cannot be opened (%s); give the path of one "
                                   "that exists",
                                   strerror(failure.system_error));
    }
    if (S_ISDIR(status->st_mode)) {
        failure.system_error = EISDIR;
        return perhaps__guard_fail(error, failure, "this is a directory; give the path of a SQLite database");
    }
    if (!S_ISREG(status->st_mode)) {
        return perhaps__guard_fail(error, failure,
                                   "this is not a regular file; give the path of a SQLite "
                                   "database");
    }
    return 0;
}

static int open_file(struct perhaps__guard_sqlite_source *source, perhaps_error *error)
{
    // A path that begins with a slash or a dot is neither a URI ("file:..."), which some builds of SQLite
    // recognise unasked, nor the name of something in memory (":memory:").
    char *path = sqlite3_mprintf("%s%s", source->path[0] == '/' ? "" : "./", source->path);
    int mode = source->writable ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
    int result = SQLITE_NOMEM;
    if (path != NULL) {
        // No mutex of SQLite's: the store has its own, and a listing its own connection.
        result = sqlite3_open_v2(path, &source->db, mode | SQLITE_OPEN_NOMUTEX, NULL);
        sqlite3_free(path);
    }
    if (result != SQLITE_OK) {
        int code = perhaps__guard_sqlite_fail(source, result, error);
        sqlite3_close(source->db);
        source->db = NULL;
        return code;
    }
    unsigned wait = source->options->wait_milliseconds;
    (void)sqlite3_busy_timeout(source->db, wait < INT_MAX ? (int)wait : INT_MAX);
    return 0;
}

static bool is_file(const char *path, uint64_t device, uint64_t number)
{
    struct stat status;
    return stat(path, &status) == 0 && (uint64_t)status.st_dev == device && (uint64_t)status.st_ino == number;
}

bool perhaps__guard_sqlite_has_moved(const struct perhaps__guard_sqlite_source *source)
{
    return !is_file(source->path, source->device, source->number);
}

// SQLite does not tell which file it opened, but whether it is still the one at the path that it resolved.
static bool has_opened(const struct perhaps__guard_sqlite_source *source)
{
    int moved = 0;
    (void)sqlite3_file_control(source->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return moved == 0 && is_file(sqlite3_db_filename(source->db, "main"), source->device, source->number);
}

int perhaps__guard_sqlite_open(struct perhaps__guard_sqlite_source *source, perhaps_error *error)
{
    enum { ATTEMPTS = 10 };
    for (int i = 0; i < ATTEMPTS; i++) {
        struct stat status = {0};
        int code = check_file(source->path, &status, error);
        source->device = (uint64_t)status.st_dev;
        source->number = (uint64_t)status.st_ino;
        code = code < 0 ? code : open_file(source, error);
        if (code < 0 || has_opened(source)) {
            return code;
        }
        (void)sqlite3_close(source->db);
        source->db = NULL;
    }
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_IO, .subject = source->path};
    return perhaps__guard_fail(error, failure, "the database is replaced again and again; try again when that is over");
}
