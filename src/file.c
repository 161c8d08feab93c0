// SPDX-License-Identifier: MIT
// Filters in files: mapped or copied in.
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "chunks.h"
#include "format.h"
#include "journal_file.h"

static int system_open(const char *path, int flags, mode_t mode)
{
    return open(path, flags, mode);
}

static const struct perhaps__file_operations system_files = {
    system_open, fstat,  pread, write,     fchmod,    fsync,      close,
    rename,      unlink, flock, ftruncate, fdatasync, getentropy, fchown,
};

const struct perhaps__file_operations *perhaps__files = &system_files;

// errno survives this call, so that the reason of a failure is not lost on the way to its description.
void perhaps__close_quietly(int file)
{
    int saved = errno;
    (void)perhaps__files->close(file);
    errno = saved;
}

int perhaps__fail_io(perhaps_error *error, const char *path, const char *action)
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
            return perhaps__fail_io(error, source->path, "read");
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
        return perhaps__fail_io(error, file->path, "mapped");
    }
    // Private, because a journal may be laid over it; without one it is only read, and shared by all who map the file.
    void *mapping = mmap(NULL, (size_t)length, PROT_READ, MAP_PRIVATE, file->file, 0);
    if (mapping == MAP_FAILED) { // NOLINT(performance-no-int-to-ptr): the system's own constant
        return perhaps__fail_io(error, file->path, "mapped");
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
    ino_t journal; // and its size, of a filter that requires one; otherwise 0
    off_t journal_size;
    struct timespec journal_modified;
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

// Only appended to, or replaced.
static bool is_same_journal(const struct perhaps__origin *origin)
{
    char path[PATH_MAX];
    struct stat status;
    return origin->journal == 0 ||
           (perhaps__journal_path(origin->path, path) && stat(path, &status) == 0 && origin->journal == status.st_ino &&
            origin->journal_size == status.st_size && origin->journal_modified.tv_sec == status.st_mtim.tv_sec &&
            origin->journal_modified.tv_nsec == status.st_mtim.tv_nsec);
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

void perhaps__forget_origin(perhaps_filter *filter)
{
    perhaps__release(&filter->allocator, filter->origin, filter->origin_size);
    filter->origin = NULL;
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

int perhaps__open_once(const char *path, const struct perhaps__loading *loading, perhaps_filter **filter,
                       perhaps_error *error)
{
    // Not to hang on a pipe that nobody writes to; regular files ignore the flag.
    struct file_source file = {perhaps__files->open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0), path};
    if (file.file < 0) {
        return perhaps__fail_io(error, path, "opened");
    }
    int result;
    struct stat status;
    if (perhaps__files->stat(file.file, &status) != 0) {
        result = perhaps__fail_io(error, path, "examined");
    } else if (!S_ISREG(status.st_mode)) {
        result = fail_not_a_file(error, path, status.st_mode);
    } else {
        result = open_file(&file, &status, loading, filter, error);
    }
    perhaps__close_quietly(file.file);
    return result;
}

// Replaying changes a filter, which is verified as a whole before. One that grows takes memory of its own for new layers,
// and so is not left in its mapping.
static uint32_t flags_to_replay(const perhaps_filter *opened, uint32_t flags)
{
    flags &= ~(uint32_t)PERHAPS_OPEN_FIRST_TOUCH;
    return opened->growth.factor != 0 ? (flags & PERHAPS_OPEN_KEYLESS) | PERHAPS_OPEN_COPY : flags;
}

// Lays the journal over a filter that requires one.
static int open_journaled(const char *path, const struct perhaps__loading *loading, perhaps_filter **opened,
                          perhaps_error *error)
{
    int result = perhaps__open_once(path, loading, opened, error);
    if (*opened == NULL || (*opened)->identity.id == 0) {
        return result;
    }
    struct perhaps__loading to_replay = *loading;
    to_replay.flags = flags_to_replay(*opened, loading->flags);
    if ((*opened)->mapping != NULL && to_replay.flags != loading->flags) {
        perhaps_free(*opened);
        *opened = NULL;
        result = perhaps__open_once(path, &to_replay, opened, error);
    }
    if (*opened == NULL || (*opened)->identity.id == 0) { // another file, perhaps
        return result;
    }
    struct stat journal;
    result = perhaps__journal_overlay(*opened, path, &journal, error);
    if (result == PERHAPS_OK) {
        (*opened)->origin->journal = journal.st_ino;
        (*opened)->origin->journal_modified = journal.st_mtim;
        // With the torn end of a crash it is not what a writer leaves, who may cut that off and append as much.
        bool torn = (*opened)->journal_bytes != (uint64_t)journal.st_size;
        (*opened)->origin->journal_size = torn ? -1 : journal.st_size;
        (*opened)->read_only = (loading->flags & PERHAPS_OPEN_COPY) == 0;
    }
    return result;
}

// Whether another file is where the filter came from.
static bool was_replaced(const perhaps_filter *filter)
{
    struct stat status;
    return stat(filter->origin->path, &status) == 0 && !is_same_file(filter->origin, &status);
}

// A writer may fold the journal between the opening of the filter and that of the journal; then both are opened anew.
static int open_path(const char *path, const struct perhaps__loading *loading, perhaps_filter **filter,
                     perhaps_error *error)
{
    const unsigned most_tries = 16;
    for (unsigned tries = 1;; tries++) {
        perhaps_filter *opened = NULL;
        int result = open_journaled(path, loading, &opened, error);
        if (result == PERHAPS_OK) {
            *filter = opened;
            return PERHAPS_OK;
        }
        bool again = opened != NULL && was_replaced(opened) && tries < most_tries;
        perhaps_free(opened);
        if (!again) {
            return result;
        }
    }
}

int perhaps_open(const char *path, const perhaps_load_options *given, perhaps_filter **filter, perhaps_error *error)
{
    if (path == NULL || filter == NULL) {
        return fail_argument(error);
    }
    struct perhaps__loading loading;
    int result = perhaps__take_load_options(given, &loading, error);
    loading.journaled = true;
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
    loading.journaled = true;
    if (loading.key == NULL && filter->key_check != 0 && !filter->keyless) {
        loading.key = filter->key;
    }
    struct stat status;
    if (stat(filter->origin->path, &status) != 0) {
        return perhaps__fail_io(error, filter->origin->path, "examined");
    }
    if (is_same_file(filter->origin, &status) && is_same_journal(filter->origin)) {
        return 0;
    }
    result = open_path(filter->origin->path, &loading, newer, error);
    return result < 0 ? result : 1;
}
