// SPDX-License-Identifier: MIT
// Bytes become a filter, if every one of them holds up. The order of the checks is that of docs/format.md.
#include "format.h"

#include "hash.h"
#include "kinds.h"
#include "shared.h"

// The state of one decoding.
struct decoder {
    const struct perhaps__source *source;
    const perhaps_allocator *allocator;
    uint32_t flags;     // enum perhaps_load_flag
    const uint8_t *key; // the secret one, or NULL
    perhaps_error *error;
    struct perhaps__fixed_fields fixed;
    struct perhaps__layer_fields layers[PERHAPS_LAYERS_MAX]; // the first fixed.layers of them
    uint8_t *header;      // a private copy, so that nobody changes it between check and use
    uint64_t header_size; // of the copy; what it says of its size may be something else
    const uint8_t *metadata;
    uint64_t metadata_size;
    const uint8_t *position;
    uint64_t position_size;
    perhaps_filter *filter;
};

#define FAIL(decoder, failure_code, ...)                                                                               \
    perhaps__fail((decoder)->error,                                                                                    \
                  (struct perhaps__failure){.code = (failure_code), .subject = (decoder)->source->subject},            \
                  __VA_ARGS__)

static int fail_damaged(const struct decoder *decoder, const char *field)
{
    return FAIL(decoder, PERHAPS_E_DAMAGED,
                "the header's %s is not one that this format has; rebuild the filter or restore the file", field);
}

static int fail_memory(const struct decoder *decoder)
{
    return FAIL(decoder, PERHAPS_E_MEMORY, "not enough memory to load the filter");
}

static int read_at(const struct decoder *decoder, uint64_t offset, void *bytes, size_t size)
{
    const struct perhaps__source *source = decoder->source;
    return source->read(source->context, offset, bytes, size, decoder->error);
}

static int fail_cut(const struct decoder *decoder, uint64_t needed)
{
    return FAIL(decoder, PERHAPS_E_DAMAGED,
                "the file has %llu bytes, its header asks for %llu: it was cut or is damaged; restore it",
                (unsigned long long)decoder->source->length, (unsigned long long)needed);
}

// Reads the fixed part: enough to know the header's size.
static int read_fixed(struct decoder *decoder)
{
    uint8_t bytes[PERHAPS_FIXED_SIZE] = {0};
    uint64_t length = decoder->source->length;
    if (length == 0) {
        return FAIL(decoder, PERHAPS_E_NOT_A_FILTER, "is empty, not a perhaps filter");
    }
    int status = read_at(decoder, 0, bytes, (size_t)perhaps__min(length, sizeof bytes));
    if (status < 0) {
        return status;
    }
    perhaps__fixed_load(&decoder->fixed, bytes);
    if (decoder->fixed.magic != PERHAPS_MAGIC) {
        return FAIL(decoder, PERHAPS_E_NOT_A_FILTER, "is not a perhaps filter: it begins with other bytes");
    }
    return length < sizeof bytes ? fail_cut(decoder, sizeof bytes) : PERHAPS_OK;
}

// The most that a header can have in a file of this length: a file that is nearly all hole costs nothing, and reading its
// "header" would cost as much memory as it says.
static uint64_t most_header(uint64_t length)
{
    uint64_t chunks = perhaps__chunks(length) + PERHAPS_LAYERS_MAX;
    return PERHAPS_FIXED_SIZE + PERHAPS_SECTIONS_MAX + 8 * chunks + PERHAPS_LINE;
}

