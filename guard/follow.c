// SPDX-License-Identifier: MIT
// Keeping a filter in step with what others write to its store.
//
// Copies are taken out again only where it is known exactly which there are: in a filter that has one copy of each key that
// the store had at the position. A listing that is a snapshot makes it so, and each change keeps it so, because it tells
// both whether the store had the key before and whether it has it after. Once anything went wrong half-way, nobody knows any
// more, and from then on copies stay.
#include "follow.h"

#include <string.h>

#include "durable.h"
#include "fail.h"

#define CANNOT_TELL 1

static bool follows(const struct perhaps_guard *guard)
{
    return guard->following.changes.each_change != NULL;
}

/* ---------------------------------------------------------------- options */

static int refuse(perhaps_error *error, int code, const char *subject, const char *text)
{
    struct perhaps__guard_failure failure = {.code = code, .subject = subject};
    return perhaps__guard_fail(error, failure, "%s", text);
}

static int check_changes(const perhaps_guard_options *options, perhaps_error *error)
{
    const perhaps_store_changes *changes = options->changes;
    if (changes->size != sizeof *changes) {
        return refuse(error, PERHAPS_E_OPTION, "changes",
                      "the changes do not have the size that this release gives them; set size to "
                      "sizeof(perhaps_store_changes)");
    }
    if (changes->position == NULL || changes->list == NULL || changes->each_change == NULL ||
        changes->identity == NULL) {
        return refuse(error, PERHAPS_E_ARGUMENT, "changes",
                      "a store is followed by its callbacks position, list and each_change, and by its identity; give "
                      "all of them");
    }
    if (strlen(changes->identity) > PERHAPS__GUARD_IDENTITY) {
        return refuse(error, PERHAPS_E_OPTION, "changes", "the identity of the store is longer than 1024 bytes");
    }
    if (options->adopted == NULL || options->store == NULL || options->store->each_key == NULL) {
        return refuse(error, PERHAPS_E_OPTION, "changes",
                      "only a filter that the guard may change follows a store, and only a store that can be listed "
                      "makes it anew; give both `adopted` and each_key");
    }
    return 0;
}

int perhaps__guard_follow_check(const perhaps_guard_options *options, perhaps_error *error)
{
    const uint32_t both = PERHAPS_GUARD_FOLLOWS | PERHAPS_GUARD_OUTSIDE_WRITERS;
    if ((options->flags & both) == both) {
        return refuse(error, PERHAPS_E_OPTION, "flags",
                      "either all writes go past the guard (FOLLOWS) or some do (OUTSIDE_WRITERS); clear one of them");
    }
    if ((options->flags & PERHAPS_GUARD_FOLLOWS) != 0 && options->changes == NULL) {
        return refuse(error, PERHAPS_E_OPTION, "changes",
                      "a guard that follows its store needs its changes; give them");
    }
    return options->changes != NULL ? check_changes(options, error) : 0;
}

void perhaps__guard_follow_take(struct perhaps_guard *guard, const perhaps_guard_options *options)
{
    struct perhaps__guard_following *following = &guard->following;
    if (options->changes != NULL) {
        following->changes = *options->changes;
        memcpy(following->identity, options->changes->identity, strlen(options->changes->identity)); // zeroes follow
        following->outside = (options->flags & (PERHAPS_GUARD_FOLLOWS | PERHAPS_GUARD_OUTSIDE_WRITERS)) != 0;
    }
}

void perhaps__guard_follow_begin(struct perhaps_guard *guard)
{
    (void)pthread_mutex_lock(&guard->following.lock);
}

void perhaps__guard_follow_release(struct perhaps_guard *guard)
{
    (void)pthread_mutex_unlock(&guard->following.lock);
}

/* ---------------------------------------------------------------- changes */

struct applying {
    struct perhaps_guard *guard;
    struct perhaps__guard_generation *generation;
    uint64_t count;
    struct perhaps__guard_batch batch; // of a durable filter
};

