// SPDX-License-Identifier: MIT
#include <perhaps/perhaps.h>
#include <string.h>

#include "filterfile.h"
#include "json.h"
#include "messages.h"
#include "options.h"
#include "output.h"
#include "progress.h"

// How much is read between two looks at the clock.
enum { SLICE_BYTES = 8 << 20 };

// One filter. Its first error is its result; the JSON lists all damage.
struct verification {
    const struct arguments *arguments;
    const char *path;
    perhaps_filter *filter;
    int code;
    perhaps_error error;
    struct json json;
};

static bool as_json(const struct verification *v)
{
    return given(v->arguments, OPTION_JSON);
}

static void note(struct verification *v, int code, const perhaps_error *error)
{
    progress_end();
    if (v->code >= 0) {
        v->code = code;
        v->error = *error;
    }
    if (!as_json(v)) {
        (void)fail_library(v->path, code, error);
    } else if (code == PERHAPS_E_DAMAGED && error->limit > 0) { // a chunk
        json_open(&v->json, NULL);
        json_unsigned(&v->json, "first", error->value);
        json_unsigned(&v->json, "last", error->limit);
        json_close(&v->json);
    }
}

// A filter with a journal is verified as a whole when it is opened, and is no view of its file any more.
static bool is_unread(const perhaps_filter *filter)
{
    perhaps_statistics statistics;
    filter_statistics(filter, &statistics);
    return statistics.chunks > 0;
}

// By first touch everything but the payload is verified, and then the payload slice by slice: all damage is found, and
// progress can be shown.
static void verify_chunks(struct verification *v)
{
    perhaps_statistics statistics;
    filter_statistics(v->filter, &statistics);
    uint64_t cursor = 0;
    do {
        perhaps_error error = {.size = sizeof error};
        int code = perhaps_scrub(v->filter, &cursor, SLICE_BYTES, &error);
        if (code < 0) {
            note(v, code, &error);
        }
        progress_share(cursor, statistics.chunks, v->path);
    } while (cursor != 0);
    progress_end();
}

static int print_json(struct verification *v)
{
    struct json *json = &v->json;
    json_close_array(json);
    json_bool(json, "ok", v->code >= 0);
    if (v->filter != NULL && filter_lacks_key(v->filter)) {
        json_bool(json, "key_missing", true);
    }
    if (v->code < 0) {
        json_string(json, "error", perhaps_error_name(v->code));
        json_bytes(json, "reason", v->error.text, strlen(v->error.text));
    }
    json_close(json);
    int status = json_print(json);
    return v->code < 0 ? fail_library(v->path, v->code, &v->error) : status;
}

static int print_text(const struct verification *v)
{
    if (v->code < 0) {
        return STATUS_ERROR;
    }
    if (!given(v->arguments, OPTION_QUIET)) {
        bool lacks_key = filter_lacks_key(v->filter);
        output_escaped(v->path);
        output_text(lacks_key ? ": ok (not checked against its secret key: no --key-file)\n" : ": ok\n");
    }
    return STATUS_OK;
}

static void load(struct verification *v)
{
    perhaps_error error = {.size = sizeof error};
    int code = filter_load(v->path, PERHAPS_OPEN_KEYLESS | PERHAPS_OPEN_FIRST_TOUCH, &v->filter, &error);
    if (code < 0) {
        v->filter = NULL;
        note(v, code, &error);
    }
}

// Without the key of a keyed filter everything but that this build hashes alike.
static int verify(const struct arguments *arguments, const char *path)
{
    if (!given(arguments, OPTION_JSON) && filter_refuse_name(path) != STATUS_OK) {
        return STATUS_ERROR;
    }
    struct verification v = {.arguments = arguments, .path = path};
    json_open(&v.json, NULL);
    json_bytes(&v.json, "filter", path, strlen(path));
    json_open_array(&v.json, "damaged");
    load(&v);
    if (v.filter != NULL && is_unread(v.filter)) {
        verify_chunks(&v);
    }
    int status = as_json(&v) ? print_json(&v) : print_text(&v);
    json_free(&v.json);
    perhaps_free(v.filter);
    return status;
}

int command_verify(const struct arguments *arguments)
{
    if (option_conflict(arguments, OPTION_JSON, OPTION_QUIET) != STATUS_OK) {
        return STATUS_ERROR;
    }
    progress_start(arguments);
    int status = STATUS_OK;
    for (int i = 0; i < arguments->operand_count; i++) {
        if (verify(arguments, arguments->operands[i]) != STATUS_OK) {
            status = STATUS_ERROR;
        }
    }
    return status;
}
