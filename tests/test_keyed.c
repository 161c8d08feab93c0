// SPDX-License-Identifier: MIT
// Keyed filters: SipHash against its published vectors, what the file says of the key, which keys are refused, and that
// no copy of a key is left in memory. What a filter can do without its key: test_keyless.c.
#include <stdlib.h>
#include <string.h>

#include "support_secret.h"

#include "siphash.h"
#include "support_format.h"

static perhaps_filter *keyed(uint32_t kind, const uint8_t *secret, const perhaps_allocator *allocator)
{
    perhaps_filter *filter = support_create(
        &SUPPORT_OPTIONS(.kind = kind, .capacity = 500, .fpr = 0.01, .seed = 7, .key = secret, .allocator = allocator));
    support_add_keys(filter, SUPPORT_WORDS, 0, 300);
    return filter;
}

static void make_secret(uint32_t number, uint8_t secret[PERHAPS_KEY_BYTES])
{
    memcpy(secret, support_secret, PERHAPS_KEY_BYTES);
    format_put(secret, 4, 4, number);
}

// A filter that says it is keyed, under checksums that are right: what a build without libsodium meets.
static struct support_bytes claimed(void)
{
    perhaps_filter *filter = support_filter(10, 0.01, 0);
    struct support_bytes bytes = support_encode(filter);
    perhaps_free(filter);
    format_put(bytes.data, FORMAT_HASH_SOURCE, 4, PERHAPS_HASH_SIPHASH);
    format_put(bytes.data, FORMAT_KEY_CHECK, 4, 0x12345677);
    assert_true(format_mend_header(bytes.data, bytes.size));
    return bytes;
}

static void test_a_build_without_them(void **state)
{
    struct support_bytes bytes = claimed();
    if (!SUPPORT_KEYED) {
        perhaps_options options = SUPPORT_OPTIONS(.capacity = 10, .fpr = 0.01, .key = support_secret);
        perhaps_filter *filter = NULL;
        perhaps_error error = SUPPORT_ERROR;
        support_assert_failed(perhaps_create(&options, &filter, &error), PERHAPS_E_UNSUPPORTED, &error);
        assert_non_null(strstr(error.text, "libsodium"));
        support_assert_not_loaded(bytes, support_secret, 0, PERHAPS_E_UNSUPPORTED, "libsodium");
        support_assert_not_loaded(bytes, NULL, 0, PERHAPS_E_UNSUPPORTED, "libsodium");
    } else {
        support_assert_not_loaded(bytes, NULL, 0, PERHAPS_E_KEY, "none was given");
    }
    perhaps_free(support_decode_secret(bytes, NULL, PERHAPS_OPEN_KEYLESS)); // needs no hash
    free(bytes.data);
}

// The bytes 00, 01, 02, ... under the key 00 01 ... 0f: from the reference implementation's vectors_sip64, and, for 15
// bytes, from the paper. The seed has no part in it.
static void test_published_vectors(void **state)
{
    SUPPORT_NEEDS_KEYED();
    static const struct {
        size_t length;
        uint64_t hash;
    } vectors[] = {{0, UINT64_C(0x726fdb47dd0e0e31)},
                   {1, UINT64_C(0x74f839c593dc67fd)},
                   {2, UINT64_C(0x0d6c8009d9a94f5a)},
                   {3, UINT64_C(0x85676696d7fb7e2d)},
                   {15, UINT64_C(0xa129ca6149be45e5)}};
    uint8_t bytes[16];
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)i;
    }
    for (uint64_t seed = 0; seed < 2; seed++) {
        perhaps_filter *filter =
            support_create(&SUPPORT_OPTIONS(.capacity = 9, .fpr = 0.1, .seed = seed, .key = support_secret));
        for (size_t i = 0; i < SUPPORT_COUNT(vectors); i++) {
            uint64_t hash = 0;
            const void *key = vectors[i].length > 0 ? bytes : NULL;
            assert_int_equal(perhaps_hash(filter, key, vectors[i].length, &hash), PERHAPS_OK);
            assert_true(hash == vectors[i].hash);
        }
        perhaps_free(filter);
    }
}

