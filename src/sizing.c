// SPDX-License-Identifier: MIT
#include "sizing.h"

#include <math.h>

// Up to this many positions in all (n*k) the expectation is summed exactly: 10^4 * k additions, at most a
// millisecond. Beyond, the second-order formula is within 1 part in 10^5, from above.
#define EXACT_THROWS 10000

double perhaps__hash_floor(uint64_t capacity)
{
    return ldexp((double)capacity, -64);
}

// covered[j]: the probability that `throws` independent uniform positions hit all of j given bits of m. The
// last throw hits one of the j with probability j/m, which leaves j - 1 to the others. All terms are positive, so
// nothing cancels (inclusion and exclusion over j loses every digit from k = 25 on).
static void cover_probabilities(uint64_t throws, double bits, uint32_t k, double *covered)
{
    covered[0] = 1.0;
    for (uint32_t j = 1; j <= k; j++) {
        covered[j] = 0.0;
    }
    for (uint64_t i = 0; i < throws; i++) {
        for (uint32_t j = k; j > 0; j--) {
            double hit = (double)j / bits;
            covered[j] = covered[j] * (1.0 - hit) + covered[j - 1] * hit;
        }
    }
}

// distinct[j]: the probability that k independent uniform positions are exactly j different bits of m.
static void distinct_probabilities(double bits, uint32_t k, double *distinct)
{
    distinct[0] = 1.0;
    for (uint32_t j = 1; j <= k; j++) {
        distinct[j] = 0.0;
    }
    for (uint32_t i = 0; i < k; i++) {
        for (uint32_t j = i + 1; j > 0; j--) {
            distinct[j] = distinct[j] * ((double)j / bits) + distinct[j - 1] * (1.0 - (double)(j - 1) / bits);
        }
        distinct[0] = 0.0;
    }
}

static double exact_fpr(uint64_t throws, uint64_t bits, uint32_t k)
{
    double covered[PERHAPS_MAX_POSITIONS + 1];
    double distinct[PERHAPS_MAX_POSITIONS + 1];
    cover_probabilities(throws, (double)bits, k, covered);
    distinct_probabilities((double)bits, k, distinct);
    double sum = 0.0;
    for (uint32_t j = 0; j <= k; j++) {
        sum += distinct[j] * covered[j];
    }
    return sum;
}

// E[Y^k] for Y = X/m around its mean: mean^k exp(k(k-1)/2 var/mean^2), which agrees with the expansion to second order
// and, from k = 3 on, errs on the safe side of the exact sum, by 1 part in 10^5 at most where the two meet. The mean is
// exact; the variance is that of the occupancy problem, m e^-a (1 - (1 + a) e^-a) with a = n*k/m throws a bit.
static double second_order_fpr(double throws, double bits, uint32_t k)
{
    double mean = -expm1(throws * log1p(-1.0 / bits));
    double load = throws / bits;
    double empty = exp(-load);
    double variance = empty * (1.0 - (1.0 + load) * empty) / bits;
    double order = (double)k;
    double correction = order * (order - 1.0) / 2.0 * variance / (mean * mean);
    return fmin(1.0, pow(mean, order) * exp(correction));
}

double perhaps__bloom_expected_fpr(uint64_t capacity, uint64_t bits, uint32_t positions)
{
    if (capacity <= EXACT_THROWS && capacity * positions <= EXACT_THROWS) {
        return exact_fpr(capacity * positions, bits, positions);
    }
    return second_order_fpr((double)capacity * positions, (double)bits, positions);
}

static bool suffices(perhaps__expectation *expectation, uint64_t capacity, double fpr, uint32_t shape, uint64_t units)
{
    return expectation(capacity, units, shape) <= fpr;
}

