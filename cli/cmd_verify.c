// SPDX-License-Identifier: MIT
#include <perhaps/perhaps.h>
#include <string.h>

#include "filterfile.h"
#include "json.h"
#include "messages.h"
#include "options.h"
#include "output.h"

static int print_json(const char *path, const perhaps_filter *filter, int code, const perhaps_error *error)
{
    struct json json = {0};
    json_open(&json, NULL);
    json_bytes(&json, "filter", path, strlen(path));
    json_bool(&json, "ok", code >= 0);
    if (code >= 0 && filter_lacks_key(filter)) {
        json_bool(&json, "key_missing", true);
    }
    if (code < 0) {
        json_string(&json, "error", perhaps_error_name(code));
        json_bytes(&json, "reason", error->text, strlen(error->text));
    }
    json_close(&json);
    int status = json_print(&json);
    json_free(&json);
    return status;
}

static int verify_as_json(const char *path)
{
    perhaps_filter *filter = NULL;
    perhaps_error error = {.size = sizeof error};
    int code = filter_load(path, PERHAPS_OPEN_KEYLESS, &filter, &error);
    int status = print_json(path, filter, code, &error);
    perhaps_free(filter);
    return code < 0 ? fail_library(path, code, &error) : status;
}

// Opening verifies everything; without the key of a keyed filter everything but that this build hashes alike.
static int verify(const struct arguments *arguments, const char *path)
{
    if (given(arguments, OPTION_JSON)) {
        return verify_as_json(path);
    }
    perhaps_filter *filter = NULL;
    if (filter_open_keyless(path, &filter) != STATUS_OK) {
        return STATUS_ERROR;
    }
    bool lacks_key = filter_lacks_key(filter);
    perhaps_free(filter);
    if (!given(arguments, OPTION_QUIET)) {
        output_escaped(path);
        output_text(lacks_key ? ": ok (not checked against its secret key: no --key-file)\n" : ": ok\n");
    }
    return STATUS_OK;
}

int command_verify(const struct arguments *arguments)
{
    if (option_conflict(arguments, OPTION_JSON, OPTION_QUIET) != STATUS_OK) {
        return STATUS_ERROR;
    }
    int status = STATUS_OK;
    for (int i = 0; i < arguments->operand_count; i++) {
        if (verify(arguments, arguments->operands[i]) != STATUS_OK) {
            status = STATUS_ERROR;
        }
    }
    return status;
}
