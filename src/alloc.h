// SPDX-License-Identifier: MIT
// Layer 0: memory, through the allocator that a filter was given.
#ifndef PERHAPS_ALLOC_H
#define PERHAPS_ALLOC_H

#include "base.h"

// The C library's memory; what NULL stands for in options.
extern const perhaps_allocator perhaps__default_allocator;

// A copy of the caller's allocator, or the default for NULL. False when a callback is missing.
bool perhaps__take_allocator(perhaps_allocator *allocator, const perhaps_allocator *given);

// Zeroed memory aligned to PERHAPS_LINE, or NULL; `bytes` may exceed size_t (then NULL). At least one byte
// is asked for. Release with the same number of bytes; NULL is allowed.
void *perhaps__allocate(const perhaps_allocator *allocator, uint64_t bytes);
void perhaps__release(const perhaps_allocator *allocator, void *memory, uint64_t bytes);

// The same, but not zeroed: for buffers that are written before they are read.
void *perhaps__allocate_unset(const perhaps_allocator *allocator, uint64_t bytes);

// Memory that is all zero and stays so, and stays the owner's, while the system has its whole pages back until they are
// written to again. What comes from an allocator of the caller's is left as it is: it may be of any sort.
void perhaps__give_back_pages(const perhaps_allocator *allocator, void *memory, uint64_t bytes);

#endif
