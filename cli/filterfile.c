// SPDX-License-Identifier: MIT
#include "filterfile.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "keyfile.h"
#include "lock.h"
#include "messages.h"
#include "options.h"

int filter_refuse_name(const char *path)
{
    if (path[0] == '\0') {
        return fail("''", "a filter is a file, and the name of a file cannot be empty");
    }
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

static int fail_open(const char *path, int code, const perhaps_error *error)
{
    if (code == PERHAPS_E_KEY && key_given() == NULL) {
        return fail(path,
                    "has a secret key, without which it cannot be asked; --key-file names the file that holds it");
    }
    return fail_library(path, code, error);
}

static int open_with(const char *path, uint32_t flags, perhaps_filter **filter)
{
    if (filter_refuse_name(path) != STATUS_OK) {
        return STATUS_ERROR;
    }
    perhaps_error error = {.size = sizeof error};
    int code = filter_load(path, flags, filter, &error);
    return code < 0 ? fail_open(path, code, &error) : STATUS_OK;
}

int filter_open(const char *path, perhaps_filter **filter)
{
    return open_with(path, 0, filter);
}

static uint32_t flags_asked(const struct arguments *arguments)
{
    return given(arguments, OPTION_FIRST_TOUCH) ? PERHAPS_OPEN_FIRST_TOUCH : 0;
}

int filter_open_asked(const struct arguments *arguments, const char *path, perhaps_filter **filter)
{
    return open_with(path, flags_asked(arguments), filter);
}

int filter_open_keyless(const struct arguments *arguments, const char *path, perhaps_filter **filter)
{
    return open_with(path, PERHAPS_OPEN_KEYLESS | flags_asked(arguments), filter);
}

void filter_warn_if_damaged(const char *path, const perhaps_filter *filter)
{
    perhaps_statistics s;
    filter_statistics(filter, &s);
    if (s.chunks_damaged > 0) {
        warn(path,
             "%" PRIu64 " of %" PRIu64 " chunks read are damaged; because of that %" PRIu64
             " key%s may wrongly be \"perhaps\" there; 'perhaps verify' names them",
             s.chunks_damaged, s.chunks_damaged + s.chunks_verified, s.damaged_answers, plural(s.damaged_answers));
    }
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
    return filter_fail_hashes(path);
}

int filter_fail_hashes(const char *path)
{
    return fail(path, "its keys are hashes that a program supplied; it cannot be asked for the bytes of a key");
}

// Signals that would end the process wait, since temporary files would otherwise stay behind.
static void hold_signals(sigset_t *before)
{
    sigset_t deadly;
    (void)sigemptyset(&deadly);
    (void)sigaddset(&deadly, SIGINT);
    (void)sigaddset(&deadly, SIGTERM);
    (void)sigaddset(&deadly, SIGHUP);
    (void)sigaddset(&deadly, SIGQUIT);
    (void)sigprocmask(SIG_BLOCK, &deadly, before);
}

int filter_save(const char *path, const perhaps_filter *filter)
{
    sigset_t before;
    perhaps_error error = {.size = sizeof error};
    hold_signals(&before);
    int code = perhaps_save(filter, path, &error);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return code < 0 ? fail_library(path, code, &error) : STATUS_OK;
}

int filter_begin_journal(const char *path, perhaps_filter *filter)
{
    sigset_t before;
    perhaps_error error = {.size = sizeof error};
    hold_signals(&before);
    int code = perhaps_begin_journal(filter, path, NULL, &error);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return code < 0 ? fail_library(path, code, &error) : STATUS_OK;
}

static perhaps_journal journal_of(const perhaps_filter *filter)
{
    perhaps_journal journal = {.size = sizeof journal};
    (void)perhaps_journal_of(filter, &journal); // a filter and a structure of this release: nothing can fail
    return journal;
}

bool filter_is_durable(const perhaps_filter *filter)
{
    return journal_of(filter).limit != 0;
}

int filter_refuse_journal(const char *path, const perhaps_filter *filter)
{
    return journal_of(filter).file_id == 0
               ? STATUS_OK
               : fail(path, "has a journal, which knows of keys alone; make it anew with 'perhaps rebuild'");
}

int filter_hand_over(const char *path, perhaps_filter *from, perhaps_filter *to)
{
    sigset_t before;
    perhaps_error error = {.size = sizeof error};
    hold_signals(&before);
    int code = perhaps_hand_over_journal(from, to, &error);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return code < 0 ? fail_library(path, code, &error) : STATUS_OK;
}

int filter_keep(const char *path, const perhaps_filter *filter)
{
    return filter_is_durable(filter) ? STATUS_OK : filter_save(path, filter);
}

static int fail_journal(const char *path, int reason)
{
    return fail(path, "its journal cannot be written: %s; what was read before is in it", strerror(reason));
}

int filter_fail_change(const char *path, const perhaps_filter *filter, int code)
{
    return code == PERHAPS_E_IO ? fail_journal(path, journal_of(filter).system_error)
                                : fail(path, "%s", perhaps_message(code));
}

// How to open a filter with a journal.
struct opening {
    perhaps_load_options load;
    perhaps_journal_options options;
};

static const perhaps_journal_options *take_opening(struct opening *opening, uint32_t flags)
{
    opening->load = (perhaps_load_options){.size = sizeof opening->load, .flags = flags, .key = key_given()};
    opening->options = (perhaps_journal_options){.size = sizeof opening->options, .load = &opening->load};
    return &opening->options;
}

int filter_load_journaled(const char *path, uint32_t flags, perhaps_filter **filter, perhaps_error *error)
{
    struct opening opening;
    return perhaps_open_durable(path, take_opening(&opening, flags), filter, error);
}

static int open_journaled(const char *path, uint32_t flags, perhaps_filter **filter)
{
    perhaps_error error = {.size = sizeof error};
    int code = filter_load_journaled(path, flags, filter, &error);
    bool plain = code == PERHAPS_E_UNSUPPORTED; // it has no journal
    return code < 0 && !plain ? fail_open(path, code, &error) : STATUS_OK;
}

int filter_open_journaled(const char *path, perhaps_filter **filter)
{
    return open_journaled(path, PERHAPS_OPEN_SHARED, filter);
}

static int open_changeable(const char *path, perhaps_filter **filter)
{
    int status = open_journaled(path, 0, filter);
    return status == STATUS_OK && *filter == NULL ? filter_open_copy(path, filter) : status;
}

int filter_open_appender(const char *path, perhaps_appender **appender)
{
    struct opening opening;
    perhaps_error error = {.size = sizeof error};
    int code = perhaps_appender_open(path, take_opening(&opening, 0), appender, &error);
    return code < 0 && code != PERHAPS_E_UNSUPPORTED ? fail_open(path, code, &error) : STATUS_OK;
}

int filter_fail_append(const char *path, const perhaps_appender *appender, int code)
{
    perhaps_journal journal = {.size = sizeof journal};
    (void)perhaps_appender_journal(appender, &journal);
    if (code == PERHAPS_E_UNSUPPORTED) {
        return filter_fail_hashes(path);
    }
    return code == PERHAPS_E_IO ? fail_journal(path, journal.system_error) : fail(path, "%s", perhaps_message(code));
}

int filter_fold(const char *path)
{
    struct opening opening;
    sigset_t before;
    perhaps_filter *filter = NULL;
    perhaps_error error = {.size = sizeof error};
    hold_signals(&before);
    int code = perhaps_open_durable(path, take_opening(&opening, 0), &filter, &error);
    code = code < 0 ? code : perhaps_fold_journal(filter, &error);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    perhaps_free(filter);
    return code < 0 ? fail_open(path, code, &error) : STATUS_OK;
}

// Before the lock, so that no lock is made beside a file that is not there.
static int refuse_missing(const char *path)
{
    struct stat status;
    if (filter_refuse_name(path) != STATUS_OK) {
        return STATUS_ERROR;
    }
    if (stat(path, &status) < 0) {
        return fail_errno(path, errno);
    }
    return S_ISREG(status.st_mode) ? STATUS_OK : fail(path, "is not a regular file, and so no filter");
}

int filter_lock(const struct arguments *arguments)
{
    const char *path = arguments->operands[0];
    return refuse_missing(path) != STATUS_OK ? STATUS_ERROR : lock_filter(path, given(arguments, OPTION_NO_WAIT));
}

int filter_open_to_change(const struct arguments *arguments, perhaps_filter **filter)
{
    const char *path = arguments->operands[0];
    return open_changeable(path, filter) != STATUS_OK ? STATUS_ERROR : filter_needs_bytes(path, *filter);
}

int filter_open_locked(const struct arguments *arguments, perhaps_filter **filter)
{
    return filter_lock(arguments) != STATUS_OK ? STATUS_ERROR : filter_open_to_change(arguments, filter);
}

static int may_replace(const struct arguments *arguments, const char *path)
{
    if (filter_refuse_name(path) != STATUS_OK) {
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
    *options = (perhaps_options){.size = sizeof *options};
    (void)perhaps_options_of(filter, options); // a filter and a structure of this release: nothing can fail
    options->capacity = 0;
    options->key = key_given();
    options->hash_source = PERHAPS_HASH_DEFAULT; // follows from the key
}

void filter_options_of_kind(perhaps_options *options)
{
    options->policy = PERHAPS_POLICY_DEFAULT;
    options->counter_bits = 0;
    options->slots = 0;
    options->fingerprint_bits = 0;
    options->search = 0;
}

void filter_options_of_rate(const struct arguments *arguments, const char *path, double before,
                            perhaps_options *options)
{
    if (options->fingerprint_bits == 0 || options->fpr >= before) {
        return; // those that were enough still are
    }
    if (!given(arguments, OPTION_QUIET)) {
        tell(path, "fingerprints are as long as p = %.3g needs, not of the %" PRIu32 " bits that were asked for",
             options->fpr, options->fingerprint_bits);
    }
    options->fingerprint_bits = 0;
}

void filter_warn_if_overfull(const char *path, const perhaps_filter *filter)
{
    perhaps_statistics statistics;
    filter_statistics(filter, &statistics);
    filter_warn_if_above(path, statistics.fpr_now, statistics.fpr_target);
}

void filter_warn_if_above(const char *path, double fpr_now, double fpr_target)
{
    if (fpr_now > 2.0 * fpr_target) {
        warn(path, "the false-positive rate is now %.3g, more than twice the %.3g asked for; make a larger filter",
             fpr_now, fpr_target);
    }
}
