// SPDX-License-Identifier: MIT
// Filters that threads share: nothing is lost, nothing is missed, claims are won once, snapshots are whole. For each kind,
// fixed and growing. Also run under the thread sanitizer.
//
//     test_shared [scale [pattern [variant]]]    more keys and rounds; the long tier takes 100. Only tests, and only filters,
//                                                of such a name (fnmatch(3))
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuckoo.h"
#include "filter.h"
#include "support_shared.h"

static unsigned long scale = 1;

// ---- writers only

// Adds every threads-th key, one by one or in batches of changing size.
static void *add_share(void *context)
{
    struct worker *worker = context;
    uint64_t hashes[300];
    uint8_t out[300];
    size_t waiting = 0;
    for (uint64_t i = worker->number; i < worker->keys; i += worker->threads) {
        hashes[waiting++] = hash_of(i);
        if (waiting >= 1 + i % 300 || i + worker->threads >= worker->keys) {
            size_t done = 0;
            if (waiting == 1) {
                int result = perhaps_add_hash(worker->filter, hashes[0]);
                worker->failed += result < 0;
                worker->won += result == 1;
            } else {
                worker->failed += perhaps_add_many_hash(worker->filter, hashes, waiting, out, &done) < 0;
                for (size_t j = 0; j < done; j++) {
                    worker->won += out[j];
                }
            }
            waiting = 0;
        }
    }
    return NULL;
}

static int compare_words(const void *a, const void *b)
{
    const uint64_t *left = a;
    const uint64_t *right = b;
    return (*left > *right) - (*left < *right);
}

// What lies in the slots of a cuckoo table, free ones as 0, in order: each fingerprint with the smaller of its two buckets,
// as in which one it lies, and where, depends on who came first.
static uint64_t *items_of(const perhaps_filter *filter, size_t *count)
{
    const struct perhaps__layer *layer = filter->layers[0];
    const struct perhaps__shape *shape = &layer->shape;
    const struct perhaps__cuckoo table =
        perhaps__cuckoo_table(&layer->view, shape->slots, shape->cell_bits, shape->layout, false);
    *count = (size_t)(table.buckets * table.slots);
    uint64_t *items = support_allocate(*count * sizeof *items);
    for (size_t i = 0; i < *count; i++) {
        uint64_t bucket = i / table.slots;
        uint64_t fingerprint =
            perhaps__cuckoo_get(&table, perhaps__cuckoo_at(&table, bucket) + i % table.slots * table.bits);
        uint64_t other = fingerprint != 0 ? perhaps__cuckoo_other(&table, fingerprint, bucket) : 0;
        items[i] = fingerprint != 0 ? (bucket < other ? bucket : other) << 32 | fingerprint : 0;
    }
    qsort(items, *count, sizeof *items, compare_words);
    return items;
}

static void assert_same_items(const perhaps_filter *shared, const perhaps_filter *alone)
{
    size_t counts[2];
    uint64_t *a = items_of(shared, &counts[0]);
    uint64_t *b = items_of(alone, &counts[1]);
    assert_int_equal(counts[0], counts[1]);
    assert_memory_equal(a, b, counts[0] * sizeof *a);
    free(a);
    free(b);
}

// Bits and counters are those that one thread would have made, whoever came first; but the conservative policy makes other
// counters in another order.
static void assert_same_content(const struct variant *variant, const perhaps_filter *shared,
                                const perhaps_filter *alone)
{
    if (variant->options.kind == PERHAPS_KIND_CUCKOO) {
        assert_same_items(shared, alone);
    } else if (variant->options.policy != PERHAPS_POLICY_CONSERVATIVE) {
        support_assert_same_payload(shared, alone);
    }
}

