// SPDX-License-Identifier: MIT
//
// Shell completions and the list of options for the check of the manual page, from the two tables.
#include <perhaps/perhaps.h>
#include <string.h>

#include "help.h"
#include "messages.h"
#include "options.h"
#include "output.h"

static const char generated_names[] = "complete-bash complete-zsh complete-fish man-options";

static void print_names(const char *(*name_of)(uint32_t number))
{
    const char *name;
    for (uint32_t number = 1; (name = name_of(number)) != NULL; number++) {
        output_format("%s%s", number > 1 ? " " : "", name);
    }
}

// Whether the values of an option are a few words.
static bool has_words(const struct option_row *row)
{
    return row->shape > VALUE_FILE;
}

static void print_words(enum value_shape shape)
{
    switch (shape) {
    case VALUE_KIND:
        print_names(perhaps_kind_name);
        break;
    case VALUE_POLICY:
        print_names(perhaps_policy_name);
        break;
    case VALUE_COUNTER_BITS:
        output_text("4 8 16");
        break;
    case VALUE_SLOTS:
        output_text("1 2 4 8");
        break;
    case VALUE_CANONICAL:
        output_text("lower rtrim lower,rtrim");
        break;
    case VALUE_GENERATE:
        output_text(generated_names);
        break;
    case VALUE_NONE:
    case VALUE_TEXT:
    case VALUE_FILE:
        break;
    }
}

static void print_commands(void)
{
    for (int id = 0; id < COMMAND_COUNT_OF; id++) {
        output_format("%s%s", id > 0 ? " " : "", command_rows[id].name);
    }
}

static const char *name_or_tool(unsigned command)
{
    return command == COMMAND_TOOL ? "-" : command_rows[command].name;
}

// Calls `print` for every command and each of its options; after the last one the tool's own.
static void each_option(void (*print)(unsigned command, const struct option_row *row))
{
    for (unsigned command = 0; command <= COMMAND_COUNT_OF; command++) {
        for (int id = 0; id < OPTION_COUNT_OF; id++) {
            if (option_is_for(&option_rows[id], command)) {
                print(command, &option_rows[id]);
            }
        }
    }
}

// ---- man-options: COMMAND -x --name VALUE, with - for what is missing

static void print_plain(unsigned command, const struct option_row *row)
{
    char letter[] = {'-', row->letter, '\0'};
    output_format("%s %s --%s %s\n", name_or_tool(command), row->letter != 0 ? letter : "-", row->name,
                  row->value != NULL ? row->value : "-");
}

// ---- bash

static void print_bash_words(unsigned command)
{
    for (int id = 0; id < OPTION_COUNT_OF; id++) {
        const struct option_row *row = &option_rows[id];
        if (option_is_for(row, command)) {
            output_format(" --%s", row->name);
            if (row->letter != 0) {
                output_format(" -%c", row->letter);
            }
        }
    }
}

static void print_bash_values(void)
{
    for (int id = 0; id < OPTION_COUNT_OF; id++) {
        if (has_words(&option_rows[id])) {
            output_format("    --%s) words=\"", option_rows[id].name);
            print_words(option_rows[id].shape);
            output_text("\" ;;\n");
        }
    }
}

static void print_bash(void)
{
    output_text("# bash completion for perhaps\n"
                "_perhaps() {\n"
                "    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=\n"
                "    case $previous in\n");
    print_bash_values();
    output_text("    esac\n"
                "    if [[ -n $words ]]; then\n"
                "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
                "        return\n"
                "    fi\n"
                "    if [[ $COMP_CWORD -eq 1 && $current != -* ]]; then\n"
                "        mapfile -t COMPREPLY < <(compgen -W \"");
    print_commands();
    output_text("\" -- \"$current\")\n        return\n    fi\n"
                "    if [[ $current == -* ]]; then\n        case ${COMP_WORDS[1]} in\n");
    for (unsigned command = 0; command < COMMAND_COUNT_OF; command++) {
        output_format("        %s) words=\"", command_rows[command].name);
        print_bash_words(command);
        output_text("\" ;;\n");
    }
    output_text("        *) words=\"");
    print_bash_words(COMMAND_TOOL);
    output_text("\" ;;\n        esac\n"
                "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
                "        return\n    fi\n"
                "    mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
                "}\n"
                "complete -o filenames -F _perhaps perhaps\n");
}

// ---- zsh

