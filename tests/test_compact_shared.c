// SPDX-License-Identifier: MIT
// perhaps_compact() beside readers, writers and snapshots of a filter that threads share. Also run under the thread sanitizer.
//
//     test_compact_shared [scale [pattern]]    more rounds; only tests of such a name (fnmatch(3))
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "layers.h"
#include "layers_owner.h"
#include "shared.h"

static unsigned long scale = 1;

static perhaps_options growing_shared(uint64_t capacity, uint64_t max_capacity)
{
    perhaps_options options = growing(capacity, 0.01);
    options.flags = PERHAPS_SHARED;
    options.max_capacity = max_capacity;
    return options;
}

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
        assert_true(support_stats(shared.filter).layers <= 2);
        free_owner(&shared);
        free_owner(&alone);
    }
}

// What was dropped is kept for readers, taken again by layers of its size, and released with the filter.
static void test_memory(void **state)
{
    struct support_memory memory = {0};
    perhaps_allocator allocator = support_memory_allocator(&memory);
    perhaps_options options = growing_shared(300, 0);
    options.allocator = &allocator;
    struct owner owner = shrunk_owner(options, 20000, 40);
    uint64_t layers = owner.filter->layer_count;
    uint64_t calls = memory.calls;
    for (unsigned round = 0; round < 3; round++) {
        (void)compact_in_slices(&owner, 100);
        assert_true(owner.filter->layer_count <= 2);
        for (uint64_t key = 0; key < owner.keys; key++) {
            if (owner.held[key] == 0) {
                add(&owner, key);
            }
        }
        assert_true(owner.filter->layer_count >= layers - 1);
        check(&owner);
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
    shrink(&owner, 1000, 1);
    (void)compact_in_slices(&owner, 0);
    assert_int_equal(support_stats(owner.filter).unsettled, 7);
    free_owner(&owner);
}

#endif

// ---- threads

enum { MOST = 7 };

struct worker {
    pthread_t thread;
    perhaps_filter *filter;
    uint64_t number;
    uint64_t failed;
    uint64_t missed;
    uint64_t done;
    const int *stop;
};

typedef void *work_function(void *worker);

#define RESIDENTS SUPPORT_SCALED(UINT64_C(600))
#define RESIDENT (UINT64_C(1) << 40)
#define OWN SUPPORT_SCALED(UINT64_C(5000))

static bool is_over(const struct worker *worker)
{
    return __atomic_load_n(worker->stop, __ATOMIC_RELAXED) != 0;
}

static void tell(struct worker *worker, uint64_t more)
{
    (void)__atomic_fetch_add(&worker->done, more, __ATOMIC_RELAXED);
}

// Leaves the processor to those who work.
static void nap(void)
{
    const struct timespec time = {.tv_nsec = 100000};
    (void)nanosleep(&time, NULL);
}

// Residents are held twice.
static void *ask_residents(void *context)
{
    struct worker *worker = context;
    uint64_t hashes[RESIDENTS];
    uint8_t out[RESIDENTS];
    uint64_t counts[RESIDENTS];
    for (uint64_t i = 0; i < RESIDENTS; i++) {
        hashes[i] = RESIDENT + i;
    }
    for (; !is_over(worker); tell(worker, 1)) {
        (void)perhaps_might_contain_many_hash(worker->filter, hashes, RESIDENTS, out, NULL);
        (void)perhaps_count_at_most_many_hash(worker->filter, hashes, RESIDENTS, counts, NULL);
        for (size_t i = 0; i < RESIDENTS; i++) {
            worker->missed += out[i] == 0;
            worker->missed += counts[i] < 2;
            worker->missed += perhaps_ask_hash(worker->filter, hashes[i]) == 0;
        }
    }
    return NULL;
}

// Adds keys of its own until the filter has grown, and takes them all again.
static void *come_and_go(void *context)
{
    struct worker *worker = context;
    uint64_t first = (worker->number + 1) << 32;
    for (; !is_over(worker); tell(worker, 1)) {
        for (uint64_t i = 0; i < OWN; i++) {
            worker->failed += perhaps_add_hash(worker->filter, first + i) < 0;
            worker->missed += perhaps_ask_hash(worker->filter, first + i / 2) == 0;
        }
        for (uint64_t i = 0; i < OWN; i++) {
            worker->missed += perhaps_count_at_most_hash(worker->filter, first + i) < 1;
            worker->failed += perhaps_remove_hash(worker->filter, first + i) != 1;
        }
    }
    return NULL;
}

static void *compact_on(void *context)
{
    struct worker *worker = context;
    while (!is_over(worker)) {
        perhaps_compaction done = {.size = sizeof done};
        worker->failed += perhaps_compact(worker->filter, worker->number % 2 != 0 ? 0 : 100, &done, NULL) < 0;
        tell(worker, done.dropped);
        nap();
    }
    return NULL;
}

// What is saved in the middle of it is whole, has the residents, and says of itself what is true, or it would not load.
static void *take_snapshots(void *context)
{
    struct worker *worker = context;
    const size_t room = (size_t)1 << 22;
    uint8_t *bytes = malloc(room);
    for (; !is_over(worker); tell(worker, 1)) {
        size_t size = 0;
        perhaps_filter *copy = NULL;
        perhaps_statistics s = {.size = sizeof s};
        worker->failed += perhaps_encode(worker->filter, bytes, room, &size, NULL) != PERHAPS_OK;
        worker->failed += perhaps_decode(bytes, size, NULL, &copy, NULL) != PERHAPS_OK;
        worker->failed += perhaps_stats(worker->filter, &s) != PERHAPS_OK;
        worker->failed += s.copies != s.set_bits || s.copies < 2 * RESIDENTS;
        for (uint64_t i = 0; copy != NULL && i < RESIDENTS; i++) {
            worker->missed += perhaps_count_at_most_hash(copy, RESIDENT + i) < 2;
        }
        perhaps_free(copy);
    }
    free(bytes);
    return NULL;
}

static void start(struct worker *worker, perhaps_filter *filter, uint64_t number, const int *stop, work_function *work)
{
    *worker = (struct worker){.filter = filter, .number = number, .stop = stop};
    assert_int_equal(pthread_create(&worker->thread, NULL, work, worker), 0);
}

static void wait_for(const uint64_t *done, uint64_t least)
{
    while (__atomic_load_n(done, __ATOMIC_RELAXED) < least) {
        nap();
    }
}

static perhaps_filter *make_resident(const perhaps_options *options)
{
    perhaps_filter *filter = support_create(options);
    for (uint64_t i = 0; i < 2 * RESIDENTS; i++) {
        assert_true(perhaps_add_hash(filter, RESIDENT + i % RESIDENTS) >= 0);
    }
    return filter;
}

// Now and then a reader lets others run between two layers.
static void wait_between_layers(void)
{
    static _Thread_local unsigned calls;
    if (++calls % 512 == 0) {
        (void)sched_yield();
    }
}

static void run_mix(perhaps_filter *filter, uint64_t rounds)
{
    static work_function *const work[MOST] = {come_and_go,   come_and_go,   compact_on,    compact_on,
                                              ask_residents, ask_residents, take_snapshots};
    struct worker workers[MOST];
    int stop = 0;
    for (unsigned i = 0; i < MOST; i++) {
        start(&workers[i], filter, i, &stop, work[i]);
    }
    for (unsigned i = 0; i < MOST; i++) {
        if (work[i] != compact_on) {
            wait_for(&workers[i].done, rounds);
        }
    }
    wait_for(&workers[2].done, 1);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < MOST; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
    }
    for (unsigned i = 0; i < MOST; i++) {
        assert_int_equal(workers[i].failed, 0);
        assert_int_equal(workers[i].missed, 0);
    }
}

