/* SPDX-License-Identifier: Apache-2.0 */
#include "process/sandbox.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/compat.h"
#include "base/file.h"

/* --- policies --- */

/*
 * Flags for the processes that may make a system call. The lower bits are those of enum sandbox_work, and stand for an
 * opener that does this kind of work; each of the other bits stands for a kind of process.
 */
enum {
    OPENER = 1 << 5,
    SYMBOLISER = 1 << 6,
    READER = 1 << 7,
};

#define PARSERS (SYMBOLISER | READER)
#define ALL (OPENER | PARSERS)
#define FORKING (SANDBOX_FORKS | READER)
#define BPF SANDBOX_LOADS_BPF
#define ASAN_PARSERS (HAS_ASAN ? PARSERS : 0) /* calls that AddressSanitizer makes for reports and at exit */

/*
 * The policy for each kind of process. The tables `limits`, `kept`, `allowed` and `denied` below belong to it as well.
 */
static const struct policy {
    const char *name;
    enum { AS_STARTED, CONFIGURED, NOBODY } user; /* with AS_STARTED some capabilities are kept as well */
    unsigned calls;                               /* flag in the table `allowed`; 0: all calls not in `denied` */
    bool is_child;                                /* keeps few descriptors, and exits when its parent does */
    bool ignores_signals;                         /* ignores signals that are sent to all processes of a service */
} policies[] = {
    [SANDBOX_OPENER] = {"opener", AS_STARTED, OPENER, true, true},
    [SANDBOX_DAEMON] = {"daemon", CONFIGURED, 0, false, false},
    [SANDBOX_SYMBOLISER] = {"symboliser", NOBODY, SYMBOLISER, true, false},
    [SANDBOX_READER] = {"reader", NOBODY, READER, true, true},
};

/*
 * Limits set by setrlimit(2), which child processes inherit. In addition, the symboliser itself lowers RLIMIT_DATA for
 * each request.
 */
static const struct limit {
    unsigned who;
    int resource;
    rlim_t value;
} limits[] = {
    {SYMBOLISER, RLIMIT_AS, (rlim_t)1 << 30},
    {SYMBOLISER, RLIMIT_FSIZE, 0},           /* the limit is in struct sandbox */
    {READER, RLIMIT_DATA, (rlim_t)64 << 20}, /* parsed JSON takes several times the size of its text */
    {PARSERS, RLIMIT_CORE, 0},
    {PARSERS, RLIMIT_NOFILE, 32},
};

/*
 * The capabilities that an opener keeps, if it has them, and the kinds of work that need them; if `work` is 0, the
 * capability is always kept. If a capability with `replaces_admin` is missing, because the kernel is too old or the
 * capability was not granted, the opener keeps CAP_SYS_ADMIN instead.
 */
static const struct {
    unsigned capability, work;
    bool replaces_admin;
} kept[] = {
    {CAP_PERFMON, 0, true},                   /* since Linux 5.8; suffices for events, except for SANDBOX_NEEDS_ADMIN */
    {CAP_DAC_READ_SEARCH, 0, false},          /* for tracefs and for programs that only root may read */
    {CAP_SYS_PTRACE, SANDBOX_SAMPLES, false}, /* for the files that other processes have mapped */
    {CAP_CHECKPOINT_RESTORE, SANDBOX_SAMPLES, true}, /* since Linux 5.9; to open the mapped files */
    {CAP_SYSLOG, SANDBOX_SAMPLES, false},            /* to read the addresses of the kernel's functions */
    {CAP_BPF, SANDBOX_LOADS_BPF, true}, /* since Linux 5.8; to load BPF programs, together with CAP_PERFMON */
};

/* --- system calls --- */

/*
 * Conditions for argument `n` of a system call. EXACTLY: the argument equals `value`. WITHOUT: none of `bits` is set.
 * NUMBER: the lower 32 bits equal `value`.
 */
#define EXACTLY(n, value)                                                                                              \
    {                                                                                                                  \
        n, SCMP_CMP_EQ, value, 0                                                                                       \
    }
