// SPDX-License-Identifier: MIT
// Files are replaced, never changed: a temporary file is written beside them, flushed and renamed.
#include "file_save.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "file.h"
#include "format.h"
#include "shared.h"

// The part of a path up to and with its last slash; 0 when there is none.
static size_t directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

// The name that realpath() will give a file that is made at `path`, of `length` characters.
static bool resolve_new(const char *path, size_t length, char target[PATH_MAX])
{
    char directory[PATH_MAX];
    size_t before = directory_length(path);
    if (length >= PATH_MAX - 2) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(directory, path, before);
    memcpy(directory + before, ".", 2);
    if (realpath(directory, target) == NULL) {
        return false;
    }
    size_t end = strlen(target);
    end -= end == 1; // of "/" nothing is left
    if (end + 1 + length - before >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    target[end] = '/';
    memcpy(target + end + 1, path + before, length - before + 1);
    return true;
}

bool perhaps__resolve_target(const char *path, char target[PATH_MAX])
{
    if (realpath(path, target) != NULL) {
        return true;
    }
    size_t length = strlen(path);
    struct stat link;
    if (errno != ENOENT || length == 0 || lstat(path, &link) == 0) {
        return false; // in the last case a link that leads nowhere: errno still says ENOENT
    }
    return resolve_new(path, length, target);
}

/* ---------------------------------------------------------------- leftovers */

// Temporary files are named .perhaps-PROCESS-NUMBER.tmp and locked by whoever writes them; a lock ends with its process,
// however that ends.

static bool skip_number(const char **text)
{
    const char *begin = *text;
    while (**text >= '0' && **text <= '9') {
        ++*text;
    }
    return *text > begin;
}

static bool is_temporary(const char *name)
{
    static const char prefix[] = ".perhaps-";
    if (strncmp(name, prefix, sizeof prefix - 1) != 0) {
        return false;
    }
    name += sizeof prefix - 1;
    return skip_number(&name) && *name++ == '-' && skip_number(&name) && strcmp(name, ".tmp") == 0;
}

// A process that has just made its file and not yet locked it finds that it is gone, and makes another one. The file
// that was opened may have been renamed since, and its name be that of the next one.
static void remove_if_dead(int directory, const char *name)
{
    int file = openat(directory, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file >= 0) {
        struct stat opened;
        struct stat named;
        if (flock(file, LOCK_EX | LOCK_NB) == 0 && fstat(file, &opened) == 0 &&
            fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && opened.st_dev == named.st_dev &&
            opened.st_ino == named.st_ino) {
            (void)unlinkat(directory, name, 0);
        }
        (void)close(file);
    }
}

// What cannot be removed stays: it does no harm, and a save does not fail because of it.
static void remove_leftovers(const char *target)
{
    char path[PATH_MAX];
    size_t length = directory_length(target);
    memcpy(path, target, length);
    memcpy(path + length, ".", 2);
    DIR *directory = opendir(path);
    if (directory == NULL) {
        return;
    }
    for (const struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        if (is_temporary(entry->d_name)) {
            remove_if_dead(dirfd(directory), entry->d_name);
        }
    }
    (void)closedir(directory);
}

/* ---------------------------------------------------------------- temporary files */

// Locks the new file; false when a cleaner was quicker. Where files cannot be locked, nobody cleans up.
static bool claim(struct perhaps__replacement *replacement)
{
    struct stat status;
    replacement->locked = perhaps__files->lock(replacement->file, LOCK_EX | LOCK_NB) == 0;
    if (!replacement->locked) {
        return errno != EWOULDBLOCK;
    }
    return fstat(replacement->file, &status) != 0 || status.st_nlink > 0;
}

static bool create_temporary(struct perhaps__replacement *replacement, mode_t mode)
{
    size_t directory = directory_length(replacement->target);
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        int length = snprintf(replacement->temporary, sizeof replacement->temporary, "%.*s.perhaps-%ld-%u.tmp",
                              (int)directory, replacement->target, (long)getpid(), attempt);
        if (length < 0 || (size_t)length >= sizeof replacement->temporary) {
            errno = ENAMETOOLONG;
            return false;
        }
        replacement->file =
            perhaps__files->open(replacement->temporary, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (replacement->file < 0 && errno != EEXIST) {
            return false;
        }
        if (replacement->file >= 0 && claim(replacement)) {
            return true;
        }
        if (replacement->file >= 0) {
            perhaps__close_quietly(replacement->file);
        }
    }
    errno = EEXIST;
    return false;
}

/* ---------------------------------------------------------------- owner and permissions */

// With an access control list the bits of the group are the most that the list gives anybody. What the group itself may do
// stands in the list, which is not kept: it gets no more than others have.
static void forget_list(const char *path, struct stat *old)
{
    if (getxattr(path, "system.posix_acl_access", NULL, 0) > 0) {
        old->st_mode &= ~(mode_t)070 | (old->st_mode & 07) << 3;
    }
}

// 1: the file that is replaced, or the one that a new file is to be like; 0: there is none; -1: errno says why not. What is
// there but is no file is refused.
static int find_old(const struct perhaps__replacement *replacement, struct stat *old)
{
    const char *path = replacement->target;
    int found = stat(path, old);
    if (found != 0 && errno == ENOENT && replacement->like != NULL) {
        path = replacement->like;
        found = stat(path, old);
    }
    if (found != 0) {
        return errno == ENOENT ? 0 : -1;
    }
    if (!S_ISREG(old->st_mode)) {
        errno = S_ISDIR(old->st_mode) ? EISDIR : EINVAL;
        return -1;
    }
    forget_list(path, old);
    return 1;
}

// As far as the system lets this process: to give a file away takes a privilege, to give it to a group membership. *now is
// what came of it, whatever the calls said.
static bool keep_owner(const struct perhaps__replacement *replacement, const struct stat *old, struct stat *now)
{
    if (perhaps__files->stat(replacement->file, now) != 0) {
        return false;
    }
    if (now->st_uid == old->st_uid && now->st_gid == old->st_gid) {
        return true;
    }
    if (perhaps__files->set_owner(replacement->file, old->st_uid, old->st_gid) != 0 && now->st_gid != old->st_gid) {
        (void)perhaps__files->set_owner(replacement->file, (uid_t)-1, old->st_gid);
    }
    return perhaps__files->stat(replacement->file, now) == 0;
}

// Those of the old file, as far as they give nobody more under the owner and group that there are now. Members of the old
// group are "others" to another group, and its members were: both get what both had.
static mode_t narrow(const struct stat *old, const struct stat *now)
{
    mode_t mode = old->st_mode & 07777;
    if (now->st_uid != old->st_uid || now->st_gid != old->st_gid) {
        mode &= (mode_t) ~(S_ISUID | S_ISGID);
    }
    if (now->st_gid != old->st_gid) {
        mode_t both = mode & (mode >> 3) & 07;
        mode = (mode & (mode_t)~077) | both << 3 | both;
    }
    return mode;
}

// Somebody who may give files away, but not set the mode of others' (CAP_CHOWN without CAP_FOWNER), takes it back.
static bool take_back(const struct perhaps__replacement *replacement, const struct stat *old, struct stat *now)
{
    return now->st_uid != geteuid() && perhaps__files->set_owner(replacement->file, geteuid(), (gid_t)-1) == 0 &&
           perhaps__files->stat(replacement->file, now) == 0 &&
           perhaps__files->set_mode(replacement->file, narrow(old, now)) == 0;
}

// The mode last: changing the owner takes bits out of it.
static bool be_like(const struct perhaps__replacement *replacement, const struct stat *old)
{
    struct stat now;
    return keep_owner(replacement, old, &now) &&
           (perhaps__files->set_mode(replacement->file, narrow(old, &now)) == 0 || take_back(replacement, old, &now));
}

void perhaps__replacement_drop(struct perhaps__replacement *replacement)
{
    int reason = errno;
    (void)perhaps__files->close(replacement->file);
    (void)perhaps__files->remove(replacement->temporary);
    errno = reason;
}

bool perhaps__replacement_begin(struct perhaps__replacement *replacement)
{
    struct stat old;
    if (!perhaps__resolve_target(replacement->path, replacement->target)) {
        return false;
    }
    int found = find_old(replacement, &old);
    // Whoever opens the temporary file now can read all that is written to it later: nobody, until it has its permissions.
    if (found < 0 || !create_temporary(replacement, found > 0 ? 0600 : 0666)) {
        return false;
    }
    if (replacement->locked) {
        remove_leftovers(replacement->target);
    }
    if (found > 0 && !be_like(replacement, &old)) {
        perhaps__replacement_drop(replacement);
        return false;
    }
    return true;
}

bool perhaps__replacement_put(struct perhaps__replacement *replacement)
{
    return perhaps__files->flush(replacement->file) == 0 &&
           perhaps__files->rename(replacement->temporary, replacement->target) == 0;
}

bool perhaps__write_all(int file, const uint8_t *bytes, uint64_t size)
{
    const uint64_t most = UINT64_C(1) << 30; // a single write() takes no more than 2 GiB
    while (size > 0) {
        ssize_t written = perhaps__files->write(file, bytes, (size_t)perhaps__min(size, most));
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            errno = written == 0 ? EIO : errno;
            return false;
        }
        bytes += written;
        size -= (uint64_t)written;
    }
    return true;
}

