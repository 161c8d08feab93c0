// SPDX-License-Identifier: MIT
//
// A writer of JSON, on one line. Bytes from outside are {"text": ...} when they are UTF-8, otherwise
// {"bytes": ...} in base64 (the scheme of ripgrep).
#ifndef PERHAPS_CLI_JSON_H
#define PERHAPS_CLI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// All zero is an empty text. Once memory has run out, `failed` is set and everything else does nothing.
struct json {
    char *text;
    size_t length;
    size_t capacity;
    bool failed;
    bool needs_comma;
};

// Objects and arrays; `name` is NULL for the outermost one, and for what stands in an array. Names of members are ours
// and are not escaped.
void json_open(struct json *json, const char *name);
void json_close(struct json *json);

void json_open_array(struct json *json, const char *name);
void json_close_array(struct json *json);

void json_string(struct json *json, const char *name, const char *value);
void json_bytes(struct json *json, const char *name, const void *bytes, size_t length);
void json_unsigned(struct json *json, const char *name, uint64_t value);
void json_double(struct json *json, const char *name, double value); // null when not finite
void json_bool(struct json *json, const char *name, bool value);
void json_null(struct json *json, const char *name);

// The shortest decimal that reads back as the same number.
void shortest_decimal(double value, char *to, size_t room);

// Ends the line.
void json_end_line(struct json *json);

// Prints the text and a newline on standard output and empties it; complains when memory had run out.
int json_print(struct json *json);
void json_free(struct json *json);

#endif
