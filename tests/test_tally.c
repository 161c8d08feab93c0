// SPDX-License-Identifier: MIT
// What a filter counts of itself stays at its top, as one that merges its replica again and again gets there (each doubles
// the sum of the other), or a file says. Adds, removals, merges and files work as before: nothing depends on such a number.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared.h"
#include "support_view.h"

#include "support_format.h"

static const struct variant {
    const char *name;
    perhaps_options options;
} variants[] = {
    {"bloom", {.kind = PERHAPS_KIND_BLOOM}},
    {"bloom, growing", {.kind = PERHAPS_KIND_BLOOM, .at_capacity = PERHAPS_AT_CAPACITY_GROW}},
    {"blocked", {.kind = PERHAPS_KIND_BLOCKED}},
    {"blocked, growing", {.kind = PERHAPS_KIND_BLOCKED, .at_capacity = PERHAPS_AT_CAPACITY_GROW}},
    {"counting", {.kind = PERHAPS_KIND_COUNTING, .counter_bits = 4}},
    {"counting of 16 bits", {.kind = PERHAPS_KIND_COUNTING, .counter_bits = 16}},
    {"conservative", {.kind = PERHAPS_KIND_COUNTING, .policy = PERHAPS_POLICY_CONSERVATIVE, .counter_bits = 8}},
    {"cuckoo", {.kind = PERHAPS_KIND_CUCKOO, .at_capacity = PERHAPS_AT_CAPACITY_GO_ON}},
    {"unique", {.kind = PERHAPS_KIND_CUCKOO, .policy = PERHAPS_POLICY_UNIQUE}},
    {"cuckoo, growing",
     {.kind = PERHAPS_KIND_CUCKOO, .policy = PERHAPS_POLICY_MULTISET, .at_capacity = PERHAPS_AT_CAPACITY_GROW}},
};

#define FOR_EACH_VARIANT(variant)                                                                                      \
    for (const struct variant *variant = variants; variant < variants + SUPPORT_COUNT(variants); variant++)

static const uint32_t sharings[] = {0, PERHAPS_SHARED, PERHAPS_SHARED | PERHAPS_CLAIM};

#define KEYS 200

static perhaps_filter *make(const struct variant *variant, uint32_t flags)
{
    perhaps_options options = variant->options;
    options.size = sizeof options;
    options.capacity = 1000;
    options.fpr = 0.001;
    options.flags = flags;
    return support_create(&options);
}

static bool grows(const struct variant *variant)
{
    return variant->options.at_capacity == PERHAPS_AT_CAPACITY_GROW;
}

static uint64_t hash_of(uint64_t number)
{
    return (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static void add(perhaps_filter *filter, uint64_t first, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        assert_true(perhaps_add_hash(filter, hash_of(first + i)) >= 0);
    }
}

static void add_batch(perhaps_filter *filter, uint64_t first, uint64_t count)
{
    uint64_t hashes[64];
    uint8_t out[64];
    for (uint64_t i = 0; i < count; i++) {
        hashes[i] = hash_of(first + i);
    }
    assert_int_equal(perhaps_add_many_hash(filter, hashes, count, out, NULL), PERHAPS_OK);
}

static void assert_has(const perhaps_filter *filter, uint64_t first, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        assert_int_equal(perhaps_might_contain_hash(filter, hash_of(first + i)), 1);
    }
}

static perhaps_filter *load(struct support_bytes bytes, uint32_t flags)
{
    const perhaps_load_options options = {
        .size = sizeof options,
        .flags = ((flags & PERHAPS_SHARED) != 0 ? PERHAPS_OPEN_SHARED : 0) |
                 ((flags & PERHAPS_CLAIM) != 0 ? PERHAPS_OPEN_CLAIM : 0),
    };
    perhaps_filter *filter = NULL;
    perhaps_error error = SUPPORT_ERROR;
    if (perhaps_decode(bytes.data, bytes.size, &options, &filter, &error) != PERHAPS_OK) {
        fail_msg("%s", error.text);
    }
    return filter;
}

