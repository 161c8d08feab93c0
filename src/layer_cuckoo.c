// SPDX-License-Identifier: MIT
// A layer of kind cuckoo.
#include <math.h>

#include "alloc.h"
#include "cpu.h"
#include "cuckoo.h"
#include "layer.h"
#include "words.h"

static bool is_sound(const struct perhaps__layer *layer)
{
    const struct perhaps__shape *shape = &layer->shape;
    uint64_t bits = 0;
    bool has_slots = shape->slots == 1 || shape->slots == 2 || shape->slots == 4 || shape->slots == 8;
    return has_slots && shape->cell_bits >= PERHAPS_CUCKOO_MIN_BITS && shape->cell_bits <= PERHAPS_CUCKOO_MAX_BITS &&
           perhaps__cuckoo_bits(layer->range, shape->slots, shape->cell_bits, &bits) && bits == layer->bits &&
           (shape->policy == PERHAPS_POLICY_MULTISET || shape->policy == PERHAPS_POLICY_UNIQUE) && shape->search >= 2 &&
           shape->search <= PERHAPS_SEARCH_MAX && shape->layout >= PERHAPS_CUCKOO_MIN_BITS &&
           shape->layout <= shape->cell_bits && shape->positions == 0;
}

static void view_cuckoo(const struct perhaps__layer *layer, struct perhaps__view *view)
{
    const struct perhaps__cuckoo_kernel *kernel =
        perhaps__cuckoo_kernel(layer->shape.slots, layer->shape.cell_bits, layer->shape.layout);
    bool near = layer->payload_size <= perhaps__cpu_l2_bytes();
    view->ask = kernel->ask;
    perhaps__cuckoo_prepare(view);
    view->ask_many = near ? kernel->ask_near : kernel->ask_far;
    view->add_many = near ? kernel->add_near : kernel->add_far;
    view->add_few = kernel->add_near;
    if (layer->shape.policy == PERHAPS_POLICY_MULTISET) {
        view->count_many = near ? kernel->count_near : kernel->count_far;
        view->remove_many = near ? kernel->remove_near : kernel->remove_far;
    }
    if (view->stripes.words != NULL) {
        perhaps__cuckoo_share(view, near);
    }
}

static struct perhaps__cuckoo table_of(const struct perhaps__layer *layer)
{
    const struct perhaps__view view = {
        .memory = layer->payload,
        .range = layer->range,
        .divider = perhaps__cuckoo_divider(layer->range),
        .shape = layer->shape,
    };
    return perhaps__cuckoo_table(&view, layer->shape.slots, layer->shape.cell_bits, layer->shape.layout, false);
}

// The first bucket that begins at a byte or behind it.
static uint64_t bucket_from(const struct perhaps__cuckoo *table, uint64_t byte)
{
    uint64_t bits = (uint64_t)table->slots * table->bits;
    return perhaps__min((byte * 8 + bits - 1) / bits, table->buckets);
}

static void recount(const struct perhaps__layer *layer, uint64_t from, uint64_t end, struct perhaps__tally *tally)
{
    const struct perhaps__cuckoo table = table_of(layer);
    uint64_t first = bucket_from(&table, from) * table.slots;
    uint64_t last = bucket_from(&table, end) * table.slots;
    tally->used += perhaps__cuckoo_taken(&table, first, last);
}

// Another payload for the layer. Readers that are on their way must not believe a miss: fingerprints move. Writers are
// kept out by the caller.
static void replace(struct perhaps__layer *layer, const uint8_t *payload)
{
    const struct perhaps__stripes *stripes = &layer->stripes;
    if (stripes->words == NULL) {
        memcpy(layer->payload, payload, layer->payload_size);
        return;
    }
    perhaps__stripes_lock_all(stripes);
    perhaps__moves_begin(stripes);
    perhaps__stripes_step_all(stripes);
    perhaps__copy_words(perhaps__layer_words(layer), (const uint64_t *)(const void *)payload, layer->payload_size / 8);
    perhaps__stripes_step_all(stripes);
    perhaps__moves_end(stripes);
    perhaps__stripes_unlock_all(stripes);
}

// In a scratch copy, which replaces the table when everything fits.
static int merge(struct perhaps__layer *into, const struct perhaps__layer *from, const perhaps_allocator *allocator)
{
    uint8_t *scratch = perhaps__allocate(allocator, into->payload_size);
    if (scratch == NULL) {
        return PERHAPS_E_MEMORY;
    }
    memcpy(scratch, into->payload, into->payload_size);
    struct perhaps__cuckoo source = table_of(from);
    struct perhaps__cuckoo table = table_of(into);
    struct perhaps__tally tally = {.used = into->tally.used, .copies = into->tally.copies}; // readers count in the rest
    table.bytes = scratch;
    int status = perhaps__cuckoo_fold(&table, &source, &tally);
    if (status == PERHAPS_OK) {
        replace(into, scratch);
        into->tally.used = tally.used;
        into->tally.copies = tally.copies;
    }
    perhaps__release(allocator, scratch, into->payload_size);
    return status;
}

