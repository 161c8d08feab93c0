// SPDX-License-Identifier: MIT
// Counting: with what every machine of an architecture has, and the choice of what the running one may have beside.
#include "words.h"

#include "cpu.h"

#if defined(__SSE2__) || defined(__aarch64__)
typedef uint64_t vector __attribute__((vector_size(16), aligned(8), may_alias));
#else
typedef uint64_t vector __attribute__((may_alias));
#endif

#define TARGET
#define ALWAYS static inline __attribute__((always_inline))
#define TABLE perhaps__words_plain

#include "words_kernel.h"

static const struct perhaps__words_kernel *kernel(void)
{
#if defined(__x86_64__)
    return perhaps__cpu_level() == PERHAPS_CPU_AVX2 ? &perhaps__words_avx2 : &perhaps__words_plain;
#else
    return &perhaps__words_plain;
#endif
}

uint64_t perhaps__count_bits(const uint64_t *words, uint64_t count)
{
    uint64_t bits;
    for (uint64_t i = kernel()->count_bits(words, count, &bits); i < count; i++) {
        bits += (uint64_t)__builtin_popcountll(words[i]);
    }
    return bits;
}

struct perhaps__cells perhaps__count_cells(const uint64_t *words, uint64_t count, unsigned width)
{
    struct perhaps__cells cells;
    uint64_t in_word = 64 / width;
    uint64_t i = kernel()->count_cells(words, count, width, &cells) * in_word;
    for (; i < count * in_word; i++) {
        uint64_t cell = perhaps__cell_get((const uint8_t *)words, i, width);
        cells.used += cell != 0;
        cells.full += cell == perhaps__cell_most(width);
    }
    return cells;
}
