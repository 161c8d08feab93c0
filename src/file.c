// SPDX-License-Identifier: MIT
// Filters in files: mapped or copied in, replaced atomically.
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "chunks.h"
#include "format.h"
#include "shared.h"

static int system_open(const char *path, int flags, mode_t mode)
{
    return open(path, flags, mode);
}

static const struct perhaps__file_operations system_files = {
    system_open, fstat, pread, write, fchmod, fsync, close, rename, unlink,
};

const struct perhaps__file_operations *perhaps__files = &system_files;

// errno survives this call, so that the reason of a failure is not lost on the way to its description.
static void close_quietly(int file)
{
    int saved = errno;
    (void)perhaps__files->close(file);
    errno = saved;
}

static int fail_io(perhaps_error *error, const char *path, const char *action)
{
    int reason = errno;
    struct perhaps__failure failure = {.code = PERHAPS_E_IO, .system_error = reason, .subject = path};
    // strerror() is thread-safe enough in every C library this builds on: known numbers give constant texts.
    return perhaps__fail(error, failure, "cannot be %s: %s", action, strerror(reason)); // NOLINT(concurrency-mt-unsafe)
}

static int fail_argument(perhaps_error *error)
{
    return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_ARGUMENT}, NULL);
}

/* ---------------------------------------------------------------- reading */

struct file_source {
    int file;
    const char *path;
};

static int read_file(void *context, uint64_t offset, void *bytes, size_t size, perhaps_error *error)
{
    const struct file_source *source = context;
    size_t done = 0;
    while (done < size) {
        ssize_t got =
            perhaps__files->read_at(source->file, (uint8_t *)bytes + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return fail_io(error, source->path, "read");
        }
        if (got == 0) {
            return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_DAMAGED, .subject = source->path},
                                 "became shorter while it was read; restore the file");
        }
        done += (size_t)got;
    }
    return PERHAPS_OK;
}

static void unmap(void *mapping, size_t size)
{
    (void)munmap(mapping, size);
}

static int open_copy(struct file_source *file, uint64_t length, const struct perhaps__loading *loading,
                     perhaps_filter **filter, perhaps_error *error)
{
    struct perhaps__source source = {
        .context = file,
        .read = read_file,
        .length = length,
        .subject = file->path,
    };
    return perhaps__decode(&source, loading, filter, error);
}

static int open_mapped(struct file_source *file, uint64_t length, const struct perhaps__loading *loading,
                       perhaps_filter **filter, perhaps_error *error)
{
    if (length > SIZE_MAX / 2) {
        errno = EFBIG;
        return fail_io(error, file->path, "mapped");
    }
    void *mapping = mmap(NULL, (size_t)length, PROT_READ, MAP_SHARED, file->file, 0);
    if (mapping == MAP_FAILED) { // NOLINT(performance-no-int-to-ptr): the system's own constant
        return fail_io(error, file->path, "mapped");
    }
    struct perhaps__source source = {
        .context = mapping,
        .read = perhaps__read_memory,
        .length = length,
        .subject = file->path,
        .mapping = mapping,
    };
    int status = perhaps__decode(&source, loading, filter, error);
    if (status < 0) {
        unmap(mapping, (size_t)length);
        return status;
    }
    (*filter)->mapping = mapping;
    (*filter)->mapping_size = (size_t)length;
    (*filter)->unmap = unmap;
    return PERHAPS_OK;
}

static int fail_not_a_file(perhaps_error *error, const char *path, mode_t mode)
{
    return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_NOT_A_FILTER, .subject = path},
                         "is %s, not a perhaps filter", S_ISDIR(mode) ? "a directory" : "not a regular file");
}

/* ---------------------------------------------------------------- where a filter came from */

// Which file a path led to. A file that is saved is another one; one that is written to in place has another time.
struct perhaps__origin {
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified;
    char path[]; // as it was given
};

static bool is_same_file(const struct perhaps__origin *origin, const struct stat *status)
{
    return origin->device == status->st_dev && origin->inode == status->st_ino && origin->size == status->st_size &&
           origin->modified.tv_sec == status->st_mtim.tv_sec && origin->modified.tv_nsec == status->st_mtim.tv_nsec;
}

const char *perhaps__origin_path(const perhaps_filter *filter)
{
    return filter->origin != NULL ? filter->origin->path : NULL;
}

