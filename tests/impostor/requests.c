/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests to the opener that bypass the daemon's own checks. The tables of tests/unit/test-opener-protocol.c and its
 * neighbours cover the rules; here are a few requests of each kind, and those that need a real opener.
 */
#include <fcntl.h>
#include <ftw.h>
#include <linux/hw_breakpoint.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "bpf/calls.h"
#include "cgroups/cgroupfs.h"
#include "cgroups/names-reader.h"
#include "process/finder.h"
#include "tests/impostor/impostor.h"
#include "tests/newer.h"

long ask_raw(struct impostor *impostor, const void *packet, size_t size, const struct fd_list *fds, int *ret_fd)
{
    struct fd_list opened = {0};
    struct opener_reply reply = {0};
    int r = fd_socket_send(impostor->client->socket, packet, size, fds);

    if (r < 0)
        return r;
    ssize_t n = fd_socket_receive(impostor->client->socket, &reply, sizeof(reply), &opened, NULL);
    if (n <= 0)
        return n < 0 ? (long)n : -EPIPE;
    if (ret_fd && opened.n > 0) {
        *ret_fd = opened.fds[0];
        opened.fds[0] = opened.fds[--opened.n];
    }
    fd_list_close(&opened);
    return reply.error ? reply.error : reply.n ? reply.results[0] : 0;
}

static void add_fd(struct fd_list *fds, int fd)
{
    if (fd >= 0)
        fds->fds[fds->n++] = fd;
}

static long ask_group(struct impostor *impostor, const struct sys_group *group, int directory, int leader, int *ret_fd)
{
    _cleanup_(buffer_done) struct buffer packet = {0};
    struct fd_list fds = {0};
    size_t n;

    add_fd(&fds, directory);
    add_fd(&fds, leader);
    int r = opener_request_write(&impostor->client->rules, group, 0, &packet, &n);
    return r < 0 ? r : ask_raw(impostor, packet.data, packet.size, &fds, ret_fd);
}

long ask_event(struct impostor *impostor, const struct perf_event_attr *attr, pid_t pid, int cpu, unsigned long flags,
               int directory, int leader, int *ret_fd)
{
    const struct sys_group group = {.attrs = attr, .n = 1, .pid = pid, .cpu = cpu, .leader = leader, .flags = flags};

    return ask_group(impostor, &group, directory, leader, ret_fd);
}

long ask_probe(struct impostor *impostor, uint32_t type, uint64_t config, const char *text, uint64_t offset,
               int *ret_fd)
{
    const struct perf_event_attr attr = {.size = sizeof(attr), .type = type, .config = config, .config2 = offset};
    const struct sys_group group = {.attrs = &attr, .texts = &text, .n = 1, .pid = -1, .leader = -1};

    return ask_group(impostor, &group, -1, -1, ret_fd);
}

long ask_file(struct impostor *impostor, const char *path, int *ret_fd)
{
    _cleanup_(buffer_done) struct buffer packet = {0};
    int r = opener_request_write_file(path, &packet);

    return r < 0 ? r : ask_raw(impostor, packet.data, packet.size, &(struct fd_list){0}, ret_fd);
}

/* Requests for events that are not configured, and for events that are never permitted. */

/* The configurations in which the opener itself must refuse the request. */
enum refusal { NEVER, ALWAYS, WITHOUT_SAMPLER, WITHOUT_HINDSIGHT };

struct request {
    const char *name;
    struct perf_event_attr attr;
    pid_t pid;
    int cpu;
    unsigned long flags;
    unsigned attr_flags[2];
    const char *directory;
    enum refusal refusal;
};

