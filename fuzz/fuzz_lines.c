// SPDX-License-Identifier: MIT
// The reader of keys of the command-line tool: whatever the bytes are and however read() cuts them, the keys are those
// that a plain split gives, in order, none lost and none made up.
//
// Byte 0: bit 0 NUL for the separator, bit 1 --crlf, bits 2 to 4 the size of the first block (1 to 64 bytes, or the tool's
// own), bit 5 that a read fails in the end. Byte 1: how much a read gives. The others are the file.
//
// cli/input.c is compiled with read() renamed to fuzz_read(), which is here.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "input.h"
#include "messages.h"
#include "options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
ssize_t fuzz_read(int file, void *buffer, size_t room);

static struct {
    const uint8_t *data;
    size_t size;
    size_t at;
    unsigned pace;
    unsigned calls;
    bool fails;
} file;

static void demand(bool condition, const char *text)
{
    if (!condition) {
        (void)fprintf(stderr, "%s\n", text);
        abort();
    }
}

ssize_t fuzz_read(int number, void *buffer, size_t room)
{
    demand(number == 0 && room > 0, "a read of nothing");
    file.calls++;
    if (file.pace % 7 == 1 && file.calls % 3 == 1) {
        errno = EINTR;
        return -1;
    }
    size_t left = file.size - file.at;
    if (left == 0 && file.fails) {
        errno = EIO;
        return -1;
    }
    size_t most = file.pace == 0 ? left : 1 + (size_t)file.pace * file.calls % 97;
    size_t got = most < left ? most : left;
    got = got < room ? got : room;
    memcpy(buffer, file.data + file.at, got);
    file.at += got;
    return (ssize_t)got;
}

// The next key by a plain split, from *at on.
struct key {
    const uint8_t *bytes;
    size_t length;
    bool unterminated;
};

static struct key next_key(const struct input *input, size_t *at)
{
    const uint8_t *found = memchr(file.data + *at, input->separator, file.size - *at);
    size_t end = found != NULL ? (size_t)(found - file.data) : file.size;
    struct key key = {file.data + *at, end - *at, end == file.size};
    if (input->crlf && key.length > 0 && key.bytes[key.length - 1] == '\r') {
        key.length--;
    }
    *at = end < file.size ? end + 1 : end;
    return key;
}

static void check_batch(const struct input *input, const struct batch *batch, size_t *at, uint64_t *line)
{
    demand(batch->count > 0 && batch->count <= BATCH_KEYS, "a batch of no keys, or of too many");
    demand(batch->first_line == *line + 1, "the line numbers are wrong");
    for (size_t i = 0; i < batch->count; i++) {
        demand(*at < file.size, "a key was made up");
        struct key key = next_key(input, at);
        demand(key.length == batch->lengths[i], "a key has another length");
        demand(key.length == 0 || memcmp(key.bytes, batch->keys[i], key.length) == 0, "a key has other bytes");
        demand((const char *)batch->keys[i] + key.length <= (const char *)batch->keys[i + 1], "keys overlap");
        demand(key.unterminated == (batch->unterminated && i + 1 == batch->count), "a key is cut off, or is not");
    }
    *line += batch->count;
}

static void read_all(struct input *input)
{
    struct batch batch;
    size_t at = 0;
    uint64_t line = 0;
    enum input_result result;
    while ((result = input_next(input, &batch)) == INPUT_BATCH) {
        check_batch(input, &batch, &at, &line);
    }
    demand((result == INPUT_FAILED) == file.fails, "a read that failed is not told, or told without one");
    if (file.fails) { // whole lines are handed out, the beginning of one is not
        next_key(input, &at);
    }
    demand(at == file.size && file.at == file.size, "keys were lost");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    struct arguments arguments = {0};
    arguments.values[OPTION_NULL_DATA] = (data[0] & 1) != 0 ? "" : NULL;
    arguments.values[OPTION_CRLF] = (data[0] & 2) != 0 ? "" : NULL;
    struct input input;
    input_init(&input, &arguments);
    input.fd = 0;
    input.name = "fuzz";
    unsigned block = data[0] >> 2 & 7;
    if (block < 7) {
        input.capacity = (size_t)1 << block;
        input.block = malloc(input.capacity);
    }
    file.data = data + 2;
    file.size = size - 2;
    file.at = 0;
    file.calls = 0;
    file.pace = data[1];
    file.fails = (data[0] & 32) != 0;
    read_all(&input);
    input_free(&input);
    return 0;
}
