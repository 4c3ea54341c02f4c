/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the system calls of the simulated machine with a directory of files in /tmp and a table of events. */
#include "bench/simulated.h"

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

#define FD_FIRST 1000000
/* Reserves address space; unused pages take no memory. */
#define EVENTS_MAX ((size_t)4 * 1024 * 1024)
#define NONE UINT32_MAX
#define MEMBERS_MAX 64

/*
 * The events of a group form a list that starts at the leader, so that the cost of a read grows with the size of the
 * group.
 */
struct event {
    uint32_t next, last; /* next event of the group; last one (leader only) */
    uint32_t n;          /* number of events in the group (leader only) */
    bool open;
};

struct simulated {
    struct sys sys;
    char root[64];
    struct event *events; /* EVENTS_MAX entries */
    size_t n, n_open, n_reads;
    uint64_t seconds; /* time since the machine was created */
};

static struct simulated *simulated_of(struct sys *sys)
{
    return (struct simulated *)sys;
}

static struct event *find_event(const struct simulated *simulated, int fd)
{
    size_t i = (size_t)fd - FD_FIRST;

    return fd >= FD_FIRST && i < simulated->n && simulated->events[i].open ? &simulated->events[i] : NULL;
}

static int event_open(struct sys *sys, struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
                      unsigned long flags)
{
    struct simulated *simulated = simulated_of(sys);
    struct event *leader = group_fd < 0 ? NULL : find_event(simulated, group_fd);
    uint32_t i = (uint32_t)simulated->n;

    (void)attr;
    (void)pid;
    (void)cpu;
    (void)flags;
    if (simulated->n == EVENTS_MAX)
        return -EMFILE;
    if (leader && leader->n == MEMBERS_MAX)
        return -EINVAL;
    simulated->events[i] = (struct event){.next = NONE, .last = i, .n = 1, .open = true};
    if (leader) {
        simulated->events[leader->last].next = i;
        leader->last = i;
        leader->n++;
    }
    simulated->n++;
    simulated->n_open++;
    return FD_FIRST + (int)i;
}

uint64_t simulated_rate(const struct simulated *simulated, int fd)
{
    (void)simulated;
    return 1000003 + 1009 * (uint64_t)((fd - FD_FIRST) % 97);
}

/* Fills the layout of "Reading results" in perf_event_open(2), for groups with both times and IDs. */
static ssize_t event_read(struct sys *sys, int fd, void *buffer, size_t size)
{
    struct simulated *simulated = simulated_of(sys);
    const struct event *leader = find_event(simulated, fd);
    uint64_t words[3 + 2 * MEMBERS_MAX], *to = words;

    if (!leader)
        return -EBADF;
    simulated->n_reads++;
    *to++ = leader->n;
    *to++ = simulated->seconds * NSEC_PER_SEC;
    *to++ = simulated->seconds * NSEC_PER_SEC;
    for (uint32_t i = (uint32_t)(leader - simulated->events); i != NONE; i = simulated->events[i].next) {
        *to++ = simulated->seconds * simulated_rate(simulated, FD_FIRST + (int)i);
        *to++ = FD_FIRST + (uint64_t)i;
    }
    size_t needed = (size_t)(to - words) * sizeof(words[0]);
    if (size < needed)
        return -ENOSPC;
    memcpy(buffer, words, needed);
    return (ssize_t)needed;
}

static int event_ioctl(struct sys *sys, int fd, unsigned long request, unsigned long argument)
{
    uint64_t id = (uint64_t)fd;

    if (!find_event(simulated_of(sys), fd))
        return -EBADF;
    if (request == PERF_EVENT_IOC_ID)
        memcpy((void *)argument, &id, sizeof(id));
    return 0;
}

static int event_close(struct sys *sys, int fd)
{
    struct event *event = find_event(simulated_of(sys), fd);

    if (!event)
        return -EBADF;
    event->open = false;
    simulated_of(sys)->n_open--;
    return 0;
}

static int no_map(struct sys *sys, int fd, size_t size, int protection, void **ret)
{
    (void)sys;
    (void)fd;
    (void)size;
    (void)protection;
    (void)ret;
    return -ENODEV;
}

static int no_unmap(struct sys *sys, void *address, size_t size)
{
    (void)sys;
    (void)address;
    (void)size;
    return -EINVAL;
}

static int no_tracefs(struct sys *sys, const char *path)
{
    (void)sys;
    (void)path;
    return -EPERM;
}