#define CLOCK(...)                                                                                                     \
    {                                                                                                                  \
        .size = sizeof(struct perf_event_attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK,         \
        __VA_ARGS__                                                                                                    \
    }
#define SAMPLED(...) CLOCK(.sample_period = 1000000, __VA_ARGS__)
#define SAMPLES(what) SAMPLED(.sample_type = (what))

#define BPF_OUTPUT(...)                                                                                                \
    {                                                                                                                  \
        .size = sizeof(struct perf_event_attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_BPF_OUTPUT,        \
        .sample_period = 1, __VA_ARGS__                                                                                \
    }

static const struct request requests[] = {
    {"a counter of a CPU", CLOCK(.disabled = 1), -1, .refusal = NEVER},
    {"a counter of the daemon itself", CLOCK(.disabled = 1), 0, -1, .refusal = NEVER},
    {"a sample period", SAMPLED(.disabled = 1), -1, .refusal = WITHOUT_SAMPLER},
    {"samples of process 1", SAMPLES(PERF_SAMPLE_IP), 1, -1, .refusal = WITHOUT_SAMPLER},
    {"samples that are overwritten", SAMPLED(.disabled = 1, .write_backward = 1), -1, .refusal = WITHOUT_HINDSIGHT},
    {"overwritten samples of process 1", SAMPLED(.disabled = 1, .write_backward = 1), 1, -1, .refusal = ALWAYS},
    {"samples with cgroups, and records of new ones", SAMPLED(.sample_type = PERF_SAMPLE_CGROUP, .cgroup = 1), -1,
     .refusal = WITHOUT_SAMPLER},
    {"records of new cgroups alone", CLOCK(.disabled = 1, .cgroup = 1), -1, .refusal = ALWAYS},
    {"samples with raw data", SAMPLES(PERF_SAMPLE_RAW), -1, .refusal = ALWAYS},
    {"samples that wake their reader one at a time", SAMPLED(.wakeup_events = 1), -1, .refusal = ALWAYS},
    {"samples of a BPF program", BPF_OUTPUT(.sample_type = PERF_SAMPLE_RAW), -1, .refusal = WITHOUT_SAMPLER},
    {"samples of a BPF program in process 1", BPF_OUTPUT(.sample_type = PERF_SAMPLE_RAW), 1, -1, .refusal = ALWAYS},
    {"sigtrap", CLOCK(.disabled = 1), 0, -1, .attr_flags = {ATTR_SIGTRAP, ATTR_REMOVE_ON_EXEC}, .refusal = ALWAYS},
    {"inherit", CLOCK(.inherit = 1), 0, -1, .refusal = WITHOUT_SAMPLER},
    {"a counter that is enabled when the daemon calls exec", CLOCK(.disabled = 1, .enable_on_exec = 1), 0, -1,
     .refusal = ALWAYS},
    {"a counter of process 1", CLOCK(.disabled = 1), 1, -1, .refusal = ALWAYS},
    {"every process that the opener may count", CLOCK(.disabled = 1), -1, -1, .refusal = ALWAYS},
    {"a PMU type that did not exist at the start",
     {.size = sizeof(struct perf_event_attr), .type = 0x7ffffff0},
     -1,
     .refusal = ALWAYS},
    {"a breakpoint in user space",
     {.size = sizeof(struct perf_event_attr),
      .type = PERF_TYPE_BREAKPOINT,
      .bp_type = HW_BREAKPOINT_W,
      .bp_addr = 0x12345678,
      .bp_len = HW_BREAKPOINT_LEN_4},
     -1,
     .refusal = ALWAYS},
    {"/tmp as a cgroup", CLOCK(.disabled = 1), .flags = PERF_FLAG_PID_CGROUP, .directory = "/tmp", .refusal = ALWAYS},
    {"a file as a cgroup", CLOCK(.disabled = 1), .flags = PERF_FLAG_PID_CGROUP, .directory = "/dev/null",
     .refusal = ALWAYS},
};

static bool is_refused(const struct impostor *impostor, enum refusal refusal)
{
    const struct config_sampler *sampler = &impostor->config->sampler;

    return refusal == ALWAYS || (refusal == WITHOUT_SAMPLER && !sampler->enabled) ||
           (refusal == WITHOUT_HINDSIGHT && !(sampler->enabled && sampler->hindsight.enabled));
}

static void try_request(struct impostor *impostor, const struct request *request)
{
    static const struct must refused = REFUSED, opened = MUST_WORK;
    _cleanup_(closep) int directory = request->directory ? open(request->directory, O_RDONLY | O_CLOEXEC) : -1;
    struct perf_event_attr attr = request->attr;
    for (size_t i = 0; i < ARRAY_SIZE(request->attr_flags); i++)
        if (request->attr_flags[i])
            attr_set_flag(&attr, request->attr_flags[i]);
    long got = ask_event(impostor, &attr, request->pid, request->cpu, request->flags, directory, -1, NULL);
    char name[160];

    snprintf(name, sizeof(name), "request: %s", request->name);
    if (!is_refused(impostor, request->refusal) && request->pid > 0 && got == -ESRCH)
        got = impostor_skip(impostor, "the opener does not see that process");
    impostor_judge(impostor, name, got, is_refused(impostor, request->refusal) ? &refused : &opened);
}

/*
 * Requests the tracepoint whose id is `number` above that of a known one. sched_switch may be configured, but its
 * neighbour is not.
 */
static long try_tracepoint(struct impostor *impostor, const struct attempt *attempt)
{
    struct perf_event_attr attr = {.size = sizeof(attr), .type = PERF_TYPE_TRACEPOINT};
    int64_t id = str_equal(attempt->text, "near") ? impostor->known.openat_id : impostor->known.switch_id;

    if (id < 0)
        return impostor_skip(impostor, "tracepoint ids cannot be read");
    attr.config = (uint64_t)id + attempt->number;
    attr.sample_period = str_equal(attempt->text, "sampled");
    return ask_event(impostor, &attr, -1, 0, 0, -1, -1, NULL);
}

/* Since Linux 5.13, the upper half of a hardware event's config is the PMU's type. */
static long try_extended(struct impostor *impostor, const struct attempt *attempt)
{
    const struct perf_event_attr attr = {.size = sizeof(attr),
                                         .type = PERF_TYPE_HARDWARE,
                                         .config = attempt->number << 32 | (uint64_t)MAX(impostor->known.switch_id, 1)};

    return ask_event(impostor, &attr, -1, 0, 0, -1, -1, NULL);
}

/* Passes the descriptor of an ordinary file as the group leader. */
static long try_leader(struct impostor *impostor, const struct attempt *attempt)
{
    const struct perf_event_attr attr = CLOCK(.disabled = 1);
    _cleanup_(closep) int fd = open(attempt->text, O_RDONLY | O_CLOEXEC);

    return fd < 0 ? impostor_skip(impostor, "it cannot be opened") : ask_event(impostor, &attr, -1, 0, 0, -1, fd, NULL);
}

static long try_kernel_breakpoint(struct impostor *impostor, const struct attempt *attempt)
{
    struct perf_event_attr attr = {.size = sizeof(attr), .type = PERF_TYPE_BREAKPOINT, .bp_len = HW_BREAKPOINT_LEN_4};

    attr.bp_addr = impostor->known.kernel_function;
    attr.bp_type = (uint32_t)attempt->number;
    if (attr.bp_type == HW_BREAKPOINT_X)
        attr.bp_len = sizeof(long);
    return ask_event(impostor, &attr, -1, 0, 0, -1, -1, NULL);
}

/* The opener must answer every request, no matter how many there are. */
static long try_many(struct impostor *impostor, const struct attempt *attempt)
{
    const struct perf_event_attr attr = {
        .size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .disabled = 1};
    long got = 0;

    for (uint64_t i = 0; i < attempt->number && got == 0; i++)
        got = ask_event(impostor, &attr, -1, 0, 0, -1, -1, NULL);
    return got;
}

static const struct attempt event_attempts[] = {
    {"request: a tracepoint that is not configured", try_tracepoint, .must = REFUSED, .text = "far", .number = 1},
    {"request: the tracepoint behind sys_enter_openat", try_tracepoint, .must = REFUSED, .text = "near", .number = 1},
    {"request: a tracepoint whose id has 33 bits", try_tracepoint, .must = REFUSED, .text = "near",
     .number = UINT64_C(1) << 32},
    {"request: samples of a tracepoint that is not configured", try_tracepoint, .must = REFUSED, .text = "sampled",
     .number = 1},
    {"request: a breakpoint on writes to the kernel", try_kernel_breakpoint, .must = REFUSED,
     .number = HW_BREAKPOINT_W},
    {"request: a tracepoint as a hardware event", try_extended, .must = MUST(ENOENT, EINVAL, EBADRQC, ENODEV),
     .number = PERF_TYPE_TRACEPOINT},
    {"request: a breakpoint as a hardware event", try_extended, .must = MUST(ENOENT, EINVAL, EBADRQC, ENODEV),
     .number = PERF_TYPE_BREAKPOINT},
    {"request: a file as the leader", try_leader, .must = MUST(EBADF, EBADRQC, EBADMSG, EINVAL), .text = "/etc/passwd"},
    {"request: 5,000 counters, one after the other", try_many, .must = MUST_WORK, .number = 5000},
};

void requests_run(struct impostor *impostor)
{
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
        try_request(impostor, &requests[i]);
    impostor_try(impostor, event_attempts, ARRAY_SIZE(event_attempts));
}

/* Requests events until the opener refuses, which must happen at the limit set by its rules. */

/* What the events count. */
enum victim { CPU, CPU_OF_BPF, CGROUP, OWN_THREAD, OTHER_THREAD };

struct hoard {
    size_t n;
    int fds[HOARD_MAX];
};

static void hoard_close(struct hoard *hoard)
{
    while (hoard->n > 0)
        close(hoard->fds[--hoard->n]);
}

static uint64_t victim_limit(const struct impostor *impostor, enum victim victim)
{
    const struct opener_event_limits *limits = &impostor->client->rules.permissions.limits;

    if (victim == CPU_OF_BPF)
        return limits->cpu_of_bpf;
    return victim == CPU || victim == CGROUP ? limits->cpu : limits->thread;
}

static int open_root_cgroup(struct impostor *impostor)
{
    struct hierarchy hierarchy;

    if (hierarchy_find(&impostor->sys, &hierarchy, NULL) < 0)
        return -1;
    int fd = open(hierarchy.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    hierarchy_done(&hierarchy);
    return fd;
}

/* Adds events to the hoard until a request fails, and returns its error. */
static long hoard(struct impostor *impostor, enum victim victim, struct hoard *hoard)
{
    static const pid_t pids[] = {[CPU] = -1, [CPU_OF_BPF] = -1, [OWN_THREAD] = 0, [OTHER_THREAD] = 1};
    struct perf_event_attr attr = {
        .size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CONTEXT_SWITCHES, .disabled = 1};
    _cleanup_(closep) int directory = victim == CGROUP ? open_root_cgroup(impostor) : -1;
    unsigned long flags = victim == CGROUP ? PERF_FLAG_PID_CGROUP : 0;
    long got = 0;

    attr.sample_period = victim == OTHER_THREAD ? UINT32_MAX : 0;
    while (got == 0 && hoard->n < HOARD_MAX) {
        got = ask_event(impostor, &attr, pids[victim], victim == OWN_THREAD ? -1 : 0, flags, directory, -1,
                        &hoard->fds[hoard->n]);
        hoard->n += got == 0;
    }
    return got;
}

static long hoard_skip(struct impostor *impostor, enum victim victim)
{
    struct rlimit limit;

    if (victim == OTHER_THREAD && !impostor->config->sampler.enabled)
        return impostor_skip(impostor, "only the sampler may count other threads");
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur < HOARD_MAX + 100)
        return impostor_skip(impostor, "the limit of open files is too low");
    return 0;
}

/* Hoards events, closes all, and hoards again: both times exactly as many as the rules permit. */
static long try_hoard_events(struct impostor *impostor, const struct attempt *attempt)
{
    static struct hoard hoarded;
    enum victim victim = (enum victim)attempt->number;
    long got = hoard_skip(impostor, victim);

    if (got)
        return got;
    for (int i = 0; i < 2; i++) {
        got = hoard(impostor, victim, &hoarded);
        bool is_all = hoarded.n == victim_limit(impostor, victim);
        hoard_close(&hoarded);
        if (got == -ESRCH)
            return impostor_skip(impostor, "the opener does not see that process");
        if (got == -EDQUOT && !is_all)
            return -ERANGE;
    }
    return got;
}

/* The accomplice keeps the events, and the impostor closes its own descriptors. */
static long try_parked_events(struct impostor *impostor, const struct attempt *attempt)
{
    static struct hoard hoarded;
    struct order keep = {.kind = ORDER_KEEP}, drop = {.kind = ORDER_DROP};
    long got = hoard_skip(impostor, CPU), kept = 0;

    (void)attempt;
    if (got)
        return got;
    if (impostor->accomplice < 0)
        return impostor_skip(impostor, "no accomplice is running");
    got = hoard(impostor, CPU, &hoarded);
    for (size_t i = 0; i < hoarded.n && kept >= 0; i++)
        kept = helper_order(impostor->accomplice, &keep, hoarded.fds[i]);
    hoard_close(&hoarded);
    if (got == -EDQUOT && kept > 0)
        got = hoard(impostor, CPU, &hoarded);
    if (got == -EDQUOT && hoarded.n > 0)
        got = -ERANGE;
    hoard_close(&hoarded);
    helper_order(impostor->accomplice, &drop, -1);
    return kept < 0 ? kept : got;
}

static const struct attempt hoard_attempts[] = {
    {"request: unlimited CPU events", try_hoard_events, .must = MUST(EDQUOT), .number = CPU},
    {"request: unlimited cgroup events", try_hoard_events, .must = MUST(EDQUOT), .number = CGROUP},
    {"request: unlimited events of its own thread", try_hoard_events, .must = MUST(EDQUOT), .number = OWN_THREAD},
    {"request: unlimited samples of another thread", try_hoard_events, .must = MUST(EDQUOT), .number = OTHER_THREAD},
    {"request: events in addition to those that an accomplice keeps", try_parked_events, .must = MUST(EDQUOT)},
    {"request: a counter after those are closed", try_many, .must = MUST_WORK, .number = 1},
};

void hoards_run(struct impostor *impostor)
{
    impostor_try(impostor, hoard_attempts, ARRAY_SIZE(hoard_attempts));
}

/* Requests for probes in other programs, in the middle of an instruction, and in the kernel. */

#define UPROBE_REF_CTR_SHIFT 32
#define RETPROBE 1

/* Keeps the probe open for a while, so that a harmful one damages the witness. */
static long keep_a_while(long got, int fd)
{
    if (fd >= 0) {
        usleep(200000);
        close(fd);
    }
    return got;
}

static long ask_uprobe(struct impostor *impostor, uint64_t config, const char *path, uint64_t offset)
{
    int fd = -1;

    if (impostor->known.uprobe_type < 0)
        return impostor_skip(impostor, "this kernel has no uprobes");
    return keep_a_while(ask_probe(impostor, (uint32_t)impostor->known.uprobe_type, config, path, offset, &fd), fd);
}

/* Probes the witness's function `number` bytes after its start. */
static long try_victim(struct impostor *impostor, const struct attempt *attempt)
{
    return ask_uprobe(impostor, 0, impostor->known.program, impostor->known.victim_offset + attempt->number);
}

static long try_witness(struct impostor *impostor, const struct attempt *attempt)
{
    (void)attempt;
    if (!impostor->witness)
        return impostor_skip(impostor, "no root process was started before the split");
    return witness_lives(impostor->witness) ? 0 : -EFAULT;
}

static long try_uprobe(struct impostor *impostor, const struct attempt *attempt)
{
    return ask_uprobe(impostor, attempt->number, attempt->text, 0x1000);
}

const char *configured_uprobe(const struct impostor *impostor, uint64_t *ret_offset)
{
    const struct config_groups *groups = &impostor->config->cpu.groups;

    for (size_t i = 0; i < groups->n; i++)
        for (size_t k = 0; k < groups->items[i].n_events; k++) {
            const struct event *event = &groups->items[i].events[k].event;
            const char *path = NULL;
            for (size_t t = 0; t < event->n_terms; t++)
                if (str_equal(event->terms[t].name, "path"))
                    path = event->terms[t].text;
                else if (str_equal(event->terms[t].name, "offset"))
                    *ret_offset = event->terms[t].value;
            if (path && event->pmu && str_equal(event->pmu, "uprobe"))
                return path;
        }
    return NULL;
}

/* Requests the configured uprobe at another offset or with another config. */
static long try_configured(struct impostor *impostor, const struct attempt *attempt)
{
    uint64_t offset = 0;
    const char *path = configured_uprobe(impostor, &offset);

    if (!path)
        return impostor_skip(impostor, "no uprobe is configured");
    return ask_uprobe(impostor, attempt->number, path, offset + (attempt->text ? 1 : 0));
}

/* The owner of the probed program replaces it with a link to another program. */
static long try_replaced(struct impostor *impostor, const struct attempt *attempt)
{
    struct order order = {.kind = ORDER_REPLACE};
    uint64_t offset = 0;
    const char *path = configured_uprobe(impostor, &offset);

    (void)attempt;
    if (!path || impostor->accomplice < 0)
        return impostor_skip(impostor, "no uprobe is configured, or no accomplice is running");
    snprintf(order.path, sizeof(order.path), "%s", path);
    long r = helper_order(impostor->accomplice, &order, -1);
    return r < 0 ? r : ask_uprobe(impostor, 0, path, offset);
}

static long try_kprobe(struct impostor *impostor, const struct attempt *attempt)
{
    int fd = -1;

    if (impostor->known.kprobe_type < 0)
        return impostor_skip(impostor, "this kernel has no kprobes");
    return keep_a_while(
        ask_probe(impostor, (uint32_t)impostor->known.kprobe_type, attempt->number, attempt->text, 0, &fd), fd);
}

static const struct attempt probe_attempts[] = {
    {"request: a uprobe in root's process, in the middle of an instruction", try_victim, .must = REFUSED, .number = 1},
    {"root's process still runs, and its function works", try_witness, .must = MUST_WORK},
    {"request: a uprobe in /bin/sh", try_uprobe, .must = REFUSED, .text = "/bin/sh", .number = 0},
    {"request: a uprobe in /etc/shadow", try_uprobe, .must = REFUSED, .text = "/etc/shadow", .number = 0},
    {"request: the configured uprobe, one byte further on", try_configured, .must = REFUSED, .text = "further",
     .number = 0},
    {"request: the configured uprobe, as a uretprobe", try_configured, .must = REFUSED, .number = RETPROBE},
    {"request: the configured uprobe, with a reference counter in memory", try_configured, .must = REFUSED,
     .number = UINT64_C(0x2000) << UPROBE_REF_CTR_SHIFT},
    {"request: the configured uprobe, in a program that a stranger put in its place", try_replaced,
     .must = MUST(EACCES, EPERM, EROFS, EBADRQC)},
    {"request: a kprobe", try_kprobe, .must = REFUSED, .text = "vfs_read", .number = 0},
    {"request: a kretprobe", try_kprobe, .must = REFUSED, .text = "do_nanosleep", .number = RETPROBE},
};

void probe_requests_run(struct impostor *impostor)
{
    impostor_try(impostor, probe_attempts, ARRAY_SIZE(probe_attempts));
}

/* Requests for files that are never permitted, and operations on the descriptor of a permitted file. */

/* The opener refuses these with any configuration; tests/unit/test-opener-rules.c has more. */
static const char *const forbidden[] = {"/etc/shadow",
                                        "/proc/kcore",
                                        "/proc/1/mem",
                                        "/proc/1/fd/0",
                                        "/proc/1/root/tmp/../etc/shadow",
                                        "/sys/kernel/tracing",
                                        "/sys/kernel/tracing/events",
                                        "/sys/kernel/tracing/events/sched",
                                        "/sys/kernel/tracing/events/sched/sched_switch",
                                        "/sys/kernel/debug/tracing/events",
                                        "/sys/kernel/tracing/uprobe_events",
                                        "/sys/kernel/tracing/events/../trace"};

static void try_forbidden(struct impostor *impostor, const char *path)
{
    static const struct must refused = REFUSED;
    char name[320];

    snprintf(name, sizeof(name), "request: the file \"%s\"", path);
    impostor_judge(impostor, name, ask_file(impostor, path, NULL), &refused);
}

static long try_scratch_file(struct impostor *impostor, const struct attempt *attempt)
{
    char path[PATH_MAX + 32];

    if (!*impostor->known.scratch)
        return impostor_skip(impostor, "the directory with the links could not be created");
    snprintf(path, sizeof(path), "%s/%s", impostor->known.scratch, attempt->text);
    return ask_file(impostor, path, NULL);
}

static const struct attempt outside[] = {
    {"request: a link to /etc/shadow", try_scratch_file, .must = REFUSED, .text = "link"},
    {"request: a file below a link to /etc", try_scratch_file, .must = REFUSED, .text = "directory/shadow"},
};

/* Whether the opener permits these depends on the configuration. */
static const char *const listed[] = {
    "/sys/kernel/tracing/available_events",
    "/sys/kernel/tracing/events/sched/sched_switch/id",
    "/proc/kallsyms",
    "/proc/1/comm",
    "/proc/1/task",
    "/proc/1/task/1/comm",
};

static long mode_of(int fd)
{
    return (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY ? 0 : -EISDIR;
}

/* Opens a path relative to the directory with this process's own rights, as any holder of the descriptor can. */
static long open_from(int fd, const char *path, int flags)
{
    _cleanup_(closep) int opened = openat(fd, path, flags | O_CLOEXEC);

    return opened < 0 ? -errno : 0;
}

static long write_to(int fd)
{
    return write(fd, "0", 1) < 0 ? -errno : 0;
}

static long map_shared(int fd)
{
    void *area = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    if (area == MAP_FAILED)
        return -errno;
    munmap(area, 4096);
    return 0;
}

static long open_again(int fd)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    _cleanup_(closep) int opened = open(path, O_WRONLY | O_CLOEXEC);
    return opened < 0 ? -errno : 0;
}

static void judge_file(struct impostor *impostor, const char *path, const char *what, long got, const struct must *must)
{
    char name[320];

    snprintf(name, sizeof(name), "the opener's descriptor of %s: %s", path, what);
    impostor_judge(impostor, name, got, must);
}

static void try_directory(struct impostor *impostor, const char *path, int fd)
{
    static const struct must denied = MUST(EACCES, EPERM, EROFS, ENOENT);

    judge_file(impostor, path, "../mem through it", open_from(fd, "../mem", O_RDONLY), &denied);
    judge_file(impostor, path, "1/mem through it", open_from(fd, "1/mem", O_RDONLY), &denied);
}

static void try_listed(struct impostor *impostor, const char *path)
{
    static const struct must works = MUST_WORK, unwritable = MUST(EBADF, EISDIR, EINVAL),
                             unmapped = MUST(EACCES, ENODEV, EIO, EISDIR), denied = MUST(EACCES, EPERM, EROFS, EISDIR);
    _cleanup_(closep) int fd = -1;
    long got = ask_file(impostor, path, &fd);
    struct stat status;

    if (fd < 0) {
        impostor_skip(impostor, "the opener does not permit it (%s)", error_name((int)got));
        judge_file(impostor, path, "all operations", ATTEMPT_SKIPPED, NULL);
        return;
    }
    judge_file(impostor, path, "it is open for reading only", mode_of(fd), &works);
    judge_file(impostor, path, "writing", write_to(fd), &unwritable);
    judge_file(impostor, path, "mapping it for writing", map_shared(fd), &unmapped);
    judge_file(impostor, path, "opening it again for writing", open_again(fd), &denied);
    if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode))
        try_directory(impostor, path, fd);
}

