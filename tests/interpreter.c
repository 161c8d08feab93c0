// SPDX-License-Identifier: MIT
#include "interpreter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support_keys.h"
#include "support_memory.h"

// Keys are numbered; the model is a table of which were added.
#define KEYS 512
#define MOST_IN_BATCH 300

struct model {
    bool added[KEYS];
    uint64_t results; // adds that returned 1, as the statistics count them
};

struct run {
    const uint8_t *at;
    const uint8_t *end;
    perhaps_options options;
    struct support_memory memory;
    perhaps_allocator allocator;
    perhaps_filter *filters[2];
    struct model models[2];
    unsigned which; // the filter of the current operation
    const char *failure;
    struct interpreter_counts counts;
};

#define CHECK(run, condition, text)                                                                                    \
    do {                                                                                                               \
        if (!(condition) && (run)->failure == NULL) {                                                                  \
            (run)->failure = (text);                                                                                   \
        }                                                                                                              \
    } while (0)

static uint8_t next_byte(struct run *run)
{
    return run->at < run->end ? *run->at++ : 0;
}

static unsigned next_number(struct run *run, unsigned limit)
{
    unsigned high = next_byte(run);
    return (high << 8 | next_byte(run)) % limit;
}

static perhaps_filter *current(struct run *run)
{
    return run->filters[run->which];
}

static bool is_caller(const struct run *run)
{
    return run->options.hash_source == PERHAPS_HASH_CALLER;
}

// Key 0 is the empty one.
static size_t key_of(unsigned number, uint8_t key[SUPPORT_KEY_MAX])
{
    return number == 0 ? 0 : support_key((enum support_family)(number % SUPPORT_FAMILIES), number, key);
}

static uint64_t hash_of(struct run *run, unsigned number)
{
    uint8_t key[SUPPORT_KEY_MAX];
    uint64_t hash = number; // good enough for filters whose caller hashes: hashes are mixed
    if (!is_caller(run)) {
        CHECK(run, perhaps_hash(current(run), key, key_of(number, key), &hash) == PERHAPS_OK, "hash fails");
    }
    return hash;
}

// ---- encoded form

struct encoded {
    uint8_t *bytes;
    size_t size;
};

static struct encoded encode(struct run *run)
{
    perhaps_statistics statistics = {.size = sizeof statistics};
    CHECK(run, perhaps_stats(current(run), &statistics) == PERHAPS_OK, "stats fails");
    struct encoded encoded = {.bytes = malloc((size_t)statistics.encoded_bytes + 1)};
    size_t size = (size_t)statistics.encoded_bytes;
    CHECK(run, perhaps_encode(current(run), encoded.bytes, size, &encoded.size, NULL) == PERHAPS_OK, "encode fails");
    CHECK(run, encoded.size == size, "encode writes another number of bytes than the statistics tell");
    return encoded;
}

static void check_unchanged(struct run *run, struct encoded before, const char *text)
{
    struct encoded now = encode(run);
    CHECK(run, now.size == before.size && memcmp(now.bytes, before.bytes, now.size) == 0, text);
    free(now.bytes);
}

// ---- one key

static void check_answer(struct run *run, unsigned number, int answer)
{
    const struct model *model = &run->models[run->which];
    CHECK(run, answer == 0 || answer == 1, "an answer is neither 0 nor 1");
    CHECK(run, answer == 1 || !model->added[number], "FALSE NEGATIVE");
    run->counts.false_positives += answer == 1 && !model->added[number];
}

static int ask_one(struct run *run, unsigned number, bool by_hash)
{
    if (by_hash || is_caller(run)) {
        uint64_t hash = hash_of(run, number);
        int answer = perhaps_might_contain_hash(current(run), hash);
        CHECK(run, perhaps_ask_hash(current(run), hash) == answer, "the two look-ups by hash do not agree");
        return answer;
    }
    uint8_t key[SUPPORT_KEY_MAX];
    return perhaps_might_contain(current(run), key, key_of(number, key));
}

static void note_added(struct run *run, unsigned number, int result, int answer_before)
{
    struct model *model = &run->models[run->which];
    CHECK(run, result == 0 || result == 1, "an add returns neither 0 nor 1");
    CHECK(run, result == 0 || !model->added[number], "an add calls a key new that had been added");
    CHECK(run, result != answer_before, "an add and the answer before it do not agree");
    model->added[number] = true;
    model->results += result == 1;
}

static void add_one(struct run *run)
{
    unsigned number = next_number(run, KEYS);
    bool by_hash = (next_byte(run) & 1) != 0;
    int before = ask_one(run, number, !by_hash);
    check_answer(run, number, before);
    uint8_t key[SUPPORT_KEY_MAX];
    int result = by_hash || is_caller(run) ? perhaps_add_hash(current(run), hash_of(run, number))
                                           : perhaps_add(current(run), key, key_of(number, key));
    note_added(run, number, result, before);
    check_answer(run, number, ask_one(run, number, by_hash));
}

static void ask(struct run *run)
{
    unsigned number = next_number(run, KEYS);
    check_answer(run, number, ask_one(run, number, (next_byte(run) & 1) != 0));
}

