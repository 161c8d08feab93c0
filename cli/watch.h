// SPDX-License-Identifier: MIT
//
// perhaps guard --watch: a guard that keeps its filter in step with the store while it answers, makes it anew when it
// has to, and saves it.
#ifndef PERHAPS_CLI_WATCH_H
#define PERHAPS_CLI_WATCH_H

#include <stdbool.h>

struct guarding;
struct watch;

// Opens the store and makes the guard, from the filter's file if that can be used. Answers can be asked for at once: until
// the filter is ready they are "perhaps". From here on signals are taken note of, and the input waits for them.
int watch_begin(struct guarding *g);

// What is due, after keys were answered. STATUS_ERROR: a signal asked for the end.
int watch_after_batch(struct watch *watch);

// When the input has ended with a status: goes on with --stay, and then saves. *signalled: a signal ended it.
int watch_end(struct watch *watch, int status, bool *signalled);

void watch_free(struct watch *watch);

#endif
