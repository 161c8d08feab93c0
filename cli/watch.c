// SPDX-License-Identifier: MIT
#include "watch.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "filterfile.h"
#include "guarding.h"
#include "keyfile.h"
#include "lock.h"
#include "messages.h"
#include "numbers.h"
#include "options.h"
#include "output.h"

#define DEFAULT_FPR 0.01

// After a signal, what was found is offered to a reader that does not read for so long.
enum { INTERVAL_MS = 1000, SAVE_LOOKS = 60, LOCK_TRIES = 50, LOCK_PAUSE_MS = 100, OFFER_MS = 2000 };

struct watch {
    struct guarding *g;
    int signals; // signalfd()
    int64_t interval_ms;
    int64_t next_ms;
    int64_t saved_ms;
    uint64_t saved_changes; // that the file has
    uint64_t saved_rebuilds;
    uint32_t state;   // enum perhaps_guard_state, when it was looked at last
    bool stopped;     // a signal asked for the end ...
    int64_t until_ms; // ... and output is given up at this time
    bool journaled;   // the file has all that the guard has, and is nobody else's
    bool cannot_save; // and it was said
    bool behind;      // filters that were made are behind the store at once, and it was said
    // How rebuilds ended, told by the thread that made them.
    pthread_mutex_t lock;
    bool ended;
    int result;
    perhaps_error error;
};

static int64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void __attribute__((format(printf, 2, 3))) say(const struct watch *watch, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!given(watch->g->arguments, OPTION_QUIET)) {
        tell(watch->g->path, "%s", text);
    }
}

static perhaps_guard_statistics statistics_of(const struct watch *watch)
{
    perhaps_guard_statistics statistics = {.size = sizeof statistics};
    (void)perhaps_guard_stats(watch->g->guard, &statistics);
    return statistics;
}

/* ---------------------------------------------------------------- saving */

// The lock is taken for the moment of saving only: others may look at the filter, or make it anew, in between.
static bool take_lock(const struct watch *watch, int tries)
{
    for (int i = 0; i < tries; i++) {
        if (lock_filter_if_free(watch->g->path)) {
            return true;
        }
        if (i + 1 < tries) {
            (void)poll(NULL, 0, LOCK_PAUSE_MS);
        }
    }
    return false;
}

static int complain_once(struct watch *watch, const char *text)
{
    if (!watch->cannot_save) {
        warn(watch->g->path, "not saved: %s", text);
    }
    watch->cannot_save = true;
    return STATUS_ERROR;
}

static void forget_history(const struct watch *watch)
{
    perhaps_error error = {.size = sizeof error};
    if (perhaps_guard_forget(watch->g->guard, &error) < 0) {
        warn(watch->g->store.name, "the log grows: %s", error.text);
    }
}

static void note_saved(struct watch *watch, const perhaps_guard_statistics *saved)
{
    watch->saved_ms = now_ms();
    watch->saved_changes = saved->changes;
    watch->saved_rebuilds = saved->rebuilds;
    watch->cannot_save = false;
    forget_history(watch);
}

// With a journal everything is in the file already.
static int save(struct watch *watch, int tries)
{
    struct guarding *g = watch->g;
    perhaps_guard_statistics before = statistics_of(watch);
    if (watch->journaled) {
        note_saved(watch, &before);
        return STATUS_OK;
    }
    if (!take_lock(watch, tries)) {
        return complain_once(watch, "another process is changing the filter, or the lock cannot be taken");
    }
    perhaps_error error = {.size = sizeof error};
    int code = perhaps_guard_save(g->guard, g->path, &error);
    unlock_filter();
    if (code < 0) {
        watch->saved_ms = now_ms();
        return complain_once(watch, error.text);
    }
    note_saved(watch, &before);
    return STATUS_OK;
}

static bool has_news(const struct watch *watch, const perhaps_guard_statistics *now)
{
    return now->changes != watch->saved_changes || now->rebuilds != watch->saved_rebuilds;
}

// A new filter at once, single keys now and then: what the file lacks is caught up with when it is loaded.
static void save_if_due(struct watch *watch)
{
    perhaps_guard_statistics now = statistics_of(watch);
    bool due = now.rebuilds != watch->saved_rebuilds || now_ms() - watch->saved_ms >= SAVE_LOOKS * watch->interval_ms;
    if (now.state == PERHAPS_GUARD_READY && has_news(watch, &now) && due) {
        (void)save(watch, 1);
    }
}

