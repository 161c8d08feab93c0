// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <perhaps/perhaps.h>

#include "adding.h"
#include "filterfile.h"
#include "messages.h"
#include "options.h"
#include "progress.h"

// ---- without looking at the filter

struct appending {
    const char *path;
    perhaps_appender *appender;
    uint64_t keys;
};

static int append_batch(void *context, const struct input *input, const struct batch *batch)
{
    (void)input;
    struct appending *appending = context;
    int code = perhaps_appender_add_many_pointers(appending->appender, batch->keys, batch->lengths, batch->count, NULL);
    if (code < 0) {
        return filter_fail_append(appending->path, appending->appender, code);
    }
    appending->keys += batch->count;
    progress_show(appending->keys);
    return STATUS_OK;
}

static int append(const struct arguments *arguments, struct appending *appending)
{
    progress_start(arguments);
    int status = visit_keys(arguments, 1, false, append_batch, appending);
    progress_end();
    perhaps_journal journal = {.size = sizeof journal};
    (void)perhaps_appender_journal(appending->appender, &journal);
    perhaps_appender_close(appending->appender);
    if (status == STATUS_OK && journal.bytes > journal.limit) {
        status = filter_fold(appending->path);
    }
    if (status == STATUS_OK && !given(arguments, OPTION_QUIET)) {
        tell(appending->path, "%" PRIu64 " key%s read and written to its journal", appending->keys,
             plural(appending->keys));
    }
    return status;
}

// ---- looking at it

static int keep(const struct adder *adder)
{
    if (given(adder->arguments, OPTION_JOURNAL) && !filter_is_durable(adder->filter)) {
        return filter_begin_journal(adder->path, adder->filter);
    }
    return adder_has_changed(adder) ? filter_keep(adder->path, adder->filter) : STATUS_OK;
}

static int add_and_save(struct adder *adder)
{
    if (!adder->prints) {
        progress_start(adder->arguments);
    }
    int status = visit_keys(adder->arguments, 1, false, add_batch, adder);
    progress_end();
    if (status != STATUS_OK || keep(adder) != STATUS_OK) {
        return STATUS_ERROR;
    }
    if (given(adder->arguments, OPTION_JSON) && print_added(adder) != STATUS_OK) {
        return STATUS_ERROR;
    }
    tell_added(adder);
    return fail_refused(adder, "");
}

static int look_and_add(const struct arguments *arguments)
{
    perhaps_filter *filter = NULL;
    int status = filter_open_to_change(arguments, &filter);
    if (status == STATUS_OK) {
        struct adder adder;
        adder_init(&adder, arguments, arguments->operands[0], filter);
        status = add_and_save(&adder);
        adder_free(&adder);
    }
    perhaps_free(filter);
    return status;
}

int command_add(const struct arguments *arguments)
{
    struct appending appending = {.path = arguments->operands[0]};
    if (filter_lock(arguments) != STATUS_OK) {
        return STATUS_ERROR;
    }
    // JSON says how many keys are new.
    if (!given(arguments, OPTION_JSON) && filter_open_appender(appending.path, &appending.appender) != STATUS_OK) {
        return STATUS_ERROR;
    }
    return appending.appender != NULL ? append(arguments, &appending) : look_and_add(arguments);
}
