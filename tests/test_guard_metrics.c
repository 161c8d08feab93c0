// SPDX-License-Identifier: MIT
// The account as text, and the plan.
//
//     test_guard_metrics print    an exposition on standard output, for promtool
#include <ctype.h>

#include "filter.h"
#include "guard_store.h"

static perhaps_guard_statistics example(void)
{
    struct rows *rows = make_rows(true);
    perhaps_guard *guard = guard_of(rows, shared_filter(PERHAPS_KIND_CUCKOO, 1000, 0.01));
    add_rows(guard, rows, 0, 900);
    for (uint64_t key = 0; key < 20000; key++) {
        (void)perhaps_guard_contains(guard, &key, sizeof key, NULL);
    }
    perhaps_guard_statistics statistics = statistics_of(guard);
    perhaps_guard_free(guard);
    free_rows(rows);
    return statistics;
}

static char *text_of(int (*write)(const perhaps_guard_statistics *, const char *, char *, size_t, size_t *,
                                  perhaps_error *),
                     const perhaps_guard_statistics *statistics, const char *name)
{
    perhaps_error error = {.size = sizeof error};
    size_t written = 4711;
    assert_int_equal(write(statistics, name, NULL, 0, &written, &error), PERHAPS_E_SPACE);
    assert_int_equal(written, 4711);
    size_t size = (size_t)error.limit;
    char *text = malloc(size);
    memset(text, 'x', size);
    assert_int_equal(write(statistics, name, text, size - 1, &written, NULL), PERHAPS_E_SPACE);
    assert_int_equal(text[0], 'x');
    assert_int_equal(write(statistics, name, text, size, &written, NULL), 0);
    assert_int_equal(written, size - 1);
    assert_int_equal(strlen(text), written);
    return text;
}

static int write_json(const perhaps_guard_statistics *statistics, const char *name, char *buffer, size_t capacity,
                      size_t *written, perhaps_error *error)
{
    (void)name;
    return perhaps_guard_json(statistics, buffer, capacity, written, error);
}

/* ---------------------------------------------------------------- Prometheus */

// A strict reader of the text exposition format: one HELP and one TYPE before the samples of each family, every name and
// label as it must be, counters with _total, values that are numbers.
struct exposition {
    char family[128];
    char type[16];
    unsigned families;
    unsigned samples;
    bool helped;
};

static size_t name_at(const char *text)
{
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_' || text[length] == ':') {
        length++;
    }
    assert_true(length > 0 && !isdigit((unsigned char)text[0]));
    return length;
}

static void read_comment(struct exposition *exposition, const char *line)
{
    char word[8];
    char family[128];
    int at = 0;
    assert_int_equal(sscanf(line, "# %7s %127s %n", word, family, &at), 2);
    assert_true(strncmp(family, "perhaps_guard_", 14) == 0 && name_at(family) == strlen(family));
    if (strcmp(word, "HELP") == 0) {
        assert_true(strlen(line + at) > 10 && line[strlen(line) - 1] == '.');
        (void)snprintf(exposition->family, sizeof exposition->family, "%s", family);
        exposition->helped = true;
        exposition->families++;
        return;
    }
    assert_string_equal(word, "TYPE");
    assert_true(exposition->helped);
    exposition->helped = false;
    assert_string_equal(family, exposition->family);
    (void)snprintf(exposition->type, sizeof exposition->type, "%s", line + at);
    bool counter = strcmp(exposition->type, "counter") == 0;
    bool total = strlen(family) > 6 && strcmp(family + strlen(family) - 6, "_total") == 0;
    assert_int_equal(counter, total);
    assert_true(counter || strcmp(exposition->type, "gauge") == 0 || strcmp(exposition->type, "summary") == 0);
}

// Behind the labels.
static const char *read_labels(const char *at, const char *name)
{
    unsigned labels = 0;
    bool named = false;
    while (*at != '}') {
        at += labels++ > 0;
        size_t length = name_at(at);
        named = named || (length == 5 && memcmp(at, "guard", 5) == 0);
        at += length;
        assert_true(at[0] == '=' && at[1] == '"');
        for (at += 2; *at != '"'; at++) {
            assert_true(*at != '\0' && *at != '\n');
            at += *at == '\\';
        }
        at++;
        assert_true(*at == ',' || *at == '}');
    }
    assert_int_equal(named, name != NULL);
    return at + 1;
}

