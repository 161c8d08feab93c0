// SPDX-License-Identifier: MIT
// The parts of the cuckoo kind: placement, slots bit by bit against docs/format.md, the search for room, and folding.
#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "support.h"

#include "cuckoo.h"

// A table of its own, exactly as large as sizing says, so that a sanitizer sees what lies behind it.
struct table {
    struct perhaps__view view;
    const struct perhaps__cuckoo_kernel *kernel;
    struct perhaps__cuckoo cuckoo;
    struct perhaps__tally tally;
    uint64_t bytes;
};

static struct table make(struct perhaps__shape shape, uint64_t buckets)
{
    uint64_t bits = 0;
    shape.search = shape.search == 0 ? PERHAPS_SEARCH_DEFAULT : shape.search;
    shape.policy = shape.policy == 0 ? PERHAPS_POLICY_MULTISET : shape.policy;
    shape.layout = shape.layout == 0 ? shape.cell_bits : shape.layout;
    assert_true(perhaps__cuckoo_bits(buckets, shape.slots, shape.cell_bits, &bits));
    struct table table = {.kernel = perhaps__cuckoo_kernel(shape.slots, shape.cell_bits, shape.layout),
                          .bytes = bits / 8};
    table.view = (struct perhaps__view){
        .ask = table.kernel->ask,
        .memory = support_allocate((size_t)table.bytes),
        .range = buckets,
        .seed_key = 99,
        .shape = shape,
    };
    memset(table.view.memory, 0, (size_t)table.bytes);
    perhaps__cuckoo_prepare(&table.view);
    table.cuckoo =
        perhaps__cuckoo_table(&table.view, shape.slots, table.view.shape.cell_bits, table.view.shape.layout, false);
    return table;
}

// 1 or 0, or the code of a refusal.
static int add(struct table *table, uint64_t hash)
{
    uint8_t out = 7;
    int refusal = 0;
    bool done = table->kernel->add_near(&table->view, &hash, 1, &out, &table->tally, &refusal) == 1;
    assert_true(done == (refusal == 0) && (out == 7) == !done);
    return done ? out : refusal;
}

static const uint32_t all_slots[] = {1, 2, 4, 8};

// ---- placement

// Both remainders, at the ends of their quotients, for divisors of every size.
static void check_remainders(uint64_t divisor, uint64_t random)
{
    const uint64_t last = (UINT64_C(1) << 52) - 1;
    struct perhaps__divider divider = perhaps__cuckoo_divider(divisor);
    uint64_t multiple = (random & last) / divisor * divisor;
    const uint64_t values[] = {0,        1,        divisor - 1,  divisor,      last,
                               last - 1, multiple, multiple - 1, multiple + 1, random};
    for (size_t i = 0; i < SUPPORT_COUNT(values); i++) {
        assert_true(perhaps__cuckoo_first(values[i], divisor, &divider) == (values[i] & last) % divisor);
        uint64_t sum = values[i] & UINT32_MAX;
        assert_true(perhaps__cuckoo_partner(sum, 0, divisor, &divider) == sum % divisor);
    }
}

static void test_remainders(void **state)
{
    uint64_t random = 1;
    for (unsigned i = 0; i < SUPPORT_SCALED(200000); i++) {
        uint64_t divisor = i < 5000 ? i + 1 : support_random(&random) >> (12 + i % 52);
        divisor = i % 7 == 0 ? UINT64_C(1) << i % 53 : divisor > 0 ? divisor : 1;
        check_remainders(divisor, support_random(&random));
    }
    for (uint64_t i = 0; i < 100; i++) {
        check_remainders((UINT64_C(1) << 32) - 50 + i, support_random(&random));
    }
}

// The other bucket's other bucket is the bucket itself, and what i2 is follows from the formula.
static void check_involution(uint64_t buckets, uint64_t bucket, uint64_t base)
{
    struct perhaps__cuckoo table = {.buckets = buckets, .divider = perhaps__cuckoo_divider(buckets)};
    uint64_t other = perhaps__cuckoo_other(&table, base, bucket);
    uint64_t product = base * UINT64_C(0x9e3779b1) & UINT32_MAX;
    uint64_t sum = (product ^ product >> 16) | 1;
    assert_true(other < buckets && other == (sum % buckets + buckets - bucket) % buckets);
    assert_true(perhaps__cuckoo_other(&table, base, other) == bucket);
    assert_true(buckets % 2 != 0 || other % 2 != bucket % 2);
}

