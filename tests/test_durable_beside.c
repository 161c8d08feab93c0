// SPDX-License-Identifier: MIT
// What lies beside a filter that has a journal: journals of other filters and other times, torn ones, ones of holes,
// and one that is folded while it is being opened. And what a journal takes from its readers and writers: first touch,
// scrubbing, compacting.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "durable_helpers.h"

#include "file.h"
#include "support_format.h"
#include "support_memory.h"

// Whose journal it is: files and journals of three generations of one filter.
struct generations {
    char *path;
    char *name;
    struct support_bytes journals[3]; // of generations 1 and 2, and 3 with a key in it
    struct support_bytes file;        // of generation 3
};

static struct generations make_generations(void **state)
{
    struct generations made = {.path = support_path(state, "filter"), .name = support_path(state, "filter.journal")};
    perhaps_filter *filter = support_filter(100, 0.01, 0);
    begin(filter, made.path, 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(perhaps_add(filter, &i, sizeof i), 1);
        made.journals[i] = support_read_file(made.name);
        assert_int_equal(i == 2 ? PERHAPS_OK : perhaps_fold_journal(filter, NULL), PERHAPS_OK);
    }
    perhaps_free(filter);
    made.file = support_read_file(made.path);
    return made;
}

static void free_generations(struct generations *made)
{
    for (unsigned i = 0; i < 3; i++) {
        free(made->journals[i].data);
    }
    free(made->file.data);
    free(made->path);
    free(made->name);
}

// Readers and writers refuse it alike.
static void check_refused(const struct generations *made, struct support_bytes journal, const char *text)
{
    perhaps_error error = SUPPORT_ERROR;
    perhaps_filter *opened = NULL;
    support_write_file(made->name, journal.data, journal.size);
    support_assert_failed(perhaps_open(made->path, NULL, &opened, &error), PERHAPS_E_JOURNAL, &error);
    assert_non_null(strstr(error.text, text));
    assert_int_equal(fail_to_open_durable(made->path, &error), PERHAPS_E_JOURNAL);
    assert_non_null(strstr(error.text, text));
    assert_non_null(strstr(error.subject, "filter.journal"));
}

static void test_foreign_journals(void **state)
{
    struct generations made = make_generations(state);
    perhaps_error error = SUPPORT_ERROR;
    perhaps_filter *opened = NULL;
    assert_int_equal(unlink(made.name), 0);
    assert_int_equal(fail_to_open_durable(made.path, &error), PERHAPS_E_JOURNAL);
    assert_non_null(strstr(error.text, "missing"));
    support_assert_failed(perhaps_open(made.path, NULL, &opened, &error), PERHAPS_E_JOURNAL, &error);
    check_refused(&made, made.journals[0], "generation 1"); // two generations old
    check_refused(&made, made.file, "begins with other bytes");
    check_refused(&made, (struct support_bytes){made.file.data, 0}, "begins with other bytes");
    // The crash between folding and a new journal: what is in the old one is in the filter.
    support_write_file(made.name, made.journals[1].data, made.journals[1].size);
    perhaps_free(support_open(made.path, 0));
    perhaps_filter *filter = open_durable(made.path, 0, 0);
    assert_int_equal(journal_of(filter).generation, 3);
    assert_int_equal(journal_of(filter).operations, 0);
    assert_int_equal(perhaps_add(filter, "b", 1), 1);
    perhaps_free(filter);
    assert_int_equal(journal_of(filter = support_open(made.path, 0)).operations, 1);
    perhaps_free(filter);
    free_generations(&made);
}

// Files that were changed under right checksums, so that the journal is another's.
static void test_foreign_files(void **state)
{
    static const struct {
        size_t offset;
        uint64_t value;
        const char *text;
    } cases[] = {
        {144, 4711, "another filter"}, // file id
        {152, 2, "generation 3"},      // an older generation
        {152, 3, "generation 3"},      // the same, but the adds of another past
        {160, 1, "generation 3"},      // folded elsewhere
    };
    struct generations made = make_generations(state);
    for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
        struct support_bytes file = support_copy(made.file);
        format_put(file.data, cases[i].offset, 8, cases[i].value);
        format_put(file.data, 72, 8, 101); // capacity
        format_put_checksum(file.data, (size_t)format_get(file.data, FORMAT_HEADER_SIZE, 8));
        support_write_file(made.path, file.data, file.size);
        check_refused(&made, made.journals[2], cases[i].text);
        free(file.data);
    }
    support_write_file(made.path, made.file.data, made.file.size);
    perhaps_free(open_durable(made.path, 0, 0));
    free_generations(&made);
}

