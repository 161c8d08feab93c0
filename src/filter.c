// SPDX-License-Identifier: MIT
// The life of a filter.
#include "filter.h"

#include "hash.h"
#include "kinds.h"
#include "layers.h"
#include "place.h"

perhaps_filter *perhaps__filter_new(const perhaps_allocator *allocator, const struct perhaps__plan *plan)
{
    perhaps_filter *filter = perhaps__allocate(allocator, sizeof *filter);
    if (filter == NULL) {
        return NULL;
    }
    filter->allocator = *allocator;
    filter->kind = plan->kind;
    filter->hash_source = plan->hash_source;
    filter->seed = plan->seed;
    filter->seed_key = perhaps__seed_key(plan->seed);
    filter->capacity = plan->capacity;
    filter->fpr = plan->fpr;
    filter->adds_exact = true;
    filter->at_capacity = plan->at_capacity;
    filter->max_bytes = plan->max_bytes;
    filter->growth = (struct perhaps__growth){
        .capacity = plan->capacity,
        .fpr = plan->fpr,
        .smallest_fpr = perhaps__kind(plan->kind)->smallest_fpr,
        .factor = plan->growth,
        .max_capacity = plan->max_capacity,
    };
    return filter;
}

struct perhaps__layer *perhaps__filter_push_bare(perhaps_filter *filter, const struct perhaps__size *size)
{
    struct perhaps__layer *layer = perhaps__allocate(&filter->allocator, sizeof *layer);
    if (layer != NULL) {
        perhaps__layer_init(layer, perhaps__kind(filter->kind)->operations, size);
        filter->layers[filter->layer_count] = layer;
        filter->layer_count++;
    }
    return layer;
}

struct perhaps__layer *perhaps__filter_push(perhaps_filter *filter, const struct perhaps__size *size)
{
    uint8_t *payload = perhaps__allocate(&filter->allocator, size->bits / 8);
    struct perhaps__layer *layer = payload != NULL ? perhaps__filter_push_bare(filter, size) : NULL;
    if (layer == NULL) {
        perhaps__release(&filter->allocator, payload, size->bits / 8);
        return NULL;
    }
    perhaps__layer_attach(layer, payload, filter->seed_key);
    perhaps__filter_refresh(filter);
    return layer;
}

void perhaps__filter_refresh(perhaps_filter *filter)
{
    filter->view = filter->layer_count == 1 ? filter->layers[0]->view : perhaps__layers_view(filter);
}

void perhaps__filter_drop_layers(perhaps_filter *filter, uint32_t count)
{
    while (filter->layer_count > count) {
        struct perhaps__layer *layer = perhaps__filter_newest(filter);
        if (filter->mapping == NULL) {
            perhaps__release(&filter->allocator, layer->payload, layer->payload_size);
        }
        perhaps__release(&filter->allocator, layer, sizeof *layer);
        filter->layer_count--;
    }
}

uint64_t perhaps__filter_payload_size(const perhaps_filter *filter)
{
    uint64_t size = 0;
    for (uint32_t i = 0; i < filter->layer_count; i++) {
        size += filter->layers[i]->payload_size; // all of it exists, so this does not overflow
    }
    return size;
}

bool perhaps__filter_is_read_only(const perhaps_filter *filter)
{
    return filter->mapping != NULL;
}

void perhaps_free(perhaps_filter *filter)
{
    if (filter == NULL) {
        return;
    }
    perhaps_allocator allocator = filter->allocator;
    perhaps__filter_drop_layers(filter, 0);
    if (filter->mapping != NULL) {
        filter->unmap(filter->mapping, filter->mapping_size);
    }
    perhaps__release(&allocator, filter->metadata, filter->metadata_size);
    perhaps__release(&allocator, filter, sizeof *filter);
}

int perhaps_clear(perhaps_filter *filter)
{
    if (filter == NULL) {
        return PERHAPS_E_ARGUMENT;
    }
    if (perhaps__filter_is_read_only(filter)) {
        return PERHAPS_E_READ_ONLY;
    }
    perhaps__filter_drop_layers(filter, 1);
    perhaps__layer_clear(filter->layers[0]);
    perhaps__filter_refresh(filter);
    filter->adds_exact = true;
    filter->ambiguous = 0;
    return PERHAPS_OK;
}

int perhaps_metadata(const perhaps_filter *filter, const void **metadata, size_t *length)
{
    if (filter == NULL || metadata == NULL || length == NULL) {
        return PERHAPS_E_ARGUMENT;
    }
    *metadata = filter->metadata;
    *length = filter->metadata_size;
    return PERHAPS_OK;
}

int perhaps_set_metadata(perhaps_filter *filter, const void *metadata, size_t length)
{
    if (filter == NULL || (metadata == NULL && length > 0)) {
        return PERHAPS_E_ARGUMENT;
    }
    if (perhaps__filter_is_read_only(filter)) {
        return PERHAPS_E_READ_ONLY;
    }
    if (length > PERHAPS_METADATA_MAX) {
        return PERHAPS_E_LIMIT;
    }
    uint8_t *copy = length > 0 ? perhaps__allocate(&filter->allocator, length) : NULL;
    if (length > 0 && copy == NULL) {
        return PERHAPS_E_MEMORY;
    }
    if (length > 0) {
        memcpy(copy, metadata, length);
    }
    perhaps__release(&filter->allocator, filter->metadata, filter->metadata_size);
    filter->metadata = copy;
    filter->metadata_size = length;
    return PERHAPS_OK;
}

// Keys of every length class of XXH3 (0, 1-3, 4-8, 9-16, 17-128, 129-240, more), made of bytes that count up.
// A CALLER filter has no hash of its own; the key's number stands for it, so that placing is still checked.
uint64_t perhaps__filter_probe(const perhaps_filter *filter)
{
    static const size_t lengths[] = {0, 1, 3, 5, 8, 12, 16, 33, 128, 200, 240, 256, 600};
    uint8_t bytes[600];
    uint64_t digest = 0;
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)(i % 251);
    }
    for (size_t i = 0; i < PERHAPS_COUNT(lengths); i++) {
        uint64_t hash = filter->hash_source == PERHAPS_HASH_CALLER ? i : perhaps__hash(bytes, lengths[i], filter->seed);
        uint64_t placed = perhaps__place(hash, filter->seed_key);
        for (uint32_t j = 0; j < filter->layer_count; j++) {
            digest = filter->layers[j]->operations->probe(filter->layers[j], digest, placed);
        }
    }
    return digest;
}