static int apply_durably(struct applying *applying, const void *key, size_t length, bool after)
{
    return after ? perhaps__guard_batch_add(&applying->batch, key, length)
                 : perhaps__guard_batch_remove(&applying->batch, key, length);
}

static int apply_change(void *visitor, const void *key, size_t length, int before, int after)
{
    struct applying *applying = visitor;
    struct perhaps__guard_generation *generation = applying->generation;
    applying->count++;
    bool comes = after != 0 && (before == 0 || !generation->removes);
    bool goes = after == 0 && before != 0;
    if (generation->durable && (comes || (goes && generation->removes))) {
        return apply_durably(applying, key, length, comes);
    }
    if (comes) {
        (void)perhaps__guard_put(applying->guard, generation, key, length);
    } else if (goes && generation->removes) {
        (void)perhaps__guard_take(applying->guard, generation, key, length);
    } else if (goes) {
        perhaps__guard_more(&generation->residue);
    }
    return 0;
}

// What the store answered, described.
static int hand_on(int code, const perhaps_error *reply, perhaps_error *error)
{
    struct perhaps__guard_failure failure = {.code = code, .subject = "store"};
    if (code > CANNOT_TELL) {
        failure.code = PERHAPS_E_ARGUMENT;
        return perhaps__guard_fail(error, failure, "each_change returned %d, which means nothing; correct the callback",
                                   code);
    }
    if (reply->text[0] == '\0') {
        return perhaps__guard_fail(error, failure, "%s",
                                   code < 0 ? perhaps_message(code) : "the store cannot tell what changed");
    }
    perhaps_error told = *reply;
    told.code = code;
    perhaps__guard_hand_on(error, &told);
    return code;
}

// Brings a filter from one position to the store's present one, in *position. 0, CANNOT_TELL, or an error. Under
// perhaps_guard.exchange where the filter is durable.
static int apply(struct perhaps_guard *guard, struct perhaps__guard_generation *generation,
                 perhaps_store_position *position, perhaps_error *error)
{
    const perhaps_store_changes *changes = &guard->following.changes;
    struct applying applying = {
        .guard = guard, .generation = generation, .batch = {.guard = guard, .generation = generation}};
    perhaps_store_position reached = {.length = 0};
    perhaps_error reply = {.size = sizeof reply};
    int code = changes->each_change(changes->context, position, &reached, apply_change, &applying, &reply);
    code = code == 0 ? perhaps__guard_batch_flush(&applying.batch) : code;
    if (applying.batch.code < 0) {
        code = perhaps__guard_fail_durable(generation, applying.batch.code, &reply);
    }
    if (code == 0 && reached.length > PERHAPS_STORE_POSITION) {
        code = PERHAPS_E_ARGUMENT;
    }
    if (code != 0) {
        // Some may be in the filter and would come again: taken out twice, they would take others with them.
        if (generation->removes && applying.count > 0) {
            generation->removes = false;
        }
        return hand_on(code, &reply, error);
    }
    *position = reached;
    (void)__atomic_fetch_add(&guard->totals.changes, applying.count, __ATOMIC_RELAXED);
    return 0;
}

/* ---------------------------------------------------------------- what the guard is doing */

static void become(struct perhaps_guard *guard, uint32_t state)
{
    __atomic_store_n(&guard->following.state, state, __ATOMIC_RELAXED);
}

static void caught_up(struct perhaps_guard *guard, const perhaps_store_position *position, uint64_t began)
{
    guard->following.position = *position;
    guard->following.has_position = true;
    __atomic_store_n(&guard->following.caught_up_at, began, __ATOMIC_RELAXED);
    become(guard, PERHAPS_GUARD_READY);
}

// The filter may lack keys: until the store answers again, or for ever.
static void fall_behind(struct perhaps_guard *guard, int code)
{
    uint32_t why = code < 0 ? PERHAPS__GUARD_BEHIND : PERHAPS__GUARD_LACKS;
    (void)__atomic_fetch_or(&guard->current->open, why, __ATOMIC_RELEASE);
    if (__atomic_load_n(&guard->not_ready, __ATOMIC_RELAXED) == 0) {
        become(guard, PERHAPS_GUARD_CATCHING_UP);
    }
    guard->following.has_position = guard->following.has_position && code < 0;
    perhaps__guard_more(&guard->totals.catch_ups_failed);
}

