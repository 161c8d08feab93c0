// SPDX-License-Identifier: MIT
// Counting of bits, counters and slots, and of what is looked at while it is summed: against one by one, with the vectors of
// this processor and without.
#include <stdlib.h>
#include <string.h>

#include "support.h"

#include "cuckoo.h"
#include "hash.h"
#include "layer.h"
#include "place.h"
#include "words.h"
#include "words_cells.h"

/* ---------------------------------------------------------------- levels of processor */

// Everything is done twice. Where the tests run without vectors already, both times are the same.
static void at_every_level(void (*check)(void))
{
    const char *word = getenv("PERHAPS_DISABLE_CPU");
    char *before = word != NULL ? strdup(word) : NULL;
    check();
    assert_int_equal(setenv("PERHAPS_DISABLE_CPU", "avx2,neon", 1), 0);
    check();
    if (before != NULL) {
        assert_int_equal(setenv("PERHAPS_DISABLE_CPU", before, 1), 0);
    } else {
        assert_int_equal(unsetenv("PERHAPS_DISABLE_CPU"), 0);
    }
    free(before);
}

/* ---------------------------------------------------------------- words */

enum filling { ZEROS, ONES, EVEN, SPARSE, DENSE, FILLINGS };

// Sparse: one bit of 8 is set; dense: one is not.
static void fill_words(uint64_t *words, size_t count, enum filling filling, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t a = perhaps__mix(seed + 3 * i);
        uint64_t few = a & perhaps__mix(seed + 3 * i + 1) & perhaps__mix(seed + 3 * i + 2);
        const uint64_t values[FILLINGS] = {0, UINT64_MAX, a, few, ~few};
        words[i] = values[filling];
    }
}

// Exactly as many, so that a sanitizer sees what lies behind them.
static uint64_t *new_words(size_t count, enum filling filling)
{
    uint64_t *words = malloc((count + (count == 0)) * sizeof *words);
    assert_non_null(words);
    fill_words(words, count, filling, count * FILLINGS + filling);
    return words;
}

static bool has_bit(const uint8_t *bytes, uint64_t bit)
{
    return (bytes[bit / 8] >> bit % 8 & 1) != 0;
}

static void check_bits_in(size_t count, enum filling filling)
{
    uint64_t *words = new_words(count, filling);
    uint64_t bits = 0;
    for (uint64_t i = 0; i < count * 64; i++) {
        bits += has_bit((const uint8_t *)words, i);
    }
    assert_int_equal(perhaps__count_bits(words, count), bits);
    free(words);
}

static void check_bits(void)
{
    for (size_t count = 0; count < 200; count++) {
        for (int filling = 0; filling < FILLINGS; filling++) {
            check_bits_in(count, (enum filling)filling);
        }
    }
    check_bits_in(20001, ONES);
}

static void test_bits(void **state)
{
    at_every_level(check_bits);
}

static void check_cells_in(size_t count, enum filling filling, uint32_t width)
{
    uint64_t *words = new_words(count, filling);
    const uint8_t *bytes = (const uint8_t *)words;
    struct perhaps__cells expected = {0, 0};
    for (uint64_t i = 0; i < count * 64; i += width) {
        uint32_t set = 0;
        for (uint32_t j = 0; j < width; j++) {
            set += has_bit(bytes, i + j);
        }
        expected.used += set > 0;
        expected.full += set == width;
    }
    struct perhaps__cells cells = perhaps__count_cells(words, count, width);
    if (cells.used != expected.used || cells.full != expected.full) {
        fail_msg("%zu words, filling %d, width %u: used %llu, not %llu; full %llu, not %llu", count, (int)filling,
                 width, (unsigned long long)cells.used, (unsigned long long)expected.used,
                 (unsigned long long)cells.full, (unsigned long long)expected.full);
    }
    free(words);
}

// One bit that is set or clear, of a word in the middle.
static void check_single_cells(uint32_t width)
{
    uint64_t words[16];
    const uint64_t cells = sizeof words * 8 / width;
    for (uint64_t bit = 0; bit < sizeof words * 8; bit++) {
        uint64_t mask = UINT64_C(1) << bit % 64;
        memset(words, 0, sizeof words);
        words[bit / 64] |= mask;
        struct perhaps__cells one = perhaps__count_cells(words, 16, width);
        memset(words, 0xff, sizeof words);
        words[bit / 64] &= ~mask;
        struct perhaps__cells others = perhaps__count_cells(words, 16, width);
        assert_true(one.used == 1 && one.full == 0);
        assert_true(others.used == cells && others.full == cells - 1);
    }
}

