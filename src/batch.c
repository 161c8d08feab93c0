// SPDX-License-Identifier: MIT
// The calls for many keys. Hashes go to the kernel as they are, keys in blocks that are hashed first; kernels keep many
// memory accesses in flight.
#include "filter.h"

#include "hash.h"

// Keys that are hashed together. At the end of each block the kernel's pipeline runs empty; with a thousand keys that
// costs a fraction of a nanosecond each.
#define BLOCK 1024

// The same where every change is recorded first: as many as a record holds.
#define LOGGED_BLOCK 65536

struct batch;

// What is done with hashes that belong to keys `first` and after; how many were handled. Fewer than `count`: the next one
// was refused, and batch->status says why.
typedef size_t verb_function(struct batch *batch, const uint64_t *hashes, size_t first, size_t count);

// One batch: what is done, where its hashes come from, and where its results go.
struct batch {
    verb_function *verb;
    int (*may)(const perhaps_filter *filter); // whether the filter allows it, or NULL
    const perhaps_filter *filter;
    perhaps_filter *changed;          // the same filter, when the verb changes it
    const struct perhaps__keys *keys; // or, when NULL, hashes
    const uint64_t *hashes;
    size_t count;
    uint8_t *out;
    uint64_t *counts; // for verbs whose results are counts
    uint64_t times;
    int status;
};

/* ---------------------------------------------------------------- verbs */

static uint8_t *out_from(const struct batch *batch, size_t first)
{
    return batch->out != NULL ? batch->out + first : NULL;
}

static size_t ask(struct batch *batch, const uint64_t *hashes, size_t first, size_t count)
{
    perhaps__filter_ask_many(batch->filter, hashes, count, out_from(batch, first));
    return count;
}

static size_t count_most(struct batch *batch, const uint64_t *hashes, size_t first, size_t count)
{
    perhaps__filter_count(batch->filter, hashes, count, batch->counts + first);
    return count;
}

static size_t ask_times(struct batch *batch, const uint64_t *hashes, size_t first, size_t count)
{
    uint64_t most[BLOCK];
    for (size_t i = 0; i < count; i += BLOCK) {
        size_t asked = (size_t)perhaps__min(BLOCK, count - i);
        perhaps__filter_count(batch->filter, hashes + i, asked, most);
        for (size_t j = 0; j < asked; j++) {
            batch->out[first + i + j] = perhaps__may_be(most[j], batch->times);
        }
    }
    return count;
}

static size_t add(struct batch *batch, const uint64_t *hashes, size_t first, size_t count)
{
    return perhaps__filter_add(batch->changed, hashes, count, out_from(batch, first), &batch->status);
}

static size_t take_back(struct batch *batch, const uint64_t *hashes, size_t first, size_t count)
{
    return perhaps__filter_remove(batch->changed, hashes, count, out_from(batch, first), &batch->status);
}

/* ---------------------------------------------------------------- keys */

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

static void hash_block(const struct batch *batch, size_t first, size_t count, uint64_t *hashes)
{
    const perhaps_filter *filter = batch->filter;
    if (filter->hash_source == PERHAPS_HASH_SIPHASH) {
        perhaps__siphash_keys(batch->keys, first, count, filter->key, hashes);
    } else {
        perhaps__hash_keys(batch->keys, first, count, filter->seed, hashes);
    }
}

// Handles keys, `most` of them at a time, until the end, or one that is none or is refused, and returns how many.
static size_t run_blocks(struct batch *batch, uint64_t *hashes, size_t most)
{
    size_t handled = 0;
    while (handled < batch->count) {
        size_t block = (size_t)perhaps__min(batch->count - handled, most);
        size_t valid = valid_keys(batch->keys, handled, block);
        hash_block(batch, handled, valid, hashes);
        size_t done = batch->verb(batch, hashes, handled, valid);
        handled += done;
        if (done < block) {
            batch->status = done < valid ? batch->status : PERHAPS_E_ARGUMENT;
            break;
        }
    }
    return handled;
}

// In blocks of `most` keys, too large for the stack. False when there is no memory for them.
static bool run_large_blocks(struct batch *batch, size_t most, size_t *handled)
{
    const perhaps_allocator *allocator = &batch->filter->allocator;
    uint64_t *hashes = perhaps__allocate_unset(allocator, most * sizeof *hashes);
    if (hashes == NULL) {
        return false;
    }
    *handled = run_blocks(batch, hashes, most);
    perhaps__release(allocator, hashes, most * sizeof *hashes);
    return true;
}

