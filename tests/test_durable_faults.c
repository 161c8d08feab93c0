// SPDX-License-Identifier: MIT
// Every file operation of a durable filter fails once, in every way that it can; the process is killed before each of
// them and at random moments, N times of the latter (test_durable_faults N). What was acknowledged is there afterwards,
// exactly.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

#include "support_faults.h"

// A killed process loses nothing that was written, flushed or not; what is flushed when is told by the order of
// operations. So flushing would only take time, of which random moments have some.
static struct perhaps__file_operations unflushed;

static int flush_nothing(int file)
{
    (void)file;
    return 0;
}

static void flush(bool really)
{
    static const struct perhaps__file_operations *real;
    real = real != NULL ? real : perhaps__files;
    unflushed = *real;
    unflushed.flush = really ? real->flush : flush_nothing;
    unflushed.flush_data = really ? real->flush_data : flush_nothing;
    perhaps__files = &unflushed;
}

/* ---------------------------------------------------------------- a story */

// What happens to a filter, step by step. Each step is done by one call, so that it is done or is not.
#define STEPS 24

static int do_step(perhaps_filter *filter, unsigned step)
{
    uint64_t hashes[6];
    for (unsigned i = 0; i < 6; i++) {
        hashes[i] = (step * 6 + i) % 40 * UINT64_C(0x9e3779b97f4a7c15);
    }
    if (step == 13) {
        return perhaps_clear(filter);
    }
    if (step % 5 == 2) {
        return perhaps_set_position(filter, hashes, step % 4 * 11);
    }
    if (step % 5 == 4) {
        int result = perhaps_remove_hash(filter, (step - 1) % 7 * 6 * UINT64_C(0x9e3779b97f4a7c15));
        return result < 0 ? result : 0;
    }
    return perhaps_add_many_hash(filter, hashes, step % 6 + 1, NULL, NULL);
}

struct story {
    char *path;
    char *directory;
    struct support_bytes after[STEPS + 1]; // so many steps
    size_t descriptors;
};

static perhaps_filter *make_filter(void)
{
    return support_create(&SUPPORT_OPTIONS(.kind = PERHAPS_KIND_COUNTING, .capacity = 60, .fpr = 0.05));
}

static struct story make_story(void **state)
{
    struct story story = {.path = support_path(state, "filter"), .directory = *state};
    perhaps_filter *filter = make_filter();
    story.after[0] = support_encode(filter);
    for (unsigned step = 0; step < STEPS; step++) {
        assert_int_equal(do_step(filter, step), PERHAPS_OK);
        story.after[step + 1] = support_encode(filter);
    }
    perhaps_free(filter);
    story.descriptors = support_count_entries("/proc/self/fd");
    return story;
}

static void free_story(struct story *story)
{
    assert_int_equal(support_count_entries("/proc/self/fd"), story->descriptors); // every file was closed
    for (unsigned i = 0; i <= STEPS; i++) {
        free(story->after[i].data);
    }
    free(story->path);
}

static void remove_files(const struct story *story)
{
    char name[4096];
    (void)snprintf(name, sizeof name, "%s.journal", story->path);
    (void)unlink(story->path);
    (void)unlink(name);
    assert_int_equal(support_count_entries(story->directory), 0); // nothing else was left
}

// Folds when the journal has some records, so that it happens in the middle of a step.
static const perhaps_journal_options options = {.size = sizeof options, .journal_bytes = 400};

/* ---------------------------------------------------------------- the order of operations */

static void check_order(int (*call)(perhaps_filter *), const enum operation *expected, unsigned count, void **state)
{
    char *path = support_path(state, "filter");
    for (unsigned i = 0; i <= count; i++) {
        perhaps_filter *filter = make_filter();
        char *name = support_path(state, "filter.journal");
        assert_int_equal(perhaps_begin_journal(filter, path, NULL, NULL), PERHAPS_OK);
        arm(i + 1, FAIL, EINTR); // goes on after writes and after closing; what fails before is seen in its turn
        (void)call(filter);
        disarm();
        assert_int_equal(fault.hit, i < count ? expected[i] : OPERATIONS);
        perhaps_free(filter);
        (void)unlink(path);
        (void)unlink(name);
        free(name);
    }
    free(path);
}

