// SPDX-License-Identifier: MIT
#include "latency.h"

#include <time.h>

uint64_t perhaps__guard_now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

// 0 to 15 have a bucket each; from there on the three bits below the highest choose one of eight.
uint32_t perhaps__guard_bucket(uint64_t nanoseconds)
{
    if (nanoseconds < 16) {
        return (uint32_t)nanoseconds;
    }
    uint32_t octave = 63 - (uint32_t)__builtin_clzll(nanoseconds);
    uint32_t bucket = 8 * (octave - 2) + (uint32_t)(nanoseconds >> (octave - 3) & 7);
    return bucket < PERHAPS__GUARD_BUCKETS ? bucket : PERHAPS__GUARD_BUCKETS - 1;
}

uint64_t perhaps__guard_bucket_end(uint32_t bucket)
{
    if (bucket < 16) {
        return bucket;
    }
    uint32_t octave = bucket / 8 + 2;
    return ((UINT64_C(8) + bucket % 8 + 1) << (octave - 3)) - 1;
}

void perhaps__guard_took(struct perhaps__guard_histogram *histogram, uint64_t nanoseconds)
{
    (void)__atomic_fetch_add(&histogram->buckets[perhaps__guard_bucket(nanoseconds)], 1, __ATOMIC_RELAXED);
    (void)__atomic_fetch_add(&histogram->nanoseconds, nanoseconds, __ATOMIC_RELAXED);
}

// The upper end of the bucket with the one of that rank, counted from 1, in seconds.
static double quantile(const uint64_t counts[PERHAPS__GUARD_BUCKETS], uint64_t rank)
{
    uint64_t below = 0;
    for (uint32_t i = 0; i < PERHAPS__GUARD_BUCKETS; i++) {
        below += counts[i];
        if (below >= rank) {
            return (double)perhaps__guard_bucket_end(i) * 1e-9;
        }
    }
    return 0.0;
}

perhaps_guard_latency perhaps__guard_latency(const struct perhaps__guard_histogram *histogram)
{
    uint64_t counts[PERHAPS__GUARD_BUCKETS];
    perhaps_guard_latency latency = {.count = 0};
    for (uint32_t i = 0; i < PERHAPS__GUARD_BUCKETS; i++) {
        counts[i] = __atomic_load_n(&histogram->buckets[i], __ATOMIC_RELAXED);
        latency.count += counts[i];
    }
    if (latency.count > 0) {
        latency.sum = (double)__atomic_load_n(&histogram->nanoseconds, __ATOMIC_RELAXED) * 1e-9;
        latency.p50 = quantile(counts, latency.count - latency.count / 2);
        latency.p99 = quantile(counts, latency.count - latency.count / 100);
    }
    return latency;
}
