// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <string.h>

#include "creating.h"
#include "filterfile.h"
#include "messages.h"
#include "options.h"
#include "progress.h"
#include "sizeoptions.h"
#include "store.h"

struct rebuilding {
    const struct arguments *arguments;
    const char *path;
    perhaps_filter *present;
    perhaps_filter *empty; // one that is made like the next: to plan that from
    bool journaled;        // `present` is shared and has a journal, which the guard hands over
    perhaps_options next;
    perhaps_plan_options plan;
};

static int take_number(const struct arguments *arguments, enum option_id id, double *number)
{
    uint64_t whole = 0;
    int status = option_count(arguments, id, &whole);
    *number = (double)whole;
    return status;
}

// What the filter may grow to stays, unless somebody says otherwise.
static int take_limits(struct rebuilding *r)
{
    const struct arguments *arguments = r->arguments;
    if (r->next.growth == 0 && (given(arguments, OPTION_MAX_CAPACITY) || given(arguments, OPTION_MAX_BYTES))) {
        return fail_usage("rebuild", "--max-capacity and --max-bytes are for filters that grow, and %s does not",
                          r->path);
    }
    if (limit_options(arguments, &r->next) != STATUS_OK) {
        return STATUS_ERROR;
    }
    return r->next.max_capacity == 0 || r->next.capacity <= r->next.max_capacity
               ? STATUS_OK
               : fail_usage("rebuild",
                            "-n: the filter may grow to %" PRIu64 " keys, not to %" PRIu64
                            "; --max-capacity raises that",
                            r->next.max_capacity, r->next.capacity);
}

static int take_options(struct rebuilding *r)
{
    const struct arguments *arguments = r->arguments;
    r->plan = (perhaps_plan_options){.size = sizeof r->plan};
    filter_options(r->present, &r->next);
    if (option_rate(arguments, OPTION_FPR, &r->next.fpr) != STATUS_OK ||
        option_kind(arguments, OPTION_KIND, &r->next.kind) != STATUS_OK ||
        option_count(arguments, OPTION_CAPACITY, &r->next.capacity) != STATUS_OK ||
        take_number(arguments, OPTION_PER_DAY, &r->plan.keys_per_day) != STATUS_OK ||
        take_number(arguments, OPTION_DAYS, &r->plan.days) != STATUS_OK) {
        return STATUS_ERROR;
    }
    perhaps_statistics present;
    filter_statistics(r->present, &present);
    if (r->next.kind != present.kind) {
        filter_options_of_kind(&r->next);
    }
    if (given(arguments, OPTION_CAPACITY) && r->next.capacity == 0) {
        return fail_usage("rebuild", "-n: '%s' is too small: at least 1 is needed", arguments->values[OPTION_CAPACITY]);
    }
    filter_options_of_rate(arguments, r->path, present.fpr_target, &r->next);
    return take_limits(r);
}

/* ---------------------------------------------------------------- from keys */

static int from_keys(const struct rebuilding *r)
{
    struct creation creation = {.arguments = r->arguments,
                                .path = r->path,
                                .options = r->next,
                                .present = r->present,
                                .empty = r->empty,
                                .planned = r->plan};
    if (creation_refuse_impossible(&creation) != STATUS_OK) {
        return STATUS_ERROR;
    }
    (void)perhaps_metadata(r->present, &creation.metadata, &creation.metadata_size);
    int status = creation_run(&creation);
    creation_free(&creation);
    return status;
}

/* ---------------------------------------------------------------- from the store */

static int show_progress(void *context, const perhaps_guard_progress *progress)
{
    (void)context;
    progress_show(progress->keys);
    return 0;
}

// What the plan says of the store's distinct keys.
static int plan_capacity(const struct rebuilding *r, const struct opened_store *store, uint64_t *capacity,
                         perhaps_error *error)
{
    perhaps_plan plan = {.size = sizeof plan};
    perhaps_plan_options options = r->plan;
    int code = store->store.count(store->store.context, &options.distinct, error);
    code = code < 0 ? code : perhaps_plan_rebuild(r->empty, &options, &plan, error);
    *capacity = plan.capacity;
    return code;
}

// With a journal, the guard has put the new filter into the file.
static int save(const struct rebuilding *r, perhaps_guard *guard, perhaps_error *error)
{
    return r->journaled ? 0 : perhaps_guard_save(guard, r->path, error);
}

static int rebuild(const struct rebuilding *r, const struct opened_store *store, perhaps_guard *guard)
{
    perhaps_error error = {.size = sizeof error};
    uint64_t capacity = r->next.capacity;
    progress_start(r->arguments);
    int code = capacity != 0 ? 0 : plan_capacity(r, store, &capacity, &error);
    code = code < 0 ? code : perhaps_guard_rebuild(guard, capacity, &error);
    progress_end();
    if (code < 0 && strcmp(error.subject, "max_bytes") == 0) {
        return fail_size(r->arguments, code, &error);
    }
    code = code < 0 ? code : save(r, guard, &error);
    if (code < 0) {
        return fail_library(r->path, code, &error);
    }
    perhaps_guard_statistics now = {.size = sizeof now};
    (void)perhaps_guard_stats(guard, &now);
    if (!given(r->arguments, OPTION_QUIET)) {
        tell(r->path, "made from the store: %s filter for %" PRIu64 " key%s at p = %.3g, %" PRIu64 " bytes",
             perhaps_kind_name(now.kind), now.capacity, plural(now.capacity), now.fpr_target, now.bytes);
    }
    filter_warn_if_above(r->path, now.fpr_predicted, now.fpr_target);
    return STATUS_OK;
}

