// SPDX-License-Identifier: MIT
// A keyed filter that was loaded without its key (PERHAPS_OPEN_KEYLESS): it tells what its header says, and not one call
// lets an answer out that could be wrong.
#include <stdlib.h>

#include "support_secret.h"

static perhaps_filter *made(void)
{
    perhaps_filter *filter = support_create(
        &SUPPORT_OPTIONS(.kind = PERHAPS_KIND_COUNTING, .capacity = 500, .fpr = 0.01, .key = support_secret));
    support_add_keys(filter, SUPPORT_WORDS, 0, 300);
    assert_int_equal(perhaps_set_metadata(filter, "whose", 5), PERHAPS_OK);
    return filter;
}

static perhaps_filter *keyless(void)
{
    perhaps_filter *filter = made();
    struct support_bytes bytes = support_encode(filter);
    perhaps_filter *loaded = support_decode_secret(bytes, NULL, PERHAPS_OPEN_KEYLESS);
    perhaps_free(filter);
    free(bytes.data);
    return loaded;
}

static void test_tells_what_the_header_says(void **state)
{
    SUPPORT_NEEDS_KEYED();
    perhaps_filter *with = made();
    perhaps_filter *without = keyless();
    perhaps_statistics a = support_stats(with);
    perhaps_statistics b = support_stats(without);
    assert_memory_equal(&a, &b, sizeof a);
    const void *metadata = NULL;
    size_t length = 0;
    assert_int_equal(perhaps_metadata(without, &metadata, &length), PERHAPS_OK);
    assert_int_equal(length, 5);
    assert_memory_equal(metadata, "whose", 5);
    perhaps_free(with);
    perhaps_free(without);
}

static void test_says_nothing_of_keys(void **state)
{
    SUPPORT_NEEDS_KEYED();
    static const uint64_t offsets[] = {0, 1};
    perhaps_filter *filter = keyless();
    uint64_t hash = 4711;
    uint64_t counts[1] = {4711};
    uint8_t out[1] = {77};
    size_t done = 4711;
    assert_int_equal(perhaps_might_contain(filter, "a", 1), PERHAPS_E_KEY);
    assert_int_equal(perhaps_might_contain_times(filter, "a", 1, 2), PERHAPS_E_KEY);
    assert_true(perhaps_count_at_most(filter, "a", 1) == PERHAPS_COUNT_UNBOUNDED);
    assert_int_equal(perhaps_hash(filter, "a", 1, &hash), PERHAPS_E_KEY);
    assert_int_equal(perhaps_might_contain_many(filter, "a", offsets, 1, out, &done), PERHAPS_E_KEY);
    assert_int_equal(done, 0);
    assert_int_equal(perhaps_count_at_most_many(filter, "a", offsets, 1, counts, NULL), PERHAPS_E_KEY);
    assert_int_equal(out[0], 77);
    assert_true(counts[0] == 4711 && hash == 4711);
    perhaps_free(filter);
}

// An empty filter would say "surely absent"; this one must not, as nobody knows what the hash is one of.
static void test_every_hash_is_perhaps(void **state)
{
    SUPPORT_NEEDS_KEYED();
    perhaps_filter *filter = keyless();
    for (uint64_t hash = 0; hash < 1000; hash++) {
        uint8_t out[1] = {0};
        uint64_t counts[1] = {0};
        assert_int_equal(perhaps_might_contain_hash(filter, hash), 1);
        assert_int_equal(perhaps_ask_hash(filter, hash), 1);
        assert_int_equal(perhaps_might_contain_times_hash(filter, hash, 9), 1);
        assert_true(perhaps_count_at_most_hash(filter, hash) == PERHAPS_COUNT_UNBOUNDED);
        assert_int_equal(perhaps_might_contain_many_hash(filter, &hash, 1, out, NULL), PERHAPS_OK);
        assert_int_equal(out[0], 1);
        assert_int_equal(perhaps_count_at_most_many_hash(filter, &hash, 1, counts, NULL), PERHAPS_OK);
        assert_true(counts[0] == PERHAPS_COUNT_UNBOUNDED);
    }
    perhaps_free(filter);
}

static void test_cannot_be_changed_or_written(void **state)
{
    SUPPORT_NEEDS_KEYED();
    static const uint64_t hashes[] = {1};
    perhaps_filter *filter = keyless();
    perhaps_filter *with = made();
    struct support_bytes bytes = support_encode(with);
    uint8_t *buffer = support_allocate(bytes.size);
    size_t written = 4711;
    perhaps_filter *bloom = NULL;
    perhaps_error error = SUPPORT_ERROR;
    assert_int_equal(perhaps_add(filter, "a", 1), PERHAPS_E_KEY);
    assert_int_equal(perhaps_add_hash(filter, 1), PERHAPS_E_KEY);
    assert_int_equal(perhaps_add_many_hash(filter, hashes, 1, NULL, NULL), PERHAPS_E_KEY);
    assert_int_equal(perhaps_remove(filter, "a", 1), PERHAPS_E_KEY);
    assert_int_equal(perhaps_remove_hash(filter, 1), PERHAPS_E_KEY);
    assert_int_equal(perhaps_remove_many_hash(filter, hashes, 1, NULL, NULL), PERHAPS_E_KEY);
    assert_int_equal(perhaps_clear(filter), PERHAPS_E_KEY);
    assert_int_equal(perhaps_set_metadata(filter, "x", 1), PERHAPS_E_KEY);
    support_assert_failed(perhaps_merge(filter, with, &error), PERHAPS_E_KEY, &error);
    support_assert_failed(perhaps_merge(with, filter, &error), PERHAPS_E_KEY, &error);
    support_assert_unchanged(with, bytes);
    support_assert_failed(perhaps_convert(filter, PERHAPS_KIND_BLOOM, NULL, &bloom, &error), PERHAPS_E_KEY, &error);
    support_assert_failed(perhaps_encode(filter, buffer, bytes.size, &written, &error), PERHAPS_E_KEY, &error);
    assert_true(bloom == NULL && written == 4711);
    perhaps_free(filter);
    perhaps_free(with);
    free(buffer);
    free(bytes.data);
}

