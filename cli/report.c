// SPDX-License-Identifier: MIT
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json.h"
#include "messages.h"
#include "options.h"
#include "output.h"
#include "store.h"

enum { TEXT_SIZE = 2048, PATH_SIZE = 4096 };

static double share_of(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0.0 : 100.0 * (double)part / (double)whole;
}

// What became of the keys that the filter called surely absent.
static void describe_absent(char *text, size_t room, const struct arguments *arguments,
                            const perhaps_guard_statistics *s, const struct audit *audit)
{
    if (given(arguments, OPTION_AUDIT)) {
        (void)snprintf(text, room, "%" PRIu64 " put to the store, which has %" PRIu64 " of them", audit->audited,
                       audit->missed);
    } else {
        (void)snprintf(text, room, "%.4g %%: store look-ups saved", share_of(s->surely_absent, s->queries));
    }
}

// Standard error may be shared with other processes: the whole report in one write.
static void print_human(const struct arguments *arguments, const perhaps_guard_statistics *s, const struct audit *audit,
                        const struct opened_store *store)
{
    char absent[96];
    describe_absent(absent, sizeof absent, arguments, s, audit);
    char rate[96] = "unknown: no absent key was asked for";
    if (isfinite(s->fpr_observed)) {
        (void)snprintf(rate, sizeof rate, "%.4g (%.4g to %.4g at %g %%)", s->fpr_observed, s->fpr_observed_low,
                       s->fpr_observed_high, 100.0 * s->confidence);
    }
    char text[TEXT_SIZE];
    int length = snprintf(text, sizeof text,
                          "keys asked:         %" PRIu64 "\n"
                          "surely absent:      %" PRIu64 " (%s)\n"
                          "store look-ups:     %" PRIu64 "%s\n"
                          "  confirmed:        %" PRIu64 "\n"
                          "  refuted:          %" PRIu64 " (false positives of the filter)\n"
                          "FPR observed:       %s\n"
                          "FPR predicted:      %.4g\n"
                          "FPR target:         %.4g\n"
                          "verdict:            %s\n",
                          s->queries, s->surely_absent, absent, s->perhaps + audit->audited,
                          store->indexed != 0 ? "" : " (each scans the table: the column has no index)", s->confirmed,
                          s->refuted, rate, s->fpr_predicted, s->fpr_target, perhaps_guard_verdict_name(s->verdict));
    (void)write_all(STDERR_FILENO, text, (size_t)length);
}

static void fill_option(struct json *json, const char *name, const char *value)
{
    if (value != NULL) {
        json_bytes(json, name, value, strlen(value));
    }
}

// The names are those of perhaps_guard_statistics and are an interface: see perhaps(1).
static void fill_json(struct json *json, const struct arguments *arguments, const perhaps_guard_statistics *s,
                      const struct audit *audit, const struct opened_store *store)
{
    json_open(json, NULL);
    json_bytes(json, "filter", arguments->operands[0], strlen(arguments->operands[0]));
    json_bytes(json, "store", store->name, strlen(store->name));
    fill_option(json, "schema", arguments->values[OPTION_SCHEMA]);
    fill_option(json, "table", arguments->values[OPTION_TABLE]);
    fill_option(json, "column", arguments->values[OPTION_COLUMN]);
    fill_option(json, "query", arguments->values[OPTION_QUERY]);
    fill_option(json, "canonical", arguments->values[OPTION_CANONICAL]);
    json_bool(json, "indexed", store->indexed != 0);
    json_unsigned(json, "queries", s->queries);
    json_unsigned(json, "surely_absent", s->surely_absent);
    json_unsigned(json, "perhaps", s->perhaps);
    json_unsigned(json, "confirmed", s->confirmed);
    json_unsigned(json, "refuted", s->refuted);
    json_unsigned(json, "unresolved", s->unresolved);
    if (given(arguments, OPTION_AUDIT)) {
        json_unsigned(json, "audited", audit->audited);
        json_unsigned(json, "missed", audit->missed);
    }
    json_double(json, "fpr_observed", s->fpr_observed);
    json_double(json, "fpr_observed_low", s->fpr_observed_low);
    json_double(json, "fpr_observed_high", s->fpr_observed_high);
    json_double(json, "confidence", s->confidence);
    json_double(json, "fpr_predicted", s->fpr_predicted);
    json_double(json, "fpr_target", s->fpr_target);
    json_string(json, "verdict", perhaps_guard_verdict_name(s->verdict));
    json_close(json);
}

static int write_and_close(int fd, const char *path, const struct json *json)
{
    int number = 0;
    if (write_all(fd, json->text, json->length) < 0 || write_all(fd, "\n", 1) < 0) {
        number = errno;
    }
    if (close(fd) < 0 && number == 0) {
        number = errno;
    }
    return number == 0 ? STATUS_OK : fail_errno(path, number);
}

// A pipe or a device cannot be replaced and is written to.
static bool is_special(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

static int write_special(const char *path, const struct json *json)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    return fd < 0 ? fail_errno(path, errno) : write_and_close(fd, path, json);
}

// mkstemp() makes files for the owner alone; a report gets what the umask leaves of 0666.
static void open_permissions(int fd)
{
    mode_t mask = umask(0);
    (void)umask(mask);
    (void)fchmod(fd, 0666 & ~mask);
}

static int replace_file(const char *path, const struct json *json)
{
    char temporary[PATH_SIZE];
    if (snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= (int)sizeof temporary) {
        return fail_errno(path, ENAMETOOLONG);
    }
    int fd = mkstemp(temporary);
    if (fd < 0) {
        return fail_errno(path, errno);
    }
    open_permissions(fd);
    int status = write_and_close(fd, path, json);
    if (status == STATUS_OK && rename(temporary, path) < 0) {
        status = fail_errno(path, errno);
    }
    if (status != STATUS_OK) {
        (void)unlink(temporary);
    }
    return status;
}

static int write_json(const struct arguments *arguments, const perhaps_guard_statistics *s, const struct audit *audit,
                      const struct opened_store *store)
{
    const char *path = arguments->values[OPTION_REPORT];
    struct json json = {0};
    fill_json(&json, arguments, s, audit, store);
    int status;
    if (json.failed) {
        status = fail(path, "there is not enough memory for the report");
    } else {
        status = is_special(path) ? write_special(path, &json) : replace_file(path, &json);
    }
    json_free(&json);
    return status;
}

int report_guard(const struct arguments *arguments, const perhaps_guard_statistics *statistics,
                 const struct audit *audit, const struct opened_store *store)
{
    if (given(arguments, OPTION_REPORT)) {
        return write_json(arguments, statistics, audit, store);
    }
    if (!given(arguments, OPTION_QUIET)) {
        print_human(arguments, statistics, audit, store);
    }
    return STATUS_OK;
}
