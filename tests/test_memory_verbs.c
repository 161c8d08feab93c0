// SPDX-License-Identifier: MIT
// Each allocation of every verb of every kind fails once: a clean error, nothing left behind, nothing changed; and then, with
// memory, the verb succeeds.
#include <stdlib.h>
#include <string.h>

#include "support_secret.h"

#define KEYS UINT64_C(300)

static const perhaps_options shapes[] = {
    {.kind = PERHAPS_KIND_BLOOM},
    {.kind = PERHAPS_KIND_BLOOM, .flags = PERHAPS_SHARED},
    {.kind = PERHAPS_KIND_BLOOM, .at_capacity = PERHAPS_AT_CAPACITY_GROW},
    {.kind = PERHAPS_KIND_BLOCKED},
    {.kind = PERHAPS_KIND_BLOCKED, .flags = PERHAPS_SHARED | PERHAPS_CLAIM},
    {.kind = PERHAPS_KIND_BLOCKED, .at_capacity = PERHAPS_AT_CAPACITY_GROW, .flags = PERHAPS_SHARED},
    {.kind = PERHAPS_KIND_COUNTING},
    {.kind = PERHAPS_KIND_COUNTING, .policy = PERHAPS_POLICY_CONSERVATIVE},
    {.kind = PERHAPS_KIND_COUNTING, .flags = PERHAPS_SHARED},
    {.kind = PERHAPS_KIND_CUCKOO},
    {.kind = PERHAPS_KIND_CUCKOO, .flags = PERHAPS_SHARED},
    {.kind = PERHAPS_KIND_CUCKOO, .policy = PERHAPS_POLICY_UNIQUE, .at_capacity = PERHAPS_AT_CAPACITY_GROW},
    {.kind = PERHAPS_KIND_CUCKOO, .at_capacity = PERHAPS_AT_CAPACITY_GROW, .flags = PERHAPS_SHARED},
};

struct trial {
    struct support_memory memory;
    perhaps_allocator allocator;
    perhaps_filter *filter; // whose allocations fail
    perhaps_filter *other;  // of the same options, with other keys
    char *path;             // a file of it
};

static perhaps_filter *make(struct trial *trial, size_t shape, perhaps_error *error)
{
    perhaps_options options = shapes[shape];
    options.size = sizeof options;
    options.capacity = options.at_capacity == PERHAPS_AT_CAPACITY_GROW ? 20 : 2 * KEYS;
    options.fpr = 0.01;
    options.allocator = &trial->allocator;
    perhaps_filter *filter = NULL;
    int status = perhaps_create(&options, &filter, error);
    assert_true((status == PERHAPS_OK) == (filter != NULL));
    assert_true(status == PERHAPS_OK || status == PERHAPS_E_MEMORY);
    return filter;
}

// A verb returns its result: 0 or more, or PERHAPS_E_MEMORY.
typedef int verb(struct trial *trial, perhaps_error *error);

static int merge(struct trial *trial, perhaps_error *error)
{
    int status = perhaps_merge(trial->filter, trial->other, error);
    return status == PERHAPS_E_UNSUPPORTED ? PERHAPS_OK : status; // layers
}

static int convert(struct trial *trial, perhaps_error *error)
{
    perhaps_filter *converted = NULL;
    int status = perhaps_convert(trial->filter, PERHAPS_KIND_BLOOM, &trial->allocator, &converted, error);
    perhaps_free(converted);
    return status == PERHAPS_E_UNSUPPORTED ? PERHAPS_OK : status;
}

static int set_metadata(struct trial *trial, perhaps_error *error)
{
    int status = perhaps_set_metadata(trial->filter, "some", 4);
    *error = (perhaps_error){.size = sizeof *error, .code = status, .text = "that call tells no more"};
    return status;
}

static int save(struct trial *trial, perhaps_error *error)
{
    return perhaps_save(trial->filter, trial->path, error);
}

static int open_as(struct trial *trial, uint32_t flags, perhaps_error *error)
{
    const perhaps_load_options options = {.size = sizeof options, .flags = flags, .allocator = &trial->allocator};
    perhaps_filter *opened = NULL;
    perhaps_filter *newer = NULL;
    int status = perhaps_open(trial->path, &options, &opened, error);
    if (status == PERHAPS_OK) {
        assert_int_equal(support_count_present(opened, SUPPORT_WORDS, 0, KEYS), KEYS);
        assert_int_equal(perhaps_reopen(opened, &options, &newer, error), 0);
    }
    perhaps_free(opened);
    return status;
}

static int open_mapped(struct trial *trial, perhaps_error *error)
{
    return open_as(trial, 0, error);
}

static int open_by_touch(struct trial *trial, perhaps_error *error)
{
    return open_as(trial, PERHAPS_OPEN_FIRST_TOUCH, error);
}

static int open_copy(struct trial *trial, perhaps_error *error)
{
    return open_as(trial, PERHAPS_OPEN_COPY, error);
}

