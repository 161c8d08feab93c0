// SPDX-License-Identifier: MIT
// The account as text: JSON, and the text exposition format of Prometheus.
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <perhaps/guard.h>

#include "fail.h"

/* ---------------------------------------------------------------- text that is counted, and written where there is room */

struct text {
    char *buffer; // NULL: only counted
    size_t capacity;
    size_t length;
};

static void __attribute__((format(printf, 2, 3))) write_text(struct text *text, const char *format, ...)
{
    bool room = text->length < text->capacity;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(room ? text->buffer + text->length : NULL, room ? text->capacity - text->length : 0, format,
                           arguments);
    va_end(arguments);
    text->length += length > 0 ? (size_t)length : 0;
}

typedef void write_function(struct text *text, const perhaps_guard_statistics *statistics, const char *name);

static int write_all(write_function *write, const perhaps_guard_statistics *statistics, const char *name, char *buffer,
                     size_t capacity, size_t *written, perhaps_error *error)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_ARGUMENT, .subject = "metrics"};
    if (statistics == NULL || (buffer == NULL && capacity > 0) || written == NULL) {
        return perhaps__guard_fail(error, failure, "an argument is NULL, and the call needs it");
    }
    if (statistics->size != sizeof *statistics) {
        failure.code = PERHAPS_E_OPTION;
        return perhaps__guard_fail(error, failure, "the statistics do not have the size that this release gives them");
    }
    struct text counted = {.buffer = NULL};
    write(&counted, statistics, name);
    if (counted.length >= capacity) {
        perhaps_error full = {.code = PERHAPS_E_SPACE, .value = capacity, .limit = counted.length + 1};
        (void)snprintf(full.subject, sizeof full.subject, "metrics");
        (void)snprintf(full.text, sizeof full.text, "the text takes %zu bytes; give a larger buffer",
                       counted.length + 1);
        perhaps__guard_hand_on(error, &full);
        return PERHAPS_E_SPACE;
    }
    struct text text = {.buffer = buffer, .capacity = capacity};
    write(&text, statistics, name);
    *written = text.length;
    return 0;
}

/* ---------------------------------------------------------------- what there is */

enum type { COUNTER, GAUGE, FLAG, RATE };

// `json` is the name in perhaps_guard_statistics; `prometheus` the one without the prefix, NULL where there is none.
struct metric {
    const char *json;
    const char *prometheus;
    const char *help;
    enum type type;
    size_t offset;
};

#define METRIC(member, type, prometheus, help)                                                                         \
    {                                                                                                                  \
#member, prometheus, help, type, offsetof(perhaps_guard_statistics, member)                                    \
    }

