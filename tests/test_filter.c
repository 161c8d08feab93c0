// SPDX-License-Identifier: MIT
// The verbs for one key, clear, metadata and statistics of one filter, and that a call which fails changes nothing.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

static int add(perhaps_filter *filter, const char *key)
{
    return perhaps_add(filter, key, strlen(key));
}

static int ask(const perhaps_filter *filter, const char *key)
{
    return perhaps_might_contain(filter, key, strlen(key));
}

static perhaps_filter *caller_filter(void)
{
    return support_create(&SUPPORT_OPTIONS(.capacity = 100, .fpr = 0.01, .hash_source = PERHAPS_HASH_CALLER));
}

static void test_one_key(void **state)
{
    perhaps_filter *filter = support_filter(1000, 0.001, 0);
    assert_int_equal(ask(filter, "alice"), 0);
    assert_int_equal(add(filter, "alice"), 1);
    assert_int_equal(ask(filter, "alice"), 1);
    assert_int_equal(ask(filter, "bob"), 0);
    assert_int_equal(ask(filter, "Alice"), 0);
    assert_int_equal(ask(filter, "alice "), 0);
    perhaps_free(filter);
}

static void test_empty_filter_answers_absent(void **state)
{
    static const uint64_t capacities[] = {1, 10, 1000, 100000};
    for (size_t i = 0; i < SUPPORT_COUNT(capacities); i++) {
        perhaps_filter *filter = support_filter(capacities[i], 0.5, i);
        for (enum support_family family = 0; family < SUPPORT_FAMILIES; family++) {
            assert_int_equal(support_count_present(filter, family, 0, SUPPORT_SCALED(20000)), 0);
        }
        assert_int_equal(perhaps_might_contain(filter, NULL, 0), 0);
        perhaps_free(filter);
    }
}

// A second add of a key finds all its bits set: the filter keeps its bytes, and says that it did.
static void test_adding_twice_changes_nothing(void **state)
{
    perhaps_filter *filter = support_filter(500, 0.01, 7);
    uint64_t changed = 0;
    uint8_t key[SUPPORT_KEY_MAX];
    for (uint64_t i = 0; i < 500; i++) {
        int was_there = perhaps_might_contain(filter, key, support_key(SUPPORT_WORDS, i, key));
        int result = perhaps_add(filter, key, support_key(SUPPORT_WORDS, i, key));
        assert_int_equal(result, !was_there);
        changed += result == 1;
        assert_int_equal(support_stats(filter).adds, changed);
    }
    struct support_bytes once = support_encode(filter);
    for (uint64_t i = 0; i < 500; i++) {
        assert_int_equal(perhaps_add(filter, key, support_key(SUPPORT_WORDS, i, key)), 0);
    }
    support_assert_unchanged(filter, once);
    free(once.data);
    perhaps_free(filter);
}

static void test_seed_decides_the_bytes(void **state)
{
    static const uint64_t seeds[] = {0, 1, 2, 42, UINT64_C(1) << 63, UINT64_MAX};
    struct support_bytes files[SUPPORT_COUNT(seeds)];
    for (size_t i = 0; i < SUPPORT_COUNT(seeds); i++) {
        perhaps_filter *filter = support_filter(100, 0.01, seeds[i]);
        perhaps_filter *again = support_filter(100, 0.01, seeds[i]);
        support_add_keys(filter, SUPPORT_URLS, 0, 100);
        support_add_keys(again, SUPPORT_URLS, 0, 100);
        support_assert_same(filter, again);
        assert_true(support_stats(filter).seed == seeds[i]);
        files[i] = support_encode(filter);
        perhaps_free(filter);
        perhaps_free(again);
    }
    const size_t payload = (size_t)support_size(100, 0.01, 0).bytes;
    for (size_t i = 0; i < SUPPORT_COUNT(seeds); i++) {
        for (size_t j = 0; j < i; j++) {
            const uint8_t *a = files[i].data + files[i].size - payload;
            const uint8_t *b = files[j].data + files[j].size - payload;
            assert_memory_not_equal(a, b, payload);
        }
    }
    for (size_t i = 0; i < SUPPORT_COUNT(seeds); i++) {
        free(files[i].data);
    }
}

