// SPDX-License-Identifier: MIT
// Opening and saving against the real file system. Faults that it does not have of itself are in test_file_faults.c.
//
//     test_file --answer FILE   not a test: the other process, which prints a digest of its answers
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

static perhaps_filter *example(void)
{
    perhaps_filter *filter = support_filter(1000, 0.01, 8);
    support_add_keys(filter, SUPPORT_URLS, 0, 1000);
    assert_int_equal(perhaps_set_metadata(filter, "here", 4), PERHAPS_OK);
    return filter;
}

static void assert_file(const char *path, const perhaps_filter *expected)
{
    struct support_bytes bytes = support_read_file(path);
    support_assert_unchanged(expected, bytes);
    free(bytes.data);
}

static mode_t mode_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 07777;
}

static void assert_cannot_open(const char *path, int code, int system_error, const char *word)
{
    static const uint32_t flags[] = {0, PERHAPS_OPEN_COPY};
    for (size_t i = 0; i < SUPPORT_COUNT(flags); i++) {
        struct support_memory memory = {0};
        perhaps_allocator allocator = support_memory_allocator(&memory);
        perhaps_load_options options = {.size = sizeof options, .flags = flags[i], .allocator = &allocator};
        perhaps_filter *filter = NULL;
        perhaps_error error = SUPPORT_ERROR;
        support_assert_failed(perhaps_open(path, &options, &filter, &error), code, &error);
        assert_null(filter);
        assert_int_equal(error.system_error, system_error);
        assert_string_equal(error.subject, path);
        if (strstr(error.text, word) == NULL) {
            fail_msg("\"%s\" does not name \"%s\"", error.text, word);
        }
        assert_true(support_memory_is_clean(&memory));
    }
}

static void assert_cannot_save(const perhaps_filter *filter, const char *path, int system_error)
{
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_save(filter, path, &error), PERHAPS_E_IO, &error);
    assert_string_equal(error.subject, path);
    assert_int_equal(error.system_error, system_error);
    assert_non_null(strstr(error.text, strerror(system_error)));
}

static void test_save_and_open(void **state)
{
    perhaps_filter *filter = example();
    char *path = support_path(state, "filter");
    support_save(filter, path);
    assert_file(path, filter);
    assert_int_equal(support_count_entries(*state), 1); // no temporary
    static const uint32_t flags[] = {0, PERHAPS_OPEN_COPY};
    for (size_t i = 0; i < SUPPORT_COUNT(flags); i++) {
        perhaps_filter *opened = support_open(path, flags[i]);
        support_assert_same(opened, filter);
        assert_int_equal(support_count_present(opened, SUPPORT_URLS, 0, 1000), 1000);
        assert_int_equal(support_count_present(opened, SUPPORT_URLS, 0, 200000),
                         support_count_present(filter, SUPPORT_URLS, 0, 200000));
        perhaps_free(opened);
    }
    free(path);
    perhaps_free(filter);
}

// A copy can be changed, in memory; the file is what it was until it is saved.
static void test_copy_can_be_changed(void **state)
{
    perhaps_filter *filter = example();
    char *path = support_path(state, "filter");
    support_save(filter, path);
    perhaps_filter *copy = support_open(path, PERHAPS_OPEN_COPY);
    support_add_keys(copy, SUPPORT_WORDS, 0, 100);
    support_add_keys(filter, SUPPORT_WORDS, 0, 100);
    support_assert_same(copy, filter);
    perhaps_filter *again = support_open(path, 0);
    assert_in_range(support_count_present(again, SUPPORT_WORDS, 0, 100), 0, 10);
    support_save(copy, path);
    assert_file(path, filter);
    assert_in_range(support_count_present(again, SUPPORT_WORDS, 0, 100), 0, 10); // stays what it was
    perhaps_free(again);
    perhaps_free(copy);
    perhaps_free(filter);
    free(path);
}