static void check_cells(void)
{
    for (uint32_t width = 4; width <= 16; width *= 2) {
        for (size_t count = 0; count < 200; count++) {
            for (int filling = 0; filling < FILLINGS; filling++) {
                check_cells_in(count, (enum filling)filling, width);
            }
        }
        check_cells_in(20001, ONES, width);
        check_single_cells(width);
    }
}

static void test_cells(void **state)
{
    at_every_level(check_cells);
}

/* ---------------------------------------------------------------- slots */

#define SLOTS 1500

// Slots of one width in memory of their own, with no more behind them than a table has.
static struct perhaps__cuckoo new_slots(uint32_t bits, uint64_t slots)
{
    size_t size = (size_t)(slots * bits + PERHAPS_CUCKOO_SLACK_BITS) / 8;
    uint8_t *bytes = calloc(1, size);
    assert_non_null(bytes);
    return (struct perhaps__cuckoo){.bytes = bytes, .bits = bits};
}

// Which are taken.
static void fill_slots(const struct perhaps__cuckoo *table, uint8_t taken[SLOTS], unsigned of_eight)
{
    for (uint64_t i = 0; i < SLOTS; i++) {
        uint64_t random = perhaps__mix(i * 64 + table->bits);
        taken[i] = random % 8 < of_eight;
        uint64_t value = taken[i] ? (random >> 8) & perhaps__cuckoo_lane_mask(table) : 0;
        value |= taken[i] && value == 0 ? UINT64_C(1) << (table->bits - 1) : 0;
        perhaps__cuckoo_put(table, i * table->bits, value);
    }
}

static void assert_taken(const struct perhaps__cuckoo *table, const uint8_t *taken, uint64_t first, uint64_t last)
{
    uint64_t expected = 0;
    for (uint64_t i = first; i < last; i++) {
        expected += taken[i];
    }
    uint64_t counted = perhaps__cuckoo_taken(table, first, last);
    if (counted != expected) {
        fail_msg("%u bits, slots %llu to %llu: %llu taken, not %llu", table->bits, (unsigned long long)first,
                 (unsigned long long)last, (unsigned long long)counted, (unsigned long long)expected);
    }
}

static void check_ranges(uint32_t bits, unsigned of_eight)
{
    struct perhaps__cuckoo table = new_slots(bits, SLOTS);
    uint8_t taken[SLOTS];
    fill_slots(&table, taken, of_eight);
    for (uint64_t i = 0; i < 150; i++) {
        uint64_t random = perhaps__mix(i);
        assert_taken(&table, taken, i, i + random % 150);
        assert_taken(&table, taken, i, SLOTS);
        assert_taken(&table, taken, 0, SLOTS - i);
    }
    free(table.bytes);
}

// The only bit that is set, or the only slot that is free: no other slot's lane has a part of it.
static void check_single_slots(uint32_t bits)
{
    const uint64_t slots = 200;
    struct perhaps__cuckoo table = new_slots(bits, slots);
    for (uint64_t slot = 0; slot < slots; slot++) {
        for (uint32_t bit = 0; bit < bits; bit++) {
            perhaps__cuckoo_put(&table, slot * bits, UINT64_C(1) << bit);
            if (perhaps__cuckoo_taken(&table, 0, slots) != 1 || perhaps__cuckoo_taken(&table, 0, slot) != 0 ||
                perhaps__cuckoo_taken(&table, slot + 1, slots) != 0) {
                fail_msg("bit %u of slot %llu of %u bits", bit, (unsigned long long)slot, bits);
            }
        }
        perhaps__cuckoo_put(&table, slot * bits, 0);
    }
    memset(table.bytes, 0xff, (size_t)(slots * bits + PERHAPS_CUCKOO_SLACK_BITS) / 8);
    for (uint64_t slot = 0; slot < slots; slot++) {
        perhaps__cuckoo_put(&table, slot * bits, 0);
        assert_int_equal(perhaps__cuckoo_taken(&table, 0, slots), slots - 1);
        perhaps__cuckoo_put(&table, slot * bits, perhaps__cuckoo_lane_mask(&table));
    }
    free(table.bytes);
}

// More steps than a byte can count.
static void check_many_slots(uint32_t bits)
{
    const uint64_t slots = 20003;
    struct perhaps__cuckoo table = new_slots(bits, slots);
    assert_int_equal(perhaps__cuckoo_taken(&table, 0, slots), 0);
    memset(table.bytes, 0xff, (size_t)(slots * bits) / 8);
    assert_int_equal(perhaps__cuckoo_taken(&table, 5, slots - 2), slots - 7);
    free(table.bytes);
}

