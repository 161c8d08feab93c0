// SPDX-License-Identifier: MIT
// The verbs for one key, and for hashes on the filter as it is.
#include "bulk.h"
#include "filter.h"
#include "hash.h"
#include "layers.h"
#include "shared.h"

int perhaps__filter_may_change(const perhaps_filter *filter)
{
    if (PERHAPS_UNLIKELY(filter->keyless)) {
        return PERHAPS_E_KEY;
    }
    return perhaps__filter_is_read_only(filter) ? PERHAPS_E_READ_ONLY : PERHAPS_OK;
}

int perhaps__filter_may_remove(const perhaps_filter *filter)
{
    return filter->view.remove_many == NULL ? PERHAPS_E_UNSUPPORTED : perhaps__filter_may_change(filter);
}

/* ---------------------------------------------------------------- near the highest number */

// Kernels count one by one, and would go on from zero. One call takes fewer keys than 2^63, and so only these can:
static bool is_high(const struct perhaps__tally *tally)
{
    return ((tally->keys | tally->copies | tally->removals) >> 63) != 0;
}

// Only counted up since then.
static void stay_high(uint64_t *counted, uint64_t before)
{
    *counted = *counted < before ? UINT64_MAX : *counted;
}

static size_t add_when_high(perhaps_filter *filter, perhaps__add_many_function *add, const uint64_t *hashes,
                            size_t count, uint8_t *out, int *refusal)
{
    struct perhaps__tally *tally = &filter->layers[0]->tally;
    const struct perhaps__tally before = *tally;
    size_t added = add(&filter->view, hashes, count, out, tally, refusal);
    stay_high(&tally->keys, before.keys);
    stay_high(&tally->copies, before.copies);
    return added;
}

// How many copies there are is not known any more once they were at the highest.
static void remove_when_high(perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out)
{
    struct perhaps__tally *tally = &filter->layers[0]->tally;
    const struct perhaps__tally before = *tally;
    filter->view.remove_many(&filter->view, hashes, count, out, tally);
    stay_high(&tally->removals, before.removals);
    tally->copies = before.copies == UINT64_MAX ? UINT64_MAX : tally->copies;
}

/* ---------------------------------------------------------------- many hashes */

static size_t add_now(perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out, int *refusal)
{
    const size_t few = 16;
    if (PERHAPS_UNLIKELY(filter->shared != NULL)) {
        return perhaps__shared_add(filter, hashes, count, out, refusal);
    }
    if (perhaps__filter_is_bounded(filter)) {
        return perhaps__layers_add(filter, hashes, count, out, refusal);
    }
    struct perhaps__layer *layer = filter->layers[0];
    if (PERHAPS_UNLIKELY(is_high(&layer->tally))) {
        perhaps__add_many_function *add = count < few ? filter->view.add_few : filter->view.add_many;
        return add_when_high(filter, add, hashes, count, out, refusal);
    }
    if (count < few) {
        return filter->view.add_few(&filter->view, hashes, count, out, &layer->tally, refusal);
    }
    return perhaps__bulk_add(layer, &filter->allocator, hashes, count, out, refusal);
}

size_t perhaps__filter_adds_together(const perhaps_filter *filter, size_t count)
{
    bool simply = filter->shared == NULL && filter->log == NULL && !perhaps__filter_is_bounded(filter);
    return simply ? perhaps__bulk_keys(filter->layers[0], count) : 0;
}

// Filters of several layers, filters that are verified as they are read, and those without their key have functions of their
// own. Beside writers nothing is sorted: what each key is told would be as of another moment than that of its neighbours.
static bool is_asked_directly(const perhaps_filter *filter, perhaps__ask_many_function *function)
{
    return filter->shared == NULL && function == filter->layers[0]->view.ask_many;
}

static perhaps__ask_many_function *function_to_ask(const perhaps_filter *filter)
{
    return __atomic_load_n(&filter->view.ask_many, __ATOMIC_RELAXED);
}

