// SPDX-License-Identifier: MIT
// Whose a file is after it was replaced, and who may do what with it. To make files of others takes root; what others than
// root find is then tried in a process that became somebody else.
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "file.h"
#include "support.h"
#include "support_faults.h"

// Numbers that need no names.
enum { ALICE = 4001, BOB = 4002, STAFF = 4010, GUESTS = 4011 };

struct who {
    uid_t user;
    gid_t group;
};

struct file {
    struct who owner;
    mode_t mode;
};

// In a container root may be nobody special, and the directory out of others' reach.
static bool others_reach(const char *directory)
{
    bool reach = seteuid(ALICE) == 0 && faccessat(AT_FDCWD, directory, X_OK, AT_EACCESS) == 0;
    return seteuid(0) == 0 && reach;
}

static bool is_root(void **state, const char *what)
{
    char *path = support_path(state, "filter");
    FILE *file = fopen(path, "w");
    bool is = file != NULL && fclose(file) == 0 && geteuid() == 0 && chmod(*state, 0777) == 0 &&
              chown(path, ALICE, STAFF) == 0 && chmod(path, 0600) == 0 && others_reach(*state);
    assert_int_equal(unlink(path), 0);
    free(path);
    if (!is) {
        print_message("%s: skipped, only root can make files of others\n", what);
    }
    return is;
}

static void make(const char *path, struct file file)
{
    assert_int_equal(chown(path, file.owner.user, file.owner.group), 0);
    assert_int_equal(chmod(path, file.mode), 0);
}

static void assert_is(const char *path, struct file expected)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_uid, expected.owner.user);
    assert_int_equal(status.st_gid, expected.owner.group);
    assert_int_equal(status.st_mode & 07777, expected.mode);
}

// What may be called with a filter in another process: 0, or a number that tells what failed.
typedef int job(const char *path);

static int save(const char *path)
{
    perhaps_filter *filter = NULL;
    const perhaps_options options = SUPPORT_OPTIONS(.capacity = 20, .fpr = 0.1);
    if (perhaps_create(&options, &filter, NULL) != PERHAPS_OK || perhaps_add(filter, "new", 3) != 1) {
        return 2;
    }
    int result = perhaps_save(filter, path, NULL);
    perhaps_free(filter);
    return result == PERHAPS_OK ? 0 : 3;
}

static int fold(const char *path)
{
    perhaps_filter *filter = NULL;
    if (perhaps_open_durable(path, NULL, &filter, NULL) != PERHAPS_OK || perhaps_add(filter, "new", 3) != 1) {
        return 2;
    }
    int result = perhaps_fold_journal(filter, NULL);
    perhaps_free(filter);
    return result == PERHAPS_OK ? 0 : 3;
}

static void do_as(const struct who *who, gid_t other, job *call, const char *path)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)umask(0);
        if (who->user != 0 && (setgroups(1, &other) != 0 || setgid(who->group) != 0 || setuid(who->user) != 0)) {
            _exit(1);
        }
        _exit(call(path));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void assert_new(const char *path)
{
    perhaps_filter *filter = support_open(path, 0);
    assert_int_equal(perhaps_might_contain(filter, "new", 3), 1);
    perhaps_free(filter);
}

static const struct {
    struct who saver;
    gid_t other; // another group of the saver
    struct file before;
    struct file after;
} cases[] = {
    // root: as it was.
    {{0, 0}, 0, {{ALICE, STAFF}, 0600}, {{ALICE, STAFF}, 0600}},
    {{0, 0}, 0, {{ALICE, STAFF}, 06754}, {{ALICE, STAFF}, 06754}},
    {{0, 0}, 0, {{0, STAFF}, 0640}, {{0, STAFF}, 0640}},
    // The owner: the group is one of his, or is none.
    {{ALICE, GUESTS}, STAFF, {{ALICE, STAFF}, 0660}, {{ALICE, STAFF}, 0660}},
    {{ALICE, GUESTS}, GUESTS, {{ALICE, STAFF}, 0640}, {{ALICE, GUESTS}, 0600}},
    {{ALICE, GUESTS}, GUESTS, {{ALICE, STAFF}, 0664}, {{ALICE, GUESTS}, 0644}},
    {{ALICE, GUESTS}, GUESTS, {{ALICE, STAFF}, 0646}, {{ALICE, GUESTS}, 0644}},
    {{ALICE, GUESTS}, GUESTS, {{ALICE, STAFF}, 06755}, {{ALICE, GUESTS}, 0755}},
    // Somebody who may write to the folder.
    {{BOB, STAFF}, STAFF, {{ALICE, STAFF}, 0660}, {{BOB, STAFF}, 0660}},
    {{BOB, GUESTS}, STAFF, {{ALICE, STAFF}, 0640}, {{BOB, STAFF}, 0640}},
    {{BOB, STAFF}, STAFF, {{ALICE, STAFF}, 06755}, {{BOB, STAFF}, 0755}},
    {{BOB, GUESTS}, GUESTS, {{ALICE, STAFF}, 0604}, {{BOB, GUESTS}, 0600}},
    {{BOB, GUESTS}, GUESTS, {{ALICE, STAFF}, 0667}, {{BOB, GUESTS}, 0666}},
    {{BOB, GUESTS}, GUESTS, {{ALICE, STAFF}, 06666}, {{BOB, GUESTS}, 0666}},
};

