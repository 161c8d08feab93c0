// SPDX-License-Identifier: MIT
// The cuckoo kind beside a yardstick: a table as the paper's own implementation has it (Fan, Andersen, Kaminsky and
// Mitzenmacher 2014), with tags of 12 bits in buckets of 4 slots, a power of two of them, insertion by a random walk, one
// key at a time, and nothing fetched ahead. Both are filled to the same load.
//
//     cuckoo_yardstick [LOG2_BUCKETS [LOAD [REPETITIONS]]]      default: 22 0.95 7
//
// 2^22 buckets are 15.9 million keys at a load of 95 %. Every repetition measures all rows, ours and theirs in turn; ratios
// are formed within it, and medians printed. The limit is two reads of a random line of our table, prefetched, for each key.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness.h"
#include "place.h"

#define QUERIES ((size_t)1 << 21)
#define KICKS 500
#define TAG_BITS 12
#define SLOTS 4
#define BUCKET_BYTES 6

// ---------------------------------------------------------------- the yardstick

struct yardstick {
    uint8_t *bytes;
    uint64_t mask;
    uint64_t random;
    bool has_victim; // the tag that the last walk left over, and with it the table is full
    uint32_t victim_tag;
    uint64_t victim_bucket;
};

static uint32_t tag_of(uint64_t placed)
{
    uint32_t tag = (uint32_t)placed & ((1U << TAG_BITS) - 1);
    return tag + (tag == 0);
}

static uint64_t other_bucket(const struct yardstick *table, uint64_t bucket, uint32_t tag)
{
    return (bucket ^ (tag * UINT64_C(0x5bd1e995))) & table->mask;
}

// Slots 0 and 1 in the first three bytes, 2 and 3 in the others.
static uint32_t read_tag(const struct yardstick *table, uint64_t bucket, unsigned slot)
{
    const uint8_t *at = table->bytes + bucket * BUCKET_BYTES + (slot >> 1) * 3 + (slot & 1);
    uint16_t pair;
    memcpy(&pair, at, sizeof pair);
    return (slot & 1) == 0 ? pair & 0xfffU : pair >> 4;
}

static void write_tag(struct yardstick *table, uint64_t bucket, unsigned slot, uint32_t tag)
{
    uint8_t *at = table->bytes + bucket * BUCKET_BYTES + (slot >> 1) * 3 + (slot & 1);
    uint16_t pair;
    memcpy(&pair, at, sizeof pair);
    pair = (uint16_t)((slot & 1) == 0 ? (pair & 0xf000U) | tag : (pair & 0xfU) | tag << 4);
    memcpy(at, &pair, sizeof pair);
}

static bool put_tag(struct yardstick *table, uint64_t bucket, uint32_t tag)
{
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        if (read_tag(table, bucket, slot) == 0) {
            write_tag(table, bucket, slot, tag);
            return true;
        }
    }
    return false;
}

static bool yardstick_add(struct yardstick *table, uint64_t hash)
{
    uint64_t placed = perhaps__place(hash, 0);
    uint32_t tag = tag_of(placed);
    uint64_t bucket = (placed >> 32) & table->mask;
    if (table->has_victim) {
        return false;
    }
    for (unsigned kick = 0; kick < KICKS; kick++) {
        if (put_tag(table, bucket, tag)) {
            return true;
        }
        if (kick > 0) {
            table->random = table->random * UINT64_C(6364136223846793005) + 1442695040888963407;
            unsigned slot = (unsigned)(table->random >> 62);
            uint32_t old = read_tag(table, bucket, slot);
            write_tag(table, bucket, slot, tag);
            tag = old;
        }
        bucket = other_bucket(table, bucket, tag);
    }
    table->has_victim = true;
    table->victim_tag = tag;
    table->victim_bucket = bucket;
    return true;
}

