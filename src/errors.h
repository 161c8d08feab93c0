// SPDX-License-Identifier: MIT
// Layer 0: how a failure is described, and the rule for structures that begin with their size.
#ifndef PERHAPS_ERRORS_H
#define PERHAPS_ERRORS_H

#include "base.h"

// What went wrong, for perhaps__fail(); members that do not apply stay zero.
struct perhaps__failure {
    int code;
    int system_error;
    uint64_t value;
    uint64_t limit;
    const char *subject;
};

// Describes a failure in *error, as far as the caller's structure reaches (NULL: nowhere), and returns its
// code. With format NULL the text is the code's message.
int perhaps__fail(perhaps_error *error, struct perhaps__failure failure, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Takes a caller's structure that begins with its size over into `known`, of known_size bytes and zeroed by
// the callee: fields that the caller does not have become zero. False when the caller set a field that
// this release does not know, or has no size.
bool perhaps__take_options(void *known, size_t known_size, const void *given);

// Hands `result` to a caller whose structure begins with its size, keeping that size. False, and nothing
// written, when the caller's structure is larger than result_size or has no size.
bool perhaps__give_result(void *given, const void *result, size_t result_size);

#endif
