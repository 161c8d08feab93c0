// SPDX-License-Identifier: MIT
// The header: what it says, and that all of it can be.
#include "decode.h"

#include "hash.h"
#include "kinds.h"

int perhaps__decode_fail_damaged(const struct perhaps__decoder *decoder, const char *field)
{
    return PERHAPS_DECODE_FAIL(
        decoder, PERHAPS_E_DAMAGED,
        "the header's %s is not one that this format has; rebuild the filter or restore the file", field);
}

int perhaps__decode_fail_memory(const struct perhaps__decoder *decoder)
{
    return PERHAPS_DECODE_FAIL(decoder, PERHAPS_E_MEMORY, "not enough memory to load the filter");
}

int perhaps__decode_read_at(const struct perhaps__decoder *decoder, uint64_t offset, void *bytes, size_t size)
{
    const struct perhaps__source *source = decoder->source;
    return source->read(source->context, offset, bytes, size, decoder->error);
}

bool perhaps__decode_is_keyless(const struct perhaps__decoder *decoder)
{
    return decoder->fixed.hash_source == PERHAPS_HASH_SIPHASH && decoder->key == NULL &&
           (decoder->flags & PERHAPS_OPEN_KEYLESS) != 0;
}

static int fail_cut(const struct perhaps__decoder *decoder, uint64_t needed)
{
    return PERHAPS_DECODE_FAIL(
        decoder, PERHAPS_E_DAMAGED,
        "the file has %llu bytes, its header asks for %llu: it was cut or is damaged; restore it",
        (unsigned long long)decoder->source->length, (unsigned long long)needed);
}

