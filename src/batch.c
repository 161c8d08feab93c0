// SPDX-License-Identifier: MIT
// The calls for many keys. Hashes go to the kernel as they are, keys in blocks that are hashed first; kernels keep many
// memory accesses in flight.
#include "filter.h"

#include "hash.h"

// Keys that are hashed together. At the end of each block the kernel's pipeline runs empty; with a thousand keys that
// costs a fraction of a nanosecond each.
#define BLOCK 1024

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
    if (perhaps__keys_are_valid(keys, first, count)) {
        return count;
    }
    size_t valid = 0;
    while (perhaps__keys_are_valid(keys, first + valid, 1)) {
        valid++;
    }
    return valid;
}

static void run_hashes(const struct batch *batch, const uint64_t *hashes, size_t first, size_t count)
{
    uint8_t *out = batch->out != NULL ? batch->out + first : NULL;
    if (batch->changed != NULL) {
        (void)perhaps__filter_add(batch->changed, hashes, count, out);
    } else {
        batch->filter->view.ask_many(&batch->filter->view, hashes, count, out);
    }
}

// Handles keys until the end or one that is none, and returns how many.
static size_t run_keys(const struct batch *batch)
{
    uint64_t hashes[BLOCK];
    size_t handled = 0;
    size_t valid = 1;
    while (valid > 0 && handled < batch->count) {
        valid = valid_keys(batch->keys, handled, (size_t)perhaps__min(batch->count - handled, BLOCK));
        perhaps__hash_keys(batch->keys, handled, valid, batch->filter->seed, hashes);
        run_hashes(batch, hashes, handled, valid);
        handled += valid;
    }
    return handled;
}

static size_t run_batch(const struct batch *batch)
{
    if (batch->keys != NULL) {
        return run_keys(batch);
    }
    run_hashes(batch, batch->hashes, 0, batch->count);
    return batch->count;
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
    int status = check_batch(batch);
    size_t handled = status == PERHAPS_OK && batch->count > 0 ? run_batch(batch) : 0;
    if (done != NULL) {
        *done = handled;
    }
    return status == PERHAPS_OK && handled < batch->count ? PERHAPS_E_ARGUMENT : status;
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
