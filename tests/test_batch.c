// SPDX-License-Identifier: MIT
// The calls for many keys against the calls for one, and where they stop.
#include <stdlib.h>
#include <string.h>

#include "support.h"

// Not a multiple of any block the library may work in, and larger than several.
#define COUNT 2345

// The same keys in every shape that the calls take.
struct keys {
    uint8_t *data;
    uint64_t *offsets;
    const void **pointers;
    size_t *lengths;
    uint64_t *hashes;
    uint8_t *out;
};

static struct keys make_keys(const perhaps_filter *filter, uint64_t first)
{
    struct keys keys = {
        .data = support_allocate(COUNT * SUPPORT_KEY_MAX),
        .offsets = support_allocate((COUNT + 1) * sizeof *keys.offsets),
        .pointers = support_allocate(COUNT * sizeof *keys.pointers),
        .lengths = support_allocate(COUNT * sizeof *keys.lengths),
        .hashes = support_allocate(COUNT * sizeof *keys.hashes),
        .out = support_allocate(COUNT),
    };
    keys.offsets[0] = 3; // offsets need not begin at 0
    for (size_t i = 0; i < COUNT; i++) {
        uint8_t *key = keys.data + keys.offsets[i];
        keys.lengths[i] = i % 50 == 49 ? 0 : support_key(SUPPORT_URLS, first + i / 2, key); // with repetitions
        keys.pointers[i] = keys.lengths[i] > 0 ? key : NULL;
        keys.offsets[i + 1] = keys.offsets[i] + keys.lengths[i];
        assert_int_equal(perhaps_hash(filter, keys.pointers[i], keys.lengths[i], &keys.hashes[i]), PERHAPS_OK);
    }
    return keys;
}

static void free_keys(struct keys *keys)
{
    free(keys->data);
    free(keys->offsets);
    free(keys->pointers);
    free(keys->lengths);
    free(keys->hashes);
    free(keys->out);
}

enum shape { OFFSETS, POINTERS, HASHES, SHAPES };

static int add_shape(perhaps_filter *filter, enum shape shape, const struct keys *keys, size_t count, uint8_t *out,
                     size_t *done)
{
    if (shape == OFFSETS) {
        return perhaps_add_many(filter, keys->data, keys->offsets, count, out, done);
    }
    if (shape == POINTERS) {
        return perhaps_add_many_pointers(filter, keys->pointers, keys->lengths, count, out, done);
    }
    return perhaps_add_many_hash(filter, keys->hashes, count, out, done);
}

static int ask_shape(const perhaps_filter *filter, enum shape shape, const struct keys *keys, size_t count,
                     uint8_t *out, size_t *done)
{
    if (shape == OFFSETS) {
        return perhaps_might_contain_many(filter, keys->data, keys->offsets, count, out, done);
    }
    if (shape == POINTERS) {
        return perhaps_might_contain_many_pointers(filter, keys->pointers, keys->lengths, count, out, done);
    }
    return perhaps_might_contain_many_hash(filter, keys->hashes, count, out, done);
}

static void assert_results_of_singles(perhaps_filter *single, const struct keys *keys, size_t count, bool adding)
{
    for (size_t i = 0; i < count; i++) {
        int expected = adding ? perhaps_add(single, keys->pointers[i], keys->lengths[i])
                              : perhaps_might_contain(single, keys->pointers[i], keys->lengths[i]);
        assert_int_equal(keys->out[i], expected);
    }
}

// One size of batch in one shape, on a filter of `capacity` keys: results, answers and bytes are those of single calls.
static void assert_does_what_single_calls_do(uint32_t kind, uint64_t capacity, enum shape shape, size_t count)
{
    perhaps_options options = SUPPORT_OPTIONS(.kind = kind, .capacity = capacity, .fpr = 0.1, .seed = 11);
    if (kind == PERHAPS_KIND_CUCKOO) { // which would be full, or have too many copies
        options.capacity += COUNT;
        options.policy = PERHAPS_POLICY_UNIQUE;
    }
    perhaps_filter *batch = support_create(&options);
    perhaps_filter *single = support_create(&options);
    struct keys keys = make_keys(batch, 0);
    struct keys others = make_keys(batch, 1000);
    size_t done = 999999;
    assert_int_equal(add_shape(batch, shape, &keys, count, keys.out, &done), PERHAPS_OK);
    assert_int_equal(done, count);
    assert_results_of_singles(single, &keys, count, true);
    support_assert_same(batch, single);
    assert_int_equal(ask_shape(batch, shape, &others, COUNT, others.out, &done), PERHAPS_OK);
    assert_int_equal(done, COUNT);
    assert_results_of_singles(single, &others, COUNT, false);
    free_keys(&keys);
    free_keys(&others);
    perhaps_free(batch);
    perhaps_free(single);
}

