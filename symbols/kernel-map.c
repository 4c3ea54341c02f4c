/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses of the kernel and its modules: see kernel-map.h. */
#include "symbols/kernel-map.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/number.h"

#define KALLSYMS_START ((size_t)256 * 1024)
#define MODULES_MAX ((size_t)1024 * 1024)

/* The address of a symbol in /proc/kallsyms, 0 if it is not there. `symbol` ends in "\n", as its line does. */
static uint64_t address_of(const char *lines, const char *symbol)
{
    uint64_t address = 0;
    const char *found = strstr(lines, symbol);

    if (!found)
        return 0;
    const char *start = found;
    while (start > lines && start[-1] != '\n')
        start--;
    const char *blank = strchr(start, ' ');
    if (number_parse_hex_n(start, (size_t)(blank - start), &address) < 0)
        return 0;
    return address;
}

/* The kernel's text is near the start, and the kernel takes long to make all of the list. */
static char *read_start(int fd)
{
    char *text = malloc(KALLSYMS_START + 1);
    size_t size = 0;
    ssize_t n = -1;

    if (!text || fd < 0) {
        free(text);
        return NULL;
    }
    do {
        n = read(fd, text + size, MIN(KALLSYMS_START - size, (size_t)16 * 1024));
        size += n > 0 ? (size_t)n : 0;
        text[size] = '\0';
    } while (n > 0 && !strstr(text, " T _text\n") && size < KALLSYMS_START);
    return text;
}

/* The same two symbols that perf looks for, in its order. */
static void find_kernel(struct sys *sys, struct kernel_map *map)
{
    static const struct {
        const char *symbol, *name;
    } references[] = {
        {" T _text\n", "[kernel.kallsyms]_text"},
        {" T _stext\n", "[kernel.kallsyms]_stext"},
    };
    _cleanup_(closep) int fd = sys->open_file(sys, "/proc/kallsyms", 0);
    _cleanup_(freep) char *lines = read_start(fd);

    for (size_t i = 0; lines && i < ARRAY_SIZE(references) && !map->start; i++) {
        map->start = address_of(lines, references[i].symbol);
        map->name = references[i].name;
    }
}

/* "ext4 1015808 1 - Live 0xffffffffc0400000 (E)"; false if the line is malformed or hides the address. */
static bool parse_module(char *line, char *name, struct kernel_map *map)
{
    char *fields[6], *rest = NULL;
    uint64_t size, address;

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (!(fields[i] = strtok_r(i ? NULL : line, " ", &rest)))
            return false;
    if (strlen(fields[0]) >= NAME_MAX - 2 || number_parse_u64(fields[1], &size) < 0 ||
        number_parse_u64(fields[5], &address) < 0 || address == 0)
        return false;
    snprintf(name, NAME_MAX, "[%s]", fields[0]);
    *map = (struct kernel_map){.start = address, .end = address + size, .name = name};
    return true;
}

typedef void (*visit_map)(void *userdata, const struct kernel_map *map);

static void each_module(const char *text, visit_map visit, void *userdata)
{
    _cleanup_(freep) char *lines = strdup(text);
    char name[NAME_MAX], *rest = NULL;
    struct kernel_map map;

    for (char *line = lines ? strtok_r(lines, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
        if (parse_module(line, name, &map))
            visit(userdata, &map);
}

/* The kernel ends where the first module behind it starts. */
static void end_kernel(void *userdata, const struct kernel_map *module)
{
    struct kernel_map *kernel = userdata;

    if (module->start > kernel->start)
        kernel->end = MIN(kernel->end, module->start);
}

void kernel_map_each(struct sys *sys, visit_map visit, void *userdata)
{
    _cleanup_(freep) char *modules = NULL;
    struct kernel_map kernel = {0};
    size_t size;

    find_kernel(sys, &kernel);
    if (!kernel.start)
        return;
    kernel.end = kernel.start + KERNEL_MAP_SIZE;
    /* A kernel without support for modules does not have the file. */
    _cleanup_(closep) int fd = sys->open_file(sys, "/proc/modules", 0);
    if (fd >= 0)
        (void)file_read_fd(fd, MODULES_MAX, &modules, &size);
    if (modules)
        each_module(modules, end_kernel, &kernel);
    visit(userdata, &kernel);
    if (modules)
        each_module(modules, visit, userdata);
}

/* Hidden addresses are 0. */
bool kernel_map_is_shown(struct sys *sys)
{
    _cleanup_(closep) int fd = sys_open_file(sys, "/proc/kallsyms", 0);
    _cleanup_(freep) char *lines = read_start(fd);
    uint64_t address = 0;

    for (const char *line = lines; line && address == 0;) {
        number_parse_hex_n(line, strcspn(line, " \n"), &address);
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return address != 0;
}
