// SPDX-License-Identifier: MIT
//
// What the tool says on standard error: one line each, whatever bytes a file name holds.
#ifndef PERHAPS_CLI_MESSAGES_H
#define PERHAPS_CLI_MESSAGES_H

#include <perhaps/perhaps.h>
#include <stdint.h>

// Exit statuses, as those of grep.
enum status { STATUS_OK = 0, STATUS_NONE = 1, STATUS_ERROR = 2 };

// "perhaps: SUBJECT: TEXT". Returns STATUS_ERROR, so that "return fail(...)" reads well.
int fail(const char *subject, const char *format, ...) __attribute__((format(printf, 2, 3)));

// fail() with the text of errno.
int fail_errno(const char *subject, int number);

// fail() with what the library said. `fallback` names the thing when the library does not.
int fail_library(const char *fallback, int code, const perhaps_error *error);

// Wrong use: fail() with the way to the help. `command` is NULL for the tool itself.
int fail_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

// "perhaps: SUBJECT: warning: TEXT"
void warn(const char *subject, const char *format, ...) __attribute__((format(printf, 2, 3)));

// "SUBJECT: TEXT": news, not trouble. Callers leave it out under --quiet.
void tell(const char *subject, const char *format, ...) __attribute__((format(printf, 2, 3)));

// "1 key", "2 keys"
static inline const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

// The name of a file of keys, as messages show it.
const char *shown_name(const char *name);

#endif
