// SPDX-License-Identifier: MIT
#include "adding.h"

#include <inttypes.h>
#include <stdio.h>

#include "filterfile.h"
#include "messages.h"
#include "options.h"
#include "progress.h"

enum { EXAMPLE_SIZE = SHOWN_KEY_SIZE + 32, REASON_SIZE = 256 };

void adder_init(struct adder *adder, const struct arguments *arguments, const char *path, perhaps_filter *filter)
{
    *adder = (struct adder){
        .arguments = arguments,
        .path = path,
        .filter = filter,
        .prints = given(arguments, OPTION_NOT_DONE),
    };
}

void adder_free(struct adder *adder)
{
    json_free(&adder->json);
}

// Filters that count are changed by every add, the others by keys that are new.
bool adder_has_changed(const struct adder *adder)
{
    perhaps_statistics statistics;
    filter_statistics(adder->filter, &statistics);
    bool counts = statistics.policy == PERHAPS_POLICY_MULTISET || statistics.policy == PERHAPS_POLICY_CONSERVATIVE;
    return adder->new_keys > 0 || (counts && adder->keys > refused_keys(adder));
}

// What is to be added: keys of a batch, or hashes.
struct portion {
    const struct input *input;
    const struct batch *batch; // or NULL
    const uint64_t *hashes;
    size_t count;
};

// At most BATCH_KEYS of them.
static int add_range(struct adder *adder, const struct portion *portion, size_t first, size_t count, size_t *done)
{
    const struct batch *batch = portion->batch;
    uint8_t is_new[BATCH_KEYS];
    count = count < BATCH_KEYS ? count : BATCH_KEYS;
    int code = batch == NULL ? perhaps_add_many_hash(adder->filter, portion->hashes + first, count, is_new, done)
                             : perhaps_add_many_pointers(adder->filter, batch->keys + first, batch->lengths + first,
                                                         count, is_new, done);
    for (size_t i = 0; i < *done; i++) {
        adder->new_keys += is_new[i];
    }
    return code;
}

static int print_refused(struct adder *adder, const struct portion *portion, size_t at, const char *reason)
{
    if (!given(adder->arguments, OPTION_JSON)) {
        print_keys(portion->input, portion->batch, at, at + 1);
        return STATUS_OK;
    }
    json_open_key(&adder->json, portion->input, portion->batch, at);
    json_string(&adder->json, "reason", reason);
    json_close(&adder->json);
    return json_print(&adder->json);
}

static int refuse(struct adder *adder, const struct portion *portion, size_t at, int code)
{
    struct refused *refused = code == PERHAPS_E_COPIES ? &adder->copies : &adder->full;
    const struct batch *batch = portion->batch;
    if (refused->count++ == 0 && batch != NULL) {
        refused->has_example = true;
        show_key(refused->example, batch->keys[at], batch->lengths[at]);
    }
    if (!adder->prints || batch == NULL) {
        return STATUS_OK;
    }
    return print_refused(adder, portion, at, code == PERHAPS_E_COPIES ? "copies" : "full");
}

// The library stops at a key that is refused; behind it, it is given few keys at first, since it hashes all that it is
// given before the first is refused.
static int add_portion(struct adder *adder, const struct portion *portion)
{
    size_t most = portion->count;
    for (size_t at = 0; at < portion->count;) {
        size_t left = portion->count - at;
        size_t done = 0;
        int code = add_range(adder, portion, at, most < left ? most : left, &done);
        at += done;
        most = most <= portion->count / 2 ? 2 * most : portion->count;
        if (code == PERHAPS_E_FULL || code == PERHAPS_E_COPIES || code == PERHAPS_E_LIMIT) {
            if (refuse(adder, portion, at, code) != STATUS_OK) {
                return STATUS_ERROR;
            }
            at++;
            most = 1;
        } else if (code < 0) {
            return filter_fail_change(adder->path, adder->filter, code);
        }
    }
    return STATUS_OK;
}

int add_batch(void *context, const struct input *input, const struct batch *batch)
{
    struct adder *adder = context;
    struct portion portion = {.input = input, .batch = batch, .count = batch->count};
    if (add_portion(adder, &portion) != STATUS_OK) {
        return STATUS_ERROR;
    }
    adder->keys += batch->count;
    progress_show(adder->keys);
    return STATUS_OK;
}

int add_hashes(void *context, const uint64_t *hashes, size_t count)
{
    struct adder *adder = context;
    struct portion portion = {.hashes = hashes, .count = count};
    adder->keys += count;
    return add_portion(adder, &portion);
}

/* ---------------------------------------------------------------- what became of them */

