// SPDX-License-Identifier: MIT
// The cuckoo filter beside other threads.
//
// Writers lock the stripes of the buckets they change, all at once and in the order of their addresses. A slot shares its
// words with slots of other buckets, so it is written by atomic XOR of what differs.
//
// Readers take no lock. A hit needs no more: the fingerprint was there. A miss is believed when no fingerprint moved
// meanwhile, anywhere: the word of moves was that of a table at rest before, and still is. If it is not, the reader looks
// again and compares the versions of the stripes of its two buckets: before anything moves, those of all buckets of the
// path are made odd, afterwards even again. The reader's loads of slots are acquires, the writer's changes of them
// releases: whoever sees a slot that a move has changed, sees the word and the version that went before when it looks at
// them again. tests/models/cuckoo_move.pml goes through it. After some tries the answer is "perhaps", and is counted.
//
// The word of moves costs a look-up two loads, and a block of them as much; versions cost four loads for each key. Where
// tables are nearly full and threads add without pause it is never at rest; then a miss is looked at twice.
#include "cuckoo_batch.h"
#include "cuckoo_search.h"

#define INLINE PERHAPS_CUCKOO_INLINE

// A table, and what it takes to share it.
struct shared {
    struct perhaps__cuckoo table;
    const struct perhaps__stripes *stripes;
    struct perhaps__tally *whole; // of the layer; read and written atomically only
};

// The lock and version of a bucket, given by its first bit. Buckets that begin in one word have one.
INLINE uint32_t *stripe_at(const struct shared *shared, uint64_t at)
{
    return perhaps__stripe(shared->stripes, at >> 6);
}

