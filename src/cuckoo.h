// SPDX-License-Identifier: MIT
// Layer 2: the cuckoo filter (Fan, Andersen, Kaminsky and Mitzenmacher 2014): fingerprints in buckets of a few slots,
// each in one of two buckets, either of which follows from the other and the fingerprint (cuckoo_place.h).
//
// In memory slot s of bucket i is the f bits from bit (i * slots + s) * f on, bit j being bit j % 8 of byte j / 8; 0 is a
// free slot.
#ifndef PERHAPS_CUCKOO_H
#define PERHAPS_CUCKOO_H

#include "cuckoo_place.h"
#include "sizing_cuckoo.h"

// What one filter's tables are worked with, computed from its view. A *group* is as many slots of a bucket as one load of
// 8 bytes holds, wherever in a byte it begins: the whole bucket for 4 slots of up to 16 bits.
struct perhaps__cuckoo {
    uint8_t *bytes;
    uint64_t buckets;
    struct perhaps__divider divider;
    uint64_t seed_key;
    uint64_t least;        // the smallest fingerprint
    uint64_t fingerprints; // how many there are
    uint64_t ones;         // 1 in every lane of a group
    uint64_t tops;         // the top bit of every lane
    uint32_t bits;         // of a fingerprint: f
    uint32_t appended;     // of those, not base bits
    uint32_t slots;
    uint32_t groups; // in a bucket
    uint32_t group_slots;
    uint32_t search;
    bool in_bytes; // groups begin at whole bytes
    bool unique;
    bool shared; // threads change it: slots are read and changed word by word, atomically
};

// Where a key belongs by the first bits of the buckets, which is what the verbs need: computed once, while the memory
// is awaited.
struct perhaps__cuckoo_spots {
    uint64_t fingerprint;
    uint64_t first;
    uint64_t second;
};

// The same for the keys of a batch, as vectors make it.
#define PERHAPS_CUCKOO_BLOCK 64

struct perhaps__cuckoo_block {
    _Alignas(PERHAPS_LINE) uint64_t fingerprint[PERHAPS_CUCKOO_BLOCK];
    uint64_t first[PERHAPS_CUCKOO_BLOCK];
    uint64_t second[PERHAPS_CUCKOO_BLOCK];
};

// At most PERHAPS_CUCKOO_BLOCK hashes. Both give the same values.
void perhaps__cuckoo_place_scalar(const struct perhaps__view *view, const uint64_t *hashes, size_t count,
                                  struct perhaps__cuckoo_block *block);
void perhaps__cuckoo_place_avx2(const struct perhaps__view *view, const uint64_t *hashes, size_t count,
                                struct perhaps__cuckoo_block *block);

// What a view needs beside its functions, from its range and shape.
void perhaps__cuckoo_prepare(struct perhaps__view *view);

// The other bucket of a fingerprint.
PERHAPS_CUCKOO_INLINE uint64_t perhaps__cuckoo_other(const struct perhaps__cuckoo *table, uint64_t fingerprint,
                                                     uint64_t bucket)
{
    uint64_t sum = perhaps__cuckoo_sum(fingerprint >> table->appended);
    return perhaps__cuckoo_partner(sum, bucket, table->buckets, &table->divider);
}

// The home of a fingerprint that lies, or could lie, in a bucket.
PERHAPS_CUCKOO_INLINE struct perhaps__cuckoo_home perhaps__cuckoo_home_at(const struct perhaps__cuckoo *table,
                                                                          uint64_t fingerprint, uint64_t bucket)
{
    return (struct perhaps__cuckoo_home){fingerprint, bucket, perhaps__cuckoo_other(table, fingerprint, bucket)};
}

// The home of a key.
PERHAPS_CUCKOO_INLINE struct perhaps__cuckoo_home perhaps__cuckoo_home(const struct perhaps__cuckoo *table,
                                                                       uint64_t placed)
{
    uint64_t fingerprint = perhaps__cuckoo_fingerprint(placed, table->least, table->fingerprints);
    uint64_t first = perhaps__cuckoo_first(placed, table->buckets, &table->divider);
    return perhaps__cuckoo_home_at(table, fingerprint, first);
}

