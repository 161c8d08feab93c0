// SPDX-License-Identifier: MIT
// The reading path: questions, and what the store said.
#include <perhaps/guard.h>

#include <math.h>

#include "fail.h"
#include "state.h"

// One question in so many is timed.
#define TIMED 256

// Keys of a batch between entering and leaving: an exchange of the filter waits no longer than these take.
#define BLOCK 1024

// -fstack-protector-strong takes the place of a hash for a danger, and costs each question a nanosecond.
#ifdef __has_attribute
#if __has_attribute(no_stack_protector)
#define UNGUARDED_STACK __attribute__((no_stack_protector))
#endif
#endif
#ifndef UNGUARDED_STACK
#define UNGUARDED_STACK
#endif

// gcc would keep the address of each member of the slot in a register of its own, and the key on the stack instead.
#ifdef __GNUC__
#define IN_ONE_REGISTER(pointer) __asm__("" : "+r"(pointer))
#else
#define IN_ONE_REGISTER(pointer) (void)(pointer)
#endif

uint64_t perhaps__guard_hash(const struct perhaps_guard *guard, const void *key, size_t length)
{
    uint64_t hash = 0;
    (void)perhaps_hash(guard->hasher, key, length, &hash);
    return hash;
}

/* ---------------------------------------------------------------- questions */

// What is outside the filter: a guard that answers nothing else than "perhaps", or keys that the filter refused.
static int ask_beside(const struct perhaps_guard *guard, const struct perhaps__guard_generation *generation,
                      const void *key, size_t length)
{
    if (__atomic_load_n(&generation->open, __ATOMIC_ACQUIRE) != 0) {
        return 1;
    }
    return __atomic_load_n(&generation->overflow_count, __ATOMIC_ACQUIRE) != 0 &&
           perhaps__guard_overflows(guard, generation, key, length);
}

static inline int ask(const struct perhaps_guard *guard, const struct perhaps__guard_generation *generation,
                      const void *key, size_t length, uint64_t *hash)
{
    int code = perhaps_hash(generation->asked, key, length, hash);
    if (__builtin_expect(code < 0, 0)) {
        return code;
    }
    int answer = perhaps_ask_hash(generation->asked, *hash);
    return answer != 0 ? 1 : ask_beside(guard, generation, key, length);
}

// The line of the table that tells keys apart was often written by another processor, and to wait for it would cost several
// questions. So it is sent for, and looked at when the next key of the sample comes.
static __attribute__((noinline)) void count_sample(struct perhaps_guard *guard, struct perhaps__guard_slot *slot,
                                                   bool own, uint64_t hash)
{
    struct perhaps__guard_seen *seen = &guard->test.turned_away;
    uint64_t before = perhaps__guard_put_in(&slot->sampled, hash + 1, own);
    perhaps__guard_see_soon(seen, hash);
    if (before != 0 && before != hash + 1 && perhaps__guard_see(seen, before - 1)) {
        perhaps__guard_count(&slot->counts.absent_sample, 1, own);
    }
}

static inline void count_answer(struct perhaps_guard *guard, struct perhaps__guard_slot *slot, bool own, int answer,
                                uint64_t hash)
{
    if (answer > 0) {
        perhaps__guard_count(&slot->counts.perhaps, 1, own);
    } else if (answer == 0) {
        perhaps__guard_count(&slot->counts.surely_absent, 1, own);
        if (__builtin_expect(perhaps__guard_in_sample(hash), 0)) {
            count_sample(guard, slot, own, hash);
        }
    }
}

// The look-up alone is timed, with the cost of looking at the clock. The window is looked after on the way.
static int ask_timed(struct perhaps_guard *guard, const struct perhaps__guard_generation *generation, const void *key,
                     size_t length, uint64_t *hash)
{
    uint64_t start = perhaps__guard_now();
    int answer = ask(guard, generation, key, length, hash);
    uint64_t end = perhaps__guard_now();
    perhaps__guard_took(&guard->ask_latency, end - start);
    perhaps__guard_window_tick(guard, end);
    return answer;
}

