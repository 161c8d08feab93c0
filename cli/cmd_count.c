// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <perhaps/perhaps.h>

#include "filterfile.h"
#include "json.h"
#include "keys.h"
#include "messages.h"
#include "options.h"
#include "output.h"

struct counter {
    const struct arguments *arguments;
    const char *path;
    perhaps_filter *filter;
    uint64_t keys;
    uint64_t absent;
    uint64_t unbounded;
    struct json json;
};

// A bound that is not known is no number: neither "15+", which would say "at least 15", nor a large one.
static void print_plain(const struct input *input, const struct batch *batch, size_t at, uint64_t most)
{
    output_write(batch->keys[at], batch->lengths[at]);
    if (most == PERHAPS_COUNT_UNBOUNDED) {
        output_text("\tunbounded");
    } else {
        output_format("\t%" PRIu64, most);
    }
    output_write(&input->separator, 1);
}

static void put_bound(struct json *json, uint64_t most)
{
    if (most == PERHAPS_COUNT_UNBOUNDED) {
        json_null(json, "at_most");
    } else {
        json_unsigned(json, "at_most", most);
    }
}

static int print_bound(struct counter *counter, const struct input *input, const struct batch *batch, size_t at,
                       uint64_t most)
{
    if (!given(counter->arguments, OPTION_JSON)) {
        print_plain(input, batch, at, most);
        return STATUS_OK;
    }
    json_open_key(&counter->json, input, batch, at);
    put_bound(&counter->json, most);
    json_close(&counter->json);
    return json_print(&counter->json);
}

static int count_batch(void *context, const struct input *input, const struct batch *batch)
{
    struct counter *counter = context;
    uint64_t most[BATCH_KEYS];
    int code =
        perhaps_count_at_most_many_pointers(counter->filter, batch->keys, batch->lengths, batch->count, most, NULL);
    if (code < 0) {
        return fail(counter->path, "%s", perhaps_message(code));
    }
    for (size_t i = 0; i < batch->count; i++) {
        counter->absent += most[i] == 0;
        counter->unbounded += most[i] == PERHAPS_COUNT_UNBOUNDED;
        if (print_bound(counter, input, batch, i, most[i]) != STATUS_OK) {
            return STATUS_ERROR;
        }
    }
    counter->keys += batch->count;
    flush_if_waiting(counter->arguments, batch);
    return output_broken() ? STATUS_ERROR : STATUS_OK;
}

static int print_summary(struct counter *counter)
{
    struct json *json = &counter->json;
    json_open(json, NULL);
    json_string(json, "type", "summary");
    json_unsigned(json, "keys", counter->keys);
    json_unsigned(json, "absent", counter->absent);
    json_unsigned(json, "unbounded", counter->unbounded);
    json_close(json);
    return json_print(json);
}

static int count(struct counter *counter)
{
    if (filter_needs_bytes(counter->path, counter->filter) != STATUS_OK) {
        return STATUS_ERROR;
    }
    if (!filter_counts(counter->filter)) {
        return fail(counter->path,
                    "%s does not count, and knows only whether a key may be there (check); the kinds "
                    "counting and cuckoo count, except cuckoo with policy unique",
                    filter_kind_shown(counter->filter));
    }
    int status = visit_keys(counter->arguments, 1, true, count_batch, counter);
    if (given(counter->arguments, OPTION_JSON) && print_summary(counter) != STATUS_OK) {
        return STATUS_ERROR;
    }
    return status;
}

int command_count(const struct arguments *arguments)
{
    struct counter counter = {.arguments = arguments, .path = arguments->operands[0]};
    int status = filter_open_asked(arguments, counter.path, &counter.filter);
    if (status == STATUS_OK) {
        status = count(&counter);
        filter_warn_if_damaged(counter.path, counter.filter);
    }
    json_free(&counter.json);
    perhaps_free(counter.filter);
    return status;
}