#define WITHOUT(n, bits)                                                                                               \
    {                                                                                                                  \
        n, SCMP_CMP_MASKED_EQ, bits, 0                                                                                 \
    }
#define NUMBER(n, value)                                                                                               \
    {                                                                                                                  \
        n, SCMP_CMP_MASKED_EQ, UINT32_MAX, value                                                                       \
    }
#define BPF_COMMAND(command)                                                                                           \
    SCMP_SYS(bpf), 1,                                                                                                  \
    {                                                                                                                  \
        NUMBER(0, command)                                                                                             \
    }
#define OPEN_READ_ONLY(n)                                                                                              \
    {                                                                                                                  \
        n, SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY                                                 \
    }
/*
 * Mask for the flags of clone(2). Under this mask, the flags must equal SIGCHLD, as in calls from fork(3), which
 * excludes threads and namespaces.
 */
#define FORK_FLAGS ((uint64_t)UINT32_MAX & ~(uint64_t)(CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | CLONE_PARENT_SETTID))

/*
 * The system calls that are allowed if their arguments meet all `n` conditions. Any other call fails with EPERM instead
 * of killing the process, so that a library that tries an unexpected call gets an error. Some entries of this table are
 * for 32-bit architectures or newer C libraries; libseccomp skips calls that the architecture lacks. allow_messages()
 * adds the calls with which parser processes send and receive messages.
 */
