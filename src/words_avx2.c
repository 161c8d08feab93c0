// SPDX-License-Identifier: MIT
// Counting for AVX2. This file is compiled with the baseline's flags like every other; the attribute below lets its
// functions use AVX2, and words.c calls them only where the processor has it.
#if defined(__x86_64__)

#include "words.h"

typedef uint64_t vector __attribute__((vector_size(32), aligned(8), may_alias));

#define TARGET __attribute__((target("avx2")))
#define ALWAYS static inline __attribute__((always_inline)) TARGET
#define TABLE perhaps__words_avx2

#include "words_kernel.h"

#else
typedef int perhaps__no_avx2_for_words; // a translation unit must not be empty
#endif
