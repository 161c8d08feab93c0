// SPDX-License-Identifier: MIT
#include "creating.h"

#include <inttypes.h>
#include <stdio.h>

#include "distinct.h"
#include "filterfile.h"
#include "keyfile.h"
#include "keys.h"
#include "messages.h"
#include "options.h"
#include "progress.h"
#include "sizeoptions.h"
#include "spool.h"

bool creation_is_sized(const perhaps_options *options)
{
    return options->capacity != 0 || (options->bytes != 0 && options->fpr > 0.0);
}

int creation_refuse_impossible(const struct creation *creation)
{
    perhaps_options options = creation->options;
    if (!creation_is_sized(&options)) {
        options.capacity = 1;
    }
    perhaps_sizing sizing = {.size = sizeof sizing};
    perhaps_error error = {.size = sizeof error};
    int code = perhaps_size_for(&options, &sizing, &error);
    return code < 0 ? fail_size(creation->arguments, code, &error) : STATUS_OK;
}

static int make_filter(struct creation *creation)
{
    perhaps_error error = {.size = sizeof error};
    int code = perhaps_create(&creation->options, &creation->filter, &error);
    if (code < 0) {
        return fail_size(creation->arguments, code, &error);
    }
    if (creation->metadata_size > 0) {
        code = perhaps_set_metadata(creation->filter, creation->metadata, creation->metadata_size);
    }
    if (code < 0) {
        return fail("--metadata", "%s", perhaps_message(code));
    }
    adder_init(&creation->adder, creation->arguments, creation->path, creation->filter);
    return STATUS_OK;
}

static int fill_sized(struct creation *creation)
{
    if (make_filter(creation) != STATUS_OK) {
        return STATUS_ERROR;
    }
    if (creation->arguments->operand_count == 1 && creation->present == NULL) { // create makes an empty one
        return STATUS_OK;
    }
    return visit_keys(creation->arguments, 1, false, add_batch, &creation->adder);
}

// ---- without a size: the keys are read once, their hashes counted and kept, and then added

struct counting {
    perhaps_filter *hasher;
    struct distinct distinct;
    struct spool spool;
    uint64_t keys;
};

static int count_batch(void *context, const struct input *input, const struct batch *batch)
{
    (void)input;
    struct counting *counting = context;
    uint64_t hashes[BATCH_KEYS];
    hash_keys(counting->hasher, batch, hashes);
    for (size_t i = 0; i < batch->count; i++) {
        distinct_add(&counting->distinct, hashes[i]);
    }
    counting->keys += batch->count;
    progress_show(counting->keys);
    return spool_append(&counting->spool, hashes, batch->count);
}

// A cuckoo filter that counts gives every copy of a key a slot of its own. One that grows does not count unless asked to.
static bool needs_room_for_copies(const perhaps_options *options)
{
    bool grows = options->at_capacity == PERHAPS_AT_CAPACITY_GROW;
    bool unique = options->policy == PERHAPS_POLICY_UNIQUE || (grows && options->policy == PERHAPS_POLICY_DEFAULT);
    return options->kind == PERHAPS_KIND_CUCKOO && !unique;
}

static void tell_count(const struct creation *creation, const struct counting *counting)
{
    if (given(creation->arguments, OPTION_QUIET)) {
        return;
    }
    uint64_t count = distinct_count(&counting->distinct);
    progress_end();
    if (!distinct_is_exact(&counting->distinct)) {
        tell(creation->path, "at most about %" PRIu64 " distinct keys (an estimate, rounded up)", count);
    } else if (needs_room_for_copies(&creation->options) && count < counting->keys) {
        tell(creation->path, "%" PRIu64 " distinct key%s counted, with repetitions %" PRIu64, count, plural(count),
             counting->keys);
    } else {
        tell(creation->path, "%" PRIu64 " distinct key%s counted", count, plural(count));
    }
}

static uint64_t capacity_for(const struct creation *creation, const struct counting *counting)
{
    uint64_t count = needs_room_for_copies(&creation->options) ? counting->keys : distinct_count(&counting->distinct);
    return count > 0 ? count : 1; // no key at all is a set too, if a small one
}

// Capacity is for distinct keys; copies of one key crowd its two buckets, and may need more room than they take.
static bool may_grow(const struct creation *creation, uint64_t counted)
{
    const struct adder *adder = &creation->adder;
    return adder->full.count > 0 && adder->copies.count == 0 && creation->options.bytes == 0 &&
           creation->options.at_capacity != PERHAPS_AT_CAPACITY_GROW && creation->options.capacity / 2 < counted;
}

static int make_and_replay(struct creation *creation, struct spool *spool)
{
    if (make_filter(creation) != STATUS_OK) {
        return STATUS_ERROR;
    }
    return spool_replay(spool, add_hashes, &creation->adder);
}