// Reads the fixed part: enough to know the header's size.
static int read_fixed(struct perhaps__decoder *decoder)
{
    uint8_t bytes[PERHAPS_FIXED_SIZE] = {0};
    uint64_t length = decoder->source->length;
    if (length == 0) {
        return PERHAPS_DECODE_FAIL(decoder, PERHAPS_E_NOT_A_FILTER, "is empty, not a perhaps filter");
    }
    int status = perhaps__decode_read_at(decoder, 0, bytes, (size_t)perhaps__min(length, sizeof bytes));
    if (status < 0) {
        return status;
    }
    perhaps__fixed_load(&decoder->fixed, bytes);
    if (decoder->fixed.magic != PERHAPS_MAGIC) {
        return PERHAPS_DECODE_FAIL(decoder, PERHAPS_E_NOT_A_FILTER,
                                   "is not a perhaps filter: it begins with other bytes");
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

static int read_header(struct perhaps__decoder *decoder)
{
    uint64_t size = decoder->fixed.header_size;
    if (size % PERHAPS_LINE != 0 || size < PERHAPS_FIXED_SIZE + PERHAPS_LINE) {
        return perhaps__decode_fail_damaged(decoder, "size");
    }
    if (size > decoder->source->length) {
        return fail_cut(decoder, size);
    }
    if (size > most_header(decoder->source->length)) {
        return perhaps__decode_fail_damaged(decoder, "size");
    }
    decoder->header = perhaps__allocate(decoder->allocator, size);
    if (decoder->header == NULL) {
        return perhaps__decode_fail_memory(decoder);
    }
    decoder->header_size = size;
    int status = perhaps__decode_read_at(decoder, 0, decoder->header, (size_t)size);
    if (status < 0) {
        return status;
    }
    if (perhaps__checksum(decoder->header, (size_t)size - 8) != perhaps__load_little(decoder->header + size - 8, 8)) {
        return PERHAPS_DECODE_FAIL(decoder, PERHAPS_E_DAMAGED,
                                   "the header is damaged (bytes 0 to %llu); rebuild the filter or restore the file",
                                   (unsigned long long)size - 1);
    }
    perhaps__fixed_load(&decoder->fixed, decoder->header);
    // Again from the copy: the file may have changed between the two reads.
    return decoder->fixed.header_size == size && decoder->fixed.magic == PERHAPS_MAGIC
               ? PERHAPS_OK
               : perhaps__decode_fail_damaged(decoder, "size");
}

static int check_version(const struct perhaps__decoder *decoder)
{
    if (decoder->fixed.version > PERHAPS_FORMAT_VERSION) {
        return PERHAPS_DECODE_FAIL(
            decoder, PERHAPS_E_VERSION,
            "is a filter in format version %u; this release (%s) reads versions up to %u; take a newer one",
            (unsigned)decoder->fixed.version, perhaps_version(), (unsigned)PERHAPS_FORMAT_VERSION);
    }
    if (decoder->fixed.version == 0) {
        return PERHAPS_DECODE_FAIL(decoder, PERHAPS_E_VERSION,
                                   "is a filter in format version 0, a draft that is not read any more; make it anew");
    }
    return PERHAPS_OK;
}

// A rate that perhaps_create() could have been given.
static bool is_rate(uint64_t bits)
{
    double rate = perhaps__double_of(bits);
    return rate > 0.0 && rate < 1.0;
}

// What must hold of a field.
struct check {
    bool holds;
    const char *field;
};

// Fails for the first field of which it does not hold.
static int fail_first(const struct perhaps__decoder *decoder, const struct check *checks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!checks[i].holds) {
            return perhaps__decode_fail_damaged(decoder, checks[i].field);
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
    const struct perhaps__kind *kind = perhaps__kind((uint32_t)fixed->kind); // or NULL, which is another field's fault
    bool known = factor == 2 || factor == 4 || factor == 8;
    return known && kind != NULL && kind->grows && (fixed->max_capacity == 0 || fixed->max_capacity >= fixed->capacity);
}

// The check value of a key is odd, and there with the hash source that has a key.
static bool key_check_fits(const struct perhaps__fixed_fields *fixed)
{
    return fixed->hash_source == PERHAPS_HASH_SIPHASH ? (fixed->key_check & 1) != 0 : fixed->key_check == 0;
}

// Only filters that require a journal say whose it is.
static bool identity_fits(const struct perhaps__fixed_fields *fixed)
{
    if ((fixed->flags & PERHAPS_FLAG_JOURNAL) == 0) {
        return (fixed->file_id | fixed->generation | fixed->folded) == 0;
    }
    return fixed->file_id != 0 && fixed->generation != 0;
}

static int check_fixed(const struct perhaps__decoder *decoder)
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
        {(fixed->flags & ~(uint64_t)(PERHAPS_FLAG_ADDS_SUMMED | PERHAPS_FLAG_JOURNAL)) == 0, "flags"},
        {fixed->layers >= 1 && fixed->layers <= PERHAPS_LAYERS_MAX, "number of layers"},
        {fixed->at_capacity <= PERHAPS_AT_CAPACITY_GROW, "choice at capacity"},
        {growth_fits(fixed), "growth"},
        {identity_fits(fixed), "file id"},
        {(fixed->reserved5 | fixed->reserved6 | fixed->reserved7) == 0, "reserved part"},
    };
    return fail_first(decoder, checks, PERHAPS_COUNT(checks));
}