// How many of a bucket's slots one load holds. It begins in the byte that has the first bit: up to 7 others, fewer when
// the groups' width is even, come before.
PERHAPS_CUCKOO_INLINE uint32_t perhaps__cuckoo_group(uint32_t slots, uint32_t bits)
{
    uint32_t most = bits <= 8 ? 8 : bits <= 16 ? 4 : bits != 31 ? 2 : 1;
    return slots - 1 < most ? slots : most; // never 0
}

// 1 in each of `slots` lanes of `bits` bits; together they are at most 64.
PERHAPS_CUCKOO_INLINE uint64_t perhaps__cuckoo_ones(uint32_t slots, uint32_t bits)
{
    uint64_t ones = 1;
    ones |= slots > 1 ? ones << bits : 0;
    ones |= slots > 2 ? ones << 2 * bits : 0;
    ones |= slots > 4 ? ones << 4 * bits : 0;
    return ones;
}

// With `slots`, `bits` and `base` (bits) constants, and `whole` where a bucket is one group, most of this is too.
PERHAPS_CUCKOO_INLINE struct perhaps__cuckoo perhaps__cuckoo_table(const struct perhaps__view *view, uint32_t slots,
                                                                   uint32_t bits, uint32_t base, bool whole)
{
    uint32_t group_slots = whole ? slots : perhaps__cuckoo_group(slots, bits);
    uint64_t ones = perhaps__cuckoo_ones(group_slots, bits);
    return (struct perhaps__cuckoo){
        .bytes = view->memory,
        .buckets = view->range,
        .divider = view->divider,
        .seed_key = view->seed_key,
        .least = perhaps__cuckoo_least(bits, base),
        .fingerprints = perhaps__cuckoo_fingerprints(bits, base),
        .ones = ones,
        .tops = ones << (bits - 1),
        .bits = bits,
        .appended = bits - base,
        .slots = slots,
        .groups = whole ? 1 : slots / group_slots,
        .group_slots = group_slots,
        .search = view->shape.search,
        .in_bytes = group_slots * bits % 8 == 0,
        .unique = view->shape.policy == PERHAPS_POLICY_UNIQUE,
        .shared = false, // a constant: see cuckoo_shared.c for tables that are
    };
}

// ---------------------------------------------------------------- slots

// The first bit of a bucket.
PERHAPS_CUCKOO_INLINE uint64_t perhaps__cuckoo_at(const struct perhaps__cuckoo *table, uint64_t bucket)
{
    return bucket * (table->slots * table->bits);
}

// As perhaps__cuckoo_load(), beside threads that change slots, with the order of an acquire.
//
// On x86-64 by one load of 8 bytes wherever they begin. Not all of them need be of one instant: writers change nothing but
// the bits of their slot, by locked instructions, so that those of every other slot are the same before and after, in each
// byte. A slot that is being changed while it is read may come out as half of each. That is a wrong hit at worst, or a miss
// of a fingerprint that is moving, which versions tell, or being removed and the only one. Loads are done in order
// there, and the compiler takes the instruction for one that reads memory which it does not know, and moves none across
// it. The thread sanitizer does not know this, and other machines do not do it; they load one or two whole words,
// atomically.
PERHAPS_CUCKOO_INLINE uint64_t perhaps__cuckoo_load_shared(const struct perhaps__cuckoo *table, uint64_t bit)
{
#if defined(__x86_64__) && !PERHAPS_THREAD_SANITIZER
    typedef uint64_t __attribute__((aligned(1), may_alias)) anywhere;
    uint64_t word;
    __asm__ volatile("movq %1, %0" : "=r"(word) : "m"(*(const anywhere *)(table->bytes + (bit >> 3))) : "memory");
    return word >> (bit & 7);
#else
    const uint64_t *words = (const uint64_t *)(const void *)table->bytes; // aligned to PERHAPS_LINE
    uint64_t shift = bit & 63;
    uint64_t low = perhaps__little64(__atomic_load_n(&words[bit >> 6], __ATOMIC_ACQUIRE));
    if (shift <= 7) {
        return low >> shift;
    }
    uint64_t high = perhaps__little64(__atomic_load_n(&words[(bit >> 6) + 1], __ATOMIC_ACQUIRE));
    return low >> shift | high << (64 - shift);
#endif
}

