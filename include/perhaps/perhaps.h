/* SPDX-License-Identifier: MIT
 *
 * perhaps: could this key be in the set?
 *
 * A filter is a few bits per key that answer one question before an expensive look-up is paid for.
 * "No" is proof. "Perhaps" is only a reason to ask the authoritative store.
 *
 *     perhaps_options options = { .size = sizeof options, .capacity = 1000000, .fpr = 0.01 };
 *     perhaps_filter *filter = NULL;
 *     perhaps_error error = { .size = sizeof error };
 *     if (perhaps_create(&options, &filter, &error) < 0) {
 *         fprintf(stderr, "%s\n", error.text);
 *         return 1;
 *     }
 *     perhaps_add(filter, "alice", 5);
 *     if (perhaps_might_contain(filter, "bob", 3) == 0) {
 *         puts("bob was surely never added");
 *     }
 *     perhaps_free(filter);
 *
 * What holds for every call
 * -------------------------
 * No false negatives: once an add of x has returned success, might_contain(x) is 1 until a remove of x that
 * matches it, or until the filter is cleared. Saving, loading, merging and every later release that reads the
 * format keep this.
 *
 * The error rate: the expected false-positive rate (FPR) at capacity is at most the one asked for. A single
 * filter's own rate scatters around its expectation, the more so the smaller it is; perhaps_stats() reports
 * the rate that follows from the bits really set, apart from the target.
 *
 * Errors: calls that can fail return a negative code of PERHAPS_ERROR_TABLE; 0 or more is success. A failed
 * call changes nothing: not one byte of the filter, and no out-parameter other than `done` of the batch
 * calls. Calls that can fail for reasons worth a sentence take a perhaps_error, which may be NULL.
 *
 * Keys are bytes: (const void *, size_t). The empty key is a key (the pointer may then be NULL). Nothing is
 * case-folded, trimmed or decoded. Text that means the same but differs in bytes is a different key.
 *
 * Threads: any number of threads may read one filter at the same time (the calls that take a const
 * perhaps_filter). A call that changes a filter needs it for itself, unless the filter is PERHAPS_SHARED. Different
 * filters are independent. There is nothing to initialise.
 *
 * Shared filters (PERHAPS_SHARED) take every call, from any thread, at any time, but perhaps_free().
 *   Readers (might_contain, times, count_at_most, and their twins) never wait, for nothing. They take no lock.
 *   An add is seen by every query that begins after it returned, in the usual sense: where the program orders the two
 *   (the same thread, a lock, an atomic flag, a message), the query answers 1. No further fence is needed. A query that
 *   runs beside the add may answer either way; a query beside the relocation of a cuckoo key never misses it.
 *   A batch is not one step: each key is added or removed by itself, in order.
 *   Two threads that add one absent key at once: at least one is told 1 (it was surely absent before every add that had
 *   returned), and all of them may be. With PERHAPS_CLAIM exactly one is.
 *   Nothing is lost: no bit, no increment, no fingerprint. Counters and tallies in the statistics are exact, but for
 *   `adds`, which counts answers of 1.
 *   perhaps_encode(), perhaps_save(), perhaps_stats(), perhaps_convert(), perhaps_merge() and perhaps_clear() see (or
 *   make) the state of one instant, which contains every add that returned before the call began. Adds and removes that
 *   are called meanwhile wait until it is done (until the payload is copied, where it is saved); readers do not.
 *   perhaps_compact() lets them through between short steps.
 *   A pointer from perhaps_metadata() is the caller's to protect against perhaps_set_metadata(), likewise for a position.
 *   A call that fails leaves the set unchanged; fingerprints of a cuckoo filter may lie in other places.
 *
 * Ownership: the library copies what it keeps. What a call returns through an out-parameter belongs to the
 * caller and is released by the call that the text names. perhaps_free(NULL) does nothing. No other call
 * takes NULL for a filter, unless it says so: it is answered with PERHAPS_E_ARGUMENT.
 *
 * Structures that begin with `size` are set to zero first and then given sizeof the structure, as above. A
 * library older than the caller refuses fields that it does not know unless they are zero
 * (PERHAPS_E_OPTION); a newer one takes the fields that are missing as zero.
 */
#ifndef PERHAPS_PERHAPS_H
#define PERHAPS_PERHAPS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PERHAPS_VERSION_MAJOR 0
#define PERHAPS_VERSION_MINOR 1
#define PERHAPS_VERSION_PATCH 0

/* The format of encoded filters that this release writes; see docs/format.md. Every release reads all versions from 1 on.
 * (Version 0 was a draft before the first of them, and is refused.) */
#define PERHAPS_FORMAT_VERSION 1

#if defined(__GNUC__)
#define PERHAPS_API __attribute__((visibility("default")))
#else
#define PERHAPS_API
#endif

/* ---------------------------------------------------------------- errors */

/* The one table of errors: X(name, code, message). Codes never change their meaning. */
#define PERHAPS_ERROR_TABLE(X)                                                                                         \
    X(PERHAPS_E_ARGUMENT, -1, "an argument is missing or is not what the call takes")                                  \
    X(PERHAPS_E_OPTION, -2, "an option is out of its range, or this release does not know it")                         \
    X(PERHAPS_E_UNSUPPORTED, -3, "this filter cannot do that")                                                         \
    X(PERHAPS_E_MEMORY, -4, "there is not enough memory")                                                              \
    X(PERHAPS_E_LIMIT, -5, "a limit of the kind, the machine or the format is reached")                                \
    X(PERHAPS_E_MISMATCH, -6, "the filters differ in what must be equal")                                              \
    X(PERHAPS_E_READ_ONLY, -7, "the filter is a read-only view of a file")                                             \
    X(PERHAPS_E_SPACE, -8, "the buffer is too small")                                                                  \
    X(PERHAPS_E_NOT_A_FILTER, -9, "these bytes are not a perhaps filter")                                              \
    X(PERHAPS_E_VERSION, -10, "the filter was written in a format that this release does not read")                    \
    X(PERHAPS_E_DAMAGED, -11, "the bytes of the filter are damaged")                                                   \
    X(PERHAPS_E_PROBE, -12, "this build hashes or places keys differently from the one that wrote the filter")         \
    X(PERHAPS_E_IO, -13, "a file could not be read or written")                                                        \
    X(PERHAPS_E_FULL, -14, "the filter is full: this key cannot be added")                                             \
    X(PERHAPS_E_COPIES, -15, "the filter holds as many copies of this key, or of its look-alikes, as it can")          \
    X(PERHAPS_E_AMBIGUOUS, -16, "several layers match this key, so that it cannot be removed from the right one")      \
    X(PERHAPS_E_KEY, -17, "the secret key is not the one of this filter")                                              \
    X(PERHAPS_E_JOURNAL, -18, "the journal of the filter is missing, or is not the one of this filter")

#define PERHAPS_ERROR_ENUMERATOR(name, code, message) name = (code),
enum perhaps_error_code { PERHAPS_OK = 0, PERHAPS_ERROR_TABLE(PERHAPS_ERROR_ENUMERATOR) };
#undef PERHAPS_ERROR_ENUMERATOR

/* Why a call failed. Set `size`; the rest is written on failure only.
 *
 * `text` is a whole sentence that names the thing, the reason and, where there is one, the remedy, for
 * example "chunk 17 of 240 is damaged (bytes 17825792 to 18874367); rebuild the filter or restore the file".
 * It does not repeat the subject, so that "perhaps: SUBJECT: TEXT" reads well. Always terminated; a text or
 * a subject that does not fit is cut.
 *
 * PERHAPS_E_DAMAGED with a `limit` above 0 is a chunk of the payload: `value` and `limit` are its first and its last byte
 * in the file. With a `limit` of 0 it is other damage, and only the text says where. */
typedef struct perhaps_error {
    size_t size;       /* sizeof(perhaps_error), set by the caller */
    int code;          /* one of PERHAPS_ERROR_TABLE */
    int system_error;  /* errno of a failed system call, otherwise 0 */
    uint64_t value;    /* the offending value where there is one: an offset, a size, a version */
    uint64_t limit;    /* what it was held against */
    char subject[256]; /* the file, option or section concerned; may be empty */
    char text[256];
} perhaps_error;

/* The message of a code, as in the table; for 0 "success", for anything else "unknown error". Never NULL; a
 * constant. */
PERHAPS_API const char *perhaps_message(int code);

/* The name of a code ("PERHAPS_E_DAMAGED"); "PERHAPS_OK" for 0, "PERHAPS_E_UNKNOWN" otherwise. A constant. */
PERHAPS_API const char *perhaps_error_name(int code);

/* "0.1.0", the version of the library that runs, which may be newer than this header. A constant. */
PERHAPS_API const char *perhaps_version(void);

/* ---------------------------------------------------------------- options */

/* Where every byte of a filter comes from. All three members are set, or the whole pointer is NULL for the
 * default. `allocate` returns memory of at least `bytes` bytes at a multiple of `alignment` (a power of two,
 * at most 4096), or NULL; it need not be zeroed. `release` gets the pointer with the same two numbers and
 * never NULL. Both may be called from any thread that uses a filter made with them, and the structure is
 * copied: only `context` must outlive the filters. */
