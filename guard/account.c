// SPDX-License-Identifier: MIT
// What follows from a guard's counts.
#include <math.h>
#include <string.h>

#include "interval.h"
#include "state.h"

// How far the predicted rate may exceed the target before the filter counts as saturated. At capacity the
// two are equal but for scatter; at twice the target a filter for 1 % holds 16 % more than it was made for.
#define SATURATION 2.0

/* ---------------------------------------------------------------- the window */

static uint64_t step_of(const struct perhaps_guard *guard)
{
    uint64_t milliseconds = guard->options.window_milliseconds;
    uint64_t step = milliseconds < UINT64_MAX / 1000000 ? milliseconds * 1000000 : UINT64_MAX;
    return step / (PERHAPS__GUARD_SNAPSHOTS - 1) + 1;
}

// Or 0: of what two threads read at different moments, the later may be the less.
static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

// For any thread. Another one, whose clock was read a little later, may have kept one since.
static bool is_due(const struct perhaps_guard *guard, uint64_t now)
{
    const struct perhaps__guard_window *window = &guard->window;
    uint32_t newest = __atomic_load_n(&window->newest, __ATOMIC_RELAXED);
    return now >= perhaps__guard_read(&window->snapshots[newest].when) + step_of(guard);
}

static void keep_snapshot(struct perhaps_guard *guard, uint64_t now)
{
    struct perhaps__guard_window *window = &guard->window;
    if (is_due(guard, now)) {
        uint32_t next = (window->newest + 1) % PERHAPS__GUARD_SNAPSHOTS;
        window->snapshots[next].totals = perhaps__guard_sum(guard->slots);
        __atomic_store_n(&window->snapshots[next].when, now, __ATOMIC_RELAXED);
        __atomic_store_n(&window->newest, next, __ATOMIC_RELAXED);
    }
}

void perhaps__guard_window_tick(struct perhaps_guard *guard, uint64_t now)
{
    if (is_due(guard, now) && pthread_mutex_trylock(&guard->window.lock) == 0) {
        keep_snapshot(guard, now);
        (void)pthread_mutex_unlock(&guard->window.lock);
    }
}

// The newest snapshot that is as old as the window, or else the oldest. Where snapshots are missing since nobody asked,
// nothing was counted either.
static uint64_t begin_of_window(struct perhaps_guard *guard, uint64_t now, struct perhaps__guard_counts *totals)
{
    struct perhaps__guard_window *window = &guard->window;
    uint64_t length = step_of(guard) * (PERHAPS__GUARD_SNAPSHOTS - 1);
    (void)pthread_mutex_lock(&window->lock);
    keep_snapshot(guard, now);
    uint32_t chosen = window->newest;
    for (uint32_t i = 0; i < PERHAPS__GUARD_SNAPSHOTS; i++) {
        uint32_t older = (window->newest + PERHAPS__GUARD_SNAPSHOTS - i) % PERHAPS__GUARD_SNAPSHOTS;
        if (window->snapshots[older].when == 0) {
            break;
        }
        chosen = older;
        if (less(now, window->snapshots[older].when) >= length) {
            break;
        }
    }
    *totals = window->snapshots[chosen].totals;
    uint64_t when = window->snapshots[chosen].when;
    (void)pthread_mutex_unlock(&window->lock);
    return when;
}

/* ---------------------------------------------------------------- rates */

// Absent keys that the filter let through: not those that were let through because there was no filter to ask.
static double passed(const struct perhaps__guard_counts *counts)
{
    return counts->refuted > counts->unfiltered ? (double)(counts->refuted - counts->unfiltered) : 0.0;
}

// The absent keys behind the observed rate. Only resolved questions can count as false positives, so when
// some are unresolved, the keys that the filter turned away must be thinned out just as much: otherwise
// a caller who reports one answer in ten would see a tenth of the real rate.
static double absent_keys(const struct perhaps__guard_counts *counts)
{
    double resolved = (double)(counts->confirmed + counts->refuted);
    double share = counts->perhaps > 0 ? fmin(1.0, resolved / (double)counts->perhaps) : 1.0;
    return passed(counts) + (double)counts->surely_absent * share;
}