// The calls for one key, for many in each shape, and by hash are one filter.
static void test_every_shape_hashes_alike(void **state)
{
    SUPPORT_NEEDS_KEYED();
    static const char data[] = "onetwothree";
    static const uint64_t offsets[] = {0, 3, 6, 6, 11};
    static const uint64_t nothing[] = {0, 0};
    perhaps_filter *filters[4];
    for (size_t i = 0; i < 4; i++) {
        filters[i] = support_create(&SUPPORT_OPTIONS(.capacity = 9, .fpr = 0.1, .key = support_secret));
    }
    const void *keys[] = {data, data + 3, NULL, data + 6};
    const size_t lengths[] = {3, 3, 0, 5};
    for (size_t i = 0; i < 4; i++) {
        uint64_t hash = 0;
        assert_int_equal(perhaps_add(filters[0], keys[i], lengths[i]), 1);
        assert_int_equal(perhaps_hash(filters[1], keys[i], lengths[i], &hash), PERHAPS_OK);
        assert_int_equal(perhaps_add_hash(filters[1], hash), 1);
    }
    assert_int_equal(perhaps_add_many(filters[2], data, offsets, 4, NULL, NULL), PERHAPS_OK);
    assert_int_equal(perhaps_add_many_pointers(filters[3], keys, lengths, 4, NULL, NULL), PERHAPS_OK);
    for (size_t i = 1; i < 4; i++) {
        support_assert_same(filters[0], filters[i]);
    }
    uint8_t out[1] = {0};
    assert_int_equal(perhaps_might_contain_many(filters[0], NULL, nothing, 1, out, NULL), PERHAPS_OK);
    assert_int_equal(out[0], 1);
    for (size_t i = 0; i < 4; i++) {
        perhaps_free(filters[i]);
    }
}

static void assert_refused_option(perhaps_options options, const char *option)
{
    options.size = sizeof options;
    options.capacity = 10;
    options.fpr = 0.01;
    perhaps_filter *filter = NULL;
    perhaps_sizing sizing = {.size = sizeof sizing};
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_create(&options, &filter, &error), PERHAPS_E_OPTION, &error);
    assert_string_equal(error.subject, option);
    support_assert_failed(perhaps_size_for(&options, &sizing, &error), PERHAPS_E_OPTION, &error);
    assert_null(filter);
}

static void test_options(void **state)
{
    static const uint8_t zeros[PERHAPS_KEY_BYTES] = {0};
    assert_refused_option((perhaps_options){.hash_source = PERHAPS_HASH_SIPHASH}, "key");
    assert_refused_option((perhaps_options){.hash_source = PERHAPS_HASH_SIPHASH, .key = zeros}, "key");
    assert_refused_option((perhaps_options){.key = zeros}, "key");
    assert_refused_option((perhaps_options){.hash_source = PERHAPS_HASH_XXH3, .key = support_secret}, "key");
    assert_refused_option((perhaps_options){.hash_source = PERHAPS_HASH_CALLER, .key = support_secret}, "key");
    SUPPORT_NEEDS_KEYED();
    perhaps_filter *named = support_create(
        &SUPPORT_OPTIONS(.capacity = 9, .fpr = 0.1, .hash_source = PERHAPS_HASH_SIPHASH, .key = support_secret));
    perhaps_filter *implied = support_create(&SUPPORT_OPTIONS(.capacity = 9, .fpr = 0.1, .key = support_secret));
    support_assert_same(named, implied);
    assert_int_equal(support_stats(implied).hash_source, PERHAPS_HASH_SIPHASH);
    perhaps_free(named);
    perhaps_free(implied);
}

