// SPDX-License-Identifier: MIT
// Layer 3: what a perhaps_filter is. Only files of layers 3 and 4 see this.
#ifndef PERHAPS_FILTER_H
#define PERHAPS_FILTER_H

#include "alloc.h"
#include "layer.h"
#include "order.h"
#include "siphash.h"

// How far perhaps_compact() came; all 0 while nothing is being folded. It is not a part of the file: between two steps the
// filter is whole.
struct perhaps__fold {
    uint64_t bucket; // the next one of `from`
    uint32_t from;
    uint32_t into;
    uint32_t tried; // layers, bit by bit, that could not be emptied
    bool running;
};

// What a change is, whoever does it.
enum perhaps__verb { PERHAPS_CHANGE_ADD, PERHAPS_CHANGE_REMOVE, PERHAPS_CHANGE_CLEAR, PERHAPS_CHANGE_POSITION };
struct perhaps__change {
    enum perhaps__verb verb;
    const uint64_t *hashes;  // of ADD and REMOVE; otherwise NULL
    size_t count;            // of them; of CLEAR 0, of POSITION 1
    uint8_t *out;            // or NULL
    const uint8_t *position; // of POSITION
    size_t length;
};

// Where changes go first, in a filter that is written to a journal: layer 4 knows more about it.
struct perhaps__log {
    // perhaps__filter_apply() when the change is recorded; otherwise 0, and *refusal says why.
    size_t (*change)(perhaps_filter *filter, const struct perhaps__change *change, int *refusal);
    void (*end)(perhaps_filter *filter); // of the filter's life
};

// Which file a journal belongs to; docs/format.md. All zero: the filter has none.
struct perhaps__identity {
    uint64_t id;
    uint64_t generation;
    uint64_t folded;
    uint64_t checksum; // of the file's header
};

struct perhaps_filter {
    struct perhaps__view view; // first: see perhaps_ask_hash()
    uint32_t kind;
    uint32_t hash_source;
    uint64_t seed;
    uint64_t capacity; // as asked for at creation
    double fpr;
    struct perhaps__setting setting;
    struct perhaps__shared *shared; // or NULL
    struct perhaps__log *log;       // or NULL
    bool adds_exact;                // false after a merge
    uint32_t at_capacity;           // enum perhaps_at_capacity
    struct perhaps__growth growth;
    uint64_t max_bytes; // for the payloads of all layers; 0: no limit
    uint64_t ambiguous; // removals refused because several layers matched
    struct perhaps__fold fold;
    uint32_t layer_count; // read by perhaps__filter_layers() where threads may share the filter
    struct perhaps__layer *layers[PERHAPS_LAYERS_MAX]; // the last one takes new keys
    struct perhaps__order order;
    // Empty layers of a shared filter that was cleared or compacted, in a list: readers may still be looking at them. One of
    // the right size is used again when the filter grows.
    struct perhaps__layer *retired;
    uint8_t *metadata;
    size_t metadata_size;
    uint8_t *position;
    size_t position_size;
    perhaps_allocator allocator;
    bool read_only; // though its payload is memory of its own, or is mapped privately
    bool keyless;   // loaded without its key: it tells what is in its header, and nothing of keys
    // The mapped file that holds the payload of a read-only filter, or NULL; unmap gives it back.
    void *mapping;
    size_t mapping_size;
    void (*unmap)(void *mapping, size_t size);
    // The file that it was opened from, or NULL. What it is there is file.c's.
    struct perhaps__origin *origin;
    size_t origin_size;
    struct perhaps__chunks *chunks; // of a mapped filter, or NULL
    // Of a filter that was loaded, and what its journal said then.
    struct perhaps__identity identity;
    uint64_t journal_operations;
    uint64_t journal_bytes;
    // The secret of hash source SIPHASH, overwritten by perhaps_free().
    uint8_t key[PERHAPS_KEY_BYTES];
    uint32_t key_check; // what the file says of it; 0 for other sources
};

// Everything about a filter but its layers.
struct perhaps__plan {
    uint32_t kind;
    uint32_t hash_source;
    uint64_t seed;
    const uint8_t *key; // of hash source SIPHASH, copied; otherwise NULL
    uint64_t capacity;
    double fpr;
    uint32_t at_capacity;
    uint32_t growth;
    uint64_t max_capacity;
    uint64_t max_bytes;
};

// A filter of a plan, without layers. NULL when memory is short. Released by perhaps_free().
perhaps_filter *perhaps__filter_new(const perhaps_allocator *allocator, const struct perhaps__plan *plan);

// A new newest layer. perhaps__filter_push() gives it zeroed memory of its own, perhaps__filter_push_bare() leaves its
// payload to the caller, who attaches it and then calls perhaps__filter_refresh(). Returns NULL when memory is short;
// then nothing changed. There is room for one more.
struct perhaps__layer *perhaps__filter_push(perhaps_filter *filter, const struct perhaps__size *size);
struct perhaps__layer *perhaps__filter_push_bare(perhaps_filter *filter, const struct perhaps__size *size);

