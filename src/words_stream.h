// SPDX-License-Identifier: MIT
// Layer 1: writing whole cache lines that are not to be in the cache: they are read once, much later, and fetching them only
// to write over them would cost as much again.
#ifndef PERHAPS_WORDS_STREAM_H
#define PERHAPS_WORDS_STREAM_H

#include "base.h"

#if defined(__SSE2__) // a part of x86-64
#include <emmintrin.h>
#endif

// Copies a line; both addresses are aligned to PERHAPS_LINE.
static inline void perhaps__stream_line(uint32_t *to, const uint32_t *from)
{
#if defined(__SSE2__)
    for (size_t i = 0; i < PERHAPS_LINE / sizeof(__m128i); i++) {
        __m128i part = _mm_load_si128((const __m128i *)(const void *)from + i);
        _mm_stream_si128((__m128i *)(void *)to + i, part);
    }
#else
    memcpy(to, from, PERHAPS_LINE);
#endif
}

// Before other threads may see, or use again, what was written.
static inline void perhaps__stream_end(void)
{
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

#endif
