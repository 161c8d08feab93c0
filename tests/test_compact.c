// SPDX-License-Identifier: MIT
// Fewer layers without the keys: perhaps_compact().
#include <math.h>

#include "layers_owner.h"

// ---- compacting

// A filter grown to 20,000 keys, of which one in `keep` is left.
static struct owner shrunk_owner(perhaps_options options, uint64_t keep)
{
    struct owner owner = make_owner(&options, 20000);
    for (uint64_t key = 0; key < owner.keys; key++) {
        add(&owner, key);
        if (key % 7 == 0) {
            add(&owner, key);
        }
    }
    shrink(&owner, keep, keep);
    check(&owner);
    return owner;
}

static void test_fewer_layers(void **state)
{
    for (unsigned planned = 0; planned < 2; planned++) {
        perhaps_options options = growing(300, 0.01);
        options.max_capacity = planned != 0 ? 100000 : 0;
        struct owner owner = shrunk_owner(options, 40);
        perhaps_statistics before = support_stats(owner.filter);
        perhaps_compaction done = {.size = sizeof done};
        assert_int_equal(perhaps_compact(owner.filter, 0, &done, NULL), 0);
        check(&owner);
        perhaps_statistics after = support_stats(owner.filter);
        assert_true(after.layers < before.layers && after.layers <= 2 && after.bytes * 8 < before.bytes);
        assert_true(done.layers == after.layers && done.dropped == before.layers - after.layers);
        assert_true(done.bytes_freed == before.bytes - after.bytes && done.moved > 200);
        assert_true(after.adds == before.adds && after.removals == before.removals);
        assert_int_equal(perhaps_compact(owner.filter, 0, &done, NULL), 0); // nothing more
        assert_true(done.dropped == 0 && done.moved == 0 && done.bytes_freed == 0);
        free_owner(&owner);
    }
}

// However the work is cut, the same filter comes of it.
static void test_slices_of_any_size(void **state)
{
    static const uint64_t works[] = {1, 7, 1000};
    struct owner whole = shrunk_owner(growing(300, 0.01), 20);
    (void)compact_in_slices(&whole, 0);
    for (size_t i = 0; i < SUPPORT_COUNT(works); i++) {
        struct owner owner = shrunk_owner(growing(300, 0.01), 20);
        assert_true(compact_in_slices(&owner, works[i]) > 2000 / works[i]);
        support_assert_same(owner.filter, whole.filter);
        free_owner(&owner);
    }
    free_owner(&whole);
}

// One of: an add, a removal, or writing and reading the filter in the middle of it all.
static void disturb(struct owner *owner, uint64_t *random)
{
    for (unsigned i = 0; i < 20; i++) {
        uint64_t key = support_random(random) % owner->keys;
        if (owner->held[key] == 0 && support_random(random) % 3 == 0) {
            add(owner, key);
        } else if (owner->held[key] > 0 && support_random(random) % 2 == 0) {
            take(owner, key);
        }
    }
    if (support_random(random) % 8 == 0) {
        struct support_bytes bytes = support_encode(owner->filter);
        perhaps_free(owner->filter);
        owner->filter = support_decode(bytes.data, bytes.size);
        support_assert_unchanged(owner->filter, bytes);
        free(bytes.data);
    }
}

static void test_whole_between_slices(void **state)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        perhaps_options options = growing(100, 0.05);
        options.max_capacity = seed % 2 != 0 ? 100000 : 0;
        options.slots = seed % 3 == 0 ? 8 : 4;
        struct owner owner = shrunk_owner(options, 10 * seed);
        uint64_t random = seed;
        for (unsigned slice = 0; slice < SUPPORT_SCALED(200); slice++) {
            assert_in_range(perhaps_compact(owner.filter, 1 + support_random(&random) % 300, NULL, NULL), 0, 1);
            disturb(&owner, &random);
            if (slice % 8 == 0) {
                check(&owner);
            }
        }
        assert_int_equal(owner.ambiguous, 0);
        free_owner(&owner);
    }
}

// A layer that was begun just now is not folded into one that it would fill: the next keys would bring it back.
static void test_room_is_left_for_new_keys(void **state)
{
    perhaps_options options = growing(100, 0.01);
    struct owner owner = make_owner(&options, 1000);
    for (uint64_t key = 0; key < 310; key++) { // layers of 100, 200 and 400
        add(&owner, key);
    }
    for (uint64_t key = 100; key < 140; key++) {
        take(&owner, key);
    }
    (void)compact_in_slices(&owner, 0); // 160 and 10 fit into 200, but not into three quarters of that
    assert_int_equal(support_stats(owner.filter).layers, 3);
    for (uint64_t key = 140; key < 150; key++) {
        take(&owner, key);
    }
    (void)compact_in_slices(&owner, 0); // but 150 and 10 are still too many
    assert_int_equal(support_stats(owner.filter).layers, 3);
    for (uint64_t key = 150; key < 160; key++) {
        take(&owner, key);
    }
    (void)compact_in_slices(&owner, 0);
    assert_int_equal(support_stats(owner.filter).layers, 2);
    check(&owner);
    free_owner(&owner);
}

