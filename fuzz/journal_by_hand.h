// SPDX-License-Identifier: MIT
// A second reading of "The journal" in docs/format.md, as plain as it can be: for comparison with src/journal.c, of which
// nothing is used here but how many operations a record has. And the operations, done one by one through the public
// calls, with an exact account of the keys.
#ifndef PERHAPS_FUZZ_JOURNAL_BY_HAND_H
#define PERHAPS_FUZZ_JOURNAL_BY_HAND_H

#include <stdbool.h>

#include "filter.h"

#define BY_HAND_OPERATIONS 1024 // and so many bytes / 8 are the longest journal

struct by_hand_operation {
    uint64_t sequence;
    uint64_t record; // where it begins
    uint64_t type;
    uint64_t value; // the hash, or the length of a position
    const uint8_t *position;
    bool voided;
};

struct by_hand_reading {
    int result; // 0, or the code with which it is to be refused
    bool stale;
    uint64_t end;      // of the last record that counts
    uint64_t sequence; // of the last operation
    size_t count;
    struct by_hand_operation operations[BY_HAND_OPERATIONS];
};

// Reads a journal of an identity's filter.
void by_hand_read(struct by_hand_reading *reading, const uint8_t *bytes, uint64_t size,
                  const struct perhaps__identity *identity);

// Keys, and how often each is there.
struct by_hand_model {
    bool removes; // the filter can
    bool copies;  // repeated adds count
    bool spoiled; // a key was removed that was not there: it may have been another's
    size_t count;
    struct by_hand_key {
        uint64_t hash;
        uint64_t times;
    } keys[BY_HAND_OPERATIONS + 64];
};

// Adds and takes account of it. What add and remove returned.
int by_hand_add(struct by_hand_model *model, perhaps_filter *filter, uint64_t hash);

// Does what was read. Returns 0, or PERHAPS_E_DAMAGED when there is a removal that the filter cannot do, behind the
// last clearing.
int by_hand_do(const struct by_hand_reading *reading, perhaps_filter *filter, struct by_hand_model *model);

// Whether a filter has every key that must be there.
bool by_hand_has_all(const struct by_hand_model *model, const perhaps_filter *filter);

#endif
