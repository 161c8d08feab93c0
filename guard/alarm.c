// SPDX-License-Identifier: MIT
#include "alarm.h"

#include <math.h>

// Queries within which at most this share of healthy guards may raise an alarm.
#define QUERIES 1e7
#define FALSE_ALARMS 0.01

// Marks of ages: 1 to 15, again and again, as 0 is a free place. A hash that is older than fourteen ages could pass for
// a new one, but its place was free all the while.
#define MARKS 15
#define MARK_BITS UINT64_C(15)

/* ---------------------------------------------------------------- distinct keys */

static uint64_t mark_of(uint64_t age)
{
    return 1 + age % MARKS;
}

// One bit for each place of a line.
struct places {
    uint32_t same;   // the hash, as seen in the age that runs
    uint32_t before; // or in the one before
    uint32_t newer;  // of the age that runs
    uint32_t older;
};

// Without branches, which nobody could predict, and without a loop, which gcc keeps at -O2 if it is not told.
static struct places look(const uint64_t *line, uint64_t hash, uint64_t age)
{
    struct places places = {.same = 0};
    uint64_t mark = mark_of(age);
    uint64_t mark_before = mark_of(age + MARKS - 1);
#pragma GCC unroll 8
    for (uint32_t i = 0; i < PERHAPS__GUARD_SEEN_PLACES; i++) {
        uint64_t there = __atomic_load_n(&line[i], __ATOMIC_RELAXED);
        places.same |= (uint32_t)(there == (hash | mark)) << i;
        places.before |= (uint32_t)(there == (hash | mark_before)) << i;
        places.newer |= (uint32_t)((there & MARK_BITS) == mark) << i;
        places.older |= (uint32_t)((there & MARK_BITS) == mark_before) << i;
    }
    return places;
}

// Where the hash goes: its own place, or one that is free, or one of the age before, or any. Which of them is up to the
// hash, so that each is taken in turn, and nothing stays for fifteen ages.
static uint32_t choose(const struct places *places, uint64_t hash)
{
    const uint32_t all = (1U << PERHAPS__GUARD_SEEN_PLACES) - 1;
    uint32_t those = places->before;
    those = those != 0 ? those : all & ~(places->newer | places->older);
    those = those != 0 ? those : all & ~places->newer;
    those = those != 0 ? those : all;
    uint32_t first = (uint32_t)(hash >> 61);
    uint32_t turned = (those | those << PERHAPS__GUARD_SEEN_PLACES) >> first;
    return (first + (uint32_t)__builtin_ctz(turned)) % PERHAPS__GUARD_SEEN_PLACES;
}

// Plainly written: a compare-and-swap would keep the questions behind it waiting for the line. Of two hashes that are written
// to one place at once, one is lost and counts again when it is seen again.
bool perhaps__guard_see(struct perhaps__guard_seen *seen, uint64_t hash)
{
    uint64_t age = __atomic_load_n(&seen->count, __ATOMIC_RELAXED) / PERHAPS__GUARD_SEEN;
    uint64_t *line = perhaps__guard_seen_line(seen, hash);
    struct places places = look(line, hash, age);
    if (places.same != 0) {
        return false;
    }
    __atomic_store_n(&line[choose(&places, hash)], hash | mark_of(age), __ATOMIC_RELAXED);
    // One in so many is counted for all, chosen by other bits than its line: threads seldom meet at the counter.
    const uint64_t share = 16;
    if ((hash >> 32) % share == 0) {
        (void)__atomic_fetch_add(&seen->count, share, __ATOMIC_RELAXED);
    }
    return places.before == 0;
}

static void forget(struct perhaps__guard_seen *seen)
{
    for (uint32_t i = 0; i < PERHAPS__GUARD_SEEN_LINES; i++) {
        for (uint32_t j = 0; j < PERHAPS__GUARD_SEEN_PLACES; j++) {
            __atomic_store_n(&seen->lines[i][j], 0, __ATOMIC_RELAXED);
        }
    }
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
