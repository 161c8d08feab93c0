// SPDX-License-Identifier: MIT
// Cuckoo filters by number: sizes, loads, fillings as promised, and the false-positive rate.
//
//     test_cuckoo_rate [full]    full: all of it, in minutes
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

#include "cuckoo.h"
#include "filter.h"

static bool full;

static const uint32_t all_slots[] = {1, 2, 4, 8};
static const double all_rates[] = {0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6, 1e-8, 4e-9};

static perhaps_options options_for(uint32_t slots, uint64_t capacity, double fpr, uint64_t bytes)
{
    return SUPPORT_OPTIONS(.kind = PERHAPS_KIND_CUCKOO, .capacity = capacity, .fpr = fpr, .bytes = bytes,
                           .slots = slots);
}

static perhaps_sizing size_for(perhaps_options options)
{
    perhaps_sizing sizing = {.size = sizeof sizing};
    perhaps_error error = SUPPORT_ERROR;
    if (perhaps_size_for(&options, &sizing, &error) < 0) {
        fail_msg("%llu keys, p = %g, %llu bytes: %s", (unsigned long long)options.capacity, options.fpr,
                 (unsigned long long)options.bytes, error.text);
    }
    return sizing;
}

// ---- sizes

static void assert_same_size(const perhaps_sizing *a, const perhaps_sizing *b)
{
    assert_true(a->bits == b->bits && a->buckets == b->buckets && a->fingerprint_bits == b->fingerprint_bits &&
                a->slots == b->slots && a->capacity == b->capacity && a->fpr == b->fpr &&
                a->fpr_expected == b->fpr_expected);
}

static void check_size(uint32_t slots, uint64_t n, double p)
{
    perhaps_sizing s = size_for(options_for(slots, n, p, 0));
    assert_true(s.fpr_expected <= p && s.bits % 512 == 0 && s.slots == slots && s.positions == 0);
    assert_in_range(s.fingerprint_bits, 4, 32);
    uint64_t used = s.buckets * slots * s.fingerprint_bits;
    assert_true(s.bits >= used + 64 && s.bits < used + 64 + 512 && s.buckets % 2 == 0);
    assert_true(perhaps__cuckoo_fits(n, s.buckets, slots, s.fingerprint_bits));
    // One unit less is too few, for the keys or for the rate, with this width and with one bit less or more.
    for (uint32_t bits = s.fingerprint_bits - 1; bits <= s.fingerprint_bits + 1 && s.bits > 512; bits++) {
        uint64_t buckets = (s.bits - 512 - 64) / (slots * bits) & ~UINT64_C(1);
        double count = (double)perhaps__cuckoo_fingerprints(bits, bits);
        assert_true(bits < 4 || bits > 32 || buckets == 0 || !perhaps__cuckoo_fits(n, buckets, slots, bits) ||
                    perhaps__cuckoo_expected_fpr((double)n, (double)buckets, count) + ldexp((double)n, -64) > p);
    }
    // (n, bytes) and (p, bytes) come back to themselves.
    perhaps_sizing by_bytes = size_for(options_for(slots, n, 0, s.bytes));
    assert_true(by_bytes.fpr <= p * (1.0 + 1e-9) && by_bytes.bytes <= s.bytes && by_bytes.fpr_expected <= by_bytes.fpr);
    perhaps_sizing again = size_for(options_for(slots, n, by_bytes.fpr, 0));
    assert_same_size(&by_bytes, &again);
    perhaps_sizing most = size_for(options_for(slots, 0, p, s.bytes));
    assert_true(most.capacity >= n && most.bytes <= s.bytes);
    again = size_for(options_for(slots, most.capacity, p, 0));
    assert_same_size(&most, &again);
    assert_true(size_for(options_for(slots, most.capacity + 1, p, 0)).bytes > s.bytes);
}

static void test_sizes(void **state)
{
    static const uint64_t capacities[] = {1, 2, 8, 9, 33, 100, 999, 10000, 123456, 1000000, 100000000, 20000000000};
    for (size_t i = 0; i < SUPPORT_COUNT(all_slots); i++) {
        for (size_t j = 0; j < SUPPORT_COUNT(capacities); j++) {
            for (size_t k = 0; k < SUPPORT_COUNT(all_rates); k++) {
                bool can = all_rates[k] >= 4.0 * ldexp((double)capacities[j], -64);
                if (can && all_slots[i] * (double)all_rates[k] >= 1.6e-8 / all_slots[i]) {
                    check_size(all_slots[i], capacities[j], all_rates[k]);
                }
            }
        }
    }
}

