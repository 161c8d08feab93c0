// SPDX-License-Identifier: MIT
#include "store.h"

#include <string.h>

#include "messages.h"
#include "options.h"

enum { BUSY_MILLISECONDS = 5000 };
static const char sqlite_prefix[] = "sqlite:";
static const char postgres_prefix[] = "postgres:";

// What follows the prefix; NULL when the text begins otherwise.
static const char *behind(const char *text, const char *prefix)
{
    size_t length = strlen(prefix);
    return strncmp(text, prefix, length) == 0 ? text + length : NULL;
}

// What libpq connects with: a URI as it is, or what follows our own prefix. NULL when it is neither.
static const char *postgres_conninfo(const char *store)
{
    if (behind(store, "postgres://") != NULL || behind(store, "postgresql://") != NULL) {
        return store;
    }
    return behind(store, postgres_prefix);
}

// Names a store by its first word alone: a password may follow.
static int refuse_form(const struct arguments *arguments, const char *store)
{
    size_t word = strspn(store, "abcdefghijklmnopqrstuvwxyz");
    if (store[word] != ':') {
        return fail_usage(command_rows[arguments->command].name,
                          "--store: it begins neither with sqlite: nor with postgres:, as sqlite:PATH and "
                          "postgres:CONNINFO do");
    }
    return fail_usage(command_rows[arguments->command].name,
                      "--store: '%.*s:%s' is not of the form sqlite:PATH or postgres:CONNINFO", (int)word, store,
                      store[word + 1] == '\0' ? "" : "...");
}

static int check_store(const struct arguments *arguments)
{
    const char *store = arguments->values[OPTION_STORE];
    const char *path = behind(store, sqlite_prefix);
    if ((path == NULL || path[0] == '\0') && postgres_conninfo(store) == NULL) {
        return refuse_form(arguments, store);
    }
    if (path != NULL && given(arguments, OPTION_SCHEMA)) {
        return fail_usage(command_rows[arguments->command].name, "--schema: a SQLite database has none");
    }
    return STATUS_OK;
}

// A query stands in for schema, table and column.
static int check_keys(const struct arguments *arguments)
{
    static const enum option_id parts[] = {OPTION_TABLE, OPTION_COLUMN, OPTION_SCHEMA};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (option_conflict(arguments, OPTION_QUERY, parts[i]) != STATUS_OK) {
            return STATUS_ERROR;
        }
        if (!given(arguments, OPTION_QUERY) && parts[i] != OPTION_SCHEMA && !given(arguments, parts[i])) {
            return fail_usage(command_rows[arguments->command].name, "%s is missing", option_shown(parts[i]));
        }
    }
    return STATUS_OK;
}

static int read_canonical(const struct arguments *arguments, uint32_t *canonical)
{
    static const char *const names[] = {"lower", "rtrim", "lower,rtrim"}; // in the order of their sets
    const char *text = arguments->values[OPTION_CANONICAL];
    *canonical = 0;
    for (uint32_t i = 0; text != NULL && i < sizeof names / sizeof names[0]; i++) {
        *canonical = strcmp(text, names[i]) == 0 ? i + 1 : *canonical;
    }
    if (text != NULL && *canonical == 0) {
        return fail_usage(command_rows[arguments->command].name, "--canonical: '%s' is not lower, rtrim or lower,rtrim",
                          text);
    }
    return STATUS_OK;
}

int store_options_check(const struct arguments *arguments)
{
    uint32_t canonical;
    if (!given(arguments, OPTION_STORE)) {
        return fail_usage(command_rows[arguments->command].name, "%s is missing", option_shown(OPTION_STORE));
    }
    if (check_keys(arguments) != STATUS_OK || check_store(arguments) != STATUS_OK) {
        return STATUS_ERROR;
    }
    return read_canonical(arguments, &canonical);
}

static int open_sqlite(struct opened_store *opened, const char *path, const perhaps_store_options *options)
{
    perhaps_error error = {.size = sizeof error};
    int code = perhaps_store_sqlite_open_options(path, options, &opened->sqlite, &error);
    if (code < 0) {
        return fail_library(path, code, &error);
    }
    (void)perhaps_store_sqlite_store(opened->sqlite, &opened->store);
    opened->indexed = perhaps_store_sqlite_indexed(opened->sqlite);
    return STATUS_OK;
}

static int open_postgres(struct opened_store *opened, const char *conninfo, const perhaps_store_options *options)
{
    perhaps_error error = {.size = sizeof error};
    int code = perhaps_store_postgres_open(conninfo, options, &opened->postgres, &error);
    if (code < 0) {
        return fail_library("postgres", code, &error); // conninfo can hold a password
    }
    (void)perhaps_store_postgres_store(opened->postgres, &opened->store);
    opened->indexed = perhaps_store_postgres_indexed(opened->postgres);
    opened->name = perhaps_store_postgres_name(opened->postgres);
    return STATUS_OK;
}

