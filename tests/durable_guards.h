// SPDX-License-Identifier: MIT
// What the tests of guards on a filter with a journal share: its file, programs that start on it, and what they write.
#ifndef PERHAPS_TESTS_DURABLE_GUARDS_H
#define PERHAPS_TESTS_DURABLE_GUARDS_H

#include "follow_helpers.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#define FILTER "d"

/* ---------------------------------------------------------------- programs that start */

static inline void begin_file(const perhaps_options *options)
{
    perhaps_filter *filter = NULL;
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(perhaps_create(options, &filter, NULL), 0);
    assert_code(perhaps_begin_journal(filter, FILTER, NULL, &error), 0, &error);
    perhaps_free(filter);
}

static inline perhaps_filter *open_file(void)
{
    perhaps_load_options load = {.size = sizeof load, .flags = PERHAPS_OPEN_SHARED};
    perhaps_journal_options options = {.size = sizeof options, .load = &load};
    perhaps_error error = {.size = sizeof error};
    perhaps_filter *filter = NULL;
    assert_code(perhaps_open_durable(FILTER, &options, &filter, &error), 0, &error);
    return filter;
}

static inline perhaps_guard *guard_on(perhaps_filter *filter, const struct setting *setting, bool followed)
{
    perhaps_store_changes changes;
    perhaps_error error = {.size = sizeof error};
    perhaps_store_sqlite_close(sqlite); // of the program that ended
    sqlite = open_column("t", "k");
    assert_int_equal(perhaps_store_sqlite_store(sqlite, &stored), 0);
    assert_code(perhaps_store_sqlite_changes(sqlite, 0, &changes, &error), 0, &error);
    perhaps_guard_options options = {.size = sizeof options,
                                     .adopted = filter,
                                     .store = &stored,
                                     .changes = followed ? &changes : NULL,
                                     .triggers = setting->triggers,
                                     .flags = setting->flags};
    perhaps_guard *guard = NULL;
    assert_code(perhaps_guard_create(&options, &guard, &error), 0, &error);
    return guard;
}

// On the file that there is.
static inline perhaps_guard *start(const struct setting *setting)
{
    struct setting not_ready = *setting;
    not_ready.flags |= PERHAPS_GUARD_NOT_READY;
    return guard_on(open_file(), &not_ready, true);
}

static inline void resume(perhaps_guard *guard, int expected, const char *words)
{
    perhaps_error error = {.size = sizeof error};
    assert_code(perhaps_guard_resume(guard, &error), expected, &error);
    if (expected != 0) {
        assert_contains_text(error.text, words);
    }
}

static inline perhaps_filter *read_file(void)
{
    perhaps_filter *filter = NULL;
    perhaps_error error = {.size = sizeof error};
    assert_code(perhaps_open(FILTER, NULL, &filter, &error), 0, &error);
    return filter;
}

static inline perhaps_journal journal_of_file(void)
{
    perhaps_journal journal = {.size = sizeof journal};
    perhaps_filter *filter = read_file();
    assert_int_equal(perhaps_journal_of(filter, &journal), 0);
    perhaps_free(filter);
    return journal;
}

static const perhaps_options cuckoo __attribute__((unused)) = {
    .size = sizeof(perhaps_options), .kind = PERHAPS_KIND_CUCKOO, .capacity = 2000, .fpr = 0.001};
// Short fingerprints: what is taken out twice takes another key's copy.
static const perhaps_options alike __attribute__((unused)) = {
    .size = sizeof(perhaps_options), .kind = PERHAPS_KIND_CUCKOO, .capacity = 2000, .fpr = 0.1};
static const perhaps_options bloom
    __attribute__((unused)) = {.size = sizeof(perhaps_options), .capacity = 1000, .fpr = 0.001};

// A program that made the filter from the store, and ended. Nothing is saved.
static inline void make_from_store(const perhaps_options *options, const struct setting *setting)
{
    begin_file(options);
    perhaps_guard *guard = start(setting);
    rebuild(guard);
    perhaps_guard_free(guard);
}

/* ---------------------------------------------------------------- what they write */

// No file becomes larger than so many bytes; 0: no limit.
static inline void limit_files(uint64_t bytes)
{
    struct rlimit limit;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes != 0 ? (rlim_t)bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static bool wrote;

static inline int write_row(void *context, const void *key, size_t length, perhaps_error *error)
{
    sqlite3_stmt *statement = NULL;
    int result = sqlite3_prepare_v2(db, context, -1, &statement, NULL);
    wrote = true;
    if (result == SQLITE_OK) {
        (void)sqlite3_bind_text(statement, 1, key, (int)length, SQLITE_STATIC);
        result = sqlite3_step(statement);
    }
    (void)sqlite3_finalize(statement);
    return result == SQLITE_DONE ? 0 : PERHAPS_E_IO;
}

static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

// From several threads.
static inline int write_in_turn(void *context, const void *key, size_t length, perhaps_error *error)
{
    (void)pthread_mutex_lock(&writing);
    int code = write_row(context, key, length, error);
    (void)pthread_mutex_unlock(&writing);
    return code;
}

static inline int insert_through(perhaps_guard *guard, const char *key, perhaps_error *error)
{
    char sql[] = "INSERT INTO t(k) VALUES (?1)";
    wrote = false;
    return perhaps_guard_add(guard, key, strlen(key), write_row, sql, error);
}

static inline int remove_through(perhaps_guard *guard, const char *key)
{
    char sql[] = "DELETE FROM t WHERE k = ?1";
    return perhaps_guard_remove(guard, key, strlen(key), write_row, sql, NULL);
}

#endif
