// SPDX-License-Identifier: MIT
// Guards on a filter with a journal: what was written through them, or taken over from the store, is in the file when
// the call returns, whatever becomes of the process, N times at random moments (test_guard_durable N).
#include "durable_guards.h"

#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---------------------------------------------------------------- following */

// No save at all: what was caught up with is in the file, exactly, and the position with it.
static void test_following(void **state)
{
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    begin_file(&cuckoo);
    uint64_t id = journal_of_file().file_id;
    perhaps_guard *guard = start(&setting);
    resume(guard, 1, "it does not say where in its store it is");
    assert_int_equal(asks(guard, 999), 1);
    rebuild(guard);
    assert_int_equal(asks(guard, 999), 0);
    assert_int_equal(journal_of_file().file_id, id);
    assert_int_equal(journal_of_file().generation, 2);
    assert_int_equal(copies_in(FILTER), 500);
    run(db, many_changes);
    catch_up(guard, 0, NULL);
    assert_int_equal(copies_in(FILTER), count_keys(sqlite));
    perhaps_journal before = journal_of_file();
    assert_int_equal(before.generation, 2); // appended, and not written anew
    catch_up(guard, 0, NULL);
    assert_int_equal(journal_of_file().bytes, before.bytes); // nothing new, nothing recorded
    perhaps_guard_free(guard);

    run(db, "DELETE FROM t WHERE k IN ('500', '502'); INSERT INTO t(k) VALUES ('7')");
    guard = start(&setting);
    assert_int_equal(asks(guard, 1), 1); // not ready
    resume(guard, 0, NULL);
    assert_int_equal(asks(guard, 7), 1);
    assert_int_equal(asks(guard, 502), 0);
    assert_int_equal(missed(guard), 0);
    assert_int_equal(copies_in(FILTER), count_keys(sqlite));
    assert_int_equal(statistics_of(guard).residue, 0);
    assert_int_equal(perhaps_guard_forget(guard, NULL), 0);
    catch_up(guard, 0, NULL);
    perhaps_guard_free(guard);
}

// More changes than a batch holds, and none of them one that a filter without removal would need again.
static void test_many_at_once(void **state)
{
    install_log();
    const struct setting setting = {.flags = PERHAPS_GUARD_FOLLOWS};
    make_from_store(&bloom, &setting);
    perhaps_guard *guard = start(&setting);
    resume(guard, 0, NULL);
    run(db, "WITH RECURSIVE n(v) AS (SELECT 0 UNION ALL SELECT v + 1 FROM n WHERE v < 4999) "
            "INSERT INTO t(k) SELECT 'new' || v FROM n");
    uint64_t before = journal_of_file().operations;
    catch_up(guard, 0, NULL);
    assert_in_range(journal_of_file().operations - before, 4000, 5001);
    run(db, "INSERT INTO t(k) SELECT k FROM t");
    before = journal_of_file().operations;
    catch_up(guard, 0, NULL);
    assert_int_equal(journal_of_file().operations - before, 1); // the position
    assert_int_equal(missed(guard), 0);
    perhaps_guard_free(guard);
}

/* ---------------------------------------------------------------- a disk that is full */

// "Perhaps" to everything until it can be recorded; and whether the copies are exact is not known any more.
static void test_journal_that_cannot_be_written(void **state)
{
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    make_from_store(&cuckoo, &setting);
    perhaps_guard *guard = start(&setting);
    resume(guard, 0, NULL);
    run(db, "INSERT INTO t(k) VALUES ('700')");
    limit_files(16);
    catch_up(guard, PERHAPS_E_IO, "the journal of the filter cannot be written: File too large");
    limit_files(0);
    assert_int_equal(asks(guard, 999), 1);
    assert_int_equal(statistics_of(guard).overflow, 0);
    catch_up(guard, 0, NULL);
    assert_int_equal(asks(guard, 999), 0);
    assert_int_equal(missed(guard), 0);
    run(db, "DELETE FROM t WHERE k = '700'");
    catch_up(guard, 0, NULL);
    assert_int_equal(asks(guard, 700), 1); // it stays, as residue
    perhaps_guard_free(guard);
    guard = start(&setting);
    resume(guard, 0, NULL);
    assert_int_equal(missed(guard), 0);
    perhaps_guard_free(guard);
}