// Order does not matter to a Bloom filter's bits.
static void test_order_does_not_matter(void **state)
{
    perhaps_filter *forwards = support_filter(1000, 0.01, 0);
    perhaps_filter *backwards = support_filter(1000, 0.01, 0);
    support_add_keys(forwards, SUPPORT_DIGESTS, 0, 300);
    for (uint64_t i = 300; i > 0; i--) {
        support_add_keys(backwards, SUPPORT_DIGESTS, i - 1, 1);
    }
    support_assert_same(forwards, backwards);
    perhaps_free(forwards);
    perhaps_free(backwards);
}

struct odd_key {
    const char *bytes;
    size_t length;
};

static void test_keys_of_every_shape(void **state)
{
    const size_t mebibyte = (size_t)1 << 20;
    char *large = support_allocate(mebibyte);
    memset(large, 'x', mebibyte);
    const struct odd_key keys[] = {
        {"", 0},     {NULL, 0},         {"\0", 1},         {"\0\0", 2},      {"a", 1},
        {"a\0", 2},  {"a\0b", 3},       {"a\nb", 3},       {"a\r\n", 3},     {"\n", 1},
        {"\xff", 1}, {"\xff\xfe\0", 3}, {large, mebibyte}, {large, 1048575}, {" ", 1},
    };
    for (size_t i = 0; i < SUPPORT_COUNT(keys); i++) {
        perhaps_filter *filter = support_filter(1000, 1e-6, 0);
        assert_int_equal(perhaps_add(filter, keys[i].bytes, keys[i].length), 1);
        for (size_t j = 0; j < SUPPORT_COUNT(keys); j++) {
            bool same = i == j || (keys[i].length == 0 && keys[j].length == 0);
            assert_int_equal(perhaps_might_contain(filter, keys[j].bytes, keys[j].length), same);
        }
        perhaps_free(filter);
    }
    perhaps_filter *filter = support_filter(1000, 1e-6, 0);
    large[mebibyte - 1] = 'y'; // the last byte counts
    assert_int_equal(perhaps_add(filter, large, mebibyte), 1);
    large[mebibyte - 1] = 'x';
    assert_int_equal(perhaps_might_contain(filter, large, mebibyte), 0);
    perhaps_free(filter);
    free(large);
}

static void test_hash_calls_agree_with_byte_calls(void **state)
{
    perhaps_filter *bytes = support_filter(500, 0.05, 99);
    perhaps_filter *hashes = support_filter(500, 0.05, 99);
    uint8_t key[SUPPORT_KEY_MAX];
    for (uint64_t i = 0; i < 1000; i++) {
        size_t length = support_key((enum support_family)(i % SUPPORT_FAMILIES), i, key);
        uint64_t hash = 0;
        assert_int_equal(perhaps_hash(bytes, key, length, &hash), PERHAPS_OK);
        assert_int_equal(perhaps_might_contain(bytes, key, length), perhaps_might_contain_hash(hashes, hash));
        assert_int_equal(perhaps_ask_hash(hashes, hash), perhaps_might_contain_hash(hashes, hash));
        if (i % 2 == 0) {
            assert_int_equal(perhaps_add(bytes, key, length), perhaps_add_hash(hashes, hash));
            assert_int_equal(perhaps_might_contain_hash(bytes, hash), 1);
            assert_int_equal(perhaps_ask_hash(bytes, hash), 1);
            assert_int_equal(perhaps_might_contain(hashes, key, length), 1);
        }
    }
    support_assert_same(bytes, hashes);
    perhaps_free(bytes);
    perhaps_free(hashes);
}

// Plain integers and numbers that differ only in their top or only in their bottom bits are good hashes.
static void test_caller_hashes(void **state)
{
    static const unsigned shifts[] = {0, 20, 48};
    for (size_t i = 0; i < SUPPORT_COUNT(shifts); i++) {
        perhaps_filter *filter =
            support_create(&SUPPORT_OPTIONS(.capacity = 10000, .fpr = 0.01, .hash_source = PERHAPS_HASH_CALLER));
        for (uint64_t j = 0; j < 10000; j++) {
            assert_true(perhaps_add_hash(filter, j << shifts[i]) >= 0);
        }
        uint64_t wrong = 0;
        for (uint64_t j = 0; j < 20000; j++) {
            int answer = perhaps_might_contain_hash(filter, j << shifts[i]);
            assert_true(answer == 1 || j >= 10000);
            wrong += j >= 10000 && answer == 1;
        }
        assert_in_range(wrong, 50, 150); // 100 expected, standard deviation 10
        perhaps_free(filter);
    }
}