static void test_whose_a_file_is(void **state)
{
    if (!is_root(state, "whose a file is")) {
        skip();
    }
    char *path = support_path(state, "filter");
    perhaps_filter *filter = support_filter(10, 0.1, 0);
    assert_int_equal(chmod(*state, 0777), 0);
    for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
        support_save(filter, path);
        make(path, cases[i].before);
        do_as(&cases[i].saver, cases[i].other, save, path);
        assert_is(path, cases[i].after);
        assert_new(path);
        assert_int_equal(support_count_entries(*state), 1);
        assert_int_equal(unlink(path), 0);
        // A new file is nobody's but the caller's.
        do_as(&cases[i].saver, cases[i].other, save, path);
        assert_is(path, (struct file){cases[i].saver, 0666});
        assert_int_equal(unlink(path), 0);
    }
    perhaps_free(filter);
    free(path);
}

// A journal that is begun is like its filter's file, one that is replaced like the one before, and both stay their owner's.
static void test_whose_a_journal_is(void **state)
{
    if (!is_root(state, "whose a journal is")) {
        skip();
    }
    const struct who root = {0, 0};
    const struct file owned = {{ALICE, STAFF}, 0640};
    char *path = support_path(state, "filter");
    char *journal = support_path(state, "filter.journal");
    perhaps_filter *filter = support_filter(100, 0.01, 0);
    support_save(filter, path);
    make(path, owned);
    assert_int_equal(perhaps_begin_journal(filter, path, NULL, NULL), PERHAPS_OK);
    perhaps_free(filter);
    assert_is(path, owned);
    assert_is(journal, owned);
    do_as(&root, 0, fold, path);
    assert_is(path, owned);
    assert_is(journal, owned);
    assert_new(path);
    free(path);
    free(journal);
}

static void test_journal_of_somebody_else(void **state)
{
    if (!is_root(state, "the journal of somebody else")) {
        skip();
    }
    const struct who bob = {BOB, GUESTS};
    char *path = support_path(state, "filter");
    char *journal = support_path(state, "filter.journal");
    perhaps_filter *filter = support_filter(100, 0.01, 0);
    assert_int_equal(perhaps_begin_journal(filter, path, NULL, NULL), PERHAPS_OK);
    perhaps_free(filter);
    assert_int_equal(chmod(*state, 0777), 0);
    make(path, (struct file){{ALICE, STAFF}, 0666});
    make(journal, (struct file){{ALICE, STAFF}, 0646});
    do_as(&bob, GUESTS, fold, path);
    assert_is(path, (struct file){bob, 0666});
    assert_is(journal, (struct file){bob, 0644});
    assert_new(path);
    free(path);
    free(journal);
}

// Who may give a file away, and then not set its mode, keeps it.
static void test_taken_back(void **state)
{
    if (!is_root(state, "a file that is taken back")) {
        skip();
    }
    char *path = support_path(state, "filter");
    assert_int_equal(save(path), 0);
    make(path, (struct file){{ALICE, STAFF}, 0640});
    arm(6, FAIL, EPERM);
    assert_int_equal(save(path), 0);
    disarm();
    assert_int_equal(fault.hit, SET_MODE);
    assert_is(path, (struct file){{0, STAFF}, 0640});
    assert_new(path);
    free(path);
}

/* ---------------------------------------------------------------- whoever runs the tests */

