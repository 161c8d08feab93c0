// SPDX-License-Identifier: MIT
#include "place_sorted.h"

#include "place.h"
#include "words_stream.h"

// Keys after which every region has an entry, or gets a mark.
#define STRETCH (UINT32_C(1) << (PERHAPS_ENTRY_KEY_BITS - 1))

// Enough for hashes that are spread evenly, in nearly all regions: three to six standard deviations. A region that gets
// more is visited more often, which is not wrong, only slow.
static uint64_t room_for(uint64_t mean)
{
    uint64_t deviation = 1;
    while (deviation * deviation < mean) {
        deviation *= 2; // at most twice the root
    }
    return (mean + 3 * deviation + 2 * PERHAPS_LINE_ENTRIES) / PERHAPS_LINE_ENTRIES * PERHAPS_LINE_ENTRIES;
}

static uint64_t absent_bytes(uint64_t keys)
{
    return keys / 8 + 1;
}

struct perhaps__sorting perhaps__sorting_for(const struct perhaps__view *view, const struct perhaps__visits *visits,
                                             uint64_t positions)
{
    struct perhaps__sorting sorting = {
        .keys = positions / view->positions,
        .regions = (view->range - 1) / (PERHAPS_REGION_BITS / visits->width) + 1,
    };
    sorting.room = room_for(positions / sorting.regions);
    sorting.bytes =
        sorting.regions * (sorting.room * sizeof(uint32_t) + sizeof(struct perhaps__stage) + 3 * sizeof(uint32_t)) +
        absent_bytes(sorting.keys);
    return sorting;
}

static struct perhaps__sorter make_sorter(const struct perhaps__view *view, const struct perhaps__visits *visits,
                                          const struct perhaps__sorting *sorting, void *memory)
{
    struct perhaps__stage *stages = memory;
    uint32_t *entries = (uint32_t *)(void *)(stages + sorting->regions);
    uint32_t *count = entries + sorting->regions * sorting->room;
    return (struct perhaps__sorter){
        .stages = stages,
        .entries = entries,
        .count = count,
        .seen = count + sorting->regions,
        .base = count + 2 * sorting->regions,
        .absent = (uint8_t *)(count + 3 * sorting->regions),
        .room = (uint32_t)sorting->room,
        .regions = (uint32_t)sorting->regions,
        .shift = (unsigned)__builtin_ctzll(PERHAPS_REGION_BITS / visits->width),
        .words = view->memory,
        .lines = view->range * visits->width / 8 / PERHAPS_LINE,
    };
}

/* ---------------------------------------------------------------- going to the regions */

static struct perhaps__fetching fetch_region(const struct perhaps__sorter *sorter, uint32_t region, uint64_t times)
{
    uint64_t first = region * PERHAPS_REGION_LINES;
    uint64_t lines = region < sorter->regions ? perhaps__min(PERHAPS_REGION_LINES, sorter->lines - first) : 0;
    return (struct perhaps__fetching){
        .words = sorter->words + (lines > 0 ? first * (PERHAPS_LINE / 8) : 0),
        .lines = lines,
        .step = lines / times + 1,
    };
}

static void visit_all(struct perhaps__sorter *sorter)
{
    for (uint32_t region = 0; region < sorter->regions; region++) {
        uint64_t lines = sorter->count[region] / PERHAPS_LINE_ENTRIES;
        sorter->visit(sorter, region, fetch_region(sorter, region + 1, lines + 1));
    }
}

/* ---------------------------------------------------------------- sorting */

// A region that is full before its time is visited at once, and begins again.
static __attribute__((noinline)) void make_room(struct perhaps__sorter *sorter, uint32_t region, uint32_t key)
{
    sorter->visit(sorter, region, (struct perhaps__fetching){0});
    sorter->count[region] = 0;
    sorter->base[region] = key;
}

static uint32_t *stage_entry(const struct perhaps__sorter *sorter, uint32_t region, uint32_t number)
{
    return &sorter->stages[region].entries[number % PERHAPS_LINE_ENTRIES];
}

static inline void enter(struct perhaps__sorter *sorter, uint32_t region, uint32_t what, uint32_t key)
{
    uint32_t count = sorter->count[region]++;
    *stage_entry(sorter, region, count) = what | (key & PERHAPS_ENTRY_KEY);
    if (PERHAPS_UNLIKELY(count % PERHAPS_LINE_ENTRIES == PERHAPS_LINE_ENTRIES - 1)) {
        uint32_t first = count - (uint32_t)(PERHAPS_LINE_ENTRIES - 1);
        perhaps__stream_line(sorter->entries + (size_t)region * sorter->room + first, sorter->stages[region].entries);
        if (PERHAPS_UNLIKELY(count + 1 == sorter->room)) {
            make_room(sorter, region, key);
        }
    }
}

