// SPDX-License-Identifier: MIT
// Layers of growing cuckoo filters that fold into each other, and removals that several layers match.
#include <pthread.h>

#include "layers_owner.h"

// ---- the chain of layers

static bool folds(const struct perhaps__layer *finer, const struct perhaps__layer *coarser)
{
    return finer->operations->folds(finer, coarser);
}

// How many pairs of neighbours do not fold.
static uint32_t check_chain(const perhaps_filter *filter)
{
    uint32_t broken = 0;
    for (uint32_t i = 1; i < filter->layer_count; i++) {
        const struct perhaps__layer *layer = filter->layers[i];
        const struct perhaps__layer *before = filter->layers[i - 1];
        assert_true(layer->range % before->range == 0 && layer->operations->is_sound(layer));
        assert_true(layer->shape.policy == PERHAPS_POLICY_UNIQUE || layer->shape.cell_bits >= before->shape.cell_bits);
        broken += !folds(layer, before);
    }
    return broken;
}

static void test_layers_fold_into_smaller_ones(void **state)
{
    static const uint64_t capacities[] = {1, 3, 10, 100, 1000};
    static const double rates[] = {0.1, 0.01, 1e-4};
    for (uint32_t i = 0; i < 5 * 3 * 3 * 4 * 2; i++) {
        perhaps_options options = growing(capacities[i % 5], rates[i / 5 % 3]);
        options.growth = UINT32_C(2) << i / 15 % 3;
        options.slots = UINT32_C(1) << i / 45 % 4;
        options.max_capacity = i / 180 != 0 ? 100000 : 0;
        for (options.policy = PERHAPS_POLICY_MULTISET; options.policy <= PERHAPS_POLICY_UNIQUE; options.policy++) {
            perhaps_filter *filter = support_create(&options);
            support_add_keys(filter, SUPPORT_INTEGERS, 0, SUPPORT_SCALED(5000));
            uint32_t broken = check_chain(filter);
            assert_true(broken == 0 || options.policy == PERHAPS_POLICY_UNIQUE); // nothing is removed from those
            perhaps_free(filter);
        }
    }
}

// Far beyond what fits into memory here: sizes alone.
static void check_chain_of_sizes(struct perhaps__growth growth, uint32_t slots)
{
    const struct perhaps__shape asked = {
        .slots = slots, .policy = PERHAPS_POLICY_MULTISET, .search = PERHAPS_SEARCH_DEFAULT};
    uint64_t capacity;
    double fpr;
    struct perhaps__size size;
    assert_true(perhaps__growth_layer(&growth, 0, &capacity, &fpr));
    assert_true(perhaps__cuckoo_first_size(&asked, capacity, fpr, &size));
    for (uint32_t i = 1; capacity < 1000000000 && perhaps__growth_layer(&growth, i, &capacity, &fpr); i++) {
        struct perhaps__size before = size;
        assert_true(perhaps__cuckoo_next_size(&before, capacity, fpr, &size));
        assert_true(size.capacity == capacity && size.fpr_expected <= fpr && size.range % before.range == 0);
        assert_true(size.shape.cell_bits >= before.shape.cell_bits);
        assert_int_equal(size.shape.layout, before.shape.layout);
    }
}

static void test_sizes_up_to_a_billion_keys(void **state)
{
    static const double rates[] = {0.1, 0.01, 1e-3, 1e-6};
    static const uint64_t capacities[] = {1, 30, 1000, 1000000};
    for (uint32_t i = 0; i < 4 * 4 * 3 * 2 * 4; i++) {
        const struct perhaps__growth growth = {
            .capacity = capacities[i / 4 % 4],
            .fpr = rates[i % 4],
            .smallest_fpr = 4e-9,
            .factor = UINT32_C(2) << i / 16 % 3,
            .max_capacity = i / 48 % 2 != 0 ? 1000000000 : 0,
            .even = true,
        };
        check_chain_of_sizes(growth, UINT32_C(1) << i / 96);
    }
}

// ---- removing

