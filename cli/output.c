// SPDX-License-Identifier: MIT
#include "output.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "messages.h"
#include "utf8.h"

// A pipe that poll() calls writable takes a piece without blocking (pipe(7)), as long as nobody else writes to it.
enum { BUFFER_SIZE = 128 * 1024, FORMATTED_SIZE = 4096, ESCAPED_SIZE = 4 * 4096 + 1, PIECE_SIZE = PIPE_BUF };

static char buffer[BUFFER_SIZE];
static size_t used;
static bool broken;
static bool (*wait_until_writable)(void *context, int fd);
static void *wait_context;
static uint64_t given_up;

// The shell's convention for a closed pipe is death by SIGPIPE (status 141), also when the parent had it ignored.
static void end_like_sigpipe(void)
{
    (void)signal(SIGPIPE, SIG_DFL);
    (void)raise(SIGPIPE);
}

int write_all(int fd, const void *bytes, size_t length)
{
    for (const char *at = bytes; length > 0;) {
        ssize_t written = write(fd, at, length);
        if (written < 0 && errno != EINTR) {
            return -1;
        }
        if (written > 0) {
            at += written;
            length -= (size_t)written;
        }
    }
    return 0;
}

static void report_broken(int number)
{
    if (number == EPIPE) {
        end_like_sigpipe();
    }
    broken = true;
    (void)fail("standard output", "%s", strerror(number));
}

// Once something was given up, what follows it is, too: a gap would pass for an answer.
static int write_pieces(const void *bytes, size_t length)
{
    for (const char *at = bytes; length > 0;) {
        if (given_up > 0 || !wait_until_writable(wait_context, STDOUT_FILENO)) {
            given_up += length;
            return 0;
        }
        ssize_t written = write(STDOUT_FILENO, at, length < PIECE_SIZE ? length : PIECE_SIZE);
        if (written < 0 && errno != EINTR && errno != EAGAIN) {
            return -1;
        }
        at += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
    return 0;
}

static void put(const void *bytes, size_t length)
{
    if (!broken &&
        (wait_until_writable != NULL ? write_pieces(bytes, length) : write_all(STDOUT_FILENO, bytes, length)) < 0) {
        report_broken(errno);
    }
}

void output_set_wait(bool (*wait)(void *context, int fd), void *context)
{
    wait_until_writable = wait;
    wait_context = context;
}

uint64_t output_given_up(void)
{
    return given_up;
}

void output_flush(void)
{
    size_t length = used;
    used = 0;
    if (length > 0) {
        put(buffer, length);
    }
}

void output_write(const void *bytes, size_t length)
{
    if (length > BUFFER_SIZE - used) {
        output_flush();
    }
    if (length >= BUFFER_SIZE) {
        put(bytes, length);
    } else {
        memcpy(buffer + used, bytes, length);
        used += length;
    }
}

void output_text(const char *text)
{
    output_write(text, strlen(text));
}

void output_format(const char *format, ...)
{
    char text[FORMATTED_SIZE];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length > 0) {
        output_write(text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
    }
}

void output_escaped(const char *text)
{
    char escaped[ESCAPED_SIZE];
    output_write(escaped, utf8_escape(escaped, sizeof escaped, text, strlen(text)));
}

bool output_broken(void)
{
    return broken;
}

int output_finish(void)
{
    output_flush();
    // Some file systems say only now that the disk is full. A standard output that was never there (EBADF) is no
    // error as long as nothing was written.
    if (close(STDOUT_FILENO) < 0 && errno != EBADF && !broken) {
        report_broken(errno);
    }
    return broken ? STATUS_ERROR : STATUS_OK;
}
