// SPDX-License-Identifier: MIT
// What a guard consists of.
#ifndef PERHAPS_GUARD_STATE_H
#define PERHAPS_GUARD_STATE_H

#include <pthread.h>
#include <stdbool.h>

#include <perhaps/guard.h>

#include "alarm.h"
#include "keyset.h"
#include "latency.h"
#include "slots.h"

// Fewer than 64, the most that ThreadSanitizer follows one thread to hold.
#define PERHAPS__GUARD_STRIPES 32
#define PERHAPS__GUARD_ALIGNMENT 64
#define PERHAPS__GUARD_SNAPSHOTS 9

// Why a generation is open: it lacks keys that the store has, for ever; or it may, until it has caught up.
#define PERHAPS__GUARD_LACKS 1U
#define PERHAPS__GUARD_BEHIND 2U

// A filter with what belongs to it. Readers find it through perhaps_guard.current and use it while they are marked as
// inside; who writes holds the key's stripe.
struct perhaps__guard_generation {
    const perhaps_filter *asked;
    perhaps_filter *filter; // the same, or NULL when it is borrowed: nothing can be changed
    bool owned;
    bool counts;             // adding a key twice makes two copies
    bool removes;            // copies can be, and may be, taken out
    bool durable;            // it has a journal: what was put in is in its file, and what it refuses is not put aside
    uint32_t refuses;        // durable, and did not take a key for which a larger one would have room; atomic
    uint32_t open;           // answers "perhaps" to everything: PERHAPS__GUARD_LACKS, PERHAPS__GUARD_BEHIND; atomic
    uint64_t overflow_count; // keys that the filter refused: readers look for them only when there are some
    double target;           // p
    double fill_at;          // keys above which it is to be made anew
    double residue_at;
    uint64_t began;       // perhaps__guard_now()
    pthread_mutex_t lock; // among those who change the set
    struct perhaps__guard_keyset overflow;
    uint64_t first; // keys in the filter when it came here
    uint64_t added;
    uint64_t removed;
    uint64_t residue;
};

// Totals at some moments of the past, for the window.
struct perhaps__guard_window {
    pthread_mutex_t lock;
    struct {
        uint64_t when;
        struct perhaps__guard_counts totals;
    } snapshots[PERHAPS__GUARD_SNAPSHOTS];
    uint32_t newest; // atomic, as are their times: who only wants to know does not lock
    uint64_t step;   // nanoseconds between two of them
};

// The rebuild that is running in a thread, and how the last one ended.
struct perhaps__guard_control {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    pthread_t thread;
    bool joinable;
    bool running; // in whatever thread
    uint64_t capacity;
    int result;
    perhaps_error error;
    uint32_t behind;   // how many in a row made a filter that was behind its store at once
    uint64_t retry_at; // perhaps__guard_now(), before which no trigger begins the next one
};

struct perhaps__guard_stripe {
    pthread_mutex_t lock;
} __attribute__((aligned(64)));

struct perhaps__guard_totals {
    uint64_t adds;
    uint64_t removals;
    uint64_t refused;
    uint64_t rebuilds;
    uint64_t rebuilds_failed;
    uint64_t rebuilds_cancelled;
    uint64_t alarms;
    uint64_t catch_ups;
    uint64_t catch_ups_failed;
    uint64_t changes;
};

#define PERHAPS__GUARD_IDENTITY 1024

// How the store is followed. `lock` comes before perhaps_guard.exchange and the stripes.
struct perhaps__guard_following {
    pthread_mutex_t lock;          // over what follows, and over changes of filters that come from outside
    perhaps_store_changes changes; // without `each_change`: nothing is followed
    char identity[PERHAPS__GUARD_IDENTITY + 1];
    bool outside; // writers are not only those that go through the guard
    bool has_position;
    perhaps_store_position position; // up to which the filter in use was brought
    bool has_saved;
    perhaps_store_position saved; // of the file
    bool saved_exact;             // where that has a journal: what its record says
    uint32_t state;               // enum perhaps_guard_state; atomic
    uint64_t caught_up_at;        // perhaps__guard_now(), when the last catch-up that succeeded began; 0: none; atomic
};

struct perhaps__guard_rebuild;

