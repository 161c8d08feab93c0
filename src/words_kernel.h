// SPDX-License-Identifier: MIT
// Counting in bits and in cells, as a template. Who includes it defines `vector`, one or several 64-bit words, TARGET, the
// attribute of functions that may use them, and ALWAYS, the same for inline ones. Every step is the same for each word of a
// vector, so that a plain uint64_t will do where there is nothing wider.
#include "words_cells.h"

#define VECTOR_WORDS (sizeof(vector) / sizeof(uint64_t))

// What the words of a vector are in sum.
ALWAYS uint64_t sum_of_words(vector value)
{
    uint64_t words[VECTOR_WORDS];
    uint64_t sum = 0;
    memcpy(words, &value, sizeof words);
    for (size_t i = 0; i < VECTOR_WORDS; i++) {
        sum += words[i];
    }
    return sum;
}

// In each word the sum of its bytes, which is less than 256.
ALWAYS vector sum_of_bytes(vector value)
{
    value += value >> 8;
    value += value >> 16;
    value += value >> 32;
    return value & UINT64_C(0xff);
}

ALWAYS vector load(const uint64_t *words)
{
    return *(const vector *)(const void *)words;
}

/* ---------------------------------------------------------------- bits */

// Bits that have the same value in all words, in sum: two bits for three of them.
struct pair {
    vector low;
    vector high;
};

ALWAYS struct pair add_three(vector a, vector b, vector c)
{
    vector either = a ^ b;
    return (struct pair){either ^ c, (a & b) | (either & c)};
}

// Adds four vectors to sums of weight 1 and 2; what runs over has weight 4.
ALWAYS vector add_four(const uint64_t *words, struct pair *sum)
{
    struct pair first = add_three(sum->low, load(words), load(words + VECTOR_WORDS));
    struct pair second = add_three(first.low, load(words + 2 * VECTOR_WORDS), load(words + 3 * VECTOR_WORDS));
    struct pair twos = add_three(sum->high, first.high, second.high);
    sum->low = second.low;
    sum->high = twos.low;
    return twos.high;
}

// Bits set in each word.
ALWAYS vector bits_of(vector value)
{
    value -= (value >> 1) & UINT64_C(0x5555555555555555);
    value = (value & UINT64_C(0x3333333333333333)) + ((value >> 2) & UINT64_C(0x3333333333333333));
    return sum_of_bytes((value + (value >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f));
}

// Carry-save adders (Harley and Seal; in Warren's Hacker's Delight): of sixteen vectors one is counted, which is several
// times as fast as each of them where the processor's own instruction for it may not be used, and as fast as that where it
// may. As many words as there are whole sixteens; how many those are.
static TARGET uint64_t count_bits(const uint64_t *words, uint64_t count, uint64_t *bits)
{
    const vector none = {0};
    struct pair sum = {none, none};
    vector fours = {0};
    vector eights = {0};
    vector sixteens = {0};
    uint64_t i = 0;
    for (; i + 16 * VECTOR_WORDS <= count; i += 16 * VECTOR_WORDS) {
        vector a = add_four(words + i, &sum);
        vector b = add_four(words + i + 4 * VECTOR_WORDS, &sum);
        vector c = add_four(words + i + 8 * VECTOR_WORDS, &sum);
        vector d = add_four(words + i + 12 * VECTOR_WORDS, &sum);
        struct pair first = add_three(fours, a, b);
        struct pair second = add_three(first.low, c, d);
        struct pair third = add_three(eights, first.high, second.high);
        fours = second.low;
        eights = third.low;
        sixteens += bits_of(third.high);
    }
    *bits = sum_of_words((sixteens << 4) + (bits_of(eights) << 3) + (bits_of(fours) << 2) + (bits_of(sum.high) << 1) +
                         bits_of(sum.low));
    return i;
}

/* ---------------------------------------------------------------- cells */

// In each word the sum of its cells, which are at most 15 each.
ALWAYS vector sum_of_cells(vector value, unsigned width)
{
    if (width == 4) {
        value = (value & UINT64_C(0x0f0f0f0f0f0f0f0f)) + ((value >> 4) & UINT64_C(0x0f0f0f0f0f0f0f0f));
    }
    return sum_of_bytes(value);
}

// A cell's lower bits plus the largest number without a top bit reach the top unless they are 0; plus 1, only when all of
// them are set. Lane by lane, without a carry between them, and the order of a cell's bytes does not matter: of 16 bits all
// or none are set in either.
ALWAYS uint64_t count_cells_of(const uint64_t *words, uint64_t count, unsigned width, struct perhaps__cells *cells)
{
    const uint64_t ones = UINT64_MAX / perhaps__cell_most(width);
    const uint64_t tops = ones << (width - 1);
    vector used = {0};
    vector full = {0};
    uint64_t i = 0;
    while (i + VECTOR_WORDS <= count) {
        vector some = {0};
        vector every = {0};
        uint64_t end = i + perhaps__min((count - i) / VECTOR_WORDS, 15) * VECTOR_WORDS; // what 4 bits can count to
        for (; i < end; i += VECTOR_WORDS) {
            vector value = load(words + i);
            vector lower = value & (tops - ones);
            some += (((lower + (tops - ones)) | value) & tops) >> (width - 1);
            every += ((lower + ones) & value & tops) >> (width - 1);
        }
        used += sum_of_cells(some, width);
        full += sum_of_cells(every, width);
    }
    *cells = (struct perhaps__cells){sum_of_words(used), sum_of_words(full)};
    return i;
}

// With a constant width, which is several times as fast. As many words as there are whole vectors; how many those are.
static TARGET uint64_t count_cells(const uint64_t *words, uint64_t count, unsigned width, struct perhaps__cells *cells)
{
    switch (width) {
    case 4:
        return count_cells_of(words, count, 4, cells);
    case 8:
        return count_cells_of(words, count, 8, cells);
    default:
        return count_cells_of(words, count, 16, cells);
    }
}

const struct perhaps__words_kernel TABLE = {count_bits, count_cells};
