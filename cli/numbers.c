// SPDX-License-Identifier: MIT
#include "numbers.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static int digit_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    char lower = (char)(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 16;
}

// Reads all digits; *rest is what follows. At least one is needed.
static enum number_result parse_digits(const char *text, unsigned base, uint64_t *value, const char **rest)
{
    uint64_t sum = 0;
    bool overflow = false;
    const char *at = text;
    for (; (unsigned)digit_value(*at) < base; at++) {
        overflow |= __builtin_mul_overflow(sum, base, &sum);
        overflow |= __builtin_add_overflow(sum, (uint64_t)digit_value(*at), &sum);
    }
    *value = sum;
    *rest = at;
    if (at == text) {
        return NUMBER_MALFORMED;
    }
    return overflow ? NUMBER_TOO_LARGE : NUMBER_OK;
}

struct suffix {
    const char *text;
    uint64_t factor;
};

static const struct suffix count_suffixes[] = {
    {"", 1}, {"k", 1000}, {"K", 1000}, {"M", 1000000}, {"G", 1000000000}, {"T", 1000000000000}, {NULL, 0},
};

static const struct suffix byte_suffixes[] = {
    {"", 1},
    {"k", 1000},
    {"K", 1000},
    {"M", 1000000},
    {"G", 1000000000},
    {"T", 1000000000000},
    {"kB", 1000},
    {"KB", 1000},
    {"MB", 1000000},
    {"GB", 1000000000},
    {"TB", 1000000000000},
    {"KiB", UINT64_C(1) << 10},
    {"MiB", UINT64_C(1) << 20},
    {"GiB", UINT64_C(1) << 30},
    {"TiB", UINT64_C(1) << 40},
    {NULL, 0},
};

static enum number_result parse_suffixed(const char *text, const struct suffix *suffixes, uint64_t *value)
{
    uint64_t number;
    const char *rest;
    enum number_result result = parse_digits(text, 10, &number, &rest);
    if (result == NUMBER_MALFORMED) {
        return result;
    }
    while (suffixes->text != NULL && strcmp(suffixes->text, rest) != 0) {
        suffixes++;
    }
    if (suffixes->text == NULL) {
        return NUMBER_MALFORMED;
    }
    if (result == NUMBER_TOO_LARGE || __builtin_mul_overflow(number, suffixes->factor, &number)) {
        return NUMBER_TOO_LARGE;
    }
    *value = number;
    return NUMBER_OK;
}

enum number_result parse_count(const char *text, uint64_t *value)
{
    return parse_suffixed(text, count_suffixes, value);
}

enum number_result parse_bytes(const char *text, uint64_t *value)
{
    return parse_suffixed(text, byte_suffixes, value);
}

enum number_result parse_seed(const char *text, uint64_t *value)
{
    bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    uint64_t number;
    const char *rest;
    enum number_result result =
        hexadecimal ? parse_digits(text + 2, 16, &number, &rest) : parse_digits(text, 10, &number, &rest);
    if (result == NUMBER_MALFORMED || *rest != '\0') {
        return NUMBER_MALFORMED;
    }
    if (result == NUMBER_OK) {
        *value = number;
    }
    return result;
}

// strtod() also takes "nan", "inf", "0x1p-3" and leading blanks; the set of characters rules those out.
enum number_result parse_rate(const char *text, double *value)
{
    if (text[0] == '\0' || text[strspn(text, "0123456789.eE+-")] != '\0') {
        return NUMBER_MALFORMED;
    }
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end != '\0' || !(number > 0.0 && number < 1.0)) {
        return NUMBER_MALFORMED;
    }
    *value = number;
    return NUMBER_OK;
}
