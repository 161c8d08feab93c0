// SPDX-License-Identifier: MIT
#include "layers.h"

#include <sched.h>

#include "growth.h"
#include "shared.h"

// Keys that go from layer to layer together; enough for each layer's pipeline to run full.
#define BLOCK 512

static const perhaps_filter *filter_of(const struct perhaps__view *view)
{
    return (const perhaps_filter *)(const void *)view; // the view is its first member
}

/* ---------------------------------------------------------------- asking */

#ifdef PERHAPS_TEST_SUPPORT
void (*perhaps__between_layers)(void);
#endif

// What happens while a reader, or who removes, is between two layers takes some microseconds; tests make it happen there.
static inline void between_layers(void)
{
#ifdef PERHAPS_TEST_SUPPORT
    if (perhaps__between_layers != NULL) {
        perhaps__between_layers();
    }
#endif
}

static int ask(const void *view, uint64_t hash)
{
    const perhaps_filter *filter = view;
    for (uint32_t i = perhaps__filter_layers(filter); i > 0; i--) {
        const struct perhaps__view *layer = &perhaps__filter_layer(filter, i - 1)->view;
        if (layer->ask(layer, hash)) {
            return 1;
        }
    }
    return 0;
}

// Keys that no layer asked so far has, dense: their hashes, and where their answers go.
struct open {
    uint64_t hashes[BLOCK];
    uint16_t index[BLOCK];
    size_t count;
};

// Asks one layer about the open keys. Those that it has are answered, the others stay.
static void ask_layer(const struct perhaps__layer *layer, struct open *open, uint8_t *out)
{
    uint8_t answers[BLOCK];
    size_t kept = 0;
    layer->view.ask_many(&layer->view, open->hashes, open->count, answers);
    for (size_t i = 0; i < open->count; i++) {
        out[open->index[i]] = answers[i];
        open->hashes[kept] = open->hashes[i];
        open->index[kept] = open->index[i];
        kept += answers[i] == 0;
    }
    open->count = kept;
}

// All of at most BLOCK keys are open.
static void open_all(const uint64_t *hashes, size_t count, struct open *open, uint8_t *out)
{
    memset(out, 0, count);
    memcpy(open->hashes, hashes, count * sizeof *hashes);
    for (size_t i = 0; i < count; i++) {
        open->index[i] = (uint16_t)i;
    }
    open->count = count;
}

// Asks the oldest `layers` layers about at most BLOCK keys, the newest of them first. Afterwards the keys that none has
// are open.
static void ask_oldest(const perhaps_filter *filter, uint32_t layers, const uint64_t *hashes, size_t count,
                       struct open *open, uint8_t *out)
{
    open_all(hashes, count, open, out);
    for (uint32_t i = layers; i > 0 && open->count > 0; i--) {
        ask_layer(perhaps__filter_layer(filter, i - 1), open, out);
    }
}

static void ask_many(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint8_t *out)
{
    const perhaps_filter *filter = filter_of(view);
    struct open open;
    for (size_t i = 0; i < count; i += BLOCK) {
        ask_oldest(filter, perhaps__filter_layers(filter), hashes + i, (size_t)perhaps__min(BLOCK, count - i), &open,
                   out + i);
    }
}

// Adds how often a layer has at most BLOCK keys.
static void count_layer(const struct perhaps__layer *layer, const uint64_t *hashes, size_t count, uint64_t *out)
{
    uint64_t of_layer[BLOCK];
    layer->view.count_many(&layer->view, hashes, count, of_layer);
    for (size_t i = 0; i < count; i++) {
        out[i] = perhaps__saturating_sum(out[i], of_layer[i]);
    }
}

// Copies of a key may lie in several layers.
static void count_many(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint64_t *out)
{
    const perhaps_filter *filter = filter_of(view);
    memset(out, 0, count * sizeof *out);
    for (size_t i = 0; i < count; i += BLOCK) {
        size_t asked = (size_t)perhaps__min(BLOCK, count - i);
        for (uint32_t j = 0; j < perhaps__filter_layers(filter); j++) {
            count_layer(perhaps__filter_layer(filter, j), hashes + i, asked, out + i);
        }
    }
}

/* ---------------------------------------------------------------- asking beside threads that compact */