// What the guard begins with, and frees: the filter that there is, if it has a journal to hand over, or else an empty
// one that is never asked, and has the metadata.
static perhaps_filter **adopted(struct rebuilding *r)
{
    return r->journaled ? &r->present : &r->empty;
}

// What does not fit into the new one is an error: a file would lack what the guard keeps beside the filter.
static int make_guard(struct rebuilding *r, const struct opened_store *store, const perhaps_store_changes *changes,
                      perhaps_guard **guard)
{
    const void *metadata = NULL;
    size_t length = 0;
    perhaps_error error = {.size = sizeof error};
    (void)perhaps_metadata(r->present, &metadata, &length);
    int code = perhaps_set_metadata(r->empty, metadata, length);
    perhaps_guard_options options = {.size = sizeof options,
                                     .adopted = *adopted(r),
                                     .store = &store->store,
                                     .changes = changes,
                                     .next = &r->next,
                                     .flags = (changes != NULL ? (uint32_t)PERHAPS_GUARD_FOLLOWS : 0) |
                                              PERHAPS_GUARD_NOT_READY,
                                     .overflow = 1,
                                     .progress = show_progress};
    code = code < 0 ? code : perhaps_guard_create(&options, guard, &error);
    if (code < 0) {
        return fail_size(r->arguments, code, &error);
    }
    return STATUS_OK;
}

// The file says where in its store it is, and perhaps guard --watch goes on from there.
static int from_opened_store(struct rebuilding *r, const struct opened_store *store)
{
    perhaps_store_changes changes;
    perhaps_guard *guard = NULL;
    bool followed = false; // others are listed, and their filters have no position
    if (store_changes_if_any(r->arguments, store, &followed, &changes) != STATUS_OK ||
        make_guard(r, store, followed ? &changes : NULL, &guard) != STATUS_OK) {
        return STATUS_ERROR;
    }
    int status = rebuild(r, store, guard);
    perhaps_guard_free(guard);
    *adopted(r) = NULL; // the guard's
    return status;
}

static int from_store(struct rebuilding *r)
{
    struct opened_store store = {.name = NULL};
    int status = store_open(r->arguments, &store);
    status = status == STATUS_OK ? from_opened_store(r, &store) : status;
    store_close(&store);
    return status;
}

static int refuse_both(const struct arguments *arguments)
{
    static const enum option_id of_store[] = {OPTION_STORE,  OPTION_TABLE, OPTION_COLUMN,
                                              OPTION_SCHEMA, OPTION_QUERY, OPTION_CANONICAL};
    bool any = false;
    for (size_t i = 0; i < sizeof of_store / sizeof of_store[0]; i++) {
        any = any || given(arguments, of_store[i]);
    }
    if (any && arguments->operand_count > 1) {
        return fail_usage("rebuild", "the keys come from files or from a store, not from both");
    }
    return any ? store_options_check(arguments) : STATUS_OK;
}

static int make_empty(struct rebuilding *r)
{
    perhaps_options empty = r->next;
    perhaps_error error = {.size = sizeof error};
    empty.capacity = 1;
    empty.flags = PERHAPS_SHARED;
    int code = perhaps_create(&empty, &r->empty, &error);
    return code < 0 ? fail_size(r->arguments, code, &error) : STATUS_OK;
}

// A filter with a journal stays locked until the new one has its file.
static int open_present(struct rebuilding *r)
{
    if (!given(r->arguments, OPTION_STORE)) {
        return filter_open_locked(r->arguments, &r->present);
    }
    if (filter_lock(r->arguments) != STATUS_OK || filter_open_journaled(r->path, &r->present) != STATUS_OK) {
        return STATUS_ERROR;
    }
    r->journaled = r->present != NULL;
    if (!r->journaled && filter_open_copy(r->path, &r->present) != STATUS_OK) {
        return STATUS_ERROR;
    }
    return filter_needs_bytes(r->path, r->present);
}

int command_rebuild(const struct arguments *arguments)
{
    struct rebuilding r = {.arguments = arguments, .path = arguments->operands[0]};
    int status = refuse_both(arguments) == STATUS_OK ? open_present(&r) : STATUS_ERROR;
    if (status == STATUS_OK) {
        status = take_options(&r);
    }
    status = status == STATUS_OK ? make_empty(&r) : status;
    if (status == STATUS_OK) {
        status = given(arguments, OPTION_STORE) ? from_store(&r) : from_keys(&r);
    }
    perhaps_free(r.present);
    perhaps_free(r.empty);
    return status;
}
