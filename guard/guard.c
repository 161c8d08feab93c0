// SPDX-License-Identifier: MIT
#include <perhaps/guard.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "interval.h"

#define DEFAULT_CONFIDENCE 0.95
#define SMALLEST_CONFIDENCE 0.5
#define LARGEST_CONFIDENCE 0.999999

// How far the predicted rate may exceed the target before the filter counts as saturated. At capacity the
// two are equal but for scatter; at twice the target a filter for 1 % holds 16 % more than it was made for.
#define SATURATION 2.0

// A guard counts four things; everything else that it reports follows from them.
struct perhaps_guard {
    const perhaps_filter *filter;
    perhaps_store store; // without `contains`: the caller asks the store
    perhaps_allocator allocator;
    double confidence;
    double z; // of that confidence
    uint64_t surely_absent;
    uint64_t perhaps;
    uint64_t confirmed;
    uint64_t refuted;
};

static int fail_argument(perhaps_error *error, const char *subject, const char *text)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_ARGUMENT, .subject = subject};
    return perhaps__guard_fail(error, failure, "%s", text);
}

static int fail_option(perhaps_error *error, const char *subject, const char *text)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_OPTION, .subject = subject};
    return perhaps__guard_fail(error, failure, "%s", text);
}

/* ---------------------------------------------------------------- making a guard */

static void *default_allocate(void *context, size_t bytes, size_t alignment)
{
    (void)context;
    (void)alignment; // nothing here needs more than malloc() gives
    return malloc(bytes);
}

static void default_release(void *context, void *memory, size_t bytes, size_t alignment)
{
    (void)context;
    (void)bytes;
    (void)alignment;
    free(memory);
}