typedef struct perhaps_allocator {
    void *context;
    void *(*allocate)(void *context, size_t bytes, size_t alignment);
    void (*release)(void *context, void *memory, size_t bytes, size_t alignment);
} perhaps_allocator;

/* The kinds of filter. Numbers are part of the file format. */
enum perhaps_kind {
    PERHAPS_KIND_DEFAULT = 0,  /* bloom */
    PERHAPS_KIND_BLOOM = 1,    /* the textbook Bloom filter: k bits anywhere in m; p from 0.5 to 1e-9 */
    PERHAPS_KIND_BLOCKED = 2,  /* all bits of a key in one cache line: the fastest, a little larger; p from 0.25
                                 to 1e-6 */
    PERHAPS_KIND_COUNTING = 3, /* counters instead of bits: how often at most, and remove; w times the memory of
                                  bloom for counters of w bits; p from 0.5 to 1e-9 */
    PERHAPS_KIND_CUCKOO = 4    /* fingerprints in buckets: remove at about the memory of bloom, but it can be full;
                                  p from 0.1 to 4e-9 */
};

/* What a second add of the same key does. Numbers are part of the file format. bloom and blocked have no choice. */
enum perhaps_policy {
    PERHAPS_POLICY_DEFAULT = 0,     /* multiset where there is a choice; unique in cuckoo filters that grow */
    PERHAPS_POLICY_MULTISET = 1,    /* counting, cuckoo: every add counts, every remove takes one back */
    PERHAPS_POLICY_UNIQUE = 2,      /* cuckoo: an add whose fingerprint is there already takes no slot. remove is
                                       refused: it could take away the only slot of several keys */
    PERHAPS_POLICY_CONSERVATIVE = 3 /* counting: an add raises only the smallest of its counters (Estan and Varghese
                                       2002): tighter counts for frequent keys. remove is refused: a counter does not
                                       say any more how many keys rely on it */
};

/* Where the 64-bit hash of a key comes from. Numbers are part of the file format. Whatever its source, the
 * hash is mixed again with the seed before it is used, so plain integers and hashes whose top bits were used
 * for sharding are good input to the _hash calls. */
enum perhaps_hash_source {
    PERHAPS_HASH_DEFAULT = 0, /* XXH3; SIPHASH where a secret key is given */
    PERHAPS_HASH_XXH3 = 1,    /* XXH3-64 of the key's bytes with the filter's seed; not for keys that an
                                 adversary chooses */
    PERHAPS_HASH_CALLER = 2,  /* the caller hashes: only the _hash calls work, the others are refused */
    PERHAPS_HASH_SIPHASH = 3  /* SipHash-2-4 (Aumasson and Bernstein 2012) of the key's bytes under a secret key: for
                                 keys that an adversary chooses. See "Keyed filters" below */
};

/* Keyed filters. Whoever knows how a filter hashes can find, offline, keys that it takes for present, keys that fill it
 * far beyond its rate, or keys whose removal takes away another one; docs/security.md measures it. A filter whose hash
 * source is SIPHASH hashes under a secret key of PERHAPS_KEY_BYTES bytes, and without the key all of that is guessing.
 *
 * The key is 16 bytes from a source of randomness, not a password. The library copies it, never writes it anywhere, and
 * overwrites its copy before it gives the memory back (perhaps_free(), and every call that fails). The file holds a check
 * value of the key (docs/format.md), so that another key is refused: PERHAPS_E_KEY. The seed is mixed in as always, and
 * is no secret.
 *
 * Secret is the key alone, and with it what perhaps_hash() returns. Answers are not: somebody who may ask, and sees them,
 * can remember which keys are false positives, and ask for those again.
 *
 * A library that was built without libsodium refuses to make or load such filters (PERHAPS_E_UNSUPPORTED), but for
 * PERHAPS_OPEN_KEYLESS. Time: hashing takes about five times as long as with XXH3 (measured in docs/security.md). */
#define PERHAPS_KEY_BYTES 16

/* What happens to an add of a new key when the filter holds as many as it was made for. */
enum perhaps_at_capacity {
    PERHAPS_AT_CAPACITY_GO_ON = 0, /* taken, as long as it can be: the FPR rises above p. Cuckoo filters then fill up */
    PERHAPS_AT_CAPACITY_REFUSE = 1, /* PERHAPS_E_FULL */
    PERHAPS_AT_CAPACITY_GROW = 2    /* taken by a new, larger layer; see "Growth" below */
};

/* Growth. A growing filter is a list of layers, each a filter of its own, the next one `growth` times as large as the
 * one before. A key is in the filter when it is in any layer, so the error rates add up: layer i (from 0) gets the
 * budget p * (1/((i+1)(i+2)) + 1/PERHAPS_LAYERS_MAX) / 2, and these sum to less than p. Where
 * max_capacity says how far that will be, the budgets are planned for exactly that, each layer's in proportion to its
 * capacity (strict for the small layers, where it costs little): memory is then close to that of a filter sized right
 * from the start. Look-ups begin with the last layer, which takes the new keys
 * (shared cuckoo filters: with the largest). There is no merging, and counting filters do
 * not grow.
 *
 * A layer is full when as many adds as its capacity changed it, or, for bloom, when its bits say so. What the filter
 * cannot grow beyond is PERHAPS_E_LIMIT, and nothing is lost: max_capacity, max_bytes, PERHAPS_LAYERS_MAX layers, or the
 * smallest p of the kind.
 *
 * Cuckoo: the buckets of every layer are a multiple of those of the smaller ones, and where it is larger its fingerprints
 * only append bits (policy multiset with max_capacity shares p out evenly for that). Keys that look alike to the larger
 * layer then look alike to the smaller one too, so that the larger one folds into the smaller one exactly, without the
 * keys: perhaps_compact(). And a key that several layers match is removed from the largest of them, as perhaps_remove()
 * explains. It holds up to 10^9 keys. Beyond that, or when fingerprint_bits were asked for that are too few for large
 * tables, and with policy unique, layers that would need more bits do not fold into smaller ones, and neither holds for
 * them (docs/cuckoo.md). */
#define PERHAPS_LAYERS_MAX 32

/* How a filter may be used; see "Threads" above. Not a part of the file: a loaded filter gets the like of them from
 * perhaps_load_options. */
enum perhaps_flag {
    PERHAPS_SHARED = 1, /* threads may change it at the same time */
    PERHAPS_CLAIM = 2   /* shared, and: of several concurrent adders of a key that was surely absent, exactly one is
                           told 1 */
};

/* What to create. Exactly two of capacity, fpr and bytes are given (not zero); the third follows from them.
 *
 * Sizing (Bloom 1970): m = -n ln p / (ln 2)^2 bits and k = (m/n) ln 2 positions are the ideal; the library
 * takes the whole number k and the smallest m, in units of 512 bits, whose *exact* expected FPR at capacity,
 * E[(X/m)^k] over the number X of bits set by n keys, is at most p. n = 1,000,000 and p = 0.01 give 9,593,344
 * bits (1.14 MiB, 9.59 a key) and k = 7. For blocked filters the expectation is the mixture over unevenly filled
 * blocks, and the layout of a block (32 or 64 bytes, lanes of 32 or 64 bits, one or two bits in each) follows from p:
 * the same n and p give 10,529,280 bits. A 64-bit hash alone confuses keys at a rate of n/2^64; that is taken
 * off p first, and a p below four times that is refused (PERHAPS_E_LIMIT). */
typedef struct perhaps_options {
    size_t size;                        /* sizeof(perhaps_options) */
    uint32_t kind;                      /* enum perhaps_kind */
    uint32_t hash_source;               /* enum perhaps_hash_source */
    uint64_t capacity;                  /* n: distinct keys for which fpr is promised; 0: from the other two */
    double fpr;                         /* p: the rate at capacity; 0: from the other two */
    uint64_t bytes;                     /* most memory for the filter's bits; 0: from the other two */
    uint64_t seed;                      /* another seed, another filter; the same seed, the same bytes */
    const perhaps_allocator *allocator; /* NULL: the C library's */
    uint32_t policy;                    /* enum perhaps_policy */
    uint32_t counter_bits;              /* counting: 4 (0: that), 8 or 16; a counter of w bits sticks at 2^w - 1 */
    uint32_t slots;                     /* cuckoo: fingerprints a bucket, 1, 2, 4 (0: that) or 8 */
    uint32_t fingerprint_bits;          /* cuckoo: 4 to 32; 0: as few as p allows. More make the FPR smaller than
                                           asked; fewer than p needs are refused */
    uint32_t search;                    /* cuckoo: buckets that an add looks at for a relocation path before it says
                                           PERHAPS_E_FULL, 2 to PERHAPS_SEARCH_MAX; 0: PERHAPS_SEARCH_DEFAULT */
    uint32_t at_capacity;               /* enum perhaps_at_capacity */
    uint32_t growth;                    /* growing: 2 (0: that), 4 or 8 */
    uint32_t flags;                     /* set of enum perhaps_flag */
    uint64_t max_capacity;              /* growing: distinct keys to plan for and to stop at; 0: unknown */
    uint64_t max_bytes;                 /* growing: most memory for all layers; 0: what the machine has */
    const uint8_t *key;                 /* SIPHASH: PERHAPS_KEY_BYTES secret bytes, not all zero; copied. NULL for the
                                           other sources */
} perhaps_options;

