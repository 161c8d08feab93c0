// SPDX-License-Identifier: MIT
// How long a key takes in each kind of filter, beside what the memory allows and beside other libraries. Run by hand;
// bench/README.md explains it, --legend the table.
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define MAX_SIZES 16
#define MAX_KINDS 16

struct settings {
    uint64_t sizes[MAX_SIZES];
    size_t size_count;
    uint32_t kinds[MAX_KINDS];
    size_t kind_count;
    enum pages pages[2];
    size_t pages_count;
    const char *json_path;
    FILE *json;
    bool peers;
    bool targets;
};

static const char usage[] = "usage: bench [OPTION...]\n"
                            "  --sizes LIST     numbers of keys (default 1e5,1e6,1e7,1e8)\n"
                            "  --kinds LIST     kinds of filter (default: all that can do p)\n"
                            "  --p RATE         false-positive rate asked for (default 0.01)\n"
                            "  --repeat COUNT   repetitions; medians are taken over them (default 5)\n"
                            "  --queries COUNT  look-ups in one pass (default 2097152)\n"
                            "  --huge MODE      filters in huge pages: on, off or both (default both)\n"
                            "  --no-peers       only our own filters\n"
                            "  --targets        at the end, what the project asks of itself\n"
                            "  --json FILE      every repetition, one JSON object a line\n"
                            "  --legend         what the rows and columns mean; measures nothing\n";

_Noreturn static void fail_option(const char *option, const char *value)
{
    (void)fprintf(stderr, "bench: %s cannot be '%s'\n%s", option, value, usage);
    exit(2);
}

static double to_number(const char *option, const char *text, double least, double most)
{
    char *end = NULL;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= least && value <= most)) {
        fail_option(option, text);
    }
    return value;
}

static void take_sizes(struct settings *settings, char *list)
{
    settings->size_count = 0;
    char *rest = NULL;
    for (char *item = strtok_r(list, ",", &rest); item != NULL; item = strtok_r(NULL, ",", &rest)) {
        if (settings->size_count == MAX_SIZES) {
            fail_option("--sizes", "more than 16 numbers");
        }
        settings->sizes[settings->size_count++] = (uint64_t)to_number("--sizes", item, 1e4, 1e10);
    }
}

static uint32_t kind_named(const char *name)
{
    for (uint32_t kind = 1; perhaps_kind_name(kind) != NULL; kind++) {
        if (strcmp(perhaps_kind_name(kind), name) == 0) {
            return kind;
        }
    }
    fail_option("--kinds", name);
}

static void take_kinds(struct settings *settings, char *list)
{
    char *rest = NULL;
    for (char *item = strtok_r(list, ",", &rest); item != NULL; item = strtok_r(NULL, ",", &rest)) {
        if (settings->kind_count == MAX_KINDS) {
            fail_option("--kinds", "more than 16 names");
        }
        settings->kinds[settings->kind_count++] = kind_named(item);
    }
}

// The fastest last in number, first in the table.
static void take_every_kind(struct settings *settings, double fpr)
{
    uint32_t last = 0;
    while (last < MAX_KINDS && perhaps_kind_name(last + 1) != NULL) {
        last++;
    }
    for (uint32_t kind = last; kind > 0; kind--) {
        double smallest = 0.0;
        double largest = 0.0;
        (void)perhaps_kind_range(kind, &smallest, &largest);
        if (fpr >= smallest && fpr <= largest) {
            settings->kinds[settings->kind_count++] = kind;
        }
    }
}

static void take_pages(struct settings *settings, const char *mode)
{
    bool on = strcmp(mode, "on") == 0;
    bool off = strcmp(mode, "off") == 0;
    if (!on && !off && strcmp(mode, "both") != 0) {
        fail_option("--huge", mode);
    }
    settings->pages_count = 0;
    if (!off) {
        settings->pages[settings->pages_count++] = PAGES_HUGE;
    }
    if (!on) {
        settings->pages[settings->pages_count++] = PAGES_SMALL;
    }
}

enum {
    OPTION_SIZES = 1,
    OPTION_KINDS,
    OPTION_P,
    OPTION_REPEAT,
    OPTION_QUERIES,
    OPTION_HUGE,
    OPTION_NO_PEERS,
    OPTION_TARGETS,
    OPTION_JSON,
    OPTION_LEGEND,
    OPTION_HELP
};

static const struct option long_options[] = {
    {"sizes", required_argument, NULL, OPTION_SIZES},
    {"kinds", required_argument, NULL, OPTION_KINDS},
    {"p", required_argument, NULL, OPTION_P},
    {"repeat", required_argument, NULL, OPTION_REPEAT},
    {"queries", required_argument, NULL, OPTION_QUERIES},
    {"huge", required_argument, NULL, OPTION_HUGE},
    {"no-peers", no_argument, NULL, OPTION_NO_PEERS},
    {"targets", no_argument, NULL, OPTION_TARGETS},
    {"json", required_argument, NULL, OPTION_JSON},
    {"legend", no_argument, NULL, OPTION_LEGEND},
    {"help", no_argument, NULL, OPTION_HELP},
    {NULL, 0, NULL, 0},
};

