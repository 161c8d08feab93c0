// SPDX-License-Identifier: MIT
// The guard before a PostgreSQL table: asked for resident keys without pause, while rows come and go and filters are made
// anew from snapshots.
//
//     test_guard_postgres [rows, default 4000] [rebuilds, default 20]    1,000,000 in the long tier
#include <pthread.h>

#include "postgres_helpers.h"

static unsigned long rows = 4000;
static unsigned long rebuilds = 20;

// A session that writes, for whoever holds the lock.
struct table {
    PGconn *session;
    pthread_mutex_t lock;
};

static int write_row(struct table *table, const char *sql, const void *key, size_t length)
{
    const Oid types[] = {25};
    const char *const values[] = {key};
    const int lengths[] = {(int)length};
    const int formats[] = {1};
    (void)pthread_mutex_lock(&table->lock);
    PGresult *result = PQexecParams(table->session, sql, 1, types, values, lengths, formats, 0);
    int code = PQresultStatus(result) == PGRES_COMMAND_OK ? 0 : PERHAPS_E_IO;
    PQclear(result);
    (void)pthread_mutex_unlock(&table->lock);
    return code;
}

static int insert_row(void *context, const void *key, size_t length, perhaps_error *error)
{
    return write_row(context, "INSERT INTO t VALUES ($1)", key, length);
}

// One row of those with the key.
static int delete_row(void *context, const void *key, size_t length, perhaps_error *error)
{
    return write_row(context, "DELETE FROM t WHERE ctid = (SELECT ctid FROM t WHERE c = $1 LIMIT 1)", key, length);
}

static void open_table(struct table *table)
{
    char sql[256];
    (void)snprintf(sql, sizeof sql,
                   "CREATE TABLE t(c text); CREATE INDEX i ON t(c);"
                   "INSERT INTO t SELECT 'resident ' || i FROM generate_series(0, %lu) AS i; ANALYZE t",
                   rows - 1);
    table->session = open_session();
    run(table->session, sql);
    (void)pthread_mutex_init(&table->lock, NULL);
}

static void close_table(struct table *table)
{
    PQfinish(table->session);
    (void)pthread_mutex_destroy(&table->lock);
}