// The parts must fill header and file exactly.
static int check_extent(const struct perhaps__decoder *decoder)
{
    const struct perhaps__fixed_fields *fixed = &decoder->fixed;
    uint64_t payload = decoder->source->length - fixed->header_size; // not negative: read_header()
    if (fixed->payload_size > payload) {
        uint64_t needed;
        return fail_cut(decoder,
                        __builtin_add_overflow(fixed->payload_size, fixed->header_size, &needed) ? UINT64_MAX : needed);
    }
    if (fixed->payload_size < payload) {
        return PERHAPS_DECODE_FAIL(decoder, PERHAPS_E_DAMAGED,
                                   "%llu bytes follow the end of the filter; restore the file",
                                   (unsigned long long)(payload - fixed->payload_size));
    }
    // Every layer but the first can begin a chunk that it does not fill.
    uint64_t least = perhaps__chunks(fixed->payload_size);
    if (fixed->chunks < least || fixed->chunks > least + fixed->layers - 1) {
        return perhaps__decode_fail_damaged(decoder, "number of chunks");
    }
    uint64_t table = fixed->chunks * 8; // payload_size is at most the length, so this is small
    uint64_t room = fixed->header_size - PERHAPS_FIXED_SIZE - 8;
    if (fixed->section_size > room || table > room - fixed->section_size ||
        room - fixed->section_size - table >= PERHAPS_LINE) {
        return perhaps__decode_fail_damaged(decoder, "section size");
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

static int take_layers(struct perhaps__decoder *decoder, uint64_t flags, const uint8_t *data, uint64_t size)
{
    if (size != PERHAPS_LAYER_SIZE * decoder->fixed.layers || flags != PERHAPS_MUST_UNDERSTAND) {
        return perhaps__decode_fail_damaged(decoder, "layer section");
    }
    for (uint64_t i = 0; i < decoder->fixed.layers; i++) {
        perhaps__layer_load(&decoder->layers[i], data + i * PERHAPS_LAYER_SIZE);
    }
    return PERHAPS_OK;
}

static int take_metadata(struct perhaps__decoder *decoder, uint64_t flags, const uint8_t *data, uint64_t size)
{
    if (size == 0 || size > PERHAPS_METADATA_MAX || flags != 0) {
        return perhaps__decode_fail_damaged(decoder, "metadata section");
    }
    decoder->metadata = data;
    decoder->metadata_size = size;
    return PERHAPS_OK;
}

static int take_position(struct perhaps__decoder *decoder, uint64_t flags, const uint8_t *data, uint64_t size)
{
    if (size == 0 || size > PERHAPS_POSITION_MAX || flags != 0) {
        return perhaps__decode_fail_damaged(decoder, "position section");
    }
    decoder->position = data;
    decoder->position_size = size;
    return PERHAPS_OK;
}

static int take_section(struct perhaps__decoder *decoder, uint64_t type, uint64_t flags, const uint8_t *data,
                        uint64_t size)
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
        return PERHAPS_DECODE_FAIL(
            decoder, PERHAPS_E_VERSION,
            "has a section of type %llu, which this release (%s) does not know and must; take a newer one",
            (unsigned long long)type, perhaps_version());
    }
    return flags == 0 ? PERHAPS_OK : perhaps__decode_fail_damaged(decoder, "section");
}

static int read_sections(struct perhaps__decoder *decoder)
{
    const uint8_t *at = decoder->header + PERHAPS_FIXED_SIZE;
    const uint8_t *end = at + decoder->fixed.section_size;
    uint64_t previous_type = 0;
    for (uint64_t i = 0; i < decoder->fixed.sections; i++) {
        uint64_t room = (uint64_t)(end - at);
        if (room < PERHAPS_SECTION_HEAD) {
            return perhaps__decode_fail_damaged(decoder, "number of sections");
        }
        uint64_t type = perhaps__load_little(at, 4);
        uint64_t size = perhaps__load_little(at + 8, 8);
        uint64_t padded_size;
        if (type <= previous_type || !perhaps__round_up(size, 8, &padded_size) ||
            padded_size > room - PERHAPS_SECTION_HEAD) {
            return perhaps__decode_fail_damaged(decoder, "section");
        }
        const uint8_t *data = at + PERHAPS_SECTION_HEAD;
        int status = take_section(decoder, type, perhaps__load_little(at + 4, 4), data, size);
        if (status < 0) {
            return status;
        }
        at = data + padded_size;
        if (!all_zero(data + size, at)) {
            return perhaps__decode_fail_damaged(decoder, "section");
        }
        previous_type = type;
    }
    const uint8_t *table_end = end + decoder->fixed.chunks * 8;
    const uint8_t *padding_end = decoder->header + decoder->fixed.header_size - 8;
    return at == end && all_zero(table_end, padding_end) ? PERHAPS_OK
                                                         : perhaps__decode_fail_damaged(decoder, "section size");
}

