// SPDX-License-Identifier: MIT
// The life of a filter.
#include "filter.h"

#include "chunks.h"
#include "hash.h"
#include "kinds.h"
#include "layers.h"
#include "place.h"
#include "shared.h"

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
    if (plan->key != NULL) {
        memcpy(filter->key, plan->key, sizeof filter->key);
        filter->key_check = perhaps__key_check(plan->key);
    }
    filter->setting.seed_key = perhaps__seed_key(plan->seed);
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

// Published with all that it points to.
static void count_layer(perhaps_filter *filter, struct perhaps__layer *layer)
{
    uint32_t count = filter->layer_count;
    __atomic_store_n(&filter->layers[count], layer, __ATOMIC_RELEASE);
    __atomic_store_n(&filter->layer_count, count + 1, __ATOMIC_RELEASE);
    perhaps__order_set(&filter->order, filter->layers, count + 1);
}

static struct perhaps__layer *make_layer(perhaps_filter *filter, const struct perhaps__size *size)
{
    struct perhaps__layer *layer = perhaps__allocate(&filter->allocator, sizeof *layer);
    if (layer == NULL) {
        return NULL;
    }
    perhaps__layer_init(layer, perhaps__kind(filter->kind)->operations, size);
    if (filter->shared != NULL && !perhaps__stripes_make(&filter->allocator, size->bits / 8, &layer->stripes)) {
        perhaps__release(&filter->allocator, layer, sizeof *layer);
        return NULL;
    }
    return layer;
}

struct perhaps__layer *perhaps__filter_push_bare(perhaps_filter *filter, const struct perhaps__size *size)
{
    struct perhaps__layer *layer = make_layer(filter, size);
    if (layer != NULL) {
        count_layer(filter, layer);
    }
    return layer;
}

static struct perhaps__layer *make_whole_layer(perhaps_filter *filter, const struct perhaps__size *size)
{
    uint8_t *payload = perhaps__allocate(&filter->allocator, size->bits / 8);
    struct perhaps__layer *layer = payload != NULL ? make_layer(filter, size) : NULL;
    if (layer == NULL) {
        perhaps__release(&filter->allocator, payload, size->bits / 8);
        return NULL;
    }
    perhaps__layer_attach(layer, payload, &filter->setting);
    return layer;
}

static bool has_size(const struct perhaps__layer *layer, const struct perhaps__size *size)
{
    return layer->capacity == size->capacity && layer->bits == size->bits && layer->fpr == size->fpr &&
           layer->range == size->range && memcmp(&layer->shape, &size->shape, sizeof layer->shape) == 0;
}

// A retired layer of a size, which is in the list no longer; NULL when there is none. A filter has only so many sizes of
// layers (growth.c), so that the list ends.
static struct perhaps__layer *take_retired(perhaps_filter *filter, const struct perhaps__size *size)
{
    struct perhaps__layer **link = &filter->retired;
    while (*link != NULL && !has_size(*link, size)) {
        link = &(*link)->retired_before;
    }
    struct perhaps__layer *layer = *link;
    *link = layer != NULL ? layer->retired_before : NULL;
    return layer;
}

struct perhaps__layer *perhaps__filter_push(perhaps_filter *filter, const struct perhaps__size *size)
{
    struct perhaps__layer *kept = take_retired(filter, size);
    struct perhaps__layer *layer = kept != NULL ? kept : make_whole_layer(filter, size);
    if (layer == NULL) {
        return NULL;
    }
    count_layer(filter, layer);
    if (filter->shared == NULL || filter->layer_count == 1) {
        perhaps__filter_refresh(filter);
    }
    return layer;
}

static int ask_keyless(const void *filter, uint64_t hash)
{
    (void)filter;
    (void)hash;
    return 1;
}

static void ask_many_keyless(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint8_t *out)
{
    (void)view;
    (void)hashes;
    memset(out, 1, count);
}

// Whether this build places hashes as the one that wrote the filter is not known without the key, and so is nothing of any
// hash. Calls that change the filter never come as far as its view.
static struct perhaps__view keyless_view(const perhaps_filter *filter)
{
    struct perhaps__view view = filter->layers[0]->view;
    view.ask = ask_keyless;
    view.ask_many = ask_many_keyless;
    view.count_many = NULL;
    return view;
}

// Readers of a shared filter that grows go through the layers from the beginning: its view never changes under them.
void perhaps__filter_refresh(perhaps_filter *filter)
{
    bool one_for_ever = filter->shared == NULL || filter->growth.factor == 0;
    if (filter->keyless) {
        filter->view = keyless_view(filter);
    } else {
        filter->view =
            filter->layer_count == 1 && one_for_ever ? filter->layers[0]->view : perhaps__layers_view(filter);
    }
}

static void release_layer(perhaps_filter *filter, struct perhaps__layer *layer)
{
    if (filter->mapping == NULL) {
        perhaps__release(&filter->allocator, layer->payload, layer->payload_size);
    }
    perhaps__stripes_release(&filter->allocator, &layer->stripes);
    perhaps__release(&filter->allocator, layer, sizeof *layer);
}

// The places of layers that are gone keep their pointers: a reader who counted them before may come there.
static void take_out(perhaps_filter *filter, uint32_t layer)
{
    uint32_t count = filter->layer_count - 1;
    __atomic_store_n(&filter->layer_count, count, __ATOMIC_RELEASE);
    for (uint32_t i = layer; i < count; i++) {
        __atomic_store_n(&filter->layers[i], filter->layers[i + 1], __ATOMIC_RELEASE);
    }
    perhaps__order_set(&filter->order, filter->layers, count);
}

