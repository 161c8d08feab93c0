// SPDX-License-Identifier: MIT
// Layer 3: the chunks of a filter that is a view of a file, and what is known of each: good, damaged, or not yet looked at.
//
// Any thread may look at any chunk at any time: its state is one byte, which only ever goes from unknown to good or
// damaged, and from good to damaged. The bytes themselves do not change, so that nothing is ordered by a state.
#ifndef PERHAPS_CHUNKS_H
#define PERHAPS_CHUNKS_H

#include "filter.h"

#define PERHAPS_CHUNK_SHIFT 20
#define PERHAPS_CHUNK (UINT64_C(1) << PERHAPS_CHUNK_SHIFT)

// The text for good chunks that hold another number of bits, counters or slots than the file records.
#define PERHAPS_OTHER_CONTENT                                                                                          \
    "what the payload holds is not what is recorded of it; rebuild the filter or restore the file"

struct perhaps__chunks {
    uint64_t count;
    uint64_t begin; // of the payload, in the file
    uint64_t good;  // these three change under readers: atomic
    uint64_t damaged;
    uint64_t answers;                   // given without damaged bytes
    struct perhaps__view direct;        // the filter's own, which looks at no chunk
    uint64_t first[PERHAPS_LAYERS_MAX]; // chunk of each layer
    // What the good chunks of each layer hold: counted when they become that, while they are in the cache. Atomic.
    struct {
        uint64_t used;
        uint64_t saturated;
    } held[PERHAPS_LAYERS_MAX];
    uint64_t *sums;  // what the file says
    uint8_t *states; // enum perhaps__chunk_state, atomic
};

enum perhaps__chunk_state { PERHAPS_CHUNK_UNKNOWN, PERHAPS_CHUNK_GOOD, PERHAPS_CHUNK_DAMAGED };

// Chunks of a payload of this size: those of a layer. Each layer begins a new chunk.
uint64_t perhaps__chunks(uint64_t payload_size);

// Takes over a table of `count` checksums, all chunks unknown. The filter's layers and view are complete, its payload
// begins at byte `begin` of the file. False when memory is short. Released by perhaps__chunks_release().
bool perhaps__chunks_make(perhaps_filter *filter, const uint8_t *table, uint64_t count, uint64_t begin);
void perhaps__chunks_release(perhaps_filter *filter);

// Reads a chunk, and whether it is good; a damaged one stays damaged.
bool perhaps__chunks_verify(const perhaps_filter *filter, uint64_t chunk);

// Whether chunks, all of which are known to be good, hold what the file records of the layers. Beside other threads.
bool perhaps__chunks_agree(const perhaps_filter *filter);

// From now on questions look at chunks, and do without damaged ones. Beside readers.
void perhaps__chunks_watch(const perhaps_filter *filter);

// 0, or PERHAPS_E_DAMAGED when one of all chunks is, or when they hold something else than the file records: those that are
// unknown are read. Filters without chunks are good.
int perhaps__chunks_demand(const perhaps_filter *filter, const char *subject, perhaps_error *error);

// PERHAPS_E_DAMAGED for that chunk.
int perhaps__chunks_fail(const perhaps_filter *filter, uint64_t chunk, const char *subject, perhaps_error *error);

// PERHAPS_E_DAMAGED for chunks that do not agree with what is recorded.
int perhaps__chunks_fail_counts(const char *subject, perhaps_error *error);

#endif
