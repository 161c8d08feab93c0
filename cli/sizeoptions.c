// SPDX-License-Identifier: MIT
#include "sizeoptions.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "messages.h"
#include "options.h"

#define TEXT_OF_EXPANDED(number) #number
#define TEXT_OF(number) TEXT_OF_EXPANDED(number)

// 0 means "not given" to the library, so it is refused here.
static int refuse_zero(const struct arguments *arguments, enum option_id id, uint64_t value)
{
    if (!given(arguments, id) || value > 0) {
        return STATUS_OK;
    }
    return fail_usage(command_rows[arguments->command].name, "%s: '%s' is too small: at least 1 is needed",
                      option_shown(id), arguments->values[id]);
}

// The options that one kind has.
static const struct {
    enum option_id id;
    uint32_t kind;
    struct number_range range;
    size_t offset; // in perhaps_options
} kind_options[] = {
    {OPTION_COUNTER_BITS, PERHAPS_KIND_COUNTING, {4, 16, true, "4, 8 or 16"}, offsetof(perhaps_options, counter_bits)},
    {OPTION_SLOTS, PERHAPS_KIND_CUCKOO, {1, 8, true, "1, 2, 4 or 8"}, offsetof(perhaps_options, slots)},
    {OPTION_FINGERPRINT_BITS,
     PERHAPS_KIND_CUCKOO,
     {4, 32, false, "a number from 4 to 32"},
     offsetof(perhaps_options, fingerprint_bits)},
    {OPTION_SEARCH,
     PERHAPS_KIND_CUCKOO,
     {2, PERHAPS_SEARCH_MAX, false, "a number from 2 to " TEXT_OF(PERHAPS_SEARCH_MAX)},
     offsetof(perhaps_options, search)},
};

static uint32_t *option_field(perhaps_options *options, size_t i)
{
    return (uint32_t *)(void *)((char *)options + kind_options[i].offset);
}

static int refuse_other_kind(const struct arguments *arguments, enum option_id id, uint32_t kind, const char *kinds)
{
    return fail_usage(command_rows[arguments->command].name, "%s is an option of %s, not of kind %s", option_shown(id),
                      kinds, perhaps_kind_name(kind));
}

// unique and conservative belong to one kind each, multiset to both.
static int take_policy(const struct arguments *arguments, uint32_t kind, uint32_t *policy)
{
    if (option_policy(arguments, OPTION_POLICY, policy) != STATUS_OK) {
        return STATUS_ERROR;
    }
    bool counting = kind == PERHAPS_KIND_COUNTING;
    if (*policy != PERHAPS_POLICY_DEFAULT && !counting && kind != PERHAPS_KIND_CUCKOO) {
        return refuse_other_kind(arguments, OPTION_POLICY, kind, "the kinds counting and cuckoo");
    }
    if (*policy == (counting ? PERHAPS_POLICY_UNIQUE : PERHAPS_POLICY_CONSERVATIVE)) {
        return fail_usage(command_rows[arguments->command].name, "--policy: kind %s has multiset and %s, not %s",
                          perhaps_kind_name(kind), counting ? "conservative" : "unique", perhaps_policy_name(*policy));
    }
    return STATUS_OK;
}

static int take_kind_options(const struct arguments *arguments, uint32_t kind, perhaps_options *options)
{
    for (size_t i = 0; i < sizeof kind_options / sizeof kind_options[0]; i++) {
        enum option_id id = kind_options[i].id;
        if (option_range(arguments, id, &kind_options[i].range, option_field(options, i)) != STATUS_OK) {
            return STATUS_ERROR;
        }
        if (given(arguments, id) && kind != PERHAPS_KIND_DEFAULT && kind != kind_options[i].kind) {
            char one[32];
            (void)snprintf(one, sizeof one, "kind %s", perhaps_kind_name(kind_options[i].kind));
            return refuse_other_kind(arguments, id, kind, one);
        }
    }
    return take_policy(arguments, kind, &options->policy);
}

perhaps_options size_options_of_kind(const perhaps_options *options)
{
    perhaps_options left = *options;
    for (size_t i = 0; i < sizeof kind_options / sizeof kind_options[0]; i++) {
        if (kind_options[i].kind != options->kind) {
            *option_field(&left, i) = 0;
        }
    }
    return left;
}

