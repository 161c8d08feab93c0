// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <perhaps/perhaps.h>
#include <string.h>

#include "filterfile.h"
#include "json.h"
#include "keys.h"
#include "messages.h"
#include "options.h"
#include "output.h"

struct check {
    const struct arguments *arguments;
    const perhaps_filter *filter;
    const char *filter_path;
    uint8_t wanted;    // the answer that selects a key: 1, or 0 with -v
    bool has_prefix;   // -n or -H
    uint64_t most;     // -m
    uint64_t at_least; // --at-least
    uint64_t in_file;  // keys selected in this file
    uint64_t keys;     // read in all
    uint64_t selected; // in all
    bool trouble;      // some file could not be read
    struct json json;
};

static int take_options(struct check *check)
{
    const struct arguments *arguments = check->arguments;
    static const enum option_id not_with_json[] = {OPTION_COUNT, OPTION_QUIET, OPTION_LINE_NUMBER,
                                                   OPTION_WITH_FILENAME};
    for (size_t i = 0; i < sizeof not_with_json / sizeof not_with_json[0]; i++) {
        if (option_conflict(arguments, OPTION_JSON, not_with_json[i]) != STATUS_OK) {
            return STATUS_ERROR;
        }
    }
    check->wanted = given(arguments, OPTION_INVERT) ? 0 : 1;
    check->has_prefix = given(arguments, OPTION_LINE_NUMBER) || given(arguments, OPTION_WITH_FILENAME);
    check->most = UINT64_MAX;
    if (option_count(arguments, OPTION_MAX_COUNT, &check->most) != STATUS_OK) {
        return STATUS_ERROR;
    }
    return option_count(arguments, OPTION_AT_LEAST, &check->at_least);
}

static uint64_t count_wanted(const struct check *check, const uint8_t *answers, size_t count)
{
    uint64_t ones = 0;
    for (size_t i = 0; i < count; i++) {
        ones += answers[i];
    }
    return check->wanted ? ones : count - ones;
}

// The first index from `from` on at which the answer is `answer`; `count` when there is none.
static size_t find_answer(const uint8_t *answers, size_t from, size_t count, int answer)
{
    const uint8_t *found = from < count ? memchr(answers + from, answer, count - from) : NULL;
    return found != NULL ? (size_t)(found - answers) : count;
}

static void print_prefix(const struct check *check, const struct input *input, uint64_t line)
{
    if (given(check->arguments, OPTION_WITH_FILENAME)) {
        output_text(shown_name(input->name));
        output_text(":");
    }
    if (given(check->arguments, OPTION_LINE_NUMBER)) {
        output_format("%" PRIu64 ":", line);
    }
}

static void print_json_key(struct check *check, const struct input *input, const struct batch *batch, size_t at)
{
    json_open_key(&check->json, input, batch, at);
    json_close(&check->json);
    check->trouble |= json_print(&check->json) != STATUS_OK;
}

// With --at-least "may have been added that often", otherwise "may be there".
static int ask(const struct check *check, const struct batch *batch, uint8_t *answers)
{
    if (given(check->arguments, OPTION_AT_LEAST)) {
        return perhaps_might_contain_times_many_pointers(check->filter, batch->keys, batch->lengths, batch->count,
                                                         check->at_least, answers, NULL);
    }
    return perhaps_might_contain_many_pointers(check->filter, batch->keys, batch->lengths, batch->count, answers, NULL);
}

// Keys that follow each other and are selected leave in one piece, unless something stands before each.
static void print_selected(struct check *check, const struct input *input, const struct batch *batch,
                           const uint8_t *answers, size_t past)
{
    bool json = given(check->arguments, OPTION_JSON);
    for (size_t i = find_answer(answers, 0, past, check->wanted); i < past;) {
        size_t end = check->has_prefix || json ? i + 1 : find_answer(answers, i, past, !check->wanted);
        if (json) {
            print_json_key(check, input, batch, i);
        } else {
            print_prefix(check, input, batch->first_line + i);
            print_keys(input, batch, i, end);
        }
        i = find_answer(answers, end, past, check->wanted);
    }
}

// Where the batch ends when `most` selected keys of the file are reached inside it.
static size_t cut_at_most(const struct check *check, const uint8_t *answers, size_t count)
{
    uint64_t left = check->most - check->in_file;
    size_t past = 0;
    while (left > 0 && past < count) {
        left -= answers[past] == check->wanted;
        past++;
    }
    return past;
}

