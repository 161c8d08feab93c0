// SPDX-License-Identifier: MIT
// Any bytes are safe in a journal beside a filter: they are refused for the right reason, or are operations, and replaying
// them gives, byte for byte, what the same operations give that are done one by one. No key is lost that was not removed.
//
// Byte 0, what is done to the others before, so that the fuzzer gets past checksums, and where they are read:
//   bits 0-1  0 nothing; 1 the header becomes the filter's own, 2 it only gets its checksum, and that of the filter where it
//             has zero, 3 it becomes that of the generation before. But for 0, records get sequence and checksums; a
//             type's bit 31 keeps the checksum of the head as it is, bit 30 that of the values, bit 29 the sequence
//   bit 2     from files, too
//   bit 3     into a filter that threads may share
// Byte 1: the kind of the filter (bits 0-2), and how many keys it has (bits 3-7). The others are the journal.
#include "fuzz_journal.h"

#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "hash.h"
#include "support_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TYPE_KEEPS_HEAD UINT64_C(0x80000000)
#define TYPE_KEEPS_SUM UINT64_C(0x40000000)
#define TYPE_KEEPS_SEQUENCE UINT64_C(0x20000000)
#define TYPE_KEEPS (TYPE_KEEPS_HEAD | TYPE_KEEPS_SUM | TYPE_KEEPS_SEQUENCE)

#define OPTIONS(...)                                                                                                   \
    {                                                                                                                  \
        .size = sizeof(perhaps_options), .fpr = 0.1, __VA_ARGS__                                                       \
    }

static const perhaps_options kinds[] = {
    OPTIONS(.kind = PERHAPS_KIND_BLOOM, .capacity = 20),
    OPTIONS(.kind = PERHAPS_KIND_COUNTING, .capacity = 20),
    OPTIONS(.kind = PERHAPS_KIND_CUCKOO, .capacity = 20),
    OPTIONS(.kind = PERHAPS_KIND_CUCKOO, .capacity = 5, .at_capacity = PERHAPS_AT_CAPACITY_GROW, .max_bytes = 4096),
    OPTIONS(.kind = PERHAPS_KIND_BLOCKED, .capacity = 5, .at_capacity = PERHAPS_AT_CAPACITY_REFUSE),
    OPTIONS(.kind = PERHAPS_KIND_BLOOM, .capacity = 5, .at_capacity = PERHAPS_AT_CAPACITY_GROW, .max_bytes = 4096),
    OPTIONS(.kind = PERHAPS_KIND_CUCKOO, .policy = PERHAPS_POLICY_MULTISET, .capacity = 5,
            .at_capacity = PERHAPS_AT_CAPACITY_GROW, .max_bytes = 4096),
    OPTIONS(.kind = PERHAPS_KIND_COUNTING, .policy = PERHAPS_POLICY_CONSERVATIVE, .capacity = 20),
};

// Which of them remove, and which hold a key as often as it was added.
static const bool removes[] = {false, true, true, false, false, false, true, false};
static const bool copies[] = {false, true, true, false, false, false, true, true};

/* ---------------------------------------------------------------- mending */

static uint64_t mend_head(uint8_t *bytes, unsigned how, const struct perhaps__identity *identity)
{
    struct perhaps__identity given = *identity;
    if (how == 2) {
        if (perhaps__load_little(bytes + 40, 8) == 0) {
            perhaps__store_little(bytes + 40, 8, identity->checksum);
        }
        uint64_t sum = perhaps__checksum(bytes, PERHAPS_JOURNAL_HEAD - 8);
        perhaps__store_little(bytes + PERHAPS_JOURNAL_HEAD - 8, 8, sum);
        return sum;
    }
    given.generation -= how == 3;
    given.folded = how == 3 ? bytes[32] % 4 : given.folded;
    return perhaps__journal_begin(bytes, &given);
}

// The records, as far as there are any.
static void mend_records(uint8_t *bytes, size_t size, uint64_t seed)
{
    uint64_t sequence = perhaps__load_little(bytes + 32, 8);
    for (size_t at = PERHAPS_JOURNAL_HEAD; size - at >= PERHAPS_RECORD_HEAD;) {
        uint64_t length = perhaps__load_little(bytes + at, 4);
        uint64_t keeps = perhaps__load_little(bytes + at + 4, 4) & TYPE_KEEPS;
        uint64_t type = perhaps__load_little(bytes + at + 4, 4) & ~TYPE_KEEPS;
        perhaps__store_little(bytes + at + 4, 4, type);
        if ((keeps & TYPE_KEEPS_SEQUENCE) == 0) {
            perhaps__store_little(bytes + at + 8, 8, sequence + 1);
        }
        uint64_t head = perhaps__hash(bytes + at, 16, seed);
        if ((keeps & TYPE_KEEPS_HEAD) == 0) {
            perhaps__store_little(bytes + at + 16, 8, head);
        }
        if (length < PERHAPS_RECORD_BARE || length > size - at) {
            return;
        }
        if ((keeps & TYPE_KEEPS_SUM) == 0) {
            uint64_t sum = perhaps__hash(bytes + at + PERHAPS_RECORD_HEAD, length - PERHAPS_RECORD_BARE, head);
            perhaps__store_little(bytes + at + length - 8, 8, sum);
        }
        sequence += perhaps__record_operations(type, (length - PERHAPS_RECORD_BARE) / 8);
        at += length;
    }
}

