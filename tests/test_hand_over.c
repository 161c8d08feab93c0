// SPDX-License-Identifier: MIT
// A filter that takes the place of another in a file with a journal: every file operation fails once, and the process
// is killed before each of them and at random moments, N times of the latter (test_hand_over N). There is always the
// one or the other, whole.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "durable_helpers.h"

#include "support_faults.h"
#include "support_memory.h"

static const perhaps_options shapes[] = {
    {.kind = PERHAPS_KIND_BLOOM, .capacity = 100, .fpr = 0.01},
    {.kind = PERHAPS_KIND_CUCKOO, .capacity = 5000, .fpr = 0.001},
    {.kind = PERHAPS_KIND_COUNTING, .capacity = 300, .fpr = 0.05, .seed = 7},
    {.kind = PERHAPS_KIND_BLOOM, .capacity = 20, .fpr = 0.01, .at_capacity = PERHAPS_AT_CAPACITY_GROW},
};

// A filter of a shape that has keys 1 to `last`.
static perhaps_filter *make(uint64_t shape, uint64_t last)
{
    perhaps_options options = shapes[shape % SUPPORT_COUNT(shapes)];
    options.size = sizeof options;
    perhaps_filter *filter = support_create(&options);
    for (uint64_t key = 1; key <= last; key++) {
        assert_true(perhaps_add(filter, &key, sizeof key) >= 0);
    }
    return filter;
}

static void add(perhaps_filter *filter, uint64_t key)
{
    assert_true(perhaps_add(filter, &key, sizeof key) >= 0);
}

static int hand_over(perhaps_filter *from, perhaps_filter *to)
{
    perhaps_error error = SUPPORT_ERROR;
    int result = perhaps_hand_over_journal(from, to, &error);
    if (result < 0) {
        support_assert_failed(result, result, &error);
    }
    return result;
}

// Readers, and a writer, find exactly this filter.
static void check_file(const char *path, const perhaps_filter *expected)
{
    perhaps_filter *reader = support_open(path, 0);
    support_assert_same(reader, expected);
    perhaps_free(reader);
    perhaps_filter *writer = open_durable(path, 0, 0);
    support_assert_same(writer, expected);
    perhaps_free(writer);
}

static void test_every_shape(void **state)
{
    char *path = support_path(state, "filter");
    perhaps_filter *from = make(0, 0);
    begin(from, path, 0);
    uint64_t id = journal_of(from).file_id;
    for (uint64_t i = 1; i < 3 * SUPPORT_COUNT(shapes); i++) {
        add(from, i);
        perhaps_filter *reader = support_open(path, 0);
        perhaps_filter *newer = NULL;
        perhaps_filter *to = make(i, i);
        assert_int_equal(perhaps_set_position(to, &i, sizeof i), PERHAPS_OK);
        perhaps_journal before = journal_of(from);
        assert_int_equal(hand_over(from, to), PERHAPS_OK);
        perhaps_journal after = journal_of(to);
        assert_int_equal(after.file_id, id);
        assert_int_equal(after.generation, before.generation + 1);
        assert_int_equal(after.folded, before.folded + before.operations);
        assert_int_equal(after.operations, 0);
        assert_true(after.bytes < before.bytes);
        assert_int_equal(journal_of(from).file_id, 0); // and what it is told now reaches no file
        add(from, 1000);
        perhaps_free(from);
        assert_int_equal(perhaps_reopen(reader, NULL, &newer, NULL), 1);
        support_assert_same(newer, to);
        perhaps_free(newer);
        perhaps_free(reader);
        perhaps_free(to);
        to = make(i, i);
        assert_int_equal(perhaps_set_position(to, &i, sizeof i), PERHAPS_OK);
        check_file(path, to);
        perhaps_free(to);
        from = open_durable(path, i % 2 != 0 ? PERHAPS_OPEN_SHARED : 0, 0);
    }
    perhaps_free(from);
    free(path);
}

// Each filter has an allocator of its own, and what goes over from one to the other is given back to the right one.
static void test_allocators(void **state)
{
    char *path = support_path(state, "filter");
    struct support_memory memory[2] = {{0}};
    perhaps_filter *filters[2];
    for (unsigned i = 0; i < 2; i++) {
        perhaps_allocator allocator = support_memory_allocator(&memory[i]);
        filters[i] = support_create(&SUPPORT_OPTIONS(.capacity = 100, .fpr = 0.01, .allocator = &allocator));
    }
    begin(filters[0], path, 0);
    assert_int_equal(hand_over(filters[0], filters[1]), PERHAPS_OK);
    add(filters[1], 1);
    assert_int_equal(perhaps_fold_journal(filters[1], NULL), PERHAPS_OK);
    perhaps_free(filters[1]);
    perhaps_free(filters[0]);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(support_memory_is_clean(&memory[i]));
    }
    free(path);
}

