// SPDX-License-Identifier: MIT
//
// Adding keys to a filter that may refuse some: the others are added all the same, and the refused ones counted.
#ifndef PERHAPS_CLI_ADDING_H
#define PERHAPS_CLI_ADDING_H

#include <perhaps/perhaps.h>

#include "json.h"
#include "keys.h"

// Keys refused for one cause.
struct refused {
    uint64_t count;
    bool has_example; // not when only hashes are known
    char example[SHOWN_KEY_SIZE];
};

struct adder {
    const struct arguments *arguments;
    const char *path;
    perhaps_filter *filter;
    uint64_t keys;     // read so far
    uint64_t new_keys; // of those; counted here, as the filter's own number stays at the highest once it is there
    struct refused full;
    struct refused copies;
    bool prints; // refused keys, with --verbose
    struct json json;
};

void adder_init(struct adder *adder, const struct arguments *arguments, const char *path, perhaps_filter *filter);
void adder_free(struct adder *adder);

// Add what visit_keys() and spool_replay() read; the context is a struct adder. They complain about everything but
// refused keys.
int add_batch(void *context, const struct input *input, const struct batch *batch);
int add_hashes(void *context, const uint64_t *hashes, size_t count);

// Whether the filter is another one now.
bool adder_has_changed(const struct adder *adder);

static inline uint64_t refused_keys(const struct adder *adder)
{
    return adder->full.count + adder->copies.count;
}

// "F: 100 keys read, 90 new, 10 perhaps there before", and the warning of filter_warn_if_overfull().
void tell_added(const struct adder *adder);

// The same as JSON.
int print_added(struct adder *adder);

// Complains about refused keys, in one line whatever the causes, and returns STATUS_ERROR if there were any. `outcome`
// ends the line.
int fail_refused(const struct adder *adder, const char *outcome);

#endif