void file_requests_run(struct impostor *impostor)
{
    for (size_t i = 0; i < ARRAY_SIZE(forbidden); i++)
        try_forbidden(impostor, forbidden[i]);
    impostor_try(impostor, outside, ARRAY_SIZE(outside));
    for (size_t i = 0; i < ARRAY_SIZE(listed); i++)
        try_listed(impostor, listed[i]);
    if (impostor->config->file)
        try_listed(impostor, impostor->config->file);
}

/*
 * Requests for state files of container runtimes. Other users' files and symbolic links must not be read. From a file
 * that may be read, the reader must return the names, but none of the secrets in the same file.
 */

#define OWNER 54321
#define OTHER 54322
#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define BELOW ".local/share/containers/storage/overlay-containers"
#define DOCKER "/var/lib/docker/containers/%/config.v2.json"
#define STORED "/var/lib/containers/storage/overlay-containers/containers.json"
#define THEIRS "~/" BELOW "/containers.json"
#define SECRET "the-secret"
#define ANSWER_MS 60000

/* Home directories, which root creates before the split. If `target` is set, the state file is a link to it. */

static const char stored[] =
    "[{\"id\":\"" ID "\",\"names\":[\"the-name\"],\"image\":\"" SECRET "\",\"metadata\":\"{\\\"image-name\\\":"
    "\\\"the-image\\\",\\\"name\\\":\\\"the-name\\\",\\\"env\\\":\\\"" SECRET
    "\\\"}\",\"flags\":{\"MountLabel\":\"" SECRET "\"},\"env\":[\"PASSWORD=" SECRET "\"]}]";

