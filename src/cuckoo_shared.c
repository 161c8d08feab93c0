// SPDX-License-Identifier: MIT
// The cuckoo filter beside other threads.
//
// Writers lock the stripes of the buckets they change, all at once and in the order of their addresses. A slot shares its
// words with slots of other buckets, so it is written by atomic XOR of what differs.
//
// Readers take no lock. A hit needs no more: the fingerprint was there. A miss is believed when no fingerprint moved
// meanwhile: before anything moves, the versions of all buckets of the path are made odd, afterwards even again, and the
// reader compares those of its two buckets before and after. The reader's loads of slots are acquires, the writer's
// changes of them releases: whoever sees a slot that a move has changed, sees the odd version, or a later one, when it
// looks again. tests/models/cuckoo_move.pml goes through it. After some tries the answer is "perhaps", and is counted.
#include "cuckoo_search.h"

#define INLINE PERHAPS_CUCKOO_INLINE

// A table, and what it takes to share it.
struct shared {
    struct perhaps__cuckoo table;
    struct perhaps__stripes stripes;
    struct perhaps__tally *whole; // of the layer; read and written atomically only
};

// Where a key belongs: the numbers of its buckets, and their first bits.
struct key {
    struct perhaps__cuckoo_home home;
    struct perhaps__cuckoo_spots spots;
};

INLINE struct key key_of(const struct perhaps__cuckoo *table, uint64_t hash)
{
    struct perhaps__cuckoo_home home = perhaps__cuckoo_home(table, perhaps__place(hash, table->seed_key));
    return (struct key){home, perhaps__cuckoo_spots(table, home)};
}

INLINE struct shared shared_of(const struct perhaps__view *view, uint32_t slots, uint32_t bits, bool whole)
{
    struct shared shared = {
        .table = perhaps__cuckoo_table(view, slots, bits, whole),
        .stripes = view->stripes,
        .whole = view->tally,
    };
    shared.table.shared = true;
    return shared;
}

/* ---------------------------------------------------------------- reading */

// How often a reader looks again at buckets between which something moves.
#define TRIES 32

struct versions {
    uint32_t first;
    uint32_t second;
};

// The lock bit is of no concern to readers.
INLINE uint32_t version_of(const struct perhaps__stripes *stripes, uint64_t bucket)
{
    return __atomic_load_n(perhaps__stripe(stripes, bucket), __ATOMIC_ACQUIRE) & ~PERHAPS_STRIPE_LOCKED;
}

INLINE struct versions versions_of(const struct shared *shared, const struct key *key)
{
    return (struct versions){version_of(&shared->stripes, key->home.first),
                             version_of(&shared->stripes, key->home.second)};
}

// Whether nothing was moving at `before`, and nothing has moved since.
INLINE bool is_settled(const struct shared *shared, const struct key *key, struct versions before)
{
    struct versions now = versions_of(shared, key);
    bool same = now.first == before.first && now.second == before.second;
    return same && ((before.first | before.second) & PERHAPS_STRIPE_MOVING) == 0;
}

static void note_unsettled(const struct shared *shared)
{
    (void)__atomic_fetch_add(&shared->whole->unsettled, 1, __ATOMIC_RELAXED);
}

#ifdef PERHAPS_TEST_SUPPORT
void (*perhaps__cuckoo_between_buckets)(void);
#endif

// Between the looks at the two buckets a move can take the fingerprint from the one that is not yet to the one that has
// been looked at. That takes some nanoseconds; tests make them last, to see that such misses are not believed.
INLINE void between_buckets(void)
{
#ifdef PERHAPS_TEST_SUPPORT
    if (perhaps__cuckoo_between_buckets != NULL) {
        perhaps__cuckoo_between_buckets();
    }
#endif
}

