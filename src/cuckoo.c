// SPDX-License-Identifier: MIT
// What takes long in a cuckoo table: making room, and folding one table into another.
#include "cuckoo_search.h"

#define INLINE PERHAPS_CUCKOO_INLINE

#define NONE UINT16_MAX

static uint16_t *list_of(struct perhaps__cuckoo_search *search, uint64_t bucket)
{
    return &search->list[(bucket * UINT64_C(0x9e3779b97f4a7c15)) >> 56];
}

INLINE void push(struct perhaps__cuckoo_search *search, uint16_t *list, uint64_t bucket, uint32_t parent, uint32_t slot)
{
    uint32_t node = search->count++;
    search->bucket[node] = bucket;
    search->next[node] = *list;
    search->parent[node] = (uint16_t)parent;
    search->slot[node] = (uint8_t)slot;
    *list = (uint16_t)node;
}

// Adds a bucket to the search if it is new.
INLINE bool reach(struct perhaps__cuckoo_search *search, uint64_t bucket, uint32_t parent, uint32_t slot)
{
    uint16_t *list = list_of(search, bucket);
    for (uint32_t i = *list; i != NONE; i = search->next[i]) {
        if (search->bucket[i] == bucket) {
            return false;
        }
    }
    push(search, list, bucket, parent, slot);
    return true;
}

// Begins with the two buckets of a key, or the one that is both.
INLINE void start(struct perhaps__cuckoo_search *search, uint64_t first, uint64_t second, uint32_t limit)
{
    memset(search->list, 0xff, sizeof search->list);
    search->count = 0;
    search->limit = limit;
    push(search, list_of(search, first), first, 0, 0);
    if (second != first) {
        push(search, list_of(search, second), second, 0, 0);
    }
    search->roots = search->count;
}

// Looks at the buckets to which the fingerprints of bucket `from` could move. Whether one has a free slot; it is the last
// one then.
INLINE bool expand(const struct perhaps__cuckoo *table, struct perhaps__cuckoo_search *search, uint32_t from)
{
    uint64_t others[8];
    uint64_t bucket = search->bucket[from];
    for (uint32_t slot = 0; slot < table->slots; slot++) {
        uint64_t bit = perhaps__cuckoo_at(table, bucket) + (uint64_t)slot * table->bits;
        others[slot] = perhaps__cuckoo_other(table, perhaps__cuckoo_get(table, bit), bucket);
        __builtin_prefetch(table->bytes + (perhaps__cuckoo_at(table, others[slot]) >> 3));
    }
    for (uint32_t slot = 0; slot < table->slots && search->count < search->limit; slot++) {
        if (reach(search, others[slot], from, slot) &&
            perhaps__cuckoo_has(table, perhaps__cuckoo_at(table, others[slot]), 0) != 0) {
            return true;
        }
    }
    return false;
}

INLINE bool find_path(const struct perhaps__cuckoo *table, const struct perhaps__cuckoo_spots *spots,
                      struct perhaps__cuckoo_search *search)
{
    uint64_t width = (uint64_t)table->slots * table->bits;
    start(search, spots->first / width, spots->second / width, table->search);
    for (uint32_t from = 0; from < search->count; from++) {
        if (expand(table, search, from)) {
            return true;
        }
    }
    return false;
}

// Most tables have whole buckets in one group; for them the compiler makes code without loops over groups.
bool perhaps__cuckoo_find_path(const struct perhaps__cuckoo *table, const struct perhaps__cuckoo_spots *spots,
                               struct perhaps__cuckoo_search *search)
{
    if (table->groups != 1 || table->shared) {
        return find_path(table, spots, search);
    }
    struct perhaps__cuckoo whole = *table;
    whole.groups = 1;
    whole.shared = false;
    return find_path(&whole, spots, search);
}

uint32_t perhaps__cuckoo_move_along(const struct perhaps__cuckoo *table, const struct perhaps__cuckoo_search *search,
                                    uint64_t fingerprint)
{
    uint32_t moved = 0;
    uint32_t node = search->count - 1;
    uint64_t hole = perhaps__cuckoo_find(table, perhaps__cuckoo_at(table, search->bucket[node]), 0).bit;
    for (; node >= search->roots; node = search->parent[node]) {
        uint64_t from = perhaps__cuckoo_from(table, search, node);
        perhaps__cuckoo_put(table, hole, perhaps__cuckoo_get(table, from));
        hole = from;
        moved++;
    }
    perhaps__cuckoo_put(table, hole, fingerprint);
    return moved;
}