// What a crash leaves of a record is not in the way of the next one.
static void test_torn_end(void **state)
{
    char *path = support_path(state, "filter");
    char *name = support_path(state, "filter.journal");
    perhaps_filter *filter = support_filter(100, 0.01, 0);
    begin(filter, path, 0);
    assert_int_equal(perhaps_add(filter, "a", 1), 1);
    assert_int_equal(perhaps_add(filter, "b", 1), 1);
    perhaps_free(filter);
    struct support_bytes journal = support_read_file(name);
    for (size_t left = 1; left < 40; left++) { // of the second record
        for (unsigned appending = 0; appending < 2; appending++) {
            support_write_file(name, journal.data, journal.size - left);
            const uint64_t hash = 77;
            if (appending != 0) {
                perhaps_appender *appender = NULL;
                assert_int_equal(perhaps_appender_open(path, NULL, &appender, NULL), PERHAPS_OK);
                assert_int_equal(perhaps_appender_add_many_hash(appender, &hash, 1, NULL), PERHAPS_OK);
                perhaps_appender_close(appender);
            } else {
                filter = open_durable(path, 0, 0);
                assert_int_equal(perhaps_add_hash(filter, hash), 1);
                perhaps_free(filter);
            }
            filter = support_open(path, 0);
            assert_int_equal(journal_of(filter).operations, 2);
            assert_int_equal(perhaps_might_contain(filter, "a", 1), 1);
            assert_int_equal(perhaps_might_contain(filter, "b", 1), 0);
            assert_int_equal(perhaps_might_contain_hash(filter, hash), 1);
            perhaps_free(filter);
        }
    }
    free(journal.data);
    free(name);
    free(path);
}

/* ---------------------------------------------------------------- holes */

#define TIB (INT64_C(1) << 40)

// A durable filter of hashes whose journal ends with a full record of the hash 0: half a MiB of zeros, which a copy may
// leave out of the disk.
static uint64_t make_with_zeros(const char *path, const char *name)
{
    perhaps_filter *filter =
        support_create(&SUPPORT_OPTIONS(.capacity = 100, .fpr = 0.01, .hash_source = PERHAPS_HASH_CALLER));
    uint64_t *hashes = support_allocate(65536 * sizeof *hashes);
    memset(hashes, 0, 65536 * sizeof *hashes);
    begin(filter, path, 0);
    assert_int_equal(perhaps_add_hash(filter, 1), 1);
    assert_int_equal(perhaps_add_many_hash(filter, hashes, 65536, NULL, NULL), PERHAPS_OK);
    perhaps_free(filter);
    free(hashes);
    struct support_bytes journal = support_read_file(name);
    assert_int_equal(truncate(name, 0), 0);
    FILE *file = fopen(name, "r+");
    assert_non_null(file);
    assert_int_equal(fwrite(journal.data, 200, 1, file), 1);
    assert_int_equal(fseek(file, (long)journal.size - 8, SEEK_SET), 0);
    assert_int_equal(fwrite(journal.data + journal.size - 8, 8, 1, file), 1);
    assert_int_equal(fclose(file), 0);
    free(journal.data);
    return journal.size;
}

static int open_counted(const char *path, bool durable, struct support_memory *memory, perhaps_filter **filter)
{
    perhaps_allocator allocator = support_memory_allocator(memory);
    perhaps_load_options load = {.size = sizeof load, .allocator = &allocator};
    perhaps_journal_options options = {.size = sizeof options, .load = &load};
    perhaps_error error = SUPPORT_ERROR;
    int result =
        durable ? perhaps_open_durable(path, &options, filter, &error) : perhaps_open(path, &load, filter, &error);
    assert_true(result == PERHAPS_OK || strstr(error.text, "damaged at byte") != NULL);
    return result;
}

static void check_holes(const char *path, bool durable, int expected, uint64_t end)
{
    struct support_memory memory = {0};
    perhaps_filter *filter = NULL;
    assert_int_equal(open_counted(path, durable, &memory, &filter), expected);
    assert_true(memory.largest <= 2 * end);
    if (expected == PERHAPS_OK) {
        assert_int_equal(journal_of(filter).bytes, end);
        assert_int_equal(journal_of(filter).operations, 65537);
        assert_int_equal(perhaps_might_contain_hash(filter, 0), 1);
    }
    perhaps_free(filter);
    assert_true(support_memory_is_clean(&memory));
}

