// SPDX-License-Identifier: MIT
#include "growth.h"

#include "kinds.h"

// What the caller chose of the shape of the first layer; the rest follows from n and p anew.
static struct perhaps__shape asked_shape(const perhaps_filter *filter)
{
    const struct perhaps__shape *first = &filter->layers[0]->shape;
    struct perhaps__shape asked = perhaps__kind(filter->kind)->defaults;
    asked.policy = first->policy;
    asked.slots = first->slots;
    asked.search = first->search;
    return asked;
}

static bool next_size(const perhaps_filter *filter, struct perhaps__size *size)
{
    uint64_t capacity;
    double fpr;
    struct perhaps__shape asked = asked_shape(filter);
    return perhaps__growth_layer(&filter->growth, filter->layer_count, &capacity, &fpr) &&
           perhaps__kind(filter->kind)->size_of(&asked, capacity, fpr, size);
}

static bool within_memory(const perhaps_filter *filter, uint64_t more)
{
    uint64_t bytes;
    return filter->max_bytes == 0 ||
           (!__builtin_add_overflow(perhaps__filter_payload_size(filter), more, &bytes) && bytes <= filter->max_bytes);
}

int perhaps__grow(perhaps_filter *filter)
{
    struct perhaps__size size;
    if (!next_size(filter, &size) || !within_memory(filter, size.bits / 8)) {
        return PERHAPS_E_LIMIT;
    }
    return perhaps__filter_push(filter, &size) != NULL ? PERHAPS_OK : PERHAPS_E_MEMORY;
}
