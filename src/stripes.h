// SPDX-License-Identifier: MIT
// Layer 0: short locks, one for all places (keys, blocks, buckets) whose number falls on it, and with each lock a version
// for readers that look without locking.
//
// A word is: bit 0, locked; the other 31 bits, the version, which is odd while something moves under the lock. Readers
// compare the versions before and after. A version comes round after 2^30 moves under one lock: a reader would have to
// sleep that long between two loads, and wake at the very same count.
#ifndef PERHAPS_STRIPES_H
#define PERHAPS_STRIPES_H

#include <sched.h>

#include "base.h"

struct perhaps__stripes {
    uint32_t *words;
    uint64_t mask;   // their number, a power of two, less 1
    uint64_t *moves; // of all places, for readers of many
};

#define PERHAPS_STRIPE_LOCKED 1U
#define PERHAPS_STRIPE_MOVING 2U // the lowest bit of the version

static inline uint32_t *perhaps__stripe(const struct perhaps__stripes *stripes, uint64_t place)
{
    return &stripes->words[place & stripes->mask];
}

static inline void perhaps__stripe_lock(uint32_t *stripe)
{
    for (unsigned tries = 1;
         (__atomic_fetch_or(stripe, PERHAPS_STRIPE_LOCKED, __ATOMIC_ACQUIRE) & PERHAPS_STRIPE_LOCKED) != 0; tries++) {
        while ((__atomic_load_n(stripe, __ATOMIC_RELAXED) & PERHAPS_STRIPE_LOCKED) != 0) {
            if (tries++ % 64 == 0) {
                (void)sched_yield(); // the holder may be waiting for this processor
            }
        }
    }
}

// Before anything moves between places on locked stripes, and again after it.
static inline void perhaps__stripe_step(uint32_t *stripe)
{
    uint32_t word = __atomic_load_n(stripe, __ATOMIC_RELAXED);
    uint32_t version = (word & ~PERHAPS_STRIPE_LOCKED) + PERHAPS_STRIPE_MOVING;
    __atomic_store_n(stripe, version | PERHAPS_STRIPE_LOCKED, __ATOMIC_RELEASE);
}

// Around all moves as well, whatever stripes they lock: the lower 16 bits of the word count threads that are at it, the
// others how often one began. A reader that finds none at it, and later the same word, has had the places for itself.
#define PERHAPS_MOVES_AT_IT UINT64_C(0xffff)

static inline void perhaps__moves_begin(const struct perhaps__stripes *stripes)
{
    (void)__atomic_fetch_add(stripes->moves, PERHAPS_MOVES_AT_IT + 2, __ATOMIC_ACQ_REL);
}

static inline void perhaps__moves_end(const struct perhaps__stripes *stripes)
{
    (void)__atomic_fetch_sub(stripes->moves, 1, __ATOMIC_RELEASE);
}

static inline uint64_t perhaps__moves(const struct perhaps__stripes *stripes)
{
    return __atomic_load_n(stripes->moves, __ATOMIC_ACQUIRE);
}

// Whether nothing has moved between a look at perhaps__moves() and now.
static inline bool perhaps__moves_none_since(const struct perhaps__stripes *stripes, uint64_t before)
{
    return (before & PERHAPS_MOVES_AT_IT) == 0 && perhaps__moves(stripes) == before;
}

static inline void perhaps__stripe_unlock(uint32_t *stripe)
{
    // A plain store, for others only set the bit that is set already. A locked instruction would cost as much again.
    uint32_t word = __atomic_load_n(stripe, __ATOMIC_RELAXED);
    __atomic_store_n(stripe, word & ~PERHAPS_STRIPE_LOCKED, __ATOMIC_RELEASE);
}

// All of them, for what concerns the whole: in order, as everybody locks more than one.
static inline void perhaps__stripes_lock_all(const struct perhaps__stripes *stripes)
{
    for (uint64_t i = 0; i <= stripes->mask; i++) {
        perhaps__stripe_lock(&stripes->words[i]);
    }
}

static inline void perhaps__stripes_step_all(const struct perhaps__stripes *stripes)
{
    for (uint64_t i = 0; i <= stripes->mask; i++) {
        perhaps__stripe_step(&stripes->words[i]);
    }
}

static inline void perhaps__stripes_unlock_all(const struct perhaps__stripes *stripes)
{
    for (uint64_t i = 0; i <= stripes->mask; i++) {
        perhaps__stripe_unlock(&stripes->words[i]);
    }
}

#endif
