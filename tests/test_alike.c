// SPDX-License-Identifier: MIT
// The same answers whoever asks, and however keys come: keys that look alike beside removals, batches of any size,
// replaying, folds in slices, and bytes whose parts do not belong together.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

#include "cuckoo.h"
#include "filter.h"
#include "support_format.h"

static uint64_t random_state = 88172645463325252;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* ---------------------------------------------------------------- a removal that moves a fingerprint */

#ifdef PERHAPS_TEST_SUPPORT
// Two keys of one fingerprint whose buckets are each other's, and one that is in the way of the first. What writers do
// between the looks of a reader at the two buckets: the fingerprint that it is about to see goes, and stands where it
// has looked.
static struct {
    perhaps_filter *filter;
    uint64_t held;
    uint64_t mirrored;
    uint64_t filler;
    bool done;
} beside;

static struct perhaps__cuckoo_home home_of(uint64_t hash)
{
    const struct perhaps__view *view = &beside.filter->layers[0]->view;
    struct perhaps__cuckoo table =
        perhaps__cuckoo_table(view, view->shape.slots, view->shape.cell_bits, view->shape.layout, false);
    return perhaps__cuckoo_home(&table, perhaps__place(hash, view->seed_key));
}

static void choose_keys(void)
{
    struct perhaps__cuckoo_home held = home_of(beside.held);
    assert_true(held.first != held.second);
    for (bool found = false; !found;) {
        struct perhaps__cuckoo_home home = home_of(++beside.mirrored);
        found = home.fingerprint == held.fingerprint && home.first == held.second && home.second == held.first;
    }
    for (bool found = false; !found;) {
        struct perhaps__cuckoo_home home = home_of(++beside.filler);
        found = home.first == held.first && home.second != held.second && home.fingerprint != held.fingerprint;
    }
}

static void take_its_place(void)
{
    if (!beside.done) {
        beside.done = true;
        assert_int_equal(perhaps_remove_hash(beside.filter, beside.filler), 1);
        assert_true(perhaps_add_hash(beside.filter, beside.mirrored) >= 0);
        assert_int_equal(perhaps_remove_hash(beside.filter, beside.mirrored), 1);
    }
}

static void test_removals_beside_a_reader(void **state)
{
    (void)state;
    beside.filter = support_create(&SUPPORT_OPTIONS(.kind = PERHAPS_KIND_CUCKOO, .capacity = 100, .fpr = 0.05,
                                                    .hash_source = PERHAPS_HASH_CALLER, .flags = PERHAPS_SHARED));
    beside.held = 1;
    beside.mirrored = 1;
    beside.filler = 1;
    choose_keys();
    assert_int_equal(perhaps_add_hash(beside.filter, beside.filler), 1);
    assert_int_equal(perhaps_add_hash(beside.filter, beside.held), 1);
    perhaps__cuckoo_between_buckets = take_its_place;
    int seen = perhaps_might_contain_hash(beside.filter, beside.held);
    beside.done = false;
    assert_int_equal(perhaps_add_hash(beside.filter, beside.filler), 1);
    bool counted = perhaps_count_at_most_hash(beside.filter, beside.held) > 0;
    perhaps__cuckoo_between_buckets = NULL;
    assert_int_equal(seen, 1);
    assert_true(counted);
    assert_int_equal(perhaps_might_contain_hash(beside.filter, beside.held), 1);
    perhaps_free(beside.filter);
}
#endif

/* ---------------------------------------------------------------- batches and replaying */