static void test_caller_filters_refuse_bytes(void **state)
{
    perhaps_filter *filter = caller_filter();
    uint64_t hash = 12345;
    const void *keys[] = {"a"};
    const size_t lengths[] = {1};
    const uint64_t offsets[] = {0, 1};
    uint8_t out[1] = {9};
    size_t done = 9;
    struct support_bytes before = support_encode(filter);
    assert_int_equal(add(filter, "a"), PERHAPS_E_UNSUPPORTED);
    assert_int_equal(ask(filter, "a"), PERHAPS_E_UNSUPPORTED);
    assert_int_equal(perhaps_hash(filter, "a", 1, &hash), PERHAPS_E_UNSUPPORTED);
    assert_int_equal(hash, 12345);
    assert_int_equal(perhaps_add_many(filter, "a", offsets, 1, out, &done), PERHAPS_E_UNSUPPORTED);
    assert_int_equal(done, 0);
    assert_int_equal(perhaps_might_contain_many(filter, "a", offsets, 1, out, &done), PERHAPS_E_UNSUPPORTED);
    assert_int_equal(perhaps_add_many_pointers(filter, keys, lengths, 1, out, &done), PERHAPS_E_UNSUPPORTED);
    assert_int_equal(perhaps_might_contain_many_pointers(filter, keys, lengths, 1, out, &done), PERHAPS_E_UNSUPPORTED);
    assert_int_equal(out[0], 9);
    support_assert_unchanged(filter, before);
    assert_int_equal(perhaps_add_hash(filter, 0), 1);
    assert_int_equal(perhaps_might_contain_hash(filter, 0), 1);
    assert_int_equal(perhaps_might_contain_hash(filter, 1), 0);
    free(before.data);
    perhaps_free(filter);
}

static void test_arguments(void **state)
{
    perhaps_filter *filter = support_filter(10, 0.01, 0);
    struct support_bytes before = support_encode(filter);
    uint64_t hash = 77;
    assert_int_equal(perhaps_add(NULL, "a", 1), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_add(filter, NULL, 1), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_add_hash(NULL, 1), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_might_contain(NULL, "a", 1), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_might_contain(filter, NULL, 1), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_might_contain_hash(NULL, 1), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_hash(NULL, "a", 1, &hash), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_hash(filter, NULL, 1, &hash), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_hash(filter, "a", 1, NULL), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_clear(NULL), PERHAPS_E_ARGUMENT);
    assert_int_equal(hash, 77);
    support_assert_unchanged(filter, before);
    perhaps_free(NULL);
    free(before.data);
    perhaps_free(filter);
}

static void test_clear_gives_a_new_filter(void **state)
{
    perhaps_filter *fresh = support_filter(200, 0.01, 3);
    perhaps_filter *used = support_filter(200, 0.01, 3);
    assert_int_equal(perhaps_set_metadata(fresh, "kept", 4), PERHAPS_OK);
    assert_int_equal(perhaps_set_metadata(used, "kept", 4), PERHAPS_OK);
    support_add_keys(used, SUPPORT_WORDS, 0, 500);
    assert_int_equal(perhaps_clear(used), PERHAPS_OK);
    assert_int_equal(support_count_present(used, SUPPORT_WORDS, 0, 500), 0);
    support_assert_same(fresh, used);

    // Also after a merge, which had made the count inexact.
    perhaps_filter *other = support_filter(200, 0.01, 3);
    assert_int_equal(add(other, "x"), 1);
    assert_int_equal(add(used, "y"), 1);
    assert_int_equal(perhaps_merge(used, other, NULL), PERHAPS_OK);
    assert_int_equal(support_stats(used).adds_exact, 0);
    assert_int_equal(perhaps_clear(used), PERHAPS_OK);
    assert_int_equal(support_stats(used).adds_exact, 1);
    support_assert_same(fresh, used);
    perhaps_free(fresh);
    perhaps_free(used);
    perhaps_free(other);
}

static void assert_metadata(const perhaps_filter *filter, const void *expected, size_t expected_length)
{
    const void *metadata = &expected; // anything but NULL
    size_t length = 99;
    assert_int_equal(perhaps_metadata(filter, &metadata, &length), PERHAPS_OK);
    assert_int_equal(length, expected_length);
    if (expected_length == 0) {
        assert_null(metadata);
    } else {
        assert_memory_equal(metadata, expected, expected_length);
    }
}

