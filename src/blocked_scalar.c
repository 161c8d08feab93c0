// SPDX-License-Identifier: MIT
// The blocked kernels for any processor, with 64-bit words for vectors. On big-endian machines the words of a mask are
// swapped, so that the bytes of a block are the same everywhere.
#include "blocked_mask.h"
#include "words.h"

#define TARGET
#define TABLE perhaps__blocked_scalar
typedef uint64_t vector;

static inline vector load(const uint8_t *at)
{
    return perhaps__word((const uint64_t *)(const void *)at);
}

static inline void store(uint8_t *at, vector value)
{
    perhaps__set_word((uint64_t *)(void *)at, value);
}

static inline vector unite(vector a, vector b)
{
    return a | b;
}

static inline bool covers(const uint8_t *block, const vector *mask, size_t vectors)
{
    vector missing = 0;
    for (size_t i = 0; i < vectors; i++) {
        missing |= mask[i] & ~load(block + i * sizeof(vector));
    }
    return missing == 0;
}

static const uint32_t salts[8] = PERHAPS_BLOCKED_SALTS;

static inline void lanes_of_64(uint32_t choice, size_t lanes, vector *mask)
{
    for (size_t i = 0; i < lanes; i++) {
        mask[i] = perhaps__little64(UINT64_C(1) << ((choice * salts[i]) >> 26));
    }
}

static inline void make_mask_32_4x64(uint64_t placed, vector *mask)
{
    lanes_of_64(perhaps__first_choice(placed), 4, mask);
}

static inline void make_mask_32_8x32(uint64_t placed, vector *mask)
{
    uint32_t choice = perhaps__first_choice(placed);
    for (size_t i = 0; i < 4; i++) {
        uint64_t low = UINT64_C(1) << ((choice * salts[2 * i]) >> 27);
        uint64_t high = UINT64_C(1) << ((choice * salts[2 * i + 1]) >> 27);
        mask[i] = perhaps__little64(low | (high << 32));
    }
}

static inline void make_mask_64_8x64(uint64_t placed, vector *mask)
{
    lanes_of_64(perhaps__first_choice(placed), 8, mask);
}

static inline void make_mask_64_8x64_two(uint64_t placed, vector *mask)
{
    vector second[8];
    lanes_of_64(perhaps__first_choice(placed), 8, mask);
    lanes_of_64(perhaps__second_choice(placed), 8, second);
    for (size_t i = 0; i < 8; i++) {
        mask[i] |= second[i];
    }
}

#include "blocked_kernel.h"

void perhaps__blocked_mask(uint32_t layout, uint64_t placed, uint64_t words[8])
{
    memset(words, 0, 8 * sizeof *words);
    if (layout == PERHAPS_BLOCK_32_4X64) {
        make_mask_32_4x64(placed, words);
    } else if (layout == PERHAPS_BLOCK_32_8X32) {
        make_mask_32_8x32(placed, words);
    } else if (layout == PERHAPS_BLOCK_64_8X64) {
        make_mask_64_8x64(placed, words);
    } else if (layout == PERHAPS_BLOCK_64_8X64_TWO) {
        make_mask_64_8x64_two(placed, words);
    }
}
