// SPDX-License-Identifier: MIT
// What the stores have in common: their options, looked at and copied.
#ifndef PERHAPS_GUARD_STORE_OPTIONS_H
#define PERHAPS_GUARD_STORE_OPTIONS_H

#include <stdbool.h>

#include <perhaps/guard.h>

// Whether the options are those of a column or of a query, and nothing is missing: 0, or what is wrong.
int perhaps__guard_store_options_check(const perhaps_store_options *options, perhaps_error *error);

// Copies the options with all their strings into one piece of memory, for free(). A query is copied without semicolons and
// blanks at its end, so that it can be put into another. NULL: no memory.
perhaps_store_options *perhaps__guard_store_options_copy(const perhaps_store_options *options);

// What messages call the thing that is read: column "c" of KIND "t", or the query. Returns text.
const char *perhaps__guard_store_describe(const perhaps_store_options *options, const char *kind, char *text,
                                          size_t room);

// A key in canonical form: in the caller's bytes when there is nothing to do, else in `room` or in memory of its own.
struct perhaps__guard_store_key {
    const char *bytes; // never NULL
    size_t length;
    char *owned; // for free()
    char room[256];
};

// False when there is no memory; then there is nothing to free.
bool perhaps__guard_store_key_make(struct perhaps__guard_store_key *made, uint32_t canonical, const void *key,
                                   size_t length);

// A missing argument.
int perhaps__guard_store_null(const char *name, perhaps_error *error);

#endif
