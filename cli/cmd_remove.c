// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <perhaps/perhaps.h>

#include "filterfile.h"
#include "json.h"
#include "keys.h"
#include "messages.h"
#include "options.h"
#include "progress.h"

struct removal {
    const struct arguments *arguments;
    const char *path;
    perhaps_filter *filter;
    uint64_t keys;
    uint64_t removed;
    uint64_t ambiguous; // kept, because several layers match
    bool placed;        // it may have a position in a store yet
    struct json json;
};

static int print_kept(struct removal *removal, const struct input *input, const struct batch *batch, size_t at,
                      const char *reason)
{
    if (!given(removal->arguments, OPTION_JSON)) {
        print_keys(input, batch, at, at + 1);
        return STATUS_OK;
    }
    json_open_key(&removal->json, input, batch, at);
    json_string(&removal->json, "reason", reason);
    json_close(&removal->json);
    return json_print(&removal->json);
}

enum { ABSENT = 0, REMOVED = 1, AMBIGUOUS = 2 };

// Before the first removal, as each of them is in the file at once when it has a journal: from then on it lacks keys
// that its store may have, whatever becomes of the rest, and nobody may go on from its position.
static int drop_position(struct removal *removal, const struct batch *batch)
{
    bool removes = false;
    for (size_t i = 0; i < batch->count && removal->placed && !removes; i++) {
        removes = perhaps_might_contain(removal->filter, batch->keys[i], batch->lengths[i]) != 0;
    }
    int code = removes ? perhaps_set_position(removal->filter, NULL, 0) : 0;
    removal->placed = removal->placed && !removes;
    return code < 0 ? filter_fail_change(removal->path, removal->filter, code) : STATUS_OK;
}

// Goes on behind every key that several layers match.
static int remove_keys(struct removal *removal, const struct batch *batch, uint8_t results[BATCH_KEYS])
{
    size_t at = 0;
    while (at < batch->count) {
        size_t done = 0;
        int code = perhaps_remove_many_pointers(removal->filter, batch->keys + at, batch->lengths + at,
                                                batch->count - at, results + at, &done);
        at += done;
        if (code == PERHAPS_E_AMBIGUOUS) {
            results[at++] = AMBIGUOUS;
        } else if (code < 0) {
            return filter_fail_change(removal->path, removal->filter, code);
        }
    }
    return STATUS_OK;
}

static int remove_batch(void *context, const struct input *input, const struct batch *batch)
{
    struct removal *removal = context;
    uint8_t results[BATCH_KEYS];
    if (drop_position(removal, batch) != STATUS_OK || remove_keys(removal, batch, results) != STATUS_OK) {
        return STATUS_ERROR;
    }
    bool prints = given(removal->arguments, OPTION_NOT_DONE);
    for (size_t i = 0; i < batch->count; i++) {
        removal->removed += results[i] == REMOVED;
        removal->ambiguous += results[i] == AMBIGUOUS;
        const char *reason = results[i] == AMBIGUOUS ? "ambiguous" : "absent";
        if (prints && results[i] != REMOVED && print_kept(removal, input, batch, i, reason) != STATUS_OK) {
            return STATUS_ERROR;
        }
    }
    removal->keys += batch->count;
    progress_show(removal->keys);
    return STATUS_OK;
}

static int tell_removed(struct removal *removal)
{
    uint64_t absent = removal->keys - removal->removed - removal->ambiguous;
    if (given(removal->arguments, OPTION_JSON)) {
        struct json *json = &removal->json;
        json_open(json, NULL);
        json_string(json, "type", "summary");
        json_unsigned(json, "keys", removal->keys);
        json_unsigned(json, "removed", removal->removed);
        json_unsigned(json, "absent", absent);
        json_unsigned(json, "ambiguous", removal->ambiguous);
        json_close(json);
        return json_print(json);
    }
    if (!given(removal->arguments, OPTION_QUIET)) {
        tell(removal->path, "%" PRIu64 " key%s read, %" PRIu64 " removed, %" PRIu64 " surely absent", removal->keys,
             plural(removal->keys), removal->removed, absent);
    }
    if (removal->ambiguous > 0) {
        warn(removal->path,
             "%" PRIu64 " key%s kept: layers match that do not fold into each other; make the filter anew when it has "
             "many of those",
             removal->ambiguous, plural(removal->ambiguous));
    }
    return STATUS_OK;
}

static bool has_position(const perhaps_filter *filter)
{
    const void *position = NULL;
    size_t length = 0;
    return perhaps_position(filter, &position, &length) == 0 && length > 0;
}

static int remove_and_save(struct removal *removal)
{
    if (!filter_removes(removal->filter)) {
        return fail(removal->path, "%s cannot remove keys; the kinds counting and cuckoo can, with policy multiset",
                    filter_kind_shown(removal->filter));
    }
    removal->placed = has_position(removal->filter);
    if (!given(removal->arguments, OPTION_NOT_DONE)) {
        progress_start(removal->arguments);
    }
    int status = visit_keys(removal->arguments, 1, false, remove_batch, removal);
    progress_end();
    if (status == STATUS_OK && removal->removed + removal->ambiguous > 0) { // both are counted in it
        status = filter_keep(removal->path, removal->filter);
    }
    if (status != STATUS_OK || tell_removed(removal) != STATUS_OK) {
        return STATUS_ERROR;
    }
    return removal->removed > 0 ? STATUS_OK : STATUS_NONE;
}

int command_remove(const struct arguments *arguments)
{
    struct removal removal = {.arguments = arguments, .path = arguments->operands[0]};
    int status = filter_open_locked(arguments, &removal.filter);
    if (status == STATUS_OK) {
        status = remove_and_save(&removal);
    }
    json_free(&removal.json);
    perhaps_free(removal.filter);
    return status;
}