// Whether one of the four lanes of 12 bits is zero.
static bool has_zero_lane(uint64_t x)
{
    return ((x - UINT64_C(0x001001001001)) & ~x & UINT64_C(0x800800800800)) != 0;
}

static bool yardstick_ask(const struct yardstick *table, uint64_t hash)
{
    uint64_t placed = perhaps__place(hash, 0);
    uint32_t tag = tag_of(placed);
    uint64_t first = (placed >> 32) & table->mask;
    uint64_t second = other_bucket(table, first, tag);
    if (table->has_victim && tag == table->victim_tag &&
        (first == table->victim_bucket || second == table->victim_bucket)) {
        return true;
    }
    uint64_t a;
    uint64_t b;
    memcpy(&a, table->bytes + first * BUCKET_BYTES, sizeof a);
    memcpy(&b, table->bytes + second * BUCKET_BYTES, sizeof b);
    uint64_t pattern = tag * UINT64_C(0x001001001001);
    return has_zero_lane(a ^ pattern) || has_zero_lane(b ^ pattern);
}

static bool clear_tag(struct yardstick *table, uint64_t bucket, uint32_t tag)
{
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        if (read_tag(table, bucket, slot) == tag) {
            write_tag(table, bucket, slot, 0);
            return true;
        }
    }
    return false;
}

static bool yardstick_remove(struct yardstick *table, uint64_t hash)
{
    uint64_t placed = perhaps__place(hash, 0);
    uint32_t tag = tag_of(placed);
    uint64_t first = (placed >> 32) & table->mask;
    return clear_tag(table, first, tag) || clear_tag(table, other_bucket(table, first, tag), tag);
}

// ---------------------------------------------------------------- what is measured

enum row {
    LIMIT,
    SINGLE_PRESENT,
    SINGLE_ABSENT,
    BATCH_PRESENT,
    BATCH_ABSENT,
    SHARED_SINGLE_PRESENT,
    SHARED_SINGLE_ABSENT,
    SHARED_PRESENT,
    SHARED_ABSENT,
    INSERT,
    DELETE,
    ROWS
};

static const char *const row_names[ROWS] = {
    "two lines, prefetched",         "look-up, single, present",   "look-up, single, absent",
    "look-up, our batch, present",   "look-up, our batch, absent", "shared, single, present",
    "shared, single, absent",        "shared, batch, present",     "shared, batch, absent",
    "insert to the load, our batch", "delete, our batch",
};

struct bench {
    perhaps_filter *filter;
    perhaps_filter *shared; // the same for threads to share
    const perhaps_filter *asked;
    uint8_t *payload;
    uint64_t payload_bytes;
    struct yardstick table;
    uint64_t table_bytes;
    uint64_t keys;
    uint64_t *present; // QUERIES each
    uint64_t *absent;
    uint64_t *block;
    uint8_t *out;
    double ours[ROWS][HARNESS_MAX_REPEAT];
    double theirs[ROWS][HARNESS_MAX_REPEAT];
};

static uint64_t key_of(uint64_t i)
{
    return perhaps__mix(i * UINT64_C(0x9e3779b97f4a7c15));
}

static void *allocate_huge(void *context, size_t bytes, size_t alignment)
{
    struct bench *bench = context;
    if (bytes < (size_t)64 << 10) {
        void *small = NULL;
        return posix_memalign(&small, alignment, bytes) == 0 ? small : NULL;
    }
    bench->payload = harness_allocate(bytes, PAGES_HUGE);
    bench->payload_bytes = bytes;
    return bench->payload;
}

static void release_huge(void *context, void *memory, size_t bytes, size_t alignment)
{
    (void)context;
    (void)alignment;
    if (bytes < (size_t)64 << 10) {
        free(memory);
    } else {
        harness_release(memory, bytes);
    }
}

// ---------------------------------------------------------------- time

#define SLICE ((size_t)1 << 14)
#define SLICES (QUERIES / SLICE)

