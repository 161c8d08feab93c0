// SPDX-License-Identifier: MIT
// How far cuckoo tables can be filled: the measurement behind sizing_cuckoo.c. Results are in docs/cuckoo.md.
//
//     cuckoo_load refusal SLOTS BITS BASE_BITS BUCKETS SEARCH FILLS [FIRST_SEED]
//         fills tables of one shape until a key is refused, and prints how many keys they then held: the fewest, the
//         quantiles 10^-6 to 1/2, the most
//     cuckoo_load promise SLOTS KEYS FPR FILLS [FIRST_SEED]
//         fills filters that were made for KEYS keys with so many, and prints how often a key was refused
//
// Keys are SplitMix64 numbers, other ones and another seed for every table.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuckoo.h"

#define BATCH 4096

static uint64_t number(const char *text)
{
    return (uint64_t)strtod(text, NULL); // "1e6" is a number too
}

static _Noreturn void die(const char *text)
{
    (void)fprintf(stderr, "cuckoo_load: %s\n", text);
    exit(2);
}

static void *allocate(size_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, PERHAPS_LINE, bytes) != 0) {
        die("no memory");
    }
    return memory;
}

// ---------------------------------------------------------------- one shape, to refusal

struct table {
    struct perhaps__view view;
    const struct perhaps__cuckoo_kernel *kernel;
    uint64_t bytes;
};

static struct table make_table(uint32_t slots, uint32_t bits, uint32_t base_bits, uint64_t buckets, uint32_t search)
{
    uint64_t payload_bits = 0;
    if (!perhaps__cuckoo_bits(buckets, slots, bits, &payload_bits)) {
        die("no such table");
    }
    struct table table = {.kernel = perhaps__cuckoo_kernel(slots, bits, base_bits), .bytes = payload_bits / 8};
    table.view = (struct perhaps__view){
        .memory = allocate(table.bytes),
        .range = buckets,
        .shape = {.layout = base_bits,
                  .cell_bits = bits,
                  .slots = slots,
                  .search = search,
                  .policy = PERHAPS_POLICY_MULTISET},
    };
    perhaps__cuckoo_prepare(&table.view);
    return table;
}

// Keys that an empty table takes before it refuses one.
static uint64_t fill(struct table *table, uint64_t seed, struct perhaps__tally *tally)
{
    static uint64_t hashes[BATCH];
    int refusal = 0;
    size_t done = BATCH;
    *tally = (struct perhaps__tally){0};
    memset(table->view.memory, 0, table->bytes);
    table->view.seed_key = perhaps__seed_key(seed);
    size_t batch = table->view.range * table->view.shape.slots < BATCH ? 64 : BATCH;
    for (uint64_t next = seed << 32; done == batch || next == seed << 32; next += batch) {
        for (size_t i = 0; i < batch; i++) {
            hashes[i] = perhaps__mix((next + i) * UINT64_C(0x9e3779b97f4a7c15));
        }
        done = table->kernel->add_near(&table->view, hashes, batch, NULL, tally, &refusal);
    }
    return tally->used;
}

