// SPDX-License-Identifier: MIT
// Bytes in memory as a source, and how loading is asked for.
#include "format.h"

int perhaps__take_load_options(const perhaps_load_options *given, struct perhaps__loading *loading,
                               perhaps_error *error)
{
    const uint32_t known_flags =
        PERHAPS_OPEN_COPY | PERHAPS_OPEN_SHARED | PERHAPS_OPEN_CLAIM | PERHAPS_OPEN_KEYLESS | PERHAPS_OPEN_FIRST_TOUCH;
    perhaps_load_options options = {.size = sizeof options};
    if (given != NULL && !perhaps__take_options(&options, sizeof options, given)) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_OPTION, .subject = "options"},
                             "size is not set, or a field is used that this release does not know");
    }
    if ((options.flags & ~known_flags) != 0 || options.reserved != 0) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_OPTION, .subject = "flags"},
                             "a flag is set that this call does not know");
    }
    if (!perhaps__take_allocator(&loading->allocator, options.allocator)) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_OPTION, .subject = "allocator"},
                             "both allocate and release must be given");
    }
    loading->flags = options.flags;
    loading->key = options.key;
    loading->header_only = false;
    loading->journaled = false;
    return PERHAPS_OK;
}

int perhaps__read_memory(void *context, uint64_t offset, void *bytes, size_t size, perhaps_error *error)
{
    (void)error;
    memcpy(bytes, (const uint8_t *)context + offset, size);
    return PERHAPS_OK;
}

int perhaps_decode(const void *bytes, size_t length, const perhaps_load_options *given, perhaps_filter **filter,
                   perhaps_error *error)
{
    if (filter == NULL || (bytes == NULL && length > 0)) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_ARGUMENT}, NULL);
    }
    struct perhaps__loading loading;
    int status = perhaps__take_load_options(given, &loading, error);
    if (status < 0) {
        return status;
    }
    struct perhaps__source source = {
        .context = (void *)(uintptr_t)bytes, // perhaps__read_memory() only reads
        .read = perhaps__read_memory,
        .length = length,
        .subject = NULL,
    };
    return perhaps__decode(&source, &loading, filter, error);
}
