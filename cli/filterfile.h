// SPDX-License-Identifier: MIT
//
// Filters as files: every function complains by itself and returns a status.
#ifndef PERHAPS_CLI_FILTERFILE_H
#define PERHAPS_CLI_FILTERFILE_H

#include <perhaps/perhaps.h>
#include <stdbool.h>
#include <stdint.h>

struct arguments;

// For reading: mapped, fully verified.
int filter_open(const char *path, perhaps_filter **filter);

// The same, but with --first-touch verified as it is read; then filter_warn_if_damaged() is called in the end.
int filter_open_asked(const struct arguments *arguments, const char *path, perhaps_filter **filter);
void filter_warn_if_damaged(const char *path, const perhaps_filter *filter);

// perhaps_open() with the key that was given, if any; without complaints.
int filter_load(const char *path, uint32_t flags, perhaps_filter **filter, perhaps_error *error);

// As filter_open(), but a keyed filter is opened without its key when none was given: it then lacks it, tells what it is,
// and nothing of keys.
int filter_open_keyless(const struct arguments *arguments, const char *path, perhaps_filter **filter);
bool filter_lacks_key(const perhaps_filter *filter);

// Into memory, where it can be changed.
int filter_open_copy(const char *path, perhaps_filter **filter);

// For changing the filter that is the first operand: locked, into memory, and not one of hashes. With its journal, if it has
// one: it is then durable, and every change is in the file when its call has returned. The two steps, and both.
int filter_lock(const struct arguments *arguments);
int filter_open_to_change(const struct arguments *arguments, perhaps_filter **filter);
int filter_open_locked(const struct arguments *arguments, perhaps_filter **filter);

bool filter_is_durable(const perhaps_filter *filter);

// perhaps_open_durable().
int filter_load_journaled(const char *path, uint32_t flags, perhaps_filter **filter, perhaps_error *error);

// The same for a guard, whose threads share it. *filter stays NULL when the file has no journal.
int filter_open_journaled(const char *path, perhaps_filter **filter);

// Puts `to` into the place of a durable filter, which is left without its file.
int filter_hand_over(const char *path, perhaps_filter *from, perhaps_filter *to);

// Refuses a filter with a journal, which knows of keys alone.
int filter_refuse_journal(const char *path, const perhaps_filter *filter);

// filter_save(), unless what was changed is in the file already.
int filter_keep(const char *path, const perhaps_filter *filter);

// Replaces the file by the filter, and gives it a journal.
int filter_begin_journal(const char *path, perhaps_filter *filter);

// For adding without looking; *appender stays NULL when it has to be looked at (no journal, or it can refuse keys).
int filter_open_appender(const char *path, perhaps_appender **appender);

// Folds the journal of a locked filter into it.
int filter_fold(const char *path);

// What the library's code means where keys were added, removed or appended.
int filter_fail_change(const char *path, const perhaps_filter *filter, int code);
int filter_fail_append(const char *path, const perhaps_appender *appender, int code);

// Refuses a filter whose keys somebody else hashes: the bytes of a line say nothing to it.
int filter_needs_bytes(const char *path, const perhaps_filter *filter);
int filter_fail_hashes(const char *path);

// Refuses "-", and no name at all.
int filter_refuse_name(const char *path);

// Replaces the file in one step; signals that would end the process wait until it is done, since the temporary file
// would otherwise stay behind.
int filter_save(const char *path, const perhaps_filter *filter);

// Locks a path that is to become a filter. Refuses one that cannot: "-", something that is no regular file, and an
// existing file unless --force was given.
int filter_lock_new(const struct arguments *arguments, const char *path);

// Whether it counts how often a key was added, and whether it can take one back.
bool filter_counts(const perhaps_filter *filter);
bool filter_removes(perhaps_filter *filter);

// "kind bloom", "kind cuckoo with policy unique": what such filters cannot do depends on both. Valid until the next call.
const char *filter_kind_shown(const perhaps_filter *filter);

// Options for another filter like this one, without a size; the key that was given.
void filter_options(const perhaps_filter *filter, perhaps_options *options);

// After another p than before was asked for: when fingerprints of a width that was asked for may not do for it, they
// follow from it instead, which is said.
void filter_options_of_rate(const struct arguments *arguments, const char *path, double before,
                            perhaps_options *options);

// Takes back what of a shape belongs to another kind than the options name.
void filter_options_of_kind(perhaps_options *options);

void filter_statistics(const perhaps_filter *filter, perhaps_statistics *statistics);

// Warns when the FPR now is more than twice the target.
void filter_warn_if_overfull(const char *path, const perhaps_filter *filter);
// The same, of a filter that another holds.
void filter_warn_if_above(const char *path, double fpr_now, double fpr_target);

#endif
