// SPDX-License-Identifier: MIT
// A layer of kind cuckoo.
#include "layer.h"

const struct perhaps__layer_operations perhaps__layer_cuckoo = {.view = NULL};
