/* SPDX-License-Identifier: Apache-2.0 */
/* System calls that the daemon's filter denies, or that the kernel refuses one without capabilities. */
#include <fcntl.h>
#include <grp.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/newer.h"
#include "tests/impostor/impostor.h"

#define UFFD_USER_MODE_ONLY 1

/* Calls whose arguments are numbers: a row each. `far` is what stands for a pointer to nothing. */
#define FAR ((long)1 << 40)

static const struct {
    const char *name;
    long number, arguments[5];
} calls[] = {
    {"perf_event_open", SYS_perf_event_open, {0, 0, -1, -1, 0}},
    {"bpf", SYS_bpf, {BPF_PROG_LOAD, 0, 0}},
    {"bpf of an object", SYS_bpf, {7, 0, 0}},
    {"io_uring_setup", SYS_io_uring_setup, {1, 0}},
    {"userfaultfd", SYS_userfaultfd, {UFFD_USER_MODE_ONLY}},
    {"keyctl", SYS_keyctl, {0, -3, 0}},
    {"add_key", SYS_add_key, {0, 0, 0, 0, -3}},
    {"request_key", SYS_request_key, {0, 0, 0, 0}},
    {"init_module", SYS_init_module, {0, 0, 0}},
    {"finit_module", SYS_finit_module, {-1, 0, 0}},
    {"delete_module", SYS_delete_module, {0, 0}},
    {"kexec_load", SYS_kexec_load, {0, 0, 0, -1}},
    {"mount", SYS_mount, {0, 0, 0, 0, 0}},
    {"umount2", SYS_umount2, {0, 0}},
    {"pivot_root", SYS_pivot_root, {0, 0}},
    {"open_tree", 428, {AT_FDCWD, 0, 1}},
    {"move_mount", 429, {-1, 0, -1, 0, 0}},
    {"fsopen", 430, {0, 0}},
    {"fsmount", 432, {-1, 0, 0}},
    {"mount_setattr", 442, {-1, 0, 0, 0, 0}},
    {"setns", SYS_setns, {-1, 0}},
    {"unshare of users", SYS_unshare, {CLONE_NEWUSER}},
    {"unshare of mounts", SYS_unshare, {CLONE_NEWNS}},
    {"unshare of the network", SYS_unshare, {CLONE_NEWNET}},
    {"unshare of pids", SYS_unshare, {CLONE_NEWPID}},
    {"unshare of cgroups", SYS_unshare, {CLONE_NEWCGROUP}},
    {"process_vm_readv of itself", SYS_process_vm_readv, {0, 0, 0, 0, 0}},
    {"process_vm_writev of itself", SYS_process_vm_writev, {0, 0, 0, 0, 0}},
    {"pidfd_getfd", 438, {-1, 0, 0}},
    {"kcmp", SYS_kcmp, {1, 1, 0, 0, 0}},
    {"ptrace: PTRACE_TRACEME", SYS_ptrace, {PTRACE_TRACEME, 0, 0, 0}},
    {"reboot", SYS_reboot, {0, 0, 0, 0}},
    {"swapon", SYS_swapon, {0, 0}},
    {"syslog", SYS_syslog, {3, 0, 0}},
    {"acct", SYS_acct, {FAR}},
    {"a socket of packets", SYS_socket, {AF_PACKET, SOCK_RAW, 0}},
    {"a raw socket", SYS_socket, {AF_INET, SOCK_RAW, IPPROTO_ICMP}},
    {"vhangup", SYS_vhangup, {0}},
    {"fanotify_init", SYS_fanotify_init, {0, 0}},
};

static long try_call(struct impostor *impostor, const struct attempt *attempt)
{
    const long *a = calls[attempt->number].arguments;

    (void)impostor;
    return syscall(calls[attempt->number].number, a[0], a[1], a[2], a[3], a[4]) < 0 ? -errno : 0;
}

/* EFAULT and the like would say that the call came through; where the kernel has none it says ENOSYS. */
static void try_calls(struct impostor *impostor)
{
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
        char name[96];
        snprintf(name, sizeof(name), "itself: %s", calls[i].name);
        const struct attempt attempt = {name, try_call, .must = MUST(EPERM, ENOSYS, EACCES, EAFNOSUPPORT), .number = i};
        impostor_try_apart(impostor, &attempt, 1);
    }
}

