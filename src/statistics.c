// SPDX-License-Identifier: MIT
#include "errors.h"
#include "format.h"
#include "shared.h"

// What is true of the filter as a whole.
static perhaps_statistics describe_filter(const perhaps_filter *filter)
{
    return (perhaps_statistics){
        .kind = filter->kind,
        .hash_source = filter->hash_source,
        .seed = filter->seed,
        .capacity = filter->capacity,
        .adds_exact = filter->adds_exact,
        .layers = filter->layer_count,
        .format_version = PERHAPS_FORMAT_VERSION,
        .fpr_target = filter->fpr,
        .encoded_bytes = perhaps__header_size(filter) + perhaps__filter_payload_size(filter),
        .at_capacity = filter->at_capacity,
        .growth = filter->growth.factor,
        .max_capacity = filter->growth.max_capacity,
        .max_bytes = filter->max_bytes,
        .ambiguous = filter->ambiguous,
        .key_check = filter->key_check,
        .recorded = filter->layers[0]->recorded,
    };
}

static void describe_chunks(const perhaps_filter *filter, perhaps_statistics *statistics)
{
    const struct perhaps__chunks *chunks = filter->chunks;
    if (chunks != NULL) {
        statistics->chunks = chunks->count;
        statistics->chunks_verified = __atomic_load_n(&chunks->good, __ATOMIC_RELAXED);
        statistics->chunks_damaged = __atomic_load_n(&chunks->damaged, __ATOMIC_RELAXED);
        statistics->damaged_answers = __atomic_load_n(&chunks->answers, __ATOMIC_RELAXED);
    }
}

static void describe_layer(const struct perhaps__layer *layer, perhaps_statistics *s)
{
    s->adds = layer->tally.keys;
    s->positions = layer->shape.positions;
    s->bits = layer->bits;
    s->bytes = layer->payload_size;
    s->capacity_now = layer->capacity;
    s->fpr_bound = layer->fpr;
    s->policy = layer->shape.policy;
    s->copies = layer->tally.copies;
    s->removals = layer->tally.removals;
    layer->operations->describe(layer, s);
    s->bits_per_key = (double)s->bits / (double)s->capacity_now;
}

static void add_layer(const perhaps_statistics *layer, perhaps_statistics *sum)
{
    sum->adds = perhaps__saturating_sum(sum->adds, layer->adds);
    sum->bits += layer->bits;
    sum->set_bits += layer->set_bits;
    sum->distinct_estimate += layer->distinct_estimate;
    sum->fpr_now = layer->fpr_now + sum->fpr_now - layer->fpr_now * sum->fpr_now; // 1 - (1 - a)(1 - b)
    sum->fpr_bound += layer->fpr_bound;
    sum->bytes += layer->bytes;
    sum->capacity_now += layer->capacity_now;
    sum->copies += layer->copies;
    sum->removals = perhaps__saturating_sum(sum->removals, layer->removals);
    sum->buckets += layer->buckets;
    sum->refused_full += layer->refused_full;
    sum->refused_copies += layer->refused_copies;
    sum->refused_early += layer->refused_early;
    sum->unsettled += layer->unsettled;
    for (size_t i = 0; i < PERHAPS_PATHS; i++) {
        sum->paths[i] += layer->paths[i];
    }
    sum->deepest = layer->deepest > sum->deepest ? layer->deepest : sum->deepest;
}

// The newest layer last, so that what is not summed is its own.
static void describe_layers(const perhaps_filter *filter, perhaps_statistics *statistics)
{
    perhaps_statistics sum = *statistics;
    describe_layer(filter->layers[0], &sum);
    for (uint32_t i = 1; i < filter->layer_count; i++) {
        perhaps_statistics layer = *statistics;
        describe_layer(filter->layers[i], &layer);
        add_layer(&sum, &layer);
        sum = layer;
    }
    uint64_t cells = sum.slots != 0 ? sum.buckets * sum.slots : sum.bits;
    if (filter->layer_count > 1) {
        sum.fill = (double)sum.set_bits / (double)cells;
        sum.bits_per_key = (double)sum.bits / (double)sum.capacity_now;
    }
    *statistics = sum;
}

int perhaps_stats(const perhaps_filter *filter, perhaps_statistics *statistics)
{
    if (filter == NULL || statistics == NULL) {
        return PERHAPS_E_ARGUMENT;
    }
    perhaps__close(filter);
    perhaps_statistics result = describe_filter(filter);
    describe_chunks(filter, &result);
    describe_layers(filter, &result);
    perhaps__open(filter);
    return perhaps__give_result(statistics, &result, sizeof result) ? PERHAPS_OK : PERHAPS_E_OPTION;
}

int perhaps_stats_of_layer(const perhaps_filter *filter, uint32_t layer, perhaps_statistics *statistics)
{
    if (filter == NULL || statistics == NULL) {
        return PERHAPS_E_ARGUMENT;
    }
    perhaps__close(filter); // first: beside others that clear or compact a layer may go
    perhaps_statistics result = describe_filter(filter);
    bool is_there = layer < filter->layer_count;
    if (is_there) {
        describe_layer(filter->layers[layer], &result);
        result.layers = 1;
        result.capacity = filter->layers[layer]->capacity;
        result.fpr_target = filter->layers[layer]->fpr;
    }
    perhaps__open(filter);
    if (!is_there) {
        return PERHAPS_E_ARGUMENT;
    }
    return perhaps__give_result(statistics, &result, sizeof result) ? PERHAPS_OK : PERHAPS_E_OPTION;
}
