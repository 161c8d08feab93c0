// SPDX-License-Identifier: MIT
// Layer 4: files that take the place of others in one step.
#ifndef PERHAPS_FILE_SAVE_H
#define PERHAPS_FILE_SAVE_H

#include <limits.h>

#include "errors.h"
#include "filter.h"

// A file that will take the place of another. Set `path`, and `like` if it is to have another's owner and permissions.
struct perhaps__replacement {
    const char *path; // as the caller named it, for messages
    const char *like; // a file whose owner, group and permissions it gets when it is new, or NULL
    char target[PATH_MAX];
    char temporary[PATH_MAX];
    int file;
    bool locked; // so that nobody takes it for the leftover of a dead process
};

// All return false with errno set. Beginning makes a temporary file beside the target, with the owner and
// permissions that it is to have, and removes those that dead processes left there. Putting flushes it and renames it;
// the file stays open.
bool perhaps__replacement_begin(struct perhaps__replacement *replacement);
bool perhaps__replacement_put(struct perhaps__replacement *replacement);

// Closes the temporary file and removes it; errno is kept.
void perhaps__replacement_drop(struct perhaps__replacement *replacement);

// The file that a path names in the end: a symbolic link's target, or the path itself when nothing is there.
bool perhaps__resolve_target(const char *path, char target[PATH_MAX]);

// A name is durable only when its directory is.
bool perhaps__flush_directory(const char *target);

// All bytes, or false with errno set, and then some may have been written.
bool perhaps__write_all(int file, const uint8_t *bytes, uint64_t size);

// perhaps_save(). With an identity the file requires a journal, and identity->checksum becomes that of its header; otherwise
// it is NULL. *replaced tells whether the new file is in place: then a failure is one of flushing the directory.
int perhaps__save(const perhaps_filter *filter, const char *path, struct perhaps__identity *identity, bool *replaced,
                  perhaps_error *error);

#endif
