// SPDX-License-Identifier: MIT
// Free slots by NEON, which every little-endian aarch64 has: the vectors of cuckoo_count.h, one by one.
#if defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__

#include <arm_neon.h>

#include "cuckoo_count.h"

#define ALWAYS static inline __attribute__((always_inline))

// All bits of the lanes that are 0.
ALWAYS uint8x16_t zeros_of(uint8x16_t value, uint32_t lane_bits)
{
    switch (lane_bits) {
    case 8:
        return vceqzq_u8(value);
    case 16:
        return vreinterpretq_u8_u16(vceqzq_u16(vreinterpretq_u16_u8(value)));
    case 32:
        return vreinterpretq_u8_u32(vceqzq_u32(vreinterpretq_u32_u8(value)));
    default:
        return vreinterpretq_u8_u64(vceqzq_u64(vreinterpretq_u64_u8(value)));
    }
}

ALWAYS uint8x16_t slots_of(const struct perhaps__cuckoo_lanes *lanes, const uint8_t *bytes, uint32_t vector)
{
    uint8x16_t value = vld1q_u8(bytes + lanes->from[vector]);
    return vandq_u8(vqtbl1q_u8(value, vld1q_u8(lanes->order[vector])), vld1q_u8(lanes->mask[vector]));
}

// With the lane as a constant. Every byte of a free slot's lane counts it.
ALWAYS uint64_t count(const struct perhaps__cuckoo_lanes *lanes, const uint8_t *bytes, uint64_t steps,
                      uint32_t lane_bits)
{
    const uint32_t vectors = lane_bits == 64 ? 4 : 2;
    uint64_t sum = 0;
    while (steps > 0) {
        uint64_t now = perhaps__min(steps, 63); // a byte holds 255, and a step counts up to four times
        uint8x16_t free = vdupq_n_u8(0);
        steps -= now;
        for (uint64_t i = 0; i < now; i++, bytes += lanes->bytes) {
            for (uint32_t j = 0; j < vectors; j++) {
                free = vsubq_u8(free, zeros_of(slots_of(lanes, bytes, j), lane_bits));
            }
        }
        sum += vaddlvq_u8(free);
    }
    return sum / (lane_bits / 8);
}

uint64_t perhaps__cuckoo_free_neon(const struct perhaps__cuckoo_lanes *lanes, const uint8_t *bytes, uint64_t steps)
{
    switch (lanes->lane_bits) {
    case 8:
        return count(lanes, bytes, steps, 8);
    case 16:
        return count(lanes, bytes, steps, 16);
    case 32:
        return count(lanes, bytes, steps, 32);
    default:
        return count(lanes, bytes, steps, 64);
    }
}

#else
typedef int perhaps__no_neon_for_counting_slots; // a translation unit must not be empty
#endif
