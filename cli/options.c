// SPDX-License-Identifier: MIT
#include "options.h"

#include <getopt.h>
#include <perhaps/perhaps.h>
#include <stdio.h>
#include <string.h>

#include "messages.h"
#include "numbers.h"

// NOLINTNEXTLINE(bugprone-macro-parentheses): a string cannot be in parentheses in an initialiser list
#define CLI_OPTION_ROW(id, commands, letter, name, value, shape, summary, details)                                     \
    {(commands), (letter), name, value, (shape), summary, details},
const struct option_row option_rows[OPTION_COUNT_OF] = {CLI_OPTION_TABLE(CLI_OPTION_ROW)};
#undef CLI_OPTION_ROW

// What getopt_long() returns for long options: beyond any letter.
enum { LONG_BASE = 256 };

struct getopt_tables {
    char letters[2 * OPTION_COUNT_OF + 2]; // ":" first: missing values are told apart from unknown options
    struct option names[OPTION_COUNT_OF + 1];
};

static void fill_tables(enum command_id command, struct getopt_tables *tables)
{
    size_t letters = 0;
    size_t names = 0;
    tables->letters[letters++] = ':';
    for (int id = 0; id < OPTION_COUNT_OF; id++) {
        const struct option_row *row = &option_rows[id];
        if (!option_is_for(row, command)) {
            continue;
        }
        tables->names[names++] = (struct option){
            .name = row->name,
            .has_arg = row->value != NULL ? required_argument : no_argument,
            .val = LONG_BASE + id,
        };
        if (row->letter != 0) {
            tables->letters[letters++] = row->letter;
            if (row->value != NULL) {
                tables->letters[letters++] = ':';
            }
        }
    }
    tables->letters[letters] = '\0';
    tables->names[names] = (struct option){0};
}

static int id_of(enum command_id command, int returned)
{
    if (returned >= LONG_BASE) {
        return returned - LONG_BASE;
    }
    for (int id = 0; id < OPTION_COUNT_OF; id++) {
        if (option_is_for(&option_rows[id], command) && option_rows[id].letter == returned) {
            return id;
        }
    }
    return OPTION_COUNT_OF;
}

static const char *command_name(enum command_id command)
{
    return command == COMMAND_TOOL ? NULL : command_rows[command].name;
}

// getopt_long() leaves the letter in optopt, or 0 (for a value that an option does not take, the option) and the
// word before optind.
static int refuse(enum command_id command, int returned, char **argv)
{
    const char *name = command_name(command);
    const char *word = argv[optind - 1];
    if (returned == ':' && optopt >= LONG_BASE) {
        return fail_usage(name, "--%s needs a value", option_rows[optopt - LONG_BASE].name);
    }
    if (returned == ':') {
        return fail_usage(name, "-%c needs a value", optopt);
    }
    if (optopt >= LONG_BASE) {
        return fail_usage(name, "--%s takes no value", option_rows[optopt - LONG_BASE].name);
    }
    if (optopt != 0) {
        return fail_usage(name, "there is no option -%c", optopt);
    }
    return fail_usage(name, "there is no option %.*s, or it is ambiguous", (int)strcspn(word, "="), word);
}

static int check_operands(const struct arguments *arguments)
{
    const struct command_row *row = &command_rows[arguments->command];
    if (arguments->operand_count > row->most) {
        return fail_usage(row->name, "'%s' is one operand too many", arguments->operands[row->most]);
    }
    if (arguments->operand_count < row->fewest) {
        return fail_usage(row->name, row->fewest == 1 ? "no FILTER was named" : "at least two filters are needed");
    }
    return STATUS_OK;
}

int parse_arguments(enum command_id command, int argc, char **argv, struct arguments *arguments)
{
    struct getopt_tables tables;
    fill_tables(command, &tables);
    *arguments = (struct arguments){.command = command};
    optind = 0; // glibc: start anew
    opterr = 0;
    int returned;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): one thread
    while ((returned = getopt_long(argc, argv, tables.letters, tables.names, NULL)) != -1) {
        int id = returned == ':' || returned == '?' ? OPTION_COUNT_OF : id_of(command, returned);
        if (id == OPTION_COUNT_OF) {
            return refuse(command, returned, argv);
        }
        arguments->values[id] = optarg != NULL ? optarg : "";
        if (id == OPTION_HELP) {
            arguments->values[id] = returned >= LONG_BASE ? "long" : "short";
            return STATUS_OK;
        }
    }
    arguments->operand_count = argc - optind;
    arguments->operands = argv + optind;
    return command == COMMAND_TOOL ? STATUS_OK : check_operands(arguments);
}

