// SPDX-License-Identifier: MIT
// Any bytes are safe to load, and what loads is a filter: it answers, takes keys, and encodes to bytes that load again.
//
// The first byte says what is done to the others before: 0 nothing, 1 the header's checksum is mended, 2 those of the
// chunks too, so that the fuzzer gets past them.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "format.h"
#include "support_format.h"
#include "support_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool condition, const char *text)
{
    if (!condition) {
        (void)fprintf(stderr, "%s\n", text);
        abort();
    }
}

static perhaps_filter *decode(const uint8_t *bytes, size_t size, uint32_t flags, const perhaps_allocator *allocator)
{
    perhaps_load_options options = {.size = sizeof options, .flags = flags, .allocator = allocator};
    perhaps_error error = {.size = sizeof error};
    perhaps_filter *filter = NULL;
    int result = perhaps_decode(bytes, size, &options, &filter, &error);
    demand((result == PERHAPS_OK) == (filter != NULL), "result and filter do not agree");
    demand(result == PERHAPS_OK || (error.code == result && error.text[0] != '\0'), "a failure is not described");
    return filter;
}

static uint8_t *encode(const perhaps_filter *filter, size_t *size)
{
    perhaps_statistics statistics = {.size = sizeof statistics};
    demand(perhaps_stats(filter, &statistics) == PERHAPS_OK, "stats fails");
    uint8_t *bytes = malloc((size_t)statistics.encoded_bytes);
    demand(perhaps_encode(filter, bytes, (size_t)statistics.encoded_bytes, size, NULL) == PERHAPS_OK, "encode fails");
    return bytes;
}

// A filter that is full, or holds as many copies as it can, says so, and answers as before.
static bool add(perhaps_filter *filter, uint64_t hash)
{
    int before = perhaps_might_contain_hash(filter, hash);
    int added = perhaps_add_hash(filter, hash);
    int after = perhaps_might_contain_hash(filter, hash);
    demand(before == 0 || before == 1, "no answer");
    if (added < 0) {
        demand(added == PERHAPS_E_FULL || added == PERHAPS_E_COPIES || added == PERHAPS_E_LIMIT, "an add fails");
        demand(after == before, "a refused add changes an answer");
        return false;
    }
    demand(added == !before, "an add and the answer before it do not agree");
    demand(after == 1, "FALSE NEGATIVE");
    return true;
}

// What was added is there to be removed, where the filter can, unless several layers have it.
static void use(perhaps_filter *filter)
{
    bool there[16];
    for (uint64_t hash = 0; hash < 16; hash++) {
        there[hash] = add(filter, hash);
    }
    for (uint64_t hash = 0; hash < 16; hash++) {
        demand(!there[hash] || perhaps_might_contain_hash(filter, hash) == 1, "FALSE NEGATIVE after other adds");
        int removed = there[hash] ? perhaps_remove_hash(filter, hash) : 1;
        demand(removed == 1 || removed == PERHAPS_E_AMBIGUOUS || removed == PERHAPS_E_UNSUPPORTED, "a removal fails");
    }
}

// Whether encoding gives back every section of the bytes; those that are not known and may be skipped are gone.
static bool knows_all_sections(const perhaps_filter *filter, const uint8_t *bytes)
{
    const void *metadata = NULL;
    size_t length = 0;
    demand(perhaps_metadata(filter, &metadata, &length) == PERHAPS_OK, "metadata is not told");
    return format_get(bytes, FORMAT_SECTIONS, 4) == (length > 0 ? 2 : 1);
}

static void check_filter(perhaps_filter *filter, const uint8_t *bytes, size_t size, const perhaps_allocator *allocator)
{
    size_t first_size;
    size_t second_size;
    uint8_t *first = encode(filter, &first_size);
    perhaps_filter *again = decode(first, first_size, 0, allocator);
    demand(again != NULL, "what was loaded and encoded does not load");
    uint8_t *second = encode(again, &second_size);
    demand(second_size == first_size && memcmp(first, second, first_size) == 0, "encoded twice, the bytes differ");
    demand(first_size <= size, "it grew");
    if (knows_all_sections(filter, bytes)) {
        demand(first_size == size && memcmp(first, bytes, size) == 0, "the bytes are not those that were loaded");
    }
    use(again);
    perhaps_free(again);
    free(first);
    free(second);
}

