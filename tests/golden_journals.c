// SPDX-License-Identifier: MIT
#include "golden_journals.h"

#include <string.h>

#include "file.h"
#include "support_keys.h"

static int fill(perhaps_filter *filter);
static int set_positions(perhaps_filter *filter);
static int crowd(perhaps_filter *filter);
static int clear_all(perhaps_filter *filter);

// So narrow fingerprints that the second layer does not fold into the first: removals are ambiguous.
#define AMBIGUOUS                                                                                                      \
    {                                                                                                                  \
        .size = sizeof(perhaps_options), .kind = PERHAPS_KIND_CUCKOO, .policy = PERHAPS_POLICY_MULTISET, .slots = 2,   \
        .fingerprint_bits = 7, .capacity = 50, .fpr = 0.1, .at_capacity = PERHAPS_AT_CAPACITY_GROW, .growth = 8        \
    }

static const struct {
    const char *name;
    perhaps_options options;
    int (*change)(perhaps_filter *);
} cases[] = {
    {"v1-bloom", {.size = sizeof(perhaps_options), .kind = PERHAPS_KIND_BLOOM, .capacity = 100, .fpr = 0.01}, fill},
    {"v1-blocked", {.size = sizeof(perhaps_options), .kind = PERHAPS_KIND_BLOCKED, .capacity = 100, .fpr = 0.01}, fill},
    {"v1-counting",
     {.size = sizeof(perhaps_options), .kind = PERHAPS_KIND_COUNTING, .capacity = 60, .fpr = 0.01, .seed = 9},
     fill},
    {"v1-cuckoo", {.size = sizeof(perhaps_options), .kind = PERHAPS_KIND_CUCKOO, .capacity = 60, .fpr = 0.01}, fill},
    {"v1-grown",
     {.size = sizeof(perhaps_options),
      .kind = PERHAPS_KIND_BLOOM,
      .capacity = 20,
      .fpr = 0.01,
      .at_capacity = PERHAPS_AT_CAPACITY_GROW},
     fill},
    {"v1-position",
     {.size = sizeof(perhaps_options), .kind = PERHAPS_KIND_BLOOM, .capacity = 100, .fpr = 0.01},
     set_positions},
    // Filters that refuse, move fingerprints or grow on the way.
    {"v1-bloom-refusing",
     {.size = sizeof(perhaps_options),
      .kind = PERHAPS_KIND_BLOOM,
      .capacity = 40,
      .fpr = 0.02,
      .at_capacity = PERHAPS_AT_CAPACITY_REFUSE},
     crowd},
    {"v1-bloom-planned",
     {.size = sizeof(perhaps_options),
      .kind = PERHAPS_KIND_BLOOM,
      .capacity = 10,
      .fpr = 0.02,
      .at_capacity = PERHAPS_AT_CAPACITY_GROW,
      .growth = 4,
      .max_capacity = 75},
     crowd},
    {"v1-blocked-grown",
     {.size = sizeof(perhaps_options),
      .kind = PERHAPS_KIND_BLOCKED,
      .capacity = 15,
      .fpr = 0.05,
      .at_capacity = PERHAPS_AT_CAPACITY_GROW},
     crowd},
    {"v1-counting-conservative",
     {.size = sizeof(perhaps_options),
      .kind = PERHAPS_KIND_COUNTING,
      .capacity = 60,
      .fpr = 0.1,
      .policy = PERHAPS_POLICY_CONSERVATIVE},
     crowd},
    {"v1-counting-crowded",
     {.size = sizeof(perhaps_options), .kind = PERHAPS_KIND_COUNTING, .capacity = 10, .fpr = 0.5},
     crowd},
    {"v1-counting-refusing",
     {.size = sizeof(perhaps_options),
      .kind = PERHAPS_KIND_COUNTING,
      .capacity = 40,
      .fpr = 0.02,
      .counter_bits = 8,
      .at_capacity = PERHAPS_AT_CAPACITY_REFUSE},
     crowd},
    {"v1-cuckoo-full",
     {.size = sizeof(perhaps_options), .kind = PERHAPS_KIND_CUCKOO, .capacity = 60, .fpr = 0.01, .seed = 6},
     crowd},
    {"v1-cuckoo-full-unique",
     {.size = sizeof(perhaps_options),
      .kind = PERHAPS_KIND_CUCKOO,
      .policy = PERHAPS_POLICY_UNIQUE,
      .capacity = 16,
      .fpr = 0.01},
     crowd},
    {"v1-cuckoo-search",
     {.size = sizeof(perhaps_options),
      .kind = PERHAPS_KIND_CUCKOO,
      .slots = 2,
      .search = 3,
      .capacity = 20,
      .fpr = 0.05},
     crowd},
    {"v1-cuckoo-grown",
     {.size = sizeof(perhaps_options),
      .kind = PERHAPS_KIND_CUCKOO,
      .capacity = 12,
      .fpr = 0.1,
      .at_capacity = PERHAPS_AT_CAPACITY_GROW,
      .max_bytes = 600},
     crowd},
    {"v1-cuckoo-grown-multiset",
     {.size = sizeof(perhaps_options),
      .kind = PERHAPS_KIND_CUCKOO,
      .policy = PERHAPS_POLICY_MULTISET,
      .capacity = 12,
      .fpr = 0.1,
      .at_capacity = PERHAPS_AT_CAPACITY_GROW,
      .max_capacity = 90},
     crowd},
    {"v1-cuckoo-ambiguous", AMBIGUOUS, crowd},
    {"v1-cuckoo-cleared", AMBIGUOUS, clear_all},
};

