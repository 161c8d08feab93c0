// SPDX-License-Identifier: MIT
// A rebuild that is under way, as those who write see it.
//
// The new filter gets its keys from two sides: from the listing of the store, and from those who write meanwhile. Filters
// that only gain keys take both as they come. In one from which copies are to be removed later, each key must have a copy of
// its own, and none may be removed that is not there: it would be another key's. So every key that is written during the
// rebuild is remembered exactly, and it is decided once where its copy comes from:
//
//   - from the listing, when the store had it before and the listing is a snapshot that was taken by then. It is visited
//     exactly once, sooner or later. If it was removed, its copy is taken out when the listing has ended.
//   - from the writer, otherwise. Visits of the listing to this key then do nothing.
//
// Where the listing is no snapshot, nobody knows whether it has visited a key before that key was written: the writer adds a
// copy, and there may be two of them. One is residue when the key is removed.
//
// A visit takes the lock below and no stripe. Stripes are held while the store is written to, and a store may well make
// writers wait for the listing to end.
#ifndef PERHAPS_GUARD_REBUILD_H
#define PERHAPS_GUARD_REBUILD_H

#include "state.h"

struct perhaps__guard_rebuild {
    struct perhaps__guard_generation *next;
    bool snapshot;        // the listing is one
    pthread_mutex_t lock; // over what follows, and over changes of a key in `next` where copies are removed
    struct perhaps__guard_keyset written;
    bool iterating; // a key was visited: the snapshot is taken
    uint64_t visited;
    uint64_t expected;
    uint64_t capacity;
    bool limited;                    // its owner set limits to its growth
    bool out_of_memory;              // keys are not remembered: the rebuild must fail
    perhaps_store_position position; // of the listing, and then of the changes behind it
    uint64_t began;                  // perhaps__guard_now(), when it was asked for these
    bool behind;                     // there are changes behind it that the store cannot tell
};

// A key that is about to be written, under its stripe. `in_store`: it is surely there already, and was, if it was not
// written since the rebuild began, before that. Afterwards `next` has a copy, or will get one from the listing.
void perhaps__guard_rebuild_add(struct perhaps_guard *guard, struct perhaps__guard_rebuild *rebuild, const void *key,
                                size_t length, bool in_store);

// A key that is in the store, before its row is removed from there.
void perhaps__guard_rebuild_before_remove(struct perhaps_guard *guard, struct perhaps__guard_rebuild *rebuild,
                                          const void *key, size_t length);

// It is gone. Its copy in `next` goes now or at the end.
void perhaps__guard_rebuild_removed(struct perhaps_guard *guard, struct perhaps__guard_rebuild *rebuild,
                                    const void *key, size_t length);

// A key of the listing. 0, or PERHAPS_E_FULL: `next` is too small.
int perhaps__guard_rebuild_visit(struct perhaps_guard *guard, struct perhaps__guard_rebuild *rebuild, const void *key,
                                 size_t length);

// One rebuild or reload at a time: 0, or the refusal.
int perhaps__guard_claim(struct perhaps_guard *guard, perhaps_error *error);
void perhaps__guard_unclaim(struct perhaps_guard *guard);

void perhaps__guard_lock_all(struct perhaps_guard *guard);
void perhaps__guard_unlock_all(struct perhaps_guard *guard);

// Puts a filter into the place of the one in use, and frees that. Under perhaps_guard.exchange and all stripes.
void perhaps__guard_exchange(struct perhaps_guard *guard, struct perhaps__guard_generation *next);

// When the listing has ended, under all stripes: takes out the copies that wait for it.
void perhaps__guard_rebuild_settle(struct perhaps_guard *guard, struct perhaps__guard_rebuild *rebuild);

#endif
