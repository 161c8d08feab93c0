// SPDX-License-Identifier: MIT
// Sizing of cuckoo filters: room for n keys first, then fingerprints wide enough for p, then no look-alikes to fear.
#include "sizing_cuckoo.h"

#include <math.h>

// How far a table can be filled without fear: load * slots - few. Measured; docs/cuckoo.md.
static const struct room {
    double load;
    double few;
} rooms[] = {[1] = {0.47, 0.0}, [2] = {0.84, 70.0}, [4] = {0.95, 32.0}, [8] = {0.98, 20.0}};

bool perhaps__cuckoo_bits(uint64_t buckets, uint32_t slots, uint32_t fingerprint_bits, uint64_t *bits)
{
    uint64_t width = (uint64_t)slots * fingerprint_bits;
    uint64_t used;
    return buckets > 0 && !__builtin_mul_overflow(buckets, width, &used) && used < PERHAPS_MAX_BITS &&
           perhaps__round_up(used + PERHAPS_CUCKOO_SLACK_BITS, PERHAPS_UNIT_BITS, bits) && *bits <= PERHAPS_MAX_BITS;
}

// Buckets that fill so many bits, an even number: H is odd, so that then no bucket is its own partner. Five keys of one
// such bucket would be refused however empty the table; of small tables they were the most frequent end.
static uint64_t buckets_in(uint64_t bits, uint32_t slots, uint32_t fingerprint_bits)
{
    return (bits - PERHAPS_CUCKOO_SLACK_BITS) / ((uint64_t)slots * fingerprint_bits) & ~UINT64_C(1);
}

// At most this is the chance that 2 * slots + 1 of the keys have the same two buckets, and cannot all lie there: the keys
// in question, chosen among all, times the chance that all of them are in the pair of the first. That takes the same one
// of b/2 even buckets, and the same sum: the same one of the fingerprints, or another with the same of b/2 odd sums. It
// decides the size of small tables, and the width of fingerprints in large ones of few slots.
static double crowding(double keys, double buckets, uint32_t slots, uint32_t base_bits)
{
    double sums = (double)perhaps__cuckoo_fingerprints(base_bits, base_bits);
    double pairs = buckets / 2.0 / (1.0 / sums + 2.0 / buckets);
    double chance = keys;
    for (uint32_t i = 1; i <= 2 * slots; i++) {
        chance *= (keys - i) / (i + 1) / pairs;
    }
    return chance;
}

bool perhaps__cuckoo_fits(uint64_t keys, uint64_t buckets, uint32_t slots, uint32_t base_bits)
{
    const struct room *room = &rooms[slots];
    double count = (double)keys;
    // So few fit whatever their buckets are, if those are two.
    bool few = keys <= 2 * (uint64_t)slots && buckets % 2 == 0;
    bool room_enough = few || count <= room->load * ((double)buckets * slots) - room->few;
    return room_enough && (few || slots == 1 || crowding(count, (double)buckets, slots, base_bits) <= 1e-9);
}

double perhaps__cuckoo_expected_fpr(double keys, double buckets, double fingerprints)
{
    double bins = fingerprints * buckets;
    double alone = fmod(buckets, 2.0) / buckets; // of absent keys: those in the bucket that is a pair of its own
    double pair_hit = buckets > 1.0 ? -expm1(keys * log1p(-2.0 / bins)) : 0.0;
    double alone_hit = -expm1(keys * log1p(-1.0 / bins));
    return (1.0 - alone) * pair_hit + alone * alone_hit;
}

// How many fingerprints a filter of its own has: all of their bits are base bits.
static double fingerprints_of(uint32_t fingerprint_bits)
{
    return (double)perhaps__cuckoo_fingerprints(fingerprint_bits, fingerprint_bits);
}

// For perhaps__smallest_units(): slots and width in one number.
static uint32_t pack(uint32_t slots, uint32_t fingerprint_bits)
{
    return slots << 8 | fingerprint_bits;
}

static uint64_t buckets_of_units(uint64_t units, uint32_t packed)
{
    return buckets_in(units * PERHAPS_UNIT_BITS, packed >> 8, packed & 255);
}

// The rate, or 2 when so many units have no room for all keys.
static double expectation(uint64_t capacity, uint64_t units, uint32_t packed)
{
    uint64_t buckets = buckets_of_units(units, packed);
    if (buckets == 0 || !perhaps__cuckoo_fits(capacity, buckets, packed >> 8, packed & 255)) {
        return 2.0;
    }
    return perhaps__cuckoo_expected_fpr((double)capacity, (double)buckets, fingerprints_of(packed & 255));
}

