// SPDX-License-Identifier: MIT
// Opening by first touch, and scrubbing: what is read when, what damage does to answers, and that all of it holds with
// several threads. test_damage.c has the damage to every bit.
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "support_secret.h"
#include "support_view.h"

#include "support_format.h"

#define CHUNK ((size_t)1 << 20)
#define KEYS UINT64_C(20000)
#define ASKED UINT64_C(4000)

// A filter of each kind and shape that a look-up can have, several chunks large.
static const perhaps_options shapes[] = {
    {.kind = PERHAPS_KIND_BLOOM, .fpr = 0.01},
    {.kind = PERHAPS_KIND_BLOCKED, .fpr = 0.01},
    {.kind = PERHAPS_KIND_BLOCKED, .fpr = 1e-6},
    {.kind = PERHAPS_KIND_COUNTING, .fpr = 0.01},
    {.kind = PERHAPS_KIND_COUNTING, .fpr = 0.01, .counter_bits = 16, .policy = PERHAPS_POLICY_CONSERVATIVE},
    {.kind = PERHAPS_KIND_CUCKOO, .fpr = 0.001, .fingerprint_bits = 13},
    {.kind = PERHAPS_KIND_CUCKOO, .fpr = 1e-6, .slots = 8, .fingerprint_bits = 31, .policy = PERHAPS_POLICY_UNIQUE},
};

static struct support_bytes aligned_bytes(perhaps_filter *filter)
{
    struct support_bytes bytes = support_encode(filter);
    struct support_bytes aligned = support_aligned(bytes);
    free(bytes.data);
    perhaps_free(filter);
    return aligned;
}

static struct support_bytes shape_bytes(size_t i)
{
    perhaps_options options = shapes[i];
    options.size = sizeof options;
    options.bytes = 5 * CHUNK - 4096;
    options.seed = i;
    perhaps_filter *filter = support_create(&options);
    support_add_keys(filter, SUPPORT_WORDS, 0, KEYS);
    support_add_keys(filter, SUPPORT_WORDS, 0, KEYS / 4);
    return aligned_bytes(filter);
}

// Layers of about 0.3, 0.6, 1.2 and 2.5 MiB.
static struct support_bytes grown_bytes(uint32_t kind)
{
    const perhaps_options options =
        SUPPORT_OPTIONS(.kind = kind, .capacity = 200000, .fpr = 0.01, .at_capacity = PERHAPS_AT_CAPACITY_GROW);
    perhaps_filter *filter = support_create(&options);
    support_add_keys(filter, SUPPORT_WORDS, 0, 1500000);
    assert_in_range(support_stats(filter).layers, 3, 4);
    return aligned_bytes(filter);
}

static uint8_t *payload_of(struct support_bytes bytes)
{
    return bytes.data + format_get(bytes.data, FORMAT_HEADER_SIZE, 8);
}

struct answers {
    uint8_t single[2 * ASKED];
    uint8_t many[2 * ASKED];
    uint64_t count[2 * ASKED];
    uint64_t counts[2 * ASKED];
};

// Answers about keys that are there, then about keys that are not: one by one, and together.
static struct answers *ask(const perhaps_filter *filter)
{
    struct answers *answers = support_allocate(sizeof *answers);
    uint64_t hashes[2 * ASKED];
    for (uint64_t i = 0; i < 2 * ASKED; i++) {
        uint8_t key[SUPPORT_KEY_MAX];
        size_t length = support_key(SUPPORT_WORDS, i < ASKED ? i * 5 : SUPPORT_ABSENT + i, key);
        assert_int_equal(perhaps_hash(filter, key, length, &hashes[i]), PERHAPS_OK);
        answers->single[i] = (uint8_t)perhaps_might_contain(filter, key, length);
        assert_int_equal(perhaps_ask_hash(filter, hashes[i]), answers->single[i]);
        answers->count[i] = perhaps_count_at_most(filter, key, length);
    }
    assert_int_equal(perhaps_might_contain_many_hash(filter, hashes, 2 * ASKED, answers->many, NULL), PERHAPS_OK);
    assert_int_equal(perhaps_count_at_most_many_hash(filter, hashes, 2 * ASKED, answers->counts, NULL), PERHAPS_OK);
    return answers;
}

/* ---------------------------------------------------------------- whole files */

