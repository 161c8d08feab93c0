// SPDX-License-Identifier: MIT
#include <perhaps/guard.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "filterfile.h"
#include "json.h"
#include "messages.h"
#include "numbers.h"
#include "options.h"
#include "output.h"

static void print_human(const perhaps_plan *plan)
{
    char text[ADVICE_SIZE];
    int length = advice_reasons(text, sizeof text, plan);
    output_write(text, (size_t)length);
    length = advice_next(text, sizeof text, plan);
    output_write(text, (size_t)length);
}

static int print_json(const char *path, const perhaps_plan *plan)
{
    struct json json = {0};
    json_open(&json, NULL);
    json_bytes(&json, "filter", path, strlen(path));
    advice_json(&json, plan);
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

// Of keys that all are in the store nothing was refuted.
static int read_observed(const struct arguments *arguments, double *observed)
{
    const char *text = arguments->values[OPTION_OBSERVED];
    char *end = NULL;
    if (text != NULL && strtod(text, &end) == 0.0 && end != text && *end == '\0') {
        *observed = 0.0;
        return STATUS_OK;
    }
    return option_rate(arguments, OPTION_OBSERVED, observed);
}

static int read_options(const struct arguments *arguments, perhaps_plan_options *options)
{
    uint64_t per_day = 0;
    uint64_t days = 0;
    *options = (perhaps_plan_options){.size = sizeof *options};
    if (read_number(arguments, OPTION_DISTINCT, &options->distinct) != STATUS_OK ||
        read_number(arguments, OPTION_PER_DAY, &per_day) != STATUS_OK ||
        read_number(arguments, OPTION_DAYS, &days) != STATUS_OK ||
        read_number(arguments, OPTION_RESIDUE, &options->residue) != STATUS_OK ||
        read_observed(arguments, &options->fpr_observed_low) != STATUS_OK) {
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
