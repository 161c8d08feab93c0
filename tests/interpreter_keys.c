// SPDX-License-Identifier: MIT
// The verbs for one key, held against the model.
#include "interpreter_keys.h"

#include <stdlib.h>
#include <string.h>

// Made once: under a fuzzer it takes longer to spell a key than to add it.
static struct {
    uint8_t bytes[KEYS][SUPPORT_KEY_MAX];
    size_t lengths[KEYS];
} keys;

static void spell_keys(void)
{
    for (unsigned number = 1; number < KEYS; number++) { // key 0 is empty
        enum support_family family = (enum support_family)(number % SUPPORT_FAMILIES);
        keys.lengths[number] = support_key(family, number, keys.bytes[number]);
    }
}

size_t key_of(unsigned number, uint8_t key[SUPPORT_KEY_MAX])
{
    if (keys.lengths[1] == 0) {
        spell_keys();
    }
    memcpy(key, keys.bytes[number], keys.lengths[number]);
    return keys.lengths[number];
}

uint64_t hash_of(struct run *run, unsigned number)
{
    uint8_t key[SUPPORT_KEY_MAX];
    uint64_t hash = number; // good enough for filters whose caller hashes: hashes are mixed
    if (!is_caller(run)) {
        CHECK(run, perhaps_hash(current(run), key, key_of(number, key), &hash) == PERHAPS_OK, "hash fails");
    }
    return hash;
}

// ---- the model

void check_answer(struct run *run, unsigned number, int answer)
{
    uint32_t count = current_model(run)->count[number];
    CHECK(run, answer == 0 || answer == 1, "an answer is neither 0 nor 1");
    CHECK(run, answer == 1 || count == 0, "FALSE NEGATIVE");
    run->counts.false_positives += answer == 1 && count == 0;
}

void check_count(struct run *run, unsigned number, uint64_t most)
{
    uint32_t count = current_model(run)->count[number];
    CHECK(run, most >= count, "A COUNT BELOW THE TRUE ONE");
    bool may_be_any = counts_copies(run) || most == 0 || most == PERHAPS_COUNT_UNBOUNDED;
    CHECK(run, may_be_any, "a filter that does not count gives a bound");
    run->counts.counts_exact += count > 0 && most == count;
}

void note_added(struct run *run, unsigned number, int result, int answer_before)
{
    struct model *model = current_model(run);
    CHECK(run, result == 0 || result == 1, "an add returns neither 0 nor 1");
    CHECK(run, result == 0 || model->count[number] == 0, "an add calls a key new that had been added");
    CHECK(run, result != answer_before, "an add and the answer before it do not agree");
    model->count[number] = counts_copies(run) ? model->count[number] + 1 : 1;
    model->results += result == 1;
}

void note_removed(struct run *run, unsigned number, int result)
{
    struct model *model = current_model(run);
    CHECK(run, result == (model->count[number] > 0),
          "a removal of an added key finds nothing, or of an absent one something");
    model->count[number] -= result == 1;
    model->removals += result == 1;
}

void check_refusal(struct run *run, int status)
{
    bool cuckoo = run->options.kind == PERHAPS_KIND_CUCKOO;
    bool refuses = run->options.at_capacity == PERHAPS_AT_CAPACITY_REFUSE;
    bool grows = run->options.at_capacity == PERHAPS_AT_CAPACITY_GROW;
    CHECK(run,
          (status == PERHAPS_E_FULL && (refuses || (cuckoo && !grows))) || (status == PERHAPS_E_COPIES && cuckoo) ||
              (status == PERHAPS_E_LIMIT && grows),
          "an add fails");
    CHECK(run, status != PERHAPS_E_COPIES || counts_copies(run), "a filter that keeps no copies has too many");
    run->counts.adds_refused++;
}

// ---- the verbs

int ask_one(struct run *run, unsigned number, bool by_hash)
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

void add_one(struct run *run)
{
    unsigned number = next_number(run, run->keys);
    bool by_hash = (next_byte(run) & 1) != 0;
    int before = ask_one(run, number, !by_hash);
    check_answer(run, number, before);
    struct encoded encoded = encode(run);
    uint8_t key[SUPPORT_KEY_MAX];
    int result = by_hash || is_caller(run) ? perhaps_add_hash(current(run), hash_of(run, number))
                                           : perhaps_add(current(run), key, key_of(number, key));
    if (result < 0) {
        check_refusal(run, result);
        check_unchanged(run, encoded, "a refused add changes the filter");
    } else {
        note_added(run, number, result, before);
        check_answer(run, number, ask_one(run, number, by_hash));
    }
    free(encoded.bytes);
}