static const struct call {
    unsigned who;
    int number;
    unsigned n;
    struct scmp_arg_cmp arguments[2];
} allowed[] = {
    /* calls for non-executable memory, and to exit */
    {ALL, SCMP_SYS(mmap), 1, {WITHOUT(2, PROT_EXEC)}},
    {ALL, SCMP_SYS(mmap2), 1, {WITHOUT(2, PROT_EXEC)}},
    {PARSERS | BPF, SCMP_SYS(mprotect), 1, {WITHOUT(2, PROT_EXEC)}},
    {PARSERS | BPF, SCMP_SYS(mremap), 0, {{0}}},
    {ALL, SCMP_SYS(munmap), 0, {{0}}},
    {ALL, SCMP_SYS(madvise), 0, {{0}}},
    {ALL, SCMP_SYS(brk), 0, {{0}}},
    {ALL, SCMP_SYS(futex), 0, {{0}}},
    {PARSERS, SCMP_SYS(futex_time64), 0, {{0}}},
    {PARSERS | BPF, SCMP_SYS(getrandom), 0, {{0}}},
    {ALL, SCMP_SYS(restart_syscall), 0, {{0}}},
    {ALL, SCMP_SYS(rt_sigreturn), 0, {{0}}},
    {PARSERS | SANDBOX_REMOVES, SCMP_SYS(sigreturn), 0, {{0}}},
    {ALL, SCMP_SYS(exit), 0, {{0}}},
    {ALL, SCMP_SYS(exit_group), 0, {{0}}},
    {OPENER | ASAN_PARSERS, SCMP_SYS(write), 1, {EXACTLY(0, STDERR_FILENO)}},
    {OPENER | ASAN_PARSERS, SCMP_SYS(sigaltstack), 0, {{0}}},
    {OPENER | ASAN_PARSERS, SCMP_SYS(sched_yield), 0, {{0}}},
    {OPENER | ASAN_PARSERS, SCMP_SYS(getpid), 0, {{0}}},
    {OPENER | ASAN_PARSERS, SCMP_SYS(gettid), 0, {{0}}},
    {ASAN_PARSERS, SCMP_SYS(rt_sigaction), 0, {{0}}},
    {SANDBOX_FORKS | ASAN_PARSERS, SCMP_SYS(rt_sigprocmask), 0, {{0}}},
    /* open files */
    {ALL, SCMP_SYS(close), 0, {{0}}},
    {ALL, SCMP_SYS(pread64), 0, {{0}}},
    {ALL, SCMP_SYS(fstat), 0, {{0}}},
    {ALL, SCMP_SYS(fstat64), 0, {{0}}},
    {PARSERS | SANDBOX_FORKS, SCMP_SYS(read), 0, {{0}}},
    {PARSERS | BPF, SCMP_SYS(lseek), 0, {{0}}},
    {PARSERS | BPF, SCMP_SYS(_llseek), 0, {{0}}},
    {PARSERS, SCMP_SYS(fcntl), 1, {EXACTLY(1, F_GETFD)}},
    {PARSERS, SCMP_SYS(fcntl), 1, {EXACTLY(1, F_GETFL)}},
    {PARSERS, SCMP_SYS(fcntl64), 1, {EXACTLY(1, F_GETFD)}},
    {PARSERS, SCMP_SYS(fcntl64), 1, {EXACTLY(1, F_GETFL)}},
    {PARSERS | SANDBOX_REMOVES, SCMP_SYS(alarm), 0, {{0}}},
    {PARSERS | SANDBOX_REMOVES, SCMP_SYS(setitimer), 0, {{0}}},
    /*
     * C libraries implement fstat(3) with newfstatat() or statx() and AT_EMPTY_PATH. A filter cannot check that the
     * path is empty, so a compromised parser process can find out which files exist.
     */
    {PARSERS, SCMP_SYS(newfstatat), 1, {EXACTLY(3, AT_EMPTY_PATH)}},
    {PARSERS, SCMP_SYS(fstatat64), 1, {EXACTLY(3, AT_EMPTY_PATH)}},
    {PARSERS, SCMP_SYS(statx), 1, {{2, SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, AT_EMPTY_PATH}}},
    /* calls to serve requests for events and files (opener/opener-server.c) */
    {OPENER, SCMP_SYS(recvmsg), 0, {{0}}},
    {OPENER, SCMP_SYS(sendmsg), 0, {{0}}},
    {OPENER, SCMP_SYS(perf_event_open), 0, {{0}}},
    {OPENER, SCMP_SYS(ioctl), 1, {NUMBER(1, PERF_EVENT_IOC_SET_FILTER)}},
    {OPENER, SCMP_SYS(ioctl), 1, {NUMBER(1, PERF_EVENT_IOC_ENABLE)}},
    {OPENER, SCMP_SYS(epoll_ctl), 1, {EXACTLY(1, EPOLL_CTL_ADD)}}, /* opener/quota.c */
    {OPENER, SCMP_SYS(openat), 1, {OPEN_READ_ONLY(2)}},
    {OPENER, SCMP_SYS(open), 1, {OPEN_READ_ONLY(1)}},
    {OPENER, SCMP_SYS(newfstatat), 0, {{0}}},
    {OPENER, SCMP_SYS(fstatat64), 0, {{0}}},
    {OPENER, SCMP_SYS(statx), 0, {{0}}},
    {OPENER, SCMP_SYS(fstatfs), 0, {{0}}},
    {OPENER, SCMP_SYS(fstatfs64), 0, {{0}}},
    {OPENER, SCMP_SYS(readlink), 0, {{0}}},
    {OPENER, SCMP_SYS(readlinkat), 0, {{0}}},
    {SANDBOX_REMOVES, SCMP_SYS(unlinkat), 1, {EXACTLY(2, 0)}}, /* opener/bound-sockets.c */
    /* calls to fork children for files that may hang (process/stragglers.c) */
    {FORKING, SCMP_SYS(clone), 1, {{0, SCMP_CMP_MASKED_EQ, FORK_FLAGS, SIGCHLD}}},
    {FORKING, SCMP_SYS(set_robust_list), 0, {{0}}},
    {FORKING, SCMP_SYS(wait4), 0, {{0}}},
    {FORKING, SCMP_SYS(waitpid), 0, {{0}}},
    {FORKING, SCMP_SYS(pidfd_open), 0, {{0}}},
    {FORKING, SCMP_SYS(poll), 0, {{0}}},
    {FORKING, SCMP_SYS(ppoll), 0, {{0}}},
    {FORKING, SCMP_SYS(ppoll_time64), 0, {{0}}},
    {FORKING, SCMP_SYS(kill), 1, {EXACTLY(1, SIGKILL)}},
    {FORKING, SCMP_SYS(close_range), 0, {{0}}},
    {FORKING, SCMP_SYS(clock_gettime), 0, {{0}}}, /* only if the vDSO does not provide this call */
    {FORKING, SCMP_SYS(clock_gettime64), 0, {{0}}},
    {READER, SCMP_SYS(prctl), 1, {EXACTLY(0, PR_SET_SECCOMP)}}, /* sandbox_forbid_processes() */
    /* calls of the opener's children, which start with child_settle() */
    {SANDBOX_FORKS, SCMP_SYS(socketpair), 0, {{0}}},
    {SANDBOX_FORKS, SCMP_SYS(prctl), 1, {EXACTLY(0, PR_SET_PDEATHSIG)}},
    {SANDBOX_FORKS, SCMP_SYS(prctl), 1, {EXACTLY(0, PR_SET_NAME)}},
    {SANDBOX_FORKS, SCMP_SYS(getppid), 0, {{0}}},
    {SANDBOX_FORKS, SCMP_SYS(rseq), 0, {{0}}},
    /* The symboliser writes its tables to sealed memfds, and gives libelf a duplicate of each file. */
    {SYMBOLISER, SCMP_SYS(dup), 0, {{0}}},
    {SYMBOLISER, SCMP_SYS(fcntl), 1, {EXACTLY(1, F_ADD_SEALS)}},
    {SYMBOLISER, SCMP_SYS(fcntl64), 1, {EXACTLY(1, F_ADD_SEALS)}},
    {SYMBOLISER, SCMP_SYS(memfd_create), 0, {{0}}},
    {SYMBOLISER, SCMP_SYS(ftruncate), 0, {{0}}},
    {SYMBOLISER, SCMP_SYS(ftruncate64), 0, {{0}}},
    {SYMBOLISER | BPF, SCMP_SYS(prlimit64), 2, {EXACTLY(0, 0), EXACTLY(1, RLIMIT_DATA)}},
    {SYMBOLISER, SCMP_SYS(sysinfo), 0, {{0}}}, /* glibc's qsort(3) looks up the amount of memory */
    /* bpf/loader.c. The bpf(2) commands that find, pin or attach objects of other processes are not allowed. */
    {BPF, BPF_COMMAND(BPF_MAP_UPDATE_ELEM)},
    {BPF, BPF_COMMAND(BPF_MAP_LOOKUP_ELEM)},
    {BPF, BPF_COMMAND(BPF_MAP_DELETE_ELEM)},
    {BPF, BPF_COMMAND(BPF_PROG_TEST_RUN)},
    {BPF, BPF_COMMAND(BPF_RAW_TRACEPOINT_OPEN)},
    {BPF, SCMP_SYS(ioctl), 1, {NUMBER(1, PERF_EVENT_IOC_SET_BPF)}},
    {BPF, SCMP_SYS(name_to_handle_at), 0, {{0}}},
    {BPF, SCMP_SYS(fcntl), 1, {EXACTLY(1, F_DUPFD_CLOEXEC)}},
    {BPF, SCMP_SYS(fcntl64), 1, {EXACTLY(1, F_DUPFD_CLOEXEC)}},
    /*
     * calls of the opener's child in which libbpf loads a BPF program (bpf/program.c); setresuid(2) may only set the
     * real user to root
     */
    {BPF, BPF_COMMAND(BPF_BTF_LOAD)},
    {BPF, BPF_COMMAND(BPF_MAP_CREATE)},
    {BPF, BPF_COMMAND(BPF_MAP_FREEZE)},
    {BPF, BPF_COMMAND(BPF_PROG_LOAD)},
    {BPF, BPF_COMMAND(BPF_OBJ_GET_INFO_BY_FD)},
    {BPF, SCMP_SYS(prctl), 1, {EXACTLY(0, PR_CAPBSET_READ)}},
    {BPF, SCMP_SYS(capget), 0, {{0}}},
    {BPF, SCMP_SYS(setresuid), 2, {EXACTLY(0, 0), NUMBER(1, UINT32_MAX)}},
    {BPF, SCMP_SYS(setresuid32), 2, {EXACTLY(0, 0), NUMBER(1, UINT32_MAX)}},
    {BPF, SCMP_SYS(setrlimit), 1, {EXACTLY(0, RLIMIT_MEMLOCK)}},
    {BPF, SCMP_SYS(getrlimit), 1, {EXACTLY(0, RLIMIT_MEMLOCK)}},
    {BPF, SCMP_SYS(ugetrlimit), 1, {EXACTLY(0, RLIMIT_MEMLOCK)}},
    {BPF, SCMP_SYS(prlimit64), 2, {EXACTLY(0, 0), EXACTLY(1, RLIMIT_MEMLOCK)}},
    {BPF, SCMP_SYS(setrlimit), 1, {EXACTLY(0, RLIMIT_DATA)}},
    {BPF, SCMP_SYS(getrlimit), 1, {EXACTLY(0, RLIMIT_DATA)}},
    {BPF, SCMP_SYS(ugetrlimit), 1, {EXACTLY(0, RLIMIT_DATA)}},
    {BPF, SCMP_SYS(access), 0, {{0}}},
    {BPF, SCMP_SYS(faccessat), 0, {{0}}},
    {BPF, SCMP_SYS(faccessat2), 0, {{0}}},
    {BPF, SCMP_SYS(uname), 0, {{0}}},
    {BPF, SCMP_SYS(getdents64), 0, {{0}}},
    /* In bpf/offsets.c, the process sleeps while it waits for tasks in other cgroups. */
    {BPF, SCMP_SYS(nanosleep), 0, {{0}}},
    {BPF, SCMP_SYS(clock_nanosleep), 0, {{0}}},
    {BPF, SCMP_SYS(clock_nanosleep_time64), 0, {{0}}},
    {BPF, SCMP_SYS(memfd_create), 1, {EXACTLY(1, MFD_CLOEXEC)}}, /* libbpf 1.4 uses memfds to reserve descriptors */
    {BPF, SCMP_SYS(dup3), 1, {EXACTLY(2, O_CLOEXEC)}},           /* libbpf 1.4 uses dup3(2) to replace descriptors */
};

