// SPDX-License-Identifier: MIT
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "messages.h"
#include "options.h"

enum { FIRST_BLOCK = 256 * 1024 };

void input_init(struct input *input, const struct arguments *arguments)
{
    *input = (struct input){
        .separator = given(arguments, OPTION_NULL_DATA) ? '\0' : '\n',
        .crlf = given(arguments, OPTION_CRLF),
        .fd = -1,
    };
}

void input_free(struct input *input)
{
    input_close(input);
    free(input->block);
    input->block = NULL;
    input->capacity = 0;
}

static void tell_about_terminal(void)
{
    if (isatty(STDIN_FILENO)) {
        tell("perhaps", "reading keys from the terminal; an empty line is a key too, Ctrl-D ends the input");
    }
}

int input_open(struct input *input, const char *name)
{
    input->name = name;
    input->at_end = false;
    input->lines = 0;
    input->begin = 0;
    input->scanned = 0;
    input->end = 0;
    if (strcmp(name, "-") == 0) {
        tell_about_terminal();
        input->fd = STDIN_FILENO;
        return STATUS_OK;
    }
    input->fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    return input->fd < 0 ? fail_errno(name, errno) : STATUS_OK;
}

void input_close(struct input *input)
{
    if (input->fd > STDIN_FILENO) {
        (void)close(input->fd);
    }
    input->fd = -1;
}

static void take(struct input *input, struct batch *batch, size_t end, size_t next)
{
    const char *key = input->block + input->begin;
    size_t length = end - input->begin;
    if (input->crlf && length > 0 && key[length - 1] == '\r') {
        length--;
    }
    batch->keys[batch->count] = key;
    batch->lengths[batch->count] = length;
    batch->count++;
    input->begin = next;
    input->scanned = next;
}

static void split(struct input *input, struct batch *batch)
{
    while (batch->count < BATCH_KEYS && input->scanned < input->end) {
        const char *from = input->block + input->scanned;
        const char *separator = memchr(from, input->separator, input->end - input->scanned);
        if (separator == NULL) {
            input->scanned = input->end;
            break;
        }
        size_t at = (size_t)(separator - input->block);
        take(input, batch, at, at + 1);
    }
}

static int fail_too_long(const struct input *input)
{
    return fail(shown_name(input->name), "line %" PRIu64 " is longer than %zu bytes, which memory cannot hold",
                input->lines + 1, input->capacity);
}

// Moves the key that was cut off to the front, and makes sure that as much again can follow.
static int make_room(struct input *input)
{
    size_t kept = input->end - input->begin;
    if (kept > 0 && input->begin > 0) {
        memmove(input->block, input->block + input->begin, kept);
    }
    input->scanned -= input->begin;
    input->begin = 0;
    input->end = kept;
    if (kept <= input->capacity / 2 && input->block != NULL) {
        return STATUS_OK;
    }
    size_t capacity = input->capacity == 0 ? FIRST_BLOCK : input->capacity * 2;
    char *block = capacity > input->capacity ? realloc(input->block, capacity) : NULL;
    if (block == NULL) {
        return fail_too_long(input);
    }
    input->block = block;
    input->capacity = capacity;
    return STATUS_OK;
}

static input_wait *wait_for_input;
static void *wait_context;

void input_set_wait(input_wait *wait, void *context)
{
    wait_for_input = wait;
    wait_context = context;
}

static int read_block(struct input *input)
{
    if (wait_for_input != NULL && !wait_for_input(wait_context, input->fd)) {
        input->end = input->begin;
        input->at_end = true;
        return STATUS_OK;
    }
    if (make_room(input) != STATUS_OK) {
        return STATUS_ERROR;
    }
    size_t room = input->capacity - input->end;
    ssize_t got;
    do {
        got = read(input->fd, input->block + input->end, room);
    } while (got < 0 && errno == EINTR);
    if (got < 0) {
        return fail_errno(shown_name(input->name), errno);
    }
    input->end += (size_t)got;
    input->at_end = got == 0;
    return STATUS_OK;
}

static enum input_result hand_out(struct input *input, struct batch *batch)
{
    batch->keys[batch->count] = input->block + input->begin;
    batch->first_line = input->lines + 1;
    batch->read_next = input->scanned == input->end;
    input->lines += batch->count;
    return INPUT_BATCH;
}

enum input_result input_next(struct input *input, struct batch *batch)
{
    batch->count = 0;
    batch->unterminated = false;
    for (;;) {
        split(input, batch);
        if (batch->count > 0) {
            return hand_out(input, batch);
        }
        if (input->at_end) {
            break;
        }
        if (read_block(input) != STATUS_OK) {
            return INPUT_FAILED;
        }
    }
    if (input->begin == input->end) {
        return INPUT_END;
    }
    take(input, batch, input->end, input->end);
    batch->unterminated = true;
    return hand_out(input, batch);
}

static int visit_input(struct input *input, const char *name, batch_visitor *visit, void *context, bool *unreadable)
{
    struct batch batch;
    *unreadable = true;
    if (input_open(input, name) != STATUS_OK) {
        return STATUS_OK;
    }
    enum input_result result = INPUT_END;
    int status = STATUS_OK;
    while (status == STATUS_OK && (result = input_next(input, &batch)) == INPUT_BATCH) {
        status = visit(context, input, &batch);
    }
    *unreadable = result == INPUT_FAILED;
    input_close(input);
    return status;
}

int visit_keys(const struct arguments *arguments, int first, bool go_on, batch_visitor *visit, void *context)
{
    static char standard_input[] = "-";
    static char *only_standard_input[] = {standard_input};
    bool none = first >= arguments->operand_count;
    char **names = none ? only_standard_input : arguments->operands + first;
    int count = none ? 1 : arguments->operand_count - first;

    struct input input;
    input_init(&input, arguments);
    int status = STATUS_OK;
    int trouble = STATUS_OK;
    for (int i = 0; i < count && status == STATUS_OK && (go_on || trouble == STATUS_OK); i++) {
        bool unreadable;
        status = visit_input(&input, names[i], visit, context, &unreadable);
        if (unreadable) {
            trouble = STATUS_ERROR;
        }
    }
    input_free(&input);
    return status != STATUS_OK ? status : trouble;
}

int visit_file(const struct arguments *arguments, const char *name, batch_visitor *visit, void *context)
{
    struct input input;
    input_init(&input, arguments);
    bool unreadable;
    int status = visit_input(&input, name, visit, context, &unreadable);
    input_free(&input);
    return unreadable && status == STATUS_OK ? STATUS_ERROR : status;
}
