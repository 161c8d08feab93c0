// SPDX-License-Identifier: MIT
// Any bytes are safe to load: every bit flip, every truncation, every field out of its range (under checksums that are
// right, so that the check of the field itself is tested), and never more memory than the input justifies.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#include "support_format.h"

// What the input may cost: the payload, the header twice and the filter itself.
static uint64_t justified(size_t size)
{
    return 2 * (uint64_t)size + 4096;
}

// Decodes with an allocator that watches; the result, and *error filled in on failure.
static int decode(const uint8_t *data, size_t size, perhaps_filter **filter, perhaps_error *error)
{
    // Of exactly this size, so that AddressSanitizer sees a byte read too many.
    uint8_t *exact = malloc(size > 0 ? size : 1);
    assert_non_null(exact);
    memcpy(exact, data, size);
    struct support_memory memory = {0};
    perhaps_allocator allocator = support_memory_allocator(&memory);
    perhaps_load_options options = {.size = sizeof options, .allocator = &allocator};
    int result = perhaps_decode(exact, size, &options, filter, error);
    free(exact);
    assert_true(memory.total <= justified(size));
    if (result == PERHAPS_OK) {
        perhaps_free(*filter); // the context dies here
        *filter = NULL;
    }
    assert_true(support_memory_is_clean(&memory));
    return result;
}

static void assert_refused(const uint8_t *data, size_t size, int code, const char *word)
{
    perhaps_filter *filter = NULL;
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(decode(data, size, &filter, &error), code, &error);
    assert_null(filter);
    if (strstr(error.text, word) == NULL) {
        fail_msg("\"%s\" does not name \"%s\"", error.text, word);
    }
}

static void assert_accepted(const uint8_t *data, size_t size)
{
    perhaps_filter *filter = NULL;
    perhaps_error error = SUPPORT_ERROR;
    int result = decode(data, size, &filter, &error);
    if (result != PERHAPS_OK) {
        fail_msg("%s: %s", perhaps_error_name(result), error.text);
    }
}

// A filter of one unit with a few keys and 21 bytes of metadata: 384 bytes in all.
static struct support_bytes example(void)
{
    perhaps_filter *filter = support_filter(10, 0.01, 3);
    support_add_keys(filter, SUPPORT_WORDS, 0, 10);
    assert_int_equal(perhaps_set_metadata(filter, "where it was made of", 21), PERHAPS_OK);
    struct support_bytes bytes = support_encode(filter);
    perhaps_free(filter);
    return bytes;
}

static void test_every_bit(void **state)
{
    struct support_bytes bytes = example();
    assert_accepted(bytes.data, bytes.size);
    for (size_t i = 0; i < bytes.size; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            bytes.data[i] ^= (uint8_t)(1U << bit);
            assert_refused(bytes.data, bytes.size, i < 8 ? PERHAPS_E_NOT_A_FILTER : PERHAPS_E_DAMAGED, "");
            bytes.data[i] ^= (uint8_t)(1U << bit);
        }
    }
    free(bytes.data);
}

static void test_every_byte_overwritten(void **state)
{
    static const uint8_t values[] = {0x00, 0xff, 0x7f, 0x80, 0x01};
    struct support_bytes bytes = example();
    for (size_t i = 0; i < bytes.size; i++) {
        uint8_t before = bytes.data[i];
        for (size_t j = 0; j < sizeof values; j++) {
            bytes.data[i] = values[j];
            if (values[j] == before) {
                assert_accepted(bytes.data, bytes.size);
            } else {
                assert_refused(bytes.data, bytes.size, i < 8 ? PERHAPS_E_NOT_A_FILTER : PERHAPS_E_DAMAGED, "");
            }
        }
        bytes.data[i] = before;
    }
    free(bytes.data);
}

static void test_every_truncation(void **state)
{
    struct support_bytes bytes = example();
    for (size_t size = 0; size < bytes.size; size++) {
        assert_refused(bytes.data, size, size < 8 ? PERHAPS_E_NOT_A_FILTER : PERHAPS_E_DAMAGED, "");
    }
    assert_refused(bytes.data, 0, PERHAPS_E_NOT_A_FILTER, "empty");
    assert_refused(bytes.data, 100, PERHAPS_E_DAMAGED, "100 bytes");
    assert_refused(bytes.data, bytes.size - 1, PERHAPS_E_DAMAGED, "cut");
    free(bytes.data);
}

