// SPDX-License-Identifier: MIT
// Files as SQLite stores: odd names and paths, files that are not what they should be, locks, and
// changes by others.
#include "sqlite_helpers.h"

#include <dirent.h>
#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ---------------------------------------------------------------- names and paths */

static void test_odd_names(void **state)
{
    make("a.db", "CREATE TABLE \"sel\"\"ect %w%s\"(\"or\"\"der ?1\" TEXT, \"\" TEXT, \"key\" TEXT, t TEXT);"
                 "INSERT INTO \"sel\"\"ect %w%s\" VALUES ('x', 'y', 'z', 't');"
                 "CREATE TABLE \"\"(c TEXT); CREATE TABLE perhaps_probe(c TEXT); CREATE TABLE t(t TEXT)");
    static const struct {
        const char *table;
        const char *column;
        const char *key;
    } cases[] = {{"sel\"ect %w%s", "or\"der ?1", "x"},
                 {"SEL\"ECT %w%s", "OR\"der ?1", "x"},
                 {"sel\"ect %w%s", "", "y"},
                 {"sel\"ect %w%s", "key", "z"},
                 {"sel\"ect %w%s", "t", "t"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        perhaps_store_sqlite *sqlite = open_column(cases[i].table, cases[i].column);
        assert_int_equal(ask(sqlite, cases[i].key, 1), 1);
        assert_int_equal(ask(sqlite, "-", 1), 0);
        assert_int_equal(count_keys(sqlite), 1);
        perhaps_store_sqlite_close(sqlite);
    }
    static const char *const taken[] = {"", "c", "perhaps_probe", "c", "t", "t"};
    for (size_t i = 0; i < COUNT(taken); i += 2) {
        perhaps_store_sqlite *sqlite = open_column(taken[i], taken[i + 1]);
        assert_int_equal(count_keys(sqlite), 0);
        perhaps_store_sqlite_close(sqlite);
    }
}

static void test_odd_paths(void **state)
{
    static const char *const paths[] = {
        "a?mode=memory", "b%20c", "d#e", "file:f.db", ":memory:", "g'h\"i", "-j", " ", "\xff", "?", "file:///k"};
    assert_int_equal(mkdir("file:", 0777), 0);
    for (size_t i = 0; i < COUNT(paths) - 1; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "./%s", paths[i]);
        make(path, "CREATE TABLE t(c TEXT); INSERT INTO t VALUES ('x')");
        char absolute[sizeof folder + sizeof path];
        (void)snprintf(absolute, sizeof absolute, "%s/%s", folder, paths[i]);
        const char *const names[] = {paths[i], path, absolute};
        for (size_t j = 0; j < COUNT(names); j++) {
            perhaps_store_sqlite *sqlite = NULL;
            assert_int_equal(perhaps_store_sqlite_open(names[j], "t", "c", 0, &sqlite, NULL), 0);
            assert_int_equal(ask(sqlite, BYTES("x")), 1);
            perhaps_store_sqlite_close(sqlite);
        }
    }
    refused(paths[COUNT(paths) - 1], "t", "c", PERHAPS_E_IO, "No such file");
}

/* ---------------------------------------------------------------- not what it should be */

#define TABLE "CREATE TABLE t(c TEXT, u TEXT UNIQUE); INSERT INTO t VALUES ('x', 'x')"

static void write_file(const char *path, const void *bytes, size_t length)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void test_missing_names(void **state)
{
    make("a.db", TABLE "; CREATE VIEW v AS SELECT c FROM t; CREATE INDEX i ON t(c)");
    perhaps_error error = refused("a.db", "users", "c", PERHAPS_E_ARGUMENT, "there is no table or view \"users\"");
    assert_string_equal(error.subject, "a.db");
    assert_contains_text(error.text, "there are: t, v");
    refused("a.db", "i", "c", PERHAPS_E_ARGUMENT, "no table or view \"i\"");
    refused("a.db", "sqlite_master", "name", PERHAPS_E_ARGUMENT, "no table or view");
    refused("a.db", "json_each", "value", PERHAPS_E_ARGUMENT, "no table or view");
    refused("a.db", "t", "nmae", PERHAPS_E_ARGUMENT, "table \"t\" has no column \"nmae\"; it has: c, u");
    refused("a.db", "v", "u", PERHAPS_E_ARGUMENT, "view \"v\" has no column \"u\"; it has: c");
}

