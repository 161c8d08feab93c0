// SPDX-License-Identifier: MIT
// What somebody can do who knows everything about a filter but its secret key, and may add, ask and remove keys of their
// choice. Each attack works on a replica of the filter, offline, and must succeed against a public seed and fail against a
// secret key. docs/security.md tells what was measured here: "test_attack" prints it.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support_secret.h"

#include "place.h"

#define CAPACITY 2000
#define FPR 0.01
#define FOUND 500 // keys that an attack looks for

// The filter under attack, and what the attacker can make of it: for a secret key, a replica under a guess.
struct target {
    const char *name;
    const uint8_t *secret;
    const uint8_t *guess;
};
static const struct target public_seed = {"public seed", NULL, NULL};
static const struct target secret_key = {"secret key", support_secret, support_other_secret};

static perhaps_filter *make(uint32_t kind, const uint8_t *secret)
{
    return support_create(&SUPPORT_OPTIONS(.kind = kind, .capacity = CAPACITY, .fpr = FPR, .seed = 42, .key = secret));
}

struct chosen {
    uint8_t bytes[FOUND][SUPPORT_KEY_MAX];
    size_t lengths[FOUND];
};

// Keys that were never added and that the replica takes for present, at a cost of 1/FPR tries each.
static void find_false_positives(const perhaps_filter *replica, struct chosen *chosen)
{
    size_t found = 0;
    for (uint64_t i = 0; found < FOUND; i++) {
        uint8_t *key = chosen->bytes[found];
        size_t length = support_key(SUPPORT_DIGESTS, SUPPORT_ABSENT + i, key);
        chosen->lengths[found] = length;
        found += perhaps_might_contain(replica, key, length) == 1;
    }
}

static uint64_t count_accepted(const perhaps_filter *filter, const struct chosen *chosen)
{
    uint64_t accepted = 0;
    for (size_t i = 0; i < FOUND; i++) {
        accepted += perhaps_might_contain(filter, chosen->bytes[i], chosen->lengths[i]) == 1;
    }
    return accepted;
}

// As many of `count` as a rate of p explains, within 5 standard deviations.
static double most_by_chance(double count, double p)
{
    return count * p + 5.0 * sqrt(count * p * (1.0 - p));
}

// The keys in the filter are no secret (names of users, say): the attacker fills a replica with them.
static struct chosen *prepare(const struct target *target, uint32_t kind, perhaps_filter **filter)
{
    struct chosen *chosen = support_allocate(sizeof *chosen);
    perhaps_filter *replica = make(kind, target->guess);
    *filter = make(kind, target->secret);
    support_add_keys(*filter, SUPPORT_WORDS, 0, CAPACITY);
    support_add_keys(replica, SUPPORT_WORDS, 0, CAPACITY);
    find_false_positives(replica, chosen);
    perhaps_free(replica);
    return chosen;
}

// ---- forced false positives: every question of the attacker costs a look-up in the store

static uint64_t force_false_positives(const struct target *target, uint32_t kind)
{
    perhaps_filter *filter;
    struct chosen *chosen = prepare(target, kind, &filter);
    uint64_t accepted = count_accepted(filter, chosen);
    print_message("forced false positives, %s, %s: %d of %d\n", perhaps_kind_name(kind), target->name, (int)accepted,
                  FOUND);
    perhaps_free(filter);
    free(chosen);
    return accepted;
}

static void test_forced_false_positives(void **state)
{
    for (uint32_t kind = 1; perhaps_kind_name(kind) != NULL; kind++) {
        assert_int_equal(force_false_positives(&public_seed, kind), FOUND);
        if (SUPPORT_KEYED) {
            assert_true((double)force_false_positives(&secret_key, kind) <= most_by_chance(FOUND, FPR));
        }
    }
}

// ---- pollution: as many keys as the filter is for, chosen so that each sets k bits that were clear

// Whether all positions of a hash are clear in the attacker's map of the bits; then they are set.
static bool take_if_fresh(uint8_t *map, const perhaps_statistics *s, uint64_t hash)
{
    uint64_t positions[64];
    struct perhaps__walk walk = perhaps__walk_start(perhaps__place(hash, perhaps__seed_key(s->seed)));
    for (uint32_t i = 0; i < s->positions; i++) {
        positions[i] = perhaps__walk_next(&walk, s->bits);
        if (map[positions[i] / 8] >> positions[i] % 8 & 1) {
            return false;
        }
    }
    for (uint32_t i = 0; i < s->positions; i++) {
        map[positions[i] / 8] |= (uint8_t)(1U << positions[i] % 8);
    }
    return true;
}

static void pollute(const perhaps_filter *replica, perhaps_filter *filter)
{
    const perhaps_statistics s = support_stats(replica);
    uint8_t *map = support_allocate((size_t)s.bytes);
    uint8_t key[SUPPORT_KEY_MAX];
    uint64_t added = 0;
    for (uint64_t i = 0; added < CAPACITY; i++) {
        uint64_t hash = 0;
        size_t length = support_key(SUPPORT_INTEGERS, i, key);
        assert_int_equal(perhaps_hash(replica, key, length, &hash), PERHAPS_OK);
        if (take_if_fresh(map, &s, hash)) {
            assert_true(perhaps_add(filter, key, length) >= 0);
            added++;
        }
    }
    free(map);
}

static double polluted_rate(const struct target *target)
{
    const uint64_t asked = 50000;
    perhaps_filter *replica = make(PERHAPS_KIND_BLOOM, target->guess);
    perhaps_filter *filter = make(PERHAPS_KIND_BLOOM, target->secret);
    pollute(replica, filter);
    double rate = (double)support_count_present(filter, SUPPORT_URLS, SUPPORT_ABSENT, asked) / (double)asked;
    print_message("pollution, bloom, %s: fill %.3f, rate %.4f (promised %.2f)\n", target->name,
                  support_stats(filter).fill, rate, FPR);
    perhaps_free(replica);
    perhaps_free(filter);
    return rate;
}