// Gallops from the guess to a bracket, then halves it.
uint64_t perhaps__smallest_units(perhaps__expectation *expectation, uint64_t capacity, double fpr, uint32_t shape,
                                 double guess)
{
    const uint64_t most = PERHAPS_MAX_BITS / PERHAPS_UNIT_BITS;
    if (!(guess < (double)most)) {
        return 0;
    }
    uint64_t low = guess < 2.0 ? 0 : (uint64_t)guess - 1; // too few, once the first loop is done; 0 always is
    uint64_t high = low + 1;                              // enough, once the second is
    for (uint64_t step = 1; low > 0 && suffices(expectation, capacity, fpr, shape, low); step *= 2) {
        high = low;
        low = low > step ? low - step : 0;
    }
    for (uint64_t step = 1; !suffices(expectation, capacity, fpr, shape, high); step *= 2) {
        low = high;
        high += step;
        if (high > most) {
            return 0;
        }
    }
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (suffices(expectation, capacity, fpr, shape, middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return high;
}

static double bloom_expectation(uint64_t capacity, uint64_t units, uint32_t positions)
{
    return perhaps__bloom_expected_fpr(capacity, units * PERHAPS_UNIT_BITS, positions);
}

// The asymptotic m = -k n / ln(1 - p^(1/k)) is a unit or two away from the answer at most.
static uint64_t units_for(uint64_t capacity, double fpr, uint32_t k)
{
    double ideal = -(double)k * (double)capacity / log1p(-pow(fpr, 1.0 / k));
    return perhaps__smallest_units(bloom_expectation, capacity, fpr, k, ceil(ideal / PERHAPS_UNIT_BITS));
}

// At the optimum half of the bits are set and k = log2(1/p); the best whole number is next to it.
static uint32_t clamp_positions(double ideal)
{
    return ideal < 1.0 ? 1 : (uint32_t)fmin(ideal, 30.0);
}

bool perhaps__bloom_size(const struct perhaps__shape *asked, uint64_t capacity, double fpr, struct perhaps__size *size)
{
    (void)asked;
    double floor_rate = perhaps__hash_floor(capacity);
    if (floor_rate > fpr / 4.0) {
        return false;
    }
    double budget = fpr - floor_rate;
    uint32_t lower = clamp_positions(-log2(budget));
    uint64_t best_units = 0;
    uint32_t best_positions = 0;
    for (uint32_t k = lower; k <= lower + 1; k++) {
        uint64_t units = units_for(capacity, budget, k);
        if (units != 0 && (best_units == 0 || units < best_units)) {
            best_units = units;
            best_positions = k;
        }
    }
    if (best_units == 0) {
        return false;
    }
    uint64_t bits = best_units * PERHAPS_UNIT_BITS;
    *size = (struct perhaps__size){
        .capacity = capacity,
        .fpr = fpr,
        .fpr_expected = perhaps__bloom_expected_fpr(capacity, bits, best_positions) + floor_rate,
        .bits = bits,
        .range = bits,
        .shape.positions = best_positions,
    };
    return true;
}

bool perhaps__bloom_fpr_for(const struct perhaps__shape *asked, uint64_t capacity, uint64_t bits, double smallest,
                            double largest, struct perhaps__size *size)
{
    if (bits < PERHAPS_UNIT_BITS) {
        return false;
    }
    uint64_t usable = perhaps__min(bits, PERHAPS_MAX_BITS) & ~(uint64_t)(PERHAPS_UNIT_BITS - 1);
    uint32_t lower = clamp_positions((double)usable / (double)capacity * 0.6931471805599453);
    double best = fmin(perhaps__bloom_expected_fpr(capacity, usable, lower),
                       perhaps__bloom_expected_fpr(capacity, usable, lower + 1));
    // A hair above the rate itself, so that rounding does not ask for one unit more; and enough for the hash.
    double floor_rate = perhaps__hash_floor(capacity);
    double fpr = fmax(fmax((best + floor_rate) * (1.0 + 1e-12), floor_rate * 4.0), smallest);
    return fpr <= largest && perhaps__bloom_size(asked, capacity, fpr, size) && size->bits <= bits;
}

static bool fits(perhaps__size_function *size_of, const struct perhaps__shape *asked, uint64_t capacity, double fpr,
                 uint64_t bits)
{
    struct perhaps__size size;
    return size_of(asked, capacity, fpr, &size) && size.bits <= bits;
}

// Gallops to a capacity that no longer fits, then halves the gap. Starting from the textbook's
// n = m (ln 2)^2 / -ln p, a few steps bracket the answer.
bool perhaps__capacity_for(perhaps__size_function *size_of, const struct perhaps__shape *asked, uint64_t bits,
                           double fpr, struct perhaps__size *size)
{
    double textbook = (double)perhaps__min(bits, PERHAPS_MAX_BITS) * 0.4804530139182014 / -log(fpr);
    uint64_t step = (uint64_t)(textbook / 64.0) + 1;
    uint64_t low = (uint64_t)textbook;
    while (low > 0 && !fits(size_of, asked, low, fpr, bits)) {
        low = low > step ? low - step : 0;
        step *= 2;
    }
    step = (uint64_t)(textbook / 64.0) + 1;
    uint64_t high = low + step;
    while (fits(size_of, asked, high, fpr, bits)) {
        low = high;
        step *= 2;
        high += step;
    }
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (fits(size_of, asked, middle, fpr, bits)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low > 0 && size_of(asked, low, fpr, size);
}