// Takes away an empty layer other than the first. Of a shared filter, the writers of which are kept out by the caller, it is
// kept for readers that may be there; the system gets its pages back.
void perhaps__filter_drop(perhaps_filter *filter, uint32_t layer);

// Makes the view that of the layers there are.
void perhaps__filter_refresh(perhaps_filter *filter);

// Whether adding is more than handing keys to the only layer.
static inline bool perhaps__filter_is_bounded(const perhaps_filter *filter)
{
    return filter->at_capacity != PERHAPS_AT_CAPACITY_GO_ON;
}

// How many layers there are. A layer is complete before it is counted.
static inline uint32_t perhaps__filter_layers(const perhaps_filter *filter)
{
    return __atomic_load_n(&filter->layer_count, __ATOMIC_ACQUIRE);
}

// One of them. Atomically: a reader who counted the layers before a shared filter was cleared may come to one that is being
// put in the place of another.
static inline struct perhaps__layer *perhaps__filter_layer(const perhaps_filter *filter, uint32_t layer)
{
    return __atomic_load_n(&filter->layers[layer], __ATOMIC_ACQUIRE);
}

static inline struct perhaps__layer *perhaps__filter_newest(const perhaps_filter *filter)
{
    return perhaps__filter_layer(filter, perhaps__filter_layers(filter) - 1);
}

// The hash of a key, in a filter that has a hash of its own and is not keyless.
static inline uint64_t perhaps__filter_hash(const perhaps_filter *filter, const void *key, size_t length)
{
    return PERHAPS_UNLIKELY(filter->hash_source == PERHAPS_HASH_SIPHASH) ? perhaps__siphash(key, length, filter->key)
                                                                         : perhaps__hash(key, length, filter->seed);
}

// 0, or why the calls that take the bytes of a key cannot be used: the caller hashes, or the secret key is missing.
static inline int perhaps__filter_may_hash(const perhaps_filter *filter)
{
    if (PERHAPS_LIKELY(filter->hash_source == PERHAPS_HASH_XXH3)) {
        return PERHAPS_OK;
    }
    int keyed = filter->keyless ? PERHAPS_E_KEY : PERHAPS_OK;
    return filter->hash_source == PERHAPS_HASH_CALLER ? PERHAPS_E_UNSUPPORTED : keyed;
}

// Bytes of the payloads of all layers. Not while threads add to the filter.
uint64_t perhaps__filter_payload_size(const perhaps_filter *filter);

// Whether every add counts, so that a filter can hold a key several times.
static inline bool perhaps__filter_counts(const perhaps_filter *filter)
{
    return filter->layers[0]->view.count_many != NULL;
}

// Whether a hash may be there. perhaps__chunks_watch() may exchange the function meanwhile.
static inline int perhaps__filter_ask(const perhaps_filter *filter, uint64_t hash)
{
    return __atomic_load_n(&filter->view.ask, __ATOMIC_RELAXED)(filter, hash);
}

// As perhaps__filter_ask() for many.
void perhaps__filter_ask_many(const perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out);

// The verbs for hashes, on a filter that is not read-only where they change it. Those that change it return how many were
// handled: fewer than `count` when the next one is refused, *refusal then says why.
typedef size_t perhaps__filter_add_function(perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out,
                                            int *refusal);
perhaps__filter_add_function perhaps__filter_add;
perhaps__filter_add_function perhaps__filter_remove;

// How many hashes are best added, or asked for, in one call, out of many; 0 where it does not matter.
size_t perhaps__filter_adds_together(const perhaps_filter *filter, size_t count);
size_t perhaps__filter_asks_together(const perhaps_filter *filter, size_t count);

// Any change, without a log, and how much of its count was done. Clearing is never refused.
size_t perhaps__filter_apply(perhaps_filter *filter, const struct perhaps__change *change, int *refusal);
int perhaps__filter_set_position(perhaps_filter *filter, const uint8_t *position, size_t length);
void perhaps__filter_clear(perhaps_filter *filter);

void perhaps__filter_count(const perhaps_filter *filter, const uint64_t *hashes, size_t count, uint64_t *out);

// Whether a key that was added at most `most` times may have been added `times` times.
static inline bool perhaps__may_be(uint64_t most, uint64_t times)
{
    return times <= most;
}

// 0, or why the filter cannot be changed by who wants to, or removed from.
int perhaps__filter_may_change(const perhaps_filter *filter);
int perhaps__filter_may_remove(const perhaps_filter *filter);

bool perhaps__filter_is_read_only(const perhaps_filter *filter);

// The result of hashing and placing a fixed list of keys; see docs/format.md.
uint64_t perhaps__filter_probe(const perhaps_filter *filter);

#endif
