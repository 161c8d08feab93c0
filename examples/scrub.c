#include <perhaps/perhaps.h>
#include <stdio.h>

// A slice for each tick of a timer: 8 MiB every second are 28 GiB an hour.
static void tick(const perhaps_filter *filter, uint64_t *cursor)
{
    perhaps_error error = {.size = sizeof error};
    int status = perhaps_scrub(filter, cursor, 8 << 20, &error);
    if (status == 0) {
        printf("all of the file is as it was saved\n");
    } else if (status < 0) { // log it, restore the file, perhaps_reopen(); until then this chunk answers "perhaps"
        printf("%s: %s\n", error.subject, error.text);
    }
}

int main(void)
{
    const char *path = "example-scrub.filter";
    perhaps_options options = {.size = sizeof options, .capacity = 20000000, .fpr = 0.01};
    perhaps_load_options load = {.size = sizeof load, .flags = PERHAPS_OPEN_FIRST_TOUCH};
    perhaps_filter *filter = NULL;
    if (perhaps_create(&options, &filter, NULL) < 0) {
        return 1;
    }
    perhaps_add(filter, "alice", 5);
    int saved = perhaps_save(filter, path, NULL);
    perhaps_free(filter);
    if (saved < 0 || perhaps_open(path, &load, &filter, NULL) < 0) {
        return 1;
    }
    printf("bob: %s\n", perhaps_might_contain(filter, "bob", 3) == 0 ? "surely absent" : "perhaps there");
    uint64_t cursor = 0;
    for (int i = 0; i < 3; i++) {
        tick(filter, &cursor); // 23 MiB in three slices
    }
    perhaps_statistics statistics = {.size = sizeof statistics};
    perhaps_stats(filter, &statistics);
    printf("%d of %d chunks verified, %d damaged\n", (int)statistics.chunks_verified, (int)statistics.chunks,
           (int)statistics.chunks_damaged);
    perhaps_free(filter);
    return remove(path) != 0;
}
