/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the minimum that a scrape can cost: the kernel's counter reads alone and libmicrohttpd alone.
 *
 * usage: bare reads EVENTS [CGROUP-DIRECTORY...]
 *        bare server PORT PAGE-SIZE [reads]
 *        bare threads [GROUPS-PER-CPU]
 *
 * "reads" opens a group of software events for each cgroup on each CPU, or only for each CPU if no cgroup is named, and
 * reads each group with one read(2). What a scrape costs beyond this is the cost of scaling, rendering and HTTP. Each
 * line of standard input is "read ROUNDS", or "copy ROUNDS SIZE" to copy SIZE bytes; the answer is the CPU time and the
 * wall time of one round, in nanoseconds.
 *
 * "server" is a libmicrohttpd handler that sends a constant page; with "reads" it first reads one group on each CPU.
 * What perfcountd costs beyond this is the cost of rendering, routing and its event loop.
 *
 * "threads" compares two ways to read the groups of all CPUs: from one thread, as the daemon does, and from one thread
 * on each CPU. To read a group that counts on another CPU, the kernel interrupts that CPU (perf_event_read() in
 * kernel/events/core.c); a thread on that CPU must be woken instead. Prints the time until all groups are read, and
 * the CPU time of all threads.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <microhttpd.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "base/util.h"

#define EVENTS_MAX 5 /* number of software events; page faults are the last one */

struct bare_groups {
    int *leaders;
    size_t n_leaders;
    size_t n_events; /* per group */
    uint64_t sum;    /* keeps the compiler from removing the reads */
};

/* --- groups of software events; any failure ends the program */