static void take_option(int option, struct settings *settings, struct results *results)
{
    switch (option) {
    case OPTION_SIZES:
        take_sizes(settings, optarg);
        break;
    case OPTION_KINDS:
        take_kinds(settings, optarg);
        break;
    case OPTION_P:
        results->fpr = to_number("--p", optarg, 1e-9, 0.5);
        break;
    case OPTION_REPEAT:
        results->repeat = (unsigned)to_number("--repeat", optarg, 1, HARNESS_MAX_REPEAT);
        break;
    case OPTION_QUERIES:
        results->queries = (size_t)to_number("--queries", optarg, 1e4, 1e8);
        break;
    case OPTION_HUGE:
        take_pages(settings, optarg);
        break;
    case OPTION_NO_PEERS:
        settings->peers = false;
        break;
    case OPTION_TARGETS:
        settings->targets = true;
        break;
    case OPTION_JSON:
        settings->json_path = optarg;
        break;
    case OPTION_LEGEND:
        harness_print_legend();
        exit(0);
    case OPTION_HELP:
        (void)fputs(usage, stdout);
        exit(0);
    default:
        (void)fputs(usage, stderr);
        exit(2);
    }
}

static void add_subject(struct results *results, struct subject *subject)
{
    if (results->count == HARNESS_MAX_SUBJECTS) {
        harness_die("too many filters");
    }
    results->subjects[results->count++] = subject;
}

// A peer's own array is out of reach: its limits are those of our bloom, which has its size, in 4 KiB pages if they are
// measured, otherwise those of whatever filter is there.
static void add_peers(struct results *results, const struct keys *keys)
{
    struct subject *peer = harness_libbloom_new(keys, results->fpr);
    if (peer == NULL) {
        (void)printf("\nlibbloom: not built in, or not able to hold %.4g keys\n", (double)keys->total);
        return;
    }
    peer->limits = harness_find(results, "bloom", keys->total, PAGES_SMALL);
    if (peer->limits == NULL) {
        peer->limits = results->subjects[results->count - 1];
    }
    add_subject(results, peer);
}

// Each in memory of the same pages as the filter that it is held against, which is measured before it.
static void add_yardsticks(struct results *results, const struct keys *keys, enum pages pages)
{
    const struct subject *counting = harness_find(results, "counting", keys->total, pages);
    if (counting != NULL) {
        struct subject *plain = harness_plain_counting_new(keys, results->fpr, pages);
        plain->limits = counting;
        add_subject(results, plain);
    }
}

static void measure_size(const struct settings *settings, struct results *results, uint64_t size)
{
    size_t first = results->count;
    struct keys *keys = harness_keys_new(size, results->queries);
    for (size_t i = 0; i < settings->kind_count; i++) {
        for (size_t j = 0; j < settings->pages_count; j++) {
            add_subject(results, harness_filter_new(settings->kinds[i], keys, results->fpr, settings->pages[j]));
        }
    }
    for (size_t j = 0; settings->peers && j < settings->pages_count; j++) {
        add_yardsticks(results, keys, settings->pages[j]);
    }
    if (settings->peers) {
        add_peers(results, keys);
    }
    // Every row once, then every row again: what disturbs the machine for a while does not fall on one row alone.
    for (unsigned repetition = 0; repetition < results->repeat; repetition++) {
        for (size_t i = first; i < results->count; i++) {
            results->subjects[i]->measure(results->subjects[i], keys, repetition);
        }
    }
    harness_print_size(results, first);
    if (settings->json != NULL) {
        harness_write_json(settings->json, results, first);
    }
    for (size_t i = first; i < results->count; i++) {
        results->subjects[i]->release(results->subjects[i]);
    }
    harness_keys_free(keys);
}

// Before anything is measured, so that nothing is lost to a wrong path; each size is written when it is done.
static void open_json(struct settings *settings)
{
    if (settings->json_path != NULL) {
        settings->json = fopen(settings->json_path, "we");
        if (settings->json == NULL) {
            harness_die("%s cannot be written", settings->json_path);
        }
        harness_machine_json(settings->json);
    }
}

static void close_json(struct settings *settings)
{
    if (settings->json != NULL) {
        bool failed = ferror(settings->json) != 0;
        if (fclose(settings->json) != 0 || failed) {
            harness_die("%s could not be written", settings->json_path);
        }
    }
}

int main(int argc, char **argv)
{
    static struct results results = {.repeat = 5, .fpr = 0.01, .queries = (size_t)1 << 21};
    struct settings settings = {
        .sizes = {100000, 1000000, 10000000, 100000000},
        .size_count = 4,
        .peers = true,
        .pages = {PAGES_HUGE, PAGES_SMALL},
        .pages_count = 2,
    };
    int option = 0;
    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        take_option(option, &settings, &results);
    }
    if (settings.kind_count == 0) {
        take_every_kind(&settings, results.fpr);
    }
    open_json(&settings);
    harness_machine_print(stdout);
    (void)printf("measured:   p = %g, %zu look-ups a pass, medians of %u, one thread\n", results.fpr, results.queries,
                 results.repeat);
    harness_load_print(false);
    for (size_t i = 0; i < settings.size_count; i++) {
        measure_size(&settings, &results, settings.sizes[i]);
    }
    if (settings.targets) {
        harness_print_targets(&results);
    }
    harness_load_print(true);
    close_json(&settings);
    return 0;
}
