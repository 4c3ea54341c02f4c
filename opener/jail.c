/* SPDX-License-Identifier: Apache-2.0 */
/* The jail of the opener: see jail.h. */
#include "opener/jail.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/process/capabilities.h"
#include "base/process/fd.h"
#include "base/process/jail.h"

/*
 * The capabilities that opening needs. CAP_DAC_READ_SEARCH: the numbers of tracepoints, which only root may read, and
 * programs that not everybody may read. Samples need CAP_SYS_PTRACE for what processes have mapped (CAP_SYS_ADMIN for
 * the mapped files themselves) and CAP_SYSLOG for the addresses of the kernel's functions.
 */
static const struct {
    unsigned capability;
    bool only_sampling;
} kept[] = {
    {CAP_PERFMON, false},   {CAP_SYS_ADMIN, false}, {CAP_DAC_READ_SEARCH, false},
    {CAP_SYS_PTRACE, true}, {CAP_SYSLOG, true},
};

static int capabilities_keep_needed(bool sampling, struct error *error)
{
    uint64_t mask = 0;

    for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
        if (sampling || !kept[i].only_sampling)
            mask |= UINT64_C(1) << kept[i].capability;
    return capabilities_keep_only(mask & capabilities_own(), error);
}

/* Signals */

static int end_with(pid_t parent, struct error *error)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return error_set(error, -errno, "cannot tie the opener's life to the daemon's: %s", strerror(errno));
    return getppid() == parent ? 0 : error_set(error, -ESRCH, "the daemon has ended");
}

/* System calls */

/* The calls of server.c, then those that libc and a sanitizer make by themselves. */
static const struct call_rule calls_of_all[] = {
    {SCMP_SYS(recvmsg), 0, {{0}}},
    {SCMP_SYS(sendmsg), 0, {{0}}},
    {SCMP_SYS(perf_event_open), 0, {{0}}},
    {SCMP_SYS(ioctl), 1, {{1, SCMP_CMP_MASKED_EQ, UINT32_MAX, PERF_EVENT_IOC_SET_FILTER}}},
    {SCMP_SYS(close), 0, {{0}}},
    {SCMP_SYS(openat), 1, {{2, SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY}}},
    {SCMP_SYS(open), 1, {{1, SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY}}},
    {SCMP_SYS(fstat), 0, {{0}}},
    {SCMP_SYS(fstat64), 0, {{0}}},
    {SCMP_SYS(newfstatat), 0, {{0}}},
    {SCMP_SYS(fstatat64), 0, {{0}}},
    {SCMP_SYS(statx), 0, {{0}}},
    {SCMP_SYS(fstatfs), 0, {{0}}},
    {SCMP_SYS(fstatfs64), 0, {{0}}},
    {SCMP_SYS(readlink), 0, {{0}}},
    {SCMP_SYS(readlinkat), 0, {{0}}},
    {SCMP_SYS(write), 1, {{0, SCMP_CMP_EQ, STDERR_FILENO, 0}}},
    {SCMP_SYS(sigaltstack), 0, {{0}}}, /* AddressSanitizer, when it ends */
    {SCMP_SYS(exit), 0, {{0}}},
    {SCMP_SYS(exit_group), 0, {{0}}},
    {SCMP_SYS(restart_syscall), 0, {{0}}},
    {SCMP_SYS(rt_sigreturn), 0, {{0}}},
    {SCMP_SYS(futex), 0, {{0}}},
    {SCMP_SYS(brk), 0, {{0}}},
    {SCMP_SYS(mmap), 1, {{2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0}}},
    {SCMP_SYS(mmap2), 1, {{2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0}}},
    {SCMP_SYS(munmap), 0, {{0}}},
    {SCMP_SYS(madvise), 0, {{0}}},
    {SCMP_SYS(getpid), 0, {{0}}},
    {SCMP_SYS(gettid), 0, {{0}}},
    {SCMP_SYS(sched_yield), 0, {{0}}},
};

/* The calls of executable.c and perf/files/jit-map.c. */
static const struct call_rule calls_of_sampling[] = {
    {SCMP_SYS(read), 0, {{0}}},
};

/* Any other call fails and ends nothing, so that a libc which makes more calls than these still works. */
static int opener_filter_calls(bool sampling, bool *ret_filtered, struct error *error)
{
    scmp_filter_ctx context = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    /* Otherwise libseccomp reports every failure of the kernel with the same error. */
    int r = context ? seccomp_attr_set(context, SCMP_FLTATR_API_SYSRAWRC, 1) : -ENOMEM;

    if (r == 0)
        r = call_filter_allow(context, calls_of_all, ARRAY_SIZE(calls_of_all));
    if (r == 0 && sampling)
        r = call_filter_allow(context, calls_of_sampling, ARRAY_SIZE(calls_of_sampling));
    return call_filter_load(context, r, ret_filtered, error);
}

int opener_jail_enter(int socket, int reader, pid_t parent, bool sampling, uint64_t *ret_capabilities,
                      bool *ret_filtered, struct error *error)
{
    const int sockets[] = {socket, reader}; /* -1 is no descriptor, and stays none */
    int r = fd_keep_only(sockets, ARRAY_SIZE(sockets));

    if (r < 0)
        return error_set(error, r, "cannot close descriptors: %s", strerror(-r));
    jail_drop_signals();
    signal(SIGALRM, SIG_IGN);
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return error_set(error, -errno, "cannot protect the opener's memory: %s", strerror(errno));
    r = capabilities_keep_needed(sampling, error);
    if (r == 0)
        r = end_with(parent, error);
    if (r < 0)
        return r;
    *ret_capabilities = capabilities_own();
    return opener_filter_calls(sampling, ret_filtered, error);
}
