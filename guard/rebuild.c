// SPDX-License-Identifier: MIT
// Making a new filter from the store, and putting it into the place of the old one.
#include "rebuild.h"

#include "durable.h"
#include "fail.h"
#include "follow.h"

#define PROGRESS 4096
#define ATTEMPTS 4
#define CANCELLED 1
#define RETRY_NANOSECONDS UINT64_C(1000000000)
#define RETRY_LISTINGS 10

/* ---------------------------------------------------------------- all stripes */

void perhaps__guard_lock_all(struct perhaps_guard *guard)
{
    for (size_t i = 0; i < PERHAPS__GUARD_STRIPES; i++) {
        (void)pthread_mutex_lock(&guard->stripes[i].lock);
    }
}

void perhaps__guard_unlock_all(struct perhaps_guard *guard)
{
    for (size_t i = PERHAPS__GUARD_STRIPES; i > 0; i--) {
        (void)pthread_mutex_unlock(&guard->stripes[i - 1].lock);
    }
}

/* ---------------------------------------------------------------- what to make */

// Only the rebuilding thread exchanges the filter, so that it may look at the one in use without further ado.
static int check_hash(const struct perhaps_guard *guard, const perhaps_options *like, perhaps_error *error)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_KEY, .subject = "next"};
    if (!guard->has_next && like->hash_source == PERHAPS_HASH_SIPHASH) {
        return perhaps__guard_fail(error, failure,
                                   "the filter in use has a secret key, which the next one must have as well, and the "
                                   "guard cannot know it; give `next` with the key");
    }
    failure.code = PERHAPS_E_UNSUPPORTED;
    return guard->has_next || like->hash_source != PERHAPS_HASH_CALLER
               ? 0
               : perhaps__guard_fail(error, failure,
                                     "the filter in use takes hashes that a program supplies, and the store has keys; "
                                     "give `next` with another hash source");
}

static int options_of_next(struct perhaps_guard *guard, uint64_t capacity, perhaps_options *options,
                           perhaps_error *error)
{
    (void)pthread_mutex_lock(&guard->exchange); // a save may set the position
    perhaps_options like = perhaps__guard_like(guard->current->asked);
    (void)pthread_mutex_unlock(&guard->exchange);
    int code = check_hash(guard, &like, error);
    if (code < 0) {
        return code;
    }
    *options = guard->has_next ? guard->next : like;
    options->flags |= PERHAPS_SHARED;
    if (capacity == 0 && options->capacity == 0) {
        perhaps_plan plan = {.size = sizeof plan};
        code = perhaps_guard_plan(guard, NULL, &plan, error);
        if (code < 0) {
            return code;
        }
        capacity = plan.capacity;
    }
    if (capacity != 0) {
        options->capacity = perhaps__guard_within(options, capacity);
        options->bytes = options->fpr > 0.0 ? 0 : options->bytes;
    }
    return 0;
}

// What the user wrote into the filter goes on with the next one.
static int keep_metadata(const perhaps_filter *from, perhaps_filter *to)
{
    const void *metadata = NULL;
    size_t length = 0;
    (void)perhaps_metadata(from, &metadata, &length);
    return length > 0 ? perhaps_set_metadata(to, metadata, length) : 0;
}

static int make_next(struct perhaps_guard *guard, const perhaps_options *options,
                     struct perhaps__guard_rebuild *rebuild, perhaps_error *error)
{
    perhaps_filter *filter = NULL;
    int code = perhaps_create(options, &filter, error);
    if (code < 0) {
        return code;
    }
    bool kept = keep_metadata(guard->current->asked, filter) == 0;
    rebuild->next = kept ? perhaps__guard_generation_create(guard, filter, filter) : NULL;
    if (rebuild->next == NULL || !perhaps__guard_keyset_init(&rebuild->written, &guard->allocator, 64)) {
        if (rebuild->next == NULL) {
            perhaps_free(filter);
        }
        perhaps__guard_generation_free(guard, rebuild->next);
        struct perhaps__guard_failure failure = {.code = PERHAPS_E_MEMORY, .subject = "rebuild"};
        return perhaps__guard_fail(error, failure, "there is no memory to rebuild the filter; the old one stays");
    }
    (void)pthread_mutex_init(&rebuild->lock, NULL);
    // Where the listing is of no instant, no change that follows it says exactly what its filter has.
    rebuild->next->removes = rebuild->next->removes && (rebuild->snapshot || !guard->following.outside);
    return 0;
}

