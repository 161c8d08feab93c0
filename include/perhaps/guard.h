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
 * Who also writes through the guard (perhaps_guard_add(), perhaps_guard_remove()) has the filter follow the store, and
 * a guard that can list its store makes a new filter whenever the old one is no good any more (perhaps_guard_rebuild()),
 * while questions go on.
 *
 * The store is any callback (perhaps_store). A column, or a query, of a SQLite or PostgreSQL database comes with it.
 *
 * What is promised: no key that was written through the guard, or that was in the store when the filter was made from
 * it, is ever answered "surely absent" as long as the store has it. That survives rebuilds, filters that refuse keys,
 * store errors, threads, and restarts (perhaps_guard_reload(), perhaps_guard_resume()), and crashes where the filter has a
 * journal ("Filters with a journal" below). Keys that others put into the store behind the guard's back
 * are answered "surely absent" until the guard catches up (perhaps_guard_catch_up()) or rebuilds: it cannot know of them.
 *
 * Threads: every call but perhaps_guard_free() may be made from any thread at any time. ask, ask_many and report take
 * no lock and never wait, not even while a filter is exchanged. add and remove wait for others that concern the same
 * key (or one that shares its lock: there are 32), and for the two short moments in which a rebuild begins and ends.
 * Callbacks of the store may come from several threads at once, on behalf of calls made by several threads. Conventions,
 * errors and structures that begin with their size are those of perhaps.h. This library uses nothing of perhaps but its
 * public header.
 */
#ifndef PERHAPS_GUARD_H
#define PERHAPS_GUARD_H

#include "perhaps.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- stores */

/* Bits of perhaps_store.flags: what a listing promises. */
enum perhaps_store_flag {
    PERHAPS_STORE_SNAPSHOT = 1, /* it shows the store as it was at one instant, which lies between the call and the
                                   first visit. Removals during a rebuild are then carried out exactly; without it their
                                   keys stay in the new filter, as residue */
    PERHAPS_STORE_DISTINCT = 2  /* it visits each key once. Only informs: repeats are safe, but each may take a slot of
                                   a filter that counts, and is residue once the key is removed */
};

/* An authoritative store, seen as callbacks. Each gets `context` first.
 *
 * `contains` says whether the store has the key, compared byte by byte: 1 yes, 0 no, negative for an error
 * (a code of PERHAPS_ERROR_TABLE, with *error filled in when error is not NULL). It must see every write that returned
 * before it was called. A store that compares otherwise (without regard to case, say) would confirm keys whose bytes the
 * filter never saw, while the filter answers "surely absent" for them.
 *
 * `each_key` hands every key of the store to `visit`, in any order, repeats allowed, and stops early when visit
 * returns other than 0, returning that value; otherwise 0, or negative for an error as above. The bytes are
 * valid during the visit only. Every key that is in the store from the beginning of the listing to its end must be
 * visited. It may be NULL when the store cannot be listed; a guard can then not rebuild.
 *
 * `count` stores about how many distinct keys there are: for the size of a new filter and for progress. It may be NULL:
 * what the filter holds is then taken instead. 0 or negative as above.
 *
 * A store that is given to a guard must take calls from several threads at once, and contains() while a listing is
 * under way must not answer from the listing's snapshot. */
typedef struct perhaps_store {
    void *context;
    int (*contains)(void *context, const void *key, size_t length, perhaps_error *error);
    int (*each_key)(void *context, int (*visit)(void *visitor, const void *key, size_t length), void *visitor,
                    perhaps_error *error);
    int (*count)(void *context, uint64_t *count, perhaps_error *error);
    uint32_t flags;    /* set of enum perhaps_store_flag */
    uint32_t reserved; /* 0 */
} perhaps_store;

/* ---------------------------------------------------------------- stores: what of a database */

/* Canonical forms, for columns whose equality is coarser than that of bytes: each stands for all keys that such a column
 * takes for equal. Bits that may be combined. The form must be applied to both sides: the filter is given canonical keys
 * (a listing hands out such), and so are the questions (perhaps_canonical()). */
enum perhaps_canonical_form {
    PERHAPS_CANONICAL_LOWER = 1, /* A to Z become a to z, other bytes stay, and from the first NUL byte on all are NUL:
                                    exactly what SQLite's collation NOCASE takes for equal. No other alphabets */
    PERHAPS_CANONICAL_RTRIM = 2  /* spaces (0x20) at the end are gone: SQLite's RTRIM, PostgreSQL's char(n) */
};

/* Writes the canonical form of a key to `out`, which has room for `length` bytes and may be the key itself, and returns
 * its length. It is its own canonical form. Bits that are not of perhaps_canonical_form are ignored. O(length). */
PERHAPS_API size_t perhaps_canonical(uint32_t forms, const void *key, size_t length, void *out);

/* Which keys of a database are the store: those of a column, or those that a query finds.
 *
 * A query is one SELECT (or VALUES, or WITH) of the owner's with one parameter (SQLite: ?1, PostgreSQL: $1), which is
 * bound to the key, and one result column, which must be the key itself: the store has a key when a row has exactly its
 * bytes there, whatever else the query finds. `list` is a query of one column without parameters, that gives all keys which
 * `query` can find: without it the store cannot be listed, so that a guard cannot rebuild from it. That the two fit is the
 * owner's word. Result columns are judged like columns; CAST(number AS TEXT) makes a good key of a number. */
typedef struct perhaps_store_options {
    size_t size;        /* sizeof(perhaps_store_options) */
    const char *schema; /* PostgreSQL: that of the table. NULL: the search path decides. SQLite: NULL */
    const char *table;  /* table or view, with `column`; ... */
    const char *column; /* ... both are NULL when there is a query */
    const char *query;  /* looks a key up */
    const char *list;   /* lists all keys; only with `query`. NULL: cannot be listed */
    uint32_t canonical; /* set of enum perhaps_canonical_form. Only texts are keys then. Any spelling may be asked
                                      for; listings repeat keys that several spellings stand for */
    unsigned wait_milliseconds; /* for locks of others. 0: do not wait */
} perhaps_store_options;

/* ---------------------------------------------------------------- stores: SQLite */

