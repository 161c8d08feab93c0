// SPDX-License-Identifier: MIT
// The calls for many keys, on every kind and on both sides of the second-level cache: around the edges of the blocks that
// the pipeline works in they do what single calls do. test_batch.c has misuse.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#include "cpu.h"

// Bloom and counting with one position, few and many; every layout of blocked.
static const struct sort {
    uint32_t kind;
    double fpr;
} sorts[] = {
    {PERHAPS_KIND_BLOOM, 0.5},     {PERHAPS_KIND_BLOOM, 0.25},    {PERHAPS_KIND_BLOOM, 0.01},
    {PERHAPS_KIND_BLOOM, 1e-6},    {PERHAPS_KIND_BLOCKED, 0.25},  {PERHAPS_KIND_BLOCKED, 0.01},
    {PERHAPS_KIND_BLOCKED, 0.001}, {PERHAPS_KIND_BLOCKED, 1e-5},  {PERHAPS_KIND_COUNTING, 0.5},
    {PERHAPS_KIND_COUNTING, 0.25}, {PERHAPS_KIND_COUNTING, 0.01}, {PERHAPS_KIND_COUNTING, 1e-6},
};

// Small ones are full enough to have false positives; large ones do not fit the second-level cache, nor four of it, which
// is where k independent accesses still count as near.
static perhaps_filter *make(const struct sort *sort, bool large)
{
    perhaps_filter *filter =
        support_create(&SUPPORT_OPTIONS(.kind = sort->kind, .fpr = sort->fpr, .capacity = large ? 0 : 3000, .seed = 42,
                                        .bytes = large ? 4 * perhaps__cpu_l2_bytes() + 4096 : 0));
    assert_true(large == (support_stats(filter).bytes > 4 * perhaps__cpu_l2_bytes()));
    return filter;
}

enum shape { OFFSETS, POINTERS, HASHES, SHAPES };

// Keys in every shape, in arrays of exactly the size needed, so that AddressSanitizer sees a read beyond them.
struct keys {
    size_t count;
    uint8_t *data;
    uint64_t *offsets;
    const void **pointers;
    size_t *lengths;
    uint64_t *hashes;
    uint8_t *out;
};

static void *allocate(size_t size)
{
    void *memory = malloc(size > 0 ? size : 1);
    assert_non_null(memory);
    return memory;
}

// Every third key is one that was there before, and some follow each other.
static struct keys make_keys(const perhaps_filter *filter, uint64_t first, size_t count)
{
    struct keys keys = {
        .count = count,
        .offsets = allocate((count + 1) * sizeof *keys.offsets),
        .pointers = allocate(count * sizeof *keys.pointers),
        .lengths = allocate(count * sizeof *keys.lengths),
        .hashes = allocate(count * sizeof *keys.hashes),
        .out = allocate(count),
    };
    uint8_t key[SUPPORT_KEY_MAX];
    keys.offsets[0] = 0;
    for (size_t i = 0; i < count; i++) {
        keys.lengths[i] = support_key(SUPPORT_DECIMALS, first + (i % 3 == 0 ? i / 2 : i), key);
        keys.offsets[i + 1] = keys.offsets[i] + keys.lengths[i];
        assert_int_equal(perhaps_hash(filter, key, keys.lengths[i], &keys.hashes[i]), PERHAPS_OK);
    }
    keys.data = allocate((size_t)keys.offsets[count]);
    for (size_t i = 0; i < count; i++) {
        keys.pointers[i] = keys.data + keys.offsets[i];
        (void)support_key(SUPPORT_DECIMALS, first + (i % 3 == 0 ? i / 2 : i), key);
        memcpy(keys.data + keys.offsets[i], key, keys.lengths[i]);
    }
    memset(keys.out, 7, count);
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

static int add(perhaps_filter *filter, enum shape shape, const struct keys *keys, size_t *done)
{
    if (shape == OFFSETS) {
        return perhaps_add_many(filter, keys->data, keys->offsets, keys->count, keys->out, done);
    }
    if (shape == POINTERS) {
        return perhaps_add_many_pointers(filter, keys->pointers, keys->lengths, keys->count, keys->out, done);
    }
    return perhaps_add_many_hash(filter, keys->hashes, keys->count, keys->out, done);
}

static int ask(const perhaps_filter *filter, enum shape shape, const struct keys *keys, size_t *done)
{
    if (shape == OFFSETS) {
        return perhaps_might_contain_many(filter, keys->data, keys->offsets, keys->count, keys->out, done);
    }
    if (shape == POINTERS) {
        return perhaps_might_contain_many_pointers(filter, keys->pointers, keys->lengths, keys->count, keys->out, done);
    }
    return perhaps_might_contain_many_hash(filter, keys->hashes, keys->count, keys->out, done);
}

// The first `count` results are those of single calls on `twin`, the others were not written.
static void assert_results(perhaps_filter *twin, const struct keys *keys, size_t count, bool adding)
{
    for (size_t i = 0; i < count; i++) {
        int expected = adding ? perhaps_add_hash(twin, keys->hashes[i]) : perhaps_ask_hash(twin, keys->hashes[i]);
        if (keys->out[i] != expected) {
            fail_msg("key %zu of %zu: %u, a single call says %d", i, keys->count, keys->out[i], expected);
        }
        assert_true(adding || perhaps_might_contain_hash(twin, keys->hashes[i]) == expected);
    }
    for (size_t i = count; i < keys->count; i++) {
        assert_int_equal(keys->out[i], 7);
    }
}

static void check_count(perhaps_filter *filter, perhaps_filter *twin, enum shape shape, uint64_t first, size_t count)
{
    struct keys keys = make_keys(filter, first, count);
    size_t done = 999999;
    assert_int_equal(ask(filter, shape, &keys, &done), PERHAPS_OK);
    assert_int_equal(done, count);
    assert_results(twin, &keys, count, false);
    memset(keys.out, 7, count);
    assert_int_equal(add(filter, shape, &keys, &done), PERHAPS_OK);
    assert_int_equal(done, count);
    assert_results(twin, &keys, count, true);
    assert_int_equal(ask(filter, shape, &keys, &done), PERHAPS_OK);
    assert_results(twin, &keys, count, false);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(keys.out[i], 1);
    }
    free_keys(&keys);
}