// FLAG stands for 32 bits, COUNTER for 64 bits that only rise, GAUGE for 64 bits, RATE for a double.
static const struct metric metrics[] = {
    METRIC(queries, COUNTER, "queries_total", "Questions asked."),
    METRIC(surely_absent, COUNTER, "surely_absent_total",
           "Questions answered by the filter alone: store look-ups saved."),
    METRIC(perhaps, COUNTER, "perhaps_total", "Questions passed on to the store."),
    METRIC(confirmed, COUNTER, "confirmed_total", "Questions passed on whose key the store has."),
    METRIC(refuted, COUNTER, "refuted_total", "Questions passed on whose key the store has not: false positives."),
    METRIC(unresolved, GAUGE, "unresolved", "Questions passed on without a report."),
    METRIC(fpr_observed, RATE, "fpr_observed_ratio", "Share of absent keys that passed, as the store says."),
    METRIC(fpr_observed_low, RATE, "fpr_observed_low_ratio", "Lower end of the interval around the observed rate."),
    METRIC(fpr_observed_high, RATE, "fpr_observed_high_ratio", "Upper end of the interval around the observed rate."),
    METRIC(confidence, RATE, "confidence_ratio", "Confidence of the intervals."),
    METRIC(fpr_predicted, RATE, "fpr_predicted_ratio", "False-positive rate that the fill of the filter predicts."),
    METRIC(fpr_target, RATE, "fpr_target_ratio", "False-positive rate promised at capacity."),
    METRIC(verdict, FLAG, NULL, NULL),
    METRIC(not_ready, FLAG, "not_ready",
           "1 until the first rebuild or reload of a guard that was made without a filter."),
    METRIC(window_seconds, RATE, "window_seconds", "How far the window looks back."),
    METRIC(window_queries, GAUGE, "window_queries", "Questions asked in the window."),
    METRIC(window_surely_absent, GAUGE, "window_surely_absent", "Store look-ups saved in the window."),
    METRIC(window_perhaps, GAUGE, "window_perhaps", "Questions passed on in the window."),
    METRIC(window_confirmed, GAUGE, "window_confirmed", "Keys confirmed in the window."),
    METRIC(window_refuted, GAUGE, "window_refuted", "False positives in the window."),
    METRIC(window_fpr_observed, RATE, "window_fpr_observed_ratio", "Observed rate in the window."),
    METRIC(window_fpr_observed_low, RATE, "window_fpr_observed_low_ratio", "Lower end of its interval."),
    METRIC(window_fpr_observed_high, RATE, "window_fpr_observed_high_ratio", "Upper end of its interval."),
    METRIC(kind, FLAG, NULL, NULL),
    METRIC(layers, FLAG, "filter_layers", "Layers of the filter in use."),
    METRIC(capacity, GAUGE, "filter_capacity_keys", "Distinct keys that the filter was made for."),
    METRIC(fill, RATE, "filter_fill_ratio", "Share of bits, counters or slots that are taken."),
    METRIC(distinct_estimate, RATE, "filter_distinct_keys", "Distinct keys in the filter, estimated from its fill."),
    METRIC(bytes, GAUGE, "filter_size_bytes", "Memory for the bits of the filter."),
    METRIC(overflow, GAUGE, "overflow_keys", "Keys kept exactly because the filter refused them."),
    METRIC(overflow_limit, GAUGE, "overflow_limit_keys", "Most keys that are kept exactly."),
    METRIC(residue, GAUGE, "residue_keys", "Keys in the filter that the store has no more, at most."),
    METRIC(adds, COUNTER, "adds_total", "Keys added through the guard."),
    METRIC(removals, COUNTER, "removals_total", "Keys removed through the guard."),
    METRIC(refused, COUNTER, "refused_total", "Keys that a filter refused."),
    METRIC(rebuilds, COUNTER, "rebuilds_total", "Rebuilds that put a new filter in place."),
    METRIC(rebuilds_failed, COUNTER, "rebuilds_failed_total", "Rebuilds that failed."),
    METRIC(rebuilds_cancelled, COUNTER, "rebuilds_cancelled_total", "Rebuilds that were cancelled."),
    METRIC(alarms, COUNTER, "alarms_total", "Alarms raised."),
    METRIC(rebuilding, FLAG, "rebuilding", "1 while a rebuild is running."),
    METRIC(alarmed, FLAG, "alarmed", "1 when the alarm was raised for the filter in use."),
    METRIC(alarm_absent, GAUGE, "alarm_absent_keys",
           "Distinct absent keys in the alarm's sample, for the filter in use."),
    METRIC(alarm_refuted, GAUGE, "alarm_refuted_keys", "Those among them that passed."),
    METRIC(alarm_level, RATE, "alarm_level_ratio", "How near the alarm is: 1 when raised."),
    METRIC(state, FLAG, NULL, NULL),
    METRIC(catch_ups, COUNTER, "catch_ups_total", "Times that the filter was brought up to date with the store."),
    METRIC(catch_ups_failed, COUNTER, "catch_ups_failed_total", "Times that it could not be."),
    METRIC(changes, COUNTER, "changes_total", "Keys that were written outside, as catching up told."),
    METRIC(unfiltered, COUNTER, "unfiltered_total",
           "False positives that are none of the filter in use: they are not in the observed rate."),
    METRIC(staleness_seconds, RATE, "staleness_seconds",
           "How long ago the last catch-up began that succeeded: older writes from outside are in the filter."),
};

