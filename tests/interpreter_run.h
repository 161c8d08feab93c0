// SPDX-License-Identifier: MIT
// What the parts of the interpreter share: the run with its filters and their models. See interpreter.h.
#ifndef PERHAPS_TESTS_INTERPRETER_RUN_H
#define PERHAPS_TESTS_INTERPRETER_RUN_H

#include <stdbool.h>

#include <perhaps/perhaps.h>

#include "interpreter.h"
#include "support_memory.h"

// Keys are numbered; the model is a table of how often each was added, less the removals.
#define KEYS INTERPRETER_KEYS

struct model {
    uint32_t count[KEYS];
    uint64_t results;  // adds that returned 1, as the statistics count them
    uint64_t removals; // removes that returned 1
};

struct run {
    const uint8_t *at;
    const uint8_t *end;
    unsigned keys; // that there are
    perhaps_options options;
    struct support_memory memory;
    perhaps_allocator allocator;
    perhaps_filter *filters[2];
    struct model models[2];
    unsigned which; // the filter of the current operation
    const char *failure;
    struct interpreter_counts counts;
};

#define CHECK(run, condition, text)                                                                                    \
    do {                                                                                                               \
        if (!(condition) && (run)->failure == NULL) {                                                                  \
            (run)->failure = (text);                                                                                   \
        }                                                                                                              \
    } while (0)

static inline uint8_t next_byte(struct run *run)
{
    return run->at < run->end ? *run->at++ : 0;
}

static inline unsigned next_number(struct run *run, unsigned limit)
{
    unsigned high = next_byte(run);
    return (high << 8 | next_byte(run)) % limit;
}

static inline perhaps_filter *current(struct run *run)
{
    return run->filters[run->which];
}

static inline struct model *current_model(struct run *run)
{
    return &run->models[run->which];
}

static inline bool is_caller(const struct run *run)
{
    return run->options.hash_source == PERHAPS_HASH_CALLER;
}

// What the options make of repeated adds.
static inline bool counts_copies(const struct run *run)
{
    return run->options.kind >= PERHAPS_KIND_COUNTING && run->options.policy != PERHAPS_POLICY_UNIQUE;
}

static inline bool can_remove(const struct run *run)
{
    return run->options.kind >= PERHAPS_KIND_COUNTING && run->options.policy <= PERHAPS_POLICY_MULTISET;
}

struct encoded {
    uint8_t *bytes;
    size_t size;
};

struct encoded encode(struct run *run);
void check_unchanged(struct run *run, struct encoded before, const char *text);

// The hash by which a key is known to the current filter.
uint64_t hash_of(struct run *run, unsigned number);

// Asks for a key, by its bytes or its hash.
int ask_one(struct run *run, unsigned number, bool by_hash);

// Whether an answer is possible, as far as the model knows.
void check_answer(struct run *run, unsigned number, int answer);

// Operations on one key.
void add_one(struct run *run);
void ask(struct run *run);
void ask_counts(struct run *run);
void remove_one(struct run *run);

// Operations on many keys.
void add_many(struct run *run);
void ask_many(struct run *run);
void count_many(struct run *run);
void remove_many(struct run *run);
void add_many_with_a_bad_key(struct run *run);

#endif
