// SPDX-License-Identifier: MIT
// Large batches that are sorted by region before they are added or asked for: bytes, results and counts are those of one key
// after the other, whichever way is chosen.
#include <stdlib.h>
#include <string.h>

#include "support.h"
#include "support_view.h"

#include "bulk.h"
#include "filter.h"
#include "place.h"
#include "place_sorted.h"

// The kinds that sort; of counting filters those of every width.
struct sort {
    uint32_t kind;
    uint32_t counter_bits;
};

static const struct sort all[] = {
    {PERHAPS_KIND_BLOOM, 0}, {PERHAPS_KIND_COUNTING, 4}, {PERHAPS_KIND_COUNTING, 8}, {PERHAPS_KIND_COUNTING, 16}};

// Hashes as they are: which region a key goes to is then the test's choice.
static perhaps_filter *make(const struct sort *sort, double fpr, uint64_t bytes)
{
    return support_create(&SUPPORT_OPTIONS(.kind = sort->kind, .counter_bits = sort->counter_bits, .fpr = fpr,
                                           .bytes = bytes, .seed = 42, .hash_source = PERHAPS_HASH_CALLER));
}

/* ---------------------------------------------------------------- sorting */

// How a batch of so many keys is sorted, and memory for that, in which anything may be.
struct sorting {
    const struct perhaps__visits *visits;
    struct perhaps__sorting how;
    void *memory;
};

static struct sorting begin_sorting(const struct perhaps__layer *layer, size_t count)
{
    struct sorting sorting = {.visits = layer->operations->visits(layer)};
    sorting.how = perhaps__sorting_for(&layer->view, sorting.visits, count * layer->view.positions);
    assert_true(count <= sorting.how.keys);
    size_t bytes = (size_t)(sorting.how.bytes + PERHAPS_LINE - 1) / PERHAPS_LINE * PERHAPS_LINE;
    sorting.memory = aligned_alloc(PERHAPS_LINE, bytes);
    assert_non_null(sorting.memory);
    memset(sorting.memory, 0xa5, bytes);
    return sorting;
}

// Adds a batch to a filter by sorting it, and to its twin key by key, and compares all there is.
static void check_added(perhaps_filter *filter, perhaps_filter *twin, const uint64_t *hashes, size_t count)
{
    struct perhaps__layer *layer = filter->layers[0];
    struct sorting sorting = begin_sorting(layer, count);
    uint8_t *out = support_allocate(count + 1);
    memset(out, 7, count + 1);
    perhaps__add_sorted(&layer->view, sorting.visits, &sorting.how, sorting.memory, hashes, count, out, &layer->tally);
    for (size_t i = 0; i < count; i++) {
        int expected = perhaps_add_hash(twin, hashes[i]);
        if (out[i] != expected) {
            fail_msg("key %zu of %zu: %u, a single call says %d", i, count, out[i], expected);
        }
    }
    assert_int_equal(out[count], 7);
    assert_memory_equal(&layer->tally, &twin->layers[0]->tally, sizeof layer->tally);
    support_assert_same(filter, twin);
    free(out);
    free(sorting.memory);
}

// Asks for a batch by sorting it, and key by key.
static void check_asked(const perhaps_filter *filter, const uint64_t *hashes, size_t count)
{
    const struct perhaps__layer *layer = filter->layers[0];
    struct sorting sorting = begin_sorting(layer, count);
    uint8_t *out = support_allocate(count + 1);
    memset(out, 7, count + 1);
    perhaps__ask_sorted(&layer->view, sorting.visits, &sorting.how, sorting.memory, hashes, count, out);
    for (size_t i = 0; i < count; i++) {
        int expected = perhaps_might_contain_hash(filter, hashes[i]);
        if (out[i] != expected) {
            fail_msg("key %zu of %zu: %u, a single call says %d", i, count, out[i], expected);
        }
    }
    assert_int_equal(out[count], 7);
    free(out);
    free(sorting.memory);
}

static void check_sorted(perhaps_filter *filter, perhaps_filter *twin, const uint64_t *hashes, size_t count)
{
    check_asked(filter, hashes, count); // many are absent
    check_added(filter, twin, hashes, count);
    check_asked(filter, hashes, count);
}

static const size_t counts[] = {1, 2, 15, 16, 17, 1023, 1024, 1025, 2047, 2048, 2049, 9000};

// The first batch and those after it, of which a half was there before, and every fifth key repeats another of its batch.
static void check_counts(const struct sort *sort, double fpr, uint64_t bytes)
{
    perhaps_filter *filter = make(sort, fpr, bytes);
    perhaps_filter *twin = make(sort, fpr, bytes);
    uint64_t first = 0;
    for (size_t i = 0; i < SUPPORT_COUNT(counts); i++) {
        uint64_t *hashes = support_allocate(counts[i] * sizeof *hashes);
        for (size_t j = 0; j < counts[i]; j++) {
            hashes[j] = first + (j % 5 == 4 ? j / 2 : j);
        }
        check_sorted(filter, twin, hashes, counts[i]);
        first += counts[i] / 2;
        free(hashes);
    }
    perhaps_free(filter);
    perhaps_free(twin);
}