#define PERHAPS_SEARCH_DEFAULT 2048
#define PERHAPS_SEARCH_MAX 4096

/* A size for a filter, and what it delivers; filled by perhaps_size_for(). */
typedef struct perhaps_sizing {
    size_t size;               /* sizeof(perhaps_sizing), set by the caller */
    uint32_t kind;             /* the kind sized, never PERHAPS_KIND_DEFAULT */
    uint32_t positions;        /* k: bits looked at per key */
    uint64_t capacity;         /* n */
    double fpr;                /* p: as asked, or the smallest promise that n and bytes can keep */
    double fpr_expected;       /* the exact expectation at capacity; at most fpr, less because m comes in units */
    uint64_t bits;             /* m; counting: m counters times their bits; cuckoo: buckets * slots * fingerprint bits,
                            filled up to a multiple of 512 */
    uint64_t bytes;            /* bits/8: memory and, but for the header, file size */
    double bits_per_key;       /* bits/n */
    uint32_t policy;           /* never PERHAPS_POLICY_DEFAULT for kinds that have a choice */
    uint32_t counter_bits;     /* counting, otherwise 0 */
    uint32_t slots;            /* cuckoo, otherwise 0 */
    uint32_t fingerprint_bits; /* cuckoo, otherwise 0 */
    uint64_t buckets;          /* cuckoo, otherwise 0 */
} perhaps_sizing;

/* Answers "how big": any one of n, p and bytes from the other two, for options->kind. Allocates nothing;
 * hash_source, key, seed and allocator are checked but do not matter.
 *
 * From n and p: the smallest filter (of the layout that p gets). From n and bytes: the smallest p whose filter fits
 * into bytes; from p and bytes: the largest n. What comes out, put in again, gives the same filter. For a growing
 * filter (from n and p only) it is the size of its first layer.
 *
 * Returns 0 or PERHAPS_E_ARGUMENT, PERHAPS_E_OPTION (not exactly two given, p not a number or outside the
 * kind's range), PERHAPS_E_LIMIT (no filter of that kind can do it; the text says what could). Time: at most
 * some milliseconds (small filters are summed exactly). */
PERHAPS_API int perhaps_size_for(const perhaps_options *options, perhaps_sizing *sizing, perhaps_error *error);

/* ---------------------------------------------------------------- life of a filter */

/* A filter. Opaque: its layout may change in any release. */
typedef struct perhaps_filter perhaps_filter;

/* Makes an empty filter and stores it in *filter; release it with perhaps_free().
 *
 * Returns 0, or an error of perhaps_size_for(), or PERHAPS_E_MEMORY, or PERHAPS_E_UNSUPPORTED (a keyed filter, in a build
 * without libsodium). SIPHASH without a key, a key with another source, and a key of zeros (one that was forgotten) are
 * PERHAPS_E_OPTION. Time O(m): the bits are cleared. */
PERHAPS_API int perhaps_create(const perhaps_options *options, perhaps_filter **filter, perhaps_error *error);

/* The options with which perhaps_create() makes another filter like this one, for a rebuild: kind, hash source, seed,
 * capacity, p, policy, shape, what happens at capacity, growth and its limits, all as they were asked for. Made with
 * them and its key, a new filter encodes to the same bytes as this one did when it was new (but for metadata, and for
 * filters that perhaps_convert() made, whose size is that of another kind).
 *
 * Of a cuckoo filter, fingerprint_bits is 0 where they are as many as p needs, so that they go on to follow from p, and
 * otherwise as many as were asked for. `allocator`, `bytes` and `flags` are 0. The secret key is not handed out: set `key`.
 *
 * Set options->size. Returns 0, PERHAPS_E_ARGUMENT or PERHAPS_E_OPTION (the caller's structure is larger than this release
 * knows). Time: that of perhaps_size_for() for cuckoo, otherwise O(1). Any thread. */
PERHAPS_API int perhaps_options_of(const perhaps_filter *filter, perhaps_options *options);

/* Releases a filter and everything that it holds; a secret key is overwritten first. No other thread may be using it.
 * NULL is allowed. */
PERHAPS_API void perhaps_free(perhaps_filter *filter);

/* Forgets every key, keeps size, seed and metadata: afterwards the filter encodes to the same bytes as a new
 * one with the same options and metadata; the position (perhaps_position()) is dropped. Returns 0, PERHAPS_E_ARGUMENT,
 * PERHAPS_E_READ_ONLY or PERHAPS_E_KEY (loaded without its key). O(m). */
PERHAPS_API int perhaps_clear(perhaps_filter *filter);

/* ---------------------------------------------------------------- one key */

/* What the verbs do for each kind. "May" is a key's might_contain; UNBOUNDED is PERHAPS_COUNT_UNBOUNDED.
 *
 *                        add again        times(t >= 1)   count_at_most      remove        merge
 *   bloom, blocked       changes nothing  may             0 or UNBOUNDED     UNSUPPORTED   bits are united
 *   counting             counts           surely < t?     c, or UNBOUNDED    one back      counters are added
 *   counting, conserv.   counts           surely < t?     c, or UNBOUNDED    UNSUPPORTED   counters are added
 *   cuckoo, multiset     takes a slot     surely < t?     matching slots     one slot      slot by slot, or nothing
 *   cuckoo, unique       changes nothing  may             0 or UNBOUNDED     UNSUPPORTED   slot by slot, or nothing
 *
 * times(0) is 1 for every key of every kind. */

/* Adds a key.
 *
 *   1   Proof: just before, the key was surely absent (never added, or as often removed).
 *   0   The filter already answered "perhaps" for the key: it is in the filter, or is a false positive; in both cases
 *       it is present from now on. Filters that count have counted it, the others are unchanged.
 *   <0  PERHAPS_E_ARGUMENT (no filter, or no key but a length), PERHAPS_E_UNSUPPORTED (a CALLER filter),
 *       PERHAPS_E_KEY (a keyed filter, loaded without its key), PERHAPS_E_READ_ONLY. Cuckoo filters also PERHAPS_E_FULL
 *       (no free slot within `search` buckets) and PERHAPS_E_COPIES (both buckets hold nothing but this fingerprint:
 *       2 * slots copies); filters that refuse at capacity PERHAPS_E_FULL; filters that grow PERHAPS_E_LIMIT and
 *       PERHAPS_E_MEMORY. Nothing changed.
 *
 * Beyond its capacity a filter that neither refuses nor grows goes on taking keys as long as it can: none is lost, but
 * the FPR rises above the one asked for (perhaps_stats() says how far). A cuckoo filter holds as many distinct keys as
 * its capacity says (one slot a bucket: without that guarantee), and usually a few more, before it is full; copies of
 * one key crowd its two buckets, and it may be refused, with others, before that.
 * Time: one hash of the key and k memory accesses (blocked: one; cuckoo: two, and on the way to being full a search
 * that looks at no more than `search` buckets). */
PERHAPS_API int perhaps_add(perhaps_filter *filter, const void *key, size_t length);

/* Asks for a key.
 *
 *   0   Proof: the key was not added since the filter was made or cleared, or as often removed as added.
 *   1   Perhaps. The key was added, or the filter confuses it with others: that happens to a key that was
 *       never added with probability perhaps_statistics.fpr_now. Ask the store.
 *   <0  PERHAPS_E_ARGUMENT, PERHAPS_E_UNSUPPORTED, PERHAPS_E_KEY as in perhaps_add(). Nothing else fails.
 *
 * Any number of threads may ask at once. Time: one hash, and for bloom memory accesses up to the first clear
 * bit or counter (two on average for absent keys at capacity, k for present ones), for blocked one cache line, for
 * cuckoo two. */
PERHAPS_API int perhaps_might_contain(const perhaps_filter *filter, const void *key, size_t length);

/* Asks whether a key may have been added `times` times or more (less the removals).
 *
 *   0   Proof: it was added fewer times.
 *   1   Perhaps. perhaps_statistics says how often this is wrong: times_fpr for keys that were never added,
 *       times_fpr_next for keys that are one short. times = 0 is 1 for every key.
 *   <0  PERHAPS_E_ARGUMENT, PERHAPS_E_UNSUPPORTED (a CALLER filter), PERHAPS_E_KEY as in perhaps_add().
 *
 * Kinds that do not count answer as might_contain for every times >= 1. A counting filter whose counters for this key
 * all are at their maximum knows no more than that, and answers 1 whatever `times` is. */
PERHAPS_API int perhaps_might_contain_times(const perhaps_filter *filter, const void *key, size_t length,
                                            uint64_t times);

/* The most times that a key can have been added, less the removals: an upper bound, never too small unless a key was
 * removed that had not been added. 0 is proof of absence. PERHAPS_COUNT_UNBOUNDED: perhaps there, and no bound is
 * known (kinds that do not count; counters at their maximum). It is also the answer to misuse (perhaps_add() lists
 * it): nothing is known then either.
 *
 * Counting filters at capacity give the exact count for at least 1 - p of the keys (uncounted maxima aside). */
