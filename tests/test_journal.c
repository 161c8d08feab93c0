// SPDX-License-Identifier: MIT
// The bytes of a journal: every truncation gives what had been acknowledged, every flipped bit is refused, and so is
// everything that no writer writes.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

#include "file.h"
#include "format.h"
#include "hash.h"
#include "journal.h"

// A journal, and the filter after each of its records.
#define STATES 40

struct history {
    struct support_bytes file; // of the filter, which requires the journal
    struct support_bytes journal;
    struct perhaps__identity identity;
    unsigned states;
    uint64_t ends[STATES]; // of the journal
    struct support_bytes after[STATES];
};

static uint64_t journal_end(const perhaps_filter *filter)
{
    perhaps_journal journal = {.size = sizeof journal};
    assert_int_equal(perhaps_journal_of(filter, &journal), PERHAPS_OK);
    return journal.bytes;
}

static void note_state(struct history *history, const perhaps_filter *filter)
{
    assert_true(history->states < STATES);
    history->ends[history->states] = journal_end(filter);
    history->after[history->states++] = support_encode(filter);
}

// Loads the file's bytes as a filter to replay on.
static perhaps_filter *load(const struct history *history)
{
    struct perhaps__source source = {
        .context = history->file.data, .read = perhaps__read_memory, .length = history->file.size};
    struct perhaps__loading loading;
    perhaps_error error = SUPPORT_ERROR;
    perhaps_filter *filter = NULL;
    assert_int_equal(perhaps__take_load_options(NULL, &loading, &error), PERHAPS_OK);
    loading.journaled = true;
    assert_int_equal(perhaps__decode(&source, &loading, &filter, &error), PERHAPS_OK);
    return filter;
}

static struct history make_history(void **state, const perhaps_options *options)
{
    struct history history = {.states = 0};
    char *path = support_path(state, "filter");
    char *name = support_path(state, "filter.journal");
    perhaps_filter *filter = support_create(options);
    uint64_t random = 3;
    assert_int_equal(perhaps_begin_journal(filter, path, NULL, NULL), PERHAPS_OK);
    note_state(&history, filter);
    for (unsigned i = 0; i < 20; i++) {
        uint64_t hashes[5];
        for (size_t j = 0; j < SUPPORT_COUNT(hashes); j++) {
            hashes[j] = support_random(&random) % 30;
        }
        size_t count = i % 5 + 1;
        int result = i == 9       ? perhaps_clear(filter)
                     : i % 7 == 4 ? perhaps_set_position(filter, hashes, i % 5 * 9)
                     : i % 4 == 3 && filter->view.remove_many != NULL
                         ? perhaps_remove_many_hash(filter, hashes, count, NULL, NULL)
                         : perhaps_add_many_hash(filter, hashes, count, NULL, NULL);
        assert_int_equal(result, PERHAPS_OK);
        note_state(&history, filter);
    }
    perhaps_free(filter);
    history.file = support_read_file(path);
    history.journal = support_read_file(name);
    filter = load(&history);
    history.identity = filter->identity;
    perhaps_free(filter);
    free(path);
    free(name);
    return history;
}

static void free_history(struct history *history)
{
    for (unsigned i = 0; i < history->states; i++) {
        free(history->after[i].data);
    }
    free(history->file.data);
    free(history->journal.data);
}

static int read_journal(const struct history *history, struct support_bytes bytes, struct perhaps__journal *journal)
{
    perhaps_error error = SUPPORT_ERROR;
    *journal = (struct perhaps__journal){.bytes = bytes.data, .size = bytes.size, .subject = "J"};
    int result = perhaps__journal_read(journal, &history->identity, &error);
    if (result < 0) {
        support_assert_failed(result, result, &error);
        assert_string_equal(error.subject, "J");
        assert_true(result != PERHAPS_E_DAMAGED || error.limit == 0); // no chunk of a filter
    }
    return result;
}