static void test_files_that_are_no_databases(void **state)
{
    perhaps_error error = refused("none.db", "t", "c", PERHAPS_E_IO, "No such file");
    assert_int_equal(error.system_error, ENOENT);
    assert_string_equal(error.subject, "none.db");
    assert_int_equal(access("none.db", F_OK), -1); // and none was made
    assert_int_equal(refused(".", "t", "c", PERHAPS_E_IO, "is a directory").system_error, EISDIR);
    assert_string_equal(refused("", "t", "c", PERHAPS_E_ARGUMENT, "path is empty").subject, "path");
    assert_int_equal(mkfifo("fifo", 0600), 0);
    refused("fifo", "t", "c", PERHAPS_E_IO, "not a regular file");
    write_file("empty", "", 0);
    refused("empty", "t", "c", PERHAPS_E_ARGUMENT, "the database is empty");
    char text[4096];
    memset(text, 'x', sizeof text);
    write_file("text", text, sizeof text);
    refused("text", "t", "c", PERHAPS_E_IO, "not a SQLite database (file is not a database)");
    write_file("short", "xy", 2);
    refused("short", "t", "c", PERHAPS_E_IO, "not a SQLite database (file is not a database)");
}

// The last page of a table is overwritten: the schema can be read, the rows cannot.
static void test_damaged_database(void **state)
{
    make("a.db", "PRAGMA page_size = 512; CREATE TABLE t(c TEXT); INSERT INTO t VALUES ('x')");
    FILE *file = fopen("a.db", "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, -512, SEEK_END), 0);
    for (int i = 0; i < 512; i++) {
        assert_int_not_equal(fputc(0xee, file), EOF);
    }
    assert_int_equal(fclose(file), 0);
    perhaps_store_sqlite *sqlite = open_column("t", "c");
    assert_int_equal(ask(sqlite, BYTES("x")), PERHAPS_E_IO);
    struct visits visits = {0};
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(list(sqlite, &visits, &error), PERHAPS_E_IO);
    assert_contains_text(error.text, "damaged (database disk image is malformed)");
    uint64_t count = 42;
    assert_int_equal(perhaps_store_sqlite_count(sqlite, &count, NULL), PERHAPS_E_IO);
    assert_int_equal(count, 42);
    perhaps_store_sqlite_close(sqlite);
}

static void test_too_many_open_files(void **state)
{
    make("a.db", TABLE);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    perhaps_store_sqlite *sqlite = NULL;
    perhaps_error error = {.size = sizeof error};
    int code = perhaps_store_sqlite_open("a.db", "t", "c", 0, &sqlite, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(code, PERHAPS_E_IO);
    assert_null(sqlite);
    assert_int_equal(error.system_error, EMFILE);
    assert_contains_text(error.text, "(unable to open database file: Too many open files)");
}

static void test_utf16(void **state)
{
    make("a.db", "PRAGMA encoding = 'UTF-16le'; " TABLE);
    refused("a.db", "t", "c", PERHAPS_E_UNSUPPORTED, "keeps text as UTF-16le");
}

/* ---------------------------------------------------------------- other connections */

static void test_locked_when_opened(void **state)
{
    make("a.db", TABLE);
    sqlite3 *writer = open_writer("a.db");
    run(writer, "BEGIN EXCLUSIVE");
    perhaps_error error = refused("a.db", "t", "c", PERHAPS_E_IO, "locked for longer than 0 ms (database is locked)");
    assert_string_equal(error.subject, "a.db");
    run(writer, "ROLLBACK");
    perhaps_store_sqlite_close(open_column("t", "c"));
    assert_int_equal(sqlite3_close(writer), SQLITE_OK);
}

// The lock is held by another process until a moment after it was asked for: with time allowed, it is had.
static void test_lock_is_waited_for(void **state)
{
    make("a.db", TABLE);
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    if (child == 0) {
        sqlite3 *db = NULL;
        bool locked = sqlite3_open("a.db", &db) == SQLITE_OK &&
                      sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL) == SQLITE_OK;
        bool told = write(pipes[1], locked ? "y" : "n", 1) == 1;
        (void)usleep(300000);
        (void)sqlite3_close(db);
        _exit(locked && told ? 0 : 1);
    }
    assert_true(child > 0);
    char locked = 0;
    assert_int_equal(read(pipes[0], &locked, 1), 1);
    perhaps_store_sqlite *sqlite = NULL;
    perhaps_error error = {.size = sizeof error};
    int code = perhaps_store_sqlite_open("a.db", "t", "c", 3600000, &sqlite, &error);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_string_equal(error.text, "");
    assert_int_equal(code, 0);
    perhaps_store_sqlite_close(sqlite);
    assert_int_equal(close(pipes[0]), 0);
    assert_int_equal(close(pipes[1]), 0);
}

static void test_locked_when_asked(void **state)
{
    make("a.db", TABLE);
    sqlite3 *writer = open_writer("a.db");
    perhaps_store_sqlite *sqlite = open_column("t", "c");
    assert_int_equal(ask(sqlite, BYTES("x")), 1);
    run(writer, "BEGIN EXCLUSIVE"); // which an unfinished question would forbid
    assert_int_equal(ask(sqlite, BYTES("x")), PERHAPS_E_IO);
    struct visits visits = {0};
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(list(sqlite, &visits, &error), PERHAPS_E_IO);
    assert_contains_text(error.text, "locked");
    assert_int_equal(visits.count, 0);
    uint64_t count = 42;
    assert_int_equal(perhaps_store_sqlite_count(sqlite, &count, &error), PERHAPS_E_IO);
    assert_int_equal(count, 42);
    run(writer, "ROLLBACK");
    assert_int_equal(ask(sqlite, BYTES("x")), 1);
    assert_int_equal(count_keys(sqlite), 1);
    run(writer, "INSERT INTO t VALUES ('late', 'late')");
    assert_int_equal(ask(sqlite, BYTES("late")), 1);
    assert_int_equal(ask(sqlite, BYTES("later")), 0);
    perhaps_store_sqlite_close(sqlite);
    assert_int_equal(sqlite3_close(writer), SQLITE_OK);
}

// A column that is gone must not turn into a text constant that equals its own name.
static void test_schema_changes_meanwhile(void **state)
{
    make("a.db", TABLE);
    sqlite3 *writer = open_writer("a.db");
    perhaps_store_sqlite *sqlite = open_column("t", "c");
    run(writer, "CREATE INDEX later ON t(c)");
    assert_int_equal(ask(sqlite, BYTES("x")), 1);
    run(writer, "DROP INDEX later; ALTER TABLE t DROP COLUMN c");
    assert_int_equal(ask(sqlite, BYTES("c")), PERHAPS_E_IO);
    struct visits visits = {0};
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(list(sqlite, &visits, &error), PERHAPS_E_ARGUMENT); // a listing judges the column again
    assert_contains_text(error.text, "table \"t\" has no column \"c\"");
    uint64_t count = 42;
    assert_int_equal(perhaps_store_sqlite_count(sqlite, &count, &error), PERHAPS_E_IO);
    run(writer, "ALTER TABLE t ADD COLUMN c TEXT COLLATE NOCASE; INSERT INTO t(c) VALUES ('Back')");
    assert_int_equal(ask(sqlite, BYTES("Back")), 1);
    assert_int_equal(ask(sqlite, BYTES("back")), 0);
    run(writer, "ALTER TABLE t DROP COLUMN c; ALTER TABLE t ADD COLUMN c TEXT COLLATE RTRIM;"
                "INSERT INTO t(c) VALUES ('Back ')");
    assert_int_equal(ask(sqlite, BYTES("Back ")), 1);
    assert_int_equal(ask(sqlite, BYTES("Back")), 0);
    assert_int_equal(ask(sqlite, BYTES("Back  ")), 0);
    perhaps_store_sqlite_close(sqlite);
    assert_int_equal(sqlite3_close(writer), SQLITE_OK);
}

static void test_wal(void **state)
{
    make("a.db", "PRAGMA journal_mode = WAL; " TABLE);
    sqlite3 *writer = open_writer("a.db");
    run(writer, "INSERT INTO t VALUES ('in the log', 'y')");
    perhaps_store_sqlite *sqlite = open_column("t", "c");
    run(writer, "BEGIN IMMEDIATE; INSERT INTO t VALUES ('not yet', 'z')");
    assert_int_equal(ask(sqlite, BYTES("in the log")), 1);
    assert_int_equal(ask(sqlite, BYTES("not yet")), 0);
    run(writer, "COMMIT");
    assert_int_equal(ask(sqlite, BYTES("not yet")), 1);
    perhaps_store_sqlite_close(sqlite);
    assert_int_equal(sqlite3_close(writer), SQLITE_OK);
}

static size_t count_files(void)
{
    DIR *dir = opendir(".");
    assert_non_null(dir);
    size_t count = 0;
    while (readdir(dir) != NULL) {
        count++;
    }
    assert_int_equal(closedir(dir), 0);
    return count;
}

static size_t read_file(const char *path, char *bytes, size_t capacity)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t length = fread(bytes, 1, capacity, file);
    assert_int_equal(fclose(file), 0);
    return length;
}

