// SPDX-License-Identifier: MIT
// Positions in a PostgreSQL store, as bytes: snapshots of any transactions, more of them than there is room for, and
// bytes that nobody wrote.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "postgres_position.h"

static const struct perhaps__guard_postgres_found found = {.whole = true,
                                                           .signature = "0123456789abcdef0123456789abcdef"};

static bool store(perhaps_store_position *position, char *snapshot)
{
    const struct perhaps__guard_postgres_rows rows = {.snapshot = snapshot, .rows = 3, .sum = INT64_MAX};
    *position = (perhaps_store_position){.length = 0};
    return perhaps__guard_postgres_position_store(position, &found, &rows);
}

static void test_snapshots(void **state)
{
    static const char *const snapshots[] = {
        "1:1:",
        "726:728:726",
        "726:728:727",
        "726:900:726,727,855,899",
        "4294967295:8589934592:4294967295,4294967296,8589934591",
        "3:9223372036854775807:3,9223372036854775806",
    };
    for (size_t i = 0; i < sizeof snapshots / sizeof snapshots[0]; i++) {
        char text[96];
        perhaps_store_position position;
        struct perhaps__guard_postgres_place place;
        (void)snprintf(text, sizeof text, "%s", snapshots[i]);
        assert_true(store(&position, text));
        assert_false(perhaps__guard_postgres_position_is_none(&position));
        assert_true(perhaps__guard_postgres_position_load(&place, &position));
        assert_string_equal(place.snapshot, snapshots[i]);
        assert_string_equal(place.signature, found.signature);
        assert_int_equal(place.rows, 3);
        assert_int_equal(place.sum, INT64_MAX);
    }
    perhaps_store_position none = {.length = 0};
    struct perhaps__guard_postgres_place place;
    perhaps__guard_postgres_position_none(&none);
    assert_true(perhaps__guard_postgres_position_is_none(&none));
    assert_false(perhaps__guard_postgres_position_load(&place, &none));
}

// A snapshot with so many under way, each so far from the one before.
static char *crowded(unsigned count, uint64_t step)
{
    size_t room = 64 + 21 * (size_t)count;
    char *text = malloc(room);
    assert_non_null(text);
    int length = snprintf(text, room, "5:%llu:", 6 + (unsigned long long)step * count);
    for (unsigned i = 0; i < count; i++) {
        length +=
            snprintf(text + length, room - (size_t)length, i > 0 ? ",%llu" : "%llu", 5 + (unsigned long long)step * i);
    }
    return text;
}

// None is ever left out.
static void test_crowds(void **state)
{
    for (uint64_t step = 1; step < UINT64_C(1) << 50; step *= 100) {
        unsigned most = 0;
        bool fits = true;
        while (fits && most < 1000) {
            perhaps_store_position position;
            struct perhaps__guard_postgres_place place;
            char *text = crowded(most + 1, step);
            fits = store(&position, text);
            most += fits;
            if (fits) {
                assert_true(perhaps__guard_postgres_position_load(&place, &position));
                assert_string_equal(place.snapshot, text);
            }
            free(text);
        }
        assert_in_range(most, step == 1 ? 440 : 50, 440);
    }
}

// What is read is a snapshot that PostgreSQL takes, or it is refused.
static void test_bytes_that_nobody_wrote(void **state)
{
    char text[] = "726:900:726,727,855,899";
    perhaps_store_position position;
    struct perhaps__guard_postgres_place place;
    assert_true(store(&position, text));
    perhaps_store_position written = position;
    for (size_t length = 0; length < written.length; length++) {
        position.length = length;
        bool whole = length >= PERHAPS__GUARD_POSTGRES_RUNNING && (written.bytes[length - 1] & 0x80) == 0;
        whole = whole || length == PERHAPS__GUARD_POSTGRES_RUNNING;
        assert_int_equal(perhaps__guard_postgres_position_load(&place, &position), whole);
    }
    for (size_t bit = 0; bit < 8 * written.length; bit++) {
        position = written;
        position.bytes[bit / 8] ^= (unsigned char)(1U << bit % 8);
        if (perhaps__guard_postgres_position_load(&place, &position)) {
            char *end = NULL;
            unsigned long long before = strtoull(place.snapshot, &end, 10);
            unsigned long long next = strtoull(end + 1, &end, 10);
            assert_in_range(before, 1, next);
            for (bool begun = false; end[0] != '\0' && end[1] != '\0'; begun = true) {
                unsigned long long running = strtoull(end + 1, &end, 10);
                assert_in_range(running, before + begun, next - 1);
                before = running;
            }
        }
    }
    memset(position.bytes, 0xff, sizeof position.bytes);
    position.length = PERHAPS_STORE_POSITION + 1;
    memcpy(position.bytes, written.bytes, 8);
    assert_false(perhaps__guard_postgres_position_load(&place, &position));
    position.length = PERHAPS_STORE_POSITION;
    assert_false(perhaps__guard_postgres_position_load(&place, &position));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_snapshots),
        cmocka_unit_test(test_crowds),
        cmocka_unit_test(test_bytes_that_nobody_wrote),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
