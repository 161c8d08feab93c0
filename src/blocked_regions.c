// SPDX-License-Identifier: MIT
#include "blocked_regions.h"

static inline uint64_t region_of(const struct perhaps__view *view, unsigned shift, uint64_t placed)
{
    return perhaps__multiply_high(placed, view->range) >> shift;
}

// A counting sort, which is stable: copies of a key stay in order, and the first one is the new one.
void perhaps__sort_by_region(const struct perhaps__view *view, unsigned shift, const uint64_t *hashes, size_t count,
                             struct perhaps__regions *regions)
{
    uint64_t placed[PERHAPS_REGION_KEYS];
    uint8_t region[PERHAPS_REGION_KEYS];
    uint16_t next[PERHAPS_REGIONS + 1] = {0};
    regions->first = region_of(view, shift, perhaps__place(hashes[0], view->seed_key));
    for (size_t i = 0; i < count; i++) {
        perhaps__fetch_hashes(hashes + i);
        placed[i] = perhaps__place(hashes[i], view->seed_key);
        region[i] = (uint8_t)((region_of(view, shift, placed[i]) - regions->first) % PERHAPS_REGIONS);
        next[region[i] + 1]++;
    }
    for (size_t i = 0; i < PERHAPS_REGIONS; i++) {
        next[i + 1] = (uint16_t)(next[i + 1] + next[i]);
    }
    memcpy(regions->begin, next, sizeof next);
    for (size_t i = 0; i < count; i++) {
        uint16_t at = next[region[i]]++;
        regions->placed[at] = placed[i];
        regions->index[at] = (uint16_t)i;
    }
}
