// SPDX-License-Identifier: MIT
// What is written, against docs/format.md field by field, and that reading gives back what was written.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#include "hash.h"
#include "support_format.h"

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void assert_field(struct support_bytes bytes, size_t offset, unsigned width, uint64_t value)
{
    if (format_get(bytes.data, offset, width) != value) {
        fail_msg("field at %zu: %llx, expected %llx", offset, (unsigned long long)format_get(bytes.data, offset, width),
                 (unsigned long long)value);
    }
}

static perhaps_filter *example(void)
{
    perhaps_filter *filter = support_filter(1000, 0.01, UINT64_C(0x1122334455667788));
    support_add_keys(filter, SUPPORT_WORDS, 0, 1000);
    assert_int_equal(perhaps_set_metadata(filter, "abc", 3), PERHAPS_OK);
    return filter;
}

static void test_fixed_part(void **state)
{
    perhaps_filter *filter = example();
    perhaps_statistics s = support_stats(filter);
    struct support_bytes bytes = support_encode(filter);
    assert_memory_equal(bytes.data, "\xb6perhaps", 8);
    assert_field(bytes, FORMAT_VERSION, 4, 1);
    assert_field(bytes, FORMAT_FIXED_SIZE, 4, 192);
    assert_field(bytes, FORMAT_HEADER_SIZE, 8, 384); // 192 + (16 + 112) + (16 + 8) + 8 + 8, up to a multiple of 64
    assert_field(bytes, FORMAT_PAYLOAD_SIZE, 8, s.bytes);
    assert_field(bytes, FORMAT_SECTION_SIZE, 8, 152);
    assert_field(bytes, FORMAT_SECTIONS, 4, 2);
    assert_field(bytes, FORMAT_CHUNK_SHIFT, 4, 20);
    assert_field(bytes, FORMAT_CHUNKS, 8, 1);
    assert_field(bytes, FORMAT_KIND, 4, 1);
    assert_field(bytes, FORMAT_HASH_SOURCE, 4, 1);
    assert_field(bytes, FORMAT_SEED, 8, UINT64_C(0x1122334455667788));
    assert_field(bytes, FORMAT_CAPACITY, 8, 1000);
    assert_field(bytes, FORMAT_FPR, 8, bits_of(0.01));
    assert_field(bytes, FORMAT_FLAGS, 8, 0);
    assert_field(bytes, FORMAT_LAYERS, 4, 1);
    for (size_t i = FORMAT_GROWTH; i < FORMAT_FIRST_SECTION; i++) {
        assert_int_equal(bytes.data[i], 0);
    }
    assert_int_equal(bytes.size, 384 + s.bytes);
    free(bytes.data);
    perhaps_free(filter);
}

static void test_sections(void **state)
{
    perhaps_filter *filter = example();
    perhaps_statistics s = support_stats(filter);
    struct support_bytes bytes = support_encode(filter);
    assert_field(bytes, FORMAT_FIRST_SECTION + FORMAT_SECTION_TYPE, 4, 1);
    assert_field(bytes, FORMAT_FIRST_SECTION + FORMAT_SECTION_FLAGS, 4, 1);
    assert_field(bytes, FORMAT_FIRST_SECTION + FORMAT_SECTION_DATA_SIZE, 8, 112);
    assert_field(bytes, FORMAT_LAYER_PAYLOAD_OFFSET, 8, 0);
    assert_field(bytes, FORMAT_LAYER_PAYLOAD_SIZE, 8, s.bytes);
    assert_field(bytes, FORMAT_LAYER_CAPACITY, 8, 1000);
    assert_field(bytes, FORMAT_LAYER_FPR, 8, bits_of(0.01));
    assert_field(bytes, FORMAT_LAYER_ADDS, 8, s.adds);
    assert_field(bytes, FORMAT_LAYER_BITS, 8, s.bits);
    assert_field(bytes, FORMAT_LAYER_USED, 8, s.set_bits);
    assert_field(bytes, FORMAT_LAYER_POSITIONS, 4, s.positions);
    assert_field(bytes, FORMAT_LAYER_LAYOUT, 4, 0);
    assert_field(bytes, FORMAT_LAYER_RANGE, 8, s.bits);
    for (size_t i = FORMAT_LAYER_COPIES; i < FORMAT_LAYER_END; i++) {
        assert_int_equal(bytes.data[i], 0);
    }
    assert_field(bytes, FORMAT_SECOND_SECTION + FORMAT_SECTION_TYPE, 4, 2);
    assert_field(bytes, FORMAT_SECOND_SECTION + FORMAT_SECTION_FLAGS, 4, 0);
    assert_field(bytes, FORMAT_SECOND_SECTION + FORMAT_SECTION_DATA_SIZE, 8, 3);
    assert_memory_equal(bytes.data + FORMAT_SECOND_SECTION + FORMAT_SECTION_DATA, "abc\0\0\0\0\0", 8);
    assert_field(bytes, 344, 8, perhaps__checksum(bytes.data + 384, (size_t)s.bytes));
    for (size_t i = 352; i < 376; i++) {
        assert_int_equal(bytes.data[i], 0);
    }
    assert_field(bytes, 376, 8, perhaps__checksum(bytes.data, 376));
    free(bytes.data);
    perhaps_free(filter);
}

