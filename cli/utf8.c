// SPDX-License-Identifier: MIT
#include "utf8.h"

#include <stdio.h>
#include <string.h>

static bool in_range(unsigned char byte, unsigned low, unsigned high)
{
    return byte >= low && byte <= high;
}

// How many bytes the first one announces, and the range of the second: narrower than 80..BF after E0 (overlong
// forms), ED (surrogates), F0 (overlong) and F4 (beyond U+10FFFF).
static size_t announced(unsigned char first, unsigned *low, unsigned *high)
{
    *low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    *high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (first < 0x80) {
        return 1;
    }
    if (in_range(first, 0xC2, 0xDF)) {
        return 2;
    }
    if (in_range(first, 0xE0, 0xEF)) {
        return 3;
    }
    return in_range(first, 0xF0, 0xF4) ? 4 : 0;
}

size_t utf8_sequence(const char *text, size_t length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    if (length == 0) {
        return 0;
    }
    unsigned low;
    unsigned high;
    size_t count = announced(bytes[0], &low, &high);
    if (count > length || (count > 1 && !in_range(bytes[1], low, high))) {
        return 0;
    }
    for (size_t i = 2; i < count; i++) {
        if (!in_range(bytes[i], 0x80, 0xBF)) {
            return 0;
        }
    }
    return count;
}

bool utf8_valid(const char *text, size_t length)
{
    size_t sequence;
    for (size_t i = 0; i < length; i += sequence) {
        sequence = utf8_sequence(text + i, length - i);
        if (sequence == 0) {
            return false;
        }
    }
    return true;
}

// C0 and C1 control characters; the latter are C2 80 to C2 9F.
static bool is_control(const char *text, size_t sequence)
{
    const unsigned char *bytes = (const unsigned char *)text;
    return bytes[0] < 0x20 || bytes[0] == 0x7F || (sequence == 2 && bytes[0] == 0xC2 && bytes[1] < 0xA0);
}

static size_t escape_one(char *to, size_t room, const char *text, size_t sequence)
{
    if (sequence != 0 && !is_control(text, sequence)) {
        if (sequence < room) {
            memcpy(to, text, sequence);
        }
        return sequence;
    }
    static const char named[] = "\a\b\t\n\v\f\r";
    const char *found = text[0] != '\0' ? strchr(named, text[0]) : NULL;
    int length = found != NULL ? snprintf(to, room, "\\%c", "abtnvfr"[found - named])
                               : snprintf(to, room, "\\x%02x", (unsigned)(unsigned char)text[0]);
    return (size_t)length;
}

size_t utf8_escape(char *to, size_t room, const char *text, size_t length)
{
    size_t used = 0;
    size_t i = 0;
    while (i < length) {
        size_t sequence = utf8_sequence(text + i, length - i);
        size_t size = escape_one(to + used, room - used, text + i, sequence);
        if (size >= room - used) {
            break;
        }
        used += size;
        // An escaped two-byte control is written byte by byte, its second byte then being no UTF-8.
        bool whole = sequence != 0 && !is_control(text + i, sequence);
        i += whole ? sequence : 1;
    }
    to[used] = '\0';
    return used;
}
