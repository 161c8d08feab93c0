// SPDX-License-Identifier: MIT
//
// The one table of options. Parsing, both forms of help, the shell completions and the check of the manual page
// are made from it.
#ifndef PERHAPS_CLI_OPTIONS_H
#define PERHAPS_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "commands.h"

#define IN(command) (1u << COMMAND_##command)
#define IN_KEYS (IN(CREATE) | IN(ADD) | IN(CHECK) | IN(REMOVE) | IN(COUNT) | IN(CALIBRATE) | IN(GUARD) | IN(REBUILD))
#define IN_WRITERS (IN(CREATE) | IN(ADD) | IN(REMOVE) | IN(MERGE) | IN(CONVERT) | IN(COMPACT) | IN(REBUILD))
#define IN_FILTERS (IN_KEYS | IN(INFO) | IN(MERGE) | IN(VERIFY) | IN(PLAN) | IN(CONVERT) | IN(COMPACT))
#define IN_ALL ((1u << COMMAND_COUNT_OF) - 1)

// What completions offer after an option; behind VALUE_FILE, a few words.
enum value_shape {
    VALUE_NONE,
    VALUE_TEXT,
    VALUE_FILE,
    VALUE_KIND,
    VALUE_POLICY,
    VALUE_COUNTER_BITS,
    VALUE_SLOTS,
    VALUE_CANONICAL,
    VALUE_AT_CAPACITY,
    VALUE_GROWTH,
    VALUE_GENERATE
};

