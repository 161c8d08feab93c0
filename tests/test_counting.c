// SPDX-License-Identifier: MIT
// Counting filters against counters kept by the book; limits of counters; removing. test_counting_whole.c has sizes,
// merges and files; test_counting_model.c holds filters against exact multisets, test_counting_rate.c their error rates
// against predictions.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#include "counting.h"
#include "filter.h"
#include "place.h"

static const uint32_t widths[] = {4, 8, 16};
static const uint32_t policies[] = {PERHAPS_POLICY_MULTISET, PERHAPS_POLICY_CONSERVATIVE};

static perhaps_filter *make(uint64_t capacity, double fpr, uint32_t width, uint32_t policy)
{
    return support_create(&SUPPORT_OPTIONS(.kind = PERHAPS_KIND_COUNTING, .capacity = capacity, .fpr = fpr, .seed = 5,
                                           .counter_bits = width, .policy = policy));
}

/* ---------------------------------------------------------------- by the book */

// Counters one by one, and what happened to them.
struct book {
    uint32_t *counters;
    uint64_t range;
    uint32_t positions;
    uint32_t most;
    bool conservative;
    uint64_t seed_key;
    struct perhaps__tally tally;
};

static struct book open_book(const perhaps_filter *filter)
{
    const struct perhaps__layer *layer = filter->layers[0];
    return (struct book){
        .counters = support_allocate(layer->range * sizeof(uint32_t)),
        .range = layer->range,
        .positions = layer->shape.positions,
        .most = (1U << layer->shape.cell_bits) - 1,
        .conservative = layer->shape.policy == PERHAPS_POLICY_CONSERVATIVE,
        .seed_key = perhaps__seed_key(filter->seed),
    };
}

// The different positions of a hash; how many.
static uint32_t positions_of(const struct book *book, uint64_t hash, uint64_t *positions)
{
    struct perhaps__walk walk = perhaps__walk_start(perhaps__place(hash, book->seed_key));
    uint32_t count = 0;
    for (uint32_t i = 0; i < book->positions; i++) {
        uint64_t position = perhaps__walk_next(&walk, book->range);
        bool seen = false;
        for (uint32_t j = 0; j < count; j++) {
            seen |= positions[j] == position;
        }
        positions[count] = position;
        count += !seen;
    }
    return count;
}

static uint32_t smallest_of(const struct book *book, const uint64_t *positions, uint32_t count)
{
    uint32_t smallest = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t value = book->counters[positions[i]];
        smallest = value < smallest ? value : smallest;
    }
    return smallest;
}

static uint64_t book_count(const struct book *book, uint64_t hash)
{
    uint64_t positions[64];
    uint32_t smallest = smallest_of(book, positions, positions_of(book, hash, positions));
    return smallest == book->most ? PERHAPS_COUNT_UNBOUNDED : smallest;
}

static uint8_t book_add(struct book *book, uint64_t hash)
{
    uint64_t positions[64];
    uint32_t count = positions_of(book, hash, positions);
    uint32_t smallest = smallest_of(book, positions, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *counter = &book->counters[positions[i]];
        if (*counter < book->most && (!book->conservative || *counter == smallest)) {
            ++*counter;
            book->tally.used += *counter == 1;
            book->tally.saturated += *counter == book->most;
        }
    }
    book->tally.copies++;
    book->tally.keys += smallest == 0;
    return smallest == 0;
}

static uint8_t book_remove(struct book *book, uint64_t hash)
{
    uint64_t positions[64];
    uint32_t count = positions_of(book, hash, positions);
    if (smallest_of(book, positions, count) == 0) {
        return 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *counter = &book->counters[positions[i]];
        if (*counter < book->most) {
            --*counter;
            book->tally.used -= *counter == 0;
        }
    }
    book->tally.copies -= book->tally.copies > 0;
    book->tally.removals++;
    return 1;
}

// Counter i begins at bit i * w, the least significant first, in a payload of little-endian bytes.
static uint32_t counter_in(const uint8_t *payload, uint64_t i, uint32_t width)
{
    uint32_t value = 0;
    for (uint32_t bit = 0; bit < width; bit++) {
        uint64_t at = i * width + bit;
        value |= (uint32_t)(payload[at / 8] >> at % 8 & 1) << bit;
    }
    return value;
}

