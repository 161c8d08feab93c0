// SPDX-License-Identifier: MIT
// The blocked kind: its kernels bit by bit against docs/format.md, on whatever level of processor runs and on the scalar
// text; addresses beyond 2^32 blocks; statistics against the bits; merging; and what its files refuse.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "support.h"

#include "blocked_mask.h"
#include "place.h"
#include "support_format.h"

#define FIRST PERHAPS_BLOCK_32_4X64
#define LAST PERHAPS_BLOCK_64_8X64_TWO

static unsigned block_bytes(uint32_t layout)
{
    return layout == PERHAPS_BLOCK_32_4X64 || layout == PERHAPS_BLOCK_32_8X32 ? 32 : 64;
}

// A rate for which sizing takes the layout.
static double rate_of(uint32_t layout)
{
    static const double rates[] = {0.0, 0.1, 0.01, 0.001, 1e-5};
    return rates[layout];
}

static perhaps_filter *make(uint32_t layout, uint64_t capacity, uint64_t seed)
{
    return support_create(
        &SUPPORT_OPTIONS(.kind = PERHAPS_KIND_BLOCKED, .capacity = capacity, .fpr = rate_of(layout), .seed = seed));
}

// ---- the bits of a key

static void set_bit(uint8_t *block, unsigned bit)
{
    block[bit / 8] |= (uint8_t)(1U << bit % 8);
}

// As docs/format.md describes it.
static void reference_mask(uint32_t layout, uint64_t at, uint8_t block[64])
{
    static const uint32_t salt[] = {0x5692161d, 0xdbd23897, 0x1e535eed, 0xb7a4712d,
                                    0xb6bf613d, 0xd1770797, 0x12ae3023, 0xd56b1fbb};
    unsigned lanes = layout == 1 ? 4 : 8;
    unsigned lane_bits = layout == 2 ? 32 : 64;
    uint32_t choices[] = {(uint32_t)(at & UINT32_MAX), (uint32_t)((at * UINT64_C(0x9fb21c651e98df25)) >> 32)};
    memset(block, 0, 64);
    for (unsigned c = 0; c < (layout == 4 ? 2 : 1); c++) {
        for (unsigned i = 0; i < lanes; i++) {
            uint32_t product = choices[c] * salt[i];
            set_bit(block, i * lane_bits + (product >> (lane_bits == 32 ? 27 : 26)));
        }
    }
}

static void test_mask_is_that_of_the_format(void **state)
{
    uint64_t random = 1;
    for (uint32_t layout = FIRST; layout <= LAST; layout++) {
        for (unsigned i = 0; i < SUPPORT_SCALED(100000); i++) {
            uint64_t placed = i < 64 ? UINT64_C(1) << i : support_random(&random);
            uint64_t words[8];
            uint8_t expected[64];
            perhaps__blocked_mask(layout, placed, words);
            reference_mask(layout, placed, expected);
            assert_memory_equal(words, expected, 64);
        }
    }
}

// The i-th position of mask that is set.
static unsigned nth_bit(const uint8_t block[64], unsigned n)
{
    unsigned bit = 0;
    while ((block[bit / 8] >> bit % 8 & 1) == 0 || n-- > 0) {
        bit++;
    }
    return bit;
}

static unsigned count_bits(const uint8_t *bytes, size_t size)
{
    unsigned count = 0;
    for (size_t i = 0; i < size; i++) {
        count += (unsigned)__builtin_popcount(bytes[i]);
    }
    return count;
}

// A kernel with one block as its whole filter.
struct single {
    uint8_t *block;
    struct perhaps__view view;
    const struct perhaps__blocked_kernel *kernel;
};

// All the ways to ask agree.
static bool ask(const struct single *single, uint64_t hash)
{
    uint8_t out[2] = {7, 7};
    const struct perhaps__blocked_kernel *kernel = single->kernel;
    kernel->ask_near(&single->view, &hash, 1, out);
    kernel->ask_far(&single->view, &hash, 1, out + 1);
    int answer = kernel->ask(&single->view, hash);
    assert_true(out[0] == answer && out[1] == answer);
    assert_in_range(answer, 0, 1);
    return answer != 0;
}

// Adds in one of the two ways; whether that changed something.
static bool add(const struct single *single, bool far, uint64_t hash)
{
    uint8_t out = 7;
    int refusal = 1;
    struct perhaps__tally tally = {.keys = 10, .used = 20};
    perhaps__add_many_function *function = far ? single->kernel->add_far : single->kernel->add_near;
    assert_int_equal(function(&single->view, &hash, 1, &out, &tally, &refusal), 1);
    assert_true(tally.keys == 10U + out && tally.used == 20 && refusal == 1);
    assert_in_range(out, 0, 1);
    return out != 0;
}