struct rate {
    double observed;
    struct perhaps__guard_interval interval;
};

static struct rate rate_of(const struct perhaps__guard_counts *counts, double z)
{
    double absent = absent_keys(counts);
    double refuted = passed(counts);
    return (struct rate){.observed = absent > 0.0 ? refuted / absent : (double)NAN,
                         .interval = perhaps__guard_wilson(refuted, absent, z)};
}

/* ---------------------------------------------------------------- the account */

static void fill_totals(const struct perhaps_guard *guard, perhaps_guard_statistics *full)
{
    struct perhaps__guard_counts counts = perhaps__guard_sum(guard->slots);
    struct rate rate = rate_of(&counts, guard->z);
    uint64_t resolved = counts.confirmed + counts.refuted;
    full->queries = counts.surely_absent + counts.perhaps;
    full->surely_absent = counts.surely_absent;
    full->perhaps = counts.perhaps;
    full->confirmed = counts.confirmed;
    full->refuted = counts.refuted;
    full->unfiltered = counts.unfiltered;
    full->unresolved = counts.perhaps > resolved ? counts.perhaps - resolved : 0;
    full->fpr_observed = rate.observed;
    full->fpr_observed_low = rate.interval.low;
    full->fpr_observed_high = rate.interval.high;
    full->confidence = guard->options.confidence;
    full->alarm_refuted = perhaps__guard_read(&guard->test.refuted);
    full->alarm_absent =
        full->alarm_refuted + less(counts.absent_sample, perhaps__guard_read(&guard->test.absent_first));
}

static void fill_window(struct perhaps_guard *guard, perhaps_guard_statistics *full)
{
    struct perhaps__guard_counts then = {0};
    uint64_t now = perhaps__guard_now();
    uint64_t when = begin_of_window(guard, now, &then);
    struct perhaps__guard_counts counts = {
        .surely_absent = less(full->surely_absent, then.surely_absent),
        .perhaps = less(full->perhaps, then.perhaps),
        .confirmed = less(full->confirmed, then.confirmed),
        .refuted = less(full->refuted, then.refuted),
        .unfiltered = less(full->unfiltered, then.unfiltered),
    };
    struct rate rate = rate_of(&counts, guard->z);
    full->window_seconds = (double)less(now, when) * 1e-9;
    full->window_queries = counts.surely_absent + counts.perhaps;
    full->window_surely_absent = counts.surely_absent;
    full->window_perhaps = counts.perhaps;
    full->window_confirmed = counts.confirmed;
    full->window_refuted = counts.refuted;
    full->window_fpr_observed = rate.observed;
    full->window_fpr_observed_low = rate.interval.low;
    full->window_fpr_observed_high = rate.interval.high;
}

static uint32_t judge(const perhaps_guard_statistics *statistics, bool open)
{
    if (open) {
        return PERHAPS_GUARD_DEGRADED;
    }
    if (statistics->fpr_predicted > SATURATION * statistics->fpr_target) {
        return PERHAPS_GUARD_SATURATED;
    }
    if (statistics->fpr_observed_low > statistics->fpr_target) {
        return PERHAPS_GUARD_ABOVE_TARGET;
    }
    return PERHAPS_GUARD_HEALTHY;
}

