// SPDX-License-Identifier: MIT
// Checksums by AVX2: two thirds of the time that they take otherwise, as verifying a file is little else. This file is
// compiled with the baseline's flags like every other; what stands behind the pragmas may use AVX2, and hash.c calls it only
// where the processor has it.
#if defined(__x86_64__)

#include <immintrin.h>
#include <limits.h>
#include <stdlib.h>

#include "hash.h"

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#define XXH_VECTOR XXH_AVX2
#else
#pragma GCC target("avx2")
#endif

#define XXH_INLINE_ALL
#include <xxhash.h>

#define TABLE perhaps__checksum_avx2
#include "hash_checksum.h"

#if defined(__clang__)
#pragma clang attribute pop
#endif

#else
typedef int perhaps__no_avx2_for_checksums; // a translation unit must not be empty
#endif
