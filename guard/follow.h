// SPDX-License-Identifier: MIT
// Following a store: what others wrote is brought into the filter, and a file says up to where its filter has it.
//
// Everything here that changes a filter holds perhaps__guard_following.lock, from begin to end or release. It comes before
// perhaps_guard.exchange, and that before the stripes.
#ifndef PERHAPS_GUARD_FOLLOW_H
#define PERHAPS_GUARD_FOLLOW_H

#include "rebuild.h"

// Whether the options go together: 0, or the refusal.
int perhaps__guard_follow_check(const perhaps_guard_options *options, perhaps_error *error);

// Copies them.
void perhaps__guard_follow_take(struct perhaps_guard *guard, const perhaps_guard_options *options);

void perhaps__guard_follow_begin(struct perhaps_guard *guard);
void perhaps__guard_follow_release(struct perhaps_guard *guard);

/* A rebuild. */

// Lists the store, with the position of the listing where that will be needed.
int perhaps__guard_follow_list(struct perhaps_guard *guard, perhaps_store_position *position,
                               int (*visit)(void *visitor, const void *key, size_t length), void *visitor,
                               perhaps_error *error);

// After begin: what changed since the listing goes into the new filter. The one in use may have had it already.
int perhaps__guard_follow_listed(struct perhaps_guard *guard, struct perhaps__guard_rebuild *rebuild,
                                 perhaps_error *error);

// When the new filter is in its place, if `code` is 0. Releases.
void perhaps__guard_follow_end(struct perhaps_guard *guard, const struct perhaps__guard_rebuild *rebuild, int code);

/* A save: both under perhaps_guard.exchange as well. */

// Gives the filter in use its position. Where only the guard's writes count, they wait until it was saved.
int perhaps__guard_follow_before_save(struct perhaps_guard *guard, perhaps_error *error);
void perhaps__guard_follow_saved(struct perhaps_guard *guard, int code);

/* follow_record.c: the position in a filter's file, with what it is one of. docs/guard.md has the layout. */

struct perhaps__guard_record {
    bool exact; // the filter has one copy of each key that the store had there, and no other
    perhaps_store_position position;
};

int perhaps__guard_record_write(perhaps_filter *filter, const char *identity,
                                const struct perhaps__guard_record *record);

// NULL, or why the filter's position is of no use here.
const char *perhaps__guard_record_read(const perhaps_filter *filter, const char *identity,
                                       struct perhaps__guard_record *record);

#endif
