// SPDX-License-Identifier: MIT
// The even numbers up to 2,000,000 are "the store"; every number up to there is asked for.
#include <perhaps/guard.h>
#include <stdio.h>

static int store_has(uint64_t number)
{
    return number % 2 == 0;
}

static perhaps_filter *filter_of_store(void)
{
    perhaps_options options = {.size = sizeof options, .capacity = 1000000, .fpr = 0.01};
    perhaps_filter *filter = NULL;
    if (perhaps_create(&options, &filter, NULL) < 0) {
        return NULL;
    }
    for (uint64_t number = 0; number < 2000000; number += 2) {
        perhaps_add(filter, &number, sizeof number);
    }
    return filter;
}

int main(void)
{
    perhaps_filter *filter = filter_of_store();
    perhaps_guard_options options = {.size = sizeof options, .filter = filter};
    perhaps_guard *guard = NULL;
    if (filter == NULL || perhaps_guard_create(&options, &guard, NULL) < 0) {
        return 1;
    }
    for (uint64_t number = 0; number < 2000000; number++) {
        if (perhaps_guard_ask(guard, &number, sizeof number) != 0) {
            perhaps_guard_report(guard, &number, sizeof number, store_has(number));
        }
    }
    perhaps_guard_statistics seen = {.size = sizeof seen};
    perhaps_guard_stats(guard, &seen);
    printf("asked %llu, surely absent %llu\n", (unsigned long long)seen.queries,
           (unsigned long long)seen.surely_absent);
    printf("confirmed %llu, refuted %llu\n", (unsigned long long)seen.confirmed, (unsigned long long)seen.refuted);
    printf("observed %.4f (%.4f to %.4f), predicted %.4f, target %.4f: %s\n", seen.fpr_observed, seen.fpr_observed_low,
           seen.fpr_observed_high, seen.fpr_predicted, seen.fpr_target, perhaps_guard_verdict_name(seen.verdict));
    perhaps_guard_free(guard);
    perhaps_free(filter);
    return 0;
}
