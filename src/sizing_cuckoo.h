// SPDX-License-Identifier: MIT
// Layer 1: how many buckets a cuckoo filter has, and how wide its fingerprints are.
#ifndef PERHAPS_SIZING_CUCKOO_H
#define PERHAPS_SIZING_CUCKOO_H

#include "sizing.h"

// The first bits of a fingerprint, its base bits, decide which other bucket it may lie in. In a filter of its own all bits
// are base bits: with b of them a bucket has 2^b - 1 partners, and too few are felt (docs/cuckoo.md). A filter that others
// are to fold into has the same base bits as they, and they have wider fingerprints. Their number is shape.layout.

#define PERHAPS_CUCKOO_MIN_BITS 4
#define PERHAPS_CUCKOO_MAX_BITS 32

// A bucket is read by loads of 8 bytes from the byte that it begins in; so many bits follow the last bucket.
#define PERHAPS_CUCKOO_SLACK_BITS 64

// The smallest fingerprint: base bits 0...01. With the base bits never zero, no fingerprint is.
static inline uint64_t perhaps__cuckoo_least(uint32_t fingerprint_bits, uint32_t base_bits)
{
    return UINT64_C(1) << (fingerprint_bits - base_bits);
}

// How many fingerprints there are: 2^f less those below the smallest.
static inline uint64_t perhaps__cuckoo_fingerprints(uint32_t fingerprint_bits, uint32_t base_bits)
{
    return (UINT64_C(1) << fingerprint_bits) - perhaps__cuckoo_least(fingerprint_bits, base_bits);
}

// The payload of that many buckets, in whole units; false when it exceeds PERHAPS_MAX_BITS.
bool perhaps__cuckoo_bits(uint64_t buckets, uint32_t slots, uint32_t fingerprint_bits, uint64_t *bits);

// Whether that many distinct keys all find a slot, but for chances of about 10^-9 (docs/cuckoo.md). With one slot a bucket
// nothing is certain, and this says only what is likely.
bool perhaps__cuckoo_fits(uint64_t keys, uint64_t buckets, uint32_t slots, uint32_t base_bits);

// The rate at which an absent key is taken for one of `keys` distinct ones. A key is a ball, thrown into one of as many bins
// as there are fingerprints and pairs of buckets, and an absent key passes when its bin is not empty. Every fingerprint
// divides an even number of buckets into half as many pairs; of an odd number one bucket is a pair of its own.
double perhaps__cuckoo_expected_fpr(double keys, double buckets, double fingerprints);

#endif