// Callers that were compiled before there was a key: what lies behind their structures is not looked at.
static void test_structures_without_a_key(void **state)
{
    perhaps_options create = SUPPORT_OPTIONS(.capacity = 10, .fpr = 0.01, .key = support_secret);
    create.size = offsetof(perhaps_options, key);
    perhaps_filter *filter = support_create(&create);
    assert_int_equal(support_stats(filter).hash_source, PERHAPS_HASH_XXH3);
    struct support_bytes bytes = support_encode(filter);
    const perhaps_load_options load = {.size = offsetof(perhaps_load_options, key), .key = support_secret};
    perhaps_filter *copy = NULL;
    assert_int_equal(perhaps_decode(bytes.data, bytes.size, &load, &copy, NULL), PERHAPS_OK);
    support_assert_same(filter, copy);
    perhaps_free(copy);
    perhaps_free(filter);
    free(bytes.data);
}

// Every kind goes out and comes back, and answers as before, with the key and only with it.
static void test_every_kind(void **state)
{
    SUPPORT_NEEDS_KEYED();
    for (uint32_t kind = 1; perhaps_kind_name(kind) != NULL; kind++) {
        perhaps_filter *filter = keyed(kind, support_secret, NULL);
        assert_int_equal(support_count_present(filter, SUPPORT_WORDS, 0, 300), 300);
        struct support_bytes bytes = support_encode(filter);
        perhaps_filter *copy = support_decode_secret(bytes, support_secret, 0);
        support_assert_unchanged(copy, bytes);
        assert_int_equal(support_count_present(copy, SUPPORT_WORDS, 0, 300), 300);
        assert_int_equal(support_count_present(copy, SUPPORT_URLS, 0, 1000),
                         support_count_present(filter, SUPPORT_URLS, 0, 1000));
        support_assert_not_loaded(bytes, support_other_secret, 0, PERHAPS_E_KEY, "another secret key");
        support_assert_not_loaded(bytes, NULL, 0, PERHAPS_E_KEY, "none was given");
        perhaps_free(copy);
        perhaps_free(filter);
        free(bytes.data);
    }
}

static void test_a_key_for_a_filter_without(void **state)
{
    perhaps_filter *filter = support_filter(10, 0.01, 0);
    struct support_bytes bytes = support_encode(filter);
    support_assert_not_loaded(bytes, support_secret, 0, PERHAPS_E_KEY, "has no secret key");
    support_assert_not_loaded(bytes, support_secret, PERHAPS_OPEN_KEYLESS, PERHAPS_E_KEY, "has no secret key");
    perhaps_free(filter);
    free(bytes.data);
}

static void test_files(void **state)
{
    SUPPORT_NEEDS_KEYED();
    static const uint32_t flags[] = {0, PERHAPS_OPEN_COPY, PERHAPS_OPEN_COPY | PERHAPS_OPEN_SHARED};
    char *path = support_path(state, "keyed");
    perhaps_filter *made = keyed(PERHAPS_KIND_BLOOM, support_secret, NULL);
    support_save(made, path);
    for (size_t i = 0; i < SUPPORT_COUNT(flags); i++) {
        perhaps_load_options options = {.size = sizeof options, .flags = flags[i], .key = support_secret};
        perhaps_filter *filter = NULL;
        perhaps_error error = SUPPORT_ERROR;
        assert_int_equal(perhaps_open(path, &options, &filter, NULL), PERHAPS_OK);
        assert_int_equal(support_count_present(filter, SUPPORT_WORDS, 0, 300), 300);
        support_assert_same(filter, made);
        perhaps_free(filter);
        options.key = support_other_secret;
        filter = NULL;
        support_assert_failed(perhaps_open(path, &options, &filter, &error), PERHAPS_E_KEY, &error);
        assert_string_equal(error.subject, path);
        assert_null(filter);
    }
    perhaps_free(made);
    free(path);
}

