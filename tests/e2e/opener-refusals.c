/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speaks to a real opener as a daemon that was taken over would: each request that it must refuse is refused, and what
 * is allowed is opened. Prints a line for each; exit status 1 where one is not as it should be, 77 without privileges.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/process/capabilities.h"
#include "base/process/fd-socket.h"
#include "opener/opener.h"

#define SKIPPED 77

struct trial {
    const char *name;
    struct perf_event_attr attr;
    pid_t pid;
    int cpu;
    unsigned long flags;
    const char *directory, *path, *garbage;
    int expected; /* 0, or -errno, of the request or the event */
    int sampling; /* the same where the opener was started for samples */
};

static const struct perf_event_attr plain = {
    .size = sizeof(struct perf_event_attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CONTEXT_SWITCHES};

#define WITH(field, value)                                                                                             \
    {                                                                                                                  \
        .size = sizeof(struct perf_event_attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK,         \
        .field = (value)                                                                                               \
    }

#define IS(value) .expected = (value), .sampling = (value)
#define SAMPLES(type) WITH_TWO(sample_period, 1000000, sample_type, type)
#define WITH_TWO(field, value, other, other_value)                                                                     \
    {                                                                                                                  \
        .size = sizeof(struct perf_event_attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK,         \
        .field = (value), .other = (other_value)                                                                       \
    }

static const struct trial trials[] = {
    {.name = "a counter of a CPU", .attr = WITH(disabled, 1), .pid = -1, IS(0)},
    {.name = "a counter of the daemon itself", .attr = WITH(disabled, 1), .pid = 0, .cpu = -1, IS(0)},
    {.name = "a sample period", .attr = WITH(sample_period, 1000000), .pid = -1, .expected = -EUNATCH, .sampling = 0},
    {.name = "samples of the process 1",
     .attr = SAMPLES(PERF_SAMPLE_IP),
     .pid = 1,
     .cpu = -1,
     .expected = -EUNATCH,
     .sampling = 0},
    {.name = "a sample type without samples", .attr = WITH(sample_type, PERF_SAMPLE_IP), .pid = -1, IS(-EBADRQC)},
    {.name = "samples with registers", .attr = SAMPLES(PERF_SAMPLE_REGS_USER), .pid = -1, IS(-EBADRQC)},
    {.name = "samples with stacks", .attr = SAMPLES(PERF_SAMPLE_STACK_USER), .pid = -1, IS(-EBADRQC)},
    {.name = "samples with raw data", .attr = SAMPLES(PERF_SAMPLE_RAW), .pid = -1, IS(-EBADRQC)},
    {.name = "samples with addresses of data", .attr = SAMPLES(PERF_SAMPLE_ADDR), .pid = -1, IS(-EBADRQC)},
    {.name = "samples with context switches",
     .attr = WITH_TWO(sample_period, 1000000, context_switch, 1),
     .pid = -1,
     IS(-EBADRQC)},
    {.name = "precise_ip", .attr = WITH(precise_ip, 1), .pid = -1, IS(-EBADRQC)},
    {.name = "records of mmap alone", .attr = WITH(mmap, 1), .pid = -1, IS(-EBADRQC)},
    {.name = "an unknown size of the attributes", .attr = {.size = 100}, .pid = -1, IS(-EBADRQC)},
    {.name = "unknown flags", .attr = WITH(disabled, 1), .pid = -1, .flags = 1UL << 10, IS(-EBADRQC)},
    {.name = "a counter of the process 1", .attr = WITH(disabled, 1), .pid = 1, .cpu = -1, IS(-EBADRQC)},
    {.name = "every process that it may", .attr = WITH(disabled, 1), .pid = -1, .cpu = -1, IS(-EBADRQC)},
    {.name = "/tmp as a cgroup",
     .attr = WITH(disabled, 1),
     .flags = PERF_FLAG_PID_CGROUP,
     .directory = "/tmp",
     IS(-EXDEV)},
    {.name = "/proc as a cgroup",
     .attr = WITH(disabled, 1),
     .flags = PERF_FLAG_PID_CGROUP,
     .directory = "/proc",
     IS(-EXDEV)},
    {.name = "a garbled message", .garbage = "this is no request at all", IS(-EBADMSG)},
    {.name = "a single byte", .garbage = "x", IS(-EBADMSG)},
    {.name = "/etc/shadow", .path = "/etc/shadow", IS(-EBADRQC)},
    {.name = "a path with dots", .path = "/sys/kernel/tracing/events/../trace", IS(-EBADRQC)},
    {.name = "the log of tracefs", .path = "/sys/kernel/tracing/trace", IS(-EBADRQC)},
    {.name = "the kernel's symbols", .path = "/proc/kallsyms", .expected = -EUNATCH, .sampling = 0},
    {.name = "the name of the process 1", .path = "/proc/1/comm", .expected = -EUNATCH, .sampling = 0},
    {.name = "the threads of the process 1", .path = "/proc/1/task", .expected = -EUNATCH, .sampling = 0},
    {.name = "the environment of the process 1", .path = "/proc/1/environ", IS(-EBADRQC)},
    {.name = "the memory of the process 1", .path = "/proc/1/mem", IS(-EBADRQC)},
    {.name = "the files of the process 1", .path = "/proc/1/root/etc/shadow", IS(-EBADRQC)},
    {.name = "the kernel's memory", .path = "/proc/kcore", IS(-EBADRQC)},
    {.name = "a mapping that is not there",
     .path = "/proc/2/map_files/1000-2000",
     .expected = -EUNATCH,
     .sampling = -ENOENT},
    {.name = "the list of what the process 4194304 makes at run time",
     .path = "/proc/4194304/root/tmp/perf-1.map",
     .expected = -EUNATCH,
     .sampling = -ENOENT},
    {.name = "after all that, a counter", .attr = WITH(disabled, 1), .pid = -1, IS(0)},
};

static int send_raw(int socket, const void *packet, size_t size, const struct fd_list *fds)
{
    struct fd_list opened = {0};
    struct opener_reply reply = {0};
    int r = fd_socket_send(socket, packet, size, fds);

    if (r < 0)
        return r;
    ssize_t n = fd_socket_receive(socket, &reply, sizeof(reply), &opened, NULL);
    fd_list_close(&opened);
    if (n <= 0)
        return n < 0 ? (int)n : -EPIPE;
    return reply.error ? reply.error : reply.results[0];
}

/* Written without asking whether it is allowed, as the daemon's own client does it. */
static int try(const struct opener *opener, const struct trial *trial)
{
    _cleanup_(buffer_done) struct buffer packet = {0};
    struct fd_list fds = {0};
    size_t n;
    int r;

    if (trial->garbage)
        return send_raw(opener->client.socket, trial->garbage, strlen(trial->garbage), &fds);
    if (trial->path) {
        r = opener_request_write_file(trial->path, &packet);
        return r < 0 ? r : send_raw(opener->client.socket, packet.data, packet.size, &fds);
    }
    struct sys_group group = {
        .attrs = &trial->attr, .n = 1, .pid = trial->pid, .cpu = trial->cpu, .leader = -1, .flags = trial->flags};
    _cleanup_(closep) int directory = trial->directory ? open(trial->directory, O_RDONLY | O_CLOEXEC) : -1;
    if (directory >= 0)
        fds.fds[fds.n++] = directory;
    r = opener_request_write(&opener->client.rules, &group, 0, &packet, &n);
    return r < 0 ? r : send_raw(opener->client.socket, packet.data, packet.size, &fds);
}

static bool check(const char *name, int found, int expected)
{
    bool fine = found == expected;

    printf("%s  %s: %s%s%s\n", fine ? "ok    " : "NOT OK", name, found < 0 ? error_name(found) : "opened",
           fine       ? ""
           : expected ? ", not "
                      : ", and should be",
           fine || !expected ? "" : error_name(expected));
    return fine;
}

/* A lone descriptor that should lead is no counter. */
static bool check_leader(const struct opener *opener)
{
    struct sys_group group = {.attrs = &plain, .n = 1, .pid = -1, .leader = 0};
    _cleanup_(buffer_done) struct buffer packet = {0};
    _cleanup_(closep) int file = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
    struct fd_list one = {.n = 1, .fds = {file}};
    size_t n;

    opener_request_write(&opener->client.rules, &group, 0, &packet, &n);
    bool fine =
        check("a leader that is a file", send_raw(opener->client.socket, packet.data, packet.size, &one), -EBADF);
    one.n = 0;
    return check("a leader that is missing", send_raw(opener->client.socket, packet.data, packet.size, &one),
                 -EBADMSG) &&
           fine;
}

/* Of this process, which the opener may look into: its program is handed over, its data not. */
static int try_mapping(const struct opener *opener, const char *protection)
{
    _cleanup_(fclosep) FILE *maps = fopen("/proc/self/maps", "re");
    char line[512], found[8], path[96];
    struct fd_list none = {0};
    unsigned long start, end;

    while (maps && fgets(line, sizeof(line), maps)) {
        if (sscanf(line, "%lx-%lx %7s", &start, &end, found) != 3 || strcmp(found, protection) != 0 ||
            !strstr(line, "opener-refusals"))
            continue;
        _cleanup_(buffer_done) struct buffer packet = {0};
        snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", (int)getpid(), start, end);
        int r = opener_request_write_file(path, &packet);
        return r < 0 ? r : send_raw(opener->client.socket, packet.data, packet.size, &none);
    }
    return -ENODATA;
}

static bool run(bool sampling)
{
    struct opener_permissions permissions = {.sampling = sampling};
    const struct user user = {0};
    struct opener *opener;
    struct error error;
    bool fine = true;
    struct sys sys;

    sys_init(&sys);
    printf("-- %s samples\n", sampling ? "with" : "without");
    if (opener_start(&sys, &permissions, &user, -1, &opener, &error) < 0) {
        printf("NOT OK  %s\n", error.message);
        return false;
    }
    for (size_t i = 0; i < ARRAY_SIZE(trials); i++)
        fine &= check(trials[i].name, try(opener, &trials[i]), sampling ? trials[i].sampling : trials[i].expected);
    fine &= check("a program that runs", try_mapping(opener, "r-xp"), sampling ? 0 : -EUNATCH);
    fine &= check("data that is mapped", try_mapping(opener, "r--p"), sampling ? -EBADRQC : -EUNATCH);
    fine &= check_leader(opener);
    opener_free(opener);
    return fine;
}

/* In a process each, since starting an opener takes the privileges away. */
static bool run_apart(bool sampling)
{
    int status;

    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        bool fine = run(sampling);
        fflush(stdout);
        _exit(fine ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
}

int main(void)
{
    if (!capabilities_are_privileged()) {
        printf("skipped: this needs CAP_PERFMON or CAP_SYS_ADMIN\n");
        return SKIPPED;
    }
    bool without = run_apart(false), with = run_apart(true);
    return without && with ? EXIT_SUCCESS : EXIT_FAILURE;
}
