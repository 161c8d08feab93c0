// SPDX-License-Identifier: MIT
#include "progress.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "options.h"
#include "utf8.h"

enum { FIRST_MS = 1000, STEP_MS = 1000 / 6 + 1 };

static bool wanted;
static bool shown;
static int64_t next_ms;

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void progress_start(const struct arguments *arguments)
{
    wanted = isatty(STDERR_FILENO) && !given(arguments, OPTION_QUIET) && !given(arguments, OPTION_NO_PROGRESS);
    next_ms = now_ms() + FIRST_MS;
}

static bool is_due(void)
{
    if (!wanted || now_ms() < next_ms) {
        return false;
    }
    next_ms = now_ms() + STEP_MS;
    shown = true;
    return true;
}

void progress_show(uint64_t keys)
{
    if (is_due()) {
        (void)fprintf(stderr, "\r%" PRIu64 " keys", keys);
    }
}

void progress_share(uint64_t done, uint64_t all, const char *of)
{
    if (is_due()) {
        char name[256];
        (void)utf8_escape(name, sizeof name, of, strlen(of));
        (void)fprintf(stderr, "\r%3" PRIu64 " %% of %s", all > 0 ? 100 * done / all : 100, name);
    }
}

void progress_end(void)
{
    if (shown) {
        (void)fputs("\r\033[K", stderr);
        shown = false;
    }
}
