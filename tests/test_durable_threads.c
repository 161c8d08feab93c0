// SPDX-License-Identifier: MIT
// Threads that change one durable filter share their flushes; what any of them was told is in the journal, in one order for
// all, while others read, fold, save elsewhere and open the file.
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support.h"

#include "file.h"

#define THREADS 4
#define KEYS SUPPORT_SCALED(3000U)

struct stage {
    perhaps_filter *filter;
    const char *path;
    const char *other;
    uint32_t running; // writers
    uint64_t claims;  // answers of 1 to adds of keys that all threads add
};

struct actor {
    struct stage *stage;
    unsigned number;
    pthread_t thread;
};

static uint64_t hash_of(unsigned thread, unsigned number)
{
    return (thread * UINT64_C(1000003) + number + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

// Keys of its own, of which every fourth goes again, in batches and alone; and some that all threads add.
static void *change(void *context)
{
    struct actor *actor = context;
    struct stage *stage = actor->stage;
    for (unsigned i = 0; i < KEYS; i += 4) {
        uint64_t hashes[4];
        uint8_t out[4];
        for (unsigned j = 0; j < 4; j++) {
            hashes[j] = hash_of(actor->number, i + j);
        }
        assert_int_equal(perhaps_add_many_hash(stage->filter, hashes, 3, out, NULL), PERHAPS_OK);
        assert_true(perhaps_add_hash(stage->filter, hashes[3]) >= 0);
        assert_int_equal(perhaps_might_contain_hash(stage->filter, hashes[1]), 1);
        assert_int_equal(perhaps_remove_hash(stage->filter, hashes[3]), 1);
        int claimed = perhaps_add_hash(stage->filter, hash_of(THREADS, i));
        (void)__atomic_fetch_add(&stage->claims, claimed == 1, __ATOMIC_RELAXED);
    }
    (void)__atomic_fetch_sub(&stage->running, 1, __ATOMIC_RELEASE);
    return NULL;
}

// A reader of the file sees all that had been acknowledged before it opened.
static void *look(void *context)
{
    struct stage *stage = ((struct actor *)context)->stage;
    uint64_t last = 0;
    for (unsigned round = 0; __atomic_load_n(&stage->running, __ATOMIC_ACQUIRE) > 0; round++) {
        perhaps_journal journal = {.size = sizeof journal};
        assert_int_equal(perhaps_journal_of(stage->filter, &journal), PERHAPS_OK);
        uint64_t before = journal.folded + journal.operations;
        perhaps_filter *reader = support_open(stage->path, 0);
        assert_int_equal(perhaps_journal_of(reader, &journal), PERHAPS_OK);
        uint64_t seen = journal.folded + journal.operations;
        assert_true(seen >= before && before >= last);
        last = seen;
        perhaps_free(reader);
        if (round % 3 == 0) {
            assert_int_equal(perhaps_fold_journal(stage->filter, NULL), PERHAPS_OK);
        } else {
            support_save(stage->filter, stage->other);
        }
        (void)sched_yield();
    }
    return NULL;
}

// Slow enough for others to queue meanwhile.
static int flush_slowly(int file)
{
    (void)file;
    const struct timespec pause = {.tv_nsec = 200000};
    (void)nanosleep(&pause, NULL);
    return 0;
}

static int flush_nothing(int file)
{
    (void)file;
    return 0;
}

static void check_keys(const perhaps_filter *filter)
{
    for (unsigned thread = 0; thread < THREADS; thread++) {
        for (unsigned i = 0; i < KEYS; i++) {
            assert_true(i % 4 == 3 || perhaps_might_contain_hash(filter, hash_of(thread, i)) == 1);
        }
    }
}

static void run(struct stage *stage, bool with_reader)
{
    struct actor actors[THREADS + 1];
    unsigned count = THREADS + (with_reader ? 1 : 0);
    stage->running = THREADS;
    for (unsigned i = 0; i < count; i++) {
        actors[i] = (struct actor){.stage = stage, .number = i};
        assert_int_equal(pthread_create(&actors[i].thread, NULL, i < THREADS ? change : look, &actors[i]), 0);
    }
    for (unsigned i = 0; i < count; i++) {
        (void)pthread_join(actors[i].thread, NULL);
    }
}

static void run_kind(void **state, const perhaps_options *options, bool with_reader)
{
    char *path = support_path(state, "filter");
    char *other = support_path(state, "other");
    struct stage stage = {.filter = support_create(options), .path = path, .other = other};
    perhaps_journal_options limit = {.size = sizeof limit, .journal_bytes = with_reader ? 20000 : UINT64_MAX};
    assert_int_equal(perhaps_begin_journal(stage.filter, path, &limit, NULL), PERHAPS_OK);
    run(&stage, with_reader);
    check_keys(stage.filter);
    perhaps_journal journal = {.size = sizeof journal};
    assert_int_equal(perhaps_journal_of(stage.filter, &journal), PERHAPS_OK);
    assert_int_equal(journal.folded + journal.operations, (uint64_t)THREADS * (KEYS / 4) * 6);
    if (!with_reader) { // every call is one record: fewer flushes than calls, because they were shared
        uint64_t calls = (uint64_t)THREADS * (KEYS / 4) * 4;
        assert_true(journal.commits < calls * 3 / 4);
        print_message("%llu calls, %llu flushes\n", (unsigned long long)calls, (unsigned long long)journal.commits);
    }
    assert_in_range(stage.claims, KEYS / 4 * 9 / 10, KEYS / 4); // one add of each, but for false positives
    struct support_bytes bytes = support_encode(stage.filter);
    perhaps_free(stage.filter);
    perhaps_filter *reader = support_open(path, 0);
    support_assert_unchanged(reader, bytes);
    perhaps_free(reader);
    free(bytes.data);
    free(path);
    free(other);
}

static const perhaps_options kinds[] = {
    {.size = sizeof(perhaps_options),
     .kind = PERHAPS_KIND_COUNTING,
     .capacity = 20000,
     .fpr = 0.001,
     .flags = PERHAPS_SHARED},
    {.size = sizeof(perhaps_options),
     .kind = PERHAPS_KIND_CUCKOO,
     .capacity = 20000,
     .fpr = 0.001,
     .flags = PERHAPS_SHARED | PERHAPS_CLAIM},
};

static void with_files(struct perhaps__file_operations *files, int (*flush)(int))
{
    files->flush = flush_nothing;
    files->flush_data = flush;
    perhaps__files = files;
}

static void test_group_commit(void **state)
{
    const struct perhaps__file_operations *before = perhaps__files;
    struct perhaps__file_operations files = *before;
    with_files(&files, flush_slowly);
    run_kind(state, &kinds[0], false);
    perhaps__files = before;
}

static void test_readers_and_foldings(void **state)
{
    const struct perhaps__file_operations *before = perhaps__files;
    struct perhaps__file_operations files = *before;
    with_files(&files, flush_nothing);
    run_kind(state, &kinds[1], true);
    perhaps__files = before;
}

#define test_in_directory(test) cmocka_unit_test_setup_teardown(test, support_make_directory, support_remove_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_in_directory(test_group_commit),
        test_in_directory(test_readers_and_foldings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
