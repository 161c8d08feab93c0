// SPDX-License-Identifier: MIT
#ifndef PERHAPS_CLI_HELP_H
#define PERHAPS_CLI_HELP_H

#include <stdbool.h>

#include "commands.h"

// Help for a command, or for the tool, on standard output.
void print_help(enum command_id command, bool whole);

void print_version(void);

// Prints what --generate names; complains and returns STATUS_ERROR when there is no such thing.
int generate(const char *what);

#endif