void ask(struct run *run)
{
    unsigned number = next_number(run, run->keys);
    check_answer(run, number, ask_one(run, number, (next_byte(run) & 1) != 0));
}

static uint64_t count_one(struct run *run, unsigned number, bool by_hash)
{
    uint8_t key[SUPPORT_KEY_MAX];
    return by_hash || is_caller(run) ? perhaps_count_at_most_hash(current(run), hash_of(run, number))
                                     : perhaps_count_at_most(current(run), key, key_of(number, key));
}

static int times_one(struct run *run, unsigned number, bool by_hash, uint64_t times)
{
    uint8_t key[SUPPORT_KEY_MAX];
    return by_hash || is_caller(run) ? perhaps_might_contain_times_hash(current(run), hash_of(run, number), times)
                                     : perhaps_might_contain_times(current(run), key, key_of(number, key), times);
}

// The bound, and what follows from it for thresholds on both sides of it.
void ask_counts(struct run *run)
{
    unsigned number = next_number(run, run->keys);
    bool by_hash = (next_byte(run) & 1) != 0;
    uint64_t most = count_one(run, number, by_hash);
    check_count(run, number, most);
    CHECK(run, (most > 0) == (ask_one(run, number, !by_hash) == 1), "bound and answer do not agree");
    const uint64_t thresholds[] = {0, 1, 2, next_byte(run), most, most + 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof thresholds / sizeof thresholds[0]; i++) {
        int expected = thresholds[i] <= most;
        CHECK(run, times_one(run, number, by_hash, thresholds[i]) == expected, "bound and threshold do not agree");
    }
}

static int remove_by(struct run *run, unsigned number, bool by_hash)
{
    uint8_t key[SUPPORT_KEY_MAX];
    return by_hash || is_caller(run) ? perhaps_remove_hash(current(run), hash_of(run, number))
                                     : perhaps_remove(current(run), key, key_of(number, key));
}

// Only layers can make it so.
void check_ambiguous(struct run *run)
{
    perhaps_statistics s = {.size = sizeof s};
    CHECK(run, perhaps_stats(current(run), &s) == PERHAPS_OK, "stats fails");
    CHECK(run, s.layers > 1 && s.ambiguous > 0, "a removal is ambiguous in a single layer");
    run->counts.ambiguous++;
}

static void remove_added(struct run *run, unsigned number, bool by_hash)
{
    int result = remove_by(run, number, by_hash);
    if (result == PERHAPS_E_AMBIGUOUS) {
        check_ambiguous(run);
    } else {
        note_removed(run, number, result);
    }
    check_answer(run, number, ask_one(run, number, !by_hash));
}

// From a filter that cannot remove, or a key that is not there.
static void remove_in_vain(struct run *run, unsigned number, bool by_hash)
{
    struct encoded encoded = encode(run);
    if (!can_remove(run)) {
        CHECK(run, remove_by(run, number, by_hash) == PERHAPS_E_UNSUPPORTED, "a filter that cannot remove does");
    } else if (ask_one(run, number, by_hash) == 0) {
        note_removed(run, number, remove_by(run, number, by_hash));
        CHECK(run, ask_one(run, number, !by_hash) == 0, "a removal makes a key appear");
    }
    check_unchanged(run, encoded, "a removal in vain changes the filter");
    free(encoded.bytes);
}

// A key that was added, or is surely absent: any other would be wrong to remove. From a number on, the first that is one.
void remove_one(struct run *run)
{
    unsigned number = next_number(run, run->keys);
    bool by_hash = (next_byte(run) & 1) != 0;
    bool wanted = can_remove(run) && (next_byte(run) & 1) != 0;
    for (unsigned i = 0; can_remove(run) && i < run->keys && (current_model(run)->count[number] > 0) != wanted; i++) {
        number = (number + 1) % run->keys;
    }
    if (can_remove(run) && current_model(run)->count[number] > 0) {
        remove_added(run, number, by_hash);
    } else {
        remove_in_vain(run, number, by_hash);
    }
}
