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

// Hashes seen lately, all of the sample. A hash is in the cache line that it chooses, and nowhere else, with the age in
// which it was seen last in its lowest four bits, which are 0 in the sample. An age ends when so many hashes were new
// to it; what is of the age that runs or of the one before was seen lately, and all other places are free. (A fuzzer,
// which makes a guard for a few questions, wants few.)
#ifndef PERHAPS__GUARD_SEEN
#define PERHAPS__GUARD_SEEN 8192
#endif
#define PERHAPS__GUARD_SEEN_LINES (PERHAPS__GUARD_SEEN / 2) // of two ages, four hashes in the mean
#define PERHAPS__GUARD_SEEN_PLACES 8
struct perhaps__guard_seen {
    uint64_t lines[PERHAPS__GUARD_SEEN_LINES][PERHAPS__GUARD_SEEN_PLACES];
    uint64_t count; // that were new to their age, estimated from one in 16
} __attribute__((aligned(64)));

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

static inline uint64_t *perhaps__guard_seen_line(struct perhaps__guard_seen *seen, uint64_t hash)
{
    return seen->lines[hash / PERHAPS__GUARD_SAMPLE % PERHAPS__GUARD_SEEN_LINES];
}

// Whether the hash was not seen lately; now it is. Any thread; beside others, two may both be told that it is new.
bool perhaps__guard_see(struct perhaps__guard_seen *seen, uint64_t hash);

// Sends for the line that this hash will need: another processor may have written it last.
static inline void perhaps__guard_see_soon(struct perhaps__guard_seen *seen, uint64_t hash)
{
    __builtin_prefetch(perhaps__guard_seen_line(seen, hash), 1);
}

// Begins anew, for a filter that promises p; `absent` keys of the sample were turned away before.
void perhaps__guard_test_begin(struct perhaps__guard_test *test, double p, uint64_t absent);

// Takes a refuted key of the sample into account that was not seen before. `absent` were turned away by now; `reported` is
// the share of "perhaps" answers that were reported. True: the alarm is to be raised, and this caller is who does it.
bool perhaps__guard_test_refuted(struct perhaps__guard_test *test, uint64_t absent, double reported);

#endif