static uint64_t now(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static const uint64_t events[EVENTS_MAX] = {
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

/* Opens one group on a CPU, for one cgroup, or for all tasks if the cgroup is -1. An offline CPU is skipped. */
static void bare_groups_add(struct bare_groups *groups, int cgroup, int cpu)
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

/* Opens one group on each CPU for each of the cgroups, or for the whole CPU if n_cgroups is 0. */
static void bare_groups_open(struct bare_groups *groups, size_t n_events, char **cgroups, size_t n_cgroups)
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

static void bare_groups_done(struct bare_groups *groups)
{
    for (size_t i = 0; i < groups->n_leaders; i++)
        close(groups->leaders[i]);
    free(groups->leaders);
}

static void bare_groups_read(struct bare_groups *groups)
{
    uint64_t values[3 + 2 * EVENTS_MAX];
    size_t size = (3 + 2 * groups->n_events) * sizeof(values[0]);

    for (size_t i = 0; i < groups->n_leaders; i++) {
        if (read(groups->leaders[i], values, size) != (ssize_t)size)
            err(1, "read");
        groups->sum += values[3];
    }
}

/* --- reads */

static void copy(char *to, const char *from, size_t size)
{
    memcpy(to, from, size);
    __asm__ volatile("" : : "r"(to) : "memory"); /* keeps the compiler from removing the copy */
}

/* Copies `size` bytes in each round; reads the groups if `size` is 0. */
static void measure_reads(struct bare_groups *groups, unsigned long rounds, size_t size)
{
    char *from = calloc(1, size + 1), *to = calloc(1, size + 1);
    if (!from || !to)
        err(1, "calloc");
    double cpu = (double)now(CLOCK_PROCESS_CPUTIME_ID), wall = (double)now(CLOCK_MONOTONIC);

    for (unsigned long i = 0; i < rounds; i++)
        if (size > 0)
            copy(to, from, size);
        else
            bare_groups_read(groups);
    printf("%.0f %.0f\n", ((double)now(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (double)rounds,
           ((double)now(CLOCK_MONOTONIC) - wall) / (double)rounds);
    fflush(stdout);
    free(from);
    free(to);
}

static int reads_main(int argc, char **argv)
{
    struct bare_groups groups;
    uint64_t n_events = 0;
    char line[64];

    if (argc < 1 || number_parse_u64(argv[0], &n_events) < 0 || n_events == 0 || n_events > EVENTS_MAX)
        errx(2, "usage: bare reads EVENTS [CGROUP-DIRECTORY...], with 1 to %d events", EVENTS_MAX);
    bare_groups_open(&groups, n_events, argv + 1, (size_t)argc - 1);
    while (fgets(line, sizeof(line), stdin)) {
        unsigned long rounds = 0;
        size_t size = 0;
        if (sscanf(line, "read %lu", &rounds) != 1 && sscanf(line, "copy %lu %zu", &rounds, &size) != 2)
            errx(2, "expected \"read ROUNDS\" or \"copy ROUNDS SIZE\", not: %s", line);
        if (rounds > 0)
            measure_reads(&groups, rounds, size);
    }
    bare_groups_done(&groups);
    return groups.sum == UINT64_MAX;
}

/* --- server */

#define MEMORY_PER_CONNECTION ((size_t)16384) /* as in perfcountd; libmicrohttpd clears it for each request */

struct bare {
    struct bare_groups groups;
    bool reads;
    char *page;
    size_t page_size;
};

static enum MHD_Result handle(void *userdata, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *body, size_t *body_size, void **state)
{
    static const int second_call;
    struct bare *bare = userdata;
    struct MHD_Response *response;
    enum MHD_Result result;

    (void)url, (void)method, (void)version, (void)body, (void)body_size;
    /* libmicrohttpd closes the connection if the first call queues a response. */
    if (!*state) {
        *state = (void *)&second_call;
        return MHD_YES;
    }
    if (bare->reads)
        bare_groups_read(&bare->groups);
    response = MHD_create_response_from_buffer(bare->page_size, bare->page, MHD_RESPMEM_PERSISTENT);
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    result = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return result;
}

static _Noreturn void serve(struct MHD_Daemon *daemon)
{
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(EPOLL_CLOEXEC);

    if (!info || epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, info->epoll_fd, &event) < 0)
        err(1, "epoll");
    for (;;) {
        MHD_UNSIGNED_LONG_LONG timeout;
        int wait = MHD_get_timeout(daemon, &timeout) == MHD_YES ? (int)timeout : -1;
        epoll_wait(epoll, &event, 1, wait);
        MHD_run(daemon);
    }
}

static int server_main(int argc, char **argv)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct bare bare = {0};
    uint64_t port, size;

    if (argc < 2 || argc > 3 || (argc == 3 && strcmp(argv[2], "reads") != 0) || number_parse_u64(argv[0], &port) < 0 ||
        port > UINT16_MAX || number_parse_u64(argv[1], &size) < 0 || size == 0)
        errx(2, "usage: bare server PORT PAGE-SIZE [reads]");
    bare.page = malloc(size);
    if (!bare.page)
        err(1, "malloc");
    memset(bare.page, 'x', size);
    bare.page_size = size;
    bare.reads = argc == 3;
    if (bare.reads)
        bare_groups_open(&bare.groups, EVENTS_MAX, NULL, 0);
    address.sin_port = htons((uint16_t)port);
    struct MHD_Daemon *daemon =
        MHD_start_daemon(MHD_USE_EPOLL, (uint16_t)port, NULL, NULL, handle, &bare, MHD_OPTION_SOCK_ADDR, &address,
                         MHD_OPTION_CONNECTION_MEMORY_LIMIT, MEMORY_PER_CONNECTION, MHD_OPTION_END);
    if (!daemon)
        err(1, "port %s", argv[0]);
    serve(daemon);
}

/* --- threads */

#define DEFAULT_GROUPS 4
#define MEMBERS 4
#define ROUNDS 7
#define READINGS 300
#define PAUSE_NS 1000000 /* between readings: lets the threads go to sleep, as between scrapes */

struct reader {
    pthread_t thread;
    int cpu;
    struct bare_groups groups;
    sem_t go;
    sem_t *done;
    bool end;
};

static void open_groups(struct reader *reader, size_t n)
{
    for (size_t i = 0; i < n; i++)
        bare_groups_add(&reader->groups, -1, reader->cpu);
    if (reader->groups.n_leaders < n)
        errx(1, "CPU %d is offline", reader->cpu);
}

static void *work(void *userdata)
{
    struct reader *reader = userdata;
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((size_t)reader->cpu, &set);
    pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
    for (;;) {
        sem_wait(&reader->go);
        if (reader->end)
            return NULL;
        bare_groups_read(&reader->groups);
        sem_post(reader->done);
    }
}

static void read_across(struct reader *readers, size_t n, sem_t *done)
{
    (void)done;
    for (size_t i = 0; i < n; i++)
        bare_groups_read(&readers[i].groups);
}

static void read_by_threads(struct reader *readers, size_t n, sem_t *done)
{
    for (size_t i = 0; i < n; i++)
        sem_post(&readers[i].go);
    for (size_t i = 0; i < n; i++)
        sem_wait(done);
}

/* Measures one thread that moves to each CPU before it reads there. */
static void read_by_moving(struct reader *readers, size_t n, sem_t *done)
{
    cpu_set_t set, before;

    (void)done;
    sched_getaffinity(0, sizeof(before), &before);
    for (size_t i = 0; i < n; i++) {
        CPU_ZERO(&set);
        CPU_SET((size_t)readers[i].cpu, &set);
        sched_setaffinity(0, sizeof(set), &set);
        bare_groups_read(&readers[i].groups);
    }
    sched_setaffinity(0, sizeof(before), &before);
}

struct figure {
    double latency_us, cpu_us;
};

static struct figure measure_threads(void (*read_all)(struct reader *, size_t, sem_t *), struct reader *readers,
                                     size_t n, sem_t *done)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    struct figure best = {1e9, 1e9};

    for (int round = 0; round < ROUNDS; round++) {
        uint64_t cpu = now(CLOCK_PROCESS_CPUTIME_ID), latency = 0;
        for (int i = 0; i < READINGS; i++) {
            nanosleep(&pause, NULL);
            uint64_t start = now(CLOCK_MONOTONIC);
            read_all(readers, n, done);
            latency += now(CLOCK_MONOTONIC) - start;
        }
        cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
        best.latency_us = MIN(best.latency_us, (double)latency / READINGS / 1e3);
        best.cpu_us = MIN(best.cpu_us, (double)cpu / READINGS / 1e3);
    }
    return best;
}

static void print(const char *how, const struct figure *figure, const struct figure *across,
                  const struct figure *nothing)
{
    printf("    %-20s %7.1f us, %7.1f us CPU, ratios %.2f and %.2f\n", how, figure->latency_us,
           figure->cpu_us - nothing->cpu_us, figure->latency_us / across->latency_us,
           (figure->cpu_us - nothing->cpu_us) / (across->cpu_us - nothing->cpu_us));
}

static int threads_main(int argc, char **argv)
{
    uint64_t n_groups = DEFAULT_GROUPS;
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    struct reader *readers = calloc((size_t)n, sizeof(*readers));
    sem_t done;

    if (!readers || argc > 1 || (argc == 1 && (number_parse_u64(argv[0], &n_groups) < 0 || n_groups == 0)))
        errx(2, "usage: bare threads [GROUPS-PER-CPU]");
    sem_init(&done, 0, 0);
    for (int i = 0; i < n; i++) {
        readers[i] = (struct reader){.cpu = i, .groups = {.n_events = MEMBERS}, .done = &done};
        sem_init(&readers[i].go, 0, 0);
        open_groups(&readers[i], n_groups);
        if (pthread_create(&readers[i].thread, NULL, work, &readers[i]) != 0)
            errx(1, "pthread_create");
    }
    struct figure nothing = measure_threads(read_across, readers, 0, &done);
    struct figure across = measure_threads(read_across, readers, (size_t)n, &done);
    printf("reading %" PRIu64 " groups of %d on each of %ld CPUs, minus an empty round of %.1f us CPU:\n", n_groups,
           MEMBERS, n, nothing.cpu_us);
    printf("    one thread:          %7.1f us, %7.1f us CPU\n", across.latency_us, across.cpu_us - nothing.cpu_us);
    struct figure moving = measure_threads(read_by_moving, readers, (size_t)n, &done);
    print("one thread, moving:", &moving, &across, &nothing);
    struct figure threads = measure_threads(read_by_threads, readers, (size_t)n, &done);
    print("a thread per CPU:", &threads, &across, &nothing);
    for (int i = 0; i < n; i++) {
        readers[i].end = true;
        sem_post(&readers[i].go);
        pthread_join(readers[i].thread, NULL);
        bare_groups_done(&readers[i].groups);
    }
    free(readers);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv); /* called with the arguments after the mode */
    } modes[] = {{"reads", reads_main}, {"server", server_main}, {"threads", threads_main}};

    for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(modes); i++)
        if (strcmp(argv[1], modes[i].name) == 0)
            return modes[i].run(argc - 2, argv + 2);
    errx(2, "usage: bare reads|server|threads ARGUMENT...");
}