// One in so many of a slot's questions.
static inline bool is_timed(const struct perhaps__guard_slot *slot)
{
    uint64_t asked = perhaps__guard_read(&slot->counts.surely_absent) + perhaps__guard_read(&slot->counts.perhaps);
    return asked % TIMED == TIMED - 1;
}

// A thread without a slot of its own, or a question that is timed.
static __attribute__((noinline)) int ask_slowly(struct perhaps_guard *guard, const void *key, size_t length)
{
    struct perhaps__guard_visit visit = perhaps__guard_begin(guard);
    uint64_t hash = 0;
    int answer = is_timed(visit.slot) ? ask_timed(guard, visit.generation, key, length, &hash)
                                      : ask(guard, visit.generation, key, length, &hash);
    count_answer(guard, visit.slot, visit.own, answer, hash);
    perhaps__guard_end(&visit);
    return answer;
}

// The common way, with nothing on it that can be elsewhere; no array is on its stack that could be overrun, either.
UNGUARDED_STACK int perhaps_guard_ask(perhaps_guard *guard, const void *key, size_t length)
{
    uint32_t number = perhaps__guard_thread - 1; // wraps where the thread has none yet
    if (__builtin_expect(guard == NULL, 0)) {
        return PERHAPS_E_ARGUMENT;
    }
    struct perhaps__guard_slot *slot = &guard->slots[number < PERHAPS__GUARD_OWN_SLOTS ? number : 0];
    IN_ONE_REGISTER(slot);
    if (__builtin_expect(number >= PERHAPS__GUARD_OWN_SLOTS || is_timed(slot), 0)) {
        return ask_slowly(guard, key, length);
    }
    uint64_t hash = 0;
    perhaps__guard_enter(slot, true);
    const struct perhaps__guard_generation *generation = __atomic_load_n(&guard->current, __ATOMIC_SEQ_CST);
    int answer = ask(guard, generation, key, length, &hash);
    count_answer(guard, slot, true, answer, hash);
    perhaps__guard_leave(slot, true);
    return answer;
}

/* ---------------------------------------------------------------- many questions */

struct batch {
    const unsigned char *data;
    const uint64_t *offsets;
};

// The hashes of the first keys of a block, up to one that cannot be asked for: 0, or why not.
static int hash_block(const perhaps_filter *filter, const struct batch *batch, size_t first, size_t count,
                      uint64_t hashes[BLOCK], size_t *hashed)
{
    for (*hashed = 0; *hashed < count; (*hashed)++) {
        const uint64_t *offset = &batch->offsets[first + *hashed];
        if (offset[1] < offset[0]) {
            return PERHAPS_E_ARGUMENT;
        }
        int code = perhaps_hash(filter, batch->data + offset[0], (size_t)(offset[1] - offset[0]), &hashes[*hashed]);
        if (code < 0) {
            return code;
        }
    }
    return 0;
}

// Keys that the filter turned away may be beside it.
static void look_beside(const struct perhaps_guard *guard, const struct perhaps__guard_generation *generation,
                        const struct batch *batch, size_t first, size_t count, uint8_t *out)
{
    bool open = __atomic_load_n(&generation->open, __ATOMIC_ACQUIRE) != 0;
    if (!open && __atomic_load_n(&generation->overflow_count, __ATOMIC_ACQUIRE) == 0) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const uint64_t *offset = &batch->offsets[first + i];
        if (out[i] == 0) {
            out[i] = (uint8_t)ask_beside(guard, generation, batch->data + offset[0], (size_t)(offset[1] - offset[0]));
        }
    }
}

