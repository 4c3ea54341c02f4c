/* SPDX-License-Identifier: Apache-2.0 */
#include "process/memory-limit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/number.h"

#define TEXT_MAX (64 * 1024)
/* cgroup v1 reports "no limit" as the largest multiple of the page size. */
#define V1_NO_LIMIT (UINT64_C(1) << 62)
/* One fifth of a limit is reserved for kernel memory, such as sockets, descriptors and page tables. */
#define RESERVE_PART 5
/* Room that is always allowed, at the expense of the reserve, so that small replies still succeed. */
#define SMALL_ROOM (UINT64_C(1) << 20)

/*
 * The conventional mount point of each memory cgroup hierarchy, and the name of the controller in /proc/PID/cgroup (""
 * for version 2).
 */
static const struct {
    const char *mount, *controller;
    bool v1;
} places[] = {
    {"/sys/fs/cgroup/memory", "memory", true},
    {"/sys/fs/cgroup", "", false},
};

/*
 * Returns the PATH of the controller from lines "ID:CONTROLLERS:PATH" (cgroups(7)), or NULL if no line has this
 * controller. Modifies `text`.
 */
static char *find_path(char *text, const char *controller)
{
    for (char *line; (line = strsep(&text, "\n"));) {
        strsep(&line, ":");
        char *controllers = strsep(&line, ":"), *name;
        if (!line)
            continue;
        if (!*controllers && !*controller)
            return line;
        while (*controller && (name = strsep(&controllers, ",")))
            if (str_equal(name, controller))
                return line;
    }
    return NULL;
}

/*
 * In a container without a cgroup namespace, /proc/PID/cgroup shows the cgroup's path on the host, but the cgroup
 * itself is mounted at the mount point. The mount point is therefore used if the path does not exist.
 */
static int limit_set_path(struct memory_limit *limit, const char *mount, const char *path)
{
    limit->mount_size = strlen(mount);
    if (asprintf(&limit->path, "%s%s", mount, str_equal(path, "/") ? "" : path) < 0) {
        limit->path = NULL;
        return -ENOMEM;
    }
    if (access(limit->path, F_OK) < 0)
        limit->path[limit->mount_size] = '\0';
    return 0;
}

int memory_limit_find(const char *root, struct memory_limit *ret)
{
    char path[256], mount[256];

    snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        _cleanup_(freep) char *text = NULL;
        struct memory_limit limit = {.v1 = places[i].v1};
        int r = file_read(AT_FDCWD, path, TEXT_MAX, &text, NULL);
        const char *own = r < 0 ? NULL : find_path(text, places[i].controller);
        snprintf(mount, sizeof(mount), "%s%s", root, places[i].mount);
        if (r == -ENOMEM)
            return r;
        if (!own || access(mount, F_OK) < 0)
            continue;
        r = limit_set_path(&limit, mount, own);
        if (r == 0)
            *ret = limit;
        return r;
    }
    return 0;
}

void memory_limit_done(struct memory_limit *limit)
{
    free(limit->path);
    *limit = (struct memory_limit){0};
}

static char *read_text(const char *directory, size_t size, const char *name)
{
    char path[PATH_MAX];
    char *text = NULL;

    snprintf(path, sizeof(path), "%.*s/%s", (int)size, directory, name);
    if (file_read(AT_FDCWD, path, TEXT_MAX, &text, NULL) < 0)
        return NULL;
    return text;
}

/* Reads a limit from a cgroup's file. Returns false if the file is missing or contains "max". */
static bool read_number(const char *directory, size_t size, const char *name, uint64_t *ret)
{
    _cleanup_(freep) char *text = read_text(directory, size, name);

    return text && number_parse_u64_n(text, strcspn(text, "\n"), ret) == 0;
}

/* Returns the NUMBER of `name` from lines "NAME NUMBER\n", or 0 if no line has this name. */
static uint64_t stat_field(const char *text, const char *name)
{
    size_t length = strlen(name);
    uint64_t value = 0;

    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, length) != 0 || line[length] != ' ')
            continue;
        number_parse_u64_n(line + length + 1, strcspn(line + length + 1, "\n"), &value);
        return value;
    }
    return 0;
}

/* Returns the size in bytes of the unmapped page cache, which the kernel reclaims before it kills a process. */
static uint64_t read_reclaimable(const struct memory_limit *limit, size_t size)
{
    _cleanup_(freep) char *text = read_text(limit->path, size, "memory.stat");
    bool v1 = limit->v1;

    if (!text)
        return 0;
    uint64_t files = stat_field(text, v1 ? "total_inactive_file" : "inactive_file") +
                     stat_field(text, v1 ? "total_active_file" : "active_file");
    uint64_t mapped = stat_field(text, v1 ? "total_mapped_file" : "file_mapped");
    return files - MIN(files, mapped);
}

/*
 * Returns how many bytes may still be allocated in the cgroup whose directory is the first `size` bytes of limit->path,
 * or UINT64_MAX if this cgroup has no limit.
 */
static uint64_t room_at(const struct memory_limit *limit, size_t size)
{
    uint64_t most, used;

    if (!read_number(limit->path, size, limit->v1 ? "memory.limit_in_bytes" : "memory.max", &most) ||
        (limit->v1 && most >= V1_NO_LIMIT) ||
        !read_number(limit->path, size, limit->v1 ? "memory.usage_in_bytes" : "memory.current", &used))
        return UINT64_MAX;
    used -= MIN(used, read_reclaimable(limit, size));
    most -= most / RESERVE_PART;
    return most - MIN(most, used);
}

uint64_t memory_limit_room(const struct memory_limit *limit)
{
    uint64_t room = UINT64_MAX;

    for (size_t size = limit->path ? strlen(limit->path) : 0; size >= limit->mount_size && size > 0;) {
        room = MIN(room, room_at(limit, size));
        for (size--; size > limit->mount_size && limit->path[size] != '/';)
            size--;
    }
    return room;
}

/* Reads how many bytes of data and stack count towards RLIMIT_DATA: the sixth field of proc_pid_statm(5). */
static bool read_data(uint64_t *ret)
{
    _cleanup_(freep) char *text = NULL;
    unsigned long long pages;

    if (file_read(AT_FDCWD, "/proc/self/statm", TEXT_MAX, &text, NULL) < 0 ||
        sscanf(text, "%*s %*s %*s %*s %*s %llu", &pages) != 1)
        return false;
    *ret = pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return true;
}

bool memory_limit_apply(const struct memory_limit *limit)
{
    uint64_t room = memory_limit_room(limit), data, most;
    struct rlimit before;

    if (getrlimit(RLIMIT_DATA, &before) < 0 || (room == UINT64_MAX && before.rlim_cur == before.rlim_max) ||
        !read_data(&data))
        return room != UINT64_MAX;
    if (__builtin_add_overflow(data, MAX(room, SMALL_ROOM), &most) || most > before.rlim_max)
        most = before.rlim_max;
    setrlimit(RLIMIT_DATA, &(struct rlimit){(rlim_t)most, before.rlim_max});
    return room != UINT64_MAX;
}
