// SPDX-License-Identifier: MIT
#include "errors.h"

#include <stdarg.h>
#include <stdio.h>

#define PERHAPS_TEXT_OF(number) #number
#define PERHAPS_VERSION_TEXT(major, minor, patch)                                                                      \
    PERHAPS_TEXT_OF(major) "." PERHAPS_TEXT_OF(minor) "." PERHAPS_TEXT_OF(patch)

const char *perhaps_version(void)
{
    return PERHAPS_VERSION_TEXT(PERHAPS_VERSION_MAJOR, PERHAPS_VERSION_MINOR, PERHAPS_VERSION_PATCH);
}

static const struct {
    int code;
    const char *name;
    const char *message;
} error_table[] = {{PERHAPS_OK, "PERHAPS_OK", "success"},
#define PERHAPS_ERROR_ROW(name, code, message) {name, #name, message},
                   PERHAPS_ERROR_TABLE(PERHAPS_ERROR_ROW)
#undef PERHAPS_ERROR_ROW
};

const char *perhaps_message(int code)
{
    for (size_t i = 0; i < PERHAPS_COUNT(error_table); i++) {
        if (error_table[i].code == code) {
            return error_table[i].message;
        }
    }
    return "unknown error";
}

const char *perhaps_error_name(int code)
{
    for (size_t i = 0; i < PERHAPS_COUNT(error_table); i++) {
        if (error_table[i].code == code) {
            return error_table[i].name;
        }
    }
    return "PERHAPS_E_UNKNOWN";
}

int perhaps__fail(perhaps_error *error, struct perhaps__failure failure, const char *format, ...)
{
    if (error == NULL || error->size < sizeof error->size) {
        return failure.code;
    }
    perhaps_error full = {
        .size = error->size,
        .code = failure.code,
        .system_error = failure.system_error,
        .value = failure.value,
        .limit = failure.limit,
    };
    // Cutting a text that is too long is the documented behaviour.
    (void)snprintf(full.subject, sizeof full.subject, "%s", failure.subject != NULL ? failure.subject : "");
    if (format != NULL) {
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(full.text, sizeof full.text, format, arguments);
        va_end(arguments);
    } else {
        (void)snprintf(full.text, sizeof full.text, "%s", perhaps_message(failure.code));
    }
    memcpy(error, &full, perhaps__min(error->size, sizeof full));
    return failure.code;
}

static bool all_zero(const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

static size_t size_of(const void *sized)
{
    size_t size;
    memcpy(&size, sized, sizeof size);
    return size;
}

bool perhaps__take_options(void *known, size_t known_size, const void *given)
{
    size_t size = size_of(given);
    if (size < sizeof size) {
        return false;
    }
    if (size > known_size && !all_zero((const uint8_t *)given + known_size, size - known_size)) {
        return false;
    }
    memcpy(known, given, perhaps__min(size, known_size));
    return true;
}

bool perhaps__give_result(void *given, const void *result, size_t result_size)
{
    size_t size = size_of(given);
    if (size < sizeof size || size > result_size) {
        return false;
    }
    memcpy((uint8_t *)given + sizeof size, (const uint8_t *)result + sizeof size, size - sizeof size);
    return true;
}