static int ask_block(struct perhaps_guard *guard, const struct batch *batch, size_t first, size_t count, uint8_t *out,
                     size_t *done)
{
    uint64_t hashes[BLOCK];
    struct perhaps__guard_visit visit = perhaps__guard_begin(guard);
    size_t hashed = 0;
    int code = hash_block(visit.generation->asked, batch, first, count, hashes, &hashed);
    (void)perhaps_might_contain_many_hash(visit.generation->asked, hashes, hashed, out, NULL);
    look_beside(guard, visit.generation, batch, first, hashed, out);
    for (size_t i = 0; i < hashed; i++) {
        count_answer(guard, visit.slot, visit.own, out[i], hashes[i]);
    }
    perhaps__guard_end(&visit);
    *done += hashed;
    return code;
}

int perhaps_guard_ask_many(perhaps_guard *guard, const void *data, const uint64_t *offsets, size_t count, uint8_t *out,
                           size_t *done)
{
    size_t handled = 0;
    bool missing = guard == NULL || (count > 0 && (data == NULL || offsets == NULL || out == NULL));
    int code = missing ? PERHAPS_E_ARGUMENT : 0;
    struct batch batch = {.data = data, .offsets = offsets};
    uint64_t start = perhaps__guard_now();
    while (code == 0 && handled < count) {
        size_t block = count - handled < BLOCK ? count - handled : BLOCK;
        code = ask_block(guard, &batch, handled, block, out + handled, &handled);
    }
    if (guard != NULL && handled > 0) {
        uint64_t end = perhaps__guard_now();
        perhaps__guard_took(&guard->ask_latency, (end - start) / handled);
        perhaps__guard_window_tick(guard, end);
    }
    if (done != NULL) {
        *done = handled;
    }
    return code;
}

/* ---------------------------------------------------------------- what the store said */

static double reported_share(const struct perhaps__guard_counts *counts)
{
    double reported = (double)(counts->confirmed + counts->refuted);
    return counts->perhaps > 0 ? fmin(1.0, reported / (double)counts->perhaps) : 1.0;
}

static void raise_alarm(struct perhaps_guard *guard, uint64_t absent)
{
    perhaps_guard_alarm alarm = {.size = sizeof alarm};
    (void)pthread_mutex_lock(&guard->test.lock);
    alarm.fpr_target = guard->test.target;
    (void)pthread_mutex_unlock(&guard->test.lock);
    alarm.refuted = perhaps__guard_read(&guard->test.refuted);
    alarm.absent = absent + alarm.refuted;
    alarm.fpr_observed = (double)alarm.refuted / (double)alarm.absent;
    perhaps__guard_more(&guard->totals.alarms);
    if (guard->options.alarm != NULL) {
        guard->options.alarm(guard->options.context, &alarm);
    }
}

// A key that passed and is not there. That counts once, and only where the filter answered.
static void test_refuted(struct perhaps_guard *guard, uint64_t hash, const struct perhaps__guard_counts *counts)
{
    if (!perhaps__guard_in_sample(hash) || !perhaps__guard_see(&guard->test.passed, hash)) {
        return;
    }
    if (perhaps__guard_test_refuted(&guard->test, counts->absent_sample, reported_share(counts))) {
        raise_alarm(guard, counts->absent_sample - perhaps__guard_read(&guard->test.absent_first));
    }
}

// Whether the filter in use takes the key for present, and is asked at all. Otherwise the answer was none of this filter's:
// it is another one since, or there was none.
static bool is_let_through(const struct perhaps__guard_generation *generation, const void *key, size_t length,
                           uint64_t *hash)
{
    return __atomic_load_n(&generation->open, __ATOMIC_ACQUIRE) == 0 &&
           perhaps_hash(generation->asked, key, length, hash) == 0 && perhaps_ask_hash(generation->asked, *hash) != 0;
}

// Counts a report: true for a false positive of the filter in use, whose hash is then known.
static bool count_report(struct perhaps_guard *guard, const void *key, size_t length, int found, uint64_t *hash)
{
    struct perhaps__guard_visit visit = perhaps__guard_begin(guard);
    struct perhaps__guard_counts *counts = &visit.slot->counts;
    bool refuted = found == 0 && is_let_through(visit.generation, key, length, hash);
    perhaps__guard_count(&counts->unfiltered, found == 0 && !refuted, visit.own);
    perhaps__guard_count(found == 1 ? &counts->confirmed : &counts->refuted, 1, visit.own);
    perhaps__guard_end(&visit);
    return refuted;
}

