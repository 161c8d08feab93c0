// SPDX-License-Identifier: MIT
#include "hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

// The empty key may come without a pointer; xxHash's arithmetic on it would be undefined.
static const void *pointer_to(const void *key)
{
    return key != NULL ? key : "";
}

uint64_t perhaps__hash(const void *key, size_t length, uint64_t seed)
{
    return XXH3_64bits_withSeed(pointer_to(key), length, seed);
}

bool perhaps__key_is_valid(const struct perhaps__keys *keys, size_t i)
{
    if (keys->offsets != NULL) {
        return keys->offsets[i] <= keys->offsets[i + 1] &&
               (keys->data != NULL || keys->offsets[i] == keys->offsets[i + 1]);
    }
    return keys->pointers[i] != NULL || keys->lengths[i] == 0;
}

void perhaps__hash_keys(const struct perhaps__keys *keys, size_t first, size_t count, uint64_t seed, uint64_t *hashes)
{
    if (keys->offsets != NULL) {
        const uint64_t *offsets = keys->offsets + first;
        for (size_t i = 0; i < count; i++) {
            size_t length = (size_t)(offsets[i + 1] - offsets[i]);
            const uint8_t *key = length > 0 ? keys->data + offsets[i] : NULL; // without data every key is empty
            hashes[i] = XXH3_64bits_withSeed(pointer_to(key), length, seed);
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        hashes[i] = XXH3_64bits_withSeed(pointer_to(keys->pointers[first + i]), keys->lengths[first + i], seed);
    }
}

uint64_t perhaps__checksum(const void *bytes, size_t length)
{
    return XXH3_64bits(bytes, length);
}
