// SPDX-License-Identifier: MIT
// Guards that follow a PostgreSQL table: transactions that are committed in another order than they wrote, restarts over
// what was written meanwhile, listings beside writers.
#include "postgres_follow_helpers.h"

#include <pthread.h>

/* ---------------------------------------------------------------- the order of commits */

// The older transaction writes first, and is committed last. Whoever goes by numbers, of rows or of transactions, has passed
// it by then.
static void test_commits_in_opposite_order(void **state)
{
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    perhaps_guard *guard = start_guard(&setting);
    rebuild(guard);
    PGconn *older = open_session();
    run(older, "BEGIN; INSERT INTO t(k) VALUES ('600'); DELETE FROM t WHERE k = '7'");
    write_sql("INSERT INTO t(k) VALUES ('601')");
    catch_up(guard, 0, NULL);
    assert_int_equal(statistics_of(guard).changes, 1);
    assert_int_equal(asks(guard, 601), 1);
    write_sql("INSERT INTO t(k) VALUES ('602')");
    catch_up(guard, 0, NULL);
    assert_int_equal(statistics_of(guard).changes, 2);
    run(older, "COMMIT");
    catch_up(guard, 0, NULL);
    assert_int_equal(statistics_of(guard).changes, 4);
    assert_int_equal(asks(guard, 600), 1);
    assert_int_equal(missed(guard), 0);
    catch_up(guard, 0, NULL); // once
    assert_int_equal(statistics_of(guard).changes, 4);
    save(guard);
    assert_int_equal(copies_in("f"), count_keys(postgres));
    perhaps_guard_free(guard);
    PQfinish(older);
}

// The same over a restart, and with the history before it forgotten.
static void test_commits_after_a_restart(void **state)
{
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    PGconn *older = open_session();
    run(older, "BEGIN; INSERT INTO t(k) VALUES ('600')");
    write_sql("INSERT INTO t(k) VALUES ('601')");
    perhaps_guard *guard = start_guard(&setting);
    rebuild(guard); // its listing does not show what the older one wrote
    assert_int_equal(missed(guard), 0);
    save(guard);
    assert_int_equal(perhaps_guard_forget(guard, NULL), 0);
    perhaps_guard_free(guard);
    assert_int_equal(number_of(db, "SELECT count(*) FROM " LOG), 1);
    write_sql("INSERT INTO t(k) VALUES ('602')");
    run(older, "INSERT INTO t(k) VALUES ('603'); COMMIT");
    guard = start_guard(&setting);
    reload(guard, 0, NULL);
    assert_int_equal(statistics_of(guard).changes, 3);
    assert_int_equal(missed(guard), 0);
    perhaps_guard_free(guard);
    PQfinish(older);
}

// Many at a time, in an order drawn at random, with guards that start anew in between.

enum { SESSIONS = 8, STEPS = 400 };

struct sessions {
    PGconn *of[SESSIONS];
    bool begun[SESSIONS];
    uint64_t random;
};

static unsigned draw(struct sessions *sessions, unsigned below)
{
    sessions->random = sessions->random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (unsigned)((sessions->random >> 33) % below);
}

// Each session has keys of its own, so that nobody waits for another.
static void do_something(struct sessions *sessions)
{
    unsigned s = draw(sessions, SESSIONS);
    unsigned key = draw(sessions, 64) * SESSIONS + s;
    char sql[96];
    if (!sessions->begun[s]) {
        run(sessions->of[s], "BEGIN");
    }
    (void)snprintf(sql, sizeof sql,
                   draw(sessions, 2) == 0 ? "INSERT INTO t(k) VALUES ('%u')" : "DELETE FROM t WHERE k = '%u'", key);
    run(sessions->of[s], sql);
    sessions->begun[s] = draw(sessions, 4) != 0;
    if (!sessions->begun[s]) {
        run(sessions->of[s], draw(sessions, 4) == 0 ? "ROLLBACK" : "COMMIT");
    }
}

static void test_many_transactions(void **state)
{
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    struct sessions sessions = {.random = 7};
    for (int i = 0; i < SESSIONS; i++) {
        sessions.of[i] = open_session();
    }
    make_file(&setting);
    perhaps_guard *guard = start_guard(&setting);
    reload(guard, 0, NULL);
    for (int i = 1; i <= STEPS; i++) {
        do_something(&sessions);
        if (i % 5 == 0) {
            catch_up(guard, 0, NULL);
            assert_int_equal(missed(guard), 0);
        }
        if (i % 50 == 0) {
            save(guard);
            assert_int_equal(perhaps_guard_forget(guard, NULL), 0);
            assert_int_equal(copies_in("f"), count_keys(postgres));
            perhaps_guard_free(guard);
            guard = start_guard(&setting);
            reload(guard, 0, NULL);
        }
    }
    for (int i = 0; i < SESSIONS; i++) {
        PQfinish(sessions.of[i]); // undoes what was begun
    }
    perhaps_guard_free(guard);
}

