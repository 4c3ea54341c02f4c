/* SPDX-License-Identifier: Apache-2.0 */
#include "process/sandbox.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compat.h"
#include "base/file.h"
#include "process/privileges.h"

/* --- system-call filters --- */

int call_filter_allow(scmp_filter_ctx context, const struct call_rule *rules, size_t n)
{
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++)
        r = seccomp_rule_add_array(context, SCMP_ACT_ALLOW, rules[i].number, rules[i].n, rules[i].arguments);
    return r;
}

int call_filter_load(scmp_filter_ctx context, int r, bool *ret_filtered, struct error *error)
{
    if (r == 0)
        r = seccomp_load(context);
    seccomp_release(context);
    *ret_filtered = r == 0;
    if (r == 0 || r == -EINVAL || r == -ENOSYS) /* EINVAL, ENOSYS: a kernel without filters */
        return 0;
    return error_set(error, r, "cannot filter system calls: %s", strerror(-r));
}

/* --- jail --- */

/* AddressSanitizer cannot run with memory limits, so they are skipped for it. */
static int limit(const struct jail_limit *limits, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        __rlimit_resource_t resource = (__rlimit_resource_t)limits[i].resource;
        struct rlimit both;
        if (HAS_ASAN && (limits[i].resource == RLIMIT_AS || limits[i].resource == RLIMIT_DATA))
            continue;
        if (getrlimit(resource, &both) < 0)
            return -errno;
        both.rlim_cur = both.rlim_max = MIN(both.rlim_max, limits[i].value); /* RLIM_INFINITY is the largest value */
        if (setrlimit(resource, &both) < 0)
            return -errno;
    }
    return 0;
}

static bool is_root(void)
{
    uid_t real, effective, saved;

    return getresuid(&real, &effective, &saved) < 0 || real == 0 || effective == 0 || saved == 0;
}

/* The order matters: changing the user drops CAP_SETGID, which setgroups(2) and setresgid(2) need. */
static int leave_root(void)
{
    if (!is_root())
        return 0;
    if (setgroups(0, NULL) < 0 || setresgid(JAIL_USER, JAIL_USER, JAIL_USER) < 0 ||
        setresuid(JAIL_USER, JAIL_USER, JAIL_USER) < 0)
        return -errno;
    return is_root() ? -EPERM : 0;
}

static int give_up_privileges(void)
{
    int r = capabilities_empty_bounding_set(NULL); /* before leave_root(), which drops CAP_SETPCAP */

    if (r == 0)
        r = leave_root();
    if (r == 0)
        r = capabilities_keep_only(0, NULL);
    /* After the change of user, which resets both. */
    if (r == 0 && (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0))
        r = -errno;
    return r;
}

/*
 * Allowed in every jail. Other system calls fail with EPERM instead of killing the process, so that a library that
 * tries an unexpected call gets an error. Some entries are for 32-bit architectures or newer C libraries; libseccomp
 * skips those that the architecture lacks.
 *
 * C libraries implement fstat(3) with newfstatat() or statx() and AT_EMPTY_PATH. A filter cannot check that the path is
 * empty, so a jailed process can find out which files exist.
 */