/* ---------------------------------------------------------------- rebuilding, in a thread */

static void note_rebuilt(void *context, int result, const perhaps_error *error)
{
    struct watch *watch = context;
    (void)pthread_mutex_lock(&watch->lock);
    watch->ended = true;
    watch->result = result;
    watch->error = *error;
    (void)pthread_mutex_unlock(&watch->lock);
}

static void tell_rebuilt(struct watch *watch)
{
    (void)pthread_mutex_lock(&watch->lock);
    bool ended = watch->ended;
    int result = watch->result;
    perhaps_error error = watch->error;
    watch->ended = false;
    (void)pthread_mutex_unlock(&watch->lock);
    perhaps_guard_statistics now = statistics_of(watch);
    bool behind = now.state == PERHAPS_GUARD_CATCHING_UP;
    if (ended && result == 0 && !behind) {
        say(watch, "made from the store, for %" PRIu64 " keys", now.capacity);
        watch->behind = false;
    } else if (ended && result == 0 && !watch->behind) {
        say(watch, "made from the store, and behind it at once; it is made again, at longer intervals");
        watch->behind = true;
    } else if (ended && result < 0) {
        warn(watch->g->path, "not made from the store: %s", error.text);
    }
}

static void start_rebuild(struct watch *watch)
{
    perhaps_error error = {.size = sizeof error};
    int code = perhaps_guard_rebuild_start(watch->g->guard, 0, &error);
    if (code < 0 && code != PERHAPS_E_ARGUMENT) { // one is running already
        warn(watch->g->path, "not made from the store: %s", error.text);
    }
}

/* ---------------------------------------------------------------- what is due */

static void reload(struct watch *watch)
{
    struct guarding *g = watch->g;
    perhaps_load_options load = {.size = sizeof load, .key = key_given()};
    perhaps_error error = {.size = sizeof error};
    int code = watch->journaled ? perhaps_guard_resume(g->guard, &error)
                                : perhaps_guard_reload(g->guard, g->path, &load, &error);
    if (code == 0) {
        perhaps_guard_statistics now = statistics_of(watch);
        say(watch, "loaded, and brought up to date with the store");
        watch->saved_rebuilds = now.rebuilds;
    } else {
        say(watch, "not loaded: %s%s", error.text,
            statistics_of(watch).state == PERHAPS_GUARD_LOADING ? "; it is made from the store" : "");
    }
}

// Said when it begins, not each time.
static void tell_state(struct watch *watch, const perhaps_error *error)
{
    uint32_t state = statistics_of(watch).state;
    if (state == PERHAPS_GUARD_CATCHING_UP && watch->state != state) {
        say(watch, "behind the store, every key is asked for there: %s", error->text);
    } else if (state == PERHAPS_GUARD_READY && watch->state == PERHAPS_GUARD_CATCHING_UP) {
        say(watch, "up to date with the store again");
    }
    watch->state = state;
}

static void do_what_is_due(struct watch *watch)
{
    struct guarding *g = watch->g;
    perhaps_error error = {.size = sizeof error};
    tell_rebuilt(watch);
    bool rebuilding = statistics_of(watch).rebuilding != 0; // before the state, which is set before it ends
    if (statistics_of(watch).state != PERHAPS_GUARD_LOADING) {
        (void)perhaps_guard_catch_up(g->guard, &error); // when it cannot, it begins a rebuild, if it is time for one
        tell_state(watch, &error);
    } else if (!rebuilding) {
        start_rebuild(watch); // the last one failed
    }
    save_if_due(watch);
    perhaps_guard_statistics now = statistics_of(watch);
    (void)report_metrics(g->arguments, &now);
    watch->next_ms = now_ms() + watch->interval_ms;
}

static void take_signals(struct watch *watch)
{
    struct signalfd_siginfo info;
    while (read(watch->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGHUP) {
            reload(watch);
        } else if (!watch->stopped) {
            watch->stopped = true;
            watch->until_ms = now_ms() + OFFER_MS;
        }
    }
}

static int look_around(struct watch *watch)
{
    take_signals(watch);
    if (now_ms() >= watch->next_ms) {
        do_what_is_due(watch);
    }
    return watch->stopped ? STATUS_ERROR : STATUS_OK;
}

int watch_after_batch(struct watch *watch)
{
    return look_around(watch);
}

