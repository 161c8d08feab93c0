// SPDX-License-Identifier: MIT
// How the error rate of a growing filter is shared out among layers that are not there yet.
#include "sizing.h"

// n * factor^index; false when that is beyond 64 bits.
static bool natural_capacity(const struct perhaps__growth *growth, uint32_t index, uint64_t *capacity)
{
    *capacity = growth->capacity;
    for (uint32_t i = 0; i < index; i++) {
        if (__builtin_mul_overflow(*capacity, growth->factor, capacity)) {
            return false;
        }
    }
    return true;
}

// The capacities of all layers up to max_capacity. They rise, so that a layer is known by its capacity: the last one takes
// what a next one would get that is not larger. How many there are; 0 if more than there can be.
static uint32_t plan_capacities(const struct perhaps__growth *growth, uint64_t capacities[PERHAPS_LAYERS_MAX])
{
    uint64_t left = growth->max_capacity;
    for (uint32_t i = 0; i < PERHAPS_LAYERS_MAX; i++) {
        uint64_t capacity;
        bool is_last = !natural_capacity(growth, i, &capacity) || capacity >= left - perhaps__min(left, capacity);
        capacities[i] = is_last ? left : capacity;
        left -= capacities[i];
        if (left == 0) {
            return i + 1;
        }
    }
    return 0;
}

// The memory of layers of n_i keys at rates p_i is the sum of n_i log(1/p_i), but for a factor. Under a fixed sum of the
// p_i it is smallest for p_i in proportion to n_i (Lagrange). Where that is less than the kind can keep, a layer gets the
// smallest rate that is kept, at the cost of the others.
static double planned_budget(const struct perhaps__growth *growth, const uint64_t *capacities, uint32_t count,
                             uint32_t index)
{
    uint32_t strict = 0; // layers before this one get the smallest rate; capacities rise
    double budget = growth->fpr;
    double keys = (double)growth->max_capacity;
    while (strict < count && budget * (double)capacities[strict] / keys < growth->smallest_fpr) {
        budget -= growth->smallest_fpr;
        keys -= (double)capacities[strict];
        strict++;
    }
    return index < strict ? growth->smallest_fpr : budget * (double)capacities[index] / keys;
}

// Half of the rate is shared out as 1/((i+1)(i+2)), which favours the first layers, and half evenly among all layers
// that there can be. A series alone must be prepared for endless growth, and leaves layer 13 (1,000 keys grown to ten
// million) 1/210 of the rate; this leaves it 1/55, two bits a key less, for 0.9 bits more in the first layer.
static double natural_share(uint32_t index)
{
    return 0.5 / ((double)(index + 1) * (double)(index + 2)) + 0.5 / PERHAPS_LAYERS_MAX;
}

bool perhaps__growth_layer(const struct perhaps__growth *growth, uint32_t index, uint64_t *capacity, double *fpr)
{
    if (index >= PERHAPS_LAYERS_MAX) {
        return false;
    }
    if (growth->max_capacity == 0) {
        *fpr = growth->fpr * natural_share(index);
        return natural_capacity(growth, index, capacity) && *fpr >= growth->smallest_fpr;
    }
    uint64_t capacities[PERHAPS_LAYERS_MAX];
    uint32_t count = plan_capacities(growth, capacities);
    if (index >= count || growth->smallest_fpr * count > growth->fpr) {
        return false;
    }
    *capacity = capacities[index];
    *fpr = growth->even ? growth->fpr / count : planned_budget(growth, capacities, count, index);
    return true;
}
