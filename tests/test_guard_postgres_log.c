// SPDX-License-Identifier: MIT
// The log of a PostgreSQL column: installing and removing it, what it must see, and histories that must not be believed.
#include "postgres_follow_helpers.h"

#include <pthread.h>

static void expect_install(const char *table, const char *column, int code, const char *words)
{
    perhaps_error error = {.size = sizeof error};
    assert_code(change_log_of(table, column, true, &error), code, &error);
    assert_contains_text(error.text, words);
    char sql[96];
    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM pg_class WHERE relname = 'perhaps_log.%s.%s'", table, column);
    assert_int_equal(number_of(db, sql), 0);
}

/* ---------------------------------------------------------------- installing */

static void test_install_and_remove(void **state)
{
    assert_int_equal(change_log_of("t", "k", false, NULL), 0);
    install_log();
    assert_int_equal(change_log_of("t", "k", true, NULL), 0);
    assert_int_equal(number_of(db, "SELECT count(*) FROM pg_trigger WHERE tgrelid = 't'::regclass"), 4);
    write_sql("ALTER TABLE t ADD COLUMN l text"); // a log beside it
    install_log_of("t", "l");
    write_sql("INSERT INTO t(l) VALUES ('x')");
    assert_int_equal(number_of(db, "SELECT count(*) FROM " LOG), 1);
    assert_int_equal(number_of(db, "SELECT count(*) FROM \"perhaps_log.t.l\""), 2);
    assert_int_equal(change_log_of("t", "l", false, NULL), 1);
    assert_int_equal(change_log_of("t", "k", false, NULL), 1);
    assert_int_equal(change_log_of("t", "k", false, NULL), 0);
    assert_int_equal(number_of(db, "SELECT count(*) FROM pg_trigger WHERE tgrelid = 't'::regclass"), 0);
    assert_int_equal(number_of(db, "SELECT count(*) FROM pg_proc WHERE proname LIKE 'perhaps%'"), 0);
    assert_int_equal(number_of(db, "SELECT count(*) FROM pg_class WHERE relname LIKE 'perhaps%'"), 0);
}

static void test_refuses(void **state)
{
    write_sql("CREATE VIEW v AS SELECT k FROM t; CREATE TABLE child() INHERITS (t); CREATE TABLE u(k text, n int)");
    expect_install("v", "k", PERHAPS_E_UNSUPPORTED, "no trigger watches");
    expect_install("t", "k", PERHAPS_E_UNSUPPORTED, "another table inherits from it");
    expect_install("u", "n", PERHAPS_E_UNSUPPORTED, "for one number");
    expect_install("missing", "k", PERHAPS_E_ARGUMENT, "no table or view");
    write_sql("CREATE TABLE \"perhaps_log.u.k\"(mine int)");
    perhaps_error error = {.size = sizeof error};
    assert_code(change_log_of("u", "k", true, &error), PERHAPS_E_UNSUPPORTED, &error);
    assert_contains_text(error.text, "already that is not as this release makes it");
    write_sql("DROP TABLE \"perhaps_log.u.k\"");

    perhaps_store_options options = query_of("SELECT k FROM t WHERE k = $1", "SELECT k FROM t");
    assert_int_equal(perhaps_store_postgres_install_log(server(), &options, NULL), PERHAPS_E_UNSUPPORTED);
    assert_int_equal(perhaps_store_postgres_install_log(NULL, &options, NULL), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_store_postgres_remove_log(server(), NULL, NULL), PERHAPS_E_ARGUMENT);
    perhaps_store_changes changes;
    perhaps_store_postgres *other = open_options(&options);
    assert_code(perhaps_store_postgres_changes(other, &changes, &error), PERHAPS_E_UNSUPPORTED, &error);
    perhaps_store_postgres_close(other);
    other = open_column("v", "k");
    assert_code(perhaps_store_postgres_changes(other, &changes, &error), PERHAPS_E_UNSUPPORTED, &error);
    assert_contains_text(error.text, "no trigger watches what a view shows");
    perhaps_store_postgres_close(other);
    other = open_column("u", "k");
    assert_code(perhaps_store_postgres_changes(other, &changes, &error), PERHAPS_E_UNSUPPORTED, &error);
    assert_contains_text(error.text, "has no log");
    perhaps_store_postgres_close(other);
}