/* ---------------------------------------------------------------- the listing */

struct listing {
    struct perhaps_guard *guard;
    struct perhaps__guard_rebuild *rebuild;
    int result; // why the visits ended: CANCELLED, PERHAPS_E_FULL, or 0
};

static bool is_cancelled(struct perhaps_guard *guard, const struct perhaps__guard_rebuild *rebuild)
{
    if (__atomic_load_n(&guard->cancel, __ATOMIC_RELAXED) != 0) {
        return true;
    }
    if (guard->options.progress == NULL || rebuild->visited % PROGRESS != 0) {
        return false;
    }
    perhaps_guard_progress progress = {.size = sizeof progress,
                                       .keys = rebuild->visited,
                                       .expected = rebuild->expected,
                                       .capacity = rebuild->capacity};
    return guard->options.progress(guard->options.context, &progress) != 0;
}

static int visit(void *visitor, const void *key, size_t length)
{
    struct listing *listing = visitor;
    listing->result = perhaps__guard_rebuild_visit(listing->guard, listing->rebuild, key, length);
    if (listing->result == 0 && is_cancelled(listing->guard, listing->rebuild)) {
        listing->result = CANCELLED;
    }
    return listing->result != 0;
}

static int fail_full(const struct perhaps__guard_rebuild *rebuild, perhaps_error *error)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_FULL, .subject = "rebuild"};
    return perhaps__guard_fail(error, failure, "a filter for %llu keys could not take all keys of the store; %s",
                               (unsigned long long)rebuild->capacity,
                               rebuild->limited ? "raise the limits to its growth, max_capacity and max_bytes"
                                                : "rebuild with a larger capacity, or with a filter that grows");
}

static int list_store(struct perhaps_guard *guard, struct perhaps__guard_rebuild *rebuild, perhaps_error *error)
{
    struct listing listing = {.guard = guard, .rebuild = rebuild};
    perhaps_error reply = {.size = sizeof reply};
    int code = perhaps__guard_follow_list(guard, &rebuild->position, visit, &listing, &reply);
    if (listing.result == PERHAPS_E_FULL) {
        return fail_full(rebuild, error);
    }
    if (listing.result != 0) {
        return listing.result;
    }
    struct perhaps__guard_failure failure = {.code = code, .subject = "store"};
    if (code > 0) { // it ended early, and no visit asked for that
        failure.code = PERHAPS_E_ARGUMENT;
        return perhaps__guard_fail(error, failure,
                                   "the each_key callback of the store returned %d although no visit stopped it; "
                                   "correct the callback",
                                   code);
    }
    if (code < 0 && reply.code == 0) {
        return perhaps__guard_fail(error, failure, "the listing failed without a reason (%s)", perhaps_message(code));
    }
    if (code < 0) {
        reply.code = code;
        perhaps__guard_hand_on(error, &reply);
    }
    return code;
}

/* ---------------------------------------------------------------- the exchange */

static void begin(struct perhaps_guard *guard, struct perhaps__guard_rebuild *rebuild)
{
    perhaps__guard_lock_all(guard); // no key is half written
    guard->rebuild = rebuild;
    perhaps__guard_unlock_all(guard);
}

// What it holds now it came with: from here on, what is added and removed is what the owner does.
static void count_from_here(struct perhaps__guard_generation *next)
{
    next->first += next->added - next->removed;
    next->added = 0;
    next->removed = 0;
    next->began = perhaps__guard_now();
}

void perhaps__guard_exchange(struct perhaps_guard *guard, struct perhaps__guard_generation *next)
{
    count_from_here(next);
    struct perhaps__guard_generation *old = __atomic_exchange_n(&guard->current, next, __ATOMIC_SEQ_CST);
    perhaps__guard_wait_for_readers(guard->slots);
    perhaps__guard_test_begin(&guard->test, next->target, perhaps__guard_sum(guard->slots).absent_sample);
    __atomic_store_n(&guard->not_ready, 0, __ATOMIC_RELAXED);
    perhaps__guard_generation_free(guard, old);
}

