// SPDX-License-Identifier: MIT
// The log of a column: a table of the keys that were inserted and deleted, fed by triggers.
//
// Each row has a random token besides its number, so that a position (number and token of a row) is one of this history and
// no other: a database that was restored from a copy counts on from an older number, but not with the same tokens. The row
// of a position that is still needed is never deleted, and the first row is written when the log is installed.
#ifndef PERHAPS_GUARD_SQLITE_LOG_H
#define PERHAPS_GUARD_SQLITE_LOG_H

#include "sqlite_source.h"

#define PERHAPS__GUARD_LOG_OBJECTS 4 // the table, and the triggers

// The log of one column, whether it is installed or not. Names are those in the schema, without regard to how they were
// given. Memory is SQLite's.
struct perhaps__guard_log {
    char *table;
    char *column;
    char *names[PERHAPS__GUARD_LOG_OBJECTS];
    char *sql[PERHAPS__GUARD_LOG_OBJECTS]; // as sqlite_master has it
};

// The log of the source's column; releases in any case what was there before. After an error there is nothing to release.
int perhaps__guard_log_init(struct perhaps__guard_log *log, const struct perhaps__guard_sqlite_source *source,
                            perhaps_error *error);
void perhaps__guard_log_release(struct perhaps__guard_log *log);

// 1: it is installed, and whole; 0: not; negative: an error. `*strange`, unless NULL: not whole, or other things have its
// names.
int perhaps__guard_log_is_whole(const struct perhaps__guard_log *log, const struct perhaps__guard_sqlite_source *source,
                                int *strange, perhaps_error *error);

// Opens a database for writing, for a call. On error there is nothing to close.
int perhaps__guard_sqlite_open_writable(struct perhaps__guard_sqlite_source *source, perhaps_error *error);

// Runs a statement of sqlite3_mprintf() and reads the integers in its first row: 1, or 0 when there is none; negative: an
// error.
int perhaps__guard_sqlite_numbers(const struct perhaps__guard_sqlite_source *source, perhaps_error *error, int count,
                                  sqlite3_int64 *numbers, const char *format, ...);

#endif