static void test_extensions(void **state)
{
    static const size_t more[] = {1, 7, 8, 63, 64, 4096};
    struct support_bytes bytes = example();
    uint8_t *longer = support_allocate(bytes.size + 4096);
    memcpy(longer, bytes.data, bytes.size);
    for (size_t i = 0; i < SUPPORT_COUNT(more); i++) {
        char expected[64];
        (void)snprintf(expected, sizeof expected, "%zu bytes follow", more[i]);
        assert_refused(longer, bytes.size + more[i], PERHAPS_E_DAMAGED, expected);
    }
    memcpy(longer + bytes.size, bytes.data, bytes.size); // two filters are not one
    assert_refused(longer, 2 * bytes.size, PERHAPS_E_DAMAGED, "bytes follow");
    free(longer);
    free(bytes.data);
}

static void test_foreign_bytes(void **state)
{
    static const char *const texts[] = {"hello", "perhaps", "\177ELF", "SQLite format 3", "\xb6perhap", "\xb6PERHAPS"};
    for (size_t i = 0; i < SUPPORT_COUNT(texts); i++) {
        assert_refused((const uint8_t *)texts[i], strlen(texts[i]) + 1, PERHAPS_E_NOT_A_FILTER, "not a perhaps filter");
    }
    uint8_t zeros[1000] = {0};
    assert_refused(zeros, sizeof zeros, PERHAPS_E_NOT_A_FILTER, "other bytes");
}

static void test_noise(void **state)
{
    uint64_t random = 99;
    uint8_t bytes[700];
    for (unsigned i = 0; i < SUPPORT_SCALED(50000); i++) {
        size_t size = (size_t)(support_random(&random) % sizeof bytes);
        for (size_t j = 0; j < size; j++) {
            bytes[j] = (uint8_t)support_random(&random);
        }
        memcpy(bytes, "\xb6perhaps", size < 8 ? size : 8);
        if (size >= FORMAT_FIRST_SECTION + 64) {
            format_put(bytes, FORMAT_HEADER_SIZE, 8, size / 64 * 64);
            format_mend_header(bytes, size);
        }
        perhaps_filter *filter = NULL;
        perhaps_error error = SUPPORT_ERROR;
        assert_true(decode(bytes, size, &filter, &error) < 0);
    }
}

// ---- fields, under checksums that are right

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

struct mutation {
    size_t offset;
    unsigned width;
    uint64_t value;
    int code;
    const char *word;
};

static void assert_mutation(struct support_bytes original, const struct mutation *mutation)
{
    struct support_bytes bytes = support_copy(original);
    format_put(bytes.data, mutation->offset, mutation->width, mutation->value);
    (void)format_mend_header(bytes.data, bytes.size);
    if (support_bytes_equal(bytes, original)) {
        fail_msg("the value at %zu is no mutation", mutation->offset);
    }
    assert_refused(bytes.data, bytes.size, mutation->code, mutation->word);
    free(bytes.data);
}

static void assert_mutations(const struct mutation *mutations, size_t count)
{
    struct support_bytes bytes = example();
    for (size_t i = 0; i < count; i++) {
        assert_mutation(bytes, &mutations[i]);
    }
    free(bytes.data);
}

#define DAMAGED(offset, width, value, word)                                                                            \
    {                                                                                                                  \
        offset, width, value, PERHAPS_E_DAMAGED, word                                                                  \
    }