// What is beside a filter with a journal would not outlive a crash.
static bool lacks_keys(const struct perhaps_guard *guard, const struct perhaps__guard_generation *next)
{
    return (__atomic_load_n(&next->open, __ATOMIC_ACQUIRE) & PERHAPS__GUARD_LACKS) != 0 ||
           (guard->current->durable && __atomic_load_n(&next->overflow_count, __ATOMIC_ACQUIRE) != 0);
}

// Under all stripes, as nobody may write to the old filter alone before the new one is in its place. The other lock first:
// a save may hold it for long, and writers need not wait for that.
static int end(struct perhaps_guard *guard, struct perhaps__guard_rebuild *rebuild, int code, perhaps_error *error)
{
    (void)pthread_mutex_lock(&guard->exchange);
    perhaps__guard_lock_all(guard);
    if (code == 0 && rebuild->out_of_memory) {
        struct perhaps__guard_failure failure = {.code = PERHAPS_E_MEMORY, .subject = "rebuild"};
        code = perhaps__guard_fail(error, failure,
                                   "there is no memory for the keys that were written meanwhile; the old filter stays");
    }
    if (code == 0) {
        perhaps__guard_rebuild_settle(guard, rebuild);
        code = lacks_keys(guard, rebuild->next) ? fail_full(rebuild, error) : 0;
    }
    if (code == 0 && guard->current->durable) {
        code = perhaps__guard_durable_hand_over(guard, rebuild, error);
    }
    guard->rebuild = NULL;
    if (code == 0) {
        perhaps__guard_exchange(guard, rebuild->next);
        perhaps__guard_more(&guard->totals.rebuilds);
    }
    perhaps__guard_unlock_all(guard);
    (void)pthread_mutex_unlock(&guard->exchange);
    return code;
}

// Once, with one size.
static int attempt(struct perhaps_guard *guard, const perhaps_options *options, uint64_t expected, perhaps_error *error)
{
    struct perhaps__guard_rebuild rebuild = {
        .snapshot = (guard->store.flags & PERHAPS_STORE_SNAPSHOT) != 0,
        .expected = expected,
        .capacity = options->capacity,
        .limited = options->max_capacity != 0 || options->max_bytes != 0,
    };
    int code = make_next(guard, options, &rebuild, error);
    if (code < 0) {
        return code;
    }
    begin(guard, &rebuild);
    code = list_store(guard, &rebuild, error);
    perhaps__guard_follow_begin(guard);
    code = code == 0 ? perhaps__guard_follow_listed(guard, &rebuild, error) : code;
    code = end(guard, &rebuild, code, error);
    perhaps__guard_follow_end(guard, &rebuild, code);
    if (code != 0) {
        perhaps__guard_generation_free(guard, rebuild.next);
    }
    perhaps__guard_keyset_destroy(&rebuild.written);
    (void)pthread_mutex_destroy(&rebuild.lock);
    return code;
}

static int rebuild_filter(struct perhaps_guard *guard, uint64_t capacity, perhaps_error *error)
{
    perhaps_options options = {.size = 0};
    int code = options_of_next(guard, capacity, &options, error);
    if (code < 0) {
        return code;
    }
    uint64_t expected = options.capacity;
    if (guard->store.count != NULL) {
        (void)guard->store.count(guard->store.context, &expected, NULL); // for progress only
    }
    for (int i = 0; i < ATTEMPTS; i++) {
        code = attempt(guard, &options, expected, error);
        if (code != PERHAPS_E_FULL || options.capacity > UINT64_MAX / 2) {
            break;
        }
        uint64_t larger = perhaps__guard_within(&options, 2 * options.capacity);
        if (larger == options.capacity) {
            break; // as many as it may ever hold, or 0: what its memory holds
        }
        options.capacity = larger;
    }
    return code;
}

