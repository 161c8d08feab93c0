// SPDX-License-Identifier: MIT
// What is known of chunks: buckets that lie in two of them, counts that the header made up, and which of several
// damaged ones is told. Answers and statistics by first touch: test_touch.c.
#include <stdlib.h>

#include "support_view.h"

#include "support_format.h"

#define CHUNK ((size_t)1 << 20)
#define KEYS UINT64_C(5000)

static struct support_bytes aligned_bytes(perhaps_filter *filter)
{
    struct support_bytes bytes = support_encode(filter);
    struct support_bytes aligned = support_aligned(bytes);
    free(bytes.data);
    perhaps_free(filter);
    return aligned;
}

static uint8_t *payload_of(struct support_bytes bytes)
{
    return bytes.data + format_get(bytes.data, FORMAT_HEADER_SIZE, 8);
}

/* ---------------------------------------------------------------- across two chunks */

static void complement(uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)~bytes[i];
    }
}

static void assert_all_present(struct support_bytes bytes, uint64_t keys, uint64_t damaged)
{
    perhaps_filter *filter = support_view_of(bytes, PERHAPS_OPEN_FIRST_TOUCH, NULL);
    assert_int_equal(support_count_present(filter, SUPPORT_WORDS, 0, keys), keys);
    assert_int_equal(support_stats(filter).chunks_damaged, damaged);
    perhaps_free(filter);
}

// A full table of two chunks, whose buckets do not divide a chunk: whichever part of the one between them is damaged,
// its keys are not absent because the other part is good.
static void test_a_bucket_in_two_chunks(void **state)
{
    static const perhaps_options shapes[] = {
        {.kind = PERHAPS_KIND_CUCKOO, .fpr = 0.001, .fingerprint_bits = 13},
        {.kind = PERHAPS_KIND_CUCKOO, .fpr = 1e-6, .slots = 8, .fingerprint_bits = 31},
    };
    for (size_t i = 0; i < SUPPORT_COUNT(shapes); i++) {
        perhaps_options options = shapes[i];
        options.size = sizeof options;
        options.bytes = CHUNK + CHUNK / 4;
        perhaps_filter *filter = support_create(&options);
        uint64_t keys = support_stats(filter).capacity;
        support_add_keys(filter, SUPPORT_WORDS, 0, keys);
        struct support_bytes bytes = aligned_bytes(filter);
        uint8_t *between = payload_of(bytes) + CHUNK;
        assert_all_present(bytes, keys, 0);
        complement(between, 8);
        assert_all_present(bytes, keys, 1);
        complement(between, 8);
        complement(between - 8, 8);
        assert_all_present(bytes, keys, 1);
        free(bytes.data);
    }
}

/* ---------------------------------------------------------------- counts */

static const perhaps_options counted_shapes[] = {
    {.kind = PERHAPS_KIND_BLOOM, .fpr = 0.01, .bytes = 3 * CHUNK - 4096},
    {.kind = PERHAPS_KIND_BLOCKED, .fpr = 0.01, .bytes = 3 * CHUNK - 4096},
    {.kind = PERHAPS_KIND_COUNTING, .fpr = 0.01, .bytes = 3 * CHUNK - 4096},
    {.kind = PERHAPS_KIND_CUCKOO, .fpr = 0.001, .bytes = 3 * CHUNK - 4096},
    {.kind = PERHAPS_KIND_BLOOM, .fpr = 0.01, .capacity = 1000, .at_capacity = PERHAPS_AT_CAPACITY_GROW},
    {.kind = PERHAPS_KIND_CUCKOO, .fpr = 0.01, .capacity = 1000, .at_capacity = PERHAPS_AT_CAPACITY_GROW},
};

static struct support_bytes counted_bytes(size_t i)
{
    perhaps_options options = counted_shapes[i];
    options.size = sizeof options;
    perhaps_filter *filter = support_create(&options);
    support_add_keys(filter, SUPPORT_WORDS, 0, KEYS);
    return aligned_bytes(filter);
}

// One more than there is, under right checksums, in all fields that must agree with each other.
static void make_up(struct support_bytes bytes, uint64_t layer)
{
    size_t at = (size_t)layer * (FORMAT_LAYER_END - FORMAT_LAYER);
    uint64_t copies = format_get(bytes.data, at + FORMAT_LAYER_COPIES, 8);
    uint64_t slots = format_get(bytes.data, at + FORMAT_LAYER_SLOTS, 4);
    format_put(bytes.data, at + FORMAT_LAYER_USED, 8, format_get(bytes.data, at + FORMAT_LAYER_USED, 8) + 1);
    format_put(bytes.data, at + FORMAT_LAYER_COPIES, 8, copies + (slots != 0));
    assert_true(format_mend_header(bytes.data, bytes.size));
}

static void assert_made_up(const perhaps_filter *filter, uint64_t *cursor)
{
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_scrub(filter, cursor, UINT64_MAX, &error), PERHAPS_E_DAMAGED, &error);
    assert_int_equal(*cursor, 0);
    assert_int_equal(error.value | error.limit, 0);
}

