// SPDX-License-Identifier: MIT
// Cuckoo filters through the public calls: against an exact multiset, copies, removal, batches, merging, files.
#include <stdlib.h>
#include <string.h>

#include "support.h"

#include "cuckoo.h"
#include "filter.h"

static perhaps_filter *make(perhaps_options options)
{
    options.size = sizeof options;
    options.kind = PERHAPS_KIND_CUCKOO;
    return support_create(&options);
}

#define MAKE(...) make((perhaps_options){__VA_ARGS__})

static uint64_t hash_of(uint64_t key)
{
    uint64_t state = key;
    return support_random(&state);
}

// ---- against an exact multiset

enum { UNIVERSE = 3000, ABSENT = 200 };

struct model {
    perhaps_filter *filter;
    uint32_t count[UNIVERSE];
    uint64_t held;
    uint64_t refused;
    uint64_t random;
    uint8_t *before; // the payload
    struct perhaps__tally tally;
};

static void assert_all_present(const struct model *model)
{
    for (uint64_t key = 0; key < UNIVERSE; key++) {
        uint64_t most = perhaps_count_at_most_hash(model->filter, hash_of(key));
        assert_true(most >= model->count[key]);
        assert_true(perhaps_might_contain_hash(model->filter, hash_of(key)) == (most > 0));
    }
}

static void remember(struct model *model)
{
    memcpy(model->before, model->filter->layers[0]->payload, model->filter->layers[0]->payload_size);
    model->tally = model->filter->layers[0]->tally;
}

static void assert_unchanged(const struct model *model)
{
    const struct perhaps__layer *layer = model->filter->layers[0];
    assert_memory_equal(layer->payload, model->before, layer->payload_size);
    assert_true(layer->tally.used == model->tally.used && layer->tally.keys == model->tally.keys &&
                layer->tally.copies == model->tally.copies && layer->tally.removals == model->tally.removals &&
                layer->tally.paths[0] == model->tally.paths[0] && layer->tally.deepest == model->tally.deepest);
}

static void model_add(struct model *model, uint64_t key)
{
    bool may = perhaps_might_contain_hash(model->filter, hash_of(key)) != 0;
    uint64_t most = perhaps_count_at_most_hash(model->filter, hash_of(key));
    bool watched = (model->random >> 20) % 32 == 0;
    if (watched) {
        remember(model);
    }
    int result = perhaps_add_hash(model->filter, hash_of(key));
    if (result >= 0) {
        assert_true(result == !may);
        assert_true(perhaps_count_at_most_hash(model->filter, hash_of(key)) == most + 1);
        model->count[key]++;
        model->held++;
        return;
    }
    assert_true(result == PERHAPS_E_FULL || result == PERHAPS_E_COPIES);
    model->refused += result == PERHAPS_E_FULL;
    if (watched) {
        assert_unchanged(model);
        assert_all_present(model);
    }
}

static void model_remove(struct model *model, uint64_t key)
{
    uint64_t most = perhaps_count_at_most_hash(model->filter, hash_of(key));
    if (model->count[key] == 0 && most > 0) {
        return; // a false positive: removing it would be misuse
    }
    assert_true(perhaps_remove_hash(model->filter, hash_of(key)) == (model->count[key] > 0));
    assert_true(perhaps_count_at_most_hash(model->filter, hash_of(key)) == most - (model->count[key] > 0));
    model->held -= model->count[key] > 0;
    model->count[key] -= model->count[key] > 0;
}

