// SPDX-License-Identifier: MIT
// What every kernel of the blocked kind agrees on: the salts, and which 32 bits of a placed hash pick the bits of a key.
#ifndef PERHAPS_BLOCKED_MASK_H
#define PERHAPS_BLOCKED_MASK_H

#include "blocked.h"
#include "sizing.h"

// Odd numbers without pattern: the upper halves of perhaps__mix(1) to perhaps__mix(8), lowest bit set. Multiplying by
// one and taking the top bits is a universal hash (Dietzfelbinger and others 1997).
#define PERHAPS_BLOCKED_SALTS                                                                                          \
    {                                                                                                                  \
        0x5692161dU, 0xdbd23897U, 0x1e535eedU, 0xb7a4712dU, 0xb6bf613dU, 0xd1770797U, 0x12ae3023U, 0xd56b1fbbU         \
    }

// The low half is independent of the block index, which is made of the high bits.
static inline uint32_t perhaps__first_choice(uint64_t placed)
{
    return (uint32_t)placed;
}

// The second bit of a lane comes from other 32 bits; the multiplication gives them a part of every bit.
static inline uint32_t perhaps__second_choice(uint64_t placed)
{
    return (uint32_t)((placed * UINT64_C(0x9fb21c651e98df25)) >> 32);
}

extern const struct perhaps__blocked_kernel perhaps__blocked_scalar[];
extern const struct perhaps__blocked_kernel perhaps__blocked_avx2[];
extern const struct perhaps__blocked_kernel perhaps__blocked_neon[];

#endif
