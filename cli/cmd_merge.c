// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <perhaps/perhaps.h>
#include <string.h>
#include <sys/stat.h>

#include "filterfile.h"
#include "messages.h"
#include "options.h"

// Whether two names lead to one file.
static bool is_same_file(const char *one, const char *other)
{
    struct stat a;
    struct stat b;
    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Where repeated adds change nothing, merging a filter twice does not either.
static int refuse_repeated(const struct arguments *arguments, const perhaps_filter *first)
{
    for (int i = 1; i < arguments->operand_count && filter_counts(first); i++) {
        for (int j = 0; j < i; j++) {
            if (is_same_file(arguments->operands[i], arguments->operands[j])) {
                return fail(arguments->operands[i], "is named twice, which would double its counts");
            }
        }
    }
    return STATUS_OK;
}

// The library tells numbers; kinds and policies have names.
static int fail_mismatch(const char *path, const perhaps_error *error)
{
    bool kinds = strcmp(error->subject, "kind") == 0;
    const char *(*name_of)(uint32_t number) = kinds ? perhaps_kind_name : perhaps_policy_name;
    const char *first = name_of((uint32_t)error->limit);
    const char *other = name_of((uint32_t)error->value);
    if ((kinds || strcmp(error->subject, "policy") == 0) && first != NULL && other != NULL) {
        return fail(path, "does not fit the first filter: its %s is %s, that of the first is %s", error->subject, other,
                    first);
    }
    return fail(path, "does not fit the first filter: %s", error->text);
}

static int fail_merge(const char *path, int code, const perhaps_error *error)
{
    switch (code) {
    case PERHAPS_E_MISMATCH: // the library names the field; here the file matters more
        return fail_mismatch(path, error);
    case PERHAPS_E_FULL:
    case PERHAPS_E_COPIES:
        return fail(path,
                    "has more keys, or copies of one, than there is room for; make a larger filter from the keys");
    default:
        return fail_library(path, code, error);
    }
}

static int merge_one(perhaps_filter *into, const char *path)
{
    perhaps_filter *from = NULL;
    if (filter_open(path, &from) != STATUS_OK) {
        return STATUS_ERROR;
    }
    perhaps_error error = {.size = sizeof error};
    int code = perhaps_merge(into, from, &error);
    perhaps_free(from);
    return code < 0 ? fail_merge(path, code, &error) : STATUS_OK;
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
    if (filter_lock_new(arguments, out) != STATUS_OK ||
        filter_open_copy(arguments->operands[0], &merged) != STATUS_OK) {
        return STATUS_ERROR;
    }
    int status = refuse_repeated(arguments, merged);
    if (status == STATUS_OK) {
        status = merge_all(arguments, merged);
    }
    if (status == STATUS_OK) {
        status = filter_save(out, merged);
    }
    if (status == STATUS_OK) {
        tell_merged(arguments, out, merged);
    }
    perhaps_free(merged);
    return status;
}
