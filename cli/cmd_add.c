// SPDX-License-Identifier: MIT
#include <errno.h>
#include <perhaps/perhaps.h>
#include <sys/stat.h>

#include "filterfile.h"
#include "keys.h"
#include "lock.h"
#include "messages.h"
#include "options.h"
#include "progress.h"

// Before the lock, so that no lock is made beside a file that is not there.
static int refuse_missing(const char *path)
{
    struct stat status;
    if (filter_refuse_dash(path) != STATUS_OK) {
        return STATUS_ERROR;
    }
    if (stat(path, &status) < 0) {
        return fail_errno(path, errno);
    }
    return S_ISREG(status.st_mode) ? STATUS_OK : fail(path, "is not a regular file, and so no filter");
}

static int add_and_save(const struct arguments *arguments, const char *path, perhaps_filter *filter)
{
    perhaps_statistics before;
    filter_statistics(filter, &before);
    struct adder adder = {.path = path, .filter = filter};
    progress_start(arguments);
    int status = visit_keys(arguments, 1, false, add_batch, &adder);
    progress_end();
    if (status != STATUS_OK) {
        return status;
    }
    perhaps_statistics after;
    filter_statistics(filter, &after);
    if (after.adds != before.adds && filter_save(path, filter) != STATUS_OK) {
        return STATUS_ERROR;
    }
    tell_added(arguments, path, filter, adder.keys, before.adds);
    return STATUS_OK;
}

int command_add(const struct arguments *arguments)
{
    const char *path = arguments->operands[0];
    perhaps_filter *filter = NULL;
    if (refuse_missing(path) != STATUS_OK || lock_filter(path, given(arguments, OPTION_NO_WAIT)) != STATUS_OK ||
        filter_open_copy(path, &filter) != STATUS_OK) {
        return STATUS_ERROR;
    }
    int status = filter_needs_bytes(path, filter);
    if (status == STATUS_OK) {
        status = add_and_save(arguments, path, filter);
    }
    perhaps_free(filter);
    return status;
}
