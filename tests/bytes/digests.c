// SPDX-License-Identifier: MIT
// The bytes tier: prints what must be the same on every machine, compiler, vector level and byte order: sizes, encoded
// filters and answers, as numbers and checksums. tests/bytes/run compares the outputs of several builds. It needs
// nothing but the library, so that it can be compiled for any machine.
#include <stdio.h>
#include <stdlib.h>

#include "hash.h"
#include "place.h"

static void fail(const char *what, const perhaps_error *error)
{
    (void)fprintf(stderr, "digests: %s: %s\n", what, error->text);
    exit(1); // NOLINT(concurrency-mt-unsafe): there is one thread
}

static perhaps_filter *create(uint32_t kind, uint64_t capacity, double fpr, uint64_t seed)
{
    perhaps_error error = {.size = sizeof error};
    perhaps_filter *filter = NULL;
    perhaps_options options = {.size = sizeof options, .kind = kind, .capacity = capacity, .fpr = fpr, .seed = seed};
    if (perhaps_create(&options, &filter, &error) < 0) {
        fail("create", &error);
    }
    return filter;
}

// Keys of 0 to 299 bytes, so that every length class of the hash is met.
static size_t make_key(uint64_t i, uint8_t key[300])
{
    size_t length = (size_t)(perhaps__mix(i) % 300);
    for (size_t j = 0; j < length; j++) {
        key[j] = (uint8_t)(perhaps__mix(i ^ (j / 8)) >> (j % 8 * 8));
    }
    return length;
}

static void fill(perhaps_filter *filter, uint64_t first, uint64_t count)
{
    enum { BATCH = 64 };
    static uint8_t bytes[BATCH][300];
    const void *keys[BATCH];
    size_t lengths[BATCH];
    for (uint64_t i = 0; i < count; i += BATCH) {
        size_t batch = (size_t)perhaps__min(BATCH, count - i);
        for (size_t j = 0; j < batch; j++) {
            keys[j] = bytes[j];
            lengths[j] = make_key(first + i + j, bytes[j]);
        }
        // Cuckoo filters refuse the empty key when it has come too often.
        size_t done = 0;
        for (size_t at = 0; at < batch; at += done + 1) {
            (void)perhaps_add_many_pointers(filter, keys + at, lengths + at, batch - at, NULL, &done);
        }
    }
}

// A checksum of the answers for many absent hashes: it says which of them are false positives.
static uint64_t answers(const perhaps_filter *filter)
{
    enum { QUERIES = 200000 };
    static uint64_t hashes[QUERIES];
    static uint8_t out[QUERIES];
    for (size_t i = 0; i < QUERIES; i++) {
        hashes[i] = i;
    }
    if (perhaps_might_contain_many_hash(filter, hashes, QUERIES, out, NULL) < 0) {
        abort();
    }
    return perhaps__checksum(out, sizeof out);
}

static uint64_t encoded_checksum(const perhaps_filter *filter)
{
    perhaps_error error = {.size = sizeof error};
    size_t size = 0;
    (void)perhaps_encode(filter, NULL, 0, &size, &error);
    size_t needed = (size_t)error.limit;
    uint8_t *bytes = malloc(needed);
    if (bytes == NULL || perhaps_encode(filter, bytes, needed, &size, &error) < 0) {
        fail("encode", &error);
    }
    perhaps_filter *decoded = NULL;
    if (perhaps_decode(bytes, size, NULL, &decoded, &error) < 0) {
        fail("decode", &error);
    }
    perhaps_free(decoded);
    uint64_t checksum = perhaps__checksum(bytes, size);
    free(bytes);
    return checksum;
}

static void print_filter(uint32_t kind, uint64_t capacity, double fpr)
{
    uint64_t seed = capacity * 31 + kind;
    perhaps_filter *filter = create(kind, capacity, fpr, seed);
    perhaps_filter *other = create(kind, capacity, fpr, seed);
    perhaps_error error = {.size = sizeof error};
    fill(filter, 0, capacity / 2);
    fill(other, capacity / 4, capacity / 2 + 1);
    int merged = perhaps_merge(filter, other, &error); // copies of the empty key can be too many for a cuckoo filter
    if (merged < 0 && merged != PERHAPS_E_COPIES) {
        fail("merge", &error);
    }
    perhaps_statistics statistics = {.size = sizeof statistics};
    (void)perhaps_stats(filter, &statistics);
    printf("%s n=%llu p=%g merged=%d bits=%llu k=%u set=%llu file=%016llx answers=%016llx\n", perhaps_kind_name(kind),
           (unsigned long long)capacity, fpr, merged, (unsigned long long)statistics.bits, statistics.positions,
           (unsigned long long)statistics.set_bits, (unsigned long long)encoded_checksum(filter),
           (unsigned long long)answers(filter));
    perhaps_free(filter);
    perhaps_free(other);
}