static void retire_layer(perhaps_filter *filter, struct perhaps__layer *layer)
{
    perhaps__give_back_pages(&filter->allocator, layer->payload, layer->payload_size);
    layer->retired_before = filter->retired;
    filter->retired = layer;
}

void perhaps__filter_drop(perhaps_filter *filter, uint32_t layer)
{
    struct perhaps__layer *dropped = filter->layers[layer];
    take_out(filter, layer);
    if (filter->shared != NULL) {
        retire_layer(filter, dropped);
    } else {
        release_layer(filter, dropped);
        perhaps__filter_refresh(filter);
    }
}

static void release_layers(perhaps_filter *filter)
{
    while (filter->layer_count > 0) {
        release_layer(filter, filter->layers[--filter->layer_count]);
    }
    while (filter->retired != NULL) {
        struct perhaps__layer *layer = filter->retired;
        filter->retired = layer->retired_before;
        release_layer(filter, layer);
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
    return filter->mapping != NULL || filter->read_only;
}

void perhaps_free(perhaps_filter *filter)
{
    if (filter == NULL) {
        return;
    }
    perhaps_allocator allocator = filter->allocator;
    if (filter->log != NULL) {
        filter->log->end(filter);
    }
    release_layers(filter);
    perhaps__shared_end(filter);
    if (filter->mapping != NULL) {
        filter->unmap(filter->mapping, filter->mapping_size);
    }
    perhaps__release(&allocator, filter->metadata, filter->metadata_size);
    perhaps__release(&allocator, filter->position, filter->position_size);
    perhaps__release(&allocator, filter->origin, filter->origin_size);
    perhaps__chunks_release(filter);
    perhaps__wipe(filter->key, sizeof filter->key);
    perhaps__release(&allocator, filter, sizeof *filter);
}

void perhaps__filter_clear(perhaps_filter *filter)
{
    perhaps__close(filter);
    for (uint32_t i = 0; i < filter->layer_count; i++) {
        perhaps__layer_clear(filter->layers[i]);
    }
    while (filter->layer_count > 1) {
        perhaps__filter_drop(filter, filter->layer_count - 1);
    }
    filter->adds_exact = true;
    filter->ambiguous = 0;
    filter->fold = (struct perhaps__fold){0};
    // It holds nothing any more of what the store had there.
    perhaps__release(&filter->allocator, filter->position, filter->position_size);
    filter->position = NULL;
    filter->position_size = 0;
    perhaps__open(filter);
}

int perhaps_clear(perhaps_filter *filter)
{
    if (filter == NULL) {
        return PERHAPS_E_ARGUMENT;
    }
    int status = perhaps__filter_may_change(filter);
    if (status < 0) {
        return status;
    }
    if (filter->log != NULL) {
        (void)filter->log->change(filter, &(struct perhaps__change){.verb = PERHAPS_CHANGE_CLEAR}, &status);
        return status;
    }
    perhaps__filter_clear(filter);
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

// Replaces bytes that travel with the filter by a copy of others, which may be a part of them.
static int replace_bytes(perhaps_filter *filter, uint8_t **kept, size_t *kept_size, const void *bytes, size_t length)
{
    uint8_t *copy = length > 0 ? perhaps__allocate(&filter->allocator, length) : NULL;
    if (length > 0 && copy == NULL) {
        return PERHAPS_E_MEMORY;
    }
    if (length > 0) {
        memcpy(copy, bytes, length);
    }
    perhaps__close(filter); // for encoding reads it
    perhaps__release(&filter->allocator, *kept, *kept_size);
    *kept = copy;
    *kept_size = length;
    perhaps__open(filter);
    return PERHAPS_OK;
}

int perhaps_set_metadata(perhaps_filter *filter, const void *metadata, size_t length)
{
    if (filter == NULL || (metadata == NULL && length > 0)) {
        return PERHAPS_E_ARGUMENT;
    }
    int status = perhaps__filter_may_change(filter);
    if (status == PERHAPS_OK && length > PERHAPS_METADATA_MAX) {
        status = PERHAPS_E_LIMIT;
    }
    return status < 0 ? status : replace_bytes(filter, &filter->metadata, &filter->metadata_size, metadata, length);
}

int perhaps_position(const perhaps_filter *filter, const void **position, size_t *length)
{
    if (filter == NULL || position == NULL || length == NULL) {
        return PERHAPS_E_ARGUMENT;
    }
    *position = filter->position;
    *length = filter->position_size;
    return PERHAPS_OK;
}

int perhaps__filter_set_position(perhaps_filter *filter, const uint8_t *position, size_t length)
{
    return replace_bytes(filter, &filter->position, &filter->position_size, position, length);
}

int perhaps_set_position(perhaps_filter *filter, const void *position, size_t length)
{
    if (filter == NULL || (position == NULL && length > 0)) {
        return PERHAPS_E_ARGUMENT;
    }
    int status = perhaps__filter_may_change(filter);
    if (status == PERHAPS_OK && length > PERHAPS_POSITION_MAX) {
        status = PERHAPS_E_LIMIT;
    }
    if (status < 0 || filter->log == NULL) {
        return status < 0 ? status : perhaps__filter_set_position(filter, position, length);
    }
    const struct perhaps__change change = {
        .verb = PERHAPS_CHANGE_POSITION, .count = 1, .position = position, .length = length};
    (void)filter->log->change(filter, &change, &status);
    return status;
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
        bool caller = filter->hash_source == PERHAPS_HASH_CALLER;
        uint64_t hash = caller ? i : perhaps__filter_hash(filter, bytes, lengths[i]);
        uint64_t placed = perhaps__place(hash, filter->setting.seed_key);
        for (uint32_t j = 0; j < filter->layer_count; j++) {
            digest = filter->layers[j]->operations->probe(filter->layers[j], digest, placed);
        }
    }
    return digest;
}
