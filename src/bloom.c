// SPDX-License-Identifier: MIT
#include "bloom.h"

#include "place_many.h"

int perhaps__bloom_ask(const void *filter, uint64_t hash)
{
    return perhaps__ask_cells(filter, hash, 1);
}
