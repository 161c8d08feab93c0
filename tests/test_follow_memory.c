// SPDX-License-Identifier: MIT
// Following a SQLite table when memory runs out: each allocation, of SQLite's and of the guard's, fails once. The call says
// so, nothing is leaked, no key of the table is ever "surely absent", and the next call makes up for it.
#include "follow_helpers.h"
#include "scarce_sqlite.h"

// No test cuts the power, and waiting for the disk would be most of the time: these take the place of the C library's.
int fsync(int file)
{
    return file < 0 ? -1 : 0;
}

int fdatasync(int file)
{
    return fsync(file);
}

static void assert_done_or_no_memory(int code, int done, const perhaps_error *error)
{
    if (code != done && (code != PERHAPS_E_MEMORY || error->code != code)) {
        fail_msg("%d: %s", code, error->text);
    }
}

/* ---------------------------------------------------------------- the guard's allocator */

struct memory {
    uint64_t calls;
    uint64_t fail_at; // the call that fails, counted from 1; 0: none
    size_t held;
};

static void *allocate(void *context, size_t bytes, size_t alignment)
{
    struct memory *memory = context;
    if (++memory->calls == memory->fail_at) {
        return NULL;
    }
    void *block = NULL;
    assert_int_equal(posix_memalign(&block, alignment < sizeof(void *) ? sizeof(void *) : alignment, bytes), 0);
    memory->held += bytes;
    return block;
}

static void release(void *context, void *block, size_t bytes, size_t alignment)
{
    struct memory *memory = context;
    (void)alignment;
    memory->held -= bytes;
    free(block);
}

static struct memory memory;
static const perhaps_allocator allocator = {&memory, allocate, release};
static const perhaps_load_options load = {.size = sizeof load, .allocator = &allocator};

// All that it takes, the filters too, comes from there.
static perhaps_guard *start_with_allocator(perhaps_options made, uint32_t flags)
{
    perhaps_store_sqlite_close(sqlite);
    sqlite = open_column("t", "k");
    perhaps_store store;
    perhaps_store_changes changes;
    perhaps_filter *filter = NULL;
    perhaps_guard *guard = NULL;
    assert_int_equal(perhaps_store_sqlite_store(sqlite, &store), 0);
    assert_int_equal(perhaps_store_sqlite_changes(sqlite, 0, &changes, NULL), 0);
    made.size = sizeof made;
    made.fpr = 0.01;
    made.flags = PERHAPS_SHARED;
    made.allocator = &allocator;
    perhaps_options next = made;
    made.capacity = 1;
    assert_int_equal(perhaps_create(&made, &filter, NULL), 0);
    perhaps_guard_options options = {.size = sizeof options,
                                     .adopted = filter,
                                     .store = &store,
                                     .changes = &changes,
                                     .next = &next,
                                     .allocator = &allocator,
                                     .flags = flags | PERHAPS_GUARD_NOT_READY};
    assert_int_equal(perhaps_guard_create(&options, &guard, NULL), 0);
    return guard;
}

// Of the keys up to 59, and from 940 on, those that the table has and the guard denies: a look at all of them would take too
// long for so many failures.
static int few_missed(perhaps_guard *guard)
{
    int count = 0;
    for (int i = 0; i < KEYS; i += i == 59 ? 881 : 1) {
        char key[16];
        int length = snprintf(key, sizeof key, "%d", i);
        count += asks(guard, i) == 0 && ask(sqlite, key, (size_t)length) == 1;
    }
    return count;
}

static void assert_ready(perhaps_guard *guard)
{
    assert_int_equal(statistics_of(guard).state, PERHAPS_GUARD_READY);
    assert_int_equal(few_missed(guard), 0);
    assert_int_equal(asks(guard, 800), 0); // and it does not say "perhaps" to everything
}

// What a call may end with, and what is true then. The next one succeeds.
static void assert_recovers(perhaps_guard *guard, int code, const perhaps_error *error,
                            int (*again)(perhaps_guard *guard))
{
    memory.fail_at = 0;
    assert_done_or_no_memory(code, 0, error);
    assert_int_equal(few_missed(guard), 0);
    assert_int_equal(again(guard), 0);
    assert_ready(guard);
}