static int compare(const void *a, const void *b)
{
    uint64_t first = *(const uint64_t *)a;
    uint64_t second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

static void print_quantile(const char *name, const uint64_t *held, uint64_t fills, double share, double slots)
{
    if (share * (double)fills >= 1.0) {
        uint64_t keys = held[(uint64_t)(share * (double)fills)];
        (void)printf("  %s %" PRIu64 " (%.4f)", name, keys, (double)keys / slots);
    }
}

static void refusal(char **argv, int argc)
{
    uint32_t slots = (uint32_t)number(argv[2]);
    struct table table = make_table(slots, (uint32_t)number(argv[3]), (uint32_t)number(argv[4]), number(argv[5]),
                                    (uint32_t)number(argv[6]));
    uint64_t fills = number(argv[7]);
    uint64_t first = argc > 8 ? number(argv[8]) : 1;
    double all = (double)table.view.range * slots;
    uint64_t *held = allocate(fills * sizeof *held);
    uint64_t copies = 0;
    uint64_t deepest = 0;
    for (uint64_t i = 0; i < fills; i++) {
        struct perhaps__tally tally;
        held[i] = fill(&table, first + i, &tally);
        copies += tally.refused_copies;
        deepest = tally.deepest > deepest ? tally.deepest : deepest;
    }
    qsort(held, fills, sizeof *held, compare);
    (void)printf("slots %u bits %s base %s slots in all %.0f search %s fills %" PRIu64 ":  least %" PRIu64 " (%.4f)",
                 slots, argv[3], argv[4], all, argv[6], fills, held[0], (double)held[0] / all);
    static const struct {
        const char *name;
        double share;
    } quantiles[] = {{"1e-6", 1e-6}, {"1e-5", 1e-5}, {"1e-4", 1e-4}, {"1e-3", 1e-3}, {"1e-2", 1e-2}, {"1/2", 0.5}};
    for (size_t i = 0; i < PERHAPS_COUNT(quantiles); i++) {
        print_quantile(quantiles[i].name, held, fills, quantiles[i].share, all);
    }
    (void)printf("  most %" PRIu64 ", copies %" PRIu64 ", deepest %" PRIu64 "\n", held[fills - 1], copies, deepest);
    free(held);
    free(table.view.memory);
}

// ---------------------------------------------------------------- filters as they are made

static void promise(char **argv, int argc)
{
    perhaps_options options = {
        .size = sizeof options,
        .kind = PERHAPS_KIND_CUCKOO,
        .hash_source = PERHAPS_HASH_CALLER,
        .slots = (uint32_t)number(argv[2]),
        .capacity = number(argv[3]),
        .fpr = strtod(argv[4], NULL),
    };
    uint64_t fills = number(argv[5]);
    uint64_t first = argc > 6 ? number(argv[6]) : 1;
    perhaps_sizing sizing = {.size = sizeof sizing};
    if (perhaps_size_for(&options, &sizing, NULL) < 0) {
        die("there is no such filter");
    }
    struct table table = make_table(sizing.slots, sizing.fingerprint_bits, sizing.fingerprint_bits, sizing.buckets,
                                    PERHAPS_SEARCH_DEFAULT);
    uint64_t *hashes = allocate(options.capacity * sizeof *hashes);
    uint64_t refused = 0;
    uint64_t copies = 0;
    for (uint64_t seed = first; seed < first + fills; seed++) {
        struct perhaps__tally tally = {0};
        int why = 0;
        memset(table.view.memory, 0, table.bytes);
        table.view.seed_key = perhaps__seed_key(seed);
        for (uint64_t i = 0; i < options.capacity; i++) {
            hashes[i] = perhaps__mix(((seed << 32) + i) * UINT64_C(0x9e3779b97f4a7c15));
        }
        refused += table.kernel->add_near(&table.view, hashes, options.capacity, NULL, &tally, &why) < options.capacity;
        copies += tally.refused_copies;
    }
    (void)printf("slots %u keys %s p %s: %u bits, %" PRIu64 " buckets, load %.4f, %.2f bits a key; fills %" PRIu64
                 ", refused %" PRIu64 ", of those copies %" PRIu64 "\n",
                 sizing.slots, argv[3], argv[4], sizing.fingerprint_bits, sizing.buckets,
                 (double)sizing.capacity / (double)(sizing.buckets * sizing.slots), sizing.bits_per_key, fills, refused,
                 copies);
    free(hashes);
    free(table.view.memory);
}

int main(int argc, char **argv)
{
    if (argc >= 8 && strcmp(argv[1], "refusal") == 0) {
        refusal(argv, argc);
    } else if (argc >= 6 && strcmp(argv[1], "promise") == 0) {
        promise(argv, argc);
    } else {
        die("refusal SLOTS BITS BASE_BITS BUCKETS SEARCH FILLS [SEED] | promise SLOTS KEYS FPR FILLS [SEED]");
    }
    return 0;
}
