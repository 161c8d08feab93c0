// SPDX-License-Identifier: MIT
// Counting filters as wholes: their sizes, merging, and the fields of their files.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#include "counting.h"
#include "filter.h"
#include "support_format.h"
#include "words.h"

static const uint32_t widths[] = {4, 8, 16};

static perhaps_filter *make(uint64_t capacity, double fpr, uint32_t width, uint32_t policy)
{
    return support_create(&SUPPORT_OPTIONS(.kind = PERHAPS_KIND_COUNTING, .capacity = capacity, .fpr = fpr, .seed = 5,
                                           .counter_bits = width, .policy = policy));
}

/* ---------------------------------------------------------------- sizes */

static perhaps_sizing size_of(uint32_t kind, uint32_t width, uint64_t capacity, double fpr, uint64_t bytes)
{
    perhaps_sizing sizing = {.size = sizeof sizing};
    perhaps_options options =
        SUPPORT_OPTIONS(.kind = kind, .capacity = capacity, .fpr = fpr, .bytes = bytes, .counter_bits = width);
    assert_int_equal(perhaps_size_for(&options, &sizing, NULL), PERHAPS_OK);
    return sizing;
}

static void check_triple(uint64_t capacity, double fpr, uint32_t width)
{
    perhaps_sizing bloom = size_of(PERHAPS_KIND_BLOOM, 0, capacity, fpr, 0);
    perhaps_sizing sizing = size_of(PERHAPS_KIND_COUNTING, width, capacity, fpr, 0);
    assert_true(sizing.bits == bloom.bits * width && sizing.bytes == sizing.bits / 8);
    assert_true(sizing.positions == bloom.positions && sizing.fpr_expected == bloom.fpr_expected);
    assert_true(sizing.counter_bits == width && sizing.policy == PERHAPS_POLICY_MULTISET);
    assert_true(sizing.fingerprint_bits == 0 && sizing.buckets == 0 && sizing.slots == 0);
    perhaps_sizing by_bytes = size_of(PERHAPS_KIND_COUNTING, width, capacity, 0, sizing.bytes);
    assert_true(by_bytes.bits == sizing.bits && by_bytes.fpr <= fpr);
    perhaps_sizing again = size_of(PERHAPS_KIND_COUNTING, width, capacity, by_bytes.fpr, 0);
    assert_true(again.bits == by_bytes.bits && again.positions == by_bytes.positions);
    perhaps_sizing most_keys = size_of(PERHAPS_KIND_COUNTING, width, 0, fpr, sizing.bytes);
    assert_true(most_keys.capacity >= capacity && most_keys.bits == sizing.bits);
    assert_true(size_of(PERHAPS_KIND_COUNTING, width, most_keys.capacity + 1, fpr, 0).bits > sizing.bits);
}

static void test_sizes(void **state)
{
    static const uint64_t capacities[] = {1, 100, 1000000, 10000000000};
    static const double rates[] = {0.5, 0.01, 1e-6, 1e-9};
    for (size_t i = 0; i < SUPPORT_COUNT(capacities); i++) {
        for (size_t j = 0; j < SUPPORT_COUNT(rates); j++) {
            for (size_t k = 0; k < SUPPORT_COUNT(widths); k++) {
                check_triple(capacities[i], ldexp((double)capacities[i], -62) > rates[j] ? 0.01 : rates[j], widths[k]);
            }
        }
    }
    assert_int_equal(size_of(PERHAPS_KIND_COUNTING, 0, 1000, 0.01, 0).counter_bits, 4);
    assert_true(size_of(PERHAPS_KIND_COUNTING, 0, 1000000, 0.01, 0).bits == 4 * UINT64_C(9593344));
}

static void assert_refused(perhaps_options options, int code, const char *subject)
{
    perhaps_sizing sizing = {.size = sizeof sizing};
    perhaps_error error = SUPPORT_ERROR;
    options.size = sizeof options;
    options.kind = PERHAPS_KIND_COUNTING;
    support_assert_failed(perhaps_size_for(&options, &sizing, &error), code, &error);
    assert_string_equal(error.subject, subject);
}

