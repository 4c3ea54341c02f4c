/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of software events that are opened and only read. */
#include "bench/bare-groups.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"

static const uint64_t events[BARE_GROUPS_EVENTS_MAX] = {
    PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS, PERF_COUNT_SW_PAGE_FAULTS_MIN,
    PERF_COUNT_SW_PAGE_FAULTS_MAJ,  PERF_COUNT_SW_PAGE_FAULTS,
};

static int open_event(uint64_t config, int cgroup, int cpu, int leader)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = config,
        .read_format =
            PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
    unsigned long flags = PERF_FLAG_FD_CLOEXEC | (cgroup < 0 ? 0 : PERF_FLAG_PID_CGROUP);

    return (int)syscall(SYS_perf_event_open, &attr, cgroup, cpu, leader, flags);
}

void bare_groups_add(struct bare_groups *groups, int cgroup, int cpu)
{
    int leader = open_event(events[0], cgroup, cpu, -1);

    if (leader < 0 && errno == ENODEV)
        return;
    if (leader < 0)
        err(1, "perf_event_open on CPU %d", cpu);
    for (size_t i = 1; i < groups->n_events; i++)
        if (open_event(events[i], cgroup, cpu, leader) < 0)
            err(1, "perf_event_open on CPU %d", cpu);
    if (array_grow(&groups->leaders, groups->n_leaders) < 0)
        err(1, "array_grow");
    groups->leaders[groups->n_leaders++] = leader;
}

static void open_on_cpus(struct bare_groups *groups, int cgroup)
{
    long n_cpus = sysconf(_SC_NPROCESSORS_CONF);

    for (int cpu = 0; cpu < n_cpus; cpu++)
        bare_groups_add(groups, cgroup, cpu);
}

static void raise_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

void bare_groups_open(struct bare_groups *groups, size_t n_events, char **cgroups, size_t n_cgroups)
{
    raise_limit();
    *groups = (struct bare_groups){.n_events = n_events};
    if (n_cgroups == 0)
        open_on_cpus(groups, -1);
    for (size_t i = 0; i < n_cgroups; i++) {
        int cgroup = open(cgroups[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (cgroup < 0)
            err(1, "%s", cgroups[i]);
        open_on_cpus(groups, cgroup);
        close(cgroup);
    }
}

void bare_groups_done(struct bare_groups *groups)
{
    for (size_t i = 0; i < groups->n_leaders; i++)
        close(groups->leaders[i]);
    free(groups->leaders);
}

void bare_groups_read(struct bare_groups *groups)
{
    uint64_t values[3 + 2 * BARE_GROUPS_EVENTS_MAX];
    size_t size = (3 + 2 * groups->n_events) * sizeof(values[0]);

    for (size_t i = 0; i < groups->n_leaders; i++) {
        if (read(groups->leaders[i], values, size) != (ssize_t)size)
            err(1, "read");
        groups->sum += values[3];
    }
}
