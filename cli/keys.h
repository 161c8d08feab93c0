// SPDX-License-Identifier: MIT
//
// What several commands do with a batch of keys.
#ifndef PERHAPS_CLI_KEYS_H
#define PERHAPS_CLI_KEYS_H

#include <perhaps/perhaps.h>

#include "input.h"

// Prints the keys [first, past) of a batch, unchanged, each with a separator behind it.
void print_keys(const struct input *input, const struct batch *batch, size_t first, size_t past);

// Standard output is up to date before the tool waits for input, and with --line-buffered after every batch.
void flush_if_waiting(const struct arguments *arguments, const struct batch *batch);

// A filter of no size, used only for perhaps_hash(): as the library hashes keys for a filter with this seed.
int hasher_create(uint64_t seed, perhaps_filter **hasher);
void hash_keys(const perhaps_filter *hasher, const struct batch *batch, uint64_t hashes[BATCH_KEYS]);

// Adds what visit_keys() reads; the context is a struct adder.
struct adder {
    const char *path;
    perhaps_filter *filter;
    uint64_t keys; // read so far
};
int add_batch(void *context, const struct input *input, const struct batch *batch);

// "F: 100 keys read, 90 new, 10 perhaps there before", and the warning of filter_warn_if_overfull().
void tell_added(const struct arguments *arguments, const char *path, const perhaps_filter *filter, uint64_t keys,
                uint64_t adds_before);

#endif
