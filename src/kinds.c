// SPDX-License-Identifier: MIT
#include "kinds.h"

static const struct perhaps__kind kinds[] = {
    [PERHAPS_KIND_BLOOM] = {"bloom", 1e-9, 0.5, perhaps__bloom_size, perhaps__bloom_fpr_for},
    [PERHAPS_KIND_BLOCKED] = {"blocked", 1e-6, 0.25, perhaps__blocked_size, perhaps__blocked_fpr_for},
};

const struct perhaps__kind *perhaps__kind(uint32_t kind)
{
    bool known = kind != PERHAPS_KIND_DEFAULT && kind < PERHAPS_COUNT(kinds);
    return known ? &kinds[kind] : NULL;
}

uint32_t perhaps__resolve_kind(uint32_t kind)
{
    return kind == PERHAPS_KIND_DEFAULT ? PERHAPS_KIND_BLOOM : kind;
}

const char *perhaps__kind_that_can(double fpr)
{
    for (uint32_t kind = 1; kind < PERHAPS_COUNT(kinds); kind++) {
        if (fpr >= kinds[kind].smallest_fpr && fpr <= kinds[kind].largest_fpr) {
            return kinds[kind].name;
        }
    }
    return NULL;
}

const char *perhaps_kind_name(uint32_t kind)
{
    const struct perhaps__kind *row = perhaps__kind(kind);
    return row != NULL ? row->name : NULL;
}

int perhaps_kind_range(uint32_t kind, double *smallest, double *largest)
{
    const struct perhaps__kind *row = perhaps__kind(kind);
    if (row == NULL) {
        return PERHAPS_E_OPTION;
    }
    if (smallest == NULL || largest == NULL) {
        return PERHAPS_E_ARGUMENT;
    }
    *smallest = row->smallest_fpr;
    *largest = row->largest_fpr;
    return PERHAPS_OK;
}
