// SPDX-License-Identifier: MIT
#include "golden_cases.h"

#include <string.h>

#include "support_keys.h"

// 00 01 ... 0f, as tests/CMakeLists.txt tells it to the reference reader.
static const uint8_t secret[PERHAPS_KEY_BYTES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

static const struct golden_case {
    const char *name;
    uint32_t kind;
    uint64_t capacity;
    double fpr;
    uint64_t seed;
    uint32_t hash_source;
    const uint8_t *secret;
    enum support_family family;
    uint64_t keys;    // numbers 0 to keys - 1 are added
    uint64_t merged;  // numbers keys to keys + merged - 1 are added to another filter, which is merged in
    uint64_t copies;  // every key is added so many times more, where that counts
    uint64_t removed; // numbers 0 to removed - 1 are removed again, all copies of them
    uint32_t counter_bits;
    uint32_t policy;
    uint32_t slots;
    uint32_t fingerprint_bits;
    uint32_t at_capacity;
    uint64_t max_capacity;
    const char *metadata;
    size_t metadata_size;
    const char *position;
    size_t position_size;
} cases[] = {
    {.name = "v1-bloom-empty", .capacity = 100, .fpr = 0.01},
    {.name = "v1-bloom-words", .capacity = 100, .fpr = 0.01, .family = SUPPORT_WORDS, .keys = 100},
    {.name = "v1-bloom-half", .capacity = 400, .fpr = 0.5, .family = SUPPORT_DIGESTS, .keys = 400},
    {.name = "v1-bloom-seed",
     .capacity = 50,
     .fpr = 0.001,
     .seed = UINT64_C(0xfedcba9876543210),
     .family = SUPPORT_URLS,
     .keys = 50},
    {.name = "v1-bloom-strict", .capacity = 20, .fpr = 1e-9, .seed = 1, .family = SUPPORT_UUIDS, .keys = 20},
    {.name = "v1-bloom-metadata",
     .capacity = 10,
     .fpr = 0.1,
     .family = SUPPORT_INTEGERS,
     .keys = 10,
     .metadata = "made from \0 a\n list",
     .metadata_size = 19},
    {.name = "v1-bloom-position",
     .capacity = 10,
     .fpr = 0.1,
     .family = SUPPORT_INTEGERS,
     .keys = 10,
     .metadata = "of table t",
     .metadata_size = 10,
     .position = "row\0number\012345",
     .position_size = 15},
    {.name = "v1-bloom-caller", .capacity = 64, .fpr = 0.02, .seed = 5, .hash_source = PERHAPS_HASH_CALLER, .keys = 64},
    {.name = "v1-bloom-merged", .capacity = 100, .fpr = 0.01, .family = SUPPORT_DECIMALS, .keys = 40, .merged = 40},
    {.name = "v1-bloom-overfull", .capacity = 1, .fpr = 0.5, .family = SUPPORT_WORDS, .keys = 3000},
    {.name = "v1-bloom-siphash",
     .capacity = 100,
     .fpr = 0.01,
     .seed = 5,
     .secret = secret,
     .family = SUPPORT_UUIDS,
     .keys = 60,
     .merged = 40},
    {.name = "v1-blocked-siphash",
     .kind = PERHAPS_KIND_BLOCKED,
     .capacity = 100,
     .fpr = 0.001,
     .secret = secret,
     .family = SUPPORT_WORDS,
     .keys = 100},
    // The four layouts of blocked.
    {.name = "v1-blocked-4x64",
     .kind = PERHAPS_KIND_BLOCKED,
     .capacity = 200,
     .fpr = 0.1,
     .family = SUPPORT_WORDS,
     .keys = 200},
    {.name = "v1-blocked-8x32",
     .kind = PERHAPS_KIND_BLOCKED,
     .capacity = 100,
     .fpr = 0.01,
     .seed = UINT64_C(0xfedcba9876543210),
     .family = SUPPORT_URLS,
     .keys = 60,
     .merged = 40},
    {.name = "v1-blocked-8x64",
     .kind = PERHAPS_KIND_BLOCKED,
     .capacity = 60,
     .fpr = 0.001,
     .seed = 5,
     .hash_source = PERHAPS_HASH_CALLER,
     .keys = 60},
    {.name = "v1-blocked-8x64-two",
     .kind = PERHAPS_KIND_BLOCKED,
     .capacity = 50,
     .fpr = 1e-6,
     .family = SUPPORT_UUIDS,
     .keys = 50,
     .metadata = "two bits a lane",
     .metadata_size = 15},
    // The widths and policies of counting.
    {.name = "v1-counting-4",
     .kind = PERHAPS_KIND_COUNTING,
     .capacity = 80,
     .fpr = 0.01,
     .family = SUPPORT_WORDS,
     .keys = 80,
     .copies = 3,
     .removed = 30},
    {.name = "v1-counting-4-saturated",
     .kind = PERHAPS_KIND_COUNTING,
     .capacity = 20,
     .fpr = 0.05,
     .seed = 9,
     .family = SUPPORT_DIGESTS,
     .keys = 20,
     .copies = 19,
     .removed = 5},
    {.name = "v1-counting-8-merged",
     .kind = PERHAPS_KIND_COUNTING,
     .counter_bits = 8,
     .capacity = 60,
     .fpr = 0.01,
     .family = SUPPORT_URLS,
     .keys = 40,
     .merged = 20,
     .copies = 1},
    {.name = "v1-counting-16-conservative",
     .kind = PERHAPS_KIND_COUNTING,
     .counter_bits = 16,
     .policy = PERHAPS_POLICY_CONSERVATIVE,
     .capacity = 50,
     .fpr = 0.1,
     .hash_source = PERHAPS_HASH_CALLER,
     .keys = 60,
     .copies = 300},
    // Buckets and fingerprints of cuckoo.
    {.name = "v1-cuckoo-4x12",
     .kind = PERHAPS_KIND_CUCKOO,
     .fingerprint_bits = 12,
     .capacity = 100,
     .fpr = 0.01,
     .family = SUPPORT_WORDS,
     .keys = 100,
     .removed = 20},
    {.name = "v1-cuckoo-2x17-copies",
     .kind = PERHAPS_KIND_CUCKOO,
     .slots = 2,
     .fingerprint_bits = 17,
     .capacity = 200,
     .fpr = 0.001,
     .seed = 3,
     .family = SUPPORT_UUIDS,
     .keys = 60,
     .copies = 2},
    {.name = "v1-cuckoo-8x31-unique",
     .kind = PERHAPS_KIND_CUCKOO,
     .slots = 8,
     .fingerprint_bits = 31,
     .policy = PERHAPS_POLICY_UNIQUE,
     .capacity = 60,
     .fpr = 1e-6,
     .hash_source = PERHAPS_HASH_CALLER,
     .keys = 60,
     .copies = 1},
    {.name = "v1-cuckoo-1-merged",
     .kind = PERHAPS_KIND_CUCKOO,
     .slots = 1,
     .capacity = 100,
     .fpr = 0.01,
     .family = SUPPORT_DECIMALS,
     .keys = 15,
     .merged = 15},
    // Layers.
    {.name = "v1-bloom-grown",
     .at_capacity = PERHAPS_AT_CAPACITY_GROW,
     .capacity = 10,
     .fpr = 0.01,
     .family = SUPPORT_WORDS,
     .keys = 100},
    {.name = "v1-blocked-grown-planned",
     .kind = PERHAPS_KIND_BLOCKED,
     .at_capacity = PERHAPS_AT_CAPACITY_GROW,
     .max_capacity = 200,
     .capacity = 10,
     .fpr = 0.02,
     .seed = 77,
     .family = SUPPORT_URLS,
     .keys = 100},
    {.name = "v1-cuckoo-grown",
     .kind = PERHAPS_KIND_CUCKOO,
     .at_capacity = PERHAPS_AT_CAPACITY_GROW,
     .capacity = 20,
     .fpr = 0.01,
     .family = SUPPORT_DIGESTS,
     .keys = 100},
    {.name = "v1-cuckoo-grown-multiset",
     .kind = PERHAPS_KIND_CUCKOO,
     .at_capacity = PERHAPS_AT_CAPACITY_GROW,
     .policy = PERHAPS_POLICY_MULTISET,
     .capacity = 20,
     .fpr = 0.01,
     .seed = 4,
     .family = SUPPORT_URLS,
     .keys = 80,
     .copies = 1,
     .removed = 15},
    {.name = "v1-bloom-refusing", .at_capacity = PERHAPS_AT_CAPACITY_REFUSE, .capacity = 5, .fpr = 0.01, .keys = 5},
};

#define CASES (sizeof cases / sizeof cases[0])
#define RECORDED_PRESENT 40
#define RECORDED_ABSENT 40

const char *golden_name(size_t i)
{
    return i < CASES ? cases[i].name : NULL;
}

const uint8_t *golden_secret(size_t i)
{
    return cases[i].secret;
}

// Adds or removes a key by its number.
static void change(const struct golden_case *golden, perhaps_filter *filter, uint64_t number,
                   int (*by_key)(perhaps_filter *, const void *, size_t), int (*by_hash)(perhaps_filter *, uint64_t))
{
    uint8_t key[SUPPORT_KEY_MAX];
    if (golden->hash_source == PERHAPS_HASH_CALLER) {
        (void)by_hash(filter, number);
    } else {
        (void)by_key(filter, key, support_key(golden->family, number, key));
    }
}

static perhaps_filter *fill(const struct golden_case *golden, uint64_t first, uint64_t count)
{
    const perhaps_options options = {
        .size = sizeof options,
        .kind = golden->kind,
        .hash_source = golden->hash_source,
        .capacity = golden->capacity,
        .fpr = golden->fpr,
        .seed = golden->seed,
        .key = golden->secret,
        .policy = golden->policy,
        .counter_bits = golden->counter_bits,
        .slots = golden->slots,
        .fingerprint_bits = golden->fingerprint_bits,
        .at_capacity = golden->at_capacity,
        .max_capacity = golden->max_capacity,
    };
    perhaps_filter *filter = NULL;
    if (perhaps_create(&options, &filter, NULL) != PERHAPS_OK) {
        return NULL;
    }
    for (uint64_t i = 0; i < count * (golden->copies + 1); i++) {
        change(golden, filter, first + i % count, perhaps_add, perhaps_add_hash);
    }
    return filter;
}

perhaps_filter *golden_build(size_t i)
{
    const struct golden_case *golden = &cases[i];
    perhaps_filter *filter = fill(golden, 0, golden->keys);
    perhaps_filter *other = fill(golden, golden->keys, golden->merged);
    if (filter != NULL && other != NULL) {
        (void)perhaps_merge(filter, other, NULL); // an empty one changes nothing
        (void)perhaps_set_metadata(filter, golden->metadata, golden->metadata_size);
        (void)perhaps_set_position(filter, golden->position, golden->position_size);
    }
    perhaps_free(other);
    for (uint64_t j = 0; filter != NULL && j < golden->removed * (golden->copies + 1); j++) {
        change(golden, filter, j % golden->removed, perhaps_remove, perhaps_remove_hash);
    }
    return filter;
}

int golden_key(size_t i, size_t j, struct golden_key *key)
{
    static uint8_t bytes[SUPPORT_KEY_MAX];
    const struct golden_case *golden = &cases[i];
    uint64_t present = golden->keys + golden->merged;
    present = present < RECORDED_PRESENT ? present : RECORDED_PRESENT;
    if (j >= present + RECORDED_ABSENT) {
        return 0;
    }
    // The last ones added, so that both sides of a merge are asked; then some that never were.
    uint64_t last = golden->keys + golden->merged;
    uint64_t number = j < present ? last - 1 - j : SUPPORT_ABSENT + j;
    key->hash = number;
    key->length = support_key(golden->family, number, bytes);
    key->bytes = bytes;
    return 1;
}

int golden_ask(const perhaps_filter *filter, const struct golden_key *key)
{
    perhaps_statistics statistics = {.size = sizeof statistics};
    if (perhaps_stats(filter, &statistics) != PERHAPS_OK) {
        return -1;
    }
    return statistics.hash_source == PERHAPS_HASH_CALLER ? perhaps_might_contain_hash(filter, key->hash)
                                                         : perhaps_might_contain(filter, key->bytes, key->length);
}