// 2^53 bits are the end of every kind: of four times fewer keys with counters of 16 bits than of 4.
static void test_refused_sizes(void **state)
{
    uint64_t most = size_of(PERHAPS_KIND_COUNTING, 4, 0, 0.01, UINT64_MAX).capacity;
    assert_in_range(most, UINT64_C(230000000000000), UINT64_C(240000000000000));
    assert_true(size_of(PERHAPS_KIND_COUNTING, 4, most, 0.01, 0).bits <= UINT64_C(1) << 53);
    assert_refused((perhaps_options){.capacity = most + 1000, .fpr = 0.01}, PERHAPS_E_LIMIT, "capacity");
    assert_refused((perhaps_options){.capacity = most, .fpr = 0.01, .counter_bits = 8}, PERHAPS_E_LIMIT, "capacity");
    assert_refused((perhaps_options){.capacity = most, .fpr = 0.01, .counter_bits = 16}, PERHAPS_E_LIMIT, "capacity");
    assert_refused((perhaps_options){.capacity = 1, .bytes = 255}, PERHAPS_E_LIMIT, "bytes");
    assert_refused((perhaps_options){.fpr = 0.01, .bytes = 1023, .counter_bits = 16}, PERHAPS_E_LIMIT, "bytes");
    assert_refused((perhaps_options){.capacity = 1, .fpr = 0.6}, PERHAPS_E_OPTION, "fpr");
    static const uint32_t wrong[] = {1, 2, 3, 5, 7, 12, 32, 64, 68, UINT32_MAX};
    for (size_t i = 0; i < SUPPORT_COUNT(wrong); i++) {
        assert_refused((perhaps_options){.capacity = 1, .fpr = 0.01, .counter_bits = wrong[i]}, PERHAPS_E_OPTION,
                       "counter_bits");
    }
    assert_refused((perhaps_options){.capacity = 1, .fpr = 0.01, .policy = PERHAPS_POLICY_UNIQUE}, PERHAPS_E_OPTION,
                   "policy");
    assert_refused((perhaps_options){.capacity = 1, .fpr = 0.01, .fingerprint_bits = 8}, PERHAPS_E_OPTION,
                   "fingerprint_bits");
    assert_refused((perhaps_options){.capacity = 1, .fpr = 0.01, .slots = 4}, PERHAPS_E_OPTION, "slots");
    assert_refused((perhaps_options){.capacity = 1, .fpr = 0.01, .search = 100}, PERHAPS_E_OPTION, "search");
}

/* ---------------------------------------------------------------- merging */

// Adds hash h `times(h)` times, up to 40: counters of 4 bits saturate, alone and as sums.
static void add_copies(perhaps_filter *filter, uint64_t first, uint64_t count, uint64_t factor)
{
    for (uint64_t hash = first; hash < first + count; hash++) {
        for (uint64_t i = 0; i < hash * factor % 41; i++) {
            assert_true(perhaps_add_hash(filter, hash) >= 0);
        }
    }
}

static void check_merge(uint32_t width)
{
    perhaps_filter *first = make(300, 0.01, width, PERHAPS_POLICY_MULTISET);
    perhaps_filter *second = make(300, 0.01, width, PERHAPS_POLICY_MULTISET);
    perhaps_filter *both = make(300, 0.01, width, PERHAPS_POLICY_MULTISET);
    add_copies(first, 0, 200, 7);
    add_copies(second, 100, 200, 11);
    add_copies(both, 0, 200, 7);
    add_copies(both, 100, 200, 11);
    uint64_t copies = support_stats(both).copies;
    uint64_t adds = support_stats(first).adds + support_stats(second).adds;
    struct support_bytes before = support_encode(second);
    assert_int_equal(perhaps_merge(first, second, NULL), PERHAPS_OK);
    support_assert_unchanged(second, before);
    perhaps_statistics merged = support_stats(first);
    perhaps_statistics expected = support_stats(both);
    assert_memory_equal(first->layers[0]->payload, both->layers[0]->payload, expected.bytes);
    assert_true(merged.adds == adds && merged.adds_exact == 0 && merged.copies == copies);
    assert_true(merged.set_bits == expected.set_bits && merged.saturated == expected.saturated);
    assert_true((merged.saturated > 0) == (width == 4));
    assert_memory_equal(merged.times_fpr, expected.times_fpr, sizeof merged.times_fpr);
    free(before.data);
    perhaps_free(first);
    perhaps_free(second);
    perhaps_free(both);
}