INLINE struct shared shared_of(const struct perhaps__view *view, uint32_t slots, uint32_t bits, uint32_t base,
                               bool whole)
{
    struct shared shared = {
        .table = perhaps__cuckoo_table(view, slots, bits, base, whole),
        .stripes = &view->stripes,
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
INLINE uint32_t version_at(const struct shared *shared, uint64_t at)
{
    return __atomic_load_n(stripe_at(shared, at), __ATOMIC_ACQUIRE) & ~PERHAPS_STRIPE_LOCKED;
}

INLINE struct versions versions_of(const struct shared *shared, const struct perhaps__cuckoo_spots *key)
{
    return (struct versions){version_at(shared, key->first), version_at(shared, key->second)};
}

// Whether nothing was moving at `before`, and nothing has moved since.
INLINE bool is_settled(const struct shared *shared, const struct perhaps__cuckoo_spots *key, struct versions before)
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

// Not 0 when one of two buckets, given by their first bits, holds the fingerprint.
INLINE uint64_t look(const struct perhaps__cuckoo *table, uint64_t fingerprint, uint64_t first, uint64_t second)
{
    uint64_t pattern = perhaps__cuckoo_pattern(table, fingerprint);
    uint64_t in_first = perhaps__cuckoo_has_pattern(table, first, pattern);
    between_buckets();
    return in_first | perhaps__cuckoo_has_pattern(table, second, pattern);
}

// By the versions of the key's own buckets, where something moves in the table. It is rare, and makes its own table, so that
// those that call it can keep theirs in registers.
static __attribute__((noinline)) bool is_present_beside_moves(const struct perhaps__view *view,
                                                              struct perhaps__cuckoo_spots key)
{
    const struct perhaps__shape *shape = &view->shape;
    const struct shared shared = shared_of(view, shape->slots, shape->cell_bits, shape->layout, false);
    for (unsigned i = 0; i < TRIES; i++) {
        struct versions before = versions_of(&shared, &key);
        if (look(&shared.table, key.fingerprint, key.first, key.second) != 0) {
            return true;
        }
        if (PERHAPS_LIKELY(is_settled(&shared, &key, before))) {
            return false;
        }
    }
    note_unsettled(&shared);
    return true;
}

// By the word of moves, which is one for all keys.
INLINE bool is_present(const struct perhaps__view *view, const struct shared *shared, uint64_t hash)
{
    const struct perhaps__cuckoo *table = &shared->table;
    uint64_t moves = perhaps__moves(shared->stripes);
    struct perhaps__cuckoo_home home = perhaps__cuckoo_home(table, perhaps__place(hash, table->seed_key));
    uint64_t first = perhaps__cuckoo_at_group(table, home.first);
    uint64_t second = perhaps__cuckoo_at_group(table, home.second);
    if (look(table, home.fingerprint, first, second) != 0) {
        return true;
    }
    return PERHAPS_UNLIKELY(!perhaps__moves_none_since(shared->stripes, moves)) &&
           is_present_beside_moves(view, (struct perhaps__cuckoo_spots){home.fingerprint, first, second});
}

INLINE uint64_t count_at_most(const struct shared *shared, const struct perhaps__cuckoo_spots *key)
{
    for (unsigned i = 0; i < TRIES; i++) {
        struct versions before = versions_of(shared, key);
        uint64_t count = perhaps__cuckoo_count(&shared->table, key);
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

static struct locks locks_of(const struct shared *shared, const struct perhaps__cuckoo_spots *key)
{
    struct locks locks = {.count = 0};
    include(&locks, stripe_at(shared, key->first));
    include(&locks, stripe_at(shared, key->second));
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
static enum outcome add_locked(const struct shared *shared, const struct perhaps__cuckoo_spots *key,
                               struct perhaps__tally *tally)
{
    const struct perhaps__cuckoo *table = &shared->table;
    uint64_t copies = perhaps__cuckoo_count(table, key);
    if (table->unique && copies > 0) {
        return IS_THERE;
    }
    struct perhaps__cuckoo_found first = perhaps__cuckoo_find(table, key->first, 0);
    struct perhaps__cuckoo_found second = perhaps__cuckoo_find(table, key->second, 0);
    struct perhaps__cuckoo_found free = second.count > first.count ? second : first;
    if (free.count == 0) {
        uint64_t room = key->first != key->second ? 2 * (uint64_t)table->slots : table->slots;
        return copies == room ? ONLY_COPIES : NO_FREE_SLOT;
    }
    perhaps__cuckoo_put(table, free.bit, key->fingerprint);
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
        include(locks, stripe_at(shared, perhaps__cuckoo_at(&shared->table, path->bucket[node])));
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
static enum outcome add_along(const struct shared *shared, const struct perhaps__cuckoo_spots *key,
                              const struct perhaps__cuckoo_search *path, struct perhaps__tally *tally)
{
    struct locks locks = locks_of(shared, key);
    if (!include_path(&locks, shared, path)) {
        return NO_FREE_SLOT;
    }
    lock_all(&locks);
    enum outcome outcome = add_locked(shared, key, tally); // somebody may have made room, or added the key
    if (outcome == NO_FREE_SLOT && is_valid(&shared->table, path)) {
        outcome = perhaps__cuckoo_count(&shared->table, key) > 0 ? ADDED_COPY : ADDED_NEW;
        perhaps__moves_begin(shared->stripes);
        step_versions(&locks);
        uint32_t moved = perhaps__cuckoo_move_along(&shared->table, path, key->fingerprint);
        step_versions(&locks);
        perhaps__moves_end(shared->stripes);
        outcome = note_moves(outcome, moved, tally);
    }
    unlock_all(&locks);
    return outcome;
}

// Alone in the table: what other writers do can neither spoil a path nor hide one.
static enum outcome add_alone(const struct shared *shared, const struct perhaps__cuckoo_spots *key,
                              struct perhaps__cuckoo_search *path, struct perhaps__tally *tally)
{
    perhaps__stripes_lock_all(shared->stripes);
    enum outcome outcome = add_locked(shared, key, tally);
    if (outcome == NO_FREE_SLOT && perhaps__cuckoo_find_path(&shared->table, key, path)) {
        outcome = perhaps__cuckoo_count(&shared->table, key) > 0 ? ADDED_COPY : ADDED_NEW;
        perhaps__moves_begin(shared->stripes);
        perhaps__stripes_step_all(shared->stripes);
        uint32_t moved = perhaps__cuckoo_move_along(&shared->table, path, key->fingerprint);
        perhaps__stripes_step_all(shared->stripes);
        perhaps__moves_end(shared->stripes);
        outcome = note_moves(outcome, moved, tally);
    }
    perhaps__stripes_unlock_all(shared->stripes);
    return outcome;
}

// How often a path is looked for before a writer locks all others out. So every writer gets on, and a table that says
// it is full has been looked at alone.
#define ATTEMPTS 16

static enum outcome make_room(const struct shared *shared, const struct perhaps__cuckoo_spots *key,
                              struct perhaps__tally *tally)
{
    struct perhaps__cuckoo_search path;
    for (unsigned i = 0; i < ATTEMPTS && perhaps__cuckoo_find_path(&shared->table, key, &path); i++) {
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
static int add(const struct shared *shared, const struct perhaps__cuckoo_spots *key, struct perhaps__tally *tally)
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

// Where another slot holds the fingerprint too, the one that is taken may have been another key's, and the one that stays
// becomes that key's: its fingerprint has moved, and a reader of it who has seen the one place before and the other after
// has missed it.
static bool take_back(const struct shared *shared, const struct perhaps__cuckoo_spots *key,
                      struct perhaps__tally *tally)
{
    const struct perhaps__cuckoo *table = &shared->table;
    struct locks locks = locks_of(shared, key);
    lock_all(&locks);
    struct perhaps__cuckoo_found first = perhaps__cuckoo_find(table, key->first, key->fingerprint);
    struct perhaps__cuckoo_found second = perhaps__cuckoo_find(table, key->second, key->fingerprint);
    struct perhaps__cuckoo_found found = first.count > 0 ? first : second;
    bool is_there = found.count > 0;
    bool moves = perhaps__cuckoo_count(table, key) > 1;
    if (moves) {
        perhaps__moves_begin(shared->stripes);
        step_versions(&locks);
    }
    if (is_there) {
        perhaps__cuckoo_put(table, found.bit, 0);
    }
    if (moves) {
        step_versions(&locks);
        perhaps__moves_end(shared->stripes);
    }
    unlock_all(&locks);
    tally->used -= is_there;
    tally->copies -= is_there;
    tally->removals += is_there;
    return is_there;
}

/* ---------------------------------------------------------------- many keys */

enum verb { ADD, COUNT, REMOVE };

// Where results go; what a verb has no use for is NULL.
struct results {
    uint8_t *out;
    uint64_t *counts;
    struct perhaps__tally *tally;
    int *refusal;
};

// Does what is to be done with key i; false when it is refused.
INLINE bool step(enum verb verb, const struct shared *shared, const struct perhaps__cuckoo_spots *key,
                 const struct results *results, size_t i)
{
    if (verb == COUNT) {
        results->counts[i] = count_at_most(shared, key);
        return true;
    }
    int result = verb == REMOVE ? take_back(shared, key, results->tally) : add(shared, key, results->tally);
    if (verb == ADD && PERHAPS_UNLIKELY(result < 0)) {
        *results->refusal = result;
        return false;
    }
    if (results->out != NULL) {
        results->out[i] = (uint8_t)result;
    }
    return true;
}

// As in cuckoo_many.c, with tables that are always far: locks take longer than fetching.
INLINE size_t run(enum verb verb, const struct shared *shared, struct perhaps__cuckoo_batch *batch,
                  const struct results *results)
{
    struct perhaps__cuckoo_block blocks[2];
    size_t placed = perhaps__cuckoo_take_first(batch, &shared->table, &blocks[0]);
    size_t i = 0;
    for (unsigned now = 0; i < batch->count; now ^= 1) {
        size_t coming = perhaps__cuckoo_take(batch, &blocks[now ^ 1]);
        for (size_t j = 0; j < placed; j++, i++) {
            if (j < coming) {
                perhaps__cuckoo_fetch_key(&shared->table, &blocks[now ^ 1], j);
            }
            struct perhaps__cuckoo_spots key = perhaps__cuckoo_spots_in(&blocks[now], j);
            if (!step(verb, shared, &key, results, i)) {
                return i;
            }
        }
        placed = coming;
    }
    return i;
}

INLINE size_t run_few(enum verb verb, const struct shared *shared, const uint64_t *hashes, size_t count,
                      const struct results *results)
{
    for (size_t i = 0; i < count; i++) {
        const struct perhaps__cuckoo_spots key = perhaps__cuckoo_start(&shared->table, hashes[i]);
        if (!step(verb, shared, &key, results, i)) {
            return i;
        }
    }
    return count;
}

// Looks at a block between two looks at the word of moves, and if they differ at its misses one by one.
INLINE void ask_block(const struct perhaps__view *view, const struct shared *shared,
                      const struct perhaps__cuckoo_block *now, size_t placed, const struct perhaps__cuckoo_block *next,
                      size_t coming, uint8_t *out)
{
    uint64_t moves = perhaps__moves(shared->stripes);
    for (size_t i = 0; i < placed; i++) {
        if (i < coming) {
            perhaps__cuckoo_fetch_key(&shared->table, next, i);
        }
        out[i] = look(&shared->table, now->fingerprint[i], now->first[i], now->second[i]) != 0;
    }
    if (PERHAPS_LIKELY(perhaps__moves_none_since(shared->stripes, moves))) {
        return;
    }
    for (size_t i = 0; i < placed; i++) {
        out[i] = out[i] != 0 || is_present_beside_moves(view, perhaps__cuckoo_spots_in(now, i));
    }
}

INLINE void ask_batch(const struct shared *shared, struct perhaps__cuckoo_batch *batch, uint8_t *out)
{
    struct perhaps__cuckoo_block blocks[2];
    size_t placed = perhaps__cuckoo_take_first(batch, &shared->table, &blocks[0]);
    for (unsigned now = 0; placed > 0; now ^= 1) {
        size_t coming = perhaps__cuckoo_take(batch, &blocks[now ^ 1]);
        ask_block(batch->view, shared, &blocks[now], placed, &blocks[now ^ 1], batch->far ? coming : 0, out);
        out += placed;
        placed = coming;
    }
}

#define DEFINE_READERS(name, view_slots, view_bits, base, whole)                                                       \
    static int ask_##name(const void *filter, uint64_t hash)                                                           \
    {                                                                                                                  \
        const struct perhaps__view *view = filter;                                                                     \
        const struct shared shared = shared_of(view, view_slots, view_bits, base, whole);                              \
        return is_present(view, &shared, hash);                                                                        \
    }                                                                                                                  \
    DEFINE_ASK_MANY(name, near, view_slots, view_bits, base, whole)                                                    \
    DEFINE_ASK_MANY(name, far, view_slots, view_bits, base, whole)

#define near_is_far false
#define far_is_far true
#define DEFINE_ASK_MANY(name, distance, view_slots, view_bits, base, whole)                                            \
    static void ask_##distance##_##name(const struct perhaps__view *view, const uint64_t *hashes, size_t count,        \
                                        uint8_t *out)                                                                  \
    {                                                                                                                  \
        const struct shared shared = shared_of(view, view_slots, view_bits, base, whole);                              \
        ask_batch(&shared, &(struct perhaps__cuckoo_batch){view, hashes, count, 0, distance##_is_far}, out);           \
    }

// Look-ups for whole buckets of 4 slots with the width of a fingerprint as a constant, and for any others.
#define DEFINE_WIDTH(bits) DEFINE_READERS(four_##bits, 4, bits, bits, true)
PERHAPS_CUCKOO_WIDTHS(DEFINE_WIDTH)
DEFINE_READERS(any, view->shape.slots, view->shape.cell_bits, view->shape.layout, false)

struct readers {
    perhaps_ask_function *ask;
    perhaps__ask_many_function *ask_near;
    perhaps__ask_many_function *ask_far;
};

static struct readers readers_for(const struct perhaps__shape *shape)
{
#define WIDTH(bits) [bits] = {ask_four_##bits, ask_near_four_##bits, ask_far_four_##bits},
    static const struct readers four[] = {PERHAPS_CUCKOO_WIDTHS(WIDTH)};
    bool is_known = shape->slots == 4 && shape->cell_bits >= 5 && shape->cell_bits < PERHAPS_COUNT(four) &&
                    shape->layout == shape->cell_bits;
    return is_known ? four[shape->cell_bits] : (struct readers){ask_any, ask_near_any, ask_far_any};
}

static size_t run_any(enum verb verb, const struct perhaps__view *view, const uint64_t *hashes, size_t count,
                      const struct results *results)
{
    const struct perhaps__shape *shape = &view->shape;
    const struct shared shared = shared_of(view, shape->slots, shape->cell_bits, shape->layout, false);
    if (count < PERHAPS_CUCKOO_FEW) {
        return run_few(verb, &shared, hashes, count, results);
    }
    return run(verb, &shared, &(struct perhaps__cuckoo_batch){view, hashes, count, 0, true}, results);
}

static void count_many(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint64_t *out)
{
    (void)run_any(COUNT, view, hashes, count, &(struct results){.counts = out});
}

static size_t add_many(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint8_t *out,
                       struct perhaps__tally *tally, int *refusal)
{
    return run_any(ADD, view, hashes, count, &(struct results){.out = out, .tally = tally, .refusal = refusal});
}

static void remove_many(const struct perhaps__view *view, const uint64_t *hashes, size_t count, uint8_t *out,
                        struct perhaps__tally *tally)
{
    (void)run_any(REMOVE, view, hashes, count, &(struct results){.out = out, .tally = tally});
}

int perhaps__cuckoo_add_beside(const struct perhaps__view *view, const struct perhaps__cuckoo_spots *key,
                               struct perhaps__tally *tally)
{
    const struct perhaps__shape *shape = &view->shape;
    const struct shared shared = shared_of(view, shape->slots, shape->cell_bits, shape->layout, false);
    return add(&shared, key, tally);
}

void perhaps__cuckoo_share(struct perhaps__view *view, bool near)
{
    struct readers readers = readers_for(&view->shape);
    view->ask = readers.ask;
    view->ask_many = near ? readers.ask_near : readers.ask_far;
    view->add_many = add_many;
    view->add_few = add_many;
    view->count_many = view->count_many != NULL ? count_many : NULL;
    view->remove_many = view->remove_many != NULL ? remove_many : NULL;
}
