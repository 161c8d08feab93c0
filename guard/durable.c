// SPDX-License-Identifier: MIT
#include "durable.h"

#include <string.h>

#include "fail.h"
#include "follow.h"

static perhaps_journal journal_of(const perhaps_filter *filter)
{
    perhaps_journal journal = {.size = sizeof journal};
    (void)perhaps_journal_of(filter, &journal); // a filter and a structure of this release: nothing can fail
    return journal;
}

bool perhaps__guard_is_durable(const perhaps_filter *filter)
{
    return filter != NULL && journal_of(filter).limit != 0;
}

int perhaps__guard_fail_durable(const struct perhaps__guard_generation *generation, int code, perhaps_error *error)
{
    struct perhaps__guard_failure failure = {.code = code, .subject = "filter"};
    if (code != PERHAPS_E_IO) {
        return perhaps__guard_fail(error, failure,
                                   "the filter, which has a journal, does not take the key: %s; rebuild it larger",
                                   perhaps_message(code));
    }
    failure.system_error = journal_of(generation->filter).system_error;
    return perhaps__guard_fail(error, failure, "the journal of the filter cannot be written: %s",
                               strerror(failure.system_error)); // NOLINT(concurrency-mt-unsafe): texts are constants
}

void perhaps__guard_note_refusal(struct perhaps_guard *guard, struct perhaps__guard_generation *generation, int code)
{
    perhaps__guard_more(&guard->totals.refused);
    if (code != PERHAPS_E_IO) {
        __atomic_store_n(&generation->refuses, 1, __ATOMIC_RELAXED);
    }
}

/* ---------------------------------------------------------------- the position */