static void test_merge_equals_adding_all(void **state)
{
    for (size_t i = 0; i < SUPPORT_COUNT(widths); i++) {
        check_merge(widths[i]);
    }
}

// Counter i begins at bit i * w, the least significant first, in a payload of little-endian bytes.
static uint32_t counter_in(const uint8_t *payload, uint64_t i, uint32_t width)
{
    uint32_t value = 0;
    for (uint32_t bit = 0; bit < width; bit++) {
        uint64_t at = i * width + bit;
        value |= (uint32_t)(payload[at / 8] >> at % 8 & 1) << bit;
    }
    return value;
}

// Every pair of values in every lane, beside neighbours at both ends.
static void check_sums(uint32_t width, uint32_t a, uint32_t b, uint32_t neighbour)
{
    const uint32_t most = (1U << width) - 1;
    uint64_t left[8 * 16] = {0};
    uint64_t right[8 * 16] = {0};
    struct perhaps__counters into = {left, 512, width};
    struct perhaps__counters from = {right, 512, width};
    const uint64_t lanes = 64 / width;
    for (uint64_t i = 0; i < lanes; i++) {
        for (uint64_t j = 0; j < lanes; j++) {
            left[i] |= (uint64_t)(i == j ? a : neighbour) << (j * width);
            right[i] |= (uint64_t)(i == j ? b : neighbour) << (j * width);
        }
        left[i] = perhaps__little64(left[i]);
        right[i] = perhaps__little64(right[i]);
    }
    perhaps__counting_unite(&into, &from);
    for (uint64_t i = 0; i < lanes * lanes; i++) {
        uint64_t sum = i / lanes == i % lanes ? (uint64_t)a + b : 2 * (uint64_t)neighbour;
        uint32_t value = counter_in((const uint8_t *)left, i, width);
        assert_int_equal(value, sum < most ? sum : most);
    }
    struct perhaps__cells cells = perhaps__count_cells(left, 512 / lanes, width);
    uint64_t others = lanes * (lanes - 1);
    assert_int_equal(cells.used, lanes * (a + b > 0) + others * (neighbour > 0));
    assert_int_equal(cells.full, lanes * (a + b >= most) + others * (2 * neighbour >= most));
}

static void test_sums_of_every_lane(void **state)
{
    for (size_t i = 0; i < SUPPORT_COUNT(widths); i++) {
        const uint32_t most = (1U << widths[i]) - 1;
        const uint32_t step = widths[i] == 4 ? 1 : most / 15 - (widths[i] == 16); // and odd ones for 16 bits
        for (uint32_t a = 0; a <= most; a += step) {
            for (uint32_t b = 0; b <= most; b += step) {
                check_sums(widths[i], a, b, 0);
                check_sums(widths[i], a, b, most);
                check_sums(widths[i], a, b, most / 2);
            }
        }
    }
}

static void test_conservative_merge_is_never_too_small(void **state)
{
    perhaps_filter *first = make(300, 0.1, 8, PERHAPS_POLICY_CONSERVATIVE);
    perhaps_filter *second = make(300, 0.1, 8, PERHAPS_POLICY_CONSERVATIVE);
    add_copies(first, 0, 200, 7);
    add_copies(second, 100, 200, 11);
    assert_int_equal(perhaps_merge(first, second, NULL), PERHAPS_OK);
    for (uint64_t hash = 0; hash < 300; hash++) {
        uint64_t added = (hash < 200 ? hash * 7 % 41 : 0) + (hash >= 100 ? hash * 11 % 41 : 0);
        assert_true(perhaps_count_at_most_hash(first, hash) >= added);
    }
    perhaps_free(first);
    perhaps_free(second);
}

