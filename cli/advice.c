// SPDX-License-Identifier: MIT
#include "advice.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "json.h"

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

int advice_reasons(char *text, size_t room, const perhaps_plan *plan)
{
    if (plan->reasons == 0 && isfinite(plan->days_left)) {
        return snprintf(text, room, "%-20sin %.0f days\n", "rebuild:", plan->days_left);
    }
    if (plan->reasons == 0) {
        return snprintf(text, room, "%-20snot needed\n", "rebuild:");
    }
    int length = 0;
    for (size_t i = 0; i < REASONS; i++) {
        if ((plan->reasons & reasons[i].bit) != 0) {
            const char *label = length == 0 ? "rebuild:" : "";
            length += snprintf(text + length, room - (size_t)length, "%-20s%s%s\n", label, length == 0 ? "now; " : "",
                               reasons[i].text);
        }
    }
    return length;
}

int advice_next(char *text, size_t room, const perhaps_plan *plan)
{
    return snprintf(text, room,
                    "%-20s%" PRIu64 "\n"
                    "%-20s%" PRIu64 " keys, %" PRIu64 " bytes\n"
                    "%-20s%.3g (%.3g when it is new)\n"
                    "%-20s%" PRIu64 " bytes, both filters\n",
                    "distinct keys:", plan->distinct, "next filter:", plan->capacity, plan->bytes,
                    "FPR at capacity:", plan->fpr_expected, plan->fpr_after_rebuild,
                    "while rebuilding:", plan->bytes_while_rebuilding);
}

void advice_json(struct json *json, const perhaps_plan *plan)
{
    json_open_array(json, "reasons");
    for (size_t i = 0; i < REASONS; i++) {
        if ((plan->reasons & reasons[i].bit) != 0) {
            json_string(json, NULL, reasons[i].name);
        }
    }
    json_close_array(json);
    json_double(json, "days_left", plan->days_left);
    json_unsigned(json, "distinct", plan->distinct);
    json_unsigned(json, "capacity", plan->capacity);
    json_double(json, "fpr", plan->fpr);
    json_double(json, "fpr_expected", plan->fpr_expected);
    json_double(json, "fpr_after_rebuild", plan->fpr_after_rebuild);
    json_unsigned(json, "bytes", plan->bytes);
    json_unsigned(json, "bytes_while_rebuilding", plan->bytes_while_rebuilding);
}
