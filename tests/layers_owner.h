// SPDX-License-Identifier: MIT
// A growing cuckoo filter beside an exact account of what it holds.
#ifndef PERHAPS_TESTS_LAYERS_OWNER_H
#define PERHAPS_TESTS_LAYERS_OWNER_H

#include <stdlib.h>
#include <string.h>

#include "filter.h"
#include "support.h"

static inline perhaps_options growing(uint64_t capacity, double fpr)
{
    return SUPPORT_OPTIONS(.kind = PERHAPS_KIND_CUCKOO, .capacity = capacity, .fpr = fpr,
                           .at_capacity = PERHAPS_AT_CAPACITY_GROW, .policy = PERHAPS_POLICY_MULTISET);
}

static inline perhaps_options growing_shared(uint64_t capacity, uint64_t max_capacity)
{
    perhaps_options options = growing(capacity, 0.01);
    options.flags = PERHAPS_SHARED;
    options.max_capacity = max_capacity;
    return options;
}

// ---- a filter beside what it holds: key i is held held[i] times

struct owner {
    perhaps_filter *filter;
    uint8_t *held;
    uint64_t keys;
    uint64_t ambiguous;
};

static inline struct owner make_owner(const perhaps_options *options, uint64_t keys)
{
    struct owner owner = {.filter = support_create(options), .held = support_allocate(keys), .keys = keys};
    memset(owner.held, 0, keys);
    return owner;
}

static inline void free_owner(struct owner *owner)
{
    perhaps_free(owner->filter);
    free(owner->held);
}

static inline void add(struct owner *owner, uint64_t key)
{
    assert_true(perhaps_add_hash(owner->filter, key) >= 0);
    owner->held[key]++;
}

// A key that is held.
static inline void take(struct owner *owner, uint64_t key)
{
    int removed = perhaps_remove_hash(owner->filter, key);
    assert_true(removed == 1 || removed == PERHAPS_E_AMBIGUOUS);
    owner->ambiguous += removed != 1;
    owner->held[key]--;
}

// Every key is there as often as it was added at least, and there are exactly as many copies as are held, and residue.
static inline void check(const struct owner *owner)
{
    uint64_t copies = 0;
    for (uint64_t key = 0; key < owner->keys; key++) {
        assert_true(perhaps_count_at_most_hash(owner->filter, key) >= owner->held[key]);
        assert_true(owner->held[key] == 0 || perhaps_might_contain_hash(owner->filter, key) == 1);
        copies += owner->held[key];
    }
    perhaps_statistics s = support_stats(owner->filter);
    assert_true(s.copies == copies + owner->ambiguous && s.set_bits == s.copies && s.ambiguous == owner->ambiguous);
    assert_true(s.fpr_bound <= s.fpr_target * (1.0 + 1e-12) && s.fpr_now <= s.fpr_target);
}

// Takes keys until one in `keep` is left.
static inline void shrink(struct owner *owner, uint64_t keep, uint64_t seed)
{
    for (uint64_t key = 0; key < owner->keys; key++) {
        while (owner->held[key] > 0 && support_random(&seed) % keep != 0) {
            take(owner, key);
        }
    }
}

static inline uint64_t compact_in_slices(struct owner *owner, uint64_t work)
{
    uint64_t slices = 0;
    int more = 1;
    for (; more == 1; slices++) {
        more = perhaps_compact(owner->filter, work, NULL, NULL);
    }
    assert_int_equal(more, 0);
    return slices;
}

static inline perhaps_filter *shared_copy(const perhaps_filter *filter)
{
    struct support_bytes bytes = support_encode(filter);
    const perhaps_load_options load = {.size = sizeof load, .flags = PERHAPS_OPEN_SHARED};
    perhaps_filter *copy = NULL;
    assert_int_equal(perhaps_decode(bytes.data, bytes.size, &load, &copy, NULL), PERHAPS_OK);
    free(bytes.data);
    return copy;
}

#endif
