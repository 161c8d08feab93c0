// SPDX-License-Identifier: MIT
#include "bulk.h"

#include <time.h>

#include "bloom_sorted.h"

#ifdef PERHAPS_TEST_SUPPORT
struct perhaps__bulk_limits perhaps__bulk_limits
#else
static const struct perhaps__bulk_limits perhaps__bulk_limits
#endif
    = {
        .smallest = UINT64_C(32) << 20,
        .most = UINT64_C(5) << 20, // 21 MiB
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

// The fewest keys that are sorted.
static uint64_t fewest(const struct perhaps__layer *layer)
{
    return LEAST_PER_LINE * lines_of(layer) / layer->view.positions + 1;
}

static uint64_t positions_at_once(const struct perhaps__layer *layer)
{
    return perhaps__min(BEST_PER_LINE * lines_of(layer), perhaps__bulk_limits.most);
}

// Keys that are added one after the other for a look at the clock.
static uint64_t sampled(void)
{
    return perhaps__bulk_limits.sample * perhaps__bulk_limits.samples;
}

// Whether a batch may be sorted, if the memory is slow.
static bool may_sort(const struct perhaps__layer *layer, size_t count)
{
    if (!layer->operations->sorts || layer->payload_size < perhaps__bulk_limits.smallest || count <= sampled()) {
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

/* ---------------------------------------------------------------- adding */

// A batch on its way.
struct bulk {
    struct perhaps__layer *layer;
    const uint64_t *hashes;
    size_t count;
    uint8_t *out;
    size_t added;
};

static uint8_t *out_of(const struct bulk *bulk)
{
    return bulk->out != NULL ? bulk->out + bulk->added : NULL;
}

// One after the other. Kinds that sort refuse nothing.
static void add_directly(struct bulk *bulk, uint64_t count)
{
    int refusal = PERHAPS_OK;
    struct perhaps__layer *layer = bulk->layer;
    bulk->added += layer->view.add_many(&layer->view, bulk->hashes + bulk->added, (size_t)count, out_of(bulk),
                                        &layer->tally, &refusal);
}

static uint64_t nanoseconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

// Whether the memory is slow, which only a clock can tell: the first keys are added one after the other, a thousand at a
// time. The quickest counts: another process may have been let in meanwhile.
static bool is_slow(struct bulk *bulk)
{
    uint64_t least = UINT64_MAX;
    for (uint64_t i = 0; i < perhaps__bulk_limits.samples; i++) {
        uint64_t begin = nanoseconds();
        add_directly(bulk, perhaps__bulk_limits.sample);
        least = perhaps__min(least, nanoseconds() - begin);
    }
    return least * 1000 >= perhaps__bulk_limits.slow * perhaps__bulk_limits.sample * bulk->layer->view.positions;
}

static void add_sorted(struct bulk *bulk, const perhaps_allocator *allocator)
{
    struct perhaps__layer *layer = bulk->layer;
    uint64_t positions = (bulk->count - bulk->added) * layer->view.positions;
    struct perhaps__sorting sorting =
        perhaps__bloom_sorting(&layer->view, perhaps__min(positions, positions_at_once(layer)));
    void *memory = perhaps__allocate_unset(allocator, sorting.bytes);
    if (memory == NULL) {
        return;
    }
    while (bulk->count - bulk->added >= fewest(layer)) {
        size_t count = (size_t)perhaps__min(bulk->count - bulk->added, sorting.keys);
        perhaps__bloom_add_sorted(&layer->view, &sorting, memory, bulk->hashes + bulk->added, count, out_of(bulk),
                                  &layer->tally);
        bulk->added += count;
    }
    perhaps__release(allocator, memory, sorting.bytes);
}

size_t perhaps__bulk_add(struct perhaps__layer *layer, const perhaps_allocator *allocator, const uint64_t *hashes,
                         size_t count, uint8_t *out, int *refusal)
{
    if (!may_sort(layer, count)) {
        return layer->view.add_many(&layer->view, hashes, count, out, &layer->tally, refusal);
    }
    struct bulk bulk = {.layer = layer, .hashes = hashes, .count = count, .out = out};
    if (is_slow(&bulk)) {
        add_sorted(&bulk, allocator);
    }
    add_directly(&bulk, count - bulk.added);
    return bulk.added;
}
