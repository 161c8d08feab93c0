// SPDX-License-Identifier: MIT
// A layer of kind blocked.
#include "blocked.h"
#include "cpu.h"
#include "layer.h"
#include "place.h"
#include "words.h"

static bool is_sound(const struct perhaps__layer *layer)
{
    const struct perhaps__shape *shape = &layer->shape;
    const struct perhaps__block_shape *block = perhaps__block_shape(shape->layout);
    return block != NULL && shape->positions == block->lanes * block->bits_per_lane &&
           layer->range == layer->bits / 8 / block->bytes &&
           (shape->cell_bits | shape->slots | shape->policy | shape->search) == 0;
}

static void view_blocked(const struct perhaps__layer *layer, struct perhaps__view *view)
{
    const struct perhaps__blocked_kernel *kernel = perhaps__blocked_kernel(layer->shape.layout);
    bool near = layer->payload_size <= perhaps__cpu_l2_bytes();
    view->ask = kernel->ask;
    view->ask_many = near ? kernel->ask_near : kernel->ask_far;
    view->add_many = near ? kernel->add_near : kernel->add_far;
    view->add_few = kernel->add_near;
    if (view->stripes.words != NULL) {
        view->add_many = kernel->add_shared; // under a lock, so that exactly one adder of an absent key finds it absent
        view->add_few = kernel->add_shared;
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
    return PERHAPS_OK;
}

// Different bits that a key sets on average: in a lane with two, both may be the same.
static double bits_per_key(const struct perhaps__shape *shape)
{
    const struct perhaps__block_shape *block = perhaps__block_shape(shape->layout);
    double repeats = block->bits_per_lane == 2 ? (double)block->lanes / block->lane_bits : 0.0;
    return shape->positions - repeats;
}

// What a number of set bits lets expect, where the blocks are not to be looked at.
static struct perhaps__blocked_fill expected_fill(const struct perhaps__layer *layer)
{
    double bits = (double)layer->bits;
    double fill = (double)layer->tally.used / bits;
    double keys = perhaps__distinct_for(fill, bits, bits_per_key(&layer->shape));
    bool finite = keys < 0x1p60; // not when every bit is set
    return (struct perhaps__blocked_fill){
        .fill = fill,
        .fpr = finite ? perhaps__blocked_expected_fpr((uint64_t)(keys + 0.5), layer->bits, layer->shape.layout) : 1.0,
    };
}

static void describe(const struct perhaps__layer *layer, perhaps_statistics *statistics)
{
    struct perhaps__blocked blocked = {layer->payload, layer->range, layer->shape.layout};
    struct perhaps__blocked_fill fill = layer->recorded ? expected_fill(layer) : perhaps__blocked_fill(&blocked);
    double bits = (double)layer->bits;
    statistics->set_bits = (uint64_t)(fill.fill * bits + 0.5);
    statistics->fill = fill.fill;
    statistics->fpr_now = fill.fpr;
    statistics->distinct_estimate = perhaps__distinct_for(fill.fill, bits, bits_per_key(&layer->shape));
}

static uint64_t probe(const struct perhaps__layer *layer, uint64_t digest, uint64_t placed)
{
    uint64_t words[8];
    perhaps__blocked_mask(layer->shape.layout, placed, words);
    digest = perhaps__mix(digest ^ perhaps__multiply_high(placed, layer->range));
    for (size_t i = 0; i < PERHAPS_COUNT(words); i++) {
        digest = perhaps__mix(digest ^ perhaps__little64(words[i]));
    }
    return digest;
}

// A block lies in one chunk.
static uint64_t most(const struct perhaps__layer *layer, uint64_t hash, struct perhaps__look *look)
{
    uint64_t bytes = perhaps__block_shape(layer->shape.layout)->bytes;
    uint64_t block = perhaps__multiply_high(perhaps__place(hash, layer->view.seed_key), layer->range);
    bool absent = look->believe(look, block * bytes, block * bytes) && layer->view.ask(&layer->view, hash) == 0;
    return absent ? 0 : PERHAPS_COUNT_UNBOUNDED;
}

const struct perhaps__layer_operations perhaps__layer_blocked = {
    .is_sound = is_sound,
    .view = view_blocked,
    .recount = recount,
    .merge = merge,
    .describe = describe,
    .probe = probe,
    .most = most,
    .room = perhaps__layer_room_by_adds,
    .agrees = perhaps__layer_agrees_without_removal,
};
