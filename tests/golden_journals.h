// SPDX-License-Identifier: MIT
// The filters with journals of tests/golden/journals/, built anew; shared by the program that wrote the files
// (golden_make.c) and the test that reads them (test_golden.c).
#ifndef PERHAPS_TESTS_GOLDEN_JOURNALS_H
#define PERHAPS_TESTS_GOLDEN_JOURNALS_H

#include <stddef.h>

#include "perhaps/perhaps.h"

// The name of case i, "v1-bloom", or NULL beyond the last.
const char *golden_journal_name(size_t i);

// Makes the filter of case i at `path`, with a journal beside it that has something of everything; the random id is a fixed
// one. The filter is still open, and freed by the caller; NULL when the library refuses.
perhaps_filter *golden_journal_build(size_t i, const char *path);

#endif