// Small filters, which have false positives, and one larger than the caches, where batches fetch ahead.
static void test_batches_do_what_single_calls_do(void **state)
{
    static const size_t counts[] = {0, 1, 2, 15, 16, 17, 255, 256, 257, 512, 1000, COUNT};
    for (uint32_t kind = 1; perhaps_kind_name(kind) != NULL; kind++) {
        for (enum shape shape = 0; shape < SHAPES; shape++) {
            for (size_t i = 0; i < SUPPORT_COUNT(counts); i++) {
                assert_does_what_single_calls_do(kind, 600, shape, counts[i]);
            }
            assert_does_what_single_calls_do(kind, 30000000, shape, COUNT);
        }
    }
}

static void test_out_and_done_may_be_null(void **state)
{
    for (enum shape shape = 0; shape < SHAPES; shape++) {
        perhaps_filter *with = support_filter(5000, 0.01, 1);
        perhaps_filter *without = support_filter(5000, 0.01, 1);
        struct keys keys = make_keys(with, 0);
        size_t done;
        assert_int_equal(add_shape(with, shape, &keys, COUNT, keys.out, &done), PERHAPS_OK);
        assert_int_equal(add_shape(without, shape, &keys, COUNT, NULL, NULL), PERHAPS_OK);
        support_assert_same(with, without);
        assert_int_equal(ask_shape(with, shape, &keys, COUNT, keys.out, NULL), PERHAPS_OK);
        assert_int_equal(ask_shape(with, shape, &keys, COUNT, NULL, &done), PERHAPS_E_ARGUMENT);
        assert_int_equal(done, 0);
        free_keys(&keys);
        perhaps_free(with);
        perhaps_free(without);
    }
}

// A batch with a key that is none at `bad`: the keys before it are done, the others are not touched.
static void assert_stops_in(uint64_t capacity, const struct keys *keys, enum shape shape, size_t bad)
{
    perhaps_filter *filter = support_filter(capacity, 0.01, 11);
    perhaps_filter *expected = support_filter(capacity, 0.01, 11);
    uint8_t *out = support_allocate(COUNT);
    memset(out, 7, COUNT);
    size_t done = 999999;
    assert_int_equal(add_shape(filter, shape, keys, COUNT, out, &done), PERHAPS_E_ARGUMENT);
    assert_int_equal(done, bad);
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(i < bad ? out[i] <= 1 : out[i] == 7);
    }
    for (size_t i = 0; i < bad; i++) {
        assert_int_equal(perhaps_add(expected, keys->pointers[i], keys->lengths[i]), out[i]);
    }
    support_assert_same(filter, expected);

    memset(out, 7, COUNT);
    assert_int_equal(ask_shape(filter, shape, keys, COUNT, out, &done), PERHAPS_E_ARGUMENT);
    assert_int_equal(done, bad);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(out[i], i < bad ? 1 : 7);
    }
    free(out);
    perhaps_free(filter);
    perhaps_free(expected);
}

static void assert_stops(const struct keys *keys, enum shape shape, size_t bad)
{
    assert_stops_in(1000, keys, shape, bad);
    if (bad == 257) {
        assert_stops_in(10000000, keys, shape, bad); // larger than the caches
    }
}

