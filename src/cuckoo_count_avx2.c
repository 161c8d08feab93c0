// SPDX-License-Identifier: MIT
// Free slots by AVX2: two vectors of cuckoo_count.h at a time. This file is compiled with the baseline's flags like every
// other; the attribute lets its functions use what cuckoo_count.c has asked the processor for.
#if defined(__x86_64__)

#include <immintrin.h>

#include "cuckoo_count.h"

#define TARGET __attribute__((target("avx2")))
#define ALWAYS static inline __attribute__((always_inline)) TARGET

// All bits of the lanes that are 0.
ALWAYS __m256i zeros_of(__m256i value, uint32_t lane_bits)
{
    const __m256i zero = _mm256_setzero_si256();
    switch (lane_bits) {
    case 8:
        return _mm256_cmpeq_epi8(value, zero);
    case 16:
        return _mm256_cmpeq_epi16(value, zero);
    case 32:
        return _mm256_cmpeq_epi32(value, zero);
    default:
        return _mm256_cmpeq_epi64(value, zero);
    }
}

// The slots of two vectors, each in its lane.
ALWAYS __m256i slots_of(const struct perhaps__cuckoo_lanes *lanes, const uint8_t *bytes, uint32_t first)
{
    const __m128i *low = (const __m128i *)(const void *)(bytes + lanes->from[first]);
    const __m128i *high = (const __m128i *)(const void *)(bytes + lanes->from[first + 1]);
    __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(low)), _mm_loadu_si128(high), 1);
    __m256i order = _mm256_load_si256((const __m256i *)(const void *)lanes->order[first]);
    __m256i mask = _mm256_load_si256((const __m256i *)(const void *)lanes->mask[first]);
    return _mm256_and_si256(_mm256_shuffle_epi8(both, order), mask);
}

// What a step adds to the bytes of the lanes of free slots: 1, or up to 2 where it is four vectors; negative.
ALWAYS __m256i free_in(const struct perhaps__cuckoo_lanes *lanes, const uint8_t *bytes, uint32_t lane_bits)
{
    __m256i free = zeros_of(slots_of(lanes, bytes, 0), lane_bits);
    return lane_bits < 64 ? free : _mm256_add_epi8(free, zeros_of(slots_of(lanes, bytes, 2), lane_bits));
}

// Four steps in a turn, which halves the number of instructions.
ALWAYS __m256i free_in_four(const struct perhaps__cuckoo_lanes *lanes, const uint8_t *bytes, uint32_t lane_bits)
{
    const size_t step = lanes->bytes;
    __m256i first = _mm256_add_epi8(free_in(lanes, bytes, lane_bits), free_in(lanes, bytes + step, lane_bits));
    bytes += 2 * step;
    __m256i second = _mm256_add_epi8(free_in(lanes, bytes, lane_bits), free_in(lanes, bytes + step, lane_bits));
    return _mm256_add_epi8(first, second);
}

// With the lane as a constant.
ALWAYS uint64_t count(const struct perhaps__cuckoo_lanes *lanes, const uint8_t *bytes, uint64_t steps,
                      uint32_t lane_bits)
{
    const __m256i zero = _mm256_setzero_si256();
    __m256i sum = zero;
    while (steps > 0) {
        const uint8_t *end = bytes + perhaps__min(steps, 124) * lanes->bytes; // a byte holds 255
        steps -= perhaps__min(steps, 124);
        __m256i free = zero;
        for (; (size_t)(end - bytes) >= (size_t)4 * lanes->bytes; bytes += (size_t)4 * lanes->bytes) {
            free = _mm256_sub_epi8(free, free_in_four(lanes, bytes, lane_bits));
        }
        for (; bytes < end; bytes += lanes->bytes) {
            free = _mm256_sub_epi8(free, free_in(lanes, bytes, lane_bits));
        }
        sum = _mm256_add_epi64(sum, _mm256_sad_epu8(free, zero));
    }
    uint64_t parts[4];
    _mm256_storeu_si256((__m256i *)(void *)parts, sum);
    return (parts[0] + parts[1] + parts[2] + parts[3]) / (lane_bits / 8);
}

TARGET uint64_t perhaps__cuckoo_free_avx2(const struct perhaps__cuckoo_lanes *lanes, const uint8_t *bytes,
                                          uint64_t steps)
{
    switch (lanes->lane_bits) {
    case 8:
        return count(lanes, bytes, steps, 8);
    case 16:
        return count(lanes, bytes, steps, 16);
    case 32:
        return count(lanes, bytes, steps, 32);
    default:
        return count(lanes, bytes, steps, 64);
    }
}

#else
typedef int perhaps__no_avx2_for_counting_slots; // a translation unit must not be empty
#endif
