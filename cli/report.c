// SPDX-License-Identifier: MIT
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "atomicfile.h"
#include "json.h"
#include "messages.h"
#include "options.h"
#include "output.h"
#include "store.h"
#include "utf8.h"

enum { TEXT_SIZE = 2048 };

static double share_of(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0.0 : 100.0 * (double)part / (double)whole;
}

// What became of the keys that the filter called surely absent.
static void describe_absent(char *text, size_t room, const struct arguments *arguments,
                            const perhaps_guard_statistics *s, const struct audit *audit)
{
    if (given(arguments, OPTION_AUDIT)) {
        (void)snprintf(text, room, "%" PRIu64 " put to the store, which has %" PRIu64 " of them", audit->audited,
                       audit->missed);
    } else {
        (void)snprintf(text, room, "%.4g %%: store look-ups saved", share_of(s->surely_absent, s->queries));
    }
}

// Standard error may be shared with other processes: the whole report in one write.
static void print_human(const struct arguments *arguments, const perhaps_guard_statistics *s, const struct audit *audit,
                        const struct opened_store *store)
{
    char absent[96];
    describe_absent(absent, sizeof absent, arguments, s, audit);
    char refuted[96] = "false positives of the filter";
    if (s->unfiltered > 0) {
        (void)snprintf(refuted, sizeof refuted, "%" PRIu64 " of them before the filter was ready, or by one before it",
                       s->unfiltered);
    }
    char rate[96] = "unknown: no absent key was asked for";
    if (isfinite(s->fpr_observed)) {
        (void)snprintf(rate, sizeof rate, "%.4g (%.4g to %.4g at %g %%)", s->fpr_observed, s->fpr_observed_low,
                       s->fpr_observed_high, 100.0 * s->confidence);
    }
    char text[TEXT_SIZE];
    int length =
        snprintf(text, sizeof text,
                 "keys asked:         %" PRIu64 "\n"
                 "surely absent:      %" PRIu64 " (%s)\n"
                 "store look-ups:     %" PRIu64 "%s\n"
                 "  confirmed:        %" PRIu64 "\n"
                 "  refuted:          %" PRIu64 " (%s)\n"
                 "FPR observed:       %s\n"
                 "FPR predicted:      %.4g\n"
                 "FPR target:         %.4g\n"
                 "verdict:            %s\n",
                 s->queries, s->surely_absent, absent, s->perhaps + audit->audited,
                 store->indexed != 0 ? "" : " (each scans the table: the column has no index)", s->confirmed,
                 s->refuted, refuted, rate, s->fpr_predicted, s->fpr_target, perhaps_guard_verdict_name(s->verdict));
    (void)write_all(STDERR_FILENO, text, (size_t)length);
}

static void fill_option(struct json *json, const char *name, const char *value)
{
    if (value != NULL) {
        json_bytes(json, name, value, strlen(value));
    }
}

// The names are those of perhaps_guard_statistics and are an interface: see perhaps(1).
static void fill_json(struct json *json, const struct arguments *arguments, const perhaps_guard_statistics *s,
                      const struct audit *audit, const struct opened_store *store)
{
    json_open(json, NULL);
    json_bytes(json, "filter", arguments->operands[0], strlen(arguments->operands[0]));
    json_bytes(json, "store", store->name, strlen(store->name));
    fill_option(json, "schema", arguments->values[OPTION_SCHEMA]);
    fill_option(json, "table", arguments->values[OPTION_TABLE]);
    fill_option(json, "column", arguments->values[OPTION_COLUMN]);
    fill_option(json, "query", arguments->values[OPTION_QUERY]);
    fill_option(json, "canonical", arguments->values[OPTION_CANONICAL]);
    json_bool(json, "indexed", store->indexed != 0);
    json_unsigned(json, "queries", s->queries);
    json_unsigned(json, "surely_absent", s->surely_absent);
    json_unsigned(json, "perhaps", s->perhaps);
    json_unsigned(json, "confirmed", s->confirmed);
    json_unsigned(json, "refuted", s->refuted);
    json_unsigned(json, "unresolved", s->unresolved);
    if (given(arguments, OPTION_AUDIT)) {
        json_unsigned(json, "audited", audit->audited);
        json_unsigned(json, "missed", audit->missed);
    }
    json_double(json, "fpr_observed", s->fpr_observed);
    json_double(json, "fpr_observed_low", s->fpr_observed_low);
    json_double(json, "fpr_observed_high", s->fpr_observed_high);
    json_double(json, "confidence", s->confidence);
    json_double(json, "fpr_predicted", s->fpr_predicted);
    json_double(json, "fpr_target", s->fpr_target);
    json_string(json, "verdict", perhaps_guard_verdict_name(s->verdict));
    json_close(json);
}

static int write_json(const struct arguments *arguments, const perhaps_guard_statistics *s, const struct audit *audit,
                      const struct opened_store *store)
{
    const char *path = arguments->values[OPTION_REPORT];
    struct json json = {0};
    fill_json(&json, arguments, s, audit, store);
    json_end_line(&json);
    int status = json.failed ? fail(path, "there is not enough memory for the report")
                             : write_atomically(path, json.text, json.length);
    json_free(&json);
    return status;
}

int report_guard(const struct arguments *arguments, const perhaps_guard_statistics *statistics,
                 const struct audit *audit, const struct opened_store *store)
{
    if (given(arguments, OPTION_REPORT)) {
        return write_json(arguments, statistics, audit, store);
    }
    if (!given(arguments, OPTION_QUIET)) {
        print_human(arguments, statistics, audit, store);
    }
    return STATUS_OK;
}

int report_metrics(const struct arguments *arguments, const perhaps_guard_statistics *statistics)
{
    const char *path = arguments->values[OPTION_METRICS_FILE];
    const char *name = arguments->operands[0];
    if (path == NULL) {
        return STATUS_OK;
    }
    perhaps_error error = {.size = sizeof error};
    name = utf8_valid(name, strlen(name)) ? name : NULL; // a label cannot be anything else
    size_t length = 0;
    (void)perhaps_guard_prometheus(statistics, name, NULL, 0, &length, &error);
    char *text = malloc((size_t)error.limit);
    if (text == NULL || perhaps_guard_prometheus(statistics, name, text, (size_t)error.limit, &length, &error) < 0) {
        free(text);
        return fail(path, "there is not enough memory for the metrics");
    }
    int status = write_atomically(path, text, length);
    free(text);
    return status;
}
