// SPDX-License-Identifier: MIT
// The yardstick of counting filters: a plain one of 4-bit counters, as textbooks have it. Of the size and with the k of
// ours, but k separate memory accesses one after the other, and no prefetching; positions come from plain double
// hashing, which is less work than ours.
#define XXH_INLINE_ALL
#include <stdlib.h>
#include <xxhash.h>

#include "harness.h"

#define MOST 15

struct plain {
    uint8_t *bytes; // two counters each
    uint64_t size;
    uint64_t counters;
    unsigned positions;
};

struct walk {
    uint64_t at;
    uint64_t step;
};

static inline struct walk begin(uint64_t hash)
{
    hash = (hash ^ hash >> 33) * UINT64_C(0xff51afd7ed558ccd);
    hash = (hash ^ hash >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
    hash ^= hash >> 33;
    return (struct walk){.at = hash, .step = hash << 32 | hash >> 32};
}

static inline uint64_t next(struct walk *walk, uint64_t counters)
{
    uint64_t position = (uint64_t)(((unsigned __int128)walk->at * counters) >> 64);
    walk->at += walk->step;
    return position;
}

static inline unsigned get(const struct plain *plain, uint64_t counter)
{
    return plain->bytes[counter / 2] >> 4 * (counter % 2) & MOST;
}

static inline void change(struct plain *plain, uint64_t counter, int by)
{
    uint8_t *byte = &plain->bytes[counter / 2];
    *byte = (uint8_t)(*byte + by * (1 << 4 * (counter % 2)));
}

static bool has(const struct plain *plain, uint64_t hash)
{
    struct walk walk = begin(hash);
    for (unsigned i = 0; i < plain->positions; i++) {
        if (get(plain, next(&walk, plain->counters)) == 0) {
            return false;
        }
    }
    return true;
}

static unsigned count(const struct plain *plain, uint64_t hash)
{
    struct walk walk = begin(hash);
    unsigned smallest = MOST;
    for (unsigned i = 0; i < plain->positions; i++) {
        unsigned value = get(plain, next(&walk, plain->counters));
        smallest = value < smallest ? value : smallest;
    }
    return smallest;
}

// Whether the key was new.
static bool add(struct plain *plain, uint64_t hash)
{
    struct walk walk = begin(hash);
    bool is_new = false;
    for (unsigned i = 0; i < plain->positions; i++) {
        uint64_t counter = next(&walk, plain->counters);
        unsigned value = get(plain, counter);
        is_new |= value == 0;
        if (value < MOST) {
            change(plain, counter, 1);
        }
    }
    return is_new;
}

static bool take_back(struct plain *plain, uint64_t hash)
{
    if (!has(plain, hash)) {
        return false;
    }
    struct walk walk = begin(hash);
    for (unsigned i = 0; i < plain->positions; i++) {
        uint64_t counter = next(&walk, plain->counters);
        unsigned value = get(plain, counter);
        if (value > 0 && value < MOST) {
            change(plain, counter, -1);
        }
    }
    return true;
}

static void clear(struct subject *subject)
{
    struct plain *plain = subject->filter;
    memset(plain->bytes, 0, plain->size);
}

static void add_hashes(struct job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        job->out[i] = add(job->filter, job->hashes[i]);
    }
}

static void remove_hashes(struct job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        job->out[i] = take_back(job->filter, job->hashes[i]);
    }
}

static void ask_hashes(struct job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        job->out[i] = has(job->filter, job->hashes[i]);
    }
}

static void count_hashes(struct job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        job->out[i] = count(job->filter, job->hashes[i]) >= 1;
    }
}

static void add_strings(struct job *job)
{
    const struct strings *strings = job->strings;
    for (size_t i = 0; i < strings->count; i++) {
        job->out[i] = add(job->filter, XXH3_64bits(strings->pointers[i], strings->lengths[i]));
    }
}

static const struct filling filling = {OP_ADD_SINGLE, OP_STRING_ADD_SINGLE, clear, add_hashes, add_strings};

static const struct step steps[] = {
    {OP_PRESENT_SINGLE, ASKED_PRESENT, ask_hashes},
    {OP_ABSENT_SINGLE, ASKED_ABSENT, ask_hashes},
    {OP_MIXED_SINGLE, ASKED_MIXED, ask_hashes},
    {OP_COUNT_SINGLE, ASKED_PRESENT, count_hashes},
};

static void measure(struct subject *subject, struct keys *keys, unsigned repetition)
{
    harness_fill(subject, keys, &filling, repetition);
    subject->huge_share = harness_huge_share(subject->array);
    harness_run_steps(subject, keys, steps, sizeof steps / sizeof steps[0], repetition);
    harness_drain(subject, keys, OP_REMOVE_SINGLE, remove_hashes, repetition);
}

static void release(struct subject *subject)
{
    struct plain *plain = subject->filter;
    harness_release(plain->bytes, plain->size);
    free(plain);
}

struct subject *harness_plain_counting_new(const struct keys *keys, double fpr, enum pages pages)
{
    perhaps_options options = {.size = sizeof options, .kind = PERHAPS_KIND_COUNTING, .capacity = keys->total};
    perhaps_sizing sizing = {.size = sizeof sizing};
    options.fpr = fpr;
    harness_must(perhaps_size_for(&options, &sizing, NULL), "size");
    struct subject *subject = calloc(1, sizeof *subject);
    struct plain *plain = calloc(1, sizeof *plain);
    if (subject == NULL || plain == NULL) {
        harness_die("no memory");
    }
    *plain = (struct plain){.size = sizing.bytes, .counters = sizing.bits / 4, .positions = sizing.positions};
    plain->bytes = harness_allocate(plain->size, pages);
    *subject = (struct subject){
        .name = "plain counting",
        .pages = pages,
        .keys = keys->total,
        .positions = plain->positions,
        .bytes = plain->size,
        .bits_per_key = sizing.bits_per_key,
        .fpr = fpr,
        .array = plain->bytes,
        .filter = plain,
        .measure = measure,
        .release = release,
    };
    return subject;
}