static void test_locked(void **state)
{
    perhaps_store_options options = column_of("t", "k");
    options.wait_milliseconds = 50;
    perhaps_error error = {.size = sizeof error};
    write_sql("BEGIN; INSERT INTO t(k) VALUES ('700')"); // a writer at work
    assert_code(perhaps_store_postgres_install_log(server(), &options, &error), PERHAPS_E_IO, &error);
    assert_contains_text(error.text, "locked for longer than 50 ms");
    write_sql("COMMIT");
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    perhaps_guard *guard = start_guard(&setting);
    rebuild(guard);
    perhaps_guard_free(guard);
}

/* ---------------------------------------------------------------- rights */

static void as_role(char *text, size_t room, const char *role)
{
    (void)snprintf(text, room, "%s user=%s", server(), role);
}

// Who only writes needs no right on the log. Who follows needs those that are named.
static void test_rights(void **state)
{
    static char guards[300];
    char writers[300];
    perhaps_error error = {.size = sizeof error};
    write_sql("DROP ROLE IF EXISTS watching; DROP ROLE IF EXISTS writing; CREATE ROLE watching LOGIN;"
              "CREATE ROLE writing LOGIN; GRANT USAGE ON SCHEMA public TO watching, writing;"
              "GRANT SELECT ON t TO watching; GRANT SELECT, INSERT, DELETE ON t TO writing;"
              "GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO writing");
    as_role(guards, sizeof guards, "watching");
    as_role(writers, sizeof writers, "writing");
    address = guards;
    expect_install("t", "k", PERHAPS_E_IO, "the role may not change the log (permission denied for table t)");
    address = NULL;
    install_log();
    address = guards;
    open_at(guards);
    perhaps_store_changes changes;
    assert_code(perhaps_store_postgres_changes(postgres, &changes, &error), PERHAPS_E_UNSUPPORTED, &error);
    assert_contains_text(error.text, "permission denied for table perhaps_log.t.k");
    assert_contains_text(error.text, "grant it SELECT");
    write_sql("GRANT SELECT ON " LOG " TO watching");
    const struct setting setting = CUCKOO_FOLLOWS;
    make_file(&setting);
    PGconn *writer = PQconnectdb(writers);
    run(writer, "SET search_path = pg_temp; CREATE TEMPORARY TABLE \"perhaps_log.t.k\"(delta int, key text);"
                "INSERT INTO public.t(k) VALUES ('700'); DELETE FROM public.t WHERE k = '7'");
    PGresult *result = PQexec(writer, "INSERT INTO public." LOG "(delta, key) VALUES (-1, '8')");
    assert_int_equal(PQresultStatus(result), PGRES_FATAL_ERROR);
    PQclear(result);
    result = PQexec(writer, "CREATE TEMPORARY TABLE mine(k text); CREATE TRIGGER x AFTER INSERT ON mine FOR EACH ROW "
                            "EXECUTE FUNCTION public." LOG "()");
    assert_int_equal(PQresultStatus(result), PGRES_FATAL_ERROR); // it would write what its caller likes
    PQclear(result);
    PQfinish(writer);
    perhaps_guard *guard = start_guard(&setting);
    reload(guard, 0, NULL);
    assert_int_equal(statistics_of(guard).changes, 2);
    assert_int_equal(missed(guard), 0);
    save(guard);
    assert_code(perhaps_guard_forget(guard, &error), PERHAPS_E_IO, &error);
    assert_contains_text(error.text, "it needs INSERT and DELETE there");
    write_sql("GRANT INSERT, DELETE ON " LOG " TO watching");
    assert_code(perhaps_guard_forget(guard, &error), 0, &error);
    assert_int_equal(number_of(db, "SELECT count(*) FROM " LOG), 1);
    perhaps_guard_free(guard);
}

// Rows that are hidden from the role that follows would be taken for rows that went.
static void test_row_security(void **state)
{
    static char guards[300];
    install_log();
    write_sql("DROP ROLE IF EXISTS watching; CREATE ROLE watching LOGIN; GRANT USAGE ON SCHEMA public TO watching;"
              "GRANT SELECT ON ALL TABLES IN SCHEMA public TO watching");
    as_role(guards, sizeof guards, "watching");
    address = guards;
    const struct setting setting = CUCKOO_FOLLOWS;
    perhaps_guard *guard = start_guard(&setting);
    rebuild(guard);
    write_sql("ALTER TABLE t ENABLE ROW LEVEL SECURITY");
    catch_up(guard, 1, "not whole");
    perhaps_guard_free(guard);
}

/* ---------------------------------------------------------------- what the log must see */