#define METRICS (sizeof metrics / sizeof metrics[0])

static uint64_t whole(const struct metric *metric, const perhaps_guard_statistics *statistics)
{
    const unsigned char *place = (const unsigned char *)statistics + metric->offset;
    uint64_t wide = 0;
    uint32_t narrow = 0;
    if (metric->type == FLAG) {
        memcpy(&narrow, place, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, place, sizeof wide);
    return wide;
}

static double real(const struct metric *metric, const perhaps_guard_statistics *statistics)
{
    double value = 0.0;
    memcpy(&value, (const unsigned char *)statistics + metric->offset, sizeof value);
    return value;
}

/* ---------------------------------------------------------------- JSON */

// JSON has no infinity either.
static void json_real(struct text *text, const char *name, double value)
{
    if (isfinite(value)) {
        write_text(text, "\"%s\":%.17g", name, value);
    } else {
        write_text(text, "\"%s\":null", name);
    }
}

static void json_latency(struct text *text, const char *name, const perhaps_guard_latency *latency)
{
    write_text(text, ",\"%s\":{\"count\":%" PRIu64 ",", name, latency->count);
    json_real(text, "sum", latency->sum);
    write_text(text, ",");
    json_real(text, "p50", latency->p50);
    write_text(text, ",");
    json_real(text, "p99", latency->p99);
    write_text(text, "}");
}

static void json_metric(struct text *text, const struct metric *metric, const perhaps_guard_statistics *statistics)
{
    const char *word = NULL;
    if (metric->offset == offsetof(perhaps_guard_statistics, verdict)) {
        word = perhaps_guard_verdict_name(statistics->verdict);
    } else if (metric->offset == offsetof(perhaps_guard_statistics, state)) {
        word = perhaps_guard_state_name(statistics->state);
    } else if (metric->offset == offsetof(perhaps_guard_statistics, kind)) {
        word = perhaps_kind_name(statistics->kind);
    }
    if (word != NULL) {
        write_text(text, "\"%s\":\"%s\"", metric->json, word);
    } else if (metric->type == RATE) {
        json_real(text, metric->json, real(metric, statistics));
    } else {
        write_text(text, "\"%s\":%" PRIu64, metric->json, whole(metric, statistics));
    }
}

static void write_json(struct text *text, const perhaps_guard_statistics *statistics, const char *name)
{
    (void)name;
    for (size_t i = 0; i < METRICS; i++) {
        write_text(text, "%c", i == 0 ? '{' : ',');
        json_metric(text, &metrics[i], statistics);
    }
    json_latency(text, "ask_latency", &statistics->ask_latency);
    json_latency(text, "store_latency", &statistics->store_latency);
    write_text(text, "}");
}

int perhaps_guard_json(const perhaps_guard_statistics *statistics, char *buffer, size_t capacity, size_t *written,
                       perhaps_error *error)
{
    return write_all(write_json, statistics, NULL, buffer, capacity, written, error);
}

/* ---------------------------------------------------------------- Prometheus */

// The three characters that a label's value may not hold as they are.
static void write_escaped(struct text *text, const char *value)
{
    for (; *value != '\0'; value++) {
        if (*value == '\n') {
            write_text(text, "\\n");
        } else {
            write_text(text, "%s%c", *value == '\\' || *value == '"' ? "\\" : "", *value);
        }
    }
}

// {guard="NAME",EXTRA}, as far as there is something to put into it.
static void write_labels(struct text *text, const char *name, const char *extra)
{
    if (name == NULL && extra == NULL) {
        return;
    }
    write_text(text, "{");
    if (name != NULL) {
        write_text(text, "guard=\"");
        write_escaped(text, name);
        write_text(text, "\"%s", extra != NULL ? "," : "");
    }
    write_text(text, "%s}", extra != NULL ? extra : "");
}

static void write_head(struct text *text, const char *family, const char *help, const char *type)
{
    write_text(text, "# HELP perhaps_guard_%s %s\n# TYPE perhaps_guard_%s %s\n", family, help, family, type);
}

// The format has its own names for what is no number.
static void write_real(struct text *text, double value)
{
    if (isnan(value)) {
        write_text(text, " NaN\n");
    } else if (isinf(value)) {
        write_text(text, value > 0.0 ? " +Inf\n" : " -Inf\n");
    } else {
        write_text(text, " %.17g\n", value);
    }
}

static void write_metric(struct text *text, const struct metric *metric, const perhaps_guard_statistics *statistics,
                         const char *name)
{
    write_head(text, metric->prometheus, metric->help, metric->type == COUNTER ? "counter" : "gauge");
    write_text(text, "perhaps_guard_%s", metric->prometheus);
    write_labels(text, name, NULL);
    if (metric->type == RATE) {
        write_real(text, real(metric, statistics));
    } else {
        write_text(text, " %" PRIu64 "\n", whole(metric, statistics));
    }
}

static void write_summary(struct text *text, const char *family, const char *help, const perhaps_guard_latency *latency,
                          const char *name)
{
    write_head(text, family, help, "summary");
    write_text(text, "perhaps_guard_%s", family);
    write_labels(text, name, "quantile=\"0.5\"");
    write_real(text, latency->count > 0 ? latency->p50 : (double)NAN);
    write_text(text, "perhaps_guard_%s", family);
    write_labels(text, name, "quantile=\"0.99\"");
    write_real(text, latency->count > 0 ? latency->p99 : (double)NAN);
    write_text(text, "perhaps_guard_%s_sum", family);
    write_labels(text, name, NULL);
    write_real(text, latency->sum);
    write_text(text, "perhaps_guard_%s_count", family);
    write_labels(text, name, NULL);
    write_text(text, " %" PRIu64 "\n", latency->count);
}

// A state set: one sample for each word there is, of which one is 1.
static void write_words(struct text *text, const char *family, const char *help, const char *(*word_of)(uint32_t),
                        uint32_t present, const char *name)
{
    write_head(text, family, help, "gauge");
    for (uint32_t i = 0; word_of(i) != NULL; i++) {
        char label[64];
        (void)snprintf(label, sizeof label, "%s=\"%s\"", family, word_of(i));
        write_text(text, "perhaps_guard_%s", family);
        write_labels(text, name, label);
        write_text(text, " %d\n", i == present);
    }
}

static void write_info(struct text *text, const perhaps_guard_statistics *statistics, const char *name)
{
    char label[64];
    const char *kind = perhaps_kind_name(statistics->kind);
    (void)snprintf(label, sizeof label, "kind=\"%s\"", kind != NULL ? kind : "");
    write_head(text, "filter_info", "The kind of the filter in use.", "gauge");
    write_text(text, "perhaps_guard_filter_info");
    write_labels(text, name, label);
    write_text(text, " 1\n");
}

static void write_prometheus(struct text *text, const perhaps_guard_statistics *statistics, const char *name)
{
    for (size_t i = 0; i < METRICS; i++) {
        if (metrics[i].prometheus != NULL) {
            write_metric(text, &metrics[i], statistics, name);
        }
    }
    write_words(text, "verdict", "1 for the verdict that holds.", perhaps_guard_verdict_name, statistics->verdict,
                name);
    write_words(text, "state", "1 for what the guard is doing.", perhaps_guard_state_name, statistics->state, name);
    write_info(text, statistics, name);
    write_summary(text, "ask_latency_seconds", "Time that the filter's look-up takes, sampled.",
                  &statistics->ask_latency, name);
    write_summary(text, "store_latency_seconds", "Time that the store's look-up takes.", &statistics->store_latency,
                  name);
}

int perhaps_guard_prometheus(const perhaps_guard_statistics *statistics, const char *name, char *buffer,
                             size_t capacity, size_t *written, perhaps_error *error)
{
    return write_all(write_prometheus, statistics, name, buffer, capacity, written, error);
}
