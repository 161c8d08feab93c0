// SPDX-License-Identifier: MIT
#include "atomicfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "messages.h"
#include "output.h"

enum { PATH_SIZE = 4096 };

static int write_and_close(int fd, const char *path, const void *bytes, size_t length)
{
    int number = 0;
    if (write_all(fd, bytes, length) < 0) {
        number = errno;
    }
    if (close(fd) < 0 && number == 0) {
        number = errno;
    }
    return number == 0 ? STATUS_OK : fail_errno(path, number);
}

// A pipe or a device cannot be replaced and is written to.
static bool is_special(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

static int write_special(const char *path, const void *bytes, size_t length)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return fd < 0 ? fail_errno(path, errno) : write_and_close(fd, path, bytes, length);
}

// As perhaps_save() does it, and for its reasons: the owner and the group as far as they can be kept, and no rights that
// somebody did not have.
static mode_t keep_owner(int fd, const struct stat *old)
{
    struct stat now;
    bool kept = fchown(fd, old->st_uid, old->st_gid) == 0 || fchown(fd, (uid_t)-1, old->st_gid) == 0;
    mode_t mode = old->st_mode & 01777;
    if (!kept || fstat(fd, &now) < 0 || now.st_gid != old->st_gid) {
        mode_t both = mode & (mode >> 3) & 07;
        mode = (mode & ~(mode_t)077) | both << 3 | both;
    }
    return mode;
}

// mkstemp() makes files for the owner alone; a new report gets what the umask leaves of 0666.
static void open_permissions(int fd, const char *path)
{
    struct stat old;
    mode_t mask = umask(0);
    (void)umask(mask);
    mode_t mode = 0666 & ~mask;
    if (stat(path, &old) == 0 && S_ISREG(old.st_mode)) {
        mode = keep_owner(fd, &old);
    }
    (void)fchmod(fd, mode);
}

static int replace_file(const char *path, const void *bytes, size_t length)
{
    char temporary[PATH_SIZE];
    if (snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= (int)sizeof temporary) {
        return fail_errno(path, ENAMETOOLONG);
    }
    int fd = mkstemp(temporary);
    if (fd < 0) {
        return fail_errno(path, errno);
    }
    open_permissions(fd, path);
    int status = write_and_close(fd, path, bytes, length);
    if (status == STATUS_OK && rename(temporary, path) < 0) {
        status = fail_errno(path, errno);
    }
    if (status != STATUS_OK) {
        (void)unlink(temporary);
    }
    return status;
}

int write_atomically(const char *path, const void *bytes, size_t length)
{
    return is_special(path) ? write_special(path, bytes, length) : replace_file(path, bytes, length);
}
