/* SPDX-License-Identifier: MIT
 *
 * The guard: a filter in front of an authoritative store, and the account of what it was worth.
 *
 *     ask -> surely absent            nothing more to do, a store look-up is saved
 *         -> perhaps                  ask the store, and report what it said
 *
 * A filter alone cannot know which of its "perhaps" answers were wrong; the store can. The guard counts what
 * the store confirmed and what it refuted, and shows the observed false-positive rate (FPR) with a confidence
 * interval beside the one that the filter's fill predicts and the one that was promised.
 *
 *     perhaps_guard_options options = { .size = sizeof options, .filter = filter };
 *     perhaps_guard *guard = NULL;
 *     perhaps_guard_create(&options, &guard, NULL);
 *     if (perhaps_guard_ask(guard, key, length) == 1) {
 *         perhaps_guard_report(guard, key, length, my_database_has(key, length));
 *     }
 *
 * The store is any callback (perhaps_store). A column of a SQLite table is the one that comes with it.
 *
 * What is promised here: the guard answers "surely absent" only when the filter does. That is worth as much as
 * the filter's contents: keys that the store has and the filter was never given are answered wrongly. Build the
 * filter from the store.
 *
 * Threads: one guard, and one store, is used by one thread at a time. Conventions, errors and structures
 * that begin with their size are those of perhaps.h. This library uses nothing of perhaps but its public
 * header.
 */
#ifndef PERHAPS_GUARD_H
#define PERHAPS_GUARD_H

#include "perhaps.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- stores */

/* An authoritative store, seen as two callbacks. Both get `context` first.
 *
 * `contains` says whether the store has the key, compared byte by byte: 1 yes, 0 no, negative for an error
 * (a code of PERHAPS_ERROR_TABLE, with *error filled in when error is not NULL). A store that compares
 * otherwise (without regard to case, say) would confirm keys whose bytes the filter never saw, while the
 * filter answers "surely absent" for them.
 *
 * `each_key` hands every key of the store to `visit`, in any order, repeats allowed, and stops early when visit
 * returns other than 0, returning that value; otherwise 0, or negative for an error as above. The bytes are
 * valid during the visit only. It may be NULL when the store cannot be listed. */
typedef struct perhaps_store {
    void *context;
    int (*contains)(void *context, const void *key, size_t length, perhaps_error *error);
    int (*each_key)(void *context, int (*visit)(void *visitor, const void *key, size_t length), void *visitor,
                    perhaps_error *error);
} perhaps_store;

/* A column of a SQLite table or view as a store. `path` is that of an existing database file, taken as it is: not
 * as a URI, and not as ":memory:". It is opened read-only, and nothing is written to it (in WAL mode, SQLite itself
 * keeps its -wal and -shm files beside it). Names are compared as SQLite does, without regard to ASCII case. A key
 * is in the store when a row has exactly its bytes in the column, as TEXT or as BLOB; values that are NULL or
 * numbers (possible in a column without affinity) are no keys and are skipped.
 *
 * Refused with PERHAPS_E_UNSUPPORTED, naming the column and the reason, is a column whose equality is not
 * bytewise: collation NOCASE, RTRIM or any other than BINARY; INTEGER, REAL or NUMERIC affinity (SQLite takes
 * '007' and '7' for one number there; BLOB and TEXT affinity, and none, are fine, and so is ANY in a STRICT
 * table); the row id; a column of a virtual table, which its module compares. The column of a view is judged as
 * SQLite compares it in the view; in a view made of several SELECTs, the first decides, as in SQLite. Refused is
 * also a database whose encoding is not UTF-8, because text then has other bytes inside than outside.
 *
 * A store without an index on the column works, with a table scan for each question.
 * perhaps_store_sqlite_indexed() is 1 when questions use an index all the way, otherwise 0.
 *
 * Returns 0; PERHAPS_E_IO (missing, not a regular file, not a database, damaged, left half changed by a crashed
 * writer, locked for longer than busy_milliseconds; the text says which, with SQLite's own words);
 * PERHAPS_E_UNSUPPORTED; PERHAPS_E_ARGUMENT (NULL, an empty path, no such table or column: the text names it, and
 * those that there are); PERHAPS_E_MEMORY.
 *
 * perhaps_store_sqlite_store() fills *store with callbacks on it, valid until perhaps_store_sqlite_close(), which
 * takes NULL as well. Each question sees the database as it is then, and can fail with PERHAPS_E_IO or
 * PERHAPS_E_MEMORY. A listing sees one state of the database from beginning to end; without WAL mode, writers
 * wait meanwhile. A visit may ask and list.
 *
 * perhaps_store_sqlite_count() stores the number of distinct keys in *count: what a filter for the whole store
 * must be sized for. O(rows) with an index; without one, and where there are both texts and blobs, they are
 * sorted, which takes temporary memory or disk for every distinct key. */
typedef struct perhaps_store_sqlite perhaps_store_sqlite;
PERHAPS_API int perhaps_store_sqlite_open(const char *path, const char *table, const char *column,
                                          unsigned busy_milliseconds, perhaps_store_sqlite **sqlite,
                                          perhaps_error *error);
PERHAPS_API void perhaps_store_sqlite_close(perhaps_store_sqlite *sqlite);
PERHAPS_API int perhaps_store_sqlite_store(perhaps_store_sqlite *sqlite, perhaps_store *store);
PERHAPS_API int perhaps_store_sqlite_count(perhaps_store_sqlite *sqlite, uint64_t *count, perhaps_error *error);
PERHAPS_API int perhaps_store_sqlite_indexed(const perhaps_store_sqlite *sqlite);

/* ---------------------------------------------------------------- the guard */

