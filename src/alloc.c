// SPDX-License-Identifier: MIT
#include "alloc.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

// Kernels that overcommit hand out more than the machine has and kill the process when it is touched;
// refusing at the call what can never fit turns that into an error the caller can handle.
static bool exceeds_machine(size_t bytes)
{
    const size_t worth_asking = (size_t)64 << 20;
    if (bytes < worth_asking) {
        return false;
    }
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_size = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_size > 0 && bytes / (size_t)page_size > (size_t)pages;
}

// Random accesses to a large array miss the translation cache as often as the data cache: with 2 MiB pages a look-up in
// 120 MB takes about 0.6 of the time (docs/benchmarks.md).
#define HUGE_PAGE ((size_t)2 << 20)

static void *default_allocate(void *context, size_t bytes, size_t alignment)
{
    (void)context;
    void *memory = NULL;
    bool huge = bytes >= 2 * HUGE_PAGE;
    if (exceeds_machine(bytes) || posix_memalign(&memory, huge ? HUGE_PAGE : alignment, bytes) != 0) {
        return NULL;
    }
#ifdef MADV_HUGEPAGE
    if (huge) {
        (void)madvise(memory, bytes, MADV_HUGEPAGE); // advice: without it everything works, slower
    }
#endif
    return memory;
}

static void default_release(void *context, void *memory, size_t bytes, size_t alignment)
{
    (void)context;
    (void)bytes;
    (void)alignment;
    free(memory);
}

const perhaps_allocator perhaps__default_allocator = {NULL, default_allocate, default_release};

bool perhaps__take_allocator(perhaps_allocator *allocator, const perhaps_allocator *given)
{
    if (given == NULL) {
        *allocator = perhaps__default_allocator;
        return true;
    }
    if (given->allocate == NULL || given->release == NULL) {
        return false;
    }
    *allocator = *given;
    return true;
}

static size_t at_least_one(uint64_t bytes)
{
    return bytes > 0 ? (size_t)bytes : 1;
}

void *perhaps__allocate_unset(const perhaps_allocator *allocator, uint64_t bytes)
{
    return bytes > SIZE_MAX / 2 ? NULL : allocator->allocate(allocator->context, at_least_one(bytes), PERHAPS_LINE);
}

void *perhaps__allocate(const perhaps_allocator *allocator, uint64_t bytes)
{
    void *memory = perhaps__allocate_unset(allocator, bytes);
    if (memory != NULL) {
        memset(memory, 0, at_least_one(bytes));
    }
    return memory;
}

void perhaps__release(const perhaps_allocator *allocator, void *memory, uint64_t bytes)
{
    if (memory != NULL) {
        allocator->release(allocator->context, memory, at_least_one(bytes), PERHAPS_LINE);
    }
}

void perhaps__give_back_pages(const perhaps_allocator *allocator, void *memory, uint64_t bytes)
{
#if defined(__linux__) && defined(MADV_DONTNEED) // which there is done at once, and reads as zeros
    long page_size = sysconf(_SC_PAGESIZE);
    if (allocator->allocate != default_allocate || page_size <= 0) {
        return;
    }
    size_t page = (size_t)page_size;
    size_t skipped = (page - (uintptr_t)memory % page) % page;
    size_t whole = bytes > skipped ? (bytes - skipped) / page * page : 0;
    if (whole > 0) {
        (void)madvise((uint8_t *)memory + skipped, whole, MADV_DONTNEED); // where it is locked, it stays
    }
#else
    (void)allocator;
    (void)memory;
    (void)bytes;
#endif
}
