// SPDX-License-Identifier: MIT
// What lies beside a filter that has a journal: journals of other filters and other times, torn ones, and one that is folded while
// it is being opened.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

#include "file.h"
#include "support_format.h"

static perhaps_journal journal_of(const perhaps_filter *filter)
{
    perhaps_journal journal = {.size = sizeof journal};
    assert_int_equal(perhaps_journal_of(filter, &journal), PERHAPS_OK);
    return journal;
}

static void begin(perhaps_filter *filter, const char *path, uint64_t journal_bytes)
{
    perhaps_journal_options options = {.size = sizeof options, .journal_bytes = journal_bytes};
    perhaps_error error = SUPPORT_ERROR;
    int result = perhaps_begin_journal(filter, path, &options, &error);
    if (result < 0) {
        print_message("%s: %s\n", error.subject, error.text);
    }
    assert_int_equal(result, PERHAPS_OK);
}

static perhaps_filter *open_durable(const char *path, uint32_t flags, uint64_t journal_bytes)
{
    perhaps_load_options load = {.size = sizeof load, .flags = flags};
    perhaps_journal_options options = {.size = sizeof options, .journal_bytes = journal_bytes, .load = &load};
    perhaps_error error = SUPPORT_ERROR;
    perhaps_filter *filter = NULL;
    int result = perhaps_open_durable(path, &options, &filter, &error);
    if (result < 0) {
        print_message("%s: %s\n", error.subject, error.text);
    }
    assert_int_equal(result, PERHAPS_OK);
    return filter;
}

static int fail_to_open_durable(const char *path, perhaps_error *error)
{
    perhaps_filter *filter = NULL;
    *error = SUPPORT_ERROR;
    int result = perhaps_open_durable(path, NULL, &filter, error);
    assert_null(filter);
    support_assert_failed(result, result, error);
    return result;
}

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
        test_in_directory(test_folded_while_it_is_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
