// SPDX-License-Identifier: MIT
// Layer 4: the state of one decoding, which its two halves share: the header, and what it describes.
#ifndef PERHAPS_DECODE_H
#define PERHAPS_DECODE_H

#include "format.h"

// The state of one decoding.
struct perhaps__decoder {
    const struct perhaps__source *source;
    const perhaps_allocator *allocator;
    uint32_t flags;     // enum perhaps_load_flag
    const uint8_t *key; // the secret one, or NULL
    bool header_only;
    bool journaled;
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

// perhaps__fail() about the source.
#define PERHAPS_DECODE_FAIL(decoder, failure_code, ...)                                                                \
    perhaps__fail((decoder)->error,                                                                                    \
                  (struct perhaps__failure){.code = (failure_code), .subject = (decoder)->source->subject},            \
                  __VA_ARGS__)

int perhaps__decode_fail_damaged(const struct perhaps__decoder *decoder, const char *field);
int perhaps__decode_fail_memory(const struct perhaps__decoder *decoder);
int perhaps__decode_read_at(const struct perhaps__decoder *decoder, uint64_t offset, void *bytes, size_t size);

// Loaded without its key, as was asked.
bool perhaps__decode_is_keyless(const struct perhaps__decoder *decoder);

// Reads the header and checks all that it says, in the order of docs/format.md, as far as that goes without the payload and
// without hashing: 0, or the first failing step's code. The header is the decoder's from then on, also after a failure.
int perhaps__decode_header(struct perhaps__decoder *decoder);

#endif
