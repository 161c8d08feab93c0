// SPDX-License-Identifier: MIT
// An exact set of keys: those that a filter refused, and those that were written during a rebuild. Open addressing with
// pointers to entries; one thread changes it at a time. Where it does not grow, others may look into it meanwhile, and the
// owner waits for them before entries that were taken out are released.
#ifndef PERHAPS_GUARD_KEYSET_H
#define PERHAPS_GUARD_KEYSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <perhaps/perhaps.h>

struct perhaps__guard_entry {
    uint64_t hash;
    size_t length;
    // For keys written during a rebuild; see rebuild.h. The set does not look at it.
    bool present;  // whether the store has it
    bool held;     // whether the new filter has a copy of it, or will when the listing has ended
    bool iterated; // that copy comes from the listing
    unsigned char bytes[];
};

struct perhaps__guard_keyset {
    const perhaps_allocator *allocator; // borrowed
    struct perhaps__guard_entry **table;
    uint64_t mask;
    uint64_t count; // entries
    uint64_t used;  // places that are not NULL
};

// Room for `most` keys without growing; false without memory.
bool perhaps__guard_keyset_init(struct perhaps__guard_keyset *set, const perhaps_allocator *allocator, uint64_t most);
void perhaps__guard_keyset_destroy(struct perhaps__guard_keyset *set);

// The entry of a key, or NULL. Also beside one thread that inserts or takes out, when there is no growth.
struct perhaps__guard_entry *perhaps__guard_keyset_find(const struct perhaps__guard_keyset *set, uint64_t hash,
                                                        const void *key, size_t length);

// Puts in a key that is not there, with zeroes in its flags; NULL without memory. `grow`: nobody reads meanwhile.
struct perhaps__guard_entry *perhaps__guard_keyset_insert(struct perhaps__guard_keyset *set, uint64_t hash,
                                                          const void *key, size_t length, bool grow);

// Takes out an entry; release it when nobody can be reading it any more.
void perhaps__guard_keyset_take_out(struct perhaps__guard_keyset *set, const struct perhaps__guard_entry *entry);
void perhaps__guard_keyset_release(const struct perhaps__guard_keyset *set, struct perhaps__guard_entry *entry);

// The entry at a place of the table, 0 to mask; NULL where there is none.
struct perhaps__guard_entry *perhaps__guard_keyset_at(const struct perhaps__guard_keyset *set, uint64_t place);

#endif
