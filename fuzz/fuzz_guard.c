// SPDX-License-Identifier: MIT
// What a guard counts, whatever is asked, reported and written: against exact counts and an exact store; and what it
// says of it in JSON and for Prometheus, of any statistics.
//
// Byte 0: what follows is a statistics structure (below 8: making text takes long), or operations, a byte for what and
// a byte for the key.
#include <math.h>
#include <perhaps/guard.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool condition, const char *text)
{
    if (!condition) {
        (void)fprintf(stderr, "%s\n", text);
        abort();
    }
}

/* ---------------------------------------------------------------- text */

typedef int text_function(const perhaps_guard_statistics *statistics, const char *name, char *buffer, size_t capacity,
                          size_t *written, perhaps_error *error);

static int json(const perhaps_guard_statistics *statistics, const char *name, char *buffer, size_t capacity,
                size_t *written, perhaps_error *error)
{
    (void)name;
    return perhaps_guard_json(statistics, buffer, capacity, written, error);
}

// Into a buffer that is too small by `missing`, and into one of exactly the size that is then asked for.
static void print(text_function *text, const perhaps_guard_statistics *statistics, const char *name, size_t missing)
{
    perhaps_error error = {.size = sizeof error};
    size_t written = 0;
    int status = text(statistics, name, NULL, 0, &written, &error);
    demand(status == PERHAPS_E_SPACE && written == 0, "a text that needs no room");
    size_t needed = (size_t)error.limit;
    char *buffer = malloc(needed);
    size_t less = 1 + missing % needed;
    demand(text(statistics, name, buffer, needed - less, &written, &error) == PERHAPS_E_SPACE && written == 0,
           "a text in too small a buffer");
    demand(text(statistics, name, buffer, needed, &written, &error) == PERHAPS_OK, "no text in a buffer that suffices");
    demand(written == needed - 1 && strlen(buffer) == written, "the length of the text is wrong");
    demand(text != json || (buffer[0] == '{' && buffer[written - 1] == '}' && strchr(buffer, '\n') == NULL &&
                            strstr(buffer, "nan") == NULL),
           "not one JSON object in a line");
    free(buffer);
}

static void print_any(const uint8_t *data, size_t size)
{
    perhaps_guard_statistics statistics = {.size = sizeof statistics};
    size_t room = sizeof statistics - sizeof statistics.size;
    memcpy((uint8_t *)&statistics + sizeof statistics.size, data, size < room ? size : room);
    char name[16] = {0};
    memcpy(name, data, size < sizeof name - 1 ? size : sizeof name - 1);
    size_t missing = size > 0 ? data[size - 1] : 0;
    print(json, &statistics, NULL, missing);
    print(perhaps_guard_prometheus, &statistics, name, missing);
}

/* ---------------------------------------------------------------- a guard and its store */

#define OVERFLOW 8

// Keys are bytes. The store says yes to those whose rows are above zero, and fails while broken.
struct world {
    perhaps_guard *guard;
    uint8_t rows[256];
    bool broken;
    perhaps_guard_statistics expected;
};

static int store_contains(void *context, const void *key, size_t length, perhaps_error *error)
{
    const struct world *world = context;
    (void)length;
    (void)error;
    return world->broken ? PERHAPS_E_IO : world->rows[*(const uint8_t *)key] > 0;
}

static int store_each_key(void *context, int (*visit)(void *visitor, const void *key, size_t length), void *visitor,
                          perhaps_error *error)
{
    const struct world *world = context;
    (void)error;
    for (unsigned key = 0; key < 256; key++) {
        uint8_t byte = (uint8_t)key;
        int status = world->broken && key == 128 ? PERHAPS_E_IO : PERHAPS_OK;
        status = status == PERHAPS_OK && world->rows[key] > 0 ? visit(visitor, &byte, 1) : status;
        if (status != PERHAPS_OK) {
            return status;
        }
    }
    return PERHAPS_OK;
}

static int insert(void *context, const void *key, size_t length, perhaps_error *error)
{
    struct world *world = context;
    uint8_t *rows = &world->rows[*(const uint8_t *)key];
    (void)length;
    (void)error;
    if (world->broken || *rows == UINT8_MAX) {
        return PERHAPS_E_IO;
    }
    ++*rows;
    return PERHAPS_OK;
}