// Whoever watches a file needs the key once.
static void test_reopen(void **state)
{
    SUPPORT_NEEDS_KEYED();
    char *path = support_path(state, "watched");
    perhaps_filter *made = keyed(PERHAPS_KIND_BLOOM, support_secret, NULL);
    support_save(made, path);
    const perhaps_load_options options = {.size = sizeof options, .key = support_secret};
    perhaps_filter *old = NULL;
    perhaps_filter *newer = NULL;
    perhaps_error error = SUPPORT_ERROR;
    assert_int_equal(perhaps_open(path, &options, &old, NULL), PERHAPS_OK);
    support_save(made, path);
    assert_int_equal(perhaps_reopen(old, NULL, &newer, &error), 1);
    support_assert_same(newer, made);
    perhaps_free(newer);
    newer = NULL;
    perhaps_filter *strangers[] = {keyed(PERHAPS_KIND_BLOOM, support_other_secret, NULL), support_filter(500, 0.01, 7)};
    for (size_t i = 0; i < 2; i++) { // somebody put another one there
        support_save(strangers[i], path);
        support_assert_failed(perhaps_reopen(old, NULL, &newer, &error), PERHAPS_E_KEY, &error);
        assert_null(newer);
        perhaps_free(strangers[i]);
    }
    perhaps_free(old);
    perhaps_free(made);
    free(path);
}

static bool holds(struct support_bytes bytes, const uint8_t *part, size_t size)
{
    for (size_t i = 0; i + size <= bytes.size; i++) {
        if (memcmp(bytes.data + i, part, size) == 0) {
            return true;
        }
    }
    return false;
}

// Of any key, whether its hash is odd or even.
static void test_check_values(void **state)
{
    SUPPORT_NEEDS_KEYED();
    uint8_t secret[PERHAPS_KEY_BYTES];
    uint64_t even = 0;
    for (uint32_t i = 0; i < 20; i++) {
        make_secret(i, secret);
        perhaps_filter *filter = keyed(PERHAPS_KIND_BLOOM, secret, NULL);
        struct support_bytes bytes = support_encode(filter);
        uint64_t hash = 0;
        assert_int_equal(perhaps_hash(filter, "perhaps: key check value", 24, &hash), PERHAPS_OK);
        assert_true(format_get(bytes.data, FORMAT_KEY_CHECK, 4) == ((hash & UINT32_MAX) | 1));
        even += (hash & 1) == 0;
        perhaps_free(support_decode_secret(bytes, secret, 0));
        perhaps_free(filter);
        free(bytes.data);
    }
    assert_true(even > 0 && even < 20);
}

// The key itself is nowhere.
static void test_what_the_file_says_of_the_key(void **state)
{
    SUPPORT_NEEDS_KEYED();
    perhaps_filter *filter = keyed(PERHAPS_KIND_BLOOM, support_secret, NULL);
    perhaps_filter *other = keyed(PERHAPS_KIND_BLOOM, support_other_secret, NULL);
    struct support_bytes bytes = support_encode(filter);
    assert_int_equal(format_get(bytes.data, FORMAT_HASH_SOURCE, 4), 3);
    assert_int_equal(support_stats(filter).key_check, format_get(bytes.data, FORMAT_KEY_CHECK, 4));
    assert_true(support_stats(other).key_check != support_stats(filter).key_check);
    assert_false(holds(bytes, support_secret, 8));
    assert_false(holds(bytes, support_secret + 8, 8));
    perhaps_free(filter);
    perhaps_free(other);
    free(bytes.data);
}

