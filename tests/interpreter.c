// SPDX-License-Identifier: MIT
#include "interpreter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interpreter_keys.h"
#include "interpreter_run.h"

// ---- encoded form

struct encoded encode(struct run *run)
{
    perhaps_statistics statistics = {.size = sizeof statistics};
    CHECK(run, perhaps_stats(current(run), &statistics) == PERHAPS_OK, "stats fails");
    struct encoded encoded = {.bytes = malloc((size_t)statistics.encoded_bytes + 1)};
    size_t size = (size_t)statistics.encoded_bytes;
    CHECK(run, perhaps_encode(current(run), encoded.bytes, size, &encoded.size, NULL) == PERHAPS_OK, "encode fails");
    CHECK(run, encoded.size == size, "encode writes another number of bytes than the statistics tell");
    return encoded;
}

void check_unchanged(struct run *run, struct encoded before, const char *text)
{
    struct encoded now = encode(run);
    CHECK(run, now.size == before.size && memcmp(now.bytes, before.bytes, now.size) == 0, text);
    free(now.bytes);
}

// ---- whole filters

// Filters that are full refuse to merge, and both stay what they were.
static void merge(struct run *run)
{
    perhaps_filter *other = run->filters[run->which ^ 1];
    struct encoded before = encode(run);
    int status = perhaps_merge(current(run), other, NULL);
    if (status < 0) {
        if (run->options.growth != 0) {
            CHECK(run, status == PERHAPS_E_UNSUPPORTED, "a filter that grows is merged, or refused as something else");
        } else {
            check_refusal(run, status);
        }
        check_unchanged(run, before, "a refused merge changes the filter");
        free(before.bytes);
        return;
    }
    struct model *into = current_model(run);
    const struct model *from = &run->models[run->which ^ 1];
    into->results += from->results;
    into->removals += from->removals;
    for (unsigned i = 0; i < run->keys; i++) {
        uint32_t sum = into->count[i] + from->count[i];
        into->count[i] = counts_copies(run) ? sum : sum > 0;
    }
    free(before.bytes);
}

static const uint8_t secret[PERHAPS_KEY_BYTES] = {7};
static const uint8_t other_secret[PERHAPS_KEY_BYTES] = {8};

static void merge_what_does_not_fit(struct run *run)
{
    perhaps_options options = run->options;
    unsigned what = next_byte(run) % 3U;
    if (what == 0) {
        options.seed++;
    } else if (what == 1) {
        options.capacity += 5000;
        options.max_capacity = 0;
        options.max_bytes = 0;
    } else if (options.key != NULL && next_byte(run) % 2 == 0) {
        options.key = other_secret;
    } else {
        options.hash_source = is_caller(run) ? PERHAPS_HASH_XXH3 : PERHAPS_HASH_CALLER;
        options.key = NULL;
    }
    perhaps_filter *stranger = NULL;
    CHECK(run, perhaps_create(&options, &stranger, NULL) == PERHAPS_OK, "a filter is not created");
    CHECK(run, perhaps_add_hash(stranger, 1) == 1, "an empty filter knows a key");
    struct encoded before = encode(run);
    int expected = run->options.growth != 0 ? PERHAPS_E_UNSUPPORTED : PERHAPS_E_MISMATCH;
    CHECK(run, perhaps_merge(current(run), stranger, NULL) == expected, "a merge is not refused");
    check_unchanged(run, before, "a refused merge changes the filter");
    run->counts.merges_refused++;
    free(before.bytes);
    perhaps_free(stranger);
}

// To a Bloom filter, which answers alike; nothing else can be converted.
static void convert(struct run *run)
{
    perhaps_filter *bloom = NULL;
    int status = perhaps_convert(current(run), PERHAPS_KIND_BLOOM, &run->allocator, &bloom, NULL);
    bool can = run->options.kind == PERHAPS_KIND_COUNTING;
    CHECK(run, status == (can ? PERHAPS_OK : PERHAPS_E_UNSUPPORTED) && can == (bloom != NULL),
          "a conversion goes wrong");
    for (uint64_t i = 0; bloom != NULL && i < 2 * run->keys; i++) {
        uint64_t hash = i < run->keys ? hash_of(run, (unsigned)i) : i * UINT64_C(0x9e3779b97f4a7c15);
        int answer = perhaps_might_contain_hash(current(run), hash);
        CHECK(run, perhaps_might_contain_hash(bloom, hash) == answer, "a converted filter answers otherwise");
    }
    perhaps_free(bloom);
}

static int decode(struct run *run, struct encoded encoded, perhaps_filter **filter)
{
    const perhaps_load_options options = {
        .size = sizeof options, .allocator = &run->allocator, .key = run->options.key};
    return perhaps_decode(encoded.bytes, encoded.size, &options, filter, NULL);
}

