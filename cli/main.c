// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "help.h"
#include "keyfile.h"
#include "messages.h"
#include "options.h"
#include "output.h"

#define CLI_COMMAND_ROW(NAME, name, operands, fewest, most, summary, details)                                          \
    {#name, command_##name, operands, (fewest), (most), summary, details},
const struct command_row command_rows[COMMAND_COUNT_OF] = {CLI_COMMAND_TABLE(CLI_COMMAND_ROW)};
#undef CLI_COMMAND_ROW

enum { LONGEST_NAME = 32 };

// A closed standard stream would give its number to the next file that is opened, and output would go there. The
// stand-ins are opened the wrong way round, so that using them fails as it would have.
static void keep_standard_streams(void)
{
    static const int modes[] = {O_WRONLY, O_RDONLY, O_WRONLY};
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0) {
            (void)open("/dev/null", modes[fd]); // takes the lowest number that is free: fd
        }
    }
}

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

// The number of letters to change, insert or leave out (Levenshtein), one row of the table at a time.
static size_t edit_distance(const char *from, const char *to)
{
    size_t length = strlen(to);
    size_t row[LONGEST_NAME + 1];
    for (size_t j = 0; j <= length; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= strlen(from); i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= length; j++) {
            size_t above = row[j];
            row[j] = smallest(above + 1, row[j - 1] + 1, diagonal + (from[i - 1] != to[j - 1]));
            diagonal = above;
        }
    }
    return row[length];
}

static int unknown_command(const char *name)
{
    const char *nearest = NULL;
    size_t least = 3; // more changes than that are another word
    for (int id = 0; id < COMMAND_COUNT_OF && strlen(name) < LONGEST_NAME; id++) {
        size_t distance = edit_distance(name, command_rows[id].name);
        if (distance < least) {
            least = distance;
            nearest = command_rows[id].name;
        }
    }
    if (nearest == NULL) {
        return fail_usage(NULL, "there is no command '%s'", name);
    }
    return fail_usage(NULL, "there is no command '%s'; did you mean '%s'?", name, nearest);
}

static enum command_id find_command(const char *name)
{
    int id = 0;
    while (id < COMMAND_COUNT_OF && strcmp(command_rows[id].name, name) != 0) {
        id++;
    }
    return (enum command_id)id;
}

static int run_tool(int argc, char **argv)
{
    struct arguments arguments;
    if (parse_arguments(COMMAND_TOOL, argc, argv, &arguments) != STATUS_OK) {
        return STATUS_ERROR;
    }
    if (given(&arguments, OPTION_HELP)) {
        print_help(COMMAND_TOOL, strcmp(arguments.values[OPTION_HELP], "long") == 0);
        return STATUS_OK;
    }
    if (given(&arguments, OPTION_VERSION)) {
        print_version();
        return STATUS_OK;
    }
    if (given(&arguments, OPTION_GENERATE)) {
        return generate(arguments.values[OPTION_GENERATE]);
    }
    return fail_usage(NULL, "no command was named");
}

static int run_command(enum command_id command, int argc, char **argv)
{
    struct arguments arguments;
    if (parse_arguments(command, argc, argv, &arguments) != STATUS_OK) {
        return STATUS_ERROR;
    }
    if (given(&arguments, OPTION_HELP)) {
        print_help(command, strcmp(arguments.values[OPTION_HELP], "long") == 0);
        return STATUS_OK;
    }
    int status = key_take(&arguments);
    if (status == STATUS_OK) {
        status = command_rows[command].run(&arguments);
    }
    key_forget();
    return status;
}

static int run(int argc, char **argv)
{
    if (argc < 2 || argv[1][0] == '-') {
        return run_tool(argc, argv);
    }
    if (strcmp(argv[1], "help") == 0) {
        enum command_id command = argc > 2 ? find_command(argv[2]) : COMMAND_TOOL;
        if (argc > 2 && command == COMMAND_COUNT_OF) {
            return unknown_command(argv[2]);
        }
        print_help(command, true);
        return STATUS_OK;
    }
    enum command_id command = find_command(argv[1]);
    return command < COMMAND_COUNT_OF ? run_command(command, argc - 1, argv + 1) : unknown_command(argv[1]);
}

int main(int argc, char **argv)
{
    keep_standard_streams();
    // A file that reaches the limit of "ulimit -f" is a full disk: an error to report, not a reason to die with a
    // temporary file left.
    (void)signal(SIGXFSZ, SIG_IGN);
    int status = run(argc, argv);
    int finished = output_finish();
    return finished != STATUS_OK ? finished : status;
}
