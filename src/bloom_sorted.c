// SPDX-License-Identifier: MIT
// The Bloom filter for batches so large that they are sorted by region first.
#include "bloom.h"

static void add_in_region(struct perhaps__sorter *sorter, uint32_t region, struct perhaps__fetching fetching)
{
    perhaps__visit_entries(sorter, region, fetching, 1, PERHAPS_VISIT_ADD);
}

static void ask_in_region(struct perhaps__sorter *sorter, uint32_t region, struct perhaps__fetching fetching)
{
    perhaps__visit_entries(sorter, region, fetching, 1, PERHAPS_VISIT_ASK);
}

const struct perhaps__visits perhaps__bloom_visits = {.add = add_in_region, .ask = ask_in_region, .width = 1};