// The group may do nothing by the list, another user and the mask may read and write.
static const uint8_t list[] = {
    2, 0,         0,        0,    1,    0,    6,    0, 0xff, 0xff, 0xff, 0xff, 2,    0,    6,
    0, BOB & 255, BOB >> 8, 0,    0,    4,    0,    0, 0,    0xff, 0xff, 0xff, 0xff, 0x10, 0,
    6, 0,         0xff,     0xff, 0xff, 0xff, 0x20, 0, 0,    0,    0xff, 0xff, 0xff, 0xff,
};

static void test_lists_are_not_widened(void **state)
{
    char *path = support_path(state, "filter");
    struct stat status;
    assert_int_equal(save(path), 0);
    if (setxattr(path, "system.posix_acl_access", list, sizeof list, 0) != 0) {
        print_message("lists: skipped, there are none here: %s\n", strerror(errno));
        skip();
    }
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0660);
    assert_int_equal(save(path), 0);
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    free(path);
}

// A group of this process that is not what its files get; false where there is none.
static bool another_group(gid_t *group)
{
    gid_t groups[256];
    int count = geteuid() == 0 ? 1 : getgroups(256, groups);
    if (geteuid() == 0) {
        groups[0] = STAFF;
    }
    for (int i = 0; i < count; i++) {
        if (groups[i] != getegid()) {
            *group = groups[i];
            return true;
        }
    }
    return false;
}

static void test_group_is_kept(void **state)
{
    gid_t group = 0;
    if (!another_group(&group)) {
        print_message("a group is kept: skipped, this user is in one group only\n");
        skip();
    }
    const struct file owned = {{geteuid(), group}, 0640};
    char *path = support_path(state, "filter");
    assert_int_equal(save(path), 0);
    make(path, owned);
    assert_int_equal(save(path), 0);
    assert_is(path, owned);
    free(path);
}

// A system that does not let go of a file is no reason not to save; one that cannot say whose it is, is: nothing is
// known then of who may read it.
static void test_refusals(void **state)
{
    gid_t group = 0;
    if (!another_group(&group)) {
        print_message("refusals: skipped, this user is in one group only\n");
        skip();
    }
    static const enum operation order[] = {OPEN, LOCK, STAT, SET_OWNER, STAT, SET_MODE};
    char *path = support_path(state, "filter");
    perhaps_filter *filter = support_filter(10, 0.1, 0);
    support_save(filter, path);
    for (unsigned i = 0; i < SUPPORT_COUNT(order); i++) {
        make(path, (struct file){{geteuid(), group}, 0640});
        arm(i + 1, FAIL, EPERM);
        int result = save(path);
        disarm();
        assert_int_equal(fault.hit, order[i]);
        assert_int_equal(result, order[i] == LOCK || order[i] == SET_OWNER ? 0 : 3);
        assert_is(path, (struct file){{geteuid(), group}, 0640}); // also where the first of two calls was refused
        assert_int_equal(support_count_entries(*state), 1);
    }
    perhaps_free(filter);
    free(path);
}

static mode_t mode_when_locked;

static int look_and_lock(int file, int operation)
{
    struct stat status;
    assert_int_equal(fstat(file, &status), 0);
    mode_when_locked = status.st_mode & 0777;
    return faulty_files.lock(file, operation);
}

// Who opened the temporary file before it has its permissions could read what is written to it afterwards.
static void test_nobody_reads_before(void **state)
{
    char *path = support_path(state, "filter");
    mode_t before = umask(0);
    assert_int_equal(save(path), 0);
    assert_int_equal(chmod(path, 0600), 0);
    arm(0, FAIL, EIO);
    struct perhaps__file_operations looking = faulty_files;
    looking.lock = look_and_lock;
    perhaps__files = &looking;
    assert_int_equal(save(path), 0);
    disarm();
    (void)umask(before);
    assert_int_equal(mode_when_locked, 0600);
    free(path);
}

#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, support_make_directory, support_remove_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(test_whose_a_file_is),
        IN_DIRECTORY(test_whose_a_journal_is),
        IN_DIRECTORY(test_journal_of_somebody_else),
        IN_DIRECTORY(test_taken_back),
        IN_DIRECTORY(test_lists_are_not_widened),
        IN_DIRECTORY(test_group_is_kept),
        IN_DIRECTORY(test_refusals),
        IN_DIRECTORY(test_nobody_reads_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
