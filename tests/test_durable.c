// SPDX-License-Identifier: MIT
// Filters with a journal: what was done is there when the file is opened again, whatever became of the process, in
// every kind.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "durable_helpers.h"

#include "file.h"
#include "support_format.h"

// Shapes that refuse, grow, count, and do none of that. Small, so that all of it happens.
static const perhaps_options shapes[] = {
    {.kind = PERHAPS_KIND_BLOOM, .capacity = 500, .fpr = 0.01},
    {.kind = PERHAPS_KIND_BLOOM, .capacity = 100, .fpr = 0.01, .at_capacity = PERHAPS_AT_CAPACITY_REFUSE},
    {.kind = PERHAPS_KIND_BLOOM, .capacity = 50, .fpr = 0.01, .at_capacity = PERHAPS_AT_CAPACITY_GROW},
    {.kind = PERHAPS_KIND_BLOCKED, .capacity = 500, .fpr = 0.01},
    {.kind = PERHAPS_KIND_BLOCKED, .capacity = 50, .fpr = 0.01, .at_capacity = PERHAPS_AT_CAPACITY_GROW},
    {.kind = PERHAPS_KIND_COUNTING, .capacity = 300, .fpr = 0.05},
    {.kind = PERHAPS_KIND_COUNTING, .capacity = 300, .fpr = 0.05, .policy = PERHAPS_POLICY_CONSERVATIVE},
    {.kind = PERHAPS_KIND_CUCKOO, .capacity = 200, .fpr = 0.01},
    {.kind = PERHAPS_KIND_CUCKOO, .capacity = 200, .fpr = 0.01, .policy = PERHAPS_POLICY_UNIQUE},
    {.kind = PERHAPS_KIND_CUCKOO, .capacity = 60, .fpr = 0.01, .at_capacity = PERHAPS_AT_CAPACITY_GROW},
    {.kind = PERHAPS_KIND_BLOOM, .capacity = 50, .fpr = 0.01, .hash_source = PERHAPS_HASH_CALLER},
};

static perhaps_filter *make(size_t shape, uint32_t flags)
{
    perhaps_options options = shapes[shape];
    options.size = sizeof options;
    options.flags = flags;
    return support_create(&options);
}

// The same random changes to a durable filter and to one that is not; every answer is the same.
static void change_both(perhaps_filter *durable, perhaps_filter *plain, uint64_t *random, unsigned changes)
{
    uint64_t hashes[40];
    uint8_t out[2][40];
    for (unsigned i = 0; i < changes; i++) {
        unsigned what = (unsigned)(support_random(random) % 64);
        size_t count = what % 4 == 0 ? (size_t)(support_random(random) % 40) : 1;
        for (size_t j = 0; j < count; j++) {
            hashes[j] = support_random(random) % 400 * UINT64_C(0x9e3779b97f4a7c15);
        }
        size_t done[2] = {0, 0};
        int results[2];
        if (what == 63) {
            results[0] = perhaps_clear(durable);
            results[1] = perhaps_clear(plain);
        } else if (what > 44) {
            results[0] = perhaps_remove_many_hash(durable, hashes, count, out[0], &done[0]);
            results[1] = perhaps_remove_many_hash(plain, hashes, count, out[1], &done[1]);
        } else {
            results[0] = perhaps_add_many_hash(durable, hashes, count, out[0], &done[0]);
            results[1] = perhaps_add_many_hash(plain, hashes, count, out[1], &done[1]);
        }
        assert_int_equal(results[0], results[1]);
        assert_int_equal(done[0], done[1]);
        assert_memory_equal(out[0], out[1], done[0]);
    }
    support_assert_same(durable, plain);
}