// 4-bit counters of one filter are as many bits as 8-bit ones of another half as large.
static void assert_mismatch(perhaps_filter *into, perhaps_filter *from, const char *what, const char *values)
{
    assert_int_equal(perhaps_add_hash(into, 1), 1);
    assert_int_equal(perhaps_add_hash(from, 2), 1);
    struct support_bytes before = support_encode(into);
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_merge(into, from, &error), PERHAPS_E_MISMATCH, &error);
    if (strstr(error.text, what) == NULL || strstr(error.text, values) == NULL) {
        fail_msg("%s", error.text);
    }
    support_assert_unchanged(into, before);
    free(before.data);
    perhaps_free(into);
    perhaps_free(from);
}

static void test_mismatches(void **state)
{
    const uint32_t multiset = PERHAPS_POLICY_MULTISET;
    assert_mismatch(make(100, 0.01, 4, multiset), make(100, 0.01, 8, multiset), "width", "4 and 8");
    assert_mismatch(make(100, 0.01, 16, multiset), make(100, 0.01, 4, multiset), "width", "16 and 4");
    assert_mismatch(make(100, 0.01, 4, multiset), make(100, 0.01, 4, PERHAPS_POLICY_CONSERVATIVE), "policy", "1 and 3");
    perhaps_filter *filter = make(100, 0.01, 4, multiset);
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_merge(filter, filter, &error), PERHAPS_E_ARGUMENT, &error);
    perhaps_free(filter);
}

/* ---------------------------------------------------------------- files */

struct field {
    const char *name;
    size_t offset;
    unsigned width;
    uint64_t wrong[6]; // up to the first 0, which is tried too unless it is right
};

static void assert_damaged(struct support_bytes bytes, const struct field *field, uint64_t value)
{
    struct support_bytes copy = support_copy(bytes);
    uint64_t right = format_get(copy.data, field->offset, field->width);
    if (value != right) {
        format_put(copy.data, field->offset, field->width, value);
        assert_true(format_mend_header(copy.data, copy.size));
        perhaps_filter *filter = NULL;
        perhaps_error error = SUPPORT_ERROR;
        int status = perhaps_decode(copy.data, copy.size, NULL, &filter, &error);
        if (status != PERHAPS_E_DAMAGED && status != PERHAPS_E_PROBE) {
            fail_msg("%s %llu: %s", field->name, (unsigned long long)value, perhaps_error_name(status));
        }
    }
    free(copy.data);
}

static void test_fields(void **state)
{
    perhaps_filter *filter = make(1000, 0.01, 8, PERHAPS_POLICY_MULTISET);
    support_add_keys(filter, SUPPORT_WORDS, 0, 500);
    uint8_t key[SUPPORT_KEY_MAX];
    assert_int_equal(perhaps_remove(filter, key, support_key(SUPPORT_WORDS, 3, key)), 1);
    struct support_bytes bytes = support_encode(filter);
    uint64_t range = filter->layers[0]->range;
    const struct field fields[] = {
        {"cell_bits", FORMAT_LAYER_CELL_BITS, 4, {4, 16, 7, 32, 0}},
        {"policy", FORMAT_LAYER_POLICY, 4, {PERHAPS_POLICY_UNIQUE, 4, 255, 0}},
        {"positions", FORMAT_LAYER_POSITIONS, 4, {8, 65, 1, 0}},
        {"layout", FORMAT_LAYER_LAYOUT, 4, {1, 4}},
        {"range", FORMAT_LAYER_RANGE, 8, {range / 2, range * 2, range - 512, range * 8, 0}},
        {"slots", FORMAT_LAYER_SLOTS, 4, {1, 4}},
        {"search", FORMAT_LAYER_SEARCH, 4, {1, 512}},
        {"reserved", FORMAT_LAYER_RESERVED, 8, {1}},
        {"adds", FORMAT_LAYER_ADDS, 8, {501, UINT64_MAX, 0}},
        {"used", FORMAT_LAYER_USED, 8, {1, UINT64_MAX, 0}},
        {"copies", FORMAT_LAYER_COPIES, 8, {1, 0}},
        {"kind", FORMAT_KIND, 4, {PERHAPS_KIND_BLOOM, PERHAPS_KIND_BLOCKED}},
    };
    for (size_t i = 0; i < SUPPORT_COUNT(fields); i++) {
        for (size_t j = 0; j < SUPPORT_COUNT(fields[i].wrong) && (j == 0 || fields[i].wrong[j - 1] != 0); j++) {
            assert_damaged(bytes, &fields[i], fields[i].wrong[j]);
        }
    }
    free(bytes.data);
    perhaps_free(filter);
}

