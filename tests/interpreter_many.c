// SPDX-License-Identifier: MIT
// The verbs for many keys, held against the model and against the single calls.
#include <stdlib.h>
#include <string.h>

#include "interpreter_keys.h"

#define MOST_IN_BATCH 300

struct batch {
    uint8_t data[1 + MOST_IN_BATCH * SUPPORT_KEY_MAX];
    uint64_t offsets[MOST_IN_BATCH + 1];
    const void *pointers[MOST_IN_BATCH];
    size_t lengths[MOST_IN_BATCH];
    uint64_t hashes[MOST_IN_BATCH];
    uint8_t out[MOST_IN_BATCH];
    unsigned numbers[MOST_IN_BATCH];
    size_t count;
    unsigned shape; // 0 offsets, 1 pointers, 2 hashes
};

// Lays out the keys of batch->numbers in all shapes.
static void lay_out(struct run *run, struct batch *batch)
{
    batch->offsets[0] = 1; // so that there is something below the first one
    for (size_t i = 0; i < batch->count; i++) {
        uint8_t *key = batch->data + batch->offsets[i];
        batch->lengths[i] = key_of(batch->numbers[i], key);
        batch->pointers[i] = batch->lengths[i] > 0 ? key : NULL;
        batch->offsets[i + 1] = batch->offsets[i] + batch->lengths[i];
        batch->hashes[i] = hash_of(run, batch->numbers[i]);
    }
}

// Numbers that run on from a first one by a step of their own, so that short input makes large batches with
// repetitions.
static struct batch *make_batch(struct run *run)
{
    struct batch *batch = malloc(sizeof *batch); // large: what is used of it is written
    unsigned first = next_number(run, run->keys);
    unsigned step = next_byte(run);
    batch->count = next_number(run, run->keys < MOST_IN_BATCH ? run->keys : MOST_IN_BATCH);
    batch->shape = is_caller(run) ? 2 : next_byte(run) % 3U;
    for (size_t i = 0; i < batch->count; i++) {
        batch->numbers[i] = (first + (unsigned)i * step) % run->keys;
    }
    lay_out(run, batch);
    return batch;
}

static int add_batch(struct run *run, struct batch *batch, size_t *done)
{
    perhaps_filter *filter = current(run);
    if (batch->shape == 0) {
        return perhaps_add_many(filter, batch->data, batch->offsets, batch->count, batch->out, done);
    }
    if (batch->shape == 1) {
        return perhaps_add_many_pointers(filter, batch->pointers, batch->lengths, batch->count, batch->out, done);
    }
    return perhaps_add_many_hash(filter, batch->hashes, batch->count, batch->out, done);
}

static int ask_batch(struct run *run, struct batch *batch, size_t *done)
{
    const perhaps_filter *filter = current(run);
    if (batch->shape == 0) {
        return perhaps_might_contain_many(filter, batch->data, batch->offsets, batch->count, batch->out, done);
    }
    if (batch->shape == 1) {
        return perhaps_might_contain_many_pointers(filter, batch->pointers, batch->lengths, batch->count, batch->out,
                                                   done);
    }
    return perhaps_might_contain_many_hash(filter, batch->hashes, batch->count, batch->out, done);
}

// The answer before a key's turn in the batch is not known, so the add's result stands for it.
static void note_batch(struct run *run, const struct batch *batch, size_t done)
{
    for (size_t i = 0; i < done; i++) {
        note_added(run, batch->numbers[i], batch->out[i], batch->out[i] == 0);
    }
}

// Makes the batch begin behind its first `done` keys, wherever their bytes lie.
static void skip(struct batch *batch, size_t done)
{
    batch->count -= done;
    memmove(batch->numbers, batch->numbers + done, batch->count * sizeof batch->numbers[0]);
    memmove(batch->offsets, batch->offsets + done, (batch->count + 1) * sizeof batch->offsets[0]);
    memmove(batch->pointers, batch->pointers + done, batch->count * sizeof batch->pointers[0]);
    memmove(batch->lengths, batch->lengths + done, batch->count * sizeof batch->lengths[0]);
    memmove(batch->hashes, batch->hashes + done, batch->count * sizeof batch->hashes[0]);
}

// Goes on behind every key that is refused.
void add_many(struct run *run)
{
    struct batch *batch = make_batch(run);
    while (run->failure == NULL) {
        size_t done = SIZE_MAX;
        int status = add_batch(run, batch, &done);
        CHECK(run, done <= batch->count && (status == PERHAPS_OK) == (done == batch->count),
              "done is not where it stopped");
        note_batch(run, batch, done <= batch->count ? done : 0);
        if (status == PERHAPS_OK) {
            break;
        }
        check_refusal(run, status);
        if (done < batch->count) {
            skip(batch, done + 1);
        }
    }
    free(batch);
}

void ask_many(struct run *run)
{
    struct batch *batch = make_batch(run);
    size_t done = SIZE_MAX;
    CHECK(run, ask_batch(run, batch, &done) == PERHAPS_OK, "a batch of questions fails");
    CHECK(run, done == batch->count, "a batch of questions is not done");
    for (size_t i = 0; i < done && i < batch->count; i++) {
        check_answer(run, batch->numbers[i], batch->out[i]);
        CHECK(run, batch->out[i] == ask_one(run, batch->numbers[i], false), "batch and single call do not agree");
    }
    free(batch);
}