static void test_sizes_in_the_header(void **state)
{
    const struct mutation mutations[] = {
        DAMAGED(FORMAT_FIXED_SIZE, 4, 127, "fixed size"),
        DAMAGED(FORMAT_FIXED_SIZE, 4, 0, "fixed size"),
        DAMAGED(FORMAT_FIXED_SIZE, 4, UINT32_MAX, "fixed size"),
        DAMAGED(FORMAT_HEADER_SIZE, 8, 0, "header's size"),
        DAMAGED(FORMAT_HEADER_SIZE, 8, 128, "header's size"),
        DAMAGED(FORMAT_HEADER_SIZE, 8, 257, "header's size"),
        DAMAGED(FORMAT_HEADER_SIZE, 8, 319, "header's size"),
        DAMAGED(FORMAT_HEADER_SIZE, 8, 192, "header's size"),
        DAMAGED(FORMAT_HEADER_SIZE, 8, 256, "bytes follow"),
        DAMAGED(FORMAT_HEADER_SIZE, 8, 320, "bytes follow"),
        DAMAGED(FORMAT_HEADER_SIZE, 8, 448, "cut"),
        DAMAGED(FORMAT_HEADER_SIZE, 8, UINT64_C(1) << 40, "cut"),
        DAMAGED(FORMAT_HEADER_SIZE, 8, UINT64_MAX - 63, "cut"),
        DAMAGED(FORMAT_HEADER_SIZE, 8, UINT64_MAX, "header's size"),
        DAMAGED(FORMAT_PAYLOAD_SIZE, 8, 0, "payload size"),
        DAMAGED(FORMAT_PAYLOAD_SIZE, 8, 65, "payload size"),
        DAMAGED(FORMAT_PAYLOAD_SIZE, 8, 128, "cut"),
        DAMAGED(FORMAT_PAYLOAD_SIZE, 8, UINT64_C(17) << 30, "cut"),
        DAMAGED(FORMAT_PAYLOAD_SIZE, 8, UINT64_MAX - 63, "cut"),
        DAMAGED(FORMAT_SECTION_SIZE, 8, 0, "section size"),
        DAMAGED(FORMAT_SECTION_SIZE, 8, 119, "section size"),
        DAMAGED(FORMAT_SECTION_SIZE, 8, 160, "section"),
        DAMAGED(FORMAT_SECTION_SIZE, 8, 184, "section size"),
        DAMAGED(FORMAT_SECTION_SIZE, 8, (1U << 20) + 8, "section size"),
        DAMAGED(FORMAT_SECTION_SIZE, 8, UINT64_MAX - 7, "section size"),
        DAMAGED(FORMAT_CHUNK_SHIFT, 4, 19, "chunk size"),
        DAMAGED(FORMAT_CHUNK_SHIFT, 4, 0, "chunk size"),
        DAMAGED(FORMAT_CHUNK_SHIFT, 4, UINT32_MAX, "chunk size"),
        DAMAGED(FORMAT_CHUNKS, 8, 0, "number of chunks"),
        DAMAGED(FORMAT_CHUNKS, 8, 2, "number of chunks"),
        DAMAGED(FORMAT_CHUNKS, 8, UINT64_MAX, "number of chunks"),
        DAMAGED(FORMAT_CHUNKS, 8, (UINT64_C(1) << 61) + 1, "number of chunks"), // times 8 it is 8 again
    };
    assert_mutations(mutations, SUPPORT_COUNT(mutations));
}

static uint32_t unknown_kind(void)
{
    uint32_t kind = 1;
    while (perhaps_kind_name(kind) != NULL) {
        kind++;
    }
    return kind;
}

