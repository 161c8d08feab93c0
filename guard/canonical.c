// SPDX-License-Identifier: MIT
// Canonical forms of keys. Each is exactly one equality of a database: what compares equal there has one form here.
#include <perhaps/guard.h>

#include <stdbool.h>
#include <string.h>

// SQLite's NOCASE folds the 26 letters, stops at a NUL byte in both texts, and then compares the lengths.
static void lower(unsigned char *key, size_t length)
{
    bool ended = false;
    for (size_t i = 0; i < length; i++) {
        ended = ended || key[i] == 0;
        if (ended) {
            key[i] = 0;
        } else if (key[i] >= 'A' && key[i] <= 'Z') {
            key[i] = (unsigned char)(key[i] - 'A' + 'a');
        }
    }
}

size_t perhaps_canonical(uint32_t forms, const void *key, size_t length, void *out)
{
    if (length == 0) {
        return 0;
    }
    memmove(out, key, length);
    const unsigned char *bytes = out;
    while ((forms & PERHAPS_CANONICAL_RTRIM) != 0 && length > 0 && bytes[length - 1] == ' ') {
        length--;
    }
    if ((forms & PERHAPS_CANONICAL_LOWER) != 0) {
        lower(out, length);
    }
    return length;
}