void perhaps__filter_ask_many(const perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out)
{
    perhaps__ask_many_function *ask = function_to_ask(filter);
    if (is_asked_directly(filter, ask)) {
        perhaps__bulk_ask(filter->layers[0], &filter->allocator, hashes, count, out);
    } else {
        ask(&filter->view, hashes, count, out);
    }
}

size_t perhaps__filter_asks_together(const perhaps_filter *filter, size_t count)
{
    return is_asked_directly(filter, function_to_ask(filter)) ? perhaps__bulk_keys(filter->layers[0], count) : 0;
}

size_t perhaps__filter_add(perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out, int *refusal)
{
    if (PERHAPS_UNLIKELY(filter->log != NULL)) {
        const struct perhaps__change change = {
            .verb = PERHAPS_CHANGE_ADD, .hashes = hashes, .count = count, .out = out};
        return filter->log->change(filter, &change, refusal);
    }
    return add_now(filter, hashes, count, out, refusal);
}

static size_t remove_now(perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out, int *refusal)
{
    if (filter->shared != NULL) {
        return perhaps__shared_remove(filter, hashes, count, out, refusal);
    }
    if (filter->layer_count > 1) {
        return perhaps__layers_remove(filter, hashes, count, out, refusal);
    }
    struct perhaps__tally *tally = &filter->layers[0]->tally;
    if (PERHAPS_UNLIKELY(is_high(tally))) {
        remove_when_high(filter, hashes, count, out);
    } else {
        filter->view.remove_many(&filter->view, hashes, count, out, tally);
    }
    return count;
}

size_t perhaps__filter_remove(perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out, int *refusal)
{
    if (PERHAPS_UNLIKELY(filter->log != NULL)) {
        const struct perhaps__change change = {
            .verb = PERHAPS_CHANGE_REMOVE, .hashes = hashes, .count = count, .out = out};
        return filter->log->change(filter, &change, refusal);
    }
    return remove_now(filter, hashes, count, out, refusal);
}

size_t perhaps__filter_apply(perhaps_filter *filter, const struct perhaps__change *change, int *refusal)
{
    switch (change->verb) {
    case PERHAPS_CHANGE_ADD:
        return add_now(filter, change->hashes, change->count, change->out, refusal);
    case PERHAPS_CHANGE_REMOVE:
        return remove_now(filter, change->hashes, change->count, change->out, refusal);
    case PERHAPS_CHANGE_POSITION:
        *refusal = perhaps__filter_set_position(filter, change->position, change->length);
        return *refusal < 0 ? 0 : 1;
    case PERHAPS_CHANGE_CLEAR:
        break;
    }
    perhaps__filter_clear(filter);
    return 0;
}

// What might_contain says of kinds that do not count: not at all, or any number of times.
static void count_by_asking(const perhaps_filter *filter, const uint64_t *hashes, size_t count, uint64_t *out)
{
    uint8_t answers[512];
    for (size_t i = 0; i < count; i += sizeof answers) {
        size_t asked = (size_t)perhaps__min(sizeof answers, count - i);
        perhaps__filter_ask_many(filter, hashes + i, asked, answers);
        for (size_t j = 0; j < asked; j++) {
            out[i + j] = answers[j] != 0 ? PERHAPS_COUNT_UNBOUNDED : 0;
        }
    }
}

void perhaps__filter_count(const perhaps_filter *filter, const uint64_t *hashes, size_t count, uint64_t *out)
{
    perhaps__count_many_function *count_many = __atomic_load_n(&filter->view.count_many, __ATOMIC_RELAXED);
    if (count_many != NULL) {
        count_many(&filter->view, hashes, count, out);
    } else {
        count_by_asking(filter, hashes, count, out);
    }
}

