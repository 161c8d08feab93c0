// SPDX-License-Identifier: MIT
// Filters of more than 2^32 bytes, of every kind, in memory that is really there: some six GiB. In the long tier.
#include <stdlib.h>

#include "filter.h"
#include "support.h"

#define BYTES (UINT64_C(5) << 30)
#define KEYS 1000000

static uint64_t *make_hashes(void)
{
    uint64_t *hashes = support_allocate(KEYS * sizeof *hashes);
    uint64_t random = 1;
    for (size_t i = 0; i < KEYS; i++) {
        hashes[i] = support_random(&random);
    }
    return hashes;
}

static uint64_t count_present(const perhaps_filter *filter, const uint64_t *hashes, size_t count)
{
    uint8_t *out = support_allocate(count);
    assert_int_equal(perhaps_might_contain_many_hash(filter, hashes, count, out, NULL), PERHAPS_OK);
    uint64_t present = 0;
    for (size_t i = 0; i < count; i++) {
        present += out[i];
    }
    free(out);
    return present;
}

// Words that are not zero behind the first 2^32 bytes, and before.
static void count_words(const perhaps_filter *filter, uint64_t counts[2])
{
    const struct perhaps__layer *layer = filter->layers[0];
    const uint64_t *words = perhaps__layer_words(layer);
    counts[0] = 0;
    counts[1] = 0;
    for (uint64_t i = 0; i < layer->payload_size / 8; i++) {
        counts[i >= UINT64_C(1) << 29] += words[i] != 0;
    }
}

static void test_more_than_four_gigabytes(void **state)
{
    uint64_t *hashes = make_hashes();
    for (uint32_t kind = 1; perhaps_kind_name(kind) != NULL; kind++) {
        for (uint32_t flags = 0; flags <= PERHAPS_SHARED; flags += PERHAPS_SHARED) {
            perhaps_filter *filter =
                support_create(&SUPPORT_OPTIONS(.kind = kind, .bytes = BYTES, .fpr = 0.001, .flags = flags));
            assert_true(support_stats(filter).bytes > BYTES - BYTES / 100);
            assert_int_equal(perhaps_add_many_hash(filter, hashes, KEYS, NULL, NULL), PERHAPS_OK);
            assert_int_equal(count_present(filter, hashes, KEYS), KEYS);
            assert_in_range(support_stats(filter).adds, KEYS - 2, KEYS);
            uint64_t words[2];
            count_words(filter, words); // a fifth lies behind, or addresses were cut to 32 bits
            assert_in_range(words[1] * 1000 / (words[0] + words[1]), 195, 205);
            if (perhaps_remove_many_hash(filter, hashes, KEYS / 2, NULL, NULL) == PERHAPS_OK) {
                assert_int_equal(count_present(filter, hashes + KEYS / 2, KEYS / 2), KEYS / 2);
                assert_in_range(count_present(filter, hashes, KEYS / 2), 0, 5);
            }
            perhaps_free(filter);
        }
    }
    free(hashes);
}

// 4 GiB in a file: opened by first touch, what is asked for is verified, and no more.
static void test_a_large_file_by_first_touch(void **state)
{
    uint64_t *hashes = make_hashes();
    char *path = support_path(state, "large");
    perhaps_filter *filter = support_create(&SUPPORT_OPTIONS(.bytes = UINT64_C(4) << 30, .fpr = 0.01));
    assert_int_equal(perhaps_add_many_hash(filter, hashes, KEYS, NULL, NULL), PERHAPS_OK);
    support_save(filter, path);
    perhaps_free(filter);
    filter = support_open(path, PERHAPS_OPEN_FIRST_TOUCH);
    assert_int_equal(support_stats(filter).chunks_verified, 0);
    assert_int_equal(perhaps_might_contain_hash(filter, hashes[0]), 1);
    perhaps_statistics statistics = support_stats(filter);
    assert_in_range(statistics.chunks_verified, 1, statistics.positions);
    assert_in_range(statistics.chunks, 4090, 4096);
    assert_int_equal(count_present(filter, hashes, KEYS), KEYS);
    uint64_t cursor = 0;
    assert_int_equal(perhaps_scrub(filter, &cursor, UINT64_MAX, NULL), 0);
    assert_int_equal(support_stats(filter).chunks_verified, statistics.chunks);
    perhaps_free(filter);
    free(path);
    free(hashes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_more_than_four_gigabytes),
                                       cmocka_unit_test_setup_teardown(test_a_large_file_by_first_touch,
                                                                       support_make_directory,
                                                                       support_remove_directory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