// Adds outweigh removals until many are refused, then the other way round until the filter is empty; and again.
static void check_model(uint32_t slots, uint32_t bits, uint64_t capacity, unsigned operations)
{
    struct model *model = support_allocate(sizeof *model);
    memset(model, 0, sizeof *model);
    model->filter = MAKE(.capacity = capacity, .fpr = 0.1, .slots = slots, .fingerprint_bits = bits);
    model->before = support_allocate(model->filter->layers[0]->payload_size);
    model->random = slots * 100 + bits;
    bool filling = true;
    for (unsigned i = 0; i < operations; i++) {
        uint64_t number = support_random(&model->random);
        uint64_t key = (number >> 32) % UNIVERSE;
        key = number % 16 == 0 ? key % 8 : key; // some keys are frequent
        if ((number >> 8) % 8 < (filling ? 5 : 3)) {
            model_add(model, key);
        } else {
            model_remove(model, key);
        }
        if (filling ? model->refused >= 40 : model->held == 0) {
            assert_all_present(model);
            filling = !filling;
            model->refused = 0;
        }
        assert_true(model->filter->layers[0]->tally.used == model->held);
    }
    assert_all_present(model);
    perhaps_statistics s = support_stats(model->filter);
    assert_true(s.set_bits == model->held && s.copies == model->held && s.adds <= s.removals + model->held);
    free(model->before);
    perhaps_free(model->filter);
    free(model);
}

static void test_model(void **state)
{
    check_model(4, 0, 500, SUPPORT_SCALED(400000));
    check_model(4, 16, 900, SUPPORT_SCALED(200000));
    check_model(4, 21, 300, SUPPORT_SCALED(200000));
    check_model(2, 13, 700, SUPPORT_SCALED(200000));
    check_model(1, 11, 300, SUPPORT_SCALED(200000));
    check_model(8, 8, 1000, SUPPORT_SCALED(200000));
    check_model(8, 31, 200, SUPPORT_SCALED(200000));
}

// ---- copies

// Hashes no two of which have a bucket in common, as far as that goes.
static void choose_apart(const perhaps_filter *filter, uint64_t *hashes, size_t count)
{
    const struct perhaps__cuckoo table = perhaps__cuckoo_table(
        &filter->view, filter->view.shape.slots, filter->view.shape.cell_bits, filter->view.shape.layout, false);
    uint8_t *taken = support_allocate((size_t)filter->layers[0]->range);
    memset(taken, 0, (size_t)filter->layers[0]->range);
    size_t chosen = 0;
    for (uint64_t key = 0; chosen < count; key++) {
        struct perhaps__cuckoo_home home =
            perhaps__cuckoo_home(&table, perhaps__place(hash_of(key), filter->view.seed_key));
        if (taken[home.first] + taken[home.second] == 0) {
            taken[home.first] = taken[home.second] = 1;
            hashes[chosen++] = hash_of(key);
        }
    }
    free(taken);
}

// 92,000 adds of 300 keys, that made filters of this kind grow without end elsewhere. Eight copies of a key fill both of its
// buckets to the last slot, so that every one of these keys has two for itself. What holds of keys as they come is in
// test_copies_that_share_buckets().
static void test_many_copies_of_few_keys(void **state)
{
    perhaps_filter *filter = MAKE(.capacity = 4000, .fpr = 0.01);
    uint64_t hashes[300];
    choose_apart(filter, hashes, 300);
    for (unsigned i = 0; i < 92000; i++) {
        int result = perhaps_add_hash(filter, hashes[i % 300]);
        assert_int_equal(result, i < 300 ? 1 : i < 2400 ? 0 : PERHAPS_E_COPIES);
    }
    for (size_t i = 0; i < 300; i++) {
        assert_int_equal(perhaps_count_at_most_hash(filter, hashes[i]), 8);
        assert_int_equal(perhaps_might_contain_times_hash(filter, hashes[i], 8), 1);
        assert_int_equal(perhaps_might_contain_times_hash(filter, hashes[i], 9), 0);
    }
    perhaps_statistics s = support_stats(filter);
    assert_true(s.copies == 2400 && s.set_bits == 2400 && s.adds == 300);
    assert_true(s.refused_copies == 92000 - 2400 && s.refused_full == 0 && s.refused_early == 0);
    perhaps_free(filter);
}

// As often as each key was acknowledged, and then nothing is left.
static void take_out_what_is_there(struct model *model)
{
    for (uint64_t key = 0; key < UNIVERSE; key++) {
        while (model->count[key] > 0) {
            assert_int_equal(perhaps_remove_hash(model->filter, hash_of(key)), 1);
            model->count[key]--;
        }
    }
    assert_true(support_stats(model->filter).set_bits == 0);
}

