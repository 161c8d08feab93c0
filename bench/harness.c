// SPDX-License-Identifier: MIT
// Time, medians, memory in pages of one size, and the end of the program when something is wrong.
#include "harness.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define HUGE_PAGE ((size_t)2 << 20)

#define HARNESS_TEXT(enumerator, name, adds, legend) [OP_##enumerator] = {name, adds, legend},
const struct operation_text harness_operations[OP_COUNT] = {HARNESS_OPERATIONS(HARNESS_TEXT)};

void harness_die(const char *format, ...)
{
    (void)fflush(stdout);
    (void)fputs("bench: ", stderr);
    va_list arguments;
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fputc('\n', stderr);
    exit(1);
}

void harness_must(int result, const char *what)
{
    if (result < 0) {
        harness_die("%s: %s", what, perhaps_message(result));
    }
}

uint64_t harness_count(int argc, char **argv, int i, uint64_t otherwise)
{
    if (i >= argc) {
        return otherwise;
    }
    char *end = NULL;
    double value = strtod(argv[i], &end);
    if (end == argv[i] || *end != '\0' || !(value >= 1.0 && value <= 1e12)) {
        harness_die("'%s' is not a count from 1 to 1e12", argv[i]);
    }
    return (uint64_t)value;
}

double harness_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

uint64_t harness_hash(uint64_t i)
{
    i = (i ^ (i >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    i = (i ^ (i >> 27)) * UINT64_C(0x94d049bb133111eb);
    return i ^ (i >> 31);
}

perhaps_filter *harness_create(const perhaps_options *options)
{
    perhaps_filter *filter = NULL;
    perhaps_error error = {.size = sizeof error};
    if (perhaps_create(options, &filter, &error) < 0) {
        harness_die("%s", error.text);
    }
    return filter;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

struct summary harness_summary(const double *values, unsigned count)
{
    double sorted[HARNESS_MAX_REPEAT];
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, compare);
    double upper = sorted[count / 2];
    double lower = sorted[(count - 1) / 2];
    return (struct summary){.median = (lower + upper) / 2.0, .least = sorted[0], .most = sorted[count - 1]};
}

const char *harness_pages_name(enum pages pages)
{
    static const char *const names[] = {[PAGES_HUGE] = "huge", [PAGES_SMALL] = "4k", [PAGES_OWN] = "own"};
    return names[pages];
}

static size_t rounded(size_t bytes)
{
    return (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
}

void *harness_allocate(size_t bytes, enum pages pages)
{
    size_t size = rounded(bytes);
    uint8_t *mapped = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
        harness_die("no memory for %zu bytes", size);
    }
    size_t before = (HUGE_PAGE - (uintptr_t)mapped % HUGE_PAGE) % HUGE_PAGE;
    if (before > 0) {
        (void)munmap(mapped, before);
    }
    (void)munmap(mapped + before + size, HUGE_PAGE - before);
    if (pages != PAGES_OWN) {
        (void)madvise(mapped + before, size, pages == PAGES_HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    }
    return mapped + before;
}

void harness_release(void *memory, size_t bytes)
{
    (void)munmap(memory, rounded(bytes));
}

double harness_huge_share(const void *memory)
{
    FILE *file = fopen("/proc/self/smaps", "re");
    if (file == NULL) {
        return 0.0;
    }
    char line[512];
    bool inside = false;
    double resident = 0.0;
    double huge = 0.0;
    while (fgets(line, sizeof line, file) != NULL) {
        char *dash = NULL;
        uintptr_t from = strtoull(line, &dash, 16);
        if (*dash == '-' && dash > line) {
            inside = (uintptr_t)memory >= from && (uintptr_t)memory < strtoull(dash + 1, NULL, 16);
        } else if (inside && strncmp(line, "Rss:", 4) == 0) {
            resident = strtod(line + 4, NULL);
        } else if (inside && strncmp(line, "AnonHugePages:", 14) == 0) {
            huge = strtod(line + 14, NULL);
        }
    }
    (void)fclose(file);
    return resident > 0.0 ? huge / resident : 0.0;
}