/* A column of a SQLite table or view as a store. `path` is that of an existing database file, taken as it is: not
 * as a URI, and not as ":memory:". It is opened read-only, and nothing is written to it (in WAL mode, SQLite itself
 * keeps its -wal and -shm files beside it). Names are compared as SQLite does, without regard to ASCII case. A key
 * is in the store when a row has exactly its bytes in the column, as TEXT or as BLOB; values that are NULL or
 * numbers (possible in a column without affinity) are no keys and are skipped. A key that is there as both is one key: a
 * question asks for both, and a listing may visit it twice.
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
 * PERHAPS_E_MEMORY. A listing sees one state of the database from beginning to end (PERHAPS_STORE_SNAPSHOT), through a
 * connection of its own, opened for it; without WAL mode, writers wait meanwhile. A visit may ask and list. The callbacks
 * may be used by any number of threads: questions then take turns, listings go on beside them.
 *
 * The store is the file that is at `path` (a relative one is looked up where the process then is). Each question looks, with
 * one stat(), whether another file is there than the one that is open, as after a rename() over it or when a symbolic link
 * points elsewhere: then that one is opened and judged, and answers. A question that begins after the replacement is
 * never answered from the file that was there before. A listing judges the file that it opens as well. When there is no
 * file, or not one that can be a store, each question is an error until there is. A file that is overwritten in place,
 * without SQLite, is damage. A filter knows nothing of all this: keys of the new file are answered "surely absent"
 * until a guard has noticed, by perhaps_guard_catch_up(), and rebuilt.
 *
 * perhaps_store_sqlite_count() stores the number of distinct keys in *count: what a filter for the whole store
 * must be sized for. O(rows) with an index; without one, and where there are both texts and blobs, they are
 * sorted, which takes temporary memory or disk for every distinct key. PERHAPS_E_UNSUPPORTED for a query without a list.
 *
 * perhaps_store_sqlite_open_options() opens a column or a query, with or without a canonical form. A NOCASE column is taken
 * with PERHAPS_CANONICAL_LOWER, an RTRIM one with PERHAPS_CANONICAL_RTRIM. Of a query, SQLite asks for texts and blobs one
 * after the other, in one transaction. Also PERHAPS_E_OPTION, and PERHAPS_E_ARGUMENT for a query that SQLite does not
 * take. */
typedef struct perhaps_store_sqlite perhaps_store_sqlite;
PERHAPS_API int perhaps_store_sqlite_open(const char *path, const char *table, const char *column,
                                          unsigned busy_milliseconds, perhaps_store_sqlite **sqlite,
                                          perhaps_error *error);
PERHAPS_API int perhaps_store_sqlite_open_options(const char *path, const perhaps_store_options *options,
                                                  perhaps_store_sqlite **sqlite, perhaps_error *error);
PERHAPS_API void perhaps_store_sqlite_close(perhaps_store_sqlite *sqlite);
PERHAPS_API int perhaps_store_sqlite_store(perhaps_store_sqlite *sqlite, perhaps_store *store);
PERHAPS_API int perhaps_store_sqlite_count(perhaps_store_sqlite *sqlite, uint64_t *count, perhaps_error *error);
PERHAPS_API int perhaps_store_sqlite_indexed(const perhaps_store_sqlite *sqlite);

/* ---------------------------------------------------------------- stores: PostgreSQL */

/* A column or a query of a PostgreSQL database (13 or newer) as a store. `conninfo` is what libpq takes: "dbname=shop
 * host=/run/postgresql" or a URI "postgresql://..."; what it does not say comes from libpq's environment variables. All
 * sessions are read-only, but for a log (perhaps_store_postgres_install_log()). Names are compared exactly, as pg_class
 * has them: upper and lower case are two names.
 *
 * A key is in the store when a row has exactly its bytes in the column: text, varchar or bytea, or a domain over one. NULL
 * is no key. Text is taken as the server keeps it, without conversion.
 *
 * Refused with PERHAPS_E_UNSUPPORTED, naming the column and the reason, is a column whose equality is not bytewise:
 * a collation that is not deterministic; char(n), which ignores spaces at the end (taken with PERHAPS_CANONICAL_RTRIM);
 * citext; numbers, dates, uuid, and every other type; also a system column or one of a foreign table (another server
 * compares); a server whose encoding is neither UTF8 nor SQL_ASCII, as texts have other bytes inside than outside; a
 * standby, which lags behind the writes that it should know of; a server older than 13; and everything where perhaps
 * was built without PostgreSQL (-DPERHAPS_POSTGRES=OFF), or finds no libpq, which it loads when the first store is
 * opened. The column is judged anew with each new connection.
 *
 * Returns 0; PERHAPS_E_IO (no connection, a lock held for longer than wait_milliseconds, an error of the server; the text
 * has the server's own words); PERHAPS_E_UNSUPPORTED; PERHAPS_E_ARGUMENT (NULL, no such table or column: the text names
 * those that there are; a query that PostgreSQL does not take; an address that libpq cannot read, or a URI in which what
 * seems to be a password has an @ or a / that is not written as %40 or %2F); PERHAPS_E_OPTION; PERHAPS_E_MEMORY. No text has
 * the password, nor any part of an address that could not be read.
 *
 * perhaps_store_postgres_store() fills *store with callbacks on it, valid until perhaps_store_postgres_close(), which takes
 * NULL as well. Questions go through one connection and a statement prepared once; threads take turns. When the connection
 * is lost, a question is asked once more through a new one; when there is none to be had, that is PERHAPS_E_IO, never
 * "no", and the next question tries again. A listing has a connection of its own, holds only a row at a time in memory, and
 * sees one snapshot (that of one SELECT; PERHAPS_STORE_SNAPSHOT): no writer waits for it. A visit may ask and list.
 * A child process after fork() must not use the store.
 *
 * perhaps_store_postgres_indexed() is 1 when questions can use an index all the way, otherwise 0.
 * perhaps_store_postgres_name() is "DATABASE@HOST", without user and password, for messages; valid as long as the store. */
typedef struct perhaps_store_postgres perhaps_store_postgres;
PERHAPS_API int perhaps_store_postgres_open(const char *conninfo, const perhaps_store_options *options,
                                            perhaps_store_postgres **postgres, perhaps_error *error);
PERHAPS_API void perhaps_store_postgres_close(perhaps_store_postgres *postgres);
PERHAPS_API int perhaps_store_postgres_store(perhaps_store_postgres *postgres, perhaps_store *store);
PERHAPS_API int perhaps_store_postgres_indexed(const perhaps_store_postgres *postgres);
PERHAPS_API const char *perhaps_store_postgres_name(const perhaps_store_postgres *postgres);

/* ---------------------------------------------------------------- stores that can be followed */

#define PERHAPS_STORE_POSITION 512

/* A position in a store: bytes of the store's own, which say where in its history it is, and stay valid when the program
 * starts anew. */
typedef struct perhaps_store_position {
    size_t length;                               /* of bytes */
    unsigned char bytes[PERHAPS_STORE_POSITION]; /* the rest is not looked at */
} perhaps_store_position;

/* A key that was written between two positions: whether the store had a row with it at the first, and has one at the
 * second (1 or 0). Both must be exact, or too few copies may be left in a filter that removes. */
typedef int perhaps_store_change(void *visitor, const void *key, size_t length, int before, int after);

/* How a store says what changed in it. Each gets `context` first, and is called by one thread at a time for each guard.
 * Errors as those of perhaps_store.
 *
 * `position` stores where the store is now.
 *
 * `list` is perhaps_store.each_key, and stores in *position, before the first visit, where the store is at the instant that
 * the listing shows; when the store's listing is no PERHAPS_STORE_SNAPSHOT, where it was before.
 *
 * `each_change` hands every key that was written between `from` and now to `change`, once, and stores in *to where it is
 * now; it stops early when `change` returns other than 0, returning that. 0, negative for an error, or 1: it cannot tell
 * what changed (the position is not one of this store, or its history does not reach back so far): the filter must be made
 * anew. In doubt 1; *error then says why.
 *
 * `forget` allows the store to forget its history before a position. NULL: it keeps none. */
