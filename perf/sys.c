/* SPDX-License-Identifier: Apache-2.0 */
#include "perf/sys.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"

/* --- Descriptors --- */

enum descriptor_use { USE_NONE, USE_COUNTING, USE_SAMPLING };

/* a - b, or 0 if b is greater. */
static uint64_t saturating_sub(uint64_t a, uint64_t b)
{
    return a - MIN(a, b);
}

/* Every sampling event has a sample_type; no counting event has one. */
static enum descriptor_use use_of(const struct sys_group *group)
{
    return group->n > 0 && group->attrs[0].sample_type ? USE_SAMPLING : USE_COUNTING;
}

/*
 * How many more descriptors may be opened for `use`, which is counting or sampling. Counting never uses the descriptors
 * that are reserved for sampling; sampling may also use those that counting leaves.
 */
static uint64_t room_for(const struct descriptors *descriptors, enum descriptor_use use)
{
    const struct descriptor_limits *limits = &descriptors->limits;
    uint64_t room =
        saturating_sub(limits->counting + limits->sampling, descriptors->n_counting + descriptors->n_sampling);

    if (use == USE_COUNTING)
        return MIN(room, saturating_sub(limits->counting, descriptors->n_counting));
    return limits->sampling ? room : 0;
}

static void change_count(struct descriptors *descriptors, unsigned char use, int by)
{
    if (use == USE_COUNTING)
        descriptors->n_counting += (uint64_t)by;
    if (use == USE_SAMPLING)
        descriptors->n_sampling += (uint64_t)by;
}

static int grow_uses(struct descriptors *descriptors, size_t fd)
{
    size_t n = MAX(2 * descriptors->n_uses, fd + 1);

    if (fd < descriptors->n_uses)
        return 0;
    unsigned char *uses = realloc(descriptors->uses, n);
    if (!uses)
        return -ENOMEM;
    memset(uses + descriptors->n_uses, USE_NONE, n - descriptors->n_uses);
    descriptors->uses = uses;
    descriptors->n_uses = n;
    return 0;
}

/* Records a new descriptor. If its number is recorded already, the older descriptor was not closed by sys_close(). */
static int record_use(struct descriptors *descriptors, int fd, enum descriptor_use use)
{
    int r = grow_uses(descriptors, (size_t)fd);

    if (r < 0)
        return r;
    change_count(descriptors, descriptors->uses[fd], -1);
    descriptors->uses[fd] = (unsigned char)use;
    change_count(descriptors, (unsigned char)use, 1);
    return 0;
}

/* Closes all but `keep` descriptors in reverse order, since a leader is closed after its siblings. */
static void close_excess(struct sys *sys, int *fds, size_t n, uint64_t keep)
{
    uint64_t opened = 0;

    for (size_t i = 0; i < n; i++)
        opened += fds[i] >= 0;
    for (size_t i = n; i-- > 0 && opened > keep;) {
        if (fds[i] < 0)
            continue;
        sys->calls.close(sys, fds[i]);
        fds[i] = -EMFILE;
        opened--;
    }
}

/*
 * The limit is checked after the kernel has opened the events, so that an event that the machine does not have fails
 * with its own error instead of -EMFILE. This thread opens no other descriptors in between.
 */
void sys_open_group(struct sys *sys, const struct sys_group *group, int *ret)
{
    struct descriptors *descriptors = sys->descriptors;
    enum descriptor_use use = use_of(group);

    sys->calls.open_group(sys, group, ret);
    if (!descriptors)
        return;
    close_excess(sys, ret, group->n, room_for(descriptors, use));
    for (size_t i = 0; i < group->n; i++) {
        if (ret[i] < 0 || record_use(descriptors, ret[i], use) == 0)
            continue;
        sys->calls.close(sys, ret[i]);
        ret[i] = -ENOMEM;
    }
}

static void forget_use(struct descriptors *descriptors, int fd)
{
    if (!descriptors || fd < 0 || (size_t)fd >= descriptors->n_uses)
        return;
    change_count(descriptors, descriptors->uses[fd], -1);
    descriptors->uses[fd] = USE_NONE;
}

int sys_close(struct sys *sys, int fd)
{
    forget_use(sys->descriptors, fd);
    return sys->calls.close(sys, fd);
}

void descriptors_attach(struct descriptors *descriptors, struct sys *sys, const struct descriptor_limits *limits)
{
    *descriptors = (struct descriptors){.limits = *limits};
    sys->descriptors = descriptors;
}

void descriptors_done(struct descriptors *descriptors, struct sys *sys)
{
    if (!descriptors || sys->descriptors != descriptors)
        return;
    sys->descriptors = NULL;
    free(descriptors->uses);
    *descriptors = (struct descriptors){0};
}

