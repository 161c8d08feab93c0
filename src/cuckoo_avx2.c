// SPDX-License-Identifier: MIT
// Where many keys belong, four at a time: the values of cuckoo_place.h, by AVX2 and fused multiplication. This file is
// compiled with the baseline's flags like every other; the attribute lets its functions use what cuckoo_place.c has
// asked the processor for.
//
// Remainders are taken in doubles, whose 53 bits hold every number that occurs. x / b comes out with an error below 2 / b,
// by the reciprocal; rounded to a whole q it is off by half and that. So x - q * b, which the fused operation gives exactly,
// lies within b / 2 + 2 of 0, and is the remainder, or less by b where it is negative. The rounding of q names its mode, and
// everything else is exact or within that error in any: what a program has set the processor to does not matter.
#if defined(__x86_64__)

#include <immintrin.h>

#include "cuckoo.h"

#define TARGET __attribute__((target("avx2,fma")))
#define ALWAYS static inline __attribute__((always_inline)) TARGET

// What does not change from key to key.
struct constants {
    __m256d buckets;
    __m256d reciprocal;
    __m256d bucket_bits;
    __m256i fingerprints;
    __m256i least;
    __m128i appended;
};

// Doubles from 2^52 to 2^53 are whole numbers, which their lower 52 bits count.
#define TWO_TO_52 4503599627370496.0

ALWAYS __m256d double_of(__m256i below_2_to_52)
{
    __m256d base = _mm256_set1_pd(TWO_TO_52);
    return _mm256_sub_pd(_mm256_or_pd(_mm256_castsi256_pd(below_2_to_52), base), base);
}

// x mod b, for whole x in (-b, 2^52).
ALWAYS __m256d remainder_of(__m256d x, const struct constants *c)
{
    __m256d quotient = _mm256_round_pd(_mm256_mul_pd(x, c->reciprocal), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256d rest = _mm256_fnmadd_pd(quotient, c->buckets, x);
    __m256d negative = _mm256_cmp_pd(rest, _mm256_setzero_pd(), _CMP_LT_OQ);
    return _mm256_add_pd(rest, _mm256_and_pd(negative, c->buckets));
}

// The number of the first bit of a bucket.
ALWAYS __m256i bit_of(__m256d bucket, const struct constants *c)
{
    __m256d base = _mm256_set1_pd(TWO_TO_52);
    return _mm256_castpd_si256(_mm256_xor_pd(_mm256_fmadd_pd(bucket, c->bucket_bits, base), base));
}

// The low halves of 64-bit products: there is no such instruction.
ALWAYS __m256i multiply(__m256i a, uint64_t factor)
{
    __m256i low = _mm256_set1_epi64x((long long)factor);
    __m256i high = _mm256_set1_epi64x((long long)(factor >> 32));
    __m256i cross = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(a, 32), low), _mm256_mul_epu32(a, high));
    return _mm256_add_epi64(_mm256_mul_epu32(a, low), _mm256_slli_epi64(cross, 32));
}

// perhaps__mix().
ALWAYS __m256i mix(__m256i x)
{
    x = multiply(_mm256_xor_si256(x, _mm256_srli_epi64(x, 30)), UINT64_C(0xbf58476d1ce4e5b9));
    x = multiply(_mm256_xor_si256(x, _mm256_srli_epi64(x, 27)), UINT64_C(0x94d049bb133111eb));
    return _mm256_xor_si256(x, _mm256_srli_epi64(x, 31));
}

ALWAYS __m256i fingerprint_of(__m256i placed, const struct constants *c)
{
    __m256i product = _mm256_mul_epu32(_mm256_srli_epi64(placed, 32), c->fingerprints);
    return _mm256_add_epi64(_mm256_srli_epi64(product, 32), c->least);
}

ALWAYS __m256i sum_of(__m256i fingerprint, const struct constants *c)
{
    __m256i base = _mm256_srl_epi64(fingerprint, c->appended);
    __m256i product = _mm256_mullo_epi32(base, _mm256_set1_epi32((int)PERHAPS_CUCKOO_SUM)); // high halves stay 0
    return _mm256_or_si256(_mm256_xor_si256(product, _mm256_srli_epi64(product, 16)), _mm256_set1_epi64x(1));
}

ALWAYS struct constants constants_of(const struct perhaps__view *view)
{
    uint32_t bits = view->shape.cell_bits;
    uint32_t base = view->shape.layout;
    return (struct constants){
        .buckets = _mm256_set1_pd((double)view->range),
        .reciprocal = _mm256_set1_pd(1.0 / (double)view->range),
        .bucket_bits = _mm256_set1_pd((double)(view->shape.slots * bits)),
        .fingerprints = _mm256_set1_epi64x((long long)perhaps__cuckoo_fingerprints(bits, base)),
        .least = _mm256_set1_epi64x((long long)perhaps__cuckoo_least(bits, base)),
        .appended = _mm_cvtsi32_si128((int)(bits - base)),
    };
}

TARGET void perhaps__cuckoo_place_avx2(const struct perhaps__view *view, const uint64_t *hashes, size_t count,
                                       struct perhaps__cuckoo_block *block)
{
    const struct constants c = constants_of(view);
    const __m256i seed_key = _mm256_set1_epi64x((long long)view->seed_key);
    const __m256i mantissa = _mm256_set1_epi64x((INT64_C(1) << 52) - 1);
    for (size_t i = 0; i < count; i += 4) {
        __m256i hash;
        if (i + 4 <= count) {
            hash = _mm256_loadu_si256((const __m256i *)(const void *)(hashes + i));
        } else { // the block has room for four
            uint64_t last[4] = {0};
            memcpy(last, hashes + i, (count - i) * sizeof *last);
            hash = _mm256_loadu_si256((const __m256i *)(const void *)last);
        }
        __m256i placed = mix(_mm256_xor_si256(hash, seed_key));
        __m256i fingerprint = fingerprint_of(placed, &c);
        __m256d first = remainder_of(double_of(_mm256_and_si256(placed, mantissa)), &c);
        __m256d second = remainder_of(_mm256_sub_pd(double_of(sum_of(fingerprint, &c)), first), &c);
        _mm256_store_si256((__m256i *)(void *)(block->fingerprint + i), fingerprint);
        _mm256_store_si256((__m256i *)(void *)(block->first + i), bit_of(first, &c));
        _mm256_store_si256((__m256i *)(void *)(block->second + i), bit_of(second, &c));
    }
}

#else
typedef int perhaps__no_avx2_for_cuckoo; // a translation unit must not be empty
#endif