static void test_nothing_is_written(void **state)
{
    static char before[65536];
    static char after[65536];
    make("a.db", TABLE);
    assert_int_equal(chmod("a.db", 0444), 0);
    size_t length = read_file("a.db", before, sizeof before);
    assert_in_range(length, 1, sizeof before - 1);
    size_t files = count_files();
    perhaps_store_sqlite *sqlite = open_column("t", "c");
    assert_int_equal(ask(sqlite, BYTES("x")), 1);
    assert_int_equal(count_keys(sqlite), 1);
    assert_int_equal(count_files(), files);
    perhaps_store_sqlite_close(sqlite);
    assert_int_equal(count_files(), files);
    assert_int_equal(read_file("a.db", after, sizeof after), length);
    assert_memory_equal(after, before, length);
}

static void copy_file(const char *from, const char *to)
{
    static char bytes[1 << 20];
    size_t length = read_file(from, bytes, sizeof bytes);
    assert_in_range(length, 1, sizeof bytes - 1);
    write_file(to, bytes, length);
}

// What a writer leaves behind that dies in the middle of a transaction: pages half changed, and the journal
// with what they were. Rolling it back is writing.
static void test_crashed_writer(void **state)
{
    static char before[1 << 20];
    static char after[1 << 20];
    make("w.db", TABLE);
    sqlite3 *writer = open_writer("w.db");
    run(writer, "PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN;"
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)"
                "INSERT INTO t SELECT 'never committed', i FROM n");
    copy_file("w.db", "a.db");
    copy_file("w.db-journal", "a.db-journal");
    assert_int_equal(sqlite3_close(writer), SQLITE_OK);
    size_t length = read_file("a.db", before, sizeof before);
    refused("a.db", "t", "c", PERHAPS_E_IO, "crashed");
    assert_int_equal(read_file("a.db", after, sizeof after), length);
    assert_memory_equal(after, before, length);
    writer = open_writer("a.db"); // the remedy
    run(writer, "SELECT count(*) FROM t");
    assert_int_equal(sqlite3_close(writer), SQLITE_OK);
    perhaps_store_sqlite *sqlite = open_column("t", "c");
    assert_int_equal(ask(sqlite, BYTES("x")), 1);
    assert_int_equal(ask(sqlite, BYTES("never committed")), 0);
    perhaps_store_sqlite_close(sqlite);
}

