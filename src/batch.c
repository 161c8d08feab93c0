// SPDX-License-Identifier: MIT
// The calls for many keys: a block of keys is hashed and placed, then handed to the layer, which keeps many memory
// accesses in flight.
#include "filter.h"

#include "hash.h"
#include "place.h"

// The most keys of one block.
#define BLOCK PERHAPS_BLOCK_MAX

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

// Ready hashes stream from the caller's memory, and are asked for this many keys ahead: the processor's own prefetching
// stops at every page.
#define HASHES_AHEAD 512

static void place_hashes(const uint64_t *hashes, size_t count, uint64_t seed_key, uint64_t *placed)
{
    for (size_t i = 0; i < count; i++) {
        placed[i] = perhaps__place(hashes[i], seed_key);
    }
}

static void place_block(const struct batch *batch, size_t first, size_t count, uint64_t *placed)
{
    uint64_t seed_key = batch->filter->view.seed_key;
    if (batch->keys != NULL) {
        perhaps__hash_keys(batch->keys, first, count, batch->filter->seed, placed);
        place_hashes(placed, count, seed_key, placed);
        return;
    }
    const uint64_t *hashes = batch->hashes + first;
    for (size_t i = 0; i < count; i += PERHAPS_LINE / sizeof *hashes) {
        __builtin_prefetch((const void *)((uintptr_t)(hashes + i) + HASHES_AHEAD * sizeof *hashes));
    }
    place_hashes(hashes, count, seed_key, placed);
}

static void run_block(const struct batch *batch, size_t first, const uint64_t *placed, const uint64_t *ahead,
                      size_t count)
{
    uint8_t *out = batch->out != NULL ? batch->out + first : NULL;
    if (batch->changed != NULL) {
        perhaps__layer_add_many(&batch->changed->layer, placed, ahead, count, out);
    } else {
        perhaps__layer_might_contain_many(&batch->filter->layer, placed, ahead, count, out);
    }
}

// Two blocks are in flight: while one is probed, the memory of the next is fetched.
struct blocks {
    uint64_t placed[2][BLOCK];
    size_t counts[2];
};

// Fills one of the two with the keys from `first` on, up to one that is none.
static void place_next(const struct batch *batch, size_t first, struct blocks *blocks, size_t which)
{
    size_t count = (size_t)perhaps__min(batch->count - first, perhaps__layer_block(&batch->filter->layer));
    blocks->counts[which] = batch->keys != NULL ? valid_keys(batch->keys, first, count) : count;
    place_block(batch, first, blocks->counts[which], blocks->placed[which]);
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

// Handles keys until the end or one that is none, and returns how many.
static size_t run_blocks(const struct batch *batch)
{
    struct blocks blocks; // not zeroed: 16 KiB
    size_t handled = 0;
    size_t which = 0;
    place_next(batch, 0, &blocks, which);
    while (blocks.counts[which] > 0) {
        size_t count = blocks.counts[which];
        const uint64_t *placed = blocks.placed[which];
        size_t next = which ^ 1;
        blocks.counts[next] = 0;
        if (count == perhaps__layer_block(&batch->filter->layer) && handled + count < batch->count) {
            place_next(batch, handled + count, &blocks, next);
        }
        size_t ahead = batch->filter->fits_cache ? 0 : blocks.counts[next];
        run_block(batch, handled, placed, blocks.placed[next], ahead);
        run_block(batch, handled + ahead, placed + ahead, NULL, count - ahead);
        handled += count;
        which = next;
    }
    return handled;
}

// The same for look-ups in a filter that fits the cache: every block is asked at once.
static size_t ask_in_cache(const struct batch *batch)
{
    const struct perhaps__view *view = &batch->filter->view;
    if (batch->keys == NULL) {
        view->ask_many(view, batch->hashes, batch->count, batch->out);
        return batch->count;
    }
    uint64_t hashes[BLOCK];
    size_t handled = 0;
    size_t valid = 1;
    while (valid > 0 && handled < batch->count) {
        valid = valid_keys(batch->keys, handled, (size_t)perhaps__min(batch->count - handled, BLOCK));
        perhaps__hash_keys(batch->keys, handled, valid, batch->filter->seed, hashes);
        view->ask_many(view, hashes, valid, batch->out + handled);
        handled += valid;
    }
    return handled;
}

static size_t run_keys(const struct batch *batch)
{
    bool asks_in_cache = batch->changed == NULL && batch->filter->fits_cache;
    return asks_in_cache ? ask_in_cache(batch) : run_blocks(batch);
}

static int run(const struct batch *batch, size_t *done)
{
    int status = check_batch(batch);
    size_t handled = status == PERHAPS_OK && batch->count > 0 ? run_keys(batch) : 0;
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
