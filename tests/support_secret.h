// SPDX-License-Identifier: MIT
// Keyed filters, for the tests of them. Builds without libsodium have none, and say so.
#ifndef PERHAPS_TESTS_SUPPORT_SECRET_H
#define PERHAPS_TESTS_SUPPORT_SECRET_H

#include <string.h>

#include "support.h"

#ifdef PERHAPS_KEYED
#define SUPPORT_KEYED true
#else
#define SUPPORT_KEYED false
#endif

// The key of the test vectors of SipHash, 00 to 0f, and another one.
static const uint8_t support_secret[PERHAPS_KEY_BYTES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static const uint8_t support_other_secret[PERHAPS_KEY_BYTES] = {1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

// Ends a test that needs keyed filters, in a build without them.
#define SUPPORT_NEEDS_KEYED()                                                                                          \
    do {                                                                                                               \
        if (!SUPPORT_KEYED) {                                                                                          \
            skip();                                                                                                    \
        }                                                                                                              \
    } while (0)

static inline int support_load_secret(struct support_bytes bytes, const uint8_t *secret, uint32_t flags,
                                      perhaps_filter **filter, perhaps_error *error)
{
    const perhaps_load_options options = {.size = sizeof options, .key = secret, .flags = flags};
    return perhaps_decode(bytes.data, bytes.size, &options, filter, error);
}

// What must succeed.
static inline perhaps_filter *support_decode_secret(struct support_bytes bytes, const uint8_t *secret, uint32_t flags)
{
    perhaps_filter *filter = NULL;
    perhaps_error error = SUPPORT_ERROR;
    if (support_load_secret(bytes, secret, flags, &filter, &error) != PERHAPS_OK) {
        fail_msg("not loaded: %s", error.text);
    }
    return filter;
}

// Fails with this code, and a text that has the word.
static inline void support_assert_not_loaded(struct support_bytes bytes, const uint8_t *secret, uint32_t flags,
                                             int code, const char *word)
{
    perhaps_filter *filter = NULL;
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(support_load_secret(bytes, secret, flags, &filter, &error), code, &error);
    assert_null(filter);
    if (strstr(error.text, word) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, word);
    }
}

#endif