/* ---------------------------------------------------------------- listings beside writers */

struct listing {
    PGconn *beside;
    int visited;
    int late;
    int seven;
};

static int write_beside(void *visitor, const void *key, size_t length)
{
    struct listing *listing = visitor;
    listing->late += length == 4 && memcmp(key, "late", 4) == 0;
    listing->seven += length == 1 && memcmp(key, "7", 1) == 0;
    if (listing->visited++ == 5) {
        run(listing->beside, "COMMIT; INSERT INTO t(k) VALUES ('late'); DELETE FROM t WHERE k = '7'");
    }
    return 0;
}

struct seen {
    int count;
    int wrong;
};

static int see_change(void *visitor, const void *key, size_t length, int before, int after)
{
    struct seen *seen = visitor;
    bool came =
        length == 4 && (memcmp(key, "late", 4) == 0 || memcmp(key, "slow", 4) == 0) && before == 0 && after == 1;
    bool went = length == 1 && memcmp(key, "7", 1) == 0 && before == 1 && after == 0;
    seen->count++;
    seen->wrong += !came && !went;
    return 0;
}

// The listing's snapshot is that of its position: what it does not show is what comes as a change, and nothing else, also of
// a transaction that wrote before the listing.
static void test_a_listing_and_its_position(void **state)
{
    install_log();
    open_at(server());
    perhaps_store_changes changes;
    perhaps_store_position then;
    perhaps_store_position now;
    perhaps_error error = {.size = sizeof error};
    struct listing listing = {.beside = db};
    write_sql("BEGIN; INSERT INTO t(k) VALUES ('slow')");
    assert_int_equal(perhaps_store_postgres_changes(postgres, &changes, &error), 0);
    assert_code(changes.list(changes.context, &then, write_beside, &listing, &error), 0, &error);
    assert_int_equal(listing.visited, 500);
    assert_int_equal(listing.late, 0);
    assert_int_equal(listing.seven, 1);
    struct seen seen = {0};
    assert_code(changes.each_change(changes.context, &then, &now, see_change, &seen, &error), 0, &error);
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.wrong, 0);
    struct seen again = {0};
    assert_code(changes.each_change(changes.context, &now, &now, see_change, &again, &error), 0, &error);
    assert_int_equal(again.count, 0);
    assert_int_equal(perhaps_store_postgres_changes(NULL, &changes, NULL), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_store_postgres_changes(postgres, NULL, NULL), PERHAPS_E_ARGUMENT);
}

static void *catch_up_beside(void *guard)
{
    static int code;
    code = perhaps_guard_catch_up(guard, NULL);
    return &code;
}

// A table that is emptied and filled again, in one transaction, while a catch-up begins: a snapshot from before sees no
// row of it, and would say of a key that it has gone whose other row was deleted before.
static void test_a_table_that_is_filled_anew(void **state)
{
    install_log();
    write_sql("INSERT INTO t(k) VALUES ('5')");
    const struct setting setting = CUCKOO_FOLLOWS;
    perhaps_guard *guard = start_guard(&setting);
    rebuild(guard);
    write_sql("DELETE FROM t WHERE id = (SELECT max(id) FROM t WHERE k = '5')");
    write_sql("BEGIN; CREATE TEMPORARY TABLE kept AS SELECT k FROM t; TRUNCATE t; INSERT INTO t(k) SELECT k FROM kept");
    pthread_t thread;
    PGconn *watcher = open_session();
    assert_int_equal(pthread_create(&thread, NULL, catch_up_beside, guard), 0);
    while (number_of(watcher, "SELECT count(*) FROM pg_locks WHERE NOT granted") == 0) {
        (void)usleep(10000);
    }
    write_sql("COMMIT");
    void *code = NULL;
    assert_int_equal(pthread_join(thread, &code), 0);
    assert_int_equal(*(int *)code, 1);
    assert_int_equal(asks(guard, 5), 1);
    rebuild(guard);
    assert_int_equal(missed(guard), 0);
    PQfinish(watcher);
    perhaps_guard_free(guard);
}

/* ---------------------------------------------------------------- restarts */

