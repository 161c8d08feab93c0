// SPDX-License-Identifier: MIT
// Layer 3: what a filter needs to be shared by threads, and the ways in. Readers need none of it.
//
// Writers pass the gate. What must see one instant of the whole filter (encoding, merging, clearing, statistics) closes
// it, so that writers wait and readers do not. What kernels count goes to a tally of the call's own, and is added to that
// of the layer atomically at its end.
#ifndef PERHAPS_SHARED_H
#define PERHAPS_SHARED_H

#include "filter.h"
#include "gate.h"

struct perhaps__shared {
    struct perhaps__gate gate;
    pthread_mutex_t growing;        // over room in the newest layer, and its replacement by a newer one
    struct perhaps__stripes claims; // locks of keys whose adding takes several steps
};

// Locks for a payload of some size; false when memory is short. Released also when there are none.
bool perhaps__stripes_make(const perhaps_allocator *allocator, uint64_t payload_size, struct perhaps__stripes *stripes);
void perhaps__stripes_release(const perhaps_allocator *allocator, struct perhaps__stripes *stripes);

// For a filter without layers, as flags of enum perhaps_flag ask. False when memory or another resource is short.
bool perhaps__shared_begin(perhaps_filter *filter, uint32_t flags);
void perhaps__shared_end(perhaps_filter *filter);

// Keeps writers out of a filter that is shared, or of one that is not: nothing. A filter that is only read is the
// caller's as const; what is closed is behind a pointer.
void perhaps__close(const perhaps_filter *filter);
void perhaps__open(const perhaps_filter *filter);

// Opens the gate and lets those in who wait there. For work that is done in steps.
void perhaps__open_between_steps(const perhaps_filter *filter);

// The same for two filters, in an order that all threads agree on.
void perhaps__close_both(const perhaps_filter *a, const perhaps_filter *b);
void perhaps__open_both(const perhaps_filter *a, const perhaps_filter *b);

// perhaps__filter_add() and perhaps__filter_remove() of shared filters.
size_t perhaps__shared_add(perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out, int *refusal);
size_t perhaps__shared_remove(perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out, int *refusal);

// A tally that other threads may be adding to.
struct perhaps__tally perhaps__tally_load(const struct perhaps__tally *tally);
void perhaps__tally_add(struct perhaps__layer *layer, const struct perhaps__tally *more);

// A counter that stays at 2^64 - 1. Beside others that count there it may be read as less for an instant, never once they
// are kept out.
void perhaps__count_more(uint64_t *counter, uint64_t more);

// Adds all that another layer counted, the readers' counts too, and makes that zero. Writers are kept out of both.
void perhaps__tally_take_over(struct perhaps__layer *heir, struct perhaps__layer *from);

#endif