// Every block is flushed to the disk: they are large.
static size_t run_logged(struct batch *batch)
{
    size_t handled = 0;
    if (!run_large_blocks(batch, (size_t)perhaps__min(batch->count, LOGGED_BLOCK), &handled)) {
        batch->status = PERHAPS_E_MEMORY;
    }
    return handled;
}

// How many keys are best hashed before the verb gets them; 0 where it does not matter.
static size_t best_together(const struct batch *batch)
{
    if (batch->verb == add) {
        return perhaps__filter_adds_together(batch->filter, batch->count);
    }
    return batch->verb == ask ? perhaps__filter_asks_together(batch->filter, batch->count) : 0;
}

static size_t run_keys(struct batch *batch)
{
    uint64_t hashes[BLOCK];
    size_t handled = 0;
    if (batch->changed != NULL && batch->changed->log != NULL && batch->count > BLOCK) {
        return run_logged(batch);
    }
    size_t together = best_together(batch);
    if (together > BLOCK && run_large_blocks(batch, together, &handled)) {
        return handled;
    }
    return run_blocks(batch, hashes, BLOCK);
}

// 0, or why the batch cannot begin.
static int check_batch(const struct batch *batch)
{
    if (batch->filter == NULL) {
        return PERHAPS_E_ARGUMENT;
    }
    int status = batch->keys != NULL ? perhaps__filter_may_hash(batch->filter) : PERHAPS_OK;
    if (status < 0) {
        return status;
    }
    status = batch->may != NULL ? batch->may(batch->filter) : PERHAPS_OK;
    if (status < 0) {
        return status;
    }
    bool has_keys = batch->keys != NULL ? batch->keys->offsets != NULL ||
                                              (batch->keys->pointers != NULL && batch->keys->lengths != NULL)
                                        : batch->hashes != NULL;
    bool has_out = batch->out != NULL || batch->counts != NULL || batch->changed != NULL;
    return batch->count == 0 || (has_keys && has_out) ? PERHAPS_OK : PERHAPS_E_ARGUMENT;
}

static int run(struct batch batch, size_t *done)
{
    batch.status = check_batch(&batch);
    size_t handled = 0;
    if (batch.status == PERHAPS_OK && batch.count > 0) {
        handled = batch.keys != NULL ? run_keys(&batch) : batch.verb(&batch, batch.hashes, 0, batch.count);
    }
    if (done != NULL) {
        *done = handled;
    }
    return batch.status;
}

/* ---------------------------------------------------------------- the calls */

// What each verb is, whatever shape its keys come in; `keys` or `hashes` is NULL.
static int run_add(perhaps_filter *filter, const struct perhaps__keys *keys, const uint64_t *hashes, size_t count,
                   uint8_t *out, size_t *done)
{
    return run((struct batch){.verb = add,
                              .may = perhaps__filter_may_change,
                              .filter = filter,
                              .changed = filter,
                              .keys = keys,
                              .hashes = hashes,
                              .count = count,
                              .out = out},
               done);
}

static int run_remove(perhaps_filter *filter, const struct perhaps__keys *keys, const uint64_t *hashes, size_t count,
                      uint8_t *out, size_t *done)
{
    return run((struct batch){.verb = take_back,
                              .may = perhaps__filter_may_remove,
                              .filter = filter,
                              .changed = filter,
                              .keys = keys,
                              .hashes = hashes,
                              .count = count,
                              .out = out},
               done);
}

static int run_ask(const perhaps_filter *filter, const struct perhaps__keys *keys, const uint64_t *hashes, size_t count,
                   uint8_t *out, size_t *done)
{
    return run(
        (struct batch){.verb = ask, .filter = filter, .keys = keys, .hashes = hashes, .count = count, .out = out},
        done);
}

static int run_times(const perhaps_filter *filter, const struct perhaps__keys *keys, const uint64_t *hashes,
                     size_t count, uint64_t times, uint8_t *out, size_t *done)
{
    return run((struct batch){.verb = ask_times,
                              .filter = filter,
                              .keys = keys,
                              .hashes = hashes,
                              .count = count,
                              .out = out,
                              .times = times},
               done);
}