static int check_outside(const perhaps_guard *guard, perhaps_error *error)
{
    if (guard == NULL) {
        return refuse(error, PERHAPS_E_ARGUMENT, "guard", "there is no guard; make one with perhaps_guard_create()");
    }
    if (!follows(guard)) {
        return refuse(error, PERHAPS_E_UNSUPPORTED, "changes",
                      "the guard's store does not tell what changed; make the guard with `changes`, or rebuild");
    }
    return 0;
}

// What a position costs that cannot be kept is that the changes up to it come again.
static int apply_and_keep(struct perhaps_guard *guard, struct perhaps__guard_generation *generation,
                          perhaps_store_position *position, perhaps_error *error)
{
    if (!generation->durable) {
        return apply(guard, generation, position, error);
    }
    (void)pthread_mutex_lock(&guard->exchange);
    int code = apply(guard, generation, position, error);
    if (code == 0) {
        code = perhaps__guard_durable_keep(guard, generation, position, error);
        if (code != 0 && generation->removes) { // where it is false already, writers read it at this moment
            generation->removes = false;
        }
    }
    (void)pthread_mutex_unlock(&guard->exchange);
    return code;
}

static int catch_up(struct perhaps_guard *guard, perhaps_error *error)
{
    uint64_t began = perhaps__guard_now();
    perhaps_store_position position = guard->following.position;
    int code = guard->following.has_position
                   ? apply_and_keep(guard, guard->current, &position, error)
                   : refuse(error, CANNOT_TELL, "store", "it is not known where in its store the filter is");
    if (code != 0) {
        fall_behind(guard, code);
        return code;
    }
    caught_up(guard, &position, began);
    (void)__atomic_fetch_and(&guard->current->open, ~PERHAPS__GUARD_BEHIND, __ATOMIC_RELEASE);
    perhaps__guard_more(&guard->totals.catch_ups);
    return 0;
}

int perhaps_guard_catch_up(perhaps_guard *guard, perhaps_error *error)
{
    int code = check_outside(guard, error);
    if (code == 0 && !guard->following.outside) {
        code = refuse(error, PERHAPS_E_UNSUPPORTED, "guard",
                      "all writes go through the guard, by the flags that it was made with; there is nothing to catch "
                      "up with");
    }
    if (code < 0) {
        return code;
    }
    perhaps__guard_follow_begin(guard);
    code = catch_up(guard, error);
    perhaps__guard_follow_release(guard);
    perhaps__guard_trigger(guard);
    return code;
}

/* ---------------------------------------------------------------- rebuilds */

int perhaps__guard_follow_list(struct perhaps_guard *guard, perhaps_store_position *position,
                               int (*visit)(void *visitor, const void *key, size_t length), void *visitor,
                               perhaps_error *error)
{
    const perhaps_store_changes *changes = &guard->following.changes;
    if (!guard->following.outside) {
        return guard->store.each_key(guard->store.context, visit, visitor, error);
    }
    return changes->list(changes->context, position, visit, visitor, error);
}

int perhaps__guard_follow_listed(struct perhaps_guard *guard, struct perhaps__guard_rebuild *rebuild,
                                 perhaps_error *error)
{
    if (!guard->following.outside) {
        return 0;
    }
    rebuild->began = perhaps__guard_now();
    int code = apply(guard, rebuild->next, &rebuild->position, error);
    if (code == CANNOT_TELL) { // something changed meanwhile: a newer filter than the old one all the same
        rebuild->behind = true;
        rebuild->next->open |= PERHAPS__GUARD_BEHIND;
        return 0;
    }
    return code;
}