// Processor time of this thread, so that others that run on its processor do not count.
static double now(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

typedef void asking(const struct bench *bench, const uint64_t *hashes, size_t count, uint8_t *out);

// The lower quartile of the slices, a key: what others did to the caches in between is in the upper ones.
static double time_slices(const struct bench *bench, asking *ask, const uint64_t *hashes)
{
    double slices[SLICES];
    for (size_t i = 0; i < SLICES; i++) {
        double start = now();
        ask(bench, hashes + i * SLICE, SLICE, bench->out + i * SLICE);
        slices[i] = (now() - start) / (double)SLICE;
    }
    qsort(slices, SLICES, sizeof *slices, compare);
    return slices[SLICES / 4];
}

#define AHEAD 128

// Two random lines for every key, by the library's arithmetic.
static void read_lines(const struct bench *bench, const uint64_t *hashes, size_t count, uint8_t *out)
{
    const uint8_t *ring[AHEAD][2];
    uint64_t lines = bench->payload_bytes / PERHAPS_LINE;
    uint64_t sum = 0;
    for (size_t i = 0; i < count + AHEAD; i++) {
        if (i >= AHEAD) {
            uint64_t first;
            uint64_t second;
            memcpy(&first, ring[i % AHEAD][0], sizeof first);
            memcpy(&second, ring[i % AHEAD][1], sizeof second);
            sum += first ^ second;
        }
        uint64_t placed = perhaps__place(hashes[i < count ? i : 0], 7);
        for (unsigned j = 0; j < 2; j++) {
            ring[i % AHEAD][j] = bench->payload + perhaps__multiply_high(placed << (20 * j), lines) * PERHAPS_LINE;
            __builtin_prefetch(ring[i % AHEAD][j], 0, 1);
        }
        __builtin_prefetch(&hashes[i + 512 < count ? i + 512 : 0]);
    }
    out[0] = (uint8_t)(sum & 1); // so that the sum is needed
}

static void ask_singly(const struct bench *bench, const uint64_t *hashes, size_t count, uint8_t *out)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = (uint8_t)perhaps_might_contain_hash(bench->asked, hashes[i]);
    }
}

static void ask_batch(const struct bench *bench, const uint64_t *hashes, size_t count, uint8_t *out)
{
    harness_must(perhaps_might_contain_many_hash(bench->asked, hashes, count, out, NULL), "look-up");
}

static void ask_yardstick(const struct bench *bench, const uint64_t *hashes, size_t count, uint8_t *out)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = yardstick_ask(&bench->table, hashes[i]);
    }
}

static void check_present(const struct bench *bench, bool present)
{
    size_t found = 0;
    for (size_t i = 0; i < QUERIES; i++) {
        found += bench->out[i];
    }
    if (present ? found != QUERIES : found > QUERIES / 100) {
        harness_die("%zu of %zu keys are answered with perhaps", found, QUERIES);
    }
}

// Adds all keys, in blocks that are made outside of the measured time.
static void fill(struct bench *bench, unsigned repetition)
{
    harness_must(perhaps_clear(bench->filter), "clear");
    memset(bench->table.bytes, 0, bench->table_bytes);
    bench->table.has_victim = false;
    double ours = 0.0;
    double theirs = 0.0;
    for (uint64_t first = 0; first < bench->keys; first += QUERIES) {
        size_t count = (size_t)perhaps__min(QUERIES, bench->keys - first);
        for (size_t i = 0; i < count; i++) {
            bench->block[i] = key_of(first + i);
        }
        if (repetition == 0) {
            harness_must(perhaps_add_many_hash(bench->shared, bench->block, count, NULL, NULL), "add");
        }
        double start = now();
        harness_must(perhaps_add_many_hash(bench->filter, bench->block, count, bench->out, NULL), "add");
        double middle = now();
        for (size_t i = 0; i < count; i++) {
            bench->out[i] = yardstick_add(&bench->table, bench->block[i]);
        }
        theirs += now() - middle;
        ours += middle - start;
    }
    if (bench->table.has_victim) {
        harness_die("the yardstick is full");
    }
    bench->ours[INSERT][repetition] = ours / (double)bench->keys;
    bench->theirs[INSERT][repetition] = theirs / (double)bench->keys;
}

