// SPDX-License-Identifier: MIT
// Any bytes are operations on filters; see tests/interpreter.h.
//
// The first byte says on how many keys: 0 all that the interpreter has, otherwise few, which takes a tenth of the time.
// (tests/test_model.c always takes all.)
#include <stdio.h>
#include <stdlib.h>

#include "interpreter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const unsigned few = 48;
    if (size == 0) {
        return 0;
    }
    const char *failure = interpret(data + 1, size - 1, data[0] == 0 ? INTERPRETER_KEYS : few, NULL);
    if (failure != NULL) {
        (void)fprintf(stderr, "%s\n", failure);
        abort();
    }
    return 0;
}
