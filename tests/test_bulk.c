// SPDX-License-Identifier: MIT
// Large batches that are sorted by region before they are added: bytes, results and counts are those of adding one key after
// the other, whichever way is chosen.
#include <stdlib.h>
#include <string.h>

#include "support.h"

#include "bloom_sorted.h"
#include "bulk.h"
#include "filter.h"
#include "place.h"

#define REGION_BITS (UINT64_C(1) << 20)

// Hashes as they are: which region a key goes to is then the test's choice.
static perhaps_filter *make(double fpr, uint64_t bytes, const perhaps_allocator *allocator)
{
    return support_create(&SUPPORT_OPTIONS(.kind = PERHAPS_KIND_BLOOM, .fpr = fpr, .bytes = bytes, .seed = 42,
                                           .hash_source = PERHAPS_HASH_CALLER, .allocator = allocator));
}

/* ---------------------------------------------------------------- sorting */

// Adds a batch to a filter by sorting it, and to its twin key by key, and compares all there is.
static void check_sorted(perhaps_filter *filter, perhaps_filter *twin, const uint64_t *hashes, size_t count,
                         uint64_t positions)
{
    struct perhaps__layer *layer = filter->layers[0];
    struct perhaps__sorting sorting = perhaps__bloom_sorting(&layer->view, positions);
    assert_true(count <= sorting.keys);
    void *memory =
        aligned_alloc(PERHAPS_LINE, (size_t)(sorting.bytes + PERHAPS_LINE - 1) / PERHAPS_LINE * PERHAPS_LINE);
    assert_non_null(memory);
    memset(memory, 0xa5, (size_t)sorting.bytes);
    uint8_t *out = support_allocate(count + 1);
    memset(out, 7, count + 1);
    perhaps__bloom_add_sorted(&layer->view, &sorting, memory, hashes, count, out, &layer->tally);
    for (size_t i = 0; i < count; i++) {
        int expected = perhaps_add_hash(twin, hashes[i]);
        if (out[i] != expected) {
            fail_msg("key %zu of %zu: %u, a single call says %d", i, count, out[i], expected);
        }
    }
    assert_int_equal(out[count], 7);
    support_assert_same(filter, twin);
    free(out);
    free(memory);
}

static const size_t counts[] = {1, 2, 15, 16, 17, 2047, 2048, 2049, 4095, 4096, 4097, 9000};

// One position a key and many, one region that is a part of one, and several of which the last one is; half of each batch
// was there before, and every fifth key repeats another of its batch.
static void test_counts(void **state)
{
    static const double rates[] = {0.5, 0.01, 1e-6};
    static const uint64_t bytes[] = {6400, (3 * REGION_BITS + 512) / 8, 2 * REGION_BITS / 8};
    for (size_t i = 0; i < SUPPORT_COUNT(rates) * SUPPORT_COUNT(bytes); i++) {
        perhaps_filter *filter = make(rates[i % 3], bytes[i / 3], NULL);
        perhaps_filter *twin = make(rates[i % 3], bytes[i / 3], NULL);
        uint64_t first = 0;
        for (size_t j = 0; j < SUPPORT_COUNT(counts); j++) {
            uint64_t *hashes = support_allocate(counts[j] * sizeof *hashes);
            for (size_t l = 0; l < counts[j]; l++) {
                hashes[l] = first + (l % 5 == 4 ? l / 2 : l);
            }
            check_sorted(filter, twin, hashes, counts[j], counts[j] * filter->layers[0]->view.positions);
            first += counts[j] / 2;
            free(hashes);
        }
        perhaps_free(filter);
        perhaps_free(twin);
    }
}

// All keys are one, or a few: their regions are full long before the batch ends.
static void test_full_regions(void **state)
{
    for (uint64_t different = 1; different <= 3; different++) {
        perhaps_filter *filter = make(0.01, 9 * REGION_BITS / 8, NULL);
        perhaps_filter *twin = make(0.01, 9 * REGION_BITS / 8, NULL);
        const size_t count = 20000;
        uint64_t *hashes = support_allocate(count * sizeof *hashes);
        for (size_t i = 0; i < count; i++) {
            hashes[i] = i % 4000 == 3999 ? i : i % different;
        }
        check_sorted(filter, twin, hashes, count, count * filter->layers[0]->view.positions);
        free(hashes);
        perhaps_free(filter);
        perhaps_free(twin);
    }
}

// A hash from *next on whose only position is in a region.
static uint64_t hash_in(const perhaps_filter *filter, uint64_t region, uint64_t *next)
{
    for (;;) {
        uint64_t hash = (*next)++;
        struct perhaps__walk walk = perhaps__walk_start(perhaps__place(hash, filter->view.seed_key));
        if (perhaps__walk_next(&walk, filter->view.range) / REGION_BITS == region) {
            return hash;
        }
    }
}

