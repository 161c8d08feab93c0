// SPDX-License-Identifier: MIT
// From a filter that counts to one that only answers.
#include "chunks.h"
#include "counting.h"
#include "errors.h"
#include "filter.h"
#include "kinds.h"
#include "shared.h"

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
    if (from->keyless) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_KEY},
                             "the filter was loaded without its key, and cannot be converted");
    }
    bool can = from->kind == PERHAPS_KIND_COUNTING && kind == PERHAPS_KIND_BLOOM;
    return can ? perhaps__chunks_demand(from, NULL, error) : fail_conversion(from, kind, error);
}

// A Bloom filter of as many bits as there are counters: its positions are the same.
static perhaps_filter *make_like(const perhaps_filter *from, const perhaps_allocator *allocator)
{
    const struct perhaps__layer *layer = from->layers[0];
    const struct perhaps__plan plan = {
        .kind = PERHAPS_KIND_BLOOM,
        .hash_source = from->hash_source,
        .seed = from->seed,
        .key = from->hash_source == PERHAPS_HASH_SIPHASH ? from->key : NULL,
        .capacity = from->capacity,
        .fpr = from->fpr,
        .at_capacity = from->at_capacity,
    };
    const struct perhaps__size size = {
        .capacity = layer->capacity,
        .fpr = layer->fpr,
        .bits = layer->range,
        .range = layer->range,
        .shape.positions = layer->shape.positions,
    };
    perhaps_filter *filter = perhaps__filter_new(allocator, &plan);
    if (filter == NULL || perhaps__filter_push(filter, &size) == NULL ||
        perhaps_set_metadata(filter, from->metadata, from->metadata_size) < 0 ||
        perhaps_set_position(filter, from->position, from->position_size) < 0) {
        perhaps_free(filter);
        return NULL;
    }
    return filter;
}

// `from` is closed to writers.
static perhaps_filter *convert(const perhaps_filter *from, const perhaps_allocator *allocator)
{
    perhaps_filter *filter = make_like(from, allocator);
    if (filter != NULL) {
        const struct perhaps__tally *counted = &from->layers[0]->tally;
        struct perhaps__layer *layer = filter->layers[0];
        perhaps__counting_to_bits(&from->layers[0]->view, perhaps__layer_words(layer));
        layer->tally.used = perhaps__layer_used(layer);
        layer->tally.keys = layer->tally.used > 0 ? counted->keys : 0; // without bits a Bloom filter was never added to
        filter->adds_exact = from->adds_exact && counted->removals == 0;
    }
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
    perhaps__close(from);
    perhaps_filter *filter = convert(from, &allocator);
    perhaps__open(from);
    if (filter == NULL) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_MEMORY}, NULL);
    }
    *out = filter;
    return PERHAPS_OK;
}
