// SPDX-License-Identifier: MIT
// Every file operation fails once, in every way that it can; the process is killed before every one of them, and at
// random moments. Afterwards the old file or the new one is there, whole.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

#include "file.h"
#include "support_faults.h"
#include "support_format.h"

// ---- the state around a save

struct scene {
    char *directory;
    char *path;
    perhaps_filter *older;
    perhaps_filter *newer;
    struct support_bytes before;
    struct support_bytes after;
    size_t descriptors;
};

static struct scene make_scene(void **state)
{
    struct scene scene = {
        .directory = *state,
        .path = support_path(state, "filter"),
        .older = support_filter(500, 0.01, 1),
        .newer = support_filter(3000, 0.01, 2),
    };
    support_add_keys(scene.older, SUPPORT_WORDS, 0, 400);
    support_add_keys(scene.newer, SUPPORT_WORDS, 0, 2000);
    scene.before = support_encode(scene.older);
    scene.after = support_encode(scene.newer);
    scene.descriptors = support_count_entries("/proc/self/fd");
    return scene;
}

static void free_scene(struct scene *scene)
{
    assert_int_equal(support_count_entries("/proc/self/fd"), scene->descriptors); // every file was closed
    free(scene->path);
    free(scene->before.data);
    free(scene->after.data);
    perhaps_free(scene->older);
    perhaps_free(scene->newer);
}

static void put_old_file(const struct scene *scene)
{
    support_write_file(scene->path, scene->before.data, scene->before.size);
}

// Which of the two is there? The test fails when it is neither.
static bool is_new_file(const struct scene *scene)
{
    struct support_bytes bytes = support_read_file(scene->path);
    bool is_old = support_bytes_equal(bytes, scene->before);
    bool is_new = support_bytes_equal(bytes, scene->after);
    free(bytes.data);
    assert_true(is_old || is_new);
    perhaps_free(support_open(scene->path, 0));
    return is_new;
}

// Saves the newer filter under a fault; what is left must agree with the result.
static int save_under_fault(const struct scene *scene, unsigned at, enum effect effect, int reason)
{
    put_old_file(scene);
    perhaps_error error = SUPPORT_ERROR;
    arm(at, effect, reason);
    int result = perhaps_save(scene->newer, scene->path, &error);
    disarm();
    assert_int_equal(support_count_entries(scene->directory), 1); // no temporary is left
    bool is_new = is_new_file(scene);
    if (result == PERHAPS_OK) {
        assert_true(is_new);
        return result;
    }
    support_assert_failed(result, PERHAPS_E_IO, &error);
    assert_string_equal(error.subject, scene->path);
    assert_int_equal(error.system_error, effect == FAIL ? reason : EIO);
    assert_non_null(strstr(error.text, strerror(error.system_error)));
    assert_int_equal(is_new, strstr(error.text, "though it was replaced") != NULL);
    return result;
}

// Which operations a save is made of, in order: the promise (flush before rename, the directory after) in one place.
static void test_order_of_a_save(void **state)
{
    static const enum operation expected[] = {OPEN,  LOCK,   STAT,  SET_MODE, WRITE, WRITE,
                                              FLUSH, RENAME, CLOSE, OPEN,     FLUSH, CLOSE};
    struct scene scene = make_scene(state);
    for (unsigned i = 0; i < SUPPORT_COUNT(expected); i++) {
        (void)save_under_fault(&scene, i + 1, FAIL, EIO);
        assert_int_equal(fault.hit, expected[i]);
    }
    assert_int_equal(save_under_fault(&scene, 0, FAIL, EIO), PERHAPS_OK);
    assert_int_equal(fault.calls, SUPPORT_COUNT(expected));
    free_scene(&scene);
}

static void test_every_failure_in_save(void **state)
{
    static const int reasons[] = {EIO, ENOSPC, EDQUOT, EINTR, EROFS, EACCES};
    struct scene scene = make_scene(state);
    for (size_t i = 0; i < SUPPORT_COUNT(reasons); i++) {
        fault.hit = OPEN;
        for (unsigned at = 1; fault.hit != OPERATIONS; at++) {
            int result = save_under_fault(&scene, at, FAIL, reasons[i]);
            bool retried = (fault.hit == WRITE && reasons[i] == EINTR) || fault.hit == LOCK;
            bool late = fault.counts[RENAME] == 1 && fault.hit != RENAME; // the directory's turn
            bool harmless = late && (fault.hit == CLOSE || (fault.hit == FLUSH && reasons[i] == EROFS));
            assert_int_equal(result == PERHAPS_OK, fault.hit == OPERATIONS || retried || harmless);
        }
    }
    free_scene(&scene);
}

