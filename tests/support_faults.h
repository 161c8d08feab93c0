// SPDX-License-Identifier: MIT
// File operations that fail, move a part of the bytes, or are where the process is killed.
#ifndef SUPPORT_FAULTS_H
#define SUPPORT_FAULTS_H

#include <stdbool.h>

#include "file.h"

enum operation {
    OPEN,
    STAT,
    READ,
    WRITE,
    SET_MODE,
    FLUSH,
    CLOSE,
    RENAME,
    REMOVE,
    LOCK,
    TRUNCATE,
    FLUSH_DATA,
    DRAW,
    SET_OWNER,
    OPERATIONS
};
enum effect { FAIL, SHORT, NOTHING, KILL };

// What happens at the `at`-th operation, counted from 1; and what happened.
struct fault {
    unsigned at;
    enum effect effect;
    int reason;        // errno of FAIL
    bool remove_too;   // every removal fails
    bool truncate_too; // every truncation fails
    bool all_after;    // every operation from the at-th on fails, but for closing
    unsigned calls;
    enum operation hit; // the operation that the fault met; OPERATIONS: none
    unsigned counts[OPERATIONS];
};
extern struct fault fault;

// The library's operations go through the fault until they are disarmed.
void arm(unsigned at, enum effect effect, int reason);
void disarm(void);

// The faulty operations, to build others on.
extern const struct perhaps__file_operations faulty_files;

#endif