static void check_slots(void)
{
    for (uint32_t bits = PERHAPS_CUCKOO_MIN_BITS; bits <= PERHAPS_CUCKOO_MAX_BITS; bits++) {
        check_ranges(bits, 7);
        check_ranges(bits, 1);
        check_single_slots(bits);
        check_many_slots(bits);
    }
}

static void test_slots(void **state)
{
    at_every_level(check_slots);
}

/* ---------------------------------------------------------------- layers in pieces */

// Buckets that lie in two pieces are counted with the one in which they begin, so that any pieces add up to the whole.
static void check_pieces_of(uint32_t slots, uint32_t bits)
{
    const uint64_t buckets = 2001;
    struct perhaps__size size = {
        .range = buckets,
        .shape = {.slots = slots, .cell_bits = bits, .layout = bits, .policy = PERHAPS_POLICY_UNIQUE, .search = 500}};
    assert_true(perhaps__cuckoo_bits(buckets, slots, bits, &size.bits));
    struct perhaps__layer layer;
    perhaps__layer_init(&layer, &perhaps__layer_cuckoo, &size);
    perhaps__layer_attach(&layer, support_allocate((size_t)layer.payload_size), &(struct perhaps__setting){0});
    perhaps__layer_clear(&layer);
    struct perhaps__cuckoo table = {.bytes = layer.payload, .bits = bits};
    uint64_t taken = 0;
    for (uint64_t i = 0; i < buckets * slots; i++) {
        uint64_t random = perhaps__mix(i);
        uint64_t value = random % 3 == 0 ? 0 : (random >> 8 & perhaps__cuckoo_lane_mask(&table)) | 1;
        perhaps__cuckoo_put(&table, i * table.bits, value);
        taken += value != 0;
    }
    struct perhaps__tally tally = {0};
    for (uint64_t from = 0, end; from < layer.payload_size; from = end) {
        end = perhaps__min(from + PERHAPS_LINE * (1 + perhaps__mix(from) % 9), layer.payload_size);
        layer.operations->recount(&layer, from, end, &tally);
    }
    assert_int_equal(tally.used, taken);
    assert_int_equal(perhaps__layer_used(&layer), taken);
    free(layer.payload);
}

static void check_pieces(void)
{
    for (uint32_t slots = 1; slots <= 8; slots *= 2) {
        for (uint32_t bits = PERHAPS_CUCKOO_MIN_BITS; bits <= PERHAPS_CUCKOO_MAX_BITS; bits++) {
            check_pieces_of(slots, bits);
        }
    }
}

static void test_pieces_of_tables(void **state)
{
    at_every_level(check_pieces);
}

/* ---------------------------------------------------------------- sums */

struct looks {
    size_t next;
    size_t most;
};

static void look(void *context, size_t from, size_t end)
{
    struct looks *looks = context;
    assert_int_equal(from, looks->next);
    assert_true(end > from && (from % PERHAPS_LINE) == 0);
    looks->most = end - from > looks->most ? end - from : looks->most;
    looks->next = end;
}

// The sum is that of the plain code, and every byte is looked at once.
static void check_sums(void)
{
    static const size_t sizes[] = {0,
                                   1,
                                   64,
                                   240,
                                   241,
                                   1024,
                                   PERHAPS_PIECE - 1,
                                   PERHAPS_PIECE,
                                   PERHAPS_PIECE + 1,
                                   3 * PERHAPS_PIECE + 640,
                                   (size_t)1 << 20};
    uint8_t *bytes = (uint8_t *)new_words((size_t)1 << 17, EVEN);
    for (size_t i = 0; i < SUPPORT_COUNT(sizes); i++) {
        struct looks looks = {0, 0};
        uint64_t sum = perhaps__checksum_plain.whole(bytes, sizes[i]);
        assert_true(perhaps__checksum(bytes, sizes[i]) == sum);
        assert_true(perhaps__checksum_pieces(bytes, sizes[i], look, &looks) == sum);
        assert_int_equal(looks.next, sizes[i]);
        assert_true(looks.most <= PERHAPS_PIECE);
    }
    free(bytes);
}

static void test_sums(void **state)
{
    at_every_level(check_sums);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits),  cmocka_unit_test(test_cells),
        cmocka_unit_test(test_slots), cmocka_unit_test(test_pieces_of_tables),
        cmocka_unit_test(test_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