static void check_followed(perhaps_guard *guard, uint64_t changes)
{
    catch_up(guard, 0, NULL);
    assert_int_equal(statistics_of(guard).changes, changes);
    assert_int_equal(missed(guard), 0);
}

static void test_partitions(void **state)
{
    write_sql("DROP TABLE t; CREATE TABLE t(k text, d int) PARTITION BY RANGE (d);"
              "CREATE TABLE t0 PARTITION OF t FOR VALUES FROM (0) TO (10);"
              "CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (10) TO (20); INSERT INTO t VALUES ('1', 1), ('2', 11)");
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    perhaps_guard *guard = start_guard(&setting);
    rebuild(guard);
    write_sql("INSERT INTO t0 VALUES ('3', 1)"); // directly
    check_followed(guard, 1);
    write_sql("UPDATE t SET d = 12 WHERE k = '3'"); // to the other
    check_followed(guard, 2);
    write_sql("CREATE TABLE t2 PARTITION OF t FOR VALUES FROM (20) TO (30); INSERT INTO t2 VALUES ('4', 21)");
    catch_up(guard, 1, "altered");
    rebuild(guard);
    write_sql("INSERT INTO t2 VALUES ('5', 21)"); // which has the triggers, too
    check_followed(guard, 3);
    write_sql("CREATE TABLE t3(k text, d int); INSERT INTO t3 VALUES ('6', 31);"
              "ALTER TABLE t ATTACH PARTITION t3 FOR VALUES FROM (30) TO (40)");
    catch_up(guard, 1, "altered");
    rebuild(guard);
    assert_int_equal(missed(guard), 0);
    write_sql("TRUNCATE t3");
    catch_up(guard, 1, "rewritten");
    rebuild(guard);
    write_sql("ALTER TABLE t DETACH PARTITION t2");
    catch_up(guard, 1, "altered");
    rebuild(guard);
    write_sql("ALTER TABLE t0 DISABLE TRIGGER \"perhaps_log.t.k.insert\"");
    catch_up(guard, 1, "not whole");
    perhaps_guard_free(guard);
}

static void *catch_up_in_thread(void *guard)
{
    catch_up(guard, 0, NULL);
    return NULL;
}

// A partition that is attached when the snapshot was taken, and the rows are yet to be counted: it has a row with a key that
// came, which would then have been there before.
static void test_a_partition_attached_meanwhile(void **state)
{
    write_sql("DROP TABLE t; CREATE TABLE t(k text, d int) PARTITION BY RANGE (d);"
              "CREATE TABLE t0 PARTITION OF t FOR VALUES FROM (0) TO (10);"
              "CREATE TABLE later(k text, d int); INSERT INTO later VALUES ('700', 11); CREATE INDEX i ON t(k)");
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    perhaps_guard *guard = start_guard(&setting);
    rebuild(guard);
    write_sql("INSERT INTO t VALUES ('700', 1)");
    write_sql("BEGIN; LOCK TABLE " LOG " IN ACCESS EXCLUSIVE MODE");
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, catch_up_in_thread, guard), 0);
    for (int i = 0; i < 200 && number_of(db, "SELECT count(*) FROM pg_locks WHERE NOT granted") == 0; i++) {
        (void)usleep(10000);
    }
    assert_int_equal(number_of(db, "SELECT count(*) FROM pg_locks WHERE NOT granted"), 1);
    write_sql("ALTER TABLE t ATTACH PARTITION later FOR VALUES FROM (10) TO (20); COMMIT");
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(asks(guard, 700), 1);
    catch_up(guard, 1, "altered");
    perhaps_guard_free(guard);
}

// Sessions that apply what was replicated.
static void test_replication(void **state)
{
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    perhaps_guard *guard = start_guard(&setting);
    rebuild(guard);
    write_sql(
        "SET session_replication_role = replica; INSERT INTO t(k) VALUES ('700'); COPY t(k) FROM PROGRAM 'echo 701'");
    check_followed(guard, 2);
    perhaps_guard_free(guard);
}

/* ---------------------------------------------------------------- histories that have a gap */

// A file that was made, what was done since, and what a reload must say.
static void check_gap(const char *sql, const char *words)
{
    const struct setting setting = CUCKOO_FOLLOWS;
    make_file(&setting);
    write_sql(sql);
    perhaps_guard *guard = start_guard(&setting);
    reload(guard, 1, words);
    perhaps_guard_free(guard);
}