// Where keys have a bucket in common, its slots go to whoever comes first, and not all can have eight. What was
// acknowledged is held to the last copy, and what was refused changed nothing.
static void test_copies_that_share_buckets(void **state)
{
    struct model *model = support_allocate(sizeof *model);
    memset(model, 0, sizeof *model);
    model->filter = MAKE(.capacity = 4000, .fpr = 0.01);
    model->before = support_allocate(model->filter->layers[0]->payload_size);
    for (unsigned i = 0; i < 92000; i++) {
        remember(model);
        int result = perhaps_add_hash(model->filter, hash_of(i % 300));
        assert_true(result >= 0 || ((result == PERHAPS_E_COPIES || result == PERHAPS_E_FULL) && i >= 300));
        if (result < 0) {
            assert_unchanged(model);
        }
        model->count[i % 300] += result >= 0;
        model->held += result >= 0;
    }
    uint64_t exact = 0;
    uint64_t most = 0;
    for (uint64_t key = 0; key < 300; key++) {
        uint64_t count = perhaps_count_at_most_hash(model->filter, hash_of(key));
        assert_true(count >= model->count[key] && count <= 8);
        exact += count == model->count[key];
        most = count > most ? count : most;
    }
    perhaps_statistics s = support_stats(model->filter);
    assert_true(s.copies == model->held && s.set_bits == model->held && most == 8 && model->held < 2400 &&
                exact >= 290);
    assert_true(s.refused_copies + s.refused_full == 92000 - model->held && s.refused_copies > 0 && s.refused_full > 0);
    take_out_what_is_there(model);
    free(model->before);
    perhaps_free(model->filter);
    free(model);
}

static void test_unique_takes_one_slot(void **state)
{
    perhaps_filter *filter = MAKE(.capacity = 4000, .fpr = 1e-6, .policy = PERHAPS_POLICY_UNIQUE);
    for (unsigned i = 0; i < 92000; i++) {
        assert_int_equal(perhaps_add_hash(filter, hash_of(i % 300)), i < 300);
    }
    perhaps_statistics s = support_stats(filter);
    assert_true(s.copies == 300 && s.set_bits == 300 && s.adds == 300 && s.paths[0] == 300);
    assert_true(s.policy == PERHAPS_POLICY_UNIQUE && s.refused_copies + s.refused_full == 0);
    assert_int_equal(perhaps_count_at_most_hash(filter, hash_of(3)) == PERHAPS_COUNT_UNBOUNDED, 1);
    assert_int_equal(perhaps_count_at_most_hash(filter, hash_of(301)), 0);
    assert_int_equal(perhaps_might_contain_times_hash(filter, hash_of(3), 1000), 1);
    struct support_bytes before = support_encode(filter);
    assert_int_equal(perhaps_remove_hash(filter, hash_of(3)), PERHAPS_E_UNSUPPORTED);
    support_assert_unchanged(filter, before);
    free(before.data);
    perhaps_free(filter);
}

// ---- removal

static void test_delete_half(void **state)
{
    const uint64_t n = SUPPORT_SCALED(200000);
    perhaps_filter *filter = MAKE(.capacity = n, .fpr = 0.01);
    uint64_t random = 4;
    uint8_t *removed = support_allocate((size_t)n);
    for (uint64_t key = 0; key < n; key++) {
        assert_true(perhaps_add_hash(filter, hash_of(key)) >= 0);
    }
    uint64_t gone = 0;
    for (uint64_t key = 0; key < n; key++) {
        removed[key] = support_random(&random) % 2 == 0;
        gone += removed[key];
        assert_true(removed[key] == 0 || perhaps_remove_hash(filter, hash_of(key)) == 1);
    }
    uint64_t still = 0;
    for (uint64_t key = 0; key < n; key++) {
        int may = perhaps_might_contain_hash(filter, hash_of(key));
        assert_true(may == 1 || removed[key] == 1);
        still += removed[key] == 1 && may == 1;
    }
    perhaps_statistics s = support_stats(filter);
    assert_true(s.removals == gone && s.set_bits == n - gone && still < gone / 100);
    struct support_bytes before = support_encode(filter);
    for (uint64_t key = n; key < 2 * n; key++) { // removing what is surely absent changes nothing
        if (perhaps_might_contain_hash(filter, hash_of(key)) == 0) {
            assert_int_equal(perhaps_remove_hash(filter, hash_of(key)), 0);
        }
    }
    support_assert_unchanged(filter, before);
    free(before.data);
    free(removed);
    perhaps_free(filter);
}

