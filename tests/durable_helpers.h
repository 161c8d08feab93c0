// SPDX-License-Identifier: MIT
// Filters with a journal that must begin, open or fail, for the tests of durable filters.
#ifndef PERHAPS_TESTS_DURABLE_HELPERS_H
#define PERHAPS_TESTS_DURABLE_HELPERS_H

#include "support.h"

static inline perhaps_journal journal_of(const perhaps_filter *filter)
{
    perhaps_journal journal = {.size = sizeof journal};
    assert_int_equal(perhaps_journal_of(filter, &journal), PERHAPS_OK);
    return journal;
}

static inline void begin(perhaps_filter *filter, const char *path, uint64_t journal_bytes)
{
    perhaps_journal_options options = {.size = sizeof options, .journal_bytes = journal_bytes};
    perhaps_error error = SUPPORT_ERROR;
    int result = perhaps_begin_journal(filter, path, &options, &error);
    if (result < 0) {
        print_message("%s: %s\n", error.subject, error.text);
    }
    assert_int_equal(result, PERHAPS_OK);
}

static inline perhaps_filter *open_durable(const char *path, uint32_t flags, uint64_t journal_bytes)
{
    perhaps_load_options load = {.size = sizeof load, .flags = flags};
    perhaps_journal_options options = {.size = sizeof options, .journal_bytes = journal_bytes, .load = &load};
    perhaps_error error = SUPPORT_ERROR;
    perhaps_filter *filter = NULL;
    int result = perhaps_open_durable(path, &options, &filter, &error);
    if (result < 0) {
        print_message("%s: %s\n", error.subject, error.text);
    }
    assert_int_equal(result, PERHAPS_OK);
    return filter;
}

static inline int fail_to_open_durable(const char *path, perhaps_error *error)
{
    perhaps_filter *filter = NULL;
    *error = SUPPORT_ERROR;
    int result = perhaps_open_durable(path, NULL, &filter, error);
    assert_null(filter);
    support_assert_failed(result, result, error);
    return result;
}

#endif
