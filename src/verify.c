// SPDX-License-Identifier: MIT
#include "verify.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "errors.h"
#include "file.h"

// A thread is worth its start from about that many chunks on, which take it some milliseconds.
#define LEAST_CHUNKS 16
#define MOST_THREADS 8

/* ---------------------------------------------------------------- everything */

// What the threads share. Chunks are taken in order, and what was taken is finished: when a damaged one is known, all
// before it are too.
struct work {
    const perhaps_filter *filter;
    uint64_t next;    // atomic
    uint64_t damaged; // the first one found so far, or the count: atomic
};

static void note_damaged(struct work *work, uint64_t chunk)
{
    uint64_t first = __atomic_load_n(&work->damaged, __ATOMIC_RELAXED);
    while (chunk < first &&
           !__atomic_compare_exchange_n(&work->damaged, &first, chunk, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

static void *verify(void *context)
{
    struct work *work = context;
    for (;;) {
        uint64_t chunk = __atomic_fetch_add(&work->next, 1, __ATOMIC_RELAXED);
        if (chunk >= __atomic_load_n(&work->damaged, __ATOMIC_RELAXED)) {
            return NULL;
        }
        if (!perhaps__chunks_verify(work->filter, chunk)) {
            note_damaged(work, chunk);
        }
    }
}

// The calling thread not counted.
static unsigned helpers_for(uint64_t chunks)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t most = perhaps__min(processors > 0 ? (uint64_t)processors : 1, MOST_THREADS);
    most = perhaps__min(most, chunks / LEAST_CHUNKS);
    return most > 0 ? (unsigned)most - 1 : 0;
}

// How many were begun. They take no signals, which are the program's.
static unsigned begin_helpers(struct work *work, pthread_t *threads, unsigned wanted)
{
    sigset_t all;
    sigset_t before;
    unsigned begun = 0;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    while (begun < wanted && pthread_create(&threads[begun], NULL, verify, work) == 0) {
        begun++;
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return begun;
}

uint64_t perhaps__verify_all(const perhaps_filter *filter)
{
    struct work work = {.filter = filter, .damaged = filter->chunks->count};
    pthread_t threads[MOST_THREADS];
    unsigned begun = begin_helpers(&work, threads, helpers_for(filter->chunks->count));
    (void)verify(&work);
    for (unsigned i = 0; i < begun; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    return work.damaged;
}

/* ---------------------------------------------------------------- a slice */

static int fail_scrub(const perhaps_filter *filter, const uint64_t *cursor, perhaps_error *error)
{
    if (filter == NULL || cursor == NULL) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_ARGUMENT}, NULL);
    }
    if (filter->chunks == NULL) {
        return perhaps__fail(
            error, (struct perhaps__failure){.code = PERHAPS_E_UNSUPPORTED},
            "the filter has memory of its own, for which no checksums hold; save it and open the file");
    }
    if (*cursor >= filter->chunks->count) {
        struct perhaps__failure failure = {
            .code = PERHAPS_E_ARGUMENT, .subject = "cursor", .value = *cursor, .limit = filter->chunks->count - 1};
        return perhaps__fail(error, failure, "%llu is beyond the last chunk, which is number %llu; begin with 0",
                             (unsigned long long)*cursor, (unsigned long long)filter->chunks->count - 1);
    }
    return PERHAPS_OK;
}

// What `bytes` bytes are in chunks, at least one.
static uint64_t chunks_for(uint64_t bytes)
{
    uint64_t chunks = bytes / PERHAPS_CHUNK + (bytes % PERHAPS_CHUNK != 0);
    return chunks > 0 ? chunks : 1;
}

// After the last chunk: by first touch it was not known before what all of them hold. A chunk that is damaged has been told.
static int check_counts(const perhaps_filter *filter, perhaps_error *error)
{
    bool damaged = __atomic_load_n(&filter->chunks->damaged, __ATOMIC_RELAXED) > 0;
    bool known = __atomic_load_n(&filter->chunks->good, __ATOMIC_RELAXED) == filter->chunks->count;
    bool agree = damaged || !known || perhaps__chunks_agree(filter);
    return agree ? PERHAPS_OK : perhaps__chunks_fail_counts(perhaps__origin_path(filter), error);
}

int perhaps_scrub(const perhaps_filter *filter, uint64_t *cursor, uint64_t bytes, perhaps_error *error)
{
    int status = fail_scrub(filter, cursor, error);
    if (status < 0) {
        return status;
    }
    const uint64_t count = filter->chunks->count;
    for (uint64_t end = *cursor + perhaps__min(chunks_for(bytes), count - *cursor); *cursor < end;) {
        uint64_t chunk = (*cursor)++;
        if (!perhaps__chunks_verify(filter, chunk)) {
            *cursor %= count;
            perhaps__chunks_watch(filter);
            return perhaps__chunks_fail(filter, chunk, perhaps__origin_path(filter), error);
        }
    }
    *cursor %= count;
    return *cursor != 0 ? 1 : check_counts(filter, error);
}
