// SPDX-License-Identifier: MIT
// A guard among threads: resident keys asked for without pause, while others write and filters are made anew.
//
//     test_guard_threads [scale]    more rebuilds
#include "guard_store.h"

static unsigned long scale = 1;

struct actor {
    perhaps_guard *guard;
    struct rows *rows;
    const int *stop;
    uint64_t first;
    uint64_t missed;
    uint64_t asked;
    uint64_t failed;
};

#define RESIDENTS 4000

static void *check_residents(void *context)
{
    struct actor *actor = context;
    static const uint64_t offsets[] = {0, 8, 16, 24, 32};
    while (actor->asked == 0 || __atomic_load_n(actor->stop, __ATOMIC_RELAXED) == 0) {
        for (uint64_t key = 0; key < RESIDENTS; key += 4) {
            uint64_t keys[4] = {key, key + 1, key + 2, key + 3};
            uint8_t out[4] = {0};
            actor->missed += asks(actor->guard, key) != 1;
            actor->missed += perhaps_guard_contains(actor->guard, keys, sizeof keys[0], NULL) != 1;
            actor->failed += perhaps_guard_ask_many(actor->guard, keys, offsets, 4, out, NULL) < 0;
            actor->missed += (uint64_t)(out[0] + out[1] + out[2] + out[3] != 4);
            actor->failed += perhaps_guard_contains(actor->guard, &(uint64_t){50000 + key}, 8, NULL) != 0;
            actor->asked += 6;
        }
    }
    return NULL;
}

// Keys of its own; beside each other, since the locks are shared.
static void *come_and_go(void *context)
{
    struct actor *actor = context;
    uint64_t random = actor->first;
    while (actor->asked == 0 || __atomic_load_n(actor->stop, __ATOMIC_RELAXED) == 0) {
        uint64_t key = actor->first + draw(&random, 2000);
        actor->failed += add_row(actor->guard, actor->rows, key) < 0;
        actor->missed += asks(actor->guard, key) == 0;
        if (draw(&random, 8) != 0) {
            actor->failed += remove_row(actor->guard, actor->rows, key) < 0;
        }
        actor->asked++;
    }
    return NULL;
}

static void *look_at_statistics(void *context)
{
    struct actor *actor = context;
    char text[16384];
    while (actor->asked == 0 || __atomic_load_n(actor->stop, __ATOMIC_RELAXED) == 0) {
        perhaps_guard_statistics statistics = {.size = sizeof statistics};
        size_t written = 0;
        actor->failed += perhaps_guard_stats(actor->guard, &statistics) < 0;
        actor->failed += perhaps_guard_prometheus(&statistics, "a", text, sizeof text, &written, NULL) < 0;
        actor->failed += statistics.perhaps < statistics.confirmed + statistics.refuted;
        actor->asked++;
    }
    return NULL;
}

static void run_turmoil(uint32_t kind, bool snapshot, uint64_t rebuilds)
{
    struct rows *rows = make_rows(snapshot);
    perhaps_guard *guard = guard_of(rows, shared_filter(kind, 20000, 0.02));
    add_rows(guard, rows, 0, RESIDENTS);
    int stop = 0;
    static void *(*const work[])(void *) = {check_residents, come_and_go, come_and_go, look_at_statistics};
    struct actor actors[COUNT(work)];
    pthread_t threads[COUNT(work)];
    for (size_t i = 0; i < COUNT(work); i++) {
        actors[i] = (struct actor){.guard = guard, .rows = rows, .stop = &stop, .first = 10000 * i};
        assert_int_equal(pthread_create(&threads[i], NULL, work[i], &actors[i]), 0);
    }
    for (uint64_t i = 0; i < rebuilds; i++) {
        assert_int_equal(i % 2 == 0 ? perhaps_guard_rebuild(guard, 20000, NULL)
                                    : perhaps_guard_rebuild_start(guard, 20000, NULL),
                         0);
        assert_int_equal(perhaps_guard_rebuild_wait(guard, NULL), 0);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (size_t i = 0; i < COUNT(work); i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(actors[i].missed, 0);
        assert_int_equal(actors[i].failed, 0);
        assert_true(actors[i].asked > 0);
    }
    assert_int_equal(missed(guard, rows), 0);
    perhaps_guard_statistics statistics = statistics_of(guard);
    assert_int_equal(statistics.rebuilds, rebuilds);
    if (snapshot && kind == PERHAPS_KIND_CUCKOO) {
        assert_int_equal((uint64_t)statistics.distinct_estimate, distinct(rows));
    }
    perhaps_guard_free(guard);
    free_rows(rows);
}

static void test_everything_at_once(void **state)
{
    static const uint32_t kinds[] = {PERHAPS_KIND_CUCKOO, PERHAPS_KIND_COUNTING, PERHAPS_KIND_BLOOM,
                                     PERHAPS_KIND_BLOCKED};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        run_turmoil(kinds[i], true, 20 * scale);
        run_turmoil(kinds[i], false, 5 * scale);
    }
}

// More threads than there are slots of their own.
static void *ask_a_little(void *context)
{
    struct actor *actor = context;
    for (uint64_t i = 0; i < 200; i++) {
        actor->missed += asks(actor->guard, i) != 1;
    }
    while (__atomic_load_n(actor->stop, __ATOMIC_RELAXED) == 0) {
        actor->missed += asks(actor->guard, 5) != 1;
        (void)sched_yield();
    }
    return NULL;
}

static void test_more_threads_than_slots(void **state)
{
    enum { MANY = 200 };
    struct rows *rows = make_rows(true);
    perhaps_guard *guard = guard_of(rows, shared_filter(PERHAPS_KIND_BLOOM, 2000, 0.01));
    add_rows(guard, rows, 0, 1000);
    static struct actor actors[MANY];
    static pthread_t threads[MANY];
    int stop = 0;
    for (size_t i = 0; i < MANY; i++) {
        actors[i] = (struct actor){.guard = guard, .stop = &stop};
        assert_int_equal(pthread_create(&threads[i], NULL, ask_a_little, &actors[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(perhaps_guard_rebuild(guard, 0, NULL), 0);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(actors[i].missed, 0);
    }
    assert_true(statistics_of(guard).queries >= UINT64_C(200) * MANY);
    perhaps_guard_free(guard);
    free_rows(rows);
}

// A guard that goes while it is rebuilding.
static void test_free_while_rebuilding(void **state)
{
    struct rows *rows = make_rows(true);
    fill_rows(rows, STORE_KEYS);
    for (int i = 0; i < 10; i++) {
        perhaps_guard *guard = guard_of(rows, shared_filter(PERHAPS_KIND_BLOOM, 100, 0.01));
        assert_int_equal(perhaps_guard_rebuild_start(guard, 0, NULL), 0);
        perhaps_guard_free(guard);
    }
    free_rows(rows);
}

int main(int argc, char **argv)
{
    scale = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_at_once),
        cmocka_unit_test(test_more_threads_than_slots),
        cmocka_unit_test(test_free_while_rebuilding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