static void mend(uint8_t *bytes, size_t size, unsigned how, const struct perhaps__identity *identity)
{
    if (how != 0 && size >= PERHAPS_JOURNAL_HEAD) {
        mend_records(bytes, size, mend_head(bytes, how, identity));
    }
}

/* ---------------------------------------------------------------- filters */

static perhaps_filter *make(const struct journal_case *given, struct by_hand_model *model, uint32_t flags,
                            const perhaps_allocator *allocator)
{
    perhaps_options options = kinds[given->kind];
    perhaps_filter *filter = NULL;
    options.flags = flags;
    options.allocator = allocator;
    *model = (struct by_hand_model){.removes = removes[given->kind], .copies = copies[given->kind], .count = 0};
    demand(perhaps_create(&options, &filter, NULL) == PERHAPS_OK, "no filter");
    for (uint64_t i = 0; i < given->keys; i++) {
        (void)by_hand_add(model, filter, i * UINT64_C(0x9e3779b97f4a7c15)); // some kinds refuse some
    }
    return filter;
}

size_t encode(const perhaps_filter *filter, uint8_t bytes[ENCODED_MAX])
{
    size_t size = 0;
    demand(perhaps_encode(filter, bytes, ENCODED_MAX, &size, NULL) == PERHAPS_OK, "it cannot be encoded");
    return size;
}

void demand_same(const perhaps_filter *filter, const perhaps_filter *other, const char *text)
{
    uint8_t bytes[2][ENCODED_MAX];
    size_t size = encode(filter, bytes[0]);
    demand(encode(other, bytes[1]) == size && memcmp(bytes[0], bytes[1], size) == 0, text);
}

/* ---------------------------------------------------------------- checks */

// What the library makes of a journal; its end, when there is one.
static int read_journal(const struct journal_case *given, uint64_t size, struct perhaps__journal *journal)
{
    perhaps_error error = {.size = sizeof error};
    *journal = (struct perhaps__journal){.bytes = given->bytes, .size = size};
    int result = perhaps__journal_read(journal, &given->identity, &error);
    demand(result <= 0, "reading gives no code");
    demand(result == PERHAPS_OK || (error.code == result && error.text[0] != '\0'), "a failure is not described");
    demand(result < 0 || (journal->end <= size && journal->end >= PERHAPS_JOURNAL_HEAD), "the end is no end");
    return result;
}

static void check_reading(const struct journal_case *given, const struct by_hand_reading *reading,
                          const struct perhaps__journal *journal, int result)
{
    demand(result == reading->result, "a journal is taken, or refused, wrongly");
    if (result == PERHAPS_OK) {
        struct perhaps__journal whole;
        demand(reading->end == journal->end && reading->sequence == journal->sequence, "it ends elsewhere");
        demand(reading->stale == journal->stale, "a journal of the generation before is replayed, or another is not");
        demand(read_journal(given, journal->end, &whole) == PERHAPS_OK, "without its torn end it is refused");
        demand(whole.end == journal->end && whole.sequence == journal->sequence, "without its torn end it is another");
    }
}

static void check(const struct journal_case *given)
{
    static struct by_hand_reading reading;
    static struct by_hand_model model;
    static struct by_hand_model ignored;
    struct perhaps__journal journal;
    struct support_memory memory = {0};
    perhaps_allocator allocator = support_memory_allocator(&memory);
    by_hand_read(&reading, given->bytes, given->size, &given->identity);
    int result = read_journal(given, given->size, &journal);
    check_reading(given, &reading, &journal, result);
    perhaps_filter *replayed = make(given, &ignored, given->flags, &allocator);
    perhaps_filter *by_hand = make(given, &model, 0, NULL);
    if (result == PERHAPS_OK) {
        perhaps_error error = {.size = sizeof error};
        result = perhaps__journal_replay(&journal, replayed, &error);
        demand(result == by_hand_do(&reading, by_hand, &model), "replay fails, or does not");
        demand(result == PERHAPS_OK || error.code == result, "a failure is not described");
    }
    if (result == PERHAPS_OK) {
        demand_same(replayed, by_hand, "replayed and done by hand, the bytes differ");
        demand(by_hand_has_all(&model, replayed), "FALSE NEGATIVE");
    }
    if (given->from_files) {
        check_files(given, result, &journal, by_hand);
    }
    perhaps_free(by_hand);
    perhaps_free(replayed);
    demand(memory.total <= 64 * given->size + (1 << 16), "more memory than the input justifies");
    demand(support_memory_is_clean(&memory), "memory is left, or was released with another size");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct by_hand_model model;
    if (size < 2 || size > 1 << 12) {
        return 0;
    }
    struct journal_case given = {.bytes = malloc(size - 1), // one less is used, so that it is never empty
                                 .size = size - 2,
                                 .kind = data[1] % 8,
                                 .keys = data[1] / 8,
                                 .from_files = (data[0] & 4) != 0,
                                 .identity = {.id = 1, .generation = 2, .folded = 3}};
    bool shared = (data[0] & 8) != 0 && kinds[given.kind].policy != PERHAPS_POLICY_CONSERVATIVE;
    given.flags = shared ? PERHAPS_SHARED : 0;
    memcpy(given.bytes, data + 2, size - 2);
    perhaps_filter *filter = make(&given, &model, 0, NULL);
    given.filter_size = perhaps__encoded_size(filter);
    demand(given.filter_size <= sizeof given.filter, "a filter is large");
    perhaps__encode(filter, &given.identity, given.filter);
    perhaps_free(filter);
    mend(given.bytes, given.size, data[0] & 3, &given.identity);
    check(&given);
    free(given.bytes);
    return 0;
}