// It can be written, and what is written opened.
static void assert_is_kept(void **state, const perhaps_filter *filter, uint64_t first, uint64_t count)
{
    char *path = support_path(state, "kept");
    support_save(filter, path);
    perhaps_filter *opened = support_open(path, 0);
    assert_has(opened, first, count);
    support_assert_same(filter, opened);
    perhaps_free(opened);
    perhaps_filter *touched = support_open(path, PERHAPS_OPEN_FIRST_TOUCH);
    assert_has(touched, first, count);
    perhaps_free(touched);
    free(path);
}

// Filters that grow are not merged, and an empty one of the other kinds then has the keys.
static void assert_merges(const struct variant *variant, const perhaps_filter *filter, uint64_t first, uint64_t count)
{
    perhaps_filter *into = make(variant, 0);
    int status = perhaps_merge(into, filter, NULL);
    if (grows(variant)) {
        assert_int_equal(status, PERHAPS_E_UNSUPPORTED);
    } else {
        assert_int_equal(status, PERHAPS_OK);
        assert_has(into, first, count);
    }
    perhaps_free(into);
}

/* ---------------------------------------------------------------- replicas that merge each other */

// How far 70 rounds get: copies fill a cuckoo table, and then it refuses more.
static void merge_mutually(perhaps_filter *a, perhaps_filter *b)
{
    for (unsigned i = 0; i < 70; i++) {
        int there = perhaps_merge(a, b, NULL);
        int back = perhaps_merge(b, a, NULL);
        assert_true(there == PERHAPS_OK || there == PERHAPS_E_FULL || there == PERHAPS_E_COPIES);
        assert_true(back == PERHAPS_OK || back == PERHAPS_E_FULL || back == PERHAPS_E_COPIES);
    }
}

static void test_mutual_merges(void **state)
{
    FOR_EACH_VARIANT(variant)
    {
        for (size_t i = 0; i < SUPPORT_COUNT(sharings) && !grows(variant); i++) {
            perhaps_filter *a = make(variant, sharings[i]);
            perhaps_filter *b = make(variant, sharings[i]);
            add(a, 0, 30);
            add(b, 30, 30);
            merge_mutually(a, b);
            perhaps_statistics before = support_stats(a);
            bool is_full = variant->options.kind == PERHAPS_KIND_CUCKOO && before.policy == PERHAPS_POLICY_MULTISET;
            assert_true(is_full || before.adds == UINT64_MAX);
            add(a, 60, 1);
            add_batch(a, 61, 5);
            add_batch(a, 66, 64);
            assert_true(is_full || support_stats(a).adds == UINT64_MAX);
            assert_has(a, 0, 130);
            assert_is_kept(state, a, 0, 130);
            assert_merges(variant, a, 0, 130);
            perhaps_free(a);
            perhaps_free(b);
        }
    }
}

/* ---------------------------------------------------------------- files that say so */

// The bytes of a filter of KEYS keys, with numbers of their own for what was counted, where the kind has it.
static struct support_bytes bytes_that_say(const struct variant *variant, uint64_t counted)
{
    perhaps_filter *filter = make(variant, 0);
    add(filter, 0, KEYS);
    struct support_bytes bytes = support_encode(filter);
    bool removes = variant->options.kind == PERHAPS_KIND_COUNTING || variant->options.kind == PERHAPS_KIND_CUCKOO;
    format_put(bytes.data, FORMAT_LAYER_ADDS, 8, counted);
    if (variant->options.kind == PERHAPS_KIND_COUNTING) { // copies in a cuckoo filter are its slots
        format_put(bytes.data, FORMAT_LAYER_COPIES, 8, counted);
    }
    if (removes) {
        format_put(bytes.data, FORMAT_LAYER_REMOVALS, 8, counted);
    }
    if (grows(variant)) {
        format_put(bytes.data, FORMAT_AMBIGUOUS, 8, counted);
    }
    assert_true(format_mend_all(bytes.data, bytes.size));
    perhaps_free(filter);
    return bytes;
}

static void assert_top(const struct variant *variant, const perhaps_filter *filter)
{
    perhaps_statistics s = support_stats(filter);
    assert_int_equal(s.adds, UINT64_MAX);
    if (variant->options.kind == PERHAPS_KIND_COUNTING) {
        assert_int_equal(s.copies, UINT64_MAX);
    }
}

