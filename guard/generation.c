// SPDX-License-Identifier: MIT
// A filter that a guard uses, with the exact set of keys that it refused.
#include <math.h>
#include <string.h>

#include "durable.h"
#include "state.h"

/* ---------------------------------------------------------------- life */

static bool removes(const perhaps_statistics *statistics)
{
    bool kind = statistics->kind == PERHAPS_KIND_COUNTING || statistics->kind == PERHAPS_KIND_CUCKOO;
    return kind && statistics->policy == PERHAPS_POLICY_MULTISET;
}

// In a filter from a file with a journal keys may rely on copies of others that look alike: whoever takes nothing out puts
// no second one in. Only who follows knows better, from its position.
static bool may_remove(const struct perhaps_guard *guard, const struct perhaps__guard_generation *generation)
{
    uint32_t flags = guard->options.flags;
    return (flags & PERHAPS_GUARD_OUTSIDE_WRITERS) == 0 &&
           (!generation->durable || (flags & PERHAPS_GUARD_FOLLOWS) != 0);
}

// How many keys or copies it holds. After merges that is not counted, but estimated; and what is counted on from here must
// not pass the highest number, nor twice that.
static uint64_t held(const perhaps_statistics *statistics)
{
    double counted = (double)(statistics->copies > 0 ? statistics->copies : statistics->adds);
    bool estimated = !statistics->adds_exact && statistics->distinct_estimate < counted;
    return (uint64_t)fmin(estimated ? statistics->distinct_estimate : counted, 0x1p62);
}

// The most that it takes before it is to be made anew: of a filter that grows, of all its layers.
static void set_limits(const struct perhaps_guard *guard, struct perhaps__guard_generation *generation,
                       const perhaps_statistics *statistics)
{
    double capacity = (double)statistics->capacity;
    generation->target = statistics->fpr_target;
    generation->fill_at = capacity * guard->options.rebuild_fill;
    generation->residue_at = capacity * guard->options.rebuild_residue;
    generation->counts = statistics->policy == PERHAPS_POLICY_MULTISET;
    generation->removes = removes(statistics) && may_remove(guard, generation);
    generation->first = held(statistics);
}

struct perhaps__guard_generation *perhaps__guard_generation_create(const struct perhaps_guard *guard,
                                                                   const perhaps_filter *asked, perhaps_filter *filter)
{
    const perhaps_allocator *allocator = &guard->allocator;
    perhaps_statistics statistics = {.size = sizeof statistics};
    struct perhaps__guard_generation *made =
        allocator->allocate(allocator->context, sizeof *made, PERHAPS__GUARD_ALIGNMENT);
    if (made == NULL) {
        return NULL;
    }
    *made = (struct perhaps__guard_generation){
        .asked = asked, .filter = filter, .owned = filter != NULL, .began = perhaps__guard_now()};
    made->durable = perhaps__guard_is_durable(filter);
    if (perhaps_stats(asked, &statistics) < 0 ||
        !perhaps__guard_keyset_init(&made->overflow, allocator, guard->options.overflow)) {
        allocator->release(allocator->context, made, sizeof *made, PERHAPS__GUARD_ALIGNMENT);
        return NULL;
    }
    set_limits(guard, made, &statistics);
    (void)pthread_mutex_init(&made->lock, NULL); // cannot fail with default attributes
    return made;
}

void perhaps__guard_generation_free(const struct perhaps_guard *guard, struct perhaps__guard_generation *generation)
{
    if (generation == NULL) {
        return;
    }
    if (generation->owned) {
        perhaps_free(generation->filter);
    }
    perhaps__guard_keyset_destroy(&generation->overflow);
    (void)pthread_mutex_destroy(&generation->lock);
    guard->allocator.release(guard->allocator.context, generation, sizeof *generation, PERHAPS__GUARD_ALIGNMENT);
}

/* ---------------------------------------------------------------- keys that the filter refused */

bool perhaps__guard_overflows(const struct perhaps_guard *guard, const struct perhaps__guard_generation *generation,
                              const void *key, size_t length)
{
    uint64_t hash = perhaps__guard_hash(guard, key, length);
    return perhaps__guard_keyset_find(&generation->overflow, hash, key, length) != NULL;
}