// One of our filters, one at a time and in batches: absent 0 or 1, `first` the row of singles.
static void ask(struct bench *bench, const perhaps_filter *filter, unsigned absent, enum row first, unsigned repetition)
{
    const uint64_t *hashes = absent != 0 ? bench->absent : bench->present;
    bench->asked = filter;
    bench->ours[first + absent][repetition] = time_slices(bench, ask_singly, hashes);
    check_present(bench, absent == 0);
    bench->ours[first + 2 + absent][repetition] = time_slices(bench, ask_batch, hashes);
    check_present(bench, absent == 0);
}

// The yardstick before and after; what the shared filter is compared with is the other one.
static void look_up(struct bench *bench, unsigned repetition)
{
    bench->ours[LIMIT][repetition] = bench->theirs[LIMIT][repetition] = time_slices(bench, read_lines, bench->present);
    for (unsigned absent = 0; absent < 2; absent++) {
        const uint64_t *hashes = absent != 0 ? bench->absent : bench->present;
        double theirs = time_slices(bench, ask_yardstick, hashes);
        check_present(bench, absent == 0);
        ask(bench, bench->filter, absent, SINGLE_PRESENT, repetition);
        ask(bench, bench->shared, absent, SHARED_SINGLE_PRESENT, repetition);
        theirs = (theirs + time_slices(bench, ask_yardstick, hashes)) / 2.0;
        for (unsigned row = absent; row < 4; row += 2) {
            bench->theirs[SINGLE_PRESENT + row][repetition] = theirs;
            bench->theirs[SHARED_SINGLE_PRESENT + row][repetition] = bench->ours[SINGLE_PRESENT + row][repetition];
        }
    }
}

// Takes the asked keys out, which are different ones.
static void take_out(struct bench *bench, unsigned repetition)
{
    double start = now();
    harness_must(perhaps_remove_many_hash(bench->filter, bench->present, QUERIES, bench->out, NULL), "remove");
    double middle = now();
    check_present(bench, true);
    double again = now();
    for (size_t i = 0; i < QUERIES; i++) {
        bench->out[i] = yardstick_remove(&bench->table, bench->present[i]);
    }
    bench->theirs[DELETE][repetition] = (now() - again) / (double)QUERIES;
    bench->ours[DELETE][repetition] = (middle - start) / (double)QUERIES;
    check_present(bench, true);
}

// ---------------------------------------------------------------- the program

static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory == NULL) {
        harness_die("no memory");
    }
    memset(memory, 0, bytes); // its pages are there before anything is timed
    return memory;
}

// Different keys of all that are added, in an order that has nothing to do with that of the adds.
static void choose_queries(struct bench *bench)
{
    uint64_t step = bench->keys / QUERIES;
    uint64_t random = 1;
    for (size_t i = 0; i < QUERIES; i++) {
        bench->present[i] = key_of(i * step);
        bench->absent[i] = key_of((UINT64_C(1) << 40) + i);
    }
    for (size_t i = QUERIES - 1; i > 0; i--) {
        random = perhaps__mix(random + i);
        size_t j = (size_t)perhaps__multiply_high(random, i + 1);
        uint64_t swapped = bench->present[i];
        bench->present[i] = bench->present[j];
        bench->present[j] = swapped;
    }
}