// With a key's bits set the answer is 1; without one of them, whichever, it is 0, whatever else is set.
static void check_key(const struct single *single, uint32_t layout, uint64_t placed)
{
    size_t size = block_bytes(layout);
    uint64_t hash = support_unmix(placed); // the view's seed_key is 0
    uint8_t mask[64];
    reference_mask(layout, placed, mask);
    memset(single->block, 0, size);
    assert_false(ask(single, hash));
    assert_true(add(single, false, hash));
    assert_memory_equal(single->block, mask, size);
    assert_true(ask(single, hash));
    assert_false(add(single, true, hash));
    assert_memory_equal(single->block, mask, size);
    for (unsigned i = 0; i < count_bits(mask, size); i++) {
        unsigned bit = nth_bit(mask, i);
        memset(single->block, 0xff, size);
        assert_true(ask(single, hash));
        single->block[bit / 8] ^= (uint8_t)(1U << bit % 8);
        assert_false(ask(single, hash));
        assert_true(add(single, i % 2 != 0, hash));
        assert_int_equal(count_bits(single->block, size), 8 * size);
    }
}

static void check_kernel(const struct perhaps__blocked_kernel *kernel, uint32_t layout)
{
    struct single single = {.block = aligned_alloc(PERHAPS_LINE, 64), .kernel = kernel};
    assert_non_null(single.block);
    single.view = (struct perhaps__view){.ask = kernel->ask, .memory = single.block, .range = 1};
    uint64_t random = layout;
    for (unsigned i = 0; i < SUPPORT_SCALED(3000); i++) {
        uint64_t placed = i < 64 ? UINT64_C(1) << i : support_random(&random);
        check_key(&single, layout, placed);
    }
    free(single.block);
}

static void test_kernels_set_and_test_every_bit(void **state)
{
    assert_true(support_unmix(perhaps__mix(UINT64_C(0x123456789abcdef0))) == UINT64_C(0x123456789abcdef0));
    for (uint32_t layout = FIRST; layout <= LAST; layout++) {
        check_kernel(perhaps__blocked_kernel(layout), layout);
        check_kernel(&perhaps__blocked_scalar[layout], layout);
    }
}

// The same keys through a kernel, near or far: what changed, and the bytes that result.
static uint64_t fill_blocks(const struct perhaps__blocked_kernel *kernel, bool far, struct perhaps__view *view,
                            const uint64_t *hashes, size_t count, uint8_t *out)
{
    struct perhaps__tally tally = {.keys = 0};
    int refusal = 1;
    assert_int_equal((far ? kernel->add_far : kernel->add_near)(view, hashes, count, out, &tally, &refusal), count);
    assert_int_equal(refusal, 1);
    return tally.keys;
}

// The same keys through the kernel of this processor and the scalar text: the same bytes and the same results.
static void test_levels_agree(void **state)
{
    enum { BLOCKS = 12345, KEYS = 100000 };
    uint64_t *hashes = support_allocate(KEYS * sizeof *hashes);
    uint8_t *out[2] = {support_allocate(KEYS), support_allocate(KEYS)};
    uint64_t random = 77;
    for (size_t i = 0; i < KEYS; i++) {
        hashes[i] = support_random(&random);
    }
    for (uint32_t layout = FIRST; layout <= LAST; layout++) {
        size_t size = BLOCKS * (size_t)block_bytes(layout);
        const struct perhaps__blocked_kernel *kernels[] = {perhaps__blocked_kernel(layout),
                                                           &perhaps__blocked_scalar[layout]};
        struct perhaps__view views[2];
        uint64_t changed[2];
        for (size_t i = 0; i < 2; i++) {
            void *bytes = aligned_alloc(PERHAPS_LINE, size + PERHAPS_LINE - size % PERHAPS_LINE);
            assert_non_null(bytes);
            memset(bytes, 0, size);
            views[i] = (struct perhaps__view){.memory = bytes, .range = BLOCKS, .seed_key = 99};
            changed[i] = fill_blocks(kernels[i], i == 0, &views[i], hashes, KEYS / 2, out[i]);
        }
        assert_true(changed[0] == changed[1] && changed[0] > KEYS / 3 && changed[0] <= KEYS / 2);
        assert_memory_equal(out[0], out[1], KEYS / 2);
        assert_memory_equal(views[0].memory, views[1].memory, size);
        kernels[0]->ask_far(&views[0], hashes, KEYS, out[0]);
        kernels[1]->ask_near(&views[1], hashes, KEYS, out[1]);
        assert_memory_equal(out[0], out[1], KEYS);
        kernels[0]->ask_near(&views[0], hashes, KEYS, out[1]);
        assert_memory_equal(out[0], out[1], KEYS);
        for (size_t i = 0; i < KEYS / 2; i++) {
            assert_int_equal(out[0][i], 1);
        }
        free(views[0].memory);
        free(views[1].memory);
    }
    free(hashes);
    free(out[0]);
    free(out[1]);
}

