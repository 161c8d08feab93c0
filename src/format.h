// SPDX-License-Identifier: MIT
// Layer 4: the fields of docs/format.md, in one place for writing and reading. No I/O here.
#ifndef PERHAPS_FORMAT_H
#define PERHAPS_FORMAT_H

#include "chunks.h"
#include "errors.h"

#define PERHAPS_FIXED_SIZE 192
#define PERHAPS_SECTION_HEAD 16
#define PERHAPS_LAYER_SIZE 112
#define PERHAPS_SECTIONS_MAX (UINT64_C(1) << 20) // bytes of all sections together
#define PERHAPS_MAGIC UINT64_C(0x73706168726570b6)

#define PERHAPS_FLAG_ADDS_SUMMED 1U
#define PERHAPS_FLAG_JOURNAL 2U // required

enum perhaps__section_type { PERHAPS_SECTION_LAYERS = 1, PERHAPS_SECTION_METADATA = 2, PERHAPS_SECTION_POSITION = 3 };
#define PERHAPS_MUST_UNDERSTAND 1U

// X(name, offset, width)
#define PERHAPS_FIXED_FIELDS(X)                                                                                        \
    X(magic, 0, 8)                                                                                                     \
    X(version, 8, 4)                                                                                                   \
    X(fixed_size, 12, 4)                                                                                               \
    X(header_size, 16, 8)                                                                                              \
    X(payload_size, 24, 8)                                                                                             \
    X(section_size, 32, 8)                                                                                             \
    X(sections, 40, 4)                                                                                                 \
    X(chunk_shift, 44, 4)                                                                                              \
    X(chunks, 48, 8)                                                                                                   \
    X(kind, 56, 4)                                                                                                     \
    X(hash_source, 60, 4)                                                                                              \
    X(seed, 64, 8)                                                                                                     \
    X(capacity, 72, 8)                                                                                                 \
    X(fpr, 80, 8)                                                                                                      \
    X(flags, 88, 8)                                                                                                    \
    X(probe, 96, 8)                                                                                                    \
    X(layers, 104, 4)                                                                                                  \
    X(growth, 108, 4)                                                                                                  \
    X(max_capacity, 112, 8)                                                                                            \
    X(max_bytes, 120, 8)                                                                                               \
    X(ambiguous, 128, 8)                                                                                               \
    X(at_capacity, 136, 4)                                                                                             \
    X(key_check, 140, 4)                                                                                               \
    X(file_id, 144, 8)                                                                                                 \
    X(generation, 152, 8)                                                                                              \
    X(folded, 160, 8)                                                                                                  \
    X(reserved5, 168, 8)                                                                                               \
    X(reserved6, 176, 8)                                                                                               \
    X(reserved7, 184, 8)

#define PERHAPS_LAYER_FIELDS(X)                                                                                        \
    X(payload_offset, 0, 8)                                                                                            \
    X(payload_size, 8, 8)                                                                                              \
    X(capacity, 16, 8)                                                                                                 \
    X(fpr, 24, 8)                                                                                                      \
    X(adds, 32, 8)                                                                                                     \
    X(bits, 40, 8)                                                                                                     \
    X(used, 48, 8)                                                                                                     \
    X(positions, 56, 4)                                                                                                \
    X(layout, 60, 4)                                                                                                   \
    X(range, 64, 8)                                                                                                    \
    X(copies, 72, 8)                                                                                                   \
    X(removals, 80, 8)                                                                                                 \
    X(cell_bits, 88, 4)                                                                                                \
    X(slots, 92, 4)                                                                                                    \
    X(policy, 96, 4)                                                                                                   \
    X(search, 100, 4)                                                                                                  \
    X(reserved, 104, 8)

#define PERHAPS_FIELD_MEMBER(name, offset, width) uint64_t name;
struct perhaps__fixed_fields {
    PERHAPS_FIXED_FIELDS(PERHAPS_FIELD_MEMBER)
};
struct perhaps__layer_fields {
    PERHAPS_LAYER_FIELDS(PERHAPS_FIELD_MEMBER)
};
#undef PERHAPS_FIELD_MEMBER

void perhaps__fixed_store(uint8_t *bytes, const struct perhaps__fixed_fields *fields);
void perhaps__fixed_load(struct perhaps__fixed_fields *fields, const uint8_t *bytes);
void perhaps__layer_store(uint8_t *bytes, const struct perhaps__layer_fields *fields);
void perhaps__layer_load(struct perhaps__layer_fields *fields, const uint8_t *bytes);

// The bytes that a filter's header takes: everything before its payload.
uint64_t perhaps__header_size(const perhaps_filter *filter);

// Writes the header into `header`, of exactly perhaps__header_size() bytes. With an identity it requires a journal;
// identity->checksum then becomes that of the header. Otherwise it is NULL.
void perhaps__encode_header(const perhaps_filter *filter, struct perhaps__identity *identity, uint8_t *header);

// 0, or why a filter cannot be encoded: PERHAPS_E_KEY without its key, PERHAPS_E_DAMAGED when its file is, which new
// checksums would hide.
int perhaps__may_be_written(const perhaps_filter *filter, const char *subject, perhaps_error *error);

// All bytes that a filter encodes to, and their number. Not while threads add to it.
uint64_t perhaps__encoded_size(const perhaps_filter *filter);
void perhaps__encode(const perhaps_filter *filter, struct perhaps__identity *identity, uint8_t *buffer);

// Where encoded bytes come from: fills `bytes` with `size` bytes from `offset` on; 0, or a code with *error filled in.
// Never asked for bytes beyond the length given to perhaps__decode().
struct perhaps__source {
    void *context;
    int (*read)(void *context, uint64_t offset, void *bytes, size_t size, perhaps_error *error);
    uint64_t length;
    const char *subject;    // for messages, or NULL
    const uint8_t *mapping; // all bytes at their final place: the payload is used there, not copied. Or NULL
};

// The read of a source whose bytes all are in memory, from `context` on.
int perhaps__read_memory(void *context, uint64_t offset, void *bytes, size_t size, perhaps_error *error);

// How a filter is to be loaded.
struct perhaps__loading {
    perhaps_allocator allocator;
    uint32_t flags;     // enum perhaps_load_flag
    const uint8_t *key; // or NULL
    bool header_only;   // the payload is neither read nor verified: the filter can hash and nothing else
    bool journaled;     // the caller takes care of the journal: a filter that requires one is loaded
};

// Validates everything and makes a filter. With a mapping its payload is the mapping's; filter->mapping is then for the
// caller to set.
int perhaps__decode(const struct perhaps__source *source, const struct perhaps__loading *loading,
                    perhaps_filter **filter, perhaps_error *error);

// Takes over and checks load options; NULL stands for all zero.
int perhaps__take_load_options(const perhaps_load_options *given, struct perhaps__loading *loading,
                               perhaps_error *error);

#endif