int descriptors_keep(struct sys *sys, const int *fds, size_t n)
{
    struct descriptors *descriptors = sys->descriptors;

    if (!descriptors)
        return 0;
    if (room_for(descriptors, USE_COUNTING) < n)
        return -EMFILE;
    for (size_t i = 0; i < n; i++)
        if (grow_uses(descriptors, (size_t)fds[i]) < 0)
            return -ENOMEM;
    for (size_t i = 0; i < n; i++)
        record_use(descriptors, fds[i], USE_COUNTING);
    return 0;
}

uint64_t descriptors_room(const struct sys *sys, uint64_t own)
{
    const struct descriptors *descriptors = sys->descriptors;

    return descriptors ? saturating_sub(descriptors->limits.counting, saturating_sub(descriptors->n_counting, own))
                       : UINT64_MAX;
}

/* --- Own calls --- */

#define FILE_MAX (64 * 1024)

static int own_perf_event_open(struct sys *sys, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
                               unsigned long flags)
{
    (void)sys;
    long fd = syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags);
    return fd < 0 ? -errno : (int)fd;
}

static ssize_t own_read(struct sys *sys, int fd, void *buffer, size_t size)
{
    ssize_t n;

    (void)sys;
    do
        n = read(fd, buffer, size);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n;
}

static int own_ioctl(struct sys *sys, int fd, unsigned long request, unsigned long argument)
{
    (void)sys;
    int r = ioctl(fd, request, argument);
    return r < 0 ? -errno : r;
}

static int own_close(struct sys *sys, int fd)
{
    (void)sys;
    return close(fd) < 0 ? -errno : 0;
}

static int own_mmap(struct sys *sys, int fd, size_t size, int protection, void **ret)
{
    (void)sys;
    void *address = mmap(NULL, size, protection, MAP_SHARED, fd, 0);
    if (address == MAP_FAILED)
        return -errno;
    *ret = address;
    return 0;
}

static int own_munmap(struct sys *sys, void *address, size_t size)
{
    (void)sys;
    return munmap(address, size) < 0 ? -errno : 0;
}

