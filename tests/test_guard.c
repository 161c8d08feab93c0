// SPDX-License-Identifier: MIT
// The guard: how it is made, asked, told and refused. (What follows from its counts: test_guard_account.c.)
#include "guard_helpers.h"

/* ---------------------------------------------------------------- making a guard */

static perhaps_error refused(const perhaps_guard_options *options, int code)
{
    perhaps_guard *const untouched = (perhaps_guard *)filter;
    perhaps_guard *guard = untouched;
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(perhaps_guard_create(options, &guard, &error), code);
    assert_int_equal(error.code, code);
    assert_true(strlen(error.text) > 0);
    assert_ptr_equal(guard, untouched);
    assert_int_equal(perhaps_guard_create(options, &guard, NULL), code);
    return error;
}

static void test_create_needs(void **state)
{
    perhaps_guard_options options = {.size = sizeof options, .filter = filter};
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(perhaps_guard_create(&options, NULL, &error), PERHAPS_E_ARGUMENT);
    assert_string_equal(error.subject, "guard");
    assert_string_equal(refused(NULL, PERHAPS_E_ARGUMENT).subject, "options");
    options.filter = NULL;
    assert_string_equal(refused(&options, PERHAPS_E_ARGUMENT).subject, "filter");
    options.filter = filter;
    perhaps_store store = {.context = NULL};
    options.store = &store;
    assert_string_equal(refused(&options, PERHAPS_E_ARGUMENT).subject, "store");
    perhaps_guard_free(NULL);
}

static void test_confidence(void **state)
{
    static const double bad[] = {0.49, 1.0, 0.9999991, -0.95, 95, (double)INFINITY, (double)NAN};
    for (size_t i = 0; i < COUNT(bad); i++) {
        perhaps_guard_options options = {.size = sizeof options, .filter = filter, .confidence = bad[i]};
        perhaps_error error = refused(&options, PERHAPS_E_OPTION);
        assert_string_equal(error.subject, "confidence");
        assert_non_null(strstr(error.text, "between 0.5 and 0.999999"));
    }
    static const double good[] = {0.5, 0.8, 0.95, 0.999999};
    for (size_t i = 0; i < COUNT(good); i++) {
        perhaps_guard_options options = {.size = sizeof options, .filter = filter, .confidence = good[i]};
        perhaps_guard *guard = NULL;
        assert_int_equal(perhaps_guard_create(&options, &guard, NULL), 0);
        assert_exactly(stats_of(guard).confidence, good[i]);
        perhaps_guard_free(guard);
    }
    perhaps_guard *guard = make_guard(NULL);
    assert_exactly(stats_of(guard).confidence, 0.95);
    perhaps_guard_free(guard);
}

// A caller built with another release: fields that it lacks are zero, fields that it has and this release does
// not know must be.
static void test_option_sizes(void **state)
{
    struct {
        perhaps_guard_options known;
        char later[16];
    } options;
    memset(&options, 0, sizeof options);
    options.known.filter = filter;
    perhaps_guard *guard = NULL;
    options.known.size = sizeof options;
    assert_int_equal(perhaps_guard_create(&options.known, &guard, NULL), 0);
    perhaps_guard_free(guard);
    options.later[15] = 1;
    assert_string_equal(refused(&options.known, PERHAPS_E_OPTION).subject, "size");
    options.known.size = sizeof options - 1;
    assert_int_equal(perhaps_guard_create(&options.known, &guard, NULL), 0);
    perhaps_guard_free(guard);
    options.known.confidence = 7; // lies behind the smaller structure: not read
    options.known.size = offsetof(perhaps_guard_options, confidence);
    assert_int_equal(perhaps_guard_create(&options.known, &guard, NULL), 0);
    assert_exactly(stats_of(guard).confidence, 0.95);
    perhaps_guard_free(guard);
    options.known.size = offsetof(perhaps_guard_options, filter);
    refused(&options.known, PERHAPS_E_ARGUMENT);
    options.known.size = 0;
    refused(&options.known, PERHAPS_E_OPTION);
}

struct counting_allocator {
    int fail;
    size_t held;
    size_t alignment;
};

