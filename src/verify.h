// SPDX-License-Identifier: MIT
// Layer 4: all chunks at once, by several threads where that pays.
#ifndef PERHAPS_VERIFY_H
#define PERHAPS_VERIFY_H

#include "chunks.h"

// Verifies every chunk, or as many as it takes to find the first that is damaged: its number, or their count when all are
// good. Threads that cannot be had are done without.
uint64_t perhaps__verify_all(const perhaps_filter *filter);

#endif