static void test_gaps(void **state)
{
    install_log();
    check_gap("INSERT INTO t(k) VALUES ('700'); TRUNCATE t; INSERT INTO t(k) VALUES ('1')", "(TRUNCATE)");
    check_gap("ALTER TABLE t DISABLE TRIGGER \"perhaps_log.t.k.insert\"; INSERT INTO t(k) VALUES ('701');"
              "ALTER TABLE t ENABLE ALWAYS TRIGGER \"perhaps_log.t.k.insert\"",
              "altered");
    check_gap("INSERT INTO t(k) VALUES ('702'); DELETE FROM " LOG " WHERE key = '702'; CLUSTER t USING i", "rewritten");
    check_gap("CREATE INDEX j ON t(other); ANALYZE t; INSERT INTO " LOG "(xid, delta, key) VALUES ('1', 1, '7')",
              "another history");
    check_gap("DELETE FROM " LOG " WHERE ctid = (SELECT min(ctid) FROM " LOG ")", "does not reach back");
    const struct setting setting = CUCKOO_FOLLOWS;
    perhaps_error error = {.size = sizeof error};
    perhaps_store_changes changes;
    // As a dump of another server has it, whose transactions have larger numbers: they would be new at every look.
    perhaps_guard *guard = start_guard(&setting);
    rebuild(guard);
    write_sql("INSERT INTO " LOG "(xid, delta, key) VALUES ('99999999999', 1, '7')");
    catch_up(guard, 1, "another server's");
    perhaps_guard_free(guard);
    write_sql("DELETE FROM " LOG); // until it is removed, there is none
    open_at(server());
    assert_code(perhaps_store_postgres_changes(postgres, &changes, &error), PERHAPS_E_UNSUPPORTED, &error);
    assert_int_equal(change_log_of("t", "k", false, NULL), 1);
    install_log();
    make_file(&setting);
    assert_int_equal(change_log_of("t", "k", false, NULL), 1);
    write_sql("INSERT INTO t(k) VALUES ('703')");
    install_log();
    guard = start_guard(&setting);
    reload(guard, 1, "altered");
    rebuild(guard);
    write_sql("INSERT INTO " LOG "(delta, key) VALUES (1, '800')"); // by hand
    catch_up(guard, 1, "more rows than the table has");
    perhaps_guard_free(guard);
}

/* ---------------------------------------------------------------- columns that are renamed */

static void expect_count(const char *sql, uint64_t count)
{
    assert_int_equal(number_of(db, sql), count);
}

#define GAPS "SELECT count(*) FROM " LOG " WHERE delta = 0 AND xid <> '0'"

// The owner's writes go on, whatever became of the column; the log says that it missed them, and is used again when the
// column has its name back and the filter was made anew.
static void test_a_column_that_is_renamed(void **state)
{
    install_log();
    check_gap("ALTER TABLE t RENAME k TO d; INSERT INTO t(d) VALUES ('700'); ALTER TABLE t RENAME d TO k",
              "another name");
    const struct setting setting = CUCKOO_FOLLOWS;
    perhaps_guard *guard = start_guard(&setting);
    rebuild(guard);
    catch_up(guard, 0, NULL);
    write_sql("ALTER TABLE t RENAME k TO d; INSERT INTO t(d) VALUES ('700'); UPDATE t SET d = '701' WHERE d = '7';"
              "DELETE FROM t WHERE d = '8'; UPDATE t SET other = 1 WHERE d = '9'");
    expect_count(GAPS, 4);
    catch_up(guard, 1, "not whole");
    assert_int_equal(asks(guard, 700), 1);
    write_sql("ALTER TABLE t RENAME d TO k");
    rebuild(guard);
    write_sql("INSERT INTO t(k) VALUES ('702')");
    check_followed(guard, 1);
    perhaps_guard_free(guard);
}

// Another column has the name by then: the triggers' conditions are of the one that had it, and its type may be any.
static void test_columns_that_change_places(void **state)
{
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    perhaps_guard *guard = start_guard(&setting);
    rebuild(guard);
    write_sql("ALTER TABLE t ADD l text; ALTER TABLE t RENAME k TO d; ALTER TABLE t RENAME l TO k;"
              "INSERT INTO t(k) VALUES ('900'); UPDATE t SET k = '901' WHERE d = '7'");
    catch_up(guard, 1, "not whole");
    assert_int_equal(asks(guard, 901), 1);
    assert_int_equal(change_log_of("t", "k", false, NULL), 1);
    install_log();
    rebuild(guard);
    write_sql("UPDATE t SET k = '902' WHERE d = '7'");
    check_followed(guard, 2);
    perhaps_guard_free(guard);
}