static void test_involution(void **state)
{
    uint64_t random = 2;
    for (uint64_t buckets = 1; buckets <= 10000; buckets++) {
        for (unsigned i = 0; i < 64 / SUPPORT_SCALE; i++) {
            uint64_t number = support_random(&random);
            uint64_t bucket = i == 0 ? 0 : i == 1 ? buckets - 1 : number % buckets;
            check_involution(buckets, bucket, 1 + (number >> 32) % (i % 2 == 0 ? 15 : UINT32_MAX));
        }
    }
    for (uint64_t buckets = 1; buckets <= 64; buckets++) { // and all of them, with all of 4 and of 8 base bits
        for (uint64_t bucket = 0; bucket < buckets; bucket++) {
            for (uint64_t base = 1; base < 256; base++) {
                check_involution(buckets, bucket, base);
            }
        }
    }
    for (unsigned i = 0; i < 100000; i++) {
        uint64_t buckets = (UINT64_C(1) << 32) + (support_random(&random) >> (15 + i % 15));
        check_involution(buckets, support_random(&random) % buckets, 1 + (support_random(&random) >> 33));
    }
}

// By vectors and one by one: the same. Hashes at the ends of a bucket's range, where a quotient that is one off would show.
static void check_vectors(struct perhaps__shape shape, uint64_t buckets)
{
    struct perhaps__cuckoo_block by_one;
    struct perhaps__cuckoo_block by_four;
    struct perhaps__view view = {.range = buckets, .seed_key = 5, .shape = shape};
    uint64_t hashes[PERHAPS_CUCKOO_BLOCK];
    uint64_t random = buckets;
    perhaps__cuckoo_prepare(&view);
    for (size_t i = 0; i < PERHAPS_CUCKOO_BLOCK; i++) {
        uint64_t number = support_random(&random);
        uint64_t high = number & ~((UINT64_C(1) << 52) - 1);
        uint64_t multiple = (number - high) / buckets * buckets;
        const uint64_t placed[] = {number, high, high + multiple, high + multiple - 1};
        hashes[i] = support_unmix(placed[i % 4]) ^ view.seed_key;
    }
    for (size_t count = 1; count <= PERHAPS_CUCKOO_BLOCK; count += count < 9 ? 1 : 11) {
        perhaps__cuckoo_place_scalar(&view, hashes, count, &by_one);
        view.place_many(&view, hashes, count, &by_four);
        assert_memory_equal(by_one.fingerprint, by_four.fingerprint, count * sizeof(uint64_t));
        assert_memory_equal(by_one.first, by_four.first, count * sizeof(uint64_t));
        assert_memory_equal(by_one.second, by_four.second, count * sizeof(uint64_t));
    }
}

