// SPDX-License-Identifier: MIT
// A filter becomes bytes.
#include "format.h"

#include "hash.h"
#include "shared.h"

#define STORE_FIELD(name, offset, width) perhaps__store_little(bytes + (offset), width, fields->name);
#define LOAD_FIELD(name, offset, width) fields->name = perhaps__load_little(bytes + (offset), width);

void perhaps__fixed_store(uint8_t *bytes, const struct perhaps__fixed_fields *fields)
{
    PERHAPS_FIXED_FIELDS(STORE_FIELD)
}

void perhaps__fixed_load(struct perhaps__fixed_fields *fields, const uint8_t *bytes)
{
    PERHAPS_FIXED_FIELDS(LOAD_FIELD)
}

void perhaps__layer_store(uint8_t *bytes, const struct perhaps__layer_fields *fields)
{
    PERHAPS_LAYER_FIELDS(STORE_FIELD)
}

void perhaps__layer_load(struct perhaps__layer_fields *fields, const uint8_t *bytes)
{
    PERHAPS_LAYER_FIELDS(LOAD_FIELD)
}

// Sizes here cannot overflow: metadata is limited and the payload exists.
static uint64_t padded(uint64_t size, uint64_t unit)
{
    return (size + unit - 1) & ~(unit - 1);
}

static uint64_t section_size(uint64_t data_size)
{
    return PERHAPS_SECTION_HEAD + padded(data_size, 8);
}

static uint64_t sections_size(const perhaps_filter *filter)
{
    return section_size((uint64_t)PERHAPS_LAYER_SIZE * filter->layer_count) +
           (filter->metadata_size > 0 ? section_size(filter->metadata_size) : 0) +
           (filter->position_size > 0 ? section_size(filter->position_size) : 0);
}

static uint64_t chunks_of(const perhaps_filter *filter)
{
    uint64_t chunks = 0;
    for (uint32_t i = 0; i < filter->layer_count; i++) {
        chunks += perhaps__chunks(filter->layers[i]->payload_size);
    }
    return chunks;
}

uint64_t perhaps__header_size(const perhaps_filter *filter)
{
    uint64_t table = chunks_of(filter) * 8;
    return padded(PERHAPS_FIXED_SIZE + sections_size(filter) + table + 8, PERHAPS_LINE);
}

static uint8_t *begin_section(uint8_t *at, uint32_t type, uint32_t flags, uint64_t size)
{
    perhaps__store_little(at, 4, type);
    perhaps__store_little(at + 4, 4, flags);
    perhaps__store_little(at + 8, 8, size);
    return at + PERHAPS_SECTION_HEAD;
}

static void encode_layer(const struct perhaps__layer *layer, uint64_t payload_offset, uint8_t *bytes)
{
    perhaps__layer_store(bytes, &(struct perhaps__layer_fields){
                                    .payload_offset = payload_offset,
                                    .payload_size = layer->payload_size,
                                    .capacity = layer->capacity,
                                    .fpr = perhaps__bits_of(layer->fpr),
                                    .adds = layer->tally.keys,
                                    .bits = layer->bits,
                                    .used = perhaps__layer_used(layer),
                                    .positions = layer->shape.positions,
                                    .layout = layer->shape.layout,
                                    .range = layer->range,
                                    .copies = layer->tally.copies,
                                    .removals = layer->tally.removals,
                                    .cell_bits = layer->shape.cell_bits,
                                    .slots = layer->shape.slots,
                                    .policy = layer->shape.policy,
                                    .search = layer->shape.search,
                                });
}

// Bytes that travel with the filter, if there are any. Returns the end of the section.
static uint8_t *encode_bytes(uint8_t *at, uint32_t type, const uint8_t *bytes, size_t size)
{
    if (size == 0) {
        return at;
    }
    at = begin_section(at, type, 0, size);
    memcpy(at, bytes, size);
    return at + padded(size, 8);
}

// Returns the end of the sections.
static uint8_t *encode_sections(const perhaps_filter *filter, uint8_t *at)
{
    uint64_t size = (uint64_t)PERHAPS_LAYER_SIZE * filter->layer_count;
    uint64_t offset = 0;
    at = begin_section(at, PERHAPS_SECTION_LAYERS, PERHAPS_MUST_UNDERSTAND, size);
    for (uint32_t i = 0; i < filter->layer_count; i++) {
        encode_layer(filter->layers[i], offset, at);
        offset += filter->layers[i]->payload_size;
        at += PERHAPS_LAYER_SIZE;
    }
    at = encode_bytes(at, PERHAPS_SECTION_METADATA, filter->metadata, filter->metadata_size);
    return encode_bytes(at, PERHAPS_SECTION_POSITION, filter->position, filter->position_size);
}

