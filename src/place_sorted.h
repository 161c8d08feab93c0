// SPDX-License-Identifier: MIT
// Layer 1: the positions of many keys, sorted by region of the array, for kinds whose keys have k cells anywhere in it: the
// bits of bloom, the counters of counting. They are set or looked at while their region is in the second-level cache,
// so that the memory is read and written through, and not at random. What it needs beside the filter is the caller's.
//
// Bytes, answers and counts are those of one key after the other. The positions of a region stay in the order of their keys,
// so whoever comes first to a cell that is clear finds it so; and a key is absent if one of its cells is clear.
//
// One text for every width of a cell, which is a constant where perhaps__visit_entries() is called, as is the verb.
#ifndef PERHAPS_PLACE_SORTED_H
#define PERHAPS_PLACE_SORTED_H

#include "view.h"
#include "words_cells.h"

// How keys are sorted in one filter.
struct perhaps__sorting {
    uint64_t keys; // at a time, at most
    uint64_t regions;
    uint64_t room;  // for positions of a region, on average filled by that many keys
    uint64_t bytes; // of memory
};

struct perhaps__sorter;

// Lines of the filter that are asked for, a few at a time.
struct perhaps__fetching {
    const uint64_t *words;
    uint64_t lines;
    uint64_t step;
};

// Goes to what is entered of a region. Lines of another come meanwhile.
typedef void perhaps__visit_function(struct perhaps__sorter *sorter, uint32_t region,
                                     struct perhaps__fetching fetching);

// What a kind does in a region.
struct perhaps__visits {
    perhaps__visit_function *add;
    perhaps__visit_function *ask;
    unsigned width; // of a cell
    bool counts;    // every add counts, in each of a key's cells once: positions that coincide are one
};

// For `positions` positions at a time, that are those of at least one key. The memory is a little more than four bytes each.
struct perhaps__sorting perhaps__sorting_for(const struct perhaps__view *view, const struct perhaps__visits *visits,
                                             uint64_t positions);

// As perhaps__add_many_function and perhaps__ask_many_function, for at most sorting->keys keys. `memory` is aligned to
// PERHAPS_LINE; what is in it does not matter.
void perhaps__add_sorted(const struct perhaps__view *view, const struct perhaps__visits *visits,
                         const struct perhaps__sorting *sorting, void *memory, const uint64_t *hashes, size_t count,
                         uint8_t *out, struct perhaps__tally *tally);
void perhaps__ask_sorted(const struct perhaps__view *view, const struct perhaps__visits *visits,
                         const struct perhaps__sorting *sorting, void *memory, const uint64_t *hashes, size_t count,
                         uint8_t *out);

/* ---------------------------------------------------------------- for the kinds */

// A region is 128 KiB: it and the next one, which is on its way meanwhile, are half of a second-level cache of 512 KiB.
// Regions of 256 and 512 KiB take as long: docs/decisions.md, 28.
#define PERHAPS_REGION_BITS (UINT64_C(1) << 20)
#define PERHAPS_REGION_LINES (PERHAPS_REGION_BITS / 8 / PERHAPS_LINE)

// An entry is a cell of its region, above the lowest bits of the number of its key. Entries of a region are in the order of
// keys, so that the number is known from the entry before, as long as keys with one in the region are not further apart than
// these bits tell. Where none came for half of that, a mark is entered: of a key, and of no cell.
#define PERHAPS_ENTRY_KEY_BITS 11
#define PERHAPS_ENTRY_KEY ((UINT32_C(1) << PERHAPS_ENTRY_KEY_BITS) - 1)
#define PERHAPS_ENTRY_MARK (UINT32_C(1) << 31)

#define PERHAPS_LINE_ENTRIES (PERHAPS_LINE / sizeof(uint32_t))

struct perhaps__stage {
    uint32_t entries[PERHAPS_LINE_ENTRIES];
};

// Cells that are not zero any more, and counters that came to their maximum.
struct perhaps__gained {
    uint64_t used;
    uint64_t saturated;
};

// What is in the memory. The last line of a region's entries, until it is full, is its stage.
struct perhaps__sorter {
    struct perhaps__stage *stages;
    uint32_t *entries;
    uint32_t *count; // of entries
    uint32_t *seen;  // the count at the end of the last stretch
    uint32_t *base;  // of the region's first entry: a key at most as far before it as an entry tells
    uint8_t *absent; // a bit for each key: one of its cells was clear
    uint32_t room;
    uint32_t regions;
    unsigned shift; // of a cell, to its region
    bool distinct;  // positions of a key that coincide are entered once; to look twice at one cell changes nothing
    perhaps__visit_function *visit;
    uint64_t *words; // of the filter
    uint64_t lines;
    struct perhaps__gained gained;
};