static void test_metadata(void **state)
{
    perhaps_filter *filter = support_filter(10, 0.01, 0);
    uint8_t *large = support_allocate(PERHAPS_METADATA_MAX + 1);
    for (size_t i = 0; i <= PERHAPS_METADATA_MAX; i++) {
        large[i] = (uint8_t)(i * 7);
    }
    struct support_bytes bare = support_encode(filter);
    assert_metadata(filter, NULL, 0);
    assert_int_equal(perhaps_set_metadata(filter, "a\0b", 3), PERHAPS_OK);
    assert_metadata(filter, "a\0b", 3);
    assert_int_equal(perhaps_set_metadata(filter, large, PERHAPS_METADATA_MAX), PERHAPS_OK);
    assert_metadata(filter, large, PERHAPS_METADATA_MAX);

    struct support_bytes before = support_encode(filter);
    assert_int_equal(perhaps_set_metadata(filter, large, PERHAPS_METADATA_MAX + 1), PERHAPS_E_LIMIT);
    assert_int_equal(perhaps_set_metadata(filter, large, SIZE_MAX), PERHAPS_E_LIMIT);
    assert_int_equal(perhaps_set_metadata(filter, NULL, 1), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_set_metadata(NULL, "a", 1), PERHAPS_E_ARGUMENT);
    support_assert_unchanged(filter, before);

    perhaps_filter *copy = support_decode(before.data, before.size);
    assert_metadata(copy, large, PERHAPS_METADATA_MAX);
    assert_int_equal(perhaps_set_metadata(filter, NULL, 0), PERHAPS_OK);
    assert_metadata(filter, NULL, 0);
    support_assert_unchanged(filter, bare);

    const void *metadata = large;
    size_t length = 5;
    assert_int_equal(perhaps_metadata(NULL, &metadata, &length), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_metadata(filter, NULL, &length), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_metadata(filter, &metadata, NULL), PERHAPS_E_ARGUMENT);
    assert_ptr_equal(metadata, large);
    assert_int_equal(length, 5);
    free(bare.data);
    free(before.data);
    free(large);
    perhaps_free(copy);
    perhaps_free(filter);
}

static void assert_position(const perhaps_filter *filter, const void *expected, size_t expected_length)
{
    const void *position = &expected; // anything but NULL
    size_t length = 99;
    assert_int_equal(perhaps_position(filter, &position, &length), PERHAPS_OK);
    assert_int_equal(length, expected_length);
    if (expected_length == 0) {
        assert_null(position);
    } else {
        assert_memory_equal(position, expected, expected_length);
    }
}

static void test_position(void **state)
{
    perhaps_filter *filter = support_filter(10, 0.01, 0);
    uint8_t *large = support_allocate(PERHAPS_POSITION_MAX + 1);
    memset(large, 0x5a, PERHAPS_POSITION_MAX + 1);
    struct support_bytes bare = support_encode(filter);
    assert_position(filter, NULL, 0);
    assert_int_equal(perhaps_set_position(filter, large, PERHAPS_POSITION_MAX), PERHAPS_OK);
    assert_int_equal(perhaps_set_metadata(filter, "of t", 4), PERHAPS_OK);
    struct support_bytes before = support_encode(filter);
    assert_int_equal(perhaps_set_position(filter, large, PERHAPS_POSITION_MAX + 1), PERHAPS_E_LIMIT);
    assert_int_equal(perhaps_set_position(filter, NULL, 1), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_set_position(NULL, "a", 1), PERHAPS_E_ARGUMENT);
    const void *found = NULL;
    assert_int_equal(perhaps_position(NULL, &found, &(size_t){0}), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_position(filter, NULL, &(size_t){0}), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_position(filter, &found, NULL), PERHAPS_E_ARGUMENT);
    support_assert_unchanged(filter, before);

    perhaps_filter *copy = support_decode(before.data, before.size);
    assert_position(copy, large, PERHAPS_POSITION_MAX);
    assert_metadata(copy, "of t", 4);
    support_assert_unchanged(copy, before);
    assert_int_equal(perhaps_set_metadata(filter, NULL, 0), PERHAPS_OK);
    assert_int_equal(perhaps_set_position(filter, NULL, 0), PERHAPS_OK);
    assert_position(filter, NULL, 0);
    support_assert_unchanged(filter, bare);
    free(bare.data);
    free(before.data);
    free(large);
    perhaps_free(copy);
    perhaps_free(filter);
}

// A position says that the filter holds what the store had there. An empty one does not.
static void test_clear_drops_the_position(void **state)
{
    perhaps_filter *filter = support_filter(10, 0.01, 0);
    struct support_bytes bare = support_encode(filter);
    assert_int_equal(perhaps_set_position(filter, "17", 2), PERHAPS_OK);
    assert_true(perhaps_add(filter, "a", 1) >= 0);
    assert_int_equal(perhaps_clear(filter), PERHAPS_OK);
    assert_position(filter, NULL, 0);
    support_assert_unchanged(filter, bare);
    free(bare.data);
    perhaps_free(filter);
}

