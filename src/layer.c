// SPDX-License-Identifier: MIT
#include "layer.h"

#include <math.h>

#include "words.h"

void perhaps__layer_init(struct perhaps__layer *layer, const struct perhaps__layer_operations *operations,
                         const struct perhaps__size *size)
{
    *layer = (struct perhaps__layer){
        .operations = operations,
        .capacity = size->capacity,
        .fpr = size->fpr,
        .bits = size->bits,
        .range = size->range,
        .shape = size->shape,
        .payload_size = size->bits / 8,
    };
}

void perhaps__layer_attach(struct perhaps__layer *layer, uint8_t *payload, const struct perhaps__setting *setting)
{
    layer->payload = payload;
    layer->view = (struct perhaps__view){
        .memory = payload,
        .range = layer->range,
        .seed_key = setting->seed_key,
        .positions = layer->shape.positions,
        .shape = layer->shape,
        .stripes = setting->stripes,
        .tally = &layer->tally,
        .claim = setting->claim,
    };
    layer->operations->view(layer, &layer->view);
}

uint64_t perhaps__layer_room_by_adds(const struct perhaps__layer *layer, const struct perhaps__tally *tally)
{
    return tally->keys < layer->capacity ? layer->capacity - tally->keys : 0;
}

void perhaps__layer_clear(struct perhaps__layer *layer)
{
    perhaps__clear_words(perhaps__layer_words(layer), layer->payload_size / 8);
    layer->tally = (struct perhaps__tally){0};
}

static uint64_t saturating_sum(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

int perhaps__layer_merge(struct perhaps__layer *into, const struct perhaps__layer *from,
                         const perhaps_allocator *allocator)
{
    int status = into->operations->merge(into, from, allocator);
    if (status == PERHAPS_OK) {
        into->tally.keys = saturating_sum(into->tally.keys, from->tally.keys);
        into->tally.removals = saturating_sum(into->tally.removals, from->tally.removals);
    }
    return status;
}

uint64_t perhaps__layer_used(const struct perhaps__layer *layer)
{
    struct perhaps__tally tally = {0};
    layer->operations->recount(layer, &tally);
    return tally.used;
}

bool perhaps__layer_agrees_without_removal(const struct perhaps__tally *recorded, const struct perhaps__tally *counted)
{
    return (recorded->keys == 0) == (counted->used == 0) && (recorded->copies | recorded->removals) == 0;
}

bool perhaps__layer_restore(struct perhaps__layer *layer, const struct perhaps__tally *recorded)
{
    struct perhaps__tally counted = {0};
    layer->operations->recount(layer, &counted);
    layer->tally.keys = recorded->keys;
    layer->tally.copies = recorded->copies;
    layer->tally.removals = recorded->removals;
    layer->tally.saturated = counted.saturated;
    layer->tally.used = layer->operations->keeps_used ? counted.used : 0;
    return counted.used == recorded->used && layer->operations->agrees(recorded, &counted);
}

double perhaps__distinct_for(double fill, double range, double positions)
{
    double distinct = -range / positions * log1p(-fill);
    return distinct > 0.0 ? distinct : 0.0; // not -0.0
}
