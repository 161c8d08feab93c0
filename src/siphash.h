// SPDX-License-Identifier: MIT
// Layer 1: from a key's bytes to 64 bits that nobody can predict who lacks a secret. The only user of libsodium, without
// which it can be built: nothing is then supported but the wiping of memory.
#ifndef PERHAPS_SIPHASH_H
#define PERHAPS_SIPHASH_H

#include "base.h"
#include "hash.h"

// Whether this build can hash with a secret. The other functions, but for wiping, are for builds that can.
bool perhaps__siphash_is_supported(void);

// SipHash-2-4 with 64 bits of output, under a secret of PERHAPS_KEY_BYTES bytes.
uint64_t perhaps__siphash(const void *key, size_t length, const uint8_t *secret);

// As perhaps__hash_keys().
void perhaps__siphash_keys(const struct perhaps__keys *keys, size_t first, size_t count, const uint8_t *secret,
                           uint64_t *hashes);

// What a file says of a secret; see docs/format.md. Never 0.
uint32_t perhaps__key_check(const uint8_t *secret);

// Overwrites memory that held a secret, in a way that no compiler takes for useless.
void perhaps__wipe(void *memory, size_t size);

#endif