// What the bytes of a journal make of the filter is what it was after the last record that is whole in them.
static void check_prefix(const struct history *history, struct support_bytes bytes)
{
    unsigned last = 0;
    for (unsigned i = 1; i < history->states; i++) {
        bool whole =
            history->ends[i] <= bytes.size && memcmp(bytes.data, history->journal.data, (size_t)history->ends[i]) == 0;
        last = whole ? i : last;
    }
    struct perhaps__journal journal;
    assert_int_equal(read_journal(history, bytes, &journal), PERHAPS_OK);
    assert_int_equal(journal.end, history->ends[last]);
    perhaps_filter *filter = load(history);
    assert_int_equal(perhaps__journal_replay(&journal, filter, NULL), PERHAPS_OK);
    support_assert_unchanged(filter, history->after[last]);
    perhaps_free(filter);
}

static const perhaps_options kinds[] = {
    {.size = sizeof(perhaps_options), .kind = PERHAPS_KIND_BLOOM, .capacity = 100, .fpr = 0.01},
    {.size = sizeof(perhaps_options), .kind = PERHAPS_KIND_COUNTING, .capacity = 60, .fpr = 0.05},
    {.size = sizeof(perhaps_options), .kind = PERHAPS_KIND_CUCKOO, .capacity = 200, .fpr = 0.01},
};

static void test_every_truncation(void **state)
{
    for (size_t i = 0; i < SUPPORT_COUNT(kinds); i++) {
        struct history history = make_history(state, &kinds[i]);
        struct perhaps__journal journal;
        for (size_t size = 0; size < PERHAPS_JOURNAL_HEAD; size++) {
            struct support_bytes cut = {history.journal.data, size};
            int expected = size < 8 ? PERHAPS_E_JOURNAL : PERHAPS_E_DAMAGED;
            assert_int_equal(read_journal(&history, cut, &journal), expected);
        }
        for (size_t size = PERHAPS_JOURNAL_HEAD; size <= history.journal.size; size++) {
            check_prefix(&history, (struct support_bytes){history.journal.data, size});
        }
        free_history(&history);
        (void)support_remove_directory(state);
        (void)support_make_directory(state);
    }
}

// A disk that had the length of a file already, but not yet its bytes. Sectors and checksums begin at multiples of 8.
static void test_zeros_at_the_end(void **state)
{
    struct history history = make_history(state, &kinds[1]);
    for (size_t size = PERHAPS_JOURNAL_HEAD; size <= history.journal.size; size += 8) {
        for (size_t zeros = 0; zeros < 200; zeros += 1 + zeros % 24) {
            struct support_bytes bytes = {support_allocate(size + zeros), size + zeros};
            memset(bytes.data, 0, bytes.size);
            memcpy(bytes.data, history.journal.data, size);
            check_prefix(&history, bytes);
            free(bytes.data);
        }
    }
    free_history(&history);
}