static int add_one(perhaps_filter *filter)
{
    return perhaps_add(filter, "a", 1);
}

static int fold(perhaps_filter *filter)
{
    return perhaps_fold_journal(filter, NULL);
}

// The promise, in one place: a record is flushed before the call returns; the filter is flushed, put into place, and
// its directory flushed, before the journal is replaced, likewise.
static void test_order_of_operations(void **state)
{
    static const enum operation add[] = {WRITE, FLUSH_DATA};
    static const enum operation folding[] = {OPEN,  LOCK,  STAT,   SET_MODE, WRITE, WRITE, FLUSH, RENAME,
                                             CLOSE, OPEN,  FLUSH,  CLOSE,    OPEN,  LOCK,  STAT,  SET_MODE,
                                             WRITE, FLUSH, RENAME, CLOSE,    OPEN,  FLUSH, CLOSE};
    static const struct {
        int (*call)(perhaps_filter *);
        const enum operation *order;
        unsigned count;
    } cases[] = {{add_one, add, SUPPORT_COUNT(add)}, {fold, folding, SUPPORT_COUNT(folding)}};
    for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
        check_order(cases[i].call, cases[i].order, cases[i].count, state);
    }
}

/* ---------------------------------------------------------------- failures */

// All steps, on a filter that is not durable where that failed to begin. A step that fails is tried again, as users do;
// how many failed.
static unsigned tell(const struct story *story, perhaps_filter *filter)
{
    unsigned failed = 0;
    for (unsigned step = 0; step < STEPS; step++) {
        int result = do_step(filter, step);
        if (result < 0) {
            assert_int_equal(result, PERHAPS_E_IO);
            support_assert_unchanged(filter, story->after[step]);
            failed++;
            assert_int_equal(do_step(filter, step), PERHAPS_OK);
        }
        support_assert_unchanged(filter, story->after[step + 1]);
    }
    return failed;
}

static void check_files(const struct story *story, struct support_bytes expected)
{
    perhaps_filter *reader = support_open(story->path, 0);
    support_assert_unchanged(reader, expected);
    perhaps_free(reader);
    perhaps_error error = SUPPORT_ERROR;
    perhaps_filter *writer = NULL;
    assert_int_equal(perhaps_open_durable(story->path, &options, &writer, &error), PERHAPS_OK);
    support_assert_unchanged(writer, expected);
    perhaps_free(writer);
}

static void test_every_failure(void **state)
{
    static const struct {
        enum effect effect;
        int reason;
    } effects[] = {{FAIL, EIO}, {FAIL, ENOSPC}, {FAIL, EINTR}, {SHORT, 0}, {NOTHING, 0}};
    struct story story = make_story(state);
    for (size_t i = 0; i < SUPPORT_COUNT(effects); i++) {
        fault.hit = OPEN;
        for (unsigned at = 1; fault.hit != OPERATIONS; at++) {
            perhaps_filter *filter = make_filter();
            perhaps_error error = SUPPORT_ERROR;
            arm(at, effects[i].effect, effects[i].reason);
            int result = perhaps_begin_journal(filter, story.path, &options, &error);
            if (result < 0) { // the fault is spent
                support_assert_failed(result, PERHAPS_E_IO, &error);
                bool replaced = strstr(error.text, "though it was replaced") != NULL;
                disarm();
                if (replaced) {
                    check_files(&story, story.after[0]);
                }
                remove_files(&story);
                enum operation hit = fault.hit;
                arm(0, FAIL, 0);
                fault.hit = hit;
                assert_int_equal(perhaps_begin_journal(filter, story.path, &options, &error), PERHAPS_OK);
            }
            unsigned failed = tell(&story, filter);
            perhaps_free(filter);
            disarm();
            bool appending = fault.hit == WRITE || fault.hit == FLUSH_DATA;
            assert_true(failed <= (effects[i].effect != SHORT && appending ? 1 : 0) || result == PERHAPS_OK);
            check_files(&story, story.after[STEPS]);
            remove_files(&story);
        }
    }
    free_story(&story);
}

