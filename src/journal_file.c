// SPDX-License-Identifier: MIT
#define _GNU_SOURCE // NOLINT(bugprone-reserved-identifier): for SEEK_DATA
#include "journal_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

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
        "is missing, and its filter lacks keys without it; restore it together with its filter, or remove "
        "both files, and make the filter anew");
}

/* ---------------------------------------------------------------- its bytes */

// Of a file that is all hole.
#define AT_FIRST UINT64_C(65536)

static int fail_memory(const char *path, perhaps_error *error)
{
    return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_MEMORY, .subject = path}, NULL);
}

static ssize_t read_at(int file, uint8_t *bytes, uint64_t size, uint64_t offset)
{
    ssize_t got;
    do {
        got = perhaps__files->read_at(file, bytes, (size_t)perhaps__min(size, UINT64_C(1) << 30), (off_t)offset);
    } while (got < 0 && errno == EINTR);
    return got;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

// Room for `end` bytes. At first as many as the disk holds of the file, which is all of it, but for its holes; then,
// because the records go on that were found so far, twice as many.
static bool make_room(struct perhaps__journal_copy *copy, uint64_t end)
{
    uint64_t most = copy->journal.size;
    uint64_t stored = 512 * perhaps__min((uint64_t)copy->status.st_blocks, most / 512 + 1);
    uint64_t wanted = copy->bytes == NULL ? larger(stored, AT_FIRST) : 2 * copy->allocated;
    uint64_t size = perhaps__min(larger(wanted, end), most);
    uint8_t *bytes = perhaps__allocate(&copy->allocator, size);
    if (bytes == NULL) {
        return false;
    }
    if (copy->bytes != NULL) {
        memcpy(bytes, copy->bytes, (size_t)copy->journal.held);
        perhaps__release(&copy->allocator, copy->bytes, copy->allocated);
    }
    copy->journal.bytes = copy->bytes = bytes;
    copy->allocated = size;
    return true;
}

// A writer may be cutting off what it could not write whole: the file ends where nothing more is read.
static int bring(struct perhaps__journal *journal, uint64_t end, perhaps_error *error)
{
    struct perhaps__journal_copy *copy = journal->rest.context;
    if (end > copy->allocated && !make_room(copy, end)) {
        return fail_memory(journal->subject, error);
    }
    while (journal->held < end) {
        ssize_t got = read_at(copy->file, copy->bytes + journal->held, copy->allocated - journal->held, journal->held);
        if (got < 0) {
            return perhaps__fail_io(error, journal->subject, "read");
        }
        if (got == 0) {
            journal->size = journal->held;
            break;
        }
        journal->held += (uint64_t)got;
    }
    return PERHAPS_OK;
}

// Where there is something at or behind an offset. A system that does not know says that there is; only time is lost.
static uint64_t skip_hole(int file, uint64_t offset, uint64_t size)
{
#ifdef SEEK_DATA
    off_t data = lseek(file, (off_t)offset, SEEK_DATA);
    if (data < 0) {
        return errno == ENXIO ? size : offset;
    }
    return (uint64_t)data;
#else
    (void)file;
    (void)size;
    return offset;
#endif
}

static int is_zero(const struct perhaps__journal *journal, perhaps_error *error)
{
    const struct perhaps__journal_copy *copy = journal->rest.context;
    static const uint8_t zeros[16384];
    uint8_t bytes[sizeof zeros];
    uint64_t at = skip_hole(copy->file, journal->held, journal->size);
    while (at < journal->size) {
        ssize_t got = read_at(copy->file, bytes, perhaps__min(sizeof bytes, journal->size - at), at);
        if (got < 0) {
            return perhaps__fail_io(error, journal->subject, "read");
        }
        if (got == 0) {
            break;
        }
        if (memcmp(bytes, zeros, (size_t)got) != 0) {
            return 0;
        }
        at = skip_hole(copy->file, at + (uint64_t)got, journal->size);
    }
    return 1;
}

int perhaps__journal_load(int file, const char *path, const perhaps_filter *filter, struct perhaps__journal_copy *copy,
                          perhaps_error *error)
{
    *copy = (struct perhaps__journal_copy){.allocator = filter->allocator, .file = file};
    if (perhaps__files->stat(file, &copy->status) != 0) {
        return perhaps__fail_io(error, path, "examined");
    }
    copy->journal = (struct perhaps__journal){
        .size = (uint64_t)copy->status.st_size,
        .subject = path,
        .rest = {.context = copy, .bring = bring, .is_zero = is_zero},
    };
    int status = perhaps__journal_read(&copy->journal, &filter->identity, error);
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

/* ---------------------------------------------------------------- over a filter */

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