static void print_sizes(uint32_t kind, double fpr)
{
    static const uint64_t capacities[] = {1, 7, 100, 999, 12345, 1000000, UINT64_C(10000000000)};
    for (size_t i = 0; i < PERHAPS_COUNT(capacities); i++) {
        perhaps_options options = {.size = sizeof options, .kind = kind, .capacity = capacities[i], .fpr = fpr};
        perhaps_sizing sizing = {.size = sizeof sizing};
        if (perhaps_size_for(&options, &sizing, NULL) == 0) {
            printf("size %s n=%llu p=%g bits=%llu k=%u\n", perhaps_kind_name(kind), (unsigned long long)capacities[i],
                   fpr, (unsigned long long)sizing.bits, sizing.positions);
        }
    }
}

// Counters of one width, some of them saturated, after adding, removing and counting.
static void print_counting(uint32_t width, uint32_t policy)
{
    enum { KEYS = 3000 };
    static uint64_t hashes[KEYS];
    static uint64_t counts[KEYS];
    perhaps_options options = {.size = sizeof options, .kind = PERHAPS_KIND_COUNTING, .capacity = KEYS, .fpr = 0.02};
    options.counter_bits = width;
    options.policy = policy;
    perhaps_filter *filter = NULL;
    perhaps_error error = {.size = sizeof error};
    if (perhaps_create(&options, &filter, &error) < 0) {
        fail("create", &error);
    }
    for (uint64_t i = 0; i < KEYS; i++) {
        hashes[i] = i;
    }
    for (size_t count = KEYS; count > 0; count -= KEYS / 300) {
        (void)perhaps_add_many_hash(filter, hashes, count, NULL, NULL);
    }
    int removed = perhaps_remove_many_hash(filter, hashes, KEYS / 2, NULL, NULL);
    (void)perhaps_count_at_most_many_hash(filter, hashes, KEYS, counts, NULL);
    uint64_t digest = 0;
    for (size_t i = 0; i < KEYS; i++) {
        digest = perhaps__mix(digest ^ counts[i]);
    }
    printf("counting bits=%u policy=%u removed=%d file=%016llx counts=%016llx\n", width, policy, removed,
           (unsigned long long)encoded_checksum(filter), (unsigned long long)digest);
    perhaps_free(filter);
}

// A filter of some shape, filled, and every third key removed again where that can be done.
static void print_shape(perhaps_options options)
{
    perhaps_filter *filter = NULL;
    perhaps_error error = {.size = sizeof error};
    options.size = sizeof options;
    options.fpr = 0.01;
    if (perhaps_create(&options, &filter, &error) < 0) {
        fail("create", &error);
    }
    int refused = 0;
    for (uint64_t i = 0; i < 3000; i++) {
        refused += perhaps_add_hash(filter, i) < 0;
    }
    int removed = 0;
    for (uint64_t i = 0; i < 3000; i += 3) {
        removed += perhaps_remove_hash(filter, i) == 1;
    }
    perhaps_statistics statistics = {.size = sizeof statistics};
    (void)perhaps_stats(filter, &statistics);
    printf(
        "shape %s slots=%u bits=%u policy=%u layers=%u flags=%u refused=%d removed=%d file=%016llx answers=%016llx\n",
        perhaps_kind_name(options.kind), options.slots, options.fingerprint_bits, options.policy, statistics.layers,
        options.flags, refused, removed, (unsigned long long)encoded_checksum(filter),
        (unsigned long long)answers(filter));
    perhaps_free(filter);
}

// Every shape of cuckoo, and layers of every kind that has them, for one thread and for several.
static void print_shapes(void)
{
    for (uint32_t flags = 0; flags <= PERHAPS_SHARED; flags += PERHAPS_SHARED) {
        for (uint32_t slots = 1; slots <= 8; slots *= 2) {
            for (uint32_t bits = 12; bits <= 32; bits++) {
                print_shape((perhaps_options){.kind = PERHAPS_KIND_CUCKOO,
                                              .capacity = 3000,
                                              .slots = slots,
                                              .fingerprint_bits = bits,
                                              .policy = 1 + bits % 2,
                                              .flags = flags});
            }
        }
        static const uint32_t growing[] = {PERHAPS_KIND_BLOOM, PERHAPS_KIND_BLOCKED, PERHAPS_KIND_CUCKOO};
        for (size_t i = 0; i < PERHAPS_COUNT(growing); i++) {
            print_shape((perhaps_options){
                .kind = growing[i], .capacity = 50, .at_capacity = PERHAPS_AT_CAPACITY_GROW, .flags = flags});
        }
    }
}

static void print_kind(uint32_t kind)
{
    static const double rates[] = {0.25, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-6};
    double smallest = 0.0;
    double largest = 0.0;
    (void)perhaps_kind_range(kind, &smallest, &largest);
    for (size_t i = 0; i < PERHAPS_COUNT(rates); i++) {
        if (rates[i] <= largest) {
            print_filter(kind, 1, rates[i]);
            print_filter(kind, 300, rates[i]);
            print_filter(kind, 20000, rates[i]);
            print_sizes(kind, rates[i]);
        }
    }
}

int main(void)
{
    for (uint32_t kind = 1; perhaps_kind_name(kind) != NULL; kind++) {
        print_kind(kind);
    }
    print_shapes();
    for (uint32_t width = 4; width <= 16; width *= 2) {
        print_counting(width, PERHAPS_POLICY_MULTISET);
        print_counting(width, PERHAPS_POLICY_CONSERVATIVE);
    }
    return 0;
}