// A key of which the smaller layer already holds as many copies as it can is in the way: nothing is lost.
static void test_copies_that_do_not_fit(void **state)
{
    struct owner owner = make_owner(&(perhaps_options[]){growing(100, 0.01)}[0], 2000);
    for (unsigned i = 0; i < 8; i++) {
        add(&owner, 0);
    }
    for (uint64_t key = 1; key < owner.keys; key++) {
        add(&owner, key);
    }
    for (unsigned i = 0; i < 5; i++) {
        add(&owner, 0); // in a newer layer
    }
    for (uint64_t key = 1; key < owner.keys; key++) {
        take(&owner, key);
    }
    check(&owner);
    (void)compact_in_slices(&owner, 3);
    check(&owner);
    assert_int_equal(support_stats(owner.filter).layers, 2);
    assert_true(perhaps_count_at_most_hash(owner.filter, 0) == 13);
    free_owner(&owner);
}

// ---- growing again

static void check_no_size_twice(const perhaps_filter *filter)
{
    for (uint32_t i = 0; i < filter->layer_count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            assert_true(filter->layers[i]->capacity != filter->layers[j]->capacity);
        }
    }
}

// From a key on; the one that is refused.
static uint64_t add_to_limit(struct owner *owner, uint64_t key)
{
    int result = 0;
    while (result >= 0) {
        result = perhaps_add_hash(owner->filter, key);
        owner->held[key] = result >= 0;
        key += result >= 0;
    }
    assert_int_equal(result, PERHAPS_E_LIMIT);
    return key;
}

// All of max_capacity can be used again, whatever was dropped, and no more.
static void test_room_comes_back(void **state)
{
    perhaps_options options = growing(100, 0.01);
    options.max_capacity = 5000;
    struct owner owner = make_owner(&options, 100000);
    uint64_t random = 1;
    uint64_t next = 0;
    for (unsigned round = 0; round < 6; round++) {
        for (uint64_t before = next + 1; before != next;) { // as long as compacting makes room
            before = next;
            next = add_to_limit(&owner, next);
            (void)compact_in_slices(&owner, 50);
        }
        check(&owner);
        check_no_size_twice(owner.filter);
        perhaps_statistics s = support_stats(owner.filter);
        assert_true(s.copies >= (round > 0 ? 4900 : 5000) && s.copies <= 5000); // but for the first layer
        assert_int_equal(s.capacity_now, 5000);
        shrink(&owner, 2 + round * 5, support_random(&random));
        (void)compact_in_slices(&owner, 50);
        check(&owner);
    }
    free_owner(&owner);
}

static void test_growing_on(void **state)
{
    struct owner owner = shrunk_owner(growing(100, 0.01), 50);
    (void)compact_in_slices(&owner, 500);
    uint32_t layers = support_stats(owner.filter).layers;
    for (uint64_t key = 0; key < owner.keys; key++) {
        if (owner.held[key] == 0) {
            add(&owner, key);
        }
    }
    check(&owner);
    check_no_size_twice(owner.filter);
    assert_true(support_stats(owner.filter).layers > layers && owner.ambiguous == 0);
    free_owner(&owner);
}

// Cleared, it is a new filter; also where threads share it, whose readers keep the layers of before.
static void test_clear(void **state)
{
    perhaps_options options = growing(100, 0.01);
    struct owner owner = shrunk_owner(options, 20);
    assert_int_equal(perhaps_compact(owner.filter, 3, NULL, NULL), 1); // in the middle
    (void)compact_in_slices(&owner, 100);
    assert_true(owner.filter->layers[1]->capacity > 200); // other layers than it grows by
    support_add_keys(owner.filter, SUPPORT_WORDS, 0, 900);
    perhaps_filter *fresh = support_create(&options);
    perhaps_filter *shared = shared_copy(owner.filter);
    assert_int_equal(perhaps_clear(owner.filter), PERHAPS_OK);
    assert_int_equal(perhaps_clear(shared), PERHAPS_OK);
    support_assert_same(owner.filter, fresh);
    support_assert_same(shared, fresh);
    for (unsigned round = 0; round < 2; round++) {
        support_add_keys(fresh, SUPPORT_URLS, 0, 3000);
        support_add_keys(owner.filter, SUPPORT_URLS, 0, 3000);
        support_add_keys(shared, SUPPORT_URLS, 0, 3000);
        support_assert_same(owner.filter, fresh);
        support_assert_same(shared, fresh);
        assert_true(perhaps_clear(fresh) == 0 && perhaps_clear(owner.filter) == 0 && perhaps_clear(shared) == 0);
    }
    perhaps_free(fresh);
    perhaps_free(shared);
    free_owner(&owner);
}

// ---- a year

// What became of a filter in a year.
struct year {
    uint32_t layers; // the most at a time
    double residue;  // the most, as a share of the capacity
    uint64_t rebuilds;
};