// A write that takes a part is gone on with; one that takes nothing is an error, not an endless loop.
static void test_short_writes(void **state)
{
    struct scene scene = make_scene(state);
    for (unsigned at = 1; at <= 12; at++) {
        assert_int_equal(save_under_fault(&scene, at, SHORT, 0), PERHAPS_OK);
        int result = save_under_fault(&scene, at, NOTHING, 0);
        assert_int_equal(result, fault.hit == WRITE ? PERHAPS_E_IO : PERHAPS_OK);
    }
    free_scene(&scene);
}

// Some file systems cannot flush a directory, and say so; that is no failure.
static void test_directories_that_cannot_be_flushed(void **state)
{
    struct scene scene = make_scene(state);
    assert_int_equal(save_under_fault(&scene, 11, FAIL, EINVAL), PERHAPS_OK);
    assert_int_equal(fault.hit, FLUSH);
    free_scene(&scene);
}

// When the temporary cannot be removed either, the first failure is the one that is told.
static void test_failure_after_failure(void **state)
{
    struct scene scene = make_scene(state);
    put_old_file(&scene);
    perhaps_error error = SUPPORT_ERROR;
    arm(4, FAIL, ENOSPC);
    fault.remove_too = true;
    support_assert_failed(perhaps_save(scene.newer, scene.path, &error), PERHAPS_E_IO, &error);
    disarm();
    assert_int_equal(error.system_error, ENOSPC);
    assert_int_equal(fault.counts[REMOVE], 1);
    assert_false(is_new_file(&scene));
    free_scene(&scene);
}

// Where nothing was, nothing is left.
static void test_failures_of_a_first_save(void **state)
{
    struct scene scene = make_scene(state);
    for (unsigned at = 1; at <= 6; at++) { // open, lock, write, write, flush, rename
        perhaps_error error = SUPPORT_ERROR;
        if (at == 2) {
            continue; // a file that cannot be locked is written all the same
        }
        arm(at, FAIL, ENOSPC);
        support_assert_failed(perhaps_save(scene.newer, scene.path, &error), PERHAPS_E_IO, &error);
        disarm();
        assert_int_equal(error.system_error, ENOSPC);
        assert_int_equal(support_count_entries(scene.directory), 0);
    }
    free_scene(&scene);
}

// Temporaries of dead processes are removed, also one with this process's id, which is not written to; one that a living
// process holds is not, and neither is what only looks like one.
static void test_leftover_temporaries(void **state)
{
    static const struct {
        const char *before; // the number of the process
        const char *after;
    } names[] = {
        {".perhaps-", "-0.tmp"}, {".perhaps-", "-12.tmp"}, // left
        {".perhaps-", "-3.tmp"},                           // held
        {".perhaps-", ".tmp"},   {".perhaps-", "-1.tmp~"}, {".perhaps--", "-1.tmp"}, {".perhaps-", "-.tmp"},
        {"perhaps-", "-1.tmp"},  {".perhaps-", "x-1.tmp"}, {".perhaps-", "-1.tm"},
    };
    struct scene scene = make_scene(state);
    put_old_file(&scene);
    char *paths[SUPPORT_COUNT(names)];
    for (size_t i = 0; i < SUPPORT_COUNT(names); i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%s%ld%s", names[i].before, (long)getpid(), names[i].after);
        paths[i] = support_path(state, name);
        support_write_file(paths[i], "left", 4);
    }
    int held = open(paths[2], O_RDONLY);
    assert_int_equal(flock(held, LOCK_EX), 0);
    support_save(scene.newer, scene.path);
    assert_true(is_new_file(&scene));
    for (size_t i = 0; i < SUPPORT_COUNT(names); i++) {
        assert_int_equal(access(paths[i], F_OK) == 0, i >= 2);
    }
    (void)close(held);
    support_save(scene.newer, scene.path);
    assert_int_equal(access(paths[2], F_OK), -1);
    for (size_t i = 0; i < SUPPORT_COUNT(names); i++) {
        free(paths[i]);
    }
    free_scene(&scene);
}