static bool all_zero(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

// The caller's options as this release knows them: fields that the caller does not have stay zero.
static int take_options(perhaps_guard_options *known, const perhaps_guard_options *given, perhaps_error *error)
{
    size_t size = given->size;
    if (size < sizeof size) {
        return fail_option(error, "size",
                           "the options do not say how large they are; set size to "
                           "sizeof(perhaps_guard_options)");
    }
    if (size > sizeof *known && !all_zero((const unsigned char *)given + sizeof *known, size - sizeof *known)) {
        return fail_option(error, "size",
                           "an option is set that this release does not know; "
                           "clear it, or use the release that it came with");
    }
    memcpy(known, given, size < sizeof *known ? size : sizeof *known);
    return 0;
}

static int check_pointers(const perhaps_guard_options *options, perhaps_error *error)
{
    if (options->filter == NULL) {
        return fail_argument(error, "filter", "a guard needs a filter to ask; give one in the options");
    }
    if (options->store != NULL && options->store->contains == NULL) {
        return fail_argument(error, "store",
                             "the store has no contains callback; give one, or "
                             "leave the store out and report what yours says");
    }
    const perhaps_allocator *allocator = options->allocator;
    if (allocator != NULL && (allocator->allocate == NULL || allocator->release == NULL)) {
        return fail_argument(error, "allocator",
                             "an allocator needs both allocate and release; "
                             "give both, or NULL for the C library's");
    }
    return 0;
}

static int check_options(perhaps_guard_options *options, perhaps_error *error)
{
    int code = check_pointers(options, error);
    if (code < 0) {
        return code;
    }
    if (options->confidence == 0.0) {
        options->confidence = DEFAULT_CONFIDENCE;
    }
    // Written so that a NaN fails.
    if (!(options->confidence >= SMALLEST_CONFIDENCE && options->confidence <= LARGEST_CONFIDENCE)) {
        struct perhaps__guard_failure failure = {.code = PERHAPS_E_OPTION, .subject = "confidence"};
        return perhaps__guard_fail(error, failure,
                                   "a confidence of %g cannot be given; it lies between %g and %g "
                                   "(0 stands for %g)",
                                   options->confidence, SMALLEST_CONFIDENCE, LARGEST_CONFIDENCE, DEFAULT_CONFIDENCE);
    }
    return 0;
}

int perhaps_guard_create(const perhaps_guard_options *options, perhaps_guard **guard, perhaps_error *error)
{
    if (options == NULL || guard == NULL) {
        return fail_argument(error, options == NULL ? "options" : "guard",
                             "the argument is NULL, and the call needs it");
    }
    perhaps_guard_options known = {.size = 0};
    int code = take_options(&known, options, error);
    if (code == 0) {
        code = check_options(&known, error);
    }
    if (code < 0) {
        return code;
    }
    perhaps_allocator allocator = {.allocate = default_allocate, .release = default_release};
    if (known.allocator != NULL) {
        allocator = *known.allocator;
    }
    perhaps_guard *made = allocator.allocate(allocator.context, sizeof *made, _Alignof(perhaps_guard));
    if (made == NULL) {
        struct perhaps__guard_failure failure = {.code = PERHAPS_E_MEMORY, .subject = "guard"};
        return perhaps__guard_fail(error, failure, "there is no memory for the %zu bytes of a guard", sizeof *made);
    }
    *made = (perhaps_guard){
        .filter = known.filter,
        .allocator = allocator,
        .confidence = known.confidence,
        .z = perhaps__guard_normal_quantile(known.confidence),
    };
    if (known.store != NULL) {
        made->store = *known.store;
    }
    *guard = made;
    return 0;
}

void perhaps_guard_free(perhaps_guard *guard)
{
    if (guard != NULL) {
        perhaps_allocator allocator = guard->allocator;
        allocator.release(allocator.context, guard, sizeof *guard, _Alignof(perhaps_guard));
    }
}

/* ---------------------------------------------------------------- questions */

int perhaps_guard_ask(perhaps_guard *guard, const void *key, size_t length)
{
    if (guard == NULL) {
        return PERHAPS_E_ARGUMENT;
    }
    int answer = perhaps_might_contain(guard->filter, key, length);
    if (answer == 0) {
        guard->surely_absent++;
    } else if (answer > 0) {
        guard->perhaps++;
    }
    return answer;
}

int perhaps_guard_ask_many(perhaps_guard *guard, const void *data, const uint64_t *offsets, size_t count, uint8_t *out,
                           size_t *done)
{
    if (guard == NULL) {
        if (done != NULL) {
            *done = 0;
        }
        return PERHAPS_E_ARGUMENT;
    }
    size_t handled = 0;
    int code = perhaps_might_contain_many(guard->filter, data, offsets, count, out, &handled);
    uint64_t passed = 0;
    for (size_t i = 0; i < handled; i++) {
        passed += out[i];
    }
    guard->perhaps += passed;
    guard->surely_absent += handled - passed;
    if (done != NULL) {
        *done = handled;
    }
    return code;
}

static uint64_t unresolved(const perhaps_guard *guard)
{
    return guard->perhaps - guard->confirmed - guard->refuted;
}

static void count_report(perhaps_guard *guard, int found)
{
    if (found == 1) {
        guard->confirmed++;
    } else {
        guard->refuted++;
    }
}

int perhaps_guard_report(perhaps_guard *guard, const void *key, size_t length, int found)
{
    if (guard == NULL || (key == NULL && length > 0) || (found != 0 && found != 1) || unresolved(guard) == 0) {
        return PERHAPS_E_ARGUMENT;
    }
    count_report(guard, found);
    return 0;
}

// What the store says, held to its contract: 1, 0, or an error that is described.
static int ask_store(const perhaps_guard *guard, const void *key, size_t length, perhaps_error *error)
{
    perhaps_error reply = {.size = sizeof reply};
    int found = guard->store.contains(guard->store.context, key, length, &reply);
    struct perhaps__guard_failure failure = {.code = found, .subject = "store"};
    if (found > 1) {
        failure.code = PERHAPS_E_ARGUMENT;
        return perhaps__guard_fail(error, failure,
                                   "the contains callback of the store returned %d, which is none "
                                   "of 1 (yes), 0 (no) and a negative error; correct the callback",
                                   found);
    }
    if (found < 0 && reply.code == 0) {
        return perhaps__guard_fail(error, failure, "the store failed without a reason (%s)", perhaps_message(found));
    }
    if (found < 0) {
        reply.code = found;
        perhaps__guard_hand_on(error, &reply);
    }
    return found;
}

int perhaps_guard_contains(perhaps_guard *guard, const void *key, size_t length, perhaps_error *error)
{
    if (guard == NULL) {
        return fail_argument(error, "guard",
                             "there is no guard; make one with "
                             "perhaps_guard_create()");
    }
    if (guard->store.contains == NULL) {
        struct perhaps__guard_failure failure = {.code = PERHAPS_E_UNSUPPORTED, .subject = "store"};
        return perhaps__guard_fail(error, failure,
                                   "the guard was made without a store; give it one, "
                                   "or use perhaps_guard_ask() and "
                                   "perhaps_guard_report()");
    }
    int answer = perhaps_guard_ask(guard, key, length);
    if (answer < 0) {
        struct perhaps__guard_failure failure = {.code = answer, .subject = "filter"};
        return perhaps__guard_fail(error, failure, "the filter cannot be asked for this key: %s",
                                   perhaps_message(answer));
    }
    if (answer == 0) {
        return 0;
    }
    int found = ask_store(guard, key, length, error);
    if (found >= 0) {
        count_report(guard, found);
    }
    return found;
}

/* ---------------------------------------------------------------- the account */

// The absent keys behind the observed rate. Only resolved questions can count as false positives, so when
// some are unresolved, the keys that the filter turned away must be thinned out just as much: otherwise
// a caller who reports one answer in ten would see a tenth of the real rate.
static double absent_keys(const perhaps_guard *guard)
{
    double resolved = (double)(guard->confirmed + guard->refuted);
    double share = guard->perhaps > 0 ? resolved / (double)guard->perhaps : 1.0;
    return (double)guard->refuted + (double)guard->surely_absent * share;
}

static uint32_t judge(const perhaps_guard_statistics *statistics)
{
    if (statistics->fpr_predicted > SATURATION * statistics->fpr_target) {
        return PERHAPS_GUARD_SATURATED;
    }
    if (statistics->fpr_observed_low > statistics->fpr_target) {
        return PERHAPS_GUARD_ABOVE_TARGET;
    }
    return PERHAPS_GUARD_HEALTHY;
}

static void fill_statistics(const perhaps_guard *guard, const perhaps_statistics *filter,
                            perhaps_guard_statistics *full)
{
    double absent = absent_keys(guard);
    double refuted = (double)guard->refuted;
    struct perhaps__guard_interval interval = perhaps__guard_wilson(refuted, absent, guard->z);
    *full = (perhaps_guard_statistics){
        .queries = guard->surely_absent + guard->perhaps,
        .surely_absent = guard->surely_absent,
        .perhaps = guard->perhaps,
        .confirmed = guard->confirmed,
        .refuted = guard->refuted,
        .unresolved = unresolved(guard),
        .fpr_observed = absent > 0.0 ? refuted / absent : (double)NAN,
        .fpr_observed_low = interval.low,
        .fpr_observed_high = interval.high,
        .confidence = guard->confidence,
        .fpr_predicted = filter->fpr_now,
        .fpr_target = filter->fpr_target,
    };
    full->verdict = judge(full);
}

int perhaps_guard_stats(const perhaps_guard *guard, perhaps_guard_statistics *statistics)
{
    if (guard == NULL || statistics == NULL) {
        return PERHAPS_E_ARGUMENT;
    }
    perhaps_guard_statistics full;
    size_t size = statistics->size;
    if (size < sizeof size || size > sizeof full) {
        return PERHAPS_E_OPTION;
    }
    perhaps_statistics filter = {.size = sizeof filter};
    int code = perhaps_stats(guard->filter, &filter);
    if (code < 0) {
        return code;
    }
    fill_statistics(guard, &filter, &full);
    full.size = size;
    memcpy(statistics, &full, size);
    return 0;
}

const char *perhaps_guard_verdict_name(uint32_t verdict)
{
    static const char *const names[] = {
        [PERHAPS_GUARD_HEALTHY] = "healthy",
        [PERHAPS_GUARD_ABOVE_TARGET] = "above target",
        [PERHAPS_GUARD_SATURATED] = "saturated",
    };
    return verdict < sizeof names / sizeof names[0] ? names[verdict] : NULL;
}