static int read_header(struct decoder *decoder)
{
    uint64_t size = decoder->fixed.header_size;
    if (size % PERHAPS_LINE != 0 || size < PERHAPS_FIXED_SIZE + PERHAPS_LINE) {
        return fail_damaged(decoder, "size");
    }
    if (size > decoder->source->length) {
        return fail_cut(decoder, size);
    }
    if (size > most_header(decoder->source->length)) {
        return fail_damaged(decoder, "size");
    }
    decoder->header = perhaps__allocate(decoder->allocator, size);
    if (decoder->header == NULL) {
        return fail_memory(decoder);
    }
    decoder->header_size = size;
    int status = read_at(decoder, 0, decoder->header, (size_t)size);
    if (status < 0) {
        return status;
    }
    if (perhaps__checksum(decoder->header, (size_t)size - 8) != perhaps__load_little(decoder->header + size - 8, 8)) {
        return FAIL(decoder, PERHAPS_E_DAMAGED,
                    "the header is damaged (bytes 0 to %llu); rebuild the filter or restore the file",
                    (unsigned long long)size - 1);
    }
    perhaps__fixed_load(&decoder->fixed, decoder->header);
    // Again from the copy: the file may have changed between the two reads.
    return decoder->fixed.header_size == size && decoder->fixed.magic == PERHAPS_MAGIC ? PERHAPS_OK
                                                                                       : fail_damaged(decoder, "size");
}

static int check_version(const struct decoder *decoder)
{
    if (decoder->fixed.version > PERHAPS_FORMAT_VERSION) {
        return FAIL(decoder, PERHAPS_E_VERSION,
                    "is a filter in format version %u; this release (%s) reads versions up to %u; take a newer one",
                    (unsigned)decoder->fixed.version, perhaps_version(), (unsigned)PERHAPS_FORMAT_VERSION);
    }
    return PERHAPS_OK;
}

// A rate that perhaps_create() could have been given.
static bool is_rate(uint64_t bits)
{
    double rate = perhaps__double_of(bits);
    return rate > 0.0 && rate < 1.0;
}

// Loaded without its key, as was asked.
static bool is_keyless(const struct decoder *decoder)
{
    return decoder->fixed.hash_source == PERHAPS_HASH_SIPHASH && decoder->key == NULL &&
           (decoder->flags & PERHAPS_OPEN_KEYLESS) != 0;
}

// What must hold of a field.
struct check {
    bool holds;
    const char *field;
};

// Fails for the first field of which it does not hold.
static int fail_first(const struct decoder *decoder, const struct check *checks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!checks[i].holds) {
            return fail_damaged(decoder, checks[i].field);
        }
    }
    return PERHAPS_OK;
}

// Only filters that grow have a factor, limits, and more than one layer.
static bool growth_fits(const struct perhaps__fixed_fields *fixed)
{
    uint64_t factor = fixed->growth;
    if (fixed->at_capacity != PERHAPS_AT_CAPACITY_GROW) {
        return (factor | fixed->max_capacity | fixed->max_bytes | fixed->ambiguous) == 0 && fixed->layers == 1;
    }
    bool known = factor == 2 || factor == 4 || factor == 8;
    return known && (fixed->max_capacity == 0 || fixed->max_capacity >= fixed->capacity);
}

// The check value of a key is odd, and there with the hash source that has a key.
static bool key_check_fits(const struct perhaps__fixed_fields *fixed)
{
    return fixed->hash_source == PERHAPS_HASH_SIPHASH ? (fixed->key_check & 1) != 0 : fixed->key_check == 0;
}

