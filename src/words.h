// SPDX-License-Identifier: MIT
// Layer 1: bits in 64-bit words. In memory they lie as in a file: bit i is bit i % 8 of byte i / 8, which is
// bit i % 64 of little-endian word i / 64, so that a mapped file is a filter.
#ifndef PERHAPS_WORDS_H
#define PERHAPS_WORDS_H

#include "base.h"

// The mask of a bit in its word as this machine loads it. On a big-endian machine the bytes of the word come in the
// other order: byte b is found at 7 - b, that is bit i at i ^ 56.
static inline uint64_t perhaps__bit_mask(uint64_t bit)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    bit ^= 56;
#endif
    return UINT64_C(1) << (bit & 63);
}

static inline bool perhaps__bit_get(const uint64_t *words, uint64_t bit)
{
    return (words[bit >> 6] & perhaps__bit_mask(bit)) != 0;
}

// Sets a bit; 1 when it was clear before, otherwise 0.
static inline uint64_t perhaps__bit_set(uint64_t *words, uint64_t bit)
{
    uint64_t mask = perhaps__bit_mask(bit);
    uint64_t before = words[bit >> 6];
    words[bit >> 6] = before | mask;
    return (before & mask) == 0;
}

// Sets in `words` every bit that is set in `others`.
static inline void perhaps__unite_bits(uint64_t *words, const uint64_t *others, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        words[i] |= others[i];
    }
}

// Bits set in `count` words.
static inline uint64_t perhaps__count_bits(const uint64_t *words, uint64_t count)
{
    uint64_t bits = 0;
    for (uint64_t i = 0; i < count; i++) {
        bits += (uint64_t)__builtin_popcountll(words[i]);
    }
    return bits;
}

#endif
