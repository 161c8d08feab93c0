// SPDX-License-Identifier: MIT
// Fewer layers without the keys: empty ones are dropped, and layers of which little is left are folded into smaller ones.
//
// In a filter that threads share the work is done in steps behind the closed gate: alone but for the readers. To those it
// is all one where a fingerprint is on its way (order.h). What was begun is in the filter, and looked at anew in every step.
#include "errors.h"
#include "filter.h"
#include "kinds.h"
#include "shared.h"

// Buckets that are looked through in one step: writers wait no longer than these take.
#define STEP 256

struct work {
    perhaps_filter *filter;
    perhaps_compaction done;
    uint64_t left; // buckets, of this step
};

static bool is_last(const perhaps_filter *filter, uint32_t layer)
{
    return layer + 1 == filter->layer_count;
}

/* ---------------------------------------------------------------- layers that go */

// Drops an empty layer. What it counted is counted by another one from now on.
static void drop(struct work *work, uint32_t layer, uint32_t heir)
{
    perhaps_filter *filter = work->filter;
    work->done.dropped++;
    work->done.bytes_freed += filter->layers[layer]->payload_size;
    perhaps__tally_take_over(filter->layers[heir], filter->layers[layer]);
    perhaps__filter_drop(filter, layer);
    filter->fold = (struct perhaps__fold){0};
}

static void drop_empty(struct work *work)
{
    for (uint32_t i = work->filter->layer_count - 1; i > 0; i--) {
        if (work->filter->layers[i]->tally.used == 0) {
            drop(work, i, 0);
        }
    }
}

static uint64_t room_in(const struct perhaps__layer *layer)
{
    return layer->operations->room(layer, &layer->tally);
}

// The layer with the most room takes new keys. The first stays where it is: the others follow from it.
static void put_roomiest_last(perhaps_filter *filter)
{
    uint32_t last = filter->layer_count - 1;
    uint32_t roomiest = last;
    for (uint32_t i = last; i > 0; i--) {
        roomiest = room_in(filter->layers[i]) > room_in(filter->layers[roomiest]) ? i : roomiest;
    }
    if (roomiest == last) {
        return; // also of one layer: who looks at the first does so at any time
    }
    struct perhaps__layer *layer = filter->layers[roomiest];
    for (uint32_t i = roomiest; i < last; i++) {
        filter->layers[i] = filter->layers[i + 1];
    }
    filter->layers[last] = layer; // readers of a shared filter do not go by this list
}

/* ---------------------------------------------------------------- folding */

// A layer that takes new keys, or whose room is to be instead of one that does, is not filled to more than three quarters:
// otherwise the next few keys would bring back a layer as large as the one that was folded.
static bool has_room(const perhaps_filter *filter, uint32_t from, uint32_t into)
{
    const struct perhaps__layer *target = filter->layers[into];
    bool new_keys = is_last(filter, from) || is_last(filter, into);
    uint64_t most = target->capacity - (new_keys ? target->capacity / 4 : 0);
    return target->tally.used <= most && filter->layers[from]->tally.used <= most - target->tally.used;
}

// The largest layer that one folds into; false when there is none.
static bool choose_target(const perhaps_filter *filter, uint32_t from, uint32_t *into)
{
    const struct perhaps__layer *layer = filter->layers[from];
    bool found = false;
    for (uint32_t i = 0; i < filter->layer_count; i++) {
        const struct perhaps__layer *target = filter->layers[i];
        bool smaller = target->capacity < layer->capacity && layer->operations->folds(layer, target);
        bool larger_than_found = !found || target->capacity > filter->layers[*into]->capacity;
        if (smaller && larger_than_found && has_room(filter, from, i)) {
            *into = i;
            found = true;
        }
    }
    return found;
}

