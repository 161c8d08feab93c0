// SPDX-License-Identifier: MIT
#define PERHAPS__GUARD_LIBPQ_UNNAMED
#include "postgres_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "fail.h"

// The name of its ABI, which has not changed since 2006.
static const char file_name[] = "libpq.so.5";

struct perhaps__guard_libpq perhaps__guard_libpq;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool loaded;
static char reason[128];

static void note_reason(const char *text)
{
    size_t length = text == NULL ? 0 : strlen(text);
    length = length < sizeof reason ? length : sizeof reason - 1;
    memcpy(reason, text == NULL ? "" : text, length);
}

static bool find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, sizeof found); // POSIX has functions and data of one size
    return found != NULL;
}

// It stays for as long as the program runs.
static void load(void)
{
    void *library = dlopen(file_name, RTLD_NOW | RTLD_LOCAL);
    loaded = library != NULL;
#define FIND(name) loaded = loaded && find(library, #name, &perhaps__guard_libpq.name);
    PERHAPS__GUARD_LIBPQ_FUNCTIONS(FIND)
#undef FIND
    if (!loaded) {
        note_reason(dlerror());
    }
}

int perhaps__guard_libpq_load(perhaps_error *error)
{
    (void)pthread_once(&once, load);
    if (loaded) {
        return 0;
    }
    struct perhaps__guard_failure failure = {.code = PERHAPS_E_UNSUPPORTED, .subject = file_name};
    return perhaps__guard_fail(error, failure,
                               "PostgreSQL's library cannot be loaded (%s); install it (Debian: libpq5)", reason);
}
