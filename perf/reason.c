/* SPDX-License-Identifier: Apache-2.0 */
/* The causes are from perf_event_open(2) and kernel/events/core.c, and those of the opener from opener/protocol.h. */
#include "perf/reason.h"

#include <limits.h>
#include <stdio.h>

#include "perf/event.h"
#include "process/child.h"

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

static bool is_uprobe(const struct circumstances *c)
{
    return c->pmu && str_equal(c->pmu->name, "uprobe");
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

/*
 * In remedies, %d is kernel.perf_event_paranoid and %s is the path of the program. Whoever may run a file with
 * CAP_PERFMON can sample every process, so the file is given to a group first. chgrp must precede setcap, because chgrp
 * removes capabilities.
 */
#define BY_GROUP                                                                                                       \
    "let a group run it with CAP_PERFMON and so sample everybody (sudo sh -ec 'chgrp perfcountd $0; chmod 0750 $0; "   \
    "setcap cap_perfmon=ep $0' %s)"
#define ALLOW_ALL "let every user count (sudo sysctl kernel.perf_event_paranoid=0)"

static const struct {
    int error;
    bool (*applies)(const struct circumstances *c); /* NULL: always */
    const char *what;
    const char *remedy;
} reasons[] = {
    {ENOENT, is_pmu_absent, REASON_NO_PMU, REASON_NO_PMU_REMEDY},
    {EOPNOTSUPP, is_pmu_absent, REASON_NO_PMU, REASON_NO_PMU_REMEDY},
    {ENOENT, is_probe, "there is no such function or file to set a probe on",
     "kernel functions are listed in /proc/kallsyms; give the full path of a file"},
    {EINVAL, is_probe, "no probe can be set there",
     "give the offset of an instruction in the file (as objdump -F -d shows it), or a function that can be traced"},
    {EINVAL, is_breakpoint, "the CPU cannot watch this memory",
     "the address must be a multiple of the length, 1, 2, 4 or 8; x86 does not support :r alone, so give :rw; a "
     "kernel address cannot be watched with :u"},
    {ENOENT, NULL, "no such event on this PMU", "see \"perfcountd list-events\""},
    {EACCES, is_uprobe, "permission denied",
     "run perfcountd with sudo; since Linux 6.16 a uprobe needs CAP_SYS_ADMIN, and CAP_PERFMON does not suffice"},
    {EACCES, is_paranoid_debian, "permission denied",
     "kernel.perf_event_paranoid is %d, where CAP_PERFMON does not suffice; run perfcountd with sudo, or set it to 2 "
     "(sudo sysctl kernel.perf_event_paranoid=2) and " BY_GROUP},
    {EACCES, is_kernel_before_perfmon, "permission denied",
     "kernel.perf_event_paranoid is %d; run perfcountd with sudo (this kernel has no CAP_PERFMON), or " ALLOW_ALL},
    {EACCES, NULL, "permission denied",
     "kernel.perf_event_paranoid is %d; run perfcountd with sudo, " BY_GROUP ", or " ALLOW_ALL},
    {EPERM, NULL, "not permitted",
     "a system-call filter or kernel lockdown refuses perf_event_open; start a container with --cap-add=PERFMON,BPF "
     "(or SYS_ADMIN, where the runtime's filter ignores PERFMON) or with --security-opt seccomp=FILE that allows it, "
     "a service with SystemCallFilter=perf_event_open"},
    {ENODEV, NULL, "the PMU cannot count here",
     "its CPU is offline or the PMU is gone; see /sys/bus/event_source/devices"},
    {EOPNOTSUPP, NULL, "the PMU does not support this",
     "leave out modifiers that it does not support (precise, guest, hypervisor) or choose another event"},
    {EINVAL, NULL, "the kernel refuses these attributes",
     "a term or modifier is not valid for this PMU, or a strict group has more events than the PMU has counters"},
    {EMFILE, NULL, "too many open files in this process", "raise LimitNOFILE= (ulimit -n), or count fewer events"},
    {ENFILE, NULL, "too many open files on this machine", "raise fs.file-max, or count fewer events"},
    {EBUSY, NULL, "the PMU is in exclusive use", "another profiler holds it; stop it"},
    {ENOSPC, NULL, "no counter or breakpoint slot is left",
     "count fewer events of this kind, or stop the programs that hold the others"},
    {ENXIO, NULL, "the CPU is offline or does not exist",
     "see /sys/devices/system/cpu/online and /sys/devices/system/cpu/possible"},
    {E2BIG, NULL, "the kernel is older than these attributes", "leave out config3 terms and other new attributes"},
    {ENOMEM, NULL, "the kernel is out of memory", "count fewer events"},
    {EINTR, NULL, "the kernel was interrupted", "nothing needs to be done"},
    {EAGAIN, NULL, "the kernel asks to try again", "nothing needs to be done"},
    {ESRCH, NULL, "the target is gone", "nothing needs to be done"},
    {ENOBUFS, NULL, "the kernel is out of memory", "count fewer events"},
    {ETOOMANYREFS, NULL, "too many descriptors are in flight between processes of this user",
     "raise LimitNOFILE= (ulimit -n)"},
    {ETIMEDOUT, NULL, "the opener does not answer",
     "perfcountd will retry when the opener answers; if it never does, restart perfcountd"},
    {EPIPE, NULL, REASON_OPENER_GONE, REASON_OPENER_GONE_REMEDY},
    {EDQUOT, NULL, "the opener's limit of open events is reached",
     "on each CPU it allows as many as the configuration could need when perfcountd started; restart perfcountd"},
    {EUSERS, NULL, "the opener cannot register more events with epoll", "raise fs.epoll.max_user_watches"},
    {EXDEV, NULL, "the opener does not recognize this directory as a cgroup",
     "it knows only cgroups of the hierarchy that was mounted when perfcountd started; restart perfcountd"},
    {EBADRQC, is_probe, "another user could replace this program",
     "root, or one user, must own the program and all directories on its path, and nobody else may write to them"},
    {EHOSTDOWN, is_probe, "the program's file system, or a process that runs the program, does not answer",
     "perfcountd will retry; if there is never an answer, unmount that file system or kill the process"},
    {EBADRQC, NULL, "the opener refuses this",
     "it opens only counting events, and neither tracing PMUs nor kernel breakpoints"},
    {ENOPKG, is_frozen, "the configuration did not have this event when perfcountd started",
     "the opener opens only tracepoints and probes that were configured when perfcountd started; restart perfcountd"},
    {ENOPKG, NULL, "the opener does not know this PMU",
     "the PMU did not exist when perfcountd started; restart perfcountd"},
    {ENOKEY, NULL, "the opener opens no breakpoints",
     "an attacker who takes over perfcountd could move one to any address of any program; to allow the "
     "configured ones, set opener.breakpoints: true and restart perfcountd"},
    {ENOSYS, NULL, "the kernel has no perf events", "build it with CONFIG_PERF_EVENTS"},
};

/*
 * Errors that go away by themselves. ENOSPC is not one of them: the configuration asks for more breakpoints than the
 * CPU has slots.
 */
static const struct {
    int error;
    enum reason_span span;
} spans[] = {
    {EMFILE, REASON_PASSES},  {ENFILE, REASON_PASSES},       {ENOMEM, REASON_PASSES},    {EBUSY, REASON_PASSES},
    {ENOBUFS, REASON_PASSES}, {ETOOMANYREFS, REASON_PASSES}, {ETIMEDOUT, REASON_PASSES}, {EDQUOT, REASON_PASSES},
    {EUSERS, REASON_PASSES},  {EHOSTDOWN, REASON_PASSES},    {ENODEV, REASON_BRIEF},     {EINTR, REASON_BRIEF},
    {EAGAIN, REASON_BRIEF},
};

const char *reason_name(int error)
{
    return error_name(error);
}

/* An event on the placeholder PMU fails with ENODEV. */
const char *reason_label(const struct pmu *pmu, int error)
{
    bool explains = error == -ENOENT || error == -EOPNOTSUPP || error == -ENODEV;

    return pmu && pmu->absent && explains ? REASON_LABEL_NO_PMU : reason_name(error);
}

enum reason_span reason_span(int error)
{
    for (size_t i = 0; i < ARRAY_SIZE(spans); i++)
        if (spans[i].error == -error)
            return spans[i].span;
    return REASON_LASTS;
}

/* Writes the text that replaces "%d" or "%s" in a remedy. */
static void reason_fill(const struct machine *machine, char what, char *text, size_t size)
{
    if (what == 's')
        program_path(text, size);
    else if (machine->paranoid == INT_MIN)
        snprintf(text, size, "unknown");
    else
        snprintf(text, size, "%d", machine->paranoid);
}

static void reason_write(const struct machine *machine, const char *what, int error, const char *remedy, char *text,
                         size_t size)
{
    size_t n = (size_t)snprintf(text, size, "%s (%s): ", what, reason_name(error));

    while (*remedy && n < size) {
        char filled[PROGRAM_PATH_MAX + 1] = "";
        size_t plain = strcspn(remedy, "%");
        if (remedy[plain])
            reason_fill(machine, remedy[plain + 1], filled, sizeof(filled));
        n += (size_t)snprintf(text + n, size - n, "%.*s%s", (int)plain, remedy, filled);
        remedy += plain + (remedy[plain] ? 2 : 0);
    }
}

void reason_format(const struct machine *machine, const struct pmu *pmu, int error, char *text, size_t size)
{
    struct circumstances circumstances = {.machine = machine, .pmu = pmu};

    for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
        if (reasons[i].error == -error && (!reasons[i].applies || reasons[i].applies(&circumstances))) {
            reason_write(machine, reasons[i].what, error, reasons[i].remedy, text, size);
            return;
        }
    snprintf(text, size, "%s (%s)", strerror(-error), reason_name(error));
}
