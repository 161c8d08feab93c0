// SPDX-License-Identifier: MIT
#include "journal.h"

#include "format.h"
#include "hash.h"

// Hashes that are replayed together.
#define BLOCK 512

static void store_head(uint8_t *bytes, const struct perhaps__journal_fields *fields)
{
#define STORE_FIELD(name, offset, width) perhaps__store_little(bytes + (offset), width, fields->name);
    PERHAPS_JOURNAL_FIELDS(STORE_FIELD)
#undef STORE_FIELD
}

static void load_head(struct perhaps__journal_fields *fields, const uint8_t *bytes)
{
#define LOAD_FIELD(name, offset, width) fields->name = perhaps__load_little(bytes + (offset), width);
    PERHAPS_JOURNAL_FIELDS(LOAD_FIELD)
#undef LOAD_FIELD
}

uint64_t perhaps__journal_begin(uint8_t bytes[PERHAPS_JOURNAL_HEAD], const struct perhaps__identity *identity)
{
    struct perhaps__journal_fields fields = {
        .magic = PERHAPS_JOURNAL_MAGIC,
        .version = PERHAPS_FORMAT_VERSION,
        .header_size = PERHAPS_JOURNAL_HEAD,
        .id = identity->id,
        .generation = identity->generation,
        .base = identity->folded,
        .filter_checksum = identity->checksum,
    };
    store_head(bytes, &fields);
    fields.checksum = perhaps__checksum(bytes, PERHAPS_JOURNAL_HEAD - 8);
    store_head(bytes, &fields);
    return fields.checksum;
}

static void store_values(uint8_t *at, const struct perhaps__record *record)
{
    for (size_t i = 0; i < record->count; i++) {
        perhaps__store_little(at + 8 * i, 8, record->values[i]);
    }
}

static void store_position(uint8_t *at, const struct perhaps__record *record)
{
    memset(at, 0, 8 * record->count);
    perhaps__store_little(at, 8, record->length);
    if (record->length > 0) {
        memcpy(at + 8, record->position, record->length);
    }
}

uint8_t *perhaps__record_write(uint8_t *bytes, uint64_t seed, const struct perhaps__record *record)
{
    perhaps__store_little(bytes, 4, perhaps__record_size(record->count));
    perhaps__store_little(bytes + 4, 4, record->type);
    perhaps__store_little(bytes + 8, 8, record->sequence);
    uint64_t head = perhaps__hash(bytes, 16, seed);
    perhaps__store_little(bytes + 16, 8, head);
    uint8_t *values = bytes + PERHAPS_RECORD_HEAD;
    if (record->values == NULL && record->count > 0) {
        store_position(values, record);
    } else {
        store_values(values, record);
    }
    uint8_t *sum = values + 8 * record->count;
    perhaps__store_little(sum, 8, perhaps__hash(values, 8 * record->count, head));
    return sum + 8;
}

/* ---------------------------------------------------------------- bytes */

// Has the first `end` bytes in memory, as far as there are so many. Then journal->bytes may be elsewhere.
static int reach(struct perhaps__journal *journal, uint64_t end, perhaps_error *error)
{
    uint64_t wanted = perhaps__min(end, journal->size);
    bool there = wanted <= journal->held || journal->rest.bring == NULL;
    return there ? PERHAPS_OK : journal->rest.bring(journal, wanted, error);
}

// Whether there are only zeros from a byte on that is in memory, or is the first that is not: 1, 0, or a code.
static int is_zero_from(const struct perhaps__journal *journal, uint64_t at, perhaps_error *error)
{
    while (at < journal->held && journal->bytes[at] == 0) {
        at++;
    }
    if (at < journal->held) {
        return 0;
    }
    bool whole = journal->held == journal->size || journal->rest.is_zero == NULL;
    return whole ? 1 : journal->rest.is_zero(journal, error);
}

/* ---------------------------------------------------------------- the header */