// Merging keeps that of the filter that is merged into.
static void test_position_of_a_merge(void **state)
{
    perhaps_filter *into = support_filter(10, 0.01, 0);
    perhaps_filter *from = support_filter(10, 0.01, 0);
    assert_int_equal(perhaps_set_position(into, "17", 2), PERHAPS_OK);
    assert_int_equal(perhaps_set_position(from, "200", 3), PERHAPS_OK);
    assert_int_equal(perhaps_merge(into, from, NULL), PERHAPS_OK);
    assert_position(into, "17", 2);
    perhaps_free(into);
    perhaps_free(from);
}

// The filter's own bytes may be what its metadata is set to.
static void test_metadata_from_itself(void **state)
{
    perhaps_filter *filter = support_filter(10, 0.01, 0);
    const void *metadata;
    size_t length;
    assert_int_equal(perhaps_set_metadata(filter, "0123456789", 10), PERHAPS_OK);
    assert_int_equal(perhaps_metadata(filter, &metadata, &length), PERHAPS_OK);
    assert_int_equal(perhaps_set_metadata(filter, (const char *)metadata + 5, 5), PERHAPS_OK);
    assert_metadata(filter, "56789", 5);
    perhaps_free(filter);
}

// Every field of the statistics against what follows from options and bits.
static void test_statistics(void **state)
{
    perhaps_filter *filter = support_create(&SUPPORT_OPTIONS(.capacity = 1000, .fpr = 0.01, .seed = 5));
    support_add_keys(filter, SUPPORT_DIGESTS, 0, 1000);
    perhaps_statistics s = support_stats(filter);
    struct support_bytes bytes = support_encode(filter);
    uint64_t set = 0;
    for (size_t i = bytes.size - s.bytes; i < bytes.size; i++) {
        set += (uint64_t)__builtin_popcount(bytes.data[i]);
    }
    assert_int_equal(s.size, sizeof s);
    assert_int_equal(s.kind, PERHAPS_KIND_BLOOM);
    assert_int_equal(s.hash_source, PERHAPS_HASH_XXH3);
    assert_int_equal(s.seed, 5);
    assert_int_equal(s.capacity, 1000);
    assert_in_range(s.adds, 970, 1000);
    assert_int_equal(s.adds_exact, 1);
    assert_int_equal(s.layers, 1);
    assert_int_equal(s.positions, support_size(1000, 0.01, 0).positions);
    assert_int_equal(s.format_version, PERHAPS_FORMAT_VERSION);
    assert_int_equal(s.bits % 512, 0);
    assert_int_equal(s.bytes, s.bits / 8);
    assert_int_equal(s.set_bits, set);
    assert_int_equal(s.encoded_bytes, bytes.size);
    assert_true(s.fpr_target == 0.01);
    assert_true(s.fill == (double)set / (double)s.bits);
    assert_true(s.bits_per_key == (double)s.bits / 1000.0);
    assert_true(fabs(s.fpr_now / pow(s.fill, s.positions) - 1.0) < 1e-12);
    assert_true(fabs(s.distinct_estimate / (-(double)s.bits / s.positions * log(1.0 - s.fill)) - 1.0) < 1e-12);
    free(bytes.data);
    perhaps_free(filter);
}

static void test_statistics_at_the_ends(void **state)
{
    perhaps_filter *filter = support_filter(1, 0.5, 0);
    perhaps_statistics s = support_stats(filter);
    assert_true(s.fill == 0.0 && s.fpr_now == 0.0 && s.distinct_estimate == 0.0 && !signbit(s.distinct_estimate));
    assert_int_equal(s.set_bits + s.adds, 0);
    support_add_keys(filter, SUPPORT_INTEGERS, 0, 20000); // 512 bits: all of them are set
    s = support_stats(filter);
    assert_int_equal(s.set_bits, s.bits);
    assert_true(s.fill == 1.0 && s.fpr_now == 1.0 && isinf(s.distinct_estimate));
    assert_int_equal(support_count_present(filter, SUPPORT_INTEGERS, SUPPORT_ABSENT, 1000), 1000);
    support_assert_same(filter, filter);
    perhaps_free(filter);
}