static void encode_and_decode(struct run *run)
{
    struct encoded encoded = encode(run);
    perhaps_filter *copy = NULL;
    CHECK(run, decode(run, encoded, &copy) == PERHAPS_OK, "a filter is not read back");
    if (copy != NULL) {
        perhaps_free(current(run));
        run->filters[run->which] = copy;
        check_unchanged(run, encoded, "a filter that was read back encodes to other bytes");
    }
    free(encoded.bytes);
}

static void decode_without_memory(struct run *run)
{
    struct encoded encoded = encode(run);
    perhaps_filter *copy = NULL;
    uint64_t blocks = run->memory.live_blocks;
    run->memory.fail_at = run->memory.calls + 1 + next_byte(run) % 4;
    int result = decode(run, encoded, &copy);
    CHECK(run, result == PERHAPS_E_MEMORY && copy == NULL, "a failed allocation goes unnoticed");
    CHECK(run, run->memory.live_blocks == blocks, "memory is left after a failed allocation");
    run->memory.fail_at = 0;
    run->counts.allocations_failed++;
    perhaps_free(copy);
    free(encoded.bytes);
}

static void decode_damaged(struct run *run)
{
    struct encoded encoded = encode(run);
    size_t place = ((size_t)next_byte(run) << 16 | next_number(run, 65536)) % encoded.size;
    encoded.bytes[place] ^= (uint8_t)(1U << next_byte(run) % 8);
    perhaps_filter *copy = NULL;
    int result = decode(run, encoded, &copy);
    CHECK(run, copy == NULL && (result == PERHAPS_E_DAMAGED || result == PERHAPS_E_NOT_A_FILTER), "damage is accepted");
    run->counts.damage_refused++;
    perhaps_free(copy);
    free(encoded.bytes);
}

static void clear(struct run *run)
{
    CHECK(run, perhaps_clear(current(run)) == PERHAPS_OK, "clear fails");
    memset(&run->models[run->which], 0, sizeof run->models[run->which]);
    for (unsigned i = 0; i < run->keys; i += 7) {
        CHECK(run, ask_one(run, i, false) == 0, "a cleared filter knows a key");
    }
}

// Some slices. What can be compacted, and what was done, must hold together; that no key is lost is checked by the others.
static void compact(struct run *run)
{
    struct encoded before = encode(run);
    bool cuckoo = run->options.kind == PERHAPS_KIND_CUCKOO;
    bool may_refuse = !cuckoo || run->options.flags != 0; // shared, until it was read back
    bool refused = false;
    unsigned slices = 1U + next_byte(run) % 8U;
    uint64_t work = next_byte(run);
    for (unsigned i = 0; i < slices && run->failure == NULL; i++) {
        perhaps_compaction done = {.size = sizeof done};
        int status = perhaps_compact(current(run), work, &done, NULL);
        refused = status == PERHAPS_E_UNSUPPORTED;
        CHECK(run, refused ? may_refuse : cuckoo && (status == 0 || status == 1), "compacting fails, or does not");
        CHECK(run, work != 0 || status != 1, "compacting everything leaves something");
        run->counts.moved += done.moved;
        run->counts.dropped += done.dropped;
    }
    if (refused) {
        check_unchanged(run, before, "refused compacting changes the filter");
    }
    free(before.bytes);
}

static void set_metadata(struct run *run)
{
    uint8_t text[256];
    size_t length = next_byte(run);
    memset(text, next_byte(run), sizeof text);
    CHECK(run, perhaps_set_metadata(current(run), text, length) == PERHAPS_OK, "metadata is not set");
    const void *stored;
    size_t stored_length;
    CHECK(run, perhaps_metadata(current(run), &stored, &stored_length) == PERHAPS_OK, "metadata is not told");
    CHECK(run, stored_length == length && (length == 0 || memcmp(stored, text, length) == 0), "metadata differs");
}

