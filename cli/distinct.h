// SPDX-License-Identifier: MIT
//
// How many different hashes a stream has, in bounded memory: all are kept up to a limit; beyond it only those below a
// threshold, which is halved whenever there are too many again (Flajolet 1990, adaptive sampling). The result depends
// on the set of hashes only, not on their order.
#ifndef PERHAPS_CLI_DISTINCT_H
#define PERHAPS_CLI_DISTINCT_H

#include "hashset.h"

// 16,777,215 hashes exactly, in at most 256 MiB (384 MiB for a moment, when the table grows for the last time).
// Beyond, at least 8 million stand for all: the standard error is below 0.035 %.
#define DISTINCT_LIMIT ((size_t)1 << 24)

struct distinct {
    struct hashset sample;
    size_t limit;
    unsigned depth; // kept are hashes below 2^(64 - depth)
};

void distinct_add(struct distinct *distinct, uint64_t hash);

// The number; or when not all were kept, the estimate plus three standard errors, rounded up.
uint64_t distinct_count(const struct distinct *distinct);
static inline bool distinct_is_exact(const struct distinct *distinct)
{
    return distinct->depth == 0;
}
void distinct_free(struct distinct *distinct);

#endif
