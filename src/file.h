// SPDX-License-Identifier: MIT
// Layer 4: files. Every operation goes through one table, so that tests can make each fail in turn.
#ifndef PERHAPS_FILE_H
#define PERHAPS_FILE_H

#include <sys/stat.h>
#include <sys/types.h>

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
};

// The system's calls. Only tests point this elsewhere.
extern const struct perhaps__file_operations *perhaps__files;

// The path of the file that a filter was opened from, or NULL.
const char *perhaps__origin_path(const perhaps_filter *filter);

#endif