static bool remember_origin(perhaps_filter *filter, const char *path, const struct stat *status)
{
    size_t length = strlen(path) + 1;
    filter->origin_size = sizeof *filter->origin + length;
    filter->origin = perhaps__allocate(&filter->allocator, filter->origin_size);
    if (filter->origin == NULL) {
        return false;
    }
    filter->origin->device = status->st_dev;
    filter->origin->inode = status->st_ino;
    filter->origin->size = status->st_size;
    filter->origin->modified = status->st_mtim;
    memcpy(filter->origin->path, path, length);
    return true;
}

/* ---------------------------------------------------------------- opening */

static int open_file(struct file_source *file, const struct stat *status, const struct perhaps__loading *loading,
                     perhaps_filter **filter, perhaps_error *error)
{
    bool copied = (loading->flags & PERHAPS_OPEN_COPY) != 0 || status->st_size == 0; // nothing maps no bytes
    perhaps_filter *opened = NULL;
    int result = (copied ? open_copy : open_mapped)(file, (uint64_t)status->st_size, loading, &opened, error);
    if (opened == NULL) {
        return result;
    }
    if (!remember_origin(opened, file->path, status)) {
        perhaps_free(opened);
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_MEMORY, .subject = file->path}, NULL);
    }
    *filter = opened;
    return PERHAPS_OK;
}

static int open_path(const char *path, const struct perhaps__loading *loading, perhaps_filter **filter,
                     perhaps_error *error)
{
    // Not to hang on a pipe that nobody writes to; regular files ignore the flag.
    struct file_source file = {perhaps__files->open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0), path};
    if (file.file < 0) {
        return fail_io(error, path, "opened");
    }
    int result;
    struct stat status;
    if (perhaps__files->stat(file.file, &status) != 0) {
        result = fail_io(error, path, "examined");
    } else if (!S_ISREG(status.st_mode)) {
        result = fail_not_a_file(error, path, status.st_mode);
    } else {
        result = open_file(&file, &status, loading, filter, error);
    }
    close_quietly(file.file);
    return result;
}

int perhaps_open(const char *path, const perhaps_load_options *given, perhaps_filter **filter, perhaps_error *error)
{
    if (path == NULL || filter == NULL) {
        return fail_argument(error);
    }
    struct perhaps__loading loading;
    int result = perhaps__take_load_options(given, &loading, error);
    return result < 0 ? result : open_path(path, &loading, filter, error);
}

int perhaps_reopen(const perhaps_filter *filter, const perhaps_load_options *options, perhaps_filter **newer,
                   perhaps_error *error)
{
    if (filter == NULL || newer == NULL) {
        return fail_argument(error);
    }
    if (filter->origin == NULL) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_UNSUPPORTED},
                             "the filter was not opened from a file");
    }
    struct perhaps__loading loading;
    int result = perhaps__take_load_options(options, &loading, error);
    if (result < 0) {
        return result;
    }
    if (loading.key == NULL && filter->key_check != 0 && !filter->keyless) {
        loading.key = filter->key;
    }
    struct stat status;
    if (stat(filter->origin->path, &status) != 0) {
        return fail_io(error, filter->origin->path, "examined");
    }
    if (is_same_file(filter->origin, &status)) {
        return 0;
    }
    result = open_path(filter->origin->path, &loading, newer, error);
    return result < 0 ? result : 1;
}

/* ---------------------------------------------------------------- saving */

// A file that will take the place of another.
struct replacement {
    const char *path; // as the caller named it, for messages
    char target[PATH_MAX];
    char temporary[PATH_MAX];
    int file;
};

// The file that a path names in the end: a symbolic link's target, or the path itself when nothing is there.
static bool resolve_target(struct replacement *replacement)
{
    if (realpath(replacement->path, replacement->target) != NULL) {
        return true;
    }
    size_t length = strlen(replacement->path);
    struct stat link;
    if (errno != ENOENT || length == 0 || lstat(replacement->path, &link) == 0) {
        return false; // in the last case a link that leads nowhere: errno still says ENOENT
    }
    if (length >= sizeof replacement->target) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(replacement->target, replacement->path, length + 1);
    return true;
}

// The part of a path up to and with its last slash; 0 when there is none.
static size_t directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? (size_t)(slash - path) + 1 : 0;
}

