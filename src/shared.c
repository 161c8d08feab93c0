// SPDX-License-Identifier: MIT
#include "shared.h"

#include "layers.h"
#include "place.h"

// Keys between two passages of the gate: a snapshot waits no longer than these take.
#define BLOCK 4096

/* ---------------------------------------------------------------- life */

// One lock for about four cache lines, so that writers rarely meet; at most 16 KiB, so that locks stay in the
// first-level cache. At least as many as blocked needs for its regions.
static uint64_t stripes_for(uint64_t payload_size)
{
    uint64_t count = 1024;
    while (count < 4096 && count < payload_size / 256) {
        count *= 2;
    }
    return count;
}

// The word of moves follows the locks, in a cache line of its own.
static size_t stripes_bytes(uint64_t count)
{
    return (size_t)count * sizeof(uint32_t) + PERHAPS_LINE;
}

bool perhaps__stripes_make(const perhaps_allocator *allocator, uint64_t payload_size, struct perhaps__stripes *stripes)
{
    uint64_t count = stripes_for(payload_size);
    stripes->words = perhaps__allocate(allocator, stripes_bytes(count));
    stripes->mask = count - 1;
    stripes->moves = stripes->words != NULL ? (uint64_t *)(void *)(stripes->words + count) : NULL;
    return stripes->words != NULL;
}

void perhaps__stripes_release(const perhaps_allocator *allocator, struct perhaps__stripes *stripes)
{
    perhaps__release(allocator, stripes->words, stripes_bytes(stripes->mask + 1));
}

bool perhaps__shared_begin(perhaps_filter *filter, uint32_t flags)
{
    bool claim = (flags & PERHAPS_CLAIM) != 0;
    bool in_steps = perhaps__filter_is_bounded(filter); // adding asks and adds: kernels see a part only
    struct perhaps__shared *shared = perhaps__allocate(&filter->allocator, sizeof *shared);
    if (shared == NULL) {
        return false;
    }
    bool made = !(claim && in_steps) || perhaps__stripes_make(&filter->allocator, 0, &shared->claims);
    if (!made || !perhaps__gate_init(&shared->gate)) {
        perhaps__stripes_release(&filter->allocator, &shared->claims);
        perhaps__release(&filter->allocator, shared, sizeof *shared);
        return false;
    }
    (void)pthread_mutex_init(&shared->growing, NULL); // cannot fail with default attributes
    filter->setting.claim = claim && !in_steps;
    filter->shared = shared;
    return true;
}

void perhaps__shared_end(perhaps_filter *filter)
{
    struct perhaps__shared *shared = filter->shared;
    if (shared != NULL) {
        perhaps__gate_destroy(&shared->gate);
        (void)pthread_mutex_destroy(&shared->growing);
        perhaps__stripes_release(&filter->allocator, &shared->claims);
        perhaps__release(&filter->allocator, shared, sizeof *shared);
    }
}

/* ---------------------------------------------------------------- the gate */

void perhaps__close(const perhaps_filter *filter)
{
    if (filter->shared != NULL) {
        perhaps__gate_close(&filter->shared->gate);
    }
}

void perhaps__open(const perhaps_filter *filter)
{
    if (filter->shared != NULL) {
        perhaps__gate_open(&filter->shared->gate);
    }
}

void perhaps__open_between_steps(const perhaps_filter *filter)
{
    if (filter->shared != NULL) {
        perhaps__gate_open(&filter->shared->gate);
        perhaps__gate_let_in(&filter->shared->gate);
    }
}

void perhaps__close_both(const perhaps_filter *a, const perhaps_filter *b)
{
    bool in_order = (uintptr_t)a < (uintptr_t)b;
    perhaps__close(in_order ? a : b);
    if (a != b) {
        perhaps__close(in_order ? b : a);
    }
}

void perhaps__open_both(const perhaps_filter *a, const perhaps_filter *b)
{
    perhaps__open(a);
    if (a != b) {
        perhaps__open(b);
    }
}

/* ---------------------------------------------------------------- tallies */

// Counters that do not change are not touched: most calls change one or two.
static void add_relaxed(uint64_t *counter, uint64_t more)
{
    if (more != 0) {
        (void)__atomic_fetch_add(counter, more, __ATOMIC_RELAXED);
    }
}

// Whoever passes the highest number puts it back there, and so does everybody who counts on from zero before that: the last
// change of such a counter is always one to the highest. A loop of comparisons would do without the instant between, but
// costs threads that count together more than the one addition does.
void perhaps__count_more(uint64_t *counter, uint64_t more)
{
    uint64_t sum;
    if (more == 0 || __atomic_load_n(counter, __ATOMIC_RELAXED) == UINT64_MAX) {
        return;
    }
    if (PERHAPS_UNLIKELY(__builtin_add_overflow(__atomic_fetch_add(counter, more, __ATOMIC_RELAXED), more, &sum))) {
        __atomic_store_n(counter, UINT64_MAX, __ATOMIC_RELAXED);
    }
}

