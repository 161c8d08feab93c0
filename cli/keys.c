// SPDX-License-Identifier: MIT
#include "keys.h"

#include <string.h>

#include "messages.h"
#include "options.h"
#include "output.h"
#include "utf8.h"

void print_keys(const struct input *input, const struct batch *batch, size_t first, size_t past)
{
    const char *begin = batch->keys[first];
    const char *end = batch->keys[past];
    output_write(begin, (size_t)(end - begin));
    if (batch->unterminated && past == batch->count) {
        output_write(&input->separator, 1);
    }
}

void json_open_key(struct json *json, const struct input *input, const struct batch *batch, size_t at)
{
    json_open(json, NULL);
    json_string(json, "type", "key");
    json_bytes(json, "file", input->name, strlen(input->name));
    json_unsigned(json, "line", batch->first_line + at);
    json_bytes(json, "key", batch->keys[at], batch->lengths[at]);
}

// An escaped byte takes up to four.
void show_key(char to[SHOWN_KEY_SIZE], const void *key, size_t length)
{
    size_t most = SHOWN_KEY_SIZE / 4;
    (void)utf8_escape(to, SHOWN_KEY_SIZE, key, length < most ? length : most);
}

void flush_if_waiting(const struct arguments *arguments, const struct batch *batch)
{
    if (batch->read_next || given(arguments, OPTION_LINE_BUFFERED)) {
        output_flush();
    }
}

int hasher_create(uint64_t seed, const uint8_t *key, perhaps_filter **hasher)
{
    perhaps_options options = {.size = sizeof options, .capacity = 1, .fpr = 0.01, .seed = seed, .key = key};
    perhaps_error error = {.size = sizeof error};
    int code = perhaps_create(&options, hasher, &error);
    return code < 0 ? fail_library("hash", code, &error) : STATUS_OK;
}

void hash_keys(const perhaps_filter *hasher, const struct batch *batch, uint64_t hashes[BATCH_KEYS])
{
    for (size_t i = 0; i < batch->count; i++) {
        hashes[i] = 0;
        (void)perhaps_hash(hasher, batch->keys[i], batch->lengths[i], &hashes[i]); // fails on CALLER filters only
    }
}
