// SPDX-License-Identifier: MIT
// What was measured, as a table and as JSON Lines.
#include "harness.h"

#include <string.h>

double harness_ratio(const double *ours, const double *theirs, unsigned repeat)
{
    double ratios[HARNESS_MAX_REPEAT];
    for (unsigned i = 0; i < repeat; i++) {
        if (ours[i] <= 0.0 || theirs[i] <= 0.0) {
            return 0.0;
        }
        ratios[i] = ours[i] / theirs[i];
    }
    return harness_summary(ratios, repeat).median;
}

const struct subject *harness_find(const struct results *results, const char *name, uint64_t keys, enum pages pages)
{
    for (size_t i = 0; i < results->count; i++) {
        const struct subject *subject = results->subjects[i];
        if (subject->keys == keys && subject->pages == pages && strcmp(subject->name, name) == 0) {
            return subject;
        }
    }
    return NULL;
}

static double to_line(const struct subject *subject, enum operation operation, unsigned repeat)
{
    return harness_ratio(subject->ns[operation], subject->limits->ns[OP_LIMIT_PREFETCHED], repeat);
}

static double to_write(const struct subject *subject, enum operation operation, unsigned repeat)
{
    return harness_operations[operation].adds
               ? harness_ratio(subject->ns[operation], subject->limits->ns[OP_LIMIT_WRITE], repeat)
               : 0.0;
}

// ---------------------------------------------------------------- the table

static void print_number(double value)
{
    if (value > 0.0) {
        (void)printf(" %7.2f", value);
    } else {
        (void)printf(" %7s", "-");
    }
}

static void print_facts(const struct subject *subject)
{
    (void)printf("\n%s, %.4g keys: %.2f bits/key, %u bits looked at, %.3g MB. False positives: %.3f %% measured",
                 subject->name, (double)subject->keys, subject->bits_per_key, subject->positions,
                 (double)subject->bytes / 1e6, 100.0 * subject->fpr_measured);
    if (subject->fpr_now > 0.0) {
        (void)printf(", %.3f %% by its fill", 100.0 * subject->fpr_now);
    }
    (void)printf(", %.3g %% asked for\n", 100.0 * subject->fpr);
}

// The subjects of one name and size side by side, one for each page size.
struct beside {
    const struct subject *subjects[2];
    size_t count;
};

static void print_heading(const struct beside *beside)
{
    (void)printf("%-26s", "");
    for (size_t i = 0; i < beside->count; i++) {
        const struct subject *subject = beside->subjects[i];
        char text[64];
        if (subject->pages == PAGES_HUGE) {
            (void)snprintf(text, sizeof text, "huge pages (%.0f %% of the array)", 100.0 * subject->huge_share);
        } else {
            (void)snprintf(text, sizeof text, "%s",
                           subject->pages == PAGES_SMALL ? "4 KiB pages" : "pages as they come");
        }
        (void)printf(" |%40s", text);
    }
    (void)printf("\n%-26s", "operation");
    for (size_t i = 0; i < beside->count; i++) {
        (void)printf(" | %7s %7s %7s %7s %7s", "ns", "least", "most", "x line", "x write");
    }
    (void)putchar('\n');
}

static void print_row(const struct beside *beside, enum operation operation, unsigned repeat)
{
    if (beside->subjects[0]->ns[operation][0] <= 0.0) {
        return;
    }
    (void)printf("%-26s", harness_operations[operation].name);
    for (size_t i = 0; i < beside->count; i++) {
        const struct subject *subject = beside->subjects[i];
        struct summary summary = harness_summary(subject->ns[operation], repeat);
        (void)printf(" |");
        print_number(summary.median);
        print_number(summary.least);
        print_number(summary.most);
        print_number(to_line(subject, operation, repeat));
        print_number(to_write(subject, operation, repeat));
    }
    (void)putchar('\n');
}

static bool same_row(const struct subject *a, const struct subject *b)
{
    return a->keys == b->keys && strcmp(a->name, b->name) == 0;
}