static void assert_as_in_book(const perhaps_filter *filter, const struct book *book)
{
    for (uint64_t i = 0; i < book->range; i++) {
        uint32_t value = counter_in(filter->layers[0]->payload, i, filter->layers[0]->shape.cell_bits);
        if (value != book->counters[i]) {
            fail_msg("counter %llu is %u, %u expected", (unsigned long long)i, value, book->counters[i]);
        }
    }
    assert_memory_equal(&filter->layers[0]->tally, &book->tally, sizeof book->tally);
    struct perhaps__tally counted = {0};
    perhaps__layer_recount(filter->layers[0], &counted);
    assert_true(counted.used == book->tally.used && counted.saturated == book->tally.saturated);
}

#define MOST_AT_ONCE 100

// One batch of adds, removes or questions, by near or far functions, compared result by result.
static void run_batch(perhaps_filter *filter, struct book *book, bool far, uint64_t *random)
{
    const struct perhaps__counting_kernel *kernel = perhaps__counting_kernel(filter->layers[0]->shape.cell_bits);
    const struct perhaps__view *view = &filter->view;
    struct perhaps__tally *tally = &filter->layers[0]->tally;
    uint64_t hashes[MOST_AT_ONCE] = {0};
    uint64_t counts[MOST_AT_ONCE] = {0};
    uint8_t out[MOST_AT_ONCE] = {0};
    size_t count = (size_t)(support_random(random) % (MOST_AT_ONCE + 1));
    for (size_t i = 0; i < count; i++) {
        uint64_t number = support_random(random);
        hashes[i] = number % 4 == 0 ? number >> 8 & 3 : number >> 8 & 127; // four of them often
    }
    uint64_t verb = support_random(random) % 4;
    int refusal = 0;
    if (verb == 0) {
        assert_int_equal((far ? kernel->add_far : kernel->add_near)(view, hashes, count, out, tally, &refusal), count);
    } else if (verb == 1 && !book->conservative) {
        (far ? kernel->remove_far : kernel->remove_near)(view, hashes, count, out, tally);
    } else if (verb == 2) {
        (far ? kernel->ask_far : kernel->ask_near)(view, hashes, count, out);
    } else {
        (far ? kernel->count_far : kernel->count_near)(view, hashes, count, counts);
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t most = book_count(book, hashes[i]);
        if (verb == 0) {
            assert_int_equal(out[i], book_add(book, hashes[i]));
        } else if (verb == 1 && !book->conservative) {
            assert_int_equal(out[i], book_remove(book, hashes[i]));
        } else if (verb == 2) {
            assert_int_equal(out[i], most > 0);
            assert_int_equal(kernel->ask(view, hashes[i]), most > 0);
        } else {
            assert_true(counts[i] == most);
        }
    }
}

// A third of the counters begin near their maximum, where keys and copies that would bring them there are many.
static void begin_near_maximum(perhaps_filter *filter, struct book *book, uint64_t *random)
{
    uint32_t width = filter->layers[0]->shape.cell_bits;
    for (uint64_t i = 0; i < book->range; i += 1 + support_random(random) % 5) {
        book->counters[i] = book->most - (uint32_t)(support_random(random) % 4);
        for (uint32_t bit = 0; bit < width; bit++) {
            uint64_t at = i * width + bit;
            filter->layers[0]->payload[at / 8] |= (uint8_t)((book->counters[i] >> bit & 1) << at % 8);
        }
        book->tally.used++;
        book->tally.saturated += book->counters[i] == book->most;
    }
    filter->layers[0]->tally = book->tally;
}

// In 512 counters and more the positions of a key often coincide, and several hashes share a byte.
static void check_by_the_book(double fpr, uint32_t width, uint32_t policy, bool far, bool near_maximum)
{
    perhaps_filter *filter = make(30, fpr, width, policy);
    struct book book = open_book(filter);
    uint64_t random = width * 1000 + policy * 10 + far;
    if (near_maximum) {
        begin_near_maximum(filter, &book, &random);
    }
    uint64_t saturated = book.tally.saturated;
    for (int i = 0; i < 1200; i++) {
        run_batch(filter, &book, far, &random);
        if (i % 50 == 0) {
            assert_as_in_book(filter, &book);
        }
    }
    assert_as_in_book(filter, &book);
    assert_true(book.tally.keys > 0 && (near_maximum || book.tally.copies > 0));
    assert_true((book.tally.removals > 0) == (policy == PERHAPS_POLICY_MULTISET));
    assert_true(book.tally.saturated > saturated || !near_maximum || book.conservative);
    free(book.counters);
    perhaps_free(filter);
}

