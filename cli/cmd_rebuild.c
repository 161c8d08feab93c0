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
    return STATUS_OK;
}

/* ---------------------------------------------------------------- from keys */

static int from_keys(const struct rebuilding *r)
{
    struct creation creation = {
        .arguments = r->arguments, .path = r->path, .options = r->next, .present = r->present, .planned = r->plan};
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
    code = code < 0 ? code : perhaps_plan_rebuild(r->present, &options, &plan, error);
    *capacity = plan.capacity;
    return code;
}

static int rebuild(const struct rebuilding *r, const struct opened_store *store, perhaps_guard *guard)
{
    perhaps_error error = {.size = sizeof error};
    uint64_t capacity = r->next.capacity;
    progress_start(r->arguments);
    int code = capacity != 0 ? 0 : plan_capacity(r, store, &capacity, &error);
    code = code < 0 ? code : perhaps_guard_rebuild(guard, capacity, &error);
    progress_end();
    code = code < 0 ? code : perhaps_guard_save(guard, r->path, &error);
    if (code < 0) {
        return fail_library(r->path, code, &error);
    }
    perhaps_guard_statistics now = {.size = sizeof now};
    (void)perhaps_guard_stats(guard, &now);
    if (!given(r->arguments, OPTION_QUIET)) {
        tell(r->path, "made from the store: %s filter for %" PRIu64 " key%s at p = %.3g, %" PRIu64 " bytes",
             perhaps_kind_name(now.kind), now.capacity, plural(now.capacity), now.fpr_target, now.bytes);
    }
    return STATUS_OK;
}

// Begins with an empty filter that is never asked, and has the metadata.
static int make_guard(const struct rebuilding *r, const struct opened_store *store,
                      const perhaps_store_changes *changes, perhaps_guard **guard)
{
    perhaps_options empty = r->next;
    perhaps_filter *filter = NULL;
    const void *metadata = NULL;
    size_t length = 0;
    perhaps_error error = {.size = sizeof error};
    empty.capacity = 1;
    empty.flags = PERHAPS_SHARED;
    int code = perhaps_create(&empty, &filter, &error);
    (void)perhaps_metadata(r->present, &metadata, &length);
    code = code < 0 ? code : perhaps_set_metadata(filter, metadata, length);
    perhaps_guard_options options = {.size = sizeof options,
                                     .adopted = filter,
                                     .store = &store->store,
                                     .changes = changes,
                                     .next = &r->next,
                                     .flags = (changes != NULL ? (uint32_t)PERHAPS_GUARD_FOLLOWS : 0) |
                                              PERHAPS_GUARD_NOT_READY,
                                     .progress = show_progress};
    code = code < 0 ? code : perhaps_guard_create(&options, guard, &error);
    if (code < 0) {
        perhaps_free(filter);
        return fail_size(r->arguments, code, &error);
    }
    return STATUS_OK;
}

// The file says where in its store it is, and perhaps guard --watch goes on from there.
static int from_opened_store(const struct rebuilding *r, const struct opened_store *store)
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
    return status;
}

static int from_store(const struct rebuilding *r)
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

int command_rebuild(const struct arguments *arguments)
{
    struct rebuilding r = {.arguments = arguments, .path = arguments->operands[0]};
    if (refuse_both(arguments) != STATUS_OK || filter_open_locked(arguments, &r.present) != STATUS_OK) {
        return STATUS_ERROR;
    }
    int status = filter_refuse_journal(r.path, r.present);
    if (status == STATUS_OK) {
        status = take_options(&r);
    }
    if (status == STATUS_OK) {
        status = given(arguments, OPTION_STORE) ? from_store(&r) : from_keys(&r);
    }
    perhaps_free(r.present);
    return status;
}
