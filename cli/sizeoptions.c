// SPDX-License-Identifier: MIT
#include "sizeoptions.h"

#include <stdio.h>
#include <string.h>

#include "messages.h"
#include "options.h"

// 0 means "not given" to the library, so it is refused here.
static int refuse_zero(const struct arguments *arguments, enum option_id id, uint64_t value)
{
    if (!given(arguments, id) || value > 0) {
        return STATUS_OK;
    }
    return fail_usage(command_rows[arguments->command].name, "%s: '%s' is too small: at least 1 is needed",
                      option_shown(id), arguments->values[id]);
}

int size_options(const struct arguments *arguments, perhaps_options *options)
{
    *options = (perhaps_options){.size = sizeof *options};
    if (option_count(arguments, OPTION_CAPACITY, &options->capacity) != STATUS_OK ||
        refuse_zero(arguments, OPTION_CAPACITY, options->capacity) != STATUS_OK ||
        option_rate(arguments, OPTION_FPR, &options->fpr) != STATUS_OK ||
        option_bytes(arguments, OPTION_BYTES, &options->bytes) != STATUS_OK ||
        refuse_zero(arguments, OPTION_BYTES, options->bytes) != STATUS_OK ||
        option_kind(arguments, OPTION_KIND, &options->kind) != STATUS_OK) {
        return STATUS_ERROR;
    }
    if (options->capacity != 0 && options->fpr > 0.0 && options->bytes != 0) {
        return fail_usage(command_rows[arguments->command].name,
                          "-n, -p and --bytes are given: any two of them give the third");
    }
    return STATUS_OK;
}

// "-n 100T"; "-p" alone, since the library's text shows that number.
static const char *subject_of(const struct arguments *arguments, enum option_id id, char *to, size_t room)
{
    bool with_value = given(arguments, id) && id != OPTION_FPR;
    (void)snprintf(to, room, "%s%s%s", option_shown(id), with_value ? " " : "",
                   with_value ? arguments->values[id] : "");
    return to;
}

int fail_size(const struct arguments *arguments, int code, const perhaps_error *error)
{
    static const struct {
        const char *subject;
        enum option_id id;
    } fields[] = {{"capacity", OPTION_CAPACITY}, {"fpr", OPTION_FPR}, {"bytes", OPTION_BYTES}, {"kind", OPTION_KIND}};
    char subject[96];
    perhaps_error named = *error;
    named.subject[0] = '\0';
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        bool meant =
            code == PERHAPS_E_MEMORY ? given(arguments, fields[i].id) : strcmp(error->subject, fields[i].subject) == 0;
        if (meant) {
            return fail_library(subject_of(arguments, fields[i].id, subject, sizeof subject), code, &named);
        }
    }
    return fail_library(command_rows[arguments->command].name, code, error);
}