// Holes cost neither memory nor time, wherever they are: in a record, behind the last, or before what is damage because
// of it.
static void test_holes(void **state)
{
    char *path = support_path(state, "filter");
    char *name = support_path(state, "filter.journal");
    uint64_t end = make_with_zeros(path, name);
    check_holes(path, false, PERHAPS_OK, end);
    check_holes(path, true, PERHAPS_OK, end);
    for (unsigned damaged = 2; damaged-- > 0;) { // last without, as a writer cuts the hole off
        assert_int_equal(truncate(name, (off_t)end), 0);
        assert_int_equal(truncate(name, TIB), 0);
        FILE *file = fopen(name, "r+");
        assert_non_null(file);
        assert_int_equal(fseek(file, TIB - 10, SEEK_SET), 0);
        assert_int_equal(fputc(damaged != 0 ? 'x' : '\0', file), damaged != 0 ? 'x' : '\0');
        assert_int_equal(fclose(file), 0);
        check_holes(path, false, damaged != 0 ? PERHAPS_E_DAMAGED : PERHAPS_OK, end);
        check_holes(path, true, damaged != 0 ? PERHAPS_E_DAMAGED : PERHAPS_OK, end);
    }
    struct support_bytes cut = support_read_file(name);
    assert_int_equal(cut.size, end);
    free(cut.data);
    free(name);
    free(path);
}

/* ---------------------------------------------------------------- beside a folding */

static perhaps_filter *folding;
static const struct perhaps__file_operations *usual;

// Before a reader opens the journal, a writer folds it.
static int open_after_folding(const char *path, int flags, mode_t mode)
{
    size_t length = strlen(path);
    if (folding != NULL && length > 8 && strcmp(path + length - 8, ".journal") == 0) {
        perhaps_filter *writer = folding;
        folding = NULL;
        assert_int_equal(perhaps_fold_journal(writer, NULL), PERHAPS_OK);
    }
    return usual->open(path, flags, mode);
}

static void test_folded_while_it_is_opened(void **state)
{
    char *path = support_path(state, "filter");
    perhaps_filter *writer = support_filter(100, 0.01, 0);
    begin(writer, path, 0);
    assert_int_equal(perhaps_add(writer, "a", 1), 1);
    usual = perhaps__files;
    struct perhaps__file_operations files = *usual;
    files.open = open_after_folding;
    perhaps__files = &files;
    folding = writer;
    perhaps_filter *reader = support_open(path, 0);
    perhaps__files = usual;
    assert_null(folding);
    assert_int_equal(journal_of(reader).generation, 2);
    assert_int_equal(perhaps_might_contain(reader, "a", 1), 1);
    perhaps_free(reader);
    perhaps_free(writer);
    free(path);
}

/* ---------------------------------------------------------------- first touch */

#define KEYS UINT64_C(2000)

// What readers are given besides the file: several chunks of one layer each, and one that grows.
static const perhaps_options touched_shapes[] = {
    {.kind = PERHAPS_KIND_BLOOM, .fpr = 0.01, .bytes = 5 << 19},
    {.kind = PERHAPS_KIND_BLOCKED, .fpr = 0.01, .bytes = 5 << 19},
    {.kind = PERHAPS_KIND_COUNTING, .fpr = 0.01, .bytes = 5 << 19},
    {.kind = PERHAPS_KIND_CUCKOO, .fpr = 0.001, .bytes = 5 << 19},
    {.kind = PERHAPS_KIND_CUCKOO,
     .fpr = 0.01,
     .capacity = 100,
     .at_capacity = PERHAPS_AT_CAPACITY_GROW,
     .policy = PERHAPS_POLICY_MULTISET},
};

// Half of the keys in the file, half of them in the journal.
static perhaps_filter *begin_touched(size_t shape, const char *path)
{
    perhaps_options options = touched_shapes[shape];
    options.size = sizeof options;
    perhaps_filter *filter = support_create(&options);
    support_add_keys(filter, SUPPORT_WORDS, 0, KEYS / 2);
    begin(filter, path, 0);
    support_add_keys(filter, SUPPORT_WORDS, KEYS / 2, KEYS / 2);
    return filter;
}