static const struct home {
    const char *name, *target;
    uid_t owner;
} homes[] = {
    {"good", NULL, OWNER},
    {"stepped", NULL, OWNER}, /* for stepped.c */
    {"link-to-shadow", "/etc/shadow", OWNER},
};

static void own(const char *path, uid_t owner)
{
    (void)!lchown(path, owner, owner);
}

static void make_file(const char *path, const struct home *home)
{
    _cleanup_(closep) int fd = -1;

    if (home->target) {
        (void)!symlink(home->target, path);
    } else {
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        (void)!write(fd, stored, strlen(stored));
    }
    own(path, home->owner);
}

static void make_home(const char *scratch, const struct home *home)
{
    char path[PATH_MAX];

    int n = snprintf(path, sizeof(path), "%s/%s/" BELOW "/containers.json", scratch, home->name);
    if (n < 0 || (size_t)n >= sizeof(path))
        return;
    for (char *slash = path + strlen(scratch) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        (void)!mkdir(path, 0755);
        own(path, OWNER);
        *slash = '/';
    }
    make_file(path, home);
}

void state_requests_prepare(const struct knowledge *known)
{
    for (size_t i = 0; geteuid() == 0 && *known->scratch && i < ARRAY_SIZE(homes); i++)
        make_home(known->scratch, &homes[i]);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

void state_requests_clean(const struct knowledge *known)
{
    char path[PATH_MAX];

    for (size_t i = 0; *known->scratch && i < ARRAY_SIZE(homes); i++) {
        int n = snprintf(path, sizeof(path), "%s/%s", known->scratch, homes[i].name);
        if (n > 0 && (size_t)n < sizeof(path))
            nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
}

/* Requests */

static struct state_request make_request(const char *place, uid_t user, const char *home, const char *id)
{
    struct state_request request;

    memset(&request, 0, sizeof(request));
    while (state_place(request.place) && !str_equal(state_place(request.place)->path, place))
        request.place++;
    request.user = user;
    request.ticket = 77;
    snprintf(request.home, sizeof(request.home), "%s", home);
    snprintf(request.id, sizeof(request.id), "%s", id);
    return request;
}

struct state_request state_request_of_home(const char *home, uid_t user)
{
    return make_request(THEIRS, user, home, "");
}

/* Returns 1 if the opener hands out a descriptor of the file, which it must never do. */
static long ask_state(struct impostor *impostor, const struct state_request *request)
{
    _cleanup_(buffer_done) struct buffer packet = {0};
    _cleanup_(closep) int fd = -1;
    int r = opener_request_write_state(request, &packet);
    long got = r < 0 ? r : ask_raw(impostor, packet.data, packet.size, &(struct fd_list){0}, &fd);

    return fd >= 0 ? 1 : got;
}

static long try_home(struct impostor *impostor, const struct attempt *attempt)
{
    char home[PATH_MAX];

    if (!*impostor->known.scratch || !impostor->witness)
        return impostor_skip(impostor, "only root can create other users' files");
    snprintf(home, sizeof(home), "%s/%s", impostor->known.scratch, attempt->text);
    const struct state_request request = make_request(THEIRS, (uid_t)attempt->number, home, "");
    return ask_state(impostor, &request);
}

/* The file is not read: the request is refused, there is no file or reader, or ProtectHome= hides the home. */
#define NOTHING MUST(EBADRQC, ENOENT, ENOSYS, EACCES, ENOTDIR)

static const struct attempt state_attempts[] = {
    {"state file: for another user", try_home, .must = NOTHING, .text = "good", .number = OTHER},
    {"state file: a link to /etc/shadow", try_home, .must = NOTHING, .text = "link-to-shadow", .number = OWNER},
};

/* Answers */

static bool has_text(const struct buffer *bytes, const char *text)
{
    return memmem(bytes->data, bytes->size, text, strlen(text)) != NULL;
}

int state_answer_receive(struct impostor *impostor, struct buffer *bytes)
{
    struct pollfd readable = {.fd = impostor->state_files.records, .events = POLLIN};
    char packet[NAMES_PACKET_MAX];

    while (poll(&readable, 1, ANSWER_MS) > 0) {
        ssize_t n = recv(readable.fd, packet, sizeof(packet), MSG_DONTWAIT);
        if (n < (ssize_t)sizeof(struct names_packet_header))
            return n < 0 ? -errno : -EPIPE;
        buffer_append(bytes, packet, (size_t)n);
        struct names_packet_header header;
        memcpy(&header, packet, sizeof(header));
        if (header.is_last)
            return bytes->failed ? -ENOMEM : header.error;
    }
    return -ETIMEDOUT;
}

/* The opener passes the file to the reader, whose answer must contain the name and not the secret. */
static long judge_answer(struct impostor *impostor, const struct state_request *request)
{
    _cleanup_(buffer_done) struct buffer bytes = {0};
    long got = ask_state(impostor, request);

    if (got == -ENOSYS || got == -ENOENT || got == -EACCES)
        return impostor_skip(impostor,
                             "no reader is running, the file does not exist, or it is hidden from the service");
    if (got < 0)
        return got;
    int r = state_answer_receive(impostor, &bytes);
    if (r < 0)
        return r;
    return has_text(&bytes, "the-name") && !has_text(&bytes, SECRET) ? 0 : -EPERM;
}

static long try_answer_of_home(struct impostor *impostor, const struct attempt *attempt)
{
    char home[PATH_MAX];

    if (!*impostor->known.scratch || !impostor->witness)
        return impostor_skip(impostor, "only root can create other users' files");
    snprintf(home, sizeof(home), "%s/%s", impostor->known.scratch, attempt->text);
    const struct state_request request = make_request(THEIRS, OWNER, home, "");
    return judge_answer(impostor, &request);
}

static long try_answer_of_docker(struct impostor *impostor, const struct attempt *attempt)
{
    const struct state_request request = make_request(DOCKER, 0, "", attempt->text);

    return judge_answer(impostor, &request);
}

/* The daemon itself must not be able to open the file. */
static long try_file_itself(struct impostor *impostor, const struct attempt *attempt)
{
    char path[PATH_MAX];

    (void)attempt;
    snprintf(path, sizeof(path), "%s/good/" BELOW "/containers.json", impostor->known.scratch);
    _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : 0;
}

/*
 * The reader never reads from this socket, so the loop ends when the socket's buffer is full. Only a few packets carry
 * a descriptor: the number of descriptors in flight is limited per user (unix(7)), and other tests run as the same user
 * at the same time.
 */
static long try_writing_to_reader(struct impostor *impostor, const struct attempt *attempt)
{
    const struct state_request request = make_request(STORED, 0, "", "");

    (void)attempt;
    if (impostor->state_files.records < 0)
        return impostor_skip(impostor, "no reader is running");
    for (int i = 0; i < 1000; i++) {
        int fd = i < 8 ? STDERR_FILENO : -1;
        if (fd_socket_send_one_now(impostor->state_files.records, &request, sizeof(request), fd) < 0)
            break;
    }
    return 0;
}

static const struct attempt state_answers[] = {
    {"state file: opened by the daemon itself", try_file_itself, .must = MUST(EACCES, ENOENT)},
    {"state file: packets to the reader", try_writing_to_reader, .must = MUST_WORK},
    {"state file: a user's, names without secrets", try_answer_of_home, .must = MUST_WORK, .text = "good"},
    {"state file: docker's, names without secrets", try_answer_of_docker, .must = MUST_WORK, .text = ID},
};

void state_requests_run(struct impostor *impostor)
{
    impostor_try(impostor, state_attempts, ARRAY_SIZE(state_attempts));
    impostor_try(impostor, state_answers, ARRAY_SIZE(state_answers));
}

/* Requests for BPF programs: with a file in place of a counter, and for too many at once. */

/* More BPF programs than may exist at the same time. */
#define HOARD 8
/* Limit on tries, 10 ms apart, until the kernel has freed the programs. */
#define GONE_TRIES 6000

static struct bpf_shape smallest(const struct impostor *impostor)
{
    return (struct bpf_shape){.cpus = impostor->client->rules.n_cpus, .slots = 3, .events = 1, .groups = 1};
}

static long start(struct impostor *impostor, const struct bpf_shape *shape, struct bpf_maps *ret)
{
    struct error error;
    long r = impostor->bpf.start(impostor->bpf.owner, shape, ret, &error);

    if (r < 0)
        impostor_skip(impostor, "%.250s", error.message);
    return r;
}

long bpf_start_smallest(struct impostor *impostor, struct bpf_maps *ret)
{
    const struct bpf_shape shape = smallest(impostor);

    return start(impostor, &shape, ret);
}

/* Passes the descriptor of a file in place of a counter. */
static long try_bpf_counter(struct impostor *impostor, const struct attempt *attempt)
{
    static const struct bpf_event event = {.source = SOURCE_READ, .gives_times = 1};
    _cleanup_(closep) int fd = open(attempt->text, O_RDONLY | O_CLOEXEC);
    const struct bpf_shape shape = smallest(impostor);
    struct bpf_maps maps;
    long r = start(impostor, &shape, &maps);

    if (r < 0)
        return ATTEMPT_SKIPPED;
    r = impostor->bpf.set_cpu(impostor->bpf.owner, (unsigned)attempt->number, &event, &fd);
    close(maps.counts);
    close(maps.records);
    impostor->bpf.stop(impostor->bpf.owner);
    return r;
}

/* Keeps the descriptors of each BPF program's maps open, so that the kernel cannot free the maps. */
static long try_hoard(struct impostor *impostor, const struct attempt *attempt)
{
    const struct bpf_shape shape = smallest(impostor);
    struct bpf_maps maps[HOARD];
    size_t n = 0;
    long r = 0;

    (void)attempt;
    while (n < HOARD && r == 0) {
        r = start(impostor, &shape, &maps[n]);
        n += r == 0;
    }
    for (size_t i = 0; i < n; i++) {
        close(maps[i].counts);
        close(maps[i].records);
    }
    impostor->bpf.stop(impostor->bpf.owner);
    return n == 0 ? ATTEMPT_SKIPPED : r;
}

/*
 * A new BPF program can be started once the others are freed. This takes a moment: the kernel frees a program, and with
 * it its maps, only after a grace period (bpf_prog_put()).
 */
static long try_again(struct impostor *impostor, const struct attempt *attempt)
{
    const struct bpf_shape shape = smallest(impostor);
    struct bpf_maps maps;
    long r = start(impostor, &shape, &maps);

    (void)attempt;
    for (int i = 0; i < GONE_TRIES && r == -EBUSY; i++) {
        usleep(10000);
        r = start(impostor, &shape, &maps);
    }
    if (r < 0)
        return r == -EBUSY ? r : ATTEMPT_SKIPPED;
    close(maps.counts);
    close(maps.records);
    impostor->bpf.stop(impostor->bpf.owner);
    return 0;
}

/* Once a BPF program counts cgroups, no per-cgroup events are needed, so the limit is that for CPU events alone.
 */
static long try_hoard_beside_bpf(struct impostor *impostor, const struct attempt *attempt)
{
    const struct bpf_shape shape = smallest(impostor);
    _cleanup_(closep) int directory = open_root_cgroup(impostor);
    struct bpf_maps maps;
    uint64_t id;
    long r = start(impostor, &shape, &maps);

    if (r < 0)
        return ATTEMPT_SKIPPED;
    close(maps.counts);
    close(maps.records);
    r = impostor->bpf.assign(impostor->bpf.owner, directory, BPF_SLOT_FIRST, &id);
    impostor->bpf.stop(impostor->bpf.owner);
    return r < 0 ? r : try_hoard_events(impostor, attempt);
}

void bpf_requests_run(struct impostor *impostor)
{
    static const struct attempt attempts[] = {
        {"request: a file as a counter for the BPF engine", try_bpf_counter, MUST(EINVAL, EBADF), "/proc/self/stat", 0},
        {"request: BPF programs whose descriptors are kept open", try_hoard, MUST(EBUSY), NULL, 0},
        {"request: a BPF program after those are closed", try_again, MUST_WORK, NULL, 0},
        {"request: unlimited CPU events, after a BPF program", try_hoard_beside_bpf, MUST(EDQUOT), NULL, CPU_OF_BPF},
        {"request: a counter at the end", try_many, MUST_WORK, NULL, 1},
    };

    impostor_try(impostor, attempts, ARRAY_SIZE(attempts));
}

/* Finders, which the opener starts only if it was started for samples. */

/* Starts a finder and sends it a request. Stores the finder's error in *ret_error. */
static long ask_finder(struct impostor *impostor, const void *packet, size_t size, int32_t *ret_error)
{
    union find_buffer answer;
    int ends[2], fd = -1;

    if (!sys_has_finder(&impostor->sys))
        return impostor_skip(impostor, "the opener was not started for samples");
    int r = sys_start_finder(&impostor->sys, ends);
    if (r < 0)
        return r;
    r = (int)fd_socket_send_one(ends[0], packet, size, -1);
    if (r == 0)
        r = find_request_receive(ends[1], &answer, &fd);
    if (r == 0)
        *ret_error = fd >= 0 ? 0 : answer.request.error;
    closep(&fd);
    close(ends[0]);
    close(ends[1]);
    return r;
}

/* Requests the file behind the memory that the witness shares with this process. The file has no name, like the shared
 * buffers of a database. */
static long try_shared_memory(struct impostor *impostor, const struct attempt *attempt)
{
    char bytes[sizeof(struct find_request) + 1] = "";
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)impostor->witness & ~(page - 1);
    int32_t error = 0;

    (void)attempt;
    if (!impostor->witness)
        return impostor_skip(impostor, "no root process was started before the split");
    const struct find_request request = {.magic = FIND_MAGIC,
                                         .find = FIND_MAPPED,
                                         .pid = (uint32_t)impostor->witness->pid,
                                         .start = start,
                                         .end = start + page};
    memcpy(bytes, &request, sizeof(request));
    long r = ask_finder(impostor, bytes, sizeof(bytes), &error);
    return r < 0 || r == ATTEMPT_SKIPPED ? r : error;
}

static long try_no_request(struct impostor *impostor, const struct attempt *attempt)
{
    int32_t error;

    return ask_finder(impostor, attempt->text, strlen(attempt->text), &error);
}

/* Starts more finders than permitted. Keeps their sockets open, so that no finder exits. */
static long try_many_finders(struct impostor *impostor, const struct attempt *attempt)
{
    int ends[OPENER_FINDERS_MAX + 1][2], n = 0, r = 0;

    (void)attempt;
    if (!sys_has_finder(&impostor->sys))
        return impostor_skip(impostor, "the opener was not started for samples");
    while (n <= OPENER_FINDERS_MAX && (r = sys_start_finder(&impostor->sys, ends[n])) >= 0)
        n++;
    while (n-- > 0) {
        close(ends[n][0]);
        close(ends[n][1]);
    }
    return r;
}

/* Retries until the finders have exited, which they do once their sockets are closed. */
static long try_finder_again(struct impostor *impostor, const struct attempt *attempt)
{
    long r;

    for (int i = 0; (r = try_no_request(impostor, attempt)) == -EBUSY && i < GONE_TRIES; i++)
        usleep(10000);
    return r;
}

static long try_finder_packet(struct impostor *impostor, const struct attempt *attempt)
{
    _cleanup_(buffer_done) struct buffer packet = {0};

    (void)attempt;
    if (impostor->client->rules.permissions.sampling)
        return impostor_skip(impostor, "the opener was started for samples");
    int r = opener_request_write_finder(&packet);
    return r < 0 ? r : ask_raw(impostor, packet.data, packet.size, &(struct fd_list){0}, NULL);
}

void finder_requests_run(struct impostor *impostor)
{
    static const struct attempt attempts[] = {
        {"request: a finder without the sampler", try_finder_packet, MUST(EUNATCH), NULL, 0},
        {"a finder: memory shared by processes", try_shared_memory, MUST(EBADRQC, ENOENT), NULL, 0},
        {"a finder: bytes that are not a request", try_no_request, MUST(EPIPE), "no request", 0},
        {"finders whose sockets are kept open", try_many_finders, MUST(EBUSY), NULL, 0},
        {"a finder after those have exited", try_finder_again, MUST(EPIPE), "no request", 0},
    };

    impostor_try(impostor, attempts, ARRAY_SIZE(attempts));
}
