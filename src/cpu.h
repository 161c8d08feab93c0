// SPDX-License-Identifier: MIT
// Layer 0: what the processor that runs us can do. Nothing is compiled for the build machine's own.
#ifndef PERHAPS_CPU_H
#define PERHAPS_CPU_H

#include "base.h"

// Levels of vector instructions, each with a kernel of its own. Every level gives the same bytes.
enum perhaps__cpu_level { PERHAPS_CPU_SCALAR, PERHAPS_CPU_AVX2, PERHAPS_CPU_NEON };

// The best level of this processor. In test builds (PERHAPS_TEST_SUPPORT) the levels named in the environment variable
// PERHAPS_DISABLE_CPU, separated by commas, are left out; an unknown name there ends the process, so that no test run
// believes to have switched off what it misspelt.
enum perhaps__cpu_level perhaps__cpu_level(void);

const char *perhaps__cpu_level_name(enum perhaps__cpu_level level);

// Bytes of second-level cache of one core, or a cautious guess. Filters that fit are not prefetched.
uint64_t perhaps__cpu_l2_bytes(void);

// Bytes of the last cache before the memory, all cores' together; 0 if the system does not tell. Asked for once.
uint64_t perhaps__cpu_last_cache_bytes(void);

#endif
