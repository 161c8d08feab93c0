// SPDX-License-Identifier: MIT
// A store in memory for the tests of the guard: rows of numbers, several with one key, exact, for any thread. Its listing
// is a snapshot or not, as the test likes.
#ifndef PERHAPS_TESTS_GUARD_STORE_H
#define PERHAPS_TESTS_GUARD_STORE_H

#include <math.h>
#include <pthread.h>
#include <sched.h>
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
#define STORE_KEYS 65536

// Key number i is the eight bytes of i. rows[i] says how many rows have it.
struct rows {
    uint32_t rows[STORE_KEYS];
    pthread_mutex_t lock;
    bool snapshot;
    int fail_contains;  // what contains() returns instead, when negative
    int fail_write;     // what a write returns instead, when negative; it then writes nothing
    int fail_listing;   // what each_key() returns at the end
    uint64_t fail_from; // ... or from this key on
    // Called in the middle of a listing, before key `at`.
    void (*at_key)(void *context, uint64_t key);
    void *at_context;
    uint64_t listed;
};

static inline uint32_t rows_of(struct rows *rows, uint64_t key)
{
    (void)pthread_mutex_lock(&rows->lock);
    uint32_t count = rows->rows[key];
    (void)pthread_mutex_unlock(&rows->lock);
    return count;
}

static inline uint64_t key_number(const void *key, size_t length)
{
    uint64_t number = STORE_KEYS;
    if (length == sizeof number) {
        memcpy(&number, key, sizeof number);
    }
    return number;
}

static inline int rows_contains(void *context, const void *key, size_t length, perhaps_error *error)
{
    (void)error;
    struct rows *rows = context;
    uint64_t number = key_number(key, length);
    if (rows->fail_contains < 0) {
        return rows->fail_contains;
    }
    return number < STORE_KEYS && rows_of(rows, number) > 0;
}

static inline int rows_insert(void *context, const void *key, size_t length, perhaps_error *error)
{
    (void)error;
    struct rows *rows = context;
    if (rows->fail_write < 0) {
        return rows->fail_write;
    }
    (void)pthread_mutex_lock(&rows->lock);
    rows->rows[key_number(key, length)]++;
    (void)pthread_mutex_unlock(&rows->lock);
    return 0;
}

static inline int rows_delete(void *context, const void *key, size_t length, perhaps_error *error)
{
    (void)error;
    struct rows *rows = context;
    if (rows->fail_write < 0) {
        return rows->fail_write;
    }
    (void)pthread_mutex_lock(&rows->lock);
    uint32_t *count = &rows->rows[key_number(key, length)];
    *count -= *count > 0;
    (void)pthread_mutex_unlock(&rows->lock);
    return 0;
}

// Without a snapshot each key is looked up when its turn comes.
static inline int rows_each_key(void *context, int (*visit)(void *visitor, const void *key, size_t length),
                                void *visitor, perhaps_error *error)
{
    (void)error;
    struct rows *rows = context;
    uint32_t *copy = malloc(sizeof rows->rows);
    (void)pthread_mutex_lock(&rows->lock);
    memcpy(copy, rows->rows, sizeof rows->rows);
    (void)pthread_mutex_unlock(&rows->lock);
    int result = 0;
    rows->listed = 0;
    for (uint64_t key = 0; key < STORE_KEYS && result == 0; key++) {
        if (rows->at_key != NULL) {
            rows->at_key(rows->at_context, key);
        }
        if (rows->fail_listing < 0 && key >= rows->fail_from) {
            result = rows->fail_listing;
        } else if ((rows->snapshot ? copy[key] : rows_of(rows, key)) > 0) {
            rows->listed++;
            result = visit(visitor, &key, sizeof key);
        }
    }
    free(copy);
    return result;
}

static inline int rows_count(void *context, uint64_t *count, perhaps_error *error)
{
    (void)error;
    struct rows *rows = context;
    *count = 0;
    (void)pthread_mutex_lock(&rows->lock);
    for (uint64_t key = 0; key < STORE_KEYS; key++) {
        *count += rows->rows[key] > 0;
    }
    (void)pthread_mutex_unlock(&rows->lock);
    return 0;
}

