// SPDX-License-Identifier: MIT
// The sequential test behind the alarm, over distinct keys; guard.h says what it promises.
#ifndef PERHAPS_GUARD_ALARM_H
#define PERHAPS_GUARD_ALARM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <perhaps/perhaps.h>

// One key in so many takes part: those whose hash ends in zeroes.
#define PERHAPS__GUARD_SAMPLE 16

// Hashes seen lately: two halves, of which the older is forgotten when the newer is full. (A fuzzer, which makes a guard for
// a few questions, wants few.)
#ifndef PERHAPS__GUARD_SEEN
#define PERHAPS__GUARD_SEEN 8192
#endif
struct perhaps__guard_seen {
    uint64_t halves[2][2 * PERHAPS__GUARD_SEEN];
    uint64_t count;   // in the newer half, estimated from one in 16
    uint32_t newer;   // 0 or 1
    uint32_t turning; // somebody empties the older half
};

struct perhaps__guard_test {
    // The filter's, since it came into use.
    double gain;      // of a key that passed: ln(p1/p0)
    double loss;      // of one that was turned away: ln((1 - p0)/(1 - p1))
    double threshold; // h
    double target;    // p0
    // Under the lock.
    pthread_mutex_t lock;
    double level;          // S
    uint64_t absent;       // of the sample, as far as they are in the level
    uint64_t absent_first; // when the filter came into use
    // Any thread.
    uint64_t refuted; // distinct ones of the sample
    uint64_t pending; // of these, not yet in the level
    uint32_t raised;
    struct perhaps__guard_seen turned_away;
    struct perhaps__guard_seen passed;
};

static inline bool perhaps__guard_in_sample(uint64_t hash)
{
    return hash % PERHAPS__GUARD_SAMPLE == 0;
}

// Whether the hash was not seen lately; now it is. Any thread; beside others, two may both be told that it is new.
bool perhaps__guard_see(struct perhaps__guard_seen *seen, uint64_t hash);

// Begins anew, for a filter that promises p; `absent` keys of the sample were turned away before.
void perhaps__guard_test_begin(struct perhaps__guard_test *test, double p, uint64_t absent);

// Takes a refuted key of the sample into account that was not seen before. `absent` were turned away by now; `reported` is
// the share of "perhaps" answers that were reported. True: the alarm is to be raised, and this caller is who does it.
bool perhaps__guard_test_refuted(struct perhaps__guard_test *test, uint64_t absent, double reported);

#endif