// They were checked.
static perhaps_store_options options_of(const struct arguments *arguments)
{
    perhaps_store_options options = {.size = sizeof options,
                                     .schema = arguments->values[OPTION_SCHEMA],
                                     .table = arguments->values[OPTION_TABLE],
                                     .column = arguments->values[OPTION_COLUMN],
                                     .query = arguments->values[OPTION_QUERY],
                                     .wait_milliseconds = given(arguments, OPTION_NO_WAIT) ? 0 : BUSY_MILLISECONDS};
    (void)read_canonical(arguments, &options.canonical);
    return options;
}

int store_open(const struct arguments *arguments, struct opened_store *opened)
{
    const char *store = arguments->values[OPTION_STORE];
    perhaps_store_options options = options_of(arguments);
    *opened = (struct opened_store){.name = store, .canonical = options.canonical};
    const char *path = behind(store, sqlite_prefix);
    return path != NULL ? open_sqlite(opened, path, &options)
                        : open_postgres(opened, postgres_conninfo(store), &options);
}

void store_close(struct opened_store *opened)
{
    perhaps_store_sqlite_close(opened->sqlite);
    perhaps_store_postgres_close(opened->postgres);
}

int store_changes(const struct arguments *arguments, const struct opened_store *opened, perhaps_store_changes *changes)
{
    perhaps_error error = {.size = sizeof error};
    if (opened->postgres != NULL && given(arguments, OPTION_APPEND_ONLY)) {
        return fail_usage(command_rows[arguments->command].name,
                          "--append-only: a PostgreSQL table has no row ids; install a log (--install-log)");
    }
    int code = opened->postgres != NULL
                   ? perhaps_store_postgres_changes(opened->postgres, changes, &error)
                   : perhaps_store_sqlite_changes(opened->sqlite, given(arguments, OPTION_APPEND_ONLY) ? 1 : 0, changes,
                                                  &error);
    return code < 0 ? fail_library(opened->name, code, &error) : STATUS_OK;
}

int store_changes_if_any(const struct arguments *arguments, const struct opened_store *opened, bool *any,
                         perhaps_store_changes *changes)
{
    perhaps_error error = {.size = sizeof error};
    int code = opened->postgres != NULL ? perhaps_store_postgres_changes(opened->postgres, changes, &error) : 0;
    *any = code != PERHAPS_E_UNSUPPORTED;
    if (!*any && !given(arguments, OPTION_QUIET)) {
        tell(opened->name, "the filter gets no position to be followed from: %s", error.text);
    }
    if (code < 0) {
        return *any ? fail_library(opened->name, code, &error) : STATUS_OK;
    }
    return store_changes(arguments, opened, changes);
}

static int refuse_for_log(const struct arguments *arguments, const char *option)
{
    if (option_conflict(arguments, OPTION_INSTALL_LOG, OPTION_REMOVE_LOG) != STATUS_OK) {
        return STATUS_ERROR;
    }
    if (arguments->operand_count > 0) {
        return fail_usage("guard", "'%s' is one operand too many for %s", arguments->operands[0], option);
    }
    if (given(arguments, OPTION_QUERY) || given(arguments, OPTION_CANONICAL)) {
        return fail_usage("guard", "%s: only a column of a table has a log, as it is", option);
    }
    return STATUS_OK;
}

static int change_sqlite(const char *path, const perhaps_store_options *options, bool install, perhaps_error *error)
{
    return install ? perhaps_store_sqlite_install_log(path, options->table, options->column, options->wait_milliseconds,
                                                      error)
                   : perhaps_store_sqlite_remove_log(path, options->table, options->column, options->wait_milliseconds,
                                                     error);
}

static int change_postgres(const char *conninfo, const perhaps_store_options *options, bool install,
                           perhaps_error *error)
{
    return install ? perhaps_store_postgres_install_log(conninfo, options, error)
                   : perhaps_store_postgres_remove_log(conninfo, options, error);
}

int store_change_log(const struct arguments *arguments)
{
    bool install = given(arguments, OPTION_INSTALL_LOG);
    if (refuse_for_log(arguments, install ? "--install-log" : "--remove-log") != STATUS_OK) {
        return STATUS_ERROR;
    }
    const char *store = arguments->values[OPTION_STORE];
    const char *path = behind(store, sqlite_prefix);
    perhaps_store_options options = options_of(arguments);
    perhaps_error error = {.size = sizeof error};
    int code = path != NULL ? change_sqlite(path, &options, install, &error)
                            : change_postgres(postgres_conninfo(store), &options, install, &error);
    const char *name = path != NULL ? path : "postgres"; // an address can hold a password
    if (code < 0) {
        return fail_library(name, code, &error);
    }
    if (!given(arguments, OPTION_QUIET)) {
        const char *done = install ? "a log was installed for" : "the log was removed of";
        const char *idle = install ? "there is a log already for" : "there is no log of";
        tell(name, "%s column %s of table %s", code > 0 ? done : idle, options.column, options.table);
    }
    return STATUS_OK;
}