static inline struct rows *make_rows(bool snapshot)
{
    struct rows *rows = calloc(1, sizeof *rows);
    (void)pthread_mutex_init(&rows->lock, NULL);
    rows->snapshot = snapshot;
    return rows;
}

static inline void free_rows(struct rows *rows)
{
    (void)pthread_mutex_destroy(&rows->lock);
    free(rows);
}

static inline perhaps_store store_of(struct rows *rows)
{
    uint32_t flags = PERHAPS_STORE_DISTINCT | (rows->snapshot ? PERHAPS_STORE_SNAPSHOT : 0);
    return (perhaps_store){rows, rows_contains, rows_each_key, rows_count, flags, 0};
}

static inline perhaps_filter *shared_filter(uint32_t kind, uint64_t capacity, double fpr)
{
    perhaps_options options = {
        .size = sizeof options, .kind = kind, .capacity = capacity, .fpr = fpr, .seed = 1, .flags = PERHAPS_SHARED};
    perhaps_filter *filter = NULL;
    assert_int_equal(perhaps_create(&options, &filter, NULL), 0);
    return filter;
}

static inline perhaps_guard *guard_with(const perhaps_guard_options *options)
{
    perhaps_guard *guard = NULL;
    perhaps_error error = {.size = sizeof error};
    if (perhaps_guard_create(options, &guard, &error) < 0) {
        fail_msg("%s: %s", error.subject, error.text);
    }
    return guard;
}

static inline perhaps_guard *guard_of(struct rows *rows, perhaps_filter *filter)
{
    perhaps_store store = store_of(rows);
    perhaps_guard_options options = {.size = sizeof options, .adopted = filter, .store = &store};
    return guard_with(&options);
}

static inline int add_row(perhaps_guard *guard, struct rows *rows, uint64_t key)
{
    return perhaps_guard_add(guard, &key, sizeof key, rows_insert, rows, NULL);
}

static inline int remove_row(perhaps_guard *guard, struct rows *rows, uint64_t key)
{
    return perhaps_guard_remove(guard, &key, sizeof key, rows_delete, rows, NULL);
}

static inline void add_rows(perhaps_guard *guard, struct rows *rows, uint64_t first, uint64_t count)
{
    for (uint64_t key = first; key < first + count; key++) {
        assert_in_range(add_row(guard, rows, key), 0, 1);
    }
}

static inline uint64_t draw(uint64_t *random, uint64_t below)
{
    *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (*random >> 33) % below;
}

static inline uint64_t distinct(struct rows *rows)
{
    uint64_t count = 0;
    (void)rows_count(rows, &count, NULL);
    return count;
}

static inline void fill_rows(struct rows *rows, uint64_t count)
{
    for (uint64_t key = 0; key < count; key++) {
        rows->rows[key] = 1;
    }
}

static inline int asks(perhaps_guard *guard, uint64_t key)
{
    return perhaps_guard_ask(guard, &key, sizeof key);
}

static inline uint64_t missed(perhaps_guard *guard, struct rows *rows)
{
    uint64_t count = 0;
    for (uint64_t key = 0; key < STORE_KEYS; key++) {
        count += rows_of(rows, key) > 0 && asks(guard, key) == 0;
    }
    return count;
}

// How many of the keys that the store does not have pass.
static inline uint64_t passed(perhaps_guard *guard, struct rows *rows)
{
    uint64_t count = 0;
    for (uint64_t key = 0; key < STORE_KEYS; key++) {
        count += rows_of(rows, key) == 0 && asks(guard, key) == 1;
    }
    return count;
}

static inline perhaps_guard_statistics statistics_of(const perhaps_guard *guard)
{
    perhaps_guard_statistics statistics = {.size = sizeof statistics};
    assert_int_equal(perhaps_guard_stats(guard, &statistics), 0);
    return statistics;
}

#endif
