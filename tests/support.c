// SPDX-License-Identifier: MIT
#include "support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void assert_succeeded(int result, const perhaps_error *error)
{
    if (result != PERHAPS_OK) {
        fail_msg("%s: %s: %s", perhaps_error_name(result), error->subject, error->text);
    }
}

perhaps_filter *support_create(const perhaps_options *options)
{
    perhaps_filter *filter = NULL;
    perhaps_error error = SUPPORT_ERROR;
    assert_succeeded(perhaps_create(options, &filter, &error), &error);
    assert_non_null(filter);
    return filter;
}

perhaps_filter *support_filter(uint64_t capacity, double fpr, uint64_t seed)
{
    return support_create(&SUPPORT_OPTIONS(.capacity = capacity, .fpr = fpr, .seed = seed));
}

perhaps_filter *support_decode(const void *bytes, size_t size)
{
    perhaps_filter *filter = NULL;
    perhaps_error error = SUPPORT_ERROR;
    assert_succeeded(perhaps_decode(bytes, size, NULL, &filter, &error), &error);
    return filter;
}

perhaps_filter *support_open(const char *path, uint32_t flags)
{
    perhaps_load_options options = {.size = sizeof options, .flags = flags};
    perhaps_filter *filter = NULL;
    perhaps_error error = SUPPORT_ERROR;
    assert_succeeded(perhaps_open(path, &options, &filter, &error), &error);
    return filter;
}

void support_save(const perhaps_filter *filter, const char *path)
{
    perhaps_error error = SUPPORT_ERROR;
    assert_succeeded(perhaps_save(filter, path, &error), &error);
}

perhaps_statistics support_stats(const perhaps_filter *filter)
{
    perhaps_statistics statistics = {.size = sizeof statistics};
    assert_int_equal(perhaps_stats(filter, &statistics), PERHAPS_OK);
    return statistics;
}

perhaps_sizing support_size(uint64_t capacity, double fpr, uint64_t bytes)
{
    perhaps_sizing sizing = {.size = sizeof sizing};
    perhaps_error error = SUPPORT_ERROR;
    perhaps_options options = SUPPORT_OPTIONS(.capacity = capacity, .fpr = fpr, .bytes = bytes);
    assert_succeeded(perhaps_size_for(&options, &sizing, &error), &error);
    return sizing;
}

void support_assert_failed(int result, int code, const perhaps_error *error)
{
    if (result != code) {
        fail_msg("%s (%s), expected %s", perhaps_error_name(result), error->text, perhaps_error_name(code));
    }
    assert_int_equal(error->code, code);
    assert_in_range(strnlen(error->text, sizeof error->text), 1, sizeof error->text - 1);
    assert_in_range(strnlen(error->subject, sizeof error->subject), 0, sizeof error->subject - 1);
}

// ---- keys in batches

#define BATCH 1000

struct batch {
    uint8_t data[BATCH * SUPPORT_KEY_MAX];
    uint64_t offsets[BATCH + 1];
    uint8_t out[BATCH];
    size_t count;
};

static void fill_batch(struct batch *batch, enum support_family family, uint64_t first, uint64_t count)
{
    batch->count = count < BATCH ? (size_t)count : BATCH;
    batch->offsets[0] = 0;
    for (size_t i = 0; i < batch->count; i++) {
        uint64_t offset = batch->offsets[i];
        batch->offsets[i + 1] = offset + support_key(family, first + i, batch->data + offset);
    }
}

void support_add_keys(perhaps_filter *filter, enum support_family family, uint64_t first, uint64_t count)
{
    struct batch *batch = support_allocate(sizeof *batch);
    while (count > 0) {
        fill_batch(batch, family, first, count);
        assert_int_equal(perhaps_add_many(filter, batch->data, batch->offsets, batch->count, NULL, NULL), PERHAPS_OK);
        first += batch->count;
        count -= batch->count;
    }
    free(batch);
}

uint64_t support_count_present(const perhaps_filter *filter, enum support_family family, uint64_t first, uint64_t count)
{
    struct batch *batch = support_allocate(sizeof *batch);
    uint64_t present = 0;
    while (count > 0) {
        fill_batch(batch, family, first, count);
        int status = perhaps_might_contain_many(filter, batch->data, batch->offsets, batch->count, batch->out, NULL);
        assert_int_equal(status, PERHAPS_OK);
        for (size_t i = 0; i < batch->count; i++) {
            present += batch->out[i];
        }
        first += batch->count;
        count -= batch->count;
    }
    free(batch);
    return present;
}

