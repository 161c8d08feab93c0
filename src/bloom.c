// SPDX-License-Identifier: MIT
#include "bloom.h"

#include "place.h"
#include "words.h"

int perhaps__bloom_ask(const void *filter, uint64_t hash)
{
    const struct perhaps__view *view = filter;
    const uint64_t *words = view->memory;
    struct perhaps__walk walk = perhaps__walk_start(perhaps__place(hash, view->seed_key));
    for (uint64_t i = 0; i < view->positions; i++) {
        if (!perhaps__bit_get(words, perhaps__walk_next(&walk, view->range))) {
            return 0;
        }
    }
    return 1;
}