static bool set_has_room(const struct perhaps_guard *guard, struct perhaps__guard_generation *generation, uint64_t hash,
                         const void *key, size_t length)
{
    struct perhaps__guard_keyset *set = &generation->overflow;
    if (perhaps__guard_keyset_find(set, hash, key, length) != NULL) {
        return true;
    }
    if (set->count >= guard->options.overflow || perhaps__guard_keyset_insert(set, hash, key, length, false) == NULL) {
        return false;
    }
    // After the key is in: who sees the count looks, and finds it.
    __atomic_store_n(&generation->overflow_count, set->count, __ATOMIC_RELEASE);
    return true;
}

void perhaps__guard_put_aside(struct perhaps_guard *guard, struct perhaps__guard_generation *generation,
                              const void *key, size_t length)
{
    uint64_t hash = perhaps__guard_hash(guard, key, length);
    (void)pthread_mutex_lock(&generation->lock);
    if (!set_has_room(guard, generation, hash, key, length)) {
        (void)__atomic_fetch_or(&generation->open, PERHAPS__GUARD_LACKS, __ATOMIC_RELEASE);
    }
    (void)pthread_mutex_unlock(&generation->lock);
}

static bool take_from_aside(struct perhaps_guard *guard, struct perhaps__guard_generation *generation, const void *key,
                            size_t length)
{
    if (__atomic_load_n(&generation->overflow_count, __ATOMIC_ACQUIRE) == 0) {
        return false;
    }
    struct perhaps__guard_keyset *set = &generation->overflow;
    uint64_t hash = perhaps__guard_hash(guard, key, length);
    (void)pthread_mutex_lock(&generation->lock);
    struct perhaps__guard_entry *entry = perhaps__guard_keyset_find(set, hash, key, length);
    if (entry != NULL) {
        perhaps__guard_keyset_take_out(set, entry);
        __atomic_store_n(&generation->overflow_count, set->count, __ATOMIC_RELEASE);
    }
    (void)pthread_mutex_unlock(&generation->lock);
    if (entry != NULL) {
        perhaps__guard_wait_for_readers(guard->slots); // one of them may be comparing it
        perhaps__guard_keyset_release(set, entry);
    }
    return entry != NULL;
}

/* ---------------------------------------------------------------- copies */

// 1 or 0 as perhaps_add(), or negative: the filter does not take it. Where nothing is ever taken out, a key that is
// "perhaps" stays so, and needs no copy, nor a record.
static int add_to_filter(struct perhaps__guard_generation *generation, const void *key, size_t length)
{
    if (!generation->removes && (generation->counts || generation->durable || generation->filter == NULL) &&
        perhaps_might_contain(generation->asked, key, length) == 1) {
        return 0;
    }
    return generation->filter != NULL ? perhaps_add(generation->filter, key, length) : PERHAPS_E_READ_ONLY;
}

int perhaps__guard_put(struct perhaps_guard *guard, struct perhaps__guard_generation *generation, const void *key,
                       size_t length)
{
    int result = add_to_filter(generation, key, length);
    if (result < 0 && generation->durable) {
        perhaps__guard_note_refusal(guard, generation, result);
        return result;
    }
    if (result < 0) {
        perhaps__guard_more(&guard->totals.refused);
        perhaps__guard_put_aside(guard, generation, key, length);
    } else if (result == 1 || generation->removes) {
        perhaps__guard_more(&generation->added);
    }
    return 0;
}

bool perhaps__guard_take(struct perhaps_guard *guard, struct perhaps__guard_generation *generation, const void *key,
                         size_t length)
{
    if (take_from_aside(guard, generation, key, length)) {
        return true;
    }
    bool lacks = (__atomic_load_n(&generation->open, __ATOMIC_ACQUIRE) & PERHAPS__GUARD_LACKS) != 0;
    bool may = generation->removes && generation->filter != NULL && !lacks;
    if (may && perhaps_remove(generation->filter, key, length) == 1) {
        perhaps__guard_more(&generation->removed);
        return true;
    }
    perhaps__guard_more(&generation->residue);
    return false;
}
