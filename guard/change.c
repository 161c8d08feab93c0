// SPDX-License-Identifier: MIT
// Writing through the guard: the filter and the store kept in step, one key at a time.
#include <perhaps/guard.h>

#include "durable.h"
#include "fail.h"
#include "rebuild.h"

// What a call writes.
struct change {
    const void *key;
    size_t length;
    perhaps_guard_write *write;
    void *context;
};

/* ---------------------------------------------------------------- checks */

static int check_key(const perhaps_guard *guard, const struct change *change, perhaps_error *error)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_ARGUMENT, .subject = "guard"};
    if (guard == NULL) {
        return perhaps__guard_fail(error, failure, "there is no guard; make one with perhaps_guard_create()");
    }
    if ((guard->options.flags & PERHAPS_GUARD_FOLLOWS) != 0) {
        failure.code = PERHAPS_E_UNSUPPORTED;
        return perhaps__guard_fail(error, failure,
                                   "the guard only follows its store, by the flag that it was made with; write to the "
                                   "store, or make the guard without PERHAPS_GUARD_FOLLOWS");
    }
    failure.subject = "key";
    if (change->key == NULL && change->length > 0) {
        return perhaps__guard_fail(error, failure, "the key is NULL but has a length; give its bytes");
    }
    return 0;
}

// Whether the filter takes keys that are bytes. Under the key's stripe.
static int check_filter(const struct perhaps__guard_generation *generation, const struct change *change,
                        perhaps_error *error)
{
    uint64_t hash = 0;
    int code = perhaps_hash(generation->asked, change->key, change->length, &hash);
    if (code < 0) {
        struct perhaps__guard_failure failure = {.code = code, .subject = "filter"};
        return perhaps__guard_fail(error, failure, "the filter cannot hold this key: %s", perhaps_message(code));
    }
    return 0;
}

static int check_store(const perhaps_guard *guard, const struct change *change, perhaps_error *error)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_UNSUPPORTED, .subject = "store"};
    if (guard->store.contains == NULL) {
        return perhaps__guard_fail(error, failure,
                                   "only a store that can be asked says whether rows with the key are left; "
                                   "make the guard with one");
    }
    failure = (struct perhaps__guard_failure){.code = PERHAPS_E_ARGUMENT, .subject = "write"};
    if (change->write == NULL) {
        return perhaps__guard_fail(error, failure,
                                   "the guard removes nothing from the filter before it is gone from the store; "
                                   "give the callback that deletes the row");
    }
    return 0;
}

/* ---------------------------------------------------------------- one key at a time */

static pthread_mutex_t *lock_key(struct perhaps_guard *guard, const struct change *change)
{
    uint64_t hash = perhaps__guard_hash(guard, change->key, change->length);
    pthread_mutex_t *lock = &guard->stripes[hash % PERHAPS__GUARD_STRIPES].lock;
    (void)pthread_mutex_lock(lock);
    return lock;
}

static int write_store(const struct change *change, perhaps_error *error)
{
    perhaps_error reply = {.size = sizeof reply};
    int code = change->write(change->context, change->key, change->length, &reply);
    if (code < 0 && reply.code == 0) {
        struct perhaps__guard_failure failure = {.code = code, .subject = "store"};
        return perhaps__guard_fail(error, failure, "the write failed without a reason (%s)", perhaps_message(code));
    }
    if (code < 0) {
        reply.code = code;
        perhaps__guard_hand_on(error, &reply);
    }
    return code < 0 ? code : 0;
}

/* ---------------------------------------------------------------- adding */

// What the filter in use answers. Under a stripe it is not exchanged.
static bool is_absent(struct perhaps_guard *guard, const struct perhaps__guard_generation *generation,
                      const struct change *change)
{
    return __atomic_load_n(&generation->open, __ATOMIC_ACQUIRE) == 0 &&
           perhaps_might_contain(generation->asked, change->key, change->length) == 0 &&
           (__atomic_load_n(&generation->overflow_count, __ATOMIC_ACQUIRE) == 0 ||
            !perhaps__guard_overflows(guard, generation, change->key, change->length));
}

// Whether the key surely has its copy, because the store has it and everything in the store came through the guard. Only
// asked where a second copy would matter.
static bool is_in_store(struct perhaps_guard *guard, const struct perhaps__guard_generation *generation,
                        const struct change *change, bool absent)
{
    bool matters = generation->removes || (guard->rebuild != NULL && guard->rebuild->next->removes);
    if (!matters || absent || change->write == NULL || guard->store.contains == NULL) {
        return false;
    }
    return perhaps__guard_ask_store(guard, change->key, change->length, NULL) == 1;
}

