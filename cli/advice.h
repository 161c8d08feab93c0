// SPDX-License-Identifier: MIT
//
// What a plan says: when to rebuild a filter, and to what size. For perhaps plan, and in the report of perhaps guard.
#ifndef PERHAPS_CLI_ADVICE_H
#define PERHAPS_CLI_ADVICE_H

#include <perhaps/guard.h>

struct json;

enum { ADVICE_SIZE = 1024 }; // room for all of it as text

// "rebuild:  ..." and why.
int advice_reasons(char *text, size_t room, const perhaps_plan *plan);

// The lines of the next filter. Both give the number of characters, as snprintf() does.
int advice_next(char *text, size_t room, const perhaps_plan *plan);

// Its members, in an object that is open; the names are an interface: see perhaps(1).
void advice_json(struct json *json, const perhaps_plan *plan);

#endif