#define PERHAPS_COUNT_UNBOUNDED UINT64_MAX
PERHAPS_API uint64_t perhaps_count_at_most(const perhaps_filter *filter, const void *key, size_t length);

/* Takes back one add of a key.
 *
 *   1   Removed: one add less. The key may still be there: added more often, or a false positive, or kept by counters
 *       that reached their maximum and stay there (perhaps_statistics.saturated).
 *   0   Proof: the key was surely absent. Nothing changed.
 *   <0  PERHAPS_E_ARGUMENT, PERHAPS_E_READ_ONLY, PERHAPS_E_UNSUPPORTED (a kind or policy without remove, or a CALLER
 *       filter), PERHAPS_E_KEY. Nothing changed. PERHAPS_E_AMBIGUOUS: in a filter that has grown several layers match
 *       the key, and none of them folds into all the others. All but one mistake it for another, and it cannot be told
 *       which; it is kept, and counted in perhaps_statistics.ambiguous.
 *
 * Where several layers match and one of them folds into all the others (see "Growth"), it is removed from that one. Whatever
 * other key had its fingerprint there looks like this one to the others as well, and is answered from what this one had
 * there: no key becomes absent, and none is counted twice.
 *
 * ONLY REMOVE WHAT WAS ADDED. A key that was never added, but that the filter takes for present (probability fpr_now),
 * is removed like any other, and a key that shares its counters or its fingerprint then becomes a false negative. The
 * filter cannot know; the store can. Ask it first: perhaps_guard_remove() of guard.h does, before and after it removes from
 * the store, and takes a copy out of the filter only when the last row with the key is gone.
 * Time: as perhaps_add(), without the search. */
PERHAPS_API int perhaps_remove(perhaps_filter *filter, const void *key, size_t length);

/* The hash of a key as this filter's source and seed (SIPHASH: its secret key, and no seed) give it, for the _hash calls:
 * hash once, then ask several filters that share source and seed, or source and secret key. Stored in *hash. Under a
 * secret key it is a secret, too.
 *
 * Returns 0, PERHAPS_E_ARGUMENT, PERHAPS_E_UNSUPPORTED (a CALLER filter hashes nothing) or PERHAPS_E_KEY. */
PERHAPS_API int perhaps_hash(const perhaps_filter *filter, const void *key, size_t length, uint64_t *hash);

/* The verbs for a key whose hash is known: from perhaps_hash() of a filter
 * with the same source and seed, or on a CALLER filter any 64-bit value that stands for the key (two keys
 * with one value are one key to the filter; that is where n/2^64 comes from). Same results, except that no
 * source is refused. A hash of another source or seed is not noticed: it names another key. */
PERHAPS_API int perhaps_add_hash(perhaps_filter *filter, uint64_t hash);
PERHAPS_API int perhaps_might_contain_hash(const perhaps_filter *filter, uint64_t hash);
PERHAPS_API int perhaps_might_contain_times_hash(const perhaps_filter *filter, uint64_t hash, uint64_t times);
PERHAPS_API uint64_t perhaps_count_at_most_hash(const perhaps_filter *filter, uint64_t hash);
PERHAPS_API int perhaps_remove_hash(perhaps_filter *filter, uint64_t hash);

/* perhaps_might_contain_hash() without a call into the library and without its check for NULL: the first word of every
 * filter is the address of its own look-up function, made for its kind and for this processor. The shortest way for
 * keys that are hashes already, or 64-bit integers on a CALLER filter. Same results; a NULL filter crashes. */
typedef int perhaps_ask_function(const void *filter, uint64_t hash);
static inline int perhaps_ask_hash(const perhaps_filter *filter, uint64_t hash)
{
    perhaps_ask_function *const *ask = (perhaps_ask_function *const *)(const void *)filter;
#if defined(__GNUC__)
    return __atomic_load_n(ask, __ATOMIC_RELAXED)(filter, hash); /* perhaps_scrub() may exchange it; a plain load */
#else
    return (*ask)(filter, hash);
#endif
}

/* ---------------------------------------------------------------- many keys */

/* The batch calls do what a loop over the single calls would do, with the same results in the same order,
 * but keep many memory accesses in flight at once. Keys come in one of three shapes:
 *
 *   _many           one block of bytes; key i is data[offsets[i]] to data[offsets[i + 1]], so that offsets
 *                   has count + 1 entries, none below its predecessor
 *   _many_pointers  key i is keys[i], lengths[i] bytes long
 *   _many_hash      key i is hashes[i], as in the single _hash calls
 *
 * out[i] is set to the result (0, 1, or the count) of the single call for key i; in the calls that change the filter
 * out may be NULL.
 * *done, if done is not NULL, is set to the number of keys that were handled: the first ones, always, also
 * when the call fails; out[] is then written for exactly those, and nothing is changed for the others.
 * count = 0 is allowed, and the arrays may then be NULL.
 *
 * Many keys that are added to a bloom or counting filter of 32 to 160 MiB in one call, or asked for by might_contain (some
 * hundred thousand; of small p, with many bits a key, some ten thousand), may take memory from the filter's allocator until
 * the call returns: up to 23 MiB, to sort the keys by where they belong, and 8 bytes for each key among these that is not a
 * hash yet (at p = 1 % up to 6 MiB). That is faster where the memory is slow, which the call finds out by the clock. Where
 * it is not, or the allocator has none, the keys are taken as they come; nothing but the time depends on it. Never so:
 * shared filters, counting filters of the conservative policy, adding to filters that refuse or grow at capacity, asking
 * filters of several layers or opened by first touch.
 *
 * Returns 0 when all were done, or PERHAPS_E_ARGUMENT (a NULL array, offsets that run backwards, a NULL key
 * with a length), PERHAPS_E_UNSUPPORTED, PERHAPS_E_READ_ONLY, PERHAPS_E_KEY, as in the single calls; adding also
 * PERHAPS_E_FULL, PERHAPS_E_COPIES and PERHAPS_E_LIMIT, removing PERHAPS_E_AMBIGUOUS, which concern key *done: go on
 * behind it to handle the others. */
PERHAPS_API int perhaps_add_many(perhaps_filter *filter, const void *data, const uint64_t *offsets, size_t count,
                                 uint8_t *out, size_t *done);
PERHAPS_API int perhaps_add_many_pointers(perhaps_filter *filter, const void *const *keys, const size_t *lengths,
                                          size_t count, uint8_t *out, size_t *done);
PERHAPS_API int perhaps_add_many_hash(perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out,
                                      size_t *done);
PERHAPS_API int perhaps_might_contain_many(const perhaps_filter *filter, const void *data, const uint64_t *offsets,
                                           size_t count, uint8_t *out, size_t *done);
PERHAPS_API int perhaps_might_contain_many_pointers(const perhaps_filter *filter, const void *const *keys,
                                                    const size_t *lengths, size_t count, uint8_t *out, size_t *done);
PERHAPS_API int perhaps_might_contain_many_hash(const perhaps_filter *filter, const uint64_t *hashes, size_t count,
                                                uint8_t *out, size_t *done);
PERHAPS_API int perhaps_might_contain_times_many(const perhaps_filter *filter, const void *data,
                                                 const uint64_t *offsets, size_t count, uint64_t times, uint8_t *out,
                                                 size_t *done);
PERHAPS_API int perhaps_might_contain_times_many_pointers(const perhaps_filter *filter, const void *const *keys,
                                                          const size_t *lengths, size_t count, uint64_t times,
                                                          uint8_t *out, size_t *done);
PERHAPS_API int perhaps_might_contain_times_many_hash(const perhaps_filter *filter, const uint64_t *hashes,
                                                      size_t count, uint64_t times, uint8_t *out, size_t *done);
PERHAPS_API int perhaps_count_at_most_many(const perhaps_filter *filter, const void *data, const uint64_t *offsets,
                                           size_t count, uint64_t *out, size_t *done);
PERHAPS_API int perhaps_count_at_most_many_pointers(const perhaps_filter *filter, const void *const *keys,
                                                    const size_t *lengths, size_t count, uint64_t *out, size_t *done);
PERHAPS_API int perhaps_count_at_most_many_hash(const perhaps_filter *filter, const uint64_t *hashes, size_t count,
                                                uint64_t *out, size_t *done);
PERHAPS_API int perhaps_remove_many(perhaps_filter *filter, const void *data, const uint64_t *offsets, size_t count,
                                    uint8_t *out, size_t *done);
PERHAPS_API int perhaps_remove_many_pointers(perhaps_filter *filter, const void *const *keys, const size_t *lengths,
                                             size_t count, uint8_t *out, size_t *done);
PERHAPS_API int perhaps_remove_many_hash(perhaps_filter *filter, const uint64_t *hashes, size_t count, uint8_t *out,
                                         size_t *done);

/* ---------------------------------------------------------------- whole filters */