/* A guard. Opaque. */
typedef struct perhaps_guard perhaps_guard;

/* How to make a guard. */
typedef struct perhaps_guard_options {
    size_t size;                        /* sizeof(perhaps_guard_options) */
    const perhaps_filter *filter;       /* borrowed: must outlive the guard, and is not changed by it */
    const perhaps_store *store;         /* copied; NULL when the caller asks the store, and uses ask and report */
    double confidence;                  /* of the interval around the observed rate, 0.5 to 0.999999; 0: 0.95 */
    const perhaps_allocator *allocator; /* copied; for the guard itself. NULL: the C library's */
} perhaps_guard_options;

/* Makes a guard with all counters 0, released with perhaps_guard_free() (NULL allowed).
 * Returns 0, PERHAPS_E_ARGUMENT, PERHAPS_E_OPTION, PERHAPS_E_MEMORY. */
PERHAPS_API int perhaps_guard_create(const perhaps_guard_options *options, perhaps_guard **guard, perhaps_error *error);
PERHAPS_API void perhaps_guard_free(perhaps_guard *guard);

/* Asks the filter for a key, and counts the question. 0: surely absent, the store need not be asked. 1: perhaps; ask
 * the store and tell perhaps_guard_report(). Negative: an error of perhaps_might_contain(); nothing is counted.
 *
 * The _many form takes keys as perhaps_might_contain_many() does, with the same out and done; it counts the
 * keys that were handled, also when the call fails after some of them. */
PERHAPS_API int perhaps_guard_ask(perhaps_guard *guard, const void *key, size_t length);
PERHAPS_API int perhaps_guard_ask_many(perhaps_guard *guard, const void *data, const uint64_t *offsets, size_t count,
                                       uint8_t *out, size_t *done);

/* What the store said about a key for which ask returned 1: `found` 1, it has it (confirmed), or 0, it has not
 * (refuted: a false positive). The key itself is not kept. One report for each "perhaps" that was followed by a
 * store look-up, at any later time and in any order. Questions never reported are shown as unresolved; they do not
 * bias the observed rate as long as what is reported does not depend on what the store said (one answer in ten is
 * fine, the hits alone are not).
 *
 * Returns 0; PERHAPS_E_ARGUMENT when found is neither 0 nor 1, when the key is NULL but has a length, or when every
 * "perhaps" answer already has its report. */
PERHAPS_API int perhaps_guard_report(perhaps_guard *guard, const void *key, size_t length, int found);

/* ask, store look-up if need be, and report, in one. 1: the store has the key. 0: it has not (the filter or the
 * store said so). Negative: the store's error, and the question is then counted as unresolved (also
 * PERHAPS_E_ARGUMENT when the store broke its contract and returned more than 1); or an error of
 * perhaps_guard_ask(), or PERHAPS_E_UNSUPPORTED when the guard has no store, and nothing is counted. */
PERHAPS_API int perhaps_guard_contains(perhaps_guard *guard, const void *key, size_t length, perhaps_error *error);

/* What the guard thinks of its filter.
 *
 * "Above target" is judged by the interval of that moment. Looked at again and again, it happens to a healthy filter
 * some day, too: ask for a high confidence before raising an alarm by it. "Saturated" is stronger, and known before
 * anyone asks. */
enum perhaps_guard_verdict {
    PERHAPS_GUARD_HEALTHY = 0,      /* nothing speaks against the promised rate */
    PERHAPS_GUARD_ABOVE_TARGET = 1, /* the whole confidence interval of the observed rate lies above the target */
    PERHAPS_GUARD_SATURATED = 2     /* the filter's fill alone predicts more than twice the target: it holds more
                                       than it was made for */
};

/* The account of a guard; filled by perhaps_guard_stats().
 *
 * The observed rate is the share of *absent* keys that passed: refuted / (refuted + r * surely_absent). Present keys
 * are not in it, so that their share of the traffic does not matter. r = (confirmed + refuted) / perhaps is the
 * share of the questions passed on that were reported (1 if none was passed on): where only some are, what was
 * turned away must count that much less, or the rate would come out too low. The interval around it is Wilson's
 * (1927), which supposes that absent keys do not repeat. */
typedef struct perhaps_guard_statistics {
    size_t size;              /* sizeof(perhaps_guard_statistics), set by the caller */
    uint64_t queries;         /* questions asked: surely_absent + perhaps */
    uint64_t surely_absent;   /* answered by the filter alone: store look-ups saved */
    uint64_t perhaps;         /* passed on: confirmed + refuted + unresolved */
    uint64_t confirmed;       /* true positives: the store has the key */
    uint64_t refuted;         /* false positives, confirmed as such by the store */
    uint64_t unresolved;      /* no report (yet) */
    double fpr_observed;      /* as above; NaN before anything is known about an absent key */
    double fpr_observed_low;  /* the confidence interval around it; 0 ... */
    double fpr_observed_high; /* ... and 1 where the rate is NaN */
    double confidence;        /* of that interval */
    double fpr_predicted;     /* perhaps_statistics.fpr_now of the filter at this moment */
    double fpr_target;        /* what was promised at capacity */
    uint32_t verdict;         /* enum perhaps_guard_verdict */
} perhaps_guard_statistics;

/* Fills *statistics. Returns 0, PERHAPS_E_ARGUMENT or PERHAPS_E_OPTION. O(1). */
PERHAPS_API int perhaps_guard_stats(const perhaps_guard *guard, perhaps_guard_statistics *statistics);

/* "healthy", "above target", "saturated"; NULL for another number. A constant. */
PERHAPS_API const char *perhaps_guard_verdict_name(uint32_t verdict);

#ifdef __cplusplus
}
#endif

#endif
