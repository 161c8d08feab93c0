// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <perhaps/perhaps.h>

#include "filterfile.h"
#include "lock.h"
#include "messages.h"
#include "options.h"

static int merge_one(perhaps_filter *into, const char *path)
{
    perhaps_filter *from = NULL;
    if (filter_open(path, &from) != STATUS_OK) {
        return STATUS_ERROR;
    }
    perhaps_error error = {.size = sizeof error};
    int code = perhaps_merge(into, from, &error);
    perhaps_free(from);
    if (code == PERHAPS_E_MISMATCH) {
        // The library names the field; here the file matters more.
        return fail(path, "does not fit the first filter: %s", error.text);
    }
    return code < 0 ? fail_library(path, code, &error) : STATUS_OK;
}

static int merge_all(const struct arguments *arguments, perhaps_filter *into)
{
    for (int i = 1; i < arguments->operand_count; i++) {
        if (merge_one(into, arguments->operands[i]) != STATUS_OK) {
            return STATUS_ERROR;
        }
    }
    return STATUS_OK;
}

static void tell_merged(const struct arguments *arguments, const char *out, const perhaps_filter *merged)
{
    if (!given(arguments, OPTION_QUIET)) {
        perhaps_statistics statistics;
        filter_statistics(merged, &statistics);
        tell(out, "%d filters merged, about %.0f distinct keys, FPR now %.3g (target %.3g)", arguments->operand_count,
             statistics.distinct_estimate, statistics.fpr_now, statistics.fpr_target);
    }
    filter_warn_if_overfull(out, merged);
}

int command_merge(const struct arguments *arguments)
{
    const char *out = arguments->values[OPTION_OUTPUT];
    if (out == NULL) {
        return fail_usage("merge", "-o OUT is missing");
    }
    perhaps_filter *merged = NULL;
    if (filter_may_replace(arguments, out) != STATUS_OK ||
        lock_filter(out, given(arguments, OPTION_NO_WAIT)) != STATUS_OK ||
        filter_may_replace(arguments, out) != STATUS_OK || // again: while we waited, it may have been made
        filter_open_copy(arguments->operands[0], &merged) != STATUS_OK) {
        return STATUS_ERROR;
    }
    int status = merge_all(arguments, merged);
    if (status == STATUS_OK) {
        status = filter_save(out, merged);
    }
    if (status == STATUS_OK) {
        tell_merged(arguments, out, merged);
    }
    perhaps_free(merged);
    return status;
}
