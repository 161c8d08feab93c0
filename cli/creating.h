// SPDX-License-Identifier: MIT
//
// Making a filter from keys: what create and rebuild share.
#ifndef PERHAPS_CLI_CREATING_H
#define PERHAPS_CLI_CREATING_H

#include <perhaps/guard.h>
#include <stdbool.h>
#include <stddef.h>

#include "adding.h"

struct creation {
    const struct arguments *arguments;
    const char *path;
    perhaps_options options;
    const void *metadata; // borrowed
    size_t metadata_size;
    perhaps_filter *present; // of rebuild: in whose place the new one comes; one that is durable hands its file over
    const perhaps_filter *empty; // of rebuild: where no size is given, the plan is made from it and `planned`
    perhaps_plan_options planned;
    perhaps_filter *filter;
    struct adder adder;
};

// Makes the filter, with the keys in the operands from the second on, and writes it. Complains when it returns
// STATUS_ERROR: nothing was written then. The path is locked. Free it in any case.
int creation_run(struct creation *creation);
void creation_free(struct creation *creation);

// Whether the size is known before any key is. Otherwise p (or the memory) is, and n is counted.
bool creation_is_sized(const perhaps_options *options);

// What cannot be made is refused before a long input is read, and before anything is locked.
int creation_refuse_impossible(const struct creation *creation);

// The size of the filter, in words.
void creation_tell_size(const char *path, const perhaps_filter *filter);

#endif