/* As uid 0 this would work. */
static long try_setuid(struct impostor *impostor, const struct attempt *attempt)
{
    (void)impostor;
    switch (attempt->number) {
    case 0:
        return setuid(0) < 0 ? -errno : 0;
    case 1:
        return setresuid((uid_t)-1, 0, (uid_t)-1) < 0 ? -errno : 0;
    case 2:
        return setgid(0) < 0 ? -errno : 0;
    case 3:
        return setgroups(1, &(gid_t){0}) < 0 ? -errno : 0;
    case 4:
        return setgroups(0, NULL) < 0 ? -errno : 0;
    default:
        /* It says what was, never an error. */
        setfsuid(0);
        return setfsuid((uid_t)-1) == 0 ? 0 : -EPERM;
    }
}

static long try_capset(struct impostor *impostor, const struct attempt *attempt)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    size_t half = attempt->number / 32;

    (void)impostor;
    data[half].permitted = data[half].effective = 1U << attempt->number % 32;
    return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

static long try_prctl(struct impostor *impostor, const struct attempt *attempt)
{
    (void)impostor;
    if (attempt->number == PR_CAP_AMBIENT)
        return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0) < 0 ? -errno : 0;
    if (attempt->number == PR_SET_NO_NEW_PRIVS)
        return prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) < 0 ? -errno : 0;
    if (attempt->number == PR_SET_SECCOMP)
        return prctl(PR_SET_SECCOMP, 0, 0, 0, 0) < 0 ? -errno : 0;
    return prctl((int)attempt->number, 0, 0, 0, 0) < 0 ? -errno : 0;
}

/* Of what clone(2) and clone3(2) return: a child in new namespaces ends at once. */
static long end_child(long pid)
{
    if (pid == 0)
        _exit(EXIT_SUCCESS);
    if (pid < 0)
        return -errno;
    waitpid((pid_t)pid, NULL, 0);
    return 0;
}

static long try_clone(struct impostor *impostor, const struct attempt *attempt)
{
    long pid = syscall(SYS_clone, attempt->number | SIGCHLD, 0, 0, 0, 0);

    (void)impostor;
    return end_child(pid);
}

/* Its flags are in memory, where no filter sees them. */
static long try_clone3(struct impostor *impostor, const struct attempt *attempt)
{
    struct {
        uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
    } arguments = {.flags = attempt->number, .exit_signal = SIGCHLD};
    long pid = syscall(SYS_clone3, &arguments, sizeof(arguments));

    (void)impostor;
    return end_child(pid);
}

static long try_chroot(struct impostor *impostor, const struct attempt *attempt)
{
    (void)impostor;
    return chroot(attempt->text) < 0 ? -errno : 0;
}

/* By its handle a file is opened past the directories that hide it. */
static long try_handle(struct impostor *impostor, const struct attempt *attempt)
{
    union {
        struct file_handle handle;
        char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
    } file = {.handle = {.handle_bytes = MAX_HANDLE_SZ}};
    int mount;

    if (name_to_handle_at(AT_FDCWD, attempt->text, &file.handle, &mount, 0) < 0)
        return errno == EOPNOTSUPP ? impostor_skip(impostor, "the file system has no handles") : -errno;
    _cleanup_(closep) int directory = open("/", O_RDONLY | O_CLOEXEC);
    _cleanup_(closep) int fd = open_by_handle_at(directory, &file.handle, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : 0;
}

static long try_mount(struct impostor *impostor, const struct attempt *attempt)
{
    (void)attempt;
    if (!*impostor->known.scratch)
        return impostor_skip(impostor, "there is no directory for it");
    if (mount("none", impostor->known.scratch, "tmpfs", 0, NULL) < 0)
        return -errno;
    umount(impostor->known.scratch);
    return 0;
}

static long try_priority(struct impostor *impostor, const struct attempt *attempt)
{
    (void)impostor;
    (void)attempt;
    return setpriority(PRIO_PROCESS, 1, -20) < 0 ? -errno : 0;
}

/* Credentials that a journal or a bus would believe. */
static long try_credentials(struct impostor *impostor, const struct attempt *attempt)
{
    const struct ucred root = {.pid = 1};
    union {
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
        struct cmsghdr head;
    } control = {.head = {.cmsg_len = CMSG_LEN(sizeof(root)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_CREDENTIALS}};
    struct iovec vector = {.iov_base = (char[]){"x"}, .iov_len = 1};
    const struct msghdr message = {
        .msg_iov = &vector, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    int sockets[2];

    (void)impostor;
    (void)attempt;
    memcpy(CMSG_DATA(&control.head), &root, sizeof(root));
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, sockets) < 0)
        return -errno;
    return sendmsg(sockets[0], &message, 0) < 0 ? -errno : 0;
}

static long try_port(struct impostor *impostor, const struct attempt *attempt)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)attempt->number), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    _cleanup_(freep) char *first = NULL;
    _cleanup_(closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (sys_read_file(&impostor->sys, "/proc/sys/net/ipv4/ip_unprivileged_port_start", &first) == 0 &&
        strtoul(first, NULL, 10) <= attempt->number)
        return impostor_skip(impostor, "this machine gives it to anybody");
    return fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
}

