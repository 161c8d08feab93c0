// SPDX-License-Identifier: MIT
// Keys by number, and what the model makes of the results for them.
#ifndef PERHAPS_TESTS_INTERPRETER_KEYS_H
#define PERHAPS_TESTS_INTERPRETER_KEYS_H

#include "interpreter_run.h"
#include "support_keys.h"

// The bytes of a key and their number. Key 0 is the empty one.
size_t key_of(unsigned number, uint8_t key[SUPPORT_KEY_MAX]);

// Takes account of an add: `result` is 0 or 1, `answer_before` what was answered just before it.
void note_added(struct run *run, unsigned number, int result, int answer_before);

// Takes account of a removal of a key that had been added, or was surely absent.
void note_removed(struct run *run, unsigned number, int result);

// Whether a bound can be true of a key.
void check_count(struct run *run, unsigned number, uint64_t most);

// Whether adding may be refused like this. Cuckoo filters fill up.
void check_refusal(struct run *run, int status);

// Whether a removal may be refused as ambiguous.
void check_ambiguous(struct run *run);

#endif