typedef struct perhaps_store_changes {
    size_t size; /* sizeof(perhaps_store_changes) */
    void *context;
    const char
        *identity; /* what this is a store of, such as the names of table and column, at most 1,024 bytes; copied. A
                             filter with the position of another one is not used */
    int (*position)(void *context, perhaps_store_position *position, perhaps_error *error);
    int (*list)(void *context, perhaps_store_position *position,
                int (*visit)(void *visitor, const void *key, size_t length), void *visitor, perhaps_error *error);
    int (*each_change)(void *context, const perhaps_store_position *from, perhaps_store_position *to,
                       perhaps_store_change *change, void *visitor, perhaps_error *error);
    int (*forget)(void *context, const perhaps_store_position *position, perhaps_error *error);
} perhaps_store_changes;

/* How a SQLite store knows what changed. */
enum perhaps_sqlite_way {
    PERHAPS_SQLITE_VERSION =
        0,                  /* it only knows that nothing did: by the change counter, size, times and identity of the
                                   file; while it stays open, also by SQLite's data version. A database in WAL mode is taken
                                   for changed when the program starts, because nothing in its file proves otherwise */
    PERHAPS_SQLITE_LOG = 1, /* from the log that triggers write: perhaps_store_sqlite_install_log() */
    PERHAPS_SQLITE_APPENDED =
        2 /* from row ids: rows are only ever added, by your word, and get higher ids than all before.
                                   SQLite itself reuses ids, takes lower ones, and updates in place: then keys are missed.
                                   Never without your word: no schema proves it (docs/guard.md) */
};

/* Fills *changes with callbacks on a store, valid until that is closed. `appended` 1: by row ids, on your word; 0: by the
 * log where there is one that is whole, otherwise by version, which is all there is for a query or a canonical form.
 * perhaps_store_sqlite_way() tells which of them holds now (enum perhaps_sqlite_way), or is negative: an error.
 *
 * A log that was removed, or changed, or restored with its database from a copy, is noticed, and so is a changed schema:
 * each_change then returns 1, as it does when another file has taken the place of the one that is followed; the next listing
 * goes over to that. `position` is PERHAPS_E_IO then: the filter has no position in the new file. A guard through which all
 * writes go (one without flags) does not go over, because nothing tells of which file its filter in use is: after a
 * rebuild it answers from the new file, but perhaps_guard_save() is PERHAPS_E_IO, and so is the rebuild itself where
 * the filter has a journal, until store and guard are made anew. What is not noticed: writes with triggers switched
 * off, or with writable_schema, and sqlite3_blob_write(), which SQLite refuses where the column has an index. REPLACE
 * deletes rows without telling triggers unless recursive_triggers is on: the keys of these stay in the filter, which is
 * safe.
 *
 * Returns 0, PERHAPS_E_ARGUMENT, PERHAPS_E_UNSUPPORTED (appended: a view, or a table without row ids), PERHAPS_E_IO,
 * PERHAPS_E_MEMORY. */
PERHAPS_API int perhaps_store_sqlite_changes(perhaps_store_sqlite *sqlite, int appended, perhaps_store_changes *changes,
                                             perhaps_error *error);
PERHAPS_API int perhaps_store_sqlite_way(perhaps_store_sqlite *sqlite, perhaps_error *error);

/* Installs the log for a column, in one transaction: the table "perhaps_log.TABLE.COLUMN" of the keys that were inserted or
 * deleted, and three triggers named after it, which fill it: one row for an insert or a delete, two for an update that
 * changes the key. Installed already: nothing is done. Or removes all of it. The database is opened for writing, for this
 * call; the log grows until perhaps_guard_forget().
 *
 * Returns 1 (done), 0 (there was nothing to do); PERHAPS_E_UNSUPPORTED (a view, or what perhaps_store_sqlite_open()
 * refuses; or something else has these names), PERHAPS_E_IO (also: locked for longer, not writable), PERHAPS_E_ARGUMENT,
 * PERHAPS_E_MEMORY. When it fails nothing has changed. */
PERHAPS_API int perhaps_store_sqlite_install_log(const char *path, const char *table, const char *column,
                                                 unsigned busy_milliseconds, perhaps_error *error);
PERHAPS_API int perhaps_store_sqlite_remove_log(const char *path, const char *table, const char *column,
                                                unsigned busy_milliseconds, perhaps_error *error);

/* How a PostgreSQL store knows what changed: by a log that triggers write. Fills *changes with callbacks on a store, valid
 * until that is closed; they have a connection of their own. A position is a snapshot of the server's transactions: what
 * changed since is what was written by those that were not in the old one, and are in the new one, in whatever order they
 * began, wrote, and were committed. A listing and its position see one snapshot.
 *
 * A position is believed only when the log has exactly the rows that it had there (their number, and the sum of random
 * tokens), in the same database, for the same table, unaltered (numbers and versions of the table, its partitions, the
 * column, the triggers and their function, and the table's file). Otherwise each_change returns 1: after TRUNCATE,
 * after ALTER TABLE, VACUUM FULL or CLUSTER of the table, when a partition is made, attached or detached, when a
 * trigger was switched off for a while, when the log was emptied, removed or forgotten by another filter's guard, and
 * in a database that was restored from a dump. A standby that was promoted, or a server that was restored from a copy
 * of its files, is believed when its log is that of the position, and then its table is, too; what another history
 * wrote is noticed whatever the transactions' numbers are. What is not noticed: writes past the triggers (a superuser's
 * changes of catalogues or files).
 *
 * The role needs SELECT on table and log, and for perhaps_guard_forget(), the only call that writes, also INSERT and
 * DELETE on the log. Row security must not hide rows of either from it.
 *
 * Returns 0, PERHAPS_E_ARGUMENT (NULL), PERHAPS_E_UNSUPPORTED (no log is installed, or not a whole one; a view, a query or a
 * canonical form, which have none; a role without SELECT on the whole table or on the log, which may be able to list all the
 * same), PERHAPS_E_IO, PERHAPS_E_MEMORY. A position has room for about 400 transactions that
 * write at a time, for half as many where they began far apart; beyond that, the callbacks return PERHAPS_E_LIMIT. */
PERHAPS_API int perhaps_store_postgres_changes(perhaps_store_postgres *postgres, perhaps_store_changes *changes,
                                               perhaps_error *error);

