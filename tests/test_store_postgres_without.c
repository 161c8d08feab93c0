// SPDX-License-Identifier: MIT
// A library that was built without PostgreSQL: the calls are there, and say so.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <perhaps/guard.h>

static void test_without_postgres(void **state)
{
    perhaps_store_options options = {.size = sizeof options, .table = "t", .column = "c"};
    perhaps_store_postgres *postgres = NULL;
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(perhaps_store_postgres_open("", &options, &postgres, &error), PERHAPS_E_UNSUPPORTED);
    assert_non_null(strstr(error.text, "was built without PostgreSQL"));
    assert_null(postgres);
    assert_int_equal(perhaps_store_postgres_open(NULL, &options, &postgres, &error), PERHAPS_E_ARGUMENT);
    assert_string_equal(error.subject, "conninfo");
    assert_int_equal(perhaps_store_postgres_install_log("", &options, &error), PERHAPS_E_UNSUPPORTED);
    assert_int_equal(perhaps_store_postgres_remove_log("", &options, &error), PERHAPS_E_UNSUPPORTED);
    assert_non_null(strstr(error.text, "was built without PostgreSQL"));
    perhaps_store_changes changes;
    assert_int_equal(perhaps_store_postgres_changes(NULL, &changes, &error), PERHAPS_E_ARGUMENT);
    options.column = NULL;
    assert_int_equal(perhaps_store_postgres_open("", &options, &postgres, &error), PERHAPS_E_ARGUMENT);
    perhaps_store store;
    assert_int_equal(perhaps_store_postgres_store(NULL, &store), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_store_postgres_indexed(NULL), PERHAPS_E_ARGUMENT);
    assert_string_equal(perhaps_store_postgres_name(NULL), "");
    perhaps_store_postgres_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_without_postgres)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