// The same answers as when everything was verified, while chunks become known, and after; a look at each once.
static void assert_like_eager(struct support_bytes bytes)
{
    perhaps_filter *eager = support_view_of(bytes, 0, NULL);
    perhaps_filter *touched = support_view_of(bytes, PERHAPS_OPEN_FIRST_TOUCH, NULL);
    assert_int_equal(support_stats(eager).chunks_verified, support_stats(eager).chunks);
    assert_int_equal(support_stats(touched).chunks_verified, 0);
    struct answers *expected = ask(eager);
    for (unsigned round = 0; round < 2; round++) {
        struct answers *found = ask(touched);
        assert_memory_equal(found, expected, sizeof *found);
        free(found);
        assert_int_equal(support_stats(touched).chunks_verified, support_stats(touched).chunks);
    }
    assert_int_equal(support_stats(touched).damaged_answers, 0);
    assert_int_equal(support_stats(touched).chunks_damaged, 0);
    support_assert_same(eager, touched);
    free(expected);
    perhaps_free(eager);
    perhaps_free(touched);
}

static void test_whole_files_answer_as_ever(void **state)
{
    for (size_t i = 0; i < SUPPORT_COUNT(shapes); i++) {
        struct support_bytes bytes = shape_bytes(i);
        assert_like_eager(bytes);
        free(bytes.data);
    }
}

static void test_layers_answer_as_ever(void **state)
{
    static const uint32_t kinds[] = {PERHAPS_KIND_BLOOM, PERHAPS_KIND_BLOCKED, PERHAPS_KIND_CUCKOO};
    for (size_t i = 0; i < SUPPORT_COUNT(kinds); i++) {
        struct support_bytes bytes = grown_bytes(kinds[i]);
        assert_like_eager(bytes);
        free(bytes.data);
    }
}

// One absent key of a Bloom filter reads chunks up to its first clear bit, a blocked one reads one.
static void test_only_what_is_asked_for_is_read(void **state)
{
    struct support_bytes bloom = shape_bytes(0);
    struct support_bytes blocked = shape_bytes(1);
    perhaps_filter *filters[] = {support_view_of(bloom, PERHAPS_OPEN_FIRST_TOUCH, NULL),
                                 support_view_of(blocked, PERHAPS_OPEN_FIRST_TOUCH, NULL)};
    for (size_t i = 0; i < SUPPORT_COUNT(filters); i++) {
        assert_int_equal(support_stats(filters[i]).chunks_verified, 0); // statistics read nothing
        assert_int_equal(support_stats(filters[i]).chunks, 5);
        assert_int_equal(perhaps_might_contain(filters[i], "not there", 9), 0);
        assert_int_equal(support_stats(filters[i]).chunks_verified, 1); // the fill is low: the first bit was clear
        perhaps_free(filters[i]);
    }
    free(bloom.data);
    free(blocked.data);
}

/* ---------------------------------------------------------------- damaged files */

// Everything that a damaged chunk could have said is "perhaps"; everything else is as before.
static void assert_without_chunk(struct support_bytes bytes, size_t chunk, uint8_t *damaged)
{
    perhaps_filter *eager = support_view_of(bytes, 0, NULL);
    struct answers *expected = ask(eager);
    perhaps_free(eager);
    memset(damaged, 0, 4096); // a hole: what bits there were are gone
    perhaps_filter *touched = support_view_of(bytes, PERHAPS_OPEN_FIRST_TOUCH, NULL);
    struct answers *found = ask(touched);
    uint64_t more = 0;
    for (size_t i = 0; i < 2 * ASKED; i++) {
        assert_int_equal(found->single[i], found->many[i]);
        assert_int_equal(found->count[i], found->counts[i]);
        assert_true(found->single[i] >= expected->single[i]);
        assert_true(found->count[i] >= expected->count[i]);
        assert_int_equal(found->single[i] != 0, found->count[i] != 0);
        more += found->single[i] - expected->single[i];
    }
    perhaps_statistics statistics = support_stats(touched);
    assert_int_equal(statistics.chunks_damaged, 1);
    assert_int_equal(statistics.chunks_verified, statistics.chunks - 1);
    assert_true(statistics.damaged_answers >= more);
    assert_true(statistics.damaged_answers > 0);
    assert_true(more < ASKED); // of the absent keys most are still known to be absent
    uint64_t cursor = chunk;
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_scrub(touched, &cursor, 1, &error), PERHAPS_E_DAMAGED, &error);
    assert_in_range((size_t)(damaged - bytes.data), error.value, error.limit);
    free(found);
    free(expected);
    perhaps_free(touched);
}

