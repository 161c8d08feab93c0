// SPDX-License-Identifier: MIT
//
// Writers of one filter take turns: FILTER.lock, flock()ed, exists while one of them is at work.
#ifndef PERHAPS_CLI_LOCK_H
#define PERHAPS_CLI_LOCK_H

#include <stdbool.h>

// Waits for the lock, or with `no_wait` fails at once. It is given back when the process ends, in any way. One lock a
// process. Complains when it returns STATUS_ERROR.
int lock_filter(const char *path, bool no_wait);

#endif