static bool same(const perhaps_store_position *a, const perhaps_store_position *b)
{
    return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

static int write_record(struct perhaps_guard *guard, const struct perhaps__guard_generation *generation,
                        const struct perhaps__guard_record *record)
{
    struct perhaps__guard_following *following = &guard->following;
    int code = perhaps__guard_record_write(generation->filter, following->identity, record);
    if (code == 0) {
        following->has_saved = true;
        following->saved = record->position;
        following->saved_exact = record->exact;
    }
    return code;
}

int perhaps__guard_durable_keep(struct perhaps_guard *guard, struct perhaps__guard_generation *generation,
                                const perhaps_store_position *position, perhaps_error *error)
{
    const struct perhaps__guard_following *following = &guard->following;
    bool lacks = (__atomic_load_n(&generation->open, __ATOMIC_ACQUIRE) & PERHAPS__GUARD_LACKS) != 0 ||
                 __atomic_load_n(&generation->overflow_count, __ATOMIC_ACQUIRE) != 0;
    const struct perhaps__guard_record record = {.exact = following->outside && generation->removes,
                                                 .position = *position};
    bool there = following->has_saved && same(&following->saved, position) && following->saved_exact == record.exact;
    if (!generation->durable || lacks || there) {
        return 0;
    }
    int code = write_record(guard, generation, &record);
    return code < 0 ? perhaps__guard_fail_durable(generation, code, error) : 0;
}

// After a crash before the next position nobody knows which changes came, and copies of removed keys stay.
static int mark_inexact(const struct perhaps__guard_batch *batch)
{
    const struct perhaps__guard_following *following = &batch->guard->following;
    const struct perhaps__guard_record record = {.exact = false, .position = following->saved};
    bool marked = !following->has_saved || !following->saved_exact;
    return marked ? 0 : write_record(batch->guard, batch->generation, &record);
}

int perhaps__guard_durable_begin(struct perhaps_guard *guard, perhaps_error *error)
{
    const struct perhaps__guard_generation *generation = guard->current;
    struct perhaps__guard_record record = {.exact = false};
    const void *position = NULL;
    size_t length = 0;
    bool only_follows = (guard->options.flags & PERHAPS_GUARD_FOLLOWS) != 0;
    if (!generation->durable || only_follows || perhaps_position(generation->filter, &position, &length) < 0 ||
        length == 0) {
        return 0;
    }
    const char *identity = guard->following.identity;
    bool known = perhaps__guard_record_read(generation->filter, identity, &record) == NULL;
    if (known && !record.exact) {
        return 0;
    }
    record.exact = false;
    int code = known ? perhaps__guard_record_write(generation->filter, identity, &record)
                     : perhaps_set_position(generation->filter, NULL, 0);
    return code < 0 ? perhaps__guard_fail_durable(generation, code, error) : 0;
}

// Where the store stands that the next filter has all keys of; false: that is not known.
static int position_of_next(struct perhaps_guard *guard, const struct perhaps__guard_rebuild *rebuild,
                            struct perhaps__guard_record *record, bool *known, perhaps_error *error)
{
    const struct perhaps__guard_following *following = &guard->following;
    *record = (struct perhaps__guard_record){.exact = rebuild->next->removes && following->outside,
                                             .position = rebuild->position};
    *known = following->outside ? !rebuild->behind : following->changes.position != NULL;
    if (!*known || following->outside) {
        return 0;
    }
    return following->changes.position(following->changes.context, &record->position, error); // all writes wait
}

int perhaps__guard_durable_hand_over(struct perhaps_guard *guard, const struct perhaps__guard_rebuild *rebuild,
                                     perhaps_error *error)
{
    struct perhaps__guard_following *following = &guard->following;
    struct perhaps__guard_generation *next = rebuild->next;
    struct perhaps__guard_record record;
    bool known;
    int code = position_of_next(guard, rebuild, &record, &known, error);
    if (code == 0 && known) {
        code = perhaps__guard_record_write(next->filter, following->identity, &record);
        const struct perhaps__guard_failure failure = {.code = code, .subject = "position"};
        code = code < 0 ? perhaps__guard_fail(error, failure, "the new filter does not take its position: %s",
                                              perhaps_message(code))
                        : 0;
    }
    code = code < 0 ? code : perhaps_hand_over_journal(guard->current->filter, next->filter, error);
    if (code == 0) {
        guard->current->durable = false;
        next->durable = true;
        following->has_saved = known;
        following->saved = record.position;
        following->saved_exact = record.exact;
    }
    return code;
}

/* ---------------------------------------------------------------- batches */

// Where nothing is ever taken out, a key that is "perhaps" is in the file already.
static bool needs_copy(const struct perhaps__guard_generation *generation, const void *key, size_t length)
{
    return generation->removes || perhaps_might_contain(generation->asked, key, length) != 1;
}

static void flush_adds(struct perhaps__guard_batch *batch)
{
    size_t done = 0;
    int code =
        batch->adds == 0 ? 0 : perhaps_add_many_hash(batch->generation->filter, batch->added, batch->adds, NULL, &done);
    (void)__atomic_fetch_add(&batch->generation->added, done, __ATOMIC_RELAXED);
    batch->adds = 0;
    if (code < 0) {
        perhaps__guard_note_refusal(batch->guard, batch->generation, code);
        batch->code = code;
    }
}

// Copies that cannot be taken out, because of another layer, stay.
static void flush_removals(struct perhaps__guard_batch *batch)
{
    struct perhaps__guard_generation *generation = batch->generation;
    uint8_t out[PERHAPS__GUARD_BATCH];
    for (size_t at = 0; at < batch->removals && batch->code == 0;) {
        size_t done = 0;
        int code = perhaps_remove_many_hash(generation->filter, batch->removed + at, batch->removals - at, out, &done);
        for (size_t i = 0; i < done; i++) {
            perhaps__guard_more(out[i] == 1 ? &generation->removed : &generation->residue);
        }
        at += done;
        if (code == PERHAPS_E_IO || code == PERHAPS_E_MEMORY) {
            batch->code = code;
        } else if (code < 0) {
            perhaps__guard_more(&generation->residue);
            at++;
        }
    }
    batch->removals = 0;
}

int perhaps__guard_batch_flush(struct perhaps__guard_batch *batch)
{
    if (batch->code == 0 && batch->adds + batch->removals > 0) {
        batch->code = mark_inexact(batch);
    }
    if (batch->code == 0) {
        flush_adds(batch);
    }
    if (batch->code == 0) {
        flush_removals(batch);
    }
    return batch->code;
}

static int put(struct perhaps__guard_batch *batch, const void *key, size_t length, uint64_t *hashes, size_t *count)
{
    if (batch->code == 0) {
        batch->code = perhaps_hash(batch->generation->asked, key, length, &hashes[*count]);
        *count += batch->code == 0;
    }
    return *count == PERHAPS__GUARD_BATCH ? perhaps__guard_batch_flush(batch) : batch->code;
}

int perhaps__guard_batch_add(struct perhaps__guard_batch *batch, const void *key, size_t length)
{
    return needs_copy(batch->generation, key, length) ? put(batch, key, length, batch->added, &batch->adds)
                                                      : batch->code;
}

int perhaps__guard_batch_remove(struct perhaps__guard_batch *batch, const void *key, size_t length)
{
    return put(batch, key, length, batch->removed, &batch->removals);
}
