// SPDX-License-Identifier: MIT
// The layers that a filter can have are numbered by their size: their capacities rise. All but the first may be missing,
// since compacting drops layers; none is there twice, so that their rates never sum to more than the filter's.
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

static bool budget_of(const perhaps_filter *filter, uint32_t index, uint64_t *capacity, double *fpr)
{
    struct perhaps__growth growth = filter->growth;
    growth.even = perhaps__grows_evenly(&filter->layers[0]->shape);
    return perhaps__growth_layer(&growth, index, capacity, fpr);
}

// Layers that depend on those before are counted up from the first one, which is always there: the others may not be.
static bool size_in_chain(const perhaps_filter *filter, uint32_t index, struct perhaps__size *size)
{
    const struct perhaps__layer *first = filter->layers[0];
    *size = (struct perhaps__size){.range = first->range, .shape = first->shape};
    for (uint32_t i = 1; i <= index; i++) {
        struct perhaps__size before = *size;
        uint64_t capacity;
        double fpr;
        if (!budget_of(filter, i, &capacity, &fpr) ||
            !perhaps__kind(filter->kind)->next_size_of(&before, capacity, fpr, size)) {
            return false;
        }
    }
    return true;
}

static bool size_of_index(const perhaps_filter *filter, uint32_t index, struct perhaps__size *size)
{
    const struct perhaps__kind *kind = perhaps__kind(filter->kind);
    if (kind->next_size_of != NULL) {
        return size_in_chain(filter, index, size);
    }
    uint64_t capacity;
    double fpr;
    struct perhaps__shape asked = asked_shape(filter);
    return budget_of(filter, index, &capacity, &fpr) && kind->size_of(&asked, capacity, fpr, size);
}

static bool is_there(const perhaps_filter *filter, uint64_t capacity)
{
    for (uint32_t i = 0; i < filter->layer_count; i++) {
        if (filter->layers[i]->capacity == capacity) {
            return true;
        }
    }
    return false;
}

static uint64_t largest_capacity(const perhaps_filter *filter)
{
    uint64_t largest = 0;
    for (uint32_t i = 0; i < filter->layer_count; i++) {
        largest = filter->layers[i]->capacity > largest ? filter->layers[i]->capacity : largest;
    }
    return largest;
}

static bool within_memory(const perhaps_filter *filter, uint64_t more)
{
    uint64_t bytes;
    return filter->max_bytes == 0 ||
           (!__builtin_add_overflow(perhaps__filter_payload_size(filter), more, &bytes) && bytes <= filter->max_bytes);
}

// Whether the filter may have the layer of that number, and its size.
static bool may_have(const perhaps_filter *filter, uint32_t index, struct perhaps__size *size)
{
    return size_of_index(filter, index, size) && !is_there(filter, size->capacity) &&
           within_memory(filter, size->bits / 8);
}

// The next larger layer, or, where there can be none, the largest one that is missing and allowed. False: neither.
static bool choose_size(const perhaps_filter *filter, struct perhaps__size *size)
{
    uint64_t largest = largest_capacity(filter);
    uint64_t capacity;
    double fpr;
    uint32_t next = 1;
    while (budget_of(filter, next, &capacity, &fpr) && capacity <= largest) {
        next++;
    }
    for (uint32_t index = next; index > 0; index--) {
        if (may_have(filter, index, size)) {
            return true;
        }
    }
    return false;
}

int perhaps__grow(perhaps_filter *filter)
{
    struct perhaps__size size;
    if (filter->layer_count >= PERHAPS_LAYERS_MAX || !choose_size(filter, &size)) {
        return PERHAPS_E_LIMIT;
    }
    return perhaps__filter_push(filter, &size) != NULL ? PERHAPS_OK : PERHAPS_E_MEMORY;
}