// A save removes what dead processes and failed saves left in its folder.
static void save_elsewhere(void **state)
{
    perhaps_filter *cleaner = make_filter();
    char *other = support_path(state, "other");
    support_save(cleaner, other);
    (void)unlink(other);
    free(other);
    perhaps_free(cleaner);
}

// The disk is gone from some operation on: the steps that were done until then are there when it is back. The one that
// failed may be, too, if it could neither be written nor cut off.
static void test_disk_gone(void **state)
{
    struct story story = make_story(state);
    fault.hit = OPEN;
    for (unsigned at = 1; fault.hit != OPERATIONS; at++) {
        perhaps_filter *filter = make_filter();
        assert_int_equal(perhaps_begin_journal(filter, story.path, &options, NULL), PERHAPS_OK);
        arm(at, FAIL, EIO);
        fault.all_after = true;
        unsigned step = 0;
        while (step < STEPS && do_step(filter, step) == PERHAPS_OK) {
            step++;
        }
        if (step < STEPS) { // further ones fail, too, and change nothing
            assert_int_equal(do_step(filter, step), PERHAPS_E_IO);
            assert_int_equal(do_step(filter, step), PERHAPS_E_IO);
        }
        support_assert_unchanged(filter, story.after[step]);
        disarm();
        perhaps_filter *reader = support_open(story.path, 0);
        struct support_bytes found = support_encode(reader);
        assert_true(support_bytes_equal(found, story.after[step]) ||
                    (step < STEPS && support_bytes_equal(found, story.after[step + 1])));
        free(found.data);
        perhaps_free(reader);
        if (step < STEPS && at % 2 == 0) { // it comes back while the filter is open
            while (step < STEPS) {
                assert_int_equal(do_step(filter, step), PERHAPS_OK);
                step++;
            }
            perhaps_free(filter);
            check_files(&story, story.after[STEPS]);
        } else {
            perhaps_free(filter);
        }
        save_elsewhere(state); // and remove what could not be removed
        remove_files(&story);
    }
    free_story(&story);
}

// What was written of a step that failed is cut off; when it cannot be, the next step folds, and only then goes on.
static void test_failure_that_cannot_be_cut_off(void **state)
{
    struct story story = make_story(state);
    perhaps_journal journal = {.size = sizeof journal};
    for (unsigned at = 1; at <= 2; at++) { // the write, the flush
        perhaps_filter *filter = make_filter();
        assert_int_equal(perhaps_begin_journal(filter, story.path, NULL, NULL), PERHAPS_OK);
        assert_int_equal(do_step(filter, 0), PERHAPS_OK);
        arm(at, FAIL, ENOSPC);
        fault.truncate_too = true;
        assert_int_equal(do_step(filter, 1), PERHAPS_E_IO);
        disarm();
        assert_int_equal(fault.counts[TRUNCATE], 1);
        assert_int_equal(perhaps_journal_of(filter, &journal), PERHAPS_OK);
        assert_int_equal(journal.system_error, ENOSPC);
        assert_int_equal(do_step(filter, 1), PERHAPS_OK);
        assert_int_equal(perhaps_journal_of(filter, &journal), PERHAPS_OK);
        assert_int_equal(journal.folds, 1);
        assert_int_equal(journal.operations, 2);
        perhaps_free(filter);
        check_files(&story, story.after[2]);
        remove_files(&story);
    }
    free_story(&story);
}

