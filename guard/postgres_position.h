// SPDX-License-Identifier: MIT
// A position in a PostgreSQL store, as bytes: a snapshot, and what the log must have been then.
#ifndef PERHAPS_GUARD_POSTGRES_POSITION_H
#define PERHAPS_GUARD_POSTGRES_POSITION_H

#include "postgres_log.h"

// Where the transactions that were under way begin. Each takes a byte there or more, and in a snapshot's text at most 21
// characters.
enum {
    PERHAPS__GUARD_POSTGRES_RUNNING = 72,
    PERHAPS__GUARD_POSTGRES_SNAPSHOT = 48 + 21 * (PERHAPS_STORE_POSITION - PERHAPS__GUARD_POSTGRES_RUNNING)
};

struct perhaps__guard_postgres_place {
    char signature[PERHAPS__GUARD_POSTGRES_SIGNATURE + 1];
    uint64_t rows;
    uint64_t sum;
    char snapshot[PERHAPS__GUARD_POSTGRES_SNAPSHOT];
};

// One that knows of no log: whoever asks what changed since is told to begin anew.
void perhaps__guard_postgres_position_none(perhaps_store_position *position);
bool perhaps__guard_postgres_position_is_none(const perhaps_store_position *position);

// False when there is no room for all transactions that are under way: to leave one out would miss what it writes.
bool perhaps__guard_postgres_position_store(perhaps_store_position *position,
                                            const struct perhaps__guard_postgres_found *found,
                                            const struct perhaps__guard_postgres_rows *rows);

// False when it is not one that the former wrote.
bool perhaps__guard_postgres_position_load(struct perhaps__guard_postgres_place *place,
                                           const perhaps_store_position *position);

#endif
