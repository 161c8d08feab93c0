// SPDX-License-Identifier: MIT
#include "layer.h"

#include <math.h>

#include "cpu.h"
#include "place.h"
#include "words.h"

// In second-level caches; measured: docs/benchmarks.md.
#define BLOOM_NEAR 4

void perhaps__layer_init(struct perhaps__layer *layer, uint32_t kind, const struct perhaps__size *size)
{
    *layer = (struct perhaps__layer){
        .kind = kind,
        .positions = size->positions,
        .capacity = size->capacity,
        .fpr = size->fpr,
        .bits = size->bits,
        .payload_size = size->bits / 8,
    };
    if (kind == PERHAPS_KIND_BLOCKED) {
        layer->blocked = (struct perhaps__blocked){
            .count = size->bits / 8 / perhaps__block_shape(size->layout)->bytes,
            .layout = size->layout,
        };
    }
}

void perhaps__layer_attach(struct perhaps__layer *layer, uint8_t *payload)
{
    layer->payload = payload;
    layer->blocked.bytes = payload;
}

static void view_blocked(const struct perhaps__layer *layer, struct perhaps__view *view)
{
    const struct perhaps__blocked_kernel *kernel = perhaps__blocked_kernel(layer->blocked.layout);
    bool near = layer->payload_size <= perhaps__cpu_l2_bytes();
    view->ask = kernel->ask;
    view->ask_many = near ? kernel->ask_near : kernel->ask_far;
    view->add_many = near ? kernel->add_near : kernel->add_far;
    view->add_few = kernel->add_near;
    view->range = layer->blocked.count;
}

// k independent accesses overlap by themselves, so that Bloom filters a few times as large count as near.
static void view_bloom(const struct perhaps__layer *layer, struct perhaps__view *view)
{
    bool near = layer->payload_size <= BLOOM_NEAR * perhaps__cpu_l2_bytes();
    view->ask = perhaps__bloom_ask;
    view->ask_many = near ? perhaps__bloom_ask_near : perhaps__bloom_ask_far;
    view->add_many = near ? perhaps__bloom_add_near : perhaps__bloom_add_far;
    view->add_few = perhaps__bloom_add_near;
    view->range = layer->bits;
}

struct perhaps__view perhaps__layer_view(const struct perhaps__layer *layer, uint64_t seed_key)
{
    struct perhaps__view view = {.memory = layer->payload, .seed_key = seed_key, .positions = layer->positions};
    if (layer->kind == PERHAPS_KIND_BLOCKED) {
        view_blocked(layer, &view);
    } else {
        view_bloom(layer, &view);
    }
    return view;
}

uint32_t perhaps__layer_layout(const struct perhaps__layer *layer)
{
    return layer->kind == PERHAPS_KIND_BLOCKED ? layer->blocked.layout : 0;
}

void perhaps__layer_note(struct perhaps__layer *layer, const struct perhaps__tally *tally)
{
    layer->adds += tally->keys;
    layer->set_bits += tally->set_bits;
}

void perhaps__layer_clear(struct perhaps__layer *layer)
{
    memset(layer->payload, 0, layer->payload_size);
    layer->adds = 0;
    layer->set_bits = 0;
}

static uint64_t *words_of(const struct perhaps__layer *layer)
{
    return (uint64_t *)(void *)layer->payload; // aligned to PERHAPS_LINE by every allocation and mapping
}

void perhaps__layer_merge(struct perhaps__layer *into, const struct perhaps__layer *from)
{
    perhaps__unite_bits(words_of(into), words_of(from), into->payload_size / 8);
    if (into->kind == PERHAPS_KIND_BLOOM) {
        into->set_bits = perhaps__layer_count(into);
    }
    if (__builtin_add_overflow(into->adds, from->adds, &into->adds)) {
        into->adds = UINT64_MAX;
    }
}

uint64_t perhaps__layer_count(const struct perhaps__layer *layer)
{
    return perhaps__count_bits(words_of(layer), layer->payload_size / 8);
}

// An add that changed something set at least one bit and at most k.
bool perhaps__layer_restore(struct perhaps__layer *layer, uint64_t adds, uint64_t set_bits)
{
    layer->adds = adds;
    if (layer->kind == PERHAPS_KIND_BLOOM) {
        layer->set_bits = set_bits;
    }
    return perhaps__layer_count(layer) == set_bits && (adds == 0) == (set_bits == 0);
}

// Different bits that a key sets on average: in a lane with two, both may be the same.
static double bits_per_key(const struct perhaps__layer *layer)
{
    const struct perhaps__block_shape *shape = perhaps__block_shape(perhaps__layer_layout(layer));
    double repeats = shape != NULL && shape->bits_per_lane == 2 ? (double)shape->lanes / shape->lane_bits : 0.0;
    return layer->positions - repeats;
}

// Keys that leave this fill on average: a given bit is hit by a key with probability k/m, whether that is anywhere or
// within a block, and escapes n keys with probability (1 - k/m)^n (Swamidass and Baldi 2007).
static double distinct_for(const struct perhaps__layer *layer, double fill)
{
    double distinct = -(double)layer->bits / bits_per_key(layer) * log1p(-fill);
    return distinct > 0.0 ? distinct : 0.0; // not -0.0
}

struct perhaps__layer_state perhaps__layer_state(const struct perhaps__layer *layer)
{
    struct perhaps__layer_state state;
    double bits = (double)layer->bits;
    if (layer->kind == PERHAPS_KIND_BLOCKED) {
        struct perhaps__blocked_fill fill = perhaps__blocked_fill(&layer->blocked);
        state = (struct perhaps__layer_state){.fill = fill.fill, .fpr_now = fill.fpr};
        state.set_bits = (uint64_t)(fill.fill * bits + 0.5);
    } else {
        state.set_bits = layer->set_bits;
        state.fill = (double)state.set_bits / bits;
        state.fpr_now = pow(state.fill, layer->positions);
    }
    state.distinct = distinct_for(layer, state.fill);
    return state;
}

uint64_t perhaps__layer_probe(const struct perhaps__layer *layer, const uint64_t *placed, size_t count)
{
    uint64_t digest = 0;
    for (size_t i = 0; i < count; i++) {
        if (layer->kind == PERHAPS_KIND_BLOCKED) {
            const struct perhaps__blocked *blocked = &layer->blocked;
            uint64_t words[8];
            perhaps__blocked_mask(blocked->layout, placed[i], words);
            digest = perhaps__mix(digest ^ perhaps__multiply_high(placed[i], blocked->count));
            for (size_t j = 0; j < PERHAPS_COUNT(words); j++) {
                digest = perhaps__mix(digest ^ perhaps__little64(words[j]));
            }
        } else {
            struct perhaps__walk walk = perhaps__walk_start(placed[i]);
            for (uint32_t j = 0; j < layer->positions; j++) {
                digest = perhaps__mix(digest ^ perhaps__walk_next(&walk, layer->bits));
            }
        }
    }
    return digest;
}