static void test_damage(void **state)
{
    SUPPORT_NEEDS_KEYED();
    perhaps_filter *filter = support_create(&SUPPORT_OPTIONS(.capacity = 9, .fpr = 0.1, .key = support_secret));
    assert_int_equal(perhaps_add(filter, "a", 1), 1);
    struct support_bytes bytes = support_encode(filter);
    for (size_t bit = 64; bit < 8 * bytes.size; bit++) { // behind the magic
        bytes.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
        support_assert_not_loaded(bytes, support_secret, 0, PERHAPS_E_DAMAGED, "");
        support_assert_not_loaded(bytes, NULL, PERHAPS_OPEN_KEYLESS, PERHAPS_E_DAMAGED, "");
        bytes.data[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
    // Fields that contradict each other, or the key, under checksums that are right.
    static const struct {
        size_t offset;
        uint64_t value;
        int code;
        const char *word;
    } mutations[] = {{FORMAT_KEY_CHECK, 0, PERHAPS_E_DAMAGED, "key check value"},
                     {FORMAT_KEY_CHECK, 0x12345678, PERHAPS_E_DAMAGED, "key check value"},
                     {FORMAT_KEY_CHECK, 0x12345679, PERHAPS_E_KEY, "another secret key"},
                     {FORMAT_HASH_SOURCE, PERHAPS_HASH_XXH3, PERHAPS_E_DAMAGED, "key check value"},
                     {FORMAT_HASH_SOURCE, PERHAPS_HASH_CALLER, PERHAPS_E_DAMAGED, "key check value"},
                     {FORMAT_HASH_SOURCE, 4, PERHAPS_E_DAMAGED, "hash source"},
                     {FORMAT_PROBE, 1, PERHAPS_E_PROBE, "hashes or places"}};
    for (size_t i = 0; i < SUPPORT_COUNT(mutations); i++) {
        struct support_bytes mutated = support_copy(bytes);
        format_put(mutated.data, mutations[i].offset, 4, mutations[i].value);
        assert_true(format_mend_header(mutated.data, mutated.size));
        support_assert_not_loaded(mutated, support_secret, 0, mutations[i].code, mutations[i].word);
        free(mutated.data);
    }
    perhaps_free(filter);
    free(bytes.data);
}

// A key that happens to have the check value of another is found out by the probe fingerprint.
static void test_the_probe_fingerprint_is_keyed(void **state)
{
    SUPPORT_NEEDS_KEYED();
    perhaps_filter *filter = keyed(PERHAPS_KIND_BLOOM, support_secret, NULL);
    struct support_bytes bytes = support_encode(filter);
    format_put(bytes.data, FORMAT_KEY_CHECK, 4, perhaps__key_check(support_other_secret));
    assert_true(format_mend_header(bytes.data, bytes.size));
    support_assert_not_loaded(bytes, support_other_secret, 0, PERHAPS_E_PROBE, "hashes or places");
    perhaps_free(filter);
    free(bytes.data);
}

static void test_merge(void **state)
{
    SUPPORT_NEEDS_KEYED();
    perhaps_filter *into = keyed(PERHAPS_KIND_BLOOM, support_secret, NULL);
    perhaps_filter *like = keyed(PERHAPS_KIND_BLOOM, support_secret, NULL);
    perhaps_filter *other = keyed(PERHAPS_KIND_BLOOM, support_other_secret, NULL);
    perhaps_filter *unkeyed = support_filter(500, 0.01, 7);
    support_add_keys(like, SUPPORT_URLS, 0, 100);
    assert_int_equal(perhaps_merge(into, like, NULL), PERHAPS_OK);
    assert_int_equal(support_count_present(into, SUPPORT_URLS, 0, 100), 100);
    struct support_bytes before = support_encode(into);
    perhaps_error error = SUPPORT_ERROR;
    support_assert_failed(perhaps_merge(into, other, &error), PERHAPS_E_MISMATCH, &error);
    assert_string_equal(error.subject, "key check value");
    assert_true(error.limit == support_stats(into).key_check && error.value == support_stats(other).key_check);
    support_assert_failed(perhaps_merge(into, unkeyed, &error), PERHAPS_E_MISMATCH, &error);
    assert_string_equal(error.subject, "hash source");
    support_assert_unchanged(into, before);
    free(before.data);
    perhaps_free(into);
    perhaps_free(like);
    perhaps_free(other);
    perhaps_free(unkeyed);
}

struct numbered {
    uint32_t check;
    uint32_t number;
};

static int compare_checks(const void *a, const void *b)
{
    const struct numbered *left = a;
    const struct numbered *right = b;
    return (left->check > right->check) - (left->check < right->check);
}

// Two keys of one check value, which 2^18 keys have some of (2^36 / 2 / 2^31): a merge compares the keys themselves.
static void test_merge_compares_keys(void **state)
{
    SUPPORT_NEEDS_KEYED();
    const uint32_t count = 1U << 18;
    struct numbered *checks = support_allocate(count * sizeof *checks);
    uint8_t secrets[2][PERHAPS_KEY_BYTES];
    for (uint32_t i = 0; i < count; i++) {
        make_secret(i, secrets[0]);
        checks[i] = (struct numbered){perhaps__key_check(secrets[0]), i};
    }
    qsort(checks, count, sizeof *checks, compare_checks);
    uint32_t at = 1;
    while (at < count && checks[at].check != checks[at - 1].check) {
        at++;
    }
    assert_true(at < count);
    perhaps_filter *filters[2];
    for (uint32_t i = 0; i < 2; i++) {
        make_secret(checks[at - i].number, secrets[i]);
        filters[i] = keyed(PERHAPS_KIND_BLOOM, secrets[i], NULL);
    }
    assert_int_equal(support_stats(filters[0]).key_check, support_stats(filters[1]).key_check);
    assert_int_equal(perhaps_merge(filters[0], filters[1], NULL), PERHAPS_E_MISMATCH);
    perhaps_free(filters[0]);
    perhaps_free(filters[1]);
    free(checks);
}

static void test_convert(void **state)
{
    SUPPORT_NEEDS_KEYED();
    perhaps_filter *from = keyed(PERHAPS_KIND_COUNTING, support_secret, NULL);
    perhaps_filter *bloom = NULL;
    assert_int_equal(perhaps_convert(from, PERHAPS_KIND_BLOOM, NULL, &bloom, NULL), PERHAPS_OK);
    assert_int_equal(support_count_present(bloom, SUPPORT_WORDS, 0, 300), 300);
    assert_int_equal(support_stats(bloom).key_check, support_stats(from).key_check);
    struct support_bytes bytes = support_encode(bloom);
    perhaps_free(support_decode_secret(bytes, support_secret, 0)); // its probe fingerprint is that of the key
    free(bytes.data);
    perhaps_free(from);
    perhaps_free(bloom);
}

// ---- memory

static struct support_memory watching(uint64_t fail_at)
{
    return (struct support_memory){.fail_at = fail_at, .secret = support_secret, .secret_size = sizeof support_secret};
}

static void assert_forgotten(const struct support_memory *memory)
{
    assert_int_equal(memory->secrets_found, 0);
    assert_true(support_memory_is_clean(memory));
}

// The look itself works: a block with the key in it is noticed.
static void test_the_look_into_freed_blocks(void **state)
{
    struct support_memory memory = watching(0);
    perhaps_allocator allocator = support_memory_allocator(&memory);
    uint8_t *block = allocator.allocate(allocator.context, 100, 64);
    memcpy(block + 84, support_secret, sizeof support_secret);
    allocator.release(allocator.context, block, 100, 64);
    assert_int_equal(memory.secrets_found, 1);
}

static void test_keys_are_wiped_from_memory(void **state)
{
    SUPPORT_NEEDS_KEYED();
    for (uint32_t kind = 1; perhaps_kind_name(kind) != NULL; kind++) {
        struct support_memory memory = watching(0);
        perhaps_allocator allocator = support_memory_allocator(&memory);
        perhaps_free(keyed(kind, support_secret, &allocator));
        assert_true(memory.calls > 0);
        assert_forgotten(&memory);
    }
}

// Each allocation fails once, in each call that makes a filter.
static int make_one_way(unsigned way, struct support_bytes bytes, const perhaps_allocator *allocator,
                        const perhaps_filter *counting, perhaps_filter **filter)
{
    const perhaps_options create = SUPPORT_OPTIONS(.capacity = 500, .fpr = 0.01, .key = support_secret,
                                                   .allocator = allocator, .flags = PERHAPS_SHARED);
    const perhaps_load_options load = {.size = sizeof load, .key = support_secret, .allocator = allocator};
    switch (way) {
    case 0:
        return perhaps_create(&create, filter, NULL);
    case 1:
        return perhaps_decode(bytes.data, bytes.size, &load, filter, NULL);
    default:
        return perhaps_convert(counting, PERHAPS_KIND_BLOOM, allocator, filter, NULL);
    }
}

static void test_keys_are_wiped_on_errors(void **state)
{
    SUPPORT_NEEDS_KEYED();
    perhaps_filter *counting = keyed(PERHAPS_KIND_COUNTING, support_secret, NULL);
    assert_int_equal(perhaps_set_metadata(counting, "abc", 3), PERHAPS_OK);
    struct support_bytes bytes = support_encode(counting);
    for (unsigned way = 0; way < 3; way++) {
        int result = PERHAPS_E_MEMORY;
        for (uint64_t fail_at = 1; result == PERHAPS_E_MEMORY; fail_at++) {
            struct support_memory memory = watching(fail_at);
            perhaps_allocator allocator = support_memory_allocator(&memory);
            perhaps_filter *filter = NULL;
            result = make_one_way(way, bytes, &allocator, counting, &filter);
            perhaps_free(filter);
            assert_forgotten(&memory);
        }
        assert_int_equal(result, PERHAPS_OK);
    }
    perhaps_free(counting);
    free(bytes.data);
}

// The key was taken over when the payload is found to be damaged, or the probe fingerprint another.
static void test_keys_are_wiped_after_damage(void **state)
{
    SUPPORT_NEEDS_KEYED();
    perhaps_filter *made = keyed(PERHAPS_KIND_BLOOM, support_secret, NULL);
    struct support_bytes bytes = support_encode(made);
    const size_t places[] = {FORMAT_PROBE, FORMAT_LAYER_USED, bytes.size - 1};
    for (size_t i = 0; i < SUPPORT_COUNT(places); i++) {
        struct support_memory memory = watching(0);
        perhaps_allocator allocator = support_memory_allocator(&memory);
        const perhaps_load_options load = {.size = sizeof load, .key = support_secret, .allocator = &allocator};
        perhaps_filter *filter = NULL;
        struct support_bytes damaged = support_copy(bytes);
        damaged.data[places[i]] ^= 1;
        assert_true(format_mend_header(damaged.data, damaged.size));
        assert_true(perhaps_decode(damaged.data, damaged.size, &load, &filter, NULL) < 0);
        assert_forgotten(&memory);
        free(damaged.data);
    }
    perhaps_free(made);
    free(bytes.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_build_without_them),
        cmocka_unit_test(test_published_vectors),
        cmocka_unit_test(test_every_shape_hashes_alike),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_structures_without_a_key),
        cmocka_unit_test(test_every_kind),
        cmocka_unit_test(test_a_key_for_a_filter_without),
        cmocka_unit_test_setup_teardown(test_files, support_make_directory, support_remove_directory),
        cmocka_unit_test_setup_teardown(test_reopen, support_make_directory, support_remove_directory),
        cmocka_unit_test(test_check_values),
        cmocka_unit_test(test_what_the_file_says_of_the_key),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_the_probe_fingerprint_is_keyed),
        cmocka_unit_test(test_merge),
        cmocka_unit_test(test_merge_compares_keys),
        cmocka_unit_test(test_convert),
        cmocka_unit_test(test_the_look_into_freed_blocks),
        cmocka_unit_test(test_keys_are_wiped_from_memory),
        cmocka_unit_test(test_keys_are_wiped_on_errors),
        cmocka_unit_test(test_keys_are_wiped_after_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
