// SPDX-License-Identifier: MIT
// Any bytes are safe in a journal: they are refused, or are operations, which are done the same way every time.
//
// The first byte says what is done to the others before: 0 nothing, 1 header and records get the fields and checksums that
// they need, so that the fuzzer gets past them. The second chooses the filter.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "journal.h"
#include "support_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct perhaps__identity identity = {.id = 1, .generation = 2, .folded = 3, .checksum = 4};

static const perhaps_options kinds[] = {
    {.size = sizeof(perhaps_options), .kind = PERHAPS_KIND_BLOOM, .capacity = 20, .fpr = 0.1},
    {.size = sizeof(perhaps_options), .kind = PERHAPS_KIND_COUNTING, .capacity = 20, .fpr = 0.1},
    {.size = sizeof(perhaps_options), .kind = PERHAPS_KIND_CUCKOO, .capacity = 20, .fpr = 0.1},
    {.size = sizeof(perhaps_options),
     .kind = PERHAPS_KIND_CUCKOO,
     .capacity = 5,
     .fpr = 0.1,
     .at_capacity = PERHAPS_AT_CAPACITY_GROW,
     .max_bytes = 4096},
    {.size = sizeof(perhaps_options), .kind = PERHAPS_KIND_BLOCKED, .capacity = 5, .fpr = 0.1, .at_capacity = 1},
};

static void demand(bool condition, const char *text)
{
    if (!condition) {
        (void)fprintf(stderr, "%s\n", text);
        abort();
    }
}

// Gives records, as far as there are any, the sequence and the checksums that they need.
static void mend(uint8_t *bytes, size_t size)
{
    if (size < PERHAPS_JOURNAL_HEAD) {
        return;
    }
    uint64_t seed = perhaps__journal_begin(bytes, &identity);
    uint64_t sequence = identity.folded;
    for (size_t at = PERHAPS_JOURNAL_HEAD; size - at >= PERHAPS_RECORD_BARE;) {
        uint64_t length = perhaps__load_little(bytes + at, 4);
        uint64_t type = perhaps__load_little(bytes + at + 4, 4);
        perhaps__store_little(bytes + at + 8, 8, sequence + 1);
        uint64_t head = perhaps__hash(bytes + at, 16, seed);
        perhaps__store_little(bytes + at + 16, 8, head);
        if (length < PERHAPS_RECORD_BARE || length > size - at) {
            return;
        }
        uint64_t values = (length - PERHAPS_RECORD_BARE) / 8;
        uint64_t sum = perhaps__hash(bytes + at + PERHAPS_RECORD_HEAD, length - PERHAPS_RECORD_BARE, head);
        perhaps__store_little(bytes + at + length - 8, 8, sum);
        sequence += perhaps__record_operations(type, values);
        at += length;
    }
}

static bool read_journal(struct perhaps__journal *journal, const uint8_t *bytes, uint64_t size)
{
    perhaps_error error = {.size = sizeof error};
    *journal = (struct perhaps__journal){.bytes = bytes, .size = size};
    int result = perhaps__journal_read(journal, &identity, &error);
    demand(result == PERHAPS_OK || (error.code == result && error.text[0] != '\0'), "a failure is not described");
    demand(result < 0 || (journal->end <= size && journal->end >= PERHAPS_JOURNAL_HEAD), "the end is no end");
    return result == PERHAPS_OK;
}

static perhaps_filter *replay(const struct perhaps__journal *journal, const perhaps_options *options)
{
    perhaps_filter *filter = NULL;
    demand(perhaps_create(options, &filter, NULL) == PERHAPS_OK, "no filter");
    int result = perhaps__journal_replay(journal, filter, NULL);
    demand(result == PERHAPS_OK || (result == PERHAPS_E_DAMAGED && filter->view.remove_many == NULL), "replay fails");
    return filter;
}

static void check_same(const perhaps_filter *a, const perhaps_filter *b)
{
    uint8_t bytes[2][1 << 14];
    size_t sizes[2];
    demand(perhaps_encode(a, bytes[0], sizeof bytes[0], &sizes[0], NULL) == PERHAPS_OK, "it cannot be encoded");
    demand(perhaps_encode(b, bytes[1], sizeof bytes[1], &sizes[1], NULL) == PERHAPS_OK, "it cannot be encoded");
    demand(sizes[0] == sizes[1] && memcmp(bytes[0], bytes[1], sizes[0]) == 0, "replayed twice, the bytes differ");
    perhaps_filter *again = NULL;
    demand(perhaps_decode(bytes[0], sizes[0], NULL, &again, NULL) == PERHAPS_OK, "what was replayed does not load");
    perhaps_free(again);
}

static void check(const uint8_t *bytes, uint64_t size, const perhaps_options *kind)
{
    struct support_memory memory = {0};
    perhaps_allocator allocator = support_memory_allocator(&memory);
    perhaps_options options = *kind;
    struct perhaps__journal journal;
    struct perhaps__journal prefix;
    options.allocator = &allocator;
    if (read_journal(&journal, bytes, size)) {
        demand(read_journal(&prefix, bytes, journal.end), "without its torn end it is refused");
        demand(prefix.end == journal.end && prefix.sequence == journal.sequence, "without its torn end it is another");
        perhaps_filter *first = replay(&journal, &options);
        perhaps_filter *second = replay(&prefix, &options);
        check_same(first, second);
        perhaps_free(first);
        perhaps_free(second);
    }
    demand(memory.total <= 64 * size + (1 << 16), "more memory than the input justifies");
    demand(support_memory_is_clean(&memory), "memory is left, or was released with another size");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 1 << 12) {
        return 0;
    }
    uint8_t *bytes = malloc(size - 1); // one less is used, so that it is never empty
    memcpy(bytes, data + 2, size - 2);
    if (data[0] % 2 == 1) {
        mend(bytes, size - 2);
    }
    check(bytes, size - 2, &kinds[data[1] % PERHAPS_COUNT(kinds)]);
    free(bytes);
    return 0;
}
