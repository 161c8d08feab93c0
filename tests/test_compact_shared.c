// SPDX-License-Identifier: MIT
// perhaps_compact() of a filter that threads share, and what comes between any two layers of a question or a removal: called
// back there, so that it is the same each time. test_compact_threads.c has the threads.
//
//     test_compact_shared [scale [pattern]]    more rounds; only tests of such a name (fnmatch(3))
#include <sys/mman.h>
#include <unistd.h>

#include "layers.h"
#include "layers_owner.h"
#include "shared.h"

static unsigned long scale = 1;

// ---- alone

// A filter that threads may share, grown to `keys`, of which one in `keep` is left.
static struct owner shrunk_owner(perhaps_options options, uint64_t keys, uint64_t keep)
{
    struct owner owner = make_owner(&options, keys);
    for (uint64_t key = 0; key < keys; key++) {
        add(&owner, key);
    }
    shrink(&owner, keep, keep);
    return owner;
}

// Steps behind a gate make the same of it as one that is not shared, however the work is cut.
static void test_the_same_as_unshared(void **state)
{
    static const uint64_t works[] = {0, 1, 300, 5000};
    for (size_t i = 0; i < SUPPORT_COUNT(works); i++) {
        struct owner shared = shrunk_owner(growing_shared(300, 0), 20000, 20);
        perhaps_options options = growing_shared(300, 0);
        options.flags = 0;
        struct owner alone = shrunk_owner(options, 20000, 20);
        perhaps_compaction done = {.size = sizeof done};
        assert_int_equal(perhaps_compact(shared.filter, works[i], &done, NULL), works[i] != 0);
        (void)compact_in_slices(&shared, works[i]);
        (void)compact_in_slices(&alone, 0);
        support_assert_same(shared.filter, alone.filter);
        check(&shared);
        perhaps_statistics s = support_stats(shared.filter);
        assert_true(s.layers <= 2);
        assert_int_equal(perhaps_stats_of_layer(shared.filter, s.layers, &s), PERHAPS_E_ARGUMENT); // dropped
        free_owner(&shared);
        free_owner(&alone);
    }
}

// What was dropped is kept for readers, taken again by layers of its size, and released with the filter.
// A thread can remove what another one has added and not yet counted. A copy is a slot, and there are as many of both when
// both have counted; a file that says otherwise is refused.
static void test_counted_late(void **state)
{
    perhaps_options options = growing_shared(300, 0);
    perhaps_filter *filter = support_create(&options);
    struct perhaps__layer *layer = filter->layers[0];
    const struct perhaps__tally removed = {.used = UINT64_MAX, .copies = UINT64_MAX, .removals = 1};
    const struct perhaps__tally added = {.used = 1, .copies = 1, .keys = 1};
    perhaps__tally_add(layer, &removed);
    perhaps__tally_add(layer, &added);
    assert_int_equal(layer->tally.used, 0);
    assert_int_equal(layer->tally.copies, 0);
    perhaps_free(filter);
}

static void test_memory(void **state)
{
    struct support_memory memory = {0};
    perhaps_allocator allocator = support_memory_allocator(&memory);
    perhaps_options options = growing_shared(300, 0);
    options.allocator = &allocator;
    struct owner owner = shrunk_owner(options, 20000, 40);
    uint64_t layers = owner.filter->layer_count;
    uint64_t calls = memory.calls;
    uint64_t adds = owner.keys;
    for (unsigned round = 0; round < 3; round++) {
        (void)compact_in_slices(&owner, 100);
        assert_true(owner.filter->layer_count <= 2);
        for (uint64_t key = 0; key < owner.keys; key++) {
            if (owner.held[key] == 0) {
                add(&owner, key);
                adds++;
            }
        }
        assert_true(owner.filter->layer_count >= layers - 1);
        check(&owner);
        perhaps_statistics s = support_stats(owner.filter);
        assert_int_equal(s.removals, adds - s.copies); // nothing is counted twice that a layer counted before
        shrink(&owner, 40, round + 1);
    }
    assert_true(memory.calls <= calls + 3); // at most one more layer, with its payload and locks
    free_owner(&owner);
    assert_true(support_memory_is_clean(&memory));
}

