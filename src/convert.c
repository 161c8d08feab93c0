// SPDX-License-Identifier: MIT
// From a filter that counts to one that only answers.
#include "counting.h"
#include "errors.h"
#include "filter.h"
#include "kinds.h"

static int fail_conversion(const perhaps_filter *from, uint32_t kind, perhaps_error *error)
{
    struct perhaps__failure failure = {
        .code = PERHAPS_E_UNSUPPORTED, .subject = "kind", .value = kind, .limit = from->kind};
    return perhaps__fail(error, failure,
                         "a filter of kind %s cannot become one of kind %s; counting to bloom is possible",
                         perhaps_kind_name(from->kind), perhaps_kind_name(kind));
}

static int check(const perhaps_filter *from, uint32_t kind, const perhaps_allocator *given,
                 perhaps_allocator *allocator, perhaps_error *error)
{
    if (perhaps__kind(kind) == NULL) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_OPTION, .subject = "kind"},
                             "there is no kind with this number");
    }
    if (!perhaps__take_allocator(allocator, given)) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_OPTION, .subject = "allocator"},
                             "both allocate and release must be given");
    }
    bool can = from->kind == PERHAPS_KIND_COUNTING && kind == PERHAPS_KIND_BLOOM;
    return can ? PERHAPS_OK : fail_conversion(from, kind, error);
}

// A Bloom filter of as many bits as there are counters: its positions are the same.
static perhaps_filter *make_like(const perhaps_filter *from, const perhaps_allocator *allocator)
{
    const struct perhaps__layer *layer = &from->layer;
    struct perhaps__plan plan = {
        .kind = PERHAPS_KIND_BLOOM,
        .hash_source = from->hash_source,
        .seed = from->seed,
        .size = {.capacity = layer->capacity,
                 .fpr = layer->fpr,
                 .bits = layer->range,
                 .range = layer->range,
                 .shape.positions = layer->shape.positions},
    };
    perhaps_filter *filter = perhaps__filter_new(allocator, &plan);
    if (filter == NULL || !perhaps__filter_allocate(filter) ||
        perhaps_set_metadata(filter, from->metadata, from->metadata_size) < 0) {
        perhaps_free(filter);
        return NULL;
    }
    filter->capacity = from->capacity;
    filter->fpr = from->fpr;
    return filter;
}

int perhaps_convert(const perhaps_filter *from, uint32_t kind, const perhaps_allocator *given, perhaps_filter **out,
                    perhaps_error *error)
{
    if (from == NULL || out == NULL) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_ARGUMENT}, NULL);
    }
    perhaps_allocator allocator;
    int status = check(from, kind, given, &allocator, error);
    if (status < 0) {
        return status;
    }
    perhaps_filter *filter = make_like(from, &allocator);
    if (filter == NULL) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_MEMORY}, NULL);
    }
    perhaps__counting_to_bits(&from->view, perhaps__layer_words(&filter->layer));
    struct perhaps__tally *tally = &filter->layer.tally;
    tally->used = perhaps__layer_used(&filter->layer);
    tally->keys = tally->used > 0 ? from->layer.tally.keys : 0; // a Bloom filter without bits was never added to
    filter->adds_exact = from->adds_exact && from->layer.tally.removals == 0;
    *out = filter;
    return PERHAPS_OK;
}