// A size to fold at that was asked for goes over; otherwise it is that of the new filter.
static void test_folding_size(void **state)
{
    for (unsigned asked = 0; asked < 2; asked++) {
        char *path = support_path(state, asked != 0 ? "asked" : "usual");
        perhaps_filter *from = make(0, 0);
        begin(from, path, asked != 0 ? 500 : 0);
        perhaps_filter *to = support_create(&SUPPORT_OPTIONS(.capacity = 20000000, .fpr = 0.01));
        assert_int_equal(hand_over(from, to), PERHAPS_OK);
        assert_int_equal(journal_of(to).limit, asked != 0 ? 500 : support_stats(to).bytes / 8);
        perhaps_free(from);
        perhaps_free(to);
        free(path);
    }
}

static void test_misuse(void **state)
{
    char *path = support_path(state, "filter");
    char *other = support_path(state, "other");
    perhaps_filter *from = make(0, 3);
    perhaps_filter *plain = make(1, 3);
    perhaps_filter *durable = make(2, 3);
    begin(from, path, 0);
    begin(durable, other, 0);
    assert_int_equal(hand_over(NULL, plain), PERHAPS_E_ARGUMENT);
    assert_int_equal(hand_over(from, NULL), PERHAPS_E_ARGUMENT);
    assert_int_equal(hand_over(from, from), PERHAPS_E_ARGUMENT);
    assert_int_equal(hand_over(from, durable), PERHAPS_E_ARGUMENT);
    assert_int_equal(hand_over(plain, plain), PERHAPS_E_UNSUPPORTED);
    perhaps_filter *mapped = support_open(path, 0);
    assert_int_equal(hand_over(from, mapped), PERHAPS_E_READ_ONLY);
    add(from, 4); // it is durable all the same
    perhaps_filter *four = make(0, 4);
    perhaps_free(from);
    check_file(path, four);
    perhaps_free(four);
    perhaps_free(mapped);
    perhaps_free(plain);
    perhaps_free(durable);
    free(other);
    free(path);
}

/* ---------------------------------------------------------------- failures */

static void remove_files(const char *path)
{
    char name[4096];
    (void)snprintf(name, sizeof name, "%s.journal", path);
    (void)unlink(path);
    (void)unlink(name);
}

// From keys 1 to 5 of one shape to 1 to 5 of another. What it returned tells which is there, and that one goes on.
static void fail_once(const char *path, unsigned at, enum effect effect, bool all_after)
{
    perhaps_filter *from = make(0, 0);
    perhaps_filter *to = make(1, 5);
    begin(from, path, 0);
    for (uint64_t key = 1; key <= 5; key++) {
        add(from, key);
    }
    arm(at, effect, EIO);
    fault.all_after = all_after;
    int result = hand_over(from, to);
    disarm();
    assert_true(result == PERHAPS_OK || result == PERHAPS_E_IO);
    assert_int_equal(journal_of(from).file_id != 0, result < 0);
    assert_int_equal(journal_of(to).file_id != 0, result == PERHAPS_OK);
    perhaps_filter *there = result < 0 ? from : to;
    perhaps_filter *reader = support_open(path, 0);
    support_assert_same(reader, there);
    perhaps_free(reader);
    if (at % 2 == 0) {
        add(there, 6);
    }
    perhaps_filter *expected = make(result < 0 ? 0 : 1, at % 2 == 0 ? 6 : 5);
    perhaps_free(from);
    perhaps_free(to);
    check_file(path, expected);
    perhaps_free(expected);
    remove_files(path);
}

static void test_every_failure(void **state)
{
    char *path = support_path(state, "filter");
    static const enum effect effects[] = {FAIL, SHORT, NOTHING};
    for (size_t i = 0; i < 2 * SUPPORT_COUNT(effects); i++) {
        unsigned at = 0;
        do {
            fail_once(path, ++at, effects[i / 2], i % 2 != 0);
        } while (fault.hit != OPERATIONS);
        assert_true(at > 15); // a save and a journal
    }
    free(path);
}

// A disk that is gone when the filter is in place: no change is taken before the rest is made up for, and then all is there.
static void test_disk_gone_behind_the_replacement(void **state)
{
    char *path = support_path(state, "filter");
    perhaps_filter *from = make(0, 0);
    perhaps_filter *to = make(1, 5);
    begin(from, path, 0);
    arm(10, FAIL, EIO); // the directory is opened for flushing
    fault.all_after = true;
    assert_int_equal(hand_over(from, to), PERHAPS_OK);
    assert_int_equal(journal_of(to).system_error, EIO);
    assert_int_equal(perhaps_add(to, "a", 1), PERHAPS_E_IO);
    disarm();
    assert_int_equal(fault.counts[RENAME], 1);
    perhaps_filter *reader = support_open(path, 0);
    support_assert_same(reader, to);
    perhaps_free(reader);
    assert_int_equal(perhaps_add(to, "a", 1), 1);
    reader = support_open(path, 0);
    support_assert_same(reader, to);
    assert_int_equal(journal_of(reader).operations, 1);
    perhaps_free(reader);
    perhaps_free(from);
    perhaps_free(to);
    free(path);
}