// An owner that rebuilds when the residue is a tenth of the capacity, as perhaps_plan_rebuild() advises, and now and then
// does a slice of compacting; and compacts to the end when there is no room for a key otherwise.
static void add_in_turnover(struct owner *owner, uint64_t key, uint64_t held, struct year *year)
{
    if (key % 100 == 0) {
        assert_true(perhaps_compact(owner->filter, 500, NULL, NULL) >= 0);
    }
    perhaps_statistics s = support_stats(owner->filter);
    if (10 * s.ambiguous >= s.capacity_now) {
        year->rebuilds++;
        owner->ambiguous = 0;
        assert_int_equal(perhaps_clear(owner->filter), PERHAPS_OK);
        for (uint64_t i = key - held; i < key; i++) {
            assert_true(perhaps_add_hash(owner->filter, i) >= 0);
        }
    } else {
        year->residue = fmax(year->residue, (double)s.ambiguous / (double)s.capacity_now);
    }
    year->layers = s.layers > year->layers ? s.layers : year->layers;
    if (perhaps_add_hash(owner->filter, key) < 0) {
        (void)compact_in_slices(owner, 500);
        assert_true(perhaps_add_hash(owner->filter, key) >= 0);
    }
    owner->held[key]++;
}

// Every key is replaced 100 times.
static struct year turn_over(const perhaps_options *options, uint64_t held)
{
    struct owner owner = make_owner(options, SUPPORT_SCALED(100) * held + held);
    struct year year = {0};
    for (uint64_t key = 0; key < owner.keys; key++) {
        if (key < held) {
            add(&owner, key);
        } else {
            add_in_turnover(&owner, key, held, &year);
            take(&owner, key - held);
        }
        if (key % 50000 == 0) {
            check(&owner);
        }
    }
    check(&owner);
    free_owner(&owner);
    return year;
}

static void test_a_year_of_turnover(void **state)
{
    perhaps_options options = growing(500, 0.01);
    struct year year = turn_over(&options, 5000);
    assert_true(year.residue == 0.0 && year.rebuilds == 0 && year.layers <= 7);
    options.max_capacity = 8000;
    year = turn_over(&options, 5000);
    assert_true(year.residue == 0.0 && year.rebuilds == 0 && year.layers <= 7);
    options.capacity = 50;
    options.fpr = 0.1;
    options.slots = 2;
    options.fingerprint_bits = 8; // too few for layers to fold
    year = turn_over(&options, 5000);
    assert_true(year.residue > 0.0 && year.residue < 0.1);
}

// ---- refusals

static void assert_refused(perhaps_filter *filter, int code)
{
    struct support_bytes before = support_encode(filter);
    perhaps_compaction done = {.size = sizeof done, .layers = 7};
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_compact(filter, 10, &done, &error), code, &error);
    assert_int_equal(done.layers, 7);
    support_assert_unchanged(filter, before);
    free(before.data);
}

static void test_refusals(void **state)
{
    for (uint32_t kind = 1; perhaps_kind_name(kind) != NULL; kind++) {
        perhaps_options options = SUPPORT_OPTIONS(.kind = kind, .capacity = 100, .fpr = 0.01);
        perhaps_filter *filter = support_create(&options);
        if (kind != PERHAPS_KIND_CUCKOO) {
            assert_refused(filter, PERHAPS_E_UNSUPPORTED);
        } else {
            assert_int_equal(perhaps_compact(filter, 0, NULL, NULL), 0);
        }
        perhaps_free(filter);
    }
    perhaps_options options = growing(100, 0.01);
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_compact(NULL, 1, NULL, &error), PERHAPS_E_ARGUMENT, &error);
    perhaps_filter *filter = support_create(&options);
    perhaps_compaction done = {.size = sizeof done + 8};
    error = SUPPORT_ERROR;
    support_assert_failed(perhaps_compact(filter, 1, &done, &error), PERHAPS_E_OPTION, &error);
    perhaps_free(filter);
}

static void test_mapped_filters(void **state)
{
    struct owner owner = shrunk_owner(growing(100, 0.01), 200);
    char *path = support_path(state, "filter");
    support_save(owner.filter, path);
    perhaps_filter *mapped = support_open(path, 0);
    assert_refused(mapped, PERHAPS_E_READ_ONLY);
    perhaps_free(mapped);
    // Stopped in the middle, saved, and gone on with.
    assert_int_equal(perhaps_compact(owner.filter, 3000, NULL, NULL), 1);
    support_save(owner.filter, path);
    perhaps_free(owner.filter);
    owner.filter = support_open(path, PERHAPS_OPEN_COPY);
    check(&owner);
    (void)compact_in_slices(&owner, 100);
    check(&owner);
    assert_true(support_stats(owner.filter).layers <= 2);
    free(path);
    free_owner(&owner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fewer_layers),
        cmocka_unit_test(test_slices_of_any_size),
        cmocka_unit_test(test_whole_between_slices),
        cmocka_unit_test(test_room_is_left_for_new_keys),
        cmocka_unit_test(test_copies_that_do_not_fit),
        cmocka_unit_test(test_room_comes_back),
        cmocka_unit_test(test_growing_on),
        cmocka_unit_test(test_clear),
        cmocka_unit_test(test_a_year_of_turnover),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test_setup_teardown(test_mapped_filters, support_make_directory, support_remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