// Few and many, so that each way of adding is gone.
static void change(const struct variant *variant, perhaps_filter *filter)
{
    add(filter, KEYS, 10);
    add_batch(filter, KEYS + 10, 5);
    add_batch(filter, KEYS + 15, 64);
    assert_top(variant, filter);
    int removed = perhaps_remove_hash(filter, hash_of(KEYS));
    if (removed != PERHAPS_E_UNSUPPORTED) {
        assert_int_equal(removed, 1);
        uint64_t hashes[4];
        for (size_t i = 0; i < 4; i++) {
            hashes[i] = hash_of(KEYS + 1 + i);
        }
        assert_int_equal(perhaps_remove_many_hash(filter, hashes, 4, NULL, NULL), PERHAPS_OK);
        assert_int_equal(support_stats(filter).removals, UINT64_MAX);
        add(filter, KEYS, 5);
    }
    assert_top(variant, filter);
}

static void test_highest_in_a_file(void **state)
{
    FOR_EACH_VARIANT(variant)
    {
        for (uint64_t below = 0; below < 3; below++) {
            struct support_bytes bytes = bytes_that_say(variant, UINT64_MAX - below);
            for (size_t i = 0; i < SUPPORT_COUNT(sharings); i++) {
                perhaps_filter *filter = load(bytes, sharings[i]);
                support_assert_unchanged(filter, bytes);
                change(variant, filter);
                assert_has(filter, 0, KEYS + 79);
                assert_is_kept(state, filter, 0, KEYS + 79);
                assert_merges(variant, filter, 0, KEYS + 79);
                perhaps_free(filter);
            }
            free(bytes.data);
        }
    }
}

// A layer more, and the sum over both is no smaller for it.
static void test_highest_in_a_layer_of_two(void **state)
{
    FOR_EACH_VARIANT(variant)
    {
        for (size_t i = 0; i < SUPPORT_COUNT(sharings) && grows(variant); i++) {
            struct support_bytes bytes = bytes_that_say(variant, UINT64_MAX);
            perhaps_filter *filter = load(bytes, sharings[i]);
            add(filter, KEYS, 2000);
            assert_int_equal(support_stats(filter).layers, 2);
            assert_int_equal(support_stats(filter).adds, UINT64_MAX);
            assert_has(filter, 0, KEYS + 2000);
            assert_is_kept(state, filter, 0, KEYS + 2000);
            perhaps_compaction done = {.size = sizeof done};
            if (variant->options.kind ==
                PERHAPS_KIND_CUCKOO) { // what the layer that goes has counted, the other takes over
                for (uint64_t j = 0; j < 1900; j++) {
                    assert_int_equal(perhaps_remove_hash(filter, hash_of(KEYS + j)), 1);
                }
                assert_int_equal(perhaps_compact(filter, 0, &done, NULL), PERHAPS_OK);
                assert_int_equal(done.layers, 1);
                assert_int_equal(support_stats(filter).adds, UINT64_MAX);
                assert_int_equal(support_stats(filter).removals, UINT64_MAX);
                assert_has(filter, 0, KEYS);
                assert_is_kept(state, filter, 0, KEYS);
            }
            perhaps_free(filter);
            free(bytes.data);
        }
    }
}

// The journal adds to the file's numbers when it is replayed.
static void test_highest_in_a_journal(void **state)
{
    FOR_EACH_VARIANT(variant)
    {
        char *path = support_path(state, "durable");
        char *journal = support_path(state, "durable.journal");
        struct support_bytes bytes = bytes_that_say(variant, UINT64_MAX);
        perhaps_filter *filter = load(bytes, 0);
        assert_int_equal(perhaps_begin_journal(filter, path, NULL, NULL), PERHAPS_OK);
        add(filter, KEYS, 20);
        perhaps_free(filter);
        filter = support_open(path, 0);
        assert_top(variant, filter);
        assert_has(filter, 0, KEYS + 20);
        perhaps_free(filter);
        perhaps_error error = SUPPORT_ERROR;
        assert_int_equal(perhaps_open_durable(path, NULL, &filter, &error), PERHAPS_OK);
        assert_int_equal(perhaps_fold_journal(filter, &error), PERHAPS_OK);
        perhaps_free(filter);
        filter = support_open(path, 0);
        assert_top(variant, filter);
        assert_has(filter, 0, KEYS + 20);
        perhaps_free(filter);
        (void)remove(path);
        (void)remove(journal);
        free(bytes.data);
        free(path);
        free(journal);
    }
}

