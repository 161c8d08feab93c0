// SPDX-License-Identifier: MIT
#include "bloom_sorted.h"

#include "place.h"
#include "words.h"
#include "words_stream.h"

// A region has 2^20 bits, 128 KiB: it and the next one, which is on its way meanwhile, are half of a second-level cache of
// 512 KiB. Regions of 256 and 512 KiB take as long: docs/decisions.md, 28.
#define OFFSET_BITS 20
#define REGION_LINES ((UINT64_C(1) << OFFSET_BITS) / 8 / PERHAPS_LINE)

// An entry is a position in its region, and the lowest bits of the number of its key. Entries of a region are in the order
// of keys, so that the number is known from the entry before, as long as keys with one in the region are not further
// apart than these bits tell. Where none came for half of that, the last one is entered again: it changes nothing.
#define KEY_BITS (32 - OFFSET_BITS)
#define KEY_MASK ((UINT32_C(1) << KEY_BITS) - 1)
#define STRETCH (UINT32_C(1) << (KEY_BITS - 1))

#define LINE_ENTRIES (PERHAPS_LINE / sizeof(uint32_t))

struct stage {
    uint32_t entries[LINE_ENTRIES];
};

// What is in the memory. The last line of a region's entries, until it is full, is its stage.
struct sorter {
    struct stage *stages;
    uint32_t *entries;
    uint32_t *count; // of entries
    uint32_t *seen;  // the count at the end of the last stretch
    uint32_t *base;  // of the region's first entry: a key at most as far before it as an entry tells
    uint8_t *absent; // a bit for each key: one of its bits was clear
    uint32_t room;
    uint32_t regions;
    uint64_t *words;
    uint64_t lines; // of the filter
    uint64_t used;  // bits set
};

// Enough for hashes that are spread evenly, in all regions: six standard deviations. Others are not wrong, only slow.
static uint64_t room_for(uint64_t mean)
{
    uint64_t deviation = 1;
    while (deviation * deviation < mean) {
        deviation *= 2; // at most twice the root
    }
    return (mean + 3 * deviation + 2 * LINE_ENTRIES) / LINE_ENTRIES * LINE_ENTRIES;
}

static uint64_t absent_bytes(uint64_t keys)
{
    return keys / 8 + 1;
}

struct perhaps__sorting perhaps__bloom_sorting(const struct perhaps__view *view, uint64_t positions)
{
    struct perhaps__sorting sorting = {
        .keys = positions / view->positions,
        .regions = ((view->range - 1) >> OFFSET_BITS) + 1,
    };
    sorting.room = room_for(positions / sorting.regions);
    sorting.bytes = sorting.regions * (sorting.room * sizeof(uint32_t) + sizeof(struct stage) + 3 * sizeof(uint32_t)) +
                    absent_bytes(sorting.keys);
    return sorting;
}

static struct sorter make_sorter(const struct perhaps__view *view, const struct perhaps__sorting *sorting, void *memory)
{
    struct stage *stages = memory;
    uint32_t *entries = (uint32_t *)(void *)(stages + sorting->regions);
    uint32_t *count = entries + sorting->regions * sorting->room;
    return (struct sorter){
        .stages = stages,
        .entries = entries,
        .count = count,
        .seen = count + sorting->regions,
        .base = count + 2 * sorting->regions,
        .absent = (uint8_t *)(count + 3 * sorting->regions),
        .room = (uint32_t)sorting->room,
        .regions = (uint32_t)sorting->regions,
        .words = view->memory,
        .lines = view->range / 8 / PERHAPS_LINE,
    };
}

/* ---------------------------------------------------------------- setting */

// Sets the bits of some entries, and returns how many were clear. *key is the number of the key of the entry before.
static inline uint64_t set_entries(uint64_t *words, const uint32_t *entries, size_t count, uint32_t *key,
                                   uint8_t *absent)
{
    uint64_t set = 0;
    uint32_t at = *key;
    for (size_t i = 0; i < count; i++) {
        at += (entries[i] - at) & KEY_MASK;
        uint64_t was_clear = perhaps__bit_set(words, entries[i] >> KEY_BITS);
        absent[at / 8] |= (uint8_t)(was_clear << (at % 8));
        set += was_clear;
    }
    *key = at;
    return set;
}

// Lines of the filter that are asked for, a few at a time.
struct fetching {
    const uint64_t *words;
    uint64_t lines;
    uint64_t step;
};

static struct fetching fetch_region(const struct sorter *sorter, uint32_t region, uint64_t times)
{
    uint64_t first = region * REGION_LINES;
    uint64_t lines = region < sorter->regions ? perhaps__min(REGION_LINES, sorter->lines - first) : 0;
    return (struct fetching){
        .words = sorter->words + (lines > 0 ? first * (PERHAPS_LINE / 8) : 0),
        .lines = lines,
        .step = lines / times + 1,
    };
}

static inline void fetch_some(struct fetching *fetching)
{
    uint64_t lines = perhaps__min(fetching->step, fetching->lines);
    for (uint64_t i = 0; i < lines; i++) {
        __builtin_prefetch(fetching->words, 1, 1);
        fetching->words += PERHAPS_LINE / 8;
    }
    fetching->lines -= lines;
}