static void test_restart_over_changes(void **state)
{
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    restart_over_changes(&setting, many_changes, 0, NULL);
    assert_int_equal(copies_in("f"), count_keys(postgres)); // none too many: taken out exactly
    assert_int_equal(number_of(db, "SELECT count(*) FROM " LOG), 1);
    perhaps_guard *guard = start_guard(&setting); // and again, from there
    write_sql("DELETE FROM t WHERE k = '600'");
    reload(guard, 0, NULL);
    assert_int_equal(statistics_of(guard).changes, 1);
    save(guard);
    assert_int_equal(copies_in("f"), count_keys(postgres));
    perhaps_guard_free(guard);
}

static void test_restart_of_other_kinds(void **state)
{
    install_log();
    const struct setting counting = {.kind = PERHAPS_KIND_COUNTING, .flags = PERHAPS_GUARD_FOLLOWS};
    restart_over_changes(&counting, many_changes, 0, NULL);
    assert_int_equal(copies_in("f"), count_keys(postgres));
    write_sql("DELETE FROM t; INSERT INTO t(k) SELECT v::text FROM generate_series(0, 499) AS v");
    const struct setting bits = {.flags = PERHAPS_GUARD_FOLLOWS};
    make_file(&bits);
    write_sql(many_changes);
    perhaps_guard *guard = start_guard(&bits);
    reload(guard, 0, NULL);
    assert_int_equal(missed(guard), 0);
    assert_int_equal(statistics_of(guard).residue, 400);
    perhaps_guard_free(guard);
}

// All writes go through the guard: what they wrote after the save comes from the log.
static int insert_row(void *context, const void *key, size_t length, perhaps_error *error)
{
    const char *const values[] = {key};
    const int lengths[] = {(int)length};
    const int formats[] = {1};
    const Oid types[] = {25};
    PGresult *result = PQexecParams(db, "INSERT INTO t(k) VALUES ($1)", 1, types, values, lengths, formats, 0);
    int code = PQresultStatus(result) == PGRES_COMMAND_OK ? 0 : PERHAPS_E_IO;
    PQclear(result);
    return code;
}

static void test_writes_through_the_guard(void **state)
{
    install_log();
    const struct setting setting = CUCKOO_ALONE;
    make_file(&setting);
    perhaps_guard *guard = start_guard(&setting);
    reload(guard, 0, NULL);
    save(guard);
    assert_int_equal(perhaps_guard_add(guard, "777", 3, insert_row, NULL, NULL), 1);
    perhaps_guard_free(guard); // without a save
    guard = start_guard(&setting);
    reload(guard, 0, NULL);
    assert_int_equal(statistics_of(guard).changes, 1);
    assert_int_equal(missed(guard), 0);
    save(guard);
    assert_int_equal(copies_in("f"), 501);
    perhaps_guard_free(guard);
}

// Keys that are bytes, and names that are too long for a log to have in its own.
#define ODD "a \"\"table\"\" whose name is rather long, 012"

static int count_bytes(void *visitor, const void *key, size_t length, int before, int after)
{
    int *lengths = visitor;
    lengths[after] += (int)length;
    lengths[2] += before + after == 1;
    return 0;
}

static void test_bytes_and_odd_names(void **state)
{
    write_sql("CREATE TABLE \"" ODD "\" (\"the 'column'\" bytea);"
              "INSERT INTO \"" ODD "\" VALUES ('\\x00ff'), (''), (NULL)");
    const char *const table = "a \"table\" whose name is rather long, 012";
    install_log_of(table, "the 'column'");
    perhaps_store_postgres *other = open_column(table, "the 'column'");
    perhaps_store_changes changes;
    perhaps_store_position before;
    perhaps_store_position after;
    struct visits visits = {.used = 0};
    int lengths[3] = {0};
    assert_int_equal(perhaps_store_postgres_changes(other, &changes, NULL), 0);
    assert_int_equal(changes.list(changes.context, &before, note_visit, &visits, NULL), 0);
    assert_int_equal(visits.count, 2);
    write_sql("UPDATE \"" ODD "\" SET \"the 'column'\" = '\\x00fe00'");
    assert_int_equal(changes.each_change(changes.context, &before, &after, count_bytes, lengths, NULL), 0);
    assert_int_equal(lengths[0], 2); // two that went: of two bytes, and of none
    assert_int_equal(lengths[1], 3);
    assert_int_equal(lengths[2], 3);
    assert_int_equal(change_log_of(table, "the 'column'", false, NULL), 1);
    perhaps_store_postgres_close(other);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_commits_in_opposite_order),  TEST(test_commits_after_a_restart),     TEST(test_many_transactions),
        TEST(test_a_listing_and_its_position), TEST(test_a_table_that_is_filled_anew), TEST(test_restart_over_changes),
        TEST(test_restart_of_other_kinds),     TEST(test_writes_through_the_guard),    TEST(test_bytes_and_odd_names),
    };
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