static void report(struct perhaps_guard *guard, const void *key, size_t length, int found,
                   struct perhaps__guard_counts *counts)
{
    uint64_t hash = 0;
    if (count_report(guard, key, length, found, &hash)) {
        counts->refuted++;
        test_refuted(guard, hash, counts);
    }
    perhaps__guard_trigger(guard);
}

int perhaps_guard_report(perhaps_guard *guard, const void *key, size_t length, int found)
{
    if (guard == NULL || (key == NULL && length > 0) || (found != 0 && found != 1)) {
        return PERHAPS_E_ARGUMENT;
    }
    struct perhaps__guard_counts counts = perhaps__guard_sum(guard->slots);
    if (counts.confirmed + counts.refuted >= counts.perhaps) {
        return PERHAPS_E_ARGUMENT;
    }
    report(guard, key, length, found, &counts);
    return 0;
}

/* ---------------------------------------------------------------- asking the store as well */

int perhaps__guard_ask_store(struct perhaps_guard *guard, const void *key, size_t length, perhaps_error *error)
{
    perhaps_error reply = {.size = sizeof reply};
    uint64_t start = perhaps__guard_now();
    int found = guard->store.contains(guard->store.context, key, length, &reply);
    perhaps__guard_took(&guard->store_latency, perhaps__guard_now() - start);
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

static int check_contains(const perhaps_guard *guard, perhaps_error *error)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_ARGUMENT, .subject = "guard"};
    if (guard == NULL) {
        return perhaps__guard_fail(error, failure, "there is no guard; make one with perhaps_guard_create()");
    }
    if (guard->store.contains == NULL) {
        failure = (struct perhaps__guard_failure){.code = PERHAPS_E_UNSUPPORTED, .subject = "store"};
        return perhaps__guard_fail(error, failure,
                                   "the guard was made without a store; give it one, or use perhaps_guard_ask() and "
                                   "perhaps_guard_report()");
    }
    return 0;
}

int perhaps_guard_contains(perhaps_guard *guard, const void *key, size_t length, perhaps_error *error)
{
    int code = check_contains(guard, error);
    int answer = code < 0 ? code : perhaps_guard_ask(guard, key, length);
    if (code == 0 && answer < 0) {
        struct perhaps__guard_failure failure = {.code = answer, .subject = "filter"};
        return perhaps__guard_fail(error, failure, "the filter cannot be asked for this key: %s",
                                   perhaps_message(answer));
    }
    if (answer <= 0) {
        return answer;
    }
    int found = perhaps__guard_ask_store(guard, key, length, error);
    if (found >= 0) {
        struct perhaps__guard_counts counts = perhaps__guard_sum(guard->slots);
        report(guard, key, length, found, &counts);
    }
    return found;
}

int perhaps_guard_look_up(perhaps_guard *guard, const void *key, size_t length, perhaps_error *error)
{
    int code = check_contains(guard, error);
    if (code < 0) {
        return code;
    }
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_ARGUMENT, .subject = "key"};
    if (key == NULL && length > 0) {
        return perhaps__guard_fail(error, failure, "the key is NULL and has a length; give its bytes");
    }
    struct perhaps__guard_counts counts = perhaps__guard_sum(guard->slots);
    if (counts.confirmed + counts.refuted >= counts.perhaps) {
        return perhaps__guard_fail(error, failure, "every \"perhaps\" has its report already; ask the guard first");
    }
    int found = perhaps__guard_ask_store(guard, key, length, error);
    if (found >= 0) {
        counts = perhaps__guard_sum(guard->slots);
        report(guard, key, length, found, &counts);
    }
    return found;
}
