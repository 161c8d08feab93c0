// SPDX-License-Identifier: MIT
//
// The authoritative store that a command line names.
#ifndef PERHAPS_CLI_STORE_H
#define PERHAPS_CLI_STORE_H

#include <perhaps/guard.h>

struct arguments;

struct store {
    const char *path; // of the database, borrowed
    perhaps_store_sqlite *sqlite;
    perhaps_store store;
};

// Refuses a command line without --store, --table and --column, or with a store that there is no way to.
int store_refuse_missing(const struct arguments *arguments);

// Opens what the command line names; complains when it returns STATUS_ERROR. Close it in any case.
int store_open(const struct arguments *arguments, struct store *store);
void store_close(struct store *store);

// How it is followed, by --append-only.
int store_changes(const struct arguments *arguments, const struct store *store, perhaps_store_changes *changes);

// --install-log and --remove-log.
int store_change_log(const struct arguments *arguments);

#endif