INLINE bool is_present(const struct shared *shared, const struct key *key)
{
    const struct perhaps__cuckoo *table = &shared->table;
    for (unsigned i = 0; i < TRIES; i++) {
        struct versions before = versions_of(shared, key);
        uint64_t in_first = perhaps__cuckoo_has(table, key->spots.first, key->spots.fingerprint);
        between_buckets();
        uint64_t in_second = perhaps__cuckoo_has(table, key->spots.second, key->spots.fingerprint);
        if ((in_first | in_second) != 0) {
            return true;
        }
        if (PERHAPS_LIKELY(is_settled(shared, key, before))) {
            return false;
        }
    }
    note_unsettled(shared);
    return true;
}

INLINE uint64_t count_at_most(const struct shared *shared, const struct key *key)
{
    for (unsigned i = 0; i < TRIES; i++) {
        struct versions before = versions_of(shared, key);
        uint64_t count = perhaps__cuckoo_count(&shared->table, &key->spots);
        if (PERHAPS_LIKELY(is_settled(shared, key, before))) {
            return count;
        }
    }
    note_unsettled(shared);
    return PERHAPS_COUNT_UNBOUNDED;
}

/* ---------------------------------------------------------------- locks */

// The stripes of some buckets, in order and each once. Longer paths (where buckets have one slot) are walked alone.
#define LONGEST_PATH 62

struct locks {
    uint32_t *stripes[LONGEST_PATH + 2];
    uint32_t count;
};

static void include(struct locks *locks, uint32_t *stripe)
{
    uint32_t at = locks->count;
    while (at > 0 && locks->stripes[at - 1] > stripe) {
        at--;
    }
    if (at > 0 && locks->stripes[at - 1] == stripe) {
        return;
    }
    memmove(&locks->stripes[at + 1], &locks->stripes[at], (locks->count - at) * sizeof locks->stripes[0]);
    locks->stripes[at] = stripe;
    locks->count++;
}

static struct locks locks_of(const struct shared *shared, const struct key *key)
{
    struct locks locks = {.count = 0};
    include(&locks, perhaps__stripe(&shared->stripes, key->home.first));
    include(&locks, perhaps__stripe(&shared->stripes, key->home.second));
    return locks;
}

static void lock_all(const struct locks *locks)
{
    for (uint32_t i = 0; i < locks->count; i++) {
        perhaps__stripe_lock(locks->stripes[i]);
    }
}

static void unlock_all(const struct locks *locks)
{
    for (uint32_t i = 0; i < locks->count; i++) {
        perhaps__stripe_unlock(locks->stripes[i]);
    }
}

// Versions become odd before a move, and even after it.
static void step_versions(const struct locks *locks)
{
    for (uint32_t i = 0; i < locks->count; i++) {
        perhaps__stripe_step(locks->stripes[i]);
    }
}

/* ---------------------------------------------------------------- adding */

enum outcome { ADDED_NEW, ADDED_COPY, IS_THERE, NO_FREE_SLOT, ONLY_COPIES };

// Adds a fingerprint to one of its buckets, both of which are locked.
static enum outcome add_locked(const struct shared *shared, const struct key *key, struct perhaps__tally *tally)
{
    const struct perhaps__cuckoo *table = &shared->table;
    uint64_t copies = perhaps__cuckoo_count(table, &key->spots);
    if (table->unique && copies > 0) {
        return IS_THERE;
    }
    struct perhaps__cuckoo_found first = perhaps__cuckoo_find(table, key->spots.first, 0);
    struct perhaps__cuckoo_found second = perhaps__cuckoo_find(table, key->spots.second, 0);
    struct perhaps__cuckoo_found free = second.count > first.count ? second : first;
    if (free.count == 0) {
        uint64_t room = key->home.first != key->home.second ? 2 * (uint64_t)table->slots : table->slots;
        return copies == room ? ONLY_COPIES : NO_FREE_SLOT;
    }
    perhaps__cuckoo_put(table, free.bit, key->spots.fingerprint);
    tally->paths[0]++;
    return copies > 0 ? ADDED_COPY : ADDED_NEW;
}