/* Installs the log for a column (options of schema, table and column alone), in one transaction: in the schema of the table,
 * the table "perhaps_log.TABLE.COLUMN" and a function of that name (where that is longer than 54 bytes, or one of the names
 * has a dot in it, with a digest in the place of the names), and four triggers that call it. They fire for every
 * session, replication included, and write a row for an insert or a delete, two for an update that changes the key, one
 * for TRUNCATE. Installed already: nothing is done. Or removes all of it. The session is the only one that may write,
 * and ends with the call. Writers wait for it, and it for those that are at work, as long as wait_milliseconds. The log
 * grows until perhaps_guard_forget(). Remove it before the column is renamed: it is found by that name. When that was
 * forgotten, writes to the table go on, and the log tells that it missed them: who follows is told that the database
 * cannot say what changed, and makes the filter anew, once the column is renamed back. Do not rename or drop the log
 * itself, nor rename the schema that it is in: writes to the table would fail until it is there again under its name.
 *
 * The role must own the table, and be allowed to create in its schema. Writers need no rights on the log; another role
 * that follows the store needs those named above: GRANT SELECT, INSERT, DELETE ON "perhaps_log.TABLE.COLUMN" TO ROLE.
 *
 * Returns 1 (done), 0 (there was nothing to do); PERHAPS_E_UNSUPPORTED (what perhaps_store_postgres_open() refuses, a
 * view, a table that others inherit from or with a partition on another server, or other things have these names);
 * PERHAPS_E_IO (also a role without the right, a lock held for longer); PERHAPS_E_ARGUMENT; PERHAPS_E_OPTION;
 * PERHAPS_E_MEMORY. When it fails nothing has changed. */
PERHAPS_API int perhaps_store_postgres_install_log(const char *conninfo, const perhaps_store_options *options,
                                                   perhaps_error *error);
PERHAPS_API int perhaps_store_postgres_remove_log(const char *conninfo, const perhaps_store_options *options,
                                                  perhaps_error *error);

/* ---------------------------------------------------------------- planning */

/* What to plan for. */
typedef struct perhaps_plan_options {
    size_t size;             /* sizeof(perhaps_plan_options) */
    uint64_t distinct;       /* distinct keys in the store now; 0: what the store counts, where it can (that may take
                                long: perhaps_guard_plan() alone knows a store), or else what the filter's fill tells;
                                PERHAPS_PLAN_ESTIMATED: the latter at once */
    double keys_per_day;     /* how fast they become more; negative when they become fewer */
    double days;             /* how long the next filter shall be good for; 0: PERHAPS_PLAN_DAYS */
    uint64_t residue;        /* keys in the filter that the store has no more; not less than
                                perhaps_statistics.ambiguous, whatever is said here */
    double fpr_observed_low; /* lower end of the interval of an observed rate; 0: none was observed */
} perhaps_plan_options;

#define PERHAPS_PLAN_DAYS 90.0
#define PERHAPS_PLAN_ESTIMATED UINT64_MAX

/* Why a rebuild is advised: bits of perhaps_plan.reasons. */
enum perhaps_plan_reason {
    PERHAPS_PLAN_FULL = 1,     /* it holds more than its capacity; where only its fill tells, by sqrt(capacity) more, as
                                   estimates scatter */
    PERHAPS_PLAN_OBSERVED = 2, /* the observed rate is above the target, and surely so */
    PERHAPS_PLAN_PREDICTED = 4, /* the rate that its fill predicts is more than a quarter above the target */
    PERHAPS_PLAN_RESIDUE = 8,   /* a tenth of its capacity (of all layers), or more, is taken by keys that are gone */
    PERHAPS_PLAN_LAYERS = 16,   /* it has grown, and every question looks into several layers */
    PERHAPS_PLAN_SPARSE = 32    /* it uses more than four times the memory that the next one would */
};

/* Advice, filled by perhaps_plan_rebuild(). */
typedef struct perhaps_plan {
    size_t size;              /* sizeof(perhaps_plan), set by the caller */
    uint32_t reasons;         /* set of enum perhaps_plan_reason; 0: no rebuild is needed yet */
    uint32_t reserved;        /* 0 */
    double days_left;         /* until distinct keys and residue reach the capacity, at the rate given: 0 when a
                                     reason holds now, infinite when that never comes */
    uint64_t distinct;        /* keys planned from */
    uint64_t capacity;        /* n of the next filter: what there will be after `days`, and an eighth for reserve; not
                                     more than its max_capacity, and without the reserve where max_bytes is too little
                                     for it */
    double fpr;               /* its p: that of the present one */
    double fpr_expected;      /* its exact expectation at that capacity (growing filters: of the first layer) */
    double fpr_after_rebuild; /* about what it meets at once, with the present keys */
    uint64_t bytes;           /* memory for its bits */
    uint64_t bytes_while_rebuilding; /* both filters */
} perhaps_plan;

/* When a filter should be rebuilt, and to what size. `options` may be NULL: all zero. From fill, observed rate, distinct
 * keys, growth and removals, as far as they are known.
 * Returns 0, PERHAPS_E_ARGUMENT, PERHAPS_E_OPTION (sizes, numbers that are not finite), PERHAPS_E_LIMIT (no filter of that
 * kind can hold so many at this p). Time: that of perhaps_stats() and perhaps_size_for(). Any thread. */
PERHAPS_API int perhaps_plan_rebuild(const perhaps_filter *filter, const perhaps_plan_options *options,
                                     perhaps_plan *plan, perhaps_error *error);

/* ---------------------------------------------------------------- the guard */

/* A guard. Opaque. */
typedef struct perhaps_guard perhaps_guard;

/* When a guard rebuilds by itself, in a thread of its own: bits of perhaps_guard_options.triggers. Looked at by add,
 * remove, report and catch_up; after a failure not again for a second. After a second filter in a row that the store could
 * not bring up to date from its listing on (its log is gone, or each listing is written to and there is no log): not again
 * for ten times as long as that one took to make, nor for a second. */
enum perhaps_guard_trigger {
    PERHAPS_GUARD_ON_DEGRADED = 1, /* degraded: see enum perhaps_guard_verdict; or a filter with a journal refused a
                                      key, though not because its journal could not be written */
    PERHAPS_GUARD_ON_ALARM = 2,    /* the alarm was raised */
    PERHAPS_GUARD_ON_FILL = 4,     /* keys in the filter (what it held at first, and what was added) exceed
                                      rebuild_fill times its capacity; the next one is made for twice as many */
    PERHAPS_GUARD_ON_RESIDUE = 8   /* residue exceeds rebuild_residue times its capacity */
};

/* Bits of perhaps_guard_options.flags. */
enum perhaps_guard_flag {
    PERHAPS_GUARD_OUTSIDE_WRITERS =
        1,                       /* others write to the store as well. Copies are then never taken out of the filter
                                          (a key that the filter was never given would take a look-alike's), but
                                          counted as residue, which goes with the next rebuild */
    PERHAPS_GUARD_NOT_READY = 2, /* the filter does not hold the store's keys yet: "perhaps" to everything until the
                                          first reload or rebuild */
    PERHAPS_GUARD_FOLLOWS = 4    /* all keys come by perhaps_guard_catch_up(), which then also takes copies out exactly;
                                          perhaps_guard_add() and _remove() are refused. Needs `changes` */
};

