// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <perhaps/guard.h>
#include <stdlib.h>
#include <string.h>

#include "filterfile.h"
#include "hashset.h"
#include "json.h"
#include "keys.h"
#include "messages.h"
#include "options.h"
#include "output.h"

struct calibration {
    const struct arguments *arguments;
    const char *path;
    perhaps_filter *filter;
    perhaps_filter *hasher;
    perhaps_guard *guard; // counts the absent keys and knows the interval
    struct hashset present;
    struct hashset absent;
    uint64_t false_negatives;
    uint64_t first_line; // of the first false negative
    char first_key[SHOWN_KEY_SIZE];
    uint64_t also_present; // keys of the absent file that are in the present file too
    uint64_t repeated;
};

static int fail_memory(const struct input *input)
{
    return fail(shown_name(input->name), "there is not enough memory for all of its keys; use a smaller sample");
}

static void note_false_negative(struct calibration *c, const struct batch *batch, size_t at)
{
    if (c->false_negatives++ == 0) {
        c->first_line = batch->first_line + at;
        show_key(c->first_key, batch->keys[at], batch->lengths[at]);
    }
}

static int present_batch(void *context, const struct input *input, const struct batch *batch)
{
    struct calibration *c = context;
    uint64_t hashes[BATCH_KEYS];
    uint8_t answers[BATCH_KEYS];
    hash_keys(c->hasher, batch, hashes);
    int code = perhaps_might_contain_many_pointers(c->filter, batch->keys, batch->lengths, batch->count, answers, NULL);
    if (code < 0) {
        return fail(c->path, "%s", perhaps_message(code));
    }
    for (size_t i = 0; i < batch->count; i++) {
        int added = hashset_add(&c->present, hashes[i]);
        if (added < 0) {
            return fail_memory(input);
        }
        if (added > 0 && answers[i] == 0) {
            note_false_negative(c, batch, i);
        }
    }
    return STATUS_OK;
}

// The interval supposes that keys do not repeat, and a present key that passes is no false positive.
static int absent_batch(void *context, const struct input *input, const struct batch *batch)
{
    struct calibration *c = context;
    uint64_t hashes[BATCH_KEYS];
    hash_keys(c->hasher, batch, hashes);
    for (size_t i = 0; i < batch->count; i++) {
        if (hashset_has(&c->present, hashes[i])) {
            c->also_present++;
            continue;
        }
        int added = hashset_add(&c->absent, hashes[i]);
        if (added < 0) {
            return fail_memory(input);
        }
        if (added == 0) {
            c->repeated++;
        } else if (perhaps_guard_ask(c->guard, batch->keys[i], batch->lengths[i]) == 1) {
            (void)perhaps_guard_report(c->guard, batch->keys[i], batch->lengths[i], 0);
        }
    }
    return STATUS_OK;
}

static void print_human(const struct calibration *c, const perhaps_guard_statistics *s)
{
    output_format("%-20s%zu distinct, %" PRIu64 " of them surely absent\n", "present keys:", c->present.count,
                  c->false_negatives);
    output_format("%-20s%" PRIu64 " distinct, %" PRIu64 " of them passed\n", "absent keys:", s->queries, s->refuted);
    output_format("%-20s%.4g (%.4g to %.4g at 95 %%)\n", "FPR measured:", s->fpr_observed, s->fpr_observed_low,
                  s->fpr_observed_high);
    output_format("%-20s%.4g\n", "FPR predicted:", s->fpr_predicted);
    output_format("%-20s%.4g\n", "FPR target:", s->fpr_target);
    output_format("%-20s%s\n", "verdict:", perhaps_guard_verdict_name(s->verdict));
}