// Whether a path that was found without locks is still one, now that its buckets are locked: every fingerprint on it still
// belongs into the next bucket, and the last one has a free slot.
static bool is_valid(const struct perhaps__cuckoo *table, const struct perhaps__cuckoo_search *path)
{
    for (uint32_t node = path->count - 1; node >= path->roots; node = path->parent[node]) {
        uint64_t fingerprint = perhaps__cuckoo_get(table, perhaps__cuckoo_from(table, path, node));
        uint64_t from = path->bucket[path->parent[node]];
        if (fingerprint == 0 || perhaps__cuckoo_other(table, fingerprint, from) != path->bucket[node]) {
            return false;
        }
    }
    return perhaps__cuckoo_has(table, perhaps__cuckoo_at(table, path->bucket[path->count - 1]), 0) != 0;
}

// Whether a path has few enough buckets; their stripes join those that are there.
static bool include_path(struct locks *locks, const struct shared *shared, const struct perhaps__cuckoo_search *path)
{
    uint32_t length = 0;
    for (uint32_t node = path->count - 1; node >= path->roots; node = path->parent[node]) {
        if (++length > LONGEST_PATH) {
            return false;
        }
        include(locks, perhaps__stripe(&shared->stripes, path->bucket[node]));
    }
    return true;
}

static enum outcome note_moves(enum outcome outcome, uint32_t moved, struct perhaps__tally *tally)
{
    tally->paths[perhaps__min(moved, PERHAPS_PATHS - 1)]++;
    tally->deepest = moved > tally->deepest ? moved : tally->deepest;
    return outcome;
}

// Locks all that a path touches, looks again, and moves if it still can. NO_FREE_SLOT: the path is none any more.
static enum outcome add_along(const struct shared *shared, const struct key *key,
                              const struct perhaps__cuckoo_search *path, struct perhaps__tally *tally)
{
    struct locks locks = locks_of(shared, key);
    if (!include_path(&locks, shared, path)) {
        return NO_FREE_SLOT;
    }
    lock_all(&locks);
    enum outcome outcome = add_locked(shared, key, tally); // somebody may have made room, or added the key
    if (outcome == NO_FREE_SLOT && is_valid(&shared->table, path)) {
        outcome = perhaps__cuckoo_count(&shared->table, &key->spots) > 0 ? ADDED_COPY : ADDED_NEW;
        step_versions(&locks);
        uint32_t moved = perhaps__cuckoo_move_along(&shared->table, path, key->spots.fingerprint);
        step_versions(&locks);
        outcome = note_moves(outcome, moved, tally);
    }
    unlock_all(&locks);
    return outcome;
}

// Alone in the table: what other writers do can neither spoil a path nor hide one.
static enum outcome add_alone(const struct shared *shared, const struct key *key, struct perhaps__cuckoo_search *path,
                              struct perhaps__tally *tally)
{
    perhaps__stripes_lock_all(&shared->stripes);
    enum outcome outcome = add_locked(shared, key, tally);
    if (outcome == NO_FREE_SLOT && perhaps__cuckoo_find_path(&shared->table, &key->spots, path)) {
        outcome = perhaps__cuckoo_count(&shared->table, &key->spots) > 0 ? ADDED_COPY : ADDED_NEW;
        perhaps__stripes_step_all(&shared->stripes);
        uint32_t moved = perhaps__cuckoo_move_along(&shared->table, path, key->spots.fingerprint);
        perhaps__stripes_step_all(&shared->stripes);
        outcome = note_moves(outcome, moved, tally);
    }
    perhaps__stripes_unlock_all(&shared->stripes);
    return outcome;
}

// How often a path is looked for before a writer locks all others out. So every writer gets on, and a table that says
// it is full has been looked at alone.
#define ATTEMPTS 16