// Regions to which no key goes for long, at the beginning and later: an entry tells only the lowest bits of its key's
// number.
static void test_gaps(void **state)
{
    static const size_t gaps[] = {1, 2046, 2047, 2048, 2049, 4094, 4095, 4096, 4097, 6000, 8192, 12000};
    for (size_t i = 0; i < SUPPORT_COUNT(gaps); i++) {
        perhaps_filter *filter = make(0.5, 3 * REGION_BITS / 8, NULL);
        perhaps_filter *twin = make(0.5, 3 * REGION_BITS / 8, NULL);
        const size_t count = 30000;
        uint64_t *hashes = support_allocate(count * sizeof *hashes);
        uint64_t next = 0;
        for (size_t j = 0; j < count; j++) {
            hashes[j] = hash_in(filter, (j + 1) % (gaps[i] + 1) == 0 ? 1 : 0, &next);
        }
        check_sorted(filter, twin, hashes, count, count);
        free(hashes);
        perhaps_free(filter);
        perhaps_free(twin);
    }
}

/* ---------------------------------------------------------------- choosing */

#ifdef PERHAPS_TEST_SUPPORT
#define SAMPLED (2 * 100)

static const struct perhaps__bulk_limits small_limits = {
    .smallest = UINT64_C(512) << 10, .most = 60000, .sample = 100, .samples = 2, .slow = 0};

static struct perhaps__bulk_limits usual_limits;

static int use_small_limits(void **state)
{
    usual_limits = perhaps__bulk_limits;
    perhaps__bulk_limits = small_limits;
    return 0;
}

static int use_usual_limits(void **state)
{
    perhaps__bulk_limits = usual_limits;
    return 0;
}

// A filter with an allocator that counts, of 8192 lines: at least 16384 positions are sorted, at best 32768.
struct subject {
    struct support_memory memory;
    perhaps_allocator allocator;
    perhaps_filter *filter;
    perhaps_filter *twin;
    uint64_t next;
};

#define LINES UINT64_C(8192)

static void begin(struct subject *subject, uint32_t kind, uint32_t hash_source)
{
    *subject = (struct subject){.next = 0};
    subject->allocator = support_memory_allocator(&subject->memory);
    perhaps_options options =
        SUPPORT_OPTIONS(.kind = kind, .fpr = 0.01, .bytes = LINES * 64, .seed = 42, .hash_source = hash_source);
    subject->twin = support_create(&options);
    options.allocator = &subject->allocator;
    subject->filter = support_create(&options);
}

static void end(struct subject *subject)
{
    support_assert_same(subject->filter, subject->twin);
    perhaps_statistics statistics = support_stats(subject->filter);
    perhaps_statistics expected = support_stats(subject->twin);
    assert_int_equal(statistics.set_bits, expected.set_bits);
    assert_true(statistics.adds == expected.adds);
    perhaps_free(subject->filter);
    perhaps_free(subject->twin);
    assert_true(support_memory_is_clean(&subject->memory));
}

static size_t fewest(const struct subject *subject)
{
    return (size_t)(2 * LINES / subject->filter->view.positions + 1);
}

// Adds so many keys, of which half were there before and some are repeated, in one call; how many allocations it made.
static uint64_t add_hashes(struct subject *subject, size_t count, bool told)
{
    uint64_t before = subject->memory.calls;
    uint64_t *hashes = support_allocate(count * sizeof *hashes);
    uint8_t *out = support_allocate(count);
    for (size_t i = 0; i < count; i++) {
        hashes[i] = subject->next + (i % 5 == 4 ? i / 3 : i);
    }
    subject->next += count / 2;
    size_t done = 0;
    assert_int_equal(perhaps_add_many_hash(subject->filter, hashes, count, told ? out : NULL, &done), PERHAPS_OK);
    assert_int_equal(done, count);
    for (size_t i = 0; i < count; i++) {
        int expected = perhaps_add_hash(subject->twin, hashes[i]);
        assert_true(!told || out[i] == expected);
    }
    free(hashes);
    free(out);
    return subject->memory.calls - before;
}

// Below the threshold, at it, and with rests behind one and two slices that are too small and large enough.
static void test_thresholds(void **state)
{
    struct subject subject;
    begin(&subject, PERHAPS_KIND_BLOOM, PERHAPS_HASH_CALLER);
    size_t least = fewest(&subject);
    size_t slice = (size_t)(4 * LINES / subject.filter->view.positions);
    for (size_t told = 0; told < 2; told++) {
        assert_int_equal(add_hashes(&subject, SAMPLED, told), 0);
        assert_int_equal(add_hashes(&subject, SAMPLED + least - 1, told), 0);
        assert_int_equal(add_hashes(&subject, SAMPLED + least, told), 1);
        assert_int_equal(add_hashes(&subject, SAMPLED + slice - 1, told), 1);
        assert_int_equal(add_hashes(&subject, SAMPLED + slice, told), 1);
        assert_int_equal(add_hashes(&subject, SAMPLED + slice + 1, told), 1);
        assert_int_equal(add_hashes(&subject, SAMPLED + slice + least - 1, told), 1);
        assert_int_equal(add_hashes(&subject, SAMPLED + slice + least, told), 1);
        assert_int_equal(add_hashes(&subject, SAMPLED + 2 * slice + least + 1, told), 1);
    }
    end(&subject);
}