static int count_batch(struct run *run, struct batch *batch, uint64_t *most, size_t *done)
{
    const perhaps_filter *filter = current(run);
    if (batch->shape == 0) {
        return perhaps_count_at_most_many(filter, batch->data, batch->offsets, batch->count, most, done);
    }
    if (batch->shape == 1) {
        return perhaps_count_at_most_many_pointers(filter, batch->pointers, batch->lengths, batch->count, most, done);
    }
    return perhaps_count_at_most_many_hash(filter, batch->hashes, batch->count, most, done);
}

static int times_batch(struct run *run, struct batch *batch, uint64_t times, size_t *done)
{
    const perhaps_filter *filter = current(run);
    if (batch->shape == 0) {
        return perhaps_might_contain_times_many(filter, batch->data, batch->offsets, batch->count, times, batch->out,
                                                done);
    }
    if (batch->shape == 1) {
        return perhaps_might_contain_times_many_pointers(filter, batch->pointers, batch->lengths, batch->count, times,
                                                         batch->out, done);
    }
    return perhaps_might_contain_times_many_hash(filter, batch->hashes, batch->count, times, batch->out, done);
}

void count_many(struct run *run)
{
    struct batch *batch = make_batch(run);
    uint64_t most[MOST_IN_BATCH];
    uint64_t times = next_byte(run) % 20;
    size_t done[2] = {SIZE_MAX, SIZE_MAX};
    CHECK(run, count_batch(run, batch, most, &done[0]) == PERHAPS_OK, "a batch of counts fails");
    CHECK(run, times_batch(run, batch, times, &done[1]) == PERHAPS_OK, "a batch of thresholds fails");
    CHECK(run, done[0] == batch->count && done[1] == batch->count, "a batch of counts is not done");
    for (size_t i = 0; i < batch->count && run->failure == NULL; i++) {
        check_count(run, batch->numbers[i], most[i]);
        CHECK(run, batch->out[i] == (times <= most[i]), "counts and thresholds do not agree");
        uint64_t single = perhaps_count_at_most_hash(current(run), batch->hashes[i]);
        CHECK(run, most[i] == single, "a batch of counts and the single call do not agree");
    }
    free(batch);
}

static int remove_batch(struct run *run, struct batch *batch, size_t *done)
{
    perhaps_filter *filter = current(run);
    if (batch->shape == 0) {
        return perhaps_remove_many(filter, batch->data, batch->offsets, batch->count, batch->out, done);
    }
    if (batch->shape == 1) {
        return perhaps_remove_many_pointers(filter, batch->pointers, batch->lengths, batch->count, batch->out, done);
    }
    return perhaps_remove_many_hash(filter, batch->hashes, batch->count, batch->out, done);
}

// Keeps only those keys of a batch that are there to be removed, each as often as it is.
static void keep_added(struct run *run, struct batch *batch)
{
    uint32_t left[KEYS];
    memcpy(left, current_model(run)->count, sizeof left);
    size_t kept = 0;
    for (size_t i = 0; i < batch->count; i++) {
        unsigned number = batch->numbers[i];
        batch->numbers[kept] = number;
        kept += left[number] > 0;
        left[number] -= left[number] > 0;
    }
    batch->count = kept;
    lay_out(run, batch);
}

// Goes on behind every key that is kept because several layers match it.
static void remove_all(struct run *run, struct batch *batch)
{
    while (run->failure == NULL) {
        size_t done = SIZE_MAX;
        int status = remove_batch(run, batch, &done);
        CHECK(run, done <= batch->count && (status == PERHAPS_OK) == (done == batch->count),
              "done is not where it stopped");
        for (size_t i = 0; i < done && run->failure == NULL; i++) {
            note_removed(run, batch->numbers[i], batch->out[i]);
        }
        if (status == PERHAPS_OK || run->failure != NULL) {
            return;
        }
        CHECK(run, status == PERHAPS_E_AMBIGUOUS, "a batch of removals fails");
        check_ambiguous(run);
        skip(batch, done + 1);
    }
}

void remove_many(struct run *run)
{
    struct batch *batch = make_batch(run);
    size_t done = SIZE_MAX;
    if (!can_remove(run)) {
        CHECK(run, remove_batch(run, batch, &done) == PERHAPS_E_UNSUPPORTED && done == 0,
              "a filter that cannot remove does");
    } else {
        keep_added(run, batch);
        remove_all(run, batch);
    }
    free(batch);
}

// One of the keys is none: those before it are added.
void add_many_with_a_bad_key(struct run *run)
{
    struct batch *batch = make_batch(run);
    if (batch->shape < 2 && batch->count > 0) {
        size_t bad = next_number(run, (unsigned)batch->count);
        batch->offsets[bad + 1] = batch->offsets[bad] - 1;
        batch->pointers[bad] = NULL;
        batch->lengths[bad] = 1;
        size_t done = SIZE_MAX;
        int status = add_batch(run, batch, &done);
        CHECK(run, done <= bad, "a batch does not stop at the bad key");
        note_batch(run, batch, done <= bad ? done : 0);
        if (done == bad) {
            CHECK(run, status == PERHAPS_E_ARGUMENT, "a bad key is taken");
        } else {
            check_refusal(run, status); // full before it came to that
        }
    }
    free(batch);
}
