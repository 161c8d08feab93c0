// SPDX-License-Identifier: MIT
#include "durable.h"

#include <errno.h>

#include "file.h"
#include "file_save.h"
#include "journal.h"
#include "journal_file.h"

// A change of one call, or as much of it as a record holds.
struct perhaps__request {
    struct perhaps__change change;
    uint64_t sequence; // of its first operation
    size_t done;
    int refusal; // 0, or why not more was done
    bool finished;
    struct perhaps__request *next;
};

/* ---------------------------------------------------------------- records */

static uint32_t type_of(enum perhaps__verb verb)
{
    static const uint32_t types[] = {
        [PERHAPS_CHANGE_ADD] = PERHAPS_RECORD_ADD,
        [PERHAPS_CHANGE_REMOVE] = PERHAPS_RECORD_REMOVE,
        [PERHAPS_CHANGE_CLEAR] = PERHAPS_RECORD_CLEAR,
        [PERHAPS_CHANGE_POSITION] = PERHAPS_RECORD_POSITION,
    };
    return types[verb];
}

static struct perhaps__record record_of(const struct perhaps__change *change, uint64_t sequence)
{
    bool position = change->verb == PERHAPS_CHANGE_POSITION;
    return (struct perhaps__record){
        .type = type_of(change->verb),
        .sequence = sequence,
        .values = change->hashes,
        .count = position ? perhaps__position_values(change->length) : change->count,
        .position = change->position,
        .length = change->length,
    };
}

// What was written of records that failed is cut off again, on the disk as well. If that fails too, the journal is in
// doubt: an operation that was refused may be found in it.
static void cut_off(struct perhaps__durable *durable)
{
    int reason = errno;
    durable->system_error = reason;
    if (perhaps__files->truncate(durable->file, (off_t)durable->end) != 0 ||
        perhaps__files->flush_data(durable->file) != 0) {
        durable->state = PERHAPS_JOURNAL_DOUBTFUL;
    }
    errno = reason;
}

static bool append(struct perhaps__durable *durable, const uint8_t *bytes, uint64_t size)
{
    if (!perhaps__write_all(durable->file, bytes, size) || perhaps__files->flush_data(durable->file) != 0) {
        cut_off(durable);
        return false;
    }
    durable->end += size;
    durable->commits++;
    return true;
}

static uint64_t size_of(const struct perhaps__request *first)
{
    uint64_t size = 0;
    for (const struct perhaps__request *request = first; request != NULL; request = request->next) {
        size += perhaps__record_size(record_of(&request->change, 0).count);
    }
    return size;
}

// Writes the records of requests; returns the sequence of the last operation.
static uint64_t write_records(const struct perhaps__durable *durable, struct perhaps__request *first, uint8_t *at)
{
    uint64_t sequence = durable->sequence;
    for (struct perhaps__request *request = first; request != NULL; request = request->next) {
        const struct perhaps__record record = record_of(&request->change, sequence + 1);
        at = perhaps__record_write(at, durable->seed, &record);
        request->sequence = record.sequence;
        sequence += perhaps__record_operations(record.type, record.count);
    }
    return sequence;
}

// One write and one flush for all of them. 0 or a code.
static int record(struct perhaps__durable *durable, struct perhaps__request *first)
{
    uint8_t few[4096] = {0};
    uint64_t size = size_of(first);
    const perhaps_allocator *allocator = &durable->filter->allocator;
    uint8_t *bytes = size <= sizeof few ? few : perhaps__allocate(allocator, size);
    if (bytes == NULL) {
        return PERHAPS_E_MEMORY;
    }
    uint64_t sequence = write_records(durable, first, bytes);
    bool appended = append(durable, bytes, size);
    if (bytes != few) {
        perhaps__release(allocator, bytes, size);
    }
    durable->sequence = appended ? sequence : durable->sequence;
    return appended ? PERHAPS_OK : PERHAPS_E_IO;
}

/* ---------------------------------------------------------------- doing */

// Memory ran out for an operation that replaying might do: from it on the records of this round are void.
static void record_void(struct perhaps__durable *durable, uint64_t from)
{
    uint8_t bytes[PERHAPS_RECORD_BARE + 8];
    const struct perhaps__record record = {
        .type = PERHAPS_RECORD_VOID, .sequence = durable->sequence + 1, .values = &from, .count = 1};
    (void)perhaps__record_write(bytes, durable->seed, &record);
    if (append(durable, bytes, sizeof bytes)) {
        durable->sequence++;
    } else {
        durable->state = PERHAPS_JOURNAL_DOUBTFUL;
    }
}

static void refuse_all(struct perhaps__request *first, int refusal)
{
    for (struct perhaps__request *request = first; request != NULL; request = request->next) {
        request->done = 0;
        request->refusal = refusal;
    }
}

static void do_nothing(struct perhaps__request *request)
{
    request->done = request->change.count;
    if (request->change.out != NULL) {
        memset(request->change.out, 0, request->change.count);
    }
}