// What is done to a cell.
enum perhaps__visit_verb { PERHAPS_VISIT_ADD, PERHAPS_VISIT_ASK };

// Whether the cell was clear.
PERHAPS_CELL_INLINE bool perhaps__visit_cell(void *region, uint64_t cell, struct perhaps__gained *gained,
                                             unsigned width, enum perhaps__visit_verb verb)
{
    if (verb == PERHAPS_VISIT_ASK) {
        return !perhaps__cell_is_set(region, cell, width);
    }
    if (width == 1) {
        uint64_t was_clear = perhaps__bit_set(region, cell);
        gained->used += was_clear;
        return was_clear != 0;
    }
    uint64_t value = perhaps__cell_get(region, cell, width);
    perhaps__cell_change(region, cell, width, value != perhaps__cell_most(width));
    gained->used += value == 0;
    gained->saturated += value == perhaps__cell_most(width) - 1;
    return value == 0;
}

// *key is the number of the key of the entry before.
PERHAPS_CELL_INLINE void perhaps__visit_some(void *region, const uint32_t *entries, size_t count, uint32_t *key,
                                             uint8_t *absent, struct perhaps__gained *gained, unsigned width,
                                             enum perhaps__visit_verb verb)
{
    uint32_t at = *key;
    for (size_t i = 0; i < count; i++) {
        at += (entries[i] - at) & PERHAPS_ENTRY_KEY;
        if (PERHAPS_UNLIKELY((entries[i] & PERHAPS_ENTRY_MARK) != 0)) {
            continue;
        }
        bool was_clear = perhaps__visit_cell(region, entries[i] >> PERHAPS_ENTRY_KEY_BITS, gained, width, verb);
        absent[at / 8] |= (uint8_t)((unsigned)was_clear << (at % 8));
    }
    *key = at;
}

// For writing only where that follows: processors would take the lines from each other.
PERHAPS_CELL_INLINE void perhaps__fetch_some(struct perhaps__fetching *fetching, enum perhaps__visit_verb verb)
{
    uint64_t lines = perhaps__min(fetching->step, fetching->lines);
    for (uint64_t i = 0; i < lines; i++) {
        if (verb == PERHAPS_VISIT_ADD) {
            __builtin_prefetch(fetching->words, 1, 1);
        } else {
            __builtin_prefetch(fetching->words, 0, 1);
        }
        fetching->words += PERHAPS_LINE / 8;
    }
    fetching->lines -= lines;
}

// Past the end it is only a hint, and no pointer.
static inline void perhaps__fetch_entries(const uint32_t *entries)
{
    __builtin_prefetch((const void *)((uintptr_t)entries + (uintptr_t)16 * PERHAPS_LINE));
}

// The text of a perhaps__visit_function.
PERHAPS_CELL_INLINE void perhaps__visit_entries(struct perhaps__sorter *sorter, uint32_t region,
                                                struct perhaps__fetching fetching, unsigned width,
                                                enum perhaps__visit_verb verb)
{
    uint64_t *words = sorter->words + region * PERHAPS_REGION_LINES * (PERHAPS_LINE / 8);
    const uint32_t *entries = sorter->entries + (size_t)region * sorter->room;
    uint32_t whole = sorter->count[region] / PERHAPS_LINE_ENTRIES;
    uint32_t key = sorter->base[region];
    uint8_t *absent = sorter->absent;
    struct perhaps__gained gained = sorter->gained; // in registers
    for (uint32_t i = 0; i < whole; i++) {
        perhaps__fetch_entries(entries);
        perhaps__fetch_some(&fetching, verb);
        perhaps__visit_some(words, entries, PERHAPS_LINE_ENTRIES, &key, absent, &gained, width, verb);
        entries += PERHAPS_LINE_ENTRIES;
    }
    perhaps__fetch_some(&fetching, verb);
    size_t rest = sorter->count[region] % PERHAPS_LINE_ENTRIES;
    perhaps__visit_some(words, sorter->stages[region].entries, rest, &key, absent, &gained, width, verb);
    sorter->gained = gained;
}

#endif
