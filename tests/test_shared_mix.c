// SPDX-License-Identifier: MIT
// Calls of every sort from several threads on one filter, each kind, fixed and growing: every call succeeds, no resident key
// is missed, and what is written of the filter at any time is opened again. Also run under the thread sanitizer.
//
//     test_shared_mix [scale]    more calls
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support_shared.h"

static unsigned long scale = 1;

#define KEYS 3000
#define RESIDENTS (KEYS / 10)
#define ROOM (1 << 20) // more than any of the filters encodes to

struct caller {
    struct worker base;
    const struct variant *variant;
    const char *path; // of a file of its own, or NULL
    bool clears;      // some thread does so now and then, and nothing is resident
    uint8_t *bytes;
    uint64_t random;
};

static bool is_refused(int result)
{
    return result == PERHAPS_E_FULL || result == PERHAPS_E_COPIES;
}

// Decoded or opened it is a filter, with all that is resident.
static void expect_whole(struct caller *caller, int status, perhaps_filter *copy)
{
    caller->base.failed += status != PERHAPS_OK;
    if (status == PERHAPS_OK && !caller->clears) {
        caller->base.missed += count_missing(copy, RESIDENT, RESIDENTS);
    }
}

static void merge_what_is_encoded(struct caller *caller)
{
    perhaps_filter *filter = caller->base.filter;
    perhaps_filter *copy = NULL;
    size_t size = 0;
    caller->base.failed += perhaps_encode(filter, caller->bytes, ROOM, &size, NULL) != PERHAPS_OK;
    expect_whole(caller, perhaps_decode(caller->bytes, size, NULL, &copy, NULL), copy);
    int merged = perhaps_merge(filter, copy, NULL);
    caller->base.failed +=
        merged < 0 && merged != (grows(caller->variant) ? PERHAPS_E_UNSUPPORTED : 0) && !is_refused(merged);
    perhaps_free(copy);
}

static void open_what_is_saved(struct caller *caller)
{
    perhaps_filter *copy = NULL;
    caller->base.failed += perhaps_save(caller->base.filter, caller->path, NULL) != PERHAPS_OK;
    expect_whole(caller, perhaps_open(caller->path, NULL, &copy, NULL), copy);
    perhaps_free(copy);
}

// A key of this thread's own, as removing what others have added would take it from them.
static void add_and_remove(struct caller *caller)
{
    perhaps_filter *filter = caller->base.filter;
    uint64_t own = ((uint64_t)caller->base.number + 1) << 32;
    uint64_t hash = hash_of(own + support_random(&caller->random) % KEYS);
    int added = perhaps_add_hash(filter, hash);
    caller->base.failed += added < 0 && !is_refused(added);
    if (!caller->variant->removes) {
        caller->base.failed += perhaps_remove_hash(filter, hash) != PERHAPS_E_UNSUPPORTED;
    } else if (added >= 0) {
        int removed = perhaps_remove_hash(filter, hash);
        caller->base.failed += removed != 1 && !(caller->clears && removed == 0);
    }
}

static void ask(struct caller *caller, uint64_t what)
{
    perhaps_filter *filter = caller->base.filter;
    uint64_t hash = hash_of(support_random(&caller->random) % KEYS);
    uint64_t resident = hash_of(RESIDENT + support_random(&caller->random) % RESIDENTS);
    caller->base.failed += perhaps_might_contain_hash(filter, hash) < 0;
    caller->base.failed += perhaps_might_contain_times_hash(filter, hash, what % 4) < 0;
    caller->base.missed += !caller->clears && perhaps_might_contain_hash(filter, resident) != 1;
}

static void look(struct caller *caller)
{
    perhaps_statistics s = {.size = sizeof s};
    caller->base.failed += perhaps_stats(caller->base.filter, &s) != PERHAPS_OK;
    caller->base.failed += perhaps_stats_of_layer(caller->base.filter, 0, &s) != PERHAPS_OK;
}

static void call(struct caller *caller, uint64_t what)
{
    perhaps_filter *filter = caller->base.filter;
    if (what == 0) {
        merge_what_is_encoded(caller);
    } else if (what == 1 && caller->clears) {
        caller->base.failed += perhaps_clear(filter) != PERHAPS_OK;
    } else if (what < 4) {
        look(caller);
    } else if (what == 4) {
        caller->base.failed += perhaps_set_metadata(filter, caller->bytes, what) != PERHAPS_OK;
    } else if (what < 24) {
        int result = perhaps_add_hash(filter, hash_of(support_random(&caller->random) % KEYS));
        caller->base.failed += result < 0 && !is_refused(result);
    } else if (what < 40) {
        add_and_remove(caller);
    } else {
        ask(caller, what);
    }
}

// Each call must succeed, whatever the others do. A save waits for the disk: one in the middle.
static void *do_everything(void *context)
{
    struct caller *caller = context;
    caller->bytes = malloc(ROOM);
    memset(caller->bytes, 0, ROOM);
    for (uint64_t i = 0; i < caller->base.keys; i++) {
        call(caller, support_random(&caller->random) % 64);
        if (caller->path != NULL && i == caller->base.keys / 2) {
            open_what_is_saved(caller);
        }
    }
    free(caller->bytes);
    return NULL;
}

static void run(void **state, const struct variant *variant, perhaps_filter *filter, unsigned count, bool clears)
{
    struct caller callers[MOST_THREADS];
    pthread_t threads[MOST_THREADS];
    char *path = support_path(state, "beside");
    for (unsigned i = 0; i < count; i++) {
        callers[i] = (struct caller){
            .base = {.filter = filter, .number = i, .keys = SUPPORT_SCALED(6000 * scale) / count},
            .variant = variant,
            .path = i == 0 ? path : NULL,
            .clears = clears,
            .random = i,
        };
    }
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, do_everything, &callers[i]), 0);
    }
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(callers[i].base.failed, 0);
        assert_int_equal(callers[i].base.missed, 0);
    }
    free(path);
}

// What is left is whole, and takes keys.
static void assert_is_whole(perhaps_filter *filter, uint64_t residents)
{
    assert_int_equal(count_missing(filter, RESIDENT, residents), 0);
    struct support_bytes bytes = support_encode(filter);
    perhaps_filter *copy = support_decode(bytes.data, bytes.size);
    assert_int_equal(count_missing(copy, RESIDENT, residents), 0);
    support_assert_same(filter, copy);
    perhaps_free(copy);
    free(bytes.data);
}

static void mix(void **state, bool clears)
{
    static const uint32_t flags[] = {PERHAPS_SHARED, PERHAPS_SHARED | PERHAPS_CLAIM};
    static const unsigned threads[] = {2, 3, 16};
    FOR_EACH_VARIANT(variant)
    {
        for (size_t i = clears; i < SUPPORT_COUNT(flags) * SUPPORT_COUNT(threads); i += 1 + clears) {
            perhaps_filter *filter = make(variant, KEYS, flags[i % 2]);
            add_alone(filter, RESIDENT, clears ? 0 : RESIDENTS);
            run(state, variant, filter, threads[i / 2], clears);
            assert_is_whole(filter, clears ? 0 : RESIDENTS);
            perhaps_free(filter);
        }
    }
}

// Merges double what is counted until it can grow no more.
static void test_every_mix(void **state)
{
    mix(state, false);
}

static void test_every_mix_and_clear(void **state)
{
    mix(state, true);
}

int main(int argc, char **argv)
{
    scale = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_mix),
        cmocka_unit_test(test_every_mix_and_clear),
    };
    return cmocka_run_group_tests(tests, support_make_directory, support_remove_directory);
}
