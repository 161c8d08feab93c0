// SPDX-License-Identifier: MIT
// The options of a filter make the same filter again.
#include <stdlib.h>

#include "support.h"

static perhaps_options options_of(const perhaps_filter *filter)
{
    perhaps_options options = SUPPORT_OPTIONS();
    assert_int_equal(perhaps_options_of(filter, &options), PERHAPS_OK);
    assert_int_equal(options.size, sizeof options);
    return options;
}

// Also after it was filled, grew, and was saved.
static void check(const perhaps_options *made)
{
    perhaps_filter *filter = support_create(made);
    struct support_bytes empty = support_encode(filter);
    for (uint64_t key = 0; key < 5000; key++) {
        if (perhaps_add_hash(filter, key) < 0) {
            break; // full
        }
    }
    struct support_bytes full = support_encode(filter);
    perhaps_free(filter);
    filter = support_decode(full.data, full.size);
    perhaps_options options = options_of(filter);
    perhaps_filter *again = support_create(&options);
    support_assert_unchanged(again, empty);
    assert_int_equal(options.bytes | options.flags, 0);
    assert_null(options.key);
    assert_null(options.allocator);
    if (made->kind == PERHAPS_KIND_CUCKOO && made->fingerprint_bits == 0) {
        assert_int_equal(options.fingerprint_bits, 0);
    }
    perhaps_free(again);
    perhaps_free(filter);
    free(empty.data);
    free(full.data);
}

static void test_fixed(void **state)
{
    static const perhaps_options made[] = {
        {.kind = PERHAPS_KIND_BLOOM, .capacity = 1000, .fpr = 0.01, .seed = 7},
        {.kind = PERHAPS_KIND_BLOOM, .capacity = 1000, .bytes = 1000},
        {.kind = PERHAPS_KIND_BLOOM, .fpr = 0.003, .bytes = 1000, .at_capacity = PERHAPS_AT_CAPACITY_REFUSE},
        {.kind = PERHAPS_KIND_BLOOM, .capacity = 1000, .fpr = 0.01, .hash_source = PERHAPS_HASH_CALLER},
        {.kind = PERHAPS_KIND_BLOCKED, .capacity = 1000, .fpr = 1e-5},
        {.kind = PERHAPS_KIND_COUNTING, .capacity = 1000, .fpr = 0.01, .counter_bits = 16},
        {.kind = PERHAPS_KIND_COUNTING, .capacity = 1000, .fpr = 0.01, .policy = PERHAPS_POLICY_CONSERVATIVE},
        {.kind = PERHAPS_KIND_CUCKOO, .capacity = 1000, .fpr = 0.01, .slots = 2, .search = 77},
        {.kind = PERHAPS_KIND_CUCKOO, .capacity = 1000, .fpr = 0.01, .policy = PERHAPS_POLICY_UNIQUE},
        {.kind = PERHAPS_KIND_CUCKOO, .capacity = 1000, .bytes = 4096},
        {.kind = PERHAPS_KIND_CUCKOO, .capacity = 1000, .fpr = 0.01, .fingerprint_bits = 22},
    };
    for (size_t i = 0; i < SUPPORT_COUNT(made); i++) {
        perhaps_options options = made[i];
        options.size = sizeof options;
        check(&options);
    }
}

static void test_growing(void **state)
{
    static const perhaps_options made[] = {
        {.kind = PERHAPS_KIND_BLOOM, .growth = 4},
        {.kind = PERHAPS_KIND_BLOOM, .max_capacity = 2000},
        {.kind = PERHAPS_KIND_BLOCKED, .max_bytes = 3000},
        {.kind = PERHAPS_KIND_BLOCKED, .max_capacity = 100000, .max_bytes = 1 << 20},
        {.kind = PERHAPS_KIND_CUCKOO},
        {.kind = PERHAPS_KIND_CUCKOO, .max_capacity = 100000},
        {.kind = PERHAPS_KIND_CUCKOO, .policy = PERHAPS_POLICY_MULTISET},
        {.kind = PERHAPS_KIND_CUCKOO, .policy = PERHAPS_POLICY_MULTISET, .max_capacity = 100000, .slots = 1},
        {.kind = PERHAPS_KIND_CUCKOO, .policy = PERHAPS_POLICY_UNIQUE, .fingerprint_bits = 24, .search = 9},
    };
    for (size_t i = 0; i < SUPPORT_COUNT(made); i++) {
        perhaps_options options = made[i];
        options.size = sizeof options;
        options.capacity = 100;
        options.fpr = 0.01;
        options.at_capacity = PERHAPS_AT_CAPACITY_GROW;
        check(&options);
    }
}

// What was asked for is told, and only that.
static void test_fingerprints(void **state)
{
    perhaps_options made = SUPPORT_OPTIONS(.kind = PERHAPS_KIND_CUCKOO, .capacity = 1000, .fpr = 0.01);
    perhaps_filter *filter = support_create(&made);
    uint32_t needed = support_stats(filter).fingerprint_bits;
    perhaps_free(filter);
    for (uint32_t bits = needed; bits <= 32; bits++) {
        made.fingerprint_bits = bits;
        filter = support_create(&made);
        assert_int_equal(options_of(filter).fingerprint_bits, bits == needed ? 0 : bits);
        perhaps_free(filter);
    }
}

// The key is the caller's to give.
static void test_keyed(void **state)
{
    const uint8_t key[PERHAPS_KEY_BYTES] = {1};
    perhaps_options made = SUPPORT_OPTIONS(.capacity = 100, .fpr = 0.01, .key = key);
    perhaps_filter *filter = NULL;
    if (perhaps_create(&made, &filter, NULL) == PERHAPS_E_UNSUPPORTED) {
        skip(); // built without keys
    }
    perhaps_options options = options_of(filter);
    assert_int_equal(options.hash_source, PERHAPS_HASH_SIPHASH);
    assert_null(options.key);
    perhaps_filter *again = NULL;
    assert_int_equal(perhaps_create(&options, &again, NULL), PERHAPS_E_OPTION);
    options.key = key;
    again = support_create(&options);
    support_assert_same(filter, again);
    perhaps_free(again);
    perhaps_free(filter);
}

static void test_misuse(void **state)
{
    perhaps_filter *filter = support_filter(100, 0.01, 0);
    perhaps_options options = SUPPORT_OPTIONS(.capacity = 77);
    assert_int_equal(perhaps_options_of(NULL, &options), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_options_of(filter, NULL), PERHAPS_E_ARGUMENT);
    options.size = 0;
    assert_int_equal(perhaps_options_of(filter, &options), PERHAPS_E_OPTION);
    options.size = sizeof options + 8;
    assert_int_equal(perhaps_options_of(filter, &options), PERHAPS_E_OPTION);
    assert_int_equal(options.capacity, 77);
    perhaps_free(filter);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed), cmocka_unit_test(test_growing), cmocka_unit_test(test_fingerprints),
        cmocka_unit_test(test_keyed), cmocka_unit_test(test_misuse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
