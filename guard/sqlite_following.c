// SPDX-License-Identifier: MIT
// The connection by which a SQLite table is followed: opening it, and going over to a file that took the place of another.
#include <perhaps/guard.h>

#include <string.h>

#include "fail.h"
#include "store_sqlite.h"

static int check_rows(const struct perhaps__guard_sqlite_following *following, perhaps_error *error)
{
    const struct perhaps__guard_sqlite_source *source = &following->source;
    sqlite3_int64 numbers[2] = {0, 0};
    if (!following->logged) {
        struct perhaps__guard_failure failure = {.code = PERHAPS_E_UNSUPPORTED, .subject = source->path};
        return perhaps__guard_fail(
            error, failure, "only a column without a canonical form is followed by row ids; leave it to the version");
    }
    int code = perhaps__guard_sqlite_numbers(
        source, error, 2, numbers,
        "SELECT (SELECT count(*) FROM pragma_table_xinfo(%Q, 'main') WHERE name = 'rowid' COLLATE NOCASE), "
        "(SELECT wr FROM pragma_table_list WHERE schema = 'main' AND name = %Q)",
        following->log.table, following->log.table);
    if (code < 0) {
        return code;
    }
    if (strcmp(source->kind, "table") != 0 || numbers[0] > 0 || numbers[1] > 0) {
        struct perhaps__guard_failure failure = {.code = PERHAPS_E_UNSUPPORTED, .subject = source->path};
        return perhaps__guard_fail(error, failure,
                                   "%s \"%s\" has no row ids that could be followed; install a log instead",
                                   source->kind, source->options->table);
    }
    return 0;
}

// What is listed, and what is looked up.
static int check_steady(perhaps_store_sqlite *sqlite, perhaps_error *error)
{
    const struct perhaps__guard_sqlite_source *source = &sqlite->following.source;
    const char *const selects[] = {sqlite->keys, sqlite->options->query};
    int steady = 1;
    for (size_t i = 0; i < sizeof selects / sizeof selects[0] && steady == 1; i++) {
        steady = selects[i] == NULL ? 1 : perhaps__guard_sqlite_is_steady(source, selects[i], error);
    }
    sqlite->following.steady = steady == 1;
    return steady < 0 ? steady : 0;
}

static int name_identity(perhaps_store_sqlite *sqlite, perhaps_error *error)
{
    struct perhaps__guard_sqlite_following *following = &sqlite->following;
    const perhaps_store_options *options = sqlite->options;
    if (following->identity == NULL) {
        following->identity = options->query == NULL
                                  ? sqlite3_mprintf("sqlite%d \"%w\".\"%w\"", (int)options->canonical,
                                                    following->log.table, following->log.column)
                                  : sqlite3_mprintf("sqlite%d %s", (int)options->canonical, options->query);
    }
    return following->identity != NULL ? 0 : perhaps__guard_sqlite_fail(&following->source, SQLITE_NOMEM, error);
}

// What is followed stays, but for the connection.
static void disconnect(perhaps_store_sqlite *sqlite)
{
    perhaps__guard_log_release(&sqlite->following.log);
    (void)sqlite3_close(sqlite->following.source.db);
    sqlite->following.source.db = NULL;
}

static int connect_to(perhaps_store_sqlite *sqlite, perhaps_error *error)
{
    struct perhaps__guard_sqlite_following *following = &sqlite->following;
    const perhaps_store_options *options = sqlite->options;
    following->source = perhaps__guard_sqlite_source_of(sqlite);
    sqlite3_randomness(sizeof following->opening, &following->opening);
    following->logged = options->query == NULL && options->canonical == 0;
    int code = perhaps__guard_sqlite_open(&following->source, error);
    code = code < 0 ? code : check_steady(sqlite, error);
    if (code == 0 && options->query == NULL) {
        code = perhaps__guard_log_init(&following->log, &following->source, error);
    }
    code = code < 0 ? code : name_identity(sqlite, error);
    if (code < 0) {
        disconnect(sqlite);
    }
    return code;
}

int perhaps__guard_sqlite_start_following(perhaps_store_sqlite *sqlite, bool appended, perhaps_error *error)
{
    struct perhaps__guard_sqlite_following *following = &sqlite->following;
    int code = following->source.db == NULL ? connect_to(sqlite, error) : 0;
    if (code == 0 && appended) {
        code = check_rows(following, error);
    }
    if (code == 0) {
        following->appended = appended;
    }
    return code;
}

int perhaps__guard_sqlite_follow_newest(perhaps_store_sqlite *sqlite, perhaps_error *error)
{
    struct perhaps__guard_sqlite_following *following = &sqlite->following;
    if (following->source.db != NULL && !perhaps__guard_sqlite_has_moved(&following->source)) {
        return 0;
    }
    disconnect(sqlite);
    int code = connect_to(sqlite, error);
    struct perhaps__guard_sqlite_source judged = following->source;
    code = code < 0 ? code : perhaps__guard_sqlite_check(&judged, error); // as it was when the store was opened
    if (code == 0) {
        following->source.kind = judged.kind;
        code = following->appended ? check_rows(following, error) : 0;
    }
    if (code < 0) {
        disconnect(sqlite);
    }
    return code;
}

void perhaps__guard_sqlite_stop_following(perhaps_store_sqlite *sqlite)
{
    disconnect(sqlite);
    sqlite3_free(sqlite->following.identity);
    sqlite->following.identity = NULL;
}