// What is keyed loads without its key only if that is asked for; then it says nothing.
static void check_keyless(perhaps_filter *filter, uint32_t flags)
{
    size_t size;
    demand(flags == PERHAPS_OPEN_KEYLESS, "a keyed filter loads without its key");
    for (uint64_t hash = 0; hash < 16; hash++) {
        demand(perhaps_might_contain_hash(filter, hash) == 1, "a keyless filter knows something");
        demand(perhaps_add_hash(filter, hash) == PERHAPS_E_KEY, "a keyless filter is changed");
    }
    demand(perhaps_encode(filter, NULL, 0, &size, NULL) == PERHAPS_E_KEY, "a keyless filter is written");
}

static void load(const uint8_t *bytes, size_t size, uint32_t flags)
{
    struct support_memory memory = {0};
    perhaps_allocator allocator = support_memory_allocator(&memory);
    perhaps_filter *filter = decode(bytes, size, flags, &allocator);
    demand(memory.total <= 2 * (uint64_t)size + 4096, "more memory than the input justifies");
    perhaps_statistics statistics = {.size = sizeof statistics};
    if (filter != NULL && perhaps_stats(filter, &statistics) == PERHAPS_OK) {
        if (statistics.hash_source == PERHAPS_HASH_SIPHASH) {
            check_keyless(filter, flags);
        } else {
            check_filter(filter, bytes, size, &allocator);
        }
    }
    perhaps_free(filter);
    demand(support_memory_is_clean(&memory), "memory is left, or was released with another size");
}

static void keep(void *mapping, size_t size)
{
    (void)mapping;
    (void)size;
}

// As a mapped file, opened by first touch; NULL when it is refused.
static perhaps_filter *view(const uint8_t *bytes, size_t size)
{
    const perhaps_load_options options = {.size = sizeof options,
                                          .flags = PERHAPS_OPEN_FIRST_TOUCH | PERHAPS_OPEN_KEYLESS};
    struct perhaps__loading loading;
    const struct perhaps__source source = {
        .context = (void *)(uintptr_t)bytes, .read = perhaps__read_memory, .length = size, .mapping = bytes};
    perhaps_filter *filter = NULL;
    if (perhaps__take_load_options(&options, &loading, NULL) == PERHAPS_OK &&
        perhaps__decode(&source, &loading, &filter, NULL) == PERHAPS_OK) {
        filter->mapping = (void *)(uintptr_t)bytes;
        filter->mapping_size = size;
        filter->unmap = keep;
    }
    return filter;
}

// Every answer is that of the filter that was verified as a whole, or, where that was refused, "perhaps" instead of it.
static void compare(const perhaps_filter *touched, const perhaps_filter *whole)
{
    for (uint64_t hash = 0; hash < 16; hash++) {
        int answer = perhaps_might_contain_hash(touched, hash);
        uint64_t most = perhaps_count_at_most_hash(touched, hash);
        demand(answer == (most != 0), "the answer is not that of the count");
        demand(whole == NULL || (answer == perhaps_might_contain_hash(whole, hash) &&
                                 most == perhaps_count_at_most_hash(whole, hash)),
               "by first touch another answer");
    }
}

static void load_by_touch(const uint8_t *data, size_t size)
{
    uint8_t *bytes = aligned_alloc(64, (size + 64) / 64 * 64);
    memcpy(bytes, data, size);
    perhaps_filter *whole = decode(data, size, PERHAPS_OPEN_KEYLESS, NULL);
    perhaps_filter *touched = view(bytes, size);
    demand(whole == NULL || touched != NULL, "what is whole is refused by first touch");
    if (touched != NULL) {
        perhaps_statistics statistics = {.size = sizeof statistics};
        uint64_t cursor = 0;
        compare(touched, whole);
        int status = perhaps_scrub(touched, &cursor, UINT64_MAX, NULL);
        demand((status == 0) == (whole != NULL), "scrubbing finds something else than opening");
        demand(perhaps_stats(touched, &statistics) == PERHAPS_OK && statistics.fill <= 1.0, "the fill is beyond 1");
        compare(touched, whole);
    }
    perhaps_free(touched);
    perhaps_free(whole);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    uint8_t *bytes = malloc(size); // one less is used: AddressSanitizer sees a read beyond them
    memmove(bytes, data + 1, size - 1);
    bytes = realloc(bytes, size > 1 ? size - 1 : 1);
    if (data[0] % 3 == 1) {
        (void)format_mend_header(bytes, size - 1);
    } else if (data[0] % 3 == 2) {
        (void)format_mend_all(bytes, size - 1);
    }
    load(bytes, size - 1, 0);
    load(bytes, size - 1, PERHAPS_OPEN_KEYLESS);
    load_by_touch(bytes, size - 1);
    free(bytes);
    return 0;
}