// Until there is something to read, or the end is asked for. Without a descriptor, until the latter.
static bool wait_for(void *context, int fd)
{
    struct watch *watch = context;
    while (look_around(watch) == STATUS_OK) {
        struct pollfd wanted[] = {{.fd = watch->signals, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
        int64_t left = watch->next_ms - now_ms();
        int ready = poll(wanted, 2, left > 0 ? (int)left : 0);
        if (ready > 0 && wanted[1].revents != 0) {
            return !watch->stopped;
        }
    }
    return false;
}

static bool is_writable(int fd)
{
    struct pollfd wanted = {.fd = fd, .events = POLLOUT};
    return poll(&wanted, 1, 0) > 0; // also when nobody will ever read it: then writing tells
}

// Until standard output takes something. A reader that does not read keeps neither the filter from following its store nor
// the process from its end.
static bool wait_to_write(void *context, int fd)
{
    struct watch *watch = context;
    while (!is_writable(fd)) {
        (void)look_around(watch);
        int64_t left = watch->next_ms - now_ms();
        int64_t offered = watch->stopped ? watch->until_ms - now_ms() : left;
        if (watch->stopped && offered <= 0) {
            return false;
        }
        struct pollfd wanted[] = {{.fd = watch->signals, .events = POLLIN}, {.fd = fd, .events = POLLOUT}};
        left = left < offered ? left : offered;
        (void)poll(wanted, 2, left > 0 ? (int)left : 0);
    }
    return true;
}

/* ---------------------------------------------------------------- beginning */

static int take_interval(struct watch *watch)
{
    const char *text = watch->g->arguments->values[OPTION_INTERVAL];
    watch->interval_ms = INTERVAL_MS;
    if (text == NULL) {
        return STATUS_OK;
    }
    char *end = NULL;
    double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds >= 0.01 && seconds <= 86400.0)) {
        return fail_usage("guard", "--interval: '%s' is not a number of seconds from 0.01 to 86400", text);
    }
    watch->interval_ms = (int64_t)(seconds * 1000.0);
    return STATUS_OK;
}

// Threads that are made later inherit the mask.
static int open_signals(struct watch *watch)
{
    sigset_t wanted;
    (void)sigemptyset(&wanted);
    (void)sigaddset(&wanted, SIGINT);
    (void)sigaddset(&wanted, SIGTERM);
    (void)sigaddset(&wanted, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, &wanted, NULL);
    watch->signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
    return watch->signals >= 0 ? STATUS_OK : fail_errno("signals", errno);
}

// One with a journal is opened for changing it, and no other process can do so meanwhile.
static int load_present(struct watch *watch, perhaps_filter **present, perhaps_error *error)
{
    int code = filter_load(watch->g->path, PERHAPS_OPEN_COPY | PERHAPS_OPEN_SHARED, present, error);
    perhaps_journal journal = {.size = sizeof journal};
    if (code < 0 || perhaps_journal_of(*present, &journal) < 0 || journal.file_id == 0) {
        return code;
    }
    perhaps_free(*present);
    *present = NULL;
    watch->journaled = true;
    return filter_load_journaled(watch->g->path, PERHAPS_OPEN_SHARED, present, error);
}

// What a rebuild makes: as the file is, or, where that cannot be read, by default; and what the command line says.
static int take_shape(struct watch *watch, perhaps_filter **present, perhaps_options *next)
{
    const struct arguments *arguments = watch->g->arguments;
    *next = (perhaps_options){.size = sizeof *next, .kind = PERHAPS_KIND_BLOOM, .fpr = DEFAULT_FPR, .key = key_given()};
    perhaps_error error = {.size = sizeof error};
    if (filter_refuse_name(watch->g->path) != STATUS_OK) {
        return STATUS_ERROR;
    }
    int code = load_present(watch, present, &error);
    // What is no filter, or cannot be read now, is not to be overwritten by a slip; nor a keyed filter by one without a key.
    bool missing = code == PERHAPS_E_IO && error.system_error == ENOENT;
    if (code < 0 && !missing && code != PERHAPS_E_DAMAGED) {
        return fail_library(watch->g->path, code, &error);
    }
    if (code == 0) {
        if (filter_needs_bytes(watch->g->path, *present) != STATUS_OK) {
            return STATUS_ERROR;
        }
        filter_options(*present, next);
    }
    uint32_t kind = next->kind;
    double before = next->fpr;
    if (option_rate(arguments, OPTION_FPR, &next->fpr) != STATUS_OK ||
        option_kind(arguments, OPTION_KIND, &next->kind) != STATUS_OK) {
        return STATUS_ERROR;
    }
    if (*present != NULL && next->kind != kind) {
        filter_options_of_kind(next);
    }
    filter_options_of_rate(arguments, watch->g->path, before, next);
    return STATUS_OK;
}