static void test_more_keys_never_get_less(void **state)
{
    for (size_t i = 0; i < SUPPORT_COUNT(all_slots); i++) {
        for (size_t k = 0; k < SUPPORT_COUNT(all_rates) - 2; k++) {
            uint64_t before = 0;
            for (uint64_t n = 1; n < 100000; n += 1 + n / 50) {
                perhaps_sizing s = size_for(options_for(all_slots[i], n, all_rates[k], 0));
                assert_true(s.bits >= before);
                before = s.bits;
            }
        }
    }
}

static void test_bits_per_key(void **state)
{
    assert_true(size_for(options_for(4, 1000000, 0.01, 0)).bits_per_key <= 10.6);
    assert_true(size_for(options_for(4, 1000000, 0.001, 0)).bits_per_key <= 13.8);
    assert_int_equal(size_for(options_for(0, 1000000, 0.01, 0)).slots, 4);
}

static void test_asked_width(void **state)
{
    perhaps_options options = options_for(4, 1000000, 0.01, 0);
    perhaps_sizing free_choice = size_for(options);
    perhaps_sizing refused = {.size = sizeof refused};
    perhaps_error error = SUPPORT_ERROR;
    for (uint32_t bits = 4; bits <= 32; bits++) {
        options.fingerprint_bits = bits;
        if (bits < free_choice.fingerprint_bits) {
            support_assert_failed(perhaps_size_for(&options, &refused, &error), PERHAPS_E_OPTION, &error);
            continue;
        }
        perhaps_sizing s = size_for(options);
        assert_true(s.fingerprint_bits == bits && s.bits >= free_choice.bits && s.fpr_expected <= 0.01);
    }
}

// ---- loads

// A table of any number of buckets, without a filter around it. Its memory is to be freed.
static struct perhaps__view make_view(uint32_t slots, uint64_t buckets)
{
    uint64_t bits = 0;
    assert_true(perhaps__cuckoo_bits(buckets, slots, 16, &bits));
    struct perhaps__view view = {
        .memory = calloc(1, (size_t)(bits / 8)),
        .range = buckets,
        .shape = {.cell_bits = 16, .layout = 16, .slots = slots, .search = PERHAPS_SEARCH_DEFAULT},
    };
    view.shape.policy = PERHAPS_POLICY_MULTISET;
    perhaps__cuckoo_prepare(&view);
    assert_non_null(view.memory);
    return view;
}

// Adds keys 0, 1, 2, ... until one is refused, or `most`; how many.
static uint64_t fill(const struct perhaps__view *view, uint64_t most)
{
    struct perhaps__tally tally = {0};
    int refusal = 0;
    for (uint64_t key = 0; refusal == 0 && key < most; key++) {
        (void)perhaps__cuckoo_kernel(view->shape.slots, 16, 16)->add_near(view, &key, 1, NULL, &tally, &refusal);
    }
    assert_true(refusal == 0 || refusal == PERHAPS_E_FULL);
    return tally.used;
}

static void check_refusal(uint32_t slots, double median, double worst, unsigned seeds)
{
    const uint64_t buckets = full ? 1000000 : 50000;
    double loads[9];
    for (unsigned seed = 0; seed < seeds; seed++) {
        struct perhaps__view view = make_view(slots, buckets);
        view.seed_key = perhaps__seed_key(seed);
        uint64_t held = fill(&view, UINT64_MAX);
        loads[seed] = (double)held / (double)(buckets * slots);
        for (uint64_t key = 0; key < held; key++) {
            assert_int_equal(perhaps__cuckoo_kernel(slots, 16, 16)->ask(&view, key), 1);
        }
        free(view.memory);
    }
    unsigned below = 0;
    for (unsigned seed = 0; seed < seeds; seed++) {
        if (loads[seed] < worst) {
            fail_msg("%u slots, seed %u: refused at a load of %.4f", slots, seed, loads[seed]);
        }
        below += loads[seed] < median;
    }
    assert_true(below <= seeds / 2);
}