// Also of the last record, which may have been acknowledged.
static void test_every_flipped_bit(void **state)
{
    struct history history = make_history(state, &kinds[1]);
    for (unsigned states = 1; states < history.states; states += 6) {
        struct support_bytes bytes = {support_allocate(history.ends[states]), (size_t)history.ends[states]};
        memcpy(bytes.data, history.journal.data, bytes.size);
        for (size_t bit = 0; bit < 8 * bytes.size; bit++) {
            struct perhaps__journal journal;
            bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            int result = read_journal(&history, bytes, &journal);
            assert_int_equal(result, bit < 64 ? PERHAPS_E_JOURNAL : PERHAPS_E_DAMAGED);
            bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        check_prefix(&history, bytes);
        free(bytes.data);
    }
    free_history(&history);
}

// Bytes that are exchanged, repeated, left out: whole records in wrong places.
static void test_records_in_wrong_places(void **state)
{
    struct history history = make_history(state, &kinds[1]);
    struct perhaps__journal journal;
    for (unsigned i = 1; i + 1 < history.states; i++) {
        size_t begin = (size_t)history.ends[i - 1];
        size_t end = (size_t)history.ends[i];
        struct support_bytes bytes = {support_allocate(2 * history.journal.size), history.journal.size - (end - begin)};
        memcpy(bytes.data, history.journal.data, begin); // left out
        memcpy(bytes.data + begin, history.journal.data + end, history.journal.size - end);
        assert_int_equal(read_journal(&history, bytes, &journal), PERHAPS_E_DAMAGED);
        assert_int_equal(journal.end, begin);
        memcpy(bytes.data, history.journal.data, end); // repeated
        memcpy(bytes.data + end, history.journal.data + begin, end - begin);
        bytes.size = 2 * end - begin;
        assert_int_equal(read_journal(&history, bytes, &journal), PERHAPS_E_DAMAGED);
        assert_int_equal(journal.end, end);
        free(bytes.data);
    }
    free_history(&history);
}

/* ---------------------------------------------------------------- made-up records under right checksums */

struct made_up {
    uint64_t size; // 0: as the values need
    uint64_t type;
    uint64_t sequence;
    uint64_t values[3];
    size_t count;
};

static uint8_t *write_made_up(uint8_t *at, uint64_t seed, const struct made_up *made)
{
    struct perhaps__record record = {
        .type = (uint32_t)made->type, .sequence = made->sequence, .values = made->values, .count = made->count};
    uint8_t *end = perhaps__record_write(at, seed, &record);
    if (made->size != 0) {
        perhaps__store_little(at, 4, made->size);
        perhaps__store_little(at + 16, 8, perhaps__hash(at, 16, seed));
    }
    return end;
}

static int read_made_up(const struct history *history, const struct made_up *made, size_t count, bool replay)
{
    uint8_t bytes[1024];
    memcpy(bytes, history->journal.data, PERHAPS_JOURNAL_HEAD);
    uint64_t seed = perhaps__load_little(bytes + 56, 8);
    uint8_t *at = bytes + PERHAPS_JOURNAL_HEAD;
    for (size_t i = 0; i < count; i++) {
        at = write_made_up(at, seed, &made[i]);
    }
    struct perhaps__journal journal;
    int result = read_journal(history, (struct support_bytes){bytes, (size_t)(at - bytes)}, &journal);
    if (result == PERHAPS_OK && replay) {
        perhaps_filter *filter = load(history);
        result = perhaps__journal_replay(&journal, filter, NULL);
        perhaps_free(filter);
    }
    return result;
}

static void test_made_up_records(void **state)
{
    static const struct made_up wrong[] = {
        {.type = 0, .sequence = 1, .count = 1},
        {.type = 6, .sequence = 1, .count = 1},
        {.type = UINT32_MAX, .sequence = 1, .count = 1},
        {.type = PERHAPS_RECORD_ADD, .sequence = 1, .count = 0},
        {.type = PERHAPS_RECORD_REMOVE, .sequence = 1, .count = 0},
        {.type = PERHAPS_RECORD_CLEAR, .sequence = 1, .count = 1},
        {.type = PERHAPS_RECORD_VOID, .sequence = 1, .count = 0},
        {.type = PERHAPS_RECORD_VOID, .sequence = 1, .count = 2, .values = {1, 1}},
        {.type = PERHAPS_RECORD_VOID, .sequence = 1, .count = 1, .values = {0}},
        {.type = PERHAPS_RECORD_VOID, .sequence = 1, .count = 1, .values = {2}},
        {.type = PERHAPS_RECORD_POSITION, .sequence = 1, .count = 0},
        {.type = PERHAPS_RECORD_POSITION, .sequence = 1, .count = 1, .values = {1}},
        {.type = PERHAPS_RECORD_POSITION, .sequence = 1, .count = 2, .values = {0, 0}},
        {.type = PERHAPS_RECORD_POSITION, .sequence = 1, .count = 2, .values = {9, 0}},
        {.type = PERHAPS_RECORD_POSITION, .sequence = 1, .count = 2, .values = {7, UINT64_C(1) << 56}},
        {.type = PERHAPS_RECORD_POSITION, .sequence = 1, .count = 2, .values = {UINT64_MAX - 6, 0}},
        {.type = PERHAPS_RECORD_POSITION, .sequence = 1, .count = 3, .values = {8, 0, 0}},
        {.type = PERHAPS_RECORD_POSITION, .sequence = 1, .count = 1, .size = 32 + 8 * 514},
        {.type = PERHAPS_RECORD_ADD, .sequence = 0, .count = 1},
        {.type = PERHAPS_RECORD_ADD, .sequence = 2, .count = 1},
        {.type = PERHAPS_RECORD_ADD, .sequence = 1, .count = 1, .size = 39},
        {.type = PERHAPS_RECORD_ADD, .sequence = 1, .count = 1, .size = 41},
        {.type = PERHAPS_RECORD_ADD, .sequence = 1, .count = 1, .size = 24},
        {.type = PERHAPS_RECORD_ADD, .sequence = 1, .count = 1, .size = UINT32_MAX},
        {.type = PERHAPS_RECORD_ADD, .sequence = 1, .count = 1, .size = 32 + 8 * 65537},
    };
    static const struct made_up right[] = {
        {.type = PERHAPS_RECORD_ADD, .sequence = 1, .count = 2, .values = {1, 2}},
        {.type = PERHAPS_RECORD_CLEAR, .sequence = 3, .count = 0},
        {.type = PERHAPS_RECORD_VOID, .sequence = 4, .count = 1, .values = {2}},
        {.type = PERHAPS_RECORD_VOID, .sequence = 5, .count = 1, .values = {5}},
        {.type = PERHAPS_RECORD_POSITION, .sequence = 6, .count = 2, .values = {8, UINT64_MAX}},
        {.type = PERHAPS_RECORD_POSITION, .sequence = 7, .count = 3, .values = {9, UINT64_MAX, 255}},
        {.type = PERHAPS_RECORD_POSITION, .sequence = 8, .count = 1},
    };
    static const struct made_up overlapping[] = {
        {.type = PERHAPS_RECORD_ADD, .sequence = 1, .count = 2, .values = {1, 2}},
        {.type = PERHAPS_RECORD_VOID, .sequence = 3, .count = 1, .values = {2}},
        {.type = PERHAPS_RECORD_VOID, .sequence = 4, .count = 1, .values = {3}}, // the void record itself
    };
    static const struct made_up removal = {.type = PERHAPS_RECORD_REMOVE, .sequence = 1, .count = 1, .values = {1}};
    struct history history = make_history(state, &kinds[0]);
    for (size_t i = 0; i < SUPPORT_COUNT(wrong); i++) {
        assert_int_equal(read_made_up(&history, &wrong[i], 1, false), PERHAPS_E_DAMAGED);
    }
    assert_int_equal(read_made_up(&history, right, SUPPORT_COUNT(right), true), PERHAPS_OK);
    assert_int_equal(read_made_up(&history, overlapping, SUPPORT_COUNT(overlapping), false), PERHAPS_E_DAMAGED);
    // A kind that does not remove: only the replay can know.
    assert_int_equal(read_made_up(&history, &removal, 1, true), PERHAPS_E_DAMAGED);
    // A whole record too large for the file is one that was cut.
    static const struct made_up large = {.type = PERHAPS_RECORD_ADD, .sequence = 1, .count = 1, .size = 32 + 8 * 65536};
    assert_int_equal(read_made_up(&history, &large, 1, false), PERHAPS_OK);
    free_history(&history);
}

// Every field of the header, under a right checksum.
static void test_made_up_headers(void **state)
{
    static const struct {
        size_t offset;
        uint64_t value;
        int code;
    } cases[] = {
        {8, 0, PERHAPS_E_VERSION},  {8, 2, PERHAPS_E_VERSION},  {12, 56, PERHAPS_E_DAMAGED},
        {16, 1, PERHAPS_E_JOURNAL}, {24, 9, PERHAPS_E_JOURNAL}, {24, 0, PERHAPS_E_JOURNAL},
        {32, 1, PERHAPS_E_DAMAGED}, {40, 1, PERHAPS_E_JOURNAL}, {48, 1, PERHAPS_E_DAMAGED},
    };
    struct history history = make_history(state, &kinds[0]);
    for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
        for (unsigned whole = 0; whole < 2; whole++) { // with records, and without any, whose seed would be another
            struct perhaps__journal journal;
            struct support_bytes bytes = support_copy(history.journal);
            perhaps__store_little(bytes.data + cases[i].offset, cases[i].offset < 16 ? 4 : 8, cases[i].value);
            perhaps__store_little(bytes.data + 56, 8, perhaps__checksum(bytes.data, 56));
            bytes.size = whole != 0 ? bytes.size : PERHAPS_JOURNAL_HEAD;
            int expected = cases[i].offset > 16 && whole != 0 ? PERHAPS_E_DAMAGED : cases[i].code;
            expected = cases[i].offset == 32 && whole == 0 ? PERHAPS_E_JOURNAL : expected;
            // An empty journal of the generation before is what a crash while folding leaves.
            bool folded = cases[i].offset == 24 && cases[i].value == 0 && whole == 0;
            assert_int_equal(read_journal(&history, bytes, &journal), folded ? PERHAPS_OK : expected);
            free(bytes.data);
        }
    }
    free_history(&history);
}

