// SPDX-License-Identifier: MIT
// Damage to files of every kind: every flip of a bit and every truncation of small ones, random corruption of ones of
// 16 MiB. In both modes of opening it is refused, or, by first touch, answered "perhaps" and counted; and never a false
// negative.
//
//     test_damage [CORRUPTIONS]     of the large files of each kind
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support_secret.h"
#include "support_view.h"

#include "golden_cases.h"
#include "support_format.h"

static uint64_t corruptions = 100;

/* ---------------------------------------------------------------- small files */

static struct support_bytes golden_bytes(size_t i)
{
    perhaps_filter *filter = golden_build(i);
    struct support_bytes bytes = support_encode(filter);
    struct support_bytes aligned = support_aligned(bytes);
    free(bytes.data);
    perhaps_free(filter);
    return aligned;
}

static bool is_usable(size_t i)
{
    return golden_secret(i) == NULL || SUPPORT_KEYED;
}

static size_t header_of(struct support_bytes bytes)
{
    return (size_t)format_get(bytes.data, FORMAT_HEADER_SIZE, 8);
}

// In both modes the code, with a text and the file's name.
static void assert_not_opened(struct support_bytes bytes, uint32_t flags, size_t i, int code)
{
    perhaps_filter *filter = NULL;
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(support_view(bytes, flags, golden_secret(i), &filter, &error), code, &error);
    assert_null(filter);
    assert_string_equal(error.subject, "view");
}

// Every key that was added is "perhaps", and so are the others, because of the one chunk that is damaged.
static void assert_all_perhaps(const perhaps_filter *filter, size_t i)
{
    struct golden_key key;
    uint64_t asked = 0;
    uint64_t least = 0; // every layer with a damaged chunk answers for all keys
    for (size_t j = 0; golden_key(i, j, &key); j++, asked++) {
        if (golden_ask(filter, &key) != 1) {
            fail_msg("%s: key %zu is absent because of damage", golden_name(i), j);
        }
    }
    perhaps_statistics statistics = support_stats(filter);
    assert_int_equal(statistics.chunks_damaged, 1);
    least = statistics.layers == 1 ? asked : 0;
    assert_in_range(statistics.damaged_answers, least, asked);
    assert_true(statistics.damaged_answers > 0);
}

static void assert_not_written(const perhaps_filter *filter)
{
    size_t written = 0;
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_encode(filter, NULL, 0, &written, &error), PERHAPS_E_DAMAGED, &error);
}

static void assert_flip(struct support_bytes bytes, size_t i, size_t at, uint8_t mask)
{
    int code = at < 8 ? PERHAPS_E_NOT_A_FILTER : PERHAPS_E_DAMAGED;
    bytes.data[at] ^= mask;
    assert_not_opened(bytes, 0, i, code);
    if (at < header_of(bytes)) {
        assert_not_opened(bytes, PERHAPS_OPEN_FIRST_TOUCH, i, code);
    } else {
        perhaps_filter *filter = support_view_of(bytes, PERHAPS_OPEN_FIRST_TOUCH, golden_secret(i));
        assert_all_perhaps(filter, i);
        assert_not_written(filter);
        perhaps_free(filter);
    }
    bytes.data[at] ^= mask;
}

static void test_every_bit_of_every_kind(void **state)
{
    for (size_t i = 0; golden_name(i) != NULL; i++) {
        if (!is_usable(i)) {
            continue;
        }
        struct support_bytes bytes = golden_bytes(i);
        size_t header = header_of(bytes);
        for (size_t at = 0; at < bytes.size; at++) {
            for (unsigned bit = (unsigned)at % SUPPORT_SCALE; bit < 8; bit += SUPPORT_SCALE) {
                if (at >= 16 && at < 24) { // the header's own size: where it ends is then another question
                    bytes.data[at] ^= (uint8_t)(1U << bit);
                    assert_not_opened(bytes, 0, i, PERHAPS_E_DAMAGED);
                    assert_not_opened(bytes, PERHAPS_OPEN_FIRST_TOUCH, i, PERHAPS_E_DAMAGED);
                    bytes.data[at] ^= (uint8_t)(1U << bit);
                } else {
                    assert_flip(bytes, i, at, (uint8_t)(1U << bit));
                }
            }
        }
        assert_int_equal(header_of(bytes), header);
        free(bytes.data);
    }
}

static void test_every_truncation_of_every_kind(void **state)
{
    for (size_t i = 0; golden_name(i) != NULL; i++) {
        if (!is_usable(i)) {
            continue;
        }
        struct support_bytes bytes = golden_bytes(i);
        struct support_bytes cut = bytes;
        for (cut.size = 0; cut.size < bytes.size; cut.size++) {
            int code = cut.size < 8 ? PERHAPS_E_NOT_A_FILTER : PERHAPS_E_DAMAGED;
            assert_not_opened(cut, 0, i, code);
            assert_not_opened(cut, PERHAPS_OPEN_FIRST_TOUCH, i, code);
        }
        free(bytes.data);
    }
}

/* ---------------------------------------------------------------- large files */

#define LARGE_KEYS UINT64_C(400000)
#define ASKED 300