// One position a key and many, one region that is a part of one, and several of which the last one is. In the smallest
// filter many positions of a key coincide, and counters come to their maximum.
static void test_counts(void **state)
{
    static const double rates[] = {0.5, 0.01, 1e-6};
    static const uint64_t bytes[] = {2560, 6400, (3 * PERHAPS_REGION_BITS + 512) / 8, 2 * PERHAPS_REGION_BITS / 8};
    for (size_t i = 0; i < SUPPORT_COUNT(all); i++) {
        for (size_t j = 0; j < SUPPORT_COUNT(rates) * SUPPORT_COUNT(bytes); j++) {
            check_counts(&all[i], rates[j % SUPPORT_COUNT(rates)], bytes[j / SUPPORT_COUNT(rates)]);
        }
    }
}

// All keys are one, or a few: their regions are full long before the batch ends, and counters of 4 and 8 bits come to their
// maximum.
static void check_full_regions(const struct sort *sort, uint64_t first, uint64_t different)
{
    perhaps_filter *filter = make(sort, 0.01, 9 * PERHAPS_REGION_BITS / 8);
    perhaps_filter *twin = make(sort, 0.01, 9 * PERHAPS_REGION_BITS / 8);
    const size_t count = 20000;
    uint64_t *hashes = support_allocate(count * sizeof *hashes);
    for (size_t i = 0; i < count; i++) {
        hashes[i] = first + (i % 4000 == 3999 ? i : i % different);
    }
    check_sorted(filter, twin, hashes, count);
    free(hashes);
    perhaps_free(filter);
    perhaps_free(twin);
}

static void test_full_regions(void **state)
{
    for (size_t i = 0; i < SUPPORT_COUNT(all); i++) {
        for (uint64_t different = 1; different <= 3; different++) {
            check_full_regions(&all[i], 0, different);
        }
    }
}

// Whether two positions of a hash are one.
static bool coincides(const struct perhaps__view *view, uint64_t hash)
{
    uint64_t positions[PERHAPS_MAX_POSITIONS];
    bool found = false;
    struct perhaps__walk walk = perhaps__walk_start(perhaps__place(hash, view->seed_key));
    for (uint64_t i = 0; i < view->positions; i++) {
        positions[i] = perhaps__walk_next(&walk, view->range);
        for (uint64_t j = 0; j < i; j++) {
            found |= positions[j] == positions[i];
        }
    }
    return found;
}

// A region may be full between two positions of a key that are one counter, which counts the key once all the same.
static void test_full_between(void **state)
{
    const struct sort *sort = &all[3];
    perhaps_filter *shape = make(sort, 0.01, 9 * PERHAPS_REGION_BITS / 8);
    uint64_t hash = 0;
    for (size_t found = 0; found < 20; found++) {
        do {
            hash++;
        } while (!coincides(&shape->view, hash));
        check_full_regions(sort, hash, 1);
    }
    perhaps_free(shape);
}

// A hash from *next on whose only position is in a region of so many cells.
static uint64_t hash_in(const perhaps_filter *filter, uint64_t cells, uint64_t region, uint64_t *next)
{
    for (;;) {
        uint64_t hash = (*next)++;
        struct perhaps__walk walk = perhaps__walk_start(perhaps__place(hash, filter->view.seed_key));
        if (perhaps__walk_next(&walk, filter->view.range) / cells == region) {
            return hash;
        }
    }
}

// Regions to which no key goes for long, at the beginning and later: an entry tells only the lowest bits of its key's
// number.
static void check_gap(const struct sort *sort, size_t gap)
{
    perhaps_filter *filter = make(sort, 0.5, 3 * PERHAPS_REGION_BITS / 8);
    perhaps_filter *twin = make(sort, 0.5, 3 * PERHAPS_REGION_BITS / 8);
    const uint64_t cells = PERHAPS_REGION_BITS / (sort->counter_bits > 0 ? sort->counter_bits : 1);
    const size_t count = 16000;
    uint64_t *hashes = support_allocate(count * sizeof *hashes);
    uint64_t next = 0;
    for (size_t i = 0; i < count; i++) {
        hashes[i] = hash_in(filter, cells, (i + 1) % (gap + 1) == 0 ? 1 : 0, &next);
    }
    check_sorted(filter, twin, hashes, count);
    free(hashes);
    perhaps_free(filter);
    perhaps_free(twin);
}

