// SPDX-License-Identifier: MIT
// Keys that are written, and keys that are listed, while a filter is made. rebuild.h says how they get along. The new
// filter is not durable before it is whole, and refuses nothing that is not put aside.
#include "rebuild.h"

// The writer's copy. Without a snapshot the listing may have brought one already.
static void add_copy(struct perhaps_guard *guard, struct perhaps__guard_rebuild *rebuild,
                     struct perhaps__guard_entry *entry, const void *key, size_t length)
{
    (void)perhaps__guard_put(guard, rebuild->next, key, length);
    entry->held = true;
}

static struct perhaps__guard_entry *find(const struct perhaps_guard *guard,
                                         const struct perhaps__guard_rebuild *rebuild, const void *key, size_t length)
{
    if (rebuild->written.count == 0) {
        return NULL;
    }
    return perhaps__guard_keyset_find(&rebuild->written, perhaps__guard_hash(guard, key, length), key, length);
}

// A key that is written for the first time since the rebuild began.
static void remember(struct perhaps_guard *guard, struct perhaps__guard_rebuild *rebuild, const void *key,
                     size_t length, bool from_listing)
{
    uint64_t hash = perhaps__guard_hash(guard, key, length);
    struct perhaps__guard_entry *entry = perhaps__guard_keyset_insert(&rebuild->written, hash, key, length, true);
    if (entry == NULL) {
        rebuild->out_of_memory = true;
        return;
    }
    entry->present = true;
    if (from_listing) {
        entry->held = true;
        entry->iterated = true;
        return;
    }
    if (!rebuild->snapshot && rebuild->iterating && perhaps_might_contain(rebuild->next->asked, key, length) == 1) {
        perhaps__guard_more(&rebuild->next->residue); // perhaps the second copy
    }
    add_copy(guard, rebuild, entry, key, length);
}

void perhaps__guard_rebuild_add(struct perhaps_guard *guard, struct perhaps__guard_rebuild *rebuild, const void *key,
                                size_t length, bool in_store)
{
    if (!rebuild->next->removes) {
        (void)perhaps__guard_put(guard, rebuild->next, key, length);
        return;
    }
    (void)pthread_mutex_lock(&rebuild->lock);
    struct perhaps__guard_entry *entry = find(guard, rebuild, key, length);
    if (entry != NULL) {
        if (!entry->held) {
            add_copy(guard, rebuild, entry, key, length);
        }
        entry->present = true;
    } else if (!in_store || !rebuild->snapshot) {
        remember(guard, rebuild, key, length, false);
    } // else the listing brings it
    (void)pthread_mutex_unlock(&rebuild->lock);
}

void perhaps__guard_rebuild_before_remove(struct perhaps_guard *guard, struct perhaps__guard_rebuild *rebuild,
                                          const void *key, size_t length)
{
    if (!rebuild->next->removes) {
        return;
    }
    (void)pthread_mutex_lock(&rebuild->lock);
    if (find(guard, rebuild, key, length) == NULL) {
        remember(guard, rebuild, key, length, rebuild->snapshot && rebuild->iterating);
    }
    (void)pthread_mutex_unlock(&rebuild->lock);
}

void perhaps__guard_rebuild_removed(struct perhaps_guard *guard, struct perhaps__guard_rebuild *rebuild,
                                    const void *key, size_t length)
{
    if (!rebuild->next->removes) {
        perhaps__guard_more(&rebuild->next->residue); // the listing may bring it, or has
        return;
    }
    (void)pthread_mutex_lock(&rebuild->lock);
    struct perhaps__guard_entry *entry = find(guard, rebuild, key, length);
    if (entry != NULL) {
        entry->present = false;
        if (!entry->iterated && entry->held) {
            entry->held = false;
            (void)perhaps__guard_take(guard, rebuild->next, key, length);
        }
    }
    (void)pthread_mutex_unlock(&rebuild->lock);
}

static void put_listed(struct perhaps_guard *guard, struct perhaps__guard_rebuild *rebuild, const void *key,
                       size_t length)
{
    (void)pthread_mutex_lock(&rebuild->lock);
    rebuild->iterating = true;
    const struct perhaps__guard_entry *entry = find(guard, rebuild, key, length);
    if (entry == NULL || entry->iterated) {
        (void)perhaps__guard_put(guard, rebuild->next, key, length);
    }
    (void)pthread_mutex_unlock(&rebuild->lock);
}

int perhaps__guard_rebuild_visit(struct perhaps_guard *guard, struct perhaps__guard_rebuild *rebuild, const void *key,
                                 size_t length)
{
    rebuild->visited++;
    if (rebuild->next->removes) {
        put_listed(guard, rebuild, key, length);
    } else {
        (void)perhaps__guard_put(guard, rebuild->next, key, length);
    }
    return (__atomic_load_n(&rebuild->next->open, __ATOMIC_ACQUIRE) & PERHAPS__GUARD_LACKS) != 0 ? PERHAPS_E_FULL : 0;
}

void perhaps__guard_rebuild_settle(struct perhaps_guard *guard, struct perhaps__guard_rebuild *rebuild)
{
    for (uint64_t i = 0; i <= rebuild->written.mask; i++) {
        const struct perhaps__guard_entry *entry = perhaps__guard_keyset_at(&rebuild->written, i);
        if (entry != NULL && entry->held && !entry->present) {
            (void)perhaps__guard_take(guard, rebuild->next, entry->bytes, entry->length);
        }
    }
}