static void *counting_allocate(void *context, size_t bytes, size_t alignment)
{
    struct counting_allocator *counting = context;
    if (counting->fail) {
        return NULL;
    }
    counting->held += bytes;
    counting->alignment = alignment;
    return malloc(bytes);
}

static void counting_release(void *context, void *memory, size_t bytes, size_t alignment)
{
    struct counting_allocator *counting = context;
    assert_non_null(memory);
    assert_int_equal(counting->alignment, alignment);
    counting->held -= bytes;
    free(memory);
}

static void test_allocator(void **state)
{
    struct counting_allocator counting = {.fail = 1};
    perhaps_allocator allocator = {&counting, counting_allocate, counting_release};
    perhaps_guard_options options = {.size = sizeof options, .filter = filter, .allocator = &allocator};
    refused(&options, PERHAPS_E_MEMORY);
    counting.fail = 0;
    perhaps_guard *guard = NULL;
    assert_int_equal(perhaps_guard_create(&options, &guard, NULL), 0);
    assert_true(counting.held > 0);
    memset(&allocator, 0, sizeof allocator); // it was copied
    perhaps_guard_free(guard);
    assert_int_equal(counting.held, 0);
    allocator.allocate = counting_allocate;
    assert_string_equal(refused(&options, PERHAPS_E_ARGUMENT).subject, "allocator");
    allocator = (perhaps_allocator){.release = counting_release};
    assert_string_equal(refused(&options, PERHAPS_E_ARGUMENT).subject, "allocator");
}

/* ---------------------------------------------------------------- asking */

static void test_ask(void **state)
{
    perhaps_guard *guard = make_guard(NULL);
    ask_present(guard, CAPACITY);
    assert_counts(guard, 0, 0, 0, CAPACITY);
    uint64_t answers[2] = {0, 0};
    for (uint64_t key = CAPACITY; key < 3 * CAPACITY; key++) {
        int answer = perhaps_guard_ask(guard, &key, sizeof key);
        assert_int_equal(answer, perhaps_might_contain(filter, &key, sizeof key));
        answers[answer]++;
    }
    assert_true(answers[0] > 0 && answers[1] > 0);
    assert_counts(guard, answers[0], 0, 0, CAPACITY + answers[1]);
    assert_int_equal(perhaps_guard_ask(guard, NULL, 1), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_guard_ask(NULL, "x", 1), PERHAPS_E_ARGUMENT);
    assert_counts(guard, answers[0], 0, 0, CAPACITY + answers[1]);
    assert_in_range(perhaps_guard_ask(guard, NULL, 0), 0, 1); // the empty key is a key
    assert_int_equal(stats_of(guard).queries, 3 * CAPACITY + 1);
    perhaps_guard_free(guard);
}

static void test_ask_many(void **state)
{
    enum { KEYS = 2500 };
    static uint64_t keys[KEYS];
    static uint64_t offsets[KEYS + 1];
    static uint8_t out[KEYS];
    for (uint64_t i = 0; i < KEYS; i++) {
        keys[i] = i;
        offsets[i + 1] = (i + 1) * sizeof keys[0];
    }
    perhaps_guard *many = make_guard(NULL);
    perhaps_guard *single = make_guard(NULL);
    size_t done = 0;
    assert_int_equal(perhaps_guard_ask_many(many, keys, offsets, KEYS, out, &done), 0);
    assert_int_equal(done, KEYS);
    for (uint64_t i = 0; i < KEYS; i++) {
        assert_int_equal(perhaps_guard_ask(single, &keys[i], sizeof keys[i]), out[i]);
    }
    perhaps_guard_statistics expected = stats_of(single);
    assert_counts(many, expected.surely_absent, 0, 0, expected.perhaps);
    assert_int_equal(perhaps_guard_ask_many(many, keys, offsets, 7, out, NULL), 0);
    assert_int_equal(perhaps_guard_ask_many(many, NULL, NULL, 0, NULL, &done), 0);
    assert_int_equal(done, 0);
    assert_counts(many, expected.surely_absent, 0, 0, expected.perhaps + 7);
    perhaps_guard_free(many);
    perhaps_guard_free(single);
}