static void test_fields_of_the_fixed_part(void **state)
{
    const struct mutation mutations[] = {
        DAMAGED(FORMAT_SECTIONS, 4, 0, "section size"),
        DAMAGED(FORMAT_SECTIONS, 4, 1, "section size"),
        DAMAGED(FORMAT_SECTIONS, 4, 3, "number of sections"),
        DAMAGED(FORMAT_SECTIONS, 4, UINT32_MAX, "number of sections"),
        DAMAGED(FORMAT_KIND, 4, 0, "kind"),
        DAMAGED(FORMAT_KIND, 4, unknown_kind(), "kind"),
        DAMAGED(FORMAT_KIND, 4, UINT32_MAX, "kind"),
        DAMAGED(FORMAT_HASH_SOURCE, 4, 0, "hash source"),
        DAMAGED(FORMAT_HASH_SOURCE, 4, 3, "key check value"), // which it must have
        DAMAGED(FORMAT_HASH_SOURCE, 4, 4, "hash source"),
        DAMAGED(FORMAT_HASH_SOURCE, 4, UINT32_MAX, "hash source"),
        DAMAGED(FORMAT_CAPACITY, 8, 0, "capacity"),
        DAMAGED(FORMAT_FPR, 8, 0, "false-positive rate"),
        DAMAGED(FORMAT_FPR, 8, bits_of(1.0), "false-positive rate"),
        DAMAGED(FORMAT_FPR, 8, bits_of(-0.01), "false-positive rate"),
        DAMAGED(FORMAT_FPR, 8, bits_of((double)NAN), "false-positive rate"),
        DAMAGED(FORMAT_FPR, 8, bits_of((double)INFINITY), "false-positive rate"),
        DAMAGED(FORMAT_FPR, 8, UINT64_MAX, "false-positive rate"),
        DAMAGED(FORMAT_FLAGS, 8, 4, "flags"),
        DAMAGED(FORMAT_FLAGS, 8, UINT64_C(1) << 63, "flags"),
        DAMAGED(FORMAT_LAYERS, 4, 0, "number of layers"),
        DAMAGED(FORMAT_LAYERS, 4, 2, "growth"),
        DAMAGED(FORMAT_LAYERS, 4, 33, "number of layers"),
        DAMAGED(FORMAT_LAYERS, 4, UINT32_MAX, "number of layers"),
        DAMAGED(FORMAT_KEY_CHECK, 4, 1, "key check value"), // with XXH3
        DAMAGED(FORMAT_KEY_CHECK, 4, UINT32_MAX, "key check value"),
        DAMAGED(FORMAT_FILE_ID, 8, 1, "file id"),
        DAMAGED(FORMAT_GENERATION, 8, 1, "file id"),
        DAMAGED(FORMAT_FOLDED, 8, 1, "file id"),
        DAMAGED(FORMAT_FLAGS, 8, 2, "file id"),
        DAMAGED(FORMAT_RESERVED, 8, 1, "reserved"),
        DAMAGED(FORMAT_RESERVED + 8, 8, 1, "reserved"),
        DAMAGED(FORMAT_FIRST_SECTION - 8, 8, UINT64_C(1) << 63, "reserved"),
        DAMAGED(FORMAT_GROWTH, 4, 2, "growth"),
        DAMAGED(FORMAT_MAX_CAPACITY, 8, 1, "growth"),
        DAMAGED(FORMAT_MAX_BYTES, 8, 1, "growth"),
        DAMAGED(FORMAT_AMBIGUOUS, 8, 1, "growth"),
        DAMAGED(FORMAT_AT_CAPACITY, 4, 2, "growth"),
        DAMAGED(FORMAT_AT_CAPACITY, 4, 3, "choice at capacity"),
        {FORMAT_VERSION, 4, 0, PERHAPS_E_VERSION, "version 0, a draft"},
        {FORMAT_VERSION, 4, 2, PERHAPS_E_VERSION, "version 2;"},
        {FORMAT_VERSION, 4, UINT32_MAX, PERHAPS_E_VERSION, "version 4294967295"},
        {FORMAT_PROBE, 8, 0, PERHAPS_E_PROBE, "hashes or places"},
        {FORMAT_SEED, 8, 4, PERHAPS_E_PROBE, "hashes or places"},
        {FORMAT_HASH_SOURCE, 4, 2, PERHAPS_E_PROBE, "hashes or places"},
    };
    assert_mutations(mutations, SUPPORT_COUNT(mutations));
}