// A reader that is no view of its file any more has no chunks that could be called damaged, and says so.
static void check_touched(const char *path, const perhaps_filter *writer)
{
    perhaps_filter *reader = support_open(path, PERHAPS_OPEN_FIRST_TOUCH);
    perhaps_statistics statistics = support_stats(reader);
    assert_int_equal(statistics.chunks, 0);
    assert_int_equal(statistics.recorded, 0);
    assert_int_equal(journal_of(reader).operations, KEYS / 2);
    for (unsigned round = 0; round < 2; round++) { // before scrubbing, and after
        assert_int_equal(support_count_present(reader, SUPPORT_WORDS, 0, KEYS), KEYS);
        assert_int_equal(support_count_present(reader, SUPPORT_WORDS, SUPPORT_ABSENT, KEYS),
                         support_count_present(writer, SUPPORT_WORDS, SUPPORT_ABSENT, KEYS));
        uint64_t cursor = 0;
        perhaps_error error = SUPPORT_ERROR;
        support_assert_failed(perhaps_scrub(reader, &cursor, 1, &error), PERHAPS_E_UNSUPPORTED, &error);
        assert_int_equal(cursor, 0);
    }
    assert_int_equal(support_stats(reader).damaged_answers, 0);
    support_assert_same(reader, writer);
    perhaps_free(reader);
}

// Damage is found when the file is opened, with records in the journal and without.
static void check_damaged(const char *path)
{
    struct support_bytes bytes = support_read_file(path);
    bytes.data[bytes.size - 100] ^= 1; // in the last chunk
    support_write_file(path, bytes.data, bytes.size);
    const perhaps_load_options touch = {.size = sizeof touch, .flags = PERHAPS_OPEN_FIRST_TOUCH};
    perhaps_filter *reader = NULL;
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_open(path, &touch, &reader, &error), PERHAPS_E_DAMAGED, &error);
    assert_null(reader);
    free(bytes.data);
}

static void test_first_touch_of_what_has_a_journal(void **state)
{
    char *path = support_path(state, "filter");
    char *name = support_path(state, "filter.journal");
    for (size_t shape = 0; shape < SUPPORT_COUNT(touched_shapes); shape++) {
        for (unsigned folded = 0; folded < 2; folded++) {
            perhaps_filter *writer = begin_touched(shape, path);
            check_touched(path, writer);
            assert_int_equal(folded != 0 ? perhaps_fold_journal(writer, NULL) : PERHAPS_OK, PERHAPS_OK);
            perhaps_free(writer);
            check_damaged(path);
            assert_int_equal(unlink(path) + unlink(name), 0);
        }
    }
    free(name);
    free(path);
}

// The journal knows keys; compacting moves what it knows nothing of.
static void test_no_compacting_beside_a_journal(void **state)
{
    char *path = support_path(state, "filter");
    char *name = support_path(state, "filter.journal");
    perhaps_filter *filter = begin_touched(4, path);
    for (uint64_t i = 0; i < KEYS - 10; i++) { // so that there is much to do
        uint8_t key[SUPPORT_KEY_MAX];
        assert_int_equal(perhaps_remove(filter, key, support_key(SUPPORT_WORDS, i, key)), 1);
    }
    assert_true(support_stats(filter).layers > 1);
    struct support_bytes before[] = {support_encode(filter), support_read_file(path), support_read_file(name)};
    perhaps_compaction result = {.size = sizeof result, .layers = 4711};
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_compact(filter, 0, &result, &error), PERHAPS_E_UNSUPPORTED, &error);
    assert_non_null(strstr(error.text, "journal"));
    assert_int_equal(result.layers, 4711);
    support_assert_unchanged(filter, before[0]);
    struct support_bytes after[] = {support_encode(filter), support_read_file(path), support_read_file(name)};
    for (size_t i = 0; i < SUPPORT_COUNT(before); i++) {
        assert_true(support_bytes_equal(before[i], after[i]));
        free(before[i].data);
        free(after[i].data);
    }
    perhaps_free(filter);
    free(name);
    free(path);
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
        test_in_directory(test_foreign_journals),
        test_in_directory(test_foreign_files),
        test_in_directory(test_torn_end),
        test_in_directory(test_holes),
        test_in_directory(test_folded_while_it_is_opened),
        test_in_directory(test_first_touch_of_what_has_a_journal),
        test_in_directory(test_no_compacting_beside_a_journal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