// A million times one key goes and another comes, at 90 % load.
static void test_turnover(void **state)
{
    const uint64_t live = 18000;
    perhaps_filter *filter = MAKE(.capacity = 19000, .fpr = 0.001);
    const uint64_t slots = filter->layers[0]->range * 4;
    for (uint64_t key = 0; key < slots * 9 / 10; key++) {
        assert_true(perhaps_add_hash(filter, hash_of(key)) >= 0);
    }
    uint64_t held = slots * 9 / 10;
    assert_in_range(held, live - 1000, live + 1000);
    for (uint64_t i = 0; i < SUPPORT_SCALED(1000000); i++) {
        assert_int_equal(perhaps_remove_hash(filter, hash_of(i)), 1);
        assert_true(perhaps_add_hash(filter, hash_of(i + held)) >= 0);
    }
    for (uint64_t key = 0; key < held; key++) {
        assert_int_equal(perhaps_might_contain_hash(filter, hash_of(key + SUPPORT_SCALED(1000000))), 1);
    }
    perhaps_statistics s = support_stats(filter);
    assert_true(s.set_bits == held && s.refused_full == 0 && s.refused_copies == 0);
    uint64_t moved = 0;
    for (size_t i = 0; i < PERHAPS_PATHS; i++) {
        moved += s.paths[i];
    }
    assert_true(moved == held + SUPPORT_SCALED(1000000) && s.paths[1] > 0 && s.deepest > 0);
    perhaps_free(filter);
}

// ---- many keys at once

static void test_batches_do_what_single_calls_do(void **state)
{
    enum { COUNT = 30000 };
    perhaps_filter *single = MAKE(.capacity = 10000, .fpr = 0.01);
    perhaps_filter *batch = MAKE(.capacity = 10000, .fpr = 0.01);
    uint64_t *hashes = support_allocate(COUNT * sizeof *hashes);
    uint8_t *out = support_allocate(COUNT);
    uint64_t *counts = support_allocate(COUNT * sizeof *counts);
    for (uint64_t i = 0; i < COUNT; i++) {
        hashes[i] = hash_of(i % 20000);
    }
    for (size_t i = 0; i < COUNT;) {
        size_t done = 0;
        int status = perhaps_add_many_hash(batch, hashes + i, COUNT - i, out + i, &done);
        for (size_t j = i; j < i + done; j++) {
            assert_int_equal(perhaps_add_hash(single, hashes[j]), out[j]);
        }
        i += done;
        assert_true(status == PERHAPS_OK ? i == COUNT : perhaps_add_hash(single, hashes[i]) == status);
        i += status != PERHAPS_OK; // go on behind the one that was refused
    }
    support_assert_same(single, batch);
    assert_true(support_stats(batch).refused_full > 1000);
    assert_int_equal(perhaps_count_at_most_many_hash(batch, hashes, COUNT, counts, NULL), PERHAPS_OK);
    assert_int_equal(perhaps_might_contain_many_hash(batch, hashes, COUNT, out, NULL), PERHAPS_OK);
    for (size_t i = 0; i < COUNT; i++) {
        assert_true(perhaps_count_at_most_hash(single, hashes[i]) == counts[i] && (counts[i] > 0) == out[i]);
    }
    assert_int_equal(perhaps_remove_many_hash(batch, hashes, COUNT, out, NULL), PERHAPS_OK);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(perhaps_remove_hash(single, hashes[i]), out[i]);
    }
    support_assert_same(single, batch);
    free(hashes);
    free(out);
    free(counts);
    perhaps_free(single);
    perhaps_free(batch);
}

// ---- merging

