// SPDX-License-Identifier: MIT
#include "journal_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "chunks.h"
#include "file_save.h"

bool perhaps__journal_path(const char *path, char journal[PATH_MAX])
{
    char target[PATH_MAX];
    if (!perhaps__resolve_target(path, target)) {
        return false;
    }
    int length = snprintf(journal, PATH_MAX, "%s.journal", target);
    if (length < 0 || length >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    return true;
}

int perhaps__journal_fail_missing(perhaps_error *error, const char *path)
{
    const struct perhaps__failure failure = {.code = PERHAPS_E_JOURNAL, .system_error = ENOENT, .subject = path};
    return perhaps__fail(
        error, failure,
        "is missing, and its filter lacks keys without it; restore it together with its filter, or rebuild "
        "the filter");
}

// Reads as much as there is; a writer may be cutting off what it could not write whole.
static int read_all(int file, const char *path, struct perhaps__journal_copy *copy, perhaps_error *error)
{
    uint64_t done = 0;
    while (done < copy->allocated) {
        size_t size = (size_t)perhaps__min(copy->allocated - done, UINT64_C(1) << 30);
        ssize_t got = perhaps__files->read_at(file, copy->bytes + done, size, (off_t)done);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return perhaps__fail_io(error, path, "read");
        }
        if (got == 0) {
            break;
        }
        done += (uint64_t)got;
    }
    copy->journal.size = done;
    return PERHAPS_OK;
}

int perhaps__journal_load(int file, const char *path, const perhaps_filter *filter, struct perhaps__journal_copy *copy,
                          perhaps_error *error)
{
    *copy = (struct perhaps__journal_copy){.allocator = filter->allocator};
    if (perhaps__files->stat(file, &copy->status) != 0) {
        return perhaps__fail_io(error, path, "examined");
    }
    copy->allocated = (uint64_t)copy->status.st_size;
    copy->bytes = perhaps__allocate(&copy->allocator, copy->allocated);
    if (copy->bytes == NULL) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_MEMORY, .subject = path}, NULL);
    }
    copy->journal.bytes = copy->bytes;
    copy->journal.subject = path;
    int status = read_all(file, path, copy, error);
    status = status < 0 ? status : perhaps__journal_read(&copy->journal, &filter->identity, error);
    if (status < 0) {
        perhaps__journal_unload(copy);
    }
    return status;
}

void perhaps__journal_unload(struct perhaps__journal_copy *copy)
{
    perhaps__release(&copy->allocator, copy->bytes, copy->allocated);
    copy->bytes = NULL;
}

// The pages that replaying writes to become the process's own; the file stays as it is.
static int overlay(const struct perhaps__journal *journal, perhaps_filter *filter, const char *path,
                   perhaps_error *error)
{
    filter->journal_operations = journal->stale ? 0 : journal->operations;
    filter->journal_bytes = journal->end;
    if (filter->journal_operations == 0) {
        return PERHAPS_OK;
    }
    if (filter->mapping != NULL && mprotect(filter->mapping, filter->mapping_size, PROT_READ | PROT_WRITE) != 0) {
        return perhaps__fail_io(error, path, "mapped");
    }
    perhaps__chunks_release(filter); // what it holds from now on is not what its file says
    return perhaps__journal_replay(journal, filter, error);
}

int perhaps__journal_overlay(perhaps_filter *filter, const char *path, struct stat *status, perhaps_error *error)
{
    char name[PATH_MAX];
    if (!perhaps__journal_path(path, name)) {
        return perhaps__fail_io(error, path, "opened");
    }
    int file = perhaps__files->open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (file < 0) {
        return errno == ENOENT ? perhaps__journal_fail_missing(error, name) : perhaps__fail_io(error, name, "opened");
    }
    struct perhaps__journal_copy copy;
    int result = perhaps__journal_load(file, name, filter, &copy, error);
    perhaps__close_quietly(file);
    if (result == PERHAPS_OK) {
        *status = copy.status;
        result = overlay(&copy.journal, filter, path, error);
        perhaps__journal_unload(&copy);
    }
    return result;
}
