// SPDX-License-Identifier: MIT
// Layer 1: arrays of cells of 1, 4, 8 or 16 bits: bits, or counters. Little-endian, as in a file: cell i of 4 bits is the
// low (i even) or the high half of byte i / 2. Counters are taken byte by byte, so that the byte order of the machine
// does not matter; compilers make one load of two bytes.
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

// Little-endian from and to native order.
PERHAPS_CELL_INLINE uint16_t perhaps__little16(uint16_t value)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap16(value);
#else
    return value;
#endif
}

// The number of the byte that holds a counter of 4 or 8 bits.
PERHAPS_CELL_INLINE uint64_t perhaps__cell_byte(uint64_t cell, unsigned width)
{
    return width == 4 ? cell >> 1 : cell;
}

// The byte that holds a counter of 4 or 8 bits, or the two bytes of one of 16. Another thread may be changing them by
// perhaps__cell_swap().
PERHAPS_CELL_INLINE uint64_t perhaps__cell_unit(const uint8_t *bytes, uint64_t cell, unsigned width)
{
    if (width == 16) {
        const uint16_t *units = (const uint16_t *)(const void *)bytes; // aligned: payloads are, to PERHAPS_LINE
        return perhaps__little16(__atomic_load_n(&units[cell], __ATOMIC_RELAXED));
    }
    return __atomic_load_n(&bytes[perhaps__cell_byte(cell, width)], __ATOMIC_RELAXED);
}

// The counter in its unit.
PERHAPS_CELL_INLINE uint64_t perhaps__cell_in_unit(uint64_t unit, uint64_t cell, unsigned width)
{
    return width == 4 ? ((cell & 1) != 0 ? unit >> 4 : unit & 15) : unit;
}

// A counter of 4, 8 or 16 bits.
PERHAPS_CELL_INLINE uint64_t perhaps__cell_get(const uint8_t *bytes, uint64_t cell, unsigned width)
{
    return perhaps__cell_in_unit(perhaps__cell_unit(bytes, cell, width), cell, width);
}

// The bits of a counter in its unit. Here and below without shifts by a number that is not known: on many processors
// those are two or three operations.
PERHAPS_CELL_INLINE uint64_t perhaps__cell_mask(uint64_t cell, unsigned width)
{
    return width == 4 ? 15 + ((0 - (cell & 1)) & (15 * 15)) : perhaps__cell_most(width);
}

// What is added to a unit to add `change` to its counter.
PERHAPS_CELL_INLINE uint64_t perhaps__cell_step(uint64_t cell, unsigned width, uint64_t change)
{
    return width == 4 ? change + ((0 - (cell & 1)) & (15 * change)) : change;
}

// Adds to a counter whose unit was just read, 1 or 0 or, as 2^64 - 1, one less; the sum is one that the counter can hold.
PERHAPS_CELL_INLINE void perhaps__cell_change_unit(uint8_t *bytes, uint64_t cell, uint64_t unit, unsigned width,
                                                   uint64_t change)
{
    uint64_t changed = unit + perhaps__cell_step(cell, width, change);
    if (width == 16) {
        perhaps__store_little(bytes + cell * 2, 2, changed);
    } else {
        bytes[perhaps__cell_byte(cell, width)] = (uint8_t)changed;
    }
}

// The same to one whose unit was not read yet.
PERHAPS_CELL_INLINE void perhaps__cell_change(uint8_t *bytes, uint64_t cell, unsigned width, uint64_t change)
{
    perhaps__cell_change_unit(bytes, cell, perhaps__cell_unit(bytes, cell, width), width, change);
}

// The same beside other threads, if its unit still is what it was seen to be; otherwise nothing, and false.
PERHAPS_CELL_INLINE bool perhaps__cell_swap(uint8_t *bytes, uint64_t cell, uint64_t seen, uint64_t change,
                                            unsigned width)
{
    if (width == 16) {
        uint16_t *units = (uint16_t *)(void *)bytes;
        uint16_t expected = perhaps__little16((uint16_t)seen);
        return __atomic_compare_exchange_n(&units[cell], &expected, perhaps__little16((uint16_t)(seen + change)), true,
                                           __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
    uint8_t expected = (uint8_t)seen;
    uint8_t desired = (uint8_t)(seen + perhaps__cell_step(cell, width, change));
    return __atomic_compare_exchange_n(&bytes[perhaps__cell_byte(cell, width)], &expected, desired, true,
                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

// Whether a bit is set, or a counter is above zero.
PERHAPS_CELL_INLINE bool perhaps__cell_is_set(const void *memory, uint64_t cell, unsigned width)
{
    if (width == 1) {
        return perhaps__bit_get(memory, cell);
    }
    return (perhaps__cell_unit(memory, cell, width) & perhaps__cell_mask(cell, width)) != 0;
}

// Into the second-level cache only: a line that waits for the first level holds one of its few fill buffers.
PERHAPS_CELL_INLINE void perhaps__cell_fetch(const void *memory, uint64_t cell, unsigned width)
{
    const uint64_t *words = memory;
    __builtin_prefetch(&words[cell / (64 / width)], 0, 1);
}

#endif