// ---- bytes

void *support_allocate(size_t size)
{
    void *memory = calloc(1, size > 0 ? size : 1);
    assert_non_null(memory);
    return memory;
}

struct support_bytes support_encode(const perhaps_filter *filter)
{
    struct support_bytes bytes = {.size = (size_t)support_stats(filter).encoded_bytes};
    bytes.data = support_allocate(bytes.size);
    size_t written = 0;
    perhaps_error error = SUPPORT_ERROR;
    assert_succeeded(perhaps_encode(filter, bytes.data, bytes.size, &written, &error), &error);
    assert_int_equal(written, bytes.size);
    return bytes;
}

struct support_bytes support_copy(struct support_bytes bytes)
{
    struct support_bytes copy = {.data = support_allocate(bytes.size), .size = bytes.size};
    memcpy(copy.data, bytes.data, bytes.size);
    return copy;
}

bool support_bytes_equal(struct support_bytes a, struct support_bytes b)
{
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

void support_assert_unchanged(const perhaps_filter *filter, struct support_bytes before)
{
    struct support_bytes now = support_encode(filter);
    bool equal = support_bytes_equal(now, before);
    free(now.data);
    assert_true(equal);
}

void support_assert_same(const perhaps_filter *a, const perhaps_filter *b)
{
    struct support_bytes bytes = support_encode(a);
    support_assert_unchanged(b, bytes);
    free(bytes.data);
}

void support_assert_same_payload(const perhaps_filter *a, const perhaps_filter *b)
{
    struct support_bytes left = support_encode(a);
    struct support_bytes right = support_encode(b);
    size_t payload = (size_t)support_stats(a).bytes;
    assert_int_equal(left.size, right.size);
    assert_memory_equal(left.data + left.size - payload, right.data + right.size - payload, payload);
    assert_true(support_stats(a).set_bits == support_stats(b).set_bits);
    assert_true(support_stats(a).fpr_now == support_stats(b).fpr_now);
    assert_true(support_stats(a).distinct_estimate == support_stats(b).distinct_estimate);
    free(left.data);
    free(right.data);
}

// ---- files

int support_make_directory(void **state)
{
    const char *parent = getenv("TMPDIR");
    char *path = support_allocate(4096);
    (void)snprintf(path, 4096, "%s/perhaps-test-XXXXXX", parent != NULL ? parent : "/tmp");
    if (mkdtemp(path) == NULL) {
        free(path);
        return -1;
    }
    *state = path;
    return 0;
}

static int remove_entries(const char *path)
{
    DIR *directory = opendir(path);
    if (directory == NULL) {
        return -1;
    }
    int result = 0;
    for (const struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        if (unlinkat(dirfd(directory), entry->d_name, 0) != 0 &&
            unlinkat(dirfd(directory), entry->d_name, AT_REMOVEDIR) != 0) {
            result = -1;
        }
    }
    closedir(directory);
    return result;
}

int support_remove_directory(void **state)
{
    char *path = *state;
    int result = remove_entries(path) == 0 && rmdir(path) == 0 ? 0 : -1;
    free(path);
    return result;
}

char *support_path(void **state, const char *name)
{
    const char *directory = *state;
    size_t size = strlen(directory) + strlen(name) + 2;
    char *path = support_allocate(size);
    (void)snprintf(path, size, "%s/%s", directory, name);
    return path;
}

size_t support_count_entries(const char *path)
{
    DIR *directory = opendir(path);
    assert_non_null(directory);
    size_t count = 0;
    while (readdir(directory) != NULL) {
        count++;
    }
    closedir(directory);
    return count - 2;
}

struct support_bytes support_read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail_msg("%s: %s", path, strerror(errno));
    }
    struct stat status;
    assert_int_equal(fstat(fileno(file), &status), 0);
    struct support_bytes bytes = {.size = (size_t)status.st_size};
    bytes.data = support_allocate(bytes.size);
    assert_int_equal(fread(bytes.data, 1, bytes.size, file), bytes.size);
    (void)fclose(file);
    return bytes;
}

void support_write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        fail_msg("%s: %s", path, strerror(errno));
    }
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}