static void check_readers(const char *path, const perhaps_filter *expected)
{
    static const uint32_t flags[] = {0, PERHAPS_OPEN_COPY};
    for (size_t i = 0; i < SUPPORT_COUNT(flags); i++) {
        perhaps_filter *reader = support_open(path, flags[i]);
        support_assert_same(reader, expected);
        assert_int_equal(perhaps_clear(reader), i == 0 ? PERHAPS_E_READ_ONLY : PERHAPS_OK);
        perhaps_free(reader);
    }
}

// Bit for bit, after any number of openings and foldings, for shared filters as well.
static void test_replay_is_exact(void **state)
{
    char *path = support_path(state, "filter");
    for (size_t shape = 0; shape < SUPPORT_COUNT(shapes); shape++) {
        for (unsigned round = 0; round < 6; round++) {
            uint32_t flags = round % 2 != 0 ? PERHAPS_SHARED : 0;
            uint64_t random = 100 * shape + round;
            uint64_t limit = round < 3 ? 0 : 2000;
            uint64_t folds = 0;
            perhaps_filter *durable = make(shape, flags);
            perhaps_filter *plain = make(shape, flags);
            begin(durable, path, limit);
            for (unsigned i = 0; i < 5; i++) {
                change_both(durable, plain, &random, SUPPORT_SCALED(150U));
                check_readers(path, plain);
                if (i == 3) {
                    assert_int_equal(perhaps_fold_journal(durable, NULL), PERHAPS_OK);
                    assert_int_equal(journal_of(durable).operations, 0);
                    check_readers(path, plain);
                }
                folds += journal_of(durable).folds;
                perhaps_free(durable);
                durable = open_durable(path, flags != 0 ? PERHAPS_OPEN_SHARED : 0, limit);
                support_assert_same(durable, plain);
            }
            assert_int_equal(journal_of(durable).generation, 1 + folds);
            assert_true(SUPPORT_SCALE > 1 || limit == 0 || folds > 5);
            perhaps_free(durable);
            perhaps_free(plain);
            char *journal = support_path(state, "filter.journal");
            assert_int_equal(unlink(path) + unlink(journal), 0);
            free(journal);
        }
    }
    free(path);
}

// Keys as bytes, in batches larger than a record; one write and flush for each.
static void test_batches_share_a_flush(void **state)
{
    enum { COUNT = 150000 };
    char *path = support_path(state, "filter");
    perhaps_filter *filter = support_filter(COUNT, 0.01, 7);
    perhaps_filter *plain = support_filter(COUNT, 0.01, 7);
    begin(filter, path, UINT64_MAX);
    uint64_t *keys = support_allocate(COUNT * sizeof *keys);
    const void **pointers = support_allocate(COUNT * sizeof *pointers);
    size_t *lengths = support_allocate(COUNT * sizeof *lengths);
    for (size_t i = 0; i < COUNT; i++) {
        keys[i] = i;
        pointers[i] = &keys[i];
        lengths[i] = sizeof keys[i];
    }
    size_t done = 0;
    assert_int_equal(perhaps_add_many_pointers(filter, pointers, lengths, COUNT, NULL, &done), PERHAPS_OK);
    assert_int_equal(done, COUNT);
    assert_int_equal(perhaps_add_many_pointers(plain, pointers, lengths, COUNT, NULL, NULL), PERHAPS_OK);
    perhaps_journal journal = journal_of(filter);
    assert_int_equal(journal.commits, 3);
    assert_int_equal(journal.operations, COUNT);
    assert_int_equal(journal.bytes, 64 + 3 * 32 + 8 * COUNT);
    // A key that is none, in the middle: those before it are done.
    pointers[70000] = NULL;
    assert_int_equal(perhaps_add_many_pointers(filter, pointers, lengths, COUNT, NULL, &done), PERHAPS_E_ARGUMENT);
    assert_int_equal(done, 70000);
    assert_int_equal(perhaps_add(filter, "x", 1), perhaps_add(plain, "x", 1));
    perhaps_free(filter);
    filter = support_open(path, 0);
    support_assert_same(filter, plain);
    perhaps_free(filter);
    perhaps_free(plain);
    free(keys);
    free(pointers);
    free(lengths);
    free(path);
}

