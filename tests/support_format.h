// SPDX-License-Identifier: MIT
// The layout of docs/format.md as the tests see it, written down a second time, and the mending of checksums after a
// field was changed. Without cmocka: the fuzz targets use it too.
#ifndef PERHAPS_TESTS_SUPPORT_FORMAT_H
#define PERHAPS_TESTS_SUPPORT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Offsets in the fixed part.
enum {
    FORMAT_MAGIC = 0,
    FORMAT_VERSION = 8,
    FORMAT_FIXED_SIZE = 12,
    FORMAT_HEADER_SIZE = 16,
    FORMAT_PAYLOAD_SIZE = 24,
    FORMAT_SECTION_SIZE = 32,
    FORMAT_SECTIONS = 40,
    FORMAT_CHUNK_SHIFT = 44,
    FORMAT_CHUNKS = 48,
    FORMAT_KIND = 56,
    FORMAT_HASH_SOURCE = 60,
    FORMAT_SEED = 64,
    FORMAT_CAPACITY = 72,
    FORMAT_FPR = 80,
    FORMAT_FLAGS = 88,
    FORMAT_PROBE = 96,
    FORMAT_LAYERS = 104,
    FORMAT_GROWTH = 108,
    FORMAT_MAX_CAPACITY = 112,
    FORMAT_MAX_BYTES = 120,
    FORMAT_AMBIGUOUS = 128,
    FORMAT_AT_CAPACITY = 136,
    FORMAT_KEY_CHECK = 140,
    FORMAT_FILE_ID = 144,
    FORMAT_GENERATION = 152,
    FORMAT_FOLDED = 160,
    FORMAT_RESERVED = 168,
    FORMAT_FIRST_SECTION = 192,
};

// Offsets from the beginning of a section, and of the data of the layer section, the first one.
enum {
    FORMAT_SECTION_TYPE = 0,
    FORMAT_SECTION_FLAGS = 4,
    FORMAT_SECTION_DATA_SIZE = 8,
    FORMAT_SECTION_DATA = 16,
    FORMAT_LAYER = FORMAT_FIRST_SECTION + FORMAT_SECTION_DATA,
    FORMAT_LAYER_PAYLOAD_OFFSET = FORMAT_LAYER + 0,
    FORMAT_LAYER_PAYLOAD_SIZE = FORMAT_LAYER + 8,
    FORMAT_LAYER_CAPACITY = FORMAT_LAYER + 16,
    FORMAT_LAYER_FPR = FORMAT_LAYER + 24,
    FORMAT_LAYER_ADDS = FORMAT_LAYER + 32,
    FORMAT_LAYER_BITS = FORMAT_LAYER + 40,
    FORMAT_LAYER_USED = FORMAT_LAYER + 48,
    FORMAT_LAYER_POSITIONS = FORMAT_LAYER + 56,
    FORMAT_LAYER_LAYOUT = FORMAT_LAYER + 60,
    FORMAT_LAYER_RANGE = FORMAT_LAYER + 64,
    FORMAT_LAYER_COPIES = FORMAT_LAYER + 72,
    FORMAT_LAYER_REMOVALS = FORMAT_LAYER + 80,
    FORMAT_LAYER_CELL_BITS = FORMAT_LAYER + 88,
    FORMAT_LAYER_SLOTS = FORMAT_LAYER + 92,
    FORMAT_LAYER_POLICY = FORMAT_LAYER + 96,
    FORMAT_LAYER_SEARCH = FORMAT_LAYER + 100,
    FORMAT_LAYER_RESERVED = FORMAT_LAYER + 104,
    FORMAT_LAYER_END = FORMAT_LAYER + 112,
    FORMAT_SECOND_SECTION = FORMAT_LAYER_END, // in a filter of one layer
};

uint64_t format_get(const uint8_t *bytes, size_t offset, unsigned width);
void format_put(uint8_t *bytes, size_t offset, unsigned width, uint64_t value);

// Writes the checksum of a header of `header` bytes into its last 8.
void format_put_checksum(uint8_t *bytes, size_t header);

// Writes the header's checksum where the header's size says that it stands. False when it cannot stand there.
bool format_mend_header(uint8_t *bytes, size_t size);

// Writes the checksums of all chunks, where sections and sizes say that they stand, and then the header's.
bool format_mend_all(uint8_t *bytes, size_t size);

#endif