static void test_open_filter_outlives_its_file(void **state)
{
    perhaps_filter *filter = example();
    char *path = support_path(state, "filter");
    support_save(filter, path);
    perhaps_filter *opened = support_open(path, 0);
    support_save(opened, path); // over the file that it maps
    assert_file(path, filter);
    assert_int_equal(unlink(path), 0);
    support_assert_same(opened, filter);
    perhaps_free(opened);
    perhaps_free(filter);
    free(path);
}

static void test_larger_and_smaller_files_are_replaced_whole(void **state)
{
    char *path = support_path(state, "filter");
    static const uint64_t capacities[] = {10, 2000000, 100, 300000, 1};
    for (size_t i = 0; i < SUPPORT_COUNT(capacities); i++) {
        perhaps_filter *filter = support_filter(capacities[i], 0.01, i);
        support_add_keys(filter, SUPPORT_INTEGERS, 0, 20);
        support_save(filter, path);
        assert_file(path, filter);
        perhaps_free(filter);
    }
    free(path);
}

static void test_permissions(void **state)
{
    static const mode_t masks[] = {0, 022, 077, 027, 0777};
    static const mode_t kept[] = {0644, 0600, 0640, 0664, 0444, 0755};
    perhaps_filter *filter = example();
    char *path = support_path(state, "filter");
    mode_t before = umask(0);
    for (size_t i = 0; i < SUPPORT_COUNT(masks); i++) {
        umask(masks[i]);
        support_save(filter, path);
        assert_int_equal(mode_of(path), 0666 & ~masks[i]);
        assert_int_equal(unlink(path), 0);
    }
    support_save(filter, path);
    for (size_t i = 0; i < SUPPORT_COUNT(kept); i++) {
        umask(kept[i] & 077);
        assert_int_equal(chmod(path, kept[i]), 0);
        support_save(filter, path);
        assert_int_equal(mode_of(path), kept[i]);
    }
    umask(before);
    perhaps_free(filter);
    free(path);
}

static void test_symbolic_links(void **state)
{
    perhaps_filter *filter = example();
    perhaps_filter *other = support_filter(10, 0.1, 0);
    char *folder = support_path(state, "folder");
    char *target = support_path(state, "folder/target");
    char *link = support_path(state, "link");
    char *chain = support_path(state, "chain");
    assert_int_equal(mkdir(folder, 0700), 0);
    support_save(other, target);
    assert_int_equal(symlink("folder/target", link), 0);
    assert_int_equal(symlink("link", chain), 0);
    support_save(filter, chain);
    struct stat status;
    assert_true(lstat(link, &status) == 0 && S_ISLNK(status.st_mode));
    assert_true(lstat(chain, &status) == 0 && S_ISLNK(status.st_mode));
    assert_true(lstat(target, &status) == 0 && S_ISREG(status.st_mode));
    // A link that leads nowhere is neither followed nor replaced.
    char *dangling = support_path(state, "dangling");
    assert_int_equal(symlink("folder/nothing", dangling), 0);
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(perhaps_save(filter, dangling, &error), PERHAPS_E_IO);
    assert_true(lstat(dangling, &status) == 0 && S_ISLNK(status.st_mode));
    assert_int_equal(unlink(dangling), 0);
    free(dangling);
    assert_file(target, filter);
    assert_int_equal(support_count_entries(folder), 1);
    assert_int_equal(support_count_entries(*state), 3);
    perhaps_filter *opened = support_open(chain, 0);
    support_assert_same(opened, filter);
    perhaps_free(opened);
    assert_int_equal(unlink(target), 0);
    assert_int_equal(rmdir(folder), 0);
    perhaps_free(filter);
    perhaps_free(other);
    free(folder);
    free(target);
    free(link);
    free(chain);
}

static void test_relative_paths(void **state)
{
    perhaps_filter *filter = example();
    char *before = getcwd(NULL, 0);
    assert_int_equal(chdir(*state), 0);
    support_save(filter, "name");
    support_save(filter, "./other");
    assert_file("name", filter);
    assert_file("other", filter);
    assert_int_equal(support_count_entries("."), 2);
    assert_int_equal(chdir(before), 0);
    free(before);
    perhaps_free(filter);
}

