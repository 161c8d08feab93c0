// SPDX-License-Identifier: MIT
// Layer 2: where a key belongs in a cuckoo table: its fingerprint and its two buckets, of any number b of them.
//
//   i1 = (h mod 2^52) mod b, i2 = (H(base bits of the fingerprint) - i1) mod b
//
// With the sum of both fixed, going to the other bucket twice leads back, whatever b is. (XOR, which the paper has, needs a
// power of two.) Neither h mod 2^52 nor H knows of b: in a table of k*b buckets the pair of a key is that of b buckets, but
// for multiples of b, and so larger tables fold into smaller ones.
//
// The widths are what the arithmetic takes exactly: 52 bits in the mantissa of a double, four of which a vector holds, and
// 32 bits, a remainder of which is two products. Of 2^52 values b buckets get as many each, or one more: even to one part
// in 2^52 / b.
#ifndef PERHAPS_CUCKOO_PLACE_H
#define PERHAPS_CUCKOO_PLACE_H

#include "place.h"
#include "view.h"

#define PERHAPS_CUCKOO_INLINE static inline __attribute__((always_inline))

// Where a key belongs.
struct perhaps__cuckoo_home {
    uint64_t fingerprint;
    uint64_t first;
    uint64_t second;
};

// For remainders by b buckets, b at most 2^52. With 2^(l-1) < b <= 2^l the multiplier is 2^(52+l) / b, rounded up: too large
// by less than 2^-l of itself, so that the quotients of all x < 2^52 are exact (Granlund and Montgomery 1994). A sum is
// below 2^32, so that its remainder by the smaller one of b and 2^32 is that by b. The fraction x / b, cut off after 64
// bits, times b gives it without a quotient (Lemire, Kaser and Kurz 2019); for b = 1 the multiplier wraps around to 0,
// and so does it.
static inline struct perhaps__divider perhaps__cuckoo_divider(uint64_t buckets)
{
    struct perhaps__divider divider = {.shift = 0};
    while (UINT64_C(1) << divider.shift < buckets) {
        divider.shift++;
    }
    uint64_t top = UINT64_C(1) << divider.shift;
    uint64_t multiplier = 0;
    for (unsigned bit = 0; bit <= 52; bit++) { // a long division, bit by bit
        multiplier = multiplier << 1 | (top >= buckets);
        top = (top >= buckets ? top - buckets : top) << 1;
    }
    divider.multiplier = multiplier + (top != 0);
    divider.sums = perhaps__min(buckets, UINT64_C(1) << 32);
    divider.sum_multiplier = UINT64_MAX / divider.sums + 1;
    return divider;
}

// (h mod 2^52) mod b.
PERHAPS_CUCKOO_INLINE uint64_t perhaps__cuckoo_first(uint64_t placed, uint64_t buckets,
                                                     const struct perhaps__divider *divider)
{
    uint64_t shifted = placed << 12;
    uint64_t quotient = perhaps__multiply_high(shifted, divider->multiplier) >> divider->shift;
    return (shifted >> 12) - quotient * buckets;
}

// The fingerprint of a placed hash, evenly spread over [least, least + fingerprints): its high half, of which i1 tells next
// to nothing as long as b is far below 2^(64 - f). Its first bits are those of the narrower fingerprints of the same hash,
// because those are the same product with a smaller range.
PERHAPS_CUCKOO_INLINE uint64_t perhaps__cuckoo_fingerprint(uint64_t placed, uint64_t least, uint64_t fingerprints)
{
    return least + ((placed >> 32) * fingerprints >> 32);
}

#define PERHAPS_CUCKOO_SUM UINT32_C(0x9e3779b1) // a prime near 2^32 times the golden ratio

// H, an odd number of 32 bits. Odd, so that of an even number of buckets none is its own partner. Not a plain multiple, the
// sums and differences of which would repeat: few buckets would be within reach of each other, and full ones would stay
// full.
PERHAPS_CUCKOO_INLINE uint64_t perhaps__cuckoo_sum(uint64_t base)
{
    uint32_t product = (uint32_t)base * PERHAPS_CUCKOO_SUM;
    return (product ^ product >> 16) | 1;
}

// (sum - bucket) mod b.
PERHAPS_CUCKOO_INLINE uint64_t perhaps__cuckoo_partner(uint64_t sum, uint64_t bucket, uint64_t buckets,
                                                       const struct perhaps__divider *divider)
{
    uint64_t rest = perhaps__multiply_high(sum * divider->sum_multiplier, divider->sums);
    uint64_t difference = rest - bucket;
    // Below b, or wrapped around: then adding b makes it a small number.
    return perhaps__min(difference, difference + buckets);
}

#endif