// Many of them twice, so that adds and fill disagree.
static uint64_t *make_hashes(size_t count, uint64_t distinct)
{
    uint64_t *hashes = support_allocate(count * sizeof *hashes);
    for (size_t i = 0; i < count; i++) {
        hashes[i] = (next_random() % distinct) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return hashes;
}

// A filter that refuses takes the same keys one by one, in one batch, and when its journal is replayed.
static void compare_ways(uint32_t kind, uint64_t capacity, double fpr, const char *path)
{
    perhaps_options options = SUPPORT_OPTIONS(.kind = kind, .capacity = capacity, .fpr = fpr,
                                              .at_capacity = PERHAPS_AT_CAPACITY_REFUSE, .seed = next_random());
    perhaps_filter *single = support_create(&options);
    perhaps_filter *batch = support_create(&options);
    perhaps_filter *durable = support_create(&options);
    size_t count = (size_t)(4 * capacity);
    uint64_t *hashes = make_hashes(count, 2 * capacity);
    size_t taken = 0;
    while (taken < count && perhaps_add_hash(single, hashes[taken]) >= 0) {
        taken++;
    }
    size_t done = 0;
    size_t kept = 0;
    (void)perhaps_add_many_hash(batch, hashes, count, NULL, &done);
    assert_int_equal(perhaps_begin_journal(durable, path, NULL, NULL), PERHAPS_OK);
    (void)perhaps_add_many_hash(durable, hashes, count, NULL, &kept);
    assert_int_equal(done, taken);
    assert_int_equal(kept, taken);
    support_assert_same(single, batch);
    perhaps_free(durable);
    perhaps_filter *replayed = support_open(path, 0);
    for (size_t i = 0; i < kept; i++) {
        assert_int_equal(perhaps_might_contain_hash(replayed, hashes[i]), 1);
    }
    assert_int_equal(support_stats(replayed).set_bits, support_stats(single).set_bits);
    perhaps_free(single);
    perhaps_free(batch);
    perhaps_free(replayed);
    free(hashes);
}

static void test_full_is_full_for_all(void **state)
{
    static const double rates[] = {0.5, 0.2, 0.05};
    char *path = support_path(state, "filter");
    char *journal = support_path(state, "filter.journal");
    for (unsigned i = 0; i < SUPPORT_SCALED(120); i++) {
        uint32_t kind = i % 2 == 0 ? PERHAPS_KIND_BLOOM : PERHAPS_KIND_COUNTING;
        compare_ways(kind, 64 + next_random() % 3000, rates[i % SUPPORT_COUNT(rates)], path);
        assert_int_equal(unlink(path), 0);
        assert_int_equal(unlink(journal), 0);
    }
    free(path);
    free(journal);
}

/* ---------------------------------------------------------------- names */

// A file that is made is where it was made, wherever the process goes.
static void test_a_new_file_has_its_place(void **state)
{
    char *path = support_path(state, "begun");
    char *slash = strrchr(path, '/');
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    *slash = '\0';
    assert_int_equal(chdir(path), 0);
    *slash = '/';
    perhaps_filter *filter = support_filter(1000, 0.01, 1);
    assert_int_equal(perhaps_begin_journal(filter, "begun", NULL, NULL), PERHAPS_OK);
    assert_int_equal(perhaps_save(filter, "begun", NULL), PERHAPS_OK); // folds
    assert_int_equal(chdir(before), 0);
    assert_int_equal(perhaps_fold_journal(filter, NULL), PERHAPS_OK);
    assert_int_equal(perhaps_add(filter, "key", 3), 1);
    perhaps_free(filter);
    perhaps_filter *opened = support_open(path, 0);
    assert_int_equal(perhaps_might_contain(opened, "key", 3), 1);
    perhaps_free(opened);
    free(path);
}

/* ---------------------------------------------------------------- compacting, keys in between */

// Keys that come between two slices may leave no room for what is being folded: no layer gets more than its capacity.
static void test_slices_leave_room(void **state)
{
    (void)state;
    perhaps_filter *filter =
        support_create(&SUPPORT_OPTIONS(.kind = PERHAPS_KIND_CUCKOO, .capacity = 400, .fpr = 0.05, .growth = 2,
                                        .at_capacity = PERHAPS_AT_CAPACITY_GROW, .max_capacity = 1200,
                                        .policy = PERHAPS_POLICY_MULTISET, .hash_source = PERHAPS_HASH_CALLER));
    for (uint64_t i = 0; i < 1000; i++) {
        assert_true(perhaps_add_hash(filter, i) >= 0);
    }
    for (uint64_t i = 0; i < 950; i++) {
        assert_int_equal(perhaps_remove_hash(filter, i), 1);
    }
    uint64_t next = 5000;
    for (int more = 1; more == 1;) {
        more = perhaps_compact(filter, 1, NULL, NULL);
        assert_true(more >= 0);
        for (unsigned i = 0; i < 20 && next < 5600; i++) {
            assert_true(perhaps_add_hash(filter, next++) >= 0);
        }
    }
    for (uint32_t i = 0; i < filter->layer_count; i++) {
        assert_true(filter->layers[i]->tally.used <= filter->layers[i]->capacity);
    }
    for (uint64_t i = 950; i < 1000; i++) {
        assert_int_equal(perhaps_might_contain_hash(filter, i), 1);
    }
    perhaps_free(filter);
}

/* ---------------------------------------------------------------- bytes whose parts do not belong together */

static void assert_refused(struct support_bytes bytes)
{
    assert_true(format_mend_header(bytes.data, bytes.size));
    perhaps_filter *filter = NULL;
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_decode(bytes.data, bytes.size, NULL, &filter, &error), PERHAPS_E_DAMAGED, &error);
    free(bytes.data);
}

static void test_layers_of_two_policies(void **state)
{
    (void)state;
    perhaps_filter *filter =
        support_create(&SUPPORT_OPTIONS(.kind = PERHAPS_KIND_CUCKOO, .capacity = 100, .fpr = 0.01, .growth = 2,
                                        .at_capacity = PERHAPS_AT_CAPACITY_GROW, .policy = PERHAPS_POLICY_MULTISET));
    support_add_keys(filter, SUPPORT_INTEGERS, 0, 250);
    assert_true(filter->layer_count > 1);
    struct support_bytes bytes = support_encode(filter);
    format_put(bytes.data, FORMAT_LAYER_POLICY, 4, PERHAPS_POLICY_UNIQUE);
    perhaps_free(filter);
    assert_refused(bytes);
}

static void test_counting_filters_do_not_grow(void **state)
{
    (void)state;
    perhaps_filter *filter =
        support_create(&SUPPORT_OPTIONS(.kind = PERHAPS_KIND_COUNTING, .capacity = 100, .fpr = 0.01));
    struct support_bytes bytes = support_encode(filter);
    format_put(bytes.data, FORMAT_GROWTH, 4, 2);
    format_put(bytes.data, FORMAT_AT_CAPACITY, 4, PERHAPS_AT_CAPACITY_GROW);
    perhaps_free(filter);
    assert_refused(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#ifdef PERHAPS_TEST_SUPPORT
        cmocka_unit_test(test_removals_beside_a_reader),
#endif
        cmocka_unit_test_setup_teardown(test_full_is_full_for_all, support_make_directory, support_remove_directory),
        cmocka_unit_test_setup_teardown(test_a_new_file_has_its_place, support_make_directory,
                                        support_remove_directory),
        cmocka_unit_test(test_slices_leave_room),
        cmocka_unit_test(test_layers_of_two_policies),
        cmocka_unit_test(test_counting_filters_do_not_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