static void test_stops_at_a_bad_key(void **state)
{
    static const size_t bad_keys[] = {0, 1, 15, 16, 17, 255, 256, 257, 1023, 1024, 1025, COUNT - 1};
    perhaps_filter *filter = support_filter(1000, 0.01, 11);
    for (size_t i = 0; i < SUPPORT_COUNT(bad_keys); i++) {
        size_t bad = bad_keys[i];
        struct keys keys = make_keys(filter, 0);
        keys.offsets[bad + 1] = keys.offsets[bad] - 1;
        assert_stops(&keys, OFFSETS, bad);
        const void *pointer = keys.pointers[bad];
        size_t length = keys.lengths[bad];
        keys.pointers[bad] = NULL;
        keys.lengths[bad] = 1;
        assert_stops(&keys, POINTERS, bad);
        keys.lengths[bad] = SIZE_MAX;
        assert_stops(&keys, POINTERS, bad);
        keys.pointers[bad] = pointer;
        keys.lengths[bad] = length;
        free_keys(&keys);
    }
    perhaps_free(filter);
}

// Without data only empty keys are keys.
static void test_no_data(void **state)
{
    perhaps_filter *filter = support_filter(10, 0.01, 0);
    const uint64_t empty[] = {5, 5, 5, 5};
    const uint64_t third[] = {5, 5, 5, 6};
    uint8_t out[3] = {7, 7, 7};
    size_t done = 0;
    assert_int_equal(perhaps_add_many(filter, NULL, empty, 3, out, &done), PERHAPS_OK);
    assert_int_equal(done, 3);
    assert_true(out[0] == 1 && out[1] == 0 && out[2] == 0);
    assert_int_equal(perhaps_might_contain(filter, "", 0), 1);
    assert_int_equal(perhaps_might_contain_many(filter, NULL, third, 3, out, &done), PERHAPS_E_ARGUMENT);
    assert_int_equal(done, 2);
    perhaps_free(filter);
}

static void assert_refused(perhaps_filter *filter, const struct keys *keys, size_t count)
{
    for (enum shape shape = 0; shape < SHAPES; shape++) {
        size_t done = 999999;
        assert_int_equal(add_shape(filter, shape, keys, count, keys->out, &done), PERHAPS_E_ARGUMENT);
        assert_int_equal(done, 0);
        done = 999999;
        assert_int_equal(ask_shape(filter, shape, keys, count, keys->out, &done), PERHAPS_E_ARGUMENT);
        assert_int_equal(done, 0);
        assert_int_equal(ask_shape(filter, shape, keys, count, keys->out, NULL), PERHAPS_E_ARGUMENT);
    }
}

static void test_arguments(void **state)
{
    perhaps_filter *filter = support_filter(10, 0.01, 0);
    struct support_bytes before = support_encode(filter);
    uint8_t out[1] = {9};
    const struct keys none = {.out = out};
    assert_refused(NULL, &none, 0);
    assert_refused(NULL, &none, 1);
    assert_refused(filter, &none, 1);
    size_t done = 999999;
    const void *pointers[] = {"a"};
    const size_t lengths[] = {1};
    assert_int_equal(perhaps_add_many_pointers(filter, pointers, NULL, 1, out, &done), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_add_many_pointers(filter, NULL, lengths, 1, out, &done), PERHAPS_E_ARGUMENT);
    assert_int_equal(out[0], 9);
    support_assert_unchanged(filter, before);
    free(before.data);
    perhaps_free(filter);
}

static void test_nothing_to_do(void **state)
{
    perhaps_filter *filter = support_filter(10, 0.01, 0);
    struct support_bytes before = support_encode(filter);
    const struct keys none = {0};
    for (enum shape shape = 0; shape < SHAPES; shape++) {
        size_t done = 999999;
        assert_int_equal(add_shape(filter, shape, &none, 0, NULL, &done), PERHAPS_OK);
        assert_int_equal(done, 0);
        done = 999999;
        assert_int_equal(ask_shape(filter, shape, &none, 0, NULL, &done), PERHAPS_OK);
        assert_int_equal(done, 0);
    }
    support_assert_unchanged(filter, before);
    free(before.data);
    perhaps_free(filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches_do_what_single_calls_do),
        cmocka_unit_test(test_out_and_done_may_be_null),
        cmocka_unit_test(test_stops_at_a_bad_key),
        cmocka_unit_test(test_no_data),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_nothing_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