/* Allows a parser process to send and receive messages only over its own sockets. */
static int allow_messages(scmp_filter_ctx filter, int socket)
{
    static const int numbers[] = {SCMP_SYS(recvmsg), SCMP_SYS(sendmsg)};
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(numbers) && r == 0; i++)
        r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, numbers[i], 1, SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)socket, 0));
    return r;
}

static int allow_calls(scmp_filter_ctx filter, const struct sandbox *sandbox, unsigned who)
{
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(allowed) && r == 0; i++)
        if (allowed[i].who & who)
            r = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, allowed[i].number, allowed[i].n, allowed[i].arguments);
    for (size_t i = 0; who & PARSERS && i < sandbox->n_fds && r == 0; i++)
        r = allow_messages(filter, sandbox->fds[i]);
    return r;
}

/* --- system calls that the daemon may not make --- */

/*
 * System calls through which even a process without capabilities could reach other processes, or large parts of the
 * kernel. Names that this libseccomp or architecture does not know are skipped.
 */
static const char *const denied[] = {
    /* performance counters and BPF programs */
    "perf_event_open",
    "bpf",
    /* memory and descriptors of other processes */
    "process_vm_readv",
    "process_vm_writev",
    "process_madvise",
    "pidfd_getfd",
    "kcmp",
    "move_pages",
    "migrate_pages",
    "userfaultfd",
    /* file systems, files without a path */
    "mount",
    "umount",
    "umount2",
    "mount_setattr",
    "move_mount",
    "open_tree",
    "fsopen",
    "fsconfig",
    "fsmount",
    "fspick",
    "pivot_root",
    "chroot",
    "name_to_handle_at",
    "open_by_handle_at",
    "quotactl",
    "quotactl_fd",
    "fanotify_init",
    /* namespaces; deny_namespaces() handles clone(2) */
    "setns",
    "unshare",
    /* modules, keys, kexec, the machine as a whole */
    "init_module",
    "finit_module",
    "delete_module",
    "add_key",
    "request_key",
    "keyctl",
    "kexec_load",
    "kexec_file_load",
    "reboot",
    "swapon",
    "swapoff",
    "acct",
    "syslog",
    "iopl",
    "ioperm",
    "vhangup",
    "sethostname",
    "setdomainname",
    "settimeofday",
    "clock_settime",
    "clock_adjtime",
    "adjtimex",
    "personality",
    "lookup_dcookie",
    "nfsservctl",
    /* io_uring, whose operations are queued in memory, where no filter sees them */
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
};