#ifdef __linux__
// Whole pages of a payload that are in memory.
static size_t resident_pages(const struct perhaps__layer *layer)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *first = layer->payload + (page - (uintptr_t)layer->payload % page) % page;
    size_t pages = (size_t)(layer->payload + layer->payload_size - first) / page;
    unsigned char *in_memory = support_allocate(pages);
    assert_int_equal(mincore(first, pages * page, in_memory), 0);
    size_t resident = 0;
    for (size_t i = 0; i < pages; i++) {
        resident += in_memory[i] & 1;
    }
    free(in_memory);
    return resident;
}

static void test_pages_go_back(void **state)
{
    struct owner owner = shrunk_owner(growing_shared(300, 0), 20000, 40);
    const struct perhaps__layer *largest = owner.filter->layers[owner.filter->layer_count - 1];
    assert_true(resident_pages(largest) >= 4);
    (void)compact_in_slices(&owner, 0);
    const struct perhaps__layer *layer = owner.filter->retired;
    while (layer != largest) {
        assert_non_null(layer);
        layer = layer->retired_before;
    }
    assert_int_equal(resident_pages(largest), 0);
    check(&owner);
    free_owner(&owner);
}
#endif

// A layer that is filled up relocates; its readers must be told.
static void test_relocations_are_told(void **state)
{
    perhaps_options options = growing_shared(1000, 0);
    struct owner owner = make_owner(&options, 7000);
    for (uint64_t key = 0; key < owner.keys; key++) { // layers of 1000, 2000 and 4000
        add(&owner, key);
    }
    for (uint64_t key = 400; key < 1000; key++) {
        take(&owner, key);
    }
    for (uint64_t key = 1590; key < 3000; key++) {
        take(&owner, key);
    }
    const struct perhaps__layer *first = owner.filter->layers[0];
    uint64_t moves = perhaps__moves(&first->stripes);
    (void)compact_in_slices(&owner, 0);
    assert_true(owner.filter->layer_count == 2 && first->tally.used >= 900);
    assert_false(perhaps__moves_none_since(&first->stripes, moves));
    check(&owner);
    free_owner(&owner);
}

// ---- a call that others come between

#ifdef PERHAPS_TEST_SUPPORT

// What happens between two layers of the one call that is looked at.
struct beside {
    struct owner *owner;
    uint64_t random;
    uint64_t key;  // that is asked for or removed: others leave it alone
    bool compacts; // not beside a removal, for which compacting waits
    unsigned depth;
    unsigned calls; // beside this key
    unsigned lists; // that were seen
};

static struct beside beside;

static uint64_t pick(uint64_t count)
{
    return support_random(&beside.random) % count;
}

// False when there is no room for it: to find that out takes longer than all else here.
static bool add_if_room(struct owner *owner, uint64_t key)
{
    if (owner->held[key] == 0 && key != beside.key) {
        owner->held[key] = perhaps_add_hash(owner->filter, key) >= 0;
        return owner->held[key] != 0;
    }
    return true;
}

static void take_if_held(struct owner *owner, uint64_t key)
{
    if (owner->held[key] > 0 && key != beside.key) {
        take(owner, key);
    }
}

static void do_something(struct owner *owner)
{
    uint64_t what = pick(beside.compacts ? 4 : 2);
    for (unsigned i = 0; i < 40 && what == 0; i++) {
        what += !add_if_room(owner, pick(owner->keys)); // layers come
    }
    for (unsigned i = 0; i < 8 && what == 1; i++) {
        take_if_held(owner, pick(owner->keys));
        what += !add_if_room(owner, pick(owner->keys));
    }
    if (what > 1 && beside.compacts) {
        assert_in_range(perhaps_compact(owner->filter, what == 2 ? 1 + pick(64) : 0, NULL, NULL), 0, 1);
    }
}

