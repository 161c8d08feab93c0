// SPDX-License-Identifier: MIT
// A column, or a query, of a SQLite database: opening it, judging whether it can serve as a store, and saying what SQLite
// complained about.
#ifndef PERHAPS_GUARD_SQLITE_SOURCE_H
#define PERHAPS_GUARD_SQLITE_SOURCE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include <perhaps/guard.h>

// The strings and the options are borrowed. `kind` is what messages call the table: "table" until
// perhaps__guard_sqlite_check() knows better ("view"). `judged` is the SQL whose column that looks at: NULL when it is the
// table's.
struct perhaps__guard_sqlite_source {
    sqlite3 *db;
    const char *path;
    const perhaps_store_options *options;
    const char *kind;
    const char *judged;
    bool writable;   // is opened for writing
    uint64_t device; // of the file that is open ...
    uint64_t number; // ... and which one it is there
};

// The column affinities of SQLite (https://sqlite.org/datatype3.html, section 3.1).
enum perhaps__guard_affinity {
    PERHAPS__GUARD_BLOB,
    PERHAPS__GUARD_TEXT,
    PERHAPS__GUARD_NUMERIC,
    PERHAPS__GUARD_INTEGER,
    PERHAPS__GUARD_REAL
};

// The affinity that follows from a declared type.
enum perhaps__guard_affinity perhaps__guard_sqlite_affinity(const char *type);

// Opens source->path, read-only, as source->db (or for writing, as it says). On error there is nothing to close.
int perhaps__guard_sqlite_open(struct perhaps__guard_sqlite_source *source, perhaps_error *error);

// Whether another file, or none, is at source->path now: who has one open that was replaced or deleted would be answered
// from there for ever. One stat().
bool perhaps__guard_sqlite_has_moved(const struct perhaps__guard_sqlite_source *source);

// Whether the column or the query exists and compares bytewise, or as its canonical form does: 0, or the refusal.
int perhaps__guard_sqlite_check(struct perhaps__guard_sqlite_source *source, perhaps_error *error);

// Makes a statement from a format of sqlite3_mprintf(). NULL, and *code and *error set, on failure.
sqlite3_stmt *perhaps__guard_sqlite_prepare(const struct perhaps__guard_sqlite_source *source, int *code,
                                            perhaps_error *error, const char *format, ...);

// Describes what SQLite's result code, the latest on this connection, means for the store, and returns the
// code of perhaps.h for it. The statement that failed may be finalized already.
int perhaps__guard_sqlite_fail(const struct perhaps__guard_sqlite_source *source, int result, perhaps_error *error);

// Whether the rows of a SELECT change only with the database, and not with the time or by chance: 1, 0, or an error.
int perhaps__guard_sqlite_is_steady(const struct perhaps__guard_sqlite_source *source, const char *keys,
                                    perhaps_error *error);

#endif
