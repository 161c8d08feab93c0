// SPDX-License-Identifier: MIT
// Layer 3: the verbs of a filter that has several layers, or a limit to its capacity.
#ifndef PERHAPS_LAYERS_H
#define PERHAPS_LAYERS_H

#include "filter.h"

// The view of a filter with several layers: every layer is asked, the newest first; where threads may compact the
// filter, the largest first.
struct perhaps__view perhaps__layers_view(const perhaps_filter *filter);

// Adds to the newest layer what no layer has, as far as capacity allows, and grows if the filter does. As
// perhaps__filter_add().
size_t perhaps__layers_add(perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out, int *refusal);

// Removes from the one layer that matches. As perhaps__filter_remove().
size_t perhaps__layers_remove(perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out, int *refusal);

#ifdef PERHAPS_TEST_SUPPORT
// Called, unless NULL, by readers of filters that threads may compact, and by who removes, after every layer that they ask.
extern void (*perhaps__between_layers)(void);
#endif

#endif