// While the filter is looked at, it is not exchanged.
static int fill_filter(struct perhaps_guard *guard, perhaps_guard_statistics *full)
{
    perhaps_statistics filter = {.size = sizeof filter};
    (void)pthread_mutex_lock(&guard->exchange);
    const struct perhaps__guard_generation *generation = __atomic_load_n(&guard->current, __ATOMIC_ACQUIRE);
    int code = perhaps_stats(generation->asked, &filter);
    full->fpr_predicted = filter.fpr_now;
    full->fpr_target = filter.fpr_target;
    full->kind = filter.kind;
    full->layers = filter.layers;
    full->capacity = filter.capacity;
    full->fill = filter.fill;
    full->distinct_estimate = filter.distinct_estimate;
    full->bytes = filter.bytes;
    full->overflow = __atomic_load_n(&generation->overflow_count, __ATOMIC_ACQUIRE);
    full->residue = perhaps__guard_read(&generation->residue);
    full->verdict = judge(full, __atomic_load_n(&generation->open, __ATOMIC_ACQUIRE) != 0);
    (void)pthread_mutex_unlock(&guard->exchange);
    return code;
}

static void fill_life(struct perhaps_guard *guard, perhaps_guard_statistics *full)
{
    const struct perhaps__guard_totals *totals = &guard->totals;
    full->not_ready = __atomic_load_n(&guard->not_ready, __ATOMIC_RELAXED);
    full->overflow_limit = guard->options.overflow;
    full->adds = perhaps__guard_read(&totals->adds);
    full->removals = perhaps__guard_read(&totals->removals);
    full->refused = perhaps__guard_read(&totals->refused);
    full->rebuilds = perhaps__guard_read(&totals->rebuilds);
    full->rebuilds_failed = perhaps__guard_read(&totals->rebuilds_failed);
    full->rebuilds_cancelled = perhaps__guard_read(&totals->rebuilds_cancelled);
    full->alarms = perhaps__guard_read(&totals->alarms);
    full->state = __atomic_load_n(&guard->following.state, __ATOMIC_RELAXED);
    full->catch_ups = perhaps__guard_read(&totals->catch_ups);
    full->catch_ups_failed = perhaps__guard_read(&totals->catch_ups_failed);
    full->changes = perhaps__guard_read(&totals->changes);
    uint64_t caught_up_at = perhaps__guard_read(&guard->following.caught_up_at);
    bool known = caught_up_at != 0 && guard->following.outside;
    full->staleness_seconds = known ? (double)(perhaps__guard_now() - caught_up_at) * 1e-9 : (double)NAN;
    full->rebuilding = __atomic_load_n(&guard->busy, __ATOMIC_ACQUIRE);
    full->ask_latency = perhaps__guard_latency(&guard->ask_latency);
    full->store_latency = perhaps__guard_latency(&guard->store_latency);
    (void)pthread_mutex_lock(&guard->test.lock);
    full->alarmed = __atomic_load_n(&guard->test.raised, __ATOMIC_RELAXED);
    double level = fmin(1.0, guard->test.level / guard->test.threshold);
    full->alarm_level = full->alarmed ? 1.0 : level;
    (void)pthread_mutex_unlock(&guard->test.lock);
}

int perhaps_guard_stats(const perhaps_guard *guard, perhaps_guard_statistics *statistics)
{
    if (guard == NULL || statistics == NULL) {
        return PERHAPS_E_ARGUMENT;
    }
    perhaps_guard_statistics full = {.size = statistics->size};
    if (full.size < sizeof full.size || full.size > sizeof full) {
        return PERHAPS_E_OPTION;
    }
    fill_totals(guard, &full);
    fill_window(guard->self, &full);
    fill_life(guard->self, &full);
    int code = fill_filter(guard->self, &full);
    if (code == 0) {
        memcpy(statistics, &full, full.size);
    }
    return code;
}

const char *perhaps_guard_verdict_name(uint32_t verdict)
{
    static const char *const names[] = {
        [PERHAPS_GUARD_HEALTHY] = "healthy",
        [PERHAPS_GUARD_ABOVE_TARGET] = "above target",
        [PERHAPS_GUARD_SATURATED] = "saturated",
        [PERHAPS_GUARD_DEGRADED] = "degraded",
    };
    return verdict < sizeof names / sizeof names[0] ? names[verdict] : NULL;
}