static void test_gaps(void **state)
{
    static const size_t gaps[] = {1, 1022, 1023, 1024, 1025, 2046, 2047, 2048, 2049, 3000, 4096, 6000};
    for (size_t i = 0; i < SUPPORT_COUNT(gaps); i++) {
        check_gap(&all[i % 2], gaps[i]);
        check_gap(&all[(i + 1) % 2], gaps[i]);
    }
}

/* ---------------------------------------------------------------- choosing */

#ifdef PERHAPS_TEST_SUPPORT
#define SAMPLED (2 * 100)

static const struct perhaps__bulk_limits small_limits = {
    .smallest = UINT64_C(512) << 10, .cache = 1, .most = 60000, .sample = 100, .samples = 2, .slow = 0};

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

static void begin_with(struct subject *subject, perhaps_options options)
{
    *subject = (struct subject){.next = 0};
    subject->allocator = support_memory_allocator(&subject->memory);
    options.fpr = 0.01;
    options.bytes = LINES * 64;
    options.seed = 42;
    subject->twin = support_create(&options);
    options.allocator = &subject->allocator;
    subject->filter = support_create(&options);
}

static void begin(struct subject *subject, uint32_t kind, uint32_t hash_source)
{
    begin_with(subject, SUPPORT_OPTIONS(.kind = kind, .hash_source = hash_source));
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

// Of so many, every other one is absent.
static uint64_t asked_key(size_t i)
{
    return i % 2 == 0 ? i : UINT64_C(1) << 40 | i;
}

// Asks a filter for so many keys in one call, and its twin for one after the other.
static void check_answers(const perhaps_filter *filter, const perhaps_filter *twin, size_t count)
{
    uint64_t *hashes = support_allocate(count * sizeof *hashes);
    uint8_t *out = support_allocate(count);
    for (size_t i = 0; i < count; i++) {
        hashes[i] = asked_key(i);
    }
    size_t done = 0;
    assert_int_equal(perhaps_might_contain_many_hash(filter, hashes, count, out, &done), PERHAPS_OK);
    assert_int_equal(done, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(out[i], perhaps_might_contain_hash(twin, hashes[i]));
    }
    free(hashes);
    free(out);
}

// How many allocations that made.
static uint64_t ask_hashes(struct subject *subject, size_t count)
{
    uint64_t before = subject->memory.calls;
    check_answers(subject->filter, subject->twin, count);
    return subject->memory.calls - before;
}

// Below the threshold, at it, and with rests behind one and two slices that are too small and large enough.
static void check_thresholds(uint32_t kind)
{
    struct subject subject;
    begin(&subject, kind, PERHAPS_HASH_CALLER);
    size_t least = fewest(&subject);
    size_t slice = (size_t)(4 * LINES / subject.filter->view.positions);
    const size_t directly[] = {SAMPLED, SAMPLED + least - 1};
    const size_t sorted[] = {
        least, slice - 1, slice, slice + 1, slice + least - 1, slice + least, 2 * slice + least + 1};
    for (size_t i = 0; i < SUPPORT_COUNT(directly); i++) {
        assert_int_equal(add_hashes(&subject, directly[i], true), 0);
        assert_int_equal(ask_hashes(&subject, directly[i]), 0);
    }
    for (size_t i = 0; i < SUPPORT_COUNT(sorted); i++) {
        assert_int_equal(add_hashes(&subject, SAMPLED + sorted[i], true), 1);
        assert_int_equal(add_hashes(&subject, SAMPLED + sorted[i], false), 1);
        assert_int_equal(ask_hashes(&subject, SAMPLED + sorted[i]), 1);
    }
    end(&subject);
}

static void test_thresholds(void **state)
{
    check_thresholds(PERHAPS_KIND_BLOOM);
    check_thresholds(PERHAPS_KIND_COUNTING);
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
    perhaps__bulk_limits.cache = LINES * 64; // holds it all
    assert_int_equal(add_hashes(&subject, 20000, true), 0);
    perhaps__bulk_limits = small_limits;
    perhaps__bulk_limits.most = 2 * LINES - 1; // too few of every line
    assert_int_equal(add_hashes(&subject, 20000, true), 0);
    perhaps__bulk_limits = small_limits;
    assert_int_equal(add_hashes(&subject, 20000, true), 1);
    end(&subject);
}

// Kinds whose keys are in one place, counters that depend on each other, threads, and several layers.
static void test_only_where_it_can_be(void **state)
{
    const perhaps_options others[] = {
        SUPPORT_OPTIONS(.kind = PERHAPS_KIND_BLOCKED),
        SUPPORT_OPTIONS(.kind = PERHAPS_KIND_COUNTING, .policy = PERHAPS_POLICY_CONSERVATIVE),
        SUPPORT_OPTIONS(.kind = PERHAPS_KIND_BLOOM, .flags = PERHAPS_SHARED),
        SUPPORT_OPTIONS(.kind = PERHAPS_KIND_COUNTING, .flags = PERHAPS_SHARED),
    };
    for (size_t i = 0; i < SUPPORT_COUNT(others); i++) {
        struct subject subject;
        perhaps_options options = others[i];
        options.hash_source = PERHAPS_HASH_CALLER;
        begin_with(&subject, options);
        assert_int_equal(add_hashes(&subject, 20000, true), 0);
        assert_int_equal(ask_hashes(&subject, 20000), 0);
        end(&subject);
    }
}

static void add_first(perhaps_filter *filter, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        assert_int_not_equal(perhaps_add_hash(filter, i), PERHAPS_E_FULL);
    }
}