static int call_deny(scmp_filter_ctx context, const char *name, int error)
{
    int number = seccomp_syscall_resolve_name(name);
    int r = number == __NR_SCMP_ERROR ? 0 : seccomp_rule_add_array(context, SCMP_ACT_ERRNO(error), number, 0, NULL);

    return r == -EDOM ? 0 : r; /* -EDOM: the call belongs to another architecture */
}

static int call_deny_where(scmp_filter_ctx context, int number, struct scmp_arg_cmp argument)
{
    return seccomp_rule_add_array(context, SCMP_ACT_ERRNO(EPERM), number, 1, &argument);
}

/*
 * clone3(2) fails with ENOSYS, because its flags are in memory, where the filter cannot see them. C libraries then fall
 * back to clone(2).
 */
static int deny_namespaces(scmp_filter_ctx context)
{
    static const uint32_t flags[] = {CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                     CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET};
    int r = call_deny(context, "clone3", ENOSYS);

    for (size_t i = 0; i < ARRAY_SIZE(flags) && r == 0; i++)
        r = call_deny_where(context, SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, flags[i], flags[i]));
    return r;
}

/*
 * Of perf's ioctl(2) requests ('$', include/uapi/linux/perf_event.h), only ENABLE, DISABLE, SET_OUTPUT, ID and
 * PAUSE_OUTPUT stay allowed. The filter compares the numbers of the requests. The kernel looks only at the lower 32
 * bits of the request argument.
 */