static void test_vectors_place_alike(void **state)
{
    static const int roundings[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
    uint64_t random = 4;
    for (unsigned i = 0; i < SUPPORT_SCALED(10000); i++) {
        struct perhaps__shape shape = {.slots = all_slots[i % 4], .cell_bits = 4 + i % 29};
        shape.layout = 4 + (uint32_t)(support_random(&random) % (shape.cell_bits - 3));
        uint64_t buckets = 1 + (support_random(&random) >> (20 + i % 44));
        buckets = i < 600 ? i + 1 : i % 5 == 0 ? UINT64_C(1) << i % 44 : buckets;
        assert_int_equal(fesetround(roundings[i / 2 % 4]), 0); // a program may have set any
        check_vectors(shape, buckets);
    }
    assert_int_equal(fesetround(FE_TONEAREST), 0);
}

// A narrower fingerprint of the same hash is the beginning of a wider one; base bits are never zero.
static void test_fingerprints_append_bits(void **state)
{
    uint64_t random = 3;
    for (unsigned i = 0; i < SUPPORT_SCALED(200000); i++) {
        uint64_t placed = i == 0 ? 0 : i == 1 ? UINT64_MAX : support_random(&random);
        uint32_t base = 4 + i % 29;
        uint64_t narrow = perhaps__cuckoo_fingerprint(placed, perhaps__cuckoo_least(base, base),
                                                      perhaps__cuckoo_fingerprints(base, base));
        assert_true(narrow > 0 && narrow < UINT64_C(1) << base);
        for (uint32_t bits = base; bits <= 32; bits++) {
            uint64_t wide = perhaps__cuckoo_fingerprint(placed, perhaps__cuckoo_least(bits, base),
                                                        perhaps__cuckoo_fingerprints(bits, base));
            assert_true(wide >> (bits - base) == narrow);
        }
    }
}

// Pearson's statistic over `cells` equally likely cells, in standard deviations from its mean.
static double chi_square_sigmas(const uint32_t *counts, size_t cells, double throws)
{
    double expected = throws / (double)cells;
    double sum = 0.0;
    for (size_t i = 0; i < cells; i++) {
        double difference = counts[i] - expected;
        sum += difference * difference / expected;
    }
    double freedom = (double)cells - 1.0;
    return (sum - freedom) / sqrt(2.0 * freedom);
}

// Buckets and fingerprints are even together: `part` of both, low or high digits, for plain integers as hashes.
static void check_spread(uint64_t buckets, uint32_t bits, bool high)
{
    enum { PARTS = 15, KEYS = 1 << 19 };
    struct table table = make((struct perhaps__shape){.cell_bits = bits, .slots = 1}, buckets);
    uint64_t fingerprints = table.cuckoo.fingerprints;
    uint32_t *counts = support_allocate(PARTS * PARTS * sizeof *counts);
    memset(counts, 0, PARTS * PARTS * sizeof *counts);
    for (uint64_t key = 0; key < KEYS; key++) {
        struct perhaps__cuckoo_home home = perhaps__cuckoo_home(&table.cuckoo, perhaps__place(key, 99));
        uint64_t rest = home.fingerprint - table.cuckoo.least;
        assert_true(rest < fingerprints && home.first < buckets);
        uint64_t part = high ? rest / (fingerprints / PARTS) : rest % PARTS; // 15 divides 2^f - 1 for f = 4, 8, ...
        uint64_t place = high ? home.first / (buckets / PARTS) : home.first % PARTS;
        counts[place * PARTS + part]++;
    }
    double sigmas = chi_square_sigmas(counts, PARTS * PARTS, KEYS);
    if (fabs(sigmas) > 5.0) {
        fail_msg("%llu buckets, %u bits, %s: %.1f standard deviations", (unsigned long long)buckets, bits,
                 high ? "high" : "low", sigmas);
    }
    free(counts);
    free(table.view.memory);
}

static void test_buckets_and_fingerprints_are_independent(void **state)
{
    static const uint64_t buckets[] = {15, 15 * 64, 15 * 4096, 65535, 15 * 1001};
    for (size_t i = 0; i < SUPPORT_COUNT(buckets); i++) {
        for (uint32_t bits = 4; bits <= 16; bits += 4) {
            check_spread(buckets[i], bits, false);
            check_spread(buckets[i], bits, true);
        }
    }
}

// ---- slots

// As docs/format.md describes it: bit j is bit j % 8 of byte j / 8.
static uint64_t reference_get(const uint8_t *bytes, uint64_t bit, uint32_t width)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < width; i++) {
        value |= (uint64_t)(bytes[(bit + i) / 8] >> (bit + i) % 8 & 1) << i;
    }
    return value;
}

static void reference_put(uint8_t *bytes, uint64_t bit, uint32_t width, uint64_t value)
{
    for (uint32_t i = 0; i < width; i++) {
        uint8_t mask = (uint8_t)(1U << (bit + i) % 8);
        uint8_t *byte = &bytes[(bit + i) / 8];
        *byte = (uint8_t)((value >> i & 1) != 0 ? *byte | mask : *byte & ~mask);
    }
}

static uint64_t slot_bit(const struct table *table, uint64_t bucket, uint32_t slot)
{
    return (bucket * table->view.shape.slots + slot) * table->view.shape.cell_bits;
}