static void test_fields_of_the_layer(void **state)
{
    struct support_bytes bytes = example();
    uint64_t set_bits = format_get(bytes.data, FORMAT_LAYER_USED, 8);
    uint64_t positions = format_get(bytes.data, FORMAT_LAYER_POSITIONS, 4);
    free(bytes.data);
    const struct mutation mutations[] = {
        DAMAGED(FORMAT_LAYER_BITS, 8, 0, "layer section"),
        DAMAGED(FORMAT_LAYER_BITS, 8, 511, "number of bits"),
        DAMAGED(FORMAT_LAYER_BITS, 8, 1024, "layer size"),
        DAMAGED(FORMAT_LAYER_BITS, 8, (UINT64_C(1) << 53) + 512, "number of bits"),
        DAMAGED(FORMAT_LAYER_BITS, 8, UINT64_MAX - 511, "number of bits"),
        DAMAGED(FORMAT_LAYER_PAYLOAD_OFFSET, 8, 64, "payload offset"),
        DAMAGED(FORMAT_LAYER_PAYLOAD_OFFSET, 8, UINT64_MAX, "payload offset"),
        DAMAGED(FORMAT_LAYER_PAYLOAD_SIZE, 8, 0, "layer size"),
        DAMAGED(FORMAT_LAYER_PAYLOAD_SIZE, 8, 128, "layer size"),
        DAMAGED(FORMAT_LAYER_POSITIONS, 4, 0, "shape"),
        DAMAGED(FORMAT_LAYER_POSITIONS, 4, 65, "shape"),
        DAMAGED(FORMAT_LAYER_POSITIONS, 4, 2000000000, "shape"),
        DAMAGED(FORMAT_LAYER_POSITIONS, 4, UINT32_MAX, "shape"),
        {FORMAT_LAYER_POSITIONS, 4, positions + 1, PERHAPS_E_PROBE, "hashes or places"},
        DAMAGED(FORMAT_LAYER_CAPACITY, 8, 0, "layer capacity"),
        DAMAGED(FORMAT_LAYER_FPR, 8, bits_of((double)NAN), "layer rate"),
        DAMAGED(FORMAT_LAYER_FPR, 8, bits_of(1.5), "layer rate"),
        DAMAGED(FORMAT_LAYER_FPR, 8, 0, "layer rate"),
        DAMAGED(FORMAT_LAYER_USED, 8, set_bits + 1, "payload holds"),
        DAMAGED(FORMAT_LAYER_USED, 8, set_bits - 1, "payload holds"),
        DAMAGED(FORMAT_LAYER_USED, 8, 0, "payload holds"),
        DAMAGED(FORMAT_LAYER_USED, 8, 513, "payload holds"),
        DAMAGED(FORMAT_LAYER_USED, 8, UINT64_MAX, "payload holds"),
        DAMAGED(FORMAT_LAYER_ADDS, 8, 0, "payload holds"),
        DAMAGED(FORMAT_LAYER_LAYOUT, 4, 1, "shape"),
        DAMAGED(FORMAT_LAYER_LAYOUT, 4, UINT32_MAX, "shape"),
        DAMAGED(FORMAT_LAYER_RANGE, 8, 0, "shape"),
        DAMAGED(FORMAT_LAYER_RANGE, 8, UINT64_MAX, "shape"),
        DAMAGED(FORMAT_LAYER_COPIES, 8, 1, "payload holds"),
        DAMAGED(FORMAT_LAYER_REMOVALS, 8, 1, "payload holds"),
        DAMAGED(FORMAT_LAYER_CELL_BITS, 4, 1, "shape"),
        DAMAGED(FORMAT_LAYER_SLOTS, 4, 4, "shape"),
        DAMAGED(FORMAT_LAYER_POLICY, 4, 1, "shape"),
        DAMAGED(FORMAT_LAYER_SEARCH, 4, 512, "shape"),
        DAMAGED(FORMAT_LAYER_RESERVED, 8, 1, "layer section"),
        DAMAGED(FORMAT_LAYER_RESERVED, 8, UINT64_C(1) << 63, "layer section"),
    };
    assert_mutations(mutations, SUPPORT_COUNT(mutations));
}

static void test_sections(void **state)
{
    const size_t second = FORMAT_SECOND_SECTION;
    const struct mutation mutations[] = {
        DAMAGED(FORMAT_FIRST_SECTION + FORMAT_SECTION_TYPE, 4, 0, "section"),
        DAMAGED(FORMAT_FIRST_SECTION + FORMAT_SECTION_FLAGS, 4, 0, "layer section"),
        DAMAGED(FORMAT_FIRST_SECTION + FORMAT_SECTION_FLAGS, 4, 3, "layer section"),
        DAMAGED(FORMAT_FIRST_SECTION + FORMAT_SECTION_DATA_SIZE, 8, 104, "layer section"),
        DAMAGED(FORMAT_FIRST_SECTION + FORMAT_SECTION_DATA_SIZE, 8, 176, "section"),
        DAMAGED(FORMAT_FIRST_SECTION + FORMAT_SECTION_DATA_SIZE, 8, UINT64_MAX, "section"),
        DAMAGED(FORMAT_FIRST_SECTION + FORMAT_SECTION_DATA_SIZE, 8, UINT64_MAX - 7, "section"),
        // A section of another type that must be understood, or has unknown flags; out of order, or twice.
        {FORMAT_FIRST_SECTION + FORMAT_SECTION_TYPE, 4, 9, PERHAPS_E_VERSION, "type 9"},
        DAMAGED(second + FORMAT_SECTION_TYPE, 4, 1, "section"),
        DAMAGED(second + FORMAT_SECTION_TYPE, 4, 0, "section"),
        DAMAGED(second + FORMAT_SECTION_FLAGS, 4, 1, "metadata section"),
        DAMAGED(second + FORMAT_SECTION_FLAGS, 4, UINT32_MAX, "metadata section"),
        DAMAGED(second + FORMAT_SECTION_DATA_SIZE, 8, 0, "metadata section"),
        DAMAGED(second + FORMAT_SECTION_DATA_SIZE, 8, 16, "section size"),
        DAMAGED(second + FORMAT_SECTION_DATA_SIZE, 8, 25, "section"),
        DAMAGED(second + FORMAT_SECTION_DATA_SIZE, 8, 65537, "section"),
        DAMAGED(second + FORMAT_SECTION_DATA + 21, 1, 1, "section"), // padding of the metadata
        DAMAGED(second + FORMAT_SECTION_DATA + 23, 1, 0x80, "section"),
    };
    assert_mutations(mutations, SUPPORT_COUNT(mutations));
}

