// SPDX-License-Identifier: MIT
#include "siphash.h"

#ifdef PERHAPS_KEYED
#include <sodium/crypto_shorthash_siphash24.h>
#endif

bool perhaps__siphash_is_supported(void)
{
#ifdef PERHAPS_KEYED
    return true;
#else
    return false;
#endif
}

// Nothing of libsodium that is used here needs sodium_init().
uint64_t perhaps__siphash(const void *key, size_t length, const uint8_t *secret)
{
    uint8_t hash[8] = {0};
#ifdef PERHAPS_KEYED
    _Static_assert(crypto_shorthash_siphash24_KEYBYTES == PERHAPS_KEY_BYTES, "the key of SipHash has 16 bytes");
    _Static_assert(crypto_shorthash_siphash24_BYTES == sizeof hash, "the hash has 8");
    (void)crypto_shorthash_siphash24(hash, key != NULL ? key : "", length, secret);
#else
    (void)key;
    (void)length;
    (void)secret;
#endif
    return perhaps__load_little(hash, 8); // the order of bytes in SipHash's own definition
}

void perhaps__siphash_keys(const struct perhaps__keys *keys, size_t first, size_t count, const uint8_t *secret,
                           uint64_t *hashes)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = first + i;
        if (keys->offsets == NULL) {
            hashes[i] = perhaps__siphash(keys->pointers[at], keys->lengths[at], secret);
        } else if (keys->data != NULL) {
            size_t length = (size_t)(keys->offsets[at + 1] - keys->offsets[at]);
            hashes[i] = perhaps__siphash(keys->data + keys->offsets[at], length, secret);
        } else {
            hashes[i] = perhaps__siphash(NULL, 0, secret); // without data every key is empty
        }
    }
}

// The label is a key like any other, so that its whole hash would tell where it lies in the filter. A half tells nothing:
// every bit of a position depends on all 64 (place.h). The lowest bit is given away to tell the value from none.
uint32_t perhaps__key_check(const uint8_t *secret)
{
    static const char label[] = "perhaps: key check value";
    return (uint32_t)perhaps__siphash(label, sizeof label - 1, secret) | 1U;
}

void perhaps__wipe(void *memory, size_t size)
{
    explicit_bzero(memory, size);
}
