// SPDX-License-Identifier: MIT
// Counting the slots that are taken: by whole vectors where the processor has an instruction that puts bytes into any order,
// otherwise by whole words.
#include "cuckoo_count.h"

#include "cpu.h"
#include "words.h"

// 64 slots of f bits are f words.
#define PERIOD 64

/* ---------------------------------------------------------------- vectors */

// The least lane that has room: the first bit of a slot is one of a byte that its width, doubled or not, leads to.
static uint32_t lane_bits(uint32_t bits)
{
    uint32_t lowest = bits & -bits;
    uint32_t most = bits + 8 - (lowest < 8 ? lowest : 8);
    uint32_t lane = 8;
    while (lane < most) {
        lane *= 2;
    }
    return lane;
}

static void lay_out(struct perhaps__cuckoo_lanes *lanes, uint32_t vector, uint32_t bits)
{
    const uint32_t count = 128 / lanes->lane_bits;
    const uint32_t width = lanes->lane_bits / 8;
    const uint32_t from = vector * count * bits / 8;
    lanes->from[vector] = from;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bit = (vector * count + i) * bits;
        uint64_t mask = ((UINT64_C(1) << bits) - 1) << bit % 8;
        for (uint32_t j = 0; j < width; j++) {
            lanes->order[vector][i * width + j] = (uint8_t)((bit / 8 - from + j) & 15); // beyond, the mask is 0
            lanes->mask[vector][i * width + j] = (uint8_t)(mask >> 8 * j);
        }
    }
}

static struct perhaps__cuckoo_lanes lanes_of(uint32_t bits)
{
    struct perhaps__cuckoo_lanes lanes = {.lane_bits = lane_bits(bits)};
    lanes.vectors = lanes.lane_bits == 64 ? 4 : 2; // at least eight slots: whole bytes
    lanes.slots = lanes.vectors * 128 / lanes.lane_bits;
    lanes.bytes = lanes.slots * bits / 8;
    for (uint32_t i = 0; i < lanes.vectors; i++) {
        lay_out(&lanes, i, bits);
    }
    lanes.reach = lanes.from[lanes.vectors - 1] + 16;
    return lanes;
}

static perhaps__cuckoo_free_function *vectors_here(void)
{
    switch (perhaps__cpu_level()) {
    case PERHAPS_CPU_AVX2:
#if defined(__x86_64__)
        return perhaps__cuckoo_free_avx2;
#endif
    case PERHAPS_CPU_NEON:
#if defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        return perhaps__cuckoo_free_neon;
#endif
    case PERHAPS_CPU_SCALAR:
        break;
    }
    return NULL;
}

// Adds the free ones of the first slots from a byte on; how many those are. Nothing behind the last slot is read.
static uint64_t count_by_vectors(perhaps__cuckoo_free_function *vectors, const uint8_t *bytes, uint32_t bits,
                                 uint64_t slots, uint64_t *free)
{
    const struct perhaps__cuckoo_lanes lanes = lanes_of(bits);
    uint64_t size = slots / 8 * bits;
    uint64_t steps = size < lanes.reach ? 0 : (size - lanes.reach) / lanes.bytes + 1;
    *free += vectors(&lanes, bytes, steps);
    return steps * lanes.slots;
}

/* ---------------------------------------------------------------- words */

// The lanes of a word, of f bits each, the first one having begun in the word before, mostly. Of each, the top bit and those
// below it, as far as they lie in the word.
struct word_lanes {
    uint64_t tops;
    uint64_t lower;
};

static void lay_out_words(struct word_lanes *words, uint32_t bits)
{
    for (uint32_t i = 0; i < bits; i++) {
        words[i] = (struct word_lanes){0, UINT64_MAX};
    }
    for (uint32_t slot = 0; slot < PERIOD; slot++) {
        uint32_t top = slot * bits + bits - 1;
        words[top / 64].tops |= UINT64_C(1) << top % 64;
        words[top / 64].lower &= ~(UINT64_C(1) << top % 64);
    }
}

// The top bit of each lane that is not 0. As in perhaps__cuckoo_zeros(), the lower bits plus as many ones reach the top
// unless they are 0. Where a lane goes on in the next word, so does the sum: what carries out of a word is of that lane
// alone, which begins in it, and so does not depend on what was carried in.
static void mark_taken(const struct word_lanes *lanes, const uint8_t *bytes, uint32_t bits, uint64_t *taken)
{
    uint64_t carry = 0;
    for (uint32_t i = 0; i < bits; i++) {
        uint64_t word;
        memcpy(&word, bytes + 8 * (size_t)i, sizeof word);
        word = perhaps__little64(word);
        uint64_t sum = (word & lanes[i].lower) + lanes[i].lower;
        taken[i] = ((sum + carry) | word) & lanes[i].tops;
        carry = sum < lanes[i].lower;
    }
}

// As count_by_vectors().
static uint64_t count_by_words(const uint8_t *bytes, uint32_t bits, uint64_t slots, uint64_t *free)
{
    struct word_lanes lanes[PERHAPS_CUCKOO_MAX_BITS];
    uint64_t taken[16 * PERHAPS_CUCKOO_MAX_BITS]; // counted together
    const uint64_t most = PERHAPS_COUNT(taken) / bits;
    lay_out_words(lanes, bits);
    uint64_t periods = slots / PERIOD;
    for (uint64_t done = 0; done < periods;) {
        uint64_t count = perhaps__min(periods - done, most);
        for (uint64_t i = 0; i < count; i++) {
            mark_taken(lanes, bytes + (done + i) * bits * 8, bits, taken + i * bits);
        }
        *free += count * PERIOD - perhaps__count_bits(taken, count * bits);
        done += count;
    }
    return periods * PERIOD;
}

/* ---------------------------------------------------------------- all */

static uint64_t count_one_by_one(const struct perhaps__cuckoo *table, uint64_t first, uint64_t last)
{
    uint64_t free = 0;
    for (uint64_t slot = first; slot < last; slot++) {
        free += perhaps__cuckoo_get(table, slot * table->bits) == 0;
    }
    return free;
}

uint64_t perhaps__cuckoo_taken(const struct perhaps__cuckoo *table, uint64_t first, uint64_t last)
{
    perhaps__cuckoo_free_function *vectors = vectors_here();
    uint64_t begin = perhaps__min((first + 7) & ~UINT64_C(7), last); // in a whole byte
    uint64_t free = count_one_by_one(table, first, begin);
    const uint8_t *bytes = table->bytes + begin / 8 * table->bits;
    uint64_t done = vectors != NULL ? count_by_vectors(vectors, bytes, table->bits, last - begin, &free)
                                    : count_by_words(bytes, table->bits, last - begin, &free);
    free += count_one_by_one(table, begin + done, last);
    return last - first - free;
}