/* ---------------------------------------------------------------- misuse */

static void test_null_arguments(void **state)
{
    make("a.db", TABLE);
    perhaps_store_sqlite *sqlite = NULL;
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(perhaps_store_sqlite_open(NULL, "t", "c", 0, &sqlite, &error), PERHAPS_E_ARGUMENT);
    assert_string_equal(error.subject, "path");
    assert_int_equal(perhaps_store_sqlite_open("a.db", NULL, "c", 0, &sqlite, &error), PERHAPS_E_ARGUMENT);
    assert_string_equal(error.subject, "table");
    assert_int_equal(perhaps_store_sqlite_open("a.db", "t", NULL, 0, &sqlite, &error), PERHAPS_E_ARGUMENT);
    assert_string_equal(error.subject, "column");
    assert_int_equal(perhaps_store_sqlite_open("a.db", "t", "c", 0, NULL, &error), PERHAPS_E_ARGUMENT);
    assert_string_equal(error.subject, "sqlite");
    assert_null(sqlite);
    sqlite = open_column("t", "c");
    perhaps_store store;
    assert_int_equal(perhaps_store_sqlite_store(NULL, &store), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_store_sqlite_store(sqlite, NULL), PERHAPS_E_ARGUMENT);
    uint64_t count = 42;
    assert_int_equal(perhaps_store_sqlite_count(NULL, &count, &error), PERHAPS_E_ARGUMENT);
    assert_string_equal(error.subject, "sqlite");
    assert_int_equal(count, 42);
    assert_int_equal(perhaps_store_sqlite_count(sqlite, NULL, &error), PERHAPS_E_ARGUMENT);
    assert_string_equal(error.subject, "count");
    assert_int_equal(perhaps_store_sqlite_indexed(NULL), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_store_sqlite_store(sqlite, &store), 0);
    assert_int_equal(store.contains(store.context, NULL, 1, &error), PERHAPS_E_ARGUMENT);
    assert_string_equal(error.subject, "key");
    assert_int_equal(store.contains(store.context, NULL, 0, &error), 0);
    perhaps_store_sqlite_close(sqlite);
    perhaps_store_sqlite_close(NULL);
}

