// SPDX-License-Identifier: MIT
// Layer 4: files. Every operation goes through one table, so that tests can make each fail in turn.
#ifndef PERHAPS_FILE_H
#define PERHAPS_FILE_H

#include <sys/stat.h>
#include <sys/types.h>

#include "errors.h"
#include "filter.h"

struct perhaps__file_operations {
    int (*open)(const char *path, int flags, mode_t mode);
    int (*stat)(int file, struct stat *status);
    ssize_t (*read_at)(int file, void *bytes, size_t size, off_t offset);
    ssize_t (*write)(int file, const void *bytes, size_t size);
    int (*set_mode)(int file, mode_t mode);
    int (*flush)(int file);
    int (*close)(int file);
    int (*rename)(const char *from, const char *to);
    int (*remove)(const char *path);
    int (*lock)(int file, int operation); // as flock()
    int (*truncate)(int file, off_t size);
    int (*flush_data)(int file);           // and its size, but not its times
    int (*draw)(void *bytes, size_t size); // at random, as getentropy()
    int (*set_owner)(int file, uid_t owner, gid_t group);
};

// The system's calls. Only tests point this elsewhere.
extern const struct perhaps__file_operations *perhaps__files;

// The path of the file that a filter was opened from, or NULL.
const char *perhaps__origin_path(const perhaps_filter *filter);
// errno survives this call, so that the reason of a failure is not lost on the way to its description.
void perhaps__close_quietly(int file);

// PERHAPS_E_IO with errno: "PATH: cannot be ACTION: reason".
int perhaps__fail_io(perhaps_error *error, const char *path, const char *action);

struct perhaps__loading;

// Opens a file once, without its journal.
int perhaps__open_once(const char *path, const struct perhaps__loading *loading, perhaps_filter **filter,
                       perhaps_error *error);

// perhaps_reopen() no longer works then.
void perhaps__forget_origin(perhaps_filter *filter);

#endif