/* What an alarm tells; see perhaps_guard_options.alarm. */
typedef struct perhaps_guard_alarm {
    size_t size;         /* sizeof(perhaps_guard_alarm) */
    uint64_t absent;     /* distinct absent keys looked at since the filter came into use (a sample of one in 16) */
    uint64_t refuted;    /* of these, those that passed */
    double fpr_observed; /* refuted / absent */
    double fpr_target;   /* p */
} perhaps_guard_alarm;

/* What a rebuild tells about itself, every 4096 keys; see perhaps_guard_options.progress. */
typedef struct perhaps_guard_progress {
    size_t size;       /* sizeof(perhaps_guard_progress) */
    uint64_t keys;     /* visited so far */
    uint64_t expected; /* about how many there will be */
    uint64_t capacity; /* of the filter that is being made */
} perhaps_guard_progress;

/* How to make a guard. */
typedef struct perhaps_guard_options {
    size_t size;                        /* sizeof(perhaps_guard_options) */
    const perhaps_filter *filter;       /* borrowed: must outlive the guard, and is not changed by it */
    const perhaps_store *store;         /* copied; NULL when the caller asks the store, and uses ask and report */
    double confidence;                  /* of the interval around the observed rate, 0.5 to 0.999999; 0: 0.95 */
    const perhaps_allocator *allocator; /* copied; for the guard itself. NULL: the C library's */
    perhaps_filter *adopted;      /* instead of `filter`: made with PERHAPS_SHARED (or opened with PERHAPS_OPEN_SHARED,
                                           also durable), changed by the guard, and freed with it. It is the guard's from the
                                           moment that create returned 0. Given with `filter`, PERHAPS_E_ARGUMENT */
    const perhaps_options *next;  /* copied: what a rebuild makes (capacity is planned when it is 0). NULL: a filter
                                           like the present one (perhaps_options_of()). The allocator and the key in it must
                                           outlive the guard. A keyed filter is not rebuilt without it (PERHAPS_E_KEY) */
    uint32_t flags;               /* set of enum perhaps_guard_flag */
    uint32_t triggers;            /* set of enum perhaps_guard_trigger */
    double rebuild_fill;          /* 0: 1.0 */
    double rebuild_residue;       /* 0: 0.1 */
    uint64_t overflow;            /* most keys in the exact overflow set; 0: PERHAPS_GUARD_OVERFLOW */
    uint64_t window_milliseconds; /* that the windowed counts look back; 0: 300,000 */
    void *context;                /* of the callbacks below */
    void (*alarm)(void *context, const perhaps_guard_alarm *alarm); /* NULL: none. At most once for each filter */
    int (*progress)(void *context, const perhaps_guard_progress *progress); /* NULL: none. Other than 0: cancel */
    void (*rebuilt)(void *context, int result, const perhaps_error *error); /* NULL: none. At the end of each rebuild,
                                           with its result and what is to be said about it; in the rebuilding thread */
    const perhaps_store_changes
        *changes; /* copied; how the store tells what changed. NULL: it does not. Needs `adopted`,
                                           and a store that can be listed */
} perhaps_guard_options;

#define PERHAPS_GUARD_OVERFLOW 1024

/* The alarm is a sequential test, made to be looked at all the time (repeated looks at a fixed interval cry wolf: in a
 * third of healthy runs). For each distinct absent key the log likelihood ratio of "the rate is twice the target" against
 * "it is the target" is added up, never falling below 0 (Wald 1945, restarted as in Page 1954): ln 2 for a key that passed
 * and the store refuted, ln((1 - 2p)/(1 - p)) for one that was turned away. The alarm is raised at h = ln(100 p N), N =
 * 10^7 / 16 (at least ln 100).
 *
 *   False alarms: at most 1 % of guards whose filter keeps its target raise one within 10^7 absent queries. (A run that
 *   begins at a given key passes h with probability at most e^-h; it begins at one of the p N keys that passed.)
 *   Delay, when the rate has become 2p: on average about h / (2p ln 2 - (1 - 2p) ln((1 - p)/(1 - 2p))) distinct absent keys
 *   of the sample, sixteen times as many in all: 55,000 for p = 0.01, 11,000 for p = 0.05 (measured: see docs/guard.md). A
 *   rate below p/ln 2 = 1.44 p is not meant to raise it.
 *
 * One distinct key in 16, chosen by its hash, takes part. A key that repeats counts once, as long as fewer than 2^13 other
 * keys of the sample came between, but for one in a hundred whose place was needed: one hot absent key raises nothing,
 * however often it is asked for. Where only some "perhaps" answers are reported, those turned away count that much
 * less. While the guard is degraded, nothing counts. */

/* Makes a guard with all counters 0, released with perhaps_guard_free() (NULL allowed), which cancels a rebuild that is
 * running, waits for it, and frees the filter unless that is borrowed.
 * Returns 0, PERHAPS_E_ARGUMENT, PERHAPS_E_OPTION, PERHAPS_E_MEMORY; PERHAPS_E_IO: the journal of `adopted` cannot be
 * written. */
PERHAPS_API int perhaps_guard_create(const perhaps_guard_options *options, perhaps_guard **guard, perhaps_error *error);
PERHAPS_API void perhaps_guard_free(perhaps_guard *guard);

/* Asks the filter for a key, and counts the question. 0: surely absent, the store need not be asked. 1: perhaps; ask
 * the store and tell perhaps_guard_report(). Negative: PERHAPS_E_ARGUMENT (no guard, no key but a length) or
 * PERHAPS_E_UNSUPPORTED (the filter is a CALLER one); nothing is counted. Takes no lock; costs some nanoseconds more than
 * perhaps_might_contain() (measured in docs/guard.md).
 *
 * The _many form takes keys as perhaps_might_contain_many() does, with the same out and done; it counts the
 * keys that were handled, also when the call fails after some of them. */
PERHAPS_API int perhaps_guard_ask(perhaps_guard *guard, const void *key, size_t length);
PERHAPS_API int perhaps_guard_ask_many(perhaps_guard *guard, const void *data, const uint64_t *offsets, size_t count,
                                       uint8_t *out, size_t *done);

/* What the store said about a key for which ask returned 1: `found` 1, it has it (confirmed), or 0, it has not
 * (refuted: a false positive). The key itself is not kept. One report for each "perhaps" that was followed by a
 * store look-up, at any later time, in any order and from any thread. Questions never reported are shown as unresolved;
 * they do not bias the observed rate as long as what is reported does not depend on what the store said (one answer in
 * ten is fine, the hits alone are not). May call the alarm, and start a rebuild.
 *
 * Returns 0; PERHAPS_E_ARGUMENT when found is neither 0 nor 1, when the key is NULL but has a length, or when every
 * "perhaps" answer already has its report (threads that report too much at the same moment may get away with it). */