/* ---------------------------------------------------------------- memory */

static int flush_nothing(int file)
{
    (void)file;
    return 0;
}

// A layer that cannot be made: the add fails, nothing has changed, and replaying does not do what was not done, though
// it could.
static void test_void_records(void **state)
{
    char *path = support_path(state, "filter");
    unsigned voids = 0;
    for (uint64_t fail = 1; fail < 60; fail++) {
        struct support_memory memory = {0};
        perhaps_allocator allocator = support_memory_allocator(&memory);
        perhaps_options options = SUPPORT_OPTIONS(.capacity = 20, .fpr = 0.01, .kind = PERHAPS_KIND_BLOOM,
                                                  .at_capacity = PERHAPS_AT_CAPACITY_GROW, .allocator = &allocator);
        perhaps_filter *filter = support_create(&options);
        assert_int_equal(perhaps_begin_journal(filter, path, NULL, NULL), PERHAPS_OK);
        memory.fail_at = memory.calls + fail;
        for (uint64_t key = 0; key < 200; key += 7) {
            uint64_t hashes[7];
            size_t done = 0;
            for (size_t i = 0; i < 7; i++) {
                hashes[i] = (key + i) * UINT64_C(0x9e3779b97f4a7c15);
            }
            int result = perhaps_add_many_hash(filter, hashes, 7, NULL, &done);
            assert_true(result == PERHAPS_E_MEMORY || done == 7);
            voids += result == PERHAPS_E_MEMORY && done > 0;
            memory.fail_at = result == PERHAPS_E_MEMORY ? memory.calls + 5 : memory.fail_at;
        }
        perhaps_filter *reader = support_open(path, 0);
        support_assert_same(reader, filter);
        perhaps_free(reader);
        perhaps_free(filter);
        assert_true(support_memory_is_clean(&memory));
        char *name = support_path(state, "filter.journal");
        assert_int_equal(unlink(path) + unlink(name), 0);
        free(name);
    }
    assert_true(voids > 0);
    free(path);
}