static int run_count(const perhaps_filter *filter, const struct perhaps__keys *keys, const uint64_t *hashes,
                     size_t count, uint64_t *out, size_t *done)
{
    return run(
        (struct batch){
            .verb = count_most, .filter = filter, .keys = keys, .hashes = hashes, .count = count, .counts = out},
        done);
}

int perhaps_add_many(perhaps_filter *filter, const void *data, const uint64_t *offsets, size_t count, uint8_t *out,
                     size_t *done)
{
    return run_add(filter, &(struct perhaps__keys){.data = data, .offsets = offsets}, NULL, count, out, done);
}

int perhaps_add_many_pointers(perhaps_filter *filter, const void *const *keys, const size_t *lengths, size_t count,
                              uint8_t *out, size_t *done)
{
    return run_add(filter, &(struct perhaps__keys){.pointers = keys, .lengths = lengths}, NULL, count, out, done);
}

int perhaps_add_many_hash(perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out, size_t *done)
{
    return run_add(filter, NULL, hashes, count, out, done);
}

int perhaps_might_contain_many(const perhaps_filter *filter, const void *data, const uint64_t *offsets, size_t count,
                               uint8_t *out, size_t *done)
{
    return run_ask(filter, &(struct perhaps__keys){.data = data, .offsets = offsets}, NULL, count, out, done);
}

int perhaps_might_contain_many_pointers(const perhaps_filter *filter, const void *const *keys, const size_t *lengths,
                                        size_t count, uint8_t *out, size_t *done)
{
    return run_ask(filter, &(struct perhaps__keys){.pointers = keys, .lengths = lengths}, NULL, count, out, done);
}

int perhaps_might_contain_many_hash(const perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out,
                                    size_t *done)
{
    return run_ask(filter, NULL, hashes, count, out, done);
}

int perhaps_might_contain_times_many(const perhaps_filter *filter, const void *data, const uint64_t *offsets,
                                     size_t count, uint64_t times, uint8_t *out, size_t *done)
{
    return run_times(filter, &(struct perhaps__keys){.data = data, .offsets = offsets}, NULL, count, times, out, done);
}

int perhaps_might_contain_times_many_pointers(const perhaps_filter *filter, const void *const *keys,
                                              const size_t *lengths, size_t count, uint64_t times, uint8_t *out,
                                              size_t *done)
{
    return run_times(filter, &(struct perhaps__keys){.pointers = keys, .lengths = lengths}, NULL, count, times, out,
                     done);
}

int perhaps_might_contain_times_many_hash(const perhaps_filter *filter, const uint64_t *hashes, size_t count,
                                          uint64_t times, uint8_t *out, size_t *done)
{
    return run_times(filter, NULL, hashes, count, times, out, done);
}

int perhaps_count_at_most_many(const perhaps_filter *filter, const void *data, const uint64_t *offsets, size_t count,
                               uint64_t *out, size_t *done)
{
    return run_count(filter, &(struct perhaps__keys){.data = data, .offsets = offsets}, NULL, count, out, done);
}

int perhaps_count_at_most_many_pointers(const perhaps_filter *filter, const void *const *keys, const size_t *lengths,
                                        size_t count, uint64_t *out, size_t *done)
{
    return run_count(filter, &(struct perhaps__keys){.pointers = keys, .lengths = lengths}, NULL, count, out, done);
}

int perhaps_count_at_most_many_hash(const perhaps_filter *filter, const uint64_t *hashes, size_t count, uint64_t *out,
                                    size_t *done)
{
    return run_count(filter, NULL, hashes, count, out, done);
}

int perhaps_remove_many(perhaps_filter *filter, const void *data, const uint64_t *offsets, size_t count, uint8_t *out,
                        size_t *done)
{
    return run_remove(filter, &(struct perhaps__keys){.data = data, .offsets = offsets}, NULL, count, out, done);
}

int perhaps_remove_many_pointers(perhaps_filter *filter, const void *const *keys, const size_t *lengths, size_t count,
                                 uint8_t *out, size_t *done)
{
    return run_remove(filter, &(struct perhaps__keys){.pointers = keys, .lengths = lengths}, NULL, count, out, done);
}

int perhaps_remove_many_hash(perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out, size_t *done)
{
    return run_remove(filter, NULL, hashes, count, out, done);
}
