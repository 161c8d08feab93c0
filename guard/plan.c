// SPDX-License-Identifier: MIT
// When to rebuild a filter, and to what size.
#include <math.h>
#include <string.h>

#include "fail.h"
#include "state.h"

#define SECONDS_A_DAY 86400.0
// A rate of change is taken from what was seen only after so many seconds.
#define SEEN_SECONDS 60.0

// What speaks for a rebuild, beside being full.
#define ABOVE_TARGET 1.25
#define MUCH_RESIDUE 0.1
#define SPARSE 4

// A part of the capacity kept for what the estimate does not know.
#define RESERVE 1.125

static int fail_option(perhaps_error *error, const char *subject, const char *text)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_OPTION, .subject = subject};
    return perhaps__guard_fail(error, failure, "%s", text);
}

static int take_options(const perhaps_plan_options *given, perhaps_plan_options *known, perhaps_error *error)
{
    *known = (perhaps_plan_options){.size = sizeof *known};
    if (given != NULL) {
        if (given->size < sizeof given->size || given->size > sizeof *known) {
            return fail_option(error, "size", "the options of a plan do not have a size that this release knows");
        }
        memcpy(known, given, given->size);
    }
    known->days = known->days == 0.0 ? PERHAPS_PLAN_DAYS : known->days;
    if (!(known->days > 0.0 && isfinite(known->days) && isfinite(known->keys_per_day))) {
        return fail_option(error, isfinite(known->keys_per_day) ? "days" : "keys_per_day",
                           "a plan needs numbers that are finite, and days above 0");
    }
    return 0;
}

/* ---------------------------------------------------------------- reasons */

// Three standard deviations of the estimate of a bloom filter of capacity n are 0.74 sqrt(n) at p = 1 %, and 0.9
// sqrt(n) at 10 % (m (e^l - l - 1) / k^2 is its variance, with l = kn/m). A filter made for just its keys is not to be
// made anew for that.
static bool is_full(const perhaps_statistics *now, double counted)
{
    double capacity = (double)now->capacity;
    return counted > capacity || now->distinct_estimate > capacity + sqrt(capacity);
}

static uint32_t reasons_of(const perhaps_statistics *now, const perhaps_plan_options *known, double counted)
{
    uint32_t reasons = 0;
    reasons |= now->growth == 0 && is_full(now, counted) ? PERHAPS_PLAN_FULL : 0;
    reasons |= known->fpr_observed_low > now->fpr_target ? PERHAPS_PLAN_OBSERVED : 0;
    reasons |= now->fpr_now > ABOVE_TARGET * now->fpr_target ? PERHAPS_PLAN_PREDICTED : 0;
    reasons |= (double)known->residue >= MUCH_RESIDUE * (double)now->capacity_now ? PERHAPS_PLAN_RESIDUE : 0;
    reasons |= now->layers > 1 ? PERHAPS_PLAN_LAYERS : 0;
    return reasons;
}

static double days_left(const perhaps_statistics *now, const perhaps_plan_options *known, double keys)
{
    double room = (double)now->capacity_now - keys;
    return known->keys_per_day > 0.0 ? fmax(0.0, room) / known->keys_per_day : (double)INFINITY;
}

/* ---------------------------------------------------------------- the next filter */

static uint64_t capacity_of(const perhaps_plan_options *known, uint64_t distinct)
{
    double later = (double)distinct + fmax(0.0, known->keys_per_day) * known->days;
    double capacity = ceil(later * RESERVE);
    return capacity < 0x1p63 ? (uint64_t)fmax(1.0, capacity) : UINT64_C(1) << 63;
}

perhaps_options perhaps__guard_like(const perhaps_filter *filter)
{
    perhaps_options options = {.size = sizeof options};
    (void)perhaps_options_of(filter, &options); // a filter and a structure of this release: nothing can fail
    options.capacity = 0;
    return options;
}

uint64_t perhaps__guard_within(const perhaps_options *options, uint64_t capacity)
{
    return options->max_capacity != 0 && options->max_capacity < capacity ? options->max_capacity : capacity;
}

static int size_of(const perhaps_options *like, uint64_t capacity, perhaps_sizing *sizing, perhaps_error *error)
{
    perhaps_options options = *like;
    options.capacity = capacity;
    options.hash_source = PERHAPS_HASH_DEFAULT; // no matter for the size, and one of them would want its key
    return perhaps_size_for(&options, sizing, error);
}

// The reserve is given up before the owner's limit is: without it the filter grows sooner, that is all.
static int size_next(const perhaps_options *like, uint64_t distinct, uint64_t *capacity, perhaps_sizing *sizing,
                     perhaps_error *error)
{
    *capacity = perhaps__guard_within(like, *capacity);
    int code = size_of(like, *capacity, sizing, error);
    if (code == 0 && like->max_bytes != 0 && sizing->bytes > like->max_bytes && distinct > 0 && distinct < *capacity) {
        *capacity = distinct;
        code = size_of(like, *capacity, sizing, error);
    }
    return code;
}

// (1 - e^(-kn/m))^k and its like fall steeply with n; between nothing and capacity the exponent of n is k for bits that are
// alone, and 1 for fingerprints.
static double rate_with(const perhaps_sizing *sizing, uint64_t distinct)
{
    double share = fmin(1.0, (double)distinct / (double)sizing->capacity);
    double k = (double)sizing->positions;
    if (sizing->kind == PERHAPS_KIND_CUCKOO || k < 1.0) {
        return sizing->fpr_expected * share;
    }
    double full = pow(sizing->fpr_expected, 1.0 / k); // the fill that gives this rate
    return pow(1.0 - pow(1.0 - full, share), k);
}

