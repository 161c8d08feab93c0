// SPDX-License-Identifier: MIT
#include "store.h"

#include <string.h>

#include "messages.h"
#include "options.h"

enum { BUSY_MILLISECONDS = 5000 };
static const char sqlite_prefix[] = "sqlite:";

int store_refuse_missing(const struct arguments *arguments)
{
    static const enum option_id needed[] = {OPTION_STORE, OPTION_TABLE, OPTION_COLUMN};
    const char *command = command_rows[arguments->command].name;
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        if (!given(arguments, needed[i])) {
            return fail_usage(command, "%s is missing", option_shown(needed[i]));
        }
    }
    const char *store = arguments->values[OPTION_STORE];
    if (strncmp(store, sqlite_prefix, sizeof sqlite_prefix - 1) != 0 || store[sizeof sqlite_prefix - 1] == '\0') {
        return fail_usage(command, "--store: '%s' is not of the form sqlite:PATH", store);
    }
    return STATUS_OK;
}

static unsigned busy(const struct arguments *arguments)
{
    return given(arguments, OPTION_NO_WAIT) ? 0 : BUSY_MILLISECONDS;
}

static const char *path_of(const struct arguments *arguments)
{
    return arguments->values[OPTION_STORE] + sizeof sqlite_prefix - 1;
}

int store_open(const struct arguments *arguments, struct store *store)
{
    store->path = path_of(arguments);
    perhaps_error error = {.size = sizeof error};
    int code = perhaps_store_sqlite_open(store->path, arguments->values[OPTION_TABLE], arguments->values[OPTION_COLUMN],
                                         busy(arguments), &store->sqlite, &error);
    if (code == 0) {
        code = perhaps_store_sqlite_store(store->sqlite, &store->store);
    }
    return code < 0 ? fail_library(store->path, code, &error) : STATUS_OK;
}

void store_close(struct store *store)
{
    perhaps_store_sqlite_close(store->sqlite);
    store->sqlite = NULL;
}

int store_changes(const struct arguments *arguments, const struct store *store, perhaps_store_changes *changes)
{
    perhaps_error error = {.size = sizeof error};
    int code =
        perhaps_store_sqlite_changes(store->sqlite, given(arguments, OPTION_APPEND_ONLY) ? 1 : 0, changes, &error);
    return code < 0 ? fail_library(store->path, code, &error) : STATUS_OK;
}

int store_change_log(const struct arguments *arguments)
{
    bool install = given(arguments, OPTION_INSTALL_LOG);
    if (option_conflict(arguments, OPTION_INSTALL_LOG, OPTION_REMOVE_LOG) != STATUS_OK) {
        return STATUS_ERROR;
    }
    if (arguments->operand_count > 0) {
        return fail_usage("guard", "'%s' is one operand too many for %s", arguments->operands[0],
                          option_shown(install ? OPTION_INSTALL_LOG : OPTION_REMOVE_LOG));
    }
    const char *path = path_of(arguments);
    const char *table = arguments->values[OPTION_TABLE];
    const char *column = arguments->values[OPTION_COLUMN];
    perhaps_error error = {.size = sizeof error};
    int code = install ? perhaps_store_sqlite_install_log(path, table, column, busy(arguments), &error)
                       : perhaps_store_sqlite_remove_log(path, table, column, busy(arguments), &error);
    if (code < 0) {
        return fail_library(path, code, &error);
    }
    if (!given(arguments, OPTION_QUIET)) {
        const char *done = install ? "a log was installed for" : "the log was removed of";
        const char *idle = install ? "there is a log already for" : "there is no log of";
        tell(path, "%s column %s of table %s", code > 0 ? done : idle, column, table);
    }
    return STATUS_OK;
}
