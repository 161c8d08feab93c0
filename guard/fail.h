// SPDX-License-Identifier: MIT
// How the guard library describes a failure. Clients of the filter may not use its private helpers, so this
// is the guard's own.
#ifndef PERHAPS_GUARD_FAIL_H
#define PERHAPS_GUARD_FAIL_H

#include <perhaps/perhaps.h>

// What failed, for perhaps__guard_fail(); members that do not apply stay zero.
struct perhaps__guard_failure {
    int code;         // of PERHAPS_ERROR_TABLE
    int system_error; // errno
    const char *subject;
};

// Describes a failure in *error, as far as the caller's structure reaches (NULL: nowhere), and returns its
// code. The text is a whole sentence that names the thing, the reason and the remedy.
int perhaps__guard_fail(perhaps_error *error, struct perhaps__guard_failure failure, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Hands on a description that somebody else wrote into a whole structure.
void perhaps__guard_hand_on(perhaps_error *error, const perhaps_error *full);

#endif