/* Adds to `into` every key that `from` holds. Both must be of one kind, size, shape, policy, hash source, seed and secret
 * key, as two filters made with the same options are; capacity and target stay those of `into`. Afterwards `into` answers
 * "perhaps" for every key added to either. Bloom, blocked and counting (multiset policy): the result equals, bit for
 * bit, adding all keys to one filter. Conservative counters are added too: still never too small, but larger than one
 * filter's would be. Cuckoo: every fingerprint of `from` is inserted, in a scratch copy that replaces the table when
 * all fit.
 *
 * How many adds that was is not known exactly any more: statistics.adds becomes the sum, which counts common keys twice
 * (adds_exact turns 0 unless one of the two was empty), while distinct_estimate and fpr_now stay what the payload
 * says. Replicas that merge each other again and again double their sums: adds, copies and removals stay at 2^64 - 1.
 * Merging a filter into itself changes nothing where repeated adds change nothing, and is refused where they count.
 *
 * Returns 0, PERHAPS_E_ARGUMENT (also: a filter that counts, into itself), PERHAPS_E_MISMATCH (the text names what
 * differs, with both values; of secret keys the check values), PERHAPS_E_READ_ONLY (`into` is a view of a file),
 * PERHAPS_E_KEY (one was loaded without its key), PERHAPS_E_DAMAGED (`from` is a view of a file that is damaged); cuckoo
 * also PERHAPS_E_FULL, PERHAPS_E_COPIES and PERHAPS_E_MEMORY (a second table of the size of `into` is needed). O(m). */
PERHAPS_API int perhaps_merge(perhaps_filter *into, const perhaps_filter *from, perhaps_error *error);

/* What one call of perhaps_compact() did; filled by it. */
typedef struct perhaps_compaction {
    size_t size;          /* sizeof(perhaps_compaction), set by the caller */
    uint32_t layers;      /* that there are now */
    uint32_t dropped;     /* layers that this call dropped because they were empty, or folded to the end */
    uint64_t moved;       /* fingerprints that this call moved to another layer */
    uint64_t bytes_freed; /* memory of the layers that it dropped; "Memory" below says when it is released */
} perhaps_compaction;

/* Puts a growing cuckoo filter from which keys were removed into fewer layers, without its keys and in slices: drops layers
 * that are empty, and folds a layer into a smaller one that has room for what is left in it. What is left of the layers
 * promises no more than p, as before. The first layer stays, empty or not. Afterwards the layer with the most room takes
 * new keys, and the next one that the filter grows by is the next larger one, or, within max_capacity, one that was dropped.
 * What was added twice is still there twice; copies that ambiguous removals left stay: only a rebuild from the store
 * knows them.
 *
 * `work` is the most buckets that the call looks through, 0: all there are. A bucket takes one memory access, and each of
 * its fingerprints an add to another layer. Fingerprints are added there before they are taken here. Between two slices the
 * filter is whole: every call does what it says, removals included, and what is encoded or saved is a filter like any
 * other. One may stop after any slice; the next one goes on, or, in a filter that was loaded, begins again.
 *
 * A PERHAPS_SHARED filter is compacted beside all other calls. Readers do not wait and miss no key, wherever its fingerprint
 * is on its way; "surely absent" is proof as always. A key that no layer has is asked for once more where the list of
 * layers changed meanwhile, at most 32 times, then the answer is "perhaps" (for a count PERHAPS_COUNT_UNBOUNDED), and
 * counted in perhaps_statistics.unsettled; fingerprints that move do not disturb readers. Adds, removes and snapshots wait
 * for 256 buckets at most, whatever `work` is (and once for a dropped layer's pages to go back), and then go first.
 * Several threads may compact at once: they share one account of what is to be done, and each is told what it did
 * itself.
 *
 * Memory: an unshared filter releases a layer when it is dropped. In a shared one readers may still be in it, so its
 * address stays theirs: until perhaps_free(), or until the filter grows by a layer of that size, which takes it over. So
 * there is never more than one layer of each size, in use or kept. With the C library's allocator the whole pages
 * of what is kept go back to the system at once; what another allocator gave stays allocated.
 *
 *   1   There is more to do: call again.
 *   0   Nothing (more) can be dropped or folded now. Filters without growth, and those of policy unique, which nothing is
 *       removed from, are never more than that.
 *   <0  PERHAPS_E_ARGUMENT, PERHAPS_E_OPTION (the size of *result), PERHAPS_E_READ_ONLY, PERHAPS_E_KEY,
 *       PERHAPS_E_UNSUPPORTED: a kind other than cuckoo (rebuild it from the store), or a filter with a journal (which
 *       records what is done to keys). Nothing changed.
 *
 * result may be NULL. Allocates nothing. */
PERHAPS_API int perhaps_compact(perhaps_filter *filter, uint64_t work, perhaps_compaction *result,
                                perhaps_error *error);

/* Makes a filter of another kind that answers might_contain exactly as `from` does, for all 2^64 hashes: small read-only
 * copies of a filter that is maintained elsewhere. Counting to bloom is the one conversion there is: every counter above
 * zero becomes a bit. Capacity, p, seed, hash source, secret key, metadata and position are taken over, the new filter
 * is independent. `allocator` may be NULL for the C library's.
 *
 * Returns 0, PERHAPS_E_ARGUMENT, PERHAPS_E_UNSUPPORTED (the text says from what to what), PERHAPS_E_OPTION (a number
 * that is no kind, an allocator of which a part is missing), PERHAPS_E_KEY (loaded without its key), PERHAPS_E_MEMORY.
 * O(m). */
PERHAPS_API int perhaps_convert(const perhaps_filter *from, uint32_t kind, const perhaps_allocator *allocator,
                                perhaps_filter **filter, perhaps_error *error);

#define PERHAPS_TIMES 16
#define PERHAPS_PATHS 8

/* What is known about a filter; filled by perhaps_stats(). */
typedef struct perhaps_statistics {
    size_t size;              /* sizeof(perhaps_statistics), set by the caller */
    uint32_t kind;            /* enum perhaps_kind */
    uint32_t hash_source;     /* enum perhaps_hash_source */
    uint64_t seed;            /* as asked at creation */
    uint64_t capacity;        /* n: distinct keys for which fpr_target is promised */
    uint64_t adds;            /* adds that returned 1: every one surely a new key at that time */
    int adds_exact;           /* 1; 0 after a merge: adds then counts keys common to both sides twice */
    uint32_t layers;          /* 1 unless the filter has grown. What follows is summed over them, unless it says else */
    uint32_t positions;       /* k: bits looked at per key */
    uint32_t format_version;  /* of the file that it came from, or that it would be written in */
    uint64_t bits;            /* m; counting: m counters times their bits; cuckoo: as perhaps_sizing.bits */
    uint64_t set_bits;        /* X; for blocked filters fill times m; counting: counters above zero; cuckoo: slots
                                 taken */
    double fill;              /* X/m, about 0.5 at capacity; cuckoo: the load, slots taken / slots, at most 0.95 or so
                                 at capacity */
    double distinct_estimate; /* distinct keys added (and not removed), from the fill: -(m/k) ln(1 - X/m) (Swamidass and
                                 Baldi 2007); infinite when every bit is set. Cuckoo: the slots taken */
    double fpr_target;        /* p, as asked at creation: what is promised at capacity, not what is */
    double fpr_now;           /* what a key that was never added meets at this moment: (X/m)^k for bloom and counting;
                                 for blocked the mean over the blocks of the product of their lanes' fills; for cuckoo,
                                 of u slots taken in b buckets with F fingerprints to choose from (2^f - 1, or a few
                                 less in layers that fold: docs/cuckoo.md), 1 - (1 - 2/(F b))^u: with every slot a
                                 distinct key; unique: 2 u / (F b) */
    uint64_t bytes;           /* memory or mapped file bytes that hold the payload */
    uint64_t encoded_bytes;   /* what perhaps_encode() would write, and perhaps_save() with it */
    double bits_per_key;      /* bits/n at capacity, whatever was added so far */

    uint32_t at_capacity;  /* enum perhaps_at_capacity */
    uint32_t growth;       /* factor from layer to layer; 0: does not grow */
    uint64_t capacity_now; /* of all layers together; not less than capacity */
    uint64_t max_capacity; /* as asked at creation */
    uint64_t max_bytes;    /* as asked at creation */
    double fpr_bound;      /* what the layers so far promise together, each at its capacity: at most fpr_target */
    uint64_t ambiguous; /* removals answered with PERHAPS_E_AMBIGUOUS: copies that stay until a rebuild, which they are
                              a reason for: perhaps_plan_rebuild() of guard.h */

    /* Kinds that count or remove; 0 in the others. */
    uint32_t policy;       /* enum perhaps_policy */
    uint32_t counter_bits; /* counting */
    uint64_t copies;       /* adds less removes that succeeded: keys held, with their repetitions (cuckoo, unique: the
                              slots taken) */
    uint64_t removals;     /* removes that returned 1 */

    /* Counting. */
    uint64_t saturated;       /* counters at their maximum, where they stay */
    double saturated_share;   /* saturated / m */
    double saturation_chance; /* that at least one counter is saturated after one add each of as many distinct keys as
                                  the fill tells: 1 - (1 - P(Poisson(l) >= maximum))^m, l = -ln(1 - X/m) */
    double times_fpr[PERHAPS_TIMES];      /* [t - 1]: that a key never added is "perhaps t times", from the counters */
    double times_fpr_next[PERHAPS_TIMES]; /* [t - 1]: that a key added t - 1 times is "perhaps t times" */

    /* Cuckoo. Counted since the filter was made, loaded or cleared; not kept in files. */
    uint32_t slots;                /* a bucket */
    uint32_t fingerprint_bits;     /* f */
    uint64_t buckets;              /* b */
    uint64_t paths[PERHAPS_PATHS]; /* [l]: adds that moved l fingerprints to make room; the last one: that or more */
    uint32_t deepest;              /* the most fingerprints that one add moved */
    uint32_t reserved;             /* 0 */
    uint64_t refused_full;         /* adds refused with PERHAPS_E_FULL */
    uint64_t refused_copies;       /* adds refused with PERHAPS_E_COPIES */
    uint64_t refused_early;        /* of refused_full: at a load far below what this shape reaches. The hash of a CALLER
                                      filter is then suspect, or many keys look alike */
    uint64_t unsettled;            /* shared filters: look-ups answered "perhaps" because fingerprints of their buckets
                                      were moving, or the list of layers changing, each time they looked again */

    uint32_t key_check; /* SIPHASH: tells keys apart without telling them, as in docs/format.md; otherwise 0 */
    uint32_t reserved2; /* 0 */

    /* Filters that are a view of a file; 0 in the others. A chunk is 1 MiB of a layer's payload with a checksum of its own
     * in the file. */
    uint64_t chunks;
    uint64_t chunks_verified; /* whose bytes were found to be those that were saved, and not damaged since */
    uint64_t chunks_damaged;  /* found damaged, by a question (first touch) or perhaps_scrub(); they stay that */
    uint64_t damaged_answers; /* "perhaps", and counts, given where damaged bytes could have said more */
    uint32_t recorded;        /* 1: opened by first touch; see there for what is then taken from the file's header */
    uint32_t reserved3;       /* 0 */
} perhaps_statistics;