// Every kind has more than one bit for a key, and no layer of a growing filter is for fewer than the first one was:
// otherwise the next layer, made for one of the two capacities times the growth, could be of any size.
static bool is_capacity(const struct perhaps__fixed_fields *fixed, const struct perhaps__layer_fields *layer)
{
    bool grows = fixed->at_capacity == PERHAPS_AT_CAPACITY_GROW;
    return layer->capacity > 0 && layer->capacity <= layer->bits && (!grows || layer->capacity >= fixed->capacity);
}

// One layer, whose payload begins at `offset`.
static int check_layer(const struct perhaps__decoder *decoder, const struct perhaps__layer_fields *layer,
                       uint64_t offset)
{
    const struct check checks[] = {
        {layer->bits > 0, "layer section"}, // also when there was none
        {layer->bits % PERHAPS_UNIT_BITS == 0 && layer->bits <= PERHAPS_MAX_BITS, "number of bits"},
        {layer->payload_offset == offset, "payload offset"},
        {layer->payload_size == layer->bits / 8 && layer->payload_size <= decoder->fixed.payload_size - offset,
         "layer size"},
        {is_capacity(&decoder->fixed, layer), "layer capacity"},
        {is_rate(layer->fpr), "layer rate"},
        {layer->reserved == 0, "layer section"},
    };
    return fail_first(decoder, checks, PERHAPS_COUNT(checks));
}

// The payloads of the layers follow each other, and fill payload and chunk table exactly.
static int check_layers(const struct perhaps__decoder *decoder)
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
        return perhaps__decode_fail_damaged(decoder, "layer size");
    }
    return chunks == decoder->fixed.chunks ? PERHAPS_OK : perhaps__decode_fail_damaged(decoder, "number of chunks");
}

// Bytes alone are not the whole of a filter that has a journal.
static int check_journal(const struct perhaps__decoder *decoder)
{
    if ((decoder->fixed.flags & PERHAPS_FLAG_JOURNAL) != 0 && !decoder->journaled) {
        return PERHAPS_DECODE_FAIL(
            decoder, PERHAPS_E_JOURNAL,
            "has a journal beside its file, without which it lacks keys; open the file, or save it elsewhere first");
    }
    return PERHAPS_OK;
}

// The key that was given, against the one that the filter has.
static int check_key(const struct perhaps__decoder *decoder)
{
    bool keyed = decoder->fixed.hash_source == PERHAPS_HASH_SIPHASH;
    if (!keyed && decoder->key != NULL) {
        return PERHAPS_DECODE_FAIL(decoder, PERHAPS_E_KEY,
                                   "has no secret key, but one was given: it is not the filter that was meant");
    }
    if (!keyed || perhaps__decode_is_keyless(decoder)) {
        return PERHAPS_OK;
    }
    if (!perhaps__siphash_is_supported()) {
        return PERHAPS_DECODE_FAIL(
            decoder, PERHAPS_E_UNSUPPORTED,
            "has a secret key, and this library was built without libsodium, which hashing with it needs");
    }
    if (decoder->key == NULL) {
        return PERHAPS_DECODE_FAIL(decoder, PERHAPS_E_KEY,
                                   "has a secret key, without which it cannot be asked, and none was given");
    }
    if (perhaps__key_check(decoder->key) != decoder->fixed.key_check) {
        return PERHAPS_DECODE_FAIL(decoder, PERHAPS_E_KEY, "has another secret key than the one that was given");
    }
    return PERHAPS_OK;
}

int perhaps__decode_header(struct perhaps__decoder *decoder)
{
    int status = read_fixed(decoder);
    status = status < 0 ? status : read_header(decoder);
    status = status < 0 ? status : check_version(decoder);
    status = status < 0 ? status : check_fixed(decoder);
    status = status < 0 ? status : check_extent(decoder);
    status = status < 0 ? status : read_sections(decoder);
    status = status < 0 ? status : check_layers(decoder);
    status = status < 0 ? status : check_journal(decoder);
    return status < 0 ? status : check_key(decoder);
}