static int fill_from_spool(struct creation *creation, struct spool *spool)
{
    uint64_t counted = creation->options.capacity;
    int status = make_and_replay(creation, spool);
    while (status == STATUS_OK && may_grow(creation, counted)) {
        creation->options.capacity += creation->options.capacity / 8 + 1;
        perhaps_free(creation->filter);
        creation->filter = NULL;
        status = make_and_replay(creation, spool);
    }
    return status;
}

// With room for what will come.
static int plan_capacity(struct creation *creation)
{
    perhaps_plan plan = {.size = sizeof plan};
    perhaps_plan_options options = creation->planned;
    perhaps_error error = {.size = sizeof error};
    options.distinct = creation->options.capacity;
    int code = perhaps_plan_rebuild(creation->empty, &options, &plan, &error);
    if (code < 0) {
        return fail_library(creation->path, code, &error);
    }
    creation->options.capacity = plan.capacity;
    return STATUS_OK;
}

static int fill_counted(struct creation *creation, struct counting *counting)
{
    counting->distinct.limit = DISTINCT_LIMIT;
    if (hasher_create(creation->options.seed, key_given(), &counting->hasher) != STATUS_OK ||
        spool_open(&counting->spool) != STATUS_OK ||
        visit_keys(creation->arguments, 1, false, count_batch, counting) != STATUS_OK) {
        return STATUS_ERROR;
    }
    creation->options.capacity = capacity_for(creation, counting);
    tell_count(creation, counting);
    if (creation->empty != NULL && plan_capacity(creation) != STATUS_OK) {
        return STATUS_ERROR;
    }
    distinct_free(&counting->distinct);
    return fill_from_spool(creation, &counting->spool);
}

static int fill_unsized(struct creation *creation)
{
    struct counting counting = {.spool = {.fd = -1}};
    int status = fill_counted(creation, &counting);
    distinct_free(&counting.distinct);
    spool_close(&counting.spool);
    perhaps_free(counting.hasher);
    return status;
}

static void describe_shape(char *text, size_t room, const perhaps_statistics *s)
{
    if (s->kind == PERHAPS_KIND_CUCKOO) {
        (void)snprintf(text, room, "%" PRIu32 " slot%s a bucket, fingerprints of %" PRIu32 " bits", s->slots,
                       plural(s->slots), s->fingerprint_bits);
    } else if (s->kind == PERHAPS_KIND_COUNTING) {
        (void)snprintf(text, room,
                       "k = %" PRIu32 ", counters of %" PRIu32 " bits (%" PRIu32 " times the bits of bloom)",
                       s->positions, s->counter_bits, s->counter_bits);
    } else {
        (void)snprintf(text, room, "k = %" PRIu32, s->positions);
    }
}

void creation_tell_size(const char *path, const perhaps_filter *filter)
{
    perhaps_statistics s;
    filter_statistics(filter, &s);
    char shape[128];
    describe_shape(shape, sizeof shape, &s);
    tell(path, "%s filter for %" PRIu64 " key%s at p = %.3g: %" PRIu64 " bytes, %.4g bits per key, %s",
         perhaps_kind_name(s.kind), s.capacity, plural(s.capacity), s.fpr_target, s.bytes, s.bits_per_key, shape);
    if (s.kind == PERHAPS_KIND_CUCKOO && s.slots == 1) {
        tell(path, "with one slot a bucket it is not guaranteed that %" PRIu64 " distinct key%s fit%s", s.capacity,
             plural(s.capacity), s.capacity == 1 ? "s" : "");
    }
}

static void tell_created(const struct creation *creation)
{
    if (!given(creation->arguments, OPTION_QUIET)) {
        creation_tell_size(creation->path, creation->filter);
    }
    if (creation->adder.keys > 0) {
        tell_added(&creation->adder);
    }
}

static int save(const struct creation *creation)
{
    if (creation->present != NULL && filter_is_durable(creation->present)) {
        return filter_hand_over(creation->path, creation->present, creation->filter);
    }
    return given(creation->arguments, OPTION_JOURNAL) ? filter_begin_journal(creation->path, creation->filter)
                                                      : filter_save(creation->path, creation->filter);
}

int creation_run(struct creation *creation)
{
    bool sized = creation_is_sized(&creation->options);
    progress_start(creation->arguments);
    int status = sized ? fill_sized(creation) : fill_unsized(creation);
    progress_end();
    if (status == STATUS_OK) {
        // A new filter that lacks some of its keys in silence would be worse than none.
        status = fail_refused(&creation->adder, "; no filter was made");
    }
    if (status == STATUS_OK) {
        status = save(creation);
    }
    if (status == STATUS_OK) {
        tell_created(creation);
    }
    return status;
}

void creation_free(struct creation *creation)
{
    adder_free(&creation->adder);
    perhaps_free(creation->filter);
}