// One call with a failing allocation.
enum call { BEGIN, ADD, FOLD, OPEN_DURABLE, OPEN_READER, OPEN_TOUCHED, OPEN_APPENDER, CALLS };

struct attempt {
    const char *path;
    struct support_memory memory;
    perhaps_allocator allocator;
    uint64_t fail; // the allocation of the call
    int result;
    bool changed;
};

static void change_without_memory(struct attempt *attempt, enum call call, perhaps_filter *filter)
{
    static const uint64_t hashes[1000] = {1};
    if (call != BEGIN) {
        assert_int_equal(perhaps_begin_journal(filter, attempt->path, NULL, NULL), PERHAPS_OK);
        assert_int_equal(perhaps_add_hash(filter, 5), 1);
    }
    struct support_bytes before = support_encode(filter);
    attempt->memory.fail_at = call <= FOLD ? attempt->memory.calls + attempt->fail : 0;
    if (call == BEGIN) {
        attempt->result = perhaps_begin_journal(filter, attempt->path, NULL, NULL);
        assert_int_equal(access(attempt->path, F_OK) == 0, attempt->result == PERHAPS_OK);
    } else if (call == ADD) {
        attempt->result = perhaps_add_many_hash(filter, hashes, 1000, NULL, NULL);
        attempt->changed = attempt->result == PERHAPS_OK;
    } else if (call == FOLD) {
        attempt->result = perhaps_fold_journal(filter, NULL);
    }
    if (!attempt->changed) {
        support_assert_unchanged(filter, before);
    }
    free(before.data);
}