// 57 bits or more from a bit on, in the 8 bytes that it lies in.
PERHAPS_CUCKOO_INLINE uint64_t perhaps__cuckoo_load(const struct perhaps__cuckoo *table, uint64_t bit)
{
    if (table->shared) {
        return perhaps__cuckoo_load_shared(table, bit);
    }
    uint64_t word;
    memcpy(&word, table->bytes + (bit >> 3), sizeof word);
    return perhaps__little64(word) >> (bit & 7);
}

// The same from the first bit of a group on.
PERHAPS_CUCKOO_INLINE uint64_t perhaps__cuckoo_load_group(const struct perhaps__cuckoo *table, uint64_t bit)
{
    return perhaps__cuckoo_load(table, table->in_bytes ? bit & ~UINT64_C(7) : bit);
}

// The top bit of each lane that is 0 in word. Lane by lane, without a carry between them: the lower bits plus the
// largest number without a top bit reach the top unless they are 0.
PERHAPS_CUCKOO_INLINE uint64_t perhaps__cuckoo_zeros(const struct perhaps__cuckoo *table, uint64_t word)
{
    uint64_t lower = table->tops - table->ones; // all bits of a lane but the top one
    return ~(((word & lower) + lower) | word) & table->tops;
}

// Not 0 when a lane is 0 in word. A borrow may mark lanes above one that is; less work than to know which.
PERHAPS_CUCKOO_INLINE uint64_t perhaps__cuckoo_any_zero(const struct perhaps__cuckoo *table, uint64_t word)
{
    return (word - table->ones) & ~word & table->tops;
}

// Lanes among those of perhaps__cuckoo_zeros(): their sum piles up in the topmost lane, which holds 15 at least.
PERHAPS_CUCKOO_INLINE uint64_t perhaps__cuckoo_count_lanes(const struct perhaps__cuckoo *table, uint64_t zeros)
{
    uint64_t sum = (zeros >> (table->bits - 1)) * table->ones >> ((table->group_slots - 1) * table->bits);
    return sum & 15;
}

// Slots of a bucket, given by its first bit, that hold a value, 0 for free ones.
struct perhaps__cuckoo_found {
    uint64_t count;
    uint64_t bit; // where the first of them begins, if there is one
};

PERHAPS_CUCKOO_INLINE struct perhaps__cuckoo_found perhaps__cuckoo_find(const struct perhaps__cuckoo *table,
                                                                        uint64_t at, uint64_t value)
{
    struct perhaps__cuckoo_found found = {0, 0};
    uint64_t pattern = value * perhaps__factor(table->ones);
    uint64_t width = table->group_slots * table->bits;
    for (uint64_t i = table->groups; i > 0; i--) {
        uint64_t bit = at + (i - 1) * width;
        uint64_t zeros = perhaps__cuckoo_zeros(table, perhaps__cuckoo_load_group(table, bit) ^ pattern);
        uint64_t top = (uint64_t)__builtin_ctzll(zeros | UINT64_C(1) << 63);
        found.count += perhaps__cuckoo_count_lanes(table, zeros);
        found.bit = zeros != 0 ? bit + top + 1 - table->bits : found.bit;
    }
    return found;
}

// A value in every lane of a group.
PERHAPS_CUCKOO_INLINE uint64_t perhaps__cuckoo_pattern(const struct perhaps__cuckoo *table, uint64_t value)
{
    return value * perhaps__factor(table->ones);
}

