// SPDX-License-Identifier: MIT
// Layer 3: the order in which layers are asked where keys may go from one to another: the largest first.
//
// Keys only ever go to smaller layers. perhaps_compact() folds a larger one into a smaller one, each fingerprint added there
// before it is taken here. A removal that several layers match takes the fingerprint in the largest, whoever's it is, and
// leaves its owner one in a smaller layer (layers.c). So whoever asks from the largest to the smallest finds what is there:
// what has left the layer that is asked now is in one that will be asked.
//
// That needs a list that stays. It changes when a layer comes, perhaps in the middle, or is dropped; so a reader that
// found nothing looks whether the list is the one that it began with, and otherwise begins again. The reader's loads are
// acquires, the changes of the list and of slots releases: whoever saw a part of a change sees the word of it when it looks
// the second time. tests/models/layer_order.pml goes through it.
#ifndef PERHAPS_ORDER_H
#define PERHAPS_ORDER_H

#include "layer.h"

// The word of the list: how many layers there are in the lowest byte, above it a number that is odd while the list is being
// changed. It comes round after 2^55 changes.
#define PERHAPS_ORDER_STEP UINT64_C(0x100)

struct perhaps__order {
    uint64_t word;
    struct perhaps__layer *layers[PERHAPS_LAYERS_MAX]; // their capacities rise
};

static inline uint64_t perhaps__order_look(const struct perhaps__order *order)
{
    return __atomic_load_n(&order->word, __ATOMIC_ACQUIRE);
}

static inline uint32_t perhaps__order_count(uint64_t look)
{
    return (uint32_t)(look % PERHAPS_ORDER_STEP);
}

static inline struct perhaps__layer *perhaps__order_layer(const struct perhaps__order *order, uint32_t layer)
{
    return __atomic_load_n(&order->layers[layer], __ATOMIC_ACQUIRE);
}

// Whether there was one layer, and no other was just coming. The first layer is never dropped, and no key leaves it.
static inline bool perhaps__order_is_single(uint64_t look)
{
    return look % (2 * PERHAPS_ORDER_STEP) == 1;
}

// Whether the list is what it was at a look, and was one from then on.
static inline bool perhaps__order_is_still(const struct perhaps__order *order, uint64_t look)
{
    return (look & PERHAPS_ORDER_STEP) == 0 && perhaps__order_look(order) == look;
}

// Makes the list that of these layers, unless it is already. One thread at a time.
void perhaps__order_set(struct perhaps__order *order, struct perhaps__layer *const *layers, uint32_t count);

#endif