static enum outcome make_room(const struct shared *shared, const struct key *key, struct perhaps__tally *tally)
{
    struct perhaps__cuckoo_search path;
    for (unsigned i = 0; i < ATTEMPTS && perhaps__cuckoo_find_path(&shared->table, &key->spots, &path); i++) {
        enum outcome outcome = add_along(shared, key, &path, tally);
        if (outcome != NO_FREE_SLOT) {
            return outcome;
        }
    }
    return add_alone(shared, key, &path, tally);
}

static int refuse(const struct shared *shared, enum outcome outcome, struct perhaps__tally *tally)
{
    if (outcome == ONLY_COPIES) {
        tally->refused_copies++;
        return PERHAPS_E_COPIES;
    }
    uint64_t used = __atomic_load_n(&shared->whole->used, __ATOMIC_RELAXED) + tally->used;
    tally->refused_full++;
    tally->refused_early += perhaps__cuckoo_is_early(&shared->table, used);
    return PERHAPS_E_FULL;
}

// 1: it was in neither bucket; 0: it was; or a code.
static int add(const struct shared *shared, const struct key *key, struct perhaps__tally *tally)
{
    struct locks locks = locks_of(shared, key);
    lock_all(&locks);
    enum outcome outcome = add_locked(shared, key, tally);
    unlock_all(&locks);
    if (PERHAPS_UNLIKELY(outcome == NO_FREE_SLOT)) {
        outcome = make_room(shared, key, tally);
    }
    if (outcome == NO_FREE_SLOT || outcome == ONLY_COPIES) {
        return refuse(shared, outcome, tally);
    }
    tally->used += outcome != IS_THERE;
    tally->copies += outcome != IS_THERE;
    tally->keys += outcome == ADDED_NEW;
    return outcome == ADDED_NEW;
}

static bool take_back(const struct shared *shared, const struct key *key, struct perhaps__tally *tally)
{
    const struct perhaps__cuckoo *table = &shared->table;
    struct locks locks = locks_of(shared, key);
    lock_all(&locks);
    struct perhaps__cuckoo_found first = perhaps__cuckoo_find(table, key->spots.first, key->spots.fingerprint);
    struct perhaps__cuckoo_found second = perhaps__cuckoo_find(table, key->spots.second, key->spots.fingerprint);
    struct perhaps__cuckoo_found found = first.count > 0 ? first : second;
    bool is_there = found.count > 0;
    if (is_there) {
        perhaps__cuckoo_put(table, found.bit, 0);
    }
    unlock_all(&locks);
    tally->used -= is_there;
    tally->copies -= is_there;
    tally->removals += is_there;
    return is_there;
}

/* ---------------------------------------------------------------- many keys */

enum verb { ASK, ADD, COUNT, REMOVE };

// Where results go; what a verb has no use for is NULL.
struct results {
    uint8_t *out;
    uint64_t *counts;
    struct perhaps__tally *tally;
    int *refusal;
};

// Does what is to be done with key i; false when it is refused.
INLINE bool step(enum verb verb, const struct shared *shared, const struct key *key, const struct results *results,
                 size_t i)
{
    int result = 0;
    if (verb == ASK) {
        result = is_present(shared, key);
    } else if (verb == COUNT) {
        results->counts[i] = count_at_most(shared, key);
        return true;
    } else if (verb == REMOVE) {
        result = take_back(shared, key, results->tally);
    } else {
        result = add(shared, key, results->tally);
    }
    if (verb == ADD && PERHAPS_UNLIKELY(result < 0)) {
        *results->refusal = result;
        return false;
    }
    if (results->out != NULL) {
        results->out[i] = (uint8_t)result;
    }
    return true;
}

INLINE struct key fetch(const struct perhaps__cuckoo *table, const uint64_t *hash)
{
    struct key key = key_of(table, *hash);
    perhaps__cuckoo_fetch(table, key.spots.first);
    perhaps__cuckoo_fetch(table, key.spots.second);
    perhaps__fetch_hashes(hash);
    return key;
}