static void test_residents_are_never_missed(void **state)
{
#ifdef PERHAPS_TEST_SUPPORT
    perhaps__between_layers = wait_between_layers;
#endif
    for (unsigned planned = 0; planned < 2; planned++) {
        perhaps_options options = growing_shared(100, planned != 0 ? 2 * (2 * OWN + 2 * RESIDENTS) : 0);
        perhaps_filter *filter = make_resident(&options);
        run_mix(filter, SUPPORT_SCALED(10 * scale));
        perhaps_statistics s = support_stats(filter);
        assert_int_equal(s.copies, 2 * RESIDENTS);
        assert_int_equal(s.ambiguous, 0);
        assert_int_equal(perhaps_compact(filter, 0, NULL, NULL), 0);
        for (uint64_t i = 0; i < RESIDENTS; i++) {
            assert_true(perhaps_count_at_most_hash(filter, RESIDENT + i) >= 2);
        }
        perhaps_free(filter);
    }
#ifdef PERHAPS_TEST_SUPPORT
    perhaps__between_layers = NULL;
#endif
}

// Calls of every sort, also those that make away with layers; each must succeed, whatever the others do.
static void *do_everything(void *context)
{
    struct worker *worker = context;
    uint64_t random = worker->number + 1;
    perhaps_statistics s = {.size = sizeof s};
    uint64_t hashes[20];
    uint8_t out[20];
    for (uint64_t i = 0; i < SUPPORT_SCALED(20000 * scale); i++) {
        uint64_t what = support_random(&random) % 32;
        for (size_t j = 0; j < SUPPORT_COUNT(hashes); j++) {
            hashes[j] = support_random(&random) % 3000;
        }
        if (what == 0) {
            worker->failed += perhaps_compact(worker->filter, support_random(&random) % 50, NULL, NULL) < 0;
        } else if (what == 1) {
            int result = perhaps_stats_of_layer(worker->filter, (uint32_t)hashes[0] % 6, &s);
            worker->failed += result != PERHAPS_OK && (result != PERHAPS_E_ARGUMENT || hashes[0] % 6 == 0);
            worker->failed += perhaps_merge(worker->filter, worker->filter, NULL) != PERHAPS_E_UNSUPPORTED;
        } else if (what == 2 && i % 16 == 0) {
            worker->failed += perhaps_clear(worker->filter) != PERHAPS_OK;
        } else if (what < 16) {
            int result = perhaps_add_many_hash(worker->filter, hashes, 20, out, NULL);
            worker->failed += result != PERHAPS_OK && result != PERHAPS_E_COPIES; // some are added again and again
        } else if (what < 24) {
            worker->failed += perhaps_remove_many_hash(worker->filter, hashes, 20, out, NULL) != PERHAPS_OK;
        } else {
            worker->failed += perhaps_might_contain_many_hash(worker->filter, hashes, 20, out, NULL) != PERHAPS_OK;
        }
    }
    return NULL;
}

