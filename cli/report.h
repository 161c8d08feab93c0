// SPDX-License-Identifier: MIT
//
// What a guard was worth: as text on standard error, or as JSON in a file.
#ifndef PERHAPS_CLI_REPORT_H
#define PERHAPS_CLI_REPORT_H

#include <perhaps/guard.h>

struct arguments;
struct opened_store;

// What --audit found out about the keys that the filter called surely absent.
struct audit {
    uint64_t audited; // put to the store all the same
    uint64_t missed;  // the store has them
};

// Complains and returns STATUS_ERROR when the file cannot be written.
int report_guard(const struct arguments *arguments, const perhaps_guard_statistics *statistics,
                 const struct audit *audit, const struct opened_store *store);

// --metrics-file, if it was given: the text exposition format of Prometheus, in one step.
int report_metrics(const struct arguments *arguments, const perhaps_guard_statistics *statistics);

#endif
