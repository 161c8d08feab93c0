// SPDX-License-Identifier: MIT
// What a SQLite store consists of.
#ifndef PERHAPS_GUARD_STORE_SQLITE_H
#define PERHAPS_GUARD_STORE_SQLITE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <perhaps/guard.h>

#include "sqlite_log.h"
#include "sqlite_source.h"

// For following: a connection of its own, which stays open, because only one that does can say that nothing changed.
struct perhaps__guard_sqlite_following {
    pthread_mutex_t lock;
    struct perhaps__guard_sqlite_source source; // without a connection: not followed yet
    struct perhaps__guard_log log;
    bool logged; // a column, compared byte by byte: a log can tell its changes. Of others only the version is known
    bool appended;
    bool steady;      // its keys change only when the database does: otherwise no version proves anything
    uint64_t opening; // a random number: positions that only this connection understands have it
    char *identity;
};

// The connection is replaced when the file is, and is missing while that could not be done: `db`, its file and the
// statement are read under the lock.
struct perhaps_store_sqlite {
    struct perhaps__guard_sqlite_source source;
    perhaps_store_options *options;
    char *path;
    char *keys;           // a SELECT of all keys, in one column; NULL: they cannot be listed. From sqlite3_mprintf()
    pthread_mutex_t lock; // of the connection and its statement: questions take turns
    sqlite3_stmt *look_up;
    size_t longest; // value of SQLite
    int indexed;    // atomic
    struct perhaps__guard_sqlite_following following;
};

// The source of a connection of its own: what is the same for all.
static inline struct perhaps__guard_sqlite_source perhaps__guard_sqlite_source_of(const perhaps_store_sqlite *sqlite)
{
    return (struct perhaps__guard_sqlite_source){
        .path = sqlite->path, .options = sqlite->options, .kind = sqlite->source.kind};
}

// The same with the connection, to the file that is at the path now, which is judged: another one may have taken the
// place of the one that was. On error there is nothing to close. store_sqlite.c
int perhaps__guard_sqlite_open_another(const perhaps_store_sqlite *sqlite, struct perhaps__guard_sqlite_source *source,
                                       perhaps_error *error);

// Lists the keys that a SELECT gives on a connection. store_sqlite.c
int perhaps__guard_sqlite_list(const struct perhaps__guard_sqlite_source *source, const char *keys,
                               int (*visit)(void *visitor, const void *key, size_t length), void *visitor,
                               perhaps_error *error);

/* sqlite_following.c: the connection of following, under perhaps__guard_sqlite_following.lock. */

// Opens it, if it is not, and chooses the way.
int perhaps__guard_sqlite_start_following(perhaps_store_sqlite *sqlite, bool appended, perhaps_error *error);

// When another file has taken the place of the one that is followed: goes over to that, the same way. The identity stays.
int perhaps__guard_sqlite_follow_newest(perhaps_store_sqlite *sqlite, perhaps_error *error);

void perhaps__guard_sqlite_stop_following(perhaps_store_sqlite *sqlite);

#endif
