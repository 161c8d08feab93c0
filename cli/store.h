// SPDX-License-Identifier: MIT
//
// The authoritative store that --store, --table, --column, --query and --canonical name.
#ifndef PERHAPS_CLI_STORE_H
#define PERHAPS_CLI_STORE_H

#include <perhaps/guard.h>
#include <stdbool.h>

struct arguments;

struct opened_store {
    perhaps_store_sqlite *sqlite;     // one of these two
    perhaps_store_postgres *postgres; //
    perhaps_store store;
    uint32_t canonical; // set of enum perhaps_canonical_form
    int indexed;
    const char *name; // for messages and reports: without a password
};

// Complains and returns STATUS_ERROR for options that are missing, too many, or of no known form.
int store_options_check(const struct arguments *arguments);

// Opens what the options name; they were checked. Complains and returns STATUS_ERROR.
int store_open(const struct arguments *arguments, struct opened_store *opened);
void store_close(struct opened_store *opened);

// How it is followed, by --append-only. Complains where it cannot be.
int store_changes(const struct arguments *arguments, const struct opened_store *opened, perhaps_store_changes *changes);

// The same where the store may not be one that can be followed (in PostgreSQL a column without a log, a view, a role
// that may not read the log): *any is false then, and why is said unless --quiet is given.
int store_changes_if_any(const struct arguments *arguments, const struct opened_store *opened, bool *any,
                         perhaps_store_changes *changes);

// --install-log and --remove-log; the options were checked.
int store_change_log(const struct arguments *arguments);

#endif
