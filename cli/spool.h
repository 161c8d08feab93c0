// SPDX-License-Identifier: MIT
//
// Hashes kept in the order they came in: in memory, and from a million on in an unlinked temporary file, so that keys
// from a pipe can be counted before they are added.
#ifndef PERHAPS_CLI_SPOOL_H
#define PERHAPS_CLI_SPOOL_H

#include <stddef.h>
#include <stdint.h>

struct spool {
    int fd; // -1: everything is in memory so far
    uint64_t *hashes;
    size_t count;     // in memory
    uint64_t written; // in the file
};

// These complain and return STATUS_ERROR when memory or the disk does not suffice.
int spool_open(struct spool *spool);
int spool_append(struct spool *spool, const uint64_t *hashes, size_t count);

// Hands all hashes to `visit`, in order. Nothing may be appended afterwards. Stops when visit returns other than
// STATUS_OK, and returns that.
int spool_replay(struct spool *spool, int (*visit)(void *context, const uint64_t *hashes, size_t count), void *context);

void spool_close(struct spool *spool);

#endif