// Those that were handled before the failure were answered, so they count.
static void test_ask_many_fails_in_the_middle(void **state)
{
    static const uint64_t offsets[] = {0, 8, 16, 24, 20, 40};
    static const uint64_t keys[5] = {0, 1, 2, 3, 4};
    uint8_t out[5] = {9, 9, 9, 9, 9};
    size_t done = 42;
    perhaps_guard *guard = make_guard(NULL);
    assert_int_equal(perhaps_guard_ask_many(guard, keys, offsets, 5, out, &done), PERHAPS_E_ARGUMENT);
    assert_in_range(done, 0, 3);
    assert_int_equal(stats_of(guard).queries, done);
    for (size_t i = 0; i < COUNT(out); i++) {
        assert_int_equal(out[i], i < done ? 1 : 9);
    }
    done = 42;
    assert_int_equal(perhaps_guard_ask_many(guard, keys, offsets, 3, NULL, &done), PERHAPS_E_ARGUMENT);
    assert_int_equal(done, 0);
    done = 42;
    assert_int_equal(perhaps_guard_ask_many(NULL, keys, offsets, 3, out, &done), PERHAPS_E_ARGUMENT);
    assert_int_equal(done, 0);
    assert_int_equal(perhaps_guard_ask_many(NULL, keys, offsets, 3, out, NULL), PERHAPS_E_ARGUMENT);
    perhaps_guard_free(guard);
}

static void test_filter_that_hashes_nothing(void **state)
{
    perhaps_options options = {.size = sizeof options, .capacity = 10, .fpr = 0.01, .hash_source = PERHAPS_HASH_CALLER};
    perhaps_filter *caller = NULL;
    assert_int_equal(perhaps_create(&options, &caller, NULL), 0);
    struct parrot parrot = {.reply = 1};
    perhaps_store store = {.context = &parrot, .contains = parrot_contains};
    perhaps_guard_options guarded = {.size = sizeof guarded, .filter = caller, .store = &store};
    perhaps_guard *guard = NULL;
    assert_int_equal(perhaps_guard_create(&guarded, &guard, NULL), 0);
    assert_int_equal(perhaps_guard_ask(guard, "x", 1), PERHAPS_E_UNSUPPORTED);
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(perhaps_guard_contains(guard, "x", 1, &error), PERHAPS_E_UNSUPPORTED);
    assert_string_equal(error.subject, "filter");
    assert_int_equal(parrot.questions, 0);
    assert_counts(guard, 0, 0, 0, 0);
    perhaps_guard_free(guard);
    perhaps_free(caller);
}

/* ---------------------------------------------------------------- reporting */

static void test_report(void **state)
{
    perhaps_guard *guard = make_guard(NULL);
    ask_present(guard, 3);
    ask_absent(guard, 10, 0);
    ask_absent(guard, 2, 1);
    assert_counts(guard, 10, 0, 0, 5);
    report(guard, 3, 1);
    assert_counts(guard, 10, 3, 0, 2);
    report(guard, 2, 0);
    assert_counts(guard, 10, 3, 2, 0);
    perhaps_guard_free(guard);
}

static void test_report_misuse(void **state)
{
    perhaps_guard *guard = make_guard(NULL);
    assert_int_equal(perhaps_guard_report(guard, "k", 1, 1), PERHAPS_E_ARGUMENT); // nothing was asked
    ask_absent(guard, 5, 0);
    assert_int_equal(perhaps_guard_report(guard, "k", 1, 0), PERHAPS_E_ARGUMENT); // nothing was passed on
    ask_present(guard, 1);
    assert_int_equal(perhaps_guard_report(guard, "k", 1, 2), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_guard_report(guard, "k", 1, -1), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_guard_report(guard, NULL, 1, 1), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_guard_report(NULL, "k", 1, 1), PERHAPS_E_ARGUMENT);
    assert_counts(guard, 5, 0, 0, 1);
    assert_int_equal(perhaps_guard_report(guard, NULL, 0, 1), 0);
    assert_int_equal(perhaps_guard_report(guard, "k", 1, 1), PERHAPS_E_ARGUMENT); // once is enough
    assert_counts(guard, 5, 1, 0, 0);
    perhaps_guard_free(guard);
}