// By first touch it shows when all chunks were read, and not before; of the keys none is lost.
static void assert_found_when_scrubbed(struct support_bytes bytes)
{
    perhaps_filter *filter = support_view_of(bytes, PERHAPS_OPEN_FIRST_TOUCH, NULL);
    const uint64_t chunks = support_stats(filter).chunks;
    uint64_t cursor = chunks - 1;
    if (chunks > 1) { // the last one alone proves nothing
        assert_int_equal(perhaps_scrub(filter, &cursor, 1, NULL), 0);
    }
    for (cursor = 0; cursor < chunks - 1;) {
        assert_int_equal(perhaps_scrub(filter, &cursor, 1, NULL), 1);
    }
    assert_made_up(filter, &cursor);
    assert_made_up(filter, &cursor); // it stays so
    assert_int_equal(support_count_present(filter, SUPPORT_WORDS, 0, KEYS), KEYS);
    assert_int_equal(support_stats(filter).chunks_damaged, 0);
    perhaps_free(filter);
}

// A damaged chunk is told, and the counts, which cannot be right without it, are not told as well.
static void assert_told_once(struct support_bytes bytes)
{
    uint8_t *first = payload_of(bytes);
    *first ^= 1;
    perhaps_filter *filter = support_view_of(bytes, PERHAPS_OPEN_FIRST_TOUCH, NULL);
    const uint64_t last = support_stats(filter).chunks - 1;
    assert_int_equal(support_scrub(filter), 1);
    assert_int_equal(support_scrub(filter), 1);
    *first ^= 1;
    if (last > 0) {
        uint64_t cursor = last;
        assert_int_equal(perhaps_scrub(filter, &cursor, 1, NULL), 0);
    }
    perhaps_free(filter);
}

static void test_counts_that_were_made_up(void **state)
{
    for (size_t i = 0; i < SUPPORT_COUNT(counted_shapes); i++) {
        struct support_bytes bytes = counted_bytes(i);
        uint64_t layers = format_get(bytes.data, FORMAT_LAYERS, 4);
        assert_true((layers > 1) == (counted_shapes[i].at_capacity == PERHAPS_AT_CAPACITY_GROW));
        for (uint64_t layer = 0; layer < layers; layer++) {
            struct support_bytes copy = support_aligned(bytes);
            perhaps_filter *filter = NULL;
            perhaps_error error = SUPPORT_ERROR;
            make_up(copy, layer);
            support_assert_failed(support_view(copy, 0, NULL, &filter, &error), PERHAPS_E_DAMAGED, &error);
            assert_found_when_scrubbed(copy);
            assert_told_once(copy);
            free(copy.data);
        }
        free(bytes.data);
    }
}

// However often a chunk is read, its bits are counted once: they are still as many as the header records.
static void test_counts_of_chunks_that_are_read_again(void **state)
{
    static const uint32_t flags[] = {0, PERHAPS_OPEN_FIRST_TOUCH};
    for (size_t i = 0; i < SUPPORT_COUNT(counted_shapes); i++) {
        struct support_bytes bytes = counted_bytes(i);
        for (size_t j = 0; j < SUPPORT_COUNT(flags); j++) {
            perhaps_filter *filter = support_view_of(bytes, flags[j], NULL);
            for (unsigned round = 0; round < 3; round++) {
                assert_int_equal(support_scrub(filter), 0);
            }
            perhaps_free(filter);
        }
        free(bytes.data);
    }
}

/* ---------------------------------------------------------------- several damaged chunks */

// Of two that different threads find, the first one in the file is told: whether it is found first, or, as the other one is
// small, last. Two threads seldom meet there on a busy machine, so it is tried often.
static void test_the_first_of_damaged_chunks(void **state)
{
    static const struct {
        size_t first;
        size_t second;
        unsigned tries;
    } pairs[] = {{20, 21, SUPPORT_SCALED(150)}, {31, 32, SUPPORT_SCALED(30)}};
    const perhaps_options options = SUPPORT_OPTIONS(.fpr = 0.01, .bytes = 32 * CHUNK + 4096);
    struct support_bytes bytes = aligned_bytes(support_create(&options));
    uint64_t begin = format_get(bytes.data, FORMAT_HEADER_SIZE, 8);
    assert_int_equal(format_get(bytes.data, FORMAT_CHUNKS, 8), 33);
    for (size_t i = 0; i < SUPPORT_COUNT(pairs); i++) {
        payload_of(bytes)[pairs[i].first * CHUNK] ^= 1;
        payload_of(bytes)[pairs[i].second * CHUNK] ^= 1;
        for (unsigned tries = 0; tries < pairs[i].tries; tries++) {
            perhaps_filter *filter = NULL;
            perhaps_error error = SUPPORT_ERROR;
            support_assert_failed(support_view(bytes, 0, NULL, &filter, &error), PERHAPS_E_DAMAGED, &error);
            assert_int_equal(error.value, begin + pairs[i].first * CHUNK);
        }
        payload_of(bytes)[pairs[i].first * CHUNK] ^= 1;
        payload_of(bytes)[pairs[i].second * CHUNK] ^= 1;
    }
    free(bytes.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_bucket_in_two_chunks),
        cmocka_unit_test(test_counts_that_were_made_up),
        cmocka_unit_test(test_counts_of_chunks_that_are_read_again),
        cmocka_unit_test(test_the_first_of_damaged_chunks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
