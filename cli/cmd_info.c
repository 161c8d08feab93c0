// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <math.h>
#include <perhaps/perhaps.h>
#include <stdlib.h>
#include <string.h>

#include "filterfile.h"
#include "json.h"
#include "messages.h"
#include "options.h"
#include "output.h"
#include "utf8.h"

static const char *hash_name(uint32_t source)
{
    switch (source) {
    case PERHAPS_HASH_XXH3:
        return "xxh3";
    case PERHAPS_HASH_CALLER:
        return "caller";
    default:
        return "unknown";
    }
}

static void print_text_row(const char *name, const char *value)
{
    output_format("%-20s%s\n", name, value);
}

static void print_unsigned_row(const char *name, uint64_t value)
{
    output_format("%-20s%" PRIu64 "\n", name, value);
}

static void print_estimate(double estimate)
{
    if (isfinite(estimate)) {
        output_format("%-20s%.0f (estimated from the fill)\n", "distinct keys:", estimate);
    } else {
        print_text_row("distinct keys:", "unknown (every bit is set)");
    }
}

static int print_metadata(const perhaps_filter *filter)
{
    const void *metadata = NULL;
    size_t length = 0;
    (void)perhaps_metadata(filter, &metadata, &length);
    if (length == 0) {
        print_text_row("metadata:", "none");
        return STATUS_OK;
    }
    size_t room = 4 * length + 1;
    char *shown = malloc(room);
    if (shown == NULL) {
        return fail("metadata", "there is not enough memory to show it");
    }
    (void)utf8_escape(shown, room, metadata, length);
    output_format("%-20s", "metadata:");
    output_text(shown);
    output_text("\n");
    free(shown);
    return STATUS_OK;
}

static int print_human(const char *path, const perhaps_filter *filter, const perhaps_statistics *s)
{
    output_format("%-20s", "filter:");
    output_escaped(path);
    output_text("\n");
    print_text_row("kind:", perhaps_kind_name(s->kind));
    print_unsigned_row("format version:", s->format_version);
    output_format("%-20s%s, seed %" PRIu64 "\n", "hash:", hash_name(s->hash_source), s->seed);
    output_format("%-20s%" PRIu64 " keys\n", "capacity:", s->capacity);
    output_format("%-20s%" PRIu64 "%s\n", "adds:", s->adds,
                  s->adds_exact ? " that changed the filter" : " at most (the filter was merged)");
    print_estimate(s->distinct_estimate);
    output_format("%-20s%.4f (%" PRIu64 " of %" PRIu64 " bits set)\n", "fill:", s->fill, s->set_bits, s->bits);
    output_format("%-20s%.4g (promised at capacity)\n", "FPR target:", s->fpr_target);
    output_format("%-20s%.4g (what an absent key meets now)\n", "FPR now:", s->fpr_now);
    output_format("%-20s%" PRIu64 " (file: %" PRIu64 ")\n", "bytes:", s->bytes, s->encoded_bytes);
    output_format("%-20s%.4g (at capacity)\n", "bits per key:", s->bits_per_key);
    output_format("%-20s%" PRIu32 " (k)\n", "positions per key:", s->positions);
    print_unsigned_row("layers:", s->layers);
    return print_metadata(filter);
}

// The names are those of perhaps_statistics and are an interface: see perhaps(1).
static int print_json(const char *path, const perhaps_filter *filter, const perhaps_statistics *s)
{
    struct json json = {0};
    json_open(&json, NULL);
    json_bytes(&json, "filter", path, strlen(path));
    json_string(&json, "kind", perhaps_kind_name(s->kind));
    json_unsigned(&json, "format_version", s->format_version);
    json_string(&json, "hash_source", hash_name(s->hash_source));
    json_unsigned(&json, "seed", s->seed);
    json_unsigned(&json, "capacity", s->capacity);
    json_unsigned(&json, "adds", s->adds);
    json_bool(&json, "adds_exact", s->adds_exact != 0);
    json_double(&json, "distinct_estimate", s->distinct_estimate);
    json_unsigned(&json, "layers", s->layers);
    json_unsigned(&json, "positions", s->positions);
    json_unsigned(&json, "bits", s->bits);
    json_unsigned(&json, "set_bits", s->set_bits);
    json_double(&json, "fill", s->fill);
    json_double(&json, "fpr_target", s->fpr_target);
    json_double(&json, "fpr_now", s->fpr_now);
    json_unsigned(&json, "bytes", s->bytes);
    json_unsigned(&json, "encoded_bytes", s->encoded_bytes);
    json_double(&json, "bits_per_key", s->bits_per_key);
    const void *metadata = NULL;
    size_t length = 0;
    (void)perhaps_metadata(filter, &metadata, &length);
    if (length > 0) {
        json_bytes(&json, "metadata", metadata, length);
    } else {
        json_null(&json, "metadata");
    }
    json_close(&json);
    int status = json_print(&json);
    json_free(&json);
    return status;
}

int command_info(const struct arguments *arguments)
{
    const char *path = arguments->operands[0];
    perhaps_filter *filter = NULL;
    if (filter_open(path, &filter) != STATUS_OK) {
        return STATUS_ERROR;
    }
    perhaps_statistics statistics;
    filter_statistics(filter, &statistics);
    int status =
        given(arguments, OPTION_JSON) ? print_json(path, filter, &statistics) : print_human(path, filter, &statistics);
    filter_warn_if_overfull(path, filter);
    perhaps_free(filter);
    return status;
}