// Only as much is written as the caller's structure says that it has, and long names are cut.
static void test_error_sizes(void **state)
{
    char name[1000];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    make("a.db", TABLE);
    perhaps_store_sqlite *sqlite = NULL;
    static const size_t sizes[] = {0,
                                   7,
                                   sizeof(size_t),
                                   offsetof(perhaps_error, system_error),
                                   offsetof(perhaps_error, text),
                                   sizeof(perhaps_error)};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        perhaps_error error;
        perhaps_error blank;
        memset(&error, 0x5a, sizeof error);
        memset(&blank, 0x5a, sizeof blank);
        error.size = sizes[i];
        assert_int_equal(perhaps_store_sqlite_open("a.db", name, "c", 0, &sqlite, &error), PERHAPS_E_ARGUMENT);
        assert_int_equal(error.size, sizes[i]);
        size_t told = sizes[i] < sizeof(size_t) ? sizeof(size_t) : sizes[i];
        assert_memory_equal((char *)&error + told, (char *)&blank + told, sizeof error - told);
        if (told > sizeof(size_t)) {
            assert_int_equal(error.code, PERHAPS_E_ARGUMENT);
        }
        if (told == sizeof error) {
            assert_int_equal(strlen(error.text), sizeof error.text - 1);
        }
    }
    struct {
        perhaps_error error;
        char beyond[64];
    } larger = {.error.size = sizeof larger};
    memset(larger.beyond, 0x5a, sizeof larger.beyond);
    assert_int_equal(perhaps_store_sqlite_open("a.db", "no", "c", 0, &sqlite, &larger.error), PERHAPS_E_ARGUMENT);
    assert_int_equal(larger.error.code, PERHAPS_E_ARGUMENT);
    assert_int_equal(larger.error.size, sizeof larger);
    assert_int_equal(larger.beyond[0], 0x5a);
    assert_null(sqlite);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, enter_folder, leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_odd_names),
        TEST(test_odd_paths),
        TEST(test_missing_names),
        TEST(test_files_that_are_no_databases),
        TEST(test_damaged_database),
        TEST(test_too_many_open_files),
        TEST(test_utf16),
        TEST(test_crashed_writer),
        TEST(test_locked_when_opened),
        TEST(test_lock_is_waited_for),
        TEST(test_locked_when_asked),
        TEST(test_schema_changes_meanwhile),
        TEST(test_wal),
        TEST(test_nothing_is_written),
        TEST(test_null_arguments),
        TEST(test_error_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
