// SPDX-License-Identifier: MIT
#include "layers.h"

#include "growth.h"

// Keys that go from layer to layer together; enough for each layer's pipeline to run full.
#define BLOCK 512

static const perhaps_filter *filter_of(const struct perhaps__view *view)
{
    return (const perhaps_filter *)(const void *)view; // the view is its first member
}

/* ---------------------------------------------------------------- asking */

static int ask(const void *view, uint64_t hash)
{
    const perhaps_filter *filter = view;
    for (uint32_t i = filter->layer_count; i > 0; i--) {
        if (filter->layers[i - 1]->view.ask(&filter->layers[i - 1]->view, hash)) {
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

// Asks the oldest `layers` layers about at most BLOCK keys, the newest of them first. Afterwards the keys that none has
// are open.
static void ask_oldest(const perhaps_filter *filter, uint32_t layers, const uint64_t *hashes, size_t count,
                       struct open *open, uint8_t *out)
{
    memset(out, 0, count);
    memcpy(open->hashes, hashes, count * sizeof *hashes);
    for (size_t i = 0; i < count; i++) {
        open->index[i] = (uint16_t)i;
    }
    open->count = count;
    for (uint32_t i = layers; i > 0 && open->count > 0; i--) {
        ask_layer(filter->layers[i - 1], open, out);
    }
}

static void ask_many(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint8_t *out)
{
    const perhaps_filter *filter = filter_of(view);
    struct open open;
    for (size_t i = 0; i < count; i += BLOCK) {
        ask_oldest(filter, filter->layer_count, hashes + i, (size_t)perhaps__min(BLOCK, count - i), &open, out + i);
    }
}

// Copies of a key may lie in several layers.
static void count_many(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint64_t *out)
{
    const perhaps_filter *filter = filter_of(view);
    uint64_t of_layer[BLOCK];
    memset(out, 0, count * sizeof *out);
    for (size_t i = 0; i < count; i += BLOCK) {
        size_t asked = (size_t)perhaps__min(BLOCK, count - i);
        for (uint32_t j = 0; j < filter->layer_count; j++) {
            const struct perhaps__view *layer = &filter->layers[j]->view;
            layer->count_many(layer, hashes + i, asked, of_layer);
            for (size_t k = 0; k < asked; k++) {
                out[i + k] = perhaps__saturating_sum(out[i + k], of_layer[k]);
            }
        }
    }
}

struct perhaps__view perhaps__layers_view(const perhaps_filter *filter)
{
    const struct perhaps__view *newest = &perhaps__filter_newest(filter)->view;
    struct perhaps__view view = *newest;
    view.ask = ask;
    view.ask_many = ask_many;
    view.count_many = newest->count_many != NULL ? count_many : NULL;
    view.memory = NULL; // nothing but the functions here is used of a filter with several layers
    return view;
}

/* ---------------------------------------------------------------- adding */

// What adding at most BLOCK keys needs to know: which layers have them already, and which keys are left for the newest.
struct plan {
    struct open open;
    uint8_t present[BLOCK]; // in a layer that was asked
    size_t room;            // adds that the newest layer takes
};

// In filters that count, every key is for the newest layer. In others a key that is there already is not added again;
// when the newest layer is full, its own keys need no room either.
static void make_plan(const perhaps_filter *filter, const uint64_t *hashes, size_t count, struct plan *plan)
{
    struct perhaps__layer *newest = perhaps__filter_newest(filter);
    uint64_t room = filter->at_capacity == PERHAPS_AT_CAPACITY_GO_ON ? UINT64_MAX : newest->operations->room(newest);
    bool counts = perhaps__filter_counts(filter);
    bool ask_newest = room == 0 && !counts;
    ask_oldest(filter, filter->layer_count - !ask_newest, hashes, count, &plan->open, plan->present);
    if (counts) { // all are open: only which are new elsewhere was to be known
        ask_oldest(filter, 0, hashes, count, &plan->open, (uint8_t[BLOCK]){0});
    }
    plan->room = (size_t)perhaps__min(room, plan->open.count);
}

// Adds at most BLOCK keys; how many were handled. Those that are there already are, too, up to the first that is refused.
static size_t add_block(perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out, int *refusal)
{
    struct perhaps__layer *newest = perhaps__filter_newest(filter);
    struct plan plan;
    uint8_t is_new[BLOCK];
    make_plan(filter, hashes, count, &plan);
    bool goes_on = plan.room > 0;                     // after what there is room for, the rest is planned anew
    *refusal = goes_on ? PERHAPS_OK : PERHAPS_E_FULL; // unless the kernel says otherwise
    size_t added = newest->view.add_many(&newest->view, plan.open.hashes, plan.room, is_new, &newest->tally, refusal);
    size_t handled = added < plan.open.count ? plan.open.index[added] : count;
    for (size_t i = 0; i < added; i++) {
        bool elsewhere = plan.present[plan.open.index[i]] != 0; // new to this layer only
        newest->tally.keys -= is_new[i] & elsewhere;
        is_new[i] &= !elsewhere;
    }
    if (out != NULL) {
        memset(out, 0, handled);
        for (size_t i = 0; i < added; i++) {
            out[plan.open.index[i]] = is_new[i];
        }
    }
    return handled;
}

size_t perhaps__layers_add(perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out, int *refusal)
{
    size_t handled = 0;
    while (handled < count) {
        size_t block = (size_t)perhaps__min(BLOCK, count - handled);
        size_t done = add_block(filter, hashes + handled, block, out != NULL ? out + handled : NULL, refusal);
        handled += done;
        if (done == block || *refusal == PERHAPS_OK) {
            continue;
        }
        if (*refusal == PERHAPS_E_FULL && filter->at_capacity == PERHAPS_AT_CAPACITY_GROW) {
            *refusal = perhaps__grow(filter);
        }
        if (*refusal < 0) {
            break;
        }
    }
    return handled;
}

/* ---------------------------------------------------------------- removing */

// The only layer that may hold a key; NULL when there is none, or when there are several (*matches tells).
static struct perhaps__layer *only_match(const perhaps_filter *filter, uint64_t hash, uint32_t *matches)
{
    struct perhaps__layer *match = NULL;
    *matches = 0;
    for (uint32_t i = 0; i < filter->layer_count; i++) {
        struct perhaps__layer *layer = filter->layers[i];
        if (layer->view.ask(&layer->view, hash)) {
            match = layer;
            ++*matches;
        }
    }
    return *matches == 1 ? match : NULL;
}

size_t perhaps__layers_remove(perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out, int *refusal)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t matches;
        struct perhaps__layer *layer = only_match(filter, hashes[i], &matches);
        if (matches > 1) {
            filter->ambiguous++;
            *refusal = PERHAPS_E_AMBIGUOUS;
            return i;
        }
        if (layer != NULL) {
            layer->view.remove_many(&layer->view, hashes + i, 1, NULL, &layer->tally);
        }
        if (out != NULL) {
            out[i] = layer != NULL;
        }
    }
    return count;
}