// ---- more than 2^32 blocks

// The upper half of a product of 128 bits, from four of 64.
static uint64_t multiply_high(uint64_t a, uint64_t b)
{
    uint64_t low = (a & UINT32_MAX) * (b & UINT32_MAX);
    uint64_t middle = (a >> 32) * (b & UINT32_MAX) + (low >> 32);
    uint64_t other = (a & UINT32_MAX) * (b >> 32) + (middle & UINT32_MAX);
    return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
}

static void test_block_numbers(void **state)
{
    static const uint64_t counts[] = {1,
                                      2,
                                      3,
                                      (UINT64_C(1) << 32) - 1,
                                      UINT64_C(1) << 32,
                                      (UINT64_C(1) << 32) + 1,
                                      (UINT64_C(1) << 40) + 12345,
                                      UINT64_C(1) << 45};
    uint64_t random = 3;
    for (size_t i = 0; i < SUPPORT_COUNT(counts); i++) {
        uint64_t largest = 0;
        uint64_t low_bits = 0;
        for (unsigned j = 0; j < 20000; j++) {
            uint64_t placed = support_random(&random);
            uint64_t block = perhaps__multiply_high(placed, counts[i]);
            assert_true(block == multiply_high(placed, counts[i]) && block < counts[i]);
            largest = block > largest ? block : largest;
            low_bits |= block;
        }
        assert_true(largest >= counts[i] - 1 - counts[i] / 1000);
        assert_true(counts[i] < 8 || (low_bits & 7) == 7); // every block can be reached
        assert_true(perhaps__multiply_high(UINT64_MAX, counts[i]) == counts[i] - 1);
        assert_true(perhaps__multiply_high(0, counts[i]) == 0);
    }
}

// 2^32 + 12345 blocks of 32 or 64 bytes in a mapping of which a few pages are touched: the bits are where they belong,
// and nowhere else. What is prefetched is the same address.
static void check_large(const struct perhaps__blocked_kernel *kernel, uint32_t layout)
{
    enum { KEYS = 200 };
    const uint64_t blocks = (UINT64_C(1) << 32) + 12345;
    uint64_t size = blocks * block_bytes(layout);
    uint8_t *bytes =
        mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED) {
        skip(); // no room for 275 GB of addresses
    }
    (void)madvise(bytes, (size_t)size, MADV_NOHUGEPAGE);
    uint64_t random = layout;
    struct single single = {.block = bytes, .view = {.ask = kernel->ask, .memory = bytes, .range = blocks}};
    single.kernel = kernel;
    uint64_t hashes[KEYS];
    unsigned beyond = 0;
    for (size_t i = 0; i < KEYS; i++) {
        uint64_t placed = i == 0 ? UINT64_MAX : support_random(&random);
        uint64_t block = multiply_high(placed, blocks);
        hashes[i] = support_unmix(placed); // the view's seed_key is 0
        beyond += block * block_bytes(layout) > UINT64_C(1) << 32;
        uint8_t mask[64];
        reference_mask(layout, placed, mask);
        assert_true(add(&single, i % 2 != 0, hashes[i]));
        assert_memory_equal(bytes + block * block_bytes(layout), mask, block_bytes(layout));
    }
    assert_true(beyond > KEYS / 2);
    uint8_t out[KEYS];
    kernel->ask_far(&single.view, hashes, KEYS, out);
    assert_int_equal(count_bits(out, KEYS), KEYS);
    assert_int_equal(fill_blocks(kernel, true, &single.view, hashes, KEYS, NULL), 0);
    assert_int_equal(munmap(bytes, (size_t)size), 0);
}

