// SPDX-License-Identifier: MIT
#include "distinct.h"

#include <math.h>

enum { DEEPEST = 40 };

static void halve(struct distinct *distinct)
{
    if (distinct->depth < DEEPEST) {
        distinct->depth++;
        hashset_keep_low(&distinct->sample, distinct->depth);
    }
}

static bool is_sampled(const struct distinct *distinct, uint64_t hash)
{
    return distinct->depth == 0 || hash >> (64 - distinct->depth) == 0;
}

void distinct_add(struct distinct *distinct, uint64_t hash)
{
    // A machine that cannot hold the full sample gets a smaller one.
    while (is_sampled(distinct, hash) && hashset_add(&distinct->sample, hash) < 0 && distinct->depth < DEEPEST) {
        halve(distinct);
    }
    while (distinct->sample.count >= distinct->limit && distinct->depth < DEEPEST) {
        halve(distinct);
    }
}

// Of n hashes each is in the sample with probability 2^-depth: a binomial count, whose relative standard error is
// below 1/sqrt(count).
uint64_t distinct_count(const struct distinct *distinct)
{
    uint64_t count = distinct->sample.count;
    if (distinct->depth == 0) {
        return count;
    }
    double scaled = ldexp((double)count, (int)distinct->depth);
    return (uint64_t)ceil(scaled * (1.0 + 3.0 / sqrt((double)count + 1.0)));
}

void distinct_free(struct distinct *distinct)
{
    hashset_free(&distinct->sample);
}
