// SPDX-License-Identifier: MIT
// What the tests share: cmocka, filters that must succeed, comparison of encoded bytes, folders that go away.
#ifndef PERHAPS_TESTS_SUPPORT_H
#define PERHAPS_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// After those that it needs.
#include <cmocka.h>

#include "perhaps/perhaps.h"
#include "support_keys.h"
#include "support_memory.h"

#define SUPPORT_COUNT(array) (sizeof(array) / sizeof((array)[0]))

// How much less there is to do where everything is slower: under sanitizers about ten times, without optimisation
// four. Tests divide counts that are only large to be thorough, never what a result depends on.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define SUPPORT_SANITIZED 1
#endif
#endif
#if defined(SUPPORT_SANITIZED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SUPPORT_SCALE 10
#elif !defined(__OPTIMIZE__)
#define SUPPORT_SCALE 4
#else
#define SUPPORT_SCALE 1
#endif
#define SUPPORT_SCALED(count) ((count) / SUPPORT_SCALE)

// An error to pass to calls, and options to begin with.
#define SUPPORT_ERROR ((perhaps_error){.size = sizeof(perhaps_error)})
#define SUPPORT_OPTIONS(...) ((perhaps_options){.size = sizeof(perhaps_options), __VA_ARGS__})

// ---- filters

// What must succeed; the test fails with the library's text when it does not.
perhaps_filter *support_create(const perhaps_options *options);
perhaps_filter *support_filter(uint64_t capacity, double fpr, uint64_t seed);
perhaps_filter *support_decode(const void *bytes, size_t size);
perhaps_filter *support_open(const char *path, uint32_t flags);
void support_save(const perhaps_filter *filter, const char *path);
perhaps_statistics support_stats(const perhaps_filter *filter);
perhaps_sizing support_size(uint64_t capacity, double fpr, uint64_t bytes);

// A result and an error that belong together: the code, a text, and the terminators in place.
void support_assert_failed(int result, int code, const perhaps_error *error);

// Adds keys first to first + count - 1 of a family, in batches.
void support_add_keys(perhaps_filter *filter, enum support_family family, uint64_t first, uint64_t count);

// How many of those the filter answers with "perhaps".
uint64_t support_count_present(const perhaps_filter *filter, enum support_family family, uint64_t first,
                               uint64_t count);

// ---- bytes

struct support_bytes {
    uint8_t *data;
    size_t size;
};

void *support_allocate(size_t size);
struct support_bytes support_encode(const perhaps_filter *filter);
struct support_bytes support_copy(struct support_bytes bytes);
bool support_bytes_equal(struct support_bytes a, struct support_bytes b);

// The filter still encodes to `before`.
void support_assert_unchanged(const perhaps_filter *filter, struct support_bytes before);

// Both encode to the same bytes.
void support_assert_same(const perhaps_filter *a, const perhaps_filter *b);

// Both have the same bits or counters, and say so in what is read from those; header fields (adds, flags) may differ.
void support_assert_same_payload(const perhaps_filter *a, const perhaps_filter *b);

// ---- files

// A new folder for this process; support_remove_directory() removes it with all that it contains. Both are cmocka's
// setup and teardown functions; the state is the folder's path.
int support_make_directory(void **state);
int support_remove_directory(void **state);

// "FOLDER/NAME"; freed by the caller.
char *support_path(void **state, const char *name);

// Names in a folder, without "." and "..".
size_t support_count_entries(const char *directory);

struct support_bytes support_read_file(const char *path);
void support_write_file(const char *path, const void *bytes, size_t size);

#endif