// Past the end it is only a hint, and no pointer.
static inline void fetch_entries(const uint32_t *entries)
{
    __builtin_prefetch((const void *)((uintptr_t)entries + (uintptr_t)16 * PERHAPS_LINE));
}

// Sets what is entered of a region. Lines of another come meanwhile.
static void set_region(struct sorter *sorter, uint32_t region, struct fetching fetching)
{
    uint64_t *words = sorter->words + region * REGION_LINES * (PERHAPS_LINE / 8);
    const uint32_t *entries = sorter->entries + (size_t)region * sorter->room;
    uint32_t whole = sorter->count[region] / LINE_ENTRIES;
    uint32_t key = sorter->base[region];
    uint8_t *absent = sorter->absent;
    uint64_t set = 0;
    for (uint32_t i = 0; i < whole; i++) {
        fetch_entries(entries);
        fetch_some(&fetching);
        set += set_entries(words, entries, LINE_ENTRIES, &key, absent);
        entries += LINE_ENTRIES;
    }
    fetch_some(&fetching);
    size_t rest = sorter->count[region] % LINE_ENTRIES;
    sorter->used += set + set_entries(words, sorter->stages[region].entries, rest, &key, absent);
}

static void set_all(struct sorter *sorter)
{
    for (uint32_t region = 0; region < sorter->regions; region++) {
        set_region(sorter, region, fetch_region(sorter, region + 1, sorter->count[region] / LINE_ENTRIES + 1));
    }
}

/* ---------------------------------------------------------------- sorting */

// A region that is full before its time is set at once, and begins again.
static __attribute__((noinline)) void make_room(struct sorter *sorter, uint32_t region, uint32_t key)
{
    set_region(sorter, region, (struct fetching){0});
    sorter->count[region] = 0;
    sorter->base[region] = key;
}

static inline void enter(struct sorter *sorter, uint32_t region, uint32_t offset, uint32_t key)
{
    uint32_t count = sorter->count[region]++;
    uint32_t *stage = sorter->stages[region].entries;
    stage[count % LINE_ENTRIES] = offset << KEY_BITS | (key & KEY_MASK);
    if (PERHAPS_UNLIKELY(count % LINE_ENTRIES == LINE_ENTRIES - 1)) {
        uint32_t first = count - (uint32_t)(LINE_ENTRIES - 1);
        perhaps__stream_line(sorter->entries + (size_t)region * sorter->room + first, stage);
        if (PERHAPS_UNLIKELY(count + 1 == sorter->room)) {
            make_room(sorter, region, key);
        }
    }
}

// Keys `first` to `end` - 1 are entered, `end` is the next one.
static void end_stretch(struct sorter *sorter, uint32_t end)
{
    for (uint32_t region = 0; region < sorter->regions; region++) {
        uint32_t count = sorter->count[region];
        if (PERHAPS_LIKELY(count != sorter->seen[region])) {
            sorter->seen[region] = count;
        } else if (count == 0) {
            sorter->base[region] = end;
        } else {
            uint32_t last = sorter->stages[region].entries[(count - 1) % LINE_ENTRIES];
            enter(sorter, region, last >> KEY_BITS, end - 1);
            sorter->seen[region] = sorter->count[region];
        }
    }
}

static void sort_stretch(struct sorter *sorter, const struct perhaps__view *view, const uint64_t *hashes,
                         uint32_t first, uint32_t end)
{
    for (uint32_t key = first; key < end; key++) {
        struct perhaps__walk walk = perhaps__walk_start(perhaps__place(hashes[key], view->seed_key));
        perhaps__fetch_hashes(hashes + key);
        for (uint64_t i = 0; i < view->positions; i++) {
            uint64_t position = perhaps__walk_next(&walk, view->range);
            enter(sorter, (uint32_t)(position >> OFFSET_BITS), (uint32_t)position, key);
        }
    }
}

static void tell(const struct sorter *sorter, size_t count, uint8_t *out, struct perhaps__tally *tally)
{
    uint64_t keys = 0;
    for (size_t i = 0; i < count; i++) {
        uint8_t was_absent = (uint8_t)(sorter->absent[i / 8] >> (i % 8) & 1);
        keys += was_absent;
        if (out != NULL) {
            out[i] = was_absent;
        }
    }
    tally->keys += keys;
    tally->used += sorter->used;
}

void perhaps__bloom_add_sorted(const struct perhaps__view *view, const struct perhaps__sorting *sorting, void *memory,
                               const uint64_t *hashes, size_t count, uint8_t *out, struct perhaps__tally *tally)
{
    const struct perhaps__view own = *view; // what is written could be part of it, for all a compiler knows
    struct sorter sorter = make_sorter(&own, sorting, memory);
    memset(sorter.count, 0, 3 * sorter.regions * sizeof *sorter.count); // and seen and base
    memset(sorter.absent, 0, absent_bytes(count));
    for (size_t first = 0; first < count; first += STRETCH) {
        size_t end = (size_t)perhaps__min(first + STRETCH, count);
        sort_stretch(&sorter, &own, hashes, (uint32_t)first, (uint32_t)end);
        end_stretch(&sorter, (uint32_t)end);
    }
    set_all(&sorter);
    perhaps__stream_end();
    tell(&sorter, count, out, tally);
}
