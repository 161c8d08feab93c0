// SPDX-License-Identifier: MIT
#include <perhaps/perhaps.h>
#include <stdio.h>
#include <string.h>

static void ask(const perhaps_filter *filter, const char *name)
{
    int answer = perhaps_might_contain(filter, name, strlen(name));
    printf("%s: %s\n", name, answer == 0 ? "surely absent" : "perhaps there, ask the store");
}

int main(void)
{
    perhaps_options options = {.size = sizeof options, .capacity = 1000000, .fpr = 0.01};
    perhaps_error error = {.size = sizeof error};
    perhaps_filter *filter = NULL;
    if (perhaps_create(&options, &filter, &error) < 0) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    perhaps_add(filter, "alice", 5);
    ask(filter, "alice");
    ask(filter, "bob");
    perhaps_free(filter);
    return 0;
}
