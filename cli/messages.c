// SPDX-License-Identifier: MIT
#include "messages.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "output.h"
#include "utf8.h"

enum { TEXT_SIZE = 2048, SUBJECT_SIZE = 4096 };

// One write for the whole line, so that lines of processes that share a standard error do not mix. Nothing can be
// done when it fails.
static void put_line(const char *before, const char *subject, const char *between, const char *text)
{
    char shown_subject[SUBJECT_SIZE];
    char shown_text[TEXT_SIZE];
    char line[SUBJECT_SIZE + TEXT_SIZE + 64];
    utf8_escape(shown_subject, sizeof shown_subject, subject, strlen(subject));
    utf8_escape(shown_text, sizeof shown_text, text, strlen(text));
    output_flush(); // what was printed before comes before
    int length = snprintf(line, sizeof line, "%s%s%s%s\n", before, shown_subject, between, shown_text);
    ssize_t ignored = write(STDERR_FILENO, line, (size_t)length);
    (void)ignored;
}

__attribute__((format(printf, 4, 0))) static void
put_formatted(const char *before, const char *subject, const char *between, const char *format, va_list arguments)
{
    char text[TEXT_SIZE];
    (void)vsnprintf(text, sizeof text, format, arguments);
    put_line(before, subject, between, text);
}

int fail(const char *subject, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put_formatted("perhaps: ", subject, ": ", format, arguments);
    va_end(arguments);
    return STATUS_ERROR;
}

int fail_errno(const char *subject, int number)
{
    return fail(subject, "%s", strerror(number));
}

int fail_library(const char *fallback, int code, const perhaps_error *error)
{
    const char *subject = error->subject[0] != '\0' ? error->subject : fallback;
    return fail(subject, "%s", error->text[0] != '\0' ? error->text : perhaps_message(code));
}

int fail_usage(const char *command, const char *format, ...)
{
    char text[TEXT_SIZE];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (command == NULL) {
        put_line("perhaps: ", text, " (try 'perhaps --help')", "");
    } else {
        char help[64];
        (void)snprintf(help, sizeof help, " (try 'perhaps %s --help')", command);
        put_line("perhaps ", command, ": ", strncat(text, help, sizeof text - strlen(text) - 1));
    }
    return STATUS_ERROR;
}

void warn(const char *subject, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put_formatted("perhaps: ", subject, ": warning: ", format, arguments);
    va_end(arguments);
}

void tell(const char *subject, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put_formatted("", subject, ": ", format, arguments);
    va_end(arguments);
}

const char *shown_name(const char *name)
{
    return strcmp(name, "-") == 0 ? "(standard input)" : name;
}