static int reload_again(perhaps_guard *guard)
{
    return perhaps_guard_reload(guard, "f", &load, NULL);
}

static int catch_up_again(perhaps_guard *guard)
{
    return perhaps_guard_catch_up(guard, NULL);
}

static void test_reload(void **state)
{
    install_log();
    make_file(&(struct setting)CUCKOO_FOLLOWS);
    run(db, many_changes);
    int code = PERHAPS_E_MEMORY;
    for (uint64_t i = 1; code != 0; i++) {
        perhaps_error error = {.size = sizeof error};
        memory = (struct memory){.calls = 0};
        perhaps_guard *guard =
            start_with_allocator((perhaps_options){.kind = PERHAPS_KIND_CUCKOO}, PERHAPS_GUARD_FOLLOWS);
        memory.fail_at = memory.calls + i;
        code = perhaps_guard_reload(guard, "f", &load, &error);
        assert_int_equal(asks(guard, 999), 1);
        assert_int_equal(statistics_of(guard).not_ready, code != 0);
        assert_recovers(guard, code, &error, reload_again);
        perhaps_guard_free(guard);
        assert_int_equal(memory.held, 0);
        assert_true(code != 0 || i > 5); // some did fail
    }
}

// A filter that has to grow, and no memory for another layer, or for the keys that it refuses then.
static void test_catch_up(void **state)
{
    install_log();
    uint64_t calls = UINT64_MAX;
    for (uint64_t i = 0; i <= calls; i++) {
        perhaps_error error = {.size = sizeof error};
        memory = (struct memory){.calls = 0};
        run(db, "DELETE FROM t WHERE CAST(k AS INT) >= 50 OR k = '7'; INSERT INTO t(k) VALUES ('7')");
        perhaps_guard *guard = start_with_allocator(
            (perhaps_options){.at_capacity = PERHAPS_AT_CAPACITY_GROW, .capacity = 60}, PERHAPS_GUARD_FOLLOWS);
        assert_int_equal(perhaps_guard_rebuild(guard, 60, NULL), 0);
        run(db, "WITH RECURSIVE n(v) AS (SELECT 50 UNION ALL SELECT v + 1 FROM n WHERE v < 650) "
                "INSERT INTO t(k) SELECT CAST(v AS TEXT) FROM n");
        uint64_t before = memory.calls;
        memory.fail_at = i > 0 ? before + i : 0;
        int code = perhaps_guard_catch_up(guard, &error);
        calls = i == 0 ? memory.calls - before : calls;
        assert_int_equal(code, 0); // what the filter does not take, the set beside it does
        assert_recovers(guard, code, &error, catch_up_again);
        perhaps_guard_free(guard);
        assert_int_equal(memory.held, 0);
    }
    assert_in_range(calls, 3, 100); // layers
}

// Without memory for the position, there is no file without one.
static void test_save(void **state)
{
    install_log();
    int code = PERHAPS_E_MEMORY;
    for (uint64_t i = 1; code != 0; i++) {
        perhaps_error error = {.size = sizeof error};
        memory = (struct memory){.calls = 0};
        perhaps_guard *guard = start_with_allocator((perhaps_options){.kind = PERHAPS_KIND_CUCKOO}, 0);
        rebuild(guard);
        (void)unlink("f");
        memory.fail_at = memory.calls + i;
        code = perhaps_guard_save(guard, "f", &error);
        memory.fail_at = 0;
        assert_true(code == 0 || (code == PERHAPS_E_MEMORY && error.code == code && access("f", F_OK) < 0));
        save(guard);
        assert_int_equal(reload_again(guard), 0);
        assert_ready(guard);
        perhaps_guard_free(guard);
        assert_int_equal(memory.held, 0);
        assert_true(code != 0 || i > 1);
    }
}

/* ---------------------------------------------------------------- SQLite's */

// What is asked of the guard beside the call that is meant has memory enough.
static long scarce;

static void begin_scarce(void)
{
    allocations_left = scarce;
}

