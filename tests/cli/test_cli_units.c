// SPDX-License-Identifier: MIT
//
// The parts of the command-line tool that have corners which no transcript reaches.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "distinct.h"
#include "numbers.h"
#include "utf8.h"

// SplitMix64 (Steele, Lea, Flood 2014): a bijection, so different numbers give different hashes.
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

// ---- hashset

static void test_hashset_adds_and_finds(void **state)
{
    struct hashset set = {0};
    assert_false(hashset_has(&set, 0));
    assert_false(hashset_has(&set, 7));
    for (uint64_t i = 0; i < 100000; i++) {
        assert_int_equal(hashset_add(&set, i), 1);
        assert_int_equal(hashset_add(&set, i), 0);
    }
    assert_int_equal(set.count, 100000);
    for (uint64_t i = 0; i < 100000; i++) {
        assert_true(hashset_has(&set, i));
        assert_false(hashset_has(&set, i + 100000));
    }
    hashset_free(&set);
}

// Equal low bits make long clusters, which also wrap around the end.
static void keeps_what_is_low(uint64_t low_mask, uint64_t low_bits)
{
    struct hashset set = {0};
    for (uint64_t i = 0; i < 5000; i++) {
        (void)hashset_add(&set, (mix(i) & ~low_mask) | low_bits);
    }
    for (unsigned bits = 1; bits <= 5; bits++) {
        hashset_keep_low(&set, bits);
        size_t expected = 0;
        for (uint64_t i = 0; i < 5000; i++) {
            uint64_t hash = (mix(i) & ~low_mask) | low_bits;
            bool low = hash >> (64 - bits) == 0;
            expected += low;
            assert_int_equal(hashset_has(&set, hash), low);
        }
        assert_int_equal(set.count, expected);
    }
    hashset_free(&set);
}

static void test_hashset_keeps_low_hashes(void **state)
{
    keeps_what_is_low(0, 0);
    keeps_what_is_low(0xfff, 0xfff);
    keeps_what_is_low(0xffff, 0xfff0);
    keeps_what_is_low(0xffff, 0);
}

static void test_hashset_keeps_zero(void **state)
{
    struct hashset set = {0};
    assert_int_equal(hashset_add(&set, 0), 1);
    assert_int_equal(hashset_add(&set, 0), 0);
    hashset_keep_low(&set, 1); // no slots yet
    assert_int_equal(hashset_add(&set, UINT64_MAX), 1);
    hashset_keep_low(&set, 1);
    assert_true(hashset_has(&set, 0));
    assert_false(hashset_has(&set, UINT64_MAX));
    assert_int_equal(set.count, 1);
    hashset_free(&set);
}

// ---- distinct

static uint64_t count_of(uint64_t keys, unsigned repeats, uint64_t salt, size_t limit)
{
    struct distinct distinct = {.limit = limit};
    for (unsigned r = 0; r < repeats; r++) {
        for (uint64_t i = 0; i < keys; i++) {
            distinct_add(&distinct, mix(salt + (r % 2 == 0 ? i : keys - 1 - i)));
        }
    }
    uint64_t count = distinct_count(&distinct);
    assert_int_equal(distinct_is_exact(&distinct), keys < limit);
    distinct_free(&distinct);
    return count;
}

static void test_distinct_is_exact_below_the_limit(void **state)
{
    assert_int_equal(count_of(0, 1, 1, 1000), 0);
    assert_int_equal(count_of(1, 3, 1, 1000), 1);
    assert_int_equal(count_of(999, 3, 1, 1000), 999);
}

// The estimate depends on the set only, is rounded up by three standard errors, and is off by no more than five more.
static void test_distinct_estimates_beyond(void **state)
{
    const size_t limit = 2048;
    double smallest_sample = (double)limit / 2.0;
    for (uint64_t keys = limit; keys < 200000; keys = keys * 3 / 2) {
        for (uint64_t salt = 0; salt < 20; salt++) {
            uint64_t once = count_of(keys, 1, salt << 32, limit);
            assert_int_equal(count_of(keys, 2, salt << 32, limit), once);
            double error = (double)once / (double)keys - 1.0;
            assert_true(error < 8.0 / sqrt(smallest_sample));
            assert_true(error > -2.0 / sqrt(smallest_sample));
        }
    }
}

// ---- numbers