static long try_realtime(struct impostor *impostor, const struct attempt *attempt)
{
    (void)impostor;
    (void)attempt;
    return sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 50}) < 0 ? -errno : 0;
}

static const struct attempt attempts[] = {
    {"itself: setuid(0)", try_setuid, .must = MUST(EPERM), .number = 0},
    {"itself: setresuid of the effective user alone", try_setuid, .must = MUST(EPERM), .number = 1},
    {"itself: setgid(0)", try_setuid, .must = MUST(EPERM), .number = 2},
    {"itself: setgroups of root's", try_setuid, .must = MUST(EPERM), .number = 3},
    {"itself: setgroups of none", try_setuid, .must = MUST(EPERM), .number = 4},
    {"itself: setfsuid(0)", try_setuid, .must = MUST(EPERM), .number = 5},
    {"itself: capset of CAP_SYS_ADMIN", try_capset, .must = MUST(EPERM), .number = CAP_SYS_ADMIN},
    {"itself: capset of CAP_DAC_OVERRIDE", try_capset, .must = MUST(EPERM), .number = CAP_DAC_OVERRIDE},
    {"itself: capset of CAP_PERFMON", try_capset, .must = MUST(EPERM), .number = 38},
    {"itself: an ambient capability", try_prctl, .must = MUST(EPERM), .number = PR_CAP_AMBIENT},
    {"itself: no_new_privs off", try_prctl, .must = MUST(EINVAL, EPERM), .number = PR_SET_NO_NEW_PRIVS},
    {"itself: the filter off", try_prctl, .must = MUST(EINVAL, EPERM), .number = PR_SET_SECCOMP},
    {"itself: clone into a new user namespace", try_clone, .must = MUST(EPERM), .number = CLONE_NEWUSER},
    {"itself: clone into a new mount namespace", try_clone, .must = MUST(EPERM), .number = CLONE_NEWNS},
    {"itself: clone into all new namespaces", try_clone, .must = MUST(EPERM),
     .number = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET},
    {"itself: clone3 into a new user namespace", try_clone3, .must = MUST(EPERM, ENOSYS), .number = CLONE_NEWUSER},
    {"itself: open_by_handle_at of /etc/shadow", try_handle, .must = MUST(EPERM, EACCES), .text = "/etc/shadow"},
    {"itself: chroot", try_chroot, .must = MUST(EPERM), .text = "/"},
    {"itself: a file system on a directory", try_mount, .must = MUST(EPERM)},
    {"itself: credentials of root's in a message", try_credentials, .must = MUST(EPERM)},
    {"itself: the port 86", try_port, .must = MUST(EACCES, EPERM, EAFNOSUPPORT), .number = 86},
    {"itself: a real-time priority", try_realtime, .must = MUST(EPERM)},
    {"itself: the priority of the process 1", try_priority, .must = MUST(EPERM, EACCES, ESRCH)},
};

void own_calls_run(struct impostor *impostor)
{
    try_calls(impostor);
    impostor_try_apart(impostor, attempts, ARRAY_SIZE(attempts));
}
