// SPDX-License-Identifier: MIT
// From options to a filter: which of n, p and bytes were given, and what follows.
#include <math.h>

#include "errors.h"
#include "filter.h"
#include "kinds.h"

static int fail_option(perhaps_error *error, const char *option, const char *text)
{
    return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_OPTION, .subject = option}, "%s", text);
}

static int fail_limit(perhaps_error *error, const char *option, const char *text)
{
    return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_LIMIT, .subject = option}, "%s", text);
}

static int check_fpr(const perhaps_options *options, const struct perhaps__kind *kind, perhaps_error *error)
{
    struct perhaps__failure failure = {.code = PERHAPS_E_OPTION, .subject = "fpr"};
    double fpr = options->fpr;
    if (!(fpr > 0.0 && fpr < 1.0)) {
        return perhaps__fail(error, failure, "a false-positive rate lies between 0 and 1, not at %g", fpr);
    }
    if (fpr >= kind->smallest_fpr && fpr <= kind->largest_fpr) {
        return PERHAPS_OK;
    }
    const char *other = perhaps__kind_that_can(fpr);
    return perhaps__fail(error, failure, "%g is outside the range of kind %s, %g to %g; %s%s", fpr, kind->name,
                         kind->smallest_fpr, kind->largest_fpr, other != NULL ? "take kind " : "no kind goes there",
                         other != NULL ? other : "");
}

// Takes over and checks everything but the triple.
static int take_options(const perhaps_options *given, perhaps_options *options, perhaps_error *error)
{
    memset(options, 0, sizeof *options);
    if (!perhaps__take_options(options, sizeof *options, given)) {
        return fail_option(error, "options", "size is not set, or a field is used that this release does not know");
    }
    perhaps_allocator allocator;
    if (!perhaps__take_allocator(&allocator, options->allocator)) {
        return fail_option(error, "allocator", "both allocate and release must be given");
    }
    options->kind = perhaps__resolve_kind(options->kind);
    if (perhaps__kind(options->kind) == NULL) {
        return fail_option(error, "kind", "there is no kind with this number");
    }
    if (options->hash_source == PERHAPS_HASH_DEFAULT) {
        options->hash_source = PERHAPS_HASH_XXH3;
    }
    if (options->hash_source > PERHAPS_HASH_CALLER) {
        return fail_option(error, "hash_source", "there is no hash source with this number");
    }
    return PERHAPS_OK;
}

static int size_from_capacity_and_fpr(const perhaps_options *options, const struct perhaps__kind *kind,
                                      struct perhaps__size *size, perhaps_error *error)
{
    struct perhaps__failure failure = {.code = PERHAPS_E_LIMIT, .subject = "capacity", .value = options->capacity};
    double floor_rate = perhaps__hash_floor(options->capacity);
    if (floor_rate > options->fpr / 4.0) {
        return perhaps__fail(
            error, failure,
            "a 64-bit hash alone confuses keys at a rate of %.3g at this capacity, more than a quarter of "
            "%g; ask for fewer keys or a larger rate",
            floor_rate, options->fpr);
    }
    if (!kind->size_of(options->capacity, options->fpr, size)) {
        return perhaps__fail(error, failure, "more keys than any filter can hold at this rate");
    }
    return PERHAPS_OK;
}

static int size_from_bytes(const perhaps_options *options, const struct perhaps__kind *kind, struct perhaps__size *size,
                           perhaps_error *error)
{
    uint64_t bits = options->bytes > PERHAPS_MAX_BITS / 8 ? PERHAPS_MAX_BITS : options->bytes * 8;
    if (options->capacity == 0) {
        if (!perhaps__capacity_for(kind->size_of, bits, options->fpr, size)) {
            return fail_limit(error, "bytes",
                              "too few for a single key at this rate; the smallest filter has 64 bytes");
        }
    } else if (!kind->fpr_for(options->capacity, bits, kind->smallest_fpr, kind->largest_fpr, size)) {
        return fail_limit(error, "bytes", "too few for this many keys, even at the largest rate that the kind allows");
    }
    return PERHAPS_OK;
}

static int resolve(const perhaps_options *options, struct perhaps__size *size, perhaps_error *error)
{
    const struct perhaps__kind *kind = perhaps__kind(options->kind);
    bool has_fpr = options->fpr != 0.0; // NaN is given, and wrong
    int given = (options->capacity != 0) + has_fpr + (options->bytes != 0);
    if (given != 2) {
        return fail_option(error, "capacity, fpr, bytes", "give two of the three, none of them zero");
    }
    if (has_fpr) {
        int status = check_fpr(options, kind, error);
        if (status < 0) {
            return status;
        }
    }
    return options->bytes == 0 ? size_from_capacity_and_fpr(options, kind, size, error)
                               : size_from_bytes(options, kind, size, error);
}

int perhaps_size_for(const perhaps_options *given, perhaps_sizing *sizing, perhaps_error *error)
{
    if (given == NULL || sizing == NULL) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_ARGUMENT}, NULL);
    }
    perhaps_options options;
    struct perhaps__size size = {0};
    int status = take_options(given, &options, error);
    if (status == PERHAPS_OK) {
        status = resolve(&options, &size, error);
    }
    if (status < 0) {
        return status;
    }
    perhaps_sizing result = {
        .kind = options.kind,
        .positions = size.positions,
        .capacity = size.capacity,
        .fpr = size.fpr,
        .fpr_expected = size.fpr_expected,
        .bits = size.bits,
        .bytes = size.bits / 8,
        .bits_per_key = (double)size.bits / (double)size.capacity,
    };
    if (!perhaps__give_result(sizing, &result, sizeof result)) {
        return fail_option(error, "sizing", "size is not set, or is that of a newer release");
    }
    return PERHAPS_OK;
}

static int fail_memory(perhaps_error *error, uint64_t bytes)
{
    return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_MEMORY, .value = bytes},
                         "not enough memory for a filter of %llu bytes; ask for fewer keys or a larger rate",
                         (unsigned long long)bytes);
}

int perhaps_create(const perhaps_options *given, perhaps_filter **out, perhaps_error *error)
{
    if (given == NULL || out == NULL) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_ARGUMENT}, NULL);
    }
    perhaps_options options;
    struct perhaps__plan plan = {0};
    int status = take_options(given, &options, error);
    if (status == PERHAPS_OK) {
        status = resolve(&options, &plan.size, error);
    }
    if (status < 0) {
        return status;
    }
    plan.kind = options.kind;
    plan.hash_source = options.hash_source;
    plan.seed = options.seed;
    perhaps_allocator allocator;
    (void)perhaps__take_allocator(&allocator, options.allocator); // checked by take_options()
    perhaps_filter *filter = perhaps__filter_new(&allocator, &plan);
    if (filter == NULL || !perhaps__filter_allocate(filter)) {
        perhaps_free(filter);
        return fail_memory(error, plan.size.bits / 8);
    }
    *out = filter;
    return PERHAPS_OK;
}