// X(name, commands, letter or 0, long name, value in the help or NULL, its shape, what it does, more about it)
#define CLI_OPTION_TABLE(X)                                                                                            \
    X(CAPACITY, IN(CREATE) | IN(SIZE) | IN(REBUILD), 'n', "capacity", "N", VALUE_TEXT,                                 \
      "how many distinct keys the filter is for",                                                                      \
      "500k, 2M, 3G and 1T are thousands, millions, ... Without it (and without both of the other two), create "       \
      "reads all keys first and counts the distinct ones: exactly up to 16 million, beyond that by an estimate that "  \
      "is rounded up by three standard errors (about 0.1 %).")                                                         \
    X(FPR, IN(CREATE) | IN(SIZE) | IN(GUARD) | IN(REBUILD), 'p', "fpr", "P", VALUE_TEXT,                               \
      "the false-positive rate promised at N keys",                                                                    \
      "A number such as 0.01 or 1e-6. create takes 0.01 when neither P nor SIZE is given.")                            \
    X(BYTES, IN(CREATE) | IN(SIZE), 0, "bytes", "SIZE", VALUE_TEXT, "the most memory that the filter's bits may take", \
      "64k and 64kB are 64000, 64KiB is 65536. Any two of N, P and SIZE give the third.")                              \
    X(KIND, IN(CREATE) | IN(SIZE) | IN(CONVERT) | IN(GUARD) | IN(REBUILD), 0, "kind", "KIND", VALUE_KIND,              \
      "the kind of filter",                                                                                            \
      "bloom; blocked: faster, and a little larger; counting: also says how often at most, and removes; cuckoo: also " \
      "removes, but can be full. create takes bloom, size shows all, convert makes bloom of counting.")                \
    X(COUNTER_BITS, IN(CREATE) | IN(SIZE), 0, "counter-bits", "W", VALUE_COUNTER_BITS,                                 \
      "counting: bits of a counter: 4, 8 or 16 (4)",                                                                   \
      "They count to 14, 254 or 65534; what was added more often is \"unbounded\". The memory is W times that of "     \
      "bloom.")                                                                                                        \
    X(HIGHEST_COUNT, IN(SIZE), 0, "highest-count", "COUNT", VALUE_TEXT, "counting: how often a key is added at most",  \
      "Takes and names the --counter-bits that count that far.")                                                       \
    X(SLOTS, IN(CREATE) | IN(SIZE), 0, "slots", "S", VALUE_SLOTS, "cuckoo: slots of a bucket: 1, 2, 4 or 8 (4)",       \
      "With 1 it is not guaranteed that N keys fit.")                                                                  \
    X(FINGERPRINT_BITS, IN(CREATE) | IN(SIZE), 0, "fingerprint-bits", "F", VALUE_TEXT,                                 \
      "cuckoo: bits of a fingerprint, 4 to 32",                                                                        \
      "As few as P needs, if it is not given; more make the rate smaller than P.")                                     \
    X(SEARCH, IN(CREATE), 0, "search", "BUCKETS", VALUE_TEXT, "cuckoo: how long an add looks for room, 2 to 4096",     \
      "In this many buckets; then the key is refused because the filter is full.")                                     \
    X(POLICY, IN(CREATE), 0, "policy", "POLICY", VALUE_POLICY, "what a second add of a key does (multiset)",           \
      "multiset: it counts, and remove takes one back. unique (cuckoo): it takes no slot. conservative (counting): "   \
      "it counts, with closer bounds for frequent keys. The last two cannot remove.")                                  \
    X(AT_CAPACITY, IN(CREATE), 0, "at-capacity", "WHAT", VALUE_AT_CAPACITY, "what a full filter does with a new key",  \
      "go-on (the default): takes it, and the rate rises above P; refuse; or grow: by a layer that is twice as "       \
      "large.")                                                                                                        \
    X(GROWTH, IN(CREATE), 0, "growth", "FACTOR", VALUE_GROWTH, "grow at capacity, by this factor: 2, 4 or 8",          \
      "The rate of all layers together stays below P. Kind counting cannot grow; cuckoo then takes policy unique if "  \
      "none is asked for.")                                                                                            \
    X(MAX_CAPACITY, IN(CREATE) | IN(REBUILD), 0, "max-capacity", "N", VALUE_TEXT,                                      \
      "grow at capacity, up to this many keys",                                                                        \
      "Planned for from the start, so that it takes little more memory than a filter for that many.")                  \
    X(MAX_BYTES, IN(CREATE) | IN(REBUILD), 0, "max-bytes", "SIZE", VALUE_TEXT,                                         \
      "grow at capacity, up to this much memory", "")                                                                  \
    X(SEED, IN(CREATE), 0, "seed", "SEED", VALUE_TEXT, "hash with this number (0)",                                    \
      "Decimal, or hexadecimal after 0x. The same keys, options and seed give the same file, byte for byte.")          \
    X(KEY_FILE, IN_FILTERS, 0, "key-file", "FILE", VALUE_FILE, "hash with the secret key in this file",                \
      "16 bytes, or 32 hexadecimal digits. For keys that somebody may choose in order to do harm: without the secret " \
      "nobody can foresee what a filter takes for present. It is not in the filter; who loses it, loses the filter. "  \
      "(umask 077; head -c 16 /dev/urandom > FILE) makes one. info, verify and plan can do without.")                  \
    X(METADATA, IN(CREATE), 0, "metadata", "TEXT", VALUE_TEXT, "keep this text in the filter",                         \
      "Up to 64 KiB, shown by info and never looked at.")                                                              \
    X(JOURNAL, IN(CREATE) | IN(ADD), 0, "journal", NULL, VALUE_NONE, "give the filter a journal",                      \
      "FILTER.journal, beside it: from then on add and remove write there what they do, which costs no more than the " \
      "keys, and survives a crash once they are done. The two files belong together.")                                 \
    X(OUTPUT, IN(MERGE) | IN(CONVERT), 'o', "output", "OUT", VALUE_FILE, "the filter to write", "")                    \
    X(FORCE, IN(CREATE) | IN(MERGE) | IN(CONVERT), 'f', "force", NULL, VALUE_NONE, "overwrite an existing file",       \
      "It is replaced in one step when all has gone well, and untouched otherwise.")                                   \
    X(STORE, IN(GUARD) | IN(REBUILD), 0, "store", "STORE", VALUE_FILE, "the store: sqlite:PATH or postgres:CONNINFO",  \
      "CONNINFO is what libpq connects with, such as \"dbname=shop\"; a URI postgresql://... is a STORE, too. "        \
      "Only "                                                                                                          \
      "the log is written to it.")                                                                                     \
    X(SCHEMA, IN(GUARD) | IN(REBUILD), 0, "schema", "SCHEMA", VALUE_TEXT, "PostgreSQL: the schema of the table",       \
      "Without it, the search path decides.")                                                                          \
    X(TABLE, IN(GUARD) | IN(REBUILD), 0, "table", "TABLE", VALUE_TEXT, "the table or view that holds the keys", "")    \
    X(COLUMN, IN(GUARD) | IN(REBUILD), 0, "column", "COLUMN", VALUE_TEXT, "the column that holds the keys",            \
      "It must compare byte by byte: collations such as NOCASE and numeric types are refused. Without an index on "    \
      "it every look-up scans the table.")                                                                             \
    X(QUERY, IN(GUARD) | IN(REBUILD), 0, "query", "SQL", VALUE_TEXT,                                                   \
      "look keys up with this query, instead of in a column",                                                          \
      "A SELECT of one column, the key, with one parameter, ?1 or $1: \"SELECT k FROM t WHERE k = ?1 AND live\". The " \
      "store has a key when a row has exactly its bytes.")                                                             \
    X(CANONICAL, IN(GUARD) | IN(REBUILD), 0, "canonical", "FORM", VALUE_CANONICAL, "compare keys in a canonical form", \
      "lower: A to Z as a to z, for NOCASE columns; rtrim: without spaces at the end, for RTRIM and char(n); or "      \
      "lower,rtrim. The filter must have been made of such keys.")                                                     \
    X(REPORT, IN(GUARD), 0, "report", "FILE", VALUE_FILE, "write the report to FILE, as JSON",                         \
      "Instead of text on standard error. FILE is replaced in one step.")                                              \
    X(AUDIT, IN(GUARD), 0, "audit", NULL, VALUE_NONE, "ask the store about every key, and hold the filter to it",      \
      "Saves nothing. A key that the store has and the filter calls surely absent is an error: the filter was not "    \
      "built from all of the store.")                                                                                  \
    X(WATCH, IN(GUARD), 0, "watch", NULL, VALUE_NONE, "keep the filter in step with the store meanwhile",              \
      "Loads FILTER, brings it up to date with what others wrote to the store, again and again, makes it anew from "   \
      "the "                                                                                                           \
      "store when it has to, and saves it. Until it is ready, every key is asked for in the store. SIGHUP loads "      \
      "FILTER "                                                                                                        \
      "again; SIGTERM and SIGINT end it, with FILTER saved.")                                                          \
    X(INTERVAL, IN(GUARD), 0, "interval", "SECONDS", VALUE_TEXT, "--watch: how often to look at the store (1)",        \
      "A key that others wrote is found after this time at the latest.")                                               \
    X(STAY, IN(GUARD), 0, "stay", NULL, VALUE_NONE, "--watch: go on when the input has ended",                         \
      "Until a signal ends it.")                                                                                       \
    X(APPEND_ONLY, IN(GUARD), 0, "append-only", NULL, VALUE_NONE, "--watch: rows are only ever added",                 \
      "With higher row ids than all before, and never changed or deleted. This is your word: otherwise keys are "      \
      "missed. Install a log if in doubt.")                                                                            \
    X(METRICS_FILE, IN(GUARD), 0, "metrics-file", "FILE", VALUE_FILE, "write metrics for Prometheus to FILE",          \
      "At the end, and with --watch at each look at the store, in one step: for the textfile collector of the node "   \
      "exporter.")                                                                                                     \
    X(INSTALL_LOG, IN(GUARD), 0, "install-log", NULL, VALUE_NONE, "install a log of the column in the store, and end", \
      "A table and triggers, which note what is inserted, updated and deleted, so that --watch learns exactly "        \
      "what changed. No FILTER is named.")                                                                             \
    X(REMOVE_LOG, IN(GUARD), 0, "remove-log", NULL, VALUE_NONE, "remove that log, and end", "")                        \
    X(DISTINCT, IN(PLAN), 0, "distinct", "N", VALUE_TEXT, "how many distinct keys the store has now",                  \
      "Otherwise what the filter's fill tells.")                                                                       \
    X(PER_DAY, IN(PLAN) | IN(REBUILD), 0, "per-day", "N", VALUE_TEXT, "how many more there are every day", "")         \
    X(DAYS, IN(PLAN) | IN(REBUILD), 0, "days", "D", VALUE_TEXT, "how long the next filter shall be good for (90)", "") \
    X(OBSERVED, IN(PLAN), 0, "observed", "FPR", VALUE_TEXT, "the rate that was observed, at least",                    \
      "The lower end of its interval: fpr_observed_low in the report of guard or calibrate. Above the target, it is "  \
      "a "                                                                                                             \
      "reason to rebuild.")                                                                                            \
    X(RESIDUE, IN(PLAN), 0, "residue", "N", VALUE_TEXT, "how many keys of the filter the store has no more",           \
      "Not less than what the filter counted itself.")                                                                 \
    X(PRESENT, IN(CALIBRATE), 0, "present", "FILE", VALUE_FILE, "keys that were added to the filter",                  \
      "Not one of them may be answered \"absent\".")                                                                   \
    X(ABSENT, IN(CALIBRATE), 0, "absent", "FILE", VALUE_FILE, "keys that were not added",                              \
      "Those that are in the file of present keys too are left out, and repeated ones count once.")                    \
    X(AT_LEAST, IN(CHECK), 0, "at-least", "T", VALUE_TEXT, "select keys that may have been added T times or more",     \
      "Kinds that do not count know only whether a key may be there. -v selects those that were surely added fewer "   \
      "times.")                                                                                                        \
    X(INVERT, IN(CHECK), 'v', "invert-match", NULL, VALUE_NONE, "select the keys that are surely absent", "")          \
    X(NOT_DONE, IN(ADD) | IN(REMOVE), 'v', "verbose", NULL, VALUE_NONE,                                                \
      "print the keys that were not added or removed",                                                                 \
      "Those that add refused, or that remove did not find, unchanged and in order.")                                  \
    X(COUNT, IN(CHECK), 'c', "count", NULL, VALUE_NONE, "print only how many keys were selected",                      \
      "One number for all files; one for each file with -H.")                                                          \
    X(LINE_NUMBER, IN(CHECK), 'n', "line-number", NULL, VALUE_NONE, "print the line number before each key", "")       \
    X(WITH_FILENAME, IN(CHECK), 'H', "with-filename", NULL, VALUE_NONE, "print the file name before each key", "")     \
    X(MAX_COUNT, IN(CHECK), 'm', "max-count", "NUM", VALUE_TEXT, "stop reading a file after NUM selected keys", "")    \
    X(NULL_DATA, IN_KEYS, 'z', "null-data", NULL, VALUE_NONE, "keys end with a NUL byte, not a newline",               \
      "In the input and in the output.")                                                                               \
    X(CRLF, IN_KEYS, 0, "crlf", NULL, VALUE_NONE, "a CR before the newline is not part of the key",                    \
      "Without it, every byte before the newline counts. Printed lines keep it.")                                      \
    X(LINE_BUFFERED, IN(CHECK) | IN(COUNT) | IN(GUARD), 0, "line-buffered", NULL, VALUE_NONE,                          \
      "write each answer at once",                                                                                     \
      "Without it, answers are written at the latest before the tool waits for more input.")                           \
    X(FIRST_TOUCH, IN(CHECK) | IN(COUNT) | IN(INFO), 0, "first-touch", NULL, VALUE_NONE,                               \
      "verify only what is read of the filter",                                                                        \
      "Begins at once, however large the filter is. Where it is damaged, keys are \"perhaps\" there, and a warning "   \
      "says how many. info then shows what the header records, and reads no more.")                                    \
    X(JSON,                                                                                                            \
      IN(ADD) | IN(CHECK) | IN(REMOVE) | IN(COUNT) | IN(INFO) | IN(SIZE) | IN(VERIFY) | IN(CALIBRATE) | IN(PLAN), 0,   \
      "json", NULL, VALUE_NONE, "print JSON, one object a line",                                                       \
      "Keys and names are {\"text\": ...}, or {\"bytes\": ...} in base64 when they are not UTF-8.")                    \
    X(NO_WAIT, IN_WRITERS | IN(GUARD), 0, "no-wait", NULL, VALUE_NONE, "fail when a lock is held, do not wait",        \
      "Without it, writers wait for each other, and guard up to five seconds for a locked store.")                     \
    X(NO_PROGRESS, IN(CREATE) | IN(ADD) | IN(REMOVE) | IN(COMPACT) | IN(VERIFY) | IN(REBUILD), 0, "no-progress", NULL, \
      VALUE_NONE, "no progress on a terminal", "")                                                                     \
    X(QUIET, (IN_KEYS & ~IN(COUNT)) | IN_WRITERS | IN(VERIFY), 'q', "quiet", NULL, VALUE_NONE,                         \
      "say nothing but errors and warnings",                                                                           \
      "check prints no keys then, stops at the first selected one, and exits with 0 if there was one even after an "   \
      "error.")                                                                                                        \
    X(HELP, IN_ALL | IN(TOOL), 'h', "help", NULL, VALUE_NONE, "show help; --help shows more than -h", "")              \
    X(VERSION, IN(TOOL), 'V', "version", NULL, VALUE_NONE, "show the versions of tool, library and format", "")        \
    X(GENERATE, IN(TOOL), 0, "generate", "WHAT", VALUE_GENERATE, "print shell completions, or the list of options",    \
      "WHAT is complete-bash, complete-zsh, complete-fish or man-options.")