static perhaps_filter *large_filter(uint32_t kind)
{
    const perhaps_options options = SUPPORT_OPTIONS(.kind = kind, .bytes = UINT64_C(16) << 20, .fpr = 0.01, .seed = 7);
    perhaps_filter *filter = support_create(&options);
    support_add_keys(filter, SUPPORT_INTEGERS, 0, LARGE_KEYS);
    return filter;
}

// Some bytes somewhere, or a run of them, as a lost sector, a torn write or bad memory leaves them.
struct corruption {
    size_t at[64];
    uint8_t before[64];
    size_t count;
};

static void corrupt(struct support_bytes bytes, struct corruption *corruption, uint64_t *random)
{
    corruption->count = 2 + support_random(random) % 63;
    bool run = support_random(random) % 2 == 0;
    // One in eight in the header, which is a small part of the file.
    size_t range = support_random(random) % 8 == 0 ? header_of(bytes) : bytes.size;
    size_t from = support_random(random) % range;
    for (size_t i = 0; i < corruption->count; i++) {
        size_t at = run ? (from + i) % bytes.size : support_random(random) % range;
        corruption->at[i] = at;
        corruption->before[i] = bytes.data[at];
        bytes.data[at] ^= (uint8_t)(1 + support_random(random) % 255);
    }
}

static void mend(struct support_bytes bytes, const struct corruption *corruption)
{
    for (size_t i = corruption->count; i > 0; i--) {
        bytes.data[corruption->at[i - 1]] = corruption->before[i - 1];
    }
}

static void ask_residents(const perhaps_filter *filter, uint64_t *random)
{
    uint8_t key[SUPPORT_KEY_MAX];
    for (unsigned i = 0; i < ASKED; i++) {
        size_t length = support_key(SUPPORT_INTEGERS, support_random(random) % LARGE_KEYS, key);
        if (perhaps_might_contain(filter, key, length) != 1) {
            fail_msg("FALSE NEGATIVE in a damaged file");
        }
        assert_int_not_equal(perhaps_count_at_most(filter, key, length), 0);
    }
}

static void assert_corruption(struct support_bytes bytes, const struct corruption *corruption, size_t header,
                              uint64_t *random)
{
    bool in_header = false;
    bool in_payload = false;
    for (size_t i = 0; i < corruption->count; i++) {
        bool changed = bytes.data[corruption->at[i]] != corruption->before[i];
        in_header |= corruption->at[i] < header; // twice the same byte is no change only if it comes out even
        in_payload |= corruption->at[i] >= header && changed;
    }
    perhaps_filter *filter = NULL;
    perhaps_error error = SUPPORT_ERROR;
    int eager = support_view(bytes, 0, NULL, &filter, &error);
    assert_true(eager == PERHAPS_E_DAMAGED || eager == PERHAPS_E_NOT_A_FILTER);
    int touched = support_view(bytes, PERHAPS_OPEN_FIRST_TOUCH, NULL, &filter, &error);
    if (touched == PERHAPS_OK) {
        assert_true(in_payload);
        ask_residents(filter, random);
        assert_true(support_scrub(filter) > 0);
        assert_true(support_stats(filter).chunks_damaged > 0);
        ask_residents(filter, random);
        perhaps_free(filter);
    } else {
        assert_true(in_header);
        assert_true(touched == PERHAPS_E_DAMAGED || touched == PERHAPS_E_NOT_A_FILTER);
    }
}

static void corrupt_kind(uint32_t kind)
{
    perhaps_filter *filter = large_filter(kind);
    struct support_bytes encoded = support_encode(filter);
    struct support_bytes bytes = support_aligned(encoded);
    free(encoded.data);
    perhaps_free(filter);
    size_t header = header_of(bytes);
    uint64_t random = kind;
    for (uint64_t i = 0; i < corruptions; i++) {
        struct corruption corruption;
        corrupt(bytes, &corruption, &random);
        assert_corruption(bytes, &corruption, header, &random);
        mend(bytes, &corruption);
    }
    perhaps_free(support_view_of(bytes, 0, NULL)); // all is as it was
    free(bytes.data);
}

static void test_corruption_of_bloom(void **state)
{
    corrupt_kind(PERHAPS_KIND_BLOOM);
}

static void test_corruption_of_blocked(void **state)
{
    corrupt_kind(PERHAPS_KIND_BLOCKED);
}

static void test_corruption_of_counting(void **state)
{
    corrupt_kind(PERHAPS_KIND_COUNTING);
}

static void test_corruption_of_cuckoo(void **state)
{
    corrupt_kind(PERHAPS_KIND_CUCKOO);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_bit_of_every_kind), cmocka_unit_test(test_every_truncation_of_every_kind),
        cmocka_unit_test(test_corruption_of_bloom),     cmocka_unit_test(test_corruption_of_blocked),
        cmocka_unit_test(test_corruption_of_counting),  cmocka_unit_test(test_corruption_of_cuckoo),
    };
    corruptions = argc > 1 ? strtoull(argv[1], NULL, 10) : SUPPORT_SCALED(corruptions);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
