// SPDX-License-Identifier: MIT
// From options to a filter: which of n, p and bytes were given, and what follows.
#include <math.h>

#include "errors.h"
#include "filter.h"
#include "kinds.h"
#include "shared.h"

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

// What happens at capacity; fills in the default of `growth`.
static int take_growth(const struct perhaps__kind *kind, perhaps_options *options, perhaps_error *error)
{
    if (options->at_capacity > PERHAPS_AT_CAPACITY_GROW) {
        return fail_option(error, "at_capacity", "there is no choice with this number");
    }
    if (options->at_capacity != PERHAPS_AT_CAPACITY_GROW) {
        bool given = (options->growth | options->max_capacity | options->max_bytes) != 0;
        return given ? fail_option(error, "growth, max_capacity, max_bytes", "are for filters that grow at capacity")
                     : PERHAPS_OK;
    }
    if (!kind->grows) {
        return fail_option(error, "at_capacity", "filters of this kind do not grow; rebuild them at a larger size");
    }
    options->growth = options->growth == 0 ? 2 : options->growth;
    if (options->growth != 2 && options->growth != 4 && options->growth != 8) {
        return fail_option(error, "growth", "a filter grows by a factor of 2, 4 or 8");
    }
    if (options->bytes != 0) {
        return fail_option(error, "bytes",
                           "a filter that grows is made for a capacity and a rate; max_bytes limits it");
    }
    bool planned = options->max_capacity != 0;
    return planned && options->max_capacity < options->capacity
               ? fail_option(error, "max_capacity", "is smaller than the capacity to begin with")
               : PERHAPS_OK;
}

static bool is_zero(const uint8_t *key)
{
    uint8_t bits = 0;
    for (size_t i = 0; i < PERHAPS_KEY_BYTES; i++) {
        bits |= key[i];
    }
    return bits == 0;
}

// The hash source, its default filled in, and the secret key that one of them needs.
static int take_hash(perhaps_options *options, perhaps_error *error)
{
    if (options->hash_source == PERHAPS_HASH_DEFAULT) {
        options->hash_source = options->key != NULL ? PERHAPS_HASH_SIPHASH : PERHAPS_HASH_XXH3;
    }
    if (options->hash_source > PERHAPS_HASH_SIPHASH) {
        return fail_option(error, "hash_source", "there is no hash source with this number");
    }
    if (options->hash_source != PERHAPS_HASH_SIPHASH) {
        return options->key == NULL ? PERHAPS_OK : fail_option(error, "key", "a secret key is for hash source SIPHASH");
    }
    if (options->key == NULL) {
        return fail_option(error, "key", "hash source SIPHASH needs a secret key of 16 bytes");
    }
    if (is_zero(options->key)) {
        return fail_option(error, "key", "a key of nothing but zeros is no secret; take 16 random bytes");
    }
    if (!perhaps__siphash_is_supported()) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_UNSUPPORTED, .subject = "hash_source"},
                             "this library was built without libsodium, and so without keyed filters");
    }
    return PERHAPS_OK;
}

// Takes over and checks everything but the triple.
static int take_options(const perhaps_options *given, perhaps_options *options, struct perhaps__shape *shape,
                        perhaps_error *error)
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
    const struct perhaps__kind *kind = perhaps__kind(options->kind);
    if (kind == NULL) {
        return fail_option(error, "kind", "there is no kind with this number");
    }
    if ((options->flags & ~(uint32_t)(PERHAPS_SHARED | PERHAPS_CLAIM)) != 0) {
        return fail_option(error, "flags", "a flag is set that this release does not know");
    }
    int status = take_hash(options, error);
    status = status < 0 ? status : take_growth(kind, options, error);
    return status < 0 ? status : perhaps__take_shape(kind, options, shape, error);
}

