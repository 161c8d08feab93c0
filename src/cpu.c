// SPDX-License-Identifier: MIT
#include "cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const level_names[] = {
    [PERHAPS_CPU_SCALAR] = "scalar",
    [PERHAPS_CPU_AVX2] = "avx2",
    [PERHAPS_CPU_NEON] = "neon",
};

const char *perhaps__cpu_level_name(enum perhaps__cpu_level level)
{
    return level_names[level];
}

static enum perhaps__cpu_level native_level(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") ? PERHAPS_CPU_AVX2 : PERHAPS_CPU_SCALAR; // asks the system, too
#elif defined(__aarch64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return PERHAPS_CPU_NEON; // part of the architecture
#else
    return PERHAPS_CPU_SCALAR;
#endif
}

#ifdef PERHAPS_TEST_SUPPORT
static bool names_level(const char *word, size_t length, enum perhaps__cpu_level *level)
{
    for (size_t i = 0; i < PERHAPS_COUNT(level_names); i++) {
        if (strlen(level_names[i]) == length && memcmp(level_names[i], word, length) == 0) {
            *level = (enum perhaps__cpu_level)i;
            return true;
        }
    }
    return false;
}

static bool is_disabled(enum perhaps__cpu_level asked)
{
    const char *word = getenv("PERHAPS_DISABLE_CPU"); // NOLINT(concurrency-mt-unsafe): nobody sets it meanwhile
    bool disabled = false;
    while (word != NULL && *word != '\0') {
        size_t length = strcspn(word, ",");
        enum perhaps__cpu_level level;
        if (!names_level(word, length, &level)) {
            (void)fprintf(stderr, "perhaps: PERHAPS_DISABLE_CPU: unknown level in '%s'\n", word);
            abort();
        }
        disabled = disabled || level == asked;
        word += length + (word[length] == ',');
    }
    return disabled;
}
#endif

enum perhaps__cpu_level perhaps__cpu_level(void)
{
    enum perhaps__cpu_level level = native_level();
#ifdef PERHAPS_TEST_SUPPORT
    return is_disabled(level) ? PERHAPS_CPU_SCALAR : level;
#else
    return level;
#endif
}

uint64_t perhaps__cpu_l2_bytes(void)
{
    const long guess = 1L << 20;
#ifdef _SC_LEVEL2_CACHE_SIZE
    long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return (uint64_t)(bytes > 0 ? bytes : guess);
#else
    return (uint64_t)guess;
#endif
}

uint64_t perhaps__cpu_last_cache_bytes(void)
{
    // To ask is to ask the processor, which takes microseconds in a virtual machine. Whatever thread is first, it is the
    // same.
    static uint64_t known;
    uint64_t plus_one = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (plus_one == 0) {
        long bytes = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
        bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
        plus_one = bytes > 0 ? (uint64_t)bytes + 1 : 1;
        __atomic_store_n(&known, plus_one, __ATOMIC_RELAXED);
    }
    return plus_one - 1;
}