static int check_fixed(const struct decoder *decoder)
{
    const struct perhaps__fixed_fields *fixed = &decoder->fixed;
    const struct check checks[] = {
        {fixed->fixed_size == PERHAPS_FIXED_SIZE, "fixed size"},
        {fixed->payload_size % PERHAPS_LINE == 0 && fixed->payload_size > 0, "payload size"},
        {fixed->section_size % 8 == 0 && fixed->section_size <= PERHAPS_SECTIONS_MAX, "section size"},
        {fixed->chunk_shift == PERHAPS_CHUNK_SHIFT, "chunk size"},
        {perhaps__kind((uint32_t)fixed->kind) != NULL, "kind"},
        {fixed->hash_source >= PERHAPS_HASH_XXH3 && fixed->hash_source <= PERHAPS_HASH_SIPHASH, "hash source"},
        {key_check_fits(fixed), "key check value"},
        {fixed->capacity > 0, "capacity"},
        {is_rate(fixed->fpr), "false-positive rate"},
        {(fixed->flags & ~(uint64_t)PERHAPS_FLAG_ADDS_SUMMED) == 0, "flags"},
        {fixed->layers >= 1 && fixed->layers <= PERHAPS_LAYERS_MAX, "number of layers"},
        {fixed->at_capacity <= PERHAPS_AT_CAPACITY_GROW, "choice at capacity"},
        {growth_fits(fixed), "growth"},
        {(fixed->reserved2 | fixed->reserved3 | fixed->reserved4 | fixed->reserved5 | fixed->reserved6 |
          fixed->reserved7) == 0,
         "reserved part"},
    };
    return fail_first(decoder, checks, PERHAPS_COUNT(checks));
}

// The parts must fill header and file exactly.
static int check_extent(const struct decoder *decoder)
{
    const struct perhaps__fixed_fields *fixed = &decoder->fixed;
    uint64_t payload = decoder->source->length - fixed->header_size; // not negative: read_header()
    if (fixed->payload_size > payload) {
        uint64_t needed;
        return fail_cut(decoder,
                        __builtin_add_overflow(fixed->payload_size, fixed->header_size, &needed) ? UINT64_MAX : needed);
    }
    if (fixed->payload_size < payload) {
        return FAIL(decoder, PERHAPS_E_DAMAGED, "%llu bytes follow the end of the filter; restore the file",
                    (unsigned long long)(payload - fixed->payload_size));
    }
    // Every layer but the first can begin a chunk that it does not fill.
    uint64_t least = perhaps__chunks(fixed->payload_size);
    if (fixed->chunks < least || fixed->chunks > least + fixed->layers - 1) {
        return fail_damaged(decoder, "number of chunks");
    }
    uint64_t table = fixed->chunks * 8; // payload_size is at most the length, so this is small
    uint64_t room = fixed->header_size - PERHAPS_FIXED_SIZE - 8;
    if (fixed->section_size > room || table > room - fixed->section_size ||
        room - fixed->section_size - table >= PERHAPS_LINE) {
        return fail_damaged(decoder, "section size");
    }
    return PERHAPS_OK;
}

static bool all_zero(const uint8_t *from, const uint8_t *end)
{
    while (from < end && *from == 0) {
        from++;
    }
    return from >= end;
}

static int take_layers(struct decoder *decoder, uint64_t flags, const uint8_t *data, uint64_t size)
{
    if (size != PERHAPS_LAYER_SIZE * decoder->fixed.layers || flags != PERHAPS_MUST_UNDERSTAND) {
        return fail_damaged(decoder, "layer section");
    }
    for (uint64_t i = 0; i < decoder->fixed.layers; i++) {
        perhaps__layer_load(&decoder->layers[i], data + i * PERHAPS_LAYER_SIZE);
    }
    return PERHAPS_OK;
}

static int take_metadata(struct decoder *decoder, uint64_t flags, const uint8_t *data, uint64_t size)
{
    if (size == 0 || size > PERHAPS_METADATA_MAX || flags != 0) {
        return fail_damaged(decoder, "metadata section");
    }
    decoder->metadata = data;
    decoder->metadata_size = size;
    return PERHAPS_OK;
}

static int take_position(struct decoder *decoder, uint64_t flags, const uint8_t *data, uint64_t size)
{
    if (size == 0 || size > PERHAPS_POSITION_MAX || flags != 0) {
        return fail_damaged(decoder, "position section");
    }
    decoder->position = data;
    decoder->position_size = size;
    return PERHAPS_OK;
}

