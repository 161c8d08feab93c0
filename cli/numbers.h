// SPDX-License-Identifier: MIT
//
// Numbers as people type them. Nothing is guessed: what is not wholly a number in range is refused.
#ifndef PERHAPS_CLI_NUMBERS_H
#define PERHAPS_CLI_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

enum number_result { NUMBER_OK = 0, NUMBER_MALFORMED = 1, NUMBER_TOO_LARGE = 2 };

// "1000000", "500k", "2M", "3G", "1T": powers of 1000.
enum number_result parse_count(const char *text, uint64_t *value);

// The same, also "64KiB", "1MiB", "2GiB", "1TiB": powers of 1024; and "kB", "MB" for k, M.
enum number_result parse_bytes(const char *text, uint64_t *value);

// Decimal, or hexadecimal after 0x; without suffixes.
enum number_result parse_seed(const char *text, uint64_t *value);

// A decimal fraction above 0 and below 1.
enum number_result parse_rate(const char *text, double *value);

#endif
