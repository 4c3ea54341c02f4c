/* SPDX-License-Identifier: Apache-2.0 */
/* The message for each errno of perf_event_open(2) says what failed and what to do. */
#include <limits.h>

#include "perf/reason.h"
#include "tests/unit/test.h"

static const struct pmu present = {.name = (char *)"cpu"}, absent = {.name = (char *)"cpu", .absent = true};
static const struct pmu uprobe = {.name = (char *)"uprobe", .type = 7},
                        breakpoint = {.name = (char *)"breakpoint", .type = PERF_TYPE_BREAKPOINT};

/*
 * Anybody who can execute a file with CAP_PERFMON can sample every process. The command therefore restricts the file to
 * a group before it adds the capability.
 */
#define BY_GROUP                                                                                                       \
    "run it with CAP_PERFMON and so sample everybody (sudo sh -ec 'chgrp perfcountd $0; chmod 0750 $0; setcap "        \
    "cap_perfmon=ep $0' "

static const struct {
    int in_error, in_paranoid;
    const char *in_release;
    const struct pmu *in_pmu;
    const char *out_start, *out_part;
} cases[] = {
    {-ENOENT, 2, "6.1.0", &present, "no such event on this PMU (ENOENT): ", "perfcountd list-events"},
    {-ENOENT, 2, "6.1.0", &absent, "this machine offers no hardware PMU (ENOENT): ", "device tree"},
    {-EACCES, 3, "6.1.0", &present, "permission denied (EACCES): kernel.perf_event_paranoid is 3, where CAP_PERFMON",
     "does not suffice; run perfcountd with sudo, or set it to 2 (sudo sysctl kernel.perf_event_paranoid=2) and let a "
     "group " BY_GROUP "/"},
    {-EACCES, 2, "6.18.0", &uprobe, "permission denied (EACCES): run perfcountd with sudo", "CAP_SYS_ADMIN"},
    {-EACCES, 2, "5.4.0", &present, "permission denied (EACCES): kernel.perf_event_paranoid is 2",
     "with sudo (this kernel has no CAP_PERFMON), or let every user count (sudo sysctl kernel.perf_event_paranoid=0)"},
    {-EACCES, 2, "5.10.0", &present, "permission denied (EACCES): kernel.perf_event_paranoid is 2",
     "run perfcountd with sudo, let a group " BY_GROUP "/"},
    {-EACCES, 2, "5.10.0", &present, "permission denied (EACCES): kernel.perf_event_paranoid is 2",
     "/tests/unit/test-reason), or let every user count (sudo sysctl kernel.perf_event_paranoid=0)"},
    {-EACCES, INT_MIN, NULL, NULL, "permission denied (EACCES): kernel.perf_event_paranoid is unknown", "CAP_PERFMON"},
    {-ENOENT, 2, "6.1.0", &uprobe, "there is no such function or file to set a probe on (ENOENT): ", "/proc/kallsyms"},
    {-EINVAL, 2, "6.1.0", &uprobe, "no probe can be set there (EINVAL): ", "objdump"},
    {-EINVAL, 2, "6.1.0", &breakpoint, "the CPU cannot watch this memory (EINVAL): ", ":rw"},
    {-EPERM, 2, "6.1.0", &present, "not permitted (EPERM): ",
     "start a container with --cap-add=PERFMON,BPF (or SYS_ADMIN, where the runtime's filter ignores PERFMON) or "
     "with --security-opt seccomp=FILE"},
    {-ENODEV, 2, "6.1.0", &present, "the PMU cannot count here (ENODEV): ", "offline"},
    {-EOPNOTSUPP, 2, "6.1.0", &present, "the PMU does not support this (EOPNOTSUPP): ", "modifiers"},
    {-EINVAL, 2, "6.1.0", &present, "the kernel refuses these attributes (EINVAL): ", "strict group"},
    {-EMFILE, 2, "6.1.0", &present, "too many open files in this process (EMFILE): ", "LimitNOFILE"},
    {-ENFILE, 2, "6.1.0", &present, "too many open files on this machine (ENFILE): ", "fs.file-max"},
    {-EBUSY, 2, "6.1.0", &present, "the PMU is in exclusive use (EBUSY): ", "profiler"},
    {-ENOSPC, 2, "6.1.0", &present, "no counter or breakpoint slot is left (ENOSPC): ", "fewer"},
    {-ENXIO, 2, "6.1.0", &present, "the CPU is offline or does not exist (ENXIO): ", "online"},
    {-E2BIG, 2, "6.1.0", &present, "the kernel is older than these attributes (E2BIG): ", "config3"},
    {-ENOBUFS, 2, "6.1.0", &present, "the kernel is out of memory (ENOBUFS): ", "fewer"},
    {-ETOOMANYREFS, 2, "6.1.0", &present, "too many descriptors are in flight", "LimitNOFILE"},
    {-ETIMEDOUT, 2, "6.1.0", &present, "the opener does not answer (ETIMEDOUT): ", "restart perfcountd"},
    {-EPIPE, 2, "6.1.0", &present, "the opener is gone (EPIPE): ", "restart perfcountd"},
    {-EDQUOT, 2, "6.1.0", &present, "the opener's limit of open events is reached (EDQUOT): ", "restart perfcountd"},
    {-EUSERS, 2, "6.1.0", &present,
     "the opener cannot register more events with epoll (EUSERS): ", "raise fs.epoll.max_user_watches"},
    {-ENOPKG, 2, "6.1.0", &uprobe,
     "the configuration did not have this event when perfcountd started (ENOPKG): ", "restart perfcountd"},
    {-ENOPKG, 2, "6.1.0", &present, "the opener does not know this PMU (ENOPKG): ", "restart perfcountd"},
    {-ENOKEY, 2, "6.1.0", &present, "the opener opens no breakpoints (ENOKEY): ", "opener.breakpoints: true"},
    {-EBADRQC, 2, "6.1.0", &present, "the opener refuses this (EBADRQC): ", "only counting events"},
    {-EXDEV, 2, "6.1.0", &present, "the opener does not recognize this directory as a cgroup (EXDEV): ", "hierarchy"},
    {-EDOM, 2, "6.1.0", &present, "Numerical argument out of domain (EDOM)", ""},
};