// What the statistics say the filter holds, beside what it holds.
static void check_contents(struct run *run, const perhaps_statistics *s)
{
    const struct model *model = current_model(run);
    uint64_t distinct = 0;
    uint64_t copies = 0;
    for (unsigned i = 0; i < run->keys; i++) {
        distinct += model->count[i] > 0;
        copies += model->count[i];
    }
    uint32_t kind = run->options.kind;
    CHECK(run, distinct == 0 || s->set_bits > 0, "keys without bits");
    CHECK(run, s->layers == 1 || run->options.growth != 0, "layers in a filter that does not grow");
    CHECK(run, s->fpr_bound <= s->fpr_target * (1.0 + 1e-12), "layers promise more than the filter may");
    bool bounded = run->options.at_capacity != PERHAPS_AT_CAPACITY_GO_ON && s->adds_exact && s->removals == 0;
    CHECK(run, !bounded || s->adds <= s->capacity_now + s->capacity_now / 2 + 4, "more keys than there is room for");
    run->counts.layers += s->layers;
    CHECK(run, s->removals > 0 || !s->adds_exact || s->adds <= distinct, "more adds than keys");
    if (kind == PERHAPS_KIND_CUCKOO) {
        CHECK(run, s->set_bits == s->copies && s->copies <= (counts_copies(run) ? copies : distinct), "slots differ");
        CHECK(run, !counts_copies(run) || s->copies == copies, "copies and slots differ");
        CHECK(run, s->set_bits <= s->buckets * s->slots && s->distinct_estimate == (double)s->set_bits, "no load");
    } else {
        CHECK(run, s->set_bits <= s->bits && (s->fill < 1.0) == (isfinite(s->distinct_estimate) != 0), "no estimate");
        CHECK(run, s->copies == (counts_copies(run) ? copies : 0), "copies differ");
    }
    if (kind < PERHAPS_KIND_COUNTING) {
        CHECK(run, distinct > 0 || s->set_bits == 0, "bits without keys");
        CHECK(run, s->layers > 1 || s->set_bits <= distinct * s->positions, "more bits than keys can set");
    }
}

static void check_statistics(struct run *run)
{
    perhaps_statistics s = {.size = sizeof s};
    CHECK(run, perhaps_stats(current(run), &s) == PERHAPS_OK, "stats fails");
    const struct model *model = current_model(run);
    CHECK(run, s.capacity == run->options.capacity && s.fpr_target == run->options.fpr, "options are not kept");
    CHECK(run, s.seed == run->options.seed, "the seed is not kept");
    CHECK(run, s.adds == model->results && s.removals == model->removals, "results differ from those that were given");
    CHECK(run, s.fpr_now >= 0.0 && s.fpr_now <= 1.0 && s.fill >= 0.0 && s.fill <= 1.0, "a rate is none");
    CHECK(run, s.distinct_estimate >= 0.0, "no estimate");
    check_contents(run, &s);
}

static void check_all_present(struct run *run)
{
    for (unsigned i = 0; i < run->keys; i++) {
        check_answer(run, i, ask_one(run, i, (i & 1) != 0));
    }
}

// ---- the interpreter

static void step(struct run *run)
{
    static void (*const operations[])(struct run *) = {
        add_one,
        add_many,
        ask,
        ask_many,
        ask_counts,
        count_many,
        remove_one,
        remove_many,
        add_many_with_a_bad_key,
        merge,
        merge_what_does_not_fit,
        convert,
        encode_and_decode,
        decode_damaged,
        decode_without_memory,
        set_metadata,
        check_statistics,
        check_all_present,
        add_one,
        add_many,
        remove_many,
        clear,
        compact,
    };
    _Static_assert(sizeof operations / sizeof operations[0] == INTERPRETER_OPERATIONS, "counts for each operation");
    uint8_t byte = next_byte(run);
    unsigned operation = (byte & 0x7f) % INTERPRETER_OPERATIONS;
    run->which = byte >> 7;
    run->counts.operations[operation]++;
    operations[operation](run);
}

// The shape of kinds that have one to choose.
static void choose_shape(struct run *run)
{
    static const uint32_t policies[2][2] = {{PERHAPS_POLICY_MULTISET, PERHAPS_POLICY_CONSERVATIVE},
                                            {PERHAPS_POLICY_MULTISET, PERHAPS_POLICY_UNIQUE}};
    uint8_t byte = next_byte(run);
    bool cuckoo = run->options.kind == PERHAPS_KIND_CUCKOO;
    if (run->options.kind < PERHAPS_KIND_COUNTING) {
        return;
    }
    run->options.policy = policies[cuckoo][byte & 1];
    if (!cuckoo) {
        run->options.counter_bits = UINT32_C(4) << (byte >> 1) % 3U;
        return;
    }
    run->options.slots = UINT32_C(1) << (byte >> 1) % 4U;
    run->options.fingerprint_bits = (byte & 8) != 0 ? 0 : 32;
    run->options.search = (byte & 16) != 0 ? 0 : 2 + next_byte(run) % 30U;
}

// What happens at capacity, and whether threads could share the filter: that changes nothing for one alone.
static void choose_limits(struct run *run)
{
    uint8_t byte = next_byte(run);
    run->options.flags = (byte >> 6) % 3U;
    if ((byte & 3) == 1) {
        run->options.at_capacity = PERHAPS_AT_CAPACITY_REFUSE;
    } else if ((byte & 3) == 2 && run->options.kind != PERHAPS_KIND_COUNTING) {
        run->options.at_capacity = PERHAPS_AT_CAPACITY_GROW;
        run->options.growth = UINT32_C(2) << (byte >> 2) % 3U;
        run->options.max_capacity = (byte & 16) != 0 ? 400 : 0;
        run->options.max_capacity = run->options.max_capacity < run->options.capacity ? 0 : run->options.max_capacity;
        run->options.max_bytes = (byte & 32) != 0 ? 16384 : 0;
    }
}

