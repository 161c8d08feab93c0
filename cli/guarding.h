// SPDX-License-Identifier: MIT
//
// What perhaps guard works with.
#ifndef PERHAPS_CLI_GUARDING_H
#define PERHAPS_CLI_GUARDING_H

#include <perhaps/guard.h>
#include <stdbool.h>

#include "keys.h"
#include "report.h"
#include "store.h"

struct watch;

struct guarding {
    const struct arguments *arguments;
    const char *path;       // of the filter
    perhaps_filter *filter; // or NULL: the guard has its own
    struct opened_store store;
    perhaps_guard *guard;
    struct watch *watch; // with --watch
    char *packed;        // the keys of a batch without separators: the form that the guard's batch call takes
    size_t capacity;
    bool store_failed;
    struct audit audit;
    char first_missed[SHOWN_KEY_SIZE];
};

#endif
