// SPDX-License-Identifier: MIT
// Filters of Debian packages, as they come. libbloom counts bits in an int, so that 2^31 of them are its end; its keys
// are bytes only, so a ready hash is a key of eight.
#include "harness.h"

#ifdef HARNESS_HAS_LIBBLOOM

#include <bloom.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

static void clear(struct subject *subject)
{
    (void)bloom_reset(subject->filter);
}

static void add(struct job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        job->out[i] = (uint8_t)bloom_add(job->filter, &job->hashes[i], sizeof job->hashes[i]);
    }
}

static void ask(struct job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        job->out[i] = (uint8_t)bloom_check(job->filter, &job->hashes[i], sizeof job->hashes[i]);
    }
}

static void add_strings(struct job *job)
{
    const struct strings *strings = job->strings;
    for (size_t i = 0; i < strings->count; i++) {
        job->out[i] = (uint8_t)bloom_add(job->filter, strings->pointers[i], (int)strings->lengths[i]);
    }
}

static void ask_strings(struct job *job)
{
    const struct strings *strings = job->strings;
    for (size_t i = 0; i < strings->count; i++) {
        job->out[i] = (uint8_t)bloom_check(job->filter, strings->pointers[i], (int)strings->lengths[i]);
    }
}

static const struct filling filling = {OP_ADD_SINGLE, OP_STRING_ADD_SINGLE, clear, add, add_strings};

static const struct step steps[] = {
    {OP_PRESENT_SINGLE, ASKED_PRESENT, ask},
    {OP_ABSENT_SINGLE, ASKED_ABSENT, ask},
    {OP_MIXED_SINGLE, ASKED_MIXED, ask},
    {OP_STRING_PRESENT_SINGLE, ASKED_PRESENT, ask_strings},
    {OP_STRING_ABSENT_SINGLE, ASKED_ABSENT, ask_strings},
};

static void measure(struct subject *subject, struct keys *keys, unsigned repetition)
{
    harness_fill(subject, keys, &filling, repetition);
    harness_run_steps(subject, keys, steps, sizeof steps / sizeof steps[0], repetition);
}

static void release(struct subject *subject)
{
    bloom_free(subject->filter);
    free(subject->filter);
}

struct subject *harness_libbloom_new(const struct keys *keys, double fpr)
{
    double bits = -(double)keys->total * log(fpr) / (log(2.0) * log(2.0));
    if (bits >= (double)INT_MAX) {
        return NULL;
    }
    struct subject *subject = calloc(1, sizeof *subject);
    struct bloom *bloom = calloc(1, sizeof *bloom);
    if (subject == NULL || bloom == NULL || bloom_init(bloom, (int)keys->total, fpr) != 0) {
        harness_die("libbloom makes no filter for %llu keys", (unsigned long long)keys->total);
    }
    *subject = (struct subject){
        .name = "libbloom",
        .pages = PAGES_OWN,
        .keys = keys->total,
        .positions = (unsigned)bloom->hashes,
        .bytes = (uint64_t)bloom->bytes,
        .bits_per_key = (double)bloom->bits / (double)keys->total,
        .fpr = fpr,
        .filter = bloom,
        .measure = measure,
        .release = release,
    };
    return subject;
}

#else

struct subject *harness_libbloom_new(const struct keys *keys, double fpr)
{
    (void)keys;
    (void)fpr;
    return NULL;
}

#endif
