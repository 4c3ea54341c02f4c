/* SPDX-License-Identifier: Apache-2.0 */
/* A program or library that a process executes: see executable.h. It allocates nothing. */
#include "opener/executable.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/number.h"

#define CHUNK ((size_t)16 * 1024)  /* longer than any line */
#define MAPS_MAX ((size_t)8 << 20) /* mappings behind this many bytes are not found */

/* "START-END rwxp ..."; false where the line is something else. */
static bool maps_parse_line(const char *line, size_t size, uint64_t *start, uint64_t *end, bool *executable)
{
    const char *dash = memchr(line, '-', size), *blank = memchr(line, ' ', size);

    if (!dash || !blank || dash > blank || line + size - blank < 5)
        return false;
    *executable = blank[3] == 'x';
    return number_parse_hex_n(line, (size_t)(dash - line), start) == 0 &&
           number_parse_hex_n(dash + 1, (size_t)(blank - dash - 1), end) == 0;
}

int opener_executable_find(const char *lines, size_t size, uint64_t start, uint64_t end)
{
    const char *stop;

    for (size_t at = 0; at < size && (stop = memchr(lines + at, '\n', size - at)); at = (size_t)(stop - lines) + 1) {
        uint64_t line_start, line_end;
        bool executable;
        if (maps_parse_line(lines + at, (size_t)(stop - lines) - at, &line_start, &line_end, &executable) &&
            line_start == start && line_end == end)
            return executable ? 1 : -EBADRQC;
    }
    return 0;
}

static size_t whole_lines(const char *text, size_t size)
{
    const char *last = memrchr(text, '\n', size);

    return last ? (size_t)(last - text) + 1 : 0;
}

/* 0; -ENOENT where there is no such range (any more); -EBADRQC. */
static int mapping_check_range(struct sys *sys, int maps, uint64_t start, uint64_t end)
{
    char text[CHUNK];
    size_t used = 0;

    for (size_t total = 0; total < MAPS_MAX;) {
        ssize_t n = sys->read(sys, maps, text + used, sizeof(text) - used);
        if (n <= 0)
            return n < 0 ? (int)n : -ENOENT;
        total += (size_t)n;
        used += (size_t)n;
        size_t whole = whole_lines(text, used);
        int r = opener_executable_find(text, whole, start, end);
        if (r != 0)
            return MIN(r, 0);
        if (whole == 0 && used == sizeof(text))
            return -ENOENT;
        used -= whole;
        memmove(text, text + whole, used);
    }
    return -ENOENT;
}

static int mapping_check(struct sys *sys, const char *path)
{
    const char *range = strrchr(path, '/') + 1, *dash = strchr(range, '-');
    uint64_t start, end;
    struct statfs status;
    char maps_path[64];

    if (number_parse_hex_n(range, (size_t)(dash - range), &start) < 0 ||
        number_parse_hex_n(dash + 1, strlen(dash + 1), &end) < 0)
        return -EBADRQC;
    snprintf(maps_path, sizeof(maps_path), "/proc/%.*s/maps", (int)strcspn(path + strlen("/proc/"), "/"),
             path + strlen("/proc/"));
    _cleanup_(closep) int maps = sys->open_file(sys, maps_path, O_NOFOLLOW);
    if (maps < 0)
        return maps;
    if (fstatfs(maps, &status) < 0 || (unsigned long)status.f_type != PROC_SUPER_MAGIC)
        return -EBADRQC;
    return mapping_check_range(sys, maps, start, end);
}

/* Opening a device has effects, so the file is looked at first. */
int opener_executable_open(struct sys *sys, const char *path)
{
    struct stat status;
    char link[64];

    int r = mapping_check(sys, path);
    if (r < 0)
        return r;
    _cleanup_(closep) int found = sys->open_file(sys, path, O_PATH);
    if (found < 0)
        return found;
    if (fstat(found, &status) < 0 || !S_ISREG(status.st_mode))
        return -EBADRQC;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
    return sys->open_file(sys, link, 0);
}