// Fingerprints of a fixed width may be too narrow for p: what could be done?
static int fail_size(const perhaps_options *options, const struct perhaps__shape *asked, perhaps_error *error)
{
    const struct perhaps__kind *kind = perhaps__kind(options->kind);
    struct perhaps__shape free_shape = *asked;
    struct perhaps__size size;
    free_shape.cell_bits = kind->defaults.cell_bits;
    if (free_shape.cell_bits == 0 && asked->cell_bits != 0 &&
        kind->size_of(&free_shape, options->capacity, options->fpr, &size)) {
        struct perhaps__failure failure = {
            .code = PERHAPS_E_OPTION,
            .subject = "fingerprint_bits",
            .value = asked->cell_bits,
            .limit = size.shape.cell_bits,
        };
        return perhaps__fail(error, failure, "%u bits are too few for %llu keys at %g; take %u", asked->cell_bits,
                             (unsigned long long)options->capacity, options->fpr, size.shape.cell_bits);
    }
    struct perhaps__failure failure = {.code = PERHAPS_E_LIMIT, .subject = "capacity", .value = options->capacity};
    return perhaps__fail(error, failure, "more keys than any filter can hold at this rate");
}

static int size_from_capacity_and_fpr(const perhaps_options *options, const struct perhaps__shape *asked,
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
    const struct perhaps__kind *kind = perhaps__kind(options->kind);
    bool first = options->growth != 0 && kind->first_size_of != NULL;
    bool can = (first ? kind->first_size_of : kind->size_of)(asked, options->capacity, options->fpr, size);
    return can ? PERHAPS_OK : fail_size(options, asked, error);
}

static int size_from_bytes(const perhaps_options *options, const struct perhaps__shape *asked,
                           struct perhaps__size *size, perhaps_error *error)
{
    const struct perhaps__kind *kind = perhaps__kind(options->kind);
    uint64_t bits = options->bytes > PERHAPS_MAX_BITS / 8 ? PERHAPS_MAX_BITS : options->bytes * 8;
    if (options->capacity == 0) {
        if (!perhaps__capacity_for(kind->size_of, asked, bits, options->fpr, size)) {
            return fail_limit(error, "bytes",
                              "too few for a single key at this rate; the smallest filter has 64 bytes");
        }
    } else if (!kind->fpr_for(asked, options->capacity, bits, kind->smallest_fpr, kind->largest_fpr, size)) {
        return fail_limit(error, "bytes", "too few for this many keys, even at the largest rate that the kind allows");
    }
    return PERHAPS_OK;
}

// The first layer of a filter that grows has a part of the rate.
static int size_first_layer(const perhaps_options *options, const struct perhaps__shape *asked,
                            struct perhaps__size *size, perhaps_error *error)
{
    const struct perhaps__kind *kind = perhaps__kind(options->kind);
    const struct perhaps__growth growth = {
        .capacity = options->capacity,
        .fpr = options->fpr,
        .smallest_fpr = kind->smallest_fpr,
        .factor = options->growth,
        .max_capacity = options->max_capacity,
        .even = perhaps__grows_evenly(asked),
    };
    perhaps_options first = *options;
    if (!perhaps__growth_layer(&growth, 0, &first.capacity, &first.fpr)) {
        return fail_limit(error, "fpr",
                          "too small to be shared out among layers of this kind; see the range of the kind");
    }
    return size_from_capacity_and_fpr(&first, asked, size, error);
}

static int resolve(const perhaps_options *options, const struct perhaps__shape *asked, struct perhaps__size *size,
                   perhaps_error *error)
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
    if (options->growth != 0) {
        return size_first_layer(options, asked, size, error);
    }
    return options->bytes == 0 ? size_from_capacity_and_fpr(options, asked, size, error)
                               : size_from_bytes(options, asked, size, error);
}

// The options as given, checked, and the size that follows from them.
static int size_given(const perhaps_options *given, perhaps_options *options, struct perhaps__size *size,
                      perhaps_error *error)
{
    struct perhaps__shape asked = {0};
    int status = take_options(given, options, &asked, error);
    return status == PERHAPS_OK ? resolve(options, &asked, size, error) : status;
}

