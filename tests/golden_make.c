// SPDX-License-Identifier: MIT
// Writes the golden files into a folder; run by hand when a format version is made, or for cases that are new. Files that
// are there already are never replaced:
//
//     golden_make FOLDER
//
// NAME.perhaps is the filter. NAME.keys has a line for each key with its answer, "+" perhaps or "-" surely absent: a
// space, then the key in hexadecimal, or the hash as a number where the caller hashes. journals/NAME and NAME.journal are a
// filter with its journal, and NAME.whole is both in one.
#include <stdio.h>

#include "golden_cases.h"
#include "golden_journals.h"
#include "support_keys.h"

static int write_answers(const perhaps_filter *filter, size_t i, const char *path)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return -1;
    }
    perhaps_statistics statistics = {.size = sizeof statistics};
    int result = perhaps_stats(filter, &statistics);
    struct golden_key key;
    for (size_t j = 0; golden_key(i, j, &key); j++) {
        (void)fprintf(file, "%c ", golden_ask(filter, &key) == 1 ? '+' : '-');
        if (statistics.hash_source == PERHAPS_HASH_CALLER) {
            (void)fprintf(file, "%llu", (unsigned long long)key.hash);
        } else {
            for (size_t l = 0; l < key.length; l++) {
                (void)fprintf(file, "%02x", ((const unsigned char *)key.bytes)[l]);
            }
        }
        (void)fputc('\n', file);
    }
    return fclose(file) == 0 ? result : -1;
}

static int write_case(size_t i, const char *folder)
{
    char path[4096];
    perhaps_error error = {.size = sizeof error};
    perhaps_filter *filter = golden_build(i);
    (void)snprintf(path, sizeof path, "%s/%s.perhaps", folder, golden_name(i));
    int result = filter != NULL ? perhaps_save(filter, path, &error) : PERHAPS_E_ARGUMENT;
    if (result == PERHAPS_OK) {
        (void)snprintf(path, sizeof path, "%s/%s.keys", folder, golden_name(i));
        result = write_answers(filter, i, path);
    }
    if (result != PERHAPS_OK) {
        (void)fprintf(stderr, "golden_make: %s: %s\n", path, error.text);
    }
    perhaps_free(filter);
    return result;
}

static int write_journal_case(size_t i, const char *folder)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/journals/%s", folder, golden_journal_name(i));
    char journal[sizeof path + 8];
    (void)snprintf(journal, sizeof journal, "%s.journal", path);
    (void)remove(path); // nothing takes the place of a filter with a journal
    (void)remove(journal);
    perhaps_filter *filter = golden_journal_build(i, path);
    (void)snprintf(path, sizeof path, "%s/journals/%s.whole", folder, golden_journal_name(i));
    int result = filter != NULL ? perhaps_save(filter, path, NULL) : PERHAPS_E_ARGUMENT;
    if (result != PERHAPS_OK) {
        (void)fprintf(stderr, "golden_make: %s cannot be made\n", path);
    }
    perhaps_free(filter);
    return result;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: golden_make FOLDER\n");
        return 2;
    }
    for (size_t i = 0; golden_name(i) != NULL; i++) {
        if (write_case(i, argv[1]) != PERHAPS_OK) {
            return 2;
        }
    }
    for (size_t i = 0; golden_journal_name(i) != NULL; i++) {
        if (write_journal_case(i, argv[1]) != PERHAPS_OK) {
            return 2;
        }
    }
    return 0;
}
