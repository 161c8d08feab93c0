// SPDX-License-Identifier: MIT
// A layer of kind counting.
#include <math.h>

#include "counting.h"
#include "cpu.h"
#include "layer.h"
#include "place_many.h"

static struct perhaps__counters counters_of(const struct perhaps__layer *layer)
{
    return (struct perhaps__counters){perhaps__layer_words(layer), layer->range, layer->shape.cell_bits};
}

static bool is_sound(const struct perhaps__layer *layer)
{
    const struct perhaps__shape *shape = &layer->shape;
    return perhaps__counting_kernel(shape->cell_bits) != NULL && layer->bits % shape->cell_bits == 0 &&
           layer->range == layer->bits / shape->cell_bits && layer->range % PERHAPS_UNIT_BITS == 0 &&
           shape->positions > 0 && shape->positions <= PERHAPS_MAX_POSITIONS &&
           (shape->policy == PERHAPS_POLICY_MULTISET || shape->policy == PERHAPS_POLICY_CONSERVATIVE) &&
           (shape->layout | shape->slots | shape->search) == 0;
}

static void view_counting(const struct perhaps__layer *layer, struct perhaps__view *view)
{
    const struct perhaps__counting_kernel *kernel = perhaps__counting_kernel(layer->shape.cell_bits);
    bool near = layer->payload_size <= PERHAPS_PLACE_NEAR * perhaps__cpu_l2_bytes();
    view->ask = kernel->ask;
    view->ask_many = near ? kernel->ask_near : kernel->ask_far;
    view->add_many = near ? kernel->add_near : kernel->add_far;
    view->add_few = kernel->add_near;
    view->count_many = near ? kernel->count_near : kernel->count_far;
    if (layer->shape.policy == PERHAPS_POLICY_MULTISET) {
        view->remove_many = near ? kernel->remove_near : kernel->remove_far;
    }
    if (view->stripes.words != NULL) {
        perhaps__counting_share(view);
    }
}

static void recount(const struct perhaps__layer *layer, uint64_t from, uint64_t end, struct perhaps__tally *tally)
{
    const uint32_t width = layer->shape.cell_bits;
    struct perhaps__cells cells = perhaps__count_cells(perhaps__layer_words(layer) + from / 8, (end - from) / 8, width);
    tally->used += cells.used;
    tally->saturated += cells.full;
}

static int merge(struct perhaps__layer *into, const struct perhaps__layer *from, const perhaps_allocator *allocator)
{
    (void)allocator;
    struct perhaps__counters counters = counters_of(into);
    struct perhaps__counters others = counters_of(from);
    perhaps__counting_unite(&counters, &others);
    perhaps__layer_recount(into, &into->tally);
    into->tally.copies = perhaps__saturating_sum(into->tally.copies, from->tally.copies);
    return PERHAPS_OK;
}

/* ---------------------------------------------------------------- statistics */

// P(Poisson(mean) >= least), the largest term first; beyond it each is less than the one before as soon as it is above
// the mean, and mean is at most 37 = ln 2^53.
static double poisson_tail(double mean, uint64_t least)
{
    if (!(mean > 0.0)) {
        return 0.0;
    }
    double term = exp((double)least * log(mean) - mean - lgamma((double)least + 1.0));
    double sum = 0.0;
    for (uint64_t value = least; term > sum * 1e-17; value++) {
        sum += term;
        term *= mean / (double)(value + 1);
    }
    return fmin(sum, 1.0);
}

// After one add each of n keys, a counter has seen a binomial number of increments, with nk trials at 1/m; to that
// Poisson with mean l = nk/m comes close, and l = -ln(1 - fill) (Fan, Cao, Almeida and Broder 2000, who
// bound it from above). Counters are taken for independent.
static double saturation_chance(double fill, double counters, uint64_t most)
{
    if (fill >= 1.0) {
        return 1.0;
    }
    double tail = poisson_tail(-log1p(-fill), most);
    return tail < 1.0 ? -expm1(counters * log1p(-tail)) : 1.0;
}

// The positions of an absent key are independent draws from the counters as they are: it is "perhaps t times" when all
// k of them hit one of at least t, or, above the maximum, one that is saturated. This holds for both policies, and
// after any number of removals.
static void describe_absent(const struct perhaps__layer *layer, perhaps_statistics *statistics)
{
    struct perhaps__counters counters = counters_of(layer);
    uint64_t maximum = perhaps__cell_most(counters.width);
    double shares[PERHAPS_TIMES + 1];
    if (layer->recorded) { // no counter is looked at: no more of them are large than are above zero
        for (size_t i = 0; i < PERHAPS_TIMES; i++) {
            statistics->times_fpr[i] = statistics->fpr_now;
        }
        return;
    }
    perhaps__counting_shares(&counters, shares);
    double share = statistics->fill; // exact, unlike those that are counted in a sample
    for (uint64_t times = 1; times <= PERHAPS_TIMES; times++) {
        if (times >= maximum) {
            share = statistics->saturated_share;
        } else if (times > 1) {
            share = fmax(fmin(share, shares[times]), statistics->saturated_share);
        }
        statistics->times_fpr[times - 1] = pow(share, layer->shape.positions);
    }
}