static void raise_relaxed(uint64_t *counter, uint64_t value)
{
    uint64_t now = __atomic_load_n(counter, __ATOMIC_RELAXED);
    while (now < value &&
           !__atomic_compare_exchange_n(counter, &now, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

static uint64_t changed_copies(uint64_t copies, uint64_t change)
{
    if (change <= UINT64_MAX / 2) {
        return perhaps__saturating_sum(copies, change);
    }
    bool below = copies < 0 - change;
    return copies == UINT64_MAX ? copies : below ? 0 : copies + change;
}

// In counters, copies stay at zero where keys that saturated them are removed more often than they were added; and at the
// highest number, from where on it is not known how many there are.
static void change_copies(uint64_t *copies, uint64_t change)
{
    uint64_t now = __atomic_load_n(copies, __ATOMIC_RELAXED);
    uint64_t then;
    do {
        then = changed_copies(now, change);
    } while (change != 0 && !__atomic_compare_exchange_n(copies, &now, then, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

// A tally of a single call starts at 0: what it counts down (slots and copies removed) wraps, and so does the sum. So it may
// be below zero for a while: a thread can remove what another has added and not yet counted. In slots a copy is a slot,
// and their numbers stay the same only if both are sums.
void perhaps__tally_add(struct perhaps__layer *layer, const struct perhaps__tally *more)
{
    struct perhaps__tally *tally = &layer->tally;
    void (*change)(uint64_t *, uint64_t) = layer->shape.slots != 0 ? add_relaxed : change_copies;
    perhaps__count_more(&tally->keys, more->keys);
    add_relaxed(&tally->used, more->used);
    change(&tally->copies, more->copies);
    perhaps__count_more(&tally->removals, more->removals);
    add_relaxed(&tally->saturated, more->saturated);
    for (size_t i = 0; i < PERHAPS_PATHS; i++) {
        perhaps__count_more(&tally->paths[i], more->paths[i]);
    }
    raise_relaxed(&tally->deepest, more->deepest);
    perhaps__count_more(&tally->refused_full, more->refused_full);
    perhaps__count_more(&tally->refused_copies, more->refused_copies);
    perhaps__count_more(&tally->refused_early, more->refused_early);
}

void perhaps__tally_take_over(struct perhaps__layer *heir, struct perhaps__layer *from)
{
    struct perhaps__tally *tally = &from->tally;
    perhaps__tally_add(heir, tally);
    perhaps__count_more(&heir->tally.unsettled, __atomic_exchange_n(&tally->unsettled, 0, __ATOMIC_RELAXED));
    memset(tally, 0, offsetof(struct perhaps__tally, unsettled)); // the last member
}

struct perhaps__tally perhaps__tally_load(const struct perhaps__tally *tally)
{
    return (struct perhaps__tally){
        .keys = __atomic_load_n(&tally->keys, __ATOMIC_RELAXED),
        .used = __atomic_load_n(&tally->used, __ATOMIC_RELAXED),
        .copies = __atomic_load_n(&tally->copies, __ATOMIC_RELAXED),
        .removals = __atomic_load_n(&tally->removals, __ATOMIC_RELAXED),
    };
}

/* ---------------------------------------------------------------- writing */

static size_t add_simply(perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out, int *refusal)
{
    const size_t few = 16;
    struct perhaps__tally tally = {0};
    perhaps__add_many_function *add = count < few ? filter->view.add_few : filter->view.add_many;
    size_t added = add(&filter->view, hashes, count, out, &tally, refusal);
    perhaps__tally_add(filter->layers[0], &tally);
    return added;
}

// Asking all layers and adding to one are several steps: who claims a key holds its lock over all of them.
static size_t add_claimed(perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out, int *refusal)
{
    size_t added = 0;
    while (added < count) {
        uint32_t *claim =
            perhaps__stripe(&filter->shared->claims, perhaps__place(hashes[added], filter->setting.seed_key));
        perhaps__stripe_lock(claim);
        size_t done = perhaps__layers_add(filter, hashes + added, 1, out != NULL ? out + added : NULL, refusal);
        perhaps__stripe_unlock(claim);
        if (done == 0) {
            break;
        }
        added++;
    }
    return added;
}

// Adds or removes in blocks, between which a snapshot can be taken.
static size_t change_in_blocks(perhaps__filter_add_function *change, perhaps_filter *filter, const uint64_t *hashes,
                               size_t count, uint8_t *out, int *refusal)
{
    size_t changed = 0;
    while (changed < count) {
        size_t block = (size_t)perhaps__min(BLOCK, count - changed);
        uint8_t *block_out = out != NULL ? out + changed : NULL;
        uint32_t slot = perhaps__gate_enter(&filter->shared->gate);
        size_t done = change(filter, hashes + changed, block, block_out, refusal);
        perhaps__gate_leave(&filter->shared->gate, slot);
        changed += done;
        if (done < block) {
            break;
        }
    }
    return changed;
}

size_t perhaps__shared_add(perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out, int *refusal)
{
    bool claims = filter->shared->claims.words != NULL;
    perhaps__filter_add_function *add = !perhaps__filter_is_bounded(filter) ? add_simply
                                        : claims                            ? add_claimed
                                                                            : perhaps__layers_add;
    return change_in_blocks(add, filter, hashes, count, out, refusal);
}

size_t perhaps__shared_remove(perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out, int *refusal)
{
    return change_in_blocks(perhaps__layers_remove, filter, hashes, count, out, refusal);
}