// Whether a bucket holds the value of a pattern: not 0. Less work than finding where.
PERHAPS_CUCKOO_INLINE uint64_t perhaps__cuckoo_has_pattern(const struct perhaps__cuckoo *table, uint64_t at,
                                                           uint64_t pattern)
{
    uint64_t any = 0;
    uint64_t width = table->group_slots * table->bits;
    for (uint64_t i = 0; i < table->groups; i++) {
        uint64_t bit = at + i * width;
        any |= perhaps__cuckoo_any_zero(table, perhaps__cuckoo_load_group(table, bit) ^ pattern);
    }
    return any;
}

PERHAPS_CUCKOO_INLINE uint64_t perhaps__cuckoo_has(const struct perhaps__cuckoo *table, uint64_t at, uint64_t value)
{
    return perhaps__cuckoo_has_pattern(table, at, perhaps__cuckoo_pattern(table, value));
}

// The first bit of a bucket. Of one in whole bytes the last three bits are 0, and a compiler makes a number of bytes of it.
PERHAPS_CUCKOO_INLINE uint64_t perhaps__cuckoo_at_group(const struct perhaps__cuckoo *table, uint64_t bucket)
{
    return table->in_bytes ? bucket * (table->slots * table->bits / 8) * 8 : perhaps__cuckoo_at(table, bucket);
}

PERHAPS_CUCKOO_INLINE uint64_t perhaps__cuckoo_lane_mask(const struct perhaps__cuckoo *table)
{
    return (UINT64_C(1) << table->bits) - 1;
}

PERHAPS_CUCKOO_INLINE uint64_t perhaps__cuckoo_get(const struct perhaps__cuckoo *table, uint64_t bit)
{
    return perhaps__cuckoo_load(table, bit) & perhaps__cuckoo_lane_mask(table);
}

// Writes a slot beside threads that write others in the same words. Its bucket is locked, so that it is what it was.
PERHAPS_CUCKOO_INLINE void perhaps__cuckoo_put_shared(const struct perhaps__cuckoo *table, uint64_t bit, uint64_t value)
{
    uint64_t *words = (uint64_t *)(void *)table->bytes;
    uint64_t shift = bit & 63;
    uint64_t difference = perhaps__cuckoo_get(table, bit) ^ value;
    (void)__atomic_fetch_xor(&words[bit >> 6], perhaps__little64(difference << shift), __ATOMIC_ACQ_REL);
    if (shift + table->bits > 64) {
        difference >>= 64 - shift;
        (void)__atomic_fetch_xor(&words[(bit >> 6) + 1], perhaps__little64(difference), __ATOMIC_ACQ_REL);
    }
}

// Writes a slot: 8 bytes are read and written, its neighbours' bits as they were.
PERHAPS_CUCKOO_INLINE void perhaps__cuckoo_put(const struct perhaps__cuckoo *table, uint64_t bit, uint64_t value)
{
    if (table->shared) {
        perhaps__cuckoo_put_shared(table, bit, value);
        return;
    }
    uint64_t word;
    uint8_t *at = table->bytes + (bit >> 3);
    memcpy(&word, at, sizeof word);
    uint64_t shift = bit & 7;
    uint64_t others = perhaps__little64(word) & ~(perhaps__cuckoo_lane_mask(table) << shift);
    word = perhaps__little64(others | value << shift);
    memcpy(at, &word, sizeof word);
}

// ---------------------------------------------------------------- the verbs

PERHAPS_CUCKOO_INLINE struct perhaps__cuckoo_spots perhaps__cuckoo_spots(const struct perhaps__cuckoo *table,
                                                                         struct perhaps__cuckoo_home home)
{
    return (struct perhaps__cuckoo_spots){home.fingerprint, perhaps__cuckoo_at(table, home.first),
                                          perhaps__cuckoo_at(table, home.second)};
}