static int fail_head(const struct perhaps__journal *journal, perhaps_error *error)
{
    return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_DAMAGED, .subject = journal->subject},
                         "the header of the journal is damaged; restore the journal together with its filter");
}

// A journal is put into place whole: one that has less than a header was cut.
static int read_head(struct perhaps__journal *journal, perhaps_error *error)
{
    const struct perhaps__failure failure = {.code = PERHAPS_E_JOURNAL, .subject = journal->subject};
    int status = reach(journal, PERHAPS_JOURNAL_HEAD, error);
    if (status < 0) {
        return status;
    }
    if (journal->size < 8 || perhaps__load_little(journal->bytes, 8) != PERHAPS_JOURNAL_MAGIC) {
        return perhaps__fail(error, failure,
                             "is not a journal: it begins with other bytes; restore it together with its filter");
    }
    if (journal->size < PERHAPS_JOURNAL_HEAD) {
        return fail_head(journal, error);
    }
    struct perhaps__journal_fields *head = &journal->head;
    load_head(head, journal->bytes);
    if (head->checksum != perhaps__checksum(journal->bytes, PERHAPS_JOURNAL_HEAD - 8)) {
        return fail_head(journal, error);
    }
    if (head->version > PERHAPS_FORMAT_VERSION) {
        return perhaps__fail(
            error, (struct perhaps__failure){.code = PERHAPS_E_VERSION, .subject = journal->subject},
            "is a journal in format version %u; this release (%s) reads versions up to %u; take a newer one",
            (unsigned)head->version, perhaps_version(), (unsigned)PERHAPS_FORMAT_VERSION);
    }
    if (head->version == 0) {
        return perhaps__fail(
            error, (struct perhaps__failure){.code = PERHAPS_E_VERSION, .subject = journal->subject},
            "is a journal in format version 0, a draft that is not read any more; make the filter anew");
    }
    bool known = head->header_size == PERHAPS_JOURNAL_HEAD && head->reserved == 0;
    return known ? PERHAPS_OK : fail_head(journal, error);
}

/* ---------------------------------------------------------------- the records */

// A record in the bytes of a journal.
struct place {
    uint64_t at;
    uint64_t end;
    uint64_t type;
    uint64_t values;
    uint64_t sequence;
};

static uint64_t value_of(const struct perhaps__journal *journal, const struct place *place, uint64_t number)
{
    return perhaps__load_little(journal->bytes + place->at + PERHAPS_RECORD_HEAD + 8 * number, 8);
}

static struct place place_at(const struct perhaps__journal *journal, uint64_t at)
{
    const uint8_t *bytes = journal->bytes + at;
    uint64_t size = perhaps__load_little(bytes, 4);
    return (struct place){
        .at = at,
        .end = at + size,
        .type = perhaps__load_little(bytes + 4, 4),
        .values = size >= PERHAPS_RECORD_BARE ? (size - PERHAPS_RECORD_BARE) / 8 : 0,
        .sequence = perhaps__load_little(bytes + 8, 8),
    };
}

// Whether the values are as many as the type has.
static bool shape_fits(const struct place *place)
{
    bool whole = place->end - place->at == perhaps__record_size(place->values);
    switch (place->type) {
    case PERHAPS_RECORD_ADD:
    case PERHAPS_RECORD_REMOVE:
        return whole && place->values >= 1 && place->values <= PERHAPS_RECORD_MAX;
    case PERHAPS_RECORD_CLEAR:
        return whole && place->values == 0;
    case PERHAPS_RECORD_VOID:
        return whole && place->values == 1;
    case PERHAPS_RECORD_POSITION:
        return whole && place->values >= 1 && place->values <= perhaps__position_values(PERHAPS_POSITION_MAX);
    default:
        return false;
    }
}

enum finding { WHOLE, INCOMPLETE, DAMAGED };

