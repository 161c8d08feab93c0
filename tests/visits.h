// SPDX-License-Identifier: MIT
// What the listing of a store visits. Included by the helpers of each store, behind cmocka.
#ifndef PERHAPS_TESTS_VISITS_H
#define PERHAPS_TESTS_VISITS_H

#include <string.h>

// Everything that a listing visits, each key after its length, in the order of the visits.
struct visits {
    char bytes[512];
    size_t used;
    size_t count;
    size_t stop_after;
    int stop_with;
};

static inline int note_visit(void *visitor, const void *key, size_t length)
{
    struct visits *visits = visitor;
    assert_non_null(key);
    assert_true(visits->used + 1 + length <= sizeof visits->bytes);
    visits->bytes[visits->used++] = (char)length;
    memcpy(visits->bytes + visits->used, key, length);
    visits->used += length;
    visits->count++;
    return visits->count == visits->stop_after ? visits->stop_with : 0;
}

#endif