static void test_a_damaged_chunk_says_nothing(void **state)
{
    for (size_t i = 0; i < SUPPORT_COUNT(shapes); i++) {
        for (size_t chunk = 0; chunk < 5; chunk += 2) {
            struct support_bytes bytes = shape_bytes(i);
            assert_without_chunk(bytes, chunk, payload_of(bytes) + chunk * CHUNK + 1000);
            free(bytes.data);
        }
    }
}

// The first chunk of the first layer, and the last one of the last.
static void test_a_damaged_chunk_of_a_layer(void **state)
{
    static const uint32_t kinds[] = {PERHAPS_KIND_BLOOM, PERHAPS_KIND_BLOCKED, PERHAPS_KIND_CUCKOO};
    for (size_t i = 0; i < SUPPORT_COUNT(kinds); i++) {
        struct support_bytes bytes = grown_bytes(kinds[i]);
        uint64_t chunks = format_get(bytes.data, FORMAT_CHUNKS, 8);
        assert_without_chunk(bytes, (size_t)chunks - 1, bytes.data + bytes.size - 8192);
        free(bytes.data);
    }
}

// Counters in good chunks still bound the count.
static void test_counts_without_a_chunk_are_bounds(void **state)
{
    struct support_bytes bytes = shape_bytes(3);
    payload_of(bytes)[2 * CHUNK] ^= 1;
    perhaps_filter *filter = support_view_of(bytes, PERHAPS_OPEN_FIRST_TOUCH, NULL);
    struct answers *found = ask(filter);
    uint64_t unbounded = 0;
    for (size_t i = 0; i < ASKED; i++) {
        assert_true(found->count[i] >= (i * 5 < KEYS / 4 ? 2U : 1U));
        unbounded += found->count[i] == PERHAPS_COUNT_UNBOUNDED;
    }
    assert_in_range(unbounded, 0, 2); // all 7 counters in the damaged one of 5 chunks: 0.05 keys are expected
    assert_true(support_stats(filter).damaged_answers > 0);
    free(found);
    perhaps_free(filter);
    free(bytes.data);
}

// Damage does not get new checksums: nothing is written, merged or converted from it.
static void test_damage_is_not_copied(void **state)
{
    static const uint32_t flags[] = {0, PERHAPS_OPEN_FIRST_TOUCH};
    for (size_t i = 0; i < SUPPORT_COUNT(flags); i++) {
        struct support_bytes bytes = shape_bytes(3);
        perhaps_filter *filter = support_view_of(bytes, flags[i], NULL);
        perhaps_filter *into = support_decode(bytes.data, bytes.size);
        perhaps_filter *converted = NULL;
        payload_of(bytes)[3 * CHUNK] ^= 0x80; // after it was opened
        assert_int_equal(support_scrub(filter), 1);
        size_t written = 0;
        perhaps_error error = SUPPORT_ERROR;
        uint8_t *buffer = support_allocate(bytes.size);
        int result = perhaps_encode(filter, buffer, bytes.size, &written, &error);
        support_assert_failed(result, PERHAPS_E_DAMAGED, &error);
        char *path = support_path(state, "damaged");
        support_assert_failed(perhaps_save(filter, path, &error), PERHAPS_E_DAMAGED, &error);
        assert_int_equal(support_count_entries(*state), 0);
        struct support_bytes before = support_encode(into);
        support_assert_failed(perhaps_merge(into, filter, &error), PERHAPS_E_DAMAGED, &error);
        support_assert_unchanged(into, before);
        result = perhaps_convert(filter, PERHAPS_KIND_BLOOM, NULL, &converted, &error);
        support_assert_failed(result, PERHAPS_E_DAMAGED, &error);
        assert_null(converted);
        free(path);
        free(buffer);
        free(before.data);
        perhaps_free(into);
        perhaps_free(filter);
        free(bytes.data);
    }
}