// A checksum that does not hold was either never written, or is damaged: zeros up to the end tell.
static int judge(const struct perhaps__journal *journal, uint64_t at, perhaps_error *error)
{
    int zero = is_zero_from(journal, at, error);
    return zero < 0 ? zero : zero == 1 ? INCOMPLETE : DAMAGED;
}

// The head of a record says how long it is. It is believed when its checksum holds.
static int find_head(struct perhaps__journal *journal, uint64_t at, struct place *place, perhaps_error *error)
{
    int status = reach(journal, at + PERHAPS_RECORD_HEAD, error);
    if (status < 0) {
        return status;
    }
    if (journal->size - at < PERHAPS_RECORD_HEAD) {
        return INCOMPLETE;
    }
    const uint8_t *bytes = journal->bytes + at;
    if (perhaps__hash(bytes, 16, journal->head.checksum) != perhaps__load_little(bytes + 16, 8)) {
        return judge(journal, at + 16, error);
    }
    *place = place_at(journal, at);
    return shape_fits(place) ? WHOLE : DAMAGED;
}

// Returns enum finding, or a code.
static int find_record(struct perhaps__journal *journal, uint64_t at, struct place *place, perhaps_error *error)
{
    int finding = find_head(journal, at, place, error);
    int status = finding == WHOLE ? reach(journal, place->end, error) : finding;
    if (status != PERHAPS_OK) {
        return status;
    }
    if (place->end > journal->size) {
        return INCOMPLETE;
    }
    const uint8_t *values = journal->bytes + at + PERHAPS_RECORD_HEAD;
    const uint8_t *sum = journal->bytes + place->end - 8;
    uint64_t head = perhaps__load_little(values - 8, 8);
    bool holds = perhaps__hash(values, (size_t)(sum - values), head) == perhaps__load_little(sum, 8);
    return holds ? WHOLE : judge(journal, place->end - 8, error);
}

static int fail_record(const struct perhaps__journal *journal, uint64_t at, perhaps_error *error)
{
    const struct perhaps__failure failure = {
        .code = PERHAPS_E_DAMAGED, .subject = journal->subject, .value = at}; // no limit: that is for chunks
    return perhaps__fail(
        error, failure,
        "the journal is damaged at byte %llu of %llu, after operation %llu; restore it together with its "
        "filter, or remove both files, and make the filter anew",
        (unsigned long long)at, (unsigned long long)journal->size, (unsigned long long)journal->sequence);
}

// A void record's operations lie behind the void record before, whose sequence is *voided.
static bool void_fits(const struct perhaps__journal *journal, const struct place *place, uint64_t *voided)
{
    uint64_t from = value_of(journal, place, 0);
    bool ordered = from > *voided && from <= place->sequence;
    *voided = place->sequence;
    return ordered;
}

static const uint8_t *position_of(const struct perhaps__journal *journal, const struct place *place)
{
    return journal->bytes + place->at + PERHAPS_RECORD_HEAD + 8;
}

// Its length is that of its values, but for zeros.
static bool position_fits(const struct perhaps__journal *journal, const struct place *place)
{
    uint64_t length = value_of(journal, place, 0);
    if (length > PERHAPS_POSITION_MAX || place->values != perhaps__position_values((size_t)length)) {
        return false;
    }
    const uint8_t *position = position_of(journal, place);
    for (uint64_t i = length; i < 8 * (place->values - 1); i++) {
        if (position[i] != 0) {
            return false;
        }
    }
    return true;
}

// Whether a record that is whole continues the ones before it, and says something; *voided is the last void record's.
static bool continues(const struct perhaps__journal *journal, const struct place *place, uint64_t *voided)
{
    uint64_t last;
    uint64_t operations = perhaps__record_operations(place->type, place->values);
    if (place->sequence != journal->sequence + 1 || __builtin_add_overflow(journal->sequence, operations, &last)) {
        return false;
    }
    if (place->type == PERHAPS_RECORD_VOID) {
        return void_fits(journal, place, voided);
    }
    return place->type != PERHAPS_RECORD_POSITION || position_fits(journal, place);
}

