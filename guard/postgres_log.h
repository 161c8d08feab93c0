// SPDX-License-Identifier: MIT
// The log of a column of a PostgreSQL table: a table of the keys that came and went, fed by triggers.
//
// Its rows are not in an order, as transactions are not: which of them are new is decided by the number of the transaction
// that wrote a row, and by two snapshots. Each row has a random token; number and sum of those that a snapshot sees tell one
// history from another. What is forgotten is folded into one row, of transaction 0, which every snapshot sees, and whose
// weight and token are those of all of it: so that number and sum stay.
#ifndef PERHAPS_GUARD_POSTGRES_LOG_H
#define PERHAPS_GUARD_POSTGRES_LOG_H

#include "postgres_source.h"

enum { PERHAPS__GUARD_POSTGRES_TRIGGERS = 4, PERHAPS__GUARD_POSTGRES_SIGNATURE = 32 };

// The log of one column, whether it is installed or not. All but name and body are SQL, quoted.
struct perhaps__guard_postgres_log {
    char *name;   // of the log and its function
    char *log;    // with its schema
    char *table;  // with its schema
    char *column; //
    char *type;   // of a key, with its collation
    char *body;   // of the function
    char *triggers[PERHAPS__GUARD_POSTGRES_TRIGGERS];
};

// What there is of it, in a transaction.
struct perhaps__guard_postgres_found {
    bool whole;
    bool any; // whole or not, or other things with its names
    bool function;
    char signature[PERHAPS__GUARD_POSTGRES_SIGNATURE + 1]; // a digest of what the log must stay with: see the query
};

// The rows of a log, in a transaction, beside those that an older snapshot saw (or none, when there was none).
struct perhaps__guard_postgres_rows {
    char *snapshot; // of the transaction, as text, for free()
    uint64_t rows;
    uint64_t sum; // of tokens, below 2^63
    uint64_t rows_then;
    uint64_t sum_then;
    uint64_t truncated; // how often the table was since
    uint64_t changed;   // rows since
    uint64_t foreign;   // rows of transactions that this server has yet to begin
};

// Of the source's column; releases in any case what was there before. After an error there is nothing to release.
int perhaps__guard_postgres_log_init(struct perhaps__guard_postgres_log *log,
                                     const struct perhaps__guard_postgres_source *source, perhaps_error *error);
void perhaps__guard_postgres_log_release(struct perhaps__guard_postgres_log *log);

int perhaps__guard_postgres_log_find(const struct perhaps__guard_postgres_log *log,
                                     const struct perhaps__guard_postgres_source *source,
                                     struct perhaps__guard_postgres_found *found, perhaps_error *error);

// `then` may be NULL.
int perhaps__guard_postgres_log_read(const struct perhaps__guard_postgres_log *log,
                                     const struct perhaps__guard_postgres_source *source, const char *then,
                                     struct perhaps__guard_postgres_rows *rows, perhaps_error *error);

// In a transaction that may write: folds into one row what the snapshot saw.
int perhaps__guard_postgres_log_fold(const struct perhaps__guard_postgres_log *log,
                                     const struct perhaps__guard_postgres_source *source, const char *snapshot,
                                     perhaps_error *error);

#endif
