// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <perhaps/perhaps.h>

#include "filterfile.h"
#include "messages.h"
#include "options.h"

static int convert(const char *path, uint32_t kind, perhaps_filter **converted)
{
    perhaps_filter *from = NULL;
    if (filter_open(path, &from) != STATUS_OK) {
        return STATUS_ERROR;
    }
    perhaps_error error = {.size = sizeof error};
    int code = perhaps_convert(from, kind, NULL, converted, &error);
    perhaps_free(from);
    if (code == PERHAPS_E_UNSUPPORTED) {
        return fail(path, "%s", error.text); // the library names its field; here the file matters more
    }
    return code < 0 ? fail_library(path, code, &error) : STATUS_OK;
}

static void tell_converted(const struct arguments *arguments, const char *out, const perhaps_filter *converted)
{
    perhaps_statistics s;
    filter_statistics(converted, &s);
    if (!given(arguments, OPTION_QUIET)) {
        tell(out, "%s filter for %" PRIu64 " key%s: %" PRIu64 " bytes, FPR now %.3g (target %.3g)",
             perhaps_kind_name(s.kind), s.capacity, plural(s.capacity), s.bytes, s.fpr_now, s.fpr_target);
    }
    filter_warn_if_overfull(out, converted);
}

int command_convert(const struct arguments *arguments)
{
    const char *out = arguments->values[OPTION_OUTPUT];
    uint32_t kind = PERHAPS_KIND_DEFAULT;
    if (out == NULL) {
        return fail_usage("convert", "-o OUT is missing");
    }
    if (!given(arguments, OPTION_KIND)) {
        return fail_usage("convert", "--kind is missing");
    }
    perhaps_filter *converted = NULL;
    if (option_kind(arguments, OPTION_KIND, &kind) != STATUS_OK || filter_lock_new(arguments, out) != STATUS_OK) {
        return STATUS_ERROR;
    }
    int status = convert(arguments->operands[0], kind, &converted);
    if (status == STATUS_OK) {
        status = filter_save(out, converted);
    }
    if (status == STATUS_OK) {
        tell_converted(arguments, out, converted);
    }
    perhaps_free(converted);
    return status;
}