static void open_without_memory(struct attempt *attempt, enum call call)
{
    perhaps_load_options load_options = {.size = sizeof load_options, .allocator = &attempt->allocator};
    load_options.flags = call == OPEN_TOUCHED ? PERHAPS_OPEN_FIRST_TOUCH : 0; // which opens the file twice
    perhaps_journal_options options = {.size = sizeof options, .load = &load_options};
    perhaps_filter *opened = NULL;
    perhaps_appender *appender = NULL;
    attempt->memory.fail_at = attempt->memory.calls + attempt->fail;
    attempt->result = call == OPEN_DURABLE    ? perhaps_open_durable(attempt->path, &options, &opened, NULL)
                      : call == OPEN_APPENDER ? perhaps_appender_open(attempt->path, &options, &appender, NULL)
                                              : perhaps_open(attempt->path, &load_options, &opened, NULL);
    assert_int_equal(opened != NULL || appender != NULL, attempt->result == PERHAPS_OK);
    perhaps_free(opened);
    perhaps_appender_close(appender);
}

static int attempt_call(void **state, enum call call, uint64_t fail)
{
    char *path = support_path(state, "filter");
    struct attempt attempt = {.path = path, .fail = fail};
    attempt.allocator = support_memory_allocator(&attempt.memory);
    perhaps_options create = SUPPORT_OPTIONS(.capacity = 100, .fpr = 0.01, .allocator = &attempt.allocator);
    perhaps_filter *filter = support_create(&create);
    change_without_memory(&attempt, call, filter);
    attempt.memory.fail_at = 0;
    struct support_bytes now = support_encode(filter);
    perhaps_free(filter);
    if (call > FOLD) {
        open_without_memory(&attempt, call);
    }
    assert_true(support_memory_is_clean(&attempt.memory));
    if (access(path, F_OK) == 0) {
        perhaps_filter *reader = support_open(path, 0);
        support_assert_unchanged(reader, now);
        perhaps_free(reader);
    }
    free(now.data);
    free(path);
    (void)support_remove_directory(state);
    (void)support_make_directory(state);
    return attempt.result;
}

// Every allocation of every call fails once: the call fails, the filter and what is on the disk are what they were.
static void test_memory_runs_out(void **state)
{
    for (enum call call = BEGIN; call < CALLS; call++) {
        int result = PERHAPS_E_MEMORY;
        for (uint64_t fail = 1; result == PERHAPS_E_MEMORY; fail++) {
            result = attempt_call(state, call, fail);
            assert_true(fail > 1 || result == PERHAPS_E_MEMORY);
        }
        assert_int_equal(result, PERHAPS_OK);
    }
}

#define test_in_directory(test) cmocka_unit_test_setup_teardown(test, support_make_directory, support_remove_directory)

int main(void)
{
    static struct perhaps__file_operations files;
    files = *perhaps__files;
    files.flush = flush_nothing; // only takes time here
    files.flush_data = flush_nothing;
    perhaps__files = &files;
    const struct CMUnitTest tests[] = {
        test_in_directory(test_every_truncation),  test_in_directory(test_zeros_at_the_end),
        test_in_directory(test_every_flipped_bit), test_in_directory(test_records_in_wrong_places),
        test_in_directory(test_made_up_records),   test_in_directory(test_made_up_headers),
        test_in_directory(test_void_records),      test_in_directory(test_memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
