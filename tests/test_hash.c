// SPDX-License-Identifier: MIT
// The hash against values of an independent build of xxHash (python3-xxhash 0.8.1), and the placement against
// docs/format.md, written down here a second time.
#include <stdlib.h>
#include <string.h>

#include "support.h"

#include "hash.h"
#include "place.h"

static void fill_sequence(uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(i % 251);
    }
}

// XXH3-64 of the first bytes of 0, 1, ..., 250, 0, 1, ... with the seeds 0, 1 and 9e3779b97f4a7c15.
static void test_known_hashes(void **state)
{
    static const uint64_t seeds[] = {0, 1, UINT64_C(0x9e3779b97f4a7c15)};
    // clang-format off
    static const struct {
        size_t length;
        uint64_t hashes[3];
    } known[] = {
        {0, {UINT64_C(0x2d06800538d394c2), UINT64_C(0x4dc5b0cc826f6703), UINT64_C(0x602b0e2cd6662c8b)}},
        {1, {UINT64_C(0xc44bdff4074eecdb), UINT64_C(0x5eaac1f7b17ef730), UINT64_C(0x062b185e4e01441a)}},
        {3, {UINT64_C(0x5f4299fc161c9cbb), UINT64_C(0x3b3b85a968c7f81d), UINT64_C(0xbe1fd1f503b5d59e)}},
        {4, {UINT64_C(0x60dab036a58211f2), UINT64_C(0x94e67b47eb6fcc90), UINT64_C(0x89878861fce0da55)}},
        {8, {UINT64_C(0x3a1c2d7c85af88f8), UINT64_C(0xe7241ac1fdcd24bb), UINT64_C(0xb82d9ef5fd6b3172)}},
        {9, {UINT64_C(0xe9612598145bb9dc), UINT64_C(0xd010a1fb14096c63), UINT64_C(0xfe11eeff350b91ef)}},
        {16, {UINT64_C(0x8355e3a6f61770db), UINT64_C(0xe2d1e4053a219356), UINT64_C(0x3d392960bfd9df8a)}},
        {17, {UINT64_C(0x9ef341a99de37328), UINT64_C(0xc44e866040ed1467), UINT64_C(0x89e5f063c641de9f)}},
        {64, {UINT64_C(0x6187eb9089b0ed55), UINT64_C(0x0fba3f12b8f688f4), UINT64_C(0x0ed104450790536f)}},
        {128, {UINT64_C(0x85c6174c7ff4c46b), UINT64_C(0xc04e68f839ddd006), UINT64_C(0x77bf966868f4b200)}},
        {129, {UINT64_C(0xec7642b431ba3e5a), UINT64_C(0x88ee72694368e67d), UINT64_C(0x747f159fdd2d2177)}},
        {200, {UINT64_C(0xf42a8864feaf0703), UINT64_C(0x4e18eb39c54569e1), UINT64_C(0xb913db1647edd288)}},
        {240, {UINT64_C(0x375a384d957fe865), UINT64_C(0x31a14c358e824be4), UINT64_C(0xe6e766db0868c372)}},
        {241, {UINT64_C(0x02e8cd95421c6d02), UINT64_C(0xda735d4f53476cb5), UINT64_C(0x172114de208c5a80)}},
        {256, {UINT64_C(0x44f5d90dacde463a), UINT64_C(0xd64cab4b1aa1d9cb), UINT64_C(0xa524ba6e21da4cec)}},
        {600, {UINT64_C(0x8cd1d66465d9fdde), UINT64_C(0x0de8c6b907f2baf1), UINT64_C(0x491a4af9b9960346)}},
        {1024, {UINT64_C(0xe5d78bafa45b2aa5), UINT64_C(0x4a13b381a01c4d2a), UINT64_C(0x19244dd37041be92)}},
        {1025, {UINT64_C(0xe95c42288f28186e), UINT64_C(0x62bba1783af9af7c), UINT64_C(0xc52f40c41d849838)}},
        {2000, {UINT64_C(0x8d38fc31dc9d9fab), UINT64_C(0xbae88a1f0d06f55c), UINT64_C(0xd1ad78399a33d298)}},
    };
    // clang-format on
    uint8_t bytes[2000];
    fill_sequence(bytes, sizeof bytes);
    for (size_t i = 0; i < SUPPORT_COUNT(known); i++) {
        for (size_t j = 0; j < SUPPORT_COUNT(seeds); j++) {
            assert_true(perhaps__hash(bytes, known[i].length, seeds[j]) == known[i].hashes[j]);
        }
        assert_true(perhaps__checksum(bytes, known[i].length) == known[i].hashes[0]);
    }
    assert_true(perhaps__hash(NULL, 0, 1) == known[0].hashes[1]);
}

