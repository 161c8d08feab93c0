// SPDX-License-Identifier: MIT
// What opening a large file costs, beside reading it: everything verified, by first touch with the first answer, and
// scrubbing.
//
//     open FOLDER [MIB [KIND...]]      default 1024, all kinds; a file of that size is written to the folder and removed
//
// Medians of five turns, taken in turn, the file being in the page cache. "read" is read() of the whole file into a buffer
// of 1 MiB that stays in the second-level cache.
#include <fcntl.h>
#include <perhaps/perhaps.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 5, BUFFER = 1 << 20 };

static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void demand(int good, const char *what)
{
    if (!good) {
        (void)fprintf(stderr, "open: %s failed\n", what);
        exit(1);
    }
}

static void write_filter(const char *path, uint32_t kind, uint64_t bytes)
{
    perhaps_options options = {.size = sizeof options, .kind = kind, .bytes = bytes, .fpr = 0.01};
    perhaps_filter *filter = NULL;
    demand(perhaps_create(&options, &filter, NULL) == PERHAPS_OK, "create");
    uint64_t hashes[4096];
    for (uint64_t i = 0; i < 4000; i++) {
        for (uint64_t j = 0; j < 4096; j++) {
            hashes[j] = (i * 4096 + j) * UINT64_C(0x9e3779b97f4a7c15);
        }
        demand(perhaps_add_many_hash(filter, hashes, 4096, NULL, NULL) == PERHAPS_OK, "add");
    }
    demand(perhaps_save(filter, path, NULL) == PERHAPS_OK, "save");
    perhaps_free(filter);
}

static double time_read(const char *path)
{
    static char buffer[BUFFER];
    double begin = now();
    int file = open(path, O_RDONLY | O_CLOEXEC);
    demand(file >= 0, "open");
    ssize_t got;
    while ((got = read(file, buffer, sizeof buffer)) > 0) {
    }
    demand(got == 0, "read");
    (void)close(file);
    return now() - begin;
}

static double time_open(const char *path, uint32_t flags, int ask)
{
    const perhaps_load_options options = {.size = sizeof options, .flags = flags};
    perhaps_filter *filter = NULL;
    double begin = now();
    demand(perhaps_open(path, &options, &filter, NULL) == PERHAPS_OK, "perhaps_open");
    if (ask) {
        demand(perhaps_might_contain_hash(filter, UINT64_C(0x9e3779b97f4a7c15)) == 1, "an answer");
    }
    double time = now() - begin;
    perhaps_free(filter);
    return time;
}

static double time_scrub(const char *path)
{
    const perhaps_load_options options = {.size = sizeof options, .flags = PERHAPS_OPEN_FIRST_TOUCH};
    perhaps_filter *filter = NULL;
    uint64_t cursor = 0;
    demand(perhaps_open(path, &options, &filter, NULL) == PERHAPS_OK, "perhaps_open");
    double begin = now();
    int status;
    while ((status = perhaps_scrub(filter, &cursor, BUFFER, NULL)) == 1) {
    }
    demand(status == 0, "scrub");
    double time = now() - begin;
    perhaps_free(filter);
    return time;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *times)
{
    qsort(times, TURNS, sizeof *times, compare);
    return times[TURNS / 2];
}

static void measure(const char *path, uint32_t kind, double mib)
{
    double read[TURNS];
    double eager[TURNS];
    double scrub[TURNS];
    double touch[TURNS];
    (void)time_read(path);
    for (int i = 0; i < TURNS; i++) {
        read[i] = time_read(path);
        eager[i] = time_open(path, 0, 0);
        scrub[i] = time_scrub(path);
        touch[i] = time_open(path, PERHAPS_OPEN_FIRST_TOUCH, 1);
    }
    double reading = median(read);
    double opening = median(eager);
    double scrubbing = median(scrub);
    printf("%-9s %6.0f %8.2f %8.2f %7.0f%% %8.2f %7.0f%% %8.2f\n", perhaps_kind_name(kind), mib, mib / reading / 1024,
           mib / opening / 1024, 100 * reading / opening, mib / scrubbing / 1024, 100 * reading / scrubbing,
           1e3 * median(touch));
}

int main(int argc, char **argv)
{
    char path[4096];
    if (argc < 2) {
        (void)fprintf(stderr, "usage: open FOLDER [MIB [KIND...]]\n");
        return 2;
    }
    (void)snprintf(path, sizeof path, "%s/open.%ld.filter", argv[1], (long)getpid());
    uint64_t mib = argc > 2 ? strtoull(argv[2], NULL, 10) : 1024;
    printf("%-9s %6s %8s %8s %8s %8s %8s %8s\n", "", "", "read", "open", "/read", "scrub", "/read", "touch");
    printf("%-9s %6s %8s %8s %8s %8s %8s %8s\n", "kind", "MiB", "GiB/s", "GiB/s", "", "GiB/s", "", "ms");
    for (uint32_t kind = 1; perhaps_kind_name(kind) != NULL; kind++) {
        int wanted = argc <= 3;
        for (int i = 3; i < argc; i++) {
            wanted |= strcmp(argv[i], perhaps_kind_name(kind)) == 0;
        }
        if (wanted) {
            write_filter(path, kind, mib << 20);
            measure(path, kind, (double)mib);
            (void)unlink(path);
        }
    }
    return 0;
}
