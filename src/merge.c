// SPDX-License-Identifier: MIT
#include "chunks.h"
#include "errors.h"
#include "kinds.h"
#include "shared.h"

static int fail_mismatch(perhaps_error *error, const char *what, uint64_t into, uint64_t from)
{
    struct perhaps__failure failure = {.code = PERHAPS_E_MISMATCH, .subject = what, .value = from, .limit = into};
    return perhaps__fail(error, failure, "the filters cannot be merged: their %s differs, %llu and %llu", what,
                         (unsigned long long)into, (unsigned long long)from);
}

// The keys, not only their check values, of which one in 2^31 is that of another key.
static int check_keys(const perhaps_filter *into, const perhaps_filter *from, perhaps_error *error)
{
    bool equal = memcmp(into->key, from->key, sizeof into->key) == 0;
    return equal ? PERHAPS_OK : fail_mismatch(error, "key check value", into->key_check, from->key_check);
}

static int check_equal(const perhaps_filter *into, const perhaps_filter *from, perhaps_error *error)
{
    const struct perhaps__layer *a = into->layers[0];
    const struct perhaps__layer *b = from->layers[0];
    const struct {
        const char *what;
        uint64_t into;
        uint64_t from;
    } checks[] = {
        {"kind", into->kind, from->kind},
        {"hash source", into->hash_source, from->hash_source},
        {"seed", into->seed, from->seed},
        {"width of counters or fingerprints", a->shape.cell_bits, b->shape.cell_bits}, // the size follows from it
        {"size in bits", a->bits, b->bits},
        {"number of positions", a->shape.positions, b->shape.positions},
        {"layout of blocks or base bits of fingerprints", a->shape.layout, b->shape.layout},
        {"number of slots in a bucket", a->shape.slots, b->shape.slots},
        {"number of buckets", a->range, b->range},
        {"policy", a->shape.policy, b->shape.policy},
        {"limit of the search", a->shape.search, b->shape.search},
    };
    for (size_t i = 0; i < PERHAPS_COUNT(checks); i++) {
        if (checks[i].into != checks[i].from) {
            return fail_mismatch(error, checks[i].what, checks[i].into, checks[i].from);
        }
    }
    return check_keys(into, from, error);
}

// Nothing was added, or not since it was cleared. That none was counted is no proof that nothing is there.
static bool is_untouched(const struct perhaps__layer *layer)
{
    return layer->tally.keys == 0 && perhaps__layer_used(layer) == 0;
}

// Both are closed to writers.
static int merge(perhaps_filter *into, const perhaps_filter *from, perhaps_error *error)
{
    int status = check_equal(into, from, error);
    status = status < 0 ? status : perhaps__chunks_demand(from, NULL, error);
    if (status < 0 || is_untouched(from->layers[0])) {
        return status; // merging nothing leaves the count exact
    }
    bool exact = from->adds_exact && is_untouched(into->layers[0]);
    status = perhaps__layer_merge(into->layers[0], from->layers[0], &into->allocator);
    if (status < 0) {
        return perhaps__fail(error, (struct perhaps__failure){.code = status}, NULL);
    }
    into->adds_exact = exact;
    return PERHAPS_OK;
}

int perhaps_merge(perhaps_filter *into, const perhaps_filter *from, perhaps_error *error)
{
    if (into == NULL || from == NULL) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_ARGUMENT}, NULL);
    }
    int status = from->keyless ? PERHAPS_E_KEY : perhaps__filter_may_change(into);
    if (status < 0) {
        return perhaps__fail(error, (struct perhaps__failure){.code = status},
                             status == PERHAPS_E_KEY ? "a filter was loaded without its key, and cannot be merged"
                                                     : NULL);
    }
    if (into->log != NULL) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_UNSUPPORTED},
                             "a filter that is open with a journal takes keys, and no filters; merge into a copy of it "
                             "(perhaps_open() with PERHAPS_OPEN_COPY)");
    }
    if (into->growth.factor != 0 || from->growth.factor != 0) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_UNSUPPORTED},
                             "filters that grow cannot be merged; make one filter for all keys");
    }
    if (into == from) {
        return !perhaps__filter_counts(into)
                   ? PERHAPS_OK
                   : perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_ARGUMENT},
                                   "a filter that counts cannot be merged into itself: that would double its counts");
    }
    perhaps__close_both(into, from);
    status = merge(into, from, error);
    perhaps__open_both(into, from);
    return status;
}