// Builds without libsodium take XXH3 where others take SipHash.
static void choose_hash(struct run *run)
{
    static const uint32_t sources[] = {PERHAPS_HASH_CALLER, PERHAPS_HASH_SIPHASH, PERHAPS_HASH_XXH3, PERHAPS_HASH_XXH3};
    run->options.hash_source = sources[next_byte(run) % 4];
#ifdef PERHAPS_KEYED
    run->options.key = run->options.hash_source == PERHAPS_HASH_SIPHASH ? secret : NULL;
    run->counts.keyed += run->options.key != NULL;
#else
    (void)secret;
    run->options.hash_source =
        run->options.hash_source == PERHAPS_HASH_SIPHASH ? PERHAPS_HASH_XXH3 : run->options.hash_source;
#endif
}

// Any kind there is, small and large, at rates all over its range. What few keys cannot fill takes time for nothing.
static void choose_options(struct run *run)
{
    static const uint64_t capacities[2][6] = {{1, 3, 8, 20, 40, 100}, {1, 3, 20, 100, 500, 3000}};
    static const double rates[] = {0.5, 0.25, 0.1, 0.01, 1e-3, 1e-6};
    uint32_t kinds = 0;
    while (perhaps_kind_name(kinds + 1) != NULL) {
        kinds++;
    }
    double smallest = 0.0;
    double largest = 0.0;
    run->options.size = sizeof run->options;
    run->options.kind = 1 + next_byte(run) % kinds;
    CHECK(run, perhaps_kind_range(run->options.kind, &smallest, &largest) == PERHAPS_OK, "a kind has no range");
    choose_hash(run);
    run->options.capacity = capacities[run->keys == KEYS][next_byte(run) % 6];
    run->options.fpr = fmin(fmax(rates[next_byte(run) % 6], smallest), largest);
    run->options.seed = next_byte(run);
    choose_shape(run);
    choose_limits(run);
    run->options.allocator = &run->allocator;
    run->counts.kinds[run->options.kind]++;
}

static void count(struct interpreter_counts *into, const struct interpreter_counts *from)
{
    for (unsigned i = 0; i < INTERPRETER_OPERATIONS; i++) {
        into->operations[i] += from->operations[i];
    }
    for (unsigned i = 0; i < 8; i++) {
        into->kinds[i] += from->kinds[i];
    }
    into->false_positives += from->false_positives;
    into->counts_exact += from->counts_exact;
    into->adds_refused += from->adds_refused;
    into->growing += from->growing;
    into->keyed += from->keyed;
    into->layers += from->layers;
    into->ambiguous += from->ambiguous;
    into->moved += from->moved;
    into->dropped += from->dropped;
    into->merges_refused += from->merges_refused;
    into->allocations_failed += from->allocations_failed;
    into->damage_refused += from->damage_refused;
}

// A rate too small to be shared out among layers, or a first layer too large for the limit, are the only things wrong that
// options above can be; those filters do not grow.
static void make_filters(struct run *run)
{
    perhaps_sizing sizing = {.size = sizeof sizing};
    if (run->options.growth != 0 && (perhaps_size_for(&run->options, &sizing, NULL) != PERHAPS_OK ||
                                     (run->options.max_bytes != 0 && sizing.bytes > run->options.max_bytes))) {
        run->options.at_capacity = PERHAPS_AT_CAPACITY_GO_ON;
        run->options.growth = 0;
        run->options.max_capacity = 0;
        run->options.max_bytes = 0;
    }
    run->counts.growing += run->options.growth != 0;
    for (unsigned i = 0; i < 2; i++) {
        CHECK(run, perhaps_create(&run->options, &run->filters[i], NULL) == PERHAPS_OK, "a filter is not created");
    }
}

const char *interpret(const uint8_t *bytes, size_t size, unsigned keys, struct interpreter_counts *counts)
{
    struct run run = {.at = bytes, .end = size > 0 ? bytes + size : bytes}; // NULL plus 0 is undefined
    run.keys = keys < KEYS ? keys : KEYS;
    run.allocator = support_memory_allocator(&run.memory);
    choose_options(&run);
    make_filters(&run);
    while (run.at < run.end && run.failure == NULL) {
        step(&run);
    }
    for (run.which = 0; run.which < 2 && run.failure == NULL; run.which++) {
        check_all_present(&run);
        check_statistics(&run);
    }
    perhaps_free(run.filters[0]);
    perhaps_free(run.filters[1]);
    CHECK(&run, support_memory_is_clean(&run.memory), "memory is left, or was released with another size");
    if (counts != NULL) {
        count(counts, &run.counts);
    }
    return run.failure;
}
