/* SPDX-License-Identifier: Apache-2.0 */
/* The symboliser's jail: see jail.h. */
#include "symbols/symboliser/jail.h"

#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/newer.h"
#include "base/process/call-filter.h"
#include "base/process/capabilities.h"
#include "base/sanitizer.h"
#include "symbols/symboliser/symbol-table.h"

#define NOBODY 65534

/* Limits */

static int limit(void)
{
    static const struct {
        int resource;
        rlim_t value;
    } limits[] = {
        {RLIMIT_AS, HAS_ASAN ? RLIM_INFINITY : (rlim_t)1 << 30},
        {RLIMIT_CORE, 0},
        {RLIMIT_FSIZE, SYMBOL_TABLE_SIZE_MAX},
        {RLIMIT_NOFILE, 32},
    };

    for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
        __rlimit_resource_t resource = (__rlimit_resource_t)limits[i].resource;
        struct rlimit both;
        if (getrlimit(resource, &both) < 0)
            return -errno;
        both.rlim_cur = both.rlim_max = MIN(both.rlim_max, limits[i].value); /* RLIM_INFINITY is the largest */
        if (setrlimit(resource, &both) < 0)
            return -errno;
    }
    return 0;
}

/* Users and capabilities */

static bool is_root(void)
{
    uid_t real, effective, saved;

    return getresuid(&real, &effective, &saved) < 0 || real == 0 || effective == 0 || saved == 0;
}

/* Supplementary groups first, then the group, then the user: each step needs the power that the next one takes. */
static int leave_root(void)
{
    if (!is_root())
        return 0;
    if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0)
        return -errno;
    return is_root() ? -EPERM : 0;
}

static int give_up_privileges(void)
{
    int r = capabilities_empty_bounding_set(NULL); /* before leave_root(), which takes CAP_SETPCAP */

    if (r == 0)
        r = leave_root();
    if (r == 0)
        r = capabilities_keep_only(0, NULL);
    /* After the change of user, which sets the first and clears the second. */
    if (r == 0 && (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0))
        r = -errno;
    return r;
}

/* System calls */

#define EXACTLY(n, value)                                                                                              \
    {                                                                                                                  \
        n, SCMP_CMP_EQ, value, 0                                                                                       \
    }
#define WITHOUT(n, bits)                                                                                               \
    {                                                                                                                  \
        n, SCMP_CMP_MASKED_EQ, bits, 0                                                                                 \
    }

/*
 * The system calls that are allowed. Others fail with EPERM, so that a library that tries more than was foreseen does
 * no harm. Some are for 32 bits, or for a newer C library; those that an architecture does not have are skipped.
 *
 * fstat(3) is newfstatat() or statx() with AT_EMPTY_PATH. A filter cannot see that the path is empty, so the process
 * can find out by them which files exist.
 */