static int read_records(struct perhaps__journal *journal, perhaps_error *error)
{
    uint64_t voided = journal->head.base;
    journal->end = PERHAPS_JOURNAL_HEAD;
    journal->sequence = journal->head.base;
    journal->operations = 0;
    while (journal->end < journal->size) {
        struct place place = {.at = 0};
        int finding = find_record(journal, journal->end, &place, error);
        if (finding < 0) {
            return finding;
        }
        if (finding == INCOMPLETE) {
            break;
        }
        if (finding == DAMAGED || !continues(journal, &place, &voided)) {
            return fail_record(journal, journal->end, error);
        }
        uint64_t operations = perhaps__record_operations(place.type, place.values);
        journal->end = place.end;
        journal->sequence += operations;
        journal->operations += operations;
    }
    return PERHAPS_OK;
}

/* ---------------------------------------------------------------- whose journal it is */

static int fail_foreign(const struct perhaps__journal *journal, const struct perhaps__identity *identity,
                        perhaps_error *error)
{
    const struct perhaps__failure failure = {.code = PERHAPS_E_JOURNAL,
                                             .subject = journal->subject,
                                             .value = journal->head.generation,
                                             .limit = identity->generation};
    if (journal->head.id != identity->id) {
        return perhaps__fail(error, failure, "is the journal of another filter; restore the one of this filter");
    }
    return perhaps__fail(
        error, failure,
        "is the journal of generation %llu of the filter, which has generation %llu: one of the two is an "
        "older copy; restore both together",
        (unsigned long long)journal->head.generation, (unsigned long long)identity->generation);
}

static bool is_current(const struct perhaps__journal *journal, const struct perhaps__identity *identity)
{
    const struct perhaps__journal_fields *head = &journal->head;
    return head->id == identity->id && head->generation == identity->generation && head->base == identity->folded &&
           head->filter_checksum == identity->checksum;
}

// The crash came between folding and the replacement of the journal: what was acknowledged is in the filter. There can
// be more in the journal only where operations failed and could not be cut off.
static bool is_folded(const struct perhaps__journal *journal, const struct perhaps__identity *identity)
{
    return journal->head.id == identity->id && journal->head.generation == identity->generation - 1 &&
           journal->sequence >= identity->folded;
}

int perhaps__journal_read(struct perhaps__journal *journal, const struct perhaps__identity *identity,
                          perhaps_error *error)
{
    journal->held = journal->rest.bring == NULL ? journal->size : 0;
    int status = read_head(journal, error);
    if (status == PERHAPS_OK && journal->head.id != identity->id) {
        return fail_foreign(journal, identity, error);
    }
    status = status < 0 ? status : read_records(journal, error);
    if (status < 0) {
        return status;
    }
    journal->stale = is_folded(journal, identity);
    return journal->stale || is_current(journal, identity) ? PERHAPS_OK : fail_foreign(journal, identity, error);
}

/* ---------------------------------------------------------------- replay */

// The next void record at or behind some place: operations from `from` to it were not done.
struct next_void {
    uint64_t end; // of the void record; everything up to here was looked at
    uint64_t from;
};

static void find_void(const struct perhaps__journal *journal, uint64_t at, struct next_void *next)
{
    while (next->end <= at && next->end < journal->end) {
        struct place place = place_at(journal, next->end);
        while (place.type != PERHAPS_RECORD_VOID && place.end < journal->end) {
            place = place_at(journal, place.end);
        }
        next->end = place.end;
        next->from = place.type == PERHAPS_RECORD_VOID ? value_of(journal, &place, 0) : UINT64_MAX;
    }
}