/* ---------------------------------------------------------------- files that lie */

// The header of an empty filter before the payload of one with keys. Read by first touch it is believed, until the payload
// is asked for as a whole: then it is not taken for empty.
static void test_not_empty_as_a_file_says(void **state)
{
    FOR_EACH_VARIANT(variant)
    {
        perhaps_filter *empty = make(variant, 0);
        perhaps_filter *filter = make(variant, 0);
        add(filter, 0, KEYS);
        struct support_bytes bytes = support_encode(empty);
        struct support_bytes full = support_encode(filter);
        size_t payload = (size_t)support_stats(filter).bytes;
        memcpy(bytes.data + bytes.size - payload, full.data + full.size - payload, payload);
        assert_true(format_mend_all(bytes.data, bytes.size));
        struct support_bytes aligned = support_aligned(bytes);
        perhaps_filter *view = support_view_of(aligned, PERHAPS_OPEN_FIRST_TOUCH, NULL);
        struct support_bytes before = support_encode(empty);
        perhaps_error error = SUPPORT_ERROR;
        size_t size = 0;
        if (!grows(variant)) {
            support_assert_failed(perhaps_merge(empty, view, &error), PERHAPS_E_DAMAGED, &error);
        }
        support_assert_unchanged(empty, before);
        support_assert_failed(perhaps_encode(view, NULL, 0, &size, &error), PERHAPS_E_DAMAGED, &error);
        perhaps_free(view);
        perhaps_free(filter);
        perhaps_free(empty);
        free(before.data);
        free(aligned.data);
        free(full.data);
        free(bytes.data);
    }
}

// Of slots that are taken a file may say that no add of a new key took them.
static void test_merging_what_was_never_counted(void **state)
{
    FOR_EACH_VARIANT(variant)
    {
        if (variant->options.kind == PERHAPS_KIND_CUCKOO && !grows(variant)) {
            struct support_bytes bytes = bytes_that_say(variant, 0);
            perhaps_filter *filter = load(bytes, 0);
            assert_int_equal(support_stats(filter).adds, 0);
            assert_merges(variant, filter, 0, KEYS);
            perhaps_free(filter);
            free(bytes.data);
        }
    }
}

/* ---------------------------------------------------------------- threads */

// Every one of several threads comes to the top, and none goes on from zero.
static void *count_up(void *context)
{
    const struct perhaps__tally more = {.keys = 3, .copies = 3, .removals = 2, .refused_full = 1};
    for (unsigned i = 0; i < 2000; i++) {
        perhaps__tally_add(context, &more);
    }
    return NULL;
}

static void test_threads_at_the_top(void **state)
{
    const struct perhaps__tally near = {
        .keys = UINT64_MAX - 5000, .copies = UINT64_MAX - 5000, .removals = UINT64_MAX - 5000};
    struct perhaps__layer layer = {.tally = near};
    pthread_t threads[4];
    for (size_t i = 0; i < SUPPORT_COUNT(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, count_up, &layer), 0);
    }
    for (size_t i = 0; i < SUPPORT_COUNT(threads); i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_true(layer.tally.keys == UINT64_MAX && layer.tally.copies == UINT64_MAX);
    assert_true(layer.tally.removals == UINT64_MAX && layer.tally.refused_full == 8000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mutual_merges),
        cmocka_unit_test(test_highest_in_a_file),
        cmocka_unit_test(test_highest_in_a_layer_of_two),
        cmocka_unit_test(test_highest_in_a_journal),
        cmocka_unit_test(test_not_empty_as_a_file_says),
        cmocka_unit_test(test_merging_what_was_never_counted),
        cmocka_unit_test(test_threads_at_the_top),
    };
    return cmocka_run_group_tests(tests, support_make_directory, support_remove_directory);
}
