// SPDX-License-Identifier: MIT
// Any bytes are operations on filters; see tests/interpreter.h.
#include <stdio.h>
#include <stdlib.h>

#include "interpreter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *failure = interpret(data, size, NULL);
    if (failure != NULL) {
        (void)fprintf(stderr, "%s\n", failure);
        abort();
    }
    return 0;
}