// A durable filter takes the key, or it is not written. One that the store has already is put aside all the same: it
// must not be turned away, though only until a crash, and the listing of a rebuild may be over: the next filter gets it
// as well.
static int put_key(struct perhaps_guard *guard, struct perhaps__guard_generation *generation,
                   const struct change *change)
{
    int code = perhaps__guard_put(guard, generation, change->key, change->length);
    if (code < 0 && change->write == NULL) {
        perhaps__guard_put_aside(guard, generation, change->key, change->length);
        if (guard->rebuild != NULL) {
            perhaps__guard_rebuild_add(guard, guard->rebuild, change->key, change->length, false);
        }
    }
    return code;
}

// While the guard is open, the filter in use may lack keys that the store has: those get another copy. Returns whether
// it put one in, or the code with which a durable filter refused it.
static int add_copies(struct perhaps_guard *guard, struct perhaps__guard_generation *generation,
                      const struct change *change, bool absent)
{
    bool in_store = is_in_store(guard, generation, change, absent);
    bool open = __atomic_load_n(&generation->open, __ATOMIC_ACQUIRE) != 0;
    bool put = !in_store || !generation->removes || open;
    int refused = put ? put_key(guard, generation, change) : 0;
    if (refused < 0) {
        return refused;
    }
    if (put && !absent && generation->removes && (in_store || change->write == NULL)) {
        perhaps__guard_more(&generation->residue); // perhaps the second copy
    }
    if (guard->rebuild != NULL) {
        perhaps__guard_rebuild_add(guard, guard->rebuild, change->key, change->length, in_store);
    }
    return put;
}

static int add(struct perhaps_guard *guard, const struct change *change, perhaps_error *error)
{
    struct perhaps__guard_generation *generation = guard->current;
    int code = check_filter(generation, change, error);
    if (code < 0) {
        return code;
    }
    bool absent = is_absent(guard, generation, change);
    int put = add_copies(guard, generation, change, absent);
    if (put < 0) {
        return perhaps__guard_fail_durable(generation, put, error);
    }
    code = change->write != NULL ? write_store(change, error) : 0;
    if (code < 0 && put == 1) {
        perhaps__guard_more(&generation->residue); // whether the store has it, nobody knows
    }
    return code < 0 ? code : absent;
}

int perhaps_guard_add(perhaps_guard *guard, const void *key, size_t length, perhaps_guard_write *write, void *context,
                      perhaps_error *error)
{
    const struct change change = {.key = key, .length = length, .write = write, .context = context};
    int code = check_key(guard, &change, error);
    if (code < 0) {
        return code;
    }
    pthread_mutex_t *lock = lock_key(guard, &change);
    code = add(guard, &change, error);
    (void)pthread_mutex_unlock(lock);
    if (code >= 0) {
        perhaps__guard_more(&guard->totals.adds);
    }
    perhaps__guard_trigger(guard);
    return code;
}

/* ---------------------------------------------------------------- removing */

// The row is deleted: 1 when the filter's copy went with it.
static int take_copies(struct perhaps_guard *guard, struct perhaps__guard_generation *generation,
                       const struct change *change)
{
    int left = perhaps__guard_ask_store(guard, change->key, change->length, NULL);
    if (left == 1) {
        return 0;
    }
    if (left < 0) { // nobody knows whether one is left: the copies stay
        perhaps__guard_more(&generation->residue);
        return 0;
    }
    if (guard->rebuild != NULL) {
        perhaps__guard_rebuild_removed(guard, guard->rebuild, change->key, change->length);
    }
    return perhaps__guard_take(guard, generation, change->key, change->length) ? 1 : 0;
}

// The store is asked first: a key that it does not have has no copy, and what looks like one is another's.
static int take(struct perhaps_guard *guard, const struct change *change, perhaps_error *error)
{
    struct perhaps__guard_generation *generation = guard->current;
    int code = check_filter(generation, change, error);
    int before = code < 0 ? code : perhaps__guard_ask_store(guard, change->key, change->length, error);
    if (before < 0) {
        return before;
    }
    if (before == 1 && guard->rebuild != NULL) {
        perhaps__guard_rebuild_before_remove(guard, guard->rebuild, change->key, change->length);
    }
    code = write_store(change, error);
    if (code < 0) {
        return code;
    }
    return before == 1 ? take_copies(guard, generation, change) : 0;
}

int perhaps_guard_remove(perhaps_guard *guard, const void *key, size_t length, perhaps_guard_write *write,
                         void *context, perhaps_error *error)
{
    const struct change change = {.key = key, .length = length, .write = write, .context = context};
    int code = check_key(guard, &change, error);
    if (code == 0) {
        code = check_store(guard, &change, error);
    }
    if (code < 0) {
        return code;
    }
    pthread_mutex_t *lock = lock_key(guard, &change);
    code = take(guard, &change, error);
    (void)pthread_mutex_unlock(lock);
    if (code >= 0) {
        perhaps__guard_more(&guard->totals.removals);
    }
    perhaps__guard_trigger(guard);
    return code;
}
