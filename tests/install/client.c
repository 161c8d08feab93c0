/* A program of somebody else's: uses nothing but what an installed perhaps offers. */
#include <perhaps/perhaps.h>
#include <stdio.h>

int main(void)
{
    perhaps_options options = {.size = sizeof options, .capacity = 1000, .fpr = 0.01};
    perhaps_filter *filter = NULL;
    if (perhaps_create(&options, &filter, NULL) != 0) {
        return 1;
    }
    int added = perhaps_add(filter, "alice", 5);
    int found = perhaps_might_contain(filter, "alice", 5);
    perhaps_free(filter);
    printf("perhaps %s\n", perhaps_version());
    return added == 1 && found == 1 ? 0 : 1;
}