// What the header records is under its checksum, but can still be impossible.
static void test_records_that_cannot_be_true(void **state)
{
    for (size_t i = 0; i < SUPPORT_COUNT(shapes); i++) {
        struct support_bytes bytes = shape_bytes(i);
        uint64_t used = format_get(bytes.data, FORMAT_LAYER_USED, 8);
        static const uint64_t wrong[] = {UINT64_C(1) << 40, UINT64_MAX, 0};
        for (size_t j = 0; j < SUPPORT_COUNT(wrong); j++) {
            format_put(bytes.data, FORMAT_LAYER_USED, 8, wrong[j]);
            assert_true(format_mend_header(bytes.data, bytes.size));
            perhaps_filter *filter = NULL;
            perhaps_error error = SUPPORT_ERROR;
            int result = support_view(bytes, PERHAPS_OPEN_FIRST_TOUCH, NULL, &filter, &error);
            support_assert_failed(result, PERHAPS_E_DAMAGED, &error);
        }
        format_put(bytes.data, FORMAT_LAYER_USED, 8, used);
        free(bytes.data);
    }
}

// Headers that lie under a checksum that is right: 17 GB of payload, two thousand million positions, chunks and layers
// beyond the end. Refused before anything is read or allocated for them.
static void test_hostile_headers(void **state)
{
    static const struct {
        size_t offset;
        unsigned width;
        uint64_t value;
    } lies[] = {
        {FORMAT_PAYLOAD_SIZE, 8, UINT64_C(17) << 30},
        {FORMAT_PAYLOAD_SIZE, 8, UINT64_MAX - 63},
        {FORMAT_HEADER_SIZE, 8, 4096},
        {FORMAT_CHUNKS, 8, UINT64_C(1) << 40},
        {FORMAT_CHUNKS, 8, 4},
        {FORMAT_LAYERS, 4, 32},
        {FORMAT_SECTION_SIZE, 8, UINT64_C(1) << 32},
        {FORMAT_LAYER_POSITIONS, 4, 2000000000},
        {FORMAT_LAYER_PAYLOAD_SIZE, 8, UINT64_C(17) << 30},
        {FORMAT_LAYER_PAYLOAD_OFFSET, 8, 64},
        {FORMAT_LAYER_RANGE, 8, UINT64_C(1) << 50},
        {FORMAT_LAYER_BITS, 8, UINT64_C(1) << 50},
    };
    for (size_t i = 0; i < SUPPORT_COUNT(lies); i++) {
        struct support_bytes bytes = shape_bytes(0);
        format_put(bytes.data, lies[i].offset, lies[i].width, lies[i].value);
        (void)format_mend_header(bytes.data, bytes.size);
        perhaps_filter *filter = NULL;
        perhaps_error error = SUPPORT_ERROR;
        int result = support_view(bytes, PERHAPS_OPEN_FIRST_TOUCH, NULL, &filter, &error);
        support_assert_failed(result, PERHAPS_E_DAMAGED, &error);
        assert_null(filter);
        free(bytes.data);
    }
}

/* ---------------------------------------------------------------- statistics */

// From the header alone, and close to what the payload shows.
static void test_statistics_without_the_payload(void **state)
{
    for (size_t i = 0; i < SUPPORT_COUNT(shapes); i++) {
        struct support_bytes bytes = shape_bytes(i);
        perhaps_filter *eager = support_view_of(bytes, 0, NULL);
        perhaps_filter *touched = support_view_of(bytes, PERHAPS_OPEN_FIRST_TOUCH, NULL);
        perhaps_statistics counted = support_stats(eager);
        perhaps_statistics recorded = support_stats(touched);
        assert_int_equal(counted.recorded, 0);
        assert_int_equal(recorded.recorded, 1);
        assert_int_equal(recorded.chunks_verified, 0);
        assert_int_equal(recorded.set_bits, counted.set_bits);
        assert_int_equal(recorded.adds, counted.adds);
        assert_int_equal(recorded.copies, counted.copies);
        assert_true(recorded.fill == counted.fill);
        assert_true(fabs(recorded.fpr_now - counted.fpr_now) <= 0.05 * counted.fpr_now + 1e-12);
        assert_true(recorded.times_fpr[1] >= counted.times_fpr[1]);
        assert_int_equal(recorded.saturated, 0);
        assert_int_equal(recorded.encoded_bytes, bytes.size);
        perhaps_free(eager);
        perhaps_free(touched);
        free(bytes.data);
    }
}