void tell_added(const struct adder *adder)
{
    uint64_t refused = refused_keys(adder);
    if (!given(adder->arguments, OPTION_QUIET) && !given(adder->arguments, OPTION_JSON)) {
        char more[48] = "";
        if (refused > 0) {
            (void)snprintf(more, sizeof more, ", %" PRIu64 " refused", refused);
        }
        tell(adder->path, "%" PRIu64 " key%s read, %" PRIu64 " new, %" PRIu64 " perhaps there before%s", adder->keys,
             plural(adder->keys), adder->new_keys, adder->keys - adder->new_keys - refused, more);
    }
    filter_warn_if_overfull(adder->path, adder->filter);
}

// The paths are not kept in the file, so that this is the place where they are seen.
static void put_paths(struct json *json, const perhaps_statistics *s)
{
    json_unsigned(json, "refused_early", s->refused_early);
    json_open_array(json, "paths");
    for (size_t i = 0; i < PERHAPS_PATHS; i++) {
        json_unsigned(json, NULL, s->paths[i]);
    }
    json_close_array(json);
    json_unsigned(json, "deepest", s->deepest);
}

int print_added(struct adder *adder)
{
    perhaps_statistics s;
    filter_statistics(adder->filter, &s);
    struct json *json = &adder->json;
    json_open(json, NULL);
    json_string(json, "type", "summary");
    json_unsigned(json, "keys", adder->keys);
    json_unsigned(json, "new", adder->new_keys);
    json_unsigned(json, "there_before", adder->keys - adder->new_keys - refused_keys(adder));
    json_unsigned(json, "refused_full", adder->full.count);
    json_unsigned(json, "refused_copies", adder->copies.count);
    if (s.kind == PERHAPS_KIND_CUCKOO) {
        put_paths(json, &s);
    }
    json_close(json);
    return json_print(json);
}

// ", for example 'x'"
static void describe_example(char *text, size_t room, const struct refused *refused)
{
    bool has = refused->has_example;
    (void)snprintf(text, room, "%s%s%s", has ? ", for example '" : "", refused->example, has ? "'" : "");
}

// A filter that grows gives such a key to another layer, until there may be none.
static bool is_crowded(const perhaps_statistics *s)
{
    return s->growth == 0 && s->refused_early > 0 && s->policy == PERHAPS_POLICY_MULTISET;
}

static const char *why_full(const perhaps_statistics *s)
{
    if (is_crowded(s)) {
        return "their buckets are full, though the filter is not: repeated keys crowd them";
    }
    return s->growth != 0 ? "the filter has grown as far as it may" : "the filter is full";
}

#define ONCE "a filter made with --policy unique takes every key once"

// Of one cause.
static int fail_one(const struct adder *adder, const struct refused *refused, const char *reason, const char *outcome)
{
    char example[EXAMPLE_SIZE];
    describe_example(example, sizeof example, refused);
    return fail(adder->path, "%" PRIu64 " of %" PRIu64 " key%s refused%s: %s%s", refused->count, adder->keys,
                plural(adder->keys), example, reason, outcome);
}

static int fail_copies(const struct adder *adder, const perhaps_statistics *s, const char *outcome)
{
    char reason[REASON_SIZE];
    (void)snprintf(reason, sizeof reason,
                   "the filter has %" PRIu32 " copies of each or of its look-alikes, and no room for more; " ONCE,
                   2 * s->slots);
    return fail_one(adder, &adder->copies, reason, outcome);
}

static int fail_full(const struct adder *adder, const perhaps_statistics *s, const char *outcome)
{
    char reason[REASON_SIZE];
    (void)snprintf(reason, sizeof reason, "%s; %s", why_full(s), is_crowded(s) ? ONCE : "make a larger one");
    return fail_one(adder, &adder->full, reason, outcome);
}

static int fail_both(const struct adder *adder, const perhaps_statistics *s, const char *outcome)
{
    char copies[EXAMPLE_SIZE];
    char full[EXAMPLE_SIZE];
    describe_example(copies, sizeof copies, &adder->copies);
    describe_example(full, sizeof full, &adder->full);
    return fail(adder->path,
                "%" PRIu64 " of %" PRIu64 " keys refused: %" PRIu64 "%s: the filter has %" PRIu32
                " copies of each or of its look-alikes, and no room for more; %" PRIu64 "%s: %s; " ONCE "%s%s",
                refused_keys(adder), adder->keys, adder->copies.count, copies, 2 * s->slots, adder->full.count, full,
                why_full(s), is_crowded(s) ? "" : ", and a larger one has room for more", outcome);
}

int fail_refused(const struct adder *adder, const char *outcome)
{
    if (refused_keys(adder) == 0) {
        return STATUS_OK;
    }
    perhaps_statistics statistics;
    filter_statistics(adder->filter, &statistics);
    if (adder->full.count == 0) {
        return fail_copies(adder, &statistics, outcome);
    }
    return adder->copies.count == 0 ? fail_full(adder, &statistics, outcome) : fail_both(adder, &statistics, outcome);
}
