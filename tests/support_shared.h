// SPDX-License-Identifier: MIT
// Several threads that do the same to one filter, and the filters that are tested so: each kind, fixed and growing.
#ifndef PERHAPS_TESTS_SUPPORT_SHARED_H
#define PERHAPS_TESTS_SUPPORT_SHARED_H

#include <fnmatch.h>
#include <pthread.h>

#include "support.h"

#define MOST_THREADS 16

// One thread of several that do the same beside each other.
struct worker {
    perhaps_filter *filter;
    unsigned number;
    unsigned threads;
    uint64_t keys;
    uint64_t won;       // adds that returned 1
    uint64_t missed;    // resident keys that were called absent: there must be none
    uint64_t asked;     // resident keys asked for
    uint64_t failed;    // calls that failed
    uint64_t *progress; // keys of this thread whose adding has returned
    const int *stop;
    uint8_t *wins;  // a counter for each key
    uint8_t *added; // whether an add of it was not refused
};

typedef void *work_function(void *worker);

// A hash for key number i. Keys from RESIDENT on are added before the threads start.
#define RESIDENT (UINT64_C(1) << 40)

static inline uint64_t hash_of(uint64_t number)
{
    return number * UINT64_C(0x9e3779b97f4a7c15) + 12345;
}

static inline void run_threads(work_function *work, struct worker *workers, unsigned count)
{
    pthread_t threads[MOST_THREADS + 2];
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
}

static inline void add_alone(perhaps_filter *filter, uint64_t first, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        assert_true(perhaps_add_hash(filter, hash_of(first + i)) >= 0);
    }
}

static inline uint64_t count_missing(const perhaps_filter *filter, uint64_t first, uint64_t count)
{
    uint64_t missing = 0;
    for (uint64_t i = 0; i < count; i++) {
        missing += perhaps_might_contain_hash(filter, hash_of(first + i)) == 0;
    }
    return missing;
}

// ---- the filters that are tested

struct variant {
    const char *name;
    perhaps_options options;
    bool counts;
    bool removes;
};

static const struct variant variants[] = {
    {"bloom", {.kind = PERHAPS_KIND_BLOOM}, false, false},
    {"blocked", {.kind = PERHAPS_KIND_BLOCKED}, false, false},
    {"counting", {.kind = PERHAPS_KIND_COUNTING}, true, true},
    {"counting of 8 bits", {.kind = PERHAPS_KIND_COUNTING, .counter_bits = 8}, true, true},
    {"counting of 16 bits", {.kind = PERHAPS_KIND_COUNTING, .counter_bits = 16}, true, true},
    {"counting, conservative",
     {.kind = PERHAPS_KIND_COUNTING, .policy = PERHAPS_POLICY_CONSERVATIVE, .counter_bits = 8},
     true,
     false},
    {"cuckoo", {.kind = PERHAPS_KIND_CUCKOO}, true, true},
    {"cuckoo, 20 bits in 2 slots", {.kind = PERHAPS_KIND_CUCKOO, .slots = 2, .fingerprint_bits = 20}, true, true},
    {"cuckoo, 31 bits in 8 slots", {.kind = PERHAPS_KIND_CUCKOO, .slots = 8, .fingerprint_bits = 31}, true, true},
    {"cuckoo, unique", {.kind = PERHAPS_KIND_CUCKOO, .policy = PERHAPS_POLICY_UNIQUE}, false, false},
    {"bloom, growing", {.kind = PERHAPS_KIND_BLOOM, .at_capacity = PERHAPS_AT_CAPACITY_GROW}, false, false},
    {"blocked, growing", {.kind = PERHAPS_KIND_BLOCKED, .at_capacity = PERHAPS_AT_CAPACITY_GROW}, false, false},
    {"cuckoo, growing", {.kind = PERHAPS_KIND_CUCKOO, .at_capacity = PERHAPS_AT_CAPACITY_GROW}, false, false},
    {"cuckoo, growing, copies",
     {.kind = PERHAPS_KIND_CUCKOO, .at_capacity = PERHAPS_AT_CAPACITY_GROW, .policy = PERHAPS_POLICY_MULTISET},
     true,
     true},
};

// Only those of such a name (fnmatch(3)).
static const char *variant_pattern = "*";

#define FOR_EACH_VARIANT(variant)                                                                                      \
    for (const struct variant *variant = variants; variant < variants + SUPPORT_COUNT(variants); variant++)            \
        if (fnmatch(variant_pattern, variant->name, 0) == 0)

static inline bool grows(const struct variant *variant)
{
    return variant->options.at_capacity == PERHAPS_AT_CAPACITY_GROW;
}

// Growing ones begin at a hundredth of what they will hold.
static inline perhaps_filter *make(const struct variant *variant, uint64_t keys, uint32_t flags)
{
    perhaps_options options = variant->options;
    options.size = sizeof options;
    options.capacity = grows(variant) ? keys / 100 + 1 : keys;
    options.fpr = 0.001;
    options.flags = flags;
    return support_create(&options);
}

static inline void init_workers(struct worker *workers, unsigned count, perhaps_filter *filter, uint64_t keys)
{
    for (unsigned i = 0; i < count; i++) {
        workers[i] = (struct worker){.filter = filter, .number = i, .threads = count, .keys = keys};
    }
}

#endif
