// SPDX-License-Identifier: MIT
// What the header promises of threads: many may read one filter at once, different filters are independent, and there
// is no hidden global state. Proof is in ThreadSanitizer, which this runs under.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#define THREADS 4
#define KEYS UINT64_C(20000)

struct reader {
    const perhaps_filter *filter;
    struct support_bytes expected;
    uint64_t present;
    bool as_expected;
};

// Every call that takes a const filter. No cmocka here: it is not for several threads.
static void *read_everything(void *argument)
{
    struct reader *reader = argument;
    const perhaps_filter *filter = reader->filter;
    uint8_t *bytes = malloc(reader->expected.size);
    uint8_t key[SUPPORT_KEY_MAX];
    bool good = bytes != NULL;
    for (uint64_t i = 0; i < KEYS && good; i++) {
        size_t length = support_key(SUPPORT_URLS, i, key);
        uint64_t hash = 0;
        uint8_t out = 0;
        const void *pointers[] = {key};
        good = perhaps_hash(filter, key, length, &hash) == PERHAPS_OK &&
               perhaps_might_contain_many_pointers(filter, pointers, &length, 1, &out, NULL) == PERHAPS_OK &&
               perhaps_might_contain(filter, key, length) == out && perhaps_might_contain_hash(filter, hash) == out;
        reader->present += out;
        if (i % 1000 == 0) {
            perhaps_statistics statistics = {.size = sizeof statistics};
            const void *metadata;
            size_t written = 0;
            good = good && perhaps_stats(filter, &statistics) == PERHAPS_OK &&
                   perhaps_metadata(filter, &metadata, &length) == PERHAPS_OK && length == 4 &&
                   perhaps_encode(filter, bytes, reader->expected.size, &written, NULL) == PERHAPS_OK &&
                   written == reader->expected.size && memcmp(bytes, reader->expected.data, written) == 0;
        }
    }
    free(bytes);
    reader->as_expected = good;
    return NULL;
}

static void assert_readable_by_many(const perhaps_filter *filter)
{
    struct support_bytes bytes = support_encode(filter);
    uint64_t present = support_count_present(filter, SUPPORT_URLS, 0, KEYS);
    struct reader readers[THREADS];
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        readers[i] = (struct reader){.filter = filter, .expected = bytes};
        assert_int_equal(pthread_create(&threads[i], NULL, read_everything, &readers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(readers[i].as_expected);
        assert_int_equal(readers[i].present, present);
    }
    free(bytes.data);
}

static perhaps_filter *example(void)
{
    perhaps_filter *filter = support_filter(KEYS / 2, 0.01, 1);
    support_add_keys(filter, SUPPORT_URLS, 0, KEYS / 2);
    assert_int_equal(perhaps_set_metadata(filter, "here", 4), PERHAPS_OK);
    return filter;
}

static void test_many_readers(void **state)
{
    perhaps_filter *filter = example();
    assert_readable_by_many(filter);
    perhaps_free(filter);
}

static void test_many_readers_of_a_mapped_file(void **state)
{
    perhaps_filter *filter = example();
    char *path = support_path(state, "filter");
    support_save(filter, path);
    perhaps_filter *opened = support_open(path, 0);
    assert_readable_by_many(opened);
    perhaps_free(opened);
    perhaps_free(filter);
    free(path);
}

// Made, filled, encoded, decoded, merged and freed by one thread, while others do the same with theirs.
static void *live_alone(void *argument)
{
    struct reader *result = argument;
    const perhaps_options options = SUPPORT_OPTIONS(.capacity = 1000, .fpr = 0.001, .seed = 5);
    perhaps_filter *filter = NULL;
    perhaps_filter *copy = NULL;
    uint8_t bytes[8192];
    size_t written = 0;
    bool good = perhaps_create(&options, &filter, NULL) == PERHAPS_OK;
    for (uint64_t i = 0; i < 1000 && good; i++) {
        good = perhaps_add_hash(filter, i) >= 0;
    }
    good = good && perhaps_encode(filter, bytes, sizeof bytes, &written, NULL) == PERHAPS_OK &&
           perhaps_decode(bytes, written, NULL, &copy, NULL) == PERHAPS_OK &&
           perhaps_merge(copy, filter, NULL) == PERHAPS_OK && perhaps_clear(filter) == PERHAPS_OK &&
           perhaps_merge(filter, copy, NULL) == PERHAPS_OK;
    for (uint64_t i = 0; i < 1000 && good; i++) {
        good = perhaps_might_contain_hash(filter, i) == 1;
    }
    perhaps_free(filter);
    perhaps_free(copy);
    result->as_expected = good;
    return NULL;
}

static void test_independent_filters(void **state)
{
    struct reader results[THREADS] = {0};
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, live_alone, &results[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(results[i].as_expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_readers),
        cmocka_unit_test_setup_teardown(test_many_readers_of_a_mapped_file, support_make_directory,
                                        support_remove_directory),
        cmocka_unit_test(test_independent_filters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