// With k n of m bits set instead of half of them the rate is (k n / m)^k: Gerbet, Kumar and Lauradoux 2015.
static void test_pollution(void **state)
{
    assert_true(polluted_rate(&public_seed) > 5.0 * FPR);
    if (SUPPORT_KEYED) {
        assert_true(polluted_rate(&secret_key) <= most_by_chance(50000, FPR) / 50000);
    }
}

// ---- deletion: keys that were never added, but are taken for present, are removed

static uint64_t delete_by_false_positives(const struct target *target, uint32_t kind)
{
    perhaps_filter *filter;
    struct chosen *chosen = prepare(target, kind, &filter);
    for (size_t i = 0; i < FOUND; i++) {
        assert_true(perhaps_remove(filter, chosen->bytes[i], chosen->lengths[i]) >= 0);
    }
    uint64_t lost = CAPACITY - support_count_present(filter, SUPPORT_WORDS, 0, CAPACITY);
    print_message("deletion, %s, %s: %d of %d keys lost\n", perhaps_kind_name(kind), target->name, (int)lost, CAPACITY);
    perhaps_free(filter);
    free(chosen);
    return lost;
}

// A removal takes away one fingerprint of cuckoo, and lowers k counters of counting, each of which a few keys rely on.
static void test_deletion(void **state)
{
    assert_true(delete_by_false_positives(&public_seed, PERHAPS_KIND_CUCKOO) > FOUND / 2);
    assert_true(delete_by_false_positives(&public_seed, PERHAPS_KIND_COUNTING) > CAPACITY / 2);
    if (SUPPORT_KEYED) {
        double removed = most_by_chance(FOUND, FPR);
        assert_true((double)delete_by_false_positives(&secret_key, PERHAPS_KIND_CUCKOO) <= removed);
        // k = 6 counters each, on each of which k n / m = 0.62 keys rely on average: fewer than 10.
        assert_true((double)delete_by_false_positives(&secret_key, PERHAPS_KIND_COUNTING) <= 10.0 * removed);
    }
}

// ---- targeted deletion: a key that nobody but the attacker knows takes away one that was chosen

#define VICTIMS 10

// A key with a fingerprint and a bucket of the victim: one in some hundred thousand.
static size_t find_alias(const struct target *target, uint64_t victim, uint8_t alias[SUPPORT_KEY_MAX])
{
    perhaps_filter *replica = make(PERHAPS_KIND_CUCKOO, target->guess);
    support_add_keys(replica, SUPPORT_WORDS, victim, 1);
    size_t length = 0;
    int found = 0;
    for (uint64_t i = 0; found != 1; i++) {
        length = support_key(SUPPORT_INTEGERS, SUPPORT_ABSENT + i, alias);
        found = perhaps_might_contain(replica, alias, length);
    }
    perhaps_free(replica);
    return length;
}

static unsigned delete_targets(const struct target *target)
{
    uint8_t alias[SUPPORT_KEY_MAX];
    unsigned lost = 0;
    perhaps_filter *filter = make(PERHAPS_KIND_CUCKOO, target->secret);
    support_add_keys(filter, SUPPORT_WORDS, 0, CAPACITY);
    for (uint64_t victim = 0; victim < VICTIMS; victim++) {
        size_t length = find_alias(target, victim, alias);
        assert_true(perhaps_remove(filter, alias, length) >= 0);
        lost += support_count_present(filter, SUPPORT_WORDS, victim, 1) == 0;
    }
    print_message("targeted deletion, cuckoo, %s: %u of %d victims\n", target->name, lost, VICTIMS);
    perhaps_free(filter);
    return lost;
}

// A victim survives when another key happens to have its fingerprint.
static void test_targeted_deletion(void **state)
{
    assert_true(delete_targets(&public_seed) >= VICTIMS - 1);
    if (SUPPORT_KEYED) {
        assert_int_equal(delete_targets(&secret_key), 0);
    }
}

// ---- what a secret key is no help against: false positives that the attacker was shown can be used again

static void test_answers_can_be_learnt(void **state)
{
    SUPPORT_NEEDS_KEYED();
    struct chosen *chosen = support_allocate(sizeof *chosen);
    perhaps_filter *filter = make(PERHAPS_KIND_BLOOM, support_secret);
    support_add_keys(filter, SUPPORT_WORDS, 0, CAPACITY);
    find_false_positives(filter, chosen); // by asking it
    uint64_t accepted = count_accepted(filter, chosen);
    print_message("learnt from answers, bloom, secret key: %d of %d\n", (int)accepted, FOUND);
    assert_int_equal(accepted, FOUND);
    perhaps_free(filter);
    // What helps is another key, on the day on which the filter is rebuilt.
    filter = make(PERHAPS_KIND_BLOOM, support_other_secret);
    support_add_keys(filter, SUPPORT_WORDS, 0, CAPACITY);
    accepted = count_accepted(filter, chosen);
    print_message("learnt from answers, bloom, after a change of the key: %d of %d\n", (int)accepted, FOUND);
    assert_true((double)accepted <= most_by_chance(FOUND, FPR));
    perhaps_free(filter);
    free(chosen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forced_false_positives),
        cmocka_unit_test(test_pollution),
        cmocka_unit_test(test_deletion),
        cmocka_unit_test(test_targeted_deletion),
        cmocka_unit_test(test_answers_can_be_learnt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