static uint64_t own_now(struct sys *sys, clockid_t clock)
{
    struct timespec now = {0};

    (void)sys;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

/*
 * Writes `path` with the root prepended. Returns -ENAMETOOLONG if the result does not fit, since a shortened path would
 * name another file.
 */
static int sys_rooted_path(const struct sys *sys, const char *path, char *text, size_t size)
{
    int n = snprintf(text, size, "%s%s", sys->root, path);
    return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/*
 * Whether the kernel mistakes the cgroup of the process that opens an event for the cgroup that runs on the event's
 * CPU.
 *
 * Linux 5.6 to 5.16 add a sibling of a disabled leader on the CPU of the caller. If the event counts the caller's
 * cgroup and the kernel does not yet know which cgroup runs on the event's CPU, perf_cgroup_event_enable() wrongly
 * assumes that it is the caller's. Until that CPU switches to another cgroup, all its work is attributed to the
 * caller's cgroup, and none to other cgroups.
 */
static bool kernel_misplaces_siblings(void)
{
    struct utsname name;
    unsigned major, minor;

    return uname(&name) == 0 && sscanf(name.release, "%u.%u", &major, &minor) == 2 && major == 5 && minor >= 6 &&
           minor < 17;
}

/* The siblings of an enabled leader are added on the leader's CPU, and start some microseconds after the leader. */
static int open_cgroup_leader(struct sys *sys, struct perf_event_attr *attr, const struct sys_group *group)
{
    attr->disabled = attr->enable_on_exec = 1;
    int fd = sys_perf_event_open(sys, attr, group->pid, group->cpu, -1, group->flags);

    if (fd < 0 || !sys->early_leaders)
        return fd;
    int r = sys_ioctl(sys, fd, PERF_EVENT_IOC_ENABLE, 0);
    if (r < 0) {
        sys_close(sys, fd);
        return r;
    }
    return fd;
}

static int open_member(struct sys *sys, const struct sys_group *group, size_t n, int leader)
{
    struct perf_event_attr attr = group->attrs[n];

    if (group->texts && group->texts[n])
        attr.config1 = (uintptr_t)group->texts[n];
    if (leader >= 0)
        attr.disabled = attr.enable_on_exec = attr.pinned = attr.exclusive = 0;
    else if (group->flags & PERF_FLAG_PID_CGROUP && !attr.disabled)
        return open_cgroup_leader(sys, &attr, group);
    return sys_perf_event_open(sys, &attr, group->pid, group->cpu, leader, group->flags);
}

void sys_own_open_group(struct sys *sys, const struct sys_group *group, int *ret)
{
    int leader = group->leader;
    bool stopped = false;

    for (size_t i = 0; i < group->n; i++) {
        ret[i] = stopped ? -ECANCELED : open_member(sys, group, i, leader);
        stopped |= group->whole && ret[i] < 0;
        if (leader < 0 && ret[i] >= 0)
            leader = ret[i];
    }
}

int sys_own_open_file(struct sys *sys, const char *path, int flags)
{
    char target[PATH_MAX];
    int r = sys_rooted_path(sys, path, target, sizeof(target));

    if (r < 0)
        return r;
    int fd = open(target, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
    return fd < 0 ? -errno : fd;
}

static int own_mount_tracefs(struct sys *sys, const char *path)
{
    char target[PATH_MAX];

    int r = sys_rooted_path(sys, path, target, sizeof(target));
    if (r < 0)
        return r;
    return mount("tracefs", target, "tracefs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0 ? -errno : 0;
}

const struct sys_calls sys_own_calls = {
    .perf_event_open = own_perf_event_open,
    .open_group = sys_own_open_group,
    .open_file = sys_own_open_file,
    .read = own_read,
    .ioctl = own_ioctl,
    .close = own_close,
    .mmap = own_mmap,
    .munmap = own_munmap,
    .now = own_now,
    .mount_tracefs = own_mount_tracefs,
};

/* The text has lines of "CLOCK SECONDS NANOSECONDS" (fs/proc/base.c and kernel/time/namespace.c of Linux). */
int64_t sys_parse_monotonic_offset(const char *text)
{
    for (const char *line = text; line; line = strchr(line, '\n')) {
        long long seconds, ns;
        line += *line == '\n';
        if (sscanf(line, "monotonic %lld %lld", &seconds, &ns) == 2)
            return (int64_t)seconds * (int64_t)NSEC_PER_SEC + (int64_t)ns;
    }
    return 0;
}

/* A kernel without time namespaces (before 5.6, or CONFIG_TIME_NS=n) does not have the file. */
static int64_t own_monotonic_offset(void)
{
    _cleanup_(freep) char *text = NULL;

    return file_read(AT_FDCWD, "/proc/self/timens_offsets", FILE_MAX, &text, NULL) < 0
               ? 0
               : sys_parse_monotonic_offset(text);
}

uint64_t sys_record_now(struct sys *sys)
{
    return sys_now(sys, CLOCK_MONOTONIC) - (uint64_t)sys->monotonic_offset_ns;
}

void sys_init(struct sys *sys)
{
    *sys = (struct sys){
        .calls = sys_own_calls,
        .root = "",
        .monotonic_offset_ns = own_monotonic_offset(),
        .early_leaders = kernel_misplaces_siblings(),
    };
}

int sys_read_file(struct sys *sys, const char *path, char **ret_text)
{
    _cleanup_(closep) int fd = sys_open_file(sys, path, 0);
    char *text;

    if (fd < 0)
        return fd;
    int r = file_read_fd(fd, FILE_MAX, &text, NULL);
    if (r < 0)
        return r;
    size_t size = strlen(text);
    while (size && text[size - 1] == '\n')
        text[--size] = '\0';
    *ret_text = text;
    return 0;
}

int sys_read_filef(struct sys *sys, char **ret_text, const char *format, ...)
{
    char path[PATH_MAX];
    va_list args;

    va_start(args, format);
    int n = vsnprintf(path, sizeof(path), format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof(path))
        return -ENAMETOOLONG;
    return sys_read_file(sys, path, ret_text);
}

void kept_file_close(struct sys *sys, struct kept_file *file)
{
    if (file->fd <= 0)
        return;
    forget_use(sys->descriptors, file->fd);
    close(file->fd);
    file->fd = 0;
}

int kept_file_read(struct sys *sys, struct kept_file *file, const char *path, size_t max, struct buffer *text)
{
    bool keeps = true;

    if (file->fd <= 0) {
        int fd = sys_open_file(sys, path, 0);
        if (fd < 0)
            return fd;
        file->fd = fd;
        keeps = descriptors_keep(sys, &fd, 1) == 0;
    }
    int r = file_reread(file->fd, max, text);
    if (r < 0 || !keeps)
        kept_file_close(sys, file);
    return r;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int list_names(DIR *directory, char ***names, size_t *n)
{
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(directory);
        if (!entry)
            return -errno;
        if (entry->d_name[0] == '.')
            continue;
        if (array_grow(names, *n) < 0)
            return -ENOMEM;
        (*names)[*n] = strdup(entry->d_name);
        if (!(*names)[*n])
            return -ENOMEM;
        (*n)++;
    }
}

int sys_list_directory(struct sys *sys, const char *path, char ***ret_names, size_t *ret_n)
{
    _cleanup_(closep) int fd = sys_open_file(sys, path, O_DIRECTORY);
    char **names = NULL;
    size_t n = 0;

    if (fd < 0)
        return fd;
    _cleanup_(closedirp) DIR *directory = fdopendir(fd);
    if (!directory)
        return -errno;
    fd = -1;
    int r = list_names(directory, &names, &n);
    if (r < 0) {
        strings_free(names, n);
        return r;
    }
    if (n)
        qsort(names, n, sizeof(names[0]), compare_names);
    *ret_names = names;
    *ret_n = n;
    return 0;
}

void strings_free(char **strings, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(strings[i]);
    free(strings);
}