/* ---------------------------------------------------------------- asking the store as well */

static void test_contains(void **state)
{
    struct parrot parrot = {.reply = 1};
    perhaps_store store = {.context = &parrot, .contains = parrot_contains};
    perhaps_guard *guard = make_guard(&store);
    memset(&store, 0, sizeof store); // it was copied
    uint64_t next = CAPACITY;
    uint64_t absent = next_absent(&next, 0);
    uint64_t confused = next_absent(&next, 1);
    uint64_t present = 0;
    assert_int_equal(perhaps_guard_contains(guard, &absent, sizeof absent, NULL), 0);
    assert_int_equal(parrot.questions, 0);
    assert_int_equal(perhaps_guard_contains(guard, &present, sizeof present, NULL), 1);
    assert_int_equal(parrot.questions, 1);
    parrot.reply = 0;
    assert_int_equal(perhaps_guard_contains(guard, &confused, sizeof confused, NULL), 0);
    assert_int_equal(parrot.questions, 2);
    assert_counts(guard, 1, 1, 1, 0);
    perhaps_guard_free(guard);
}

// Batches are asked for first, and the store about what they let through.
static void test_look_up(void **state)
{
    struct parrot parrot = {.reply = 1};
    perhaps_store store = {.context = &parrot, .contains = parrot_contains};
    perhaps_guard *guard = make_guard(&store);
    uint64_t next = CAPACITY;
    uint64_t keys[] = {0, next_absent(&next, 1), next_absent(&next, 0)};
    const uint64_t offsets[] = {0, 8, 16, 24};
    uint8_t answers[3] = {0};
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(perhaps_guard_look_up(guard, &keys[0], 8, &error), PERHAPS_E_ARGUMENT); // not asked for
    assert_int_equal(perhaps_guard_ask_many(guard, keys, offsets, 3, answers, NULL), 0);
    assert_int_equal(answers[0] + answers[1], 2);
    assert_int_equal(perhaps_guard_look_up(guard, NULL, 8, &error), PERHAPS_E_ARGUMENT);
    assert_string_equal(error.subject, "key");
    assert_int_equal(parrot.questions, 0);
    assert_int_equal(perhaps_guard_look_up(guard, &keys[0], 8, NULL), 1);
    parrot.reply = PERHAPS_E_IO;
    assert_int_equal(perhaps_guard_look_up(guard, &keys[1], 8, &error), PERHAPS_E_IO);
    assert_counts(guard, 1, 1, 0, 1);
    parrot.reply = 0;
    assert_int_equal(perhaps_guard_look_up(guard, &keys[1], 8, NULL), 0);
    assert_counts(guard, 1, 1, 1, 0);
    assert_int_equal(perhaps_guard_look_up(guard, &keys[1], 8, NULL), PERHAPS_E_ARGUMENT); // once is enough
    assert_int_equal(parrot.questions, 3);
    assert_int_equal(stats_of(guard).ask_latency.count, 1); // the batch
    assert_true(stats_of(guard).store_latency.count >= 2);
    perhaps_guard_free(guard);
}

static void test_contains_without_a_store(void **state)
{
    perhaps_guard *guard = make_guard(NULL);
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(perhaps_guard_contains(guard, "x", 1, &error), PERHAPS_E_UNSUPPORTED);
    assert_string_equal(error.subject, "store");
    assert_int_equal(perhaps_guard_contains(guard, "x", 1, NULL), PERHAPS_E_UNSUPPORTED);
    assert_int_equal(perhaps_guard_look_up(guard, "x", 1, NULL), PERHAPS_E_UNSUPPORTED);
    assert_int_equal(perhaps_guard_look_up(NULL, "x", 1, &error), PERHAPS_E_ARGUMENT);
    assert_int_equal(perhaps_guard_contains(NULL, "x", 1, &error), PERHAPS_E_ARGUMENT);
    assert_string_equal(error.subject, "guard");
    assert_counts(guard, 0, 0, 0, 0);
    perhaps_guard_free(guard);
}

