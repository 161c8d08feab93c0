// SPDX-License-Identifier: MIT
//
// What a guard was worth: as text on standard error, or as JSON in a file.
#ifndef PERHAPS_CLI_REPORT_H
#define PERHAPS_CLI_REPORT_H

#include <perhaps/guard.h>
#include <stdbool.h>

struct arguments;
struct opened_store;

// What --audit found out about the keys that the filter called surely absent.
struct audit {
    uint64_t audited; // put to the store all the same
    uint64_t missed;  // the store has them
};

// What is reported.
struct account {
    perhaps_guard_statistics statistics;
    struct audit audit;
    const struct opened_store *store;
    perhaps_plan plan;
    bool planned;         // otherwise there is no advice, ...
    perhaps_error reason; // ... and this is why
};

// Complains and returns STATUS_ERROR when the file cannot be written.
int report_guard(const struct arguments *arguments, const struct account *account);

// --metrics-file, if it was given: the text exposition format of Prometheus, in one step.
int report_metrics(const struct arguments *arguments, const perhaps_guard_statistics *statistics);

#endif