/* Fills *statistics for the whole filter. Of several layers, sizes and counts are summed; fill is set_bits / bits (cuckoo:
 * slots taken / slots), positions and fingerprint_bits are those of the newest layer, fpr_now is 1 - the product of
 * (1 - fpr_now) over the layers. Returns 0, PERHAPS_E_ARGUMENT or PERHAPS_E_OPTION (the caller's structure is larger than
 * this release knows). O(layers) for bloom and cuckoo, whose set bits and slots are kept, not counted.
 * Counting filters' counters are counted here, in the way of the blocked ones. A blocked filter's are counted here: all
 * of them in filters of up to 2^18 blocks (at most 16 MiB), and in larger ones those of 2^18 evenly spaced blocks, which
 * estimates the whole with a standard deviation below 0.05 % for fill; for fpr_now 0.2 % at p = 0.01 and 0.001, 1.4 % at
 * 1e-6. */
PERHAPS_API int perhaps_stats(const perhaps_filter *filter, perhaps_statistics *statistics);

/* The same for one layer, counted from 0, the first: capacity and fpr_target are the layer's own. Also
 * PERHAPS_E_ARGUMENT for a layer that there is not, or not any more, where threads clear or compact the filter. */
PERHAPS_API int perhaps_stats_of_layer(const perhaps_filter *filter, uint32_t layer, perhaps_statistics *statistics);

/* The name of a kind ("bloom"), for messages and options; NULL for a number that is none. A constant. */
PERHAPS_API const char *perhaps_kind_name(uint32_t kind);

/* The name of a policy ("multiset"), likewise; NULL for PERHAPS_POLICY_DEFAULT too. Numbered from 1 without gaps. */
PERHAPS_API const char *perhaps_policy_name(uint32_t policy);

/* The smallest and the largest p that a kind can promise: 1e-9 and 0.5 for bloom and counting, 1e-6 and 0.25 for
 * blocked, 4e-9 and 0.1 for cuckoo. PERHAPS_E_OPTION for a
 * number that is no kind, otherwise 0. Kinds are numbered from 1 without gaps, so that a loop finds them. */
PERHAPS_API int perhaps_kind_range(uint32_t kind, double *smallest, double *largest);

/* Up to 64 KiB that travel with the filter: what it was made from, whose it is. Never looked at.
 *
 * perhaps_metadata() stores a pointer to the filter's own copy, valid until the filter is freed or its
 * metadata set, and its length; NULL and 0 when there is none. perhaps_set_metadata() replaces it.
 * Return 0, PERHAPS_E_ARGUMENT; setting also PERHAPS_E_LIMIT (more than PERHAPS_METADATA_MAX),
 * PERHAPS_E_MEMORY, PERHAPS_E_READ_ONLY, PERHAPS_E_KEY. */
#define PERHAPS_METADATA_MAX 65536
PERHAPS_API int perhaps_metadata(const perhaps_filter *filter, const void **metadata, size_t *length);
PERHAPS_API int perhaps_set_metadata(perhaps_filter *filter, const void *metadata, size_t length);

/* Up to 4096 bytes that say up to where of an authoritative store a filter follows: with them, whoever loads it knows from
 * where on to catch up. The library keeps them (encode, save, load, convert, reopen, merge: those of the filter that is
 * merged into) and never looks at them; those of perhaps/guard.h are written and read by perhaps_guard_save() and
 * perhaps_guard_reload(). A position must be taken from the store *before* the filter is encoded: then the file lacks no key
 * that the store had at it.
 *
 * perhaps_clear() drops the position: the empty filter lacks them all. perhaps_remove() keeps it: whoever removes keys
 * that the store has sets none (NULL, 0).
 *
 * Pointers, results and threads as for metadata; the limit is PERHAPS_POSITION_MAX. Of a durable filter a position is
 * recorded in its journal, in order with the keys, when the call returns; setting one can then fail with PERHAPS_E_IO.
 * */
#define PERHAPS_POSITION_MAX 4096
PERHAPS_API int perhaps_position(const perhaps_filter *filter, const void **position, size_t *length);
PERHAPS_API int perhaps_set_position(perhaps_filter *filter, const void *position, size_t length);

/* ---------------------------------------------------------------- bytes and files */

/* Writes a filter in the format of docs/format.md: the same bytes on every machine, fit for a file, a
 * database value or a message. *written becomes their number, perhaps_statistics.encoded_bytes.
 *
 * Returns 0; PERHAPS_E_SPACE when `capacity` is less than that (the error's `limit` says what is needed;
 * `value` what was given); PERHAPS_E_KEY (loaded without its key); PERHAPS_E_ARGUMENT. O(m). */
PERHAPS_API int perhaps_encode(const perhaps_filter *filter, void *buffer, size_t capacity, size_t *written,
                               perhaps_error *error);

/* Bits of perhaps_load_options.flags. */
enum perhaps_load_flag {
    PERHAPS_OPEN_COPY = 1,    /* perhaps_open(): read the file into memory of its own instead of mapping it. The
                                filter can then be changed (in memory; save it to keep that), and nobody who
                                truncates the file meanwhile can harm the process */
    PERHAPS_OPEN_SHARED = 2,  /* as PERHAPS_SHARED; of no consequence for a mapped filter, which nobody changes */
    PERHAPS_OPEN_CLAIM = 4,   /* as PERHAPS_CLAIM */
    PERHAPS_OPEN_KEYLESS = 8, /* where no key is given, a keyed filter is loaded without it. Its statistics and metadata
                                can be read, and all checksums hold; whether this build hashes as the one that wrote it
                                was not checked. It says nothing of keys: calls that take their bytes, or that change or
                                write the filter, are PERHAPS_E_KEY, and every hash is answered "perhaps" (1, and
                                PERHAPS_COUNT_UNBOUNDED). Of no consequence for filters that have no key */
    PERHAPS_OPEN_FIRST_TOUCH = 16 /* perhaps_open(), mapping: the payload is not read before it is asked for; see "First
                                touch" below. Of no consequence where all bytes are read anyway (PERHAPS_OPEN_COPY,
                                perhaps_decode()) */
};

/* How to load; NULL stands for all zero. */
typedef struct perhaps_load_options {
    size_t size;                        /* sizeof(perhaps_load_options) */
    uint32_t flags;                     /* enum perhaps_load_flag */
    uint32_t reserved;                  /* 0 */
    const perhaps_allocator *allocator; /* NULL: the C library's */
    const uint8_t *key;                 /* the secret key of a SIPHASH filter, PERHAPS_KEY_BYTES bytes, copied; NULL for
                                           the others, which are not loaded with a key: whoever gives one expects a
                                           filter that was made with it, and this one could be anybody's */
} perhaps_load_options;