// The units that n keys need at p with fingerprints of some width, or 0.
static uint64_t units_for(uint32_t slots, uint32_t fingerprint_bits, uint64_t capacity, double budget)
{
    uint32_t packed = pack(slots, fingerprint_bits);
    double bits = (double)capacity / rooms[slots].load * fingerprint_bits;
    return perhaps__smallest_units(expectation, capacity, budget, packed, ceil(bits / PERHAPS_UNIT_BITS));
}

// The width with which the fewest units do; of equal ones the narrower. In large filters that is log2(1/p) +
// log2(2 * slots * load) bits, rounded up, or one bit less and a few more buckets where that is less memory. A width at
// which p is missed four times over is not looked into: it would take four times the buckets.
static uint64_t best_units(uint32_t slots, uint64_t capacity, double budget, uint32_t *fingerprint_bits)
{
    uint64_t best = 0;
    for (uint32_t bits = PERHAPS_CUCKOO_MIN_BITS; bits <= PERHAPS_CUCKOO_MAX_BITS; bits++) {
        uint64_t room = units_for(slots, bits, capacity, 1.0);
        if (best != 0 && (room == 0 || room > best)) {
            break; // wider ones only take more
        }
        if (room == 0 || expectation(capacity, room, pack(slots, bits)) > 4.0 * budget) {
            continue;
        }
        uint64_t units = units_for(slots, bits, capacity, budget);
        if (units != 0 && (best == 0 || units < best)) {
            best = units;
            *fingerprint_bits = bits;
        }
    }
    return best;
}

bool perhaps__cuckoo_size(const struct perhaps__shape *asked, uint64_t capacity, double fpr, struct perhaps__size *size)
{
    double floor_rate = perhaps__hash_floor(capacity);
    if (floor_rate > fpr / 4.0) {
        return false;
    }
    uint32_t bits = 0;
    uint64_t units = best_units(asked->slots, capacity, fpr - floor_rate, &bits);
    if (units != 0 && asked->cell_bits != 0) {
        bool enough = asked->cell_bits >= bits;
        bits = asked->cell_bits;
        units = enough ? units_for(asked->slots, bits, capacity, fpr - floor_rate) : 0;
    }
    if (units == 0) {
        return false;
    }
    uint64_t buckets = buckets_of_units(units, pack(asked->slots, bits));
    *size = (struct perhaps__size){
        .capacity = capacity,
        .fpr = fpr,
        .fpr_expected =
            perhaps__cuckoo_expected_fpr((double)capacity, (double)buckets, fingerprints_of(bits)) + floor_rate,
        .bits = units * PERHAPS_UNIT_BITS,
        .range = buckets,
        .shape = *asked,
    };
    size->shape.cell_bits = bits;
    size->shape.layout = bits;
    return true;
}

/* ---------------------------------------------------------------- layers of growing filters */

// Base bits that are enough for layers of up to 10^9 keys, whatever the first one needs: for one slot a bucket what a good
// load takes (docs/cuckoo.md, "Where a key lies"), for others what perhaps__cuckoo_fits() asks for.
static const uint32_t base_bits_to_grow[] = {[1] = 12, [2] = 15, [4] = 9, [8] = 8};

// All layers have the base bits of the first one, if keys can be removed and it can be chosen.
bool perhaps__cuckoo_first_size(const struct perhaps__shape *asked, uint64_t capacity, double fpr,
                                struct perhaps__size *size)
{
    if (!perhaps__cuckoo_size(asked, capacity, fpr, size)) {
        return false;
    }
    struct perhaps__shape wider = *asked;
    wider.cell_bits = base_bits_to_grow[asked->slots];
    bool enough = asked->cell_bits != 0 || size->shape.cell_bits >= wider.cell_bits || !perhaps__grows_evenly(asked);
    return enough || perhaps__cuckoo_size(&wider, capacity, fpr, size);
}

