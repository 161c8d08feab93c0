// SPDX-License-Identifier: MIT
#include "support_format.h"

#include "hash.h"

uint64_t format_get(const uint8_t *bytes, size_t offset, unsigned width)
{
    uint64_t value = 0;
    for (unsigned i = width; i > 0; i--) {
        value = value << 8 | bytes[offset + i - 1];
    }
    return value;
}

void format_put(uint8_t *bytes, size_t offset, unsigned width, uint64_t value)
{
    for (unsigned i = 0; i < width; i++) {
        bytes[offset + i] = (uint8_t)(value >> (8 * i));
    }
}

void format_put_checksum(uint8_t *bytes, size_t header)
{
    format_put(bytes, header - 8, 8, perhaps__checksum(bytes, header - 8));
}

bool format_mend_header(uint8_t *bytes, size_t size)
{
    if (size < FORMAT_FIRST_SECTION + 8) {
        return false;
    }
    uint64_t header = format_get(bytes, FORMAT_HEADER_SIZE, 8);
    if (header < FORMAT_FIRST_SECTION + 8 || header > size) {
        return false;
    }
    format_put_checksum(bytes, (size_t)header);
    return true;
}

bool format_mend_all(uint8_t *bytes, size_t size)
{
    if (!format_mend_header(bytes, size)) {
        return false;
    }
    const size_t chunk = (size_t)1 << 20;
    size_t header = (size_t)format_get(bytes, FORMAT_HEADER_SIZE, 8);
    uint64_t sections = format_get(bytes, FORMAT_SECTION_SIZE, 8);
    size_t chunks = (size - header + chunk - 1) / chunk;
    if (sections > header || FORMAT_FIRST_SECTION + sections + 8 * chunks > header - 8) {
        return false;
    }
    size_t table = FORMAT_FIRST_SECTION + (size_t)sections;
    for (size_t i = 0; i < chunks; i++) {
        size_t begin = header + i * chunk;
        size_t length = size - begin < chunk ? size - begin : chunk;
        format_put(bytes, table + 8 * i, 8, perhaps__checksum(bytes + begin, length));
    }
    return format_mend_header(bytes, size);
}
