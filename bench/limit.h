// SPDX-License-Identifier: MIT
// What the memory allows: random reads and writes of cache lines, with the library's arithmetic from hash to line.
#ifndef PERHAPS_BENCH_LIMIT_H
#define PERHAPS_BENCH_LIMIT_H

#include "harness.h"

// Measures the four limit rows on the subject's own array, which is left as it is, for the keys that the look-up rows
// use.
void limit_measure(struct subject *subject, const struct keys *keys, unsigned repetition);

// One pass over the lines of job->hashes, fetched ahead: what a batch can at best take. The array stays as it is. The hashes
// have HARNESS_SLACK others behind them.
void limit_read(struct job *job);
void limit_write(struct job *job);

#endif