// Values that differ in one bit, or in all but one, from what is looked for: borrows and carries would show.
static uint64_t near_value(uint64_t value, uint32_t bits, uint64_t random)
{
    uint64_t mask = (UINT64_C(1) << bits) - 1;
    const uint64_t values[] = {0, 1, value, value, value ^ 1, value ^ UINT64_C(1) << (bits - 1), mask, value ^ mask};
    return values[random % SUPPORT_COUNT(values)] & mask;
}

static void check_find(const struct table *table, uint64_t bucket, uint64_t value)
{
    uint64_t count = 0;
    uint64_t first = 0;
    for (uint32_t slot = table->view.shape.slots; slot-- > 0;) {
        uint64_t bit = slot_bit(table, bucket, slot);
        bool equal = reference_get(table->view.memory, bit, table->view.shape.cell_bits) == value;
        count += equal;
        first = equal ? bit : first;
    }
    struct perhaps__cuckoo_found found = perhaps__cuckoo_find(&table->cuckoo, slot_bit(table, bucket, 0), value);
    assert_true(found.count == count &&
                (perhaps__cuckoo_has(&table->cuckoo, slot_bit(table, bucket, 0), value) != 0) == (count > 0));
    assert_true(count == 0 || found.bit == first);
}

// Random writes, each compared with the whole of a second payload that is written bit by bit.
static void check_slots(uint32_t slots, uint32_t bits)
{
    enum { BUCKETS = 9 };
    struct table table = make((struct perhaps__shape){.cell_bits = bits, .slots = slots}, BUCKETS);
    uint8_t *copy = support_allocate((size_t)table.bytes);
    memset(copy, 0, (size_t)table.bytes);
    uint64_t random = slots * 100 + bits;
    for (unsigned i = 0; i < SUPPORT_SCALED(3000); i++) {
        uint64_t number = support_random(&random);
        uint64_t value = (number >> 20) & ((UINT64_C(1) << bits) - 1);
        uint64_t bucket = number % BUCKETS;
        uint64_t bit = slot_bit(&table, bucket, (uint32_t)(number >> 8) % slots);
        uint64_t written = near_value(value, bits, number >> 60);
        perhaps__cuckoo_put(&table.cuckoo, bit, written);
        reference_put(copy, bit, bits, written);
        assert_true(perhaps__cuckoo_get(&table.cuckoo, bit) == written);
        assert_memory_equal(copy, table.view.memory, (size_t)table.bytes);
        for (uint64_t j = 0; j < BUCKETS; j++) {
            check_find(&table, j, value);
        }
        check_find(&table, bucket, 0);
        check_find(&table, bucket, written);
    }
    free(copy);
    free(table.view.memory);
}

static void test_slots_of_every_width(void **state)
{
    for (size_t i = 0; i < SUPPORT_COUNT(all_slots); i++) {
        for (uint32_t bits = PERHAPS_CUCKOO_MIN_BITS; bits <= PERHAPS_CUCKOO_MAX_BITS; bits++) {
            check_slots(all_slots[i], bits);
        }
    }
}

// ---- kernels

enum { KEYS = 20000 };