// A key that was added t - 1 times has given each of its counters t - 1; up to the maximum all k are at least t when
// each has got at least one more from other keys. The fill that is due to those follows from 1 - X/m = (1 - 1/m)^(nk),
// without k of the nk. With t - 1 at the maximum its counters are all saturated. Under the conservative policy counters
// are smaller at the same fill, and this is an upper bound.
static void describe_next(const struct perhaps__layer *layer, perhaps_statistics *statistics)
{
    double positions = layer->shape.positions;
    double clear = (1.0 - statistics->fill) * exp(-positions * log1p(-1.0 / (double)layer->range));
    double chance = pow(fmax(0.0, 1.0 - clear), positions);
    uint64_t maximum = perhaps__cell_most(layer->shape.cell_bits);
    statistics->times_fpr_next[0] = statistics->fpr_now;
    for (uint64_t times = 2; times <= PERHAPS_TIMES; times++) {
        statistics->times_fpr_next[times - 1] = times <= maximum ? chance : 1.0;
    }
}

static void describe(const struct perhaps__layer *layer, perhaps_statistics *statistics)
{
    double counters = (double)layer->range;
    statistics->set_bits = layer->tally.used;
    statistics->fill = (double)layer->tally.used / counters;
    statistics->fpr_now = pow(statistics->fill, layer->shape.positions);
    statistics->distinct_estimate = perhaps__distinct_for(statistics->fill, counters, layer->shape.positions);
    statistics->counter_bits = layer->shape.cell_bits;
    statistics->saturated = layer->tally.saturated;
    statistics->saturated_share = (double)layer->tally.saturated / counters;
    statistics->saturation_chance =
        saturation_chance(statistics->fill, counters, perhaps__cell_most(layer->shape.cell_bits));
    describe_absent(layer, statistics);
    describe_next(layer, statistics);
}

// The smallest of the counters that can be believed.
static uint64_t most(const struct perhaps__layer *layer, uint64_t hash, struct perhaps__look *look)
{
    const uint32_t width = layer->shape.cell_bits;
    struct perhaps__walk walk = perhaps__walk_start(perhaps__place(hash, layer->view.seed_key));
    uint64_t smallest = perhaps__cell_most(width);
    for (uint32_t i = 0; i < layer->shape.positions && smallest > 0; i++) {
        uint64_t counter = perhaps__walk_next(&walk, layer->range);
        uint64_t byte = counter * width / 8; // 16 bits lie in one chunk, as they are aligned
        if (look->believe(look, byte, byte)) {
            smallest = perhaps__min(smallest, perhaps__cell_get(layer->payload, counter, width));
        }
    }
    return smallest < perhaps__cell_most(width) ? smallest : PERHAPS_COUNT_UNBOUNDED;
}

// Adds are copies and removals together, and at least as many as keys that were new; copies that were removed more
// often than added, behind saturated counters, make them more. Without removals, keys and counters come together.
static bool agrees(const struct perhaps__tally *recorded, const struct perhaps__tally *counted)
{
    uint64_t adds = perhaps__saturating_sum(recorded->copies, recorded->removals);
    return recorded->keys <= adds && (recorded->keys == 0) == (adds == 0) && (counted->used == 0 || adds > 0) &&
           (counted->used > 0 || adds == 0 || recorded->removals > 0);
}

// The conservative policy compares a key's counters, which lie in several regions.
static const struct perhaps__visits *visits(const struct perhaps__layer *layer)
{
    return layer->shape.policy == PERHAPS_POLICY_MULTISET ? perhaps__counting_visits(layer->shape.cell_bits) : NULL;
}

const struct perhaps__layer_operations perhaps__layer_counting = {
    .is_sound = is_sound,
    .view = view_counting,
    .recount = recount,
    .merge = merge,
    .describe = describe,
    .probe = perhaps__layer_probe_positions,
    .most = most,
    .room = perhaps__layer_room_by_fill, // keys come and go, so only the fill can say
    .agrees = agrees,
    .visits = visits,
    .keeps_used = true,
};
