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
    case PERHAPS_HASH_SIPHASH:
        return "siphash";
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

static void print_estimate(const perhaps_statistics *s)
{
    if (s->kind == PERHAPS_KIND_CUCKOO) {
        bool repeats = s->policy != PERHAPS_POLICY_UNIQUE;
        output_format("%-20s%.0f%s (slots taken)\n", "distinct keys:", s->distinct_estimate, repeats ? " at most" : "");
    } else if (isfinite(s->distinct_estimate)) {
        output_format("%-20s%.0f (estimated from the fill)\n", "distinct keys:", s->distinct_estimate);
    } else {
        print_text_row("distinct keys:", s->kind == PERHAPS_KIND_COUNTING ? "unknown (no counter is zero)"
                                                                          : "unknown (every bit is set)");
    }
}

// How many bits, counters or slots there are, of which set_bits are in use.
static uint64_t cells(const perhaps_statistics *s)
{
    switch (s->kind) {
    case PERHAPS_KIND_COUNTING:
        return s->bits / s->counter_bits;
    case PERHAPS_KIND_CUCKOO:
        return s->buckets * s->slots;
    default:
        return s->bits;
    }
}

static void print_fill(const perhaps_statistics *s)
{
    bool slots = s->kind == PERHAPS_KIND_CUCKOO;
    const char *use = s->kind == PERHAPS_KIND_COUNTING ? "counters above zero" : slots ? "slots taken" : "bits set";
    output_format("%-20s%.4f (%" PRIu64 " of %" PRIu64 " %s)\n", slots ? "load:" : "fill:", s->fill, s->set_bits,
                  cells(s), use);
}

static void print_copies(const perhaps_statistics *s)
{
    print_text_row("policy:", perhaps_policy_name(s->policy));
    output_format("%-20s%" PRIu64 " (adds less removals)\n", "copies held:", s->copies);
    print_unsigned_row("removals:", s->removals);
}

static void print_counters(const perhaps_statistics *s)
{
    print_copies(s);
    output_format("%-20s%" PRIu64 " of %" PRIu32 " bits\n", "counters:", cells(s), s->counter_bits);
    if (!s->recorded) {
        output_format("%-20s%" PRIu64 " (share %.3g; had every key come once, the chance of any would be %.3g)\n",
                      "at their maximum:", s->saturated, s->saturated_share, s->saturation_chance);
    }
    output_text("perhaps T times:    never added  T - 1 times (how often that is wrong)\n");
    for (int i = 0; i < PERHAPS_TIMES; i++) {
        output_format("  T = %-14d%-13.4g%.4g\n", i + 1, s->times_fpr[i], s->times_fpr_next[i]);
    }
}

// The paths of insertions are not here: they are counted since the filter was loaded, which was just now.
static void print_buckets(const perhaps_statistics *s)
{
    print_copies(s);
    output_format("%-20s%" PRIu64 " of %" PRIu32 " slot%s\n", "buckets:", s->buckets, s->slots, plural(s->slots));
    output_format("%-20s%" PRIu32 " bits\n", "fingerprints:", s->fingerprint_bits);
}

// What only filters with a limit to their capacity have.
static void print_growth(const perhaps_filter *filter, const perhaps_statistics *s)
{
    if (s->at_capacity == PERHAPS_AT_CAPACITY_REFUSE) {
        print_text_row("at capacity:", "refuses new keys");
    }
    if (s->growth == 0) {
        return;
    }
    output_format("%-20sgrows by a factor of %" PRIu32 "\n", "at capacity:", s->growth);
    if (s->max_capacity != 0) {
        output_format("%-20s%" PRIu64 " keys\n", "  up to:", s->max_capacity);
    }
    if (s->max_bytes != 0) {
        output_format("%-20s%" PRIu64 " bytes\n", "  up to:", s->max_bytes);
    }
    for (uint32_t i = 0; i < s->layers; i++) {
        perhaps_statistics layer = {.size = sizeof layer};
        (void)perhaps_stats_of_layer(filter, i, &layer);
        output_format("  layer %-12" PRIu32 "%" PRIu64 " keys, %" PRIu64
                      " bytes, %s %.4f, FPR now %.3g (at most %.3g)\n",
                      i + 1, layer.capacity, layer.bytes, s->kind == PERHAPS_KIND_CUCKOO ? "load" : "fill", layer.fill,
                      layer.fpr_now, layer.fpr_target);
    }
    if (s->ambiguous > 0) {
        output_format("%-20s%" PRIu64 " (keys kept because several layers match them)\n", "residue:", s->ambiguous);
    }
}