void perhaps__guard_follow_end(struct perhaps_guard *guard, const struct perhaps__guard_rebuild *rebuild, int code)
{
    if (code == 0) {
        guard->control.behind = rebuild->behind ? guard->control.behind + 1 : 0;
    }
    if (code == 0 && rebuild->behind) {
        guard->following.has_position = false;
        become(guard, PERHAPS_GUARD_CATCHING_UP);
    } else if (code == 0 && guard->following.outside) {
        caught_up(guard, &rebuild->position, rebuild->began);
    } else if (code == 0) {
        become(guard, PERHAPS_GUARD_READY);
    }
    perhaps__guard_follow_release(guard);
}

/* ---------------------------------------------------------------- saving */

static int set_position(struct perhaps_guard *guard, perhaps_error *error)
{
    struct perhaps__guard_following *following = &guard->following;
    const struct perhaps__guard_generation *generation = guard->current;
    int code = 0;
    if (!following->outside) {
        perhaps__guard_lock_all(guard); // nothing that the guard writes is between the store and the filter
        code = following->changes.position(following->changes.context, &following->position, error);
        following->has_position = code == 0;
    }
    if (code < 0) {
        return code;
    }
    if (following->has_position && generation->durable) {
        return perhaps__guard_durable_keep(guard, guard->current, &following->position, error);
    }
    struct perhaps__guard_record record = {.exact = generation->removes, .position = following->position};
    code = following->has_position ? perhaps__guard_record_write(generation->filter, following->identity, &record)
                                   : perhaps_set_position(generation->filter, NULL, 0);
    return code < 0 ? refuse(error, code, "position", "the filter does not take its position in the store") : 0;
}

int perhaps__guard_follow_before_save(struct perhaps_guard *guard, perhaps_error *error)
{
    return follows(guard) ? set_position(guard, error) : 0;
}

void perhaps__guard_follow_saved(struct perhaps_guard *guard, int code)
{
    struct perhaps__guard_following *following = &guard->following;
    if (follows(guard) && !following->outside) {
        perhaps__guard_unlock_all(guard);
    }
    if (follows(guard) && code == 0) {
        following->has_saved = following->has_position;
        following->saved = following->position;
    }
}

// A rebuild has its position since it was claimed, and its store must be able to tell what changed since then. What was
// saved before that is older.
static bool is_claimed(struct perhaps_guard *guard)
{
    (void)pthread_mutex_lock(&guard->control.lock);
    bool running = guard->control.running;
    (void)pthread_mutex_unlock(&guard->control.lock);
    return running;
}

int perhaps_guard_forget(perhaps_guard *guard, perhaps_error *error)
{
    if (guard == NULL) {
        return check_outside(guard, error);
    }
    struct perhaps__guard_following *following = &guard->following;
    int code = 0;
    perhaps__guard_follow_begin(guard);
    if (following->has_saved && following->changes.forget != NULL && !is_claimed(guard)) {
        code = following->changes.forget(following->changes.context, &following->saved, error);
    }
    perhaps__guard_follow_release(guard);
    return code;
}

/* ---------------------------------------------------------------- a filter from a file */

static int fail_file(perhaps_error *error, const char *path, const char *why)
{
    struct perhaps__guard_failure failure = {.code = CANNOT_TELL, .subject = path};
    return perhaps__guard_fail(error, failure, "the filter cannot be used: %s", why);
}

static bool same_rate(double a, double b)
{
    return a > 0.999999 * b && a < 1.000001 * b;
}

// What the options of the next filter leave open is as it is.
static const char *differs_from_next(const perhaps_options *next, const perhaps_statistics *is)
{
    uint32_t kind = next->kind != 0 ? next->kind : (uint32_t)PERHAPS_KIND_BLOOM;
    uint32_t source = next->key != NULL ? (uint32_t)PERHAPS_HASH_SIPHASH : (uint32_t)PERHAPS_HASH_XXH3;
    if (is->kind != kind) {
        return "it is of another kind than the one that is wanted";
    }
    if (is->hash_source != source || is->seed != next->seed) {
        return "it hashes otherwise than the one that is wanted";
    }
    if (next->fpr > 0.0 && !same_rate(is->fpr_target, next->fpr)) {
        return "its false-positive rate is not the one that is wanted";
    }
    if (next->policy != 0 && is->policy != next->policy) {
        return "its policy is not the one that is wanted";
    }
    return NULL;
}