static perhaps_filter *with_keys(perhaps_options options, uint64_t first, uint64_t count)
{
    perhaps_filter *filter = make(options);
    for (uint64_t key = first; key < first + count; key++) {
        assert_true(perhaps_add_hash(filter, hash_of(key)) >= 0);
    }
    return filter;
}

static void test_merge_holds_both(void **state)
{
    static const uint32_t slots[] = {1, 2, 4, 8};
    for (size_t i = 0; i < SUPPORT_COUNT(slots); i++) {
        for (uint32_t policy = PERHAPS_POLICY_MULTISET; policy <= PERHAPS_POLICY_UNIQUE; policy++) {
            const perhaps_options options = {.capacity = 2000, .fpr = 1e-5, .slots = slots[i], .policy = policy};
            perhaps_filter *into = with_keys(options, 0, 900);
            uint64_t first = slots[i] == 1 ? 900 : 500; // one slot a bucket has no room for second copies
            perhaps_filter *from = with_keys(options, first, 800);
            assert_int_equal(perhaps_merge(into, from, NULL), PERHAPS_OK);
            bool unique = policy == PERHAPS_POLICY_UNIQUE;
            for (uint64_t key = 0; key < first + 800; key++) {
                uint64_t copies = !unique && key >= first && key < 900 ? 2 : 1;
                assert_true(perhaps_count_at_most_hash(into, hash_of(key)) >= copies);
            }
            perhaps_statistics s = support_stats(into);
            assert_int_equal(s.set_bits, unique ? first + 800 : 1700); // these keys have no look-alikes
            assert_true(s.copies == s.set_bits && s.adds_exact == 0);
            perhaps_free(into);
            perhaps_free(from);
        }
    }
}

static void test_merge_all_or_nothing(void **state)
{
    struct support_memory memory = {.calls = 0};
    perhaps_allocator allocator = support_memory_allocator(&memory);
    const perhaps_options options = {.capacity = 1000, .fpr = 1e-5, .allocator = &allocator};
    perhaps_filter *into = with_keys(options, 0, 800);
    perhaps_filter *many = with_keys(options, 800, 800);
    perhaps_filter *copies = with_keys(options, 5, 1);
    for (unsigned i = 0; i < 7; i++) {
        assert_int_equal(perhaps_add_hash(copies, hash_of(5)), 0);
    }
    struct support_bytes before = support_encode(into);
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_merge(into, many, &error), PERHAPS_E_FULL, &error);
    support_assert_unchanged(into, before);
    support_assert_failed(perhaps_merge(into, copies, &error), PERHAPS_E_COPIES, &error);
    support_assert_unchanged(into, before);
    memory.fail_at = memory.calls + 1;
    support_assert_failed(perhaps_merge(into, copies, &error), PERHAPS_E_MEMORY, &error);
    support_assert_unchanged(into, before);
    assert_int_equal(support_stats(into).refused_full + support_stats(into).refused_copies, 0);
    support_assert_failed(perhaps_merge(into, into, &error), PERHAPS_E_ARGUMENT, &error);
    support_assert_unchanged(into, before);
    free(before.data);
    perhaps_free(into);
    perhaps_free(many);
    perhaps_free(copies);
    assert_true(support_memory_is_clean(&memory));
}

// ---- bytes

static void test_round_trip(void **state)
{
    static const uint32_t slots[] = {1, 2, 4, 8};
    for (size_t i = 0; i < SUPPORT_COUNT(slots); i++) {
        perhaps_options options = {.capacity = 5000, .fpr = 0.003, .slots = slots[i], .search = 77 + (uint32_t)i};
        perhaps_filter *filter = with_keys(options, 0, 4000);
        for (uint64_t key = 0; key < 100; key++) {
            assert_int_equal(perhaps_remove_hash(filter, hash_of(key)), 1);
        }
        struct support_bytes bytes = support_encode(filter);
        perhaps_filter *copy = support_decode(bytes.data, bytes.size);
        support_assert_same(filter, copy);
        perhaps_statistics s = support_stats(copy);
        assert_true(s.slots == slots[i] && s.set_bits == 3900 && s.copies == 3900 && s.removals == 100);
        assert_int_equal(copy->layers[0]->shape.search, options.search);
        for (uint64_t key = 0; key < 20000; key++) {
            assert_true(perhaps_count_at_most_hash(filter, hash_of(key)) ==
                        perhaps_count_at_most_hash(copy, hash_of(key)));
        }
        for (uint64_t key = 4000; key < 8000; key++) { // they go on alike
            assert_int_equal(perhaps_add_hash(filter, hash_of(key)), perhaps_add_hash(copy, hash_of(key)));
        }
        support_assert_same(filter, copy);
        free(bytes.data);
        perhaps_free(copy);
        perhaps_free(filter);
    }
}