// The disk is full somewhere between the first change and the position behind the last, and then the program ends. The
// removals that are in the journal are not done once more.
static void test_journal_that_is_cut(void **state)
{
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    make_from_store(&alike, &setting);
    int code = -1;
    for (uint64_t room = 0; code < 0; room += 104) {
        perhaps_guard *guard = start(&setting);
        assert_int_equal(perhaps_guard_rebuild(guard, 600, NULL), 0);
        run(db, "DELETE FROM t WHERE CAST(k AS INT) BETWEEN 100 AND 299");
        limit_files(journal_of_file().bytes + room);
        code = perhaps_guard_catch_up(guard, NULL);
        limit_files(0);
        assert_true(code == 0 || code == PERHAPS_E_IO);
        assert_true(code < 0 || room > 1600); // there were failures behind the removals as well
        perhaps_guard_free(guard);
        guard = start(&setting);
        resume(guard, 0, NULL);
        assert_int_equal(missed(guard), 0);
        assert_true(copies_in(FILTER) >= count_keys(sqlite));
        assert_true(code < 0 || copies_in(FILTER) == count_keys(sqlite));
        perhaps_guard_free(guard);
        run(db, "WITH RECURSIVE n(v) AS (SELECT 100 UNION ALL SELECT v + 1 FROM n WHERE v < 299) "
                "INSERT INTO t(k) SELECT CAST(v AS TEXT) FROM n");
    }
}

// What cannot be recorded is not written to the store. What is there already is put aside.
static void test_writing_without_a_journal(void **state)
{
    const struct setting setting = CUCKOO_ALONE;
    make_from_store(&cuckoo, &setting);
    perhaps_guard *guard = start(&setting);
    rebuild(guard);
    perhaps_error error = {.size = sizeof error};
    run(db, "INSERT INTO t(k) VALUES ('701')");
    limit_files(16);
    int refused = insert_through(guard, "700", &error);
    int reported = perhaps_guard_add(guard, "701", 3, NULL, NULL, NULL);
    perhaps_guard_statistics statistics = statistics_of(guard);
    int failed = perhaps_guard_rebuild(guard, 0, NULL);
    limit_files(0);
    assert_code(refused, PERHAPS_E_IO, &error);
    assert_contains_text(error.text, "the journal of the filter cannot be written");
    assert_false(wrote);
    assert_int_equal(ask(sqlite, "700", 3), 0);
    assert_int_equal(reported, PERHAPS_E_IO);
    assert_int_equal(statistics.refused, 2);
    assert_int_equal(statistics.overflow, 1);
    assert_int_equal(failed, PERHAPS_E_IO); // the old filter stays, with its journal
    assert_int_equal(asks(guard, 701), 1);
    assert_int_equal(insert_through(guard, "702", NULL), 1);
    rebuild(guard);
    assert_int_equal(statistics_of(guard).overflow, 0);
    assert_int_equal(missed(guard), 0);
    perhaps_guard_free(guard);
    assert_int_equal(copies_in(FILTER), count_keys(sqlite));
}

// A filter that is full refuses too, and a trigger has a larger one made.
static void test_full(void **state)
{
    perhaps_options small = bloom;
    small.capacity = 520;
    small.at_capacity = PERHAPS_AT_CAPACITY_REFUSE;
    const struct setting setting = {.triggers = PERHAPS_GUARD_ON_DEGRADED};
    begin_file(&small);
    perhaps_guard *guard = start(&setting);
    perhaps_error error = {.size = sizeof error};
    assert_code(perhaps_guard_rebuild(guard, 520, &error), 0, &error);
    int code = 1;
    int added = 0;
    for (; code >= 0 && added < KEYS; added++) {
        char key[16];
        (void)snprintf(key, sizeof key, "%d", 500 + added);
        code = insert_through(guard, key, &error);
    }
    assert_code(code, PERHAPS_E_FULL, &error);
    assert_contains_text(error.text, "rebuild it larger");
    assert_false(wrote);
    assert_int_equal(perhaps_guard_rebuild_wait(guard, NULL), 0);
    assert_int_equal(statistics_of(guard).rebuilds, 2);
    assert_int_equal(insert_through(guard, "999", NULL), 1);
    assert_int_equal(missed(guard), 0);
    perhaps_guard_free(guard);
}

/* ---------------------------------------------------------------- misuse, and saving */

