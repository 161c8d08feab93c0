// SPDX-License-Identifier: MIT
// Filters opened by first touch while other threads ask them: a good file is never called damaged.
#include <pthread.h>
#include <stdlib.h>

#include "support.h"

#define ROUNDS 3000

// A thread that asks whichever filter it is given, once.
struct asker {
    const perhaps_filter *filter;
    unsigned given; // how many times there was one
    unsigned asked;
};

static void *ask(void *context)
{
    struct asker *asker = context;
    for (unsigned seen = 0; seen < ROUNDS; seen++) {
        while (__atomic_load_n(&asker->given, __ATOMIC_ACQUIRE) == seen) {
        }
        (void)perhaps_might_contain(asker->filter, "k1", 2);
        __atomic_store_n(&asker->asked, seen + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void give(struct asker *asker, const perhaps_filter *filter)
{
    asker->filter = filter;
    (void)__atomic_add_fetch(&asker->given, 1, __ATOMIC_RELEASE);
}

static void wait_for(const struct asker *asker)
{
    while (__atomic_load_n(&asker->asked, __ATOMIC_ACQUIRE) != asker->given) {
    }
}

// Calls that need all of a filter. Each meets the thread at another moment.
static int use(perhaps_filter *filter, perhaps_filter *heir, unsigned round)
{
    size_t size = 0;
    uint64_t cursor = 0;
    for (volatile unsigned i = 0; i < round % 200; i = i + 1) {
    }
    switch (round % 3) {
    case 0:
        return perhaps_encode(filter, NULL, 0, &size, NULL) == PERHAPS_E_DAMAGED;
    case 1:
        return perhaps_merge(heir, filter, NULL) != PERHAPS_OK;
    default:
        return perhaps_scrub(filter, &cursor, UINT64_MAX, NULL) != PERHAPS_OK;
    }
}

static void test_good_files_are_good(void **state)
{
    char *path = support_path(state, "filter");
    perhaps_filter *filter = support_filter(20000, 0.01, 0);
    assert_int_equal(perhaps_add(filter, "k1", 2), 1);
    support_save(filter, path);
    struct asker asker = {.given = 0};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, ask, &asker), 0);
    unsigned refused = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        perhaps_filter *touched = support_open(path, PERHAPS_OPEN_FIRST_TOUCH);
        give(&asker, touched);
        refused += (unsigned)use(touched, filter, round);
        wait_for(&asker);
        perhaps_free(touched);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(refused, 0);
    perhaps_free(filter);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_good_files_are_good, support_make_directory, support_remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
