// SPDX-License-Identifier: MIT
#include "layer.h"

#include <math.h>

#include "place.h"
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
        .stripes = layer->stripes,
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
    uint64_t *unsettled = &layer->tally.unsettled; // the last member: readers count there, and they are not kept out
    memset(&layer->tally, 0, offsetof(struct perhaps__tally, unsettled));
    __atomic_store_n(unsettled, 0, __ATOMIC_RELAXED);
}

int perhaps__layer_merge(struct perhaps__layer *into, const struct perhaps__layer *from,
                         const perhaps_allocator *allocator)
{
    int status = into->operations->merge(into, from, allocator);
    if (status == PERHAPS_OK) {
        into->tally.keys = perhaps__saturating_sum(into->tally.keys, from->tally.keys);
        into->tally.removals = perhaps__saturating_sum(into->tally.removals, from->tally.removals);
    }
    return status;
}

void perhaps__layer_recount(const struct perhaps__layer *layer, struct perhaps__tally *tally)
{
    tally->used = 0;
    tally->saturated = 0;
    layer->operations->recount(layer, 0, layer->payload_size, tally);
}

uint64_t perhaps__layer_used(const struct perhaps__layer *layer)
{
    struct perhaps__tally tally;
    perhaps__layer_recount(layer, &tally);
    return tally.used;
}

bool perhaps__layer_agrees_without_removal(const struct perhaps__tally *recorded, const struct perhaps__tally *counted)
{
    return (recorded->keys == 0) == (counted->used == 0) && (recorded->copies | recorded->removals) == 0;
}

bool perhaps__layer_restore(struct perhaps__layer *layer, const struct perhaps__tally *recorded,
                            const struct perhaps__tally *counted)
{
    layer->tally.keys = recorded->keys;
    layer->tally.copies = recorded->copies;
    layer->tally.removals = recorded->removals;
    layer->tally.saturated = counted->saturated;
    layer->tally.used = layer->operations->keeps_used ? counted->used : 0;
    return counted->used == recorded->used && layer->operations->agrees(recorded, counted);
}

// What can be used: counters, slots, or bits.
static uint64_t cells_of(const struct perhaps__layer *layer)
{
    uint64_t counters = layer->shape.cell_bits != 0 ? layer->range : layer->bits;
    return layer->shape.slots != 0 ? layer->range * layer->shape.slots : counters;
}

bool perhaps__layer_trust(struct perhaps__layer *layer, const struct perhaps__tally *recorded)
{
    layer->tally = *recorded;
    layer->recorded = true;
    return recorded->used <= cells_of(layer) && layer->operations->agrees(recorded, recorded);
}

uint64_t perhaps__layer_probe_positions(const struct perhaps__layer *layer, uint64_t digest, uint64_t placed)
{
    struct perhaps__walk walk = perhaps__walk_start(placed);
    for (uint32_t i = 0; i < layer->shape.positions; i++) {
        digest = perhaps__mix(digest ^ perhaps__walk_next(&walk, layer->range));
    }
    return digest;
}

// The most bits or counters that may be in use while keys are still taken: what n + sqrt(n) + 1 keys use.
static uint64_t most_used(const struct perhaps__layer *layer)
{
    double range = (double)layer->range;
    double keys = (double)layer->capacity;
    return (uint64_t)(-range * expm1(-(keys + sqrt(keys) + 1.0) * layer->shape.positions / range));
}

uint64_t perhaps__layer_room_by_fill(const struct perhaps__layer *layer, const struct perhaps__tally *tally)
{
    uint64_t most = most_used(layer);
    return tally->used > most ? 0 : (most - tally->used) / layer->shape.positions + 1;
}

double perhaps__distinct_for(double fill, double range, double positions)
{
    double distinct = -range / positions * log1p(-fill);
    return distinct > 0.0 ? distinct : 0.0; // not -0.0
}
