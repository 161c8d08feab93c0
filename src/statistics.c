// SPDX-License-Identifier: MIT
#include "errors.h"
#include "format.h"

int perhaps_stats(const perhaps_filter *filter, perhaps_statistics *statistics)
{
    if (filter == NULL || statistics == NULL) {
        return PERHAPS_E_ARGUMENT;
    }
    const struct perhaps__layer *layer = &filter->layer;
    perhaps_statistics result = {
        .kind = filter->kind,
        .hash_source = filter->hash_source,
        .seed = filter->seed,
        .capacity = filter->capacity,
        .adds = layer->tally.keys,
        .adds_exact = filter->adds_exact,
        .layers = 1,
        .positions = layer->shape.positions,
        .format_version = PERHAPS_FORMAT_VERSION,
        .bits = layer->bits,
        .fpr_target = filter->fpr,
        .bytes = layer->payload_size,
        .encoded_bytes = perhaps__header_size(filter) + layer->payload_size,
        .bits_per_key = (double)layer->bits / (double)filter->capacity,
        .policy = layer->shape.policy,
        .copies = layer->tally.copies,
        .removals = layer->tally.removals,
    };
    layer->operations->describe(layer, &result);
    return perhaps__give_result(statistics, &result, sizeof result) ? PERHAPS_OK : PERHAPS_E_OPTION;
}