PERHAPS_API int perhaps_guard_report(perhaps_guard *guard, const void *key, size_t length, int found);

/* ask, store look-up if need be, and report, in one. 1: the store has the key. 0: it has not (the filter or the
 * store said so). Negative: the store's error, and the question is then counted as unresolved (also
 * PERHAPS_E_ARGUMENT when the store broke its contract and returned more than 1); or an error of
 * perhaps_guard_ask(), or PERHAPS_E_UNSUPPORTED when the guard has no store, and nothing is counted.
 * The store's look-ups are timed. */
PERHAPS_API int perhaps_guard_contains(perhaps_guard *guard, const void *key, size_t length, perhaps_error *error);

/* The second half of that alone: asks the store, timed, and reports what it said, for a key for which ask or ask_many
 * returned 1. It takes the place of perhaps_guard_report(). 1: the store has the key. 0: it has not. Negative: the
 * store's error, and nothing is reported; PERHAPS_E_UNSUPPORTED, the guard has no store; PERHAPS_E_ARGUMENT as in
 * perhaps_guard_report(), and the store was not asked. */
PERHAPS_API int perhaps_guard_look_up(perhaps_guard *guard, const void *key, size_t length, perhaps_error *error);

/* ---------------------------------------------------------------- writing */

/* Writes to the store: inserts the row, or deletes it. 0, or negative: an error of the table, with *error filled in when
 * error is not NULL. It must have taken effect when it returns: a guard_add() that was told 0 promises the key. It may
 * not call perhaps_guard_add() or perhaps_guard_remove() of the same guard, nor begin or wait for a rebuild. */
typedef int perhaps_guard_write(void *context, const void *key, size_t length, perhaps_error *error);

/* Adds a key: to the filter first, then by `write` to the store, so that at no instant the store has a key that the
 * filter turns away. All of it under the key's lock. `write` is NULL to report a key that the store has already: one that
 * was written behind the guard's back. (Not to write it afterwards: a rebuild could miss it in between.)
 *
 * A filter that counts gets one copy for each distinct key: where the filter already says "perhaps" the store is asked
 * whether it has the key (without a `contains`, another copy is added). bloom, blocked and "unique" need not ask.
 *
 * The store's write is never refused on the filter's account. A key that the filter cannot take (full, too many copies, a
 * borrowed or read-only filter) goes to a small exact set beside it, which questions look at too; when that is full the
 * guard is degraded: it answers "perhaps" to everything, until a rebuild succeeds. (That set is memory. A filter with a
 * journal therefore refuses, see below.)
 *
 *   1   The key was surely absent before.
 *   0   It may have been there before; it is present from now on.
 *   <0  The error of `write`; the copy stays in the filter, as residue. Of a filter with a journal also PERHAPS_E_IO
 *   and what
 *       perhaps_add() says; `write` was not called. PERHAPS_E_ARGUMENT, PERHAPS_E_UNSUPPORTED (a CALLER
 *       filter, or a guard that FOLLOWS): nothing was done, `write` was not called. An error of the store's contains() is
 *       none of this call: it is taken as "no", which is safe. */
PERHAPS_API int perhaps_guard_add(perhaps_guard *guard, const void *key, size_t length, perhaps_guard_write *write,
                                  void *context, perhaps_error *error);

/* Removes a row with this key: by `write` from the store first; the filter's copy goes only when the store then says
 * that no row with the key is left. The store is asked before as well: a key that it never had is not taken out of the
 * filter, where it could be another's. Both a store with `contains` and `write` are needed.
 *
 *   1   The last row is gone, and the filter's copy with it (during a rebuild: the old filter's; the new one's follows).
 *   0   The filter's copy stays: there are rows left; or there was none before; or it cannot be taken out (a filter
 *       without remove, an ambiguous one, outside writers, a store that failed to say whether rows are left): then it is
 *       counted as residue. Nothing is wrong: at most a question more goes to the store.
 *   <0  The error of `write`, or of the store when it could not be asked before (`write` was then not called); the filter is
 *       as it was. PERHAPS_E_ARGUMENT, PERHAPS_E_UNSUPPORTED (a CALLER filter, no store to ask, or a guard that FOLLOWS). */
PERHAPS_API int perhaps_guard_remove(perhaps_guard *guard, const void *key, size_t length, perhaps_guard_write *write,
                                     void *context, perhaps_error *error);

/* ---------------------------------------------------------------- rebuilding */

/* Makes a new filter from the store's keys and puts it into the place of the old one, in one instant for those who ask.
 * `capacity` is that of the new filter; 0: planned (perhaps_plan_rebuild()). Limits to growth stay: a capacity above
 * max_capacity counts as that, and a filter that cannot hold the store's keys within its limits is PERHAPS_E_FULL.
 * Questions go on against the old one; adds go to both; removals are carried out in the old one at once and in the new
 * one when the listing has ended, exactly when the listing is a snapshot, and are counted as residue otherwise. The old
 * filter is freed when its last reader is done, unless it is borrowed. A filter that turns out too small for what is
 * listed is made again, twice as large, up to three times.
 *
 * perhaps_guard_rebuild() does it in the caller's thread; perhaps_guard_rebuild_start() in one of the guard's, and
 * perhaps_guard_rebuild_wait() waits for that and gives its result (at once, when none is running: the last one's; 0 when
 * there was none). perhaps_guard_rebuild_cancel() makes a running rebuild give up at the next key that is listed; it does
 * not wait.
 *
 *   1   Cancelled; the old filter stays.
 *   0   Done (start: begun).
 *   <0  PERHAPS_E_UNSUPPORTED: the store cannot be listed. PERHAPS_E_ARGUMENT: no guard, or a rebuild is running.
 *       PERHAPS_E_MEMORY, PERHAPS_E_FULL and errors of perhaps_create() and of the store's listing: the old filter stays
 *       in place, and the failure is counted. Start also PERHAPS_E_MEMORY when there is no thread to be had.
 *
 * Memory: both filters, and every key that is added or removed meanwhile. */
PERHAPS_API int perhaps_guard_rebuild(perhaps_guard *guard, uint64_t capacity, perhaps_error *error);
PERHAPS_API int perhaps_guard_rebuild_start(perhaps_guard *guard, uint64_t capacity, perhaps_error *error);
PERHAPS_API int perhaps_guard_rebuild_wait(perhaps_guard *guard, perhaps_error *error);
PERHAPS_API void perhaps_guard_rebuild_cancel(perhaps_guard *guard);

/* ---------------------------------------------------------------- restarts, and writers outside */

