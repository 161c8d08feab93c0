// SPDX-License-Identifier: MIT
// A filter with a journal in front of a store: what it was given is in its file when the call returns.
//
// The exact set beside a filter is memory, which a crash takes. So a filter with a journal has none: a key that it does
// not take was not written. What comes from the store is recorded in batches, which cost one flush each, and then the
// position that the filter has it up to.
#ifndef PERHAPS_GUARD_DURABLE_H
#define PERHAPS_GUARD_DURABLE_H

#include "rebuild.h"

bool perhaps__guard_is_durable(const perhaps_filter *filter);

// Why the filter did not take something, described: its journal, or what perhaps_add() says.
int perhaps__guard_fail_durable(const struct perhaps__guard_generation *generation, int code, perhaps_error *error);

// Counts a refusal, and has a trigger see to it where a larger filter would help.
void perhaps__guard_note_refusal(struct perhaps_guard *guard, struct perhaps__guard_generation *generation, int code);

// Before a guard that does not only follow its store writes to a filter with a journal: the file no longer says that its
// filter is exactly at its position. 0, or an error.
int perhaps__guard_durable_begin(struct perhaps_guard *guard, perhaps_error *error);

/* What follows: under perhaps__guard_following.lock and perhaps_guard.exchange. */

// The position goes into the file. Nothing is done where it is there already, and where the filter lacks keys that the
// store has.
int perhaps__guard_durable_keep(struct perhaps_guard *guard, struct perhaps__guard_generation *generation,
                                const perhaps_store_position *position, perhaps_error *error);

// The file of the filter in use becomes that of the next one, with the position that it is at, under all stripes as
// well. 0, or an error, and then it is as it was.
int perhaps__guard_durable_hand_over(struct perhaps_guard *guard, const struct perhaps__guard_rebuild *rebuild,
                                     perhaps_error *error);

#define PERHAPS__GUARD_BATCH 1024

// Keys on their way into the filter and out of it, as their hashes. No key is in it twice.
struct perhaps__guard_batch {
    struct perhaps_guard *guard;
    struct perhaps__guard_generation *generation;
    int code; // 0, or why nothing more is taken
    size_t adds;
    size_t removals;
    uint64_t added[PERHAPS__GUARD_BATCH];
    uint64_t removed[PERHAPS__GUARD_BATCH];
};

// 0, or batch->code. What was put in is done when it is full, or by flush. Before the first change the file is told that its
// filter is no longer exactly what the store had at its position.
int perhaps__guard_batch_add(struct perhaps__guard_batch *batch, const void *key, size_t length);
int perhaps__guard_batch_remove(struct perhaps__guard_batch *batch, const void *key, size_t length);
int perhaps__guard_batch_flush(struct perhaps__guard_batch *batch);

#endif