void harness_print_size(const struct results *results, size_t first)
{
    for (size_t i = first; i < results->count; i++) {
        struct beside beside = {.subjects = {results->subjects[i]}, .count = 1};
        if (i + 1 < results->count && same_row(results->subjects[i], results->subjects[i + 1])) {
            beside.subjects[beside.count++] = results->subjects[++i];
        }
        print_facts(beside.subjects[0]);
        print_heading(&beside);
        for (enum operation operation = 0; operation < OP_COUNT; operation++) {
            print_row(&beside, operation, results->repeat);
        }
    }
    (void)fflush(stdout);
}

void harness_print_legend(void)
{
    (void)printf("A filter answers whether a key could be in a set. Every filter here gets the same keys.\n"
                 "\n"
                 "Columns, one group for each page size of the memory that holds the filter's bits:\n"
                 "  ns       nanoseconds for one key on one thread, the median over the repetitions; the first\n"
                 "           repetition counts like the others\n"
                 "  least    the fastest and the slowest repetition: when they are far apart, the machine was busy,\n"
                 "  most     and the figures are worth little\n"
                 "  x line   the time divided by the line limit in the same repetition; the median of those ratios.\n"
                 "           1.00 would be a filter that costs no more than one read of memory\n"
                 "  x write  the same for what changes the filter, divided by the write limit\n"
                 "\n"
                 "A limit is measured on the filter's own array, with the same keys and the same arithmetic from a\n"
                 "key to a cache line (64 bytes), but does nothing with the line except to read or change 8 bytes.\n"
                 "Ratios carry over to other machines far better than nanoseconds do.\n"
                 "\n"
                 "Rows (a key is a ready 64-bit hash unless the row says string; single: one call a key through\n"
                 "the public interface; batch: one call for many):\n");
    for (enum operation operation = 0; operation < OP_COUNT; operation++) {
        if (harness_operations[operation].legend[0] != '\0') {
            (void)printf("  %-26s %s\n", harness_operations[operation].name, harness_operations[operation].legend);
        }
    }
    (void)printf("\nAbove each table: bits of memory for a key at capacity; false positives among absent keys as\n"
                 "measured, as the filter computes them from its bits, and as asked for. A false negative, or a rate\n"
                 "far above the one asked for, ends the program.\n");
}

// ---------------------------------------------------------------- JSON Lines

// One object a line, its members always in this order: bench_plot reads it with awk.
static void write_row(FILE *file, const struct subject *subject, enum operation operation, unsigned repeat)
{
    struct summary summary = harness_summary(subject->ns[operation], repeat);
    (void)fprintf(file,
                  "{\"keys\":%llu,\"subject\":\"%s\",\"operation\":\"%s\",\"pages\":\"%s\",\"median\":%.4f,"
                  "\"least\":%.4f,\"most\":%.4f,\"x_line\":%.4f,\"x_write\":%.4f,",
                  (unsigned long long)subject->keys, subject->name, harness_operations[operation].name,
                  harness_pages_name(subject->pages), summary.median, summary.least, summary.most,
                  to_line(subject, operation, repeat), to_write(subject, operation, repeat));
    (void)fprintf(file,
                  "\"bytes\":%llu,\"bits_per_key\":%.4f,\"positions\":%u,\"fpr\":%g,\"fpr_now\":%.6g,"
                  "\"fpr_measured\":%.6g,\"huge_share\":%.3f,\"ns\":[",
                  (unsigned long long)subject->bytes, subject->bits_per_key, subject->positions, subject->fpr,
                  subject->fpr_now, subject->fpr_measured, subject->huge_share);
    for (unsigned i = 0; i < repeat; i++) {
        (void)fprintf(file, "%s%.4f", i == 0 ? "" : ",", subject->ns[operation][i]);
    }
    (void)fputs("]}\n", file);
}

void harness_write_json(FILE *file, const struct results *results, size_t first)
{
    for (size_t i = first; i < results->count; i++) {
        for (enum operation operation = 0; operation < OP_COUNT; operation++) {
            if (results->subjects[i]->ns[operation][0] > 0.0) {
                write_row(file, results->subjects[i], operation, results->repeat);
            }
        }
    }
    (void)fflush(file);
}