static void test_what_is_no_filter(void **state)
{
    char *path = support_path(state, "thing");
    assert_cannot_open(path, PERHAPS_E_IO, ENOENT, "cannot be opened: No such file");
    support_write_file(path, "", 0);
    assert_cannot_open(path, PERHAPS_E_NOT_A_FILTER, 0, "empty");
    support_write_file(path, "#!/bin/sh\n", 10);
    assert_cannot_open(path, PERHAPS_E_NOT_A_FILTER, 0, "not a perhaps filter");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    (void)alarm(30); // it must not wait for a writer: then the process ends here
    assert_cannot_open(path, PERHAPS_E_NOT_A_FILTER, 0, "not a regular file");
    (void)alarm(0);
    assert_int_equal(unlink(path), 0);
    assert_cannot_open(*state, PERHAPS_E_NOT_A_FILTER, 0, "a directory");
    assert_cannot_open("/dev/null", PERHAPS_E_NOT_A_FILTER, 0, "not a regular file");
    assert_cannot_open("/dev/zero", PERHAPS_E_NOT_A_FILTER, 0, "not a regular file");
    assert_cannot_open("", PERHAPS_E_IO, ENOENT, "opened");
    assert_int_equal(symlink("thing", path), 0);
    assert_cannot_open(path, PERHAPS_E_IO, ELOOP, "opened");
    free(path);
}

// Through a file the same damage is found as through perhaps_decode(), and the error names the file.
static void test_damaged_files(void **state)
{
    perhaps_filter *filter = example();
    char *path = support_path(state, "filter");
    struct support_bytes bytes = support_encode(filter);
    for (size_t i = 0; i < bytes.size; i += i < 400 ? 7 : 101) {
        bytes.data[i] ^= 4;
        support_write_file(path, bytes.data, bytes.size);
        assert_cannot_open(path, i < 8 ? PERHAPS_E_NOT_A_FILTER : PERHAPS_E_DAMAGED, 0, i < 8 ? "not" : "damaged");
        bytes.data[i] ^= 4;
    }
    for (size_t size = 1; size < bytes.size; size += size < 400 ? 13 : 97) {
        support_write_file(path, bytes.data, size);
        assert_cannot_open(path, size < 8 ? PERHAPS_E_NOT_A_FILTER : PERHAPS_E_DAMAGED, 0, "");
    }
    free(bytes.data);
    free(path);
    perhaps_free(filter);
}

static void test_places_that_cannot_be_written(void **state)
{
    perhaps_filter *filter = example();
    char *missing = support_path(state, "missing/filter");
    char *slash = support_path(state, "missing/");
    char *fifo = support_path(state, "fifo");
    char name[400];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    char *longer = support_path(state, name);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_cannot_save(filter, missing, ENOENT);
    assert_cannot_save(filter, slash, ENOENT);
    assert_cannot_save(filter, "", ENOENT);
    assert_cannot_save(filter, "/dev/null/filter", ENOTDIR);
    assert_cannot_save(filter, *state, EISDIR);
    assert_cannot_save(filter, fifo, EINVAL);
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_save(filter, longer, &error), PERHAPS_E_IO, &error); // the subject is cut
    assert_int_equal(error.system_error, ENAMETOOLONG);
    assert_int_equal(support_count_entries(*state), 1); // the FIFO, and no temporary
    support_assert_failed(perhaps_save(NULL, fifo, &error), PERHAPS_E_ARGUMENT, &error);
    support_assert_failed(perhaps_save(filter, NULL, &error), PERHAPS_E_ARGUMENT, &error);
    perhaps_filter *opened = NULL;
    support_assert_failed(perhaps_open(NULL, NULL, &opened, &error), PERHAPS_E_ARGUMENT, &error);
    support_assert_failed(perhaps_open(fifo, NULL, NULL, &error), PERHAPS_E_ARGUMENT, &error);
    assert_null(opened);
    free(missing);
    free(slash);
    free(fifo);
    free(longer);
    perhaps_free(filter);
}