static const size_t counts[] = {0,   1,   2,   7,    8,    9,    127,  128,  129,  255, 256,
                                257, 511, 513, 1023, 1024, 1025, 2047, 2048, 2049, 5000};

static void check_counts(const struct sort *sort, bool large)
{
    for (enum shape shape = 0; shape < SHAPES; shape++) {
        perhaps_filter *filter = make(sort, large);
        perhaps_filter *twin = make(sort, large);
        uint64_t first = 0;
        for (size_t i = 0; i < SUPPORT_COUNT(counts); i++) {
            check_count(filter, twin, shape, first, counts[i]);
            first += counts[i] / 2; // half of the next keys are there already
        }
        support_assert_same(filter, twin);
        perhaps_free(filter);
        perhaps_free(twin);
    }
}

static void test_in_cache(void **state)
{
    for (size_t i = 0; i < SUPPORT_COUNT(sorts); i++) {
        check_counts(&sorts[i], false);
    }
}

static void test_beyond_cache(void **state)
{
    for (size_t i = 0; i < SUPPORT_COUNT(sorts); i++) {
        check_counts(&sorts[i], true);
    }
}

// Large batches into large filters, with results and without: however they are cut up and ordered inside, repetitions
// far apart included, the first of equal keys is the new one.
static void test_large_batches(void **state)
{
    const size_t count = SUPPORT_SCALED((size_t)300000);
    for (size_t i = 0; i < SUPPORT_COUNT(sorts); i++) {
        perhaps_filter *filter = make(&sorts[i], true);
        perhaps_filter *silent = make(&sorts[i], true);
        perhaps_filter *twin = make(&sorts[i], true);
        check_count(filter, twin, HASHES, 0, count);
        check_count(filter, twin, OFFSETS, count / 2, count);
        support_assert_same(filter, twin);
        for (uint64_t first = 0; first <= count / 2; first += count / 2) {
            struct keys keys = make_keys(silent, first, count);
            assert_int_equal(perhaps_add_many_hash(silent, keys.hashes, count, NULL, NULL), PERHAPS_OK);
            free_keys(&keys);
        }
        support_assert_same(silent, twin);
        perhaps_free(filter);
        perhaps_free(silent);
        perhaps_free(twin);
    }
}

// A key that is none at every edge of a block: those before it are done, the others untouched.
static void check_bad_key(const struct sort *sort, bool large, enum shape shape, size_t bad)
{
    perhaps_filter *filter = make(sort, large);
    perhaps_filter *twin = make(sort, large);
    struct keys keys = make_keys(filter, 0, 2500);
    keys.offsets[bad + 1] = keys.offsets[bad] - 1;
    keys.pointers[bad] = NULL;
    size_t done = 999999;
    assert_int_equal(add(filter, shape, &keys, &done), PERHAPS_E_ARGUMENT);
    assert_int_equal(done, bad);
    assert_results(twin, &keys, bad, true);
    support_assert_same(filter, twin);
    memset(keys.out, 7, keys.count);
    assert_int_equal(ask(filter, shape, &keys, &done), PERHAPS_E_ARGUMENT);
    assert_int_equal(done, bad);
    assert_results(twin, &keys, bad, false);
    free_keys(&keys);
    perhaps_free(filter);
    perhaps_free(twin);
}

