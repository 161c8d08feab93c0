// SPDX-License-Identifier: MIT
#include "keyset.h"

#include <string.h>

#define ALIGNMENT 64

// Stands where an entry was: a search goes on behind it.
static struct perhaps__guard_entry gone;

static size_t table_bytes(uint64_t mask)
{
    return (size_t)(mask + 1) * sizeof(void *);
}

static struct perhaps__guard_entry **make_table(const perhaps_allocator *allocator, uint64_t mask)
{
    struct perhaps__guard_entry **table = allocator->allocate(allocator->context, table_bytes(mask), ALIGNMENT);
    for (uint64_t i = 0; table != NULL && i <= mask; i++) {
        table[i] = NULL;
    }
    return table;
}

bool perhaps__guard_keyset_init(struct perhaps__guard_keyset *set, const perhaps_allocator *allocator, uint64_t most)
{
    uint64_t mask = 15;
    while (mask / 2 < most && mask < UINT64_MAX / 4) {
        mask = 2 * mask + 1;
    }
    *set = (struct perhaps__guard_keyset){.allocator = allocator, .mask = mask};
    if (mask >= SIZE_MAX / sizeof(void *)) {
        return false;
    }
    set->table = make_table(allocator, mask);
    return set->table != NULL;
}

static size_t entry_bytes(size_t length)
{
    return sizeof(struct perhaps__guard_entry) + length;
}

void perhaps__guard_keyset_release(const struct perhaps__guard_keyset *set, struct perhaps__guard_entry *entry)
{
    set->allocator->release(set->allocator->context, entry, entry_bytes(entry->length), ALIGNMENT);
}

struct perhaps__guard_entry *perhaps__guard_keyset_at(const struct perhaps__guard_keyset *set, uint64_t place)
{
    struct perhaps__guard_entry *entry = __atomic_load_n(&set->table[place], __ATOMIC_ACQUIRE);
    return entry == &gone ? NULL : entry;
}

void perhaps__guard_keyset_destroy(struct perhaps__guard_keyset *set)
{
    if (set->table == NULL) {
        return;
    }
    for (uint64_t i = 0; i <= set->mask; i++) {
        struct perhaps__guard_entry *entry = perhaps__guard_keyset_at(set, i);
        if (entry != NULL) {
            perhaps__guard_keyset_release(set, entry);
        }
    }
    set->allocator->release(set->allocator->context, set->table, table_bytes(set->mask), ALIGNMENT);
    set->table = NULL;
}

static bool is_key(const struct perhaps__guard_entry *entry, uint64_t hash, const void *key, size_t length)
{
    return entry->hash == hash && entry->length == length && (length == 0 || memcmp(entry->bytes, key, length) == 0);
}

// At most as many steps as there are places: what was taken out keeps its place, so that all of them may be used.
struct perhaps__guard_entry *perhaps__guard_keyset_find(const struct perhaps__guard_keyset *set, uint64_t hash,
                                                        const void *key, size_t length)
{
    for (uint64_t i = 0; i <= set->mask; i++) {
        struct perhaps__guard_entry *entry = __atomic_load_n(&set->table[(hash + i) & set->mask], __ATOMIC_ACQUIRE);
        if (entry == NULL) {
            break;
        }
        if (entry != &gone && is_key(entry, hash, key, length)) {
            return entry;
        }
    }
    return NULL;
}

// Into the first place that is free, or free again.
static void put(struct perhaps__guard_keyset *set, struct perhaps__guard_entry *entry)
{
    uint64_t place = entry->hash & set->mask;
    while (set->table[place] != NULL && set->table[place] != &gone) {
        place = (place + 1) & set->mask;
    }
    set->used += set->table[place] == NULL;
    __atomic_store_n(&set->table[place], entry, __ATOMIC_RELEASE);
}

static bool grow_table(struct perhaps__guard_keyset *set)
{
    struct perhaps__guard_keyset larger;
    if (!perhaps__guard_keyset_init(&larger, set->allocator, 2 * set->count)) {
        return false;
    }
    for (uint64_t i = 0; i <= set->mask; i++) {
        struct perhaps__guard_entry *entry = perhaps__guard_keyset_at(set, i);
        if (entry != NULL) {
            put(&larger, entry);
        }
    }
    larger.count = set->count;
    set->allocator->release(set->allocator->context, set->table, table_bytes(set->mask), ALIGNMENT);
    *set = larger;
    return true;
}

struct perhaps__guard_entry *perhaps__guard_keyset_insert(struct perhaps__guard_keyset *set, uint64_t hash,
                                                          const void *key, size_t length, bool grow)
{
    bool full = set->used > set->mask / 2;
    if ((full && grow && !grow_table(set)) || set->count >= set->mask || length > SIZE_MAX / 2) {
        return NULL;
    }
    struct perhaps__guard_entry *entry =
        set->allocator->allocate(set->allocator->context, entry_bytes(length), ALIGNMENT);
    if (entry == NULL) {
        return NULL;
    }
    *entry = (struct perhaps__guard_entry){.hash = hash, .length = length};
    if (length > 0) {
        memcpy(entry->bytes, key, length);
    }
    put(set, entry);
    set->count++;
    return entry;
}

void perhaps__guard_keyset_take_out(struct perhaps__guard_keyset *set, const struct perhaps__guard_entry *entry)
{
    for (uint64_t i = 0; i <= set->mask; i++) {
        uint64_t place = (entry->hash + i) & set->mask;
        if (set->table[place] == entry) {
            __atomic_store_n(&set->table[place], &gone, __ATOMIC_RELEASE);
            set->count--;
            return;
        }
    }
}