static void test_by_the_book(void **state)
{
    static const double rates[] = {0.5, 0.25, 0.01, 1e-9};
    for (size_t i = 0; i < SUPPORT_COUNT(rates); i++) {
        for (size_t j = 0; j < SUPPORT_COUNT(widths); j++) {
            for (size_t k = 0; k < SUPPORT_COUNT(policies); k++) {
                check_by_the_book(rates[i], widths[j], policies[k], false, false);
                check_by_the_book(rates[i], widths[j], policies[k], true, false);
                check_by_the_book(rates[i], widths[j], policies[k], false, true);
                check_by_the_book(rates[i], widths[j], policies[k], true, true);
            }
        }
    }
}

/* ---------------------------------------------------------------- limits of counters */

static void test_twenty_adds_and_fifteen_removes(void **state)
{
    perhaps_filter *filter = make(100, 0.01, 4, PERHAPS_POLICY_MULTISET);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(perhaps_add(filter, "often", 5), i == 0);
        assert_true(perhaps_count_at_most(filter, "often", 5) == (i < 14 ? (uint64_t)i + 1 : PERHAPS_COUNT_UNBOUNDED));
    }
    for (int i = 0; i < 15; i++) {
        assert_int_equal(perhaps_remove(filter, "often", 5), 1);
    }
    assert_int_equal(perhaps_might_contain(filter, "often", 5), 1);
    assert_true(perhaps_count_at_most(filter, "often", 5) == PERHAPS_COUNT_UNBOUNDED);
    perhaps_statistics s = support_stats(filter);
    assert_true(s.copies == 5 && s.removals == 15 && s.adds == 1);
    assert_true(s.saturated == s.set_bits && s.saturated > 0);
    // What keeps it there is not counted below zero.
    for (int i = 0; i < 10; i++) {
        assert_int_equal(perhaps_remove(filter, "often", 5), 1);
    }
    assert_true(support_stats(filter).copies == 0 && support_stats(filter).removals == 25);
    perhaps_free(filter);
}

// A million copies of one key saturate its counters and nothing else.
static void check_copies(uint32_t width, uint32_t policy)
{
    const uint64_t others = 1000;
    perhaps_filter *filter = make(others + 1, 0.01, width, policy);
    perhaps_filter *twin = make(others + 1, 0.01, width, policy); // has the key as often as saturates it
    for (uint64_t i = 0; i < 1000000; i++) {
        assert_true(perhaps_add_hash(filter, 77) >= 0);
    }
    for (uint64_t i = 0; i < (UINT64_C(1) << width) - 1; i++) {
        assert_true(perhaps_add_hash(twin, 77) >= 0);
    }
    support_add_keys(filter, SUPPORT_WORDS, 0, others);
    support_add_keys(twin, SUPPORT_WORDS, 0, others);
    perhaps_statistics s = support_stats(filter);
    assert_memory_equal(filter->layers[0]->payload, twin->layers[0]->payload, s.bytes);
    assert_true(perhaps_count_at_most_hash(filter, 77) == PERHAPS_COUNT_UNBOUNDED);
    assert_int_equal(perhaps_might_contain_times_hash(filter, 77, UINT64_MAX), 1);
    assert_true(s.saturated == s.positions && s.copies == 1000000 + others);
    assert_true(fabs(s.saturated_share * (double)filter->layers[0]->range - s.positions) < 1e-6);
    assert_int_equal(support_count_present(filter, SUPPORT_WORDS, 0, others), others);
    assert_in_range(support_count_present(filter, SUPPORT_WORDS, SUPPORT_ABSENT, 10000), 0, 200);
    perhaps_free(filter);
    perhaps_free(twin);
}

static void test_a_million_copies(void **state)
{
    for (size_t i = 0; i < SUPPORT_COUNT(widths); i++) {
        check_copies(widths[i], PERHAPS_POLICY_MULTISET);
        check_copies(widths[i], PERHAPS_POLICY_CONSERVATIVE);
    }
}

static void test_times(void **state)
{
    for (size_t i = 0; i < SUPPORT_COUNT(widths); i++) {
        perhaps_filter *filter = make(100, 0.01, widths[i], PERHAPS_POLICY_MULTISET);
        assert_true(perhaps_count_at_most(filter, "x", 1) == 0);
        assert_int_equal(perhaps_might_contain_times(filter, "x", 1, 0), 1);
        assert_int_equal(perhaps_might_contain_times(filter, "x", 1, 1), 0);
        for (uint64_t added = 1; added <= 300; added++) {
            assert_int_equal(perhaps_add(filter, "x", 1), added == 1);
            bool unbounded = added >= (UINT64_C(1) << widths[i]) - 1;
            assert_true(perhaps_count_at_most(filter, "x", 1) == (unbounded ? PERHAPS_COUNT_UNBOUNDED : added));
            assert_int_equal(perhaps_might_contain_times(filter, "x", 1, added), 1);
            assert_int_equal(perhaps_might_contain_times(filter, "x", 1, added + 1), unbounded);
            assert_int_equal(perhaps_might_contain_times(filter, "x", 1, UINT64_MAX), unbounded);
        }
        perhaps_free(filter);
    }
}

