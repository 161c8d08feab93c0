// SPDX-License-Identifier: MIT
#include "layer.h"

#include "place.h"

uint64_t perhaps__payload_size(uint32_t kind, const struct perhaps__size *size)
{
    (void)kind; // every kind so far is m bits
    return size->bits / 8;
}

void perhaps__layer_init(struct perhaps__layer *layer, uint32_t kind, const struct perhaps__size *size,
                         uint8_t *payload)
{
    *layer = (struct perhaps__layer){
        .kind = kind,
        .capacity = size->capacity,
        .fpr = size->fpr,
        .payload = payload,
        .payload_size = perhaps__payload_size(kind, size),
    };
    layer->kernel.bloom = (struct perhaps__bloom){
        .words = (uint64_t *)(void *)payload, // aligned to PERHAPS_LINE by every allocation and mapping
        .bits = size->bits,
        .positions = size->positions,
    };
}

bool perhaps__layer_add(struct perhaps__layer *layer, uint64_t placed)
{
    bool changed = perhaps__bloom_add(&layer->kernel.bloom, placed);
    layer->adds += changed;
    return changed;
}

bool perhaps__layer_might_contain(const struct perhaps__layer *layer, uint64_t placed)
{
    return perhaps__bloom_might_contain(&layer->kernel.bloom, placed);
}

void perhaps__layer_add_many(struct perhaps__layer *layer, const uint64_t *placed, size_t count, uint8_t *out)
{
    layer->adds += perhaps__bloom_add_many(&layer->kernel.bloom, placed, count, out);
}

void perhaps__layer_might_contain_many(const struct perhaps__layer *layer, const uint64_t *placed, size_t count,
                                       uint8_t *out)
{
    perhaps__bloom_might_contain_many(&layer->kernel.bloom, placed, count, out);
}

void perhaps__layer_clear(struct perhaps__layer *layer)
{
    perhaps__bloom_clear(&layer->kernel.bloom);
    layer->adds = 0;
}

void perhaps__layer_merge(struct perhaps__layer *into, const struct perhaps__layer *from)
{
    perhaps__bloom_merge(&into->kernel.bloom, &from->kernel.bloom);
    if (__builtin_add_overflow(into->adds, from->adds, &into->adds)) {
        into->adds = UINT64_MAX;
    }
}

// An add that changed something set between 1 and k bits.
bool perhaps__layer_is_consistent(const struct perhaps__layer *layer)
{
    const struct perhaps__bloom *bloom = &layer->kernel.bloom;
    return perhaps__bloom_count(bloom) == bloom->set_bits && (layer->adds == 0) == (bloom->set_bits == 0);
}

uint64_t perhaps__layer_probe(const struct perhaps__layer *layer, const uint64_t *placed, size_t count)
{
    const struct perhaps__bloom *bloom = &layer->kernel.bloom;
    uint64_t digest = 0;
    for (size_t i = 0; i < count; i++) {
        struct perhaps__walk walk = perhaps__walk_start(placed[i]);
        for (uint32_t j = 0; j < bloom->positions; j++) {
            digest = perhaps__mix(digest ^ perhaps__walk_next(&walk, bloom->bits));
        }
    }
    return digest;
}
