// SPDX-License-Identifier: MIT
#include "chunks.h"

#include "errors.h"
#include "hash.h"

uint64_t perhaps__chunks(uint64_t payload_size)
{
    return (payload_size >> PERHAPS_CHUNK_SHIFT) + ((payload_size & (PERHAPS_CHUNK - 1)) != 0);
}

/* ---------------------------------------------------------------- life */

static size_t size_for(uint64_t count)
{
    return sizeof(struct perhaps__chunks) + (size_t)count * (sizeof(uint64_t) + 1);
}

bool perhaps__chunks_make(perhaps_filter *filter, const uint8_t *table, uint64_t count, uint64_t begin)
{
    struct perhaps__chunks *chunks = perhaps__allocate(&filter->allocator, size_for(count));
    if (chunks == NULL) {
        return false;
    }
    chunks->count = count;
    chunks->begin = begin;
    chunks->direct = filter->view;
    chunks->sums = (uint64_t *)(void *)(chunks + 1); // the structure's size is a multiple of 8
    chunks->states = (uint8_t *)(chunks->sums + count);
    for (uint64_t i = 0; i < count; i++) {
        chunks->sums[i] = perhaps__load_little(table + 8 * i, 8);
    }
    uint64_t first = 0;
    for (uint32_t i = 0; i < filter->layer_count; i++) {
        chunks->first[i] = first;
        first += perhaps__chunks(filter->layers[i]->payload_size);
    }
    filter->chunks = chunks;
    return true;
}

void perhaps__chunks_release(perhaps_filter *filter)
{
    if (filter->chunks != NULL) {
        perhaps__release(&filter->allocator, filter->chunks, size_for(filter->chunks->count));
        filter->chunks = NULL;
    }
}

/* ---------------------------------------------------------------- one chunk */

// Where a chunk is: in which layer, from which byte on, and the same in the file.
struct place {
    uint32_t layer;
    uint64_t at;
    size_t size;
    uint64_t offset;
};

static struct place place_of(const perhaps_filter *filter, uint64_t chunk)
{
    const struct perhaps__chunks *chunks = filter->chunks;
    uint64_t begin = chunks->begin;
    uint32_t i = 0;
    while (i + 1 < filter->layer_count && chunks->first[i + 1] <= chunk) {
        begin += filter->layers[i]->payload_size;
        i++;
    }
    const struct perhaps__layer *layer = filter->layers[i];
    uint64_t at = (chunk - chunks->first[i]) << PERHAPS_CHUNK_SHIFT;
    return (struct place){
        .layer = i,
        .at = at,
        .size = (size_t)perhaps__min(PERHAPS_CHUNK, layer->payload_size - at),
        .offset = begin + at,
    };
}

// What a chunk holds, counted while it is verified: the memory is read once.
struct counting {
    const struct perhaps__layer *layer;
    uint64_t at;
    struct perhaps__tally tally;
};

static void count(void *context, size_t from, size_t end)
{
    struct counting *counting = context;
    counting->layer->operations->recount(counting->layer, counting->at + from, counting->at + end, &counting->tally);
}

static void record_held(struct perhaps__chunks *chunks, uint32_t layer, const struct perhaps__tally *tally)
{
    (void)__atomic_fetch_add(&chunks->held[layer].used, tally->used, __ATOMIC_RELAXED);
    (void)__atomic_fetch_add(&chunks->held[layer].saturated, tally->saturated, __ATOMIC_RELAXED);
}

