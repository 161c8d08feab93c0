// SPDX-License-Identifier: MIT
#include "support_faults.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

struct fault fault;

static const struct perhaps__file_operations *real;

// Counts an operation; true when it is one to fail, with errno set.
static bool strikes(enum operation operation)
{
    fault.counts[operation]++;
    if ((fault.remove_too && operation == REMOVE) || (fault.truncate_too && operation == TRUNCATE)) {
        errno = EACCES;
        return true;
    }
    fault.calls++;
    if (fault.all_after && fault.at != 0 && fault.calls > fault.at && operation != CLOSE) {
        errno = fault.reason;
        return true;
    }
    if (fault.calls != fault.at) {
        return false;
    }
    fault.hit = operation;
    if (fault.effect == KILL) {
        (void)kill(getpid(), SIGKILL);
    }
    errno = fault.reason;
    return fault.effect == FAIL;
}

// The bytes that an operation may move: all of them, a part, or none.
static size_t cut(size_t size)
{
    if (fault.calls != fault.at || fault.effect == FAIL || fault.effect == KILL) {
        return size;
    }
    return fault.effect == SHORT && size > 1 ? size / 3 + 1 : 0;
}

static int faulty_open(const char *path, int flags, mode_t mode)
{
    return strikes(OPEN) ? -1 : real->open(path, flags, mode);
}

static int faulty_stat(int file, struct stat *status)
{
    return strikes(STAT) ? -1 : real->stat(file, status);
}

static ssize_t faulty_read_at(int file, void *bytes, size_t size, off_t offset)
{
    return strikes(READ) ? -1 : real->read_at(file, bytes, cut(size), offset);
}

static ssize_t faulty_write(int file, const void *bytes, size_t size)
{
    return strikes(WRITE) ? -1 : real->write(file, bytes, cut(size));
}

static int faulty_set_mode(int file, mode_t mode)
{
    return strikes(SET_MODE) ? -1 : real->set_mode(file, mode);
}

static int faulty_flush(int file)
{
    return strikes(FLUSH) ? -1 : real->flush(file);
}

// A close that fails has closed all the same.
static int faulty_close(int file)
{
    bool failing = strikes(CLOSE);
    int reason = errno;
    int result = real->close(file);
    errno = failing ? reason : errno;
    return failing ? -1 : result;
}

static int faulty_rename(const char *from, const char *to)
{
    return strikes(RENAME) ? -1 : real->rename(from, to);
}

static int faulty_remove(const char *path)
{
    return strikes(REMOVE) ? -1 : real->remove(path);
}

static int faulty_lock(int file, int operation)
{
    return strikes(LOCK) ? -1 : real->lock(file, operation);
}

static int faulty_truncate(int file, off_t size)
{
    return strikes(TRUNCATE) ? -1 : real->truncate(file, size);
}

static int faulty_flush_data(int file)
{
    return strikes(FLUSH_DATA) ? -1 : real->flush_data(file);
}

static int faulty_draw(void *bytes, size_t size)
{
    return strikes(DRAW) ? -1 : real->draw(bytes, size);
}

static int faulty_set_owner(int file, uid_t owner, gid_t group)
{
    return strikes(SET_OWNER) ? -1 : real->set_owner(file, owner, group);
}

const struct perhaps__file_operations faulty_files = {
    faulty_open,   faulty_stat,   faulty_read_at, faulty_write,    faulty_set_mode,   faulty_flush, faulty_close,
    faulty_rename, faulty_remove, faulty_lock,    faulty_truncate, faulty_flush_data, faulty_draw,  faulty_set_owner,
};

void arm(unsigned at, enum effect effect, int reason)
{
    if (real == NULL) {
        real = perhaps__files;
    }
    memset(&fault, 0, sizeof fault);
    fault.at = at;
    fault.effect = effect;
    fault.reason = reason;
    fault.hit = OPERATIONS;
    perhaps__files = &faulty_files;
}

void disarm(void)
{
    perhaps__files = real;
}