#define CLI_OPTION_ENUMERATOR(name, ...) OPTION_##name,
enum option_id { CLI_OPTION_TABLE(CLI_OPTION_ENUMERATOR) OPTION_COUNT_OF };
#undef CLI_OPTION_ENUMERATOR

struct option_row {
    unsigned commands;
    char letter;
    const char *name;
    const char *value;
    enum value_shape shape;
    const char *summary;
    const char *details;
};
extern const struct option_row option_rows[OPTION_COUNT_OF];

static inline bool option_is_for(const struct option_row *row, unsigned command)
{
    return (row->commands >> command & 1) != 0;
}

// A command line, taken apart.
struct arguments {
    enum command_id command;
    const char *values[OPTION_COUNT_OF]; // NULL: not given; "" for an option without a value
    int operand_count;
    char **operands;
};

// Options may follow operands; "--" ends them. Complains and returns STATUS_ERROR on wrong use.
int parse_arguments(enum command_id command, int argc, char **argv, struct arguments *arguments);

static inline bool given(const struct arguments *arguments, enum option_id id)
{
    return arguments->values[id] != NULL;
}

// "-n", or "--bytes" for an option without a letter. Valid until the next call.
const char *option_shown(enum option_id id);

// The value of an option; what `value` points to stays as it is when the option is not given. Complains and
// returns STATUS_ERROR for anything that is no such number.
int option_count(const struct arguments *arguments, enum option_id id, uint64_t *value);
int option_bytes(const struct arguments *arguments, enum option_id id, uint64_t *value);
int option_seed(const struct arguments *arguments, enum option_id id, uint64_t *value);
int option_rate(const struct arguments *arguments, enum option_id id, double *value);
int option_kind(const struct arguments *arguments, enum option_id id, uint32_t *value);
int option_policy(const struct arguments *arguments, enum option_id id, uint32_t *value);

// A whole number from `least` to `most`, of which only powers of two are taken if `powers` is set; `what` follows "is
// not" in the complaint.
struct number_range {
    uint32_t least;
    uint32_t most;
    bool powers;
    const char *what;
};
int option_range(const struct arguments *arguments, enum option_id id, const struct number_range *range,
                 uint32_t *value);

// fail_usage() for two options that exclude each other, if both are given.
int option_conflict(const struct arguments *arguments, enum option_id one, enum option_id other);

#endif