static void test_more_than_2_to_32_blocks(void **state)
{
    if (sizeof(size_t) < 8) {
        skip();
    }
    for (uint32_t layout = FIRST; layout <= LAST; layout++) {
        check_large(perhaps__blocked_kernel(layout), layout);
        check_large(&perhaps__blocked_scalar[layout], layout);
    }
}

// ---- statistics

struct expected {
    double fill;
    double fpr;
};

// From the payload, byte by byte: the share of bits set, and the mean over blocks of the product over lanes.
static struct expected look_at_payload(const uint8_t *payload, uint64_t size, uint32_t layout)
{
    unsigned lane_bytes = layout == 2 ? 4 : 8;
    unsigned bytes = block_bytes(layout);
    struct expected expected = {0};
    for (uint64_t at = 0; at < size; at += bytes) {
        double product = 1.0;
        for (unsigned lane = 0; lane < bytes; lane += lane_bytes) {
            double fill = count_bits(payload + at + lane, lane_bytes) / (8.0 * lane_bytes);
            expected.fill += fill * lane_bytes / (double)size;
            product *= layout == 4 ? fill * fill : fill;
        }
        expected.fpr += product / (double)(size / bytes);
    }
    return expected;
}

static void test_statistics(void **state)
{
    for (uint32_t layout = FIRST; layout <= LAST; layout++) {
        perhaps_filter *filter = make(layout, 5000, 3);
        support_add_keys(filter, SUPPORT_DIGESTS, 0, 5000);
        perhaps_statistics s = support_stats(filter);
        struct support_bytes bytes = support_encode(filter);
        assert_int_equal(format_get(bytes.data, FORMAT_LAYER_LAYOUT, 4), layout);
        struct expected expected = look_at_payload(bytes.data + bytes.size - s.bytes, s.bytes, layout);
        assert_true(fabs(s.fill / expected.fill - 1.0) < 1e-9 && fabs(s.fpr_now / expected.fpr - 1.0) < 1e-9);
        assert_int_equal(s.set_bits, count_bits(bytes.data + bytes.size - s.bytes, s.bytes));
        assert_int_equal(s.set_bits, format_get(bytes.data, FORMAT_LAYER_USED, 8));
        assert_true(s.kind == PERHAPS_KIND_BLOCKED && s.seed == 3 && s.layers == 1 && s.adds_exact == 1);
        assert_true(s.encoded_bytes == bytes.size && s.bytes == s.bits / 8 &&
                    s.bits_per_key == (double)s.bits / 5000.0);
        static const unsigned positions[] = {0, 4, 8, 8, 16};
        static const double distinct_bits[] = {0, 4.0, 8.0, 8.0, 15.875}; // two of one lane coincide once in 64
        assert_int_equal(s.positions, positions[layout]);
        double distinct = -(double)s.bits / distinct_bits[layout] * log1p(-s.fill);
        assert_true(fabs(s.distinct_estimate / distinct - 1.0) < 1e-9);
        assert_true(fabs(s.distinct_estimate / 5000.0 - 1.0) < 0.05);
        free(bytes.data);
        perhaps_free(filter);
    }
}

static void test_statistics_at_the_ends(void **state)
{
    for (uint32_t layout = FIRST; layout <= LAST; layout++) {
        perhaps_filter *filter = make(layout, 10, 0);
        perhaps_statistics s = support_stats(filter);
        assert_true(s.fill == 0.0 && s.fpr_now == 0.0 && s.distinct_estimate == 0.0 && !signbit(s.distinct_estimate));
        assert_int_equal(s.set_bits + s.adds, 0);
        support_add_keys(filter, SUPPORT_INTEGERS, 0, 20000);
        s = support_stats(filter);
        assert_true(s.fill == 1.0 && s.fpr_now == 1.0 && isinf(s.distinct_estimate) && s.set_bits == s.bits);
        assert_int_equal(support_count_present(filter, SUPPORT_INTEGERS, SUPPORT_ABSENT, 1000), 1000);
        assert_int_equal(perhaps_clear(filter), PERHAPS_OK);
        perhaps_filter *fresh = make(layout, 10, 0);
        support_assert_same(filter, fresh);
        perhaps_free(fresh);
        perhaps_free(filter);
    }
}