static void do_all(struct perhaps__durable *durable, struct perhaps__request *first)
{
    for (struct perhaps__request *request = first; request != NULL; request = request->next) {
        if (durable->hollow) {
            do_nothing(request);
            continue;
        }
        int refusal = PERHAPS_OK;
        request->done = perhaps__filter_apply(durable->filter, &request->change, &refusal);
        request->refusal = request->done < request->change.count ? refusal : PERHAPS_OK;
        if (request->refusal == PERHAPS_E_MEMORY) {
            refuse_all(request->next, PERHAPS_E_MEMORY);
            record_void(durable, request->sequence + request->done);
            return;
        }
    }
}

// The journal may become larger when folding fails; that is tried again after as much more.
static void fold_when_due(struct perhaps__durable *durable)
{
    if (durable->hollow || durable->end <= durable->fold_at) {
        return;
    }
    if (perhaps__durable_fold(durable, NULL) < 0) {
        durable->fold_at = perhaps__saturating_sum(durable->end, durable->limit);
    }
}

static void commit(struct perhaps__durable *durable, struct perhaps__request *first)
{
    int status = perhaps__durable_mend(durable, NULL);
    status = status < 0 ? status : record(durable, first);
    if (status < 0) {
        refuse_all(first, status);
        return;
    }
    do_all(durable, first);
    fold_when_due(durable);
}

/* ---------------------------------------------------------------- the queue */

void perhaps__durable_enter(struct perhaps__durable *durable)
{
    (void)pthread_mutex_lock(&durable->mutex);
    while (durable->busy) {
        (void)pthread_cond_wait(&durable->idle, &durable->mutex);
    }
    durable->busy = true;
    (void)pthread_mutex_unlock(&durable->mutex);
}

void perhaps__durable_leave(struct perhaps__durable *durable)
{
    (void)pthread_mutex_lock(&durable->mutex);
    durable->busy = false;
    (void)pthread_cond_broadcast(&durable->idle);
    (void)pthread_mutex_unlock(&durable->mutex);
}

// The mutex is held, and nobody is busy. A finished request is its owner's again: it is not looked at any more.
static void lead(struct perhaps__durable *durable)
{
    struct perhaps__request *first = durable->first;
    durable->first = NULL;
    durable->last = &durable->first;
    durable->busy = true;
    (void)pthread_mutex_unlock(&durable->mutex);
    commit(durable, first);
    (void)pthread_mutex_lock(&durable->mutex);
    durable->busy = false;
    while (first != NULL) {
        struct perhaps__request *next = first->next;
        first->finished = true;
        first = next;
    }
    (void)pthread_cond_broadcast(&durable->idle);
}

static void submit(struct perhaps__durable *durable, struct perhaps__request *request)
{
    (void)pthread_mutex_lock(&durable->mutex);
    *durable->last = request;
    durable->last = &request->next;
    while (!request->finished && durable->busy) {
        (void)pthread_cond_wait(&durable->idle, &durable->mutex);
    }
    if (!request->finished) {
        lead(durable);
    }
    (void)pthread_mutex_unlock(&durable->mutex);
}

static size_t change(perhaps_filter *filter, const struct perhaps__change *change, int *refusal)
{
    struct perhaps__durable *durable = (struct perhaps__durable *)(void *)filter->log;
    size_t done = 0;
    do {
        struct perhaps__request request = {.change = *change};
        if (change->hashes != NULL) {
            request.change.hashes = change->hashes + done;
            request.change.count = (size_t)perhaps__min(change->count - done, PERHAPS_RECORD_MAX);
            request.change.out = change->out != NULL ? change->out + done : NULL;
        }
        submit(durable, &request);
        done += request.done;
        if (request.refusal < 0) {
            *refusal = request.refusal;
            break;
        }
    } while (done < change->count);
    return done;
}

/* ---------------------------------------------------------------- folding */

int perhaps__durable_new_journal(struct perhaps__durable *durable, perhaps_error *error)
{
    uint8_t head[PERHAPS_JOURNAL_HEAD];
    struct perhaps__replacement replacement = {.path = durable->journal, .like = durable->target};
    durable->seed = perhaps__journal_begin(head, &durable->identity);
    if (!perhaps__replacement_begin(&replacement)) {
        durable->system_error = errno;
        return perhaps__fail_io(error, durable->journal, "written");
    }
    if (!perhaps__write_all(replacement.file, head, sizeof head) || !perhaps__replacement_put(&replacement)) {
        durable->system_error = errno;
        perhaps__replacement_drop(&replacement);
        return perhaps__fail_io(error, durable->journal, "written");
    }
    if (durable->file >= 0) {
        perhaps__close_quietly(durable->file);
    }
    durable->file = replacement.file; // locked since it was made
    durable->end = sizeof head;
    if (!perhaps__flush_directory(replacement.target)) {
        durable->system_error = errno;
        return perhaps__fail_io(error, durable->journal, "flushed to the disk");
    }
    durable->fold_at = durable->limit;
    durable->state = PERHAPS_JOURNAL_SOUND;
    return PERHAPS_OK;
}