/* ---------------------------------------------------------------- kill -9 */

// Adds keys from `number` on, says each when it is acknowledged, and goes over to another filter before every eighth.
static void add_until_killed(const char *path, uint64_t number, uint64_t last, unsigned at, int file)
{
    perhaps_filter *filter = NULL;
    perhaps_journal_options small = {.size = sizeof small, .journal_bytes = 300};
    arm(at, at != 0 ? KILL : NOTHING, 0);
    if (perhaps_open_durable(path, &small, &filter, NULL) < 0) {
        _exit(1);
    }
    for (; number <= last; number++) {
        if (number % 8 == 0) {
            perhaps_filter *to = make(number / 8, number - 1);
            if (perhaps_hand_over_journal(filter, to, NULL) < 0) {
                _exit(1);
            }
            perhaps_free(filter);
            filter = to;
        }
        if (perhaps_add(filter, &number, sizeof number) < 0 || write(file, &number, sizeof number) < 0) {
            _exit(1);
        }
    }
    _exit(0);
}

// Runs a child until it ends, or is killed after some time; *said becomes the last key that it said.
static int run_child(const char *path, uint64_t last, unsigned at, long nanoseconds, uint64_t *said)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        add_until_killed(path, *said + 1, last, at, ends[1]);
    }
    (void)close(ends[1]);
    if (nanoseconds > 0) {
        const struct timespec pause = {.tv_nsec = nanoseconds};
        (void)nanosleep(&pause, NULL);
        (void)kill(child, SIGKILL);
    }
    while (read(ends[0], said, sizeof *said) == (ssize_t)sizeof *said) {
    }
    (void)close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return status;
}

// The file is a filter of one of the shapes, with just the keys up to the last one said, or one more.
static uint64_t check_keys(const char *path, uint64_t said)
{
    perhaps_filter *reader = support_open(path, 0);
    perhaps_statistics found = support_stats(reader);
    perhaps_journal journal = journal_of(reader);
    uint64_t held = journal.folded + journal.operations;
    assert_in_range(held, said, said + 1);
    bool matches = false;
    for (uint64_t shape = held / 8; shape <= (held + 1) / 8;
         shape++) { // it may have gone over just before the next key
        perhaps_filter *expected = make(shape, held);
        perhaps_statistics is = support_stats(expected);
        if (is.kind == found.kind && is.capacity == found.capacity) {
            support_assert_same(reader, expected);
            matches = true;
        }
        perhaps_free(expected);
    }
    assert_true(matches);
    perhaps_free(reader);
    return held;
}

static void begin_file(const char *path)
{
    perhaps_filter *filter = make(0, 0);
    begin(filter, path, 0);
    perhaps_free(filter);
}

static void test_killed_before_every_operation(void **state)
{
    char *path = support_path(state, "filter");
    bool finished = false;
    for (unsigned at = 1; !finished; at++) {
        uint64_t said = 0;
        begin_file(path);
        finished = WIFEXITED(run_child(path, 18, at, 0, &said));
        assert_true(!finished || said == 18);
        uint64_t held = check_keys(path, said);
        perhaps_filter *writer = open_durable(path, 0, 0);
        add(writer, held + 1); // and it goes on
        perhaps_free(writer);
        perhaps_filter *reader = support_open(path, 0);
        assert_int_equal(journal_of(reader).folded + journal_of(reader).operations, held + 1);
        perhaps_free(reader);
        remove_files(path);
    }
    free(path);
}

static unsigned kills = 10;

static void test_killed_at_random_moments(void **state)
{
    char *path = support_path(state, "filter");
    uint64_t random = 31;
    uint64_t done = 0;
    begin_file(path);
    for (unsigned i = 0; i < kills; i++) {
        (void)run_child(path, UINT64_MAX, 0, (long)(1 + support_random(&random) % 30000000), &done);
        done = check_keys(path, done);
        if (done > 2000) { // what is made anew becomes long
            done = 0;
            remove_files(path);
            begin_file(path);
        }
    }
    free(path);
}

#define test_in_directory(test) cmocka_unit_test_setup_teardown(test, support_make_directory, support_remove_directory)

// A killed process loses nothing that was written, flushed or not.
static int flush_nothing(int file)
{
    (void)file;
    return 0;
}

int main(int argc, char **argv)
{
    static struct perhaps__file_operations files;
    files = *perhaps__files;
    files.flush = flush_nothing;
    files.flush_data = flush_nothing;
    perhaps__files = &files;
    kills = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : kills;
    const struct CMUnitTest tests[] = {
        test_in_directory(test_every_shape),
        test_in_directory(test_allocators),
        test_in_directory(test_folding_size),
        test_in_directory(test_misuse),
        test_in_directory(test_every_failure),
        test_in_directory(test_disk_gone_behind_the_replacement),
        test_in_directory(test_killed_before_every_operation),
        test_in_directory(test_killed_at_random_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
