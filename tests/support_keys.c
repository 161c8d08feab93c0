// SPDX-License-Identifier: MIT
#include "support_keys.h"

#include <string.h>

// Stafford's Mix13: a bijection, so that keys made of mixed numbers stay different.
static uint64_t scramble(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t support_random(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return scramble(*state);
}

// The low `digits` hexadecimal digits of a number.
static size_t put_hex(uint8_t *at, uint64_t number, unsigned digits)
{
    for (unsigned i = 0; i < digits; i++) {
        at[i] = (uint8_t) "0123456789abcdef"[(number >> (4 * (digits - 1 - i))) & 15];
    }
    return digits;
}

static size_t put_decimal(uint8_t *at, uint64_t number)
{
    uint8_t reversed[20];
    size_t length = 0;
    do {
        reversed[length++] = (uint8_t)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    for (size_t i = 0; i < length; i++) {
        at[i] = reversed[length - 1 - i];
    }
    return length;
}

static size_t put_text(uint8_t *at, const char *text)
{
    size_t length = strlen(text);
    memcpy(at, text, length);
    return length;
}

static size_t integer_key(uint64_t number, uint8_t *key)
{
    for (unsigned i = 0; i < 8; i++) {
        key[i] = (uint8_t)(number >> (8 * i));
    }
    return 8;
}

// Bijective numeration with 85 syllables: every number is another word, and no word begins with a zero.
static size_t word_key(uint64_t number, uint8_t *key)
{
    static const char consonants[] = "bcdfghjklmnprstvz";
    static const char vowels[] = "aeiou";
    size_t length = 0;
    number++;
    while (number > 0) {
        number--;
        key[length++] = (uint8_t)consonants[number % 17];
        key[length++] = (uint8_t)vowels[number / 17 % 5];
        number /= 85;
    }
    return length;
}

static size_t url_key(uint64_t number, uint8_t *key)
{
    static const char *const hosts[] = {"https://www.example.org", "http://example.com", "https://cdn.example.net",
                                        "https://shop.example.com"};
    static const char *const folders[] = {"/articles/", "/users/profile/", "/img/thumbs/", "/", "/api/v2/items/"};
    size_t length = put_text(key, hosts[number % 4]);
    length += put_text(key + length, folders[number % 5]);
    length += put_decimal(key + length, number);
    return length + put_text(key + length, number % 3 == 0 ? ".html" : "?utm_source=feed&lang=en");
}

static size_t digest_key(uint64_t number, uint8_t *key)
{
    put_hex(key, scramble(number + 1), 16);
    put_hex(key + 16, scramble(number + UINT64_C(0x9e3779b97f4a7c15)), 16);
    return 32;
}

// All 64 bits of the first mixed number are in it: 48 at the front, 14 behind the variant, 2 at the end.
static size_t uuid_key(uint64_t number, uint8_t *key)
{
    uint64_t first = scramble(number + 1);
    uint64_t second = scramble(number + UINT64_C(0x9e3779b97f4a7c15));
    size_t length = put_hex(key, first >> 32, 8);
    key[length++] = '-';
    length += put_hex(key + length, first >> 16, 4);
    key[length++] = '-';
    length += put_hex(key + length, 0x4000 | (second >> 52), 4);
    key[length++] = '-';
    length += put_hex(key + length, 0x8000 | (first & 0x3fff), 4);
    key[length++] = '-';
    return length + put_hex(key + length, (second & ~UINT64_C(3)) | (first >> 14 & 3), 12);
}

size_t support_key(enum support_family family, uint64_t number, uint8_t key[SUPPORT_KEY_MAX])
{
    switch (family) {
    case SUPPORT_INTEGERS:
        return integer_key(number, key);
    case SUPPORT_DECIMALS:
        return put_decimal(key, number);
    case SUPPORT_WORDS:
        return word_key(number, key);
    case SUPPORT_URLS:
        return url_key(number, key);
    case SUPPORT_DIGESTS:
        return digest_key(number, key);
    case SUPPORT_UUIDS:
        return uuid_key(number, key);
    case SUPPORT_FAMILIES:
        break;
    }
    return 0;
}

const char *support_family_name(enum support_family family)
{
    static const char *const names[] = {"integers", "decimals", "words", "URLs", "digests", "UUIDs"};
    return family < SUPPORT_FAMILIES ? names[family] : "none";
}

uint64_t support_unmix(uint64_t mixed)
{
    uint64_t x = (mixed ^ (mixed >> 31) ^ (mixed >> 62)) * UINT64_C(0x319642b2d24d8ec3);
    x = (x ^ (x >> 27) ^ (x >> 54)) * UINT64_C(0x96de1b173f119089);
    return x ^ (x >> 30) ^ (x >> 60);
}