// Returns the end of the layer's part of the table.
static uint8_t *encode_table(const struct perhaps__layer *layer, uint8_t *at)
{
    for (uint64_t offset = 0; offset < layer->payload_size; offset += PERHAPS_CHUNK) {
        size_t size = (size_t)perhaps__min(PERHAPS_CHUNK, layer->payload_size - offset);
        perhaps__store_little(at, 8, perhaps__checksum(layer->payload + offset, size));
        at += 8;
    }
    return at;
}

int perhaps__may_be_written(const perhaps_filter *filter, const char *subject, perhaps_error *error)
{
    if (filter->keyless) { // its probe fingerprint cannot be computed
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_KEY, .subject = subject},
                             "the filter was loaded without its secret key, and cannot be written");
    }
    return perhaps__chunks_demand(filter, subject, error);
}

static uint64_t flags_of(const perhaps_filter *filter, const struct perhaps__identity *identity)
{
    return (filter->adds_exact ? 0 : PERHAPS_FLAG_ADDS_SUMMED) | (identity != NULL ? PERHAPS_FLAG_JOURNAL : 0);
}

void perhaps__encode_header(const perhaps_filter *filter, struct perhaps__identity *identity, uint8_t *header)
{
    const struct perhaps__identity none = {0};
    const struct perhaps__identity *own = identity != NULL ? identity : &none;
    uint64_t size = perhaps__header_size(filter);
    memset(header, 0, size);
    perhaps__fixed_store(header, &(struct perhaps__fixed_fields){
                                     .magic = PERHAPS_MAGIC,
                                     .version = PERHAPS_FORMAT_VERSION,
                                     .fixed_size = PERHAPS_FIXED_SIZE,
                                     .header_size = size,
                                     .payload_size = perhaps__filter_payload_size(filter),
                                     .section_size = sections_size(filter),
                                     .sections = 1U + (filter->metadata_size > 0) + (filter->position_size > 0),
                                     .chunk_shift = PERHAPS_CHUNK_SHIFT,
                                     .chunks = chunks_of(filter),
                                     .kind = filter->kind,
                                     .hash_source = filter->hash_source,
                                     .seed = filter->seed,
                                     .capacity = filter->capacity,
                                     .fpr = perhaps__bits_of(filter->fpr),
                                     .flags = flags_of(filter, identity),
                                     .probe = perhaps__filter_probe(filter),
                                     .layers = filter->layer_count,
                                     .growth = filter->growth.factor,
                                     .max_capacity = filter->growth.max_capacity,
                                     .max_bytes = filter->max_bytes,
                                     .ambiguous = filter->ambiguous,
                                     .at_capacity = filter->at_capacity,
                                     .key_check = filter->key_check,
                                     .file_id = own->id,
                                     .generation = own->generation,
                                     .folded = own->folded,
                                 });
    uint8_t *table = encode_sections(filter, header + PERHAPS_FIXED_SIZE);
    for (uint32_t i = 0; i < filter->layer_count; i++) {
        table = encode_table(filter->layers[i], table);
    }
    uint64_t checksum = perhaps__checksum(header, size - 8);
    perhaps__store_little(header + size - 8, 8, checksum);
    if (identity != NULL) {
        identity->checksum = checksum;
    }
}

uint64_t perhaps__encoded_size(const perhaps_filter *filter)
{
    return perhaps__header_size(filter) + perhaps__filter_payload_size(filter);
}

void perhaps__encode(const perhaps_filter *filter, struct perhaps__identity *identity, uint8_t *buffer)
{
    perhaps__encode_header(filter, identity, buffer);
    uint8_t *at = buffer + perhaps__header_size(filter);
    for (uint32_t i = 0; i < filter->layer_count; i++) {
        memcpy(at, filter->layers[i]->payload, filter->layers[i]->payload_size);
        at += filter->layers[i]->payload_size;
    }
}

// Closed to writers.
static int encode(const perhaps_filter *filter, void *buffer, size_t capacity, size_t *written, perhaps_error *error)
{
    int status = perhaps__may_be_written(filter, NULL, error);
    if (status < 0) {
        return status;
    }
    uint64_t needed = perhaps__encoded_size(filter);
    if (capacity < needed || buffer == NULL) {
        struct perhaps__failure failure = {.code = PERHAPS_E_SPACE, .value = capacity, .limit = needed};
        return perhaps__fail(error, failure, "the filter encodes to %llu bytes, the buffer has %llu",
                             (unsigned long long)needed, (unsigned long long)capacity);
    }
    perhaps__encode(filter, NULL, buffer);
    *written = (size_t)needed;
    return PERHAPS_OK;
}

int perhaps_encode(const perhaps_filter *filter, void *buffer, size_t capacity, size_t *written, perhaps_error *error)
{
    if (filter == NULL || written == NULL || (buffer == NULL && capacity > 0)) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_ARGUMENT}, NULL);
    }
    perhaps__close(filter);
    int status = encode(filter, buffer, capacity, written, error);
    perhaps__open(filter);
    return status;
}
