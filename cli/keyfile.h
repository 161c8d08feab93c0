// SPDX-License-Identifier: MIT
//
// The secret key of keyed filters, from the file that --key-file names: never from the command line, which every process
// of the machine can read.
#ifndef PERHAPS_CLI_KEYFILE_H
#define PERHAPS_CLI_KEYFILE_H

#include <stdint.h>

struct arguments;

// Reads the key, if the option was given; complains and returns STATUS_ERROR when the file holds none. Warns when others
// can read the file.
int key_take(const struct arguments *arguments);

// The key, PERHAPS_KEY_BYTES bytes, or NULL when none was given.
const uint8_t *key_given(void);

// Overwrites it. key_given() is NULL from then on.
void key_forget(void);

#endif
