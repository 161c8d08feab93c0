// SPDX-License-Identifier: MIT
// The calls for many keys: a block of keys is hashed and placed, then handed to the layer, which keeps many memory
// accesses in flight.
#include "filter.h"

#include "hash.h"
#include "place.h"

// Keys of one block. 256 hashes are 2 KiB: they stay in the first-level cache beside the keys.
#define BLOCK 256

// One batch: where its hashes come from, and where its results go.
struct batch {
    const perhaps_filter *filter;
    perhaps_filter *changed;          // the same filter when adding, otherwise NULL
    const struct perhaps__keys *keys; // or, when NULL, hashes
    const uint64_t *hashes;
    size_t count;
    uint8_t *out;
};

// How many of the keys first to first + count - 1 may be used before one that is none.
static size_t valid_keys(const struct perhaps__keys *keys, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!perhaps__key_is_valid(keys, first + i)) {
            return i;
        }
    }
    return count;
}

static void place_block(const struct batch *batch, size_t first, size_t count, uint64_t *placed)
{
    const uint64_t *hashes = batch->hashes + first;
    if (batch->keys != NULL) {
        perhaps__hash_keys(batch->keys, first, count, batch->filter->seed, placed);
        hashes = placed;
    }
    for (size_t i = 0; i < count; i++) {
        placed[i] = perhaps__place(hashes[i], batch->filter->seed_key);
    }
}

static void run_block(const struct batch *batch, size_t first, size_t count)
{
    uint64_t placed[BLOCK];
    place_block(batch, first, count, placed);
    uint8_t *out = batch->out != NULL ? batch->out + first : NULL;
    if (batch->changed != NULL) {
        perhaps__layer_add_many(&batch->changed->layer, placed, count, out);
    } else {
        perhaps__layer_might_contain_many(&batch->filter->layer, placed, count, out);
    }
}

// 0, or why the batch cannot begin.
static int check_batch(const struct batch *batch)
{
    if (batch->filter == NULL) {
        return PERHAPS_E_ARGUMENT;
    }
    if (batch->keys != NULL && batch->filter->hash_source == PERHAPS_HASH_CALLER) {
        return PERHAPS_E_UNSUPPORTED;
    }
    if (batch->changed != NULL && perhaps__filter_is_read_only(batch->filter)) {
        return PERHAPS_E_READ_ONLY;
    }
    bool has_keys = batch->keys != NULL ? batch->keys->offsets != NULL ||
                                              (batch->keys->pointers != NULL && batch->keys->lengths != NULL)
                                        : batch->hashes != NULL;
    bool has_out = batch->out != NULL || batch->changed != NULL;
    return batch->count == 0 || (has_keys && has_out) ? PERHAPS_OK : PERHAPS_E_ARGUMENT;
}

static int run(const struct batch *batch, size_t *done)
{
    size_t handled = 0;
    int status = check_batch(batch);
    while (status == PERHAPS_OK && handled < batch->count) {
        size_t count = (size_t)perhaps__min(batch->count - handled, BLOCK);
        size_t valid = batch->keys != NULL ? valid_keys(batch->keys, handled, count) : count;
        run_block(batch, handled, valid);
        handled += valid;
        status = valid < count ? PERHAPS_E_ARGUMENT : PERHAPS_OK;
    }
    if (done != NULL) {
        *done = handled;
    }
    return status;
}

static int add_keys(perhaps_filter *filter, const struct perhaps__keys *keys, size_t count, uint8_t *out, size_t *done)
{
    return run(&(struct batch){.filter = filter, .changed = filter, .keys = keys, .count = count, .out = out}, done);
}

static int ask_keys(const perhaps_filter *filter, const struct perhaps__keys *keys, size_t count, uint8_t *out,
                    size_t *done)
{
    return run(&(struct batch){.filter = filter, .keys = keys, .count = count, .out = out}, done);
}

int perhaps_add_many(perhaps_filter *filter, const void *data, const uint64_t *offsets, size_t count, uint8_t *out,
                     size_t *done)
{
    return add_keys(filter, &(struct perhaps__keys){.data = data, .offsets = offsets}, count, out, done);
}

int perhaps_add_many_pointers(perhaps_filter *filter, const void *const *keys, const size_t *lengths, size_t count,
                              uint8_t *out, size_t *done)
{
    return add_keys(filter, &(struct perhaps__keys){.pointers = keys, .lengths = lengths}, count, out, done);
}

int perhaps_add_many_hash(perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out, size_t *done)
{
    struct batch batch = {.filter = filter, .changed = filter, .hashes = hashes, .count = count, .out = out};
    return run(&batch, done);
}

int perhaps_might_contain_many(const perhaps_filter *filter, const void *data, const uint64_t *offsets, size_t count,
                               uint8_t *out, size_t *done)
{
    return ask_keys(filter, &(struct perhaps__keys){.data = data, .offsets = offsets}, count, out, done);
}

int perhaps_might_contain_many_pointers(const perhaps_filter *filter, const void *const *keys, const size_t *lengths,
                                        size_t count, uint8_t *out, size_t *done)
{
    return ask_keys(filter, &(struct perhaps__keys){.pointers = keys, .lengths = lengths}, count, out, done);
}

int perhaps_might_contain_many_hash(const perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out,
                                    size_t *done)
{
    return run(&(struct batch){.filter = filter, .hashes = hashes, .count = count, .out = out}, done);
}