static int take_section(struct decoder *decoder, uint64_t type, uint64_t flags, const uint8_t *data, uint64_t size)
{
    switch (type) {
    case PERHAPS_SECTION_LAYERS:
        return take_layers(decoder, flags, data, size);
    case PERHAPS_SECTION_METADATA:
        return take_metadata(decoder, flags, data, size);
    case PERHAPS_SECTION_POSITION:
        return take_position(decoder, flags, data, size);
    default:
        break;
    }
    if (flags == PERHAPS_MUST_UNDERSTAND) {
        return FAIL(decoder, PERHAPS_E_VERSION,
                    "has a section of type %llu, which this release (%s) does not know and must; take a newer one",
                    (unsigned long long)type, perhaps_version());
    }
    return flags == 0 ? PERHAPS_OK : fail_damaged(decoder, "section");
}

static int read_sections(struct decoder *decoder)
{
    const uint8_t *at = decoder->header + PERHAPS_FIXED_SIZE;
    const uint8_t *end = at + decoder->fixed.section_size;
    uint64_t previous_type = 0;
    for (uint64_t i = 0; i < decoder->fixed.sections; i++) {
        uint64_t room = (uint64_t)(end - at);
        if (room < PERHAPS_SECTION_HEAD) {
            return fail_damaged(decoder, "number of sections");
        }
        uint64_t type = perhaps__load_little(at, 4);
        uint64_t size = perhaps__load_little(at + 8, 8);
        uint64_t padded_size;
        if (type <= previous_type || !perhaps__round_up(size, 8, &padded_size) ||
            padded_size > room - PERHAPS_SECTION_HEAD) {
            return fail_damaged(decoder, "section");
        }
        const uint8_t *data = at + PERHAPS_SECTION_HEAD;
        int status = take_section(decoder, type, perhaps__load_little(at + 4, 4), data, size);
        if (status < 0) {
            return status;
        }
        at = data + padded_size;
        if (!all_zero(data + size, at)) {
            return fail_damaged(decoder, "section");
        }
        previous_type = type;
    }
    const uint8_t *table_end = end + decoder->fixed.chunks * 8;
    const uint8_t *padding_end = decoder->header + decoder->fixed.header_size - 8;
    return at == end && all_zero(table_end, padding_end) ? PERHAPS_OK : fail_damaged(decoder, "section size");
}

// One layer, whose payload begins at `offset`.
static int check_layer(const struct decoder *decoder, const struct perhaps__layer_fields *layer, uint64_t offset)
{
    const struct check checks[] = {
        {layer->bits > 0, "layer section"}, // also when there was none
        {layer->bits % PERHAPS_UNIT_BITS == 0 && layer->bits <= PERHAPS_MAX_BITS, "number of bits"},
        {layer->payload_offset == offset, "payload offset"},
        {layer->payload_size == layer->bits / 8 && layer->payload_size <= decoder->fixed.payload_size - offset,
         "layer size"},
        {layer->capacity > 0, "layer capacity"},
        {is_rate(layer->fpr), "layer rate"},
        {layer->reserved == 0, "layer section"},
    };
    return fail_first(decoder, checks, PERHAPS_COUNT(checks));
}

// The payloads of the layers follow each other, and fill payload and chunk table exactly.
static int check_layers(const struct decoder *decoder)
{
    uint64_t offset = 0;
    uint64_t chunks = 0;
    for (uint64_t i = 0; i < decoder->fixed.layers; i++) {
        int status = check_layer(decoder, &decoder->layers[i], offset);
        if (status < 0) {
            return status;
        }
        offset += decoder->layers[i].payload_size;
        chunks += perhaps__chunks(decoder->layers[i].payload_size);
    }
    if (offset != decoder->fixed.payload_size) {
        return fail_damaged(decoder, "layer size");
    }
    return chunks == decoder->fixed.chunks ? PERHAPS_OK : fail_damaged(decoder, "number of chunks");
}

