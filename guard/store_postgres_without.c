// SPDX-License-Identifier: MIT
// In place of the store, in a library that was built without PostgreSQL: it says so.
#include <perhaps/guard.h>

#include "fail.h"
#include "store_options.h"

static int refuse(const char *conninfo, const perhaps_store_options *options, perhaps_error *error)
{
    if (conninfo == NULL) {
        return perhaps__guard_store_null("conninfo", error);
    }
    int code = perhaps__guard_store_options_check(options, error);
    if (code < 0) {
        return code;
    }
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_UNSUPPORTED, .subject = "PostgreSQL"};
    return perhaps__guard_fail(
        error, failure, "this perhaps was built without PostgreSQL; use one that was built with PERHAPS_POSTGRES");
}

int perhaps_store_postgres_open(const char *conninfo, const perhaps_store_options *options,
                                perhaps_store_postgres **postgres, perhaps_error *error)
{
    return conninfo != NULL && postgres == NULL ? perhaps__guard_store_null("postgres", error)
                                                : refuse(conninfo, options, error);
}

int perhaps_store_postgres_install_log(const char *conninfo, const perhaps_store_options *options, perhaps_error *error)
{
    return refuse(conninfo, options, error);
}

int perhaps_store_postgres_remove_log(const char *conninfo, const perhaps_store_options *options, perhaps_error *error)
{
    return refuse(conninfo, options, error);
}

// There is no store to be had; what follows can only be called with NULL.

void perhaps_store_postgres_close(perhaps_store_postgres *postgres)
{
    (void)postgres;
}

int perhaps_store_postgres_store(perhaps_store_postgres *postgres, perhaps_store *store)
{
    (void)postgres;
    (void)store;
    return PERHAPS_E_ARGUMENT;
}

int perhaps_store_postgres_indexed(const perhaps_store_postgres *postgres)
{
    (void)postgres;
    return PERHAPS_E_ARGUMENT;
}

const char *perhaps_store_postgres_name(const perhaps_store_postgres *postgres)
{
    (void)postgres;
    return "";
}

int perhaps_store_postgres_changes(perhaps_store_postgres *postgres, perhaps_store_changes *changes,
                                   perhaps_error *error)
{
    (void)postgres;
    (void)changes;
    return perhaps__guard_store_null("postgres", error);
}