#define PERF_REQUESTS ((uint64_t)'$' << 8)
#define REQUEST_TYPE_AND_NUMBER UINT64_C(0xffff)
#define NUMBERS 16 /* numbers below this are compared one by one, higher numbers by their upper bits */

static bool perf_request_is_allowed(unsigned number)
{
    static const unsigned long requests[] = {PERF_EVENT_IOC_ENABLE, PERF_EVENT_IOC_DISABLE, PERF_EVENT_IOC_SET_OUTPUT,
                                             PERF_EVENT_IOC_ID, PERF_EVENT_IOC_PAUSE_OUTPUT};

    for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
        if ((requests[i] & 0xff) == number)
            return true;
    return false;
}

static int deny_perf_requests(scmp_filter_ctx context)
{
    int r = 0;

    for (unsigned number = 0; number < NUMBERS && r == 0; number++)
        if (!perf_request_is_allowed(number))
            r = call_deny_where(context, SCMP_SYS(ioctl),
                                SCMP_A1(SCMP_CMP_MASKED_EQ, REQUEST_TYPE_AND_NUMBER, PERF_REQUESTS | number));
    for (uint64_t bit = NUMBERS; bit < 256 && r == 0; bit *= 2)
        r = call_deny_where(context, SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_MASKED_EQ, 0xff00 | bit, PERF_REQUESTS | bit));
    return r;
}

/*
 * Denies the ioctl(2) requests that insert characters into the input of the terminal in which the daemon was started,
 * as if the terminal's user had typed them (ioctl_tty(2)).
 */
static int deny_terminal(scmp_filter_ctx context)
{
    static const unsigned long requests[] = {TIOCSTI, TIOCLINUX};
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(requests) && r == 0; i++)
        r = call_deny_where(context, SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, requests[i]));
    return r;
}

static int deny_calls(scmp_filter_ctx context)
{
    /* Builds the filter as a binary tree, so that few comparisons are made for each system call. */
    int r = seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);

    for (size_t i = 0; i < ARRAY_SIZE(denied) && r == 0; i++)
        r = call_deny(context, denied[i], EPERM);
    if (r == 0 && !HAS_LEAK_CHECK) /* at exit, LeakSanitizer uses ptrace on the process's own threads */
        r = call_deny(context, "ptrace", EPERM);
    if (r == 0)
        r = deny_namespaces(context);
    if (r == 0)
        r = deny_terminal(context);
    return r == 0 ? deny_perf_requests(context) : r;
}

