// SPDX-License-Identifier: MIT
// Random operations against an exact model; see interpreter.h.
//
//     test_model [runs]
#include <stdlib.h>

#include "interpreter.h"
#include "support_secret.h"

#define MOST_BYTES 3000

static unsigned long runs = 600;

static void test_random_operations(void **state)
{
    struct interpreter_counts counts = {0};
    uint8_t *bytes = support_allocate(MOST_BYTES);
    for (uint64_t seed = 1; seed <= runs / SUPPORT_SCALE; seed++) {
        uint64_t random = seed;
        size_t size = (size_t)(support_random(&random) % MOST_BYTES);
        for (size_t i = 0; i < size; i++) {
            bytes[i] = (uint8_t)support_random(&random);
        }
        const char *failure = interpret(bytes, size, INTERPRETER_KEYS, &counts);
        if (failure != NULL) {
            fail_msg("seed %llu: %s", (unsigned long long)seed, failure);
        }
    }
    free(bytes);
    // The driver reached everything, or it would prove little.
    for (size_t i = 0; i < SUPPORT_COUNT(counts.operations); i++) {
        assert_true(counts.operations[i] > runs / SUPPORT_SCALE / 2);
    }
    for (uint32_t kind = 1; perhaps_kind_name(kind) != NULL; kind++) {
        assert_true(counts.kinds[kind] > runs / SUPPORT_SCALE / 8);
    }
    assert_true(counts.growing > runs / SUPPORT_SCALE / 16 && counts.counts_exact > 1000 && counts.adds_refused > 100);
    assert_true(!SUPPORT_KEYED || counts.keyed > runs / SUPPORT_SCALE / 8);
    assert_true(counts.false_positives > 1000 && counts.merges_refused > 100);
    assert_true(counts.moved > runs / SUPPORT_SCALE / 10 && counts.dropped > runs / SUPPORT_SCALE / 200);
    assert_true(counts.allocations_failed > 100 && counts.damage_refused > 100);
}

static void test_no_bytes(void **state)
{
    assert_null(interpret(NULL, 0, INTERPRETER_KEYS, NULL));
}

int main(int argc, char **argv)
{
    runs = argc > 1 ? strtoul(argv[1], NULL, 10) : runs;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_operations), cmocka_unit_test(test_no_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
