// SPDX-License-Identifier: MIT
#include "support_view.h"

#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "format.h"

struct support_bytes support_aligned(struct support_bytes bytes)
{
    struct support_bytes copy = {.data = aligned_alloc(4096, (bytes.size + 4095) / 4096 * 4096), .size = bytes.size};
    assert_non_null(copy.data);
    memcpy(copy.data, bytes.data, bytes.size);
    return copy;
}

static void keep(void *mapping, size_t size)
{
    (void)mapping;
    (void)size;
}

int support_view(struct support_bytes bytes, uint32_t flags, const uint8_t *key, perhaps_filter **filter,
                 perhaps_error *error)
{
    const perhaps_load_options options = {.size = sizeof options, .flags = flags, .key = key};
    struct perhaps__loading loading;
    struct perhaps__source source = {
        .context = bytes.data,
        .read = perhaps__read_memory,
        .length = bytes.size,
        .subject = "view",
        .mapping = bytes.data,
    };
    int status = perhaps__take_load_options(&options, &loading, error);
    status = status < 0 ? status : perhaps__decode(&source, &loading, filter, error);
    if (status == PERHAPS_OK) {
        (*filter)->mapping = bytes.data;
        (*filter)->mapping_size = bytes.size;
        (*filter)->unmap = keep;
    }
    return status;
}

perhaps_filter *support_view_of(struct support_bytes bytes, uint32_t flags, const uint8_t *key)
{
    perhaps_filter *filter = NULL;
    perhaps_error error = SUPPORT_ERROR;
    if (support_view(bytes, flags, key, &filter, &error) != PERHAPS_OK) {
        fail_msg("not opened: %s", error.text);
    }
    return filter;
}

uint64_t support_scrub(const perhaps_filter *filter)
{
    uint64_t cursor = 0;
    uint64_t damaged = 0;
    int status;
    do {
        perhaps_error error = SUPPORT_ERROR;
        status = perhaps_scrub(filter, &cursor, 1 << 20, &error);
        assert_true(status >= 0 || status == PERHAPS_E_DAMAGED);
        damaged += status == PERHAPS_E_DAMAGED;
    } while (cursor != 0);
    return damaged;
}