// Begins with the largest layer that can be folded and was not tried before; false when there is none. The first one stays.
static bool choose_fold(perhaps_filter *filter)
{
    struct perhaps__fold *fold = &filter->fold;
    bool found = false;
    for (uint32_t i = 1; i < filter->layer_count; i++) {
        bool tried = (fold->tried >> i & 1) != 0;
        uint32_t into = 0;
        if (!tried && (!found || filter->layers[i]->capacity > filter->layers[fold->from]->capacity) &&
            choose_target(filter, i, &into)) {
            fold->from = i;
            fold->into = into;
            found = true;
        }
    }
    fold->running = found;
    fold->bucket = 0;
    return found;
}

// Goes on with the layer that is being folded, until it is empty or done with, or the work is.
static void continue_fold(struct work *work)
{
    struct perhaps__fold *fold = &work->filter->fold;
    struct perhaps__layer *from = work->filter->layers[fold->from];
    struct perhaps__layer *into = work->filter->layers[fold->into];
    if (into->tally.used > into->capacity || from->tally.used > into->capacity - into->tally.used) {
        fold->running = false; // keys came meanwhile
        fold->tried |= UINT32_C(1) << fold->from;
        return;
    }
    int status = PERHAPS_OK;
    while (work->left > 0 && fold->bucket < from->range && from->tally.used > 0 && status == PERHAPS_OK) {
        uint64_t before = from->tally.used;
        status = from->operations->move_bucket(from, into, fold->bucket);
        work->done.moved += before - from->tally.used;
        fold->bucket++;
        work->left--;
    }
    if (from->tally.used == 0) {
        drop(work, fold->from, fold->into);
    } else if (status != PERHAPS_OK || fold->bucket == from->range) {
        fold->running = false; // it cannot be emptied now: keys that came meanwhile, or one that finds no room
        fold->tried |= UINT32_C(1) << fold->from;
    }
}

// Works until nothing is left of the step. 1 when there is more to do.
static int compact(struct work *work)
{
    perhaps_filter *filter = work->filter;
    drop_empty(work);
    while (work->left > 0) {
        if (!filter->fold.running && !choose_fold(filter)) {
            put_roomiest_last(filter);
            filter->fold = (struct perhaps__fold){0};
            return 0;
        }
        continue_fold(work);
    }
    return 1;
}

static int compact_in_steps(struct work *work, uint64_t buckets)
{
    const perhaps_filter *filter = work->filter;
    int more = 1;
    while (more == 1 && buckets > 0) {
        uint64_t step = filter->shared != NULL ? perhaps__min(STEP, buckets) : buckets;
        work->left = step;
        perhaps__close(filter);
        more = compact(work);
        work->done.layers = filter->layer_count;
        perhaps__open_between_steps(filter);
        buckets -= step;
    }
    return more;
}

static int may_compact(const perhaps_filter *filter, perhaps_error *error)
{
    int status = perhaps__filter_may_change(filter);
    if (status < 0) {
        return perhaps__fail(error, (struct perhaps__failure){.code = status}, NULL);
    }
    struct perhaps__failure failure = {.code = PERHAPS_E_UNSUPPORTED};
    if (filter->layers[0]->operations->folds == NULL) {
        return perhaps__fail(error, failure, "layers of kind %s cannot be folded; rebuild the filter from its keys",
                             perhaps__kind(filter->kind)->name);
    }
    if (filter->log != NULL) {
        return perhaps__fail(error, failure, "a filter with a journal, which knows keys only, cannot be compacted");
    }
    return PERHAPS_OK;
}

int perhaps_compact(perhaps_filter *filter, uint64_t work, perhaps_compaction *result, perhaps_error *error)
{
    if (filter == NULL) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_ARGUMENT}, NULL);
    }
    if (result != NULL && (result->size < sizeof result->size || result->size > sizeof *result)) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_OPTION, .subject = "result"},
                             "size is not set, or is that of a newer release");
    }
    int status = may_compact(filter, error);
    if (status < 0) {
        return status;
    }
    struct work all = {.filter = filter};
    status = compact_in_steps(&all, work != 0 ? work : UINT64_MAX);
    if (result != NULL) {
        (void)perhaps__give_result(result, &all.done, sizeof all.done); // its size was looked at
    }
    return status;
}
