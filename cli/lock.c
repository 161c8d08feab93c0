// SPDX-License-Identifier: MIT
#include "lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "messages.h"

static char lock_path[PATH_MAX];
static int lock_fd = -1;
static volatile sig_atomic_t lock_held;

// Whoever holds the lock may remove the file: others that have it open find after their flock() that the path leads
// elsewhere, and start again.
static void release(void)
{
    if (lock_held) {
        lock_held = 0;
        (void)unlink(lock_path);
        (void)close(lock_fd);
    }
}

// Nothing but unlink(), close(), signal() and raise(), all of which a handler may call.
static void release_and_die(int number)
{
    release();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void release_at_end(void)
{
    static const int deadly[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    for (size_t i = 0; i < sizeof deadly / sizeof deadly[0]; i++) {
        struct sigaction before;
        struct sigaction action = {.sa_handler = release_and_die};
        if (sigaction(deadly[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL) {
            (void)sigaction(deadly[i], &action, NULL);
        }
    }
    static bool registered;
    if (!registered) {
        registered = true;
        (void)atexit(release);
    }
}

// A symbolic link and its target are one filter and need one lock.
static int name_lock(const char *path)
{
    char resolved[PATH_MAX];
    struct stat status;
    if (lstat(path, &status) == 0 && S_ISLNK(status.st_mode) && realpath(path, resolved) != NULL) {
        path = resolved;
    }
    if (snprintf(lock_path, sizeof lock_path, "%s.lock", path) >= (int)sizeof lock_path) {
        return fail_errno(path, ENAMETOOLONG);
    }
    return STATUS_OK;
}

static bool is_still_there(int fd)
{
    struct stat opened;
    struct stat named;
    return fstat(fd, &opened) == 0 && stat(lock_path, &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

static int flock_restarting(int fd, int operation)
{
    int result;
    do {
        result = flock(fd, operation);
    } while (result < 0 && errno == EINTR);
    return result;
}

// 1: the lock is ours; 0: the file was removed meanwhile, try again; -1: errno says why not.
static int try_lock(bool no_wait)
{
    int fd = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) {
        return -1;
    }
    int result = flock_restarting(fd, no_wait ? LOCK_EX | LOCK_NB : LOCK_EX);
    if (result == 0 && is_still_there(fd)) {
        lock_fd = fd;
        return 1;
    }
    int number = errno;
    (void)close(fd);
    errno = number;
    return result;
}

bool lock_filter_if_free(const char *path)
{
    if (name_lock(path) != STATUS_OK) {
        return false;
    }
    int result;
    do {
        result = try_lock(true);
    } while (result == 0);
    lock_held = result > 0;
    release_at_end();
    return result > 0;
}

void unlock_filter(void)
{
    release();
}

// What there is to do about it.
static const char *advice(int number)
{
    switch (number) {
    case ENOENT:
        return "; the folder has to be there";
    case EACCES:
    case EPERM:
    case EROFS:
        return "; whoever changes a filter has to be able to write in its folder";
    default:
        return "";
    }
}

// The subject is the filter as it was named: nobody asked for the lock.
static int fail_lock(const char *path, int number)
{
    if (number == EWOULDBLOCK) {
        return fail(path, "another process is changing the filter and has the lock %s, and --no-wait was given",
                    lock_path);
    }
    return fail(path, "cannot be written: its lock %s cannot be taken: %s%s", lock_path, strerror(number),
                advice(number));
}

int lock_filter(const char *path, bool no_wait)
{
    if (name_lock(path) != STATUS_OK) {
        return STATUS_ERROR;
    }
    int result;
    do {
        result = try_lock(no_wait);
    } while (result == 0);
    if (result < 0) {
        return fail_lock(path, errno);
    }
    lock_held = 1;
    release_at_end();
    return STATUS_OK;
}