INLINE size_t run(enum verb verb, const struct shared *shared, const uint64_t *hashes, size_t count,
                  const struct results *results)
{
    struct key keys[PERHAPS_CUCKOO_AHEAD];
    for (size_t i = 0; i < PERHAPS_CUCKOO_AHEAD && i < count; i++) {
        keys[i] = fetch(&shared->table, hashes + i);
    }
    size_t i = 0;
    for (; i < count && step(verb, shared, &keys[i % PERHAPS_CUCKOO_AHEAD], results, i); i++) {
        if (i + PERHAPS_CUCKOO_AHEAD < count) {
            keys[i % PERHAPS_CUCKOO_AHEAD] = fetch(&shared->table, hashes + i + PERHAPS_CUCKOO_AHEAD);
        }
    }
    return i;
}

#define DEFINE_READERS(name, view_slots, view_bits, whole)                                                             \
    static int ask_##name(const void *filter, uint64_t hash)                                                           \
    {                                                                                                                  \
        const struct perhaps__view *view = filter;                                                                     \
        const struct shared shared = shared_of(view, view_slots, view_bits, whole);                                    \
        struct key key = key_of(&shared.table, hash);                                                                  \
        return is_present(&shared, &key);                                                                              \
    }                                                                                                                  \
    static void ask_many_##name(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint8_t *out)  \
    {                                                                                                                  \
        const struct shared shared = shared_of(view, view_slots, view_bits, whole);                                    \
        const struct results results = {.out = out};                                                                   \
        (void)run(ASK, &shared, hashes, count, &results);                                                              \
    }

// Look-ups for whole buckets of 4 slots with the width of a fingerprint as a constant, and for any others.
#define DEFINE_WIDTH(bits) DEFINE_READERS(four_##bits, 4, bits, true)
PERHAPS_CUCKOO_WIDTHS(DEFINE_WIDTH)
DEFINE_READERS(any, view->shape.slots, view->shape.cell_bits, false)

struct readers {
    perhaps_ask_function *ask;
    perhaps__ask_many_function *ask_many;
};

static struct readers readers_for(const struct perhaps__shape *shape)
{
#define WIDTH(bits) [bits] = {ask_four_##bits, ask_many_four_##bits},
    static const struct readers four[] = {PERHAPS_CUCKOO_WIDTHS(WIDTH)};
    bool is_known = shape->slots == 4 && shape->cell_bits >= 5 && shape->cell_bits < PERHAPS_COUNT(four);
    return is_known ? four[shape->cell_bits] : (struct readers){ask_any, ask_many_any};
}

static void count_many(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint64_t *out)
{
    const struct shared shared = shared_of(view, view->shape.slots, view->shape.cell_bits, false);
    const struct results results = {.counts = out};
    (void)run(COUNT, &shared, hashes, count, &results);
}

static size_t add_many(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint8_t *out,
                       struct perhaps__tally *tally, int *refusal)
{
    const struct shared shared = shared_of(view, view->shape.slots, view->shape.cell_bits, false);
    const struct results results = {.out = out, .tally = tally, .refusal = refusal};
    return run(ADD, &shared, hashes, count, &results);
}

static void remove_many(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint8_t *out,
                        struct perhaps__tally *tally)
{
    const struct shared shared = shared_of(view, view->shape.slots, view->shape.cell_bits, false);
    const struct results results = {.out = out, .tally = tally};
    (void)run(REMOVE, &shared, hashes, count, &results);
}

void perhaps__cuckoo_share(struct perhaps__view *view)
{
    struct readers readers = readers_for(&view->shape);
    view->ask = readers.ask;
    view->ask_many = readers.ask_many;
    view->add_many = add_many;
    view->add_few = add_many;
    view->count_many = view->count_many != NULL ? count_many : NULL;
    view->remove_many = view->remove_many != NULL ? remove_many : NULL;
}
