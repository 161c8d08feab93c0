// SPDX-License-Identifier: MIT
// Filters that are a view of bytes in memory, as perhaps_open() makes them of a mapped file: tests damage the bytes and
// mend them again without a file for each.
#ifndef PERHAPS_TESTS_SUPPORT_VIEW_H
#define PERHAPS_TESTS_SUPPORT_VIEW_H

#include "support.h"

// The same bytes at an address that a mapping could have. Released with free().
struct support_bytes support_aligned(struct support_bytes bytes);

// perhaps_open() of a file that has these bytes, which must outlive the filter. Its subject is "view".
int support_view(struct support_bytes bytes, uint32_t flags, const uint8_t *key, perhaps_filter **filter,
                 perhaps_error *error);

// What must succeed.
perhaps_filter *support_view_of(struct support_bytes bytes, uint32_t flags, const uint8_t *key);

// Verifies all chunks; how many are damaged.
uint64_t support_scrub(const perhaps_filter *filter);

#endif
