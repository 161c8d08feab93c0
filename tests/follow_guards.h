// SPDX-License-Identifier: MIT
// What the tests of guards that follow a table share, whatever has the table: programs that start, and what they do. After
// the helpers of the store.
#ifndef PERHAPS_TESTS_FOLLOW_GUARDS_H
#define PERHAPS_TESTS_FOLLOW_GUARDS_H

// Keys of one to three characters: "0" to "999".
#define KEYS 1000

struct setting {
    uint32_t kind;
    uint32_t flags; // NOT_READY is added
    int appended;
    double fpr; // 0: 0.01
    uint32_t triggers;
};

// The store that the program has open; also where a test opens it itself: keys are counted by it.
static perhaps_store stored;

// Closes it, as the program ended that had it, and opens it again. Each test has its own.
static void reopen(const struct setting *setting, perhaps_store *store, perhaps_store_changes *changes);

// Writes to the store.
static void write_sql(const char *sql);

// As a program does that starts: on an empty filter, not ready.
static inline perhaps_guard *start_guard(const struct setting *setting)
{
    perhaps_store_changes changes;
    perhaps_error error = {.size = sizeof error};
    reopen(setting, &stored, &changes);
    perhaps_options made = {.size = sizeof made,
                            .kind = setting->kind,
                            .capacity = 1,
                            .fpr = setting->fpr > 0.0 ? setting->fpr : 0.01,
                            .flags = PERHAPS_SHARED};
    perhaps_options next = made;
    next.capacity = 0;
    perhaps_filter *filter = NULL;
    assert_int_equal(perhaps_create(&made, &filter, NULL), 0);
    perhaps_guard_options options = {.size = sizeof options,
                                     .adopted = filter,
                                     .store = &stored,
                                     .changes = &changes,
                                     .next = &next,
                                     .triggers = setting->triggers,
                                     .flags = setting->flags | PERHAPS_GUARD_NOT_READY};
    perhaps_guard *guard = NULL;
    if (perhaps_guard_create(&options, &guard, &error) < 0) {
        fail_msg("%s", error.text);
    }
    return guard;
}

static inline perhaps_guard_statistics statistics_of(const perhaps_guard *guard)
{
    perhaps_guard_statistics statistics = {.size = sizeof statistics};
    assert_int_equal(perhaps_guard_stats(guard, &statistics), 0);
    return statistics;
}

static inline int asks(perhaps_guard *guard, int number)
{
    char key[16];
    int length = snprintf(key, sizeof key, "%d", number);
    return perhaps_guard_ask(guard, key, (size_t)length);
}

// How many keys the table has that the guard calls surely absent.
static inline int missed(perhaps_guard *guard)
{
    int count = 0;
    for (int i = 0; i < KEYS; i++) {
        char key[16];
        int length = snprintf(key, sizeof key, "%d", i);
        count += asks(guard, i) == 0 && stored.contains(stored.context, key, (size_t)length, NULL) == 1;
    }
    return count;
}

// How many keys pass that the table has not.
static inline int passed(perhaps_guard *guard)
{
    int count = 0;
    for (int i = 0; i < KEYS; i++) {
        char key[16];
        int length = snprintf(key, sizeof key, "%d", i);
        count += asks(guard, i) != 0 && stored.contains(stored.context, key, (size_t)length, NULL) == 0;
    }
    return count;
}

// Copies in the filter of a file, and distinct keys of the table.
static inline uint64_t copies_in(const char *path)
{
    perhaps_filter *filter = NULL;
    perhaps_statistics statistics = {.size = sizeof statistics};
    assert_int_equal(perhaps_open(path, NULL, &filter, NULL), 0);
    assert_int_equal(perhaps_stats(filter, &statistics), 0);
    perhaps_free(filter);
    return statistics.copies;
}

static inline void assert_code(int code, int expected, const perhaps_error *error)
{
    if (code != expected) {
        fail_msg("%d, not %d: %s", code, expected, error->text);
    }
}

static inline void reload(perhaps_guard *guard, int expected, const char *words)
{
    perhaps_error error = {.size = sizeof error};
    assert_code(perhaps_guard_reload(guard, "f", NULL, &error), expected, &error);
    if (expected != 0) {
        assert_contains_text(error.text, words);
    }
}

static inline void catch_up(perhaps_guard *guard, int expected, const char *words)
{
    perhaps_error error = {.size = sizeof error};
    assert_code(perhaps_guard_catch_up(guard, &error), expected, &error);
    if (expected != 0) {
        assert_contains_text(error.text, words);
    }
}

static inline void rebuild(perhaps_guard *guard)
{
    perhaps_error error = {.size = sizeof error};
    assert_code(perhaps_guard_rebuild(guard, 20 * KEYS, &error), 0, &error);
}

static inline void save(perhaps_guard *guard)
{
    perhaps_error error = {.size = sizeof error};
    assert_code(perhaps_guard_save(guard, "f", &error), 0, &error);
}

// A program that made a filter, saved it and ended.
static inline void make_file(const struct setting *setting)
{
    perhaps_guard *guard = start_guard(setting);
    rebuild(guard);
    save(guard);
    perhaps_guard_free(guard);
}

#define CUCKOO_FOLLOWS                                                                                                 \
    {                                                                                                                  \
        .kind = PERHAPS_KIND_CUCKOO, .flags = PERHAPS_GUARD_FOLLOWS                                                    \
    }
#define CUCKOO_ALONE                                                                                                   \
    {                                                                                                                  \
        .kind = PERHAPS_KIND_CUCKOO                                                                                    \
    }

// Each way to follow, and each kind of writer, over a change of everything while no program ran.
static inline void restart_over_changes(const struct setting *setting, const char *sql, int expected, const char *words)
{
    make_file(setting);
    write_sql(sql);
    perhaps_guard *guard = start_guard(setting);
    reload(guard, expected, words);
    if (expected != 0) {
        assert_int_equal(statistics_of(guard).state, PERHAPS_GUARD_LOADING);
        assert_int_equal(asks(guard, 999), 1);
        rebuild(guard);
    }
    assert_int_equal(statistics_of(guard).state, PERHAPS_GUARD_READY);
    assert_int_equal(missed(guard), 0);
    assert_true(passed(guard) < 30);
    save(guard);
    assert_int_equal(perhaps_guard_forget(guard, NULL), 0);
    perhaps_guard_free(guard);
}

#endif
