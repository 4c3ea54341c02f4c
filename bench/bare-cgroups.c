/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The yardstick of cgroups: opens a group of four software events for each cgroup on each CPU and does nothing but read
 * them, one read(2) for each group. What a scrape needs beyond it is the price of scaling, text and HTTP.
 *
 * usage: bare-cgroups CGROUP-DIRECTORY...
 *
 * Each line of standard input is a number of rounds; the answer is the nanoseconds of CPU time and of wall time that
 * one round took.
 */
#include <err.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const uint64_t events[] = {
    PERF_COUNT_SW_CONTEXT_SWITCHES,
    PERF_COUNT_SW_CPU_MIGRATIONS,
    PERF_COUNT_SW_PAGE_FAULTS_MIN,
    PERF_COUNT_SW_PAGE_FAULTS_MAJ,
};
#define N_EVENTS (sizeof(events) / sizeof(events[0]))

struct bare {
    int *leaders;
    size_t n_leaders;
    uint64_t sum; /* so that the reads are used */
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

    return (int)syscall(SYS_perf_event_open, &attr, cgroup, cpu, leader, PERF_FLAG_FD_CLOEXEC | PERF_FLAG_PID_CGROUP);
}

static void open_cgroup(struct bare *bare, const char *directory, long n_cpus)
{
    int cgroup = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (cgroup < 0)
        err(1, "%s", directory);
    for (int cpu = 0; cpu < n_cpus; cpu++) {
        int leader = open_event(events[0], cgroup, cpu, -1);
        if (leader < 0)
            err(1, "perf_event_open of %s on CPU %d", directory, cpu);
        for (size_t i = 1; i < N_EVENTS; i++)
            if (open_event(events[i], cgroup, cpu, leader) < 0)
                err(1, "perf_event_open of %s on CPU %d", directory, cpu);
        bare->leaders[bare->n_leaders++] = leader;
    }
    close(cgroup);
}

static void read_groups(struct bare *bare)
{
    uint64_t values[3 + 2 * N_EVENTS];

    for (size_t i = 0; i < bare->n_leaders; i++) {
        if (read(bare->leaders[i], values, sizeof(values)) != sizeof(values))
            err(1, "read");
        bare->sum += values[3];
    }
}

static double nanoseconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void measure(struct bare *bare, unsigned long rounds)
{
    double cpu = nanoseconds(CLOCK_PROCESS_CPUTIME_ID), wall = nanoseconds(CLOCK_MONOTONIC);

    for (unsigned long i = 0; i < rounds; i++)
        read_groups(bare);
    printf("%.0f %.0f\n", (nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (double)rounds,
           (nanoseconds(CLOCK_MONOTONIC) - wall) / (double)rounds);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
    struct rlimit limit;
    struct bare bare = {0};
    char line[32];

    if (argc < 2)
        errx(2, "usage: bare-cgroups CGROUP-DIRECTORY...");
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
    bare.leaders = calloc((size_t)(argc - 1) * (size_t)n_cpus, sizeof(int));
    if (!bare.leaders)
        err(1, "calloc");
    for (int i = 1; i < argc; i++)
        open_cgroup(&bare, argv[i], n_cpus);
    while (fgets(line, sizeof(line), stdin)) {
        unsigned long rounds = strtoul(line, NULL, 10);
        if (rounds == 0)
            errx(2, "a number of rounds is expected, not: %s", line);
        measure(&bare, rounds);
    }
    free(bare.leaders);
    return bare.sum == UINT64_MAX;
}