static void test_memory_of_its_own_has_no_chunks(void **state)
{
    struct support_bytes bytes = shape_bytes(0);
    const perhaps_load_options options = {.size = sizeof options, .flags = PERHAPS_OPEN_FIRST_TOUCH};
    perhaps_filter *filter = NULL;
    uint64_t cursor = 0;
    perhaps_error error = SUPPORT_ERROR;
    assert_int_equal(perhaps_decode(bytes.data, bytes.size, &options, &filter, NULL), PERHAPS_OK);
    assert_int_equal(support_stats(filter).chunks, 0);
    assert_int_equal(support_stats(filter).recorded, 0); // it was read
    support_assert_failed(perhaps_scrub(filter, &cursor, 1, &error), PERHAPS_E_UNSUPPORTED, &error);
    assert_true(perhaps_add(filter, "new", 3) >= 0);
    perhaps_free(filter);
    payload_of(bytes)[0] ^= 1;
    support_assert_failed(perhaps_decode(bytes.data, bytes.size, &options, &filter, &error), PERHAPS_E_DAMAGED, &error);
    free(bytes.data);
}

/* ---------------------------------------------------------------- scrubbing */

static void test_scrubbing_in_slices(void **state)
{
    struct support_bytes bytes = shape_bytes(0);
    perhaps_filter *filter = support_view_of(bytes, PERHAPS_OPEN_FIRST_TOUCH, NULL);
    uint64_t cursor = 0;
    perhaps_error error = SUPPORT_ERROR;
    assert_int_equal(perhaps_scrub(filter, &cursor, 0, &error), 1); // at least one chunk
    assert_int_equal(cursor, 1);
    assert_int_equal(perhaps_scrub(filter, &cursor, CHUNK + 1, &error), 1);
    assert_int_equal(cursor, 3);
    assert_int_equal(support_stats(filter).chunks_verified, 3);
    assert_int_equal(perhaps_scrub(filter, &cursor, UINT64_MAX, &error), 0);
    assert_int_equal(cursor, 0);
    assert_int_equal(support_stats(filter).chunks_verified, 5);
    cursor = 5;
    support_assert_failed(perhaps_scrub(filter, &cursor, 1, &error), PERHAPS_E_ARGUMENT, &error);
    assert_int_equal(cursor, 5);
    support_assert_failed(perhaps_scrub(NULL, &cursor, 1, &error), PERHAPS_E_ARGUMENT, &error);
    support_assert_failed(perhaps_scrub(filter, NULL, 1, &error), PERHAPS_E_ARGUMENT, &error);
    payload_of(bytes)[4 * CHUNK] ^= 1; // the last one: the cursor goes back to the beginning
    cursor = 3;
    support_assert_failed(perhaps_scrub(filter, &cursor, UINT64_MAX, &error), PERHAPS_E_DAMAGED, &error);
    assert_int_equal(cursor, 0);
    assert_string_equal(error.text, "chunk 5 of 5 is damaged (bytes 4194688 to 5239167); rebuild the filter or restore "
                                    "the file");
    perhaps_free(filter);
    free(bytes.data);
}

// A filter that was whole when it was opened: as soon as the damage is found, it is done without.
static void test_scrubbing_finds_what_came_later(void **state)
{
    for (size_t i = 0; i < SUPPORT_COUNT(shapes); i++) {
        struct support_bytes bytes = shape_bytes(i);
        perhaps_filter *filter = support_view_of(bytes, 0, NULL);
        assert_int_equal(support_scrub(filter), 0);
        memset(payload_of(bytes) + CHUNK, 0, CHUNK);
        assert_int_equal(support_scrub(filter), 1);
        struct answers *found = ask(filter);
        for (size_t j = 0; j < ASKED; j++) {
            assert_int_equal(found->single[j], 1);
            assert_int_equal(found->many[j], 1);
            assert_int_not_equal(found->count[j], 0);
            assert_int_not_equal(found->counts[j], 0);
        }
        assert_true(support_stats(filter).damaged_answers > 0);
        assert_int_equal(support_stats(filter).chunks_verified, 4);
        assert_int_equal(support_scrub(filter), 1); // it stays so
        assert_int_equal(support_stats(filter).chunks_damaged, 1);
        free(found);
        perhaps_free(filter);
        free(bytes.data);
    }
}

