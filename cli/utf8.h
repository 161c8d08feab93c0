// SPDX-License-Identifier: MIT
#ifndef PERHAPS_CLI_UTF8_H
#define PERHAPS_CLI_UTF8_H

#include <stdbool.h>
#include <stddef.h>

// Bytes of the well-formed UTF-8 sequence (Unicode, table 3-7) at the start of `text`; 0 when there is none.
size_t utf8_sequence(const char *text, size_t length);

bool utf8_valid(const char *text, size_t length);

// Copies `text` with everything that could act on a terminal, or is no UTF-8, as \n or \xHH. Cuts at `room`
// bytes, the terminator included, never inside a sequence. Returns the length of the result.
size_t utf8_escape(char *to, size_t room, const char *text, size_t length);

#endif