// mix(digest ^ position), over the keys of the documentation; the positions are those of a filter of one key each.
static void test_probe_fingerprint(void **state)
{
    perhaps_filter *filter = support_filter(1, 1e-6, 77);
    perhaps_filter *other = support_filter(1, 1e-6, 77);
    perhaps_filter *seed = support_filter(1, 1e-6, 78);
    struct support_bytes bytes = support_encode(filter);
    assert_int_equal(perhaps_add(other, "a", 1), 1); // contents do not matter
    struct support_bytes full = support_encode(other);
    struct support_bytes seeded = support_encode(seed);
    uint64_t probe = format_get(bytes.data, FORMAT_PROBE, 8);
    assert_true(probe != 0);
    assert_field(full, FORMAT_PROBE, 8, probe);
    assert_true(format_get(seeded.data, FORMAT_PROBE, 8) != probe);
    assert_field(bytes, FORMAT_PROBE, 8, UINT64_C(0x2e1d6be3e61725c1)); // computed by tests/format_reference.py
    free(bytes.data);
    free(full.data);
    free(seeded.data);
    perhaps_free(filter);
    perhaps_free(other);
    perhaps_free(seed);
}

static void assert_round_trip(const perhaps_filter *filter)
{
    struct support_bytes bytes = support_encode(filter);
    perhaps_filter *copy = support_decode(bytes.data, bytes.size);
    support_assert_unchanged(copy, bytes);
    perhaps_statistics a = support_stats(filter);
    perhaps_statistics b = support_stats(copy);
    assert_memory_equal(&a, &b, sizeof a);
    // The copy is a filter in its own right: it takes keys as the original would.
    support_add_keys(copy, SUPPORT_UUIDS, 0, 50);
    assert_int_equal(support_count_present(copy, SUPPORT_UUIDS, 0, 50), 50);
    support_assert_unchanged(filter, bytes);
    perhaps_free(copy);
    free(bytes.data);
}

static void test_round_trips(void **state)
{
    static const uint64_t capacities[] = {1, 10, 1000, 100000, 3000000};
    static const double rates[] = {0.5, 0.01, 1e-6};
    static const size_t metadata[] = {0, 1, 7, 8, 9, 1000, PERHAPS_METADATA_MAX};
    uint8_t *text = support_allocate(PERHAPS_METADATA_MAX);
    memset(text, 'm', PERHAPS_METADATA_MAX);
    for (size_t i = 0; i < SUPPORT_COUNT(capacities); i++) {
        for (size_t j = 0; j < SUPPORT_COUNT(rates); j++) {
            perhaps_filter *filter = support_filter(capacities[i], rates[j], i);
            assert_round_trip(filter);
            support_add_keys(filter, SUPPORT_UUIDS, 1000, capacities[i] / 10 + 1);
            size_t length = metadata[(3 * i + j) % SUPPORT_COUNT(metadata)];
            assert_int_equal(perhaps_set_metadata(filter, text, length), PERHAPS_OK);
            assert_round_trip(filter);
            perhaps_free(filter);
        }
    }
    free(text);
}