// Opening for writing, with a torn tail, and a journal that was folded: every operation fails once.
static void test_every_failure_in_open(void **state)
{
    struct story story = make_story(state);
    char name[4096];
    (void)snprintf(name, sizeof name, "%s.journal", story.path);
    for (unsigned folded = 0; folded < 2; folded++) {
        fault.hit = OPEN;
        for (unsigned at = 1; fault.hit != OPERATIONS; at++) {
            perhaps_filter *filter = make_filter();
            assert_int_equal(perhaps_begin_journal(filter, story.path, NULL, NULL), PERHAPS_OK);
            assert_int_equal(do_step(filter, 0), PERHAPS_OK);
            struct support_bytes journal = support_read_file(name);
            if (folded != 0) {
                assert_int_equal(perhaps_fold_journal(filter, NULL), PERHAPS_OK);
            } else {
                assert_int_equal(do_step(filter, 1), PERHAPS_OK);
                journal.size += 13;
                free(journal.data);
                size_t size = journal.size;
                journal = support_read_file(name);
                journal.size = size;
            }
            perhaps_free(filter);
            support_write_file(name, journal.data, journal.size);
            free(journal.data);
            perhaps_error error = SUPPORT_ERROR;
            arm(at, FAIL, EIO);
            filter = NULL;
            int result = perhaps_open_durable(story.path, NULL, &filter, &error);
            disarm();
            if (result < 0) {
                support_assert_failed(result, PERHAPS_E_IO, &error);
                assert_null(filter);
            } else {
                support_assert_unchanged(filter, story.after[1]);
            }
            perhaps_free(filter);
            check_files(&story, story.after[1]);
            remove_files(&story);
        }
    }
    free_story(&story);
}

/* ---------------------------------------------------------------- kill -9 */

// A child tells the steps and says after each that it is done.
static pid_t start_child(const struct story *story, unsigned at, int *pipe_end)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        perhaps_filter *filter = make_filter();
        arm(at, at != 0 ? KILL : NOTHING, 0);
        if (perhaps_begin_journal(filter, story->path, &options, NULL) < 0) {
            _exit(1);
        }
        for (unsigned step = 0; step <= STEPS; step++) {
            if (write(ends[1], "s", 1) != 1 || (step < STEPS && do_step(filter, step) < 0)) {
                _exit(1);
            }
        }
        _exit(0);
    }
    (void)close(ends[1]);
    *pipe_end = ends[0];
    return child;
}

static unsigned count_bytes(int file)
{
    char bytes[64];
    unsigned count = 0;
    for (ssize_t got = 1; got > 0;) {
        got = read(file, bytes, sizeof bytes);
        count += got > 0 ? (unsigned)got : 0;
    }
    (void)close(file);
    return count;
}

static void test_killed_before_every_operation(void **state)
{
    struct story story = make_story(state);
    bool finished = false;
    for (unsigned at = 1; !finished; at++) {
        int file;
        pid_t child = start_child(&story, at, &file);
        unsigned said = count_bytes(file); // one: begun
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        finished = WIFEXITED(status);
        assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
        if (access(story.path, F_OK) == 0) {
            perhaps_filter *reader = support_open(story.path, 0);
            struct support_bytes found = support_encode(reader);
            unsigned done = said > 0 ? said - 1 : 0;
            assert_true(support_bytes_equal(found, story.after[done]) ||
                        (done < STEPS && support_bytes_equal(found, story.after[done + 1])));
            check_files(&story, found); // a writer agrees, and leaves it so
            free(found.data);
            perhaps_free(reader);
        } else {
            assert_int_equal(said, 0);
        }
        save_elsewhere(state);
        remove_files(&story);
    }
    free_story(&story);
}

static unsigned kills = 10;

// Operation `number` of an endless sequence: of every two keys that are added the second goes at once, the first after
// KEPT others, so that the filter is never full, however fast the machine is. Now and then the position is set.
#define KEPT 80000

static int take_out(perhaps_filter *filter, uint64_t key)
{
    return perhaps_remove(filter, &key, sizeof key) == 1 ? PERHAPS_OK : PERHAPS_E_ARGUMENT; // it was added
}

static int operate(perhaps_filter *filter, uint64_t number)
{
    switch (number % 4) {
    case 3:
        return take_out(filter, number - 1);
    case 0:
        return number <= KEPT || number % 40 == 0 ? perhaps_set_position(filter, &number, sizeof number)
                                                  : take_out(filter, number - 3 - KEPT);
    default:
        return perhaps_add(filter, &number, sizeof number);
    }
}