// Where a hash belongs, in bits.
PERHAPS_CUCKOO_INLINE struct perhaps__cuckoo_spots perhaps__cuckoo_start(const struct perhaps__cuckoo *table,
                                                                         uint64_t hash)
{
    return perhaps__cuckoo_spots(table, perhaps__cuckoo_home(table, perhaps__place(hash, table->seed_key)));
}

// Whether a table holds the key of a hash: all that a look-up for one key is.
PERHAPS_CUCKOO_INLINE int perhaps__cuckoo_ask(const struct perhaps__cuckoo *table, uint64_t hash)
{
    struct perhaps__cuckoo_home home = perhaps__cuckoo_home(table, perhaps__place(hash, table->seed_key));
    uint64_t pattern = perhaps__cuckoo_pattern(table, home.fingerprint);
    return (perhaps__cuckoo_has_pattern(table, perhaps__cuckoo_at_group(table, home.first), pattern) |
            perhaps__cuckoo_has_pattern(table, perhaps__cuckoo_at_group(table, home.second), pattern)) != 0;
}

// Adds a fingerprint both of whose buckets are full, by moving others to their other buckets: breadth-first search, the
// first table->search buckets that it comes to, no bucket twice. Nothing is written before the whole path is known. Then
// it is walked from its far end, and every fingerprint is copied before its old place is overwritten: there is no instant
// at which one of them is nowhere.
//
// 0, with the number of moves counted, or PERHAPS_E_FULL or PERHAPS_E_COPIES; then only the count of refusals has changed.
int perhaps__cuckoo_make_room(const struct perhaps__cuckoo *table, const struct perhaps__cuckoo_spots *spots,
                              struct perhaps__tally *tally);

// Adds a fingerprint to one of its buckets, the one with more free slots. 1: it was in neither; 0: it was; or a code.
PERHAPS_CUCKOO_INLINE int perhaps__cuckoo_add(const struct perhaps__cuckoo *table,
                                              const struct perhaps__cuckoo_spots *spots, struct perhaps__tally *tally)
{
    bool present = (perhaps__cuckoo_has(table, spots->first, spots->fingerprint) |
                    perhaps__cuckoo_has(table, spots->second, spots->fingerprint)) != 0;
    if (table->unique && present) {
        return 0;
    }
    struct perhaps__cuckoo_found first = perhaps__cuckoo_find(table, spots->first, 0);
    struct perhaps__cuckoo_found second = perhaps__cuckoo_find(table, spots->second, 0);
    struct perhaps__cuckoo_found free = second.count > first.count ? second : first;
    if (PERHAPS_LIKELY(free.count > 0)) {
        perhaps__cuckoo_put(table, free.bit, spots->fingerprint);
        tally->paths[0]++;
    } else {
        int status = perhaps__cuckoo_make_room(table, spots, tally);
        if (status < 0) {
            return status;
        }
    }
    tally->used++;
    tally->copies++;
    tally->keys += !present;
    return !present;
}

// Slots that hold the fingerprint: each bucket once, also where both are one.
PERHAPS_CUCKOO_INLINE uint64_t perhaps__cuckoo_count(const struct perhaps__cuckoo *table,
                                                     const struct perhaps__cuckoo_spots *spots)
{
    uint64_t first = perhaps__cuckoo_find(table, spots->first, spots->fingerprint).count;
    uint64_t second = perhaps__cuckoo_find(table, spots->second, spots->fingerprint).count;
    return first + (spots->first != spots->second ? second : 0);
}

