// SPDX-License-Identifier: MIT
// Each allocation of every verb of every kind fails once: a clean error, nothing left behind, nothing changed; and
// then, with memory, the verb succeeds.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support_secret.h"

#include "file.h"

#define KEYS UINT64_C(300)

#define KEYED(...)                                                                                                     \
    {                                                                                                                  \
        .hash_source = PERHAPS_HASH_SIPHASH, .key = support_secret, __VA_ARGS__                                        \
    }

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
    {.kind = PERHAPS_KIND_CUCKOO, .policy = PERHAPS_POLICY_MULTISET, .at_capacity = PERHAPS_AT_CAPACITY_GROW},
    KEYED(.kind = PERHAPS_KIND_BLOOM),
    KEYED(.kind = PERHAPS_KIND_BLOCKED, .at_capacity = PERHAPS_AT_CAPACITY_GROW),
    KEYED(.kind = PERHAPS_KIND_COUNTING, .flags = PERHAPS_SHARED),
    KEYED(.kind = PERHAPS_KIND_CUCKOO, .policy = PERHAPS_POLICY_MULTISET, .at_capacity = PERHAPS_AT_CAPACITY_GROW),
};

// Builds without libsodium make none of the keyed ones, which are the last.
#define KEYED_SHAPES 4

static size_t count_shapes(void)
{
    return SUPPORT_COUNT(shapes) - (SUPPORT_KEYED ? 0 : KEYED_SHAPES);
}

static bool is_keyed(size_t shape)
{
    return shapes[shape].hash_source == PERHAPS_HASH_SIPHASH;
}

