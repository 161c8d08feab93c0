// SPDX-License-Identifier: MIT
// Making a guard, and its end.
#include <perhaps/guard.h>

#include <stdlib.h>
#include <string.h>

#include "durable.h"
#include "fail.h"
#include "follow.h"
#include "interval.h"
#include "state.h"

#define DEFAULT_CONFIDENCE 0.95
#define SMALLEST_CONFIDENCE 0.5
#define LARGEST_CONFIDENCE 0.999999
#define DEFAULT_WINDOW UINT64_C(300000)
#define DEFAULT_RESIDUE 0.1
#define MOST_OVERFLOW (UINT64_C(1) << 32)

#define ALL_FLAGS (PERHAPS_GUARD_OUTSIDE_WRITERS | PERHAPS_GUARD_NOT_READY | PERHAPS_GUARD_FOLLOWS)
#define ALL_TRIGGERS                                                                                                   \
    (PERHAPS_GUARD_ON_DEGRADED | PERHAPS_GUARD_ON_ALARM | PERHAPS_GUARD_ON_FILL | PERHAPS_GUARD_ON_RESIDUE)

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

/* ---------------------------------------------------------------- memory */

static void *default_allocate(void *context, size_t bytes, size_t alignment)
{
    (void)context;
    void *memory = NULL;
    return posix_memalign(&memory, alignment, bytes) == 0 ? memory : NULL;
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

/* ---------------------------------------------------------------- options */

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

static int check_store(const perhaps_store *store, perhaps_error *error)
{
    if (store->contains == NULL) {
        return fail_argument(error, "store",
                             "the store has no contains callback; give one, or "
                             "leave the store out and report what yours says");
    }
    if ((store->flags & ~(uint32_t)(PERHAPS_STORE_SNAPSHOT | PERHAPS_STORE_DISTINCT)) != 0 || store->reserved != 0) {
        return fail_option(error, "store", "the store has a flag that this release does not know; clear it");
    }
    return 0;
}

static int check_pointers(const perhaps_guard_options *options, perhaps_error *error)
{
    if ((options->filter == NULL) == (options->adopted == NULL)) {
        return fail_argument(error, "filter",
                             options->filter == NULL ? "a guard needs a filter to ask; give one in the options"
                                                     : "a filter is either borrowed or adopted; give one of the two");
    }
    const perhaps_allocator *allocator = options->allocator;
    if (allocator != NULL && (allocator->allocate == NULL || allocator->release == NULL)) {
        return fail_argument(error, "allocator",
                             "an allocator needs both allocate and release; "
                             "give both, or NULL for the C library's");
    }
    if (options->next != NULL && options->next->size != sizeof *options->next) {
        return fail_option(error, "next", "the options of the next filter do not have the size of perhaps_options");
    }
    return options->store != NULL ? check_store(options->store, error) : 0;
}

// Written so that a NaN fails.
static int check_confidence(double confidence, perhaps_error *error)
{
    if (!(confidence >= SMALLEST_CONFIDENCE && confidence <= LARGEST_CONFIDENCE)) {
        struct perhaps__guard_failure failure = {.code = PERHAPS_E_OPTION, .subject = "confidence"};
        return perhaps__guard_fail(error, failure,
                                   "a confidence of %g cannot be given; it lies between %g and %g "
                                   "(0 stands for %g)",
                                   confidence, SMALLEST_CONFIDENCE, LARGEST_CONFIDENCE, DEFAULT_CONFIDENCE);
    }
    return 0;
}

static int check_rebuilding(const perhaps_guard_options *options, perhaps_error *error)
{
    if ((options->flags & ~(uint32_t)ALL_FLAGS) != 0) {
        return fail_option(error, "flags", "a flag is set that this release does not know; clear it");
    }
    if ((options->triggers & ~(uint32_t)ALL_TRIGGERS) != 0) {
        return fail_option(error, "triggers", "a trigger is set that this release does not know; clear it");
    }
    if (options->triggers != 0 && (options->store == NULL || options->store->each_key == NULL)) {
        return fail_option(error, "triggers",
                           "nothing can be rebuilt from a store that cannot be listed; give one that can");
    }
    if (!(options->rebuild_fill > 0.0 && options->rebuild_residue > 0.0)) {
        return fail_option(error, options->rebuild_fill > 0.0 ? "rebuild_residue" : "rebuild_fill",
                           "this share of the capacity is not above 0; give one that is (0 stands for the default)");
    }
    if (options->overflow > MOST_OVERFLOW) {
        return fail_option(error, "overflow", "so many keys are not kept exactly; give at most 2^32");
    }
    return 0;
}

static int check_options(perhaps_guard_options *options, perhaps_error *error)
{
    int code = check_pointers(options, error);
    if (code < 0) {
        return code;
    }
    options->confidence = options->confidence == 0.0 ? DEFAULT_CONFIDENCE : options->confidence;
    options->rebuild_fill = options->rebuild_fill == 0.0 ? 1.0 : options->rebuild_fill;
    options->rebuild_residue = options->rebuild_residue == 0.0 ? DEFAULT_RESIDUE : options->rebuild_residue;
    options->overflow = options->overflow == 0 ? PERHAPS_GUARD_OVERFLOW : options->overflow;
    options->window_milliseconds = options->window_milliseconds == 0 ? DEFAULT_WINDOW : options->window_milliseconds;
    code = check_confidence(options->confidence, error);
    code = code < 0 ? code : check_rebuilding(options, error);
    return code < 0 ? code : perhaps__guard_follow_check(options, error);
}

/* ---------------------------------------------------------------- life */

static void init_locks(struct perhaps_guard *guard)
{
    // None of these can fail with default attributes.
    for (size_t i = 0; i < PERHAPS__GUARD_STRIPES; i++) {
        (void)pthread_mutex_init(&guard->stripes[i].lock, NULL);
    }
    (void)pthread_mutex_init(&guard->control.lock, NULL);
    (void)pthread_cond_init(&guard->control.ended, NULL);
    (void)pthread_mutex_init(&guard->window.lock, NULL);
    (void)pthread_mutex_init(&guard->exchange, NULL);
    (void)pthread_mutex_init(&guard->following.lock, NULL);
    (void)pthread_mutex_init(&guard->test.lock, NULL);
}

static void copy_options(struct perhaps_guard *guard, const perhaps_guard_options *known)
{
    guard->options = *known;
    guard->z = perhaps__guard_normal_quantile(known->confidence);
    if (known->store != NULL) {
        guard->store = *known->store;
    }
    perhaps__guard_follow_take(guard, known);
    if (known->next != NULL) {
        guard->has_next = true;
        guard->next = *known->next;
        if (guard->next.allocator != NULL) {
            guard->next_allocator = *guard->next.allocator;
            guard->next.allocator = &guard->next_allocator;
        }
    }
}

// The parts that can fail: memory only. The filter stays the caller's until all is done.
static bool make_parts(struct perhaps_guard *guard, const perhaps_guard_options *known)
{
    const perhaps_options hashing = {.size = sizeof hashing,
                                     .capacity = 1,
                                     .fpr = 0.5,
                                     .seed = UINT64_C(0x6775617264), // another one than a filter is likely to have
                                     .allocator = known->allocator};
    if (perhaps_create(&hashing, &guard->hasher, NULL) < 0) {
        return false;
    }
    const perhaps_filter *asked = known->adopted != NULL ? known->adopted : known->filter;
    guard->current = perhaps__guard_generation_create(guard, asked, known->adopted);
    return guard->current != NULL;
}

static void release_parts(struct perhaps_guard *guard)
{
    perhaps_allocator allocator = guard->allocator;
    perhaps__guard_generation_free(guard, guard->current);
    perhaps_free(guard->hasher);
    for (size_t i = 0; i < PERHAPS__GUARD_STRIPES; i++) {
        (void)pthread_mutex_destroy(&guard->stripes[i].lock);
    }
    (void)pthread_mutex_destroy(&guard->control.lock);
    (void)pthread_cond_destroy(&guard->control.ended);
    (void)pthread_mutex_destroy(&guard->window.lock);
    (void)pthread_mutex_destroy(&guard->exchange);
    (void)pthread_mutex_destroy(&guard->following.lock);
    (void)pthread_mutex_destroy(&guard->test.lock);
    allocator.release(allocator.context, guard, sizeof *guard, PERHAPS__GUARD_ALIGNMENT);
}

static void begin_account(struct perhaps_guard *guard)
{
    perhaps__guard_test_begin(&guard->test, guard->current->target, 0);
    guard->window.snapshots[0].when = perhaps__guard_now();
    if ((guard->options.flags & PERHAPS_GUARD_NOT_READY) != 0) {
        guard->not_ready = 1;
        guard->current->open = PERHAPS__GUARD_LACKS;
        guard->following.state = PERHAPS_GUARD_LOADING;
    }
}

static int make_guard(const perhaps_guard_options *known, perhaps_guard **guard, perhaps_error *error)
{
    perhaps_allocator allocator = {.allocate = default_allocate, .release = default_release};
    if (known->allocator != NULL) {
        allocator = *known->allocator;
    }
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_MEMORY, .subject = "guard"};
    perhaps_guard *made = allocator.allocate(allocator.context, sizeof *made, PERHAPS__GUARD_ALIGNMENT);
    if (made == NULL) {
        return perhaps__guard_fail(error, failure, "there is no memory for the %zu bytes of a guard", sizeof *made);
    }
    memset(made, 0, sizeof *made);
    made->self = made;
    made->allocator = allocator;
    perhaps__guard_slots_begin();
    copy_options(made, known);
    init_locks(made);
    if (!make_parts(made, known)) {
        release_parts(made);
        return perhaps__guard_fail(error, failure, "there is no memory for the parts of a guard");
    }
    int code = perhaps__guard_durable_begin(made, error);
    if (code < 0) {
        made->current->owned = false; // the filter is the caller's yet
        release_parts(made);
        return code;
    }
    begin_account(made);
    *guard = made;
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
    return code < 0 ? code : make_guard(&known, guard, error);
}

