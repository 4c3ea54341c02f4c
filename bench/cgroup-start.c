/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates cgroups whose work begins soon after mkdir(2), to measure how much of it is not counted.
 *
 * usage: cgroup-start work COUNT DELAY-US PAGES DIRECTORY...
 *            creates COUNT cgroups in each DIRECTORY, one at a time, in alternating directories. DELAY-US after
 *            mkdir(2) a process starts in the cgroup and touches PAGES pages, one every 10 us. Then the cgroup is
 *            removed. Prints for each cgroup its directory, the page faults that the kernel accounts to the process,
 *            and the time of each page touch in us since mkdir(2).
 *        cgroup-start count DIRECTORY
 *            shows the best that any program can do: it only opens minor-faults on each CPU as soon as inotify reports
 * a new cgroup. At end of file on standard input it prints the directory and the count of each cgroup.
 *
 * The process is created in the cgroup (CLONE_INTO_CGROUP, Linux 5.7, cgroup v2), so that all its faults are accounted
 * to it.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEP_US 10
#define REST_US 20000 /* between two cgroups: lets the daemon drop the previous one */
#define CGROUPS_MAX 4096
#define CPUS_MAX 256

static uint64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void wait_until(uint64_t end)
{
    while (now_us() < end)
        ;
}

static void *map_pages(size_t size, int flags)
{
    void *area = mmap(NULL, size, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

    if (area == MAP_FAILED)
        err(1, "mmap");
    (void)madvise(area, size, MADV_NOHUGEPAGE);
    return area;
}

/* --- work --- */

/* Runs in the new process. */
static void touch(volatile char *area, size_t pages, uint32_t *times, uint64_t made)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    for (size_t i = 0; i < pages; i++) {
        uint64_t begin = now_us();
        area[i * page] = 1;
        times[i] = (uint32_t)(now_us() - made);
        wait_until(begin + STEP_US);
    }
    _exit(0);
}

static pid_t fork_into(int cgroup)
{
    struct clone_args arguments = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)cgroup};
    pid_t child = (pid_t)syscall(SYS_clone3, &arguments, sizeof(arguments));

    if (child < 0)
        err(1, "clone3 with CLONE_INTO_CGROUP");
    return child;
}

static void work_in(const char *directory, unsigned long delay, size_t pages, uint32_t *times)
{
    size_t size = pages * (size_t)sysconf(_SC_PAGESIZE);
    void *area = map_pages(size, MAP_PRIVATE);
    struct rusage usage;
    int status;

    uint64_t made = now_us();
    if (mkdir(directory, 0755) < 0)
        err(1, "%s", directory);
    int cgroup = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    wait_until(made + delay);
    pid_t child = fork_into(cgroup);
    if (child == 0)
        touch(area, pages, times, made);
    if (wait4(child, &status, 0, &usage) < 0 || status != 0)
        errx(1, "the process in %s failed", directory);
    close(cgroup);
    while (rmdir(directory) < 0)
        usleep(100);
    munmap(area, size);
    printf("%s %ld", directory, usage.ru_minflt);
    for (size_t i = 0; i < pages; i++)
        printf(" %u", times[i]);
    putchar('\n');
}

static void work(unsigned long count, unsigned long delay, size_t pages, char *const *parents)
{
    uint32_t *times = map_pages(pages * sizeof(*times), MAP_SHARED);
    char directory[PATH_MAX];

    memset(times, 1, pages * sizeof(*times));
    for (unsigned long i = 0; i < count; i++)
        for (size_t k = 0; parents[k]; k++) {
            snprintf(directory, sizeof(directory), "%s/delay%lu-%lu", parents[k], delay, i);
            work_in(directory, delay, pages, times);
            usleep(REST_US);
        }
}

/* --- count --- */

static struct {
    char name[PATH_MAX];
    int fds[CPUS_MAX];
} counted[CGROUPS_MAX];
static size_t n_counted;

static void open_counters(const char *parent, const char *name, int cpus)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS_MIN, .size = sizeof(attr)};
    char directory[PATH_MAX];

    if (n_counted == CGROUPS_MAX)
        return;
    snprintf(directory, sizeof(directory), "%s/%s", parent, name);
    int cgroup = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (cgroup < 0)
        return;
    for (int cpu = 0; cpu < cpus; cpu++)
        counted[n_counted].fds[cpu] =
            (int)syscall(SYS_perf_event_open, &attr, cgroup, cpu, -1, PERF_FLAG_PID_CGROUP | PERF_FLAG_FD_CLOEXEC);
    close(cgroup);
    snprintf(counted[n_counted++].name, sizeof(counted[0].name), "%s", directory);
}

static void print_counts(int cpus)
{
    for (size_t i = 0; i < n_counted; i++) {
        uint64_t total = 0, value;
        for (int cpu = 0; cpu < cpus; cpu++)
            if (read(counted[i].fds[cpu], &value, sizeof(value)) == sizeof(value))
                total += value;
        printf("%s %llu\n", counted[i].name, (unsigned long long)total);
    }
}

static void count(const char *parent)
{
    _Alignas(struct inotify_event) char events[65536];
    int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN), inotify = inotify_init1(IN_CLOEXEC);

    if (cpus > CPUS_MAX || inotify < 0 || inotify_add_watch(inotify, parent, IN_CREATE | IN_ONLYDIR) < 0)
        err(1, "%s", parent);
    struct pollfd polled[] = {{.fd = inotify, .events = POLLIN}, {.fd = 0, .events = POLLIN}};
    puts("ready");
    fflush(stdout);
    while (poll(polled, 2, -1) > 0 && !polled[1].revents) {
        ssize_t n = read(inotify, events, sizeof(events));
        for (char *at = events; at < events + n;) {
            const struct inotify_event *event = (const void *)at;
            open_counters(parent, event->name, cpus);
            at += sizeof(*event) + event->len;
        }
    }
    print_counts(cpus);
}

int main(int argc, char **argv)
{
    if (argc >= 6 && strcmp(argv[1], "work") == 0)
        work(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10), strtoul(argv[4], NULL, 10), argv + 5);
    else if (argc == 3 && strcmp(argv[1], "count") == 0)
        count(argv[2]);
    else
        errx(2, "usage: cgroup-start work COUNT DELAY-US PAGES DIRECTORY... | count DIRECTORY");
    return 0;
}
