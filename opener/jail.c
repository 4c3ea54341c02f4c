/* SPDX-License-Identifier: Apache-2.0 */
#include "opener/jail.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/compat.h"
#include "base/file.h"
#include "bpf/program.h"
#include "process/privileges.h"
#include "process/sandbox.h"

/* The purpose of a capability or of a set of system calls. */
enum jail_purpose { ALWAYS, SAMPLING, OF_BPF, FORKING, N_PURPOSES };

static bool has_purpose(const struct opener_permissions *permissions, enum jail_purpose purpose)
{
    switch (purpose) {
    case SAMPLING:
        return permissions->sampling;
    case OF_BPF:
        return permissions->bpf_slots;
    case FORKING: /* finders, loaders of BPF programs, and children that open users' files or uprobes */
        return permissions->sampling || permissions->bpf_slots || permissions->state_files || permissions->uprobes;
    case ALWAYS:
    case N_PURPOSES:
        break;
    }
    return true;
}

/*
 * The capabilities that opening needs. If this process lacks one with `replaces_admin`, because the kernel or whoever
 * started the process does not know it, CAP_SYS_ADMIN takes its place.
 */
static const struct {
    unsigned capability;
    enum jail_purpose purpose;
    bool replaces_admin;
} kept[] = {
    {CAP_PERFMON, ALWAYS, true},              /* Linux 5.8: suffices for all events unless opener_rules.needs_admin */
    {CAP_DAC_READ_SEARCH, ALWAYS, false},     /* tracefs is root's, and not every program is readable for everybody */
    {CAP_SYS_PTRACE, SAMPLING, false},        /* what processes have mapped */
    {CAP_CHECKPOINT_RESTORE, SAMPLING, true}, /* Linux 5.9: and the mapped files themselves */
    {CAP_SYSLOG, SAMPLING, false},            /* the addresses of the kernel's functions */
    {CAP_BPF, OF_BPF, true},                  /* Linux 5.8: a BPF program; it needs CAP_PERFMON as well */
};

uint64_t opener_jail_capabilities(const struct opener_rules *rules, uint64_t own)
{
    uint64_t mask = 0;
    bool needs_admin = rules->needs_admin;

    for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
        uint64_t bit = UINT64_C(1) << kept[i].capability;
        if (!has_purpose(&rules->permissions, kept[i].purpose))
            continue;
        mask |= bit;
        needs_admin |= kept[i].replaces_admin && !(own & bit);
    }
    if (needs_admin)
        mask |= UINT64_C(1) << CAP_SYS_ADMIN;
    return mask & own;
}

/*
 * Raises RLIMIT_MEMLOCK: kernels before 5.11 count maps and programs as locked memory. It takes CAP_SYS_RESOURCE or a
 * sufficient hard limit; if it fails, loading the program reports it.
 */
static void raise_locked_memory(void)
{
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

    if (setrlimit(RLIMIT_MEMLOCK, &limit) == 0 || getrlimit(RLIMIT_MEMLOCK, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_MEMLOCK, &limit);
}

/* Lets the opener end with the daemon, and fails if the daemon has ended before. */
static int end_with(pid_t parent, struct error *error)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return error_set(error, -errno, "cannot tie the opener's life to the daemon's: %s", strerror(errno));
    return getppid() == parent ? 0 : error_set(error, -ESRCH, "the daemon has ended");
}

/* --- System calls --- */