int size_options(const struct arguments *arguments, uint32_t default_kind, perhaps_options *options)
{
    *options = (perhaps_options){.size = sizeof *options};
    if (option_count(arguments, OPTION_CAPACITY, &options->capacity) != STATUS_OK ||
        refuse_zero(arguments, OPTION_CAPACITY, options->capacity) != STATUS_OK ||
        option_rate(arguments, OPTION_FPR, &options->fpr) != STATUS_OK ||
        option_bytes(arguments, OPTION_BYTES, &options->bytes) != STATUS_OK ||
        refuse_zero(arguments, OPTION_BYTES, options->bytes) != STATUS_OK ||
        option_kind(arguments, OPTION_KIND, &options->kind) != STATUS_OK ||
        take_kind_options(arguments, options->kind != 0 ? options->kind : default_kind, options) != STATUS_OK) {
        return STATUS_ERROR;
    }
    if (options->capacity != 0 && options->fpr > 0.0 && options->bytes != 0) {
        return fail_usage(command_rows[arguments->command].name,
                          "-n, -p and --bytes are given: any two of them give the third");
    }
    return STATUS_OK;
}

static int take_at_capacity(const struct arguments *arguments, perhaps_options *options)
{
    static const char *const names[] = {"go-on", "refuse", "grow"}; // by their numbers
    const char *asked = arguments->values[OPTION_AT_CAPACITY];
    bool grows =
        given(arguments, OPTION_GROWTH) || given(arguments, OPTION_MAX_CAPACITY) || given(arguments, OPTION_MAX_BYTES);
    options->at_capacity = grows ? PERHAPS_AT_CAPACITY_GROW : PERHAPS_AT_CAPACITY_GO_ON;
    for (uint32_t i = 0; asked != NULL && i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(asked, names[i]) == 0) {
            options->at_capacity = i;
            asked = NULL;
        }
    }
    if (asked != NULL) {
        return fail_usage("create", "--at-capacity: '%s' is not go-on, refuse or grow", asked);
    }
    return grows && options->at_capacity != PERHAPS_AT_CAPACITY_GROW
               ? fail_usage("create", "--growth, --max-capacity and --max-bytes are for --at-capacity=grow, not %s",
                            arguments->values[OPTION_AT_CAPACITY])
               : STATUS_OK;
}

int limit_options(const struct arguments *arguments, perhaps_options *options)
{
    return option_count(arguments, OPTION_MAX_CAPACITY, &options->max_capacity) != STATUS_OK ||
                   refuse_zero(arguments, OPTION_MAX_CAPACITY, options->max_capacity) != STATUS_OK ||
                   option_bytes(arguments, OPTION_MAX_BYTES, &options->max_bytes) != STATUS_OK ||
                   refuse_zero(arguments, OPTION_MAX_BYTES, options->max_bytes) != STATUS_OK
               ? STATUS_ERROR
               : STATUS_OK;
}

int growth_options(const struct arguments *arguments, perhaps_options *options)
{
    static const struct number_range factors = {2, 8, true, "2, 4 or 8"};
    if (take_at_capacity(arguments, options) != STATUS_OK ||
        option_range(arguments, OPTION_GROWTH, &factors, &options->growth) != STATUS_OK ||
        limit_options(arguments, options) != STATUS_OK) {
        return STATUS_ERROR;
    }
    if (options->at_capacity == PERHAPS_AT_CAPACITY_GROW && options->bytes != 0) {
        return fail_usage("create", "--bytes is for filters that do not grow; --max-bytes limits one that does");
    }
    return STATUS_OK;
}

// "-n 100T"; "-p" alone, since the library's text shows that number, as that of --fingerprint-bits does.
static const char *subject_of(const struct arguments *arguments, enum option_id id, char *to, size_t room)
{
    bool with_value = given(arguments, id) && id != OPTION_FPR && id != OPTION_FINGERPRINT_BITS;
    (void)snprintf(to, room, "%s%s%s", option_shown(id), with_value ? " " : "",
                   with_value ? arguments->values[id] : "");
    return to;
}

int fail_size(const struct arguments *arguments, int code, const perhaps_error *error)
{
    static const struct {
        const char *subject;
        enum option_id id;
    } fields[] = {{"capacity", OPTION_CAPACITY},
                  {"fpr", OPTION_FPR},
                  {"bytes", OPTION_BYTES},
                  {"kind", OPTION_KIND},
                  {"fingerprint_bits", OPTION_FINGERPRINT_BITS},
                  {"at_capacity", OPTION_KIND},
                  {"max_capacity", OPTION_MAX_CAPACITY},
                  {"max_bytes", OPTION_MAX_BYTES}};
    char subject[96];
    perhaps_error named = *error;
    named.subject[0] = '\0';
    if (code == PERHAPS_E_UNSUPPORTED && given(arguments, OPTION_KEY_FILE)) {
        return fail_library("--key-file", code, &named);
    }
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        bool meant =
            code == PERHAPS_E_MEMORY ? given(arguments, fields[i].id) : strcmp(error->subject, fields[i].subject) == 0;
        if (meant) {
            return fail_library(subject_of(arguments, fields[i].id, subject, sizeof subject), code, &named);
        }
    }
    return fail_library(command_rows[arguments->command].name, code, error);
}