// A cleaner that comes between the making of a temporary and its locking removes it; the save makes another one.
static int lock_after_cleaner(int file, int operation)
{
    static unsigned times;
    char link[64];
    char path[4096];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length > 0 && times++ < 2) {
        path[length] = '\0';
        (void)unlink(path);
    }
    return faulty_files.lock(file, operation);
}

static void test_cleaned_before_it_was_locked(void **state)
{
    struct scene scene = make_scene(state);
    put_old_file(&scene);
    struct perhaps__file_operations cleaned = faulty_files;
    cleaned.lock = lock_after_cleaner;
    arm(0, FAIL, 0);
    perhaps__files = &cleaned;
    int result = perhaps_save(scene.newer, scene.path, NULL);
    disarm();
    assert_int_equal(result, PERHAPS_OK);
    assert_int_equal(fault.counts[OPEN], 4); // three temporaries, and the directory
    assert_true(is_new_file(&scene));
    free_scene(&scene);
}

// ---- opening

static void test_every_failure_in_open(void **state)
{
    static const uint32_t flags[] = {0, PERHAPS_OPEN_COPY};
    static const struct {
        enum effect effect;
        int reason;
    } effects[] = {{FAIL, EIO}, {FAIL, EINTR}, {FAIL, EACCES}, {SHORT, 0}, {NOTHING, 0}};
    struct scene scene = make_scene(state);
    put_old_file(&scene);
    for (size_t i = 0; i < SUPPORT_COUNT(flags) * SUPPORT_COUNT(effects); i++) {
        enum effect effect = effects[i / 2].effect;
        fault.hit = OPEN;
        for (unsigned at = 1; fault.hit != OPERATIONS; at++) {
            struct support_memory memory = {0};
            perhaps_allocator allocator = support_memory_allocator(&memory);
            perhaps_load_options options = {.size = sizeof options, .flags = flags[i % 2], .allocator = &allocator};
            perhaps_filter *filter = NULL;
            perhaps_error error = SUPPORT_ERROR;
            arm(at, effect, effects[i / 2].reason);
            int result = perhaps_open(scene.path, &options, &filter, &error);
            disarm();
            bool survives = fault.hit == OPERATIONS || fault.hit == CLOSE || effect == SHORT ||
                            (effect == NOTHING && fault.hit != READ) ||
                            (fault.hit == READ && effects[i / 2].reason == EINTR);
            if (survives) {
                assert_int_equal(result, PERHAPS_OK);
                support_assert_unchanged(filter, scene.before);
            } else {
                support_assert_failed(result, effect == NOTHING ? PERHAPS_E_DAMAGED : PERHAPS_E_IO, &error);
                assert_int_equal(error.system_error, effects[i / 2].reason);
                assert_string_equal(error.subject, scene.path);
                assert_null(filter);
            }
            perhaps_free(filter);
            assert_true(support_memory_is_clean(&memory));
        }
    }
    free_scene(&scene);
}

static uint8_t *second_reading;

// From the second read on the file has other contents: somebody writes to it in place.
static ssize_t changing_read_at(int file, void *bytes, size_t size, off_t offset)
{
    ssize_t got = faulty_files.read_at(file, bytes, size, offset);
    if (fault.counts[READ] >= 2 && got > 0) {
        memcpy(bytes, second_reading + offset, (size_t)got);
    }
    return got;
}

// The header's size is read first, to know how much to read; the header read then may name another one.
static void test_header_changes_while_it_is_read(void **state)
{
    static const size_t sizes[] = {192, 448, 1 << 20};
    struct scene scene = make_scene(state);
    put_old_file(&scene);
    size_t header = (size_t)format_get(scene.before.data, FORMAT_HEADER_SIZE, 8);
    struct perhaps__file_operations changing = faulty_files;
    changing.read_at = changing_read_at;
    for (size_t i = 0; i < SUPPORT_COUNT(sizes); i++) {
        struct support_bytes changed = support_copy(scene.before);
        format_put(changed.data, FORMAT_HEADER_SIZE, 8, sizes[i]);
        format_put_checksum(changed.data, header);
        second_reading = changed.data;
        struct support_memory memory = {0};
        perhaps_allocator allocator = support_memory_allocator(&memory);
        perhaps_load_options options = {.size = sizeof options, .flags = PERHAPS_OPEN_COPY, .allocator = &allocator};
        perhaps_filter *filter = NULL;
        perhaps_error error = SUPPORT_ERROR;
        arm(0, FAIL, 0);
        perhaps__files = &changing;
        support_assert_failed(perhaps_open(scene.path, &options, &filter, &error), PERHAPS_E_DAMAGED, &error);
        disarm();
        assert_non_null(strstr(error.text, "header's size")); // and not later, by what it would have led to
        assert_true(support_memory_is_clean(&memory));
        free(changed.data);
    }
    free_scene(&scene);
}