static void test_read_only_refuses_changes(void **state)
{
    perhaps_filter *made = support_filter(100, 0.01, 0);
    assert_int_equal(add(made, "alice"), 1);
    char *path = support_path(state, "filter");
    support_save(made, path);
    perhaps_filter *filter = support_open(path, 0);
    struct support_bytes before = support_encode(filter);
    const uint64_t offsets[] = {0, 1};
    const uint64_t hashes[] = {1};
    const void *keys[] = {"k"};
    const size_t lengths[] = {1};
    size_t done = 5;
    assert_int_equal(add(filter, "bob"), PERHAPS_E_READ_ONLY);
    assert_int_equal(add(filter, "alice"), PERHAPS_E_READ_ONLY);
    assert_int_equal(perhaps_add_hash(filter, 1), PERHAPS_E_READ_ONLY);
    assert_int_equal(perhaps_add_many(filter, "k", offsets, 1, NULL, &done), PERHAPS_E_READ_ONLY);
    assert_int_equal(done, 0);
    assert_int_equal(perhaps_add_many_hash(filter, hashes, 1, NULL, &done), PERHAPS_E_READ_ONLY);
    assert_int_equal(perhaps_add_many_pointers(filter, keys, lengths, 1, NULL, &done), PERHAPS_E_READ_ONLY);
    assert_int_equal(perhaps_clear(filter), PERHAPS_E_READ_ONLY);
    assert_int_equal(perhaps_set_metadata(filter, "x", 1), PERHAPS_E_READ_ONLY);
    assert_int_equal(perhaps_set_metadata(filter, NULL, 0), PERHAPS_E_READ_ONLY);
    assert_int_equal(perhaps_set_position(filter, "x", 1), PERHAPS_E_READ_ONLY);
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_merge(filter, made, &error), PERHAPS_E_READ_ONLY, &error);
    support_assert_unchanged(filter, before);
    assert_int_equal(ask(filter, "alice"), 1);
    assert_int_equal(ask(filter, "bob"), 0);
    uint64_t hash = 0;
    assert_int_equal(perhaps_hash(filter, "alice", 5, &hash), PERHAPS_OK);
    assert_int_equal(perhaps_ask_hash(filter, hash), 1);
    assert_int_equal(perhaps_merge(made, filter, NULL), PERHAPS_OK); // reading from a view is fine
    free(before.data);
    free(path);
    perhaps_free(filter);
    perhaps_free(made);
}

// Independent filters do not disturb each other, and the same calls give the same bytes with any allocator.
static void test_allocator_does_not_matter(void **state)
{
    struct support_memory memory = {0};
    perhaps_allocator allocator = support_memory_allocator(&memory);
    perhaps_filter *counted = support_create(&SUPPORT_OPTIONS(.capacity = 300, .fpr = 0.02, .allocator = &allocator));
    perhaps_filter *plain = support_filter(300, 0.02, 0);
    memset(&allocator, 0, sizeof allocator); // the library keeps a copy
    support_add_keys(counted, SUPPORT_UUIDS, 0, 300);
    support_add_keys(plain, SUPPORT_UUIDS, 0, 300);
    assert_int_equal(perhaps_set_metadata(counted, "m", 1), PERHAPS_OK);
    assert_int_equal(perhaps_set_metadata(plain, "m", 1), PERHAPS_OK);
    support_assert_same(counted, plain);
    assert_in_range(memory.live_blocks, 2, 4);
    perhaps_free(counted);
    perhaps_free(plain);
    assert_true(support_memory_is_clean(&memory));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_key),
        cmocka_unit_test(test_empty_filter_answers_absent),
        cmocka_unit_test(test_adding_twice_changes_nothing),
        cmocka_unit_test(test_seed_decides_the_bytes),
        cmocka_unit_test(test_order_does_not_matter),
        cmocka_unit_test(test_keys_of_every_shape),
        cmocka_unit_test(test_hash_calls_agree_with_byte_calls),
        cmocka_unit_test(test_caller_hashes),
        cmocka_unit_test(test_caller_filters_refuse_bytes),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_clear_gives_a_new_filter),
        cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_position),
        cmocka_unit_test(test_clear_drops_the_position),
        cmocka_unit_test(test_position_of_a_merge),
        cmocka_unit_test(test_metadata_from_itself),
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_statistics_at_the_ends),
        cmocka_unit_test_setup_teardown(test_read_only_refuses_changes, support_make_directory,
                                        support_remove_directory),
        cmocka_unit_test(test_allocator_does_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