TEST(test_sentences)
{
    char text[512];

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct machine machine = {.paranoid = cases[i].in_paranoid, .release = (char *)cases[i].in_release};
        reason_format(&machine, cases[i].in_pmu, cases[i].in_error, text, sizeof(text));
        print_message("%s\n", text);
        assert_true(str_starts(text, cases[i].out_start));
        assert_non_null(strstr(text, cases[i].out_part));
        assert_null(strchr(text, '%'));
    }
}

TEST(test_labels)
{
    static const struct {
        const struct pmu *in_pmu;
        int in_error;
        const char *out;
    } labels[] = {{&absent, -ENOENT, "no_pmu"}, {&absent, -EOPNOTSUPP, "no_pmu"}, {&absent, -ENODEV, "no_pmu"},
                  {&absent, -EACCES, "EACCES"}, {&present, -ENOENT, "ENOENT"},    {NULL, -ENOENT, "ENOENT"}};

    for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
        assert_string_equal(reason_label(labels[i].in_pmu, labels[i].in_error), labels[i].out);
}

/* A message that does not fit is truncated, and the buffer never overruns. */
TEST(test_short_buffer)
{
    struct machine machine = {.paranoid = 3};

    for (size_t size = 1; size < 120; size++) {
        char text[128];
        memset(text, '#', sizeof(text));
        reason_format(&machine, &present, -EACCES, text, size);
        assert_true(strlen(text) < size);
        assert_int_equal(text[size], '#');
    }
}

TEST_MAIN(NULL, NULL)