// What can be counted exactly is what one thread would have made.
static void test_no_write_is_lost(void **state)
{
    uint64_t keys = SUPPORT_SCALED(200000 * scale);
    FOR_EACH_VARIANT(variant)
    {
        perhaps_filter *filter = make(variant, keys, PERHAPS_SHARED);
        perhaps_filter *alone = make(variant, keys, 0);
        struct worker workers[MOST_THREADS];
        init_workers(workers, MOST_THREADS, filter, keys);
        run_threads(add_share, workers, MOST_THREADS);
        add_alone(alone, 0, keys);
        uint64_t won = 0;
        for (unsigned i = 0; i < MOST_THREADS; i++) {
            assert_int_equal(workers[i].failed, 0);
            won += workers[i].won;
        }
        assert_int_equal(count_missing(filter, 0, keys), 0);
        perhaps_statistics shared = support_stats(filter);
        perhaps_statistics single = support_stats(alone);
        assert_int_equal(shared.adds, won);
        assert_true(shared.capacity_now >= shared.adds);
        if (!grows(variant)) {
            assert_same_content(variant, filter, alone);
            assert_int_equal(shared.copies, single.copies);
            assert_in_range(shared.adds, keys - keys / 500, keys); // false positives come in another order
        } else {
            assert_int_equal(shared.layers, single.layers); // each added once
            assert_true(!variant->counts || shared.copies == keys);
        }
        perhaps_free(filter);
        perhaps_free(alone);
    }
}

// ---- claims

// Claims are counted where no key looks like another: at the lowest rate of the kind, and far from full where that is not
// low. A growing one begins so large that none of its layers needs a lower rate than that.
static perhaps_filter *make_exact(const struct variant *variant, uint64_t keys)
{
    perhaps_options options = variant->options;
    bool blocked = options.kind == PERHAPS_KIND_BLOCKED;
    double lowest = blocked ? 1e-6 : options.kind == PERHAPS_KIND_CUCKOO ? 4e-9 : 1e-9;
    uint64_t adds = variant->counts ? keys * MOST_THREADS : keys;
    options.size = sizeof options;
    options.capacity = grows(variant) ? adds / (blocked ? 2 : 8) + 1 : adds * (blocked ? 4 : 1);
    options.fpr =
        grows(variant) ? lowest * (blocked ? 12 : 25) : lowest; // the second layer has a tenth, the fourth a 25th
    options.fingerprint_bits = 0;
    options.flags = PERHAPS_CLAIM;
    return support_create(&options);
}

// Blocked layers that are full to their capacity have no rate low enough for none: on average two in a million.
static uint64_t look_alikes(const struct variant *variant, uint64_t keys)
{
    return grows(variant) && variant->options.kind == PERHAPS_KIND_BLOCKED ? 1 + keys / 100000 : 0;
}

// All threads add all keys, each beginning elsewhere, so that they meet again and again.
static void *claim_all(void *context)
{
    struct worker *worker = context;
    uint64_t first = worker->keys / 64 * worker->number; // close enough for threads to overtake each other
    for (uint64_t i = 0; i < worker->keys; i++) {
        uint64_t key = (first + i) % worker->keys;
        uint64_t hash = hash_of(key);
        uint8_t out = 0;
        size_t done = 0;
        int result = i % 3 != 0 ? perhaps_add_hash(worker->filter, hash)
                                : perhaps_add_many_hash(worker->filter, &hash, 1, &out, &done);
        bool refused =
            result == PERHAPS_E_COPIES || result == PERHAPS_E_FULL || result == PERHAPS_E_LIMIT; // too often, and there
        worker->failed += result < 0 && !refused;
        if (result >= 0) {
            __atomic_store_n(&worker->added[key], 1, __ATOMIC_RELAXED);
        }
        if (result == 1 || out == 1) {
            (void)__atomic_fetch_add(&worker->wins[key], 1, __ATOMIC_RELAXED);
        }
    }
    return NULL;
}

