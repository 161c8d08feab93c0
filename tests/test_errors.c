// SPDX-License-Identifier: MIT
// The table of errors, the rule for structures that begin with their size, and how failures are described.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#include "errors.h"

#define ROW(name, code, message) {name, code, #name, message},
static const struct {
    int code;
    int number;
    const char *name;
    const char *message;
} rows[] = {PERHAPS_ERROR_TABLE(ROW)};

static void test_table(void **state)
{
    for (size_t i = 0; i < SUPPORT_COUNT(rows); i++) {
        assert_int_equal(rows[i].code, rows[i].number);
        assert_int_equal(rows[i].code, -(int)i - 1); // without gaps or repetitions
        assert_string_equal(perhaps_message(rows[i].code), rows[i].message);
        assert_string_equal(perhaps_error_name(rows[i].code), rows[i].name);
    }
    assert_string_equal(perhaps_message(0), "success");
    assert_string_equal(perhaps_error_name(0), "PERHAPS_OK");
    static const int unknown[] = {1, -1000, INT32_MAX, INT32_MIN, -(int)SUPPORT_COUNT(rows) - 1};
    for (size_t i = 0; i < SUPPORT_COUNT(unknown); i++) {
        assert_string_equal(perhaps_message(unknown[i]), "unknown error");
        assert_string_equal(perhaps_error_name(unknown[i]), "PERHAPS_E_UNKNOWN");
    }
}

// The numbers are a promise: this list only ever grows.
static void test_codes_never_change(void **state)
{
    static const int codes[] = {
        PERHAPS_E_ARGUMENT, PERHAPS_E_OPTION,    PERHAPS_E_UNSUPPORTED, PERHAPS_E_MEMORY,       PERHAPS_E_LIMIT,
        PERHAPS_E_MISMATCH, PERHAPS_E_READ_ONLY, PERHAPS_E_SPACE,       PERHAPS_E_NOT_A_FILTER, PERHAPS_E_VERSION,
        PERHAPS_E_DAMAGED,  PERHAPS_E_PROBE,     PERHAPS_E_IO,
    };
    for (size_t i = 0; i < SUPPORT_COUNT(codes); i++) {
        assert_int_equal(codes[i], -(int)i - 1);
    }
}

static void test_version(void **state)
{
    char expected[32];
    (void)snprintf(expected, sizeof expected, "%d.%d.%d", PERHAPS_VERSION_MAJOR, PERHAPS_VERSION_MINOR,
                   PERHAPS_VERSION_PATCH);
    assert_string_equal(perhaps_version(), expected);
}

// Kinds are numbered without gaps; this is the first number that is none.
static uint32_t unknown_kind(void)
{
    uint32_t kind = 1;
    while (perhaps_kind_name(kind) != NULL) {
        kind++;
    }
    return kind;
}

static void test_kinds(void **state)
{
    double smallest = 7.0;
    double largest = 7.0;
    assert_string_equal(perhaps_kind_name(PERHAPS_KIND_BLOOM), "bloom");
    assert_null(perhaps_kind_name(PERHAPS_KIND_DEFAULT));
    for (uint32_t kind = 1; kind < unknown_kind(); kind++) {
        assert_int_equal(perhaps_kind_range(kind, &smallest, &largest), PERHAPS_OK);
        assert_true(smallest > 0.0 && smallest < largest && largest < 1.0);
    }
    assert_int_equal(perhaps_kind_range(unknown_kind(), &smallest, &largest), PERHAPS_E_OPTION);
    smallest = largest = 7.0;
    assert_null(perhaps_kind_name(UINT32_MAX));
    assert_int_equal(perhaps_kind_range(PERHAPS_KIND_DEFAULT, &smallest, &largest), PERHAPS_E_OPTION);
    assert_int_equal(perhaps_kind_range(UINT32_MAX, &smallest, &largest), PERHAPS_E_OPTION);
    assert_int_equal(perhaps_kind_range(PERHAPS_KIND_BLOOM, NULL, &largest), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_kind_range(PERHAPS_KIND_BLOOM, &smallest, NULL), PERHAPS_E_ARGUMENT);
    assert_true(smallest == 7.0 && largest == 7.0);
    assert_int_equal(perhaps_kind_range(PERHAPS_KIND_BLOOM, &smallest, &largest), PERHAPS_OK);
    assert_true(smallest == 1e-9 && largest == 0.5);
}

