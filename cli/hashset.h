// SPDX-License-Identifier: MIT
//
// A set of 64-bit hashes (open addressing, linear probing), which takes 16 to 32 bytes for each.
#ifndef PERHAPS_CLI_HASHSET_H
#define PERHAPS_CLI_HASHSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// All zero is an empty set.
struct hashset {
    uint64_t *slots; // 0: free
    size_t capacity; // a power of two, or 0
    size_t count;    // zero itself included
    bool has_zero;
};

// 1: added; 0: was there; -1: no memory, nothing changed.
int hashset_add(struct hashset *set, uint64_t hash);
bool hashset_has(const struct hashset *set, uint64_t hash);

// Removes every hash in which one of the `bits` highest bits is set.
void hashset_keep_low(struct hashset *set, unsigned bits);
void hashset_free(struct hashset *set);

#endif
