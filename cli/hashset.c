// SPDX-License-Identifier: MIT
#include "hashset.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 1024 };

// Where the hash is, or the free slot where it would go. The low bits choose: hashset_keep_low() looks at the others.
static size_t find(const uint64_t *slots, size_t capacity, uint64_t hash)
{
    size_t at = (size_t)hash & (capacity - 1);
    while (slots[at] != 0 && slots[at] != hash) {
        at = (at + 1) & (capacity - 1);
    }
    return at;
}

static bool grow(struct hashset *set)
{
    size_t capacity = set->capacity == 0 ? FIRST_CAPACITY : set->capacity * 2;
    uint64_t *slots = capacity > set->capacity ? calloc(capacity, sizeof *slots) : NULL;
    if (slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < set->capacity; i++) {
        if (set->slots[i] != 0) {
            slots[find(slots, capacity, set->slots[i])] = set->slots[i];
        }
    }
    free(set->slots);
    set->slots = slots;
    set->capacity = capacity;
    return true;
}

static int add_zero(struct hashset *set)
{
    int added = set->has_zero ? 0 : 1;
    set->count += (size_t)added;
    set->has_zero = true;
    return added;
}

int hashset_add(struct hashset *set, uint64_t hash)
{
    if (hash == 0) {
        return add_zero(set);
    }
    if (set->capacity != 0) {
        size_t at = find(set->slots, set->capacity, hash);
        if (set->slots[at] == hash) {
            return 0;
        }
    }
    if (set->count >= set->capacity / 2 && !grow(set)) {
        return -1;
    }
    set->slots[find(set->slots, set->capacity, hash)] = hash;
    set->count++;
    return 1;
}

bool hashset_has(const struct hashset *set, uint64_t hash)
{
    if (hash == 0 || set->capacity == 0) {
        return hash == 0 && set->has_zero;
    }
    return set->slots[find(set->slots, set->capacity, hash)] == hash;
}

// Takes out and puts back every hash in the order of its cluster (a run of taken slots), starting behind a free slot:
// each then lands where it was or further to the front, never on one that is still to be looked at.
void hashset_keep_low(struct hashset *set, unsigned bits)
{
    size_t mask = set->capacity - 1;
    size_t start = 0;
    while (start < set->capacity && set->slots[start] != 0) {
        start++;
    }
    set->count = set->has_zero;
    for (size_t i = 1; i < set->capacity; i++) {
        size_t at = (start + i) & mask;
        uint64_t hash = set->slots[at];
        set->slots[at] = 0;
        if (hash != 0 && hash >> (64 - bits) == 0) {
            set->slots[find(set->slots, set->capacity, hash)] = hash;
            set->count++;
        }
    }
}

void hashset_free(struct hashset *set)
{
    free(set->slots);
    *set = (struct hashset){0};
}