static void print_kind_rows(const perhaps_statistics *s)
{
    if (s->kind == PERHAPS_KIND_COUNTING) {
        print_counters(s);
    } else if (s->kind == PERHAPS_KIND_CUCKOO) {
        print_buckets(s);
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

static void print_key(const perhaps_filter *filter, const perhaps_statistics *s)
{
    if (s->hash_source == PERHAPS_HASH_SIPHASH) {
        output_format("%-20scheck value %08" PRIx32 " (%s)\n", "secret key:", s->key_check,
                      filter_lacks_key(filter) ? "not checked: no --key-file" : "that of the --key-file");
    }
}

static void print_journal(const perhaps_filter *filter)
{
    perhaps_journal journal = {.size = sizeof journal};
    (void)perhaps_journal_of(filter, &journal);
    if (journal.file_id != 0) {
        output_format("%-20s%" PRIu64 " operation%s in %" PRIu64 " bytes, generation %" PRIu64 "\n",
                      "journal:", journal.operations, plural(journal.operations), journal.bytes, journal.generation);
    }
}

static void put_journal(struct json *json, const perhaps_filter *filter)
{
    perhaps_journal journal = {.size = sizeof journal};
    (void)perhaps_journal_of(filter, &journal);
    if (journal.file_id != 0) {
        json_open(json, "journal");
        json_unsigned(json, "operations", journal.operations);
        json_unsigned(json, "bytes", journal.bytes);
        json_unsigned(json, "generation", journal.generation);
        json_close(json);
    }
}

static int print_human(const char *path, const perhaps_filter *filter, const perhaps_statistics *s)
{
    output_format("%-20s", "filter:");
    output_escaped(path);
    output_text("\n");
    print_text_row("kind:", perhaps_kind_name(s->kind));
    print_unsigned_row("format version:", s->format_version);
    output_format("%-20s%s, seed %" PRIu64 "\n", "hash:", hash_name(s->hash_source), s->seed);
    print_key(filter, s);
    output_format("%-20s%" PRIu64 " keys\n", "capacity:", s->capacity);
    output_format("%-20s%" PRIu64 "%s\n", "adds:", s->adds,
                  s->adds_exact ? " that changed the filter" : " at most (after a merge or a conversion)");
    print_estimate(s);
    print_fill(s);
    output_format("%-20s%.4g (promised at capacity)\n", "FPR target:", s->fpr_target);
    output_format("%-20s%.4g (what an absent key meets now)\n", "FPR now:", s->fpr_now);
    output_format("%-20s%" PRIu64 " (file: %" PRIu64 ")\n", "bytes:", s->bytes, s->encoded_bytes);
    output_format("%-20s%.4g (at capacity)\n", "bits per key:", s->bits_per_key);
    if (s->kind != PERHAPS_KIND_CUCKOO) {
        output_format("%-20s%" PRIu32 " (k)\n", "positions per key:", s->positions);
    }
    print_unsigned_row("layers:", s->layers);
    print_growth(filter, s);
    if (s->recorded) {
        print_text_row("payload:", "not read: what the header records");
    }
    print_kind_rows(s);
    print_journal(filter);
    return print_metadata(filter);
}

static void put_doubles(struct json *json, const char *name, const double *values, int count)
{
    json_open_array(json, name);
    for (int i = 0; i < count; i++) {
        json_double(json, NULL, values[i]);
    }
    json_close_array(json);
}

static void put_growth(struct json *json, const perhaps_filter *filter, const perhaps_statistics *s)
{
    static const char *const names[] = {"go-on", "refuse", "grow"};
    json_string(json, "at_capacity", names[s->at_capacity]);
    if (s->growth == 0) {
        return;
    }
    json_unsigned(json, "growth", s->growth);
    json_unsigned(json, "capacity_now", s->capacity_now);
    json_unsigned(json, "max_capacity", s->max_capacity);
    json_unsigned(json, "max_bytes", s->max_bytes);
    json_double(json, "fpr_bound", s->fpr_bound);
    json_unsigned(json, "ambiguous", s->ambiguous);
    json_open_array(json, "layer");
    for (uint32_t i = 0; i < s->layers; i++) {
        perhaps_statistics layer = {.size = sizeof layer};
        (void)perhaps_stats_of_layer(filter, i, &layer);
        json_open(json, NULL);
        json_unsigned(json, "capacity", layer.capacity);
        json_unsigned(json, "bytes", layer.bytes);
        json_unsigned(json, "adds", layer.adds);
        json_double(json, "fill", layer.fill);
        json_double(json, "fpr_target", layer.fpr_target);
        json_double(json, "fpr_now", layer.fpr_now);
        json_close(json);
    }
    json_close_array(json);
}

static void put_kind_members(struct json *json, const perhaps_statistics *s)
{
    if (s->policy != PERHAPS_POLICY_DEFAULT) {
        json_string(json, "policy", perhaps_policy_name(s->policy));
        json_unsigned(json, "copies", s->copies);
        json_unsigned(json, "removals", s->removals);
    }
    if (s->kind == PERHAPS_KIND_COUNTING) {
        json_unsigned(json, "counter_bits", s->counter_bits);
        json_unsigned(json, "saturated", s->saturated);
        json_double(json, "saturated_share", s->saturated_share);
        json_double(json, "saturation_chance", s->saturation_chance);
        put_doubles(json, "times_fpr", s->times_fpr, PERHAPS_TIMES);
        put_doubles(json, "times_fpr_next", s->times_fpr_next, PERHAPS_TIMES);
    } else if (s->kind == PERHAPS_KIND_CUCKOO) {
        json_unsigned(json, "slots", s->slots);
        json_unsigned(json, "fingerprint_bits", s->fingerprint_bits);
        json_unsigned(json, "buckets", s->buckets);
    }
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
    if (s->hash_source == PERHAPS_HASH_SIPHASH) {
        json_unsigned(&json, "key_check", s->key_check);
        json_bool(&json, "key_missing", filter_lacks_key(filter));
    }
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
    put_growth(&json, filter, s);
    if (s->recorded) {
        json_bool(&json, "recorded", true);
    }
    put_kind_members(&json, s);
    put_journal(&json, filter);
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
    if (filter_open_keyless(arguments, path, &filter) != STATUS_OK) {
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