static void test_every_mix(void **state)
{
    for (uint32_t flags = PERHAPS_SHARED; flags <= (PERHAPS_SHARED | PERHAPS_CLAIM); flags += PERHAPS_CLAIM) {
        perhaps_options options = growing_shared(100, 0);
        options.flags = flags;
        perhaps_filter *filter = support_create(&options);
        struct worker workers[4];
        int stop = 0;
        for (unsigned i = 0; i < 4; i++) {
            start(&workers[i], filter, i, &stop, do_everything);
        }
        for (unsigned i = 0; i < 4; i++) {
            assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
            assert_int_equal(workers[i].failed, 0);
        }
        perhaps_statistics s = support_stats(filter);
        assert_int_equal(s.copies, s.set_bits);
        perhaps_free(filter);
    }
}

// ---- the gate between steps

static void *enter_once(void *context)
{
    struct worker *worker = context;
    struct perhaps__gate *gate = &worker->filter->shared->gate;
    uint32_t slot = perhaps__gate_enter(gate);
    __atomic_store_n(&worker->done, 1, __ATOMIC_RELAXED);
    perhaps__gate_leave(gate, slot);
    return NULL;
}

static void *close_once(void *context)
{
    struct worker *worker = context;
    perhaps__close(worker->filter);
    __atomic_store_n(&worker->done, 1, __ATOMIC_RELAXED);
    perhaps__open(worker->filter);
    return NULL;
}

// Who waits at the gate, to pass or to close it, has done so before it is closed for the next step.
static void test_others_go_first(void **state)
{
    perhaps_options options = growing_shared(100, 0);
    perhaps_filter *filter = support_create(&options);
    for (unsigned round = 0; round < 100; round++) {
        struct worker writer;
        perhaps__close(filter);
        start(&writer, filter, 0, NULL, round % 2 != 0 ? enter_once : close_once);
        while (__atomic_load_n(&filter->shared->gate.waiting, __ATOMIC_RELAXED) == 0) {
            (void)sched_yield();
        }
        assert_int_equal(__atomic_load_n(&writer.done, __ATOMIC_RELAXED), 0);
        perhaps__open_between_steps(filter);
        perhaps__close(filter); // waits for those inside
        assert_int_equal(__atomic_load_n(&writer.done, __ATOMIC_RELAXED), 1);
        perhaps__open(filter);
        assert_int_equal(pthread_join(writer.thread, NULL), 0);
    }
    perhaps_free(filter);
}

int main(int argc, char **argv)
{
    scale = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    cmocka_set_test_filter(argc > 2 ? argv[2] : NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_as_unshared),
        cmocka_unit_test(test_memory),
#ifdef __linux__
        cmocka_unit_test(test_pages_go_back),
#endif
#ifdef PERHAPS_TEST_SUPPORT
        cmocka_unit_test(test_asking_between_two_layers),
        cmocka_unit_test(test_removing_between_two_layers),
        cmocka_unit_test(test_no_end_of_changes),
#endif
        cmocka_unit_test(test_residents_are_never_missed),
        cmocka_unit_test(test_every_mix),
        cmocka_unit_test(test_others_go_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
