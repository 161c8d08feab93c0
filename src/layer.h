// SPDX-License-Identifier: MIT
// Layer 3: one layer of a filter: a kernel of some kind, with what it was made for. What differs by kind is behind the
// operations, one file for each: layer_bloom.c, layer_blocked.c, layer_counting.c, layer_cuckoo.c.
#ifndef PERHAPS_LAYER_H
#define PERHAPS_LAYER_H

#include "place_sorted.h"
#include "sizing.h"
#include "view.h"

struct perhaps__layer_operations;

// A look at a payload of which not all bytes are good. `believe` says whether bytes first to last of it are; where not,
// `blind` becomes true.
struct perhaps__look {
    bool (*believe)(struct perhaps__look *look, uint64_t first, uint64_t last);
    bool blind;
};

struct perhaps__layer {
    struct perhaps__view view; // first: kernels are called with the address of a layer, or of the filter
    const struct perhaps__layer_operations *operations;
    uint64_t capacity; // n
    double fpr;        // its budget p
    uint64_t bits;     // of the payload
    uint64_t range;    // what positions are reduced to: bits, blocks, counters or buckets
    struct perhaps__shape shape;
    uint8_t *payload; // the kernel's bytes, owned by the filter
    uint64_t payload_size;
    struct perhaps__tally tally;
    // Locks of its own, when threads share the filter, otherwise words is NULL. They are not shared among layers: moves in
    // the newest one must not unsettle those who ask an older one whether a key need be added.
    struct perhaps__stripes stripes;
    bool recorded;                         // the tally is what a file says, and the payload was not read
    uint64_t in_flight;                    // adds that threads have been given room for and not yet reported
    struct perhaps__layer *retired_before; // the next one in the list of those that are
};

struct perhaps__layer_operations {
    // Whether range, bits and shape are ones that sizing could have chosen: files are not believed.
    bool (*is_sound)(const struct perhaps__layer *layer);
    // The functions of the view; the rest of it is filled in.
    void (*view)(const struct perhaps__layer *layer, struct perhaps__view *view);
    // What the payload itself says: adds to tally->used and tally->saturated what begins in the bytes from `from` to before
    // `end`, multiples of PERHAPS_LINE.
    void (*recount)(const struct perhaps__layer *layer, uint64_t from, uint64_t end, struct perhaps__tally *tally);
    // Payload and tally, but for tally.keys and tally.removals; both layers are of one kind, size and shape. 0 or a code,
    // and then nothing changed.
    int (*merge)(struct perhaps__layer *into, const struct perhaps__layer *from, const perhaps_allocator *allocator);
    // set_bits, fill, distinct_estimate, fpr_now, and the fields of the kind.
    void (*describe)(const struct perhaps__layer *layer, perhaps_statistics *statistics);
    // Mixes into a digest where a placed hash goes; part of the probe fingerprint.
    uint64_t (*probe)(const struct perhaps__layer *layer, uint64_t digest, uint64_t placed);
    // How often a hash was added at most, as far as the bytes tell that can be believed; PERHAPS_COUNT_UNBOUNDED otherwise,
    // and from kinds that do not count. Bytes that are not needed are not looked at.
    uint64_t (*most)(const struct perhaps__layer *layer, uint64_t hash, struct perhaps__look *look);
    // How many adds that change something are still within the capacity, after those that the tally tells of.
    uint64_t (*room)(const struct perhaps__layer *layer, const struct perhaps__tally *tally);
    // Whether what a file records of a layer can be true of a payload that was counted: files are not believed.
    bool (*agrees)(const struct perhaps__tally *recorded, const struct perhaps__tally *counted);
    // Whether keys that look alike to `finer` look alike to `coarser` too, so that the one folds into the other; and that,
    // bucket by bucket: NULL in kinds without removal from layers.
    bool (*folds)(const struct perhaps__layer *finer, const struct perhaps__layer *coarser);
    // Moves the keys of a bucket to another layer that this one folds into, adding each before it is taken. 0, or a
    // code when one finds no room: it and those after it stay. Readers may be there, in layers with stripes; writers
    // are kept out.
    int (*move_bucket)(struct perhaps__layer *from, struct perhaps__layer *into, uint64_t bucket);
    // What is done in a region when large batches are sorted, or NULL where that cannot be.
    const struct perhaps__visits *(*visits)(const struct perhaps__layer *layer);
    bool keeps_used; // tally.used is kept by adding and removing; otherwise counted when asked
};

