// SPDX-License-Identifier: MIT
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advice.h"
#include "atomicfile.h"
#include "json.h"
#include "messages.h"
#include "options.h"
#include "output.h"
#include "store.h"
#include "utf8.h"

enum { TEXT_SIZE = 2048 + 2 * ADVICE_SIZE };

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

// Where nothing is to be done, nothing is said of a next filter.
static int describe_advice(char *text, size_t room, const struct account *account)
{
    const perhaps_plan *plan = &account->plan;
    if (!account->planned) {
        const char *unknown = account->reason.code != 0 ? "unknown: " : "";
        return snprintf(text, room, "rebuild:            %s%.400s\n", unknown, account->reason.text);
    }
    int length = advice_reasons(text, room, plan);
    if (plan->reasons != 0 || isfinite(plan->days_left)) {
        length += advice_next(text + length, room - (size_t)length, plan);
    }
    return length;
}

// Standard error may be shared with other processes: the whole report in one write.
static void print_human(const struct arguments *arguments, const struct account *account)
{
    const perhaps_guard_statistics *s = &account->statistics;
    const struct audit *audit = &account->audit;
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
                 account->store->indexed != 0 ? "" : " (each scans the table: the column has no index)", s->confirmed,
                 s->refuted, refuted, rate, s->fpr_predicted, s->fpr_target, perhaps_guard_verdict_name(s->verdict));
    length += describe_advice(text + length, sizeof text - (size_t)length, account);
    (void)write_all(STDERR_FILENO, text, (size_t)length);
}

static void fill_option(struct json *json, const char *name, const char *value)
{
    if (value != NULL) {
        json_bytes(json, name, value, strlen(value));
    }
}

static void fill_names(struct json *json, const struct arguments *arguments, const struct opened_store *store)
{
    json_bytes(json, "filter", arguments->operands[0], strlen(arguments->operands[0]));
    json_bytes(json, "store", store->name, strlen(store->name));
    fill_option(json, "schema", arguments->values[OPTION_SCHEMA]);
    fill_option(json, "table", arguments->values[OPTION_TABLE]);
    fill_option(json, "column", arguments->values[OPTION_COLUMN]);
    fill_option(json, "query", arguments->values[OPTION_QUERY]);
    fill_option(json, "canonical", arguments->values[OPTION_CANONICAL]);
    json_bool(json, "indexed", store->indexed != 0);
}

static void fill_counts(struct json *json, const perhaps_guard_statistics *s)
{
    json_unsigned(json, "queries", s->queries);
    json_unsigned(json, "surely_absent", s->surely_absent);
    json_unsigned(json, "perhaps", s->perhaps);
    json_unsigned(json, "confirmed", s->confirmed);
    json_unsigned(json, "refuted", s->refuted);
    json_unsigned(json, "unresolved", s->unresolved);
}

static void fill_rates(struct json *json, const perhaps_guard_statistics *s)
{
    json_double(json, "fpr_observed", s->fpr_observed);
    json_double(json, "fpr_observed_low", s->fpr_observed_low);
    json_double(json, "fpr_observed_high", s->fpr_observed_high);
    json_double(json, "confidence", s->confidence);
    json_double(json, "fpr_predicted", s->fpr_predicted);
    json_double(json, "fpr_target", s->fpr_target);
    json_string(json, "verdict", perhaps_guard_verdict_name(s->verdict));
}

static void fill_latency(struct json *json, const char *name, const perhaps_guard_latency *latency)
{
    json_open(json, name);
    json_unsigned(json, "count", latency->count);
    json_double(json, "sum", latency->sum);
    json_double(json, "p50", latency->count > 0 ? latency->p50 : (double)NAN);
    json_double(json, "p99", latency->count > 0 ? latency->p99 : (double)NAN);
    json_close(json);
}

static void fill_filter(struct json *json, const perhaps_guard_statistics *s)
{
    json_unsigned(json, "capacity", s->capacity);
    json_double(json, "fill", s->fill);
    json_double(json, "distinct_estimate", s->distinct_estimate);
    json_unsigned(json, "bytes", s->bytes);
    json_unsigned(json, "residue", s->residue);
    json_unsigned(json, "rebuilds", s->rebuilds);
    json_unsigned(json, "rebuilds_failed", s->rebuilds_failed);
    fill_latency(json, "ask_latency", &s->ask_latency);
    fill_latency(json, "store_latency", &s->store_latency);
}

static void fill_advice(struct json *json, const struct account *account)
{
    if (!account->planned) {
        json_null(json, "plan");
        return;
    }
    json_open(json, "plan");
    advice_json(json, &account->plan);
    json_close(json);
}

// The names are those of perhaps_guard_statistics and perhaps_plan and are an interface: see perhaps(1).
static void fill_json(struct json *json, const struct arguments *arguments, const struct account *account)
{
    json_open(json, NULL);
    fill_names(json, arguments, account->store);
    fill_counts(json, &account->statistics);
    if (given(arguments, OPTION_AUDIT)) {
        json_unsigned(json, "audited", account->audit.audited);
        json_unsigned(json, "missed", account->audit.missed);
    }
    fill_rates(json, &account->statistics);
    fill_filter(json, &account->statistics);
    fill_advice(json, account);
    json_close(json);
}

static int write_json(const struct arguments *arguments, const struct account *account)
{
    const char *path = arguments->values[OPTION_REPORT];
    struct json json = {0};
    fill_json(&json, arguments, account);
    json_end_line(&json);
    int status = json.failed ? fail(path, "there is not enough memory for the report")
                             : write_atomically(path, json.text, json.length);
    json_free(&json);
    return status;
}

int report_guard(const struct arguments *arguments, const struct account *account)
{
    if (given(arguments, OPTION_REPORT)) {
        return write_json(arguments, account);
    }
    if (!given(arguments, OPTION_QUIET)) {
        print_human(arguments, account);
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
