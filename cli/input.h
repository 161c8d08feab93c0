// SPDX-License-Identifier: MIT
//
// Keys from files: lines of any length, or NUL-terminated strings, read in large blocks and handed out in batches
// of pointers into the block. Nothing is copied but the part of a key that a read cut off.
#ifndef PERHAPS_CLI_INPUT_H
#define PERHAPS_CLI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arguments;

// As many keys as a filter's batch call prefetches well, and whose bytes stay in L2 until they are printed.
enum { BATCH_KEYS = 1024 };

struct batch {
    size_t count;
    uint64_t first_line;              // of the file, from 1
    const void *keys[BATCH_KEYS + 1]; // keys[count] is where the last one ends, its separator included
    size_t lengths[BATCH_KEYS];       // without the separator (and without the CR, if asked for)
    bool unterminated;                // the last key of the file has no separator behind it
    bool read_next;                   // the next call reads, and may have to wait
};

struct input {
    char separator; // '\n' or '\0'
    bool crlf;
    int fd;
    const char *name; // as given; for messages
    bool at_end;
    uint64_t lines; // handed out
    char *block;
    size_t capacity;
    size_t begin;   // the first byte not yet handed out
    size_t scanned; // there is no separator between begin and here
    size_t end;     // of what was read
};

// Takes --null-data and --crlf from the command line. Everything is released by input_free().
void input_init(struct input *input, const struct arguments *arguments);
void input_free(struct input *input);

// Opens the next file; "-" is standard input. Complains and returns STATUS_ERROR if that fails.
int input_open(struct input *input, const char *name);
void input_close(struct input *input);

enum input_result { INPUT_END = 0, INPUT_BATCH = 1, INPUT_FAILED = 2 };

// Is asked before each read whether there is something to read: true, also at the end of a file; false: no more is to be
// read, and what was read of a key is dropped. It may wait. NULL: reads wait by themselves.
typedef bool input_wait(void *context, int fd);
void input_set_wait(input_wait *wait, void *context);

// The next keys, valid until the next call. Complains when it fails.
enum input_result input_next(struct input *input, struct batch *batch);

// Hands every batch of the operands from the `first` on (standard input when there are none) to `visit`, until that
// returns other than STATUS_OK, which is then returned. When a file cannot be read: STATUS_ERROR at once, or, with
// `go_on`, after the other files.
typedef int batch_visitor(void *context, const struct input *input, const struct batch *batch);
int visit_keys(const struct arguments *arguments, int first, bool go_on, batch_visitor *visit, void *context);

// The same for one file.
int visit_file(const struct arguments *arguments, const char *name, batch_visitor *visit, void *context);

#endif