extern const struct perhaps__layer_operations perhaps__layer_bloom;
extern const struct perhaps__layer_operations perhaps__layer_blocked;
extern const struct perhaps__layer_operations perhaps__layer_counting;
extern const struct perhaps__layer_operations perhaps__layer_cuckoo;

// An empty layer of a size, its payload to be attached.
void perhaps__layer_init(struct perhaps__layer *layer, const struct perhaps__layer_operations *operations,
                         const struct perhaps__size *size);

// What the layers of a filter have in common.
struct perhaps__setting {
    uint64_t seed_key;
    bool claim;
};

// Gives the layer its payload, aligned to PERHAPS_LINE: zeroed, or that of a filter that is loaded. Fills in the view.
void perhaps__layer_attach(struct perhaps__layer *layer, uint8_t *payload, const struct perhaps__setting *setting);

void perhaps__layer_clear(struct perhaps__layer *layer);

// Both of one kind, size and shape. tally.keys becomes the sum. 0 or a code, and then nothing changed.
int perhaps__layer_merge(struct perhaps__layer *into, const struct perhaps__layer *from,
                         const perhaps_allocator *allocator);

// What the whole payload says, in tally->used and tally->saturated. O(m).
void perhaps__layer_recount(const struct perhaps__layer *layer, struct perhaps__tally *tally);

// Bits that are set, counters above zero, slots taken, as the payload has them. O(m).
uint64_t perhaps__layer_used(const struct perhaps__layer *layer);

// For kinds with k positions anywhere in the range: how many keys are sure to be taken before the fill tells of more than
// the capacity; 0 when it does. None uses more than k positions more, so that the last of them still finds room: a key is
// taken or not whatever the sizes of the batches are, and a journal is replayed as it was written. An estimate of the
// keys from the fill scatters by sqrt(m (e^a - 1 - a)) / k with a = nk/m, about sqrt(n)/4 at capacity (Swamidass and Baldi
// 2007), so that a filter that took just n keys reaches n + sqrt(n) once in 30,000 times.
uint64_t perhaps__layer_room_by_fill(const struct perhaps__layer *layer, const struct perhaps__tally *tally);

// Capacity less keys added.
uint64_t perhaps__layer_room_by_adds(const struct perhaps__layer *layer, const struct perhaps__tally *tally);

// For kinds that only ever set bits: every key changed something, without one there is nothing, and nothing is removed.
bool perhaps__layer_agrees_without_removal(const struct perhaps__tally *recorded, const struct perhaps__tally *counted);

// Takes over what a file says of the layer, and whether the payload agrees, for which it was counted.
bool perhaps__layer_restore(struct perhaps__layer *layer, const struct perhaps__tally *recorded,
                            const struct perhaps__tally *counted);

// Takes over what a file says of a layer whose payload is not to be read. Whether it can be true.
bool perhaps__layer_trust(struct perhaps__layer *layer, const struct perhaps__tally *recorded);

// The payload as words.
static inline uint64_t *perhaps__layer_words(const struct perhaps__layer *layer)
{
    return (uint64_t *)(void *)layer->payload; // aligned to PERHAPS_LINE by every allocation and mapping
}

// The probe of kinds whose keys have k positions anywhere in the range.
uint64_t perhaps__layer_probe_positions(const struct perhaps__layer *layer, uint64_t digest, uint64_t placed);

// Keys that leave this fill on average: a given bit is hit by a key with probability k/m, whether that is anywhere or
// within a block, and escapes n keys with probability (1 - k/m)^n (Swamidass and Baldi 2007).
double perhaps__distinct_for(double fill, double range, double positions);

#endif
