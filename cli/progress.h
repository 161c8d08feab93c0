// SPDX-License-Identifier: MIT
//
// "12345678 keys" on a terminal, at most six times a second, for work of more than a second.
#ifndef PERHAPS_CLI_PROGRESS_H
#define PERHAPS_CLI_PROGRESS_H

#include <stdint.h>

struct arguments;

// Nothing is shown unless standard error is a terminal, nor with --quiet or --no-progress.
void progress_start(const struct arguments *arguments);
void progress_show(uint64_t keys);

// The same for a share of something: "37 % of NAME".
void progress_share(uint64_t done, uint64_t all, const char *of);

// Removes what is shown. Call it before anything else is said.
void progress_end(void);

#endif