static void read_sample(struct exposition *exposition, const char *line, const char *name)
{
    size_t length = name_at(line);
    size_t family = strlen(exposition->family);
    assert_true(length >= family && memcmp(line, exposition->family, family) == 0);
    if (length > family) {
        assert_string_equal(exposition->type, "summary");
        assert_true(memcmp(line + family, "_sum", 4) == 0 || memcmp(line + family, "_count", 6) == 0);
    }
    const char *at = line + length;
    assert_true(name == NULL || *at == '{');
    at = *at == '{' ? read_labels(at + 1, name) : at;
    assert_true(*at == ' ');
    char *end = NULL;
    (void)strtod(at + 1, &end);
    assert_true(end > at + 1 && *end == '\0');
    exposition->samples++;
}

static void read_exposition(char *text, const char *name)
{
    struct exposition exposition = {.families = 0};
    assert_true(text[strlen(text) - 1] == '\n');
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (line[0] == '#') {
            read_comment(&exposition, line);
        } else {
            read_sample(&exposition, line, name);
        }
    }
    assert_int_equal(exposition.families, 52);
    assert_int_equal(exposition.samples, 52 + 3 + 2 + 2 * 3);
}

static void assert_sample(const char *text, const char *sample, double value)
{
    char line[256];
    (void)snprintf(line, sizeof line, "\n%s %.17g\n", sample, value);
    if (strstr(text, line) == NULL) {
        fail_msg("there is no line \"%s\"", line);
    }
}

static void test_prometheus(void **state)
{
    perhaps_guard_statistics statistics = example();
    char *text = text_of(perhaps_guard_prometheus, &statistics, NULL);
    assert_sample(text, "perhaps_guard_queries_total", 20000);
    assert_sample(text, "perhaps_guard_confirmed_total", 900);
    assert_sample(text, "perhaps_guard_refuted_total", (double)statistics.refuted);
    assert_sample(text, "perhaps_guard_fpr_observed_ratio", statistics.fpr_observed);
    assert_sample(text, "perhaps_guard_filter_size_bytes", (double)statistics.bytes);
    assert_sample(text, "perhaps_guard_verdict{verdict=\"healthy\"}", 1);
    assert_sample(text, "perhaps_guard_verdict{verdict=\"degraded\"}", 0);
    assert_sample(text, "perhaps_guard_state{state=\"ready\"}", 1);
    assert_sample(text, "perhaps_guard_state{state=\"catching up\"}", 0);
    assert_sample(text, "perhaps_guard_store_latency_seconds_count", (double)statistics.store_latency.count);
    read_exposition(text, NULL);
    free(text);
    statistics.fpr_observed = (double)NAN;
    statistics.distinct_estimate = (double)INFINITY;
    statistics.ask_latency = (perhaps_guard_latency){.count = 0};
    text = text_of(perhaps_guard_prometheus, &statistics, "a \"b\" \\ c\nd, e} f");
    const char *label = "{guard=\"a \\\"b\\\" \\\\ c\\nd, e} f\"}";
    char line[256];
    (void)snprintf(line, sizeof line, "\nperhaps_guard_fpr_observed_ratio%s NaN\n", label);
    assert_non_null(strstr(text, line));
    (void)snprintf(line, sizeof line, "\nperhaps_guard_filter_distinct_keys%s +Inf\n", label);
    assert_non_null(strstr(text, line));
    read_exposition(text, "");
    free(text);
}

static void test_json(void **state)
{
    perhaps_guard_statistics statistics = example();
    statistics.window_fpr_observed = (double)NAN;
    char *text = text_of(write_json, &statistics, NULL);
    assert_int_equal(text[0], '{');
    assert_int_equal(text[strlen(text) - 1], '}');
    assert_null(strchr(text, '\n'));
    assert_non_null(strstr(text, "\"queries\":20000,"));
    assert_non_null(strstr(text, "\"verdict\":\"healthy\""));
    assert_non_null(strstr(text, "\"kind\":\"cuckoo\""));
    assert_non_null(strstr(text, "\"window_fpr_observed\":null,"));
    assert_non_null(strstr(text, ",\"store_latency\":{\"count\":"));
    assert_null(strstr(text, "nan"));
    free(text);
}

static void test_text_misuse(void **state)
{
    perhaps_guard_statistics statistics = example();
    char buffer[8];
    size_t written = 0;
    assert_int_equal(perhaps_guard_json(NULL, buffer, sizeof buffer, &written, NULL), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_guard_json(&statistics, NULL, 9, &written, NULL), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_guard_prometheus(&statistics, NULL, buffer, sizeof buffer, NULL, NULL),
                     PERHAPS_E_ARGUMENT);
    statistics.size--;
    assert_int_equal(perhaps_guard_prometheus(&statistics, NULL, buffer, sizeof buffer, &written, NULL),
                     PERHAPS_E_OPTION);
}

