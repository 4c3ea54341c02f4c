/* SPDX-License-Identifier: Apache-2.0 */
#include "opener/daemon-jail.h"

#include <linux/perf_event.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include "base/compat.h"
#include "process/privileges.h"
#include "process/sandbox.h"

/*
 * System calls by which a process without capabilities may still reach other processes, or large parts of the kernel.
 * Names that this libseccomp or architecture does not know are skipped.
 */
static const char *const denied[] = {
    /* counters, programs in the kernel */
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
    /* namespaces; for clone(2) see deny_namespaces() */
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
    /* system calls that are queued in memory, where no filter sees them */
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
};

static int call_deny(scmp_filter_ctx context, const char *name, int error)
{
    int number = seccomp_syscall_resolve_name(name);
    int r = number == __NR_SCMP_ERROR ? 0 : seccomp_rule_add_array(context, SCMP_ACT_ERRNO(error), number, 0, NULL);

    return r == -EDOM ? 0 : r; /* of another architecture */
}

static int call_deny_where(scmp_filter_ctx context, int number, struct scmp_arg_cmp argument)
{
    return seccomp_rule_add_array(context, SCMP_ACT_ERRNO(EPERM), number, 1, &argument);
}

/* clone3(2) has its flags in memory, where the filter cannot see them. On ENOSYS, libc falls back to clone(2). */
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
 * Of the requests of perf ('$', include/uapi/linux/perf_event.h), five stay allowed, by number: ENABLE, DISABLE,
 * SET_OUTPUT, ID, PAUSE_OUTPUT. The kernel looks only at the lower 32 bits of the argument.
 */
#define PERF_REQUESTS ((uint64_t)'$' << 8)
#define REQUEST_TYPE_AND_NUMBER UINT64_C(0xffff)
#define NUMBERS 16 /* numbers below this are compared one by one, the others by their higher bits */

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
 * Denies the requests that put characters into the terminal in which the daemon was started, as if its user had typed
 * them (ioctl_tty(2)).
 */
static int deny_terminal(scmp_filter_ctx context)
{
    static const unsigned long requests[] = {TIOCSTI, TIOCLINUX};
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(requests) && r == 0; i++)
        r = call_deny_where(context, SCMP_SYS(ioctl), SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, requests[i]));
    return r;
}

static int daemon_filter_fill(scmp_filter_ctx context)
{
    /* Without this, libseccomp reports every failure of the kernel with the same error. */
    int r = seccomp_attr_set(context, SCMP_FLTATR_API_SYSRAWRC, 1);

    if (r == 0) /* a binary tree, so that each call passes few comparisons */
        r = seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    for (size_t i = 0; i < ARRAY_SIZE(denied) && r == 0; i++)
        r = call_deny(context, denied[i], EPERM);
    if (r == 0 && !HAS_LEAK_CHECK) /* LeakSanitizer traces the process's own threads at exit */
        r = call_deny(context, "ptrace", EPERM);
    if (r == 0)
        r = deny_namespaces(context);
    if (r == 0)
        r = deny_terminal(context);
    return r == 0 ? deny_perf_requests(context) : r;
}

int daemon_jail_enter(const struct user *user, bool *ret_filtered, struct error *error)
{
    int r = capabilities_empty_bounding_set(error);

    if (r == 0)
        r = user_become(user, error);
    if (r == 0)
        r = capabilities_keep_only(0, error);
    if (r < 0)
        return r;
    /* Comes after the change of user, which sets the flag to fs.suid_dumpable. */
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return error_set(error, -errno, "cannot protect the daemon's memory: %s", strerror(errno));
    scmp_filter_ctx context = seccomp_init(SCMP_ACT_ALLOW);
    return call_filter_load(context, context ? daemon_filter_fill(context) : -ENOMEM, ret_filtered, error);
}
