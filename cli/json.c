// SPDX-License-Identifier: MIT
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "messages.h"
#include "output.h"
#include "utf8.h"

static bool reserve(struct json *json, size_t more)
{
    if (json->failed) {
        return false;
    }
    if (more <= json->capacity - json->length) {
        return true;
    }
    size_t capacity;
    char *text = NULL;
    if (!__builtin_add_overflow(json->length, more, &capacity) && capacity <= SIZE_MAX / 2 - 256) {
        capacity = capacity * 2 + 256;
        text = realloc(json->text, capacity);
    }
    if (text == NULL) {
        json->failed = true;
        return false;
    }
    json->text = text;
    json->capacity = capacity;
    return true;
}

static void put(struct json *json, const char *bytes, size_t length)
{
    if (length > 0 && reserve(json, length)) {
        memcpy(json->text + json->length, bytes, length);
        json->length += length;
    }
}

static void put_text(struct json *json, const char *text)
{
    put(json, text, strlen(text));
}

static void put_name(struct json *json, const char *name)
{
    if (json->needs_comma) {
        put_text(json, ",");
    }
    json->needs_comma = true;
    if (name != NULL) {
        put_text(json, "\"");
        put_text(json, name);
        put_text(json, "\":");
    }
}

static void put_escaped(struct json *json, const char *text, size_t length)
{
    put_text(json, "\"");
    size_t plain = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x20 && c != '"' && c != '\\') {
            continue;
        }
        char escape[8];
        (void)snprintf(escape, sizeof escape, c < 0x20 ? "\\u%04x" : "\\%c", c);
        put(json, text + plain, i - plain);
        put_text(json, escape);
        plain = i + 1;
    }
    put(json, text + plain, length - plain);
    put_text(json, "\"");
}

static void put_base64(struct json *json, const unsigned char *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    put_text(json, "\"");
    for (size_t i = 0; i < length; i += 3) {
        size_t left = length - i;
        unsigned group = (unsigned)bytes[i] << 16;
        group |= left > 1 ? (unsigned)bytes[i + 1] << 8 : 0;
        group |= left > 2 ? bytes[i + 2] : 0u;
        char four[] = {digits[group >> 18], digits[group >> 12 & 63], left > 1 ? digits[group >> 6 & 63] : '=',
                       left > 2 ? digits[group & 63] : '='};
        put(json, four, sizeof four);
    }
    put_text(json, "\"");
}

static void open_with(struct json *json, const char *name, const char *bracket)
{
    put_name(json, name);
    put_text(json, bracket);
    json->needs_comma = false;
}

static void close_with(struct json *json, const char *bracket)
{
    put_text(json, bracket);
    json->needs_comma = true;
}

void json_open(struct json *json, const char *name)
{
    open_with(json, name, "{");
}

void json_close(struct json *json)
{
    close_with(json, "}");
}

void json_open_array(struct json *json, const char *name)
{
    open_with(json, name, "[");
}

void json_close_array(struct json *json)
{
    close_with(json, "]");
}

void json_string(struct json *json, const char *name, const char *value)
{
    put_name(json, name);
    put_escaped(json, value, strlen(value));
}

void json_bytes(struct json *json, const char *name, const void *bytes, size_t length)
{
    json_open(json, name);
    bool is_text = utf8_valid(bytes, length);
    put_name(json, is_text ? "text" : "bytes");
    if (is_text) {
        put_escaped(json, bytes, length);
    } else {
        put_base64(json, bytes, length);
    }
    json_close(json);
}

void json_unsigned(struct json *json, const char *name, uint64_t value)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%" PRIu64, value);
    put_name(json, name);
    put_text(json, text);
}

void shortest_decimal(double value, char *to, size_t room)
{
    for (int digits = 6; digits <= 17; digits++) {
        (void)snprintf(to, room, "%.*g", digits, value);
        if (strtod(to, NULL) == value) {
            return;
        }
    }
}

void json_double(struct json *json, const char *name, double value)
{
    if (!isfinite(value)) {
        json_null(json, name);
        return;
    }
    char text[40];
    shortest_decimal(value, text, sizeof text);
    put_name(json, name);
    put_text(json, text);
}

void json_bool(struct json *json, const char *name, bool value)
{
    put_name(json, name);
    put_text(json, value ? "true" : "false");
}

void json_null(struct json *json, const char *name)
{
    put_name(json, name);
    put_text(json, "null");
}

void json_end_line(struct json *json)
{
    put_text(json, "\n");
}

int json_print(struct json *json)
{
    json_end_line(json);
    int status = json->failed ? fail("standard output", "there is not enough memory for the JSON text") : STATUS_OK;
    if (status == STATUS_OK) {
        output_write(json->text, json->length);
    }
    json->length = 0;
    json->needs_comma = false;
    return status;
}

void json_free(struct json *json)
{
    free(json->text);
    *json = (struct json){0};
}