// ---- many keys

struct batch {
    uint8_t data[1 + MOST_IN_BATCH * SUPPORT_KEY_MAX];
    uint64_t offsets[MOST_IN_BATCH + 1];
    const void *pointers[MOST_IN_BATCH];
    size_t lengths[MOST_IN_BATCH];
    uint64_t hashes[MOST_IN_BATCH];
    uint8_t out[MOST_IN_BATCH];
    unsigned numbers[MOST_IN_BATCH];
    size_t count;
    unsigned shape; // 0 offsets, 1 pointers, 2 hashes
};

// Numbers that run on from a first one by a step of their own, so that short input makes large batches with
// repetitions.
static struct batch *make_batch(struct run *run)
{
    struct batch *batch = calloc(1, sizeof *batch);
    unsigned first = next_number(run, KEYS);
    unsigned step = next_byte(run);
    batch->count = next_number(run, MOST_IN_BATCH);
    batch->offsets[0] = 1; // so that there is something below the first one
    batch->shape = is_caller(run) ? 2 : next_byte(run) % 3U;
    for (size_t i = 0; i < batch->count; i++) {
        batch->numbers[i] = (first + (unsigned)i * step) % KEYS;
        uint8_t *key = batch->data + batch->offsets[i];
        batch->lengths[i] = key_of(batch->numbers[i], key);
        batch->pointers[i] = batch->lengths[i] > 0 ? key : NULL;
        batch->offsets[i + 1] = batch->offsets[i] + batch->lengths[i];
        batch->hashes[i] = hash_of(run, batch->numbers[i]);
    }
    return batch;
}

static int add_batch(struct run *run, struct batch *batch, size_t *done)
{
    perhaps_filter *filter = current(run);
    if (batch->shape == 0) {
        return perhaps_add_many(filter, batch->data, batch->offsets, batch->count, batch->out, done);
    }
    if (batch->shape == 1) {
        return perhaps_add_many_pointers(filter, batch->pointers, batch->lengths, batch->count, batch->out, done);
    }
    return perhaps_add_many_hash(filter, batch->hashes, batch->count, batch->out, done);
}

static int ask_batch(struct run *run, struct batch *batch, size_t *done)
{
    const perhaps_filter *filter = current(run);
    if (batch->shape == 0) {
        return perhaps_might_contain_many(filter, batch->data, batch->offsets, batch->count, batch->out, done);
    }
    if (batch->shape == 1) {
        return perhaps_might_contain_many_pointers(filter, batch->pointers, batch->lengths, batch->count, batch->out,
                                                   done);
    }
    return perhaps_might_contain_many_hash(filter, batch->hashes, batch->count, batch->out, done);
}

// The answer before a key's turn in the batch is not known, so the add's result stands for it.
static void note_batch(struct run *run, const struct batch *batch, size_t done)
{
    for (size_t i = 0; i < done; i++) {
        note_added(run, batch->numbers[i], batch->out[i], batch->out[i] == 0);
    }
}

static void add_many(struct run *run)
{
    struct batch *batch = make_batch(run);
    size_t done = SIZE_MAX;
    CHECK(run, add_batch(run, batch, &done) == PERHAPS_OK, "a batch of adds fails");
    CHECK(run, done == batch->count, "a batch of adds is not done");
    note_batch(run, batch, done);
    free(batch);
}

static void ask_many(struct run *run)
{
    struct batch *batch = make_batch(run);
    size_t done = SIZE_MAX;
    CHECK(run, ask_batch(run, batch, &done) == PERHAPS_OK, "a batch of questions fails");
    CHECK(run, done == batch->count, "a batch of questions is not done");
    for (size_t i = 0; i < done && i < batch->count; i++) {
        check_answer(run, batch->numbers[i], batch->out[i]);
        CHECK(run, batch->out[i] == ask_one(run, batch->numbers[i], false), "batch and single call do not agree");
    }
    free(batch);
}

// One of the keys is none: those before it are added.
static void add_many_with_a_bad_key(struct run *run)
{
    struct batch *batch = make_batch(run);
    if (batch->shape < 2 && batch->count > 0) {
        size_t bad = next_number(run, (unsigned)batch->count);
        batch->offsets[bad + 1] = batch->offsets[bad] - 1;
        batch->pointers[bad] = NULL;
        batch->lengths[bad] = 1;
        size_t done = SIZE_MAX;
        CHECK(run, add_batch(run, batch, &done) == PERHAPS_E_ARGUMENT, "a bad key is taken");
        CHECK(run, done == bad, "a batch does not stop at the bad key");
        note_batch(run, batch, done <= bad ? done : 0);
    }
    free(batch);
}

// ---- whole filters

static void merge(struct run *run)
{
    perhaps_filter *other = run->filters[run->which ^ 1];
    CHECK(run, perhaps_merge(current(run), other, NULL) == PERHAPS_OK, "a merge fails");
    struct model *into = &run->models[run->which];
    const struct model *from = &run->models[run->which ^ 1];
    into->results += from->results;
    for (unsigned i = 0; i < KEYS; i++) {
        into->added[i] |= from->added[i];
    }
}

