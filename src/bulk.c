// SPDX-License-Identifier: MIT
#include "bulk.h"

#include <time.h>

#include "cpu.h"

#ifdef PERHAPS_TEST_SUPPORT
struct perhaps__bulk_limits perhaps__bulk_limits
#else
static const struct perhaps__bulk_limits perhaps__bulk_limits
#endif
    = {
        .smallest = UINT64_C(32) << 20,
        .most = UINT64_C(5) << 20, // up to 23 MiB
        .sample = 1024,
        .samples = 8,
        .slow = 9000,
};

// Positions for each line of the filter that are sorted together: at least, for every line is read and written, and at best,
// for then that costs little.
#define LEAST_PER_LINE 2
#define BEST_PER_LINE 4

static uint64_t lines_of(const struct perhaps__layer *layer)
{
    return layer->payload_size / PERHAPS_LINE;
}

static const struct perhaps__visits *visits_of(const struct perhaps__layer *layer)
{
    return layer->operations->visits != NULL ? layer->operations->visits(layer) : NULL;
}

// The fewest keys that are sorted.
static uint64_t fewest(const struct perhaps__layer *layer)
{
    return LEAST_PER_LINE * lines_of(layer) / layer->view.positions + 1;
}

static uint64_t positions_at_once(const struct perhaps__layer *layer)
{
    return perhaps__min(BEST_PER_LINE * lines_of(layer), perhaps__bulk_limits.most);
}

// Keys that are handled one after the other for a look at the clock.
static uint64_t sampled(void)
{
    return perhaps__bulk_limits.sample * perhaps__bulk_limits.samples;
}

// What is sorted is written and read once more, and costs more than random lines of a cache do.
static bool is_cached(const struct perhaps__layer *layer)
{
    uint64_t cache = perhaps__bulk_limits.cache;
    return layer->payload_size <= (cache > 0 ? cache : perhaps__cpu_last_cache_bytes());
}

// Whether a batch may be sorted, if the memory is slow. Most are decided by the first comparison.
static bool may_sort(const struct perhaps__layer *layer, size_t count)
{
    if (count <= sampled() || layer->payload_size < perhaps__bulk_limits.smallest || visits_of(layer) == NULL ||
        is_cached(layer)) {
        return false;
    }
    uint64_t least = fewest(layer);
    return count - sampled() >= least && positions_at_once(layer) / layer->view.positions >= least;
}

size_t perhaps__bulk_keys(const struct perhaps__layer *layer, size_t count)
{
    if (!may_sort(layer, count)) {
        return 0;
    }
    return (size_t)perhaps__min(count, sampled() + positions_at_once(layer) / layer->view.positions);
}

/* ---------------------------------------------------------------- a batch */

// A batch on its way.
struct bulk {
    const struct perhaps__layer *layer;
    struct perhaps__layer *changed; // the same one, when keys are added; NULL when it is asked
    const uint64_t *hashes;
    size_t count;
    uint8_t *out;
    size_t done;
};

static uint8_t *out_of(const struct bulk *bulk)
{
    return bulk->out != NULL ? bulk->out + bulk->done : NULL;
}

// One after the other. Kinds that sort refuse nothing.
static void go_directly(struct bulk *bulk, size_t count)
{
    const struct perhaps__view *view = &bulk->layer->view;
    const uint64_t *hashes = bulk->hashes + bulk->done;
    if (bulk->changed != NULL) {
        int refusal = PERHAPS_OK;
        (void)view->add_many(view, hashes, count, out_of(bulk), &bulk->changed->tally, &refusal);
    } else {
        view->ask_many(view, hashes, count, out_of(bulk));
    }
    bulk->done += count;
}

static uint64_t nanoseconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

// Whether the memory is slow, which only a clock can tell: the first keys go one after the other, a thousand at a time. The
// quickest counts: another process may have been let in meanwhile. Absent keys are decided by their first positions, so that
// a batch of them is quick enough as it is.
static bool is_slow(struct bulk *bulk)
{
    uint64_t least = UINT64_MAX;
    for (uint64_t i = 0; i < perhaps__bulk_limits.samples; i++) {
        uint64_t begin = nanoseconds();
        go_directly(bulk, (size_t)perhaps__bulk_limits.sample);
        least = perhaps__min(least, nanoseconds() - begin);
    }
    return least * 1000 >= perhaps__bulk_limits.slow * perhaps__bulk_limits.sample * bulk->layer->view.positions;
}

static void go_sorted(struct bulk *bulk, const struct perhaps__sorting *sorting, void *memory, size_t count)
{
    const struct perhaps__view *view = &bulk->layer->view;
    const struct perhaps__visits *visits = visits_of(bulk->layer);
    const uint64_t *hashes = bulk->hashes + bulk->done;
    if (bulk->changed != NULL) {
        perhaps__add_sorted(view, visits, sorting, memory, hashes, count, out_of(bulk), &bulk->changed->tally);
    } else {
        perhaps__ask_sorted(view, visits, sorting, memory, hashes, count, out_of(bulk));
    }
    bulk->done += count;
}

// As many as are worth it.
static void sort_most(struct bulk *bulk, const perhaps_allocator *allocator)
{
    const struct perhaps__layer *layer = bulk->layer;
    uint64_t positions = (bulk->count - bulk->done) * layer->view.positions;
    struct perhaps__sorting sorting =
        perhaps__sorting_for(&layer->view, visits_of(layer), perhaps__min(positions, positions_at_once(layer)));
    void *memory = perhaps__allocate_unset(allocator, sorting.bytes);
    if (memory == NULL) {
        return;
    }
    while (bulk->count - bulk->done >= fewest(layer)) {
        go_sorted(bulk, &sorting, memory, (size_t)perhaps__min(bulk->count - bulk->done, sorting.keys));
    }
    perhaps__release(allocator, memory, sorting.bytes);
}

static void run(struct bulk bulk, const perhaps_allocator *allocator)
{
    if (is_slow(&bulk)) {
        sort_most(&bulk, allocator);
    }
    go_directly(&bulk, bulk.count - bulk.done);
}

/* ---------------------------------------------------------------- the verbs */

size_t perhaps__bulk_add(struct perhaps__layer *layer, const perhaps_allocator *allocator, const uint64_t *hashes,
                         size_t count, uint8_t *out, int *refusal)
{
    if (!may_sort(layer, count)) {
        return layer->view.add_many(&layer->view, hashes, count, out, &layer->tally, refusal);
    }
    run((struct bulk){.layer = layer, .changed = layer, .hashes = hashes, .count = count, .out = out}, allocator);
    return count;
}

void perhaps__bulk_ask(const struct perhaps__layer *layer, const perhaps_allocator *allocator, const uint64_t *hashes,
                       size_t count, uint8_t *out)
{
    if (!may_sort(layer, count)) {
        layer->view.ask_many(&layer->view, hashes, count, out);
        return;
    }
    run((struct bulk){.layer = layer, .hashes = hashes, .count = count, .out = out}, allocator);
}