static bool create_temporary(struct replacement *replacement)
{
    size_t directory = directory_length(replacement->target);
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        int length = snprintf(replacement->temporary, sizeof replacement->temporary, "%.*s.perhaps-%ld-%u.tmp",
                              (int)directory, replacement->target, (long)getpid(), attempt);
        if (length < 0 || (size_t)length >= sizeof replacement->temporary) {
            errno = ENAMETOOLONG;
            return false;
        }
        replacement->file = perhaps__files->open(replacement->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (replacement->file >= 0 || errno != EEXIST) {
            return replacement->file >= 0;
        }
    }
    return false;
}

// The permissions of the file that is replaced; what is there but is no file is refused.
static bool keep_permissions(const struct replacement *replacement)
{
    struct stat old;
    if (stat(replacement->target, &old) != 0) {
        return errno == ENOENT;
    }
    if (!S_ISREG(old.st_mode)) {
        errno = S_ISDIR(old.st_mode) ? EISDIR : EINVAL;
        return false;
    }
    return perhaps__files->set_mode(replacement->file, old.st_mode & 07777) == 0;
}

static bool write_all(int file, const uint8_t *bytes, uint64_t size)
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

// The name is durable only when its directory is. Some file systems cannot flush a directory, and say EINVAL.
static bool flush_directory(const struct replacement *replacement)
{
    char directory[PATH_MAX];
    size_t length = directory_length(replacement->target);
    memcpy(directory, replacement->target, length);
    memcpy(directory + length, ".", 2);
    int file = perhaps__files->open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (file < 0) {
        return false;
    }
    bool flushed = perhaps__files->flush(file) == 0 || errno == EINVAL || errno == EROFS;
    close_quietly(file);
    return flushed;
}

// What is to be in the file: the header, and the layers of a filter; or, without a filter, bytes that are all of it.
struct content {
    uint8_t *bytes;
    uint64_t size;
    const perhaps_filter *filter;
};

static bool write_layers(const struct replacement *replacement, const perhaps_filter *filter)
{
    bool written = true;
    for (uint32_t i = 0; written && i < filter->layer_count; i++) {
        written = write_all(replacement->file, filter->layers[i]->payload, filter->layers[i]->payload_size);
    }
    return written;
}

static bool write_content(const struct replacement *replacement, const struct content *content)
{
    return keep_permissions(replacement) && write_all(replacement->file, content->bytes, content->size) &&
           (content->filter == NULL || write_layers(replacement, content->filter)) &&
           perhaps__files->flush(replacement->file) == 0;
}

static bool replace(struct replacement *replacement, const struct content *content)
{
    bool written = write_content(replacement, content);
    int reason = errno;
    if (perhaps__files->close(replacement->file) != 0 && written) {
        written = false;
        reason = errno;
    }
    if (written && perhaps__files->rename(replacement->temporary, replacement->target) != 0) {
        written = false;
        reason = errno;
    }
    if (!written) {
        (void)perhaps__files->remove(replacement->temporary);
        errno = reason;
    }
    return written;
}

// A shared filter is copied first: its writers wait for that, and not for a disk.
static bool make_content(const perhaps_filter *filter, struct content *content)
{
    bool shared = filter->shared != NULL;
    perhaps__close(filter);
    content->size = shared ? perhaps__encoded_size(filter) : perhaps__header_size(filter);
    content->bytes = perhaps__allocate(&filter->allocator, content->size);
    content->filter = shared ? NULL : filter;
    if (content->bytes != NULL) {
        (shared ? perhaps__encode : perhaps__encode_header)(filter, content->bytes);
    }
    perhaps__open(filter);
    return content->bytes != NULL;
}

int perhaps_save(const perhaps_filter *filter, const char *path, perhaps_error *error)
{
    if (filter == NULL || path == NULL) {
        return fail_argument(error);
    }
    int status = perhaps__may_be_written(filter, path, error);
    if (status < 0) {
        return status;
    }
    struct replacement replacement = {.path = path};
    if (!resolve_target(&replacement)) {
        return fail_io(error, path, "written");
    }
    struct content content;
    if (!make_content(filter, &content)) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_MEMORY, .subject = path}, NULL);
    }
    bool saved = create_temporary(&replacement) && replace(&replacement, &content);
    int reason = errno;
    perhaps__release(&filter->allocator, content.bytes, content.size);
    errno = reason;
    if (!saved) {
        return fail_io(error, path, "written");
    }
    return flush_directory(&replacement) ? PERHAPS_OK
                                         : fail_io(error, path, "flushed to the disk, though it was replaced");
}