static void test_reopen_sees_the_journal_grow(void **state)
{
    char *path = support_path(state, "filter");
    perhaps_filter *writer = support_filter(1000, 0.01, 0);
    begin(writer, path, 0);
    perhaps_filter *reader = support_open(path, 0);
    perhaps_filter *newer = NULL;
    assert_int_equal(perhaps_reopen(reader, NULL, &newer, NULL), 0);
    assert_int_equal(perhaps_add(writer, "a", 1), 1);
    assert_int_equal(perhaps_might_contain(reader, "a", 1), 0);
    assert_int_equal(perhaps_reopen(reader, NULL, &newer, NULL), 1);
    assert_int_equal(perhaps_might_contain(newer, "a", 1), 1);
    assert_int_equal(journal_of(newer).operations, 1);
    perhaps_free(reader);
    reader = newer;
    assert_int_equal(perhaps_reopen(reader, NULL, &newer, NULL), 0);
    assert_int_equal(perhaps_fold_journal(writer, NULL), PERHAPS_OK);
    assert_int_equal(perhaps_reopen(reader, NULL, &newer, NULL), 1);
    assert_int_equal(journal_of(newer).operations, 0);
    assert_int_equal(journal_of(newer).generation, 2);
    assert_int_equal(perhaps_reopen(writer, NULL, &newer, NULL), PERHAPS_E_UNSUPPORTED);
    perhaps_free(reader);
    perhaps_free(newer);
    perhaps_free(writer);
    free(path);
}

// What a filter with a journal is elsewhere: whole, and without one.
static void test_copies_are_plain(void **state)
{
    char *path = support_path(state, "filter");
    char *other = support_path(state, "other");
    perhaps_options options = SUPPORT_OPTIONS(.kind = PERHAPS_KIND_COUNTING, .capacity = 100, .fpr = 0.01);
    perhaps_filter *filter = support_create(&options);
    perhaps_filter *plain = support_create(&options);
    begin(filter, path, 0);
    assert_int_equal(perhaps_add(filter, "a", 1), 1);
    assert_int_equal(perhaps_add(plain, "a", 1), 1);
    support_assert_same(filter, plain);
    support_save(filter, other);
    perhaps_filter *copy = support_open(other, 0);
    support_assert_same(copy, plain);
    assert_int_equal(journal_of(copy).file_id, 0);
    perhaps_free(copy);
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_merge(filter, plain, &error), PERHAPS_E_UNSUPPORTED, &error);
    assert_int_equal(perhaps_convert(filter, PERHAPS_KIND_BLOOM, NULL, &copy, NULL), PERHAPS_OK);
    assert_int_equal(journal_of(copy).file_id, 0);
    perhaps_free(copy);
    // Nothing else takes the file's place; a save to it is a folding.
    support_assert_failed(perhaps_save(plain, path, &error), PERHAPS_E_JOURNAL, &error);
    support_assert_failed(perhaps_begin_journal(plain, path, NULL, &error), PERHAPS_E_JOURNAL, &error);
    assert_int_equal(perhaps_begin_journal(filter, other, NULL, &error), PERHAPS_E_ARGUMENT);
    support_save(filter, path);
    assert_int_equal(journal_of(filter).folds, 1);
    assert_int_equal(journal_of(filter).operations, 0);
    // Bytes alone are not all of it.
    struct support_bytes bytes = support_read_file(path);
    support_assert_failed(perhaps_decode(bytes.data, bytes.size, NULL, &copy, &error), PERHAPS_E_JOURNAL, &error);
    free(bytes.data);
    perhaps_free(filter);
    perhaps_free(plain);
    free(path);
    free(other);
}

