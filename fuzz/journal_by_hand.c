// SPDX-License-Identifier: MIT
#include "journal_by_hand.h"

#include <string.h>

#include "format.h"
#include "hash.h"
#include "journal.h"

static uint64_t get(const uint8_t *bytes, uint64_t at, unsigned width)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) {
        value |= (uint64_t)bytes[at + i] << (8 * i);
    }
    return value;
}

/* ---------------------------------------------------------------- reading */

static int read_head(const uint8_t *bytes, uint64_t size, const struct perhaps__identity *identity)
{
    static const uint8_t magic[8] = {0xb6, 'j', 'o', 'u', 'r', 'n', 'a', 'l'};
    if (size < 8 || memcmp(bytes, magic, 8) != 0) {
        return PERHAPS_E_JOURNAL;
    }
    if (size < 64 || get(bytes, 56, 8) != perhaps__hash(bytes, 56, 0)) {
        return PERHAPS_E_DAMAGED;
    }
    if (get(bytes, 8, 4) != 1) {
        return PERHAPS_E_VERSION;
    }
    if (get(bytes, 12, 4) != 64 || get(bytes, 48, 8) != 0) {
        return PERHAPS_E_DAMAGED;
    }
    return get(bytes, 16, 8) == identity->id ? PERHAPS_OK : PERHAPS_E_JOURNAL;
}

