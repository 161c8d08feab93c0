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

// A word that another thread may be changing, which it does atomically or under a lock among writers. On every machine
// the library is made for it is the instruction of a plain load, and stays one.
static inline uint64_t perhaps__word(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

// A word that other threads may be reading.
static inline void perhaps__set_word(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static inline bool perhaps__bit_get(const uint64_t *words, uint64_t bit)
{
    return (perhaps__word(&words[bit >> 6]) & perhaps__bit_mask(bit)) != 0;
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
        perhaps__set_word(&words[i], words[i] | others[i]);
    }
}

static inline void perhaps__clear_words(uint64_t *words, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        perhaps__set_word(&words[i], 0);
    }
}

// Copies words that other threads may be reading. Release: who sees one sees what was done before.
static inline void perhaps__copy_words(uint64_t *words, const uint64_t *from, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        __atomic_store_n(&words[i], from[i], __ATOMIC_RELEASE);
    }
}

// Sets a bit beside other threads; 1 when it was clear before, otherwise 0. A bit that is set already costs no locked
// instruction.
static inline uint64_t perhaps__bit_set_shared(uint64_t *words, uint64_t bit)
{
    uint64_t mask = perhaps__bit_mask(bit);
    uint64_t *word = &words[bit >> 6];
    if ((perhaps__word(word) & mask) != 0) {
        return 0;
    }
    return (__atomic_fetch_or(word, mask, __ATOMIC_RELAXED) & mask) == 0;
}

// Bits set in `count` words.
uint64_t perhaps__count_bits(const uint64_t *words, uint64_t count);

// How many cells of `width` bits (4, 8 or 16; words_cells.h) are above zero in `count` words, and how many have every
// bit set.
struct perhaps__cells {
    uint64_t used;
    uint64_t full;
};
struct perhaps__cells perhaps__count_cells(const uint64_t *words, uint64_t count, unsigned width);

// Both for the first words of an array, as many as fit the vectors of one level of processor. How many words those are.
struct perhaps__words_kernel {
    uint64_t (*count_bits)(const uint64_t *words, uint64_t count, uint64_t *bits);
    uint64_t (*count_cells)(const uint64_t *words, uint64_t count, unsigned width, struct perhaps__cells *cells);
};

extern const struct perhaps__words_kernel perhaps__words_plain;
extern const struct perhaps__words_kernel perhaps__words_avx2;

#endif
