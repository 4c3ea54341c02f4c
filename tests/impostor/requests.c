/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for events that the configuration does not have, and for those that nobody may have. */
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "tests/impostor/ask.h"
#include "tests/newer.h"

/* When the opener refuses it by itself. */
enum refusal { NEVER, ALWAYS, WITHOUT_SAMPLER };

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

static const struct request requests[] = {
    {"a counter of a CPU", CLOCK(.disabled = 1), -1, .refusal = NEVER},
    {"a counter of the daemon itself", CLOCK(.disabled = 1), 0, -1, .refusal = NEVER},
    {"a sample period", SAMPLED(.disabled = 1), -1, .refusal = WITHOUT_SAMPLER},
    {"samples of the process 1", SAMPLES(PERF_SAMPLE_IP), 1, -1, .refusal = WITHOUT_SAMPLER},
    {"a sample type without samples", CLOCK(.sample_type = PERF_SAMPLE_IP), -1, .refusal = ALWAYS},
    {"samples with registers of user space", SAMPLES(PERF_SAMPLE_REGS_USER), -1, .refusal = ALWAYS},
    {"samples with registers", SAMPLED(.sample_type = PERF_SAMPLE_REGS_INTR, .sample_regs_intr = 1), -1,
     .refusal = ALWAYS},
    {"samples with stacks", SAMPLED(.sample_type = PERF_SAMPLE_STACK_USER, .sample_stack_user = 1024), -1,
     .refusal = ALWAYS},
    {"samples with raw data", SAMPLES(PERF_SAMPLE_RAW), -1, .refusal = ALWAYS},
    {"samples with addresses of data", SAMPLES(PERF_SAMPLE_ADDR), -1, .refusal = ALWAYS},
    {"samples with physical addresses", SAMPLES(PERF_SAMPLE_PHYS_ADDR), -1, .refusal = ALWAYS},
    {"samples with sources of data", SAMPLES(PERF_SAMPLE_DATA_SRC), -1, .refusal = ALWAYS},
    {"samples with branches",
     SAMPLED(.sample_type = PERF_SAMPLE_BRANCH_STACK, .branch_sample_type = PERF_SAMPLE_BRANCH_ANY), -1,
     .refusal = ALWAYS},
    {"samples with AUX data", SAMPLED(.sample_type = PERF_SAMPLE_AUX, .aux_sample_size = 64), -1, .refusal = ALWAYS},
    {"samples with an unknown type", SAMPLES(UINT64_C(1) << 40), -1, .refusal = ALWAYS},
    {"samples with context switches", SAMPLED(.context_switch = 1), -1, .refusal = ALWAYS},
    {"samples with namespaces", SAMPLED(.namespaces = 1), -1, .refusal = ALWAYS},
    {"samples with cgroups", SAMPLED(.cgroup = 1), -1, .refusal = ALWAYS},
    {"samples with BPF events", SAMPLED(.bpf_event = 1), -1, .refusal = ALWAYS},
    {"samples with changes of the kernel's text", SAMPLED(.text_poke = 1), -1, .refusal = ALWAYS},
    {"samples written backward", SAMPLED(.write_backward = 1), -1, .refusal = ALWAYS},
    {"samples of guests' callchains", SAMPLED(.exclude_callchain_user = 1), -1, .refusal = ALWAYS},
    {"samples by a clock that is nobody's", SAMPLED(.use_clockid = 1, .clockid = 99), -1, .refusal = ALWAYS},
    {"sigtrap", CLOCK(.disabled = 1), 0, -1, .attr_flags = {ATTR_SIGTRAP, ATTR_REMOVE_ON_EXEC}, .refusal = ALWAYS},
    {"sigtrap with samples", SAMPLED(.disabled = 1), 1, -1, .attr_flags = {ATTR_SIGTRAP, ATTR_REMOVE_ON_EXEC},
     .refusal = ALWAYS},
    {"remove_on_exec", CLOCK(.disabled = 1), -1, .attr_flags = {ATTR_REMOVE_ON_EXEC}, .refusal = ALWAYS},
    {"enable_on_exec", CLOCK(.enable_on_exec = 1), -1, .refusal = ALWAYS},
    {"inherit", CLOCK(.inherit = 1), 0, -1, .refusal = WITHOUT_SAMPLER},
    {"inherit_stat", CLOCK(.inherit_stat = 1), 0, -1, .refusal = ALWAYS},
    {"inherit_thread", CLOCK(.disabled = 1), 0, -1, .attr_flags = {ATTR_INHERIT_THREAD}, .refusal = ALWAYS},
    {"records of mmap alone", CLOCK(.mmap = 1), -1, .refusal = ALWAYS},
    {"records of tasks alone", CLOCK(.task = 1), -1, .refusal = ALWAYS},
    {"records of the kernel's symbols alone", CLOCK(.ksymbol = 1), -1, .refusal = ALWAYS},
    {"aux_output", CLOCK(.aux_output = 1), -1, .refusal = ALWAYS},
    {"a watermark of the AUX area", CLOCK(.aux_watermark = 4096), -1, .refusal = ALWAYS},
    {"precise_ip without samples", CLOCK(.precise_ip = 1), -1, .refusal = ALWAYS},
    {"a bit that no kernel knows", CLOCK(.__reserved_1 = 1), -1, .refusal = ALWAYS},
    {"an unknown read format", CLOCK(.read_format = 1 << 20), -1, .refusal = ALWAYS},
    {"an unknown size of the attributes", {.size = 100, .type = PERF_TYPE_SOFTWARE}, -1, .refusal = ALWAYS},
    {"a size of the attributes that is none", {.size = UINT32_MAX, .type = PERF_TYPE_SOFTWARE}, -1, .refusal = ALWAYS},
    {"unknown flags", CLOCK(.disabled = 1), -1, .flags = 1UL << 10, .refusal = ALWAYS},
    {"PERF_FLAG_FD_OUTPUT", CLOCK(.disabled = 1), -1, .flags = PERF_FLAG_FD_OUTPUT, .refusal = ALWAYS},
    {"PERF_FLAG_FD_NO_GROUP", CLOCK(.disabled = 1), -1, .flags = PERF_FLAG_FD_NO_GROUP, .refusal = ALWAYS},
    {"a counter of the process 1", CLOCK(.disabled = 1), 1, -1, .refusal = ALWAYS},
    {"a counter of the process -2", CLOCK(.disabled = 1), -2, -1, .refusal = ALWAYS},
    {"a counter of the CPU -2", CLOCK(.disabled = 1), -1, -2, .refusal = ALWAYS},
    {"every process that the opener may", CLOCK(.disabled = 1), -1, -1, .refusal = ALWAYS},
    {"a type of PMU that was not there",
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
    {"a breakpoint in a process",
     {.size = sizeof(struct perf_event_attr),
      .type = PERF_TYPE_BREAKPOINT,
      .bp_type = HW_BREAKPOINT_RW,
      .bp_addr = 0x12345678,
      .bp_len = HW_BREAKPOINT_LEN_4,
      .sample_period = 1},
     1,
     -1,
     .refusal = ALWAYS},
    {"/tmp as a cgroup", CLOCK(.disabled = 1), .flags = PERF_FLAG_PID_CGROUP, .directory = "/tmp", .refusal = ALWAYS},
    {"/proc as a cgroup", CLOCK(.disabled = 1), .flags = PERF_FLAG_PID_CGROUP, .directory = "/proc", .refusal = ALWAYS},
    {"a file as a cgroup", CLOCK(.disabled = 1), .flags = PERF_FLAG_PID_CGROUP, .directory = "/dev/null",
     .refusal = ALWAYS},
};

static bool is_refused(const struct impostor *impostor, enum refusal refusal)
{
    return refusal == ALWAYS || (refusal == WITHOUT_SAMPLER && !impostor->config->sampler.enabled);
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

/* A PMU that traces, where the machine has one. */
static long try_tracer(struct impostor *impostor, const struct attempt *attempt)
{
    const struct pmu *pmu = machine_find_pmu(impostor->machine, attempt->text);
    struct perf_event_attr attr = {.size = sizeof(attr)};

    if (!pmu)
        return impostor_skip(impostor, "there is no PMU %s here", attempt->text);
    attr.type = pmu->type;
    return ask_event(impostor, &attr, -1, 0, 0, -1, -1, NULL);
}

/* Hardware events name the PMU that is meant in the upper half of their number, since Linux 5.13. */
static long try_extended(struct impostor *impostor, const struct attempt *attempt)
{
    struct perf_event_attr attr = {.size = sizeof(attr), .type = PERF_TYPE_HARDWARE};
    uint64_t type = attempt->text ? (uint64_t)impostor->known.uprobe_type : attempt->number;

    if (attempt->text && impostor->known.uprobe_type < 0)
        return impostor_skip(impostor, "this kernel has no uprobes");
    attr.config = type << 32 | (impostor->known.switch_id > 0 ? (uint64_t)impostor->known.switch_id : 1);
    return ask_event(impostor, &attr, -1, 0, 0, -1, -1, NULL);
}

/* One that is in nobody's configuration; sched_switch may be. */
static long try_tracepoint(struct impostor *impostor, const struct attempt *attempt)
{
    struct perf_event_attr attr = {.size = sizeof(attr), .type = PERF_TYPE_TRACEPOINT};
    int64_t id = str_equal(attempt->text, "near") ? impostor->known.openat_id : impostor->known.switch_id;

    if (id < 0)
        return impostor_skip(impostor, "there are no tracepoints here");
    attr.config = (uint64_t)id + attempt->number;
    attr.sample_period = str_equal(attempt->text, "sampled");
    return ask_event(impostor, &attr, -1, 0, 0, -1, -1, NULL);
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

/* A descriptor that is no counter, where a leader is wanted. */
static long try_leader(struct impostor *impostor, const struct attempt *attempt)
{
    const struct perf_event_attr attr = {
        .size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK};
    _cleanup_(closep) int fd = open(attempt->text, O_RDONLY | O_CLOEXEC);

    return fd < 0 ? impostor_skip(impostor, "it cannot be opened") : ask_event(impostor, &attr, -1, 0, 0, -1, fd, NULL);
}

/* Thousands, each answered. */
static long try_many(struct impostor *impostor, const struct attempt *attempt)
{
    const struct perf_event_attr attr = {
        .size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .disabled = 1};
    long got = 0;

    for (uint64_t i = 0; i < attempt->number && got == 0; i++)
        got = ask_event(impostor, &attr, -1, 0, 0, -1, -1, NULL);
    return got;
}

static const struct attempt attempts[] = {
    {"request: intel_pt", try_tracer, .must = REFUSED, .text = "intel_pt"},
    {"request: intel_bts", try_tracer, .must = REFUSED, .text = "intel_bts"},
    {"request: arm_spe_0", try_tracer, .must = REFUSED, .text = "arm_spe_0"},
    {"request: cs_etm", try_tracer, .must = REFUSED, .text = "cs_etm"},
    {"request: a tracepoint that is not configured", try_tracepoint, .must = REFUSED, .text = "far", .number = 1},
    {"request: the tracepoint behind sys_enter_openat", try_tracepoint, .must = REFUSED, .text = "near", .number = 1},
    {"request: the tracepoint before sys_enter_openat", try_tracepoint, .must = REFUSED, .text = "near",
     .number = UINT64_MAX},
    {"request: a tracepoint whose id has 33 bits", try_tracepoint, .must = REFUSED, .text = "near",
     .number = UINT64_C(1) << 32},
    {"request: samples of a tracepoint that is not configured", try_tracepoint, .must = REFUSED, .text = "sampled",
     .number = 1},
    {"request: a breakpoint that writing to the kernel meets", try_kernel_breakpoint, .must = REFUSED,
     .number = HW_BREAKPOINT_W},
    {"request: a breakpoint that reading the kernel meets", try_kernel_breakpoint, .must = REFUSED,
     .number = HW_BREAKPOINT_RW},
    {"request: a breakpoint in the kernel's code", try_kernel_breakpoint, .must = REFUSED, .number = HW_BREAKPOINT_X},
    {"request: a tracepoint as a hardware event", try_extended, .must = MUST(ENOENT, EINVAL, EBADRQC, ENODEV),
     .number = PERF_TYPE_TRACEPOINT},
    {"request: a breakpoint as a hardware event", try_extended, .must = MUST(ENOENT, EINVAL, EBADRQC, ENODEV),
     .number = PERF_TYPE_BREAKPOINT},
    {"request: a uprobe as a hardware event", try_extended, .must = MUST(ENOENT, EINVAL, EBADRQC, ENODEV),
     .text = "uprobe"},
    {"request: a file as the leader", try_leader, .must = MUST(EBADF, EBADRQC, EBADMSG, EINVAL), .text = "/etc/passwd"},
    {"request: a directory as the leader", try_leader, .must = MUST(EBADF, EBADRQC, EBADMSG, EINVAL), .text = "/"},
    {"request: 5,000 counters, one after the other", try_many, .must = MUST_WORK, .number = 5000},
};

void requests_run(struct impostor *impostor)
{
    for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
        try_request(impostor, &requests[i]);
    impostor_try(impostor, attempts, ARRAY_SIZE(attempts));
}