static const struct call_rule calls[] = {
    {SCMP_SYS(read), 0, {{0}}},
    {SCMP_SYS(pread64), 0, {{0}}},
    {SCMP_SYS(lseek), 0, {{0}}},
    {SCMP_SYS(_llseek), 0, {{0}}},
    {SCMP_SYS(fstat), 0, {{0}}},
    {SCMP_SYS(fstat64), 0, {{0}}},
    {SCMP_SYS(newfstatat), 1, {EXACTLY(3, AT_EMPTY_PATH)}},
    {SCMP_SYS(fstatat64), 1, {EXACTLY(3, AT_EMPTY_PATH)}},
    {SCMP_SYS(statx), 1, {{2, SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, AT_EMPTY_PATH}}},
    {SCMP_SYS(close), 0, {{0}}},
    {SCMP_SYS(dup), 0, {{0}}},
    {SCMP_SYS(fcntl), 1, {EXACTLY(1, F_GETFD)}},
    {SCMP_SYS(fcntl), 1, {EXACTLY(1, F_GETFL)}},
    {SCMP_SYS(fcntl), 1, {EXACTLY(1, F_ADD_SEALS)}},
    {SCMP_SYS(fcntl64), 1, {EXACTLY(1, F_GETFD)}},
    {SCMP_SYS(fcntl64), 1, {EXACTLY(1, F_GETFL)}},
    {SCMP_SYS(fcntl64), 1, {EXACTLY(1, F_ADD_SEALS)}},
    {SCMP_SYS(memfd_create), 0, {{0}}},
    {SCMP_SYS(ftruncate), 0, {{0}}},
    {SCMP_SYS(ftruncate64), 0, {{0}}},
    {SCMP_SYS(mmap), 1, {WITHOUT(2, PROT_EXEC)}},
    {SCMP_SYS(mmap2), 1, {WITHOUT(2, PROT_EXEC)}},
    {SCMP_SYS(mprotect), 1, {WITHOUT(2, PROT_EXEC)}},
    {SCMP_SYS(munmap), 0, {{0}}},
    {SCMP_SYS(mremap), 0, {{0}}},
    {SCMP_SYS(madvise), 0, {{0}}},
    {SCMP_SYS(brk), 0, {{0}}},
    {SCMP_SYS(prlimit64), 2, {EXACTLY(0, 0), EXACTLY(1, RLIMIT_DATA)}},
    {SCMP_SYS(alarm), 0, {{0}}},
    {SCMP_SYS(setitimer), 0, {{0}}},
    {SCMP_SYS(sysinfo), 0, {{0}}}, /* qsort(3) asks how much memory there is */
    {SCMP_SYS(getrandom), 0, {{0}}},
    {SCMP_SYS(futex), 0, {{0}}},
    {SCMP_SYS(futex_time64), 0, {{0}}},
    {SCMP_SYS(restart_syscall), 0, {{0}}},
    {SCMP_SYS(rt_sigreturn), 0, {{0}}},
    {SCMP_SYS(sigreturn), 0, {{0}}},
    {SCMP_SYS(exit), 0, {{0}}},
    {SCMP_SYS(exit_group), 0, {{0}}},
};

/* Of AddressSanitizer, when it reports or ends. */
static const struct call_rule calls_of_asan[] = {
    {SCMP_SYS(write), 1, {EXACTLY(0, STDERR_FILENO)}},
    {SCMP_SYS(sigaltstack), 0, {{0}}},
    {SCMP_SYS(rt_sigaction), 0, {{0}}},
    {SCMP_SYS(rt_sigprocmask), 0, {{0}}},
    {SCMP_SYS(sched_yield), 0, {{0}}},
    {SCMP_SYS(getpid), 0, {{0}}},
    {SCMP_SYS(gettid), 0, {{0}}},
};

static int allow_messages(scmp_filter_ctx filter, int socket)
{
    const struct call_rule messages[] = {
        {SCMP_SYS(recvmsg), 1, {EXACTLY(0, (scmp_datum_t)socket)}},
        {SCMP_SYS(sendmsg), 1, {EXACTLY(0, (scmp_datum_t)socket)}},
    };

    return call_filter_allow(filter, messages, ARRAY_SIZE(messages));
}

/* seccomp(2): a kernel that has filters looks for this one, at an address where there is none. */
static bool kernel_has_filters(void)
{
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) == 0 || errno == EFAULT;
}

static int jail_filter_calls(int socket)
{
    if (!kernel_has_filters())
        return 0;
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int r = filter ? call_filter_allow(filter, calls, ARRAY_SIZE(calls)) : -ENOMEM;
    if (r == 0)
        r = allow_messages(filter, socket);
    if (r == 0 && HAS_ASAN)
        r = call_filter_allow(filter, calls_of_asan, ARRAY_SIZE(calls_of_asan));
    bool filtered = false;
    r = call_filter_load(filter, r, &filtered, NULL);
    return r < 0 || filtered ? r : -EINVAL;
}

int symboliser_jail_enter(int socket)
{
    syscall(SYS_close_range, (unsigned)socket + 1, UINT_MAX, 0);
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* arrays that double would have 2 MB at once where they touch some */
    int r = limit();
    if (r == 0)
        r = give_up_privileges();
    return r == 0 ? jail_filter_calls(socket) : r;
}