static void test_fill_to_refusal(void **state)
{
    unsigned seeds = full ? 9 : 3;
    check_refusal(1, 0.49, 0.47, seeds);
    check_refusal(2, 0.875, 0.87, seeds);
    check_refusal(4, 0.965, 0.96, seeds);
    check_refusal(8, 0.99, 0.985, full ? 9 : 1);
}

// Tables that hold exactly as many keys as they are trusted with; filters have some room beyond it by being rounded up.
static void test_trust_is_kept(void **state)
{
    static const uint64_t all[] = {32, 64, 128, 256, 512, 1024};
    for (size_t i = 1; i < SUPPORT_COUNT(all_slots); i++) {
        for (size_t j = 0; j < SUPPORT_COUNT(all); j++) {
            uint64_t buckets = all[j] / all_slots[i];
            uint64_t keys = 1;
            while (perhaps__cuckoo_fits(keys + 1, buckets, all_slots[i], 16)) {
                keys++;
            }
            assert_false(perhaps__cuckoo_fits(buckets * all_slots[i], buckets, all_slots[i], 16));
            for (uint64_t seed = 0; seed < SUPPORT_SCALED(full ? 20000U : 1000U); seed++) {
                struct perhaps__view view = make_view(all_slots[i], buckets);
                view.seed_key = perhaps__seed_key(seed);
                assert_int_equal(fill(&view, keys), keys);
                free(view.memory);
            }
        }
    }
}

// A filter takes as many distinct keys as it was made for.
static void check_promise(uint32_t slots, uint64_t n, double p, uint64_t fillings)
{
    perhaps_filter *filter = NULL;
    perhaps_options options = options_for(slots, n, p, 0);
    filter = support_create(&options);
    for (uint64_t i = 0; i < fillings; i++) {
        filter->view.seed_key = perhaps__seed_key(i);
        for (uint64_t key = 0; key < n; key++) {
            int result = perhaps_add_hash(filter, (i << 32) + key);
            if (result < 0) {
                fail_msg("%u slots, filling %llu: key %llu of %llu: %s", slots, (unsigned long long)i,
                         (unsigned long long)key, (unsigned long long)n, perhaps_error_name(result));
            }
        }
        assert_int_equal(perhaps_clear(filter), PERHAPS_OK);
    }
    perhaps_free(filter);
}

static void test_capacity_is_held(void **state)
{
    static const uint64_t capacities[] = {1, 2, 5, 9, 10, 17, 20, 31, 50, 77, 100, 200, 300, 1000, 3000, 10000};
    const uint64_t adds = SUPPORT_SCALED(full ? UINT64_C(20000000) : UINT64_C(200000));
    for (size_t i = 1; i < SUPPORT_COUNT(all_slots); i++) {
        for (size_t j = 0; j < SUPPORT_COUNT(capacities); j++) {
            check_promise(all_slots[i], capacities[j], 0.01, adds / capacities[j] + 1);
            check_promise(all_slots[i], capacities[j], 0.1, adds / capacities[j] / 4 + 1);
        }
        check_promise(all_slots[i], 1000000, 0.01, full ? 10 : 1);
    }
}

// ---- the rate

#define SIGMAS 5.0

// Of one filter: what passes, against what it predicts; and the prediction against the promise.
static void measure(const perhaps_filter *filter, uint64_t most)
{
    perhaps_statistics s = support_stats(filter);
    double wanted = fmin(fmax(1000.0 / s.fpr_now, 200000.0), (double)most);
    uint64_t queries = SUPPORT_SCALED((uint64_t)wanted);
    uint64_t hits = 0;
    enum { BATCH = 4096 };
    static uint64_t hashes[BATCH];
    static uint8_t out[BATCH];
    queries -= queries % BATCH;
    for (uint64_t first = 0; first < queries; first += BATCH) {
        for (uint64_t i = 0; i < BATCH; i++) {
            hashes[i] = SUPPORT_ABSENT + first + i;
        }
        assert_int_equal(perhaps_might_contain_many_hash(filter, hashes, BATCH, out, NULL), PERHAPS_OK);
        for (size_t i = 0; i < BATCH; i++) {
            hits += out[i];
        }
    }
    double expected = (double)queries * s.fpr_now;
    double deviation = sqrt(expected * (1.0 - s.fpr_now));
    if (fabs((double)hits - expected) > SIGMAS * deviation + (expected < 10.0 ? 2.0 : 0.0)) {
        fail_msg("%u slots, %u bits, load %.3f: %llu of %llu pass, %.1f expected, standard deviation %.1f", s.slots,
                 s.fingerprint_bits, s.fill, (unsigned long long)hits, (unsigned long long)queries, expected,
                 deviation);
    }
}

