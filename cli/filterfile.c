// SPDX-License-Identifier: MIT
#include "filterfile.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "keyfile.h"
#include "lock.h"
#include "messages.h"
#include "options.h"

int filter_refuse_dash(const char *path)
{
    if (strcmp(path, "-") != 0) {
        return STATUS_OK;
    }
    return fail("-", "a filter is a file and cannot be standard input or output; ./- names a file called '-'");
}

int filter_load(const char *path, uint32_t flags, perhaps_filter **filter, perhaps_error *error)
{
    perhaps_load_options options = {.size = sizeof options, .flags = flags, .key = key_given()};
    return perhaps_open(path, &options, filter, error);
}

static int open_with(const char *path, uint32_t flags, perhaps_filter **filter)
{
    if (filter_refuse_dash(path) != STATUS_OK) {
        return STATUS_ERROR;
    }
    perhaps_error error = {.size = sizeof error};
    int code = filter_load(path, flags, filter, &error);
    if (code == PERHAPS_E_KEY && key_given() == NULL) {
        return fail(path,
                    "has a secret key, without which it cannot be asked; --key-file names the file that holds it");
    }
    return code < 0 ? fail_library(path, code, &error) : STATUS_OK;
}

int filter_open(const char *path, perhaps_filter **filter)
{
    return open_with(path, 0, filter);
}

int filter_open_keyless(const char *path, perhaps_filter **filter)
{
    return open_with(path, PERHAPS_OPEN_KEYLESS, filter);
}

bool filter_lacks_key(const perhaps_filter *filter)
{
    perhaps_statistics statistics;
    filter_statistics(filter, &statistics);
    return statistics.hash_source == PERHAPS_HASH_SIPHASH && key_given() == NULL;
}

int filter_open_copy(const char *path, perhaps_filter **filter)
{
    return open_with(path, PERHAPS_OPEN_COPY, filter);
}

int filter_needs_bytes(const char *path, const perhaps_filter *filter)
{
    perhaps_statistics statistics;
    filter_statistics(filter, &statistics);
    if (statistics.hash_source != PERHAPS_HASH_CALLER) {
        return STATUS_OK;
    }
    return fail(path, "its keys are hashes that a program supplied; it cannot be asked for the bytes of a key");
}

int filter_save(const char *path, const perhaps_filter *filter)
{
    sigset_t deadly;
    sigset_t before;
    (void)sigemptyset(&deadly);
    (void)sigaddset(&deadly, SIGINT);
    (void)sigaddset(&deadly, SIGTERM);
    (void)sigaddset(&deadly, SIGHUP);
    (void)sigaddset(&deadly, SIGQUIT);
    (void)sigprocmask(SIG_BLOCK, &deadly, &before);
    perhaps_error error = {.size = sizeof error};
    int code = perhaps_save(filter, path, &error);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return code < 0 ? fail_library(path, code, &error) : STATUS_OK;
}

// Before the lock, so that no lock is made beside a file that is not there.
static int refuse_missing(const char *path)
{
    struct stat status;
    if (filter_refuse_dash(path) != STATUS_OK) {
        return STATUS_ERROR;
    }
    if (stat(path, &status) < 0) {
        return fail_errno(path, errno);
    }
    return S_ISREG(status.st_mode) ? STATUS_OK : fail(path, "is not a regular file, and so no filter");
}

int filter_open_locked(const struct arguments *arguments, perhaps_filter **filter)
{
    const char *path = arguments->operands[0];
    if (refuse_missing(path) != STATUS_OK || lock_filter(path, given(arguments, OPTION_NO_WAIT)) != STATUS_OK ||
        filter_open_copy(path, filter) != STATUS_OK) {
        return STATUS_ERROR;
    }
    return filter_needs_bytes(path, *filter);
}

static int may_replace(const struct arguments *arguments, const char *path)
{
    if (filter_refuse_dash(path) != STATUS_OK) {
        return STATUS_ERROR;
    }
    struct stat status;
    if (stat(path, &status) < 0) {
        return errno == ENOENT ? STATUS_OK : fail_errno(path, errno);
    }
    if (!S_ISREG(status.st_mode)) {
        return fail(path, "is not a regular file, and is not replaced by a filter");
    }
    return given(arguments, OPTION_FORCE) ? STATUS_OK : fail(path, "exists; -f overwrites it");
}

int filter_lock_new(const struct arguments *arguments, const char *path)
{
    if (may_replace(arguments, path) != STATUS_OK || lock_filter(path, given(arguments, OPTION_NO_WAIT)) != STATUS_OK) {
        return STATUS_ERROR;
    }
    return may_replace(arguments, path); // again: while we waited, it may have been made
}

bool filter_counts(const perhaps_filter *filter)
{
    perhaps_statistics statistics;
    filter_statistics(filter, &statistics);
    return statistics.policy == PERHAPS_POLICY_MULTISET || statistics.policy == PERHAPS_POLICY_CONSERVATIVE;
}

// Removing no key at all tells it.
bool filter_removes(perhaps_filter *filter)
{
    return perhaps_remove_many_hash(filter, NULL, 0, NULL, NULL) != PERHAPS_E_UNSUPPORTED;
}

const char *filter_kind_shown(const perhaps_filter *filter)
{
    static char shown[64];
    perhaps_statistics statistics;
    filter_statistics(filter, &statistics);
    const char *policy = perhaps_policy_name(statistics.policy);
    (void)snprintf(shown, sizeof shown, "kind %s%s%s", perhaps_kind_name(statistics.kind),
                   policy != NULL ? " with policy " : "", policy != NULL ? policy : "");
    return shown;
}

void filter_statistics(const perhaps_filter *filter, perhaps_statistics *statistics)
{
    *statistics = (perhaps_statistics){.size = sizeof *statistics};
    (void)perhaps_stats(filter, statistics); // a filter and a structure of this release: nothing can fail
}

void filter_options(const perhaps_filter *filter, perhaps_options *options)
{
    perhaps_statistics s;
    filter_statistics(filter, &s);
    bool counting = s.kind == PERHAPS_KIND_COUNTING;
    bool cuckoo = s.kind == PERHAPS_KIND_CUCKOO;
    *options = (perhaps_options){.size = sizeof *options,
                                 .kind = s.kind,
                                 .fpr = s.fpr_target,
                                 .seed = s.seed,
                                 .policy = counting || cuckoo ? s.policy : PERHAPS_POLICY_DEFAULT,
                                 .counter_bits = counting ? s.counter_bits : 0,
                                 .slots = cuckoo ? s.slots : 0,
                                 .at_capacity = s.at_capacity,
                                 .growth = s.growth,
                                 .key = key_given()};
}

void filter_options_of_kind(perhaps_options *options)
{
    options->policy = PERHAPS_POLICY_DEFAULT;
    options->counter_bits = 0;
    options->slots = 0;
}

void filter_warn_if_overfull(const char *path, const perhaps_filter *filter)
{
    perhaps_statistics statistics;
    filter_statistics(filter, &statistics);
    if (statistics.fpr_now > 2.0 * statistics.fpr_target) {
        warn(path, "the false-positive rate is now %.3g, more than twice the %.3g asked for; make a larger filter",
             statistics.fpr_now, statistics.fpr_target);
    }
}
