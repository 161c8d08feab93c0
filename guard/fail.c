// SPDX-License-Identifier: MIT
#include "fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void perhaps__guard_hand_on(perhaps_error *error, const perhaps_error *full)
{
    if (error == NULL || error->size < sizeof error->size) {
        return;
    }
    perhaps_error told = *full;
    told.size = error->size;
    // Whoever wrote it may have filled the arrays to the brim.
    told.subject[sizeof told.subject - 1] = '\0';
    told.text[sizeof told.text - 1] = '\0';
    memcpy(error, &told, told.size < sizeof told ? told.size : sizeof told);
}

int perhaps__guard_fail(perhaps_error *error, struct perhaps__guard_failure failure, const char *format, ...)
{
    perhaps_error full = {.code = failure.code, .system_error = failure.system_error};
    // Cutting a text that is too long is the documented behaviour.
    (void)snprintf(full.subject, sizeof full.subject, "%s", failure.subject != NULL ? failure.subject : "");
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(full.text, sizeof full.text, format, arguments);
    va_end(arguments);
    perhaps__guard_hand_on(error, &full);
    return failure.code;
}