static int take_out(void *context, const void *key, size_t length, perhaps_error *error)
{
    struct world *world = context;
    uint8_t *rows = &world->rows[*(const uint8_t *)key];
    (void)length;
    (void)error;
    if (world->broken) {
        return PERHAPS_E_IO;
    }
    *rows = *rows > 0 ? *rows - 1 : 0;
    return PERHAPS_OK;
}

static void make_world(struct world *world, uint8_t choice)
{
    static const uint32_t kinds[] = {PERHAPS_KIND_BLOOM, PERHAPS_KIND_BLOCKED, PERHAPS_KIND_COUNTING,
                                     PERHAPS_KIND_CUCKOO};
    perhaps_options options = {.size = sizeof options,
                               .kind = kinds[choice & 3],
                               .capacity = (choice & 4) != 0 ? 4 : 200,
                               .fpr = 0.1,
                               .at_capacity =
                                   (choice & 8) != 0 ? PERHAPS_AT_CAPACITY_REFUSE : PERHAPS_AT_CAPACITY_GO_ON,
                               .flags = PERHAPS_SHARED};
    perhaps_filter *filter = NULL;
    demand(perhaps_create(&options, &filter, NULL) == PERHAPS_OK, "no filter");
    perhaps_store store = {.context = world,
                           .contains = store_contains,
                           .each_key = store_each_key,
                           .flags = (choice & 16) != 0 ? PERHAPS_STORE_SNAPSHOT | PERHAPS_STORE_DISTINCT : 0};
    perhaps_guard_options guard_options = {.size = sizeof guard_options,
                                           .store = &store,
                                           .adopted = filter,
                                           .overflow = OVERFLOW,
                                           .flags = (choice & 32) != 0 ? PERHAPS_GUARD_OUTSIDE_WRITERS : 0};
    demand(perhaps_guard_create(&guard_options, &world->guard, NULL) == PERHAPS_OK, "no guard");
}

/* ---------------------------------------------------------------- operations */

static void count_answer(struct world *world, uint8_t key, int answer)
{
    demand(answer == 0 || answer == 1, "a question fails");
    demand(answer == 1 || world->rows[key] == 0, "FALSE NEGATIVE");
    world->expected.queries++;
    world->expected.surely_absent += answer == 0;
    world->expected.perhaps += answer == 1;
}

static void report(struct world *world, uint8_t key, int found)
{
    perhaps_guard_statistics *expected = &world->expected;
    bool valid = (found == 0 || found == 1) && expected->confirmed + expected->refuted < expected->perhaps;
    int status = perhaps_guard_report(world->guard, &key, 1, found);
    demand(status == (valid ? PERHAPS_OK : PERHAPS_E_ARGUMENT), "a report is taken, or refused, wrongly");
    expected->confirmed += valid && found == 1;
    expected->refuted += valid && found == 0;
}

static void contains(struct world *world, uint8_t key)
{
    perhaps_guard_statistics *expected = &world->expected;
    int filter_says = perhaps_guard_ask(world->guard, &key, 1);
    count_answer(world, key, filter_says);
    int answer = perhaps_guard_contains(world->guard, &key, 1, NULL);
    count_answer(world, key, filter_says);
    bool asked = filter_says == 1;
    bool known = asked && !world->broken;
    // A look-up that could not be made is a question without a report; and of reports there may be too many already.
    demand(answer == (asked && world->broken ? PERHAPS_E_IO : world->rows[key] > 0), "contains answers wrongly");
    expected->confirmed += known && world->rows[key] > 0;
    expected->refuted += known && world->rows[key] == 0;
}