// The filter that the guard begins with is not asked before it is ready; its metadata goes to the next one.
static int make_guard(struct watch *watch)
{
    struct guarding *g = watch->g;
    perhaps_options next;
    perhaps_filter *present = NULL;
    perhaps_store_changes changes;
    perhaps_error error = {.size = sizeof error};
    if (take_shape(watch, &present, &next) != STATUS_OK ||
        store_changes(g->arguments, &g->store, &changes) != STATUS_OK) {
        perhaps_free(present);
        return STATUS_ERROR;
    }
    perhaps_options empty = next;
    empty.capacity = 1;
    empty.flags = PERHAPS_SHARED;
    int code = present == NULL ? perhaps_create(&empty, &present, &error) : 0;
    perhaps_guard_options options = {.size = sizeof options,
                                     .adopted = present,
                                     .store = &g->store.store,
                                     .changes = &changes,
                                     .next = &next,
                                     .flags = PERHAPS_GUARD_FOLLOWS | PERHAPS_GUARD_NOT_READY,
                                     .triggers = PERHAPS_GUARD_ON_DEGRADED | PERHAPS_GUARD_ON_ALARM |
                                                 PERHAPS_GUARD_ON_FILL | PERHAPS_GUARD_ON_RESIDUE,
                                     .context = watch,
                                     .rebuilt = note_rebuilt};
    code = code < 0 ? code : perhaps_guard_create(&options, &g->guard, &error);
    if (code < 0) {
        perhaps_free(present);
        return fail_library(g->path, code, &error);
    }
    return STATUS_OK;
}

int watch_begin(struct guarding *g)
{
    struct watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL) {
        return fail(g->path, "there is not enough memory");
    }
    g->watch = watch;
    watch->g = g;
    watch->signals = -1;
    (void)pthread_mutex_init(&watch->lock, NULL);
    if (take_interval(watch) != STATUS_OK || open_signals(watch) != STATUS_OK ||
        store_open(g->arguments, &g->store) != STATUS_OK || make_guard(watch) != STATUS_OK) {
        return STATUS_ERROR;
    }
    watch->saved_ms = now_ms();
    reload(watch);
    if (statistics_of(watch).state == PERHAPS_GUARD_LOADING) {
        start_rebuild(watch);
    }
    input_set_wait(wait_for, watch);
    output_set_wait(wait_to_write, watch);
    return STATUS_OK;
}

/* ---------------------------------------------------------------- the end */

// A filter that is being made is worth waiting for, unless somebody wants the end.
static bool is_made(struct watch *watch)
{
    while (!watch->stopped && statistics_of(watch).rebuilding != 0) {
        struct pollfd wanted = {.fd = watch->signals, .events = POLLIN};
        (void)poll(&wanted, 1, LOCK_PAUSE_MS);
        take_signals(watch);
    }
    tell_rebuilt(watch);
    return statistics_of(watch).state == PERHAPS_GUARD_READY;
}

int watch_end(struct watch *watch, int status, bool *signalled)
{
    status = watch->stopped ? STATUS_OK : status;
    if (status == STATUS_OK && given(watch->g->arguments, OPTION_STAY)) {
        (void)wait_for(watch, -1);
    }
    input_set_wait(NULL, NULL);
    bool made = is_made(watch);
    *signalled = watch->stopped;
    perhaps_guard_statistics now = statistics_of(watch);
    if (!made && !watch->journaled) {
        say(watch, "not saved: it is not ready");
    } else if (made && has_news(watch, &now)) {
        watch->cannot_save = false;
        status = save(watch, LOCK_TRIES) == STATUS_OK ? status : STATUS_ERROR;
    }
    return status;
}

void watch_free(struct watch *watch)
{
    if (watch != NULL) {
        output_set_wait(NULL, NULL);
        if (watch->signals >= 0) {
            (void)close(watch->signals);
        }
        (void)pthread_mutex_destroy(&watch->lock);
        free(watch);
    }
}