static void end_scarce(void)
{
    scarce = allocations_left;
    allocations_left = -1;
}

// with_scarce_memory() looks at what is left.
static void hold(void)
{
    scarce = allocations_left;
    allocations_left = -1;
}

static void give_back(void)
{
    allocations_left = scarce;
}

static const struct setting *setting;

static void reload_scarcely(const void *arguments)
{
    hold();
    perhaps_error error = {.size = sizeof error};
    perhaps_guard *guard = start_guard(setting);
    begin_scarce();
    int code = perhaps_guard_reload(guard, "f", NULL, &error);
    end_scarce();
    assert_recovers(guard, code, &error, reload_again);
    perhaps_guard_free(guard);
    give_back();
}

static void catch_up_scarcely(const void *arguments)
{
    hold();
    perhaps_error error = {.size = sizeof error};
    perhaps_guard *guard = start_guard(setting);
    reload(guard, 0, "");
    run(db, "DELETE FROM t WHERE k = '999'; INSERT INTO t(k) VALUES ('999')");
    begin_scarce();
    int code = perhaps_guard_catch_up(guard, &error);
    end_scarce();
    assert_recovers(guard, code, &error, catch_up_again);
    perhaps_guard_free(guard);
    give_back();
}

static void rebuild_scarcely(const void *arguments)
{
    hold();
    perhaps_error error = {.size = sizeof error};
    perhaps_guard *guard = start_guard(setting);
    begin_scarce();
    int code = perhaps_guard_rebuild(guard, 2000, &error);
    code = code == 0 ? perhaps_guard_save(guard, "scarce", &error) : code;
    code = code == 0 ? perhaps_guard_forget(guard, &error) : code;
    end_scarce();
    rebuild(guard);
    assert_recovers(guard, code, &error, catch_up_again);
    perhaps_guard_free(guard);
    give_back();
}

static void test_scarce_sqlite(void **state)
{
    static const struct setting settings[] = {CUCKOO_FOLLOWS,
                                              {.kind = PERHAPS_KIND_BLOOM, .flags = PERHAPS_GUARD_OUTSIDE_WRITERS}};
    run(db, "DELETE FROM t WHERE CAST(k AS INT) >= 30");
    install_log();
    memory = (struct memory){.calls = 0};
    for (size_t i = 0; i < COUNT(settings); i++) {
        setting = &settings[i];
        make_file(setting);
        run(db, "DELETE FROM t WHERE k IN ('1', '2'); UPDATE t SET k = '950' WHERE k = '3'; INSERT INTO t(k) VALUES "
                "('1'), ('4')");
        with_scarce_memory_every(3, reload_scarcely, NULL);
        with_scarce_memory_every(3, catch_up_scarcely, NULL);
        with_scarce_memory_every(5, rebuild_scarcely, NULL);
    }
}

// Adding only.
static void append_scarcely(const void *arguments)
{
    static int next;
    char sql[64];
    hold();
    perhaps_error error = {.size = sizeof error};
    perhaps_guard *guard = start_guard(setting);
    reload(guard, 0, "");
    (void)snprintf(sql, sizeof sql, "INSERT INTO t(k) VALUES ('%d')", 940 + next++ % 60);
    run(db, sql);
    begin_scarce();
    int code = perhaps_guard_catch_up(guard, &error);
    end_scarce();
    assert_recovers(guard, code, &error, catch_up_again);
    begin_scarce();
    code = perhaps_guard_save(guard, "scarce", &error);
    end_scarce();
    assert_done_or_no_memory(code, 0, &error);
    perhaps_guard_free(guard);
    give_back();
}

static void test_scarce_sqlite_by_rows(void **state)
{
    static const struct setting by_row = {.kind = PERHAPS_KIND_BLOOM, .flags = PERHAPS_GUARD_FOLLOWS, .appended = 1};
    setting = &by_row;
    run(db, "DELETE FROM t WHERE CAST(k AS INT) >= 30");
    make_file(setting);
    with_scarce_memory(append_scarcely, NULL);
}

