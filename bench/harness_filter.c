// SPDX-License-Identifier: MIT
// Our own filters as subjects, kind by kind, through the public interface alone.
#define XXH_INLINE_ALL
#include <stdlib.h>
#include <xxhash.h>

#include "harness.h"
#include "limit.h"

#define SMALL ((size_t)64 << 10) // such allocations hold no bits

// The filter's memory in pages of one size; remembers where the bits are.
struct memory {
    perhaps_allocator allocator;
    enum pages pages;
    void *largest;
    size_t largest_bytes;
};

static void *allocate(void *context, size_t bytes, size_t alignment)
{
    struct memory *memory = context;
    bool holds_bits = bytes >= memory->largest_bytes;
    void *given = NULL;
    if (bytes >= SMALL) {
        given = harness_allocate(bytes, memory->pages);
    } else if (posix_memalign(&given, alignment, bytes) != 0) {
        return NULL;
    }
    if (holds_bits) {
        memory->largest = given;
        memory->largest_bytes = bytes;
    }
    return given;
}

static void release(void *context, void *given, size_t bytes, size_t alignment)
{
    (void)context;
    (void)alignment;
    if (bytes >= SMALL) {
        harness_release(given, bytes);
    } else {
        free(given);
    }
}

static void clear(struct subject *subject)
{
    harness_must(perhaps_clear(subject->filter), "clear");
}

static void add_single(struct job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        job->out[i] = (uint8_t)perhaps_add_hash(job->filter, job->hashes[i]);
    }
}

static void add_batch(struct job *job)
{
    harness_must(perhaps_add_many_hash(job->filter, job->hashes, job->count, job->out, NULL), "add");
}

static void ask_single(struct job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        job->out[i] = (uint8_t)perhaps_might_contain_hash(job->filter, job->hashes[i]);
    }
}

static void ask_batch(struct job *job)
{
    harness_must(perhaps_might_contain_many_hash(job->filter, job->hashes, job->count, job->out, NULL), "look-up");
}

static void count_single(struct job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        job->out[i] = (uint8_t)perhaps_might_contain_times_hash(job->filter, job->hashes[i], 1);
    }
}

static void count_batch(struct job *job)
{
    harness_must(perhaps_might_contain_times_many_hash(job->filter, job->hashes, job->count, 1, job->out, NULL),
                 "count");
}

static void remove_single(struct job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        job->out[i] = (uint8_t)perhaps_remove_hash(job->filter, job->hashes[i]);
    }
}

static void remove_batch(struct job *job)
{
    harness_must(perhaps_remove_many_hash(job->filter, job->hashes, job->count, job->out, NULL), "remove");
}

// A seed that the compiler does not know, as in the library: with a constant one it computes half of the hash.
static volatile uint64_t opaque_seed;

// The harness could look at the sum, so that nothing of this is deleted.
static void hash_strings(struct job *job)
{
    uint64_t seed = opaque_seed;
    const struct strings *strings = job->strings;
    uint64_t sum = 0;
    for (size_t i = 0; i < strings->count; i++) {
        uint64_t from = strings->offsets[i];
        sum ^= XXH3_64bits_withSeed(strings->data + from, strings->offsets[i + 1] - from, seed);
    }
    job->sum = sum;
}

static void add_strings_single(struct job *job)
{
    const struct strings *strings = job->strings;
    for (size_t i = 0; i < strings->count; i++) {
        job->out[i] = (uint8_t)perhaps_add(job->filter, strings->pointers[i], strings->lengths[i]);
    }
}

static void add_strings_batch(struct job *job)
{
    const struct strings *strings = job->strings;
    harness_must(perhaps_add_many(job->filter, strings->data, strings->offsets, strings->count, job->out, NULL), "add");
}

static void ask_strings_single(struct job *job)
{
    const struct strings *strings = job->strings;
    for (size_t i = 0; i < strings->count; i++) {
        job->out[i] = (uint8_t)perhaps_might_contain(job->filter, strings->pointers[i], strings->lengths[i]);
    }
}

static void ask_strings_batch(struct job *job)
{
    const struct strings *strings = job->strings;
    harness_must(
        perhaps_might_contain_many(job->filter, strings->data, strings->offsets, strings->count, job->out, NULL),
        "look-up");
}

static void ask_strings_pointers(struct job *job)
{
    const struct strings *strings = job->strings;
    harness_must(perhaps_might_contain_many_pointers(job->filter, strings->pointers, strings->lengths, strings->count,
                                                     job->out, NULL),
                 "look-up");
}

// Every key that was added, once.
static void check_all(const struct subject *subject, struct keys *keys)
{
    for (uint64_t first = 0; first < keys->hashes; first += keys->block) {
        size_t count = harness_block(keys, first);
        harness_must(perhaps_might_contain_many_hash(subject->filter, keys->block_hashes, count, keys->out, NULL),
                     "look-up");
        for (size_t i = 0; i < count; i++) {
            if (keys->out[i] != 1) {
                harness_die("%s, %llu keys: A FALSE NEGATIVE (key %zu of the block from %llu)", subject->name,
                            (unsigned long long)subject->keys, i, (unsigned long long)first);
            }
        }
    }
}

