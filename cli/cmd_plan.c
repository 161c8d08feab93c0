// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <math.h>
#include <perhaps/guard.h>
#include <string.h>

#include "filterfile.h"
#include "json.h"
#include "messages.h"
#include "numbers.h"
#include "options.h"
#include "output.h"

// In the order of the bits.
static const struct {
    uint32_t bit;
    const char *name;
    const char *text;
} reasons[] = {
    {PERHAPS_PLAN_FULL, "full", "it holds more than its capacity"},
    {PERHAPS_PLAN_OBSERVED, "observed", "the observed rate is above the target"},
    {PERHAPS_PLAN_PREDICTED, "predicted", "the rate that its fill predicts is well above the target"},
    {PERHAPS_PLAN_RESIDUE, "residue", "a tenth of its capacity or more is taken by keys that are gone"},
    {PERHAPS_PLAN_LAYERS, "layers", "it has grown, and every question looks into several layers"},
    {PERHAPS_PLAN_SPARSE, "sparse", "it takes more than four times the memory that it needs"},
};

#define REASONS (sizeof reasons / sizeof reasons[0])

static void print_reasons(const perhaps_plan *plan)
{
    const char *label = "rebuild:";
    for (size_t i = 0; i < REASONS; i++) {
        if ((plan->reasons & reasons[i].bit) != 0) {
            output_format("%-20s%s%s\n", label, label[0] != '\0' ? "now; " : "", reasons[i].text);
            label = "";
        }
    }
    if (plan->reasons == 0 && isfinite(plan->days_left)) {
        output_format("%-20sin %.0f days\n", label, plan->days_left);
    } else if (plan->reasons == 0) {
        output_format("%-20snot needed\n", label);
    }
}

static void print_human(const perhaps_plan *plan)
{
    print_reasons(plan);
    output_format("%-20s%" PRIu64 "\n", "distinct keys:", plan->distinct);
    output_format("%-20s%" PRIu64 " keys, %" PRIu64 " bytes\n", "next filter:", plan->capacity, plan->bytes);
    output_format("%-20s%.3g (%.3g when it is new)\n", "FPR at capacity:", plan->fpr_expected, plan->fpr_after_rebuild);
    output_format("%-20s%" PRIu64 " bytes, both filters\n", "while rebuilding:", plan->bytes_while_rebuilding);
}

static int print_json(const char *path, const perhaps_plan *plan)
{
    struct json json = {0};
    json_open(&json, NULL);
    json_bytes(&json, "filter", path, strlen(path));
    json_open_array(&json, "reasons");
    for (size_t i = 0; i < REASONS; i++) {
        if ((plan->reasons & reasons[i].bit) != 0) {
            json_string(&json, NULL, reasons[i].name);
        }
    }
    json_close_array(&json);
    json_double(&json, "days_left", plan->days_left);
    json_unsigned(&json, "distinct", plan->distinct);
    json_unsigned(&json, "capacity", plan->capacity);
    json_double(&json, "fpr", plan->fpr);
    json_double(&json, "fpr_expected", plan->fpr_expected);
    json_double(&json, "fpr_after_rebuild", plan->fpr_after_rebuild);
    json_unsigned(&json, "bytes", plan->bytes);
    json_unsigned(&json, "bytes_while_rebuilding", plan->bytes_while_rebuilding);
    json_close(&json);
    int status = json_print(&json);
    json_free(&json);
    return status;
}

// A number that is given, or 0.
static int read_number(const struct arguments *arguments, enum option_id option, uint64_t *value)
{
    *value = 0;
    const char *text = arguments->values[option];
    if (text == NULL || parse_count(text, value) == NUMBER_OK) {
        return STATUS_OK;
    }
    return fail_usage("plan", "%s: '%s' is not a number", option_shown(option), text);
}

static int read_options(const struct arguments *arguments, perhaps_plan_options *options)
{
    uint64_t per_day = 0;
    uint64_t days = 0;
    *options = (perhaps_plan_options){.size = sizeof *options};
    if (read_number(arguments, OPTION_DISTINCT, &options->distinct) != STATUS_OK ||
        read_number(arguments, OPTION_PER_DAY, &per_day) != STATUS_OK ||
        read_number(arguments, OPTION_DAYS, &days) != STATUS_OK) {
        return STATUS_ERROR;
    }
    options->keys_per_day = (double)per_day;
    options->days = (double)days;
    return STATUS_OK;
}

int command_plan(const struct arguments *arguments)
{
    perhaps_plan_options options;
    perhaps_filter *filter = NULL;
    const char *path = arguments->operands[0];
    if (read_options(arguments, &options) != STATUS_OK || filter_open_keyless(arguments, path, &filter) != STATUS_OK) {
        return STATUS_ERROR;
    }
    perhaps_plan plan = {.size = sizeof plan};
    perhaps_error error = {.size = sizeof error};
    int code = perhaps_plan_rebuild(filter, &options, &plan, &error);
    perhaps_free(filter);
    if (code < 0) {
        return fail_library(path, code, &error);
    }
    if (given(arguments, OPTION_JSON)) {
        return print_json(path, &plan);
    }
    print_human(&plan);
    return STATUS_OK;
}