// Inside '...[...]': the quote ends the word, the brackets the description, the colon the message.
static void print_zsh_text(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            output_text("'\\''");
        } else {
            output_format(strchr("[]:\\", *text) != NULL ? "\\%c" : "%c", *text);
        }
    }
}

static void print_zsh_value(const struct option_row *row)
{
    if (row->shape == VALUE_NONE) {
        return;
    }
    output_format(":%s:", row->value);
    if (row->shape == VALUE_FILE) {
        output_text("_files");
    } else if (has_words(row)) {
        output_text("(");
        print_words(row->shape);
        output_text(")");
    }
}

static void print_zsh_spec(const char *name, const struct option_row *row)
{
    output_format(" \\\n            '%s%s[", name, row->value == NULL ? "" : name[1] == '-' ? "=" : "+");
    print_zsh_text(row->summary);
    output_text("]");
    print_zsh_value(row);
    output_text("'");
}

static void print_zsh_options(unsigned command)
{
    for (int id = 0; id < OPTION_COUNT_OF; id++) {
        const struct option_row *row = &option_rows[id];
        if (!option_is_for(row, command)) {
            continue;
        }
        char name[40] = "--";
        print_zsh_spec(strncat(name, row->name, sizeof name - 3), row);
        if (row->letter != 0) {
            char letter[] = {'-', row->letter, '\0'};
            print_zsh_spec(letter, row);
        }
    }
}

static void print_zsh(void)
{
    output_text("#compdef perhaps\n"
                "_perhaps() {\n"
                "    local curcontext=$curcontext state line\n"
                "    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
                "        local -a commands=(");
    for (int id = 0; id < COMMAND_COUNT_OF; id++) {
        output_format("\n            '%s:", command_rows[id].name);
        print_zsh_text(command_rows[id].summary);
        output_text("'");
    }
    output_text("\n        )\n        _describe command commands\n        return\n    fi\n    case $words[2] in\n");
    for (unsigned command = 0; command < COMMAND_COUNT_OF; command++) {
        output_format("    %s)\n        shift words; (( CURRENT-- ))\n        _arguments -s -S",
                      command_rows[command].name);
        print_zsh_options(command);
        output_text(" \\\n            '*:file:_files'\n        ;;\n");
    }
    output_text("    *)\n        _arguments -s -S");
    print_zsh_options(COMMAND_TOOL);
    output_text("\n        ;;\n    esac\n}\n_perhaps \"$@\"\n");
}

// ---- fish

static void print_fish_text(const char *text)
{
    output_text("'");
    for (; *text != '\0'; text++) {
        output_format(*text == '\'' || *text == '\\' ? "\\%c" : "%c", *text);
    }
    output_text("'");
}

static void print_fish_option(unsigned command, const struct option_row *row)
{
    if (command == COMMAND_TOOL) {
        output_text("complete -c perhaps -n __fish_use_subcommand");
    } else {
        output_format("complete -c perhaps -n '__fish_seen_subcommand_from %s'", command_rows[command].name);
    }
    output_format(" -l %s", row->name);
    if (row->letter != 0) {
        output_format(" -s %c", row->letter);
    }
    if (row->shape != VALUE_NONE) {
        output_text(row->shape == VALUE_FILE ? " -r -F" : " -x");
    }
    if (has_words(row)) {
        output_text(" -a '");
        print_words(row->shape);
        output_text("'");
    }
    output_text(" -d ");
    print_fish_text(row->summary);
    output_text("\n");
}

static void print_fish(void)
{
    output_text("# fish completion for perhaps\ncomplete -c perhaps -n __fish_use_subcommand -f\n");
    for (int id = 0; id < COMMAND_COUNT_OF; id++) {
        output_format("complete -c perhaps -n __fish_use_subcommand -a %s -d ", command_rows[id].name);
        print_fish_text(command_rows[id].summary);
        output_text("\n");
    }
    each_option(print_fish_option);
}

int generate(const char *what)
{
    if (strcmp(what, "complete-bash") == 0) {
        print_bash();
    } else if (strcmp(what, "complete-zsh") == 0) {
        print_zsh();
    } else if (strcmp(what, "complete-fish") == 0) {
        print_fish();
    } else if (strcmp(what, "man-options") == 0) {
        each_option(print_plain);
    } else {
        return fail_usage(NULL, "--generate: '%s' is none of %s", what, generated_names);
    }
    return STATUS_OK;
}