static void call_others(void)
{
    if (beside.depth++ == 0 && beside.calls++ < 12) { // what they remove comes back to here
        uint64_t word = beside.owner->filter->order.word;
        do_something(beside.owner);
        beside.lists += word != beside.owner->filter->order.word;
    }
    beside.depth--;
}

// Full, and then with few keys left in all layers, or none in some of them.
static void make_room(struct owner *owner)
{
    beside.key = owner->keys;
    for (uint64_t key = 0; key < owner->keys && add_if_room(owner, key); key++) {
    }
    if (pick(2) == 0) {
        shrink(owner, 2 + pick(20), pick(1000));
        return;
    }
    uint64_t first = pick(owner->keys);
    for (uint64_t key = first; key < owner->keys && key < 3 * first + 10; key++) {
        take_if_held(owner, key);
    }
    if (pick(2) == 0 || !beside.compacts) {
        (void)compact_in_slices(owner, 100);
    }
}

// One that is held, or UINT64_MAX.
static uint64_t held_key(const struct owner *owner)
{
    uint64_t first = pick(owner->keys);
    for (uint64_t i = 0; i < owner->keys; i++) {
        uint64_t key = (first + i) % owner->keys;
        if (owner->held[key] > 0) {
            return key;
        }
    }
    return UINT64_MAX;
}

// Small filters in which many keys look alike; a filter that grows to a plan gets layers in the middle again.
static void run_between_layers(void (*call)(struct owner *owner, uint64_t key), bool compacts)
{
    unsigned lists = 0;
    for (uint64_t seed = 1; seed <= SUPPORT_SCALED(50 * scale); seed++) {
        perhaps_options options = growing_shared(4, seed % 4 != 0 ? 1000 : 0);
        options.slots = seed % 3 == 0 ? 2 : 4;
        options.fpr = 0.1;
        struct owner owner = make_owner(&options, 600);
        beside = (struct beside){.owner = &owner, .random = seed, .compacts = compacts};
        for (unsigned round = 0; round < 20; round++) {
            make_room(&owner);
            for (unsigned i = 0; i < 4 && (beside.key = held_key(&owner)) != UINT64_MAX; i++) {
                beside.calls = 0;
                perhaps__between_layers = call_others;
                call(&owner, beside.key);
                perhaps__between_layers = NULL;
            }
            check(&owner);
        }
        assert_int_equal(owner.ambiguous, 0);
        lists += beside.lists;
        free_owner(&owner);
    }
    assert_true(lists > SUPPORT_SCALED(50)); // layers came and went
}

static void ask_in_one_way(struct owner *owner, uint64_t key)
{
    uint8_t answer = 0;
    uint64_t count = 0;
    switch (pick(3)) {
    case 0:
        assert_int_equal(perhaps_ask_hash(owner->filter, key), 1);
        break;
    case 1:
        assert_int_equal(perhaps_might_contain_many_hash(owner->filter, &key, 1, &answer, NULL), 0);
        assert_int_equal(answer, 1);
        break;
    default:
        assert_int_equal(perhaps_count_at_most_many_hash(owner->filter, &key, 1, &count, NULL), 0);
        assert_true(count >= owner->held[key]);
    }
}

static void test_asking_between_two_layers(void **state)
{
    run_between_layers(ask_in_one_way, true);
}

static void remove_it(struct owner *owner, uint64_t key)
{
    assert_int_equal(perhaps_remove_hash(owner->filter, key), 1);
    owner->held[key]--;
}

static void test_removing_between_two_layers(void **state)
{
    run_between_layers(remove_it, false);
}

static perhaps_filter *growing_filter;