static void test_numbers(void **state)
{
    uint64_t value = 42;
    assert_int_equal(parse_count("18446744073709551615", &value), NUMBER_OK);
    assert_true(value == UINT64_MAX);
    assert_int_equal(parse_count("18446744073709551616", &value), NUMBER_TOO_LARGE);
    assert_int_equal(parse_count("18446744073709552k", &value), NUMBER_TOO_LARGE);
    assert_int_equal(parse_count("00000000000000000000000000000007k", &value), NUMBER_OK);
    assert_int_equal(value, 7000);
    static const char *const malformed[] = {"", "k", "1kk", "1ki", "+1", "-1", " 1", "1 ", "1.0", "0x1", "1e3", "1KiB"};
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
        assert_int_equal(parse_count(malformed[i], &value), NUMBER_MALFORMED);
    }
    assert_int_equal(value, 7000);
    assert_int_equal(parse_bytes("3KiB", &value), NUMBER_OK);
    assert_int_equal(value, 3072);
    assert_int_equal(parse_bytes("16777216TiB", &value), NUMBER_TOO_LARGE);
    assert_int_equal(parse_bytes("1kib", &value), NUMBER_MALFORMED);
    assert_int_equal(parse_seed("0xFfFfFfFfFfFfFfFf", &value), NUMBER_OK);
    assert_true(value == UINT64_MAX);
    assert_int_equal(parse_seed("0x10000000000000000", &value), NUMBER_TOO_LARGE);
    assert_int_equal(parse_seed("ff", &value), NUMBER_MALFORMED);
    assert_int_equal(parse_seed("12:", &value), NUMBER_MALFORMED);
}

static void test_rates(void **state)
{
    double value = 0.25;
    assert_int_equal(parse_rate("1e-9", &value), NUMBER_OK);
    assert_true(value > 0.9e-9 && value < 1.1e-9);
    assert_int_equal(parse_rate(".5", &value), NUMBER_OK);
    static const char *const malformed[] = {"0",    "1",    "-0.1", "nan",   "inf", "0x1p-3", "1e-999", "0.1e",
                                            " 0.1", "0.1 ", "1.",   "0.1.1", "-",   "e",      "+0.0"};
    for (size_t i = 0; i < sizeof malformed / sizeof malformed[0]; i++) {
        assert_int_equal(parse_rate(malformed[i], &value), NUMBER_MALFORMED);
    }
    assert_true(value > 0.49 && value < 0.51);
}

// ---- UTF-8 (Unicode, table 3-7)

static void test_utf8_sequences(void **state)
{
    static const struct {
        const char *text;
        size_t length;
    } cases[] = {
        {"a", 1},
        {"\xc2\x80", 2},
        {"\xdf\xbf", 2},
        {"\xe0\xa0\x80", 3},
        {"\xed\x9f\xbf", 3},
        {"\xef\xbf\xbf", 3},
        {"\xf0\x90\x80\x80", 4},
        {"\xf4\x8f\xbf\xbf", 4},
        {"\x80", 0},
        {"\xc1\xbf", 0},
        {"\xc2", 0},
        {"\xc2\x7f", 0},
        {"\xe0\x9f\xbf", 0},
        {"\xed\xa0\x80", 0},
        {"\xef\xbf", 0},
        {"\xf0\x8f\xbf\xbf", 0},
        {"\xf4\x90\x80\x80", 0},
        {"\xf5\x80\x80\x80", 0},
        {"\xff", 0},
        {"\xe1\x80\xc0", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(utf8_sequence(cases[i].text, strlen(cases[i].text)), cases[i].length);
        assert_int_equal(utf8_valid(cases[i].text, strlen(cases[i].text)), cases[i].length != 0);
    }
    assert_int_equal(utf8_sequence("", 0), 0);
    assert_true(utf8_valid("", 0));
}

static void test_utf8_escapes(void **state)
{
    char to[64];
    static const char text[] = "\xc3\xa4\n\x1b\x7f\xc2\x9b\xff\0z";
    size_t length = utf8_escape(to, sizeof to, text, sizeof text - 1);
    assert_string_equal(to, "\xc3\xa4\\n\\x1b\\x7f\\xc2\\x9b\\xff\\x00z");
    assert_int_equal(length, strlen(to));
    for (size_t room = 1; room < sizeof to; room++) {
        char *exact = malloc(room); // so that a sanitizer sees a byte too many
        length = utf8_escape(exact, room, text, sizeof text - 1);
        assert_true(length < room);
        assert_int_equal(strlen(exact), length);
        assert_memory_equal(exact, to, length);
        assert_true(utf8_valid(exact, length));
        free(exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hashset_adds_and_finds),
        cmocka_unit_test(test_hashset_keeps_low_hashes),
        cmocka_unit_test(test_hashset_keeps_zero),
        cmocka_unit_test(test_distinct_is_exact_below_the_limit),
        cmocka_unit_test(test_distinct_estimates_beyond),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_utf8_sequences),
        cmocka_unit_test(test_utf8_escapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
