// SPDX-License-Identifier: MIT
// The speeds and sizes that the project asks of itself, each beside what was measured. They hold for p = 1 % and huge
// pages. "Line" is the line limit, "write" the write limit.
#include <math.h>
#include <string.h>

#include "harness.h"

#define N5 UINT64_C(100000)
#define N6 UINT64_C(1000000)
#define N7 UINT64_C(10000000)
#define N8 UINT64_C(100000000)

static unsigned missed;
static unsigned unmeasured;

static void print_target(const char *text, double value, const char *relation, double target)
{
    if (value <= 0.0 || isnan(value)) {
        (void)printf("  %-76s %s %5.2f  not measured\n", text, relation, target);
        unmeasured++;
        return;
    }
    bool ok = relation[0] == '<' ? value <= target : value >= target;
    missed += !ok;
    (void)printf("  %-76s %s %5.2f  %7.2f  %s\n", text, relation, target, value, ok ? "ok" : "MISSED");
}

// The ratio of two rows of one subject; 0 when it was not measured.
static double ratio_of(const struct results *results, const char *name, uint64_t keys, enum operation ours,
                       enum operation theirs)
{
    const struct subject *subject = harness_find(results, name, keys, PAGES_HUGE);
    return subject == NULL ? 0.0 : harness_ratio(subject->ns[ours], subject->ns[theirs], results->repeat);
}

// A row against a row, at one size.
struct ratio_target {
    const char *name;
    uint64_t keys;
    enum operation ours;
    enum operation theirs;
    double most;
};

static const struct ratio_target ratio_targets[] = {
    {"blocked", N5, OP_PRESENT_BATCH, OP_LIMIT_PREFETCHED, 2.2},
    {"blocked", N5, OP_ABSENT_BATCH, OP_LIMIT_PREFETCHED, 2.2},
    {"blocked", N6, OP_PRESENT_BATCH, OP_LIMIT_PREFETCHED, 1.8},
    {"blocked", N6, OP_ABSENT_BATCH, OP_LIMIT_PREFETCHED, 1.8},
    {"blocked", N7, OP_PRESENT_BATCH, OP_LIMIT_PREFETCHED, 1.3},
    {"blocked", N7, OP_ABSENT_BATCH, OP_LIMIT_PREFETCHED, 1.3},
    {"blocked", N8, OP_PRESENT_BATCH, OP_LIMIT_PREFETCHED, 1.3},
    {"blocked", N8, OP_ABSENT_BATCH, OP_LIMIT_PREFETCHED, 1.3},
    {"blocked", N5, OP_PRESENT_BATCH, OP_PRESENT_SINGLE, 1.05},
    {"blocked", N6, OP_PRESENT_BATCH, OP_PRESENT_SINGLE, 1.05},
    {"blocked", N5, OP_PRESENT_SINGLE, OP_PRESENT_BATCH, 1.05},
    {"blocked", N6, OP_PRESENT_SINGLE, OP_PRESENT_BATCH, 1.05},
    {"bloom", N5, OP_PRESENT_BATCH, OP_PRESENT_SINGLE, 1.05},
    {"bloom", N5, OP_ABSENT_BATCH, OP_ABSENT_SINGLE, 1.05},
    {"blocked", N7, OP_ADD_BATCH, OP_LIMIT_WRITE, 1.2},
    {"blocked", N8, OP_ADD_BATCH, OP_LIMIT_WRITE, 1.2},
    {"bloom", N8, OP_ABSENT_BATCH, OP_LIMIT_PREFETCHED, 3.7},
    {"bloom", N8, OP_PRESENT_BATCH, OP_LIMIT_PREFETCHED, 10.5},
    {"bloom", N8, OP_ADD_BATCH, OP_LIMIT_PREFETCHED, 5.3},
};

static void print_ratios(const struct results *results)
{
    for (size_t i = 0; i < sizeof ratio_targets / sizeof ratio_targets[0]; i++) {
        const struct ratio_target *target = &ratio_targets[i];
        char text[128];
        (void)snprintf(text, sizeof text, "%s, %.0e keys: %s / %s", target->name, (double)target->keys,
                       harness_operations[target->ours].name, harness_operations[target->theirs].name);
        print_target(text, ratio_of(results, target->name, target->keys, target->ours, target->theirs),
                     "<=", target->most);
    }
}

// A row of one subject against a row of another one.
struct pair_target {
    const char *ours_name;
    enum operation ours;
    const char *theirs_name;
    enum operation theirs;
    double most;
};

static const struct pair_target pair_targets[] = {
    {"counting", OP_ADD_BATCH, "bloom", OP_ADD_BATCH, 2.0},
    {"counting", OP_PRESENT_BATCH, "bloom", OP_PRESENT_BATCH, 2.0},
    {"counting", OP_ABSENT_BATCH, "bloom", OP_ABSENT_BATCH, 2.0},
    {"counting", OP_ADD_BATCH, "plain counting", OP_ADD_SINGLE, 0.5},
    {"counting", OP_PRESENT_BATCH, "plain counting", OP_PRESENT_SINGLE, 0.5},
    {"counting", OP_ABSENT_BATCH, "plain counting", OP_ABSENT_SINGLE, 0.5},
};