static void test_only_where_it_pays(void **state)
{
    struct subject subject;
    begin(&subject, PERHAPS_KIND_BLOOM, PERHAPS_HASH_CALLER);
    perhaps__bulk_limits.slow = UINT64_MAX / (SAMPLED * UINT64_C(64)); // no memory is
    assert_int_equal(add_hashes(&subject, 20000, true), 0);
    perhaps__bulk_limits = small_limits;
    perhaps__bulk_limits.smallest = LINES * 64 + 1;
    assert_int_equal(add_hashes(&subject, 20000, true), 0);
    perhaps__bulk_limits = small_limits;
    perhaps__bulk_limits.most = 2 * LINES - 1; // too few of every line
    assert_int_equal(add_hashes(&subject, 20000, true), 0);
    perhaps__bulk_limits = small_limits;
    assert_int_equal(add_hashes(&subject, 20000, true), 1);
    end(&subject);
    begin(&subject, PERHAPS_KIND_BLOCKED, PERHAPS_HASH_CALLER);
    assert_int_equal(add_hashes(&subject, 20000, true), 0);
    end(&subject);
}

// Without memory it takes longer, and nothing else is different.
static void test_without_memory(void **state)
{
    struct subject subject;
    begin(&subject, PERHAPS_KIND_BLOOM, PERHAPS_HASH_CALLER);
    subject.memory.fail_at = subject.memory.calls + 1;
    assert_int_equal(add_hashes(&subject, 20000, true), 1);
    assert_int_equal(add_hashes(&subject, 20000, false), 1);
    end(&subject);
}

// Keys as bytes, `fail` of whose allocations, from the first on, fail once; how many were asked for.
static uint64_t add_keys(struct subject *subject, size_t count, size_t invalid, uint64_t fail)
{
    uint64_t before = subject->memory.calls;
    uint64_t *numbers = support_allocate(count * sizeof *numbers);
    const void **keys = support_allocate(count * sizeof *keys);
    size_t *lengths = support_allocate(count * sizeof *lengths);
    uint8_t *out = support_allocate(count);
    memset(out, 7, count);
    for (size_t i = 0; i < count; i++) {
        numbers[i] = subject->next + (i % 5 == 4 ? i / 3 : i);
        keys[i] = i == invalid ? NULL : &numbers[i];
        lengths[i] = sizeof *numbers;
    }
    subject->next += count / 2;
    size_t valid = invalid < count ? invalid : count;
    size_t done = 0;
    subject->memory.fail_at = fail > 0 ? before + fail : 0;
    assert_int_equal(perhaps_add_many_pointers(subject->filter, keys, lengths, count, out, &done),
                     valid < count ? PERHAPS_E_ARGUMENT : PERHAPS_OK);
    assert_int_equal(done, valid);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(out[i], i < valid ? perhaps_add(subject->twin, &numbers[i], sizeof *numbers) : 7);
    }
    free(numbers);
    free(keys);
    free(lengths);
    free(out);
    return subject->memory.calls - before;
}

// The hashes are collected in memory of their own, as many as are sorted together.
static void test_keys(void **state)
{
    struct subject subject;
    begin(&subject, PERHAPS_KIND_BLOOM, PERHAPS_HASH_XXH3);
    size_t slice = (size_t)(4 * LINES / subject.filter->view.positions);
    assert_int_equal(add_keys(&subject, 5000, 5000, 0), 2);
    assert_int_equal(add_keys(&subject, 3 * slice, 3 * slice, 0),
                     4); // once for the hashes, and three times for sorting
    assert_int_equal(add_keys(&subject, 3 * slice, 2 * slice, 0), 3);
    assert_int_equal(add_keys(&subject, 5000, 5000, 1), 1);
    assert_int_equal(add_keys(&subject, 5000, 5000, 2), 2);
    end(&subject);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_full_regions),
        cmocka_unit_test(test_gaps),
#ifdef PERHAPS_TEST_SUPPORT
        cmocka_unit_test_setup_teardown(test_thresholds, use_small_limits, use_usual_limits),
        cmocka_unit_test_setup_teardown(test_only_where_it_pays, use_small_limits, use_usual_limits),
        cmocka_unit_test_setup_teardown(test_without_memory, use_small_limits, use_usual_limits),
        cmocka_unit_test_setup_teardown(test_keys, use_small_limits, use_usual_limits),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
