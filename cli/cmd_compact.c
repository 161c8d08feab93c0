// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <perhaps/perhaps.h>

#include "filterfile.h"
#include "messages.h"
#include "options.h"
#include "progress.h"

// Buckets between two looks at the clock.
#define SLICE 65536

// In slices; what all of them did is in *done.
static int compact(const char *path, perhaps_filter *filter, perhaps_compaction *done)
{
    int more = 1;
    while (more == 1) {
        perhaps_compaction slice = {.size = sizeof slice};
        perhaps_error error = {.size = sizeof error};
        more = perhaps_compact(filter, SLICE, &slice, &error);
        if (more < 0) {
            return fail_library(path, more, &error);
        }
        done->layers = slice.layers;
        done->dropped += slice.dropped;
        done->moved += slice.moved;
        progress_show(done->moved);
    }
    return STATUS_OK;
}

static void tell_compacted(const char *path, uint64_t bytes_before, const perhaps_filter *filter,
                           const perhaps_compaction *done)
{
    perhaps_statistics s;
    filter_statistics(filter, &s);
    if (done->dropped == 0) {
        tell(path, "%" PRIu32 " layer%s, none of which can be dropped or folded into another", s.layers,
             plural(s.layers));
        return;
    }
    tell(path, "%" PRIu32 " layer%s, %" PRIu32 " fewer; %" PRIu64 " keys moved; %" PRIu64 " bytes, before %" PRIu64,
         s.layers, plural(s.layers), done->dropped, done->moved, s.bytes, bytes_before);
}

static int compact_and_save(const struct arguments *arguments, perhaps_filter *filter)
{
    const char *path = arguments->operands[0];
    perhaps_statistics before;
    filter_statistics(filter, &before);
    perhaps_compaction done = {.size = sizeof done};
    progress_start(arguments);
    int status = compact(path, filter, &done);
    progress_end();
    if (status == STATUS_OK && done.dropped > 0) {
        status = filter_save(path, filter);
    }
    if (status == STATUS_OK && !given(arguments, OPTION_QUIET)) {
        tell_compacted(path, before.bytes, filter, &done);
    }
    return status;
}

int command_compact(const struct arguments *arguments)
{
    perhaps_filter *filter = NULL;
    int status = filter_lock(arguments);
    if (status == STATUS_OK) {
        status = filter_open_copy(arguments->operands[0], &filter);
    }
    if (status == STATUS_OK) {
        status = filter_refuse_journal(arguments->operands[0], filter);
    }
    if (status == STATUS_OK) {
        status = compact_and_save(arguments, filter);
    }
    perhaps_free(filter);
    return status;
}