// A structure of a later release: today's, and a field that this one does not know.
struct later_options {
    perhaps_options known;
    uint64_t unknown;
};
struct later_load_options {
    perhaps_load_options known;
    uint64_t unknown;
};
struct later_statistics {
    perhaps_statistics known;
    uint64_t unknown;
};
struct later_error {
    perhaps_error known;
    uint64_t unknown;
};

static void test_later_options(void **state)
{
    struct later_options later = {.known = {.size = sizeof later, .capacity = 10, .fpr = 0.01}};
    perhaps_filter *filter = NULL;
    perhaps_error error = SUPPORT_ERROR;
    assert_int_equal(perhaps_create(&later.known, &filter, &error), PERHAPS_OK);
    perhaps_free(filter);
    filter = NULL;
    perhaps_sizing sizing = {.size = sizeof sizing};
    for (unsigned byte = 0; byte < 8; byte++) {
        later.unknown = UINT64_C(1) << (8 * byte);
        support_assert_failed(perhaps_create(&later.known, &filter, &error), PERHAPS_E_OPTION, &error);
        support_assert_failed(perhaps_size_for(&later.known, &sizing, &error), PERHAPS_E_OPTION, &error);
        assert_null(filter);
        assert_int_equal(sizing.bits, 0);
    }
}

static void test_later_load_options(void **state)
{
    perhaps_filter *made = support_filter(10, 0.01, 0);
    struct support_bytes bytes = support_encode(made);
    struct later_load_options later = {.known = {.size = sizeof later}};
    perhaps_filter *filter = NULL;
    perhaps_error error = SUPPORT_ERROR;
    assert_int_equal(perhaps_decode(bytes.data, bytes.size, &later.known, &filter, &error), PERHAPS_OK);
    perhaps_free(filter);
    filter = NULL;
    later.unknown = 1;
    int result = perhaps_decode(bytes.data, bytes.size, &later.known, &filter, &error);
    support_assert_failed(result, PERHAPS_E_OPTION, &error);
    support_assert_failed(perhaps_open("/nowhere", &later.known, &filter, &error), PERHAPS_E_OPTION, &error);
    assert_null(filter);
    free(bytes.data);
    perhaps_free(made);
}

// The caller's structure of an earlier release ends sooner: missing fields are zero, and nothing is read beyond.
static void test_earlier_options(void **state)
{
    perhaps_options options = SUPPORT_OPTIONS(.capacity = 10, .fpr = 0.01, .bytes = 1, .seed = 99);
    options.size = offsetof(perhaps_options, bytes); // neither bytes nor seed
    perhaps_filter *filter = support_create(&options);
    perhaps_filter *expected = support_filter(10, 0.01, 0);
    support_assert_same(filter, expected);
    perhaps_free(filter);
    perhaps_free(expected);

    static const size_t sizes[] = {0, 1, sizeof(size_t) - 1};
    for (size_t i = 0; i < SUPPORT_COUNT(sizes); i++) {
        perhaps_error error = SUPPORT_ERROR;
        options.size = sizes[i];
        filter = NULL;
        support_assert_failed(perhaps_create(&options, &filter, &error), PERHAPS_E_OPTION, &error);
        assert_null(filter);
    }
}

static void test_results_of_other_releases(void **state)
{
    perhaps_filter *filter = support_filter(10, 0.01, 21);
    struct later_statistics later = {.known = {.size = sizeof later}, .unknown = 5};
    assert_int_equal(perhaps_stats(filter, &later.known), PERHAPS_E_OPTION);
    assert_true(later.known.kind == 0 && later.known.capacity == 0 && later.unknown == 5);

    perhaps_statistics earlier = {.capacity = 12345};
    earlier.size = offsetof(perhaps_statistics, capacity);
    assert_int_equal(perhaps_stats(filter, &earlier), PERHAPS_OK);
    assert_int_equal(earlier.seed, 21);
    assert_int_equal(earlier.capacity, 12345); // beyond the caller's end
    assert_int_equal(earlier.size, offsetof(perhaps_statistics, capacity));

    earlier.size = 0;
    assert_int_equal(perhaps_stats(filter, &earlier), PERHAPS_E_OPTION);
    assert_int_equal(perhaps_stats(filter, NULL), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_stats(NULL, &earlier), PERHAPS_E_ARGUMENT);

    perhaps_sizing sizing = {.bits = 777};
    perhaps_error error = SUPPORT_ERROR;
    const perhaps_options options = SUPPORT_OPTIONS(.capacity = 10, .fpr = 0.01);
    support_assert_failed(perhaps_size_for(&options, &sizing, &error), PERHAPS_E_OPTION, &error);
    sizing.size = offsetof(perhaps_sizing, bits);
    assert_int_equal(perhaps_size_for(&options, &sizing, &error), PERHAPS_OK);
    assert_int_equal(sizing.capacity, 10);
    assert_int_equal(sizing.bits, 777);
    perhaps_free(filter);
}