static void test_unknown_sections(void **state)
{
    struct support_bytes bytes = example();
    format_put(bytes.data, FORMAT_SECOND_SECTION + FORMAT_SECTION_TYPE, 4, 1000);
    assert_true(format_mend_header(bytes.data, bytes.size));
    perhaps_filter *filter = support_decode(bytes.data, bytes.size); // may be skipped
    const void *metadata;
    size_t length;
    assert_int_equal(perhaps_metadata(filter, &metadata, &length), PERHAPS_OK);
    assert_int_equal(length, 0);
    assert_int_equal(support_count_present(filter, SUPPORT_WORDS, 0, 10), 10);
    perhaps_free(filter);

    format_put(bytes.data, FORMAT_SECOND_SECTION + FORMAT_SECTION_FLAGS, 4, 1);
    assert_true(format_mend_header(bytes.data, bytes.size));
    assert_refused(bytes.data, bytes.size, PERHAPS_E_VERSION, "type 1000");
    format_put(bytes.data, FORMAT_SECOND_SECTION + FORMAT_SECTION_FLAGS, 4, 2);
    assert_true(format_mend_header(bytes.data, bytes.size));
    assert_refused(bytes.data, bytes.size, PERHAPS_E_DAMAGED, "section");

    // Without a layer section there is no filter: it becomes one that may be skipped.
    format_put(bytes.data, FORMAT_FIRST_SECTION + FORMAT_SECTION_TYPE, 4, 4);
    format_put(bytes.data, FORMAT_FIRST_SECTION + FORMAT_SECTION_FLAGS, 4, 0);
    format_put(bytes.data, FORMAT_SECOND_SECTION + FORMAT_SECTION_FLAGS, 4, 0);
    assert_true(format_mend_header(bytes.data, bytes.size));
    assert_refused(bytes.data, bytes.size, PERHAPS_E_DAMAGED, "layer section");
    free(bytes.data);
}

// A section that claims more than the header has, and another behind it, which would be looked for far away.
static void test_section_beyond_the_header(void **state)
{
    static const uint64_t sizes[] = {32, 4096, UINT64_C(1) << 40, UINT64_MAX - 7, UINT64_MAX};
    struct support_bytes bytes = example();
    format_put(bytes.data, FORMAT_SECTIONS, 4, 3);
    format_put(bytes.data, FORMAT_SECOND_SECTION + FORMAT_SECTION_TYPE, 4, 1000);
    for (size_t i = 0; i < SUPPORT_COUNT(sizes); i++) {
        format_put(bytes.data, FORMAT_SECOND_SECTION + FORMAT_SECTION_DATA_SIZE, 8, sizes[i]);
        assert_true(format_mend_header(bytes.data, bytes.size));
        assert_refused(bytes.data, bytes.size, PERHAPS_E_DAMAGED, "header's section is not");
    }
    free(bytes.data);
}

