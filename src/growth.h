// SPDX-License-Identifier: MIT
// Layer 3: a filter gets another layer.
#ifndef PERHAPS_GROWTH_H
#define PERHAPS_GROWTH_H

#include "filter.h"

// 0, or PERHAPS_E_LIMIT or PERHAPS_E_MEMORY; then nothing changed.
int perhaps__grow(perhaps_filter *filter);

#endif