int perhaps_size_for(const perhaps_options *given, perhaps_sizing *sizing, perhaps_error *error)
{
    if (given == NULL || sizing == NULL) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_ARGUMENT}, NULL);
    }
    perhaps_options options;
    struct perhaps__size size = {0};
    int status = size_given(given, &options, &size, error);
    if (status < 0) {
        return status;
    }
    perhaps_sizing result = {
        .kind = options.kind,
        .positions = size.shape.positions,
        .capacity = size.capacity,
        .fpr = size.fpr,
        .fpr_expected = size.fpr_expected,
        .bits = size.bits,
        .bytes = size.bits / 8,
        .bits_per_key = (double)size.bits / (double)size.capacity,
        .policy = size.shape.policy,
        .counter_bits = options.kind == PERHAPS_KIND_COUNTING ? size.shape.cell_bits : 0,
        .slots = size.shape.slots,
        .fingerprint_bits = options.kind == PERHAPS_KIND_CUCKOO ? size.shape.cell_bits : 0,
        .buckets = options.kind == PERHAPS_KIND_CUCKOO ? size.range : 0,
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
    struct perhaps__size size = {0};
    int status = size_given(given, &options, &size, error);
    if (status < 0) {
        return status;
    }
    if (options.max_bytes != 0 && size.bits / 8 > options.max_bytes) {
        return fail_limit(error, "max_bytes", "is less than the first layer takes");
    }
    bool grows = options.growth != 0;
    const struct perhaps__plan plan = {
        .kind = options.kind,
        .hash_source = options.hash_source,
        .seed = options.seed,
        .key = options.key,
        .capacity = grows ? options.capacity : size.capacity,
        .fpr = grows ? options.fpr : size.fpr,
        .at_capacity = options.at_capacity,
        .growth = options.growth,
        .max_capacity = options.max_capacity,
        .max_bytes = options.max_bytes,
    };
    perhaps_allocator allocator;
    (void)perhaps__take_allocator(&allocator, options.allocator); // checked by take_options()
    perhaps_filter *filter = perhaps__filter_new(&allocator, &plan);
    bool made = filter != NULL && (options.flags == 0 || perhaps__shared_begin(filter, options.flags));
    if (!made || perhaps__filter_push(filter, &size) == NULL) {
        perhaps_free(filter);
        return fail_memory(error, size.bits / 8);
    }
    *out = filter;
    return PERHAPS_OK;
}

/* ---------------------------------------------------------------- another one like it */

// Fingerprints of the width that p gives say nothing of what was asked for.
static uint32_t asked_fingerprint_bits(const perhaps_options *options, const struct perhaps__shape *shape)
{
    if (options->kind != PERHAPS_KIND_CUCKOO) {
        return 0;
    }
    struct perhaps__shape asked = *shape;
    struct perhaps__size size = {0};
    asked.positions = asked.layout = asked.cell_bits = 0;
    bool follows = resolve(options, &asked, &size, NULL) == PERHAPS_OK && size.shape.cell_bits == shape->cell_bits;
    return follows ? 0 : shape->cell_bits;
}

static perhaps_options options_of(const perhaps_filter *filter)
{
    const struct perhaps__shape *first = &filter->layers[0]->shape; // of the others, more follows from n and p
    perhaps_options options = {
        .kind = filter->kind,
        .hash_source = filter->hash_source,
        .capacity = filter->capacity,
        .fpr = filter->fpr,
        .seed = filter->seed,
        .policy = first->policy,
        .counter_bits = filter->kind == PERHAPS_KIND_COUNTING ? first->cell_bits : 0,
        .slots = first->slots,
        .search = first->search,
        .at_capacity = filter->at_capacity,
        .growth = filter->growth.factor,
        .max_capacity = filter->growth.max_capacity,
        .max_bytes = filter->max_bytes,
    };
    options.fingerprint_bits = asked_fingerprint_bits(&options, first);
    return options;
}

int perhaps_options_of(const perhaps_filter *filter, perhaps_options *options)
{
    if (filter == NULL || options == NULL) {
        return PERHAPS_E_ARGUMENT;
    }
    perhaps__close(filter);
    perhaps_options result = options_of(filter);
    perhaps__open(filter);
    return perhaps__give_result(options, &result, sizeof result) ? PERHAPS_OK : PERHAPS_E_OPTION;
}