// A position has 1 to 4096 bytes, and stands behind the metadata.
static void test_position_section(void **state)
{
    perhaps_filter *filter = support_filter(10, 0.01, 3);
    uint8_t text[PERHAPS_POSITION_MAX] = {1};
    assert_int_equal(perhaps_set_position(filter, text, sizeof text), PERHAPS_OK);
    struct support_bytes bytes = support_encode(filter);
    assert_int_equal(format_get(bytes.data, FORMAT_SECOND_SECTION + FORMAT_SECTION_TYPE, 4), 3);
    assert_accepted(bytes.data, bytes.size);
    const uint64_t flags[] = {1, 2, UINT32_MAX};
    for (size_t i = 0; i < SUPPORT_COUNT(flags); i++) {
        format_put(bytes.data, FORMAT_SECOND_SECTION + FORMAT_SECTION_FLAGS, 4, flags[i]);
        assert_true(format_mend_header(bytes.data, bytes.size));
        assert_refused(bytes.data, bytes.size, PERHAPS_E_DAMAGED, "position section");
    }
    format_put(bytes.data, FORMAT_SECOND_SECTION + FORMAT_SECTION_FLAGS, 4, 0);
    format_put(bytes.data, FORMAT_SECOND_SECTION + FORMAT_SECTION_DATA_SIZE, 8, PERHAPS_POSITION_MAX + 1);
    format_put(bytes.data, FORMAT_SECTION_SIZE, 8, format_get(bytes.data, FORMAT_SECTION_SIZE, 8) + 8);
    assert_true(format_mend_all(bytes.data, bytes.size));
    assert_refused(bytes.data, bytes.size, PERHAPS_E_DAMAGED, "position section");
    free(bytes.data);
    perhaps_free(filter);
}

// The metadata section may hold 64 KiB and not a byte more.
static void test_largest_metadata(void **state)
{
    perhaps_filter *filter = support_filter(10, 0.01, 3);
    uint8_t *text = support_allocate(PERHAPS_METADATA_MAX);
    assert_int_equal(perhaps_set_metadata(filter, text, PERHAPS_METADATA_MAX), PERHAPS_OK);
    struct support_bytes bytes = support_encode(filter);
    assert_accepted(bytes.data, bytes.size);
    // 8 bytes of the padding behind the chunk table are made a part of the section.
    format_put(bytes.data, FORMAT_SECOND_SECTION + FORMAT_SECTION_DATA_SIZE, 8, PERHAPS_METADATA_MAX + 1);
    format_put(bytes.data, FORMAT_SECTION_SIZE, 8, format_get(bytes.data, FORMAT_SECTION_SIZE, 8) + 8);
    assert_true(format_mend_all(bytes.data, bytes.size));
    assert_refused(bytes.data, bytes.size, PERHAPS_E_DAMAGED, "metadata section");
    free(bytes.data);
    free(text);
    perhaps_free(filter);
}

static void test_padding_of_the_header(void **state)
{
    perhaps_filter *filter = support_filter(10, 0.01, 3);
    struct support_bytes bytes = support_encode(filter);
    assert_int_equal(format_get(bytes.data, FORMAT_HEADER_SIZE, 8), 384);
    for (size_t i = FORMAT_SECOND_SECTION + 8; i < 376; i++) {
        struct mutation mutation = DAMAGED(i, 1, 1, "section size");
        assert_mutation(bytes, &mutation);
    }
    free(bytes.data);
    perhaps_free(filter);
}

// A header that is a line longer than it must be is not the one that is written for this filter.
static void test_header_of_another_size(void **state)
{
    struct support_bytes bytes = example();
    size_t header = (size_t)format_get(bytes.data, FORMAT_HEADER_SIZE, 8);
    struct support_bytes longer = {.data = support_allocate(bytes.size + 64), .size = bytes.size + 64};
    memcpy(longer.data, bytes.data, header - 8);
    memcpy(longer.data + header + 64, bytes.data + header, bytes.size - header);
    format_put(longer.data, FORMAT_HEADER_SIZE, 8, header + 64);
    assert_true(format_mend_all(longer.data, longer.size));
    assert_refused(longer.data, longer.size, PERHAPS_E_DAMAGED, "section size");
    free(longer.data);
    free(bytes.data);
}

static void test_empty_filter_with_adds(void **state)
{
    perhaps_filter *filter = support_filter(10, 0.01, 3);
    struct support_bytes bytes = support_encode(filter);
    struct mutation mutation = DAMAGED(FORMAT_LAYER_ADDS, 8, 1, "payload holds");
    assert_mutation(bytes, &mutation);
    free(bytes.data);
    perhaps_free(filter);
}