// The key that was given, against the one that the filter has.
static int check_key(const struct decoder *decoder)
{
    bool keyed = decoder->fixed.hash_source == PERHAPS_HASH_SIPHASH;
    if (!keyed && decoder->key != NULL) {
        return FAIL(decoder, PERHAPS_E_KEY,
                    "has no secret key, but one was given: it is not the filter that was meant");
    }
    if (!keyed || is_keyless(decoder)) {
        return PERHAPS_OK;
    }
    if (!perhaps__siphash_is_supported()) {
        return FAIL(decoder, PERHAPS_E_UNSUPPORTED,
                    "has a secret key, and this library was built without libsodium, which hashing with it needs");
    }
    if (decoder->key == NULL) {
        return FAIL(decoder, PERHAPS_E_KEY, "has a secret key, without which it cannot be asked, and none was given");
    }
    if (perhaps__key_check(decoder->key) != decoder->fixed.key_check) {
        return FAIL(decoder, PERHAPS_E_KEY, "has another secret key than the one that was given");
    }
    return PERHAPS_OK;
}

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

static int make_layers(const struct decoder *decoder)
{
    for (uint64_t i = 0; i < decoder->fixed.layers; i++) {
        struct perhaps__size size = size_of_layer(&decoder->layers[i]);
        struct perhaps__layer *layer = perhaps__filter_push_bare(decoder->filter, &size);
        if (layer == NULL) {
            return fail_memory(decoder);
        }
        if (!layer->operations->is_sound(layer)) {
            return fail_damaged(decoder, "shape of a layer");
        }
    }
    return PERHAPS_OK;
}

// Threads may share what is in memory of its own; a mapping is only read, and needs nothing for that.
static bool share(const struct decoder *decoder)
{
    uint32_t flags = decoder->flags & (PERHAPS_OPEN_SHARED | PERHAPS_OPEN_CLAIM);
    bool claim = (flags & PERHAPS_OPEN_CLAIM) != 0;
    return flags == 0 || decoder->source->mapping != NULL ||
           perhaps__shared_begin(decoder->filter, PERHAPS_SHARED | (claim ? PERHAPS_CLAIM : 0));
}

// What belongs to the user. Only memory can be short.
static int copy_what_travels(const struct decoder *decoder)
{
    bool copied = (decoder->metadata_size == 0 || perhaps_set_metadata(decoder->filter, decoder->metadata,
                                                                       (size_t)decoder->metadata_size) == PERHAPS_OK) &&
                  (decoder->position_size == 0 || perhaps_set_position(decoder->filter, decoder->position,
                                                                       (size_t)decoder->position_size) == PERHAPS_OK);
    return copied ? PERHAPS_OK : fail_memory(decoder);
}

static int make_filter(struct decoder *decoder)
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
        return fail_memory(decoder);
    }
    decoder->filter = filter;
    if (!share(decoder)) {
        return fail_memory(decoder);
    }
    filter->ambiguous = fixed->ambiguous;
    filter->adds_exact = (fixed->flags & PERHAPS_FLAG_ADDS_SUMMED) == 0;
    int status = make_layers(decoder);
    status = status < 0 ? status : copy_what_travels(decoder);
    filter->key_check = (uint32_t)fixed->key_check;
    filter->keyless = is_keyless(decoder); // not before: its metadata cannot be set
    return status;
}

// Checked before the payload is read: a build that hashes differently need not look at it.
static int check_probe(const struct decoder *decoder)
{
    if (!decoder->filter->keyless && perhaps__filter_probe(decoder->filter) != decoder->fixed.probe) {
        return FAIL(decoder, PERHAPS_E_PROBE,
                    "this build hashes or places keys differently from the one that wrote the filter, so its answers "
                    "would be wrong; rebuild the filter, or the library against another xxHash");
    }
    return PERHAPS_OK;
}