static void test_a_column_of_another_type(void **state)
{
    write_sql("CREATE TABLE b(k bytea)");
    install_log_of("b", "k");
    write_sql("ALTER TABLE b RENAME k TO d; ALTER TABLE b ADD k text; INSERT INTO b VALUES ('x', '\\no bytes')");
    expect_count("SELECT count(*) FROM \"perhaps_log.b.k\" WHERE delta = 0", 2);
    expect_count("SELECT count(*) FROM b", 1);
}

// The names of what a type is made of are looked up when a function begins, before anything is caught.
static void test_a_collation_that_is_renamed(void **state)
{
    write_sql("CREATE COLLATION mine (locale = 'C'); CREATE TABLE c(k text COLLATE mine)");
    install_log_of("c", "k");
    write_sql("INSERT INTO c VALUES ('1'); ALTER COLLATION mine RENAME TO yours");
    PGconn *session = open_session(); // which has not compiled the function yet
    run(session, "INSERT INTO c VALUES ('2')");
    PQfinish(session);
    expect_count("SELECT count(*) FROM \"perhaps_log.c.k\" WHERE delta = 1", 2);
    assert_int_equal(change_log_of("c", "k", true, NULL), 0); // which is whole
}

// Two columns whose names are one with dots between them.
static void test_names_with_dots(void **state)
{
    write_sql("CREATE TABLE a(\"b.c\" text); CREATE TABLE \"a.b\"(c text)");
    install_log_of("a", "b.c");
    install_log_of("a.b", "c");
    write_sql("INSERT INTO a VALUES ('1'); INSERT INTO \"a.b\" VALUES ('2')");
    assert_int_equal(change_log_of("a.b", "c", false, NULL), 1);
    assert_int_equal(change_log_of("a", "b.c", true, NULL), 0); // which is whole
    expect_count("SELECT count(*) FROM pg_proc WHERE proname LIKE 'perhaps%'", 1);
    assert_int_equal(change_log_of("a", "b.c", false, NULL), 1);
    expect_count("SELECT count(*) FROM pg_class WHERE relname LIKE 'perhaps%'", 0);
}

static void test_another_function(void **state)
{
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    perhaps_guard *guard = start_guard(&setting);
    rebuild(guard);
    write_sql("CREATE OR REPLACE FUNCTION " LOG "() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS "
              "'BEGIN RETURN NULL; END'");
    catch_up(guard, 1, "not whole");
    perhaps_guard_free(guard);
}

// Another table takes the place, and has a log of its own, or none.
static void test_tables_that_change_places(void **state)
{
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    perhaps_guard *guard = start_guard(&setting);
    rebuild(guard);
    catch_up(guard, 0, NULL); // the connection knows the table
    write_sql("CREATE TABLE n(k text); INSERT INTO n VALUES ('900'); BEGIN; ALTER TABLE t RENAME TO o;"
              "ALTER TABLE n RENAME TO t; COMMIT");
    catch_up(guard, 1, "not there, or not whole");
    assert_int_equal(asks(guard, 900), 1);
    assert_int_equal(change_log_of("t", "k", false, NULL), 1); // with the triggers of the other table
    assert_int_equal(number_of(db, "SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal"), 0);
    perhaps_guard_free(guard);
}

// A database that was made from another has the same tables, numbers, triggers and log.
static void test_a_copy_of_the_database(void **state)
{
    static char copy[300];
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    make_file(&setting);
    perhaps_store_postgres_close(postgres);
    postgres = NULL;
    PQfinish(db);
    (void)snprintf(copy, sizeof copy, "%s dbname=template1", server());
    db = PQconnectdb(copy);
    run(db, "DROP DATABASE IF EXISTS copy");
    run(db, "CREATE DATABASE copy TEMPLATE postgres");
    (void)snprintf(copy, sizeof copy, "%s dbname=copy", server());
    address = copy;
    perhaps_guard *guard = start_guard(&setting);
    reload(guard, 1, "others than then");
    perhaps_guard_free(guard);
    perhaps_store_postgres_close(postgres);
    postgres = NULL;
    run(db, "DROP DATABASE copy");
    PQfinish(db);
    db = open_session();
}