static perhaps_guard *guard_before(perhaps_store_postgres *postgres)
{
    perhaps_store store = store_of(postgres);
    assert_int_equal(store.flags, PERHAPS_STORE_SNAPSHOT | PERHAPS_STORE_DISTINCT);
    perhaps_options options = {.size = sizeof options,
                               .kind = PERHAPS_KIND_CUCKOO,
                               .capacity = 2 * rows,
                               .fpr = 0.01,
                               .flags = PERHAPS_SHARED};
    perhaps_filter *filter = NULL;
    assert_int_equal(perhaps_create(&options, &filter, NULL), 0);
    perhaps_guard_options guarded = {
        .size = sizeof guarded, .adopted = filter, .store = &store, .flags = PERHAPS_GUARD_NOT_READY};
    perhaps_guard *guard = NULL;
    assert_int_equal(perhaps_guard_create(&guarded, &guard, NULL), 0);
    assert_int_equal(perhaps_guard_ask(guard, "never", 5), 1); // not ready: perhaps to everything
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
        if (i % 1024 == 0) {
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

static void run_actors(perhaps_guard *guard, struct table *table)
{
    static void *(*const work[])(void *) = {check, check, write_rows, write_rows};
    struct actor actors[COUNT(work)];
    pthread_t threads[COUNT(work)];
    int stop = 0;
    for (size_t i = 0; i < COUNT(work); i++) {
        actors[i] = (struct actor){.guard = guard, .table = table, .stop = &stop, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, work[i], &actors[i]), 0);
    }
    for (unsigned long i = 0; i < rebuilds; i++) {
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
        print_message("%s: %lu\n", work[i] == check ? "questions" : "keys written twice and removed twice",
                      (unsigned long)actors[i].asked);
    }
}

static void test_resident_keys_without_pause(void **state)
{
    struct table table = {.session = NULL};
    open_table(&table);
    perhaps_store_postgres *postgres = open_column("t", "c");
    perhaps_guard *guard = guard_before(postgres);
    run_actors(guard, &table);
    perhaps_guard_statistics statistics = {.size = sizeof statistics};
    assert_int_equal(perhaps_guard_stats(guard, &statistics), 0);
    assert_int_equal((uint64_t)statistics.distinct_estimate, count_keys(postgres)); // exact to the copy
    assert_int_equal(statistics.residue, 0);
    assert_int_equal(statistics.rebuilds, rebuilds + 1);
    perhaps_guard_free(guard);
    perhaps_store_postgres_close(postgres);
    close_table(&table);
}

// A question beside a listing sees what was written meanwhile; the listing does not.
struct beside {
    struct table *table;
    perhaps_store store;
    uint64_t visits;
    uint64_t late;
};

static int write_and_ask(void *visitor, const void *key, size_t length)
{
    struct beside *beside = visitor;
    beside->late += length == 4 && memcmp(key, "late", 4) == 0;
    if (beside->visits++ == 5) {
        assert_int_equal(insert_row(beside->table, "late", 4, NULL), 0);
        assert_int_equal(beside->store.contains(beside->store.context, "late", 4, NULL), 1);
        assert_int_equal(delete_row(beside->table, "late", 4, NULL), 0);
        assert_int_equal(beside->store.contains(beside->store.context, "late", 4, NULL), 0);
        assert_int_equal(insert_row(beside->table, "late", 4, NULL), 0);
        assert_int_equal(delete_row(beside->table, "resident 1", 10, NULL), 0);
    }
    return 0;
}

static void test_questions_beside_a_listing(void **state)
{
    struct table table = {.session = NULL};
    open_table(&table);
    perhaps_store_postgres *postgres = open_column("t", "c");
    struct beside beside = {.table = &table, .store = store_of(postgres)};
    assert_int_equal(beside.store.each_key(beside.store.context, write_and_ask, &beside, NULL), 0);
    assert_int_equal(beside.visits, rows);
    assert_int_equal(beside.late, 0);
    assert_int_equal(count_keys(postgres), rows);
    perhaps_store_postgres_close(postgres);
    close_table(&table);
}

// The store goes in the middle: an error for what passed the filter, no "absent"; a rebuild leaves the old filter.
static void test_a_store_that_goes(void **state)
{
    struct table table = {.session = NULL};
    open_table(&table);
    perhaps_store_postgres *postgres = open_column("t", "c");
    perhaps_guard *guard = guard_before(postgres);
    control("stop");
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(perhaps_guard_contains(guard, "resident 1", 10, &error), PERHAPS_E_IO);
    assert_int_equal(perhaps_guard_rebuild(guard, 0, &error), PERHAPS_E_IO);
    assert_int_equal(perhaps_guard_remove(guard, "resident 1", 10, delete_row, &table, &error), PERHAPS_E_IO);
    assert_int_equal(perhaps_guard_ask(guard, "resident 1", 10), 1);
    control("start");
    if (perhaps_guard_contains(guard, "resident 1", 10, &error) != 1) {
        fail_msg("%s: %s", error.subject, error.text);
    }
    assert_int_equal(perhaps_guard_rebuild(guard, 0, &error), 0);
    perhaps_guard_statistics statistics = {.size = sizeof statistics};
    assert_int_equal(perhaps_guard_stats(guard, &statistics), 0);
    assert_int_equal(statistics.rebuilds_failed, 1);
    assert_int_equal(statistics.unresolved, 3); // with the two that were only asked
    perhaps_guard_free(guard);
    perhaps_store_postgres_close(postgres);
    close_table(&table);
}

#define TEST(function) cmocka_unit_test_setup(function, enter_schema)

int main(int argc, char **argv)
{
    rows = argc > 1 ? strtoul(argv[1], NULL, 10) : rows;
    rebuilds = argc > 2 ? strtoul(argv[2], NULL, 10) : rebuilds;
    const struct CMUnitTest tests[] = {
        TEST(test_resident_keys_without_pause),
        TEST(test_questions_beside_a_listing),
        TEST(test_a_store_that_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