const char *golden_journal_name(size_t i)
{
    return i < PERHAPS_COUNT(cases) ? cases[i].name : NULL;
}

static int draw_fixed(void *bytes, size_t size)
{
    memset(bytes, 0x5a, size);
    return 0;
}

static int begin(perhaps_filter *filter, const char *path)
{
    const struct perhaps__file_operations *before = perhaps__files;
    struct perhaps__file_operations fixed = *before;
    fixed.draw = draw_fixed;
    perhaps__files = &fixed;
    int result = perhaps_begin_journal(filter, path, NULL, NULL);
    perhaps__files = before;
    return result;
}

static int add_words(perhaps_filter *filter, uint64_t first, uint64_t count)
{
    uint8_t keys[64][SUPPORT_KEY_MAX];
    const void *pointers[64];
    size_t lengths[64];
    for (uint64_t i = 0; i < count; i++) {
        lengths[i] = support_key(SUPPORT_WORDS, first + i, keys[i]);
        pointers[i] = keys[i];
    }
    return perhaps_add_many_pointers(filter, pointers, lengths, (size_t)count, NULL, NULL);
}

// A word that was added.
static int remove_word(perhaps_filter *filter, uint64_t number)
{
    uint8_t key[SUPPORT_KEY_MAX];
    size_t length = support_key(SUPPORT_WORDS, number, key);
    int result = perhaps_remove(filter, key, length);
    return result == PERHAPS_E_UNSUPPORTED ? PERHAPS_OK : result;
}

// The last of them ends within a value.
static int set_positions(perhaps_filter *filter)
{
    int result = add_words(filter, 0, 5);
    result = result < 0 ? result : perhaps_set_position(filter, "the first position", 18);
    result = result < 0 ? result : perhaps_fold_journal(filter, NULL);
    result = result < 0 ? result : add_words(filter, 5, 5);
    result = result < 0 ? result : perhaps_set_position(filter, NULL, 0);
    result = result < 0 ? result : perhaps_set_position(filter, "position 2", 10);
    return result < 0 ? result : add_words(filter, 10, 5);
}

static int fill(perhaps_filter *filter)
{
    int result = add_words(filter, 0, 20);
    result = result < 0 ? result : perhaps_fold_journal(filter, NULL);
    result = result < 0 ? result : add_words(filter, 20, 1);
    result = result < 0 ? result : perhaps_clear(filter);
    result = result < 0 ? result : add_words(filter, 10, 40);
    result = result < 0 ? result : remove_word(filter, 12);
    return result < 0 ? result : add_words(filter, 10, 3);
}

// What a filter refuses is in the journal all the same, and is refused again when that is replayed.
static bool is_refusal(int result)
{
    return result == PERHAPS_E_FULL || result == PERHAPS_E_COPIES || result == PERHAPS_E_LIMIT ||
           result == PERHAPS_E_AMBIGUOUS;
}

static int add_crowd(perhaps_filter *filter, uint64_t first, uint64_t count)
{
    int result = add_words(filter, first, count);
    return is_refusal(result) ? PERHAPS_OK : result;
}

static int remove_crowd(perhaps_filter *filter, uint64_t first, uint64_t count)
{
    int result = PERHAPS_OK;
    for (uint64_t i = first; i < first + count && result >= 0; i++) {
        result = remove_word(filter, i);
        result = is_refusal(result) ? PERHAPS_OK : result;
    }
    return result;
}

// More keys than there is room for, in large records and small ones, and more copies; then fewer, then more again.
static int crowd(perhaps_filter *filter)
{
    int result = add_crowd(filter, 0, 8);
    result = result < 0 ? result : perhaps_fold_journal(filter, NULL);
    for (uint64_t i = 5; i < 90 && result >= 0; i++) {
        result = add_crowd(filter, i, i % 7 == 0 ? 3 : 1);
    }
    for (uint64_t i = 0; i < 50 && result >= 0; i++) {
        result = add_crowd(filter, i % 2 != 0 ? 7 : 41, 1);
    }
    result = result < 0 ? result : add_crowd(filter, 0, 40); // where copies are kept, in a layer that is newer
    result = result < 0 ? result : remove_crowd(filter, 0, 60);
    result = result < 0 ? result : add_crowd(filter, 200, 64);
    result = result < 0 ? result : remove_crowd(filter, 40, 30);
    return result < 0 ? result : add_crowd(filter, 5, 20);
}

// A filter that has all that clearing takes: layers, ambiguous removals, a position.
static int clear_all(perhaps_filter *filter)
{
    int result = add_crowd(filter, 0, 60);
    result = result < 0 ? result : add_crowd(filter, 60, 30);
    result = result < 0 ? result : add_crowd(filter, 0, 40);
    result = result < 0 ? result : remove_crowd(filter, 0, 40);
    result = result < 0 ? result : perhaps_set_position(filter, "up to here", 10);
    result = result < 0 ? result : perhaps_fold_journal(filter, NULL);
    result = result < 0 ? result : add_crowd(filter, 90, 10);
    result = result < 0 ? result : perhaps_clear(filter);
    return result < 0 ? result : add_crowd(filter, 20, 10);
}

perhaps_filter *golden_journal_build(size_t i, const char *path)
{
    perhaps_filter *filter = NULL;
    if (perhaps_create(&cases[i].options, &filter, NULL) < 0) {
        return NULL;
    }
    if (begin(filter, path) < 0 || cases[i].change(filter) < 0) {
        perhaps_free(filter);
        return NULL;
    }
    return filter;
}