// One key at a time up to all bits set, each state through the format.
static void test_every_fill(void **state)
{
    perhaps_filter *filter =
        support_create(&SUPPORT_OPTIONS(.capacity = 1, .fpr = 0.5, .hash_source = PERHAPS_HASH_CALLER));
    for (uint64_t i = 0; support_stats(filter).fill < 1.0; i++) {
        assert_true(i < 100000); // about 512 ln 512 are needed
        if (perhaps_add_hash(filter, i) == 1) {
            struct support_bytes bytes = support_encode(filter);
            perhaps_filter *copy = support_decode(bytes.data, bytes.size);
            support_assert_unchanged(copy, bytes);
            perhaps_free(copy);
            free(bytes.data);
        }
    }
    perhaps_free(filter);
}

static void test_encode_into_too_little(void **state)
{
    perhaps_filter *filter = example();
    struct support_bytes bytes = support_encode(filter);
    uint8_t *buffer = support_allocate(bytes.size + 1);
    static const size_t shares[] = {0, 1, 2, 3};
    for (size_t i = 0; i < SUPPORT_COUNT(shares); i++) {
        size_t capacity = shares[i] == 0 ? 0 : bytes.size - shares[i];
        memset(buffer, 0x77, bytes.size + 1);
        size_t written = 4711;
        perhaps_error error = SUPPORT_ERROR;
        support_assert_failed(perhaps_encode(filter, buffer, capacity, &written, &error), PERHAPS_E_SPACE, &error);
        assert_int_equal(written, 4711);
        assert_true(error.value == capacity && error.limit == bytes.size);
        for (size_t j = 0; j <= bytes.size; j++) {
            assert_int_equal(buffer[j], 0x77);
        }
    }
    size_t written = 0;
    assert_int_equal(perhaps_encode(filter, buffer, bytes.size + 1, &written, NULL), PERHAPS_OK);
    assert_int_equal(written, bytes.size);
    assert_memory_equal(buffer, bytes.data, bytes.size);
    assert_int_equal(buffer[bytes.size], 0x77);                                         // nothing behind its end
    assert_int_equal(perhaps_encode(filter, NULL, 0, &written, NULL), PERHAPS_E_SPACE); // to ask for the size
    free(buffer);
    free(bytes.data);
    perhaps_free(filter);
}

// Neither where the buffer lies nor what was in it shows in the bytes.
static void test_no_accidents_in_the_bytes(void **state)
{
    perhaps_filter *filter = example();
    struct support_bytes bytes = support_encode(filter);
    uint8_t *buffer = support_allocate(bytes.size + 8);
    for (size_t offset = 0; offset < 8; offset++) {
        memset(buffer, (int)(0xff - offset), bytes.size + 8);
        size_t written = 0;
        assert_int_equal(perhaps_encode(filter, buffer + offset, bytes.size, &written, NULL), PERHAPS_OK);
        assert_memory_equal(buffer + offset, bytes.data, bytes.size);
        perhaps_free(support_decode(buffer + offset, written)); // nor must they be aligned to be read
    }
    free(buffer);
    free(bytes.data);
    perhaps_free(filter);
}

static void test_arguments(void **state)
{
    perhaps_filter *filter = example();
    uint8_t buffer[64];
    size_t written = 4711;
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_encode(NULL, buffer, 64, &written, &error), PERHAPS_E_ARGUMENT, &error);
    support_assert_failed(perhaps_encode(filter, NULL, 64, &written, &error), PERHAPS_E_ARGUMENT, &error);
    support_assert_failed(perhaps_encode(filter, buffer, 64, NULL, &error), PERHAPS_E_ARGUMENT, &error);
    assert_int_equal(written, 4711);
    perhaps_free(filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed_part),
        cmocka_unit_test(test_sections),
        cmocka_unit_test(test_probe_fingerprint),
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_every_fill),
        cmocka_unit_test(test_encode_into_too_little),
        cmocka_unit_test(test_no_accidents_in_the_bytes),
        cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