// Above 2^18 blocks a part is looked at: close to the whole. Standard deviations relative to the value, at capacity:
// fpr_now 0.11 %, 0.21 %, 0.22 % and 0.9 % for these rates.
static void test_sampled_statistics(void **state)
{
    static const double bounds[] = {0.0, 0.006, 0.011, 0.012, 0.045};
    static const uint64_t capacities[] = {0, 22000000, 8000000, 10500000, 5200000}; // 1.2 to 1.6 times 2^18 blocks
    for (uint32_t layout = FIRST; layout <= LAST; layout++) {
        uint64_t n = capacities[layout];
        perhaps_filter *filter =
            support_create(&SUPPORT_OPTIONS(.kind = PERHAPS_KIND_BLOCKED, .capacity = n, .fpr = rate_of(layout),
                                            .hash_source = PERHAPS_HASH_CALLER));
        uint64_t *hashes = support_allocate(SUPPORT_SCALED(n) * sizeof *hashes);
        for (uint64_t i = 0; i < SUPPORT_SCALED(n); i++) {
            hashes[i] = i;
        }
        assert_int_equal(perhaps_add_many_hash(filter, hashes, SUPPORT_SCALED(n), NULL, NULL), PERHAPS_OK);
        free(hashes);
        perhaps_statistics s = support_stats(filter);
        assert_in_range(s.bytes / block_bytes(layout), (1 << 18) + 1, (1 << 18) * 2);
        struct support_bytes bytes = support_encode(filter);
        struct expected whole = look_at_payload(bytes.data + bytes.size - s.bytes, s.bytes, layout);
        assert_true(s.fpr_now != whole.fpr); // a sample it is
        assert_true(fabs(s.fill / whole.fill - 1.0) < 0.001 * SUPPORT_SCALE);
        assert_true(SUPPORT_SCALE > 1 || fabs(s.fpr_now / whole.fpr - 1.0) < bounds[layout]);
        assert_true(fabs(s.distinct_estimate / (double)SUPPORT_SCALED(n) - 1.0) < 0.002 * SUPPORT_SCALE);
        free(bytes.data);
        perhaps_free(filter);
    }
}

// ---- whole filters

static void test_merge(void **state)
{
    for (uint32_t layout = FIRST; layout <= LAST; layout++) {
        perhaps_filter *first = make(layout, 2000, 4);
        perhaps_filter *second = make(layout, 2000, 4);
        perhaps_filter *both = make(layout, 2000, 4);
        support_add_keys(first, SUPPORT_WORDS, 0, 1200);
        support_add_keys(second, SUPPORT_WORDS, 800, 1200);
        support_add_keys(both, SUPPORT_WORDS, 0, 2000);
        uint64_t sum = support_stats(first).adds + support_stats(second).adds;
        assert_int_equal(perhaps_merge(first, second, NULL), PERHAPS_OK);
        perhaps_statistics a = support_stats(first);
        perhaps_statistics b = support_stats(both);
        assert_true(a.set_bits == b.set_bits && a.fpr_now == b.fpr_now && a.adds == sum && a.adds_exact == 0);
        struct support_bytes merged = support_encode(first);
        struct support_bytes expected = support_encode(both);
        size_t payload = (size_t)a.bytes;
        assert_memory_equal(merged.data + merged.size - payload, expected.data + expected.size - payload, payload);
        assert_int_equal(support_count_present(first, SUPPORT_WORDS, 0, 2000), 2000);
        free(merged.data);
        free(expected.data);
        perhaps_free(first);
        perhaps_free(second);
        perhaps_free(both);
    }
}

static void assert_mismatch(perhaps_filter *into, perhaps_filter *from, const char *text)
{
    assert_int_equal(perhaps_add_hash(into, 1), 1);
    assert_int_equal(perhaps_add_hash(from, 2), 1);
    struct support_bytes before = support_encode(into);
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_merge(into, from, &error), PERHAPS_E_MISMATCH, &error);
    if (strstr(error.text, text) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, text);
    }
    support_assert_unchanged(into, before);
    free(before.data);
    perhaps_free(into);
    perhaps_free(from);
}

// Filters for one key have one unit each, whatever their layout.
static void test_merge_refuses_what_differs(void **state)
{
    assert_mismatch(make(2, 1, 0), make(3, 1, 0), "layout of blocks or base bits of fingerprints differs, 2 and 3");
    assert_mismatch(make(3, 1, 0), make(2, 1, 0), "layout of blocks or base bits of fingerprints differs, 3 and 2");
    assert_mismatch(make(1, 1, 0), make(2, 1, 0), "number of positions differs, 4 and 8");
    assert_mismatch(make(3, 1, 0), make(4, 1, 0), "number of positions differs, 8 and 16");
    assert_mismatch(make(2, 100, 0), make(2, 200, 0), "size in bits differs, 1536 and 2560");
    assert_mismatch(make(2, 1, 0), make(2, 1, 9), "seed differs, 0 and 9");
    assert_mismatch(make(2, 1, 0), support_filter(1, 0.01, 0), "kind differs, 2 and 1");
    assert_mismatch(support_filter(1, 0.01, 0), make(2, 1, 0), "kind differs, 1 and 2");
}

