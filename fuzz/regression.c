// SPDX-License-Identifier: MIT
// Runs a fuzz target over the files of folders, without libFuzzer:
//
//     NAME_regression FOLDER...
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fail(const char *path, const char *text)
{
    (void)fprintf(stderr, "%s: %s\n", path, text);
    exit(1);
}

static void run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail(path, "cannot be opened");
    }
    static uint8_t buffer[1 << 20];
    size_t size = fread(buffer, 1, sizeof buffer, file);
    (void)fclose(file);
    // In memory of exactly its size, as libFuzzer does it.
    uint8_t *data = malloc(size > 0 ? size : 1);
    for (size_t i = 0; i < size; i++) {
        data[i] = buffer[i];
    }
    (void)fprintf(stderr, "%s\n", path); // before it crashes
    (void)LLVMFuzzerTestOneInput(data, size);
    free(data);
}

static unsigned run_folder(const char *folder)
{
    DIR *directory = opendir(folder);
    if (directory == NULL) {
        fail(folder, "is no folder");
    }
    unsigned files = 0;
    for (const struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        if (entry->d_name[0] != '.') {
            char path[4096];
            (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
            run_file(path);
            files++;
        }
    }
    (void)closedir(directory);
    return files;
}

int main(int argc, char **argv)
{
    unsigned files = 0;
    for (int i = 1; i < argc; i++) {
        files += run_folder(argv[i]);
    }
    printf("%u files\n", files);
    return files > 0 ? 0 : 1;
}