// perhaps_hash() is that hash under the filter's seed, wherever the key lies in memory.
static void test_public_hash(void **state)
{
    perhaps_filter *filter = support_filter(10, 0.01, 1);
    uint8_t bytes[2008];
    for (size_t offset = 0; offset < 8; offset++) {
        fill_sequence(bytes + offset, 2000);
        uint64_t hash = 0;
        assert_int_equal(perhaps_hash(filter, bytes + offset, 2000, &hash), PERHAPS_OK);
        assert_true(hash == UINT64_C(0xbae88a1f0d06f55c));
    }
    perhaps_free(filter);
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

// The upper half of a product of 128 bits, from four products of 64.
static uint64_t multiply_high(uint64_t a, uint64_t b)
{
    uint64_t low = (a & UINT32_MAX) * (b & UINT32_MAX);
    uint64_t middle = (a >> 32) * (b & UINT32_MAX) + (low >> 32);
    uint64_t other = (a & UINT32_MAX) * (b >> 32) + (middle & UINT32_MAX);
    return (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32);
}

static void set_positions(uint8_t *payload, uint64_t bits, unsigned positions, uint64_t seed, uint64_t hash)
{
    uint64_t at = mix(hash ^ mix(seed + UINT64_C(0x9e3779b97f4a7c15)));
    uint64_t step = (at << 32 | at >> 32) | 1;
    for (unsigned i = 0; i < positions; i++) {
        uint64_t position = multiply_high((at ^ (at >> 32)) * UINT64_C(0xd6e8feb86659fd93), bits);
        payload[position / 8] |= (uint8_t)(1U << position % 8);
        at += step;
    }
}

// The payload of a filter, bit by bit, as docs/format.md describes it.
static void test_placement(void **state)
{
    static const uint64_t seeds[] = {0, 1, UINT64_C(0xfedcba9876543210)};
    static const double rates[] = {0.5, 0.01, 1e-9};
    for (size_t i = 0; i < SUPPORT_COUNT(seeds); i++) {
        for (size_t j = 0; j < SUPPORT_COUNT(rates); j++) {
            perhaps_filter *filter =
                support_create(&SUPPORT_OPTIONS(.capacity = 1234, .fpr = rates[j], .seed = seeds[i],
                                                .hash_source = PERHAPS_HASH_CALLER));
            perhaps_statistics s = support_stats(filter);
            uint8_t *payload = support_allocate((size_t)s.bytes);
            uint64_t random = 1;
            for (uint64_t key = 0; key < 1234; key++) {
                uint64_t hash = key % 2 == 0 ? key : support_random(&random);
                assert_true(perhaps_add_hash(filter, hash) >= 0);
                set_positions(payload, s.bits, s.positions, seeds[i], hash);
            }
            struct support_bytes bytes = support_encode(filter);
            assert_memory_equal(bytes.data + bytes.size - s.bytes, payload, s.bytes);
            free(payload);
            free(bytes.data);
            perhaps_free(filter);
        }
    }
}

// The reduction to [0, m) for every m up to the largest: never m, and not only its low end.
static void test_positions_stay_inside(void **state)
{
    static const uint64_t sizes[] = {
        512, 1024, 9593344, UINT64_C(1) << 32, (UINT64_C(1) << 32) + 512, UINT64_C(1) << 53};
    uint64_t random = 5;
    for (size_t i = 0; i < SUPPORT_COUNT(sizes); i++) {
        uint64_t largest = 0;
        for (unsigned j = 0; j < 10000; j++) {
            struct perhaps__walk walk = perhaps__walk_start(support_random(&random));
            for (unsigned l = 0; l < 30; l++) {
                uint64_t position = perhaps__walk_next(&walk, sizes[i]);
                assert_true(position < sizes[i]);
                largest = position > largest ? position : largest;
            }
        }
        assert_true(largest >= sizes[i] - sizes[i] / 256);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_hashes),
        cmocka_unit_test(test_public_hash),
        cmocka_unit_test(test_placement),
        cmocka_unit_test(test_positions_stay_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
