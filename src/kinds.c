// SPDX-License-Identifier: MIT
#include "kinds.h"

#include "errors.h"

// Sets of policies.
#define MULTISET (1U << PERHAPS_POLICY_MULTISET)
#define UNIQUE (1U << PERHAPS_POLICY_UNIQUE)
#define CONSERVATIVE (1U << PERHAPS_POLICY_CONSERVATIVE)

static const struct perhaps__kind kinds[] = {
    [PERHAPS_KIND_BLOOM] =
        {
            .name = "bloom",
            .smallest_fpr = 1e-9,
            .largest_fpr = 0.5,
            .size_of = perhaps__bloom_size,
            .fpr_for = perhaps__bloom_fpr_for,
            .grows = true,
            .operations = &perhaps__layer_bloom,
        },
    [PERHAPS_KIND_BLOCKED] =
        {
            .name = "blocked",
            .smallest_fpr = 1e-6,
            .largest_fpr = 0.25,
            .size_of = perhaps__blocked_size,
            .fpr_for = perhaps__blocked_fpr_for,
            .grows = true,
            .operations = &perhaps__layer_blocked,
        },
    [PERHAPS_KIND_COUNTING] =
        {
            .name = "counting",
            .smallest_fpr = 1e-9,
            .largest_fpr = 0.5,
            .size_of = perhaps__counting_size,
            .fpr_for = perhaps__counting_fpr_for,
            .defaults = {.cell_bits = 4, .policy = PERHAPS_POLICY_MULTISET},
            .policies = MULTISET | CONSERVATIVE,
            .cell_bits = UINT64_C(1) << 4 | UINT64_C(1) << 8 | UINT64_C(1) << 16,
            .operations = &perhaps__layer_counting,
        },
    [PERHAPS_KIND_CUCKOO] =
        {
            .name = "cuckoo",
            .smallest_fpr = 4e-9,
            .largest_fpr = 0.1,
            .size_of = perhaps__cuckoo_size,
            .first_size_of = perhaps__cuckoo_first_size,
            .next_size_of = perhaps__cuckoo_next_size,
            .fpr_for = perhaps__cuckoo_fpr_for,
            .defaults = {.slots = 4, .policy = PERHAPS_POLICY_MULTISET, .search = PERHAPS_SEARCH_DEFAULT},
            .policies = MULTISET | UNIQUE,
            .cell_bits = ((UINT64_C(1) << 33) - 1) & ~UINT64_C(0xf), // 4 to 32; the default follows from p
            .slots = 1U << 1 | 1U << 2 | 1U << 4 | 1U << 8,
            .grows = true,
            .operations = &perhaps__layer_cuckoo,
        },
};

static const char *const policy_names[] = {
    [PERHAPS_POLICY_MULTISET] = "multiset",
    [PERHAPS_POLICY_UNIQUE] = "unique",
    [PERHAPS_POLICY_CONSERVATIVE] = "conservative",
};

const struct perhaps__kind *perhaps__kind(uint32_t kind)
{
    bool known = kind != PERHAPS_KIND_DEFAULT && kind < PERHAPS_COUNT(kinds);
    return known ? &kinds[kind] : NULL;
}

uint32_t perhaps__resolve_kind(uint32_t kind)
{
    return kind == PERHAPS_KIND_DEFAULT ? PERHAPS_KIND_BLOOM : kind;
}

const char *perhaps__kind_that_can(double fpr)
{
    for (uint32_t kind = 1; kind < PERHAPS_COUNT(kinds); kind++) {
        if (fpr >= kinds[kind].smallest_fpr && fpr <= kinds[kind].largest_fpr) {
            return kinds[kind].name;
        }
    }
    return NULL;
}

const char *perhaps_kind_name(uint32_t kind)
{
    const struct perhaps__kind *row = perhaps__kind(kind);
    return row != NULL ? row->name : NULL;
}

int perhaps_kind_range(uint32_t kind, double *smallest, double *largest)
{
    const struct perhaps__kind *row = perhaps__kind(kind);
    if (row == NULL) {
        return PERHAPS_E_OPTION;
    }
    if (smallest == NULL || largest == NULL) {
        return PERHAPS_E_ARGUMENT;
    }
    *smallest = row->smallest_fpr;
    *largest = row->largest_fpr;
    return PERHAPS_OK;
}

const char *perhaps_policy_name(uint32_t policy)
{
    return policy < PERHAPS_COUNT(policy_names) ? policy_names[policy] : NULL;
}

// An option that the kind does not have, or a value that it does not take.
static int fail_shape(const struct perhaps__kind *kind, const char *option, uint64_t value, perhaps_error *error)
{
    return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_OPTION, .subject = option, .value = value},
                         "%llu is not something that kind %s takes for %s", (unsigned long long)value, kind->name,
                         option);
}

static bool in_set(uint64_t set, uint32_t value)
{
    return value < 64 && (set >> value & 1) != 0;
}

int perhaps__take_shape(const struct perhaps__kind *kind, const perhaps_options *options, struct perhaps__shape *shape,
                        perhaps_error *error)
{
    bool counts = kind->operations == &perhaps__layer_counting;
    uint32_t cell_bits = counts ? options->counter_bits : options->fingerprint_bits;
    const struct {
        const char *option;
        uint32_t asked;
        uint64_t set;
    } checks[] = {
        {"policy", options->policy, kind->policies},
        {"counter_bits", options->counter_bits, counts ? kind->cell_bits : 0},
        {"fingerprint_bits", options->fingerprint_bits, counts ? 0 : kind->cell_bits},
        {"slots", options->slots, kind->slots},
    };
    for (size_t i = 0; i < PERHAPS_COUNT(checks); i++) {
        if (checks[i].asked != 0 && !in_set(checks[i].set, checks[i].asked)) {
            return fail_shape(kind, checks[i].option, checks[i].asked, error);
        }
    }
    if (options->search != 0 &&
        (kind->defaults.search == 0 || options->search < 2 || options->search > PERHAPS_SEARCH_MAX)) {
        return fail_shape(kind, "search", options->search, error);
    }
    *shape = kind->defaults;
    bool grows = options->at_capacity == PERHAPS_AT_CAPACITY_GROW;
    if (grows && in_set(kind->policies, PERHAPS_POLICY_UNIQUE)) {
        shape->policy = PERHAPS_POLICY_UNIQUE; // many adds of few keys would grow a filter that keeps copies
    }
    shape->policy = options->policy != 0 ? options->policy : shape->policy;
    shape->cell_bits = cell_bits != 0 ? cell_bits : shape->cell_bits;
    shape->slots = options->slots != 0 ? options->slots : shape->slots;
    shape->search = options->search != 0 ? options->search : shape->search;
    return PERHAPS_OK;
}
