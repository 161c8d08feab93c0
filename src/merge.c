// SPDX-License-Identifier: MIT
#include "errors.h"
#include "filter.h"
#include "kinds.h"
#include "shared.h"

static int fail_mismatch(perhaps_error *error, const char *what, uint64_t into, uint64_t from)
{
    struct perhaps__failure failure = {.code = PERHAPS_E_MISMATCH, .subject = what, .value = from, .limit = into};
    return perhaps__fail(error, failure, "the filters cannot be merged: their %s differs, %llu and %llu", what,
                         (unsigned long long)into, (unsigned long long)from);
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
        {"layout of blocks", a->shape.layout, b->shape.layout},
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
    return PERHAPS_OK;
}

// Both are closed to writers.
static int merge(perhaps_filter *into, const perhaps_filter *from, perhaps_error *error)
{
    int status = check_equal(into, from, error);
    if (status < 0 || from->layers[0]->tally.keys == 0) {
        return status; // merging nothing leaves the count exact
    }
    bool exact = from->adds_exact && into->layers[0]->tally.keys == 0;
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
    if (perhaps__filter_is_read_only(into)) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_READ_ONLY}, NULL);
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
    int status = merge(into, from, error);
    perhaps__open_both(into, from);
    return status;
}