static int fail_doubtful(const struct perhaps__durable *durable, perhaps_error *error)
{
    errno = durable->system_error;
    return perhaps__fail_io(error, durable->journal, "written, and what was written cannot be taken back");
}

int perhaps__durable_mend(struct perhaps__durable *durable, perhaps_error *error)
{
    switch (durable->state) {
    case PERHAPS_JOURNAL_SOUND:
        return PERHAPS_OK;
    case PERHAPS_JOURNAL_DOUBTFUL:
        return durable->hollow ? fail_doubtful(durable, error) : perhaps__durable_fold(durable, error);
    case PERHAPS_JOURNAL_DIRECTORY:
        if (!perhaps__flush_directory(durable->target)) {
            durable->system_error = errno;
            return perhaps__fail_io(error, durable->target, "flushed to the disk, though it was replaced");
        }
        durable->state = PERHAPS_JOURNAL_REPLACE;
        break;
    case PERHAPS_JOURNAL_REPLACE:
        break;
    }
    return perhaps__durable_new_journal(durable, error);
}

static int put(struct perhaps__durable *durable, const perhaps_filter *filter, bool *replaced, perhaps_error *error)
{
    *replaced = false;
    if (durable->state != PERHAPS_JOURNAL_SOUND && durable->state != PERHAPS_JOURNAL_DOUBTFUL) {
        int mended = perhaps__durable_mend(durable, error); // a second generation ahead of its journal would be refused
        if (mended < 0) {
            return mended;
        }
    }
    perhaps_error own = {.size = sizeof own};
    struct perhaps__identity next = durable->identity;
    next.generation++;
    next.folded = durable->sequence;
    int status = perhaps__save(filter, durable->target, &next, replaced, &own);
    if (*replaced) {
        durable->identity = next;
        durable->state = status < 0 ? PERHAPS_JOURNAL_DIRECTORY : PERHAPS_JOURNAL_REPLACE;
    }
    if (status < 0) {
        durable->system_error = own.system_error;
        const struct perhaps__failure failure = {
            .code = own.code, .system_error = own.system_error, .subject = durable->target};
        return perhaps__fail(error, failure, "%s", own.text);
    }
    return perhaps__durable_new_journal(durable, error);
}

int perhaps__durable_put(struct perhaps__durable *durable, const perhaps_filter *filter, bool *replaced,
                         perhaps_error *error)
{
    int status = put(durable, filter, replaced, error);
    *(status < 0 ? &durable->failed_folds : &durable->folds) += 1;
    return status;
}

int perhaps__durable_fold(struct perhaps__durable *durable, perhaps_error *error)
{
    bool replaced;
    return perhaps__durable_put(durable, durable->filter, &replaced, error);
}

/* ---------------------------------------------------------------- life */

struct perhaps__durable *perhaps__durable_new(const perhaps_allocator *allocator, const char *path)
{
    struct perhaps__durable *durable = perhaps__allocate(allocator, sizeof *durable);
    if (durable == NULL) {
        errno = ENOMEM;
        return NULL;
    }
    durable->allocator = *allocator;
    durable->file = -1;
    durable->last = &durable->first;
    (void)pthread_mutex_init(&durable->mutex, NULL); // neither can fail with default attributes
    (void)pthread_cond_init(&durable->idle, NULL);
    if (!perhaps__resolve_target(path, durable->target) || !perhaps__journal_path(path, durable->journal)) {
        perhaps__durable_release(durable);
        return NULL;
    }
    return durable;
}

void perhaps__durable_release(struct perhaps__durable *durable)
{
    const perhaps_allocator allocator = durable->allocator; // which may be another than that of the filter it came to
    int reason = errno;
    if (durable->file >= 0) {
        perhaps__close_quietly(durable->file);
    }
    (void)pthread_mutex_destroy(&durable->mutex);
    (void)pthread_cond_destroy(&durable->idle);
    perhaps__release(&allocator, durable, sizeof *durable);
    errno = reason;
}

static void end(perhaps_filter *filter)
{
    struct perhaps__durable *durable = (struct perhaps__durable *)(void *)filter->log;
    perhaps__durable_detach(durable);
    perhaps__durable_release(durable);
}

void perhaps__durable_detach(struct perhaps__durable *durable)
{
    durable->filter->log = NULL;
    durable->filter->identity = (struct perhaps__identity){0};
    durable->filter->journal_operations = 0;
    durable->filter->journal_bytes = 0;
    durable->filter = NULL;
}

void perhaps__durable_attach(struct perhaps__durable *durable, perhaps_filter *filter)
{
    durable->log = (struct perhaps__log){.change = change, .end = end};
    durable->filter = filter;
    filter->log = &durable->log;
}
