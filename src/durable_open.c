// SPDX-License-Identifier: MIT
// The public calls for filters with a journal.
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "durable.h"
#include "file.h"
#include "file_save.h"
#include "format.h"
#include "journal_file.h"
#include "shared.h"

static int fail_code(perhaps_error *error, int code, const char *subject)
{
    return perhaps__fail(error, (struct perhaps__failure){.code = code, .subject = subject}, NULL);
}

/* ---------------------------------------------------------------- options */

static int take_options(const perhaps_journal_options *given, perhaps_journal_options *options, perhaps_error *error)
{
    *options = (perhaps_journal_options){.size = sizeof *options};
    if (given != NULL && !perhaps__take_options(options, sizeof *options, given)) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_OPTION, .subject = "options"},
                             "size is not set, or a field is used that this release does not know");
    }
    return PERHAPS_OK;
}

static int take_loading(const perhaps_journal_options *options, struct perhaps__loading *loading, perhaps_error *error)
{
    const uint32_t allowed = PERHAPS_OPEN_COPY | PERHAPS_OPEN_SHARED | PERHAPS_OPEN_CLAIM;
    int status = perhaps__take_load_options(options->load, loading, error);
    if (status < 0) {
        return status;
    }
    if ((loading->flags & ~allowed) != 0) {
        return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_OPTION, .subject = "flags"},
                             "a filter that is opened for changing it is copied, and may be shared; nothing else");
    }
    loading->flags |= PERHAPS_OPEN_COPY;
    loading->journaled = true;
    return PERHAPS_OK;
}

static uint64_t limit_for(const perhaps_filter *filter)
{
    const uint64_t mebibyte = UINT64_C(1) << 20;
    uint64_t eighth = 0; // payloads may not have been loaded
    for (uint32_t i = 0; i < filter->layer_count; i++) {
        eighth += filter->layers[i]->bits / 64;
    }
    return perhaps__min(eighth > mebibyte ? eighth : mebibyte, 16 * mebibyte);
}

static void attach(struct perhaps__durable *durable, perhaps_filter *filter)
{
    durable->limit = durable->asked != 0 ? durable->asked : limit_for(filter);
    durable->fold_at = durable->limit;
    perhaps__durable_attach(durable, filter);
    perhaps__forget_origin(filter);
}

/* ---------------------------------------------------------------- opening */

static bool is_still_there(int file, const char *path)
{
    struct stat opened;
    struct stat named;
    return fstat(file, &opened) == 0 && stat(path, &named) == 0 && opened.st_dev == named.st_dev &&
           opened.st_ino == named.st_ino;
}

static int fail_locked(const struct perhaps__durable *durable, perhaps_error *error)
{
    if (errno != EWOULDBLOCK) {
        return perhaps__fail_io(error, durable->journal, "locked");
    }
    const struct perhaps__failure failure = {
        .code = PERHAPS_E_IO, .system_error = EWOULDBLOCK, .subject = durable->journal};
    return perhaps__fail(error, failure,
                         "is locked: the filter is open for changing it elsewhere; wait until that is done");
}

// Opens the journal for writing, if it is there, and locks it. Who folded meanwhile put another one into its place.
static int lock_journal(struct perhaps__durable *durable, perhaps_error *error)
{
    for (;;) {
        int flags = O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
        int file = perhaps__files->open(durable->journal, flags, 0);
        if (file < 0) {
            return errno == ENOENT ? PERHAPS_OK : perhaps__fail_io(error, durable->journal, "opened for writing");
        }
        if (perhaps__files->lock(file, LOCK_EX | LOCK_NB) != 0) {
            int status = fail_locked(durable, error);
            perhaps__close_quietly(file);
            return status;
        }
        if (is_still_there(file, durable->journal)) {
            durable->file = file;
            return PERHAPS_OK;
        }
        perhaps__close_quietly(file);
    }
}

// What is behind the last whole record was not acknowledged, and must not stand before the next.
static int cut_tail(struct perhaps__durable *durable, const struct perhaps__journal *journal, perhaps_error *error)
{
    if (journal->end == journal->size) {
        return PERHAPS_OK;
    }
    if (perhaps__files->truncate(durable->file, (off_t)journal->end) != 0 ||
        perhaps__files->flush_data(durable->file) != 0) {
        return perhaps__fail_io(error, durable->journal, "cut to its whole records");
    }
    return PERHAPS_OK;
}

