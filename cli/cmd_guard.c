// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <math.h>
#include <perhaps/guard.h>
#include <stdlib.h>
#include <string.h>

#include "filterfile.h"
#include "guarding.h"
#include "keys.h"
#include "messages.h"
#include "options.h"
#include "output.h"
#include "watch.h"

static int pack(struct guarding *g, const struct batch *batch, uint64_t offsets[BATCH_KEYS + 1])
{
    size_t total = 0;
    for (size_t i = 0; i < batch->count; i++) {
        total += batch->lengths[i];
    }
    if (total > g->capacity) {
        char *packed = realloc(g->packed, total);
        if (packed == NULL) {
            return fail(g->path, "there is not enough memory for keys of %zu bytes", total);
        }
        g->packed = packed;
        g->capacity = total;
    }
    size_t used = 0;
    for (size_t i = 0; i < batch->count; i++) {
        offsets[i] = used;
        if (batch->lengths[i] > 0) {
            used += perhaps_canonical(g->store.canonical, batch->keys[i], batch->lengths[i], g->packed + used);
        }
    }
    offsets[batch->count] = used;
    return STATUS_OK;
}

// 1: the store has it; 0: it has not; -1: it did not answer, which is said.
static int check_answer(struct guarding *g, int found, const perhaps_error *error)
{
    if (found < 0) {
        g->store_failed = true;
        (void)fail_library(g->store.name, found, error);
        return -1;
    }
    return found;
}

// A key that the filter let through.
static int resolve(struct guarding *g, const void *key, size_t length)
{
    perhaps_error error = {.size = sizeof error};
    return check_answer(g, perhaps_guard_look_up(g->guard, key, length, &error), &error);
}

// A key that the filter called surely absent. The guard is not told: it never lets such a key through.
static int audit(struct guarding *g, const void *key, size_t length)
{
    perhaps_error error = {.size = sizeof error};
    int found = check_answer(g, g->store.store.contains(g->store.store.context, key, length, &error), &error);
    if (found < 0) {
        return found;
    }
    g->audit.audited++;
    if (found > 0 && g->audit.missed++ == 0) {
        show_key(g->first_missed, key, length);
    }
    return found;
}

static int answer(struct guarding *g, bool let_through, const void *key, size_t length)
{
    if (let_through) {
        return resolve(g, key, length);
    }
    return given(g->arguments, OPTION_AUDIT) ? audit(g, key, length) : 0;
}

static int guard_batch(void *context, const struct input *input, const struct batch *batch)
{
    struct guarding *g = context;
    uint64_t offsets[BATCH_KEYS + 1] = {0};
    uint8_t answers[BATCH_KEYS];
    if (pack(g, batch, offsets) != STATUS_OK) {
        return STATUS_ERROR;
    }
    int code = perhaps_guard_ask_many(g->guard, g->packed, offsets, batch->count, answers, NULL);
    if (code < 0) {
        return fail(g->path, "%s", perhaps_message(code));
    }
    for (size_t i = 0; i < batch->count; i++) {
        size_t length = (size_t)(offsets[i + 1] - offsets[i]);
        int found = answer(g, answers[i] != 0, length > 0 ? g->packed + offsets[i] : "", length);
        if (found < 0) {
            return STATUS_ERROR;
        }
        if (found > 0) {
            print_keys(input, batch, i, i + 1);
            if (given(g->arguments, OPTION_LINE_BUFFERED)) {
                output_flush();
            }
        }
    }
    flush_if_waiting(g->arguments, batch);
    if (output_broken()) {
        return STATUS_ERROR;
    }
    return g->watch != NULL ? watch_after_batch(g->watch) : STATUS_OK;
}

static int prepare(struct guarding *g)
{
    if (given(g->arguments, OPTION_WATCH)) {
        return watch_begin(g);
    }
    if (filter_open(g->path, &g->filter) != STATUS_OK || filter_needs_bytes(g->path, g->filter) != STATUS_OK ||
        store_open(g->arguments, &g->store) != STATUS_OK) {
        return STATUS_ERROR;
    }
    perhaps_guard_options options = {.size = sizeof options, .filter = g->filter, .store = &g->store.store};
    perhaps_error error = {.size = sizeof error};
    int code = perhaps_guard_create(&options, &g->guard, &error);
    return code < 0 ? fail_library(g->path, code, &error) : STATUS_OK;
}