static void assert_refused(struct support_bytes bytes, int code, const char *word)
{
    perhaps_filter *filter = NULL;
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_decode(bytes.data, bytes.size, NULL, &filter, &error), code, &error);
    assert_null(filter);
    if (strstr(error.text, word) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", error.text, word);
    }
}

// Every pair of layout and number of positions but the right one, under checksums that are right.
static void test_layouts_that_are_none(void **state)
{
    static const uint32_t positions[] = {0, 4, 8, 8, 16};
    for (uint32_t layout = FIRST; layout <= LAST; layout++) {
        perhaps_filter *filter = make(layout, 20, 1);
        support_add_keys(filter, SUPPORT_WORDS, 0, 20);
        struct support_bytes bytes = support_encode(filter);
        for (uint32_t other = 0; other <= LAST + 1; other++) {
            for (uint32_t k = 1; k <= 17; k++) {
                format_put(bytes.data, FORMAT_LAYER_LAYOUT, 4, other);
                format_put(bytes.data, FORMAT_LAYER_POSITIONS, 4, k);
                assert_true(format_mend_all(bytes.data, bytes.size));
                bool fits = other >= FIRST && other <= LAST && k == positions[other] &&
                            block_bytes(other) == block_bytes(layout);
                if (fits && other == layout) {
                    support_assert_unchanged(filter, bytes);
                } else {
                    assert_refused(bytes, fits ? PERHAPS_E_PROBE : PERHAPS_E_DAMAGED, fits ? "places" : "shape");
                }
            }
        }
        format_put(bytes.data, FORMAT_LAYER_LAYOUT, 4, UINT32_MAX);
        assert_true(format_mend_all(bytes.data, bytes.size));
        assert_refused(bytes, PERHAPS_E_DAMAGED, "shape");
        format_put(bytes.data, FORMAT_KIND, 4, PERHAPS_KIND_BLOOM);
        format_put(bytes.data, FORMAT_LAYER_LAYOUT, 4, layout);
        assert_true(format_mend_all(bytes.data, bytes.size));
        assert_refused(bytes, PERHAPS_E_DAMAGED, "shape"); // bloom has none
        free(bytes.data);
        perhaps_free(filter);
    }
}

static void test_every_bit_of_a_file(void **state)
{
    for (uint32_t layout = FIRST; layout <= LAST; layout++) {
        perhaps_filter *filter = make(layout, 5, 1);
        support_add_keys(filter, SUPPORT_WORDS, 0, 5);
        struct support_bytes bytes = support_encode(filter);
        for (size_t i = 0; i < 8 * bytes.size; i++) {
            bytes.data[i / 8] ^= (uint8_t)(1U << i % 8);
            assert_refused(bytes, i < 64 ? PERHAPS_E_NOT_A_FILTER : PERHAPS_E_DAMAGED, "");
            if (i / 8 >= bytes.size - 64) { // and a bit of the payload under a right checksum
                struct support_bytes mended = support_copy(bytes);
                assert_true(format_mend_all(mended.data, mended.size));
                assert_refused(mended, PERHAPS_E_DAMAGED, "payload holds");
                free(mended.data);
            }
            bytes.data[i / 8] ^= (uint8_t)(1U << i % 8);
        }
        perhaps_filter *copy = support_decode(bytes.data, bytes.size);
        support_assert_same(filter, copy);
        free(bytes.data);
        perhaps_free(copy);
        perhaps_free(filter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mask_is_that_of_the_format),
        cmocka_unit_test(test_kernels_set_and_test_every_bit),
        cmocka_unit_test(test_levels_agree),
        cmocka_unit_test(test_block_numbers),
        cmocka_unit_test(test_more_than_2_to_32_blocks),
        cmocka_unit_test(test_statistics),
        cmocka_unit_test(test_statistics_at_the_ends),
        cmocka_unit_test(test_sampled_statistics),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_merge_refuses_what_differs),
        cmocka_unit_test(test_layouts_that_are_none),
        cmocka_unit_test(test_every_bit_of_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
