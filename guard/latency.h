// SPDX-License-Identifier: MIT
// A histogram of latencies that any thread adds to: eight buckets for each power of two nanoseconds.
#ifndef PERHAPS_GUARD_LATENCY_H
#define PERHAPS_GUARD_LATENCY_H

#include <stdint.h>

#include <perhaps/guard.h>

// Up to 2^40 ns, 18 minutes; what takes longer falls into the last one.
#define PERHAPS__GUARD_BUCKETS (8 * 38)

struct perhaps__guard_histogram {
    uint64_t buckets[PERHAPS__GUARD_BUCKETS];
    uint64_t nanoseconds; // sum
};

// Of a clock that only goes forward.
uint64_t perhaps__guard_now(void);

// The bucket of a latency, and the upper end of a bucket.
uint32_t perhaps__guard_bucket(uint64_t nanoseconds);
uint64_t perhaps__guard_bucket_end(uint32_t bucket);

void perhaps__guard_took(struct perhaps__guard_histogram *histogram, uint64_t nanoseconds);
perhaps_guard_latency perhaps__guard_latency(const struct perhaps__guard_histogram *histogram);

#endif
