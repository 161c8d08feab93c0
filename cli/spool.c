// SPDX-License-Identifier: MIT
#define _GNU_SOURCE // O_TMPFILE, mkostemp()
#include "spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "messages.h"
#include "output.h"

enum { IN_MEMORY = 1 << 20, NAME_SIZE = 4096 };

static const char *directory(void)
{
    const char *given = getenv("TMPDIR"); // NOLINT(concurrency-mt-unsafe): one thread
    return given != NULL && given[0] != '\0' ? given : "/tmp";
}

static int fail_spooling(int number)
{
    return fail(directory(), "no temporary file for the keys: %s", strerror(number));
}

// File systems without O_TMPFILE get a name for a moment.
static int open_unlinked(void)
{
    int fd = open(directory(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) {
        return fd;
    }
    char name[NAME_SIZE];
    if (snprintf(name, sizeof name, "%s/perhaps-XXXXXX", directory()) >= (int)sizeof name) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0) {
        (void)unlink(name);
    }
    return fd;
}

int spool_open(struct spool *spool)
{
    *spool = (struct spool){.fd = -1};
    spool->hashes = malloc(IN_MEMORY * sizeof *spool->hashes);
    return spool->hashes == NULL ? fail("create", "%s", strerror(ENOMEM)) : STATUS_OK;
}

static int spill(struct spool *spool)
{
    if (spool->fd < 0) {
        spool->fd = open_unlinked();
    }
    if (spool->fd < 0 || write_all(spool->fd, spool->hashes, spool->count * sizeof *spool->hashes) < 0) {
        return fail_spooling(errno);
    }
    spool->written += spool->count;
    spool->count = 0;
    return STATUS_OK;
}

int spool_append(struct spool *spool, const uint64_t *hashes, size_t count)
{
    while (count > 0) {
        size_t room = IN_MEMORY - spool->count;
        size_t part = count < room ? count : room;
        memcpy(spool->hashes + spool->count, hashes, part * sizeof *hashes);
        spool->count += part;
        hashes += part;
        count -= part;
        if (spool->count == IN_MEMORY && spill(spool) != STATUS_OK) {
            return STATUS_ERROR;
        }
    }
    return STATUS_OK;
}

static int read_exactly(int fd, void *to, size_t length, uint64_t offset)
{
    for (char *at = to; length > 0;) {
        ssize_t got = pread(fd, at, length, (off_t)offset);
        if (got < 0 && errno != EINTR) {
            return fail_spooling(errno);
        }
        if (got == 0) {
            return fail_spooling(EIO);
        }
        if (got > 0) {
            at += got;
            length -= (size_t)got;
            offset += (uint64_t)got;
        }
    }
    return STATUS_OK;
}

int spool_replay(struct spool *spool, int (*visit)(void *context, const uint64_t *hashes, size_t count), void *context)
{
    if (spool->written > 0 && spool->count > 0 && spill(spool) != STATUS_OK) {
        return STATUS_ERROR;
    }
    if (spool->written == 0) {
        return visit(context, spool->hashes, spool->count);
    }
    for (uint64_t done = 0; done < spool->written;) {
        uint64_t left = spool->written - done;
        size_t part = left < IN_MEMORY ? (size_t)left : IN_MEMORY;
        int status = read_exactly(spool->fd, spool->hashes, part * sizeof *spool->hashes, done * sizeof *spool->hashes);
        if (status == STATUS_OK) {
            status = visit(context, spool->hashes, part);
        }
        if (status != STATUS_OK) {
            return status;
        }
        done += part;
    }
    return STATUS_OK;
}

void spool_close(struct spool *spool)
{
    if (spool->fd >= 0) {
        (void)close(spool->fd);
    }
    free(spool->hashes);
    *spool = (struct spool){.fd = -1};
}