// Says each operation when it is acknowledged. The journal is folded again and again, also by saving.
static void operate_until_killed(const char *path, uint64_t number, int file)
{
    perhaps_filter *filter = NULL;
    perhaps_journal_options small = {.size = sizeof small, .journal_bytes = 1000};
    if (perhaps_open_durable(path, &small, &filter, NULL) < 0) {
        _exit(1);
    }
    for (;; number++) {
        if (operate(filter, number) < 0 || write(file, &number, sizeof number) != (ssize_t)sizeof number ||
            (number % 20 == 0 && perhaps_save(filter, path, NULL) < 0)) {
            _exit(1);
        }
    }
}

// Starts a child, kills it, and returns the last operation that it said.
static uint64_t kill_one(const char *path, uint64_t done, uint64_t *random)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        operate_until_killed(path, done + 1, ends[1]);
    }
    (void)close(ends[1]);
    const struct timespec pause = {.tv_nsec = (long)(support_random(random) % 40000000)};
    (void)nanosleep(&pause, NULL);
    (void)kill(child, SIGKILL);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    uint64_t number = done;
    while (read(ends[0], &number, sizeof number) == (ssize_t)sizeof number) {
    }
    (void)close(ends[0]);
    return number;
}

// How many operations the file and its journal hold. A reader and a writer agree with the model of just so many.
static uint64_t check_operations(const char *path, perhaps_filter *model, uint64_t modelled)
{
    perhaps_journal journal = {.size = sizeof journal};
    perhaps_filter *reader = support_open(path, 0);
    assert_int_equal(perhaps_journal_of(reader, &journal), PERHAPS_OK);
    uint64_t held = journal.folded + journal.operations;
    for (uint64_t number = modelled + 1; number <= held; number++) {
        assert_true(operate(model, number) >= 0);
    }
    support_assert_same(reader, model);
    perhaps_free(reader);
    return held;
}

// Nothing is left in the folder but the filter and its journal, after a save.
static void check_leftovers(void **state, const perhaps_filter *model)
{
    char *other = support_path(state, "other");
    support_save(model, other);
    assert_int_equal(support_count_entries(*state), 3);
    free(other);
}

static void test_killed_at_random_moments(void **state)
{
    char *path = support_path(state, "filter");
    const perhaps_options shape = SUPPORT_OPTIONS(.kind = PERHAPS_KIND_CUCKOO, .capacity = 100000, .fpr = 0.001);
    perhaps_filter *filter = support_create(&shape);
    perhaps_filter *model = support_create(&shape);
    assert_int_equal(perhaps_begin_journal(filter, path, NULL, NULL), PERHAPS_OK);
    perhaps_free(filter);
    uint64_t random = 29;
    uint64_t done = 0;
    uint64_t unsaid = 0;
    for (unsigned i = 0; i < kills; i++) {
        flush(i % 4 == 3);
        uint64_t said = kill_one(path, done, &random);
        flush(false);
        uint64_t held = check_operations(path, model, done);
        assert_in_range(held, said, said + 1);
        unsaid += held - said;
        done = held;
        check_leftovers(state, model);
    }
    print_message("%u kills, %llu operations acknowledged, %llu done and not said\n", kills,
                  (unsigned long long)(done - unsaid), (unsigned long long)unsaid);
    perhaps_free(model);
    free(path);
}

#define test_in_directory(test) cmocka_unit_test_setup_teardown(test, support_make_directory, support_remove_directory)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        test_in_directory(test_order_of_operations),
        test_in_directory(test_every_failure),
        test_in_directory(test_disk_gone),
        test_in_directory(test_failure_that_cannot_be_cut_off),
        test_in_directory(test_every_failure_in_open),
        test_in_directory(test_killed_before_every_operation),
        test_in_directory(test_killed_at_random_moments),
    };
    flush(false);
    kills = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : kills;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
