// SPDX-License-Identifier: MIT
// Bytes become a filter, if every one of them holds up. The order of the checks is that of docs/format.md.
#include "decode.h"

#include "hash.h"
#include "kinds.h"
#include "shared.h"
#include "verify.h"

static struct perhaps__size size_of_layer(const struct perhaps__layer_fields *layer)
{
    return (struct perhaps__size){
        .capacity = layer->capacity,
        .fpr = perhaps__double_of(layer->fpr),
        .bits = layer->bits,
        .range = layer->range,
        .shape = {.positions = (uint32_t)layer->positions,
                  .layout = (uint32_t)layer->layout,
                  .cell_bits = (uint32_t)layer->cell_bits,
                  .slots = (uint32_t)layer->slots,
                  .policy = (uint32_t)layer->policy,
                  .search = (uint32_t)layer->search},
    };
}

static int make_layers(const struct perhaps__decoder *decoder)
{
    for (uint64_t i = 0; i < decoder->fixed.layers; i++) {
        struct perhaps__size size = size_of_layer(&decoder->layers[i]);
        struct perhaps__layer *layer = perhaps__filter_push_bare(decoder->filter, &size);
        if (layer == NULL) {
            return perhaps__decode_fail_memory(decoder);
        }
        if (!layer->operations->is_sound(layer) || layer->shape.policy != decoder->filter->layers[0]->shape.policy) {
            return perhaps__decode_fail_damaged(decoder, "shape of a layer");
        }
    }
    return PERHAPS_OK;
}

// Threads may share what is in memory of its own; a mapping is only read, and needs nothing for that.
static bool share(const struct perhaps__decoder *decoder)
{
    uint32_t flags = decoder->flags & (PERHAPS_OPEN_SHARED | PERHAPS_OPEN_CLAIM);
    bool claim = (flags & PERHAPS_OPEN_CLAIM) != 0;
    return flags == 0 || decoder->source->mapping != NULL ||
           perhaps__shared_begin(decoder->filter, PERHAPS_SHARED | (claim ? PERHAPS_CLAIM : 0));
}

// What belongs to the user. Only memory can be short.
static int copy_what_travels(const struct perhaps__decoder *decoder)
{
    bool copied = (decoder->metadata_size == 0 || perhaps_set_metadata(decoder->filter, decoder->metadata,
                                                                       (size_t)decoder->metadata_size) == PERHAPS_OK) &&
                  (decoder->position_size == 0 || perhaps_set_position(decoder->filter, decoder->position,
                                                                       (size_t)decoder->position_size) == PERHAPS_OK);
    return copied ? PERHAPS_OK : perhaps__decode_fail_memory(decoder);
}

static int make_filter(struct perhaps__decoder *decoder)
{
    const struct perhaps__fixed_fields *fixed = &decoder->fixed;
    const struct perhaps__plan plan = {
        .kind = (uint32_t)fixed->kind,
        .hash_source = (uint32_t)fixed->hash_source,
        .seed = fixed->seed,
        .key = fixed->hash_source == PERHAPS_HASH_SIPHASH ? decoder->key : NULL,
        .capacity = fixed->capacity,
        .fpr = perhaps__double_of(fixed->fpr),
        .at_capacity = (uint32_t)fixed->at_capacity,
        .growth = (uint32_t)fixed->growth,
        .max_capacity = fixed->max_capacity,
        .max_bytes = fixed->max_bytes,
    };
    perhaps_filter *filter = perhaps__filter_new(decoder->allocator, &plan);
    if (filter == NULL) {
        return perhaps__decode_fail_memory(decoder);
    }
    decoder->filter = filter;
    if (!share(decoder)) {
        return perhaps__decode_fail_memory(decoder);
    }
    filter->ambiguous = fixed->ambiguous;
    filter->adds_exact = (fixed->flags & PERHAPS_FLAG_ADDS_SUMMED) == 0;
    filter->identity = (struct perhaps__identity){
        .id = fixed->file_id,
        .generation = fixed->generation,
        .folded = fixed->folded,
        .checksum = perhaps__load_little(decoder->header + decoder->header_size - 8, 8),
    };
    int status = make_layers(decoder);
    status = status < 0 ? status : copy_what_travels(decoder);
    filter->key_check = (uint32_t)fixed->key_check;
    filter->keyless = perhaps__decode_is_keyless(decoder); // not before: its metadata cannot be set
    return status;
}

// Checked before the payload is read: a build that hashes differently need not look at it.
static int check_probe(const struct perhaps__decoder *decoder)
{
    if (!decoder->filter->keyless && perhaps__filter_probe(decoder->filter) != decoder->fixed.probe) {
        return PERHAPS_DECODE_FAIL(
            decoder, PERHAPS_E_PROBE,
            "this build hashes or places keys differently from the one that wrote the filter, so its answers "
            "would be wrong; rebuild the filter, or the library against another xxHash");
    }
    return PERHAPS_OK;
}