/* A guard that has `changes` saves with its filter where in the store it is, and a later one goes on from there. Who writes
 * to the store decides how:
 *
 *   All writes go through the guard          no flag         reload at the start catches up; then nothing more is needed
 *   All writes go past it                    FOLLOWS         reload, then perhaps_guard_catch_up() again and again
 *   Both                                     OUTSIDE_WRITERS the same; copies of removed keys stay, as residue
 *
 *     options.flags |= PERHAPS_GUARD_NOT_READY;         "perhaps" to everything, until one of the two has succeeded
 *     perhaps_guard_create(&options, &guard, &error);
 *     if (perhaps_guard_reload(guard, path, NULL, &error) != 0) {
 *         perhaps_guard_rebuild(guard, 0, &error);      the file is missing, damaged, of another store, or too old
 *     }
 *
 * The promise for writers outside is bounded staleness: when a catch-up has returned 0, no key is answered "surely absent"
 * that they had written before it began; perhaps_guard_statistics.staleness_seconds says how long ago that was. While the
 * promise cannot be kept, the guard does not guess: after a catch-up that failed, or that could not tell what changed, the
 * answer is "perhaps" to everything, until one succeeds or a rebuild does. */

/* Puts the filter of a file into the place of the one in use, after bringing it up to date with the store: for a restart,
 * or when somebody else has made the file anew. `load` says how to open it (NULL, or its key). Adds and removes wait
 * meanwhile, questions do not.
 *
 *   0   Done; the old filter is freed.
 *   1   The file is not one to go on from; *error says why: it has no position, or one of another store; the store cannot
 *       tell what changed since; or kind, p, seed, policy or hash source are not those of `options.next` (without that: of
 *       the filter in use). The old filter stays. Rebuild.
 *   <0  Errors of perhaps_open() and of the store; PERHAPS_E_UNSUPPORTED without `changes`, or when the filter in use has a
 *       journal, which a file without one would end; PERHAPS_E_ARGUMENT (NULL, or a
 *       rebuild is running). The old filter stays. Rebuild. */
PERHAPS_API int perhaps_guard_reload(perhaps_guard *guard, const char *path, const perhaps_load_options *load,
                                     perhaps_error *error);

/* Brings the filter up to date with what writers outside did to the store. In a filter that removes, of a guard that
 * FOLLOWS, keys that have no row any more are taken out; otherwise they are counted as residue. May start a rebuild.
 *
 *   0   Done.
 *   1   The store cannot tell what changed; *error says why. "perhaps" to everything: rebuild.
 *   <0  An error of the store (or of the filter's journal), and "perhaps" to everything until this call succeeds.
 *       PERHAPS_E_ARGUMENT;
 *       PERHAPS_E_UNSUPPORTED: no `changes`, or all writes go through the guard. */
PERHAPS_API int perhaps_guard_catch_up(perhaps_guard *guard, perhaps_error *error);

/* Filters with a journal. A guard that adopts a durable filter (perhaps_open_durable(), with PERHAPS_OPEN_SHARED) writes
 * through it, and its file is at any time what the guard has:
 *   perhaps_guard_create() without FOLLOWS notes in the file that its copies are not exact from here on; or drops its
 *   position, when that is of another store, or there are no `changes`. It does so before anything is written, and
 *   though nothing may be. perhaps_guard_add(), _remove() are in the journal when they return. A key that the filter
 *   does not take, because it is full or its journal cannot be written, is not written to the store either: beside the
 *   filter it would be lost in a crash. (Reported with `write` NULL, it is put there, and the call fails all the same.)
 *   perhaps_guard_catch_up() records what it took over, in batches, and then the position. A rebuild hands the file
 *   over to the new filter (perhaps_hand_over_journal()), with its position, before those who ask go over to it; adds
 *   and removes wait while it is written. When that fails the old filter stays. perhaps_guard_save() to its own file
 *   folds the journal, with the position. Nothing is lost without.
 * After a restart, or a crash:
 *
 *     options.adopted = ...;                            perhaps_open_durable()
 *     options.flags |= PERHAPS_GUARD_NOT_READY;
 *     perhaps_guard_create(&options, &guard, &error);
 *     if (perhaps_guard_resume(guard, &error) != 0) {
 *         perhaps_guard_rebuild(guard, 0, &error);
 *     }
 *
 * Without `changes`, where all writes go through the guard, there is nothing to resume: the filter has them all. What a
 * crash left between filter and store is a copy too many.
 *
 * In a guard that FOLLOWS, copies are taken out exactly also after a restart: the position says whether all that came since
 * is in the file. In others nothing is taken out of the filter that was adopted: a key may be in it only because it looks
 * like another, whose copy it then needs. perhaps_guard_remove() returns 0, and what stays counts as residue, until a
 * rebuild; the filter that it makes removes exactly, until the next restart. */

/* Goes on with the durable filter that the guard has, from its own position: perhaps_guard_reload() without a file.
 *
 *   0   Done.
 *   1   It is not one to go on from; *error says why, as in perhaps_guard_reload(); also: keys are in the overflow set.
 *       Rebuild.
 *   <0  Errors of the store and of the filter's journal; PERHAPS_E_UNSUPPORTED without `changes`, or when the filter has no
 *       journal; PERHAPS_E_MEMORY; PERHAPS_E_ARGUMENT (no guard, or a rebuild is running). What the filter was given
 *       until then stays in it; and copies of keys that are removed stay from then on, as residue, until a rebuild. */
PERHAPS_API int perhaps_guard_resume(perhaps_guard *guard, perhaps_error *error);

/* Allows the store to forget its history up to the position of the last file that this guard saved or reloaded. Not where
 * several filters follow one store: the others would have to be made anew. While a rebuild or a reload is running (its
 * callbacks included) nothing is forgotten, as the new filter needs the history since its listing: call it again after the
 * next save. Returns 0 (also when there is nothing to forget), PERHAPS_E_ARGUMENT, or the store's error. */
PERHAPS_API int perhaps_guard_forget(perhaps_guard *guard, perhaps_error *error);

/* What a guard is doing. */
enum perhaps_guard_state {
    PERHAPS_GUARD_READY = 0,      /* answers from the filter */
    PERHAPS_GUARD_LOADING = 1,    /* "perhaps": made NOT_READY, and no filter was reloaded or rebuilt yet */
    PERHAPS_GUARD_CATCHING_UP = 2 /* "perhaps": behind the store, and the last catch-up could not change that */
};

/* "ready", "loading", "catching up"; NULL for another number. A constant. */
PERHAPS_API const char *perhaps_guard_state_name(uint32_t state);

/* perhaps_plan_rebuild() with what the guard knows: distinct keys, residue, the observed rate. `options` may be NULL; what
 * is set in it is taken instead. Same results. */
PERHAPS_API int perhaps_guard_plan(const perhaps_guard *guard, const perhaps_plan_options *options, perhaps_plan *plan,
                                   perhaps_error *error);

/* Saves the filter, as perhaps_save() does, also beside adds and questions; a rebuild's exchange waits. Refused with
 * PERHAPS_E_FULL while keys are in the overflow set or the guard is degraded: the file would lack them. Rebuild first.
 * With `changes` the file gets the position, and catching up waits; where all writes go through the guard, they wait as
 * well, and the store's error is one of this call. */
PERHAPS_API int perhaps_guard_save(perhaps_guard *guard, const char *path, perhaps_error *error);