// Metadata reaches the file when it is folded.
static void test_metadata(void **state)
{
    char *path = support_path(state, "filter");
    perhaps_filter *filter = support_filter(100, 0.01, 0);
    begin(filter, path, 0);
    assert_int_equal(perhaps_set_metadata(filter, "text", 4), PERHAPS_OK);
    for (unsigned folded = 0; folded < 2; folded++) {
        const void *metadata = NULL;
        size_t length = 9;
        perhaps_filter *reader = support_open(path, 0);
        assert_int_equal(perhaps_metadata(reader, &metadata, &length), PERHAPS_OK);
        assert_int_equal(length, folded != 0 ? 4 : 0);
        perhaps_free(reader);
        assert_int_equal(perhaps_fold_journal(filter, NULL), PERHAPS_OK);
    }
    perhaps_free(filter);
    free(path);
}

static void check_position(const perhaps_filter *filter, const void *expected, size_t length)
{
    const void *position = NULL;
    size_t found = 4711;
    assert_int_equal(perhaps_position(filter, &position, &found), PERHAPS_OK);
    assert_int_equal(found, length);
    assert_true(length == 0 || memcmp(position, expected, length) == 0);
}

static void check_readers_position(const char *path, const void *expected, size_t length)
{
    perhaps_filter *reader = support_open(path, 0);
    check_position(reader, expected, length);
    perhaps_free(reader);
    reader = open_durable(path, 0, 0);
    check_position(reader, expected, length);
    perhaps_free(reader);
}

// Positions of every length are there when the call has returned, without folding; one that is none as well, and one
// that a clear drops.
static void test_position(void **state)
{
    char *path = support_path(state, "filter");
    perhaps_filter *filter = support_filter(100, 0.01, 0);
    uint8_t bytes[PERHAPS_POSITION_MAX + 1];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i * 7 + 1);
    }
    begin(filter, path, UINT64_MAX);
    static const size_t lengths[] = {1, 7, 8, 9, 0, 63, 64, 65, PERHAPS_POSITION_MAX - 1, PERHAPS_POSITION_MAX};
    for (size_t i = 0; i < SUPPORT_COUNT(lengths); i++) {
        assert_int_equal(perhaps_add(filter, &i, sizeof i), 1);
        assert_int_equal(perhaps_set_position(filter, bytes, lengths[i]), PERHAPS_OK);
        check_position(filter, bytes, lengths[i]);
        assert_int_equal(journal_of(filter).operations, 2 * (i + 1));
        perhaps_free(filter);
        check_readers_position(path, bytes, lengths[i]);
        filter = open_durable(path, i % 2 != 0 ? PERHAPS_OPEN_SHARED : 0, UINT64_MAX);
    }
    perhaps_journal before = journal_of(filter);
    assert_int_equal(perhaps_set_position(filter, bytes, sizeof bytes), PERHAPS_E_LIMIT);
    assert_int_equal(perhaps_set_position(filter, NULL, 1), PERHAPS_E_ARGUMENT);
    check_position(filter, bytes, PERHAPS_POSITION_MAX);
    assert_int_equal(journal_of(filter).bytes, before.bytes);
    assert_int_equal(perhaps_clear(filter), PERHAPS_OK);
    perhaps_free(filter);
    check_readers_position(path, NULL, 0);
    filter = open_durable(path, 0, 0);
    assert_int_equal(perhaps_set_position(filter, "here", 4), PERHAPS_OK);
    assert_int_equal(perhaps_fold_journal(filter, NULL), PERHAPS_OK);
    assert_int_equal(journal_of(filter).operations, 0);
    assert_int_equal(perhaps_set_position(filter, NULL, 0), PERHAPS_OK);
    perhaps_free(filter);
    check_readers_position(path, NULL, 0);
    free(path);
}

