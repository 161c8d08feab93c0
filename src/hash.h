// SPDX-License-Identifier: MIT
// Layer 1: from a key's bytes to 64 bits, and the checksum of the format. The only user of xxHash, which is
// inlined in hash.c and hash_avx2.c, so that the library has no run-time dependency. XXH3's output is frozen since 0.8.0 and
// is the same on machines of either byte order.
#ifndef PERHAPS_HASH_H
#define PERHAPS_HASH_H

#include "base.h"

// XXH3-64 of a key under a filter's seed.
uint64_t perhaps__hash(const void *key, size_t length, uint64_t seed);

// The keys of one batch, in either of the shapes of the _many calls.
struct perhaps__keys {
    const uint8_t *data;         // with offsets, or NULL
    const uint64_t *offsets;     // one more than there are keys
    const void *const *pointers; // otherwise pointers and lengths
    const size_t *lengths;
};

// Whether keys first to first + count - 1 all are keys: offsets run forwards, and only the empty key may be NULL.
bool perhaps__keys_are_valid(const struct perhaps__keys *keys, size_t first, size_t count);

// Hashes keys first to first + count - 1, all of them valid, into hashes[0] to hashes[count - 1].
void perhaps__hash_keys(const struct perhaps__keys *keys, size_t first, size_t count, uint64_t seed, uint64_t *hashes);

// XXH3-64 with seed 0: detects damage, not forgery.
uint64_t perhaps__checksum(const void *bytes, size_t length);

// The same of what is looked at on the way: piece by piece, which is in the second-level cache when `look` is told of it, as
// the bytes from `from` to before `end`. What it makes of them is worth nothing before the sum is known to be right.
#define PERHAPS_PIECE ((size_t)1 << 16)

typedef void perhaps__piece_function(void *context, size_t from, size_t end);
uint64_t perhaps__checksum_pieces(const uint8_t *bytes, size_t length, perhaps__piece_function *look, void *context);

// Both, for one level of processor, with the same results.
struct perhaps__checksum_kernel {
    uint64_t (*whole)(const void *bytes, size_t length);
    uint64_t (*pieces)(const uint8_t *bytes, size_t length, perhaps__piece_function *look, void *context);
};

extern const struct perhaps__checksum_kernel perhaps__checksum_plain;
extern const struct perhaps__checksum_kernel perhaps__checksum_avx2;

#endif
