// SPDX-License-Identifier: MIT
// The guard before a SQLite table: asked for resident keys without pause, while rows come and go and filters are made anew.
//
//     test_guard_sqlite [rows, default 4000] [rebuilds, default 20]    1,000,000 in the long tier
#include <pthread.h>

#include "sqlite_helpers.h"

static unsigned long rows = 4000;
static unsigned long rebuilds = 20;

// A connection that writes, for whoever holds the lock.
struct table {
    sqlite3 *db;
    sqlite3_stmt *insert;
    sqlite3_stmt *erase;
    pthread_mutex_t lock;
};

static int step(struct table *table, sqlite3_stmt *statement, const void *key, size_t length)
{
    (void)pthread_mutex_lock(&table->lock);
    int result = sqlite3_bind_text64(statement, 1, key, length, SQLITE_STATIC, SQLITE_UTF8);
    result = result == SQLITE_OK ? sqlite3_step(statement) : result;
    (void)sqlite3_reset(statement);
    (void)pthread_mutex_unlock(&table->lock);
    return result == SQLITE_DONE ? 0 : PERHAPS_E_IO;
}

static int insert_row(void *context, const void *key, size_t length, perhaps_error *error)
{
    struct table *table = context;
    return step(table, table->insert, key, length);
}

static int delete_row(void *context, const void *key, size_t length, perhaps_error *error)
{
    struct table *table = context;
    return step(table, table->erase, key, length);
}

static void open_table(struct table *table, const char *journal)
{
    char sql[256];
    (void)snprintf(sql, sizeof sql,
                   "PRAGMA journal_mode = %s; CREATE TABLE t(c TEXT); CREATE INDEX i ON t(c);"
                   "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %lu)"
                   "INSERT INTO t SELECT 'resident ' || i FROM n",
                   journal, rows - 1);
    table->db = open_writer("t.db");
    run(table->db, sql);
    (void)sqlite3_busy_timeout(table->db, 20000);
    assert_int_equal(sqlite3_prepare_v2(table->db, "INSERT INTO t VALUES (?1)", -1, &table->insert, NULL), SQLITE_OK);
    // One row of those with the key.
    assert_int_equal(sqlite3_prepare_v2(table->db,
                                        "DELETE FROM t WHERE rowid = (SELECT rowid FROM t WHERE c = ?1 LIMIT 1)", -1,
                                        &table->erase, NULL),
                     SQLITE_OK);
    (void)pthread_mutex_init(&table->lock, NULL);
}

static void close_table(struct table *table)
{
    (void)sqlite3_finalize(table->insert);
    (void)sqlite3_finalize(table->erase);
    (void)sqlite3_close(table->db);
    (void)pthread_mutex_destroy(&table->lock);
}

static perhaps_guard *guard_before(perhaps_store_sqlite *sqlite, uint32_t kind)
{
    perhaps_store store;
    assert_int_equal(perhaps_store_sqlite_store(sqlite, &store), 0);
    assert_int_equal(store.flags, PERHAPS_STORE_SNAPSHOT | PERHAPS_STORE_DISTINCT);
    perhaps_options options = {
        .size = sizeof options, .kind = kind, .capacity = 2 * rows, .fpr = 0.01, .flags = PERHAPS_SHARED};
    perhaps_filter *filter = NULL;
    assert_int_equal(perhaps_create(&options, &filter, NULL), 0);
    perhaps_guard_options guarded = {
        .size = sizeof guarded, .adopted = filter, .store = &store, .flags = PERHAPS_GUARD_NOT_READY};
    perhaps_guard *guard = NULL;
    assert_int_equal(perhaps_guard_create(&guarded, &guard, NULL), 0);
    assert_int_equal(perhaps_guard_rebuild(guard, 2 * rows, NULL), 0);
    return guard;
}

struct actor {
    perhaps_guard *guard;
    struct table *table;
    const int *stop;
    uint64_t number;
    uint64_t missed;
    uint64_t asked;
    uint64_t failed;
};

static bool goes_on(const struct actor *actor)
{
    return actor->asked == 0 || __atomic_load_n(actor->stop, __ATOMIC_RELAXED) == 0;
}

static void *check(void *context)
{
    struct actor *actor = context;
    char key[48];
    for (uint64_t i = 0; goes_on(actor); i++) {
        size_t length = (size_t)snprintf(key, sizeof key, "resident %lu", (unsigned long)(i * 7919 % rows));
        actor->missed += perhaps_guard_ask(actor->guard, key, length) != 1;
        actor->asked++;
        if (i % 16 == 0) {
            actor->missed += perhaps_guard_contains(actor->guard, key, length, NULL) != 1;
            length = (size_t)snprintf(key, sizeof key, "absent %lu", (unsigned long)i);
            actor->failed += perhaps_guard_contains(actor->guard, key, length, NULL) != 0;
        }
    }
    return NULL;
}

// Two rows with each key; the first that goes takes no copy.
static void *write_rows(void *context)
{
    struct actor *actor = context;
    char key[48];
    for (uint64_t i = 0; goes_on(actor); i++) {
        size_t length =
            (size_t)snprintf(key, sizeof key, "guest %lu %lu", (unsigned long)actor->number, (unsigned long)(i % 500));
        actor->failed += perhaps_guard_add(actor->guard, key, length, insert_row, actor->table, NULL) < 0;
        actor->failed += perhaps_guard_add(actor->guard, key, length, insert_row, actor->table, NULL) != 0;
        actor->failed += perhaps_guard_remove(actor->guard, key, length, delete_row, actor->table, NULL) != 0;
        actor->missed += perhaps_guard_ask(actor->guard, key, length) != 1;
        actor->missed += perhaps_guard_contains(actor->guard, key, length, NULL) != 1;
        actor->failed += perhaps_guard_remove(actor->guard, key, length, delete_row, actor->table, NULL) != 1;
        actor->asked++;
    }
    return NULL;
}

