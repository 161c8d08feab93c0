// SPDX-License-Identifier: MIT
#include "store_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"

#define ALL_FORMS ((uint32_t)PERHAPS_CANONICAL_LOWER | PERHAPS_CANONICAL_RTRIM)

int perhaps__guard_store_null(const char *name, perhaps_error *error)
{
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_ARGUMENT, .subject = name};
    return perhaps__guard_fail(error, failure, "the argument is NULL, and the call needs it");
}

static int refuse(int code, const char *subject, perhaps_error *error, const char *text)
{
    struct perhaps__guard_failure failure = {.code = code, .subject = subject};
    return perhaps__guard_fail(error, failure, "%s", text);
}

static int check_query(const perhaps_store_options *options, perhaps_error *error)
{
    if (options->table != NULL || options->column != NULL || options->schema != NULL) {
        return refuse(PERHAPS_E_ARGUMENT, "query", error,
                      "a query stands in for schema, table and column; leave them out");
    }
    return 0;
}

static int check_column(const perhaps_store_options *options, perhaps_error *error)
{
    if (options->list != NULL) {
        return refuse(PERHAPS_E_ARGUMENT, "list", error,
                      "a list goes with a query only; leave it out, or give a query");
    }
    if (options->table == NULL || options->column == NULL) {
        return perhaps__guard_store_null(options->table == NULL ? "table" : "column", error);
    }
    return 0;
}

int perhaps__guard_store_options_check(const perhaps_store_options *options, perhaps_error *error)
{
    if (options == NULL) {
        return perhaps__guard_store_null("options", error);
    }
    if (options->size != sizeof *options) {
        return refuse(PERHAPS_E_OPTION, "size", error,
                      "this is not the size of perhaps_store_options; set it to sizeof the structure");
    }
    if ((options->canonical & ~ALL_FORMS) != 0) {
        return refuse(PERHAPS_E_OPTION, "canonical", error,
                      "there is no such canonical form; see guard.h for those there are");
    }
    return options->query != NULL ? check_query(options, error) : check_column(options, error);
}

// The length of a query without what ends it.
static size_t trimmed(const char *text)
{
    size_t length = strlen(text);
    while (length > 0 && strchr("; \t\r\n", text[length - 1]) != NULL) {
        length--;
    }
    return length;
}

static const char *place(char **room, const char *text, size_t length)
{
    char *placed = memcpy(*room, text, length);
    placed[length] = '\0';
    *room += length + 1;
    return placed;
}

perhaps_store_options *perhaps__guard_store_options_copy(const perhaps_store_options *options)
{
    const char *const texts[] = {options->schema, options->table, options->column, options->query, options->list};
    enum { TEXTS = sizeof texts / sizeof texts[0], FIRST_QUERY = 3 };
    size_t lengths[TEXTS] = {0};
    size_t total = 0;
    for (size_t i = 0; i < TEXTS; i++) {
        if (texts[i] != NULL) {
            lengths[i] = i < FIRST_QUERY ? strlen(texts[i]) : trimmed(texts[i]);
            total += lengths[i] + 1;
        }
    }
    perhaps_store_options *copy = malloc(sizeof *copy + total);
    if (copy == NULL) {
        return NULL;
    }
    *copy = *options;
    const char **const copies[] = {&copy->schema, &copy->table, &copy->column, &copy->query, &copy->list};
    char *room = (char *)(copy + 1);
    for (size_t i = 0; i < TEXTS; i++) {
        *copies[i] = texts[i] == NULL ? NULL : place(&room, texts[i], lengths[i]);
    }
    return copy;
}

const char *perhaps__guard_store_describe(const perhaps_store_options *options, const char *kind, char *text,
                                          size_t room)
{
    if (options->query != NULL) {
        (void)snprintf(text, room, "the query");
    } else {
        (void)snprintf(text, room, "column \"%s\" of %s \"%s\"", options->column, kind, options->table);
    }
    return text;
}

bool perhaps__guard_store_key_make(struct perhaps__guard_store_key *made, uint32_t canonical, const void *key,
                                   size_t length)
{
    made->bytes = length > 0 ? key : "";
    made->length = length;
    made->owned = NULL;
    if (canonical == 0 || length == 0) {
        return true;
    }
    made->owned = length > sizeof made->room ? malloc(length) : NULL;
    char *out = made->owned != NULL ? made->owned : made->room;
    if (length > sizeof made->room && made->owned == NULL) {
        return false;
    }
    made->length = perhaps_canonical(canonical, key, length, out);
    made->bytes = out;
    return true;
}
