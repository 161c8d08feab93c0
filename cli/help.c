// SPDX-License-Identifier: MIT
#include "help.h"

#include <perhaps/perhaps.h>
#include <stdio.h>
#include <string.h>

#include "messages.h"
#include "options.h"
#include "output.h"

enum { WIDTH = 80, SUMMARY_COLUMN = 28 };

static void print_wrapped(const char *text, size_t length, int indent)
{
    int column = 0;
    for (const char *end = text + length; text < end;) {
        const char *space = memchr(text, ' ', (size_t)(end - text));
        int word = (int)((space != NULL ? space : end) - text);
        if (column > 0 && column + 1 + word > WIDTH) {
            output_text("\n");
            column = 0;
        }
        if (column == 0) {
            output_format("%*s%.*s", indent, "", word, text);
            column = indent + word;
        } else {
            output_format(" %.*s", word, text);
            column += 1 + word;
        }
        text += word + (space != NULL);
    }
    output_text("\n");
}

// Lines that begin with two spaces are examples and stay as they are.
static void print_paragraphs(const char *text, int indent)
{
    while (*text != '\0') {
        size_t length = strcspn(text, "\n");
        if (strncmp(text, "  ", 2) == 0) {
            output_format("%*s%.*s\n", indent, "", (int)length, text);
        } else if (length > 0) {
            print_wrapped(text, length, indent);
        }
        text += length + (text[length] == '\n');
    }
}

static void print_option(const struct option_row *row, bool whole)
{
    char left[64];
    int used = row->letter != 0 ? snprintf(left, sizeof left, "  -%c, --%s", row->letter, row->name)
                                : snprintf(left, sizeof left, "      --%s", row->name);
    (void)snprintf(left + used, sizeof left - (size_t)used, "%s%s", row->value != NULL ? "=" : "",
                   row->value != NULL ? row->value : "");
    output_format("%-*s %s\n", SUMMARY_COLUMN - 1, left, row->summary);
    if (whole && row->details[0] != '\0') {
        print_wrapped(row->details, strlen(row->details), SUMMARY_COLUMN + 2);
    }
}

static void print_options(enum command_id command, bool whole)
{
    output_text("\nOptions:\n");
    for (int id = 0; id < OPTION_COUNT_OF; id++) {
        if (option_is_for(&option_rows[id], command)) {
            print_option(&option_rows[id], whole);
        }
    }
}

static void print_tool_help(bool whole)
{
    output_text("perhaps: could this key be in the set?\n\n"
                "Usage: perhaps COMMAND [OPTION...] [OPERAND...]\n\nCommands:\n");
    for (int id = 0; id < COMMAND_COUNT_OF; id++) {
        output_format("  %-10s  %s\n", command_rows[id].name, command_rows[id].summary);
    }
    print_options(COMMAND_TOOL, whole);
    output_text("\n\"No\" is proof. \"Perhaps\" is only a reason to ask the authoritative store.\n"
                "'perhaps COMMAND --help' and 'man perhaps' tell more.\n");
}

void print_help(enum command_id command, bool whole)
{
    if (command == COMMAND_TOOL) {
        print_tool_help(whole);
        return;
    }
    const struct command_row *row = &command_rows[command];
    output_format("Usage: perhaps %s %s\n\n", row->name, row->operands);
    if (whole) {
        print_paragraphs(row->details, 0);
    } else {
        output_format("%s%s\n", row->summary, "");
    }
    print_options(command, whole);
}

void print_version(void)
{
    output_format("perhaps %d.%d.%d\nlibrary %s, file format %d\nLicence: MIT. There is no warranty.\n",
                  PERHAPS_VERSION_MAJOR, PERHAPS_VERSION_MINOR, PERHAPS_VERSION_PATCH, perhaps_version(),
                  PERHAPS_FORMAT_VERSION);
}