// The same keys near and far, one at a time and many: the same results and bytes, also past refusals.
static void check_distances(struct perhaps__shape shape, uint64_t buckets)
{
    struct table a = make(shape, buckets);
    struct table b = make(shape, buckets);
    uint64_t *hashes = support_allocate(KEYS * sizeof *hashes);
    uint8_t *out[2] = {support_allocate(KEYS), support_allocate(KEYS)};
    uint64_t *counts[2] = {support_allocate(KEYS * sizeof(uint64_t)), support_allocate(KEYS * sizeof(uint64_t))};
    uint64_t random = shape.cell_bits;
    for (size_t i = 0; i < KEYS; i++) {
        hashes[i] = i % 5 == 4 ? hashes[i / 2] : support_random(&random);
    }
    memset(out[0], 9, KEYS);
    memset(out[1], 9, KEYS);
    uint64_t refused = 0;
    for (size_t done = 0; done < KEYS; done++) {
        int why = 0;
        done += b.kernel->add_far(&b.view, hashes + done, KEYS - done, out[1] + done, &b.tally, &why);
        refused += done < KEYS;
        assert_true(done == KEYS || why == PERHAPS_E_FULL || why == PERHAPS_E_COPIES);
    }
    for (size_t i = 0; i < KEYS; i++) {
        int result = add(&a, hashes[i]);
        out[0][i] = result >= 0 ? (uint8_t)result : 9;
    }
    assert_true(refused == a.tally.refused_full + a.tally.refused_copies && refused > 0);
    assert_memory_equal(out[0], out[1], KEYS);
    assert_memory_equal(&a.tally, &b.tally, sizeof a.tally);
    assert_memory_equal(a.view.memory, b.view.memory, (size_t)a.bytes);
    a.kernel->ask_near(&a.view, hashes, KEYS, out[0]);
    a.kernel->ask_far(&a.view, hashes, KEYS, out[1]);
    assert_memory_equal(out[0], out[1], KEYS);
    a.kernel->count_near(&a.view, hashes, KEYS, counts[0]);
    a.kernel->count_far(&a.view, hashes, KEYS, counts[1]);
    assert_memory_equal(counts[0], counts[1], KEYS * sizeof(uint64_t));
    for (size_t i = 0; i < KEYS; i++) {
        assert_true(a.kernel->ask(&a.view, hashes[i]) == out[0][i] && (counts[0][i] > 0) == out[0][i]);
    }
    a.kernel->remove_near(&a.view, hashes, KEYS / 2, out[0], &a.tally);
    b.kernel->remove_far(&b.view, hashes, KEYS / 2, out[1], &b.tally);
    assert_memory_equal(out[0], out[1], KEYS / 2);
    assert_memory_equal(&a.tally, &b.tally, sizeof a.tally);
    assert_memory_equal(a.view.memory, b.view.memory, (size_t)a.bytes);
    for (size_t i = 0; i < 2; i++) {
        free(out[i]);
        free(counts[i]);
    }
    free(hashes);
    free(a.view.memory);
    free(b.view.memory);
}

static void test_near_and_far_agree(void **state)
{
    static const uint32_t widths[] = {4, 8, 9, 12, 16, 17, 31, 32};
    for (size_t i = 0; i < SUPPORT_COUNT(all_slots); i++) {
        for (size_t j = 0; j < SUPPORT_COUNT(widths); j++) {
            struct perhaps__shape shape = {.cell_bits = widths[j], .slots = all_slots[i], .search = 64};
            check_distances(shape, 10007 / all_slots[i]);
        }
    }
    check_distances((struct perhaps__shape){.cell_bits = 12, .slots = 4, .policy = PERHAPS_POLICY_UNIQUE}, 1000);
    check_distances((struct perhaps__shape){.cell_bits = 14, .layout = 6, .slots = 4}, 1000);
}

// With one bucket, or the middle one of three, both buckets of a key may be the same; it is counted once.
static void test_both_buckets_are_one(void **state)
{
    for (size_t i = 0; i < SUPPORT_COUNT(all_slots); i++) {
        struct table table = make((struct perhaps__shape){.cell_bits = 12, .slots = all_slots[i]}, 1);
        uint64_t hash = 5;
        uint64_t count = 9;
        for (uint32_t copy = 0; copy < all_slots[i]; copy++) {
            assert_int_equal(add(&table, hash), copy == 0);
            table.kernel->count_near(&table.view, &hash, 1, &count);
            assert_int_equal(count, copy + 1);
        }
        assert_int_equal(add(&table, hash), PERHAPS_E_COPIES);
        assert_int_equal(add(&table, hash + 1), PERHAPS_E_FULL);
        assert_int_equal(table.tally.used, all_slots[i]);
        uint8_t out = 9;
        table.kernel->remove_near(&table.view, &hash, 1, &out, &table.tally);
        table.kernel->count_near(&table.view, &hash, 1, &count);
        assert_true(out == 1 && count == all_slots[i] - 1);
        free(table.view.memory);
    }
}

// Where the bucket of a key is the one asked for and its partner another one.
static uint64_t hash_in(const struct table *table, uint64_t first, uint64_t second, uint64_t *random)
{
    for (;;) {
        uint64_t hash = support_random(random);
        struct perhaps__cuckoo_home home = perhaps__cuckoo_home(&table->cuckoo, perhaps__place(hash, 99));
        if (home.first == first && home.second == second) {
            return hash;
        }
    }
}

