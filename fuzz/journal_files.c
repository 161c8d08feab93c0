// SPDX-License-Identifier: MIT
// The files are in memory: in /dev/shm where there is one, in a folder of the process's own that ends with it.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz_journal.h"

static struct {
    char folder[64];
    char filter[80];
    char journal[96];
} paths;

void demand(bool condition, const char *text)
{
    if (!condition) {
        (void)fprintf(stderr, "%s\n", text);
        abort();
    }
}

static void remove_folder(void)
{
    (void)unlink(paths.filter);
    (void)unlink(paths.journal);
    (void)rmdir(paths.folder);
}

static void make_folder(void)
{
    if (paths.folder[0] != '\0') {
        return;
    }
    const char *where = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    (void)snprintf(paths.folder, sizeof paths.folder, "%s/perhaps-fuzz-XXXXXX", where);
    demand(mkdtemp(paths.folder) != NULL, "no temporary folder");
    (void)snprintf(paths.filter, sizeof paths.filter, "%s/f", paths.folder);
    (void)snprintf(paths.journal, sizeof paths.journal, "%s.journal", paths.filter);
    demand(atexit(remove_folder) == 0, "the folder would be left");
}

static void write_file(const char *path, const uint8_t *bytes, size_t size)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    demand(file >= 0 && write(file, bytes, size) == (ssize_t)size && close(file) == 0, "a file is not written");
}

static uint64_t size_of_journal(void)
{
    struct stat status;
    demand(stat(paths.journal, &status) == 0, "the journal is gone");
    return (uint64_t)status.st_size;
}

static perhaps_filter *open_for_reading(int result)
{
    perhaps_error error = {.size = sizeof error};
    perhaps_filter *filter = NULL;
    demand(perhaps_open(paths.filter, NULL, &filter, &error) == result, "opened from a file, another result");
    demand((result == PERHAPS_OK) == (filter != NULL), "result and filter do not agree");
    demand(result == PERHAPS_OK || (error.code == result && error.text[0] != '\0'), "a failure is not described");
    return filter;
}

static perhaps_filter *open_durably(const struct journal_case *given, int result)
{
    perhaps_load_options load = {.size = sizeof load, .flags = given->flags != 0 ? PERHAPS_OPEN_SHARED : 0};
    perhaps_journal_options options = {.size = sizeof options, .load = &load};
    perhaps_error error = {.size = sizeof error};
    perhaps_filter *filter = NULL;
    demand(perhaps_open_durable(paths.filter, &options, &filter, &error) == result, "opened durably, another result");
    demand((result == PERHAPS_OK) == (filter != NULL), "result and filter do not agree");
    return filter;
}

// A key that is there afterwards, unless the filter is full.
static void add_durably(const struct journal_case *given, perhaps_filter *filter, perhaps_filter *expected)
{
    const uint64_t hash = UINT64_C(0xd6e8feb86659fd93);
    int added = perhaps_add_hash(filter, hash);
    demand(added == perhaps_add_hash(expected, hash), "a durable add has another result");
    perhaps_free(filter);
    filter = open_durably(given, PERHAPS_OK);
    demand_same(filter, expected, "after another add, opened again, the bytes differ");
    demand(added < 0 || perhaps_might_contain_hash(filter, hash) == 1, "FALSE NEGATIVE of a durable add");
    perhaps_free(filter);
}

void check_files(const struct journal_case *given, int result, const struct perhaps__journal *journal,
                 perhaps_filter *expected)
{
    make_folder();
    write_file(paths.filter, given->filter, given->filter_size);
    write_file(paths.journal, given->bytes, given->size);
    perhaps_filter *filter = open_for_reading(result);
    if (filter != NULL) {
        demand_same(filter, expected, "opened from a file, the bytes differ");
    }
    perhaps_free(filter);
    demand(size_of_journal() == given->size, "a reader changes the journal");
    filter = open_durably(given, result);
    if (filter == NULL) {
        demand(size_of_journal() == given->size, "a refused journal is changed");
        return;
    }
    demand(size_of_journal() == (journal->stale ? PERHAPS_JOURNAL_HEAD : journal->end), "a torn end is not cut off");
    demand_same(filter, expected, "opened durably, the bytes differ");
    add_durably(given, filter, expected);
}