static void test_memory_runs_out(void **state)
{
    struct scene scene = make_scene(state);
    put_old_file(&scene);
    for (unsigned i = 0; i < 2; i++) {
        int result = PERHAPS_E_MEMORY;
        for (uint64_t at = 1; result == PERHAPS_E_MEMORY; at++) {
            struct support_memory memory = {.fail_at = at};
            perhaps_allocator allocator = support_memory_allocator(&memory);
            perhaps_load_options options = {
                .size = sizeof options, .flags = i == 0 ? 0 : PERHAPS_OPEN_COPY, .allocator = &allocator};
            perhaps_filter *filter = NULL;
            perhaps_error error = SUPPORT_ERROR;
            result = perhaps_open(scene.path, &options, &filter, &error);
            if (result == PERHAPS_E_MEMORY) {
                support_assert_failed(result, PERHAPS_E_MEMORY, &error);
                assert_string_equal(error.subject, scene.path);
                assert_null(filter);
            } else {
                // Now saving: its one allocation fails, and the file is what it was.
                memory.fail_at = memory.calls + 1;
                support_assert_failed(perhaps_save(filter, scene.path, &error), PERHAPS_E_MEMORY, &error);
                assert_false(is_new_file(&scene));
                assert_int_equal(support_count_entries(scene.directory), 1);
            }
            perhaps_free(filter);
            assert_true(support_memory_is_clean(&memory));
        }
        assert_int_equal(result, PERHAPS_OK);
    }
    free_scene(&scene);
}

// ---- kill -9

// Afterwards the folder is empty: nothing was left in it.
static void remove_file(const struct scene *scene)
{
    (void)unlink(scene->path);
    assert_int_equal(support_count_entries(scene->directory), 0);
}

static void test_killed_before_every_operation(void **state)
{
    struct scene scene = make_scene(state);
    unsigned finished = 0;
    for (unsigned at = 1; finished == 0; at++) {
        put_old_file(&scene);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            arm(at, KILL, 0);
            _exit(perhaps_save(scene.newer, scene.path, NULL) == PERHAPS_OK ? 0 : 1);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
        finished = WIFEXITED(status);
        assert_int_equal(is_new_file(&scene), at > 8); // the eighth renames
        support_save(scene.newer, scene.path);         // cleans up
        remove_file(&scene);
    }
    free_scene(&scene);
}

static void save_until_killed(const struct scene *scene)
{
    for (;;) {
        if (perhaps_save(scene->newer, scene->path, NULL) != PERHAPS_OK ||
            perhaps_save(scene->older, scene->path, NULL) != PERHAPS_OK) {
            _exit(1);
        }
    }
}

static void test_killed_at_random_moments(void **state)
{
    struct scene scene = make_scene(state);
    uint64_t random = 17;
    for (unsigned i = 0; i < SUPPORT_SCALED(200U); i++) {
        put_old_file(&scene);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            save_until_killed(&scene);
        }
        const struct timespec pause = {.tv_nsec = (long)(support_random(&random) % 8000000)};
        (void)nanosleep(&pause, NULL);
        (void)kill(child, SIGKILL);
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        (void)is_new_file(&scene);             // one of the two, whole
        support_save(scene.newer, scene.path); // cleans up
        remove_file(&scene);
    }
    free_scene(&scene);
}

#define test_in_directory(test) cmocka_unit_test_setup_teardown(test, support_make_directory, support_remove_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test_in_directory(test_order_of_a_save),
        test_in_directory(test_every_failure_in_save),
        test_in_directory(test_short_writes),
        test_in_directory(test_directories_that_cannot_be_flushed),
        test_in_directory(test_failure_after_failure),
        test_in_directory(test_failures_of_a_first_save),
        test_in_directory(test_leftover_temporaries),
        test_in_directory(test_cleaned_before_it_was_locked),
        test_in_directory(test_every_failure_in_open),
        test_in_directory(test_header_changes_while_it_is_read),
        test_in_directory(test_memory_runs_out),
        test_in_directory(test_killed_before_every_operation),
        test_in_directory(test_killed_at_random_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