/* Makes a filter of its own from encoded bytes, which are not needed afterwards. Any bytes are safe: every
 * field, range and checksum is validated before anything is believed, and nothing larger than `length`
 * justifies is allocated. The bytes must be exactly one filter. A filter whose probe fingerprint this build
 * does not reproduce is refused: its answers could be wrong. So is one that requires a journal, which bytes do not have
 * (PERHAPS_E_JOURNAL).
 *
 * Returns 0; PERHAPS_E_NOT_A_FILTER (other magic, or too short to have one), PERHAPS_E_VERSION (a newer
 * format, or a section that must be understood and is not), PERHAPS_E_DAMAGED (a checksum, a length, a field
 * out of range; the text says where), PERHAPS_E_KEY (a keyed filter without its key, with another one, or a key for a
 * filter that has none; the text says which), PERHAPS_E_UNSUPPORTED (a keyed filter, in a build without libsodium),
 * PERHAPS_E_PROBE, PERHAPS_E_MEMORY, PERHAPS_E_ARGUMENT, PERHAPS_E_OPTION. O(length). */
PERHAPS_API int perhaps_decode(const void *bytes, size_t length, const perhaps_load_options *options,
                               perhaps_filter **filter, perhaps_error *error);

/* Opens a file as a filter. By default the file is mapped and the filter is read-only: it takes no memory of
 * its own, and processes that open one file share it. Everything is verified before the call returns, as in
 * perhaps_decode(), large payloads by several threads; or, with PERHAPS_OPEN_FIRST_TOUCH, piece by piece later. Files
 * are replaced, not changed in place, by perhaps_save(), so an open filter stays what it was; whoever *truncates* a
 * mapped file kills the processes that map it: use PERHAPS_OPEN_COPY for files that others may write in place.
 *
 * A file that requires its journal (see "Durable filters" below) is opened with it: every change that had been acknowledged
 * before the call began is in the filter. The pages that the journal changes become the process's own; a filter that
 * grows is copied.
 *
 * Returns 0, an error of perhaps_decode(), PERHAPS_E_JOURNAL or PERHAPS_E_DAMAGED for the journal, or PERHAPS_E_IO with
 * system_error set (PERHAPS_E_NOT_A_FILTER for a directory or a device). */
PERHAPS_API int perhaps_open(const char *path, const perhaps_load_options *options, perhaps_filter **filter,
                             perhaps_error *error);

/* First touch (PERHAPS_OPEN_FIRST_TOUCH): perhaps_open() verifies the header with all that is in it, and returns, in a
 * millisecond or so whatever the size. A chunk of the payload (1 MiB) is verified when a question first needs a byte of it,
 * once, by whichever thread comes first.
 *
 * A damaged chunk says nothing. Questions go on without it, and are never answered "absent" because of what stands there:
 * a key is called absent only where a bit, counter, block or bucket in a good chunk proves it, otherwise it is "perhaps".
 * A count is then a bound by the good counters alone, or PERHAPS_COUNT_UNBOUNDED. Such answers are counted
 * (perhaps_statistics.damaged_answers), and so are damaged chunks, which stay damaged until the file is opened anew. Calls
 * that need the whole payload (perhaps_encode(), perhaps_save(), perhaps_convert(), perhaps_merge() from such a filter)
 * verify what is left of it, and are PERHAPS_E_DAMAGED when a chunk is not what was saved.
 *
 * A file that requires a journal is verified as a whole all the same: replaying changes it.
 *
 * Until all chunks are known to be good, questions go key by key, also in batches: each looks up in which chunks its bytes
 * are (some nanoseconds, and no memory accesses in flight together). From then on the filter is as fast as any other.
 *
 * Statistics take what the header records and never read the payload (perhaps_statistics.recorded is 1): set_bits and
 * what follows from it; for blocked, fpr_now is the expectation for that fill instead of what the blocks show; for
 * counting, `saturated` and what follows from it are 0, and times_fpr is an upper bound (for t >= 2 that of t = 1).
 * The checksums say that they are what was saved; that the payload holds just that much is checked by perhaps_scrub() when
 * it has been through all chunks. */

/* Verifies a slice of a filter that is in use, against the checksums of its file: for processes that keep a filter open for
 * months and call this from a timer, because memory and disks lose bits. *cursor, 0 at first, is where to go on: a chunk's
 * number. At least one chunk is read, and more until `bytes` bytes are. Any thread, beside all other calls; two callers
 * with a cursor each do the same work twice, and no harm.
 *
 *   1   No damage in this slice. *cursor was moved on: call again.
 *   0   No damage in this slice, which was the last one. *cursor is 0 again.
 *   <0  PERHAPS_E_DAMAGED: a chunk is not what was saved. The text names it; error->value and limit are its first and last
 *       byte in the file, error->subject is its path. *cursor was moved behind it (to 0 after the last): call again to go
 *       on. From now on the filter does without the chunk, as under "First touch", however it was opened. Answers
 *       that it gave before may have been wrong: "absent" for a key that is there. (With value and limit 0, after the last
 *       chunk: all are what was saved, but do not hold what the file records. Whoever wrote it made it up.)
 *       PERHAPS_E_UNSUPPORTED: the filter is no view of a file, but has memory of its own, for which no checksums hold
 *       (it may have changed since it was loaded). Save it, and perhaps_open() what was saved: that verifies the copy.
 *       PERHAPS_E_ARGUMENT: also a cursor beyond the last chunk. In both cases *cursor is untouched.
 *
 * Needs no key: works for filters loaded without theirs. Reads what the operating system holds of the file: damage on the
 * disk below its cache shows when the pages are read again. O(bytes), about 0.1 ms for each MiB. */
PERHAPS_API int perhaps_scrub(const perhaps_filter *filter, uint64_t *cursor, uint64_t bytes, perhaps_error *error);

/* Asks whether the file that a filter was opened from (or its journal) has been replaced or changed since, and if so
 * opens it anew: for processes that read a filter which another process saves again and again. The filter that they
 * have stays valid and as it was until it is freed; go over to the new one, and free the old one when nobody uses it
 * any more. The question alone costs one stat() of the path as it was given (a relative one is looked up where the
 * process now is), and one of the journal where there is one.
 *
 *   1   *newer is a filter of its own, opened as in perhaps_open() with `options`; release both with perhaps_free().
 *       A secret key that `options` does not give is that of `filter`.
 *   0   The file is the one that was opened. *newer is not touched.
 *   <0  An error of perhaps_open(): PERHAPS_E_IO also when the file is gone. PERHAPS_E_UNSUPPORTED for a filter that
 *       was not opened from a file. The filter that there is can be used on. */
PERHAPS_API int perhaps_reopen(const perhaps_filter *filter, const perhaps_load_options *options,
                               perhaps_filter **newer, perhaps_error *error);

/* Saves a filter to a file, atomically and durably: a temporary file beside it is written, flushed to the
 * disk, renamed over `path`, and the directory flushed. A reader sees the old file or the new one; a crash
 * leaves one of them whole; on error the temporary file is removed and `path` is untouched. A symbolic link is followed: its
 * target is replaced; one that leads nowhere is an error. A process that is killed leaves a file named
 * .perhaps-PID-N.tmp; the next save into that folder removes those that no living process holds (they are locked,
 * flock(2)).
 *
 * An existing file's owner, group and permissions are kept; a new file is the caller's, with 0666 less the umask. Who
 * may not give a file away (others than root) saves all the same, and then nobody may do more with the new file than
 * with the old one, but for the new owner, who wrote it:
 *   the owner is the caller; the group is kept where the caller is a member of it;
 *   if not, group and others may do what both of them could before (0664 becomes 0644, and 0640 becomes 0600);
 *   set-user-ID and set-group-ID are gone when either of the two is not kept.
 * Access control lists are not kept; where there was one, the group gets what others have, as the list said what it may do.
 *
 * The file has no journal, also where the filter has one: it is whole without. Two exceptions: a filter that is open with a
 * journal, and saved to its own path, is folded, as by perhaps_fold_journal(); and a file that requires a journal is not
 * replaced by another filter (PERHAPS_E_JOURNAL), which would lose what its journal holds: remove both first, or put the
 * filter there with perhaps_hand_over_journal().
 *
 * Returns 0, PERHAPS_E_IO with system_error set, PERHAPS_E_KEY (loaded without its key), PERHAPS_E_MEMORY,
 * PERHAPS_E_ARGUMENT. One PERHAPS_E_IO comes after
 * the replacement: when the directory cannot be flushed the new file is in place, and the text says that it is not yet
 * safe from a power failure. */
PERHAPS_API int perhaps_save(const perhaps_filter *filter, const char *path, perhaps_error *error);

/* ---------------------------------------------------------------- durable filters */