static int open_shared(struct trial *trial, perhaps_error *error)
{
    return open_as(trial, PERHAPS_OPEN_COPY | PERHAPS_OPEN_SHARED | PERHAPS_OPEN_CLAIM, error);
}

static verb *const verbs[] = {merge, convert, set_metadata, save, open_mapped, open_by_touch, open_copy, open_shared};

// One verb, with the allocation `fail_at` of it failing. Whether one did.
static bool fails(size_t shape, verb *try, uint64_t fail_at, char *path)
{
    struct trial trial = {.path = path};
    perhaps_error error = SUPPORT_ERROR;
    trial.allocator = support_memory_allocator(&trial.memory);
    trial.filter = make(&trial, shape, &error);
    trial.other = make(&trial, shape, &error);
    support_add_keys(trial.filter, SUPPORT_WORDS, 0, KEYS);
    support_add_keys(trial.other, SUPPORT_WORDS, KEYS, KEYS / 4);
    support_save(trial.filter, path);
    struct support_bytes before = support_encode(trial.filter);
    struct support_bytes file = support_read_file(path);
    uint64_t live = trial.memory.live_blocks;
    trial.memory.fail_at = trial.memory.calls + fail_at;
    int status = try(&trial, &error);
    bool failed = status == PERHAPS_E_MEMORY;
    if (failed) {
        support_assert_failed(status, PERHAPS_E_MEMORY, &error);
        assert_int_equal(trial.memory.live_blocks, live);
        support_assert_unchanged(trial.filter, before);
        struct support_bytes after = support_read_file(path);
        assert_true(support_bytes_equal(file, after));
        free(after.data);
    } else {
        assert_true(status >= 0);
        assert_true(trial.memory.calls < trial.memory.fail_at); // none failed without being told
    }
    free(before.data);
    free(file.data);
    perhaps_free(trial.filter);
    perhaps_free(trial.other);
    assert_true(support_memory_is_clean(&trial.memory));
    return failed;
}

static void test_every_verb_of_every_kind(void **state)
{
    char *path = support_path(state, "filter");
    for (size_t shape = 0; shape < SUPPORT_COUNT(shapes); shape++) {
        for (size_t i = 0; i < SUPPORT_COUNT(verbs); i++) {
            uint64_t fail_at = 1;
            while (fails(shape, verbs[i], fail_at, path)) {
                fail_at++;
            }
            bool allocates = i >= 2; // always: metadata, files
            assert_true(!allocates || fail_at > 1);
        }
    }
    assert_int_equal(support_count_entries(*state), 1);
    free(path);
}

static void test_create_of_every_kind(void **state)
{
    for (size_t shape = 0; shape < SUPPORT_COUNT(shapes); shape++) {
        perhaps_filter *filter = NULL;
        uint64_t fail_at = 0;
        while (filter == NULL) {
            perhaps_error error = SUPPORT_ERROR;
            struct trial trial = {.memory.fail_at = ++fail_at};
            trial.allocator = support_memory_allocator(&trial.memory);
            filter = make(&trial, shape, &error);
            bool made = filter != NULL;
            if (!made) {
                support_assert_failed(error.code, PERHAPS_E_MEMORY, &error);
            }
            perhaps_free(filter);
            assert_true(support_memory_is_clean(&trial.memory));
            filter = NULL;
            if (made) {
                break;
            }
        }
        assert_true(fail_at > 3); // filter, layer, payload
    }
}

// Adding: a key that needs a new layer is refused, and with memory it is taken. No key that was taken is lost.
static void test_growth_of_every_kind(void **state)
{
    for (size_t shape = 0; shape < SUPPORT_COUNT(shapes); shape++) {
        struct trial trial = {0};
        perhaps_error error = SUPPORT_ERROR;
        trial.allocator = support_memory_allocator(&trial.memory);
        trial.filter = make(&trial, shape, &error);
        uint64_t refused = 0;
        for (uint64_t i = 0; i < KEYS; i++) {
            uint8_t key[SUPPORT_KEY_MAX];
            size_t length = support_key(SUPPORT_WORDS, i, key);
            trial.memory.fail_at = trial.memory.calls + 1 + i % 2;
            int status = perhaps_add(trial.filter, key, length);
            if (status == PERHAPS_E_MEMORY) {
                refused++;
                assert_int_equal(support_count_present(trial.filter, SUPPORT_WORDS, 0, i), i);
                trial.memory.fail_at = 0;
                status = perhaps_add(trial.filter, key, length);
            }
            assert_true(status >= 0);
        }
        assert_int_equal(support_count_present(trial.filter, SUPPORT_WORDS, 0, KEYS), KEYS);
        assert_true((refused > 0) == (shapes[shape].at_capacity == PERHAPS_AT_CAPACITY_GROW));
        perhaps_free(trial.filter);
        assert_true(support_memory_is_clean(&trial.memory));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create_of_every_kind),
        cmocka_unit_test(test_growth_of_every_kind),
        cmocka_unit_test_setup_teardown(test_every_verb_of_every_kind, support_make_directory,
                                        support_remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
