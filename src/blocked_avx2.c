// SPDX-License-Identifier: MIT
// The blocked kernels for AVX2. This file is compiled with the baseline's flags like every other; the attribute below
// lets its functions use AVX2, and blocked.c calls them only where the processor has it.
#if defined(__x86_64__)

#include <immintrin.h>

#include "blocked_mask.h"

#define TARGET __attribute__((target("avx2")))
#define TABLE perhaps__blocked_avx2
typedef __m256i vector;

#define ALWAYS static inline __attribute__((always_inline)) TARGET

ALWAYS vector load(const uint8_t *at)
{
    return _mm256_load_si256((const __m256i *)(const void *)at);
}

ALWAYS void store(uint8_t *at, vector value)
{
    _mm256_store_si256((__m256i *)(void *)at, value);
}

ALWAYS vector unite(vector a, vector b)
{
    return _mm256_or_si256(a, b);
}

// testc is 1 when ~block & mask is zero. Without a branch: which keys are present is not predictable.
ALWAYS bool covers(const uint8_t *block, const vector *mask, size_t vectors)
{
    int all = _mm256_testc_si256(load(block), mask[0]);
    for (size_t i = 1; i < vectors; i++) {
        all &= _mm256_testc_si256(load(block + i * sizeof(vector)), mask[i]);
    }
    return all != 0;
}

static const uint32_t salts[8] __attribute__((aligned(32))) = PERHAPS_BLOCKED_SALTS;

// Eight products, one a lane.
ALWAYS __m256i multiply_by_salts(uint32_t choice)
{
    __m256i salt = _mm256_load_si256((const __m256i *)(const void *)salts);
    return _mm256_mullo_epi32(_mm256_set1_epi32((int)choice), salt);
}

ALWAYS void make_mask_32_4x64(uint64_t placed, vector *mask)
{
    __m128i salt = _mm_load_si128((const __m128i *)(const void *)salts);
    __m128i product = _mm_mullo_epi32(_mm_set1_epi32((int)perhaps__first_choice(placed)), salt);
    __m256i bit = _mm256_cvtepu32_epi64(_mm_srli_epi32(product, 26));
    mask[0] = _mm256_sllv_epi64(_mm256_set1_epi64x(1), bit);
}

ALWAYS void make_mask_32_8x32(uint64_t placed, vector *mask)
{
    __m256i bit = _mm256_srli_epi32(multiply_by_salts(perhaps__first_choice(placed)), 27);
    mask[0] = _mm256_sllv_epi32(_mm256_set1_epi32(1), bit);
}

ALWAYS void eight_lanes(uint32_t choice, vector *mask)
{
    __m256i bit = _mm256_srli_epi32(multiply_by_salts(choice), 26);
    __m256i one = _mm256_set1_epi64x(1);
    mask[0] = _mm256_sllv_epi64(one, _mm256_cvtepu32_epi64(_mm256_castsi256_si128(bit)));
    mask[1] = _mm256_sllv_epi64(one, _mm256_cvtepu32_epi64(_mm256_extracti128_si256(bit, 1)));
}

ALWAYS void make_mask_64_8x64(uint64_t placed, vector *mask)
{
    eight_lanes(perhaps__first_choice(placed), mask);
}

ALWAYS void make_mask_64_8x64_two(uint64_t placed, vector *mask)
{
    vector second[2];
    eight_lanes(perhaps__first_choice(placed), mask);
    eight_lanes(perhaps__second_choice(placed), second);
    mask[0] = unite(mask[0], second[0]);
    mask[1] = unite(mask[1], second[1]);
}

#include "blocked_kernel.h"

#else
typedef int perhaps__no_avx2_here; // a translation unit must not be empty
#endif