static void test_claims_are_won_once(void **state)
{
    uint64_t keys = SUPPORT_SCALED(10000 * scale);
    FOR_EACH_VARIANT(variant)
    {
        perhaps_filter *filter = make_exact(variant, keys);
        struct worker workers[MOST_THREADS];
        uint8_t *wins = support_allocate(keys);
        uint8_t *added = support_allocate(keys);
        memset(wins, 0, keys);
        memset(added, 0, keys);
        init_workers(workers, MOST_THREADS, filter, keys);
        for (unsigned i = 0; i < MOST_THREADS; i++) {
            workers[i].wins = wins;
            workers[i].added = added;
        }
        run_threads(claim_all, workers, MOST_THREADS);
        for (unsigned i = 0; i < MOST_THREADS; i++) {
            assert_int_equal(workers[i].failed, 0);
        }
        uint64_t winners = 0;
        uint64_t expected = 0;
        for (uint64_t i = 0; i < keys; i++) {
            assert_in_range(wins[i], 0, added[i]);
            winners += wins[i];
            expected += added[i];
        }
        assert_true(variant->counts || expected == keys); // only copies are refused
        assert_in_range(winners, expected - look_alikes(variant, keys), expected);
        assert_int_equal(winners, support_stats(filter).adds);
        free(wins);
        free(added);
        perhaps_free(filter);
    }
}

// ---- readers beside writers

// What each of two readers asks of every filter: together 10^7 questions in CI (under sanitizers a tenth), 10^9 in the long
// tier with scale 100.
#define LEAST_ASKED SUPPORT_SCALED(UINT64_C(5000000) * scale)

static void *ask_residents(void *context)
{
    struct worker *worker = context;
    uint64_t hashes[64];
    uint8_t out[64];
    for (uint64_t i = 0; worker->asked < LEAST_ASKED; i++) {
        for (size_t j = 0; j < 64; j++) {
            hashes[j] = hash_of(RESIDENT + (i * 64 + j) % worker->keys);
        }
        (void)perhaps_might_contain_many_hash(worker->filter, hashes, 64, out, NULL);
        for (size_t j = 0; j < 64; j++) {
            worker->missed += out[j] == 0;
            worker->missed += j % 8 == 0 && perhaps_ask_hash(worker->filter, hashes[j]) == 0;
            worker->missed += j % 8 == 1 && perhaps_count_at_most_hash(worker->filter, hashes[j]) == 0;
        }
        worker->asked += 64 + 16;
    }
    return NULL;
}

// Adds keys of its own; removes them again, where that can be done, and adds others. Until it is told to stop.
static void *come_and_go(void *context)
{
    struct worker *worker = context;
    uint64_t first = (uint64_t)worker->number << 32;
    bool removes = false;
    for (uint64_t i = 0; i == 0 || __atomic_load_n(worker->stop, __ATOMIC_RELAXED) == 0; i++) {
        uint64_t hash = hash_of(first + i % worker->keys);
        int result = perhaps_add_hash(worker->filter, hash);
        worker->failed += result < 0 && result != PERHAPS_E_FULL && result != PERHAPS_E_COPIES;
        if (i == 0) {
            removes = perhaps_remove_hash(worker->filter, hash) != PERHAPS_E_UNSUPPORTED;
        } else if (removes && result >= 0) {
            worker->failed += perhaps_remove_hash(worker->filter, hash) != 1;
        }
    }
    return NULL;
}

struct both {
    struct worker *worker;
    work_function *work;
};

static void *run_either(void *context)
{
    struct both *both = context;
    return both->work(both->worker);
}

// Some until they are done, and others beside them until those are.
static void run_beside(struct worker *some, unsigned some_count, work_function *work, struct worker *others,
                       unsigned other_count, work_function *other_work)
{
    pthread_t threads[MOST_THREADS];
    struct both tasks[MOST_THREADS];
    int stop = 0;
    for (unsigned i = 0; i < other_count; i++) {
        others[i].stop = &stop;
        tasks[i] = (struct both){&others[i], other_work};
    }
    for (unsigned i = 0; i < other_count; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_either, &tasks[i]), 0);
    }
    run_threads(work, some, some_count);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < other_count; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
}