// ---- in a process of its own

// Runs a check there; the test fails when it returns anything but 0.
static void assert_in_child(int (*check)(const char *path), const char *path)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(check(path));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

// Root may read and write everything, so it becomes somebody else first.
static int become_nobody(void)
{
    return geteuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0) ? 0 : -1;
}

static int check_forbidden(const char *path)
{
    perhaps_filter *filter = NULL;
    perhaps_error error = SUPPORT_ERROR;
    if (become_nobody() != 0) {
        return 1;
    }
    if (perhaps_open(path, NULL, &filter, &error) != PERHAPS_E_IO || error.system_error != EACCES || filter != NULL) {
        return 2;
    }
    const perhaps_options options = SUPPORT_OPTIONS(.capacity = 10, .fpr = 0.1);
    if (perhaps_create(&options, &filter, &error) != PERHAPS_OK) {
        return 3;
    }
    int result = perhaps_save(filter, path, &error);
    perhaps_free(filter);
    return result == PERHAPS_E_IO && error.system_error == EACCES && strcmp(error.subject, path) == 0 ? 0 : 4;
}

static void test_forbidden_files(void **state)
{
    perhaps_filter *filter = example();
    char *path = support_path(state, "filter");
    support_save(filter, path);
    assert_int_equal(chmod(path, 0), 0);
    assert_int_equal(chmod(*state, 0555), 0);
    assert_in_child(check_forbidden, path);
    assert_int_equal(chmod(*state, 0), 0);
    assert_in_child(check_forbidden, path);
    assert_int_equal(chmod(*state, 0700), 0);
    assert_int_equal(chmod(path, 0600), 0);
    assert_file(path, filter);
    assert_int_equal(support_count_entries(*state), 1);
    perhaps_free(filter);
    free(path);
}

// The kernel's own short write: up to the limit it takes a part, then nothing.
static int check_no_room(const char *path)
{
    const struct rlimit limit = {50000, 50000};
    if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || setrlimit(RLIMIT_FSIZE, &limit) != 0) {
        return 1;
    }
    perhaps_filter *filter = NULL;
    perhaps_error error = SUPPORT_ERROR;
    const perhaps_options options = SUPPORT_OPTIONS(.capacity = 100000, .fpr = 0.01);
    if (perhaps_create(&options, &filter, &error) != PERHAPS_OK) {
        return 2;
    }
    int result = perhaps_save(filter, path, &error);
    perhaps_free(filter);
    return result == PERHAPS_E_IO && error.system_error == EFBIG && strcmp(error.subject, path) == 0 ? 0 : 3;
}

static void test_no_room(void **state)
{
    perhaps_filter *filter = example();
    char *path = support_path(state, "filter");
    support_save(filter, path);
    assert_in_child(check_no_room, path);
    assert_file(path, filter);
    assert_int_equal(support_count_entries(*state), 1);
    perhaps_free(filter);
    free(path);
}

// A digest of the answers to many keys, present and absent ones.
static uint64_t digest_of_answers(const perhaps_filter *filter)
{
    uint64_t digest = 0;
    uint8_t key[SUPPORT_KEY_MAX];
    for (uint64_t i = 0; i < 50000; i++) {
        int answer = perhaps_might_contain(filter, key, support_key(SUPPORT_URLS, i, key));
        digest = digest * 31 + (uint64_t)(answer + 7);
    }
    return digest;
}

static int answer(const char *path)
{
    perhaps_filter *filter = NULL;
    if (perhaps_open(path, NULL, &filter, NULL) != PERHAPS_OK) {
        return 2;
    }
    uint64_t digest = digest_of_answers(filter);
    perhaps_free(filter);
    return write(STDOUT_FILENO, &digest, sizeof digest) == (ssize_t)sizeof digest ? 0 : 2;
}

