// SPDX-License-Identifier: MIT
#ifndef PERHAPS_CLI_SIZEOPTIONS_H
#define PERHAPS_CLI_SIZEOPTIONS_H

#include <perhaps/perhaps.h>

struct arguments;

// -n, -p, --bytes, --kind and the options of single kinds, as far as they are given. Complains and returns STATUS_ERROR
// when one of them is wrong. An option of a single kind is refused with another one; without --kind, `default_kind` is
// meant, or with 0 every kind.
int size_options(const struct arguments *arguments, uint32_t default_kind, perhaps_options *options);

// --at-capacity, --growth, --max-capacity and --max-bytes, likewise; after size_options().
int growth_options(const struct arguments *arguments, perhaps_options *options);

// --max-capacity and --max-bytes alone.
int limit_options(const struct arguments *arguments, perhaps_options *options);

// What is left for options->kind, which cannot have the options of other kinds.
perhaps_options size_options_of_kind(const perhaps_options *options);

// fail_library() that names the option instead of the library's field.
int fail_size(const struct arguments *arguments, int code, const perhaps_error *error);

#endif
