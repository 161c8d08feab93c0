// SPDX-License-Identifier: MIT
// The blocked kernels for NEON, which every little-endian aarch64 has.
#if defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__

#include <arm_neon.h>

#include "blocked_mask.h"

#define TARGET
#define TABLE perhaps__blocked_neon
typedef uint64x2_t vector;

#define ALWAYS static inline __attribute__((always_inline))

ALWAYS vector load(const uint8_t *at)
{
    return vld1q_u64((const uint64_t *)(const void *)at);
}

ALWAYS void store(uint8_t *at, vector value)
{
    vst1q_u64((uint64_t *)(void *)at, value);
}

ALWAYS vector unite(vector a, vector b)
{
    return vorrq_u64(a, b);
}

ALWAYS bool covers(const uint8_t *block, const vector *mask, size_t vectors)
{
    vector missing = vdupq_n_u64(0);
    for (size_t i = 0; i < vectors; i++) {
        missing = vorrq_u64(missing, vbicq_u64(mask[i], load(block + i * sizeof(vector))));
    }
    return vmaxvq_u32(vreinterpretq_u32_u64(missing)) == 0;
}

static const uint32_t salts[8] __attribute__((aligned(16))) = PERHAPS_BLOCKED_SALTS;

// The products of four lanes from `first` on.
ALWAYS uint32x4_t multiply_by_salts(uint32_t choice, size_t first)
{
    return vmulq_n_u32(vld1q_u32(salts + first), choice);
}

// Two vectors with four lanes of 64 bits.
ALWAYS void four_lanes(uint32_t choice, size_t first, vector *mask)
{
    uint32x4_t bit = vshrq_n_u32(multiply_by_salts(choice, first), 26);
    vector one = vdupq_n_u64(1);
    mask[0] = vshlq_u64(one, vreinterpretq_s64_u64(vmovl_u32(vget_low_u32(bit))));
    mask[1] = vshlq_u64(one, vreinterpretq_s64_u64(vmovl_high_u32(bit)));
}

ALWAYS void make_mask_32_4x64(uint64_t placed, vector *mask)
{
    four_lanes(perhaps__first_choice(placed), 0, mask);
}

ALWAYS void make_mask_32_8x32(uint64_t placed, vector *mask)
{
    for (size_t i = 0; i < 2; i++) {
        uint32x4_t bit = vshrq_n_u32(multiply_by_salts(perhaps__first_choice(placed), 4 * i), 27);
        mask[i] = vreinterpretq_u64_u32(vshlq_u32(vdupq_n_u32(1), vreinterpretq_s32_u32(bit)));
    }
}

ALWAYS void make_mask_64_8x64(uint64_t placed, vector *mask)
{
    four_lanes(perhaps__first_choice(placed), 0, mask);
    four_lanes(perhaps__first_choice(placed), 4, mask + 2);
}

ALWAYS void make_mask_64_8x64_two(uint64_t placed, vector *mask)
{
    vector second[4];
    make_mask_64_8x64(placed, mask);
    four_lanes(perhaps__second_choice(placed), 0, second);
    four_lanes(perhaps__second_choice(placed), 4, second + 2);
    for (size_t i = 0; i < 4; i++) {
        mask[i] = unite(mask[i], second[i]);
    }
}

#include "blocked_kernel.h"

#else
typedef int perhaps__no_neon_here; // a translation unit must not be empty
#endif
