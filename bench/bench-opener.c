/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the cost of opening counters through the opener process: opens 2,000 events in groups, alternately through
 * the opener and directly, and compares the medians. Needs the privileges that the opener needs.
 *
 * usage: bench-opener [EVENTS [ROUNDS]]     `bench/run times` checks the ratio
 */
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>

#include "base/cleanup.h"
#include "opener/client.h"
#include "perf/group.h"

#define ROUNDS_MAX 101

static const uint64_t configs[] = {
    PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS,   PERF_COUNT_SW_PAGE_FAULTS_MIN,
    PERF_COUNT_SW_PAGE_FAULTS_MAJ,  PERF_COUNT_SW_ALIGNMENT_FAULTS, PERF_COUNT_SW_EMULATION_FAULTS,
};

/* Group sizes of the built-in configuration. */
static const size_t sizes[] = {2, 2, 2, 4};

struct bench {
    struct group **groups;
    size_t n_events, n_cpus;
};

static int open_all(struct sys *sys, struct bench *bench)
{
    struct attr attrs[ARRAY_SIZE(configs)] = {0};
    int errors[GROUP_MEMBERS_MAX], r = 0;
    size_t opened = 0, n = 0;

    for (size_t i = 0; i < ARRAY_SIZE(configs); i++)
        attrs[i].kernel = (struct perf_event_attr){.type = PERF_TYPE_SOFTWARE, .config = configs[i]};
    while (opened < bench->n_events && r == 0) {
        struct group_target target = {.pid = -1, .cpu = (int)(n % bench->n_cpus)};
        size_t size = MIN(sizes[n / bench->n_cpus % ARRAY_SIZE(sizes)], bench->n_events - opened);
        r = group_open_many(sys, attrs, size, true, &target, errors, &bench->groups[n]);
        if (r == 0 && !bench->groups[n])
            r = errors[0] ? errors[0] : -EIO;
        if (r == 0)
            r = group_enable(bench->groups[n]);
        opened += size;
        n++;
    }
    return r;
}

static void close_all(struct bench *bench)
{
    for (size_t i = 0; i < bench->n_events; i++)
        bench->groups[i] = group_free(bench->groups[i]);
}

static int measure(struct sys *sys, struct bench *bench, uint64_t *ret_ns)
{
    uint64_t begin = sys_now(sys, CLOCK_MONOTONIC);
    int r = open_all(sys, bench);

    *ret_ns = sys_now(sys, CLOCK_MONOTONIC) - begin;
    close_all(bench);
    return r;
}

static int compare(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

static double median_us(uint64_t *ns, size_t n, const struct bench *bench)
{
    qsort(ns, n, sizeof(ns[0]), compare);
    return (double)ns[n / 2] / 1000 / (double)bench->n_events;
}

static int fail(const char *what, int r)
{
    fprintf(stderr, "bench-opener: %s: %s\n", what, strerror(-r));
    return EXIT_FAILURE;
}

/* For each byte received, opens the events once and answers with the time in nanoseconds, or -errno. */
static _Noreturn void serve(struct sys *sys, struct bench *bench, int socket)
{
    int64_t answer;
    uint64_t ns;
    char turn;

    while (read(socket, &turn, 1) == 1) {
        int r = measure(sys, bench, &ns);
        answer = r < 0 ? r : (int64_t)ns;
        if (write(socket, &answer, sizeof(answer)) != sizeof(answer))
            break;
    }
    _exit(EXIT_SUCCESS);
}

/*
 * Starts a process that opens events, either through the opener or directly. Each way needs its own process, because a
 * process with an opener drops its privileges, as the daemon does. Returns a socket to the process, or -errno.
 */
static int start(struct bench *bench, bool with_opener)
{
    struct opener_permissions permissions = {.limits.cpu = UINT32_MAX};
    const struct user user = {0};
    struct opener *opener;
    struct error error;
    struct sys sys;
    struct bpf_calls bpf;
    const struct privileged_calls calls = {&sys, &bpf, NULL};
    int sockets[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) < 0)
        return -errno;
    pid_t pid = fork();
    if (pid < 0)
        return -errno;
    if (pid > 0) {
        close(sockets[1]);
        return sockets[0];
    }
    close(sockets[0]);
    sys_init(&sys);
    if (with_opener && opener_start(&calls, &permissions, &user, -1, &opener, &error) < 0) {
        fprintf(stderr, "bench-opener: %s\n", error.message);
        _exit(EXIT_FAILURE);
    }
    serve(&sys, bench, sockets[1]);
}

static int take_turn(int socket, uint64_t *ret_ns)
{
    int64_t answer;

    if (write(socket, "", 1) != 1 || read(socket, &answer, sizeof(answer)) != sizeof(answer))
        return -EIO;
    if (answer < 0)
        return (int)answer;
    *ret_ns = (uint64_t)answer;
    return 0;
}

static size_t argument(int argc, char **argv, int i, size_t usual)
{
    return argc > i ? strtoul(argv[i], NULL, 10) : usual;
}

int main(int argc, char **argv)
{
    struct bench bench = {.n_events = argument(argc, argv, 1, 2000), .n_cpus = (size_t)get_nprocs()};
    size_t rounds = MIN(argument(argc, argv, 2, 7), ROUNDS_MAX);
    struct rlimit limit = {.rlim_cur = bench.n_events + 64, .rlim_max = MAX(bench.n_events + 64, 65536)};
    uint64_t with[ROUNDS_MAX], without[ROUNDS_MAX];
    int r = 0;

    setrlimit(RLIMIT_NOFILE, &limit);
    bench.groups = calloc(bench.n_events, sizeof(struct group *));
    int direct = start(&bench, false), split = start(&bench, true);
    if (!bench.groups || direct < 0 || split < 0)
        return fail("cannot start", -ENOMEM);
    for (size_t i = 0; r == 0 && i < rounds; i++) {
        r = take_turn(direct, &without[i]);
        if (r == 0)
            r = take_turn(split, &with[i]);
    }
    if (r < 0)
        return fail("cannot open the events", r);
    double a = median_us(without, rounds, &bench), b = median_us(with, rounds, &bench);
    printf("opening %zu events in groups of 2 to 4, medians of %zu alternating rounds\n", bench.n_events, rounds);
    printf("  direct              %8.1f us per event\n", a);
    printf("  through the opener  %8.1f us per event\n", b);
    printf("  ratio               %8.2f\n", b / a);
    return EXIT_SUCCESS;
}
