// SPDX-License-Identifier: MIT
#include "errors.h"
#include "format.h"

int perhaps_stats(const perhaps_filter *filter, perhaps_statistics *statistics)
{
    if (filter == NULL || statistics == NULL) {
        return PERHAPS_E_ARGUMENT;
    }
    const struct perhaps__layer *layer = &filter->layer;
    const struct perhaps__bloom *bloom = &layer->kernel.bloom;
    perhaps_statistics result = {
        .kind = filter->kind,
        .hash_source = filter->hash_source,
        .seed = filter->seed,
        .capacity = filter->capacity,
        .adds = layer->adds,
        .adds_exact = filter->adds_exact,
        .layers = 1,
        .positions = bloom->positions,
        .format_version = PERHAPS_FORMAT_VERSION,
        .bits = bloom->bits,
        .set_bits = bloom->set_bits,
        .fill = (double)bloom->set_bits / (double)bloom->bits,
        .distinct_estimate = perhaps__bloom_distinct(bloom),
        .fpr_target = filter->fpr,
        .fpr_now = perhaps__bloom_fpr_now(bloom),
        .bytes = layer->payload_size,
        .encoded_bytes = perhaps__header_size(filter) + layer->payload_size,
        .bits_per_key = (double)bloom->bits / (double)filter->capacity,
    };
    return perhaps__give_result(statistics, &result, sizeof result) ? PERHAPS_OK : PERHAPS_E_OPTION;
}