static void test_misuse(void **state)
{
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    make_file(&setting); // "f", without a journal
    make_from_store(&cuckoo, &setting);
    perhaps_guard *guard = start(&setting);
    reload(guard, PERHAPS_E_UNSUPPORTED, "perhaps_guard_resume()");
    resume(guard, 0, NULL);
    perhaps_guard_free(guard);
    guard = start_guard(&setting);
    resume(guard, PERHAPS_E_UNSUPPORTED, "reload its file");
    assert_int_equal(perhaps_guard_resume(NULL, NULL), PERHAPS_E_ARGUMENT);
    perhaps_guard_free(guard);
    const struct setting alone = CUCKOO_ALONE;
    guard = guard_on(open_file(), &alone, false);
    resume(guard, PERHAPS_E_UNSUPPORTED, "does not tell what changed");
    perhaps_guard_free(guard);
}

// A save to its own file folds, and the position is that of the moment.
static void test_save(void **state)
{
    install_log();
    const struct setting setting = CUCKOO_ALONE;
    make_from_store(&cuckoo, &setting);
    perhaps_guard *guard = start(&setting);
    resume(guard, 0, NULL);
    assert_int_equal(insert_through(guard, "700", NULL), 1);
    perhaps_error error = {.size = sizeof error};
    assert_code(perhaps_guard_save(guard, FILTER, &error), 0, &error);
    assert_int_equal(journal_of_file().operations, 0);
    assert_int_equal(perhaps_guard_forget(guard, NULL), 0);
    assert_int_equal(insert_through(guard, "701", NULL), 1);
    save(guard); // elsewhere
    perhaps_guard_free(guard);
    guard = start(&setting);
    resume(guard, 0, NULL);
    assert_int_equal(missed(guard), 0);
    perhaps_guard_free(guard);
}

/* ---------------------------------------------------------------- threads */

struct adder {
    perhaps_guard *guard;
    unsigned number;
    int failed;
};

#define ADDERS 3
#define ADDED 40

static void *add_keys(void *context)
{
    struct adder *adder = context;
    char sql[] = "INSERT INTO t(k) VALUES (?1)";
    for (unsigned i = 0; i < ADDED; i++) {
        char key[32];
        int length = snprintf(key, sizeof key, "%u of %u", i, adder->number);
        adder->failed += perhaps_guard_add(adder->guard, key, (size_t)length, write_in_turn, sql, NULL) < 0;
        adder->failed += perhaps_guard_ask(adder->guard, key, (size_t)length) != 1;
    }
    return NULL;
}

// Threads that add while filters are made: wherever the file is handed over, each key is in it.
static void test_adders_beside_rebuilds(void **state)
{
    const struct setting setting = {.kind = PERHAPS_KIND_BLOOM};
    pthread_t threads[ADDERS];
    struct adder adders[ADDERS];
    run(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF"); // writers and listings do not wait for each other
    make_from_store(&bloom, &setting);
    perhaps_guard *guard = guard_on(open_file(), &setting, false);
    for (unsigned i = 0; i < ADDERS; i++) {
        adders[i] = (struct adder){.guard = guard, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, add_keys, &adders[i]), 0);
    }
    for (unsigned i = 0; i < 5; i++) {
        rebuild(guard);
    }
    for (unsigned i = 0; i < ADDERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(adders[i].failed, 0);
    }
    perhaps_guard_free(guard);
    perhaps_filter *filter = read_file();
    for (unsigned i = 0; i < ADDERS * ADDED; i++) {
        char key[32];
        int length = snprintf(key, sizeof key, "%u of %u", i / ADDERS, i % ADDERS);
        assert_int_equal(perhaps_might_contain(filter, key, (size_t)length), 1);
    }
    perhaps_free(filter);
    assert_int_equal(journal_of_file().generation, 7); // begun, made from the store, and five more
}

/* ---------------------------------------------------------------- kill -9 */

static unsigned kills = 8;

static uint64_t draw(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return *random >> 33;
}

static void change_rows(uint64_t *random)
{
    char sql[256];
    unsigned first = (unsigned)(draw(random) % KEYS);
    (void)snprintf(sql, sizeof sql,
                   draw(random) % 2 == 0
                       ? "DELETE FROM t WHERE CAST(k AS INT) BETWEEN %u AND %u"
                       : "WITH RECURSIVE n(v) AS (SELECT %u UNION ALL SELECT v + 1 FROM n WHERE v < %u) "
                         "INSERT INTO t(k) SELECT CAST(v AS TEXT) FROM n WHERE v < 1000",
                   first, first + (unsigned)(draw(random) % 50));
    run(db, sql);
}

