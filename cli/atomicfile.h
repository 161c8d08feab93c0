// SPDX-License-Identifier: MIT
//
// Small files that others read at any time: they see the old bytes or the new ones.
#ifndef PERHAPS_CLI_ATOMICFILE_H
#define PERHAPS_CLI_ATOMICFILE_H

#include <stddef.h>

// Replaces a file in one step; what is no regular file (a pipe, a device) is written to. A file that is there keeps
// its owner, group and permissions, as in perhaps_save(); a symbolic link makes way for a file with those of its
// target. Complains when it returns STATUS_ERROR; the file is then as it was.
int write_atomically(const char *path, const void *bytes, size_t length);

#endif