// The filter itself counts the removals that it had to refuse; a guard counts them too, with others.
static perhaps_plan_options with_residue(const perhaps_statistics *now, const perhaps_plan_options *given)
{
    perhaps_plan_options known = *given;
    known.residue = known.residue > now->ambiguous ? known.residue : now->ambiguous;
    return known;
}

static int make_plan(const perhaps_statistics *now, const perhaps_options *like, const perhaps_plan_options *known,
                     perhaps_plan *plan, perhaps_error *error)
{
    double estimate = fmin(now->distinct_estimate, 0x1p62);
    double held = fmax(estimate, 0.0);
    double own = fmax(0.0, held - (double)known->residue);
    perhaps_sizing sizing = {.size = sizeof sizing};
    bool counted = known->distinct != 0 && known->distinct != PERHAPS_PLAN_ESTIMATED;
    plan->distinct = counted ? known->distinct : (uint64_t)own;
    plan->capacity = capacity_of(known, plan->distinct);
    int code = size_next(like, plan->distinct, &plan->capacity, &sizing, error);
    if (code < 0) {
        return code;
    }
    double in_all = (double)plan->distinct + (double)known->residue;
    double keys = fmax(held, in_all);
    plan->reasons = reasons_of(now, known, counted ? in_all : 0.0);
    plan->reasons |= now->growth == 0 && sizing.bytes < now->bytes / SPARSE ? PERHAPS_PLAN_SPARSE : 0;
    plan->days_left = plan->reasons != 0 ? 0.0 : days_left(now, known, keys);
    plan->fpr = now->fpr_target;
    plan->fpr_expected = sizing.fpr_expected;
    plan->fpr_after_rebuild = rate_with(&sizing, plan->distinct);
    plan->bytes = sizing.bytes;
    plan->bytes_while_rebuilding = sizing.bytes + now->bytes;
    return 0;
}

static int plan_for(const perhaps_statistics *now, const perhaps_options *like, const perhaps_plan_options *known,
                    perhaps_plan *plan, perhaps_error *error)
{
    perhaps_plan full = {.size = plan->size};
    if (plan->size < sizeof plan->size || plan->size > sizeof full) {
        return fail_option(error, "size", "the plan does not have a size that this release knows");
    }
    const perhaps_plan_options all = with_residue(now, known);
    int code = make_plan(now, like, &all, &full, error);
    if (code == 0) {
        memcpy(plan, &full, full.size);
    }
    return code;
}

int perhaps_plan_rebuild(const perhaps_filter *filter, const perhaps_plan_options *options, perhaps_plan *plan,
                         perhaps_error *error)
{
    if (filter == NULL || plan == NULL) {
        struct perhaps__guard_failure failure = {.code = PERHAPS_E_ARGUMENT,
                                                 .subject = filter == NULL ? "filter" : "plan"};
        return perhaps__guard_fail(error, failure, "the argument is NULL, and the call needs it");
    }
    perhaps_plan_options known;
    perhaps_statistics now = {.size = sizeof now};
    int code = take_options(options, &known, error);
    if (code == 0) {
        code = perhaps_stats(filter, &now);
    }
    const perhaps_options like = perhaps__guard_like(filter);
    return code < 0 ? code : plan_for(&now, &like, &known, plan, error);
}

/* ---------------------------------------------------------------- the guard's */

// What the guard has seen of the filter in use: how fast keys became more, and how many are gone.
static void fill_in(const struct perhaps__guard_generation *generation, perhaps_plan_options *known)
{
    double seconds = (double)(perhaps__guard_now() - generation->began) * 1e-9;
    double gained = (double)perhaps__guard_read(&generation->added) - (double)perhaps__guard_read(&generation->removed);
    if (known->keys_per_day == 0.0 && seconds >= SEEN_SECONDS) {
        known->keys_per_day = gained / seconds * SECONDS_A_DAY;
    }
    if (known->residue == 0) {
        known->residue = perhaps__guard_read(&generation->residue);
    }
}

// May take long, and is the store's business: no lock is held.
static void count_store(struct perhaps_guard *guard, perhaps_plan_options *known)
{
    uint64_t count = 0;
    if (known->distinct == 0 && guard->store.count != NULL &&
        guard->store.count(guard->store.context, &count, NULL) == 0) {
        known->distinct = count;
    }
}

static int plan_of_guard(struct perhaps_guard *guard, perhaps_plan_options *known, perhaps_plan *plan,
                         perhaps_error *error)
{
    perhaps_guard_statistics seen = {.size = sizeof seen};
    perhaps_statistics now = {.size = sizeof now};
    perhaps_options like = {.size = 0};
    int code = perhaps_guard_stats(guard, &seen);
    count_store(guard, known);
    if (code == 0) {
        (void)pthread_mutex_lock(&guard->exchange);
        const struct perhaps__guard_generation *generation = guard->current;
        code = perhaps_stats(generation->asked, &now);
        like = perhaps__guard_like(generation->asked);
        fill_in(generation, known);
        (void)pthread_mutex_unlock(&guard->exchange);
    }
    if (known->fpr_observed_low == 0.0) {
        known->fpr_observed_low = seen.window_fpr_observed_low;
    }
    return code < 0 ? code : plan_for(&now, &like, known, plan, error);
}

int perhaps_guard_plan(const perhaps_guard *guard, const perhaps_plan_options *options, perhaps_plan *plan,
                       perhaps_error *error)
{
    if (guard == NULL || plan == NULL) {
        struct perhaps__guard_failure failure = {.code = PERHAPS_E_ARGUMENT,
                                                 .subject = guard == NULL ? "guard" : "plan"};
        return perhaps__guard_fail(error, failure, "the argument is NULL, and the call needs it");
    }
    perhaps_plan_options known;
    int code = take_options(options, &known, error);
    return code < 0 ? code : plan_of_guard(guard->self, &known, plan, error);
}