// In a mapping the payload is only read: the filter is marked read-only.
static int read_layer(const struct perhaps__decoder *decoder, struct perhaps__layer *layer, uint64_t begin)
{
    const struct perhaps__setting *setting = &decoder->filter->setting;
    if (decoder->source->mapping != NULL) {
        perhaps__layer_attach(layer, (uint8_t *)(uintptr_t)decoder->source->mapping + begin, setting);
        return PERHAPS_OK;
    }
    uint8_t *payload = perhaps__allocate(decoder->allocator, layer->payload_size);
    if (payload == NULL) {
        return perhaps__decode_fail_memory(decoder);
    }
    perhaps__layer_attach(layer, payload, setting);
    return perhaps__decode_read_at(decoder, begin, payload, (size_t)layer->payload_size);
}

static int read_payload(const struct perhaps__decoder *decoder)
{
    uint64_t begin = decoder->fixed.header_size;
    for (uint32_t i = 0; i < decoder->filter->layer_count; i++) {
        int status = read_layer(decoder, decoder->filter->layers[i], begin);
        if (status < 0) {
            return status;
        }
        begin += decoder->filter->layers[i]->payload_size;
    }
    perhaps__filter_refresh(decoder->filter);
    return PERHAPS_OK;
}

// The payload is read when it is asked for: nothing but a mapping has it at hand then.
static bool is_first_touch(const struct perhaps__decoder *decoder)
{
    return decoder->source->mapping != NULL && (decoder->flags & PERHAPS_OPEN_FIRST_TOUCH) != 0;
}

static int check_chunks(const struct perhaps__decoder *decoder)
{
    perhaps_filter *filter = decoder->filter;
    const uint8_t *table = decoder->header + PERHAPS_FIXED_SIZE + decoder->fixed.section_size;
    if (!perhaps__chunks_make(filter, table, decoder->fixed.chunks, decoder->fixed.header_size)) {
        return perhaps__decode_fail_memory(decoder);
    }
    if (is_first_touch(decoder)) {
        perhaps__chunks_watch(filter);
        return PERHAPS_OK;
    }
    uint64_t damaged = perhaps__verify_all(filter);
    if (damaged < filter->chunks->count) {
        return perhaps__chunks_fail(filter, damaged, decoder->source->subject, decoder->error);
    }
    return PERHAPS_OK;
}

static int check_counts(const struct perhaps__decoder *decoder)
{
    bool trusted = is_first_touch(decoder);
    for (uint32_t i = 0; i < decoder->filter->layer_count; i++) {
        const struct perhaps__layer_fields *fields = &decoder->layers[i];
        const struct perhaps__tally recorded = {
            .keys = fields->adds,
            .used = fields->used,
            .copies = fields->copies,
            .removals = fields->removals,
        };
        struct perhaps__layer *layer = decoder->filter->layers[i];
        const struct perhaps__tally counted = {
            .used = decoder->filter->chunks->held[i].used,
            .saturated = decoder->filter->chunks->held[i].saturated,
        };
        bool agrees =
            trusted ? perhaps__layer_trust(layer, &recorded) : perhaps__layer_restore(layer, &recorded, &counted);
        if (!agrees) {
            return PERHAPS_DECODE_FAIL(decoder, PERHAPS_E_DAMAGED, "%s", PERHAPS_OTHER_CONTENT);
        }
    }
    if (decoder->source->mapping == NULL) { // the bytes may change from now on
        perhaps__chunks_release(decoder->filter);
    }
    return PERHAPS_OK;
}

// The first failing step's code, or 0 when none fails.
static int run_steps(struct perhaps__decoder *decoder)
{
    int status = perhaps__decode_header(decoder);
    status = status < 0 ? status : make_filter(decoder);
    status = status < 0 ? status : check_probe(decoder);
    if (status < 0 || decoder->header_only) {
        return status;
    }
    status = read_payload(decoder);
    status = status < 0 ? status : check_chunks(decoder);
    return status < 0 ? status : check_counts(decoder);
}

int perhaps__decode(const struct perhaps__source *source, const struct perhaps__loading *loading,
                    perhaps_filter **filter, perhaps_error *error)
{
    const perhaps_allocator *allocator = &loading->allocator;
    struct perhaps__decoder decoder = {
        .source = source,
        .allocator = allocator,
        .flags = loading->flags,
        .key = loading->key,
        .header_only = loading->header_only,
        .journaled = loading->journaled,
        .error = error,
    };
    int status = run_steps(&decoder);
    perhaps__release(allocator, decoder.header, decoder.header_size);
    if (status < 0) {
        if (decoder.filter != NULL && source->mapping != NULL) {
            for (uint32_t i = 0; i < decoder.filter->layer_count; i++) {
                decoder.filter->layers[i]->payload = NULL; // the mapping is not the filter's to release
            }
        }
        perhaps_free(decoder.filter);
        return status;
    }
    *filter = decoder.filter;
    return PERHAPS_OK;
}