/* ---------------------------------------------------------------- removing */

static void test_removing_what_is_absent_changes_nothing(void **state)
{
    perhaps_filter *filter = make(1000, 0.01, 4, PERHAPS_POLICY_MULTISET);
    support_add_keys(filter, SUPPORT_WORDS, 0, 1000);
    struct support_bytes before = support_encode(filter);
    uint64_t absent = 0;
    for (uint64_t hash = 0; hash < 1000; hash++) {
        if (perhaps_might_contain_hash(filter, hash) == 0) {
            assert_int_equal(perhaps_remove_hash(filter, hash), 0);
            absent++;
        }
    }
    assert_in_range(absent, 950, 1000);
    support_assert_unchanged(filter, before);
    free(before.data);
    perhaps_free(filter);
}

// Removed to zero the filter is an empty one but for its account.
static void test_removing_everything(void **state)
{
    for (size_t i = 0; i < SUPPORT_COUNT(widths); i++) {
        perhaps_filter *filter = make(1000, 0.01, widths[i], PERHAPS_POLICY_MULTISET);
        support_add_keys(filter, SUPPORT_URLS, 0, 1000);
        assert_int_equal(support_stats(filter).saturated, 0);
        uint8_t key[SUPPORT_KEY_MAX];
        for (uint64_t number = 0; number < 1000; number++) {
            size_t length = support_key(SUPPORT_URLS, number, key);
            assert_int_equal(perhaps_remove(filter, key, length), 1);
        }
        perhaps_statistics s = support_stats(filter);
        assert_true(s.set_bits == 0 && s.copies == 0 && s.removals == 1000 && s.adds > 900);
        assert_true(s.fpr_now == 0.0 && s.distinct_estimate == 0.0 && s.times_fpr[0] == 0.0);
        support_add_keys(filter, SUPPORT_URLS, 0, 1000);
        assert_int_equal(support_count_present(filter, SUPPORT_URLS, 0, 1000), 1000);
        struct support_bytes bytes = support_encode(filter);
        perhaps_filter *copy = support_decode(bytes.data, bytes.size);
        perhaps_statistics of_copy = support_stats(copy);
        s = support_stats(filter);
        assert_memory_equal(&of_copy, &s, sizeof s);
        free(bytes.data);
        perhaps_free(copy);
        perhaps_free(filter);
    }
}

static void test_conservative(void **state)
{
    perhaps_filter *plain = make(500, 0.05, 8, PERHAPS_POLICY_MULTISET);
    perhaps_filter *tight = make(500, 0.05, 8, PERHAPS_POLICY_CONSERVATIVE);
    uint64_t random = 3;
    uint64_t added[1000] = {0};
    for (int i = 0; i < 20000; i++) {
        uint64_t hash = support_random(&random) % 1000;
        hash = hash * hash / 1000; // small ones more often
        added[hash]++;
        assert_true(perhaps_add_hash(plain, hash) == perhaps_add_hash(tight, hash));
    }
    uint64_t tighter = 0;
    for (uint64_t hash = 0; hash < 1000; hash++) {
        uint64_t bound = perhaps_count_at_most_hash(tight, hash);
        assert_true(bound >= added[hash] && bound <= perhaps_count_at_most_hash(plain, hash));
        tighter += bound < perhaps_count_at_most_hash(plain, hash);
    }
    assert_true(tighter > 10);
    assert_true(support_stats(plain).set_bits == support_stats(tight).set_bits);
    struct support_bytes before = support_encode(tight);
    uint8_t out[2] = {7, 7};
    size_t done = 9;
    assert_int_equal(perhaps_remove_hash(tight, 0), PERHAPS_E_UNSUPPORTED);
    assert_int_equal(perhaps_remove(tight, "a", 1), PERHAPS_E_UNSUPPORTED);
    assert_int_equal(perhaps_remove_many_hash(tight, added, 2, out, &done), PERHAPS_E_UNSUPPORTED);
    assert_true(done == 0 && out[0] == 7);
    support_assert_unchanged(tight, before);
    free(before.data);
    perhaps_free(plain);
    perhaps_free(tight);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_the_book),
        cmocka_unit_test(test_twenty_adds_and_fifteen_removes),
        cmocka_unit_test(test_a_million_copies),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_removing_what_is_absent_changes_nothing),
        cmocka_unit_test(test_removing_everything),
        cmocka_unit_test(test_conservative),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