// In the order of order.h. A hit needs no more; nor does a miss in a filter of one layer, which no key leaves.

// How often a reader begins again because the list of layers changed.
#define TRIES 32

static void note_unsettled(const perhaps_filter *filter, uint64_t keys)
{
    (void)__atomic_fetch_add(&filter->layers[0]->tally.unsettled, keys, __ATOMIC_RELAXED);
}

static bool is_settled(const perhaps_filter *filter, uint64_t look)
{
    return perhaps__order_is_single(look) || PERHAPS_LIKELY(perhaps__order_is_still(&filter->order, look));
}

static bool ask_in_order(const perhaps_filter *filter, uint64_t look, uint64_t hash)
{
    for (uint32_t i = perhaps__order_count(look); i > 0; i--) {
        const struct perhaps__view *layer = &perhaps__order_layer(&filter->order, i - 1)->view;
        if (layer->ask(layer, hash)) {
            return true;
        }
        between_layers();
    }
    return false;
}

static int ask_beside(const void *view, uint64_t hash)
{
    const perhaps_filter *filter = view;
    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t look = perhaps__order_look(&filter->order);
        if (ask_in_order(filter, look, hash)) {
            return 1;
        }
        if (is_settled(filter, look)) {
            return 0;
        }
    }
    note_unsettled(filter, 1);
    return 1;
}

// At most BLOCK keys; only those that are still open are asked for again.
static void ask_block_beside(const perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out)
{
    struct open open;
    open_all(hashes, count, &open, out);
    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t look = perhaps__order_look(&filter->order);
        for (uint32_t j = perhaps__order_count(look); j > 0 && open.count > 0; j--) {
            ask_layer(perhaps__order_layer(&filter->order, j - 1), &open, out);
            between_layers();
        }
        if (open.count == 0 || is_settled(filter, look)) {
            return;
        }
    }
    note_unsettled(filter, open.count);
    for (size_t i = 0; i < open.count; i++) {
        out[open.index[i]] = 1;
    }
}

static void ask_many_beside(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint8_t *out)
{
    for (size_t i = 0; i < count; i += BLOCK) {
        ask_block_beside(filter_of(view), hashes + i, (size_t)perhaps__min(BLOCK, count - i), out + i);
    }
}

// A copy that goes to a smaller layer meanwhile is counted here or there, or twice.
static void count_block_beside(const perhaps_filter *filter, const uint64_t *hashes, size_t count, uint64_t *out)
{
    for (unsigned i = 0; i < TRIES; i++) {
        uint64_t look = perhaps__order_look(&filter->order);
        memset(out, 0, count * sizeof *out);
        for (uint32_t j = perhaps__order_count(look); j > 0; j--) {
            count_layer(perhaps__order_layer(&filter->order, j - 1), hashes, count, out);
            between_layers();
        }
        if (is_settled(filter, look)) {
            return;
        }
    }
    note_unsettled(filter, count);
    for (size_t i = 0; i < count; i++) {
        out[i] = PERHAPS_COUNT_UNBOUNDED;
    }
}

static void count_many_beside(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint64_t *out)
{
    for (size_t i = 0; i < count; i += BLOCK) {
        count_block_beside(filter_of(view), hashes + i, (size_t)perhaps__min(BLOCK, count - i), out + i);
    }
}

struct perhaps__view perhaps__layers_view(const perhaps_filter *filter)
{
    const struct perhaps__layer *newest = perhaps__filter_newest(filter);
    bool beside = filter->shared != NULL && newest->operations->folds != NULL;
    struct perhaps__view view = newest->view;
    view.ask = beside ? ask_beside : ask;
    view.ask_many = beside ? ask_many_beside : ask_many;
    if (view.count_many != NULL) {
        view.count_many = beside ? count_many_beside : count_many;
    }
    view.memory = NULL; // nothing but the functions here is used of a filter with several layers
    return view;
}

/* ---------------------------------------------------------------- room */

// The newest layer, and how many of the keys that are to be added there is room for in it. In a shared filter that room is
// the caller's until settle(): threads never add more together than the capacity.
struct grant {
    struct perhaps__layer *layer;
    uint32_t layers; // up to that one
    size_t room;
    bool others; // threads hold room that they may give back
};

