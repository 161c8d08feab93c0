// SPDX-License-Identifier: MIT
// What a PostgreSQL store consists of.
#ifndef PERHAPS_GUARD_STORE_POSTGRES_H
#define PERHAPS_GUARD_STORE_POSTGRES_H

#include <pthread.h>

#include <perhaps/guard.h>

#include "postgres_log.h"

// For following: a connection of its own.
struct perhaps__guard_postgres_following {
    pthread_mutex_t lock;
    struct perhaps__guard_postgres_source source; // without a connection: not connected (again) yet
    struct perhaps__guard_postgres_log log;       // of that connection
    char *identity;
};

struct perhaps_store_postgres {
    struct perhaps__guard_postgres_source source;
    perhaps_store_options *options;
    char *conninfo;
    pthread_mutex_t lock; // of the connection and its statement: questions take turns
    int indexed;
    char name[160]; // the source's, which is written again with each new connection
    struct perhaps__guard_postgres_following following;
};

// A source like the store's, with a connection of its own. store_postgres.c
int perhaps__guard_postgres_open_another(const struct perhaps_store_postgres *postgres,
                                         struct perhaps__guard_postgres_source *source, perhaps_error *error);

// Lists the keys in a transaction that was begun. store_postgres.c
int perhaps__guard_postgres_list(const struct perhaps__guard_postgres_source *source,
                                 int (*visit)(void *visitor, const void *key, size_t length), void *visitor,
                                 perhaps_error *error);

// postgres_follow.c
void perhaps__guard_postgres_stop_following(struct perhaps_store_postgres *postgres);

#endif