// The chunks of one layer, whose first is number `first` of all and whose payload begins at byte `begin`.
static int check_chunks_of(const struct decoder *decoder, const struct perhaps__layer *layer, uint64_t first,
                           uint64_t begin)
{
    const uint8_t *table = decoder->header + PERHAPS_FIXED_SIZE + decoder->fixed.section_size + 8 * first;
    for (uint64_t i = 0; i < perhaps__chunks(layer->payload_size); i++) {
        uint64_t offset = i << PERHAPS_CHUNK_SHIFT;
        size_t size = (size_t)perhaps__min(PERHAPS_CHUNK, layer->payload_size - offset);
        if (perhaps__checksum(layer->payload + offset, size) != perhaps__load_little(table + 8 * i, 8)) {
            unsigned long long from = begin + offset;
            return FAIL(decoder, PERHAPS_E_DAMAGED,
                        "chunk %llu of %llu is damaged (bytes %llu to %llu); rebuild the filter or restore the file",
                        (unsigned long long)(first + i + 1), (unsigned long long)decoder->fixed.chunks, from,
                        from + size - 1);
        }
    }
    return PERHAPS_OK;
}

static int check_chunks(const struct decoder *decoder)
{
    uint64_t first = 0;
    uint64_t begin = decoder->fixed.header_size;
    for (uint32_t i = 0; i < decoder->filter->layer_count; i++) {
        const struct perhaps__layer *layer = decoder->filter->layers[i];
        int status = check_chunks_of(decoder, layer, first, begin);
        if (status < 0) {
            return status;
        }
        first += perhaps__chunks(layer->payload_size);
        begin += layer->payload_size;
    }
    return PERHAPS_OK;
}

// In a mapping the payload is only read: the filter is marked read-only.
static int read_layer(const struct decoder *decoder, struct perhaps__layer *layer, uint64_t begin)
{
    const struct perhaps__setting *setting = &decoder->filter->setting;
    if (decoder->source->mapping != NULL) {
        perhaps__layer_attach(layer, (uint8_t *)(uintptr_t)decoder->source->mapping + begin, setting);
        return PERHAPS_OK;
    }
    uint8_t *payload = perhaps__allocate(decoder->allocator, layer->payload_size);
    if (payload == NULL) {
        return fail_memory(decoder);
    }
    perhaps__layer_attach(layer, payload, setting);
    return read_at(decoder, begin, payload, (size_t)layer->payload_size);
}

static int read_payload(const struct decoder *decoder)
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

static int check_counts(const struct decoder *decoder)
{
    for (uint32_t i = 0; i < decoder->filter->layer_count; i++) {
        const struct perhaps__layer_fields *fields = &decoder->layers[i];
        const struct perhaps__tally recorded = {
            .keys = fields->adds,
            .used = fields->used,
            .copies = fields->copies,
            .removals = fields->removals,
        };
        if (!perhaps__layer_restore(decoder->filter->layers[i], &recorded)) {
            return FAIL(decoder, PERHAPS_E_DAMAGED,
                        "what the payload holds is not what is recorded of it; rebuild the filter or restore the file");
        }
    }
    return PERHAPS_OK;
}

// The first failing step's code, or 0 when none fails.
static int run_steps(struct decoder *decoder)
{
    int status = read_fixed(decoder);
    status = status < 0 ? status : read_header(decoder);
    status = status < 0 ? status : check_version(decoder);
    status = status < 0 ? status : check_fixed(decoder);
    status = status < 0 ? status : check_extent(decoder);
    status = status < 0 ? status : read_sections(decoder);
    status = status < 0 ? status : check_layers(decoder);
    status = status < 0 ? status : check_key(decoder);
    status = status < 0 ? status : make_filter(decoder);
    status = status < 0 ? status : check_probe(decoder);
    status = status < 0 ? status : read_payload(decoder);
    status = status < 0 ? status : check_chunks(decoder);
    return status < 0 ? status : check_counts(decoder);
}

int perhaps__decode(const struct perhaps__source *source, const struct perhaps__loading *loading,
                    perhaps_filter **filter, perhaps_error *error)
{
    const perhaps_allocator *allocator = &loading->allocator;
    struct decoder decoder = {
        .source = source, .allocator = allocator, .flags = loading->flags, .key = loading->key, .error = error};
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
