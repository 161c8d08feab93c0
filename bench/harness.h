// SPDX-License-Identifier: MIT
// What the parts of the benchmark share: operations, the keys that every subject gets, and what was measured. A subject
// is one filter of one size in memory of one page size, ours or a peer's. bench/README.md explains the method.
#ifndef PERHAPS_BENCH_HARNESS_H
#define PERHAPS_BENCH_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "perhaps/perhaps.h"

#define HARNESS_MAX_REPEAT 99
#define HARNESS_MAX_SUBJECTS 256

// X(enumerator, name, whether it adds, legend)
#define HARNESS_OPERATIONS(X)                                                                                          \
    X(LIMIT_DEPENDENT, "limit: dependent", false, "reads, each line chosen with the value read before: latency")       \
    X(LIMIT_INDEPENDENT, "limit: independent", false, "reads in a plain loop: what the processor overlaps by itself")  \
    X(LIMIT_PREFETCHED, "limit: prefetched", false, "reads, lines fetched into L2 128 ahead: THE LINE LIMIT")          \
    X(LIMIT_WRITE, "limit: write", true, "the same, 8 bytes of the line read and written: THE WRITE LIMIT")            \
    X(ADD_SINGLE, "add, single", true, "one call for each ready hash, from empty to nearly full")                      \
    X(ADD_BATCH, "add, batch", true, "the same keys in calls for up to 2^24 of them")                                  \
    X(ADD_AGAIN, "add again, batch", true, "keys that are there already")                                              \
    X(PRESENT_SINGLE, "present, single", false, "look-up of added keys, one call for each ready hash")                 \
    X(PRESENT_BATCH, "present, batch", false, "the same in one call")                                                  \
    X(ABSENT_SINGLE, "absent, single", false, "look-up of keys that were never added")                                 \
    X(ABSENT_BATCH, "absent, batch", false, "")                                                                        \
    X(MIXED_SINGLE, "mixed, single", false, "half of them added, in random order")                                     \
    X(MIXED_BATCH, "mixed, batch", false, "")                                                                          \
    X(COUNT_SINGLE, "count, single", false, "perhaps_might_contain_times of added keys: every counter is looked at")   \
    X(COUNT_BATCH, "count, batch", false, "the same in one call")                                                      \
    X(REMOVE_SINGLE, "remove, single", true, "every ready hash, once, in the order in which they were added")          \
    X(REMOVE_BATCH, "remove, batch", true, "the same in calls for up to 2^24 of them")                                 \
    X(STRING_HASH, "string: hash alone", false, "XXH3 of the strings below, one after the other; no filter")           \
    X(STRING_ADD_SINGLE, "string: add, single", true, "strings of 16 to 32 bytes, the last keys that fit in")          \
    X(STRING_ADD_BATCH, "string: add, batch", true, "the same by perhaps_add_many")                                    \
    X(STRING_PRESENT_SINGLE, "string: present, single", false, "look-up of added strings, one call for each")          \
    X(STRING_PRESENT_BATCH, "string: present, batch", false, "the same by perhaps_might_contain_many")                 \
    X(STRING_PRESENT_POINTERS, "string: present, pointers", false, "by perhaps_might_contain_many_pointers")           \
    X(STRING_ABSENT_SINGLE, "string: absent, single", false, "")                                                       \
    X(STRING_ABSENT_BATCH, "string: absent, batch", false, "")                                                         \
    X(STRING_ABSENT_POINTERS, "string: absent, pointers", false, "")

#define HARNESS_ENUMERATOR(enumerator, name, adds, legend) OP_##enumerator,
enum operation { HARNESS_OPERATIONS(HARNESS_ENUMERATOR) OP_COUNT };
#undef HARNESS_ENUMERATOR

struct operation_text {
    const char *name;
    bool adds;
    const char *legend;
};
extern const struct operation_text harness_operations[OP_COUNT];

// ---------------------------------------------------------------- harness.c: time, medians, memory, failure

