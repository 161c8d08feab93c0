// SPDX-License-Identifier: MIT
#ifndef PERHAPS_CLI_SIZEOPTIONS_H
#define PERHAPS_CLI_SIZEOPTIONS_H

#include <perhaps/perhaps.h>

struct arguments;

// -n, -p, --bytes and --kind, as far as they are given. Complains and returns STATUS_ERROR when one of them is wrong.
int size_options(const struct arguments *arguments, perhaps_options *options);

// fail_library() that names the option instead of the library's field.
int fail_size(const struct arguments *arguments, int code, const perhaps_error *error);

#endif