// The checks of a shape themselves: of what else would notice, the probe of positions, they do not depend.
static void test_shapes(void **state)
{
    perhaps_filter *filter = make(1000, 0.01, 8, PERHAPS_POLICY_MULTISET);
    const struct perhaps__layer right = *filter->layers[0];
    bool (*is_sound)(const struct perhaps__layer *layer) = right.operations->is_sound;
    assert_true(is_sound(&right));
    struct perhaps__layer wrong[12];
    for (size_t i = 0; i < SUPPORT_COUNT(wrong); i++) {
        wrong[i] = right;
    }
    wrong[0].range /= 2;
    wrong[1].range *= 2;
    wrong[2].bits /= 2;
    wrong[3].bits = 5 * UINT64_C(512); // whole units of bits, but not of counters
    wrong[3].range = wrong[3].bits / 8;
    wrong[4].shape.cell_bits = 4;
    wrong[5].shape.cell_bits = 0;
    wrong[6].shape.positions = 0;
    wrong[7].shape.positions = PERHAPS_MAX_POSITIONS + 1;
    wrong[8].shape.layout = 1;
    wrong[9].shape.slots = 4;
    wrong[10].shape.search = 512;
    wrong[11].shape.policy = PERHAPS_POLICY_DEFAULT;
    for (size_t i = 0; i < SUPPORT_COUNT(wrong); i++) {
        if (is_sound(&wrong[i])) {
            fail_msg("wrong shape %zu is believed", i);
        }
    }
    perhaps_free(filter);
}

// A payload of other counters than is recorded, under right checksums; and an empty one that claims adds.
static void test_recorded_counts(void **state)
{
    perhaps_filter *filter = make(1000, 0.01, 4, PERHAPS_POLICY_MULTISET);
    struct support_bytes empty = support_encode(filter);
    const struct field claims[] = {
        {"adds", FORMAT_LAYER_ADDS, 8, {1}},
        {"copies", FORMAT_LAYER_COPIES, 8, {1}},
        {"removals", FORMAT_LAYER_REMOVALS, 8, {1}},
    };
    for (size_t i = 0; i < SUPPORT_COUNT(claims); i++) {
        assert_damaged(empty, &claims[i], 1);
    }
    struct support_bytes copy = support_copy(empty);
    format_put(copy.data, FORMAT_LAYER_COPIES, 8, 1);
    assert_damaged(copy, &claims[0], 1); // one add, of which there is no trace
    free(copy.data);
    size_t header = (size_t)format_get(empty.data, FORMAT_HEADER_SIZE, 8);
    empty.data[header + 9] = 0x30;
    assert_true(format_mend_all(empty.data, empty.size));
    const struct field used = {"used", FORMAT_LAYER_USED, 8, {0}};
    assert_damaged(empty, &used, 1); // a counter that no add has raised
    assert_damaged(empty, &used, 2);
    free(empty.data);
    perhaps_free(filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_refused_sizes),
        cmocka_unit_test(test_merge_equals_adding_all),
        cmocka_unit_test(test_sums_of_every_lane),
        cmocka_unit_test(test_conservative_merge_is_never_too_small),
        cmocka_unit_test(test_mismatches),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_recorded_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