/* ---------------------------------------------------------------- one at a time */

int perhaps__guard_claim(struct perhaps_guard *guard, perhaps_error *error)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_ARGUMENT, .subject = "guard"};
    if (guard == NULL) {
        return perhaps__guard_fail(error, failure, "there is no guard; make one with perhaps_guard_create()");
    }
    if (guard->store.each_key == NULL) {
        failure = (struct perhaps__guard_failure){.code = PERHAPS_E_UNSUPPORTED, .subject = "store"};
        return perhaps__guard_fail(error, failure, "the store cannot be listed; give the guard one with each_key");
    }
    (void)pthread_mutex_lock(&guard->control.lock);
    bool running = guard->control.running;
    if (!running) {
        guard->control.running = true;
        __atomic_store_n(&guard->busy, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&guard->cancel, 0, __ATOMIC_RELAXED);
    }
    (void)pthread_mutex_unlock(&guard->control.lock);
    failure.subject = "rebuild";
    return running ? perhaps__guard_fail(error, failure, "a rebuild is running already; wait for it, or cancel it") : 0;
}

void perhaps__guard_unclaim(struct perhaps_guard *guard)
{
    (void)pthread_mutex_lock(&guard->control.lock);
    guard->control.running = false;
    __atomic_store_n(&guard->busy, 0, __ATOMIC_RELEASE);
    (void)pthread_cond_broadcast(&guard->control.ended);
    (void)pthread_mutex_unlock(&guard->control.lock);
}

// Until a trigger may begin the next one. A filter that is behind at once may be chance, as somebody wrote during the
// listing; when the next one is, too, the listings would go on without end, for nothing.
static uint64_t pause(const struct perhaps_guard *guard, int result, uint64_t took)
{
    if (result == 0 && guard->control.behind < 2) {
        return 0;
    }
    uint64_t listings = result == 0 ? RETRY_LISTINGS * took : 0;
    return listings > RETRY_NANOSECONDS ? listings : RETRY_NANOSECONDS;
}

static void give_back(struct perhaps_guard *guard, int result, uint64_t began, const perhaps_error *error)
{
    uint64_t now = perhaps__guard_now();
    struct perhaps__guard_control *control = &guard->control;
    (void)pthread_mutex_lock(&control->lock);
    control->running = false;
    control->result = result;
    control->error = *error;
    __atomic_store_n(&control->retry_at, now + pause(guard, result, now - began), __ATOMIC_RELAXED);
    __atomic_store_n(&guard->busy, 0, __ATOMIC_RELEASE);
    (void)pthread_cond_broadcast(&control->ended);
    (void)pthread_mutex_unlock(&control->lock);
}

static int run(struct perhaps_guard *guard, uint64_t capacity, perhaps_error *error)
{
    perhaps_error told = {.size = sizeof told};
    uint64_t began = perhaps__guard_now();
    int result = rebuild_filter(guard, capacity, &told);
    if (result == 0) {
        told = (perhaps_error){.size = sizeof told}; // of an attempt that was too small
    } else if (result < 0) {
        perhaps__guard_more(&guard->totals.rebuilds_failed);
        perhaps__guard_hand_on(error, &told);
    } else {
        perhaps__guard_more(&guard->totals.rebuilds_cancelled);
    }
    if (guard->options.rebuilt != NULL) {
        guard->options.rebuilt(guard->options.context, result, &told);
    }
    give_back(guard, result, began, &told);
    return result;
}

int perhaps_guard_rebuild(perhaps_guard *guard, uint64_t capacity, perhaps_error *error)
{
    int code = perhaps__guard_claim(guard, error);
    return code < 0 ? code : run(guard, capacity, error);
}

static void *run_in_thread(void *context)
{
    struct perhaps_guard *guard = context;
    (void)run(guard, guard->control.capacity, NULL);
    return NULL;
}

// The thread of the last one has ended, or is about to: it has given back what it claimed.
static void join_last(struct perhaps_guard *guard)
{
    if (guard->control.joinable) {
        (void)pthread_join(guard->control.thread, NULL);
        guard->control.joinable = false;
    }
}