#ifdef PERHAPS_TEST_SUPPORT
// Now and then a reader of a cuckoo table lets others run between its two buckets.
static void wait_between_buckets(void)
{
    static _Thread_local unsigned calls;
    if (++calls % 256 == 0) {
        (void)sched_yield();
    }
}
#endif

static void test_residents_are_never_missed(void **state)
{
#ifdef PERHAPS_TEST_SUPPORT
    perhaps__cuckoo_between_buckets = wait_between_buckets;
#endif
    uint64_t keys = SUPPORT_SCALED(100000);
    FOR_EACH_VARIANT(variant)
    {
        perhaps_filter *filter = make(variant, keys, PERHAPS_SHARED);
        uint64_t residents = keys * 49 / 50; // a cuckoo table then relocates with every second add
        add_alone(filter, RESIDENT, residents);
        struct worker writers[3];
        struct worker readers[2];
        init_workers(writers, 3, filter, variant->removes ? keys : grows(variant) ? keys : keys / 30);
        init_workers(readers, 2, filter, residents);
        run_beside(readers, 2, ask_residents, writers, 3, come_and_go);
        for (unsigned i = 0; i < 3; i++) {
            assert_int_equal(writers[i].failed, 0);
        }
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(readers[i].missed, 0);
            assert_true(readers[i].asked >= LEAST_ASKED);
        }
        assert_int_equal(count_missing(filter, RESIDENT, residents), 0);
        perhaps_free(filter);
    }
#ifdef PERHAPS_TEST_SUPPORT
    perhaps__cuckoo_between_buckets = NULL;
#endif
}

// ---- snapshots beside writers

