// SPDX-License-Identifier: MIT
// The filters of tests/golden/, built anew; shared by the program that wrote the files (golden_make.c) and the test
// that reads them (test_golden.c).
#ifndef PERHAPS_TESTS_GOLDEN_CASES_H
#define PERHAPS_TESTS_GOLDEN_CASES_H

#include <stddef.h>
#include <stdint.h>

#include "perhaps/perhaps.h"

// A key as a file of answers lists it: bytes, or a hash where the caller hashes.
struct golden_key {
    const void *bytes;
    size_t length;
    uint64_t hash;
};

// The name of case i, "v1-bloom-empty", or NULL beyond the last.
const char *golden_name(size_t i);

// The secret key of case i, which loading it takes; NULL: none. Builds without libsodium cannot.
const uint8_t *golden_secret(size_t i);

// The filter of case i, freed by the caller; NULL when the library refuses.
perhaps_filter *golden_build(size_t i);

// Key j of those whose answers are recorded for case i, present and absent ones; false beyond the last. The bytes are
// valid until the next call.
int golden_key(size_t i, size_t j, struct golden_key *key);

// The filter's answer.
int golden_ask(const perhaps_filter *filter, const struct golden_key *key);

#endif
