// SPDX-License-Identifier: MIT
// Layer 4: changes that are on the disk when the call returns: group commit, and folding.
//
// A change is a request. Requests queue; the first thread that finds nobody at work leads: it takes all that are
// waiting, writes their records with one write and one flush, and then, not before, does them to the filter in the same
// order. The others wait for it. So a change that could not be recorded was not done, and what replay does is what was
// done.
#ifndef PERHAPS_DURABLE_H
#define PERHAPS_DURABLE_H

#include <limits.h>
#include <pthread.h>

#include "errors.h"
#include "filter.h"

// What must be done before the next record can be written.
enum perhaps__journal_state {
    PERHAPS_JOURNAL_SOUND,     // nothing
    PERHAPS_JOURNAL_DIRECTORY, // the filter was folded, its directory not flushed: the old journal may still be needed
    PERHAPS_JOURNAL_REPLACE,   // the journal is of the generation before
    PERHAPS_JOURNAL_DOUBTFUL   // operations that failed may be in it: only folding gets rid of them
};

struct perhaps__request;

struct perhaps__durable {
    struct perhaps__log log; // first: the filter points to it
    perhaps_allocator allocator;
    perhaps_filter *filter;
    bool hollow; // the filter is only a header: changes are recorded and not done
    // Of whoever is busy, from here on to the mutex.
    int file; // the journal, locked against other writers, or -1
    enum perhaps__journal_state state;
    struct perhaps__identity identity; // of the filter's file
    uint64_t seed;                     // of records
    uint64_t end;                      // of the journal
    uint64_t sequence;                 // of the last operation
    uint64_t asked;                    // 0, or the limit as the caller wants it
    uint64_t limit;                    // of the journal's size
    uint64_t fold_at;                  // the limit, or more after a folding that failed
    uint64_t commits;
    uint64_t folds;
    uint64_t failed_folds;
    int system_error;      // of the last failure
    pthread_mutex_t mutex; // over what follows
    pthread_cond_t idle;
    bool busy;
    struct perhaps__request *first;
    struct perhaps__request **last;
    char target[PATH_MAX]; // the filter's file
    char journal[PATH_MAX];
};

// For the file that a path names; without an open journal yet. NULL when memory is short or the path is none: errno.
struct perhaps__durable *perhaps__durable_new(const perhaps_allocator *allocator, const char *path);

// Makes changes of a filter go through it, until perhaps_free(), or until it is detached. Without a filter it is released
// alone.
void perhaps__durable_attach(struct perhaps__durable *durable, perhaps_filter *filter);
void perhaps__durable_detach(struct perhaps__durable *durable);
void perhaps__durable_release(struct perhaps__durable *durable);

// An empty journal of durable->identity takes the place of the one there is. 0, or a code, and then the old one may or
// may not have been replaced.
int perhaps__durable_new_journal(struct perhaps__durable *durable, perhaps_error *error);

// Between these two nobody else is busy.
void perhaps__durable_enter(struct perhaps__durable *durable);
void perhaps__durable_leave(struct perhaps__durable *durable);

// Inside: what is left to do of a folding that failed half-way; and a folding.
int perhaps__durable_mend(struct perhaps__durable *durable, perhaps_error *error);
int perhaps__durable_fold(struct perhaps__durable *durable, perhaps_error *error);

// Inside: a folding that puts a filter into the file, its own or another. *replaced tells whether it is there, also
// when the rest has failed.
int perhaps__durable_put(struct perhaps__durable *durable, const perhaps_filter *filter, bool *replaced,
                         perhaps_error *error);

#endif
