// SPDX-License-Identifier: MIT
//
// The one table of commands.
#ifndef PERHAPS_CLI_COMMANDS_H
#define PERHAPS_CLI_COMMANDS_H

struct arguments;

enum { ANY_NUMBER = 0x7fffffff };

// X(NAME, name, operands in the help, fewest operands, most operands, what it does, more about it)
#define CLI_COMMAND_TABLE(X)                                                                                           \
    X(CREATE, create, "[OPTION...] FILTER [KEYS...]", 1, ANY_NUMBER, "make a filter, from keys or empty",              \
      "Makes FILTER and adds the keys in the files KEYS; - is standard input. The size follows from two of -n, -p "    \
      "and --bytes; with a size and no KEYS, an empty filter is made. Without a size, the keys (standard input when "  \
      "no KEYS are named) are counted first.\n"                                                                        \
      "  perhaps create -n 1000000 -p 0.001 seen.filter\n"                                                             \
      "  sort -u urls.txt | perhaps create urls.filter")                                                               \
    X(ADD, add, "[OPTION...] FILTER [KEYS...]", 1, ANY_NUMBER, "add keys to a filter",                                 \
      "Adds the keys in the files KEYS, or standard input, and then replaces FILTER in one step: readers see the old " \
      "one or the new one. If anything fails it stays as it is. Only a cuckoo filter can refuse a key, because it is " \
      "full or holds as many copies of the key as it can: the others are added and saved, the refused ones counted, "  \
      "and the exit status is 2.\n"                                                                                    \
      "  perhaps add seen.filter today.txt\n"                                                                          \
      "  perhaps add -v seen.filter today.txt > refused.txt")                                                          \
    X(CHECK, check, "[OPTION...] FILTER [KEYS...]", 1, ANY_NUMBER, "print the keys that may be in a filter",           \
      "Reads keys from the files KEYS, or standard input, and prints those that may be present, unchanged and in "     \
      "order. A key that is not printed is surely absent; one that is printed may be absent too, at the rate that "    \
      "info shows: ask the store. Exit status: 0 a key was selected, 1 none, 2 an error.\n"                            \
      "  perhaps check seen.filter candidates.txt > ask-the-store.txt\n"                                               \
      "  perhaps check -v seen.filter candidates.txt > surely-new.txt\n"                                               \
      "  perhaps check --at-least 3 words.filter words.txt")                                                           \
    X(REMOVE, remove, "[OPTION...] FILTER [KEYS...]", 1, ANY_NUMBER, "take keys back out of a filter",                 \
      "Takes back one add of each key in the files KEYS, or standard input, and then replaces FILTER in one step. "    \
      "Kinds counting and cuckoo can do that, with policy multiset.\n"                                                 \
      "ONLY REMOVE WHAT WAS ADDED. A key that was never added, but that the filter takes for present, is removed "     \
      "like any other; another key that looks like it is then called \"surely absent\" although it is there. The "     \
      "filter cannot know: ask the store first.\n"                                                                     \
      "Exit status: 0 a key was removed, 1 none, 2 an error.\n"                                                        \
      "  perhaps remove -v seen.filter expired.txt > not-found.txt")                                                   \
    X(COUNT, count, "[OPTION...] FILTER [KEYS...]", 1, ANY_NUMBER, "say how often keys were added at most",            \
      "Reads keys from the files KEYS, or standard input, and prints each with a tab and the most times that it can "  \
      "have been added (less the removals); \"unbounded\" if the filter knows no bound. 0 is proof of absence. Kinds " \
      "counting and cuckoo count, except cuckoo with policy unique.\n"                                                 \
      "  perhaps count words.filter words.txt | sort -u")                                                              \
    X(INFO, info, "[OPTION...] FILTER", 1, 1, "show what is known about a filter",                                     \
      "The FPR target is what was promised at capacity; the FPR now is what a key that was never added meets at this " \
      "moment. A warning follows when that is more than twice the target.\n"                                           \
      "  perhaps info --json seen.filter")                                                                             \
    X(SIZE, size, "[OPTION...]", 0, 0, "say how large a filter must be",                                               \
      "Any one of N, P and SIZE from the other two, for every kind.\n"                                                 \
      "  perhaps size -n 100M -p 0.001\n"                                                                              \
      "  perhaps size -n 100M --bytes 64MiB")                                                                          \
    X(MERGE, merge, "[OPTION...] -o OUT FILTER FILTER...", 2, ANY_NUMBER, "make one filter of several",                \
      "The result may hold every key that any of them may. All must be of one kind, size and seed, as filters made "   \
      "with the same -n, -p and --seed are. The metadata is that of the first.\n"                                      \
      "  perhaps merge -o all.filter monday.filter tuesday.filter")                                                    \
    X(COMPACT, compact, "[OPTION...] FILTER", 1, 1, "put a grown filter into fewer layers",                            \
      "For cuckoo filters that grew, and from which keys were removed since: drops layers that are empty, and folds "  \
      "layers of which little is left into smaller ones. No key is needed for that, and none is lost; FILTER is then " \
      "replaced in one step. Other kinds must be made anew from their keys.\n"                                         \
      "  perhaps compact sessions.filter")                                                                             \
    X(CONVERT, convert, "[OPTION...] --kind KIND -o OUT FILTER", 1, 1, "make a filter of another kind",                \
      "Writes to OUT a filter that answers check as FILTER does, for every key. A counting filter can become a bloom " \
      "filter of a fraction of its size: a read-only copy to ship.\n"                                                  \
      "  perhaps convert --kind bloom -o small.filter words.filter")                                                   \
    X(VERIFY, verify, "[OPTION...] FILTER...", 1, ANY_NUMBER, "check that filters are undamaged",                      \
      "Reads every byte and compares all checksums. Names each MiB that is damaged, with its bytes.\n"                 \
      "  perhaps verify *.filter")                                                                                     \
    X(PLAN, plan, "[OPTION...] FILTER", 1, 1, "say when to rebuild a filter, and to what size",                        \
      "From what it holds, and from what you say about the store. \"not needed\" is only as true as the filter knows " \
      "of the store.\n"                                                                                                \
      "  perhaps plan --distinct 1200k --per-day 5000 seen.filter")                                                    \
    X(CALIBRATE, calibrate, "[OPTION...] FILTER --present FILE --absent FILE", 1, 1,                                   \
      "measure the false-positive rate on your own keys",                                                              \
      "Asks the filter for keys that are in it and keys that are not, and shows the measured rate with its 95 % "      \
      "interval (Wilson) beside the predicted one and the target. A present key that is answered \"absent\" is an "    \
      "error.\n"                                                                                                       \
      "  perhaps calibrate seen.filter --present added.txt --absent others.txt")                                       \
    X(REBUILD, rebuild, "[OPTION...] FILTER [KEYS... | --store STORE --table T --column C]", 1, ANY_NUMBER,            \
      "make a filter anew, from keys or from its store",                                                               \
      "Replaces FILTER in one step by one of the same kind, p, seed, shape and metadata that holds the keys in the "   \
      "files KEYS, or standard input, or those of the store; -n, -p and --kind make another one. Without -n the size " \
      "is planned: from the distinct keys, what --per-day adds in --days, and an eighth. If anything fails FILTER "    \
      "stays as it is.\n"                                                                                              \
      "  perhaps rebuild seen.filter --store sqlite:seen.db --table urls --column url")                                \
    X(GUARD, guard, "[OPTION...] FILTER --store STORE {--table T --column C | --query SQL} [KEYS...]", 0, ANY_NUMBER,  \
      "print the keys that a store has, asking it as little as possible",                                              \
      "Asks the filter for every key, and the store only for those that may be present; prints the ones that the "     \
      "store confirms. The report says what was saved and how often the filter was wrong. Exit status: 0 a key was "   \
      "confirmed, 1 none, 2 an error.\n"                                                                               \
      "  perhaps guard seen.filter --store sqlite:seen.db --table urls --column url candidates.txt\n"                  \
      "  perhaps guard --install-log --store sqlite:seen.db --table urls --column url\n"                               \
      "  perhaps guard --watch seen.filter --store sqlite:seen.db --table urls --column url")

#define CLI_COMMAND_ENUMERATOR(NAME, ...) COMMAND_##NAME,
enum command_id { CLI_COMMAND_TABLE(CLI_COMMAND_ENUMERATOR) COMMAND_COUNT_OF, COMMAND_TOOL = COMMAND_COUNT_OF };
#undef CLI_COMMAND_ENUMERATOR

#define CLI_COMMAND_DECLARATION(NAME, name, ...) int command_##name(const struct arguments *arguments);
CLI_COMMAND_TABLE(CLI_COMMAND_DECLARATION)
#undef CLI_COMMAND_DECLARATION

struct command_row {
    const char *name;
    int (*run)(const struct arguments *arguments); // returns the exit status
    const char *operands;
    int fewest;
    int most;
    const char *summary;
    const char *details;
};
extern const struct command_row command_rows[COMMAND_COUNT_OF];

#endif
