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
    output_format("%-10s %14s %10s %11s %16s %15s %9s %3s %5s %6s  %s\n", "KIND", "N", "P", "EXPECTED P", "BITS",
                  "BYTES", "BITS/KEY", "K", "LINES", "REMOVE", "SHAPE");
}

// Cache lines that an add or the look-up of a present key waits for.
static uint32_t lines(const perhaps_sizing *s)
{
    switch (s->kind) {
    case PERHAPS_KIND_BLOCKED:
        return 1;
    case PERHAPS_KIND_CUCKOO:
        return 2;
    default:
        return s->positions;
    }
}

static void describe_shape(char *text, size_t room, const perhaps_sizing *s)
{
    if (s->kind == PERHAPS_KIND_COUNTING) {
        (void)snprintf(text, room, "counters of %" PRIu32 " bits", s->counter_bits);
    } else if (s->kind == PERHAPS_KIND_CUCKOO) {
        (void)snprintf(text, room, "%" PRIu32 " slot%s of %" PRIu32 " bits", s->slots, plural(s->slots),
                       s->fingerprint_bits);
    } else {
        (void)snprintf(text, room, "-");
    }
}

static void print_row(const perhaps_sizing *s)
{
    bool removes = s->kind == PERHAPS_KIND_COUNTING || s->kind == PERHAPS_KIND_CUCKOO;
    char positions[16] = "-";
    if (s->kind != PERHAPS_KIND_CUCKOO) {
        (void)snprintf(positions, sizeof positions, "%" PRIu32, s->positions);
    }
    char shape[96];
    describe_shape(shape, sizeof shape, s);
    output_format("%-10s %14" PRIu64 " %10.4g %11.4g %16" PRIu64 " %15" PRIu64 " %9.4g %3s %5" PRIu32 " %6s  %s\n",
                  perhaps_kind_name(s->kind), s->capacity, s->fpr, s->fpr_expected, s->bits, s->bytes, s->bits_per_key,
                  positions, lines(s), removes ? "yes" : "no", shape);
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
    if (s->kind == PERHAPS_KIND_COUNTING) {
        json_unsigned(&json, "counter_bits", s->counter_bits);
    } else if (s->kind == PERHAPS_KIND_CUCKOO) {
        json_unsigned(&json, "slots", s->slots);
        json_unsigned(&json, "fingerprint_bits", s->fingerprint_bits);
        json_unsigned(&json, "buckets", s->buckets);
    }
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
    perhaps_options own = size_options_of_kind(options);
    failure->code = perhaps_size_for(&own, &sizing, &failure->error);
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

// The narrowest counters that tell a count of `highest`: those of w bits stick at 2^w - 1, and then tell nothing.
static int take_highest_count(const struct arguments *arguments, perhaps_options *options)
{
    enum { WIDEST = 16 };
    uint64_t highest = 0;
    if (option_count(arguments, OPTION_HIGHEST_COUNT, &highest) != STATUS_OK ||
        option_conflict(arguments, OPTION_HIGHEST_COUNT, OPTION_COUNTER_BITS) != STATUS_OK) {
        return STATUS_ERROR;
    }
    if (!given(arguments, OPTION_HIGHEST_COUNT)) {
        return STATUS_OK;
    }
    if (options->kind != PERHAPS_KIND_DEFAULT && options->kind != PERHAPS_KIND_COUNTING) {
        return fail_usage("size", "--highest-count is an option of kind counting, not of kind %s",
                          perhaps_kind_name(options->kind));
    }
    uint32_t width = 4;
    while (width < WIDEST && highest >= (UINT64_C(1) << width) - 1) {
        width *= 2;
    }
    options->counter_bits = width;
    uint64_t most = (UINT64_C(1) << width) - 2;
    if (highest > most) {
        tell("counting",
             "no counters count to %" PRIu64 ": --counter-bits %" PRIu32 " count to %" PRIu64
             ", and what was added more often is \"unbounded\"",
             highest, width, most);
    } else {
        tell("counting", "--counter-bits %" PRIu32 " count to %" PRIu64, width, most);
    }
    return STATUS_OK;
}

int command_size(const struct arguments *arguments)
{
    perhaps_options options;
    if (size_options(arguments, PERHAPS_KIND_DEFAULT, &options) != STATUS_OK) {
        return STATUS_ERROR;
    }
    int count = (options.capacity != 0) + (options.fpr > 0.0) + (options.bytes != 0);
    if (count != 2) {
        return fail_usage("size", "two of -n, -p and --bytes are needed, and give the third");
    }
    if (take_highest_count(arguments, &options) != STATUS_OK) {
        return STATUS_ERROR;
    }
    return size_every(arguments, &options);
}