static int take_journal(struct perhaps__durable *durable, perhaps_filter *filter, perhaps_error *error)
{
    struct perhaps__journal_copy copy;
    int status = perhaps__journal_load(durable->file, durable->journal, filter, &copy, error);
    if (status < 0) {
        return status;
    }
    const struct perhaps__journal *journal = &copy.journal;
    if (!durable->hollow) {
        status = perhaps__journal_replay(journal, filter, error);
    }
    durable->identity = filter->identity;
    durable->seed = journal->head.checksum;
    durable->end = journal->end;
    durable->sequence = journal->stale ? filter->identity.folded : journal->sequence;
    durable->state = journal->stale ? PERHAPS_JOURNAL_REPLACE : PERHAPS_JOURNAL_SOUND;
    if (status == PERHAPS_OK && !journal->stale) {
        status = cut_tail(durable, journal, error);
    }
    perhaps__journal_unload(&copy);
    return status < 0 ? status : perhaps__durable_mend(durable, error);
}

static int fail_plain(perhaps_error *error, const char *path)
{
    return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_UNSUPPORTED, .subject = path},
                         "has no journal; perhaps_begin_journal() gives it one");
}

// What never refuses a key may be added to without looking.
static int refuse_refusing(const perhaps_filter *filter, const char *path, perhaps_error *error)
{
    if (filter->kind != PERHAPS_KIND_CUCKOO && filter->at_capacity == PERHAPS_AT_CAPACITY_GO_ON) {
        return PERHAPS_OK;
    }
    return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_UNSUPPORTED, .subject = path},
                         "may refuse keys, and has to be looked at to add some; open it with perhaps_open_durable()");
}

static int open_filter(struct perhaps__durable *durable, const char *path, const struct perhaps__loading *loading,
                       perhaps_filter **opened, perhaps_error *error)
{
    int status = lock_journal(durable, error);
    status = status < 0 ? status : perhaps__open_once(path, loading, opened, error);
    if (status == PERHAPS_OK && (*opened)->identity.id == 0) {
        status = fail_plain(error, path);
    }
    if (status == PERHAPS_OK && durable->hollow) {
        status = refuse_refusing(*opened, path, error);
    }
    if (status == PERHAPS_OK && durable->file < 0) {
        status = perhaps__journal_fail_missing(error, durable->journal);
    }
    return status < 0 ? status : take_journal(durable, *opened, error);
}

// A plain file may have a journal of nobody's beside it that somebody holds; that is no reason to fail otherwise.
static int open_with_journal(const char *path, const perhaps_journal_options *given, bool hollow,
                             perhaps_filter **filter, perhaps_error *error)
{
    perhaps_journal_options options;
    struct perhaps__loading loading;
    int status = take_options(given, &options, error);
    status = status < 0 ? status : take_loading(&options, &loading, error);
    if (status < 0) {
        return status;
    }
    struct perhaps__durable *durable = perhaps__durable_new(&loading.allocator, path);
    if (durable == NULL) {
        return errno == ENOMEM ? fail_code(error, PERHAPS_E_MEMORY, path) : perhaps__fail_io(error, path, "opened");
    }
    loading.header_only = durable->hollow = hollow;
    loading.flags = hollow ? PERHAPS_OPEN_COPY : loading.flags; // a shared one would have locks for nothing
    perhaps_filter *opened = NULL;
    status = open_filter(durable, path, &loading, &opened, error);
    if (status < 0) {
        perhaps__durable_release(durable);
        perhaps_free(opened);
        return status;
    }
    durable->asked = options.journal_bytes;
    attach(durable, opened);
    *filter = opened;
    return PERHAPS_OK;
}

int perhaps_open_durable(const char *path, const perhaps_journal_options *options, perhaps_filter **filter,
                         perhaps_error *error)
{
    if (path == NULL || filter == NULL) {
        return fail_code(error, PERHAPS_E_ARGUMENT, NULL);
    }
    return open_with_journal(path, options, false, filter, error);
}

/* ---------------------------------------------------------------- beginning */

// Whether a file's header says that it requires a journal; false with errno set when that cannot be found out.
static bool examine(const char *target, bool *journaled)
{
    uint8_t bytes[PERHAPS_FIXED_SIZE];
    struct perhaps__fixed_fields fixed;
    struct stat status;
    *journaled = false;
    if (stat(target, &status) != 0) {
        return errno == ENOENT;
    }
    if (!S_ISREG(status.st_mode)) {
        return true; // and is refused as such
    }
    int file = open(target, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return false;
    }
    ssize_t got = pread(file, bytes, sizeof bytes, 0);
    int reason = errno;
    (void)close(file);
    errno = reason;
    if (got == (ssize_t)sizeof bytes) {
        perhaps__fixed_load(&fixed, bytes);
        *journaled = fixed.magic == PERHAPS_MAGIC && (fixed.flags & PERHAPS_FLAG_JOURNAL) != 0;
    }
    return got >= 0;
}