static void check_rate(uint32_t slots, double p, uint32_t policy, uint64_t n)
{
    perhaps_options options = options_for(slots, n, p, 0);
    options.policy = policy;
    options.seed = slots;
    perhaps_filter *filter = support_create(&options);
    for (uint64_t key = 0; key < n; key++) {
        assert_true(perhaps_add_hash(filter, key) >= 0);
        if (key == n / 2) {
            measure(filter, full ? 20000000 : 1000000);
        }
    }
    perhaps_statistics s = support_stats(filter);
    double looks = 1.0 - pow(1.0 - ldexp(1.0, -(int)s.fingerprint_bits), 2.0 * slots * s.fill);
    // With unique it counts the slots taken, fewer than n by some n * p / 2 look-alikes, a number that is up to chance.
    double luck = policy == PERHAPS_POLICY_UNIQUE ? SIGMAS * sqrt(p / 2.0 / (double)n) : 0.0;
    assert_true(s.fpr_now <= p * (1.0 + luck) &&
                fabs(s.fpr_now / looks - 1.0) < 0.2); // the textbook's formula, but for 1/(2^f - 1)
    measure(filter, full ? 200000000 : 4000000);
    perhaps_free(filter);
}

static void test_rate(void **state)
{
    const uint64_t n = full ? 1000000 : 100000;
    for (size_t i = 0; i < SUPPORT_COUNT(all_rates) && all_rates[i] >= 1e-6; i++) {
        check_rate(4, all_rates[i], PERHAPS_POLICY_MULTISET, n);
        check_rate(4, all_rates[i], PERHAPS_POLICY_UNIQUE, n);
        if (full || i < 3) {
            check_rate(2, all_rates[i], PERHAPS_POLICY_MULTISET, n);
            check_rate(8, all_rates[i], PERHAPS_POLICY_UNIQUE, n);
        }
    }
    check_rate(1, 0.1, PERHAPS_POLICY_UNIQUE, 1000);
}

// The mean over many small filters is what sizing expects.
static void test_small_filters(void **state)
{
    static const uint64_t capacities[] = {1, 10, 100, 1000};
    for (size_t i = 0; i < SUPPORT_COUNT(capacities); i++) {
        for (size_t j = 0; j < 4; j++) {
            perhaps_options options = options_for(4, capacities[i], all_rates[j], 0);
            perhaps_sizing sizing = size_for(options);
            const uint64_t seeds = 1000;
            const uint64_t queries = SUPPORT_SCALED(20000);
            uint64_t hits = 0;
            double squares = 0.0;
            for (options.seed = 0; options.seed < seeds; options.seed++) {
                perhaps_filter *filter = support_create(&options);
                for (uint64_t key = 0; key < capacities[i]; key++) {
                    assert_true(perhaps_add_hash(filter, key) >= 0);
                }
                uint64_t own = 0;
                for (uint64_t key = 0; key < queries; key++) {
                    own += (uint64_t)perhaps_might_contain_hash(filter, SUPPORT_ABSENT + key);
                }
                hits += own;
                squares += (double)own * (double)own;
                perhaps_free(filter);
            }
            double mean = (double)hits / (double)seeds;
            double deviation = sqrt(fmax(squares / (double)seeds - mean * mean, mean) / (double)seeds);
            double expected = sizing.fpr_expected * (double)queries;
            if (fabs(mean - expected) > SIGMAS * deviation + 5.0 / (double)seeds) {
                fail_msg("n = %llu, p = %g: %.3f hits a filter, %.3f expected, standard deviation %.3f",
                         (unsigned long long)capacities[i], all_rates[j], mean, expected, deviation);
            }
        }
    }
}

int main(int argc, char **argv)
{
    full = argc > 1 && strcmp(argv[1], "full") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_more_keys_never_get_less),
        cmocka_unit_test(test_bits_per_key),
        cmocka_unit_test(test_asked_width),
        cmocka_unit_test(test_fill_to_refusal),
        cmocka_unit_test(test_trust_is_kept),
        cmocka_unit_test(test_capacity_is_held),
        cmocka_unit_test(test_rate),
        cmocka_unit_test(test_small_filters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
