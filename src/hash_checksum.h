// SPDX-License-Identifier: MIT
// Checksums, as a template: who includes it has included xxHash for one level of processor, and defines TABLE.
#include "hash.h"

static uint64_t checksum_whole(const void *bytes, size_t length)
{
    return XXH3_64bits(bytes, length);
}

static uint64_t checksum_pieces(const uint8_t *bytes, size_t length, perhaps__piece_function *look, void *context)
{
    XXH3_state_t state;
    (void)XXH3_64bits_reset(&state);
    for (size_t from = 0; from < length;) {
        size_t size = length - from < PERHAPS_PIECE ? length - from : PERHAPS_PIECE;
        (void)XXH3_64bits_update(&state, bytes + from, size);
        look(context, from, from + size);
        from += size;
    }
    return XXH3_64bits_digest(&state);
}

const struct perhaps__checksum_kernel TABLE = {checksum_whole, checksum_pieces};