static void change(struct world *world, uint8_t key, bool add)
{
    uint8_t before = world->rows[key];
    int status = add ? perhaps_guard_add(world->guard, &key, 1, insert, world, NULL)
                     : perhaps_guard_remove(world->guard, &key, 1, take_out, world, NULL);
    bool refused = world->broken || (add && before == UINT8_MAX);
    demand(refused ? status == PERHAPS_E_IO : status == 0 || status == 1, "a write has another result");
    demand(status >= 0 || world->rows[key] == before, "a write that failed wrote");
    demand(!(add && status == 1) || before == 0, "a key that was there is called new");
    world->expected.adds += add && status >= 0;
    world->expected.removals += !add && status >= 0;
}

// A plan that knows nothing begins with one key and is doubled three times; the store cannot count, and what the filter
// and the overflow set refused nobody knows of.
static bool may_be_too_many(const struct world *world)
{
    unsigned keys = 0;
    for (unsigned key = 0; key < 256; key++) {
        keys += world->rows[key] > 0;
    }
    return keys > 8 + OVERFLOW;
}

static void rebuild(struct world *world)
{
    int status = perhaps_guard_rebuild(world->guard, 0, NULL);
    bool full = status == PERHAPS_E_FULL && may_be_too_many(world);
    demand(world->broken ? status == PERHAPS_E_IO || full : status == PERHAPS_OK || full,
           "a rebuild has another result");
    world->expected.rebuilds += status == PERHAPS_OK;
    world->expected.rebuilds_failed += status < 0;
}

static void operate(struct world *world, uint8_t what, uint8_t key)
{
    switch (what % 8) {
    case 0:
    case 1:
        count_answer(world, key, perhaps_guard_ask(world->guard, &key, 1));
        break;
    case 2:
        report(world, key, what >> 6);
        break;
    case 3:
        contains(world, key);
        break;
    case 4:
    case 5:
        change(world, key, true);
        break;
    case 6:
        change(world, key, false);
        break;
    default:
        if (what < 64) {
            rebuild(world);
        } else {
            world->broken = what >= 192;
        }
    }
}

static bool is_share(double value)
{
    return value >= 0.0 && value <= 1.0;
}

static void check_account(const struct world *world)
{
    const perhaps_guard_statistics *expected = &world->expected;
    perhaps_guard_statistics s = {.size = sizeof s};
    demand(perhaps_guard_stats(world->guard, &s) == PERHAPS_OK, "no statistics");
    demand(s.queries == expected->queries && s.surely_absent == expected->surely_absent &&
               s.perhaps == expected->perhaps && s.confirmed == expected->confirmed && s.refuted == expected->refuted,
           "questions are counted wrongly");
    demand(s.unresolved == s.perhaps - s.confirmed - s.refuted, "what is unresolved is counted wrongly");
    demand(s.adds == expected->adds && s.removals == expected->removals && s.rebuilds == expected->rebuilds &&
               s.rebuilds_failed == expected->rebuilds_failed,
           "writes or rebuilds are counted wrongly");
    demand(isnan(s.fpr_observed) || (is_share(s.fpr_observed) && s.fpr_observed_low <= s.fpr_observed &&
                                     s.fpr_observed <= s.fpr_observed_high),
           "the observed rate is outside its interval");
    demand(is_share(s.fpr_observed_low) && is_share(s.fpr_observed_high) && is_share(s.alarm_level), "no share");
}

// Seldom: it takes much longer than operations.
static void check_text(const struct world *world)
{
    perhaps_guard_statistics s = {.size = sizeof s};
    demand(perhaps_guard_stats(world->guard, &s) == PERHAPS_OK, "no statistics");
    print(json, &s, NULL, 1);
    print(perhaps_guard_prometheus, &s, "fuzz", 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    if (data[0] < 8) {
        print_any(data + 1, size - 1);
        return 0;
    }
    struct world world = {0};
    make_world(&world, data[1]);
    for (size_t i = 2; i + 1 < size; i += 2) {
        operate(&world, data[i], data[i + 1]);
    }
    check_account(&world);
    if (data[1] >= 224) {
        check_text(&world);
    }
    for (unsigned key = 0; key < 256; key++) {
        uint8_t byte = (uint8_t)key;
        demand(world.rows[key] == 0 || perhaps_guard_ask(world.guard, &byte, 1) == 1, "FALSE NEGATIVE in the end");
    }
    perhaps_guard_free(world.guard);
    return 0;
}
