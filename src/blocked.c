// SPDX-License-Identifier: MIT
// What does not depend on the processor: choosing a kernel, merging, and looking at the fill.
#include "blocked.h"

#include "blocked_mask.h"
#include "cpu.h"
#include "words.h"

// Readers beside writers. Vector instructions read a block that a writer may be storing to, which C does not define for
// plain accesses. What makes it right is that each vector access here is one intrinsic, which the compilers turn into
// one instruction of that width at that place and do not repeat, split or invent; and that on x86-64 and AArch64 an
// aligned vector access is at least as whole as its aligned 64-bit parts (AMD APM 2, 7.3.2; Intel SDM 3A, 9.1.1; Arm ARM
// B2.2.1). A reader may so see the bits of some lanes of a key and not of others, as it may with words. Where an add
// happened before, all of them are there. The thread sanitizer cannot know this, so under it the scalar kernels run,
// which use atomic words, as they do on every other machine.

const struct perhaps__blocked_kernel *perhaps__blocked_kernel(uint32_t layout)
{
    if (PERHAPS_THREAD_SANITIZER) {
        return &perhaps__blocked_scalar[layout];
    }
    switch (perhaps__cpu_level()) {
    case PERHAPS_CPU_AVX2:
#if defined(__x86_64__)
        return &perhaps__blocked_avx2[layout];
#endif
    case PERHAPS_CPU_NEON:
#if defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        return &perhaps__blocked_neon[layout];
#endif
    case PERHAPS_CPU_SCALAR:
        break;
    }
    return &perhaps__blocked_scalar[layout];
}

static const uint64_t *words_of(const struct perhaps__blocked *blocked)
{
    return (const uint64_t *)(const void *)blocked->bytes; // aligned to PERHAPS_LINE
}

// The probability that an absent key's bits of a lane with `set` bits set are all set.
static double lane_fpr(const struct perhaps__block_shape *shape, unsigned set)
{
    double fill = (double)set / shape->lane_bits;
    return shape->bits_per_lane == 1 ? fill : fill * fill; // the two are drawn independently
}

struct tally {
    uint64_t set_bits;
    double fpr;
};

static void tally_block(const struct perhaps__block_shape *shape, const uint64_t *words, struct tally *tally)
{
    double fpr = 1.0;
    for (uint32_t i = 0; i < shape->bytes / 8; i++) {
        uint64_t word = perhaps__little64(perhaps__word(&words[i]));
        unsigned set = (unsigned)__builtin_popcountll(word);
        tally->set_bits += set;
        if (shape->lane_bits == 64) {
            fpr *= lane_fpr(shape, set);
        } else {
            unsigned low = (unsigned)__builtin_popcountll(word & UINT32_MAX);
            fpr *= lane_fpr(shape, low) * lane_fpr(shape, set - low);
        }
    }
    tally->fpr += fpr;
}

struct perhaps__blocked_fill perhaps__blocked_fill(const struct perhaps__blocked *blocked)
{
    const uint64_t most = UINT64_C(1) << 18;
    const struct perhaps__block_shape *shape = perhaps__block_shape(blocked->layout);
    uint64_t looked_at = perhaps__min(blocked->count, most);
    struct tally tally = {0};
    for (uint64_t i = 0; i < looked_at; i++) {
        // Evenly spaced over the filter: i * count / 2^18.
        uint64_t block = looked_at < most ? i : perhaps__multiply_high(i << 46, blocked->count);
        tally_block(shape, words_of(blocked) + block * (shape->bytes / 8), &tally);
    }
    double bits = (double)looked_at * shape->bytes * 8.0;
    return (struct perhaps__blocked_fill){
        .fill = (double)tally.set_bits / bits,
        .fpr = tally.fpr / (double)looked_at,
    };
}
