// SPDX-License-Identifier: MIT
// Counting filters for batches so large that they are sorted by region first.
#include "counting.h"

#define DEFINE(bits)                                                                                                   \
    static void add_in_region_##bits(struct perhaps__sorter *sorter, uint32_t region,                                  \
                                     struct perhaps__fetching fetching)                                                \
    {                                                                                                                  \
        perhaps__visit_entries(sorter, region, fetching, bits, PERHAPS_VISIT_ADD);                                     \
    }                                                                                                                  \
    static void ask_in_region_##bits(struct perhaps__sorter *sorter, uint32_t region,                                  \
                                     struct perhaps__fetching fetching)                                                \
    {                                                                                                                  \
        perhaps__visit_entries(sorter, region, fetching, bits, PERHAPS_VISIT_ASK);                                     \
    }                                                                                                                  \
    static const struct perhaps__visits visits_##bits = {                                                              \
        .add = add_in_region_##bits, .ask = ask_in_region_##bits, .width = (bits), .counts = true};

DEFINE(4)
DEFINE(8)
DEFINE(16)

const struct perhaps__visits *perhaps__counting_visits(uint32_t width)
{
    switch (width) {
    case 4:
        return &visits_4;
    case 8:
        return &visits_8;
    case 16:
        return &visits_16;
    default:
        return NULL;
    }
}
