// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <perhaps/perhaps.h>
#include <string.h>

#include "distinct.h"
#include "filterfile.h"
#include "keys.h"
#include "lock.h"
#include "messages.h"
#include "options.h"
#include "progress.h"
#include "sizeoptions.h"
#include "spool.h"

#define DEFAULT_FPR 0.01

struct creation {
    const struct arguments *arguments;
    const char *path;
    perhaps_options options;
    perhaps_filter *filter;
    uint64_t keys;
};

static int refuse_metadata(const struct arguments *arguments)
{
    size_t length = given(arguments, OPTION_METADATA) ? strlen(arguments->values[OPTION_METADATA]) : 0;
    if (length <= PERHAPS_METADATA_MAX) {
        return STATUS_OK;
    }
    return fail_usage("create", "--metadata: a text of %zu bytes is too long: at most %d are kept", length,
                      PERHAPS_METADATA_MAX);
}

// Whether the size is known before any key is. Otherwise p (or the memory) is, and n is counted.
static bool is_sized(const perhaps_options *options)
{
    return options->capacity != 0 || (options->bytes != 0 && options->fpr > 0.0);
}

static int take_options(struct creation *creation)
{
    perhaps_options *options = &creation->options;
    if (size_options(creation->arguments, options) != STATUS_OK ||
        option_seed(creation->arguments, OPTION_SEED, &options->seed) != STATUS_OK ||
        refuse_metadata(creation->arguments) != STATUS_OK) {
        return STATUS_ERROR;
    }
    if (options->fpr <= 0.0 && options->bytes == 0) {
        options->fpr = DEFAULT_FPR;
    }
    return STATUS_OK;
}

// What cannot be made is refused before a long input is read, and before anything is locked.
static int refuse_impossible(const struct creation *creation)
{
    perhaps_options options = creation->options;
    if (!is_sized(&options)) {
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
    const char *metadata = creation->arguments->values[OPTION_METADATA];
    if (metadata != NULL) {
        code = perhaps_set_metadata(creation->filter, metadata, strlen(metadata));
    }
    return code < 0 ? fail("--metadata", "%s", perhaps_message(code)) : STATUS_OK;
}

static int fill_sized(struct creation *creation)
{
    if (make_filter(creation) != STATUS_OK) {
        return STATUS_ERROR;
    }
    if (creation->arguments->operand_count == 1) {
        return STATUS_OK;
    }
    struct adder adder = {.path = creation->path, .filter = creation->filter};
    int status = visit_keys(creation->arguments, 1, false, add_batch, &adder);
    creation->keys = adder.keys;
    return status;
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

static int add_hashes(void *context, const uint64_t *hashes, size_t count)
{
    struct creation *creation = context;
    int code = perhaps_add_many_hash(creation->filter, hashes, count, NULL, NULL);
    return code < 0 ? fail(creation->path, "%s", perhaps_message(code)) : STATUS_OK;
}

static void tell_count(const struct creation *creation, const struct distinct *distinct)
{
    if (given(creation->arguments, OPTION_QUIET)) {
        return;
    }
    uint64_t count = distinct_count(distinct);
    progress_end();
    if (distinct_is_exact(distinct)) {
        tell(creation->path, "%" PRIu64 " distinct key%s counted", count, plural(count));
    } else {
        tell(creation->path, "at most about %" PRIu64 " distinct keys (an estimate, rounded up)", count);
    }
}

static int fill_counted(struct creation *creation, struct counting *counting)
{
    counting->distinct.limit = DISTINCT_LIMIT;
    if (hasher_create(creation->options.seed, &counting->hasher) != STATUS_OK ||
        spool_open(&counting->spool) != STATUS_OK ||
        visit_keys(creation->arguments, 1, false, count_batch, counting) != STATUS_OK) {
        return STATUS_ERROR;
    }
    // No key at all is a set too, if a small one.
    uint64_t count = distinct_count(&counting->distinct);
    creation->options.capacity = count > 0 ? count : 1;
    creation->keys = counting->keys;
    tell_count(creation, &counting->distinct);
    distinct_free(&counting->distinct);
    return make_filter(creation) == STATUS_OK ? spool_replay(&counting->spool, add_hashes, creation) : STATUS_ERROR;
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

// ---- the command

static void tell_size(const struct creation *creation)
{
    perhaps_statistics statistics;
    filter_statistics(creation->filter, &statistics);
    tell(creation->path,
         "%s filter for %" PRIu64 " key%s at p = %.3g: %" PRIu64 " bytes, %.4g bits per key, k = %" PRIu32,
         perhaps_kind_name(statistics.kind), statistics.capacity, plural(statistics.capacity), statistics.fpr_target,
         statistics.bytes, statistics.bits_per_key, statistics.positions);
}

static void tell_created(const struct creation *creation)
{
    if (!given(creation->arguments, OPTION_QUIET)) {
        tell_size(creation);
    }
    if (creation->keys > 0) {
        tell_added(creation->arguments, creation->path, creation->filter, creation->keys, 0);
    }
}

static int create(struct creation *creation)
{
    bool sized = is_sized(&creation->options);
    progress_start(creation->arguments);
    int status = sized ? fill_sized(creation) : fill_unsized(creation);
    progress_end();
    if (status == STATUS_OK) {
        status = filter_save(creation->path, creation->filter);
    }
    if (status == STATUS_OK) {
        tell_created(creation);
    }
    return status;
}

int command_create(const struct arguments *arguments)
{
    struct creation creation = {.arguments = arguments, .path = arguments->operands[0]};
    if (take_options(&creation) != STATUS_OK || refuse_impossible(&creation) != STATUS_OK ||
        filter_may_replace(arguments, creation.path) != STATUS_OK ||
        lock_filter(creation.path, given(arguments, OPTION_NO_WAIT)) != STATUS_OK ||
        filter_may_replace(arguments, creation.path) != STATUS_OK) { // again: while we waited, it may have been made
        return STATUS_ERROR;
    }
    int status = create(&creation);
    perhaps_free(creation.filter);
    return status;
}
