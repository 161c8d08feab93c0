// SPDX-License-Identifier: MIT
// Files that an earlier build wrote: they load, answer as recorded, and are what is written today, byte for byte.
//
//     test_golden FOLDER
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "golden_cases.h"
#include "golden_journals.h"
#include "support_secret.h"

static const char *folder;

static char *golden_path(size_t i, const char *extension)
{
    char *path = support_allocate(4096);
    (void)snprintf(path, 4096, "%s/%s.%s", folder, golden_name(i), extension);
    return path;
}

static bool is_readable(size_t i)
{
    return golden_secret(i) == NULL || SUPPORT_KEYED;
}

static perhaps_filter *open_golden(size_t i, const char *path, uint32_t flags)
{
    const perhaps_load_options options = {.size = sizeof options, .flags = flags, .key = golden_secret(i)};
    perhaps_filter *filter = NULL;
    perhaps_error error = SUPPORT_ERROR;
    if (perhaps_open(path, &options, &filter, &error) != PERHAPS_OK) {
        fail_msg("%s: %s", path, error.text);
    }
    return filter;
}

static void test_built_today_the_bytes_are_the_same(void **state)
{
    for (size_t i = 0; golden_name(i) != NULL; i++) {
        if (!is_readable(i)) {
            continue;
        }
        char *path = golden_path(i, "perhaps");
        struct support_bytes bytes = support_read_file(path);
        perhaps_filter *filter = golden_build(i);
        struct support_bytes today = support_encode(filter);
        if (!support_bytes_equal(bytes, today)) {
            fail_msg("%s: other bytes are written today", golden_name(i));
        }
        perhaps_free(filter);
        free(today.data);
        free(bytes.data);
        free(path);
    }
}

static void assert_answers(const perhaps_filter *filter, size_t i, FILE *answers)
{
    struct golden_key key;
    for (size_t j = 0; golden_key(i, j, &key); j++) {
        char line[256];
        assert_non_null(fgets(line, sizeof line, answers));
        assert_true((line[0] == '+' || line[0] == '-') && line[1] == ' ');
        if (golden_ask(filter, &key) != (line[0] == '+')) {
            fail_msg("%s: answers differently to key %zu: %s", golden_name(i), j, line);
        }
    }
    assert_int_equal(fgetc(answers), EOF);
}

static void test_answers_are_those_recorded(void **state)
{
    static const uint32_t flags[] = {0, PERHAPS_OPEN_COPY};
    for (size_t i = 0; golden_name(i) != NULL; i++) {
        char *path = golden_path(i, "perhaps");
        char *answers_path = golden_path(i, "keys");
        for (size_t j = 0; j < SUPPORT_COUNT(flags) && is_readable(i); j++) {
            perhaps_filter *filter = open_golden(i, path, flags[j]);
            FILE *answers = fopen(answers_path, "r");
            assert_non_null(answers);
            assert_answers(filter, i, answers);
            (void)fclose(answers);
            perhaps_free(filter);
        }
        free(path);
        free(answers_path);
    }
}

static void assert_same_file(const char *name, const char *other)
{
    struct support_bytes a = support_read_file(name);
    struct support_bytes b = support_read_file(other);
    if (!support_bytes_equal(a, b)) {
        fail_msg("%s: other bytes are written today", name);
    }
    free(a.data);
    free(b.data);
}

// Filters with journals: both files are what is written today, and together they are the filter that was.
static void test_journals(void **state)
{
    for (size_t i = 0; golden_journal_name(i) != NULL; i++) {
        char golden[3][4096];
        char today[2][4096];
        static const char *const extensions[] = {"", ".journal", ".whole"};
        for (size_t j = 0; j < 3; j++) {
            (void)snprintf(golden[j], 4096, "%s/journals/%s%s", folder, golden_journal_name(i), extensions[j]);
            (void)snprintf(today[j % 2], 4096, "%s/%s%s", (const char *)*state, golden_journal_name(i),
                           extensions[j % 2]);
        }
        perhaps_filter *filter = golden_journal_build(i, today[0]);
        assert_non_null(filter);
        perhaps_free(filter);
        assert_same_file(golden[0], today[0]);
        assert_same_file(golden[1], today[1]);
        filter = support_open(golden[0], 0);
        struct support_bytes whole = support_read_file(golden[2]);
        support_assert_unchanged(filter, whole);
        free(whole.data);
        perhaps_free(filter);
    }
}

// A file that no case reads would not be tested.
static void test_no_file_is_forgotten(void **state)
{
    size_t count = 0;
    while (golden_name(count) != NULL) {
        count++;
    }
    assert_int_equal(support_count_entries(folder), 2 * count + 1); // and the folder of journals
    char journals[4096];
    (void)snprintf(journals, sizeof journals, "%s/journals", folder);
    count = 0;
    while (golden_journal_name(count) != NULL) {
        count++;
    }
    assert_int_equal(support_count_entries(journals), 3 * count);
}

int main(int argc, char **argv)
{
    folder = argc > 1 ? argv[1] : "golden";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_built_today_the_bytes_are_the_same),
        cmocka_unit_test(test_answers_are_those_recorded),
        cmocka_unit_test_setup_teardown(test_journals, support_make_directory, support_remove_directory),
        cmocka_unit_test(test_no_file_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
