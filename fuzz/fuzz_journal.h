// SPDX-License-Identifier: MIT
// What the two files of the fuzz target of journals share.
#ifndef PERHAPS_FUZZ_JOURNAL_H
#define PERHAPS_FUZZ_JOURNAL_H

#include "journal.h"
#include "journal_by_hand.h"

#define ENCODED_MAX (1 << 13)

// A filter, as a file that requires a journal, and the bytes that are in the journal's place.
struct journal_case {
    uint8_t *bytes;
    size_t size;
    unsigned kind;
    uint64_t keys;
    uint32_t flags; // of the filter that is replayed into
    bool from_files;
    struct perhaps__identity identity;
    size_t filter_size;
    uint8_t filter[ENCODED_MAX];
};

// Ends the process, which is what a fuzzer looks for.
void demand(bool condition, const char *text);

size_t encode(const perhaps_filter *filter, uint8_t bytes[ENCODED_MAX]);
void demand_same(const perhaps_filter *filter, const perhaps_filter *other, const char *text);

// The same from files: opened for reading and durably, the result is that of reading and replaying in memory, and the filter
// has the bytes of `expected`. A torn end is cut off; what is added then is there when it is opened again. Changes
// `expected`.
void check_files(const struct journal_case *given, int result, const struct perhaps__journal *journal,
                 perhaps_filter *expected);

#endif