static const char *differs(struct perhaps_guard *guard, const perhaps_filter *filter)
{
    perhaps_statistics is = {.size = sizeof is};
    perhaps_statistics now = {.size = sizeof now};
    (void)perhaps_stats(filter, &is);
    if (is.hash_source == PERHAPS_HASH_CALLER) {
        return "it takes hashes, and no keys";
    }
    if (guard->has_next) {
        return differs_from_next(&guard->next, &is);
    }
    (void)perhaps_stats(guard->current->asked, &now);
    bool same = is.kind == now.kind && is.hash_source == now.hash_source && is.seed == now.seed &&
                same_rate(is.fpr_target, now.fpr_target) && is.policy == now.policy;
    return same ? NULL : "its kind, rate, policy or hash are not those of the one in use";
}

static int open_file(struct perhaps_guard *guard, const char *path, const perhaps_load_options *given,
                     perhaps_filter **filter, struct perhaps__guard_record *record, perhaps_error *error)
{
    perhaps_load_options load = {.size = sizeof load};
    if (given != NULL) {
        memcpy(&load, given, given->size < sizeof load ? given->size : sizeof load);
        load.size = sizeof load;
    }
    load.flags &= ~(uint32_t)PERHAPS_OPEN_KEYLESS;
    load.flags |= PERHAPS_OPEN_COPY | PERHAPS_OPEN_SHARED;
    int code = perhaps_open(path, &load, filter, error);
    if (code < 0) {
        return code;
    }
    const char *why = differs(guard, *filter);
    if (why == NULL) {
        why = perhaps__guard_record_read(*filter, guard->following.identity, record);
    }
    return why != NULL ? fail_file(error, path, why) : 0;
}

// What the file of a durable filter says.
static void take_saved(struct perhaps_guard *guard, const struct perhaps__guard_record *record)
{
    guard->following.has_saved = true;
    guard->following.saved = record->position;
    guard->following.saved_exact = record->exact;
}

// Nobody writes meanwhile: what was written through the guard before has its row, and comes as a change.
static int bring_in(struct perhaps_guard *guard, struct perhaps__guard_generation *next,
                    const struct perhaps__guard_record *record, perhaps_error *error)
{
    perhaps_store_position position = record->position;
    uint64_t began = perhaps__guard_now();
    (void)pthread_mutex_lock(&guard->exchange);
    perhaps__guard_lock_all(guard);
    if (next->durable) {
        take_saved(guard, record);
    }
    int code = apply(guard, next, &position, error);
    code = code == 0 ? perhaps__guard_durable_keep(guard, next, &position, error) : code;
    if (code == 0) {
        guard->current->owned = guard->current->owned && guard->current->filter != next->filter;
        perhaps__guard_exchange(guard, next);
        caught_up(guard, &position, began);
    }
    if (code == 0 && !next->durable) {
        take_saved(guard, record);
    }
    if (code != 0 && next->filter == guard->current->filter) {
        guard->current->removes = false; // some may be in the filter they share, and would come again
    }
    perhaps__guard_unlock_all(guard);
    (void)pthread_mutex_unlock(&guard->exchange);
    return code;
}

static int reload(struct perhaps_guard *guard, const char *path, const perhaps_load_options *load, perhaps_error *error)
{
    perhaps_filter *filter = NULL;
    struct perhaps__guard_record record = {.exact = false};
    int code = open_file(guard, path, load, &filter, &record, error);
    struct perhaps__guard_generation *next = NULL;
    if (code == 0) {
        next = perhaps__guard_generation_create(guard, filter, filter);
        code = next != NULL ? 0 : refuse(error, PERHAPS_E_MEMORY, path, "there is no memory for another filter");
    }
    if (next == NULL) {
        perhaps_free(filter);
        return code;
    }
    next->removes = next->removes && record.exact;
    code = bring_in(guard, next, &record, error);
    if (code != 0) {
        perhaps__guard_generation_free(guard, next);
    }
    return code;
}