static void test_files(void **state)
{
    SUPPORT_NEEDS_KEYED();
    char *path = support_path(state, "keyed");
    char *other = support_path(state, "other");
    perhaps_filter *with = made();
    support_save(with, path);
    perhaps_filter *filter = support_open(path, PERHAPS_OPEN_KEYLESS);
    perhaps_error error = SUPPORT_ERROR;
    assert_int_equal(support_stats(filter).copies, 300);
    support_assert_failed(perhaps_save(filter, other, &error), PERHAPS_E_KEY, &error);
    assert_int_equal(support_count_entries(*state), 1);
    perhaps_filter *newer = NULL;
    support_save(with, path);
    const perhaps_load_options options = {.size = sizeof options, .flags = PERHAPS_OPEN_KEYLESS};
    support_assert_failed(perhaps_reopen(filter, NULL, &newer, &error), PERHAPS_E_KEY, &error);
    assert_int_equal(perhaps_reopen(filter, &options, &newer, &error), 1);
    assert_int_equal(perhaps_might_contain(newer, "a", 1), PERHAPS_E_KEY);
    perhaps_free(newer);
    perhaps_free(filter);
    perhaps_free(with);
    free(path);
    free(other);
}

// The flag changes nothing where a key is given, or where there is none.
static void test_with_a_key_after_all(void **state)
{
    SUPPORT_NEEDS_KEYED();
    perhaps_filter *filter = made();
    struct support_bytes bytes = support_encode(filter);
    perhaps_filter *with = support_decode_secret(bytes, support_secret, PERHAPS_OPEN_KEYLESS);
    assert_int_equal(support_count_present(with, SUPPORT_WORDS, 0, 300), 300);
    support_assert_unchanged(with, bytes);
    support_assert_not_loaded(bytes, support_other_secret, PERHAPS_OPEN_KEYLESS, PERHAPS_E_KEY, "another secret key");
    perhaps_free(with);
    perhaps_free(filter);
    free(bytes.data);

    filter = support_filter(10, 0.01, 0);
    assert_int_equal(perhaps_add(filter, "a", 1), 1);
    bytes = support_encode(filter);
    perhaps_filter *unkeyed = support_decode_secret(bytes, NULL, PERHAPS_OPEN_KEYLESS);
    assert_int_equal(perhaps_might_contain(unkeyed, "a", 1), 1);
    assert_int_equal(perhaps_might_contain(unkeyed, "b", 1), 0);
    assert_int_equal(perhaps_add(unkeyed, "b", 1), 1);
    perhaps_free(unkeyed);
    perhaps_free(filter);
    free(bytes.data);
}

// What was taken for a growing filter has several layers, whose own look-ups must not be reached either.
static void test_layers(void **state)
{
    SUPPORT_NEEDS_KEYED();
    perhaps_filter *filter = support_create(
        &SUPPORT_OPTIONS(.capacity = 50, .fpr = 0.01, .at_capacity = PERHAPS_AT_CAPACITY_GROW, .key = support_secret));
    support_add_keys(filter, SUPPORT_WORDS, 0, 1000);
    assert_true(support_stats(filter).layers > 2);
    struct support_bytes bytes = support_encode(filter);
    perhaps_filter *with = support_decode_secret(bytes, support_secret, 0);
    perhaps_filter *without = support_decode_secret(bytes, NULL, PERHAPS_OPEN_KEYLESS | PERHAPS_OPEN_SHARED);
    assert_int_equal(support_count_present(with, SUPPORT_WORDS, 0, 1000), 1000);
    assert_int_equal(support_stats(without).layers, support_stats(with).layers);
    for (uint64_t hash = 0; hash < 1000; hash++) {
        assert_int_equal(perhaps_ask_hash(without, hash), 1);
    }
    perhaps_free(with);
    perhaps_free(without);
    perhaps_free(filter);
    free(bytes.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tells_what_the_header_says),
        cmocka_unit_test(test_says_nothing_of_keys),
        cmocka_unit_test(test_every_hash_is_perhaps),
        cmocka_unit_test(test_cannot_be_changed_or_written),
        cmocka_unit_test_setup_teardown(test_files, support_make_directory, support_remove_directory),
        cmocka_unit_test(test_with_a_key_after_all),
        cmocka_unit_test(test_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