/* ---------------------------------------------------------------- the account */

/* What the guard thinks of its filter. The strongest that holds.
 *
 * "Above target" is judged by the interval of that moment. Looked at again and again, it happens to a healthy filter
 * some day, too: the alarm is the test for that. "Saturated" is stronger, and known before anyone asks. */
enum perhaps_guard_verdict {
    PERHAPS_GUARD_HEALTHY = 0,      /* nothing speaks against the promised rate */
    PERHAPS_GUARD_ABOVE_TARGET = 1, /* the whole confidence interval of the observed rate lies above the target */
    PERHAPS_GUARD_SATURATED = 2,    /* the filter's fill alone predicts more than twice the target: it holds more
                                       than it was made for */
    PERHAPS_GUARD_DEGRADED = 3      /* every answer is "perhaps": the overflow set is full, or the guard is not ready */
};

/* Latencies, of which a sample is taken (one ask in 256, and of each perhaps_guard_ask_many() the mean of its keys; every
 * look-up of the store in perhaps_guard_contains() and perhaps_guard_look_up()). Each power of two nanoseconds is
 * divided into eight buckets, and a quantile is the upper end of its bucket: at most an eighth too large. */
typedef struct perhaps_guard_latency {
    uint64_t count; /* taken */
    double sum;     /* seconds */
    double p50;     /* seconds; 0 when nothing was taken */
    double p99;     /* the same for 99 of 100 */
} perhaps_guard_latency;

/* The account of a guard; filled by perhaps_guard_stats().
 *
 * The observed rate is the share of *absent* keys that passed: refuted / (refuted + r * surely_absent). Present keys
 * are not in it, so that their share of the traffic does not matter. r = (confirmed + refuted) / perhaps is the
 * share of the questions passed on that were reported (1 if none was passed on): where only some are, what was
 * turned away must count that much less, or the rate would come out too low. The interval around it is Wilson's
 * (1927), which supposes that absent keys do not repeat.
 *
 * The counts of a guard that other threads are using are not of one instant. */
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
    uint32_t not_ready;       /* 1 until a guard made NOT_READY has rebuilt or reloaded */

    /* What follows looks back over the window only. */
    double window_seconds;           /* how far, in truth: from the window asked for to an eighth more, less at first */
    uint64_t window_queries;         /* as the totals above */
    uint64_t window_surely_absent;   /* store look-ups saved */
    uint64_t window_perhaps;         /* passed on */
    uint64_t window_confirmed;       /* true positives */
    uint64_t window_refuted;         /* false positives */
    double window_fpr_observed;      /* NaN, 0 and 1 as above */
    double window_fpr_observed_low;  /* its interval ... */
    double window_fpr_observed_high; /* ... at the same confidence */

    /* The filter that is in use. */
    uint32_t kind;            /* enum perhaps_kind */
    uint32_t layers;          /* as in perhaps_statistics */
    uint64_t capacity;        /* that it was made for */
    double fill;              /* as in perhaps_statistics */
    double distinct_estimate; /* as in perhaps_statistics */
    uint64_t bytes;           /* memory for its bits */
    uint64_t overflow;        /* keys in the exact set beside it */
    uint64_t overflow_limit;  /* most that go there */
    uint64_t residue;         /* keys, or copies, in this filter that the store has no more, as far as is known: an
                                 upper bound */

    /* Since the guard was made. */
    uint64_t adds;                     /* perhaps_guard_add() that returned 0 or 1 */
    uint64_t removals;                 /* perhaps_guard_remove() that returned 0 or 1 */
    uint64_t refused;                  /* keys that a filter refused, and the overflow set took or had no room for */
    uint64_t rebuilds;                 /* that put a new filter in place */
    uint64_t rebuilds_failed;          /* the old filter stayed; cancelled ones not counted */
    uint64_t rebuilds_cancelled;       /* by the owner */
    uint64_t alarms;                   /* raised */
    uint32_t rebuilding;               /* 1: now, or reloading */
    uint32_t alarmed;                  /* 1: for the filter in use */
    uint64_t alarm_absent;             /* distinct keys of the alarm's sample, for the filter in use: absent ones ... */
    uint64_t alarm_refuted;            /* ... and those among them that passed */
    double alarm_level;                /* from 0 (nothing speaks for an alarm) to 1 (raised) */
    perhaps_guard_latency ask_latency; /* of the filter's look-up */
    perhaps_guard_latency store_latency; /* of the store's */

    /* Following the store. */
    uint32_t state;            /* enum perhaps_guard_state */
    uint32_t reserved;         /* 0 */
    uint64_t catch_ups;        /* that succeeded, reloads among them */
    uint64_t catch_ups_failed; /* that failed, or could not tell what changed */
    uint64_t changes;          /* keys that were written outside, as catching up told */
    uint64_t unfiltered;       /* of refuted: the filter in use would not have let them through. Every answer was
                                  "perhaps" then, or it was another filter. They are not in the observed rate */
    double staleness_seconds;  /* how long ago the last one that succeeded began; NaN before, and where nothing is
                                  followed because all writes go through the guard */
} perhaps_guard_statistics;

/* Fills *statistics. Returns 0, PERHAPS_E_ARGUMENT or PERHAPS_E_OPTION. Time: that of perhaps_stats(), and some
 * microseconds. */
PERHAPS_API int perhaps_guard_stats(const perhaps_guard *guard, perhaps_guard_statistics *statistics);

/* "healthy", "above target", "saturated", "degraded"; NULL for another number. A constant. */
PERHAPS_API const char *perhaps_guard_verdict_name(uint32_t verdict);

/* ---------------------------------------------------------------- metrics */

/* Writes statistics as text, terminated, into buffer: *written becomes its length without the terminating zero.
 * perhaps_guard_json() one JSON object in a line (without its end) whose names are those of perhaps_guard_statistics,
 * with null for NaN; latencies in seconds, as {"count", "sum", "p50", "p99"}.
 * perhaps_guard_prometheus() the text exposition format 0.0.4 of Prometheus: names begin with perhaps_guard_, counters end
 * in _total, sizes are in bytes and times in seconds, latencies are summaries; each family has HELP and TYPE. `name`
 * becomes the label guard="..." of every sample (UTF-8; NULL: no label).
 *
 * Returns 0; PERHAPS_E_SPACE when `capacity` does not suffice (the error's `limit` says what does, the zero included;
 * *written and the buffer are untouched), PERHAPS_E_ARGUMENT, PERHAPS_E_OPTION (statistics of another size). Neither
 * looks at a guard. */
PERHAPS_API int perhaps_guard_json(const perhaps_guard_statistics *statistics, char *buffer, size_t capacity,
                                   size_t *written, perhaps_error *error);
PERHAPS_API int perhaps_guard_prometheus(const perhaps_guard_statistics *statistics, const char *name, char *buffer,
                                         size_t capacity, size_t *written, perhaps_error *error);

#ifdef __cplusplus
}
#endif

#endif