static void in_folder(const char *command)
{
    char text[512];
    (void)snprintf(text, sizeof text, "cd \"$PERHAPS_TEST_FOLDER\" && %s", command);
    assert_int_equal(system(text), 0); // NOLINT(cert-env33-c)
}

static void restart_with(const char *command)
{
    PQfinish(db);
    db = NULL;
    control("halt");
    in_folder(command);
    control("start");
    db = open_session();
}

// The server is put back to a copy of its files, and goes on from there with numbers of transactions that the position has
// seen: what they write is not new to it.
static void test_a_server_that_was_put_back(void **state)
{
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    write_sql("CREATE TABLE other(n int)");
    restart_with("rm -rf copy && cp -a data copy");
    for (int i = 0; i < 50; i++) {
        write_sql("INSERT INTO other VALUES (1)");
    }
    make_file(&setting);
    perhaps_store_postgres_close(postgres);
    postgres = NULL;
    restart_with("rm -rf data && cp -a copy data");
    perhaps_guard *guard = start_guard(&setting);
    reload(guard, 0, NULL); // the table is as it was
    perhaps_guard_free(guard);
    write_sql("INSERT INTO t(k) VALUES ('700')");
    guard = start_guard(&setting);
    reload(guard, 1, "another history");
    rebuild(guard);
    assert_int_equal(missed(guard), 0);
    perhaps_guard_free(guard);
    perhaps_store_postgres_close(postgres);
    postgres = NULL;

    restart_with("rm -rf copy && cp -a data copy");
    write_sql("INSERT INTO t(k) VALUES ('900')");
    make_file(&setting);
    perhaps_store_postgres_close(postgres);
    postgres = NULL;
    restart_with("rm -rf data && mv copy data");
    write_sql("INSERT INTO t(k) VALUES ('701')"); // as many rows as the one that was replaced
    guard = start_guard(&setting);
    reload(guard, 1, "another history");
    perhaps_guard_free(guard);
}

/* ---------------------------------------------------------------- servers and locks */

static void test_a_server_that_goes(void **state)
{
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    perhaps_guard *guard = start_guard(&setting);
    rebuild(guard);
    catch_up(guard, 0, NULL);
    PQfinish(db);
    db = NULL;
    control("stop");
    catch_up(guard, PERHAPS_E_IO, "no connection");
    assert_int_equal(statistics_of(guard).state, PERHAPS_GUARD_CATCHING_UP);
    assert_int_equal(asks(guard, 999), 1);
    control("start");
    db = open_session();
    write_sql("INSERT INTO t(k) VALUES ('700')");
    catch_up(guard, 0, NULL); // a crash of the server loses nothing that was committed
    assert_int_equal(statistics_of(guard).state, PERHAPS_GUARD_READY);
    assert_int_equal(missed(guard), 0);
    control("halt");
    control("start");
    catch_up(guard, 0, NULL); // through a new connection, at once
    perhaps_guard_free(guard);
}

static void test_a_locked_table(void **state)
{
    install_log();
    perhaps_store_options options = column_of("t", "k");
    options.wait_milliseconds = 50;
    perhaps_store_postgres *other = open_options(&options);
    perhaps_store_changes changes;
    perhaps_store_position then;
    perhaps_store_position now;
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(perhaps_store_postgres_changes(other, &changes, NULL), 0);
    assert_int_equal(changes.position(changes.context, &then, NULL), 0);
    write_sql("BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE");
    assert_code(changes.each_change(changes.context, &then, &now, NULL, NULL, &error), PERHAPS_E_IO, &error);
    assert_contains_text(error.text, "locked for longer than 50 ms");
    write_sql("COMMIT");
    assert_code(changes.each_change(changes.context, &then, &now, NULL, NULL, &error), 0, &error);
    perhaps_store_postgres_close(other);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        TEST(test_install_and_remove),
        TEST(test_refuses),
        TEST(test_locked),
        TEST(test_rights),
        TEST(test_row_security),
        TEST(test_partitions),
        TEST(test_a_partition_attached_meanwhile),
        TEST(test_replication),
        TEST(test_gaps),
        TEST(test_a_column_that_is_renamed),
        TEST(test_a_collation_that_is_renamed),
        TEST(test_columns_that_change_places),
        TEST(test_a_column_of_another_type),
        TEST(test_names_with_dots),
        TEST(test_another_function),
        TEST(test_tables_that_change_places),
        TEST(test_a_copy_of_the_database),
        TEST(test_a_server_that_was_put_back),
        TEST(test_a_server_that_goes),
        TEST(test_a_locked_table),
    };
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
