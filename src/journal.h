// SPDX-License-Identifier: MIT
// Layer 4: the bytes of a journal, without I/O: docs/format.md, "The journal".
#ifndef PERHAPS_JOURNAL_H
#define PERHAPS_JOURNAL_H

#include "errors.h"
#include "filter.h"

#define PERHAPS_JOURNAL_MAGIC UINT64_C(0x6c616e72756f6ab6)
#define PERHAPS_JOURNAL_HEAD 64   // bytes of the header
#define PERHAPS_RECORD_HEAD 24    // bytes before the values
#define PERHAPS_RECORD_BARE 32    // of a record without values
#define PERHAPS_RECORD_MAX 65536U // values

enum perhaps__record_type {
    PERHAPS_RECORD_ADD = 1,
    PERHAPS_RECORD_REMOVE = 2,
    PERHAPS_RECORD_CLEAR = 3,
    PERHAPS_RECORD_VOID = 4,
    PERHAPS_RECORD_POSITION = 5
};

// X(name, offset, width)
#define PERHAPS_JOURNAL_FIELDS(X)                                                                                      \
    X(magic, 0, 8)                                                                                                     \
    X(version, 8, 4)                                                                                                   \
    X(header_size, 12, 4)                                                                                              \
    X(id, 16, 8)                                                                                                       \
    X(generation, 24, 8)                                                                                               \
    X(base, 32, 8)                                                                                                     \
    X(filter_checksum, 40, 8)                                                                                          \
    X(reserved, 48, 8)                                                                                                 \
    X(checksum, 56, 8)

struct perhaps__journal_fields {
#define PERHAPS_FIELD_MEMBER(name, offset, width) uint64_t name;
    PERHAPS_JOURNAL_FIELDS(PERHAPS_FIELD_MEMBER)
#undef PERHAPS_FIELD_MEMBER
};

// The header of an empty journal of a filter; returns its checksum, which is the seed of its records.
uint64_t perhaps__journal_begin(uint8_t bytes[PERHAPS_JOURNAL_HEAD], const struct perhaps__identity *identity);

// Bytes of a record of so many values.
static inline uint64_t perhaps__record_size(uint64_t values)
{
    return PERHAPS_RECORD_BARE + 8 * values;
}

// Values of the record of a position of so many bytes: the length, and the bytes.
static inline size_t perhaps__position_values(size_t length)
{
    return 1 + (length + 7) / 8;
}

struct perhaps__record {
    uint32_t type; // enum perhaps__record_type
    uint64_t sequence;
    const uint64_t *values; // of a position: NULL
    size_t count;
    const uint8_t *position;
    size_t length;
};

// How many sequence numbers a record of a type and a number of values takes. All but keys are one.
static inline uint64_t perhaps__record_operations(uint64_t type, uint64_t values)
{
    return type == PERHAPS_RECORD_ADD || type == PERHAPS_RECORD_REMOVE ? values : 1;
}

// Returns the end of the record in `bytes`, which has room for it.
uint8_t *perhaps__record_write(uint8_t *bytes, uint64_t seed, const struct perhaps__record *record);

struct perhaps__journal;

// Where the bytes of a journal are that are not in memory. Whoever reads it asks for more only when what it has says
// that there is more, so that a file with a hole of a TiB in it costs nothing.
struct perhaps__journal_rest {
    void *context;
    // Makes the first `end` bytes those of journal->bytes, and journal->held that many or more. There are
    // journal->size, which becomes less when the file turns out to be shorter. 0, or a code.
    int (*bring)(struct perhaps__journal *journal, uint64_t end, perhaps_error *error);
    // Whether everything behind the bytes that are in memory is zero: 1, 0, or a code.
    int (*is_zero)(const struct perhaps__journal *journal, perhaps_error *error);
};

// The bytes of a journal, and what they were found to be.
struct perhaps__journal {
    const uint8_t *bytes;
    uint64_t size;
    const char *subject;               // for messages
    struct perhaps__journal_rest rest; // all NULL: the bytes are all there
    uint64_t held;                     // of them in memory
    struct perhaps__journal_fields head;
    uint64_t end;        // of the last record that is whole; what follows was not acknowledged
    uint64_t sequence;   // of the last operation
    uint64_t operations; // recorded
    bool stale;          // of the generation before the filter's, which has all of it
};

// Validates every byte up to the end, and that it is the journal of a filter; 0, or a code with *error filled in.
int perhaps__journal_read(struct perhaps__journal *journal, const struct perhaps__identity *identity,
                          perhaps_error *error);

// Does to a filter what a journal that was read says: all that the filter does not have. 0, or PERHAPS_E_MEMORY, and
// then the filter is good for nothing.
int perhaps__journal_replay(const struct perhaps__journal *journal, perhaps_filter *filter, perhaps_error *error);

#endif
