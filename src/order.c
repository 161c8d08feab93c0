// SPDX-License-Identifier: MIT
#include "order.h"

static void sort_in(struct perhaps__layer **sorted, uint32_t count, struct perhaps__layer *layer)
{
    uint32_t at = count;
    while (at > 0 && sorted[at - 1]->capacity > layer->capacity) {
        sorted[at] = sorted[at - 1];
        at--;
    }
    sorted[at] = layer;
}

static void publish(struct perhaps__order *order, struct perhaps__layer *const *layers, uint32_t count)
{
    uint64_t changing = __atomic_add_fetch(&order->word, PERHAPS_ORDER_STEP, __ATOMIC_ACQ_REL);
    for (uint32_t i = 0; i < count; i++) {
        __atomic_store_n(&order->layers[i], layers[i], __ATOMIC_RELEASE);
    }
    uint64_t number = changing - perhaps__order_count(changing) + PERHAPS_ORDER_STEP;
    __atomic_store_n(&order->word, number + count, __ATOMIC_RELEASE);
}

static bool is_same(const struct perhaps__order *order, struct perhaps__layer *const *layers, uint32_t count)
{
    bool same = perhaps__order_count(order->word) == count;
    for (uint32_t i = 0; same && i < count; i++) {
        same = order->layers[i] == layers[i];
    }
    return same;
}

void perhaps__order_set(struct perhaps__order *order, struct perhaps__layer *const *layers, uint32_t count)
{
    struct perhaps__layer *sorted[PERHAPS_LAYERS_MAX] = {0};
    for (uint32_t i = 0; i < count; i++) {
        sort_in(sorted, i, layers[i]);
    }
    if (!is_same(order, sorted, count)) {
        publish(order, sorted, count);
    }
}
