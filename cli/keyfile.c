// SPDX-License-Identifier: MIT
#include "keyfile.h"

#include <errno.h>
#include <fcntl.h>
#include <perhaps/perhaps.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "messages.h"
#include "options.h"

enum { DIGITS = 2 * PERHAPS_KEY_BYTES, CONTENT_MAX = DIGITS + 3 }; // one byte more than any key file has

static uint8_t secret[PERHAPS_KEY_BYTES];
static bool taken;

static void warn_if_open(const char *path, int fd)
{
    struct stat status;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        warn(path, "a secret key that others than its owner may open (mode %04o); chmod 600 it",
             (unsigned)(status.st_mode & 07777));
    }
}

// Up to CONTENT_MAX bytes; -1 with errno set. It may be a pipe, which gives them in parts.
static ssize_t read_content(int fd, char content[CONTENT_MAX])
{
    size_t length = 0;
    while (length < CONTENT_MAX) {
        ssize_t got = read(fd, content + length, CONTENT_MAX - length);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? got : (ssize_t)length;
        }
        length += (size_t)got;
    }
    return (ssize_t)length;
}

// -1: it is none.
static int digit_value(char digit)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = digit != '\0' ? strchr(digits, digit >= 'A' && digit <= 'F' ? digit + ('a' - 'A') : digit) : NULL;
    return at != NULL ? (int)(at - digits) : -1;
}

static bool parse_digits(const char *content)
{
    for (size_t i = 0; i < PERHAPS_KEY_BYTES; i++) {
        int high = digit_value(content[2 * i]);
        int low = digit_value(content[2 * i + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        secret[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

// 16 bytes as they are, or 32 hexadecimal digits, with or without the end of a line.
static bool parse(const char *content, size_t length)
{
    if (length == PERHAPS_KEY_BYTES) {
        memcpy(secret, content, length);
        return true;
    }
    if (length > DIGITS && content[length - 1] == '\n') {
        length--;
    }
    if (length > DIGITS && content[length - 1] == '\r') {
        length--;
    }
    return length == DIGITS && parse_digits(content);
}

static bool is_zero(void)
{
    uint8_t bits = 0;
    for (size_t i = 0; i < PERHAPS_KEY_BYTES; i++) {
        bits |= secret[i];
    }
    return bits == 0;
}

static int take_from(const char *path, int fd)
{
    char content[CONTENT_MAX] = {0};
    ssize_t length = read_content(fd, content);
    int number = errno;
    taken = length >= 0 && parse(content, (size_t)length);
    explicit_bzero(content, sizeof content);
    if (length < 0) {
        return fail_errno(path, number);
    }
    if (!taken) {
        return fail(path, "holds no secret key: that is 16 bytes, or 32 hexadecimal digits");
    }
    if (is_zero()) {
        return fail(path, "a key of nothing but zeros is no secret; head -c 16 /dev/urandom makes one");
    }
    warn_if_open(path, fd);
    return STATUS_OK;
}

int key_take(const struct arguments *arguments)
{
    if (!given(arguments, OPTION_KEY_FILE)) {
        return STATUS_OK;
    }
    const char *path = arguments->values[OPTION_KEY_FILE];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        return fail_errno(path, errno);
    }
    int status = take_from(path, fd);
    (void)close(fd);
    return status;
}

const uint8_t *key_given(void)
{
    return taken ? secret : NULL;
}

void key_forget(void)
{
    explicit_bzero(secret, sizeof secret);
    taken = false;
}
