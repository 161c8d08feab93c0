// SPDX-License-Identifier: MIT
// A position as bytes.
#include "postgres_position.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Little-endian numbers of 64 bits at these places, but for the signature's characters, and at the end the transactions
// that were under way: each as the difference to the one before, in groups of seven bits, the lowest first, with the
// high bit in all but the last.
enum {
    AT_WAY = 0,
    AT_SIGNATURE = 8,
    AT_ROWS = 40,
    AT_SUM = 48,
    AT_FIRST = 56,
    AT_NEXT = 64,
    AT_RUNNING = PERHAPS__GUARD_POSTGRES_RUNNING
};
enum { WAY_NONE = 0, WAY_LOG = 1 };

static void store_64(unsigned char *at, uint64_t value)
{
    for (int i = 0; i < 8; i++) {
        at[i] = (unsigned char)(value >> 8 * i);
    }
}

static uint64_t load_64(const unsigned char *at)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) {
        value |= (uint64_t)at[i] << 8 * i;
    }
    return value;
}

static bool store_difference(perhaps_store_position *position, uint64_t value)
{
    for (; position->length < PERHAPS_STORE_POSITION; value >>= 7) {
        bool more = value >= 0x80;
        position->bytes[position->length++] = (unsigned char)((value & 0x7f) | (more ? 0x80U : 0));
        if (!more) {
            return true;
        }
    }
    return false;
}

static bool load_difference(const perhaps_store_position *position, size_t *at, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; *at < position->length && shift < 63; shift += 7) {
        unsigned char byte = position->bytes[(*at)++];
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return true;
        }
    }
    return false;
}

void perhaps__guard_postgres_position_none(perhaps_store_position *position)
{
    store_64(position->bytes + AT_WAY, WAY_NONE);
    position->length = AT_SIGNATURE;
}

bool perhaps__guard_postgres_position_is_none(const perhaps_store_position *position)
{
    return position->length == AT_SIGNATURE && load_64(position->bytes + AT_WAY) == WAY_NONE;
}

// "FIRST:NEXT:RUNNING,RUNNING...". False when there is no room for all that are under way: to leave one out would miss what
// it writes.
static bool store_snapshot(perhaps_store_position *position, const char *text)
{
    char *end = NULL;
    uint64_t before = strtoull(text, &end, 10);
    store_64(position->bytes + AT_FIRST, before);
    store_64(position->bytes + AT_NEXT, strtoull(end + 1, &end, 10));
    position->length = AT_RUNNING;
    while (*end != '\0' && end[1] != '\0') {
        uint64_t running = strtoull(end + 1, &end, 10);
        if (!store_difference(position, running - before)) {
            return false;
        }
        before = running;
    }
    return true;
}

bool perhaps__guard_postgres_position_store(perhaps_store_position *position,
                                            const struct perhaps__guard_postgres_found *found,
                                            const struct perhaps__guard_postgres_rows *rows)
{
    store_64(position->bytes + AT_WAY, WAY_LOG);
    memcpy(position->bytes + AT_SIGNATURE, found->signature, PERHAPS__GUARD_POSTGRES_SIGNATURE);
    store_64(position->bytes + AT_ROWS, rows->rows);
    store_64(position->bytes + AT_SUM, rows->sum);
    return store_snapshot(position, rows->snapshot);
}

// Only what store_snapshot() writes: PostgreSQL would complain of anything else.
static bool load_snapshot(char *text, const perhaps_store_position *position)
{
    uint64_t first = load_64(position->bytes + AT_FIRST);
    uint64_t next = load_64(position->bytes + AT_NEXT);
    uint64_t before = first;
    size_t at = AT_RUNNING;
    int length = snprintf(text, PERHAPS__GUARD_POSTGRES_SNAPSHOT, "%llu:%llu:", (unsigned long long)first,
                          (unsigned long long)next);
    bool sound = first > 0 && first <= next && next <= INT64_MAX;
    for (bool begun = false; sound && at < position->length; begun = true) {
        uint64_t difference = 0;
        sound = load_difference(position, &at, &difference) && difference < next - before && (difference > 0 || !begun);
        before += difference;
        length += snprintf(text + length, PERHAPS__GUARD_POSTGRES_SNAPSHOT - (size_t)length, begun ? ",%llu" : "%llu",
                           (unsigned long long)before);
    }
    return sound;
}

bool perhaps__guard_postgres_position_load(struct perhaps__guard_postgres_place *place,
                                           const perhaps_store_position *position)
{
    if (position->length < AT_RUNNING || position->length > PERHAPS_STORE_POSITION ||
        load_64(position->bytes + AT_WAY) != WAY_LOG) {
        return false;
    }
    memcpy(place->signature, position->bytes + AT_SIGNATURE, PERHAPS__GUARD_POSTGRES_SIGNATURE);
    place->signature[PERHAPS__GUARD_POSTGRES_SIGNATURE] = '\0';
    place->rows = load_64(position->bytes + AT_ROWS);
    place->sum = load_64(position->bytes + AT_SUM);
    return load_snapshot(place->snapshot, position);
}
