// SPDX-License-Identifier: MIT
// perhaps_compact() beside threads that ask, add, remove, save and compact. Also run under the thread sanitizer.
//
//     test_compact_threads [scale [pattern]]    more rounds; only tests of such a name (fnmatch(3))
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "layers.h"
#include "layers_owner.h"
#include "shared.h"

static unsigned long scale = 1;

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
        cmocka_unit_test(test_residents_are_never_missed),
        cmocka_unit_test(test_every_mix),
        cmocka_unit_test(test_others_go_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