// A new process image: other addresses, another process id, nothing inherited but the file.
static void test_another_process_answers_the_same(void **state)
{
    perhaps_filter *filter = example();
    char *path = support_path(state, "filter");
    support_save(filter, path);
    int channel[2];
    assert_int_equal(pipe(channel), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)dup2(channel[1], STDOUT_FILENO);
        execl("/proc/self/exe", "test_file", "--answer", path, (char *)NULL);
        _exit(3);
    }
    close(channel[1]);
    uint64_t digest = 0;
    assert_int_equal(read(channel[0], &digest, sizeof digest), sizeof digest);
    close(channel[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(digest == digest_of_answers(filter));
    perhaps_free(filter);
    free(path);
}

#define test_in_directory(test) cmocka_unit_test_setup_teardown(test, support_make_directory, support_remove_directory)

// ---- opening again

static void test_reopening(void **state)
{
    static const uint32_t flags[] = {0, PERHAPS_OPEN_COPY};
    char *path = support_path(state, "reopened.perhaps");
    for (size_t i = 0; i < SUPPORT_COUNT(flags); i++) {
        perhaps_load_options options = {.size = sizeof options, .flags = flags[i]};
        perhaps_filter *made = support_filter(100, 0.01, 1);
        support_save(made, path);
        perhaps_filter *old = support_open(path, flags[i]);
        perhaps_filter *newer = NULL;
        assert_int_equal(perhaps_reopen(old, &options, &newer, NULL), 0);
        assert_null(newer);
        support_add_keys(made, SUPPORT_WORDS, 0, 50);
        support_save(made, path);
        assert_int_equal(perhaps_reopen(old, &options, &newer, NULL), 1);
        support_assert_same(newer, made);
        assert_int_equal(support_stats(old).adds, 0); // as it was
        perhaps_filter *again = NULL;
        assert_int_equal(perhaps_reopen(newer, &options, &again, NULL), 0);
        assert_int_equal(perhaps_reopen(old, &options, &again, NULL), 1); // still behind
        perhaps_free(again);
        perhaps_free(old);
        perhaps_free(newer);
        perhaps_free(made);
    }
    free(path);
}

static void test_reopening_what_is_not_there(void **state)
{
    char *path = support_path(state, "gone.perhaps");
    perhaps_filter *made = support_filter(100, 0.01, 1);
    perhaps_filter *newer = NULL;
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_reopen(made, NULL, &newer, &error), PERHAPS_E_UNSUPPORTED, &error);
    support_save(made, path);
    perhaps_filter *old = support_open(path, 0);
    support_write_file(path, "other", 5);
    support_assert_failed(perhaps_reopen(old, NULL, &newer, &error), PERHAPS_E_NOT_A_FILTER, &error);
    assert_int_equal(unlink(path), 0);
    support_assert_failed(perhaps_reopen(old, NULL, &newer, &error), PERHAPS_E_IO, &error);
    assert_string_equal(error.subject, path);
    assert_null(newer);
    assert_int_equal(perhaps_reopen(NULL, NULL, &newer, NULL), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_reopen(old, NULL, NULL, NULL), PERHAPS_E_ARGUMENT);
    perhaps_free(old);
    perhaps_free(made);
    free(path);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--answer") == 0) {
        return answer(argv[2]);
    }
    const struct CMUnitTest tests[] = {
        test_in_directory(test_save_and_open),
        test_in_directory(test_copy_can_be_changed),
        test_in_directory(test_open_filter_outlives_its_file),
        test_in_directory(test_larger_and_smaller_files_are_replaced_whole),
        test_in_directory(test_permissions),
        test_in_directory(test_symbolic_links),
        test_in_directory(test_relative_paths),
        test_in_directory(test_what_is_no_filter),
        test_in_directory(test_damaged_files),
        test_in_directory(test_places_that_cannot_be_written),
        test_in_directory(test_forbidden_files),
        test_in_directory(test_no_room),
        test_in_directory(test_reopening),
        test_in_directory(test_reopening_what_is_not_there),
        test_in_directory(test_another_process_answers_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