static void test_errors_of_other_releases(void **state)
{
    struct later_error later = {.known = {.size = sizeof later}, .unknown = 5};
    assert_int_equal(perhaps_create(NULL, NULL, &later.known), PERHAPS_E_ARGUMENT);
    assert_int_equal(later.known.code, PERHAPS_E_ARGUMENT);
    assert_string_equal(later.known.text, perhaps_message(PERHAPS_E_ARGUMENT));
    assert_int_equal(later.known.size, sizeof later);
    assert_int_equal(later.unknown, 5);

    perhaps_error earlier = {.size = offsetof(perhaps_error, value), .value = 5};
    memset(earlier.text, 'x', sizeof earlier.text);
    assert_int_equal(perhaps_create(NULL, NULL, &earlier), PERHAPS_E_ARGUMENT);
    assert_int_equal(earlier.code, PERHAPS_E_ARGUMENT);
    assert_int_equal(earlier.value, 5);
    assert_int_equal(earlier.text[0], 'x');

    perhaps_error none = {.size = 0, .code = 42};
    assert_int_equal(perhaps_create(NULL, NULL, &none), PERHAPS_E_ARGUMENT);
    assert_int_equal(none.code, 42);
}

// An error is written on failure only.
static void test_success_writes_no_error(void **state)
{
    perhaps_error error = {.size = sizeof error, .code = 42, .text = "as before"};
    const perhaps_options options = SUPPORT_OPTIONS(.capacity = 10, .fpr = 0.01);
    perhaps_filter *filter = NULL;
    assert_int_equal(perhaps_create(&options, &filter, &error), PERHAPS_OK);
    assert_int_equal(error.code, 42);
    assert_string_equal(error.text, "as before");
    perhaps_free(filter);
}

static void test_long_texts_are_cut(void **state)
{
    char name[1000];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    perhaps_error error = SUPPORT_ERROR;
    struct perhaps__failure failure = {
        .code = PERHAPS_E_IO, .system_error = 7, .value = 8, .limit = 9, .subject = name};
    assert_int_equal(perhaps__fail(&error, failure, "%s", name), PERHAPS_E_IO);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
    assert_int_equal(strlen(error.subject), sizeof error.subject - 1);
    assert_true(error.system_error == 7 && error.value == 8 && error.limit == 9);
    assert_int_equal(perhaps__fail(NULL, failure, "%s", name), PERHAPS_E_IO);
}

static void assert_option(perhaps_options options, int code, const char *subject)
{
    perhaps_filter *filter = NULL;
    perhaps_error error = SUPPORT_ERROR;
    options.size = sizeof options;
    support_assert_failed(perhaps_create(&options, &filter, &error), code, &error);
    assert_null(filter);
    assert_string_equal(error.subject, subject);
    perhaps_sizing sizing = {.size = sizeof sizing};
    support_assert_failed(perhaps_size_for(&options, &sizing, &error), code, &error);
    assert_true(sizing.bits == 0 && sizing.kind == 0);
}