/* Without a journal, what was added since the last save is lost in a crash, and keeping one key costs writing the whole
 * file. A durable filter has a journal beside its file, FILTER.journal, to which every change is appended and flushed
 * (fdatasync) before it is done. When a call that changes such a filter has returned success, the change survives a
 * crash of the process and of the machine. docs/format.md specifies the journal; it holds hashes of keys, not keys. A
 * new one gets the owner, group and permissions of its filter's file, a later one those of the one before, as in
 * perhaps_save().
 *
 * perhaps_begin_journal() gives a filter a file and a journal; perhaps_open_durable() opens the file again for changing it;
 * perhaps_open() opens it for reading, at any time, also while another process changes it. All calls work on a durable
 * filter as on any other, with these differences:
 *   perhaps_add(), _remove(), _clear() and their twins can fail with PERHAPS_E_IO, and then nothing was done (shared
 *   filters: to the set). What was written of it is cut off again; if even that fails, no further change is taken until
 *   the filter could be folded, and a crash before that may bring the failed change back.
 *   Each call is one write and one flush, a batch one for every 65,536 keys: use batches. Threads that change one shared
 *   filter at the same time share theirs. An add is seen by readers when it is on the disk.
 *   perhaps_set_position() is such a change, too: after a crash the filter has the last position that was set, and all
 *   that was done before, and so is at it, or ahead of it by what was done after it. From there adds, and removals
 *   checked against the store, may be done again. perhaps_set_metadata() reaches the file with the next folding.
 *   perhaps_merge() into it is PERHAPS_E_UNSUPPORTED. perhaps_encode(), perhaps_convert(), and perhaps_save() to
 *   another path give filters without a journal. perhaps_free() closes the journal and folds nothing.
 *
 * Folding writes the whole file anew, and begins an empty journal. It happens within the call whose record makes the journal
 * larger than journal_bytes, or in perhaps_fold_journal(). Changes wait for it, readers do not. A folding that fails,
 * or that a crash interrupts, loses nothing: the old file and the old journal are there, or the new file, and the
 * journal is known to be folded into it. One that fails within another call fails nothing: it is tried again when the
 * journal has grown by journal_bytes more, and perhaps_journal.failed_folds counts it.
 *
 * One writer: the journal is locked (flock(2)), and a second perhaps_open_durable() of the file is PERHAPS_E_IO with
 * EWOULDBLOCK. Do not use a durable filter in a child after fork(). Move or copy file and journal together: a file
 * without its journal is PERHAPS_E_JOURNAL, as is one with the journal of another file or time.
 *
 * Any bytes are safe in a journal, too. The end of a record that a crash cut short is left out: it was not acknowledged. Any
 * other damage is PERHAPS_E_DAMAGED, with its place: what is behind it would be wrong without what is at it. */
typedef struct perhaps_journal_options {
    size_t size;            /* sizeof(perhaps_journal_options) */
    uint64_t journal_bytes; /* fold when the journal is larger; 0: an eighth of the payload, but at least 1 MiB
                                         and at most 16 MiB; UINT64_MAX: never */
    const perhaps_load_options
        *load; /* perhaps_open_durable(), perhaps_appender_open(): how to load; NULL for all zero.
                                         Of the flags only PERHAPS_OPEN_COPY (always so), _SHARED and _CLAIM are allowed */
} perhaps_journal_options;

/* Saves a filter to a file with an empty journal, and makes it durable from then on. What is at `path` is replaced,
 * unless it requires a journal. `options` may be NULL. The file gets a random id, so that its journal is never taken
 * for that of another; no other thread may use the filter meanwhile.
 *
 * Returns 0, PERHAPS_E_ARGUMENT (also: it is durable already), PERHAPS_E_OPTION, PERHAPS_E_READ_ONLY, PERHAPS_E_KEY,
 * PERHAPS_E_MEMORY, PERHAPS_E_JOURNAL (see perhaps_save()), PERHAPS_E_IO; the filter is then what it was. O(m). */
PERHAPS_API int perhaps_begin_journal(perhaps_filter *filter, const char *path, const perhaps_journal_options *options,
                                      perhaps_error *error);

/* Opens a file that has a journal for changing it: as perhaps_open() with PERHAPS_OPEN_COPY, and durable.
 *
 * Returns 0, an error of perhaps_open(), PERHAPS_E_UNSUPPORTED (the file has no journal), or PERHAPS_E_IO; with
 * system_error EWOULDBLOCK another process (or another filter of this one) has it open for changing. O(m + journal). */
PERHAPS_API int perhaps_open_durable(const char *path, const perhaps_journal_options *options, perhaps_filter **filter,
                                     perhaps_error *error);

/* Folds the journal of a durable filter into its file. Returns 0, PERHAPS_E_ARGUMENT, PERHAPS_E_UNSUPPORTED (it is not
 * durable), PERHAPS_E_MEMORY, PERHAPS_E_IO: then nothing is lost, and it can be tried again. O(m). */
PERHAPS_API int perhaps_fold_journal(perhaps_filter *filter, perhaps_error *error);

/* Puts another filter into the place of a durable one: the file becomes that of `to`, with the same id, one generation
 * higher, and an empty journal, and `to` is durable from then on instead of `from`. For a filter that was made anew:
 * with another size, rate, kind or hash. That `to` has all that it should have is the caller's word: what is in `from`
 * and not in `to` is gone from the file.
 *
 * One step: whatever crashes leaves the old filter with its journal, or the new one, complete, as in a folding; a
 * reader sees the one or the other, and perhaps_reopen() goes over to it. A folding size that was not given at opening
 * is from now on that of `to`. `from` has no journal any more, stays as it is in memory, and is the caller's to free.
 *
 *   0   Done. Where the disk fails in what is left to do then (flushing the directory, emptying the journal), `to` takes no
 *       change until that is made up for, as after a folding; perhaps_journal.system_error tells of it, and until then a
 *       failure of the power may bring the old filter back, as it was when it handed over.
 *   <0  Nothing has changed. PERHAPS_E_ARGUMENT (NULL, or `to` is durable), PERHAPS_E_UNSUPPORTED (`from` is not),
 *       PERHAPS_E_READ_ONLY, PERHAPS_E_KEY, PERHAPS_E_MEMORY, PERHAPS_E_IO.
 *
 * No other thread may change either filter meanwhile; both may be asked. O(m) of `to`. */
PERHAPS_API int perhaps_hand_over_journal(perhaps_filter *from, perhaps_filter *to, perhaps_error *error);

/* What is known about the journal of a filter; filled by perhaps_journal_of(). */
typedef struct perhaps_journal {
    size_t size;           /* sizeof(perhaps_journal), set by the caller */
    uint64_t file_id;      /* drawn by perhaps_begin_journal(); 0: the filter has no journal, and all else is 0 */
    uint64_t generation;   /* of the file: one more with every folding */
    uint64_t folded;       /* operations that the file holds, since the journal was begun */
    uint64_t operations;   /* in the journal, beyond those */
    uint64_t bytes;        /* of the journal */
    uint64_t limit;        /* from here on for durable filters, otherwise 0: folded when larger than this */
    uint64_t commits;      /* writes with a flush since it was opened; fewer than operations where they shared them */
    uint64_t folds;        /* since it was opened */
    uint64_t failed_folds; /* since it was opened */
    int system_error;      /* errno of the last failure to write; 0: there was none */
    uint32_t reserved;     /* 0 */
} perhaps_journal;

/* Fills *journal: for a durable filter as it is now, for one that perhaps_open() opened as it was then. Returns 0,
 * PERHAPS_E_ARGUMENT or PERHAPS_E_OPTION. O(1), but waits for a change that is being written. */
PERHAPS_API int perhaps_journal_of(const perhaps_filter *filter, perhaps_journal *journal);

/* An appender adds keys to a file with a journal without looking at the filter: it reads the file's header and the journal,
 * verifies both, and appends. Opening one costs milliseconds, however large the filter is; adding is what it is for a
 * durable filter. It cannot know whether a key was there before, and so only opens filters that never refuse one: kinds
 * bloom, blocked and counting that go on at capacity. It folds nothing: when perhaps_journal says that bytes exceed the
 * limit, open the file with perhaps_open_durable() and call perhaps_fold_journal().
 *
 * perhaps_appender_open(): options->load gives allocator and key. Returns 0, an error of perhaps_open_durable(),
 *   PERHAPS_E_UNSUPPORTED (no journal; or a filter that can refuse keys: use perhaps_open_durable()). O(header + journal).
 * perhaps_appender_add_many_pointers(), _hash(): all or none of up to 65,536 keys at a time; *done, if not NULL, tells of
 *   how many the call returned with success, also when it fails: they are durable. Returns 0 or an error of
 *   perhaps_add_many(): PERHAPS_E_IO, PERHAPS_E_MEMORY, PERHAPS_E_ARGUMENT, PERHAPS_E_UNSUPPORTED (keys of a CALLER
 *   filter). Any threads at once.
 * perhaps_appender_journal(): as perhaps_journal_of().
 * perhaps_appender_close(): releases it. NULL is allowed. */
typedef struct perhaps_appender perhaps_appender;
PERHAPS_API int perhaps_appender_open(const char *path, const perhaps_journal_options *options,
                                      perhaps_appender **appender, perhaps_error *error);
PERHAPS_API int perhaps_appender_add_many_pointers(perhaps_appender *appender, const void *const *keys,
                                                   const size_t *lengths, size_t count, size_t *done);
PERHAPS_API int perhaps_appender_add_many_hash(perhaps_appender *appender, const uint64_t *hashes, size_t count,
                                               size_t *done);
PERHAPS_API int perhaps_appender_journal(const perhaps_appender *appender, perhaps_journal *journal);
PERHAPS_API void perhaps_appender_close(perhaps_appender *appender);

#ifdef __cplusplus
}
#endif

#endif