static void test_scrubbing_needs_no_key(void **state)
{
    SUPPORT_NEEDS_KEYED();
    const perhaps_options options = SUPPORT_OPTIONS(.fpr = 0.01, .bytes = 2 * CHUNK, .key = support_secret);
    perhaps_filter *made = support_create(&options);
    support_add_keys(made, SUPPORT_WORDS, 0, KEYS);
    struct support_bytes bytes = aligned_bytes(made);
    payload_of(bytes)[CHUNK] ^= 1;
    perhaps_filter *filter = support_view_of(bytes, PERHAPS_OPEN_FIRST_TOUCH | PERHAPS_OPEN_KEYLESS, NULL);
    assert_int_equal(perhaps_might_contain_hash(filter, 1), 1);
    assert_int_equal(perhaps_count_at_most_hash(filter, 1), PERHAPS_COUNT_UNBOUNDED);
    assert_int_equal(support_stats(filter).chunks_verified, 0);
    assert_int_equal(support_scrub(filter), 1);
    assert_int_equal(perhaps_might_contain_hash(filter, 1), 1);
    perhaps_free(filter);
    filter = support_view_of(bytes, PERHAPS_OPEN_FIRST_TOUCH, support_secret);
    assert_int_equal(support_count_present(filter, SUPPORT_WORDS, 0, KEYS), KEYS);
    assert_true(support_stats(filter).damaged_answers > 0);
    perhaps_free(filter);
    free(bytes.data);
}

/* ---------------------------------------------------------------- files */

static void test_files(void **state)
{
    char *path = support_path(state, "filter");
    struct support_bytes bytes = shape_bytes(0);
    support_write_file(path, bytes.data, bytes.size);
    perhaps_filter *filter = support_open(path, PERHAPS_OPEN_FIRST_TOUCH);
    assert_int_equal(support_count_present(filter, SUPPORT_WORDS, 0, KEYS), KEYS);
    assert_int_equal(perhaps_add(filter, "new", 3), PERHAPS_E_READ_ONLY);
    assert_int_equal(perhaps_clear(filter), PERHAPS_E_READ_ONLY);
    perhaps_free(filter);

    payload_of(bytes)[2 * CHUNK + 5] ^= 1;
    support_write_file(path, bytes.data, bytes.size);
    filter = support_open(path, PERHAPS_OPEN_FIRST_TOUCH);
    assert_int_equal(support_count_present(filter, SUPPORT_WORDS, 0, KEYS), KEYS);
    uint64_t cursor = 2;
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_scrub(filter, &cursor, 1, &error), PERHAPS_E_DAMAGED, &error);
    assert_string_equal(error.subject, path);
    assert_int_equal(support_stats(filter).chunks_damaged, 1);
    perhaps_free(filter);
    const perhaps_load_options copy = {.size = sizeof copy, .flags = PERHAPS_OPEN_FIRST_TOUCH | PERHAPS_OPEN_COPY};
    support_assert_failed(perhaps_open(path, &copy, &filter, &error), PERHAPS_E_DAMAGED, &error); // it reads everything
    free(path);
    free(bytes.data);
}

static void test_each_allocation_fails_once(void **state)
{
    char *path = support_path(state, "filter");
    struct support_bytes bytes = shape_bytes(0);
    support_write_file(path, bytes.data, bytes.size);
    int result = PERHAPS_E_MEMORY;
    uint64_t fail_at = 0;
    while (result == PERHAPS_E_MEMORY) {
        struct support_memory memory = {.fail_at = ++fail_at};
        perhaps_allocator allocator = support_memory_allocator(&memory);
        const perhaps_load_options options = {
            .size = sizeof options, .flags = PERHAPS_OPEN_FIRST_TOUCH, .allocator = &allocator};
        perhaps_filter *filter = NULL;
        perhaps_error error = SUPPORT_ERROR;
        result = perhaps_open(path, &options, &filter, &error);
        if (result == PERHAPS_OK) {
            assert_int_equal(support_count_present(filter, SUPPORT_WORDS, 0, 100), 100); // asking allocates nothing
            assert_int_equal(support_scrub(filter), 0);
            perhaps_free(filter);
        } else {
            support_assert_failed(result, PERHAPS_E_MEMORY, &error);
            assert_null(filter);
        }
        assert_true(support_memory_is_clean(&memory));
    }
    assert_int_equal(result, PERHAPS_OK);
    assert_true(fail_at > 4); // header, filter, layer, checksums, origin
    free(path);
    free(bytes.data);
}