static int refuse_journaled(const char *path, const char *target, perhaps_error *error)
{
    bool journaled;
    if (!examine(target, &journaled)) {
        return perhaps__fail_io(error, path, "examined");
    }
    if (!journaled) {
        return PERHAPS_OK;
    }
    return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_JOURNAL, .subject = path},
                         "has a journal, whose keys would be lost if another filter took its place; give another path");
}

static bool draw_identity(struct perhaps__identity *identity)
{
    *identity = (struct perhaps__identity){.generation = 1};
    while (identity->id == 0) {
        if (perhaps__files->draw(&identity->id, sizeof identity->id) != 0) {
            return false;
        }
    }
    return true;
}

// The checksum of the header that the file will have.
static int foresee_checksum(const perhaps_filter *filter, struct perhaps__identity *identity, perhaps_error *error)
{
    uint64_t size = perhaps__header_size(filter);
    uint8_t *header = perhaps__allocate(&filter->allocator, size);
    if (header == NULL) {
        return fail_code(error, PERHAPS_E_MEMORY, NULL);
    }
    perhaps__encode_header(filter, identity, header);
    perhaps__release(&filter->allocator, header, size);
    return PERHAPS_OK;
}

// The journal first: a file that requires one is never without. A failure leaves the file that was there.
static int begin(struct perhaps__durable *durable, perhaps_filter *filter, perhaps_error *error)
{
    if (!draw_identity(&durable->identity)) {
        return perhaps__fail_io(error, durable->target, "given a random id");
    }
    int status = foresee_checksum(filter, &durable->identity, error);
    status = status < 0 ? status : perhaps__durable_new_journal(durable, error);
    bool replaced = false;
    status = status < 0 ? status : perhaps__save(filter, durable->target, &durable->identity, &replaced, error);
    if (status < 0 && !replaced && durable->file >= 0) {
        (void)perhaps__files->remove(durable->journal);
    }
    return status;
}

int perhaps_begin_journal(perhaps_filter *filter, const char *path, const perhaps_journal_options *given,
                          perhaps_error *error)
{
    if (filter == NULL || path == NULL || filter->log != NULL) {
        return fail_code(error, PERHAPS_E_ARGUMENT, NULL);
    }
    perhaps_journal_options options;
    int status = take_options(given, &options, error);
    if (status < 0) {
        return status;
    }
    status = perhaps__filter_may_change(filter);
    if (status < 0) {
        return fail_code(error, status, path);
    }
    struct perhaps__durable *durable = perhaps__durable_new(&filter->allocator, path);
    if (durable == NULL) {
        return errno == ENOMEM ? fail_code(error, PERHAPS_E_MEMORY, path) : perhaps__fail_io(error, path, "written");
    }
    durable->asked = options.journal_bytes;
    status = refuse_journaled(path, durable->target, error);
    status = status < 0 ? status : begin(durable, filter, error);
    if (status < 0) {
        perhaps__durable_release(durable);
        return status;
    }
    durable->sequence = 0;
    attach(durable, filter);
    return PERHAPS_OK;
}

/* ---------------------------------------------------------------- folding */

static struct perhaps__durable *durable_of(const perhaps_filter *filter)
{
    return (struct perhaps__durable *)(void *)filter->log; // it is the only log there is
}

static int fold(const perhaps_filter *filter, perhaps_error *error)
{
    struct perhaps__durable *durable = durable_of(filter);
    perhaps__durable_enter(durable);
    int status = perhaps__durable_fold(durable, error);
    perhaps__durable_leave(durable);
    return status;
}

static int fail_not_open(perhaps_error *error)
{
    return perhaps__fail(error, (struct perhaps__failure){.code = PERHAPS_E_UNSUPPORTED},
                         "the filter is not open with a journal");
}

int perhaps_fold_journal(perhaps_filter *filter, perhaps_error *error)
{
    if (filter == NULL) {
        return fail_code(error, PERHAPS_E_ARGUMENT, NULL);
    }
    return filter->log == NULL ? fail_not_open(error) : fold(filter, error);
}

/* ---------------------------------------------------------------- handing over */

static int check_hand_over(const perhaps_filter *from, const perhaps_filter *to, perhaps_error *error)
{
    if (from == NULL || to == NULL || to->log != NULL) {
        return fail_code(error, PERHAPS_E_ARGUMENT, NULL);
    }
    if (from->log == NULL) {
        return fail_not_open(error);
    }
    int status = perhaps__filter_may_change(to);
    return status < 0 ? fail_code(error, status, durable_of(from)->target) : PERHAPS_OK;
}

// When the file is that of the new filter there is no way back, and what has failed behind that is mended before the
// next change.
static int hand_over(struct perhaps__durable *durable, perhaps_filter *to, perhaps_error *error)
{
    perhaps_error own = {.size = sizeof own};
    bool replaced;
    int status = perhaps__durable_put(durable, to, &replaced, &own);
    if (!replaced) {
        const struct perhaps__failure failure = {
            .code = status, .system_error = own.system_error, .subject = durable->target};
        return perhaps__fail(error, failure, "%s", own.text);
    }
    perhaps__durable_detach(durable);
    attach(durable, to);
    return PERHAPS_OK;
}

