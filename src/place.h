// SPDX-License-Identifier: MIT
// Layer 1: from a 64-bit hash to the positions of a key.
//
// Two steps, each settled by measurement (bench/placement.c, figures in docs/placement.md):
//
// 1. The hash, whatever its source, is mixed with the seed. Callers pass plain integers, or hashes whose top
//    bits already chose a shard; after the mixing every bit is as good as any other. It is a bijection, so
//    that no two keys become one here.
// 2. Positions follow Kirsch and Mitzenmacher's double hashing (2006), at + i * step, but each is mixed
//    before it is reduced. Plain double hashing makes keys collide in all k positions at once about once in
//    m^2: at n = 1000 and p = 1e-6 that alone is several times the rate promised. The reduction to [0, m)
//    reads the *high* bits (multiply-high), so the mixing step is one whose high bits depend on all the others.
#ifndef PERHAPS_PLACE_H
#define PERHAPS_PLACE_H

#include "base.h"

// David Stafford's "Mix13" constants (2011), the finaliser of SplitMix64.
static inline uint64_t perhaps__mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

// What a seed contributes to perhaps__place(); computed once for a filter. Not zero for seed 0.
static inline uint64_t perhaps__seed_key(uint64_t seed)
{
    return perhaps__mix(seed + UINT64_C(0x9e3779b97f4a7c15));
}

// The hash as the kernels take it.
static inline uint64_t perhaps__place(uint64_t hash, uint64_t seed_key)
{
    return perhaps__mix(hash ^ seed_key);
}

// The walk over the positions of one key.
struct perhaps__walk {
    uint64_t at;
    uint64_t step;
};

static inline struct perhaps__walk perhaps__walk_start(uint64_t placed)
{
    // An odd step never repeats before 2^64; the rotation makes it depend on other bits than `at` shows first.
    return (struct perhaps__walk){.at = placed, .step = ((placed << 32) | (placed >> 32)) | 1};
}

// The next position, in [0, bits).
static inline uint64_t perhaps__walk_next(struct perhaps__walk *walk, uint64_t bits)
{
    uint64_t mixed = (walk->at ^ (walk->at >> 32)) * UINT64_C(0xd6e8feb86659fd93);
    walk->at += walk->step;
    return perhaps__multiply_high(mixed, bits);
}

#endif