// Clears one slot that holds the fingerprint: the lowest of the first bucket, or else of the second. Whether there was
// one.
PERHAPS_CUCKOO_INLINE bool perhaps__cuckoo_remove(const struct perhaps__cuckoo *table,
                                                  const struct perhaps__cuckoo_spots *spots,
                                                  struct perhaps__tally *tally)
{
    struct perhaps__cuckoo_found first = perhaps__cuckoo_find(table, spots->first, spots->fingerprint);
    struct perhaps__cuckoo_found second = perhaps__cuckoo_find(table, spots->second, spots->fingerprint);
    struct perhaps__cuckoo_found found = first.count > 0 ? first : second;
    bool is_there = found.count > 0;
    if (is_there) {
        perhaps__cuckoo_put(table, found.bit, 0);
    }
    tally->used -= is_there;
    tally->copies -= is_there;
    tally->removals += is_there;
    return is_there;
}

// Adds every fingerprint of `from` to `into`: tables of the same slots, the buckets of `from` a multiple of those of
// `into`, its fingerprints as wide or, beyond the base bits, wider. `into` then is as if the keys themselves had been
// added. 0 or a code; `into` then holds a part of them.
int perhaps__cuckoo_fold(const struct perhaps__cuckoo *into, const struct perhaps__cuckoo *from,
                         struct perhaps__tally *tally);

// Moves the fingerprints of one bucket of `from` to `into`, likewise, each added before it is taken. 0, or a code when one
// finds no room: it stays, and those after it. *taken counts those that moved. `beside` is the view of `into` where readers
// are beside it, and then both tables are shared; otherwise NULL.
int perhaps__cuckoo_move(const struct perhaps__cuckoo *into, const struct perhaps__view *beside,
                         const struct perhaps__cuckoo *from, uint64_t bucket, struct perhaps__tally *tally,
                         uint64_t *taken);

// Slots from `first` to before `last` that are taken, slots being numbered through all buckets. Not beside writers.
uint64_t perhaps__cuckoo_taken(const struct perhaps__cuckoo *table, uint64_t first, uint64_t last);

// Into the second level only (prefetcht2): a line that waits for the first level holds one of its few fill buffers. A bucket
// may lie on two lines, one in twelve does with 4 slots of 12 bits. To fetch the line of its last bit too, which is the same
// mostly, makes look-ups a quarter faster.
PERHAPS_CUCKOO_INLINE void perhaps__cuckoo_fetch(const struct perhaps__cuckoo *table, uint64_t at)
{
    uint64_t last = (uint64_t)table->slots * table->bits - 1;
    __builtin_prefetch(table->bytes + (at >> 3), 0, 1);
    __builtin_prefetch(table->bytes + ((at + last) >> 3), 0, 1);
}

// Fingerprints for which there are look-ups of their own in buckets of 4 slots, if all bits are base bits: as a constant the
// width saves a third of the instructions. Wider ones do not fit into one load.
#define PERHAPS_CUCKOO_WIDTHS(X) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)

// The functions of a view for one shape; *_far: for tables that do not fit the cache.
struct perhaps__cuckoo_kernel {
    perhaps_ask_function *ask;
    perhaps__ask_many_function *ask_near;
    perhaps__ask_many_function *ask_far;
    perhaps__add_many_function *add_near;
    perhaps__add_many_function *add_far;
    perhaps__count_many_function *count_near;
    perhaps__count_many_function *count_far;
    perhaps__remove_many_function *remove_near;
    perhaps__remove_many_function *remove_far;
};

const struct perhaps__cuckoo_kernel *perhaps__cuckoo_kernel(uint32_t slots, uint32_t fingerprint_bits,
                                                            uint32_t base_bits);

// Makes the functions of a view those for a table that threads share.
void perhaps__cuckoo_share(struct perhaps__view *view, bool near);

// Adds a fingerprint to a table that threads share, as its add_many does a key. 1, 0 or a code.
int perhaps__cuckoo_add_beside(const struct perhaps__view *view, const struct perhaps__cuckoo_spots *key,
                               struct perhaps__tally *tally);

#ifdef PERHAPS_TEST_SUPPORT
// Called, unless NULL, by readers of shared tables between their looks at the two buckets of a key.
extern void (*perhaps__cuckoo_between_buckets)(void);
#endif

#endif
