// SPDX-License-Identifier: MIT
// A layer of kind bloom.
#include <math.h>

#include "bloom.h"
#include "cpu.h"
#include "layer.h"
#include "place_many.h"
#include "words.h"

static bool is_sound(const struct perhaps__layer *layer)
{
    const struct perhaps__shape *shape = &layer->shape;
    return layer->range == layer->bits && shape->positions > 0 && shape->positions <= PERHAPS_MAX_POSITIONS &&
           (shape->layout | shape->cell_bits | shape->slots | shape->policy | shape->search) == 0;
}

static void view_bloom(const struct perhaps__layer *layer, struct perhaps__view *view)
{
    bool near = layer->payload_size <= PERHAPS_PLACE_NEAR * perhaps__cpu_l2_bytes();
    view->ask = perhaps__bloom_ask;
    view->ask_many = near ? perhaps__bloom_ask_near : perhaps__bloom_ask_far;
    view->add_many = near ? perhaps__bloom_add_near : perhaps__bloom_add_far;
    view->add_few = perhaps__bloom_add_near;
    if (view->stripes.words != NULL) {
        view->add_many = perhaps__bloom_add_shared;
        view->add_few = perhaps__bloom_add_shared;
    }
}

static void recount(const struct perhaps__layer *layer, uint64_t from, uint64_t end, struct perhaps__tally *tally)
{
    tally->used += perhaps__count_bits(perhaps__layer_words(layer) + from / 8, (end - from) / 8);
}

static int merge(struct perhaps__layer *into, const struct perhaps__layer *from, const perhaps_allocator *allocator)
{
    (void)allocator;
    perhaps__unite_bits(perhaps__layer_words(into), perhaps__layer_words(from), into->payload_size / 8);
    perhaps__layer_recount(into, &into->tally);
    return PERHAPS_OK;
}

static void describe(const struct perhaps__layer *layer, perhaps_statistics *statistics)
{
    double bits = (double)layer->bits;
    statistics->set_bits = layer->tally.used;
    statistics->fill = (double)layer->tally.used / bits;
    statistics->fpr_now = pow(statistics->fill, layer->shape.positions);
    statistics->distinct_estimate = perhaps__distinct_for(statistics->fill, bits, layer->shape.positions);
}

static uint64_t most(const struct perhaps__layer *layer, uint64_t hash, struct perhaps__look *look)
{
    struct perhaps__walk walk = perhaps__walk_start(perhaps__place(hash, layer->view.seed_key));
    for (uint32_t i = 0; i < layer->shape.positions; i++) {
        uint64_t bit = perhaps__walk_next(&walk, layer->range);
        if (look->believe(look, bit / 8, bit / 8) && !perhaps__bit_get(perhaps__layer_words(layer), bit)) {
            return 0;
        }
    }
    return PERHAPS_COUNT_UNBOUNDED;
}

// Adds that changed something, and the real fill: whichever says sooner that the layer is full.
static uint64_t room(const struct perhaps__layer *layer, const struct perhaps__tally *tally)
{
    return perhaps__min(perhaps__layer_room_by_fill(layer, tally), perhaps__layer_room_by_adds(layer, tally));
}

static const struct perhaps__visits *visits(const struct perhaps__layer *layer)
{
    (void)layer;
    return &perhaps__bloom_visits;
}

const struct perhaps__layer_operations perhaps__layer_bloom = {
    .is_sound = is_sound,
    .view = view_bloom,
    .recount = recount,
    .merge = merge,
    .describe = describe,
    .probe = perhaps__layer_probe_positions,
    .most = most,
    .room = room,
    .agrees = perhaps__layer_agrees_without_removal,
    .visits = visits,
    .keeps_used = true,
};