// Does the first `count` operations of a record, up to one that is refused.
static int replay_hashes(const struct perhaps__journal *journal, const struct place *place, uint64_t count,
                         perhaps_filter *filter)
{
    uint64_t hashes[BLOCK];
    for (uint64_t done = 0; done < count;) {
        size_t block = (size_t)perhaps__min(BLOCK, count - done);
        for (size_t i = 0; i < block; i++) {
            hashes[i] = value_of(journal, place, done + i);
        }
        int refusal = PERHAPS_OK;
        struct perhaps__change change = {
            .verb = place->type == PERHAPS_RECORD_ADD ? PERHAPS_CHANGE_ADD : PERHAPS_CHANGE_REMOVE,
            .hashes = hashes,
            .count = block,
        };
        if (perhaps__filter_apply(filter, &change, &refusal) < block) {
            return refusal == PERHAPS_E_MEMORY ? refusal : PERHAPS_OK; // otherwise the writer was refused as well
        }
        done += block;
    }
    return PERHAPS_OK;
}

static int replay_position(const struct perhaps__journal *journal, const struct place *place, perhaps_filter *filter)
{
    int refusal = PERHAPS_OK;
    const struct perhaps__change change = {
        .verb = PERHAPS_CHANGE_POSITION,
        .count = 1,
        .position = position_of(journal, place),
        .length = (size_t)value_of(journal, place, 0),
    };
    (void)perhaps__filter_apply(filter, &change, &refusal);
    return refusal;
}

static int replay_record(const struct perhaps__journal *journal, const struct place *place, uint64_t void_from,
                         perhaps_filter *filter)
{
    if (place->sequence >= void_from || place->type == PERHAPS_RECORD_VOID) {
        return PERHAPS_OK;
    }
    if (place->type == PERHAPS_RECORD_CLEAR) {
        int refusal = PERHAPS_OK;
        (void)perhaps__filter_apply(filter, &(struct perhaps__change){.verb = PERHAPS_CHANGE_CLEAR}, &refusal);
        return PERHAPS_OK;
    }
    if (place->type == PERHAPS_RECORD_POSITION) {
        return replay_position(journal, place, filter);
    }
    return replay_hashes(journal, place, perhaps__min(place->values, void_from - place->sequence), filter);
}

// A file with a remove for a kind that has none was made up: nobody could have acknowledged it.
static bool can_do(const struct place *place, const perhaps_filter *filter)
{
    return place->type != PERHAPS_RECORD_REMOVE || filter->view.remove_many != NULL;
}

// Where the last clear is: what was done before it is forgotten, positions as well, and need not be done. (A clear
// takes as long as the filter is large, and a record of one is 32 bytes.)
static uint64_t find_beginning(const struct perhaps__journal *journal)
{
    struct next_void next = {.end = PERHAPS_JOURNAL_HEAD, .from = UINT64_MAX};
    uint64_t beginning = PERHAPS_JOURNAL_HEAD;
    for (uint64_t at = PERHAPS_JOURNAL_HEAD; at < journal->end;) {
        struct place place = place_at(journal, at);
        find_void(journal, at, &next);
        if (place.type == PERHAPS_RECORD_CLEAR && place.sequence < next.from) {
            beginning = at;
        }
        at = place.end;
    }
    return beginning;
}

int perhaps__journal_replay(const struct perhaps__journal *journal, perhaps_filter *filter, perhaps_error *error)
{
    struct next_void next = {.end = PERHAPS_JOURNAL_HEAD, .from = UINT64_MAX};
    for (uint64_t at = find_beginning(journal); at < journal->end && !journal->stale;) {
        struct place place = place_at(journal, at);
        find_void(journal, at, &next);
        if (!can_do(&place, filter)) {
            return fail_record(journal, at, error);
        }
        int status = replay_record(journal, &place, next.from, filter);
        if (status < 0) {
            return perhaps__fail(error, (struct perhaps__failure){.code = status, .subject = journal->subject}, NULL);
        }
        at = place.end;
    }
    return PERHAPS_OK;
}
