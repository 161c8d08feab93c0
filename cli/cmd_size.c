// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <perhaps/perhaps.h>
#include <stdio.h>

#include "json.h"
#include "messages.h"
#include "options.h"
#include "output.h"
#include "sizeoptions.h"

static void print_heading(void)
{
    output_format("%-10s %14s %10s %11s %16s %15s %9s %3s\n", "KIND", "N", "P", "EXPECTED P", "BITS", "BYTES",
                  "BITS/KEY", "K");
}

static void print_row(const perhaps_sizing *s)
{
    output_format("%-10s %14" PRIu64 " %10.4g %11.4g %16" PRIu64 " %15" PRIu64 " %9.4g %3" PRIu32 "\n",
                  perhaps_kind_name(s->kind), s->capacity, s->fpr, s->fpr_expected, s->bits, s->bytes, s->bits_per_key,
                  s->positions);
}

static int print_object(const perhaps_sizing *s)
{
    struct json json = {0};
    json_open(&json, NULL);
    json_string(&json, "kind", perhaps_kind_name(s->kind));
    json_unsigned(&json, "capacity", s->capacity);
    json_double(&json, "fpr", s->fpr);
    json_double(&json, "fpr_expected", s->fpr_expected);
    json_unsigned(&json, "bits", s->bits);
    json_unsigned(&json, "bytes", s->bytes);
    json_double(&json, "bits_per_key", s->bits_per_key);
    json_unsigned(&json, "positions", s->positions);
    json_close(&json);
    int status = json_print(&json);
    json_free(&json);
    return status;
}

struct failure {
    uint32_t kind;
    int code;
    perhaps_error error;
};

// Prints what one kind can do, or fills in why it cannot.
static int size_one(const struct arguments *arguments, const perhaps_options *options, int shown,
                    struct failure *failure)
{
    perhaps_sizing sizing = {.size = sizeof sizing};
    failure->kind = options->kind;
    failure->error = (perhaps_error){.size = sizeof failure->error};
    failure->code = perhaps_size_for(options, &sizing, &failure->error);
    if (failure->code < 0) {
        return STATUS_OK;
    }
    if (given(arguments, OPTION_JSON)) {
        return print_object(&sizing);
    }
    if (shown == 0) {
        print_heading();
    }
    print_row(&sizing);
    return STATUS_OK;
}

static void tell_left_out(const struct failure *failures, int count)
{
    for (int i = 0; i < count; i++) {
        tell(perhaps_kind_name(failures[i].kind), "left out: %s", failures[i].error.text);
    }
}

// A kind that cannot do what is asked is left out, which is said, as long as another can; when none can, the reason of
// the first one is the answer.
static int size_every(const struct arguments *arguments, perhaps_options *options)
{
    enum { MOST_KINDS = 16 };
    struct failure failures[MOST_KINDS] = {0};
    bool all = options->kind == PERHAPS_KIND_DEFAULT;
    uint32_t first = all ? 1 : options->kind;
    int shown = 0;
    int failed = 0;
    for (uint32_t kind = first; perhaps_kind_name(kind) != NULL && (all || kind == first); kind++) {
        struct failure *failure = &failures[failed];
        options->kind = kind;
        if (size_one(arguments, options, shown, failure) != STATUS_OK) {
            return STATUS_ERROR;
        }
        shown += failure->code == 0;
        failed += failure->code < 0 && failed < MOST_KINDS - 1;
    }
    if (shown == 0) {
        return fail_size(arguments, failures[0].code, &failures[0].error);
    }
    tell_left_out(failures, failed);
    return STATUS_OK;
}

int command_size(const struct arguments *arguments)
{
    perhaps_options options;
    if (size_options(arguments, &options) != STATUS_OK) {
        return STATUS_ERROR;
    }
    int count = (options.capacity != 0) + (options.fpr > 0.0) + (options.bytes != 0);
    if (count != 2) {
        return fail_usage("size", "two of -n, -p and --bytes are needed, and give the third");
    }
    return size_every(arguments, &options);
}