static const struct call_rule calls_of_all[] = {
    {SCMP_SYS(read), 0, {{0}}},
    {SCMP_SYS(pread64), 0, {{0}}},
    {SCMP_SYS(lseek), 0, {{0}}},
    {SCMP_SYS(_llseek), 0, {{0}}},
    {SCMP_SYS(fstat), 0, {{0}}},
    {SCMP_SYS(fstat64), 0, {{0}}},
    {SCMP_SYS(newfstatat), 1, {CALL_EXACTLY(3, AT_EMPTY_PATH)}},
    {SCMP_SYS(fstatat64), 1, {CALL_EXACTLY(3, AT_EMPTY_PATH)}},
    {SCMP_SYS(statx), 1, {{2, SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, AT_EMPTY_PATH}}},
    {SCMP_SYS(close), 0, {{0}}},
    {SCMP_SYS(fcntl), 1, {CALL_EXACTLY(1, F_GETFD)}},
    {SCMP_SYS(fcntl), 1, {CALL_EXACTLY(1, F_GETFL)}},
    {SCMP_SYS(fcntl64), 1, {CALL_EXACTLY(1, F_GETFD)}},
    {SCMP_SYS(fcntl64), 1, {CALL_EXACTLY(1, F_GETFL)}},
    {SCMP_SYS(mmap), 1, {CALL_WITHOUT(2, PROT_EXEC)}},
    {SCMP_SYS(mmap2), 1, {CALL_WITHOUT(2, PROT_EXEC)}},
    {SCMP_SYS(mprotect), 1, {CALL_WITHOUT(2, PROT_EXEC)}},
    {SCMP_SYS(munmap), 0, {{0}}},
    {SCMP_SYS(mremap), 0, {{0}}},
    {SCMP_SYS(madvise), 0, {{0}}},
    {SCMP_SYS(brk), 0, {{0}}},
    {SCMP_SYS(alarm), 0, {{0}}},
    {SCMP_SYS(setitimer), 0, {{0}}},
    {SCMP_SYS(getrandom), 0, {{0}}},
    {SCMP_SYS(futex), 0, {{0}}},
    {SCMP_SYS(futex_time64), 0, {{0}}},
    {SCMP_SYS(restart_syscall), 0, {{0}}},
    {SCMP_SYS(rt_sigreturn), 0, {{0}}},
    {SCMP_SYS(sigreturn), 0, {{0}}},
    {SCMP_SYS(exit), 0, {{0}}},
    {SCMP_SYS(exit_group), 0, {{0}}},
};

/* Needed by AddressSanitizer for its reports and at exit. */
static const struct call_rule calls_of_asan[] = {
    {SCMP_SYS(write), 1, {CALL_EXACTLY(0, STDERR_FILENO)}},
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
        {SCMP_SYS(recvmsg), 1, {CALL_EXACTLY(0, (scmp_datum_t)socket)}},
        {SCMP_SYS(sendmsg), 1, {CALL_EXACTLY(0, (scmp_datum_t)socket)}},
    };

    return call_filter_allow(filter, messages, ARRAY_SIZE(messages));
}

/* seccomp(2): with a NULL filter, a kernel with filters fails with EFAULT, and others with EINVAL. */
static bool kernel_has_filters(void)
{
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) == 0 || errno == EFAULT;
}

static int jail_filter_calls(const struct jail *jail)
{
    if (!kernel_has_filters())
        return 0;
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int r = filter ? call_filter_allow(filter, calls_of_all, ARRAY_SIZE(calls_of_all)) : -ENOMEM;
    if (r == 0)
        r = call_filter_allow(filter, jail->calls, jail->n_calls);
    for (size_t i = 0; i < jail->n_sockets && r == 0; i++)
        r = allow_messages(filter, jail->sockets[i]);
    if (r == 0 && HAS_ASAN)
        r = call_filter_allow(filter, calls_of_asan, ARRAY_SIZE(calls_of_asan));
    bool filtered = false;
    r = call_filter_load(filter, r, &filtered, NULL);
    return r < 0 || filtered ? r : -EINVAL;
}

int jail_enter(const struct jail *jail)
{
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* a growing array would occupy 2 MB as soon as it is touched */
    int r = fd_keep_only(jail->sockets, jail->n_sockets);
    if (r == 0)
        r = limit(jail->limits, jail->n_limits);
    if (r == 0)
        r = give_up_privileges();
    return r == 0 ? jail_filter_calls(jail) : r;
}

/*
 * The filter is written by hand because libseccomp takes a thousand times as long, and allocates. It does not check the
 * architecture: the jail's filter already does. Jump offsets count the instructions to the final return of EPERM.
 */
int jail_forbid_processes(void)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef SYS_fork
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fork, 6, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_vfork, 5, 0),
#endif
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_kill, 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    const struct sock_fprog filter = {.len = ARRAY_SIZE(program), .filter = program};

    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) < 0 && errno != EINVAL)
        return -errno;
    return 0;
}

void jail_drop_signals(void)
{
    static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGUSR1, SIGUSR2, SIGTSTP};

    for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
        signal(ignored[i], SIG_IGN);
}