// Whether it was unknown: counted by the thread that changes the state, so that each change is counted once.
static bool record_good(struct perhaps__chunks *chunks, uint64_t chunk)
{
    uint8_t unknown = PERHAPS_CHUNK_UNKNOWN;
    bool changed = __atomic_compare_exchange_n(&chunks->states[chunk], &unknown, PERHAPS_CHUNK_GOOD, false,
                                               __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    if (changed) {
        (void)__atomic_fetch_add(&chunks->good, 1, __ATOMIC_RELAXED);
    }
    return changed;
}

static void record_damaged(struct perhaps__chunks *chunks, uint64_t chunk)
{
    uint8_t before = __atomic_exchange_n(&chunks->states[chunk], PERHAPS_CHUNK_DAMAGED, __ATOMIC_RELAXED);
    if (before == PERHAPS_CHUNK_GOOD) {
        (void)__atomic_fetch_sub(&chunks->good, 1, __ATOMIC_RELAXED);
    }
    if (before != PERHAPS_CHUNK_DAMAGED) {
        (void)__atomic_fetch_add(&chunks->damaged, 1, __ATOMIC_RELAXED);
    }
}

static uint8_t state_of(const perhaps_filter *filter, uint64_t chunk)
{
    return __atomic_load_n(&filter->chunks->states[chunk], __ATOMIC_RELAXED);
}

// One that is known already was counted then.
bool perhaps__chunks_verify(const perhaps_filter *filter, uint64_t chunk)
{
    struct place place = place_of(filter, chunk);
    struct counting counting = {.layer = filter->layers[place.layer], .at = place.at};
    const uint8_t *bytes = counting.layer->payload + place.at;
    bool unknown = state_of(filter, chunk) == PERHAPS_CHUNK_UNKNOWN;
    uint64_t sum =
        unknown ? perhaps__checksum_pieces(bytes, place.size, count, &counting) : perhaps__checksum(bytes, place.size);
    if (sum != filter->chunks->sums[chunk]) {
        record_damaged(filter->chunks, chunk);
    } else if (record_good(filter->chunks, chunk)) { // it was unknown before, too
        record_held(filter->chunks, place.layer, &counting.tally);
    }
    return state_of(filter, chunk) == PERHAPS_CHUNK_GOOD;
}

static bool all_good(const perhaps_filter *filter)
{
    return __atomic_load_n(&filter->chunks->good, __ATOMIC_RELAXED) == filter->chunks->count;
}

static bool is_good(const perhaps_filter *filter, uint64_t chunk)
{
    uint8_t state = state_of(filter, chunk);
    return state == PERHAPS_CHUNK_UNKNOWN ? perhaps__chunks_verify(filter, chunk) : state == PERHAPS_CHUNK_GOOD;
}

int perhaps__chunks_fail(const perhaps_filter *filter, uint64_t chunk, const char *subject, perhaps_error *error)
{
    struct place place = place_of(filter, chunk);
    uint64_t last = place.offset + place.size - 1;
    struct perhaps__failure failure = {
        .code = PERHAPS_E_DAMAGED, .subject = subject, .value = place.offset, .limit = last};
    return perhaps__fail(error, failure,
                         "chunk %llu of %llu is damaged (bytes %llu to %llu); rebuild the filter or restore the file",
                         (unsigned long long)chunk + 1, (unsigned long long)filter->chunks->count,
                         (unsigned long long)place.offset, (unsigned long long)last);
}

int perhaps__chunks_fail_counts(const char *subject, perhaps_error *error)
{
    struct perhaps__failure failure = {.code = PERHAPS_E_DAMAGED, .subject = subject};
    return perhaps__fail(error, failure, "%s", PERHAPS_OTHER_CONTENT);
}

int perhaps__chunks_demand(const perhaps_filter *filter, const char *subject, perhaps_error *error)
{
    uint64_t count = filter->chunks != NULL ? filter->chunks->count : 0;
    for (uint64_t i = 0; i < count; i++) {
        if (!is_good(filter, i)) {
            return perhaps__chunks_fail(filter, i, subject, error);
        }
    }
    bool agree = count == 0 || perhaps__chunks_agree(filter);
    return agree ? PERHAPS_OK : perhaps__chunks_fail_counts(subject, error);
}

// What another thread has just verified may not be in the sum of what chunks hold yet: then the layer is counted anew.
static bool layer_agrees(const perhaps_filter *filter, uint32_t i)
{
    const struct perhaps__layer *layer = filter->layers[i];
    return !layer->recorded || __atomic_load_n(&filter->chunks->held[i].used, __ATOMIC_RELAXED) == layer->tally.used ||
           perhaps__layer_used(layer) == layer->tally.used;
}

bool perhaps__chunks_agree(const perhaps_filter *filter)
{
    bool agree = true;
    for (uint32_t i = 0; i < filter->layer_count; i++) {
        agree &= layer_agrees(filter, i);
    }
    return agree;
}

/* ---------------------------------------------------------------- questions */

// A question to one layer.
struct look {
    struct perhaps__look base; // first: the layers' functions are given its address
    const perhaps_filter *filter;
    uint64_t first; // chunk of the layer
};

static bool believe(struct perhaps__look *base, uint64_t first, uint64_t last)
{
    struct look *look = (struct look *)base;
    bool good = true;
    for (uint64_t i = first >> PERHAPS_CHUNK_SHIFT; i <= last >> PERHAPS_CHUNK_SHIFT; i++) {
        good &= is_good(look->filter, look->first + i);
    }
    base->blind |= !good;
    return good;
}

// How often at most, from good chunks; the newest layer first. Without `all`, no further than to the first layer that has
// the key.
static uint64_t most(const perhaps_filter *filter, uint64_t hash, bool all)
{
    uint64_t sum = 0;
    struct look look = {.base.believe = believe, .filter = filter};
    for (uint32_t i = filter->layer_count; i > 0 && (all || sum == 0); i--) {
        const struct perhaps__layer *layer = filter->layers[i - 1];
        look.first = filter->chunks->first[i - 1];
        sum = perhaps__saturating_sum(sum, layer->operations->most(layer, hash, &look.base));
    }
    if (look.base.blind && sum != 0) {
        (void)__atomic_fetch_add(&filter->chunks->answers, 1, __ATOMIC_RELAXED);
    }
    return sum;
}

static int ask(const void *view, uint64_t hash)
{
    const perhaps_filter *filter = view; // the view is its first member
    return PERHAPS_LIKELY(all_good(filter)) ? filter->chunks->direct.ask(filter, hash) : most(filter, hash, false) != 0;
}

static void ask_many(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint8_t *out)
{
    const perhaps_filter *filter = (const perhaps_filter *)(const void *)view;
    if (all_good(filter)) {
        filter->chunks->direct.ask_many(view, hashes, count, out);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        out[i] = (uint8_t)ask(filter, hashes[i]);
    }
}

static void count_many(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint64_t *out)
{
    const perhaps_filter *filter = (const perhaps_filter *)(const void *)view;
    if (all_good(filter)) {
        filter->chunks->direct.count_many(view, hashes, count, out);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        out[i] = most(filter, hashes[i], true);
    }
}

// Readers take each function by itself, and any mixture of old and new ones is right. A filter without its key answers
// nothing as it is.
void perhaps__chunks_watch(const perhaps_filter *filter)
{
    struct perhaps__view *view = (struct perhaps__view *)(uintptr_t)&filter->view;
    if (filter->keyless) {
        return;
    }
    __atomic_store_n(&view->ask, ask, __ATOMIC_RELAXED);
    __atomic_store_n(&view->ask_many, ask_many, __ATOMIC_RELAXED);
    if (filter->chunks->direct.count_many != NULL) {
        __atomic_store_n(&view->count_many, count_many, __ATOMIC_RELAXED);
    }
}
