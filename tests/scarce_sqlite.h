// SPDX-License-Identifier: MIT
// An allocator for SQLite that fails when it is told to. Tests that use it are programs of their own, because SQLite
// takes one only before it is used.
#ifndef PERHAPS_TESTS_SCARCE_SQLITE_H
#define PERHAPS_TESTS_SCARCE_SQLITE_H

#include "sqlite_helpers.h"

static sqlite3_mem_methods real_memory;
static long allocations_left = -1; // of those that may succeed; negative: all may
static bool for_good;              // all that follow the one that fails, fail too

static inline bool allowed(void)
{
    if (allocations_left == 0) {
        allocations_left = for_good ? 0 : -1;
        return false;
    }
    allocations_left -= allocations_left > 0;
    return true;
}

static inline void *scarce_malloc(int size)
{
    return allowed() ? real_memory.xMalloc(size) : NULL;
}

static inline void *scarce_realloc(void *memory, int size)
{
    return allowed() ? real_memory.xRealloc(memory, size) : NULL;
}

static inline void make_memory_scarce(void)
{
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory), SQLITE_OK);
    sqlite3_mem_methods scarce = real_memory;
    scarce.xMalloc = scarce_malloc;
    scarce.xRealloc = scarce_realloc;
    assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &scarce), SQLITE_OK);
}

// Runs `attempt` with each allocation failing once, and then with every seventh and all after it failing (which
// asks less of the code under test), until none is left to fail. SQLite can do without some allocations, so
// an attempt that succeeds is fine. With a step, only each so-manieth fails.
static inline void with_scarce_memory_every(long step, void (*attempt)(const void *arguments), const void *arguments)
{
    for (int mode = 0; mode < 2; mode++) {
        for_good = mode == 1;
        bool all_succeeded = false;
        long failing = 0;
        for (; !all_succeeded; failing += for_good ? 7 * step : step) {
            allocations_left = failing;
            attempt(arguments);
            all_succeeded = allocations_left > 0;
            allocations_left = -1;
        }
        assert_true(failing > 5); // some did fail
    }
}

static inline void with_scarce_memory(void (*attempt)(const void *arguments), const void *arguments)
{
    with_scarce_memory_every(1, attempt, arguments);
}

#endif
