// SPDX-License-Identifier: MIT
#include "limit.h"

#include "place.h"

#define AHEAD 128      // lines in flight
#define KEYS_AHEAD 512 // of the array of hashes, beyond those

_Static_assert(AHEAD + KEYS_AHEAD + 8 <= HARNESS_SLACK, "hashes are fetched past their end");

// Zero, which the compiler must not know.
static volatile uint64_t opaque_zero;

static inline uint64_t *line_of(const struct job *job, uint64_t hash)
{
    uint64_t line = perhaps__multiply_high(perhaps__place(hash, perhaps__seed_key(0)), job->lines);
    return (uint64_t *)(void *)(job->array + line * PERHAPS_LINE);
}

static void read_dependent(struct job *job)
{
    uint64_t zero = opaque_zero;
    uint64_t sum = 0;
    uint64_t value = 0;
    for (size_t i = 0; i < job->count; i++) {
        value = *line_of(job, job->hashes[i] ^ (value & zero));
        sum += value;
    }
    job->sum = sum;
}

static void read_independent(struct job *job)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < job->count; i++) {
        sum += *line_of(job, job->hashes[i]);
    }
    job->sum = sum;
}

// The lines of the next AHEAD hashes, in a ring, so that every index is computed once.
struct ring {
    uint64_t *lines[AHEAD];
};

static inline void fetch(const uint64_t *line, bool for_writing)
{
    if (for_writing) {
        __builtin_prefetch(line, 1, 1);
    } else {
        __builtin_prefetch(line, 0, 1); // prefetcht2: see blocked_kernel.h
    }
}

static inline void start_ring(const struct job *job, struct ring *ring, bool for_writing)
{
    for (size_t i = 0; i < AHEAD; i++) {
        ring->lines[i] = line_of(job, job->hashes[i]);
        fetch(ring->lines[i], for_writing);
    }
}

// The line of hash i; that of hash i + AHEAD is fetched and takes its place. Past the end the hashes are zeros.
static inline uint64_t *next_line(const struct job *job, struct ring *ring, size_t i, bool for_writing)
{
    uint64_t *line = ring->lines[i % AHEAD];
    uint64_t *later = line_of(job, job->hashes[i + AHEAD]);
    fetch(later, for_writing);
    ring->lines[i % AHEAD] = later;
    if (i % 8 == 0) {
        __builtin_prefetch(&job->hashes[i + AHEAD + KEYS_AHEAD], 0, 3);
    }
    return line;
}

void limit_read(struct job *job)
{
    struct ring ring;
    uint64_t sum = 0;
    start_ring(job, &ring, false);
    for (size_t i = 0; i < job->count; i++) {
        sum += *next_line(job, &ring, i, false);
    }
    job->sum = sum;
}

void limit_write(struct job *job)
{
    struct ring ring;
    uint64_t zero = opaque_zero;
    uint64_t sum = 0;
    start_ring(job, &ring, true);
    for (size_t i = 0; i < job->count; i++) {
        uint64_t *line = next_line(job, &ring, i, true);
        uint64_t value = __atomic_load_n(line, __ATOMIC_RELAXED); // two threads may be here: bench/threads.c
        sum += value;
        __atomic_store_n(line, value ^ zero, __ATOMIC_RELAXED);
    }
    job->sum = sum;
}

void limit_measure(struct subject *subject, const struct keys *keys, unsigned repetition)
{
    static const struct {
        enum operation operation;
        pass_function *pass;
    } limits[] = {
        {OP_LIMIT_DEPENDENT, read_dependent},
        {OP_LIMIT_INDEPENDENT, read_independent},
        {OP_LIMIT_PREFETCHED, limit_read},
        {OP_LIMIT_WRITE, limit_write},
    };
    struct job job = {
        .hashes = keys->asked[ASKED_PRESENT],
        .count = keys->queries,
        .array = subject->array,
        .lines = subject->bytes / PERHAPS_LINE,
    };
    uint64_t sum = 0;
    for (size_t i = 0; i < PERHAPS_COUNT(limits); i++) {
        subject->ns[limits[i].operation][repetition] = harness_time(limits[i].pass, &job);
        if (i > 0 && job.sum != sum) {
            harness_die("the limits read different lines");
        }
        sum = job.sum;
    }
}
