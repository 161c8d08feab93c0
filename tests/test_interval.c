// SPDX-License-Identifier: MIT
// The interval around the observed rate: against values computed to 25 digits, and by exact summation over
// the binomial distribution, so that nothing here depends on a random number.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

// After the four above, which it needs.
#include <cmocka.h>

#include "interval.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void assert_near(double value, double expected, double relative_error)
{
    if (!(fabs(value - expected) <= relative_error * fabs(expected))) {
        fail_msg("%.17g is not %.17g", value, expected);
    }
}

// sqrt(2) erfinv(c), computed with mpmath to 30 digits.
static void test_normal_quantile(void **state)
{
    static const struct {
        double confidence;
        double z;
        double error;
    } known[] = {
        {0.5, 0.674489750196081743, 1e-14},        {0.8, 1.28155156554460046697, 1e-14},
        {0.9, 1.64485362695147271487, 1e-14},      {0.95, 1.95996398454005423552, 1e-14},
        {0.99, 2.57582930354890076098, 1e-14},     {0.999, 3.29052673149189479322, 1e-12},
        {0.999999, 4.89163847569859038623, 1e-10},
    };
    for (size_t i = 0; i < COUNT(known); i++) {
        assert_near(perhaps__guard_normal_quantile(known[i].confidence), known[i].z, known[i].error);
    }
}

// P(|Z| <= z) = erf(z / sqrt 2) undoes the quantile, everywhere between the smallest and the largest.
static void test_normal_quantile_inverts(void **state)
{
    for (int i = 0; i <= 1000; i++) {
        double confidence = 0.5 + 0.499999 * i / 1000;
        double z = perhaps__guard_normal_quantile(confidence);
        assert_near(1 - erf(z / sqrt(2)), 1 - confidence, 1e-9);
    }
}

// Computed with mpmath to 25 digits. In the last ones the ends are far apart in size, where subtracting would
// leave few digits.
static void test_wilson_known(void **state)
{
    static const struct {
        double hits;
        double trials;
        double low;
        double high;
    } known[] = {
        {10, 100, 0.05522913706067507511608, 0.1743656615049134626197},
        {1, 3, 0.06149194472039624121743, 0.7923403991979522774357},
        {1, 1e6, 1.765245767453714657435823e-7, 5.66491180431044295834447653e-6},
        {1, 1e12, 1.765245549351747288780164e-13, 5.664934265736511505970968e-12},
    };
    double z = perhaps__guard_normal_quantile(0.95);
    for (size_t i = 0; i < COUNT(known); i++) {
        struct perhaps__guard_interval interval = perhaps__guard_wilson(known[i].hits, known[i].trials, z);
        assert_near(interval.low, known[i].low, 1e-12);
        assert_near(interval.high, known[i].high, 1e-12);
    }
}

static void assert_exactly(double value, double expected)
{
    if (!(value >= expected && value <= expected)) {
        fail_msg("%.17g is not exactly %.17g", value, expected);
    }
}

// No hit: [0, z^2 / (n + z^2)]; hits only: its mirror image. No trial: everything is possible.
static void test_wilson_at_the_ends(void **state)
{
    static const double confidences[] = {0.5, 0.8, 0.95, 0.99, 0.999999};
    static const double trials[] = {1e-3, 1, 2, 3, 7, 100, 12345, 1e6, 1e15};
    for (size_t i = 0; i < COUNT(confidences); i++) {
        double z = perhaps__guard_normal_quantile(confidences[i]);
        for (size_t j = 0; j < COUNT(trials); j++) {
            double n = trials[j];
            struct perhaps__guard_interval none = perhaps__guard_wilson(0, n, z);
            assert_exactly(none.low, 0);
            assert_near(none.high, z * z / (n + z * z), 1e-14);
            struct perhaps__guard_interval all = perhaps__guard_wilson(n, n, z);
            assert_near(all.low, n / (n + z * z), 1e-14);
            assert_exactly(all.high, 1);
        }
        struct perhaps__guard_interval nothing = perhaps__guard_wilson(0, 0, z);
        assert_exactly(nothing.low, 0);
        assert_exactly(nothing.high, 1);
    }
}

// Contains the observed share, is symmetric, and narrows as trials grow.
static void test_wilson_shape(void **state)
{
    double z = perhaps__guard_normal_quantile(0.95);
    for (int n = 1; n <= 200; n++) {
        for (int k = 0; k <= n; k++) {
            struct perhaps__guard_interval it = perhaps__guard_wilson(k, n, z);
            struct perhaps__guard_interval mirror = perhaps__guard_wilson(n - k, n, z);
            struct perhaps__guard_interval more = perhaps__guard_wilson(2.0 * k, 2.0 * n, z);
            double share = (double)k / n;
            assert_true(0 <= it.low && it.low <= share && share <= it.high && it.high <= 1);
            assert_true(fabs(it.low - (1 - mirror.high)) < 1e-13);
            assert_true(more.high - more.low < it.high - it.low);
        }
    }
}

static double probability(double n, double k, double p)
{
    return exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) + (n - k) * log1p(-p));
}

// The probability that the interval contains p, summed over every k within ten standard deviations: the
// rest is below 1e-20. *total becomes the sum of all probabilities, which shows that nothing was left out.
static double coverage(double n, double p, double z, double *total)
{
    double reach = 10 * sqrt(n * p * (1 - p)) + 30;
    double first = fmax(0, floor(n * p - reach));
    double last = fmin(n, ceil(n * p + reach));
    double covered = 0;
    *total = 0;
    for (int i = 0; i <= (int)(last - first); i++) {
        double k = first + i;
        struct perhaps__guard_interval interval = perhaps__guard_wilson(k, n, z);
        double weight = probability(n, k, p);
        *total += weight;
        covered += interval.low <= p && p <= interval.high ? weight : 0;
    }
    return covered;
}

static void check_coverage(double p, double confidence, double n, double tolerance)
{
    double total = 0;
    double z = perhaps__guard_normal_quantile(confidence);
    double covered = coverage(n, p, z, &total);
    assert_near(total, 1, 1e-8);
    if (fabs(covered - confidence) > tolerance) {
        fail_msg("n %g, p %g: coverage %.5f, asked for %.5f", n, p, covered, confidence);
    }
}

static void test_coverage_at_one_percent(void **state)
{
    for (int i = 0; i <= 48; i++) {
        double n = round(1e4 * pow(100, i / 48.0)); // from 10^4 to 10^6
        check_coverage(0.01, 0.95, n, 0.005);
        check_coverage(0.01, 0.99, n, 0.002);
        check_coverage(0.01, 0.80, n, 0.02);
    }
}

// As the header says: far off where hardly a hit is expected.
static void test_coverage_of_few_hits(void **state)
{
    check_coverage(0.001, 0.95, 1e5, 0.01);
    check_coverage(0.001, 0.95, 1e4, 0.02);
    double total = 0;
    double z = perhaps__guard_normal_quantile(0.95);
    assert_near(coverage(100, 0.01, z, &total), 0.92063, 1e-4);
    assert_near(coverage(100, 0.001, z, &total), 0.90479, 1e-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normal_quantile),      cmocka_unit_test(test_normal_quantile_inverts),
        cmocka_unit_test(test_wilson_known),         cmocka_unit_test(test_wilson_at_the_ends),
        cmocka_unit_test(test_wilson_shape),         cmocka_unit_test(test_coverage_at_one_percent),
        cmocka_unit_test(test_coverage_of_few_hits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
