// SPDX-License-Identifier: MIT
// Bytes become operations on two filters, whose answers are compared with an exact multiset. Driven by a seeded generator
// (test_model.c), by libFuzzer (fuzz/fuzz_operations.c) and by the saved corpus.
#ifndef PERHAPS_TESTS_INTERPRETER_H
#define PERHAPS_TESTS_INTERPRETER_H

#include <stddef.h>
#include <stdint.h>

#define INTERPRETER_OPERATIONS 23
#define INTERPRETER_KEYS 512 // different ones, at most

// How often each thing happened, to see that a driver reaches all of them.
struct interpreter_counts {
    uint64_t operations[INTERPRETER_OPERATIONS];
    uint64_t kinds[8]; // runs with a filter of each kind
    uint64_t false_positives;
    uint64_t counts_exact; // bounds of keys that are there, and are their true counts
    uint64_t adds_refused;
    uint64_t growing;   // runs with filters that grow
    uint64_t keyed;     // runs with filters that have a secret key
    uint64_t layers;    // summed over the statistics looked at
    uint64_t ambiguous; // removals that several layers matched
    uint64_t moved;     // fingerprints that compacting moved
    uint64_t dropped;   // layers that it dropped
    uint64_t merges_refused;
    uint64_t allocations_failed;
    uint64_t damage_refused;
};

// Runs the operations until the bytes end, on so many different keys, 1 to INTERPRETER_KEYS: with fewer, batches are
// smaller, and all is done sooner. NULL, or what the library did wrong. Adds to *counts unless it is NULL.
const char *interpret(const uint8_t *bytes, size_t size, unsigned keys, struct interpreter_counts *counts);

#endif
