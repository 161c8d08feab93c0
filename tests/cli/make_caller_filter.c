// SPDX-License-Identifier: MIT
//
// make_caller_filter FILE: a filter whose keys are hashes, which the command-line tool cannot make.
#include <perhaps/perhaps.h>

int main(int argc, char **argv)
{
    perhaps_options options = {.size = sizeof options, .hash_source = PERHAPS_HASH_CALLER, .capacity = 10, .fpr = 0.01};
    perhaps_filter *filter;
    if (argc != 2 || perhaps_create(&options, &filter, NULL) < 0) {
        return 1;
    }
    int failed = perhaps_add_hash(filter, 7) < 0 || perhaps_save(filter, argv[1], NULL) < 0;
    perhaps_free(filter);
    return failed;
}