static void merge_what_does_not_fit(struct run *run)
{
    perhaps_options options = run->options;
    unsigned what = next_byte(run) % 3U;
    if (what == 0) {
        options.seed++;
    } else if (what == 1) {
        options.capacity += 5000;
    } else {
        options.hash_source = is_caller(run) ? PERHAPS_HASH_XXH3 : PERHAPS_HASH_CALLER;
    }
    perhaps_filter *stranger = NULL;
    CHECK(run, perhaps_create(&options, &stranger, NULL) == PERHAPS_OK, "a filter is not created");
    CHECK(run, perhaps_add_hash(stranger, 1) == 1, "an empty filter knows a key");
    struct encoded before = encode(run);
    CHECK(run, perhaps_merge(current(run), stranger, NULL) == PERHAPS_E_MISMATCH, "a merge is not refused");
    check_unchanged(run, before, "a refused merge changes the filter");
    run->counts.merges_refused++;
    free(before.bytes);
    perhaps_free(stranger);
}

static int decode(struct run *run, struct encoded encoded, perhaps_filter **filter)
{
    perhaps_load_options options = {.size = sizeof options, .allocator = &run->allocator};
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
    run->memory.fail_at = run->memory.calls + 1 + next_byte(run) % 3;
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
    for (unsigned i = 0; i < KEYS; i += 7) {
        CHECK(run, ask_one(run, i, false) == 0, "a cleared filter knows a key");
    }
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

static void check_statistics(struct run *run)
{
    perhaps_statistics s = {.size = sizeof s};
    CHECK(run, perhaps_stats(current(run), &s) == PERHAPS_OK, "stats fails");
    const struct model *model = &run->models[run->which];
    uint64_t distinct = 0;
    for (unsigned i = 0; i < KEYS; i++) {
        distinct += model->added[i];
    }
    CHECK(run, s.capacity == run->options.capacity && s.fpr_target == run->options.fpr, "options are not kept");
    CHECK(run, s.seed == run->options.seed, "the seed is not kept");
    CHECK(run, s.adds == model->results, "adds differ from the results that were given");
    CHECK(run, !s.adds_exact || s.adds <= distinct, "more adds than keys");
    CHECK(run, (distinct == 0) == (s.set_bits == 0), "bits without keys, or keys without bits");
    CHECK(run, s.set_bits <= s.bits && s.set_bits <= distinct * s.positions, "more bits than keys can set");
    CHECK(run, s.fpr_now >= 0.0 && s.fpr_now <= 1.0 && s.fill >= 0.0 && s.fill <= 1.0, "a rate is none");
    CHECK(run, s.distinct_estimate >= 0.0 && (s.fill < 1.0) == (isfinite(s.distinct_estimate) != 0), "no estimate");
}

static void check_all_present(struct run *run)
{
    for (unsigned i = 0; i < KEYS; i++) {
        check_answer(run, i, ask_one(run, i, (i & 1) != 0));
    }
}

// ---- the interpreter

static void step(struct run *run)
{
    static void (*const operations[16])(struct run *) = {
        add_one,
        add_one,
        ask,
        add_many,
        ask_many,
        add_many_with_a_bad_key,
        merge,
        encode_and_decode,
        set_metadata,
        clear,
        check_statistics,
        check_all_present,
        merge_what_does_not_fit,
        decode_damaged,
        decode_without_memory,
        add_many,
    };
    uint8_t byte = next_byte(run);
    run->which = byte >> 7;
    run->counts.operations[byte % 16]++;
    operations[byte % 16](run);
}

// Any kind there is, small and large, at rates all over its range.
static void choose_options(struct run *run)
{
    static const uint64_t capacities[] = {1, 3, 20, 100, 500, 3000};
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
    run->options.hash_source = next_byte(run) % 4 == 0 ? PERHAPS_HASH_CALLER : PERHAPS_HASH_XXH3;
    run->options.capacity = capacities[next_byte(run) % 6];
    run->options.fpr = fmin(fmax(rates[next_byte(run) % 6], smallest), largest);
    run->options.seed = next_byte(run);
    run->options.allocator = &run->allocator;
    run->counts.kinds[run->options.kind]++;
}

static void count(struct interpreter_counts *into, const struct interpreter_counts *from)
{
    for (unsigned i = 0; i < 16; i++) {
        into->operations[i] += from->operations[i];
    }
    for (unsigned i = 0; i < 8; i++) {
        into->kinds[i] += from->kinds[i];
    }
    into->false_positives += from->false_positives;
    into->merges_refused += from->merges_refused;
    into->allocations_failed += from->allocations_failed;
    into->damage_refused += from->damage_refused;
}

const char *interpret(const uint8_t *bytes, size_t size, struct interpreter_counts *counts)
{
    struct run run = {.at = bytes, .end = size > 0 ? bytes + size : bytes}; // NULL plus 0 is undefined
    run.allocator = support_memory_allocator(&run.memory);
    choose_options(&run);
    for (unsigned i = 0; i < 2; i++) {
        CHECK(&run, perhaps_create(&run.options, &run.filters[i], NULL) == PERHAPS_OK, "a filter is not created");
    }
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
