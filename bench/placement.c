// SPDX-License-Identifier: MIT
// Settles how positions are derived from a hash: the measured FPR of several ways beside the exact expectation
// for independent positions. Run by hand; the figures are in docs/placement.md.
//
//     placement [queries per cell, default 2e9]
//
// For each n and p the filter is sized as the library does; many filters (seeds) are filled with n keys and
// asked for absent ones. "ratio" is measured / expected and "sigma" its distance from 1 in standard deviations.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "place.h"
#include "sizing.h"

typedef struct perhaps__walk walk_start_function(uint64_t placed);
typedef uint64_t walk_next_function(struct perhaps__walk *walk, uint64_t bits);

// Double hashing as in the textbooks: the positions of a key are an arithmetic progression.
static inline struct perhaps__walk plain_start(uint64_t placed)
{
    return (struct perhaps__walk){placed, perhaps__mix(placed + 1) | 1};
}

static inline uint64_t plain_next(struct perhaps__walk *walk, uint64_t bits)
{
    uint64_t at = walk->at;
    walk->at += walk->step;
    return perhaps__multiply_high(at, bits);
}

// "Enhanced" double hashing: the step grows, which changes only low bits that multiply-high does not read.
static inline uint64_t enhanced_next(struct perhaps__walk *walk, uint64_t bits)
{
    uint64_t at = walk->at;
    walk->at += walk->step;
    walk->step += 1;
    return perhaps__multiply_high(at, bits);
}

// A multiplicative generator: one multiplication a position, its state all 64 bits.
static inline struct perhaps__walk generator_start(uint64_t placed)
{
    return (struct perhaps__walk){placed | 1, 0};
}

static inline uint64_t generator_next(struct perhaps__walk *walk, uint64_t bits)
{
    walk->at *= UINT64_C(0xf1357aea2e62a9c5);
    return perhaps__multiply_high(walk->at, bits);
}

// A full mix for every position: the yardstick.
static inline uint64_t full_next(struct perhaps__walk *walk, uint64_t bits)
{
    uint64_t at = walk->at;
    walk->at += walk->step;
    return perhaps__multiply_high(perhaps__mix(at), bits);
}

struct cell {
    uint64_t n;
    uint64_t bits;
    uint32_t k;
    uint64_t filters;
    uint64_t queries; // per filter
};

// One instance for each way, so that the compiler sees through the calls.
#define DEFINE_MEASURE(name, start, next)                                                                              \
    static uint64_t name(const struct cell *cell, uint8_t *filter)                                                     \
    {                                                                                                                  \
        uint64_t passed = 0;                                                                                           \
        for (uint64_t seed = 0; seed < cell->filters; seed++) {                                                        \
            uint64_t seed_key = perhaps__seed_key(seed);                                                               \
            memset(filter, 0, cell->bits / 8);                                                                         \
            for (uint64_t i = 0; i < cell->n; i++) {                                                                   \
                struct perhaps__walk walk = start(perhaps__place(i, seed_key));                                        \
                for (uint32_t j = 0; j < cell->k; j++) {                                                               \
                    uint64_t bit = next(&walk, cell->bits);                                                            \
                    filter[bit / 8] |= (uint8_t)(1U << (bit % 8));                                                     \
                }                                                                                                      \
            }                                                                                                          \
            for (uint64_t i = 0; i < cell->queries; i++) {                                                             \
                struct perhaps__walk walk = start(perhaps__place((UINT64_C(1) << 40) + i, seed_key));                  \
                uint32_t j = 0;                                                                                        \
                while (j < cell->k) {                                                                                  \
                    uint64_t bit = next(&walk, cell->bits);                                                            \
                    if (!(filter[bit / 8] >> (bit % 8) & 1)) {                                                         \
                        break;                                                                                         \
                    }                                                                                                  \
                    j++;                                                                                               \
                }                                                                                                      \
                passed += j == cell->k;                                                                                \
            }                                                                                                          \
        }                                                                                                              \
        return passed;                                                                                                 \
    }

DEFINE_MEASURE(measure_plain, plain_start, plain_next)
DEFINE_MEASURE(measure_enhanced, plain_start, enhanced_next)
DEFINE_MEASURE(measure_generator, generator_start, generator_next)
DEFINE_MEASURE(measure_perhaps, perhaps__walk_start, perhaps__walk_next)
DEFINE_MEASURE(measure_full, plain_start, full_next)

static const struct {
    const char *name;
    uint64_t (*measure)(const struct cell *cell, uint8_t *filter);
} ways[] = {
    {"plain double hashing", measure_plain},         {"enhanced double hashing", measure_enhanced},
    {"multiplicative generator", measure_generator}, {"perhaps", measure_perhaps},
    {"full mix per position", measure_full},
};

static void measure_cell(uint64_t n, double p, double queries)
{
    const struct perhaps__shape any = {0};
    struct perhaps__size size;
    if (!perhaps__bloom_size(&any, n, p, &size)) {
        abort();
    }
    struct cell cell = {.n = n, .bits = size.bits, .k = size.shape.positions};
    // Filling costs as much as asking; filters scatter, so many small ones and few large ones.
    cell.queries = n * 20 < 20000 ? 20000 : n * 20;
    cell.filters = (uint64_t)(queries / (double)cell.queries) + 1;
    uint8_t *filter = malloc(size.bits / 8);
    if (filter == NULL) {
        abort();
    }
    double asked = (double)cell.filters * (double)cell.queries;
    double expected = perhaps__bloom_expected_fpr(n, cell.bits, cell.k);
    for (size_t i = 0; i < PERHAPS_COUNT(ways); i++) {
        double passed = (double)ways[i].measure(&cell, filter);
        printf("| %llu | %g | %llu | %u | %s | %.3g | %.3g | %.3f | %+.1f |\n", (unsigned long long)n, p,
               (unsigned long long)cell.bits, cell.k, ways[i].name, expected, passed / asked, passed / asked / expected,
               (passed - asked * expected) / sqrt(asked * expected));
        (void)fflush(stdout);
    }
    free(filter);
}

int main(int argc, char **argv)
{
    static const uint64_t sizes[] = {1, 10, 100, 1000, 1000000};
    static const double rates[] = {0.5, 0.1, 0.01, 1e-3, 1e-4, 1e-6};
    double queries = argc > 1 ? strtod(argv[1], NULL) : 2e9;
    puts("| n | p | m | k | way | expected | measured | ratio | sigma |");
    puts("|--:|--:|--:|--:|---|--:|--:|--:|--:|");
    for (size_t i = 0; i < PERHAPS_COUNT(sizes); i++) {
        for (size_t j = 0; j < PERHAPS_COUNT(rates); j++) {
            measure_cell(sizes[i], rates[j], queries);
        }
    }
    return 0;
}