static void test_one_writer(void **state)
{
    char *path = support_path(state, "filter");
    perhaps_filter *filter = support_filter(100, 0.01, 0);
    begin(filter, path, 0);
    perhaps_error error;
    perhaps_appender *appender = NULL;
    for (unsigned i = 0; i < 2; i++) { // also the journal that folding put there
        assert_int_equal(fail_to_open_durable(path, &error), PERHAPS_E_IO);
        assert_int_equal(error.system_error, EWOULDBLOCK);
        assert_int_equal(perhaps_appender_open(path, NULL, &appender, &error), PERHAPS_E_IO);
        assert_int_equal(perhaps_fold_journal(filter, NULL), PERHAPS_OK);
    }
    perhaps_free(filter);
    perhaps_free(open_durable(path, 0, 0));
    free(path);
}

// Adding without looking: what was there stays, and every key is found.
static void test_appender(void **state)
{
    char *path = support_path(state, "filter");
    for (size_t shape = 0; shape < SUPPORT_COUNT(shapes); shape++) {
        perhaps_filter *filter = make(shape, 0);
        perhaps_filter *plain = make(shape, 0);
        begin(filter, path, 0);
        uint64_t random = shape;
        change_both(filter, plain, &random, 40);
        perhaps_free(filter);
        perhaps_appender *appender = NULL;
        perhaps_error error = SUPPORT_ERROR;
        int result = perhaps_appender_open(path, NULL, &appender, &error);
        bool refuses = shapes[shape].kind == PERHAPS_KIND_CUCKOO || shapes[shape].at_capacity != 0;
        if (refuses) {
            support_assert_failed(result, PERHAPS_E_UNSUPPORTED, &error);
            assert_null(appender);
        } else {
            assert_int_equal(result, PERHAPS_OK);
            const uint64_t hashes[] = {1, 2, 3, 1};
            const void *const keys[] = {"a", ""};
            const size_t lengths[] = {1, 0};
            size_t done = 0;
            assert_int_equal(perhaps_appender_add_many_hash(appender, hashes, 4, &done), PERHAPS_OK);
            assert_int_equal(done, 4);
            (void)perhaps_add_many_hash(plain, hashes, 4, NULL, NULL);
            result = perhaps_appender_add_many_pointers(appender, keys, lengths, 2, &done);
            assert_int_equal(result, perhaps_add_many_pointers(plain, keys, lengths, 2, NULL, NULL));
            perhaps_journal journal = {.size = sizeof journal};
            assert_int_equal(perhaps_appender_journal(appender, &journal), PERHAPS_OK);
            assert_int_equal(journal.commits, result == PERHAPS_OK ? 2 : 1);
            assert_true(journal.limit >= 1 << 20);
        }
        perhaps_appender_close(appender);
        check_readers(path, plain);
        perhaps_free(plain);
        char *journal = support_path(state, "filter.journal");
        assert_int_equal(unlink(path) + unlink(journal), 0);
        free(journal);
    }
    perhaps_appender_close(NULL);
    free(path);
}

// A plain filter beside a journal of nobody's has none, and may begin one.
static void test_orphaned_journal(void **state)
{
    char *path = support_path(state, "filter");
    char *name = support_path(state, "filter.journal");
    perhaps_filter *filter = support_filter(100, 0.01, 0);
    support_write_file(name, "anything", 8);
    support_save(filter, path);
    perhaps_free(support_open(path, 0));
    begin(filter, path, 0);
    perhaps_free(filter);
    perhaps_free(open_durable(path, 0, 0));
    free(name);
    free(path);
}

