// SPDX-License-Identifier: MIT
// What a header may take is limited by the length of the input, before its checksum could be looked at, and so is what the
// filter may take afterwards; see test_decode.c for everything else.
#include <stdlib.h>
#include <string.h>

#include "support.h"

#include "support_format.h"

static struct support_bytes example(void)
{
    perhaps_filter *filter = support_filter(10, 0.01, 3);
    support_add_keys(filter, SUPPORT_WORDS, 0, 10);
    assert_int_equal(perhaps_set_metadata(filter, "where it was made of", 21), PERHAPS_OK);
    struct support_bytes bytes = support_encode(filter);
    perhaps_free(filter);
    return bytes;
}

// Refused with at most so much memory, for a reason that has the word.
static void assert_refused(struct support_bytes bytes, uint64_t most_memory, const char *word)
{
    struct support_memory memory = {0};
    perhaps_allocator allocator = support_memory_allocator(&memory);
    const perhaps_load_options options = {.size = sizeof options, .allocator = &allocator};
    perhaps_filter *filter = NULL;
    perhaps_error error = SUPPORT_ERROR;
    int result = perhaps_decode(bytes.data, bytes.size, &options, &filter, &error);
    support_assert_failed(result, PERHAPS_E_DAMAGED, &error);
    assert_non_null(strstr(error.text, word));
    assert_true(memory.total <= most_memory);
    assert_true(support_memory_is_clean(&memory));
}

// Nearly all of it header, as a sparse file can be at no cost: refused before memory is asked for.
static void test_header_without_measure(void **state)
{
    const size_t size = (size_t)3 << 20;
    struct support_bytes small = example();
    struct support_bytes bytes = {.data = support_allocate(size), .size = size};
    memcpy(bytes.data, small.data, FORMAT_LAYER_END);
    format_put(bytes.data, FORMAT_HEADER_SIZE, 8, size - 64);
    assert_true(format_mend_header(bytes.data, bytes.size));
    assert_refused(bytes, 0, "header's size");
    free(bytes.data);
    free(small.data);
}

// The example with a second section of any size, which may be skipped.
static struct support_bytes with_sections(struct support_bytes small, uint64_t sections)
{
    size_t payload = (size_t)format_get(small.data, FORMAT_PAYLOAD_SIZE, 8);
    size_t header = (FORMAT_FIRST_SECTION + (size_t)sections + 8 + 8 + 63) / 64 * 64; // chunk table and checksum
    struct support_bytes bytes = {.data = support_allocate(header + payload), .size = header + payload};
    memcpy(bytes.data, small.data, FORMAT_SECOND_SECTION);
    memcpy(bytes.data + header, small.data + small.size - payload, payload);
    format_put(bytes.data, FORMAT_HEADER_SIZE, 8, header);
    format_put(bytes.data, FORMAT_SECTION_SIZE, 8, sections);
    format_put(bytes.data, FORMAT_SECOND_SECTION + FORMAT_SECTION_TYPE, 4, 1000);
    format_put(bytes.data, FORMAT_SECOND_SECTION + FORMAT_SECTION_DATA_SIZE, 8,
               FORMAT_FIRST_SECTION + sections - FORMAT_SECOND_SECTION - FORMAT_SECTION_DATA);
    assert_true(format_mend_all(bytes.data, bytes.size));
    return bytes;
}

// All sections of a header have 1 MiB and not a byte more.
static void test_largest_sections(void **state)
{
    const uint64_t most = UINT64_C(1) << 20;
    struct support_bytes small = example();
    struct support_bytes largest = with_sections(small, most);
    struct support_bytes larger = with_sections(small, most + 8);
    perhaps_filter *filter = support_decode(largest.data, largest.size);
    assert_int_equal(support_count_present(filter, SUPPORT_WORDS, 0, 10), 10);
    assert_refused(larger, larger.size, "section size");
    perhaps_free(filter);
    free(larger.data);
    free(largest.data);
    free(small.data);
}

static struct support_bytes growing(uint32_t kind)
{
    perhaps_filter *filter = support_create(
        &SUPPORT_OPTIONS(.kind = kind, .capacity = 100, .fpr = 0.01, .at_capacity = PERHAPS_AT_CAPACITY_GROW));
    struct support_bytes bytes = support_encode(filter);
    perhaps_free(filter);
    return bytes;
}

// The next layer of a filter that grows is as large as the capacities say, which nobody has to believe: that of a layer, and
// that of the first one.
static void check_capacities(uint32_t kind)
{
    struct support_bytes bytes = growing(kind);
    uint64_t bits = format_get(bytes.data, FORMAT_LAYER_BITS, 8);
    const uint64_t refused[] = {bits + 1, 99, 0, UINT64_C(1) << 62};
    for (size_t i = 0; i < SUPPORT_COUNT(refused); i++) {
        format_put(bytes.data, FORMAT_LAYER_CAPACITY, 8, refused[i]);
        assert_true(format_mend_all(bytes.data, bytes.size));
        assert_refused(bytes, bytes.size, "layer capacity");
    }
    format_put(bytes.data, FORMAT_LAYER_CAPACITY, 8, 100);
    const uint64_t first[] = {101, UINT64_C(1) << 62};
    for (size_t i = 0; i < SUPPORT_COUNT(first); i++) {
        format_put(bytes.data, FORMAT_CAPACITY, 8, first[i]);
        assert_true(format_mend_all(bytes.data, bytes.size));
        assert_refused(bytes, bytes.size, "layer capacity");
    }
    format_put(bytes.data, FORMAT_CAPACITY, 8, 100);
    assert_true(format_mend_all(bytes.data, bytes.size));
    perhaps_free(support_decode(bytes.data, bytes.size));
    free(bytes.data);
}

static void test_capacities(void **state)
{
    check_capacities(PERHAPS_KIND_BLOOM);
    check_capacities(PERHAPS_KIND_BLOCKED);
    check_capacities(PERHAPS_KIND_CUCKOO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header_without_measure),
        cmocka_unit_test(test_largest_sections),
        cmocka_unit_test(test_capacities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
