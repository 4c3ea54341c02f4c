/* SPDX-License-Identifier: Apache-2.0 */
/* Why perf_event_open(2) refused: see reason.h. The causes are those of its man page and of kernel/events/core.c. */
#include "perf/reason.h"

#include <limits.h>
#include <stdio.h>

#include "perf/pmu-kind.h"

struct circumstances {
    const struct machine *machine;
    const struct pmu *pmu;
};

static bool is_pmu_absent(const struct circumstances *c)
{
    return c->pmu && c->pmu->absent;
}

static bool is_probe(const struct circumstances *c)
{
    return c->pmu && pmu_kind(c->pmu->name) == PMU_PROBE;
}

static bool is_breakpoint(const struct circumstances *c)
{
    return c->pmu && c->pmu->type == PERF_TYPE_BREAKPOINT;
}

static bool is_frozen(const struct circumstances *c)
{
    return c->pmu && pmu_kind(c->pmu->name) != PMU_COUNTING;
}

static bool is_paranoid_debian(const struct circumstances *c)
{
    return c->machine->paranoid >= 3;
}

static bool is_kernel_before_perfmon(const struct circumstances *c)
{
    unsigned major = 0, minor = 0;

    return c->machine->release && sscanf(c->machine->release, "%u.%u", &major, &minor) == 2 &&
           (major < 5 || (major == 5 && minor < 8));
}

/* `%d` in a remedy is kernel.perf_event_paranoid. */
static const struct {
    int error;
    bool (*applies)(const struct circumstances *c); /* NULL: always */
    const char *what;
    const char *remedy;
} reasons[] = {
    {ENOENT, is_pmu_absent, "this machine offers no hardware PMU",
     "a virtual machine needs its host to pass one on, a board a `pmu` node in its device tree"},
    {EOPNOTSUPP, is_pmu_absent, "this machine offers no hardware PMU",
     "a virtual machine needs its host to pass one on, a board a `pmu` node in its device tree"},
    {ENOENT, is_probe, "there is no such function or file to set a probe on",
     "functions of the kernel are in /proc/kallsyms; of a file give the whole path"},
    {EINVAL, is_probe, "no probe can be set there",
     "give the offset of an instruction in the file (as objdump -F -d shows it), or a function that can be traced"},
    {EINVAL, is_breakpoint, "the CPU cannot watch this memory",
     "the address must be a multiple of the length, 1, 2, 4 or 8; x86 has no :r alone, give :rw; an address of the "
     "kernel "
     "cannot be watched with :u"},
    {ENOENT, NULL, "no such event on this PMU", "see \"perfcountd list-events\""},
    {EACCES, is_paranoid_debian, "permission denied",
     "kernel.perf_event_paranoid is %d, where CAP_PERFMON does not suffice; grant CAP_SYS_ADMIN, or set it to 2 and "
     "grant "
     "CAP_PERFMON"},
    {EACCES, is_kernel_before_perfmon, "permission denied",
     "kernel.perf_event_paranoid is %d; grant CAP_SYS_ADMIN (this kernel has no CAP_PERFMON) or set it to 0"},
    {EACCES, NULL, "permission denied", "kernel.perf_event_paranoid is %d; grant CAP_PERFMON or set it to 0"},
    {EPERM, NULL, "not permitted",
     "a system-call filter (container runtime, SystemCallFilter=) or kernel lockdown refuses perf_event_open; allow it "
     "there"},
    {ENODEV, NULL, "the PMU cannot count here",
     "its CPU is offline or the PMU is gone; see /sys/bus/event_source/devices"},
    {EOPNOTSUPP, NULL, "the PMU does not support this",
     "leave out modifiers that it lacks (precise, guest, hypervisor) or choose another event"},
    {EINVAL, NULL, "the kernel refuses these attributes",
     "a term or modifier is not valid for this PMU, or a strict group has more events than the PMU has counters"},
    {EMFILE, NULL, "too many open files in this process", "raise LimitNOFILE (ulimit -n), or count fewer events"},
    {ENFILE, NULL, "too many open files on this machine", "raise fs.file-max, or count fewer events"},
    {EBUSY, NULL, "the PMU is in exclusive use", "another profiler holds it; stop it"},
    {ENOSPC, NULL, "no counter or breakpoint slot is left",
     "count fewer events of this kind, or stop what holds the others"},
    {ENXIO, NULL, "the CPU is not there",
     "it is offline or not possible on this machine; see /sys/devices/system/cpu/online"},
    {E2BIG, NULL, "the kernel is older than these attributes", "leave out config3 terms and other new attributes"},
    {ENOMEM, NULL, "the kernel is out of memory", "count fewer events"},
    {EINTR, NULL, "the kernel was interrupted", "nothing needs to be done"},
    {EAGAIN, NULL, "the kernel asks to try again", "nothing needs to be done"},
    {ESRCH, NULL, "the target is gone", "nothing needs to be done"},
    {ENOBUFS, NULL, "the kernel is out of memory", "count fewer events"},
    {ETOOMANYREFS, NULL, "too many descriptors are on their way between processes of this user",
     "raise LimitNOFILE (ulimit -n)"},
    {ETIMEDOUT, NULL, "the opener does not answer",
     "it is tried again when it does; if that is never, restart perfcountd"},
    {EPIPE, NULL, "the opener is gone", "restart perfcountd"},
    {EXDEV, NULL, "the opener does not take this directory for a cgroup",
     "it knows those below the hierarchy that was mounted when perfcountd started; restart perfcountd"},
    {EBADRQC, is_probe, "somebody could put another program in the place of this one",
     "the program and all directories on its path are to be root's, or one and the same user's, and to be written to "
     "by "
     "nobody else"},
    {EBADRQC, NULL, "the opener refuses this",
     "it opens what counts, and nothing else: no PMU that traces, no breakpoint in the kernel"},
    {ENOPKG, is_frozen, "the configuration did not have this event when perfcountd started",
     "of tracepoints and probes the opener opens those of the start; restart perfcountd"},
    {ENOPKG, NULL, "the opener does not know this PMU", "it was not there when perfcountd started; restart perfcountd"},
    {ENOKEY, NULL, "the opener gives out no breakpoints",
     "whoever takes over perfcountd could move one to any address of any program; opener.breakpoints: true of the "
     "configuration, and a restart, allow those of the configuration"},
    {ENOSYS, NULL, "the kernel has no perf events", "build it with CONFIG_PERF_EVENTS"},
};

