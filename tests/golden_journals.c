// SPDX-License-Identifier: MIT
#include "golden_journals.h"

#include <string.h>

#include "file.h"
#include "support_keys.h"

static const struct {
    const char *name;
    perhaps_options options;
} cases[] = {
    {"v1-bloom", {.size = sizeof(perhaps_options), .kind = PERHAPS_KIND_BLOOM, .capacity = 100, .fpr = 0.01}},
    {"v1-blocked", {.size = sizeof(perhaps_options), .kind = PERHAPS_KIND_BLOCKED, .capacity = 100, .fpr = 0.01}},
    {"v1-counting",
     {.size = sizeof(perhaps_options), .kind = PERHAPS_KIND_COUNTING, .capacity = 60, .fpr = 0.01, .seed = 9}},
    {"v1-cuckoo", {.size = sizeof(perhaps_options), .kind = PERHAPS_KIND_CUCKOO, .capacity = 60, .fpr = 0.01}},
    {"v1-grown",
     {.size = sizeof(perhaps_options),
      .kind = PERHAPS_KIND_BLOOM,
      .capacity = 20,
      .fpr = 0.01,
      .at_capacity = PERHAPS_AT_CAPACITY_GROW}},
    {"v1-position", {.size = sizeof(perhaps_options), .kind = PERHAPS_KIND_BLOOM, .capacity = 100, .fpr = 0.01}},
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

static bool has_positions(size_t i)
{
    return strcmp(cases[i].name, "v1-position") == 0;
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

perhaps_filter *golden_journal_build(size_t i, const char *path)
{
    perhaps_filter *filter = NULL;
    if (perhaps_create(&cases[i].options, &filter, NULL) < 0) {
        return NULL;
    }
    if (begin(filter, path) < 0 || (has_positions(i) ? set_positions(filter) : fill(filter)) < 0) {
        perhaps_free(filter);
        return NULL;
    }
    return filter;
}
