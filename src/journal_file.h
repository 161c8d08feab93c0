// SPDX-License-Identifier: MIT
// Layer 4: journals in files.
#ifndef PERHAPS_JOURNAL_FILE_H
#define PERHAPS_JOURNAL_FILE_H

#include <limits.h>
#include <sys/stat.h>

#include "file.h"
#include "journal.h"

// The path of the journal of a filter; false with errno set when there is none, or it is too long.
bool perhaps__journal_path(const char *path, char journal[PATH_MAX]);

// A journal that was read from its file: its records, as far as they are whole, and little more, however long the file is.
struct perhaps__journal_copy {
    struct perhaps__journal journal;
    perhaps_allocator allocator;
    uint8_t *bytes;
    uint64_t allocated;
    int file;           // while it is read
    struct stat status; // of the file
};

// Reads and validates the journal in an open file. `copy` is to be released if that goes well.
int perhaps__journal_load(int file, const char *path, const perhaps_filter *filter, struct perhaps__journal_copy *copy,
                          perhaps_error *error);
void perhaps__journal_unload(struct perhaps__journal_copy *copy);

// PERHAPS_E_JOURNAL: the journal of a filter that requires one is not there.
int perhaps__journal_fail_missing(perhaps_error *error, const char *path);

// The journal that a filter in a file requires, for reading: what is in it is done to the filter in memory, whose mapping
// is made writable when there is anything. *status becomes that of the journal's file.
int perhaps__journal_overlay(perhaps_filter *filter, const char *path, struct stat *status, perhaps_error *error);

#endif