// Of two buckets that are full nobody can leave to one that is not: `search` is the bound, and the table is not at fault.
static void test_refusals_are_told_apart(void **state)
{
    struct table table = make((struct perhaps__shape){.cell_bits = 16, .slots = 4}, 1000);
    uint64_t random = 8;
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(add(&table, hash_in(&table, 7, 100, &random)), 1);
    }
    assert_int_equal(add(&table, hash_in(&table, 7, 100, &random)), PERHAPS_E_FULL);
    assert_true(table.tally.refused_full == 1 && table.tally.refused_early == 1 && table.tally.refused_copies == 0);
    assert_true(table.tally.used == 8 && table.tally.paths[0] == 8 && table.tally.deepest == 0);
    free(table.view.memory);
}

// Five keys of one bucket, each with another partner: the fifth goes to its own. Then those partners are filled, and one
// more key makes the first move over to a third bucket.
static void test_one_move(void **state)
{
    struct table table = make((struct perhaps__shape){.cell_bits = 16, .slots = 1}, 100);
    uint64_t random = 9;
    uint64_t a = hash_in(&table, 10, 21, &random);
    uint64_t b = hash_in(&table, 21, 30, &random);
    uint64_t c = hash_in(&table, 10, 21, &random);
    assert_int_equal(add(&table, a), 1);
    assert_int_equal(add(&table, b), 1);
    assert_int_equal(add(&table, c), 1); // b has to leave 21 for 30
    assert_true(table.tally.paths[0] == 2 && table.tally.paths[1] == 1 && table.tally.deepest == 1);
    assert_true(perhaps__cuckoo_find(&table.cuckoo, slot_bit(&table, 30, 0), 0).count == 0);
    const uint64_t hashes[] = {a, b, c};
    for (size_t i = 0; i < SUPPORT_COUNT(hashes); i++) {
        assert_int_equal(table.kernel->ask(&table.view, hashes[i]), 1);
    }
    free(table.view.memory);
}

// ---- folding

struct class
{
    uint64_t fingerprint;
    uint64_t bucket; // the smaller of the two
};

static int compare(const void *a, const void *b)
{
    const struct class *x = a;
    const struct class *y = b;
    int by_bucket = (x->bucket > y->bucket) - (x->bucket < y->bucket);
    return by_bucket != 0 ? by_bucket : (x->fingerprint > y->fingerprint) - (x->fingerprint < y->fingerprint);
}

// All that a table says of its keys: where in their buckets fingerprints lie depends on the order of the adds.
static size_t list_classes(const struct table *table, struct class *classes)
{
    size_t count = 0;
    for (uint64_t bucket = 0; bucket < table->view.range; bucket++) {
        for (uint32_t slot = 0; slot < table->view.shape.slots; slot++) {
            uint64_t fingerprint = perhaps__cuckoo_get(&table->cuckoo, slot_bit(table, bucket, slot));
            if (fingerprint != 0) {
                struct perhaps__cuckoo_home home = perhaps__cuckoo_home_at(&table->cuckoo, fingerprint, bucket);
                uint64_t smaller = home.first < home.second ? home.first : home.second;
                classes[count++] = (struct class){fingerprint, smaller};
            }
        }
    }
    qsort(classes, count, sizeof *classes, compare);
    return count;
}

static void check_fold(struct perhaps__shape small, uint64_t buckets, uint32_t wide_bits, uint64_t times)
{
    struct perhaps__shape large = small;
    large.cell_bits = wide_bits;
    struct table into = make(small, buckets);
    struct table direct = make(small, buckets);
    struct table from = make(large, buckets * times);
    uint64_t keys = buckets * small.slots * 7 / 10;
    for (uint64_t key = 0; key < keys; key++) {
        assert_true(add(&from, key) >= 0 && add(&direct, key) >= 0);
    }
    assert_int_equal(perhaps__cuckoo_fold(&into.cuckoo, &from.cuckoo, &into.tally), PERHAPS_OK);
    size_t size = (size_t)keys * sizeof(struct class);
    struct class *expected = support_allocate(size);
    struct class *found = support_allocate(size);
    assert_int_equal(list_classes(&direct, expected), keys);
    assert_int_equal(list_classes(&into, found), keys);
    assert_memory_equal(found, expected, size);
    assert_int_equal(into.tally.used, keys);
    for (uint64_t key = 0; key < keys; key++) {
        assert_int_equal(into.kernel->ask(&into.view, key), 1);
    }
    free(expected);
    free(found);
    free(into.view.memory);
    free(direct.view.memory);
    free(from.view.memory);
}

