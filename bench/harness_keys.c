// SPDX-License-Identifier: MIT
// The keys: hash number i is perhaps__mix(i), a bijection, so that no two are equal and none is kept in a table. Added
// keys are numbered from 0, absent ones from 2^40.
#include "harness.h"

#include <stdlib.h>

#include "place.h"

#define ABSENT_FROM (UINT64_C(1) << 40)
#define LARGEST_BLOCK ((size_t)1 << 24)
#define MOST_STRINGS ((uint64_t)1 << 20)
#define SHORTEST 16
#define LONGEST 32

static uint64_t hash_number(uint64_t i)
{
    return perhaps__mix(i + 1);
}

// A number below `range`, the i-th of the series `series`.
static uint64_t draw(uint64_t series, uint64_t i, uint64_t range)
{
    return perhaps__multiply_high(perhaps__mix(perhaps__mix(series) + i * UINT64_C(0x9e3779b97f4a7c15)), range);
}

bool harness_mixed_is_present(size_t i)
{
    return draw(1, i, 2) == 1;
}

static size_t string_length(uint64_t number)
{
    return SHORTEST + draw(2, number, LONGEST - SHORTEST + 1);
}

static void write_string(uint8_t *at, uint64_t number)
{
    uint64_t words[LONGEST / 8];
    for (uint64_t i = 0; i < LONGEST / 8; i++) {
        words[i] = draw(3 + i, number, UINT64_MAX);
    }
    memcpy(at, words, string_length(number));
}

static void *array(size_t count, size_t width)
{
    return harness_allocate((count + HARNESS_SLACK) * width, PAGES_OWN);
}

static void free_array(void *memory, size_t count, size_t width)
{
    harness_release(memory, (count + HARNESS_SLACK) * width);
}

static struct strings strings_of(const uint64_t *numbers, size_t count)
{
    struct strings strings = {
        .data = array(count, LONGEST),
        .offsets = array(count, sizeof *strings.offsets),
        .pointers = array(count, sizeof *strings.pointers),
        .lengths = array(count, sizeof *strings.lengths),
        .count = count,
    };
    for (size_t i = 0; i < count; i++) {
        uint8_t *at = strings.data + strings.offsets[i];
        write_string(at, numbers[i]);
        strings.pointers[i] = at;
        strings.lengths[i] = string_length(numbers[i]);
        strings.offsets[i + 1] = strings.offsets[i] + strings.lengths[i];
    }
    return strings;
}

static void free_strings(const struct strings *strings)
{
    free_array(strings->data, strings->count, LONGEST);
    free_array(strings->offsets, strings->count, sizeof *strings->offsets);
    free_array((void *)strings->pointers, strings->count, sizeof *strings->pointers);
    free_array(strings->lengths, strings->count, sizeof *strings->lengths);
}

static void make_queries(struct keys *keys)
{
    for (size_t i = 0; i < ASKED_MIXES; i++) {
        keys->asked[i] = array(keys->queries, sizeof(uint64_t));
    }
    for (size_t i = 0; i < keys->queries; i++) {
        keys->asked[ASKED_PRESENT][i] = hash_number(draw(10, i, keys->hashes));
        keys->asked[ASKED_ABSENT][i] = hash_number(ABSENT_FROM + i);
        // Other keys than those asked above, so that no row warms the next.
        keys->asked[ASKED_MIXED][i] =
            hash_number(harness_mixed_is_present(i) ? draw(11, i, keys->hashes) : ABSENT_FROM + keys->queries + i);
    }
}

static void make_strings(struct keys *keys, size_t added)
{
    size_t most = added > keys->queries ? added : keys->queries;
    uint64_t *numbers = array(most, sizeof *numbers);
    for (size_t i = 0; i < added; i++) {
        numbers[i] = i;
    }
    keys->added = strings_of(numbers, added);
    for (size_t i = 0; i < keys->queries; i++) {
        numbers[i] = draw(12, i, added);
    }
    keys->strings[ASKED_PRESENT] = strings_of(numbers, keys->queries);
    for (size_t i = 0; i < keys->queries; i++) {
        numbers[i] = ABSENT_FROM + i;
    }
    keys->strings[ASKED_ABSENT] = strings_of(numbers, keys->queries);
    free_array(numbers, most, sizeof *numbers);
}

static size_t out_size(const struct keys *keys)
{
    return keys->block > keys->queries ? keys->block : keys->queries;
}

struct keys *harness_keys_new(uint64_t total, size_t queries)
{
    struct keys *keys = calloc(1, sizeof *keys);
    if (keys == NULL) {
        harness_die("no memory");
    }
    uint64_t strings = perhaps__min(total / 16 + 1, MOST_STRINGS);
    keys->total = total;
    keys->hashes = total - strings;
    keys->queries = queries;
    keys->block = (size_t)perhaps__min(keys->hashes, LARGEST_BLOCK);
    keys->block_hashes = array(keys->block, sizeof(uint64_t));
    keys->block_first = UINT64_MAX;
    keys->out = array(out_size(keys), 1);
    make_queries(keys);
    make_strings(keys, (size_t)strings);
    return keys;
}

void harness_keys_free(struct keys *keys)
{
    free_array(keys->block_hashes, keys->block, sizeof(uint64_t));
    free_array(keys->out, out_size(keys), 1);
    for (size_t i = 0; i < ASKED_MIXES; i++) {
        free_array(keys->asked[i], keys->queries, sizeof(uint64_t));
    }
    free_strings(&keys->added);
    free_strings(&keys->strings[ASKED_PRESENT]);
    free_strings(&keys->strings[ASKED_ABSENT]);
    free(keys);
}

size_t harness_block(struct keys *keys, uint64_t first)
{
    size_t count = (size_t)perhaps__min(keys->block, keys->hashes - first);
    if (keys->block_first != first) {
        for (size_t i = 0; i < count; i++) {
            keys->block_hashes[i] = hash_number(first + i);
        }
        keys->block_first = first;
    }
    return count;
}