static uint64_t virtual_now(struct sys *sys, clockid_t clock)
{
    uint64_t start = clock == CLOCK_REALTIME ? 1700000000 : 1000;

    return (start + simulated_of(sys)->seconds) * NSEC_PER_SEC;
}

/* Files */

static int make_directories(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int r = mkdir(path, 0755);
        *slash = '/';
        if (r < 0 && errno != EEXIST)
            return -errno;
    }
    return 0;
}

static int write_file(const struct simulated *simulated, const char *path, const char *text)
{
    char target[PATH_MAX];

    snprintf(target, sizeof(target), "%s%s", simulated->root, path);
    int r = make_directories(target);
    if (r < 0)
        return r;
    _cleanup_(fclosep) FILE *file = fopen(target, "w");
    return file && fprintf(file, "%s\n", text) >= 0 ? 0 : -errno;
}

static int make_cgroups(const struct simulated *simulated, unsigned n)
{
    char path[PATH_MAX];

    for (unsigned i = 0; i < n; i++) {
        snprintf(path, sizeof(path), "%s/sys/fs/cgroup/b%05u/", simulated->root, i);
        int r = make_directories(path);
        if (r < 0)
            return r;
    }
    return 0;
}

static int make_files(const struct simulated *simulated, unsigned n_cpus, unsigned n_cgroups)
{
    char cpus[32];
    const struct {
        const char *path, *text;
    } files[] = {
        {"/sys/devices/system/cpu/online", cpus},
        {"/sys/devices/system/cpu/possible", cpus},
        {"/sys/bus/event_source/devices/cpu/type", "4"},
        {"/sys/bus/event_source/devices/cpu/format/event", "config:0-15"},
        {"/sys/bus/event_source/devices/software/type", "1"},
        {"/proc/sys/kernel/perf_event_paranoid", "2"},
        {"/proc/sys/kernel/osrelease", "6.1.0-simulated"},
        {"/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw"},
        {"/sys/fs/cgroup/cgroup.procs", ""},
    };
    int r = 0;

    snprintf(cpus, sizeof(cpus), "0-%u", n_cpus - 1);
    for (size_t i = 0; i < ARRAY_SIZE(files) && r == 0; i++)
        r = write_file(simulated, files[i].path, files[i].text);
    return r < 0 ? r : make_cgroups(simulated, n_cgroups);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)status;
    (void)type;
    (void)ftw;
    return remove(path);
}

struct simulated *simulated_free(struct simulated *simulated)
{
    if (!simulated)
        return NULL;
    nftw(simulated->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    munmap(simulated->events, EVENTS_MAX * sizeof(simulated->events[0]));
    munmap(simulated, sizeof(*simulated));
    return NULL;
}

void *simulated_map(size_t size)
{
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return pages == MAP_FAILED ? NULL : pages;
}

static const struct sys_calls simulated_calls = {
    .perf_event_open = event_open,
    .open_group = sys_own_open_group,
    .open_file = sys_own_open_file,
    .read = event_read,
    .ioctl = event_ioctl,
    .close = event_close,
    .mmap = no_map,
    .munmap = no_unmap,
    .now = virtual_now,
    .mount_tracefs = no_tracefs,
};

struct simulated *simulated_new(unsigned n_cpus, unsigned n_cgroups)
{
    struct simulated *simulated = simulated_map(sizeof(*simulated));

    if (!simulated)
        return NULL;
    simulated->sys = (struct sys){.calls = simulated_calls, .root = simulated->root};
    strcpy(simulated->root, "/tmp/perfcountd-bench-XXXXXX");
    simulated->events = simulated_map(EVENTS_MAX * sizeof(simulated->events[0]));
    int r = simulated->events && mkdtemp(simulated->root) ? 0 : -errno;
    if (r == 0)
        r = make_files(simulated, n_cpus, n_cgroups);
    if (r < 0) {
        simulated_free(simulated);
        errno = -r;
        return NULL;
    }
    return simulated;
}

struct sys *simulated_sys(struct simulated *simulated)
{
    return &simulated->sys;
}

void simulated_advance(struct simulated *simulated)
{
    simulated->seconds++;
}

size_t simulated_reads(const struct simulated *simulated)
{
    return simulated->n_reads;
}

size_t simulated_open(const struct simulated *simulated)
{
    return simulated->n_open;
}
