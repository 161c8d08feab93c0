// SPDX-License-Identifier: MIT
#include "keys.h"

#include <inttypes.h>

#include "filterfile.h"
#include "messages.h"
#include "options.h"
#include "output.h"
#include "progress.h"

void print_keys(const struct input *input, const struct batch *batch, size_t first, size_t past)
{
    const char *begin = batch->keys[first];
    const char *end = batch->keys[past];
    output_write(begin, (size_t)(end - begin));
    if (batch->unterminated && past == batch->count) {
        output_write(&input->separator, 1);
    }
}

void flush_if_waiting(const struct arguments *arguments, const struct batch *batch)
{
    if (batch->read_next || given(arguments, OPTION_LINE_BUFFERED)) {
        output_flush();
    }
}

int hasher_create(uint64_t seed, perhaps_filter **hasher)
{
    perhaps_options options = {.size = sizeof options, .capacity = 1, .fpr = 0.01, .seed = seed};
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

int add_batch(void *context, const struct input *input, const struct batch *batch)
{
    (void)input;
    struct adder *adder = context;
    int code = perhaps_add_many_pointers(adder->filter, batch->keys, batch->lengths, batch->count, NULL, NULL);
    if (code < 0) {
        return fail(adder->path, "%s", perhaps_message(code));
    }
    adder->keys += batch->count;
    progress_show(adder->keys);
    return STATUS_OK;
}

void tell_added(const struct arguments *arguments, const char *path, const perhaps_filter *filter, uint64_t keys,
                uint64_t adds_before)
{
    perhaps_statistics statistics;
    filter_statistics(filter, &statistics);
    uint64_t added = statistics.adds - adds_before;
    if (!given(arguments, OPTION_QUIET)) {
        tell(path, "%" PRIu64 " key%s read, %" PRIu64 " new, %" PRIu64 " perhaps there before", keys, plural(keys),
             added, keys - added);
    }
    filter_warn_if_overfull(path, filter);
}