/* ---------------------------------------------------------------- threads */

#define THREADS 4

struct reader {
    const perhaps_filter *filter;
    uint64_t first;
    uint64_t missed;
    bool scrubs;
};

static void *read_all(void *argument)
{
    struct reader *reader = argument;
    uint64_t cursor = 0;
    if (reader->scrubs) {
        do {
            (void)perhaps_scrub(reader->filter, &cursor, 1, NULL);
        } while (cursor != 0);
    }
    for (uint64_t i = 0; i < KEYS; i++) {
        uint8_t key[SUPPORT_KEY_MAX];
        uint64_t hash = 0;
        size_t length = support_key(SUPPORT_WORDS, (reader->first + i) % KEYS, key);
        (void)perhaps_hash(reader->filter, key, length, &hash);
        reader->missed += perhaps_ask_hash(reader->filter, hash) != 1;
        reader->missed += perhaps_count_at_most(reader->filter, key, length) == 0;
    }
    return NULL;
}

// From the first question on; one thread scrubs. The counts are exact: each chunk changes its state once.
static void assert_threads(perhaps_filter *filter, uint64_t damaged)
{
    pthread_t threads[THREADS];
    struct reader readers[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        readers[i] = (struct reader){.filter = filter, .first = i * KEYS / THREADS, .scrubs = i == 0};
        assert_int_equal(pthread_create(&threads[i], NULL, read_all, &readers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(readers[i].missed, 0);
    }
    perhaps_statistics statistics = support_stats(filter);
    assert_int_equal(statistics.chunks_damaged, damaged);
    assert_int_equal(statistics.chunks_verified, statistics.chunks - damaged);
}

static void test_threads(void **state)
{
    for (size_t i = 0; i < SUPPORT_COUNT(shapes); i++) {
        struct support_bytes bytes = shape_bytes(i);
        perhaps_filter *whole = support_view_of(bytes, PERHAPS_OPEN_FIRST_TOUCH, NULL);
        assert_threads(whole, 0);
        perhaps_free(whole);
        perhaps_filter *eager = support_view_of(bytes, 0, NULL);
        uint8_t *unused = payload_of(bytes) + 3 * CHUNK; // no key is taken away: readers may come before the scrub
        static const uint8_t zeros[64] = {0};
        while (memcmp(unused, zeros, sizeof zeros) != 0) {
            unused++;
        }
        memset(unused + 8, 0xff, 8);
        assert_threads(eager, 1);
        perhaps_free(eager);
        memset(payload_of(bytes) + 3 * CHUNK, 0, CHUNK);
        perhaps_filter *damaged = support_view_of(bytes, PERHAPS_OPEN_FIRST_TOUCH, NULL);
        assert_threads(damaged, 1);
        perhaps_free(damaged);
        free(bytes.data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_files_answer_as_ever),
        cmocka_unit_test(test_layers_answer_as_ever),
        cmocka_unit_test(test_only_what_is_asked_for_is_read),
        cmocka_unit_test(test_a_damaged_chunk_says_nothing),
        cmocka_unit_test(test_a_damaged_chunk_of_a_layer),
        cmocka_unit_test(test_counts_without_a_chunk_are_bounds),
        cmocka_unit_test_setup_teardown(test_damage_is_not_copied, support_make_directory, support_remove_directory),
        cmocka_unit_test(test_records_that_cannot_be_true),
        cmocka_unit_test(test_hostile_headers),
        cmocka_unit_test(test_statistics_without_the_payload),
        cmocka_unit_test(test_memory_of_its_own_has_no_chunks),
        cmocka_unit_test(test_scrubbing_in_slices),
        cmocka_unit_test(test_scrubbing_finds_what_came_later),
        cmocka_unit_test(test_scrubbing_needs_no_key),
        cmocka_unit_test_setup_teardown(test_files, support_make_directory, support_remove_directory),
        cmocka_unit_test_setup_teardown(test_each_allocation_fails_once, support_make_directory,
                                        support_remove_directory),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
