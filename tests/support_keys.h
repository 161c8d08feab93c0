// SPDX-License-Identifier: MIT
// Keys of the families that users have, numbered: different numbers give different keys. Without cmocka.
#ifndef PERHAPS_TESTS_SUPPORT_KEYS_H
#define PERHAPS_TESTS_SUPPORT_KEYS_H

#include <stddef.h>
#include <stdint.h>

enum support_family {
    SUPPORT_INTEGERS, // 8 bytes, little-endian, counting up
    SUPPORT_DECIMALS, // "0", "1", ...
    SUPPORT_WORDS,    // pronounceable, of 2 to 20 letters
    SUPPORT_URLS,     // a few hosts and folders, and a number
    SUPPORT_DIGESTS,  // 32 hexadecimal digits
    SUPPORT_UUIDS,    // version 4
    SUPPORT_FAMILIES
};

#define SUPPORT_KEY_MAX 96

// Numbers from here on are used for keys that are never added.
#define SUPPORT_ABSENT (UINT64_C(1) << 40)

// Writes key `number` of a family to `key` and returns its length.
size_t support_key(enum support_family family, uint64_t number, uint8_t key[SUPPORT_KEY_MAX]);

const char *support_family_name(enum support_family family);

// A sequence of 64-bit numbers that looks random and is the same everywhere (SplitMix64); `state` is any number.
uint64_t support_random(uint64_t *state);

// perhaps__mix is a bijection; this undoes it.
uint64_t support_unmix(uint64_t mixed);

#endif