static void test_misuse(void **state)
{
    char *path = support_path(state, "filter");
    perhaps_error error = SUPPORT_ERROR;
    perhaps_filter *filter = support_filter(100, 0.01, 0);
    perhaps_filter *opened = NULL;
    perhaps_appender *appender = NULL;
    perhaps_journal journal = {.size = sizeof journal};
    assert_int_equal(perhaps_begin_journal(NULL, path, NULL, &error), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_begin_journal(filter, NULL, NULL, &error), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_open_durable(NULL, NULL, &opened, &error), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_open_durable(path, NULL, NULL, &error), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_fold_journal(NULL, &error), PERHAPS_E_ARGUMENT);
    support_assert_failed(perhaps_fold_journal(filter, &error), PERHAPS_E_UNSUPPORTED, &error);
    assert_int_equal(perhaps_journal_of(NULL, &journal), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_journal_of(filter, NULL), PERHAPS_E_ARGUMENT);
    journal.size++;
    assert_int_equal(perhaps_journal_of(filter, &journal), PERHAPS_E_OPTION);
    assert_int_equal(perhaps_appender_open(NULL, NULL, &appender, &error), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_appender_open(path, NULL, NULL, &error), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_appender_journal(NULL, &journal), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_appender_add_many_hash(NULL, NULL, 0, NULL), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_appender_add_many_pointers(NULL, NULL, NULL, 0, NULL), PERHAPS_E_ARGUMENT);
    assert_int_equal(fail_to_open_durable(path, &error), PERHAPS_E_IO); // not there
    begin(filter, path, 0);
    perhaps_free(filter);
    static const uint32_t refused[] = {PERHAPS_OPEN_KEYLESS, 1u << 31};
    for (size_t i = 0; i < SUPPORT_COUNT(refused); i++) {
        perhaps_load_options load = {.size = sizeof load, .flags = refused[i]};
        perhaps_journal_options options = {.size = sizeof options, .load = &load};
        support_assert_failed(perhaps_open_durable(path, &options, &opened, &error), PERHAPS_E_OPTION, &error);
    }
    perhaps_journal_options sizeless = {.size = 0};
    support_assert_failed(perhaps_open_durable(path, &sizeless, &opened, &error), PERHAPS_E_OPTION, &error);
    filter = support_open(path, 0);
    support_assert_failed(perhaps_begin_journal(filter, path, NULL, &error), PERHAPS_E_READ_ONLY, &error);
    perhaps_free(filter);
    free(path);
}

// The permissions of the filter are those of its journal; a symbolic link leads to both.
static void test_permissions_and_links(void **state)
{
    char *path = support_path(state, "filter");
    char *link = support_path(state, "link");
    char *name = support_path(state, "filter.journal");
    struct stat status;
    perhaps_filter *filter = support_filter(100, 0.01, 0);
    support_save(filter, path);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink("filter", link), 0);
    begin(filter, link, 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(stat(name, &status), 0);
        assert_int_equal(status.st_mode & 0777, 0640);
        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(status.st_mode & 0777, 0640);
        assert_int_equal(perhaps_fold_journal(filter, NULL), PERHAPS_OK);
    }
    support_save(filter, link); // a folding as well
    assert_int_equal(journal_of(filter).folds, 3);
    assert_int_equal(perhaps_add(filter, "a", 1), 1);
    perhaps_free(filter);
    filter = support_open(link, 0);
    assert_int_equal(perhaps_might_contain(filter, "a", 1), 1);
    perhaps_free(filter);
    free(path);
    free(link);
    free(name);
}

#define test_in_directory(test) cmocka_unit_test_setup_teardown(test, support_make_directory, support_remove_directory)

// What is flushed when is the matter of test_durable_faults; here it would only take time.
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
    files.flush_data = flush_nothing;
    perhaps__files = &files;
    const struct CMUnitTest tests[] = {
        test_in_directory(test_replay_is_exact),
        test_in_directory(test_batches_share_a_flush),
        test_in_directory(test_reopen_sees_the_journal_grow),
        test_in_directory(test_copies_are_plain),
        test_in_directory(test_metadata),
        test_in_directory(test_position),
        test_in_directory(test_one_writer),
        test_in_directory(test_appender),
        test_in_directory(test_orphaned_journal),
        test_in_directory(test_misuse),
        test_in_directory(test_permissions_and_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
