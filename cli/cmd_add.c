// SPDX-License-Identifier: MIT
#include <perhaps/perhaps.h>

#include "adding.h"
#include "filterfile.h"
#include "messages.h"
#include "options.h"
#include "progress.h"

static int add_and_save(struct adder *adder)
{
    if (!adder->prints) {
        progress_start(adder->arguments);
    }
    int status = visit_keys(adder->arguments, 1, false, add_batch, adder);
    progress_end();
    if (status != STATUS_OK) {
        return status;
    }
    if (adder_has_changed(adder) && filter_save(adder->path, adder->filter) != STATUS_OK) {
        return STATUS_ERROR;
    }
    if (given(adder->arguments, OPTION_JSON) && print_added(adder) != STATUS_OK) {
        return STATUS_ERROR;
    }
    tell_added(adder);
    return fail_refused(adder, "");
}

int command_add(const struct arguments *arguments)
{
    perhaps_filter *filter = NULL;
    int status = filter_open_locked(arguments, &filter);
    if (status == STATUS_OK) {
        struct adder adder;
        adder_init(&adder, arguments, arguments->operands[0], filter);
        status = add_and_save(&adder);
        adder_free(&adder);
    }
    perhaps_free(filter);
    return status;
}