int perhaps_hand_over_journal(perhaps_filter *from, perhaps_filter *to, perhaps_error *error)
{
    int status = check_hand_over(from, to, error);
    if (status < 0) {
        return status;
    }
    struct perhaps__durable *durable = durable_of(from);
    perhaps__durable_enter(durable);
    status = hand_over(durable, to, error);
    perhaps__durable_leave(durable);
    return status;
}

/* ---------------------------------------------------------------- saving */

int perhaps_save(const perhaps_filter *filter, const char *path, perhaps_error *error)
{
    if (filter == NULL || path == NULL) {
        return fail_code(error, PERHAPS_E_ARGUMENT, NULL);
    }
    int status = perhaps__may_be_written(filter, path, error);
    if (status < 0) {
        return status;
    }
    char target[PATH_MAX];
    if (!perhaps__resolve_target(path, target)) {
        return perhaps__fail_io(error, path, "written");
    }
    if (filter->log != NULL && strcmp(target, durable_of(filter)->target) == 0) {
        return fold(filter, error);
    }
    bool replaced;
    status = refuse_journaled(path, target, error);
    return status < 0 ? status : perhaps__save(filter, path, NULL, &replaced, error);
}

/* ---------------------------------------------------------------- what is known */

static perhaps_journal describe(const struct perhaps__durable *durable)
{
    return (perhaps_journal){
        .file_id = durable->identity.id,
        .generation = durable->identity.generation,
        .folded = durable->identity.folded,
        .operations = durable->sequence - durable->identity.folded,
        .bytes = durable->end,
        .limit = durable->limit,
        .commits = durable->commits,
        .folds = durable->folds,
        .failed_folds = durable->failed_folds,
        .system_error = durable->system_error,
    };
}

int perhaps_journal_of(const perhaps_filter *filter, perhaps_journal *journal)
{
    if (filter == NULL || journal == NULL) {
        return PERHAPS_E_ARGUMENT;
    }
    perhaps_journal known = {0};
    if (filter->log != NULL) {
        struct perhaps__durable *durable = durable_of(filter);
        perhaps__durable_enter(durable);
        known = describe(durable);
        perhaps__durable_leave(durable);
    } else if (filter->identity.id != 0) {
        known.file_id = filter->identity.id;
        known.generation = filter->identity.generation;
        known.folded = filter->identity.folded;
        known.operations = filter->journal_operations;
        known.bytes = filter->journal_bytes;
    }
    return perhaps__give_result(journal, &known, sizeof known) ? PERHAPS_OK : PERHAPS_E_OPTION;
}

/* ---------------------------------------------------------------- appenders */

// A filter of which only the header was loaded.
struct perhaps_appender {
    perhaps_filter *filter;
};

int perhaps_appender_open(const char *path, const perhaps_journal_options *options, perhaps_appender **appender,
                          perhaps_error *error)
{
    if (path == NULL || appender == NULL) {
        return fail_code(error, PERHAPS_E_ARGUMENT, NULL);
    }
    perhaps_filter *filter = NULL;
    int status = open_with_journal(path, options, true, &filter, error);
    if (status < 0) {
        return status;
    }
    perhaps_appender *opened = perhaps__allocate(&filter->allocator, sizeof *opened);
    if (opened == NULL) {
        perhaps_free(filter);
        return fail_code(error, PERHAPS_E_MEMORY, path);
    }
    opened->filter = filter;
    *appender = opened;
    return PERHAPS_OK;
}

int perhaps_appender_add_many_pointers(perhaps_appender *appender, const void *const *keys, const size_t *lengths,
                                       size_t count, size_t *done)
{
    perhaps_filter *filter = appender != NULL ? appender->filter : NULL;
    return perhaps_add_many_pointers(filter, keys, lengths, count, NULL, done);
}

int perhaps_appender_add_many_hash(perhaps_appender *appender, const uint64_t *hashes, size_t count, size_t *done)
{
    return perhaps_add_many_hash(appender != NULL ? appender->filter : NULL, hashes, count, NULL, done);
}

int perhaps_appender_journal(const perhaps_appender *appender, perhaps_journal *journal)
{
    return perhaps_journal_of(appender != NULL ? appender->filter : NULL, journal);
}

void perhaps_appender_close(perhaps_appender *appender)
{
    if (appender != NULL) {
        perhaps_filter *filter = appender->filter;
        perhaps__release(&filter->allocator, appender, sizeof *appender);
        perhaps_free(filter);
    }
}
