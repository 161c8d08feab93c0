// SPDX-License-Identifier: MIT
// Sizing of counting filters: whether a counter is above zero is what a bit of a Bloom filter is, so there are as many
// counters as that has bits, and k is the same.
#include "sizing.h"

// The Bloom filter's size becomes that of as many counters.
static bool take_counters(const struct perhaps__shape *asked, struct perhaps__size *size)
{
    size->range = size->bits;
    size->shape.cell_bits = asked->cell_bits;
    size->shape.policy = asked->policy;
    return !__builtin_mul_overflow(size->range, asked->cell_bits, &size->bits) && size->bits <= PERHAPS_MAX_BITS;
}

bool perhaps__counting_size(const struct perhaps__shape *asked, uint64_t capacity, double fpr,
                            struct perhaps__size *size)
{
    return perhaps__bloom_size(asked, capacity, fpr, size) && take_counters(asked, size);
}

bool perhaps__counting_fpr_for(const struct perhaps__shape *asked, uint64_t capacity, uint64_t bits, double smallest,
                               double largest, struct perhaps__size *size)
{
    return perhaps__bloom_fpr_for(asked, capacity, bits / asked->cell_bits, smallest, largest, size) &&
           take_counters(asked, size);
}