struct perhaps_guard {
    struct perhaps__guard_generation *current; // atomic
    struct perhaps_guard *self;                // what a const guard is when it counts and marks
    perhaps_allocator allocator;
    perhaps_guard_options options; // with the defaults filled in; its pointers to what was copied are not used
    perhaps_store store;           // without `contains`: the caller asks the store
    bool has_next;
    perhaps_options next;
    perhaps_allocator next_allocator;
    double z; // of the confidence
    perhaps_filter *hasher;
    uint32_t not_ready;
    uint32_t cancel;
    uint32_t busy; // a rebuild is running; a copy of control.running for those who only want to know
    struct perhaps__guard_rebuild *rebuild; // changed under all stripes, read under any
    struct perhaps__guard_totals totals;
    struct perhaps__guard_control control;
    struct perhaps__guard_window window;
    struct perhaps__guard_following following;
    pthread_mutex_t exchange; // held while the filter is exchanged, or must not be
    struct perhaps__guard_histogram ask_latency;
    struct perhaps__guard_histogram store_latency;
    struct perhaps__guard_stripe stripes[PERHAPS__GUARD_STRIPES];
    struct perhaps__guard_slot slots[PERHAPS__GUARD_SLOTS];
    struct perhaps__guard_test test;
};

static inline void perhaps__guard_more(uint64_t *total)
{
    (void)__atomic_fetch_add(total, 1, __ATOMIC_RELAXED);
}

static inline uint64_t perhaps__guard_read(const uint64_t *total)
{
    return __atomic_load_n(total, __ATOMIC_RELAXED);
}

// A reader's visit to the filter in use: between enter and leave it stays.
struct perhaps__guard_visit {
    struct perhaps__guard_slot *slot;
    const struct perhaps__guard_generation *generation;
    bool own;
};

static inline struct perhaps__guard_visit perhaps__guard_begin(struct perhaps_guard *guard)
{
    struct perhaps__guard_visit visit = {.slot = perhaps__guard_slot(guard->slots)};
    visit.own = perhaps__guard_is_own(guard->slots, visit.slot);
    perhaps__guard_enter(visit.slot, visit.own);
    visit.generation = __atomic_load_n(&guard->current, __ATOMIC_SEQ_CST);
    return visit;
}

static inline void perhaps__guard_end(const struct perhaps__guard_visit *visit)
{
    perhaps__guard_leave(visit->slot, visit->own);
}

// The hash for everything but the filter: stripes and exact sets. The same for all filters of the guard's life.
uint64_t perhaps__guard_hash(const struct perhaps_guard *guard, const void *key, size_t length);

/* generation.c */

// Takes a filter over; `filter` is NULL when it is borrowed. NULL without memory, and then the filter is still the
// caller's.
struct perhaps__guard_generation *perhaps__guard_generation_create(const struct perhaps_guard *guard,
                                                                   const perhaps_filter *asked, perhaps_filter *filter);
void perhaps__guard_generation_free(const struct perhaps_guard *guard, struct perhaps__guard_generation *generation);

// Whether the set beside the filter has the key. For readers.
bool perhaps__guard_overflows(const struct perhaps_guard *guard, const struct perhaps__guard_generation *generation,
                              const void *key, size_t length);

// Puts one copy of a key into the filter, or into the set beside it, or opens the guard: afterwards it is "perhaps". 0;
// or the code with which a durable filter refused it, and then nothing was done.
int perhaps__guard_put(struct perhaps_guard *guard, struct perhaps__guard_generation *generation, const void *key,
                       size_t length);

// Puts it into the set beside the filter, or opens the guard.
void perhaps__guard_put_aside(struct perhaps_guard *guard, struct perhaps__guard_generation *generation,
                              const void *key, size_t length);

// Takes one copy out again, from where it is; false: it stays, and is counted as residue.
bool perhaps__guard_take(struct perhaps_guard *guard, struct perhaps__guard_generation *generation, const void *key,
                         size_t length);

/* plan.c */

// The options of a filter like one that there is, but for its size and its secret key, which the guard cannot know.
perhaps_options perhaps__guard_like(const perhaps_filter *filter);

// The keys to begin with: as many as wanted, unless the owner set a limit.
uint64_t perhaps__guard_within(const perhaps_options *options, uint64_t capacity);

/* ask.c */

// What the store says, held to its contract and timed: 1, 0, or an error that is described.
int perhaps__guard_ask_store(struct perhaps_guard *guard, const void *key, size_t length, perhaps_error *error);

/* account.c */

// Keeps a snapshot of the totals when it is time for one. Does not wait.
void perhaps__guard_window_tick(struct perhaps_guard *guard, uint64_t now);

/* rebuild.c */

// Starts a rebuild when a trigger that the owner set says so.
void perhaps__guard_trigger(struct perhaps_guard *guard);

#endif