static void test_larger_tables_fold_into_smaller_ones(void **state)
{
    static const uint64_t times[] = {1, 2, 3, 8, 15};
    for (size_t i = 0; i < SUPPORT_COUNT(times); i++) {
        check_fold((struct perhaps__shape){.cell_bits = 12, .layout = 12, .slots = 4}, 1000, 12, times[i]);
        check_fold((struct perhaps__shape){.cell_bits = 12, .layout = 12, .slots = 4}, 1001, 16, times[i]);
        check_fold((struct perhaps__shape){.cell_bits = 13, .layout = 9, .slots = 8}, 300, 19, times[i]);
        check_fold((struct perhaps__shape){.cell_bits = 20, .layout = 11, .slots = 2}, 2222, 32, times[i]);
    }
}

// ---- more than 2^32 buckets and bytes

// 2^34 + 12346 buckets of 4 slots in a mapping of which a few pages are touched, on both sides of every limit.
static void check_large(uint32_t bits)
{
    const uint64_t buckets = (UINT64_C(1) << 34) + 12346;
    uint64_t payload_bits = 0;
    assert_true(perhaps__cuckoo_bits(buckets, 4, bits, &payload_bits));
    size_t size = (size_t)(payload_bits / 8);
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED) {
        skip(); // no room for 275 GB of addresses
    }
    (void)madvise(bytes, size, MADV_NOHUGEPAGE);
    struct table table = make((struct perhaps__shape){.cell_bits = bits, .slots = 4}, 1);
    free(table.view.memory);
    table.view.memory = bytes;
    table.view.range = buckets;
    perhaps__cuckoo_prepare(&table.view);
    table.cuckoo = perhaps__cuckoo_table(&table.view, 4, table.view.shape.cell_bits, table.view.shape.layout, false);
    enum { MANY = 200 };
    uint64_t hashes[MANY];
    uint8_t out[MANY];
    unsigned beyond = 0;
    for (uint64_t i = 0; i < MANY; i++) {
        hashes[i] = i;
        struct perhaps__cuckoo_home home = perhaps__cuckoo_home(&table.cuckoo, perhaps__place(i, 99));
        beyond += home.first > UINT32_MAX && home.second > UINT32_MAX;
        assert_int_equal(add(&table, i), 1);
        assert_true(reference_get(bytes, slot_bit(&table, home.first, 0), bits) == home.fingerprint);
    }
    assert_true(beyond > MANY / 3);
    table.kernel->ask_far(&table.view, hashes, MANY, out);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(out[i], 1);
    }
    table.kernel->remove_far(&table.view, hashes, MANY, NULL, &table.tally);
    assert_true(table.tally.used == 0 && table.tally.removals == MANY);
    assert_int_equal(munmap(bytes, size), 0);
}

static void test_more_than_2_to_32_buckets(void **state)
{
    if (sizeof(size_t) < 8) {
        skip();
    }
    check_large(12);
    check_large(31);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_remainders),
        cmocka_unit_test(test_involution),
        cmocka_unit_test(test_vectors_place_alike),
        cmocka_unit_test(test_fingerprints_append_bits),
        cmocka_unit_test(test_buckets_and_fingerprints_are_independent),
        cmocka_unit_test(test_slots_of_every_width),
        cmocka_unit_test(test_near_and_far_agree),
        cmocka_unit_test(test_both_buckets_are_one),
        cmocka_unit_test(test_refusals_are_told_apart),
        cmocka_unit_test(test_one_move),
        cmocka_unit_test(test_larger_tables_fold_into_smaller_ones),
        cmocka_unit_test(test_more_than_2_to_32_buckets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