// The checksums of the payload: a flipped bit is found whatever chunk it is in, and the text says in which.
static void test_chunks(void **state)
{
    perhaps_filter *filter = support_filter(2500000, 0.01, 3); // 2.86 MiB: three chunks
    support_add_keys(filter, SUPPORT_INTEGERS, 0, 1000);
    struct support_bytes bytes = support_encode(filter);
    perhaps_free(filter);
    size_t header = (size_t)format_get(bytes.data, FORMAT_HEADER_SIZE, 8);
    const size_t chunk = (size_t)1 << 20;
    const struct {
        size_t offset;
        const char *word;
    } places[] = {{0, "chunk 1 of 3"},         {chunk - 1, "chunk 1 of 3"},
                  {chunk, "chunk 2 of 3"},     {2 * chunk - 1, "chunk 2 of 3"},
                  {2 * chunk, "chunk 3 of 3"}, {bytes.size - header - 1, "chunk 3 of 3"}};
    for (size_t i = 0; i < SUPPORT_COUNT(places); i++) {
        bytes.data[header + places[i].offset] ^= 0x10;
        assert_refused(bytes.data, bytes.size, PERHAPS_E_DAMAGED, places[i].word);
        // Under a checksum that is right the number of set bits is still wrong.
        struct support_bytes mended = support_copy(bytes);
        assert_true(format_mend_all(mended.data, mended.size));
        assert_refused(mended.data, mended.size, PERHAPS_E_DAMAGED, "payload holds");
        free(mended.data);
        bytes.data[header + places[i].offset] ^= 0x10;
    }
    assert_accepted(bytes.data, bytes.size);
    free(bytes.data);
}

// Where it says that it was merged and was not: harmless, and kept.
static void test_merged_flag(void **state)
{
    struct support_bytes bytes = example();
    format_put(bytes.data, FORMAT_FLAGS, 8, 1);
    assert_true(format_mend_header(bytes.data, bytes.size));
    perhaps_filter *filter = support_decode(bytes.data, bytes.size);
    assert_int_equal(support_stats(filter).adds_exact, 0);
    support_assert_unchanged(filter, bytes);
    perhaps_free(filter);
    free(bytes.data);
}

static void test_arguments_and_options(void **state)
{
    struct support_bytes bytes = example();
    perhaps_filter *filter = NULL;
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_decode(NULL, 1, NULL, &filter, &error), PERHAPS_E_ARGUMENT, &error);
    support_assert_failed(perhaps_decode(bytes.data, bytes.size, NULL, NULL, &error), PERHAPS_E_ARGUMENT, &error);
    support_assert_failed(perhaps_decode(NULL, 0, NULL, &filter, &error), PERHAPS_E_NOT_A_FILTER, &error);
    assert_int_equal(perhaps_decode(bytes.data, 9, NULL, &filter, NULL), PERHAPS_E_DAMAGED);
    perhaps_allocator half = {0};
    const perhaps_load_options wrong[] = {
        {.size = 0},
        {.size = sizeof wrong[0], .flags = UINT32_C(1) << 30},
        {.size = sizeof wrong[0], .flags = UINT32_MAX},
        {.size = sizeof wrong[0], .reserved = 1},
        {.size = sizeof wrong[0], .allocator = &half},
    };
    for (size_t i = 0; i < SUPPORT_COUNT(wrong); i++) {
        int result = perhaps_decode(bytes.data, bytes.size, &wrong[i], &filter, &error);
        support_assert_failed(result, PERHAPS_E_OPTION, &error);
        support_assert_failed(perhaps_open("/nowhere", &wrong[i], &filter, &error), PERHAPS_E_OPTION, &error);
    }
    assert_null(filter);
    free(bytes.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_bit),
        cmocka_unit_test(test_every_byte_overwritten),
        cmocka_unit_test(test_every_truncation),
        cmocka_unit_test(test_extensions),
        cmocka_unit_test(test_foreign_bytes),
        cmocka_unit_test(test_noise),
        cmocka_unit_test(test_sizes_in_the_header),
        cmocka_unit_test(test_fields_of_the_fixed_part),
        cmocka_unit_test(test_fields_of_the_layer),
        cmocka_unit_test(test_sections),
        cmocka_unit_test(test_unknown_sections),
        cmocka_unit_test(test_section_beyond_the_header),
        cmocka_unit_test(test_position_section),
        cmocka_unit_test(test_largest_metadata),
        cmocka_unit_test(test_padding_of_the_header),
        cmocka_unit_test(test_header_of_another_size),
        cmocka_unit_test(test_empty_filter_with_adds),
        cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_merged_flag),
        cmocka_unit_test(test_arguments_and_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
