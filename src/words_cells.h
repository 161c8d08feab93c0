// SPDX-License-Identifier: MIT
// Layer 1: arrays of cells of 1, 4, 8 or 16 bits: bits, or counters. Little-endian, as in a file: cell i of 4 bits is
// the low (i even) or the high half of byte i / 2. Counters are taken byte by byte, so that the byte order of the
// machine does not matter; compilers make one load of two bytes.
//
// `width` is a constant where these are called, and every call comes down to a few instructions.
#ifndef PERHAPS_WORDS_CELLS_H
#define PERHAPS_WORDS_CELLS_H

#include "words.h"

#define PERHAPS_CELL_INLINE static inline __attribute__((always_inline))

// The largest value of a counter of `width` bits.
PERHAPS_CELL_INLINE uint64_t perhaps__cell_most(unsigned width)
{
    return (UINT64_C(1) << width) - 1;
}

// The byte that holds a counter of 4 or 8 bits, or the two bytes of one of 16.
PERHAPS_CELL_INLINE uint64_t perhaps__cell_unit(const uint8_t *bytes, uint64_t cell, unsigned width)
{
    return width == 4 ? bytes[cell >> 1] : perhaps__load_little(bytes + cell * (width / 8), width / 8);
}

// The counter in its unit.
PERHAPS_CELL_INLINE uint64_t perhaps__cell_in_unit(uint64_t unit, uint64_t cell, unsigned width)
{
    return width == 4 ? unit >> (4 * (cell & 1)) & 15 : unit;
}

// A counter of 4, 8 or 16 bits.
PERHAPS_CELL_INLINE uint64_t perhaps__cell_get(const uint8_t *bytes, uint64_t cell, unsigned width)
{
    return perhaps__cell_in_unit(perhaps__cell_unit(bytes, cell, width), cell, width);
}

// Adds to a counter, 1 or 0 or, as 2^64 - 1, one less; the sum is one that the counter can hold.
PERHAPS_CELL_INLINE void perhaps__cell_change(uint8_t *bytes, uint64_t cell, unsigned width, uint64_t change)
{
    if (width == 4) {
        bytes[cell >> 1] = (uint8_t)(bytes[cell >> 1] + (change << (4 * (cell & 1))));
    } else {
        uint8_t *at = bytes + cell * (width / 8);
        perhaps__store_little(at, width / 8, perhaps__load_little(at, width / 8) + change);
    }
}

// Whether a bit is set, or a counter is above zero.
PERHAPS_CELL_INLINE bool perhaps__cell_is_set(const void *memory, uint64_t cell, unsigned width)
{
    return width == 1 ? perhaps__bit_get(memory, cell) : perhaps__cell_get(memory, cell, width) != 0;
}

// Into the second-level cache only: a line that waits for the first level holds one of its few fill buffers.
PERHAPS_CELL_INLINE void perhaps__cell_fetch(const void *memory, uint64_t cell, unsigned width)
{
    const uint64_t *words = memory;
    __builtin_prefetch(&words[cell / (64 / width)], 0, 1);
}

#endif
