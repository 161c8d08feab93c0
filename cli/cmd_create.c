// SPDX-License-Identifier: MIT
#include <perhaps/perhaps.h>
#include <string.h>

#include "creating.h"
#include "filterfile.h"
#include "keyfile.h"
#include "messages.h"
#include "options.h"
#include "sizeoptions.h"

#define DEFAULT_FPR 0.01

static int refuse_metadata(const struct arguments *arguments)
{
    size_t length = given(arguments, OPTION_METADATA) ? strlen(arguments->values[OPTION_METADATA]) : 0;
    if (length <= PERHAPS_METADATA_MAX) {
        return STATUS_OK;
    }
    return fail_usage("create", "--metadata: a text of %zu bytes is too long: at most %d are kept", length,
                      PERHAPS_METADATA_MAX);
}

static int take_options(struct creation *creation)
{
    perhaps_options *options = &creation->options;
    if (size_options(creation->arguments, PERHAPS_KIND_BLOOM, options) != STATUS_OK ||
        growth_options(creation->arguments, options) != STATUS_OK ||
        option_seed(creation->arguments, OPTION_SEED, &options->seed) != STATUS_OK ||
        refuse_metadata(creation->arguments) != STATUS_OK) {
        return STATUS_ERROR;
    }
    options->key = key_given();
    const char *metadata = creation->arguments->values[OPTION_METADATA];
    creation->metadata = metadata;
    creation->metadata_size = metadata != NULL ? strlen(metadata) : 0;
    if (options->fpr <= 0.0 && options->bytes == 0) {
        options->fpr = DEFAULT_FPR;
    }
    return STATUS_OK;
}

int command_create(const struct arguments *arguments)
{
    struct creation creation = {.arguments = arguments, .path = arguments->operands[0]};
    if (take_options(&creation) != STATUS_OK || creation_refuse_impossible(&creation) != STATUS_OK ||
        filter_lock_new(arguments, creation.path) != STATUS_OK) {
        return STATUS_ERROR;
    }
    int status = creation_run(&creation);
    creation_free(&creation);
    return status;
}