static void *add_and_tell(void *context)
{
    struct worker *worker = context;
    uint64_t first = (uint64_t)worker->number << 32;
    for (uint64_t i = 0; i < worker->keys; i++) {
        worker->failed += perhaps_add_hash(worker->filter, hash_of(first + i)) < 0;
        __atomic_store_n(worker->progress, i + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

#define WRITERS 4

// Everything that was added before the snapshot began is in it; and what it says of itself is true, or it would not load.
static void *take_snapshots(void *context)
{
    struct worker *worker = context;
    while (__atomic_load_n(worker->stop, __ATOMIC_RELAXED) == 0 || worker->asked == 0) {
        uint64_t before[WRITERS];
        for (unsigned i = 0; i < WRITERS; i++) {
            before[i] = __atomic_load_n(&worker->progress[i], __ATOMIC_ACQUIRE);
        }
        size_t room = (size_t)scale << 23; // more than any of the filters encodes to
        uint8_t *bytes = malloc(room);
        size_t size = 0;
        perhaps_filter *copy = NULL;
        worker->failed += perhaps_encode(worker->filter, bytes, room, &size, NULL) != PERHAPS_OK;
        worker->failed += perhaps_decode(bytes, size, NULL, &copy, NULL) != PERHAPS_OK;
        for (unsigned i = 0; copy != NULL && i < WRITERS; i++) {
            worker->missed += count_missing(copy, (uint64_t)i << 32, before[i]);
        }
        worker->asked++;
        perhaps_free(copy);
        free(bytes);
    }
    return NULL;
}

static void test_snapshots_are_whole(void **state)
{
    uint64_t keys = SUPPORT_SCALED(40000 * scale);
    FOR_EACH_VARIANT(variant)
    {
        perhaps_filter *filter = make(variant, WRITERS * keys, PERHAPS_SHARED);
        uint64_t progress[WRITERS] = {0};
        struct worker writers[WRITERS];
        struct worker snapshots[1];
        init_workers(writers, WRITERS, filter, keys);
        init_workers(snapshots, 1, filter, keys);
        snapshots[0].progress = progress;
        for (unsigned i = 0; i < WRITERS; i++) {
            writers[i].progress = &progress[i];
        }
        run_beside(writers, WRITERS, add_and_tell, snapshots, 1, take_snapshots);
        assert_int_equal(snapshots[0].failed, 0);
        assert_int_equal(snapshots[0].missed, 0);
        for (unsigned i = 0; i < WRITERS; i++) {
            assert_int_equal(writers[i].failed, 0);
            assert_int_equal(count_missing(filter, (uint64_t)i << 32, keys), 0);
        }
        perhaps_free(filter);
    }
}

// ---- what threads do not change

// One thread alone gets the same bytes from a shared filter as from one that is not.
static void test_alone_it_is_the_same_filter(void **state)
{
    FOR_EACH_VARIANT(variant)
    {
        perhaps_filter *filters[3];
        for (uint32_t i = 0; i < 3; i++) {
            filters[i] = make(variant, 8000, i); // nothing, shared, claim
            support_add_keys(filters[i], SUPPORT_WORDS, 0, 3000);
            for (uint64_t j = 0; j < 3000; j++) {
                int result = perhaps_add_hash(filters[i], hash_of(j));
                assert_true(result == 0 || result == 1);
            }
        }
        support_assert_same(filters[0], filters[1]);
        support_assert_same(filters[0], filters[2]);
        struct support_bytes bytes = support_encode(filters[1]);
        perhaps_load_options options = {.size = sizeof options, .flags = PERHAPS_OPEN_SHARED | PERHAPS_OPEN_CLAIM};
        perhaps_filter *loaded = NULL;
        assert_int_equal(perhaps_decode(bytes.data, bytes.size, &options, &loaded, NULL), PERHAPS_OK);
        add_alone(loaded, 7000, 500);
        add_alone(filters[0], 7000, 500);
        support_assert_same(filters[0], loaded);
        free(bytes.data);
        perhaps_free(loaded);
        for (uint32_t i = 0; i < 3; i++) {
            perhaps_free(filters[i]);
        }
    }
}

static void test_memory_runs_out(void **state)
{
    FOR_EACH_VARIANT(variant)
    {
        int result = PERHAPS_E_MEMORY;
        for (uint64_t fail_at = 1; result < 0; fail_at++) {
            assert_true(fail_at <= 7); // filter, shared, claims of some, payload, layer, stripes
            struct support_memory memory = {.fail_at = fail_at};
            perhaps_allocator allocator = support_memory_allocator(&memory);
            perhaps_options options = variant->options;
            options.size = sizeof options;
            options.capacity = 100;
            options.fpr = 0.01;
            options.flags = PERHAPS_CLAIM;
            options.allocator = &allocator;
            perhaps_filter *filter = NULL;
            perhaps_error error = SUPPORT_ERROR;
            result = perhaps_create(&options, &filter, &error);
            assert_true(result == PERHAPS_E_MEMORY || (result == PERHAPS_OK && fail_at >= 6));
            perhaps_free(filter);
            assert_true(support_memory_is_clean(&memory));
        }
    }
}

static void test_flags_that_are_none(void **state)
{
    perhaps_options options = SUPPORT_OPTIONS(.capacity = 10, .fpr = 0.01, .flags = 4);
    perhaps_filter *filter = NULL;
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_create(&options, &filter, &error), PERHAPS_E_OPTION, &error);
    assert_string_equal(error.subject, "flags");
}

static unsigned count_variants(void)
{
    unsigned count = 0;
    FOR_EACH_VARIANT(variant)
    {
        count++;
    }
    return count;
}

int main(int argc, char **argv)
{
    scale = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    cmocka_set_test_filter(argc > 2 ? argv[2] : NULL);
    variant_pattern = argc > 3 ? argv[3] : variant_pattern;
    if (count_variants() == 0) {
        (void)fprintf(stderr, "test_shared: no filter is called '%s'\n", variant_pattern);
        return 2;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_write_is_lost),
        cmocka_unit_test(test_claims_are_won_once),
        cmocka_unit_test(test_residents_are_never_missed),
        cmocka_unit_test(test_snapshots_are_whole),
        cmocka_unit_test(test_alone_it_is_the_same_filter),
        cmocka_unit_test(test_memory_runs_out),
        cmocka_unit_test(test_flags_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
