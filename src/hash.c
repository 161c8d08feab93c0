// SPDX-License-Identifier: MIT
#include "hash.h"

#include "cpu.h"

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

// Without a branch for each key: nearly all batches are valid.
bool perhaps__keys_are_valid(const struct perhaps__keys *keys, size_t first, size_t count)
{
    if (keys->offsets != NULL) {
        const uint64_t *offsets = keys->offsets + first;
        uint64_t lengths = 0; // or-ed: a step backwards sets the highest bit
        for (size_t i = 0; i < count; i++) {
            lengths |= offsets[i + 1] - offsets[i];
        }
        return lengths <= INT64_MAX && (keys->data != NULL || offsets[0] == offsets[count]);
    }
    bool wrong = false;
    for (size_t i = first; i < first + count; i++) {
        wrong |= keys->pointers[i] == NULL && keys->lengths[i] > 0;
    }
    return !wrong;
}

// Flattened: at -O2 gcc would call xxHash for every key, which costs as much as hashing a short one.
#define FLATTEN __attribute__((flatten))

static FLATTEN void hash_spans(const uint8_t *data, const uint64_t *offsets, size_t count, uint64_t seed,
                               uint64_t *hashes)
{
    for (size_t i = 0; i < count; i++) {
        hashes[i] = XXH3_64bits_withSeed(data + offsets[i], (size_t)(offsets[i + 1] - offsets[i]), seed);
    }
}

static FLATTEN void hash_pointers(const void *const *pointers, const size_t *lengths, size_t count, uint64_t seed,
                                  uint64_t *hashes)
{
    for (size_t i = 0; i < count; i++) {
        hashes[i] = XXH3_64bits_withSeed(pointer_to(pointers[i]), lengths[i], seed);
    }
}

void perhaps__hash_keys(const struct perhaps__keys *keys, size_t first, size_t count, uint64_t seed, uint64_t *hashes)
{
    if (keys->offsets == NULL) {
        hash_pointers(keys->pointers + first, keys->lengths + first, count, seed, hashes);
    } else if (keys->data != NULL) {
        hash_spans(keys->data, keys->offsets + first, count, seed, hashes);
    } else {
        for (size_t i = 0; i < count; i++) {
            hashes[i] = perhaps__hash(NULL, 0, seed); // without data every key is empty
        }
    }
}

/* ---------------------------------------------------------------- checksums */

#define TABLE perhaps__checksum_plain
#include "hash_checksum.h"

static const struct perhaps__checksum_kernel *kernel(void)
{
#if defined(__x86_64__)
    return perhaps__cpu_level() == PERHAPS_CPU_AVX2 ? &perhaps__checksum_avx2 : &perhaps__checksum_plain;
#else
    return &perhaps__checksum_plain;
#endif
}

uint64_t perhaps__checksum(const void *bytes, size_t length)
{
    return kernel()->whole(bytes, length);
}

uint64_t perhaps__checksum_pieces(const uint8_t *bytes, size_t length, perhaps__piece_function *look, void *context)
{
    return kernel()->pieces(bytes, length, look, context);
}