// Keys `first` to `end` - 1 are entered, `end` is the next one.
static void end_stretch(struct perhaps__sorter *sorter, uint32_t end)
{
    for (uint32_t region = 0; region < sorter->regions; region++) {
        uint32_t count = sorter->count[region];
        if (PERHAPS_LIKELY(count != sorter->seen[region])) {
            sorter->seen[region] = count;
        } else if (count == 0) {
            sorter->base[region] = end;
        } else {
            enter(sorter, region, PERHAPS_ENTRY_MARK, end - 1);
            sorter->seen[region] = sorter->count[region];
        }
    }
}

// Whether a position is one of the first `count` of a key.
static __attribute__((noinline)) bool is_among(const struct perhaps__view *view, uint64_t hash, uint64_t count,
                                               uint64_t position)
{
    struct perhaps__walk walk = perhaps__walk_start(perhaps__place(hash, view->seed_key));
    for (uint64_t i = 0; i < count; i++) {
        if (perhaps__walk_next(&walk, view->range) == position) {
            return true;
        }
    }
    return false;
}

// Whether the last entry of a region may be of this key too: the only case in which a position can be one of those
// before it.
static inline bool may_repeat(const struct perhaps__sorter *sorter, uint32_t region, uint32_t key)
{
    uint32_t last = *stage_entry(sorter, region, sorter->count[region] - 1); // also when the region has begun again
    return ((last ^ key) & PERHAPS_ENTRY_KEY) == 0;
}

static void sort_stretch(struct perhaps__sorter *sorter, const struct perhaps__view *view, const uint64_t *hashes,
                         uint32_t first, uint32_t end)
{
    const bool distinct = sorter->distinct;
    const unsigned shift = sorter->shift;
    const uint64_t inside = (UINT64_C(1) << shift) - 1;
    for (uint32_t key = first; key < end; key++) {
        struct perhaps__walk walk = perhaps__walk_start(perhaps__place(hashes[key], view->seed_key));
        perhaps__fetch_hashes(hashes + key);
        for (uint64_t i = 0; i < view->positions; i++) {
            uint64_t position = perhaps__walk_next(&walk, view->range);
            uint32_t region = (uint32_t)(position >> shift);
            if (PERHAPS_UNLIKELY(distinct && may_repeat(sorter, region, key)) &&
                is_among(view, hashes[key], i, position)) {
                continue;
            }
            enter(sorter, region, (uint32_t)(position & inside) << PERHAPS_ENTRY_KEY_BITS, key);
        }
    }
}

// Afterwards sorter->absent and sorter->gained tell.
static void sort_and_visit(struct perhaps__sorter *sorter, const struct perhaps__view *view, const uint64_t *hashes,
                           size_t count)
{
    memset(sorter->stages, 0, sorter->regions * sizeof *sorter->stages); // may_repeat() looks before there is anything
    memset(sorter->count, 0, 3 * sorter->regions * sizeof *sorter->count); // and seen and base
    memset(sorter->absent, 0, absent_bytes(count));
    for (size_t first = 0; first < count; first += STRETCH) {
        size_t end = (size_t)perhaps__min(first + STRETCH, count);
        sort_stretch(sorter, view, hashes, (uint32_t)first, (uint32_t)end);
        end_stretch(sorter, (uint32_t)end);
    }
    visit_all(sorter);
    perhaps__stream_end();
}

static inline uint8_t was_absent(const struct perhaps__sorter *sorter, size_t key)
{
    return (uint8_t)(sorter->absent[key / 8] >> (key % 8) & 1);
}

/* ---------------------------------------------------------------- the verbs */

void perhaps__add_sorted(const struct perhaps__view *view, const struct perhaps__visits *visits,
                         const struct perhaps__sorting *sorting, void *memory, const uint64_t *hashes, size_t count,
                         uint8_t *out, struct perhaps__tally *tally)
{
    const struct perhaps__view own = *view; // what is written could be part of it, for all a compiler knows
    struct perhaps__sorter sorter = make_sorter(&own, visits, sorting, memory);
    sorter.visit = visits->add;
    sorter.distinct = visits->counts;
    sort_and_visit(&sorter, &own, hashes, count);
    for (size_t i = 0; i < count; i++) {
        uint8_t absent = was_absent(&sorter, i);
        tally->keys += absent;
        if (out != NULL) {
            out[i] = absent;
        }
    }
    tally->used += sorter.gained.used;
    tally->saturated += sorter.gained.saturated;
    tally->copies += visits->counts ? count : 0;
}

void perhaps__ask_sorted(const struct perhaps__view *view, const struct perhaps__visits *visits,
                         const struct perhaps__sorting *sorting, void *memory, const uint64_t *hashes, size_t count,
                         uint8_t *out)
{
    const struct perhaps__view own = *view;
    struct perhaps__sorter sorter = make_sorter(&own, visits, sorting, memory);
    sorter.visit = visits->ask;
    sort_and_visit(&sorter, &own, hashes, count);
    for (size_t i = 0; i < count; i++) {
        out[i] = was_absent(&sorter, i) ^ 1;
    }
}