static void print_pairs(const struct results *results)
{
    for (size_t i = 0; i < sizeof pair_targets / sizeof pair_targets[0]; i++) {
        const struct pair_target *target = &pair_targets[i];
        const struct subject *ours = harness_find(results, target->ours_name, N7, PAGES_HUGE);
        const struct subject *theirs = harness_find(results, target->theirs_name, N7, PAGES_HUGE);
        bool both = ours != NULL && theirs != NULL;
        double ratio = both ? harness_ratio(ours->ns[target->ours], theirs->ns[target->theirs], results->repeat) : 0.0;
        char text[128];
        (void)snprintf(text, sizeof text, "%s, %.0e keys: %s / %s, %s", target->ours_name, (double)N7,
                       harness_operations[target->ours].name, target->theirs_name,
                       harness_operations[target->theirs].name);
        print_target(text, ratio, "<=", target->most);
    }
}

// The median of ours - theirs - lines * line limit, pairwise; NaN when one was not measured.
static double difference(const struct results *results, const struct ratio_target *rows, double lines)
{
    const struct subject *subject = harness_find(results, rows->name, rows->keys, PAGES_HUGE);
    double differences[HARNESS_MAX_REPEAT];
    if (subject == NULL) {
        return NAN;
    }
    for (unsigned i = 0; i < results->repeat; i++) {
        differences[i] =
            subject->ns[rows->ours][i] - subject->ns[rows->theirs][i] - lines * subject->ns[OP_LIMIT_PREFETCHED][i];
    }
    return harness_summary(differences, results->repeat).median;
}

static void print_difference(const struct results *results, const struct ratio_target *rows, double lines)
{
    char text[128];
    (void)snprintf(text, sizeof text, "%s, %.0e keys: %s - %s%s, ns", rows->name, (double)rows->keys,
                   harness_operations[rows->ours].name, harness_operations[rows->theirs].name,
                   lines > 0.0 ? " - line" : "");
    double value = difference(results, rows, lines);
    print_target(text, isnan(value) ? 0.0 : fmax(value, 1e-9), "<=", rows->most);
}

static void print_differences(const struct results *results)
{
    static const struct {
        struct ratio_target rows;
        double lines;
    } targets[] = {
        {{"blocked", N5, OP_PRESENT_SINGLE, OP_PRESENT_BATCH, 3.0}, 0.0},
        {{"blocked", N6, OP_PRESENT_SINGLE, OP_PRESENT_BATCH, 3.0}, 0.0},
        {{"blocked", N5, OP_STRING_PRESENT_BATCH, OP_STRING_HASH, 2.0}, 0.0},
        {{"blocked", N6, OP_STRING_PRESENT_BATCH, OP_STRING_HASH, 2.0}, 0.0},
        {{"blocked", N7, OP_STRING_PRESENT_BATCH, OP_STRING_HASH, 1.0}, 1.0},
        {{"blocked", N8, OP_STRING_PRESENT_BATCH, OP_STRING_HASH, 1.0}, 1.0},
    };
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        print_difference(results, &targets[i].rows, targets[i].lines);
    }
}

// How many times as long libbloom takes for strings; the smaller of present and absent.
static void print_peer(const struct results *results, uint64_t keys)
{
    const struct subject *peer = harness_find(results, "libbloom", keys, PAGES_OWN);
    static const char *const names[] = {"blocked", "bloom"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct subject *ours = harness_find(results, names[i], keys, PAGES_HUGE);
        double times = 0.0;
        if (ours != NULL && peer != NULL) {
            times = fmin(
                harness_ratio(peer->ns[OP_STRING_PRESENT_SINGLE], ours->ns[OP_STRING_PRESENT_BATCH], results->repeat),
                harness_ratio(peer->ns[OP_STRING_ABSENT_SINGLE], ours->ns[OP_STRING_ABSENT_BATCH], results->repeat));
        }
        char text[128];
        (void)snprintf(text, sizeof text, "%s, %.0e keys: strings, libbloom / batch, present or absent", names[i],
                       (double)keys);
        print_target(text, times, ">=", 4.0);
    }
}

static void print_size(uint32_t kind, double fpr, double most)
{
    perhaps_options options = {.size = sizeof options, .kind = kind, .capacity = N7, .fpr = fpr};
    perhaps_sizing sizing = {.size = sizeof sizing};
    harness_must(perhaps_size_for(&options, &sizing, NULL), "size");
    char text[128];
    (void)snprintf(text, sizeof text, "%s, 1e7 keys: bits a key at p = %g %%", perhaps_kind_name(kind), 100.0 * fpr);
    print_target(text, sizing.bits_per_key, "<=", most);
}

void harness_print_targets(const struct results *results)
{
    missed = 0;
    unmeasured = 0;
    (void)printf("\nTargets (for p = 1 %%, huge pages, medians of at least 5; measured: p = %g %%, medians of %u)\n",
                 100.0 * results->fpr, results->repeat);
    print_ratios(results);
    print_pairs(results);
    print_differences(results);
    for (uint64_t keys = N5; keys <= N8; keys *= 10) {
        print_peer(results, keys);
    }
    // Theory: 9.57, 14.35 and 19.13 bits for bloom.
    print_size(PERHAPS_KIND_BLOOM, 0.01, 9.6);
    print_size(PERHAPS_KIND_BLOOM, 0.001, 14.4);
    print_size(PERHAPS_KIND_BLOOM, 0.0001, 19.2);
    print_size(PERHAPS_KIND_BLOCKED, 0.01, 10.6);
    print_size(PERHAPS_KIND_BLOCKED, 0.001, 16.0);
    print_size(PERHAPS_KIND_BLOCKED, 0.0001, 23.2);
    (void)printf("  %u missed, %u not measured\n", missed, unmeasured);
}