static bool only_zeros(const uint8_t *bytes, uint64_t from, uint64_t size)
{
    for (uint64_t i = from; i < size; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

struct record {
    uint64_t at;
    uint64_t size;
    uint64_t type;
    uint64_t sequence;
    uint64_t values;
};

static bool has_as_many_as_its_type(uint64_t type, uint64_t values)
{
    switch (type) {
    case 1:
    case 2:
        return values >= 1;
    case 3:
        return values == 0;
    case 4:
        return values == 1;
    case 5:
        return values >= 1 && values <= 1 + 4096 / 8;
    default:
        return false;
    }
}

// 0 when there is a whole record, 1 when there is none any more, PERHAPS_E_DAMAGED.
static int find_record(const uint8_t *bytes, uint64_t size, uint64_t at, struct record *record)
{
    *record = (struct record){.at = at};
    if (size - at < 24) {
        return 1;
    }
    uint64_t head = perhaps__hash(bytes + at, 16, get(bytes, 56, 8));
    if (get(bytes, at + 16, 8) != head) {
        return only_zeros(bytes, at + 16, size) ? 1 : PERHAPS_E_DAMAGED;
    }
    *record = (struct record){at, get(bytes, at, 4), get(bytes, at + 4, 4), get(bytes, at + 8, 8), 0};
    if (record->size < 32 || record->size % 8 != 0 || record->size > 32 + 8 * UINT64_C(65536)) {
        return PERHAPS_E_DAMAGED;
    }
    record->values = (record->size - 32) / 8;
    if (!has_as_many_as_its_type(record->type, record->values)) {
        return PERHAPS_E_DAMAGED;
    }
    if (record->size > size - at) {
        return 1;
    }
    if (get(bytes, at + record->size - 8, 8) != perhaps__hash(bytes + at + 24, 8 * record->values, head)) {
        return only_zeros(bytes, at + record->size - 8, size) ? 1 : PERHAPS_E_DAMAGED;
    }
    return 0;
}

// Of a position: its length, as many values as that takes, and zeros behind it.
static bool is_position(const uint8_t *bytes, const struct record *record)
{
    uint64_t length = get(bytes, record->at + 24, 8);
    return length <= 4096 && record->values == 1 + (length + 7) / 8 &&
           only_zeros(bytes, record->at + 32 + length, record->at + record->size - 8);
}

static void take_operations(struct by_hand_reading *reading, const uint8_t *bytes, const struct record *record)
{
    uint64_t operations = record->type == 3 || record->type == 5 ? 1 : record->type == 4 ? 0 : record->values;
    for (uint64_t i = 0; i < operations; i++) {
        reading->operations[reading->count++] = (struct by_hand_operation){
            .sequence = record->sequence + i,
            .record = record->at,
            .type = record->type,
            .value = record->type == 3 ? 0 : get(bytes, record->at + 24 + 8 * i, 8),
            .position = bytes + record->at + 32,
        };
    }
}

static bool take_void(struct by_hand_reading *reading, uint64_t from, uint64_t to, uint64_t *last)
{
    bool fits = from > *last && from <= to;
    *last = to;
    for (size_t i = 0; i < reading->count; i++) {
        reading->operations[i].voided |= reading->operations[i].sequence >= from;
    }
    return fits;
}

static int take_record(struct by_hand_reading *reading, const uint8_t *bytes, const struct record *record,
                       uint64_t *voided)
{
    uint64_t operations = perhaps__record_operations(record->type, record->values);
    if (record->sequence != reading->sequence + 1 || operations > UINT64_MAX - reading->sequence) {
        return PERHAPS_E_DAMAGED;
    }
    if (record->type == 4 && !take_void(reading, get(bytes, record->at + 24, 8), record->sequence, voided)) {
        return PERHAPS_E_DAMAGED;
    }
    if (record->type == 5 && !is_position(bytes, record)) {
        return PERHAPS_E_DAMAGED;
    }
    take_operations(reading, bytes, record);
    reading->sequence += operations;
    reading->end = record->at + record->size;
    return 0;
}

static int read_records(struct by_hand_reading *reading, const uint8_t *bytes, uint64_t size)
{
    uint64_t voided = reading->sequence;
    int found = 0;
    while (found == 0 && reading->end < size) {
        struct record record;
        found = find_record(bytes, size, reading->end, &record);
        found = found == 0 ? take_record(reading, bytes, &record, &voided) : found;
    }
    return found < 0 ? found : 0;
}

// Whose journal it is.
static int judge(struct by_hand_reading *reading, const uint8_t *bytes, const struct perhaps__identity *identity)
{
    uint64_t generation = get(bytes, 24, 8);
    if (generation == identity->generation - 1 && reading->sequence >= identity->folded) {
        reading->stale = true;
        return PERHAPS_OK;
    }
    bool own = generation == identity->generation && get(bytes, 32, 8) == identity->folded &&
               get(bytes, 40, 8) == identity->checksum;
    return own ? PERHAPS_OK : PERHAPS_E_JOURNAL;
}

void by_hand_read(struct by_hand_reading *reading, const uint8_t *bytes, uint64_t size,
                  const struct perhaps__identity *identity)
{
    reading->count = 0;
    reading->stale = false;
    reading->end = 64;
    reading->result = read_head(bytes, size, identity);
    reading->sequence = reading->result == 0 ? get(bytes, 32, 8) : 0;
    reading->result = reading->result < 0 ? reading->result : read_records(reading, bytes, size);
    reading->result = reading->result < 0 ? reading->result : judge(reading, bytes, identity);
}

/* ---------------------------------------------------------------- doing */

static struct by_hand_key *find_key(struct by_hand_model *model, uint64_t hash)
{
    for (size_t i = 0; i < model->count; i++) {
        if (model->keys[i].hash == hash) {
            return &model->keys[i];
        }
    }
    model->keys[model->count] = (struct by_hand_key){.hash = hash};
    return &model->keys[model->count++];
}

int by_hand_add(struct by_hand_model *model, perhaps_filter *filter, uint64_t hash)
{
    int added = perhaps_add_hash(filter, hash);
    if (added >= 0) {
        struct by_hand_key *key = find_key(model, hash);
        key->times = model->copies ? key->times + 1 : 1;
    }
    return added;
}

static int take_out(struct by_hand_model *model, perhaps_filter *filter, uint64_t hash)
{
    struct by_hand_key *key = find_key(model, hash);
    int removed = perhaps_remove_hash(filter, hash);
    model->spoiled |= removed == 1 && key->times == 0;
    key->times -= removed == 1 && key->times > 0;
    return removed;
}

static int do_operation(const struct by_hand_operation *operation, perhaps_filter *filter, struct by_hand_model *model)
{
    switch (operation->type) {
    case 1:
        return by_hand_add(model, filter, operation->value);
    case 2:
        return take_out(model, filter, operation->value);
    case 5:
        return perhaps_set_position(filter, operation->position, (size_t)operation->value);
    default:
        model->count = 0;
        model->spoiled = false;
        return perhaps_clear(filter);
    }
}

int by_hand_do(const struct by_hand_reading *reading, perhaps_filter *filter, struct by_hand_model *model)
{
    uint64_t refused = 0; // the record that ended early
    int impossible = 0;
    for (size_t i = 0; i < reading->count && !reading->stale; i++) {
        const struct by_hand_operation *operation = &reading->operations[i];
        if (operation->type == 2 && !model->removes) {
            impossible = PERHAPS_E_DAMAGED;
            continue;
        }
        if (operation->voided || operation->record == refused) {
            continue;
        }
        if (do_operation(operation, filter, model) < 0) {
            refused = operation->record;
        }
        impossible = operation->type == 3 ? 0 : impossible;
    }
    return impossible;
}

bool by_hand_has_all(const struct by_hand_model *model, const perhaps_filter *filter)
{
    for (size_t i = 0; i < model->count && !model->spoiled; i++) {
        if (model->keys[i].times > 0 && perhaps_might_contain_hash(filter, model->keys[i].hash) != 1) {
            return false;
        }
    }
    return true;
}