bool perhaps__cuckoo_is_early(const struct perhaps__cuckoo *table, uint64_t used)
{
    return perhaps__cuckoo_fits(used + 1, table->buckets, table->slots, table->bits - table->appended);
}

// Refused at a load at which a table of this shape still takes every key: then too many keys look alike.
static int refuse_full(const struct perhaps__cuckoo *table, struct perhaps__tally *tally)
{
    tally->refused_full++;
    tally->refused_early += perhaps__cuckoo_is_early(table, tally->used);
    return PERHAPS_E_FULL;
}

int perhaps__cuckoo_make_room(const struct perhaps__cuckoo *table, const struct perhaps__cuckoo_spots *spots,
                              struct perhaps__tally *tally)
{
    uint64_t room = spots->first != spots->second ? 2 * (uint64_t)table->slots : table->slots;
    if (perhaps__cuckoo_count(table, spots) == room) {
        tally->refused_copies++;
        return PERHAPS_E_COPIES;
    }
    struct perhaps__cuckoo_search search;
    if (!perhaps__cuckoo_find_path(table, spots, &search)) {
        return refuse_full(table, tally);
    }
    uint32_t moved = perhaps__cuckoo_move_along(table, &search, spots->fingerprint);
    tally->paths[perhaps__min(moved, PERHAPS_PATHS - 1)]++;
    tally->deepest = moved > tally->deepest ? moved : tally->deepest;
    return PERHAPS_OK;
}

// Adds what lies in a slot of `from`, not free, to `into`, beside readers or not.
static int fold_slot(const struct perhaps__cuckoo *into, const struct perhaps__view *beside,
                     const struct perhaps__cuckoo *from, uint64_t bucket, uint64_t bit, struct perhaps__tally *tally)
{
    uint64_t own = perhaps__cuckoo_first(bucket, into->buckets, &into->divider);
    uint64_t fingerprint = perhaps__cuckoo_get(from, bit) >> (from->bits - into->bits);
    if (fingerprint == 0) {
        return 0; // base bits of zeros, which no key has: bytes that were made up
    }
    struct perhaps__cuckoo_spots spots = perhaps__cuckoo_spots(into, perhaps__cuckoo_home_at(into, fingerprint, own));
    return beside != NULL ? perhaps__cuckoo_add_beside(beside, &spots, tally)
                          : perhaps__cuckoo_add(into, &spots, tally);
}

static int fold_bucket(const struct perhaps__cuckoo *into, const struct perhaps__cuckoo *from, uint64_t bucket,
                       struct perhaps__tally *tally)
{
    int status = 0;
    for (uint32_t slot = 0; slot < from->slots && status >= 0; slot++) {
        uint64_t bit = perhaps__cuckoo_at(from, bucket) + (uint64_t)slot * from->bits;
        status = perhaps__cuckoo_get(from, bit) != 0 ? fold_slot(into, NULL, from, bucket, bit, tally) : 0;
    }
    return status;
}

int perhaps__cuckoo_move(const struct perhaps__cuckoo *into, const struct perhaps__view *beside,
                         const struct perhaps__cuckoo *from, uint64_t bucket, struct perhaps__tally *tally,
                         uint64_t *taken)
{
    for (uint32_t slot = 0; slot < from->slots; slot++) {
        uint64_t bit = perhaps__cuckoo_at(from, bucket) + (uint64_t)slot * from->bits;
        if (perhaps__cuckoo_get(from, bit) == 0) {
            continue;
        }
        int status = fold_slot(into, beside, from, bucket, bit, tally);
        if (status < 0) {
            return status;
        }
        perhaps__cuckoo_put(from, bit, 0);
        ++*taken;
    }
    return PERHAPS_OK;
}

int perhaps__cuckoo_fold(const struct perhaps__cuckoo *into, const struct perhaps__cuckoo *from,
                         struct perhaps__tally *tally)
{
    int status = PERHAPS_OK;
    for (uint64_t bucket = 0; bucket < from->buckets && status >= 0; bucket++) {
        status = fold_bucket(into, from, bucket, tally);
    }
    return status < 0 ? status : PERHAPS_OK;
}