/* ---------------------------------------------------------------- planning */

static perhaps_plan plan_of(const perhaps_filter *filter, perhaps_plan_options options)
{
    perhaps_plan plan = {.size = sizeof plan};
    perhaps_error error = {.size = sizeof error};
    options.size = sizeof options;
    if (perhaps_plan_rebuild(filter, &options, &plan, &error) < 0) {
        fail_msg("%s: %s", error.subject, error.text);
    }
    return plan;
}

static void add_keys(perhaps_filter *filter, uint64_t first, uint64_t count)
{
    for (uint64_t key = first; key < first + count; key++) {
        assert_true(perhaps_add(filter, &key, sizeof key) >= 0);
    }
}

static void test_plan(void **state)
{
    perhaps_filter *filter = shared_filter(PERHAPS_KIND_BLOOM, 10000, 0.01);
    add_keys(filter, 0, 5000);
    perhaps_plan plan = plan_of(filter, (perhaps_plan_options){.keys_per_day = 0});
    assert_int_equal(plan.reasons, 0);
    assert_true(isinf(plan.days_left));
    assert_in_range(plan.distinct, 4900, 5100);
    assert_in_range(plan.capacity, plan.distinct * 9 / 8, plan.distinct * 9 / 8 + 1);
    plan = plan_of(filter, (perhaps_plan_options){.distinct = 5000, .keys_per_day = 100, .days = 30});
    assert_true(plan.days_left > 49 && plan.days_left < 51);
    assert_int_equal(plan.capacity, 9000);
    assert_true(plan.fpr_expected <= 0.01 && plan.fpr_after_rebuild < 0.004 && plan.fpr_after_rebuild > 0);
    perhaps_options next = {.size = sizeof next, .capacity = 9000, .fpr = 0.01};
    perhaps_sizing sizing = {.size = sizeof sizing};
    assert_int_equal(perhaps_size_for(&next, &sizing, NULL), 0);
    assert_int_equal(plan.bytes, sizing.bytes);
    assert_true(plan.bytes_while_rebuilding > plan.bytes);
    // What is expected after the rebuild is what such a filter then has.
    perhaps_filter *made = shared_filter(PERHAPS_KIND_BLOOM, 9000, 0.01);
    add_keys(made, 0, 5000);
    perhaps_statistics own = {.size = sizeof own};
    assert_int_equal(perhaps_stats(made, &own), 0);
    assert_true(fabs(plan.fpr_after_rebuild / own.fpr_now - 1) < 0.2);
    perhaps_free(made);
    perhaps_free(filter);
}

static void test_plan_reasons(void **state)
{
    perhaps_filter *filter = shared_filter(PERHAPS_KIND_BLOOM, 10000, 0.01);
    add_keys(filter, 0, 9000);
    assert_int_equal(plan_of(filter, (perhaps_plan_options){.residue = 1001}).reasons, PERHAPS_PLAN_RESIDUE);
    assert_int_equal(plan_of(filter, (perhaps_plan_options){.fpr_observed_low = 0.011}).reasons, PERHAPS_PLAN_OBSERVED);
    assert_int_equal(plan_of(filter, (perhaps_plan_options){.distinct = 100}).reasons, PERHAPS_PLAN_SPARSE);
    add_keys(filter, 9000, 2500);
    perhaps_plan plan = plan_of(filter, (perhaps_plan_options){.keys_per_day = 10});
    assert_int_equal(plan.reasons, PERHAPS_PLAN_FULL | PERHAPS_PLAN_PREDICTED);
    assert_true(plan.days_left >= 0 && plan.days_left <= 0);
    perhaps_free(filter);
    perhaps_options grows = {
        .size = sizeof grows, .capacity = 1000, .fpr = 0.01, .at_capacity = PERHAPS_AT_CAPACITY_GROW, .growth = 2};
    assert_int_equal(perhaps_create(&grows, &filter, NULL), 0);
    add_keys(filter, 0, 20000);
    plan = plan_of(filter, (perhaps_plan_options){.distinct = 20000});
    assert_int_equal(plan.reasons, PERHAPS_PLAN_LAYERS);
    assert_int_equal(plan.capacity, 22500);
    perhaps_free(filter);
}