// Layers are asked one by one, and damaged bytes are never believed: both have functions of their own.
static void test_not_behind_others(void **state)
{
    perhaps__bulk_limits.smallest = 0;
    perhaps_filter *grown =
        support_create(&SUPPORT_OPTIONS(.capacity = 1000, .fpr = 0.01, .hash_source = PERHAPS_HASH_CALLER,
                                        .at_capacity = PERHAPS_AT_CAPACITY_GROW));
    add_first(grown, 10000);
    assert_true(grown->layer_count > 2);
    check_answers(grown, grown, 20000);
    perhaps_free(grown);

    perhaps_filter *filter = support_create(&SUPPORT_OPTIONS(.kind = PERHAPS_KIND_COUNTING, .capacity = 10000,
                                                             .fpr = 0.01, .hash_source = PERHAPS_HASH_CALLER));
    add_first(filter, 10000);
    check_answers(filter, filter, 20000);
    struct support_bytes bytes = support_encode(filter);
    memset(bytes.data + bytes.size - 8192, 0, 8192);
    perhaps_filter *damaged = support_view_of(bytes, PERHAPS_OPEN_FIRST_TOUCH, NULL);
    check_answers(damaged, damaged, 20000);
    assert_int_equal(perhaps_might_contain_hash(damaged, 0), 1);
    assert_int_equal(support_stats(damaged).chunks_damaged, 1);
    perhaps_free(damaged);
    perhaps_free(filter);
    free(bytes.data);
}

// Without memory it takes longer, and nothing else is different.
static void test_without_memory(void **state)
{
    struct subject subject;
    begin(&subject, PERHAPS_KIND_BLOOM, PERHAPS_HASH_CALLER);
    subject.memory.fail_at = subject.memory.calls + 1;
    assert_int_equal(add_hashes(&subject, 20000, true), 1);
    assert_int_equal(add_hashes(&subject, 20000, false), 1);
    subject.memory.fail_at = subject.memory.calls + 1;
    assert_int_equal(ask_hashes(&subject, 20000), 1);
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

// The same for asking.
static uint64_t ask_keys(struct subject *subject, size_t count, uint64_t fail)
{
    uint64_t before = subject->memory.calls;
    uint64_t *numbers = support_allocate(count * sizeof *numbers);
    uint64_t *offsets = support_allocate((count + 1) * sizeof *offsets);
    uint8_t *out = support_allocate(count);
    for (size_t i = 0; i <= count; i++) {
        offsets[i] = i * sizeof *numbers;
    }
    for (size_t i = 0; i < count; i++) {
        numbers[i] = asked_key(i);
    }
    size_t done = 0;
    subject->memory.fail_at = fail > 0 ? before + fail : 0;
    assert_int_equal(perhaps_might_contain_many(subject->filter, numbers, offsets, count, out, &done), PERHAPS_OK);
    assert_int_equal(done, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(out[i], perhaps_might_contain(subject->twin, &numbers[i], sizeof *numbers));
    }
    free(numbers);
    free(offsets);
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
    assert_int_equal(ask_keys(&subject, 3 * slice, 0), 4);
    assert_int_equal(ask_keys(&subject, 5000, 1), 1);
    assert_int_equal(ask_keys(&subject, 5000, 2), 2);
    end(&subject);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_full_regions),
        cmocka_unit_test(test_full_between),
        cmocka_unit_test(test_gaps),
#ifdef PERHAPS_TEST_SUPPORT
        cmocka_unit_test_setup_teardown(test_thresholds, use_small_limits, use_usual_limits),
        cmocka_unit_test_setup_teardown(test_only_where_it_pays, use_small_limits, use_usual_limits),
        cmocka_unit_test_setup_teardown(test_only_where_it_can_be, use_small_limits, use_usual_limits),
        cmocka_unit_test_setup_teardown(test_not_behind_others, use_small_limits, use_usual_limits),
        cmocka_unit_test_setup_teardown(test_without_memory, use_small_limits, use_usual_limits),
        cmocka_unit_test_setup_teardown(test_keys, use_small_limits, use_usual_limits),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
