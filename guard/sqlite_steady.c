// SPDX-License-Identifier: MIT
// Whether a SELECT gives other keys only when the database was written to. A view of the rows that are due by now does not.
#include <string.h>

#include "sqlite_source.h"

// Functions that SQLite documents as depending on the time, on chance, or on the connection.
static bool is_unsteady(const char *name)
{
    static const char *const names[] = {"date",
                                        "time",
                                        "datetime",
                                        "julianday",
                                        "strftime",
                                        "unixepoch",
                                        "timediff",
                                        "current_date",
                                        "random",
                                        "randomblob",
                                        "current_time",
                                        "changes",
                                        "current_timestamp",
                                        "load_file",
                                        "readfile",
                                        "total_changes",
                                        "last_insert_rowid"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (sqlite3_stricmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

// SQLite's authorizer is told of every function that a statement will call, in views too.
static int see(void *unsteady, int action, const char *first, const char *second, const char *database, const char *by)
{
    (void)first;
    (void)database;
    (void)by;
    if (action == SQLITE_FUNCTION && second != NULL && is_unsteady(second)) {
        *(bool *)unsteady = true;
    }
    return SQLITE_OK;
}

int perhaps__guard_sqlite_is_steady(const struct perhaps__guard_sqlite_source *source, const char *keys,
                                    perhaps_error *error)
{
    bool unsteady = false;
    sqlite3_stmt *statement = NULL;
    (void)sqlite3_set_authorizer(source->db, see, &unsteady);
    int result = sqlite3_prepare_v2(source->db, keys, -1, &statement, NULL);
    (void)sqlite3_set_authorizer(source->db, NULL, NULL);
    (void)sqlite3_finalize(statement);
    return result == SQLITE_OK ? !unsteady : perhaps__guard_sqlite_fail(source, result, error);
}
