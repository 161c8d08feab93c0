// SPDX-License-Identifier: MIT
//
// Writers of one filter take turns: FILTER.lock, flock()ed, exists while one of them is at work.
#ifndef PERHAPS_CLI_LOCK_H
#define PERHAPS_CLI_LOCK_H

#include <stdbool.h>

// Waits for the lock, or with `no_wait` fails at once. It is given back when the process ends, in any way. One lock a
// process. Complains when it returns STATUS_ERROR.
int lock_filter(const char *path, bool no_wait);

// The same at once, and without a word; false: somebody else has it, or it cannot be taken. Given back by
// unlock_filter(), for a process that lives on.
bool lock_filter_if_free(const char *path);
void unlock_filter(void);

#endif