// Some file systems cannot flush a directory, and say EINVAL.
bool perhaps__flush_directory(const char *target)
{
    char directory[PATH_MAX];
    size_t length = directory_length(target);
    memcpy(directory, target, length);
    memcpy(directory + length, ".", 2);
    int file = perhaps__files->open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (file < 0) {
        return false;
    }
    bool flushed = perhaps__files->flush(file) == 0 || errno == EINVAL || errno == EROFS;
    perhaps__close_quietly(file);
    return flushed;
}

/* ---------------------------------------------------------------- filters */

// What is to be in the file: the header, and the layers of a filter; or, without a filter, bytes that are all of it.
struct content {
    uint8_t *bytes;
    uint64_t size;
    const perhaps_filter *filter;
};

static bool write_content(const struct perhaps__replacement *replacement, const struct content *content)
{
    const perhaps_filter *filter = content->filter;
    bool written = perhaps__write_all(replacement->file, content->bytes, content->size);
    for (uint32_t i = 0; written && filter != NULL && i < filter->layer_count; i++) {
        written = perhaps__write_all(replacement->file, filter->layers[i]->payload, filter->layers[i]->payload_size);
    }
    return written;
}

static bool replace(struct perhaps__replacement *replacement, const struct content *content)
{
    if (!perhaps__replacement_begin(replacement)) {
        return false;
    }
    if (!write_content(replacement, content) || !perhaps__replacement_put(replacement)) {
        perhaps__replacement_drop(replacement);
        return false;
    }
    perhaps__close_quietly(replacement->file); // not before: the lock ends. Its bytes were flushed, so nothing can fail
    return true;
}