/* --- filters --- */

/*
 * With a NULL filter, PR_SET_SECCOMP fails with EFAULT on kernels that support filters, and with EINVAL on other
 * kernels (seccomp(2)).
 */
static bool kernel_has_filters(void)
{
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) == 0 || (errno != EINVAL && errno != ENOSYS);
}

static int filter_fill(scmp_filter_ctx filter, const struct sandbox *sandbox)
{
    unsigned calls = policies[sandbox->kind].calls, work = sandbox->work;
    /* Makes libseccomp return the kernel's error code, instead of the same code for every failure. */
    int r = seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1);

    if (work & (SANDBOX_SAMPLES | SANDBOX_LOADS_BPF)) /* in children */
        work |= SANDBOX_FORKS;
    if (r == 0)
        r = calls ? allow_calls(filter, sandbox, calls | work) : deny_calls(filter);
    return r;
}

static int filter_calls(const struct sandbox *sandbox, bool *ret_filtered, struct error *error)
{
    scmp_filter_ctx filter = seccomp_init(policies[sandbox->kind].calls ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_ALLOW);
    int r = filter ? filter_fill(filter, sandbox) : -ENOMEM;

    if (r == 0)
        r = seccomp_load(filter);
    seccomp_release(filter);
    *ret_filtered = r == 0;
    if (r == 0 || !kernel_has_filters())
        return 0;
    return error_set(error, r, "cannot filter system calls: %s", strerror(-r));
}

/*
 * This filter is written by hand, because libseccomp would take a thousand times as long, and would allocate memory.
 * The filter need not check the architecture, which the sandbox's filter has already checked. Jump offsets lead to the
 * final instruction, which returns EPERM.
 */
int sandbox_forbid_processes(void)
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

/* --- limits, privileges --- */

/*
 * Raises RLIMIT_MEMLOCK, because kernels before 5.11 count BPF maps and programs as locked memory. Raising the limit
 * requires CAP_SYS_RESOURCE or a sufficient hard limit. A failure is reported only when the program is loaded.
 */
static void raise_locked_memory(void)
{
    struct rlimit limit = {RLIM_INFINITY, RLIM_INFINITY};

    if (setrlimit(RLIMIT_MEMLOCK, &limit) == 0 || getrlimit(RLIMIT_MEMLOCK, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_MEMLOCK, &limit);
}

/* Memory limits are skipped in builds with AddressSanitizer, which cannot run with such limits. */
static int limit_resources(const struct sandbox *sandbox)
{
    for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
        __rlimit_resource_t resource = (__rlimit_resource_t)limits[i].resource;
        rlim_t most = resource == RLIMIT_FSIZE ? sandbox->file_size : limits[i].value;
        struct rlimit both;
        if (!(limits[i].who & policies[sandbox->kind].calls) ||
            (HAS_ASAN && (resource == RLIMIT_AS || resource == RLIMIT_DATA)))
            continue;
        if (getrlimit(resource, &both) < 0)
            return -errno;
        both.rlim_cur = both.rlim_max = MIN(both.rlim_max, most); /* RLIM_INFINITY is larger than any limit */
        if (setrlimit(resource, &both) < 0)
            return -errno;
    }
    return 0;
}

uint64_t sandbox_capabilities(unsigned work, uint64_t own)
{
    uint64_t mask = 0;
    bool needs_admin = work & SANDBOX_NEEDS_ADMIN;

    for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
        uint64_t bit = UINT64_C(1) << kept[i].capability;
        if (kept[i].work & ~work)
            continue;
        mask |= bit;
        needs_admin |= kept[i].replaces_admin && !(own & bit);
    }
    if (needs_admin)
        mask |= UINT64_C(1) << CAP_SYS_ADMIN;
    return mask & own;
}

static bool is_root(void)
{
    uid_t real, effective, saved;

    return getresuid(&real, &effective, &saved) < 0 || real == 0 || effective == 0 || saved == 0;
}