static void take_statistics(struct subject *subject)
{
    perhaps_statistics statistics = {.size = sizeof statistics};
    harness_must(perhaps_stats(subject->filter, &statistics), "statistics");
    subject->bytes = statistics.bytes;
    subject->positions = statistics.positions;
    subject->bits_per_key = statistics.bits_per_key;
    subject->fpr_now = statistics.fpr_now;
}

static const struct filling by_single = {OP_ADD_SINGLE, OP_STRING_ADD_SINGLE, clear, add_single, add_strings_single};
static const struct filling by_batch = {OP_ADD_BATCH, OP_STRING_ADD_BATCH, clear, add_batch, add_strings_batch};

// Not where a second copy of every key needs a slot of its own.
static const struct step again[] = {{OP_ADD_AGAIN, ASKED_PRESENT, add_batch}};

static const struct step steps[] = {
    {OP_PRESENT_SINGLE, ASKED_PRESENT, ask_single},
    {OP_PRESENT_BATCH, ASKED_PRESENT, ask_batch},
    {OP_ABSENT_SINGLE, ASKED_ABSENT, ask_single},
    {OP_ABSENT_BATCH, ASKED_ABSENT, ask_batch},
    {OP_MIXED_SINGLE, ASKED_MIXED, ask_single},
    {OP_MIXED_BATCH, ASKED_MIXED, ask_batch},
    {OP_STRING_HASH, ASKED_PRESENT, hash_strings},
    {OP_STRING_PRESENT_SINGLE, ASKED_PRESENT, ask_strings_single},
    {OP_STRING_PRESENT_BATCH, ASKED_PRESENT, ask_strings_batch},
    {OP_STRING_PRESENT_POINTERS, ASKED_PRESENT, ask_strings_pointers},
    {OP_STRING_ABSENT_SINGLE, ASKED_ABSENT, ask_strings_single},
    {OP_STRING_ABSENT_BATCH, ASKED_ABSENT, ask_strings_batch},
    {OP_STRING_ABSENT_POINTERS, ASKED_ABSENT, ask_strings_pointers},
};

static const struct step counting_steps[] = {
    {OP_COUNT_SINGLE, ASKED_PRESENT, count_single},
    {OP_COUNT_BATCH, ASKED_PRESENT, count_batch},
};

// Whether the kind removes.
static bool removes(perhaps_filter *filter)
{
    return perhaps_remove_many_hash(filter, NULL, 0, NULL, NULL) == PERHAPS_OK;
}

// Whether every copy of a key takes room.
static bool keeps_copies(const perhaps_filter *filter)
{
    perhaps_statistics statistics = {.size = sizeof statistics};
    harness_must(perhaps_stats(filter, &statistics), "statistics");
    return statistics.kind == PERHAPS_KIND_CUCKOO && statistics.policy == PERHAPS_POLICY_MULTISET;
}

static void measure(struct subject *subject, struct keys *keys, unsigned repetition)
{
    harness_fill(subject, keys, &by_single, repetition);
    if (removes(subject->filter)) {
        harness_drain(subject, keys, OP_REMOVE_SINGLE, remove_single, repetition);
        harness_fill(subject, keys, &by_batch, repetition);
        harness_run_steps(subject, keys, counting_steps, sizeof counting_steps / sizeof counting_steps[0], repetition);
        harness_drain(subject, keys, OP_REMOVE_BATCH, remove_batch, repetition);
    }
    harness_fill(subject, keys, &by_batch, repetition);
    if (repetition == 0) {
        check_all(subject, keys);
        take_statistics(subject);
        subject->huge_share = harness_huge_share(subject->array);
    }
    limit_measure(subject, keys, repetition);
    if (!keeps_copies(subject->filter)) {
        harness_run_steps(subject, keys, again, sizeof again / sizeof again[0], repetition);
    }
    harness_run_steps(subject, keys, steps, sizeof steps / sizeof steps[0], repetition);
}

static void release_filter(struct subject *subject)
{
    perhaps_free(subject->filter);
    free(subject->context);
}

struct subject *harness_filter_new(uint32_t kind, const struct keys *keys, double fpr, enum pages pages)
{
    struct subject *subject = calloc(1, sizeof *subject);
    struct memory *memory = calloc(1, sizeof *memory);
    if (subject == NULL || memory == NULL) {
        harness_die("no memory");
    }
    *memory = (struct memory){.allocator = {memory, allocate, release}, .pages = pages};
    perhaps_options options = {.size = sizeof options, .kind = kind, .capacity = keys->total, .fpr = fpr};
    options.allocator = &memory->allocator;
    perhaps_filter *filter = NULL;
    perhaps_error error = {.size = sizeof error};
    if (perhaps_create(&options, &filter, &error) < 0) {
        harness_die("%s, %llu keys: %s", perhaps_kind_name(kind), (unsigned long long)keys->total, error.text);
    }
    *subject = (struct subject){
        .name = perhaps_kind_name(kind),
        .pages = pages,
        .keys = keys->total,
        .fpr = fpr,
        .limits = subject,
        .filter = filter,
        .array = memory->largest,
        .context = memory,
        .measure = measure,
        .release = release_filter,
    };
    take_statistics(subject);
    return subject;
}
