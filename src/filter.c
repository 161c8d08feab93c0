// SPDX-License-Identifier: MIT
// The life of a filter.
#include "filter.h"

#include "hash.h"
#include "kinds.h"
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
    filter->view.seed_key = perhaps__seed_key(plan->seed);
    filter->capacity = plan->size.capacity;
    filter->fpr = plan->size.fpr;
    filter->adds_exact = true;
    perhaps__layer_init(&filter->layer, perhaps__kind(plan->kind)->operations, &plan->size);
    return filter;
}

void perhaps__filter_attach(perhaps_filter *filter, uint8_t *payload)
{
    filter->layer.payload = payload;
    filter->view = perhaps__layer_view(&filter->layer, filter->view.seed_key);
}

bool perhaps__filter_allocate(perhaps_filter *filter)
{
    uint8_t *payload = perhaps__allocate(&filter->allocator, filter->layer.payload_size);
    if (payload == NULL) {
        return false;
    }
    perhaps__filter_attach(filter, payload);
    return true;
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
    if (filter->mapping != NULL) {
        filter->unmap(filter->mapping, filter->mapping_size);
    } else {
        perhaps__release(&allocator, filter->layer.payload, filter->layer.payload_size);
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
    perhaps__layer_clear(&filter->layer);
    filter->adds_exact = true;
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
        uint64_t placed = perhaps__place(hash, filter->view.seed_key);
        digest = filter->layer.operations->probe(&filter->layer, digest, placed);
    }
    return digest;
}