static void assert_unsound(struct perhaps__layer layer)
{
    assert_false(layer.operations->is_sound(&layer));
}

#define ASSERT_UNSOUND(member, wrong)                                                                                  \
    do {                                                                                                               \
        struct perhaps__layer layer = *filter->layers[0];                                                              \
        layer.member = (wrong);                                                                                        \
        assert_unsound(layer);                                                                                         \
    } while (0)

// Files are not believed: every field out of its range, alone.
static void test_wrong_fields_are_refused(void **state)
{
    perhaps_filter *filter = MAKE(.capacity = 1000, .fpr = 0.001);
    assert_true(filter->layers[0]->operations->is_sound(filter->layers[0]));
    ASSERT_UNSOUND(range, 0);
    ASSERT_UNSOUND(range, filter->layers[0]->range + 100);
    ASSERT_UNSOUND(range, filter->layers[0]->range - 100);
    ASSERT_UNSOUND(range, UINT64_MAX);
    ASSERT_UNSOUND(range, UINT64_MAX / 52 + 2); // overflows to a small number
    ASSERT_UNSOUND(bits, filter->layers[0]->bits - 512);
    ASSERT_UNSOUND(bits, filter->layers[0]->bits + 512);
    ASSERT_UNSOUND(shape.positions, 1);
    ASSERT_UNSOUND(shape.cell_bits, 3);
    ASSERT_UNSOUND(shape.cell_bits, 33);
    ASSERT_UNSOUND(shape.cell_bits, UINT32_MAX);
    ASSERT_UNSOUND(shape.cell_bits, filter->layers[0]->shape.cell_bits + 1);
    ASSERT_UNSOUND(shape.layout, 3);
    ASSERT_UNSOUND(shape.layout, filter->layers[0]->shape.cell_bits + 1);
    ASSERT_UNSOUND(shape.slots, 0);
    ASSERT_UNSOUND(shape.slots, 2);
    ASSERT_UNSOUND(shape.slots, 3);
    ASSERT_UNSOUND(shape.slots, 16);
    ASSERT_UNSOUND(shape.policy, 0);
    ASSERT_UNSOUND(shape.policy, PERHAPS_POLICY_CONSERVATIVE);
    ASSERT_UNSOUND(shape.search, 0);
    ASSERT_UNSOUND(shape.search, 1);
    ASSERT_UNSOUND(shape.search, PERHAPS_SEARCH_MAX + 1);
    perhaps_free(filter);
}

static void test_clear(void **state)
{
    perhaps_filter *filter = with_keys((perhaps_options){.capacity = 1000, .fpr = 0.01}, 0, 900);
    perhaps_filter *fresh = MAKE(.capacity = 1000, .fpr = 0.01);
    assert_int_equal(perhaps_clear(filter), PERHAPS_OK);
    support_assert_same(filter, fresh);
    assert_int_equal(support_stats(filter).paths[0], 0);
    perhaps_free(filter);
    perhaps_free(fresh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_many_copies_of_few_keys),
        cmocka_unit_test(test_copies_that_share_buckets),
        cmocka_unit_test(test_unique_takes_one_slot),
        cmocka_unit_test(test_delete_half),
        cmocka_unit_test(test_turnover),
        cmocka_unit_test(test_batches_do_what_single_calls_do),
        cmocka_unit_test(test_merge_holds_both),
        cmocka_unit_test(test_merge_all_or_nothing),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_wrong_fields_are_refused),
        cmocka_unit_test(test_clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