static void grow_once(void)
{
    if (growing_filter != NULL) {
        assert_true(perhaps_add_hash(growing_filter, 5000) >= 0);
    }
    growing_filter = NULL;
}

// A reader has asked the largest of three layers, and below the one where the key is there comes a fourth.
static void test_a_layer_in_the_middle(void **state)
{
    for (unsigned way = 0; way < 3; way++) {
        struct owner owner = make_owner(&(perhaps_options[]){growing_shared(100, 1500)}[0], 1500);
        for (uint64_t key = 0; key < 1500; key++) {
            add(&owner, key);
        }
        for (uint64_t key = 100; key < 300; key++) { // all of the second layer
            take(&owner, key);
        }
        (void)compact_in_slices(&owner, 0);
        assert_int_equal(owner.filter->layer_count, 3);
        uint64_t key = 350; // in the third
        uint8_t answer = 1;
        uint64_t count = 1;
        growing_filter = owner.filter;
        perhaps__between_layers = grow_once;
        if (way == 0) {
            answer = (uint8_t)perhaps_ask_hash(owner.filter, key);
        } else if (way == 1) {
            assert_int_equal(perhaps_might_contain_many_hash(owner.filter, &key, 1, &answer, NULL), 0);
        } else {
            assert_int_equal(perhaps_count_at_most_many_hash(owner.filter, &key, 1, &count, NULL), 0);
        }
        perhaps__between_layers = NULL;
        assert_int_equal(owner.filter->layer_count, 4);
        assert_true(answer == 1 && count >= 1);
        free_owner(&owner);
    }
}

static struct perhaps__order *restless;

static void change_the_list(void)
{
    restless->word += 2 * PERHAPS_ORDER_STEP;
}

// A list that is never still: "perhaps", and counted.
static void test_no_end_of_changes(void **state)
{
    struct owner owner = shrunk_owner(growing_shared(20, 0), 300, 1);
    uint64_t hashes[3] = {0};
    for (uint64_t key = 1000, absent = 0; absent < 3; key++) {
        hashes[absent] = key;
        absent += perhaps_might_contain_hash(owner.filter, key) == 0;
    }
    uint8_t answers[3];
    uint64_t counts[3];
    restless = &owner.filter->order;
    perhaps__between_layers = change_the_list;
    assert_int_equal(perhaps_ask_hash(owner.filter, hashes[0]), 1);
    assert_int_equal(perhaps_might_contain_many_hash(owner.filter, hashes, 3, answers, NULL), 0);
    assert_int_equal(perhaps_count_at_most_many_hash(owner.filter, hashes, 3, counts, NULL), 0);
    perhaps__between_layers = NULL;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(answers[i], 1);
        assert_true(counts[i] == PERHAPS_COUNT_UNBOUNDED);
        assert_int_equal(perhaps_ask_hash(owner.filter, hashes[i]), 0);
    }
    assert_int_equal(support_stats(owner.filter).unsettled, 1 + 3 + 3);
    owner.filter->layers[owner.filter->layer_count - 1]->tally.unsettled = 5;
    shrink(&owner, 1000, 1);
    (void)compact_in_slices(&owner, 0);
    assert_int_equal(owner.filter->layer_count, 1);
    assert_int_equal(support_stats(owner.filter).unsettled, 7 + 5);
    free_owner(&owner);
}

#endif

int main(int argc, char **argv)
{
    scale = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    cmocka_set_test_filter(argc > 2 ? argv[2] : NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_as_unshared),
        cmocka_unit_test(test_counted_late),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_relocations_are_told),
#ifdef __linux__
        cmocka_unit_test(test_pages_go_back),
#endif
#ifdef PERHAPS_TEST_SUPPORT
        cmocka_unit_test(test_asking_between_two_layers),
        cmocka_unit_test(test_removing_between_two_layers),
        cmocka_unit_test(test_a_layer_in_the_middle),
        cmocka_unit_test(test_no_end_of_changes),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
