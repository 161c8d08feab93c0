// SPDX-License-Identifier: MIT
// A position in a store, as the file of a filter holds it.
#include <string.h>

#include "follow.h"

// The layout is that of docs/guard.md, "The position record".
static const char magic[8] = {'p', 'g', 'u', 'a', 'r', 'd', '0', '1'};

#define HEAD 24
#define FLAG_EXACT 1U

static void store_32(unsigned char *at, uint64_t value)
{
    for (int i = 0; i < 4; i++) {
        at[i] = (unsigned char)(value >> 8 * i);
    }
}

static uint32_t load_32(const unsigned char *at)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        value |= (uint32_t)at[i] << 8 * i;
    }
    return value;
}

int perhaps__guard_record_write(perhaps_filter *filter, const char *identity,
                                const struct perhaps__guard_record *record)
{
    unsigned char bytes[HEAD + PERHAPS__GUARD_IDENTITY + PERHAPS_STORE_POSITION] = {0};
    size_t named = strlen(identity);
    memcpy(bytes, magic, sizeof magic);
    store_32(bytes + 8, record->exact ? FLAG_EXACT : 0);
    store_32(bytes + 12, named);
    store_32(bytes + 16, record->position.length);
    memcpy(bytes + HEAD, identity, named); // NOLINT(bugprone-not-null-terminated-result): its length stands before it
    memcpy(bytes + HEAD + named, record->position.bytes, record->position.length);
    return perhaps_set_position(filter, bytes, HEAD + named + record->position.length);
}

const char *perhaps__guard_record_read(const perhaps_filter *filter, const char *identity,
                                       struct perhaps__guard_record *record)
{
    const void *found = NULL;
    size_t length = 0;
    if (perhaps_position(filter, &found, &length) < 0 || length == 0) {
        return "it does not say where in its store it is";
    }
    const unsigned char *bytes = found;
    if (length < HEAD || memcmp(bytes, magic, sizeof magic) != 0) {
        return "its position was not written by a guard of this kind";
    }
    uint32_t flags = load_32(bytes + 8);
    uint64_t named = load_32(bytes + 12);
    uint64_t positioned = load_32(bytes + 16);
    if ((flags & ~FLAG_EXACT) != 0 || load_32(bytes + 20) != 0 || HEAD + named + positioned != length ||
        positioned > PERHAPS_STORE_POSITION) {
        return "its position is not one that this release knows";
    }
    if (named != strlen(identity) || memcmp(bytes + HEAD, identity, (size_t)named) != 0) {
        return "its position is one of another store";
    }
    record->exact = (flags & FLAG_EXACT) != 0;
    record->position.length = (size_t)positioned;
    memcpy(record->position.bytes, bytes + HEAD + named, (size_t)positioned);
    return NULL;
}
