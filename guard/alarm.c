// SPDX-License-Identifier: MIT
#include "alarm.h"

#include <math.h>
#include <string.h>

// Queries within which at most this share of healthy guards may raise an alarm.
#define QUERIES 1e7
#define FALSE_ALARMS 0.01

// Places looked at for a hash. At most half of them are taken, so that longer runs hardly occur; a hash that finds no place
// is taken as seen.
#define PROBES 32

/* ---------------------------------------------------------------- distinct keys */

static uint64_t place_of(uint64_t hash, uint64_t i)
{
    return (hash / PERHAPS__GUARD_SAMPLE + i) % (UINT64_C(2) * PERHAPS__GUARD_SEEN);
}

static bool is_in(const uint64_t *half, uint64_t hash)
{
    for (uint64_t i = 0; i < PROBES; i++) {
        uint64_t there = __atomic_load_n(&half[place_of(hash, i)], __ATOMIC_RELAXED);
        if (there == hash || there == 0) {
            return there == hash;
        }
    }
    return false;
}

// False when it was there, or when there is no place for it.
static bool put(uint64_t *half, uint64_t hash)
{
    for (uint64_t i = 0; i < PROBES; i++) {
        uint64_t *place = &half[place_of(hash, i)];
        uint64_t there = __atomic_load_n(place, __ATOMIC_RELAXED);
        if (there == 0 && __atomic_compare_exchange_n(place, &there, hash, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            return true;
        }
        if (there == hash) {
            return false;
        }
    }
    return false;
}

// Who is asked for lately survives: it was put into the newer half again.
static void turn(struct perhaps__guard_seen *seen)
{
    if (__atomic_exchange_n(&seen->turning, 1, __ATOMIC_ACQUIRE) != 0) {
        return;
    }
    uint32_t older = 1 - __atomic_load_n(&seen->newer, __ATOMIC_RELAXED);
    for (uint64_t i = 0; i < UINT64_C(2) * PERHAPS__GUARD_SEEN; i++) {
        __atomic_store_n(&seen->halves[older][i], 0, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&seen->count, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&seen->newer, older, __ATOMIC_RELAXED);
    __atomic_store_n(&seen->turning, 0, __ATOMIC_RELEASE);
}

bool perhaps__guard_see(struct perhaps__guard_seen *seen, uint64_t hash)
{
    hash |= hash == 0; // 0 marks a free place
    uint32_t newer = __atomic_load_n(&seen->newer, __ATOMIC_RELAXED);
    bool is_old = is_in(seen->halves[1 - newer], hash);
    if (!put(seen->halves[newer], hash)) {
        return false;
    }
    // One in so many is counted for all, chosen by other bits than its place: threads seldom meet at the counter.
    const uint64_t share = 16;
    if ((hash >> 32) % share == 0 && __atomic_add_fetch(&seen->count, share, __ATOMIC_RELAXED) >= PERHAPS__GUARD_SEEN) {
        turn(seen);
    }
    return !is_old;
}

static void forget(struct perhaps__guard_seen *seen)
{
    turn(seen);
    turn(seen);
}

/* ---------------------------------------------------------------- the test */

void perhaps__guard_test_begin(struct perhaps__guard_test *test, double p, uint64_t absent)
{
    (void)pthread_mutex_lock(&test->lock);
    double doubled = fmin(2.0 * p, 0.5 * (1.0 + p)); // near p = 0.5 there is no room for twice as much
    test->target = p;
    test->gain = log(doubled / p);
    test->loss = log1p(-p) - log1p(-doubled);
    test->threshold = log(fmax(1.0, p * QUERIES / PERHAPS__GUARD_SAMPLE) / FALSE_ALARMS);
    test->level = 0.0;
    test->absent = absent;
    __atomic_store_n(&test->absent_first, absent, __ATOMIC_RELAXED);
    __atomic_store_n(&test->refuted, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&test->pending, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&test->raised, 0, __ATOMIC_RELAXED);
    forget(&test->turned_away);
    forget(&test->passed);
    (void)pthread_mutex_unlock(&test->lock);
}

// Between two keys that passed the level only falls, so that it is enough to look at it here.
static bool take_into_account(struct perhaps__guard_test *test, uint64_t absent, double reported)
{
    uint64_t passed = __atomic_exchange_n(&test->pending, 0, __ATOMIC_RELAXED);
    uint64_t more = absent > test->absent ? absent - test->absent : 0;
    test->absent += more;
    test->level = fmax(0.0, test->level - test->loss * reported * (double)more) + test->gain * (double)passed;
    return test->level >= test->threshold && __atomic_exchange_n(&test->raised, 1, __ATOMIC_RELAXED) == 0;
}

// Nobody waits: a key that comes while another is taken into account goes in with the next one.
bool perhaps__guard_test_refuted(struct perhaps__guard_test *test, uint64_t absent, double reported)
{
    (void)__atomic_fetch_add(&test->refuted, 1, __ATOMIC_RELAXED);
    (void)__atomic_fetch_add(&test->pending, 1, __ATOMIC_RELAXED);
    if (pthread_mutex_trylock(&test->lock) != 0) {
        return false;
    }
    bool raise = take_into_account(test, absent, reported);
    (void)pthread_mutex_unlock(&test->lock);
    return raise;
}