static void test_options(void **state)
{
    static const double wrong[] = {-1.0, -1e-300, 1.0, 2.0, 0.500001, 0.9, 0.99e-9, 1e-300, 5e-324};
    for (size_t i = 0; i < SUPPORT_COUNT(wrong); i++) {
        assert_option((perhaps_options){.capacity = 10, .fpr = wrong[i]}, PERHAPS_E_OPTION, "fpr");
        assert_option((perhaps_options){.bytes = 1000, .fpr = wrong[i]}, PERHAPS_E_OPTION, "fpr");
    }
    assert_option((perhaps_options){.capacity = 10, .fpr = (double)NAN}, PERHAPS_E_OPTION, "fpr");
    assert_option((perhaps_options){.capacity = 10, .fpr = (double)INFINITY}, PERHAPS_E_OPTION, "fpr");
    assert_option((perhaps_options){.capacity = 10, .fpr = -(double)INFINITY}, PERHAPS_E_OPTION, "fpr");
    const char *triple = "capacity, fpr, bytes";
    assert_option((perhaps_options){0}, PERHAPS_E_OPTION, triple);
    assert_option((perhaps_options){.capacity = 10}, PERHAPS_E_OPTION, triple);
    assert_option((perhaps_options){.fpr = 0.01}, PERHAPS_E_OPTION, triple);
    assert_option((perhaps_options){.bytes = 100}, PERHAPS_E_OPTION, triple);
    assert_option((perhaps_options){.capacity = 1, .fpr = 0.01, .bytes = 64}, PERHAPS_E_OPTION, triple);
    assert_option((perhaps_options){.fpr = (double)NAN}, PERHAPS_E_OPTION, triple);
    assert_option((perhaps_options){.capacity = 10, .fpr = -0.0}, PERHAPS_E_OPTION, triple);
    assert_option((perhaps_options){.kind = unknown_kind(), .capacity = 1, .fpr = 0.1}, PERHAPS_E_OPTION, "kind");
    assert_option((perhaps_options){.kind = UINT32_MAX, .capacity = 1, .fpr = 0.1}, PERHAPS_E_OPTION, "kind");
    assert_option((perhaps_options){.hash_source = 4, .capacity = 1, .fpr = 0.1}, PERHAPS_E_OPTION, "hash_source");
    struct support_memory memory = {0};
    perhaps_allocator half = support_memory_allocator(&memory);
    half.release = NULL;
    assert_option((perhaps_options){.capacity = 1, .fpr = 0.1, .allocator = &half}, PERHAPS_E_OPTION, "allocator");
    half = support_memory_allocator(&memory);
    half.allocate = NULL;
    assert_option((perhaps_options){.capacity = 1, .fpr = 0.1, .allocator = &half}, PERHAPS_E_OPTION, "allocator");
    assert_int_equal(memory.calls, 0);
}

static void test_arguments(void **state)
{
    const perhaps_options options = SUPPORT_OPTIONS(.capacity = 10, .fpr = 0.01);
    perhaps_filter *filter = NULL;
    perhaps_sizing sizing = {.size = sizeof sizing};
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_create(NULL, &filter, &error), PERHAPS_E_ARGUMENT, &error);
    support_assert_failed(perhaps_create(&options, NULL, &error), PERHAPS_E_ARGUMENT, &error);
    support_assert_failed(perhaps_size_for(NULL, &sizing, &error), PERHAPS_E_ARGUMENT, &error);
    support_assert_failed(perhaps_size_for(&options, NULL, &error), PERHAPS_E_ARGUMENT, &error);
    assert_null(filter);
}

// The range's ends belong to it.
static void test_ends_of_the_range(void **state)
{
    double smallest;
    double largest;
    assert_int_equal(perhaps_kind_range(PERHAPS_KIND_BLOOM, &smallest, &largest), PERHAPS_OK);
    perhaps_free(support_filter(10, smallest, 0));
    perhaps_free(support_filter(10, largest, 0));
}

static void test_names_of_policies(void **state)
{
    assert_null(perhaps_policy_name(PERHAPS_POLICY_DEFAULT));
    assert_string_equal(perhaps_policy_name(PERHAPS_POLICY_MULTISET), "multiset");
    assert_string_equal(perhaps_policy_name(PERHAPS_POLICY_UNIQUE), "unique");
    assert_string_equal(perhaps_policy_name(PERHAPS_POLICY_CONSERVATIVE), "conservative");
    assert_null(perhaps_policy_name(4));
    assert_null(perhaps_policy_name(UINT32_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_codes_never_change),
        cmocka_unit_test(test_version),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_later_options),
        cmocka_unit_test(test_later_load_options),
        cmocka_unit_test(test_earlier_options),
        cmocka_unit_test(test_results_of_other_releases),
        cmocka_unit_test(test_errors_of_other_releases),
        cmocka_unit_test(test_success_writes_no_error),
        cmocka_unit_test(test_long_texts_are_cut),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_names_of_policies),
        cmocka_unit_test(test_ends_of_the_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