// Bucket i of the finer table is bucket i modulo their number of the coarser one, and so is the other bucket, since the same
// base bits decide; fingerprints are cut to the coarser ones.
static bool folds(const struct perhaps__layer *finer, const struct perhaps__layer *coarser)
{
    return finer->range % coarser->range == 0 && finer->shape.layout == coarser->shape.layout &&
           finer->shape.cell_bits >= coarser->shape.cell_bits && finer->shape.slots == coarser->shape.slots;
}

static int move_bucket(struct perhaps__layer *from, struct perhaps__layer *into, uint64_t bucket)
{
    struct perhaps__cuckoo source = table_of(from);
    struct perhaps__cuckoo table = table_of(into);
    const struct perhaps__view *beside = into->stripes.words != NULL ? &into->view : NULL;
    // As merge(): keys, paths and refusals are not those of adds.
    struct perhaps__tally moved = {.used = into->tally.used};
    uint64_t taken = 0;
    source.shared = beside != NULL;
    table.shared = beside != NULL;
    int status = perhaps__cuckoo_move(&table, beside, &source, bucket, &moved, &taken);
    into->tally.used = moved.used;
    into->tally.copies += moved.copies;
    from->tally.used -= taken;
    from->tally.copies -= taken;
    return status;
}

// With policy unique every slot is a different fingerprint or pair of buckets, and rates add up. Otherwise slots are taken
// for keys that are all different: some of them share both, and fewer absent keys pass.
static double fpr_now(const struct perhaps__layer *layer)
{
    double used = (double)layer->tally.used;
    double buckets = (double)layer->range;
    double fingerprints = (double)perhaps__cuckoo_fingerprints(layer->shape.cell_bits, layer->shape.layout);
    if (layer->shape.policy == PERHAPS_POLICY_UNIQUE) {
        return used * perhaps__cuckoo_expected_fpr(1.0, buckets, fingerprints);
    }
    return perhaps__cuckoo_expected_fpr(used, buckets, fingerprints);
}

static void describe(const struct perhaps__layer *layer, perhaps_statistics *statistics)
{
    const struct perhaps__tally *tally = &layer->tally;
    statistics->set_bits = tally->used;
    statistics->fill = (double)tally->used / ((double)layer->range * layer->shape.slots);
    statistics->fpr_now = fpr_now(layer);
    statistics->distinct_estimate = (double)tally->used;
    statistics->slots = layer->shape.slots;
    statistics->fingerprint_bits = layer->shape.cell_bits;
    statistics->buckets = layer->range;
    memcpy(statistics->paths, tally->paths, sizeof statistics->paths);
    statistics->deepest = (uint32_t)tally->deepest;
    statistics->refused_full = tally->refused_full;
    statistics->refused_copies = tally->refused_copies;
    statistics->refused_early = tally->refused_early;
    statistics->unsettled = __atomic_load_n(&tally->unsettled, __ATOMIC_RELAXED); // readers count it
}

static uint64_t probe(const struct perhaps__layer *layer, uint64_t digest, uint64_t placed)
{
    struct perhaps__cuckoo table = table_of(layer);
    struct perhaps__cuckoo_home home = perhaps__cuckoo_home(&table, placed);
    digest = perhaps__mix(digest ^ home.fingerprint);
    digest = perhaps__mix(digest ^ home.first);
    return perhaps__mix(digest ^ home.second);
}

static bool believe_bucket(const struct perhaps__cuckoo *table, uint64_t bucket, struct perhaps__look *look)
{
    uint64_t first = perhaps__cuckoo_at(table, bucket);
    uint64_t last = perhaps__cuckoo_at(table, bucket + 1) - 1;
    return look->believe(look, first / 8, last / 8);
}

static uint64_t most(const struct perhaps__layer *layer, uint64_t hash, struct perhaps__look *look)
{
    const struct perhaps__view *view = &layer->view;
    struct perhaps__cuckoo table = table_of(layer);
    struct perhaps__cuckoo_home home = perhaps__cuckoo_home(&table, perhaps__place(hash, view->seed_key));
    bool first = believe_bucket(&table, home.first, look);
    bool second = believe_bucket(&table, home.second, look);
    uint64_t count = PERHAPS_COUNT_UNBOUNDED;
    if (first && second && view->count_many != NULL) {
        view->count_many(view, &hash, 1, &count);
    } else if (first && second) {
        count = view->ask(view, hash) != 0 ? PERHAPS_COUNT_UNBOUNDED : 0;
    }
    return count;
}

// Every copy takes a slot. A layer of copies whose keys were new in an older layer has slots taken without new keys.
static bool agrees(const struct perhaps__tally *recorded, const struct perhaps__tally *counted)
{
    bool is_used = counted->used > 0 || recorded->removals > 0;
    return recorded->copies == counted->used && (recorded->keys == 0 || is_used);
}

// Every copy takes a slot, and so a part of the capacity.
static uint64_t room(const struct perhaps__layer *layer, const struct perhaps__tally *tally)
{
    return tally->used < layer->capacity ? layer->capacity - tally->used : 0;
}

const struct perhaps__layer_operations perhaps__layer_cuckoo = {
    .is_sound = is_sound,
    .view = view_cuckoo,
    .recount = recount,
    .merge = merge,
    .describe = describe,
    .probe = probe,
    .most = most,
    .room = room,
    .agrees = agrees,
    .folds = folds,
    .move_bucket = move_bucket,
    .keeps_used = true,
};
