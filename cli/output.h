// SPDX-License-Identifier: MIT
//
// Standard output, buffered. A write error is said once, later writes then do nothing, and output_finish()
// returns STATUS_ERROR. A pipe that nobody reads any more ends the process quietly.
#ifndef PERHAPS_CLI_OUTPUT_H
#define PERHAPS_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void output_write(const void *bytes, size_t length);
void output_text(const char *text);
void output_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
void output_escaped(const char *text); // as messages show it: see utf8_escape()
void output_flush(void);

// Whether it makes sense to go on.
bool output_broken(void);

// Flushes and closes. The last thing that a program does with its output.
int output_finish(void);

// Instead of blocking in a write: `wait` returns when the descriptor takes bytes, and false to give up. What is left is then
// not written, now or later. NULL: writes block.
void output_set_wait(bool (*wait)(void *context, int fd), void *context);

// Bytes that were given up.
uint64_t output_given_up(void);

// Writes all of it, whatever write() takes at a time. Returns 0, or -1 with errno set.
int write_all(int fd, const void *bytes, size_t length);

#endif