void perhaps_guard_free(perhaps_guard *guard)
{
    if (guard == NULL) {
        return;
    }
    perhaps_guard_rebuild_cancel(guard);
    (void)perhaps_guard_rebuild_wait(guard, NULL);
    if (guard->control.joinable) {
        (void)pthread_join(guard->control.thread, NULL);
    }
    release_parts(guard);
}

/* ---------------------------------------------------------------- saving */

// Under perhaps_guard.exchange.
static int save(const struct perhaps__guard_generation *generation, const char *path, perhaps_error *error)
{
    if ((__atomic_load_n(&generation->open, __ATOMIC_ACQUIRE) & PERHAPS__GUARD_LACKS) != 0 ||
        __atomic_load_n(&generation->overflow_count, __ATOMIC_ACQUIRE) != 0) {
        struct perhaps__guard_failure failure = {.code = PERHAPS_E_FULL, .subject = path};
        return perhaps__guard_fail(error, failure,
                                   "the filter lacks keys that the store has, because it refused them or was not made "
                                   "yet, and a file would lack them too; rebuild it first");
    }
    return perhaps_save(generation->asked, path, error);
}

int perhaps_guard_save(perhaps_guard *guard, const char *path, perhaps_error *error)
{
    if (guard == NULL || path == NULL) {
        return fail_argument(error, guard == NULL ? "guard" : "path", "the argument is NULL, and the call needs it");
    }
    perhaps__guard_follow_begin(guard);
    (void)pthread_mutex_lock(&guard->exchange);
    int code = perhaps__guard_follow_before_save(guard, error);
    code = code < 0 ? code : save(guard->current, path, error);
    perhaps__guard_follow_saved(guard, code);
    (void)pthread_mutex_unlock(&guard->exchange);
    perhaps__guard_follow_release(guard);
    return code;
}