static void prepare(struct bench *bench, unsigned log2_buckets, double load)
{
    uint64_t buckets = UINT64_C(1) << log2_buckets;
    bench->keys = (uint64_t)(load * (double)(buckets * SLOTS));
    if (bench->keys < QUERIES) {
        harness_die("too few keys: 2^20 buckets or more");
    }
    bench->table_bytes = buckets * BUCKET_BYTES + 8;
    bench->table = (struct yardstick){.bytes = harness_allocate(bench->table_bytes, PAGES_HUGE), .mask = buckets - 1};
    const perhaps_allocator allocator = {bench, allocate_huge, release_huge};
    perhaps_options options = {
        .size = sizeof options,
        .kind = PERHAPS_KIND_CUCKOO,
        .capacity = bench->keys,
        .fpr = 0.01,
        .fingerprint_bits = TAG_BITS,
        .allocator = &allocator,
    };
    options.flags = PERHAPS_SHARED;
    harness_must(perhaps_create(&options, &bench->shared, NULL), "create");
    options.flags = 0;
    harness_must(perhaps_create(&options, &bench->filter, NULL), "create");
    bench->present = allocate(QUERIES * sizeof *bench->present);
    bench->absent = allocate(QUERIES * sizeof *bench->absent);
    bench->block = allocate(QUERIES * sizeof *bench->block);
    bench->out = allocate(QUERIES);
    choose_queries(bench);
}

static double median(const double *values, unsigned count)
{
    double sorted[HARNESS_MAX_REPEAT];
    memcpy(sorted, values, count * sizeof *values);
    qsort(sorted, count, sizeof *sorted, compare);
    return sorted[count / 2];
}

static double median_ratio(const double *a, const double *b, unsigned count)
{
    double ratios[HARNESS_MAX_REPEAT];
    for (unsigned i = 0; i < count; i++) {
        ratios[i] = a[i] / b[i];
    }
    return median(ratios, count);
}

static void report(const struct bench *bench, unsigned repetitions)
{
    perhaps_statistics s = {.size = sizeof s};
    harness_must(perhaps_stats(bench->filter, &s), "statistics");
    (void)printf("%llu keys, %u repetitions; ours: %llu buckets, %.1f MB, huge %.2f; yardstick: %.1f MB, huge %.2f\n",
                 (unsigned long long)bench->keys, repetitions, (unsigned long long)s.buckets,
                 (double)bench->payload_bytes / 1e6, harness_huge_share(bench->payload),
                 (double)bench->table_bytes / 1e6, harness_huge_share(bench->table.bytes));
    (void)printf("%-32s %8s %8s %8s %8s\n", "", "ours, ns", "theirs", "ratio", "x 2 lines");
    for (unsigned row = 0; row < ROWS; row++) {
        (void)printf("%-32s %8.2f %8.2f %8.2f %8.2f\n", row_names[row], median(bench->ours[row], repetitions),
                     median(bench->theirs[row], repetitions),
                     median_ratio(bench->ours[row], bench->theirs[row], repetitions),
                     median_ratio(bench->ours[row], bench->ours[LIMIT], repetitions));
    }
}

int main(int argc, char **argv)
{
    static struct bench bench;
    unsigned log2_buckets = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 22;
    double load = argc > 2 ? strtod(argv[2], NULL) : 0.95;
    unsigned repetitions = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 7;
    if (log2_buckets < 20 || log2_buckets > 32 || !(load > 0.3 && load < 0.96) || repetitions < 1 ||
        repetitions > HARNESS_MAX_REPEAT) {
        harness_die("[LOG2_BUCKETS [LOAD [REPETITIONS]]]: 20 to 32, 0.3 to 0.96, 1 to 99");
    }
    prepare(&bench, log2_buckets, load);
    for (unsigned repetition = 0; repetition < repetitions; repetition++) {
        fill(&bench, repetition);
        look_up(&bench, repetition);
        take_out(&bench, repetition);
    }
    report(&bench, repetitions);
    perhaps_free(bench.filter);
    perhaps_free(bench.shared);
    harness_release(bench.table.bytes, bench.table_bytes);
    free(bench.present);
    free(bench.absent);
    free(bench.block);
    free(bench.out);
    return 0;
}
