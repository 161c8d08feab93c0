// SPDX-License-Identifier: MIT
#include "words.h"

// Bits that have the same value in all words, in sum: two bits for three of them.
struct pair {
    uint64_t low;
    uint64_t high;
};

static inline struct pair add_three(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t either = a ^ b;
    return (struct pair){either ^ c, (a & b) | (either & c)};
}

// Adds four words to sums of weight 1 and 2; what runs over has weight 4.
static inline uint64_t add_four(const uint64_t *words, struct pair *sum)
{
    struct pair first = add_three(sum->low, words[0], words[1]);
    struct pair second = add_three(first.low, words[2], words[3]);
    struct pair twos = add_three(sum->high, first.high, second.high);
    sum->low = second.low;
    sum->high = twos.low;
    return twos.high;
}

static uint64_t count_bits_of(uint64_t word)
{
    word -= (word >> 1) & UINT64_C(0x5555555555555555);
    word = (word & UINT64_C(0x3333333333333333)) + ((word >> 2) & UINT64_C(0x3333333333333333));
    word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return word * UINT64_C(0x0101010101010101) >> 56;
}

// Carry-save adders (Harley and Seal; in Warren's Hacker's Delight): of sixteen words one is counted, which is several times
// as fast as each of them where the processor's own instruction for it may not be used, and as fast as that where it may.
uint64_t perhaps__count_bits(const uint64_t *words, uint64_t count)
{
    struct pair sum = {0, 0};
    uint64_t fours = 0;
    uint64_t eights = 0;
    uint64_t sixteens = 0;
    uint64_t i = 0;
    for (; i + 16 <= count; i += 16) {
        uint64_t a = add_four(words + i, &sum);
        uint64_t b = add_four(words + i + 4, &sum);
        uint64_t c = add_four(words + i + 8, &sum);
        uint64_t d = add_four(words + i + 12, &sum);
        struct pair first = add_three(fours, a, b);
        struct pair second = add_three(first.low, c, d);
        struct pair third = add_three(eights, first.high, second.high);
        fours = second.low;
        eights = third.low;
        sixteens += count_bits_of(third.high);
    }
    uint64_t bits = 16 * sixteens + 8 * count_bits_of(eights) + 4 * count_bits_of(fours) + 2 * count_bits_of(sum.high) +
                    count_bits_of(sum.low);
    for (; i < count; i++) {
        bits += count_bits_of(words[i]);
    }
    return bits;
}
