// SPDX-License-Identifier: MIT
//
// What several commands do with a batch of keys.
#ifndef PERHAPS_CLI_KEYS_H
#define PERHAPS_CLI_KEYS_H

#include <perhaps/perhaps.h>

#include "input.h"
#include "json.h"

// Room for a key in a message: 200 bytes, of which each may be escaped, and the terminator.
enum { SHOWN_KEY_SIZE = 801 };

// Prints the keys [first, past) of a batch, unchanged, each with a separator behind it.
void print_keys(const struct input *input, const struct batch *batch, size_t first, size_t past);

// Begins an object of type "key", with file, line and key; more members may follow.
void json_open_key(struct json *json, const struct input *input, const struct batch *batch, size_t at);

// A key as messages show it, cut to what fits.
void show_key(char to[SHOWN_KEY_SIZE], const void *key, size_t length);

// Standard output is up to date before the tool waits for input, and with --line-buffered after every batch.
void flush_if_waiting(const struct arguments *arguments, const struct batch *batch);

// A filter of no size, used only for perhaps_hash(): as the library hashes keys for a filter with this
// seed, or this secret key (NULL: none).
int hasher_create(uint64_t seed, const uint8_t *key, perhaps_filter **hasher);
void hash_keys(const perhaps_filter *hasher, const struct batch *batch, uint64_t hashes[BATCH_KEYS]);

#endif