// A filter that was made for just the keys that it holds is not full: its estimate scatters around them.
static void test_plan_of_an_exact_size(void **state)
{
    unsigned above = 0;
    for (uint64_t i = 0; i < 300; i++) {
        perhaps_filter *filter = shared_filter(PERHAPS_KIND_BLOOM, 1000, 0.01);
        add_keys(filter, i * 2000, 1000);
        perhaps_plan plan = plan_of(filter, (perhaps_plan_options){.distinct = PERHAPS_PLAN_ESTIMATED});
        assert_int_equal(plan.reasons, 0);
        assert_true(isinf(plan.days_left));
        above += plan.distinct > 1000;
        assert_int_equal(plan_of(filter, (perhaps_plan_options){.distinct = 1001}).reasons, PERHAPS_PLAN_FULL);
        add_keys(filter, i * 2000 + 1000, 80);
        assert_true((plan_of(filter, (perhaps_plan_options){.distinct = 0}).reasons & PERHAPS_PLAN_FULL) != 0);
        perhaps_free(filter);
    }
    assert_in_range(above, 90, 210); // otherwise this showed nothing
}

// Removals that the filter refused as ambiguous are residue, whoever asks.
static void test_plan_of_ambiguous_removals(void **state)
{
    perhaps_options options = {.size = sizeof options,
                               .kind = PERHAPS_KIND_CUCKOO,
                               .capacity = 1000,
                               .fpr = 0.01,
                               .policy = PERHAPS_POLICY_MULTISET,
                               .at_capacity = PERHAPS_AT_CAPACITY_GROW};
    perhaps_filter *filter = NULL;
    assert_int_equal(perhaps_create(&options, &filter, NULL), 0);
    for (uint64_t key = 0; key < 2500; key++) { // layers for 3,000
        assert_true(perhaps_add_hash(filter, key) >= 0);
    }
    filter->ambiguous = 299;
    assert_int_equal(plan_of(filter, (perhaps_plan_options){.residue = 100}).reasons, PERHAPS_PLAN_LAYERS);
    filter->ambiguous = 300;
    perhaps_plan plan = plan_of(filter, (perhaps_plan_options){.keys_per_day = 0});
    assert_int_equal(plan.reasons, PERHAPS_PLAN_LAYERS | PERHAPS_PLAN_RESIDUE);
    assert_int_equal(plan.distinct, 2200); // that are still wanted
    perhaps_free(filter);
}

static void test_plan_misuse(void **state)
{
    perhaps_filter *filter = shared_filter(PERHAPS_KIND_BLOOM, 10, 0.01);
    perhaps_plan plan = {.size = sizeof plan};
    assert_int_equal(perhaps_plan_rebuild(NULL, NULL, &plan, NULL), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_plan_rebuild(filter, NULL, NULL, NULL), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_guard_plan(NULL, NULL, &plan, NULL), PERHAPS_E_ARGUMENT);
    perhaps_plan_options options = {.size = sizeof options, .days = -1};
    assert_int_equal(perhaps_plan_rebuild(filter, &options, &plan, NULL), PERHAPS_E_OPTION);
    options = (perhaps_plan_options){.size = sizeof options, .keys_per_day = (double)NAN};
    assert_int_equal(perhaps_plan_rebuild(filter, &options, &plan, NULL), PERHAPS_E_OPTION);
    options = (perhaps_plan_options){.size = 1};
    assert_int_equal(perhaps_plan_rebuild(filter, &options, &plan, NULL), PERHAPS_E_OPTION);
    plan.size = sizeof plan + 1;
    assert_int_equal(perhaps_plan_rebuild(filter, NULL, &plan, NULL), PERHAPS_E_OPTION);
    plan.size = sizeof plan;
    options = (perhaps_plan_options){.size = sizeof options, .distinct = UINT64_C(1) << 62};
    assert_int_equal(perhaps_plan_rebuild(filter, &options, &plan, NULL), PERHAPS_E_LIMIT);
    assert_int_equal(perhaps_plan_rebuild(filter, NULL, &plan, NULL), 0);
    assert_int_equal(plan.capacity, 1);
    perhaps_free(filter);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "print") == 0) {
        perhaps_guard_statistics statistics = example();
        char *text = text_of(perhaps_guard_prometheus, &statistics, "example");
        (void)fputs(text, stdout);
        free(text);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prometheus),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_text_misuse),
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_plan_reasons),
        cmocka_unit_test(test_plan_of_an_exact_size),
        cmocka_unit_test(test_plan_of_ambiguous_removals),
        cmocka_unit_test(test_plan_misuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