static void run_actors(perhaps_guard *guard, struct table *table, unsigned long count)
{
    static void *(*const work[])(void *) = {check, check, write_rows, write_rows};
    struct actor actors[COUNT(work)];
    pthread_t threads[COUNT(work)];
    int stop = 0;
    for (size_t i = 0; i < COUNT(work); i++) {
        actors[i] = (struct actor){.guard = guard, .table = table, .stop = &stop, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, work[i], &actors[i]), 0);
    }
    for (unsigned long i = 0; i < count; i++) {
        perhaps_error error = {.size = sizeof error};
        assert_int_equal(perhaps_guard_rebuild_start(guard, 2 * rows, &error), 0);
        if (perhaps_guard_rebuild_wait(guard, &error) != 0) {
            fail_msg("%s: %s", error.subject, error.text);
        }
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (size_t i = 0; i < COUNT(work); i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(actors[i].missed, 0);
        assert_int_equal(actors[i].failed, 0);
        assert_true(actors[i].asked > 0);
    }
}

static void test_resident_keys_without_pause(void **state)
{
    struct table table = {.db = NULL};
    open_table(&table, "WAL");
    perhaps_store_sqlite *sqlite = NULL;
    assert_int_equal(perhaps_store_sqlite_open("t.db", "t", "c", 20000, &sqlite, NULL), 0);
    perhaps_guard *guard = guard_before(sqlite, PERHAPS_KIND_CUCKOO);
    run_actors(guard, &table, rebuilds);
    perhaps_guard_statistics statistics = {.size = sizeof statistics};
    assert_int_equal(perhaps_guard_stats(guard, &statistics), 0);
    assert_int_equal((uint64_t)statistics.distinct_estimate, count_keys(sqlite)); // exact to the copy
    assert_int_equal(statistics.residue, 0);
    assert_int_equal(statistics.rebuilds, rebuilds + 1);
    perhaps_guard_free(guard);
    perhaps_store_sqlite_close(sqlite);
    close_table(&table);
}

// Without WAL a writer waits for the listing to end. The guard holds nothing that the listing would wait for.
static void *insert_one(void *context)
{
    struct actor *actor = context;
    actor->failed += perhaps_guard_add(actor->guard, "newcomer", 8, insert_row, actor->table, NULL) != 1;
    return NULL;
}

static void test_writers_that_wait_for_the_listing(void **state)
{
    struct table table = {.db = NULL};
    open_table(&table, "DELETE");
    perhaps_store_sqlite *sqlite = NULL;
    assert_int_equal(perhaps_store_sqlite_open("t.db", "t", "c", 20000, &sqlite, NULL), 0);
    perhaps_guard *guard = guard_before(sqlite, PERHAPS_KIND_CUCKOO);
    for (int i = 0; i < 3; i++) {
        struct actor actor = {.guard = guard, .table = &table};
        pthread_t thread;
        assert_int_equal(perhaps_guard_rebuild_start(guard, 0, NULL), 0);
        assert_int_equal(pthread_create(&thread, NULL, insert_one, &actor), 0);
        assert_int_equal(perhaps_guard_rebuild_wait(guard, NULL), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_int_equal(actor.failed, 0);
        assert_int_equal(perhaps_guard_ask(guard, "newcomer", 8), 1);
        assert_int_equal(perhaps_guard_remove(guard, "newcomer", 8, delete_row, &table, NULL), 1);
    }
    perhaps_guard_free(guard);
    perhaps_store_sqlite_close(sqlite);
    close_table(&table);
}

// A question beside a listing sees what was written meanwhile, not the listing's snapshot.
struct beside {
    struct table *table;
    perhaps_store store;
    uint64_t visits;
};

static int write_and_ask(void *visitor, const void *key, size_t length)
{
    (void)key;
    (void)length;
    struct beside *beside = visitor;
    if (beside->visits++ == 5) {
        assert_int_equal(insert_row(beside->table, "late", 4, NULL), 0);
        assert_int_equal(beside->store.contains(beside->store.context, "late", 4, NULL), 1);
        assert_int_equal(delete_row(beside->table, "late", 4, NULL), 0);
        assert_int_equal(beside->store.contains(beside->store.context, "late", 4, NULL), 0);
    }
    return 0;
}

static void test_questions_beside_a_listing(void **state)
{
    struct table table = {.db = NULL};
    open_table(&table, "WAL");
    perhaps_store_sqlite *sqlite = NULL;
    assert_int_equal(perhaps_store_sqlite_open("t.db", "t", "c", 20000, &sqlite, NULL), 0);
    struct beside beside = {.table = &table};
    assert_int_equal(perhaps_store_sqlite_store(sqlite, &beside.store), 0);
    assert_int_equal(beside.store.each_key(beside.store.context, write_and_ask, &beside, NULL), 0);
    assert_int_equal(beside.visits, rows);
    uint64_t count = 0;
    assert_int_equal(beside.store.count(beside.store.context, &count, NULL), 0);
    assert_int_equal(count, rows);
    perhaps_store_sqlite_close(sqlite);
    close_table(&table);
}

int main(int argc, char **argv)
{
    rows = argc > 1 ? strtoul(argv[1], NULL, 10) : rows;
    rebuilds = argc > 2 ? strtoul(argv[2], NULL, 10) : rebuilds;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_resident_keys_without_pause, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(test_writers_that_wait_for_the_listing, enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(test_questions_beside_a_listing, enter_folder, leave_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