// Prints a sentence and ends the program.
_Noreturn void harness_die(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Ends the program when a call of the library failed.
void harness_must(int result, const char *what);

// Argument number i of a program, a count such as "10000000" or "1e7", or `otherwise` where there is none; ends the
// program when it is no count from 1 to 10^12.
uint64_t harness_count(int argc, char **argv, int i, uint64_t otherwise);

// Nanoseconds of a clock that never runs backwards.
double harness_now(void);

// Of `count` values, at most HARNESS_MAX_REPEAT: of one operation over the repetitions.
struct summary {
    double median;
    double least;
    double most;
};
struct summary harness_summary(const double *values, unsigned count);

// Key number i as a hash.
uint64_t harness_hash(uint64_t i);

// A filter; ends the program when there is none.
perhaps_filter *harness_create(const perhaps_options *options);

enum pages { PAGES_HUGE, PAGES_SMALL, PAGES_OWN }; // own: whatever a peer's allocation gets
const char *harness_pages_name(enum pages pages);

// Zeroed memory in pages of one size; ends the program when there is none.
void *harness_allocate(size_t bytes, enum pages pages);
void harness_release(void *memory, size_t bytes);

// The share of a mapping that the kernel really put into huge pages, from 0 to 1.
double harness_huge_share(const void *memory);

// ---------------------------------------------------------------- harness_keys.c: the same keys for everyone

// Strings of 16 to 32 random bytes, in both shapes that the batch calls take.
struct strings {
    uint8_t *data;
    uint64_t *offsets; // count + 1
    const void **pointers;
    size_t *lengths;
    size_t count;
};

// What is asked for, or added again.
enum asked { ASKED_PRESENT, ASKED_ABSENT, ASKED_MIXED, ASKED_MIXES };

struct keys {
    uint64_t total;         // n: hashes and strings
    uint64_t hashes;        // that are added
    size_t block;           // as many of them are in memory at once
    uint64_t *block_hashes; // see harness_block()
    uint64_t block_first;   // what is there now
    struct strings added;   // the last n/16 keys, at most 2^20, are strings
    size_t queries;
    uint64_t *asked[ASKED_MIXES];
    struct strings strings[2]; // ASKED_PRESENT, ASKED_ABSENT
    uint8_t *out;              // room for the answers to a block, or to all queries
};

struct keys *harness_keys_new(uint64_t total, size_t queries);
void harness_keys_free(struct keys *keys);

// Puts the hashes from `first` on, a multiple of keys->block, into keys->block_hashes and returns how many.
size_t harness_block(struct keys *keys, uint64_t first);

// Whether query i of the mixed ones is a key that was added.
bool harness_mixed_is_present(size_t i);

// Query arrays can be fetched this many keys past their end.
#define HARNESS_SLACK 1024

// ---------------------------------------------------------------- harness_run.c: measuring

struct subject {
    const char *name;
    enum pages pages;
    uint64_t keys;
    unsigned positions;
    uint64_t bytes; // that hold the bits
    double bits_per_key;
    double fpr;          // asked for
    double fpr_now;      // what the filter says of itself, 0 when it does not
    double fpr_measured; // the false positives among the absent keys of the last repetition
    double huge_share;
    const struct subject *limits;            // the subject on whose array the limits were measured
    double ns[OP_COUNT][HARNESS_MAX_REPEAT]; // for each repetition; 0: not measured
    void *filter;
    uint8_t *array; // the memory that holds the bits
    void *context;
    void (*measure)(struct subject *subject, struct keys *keys, unsigned repetition);
    void (*release)(struct subject *subject);
};

// What one pass over the queries is told.
struct job {
    void *filter;
    const uint64_t *hashes;
    const struct strings *strings;
    size_t count;
    uint8_t *out;
    uint8_t *array;
    uint64_t lines;
    uint64_t sum; // what a pass without answers leaves, so that its reads are needed
};

typedef void pass_function(struct job *job);

// Nanoseconds a key of passes that are repeated for at least 20 ms.
double harness_time(pass_function *pass, struct job *job);

// One row: what is asked, how, and what the answers must be.
struct step {
    enum operation operation;
    enum asked asked;
    pass_function *pass;
};
void harness_run_steps(struct subject *subject, struct keys *keys, const struct step *steps, size_t count,
                       unsigned repetition);

// How a subject is filled. Clearing is not timed.
struct filling {
    enum operation add;
    enum operation add_strings;
    void (*clear)(struct subject *subject);
    pass_function *pass;
    pass_function *pass_strings;
};
void harness_fill(struct subject *subject, struct keys *keys, const struct filling *filling, unsigned repetition);

// Removes every hash from a filter that was filled; all must have been there.
void harness_drain(struct subject *subject, struct keys *keys, enum operation operation, pass_function *pass,
                   unsigned repetition);

// ---------------------------------------------------------------- harness_filter.c, peers.c: the subjects

struct subject *harness_filter_new(uint32_t kind, const struct keys *keys, double fpr, enum pages pages);

// A Debian package's filter, or NULL where it is not built in or cannot be so large.
struct subject *harness_libbloom_new(const struct keys *keys, double fpr);

// counting_yardstick.c: a plain counting filter of 4-bit counters.
struct subject *harness_plain_counting_new(const struct keys *keys, double fpr, enum pages pages);

void harness_subject_release(struct subject *subject); // the filter; what was measured stays

// ---------------------------------------------------------------- harness_report.c, harness_machine.c, harness_targets.c

struct results {
    struct subject *subjects[HARNESS_MAX_SUBJECTS];
    size_t count;
    unsigned repeat;
    double fpr;
    size_t queries;
};

// The median over the repetitions of ours/theirs within each repetition; 0 when one of them was not measured.
double harness_ratio(const double *ours, const double *theirs, unsigned repeat);

// NULL when there is none.
const struct subject *harness_find(const struct results *results, const char *name, uint64_t keys, enum pages pages);

// The table of the subjects first to count - 1, all of one size.
void harness_print_size(const struct results *results, size_t first);
void harness_print_legend(void);
void harness_write_json(FILE *file, const struct results *results, size_t first); // the same subjects

// What was measured, beside what the project asks of itself. A report: nothing depends on it.
void harness_print_targets(const struct results *results);

void harness_machine_print(FILE *file);
void harness_machine_json(FILE *file);
void harness_load_print(bool at_end);

#endif