// Small filters at a high rate, so that many keys are matched by several layers.
static void test_no_removal_is_ambiguous_where_layers_fold(void **state)
{
    uint64_t several = 0; // removals that several layers match
    for (uint32_t i = 0; i < 8; i++) {
        perhaps_options options = growing(50, 0.1);
        options.slots = UINT32_C(1) << i % 4;
        options.max_capacity = i / 4 != 0 ? 50000 : 0;
        struct owner owner = make_owner(&options, 20000);
        for (uint64_t key = 0; key < owner.keys; key++) {
            add(&owner, key);
        }
        assert_true(support_stats(owner.filter).layers >= 8);
        for (uint64_t key = 0; key < owner.keys; key += 2) {
            unsigned matches = 0;
            for (uint32_t layer = 0; layer < owner.filter->layer_count; layer++) {
                const struct perhaps__view *view = &owner.filter->layers[layer]->view;
                matches += view->ask(view, key) != 0;
            }
            several += matches > 1;
            take(&owner, key);
        }
        assert_int_equal(owner.ambiguous, 0);
        check(&owner);
        for (uint64_t key = 1; key < owner.keys; key += 2) {
            take(&owner, key);
        }
        check(&owner);
        assert_int_equal(support_stats(owner.filter).copies, 0);
        free_owner(&owner);
    }
    assert_true(several > 1000);
}

// Where the chain is broken, removals that layers on both sides match are refused, counted, and lose nothing.
static void test_ambiguous_removals_where_layers_do_not_fold(void **state)
{
    perhaps_options options = growing(50, 0.1);
    options.slots = 2;
    options.fingerprint_bits = 8;
    struct owner owner = make_owner(&options, 40000);
    for (uint64_t key = 0; key < owner.keys; key++) {
        add(&owner, key);
    }
    assert_true(check_chain(owner.filter) > 0);
    shrink(&owner, 3, 1);
    assert_true(owner.ambiguous > 20);
    check(&owner);
    (void)compact_in_slices(&owner, 100);
    check(&owner);
    free_owner(&owner);
}

// ---- threads

enum { TWICE = 20000 };

struct remover {
    pthread_t thread;
    perhaps_filter *filter;
    uint64_t removed;
};

static void *remove_each_once(void *argument)
{
    struct remover *remover = argument;
    for (uint64_t key = 0; key < TWICE; key++) {
        remover->removed += perhaps_remove_hash(remover->filter, key) == 1;
    }
    return NULL;
}

// Each key is in two layers; both threads see it in the larger one, one of them is quicker, and the other looks again.
static void test_removals_of_one_key_at_once(void **state)
{
    for (unsigned round = 0; round < 5; round++) {
        perhaps_options options = growing(TWICE, 0.01);
        options.flags = PERHAPS_SHARED;
        perhaps_filter *filter = support_create(&options);
        for (uint64_t i = 0; i < 2 * (uint64_t)TWICE; i++) {
            assert_true(perhaps_add_hash(filter, i % TWICE) >= 0);
        }
        struct remover removers[2] = {{.filter = filter}, {.filter = filter}};
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(pthread_create(&removers[i].thread, NULL, remove_each_once, &removers[i]), 0);
        }
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(pthread_join(removers[i].thread, NULL), 0);
            assert_int_equal(removers[i].removed, TWICE);
        }
        assert_int_equal(support_stats(filter).copies, 0);
        perhaps_free(filter);
    }
}

// A key in two layers of which the larger one is the earlier: it goes from that one, also among threads, who ask it first.
static void test_the_order_of_layers_among_threads(void **state)
{
    perhaps_options options = growing(100, 0.01);
    options.max_capacity = 1500;
    struct owner owner = make_owner(&options, 1500);
    for (uint64_t key = 0; key < 1500; key++) {
        add(&owner, key);
    }
    for (uint64_t key = 300; key < 700; key++) { // which were alone in the third layer
        take(&owner, key);
    }
    (void)compact_in_slices(&owner, 0);
    add(&owner, 1400); // into that layer again; the last one has it, too
    const struct perhaps__layer *last = owner.filter->layers[owner.filter->layer_count - 1];
    const struct perhaps__layer *earlier = owner.filter->layers[owner.filter->layer_count - 2];
    assert_true(last->capacity < earlier->capacity && folds(earlier, last));
    perhaps_filter *shared = shared_copy(owner.filter);
    assert_int_equal(perhaps_remove_hash(shared, 1400), 1);
    take(&owner, 1400);
    support_assert_same(shared, owner.filter);
    assert_true(last->view.ask(&last->view, 1400) && !earlier->view.ask(&earlier->view, 1400));
    perhaps_free(shared);
    assert_int_equal(owner.ambiguous, 0);
    check(&owner);
    free_owner(&owner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers_fold_into_smaller_ones),
        cmocka_unit_test(test_sizes_up_to_a_billion_keys),
        cmocka_unit_test(test_no_removal_is_ambiguous_where_layers_fold),
        cmocka_unit_test(test_ambiguous_removals_where_layers_do_not_fold),
        cmocka_unit_test(test_removals_of_one_key_at_once),
        cmocka_unit_test(test_the_order_of_layers_among_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
