// SPDX-License-Identifier: MIT
// What the tests of the guard share: a filter with known keys, a store that says what it is told, and questions.
#ifndef PERHAPS_TESTS_GUARD_HELPERS_H
#define PERHAPS_TESTS_GUARD_HELPERS_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// After <stdarg.h>, <stddef.h>, <setjmp.h> and <stdint.h>, which it needs.
#include <cmocka.h>

#include <perhaps/guard.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CAPACITY 1000
#define FPR 0.05

// Keys are the eight bytes of a number; those below CAPACITY are in the filter.
static inline perhaps_filter *make_filter(uint64_t keys)
{
    perhaps_options options = {.size = sizeof options, .capacity = CAPACITY, .fpr = FPR, .seed = 1};
    perhaps_filter *filter = NULL;
    assert_int_equal(perhaps_create(&options, &filter, NULL), 0);
    for (uint64_t i = 0; i < keys; i++) {
        assert_true(perhaps_add(filter, &i, sizeof i) >= 0);
    }
    return filter;
}

static perhaps_filter *filter;

static inline int setup(void **state)
{
    filter = make_filter(CAPACITY);
    return 0;
}

static inline int teardown(void **state)
{
    perhaps_free(filter);
    return 0;
}

// The first key from *next on that was never added and that the filter answers as asked.
static inline uint64_t next_absent(uint64_t *next, int answer)
{
    for (;; (*next)++) {
        if (perhaps_might_contain(filter, next, sizeof *next) == answer) {
            return (*next)++;
        }
    }
}

// A store that says what it is told to say.
struct parrot {
    int reply;
    int questions;
    const char *reason; // put into *error
};

static inline int parrot_contains(void *context, const void *key, size_t length, perhaps_error *error)
{
    struct parrot *parrot = context;
    parrot->questions++;
    if (parrot->reason != NULL && error != NULL) {
        error->code = parrot->reply;
        error->system_error = 5;
        (void)snprintf(error->subject, sizeof error->subject, "parrot");
        memset(error->text, 'x', sizeof error->text); // not even terminated
        memcpy(error->text, parrot->reason, strlen(parrot->reason));
    }
    return parrot->reply;
}

static inline perhaps_guard *make_guard(const perhaps_store *store)
{
    perhaps_guard_options options = {.size = sizeof options, .filter = filter, .store = store};
    perhaps_guard *guard = NULL;
    assert_int_equal(perhaps_guard_create(&options, &guard, NULL), 0);
    return guard;
}

static inline perhaps_guard_statistics stats_of(const perhaps_guard *guard)
{
    perhaps_guard_statistics statistics = {.size = sizeof statistics};
    assert_int_equal(perhaps_guard_stats(guard, &statistics), 0);
    assert_int_equal(statistics.size, sizeof statistics);
    assert_int_equal(statistics.queries, statistics.surely_absent + statistics.perhaps);
    assert_int_equal(statistics.perhaps, statistics.confirmed + statistics.refuted + statistics.unresolved);
    return statistics;
}

static inline void assert_counts(const perhaps_guard *guard, uint64_t surely_absent, uint64_t confirmed,
                                 uint64_t refuted, uint64_t unresolved)
{
    perhaps_guard_statistics statistics = stats_of(guard);
    assert_int_equal(statistics.surely_absent, surely_absent);
    assert_int_equal(statistics.confirmed, confirmed);
    assert_int_equal(statistics.refuted, refuted);
    assert_int_equal(statistics.unresolved, unresolved);
}

static inline void assert_exactly(double value, double expected)
{
    if (!(value >= expected && value <= expected)) {
        fail_msg("%.17g is not %.17g", value, expected);
    }
}

// Asks for `count` present keys, or absent ones that the filter answers with `answer`.
static inline void ask_present(perhaps_guard *guard, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t key = i % CAPACITY;
        assert_int_equal(perhaps_guard_ask(guard, &key, sizeof key), 1);
    }
}

static inline void ask_absent(perhaps_guard *guard, uint64_t count, int answer)
{
    uint64_t next = CAPACITY;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t key = next_absent(&next, answer);
        assert_int_equal(perhaps_guard_ask(guard, &key, sizeof key), answer);
    }
}

static inline void report(perhaps_guard *guard, uint64_t count, int found)
{
    for (uint64_t i = 0; i < count; i++) {
        assert_int_equal(perhaps_guard_report(guard, &i, sizeof i, found), 0);
    }
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

#endif