struct trial {
    struct support_memory memory;
    perhaps_allocator allocator;
    perhaps_filter *filter; // whose allocations fail
    perhaps_filter *other;  // of the same options, with other keys
    const uint8_t *key;     // of both, or NULL
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

// What kinds and shapes cannot do is not the matter here.
static int unless_unsupported(int status)
{
    return status == PERHAPS_E_UNSUPPORTED ? PERHAPS_OK : status;
}

// These calls tell a code and no more.
static int tell(int status, perhaps_error *error)
{
    *error = (perhaps_error){.size = sizeof *error, .code = status, .text = "that call tells no more"};
    return status;
}

static int merge(struct trial *trial, perhaps_error *error)
{
    return unless_unsupported(perhaps_merge(trial->filter, trial->other, error)); // layers
}

static int convert(struct trial *trial, perhaps_error *error)
{
    perhaps_filter *converted = NULL;
    int status = perhaps_convert(trial->filter, PERHAPS_KIND_BLOOM, &trial->allocator, &converted, error);
    perhaps_free(converted);
    return unless_unsupported(status);
}

static int set_metadata(struct trial *trial, perhaps_error *error)
{
    return tell(perhaps_set_metadata(trial->filter, "some", 4), error);
}

// Nearly all keys: layers and slots become empty.
static int remove_keys(struct trial *trial, perhaps_error *error)
{
    int status = PERHAPS_OK;
    for (uint64_t i = 0; i < KEYS - 10 && status >= 0; i++) {
        uint8_t key[SUPPORT_KEY_MAX];
        status = unless_unsupported(perhaps_remove(trial->filter, key, support_key(SUPPORT_WORDS, i, key)));
    }
    return tell(status, error);
}

static int clear(struct trial *trial, perhaps_error *error)
{
    int status = perhaps_clear(trial->filter);
    assert_true(status < 0 || support_stats(trial->filter).set_bits == 0);
    return tell(status, error);
}

static int compact(struct trial *trial, perhaps_error *error)
{
    uint64_t fail_at = trial->memory.fail_at - trial->memory.calls;
    trial->memory.fail_at = 0;
    int status = remove_keys(trial, error); // there must be something to do
    trial->memory.fail_at = trial->memory.calls + fail_at;
    if (status < 0) {
        return status;
    }
    perhaps_compaction result = {.size = sizeof result};
    status = perhaps_compact(trial->filter, 0, &result, error);
    bool removes = support_stats(trial->filter).policy == PERHAPS_POLICY_MULTISET;
    assert_true(status != PERHAPS_OK || !removes || result.dropped > 0 || result.layers == 1);
    return unless_unsupported(status);
}

static int save(struct trial *trial, perhaps_error *error)
{
    return perhaps_save(trial->filter, trial->path, error);
}

static perhaps_load_options loading(const struct trial *trial, uint32_t flags)
{
    return (perhaps_load_options){
        .size = sizeof(perhaps_load_options), .flags = flags, .allocator = &trial->allocator, .key = trial->key};
}

static int open_as(struct trial *trial, uint32_t flags, perhaps_error *error)
{
    const perhaps_load_options options = loading(trial, flags);
    perhaps_filter *opened = NULL;
    perhaps_filter *newer = NULL;
    int status = perhaps_open(trial->path, &options, &opened, error);
    assert_true((status == PERHAPS_OK) == (opened != NULL));
    if (status == PERHAPS_OK) {
        assert_int_equal(support_count_present(opened, SUPPORT_WORDS, 0, KEYS), KEYS);
        assert_int_equal(perhaps_reopen(opened, &options, &newer, error), 0);
    }
    perhaps_free(opened);
    return status;
}

// With memory: what the verb itself is about comes after.
static perhaps_filter *open_before(struct trial *trial, uint32_t flags)
{
    const perhaps_load_options options = loading(trial, flags);
    uint64_t fail_at = trial->memory.fail_at - trial->memory.calls;
    perhaps_filter *opened = NULL;
    trial->memory.fail_at = 0;
    assert_int_equal(perhaps_open(trial->path, &options, &opened, NULL), PERHAPS_OK);
    trial->memory.fail_at = trial->memory.calls + fail_at;
    return opened;
}

// The same bytes in another file.
static void replace_file(const char *path)
{
    char other[4096];
    assert_in_range(snprintf(other, sizeof other, "%s.other", path), 1, sizeof other - 1);
    struct support_bytes bytes = support_read_file(path);
    support_write_file(other, bytes.data, bytes.size);
    assert_int_equal(rename(other, path), 0);
    free(bytes.data);
}

// A failure leaves the older one in use; a key that is not given anew comes from it.
static int reopen_as(struct trial *trial, uint32_t flags, perhaps_error *error)
{
    perhaps_filter *older = open_before(trial, flags);
    perhaps_filter *newer = NULL;
    perhaps_load_options options = loading(trial, flags);
    options.key = NULL;
    replace_file(trial->path);
    int status = perhaps_reopen(older, &options, &newer, error);
    assert_true(status == PERHAPS_E_MEMORY || status == 1);
    assert_true((status == 1) == (newer != NULL));
    assert_int_equal(support_count_present(older, SUPPORT_WORDS, 0, KEYS), KEYS);
    if (newer != NULL) {
        assert_int_equal(support_count_present(newer, SUPPORT_WORDS, 0, KEYS), KEYS);
    }
    perhaps_free(newer);
    perhaps_free(older);
    return status;
}

static int reopen_mapped(struct trial *trial, perhaps_error *error)
{
    return reopen_as(trial, 0, error);
}

static int reopen_by_touch(struct trial *trial, perhaps_error *error)
{
    return reopen_as(trial, PERHAPS_OPEN_FIRST_TOUCH, error);
}

static int reopen_copy(struct trial *trial, perhaps_error *error)
{
    return reopen_as(trial, PERHAPS_OPEN_COPY, error);
}

// Asking by first touch, and scrubbing.
static int scrub(struct trial *trial, perhaps_error *error)
{
    perhaps_filter *opened = open_before(trial, PERHAPS_OPEN_FIRST_TOUCH);
    uint64_t cursor = 0;
    assert_int_equal(support_count_present(opened, SUPPORT_WORDS, 0, KEYS), KEYS);
    int status = perhaps_scrub(opened, &cursor, UINT64_MAX, error);
    assert_int_equal(status, 0);
    assert_int_equal(support_stats(opened).chunks_verified, support_stats(opened).chunks);
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

// Whether a verb takes memory, in every shape.
enum needs { NEVER, SOMETIMES, ALWAYS };

static const struct {
    verb *try;
    enum needs needs;
} verbs[] = {
    {merge, SOMETIMES},      {convert, SOMETIMES},  {set_metadata, ALWAYS},    {save, ALWAYS},
    {open_mapped, ALWAYS},   {open_copy, ALWAYS},   {open_by_touch, ALWAYS},   {open_shared, ALWAYS},
    {reopen_mapped, ALWAYS}, {reopen_copy, ALWAYS}, {reopen_by_touch, ALWAYS}, {scrub, NEVER},
    {remove_keys, NEVER},    {clear, NEVER},        {compact, NEVER},
};

// One verb, with the allocation `fail_at` of it failing. Whether one did.
static bool fails(size_t shape, verb *try, uint64_t fail_at, char *path)
{
    struct trial trial = {.path = path, .key = is_keyed(shape) ? support_secret : NULL};
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
    for (size_t shape = 0; shape < count_shapes(); shape++) {
        for (size_t i = 0; i < SUPPORT_COUNT(verbs); i++) {
            uint64_t fail_at = 1;
            while (fails(shape, verbs[i].try, fail_at, path)) {
                fail_at++;
            }
            assert_true(verbs[i].needs != ALWAYS || fail_at > 1);
            assert_true(verbs[i].needs != NEVER || fail_at == 1);
        }
    }
    assert_int_equal(support_count_entries(*state), 1);
    free(path);
}

static void test_create_of_every_kind(void **state)
{
    for (size_t shape = 0; shape < count_shapes(); shape++) {
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
    for (size_t shape = 0; shape < count_shapes(); shape++) {
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

// What is flushed when is the matter of test_file_faults; here it would only take time.
static int flush_nothing(int file)
{
    (void)file;
    return 0;
}

int main(void)
{
    static struct perhaps__file_operations files;
    files = *perhaps__files;
    files.flush = flush_nothing;
    perhaps__files = &files;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create_of_every_kind),
        cmocka_unit_test(test_growth_of_every_kind),
        cmocka_unit_test_setup_teardown(test_every_verb_of_every_kind, support_make_directory,
                                        support_remove_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