/* What needs nobody to mend it. Breakpoint slots (ENOSPC) are short where a configuration asks for too many. */
static const struct {
    int error;
    enum reason_span span;
} spans[] = {
    {EMFILE, REASON_PASSES},  {ENFILE, REASON_PASSES},       {ENOMEM, REASON_PASSES},    {EBUSY, REASON_PASSES},
    {ENOBUFS, REASON_PASSES}, {ETOOMANYREFS, REASON_PASSES}, {ETIMEDOUT, REASON_PASSES}, {ENODEV, REASON_BRIEF},
    {EINTR, REASON_BRIEF},    {EAGAIN, REASON_BRIEF},
};

const char *reason_name(int error)
{
    const char *name = strerrorname_np(-error);

    return name ? name : "EUNKNOWN";
}

enum reason_span reason_span(int error)
{
    for (size_t i = 0; i < ARRAY_SIZE(spans); i++)
        if (spans[i].error == -error)
            return spans[i].span;
    return REASON_LASTS;
}

void reason_format(const struct machine *machine, const struct pmu *pmu, int error, char *text, size_t size)
{
    struct circumstances circumstances = {.machine = machine, .pmu = pmu};

    for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
        if (reasons[i].error != -error || (reasons[i].applies && !reasons[i].applies(&circumstances)))
            continue;
        const char *number = strstr(reasons[i].remedy, "%d");
        size_t before = number ? (size_t)(number - reasons[i].remedy) : strlen(reasons[i].remedy);
        int n =
            snprintf(text, size, "%s (%s): %.*s", reasons[i].what, reason_name(error), (int)before, reasons[i].remedy);
        if (number && n >= 0 && (size_t)n < size && machine->paranoid == INT_MIN)
            snprintf(text + n, size - (size_t)n, "unknown%s", number + 2);
        else if (number && n >= 0 && (size_t)n < size)
            snprintf(text + n, size - (size_t)n, "%d%s", machine->paranoid, number + 2);
        return;
    }
    snprintf(text, size, "%s (%s)", strerror(-error), reason_name(error));
}
