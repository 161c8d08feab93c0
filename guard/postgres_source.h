// SPDX-License-Identifier: MIT
// A column, or a query, of a PostgreSQL database: connecting, judging whether it can serve as a store, and saying what
// PostgreSQL complained about.
#ifndef PERHAPS_GUARD_POSTGRES_SOURCE_H
#define PERHAPS_GUARD_POSTGRES_SOURCE_H

#include <stdbool.h>

#include <perhaps/guard.h>

#include "postgres_library.h"

// conninfo and options are borrowed; the rest is made by perhaps__guard_postgres_connect() and ..._check(), and goes with
// ..._disconnect().
struct perhaps__guard_postgres_source {
    const char *conninfo;
    const perhaps_store_options *options;
    PGconn *connection; // NULL: none
    const char *kind;   // what messages call the table: "table", or "view"
    char *keys;         // a SELECT of all keys, in one column; NULL when they cannot be listed
    char *look_up;      // the text of the look-up
    const char *before; // what is put before and after the SQL of a key, for that of its canonical form
    const char *after;
    Oid relation;   // the table or view; 0 for a query
    Oid type;       // of the look-up's parameter
    bool text;      // keys are texts
    bool utf8;      // and the server keeps them as UTF-8
    char name[160]; // DATABASE@HOST
};

// Connects, and judges the server. On error there may be a connection left, for perhaps__guard_postgres_disconnect().
int perhaps__guard_postgres_connect(struct perhaps__guard_postgres_source *source, perhaps_error *error);
void perhaps__guard_postgres_disconnect(struct perhaps__guard_postgres_source *source);

// Whether the column or query exists and compares bytewise: 0, or the refusal. Makes keys and look_up.
int perhaps__guard_postgres_check(struct perhaps__guard_postgres_source *source, perhaps_error *error);

// Describes what went wrong, for a result that is not as expected (NULL: none was made), and returns the code for it.
int perhaps__guard_postgres_fail(const struct perhaps__guard_postgres_source *source, const PGresult *result,
                                 perhaps_error *error);

// The same for the log of the column, which was to be changed.
int perhaps__guard_postgres_fail_log(const struct perhaps__guard_postgres_source *source, const PGresult *result,
                                     perhaps_error *error);

// The same for what only following reads: a role without the right can list, but not follow (PERHAPS_E_UNSUPPORTED).
int perhaps__guard_postgres_fail_following(const struct perhaps__guard_postgres_source *source, const PGresult *result,
                                           perhaps_error *error);
int perhaps__guard_postgres_fail_memory(const struct perhaps__guard_postgres_source *source, perhaps_error *error);

// Asks with texts as parameters; NULL is the value NULL. When the result is NULL, *code and *error are set.
PGresult *perhaps__guard_postgres_ask(const struct perhaps__guard_postgres_source *source, const char *sql,
                                      const char *const values[], int count, int *code, perhaps_error *error);

// Runs statements that give nothing: 0, or the code for what went wrong.
int perhaps__guard_postgres_run(const struct perhaps__guard_postgres_source *source, const char *sql,
                                perhaps_error *error);

// A complaint about the column or query: "WHAT IT IS REASON; REMEDY".
int perhaps__guard_postgres_refuse(const struct perhaps__guard_postgres_source *source, int code, perhaps_error *error,
                                   const char *reason, const char *remedy);

// What PostgreSQL said last, in one line.
const char *perhaps__guard_postgres_words(const char *message, char *text, size_t room);

// printf() into new memory, for free(). NULL: no memory.
char *perhaps__guard_postgres_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

// The name of the prepared look-up.
#define PERHAPS__GUARD_POSTGRES_LOOK_UP "perhaps_look_up"

// Types that are built in: their numbers are part of PostgreSQL's catalog and never change.
enum {
    PERHAPS__GUARD_POSTGRES_BYTEA = 17,
    PERHAPS__GUARD_POSTGRES_TEXT = 25,
    PERHAPS__GUARD_POSTGRES_CHAR = 1042, // char(n)
    PERHAPS__GUARD_POSTGRES_VARCHAR = 1043
};

#endif