const char *option_shown(enum option_id id)
{
    static char shown[32];
    const struct option_row *row = &option_rows[id];
    if (row->letter != 0) {
        (void)snprintf(shown, sizeof shown, "-%c", row->letter);
    } else {
        (void)snprintf(shown, sizeof shown, "--%s", row->name);
    }
    return shown;
}

static int refuse_value(const struct arguments *arguments, enum option_id id, const char *why)
{
    return fail_usage(command_name(arguments->command), "%s: '%s' %s", option_shown(id), arguments->values[id], why);
}

static int refuse_number(const struct arguments *arguments, enum option_id id, enum number_result result,
                         const char *malformed)
{
    if (result == NUMBER_OK) {
        return STATUS_OK;
    }
    return refuse_value(arguments, id,
                        result == NUMBER_TOO_LARGE ? "is too large: at most 18446744073709551615 is possible"
                                                   : malformed);
}

int option_count(const struct arguments *arguments, enum option_id id, uint64_t *value)
{
    if (!given(arguments, id)) {
        return STATUS_OK;
    }
    return refuse_number(arguments, id, parse_count(arguments->values[id], value),
                         "is not a whole number such as 1000000, 500k or 2M");
}

int option_bytes(const struct arguments *arguments, enum option_id id, uint64_t *value)
{
    if (!given(arguments, id)) {
        return STATUS_OK;
    }
    return refuse_number(arguments, id, parse_bytes(arguments->values[id], value),
                         "is not a number of bytes such as 64k or 1MiB");
}

int option_seed(const struct arguments *arguments, enum option_id id, uint64_t *value)
{
    if (!given(arguments, id)) {
        return STATUS_OK;
    }
    return refuse_number(arguments, id, parse_seed(arguments->values[id], value),
                         "is not a whole number, decimal or hexadecimal after 0x");
}

int option_rate(const struct arguments *arguments, enum option_id id, double *value)
{
    if (!given(arguments, id)) {
        return STATUS_OK;
    }
    return refuse_number(arguments, id, parse_rate(arguments->values[id], value),
                         "is not a number between 0 and 1, such as 0.01");
}

// The names that the library gives to the numbers from 1 on: of kinds, of policies.
static int option_name(const struct arguments *arguments, enum option_id id, const char *(*name_of)(uint32_t number),
                       const char *malformed, uint32_t *value)
{
    if (!given(arguments, id)) {
        return STATUS_OK;
    }
    const char *name;
    for (uint32_t number = 1; (name = name_of(number)) != NULL; number++) {
        if (strcmp(name, arguments->values[id]) == 0) {
            *value = number;
            return STATUS_OK;
        }
    }
    return refuse_value(arguments, id, malformed);
}

int option_kind(const struct arguments *arguments, enum option_id id, uint32_t *value)
{
    return option_name(arguments, id, perhaps_kind_name, "is not a kind of filter that this release knows", value);
}

int option_policy(const struct arguments *arguments, enum option_id id, uint32_t *value)
{
    return option_name(arguments, id, perhaps_policy_name, "is not multiset, unique or conservative", value);
}

int option_range(const struct arguments *arguments, enum option_id id, const struct number_range *range,
                 uint32_t *value)
{
    if (!given(arguments, id)) {
        return STATUS_OK;
    }
    uint64_t number = 0;
    bool taken = parse_count(arguments->values[id], &number) == NUMBER_OK && number >= range->least &&
                 number <= range->most && (!range->powers || (number & (number - 1)) == 0);
    if (!taken) {
        char why[64];
        (void)snprintf(why, sizeof why, "is not %s", range->what);
        return refuse_value(arguments, id, why);
    }
    *value = (uint32_t)number;
    return STATUS_OK;
}

int option_conflict(const struct arguments *arguments, enum option_id one, enum option_id other)
{
    if (!given(arguments, one) || !given(arguments, other)) {
        return STATUS_OK;
    }
    char first[32];
    (void)snprintf(first, sizeof first, "%s", option_shown(one));
    return fail_usage(command_name(arguments->command), "%s and %s exclude each other", first, option_shown(other));
}