static int refuse_missed(const struct guarding *g)
{
    if (g->audit.missed == 0) {
        return STATUS_OK;
    }
    return fail(g->path, "\"surely absent\" is wrong for %" PRIu64 " key%s of the store, the first: %s",
                g->audit.missed, plural(g->audit.missed), g->first_missed);
}

// Counting the store can take as long as reading all of it: only where the filter's fill does not tell how many keys it is
// for, as when all its bits are set, or none.
static void plan(const struct guarding *g, struct account *account)
{
    double estimate = account->statistics.distinct_estimate;
    bool estimated = isfinite(estimate) && estimate >= 1.0;
    perhaps_plan_options options = {.size = sizeof options, .distinct = estimated ? PERHAPS_PLAN_ESTIMATED : 0};
    account->plan = (perhaps_plan){.size = sizeof account->plan};
    account->reason = (perhaps_error){.size = sizeof account->reason, .text = "unknown; it is not ready"};
    if (account->statistics.not_ready != 0) {
        return;
    }
    account->planned = perhaps_guard_plan(g->guard, &options, &account->plan, &account->reason) == 0;
    if (!account->planned && !isfinite(estimate)) {
        account->reason =
            (perhaps_error){.size = sizeof account->reason,
                            .text = "now; too full to tell for how many keys, and the store was not counted"};
    }
}

static int report(const struct guarding *g)
{
    struct account account = {.statistics = {.size = sizeof account.statistics}, .audit = g->audit, .store = &g->store};
    (void)perhaps_guard_stats(g->guard, &account.statistics);
    plan(g, &account);
    int status = report_guard(g->arguments, &account);
    status = status == STATUS_OK ? report_metrics(g->arguments, &account.statistics) : status;
    status = status == STATUS_OK ? refuse_missed(g) : status;
    return status != STATUS_OK || account.statistics.confirmed > 0 ? status : STATUS_NONE;
}

// A file of keys that cannot be read does not keep the others from being answered and reported; a store that does not
// answer leaves nothing worth a report.
static int run(struct guarding *g)
{
    if (prepare(g) != STATUS_OK) {
        return STATUS_ERROR;
    }
    int status = visit_keys(g->arguments, 1, true, guard_batch, g);
    bool signalled = false;
    if (g->watch != NULL) {
        status = watch_end(g->watch, status, &signalled);
    }
    output_flush();
    if (output_given_up() > 0) {
        warn("standard output", "%" PRIu64 " bytes were not written: nobody read them before the end was asked for",
             output_given_up());
    }
    if (g->store_failed || output_broken()) {
        return STATUS_ERROR;
    }
    int reported = report(g);
    if (status != STATUS_OK || reported == STATUS_ERROR) {
        return STATUS_ERROR;
    }
    return signalled ? STATUS_OK : reported;
}

static int refuse_options(const struct arguments *arguments)
{
    static const enum option_id watching[] = {OPTION_INTERVAL, OPTION_STAY, OPTION_APPEND_ONLY, OPTION_FPR,
                                              OPTION_KIND};
    for (size_t i = 0; i < sizeof watching / sizeof watching[0]; i++) {
        if (given(arguments, watching[i]) && !given(arguments, OPTION_WATCH)) {
            return fail_usage("guard", "%s is for --watch", option_shown(watching[i]));
        }
    }
    if (arguments->operand_count == 0) {
        return fail_usage("guard", "no FILTER was named");
    }
    return option_conflict(arguments, OPTION_AUDIT, OPTION_WATCH);
}

int command_guard(const struct arguments *arguments)
{
    if (store_options_check(arguments) != STATUS_OK) {
        return STATUS_ERROR;
    }
    if (given(arguments, OPTION_INSTALL_LOG) || given(arguments, OPTION_REMOVE_LOG)) {
        return store_change_log(arguments);
    }
    if (refuse_options(arguments) != STATUS_OK) {
        return STATUS_ERROR;
    }
    struct guarding g = {.arguments = arguments, .path = arguments->operands[0]};
    int status = run(&g);
    free(g.packed);
    perhaps_guard_free(g.guard);
    watch_free(g.watch);
    store_close(&g.store);
    perhaps_free(g.filter);
    return status;
}