static void test_stops_at_a_bad_key(void **state)
{
    static const size_t places[] = {1, 127, 128, 129, 255, 256, 257, 1022, 1023, 1024, 1025, 2047, 2048, 2499};
    static const struct sort both[] = {{PERHAPS_KIND_BLOOM, 0.01}, {PERHAPS_KIND_BLOCKED, 0.01}};
    for (size_t i = 0; i < SUPPORT_COUNT(both); i++) {
        for (size_t j = 0; j < SUPPORT_COUNT(places); j++) {
            for (enum shape shape = OFFSETS; shape <= POINTERS; shape++) {
                check_bad_key(&both[i], false, shape, places[j]);
                check_bad_key(&both[i], true, shape, places[j]);
            }
        }
    }
}

// On a mapped file: the same answers, and nothing is added.
static void check_mapped(const struct sort *sort, bool large, const char *path)
{
    perhaps_filter *made = make(sort, large);
    support_add_keys(made, SUPPORT_DECIMALS, 0, 3000);
    support_save(made, path);
    perhaps_filter *mapped = support_open(path, 0);
    struct keys keys = make_keys(made, 1500, 5000);
    for (enum shape shape = 0; shape < SHAPES; shape++) {
        size_t done = 999999;
        memset(keys.out, 7, keys.count);
        assert_int_equal(add(mapped, shape, &keys, &done), PERHAPS_E_READ_ONLY);
        assert_int_equal(done, 0);
        assert_int_equal(keys.out[0], 7);
        assert_int_equal(ask(mapped, shape, &keys, &done), PERHAPS_OK);
        assert_int_equal(done, keys.count);
        assert_results(made, &keys, keys.count, false);
        assert_results(mapped, &keys, keys.count, false);
    }
    support_assert_same(made, mapped);
    free_keys(&keys);
    perhaps_free(mapped);
    perhaps_free(made);
}

static void test_mapped_filters(void **state)
{
    char *path = support_path(state, "filter");
    for (size_t i = 0; i < SUPPORT_COUNT(sorts); i++) {
        check_mapped(&sorts[i], false, path);
        check_mapped(&sorts[i], true, path);
    }
    free(path);
}

// perhaps_ask_hash() after everything that makes or changes a filter.
static void assert_asks_alike(const perhaps_filter *filter)
{
    uint64_t present = 0;
    for (uint64_t hash = 0; hash < 4000; hash++) {
        int answer = perhaps_might_contain_hash(filter, hash);
        assert_int_equal(perhaps_ask_hash(filter, hash), answer);
        present += answer == 1;
    }
    assert_true(present == 0 || (present >= 2000 && present < 4000));
}

static void test_ask_hash(void **state)
{
    for (size_t i = 0; i < SUPPORT_COUNT(sorts); i++) {
        perhaps_filter *filter = make(&sorts[i], false);
        perhaps_filter *other = make(&sorts[i], false);
        assert_asks_alike(filter);
        for (uint64_t hash = 0; hash < 2000; hash++) {
            assert_true(perhaps_add_hash(hash % 2 == 0 ? filter : other, hash) >= 0);
        }
        assert_int_equal(perhaps_merge(filter, other, NULL), PERHAPS_OK);
        assert_asks_alike(filter);
        struct support_bytes bytes = support_encode(filter);
        perhaps_filter *copy = support_decode(bytes.data, bytes.size);
        assert_asks_alike(copy);
        for (uint64_t hash = 0; hash < 4000; hash++) {
            assert_int_equal(perhaps_ask_hash(copy, hash), perhaps_ask_hash(filter, hash));
        }
        assert_int_equal(perhaps_clear(copy), PERHAPS_OK);
        assert_asks_alike(copy);
        free(bytes.data);
        perhaps_free(copy);
        perhaps_free(other);
        perhaps_free(filter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_cache),
        cmocka_unit_test(test_beyond_cache),
        cmocka_unit_test(test_large_batches),
        cmocka_unit_test(test_stops_at_a_bad_key),
        cmocka_unit_test_setup_teardown(test_mapped_filters, support_make_directory, support_remove_directory),
        cmocka_unit_test(test_ask_hash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