static int refuse_durable(struct perhaps_guard *guard, const char *path, perhaps_error *error)
{
    if (!guard->current->durable) {
        return 0;
    }
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_UNSUPPORTED, .subject = path};
    return perhaps__guard_fail(error, failure,
                               "the filter in use has a journal, and no file takes its place; go on from its own "
                               "position with perhaps_guard_resume(), or rebuild");
}

int perhaps_guard_reload(perhaps_guard *guard, const char *path, const perhaps_load_options *load, perhaps_error *error)
{
    int code = check_outside(guard, error);
    if (code == 0 && (path == NULL || (load != NULL && load->size < sizeof load->size))) {
        code = refuse(error, PERHAPS_E_ARGUMENT, "path", "there is no path, or options without a size; give both");
    }
    code = code < 0 ? code : perhaps__guard_claim(guard, error);
    if (code < 0) {
        return code;
    }
    perhaps__guard_follow_begin(guard);
    code = refuse_durable(guard, path, error);
    code = code < 0 ? code : reload(guard, path, load, error);
    perhaps__guard_more(code == 0 ? &guard->totals.catch_ups : &guard->totals.catch_ups_failed);
    perhaps__guard_follow_release(guard);
    perhaps__guard_unclaim(guard);
    perhaps__guard_trigger(guard);
    return code;
}

/* ---------------------------------------------------------------- a filter with a journal */

static const char *cannot_resume(struct perhaps_guard *guard, struct perhaps__guard_record *record)
{
    const struct perhaps__guard_generation *current = guard->current;
    if (__atomic_load_n(&current->overflow_count, __ATOMIC_ACQUIRE) != 0) {
        return "it lacks keys that the store has";
    }
    const char *why = differs(guard, current->filter);
    return why != NULL ? why : perhaps__guard_record_read(current->filter, guard->following.identity, record);
}

// The same filter, in a generation that begins anew.
static int resume(struct perhaps_guard *guard, perhaps_error *error)
{
    struct perhaps__guard_generation *current = guard->current;
    struct perhaps__guard_record record = {.exact = false};
    if (!current->durable) {
        return refuse(error, PERHAPS_E_UNSUPPORTED, "filter",
                      "only a filter with a journal says at any time where in its store it is; reload its file");
    }
    const char *why = cannot_resume(guard, &record);
    if (why != NULL) {
        return fail_file(error, "filter", why);
    }
    struct perhaps__guard_generation *next = perhaps__guard_generation_create(guard, current->filter, current->filter);
    if (next == NULL) {
        return refuse(error, PERHAPS_E_MEMORY, "filter", "there is no memory to go on with it");
    }
    next->removes = next->removes && record.exact && guard->following.outside;
    int code = bring_in(guard, next, &record, error);
    if (code != 0) {
        next->owned = false;
        perhaps__guard_generation_free(guard, next);
    }
    return code;
}

int perhaps_guard_resume(perhaps_guard *guard, perhaps_error *error)
{
    int code = check_outside(guard, error);
    code = code < 0 ? code : perhaps__guard_claim(guard, error);
    if (code < 0) {
        return code;
    }
    perhaps__guard_follow_begin(guard);
    code = resume(guard, error);
    perhaps__guard_more(code == 0 ? &guard->totals.catch_ups : &guard->totals.catch_ups_failed);
    perhaps__guard_follow_release(guard);
    perhaps__guard_unclaim(guard);
    perhaps__guard_trigger(guard);
    return code;
}

const char *perhaps_guard_state_name(uint32_t state)
{
    static const char *const names[] = {
        [PERHAPS_GUARD_READY] = "ready",
        [PERHAPS_GUARD_LOADING] = "loading",
        [PERHAPS_GUARD_CATCHING_UP] = "catching up",
    };
    return state < sizeof names / sizeof names[0] ? names[state] : NULL;
}