static void test_store_that_fails(void **state)
{
    struct parrot parrot = {.reply = PERHAPS_E_IO, .reason = "the perch is gone"};
    perhaps_store store = {.context = &parrot, .contains = parrot_contains};
    perhaps_guard *guard = make_guard(&store);
    uint64_t key = 0;
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(perhaps_guard_contains(guard, &key, sizeof key, &error), PERHAPS_E_IO);
    assert_int_equal(error.code, PERHAPS_E_IO);
    assert_int_equal(error.system_error, 5);
    assert_string_equal(error.subject, "parrot");
    assert_memory_equal(error.text, "the perch is gone", 17);
    assert_int_equal(strlen(error.text), sizeof error.text - 1);
    assert_counts(guard, 0, 0, 0, 1);
    parrot.reason = NULL; // no word about it: the guard finds some
    assert_int_equal(perhaps_guard_contains(guard, &key, sizeof key, &error), PERHAPS_E_IO);
    assert_string_equal(error.subject, "store");
    assert_string_equal(error.text, "the store failed without a reason (a file could not be read or written)");
    assert_int_equal(perhaps_guard_contains(guard, &key, sizeof key, NULL), PERHAPS_E_IO);
    assert_int_equal(perhaps_guard_contains(guard, NULL, 1, &error), PERHAPS_E_ARGUMENT); // not the store's
    assert_string_equal(error.subject, "filter");
    assert_int_equal(parrot.questions, 3);
    assert_counts(guard, 0, 0, 0, 3);
    perhaps_guard_free(guard);
}

static void test_store_that_breaks_its_contract(void **state)
{
    struct parrot parrot = {.reply = 7};
    perhaps_store store = {.context = &parrot, .contains = parrot_contains};
    perhaps_guard *guard = make_guard(&store);
    uint64_t key = 0;
    perhaps_error error = {.size = sizeof error};
    assert_int_equal(perhaps_guard_contains(guard, &key, sizeof key, &error), PERHAPS_E_ARGUMENT);
    assert_non_null(strstr(error.text, "returned 7"));
    assert_counts(guard, 0, 0, 0, 1);
    perhaps_guard_free(guard);
}

// Stores that deny all, or own all: the account still adds up, and says what the store said.
static void test_stores_that_lie(void **state)
{
    for (int reply = 0; reply <= 1; reply++) {
        struct parrot parrot = {.reply = reply};
        perhaps_store store = {.context = &parrot, .contains = parrot_contains};
        perhaps_guard *guard = make_guard(&store);
        for (uint64_t key = 0; key < 2 * CAPACITY; key++) {
            int answer = perhaps_might_contain(filter, &key, sizeof key);
            assert_int_equal(perhaps_guard_contains(guard, &key, sizeof key, NULL), answer ? reply : 0);
        }
        perhaps_guard_statistics statistics = stats_of(guard);
        assert_int_equal(statistics.queries, 2 * CAPACITY);
        assert_int_equal(statistics.perhaps, parrot.questions);
        assert_int_equal(reply ? statistics.confirmed : statistics.refuted, parrot.questions);
        assert_int_equal(statistics.unresolved, 0);
        double denied = reply ? 0 : (double)parrot.questions / (2 * CAPACITY);
        assert_exactly(statistics.fpr_observed, denied);
        assert_int_equal(statistics.verdict, reply ? PERHAPS_GUARD_HEALTHY : PERHAPS_GUARD_ABOVE_TARGET);
        perhaps_guard_free(guard);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_create_needs),
        TEST(test_confidence),
        TEST(test_option_sizes),
        TEST(test_allocator),
        TEST(test_ask),
        TEST(test_ask_many),
        TEST(test_ask_many_fails_in_the_middle),
        TEST(test_filter_that_hashes_nothing),
        TEST(test_report),
        TEST(test_report_misuse),
        TEST(test_contains),
        TEST(test_look_up),
        TEST(test_contains_without_a_store),
        TEST(test_store_that_fails),
        TEST(test_store_that_breaks_its_contract),
        TEST(test_stores_that_lie),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