// Returns false when no more of this file is needed.
static bool check_batch(struct check *check, const struct input *input, const struct batch *batch)
{
    uint8_t answers[BATCH_KEYS];
    int code = ask(check, batch, answers);
    if (code < 0) {
        (void)fail(check->filter_path, "%s", perhaps_message(code));
        check->trouble = true;
        return false;
    }
    size_t past = given(check->arguments, OPTION_MAX_COUNT) ? cut_at_most(check, answers, batch->count) : batch->count;
    uint64_t selected = count_wanted(check, answers, past);
    check->keys += past;
    check->selected += selected;
    check->in_file += selected;
    if (given(check->arguments, OPTION_QUIET)) {
        return check->in_file == 0;
    }
    if (!given(check->arguments, OPTION_COUNT)) {
        print_selected(check, input, batch, answers, past);
        flush_if_waiting(check->arguments, batch);
    }
    return check->in_file < check->most && !output_broken();
}

static void print_count(const struct check *check, const struct input *input, uint64_t count)
{
    if (given(check->arguments, OPTION_WITH_FILENAME)) {
        output_text(shown_name(input->name));
        output_text(":");
    }
    output_format("%" PRIu64 "\n", count);
}

static bool has_counts_by_file(const struct check *check)
{
    return given(check->arguments, OPTION_COUNT) && given(check->arguments, OPTION_WITH_FILENAME) &&
           !given(check->arguments, OPTION_QUIET);
}

static void check_file(struct check *check, struct input *input, const char *name)
{
    check->in_file = 0;
    if (input_open(input, name) != STATUS_OK) {
        check->trouble = true;
        return;
    }
    struct batch batch;
    enum input_result result = INPUT_END;
    bool more = check->most > 0;
    while (more && (result = input_next(input, &batch)) == INPUT_BATCH) {
        more = check_batch(check, input, &batch);
    }
    input_close(input);
    if (result == INPUT_FAILED) {
        check->trouble = true;
    } else if (has_counts_by_file(check)) {
        print_count(check, input, check->in_file);
    }
}

static void check_files(struct check *check, struct input *input)
{
    const struct arguments *arguments = check->arguments;
    if (arguments->operand_count == 1) {
        check_file(check, input, "-");
    }
    for (int i = 1; i < arguments->operand_count && !output_broken(); i++) {
        if (given(arguments, OPTION_QUIET) && check->selected > 0) {
            break;
        }
        check_file(check, input, arguments->operands[i]);
    }
}

static void print_summary(struct check *check, const struct input *input)
{
    if (given(check->arguments, OPTION_QUIET)) {
        return;
    }
    if (given(check->arguments, OPTION_COUNT) && !given(check->arguments, OPTION_WITH_FILENAME)) {
        print_count(check, input, check->selected);
    }
    if (given(check->arguments, OPTION_JSON)) {
        json_open(&check->json, NULL);
        json_string(&check->json, "type", "summary");
        json_unsigned(&check->json, "keys", check->keys);
        json_unsigned(&check->json, "selected", check->selected);
        json_close(&check->json);
        check->trouble |= json_print(&check->json) != STATUS_OK;
    }
}

static int status_of(const struct check *check)
{
    if (check->trouble && !(given(check->arguments, OPTION_QUIET) && check->selected > 0)) {
        return STATUS_ERROR;
    }
    return check->selected > 0 ? STATUS_OK : STATUS_NONE;
}

static void tell_if_it_does_not_count(const struct check *check)
{
    bool quiet = given(check->arguments, OPTION_QUIET);
    if (check->at_least > 1 && !quiet && !filter_counts(check->filter)) {
        tell(check->filter_path,
             "%s does not count: every key that may be there may have been added any number of times",
             filter_kind_shown(check->filter));
    }
}

int command_check(const struct arguments *arguments)
{
    struct check check = {.arguments = arguments, .filter_path = arguments->operands[0]};
    perhaps_filter *filter = NULL;
    if (take_options(&check) != STATUS_OK || filter_open_asked(arguments, check.filter_path, &filter) != STATUS_OK) {
        return STATUS_ERROR;
    }
    check.filter = filter;
    int status = filter_needs_bytes(check.filter_path, filter);
    if (status == STATUS_OK) {
        tell_if_it_does_not_count(&check);
        struct input input;
        input_init(&input, arguments);
        check_files(&check, &input);
        print_summary(&check, &input);
        input_free(&input);
        filter_warn_if_damaged(check.filter_path, filter);
        status = status_of(&check);
    }
    json_free(&check.json);
    perhaps_free(filter);
    return status;
}
