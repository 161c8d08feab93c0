// SPDX-License-Identifier: MIT
// Layer 0: attributes, checked arithmetic, and integers as the format stores them (little-endian).
#ifndef PERHAPS_BASE_H
#define PERHAPS_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "perhaps/perhaps.h"

#define PERHAPS_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define PERHAPS_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define PERHAPS_COUNT(array) (sizeof(array) / sizeof((array)[0]))

// Whether the thread sanitizer watches. It knows atomic accesses, and not what a processor guarantees beyond them.
#if defined(__SANITIZE_THREAD__)
#define PERHAPS_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PERHAPS_THREAD_SANITIZER 1
#endif
#endif
#ifndef PERHAPS_THREAD_SANITIZER
#define PERHAPS_THREAD_SANITIZER 0
#endif

// The alignment of every payload: a cache line, and the largest vector register.
#define PERHAPS_LINE 64

static inline uint64_t perhaps__min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t perhaps__saturating_sum(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

// The high 64 bits of a product: a * b / 2^64. With b a range, it maps an evenly spread 64-bit `a`
// evenly to [0, b) for about the price of one multiplication (Lemire 2019), where % costs a division.
static inline uint64_t perhaps__multiply_high(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    return (uint64_t)(((unsigned __int128)a * b) >> 64);
#else
    uint64_t low = (uint64_t)(uint32_t)a * (uint32_t)b;
    uint64_t first = (a >> 32) * (uint32_t)b + (low >> 32);
    uint64_t second = (uint32_t)a * (b >> 32) + (uint32_t)first;
    return (a >> 32) * (b >> 32) + (first >> 32) + (second >> 32);
#endif
}

// A constant that is to be multiplied by: compilers otherwise make shifts and additions of it, several instructions for one.
static inline uint64_t perhaps__factor(uint64_t constant)
{
    __asm__("" : "+r"(constant));
    return constant;
}

// value rounded up to a multiple of `unit`, a power of two; false when that does not fit.
static inline bool perhaps__round_up(uint64_t value, uint64_t unit, uint64_t *rounded)
{
    if (__builtin_add_overflow(value, unit - 1, rounded)) {
        return false;
    }
    *rounded &= ~(unit - 1);
    return true;
}

// Little-endian from and to native order: nothing on little-endian machines.
static inline uint64_t perhaps__little64(uint64_t value)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap64(value);
#else
    return value;
#endif
}

// Byte by byte, so that neither alignment nor byte order matters; compilers make one load of it.
static inline uint64_t perhaps__load_little(const uint8_t *bytes, unsigned width)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) {
        value |= (uint64_t)bytes[i] << (8 * i);
    }
    return value;
}

static inline void perhaps__store_little(uint8_t *bytes, unsigned width, uint64_t value)
{
    for (unsigned i = 0; i < width; i++) {
        bytes[i] = (uint8_t)(value >> (8 * i));
    }
}

// A double travels as the 64 bits of its IEEE 754 form.
static inline uint64_t perhaps__bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double perhaps__double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#endif