static void lock(const perhaps_filter *filter)
{
    if (filter->shared != NULL) {
        (void)pthread_mutex_lock(&filter->shared->growing);
    }
}

static void unlock(const perhaps_filter *filter)
{
    if (filter->shared != NULL) {
        (void)pthread_mutex_unlock(&filter->shared->growing);
    }
}

static struct grant reserve(const perhaps_filter *filter, size_t count)
{
    lock(filter);
    struct perhaps__layer *newest = perhaps__filter_newest(filter);
    struct perhaps__tally tally = perhaps__tally_load(&newest->tally);
    uint64_t room = newest->operations->room(newest, &tally);
    uint64_t free = room > newest->in_flight ? room - newest->in_flight : 0;
    struct grant grant = {
        .layer = newest,
        .layers = filter->layer_count,
        .room = (size_t)perhaps__min(free, count),
        .others = newest->in_flight > 0,
    };
    if (filter->shared != NULL) {
        newest->in_flight += grant.room;
    }
    unlock(filter);
    return grant;
}

// What was added is counted before the room is given back.
static void settle(const perhaps_filter *filter, const struct grant *grant, const struct perhaps__tally *tally)
{
    lock(filter);
    perhaps__tally_add(grant->layer, tally);
    if (filter->shared != NULL) {
        grant->layer->in_flight -= grant->room;
    }
    unlock(filter);
}

// A layer more, unless another thread was quicker. Not before all are done with the full one: from then on nothing changes
// in it, and when it says that it has a key, it has. (A cuckoo table in which fingerprints move may say so of a key that
// it does not have, which is no harm to readers; but a key that is not added because of it would be lost.)
static int grow(perhaps_filter *filter, uint32_t full_layers)
{
    lock(filter);
    while (filter->layer_count == full_layers && perhaps__filter_newest(filter)->in_flight > 0) {
        unlock(filter);
        (void)sched_yield();
        lock(filter);
    }
    int status = filter->layer_count == full_layers ? perhaps__grow(filter) : PERHAPS_OK;
    unlock(filter);
    return status;
}

/* ---------------------------------------------------------------- adding */

// Which of at most BLOCK keys are there already, and which are left for the newest layer.
struct plan {
    struct open open;
    uint8_t present[BLOCK]; // in a layer that was asked
};

// In filters that count, every key is for the newest layer. In others a key that is there already is not added again;
// when the newest layer is full, its own keys need no room either.
static void make_plan(const perhaps_filter *filter, const struct grant *grant, const uint64_t *hashes, size_t count,
                      struct plan *plan)
{
    bool counts = perhaps__filter_counts(filter);
    bool ask_newest = grant->room == 0 && !counts;
    ask_oldest(filter, grant->layers - !ask_newest, hashes, count, &plan->open, plan->present);
    if (counts) { // all are open: only which are new elsewhere was to be known
        ask_oldest(filter, 0, hashes, count, &plan->open, (uint8_t[BLOCK]){0});
    }
}

// Adds the open keys for which there is room; how many. is_new becomes 1 for those that no layer had.
static size_t add_open(const perhaps_filter *filter, const struct grant *grant, const struct plan *plan,
                       uint8_t is_new[BLOCK], int *refusal)
{
    struct perhaps__tally tally = {0};
    struct perhaps__view *view = &grant->layer->view;
    size_t room = (size_t)perhaps__min(grant->room, plan->open.count);
    size_t added = view->add_many(view, plan->open.hashes, room, is_new, &tally, refusal);
    for (size_t i = 0; i < added; i++) {
        bool elsewhere = plan->present[plan->open.index[i]] != 0; // new to this layer only
        tally.keys -= is_new[i] & elsewhere;
        is_new[i] &= !elsewhere;
    }
    settle(filter, grant, &tally);
    return added;
}