// A shared filter is copied first: its writers wait for that, and not for a disk.
static bool make_content(const perhaps_filter *filter, struct perhaps__identity *identity, struct content *content)
{
    bool shared = filter->shared != NULL;
    perhaps__close(filter);
    content->size = shared ? perhaps__encoded_size(filter) : perhaps__header_size(filter);
    content->bytes = perhaps__allocate(&filter->allocator, content->size);
    content->filter = shared ? NULL : filter;
    if (content->bytes != NULL) {
        (shared ? perhaps__encode : perhaps__encode_header)(filter, identity, content->bytes);
    }
    perhaps__open(filter);
    return content->bytes != NULL;
}

int perhaps__save(const perhaps_filter *filter, const char *path, struct perhaps__identity *identity, bool *replaced,
                  perhaps_error *error)
{
    struct perhaps__replacement replacement = {.path = path};
    struct content content;
    *replaced = false;
    if (!make_content(filter, identity, &content)) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_MEMORY, .subject = path}, NULL);
    }
    *replaced = replace(&replacement, &content);
    int reason = errno;
    perhaps__release(&filter->allocator, content.bytes, content.size);
    errno = reason;
    if (!*replaced) {
        return perhaps__fail_io(error, path, "written");
    }
    return perhaps__flush_directory(replacement.target)
               ? PERHAPS_OK
               : perhaps__fail_io(error, path, "flushed to the disk, though it was replaced");
}