static int print_json(const struct calibration *c, const perhaps_guard_statistics *s)
{
    struct json json = {0};
    json_open(&json, NULL);
    json_bytes(&json, "filter", c->path, strlen(c->path));
    json_unsigned(&json, "present", c->present.count);
    json_unsigned(&json, "false_negatives", c->false_negatives);
    json_unsigned(&json, "absent", s->queries);
    json_unsigned(&json, "absent_left_out", c->also_present);
    json_unsigned(&json, "absent_repeated", c->repeated);
    json_unsigned(&json, "passed", s->refuted);
    json_double(&json, "fpr_observed", s->fpr_observed);
    json_double(&json, "fpr_observed_low", s->fpr_observed_low);
    json_double(&json, "fpr_observed_high", s->fpr_observed_high);
    json_double(&json, "confidence", s->confidence);
    json_double(&json, "fpr_predicted", s->fpr_predicted);
    json_double(&json, "fpr_target", s->fpr_target);
    json_string(&json, "verdict", perhaps_guard_verdict_name(s->verdict));
    json_close(&json);
    int status = json_print(&json);
    json_free(&json);
    return status;
}

static void tell_left_out(const struct calibration *c)
{
    const char *absent = shown_name(c->arguments->values[OPTION_ABSENT]);
    if (c->also_present > 0) {
        tell(absent, "%" PRIu64 " keys left out: they are among the present ones", c->also_present);
    }
    if (c->repeated > 0) {
        tell(absent, "%" PRIu64 " repeated keys counted once", c->repeated);
    }
}

static int report_false_negatives(const struct calibration *c)
{
    if (c->false_negatives == 0) {
        return STATUS_OK;
    }
    return fail(c->path, "%" PRIu64 " keys of %s are surely absent, first line %" PRIu64 ": %s", c->false_negatives,
                shown_name(c->arguments->values[OPTION_PRESENT]), c->first_line, c->first_key);
}

static int report(const struct calibration *c)
{
    perhaps_guard_statistics statistics = {.size = sizeof statistics};
    (void)perhaps_guard_stats(c->guard, &statistics);
    if (statistics.queries == 0) {
        return fail(shown_name(c->arguments->values[OPTION_ABSENT]),
                    "has no key that is not among the present ones: there is nothing to measure with");
    }
    int status = STATUS_OK;
    if (!given(c->arguments, OPTION_QUIET)) {
        tell_left_out(c);
        if (given(c->arguments, OPTION_JSON)) {
            status = print_json(c, &statistics);
        } else {
            print_human(c, &statistics);
        }
    }
    int false_negatives = report_false_negatives(c);
    return status != STATUS_OK ? status : false_negatives;
}

static int prepare(struct calibration *c)
{
    // The filter's own seed would let keys that it confuses by their whole hash pass for one key.
    enum { SEED = 0x63616c };
    if (filter_open(c->path, &c->filter) != STATUS_OK || filter_needs_bytes(c->path, c->filter) != STATUS_OK ||
        hasher_create(SEED, NULL, &c->hasher) != STATUS_OK) {
        return STATUS_ERROR;
    }
    perhaps_guard_options options = {.size = sizeof options, .filter = c->filter};
    perhaps_error error = {.size = sizeof error};
    int code = perhaps_guard_create(&options, &c->guard, &error);
    return code < 0 ? fail_library(c->path, code, &error) : STATUS_OK;
}

static int calibrate(struct calibration *c)
{
    if (prepare(c) != STATUS_OK ||
        visit_file(c->arguments, c->arguments->values[OPTION_PRESENT], present_batch, c) != STATUS_OK ||
        visit_file(c->arguments, c->arguments->values[OPTION_ABSENT], absent_batch, c) != STATUS_OK) {
        return STATUS_ERROR;
    }
    return report(c);
}

int command_calibrate(const struct arguments *arguments)
{
    if (!given(arguments, OPTION_PRESENT) || !given(arguments, OPTION_ABSENT)) {
        return fail_usage("calibrate", "--present and --absent are both needed");
    }
    if (option_conflict(arguments, OPTION_JSON, OPTION_QUIET) != STATUS_OK) {
        return STATUS_ERROR;
    }
    if (strcmp(arguments->values[OPTION_PRESENT], "-") == 0 && strcmp(arguments->values[OPTION_ABSENT], "-") == 0) {
        return fail_usage("calibrate", "--present and --absent cannot both be standard input");
    }
    struct calibration c = {.arguments = arguments, .path = arguments->operands[0]};
    int status = calibrate(&c);
    hashset_free(&c.present);
    hashset_free(&c.absent);
    perhaps_guard_free(c.guard);
    perhaps_free(c.hasher);
    perhaps_free(c.filter);
    return status;
}
