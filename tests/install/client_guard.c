/* The same for the guard. */
#include <perhaps/guard.h>
#include <stdio.h>

int main(void)
{
    perhaps_options options = {.size = sizeof options, .capacity = 1000, .fpr = 0.01};
    perhaps_filter *filter = NULL;
    if (perhaps_create(&options, &filter, NULL) != 0) {
        return 1;
    }
    perhaps_guard_options guard_options = {.size = sizeof guard_options, .filter = filter};
    perhaps_guard *guard = NULL;
    int created = perhaps_guard_create(&guard_options, &guard, NULL);
    int asked = created == 0 ? perhaps_guard_ask(guard, "alice", 5) : -1;
    perhaps_guard_free(guard);
    perhaps_free(filter);
    printf("guarded, perhaps %s\n", perhaps_version());
    return asked == 0 ? 0 : 1;
}