// Adds at most BLOCK keys; how many were handled. Those that are there already are, too, up to the first that is refused.
// *refusal becomes PERHAPS_OK when the rest is to be tried again.
static size_t add_block(perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out, int *refusal)
{
    struct grant grant = reserve(filter, count);
    struct plan plan;
    uint8_t is_new[BLOCK];
    if (grant.room == 0 && grant.others) {
        (void)sched_yield(); // until the others have used their room or given it back: the layer is not yet full
        *refusal = PERHAPS_OK;
        return 0;
    }
    make_plan(filter, &grant, hashes, count, &plan);
    *refusal = grant.room > 0 ? PERHAPS_OK : PERHAPS_E_FULL; // unless the kernel says otherwise
    size_t added = add_open(filter, &grant, &plan, is_new, refusal);
    size_t handled = added < plan.open.count ? plan.open.index[added] : count;
    if (out != NULL) {
        memset(out, 0, handled);
        for (size_t i = 0; i < added; i++) {
            out[plan.open.index[i]] = is_new[i];
        }
    }
    if (handled < count && *refusal == PERHAPS_E_FULL && filter->at_capacity == PERHAPS_AT_CAPACITY_GROW) {
        *refusal = grow(filter, grant.layers);
    }
    return handled;
}

size_t perhaps__layers_add(perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out, int *refusal)
{
    size_t handled = 0;
    *refusal = PERHAPS_OK;
    while (handled < count && *refusal == PERHAPS_OK) {
        size_t block = (size_t)perhaps__min(BLOCK, count - handled);
        size_t done = add_block(filter, hashes + handled, block, out != NULL ? out + handled : NULL, refusal);
        *refusal = done == block ? PERHAPS_OK : *refusal;
        handled += done;
    }
    return handled;
}

/* ---------------------------------------------------------------- removing */

// The layer to take a key from: the largest of those that match, if it folds into all the others. NULL when there is
// none, or when it does not (*ambiguous then).
//
// Why that one: every key that is held has a fingerprint in a layer which takes it for that key. The one found here may be
// another key's. But what this layer cannot tell apart, the others that match cannot either, and in one of them is the
// fingerprint that was added with the key that goes: it is the other key's from now on, which so went to a smaller layer.
//
// Threads may do the same to this key at the same time, and so the layers are asked in the order in which keys go. When
// all larger ones have been asked, its fingerprint is in none of them any more.
static struct perhaps__layer *find_match(const perhaps_filter *filter, uint64_t look, uint64_t hash, bool *ambiguous)
{
    struct perhaps__layer *match = NULL;
    *ambiguous = false;
    for (uint32_t i = perhaps__order_count(look); i > 0; i--) {
        struct perhaps__layer *layer = perhaps__order_layer(&filter->order, i - 1);
        bool matches = layer->view.ask(&layer->view, hash);
        between_layers();
        if (!matches) {
            continue;
        }
        *ambiguous = *ambiguous || (match != NULL && !match->operations->folds(match, layer));
        match = match != NULL ? match : layer;
    }
    return *ambiguous ? NULL : match;
}

// In a list of layers that did not change meanwhile: another thread may make a layer, but nobody does so for long.
static struct perhaps__layer *find_match_in_order(const perhaps_filter *filter, uint64_t hash, bool *ambiguous)
{
    for (;;) {
        uint64_t look = perhaps__order_look(&filter->order);
        struct perhaps__layer *match = find_match(filter, look, hash, ambiguous);
        if (PERHAPS_LIKELY(perhaps__order_is_still(&filter->order, look))) {
            return match;
        }
        (void)sched_yield();
    }
}

// 1 removed, 0 surely absent, or PERHAPS_E_AMBIGUOUS. Where threads share the filter, another one may be quicker and take
// the fingerprint that was seen; this key may then be the one whose fingerprint lies in another layer: look again.
static int remove_one(const perhaps_filter *filter, uint64_t hash)
{
    for (;;) {
        bool ambiguous;
        struct perhaps__layer *layer = find_match_in_order(filter, hash, &ambiguous);
        if (layer == NULL) {
            return ambiguous ? PERHAPS_E_AMBIGUOUS : 0;
        }
        struct perhaps__tally tally = {0};
        layer->view.remove_many(&layer->view, &hash, 1, NULL, &tally);
        perhaps__tally_add(layer, &tally);
        if (tally.removals != 0) {
            return 1;
        }
    }
}

size_t perhaps__layers_remove(perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out, int *refusal)
{
    for (size_t i = 0; i < count; i++) {
        int removed = remove_one(filter, hashes[i]);
        if (removed < 0) {
            perhaps__count_more(&filter->ambiguous, 1);
            *refusal = removed;
            return i;
        }
        if (out != NULL) {
            out[i] = (uint8_t)removed;
        }
    }
    return count;
}