/*
 * The groups must be changed before the user, because changing the user drops CAP_SETGID, which setgroups(2) and
 * setresgid(2) need.
 */
static int leave_root(void)
{
    if (!is_root())
        return 0;
    if (setgroups(0, NULL) < 0 || setresgid(SANDBOX_NOBODY, SANDBOX_NOBODY, SANDBOX_NOBODY) < 0 ||
        setresuid(SANDBOX_NOBODY, SANDBOX_NOBODY, SANDBOX_NOBODY) < 0)
        return -errno;
    return is_root() ? -EPERM : 0;
}

/* Switches to the user that the policy names, and drops all capabilities that the policy does not keep. */
static int give_up_privileges(const struct sandbox *sandbox, struct error *error)
{
    int r = 0;

    if (policies[sandbox->kind].user == AS_STARTED)
        return capabilities_keep_only(sandbox_capabilities(sandbox->work, capabilities_own()), error);
    r = capabilities_empty_bounding_set(error); /* must precede the change of user, which drops CAP_SETPCAP */
    if (r == 0 && policies[sandbox->kind].user == CONFIGURED)
        r = user_become(sandbox->user, error);
    if (r == 0 && policies[sandbox->kind].user == NOBODY) {
        r = leave_root();
        r = r < 0 ? error_set(error, r, "cannot become user %d: %s", SANDBOX_NOBODY, strerror(-r)) : 0;
    }
    return r == 0 ? capabilities_keep_only(0, error) : r;
}

/* Signal handler for the parent's exit: SIGALRM terminates this process a second later. */
static void on_parent_end(int number)
{
    (void)number;
    alarm(1);
}

/* Must be called after the change of user, which resets the dumpable flag and the parent-death signal. */
static int protect(const struct sandbox *sandbox, pid_t parent, struct error *error)
{
    const struct policy *policy = &policies[sandbox->kind];
    bool removes = sandbox->work & SANDBOX_REMOVES;

    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return error_set(error, -errno, "cannot protect the %s's memory: %s", policy->name, strerror(errno));
    if (!policy->is_child)
        return 0;
    if (removes) {
        signal(SIGALRM, SIG_DFL);
        signal(SIGRTMIN, on_parent_end);
    }
    if (prctl(PR_SET_PDEATHSIG, removes ? SIGRTMIN : SIGKILL, 0, 0, 0) < 0)
        return error_set(error, -errno, "cannot arrange for the %s to exit when the daemon exits: %s", policy->name,
                         strerror(errno));
    return getppid() == parent ? 0 : error_set(error, -ESRCH, "the daemon has exited");
}

static void ignore_signals(bool alarm)
{
    static const int ignored[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGUSR1, SIGUSR2, SIGTSTP, SIGALRM};

    for (size_t i = 0; i < ARRAY_SIZE(ignored) - !alarm; i++)
        signal(ignored[i], SIG_IGN);
}

int sandbox_enter(const struct sandbox *sandbox, struct sandboxed *ret, struct error *error)
{
    const struct policy *policy = &policies[sandbox->kind];
    struct sandboxed sandboxed = {0};
    pid_t parent = getppid();

    if (policy->user == NOBODY)
        prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* with huge pages, a growing array would occupy 2 MB at once */
    int r = policy->is_child ? fd_keep_only(sandbox->fds, sandbox->n_fds) : 0;
    if (r < 0)
        return error_set(error, r, "cannot close descriptors: %s", strerror(-r));
    if (policy->ignores_signals)
        ignore_signals(sandbox->kind == SANDBOX_OPENER); /* SIGALRM must be able to terminate the reader's children */
    if (sandbox->work & SANDBOX_LOADS_BPF)
        raise_locked_memory();
    r = limit_resources(sandbox);
    if (r < 0)
        return error_set(error, r, "cannot set limits: %s", strerror(-r));
    r = give_up_privileges(sandbox, error);
    if (r == 0)
        r = protect(sandbox, parent, error);
    if (r < 0)
        return r;
    sandboxed.capabilities = capabilities_own();
    r = filter_calls(sandbox, &sandboxed.filtered, error);
    if (r == 0 && ret)
        *ret = sandboxed;
    return r;
}