int perhaps_guard_rebuild_start(perhaps_guard *guard, uint64_t capacity, perhaps_error *error)
{
    int code = perhaps__guard_claim(guard, error);
    if (code < 0) {
        return code;
    }
    join_last(guard);
    guard->control.capacity = capacity;
    int failed = pthread_create(&guard->control.thread, NULL, run_in_thread, guard);
    if (failed != 0) {
        struct perhaps__guard_failure failure = {
            .code = PERHAPS_E_MEMORY, .system_error = failed, .subject = "rebuild"};
        perhaps_error told = {.size = sizeof told};
        code = perhaps__guard_fail(&told, failure, "the system gives no further thread; rebuild in one of your own");
        perhaps__guard_hand_on(error, &told);
        perhaps__guard_more(&guard->totals.rebuilds_failed);
        give_back(guard, code, perhaps__guard_now(), &told);
        return code;
    }
    guard->control.joinable = true;
    return 0;
}

int perhaps_guard_rebuild_wait(perhaps_guard *guard, perhaps_error *error)
{
    if (guard == NULL) {
        struct perhaps__guard_failure failure = {.code = PERHAPS_E_ARGUMENT, .subject = "guard"};
        return perhaps__guard_fail(error, failure, "there is no guard; make one with perhaps_guard_create()");
    }
    struct perhaps__guard_control *control = &guard->control;
    (void)pthread_mutex_lock(&control->lock);
    while (control->running) {
        (void)pthread_cond_wait(&control->ended, &control->lock);
    }
    int result = control->result;
    if (result < 0) {
        perhaps__guard_hand_on(error, &control->error);
    }
    (void)pthread_mutex_unlock(&control->lock);
    return result;
}

void perhaps_guard_rebuild_cancel(perhaps_guard *guard)
{
    if (guard != NULL) {
        __atomic_store_n(&guard->cancel, 1, __ATOMIC_RELAXED);
    }
}

/* ---------------------------------------------------------------- triggers */

static uint64_t keys_in(const struct perhaps__guard_generation *generation)
{
    uint64_t came = generation->first + perhaps__guard_read(&generation->added);
    uint64_t went = perhaps__guard_read(&generation->removed);
    return came > went ? came - went : 0;
}

// The least capacity for the next filter, or 0: no trigger says anything.
static uint64_t capacity_wanted(struct perhaps_guard *guard)
{
    uint32_t triggers = guard->options.triggers;
    struct perhaps__guard_visit visit = perhaps__guard_begin(guard);
    const struct perhaps__guard_generation *generation = visit.generation;
    uint64_t keys = keys_in(generation);
    bool full = (triggers & PERHAPS_GUARD_ON_FILL) != 0 && (double)keys > generation->fill_at;
    bool lacks = (__atomic_load_n(&generation->open, __ATOMIC_ACQUIRE) & PERHAPS__GUARD_LACKS) != 0 ||
                 __atomic_load_n(&generation->refuses, __ATOMIC_RELAXED) != 0;
    bool other = ((triggers & PERHAPS_GUARD_ON_DEGRADED) != 0 && lacks) ||
                 ((triggers & PERHAPS_GUARD_ON_RESIDUE) != 0 &&
                  (double)perhaps__guard_read(&generation->residue) > generation->residue_at);
    perhaps__guard_end(&visit);
    other = other ||
            ((triggers & PERHAPS_GUARD_ON_ALARM) != 0 && __atomic_load_n(&guard->test.raised, __ATOMIC_RELAXED) != 0);
    return full ? 2 * keys : other;
}

void perhaps__guard_trigger(struct perhaps_guard *guard)
{
    if (guard->options.triggers == 0 || __atomic_load_n(&guard->busy, __ATOMIC_RELAXED) != 0) {
        return;
    }
    if (perhaps__guard_now() < __atomic_load_n(&guard->control.retry_at, __ATOMIC_RELAXED)) {
        return;
    }
    uint64_t wanted = capacity_wanted(guard);
    if (wanted != 0) {
        (void)perhaps_guard_rebuild_start(guard, wanted > 1 ? wanted : 0, NULL); // what fails is counted
    }
}