static void follow_until_killed(uint64_t random)
{
    const struct setting setting = CUCKOO_FOLLOWS;
    perhaps_guard *guard = start(&setting);
    int code = perhaps_guard_resume(guard, NULL);
    for (unsigned i = 0;; i++) {
        if (code != 0 || i % 7 == 6) {
            code = perhaps_guard_rebuild(guard, 2000 + i % 3 * 1000, NULL);
        }
        change_rows(&random);
        code = code == 0 ? perhaps_guard_catch_up(guard, NULL) : code;
        if (code < 0) {
            _exit(1);
        }
    }
}

static void write_until_killed(uint64_t random)
{
    const struct setting setting = CUCKOO_ALONE;
    perhaps_guard *guard = guard_on(open_file(), &setting, false);
    for (unsigned i = 0;; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "%u", (unsigned)(draw(&random) % KEYS));
        int code = draw(&random) % 3 == 0 ? remove_through(guard, key) : insert_through(guard, key, NULL);
        if (code < 0 || (i % 20 == 0 && perhaps_guard_rebuild(guard, 2000 + i % 3 * 1000, NULL) < 0)) {
            _exit(1);
        }
    }
}

// No connection goes over into the child.
static void kill_one(void (*program)(uint64_t random), uint64_t *random)
{
    perhaps_store_sqlite_close(sqlite);
    sqlite = NULL;
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    pid_t child = fork();
    assert_true(child >= 0);
    db = child == 0 ? open_writer("a.db") : NULL;
    if (child == 0) {
        run(db, "PRAGMA synchronous = OFF");
        program(*random);
    }
    const struct timespec pause = {.tv_nsec = (long)(20000000 + draw(random) % 150000000)};
    (void)nanosleep(&pause, NULL);
    (void)kill(child, SIGKILL);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    db = open_writer("a.db");
    sqlite = open_column("t", "k");
}

// How many keys of the store the file alone lacks.
static uint64_t missing_in_file(void)
{
    uint64_t missing = 0;
    perhaps_filter *filter = read_file();
    for (int i = 0; i < KEYS; i++) {
        char key[16];
        size_t length = (size_t)snprintf(key, sizeof key, "%d", i);
        missing += perhaps_might_contain(filter, key, length) == 0 && ask(sqlite, key, length) == 1;
    }
    perhaps_free(filter);
    return missing;
}

// Written through the guard: the file has every key that the store has, at any moment, also of a rebuild.
static void test_killed_while_writing(void **state)
{
    const struct setting setting = CUCKOO_ALONE;
    uint64_t random = 5;
    make_from_store(&cuckoo, &setting);
    uint64_t generation = journal_of_file().generation;
    for (unsigned i = 0; i < kills || journal_of_file().generation == generation; i++) { // until it was rebuilt as well
        kill_one(write_until_killed, &random);
        assert_int_equal(missing_in_file(), 0);
    }
}

// Followed: from the position in the file on, everything can be caught up with, and nothing is taken out twice.
static void test_killed_while_following(void **state)
{
    install_log();
    const struct setting setting = CUCKOO_FOLLOWS;
    uint64_t random = 7;
    make_from_store(&alike, &setting);
    for (unsigned i = 0; i < kills; i++) {
        kill_one(follow_until_killed, &random);
        perhaps_guard *guard = start(&setting);
        resume(guard, 0, NULL);
        assert_int_equal(missed(guard), 0);
        change_rows(&random);
        catch_up(guard, 0, NULL);
        assert_int_equal(missed(guard), 0);
        perhaps_guard_free(guard);
    }
}

int main(int argc, char **argv)
{
    kills = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : kills;
    const struct CMUnitTest tests[] = {
        TEST(test_following),
        TEST(test_many_at_once),
        TEST(test_journal_that_cannot_be_written),
        TEST(test_journal_that_is_cut),
        TEST(test_writing_without_a_journal),
        TEST(test_full),
        TEST(test_misuse),
        TEST(test_save),
        TEST(test_adders_beside_rebuilds),
        TEST(test_killed_while_writing),
        TEST(test_killed_while_following),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