// The smallest multiple of before->range buckets that has room for n keys at p, with fingerprints of some width; 0 if that
// is more than twice what the load asks for, and not a small table: another width is cheaper then.
static uint64_t buckets_after(const struct perhaps__size *before, uint64_t capacity, double budget, uint32_t width,
                              uint32_t base_bits)
{
    uint32_t slots = before->shape.slots;
    double fingerprints = (double)perhaps__cuckoo_fingerprints(width, base_bits);
    double least = ((double)capacity + rooms[slots].few) / (rooms[slots].load * slots);
    double most = fmin(2.0 * (least + (double)before->range) + 512.0, (double)PERHAPS_MAX_BITS) / (double)before->range;
    double first = ceil(least / (double)before->range);
    if (most - first > 4096.0) {
        return 0; // no layer that follows another is so much larger: the file that says so was made up
    }
    for (uint64_t times = (uint64_t)first; times <= (uint64_t)most; times++) {
        uint64_t buckets = times * before->range;
        if (perhaps__cuckoo_fits(capacity, buckets, slots, base_bits) &&
            perhaps__cuckoo_expected_fpr((double)capacity, (double)buckets, fingerprints) <= budget) {
            return buckets;
        }
    }
    return 0;
}

// Takes over a table if it takes less memory than what is in *size already.
static void take_smaller(struct perhaps__size *size, uint64_t buckets, uint32_t width, uint32_t base_bits)
{
    uint64_t bits = 0;
    if (buckets != 0 && perhaps__cuckoo_bits(buckets, size->shape.slots, width, &bits) &&
        (size->bits == 0 || bits < size->bits)) {
        size->bits = bits;
        size->range = buckets;
        size->shape.cell_bits = width;
        size->shape.layout = base_bits;
    }
}

// The best table with the base bits of the layer before and fingerprints that append to them, so that it folds into that.
static void take_folding(const struct perhaps__size *before, double budget, uint32_t least, struct perhaps__size *size)
{
    uint32_t base_bits = before->shape.layout;
    bool enough = before->shape.slots > 1 || base_bits >= base_bits_to_grow[1];
    for (uint32_t width = least > base_bits ? least : base_bits; enough && width <= PERHAPS_CUCKOO_MAX_BITS; width++) {
        take_smaller(size, buckets_after(before, size->capacity, budget, width, base_bits), width, base_bits);
    }
}

// Where so few base bits would crowd a table of this size, or where nothing is removed and so nothing is folded, all bits of
// the fingerprints are base bits.
bool perhaps__cuckoo_next_size(const struct perhaps__size *before, uint64_t capacity, double fpr,
                               struct perhaps__size *size)
{
    double floor_rate = perhaps__hash_floor(capacity);
    double budget = fpr - floor_rate;
    bool folds = perhaps__grows_evenly(&before->shape);
    uint32_t least = folds ? before->shape.cell_bits : PERHAPS_CUCKOO_MIN_BITS;
    *size = (struct perhaps__size){.capacity = capacity, .fpr = fpr, .shape = before->shape};
    if (floor_rate > fpr / 4.0) {
        return false;
    }
    take_folding(before, budget, least, size);
    for (uint32_t width = least; width <= PERHAPS_CUCKOO_MAX_BITS && (!folds || size->bits == 0); width++) {
        take_smaller(size, buckets_after(before, capacity, budget, width, width), width, width);
    }
    if (size->bits == 0) {
        return false;
    }
    double fingerprints = (double)perhaps__cuckoo_fingerprints(size->shape.cell_bits, size->shape.layout);
    size->fpr_expected = perhaps__cuckoo_expected_fpr((double)capacity, (double)size->range, fingerprints) + floor_rate;
    return true;
}

// The wider the fingerprints, the smaller the rate, as long as the buckets suffice for n.
bool perhaps__cuckoo_fpr_for(const struct perhaps__shape *asked, uint64_t capacity, uint64_t bits, double smallest,
                             double largest, struct perhaps__size *size)
{
    if (bits < PERHAPS_UNIT_BITS) {
        return false;
    }
    uint64_t units = perhaps__min(bits, PERHAPS_MAX_BITS) / PERHAPS_UNIT_BITS;
    double floor_rate = perhaps__hash_floor(capacity);
    for (uint32_t width = PERHAPS_CUCKOO_MAX_BITS; width >= PERHAPS_CUCKOO_MIN_BITS; width--) {
        bool allowed = asked->cell_bits == 0 || asked->cell_bits == width;
        double rate = allowed ? expectation(capacity, units, pack(asked->slots, width)) : 2.0;
        if (rate > 1.0) {
            continue;
        }
        // A hair above the rate itself, so that rounding does not ask for one unit more; and enough for the hash.
        double fpr = fmax(fmax((rate + floor_rate) * (1.0 + 1e-12), floor_rate * 4.0), smallest);
        return fpr <= largest && perhaps__cuckoo_size(asked, capacity, fpr, size) && size->bits <= bits;
    }
    return false;
}
