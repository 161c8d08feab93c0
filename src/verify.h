// SPDX-License-Identifier: MIT
// Layer 4: all chunks at once, by several threads where that pays.
#ifndef PERHAPS_VERIFY_H
#define PERHAPS_VERIFY_H

#include "chunks.h"

// Verifies every chunk, or as many as it takes to find the first that is damaged: its number, or their count when all are
// good. What is in a chunk is counted at the same time, while it is in the processor's cache: tallies[i] becomes that of layer
// i. Threads that cannot be had are done without.
uint64_t perhaps__verify_all(const perhaps_filter *filter, struct perhaps__tally tallies[PERHAPS_LAYERS_MAX]);

#endif