// Beginning to follow: a store that could not at first is no worse for it.
static void begin_scarcely(const void *arguments)
{
    hold();
    perhaps_error error = {.size = sizeof error};
    perhaps_store_changes changes;
    perhaps_store_position position;
    perhaps_store_sqlite_close(sqlite);
    sqlite = open_column("t", "k");
    begin_scarce();
    int code = perhaps_store_sqlite_changes(sqlite, 0, &changes, &error);
    code = code < 0 ? code : changes.position(changes.context, &position, &error);
    int way = code < 0 ? code : perhaps_store_sqlite_way(sqlite, &error);
    end_scarce();
    assert_done_or_no_memory(code, 0, &error);
    assert_true(way == PERHAPS_E_MEMORY || way == (arguments != NULL ? PERHAPS_SQLITE_LOG : PERHAPS_SQLITE_VERSION));
    assert_int_equal(perhaps_store_sqlite_changes(sqlite, 0, &changes, NULL), 0);
    assert_int_equal(changes.position(changes.context, &position, NULL), 0);
    perhaps_store_position now;
    assert_int_equal(changes.each_change(changes.context, &position, &now, NULL, NULL, NULL), 0); // it is steady
    give_back();
}

static void test_scarce_beginning(void **state)
{
    with_scarce_memory(begin_scarcely, NULL);
    install_log();
    with_scarce_memory(begin_scarcely, "log");
}

// Going over to another file, questions and following.
static void go_over_scarcely(const void *arguments)
{
    hold();
    perhaps_error error = {.size = sizeof error};
    perhaps_guard *guard = start_guard(setting);
    rebuild(guard);
    make("new.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, k TEXT); INSERT INTO t(k) VALUES ('new')");
    assert_int_equal(rename("new.db", "a.db"), 0);
    begin_scarce();
    int found = ask(sqlite, BYTES("new"));
    int code = perhaps_guard_catch_up(guard, NULL);
    int made = perhaps_guard_rebuild(guard, 10, &error);
    end_scarce();
    assert_true(found == 1 || found == PERHAPS_E_MEMORY);
    assert_int_equal(code, 1);
    assert_done_or_no_memory(made, 0, &error);
    assert_int_equal(ask(sqlite, BYTES("new")), 1);
    assert_int_equal(perhaps_guard_rebuild(guard, 10, NULL), 0);
    catch_up(guard, 0, "");
    assert_int_equal(perhaps_guard_ask(guard, "new", 3), 1);
    perhaps_guard_free(guard);
    give_back();
}

static void test_scarce_going_over(void **state)
{
    static const struct setting follows = CUCKOO_FOLLOWS;
    setting = &follows;
    with_scarce_memory_every(11, go_over_scarcely, NULL);
}

// All of the log, or nothing.
static void install_scarcely(const void *arguments)
{
    perhaps_error error = {.size = sizeof error};
    int code = perhaps_store_sqlite_install_log("a.db", "t", "k", 0, &error);
    hold();
    assert_done_or_no_memory(code, 1, &error);
    assert_int_equal(perhaps_store_sqlite_install_log("a.db", "t", "k", 0, NULL), code != 1);
    give_back();
    code = perhaps_store_sqlite_remove_log("a.db", "t", "k", 0, &error);
    hold();
    assert_done_or_no_memory(code, 1, &error);
    assert_int_equal(perhaps_store_sqlite_remove_log("a.db", "t", "k", 0, NULL), code != 1);
    give_back();
}

static void test_scarce_log(void **state)
{
    with_scarce_memory_every(11, install_scarcely, NULL);
}

// The argument, if there is one, says which: "test_scarce*".
int main(int argc, char **argv)
{
    make_memory_scarce(); // before SQLite is used
    cmocka_set_test_filter(argc > 1 ? argv[1] : NULL);
    const struct CMUnitTest tests[] = {
        TEST(test_reload),        TEST(test_catch_up),          TEST(test_save),
        TEST(test_scarce_sqlite), TEST(test_scarce_beginning),  TEST(test_scarce_sqlite_by_rows),
        TEST(test_scarce_log),    TEST(test_scarce_going_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
