// SPDX-License-Identifier: MIT
#include "interval.h"

#include <math.h>

// P(Z > z) of a standard normal Z.
static double upper_tail(double z)
{
    return 0.5 * erfc(z / sqrt(2.0));
}

static double density(double z)
{
    return exp(-0.5 * z * z) / sqrt(2.0 * acos(-1.0));
}

// The z with upper_tail(z) = tail, 0 < tail < 0.5, with an absolute error below 4.5e-4: formula 26.2.23 of
// Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964), after Hastings (1955).
static double rough_quantile(double tail)
{
    double t = sqrt(-2.0 * log(tail));
    double numerator = 2.515517 + t * (0.802853 + t * 0.010328);
    double denominator = 1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308));
    return t - numerator / denominator;
}

double perhaps__guard_normal_quantile(double confidence)
{
    double tail = 0.5 * (1.0 - confidence);
    double z = rough_quantile(tail);
    // Halley's method on upper_tail(z) - tail, whose derivatives are -density and z * density. It cubes the
    // error, so that the second step already ends in the last bits.
    for (int step = 0; step < 2; step++) {
        double newton = (upper_tail(z) - tail) / density(z);
        z += newton / (1.0 - 0.5 * z * newton);
    }
    return z;
}

struct perhaps__guard_interval perhaps__guard_wilson(double hits, double trials, double z)
{
    if (!(trials > 0.0)) {
        return (struct perhaps__guard_interval){.low = 0.0, .high = 1.0};
    }
    // The ends are the roots of (n + z^2) x^2 - (2k + z^2) x + k^2/n. The larger is a sum of positive terms;
    // the smaller follows from their product, because the difference would lose its digits where k is small.
    double misses = trials - hits;
    double sum = hits + 0.5 * z * z + z * sqrt(hits * misses / trials + 0.25 * z * z);
    double high = sum / (trials + z * z);
    return (struct perhaps__guard_interval){
        .low = hits * (hits / trials) / sum,
        .high = misses > 0.0 && high < 1.0 ? high : 1.0,
    };
}
