// SPDX-License-Identifier: MIT
// Measuring: passes are timed, and the answers of the last one are looked at. A subject that answers wrongly ends the
// program, so that no figure stands beside a wrong answer.
#include "harness.h"

#include <math.h>

#define SHORTEST_TIME 20e6 // nanoseconds that a row is measured at least

double harness_time(pass_function *pass, struct job *job)
{
    double elapsed = 0.0;
    double passes = 0.0;
    double start = harness_now();
    do {
        pass(job);
        passes += 1.0;
        elapsed = harness_now() - start;
    } while (elapsed < SHORTEST_TIME);
    return elapsed / passes / (double)job->count;
}

_Noreturn static void fail(const struct subject *subject, enum operation operation, const char *what, size_t i)
{
    harness_die("%s, %llu keys, %s pages, %s: %s (query %zu)", subject->name, (unsigned long long)subject->keys,
                harness_pages_name(subject->pages), harness_operations[operation].name, what, i);
}

static bool was_added(enum asked asked, size_t i)
{
    return asked == ASKED_PRESENT || (asked == ASKED_MIXED && harness_mixed_is_present(i));
}

// The false positives among absent keys.
static uint64_t check_answers(const struct subject *subject, const struct step *step, const struct job *job)
{
    uint64_t false_positives = 0;
    bool adds = harness_operations[step->operation].adds;
    for (size_t i = 0; i < job->count; i++) {
        bool added = was_added(step->asked, i);
        if (job->out[i] > 1) {
            fail(subject, step->operation, "an error instead of an answer", i);
        }
        if (added && adds && job->out[i] != 0) {
            fail(subject, step->operation, "a key that was there changed the filter", i);
        }
        if (added && !adds && job->out[i] != 1) {
            fail(subject, step->operation, "A FALSE NEGATIVE", i);
        }
        false_positives += !added && job->out[i] == 1;
    }
    return false_positives;
}

// One and a half times what is expected, for filters scatter, and five standard deviations, for samples do.
static bool too_many(uint64_t false_positives, double fpr, size_t asked)
{
    double expected = fpr * (double)asked;
    return (double)false_positives > 1.5 * expected + 5.0 * sqrt(expected);
}

static void run_step(struct subject *subject, struct keys *keys, const struct step *step, unsigned repetition)
{
    struct job job = {.filter = subject->filter, .count = keys->queries, .out = keys->out};
    if (step->operation < OP_STRING_HASH) {
        job.hashes = keys->asked[step->asked];
    } else {
        job.strings = &keys->strings[step->asked];
    }
    subject->ns[step->operation][repetition] = harness_time(step->pass, &job);
    if (step->operation == OP_STRING_HASH) {
        return;
    }
    uint64_t false_positives = check_answers(subject, step, &job);
    if (step->asked == ASKED_ABSENT) {
        double measured = (double)false_positives / (double)job.count;
        if (too_many(false_positives, subject->fpr, job.count)) {
            fail(subject, step->operation, "far more false positives than promised", (size_t)false_positives);
        }
        if (step->operation < OP_STRING_HASH) {
            subject->fpr_measured = measured;
        }
    }
}

void harness_run_steps(struct subject *subject, struct keys *keys, const struct step *steps, size_t count,
                       unsigned repetition)
{
    for (size_t i = 0; i < count; i++) {
        run_step(subject, keys, &steps[i], repetition);
    }
}

static double timed(pass_function *pass, struct job *job)
{
    double start = harness_now();
    pass(job);
    return harness_now() - start;
}

void harness_fill(struct subject *subject, struct keys *keys, const struct filling *filling, unsigned repetition)
{
    double hashes_time = 0.0;
    double strings_time = 0.0;
    double fills = 0.0;
    do {
        filling->clear(subject);
        for (uint64_t first = 0; first < keys->hashes; first += keys->block) {
            struct job job = {.filter = subject->filter, .count = harness_block(keys, first), .out = keys->out};
            job.hashes = keys->block_hashes;
            hashes_time += timed(filling->pass, &job);
        }
        struct job job = {.filter = subject->filter, .strings = &keys->added, .count = keys->added.count};
        job.out = keys->out;
        strings_time += timed(filling->pass_strings, &job);
        fills += 1.0;
    } while (hashes_time < SHORTEST_TIME);
    subject->ns[filling->add][repetition] = hashes_time / fills / (double)keys->hashes;
    subject->ns[filling->add_strings][repetition] = strings_time / fills / (double)keys->added.count;
}

void harness_drain(struct subject *subject, struct keys *keys, enum operation operation, pass_function *pass,
                   unsigned repetition)
{
    double time = 0.0;
    for (uint64_t first = 0; first < keys->hashes; first += keys->block) {
        struct job job = {.filter = subject->filter, .count = harness_block(keys, first), .out = keys->out};
        job.hashes = keys->block_hashes;
        time += timed(pass, &job);
        for (size_t i = 0; i < job.count; i++) {
            if (job.out[i] != 1) {
                fail(subject, operation, "an added key was not removed", i);
            }
        }
    }
    subject->ns[operation][repetition] = time / (double)keys->hashes;
}