/* The calls of opener/opener-server.c, then those that libc and a sanitizer make by themselves. */
static const struct call_rule calls_of_all[] = {
    {SCMP_SYS(recvmsg), 0, {{0}}},
    {SCMP_SYS(sendmsg), 0, {{0}}},
    {SCMP_SYS(perf_event_open), 0, {{0}}},
    {SCMP_SYS(ioctl), 1, {{1, SCMP_CMP_MASKED_EQ, UINT32_MAX, PERF_EVENT_IOC_SET_FILTER}}},
    {SCMP_SYS(ioctl), 1, {{1, SCMP_CMP_MASKED_EQ, UINT32_MAX, PERF_EVENT_IOC_ENABLE}}},
    {SCMP_SYS(close), 0, {{0}}},
    {SCMP_SYS(epoll_ctl), 1, {CALL_EXACTLY(1, EPOLL_CTL_ADD)}}, /* opener/quota.c */
    {SCMP_SYS(pread64), 0, {{0}}},
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
    {SCMP_SYS(sigaltstack), 0, {{0}}}, /* AddressSanitizer, at exit */
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

#define BPF_COMMAND(command)                                                                                           \
    {                                                                                                                  \
        SCMP_SYS(bpf), 1,                                                                                              \
        {                                                                                                              \
            {                                                                                                          \
                0, SCMP_CMP_MASKED_EQ, UINT32_MAX, command                                                             \
            }                                                                                                          \
        }                                                                                                              \
    }
/* The bits of the flags of clone(2) that must equal SIGCHLD, as when fork(3) calls it: no thread, no namespace. */
#define FORK_FLAGS ((uint64_t)UINT32_MAX & ~(uint64_t)(CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID))

/*
 * The system calls of an opener that forks, and of its children: of process/finder.c, process/stragglers.c,
 * bpf/loader.c and opener/opener-server.c.
 */
static const struct call_rule calls_of_forking[] = {
    {SCMP_SYS(read), 0, {{0}}},
    {SCMP_SYS(socketpair), 0, {{0}}},
    {SCMP_SYS(clone), 1, {{0, SCMP_CMP_MASKED_EQ, FORK_FLAGS, SIGCHLD}}},
    {SCMP_SYS(wait4), 0, {{0}}},
    {SCMP_SYS(waitpid), 0, {{0}}},
    {SCMP_SYS(pidfd_open), 0, {{0}}},
    {SCMP_SYS(poll), 0, {{0}}},
    {SCMP_SYS(ppoll), 0, {{0}}},
    {SCMP_SYS(ppoll_time64), 0, {{0}}},
    {SCMP_SYS(kill), 1, {CALL_EXACTLY(1, SIGKILL)}},
    {SCMP_SYS(clock_gettime), 0, {{0}}}, /* called if the vDSO does not provide it */
    {SCMP_SYS(clock_gettime64), 0, {{0}}},
    {SCMP_SYS(prctl), 1, {CALL_EXACTLY(0, PR_SET_PDEATHSIG)}},
    {SCMP_SYS(prctl), 1, {CALL_EXACTLY(0, PR_SET_NAME)}},
    {SCMP_SYS(getppid), 0, {{0}}},
    {SCMP_SYS(close_range), 0, {{0}}},
    {SCMP_SYS(set_robust_list), 0, {{0}}},
    {SCMP_SYS(rseq), 0, {{0}}},
    {SCMP_SYS(rt_sigprocmask), 0, {{0}}},
};

/* An argument that must be -1, an id to leave as it is: setresuid(2) may only make root the real user. */
#define NO_ID(n)                                                                                                       \
    {                                                                                                                  \
        n, SCMP_CMP_MASKED_EQ, UINT32_MAX, UINT32_MAX                                                                  \
    }

/*
 * The calls of the loader in bpf/, and of its child, in which libbpf loads the program. Nothing can be mapped as
 * executable: libbpf is in memory before the filter is loaded (libbpf_preload()). The commands of bpf(2) that find, pin
 * or attach what others loaded are left out.
 */
static const struct call_rule calls_of_bpf[] = {
    BPF_COMMAND(BPF_MAP_UPDATE_ELEM),
    BPF_COMMAND(BPF_MAP_DELETE_ELEM),
    BPF_COMMAND(BPF_PROG_TEST_RUN),
    BPF_COMMAND(BPF_RAW_TRACEPOINT_OPEN),
    {SCMP_SYS(name_to_handle_at), 0, {{0}}},
    {SCMP_SYS(fcntl), 1, {CALL_EXACTLY(1, F_DUPFD_CLOEXEC)}},
    {SCMP_SYS(fcntl64), 1, {CALL_EXACTLY(1, F_DUPFD_CLOEXEC)}},
    /* the child */
    BPF_COMMAND(BPF_BTF_LOAD),
    BPF_COMMAND(BPF_MAP_CREATE),
    BPF_COMMAND(BPF_MAP_FREEZE),
    BPF_COMMAND(BPF_PROG_LOAD),
    BPF_COMMAND(BPF_OBJ_GET_INFO_BY_FD),
    {SCMP_SYS(prctl), 1, {CALL_EXACTLY(0, PR_CAPBSET_READ)}},
    {SCMP_SYS(capget), 0, {{0}}},
    {SCMP_SYS(setresuid), 2, {CALL_EXACTLY(0, 0), NO_ID(1)}},
    {SCMP_SYS(setresuid32), 2, {CALL_EXACTLY(0, 0), NO_ID(1)}},
    {SCMP_SYS(setrlimit), 1, {CALL_EXACTLY(0, RLIMIT_MEMLOCK)}},
    {SCMP_SYS(getrlimit), 1, {CALL_EXACTLY(0, RLIMIT_MEMLOCK)}},
    {SCMP_SYS(ugetrlimit), 1, {CALL_EXACTLY(0, RLIMIT_MEMLOCK)}},
    {SCMP_SYS(prlimit64), 2, {CALL_EXACTLY(0, 0), CALL_EXACTLY(1, RLIMIT_MEMLOCK)}},
    {SCMP_SYS(setrlimit), 1, {CALL_EXACTLY(0, RLIMIT_DATA)}},
    {SCMP_SYS(getrlimit), 1, {CALL_EXACTLY(0, RLIMIT_DATA)}},
    {SCMP_SYS(ugetrlimit), 1, {CALL_EXACTLY(0, RLIMIT_DATA)}},
    {SCMP_SYS(prlimit64), 2, {CALL_EXACTLY(0, 0), CALL_EXACTLY(1, RLIMIT_DATA)}},
    {SCMP_SYS(lseek), 0, {{0}}},
    {SCMP_SYS(_llseek), 0, {{0}}},
    {SCMP_SYS(access), 0, {{0}}},
    {SCMP_SYS(faccessat), 0, {{0}}},
    {SCMP_SYS(faccessat2), 0, {{0}}},
    {SCMP_SYS(uname), 0, {{0}}},
    {SCMP_SYS(getdents64), 0, {{0}}},
    {SCMP_SYS(memfd_create),
     1,
     {CALL_EXACTLY(1, MFD_CLOEXEC)}},                  /* libbpf 1.4 reserves the descriptors of maps with this, */
    {SCMP_SYS(dup3), 1, {CALL_EXACTLY(2, O_CLOEXEC)}}, /* and replaces them by the maps with this */
    {SCMP_SYS(mprotect), 1, {CALL_WITHOUT(2, PROT_EXEC)}},
    {SCMP_SYS(mremap), 0, {{0}}},
    {SCMP_SYS(getrandom), 0, {{0}}},
};

static const struct {
    const struct call_rule *rules;
    size_t n;
} calls[N_PURPOSES] = {
    [ALWAYS] = {calls_of_all, ARRAY_SIZE(calls_of_all)},
    [OF_BPF] = {calls_of_bpf, ARRAY_SIZE(calls_of_bpf)},
    [FORKING] = {calls_of_forking, ARRAY_SIZE(calls_of_forking)},
};

/* Any other call fails with EPERM but does not end the process, so that a libc that makes more calls still works. */
static int opener_filter_calls(const struct opener_permissions *permissions, bool *ret_filtered, struct error *error)
{
    scmp_filter_ctx context = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    /* Without this, libseccomp reports every failure of the kernel with the same error. */
    int r = context ? seccomp_attr_set(context, SCMP_FLTATR_API_SYSRAWRC, 1) : -ENOMEM;

    for (enum jail_purpose i = ALWAYS; i < N_PURPOSES && r == 0; i++)
        if (has_purpose(permissions, i))
            r = call_filter_allow(context, calls[i].rules, calls[i].n);
    return call_filter_load(context, r, ret_filtered, error);
}

int opener_jail_enter(const int *fds, size_t n, const struct opener_rules *rules, uint64_t *ret_capabilities,
                      bool *ret_filtered, struct error *error)
{
    int r = fd_keep_only(fds, n);

    if (r < 0)
        return error_set(error, r, "cannot close descriptors: %s", strerror(-r));
    jail_drop_signals();
    signal(SIGALRM, SIG_IGN);
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return error_set(error, -errno, "cannot protect the opener's memory: %s", strerror(errno));
    if (has_purpose(&rules->permissions, OF_BPF)) {
        raise_locked_memory();
        libbpf_preload();
    }
    r = capabilities_keep_only(opener_jail_capabilities(rules, capabilities_own()), error);
    if (r == 0)
        r = end_with(rules->daemon, error);
    if (r < 0)
        return r;
    *ret_capabilities = capabilities_own();
    return opener_filter_calls(&rules->permissions, ret_filtered, error);
}
