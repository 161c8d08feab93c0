// SPDX-License-Identifier: MIT
// What the figures were measured on, and whether anybody else was using it.
#include "harness.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include "cpu.h"

#define QUIET 0.5 // load average up to which a machine counts as quiet

static void cut_line(char *text)
{
    text[strcspn(text, "\n")] = '\0';
}

// The first line of a file, empty when there is none.
static void read_line(const char *path, char *text, size_t size)
{
    text[0] = '\0';
    FILE *file = fopen(path, "re");
    if (file != NULL) {
        if (fgets(text, (int)size, file) == NULL) {
            text[0] = '\0';
        }
        (void)fclose(file);
    }
    cut_line(text);
}

static void read_model(char *model, size_t size)
{
    (void)snprintf(model, size, "unknown processor");
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[256];
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
            cut_line(line);
            (void)snprintf(model, size, "%s", colon + 2);
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

// "L1d 32K, L2 1024K, L3 32768K"
static void read_caches(char *caches, size_t size)
{
    caches[0] = '\0';
    for (int i = 0; i < 8; i++) {
        char path[128];
        char level[16];
        char type[32];
        char bytes[32];
        (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
        read_line(path, level, sizeof level);
        (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
        read_line(path, type, sizeof type);
        (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        read_line(path, bytes, sizeof bytes);
        if (level[0] != '\0' && strcmp(type, "Instruction") != 0) {
            size_t used = strlen(caches);
            (void)snprintf(caches + used, size - used, "%sL%s%s %s", used == 0 ? "" : ", ", level,
                           strcmp(type, "Data") == 0 ? "d" : "", bytes);
        }
    }
}

struct machine {
    char model[256];
    char caches[256];
    char huge_pages[128];
    struct utsname kernel;
};

static struct machine look(void)
{
    struct machine machine = {0};
    read_model(machine.model, sizeof machine.model);
    read_caches(machine.caches, sizeof machine.caches);
    read_line("/sys/kernel/mm/transparent_hugepage/enabled", machine.huge_pages, sizeof machine.huge_pages);
    (void)uname(&machine.kernel);
    return machine;
}

void harness_machine_print(FILE *file)
{
    struct machine machine = look();
    (void)fprintf(file, "processor:  %s (%s); kernels of the library: %s\n", machine.model, machine.caches,
                  perhaps__cpu_level_name(perhaps__cpu_level()));
    (void)fprintf(file, "system:     %s %s, %s; transparent huge pages: %s\n", machine.kernel.sysname,
                  machine.kernel.release, machine.kernel.machine, machine.huge_pages);
    (void)fprintf(file, "compiler:   %s %s, %s\n", HARNESS_COMPILER, __VERSION__, HARNESS_FLAGS);
    (void)fprintf(file, "library:    perhaps %s\n", perhaps_version());
}

void harness_machine_json(FILE *file)
{
    struct machine machine = look();
    (void)fprintf(file,
                  "{\"machine\":\"%s\",\"caches\":\"%s\",\"level\":\"%s\",\"system\":\"%s %s %s\","
                  "\"huge_pages\":\"%s\",\"compiler\":\"%s %s\",\"flags\":\"%s\",\"version\":\"%s\"}\n",
                  machine.model, machine.caches, perhaps__cpu_level_name(perhaps__cpu_level()), machine.kernel.sysname,
                  machine.kernel.release, machine.kernel.machine, machine.huge_pages, HARNESS_COMPILER, __VERSION__,
                  HARNESS_FLAGS, perhaps_version());
}

// The processor's time in this process, in nanoseconds.
static double own_time(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e9 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e3;
}

void harness_load_print(bool at_end)
{
    static double start;
    double load = 0.0;
    if (getloadavg(&load, 1) != 1) {
        return;
    }
    if (!at_end) {
        start = harness_now();
        (void)printf("load:       %.2f at the start\n", load);
    } else {
        (void)printf("\nload:       %.2f at the end, up to 1 of it this program; it ran for %.0f %% of the time\n",
                     load, 100.0 * own_time() / (harness_now() - start));
    }
    if (load > QUIET + (at_end ? 1.0 : 0.0)) {
        (void)printf("WARNING:    the machine is busy with something else; these figures are noise\n");
    }
    (void)fflush(stdout);
}