// 0, or why the byte-key calls cannot take this key.
static int check_key(const perhaps_filter *filter, const void *key, size_t length)
{
    if (PERHAPS_UNLIKELY(filter == NULL || (key == NULL && length > 0))) {
        return PERHAPS_E_ARGUMENT;
    }
    return perhaps__filter_may_hash(filter);
}

int perhaps_hash(const perhaps_filter *filter, const void *key, size_t length, uint64_t *hash)
{
    int status = hash != NULL ? check_key(filter, key, length) : PERHAPS_E_ARGUMENT;
    if (status == PERHAPS_OK) {
        *hash = perhaps__filter_hash(filter, key, length);
    }
    return status;
}

/* ---------------------------------------------------------------- by hash */

int perhaps_add_hash(perhaps_filter *filter, uint64_t hash)
{
    if (PERHAPS_UNLIKELY(filter == NULL)) {
        return PERHAPS_E_ARGUMENT;
    }
    int status = perhaps__filter_may_change(filter);
    if (PERHAPS_UNLIKELY(status < 0)) {
        return status;
    }
    uint8_t is_new = 0;
    return perhaps__filter_add(filter, &hash, 1, &is_new, &status) == 1 ? is_new : status;
}

int perhaps_might_contain_hash(const perhaps_filter *filter, uint64_t hash)
{
    if (PERHAPS_UNLIKELY(filter == NULL)) {
        return PERHAPS_E_ARGUMENT;
    }
    return perhaps__filter_ask(filter, hash);
}

uint64_t perhaps_count_at_most_hash(const perhaps_filter *filter, uint64_t hash)
{
    uint64_t most = PERHAPS_COUNT_UNBOUNDED;
    if (PERHAPS_UNLIKELY(filter == NULL)) {
        return most;
    }
    perhaps__filter_count(filter, &hash, 1, &most);
    return most;
}

int perhaps_might_contain_times_hash(const perhaps_filter *filter, uint64_t hash, uint64_t times)
{
    if (PERHAPS_UNLIKELY(filter == NULL)) {
        return PERHAPS_E_ARGUMENT;
    }
    return perhaps__may_be(perhaps_count_at_most_hash(filter, hash), times);
}

int perhaps_remove_hash(perhaps_filter *filter, uint64_t hash)
{
    if (PERHAPS_UNLIKELY(filter == NULL)) {
        return PERHAPS_E_ARGUMENT;
    }
    int status = perhaps__filter_may_remove(filter);
    if (PERHAPS_UNLIKELY(status < 0)) {
        return status;
    }
    uint8_t removed = 0;
    return perhaps__filter_remove(filter, &hash, 1, &removed, &status) == 1 ? removed : status;
}

/* ---------------------------------------------------------------- by key */

int perhaps_add(perhaps_filter *filter, const void *key, size_t length)
{
    int status = check_key(filter, key, length);
    return status < 0 ? status : perhaps_add_hash(filter, perhaps__filter_hash(filter, key, length));
}

int perhaps_might_contain(const perhaps_filter *filter, const void *key, size_t length)
{
    int status = check_key(filter, key, length);
    return status < 0 ? status : perhaps_might_contain_hash(filter, perhaps__filter_hash(filter, key, length));
}

uint64_t perhaps_count_at_most(const perhaps_filter *filter, const void *key, size_t length)
{
    int status = check_key(filter, key, length);
    return status < 0 ? PERHAPS_COUNT_UNBOUNDED
                      : perhaps_count_at_most_hash(filter, perhaps__filter_hash(filter, key, length));
}

int perhaps_might_contain_times(const perhaps_filter *filter, const void *key, size_t length, uint64_t times)
{
    int status = check_key(filter, key, length);
    return status < 0 ? status
                      : perhaps_might_contain_times_hash(filter, perhaps__filter_hash(filter, key, length), times);
}

int perhaps_remove(perhaps_filter *filter, const void *key, size_t length)
{
    int status = check_key(filter, key, length);
    return status < 0 ? status : perhaps_remove_hash(filter, perhaps__filter_hash(filter, key, length));
}
