// SPDX-License-Identifier: MIT
#include "cuckoo.h"

#include "cpu.h"

void perhaps__cuckoo_place_scalar(const struct perhaps__view *view, const uint64_t *hashes, size_t count,
                                  struct perhaps__cuckoo_block *block)
{
    const struct perhaps__cuckoo table =
        perhaps__cuckoo_table(view, view->shape.slots, view->shape.cell_bits, view->shape.layout, false);
    for (size_t i = 0; i < count; i++) {
        struct perhaps__cuckoo_spots spots = perhaps__cuckoo_start(&table, hashes[i]);
        block->fingerprint[i] = spots.fingerprint;
        block->first[i] = spots.first;
        block->second[i] = spots.second;
    }
}

// Vectors of doubles hold bit numbers below 2^52. Few buckets are near, and their remainders could be taken for b itself.
static bool suits_vectors(const struct perhaps__view *view)
{
    return view->range >= 64 && view->range < (UINT64_C(1) << 52) / PERHAPS_CUCKOO_MAX_BITS / view->shape.slots;
}

void perhaps__cuckoo_prepare(struct perhaps__view *view)
{
    view->divider = perhaps__cuckoo_divider(view->range);
    view->place_many = perhaps__cuckoo_place_scalar;
#if defined(__x86_64__)
    if (perhaps__cpu_level() == PERHAPS_CPU_AVX2 && __builtin_cpu_supports("fma") && suits_vectors(view)) {
        view->place_many = perhaps__cuckoo_place_avx2;
    }
#endif
}
