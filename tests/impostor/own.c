/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts that a process in the daemon's place makes without the opener: its own state, files, system calls, and other
 * processes. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/number.h"
#include "tests/impostor/impostor.h"

/* The process's state: its user, capabilities and filter. */

/* Reads a line of /proc/self/status, which a process may read even if it is not dumpable. */
static int status_field(const char *field, char *text, size_t size)
{
    _cleanup_(fclosep) FILE *file = fopen("/proc/self/status", "re");
    char line[512];

    while (file && fgets(line, sizeof(line), file))
        if (str_starts(line, field) && line[strlen(field)] == ':') {
            snprintf(text, size, "%s", line + strlen(field) + 1 + strspn(line + strlen(field) + 1, " \t"));
            text[strcspn(text, "\n")] = '\0';
            return 0;
        }
    return -ENOENT;
}

static long try_field(struct impostor *impostor, const struct attempt *attempt)
{
    char field[32], found[512];
    size_t n = strcspn(attempt->text, "=");

    snprintf(field, sizeof(field), "%.*s", (int)n, attempt->text);
    if (status_field(field, found, sizeof(found)) < 0)
        return impostor_skip(impostor, "this kernel does not show it");
    return str_equal(found, attempt->text + n + 1) ? 0 : -EPERM;
}

static long try_user(struct impostor *impostor, const struct attempt *attempt)
{
    uid_t real, effective, saved;

    (void)impostor;
    (void)attempt;
    return getresuid(&real, &effective, &saved) == 0 && real && effective && saved ? 0 : -EPERM;
}

static long try_group(struct impostor *impostor, const struct attempt *attempt)
{
    gid_t real, effective, saved, others[64];
    int n = getgroups(ARRAY_SIZE(others), others);

    (void)impostor;
    (void)attempt;
    for (int i = 0; i < n; i++)
        if (others[i] == 0)
            return -EPERM;
    return getresgid(&real, &effective, &saved) == 0 && real && effective && saved ? 0 : -EPERM;
}

static long try_dumpable(struct impostor *impostor, const struct attempt *attempt)
{
    (void)impostor;
    (void)attempt;
    return prctl(PR_GET_DUMPABLE) == 0 ? 0 : -EPERM;
}

/* Apart from the standard streams, the daemon must not hold any file that is open for writing. */
static long try_descriptors(struct impostor *impostor, const struct attempt *attempt)
{
    DIR *directory = opendir("/proc/self/fd");
    const struct dirent *entry;
    long got = 0;
    uint64_t fd;

    (void)attempt;
    if (!directory)
        return impostor_skip(impostor, "/proc/self/fd cannot be listed");
    while ((entry = readdir(directory)))
        if (number_parse_u64(entry->d_name, &fd) == 0 && fd > STDERR_FILENO && (int)fd != dirfd(directory)) {
            char path[64], target[256];
            snprintf(path, sizeof(path), "/proc/self/fd/%d", (int)fd);
            ssize_t n = readlink(path, target, sizeof(target) - 1);
            target[MAX(n, 0)] = '\0';
            if (target[0] == '/' && (fcntl((int)fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
                got = -EPERM;
        }
    closedir(directory);
    return got;
}

#define NOTHING "=0000000000000000"

static const struct attempt state[] = {
    {"state: it is not root", try_user, .must = MUST_WORK},
    {"state: it is not in root's group", try_group, .must = MUST_WORK},
    {"state: CapEff", try_field, .must = MUST_WORK, .text = "CapEff" NOTHING},
    {"state: CapPrm", try_field, .must = MUST_WORK, .text = "CapPrm" NOTHING},
    {"state: CapInh", try_field, .must = MUST_WORK, .text = "CapInh" NOTHING},
    {"state: CapAmb", try_field, .must = MUST_WORK, .text = "CapAmb" NOTHING},
    {"state: CapBnd", try_field, .must = MUST_WORK, .text = "CapBnd" NOTHING},
    {"state: NoNewPrivs", try_field, .must = MUST_WORK, .text = "NoNewPrivs=1"},
    {"state: Seccomp", try_field, .must = MUST_WORK, .text = "Seccomp=2"},
    {"state: it is not dumpable", try_dumpable, .must = MUST_WORK},
    {"state: no file is open for writing", try_descriptors, .must = MUST_WORK},
};

void state_run(struct impostor *impostor)
{
    impostor_try(impostor, state, ARRAY_SIZE(state));
}

/* Root's files. A file that can be opened is closed again, unchanged. */

enum way { READ, WRITE, CREATE };

static const char *const to_read[] = {"/etc/shadow",     "/proc/kcore",
                                      "/dev/mem",        "/sys/kernel/tracing/trace",
                                      "/proc/1/environ", "/proc/1/root/etc/shadow"};
static const char *const to_write[] = {"/etc/passwd",
                                       "/bin/sh",
                                       "/proc/self/exe",
                                       "/proc/sys/kernel/core_pattern",
                                       "/proc/sysrq-trigger",
                                       "/sys/kernel/tracing/uprobe_events",
                                       "/sys/kernel/tracing/events/sched/sched_switch/trigger",
                                       "/sys/fs/cgroup/cgroup.procs",
                                       "/sys/devices/system/cpu/cpu1/online",
                                       "/proc/1/mem"};
static const char *const to_create[] = {"/etc/impostor", "/usr/bin/impostor", "/run/impostor",
                                        "/sys/fs/cgroup/impostor"};

static long open_read(const char *path)
{
    char byte;
    _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    /* Some files can be opened by all users, but not read by all. */
    return fd < 0 ? -errno : read(fd, &byte, 1) < 0 && errno != EAGAIN ? -errno : 0;
}

static long open_write(const char *path)
{
    _cleanup_(closep) int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);

    return fd < 0 ? -errno : 0;
}

static long create(const char *path)
{
    _cleanup_(closep) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0)
        return -errno;
    unlink(path);
    return 0;
}

static bool is_there(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 || errno != ENOENT;
}

static void try_file(struct impostor *impostor, const char *path, enum way way)
{
    static const char *const verbs[] = {[READ] = "reading", [WRITE] = "opening for writing", [CREATE] = "creating"};
    static const struct must denied = MUST(EACCES, EPERM, EROFS, ETXTBSY, ENOENT, ENXIO);
    long got = way == READ ? open_read(path) : way == WRITE ? open_write(path) : create(path);
    char name[160];

    snprintf(name, sizeof(name), "itself: %s %s", verbs[way], path);
    if (got == -ENOENT && way != CREATE && !is_there(path))
        got = impostor_skip(impostor, "this process sees no such file");
    impostor_judge(impostor, name, got, &denied);
}

/* The daemon's configuration, which is read as root at the next start. */
static long try_configuration(struct impostor *impostor, const struct attempt *attempt)
{
    (void)attempt;
    return impostor->config->file ? open_write(impostor->config->file)
                                  : impostor_skip(impostor, "no configuration file is used");
}

static const struct attempt file_attempts[] = {
    {"itself: opening its configuration for writing", try_configuration, .must = MUST(EACCES, EPERM, EROFS)},
};

void own_files_run(struct impostor *impostor)
{
    for (size_t i = 0; i < ARRAY_SIZE(to_read); i++)
        try_file(impostor, to_read[i], READ);
    for (size_t i = 0; i < ARRAY_SIZE(to_write); i++)
        try_file(impostor, to_write[i], WRITE);
    for (size_t i = 0; i < ARRAY_SIZE(to_create); i++)
        try_file(impostor, to_create[i], CREATE);
    impostor_try(impostor, file_attempts, ARRAY_SIZE(file_attempts));
}

/* System calls that the filter denies, or that the kernel refuses to a process without capabilities. */

static gid_t root_group;
static struct sched_param realtime = {.sched_priority = 50};
static struct file_handle handle;
static struct __user_cap_header_struct capabilities = {.version = _LINUX_CAPABILITY_VERSION_3};
/* CAP_SYS_ADMIN is in the first half of a capability set, CAP_PERFMON in the second. */
static struct __user_cap_data_struct administrator[2] = {{1U << CAP_SYS_ADMIN, 1U << CAP_SYS_ADMIN, 0}},
                                     watcher[2] = {{0}, {1U << (38 - 32), 1U << (38 - 32), 0}};
/* The flags of clone3(2) are in memory, where a filter cannot see them. */
static struct {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
} new_user = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};

#define AT(pointer) ((long)(pointer))

static const struct {
    const char *name;
    long number, arguments[5];
} calls[] = {
    {"perf_event_open", SYS_perf_event_open, {0, 0, -1, -1, 0}},
    {"bpf", SYS_bpf, {BPF_PROG_LOAD, 0, 0}},
    {"bpf of an object", SYS_bpf, {BPF_OBJ_GET, 0, 0}},
    {"io_uring_setup", SYS_io_uring_setup, {1, 0}},
    {"userfaultfd", SYS_userfaultfd, {1}},
    {"keyctl", SYS_keyctl, {0, -3, 0}},
    {"finit_module", SYS_finit_module, {-1, 0, 0}},
    {"kexec_load", SYS_kexec_load, {0, 0, 0, -1}},
    {"mount", SYS_mount, {0, 0, 0, 0, 0}},
    {"fsopen", 430, {0, 0}},
    {"setns", SYS_setns, {-1, 0}},
    {"unshare of the user namespace", SYS_unshare, {CLONE_NEWUSER}},
    {"unshare of the mount namespace", SYS_unshare, {CLONE_NEWNS}},
    {"clone into a new user namespace", SYS_clone, {CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0}},
    {"clone into a new mount namespace", SYS_clone, {CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0}},
    {"clone3 into a new user namespace", SYS_clone3, {AT(&new_user), sizeof(new_user)}},
    {"process_vm_readv of itself", SYS_process_vm_readv, {0, 0, 0, 0, 0}},
    {"pidfd_getfd", SYS_pidfd_getfd, {-1, 0, 0}},
    {"ptrace: PTRACE_TRACEME", SYS_ptrace, {PTRACE_TRACEME, 0, 0, 0}},
    {"syslog", SYS_syslog, {3, 0, 0}},
    {"a packet socket", SYS_socket, {AF_PACKET, SOCK_RAW, 0}},
    {"a raw socket", SYS_socket, {AF_INET, SOCK_RAW, IPPROTO_ICMP}},
    {"setresuid to root", SYS_setresuid, {0, 0, 0}},
    {"setresuid of only the effective user", SYS_setresuid, {-1, 0, -1}},
    {"setresgid to root", SYS_setresgid, {0, 0, 0}},
    {"setgroups to root's group", SYS_setgroups, {1, AT(&root_group)}},
    {"setgroups to no group", SYS_setgroups, {0, 0}},
    {"capset of CAP_SYS_ADMIN", SYS_capset, {AT(&capabilities), AT(administrator)}},
    {"capset of CAP_PERFMON", SYS_capset, {AT(&capabilities), AT(watcher)}},
    {"an ambient capability", SYS_prctl, {PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0}},
    {"turning off no_new_privs", SYS_prctl, {PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0}},
    {"turning off the filter", SYS_prctl, {PR_SET_SECCOMP, 0, 0, 0, 0}},
    {"open_by_handle_at", SYS_open_by_handle_at, {AT_FDCWD, AT(&handle), O_RDONLY}},
    {"chroot", SYS_chroot, {AT("/")}},
    {"changing the mode of /etc/passwd", SYS_fchmodat, {AT_FDCWD, AT("/etc/passwd"), 0644}},
    {"changing the owner of /etc/passwd", SYS_fchownat, {AT_FDCWD, AT("/etc/passwd"), 0, 0, 0}},
    {"a real-time priority", SYS_sched_setscheduler, {0, SCHED_FIFO, AT(&realtime)}},
};

/* EFAULT and similar errors would mean that the filter has let the call through. Only prctl(2) denies a request with
 * EINVAL. */
static long try_call(struct impostor *impostor, const struct attempt *attempt)
{
    const long *a = calls[attempt->number].arguments, number = calls[attempt->number].number;

    (void)impostor;
    long got = syscall(number, a[0], a[1], a[2], a[3], a[4]);
    if (got == 0 && (number == SYS_clone || number == SYS_clone3))
        _exit(EXIT_SUCCESS);
    if (got < 0 && errno == EINVAL && number == SYS_prctl)
        return -EPERM;
    return got < 0 ? -errno : 0;
}

static void try_calls(struct impostor *impostor)
{
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
        char name[96];
        snprintf(name, sizeof(name), "itself: %s", calls[i].name);
        const struct attempt attempt = {name, try_call, .must = MUST(EPERM, ENOSYS, EACCES, EAFNOSUPPORT, EROFS),
                                        .number = i};
        impostor_try_apart(impostor, &attempt, 1);
    }
}

/* The filter permits five ioctl(2) requests for perf events, and those that the daemon needs for other descriptors. */

static int open_counter(struct impostor *impostor)
{
    const struct perf_event_attr attr = {
        .size = sizeof(attr), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK, .disabled = 1};
    int fd = -1;

    ask_event(impostor, &attr, -1, 0, 0, -1, -1, &fd);
    return fd;
}

static long request_of(struct impostor *impostor, unsigned long request, const void *argument)
{
    _cleanup_(closep) int fd = open_counter(impostor);

    if (fd < 0)
        return impostor_skip(impostor, "no counter can be opened");
    return syscall(SYS_ioctl, (long)fd, request, argument) < 0 ? -errno : 0;
}

static long try_ioctl(struct impostor *impostor, const struct attempt *attempt)
{
    static uint64_t words[64];

    return request_of(impostor, attempt->number, attempt->text ? attempt->text : (const char *)words);
}

/* The argument is -1, an invalid descriptor; for SET_OUTPUT it means no output. */
static long try_output(struct impostor *impostor, const struct attempt *attempt)
{
    return request_of(impostor, attempt->number, (const void *)(intptr_t)-1);
}

/* EINVAL means that the filter has let the request through, but the event has no ring buffer. */
static long try_pause(struct impostor *impostor, const struct attempt *attempt)
{
    long got = request_of(impostor, attempt->number, (const void *)1);

    return got == -EINVAL ? 0 : got;
}

/* Injects a key press into the terminal, which root's shell on the same terminal would read. */
static long try_terminal(struct impostor *impostor, const struct attempt *attempt)
{
    if (!impostor->on_terminal)
        return impostor_skip(impostor, "standard input is not a terminal");
    return syscall(SYS_ioctl, STDIN_FILENO, attempt->number, attempt->text) < 0 ? -errno : 0;
}

#define NO_WAY MUST(EPERM, ENOSYS, ENOTTY, EACCES)

static const struct attempt ioctl_attempts[] = {
    {"itself: ioctl ENABLE", try_ioctl, .must = MUST_WORK, .number = PERF_EVENT_IOC_ENABLE},
    {"itself: ioctl DISABLE", try_ioctl, .must = MUST_WORK, .number = PERF_EVENT_IOC_DISABLE},
    {"itself: ioctl ID", try_ioctl, .must = MUST_WORK, .number = PERF_EVENT_IOC_ID},
    {"itself: ioctl SET_OUTPUT", try_output, .must = MUST_WORK, .number = PERF_EVENT_IOC_SET_OUTPUT},
    {"itself: ioctl PAUSE_OUTPUT", try_pause, .must = MUST_WORK, .number = PERF_EVENT_IOC_PAUSE_OUTPUT},
    {"itself: ioctl RESET", try_ioctl, .must = MUST(EPERM), .number = PERF_EVENT_IOC_RESET},
    {"itself: ioctl REFRESH", try_ioctl, .must = MUST(EPERM), .number = PERF_EVENT_IOC_REFRESH},
    {"itself: ioctl PERIOD", try_ioctl, .must = MUST(EPERM), .number = PERF_EVENT_IOC_PERIOD},
    {"itself: ioctl SET_FILTER", try_ioctl, .must = MUST(EPERM), .text = "common_pid == 1",
     .number = PERF_EVENT_IOC_SET_FILTER},
    {"itself: ioctl SET_BPF", try_output, .must = MUST(EPERM), .number = PERF_EVENT_IOC_SET_BPF},
    {"itself: ioctl QUERY_BPF", try_ioctl, .must = MUST(EPERM), .number = PERF_EVENT_IOC_QUERY_BPF},
    {"itself: ioctl MODIFY_ATTRIBUTES", try_ioctl, .must = MUST(EPERM), .number = PERF_EVENT_IOC_MODIFY_ATTRIBUTES},
    {"itself: a perf ioctl that no kernel has", try_ioctl, .must = MUST(EPERM), .number = _IO('$', 99)},
    /* The kernel uses only 32 bits of the request, but a filter sees 64. */
    {"itself: ioctl RESET with bit 32 set", try_ioctl, .must = NO_WAY,
     .number = PERF_EVENT_IOC_RESET | UINT64_C(1) << 32},
    {"itself: ioctl SET_FILTER with bit 32 set", try_ioctl, .must = NO_WAY, .text = "common_pid == 1",
     .number = PERF_EVENT_IOC_SET_FILTER | UINT64_C(1) << 32},
    {"itself: ioctl TIOCSTI", try_terminal, .must = MUST(EPERM, EIO), .text = "x", .number = TIOCSTI},
    {"itself: ioctl TIOCSTI with bit 32 set", try_terminal, .must = MUST(EPERM, EIO), .text = "x",
     .number = TIOCSTI | UINT64_C(1) << 32},
    {"itself: ioctl TIOCLINUX", try_terminal, .must = MUST(EPERM, ENOTTY, EINVAL), .text = "\3", .number = TIOCLINUX},
};

/* System calls by their numbers in other ABIs. */

#define X32_BIT 0x40000000L
#define I386_PTRACE 26
#define I386_UNSHARE 310
#define NO_I386 MUST(EPERM, ENOSYS, ENOTTY, EACCES, EFAULT)

#ifdef __x86_64__
static long try_x32(struct impostor *impostor, const struct attempt *attempt)
{
    (void)impostor;
    return syscall((long)attempt->number | X32_BIT, PTRACE_TRACEME, 0, 0, 0) < 0 ? -errno : 0;
}

/*
 * Makes a system call as 32-bit programs do; only the number and the first argument matter. In a virtual machine on a
 * host that only runs 64-bit code, the instruction kills the process with SIGSEGV, which is reported as EFAULT.
 */
static long try_i386(struct impostor *impostor, const struct attempt *attempt)
{
    long result = (long)attempt->number;

    (void)impostor;
    __asm__ volatile("int $0x80"
                     : "+a"(result)
                     : "b"(attempt->text ? 0x10000000L : 0L), "c"(0L), "d"(0L), "S"(0L)
                     : "memory", "r8", "r9", "r10", "r11");
    return (int)result;
}
#else
static long try_x32(struct impostor *impostor, const struct attempt *attempt)
{
    (void)attempt;
    return impostor_skip(impostor, "this is no x86-64");
}

static long try_i386(struct impostor *impostor, const struct attempt *attempt)
{
    (void)attempt;
    return impostor_skip(impostor, "this is no x86-64");
}
#endif

static const struct attempt abi_attempts[] = {
    {"itself: ptrace by its x32 number", try_x32, .must = NO_WAY, .number = 521},
    {"itself: ptrace by its x86-64 number with the x32 bit", try_x32, .must = NO_WAY, .number = 101},
    {"itself: ptrace by its i386 number", try_i386, .must = NO_I386, .number = I386_PTRACE},
    {"itself: unshare by its i386 number", try_i386, .must = NO_I386, .text = "CLONE_NEWUSER", .number = I386_UNSHARE},
};

void own_calls_run(struct impostor *impostor)
{
    try_calls(impostor);
    impostor_try_apart(impostor, ioctl_attempts, ARRAY_SIZE(ioctl_attempts));
    impostor_try_apart(impostor, abi_attempts, ARRAY_SIZE(abi_attempts));
}

/* Other processes (the opener, the reader, process 1, a root process), and setuid programs. */

/* The errors of the filter and of the kernel; ESRCH and ENOENT if ProtectProc= hides the process. */
#define DENIED MUST(EPERM, EACCES, ENOSYS, ENOENT, ESRCH)

/* Tries all intrusions. Signals and limits of the daemon's own children are left out, since the daemon may change
 * these. */
static void intrude(struct impostor *impostor, const char *whom, pid_t pid)
{
    static const struct must denied = DENIED;
    bool is_own = pid == impostor->opener || (impostor->has_reader && pid == impostor->reader.child.pid);

    for (int i = 0; i < N_INTRUSIONS; i++) {
        char name[96];
        if (is_own && (i == INTRUSION_SIGNAL || i == INTRUSION_LIMIT))
            continue;
        snprintf(name, sizeof(name), "itself: %s of %s", intrusion_name((enum intrusion)i), whom);
        impostor_judge(impostor, name, intrusion_try((enum intrusion)i, pid), &denied);
    }
}

/* Runs a setuid copy of this program, which exits with 0 if it does not run as root, and with 1 if it does. */
static long try_setuid_copy(struct impostor *impostor, const struct attempt *attempt)
{
    int status;

    (void)attempt;
    if (!*impostor->known.gain)
        return impostor_skip(impostor, "no setuid program could be made");
    pid_t pid = fork();
    if (pid == 0) {
        execl(impostor->known.gain, impostor->known.gain, "--gain", (char *)NULL);
        _exit(EXIT_SUCCESS);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -ECHILD;
    return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS ? -EPERM : 0;
}

static long try_program(struct impostor *impostor, const struct attempt *attempt)
{
    int status;

    if (access(attempt->text, X_OK) < 0)
        return impostor_skip(impostor, "%s is missing", attempt->text);
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        if (attempt->number)
            execl(attempt->text, attempt->text, "root", "-c", "true", (char *)NULL);
        else
            execl(attempt->text, attempt->text, "-t", "tmpfs", "none", impostor->known.scratch, (char *)NULL);
        _exit(EXIT_FAILURE);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -ECHILD;
    return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS ? 0 : -EPERM;
}

/* A core dump would contain secrets in the daemon's memory, such as the TLS key and passwords. */
static long try_core(struct impostor *impostor, const struct attempt *attempt)
{
    int status;

    (void)attempt;
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit limits;
        getrlimit(RLIMIT_CORE, &limits);
        limits.rlim_cur = limits.rlim_max;
        setrlimit(RLIMIT_CORE, &limits);
        if (!*impostor->known.scratch || chdir(impostor->known.scratch) < 0)
            (void)!chdir("/tmp");
        signal(SIGABRT, SIG_DFL);
        abort();
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -ECHILD;
    return WIFSIGNALED(status) && WCOREDUMP(status) ? 0 : -EPERM;
}

static const struct attempt process_attempts[] = {
    {"itself: root's setuid program", try_setuid_copy, .must = MUST(EPERM)},
    {"itself: su", try_program, .must = MUST(EPERM), .text = "/bin/su", .number = 1},
    {"itself: mount(8)", try_program, .must = MUST(EPERM), .text = "/bin/mount", .number = 0},
    {"itself: a core dump", try_core, .must = MUST(EPERM)},
};

void own_processes_run(struct impostor *impostor)
{
    intrude(impostor, "the opener", impostor->opener);
    if (impostor->has_reader)
        intrude(impostor, "the reader", impostor->reader.child.pid);
    intrude(impostor, "process 1", 1);
    if (impostor->witness)
        intrude(impostor, "root's process", impostor->witness->pid);
    impostor_try(impostor, process_attempts, ARRAY_SIZE(process_attempts));
}

/* Others */

static void helper_intrude(struct impostor *impostor, int helper, const char *who, const char *whom, pid_t pid)
{
    static const struct must denied = DENIED;

    for (int i = 0; i < N_INTRUSIONS; i++) {
        const struct order order = {.kind = ORDER_PROCESS, .number = (uint32_t)i, .pid = pid};
        char name[96];
        /* A process of the same user may always send signals and read limits. */
        if (helper == impostor->twin && (i == INTRUSION_SIGNAL || i == INTRUSION_LIMIT))
            continue;
        snprintf(name, sizeof(name), "%s: %s of %s", who, intrusion_name((enum intrusion)i), whom);
        impostor_judge(impostor, name, helper_order(helper, &order, -1), &denied);
    }
}

static void helper_intrude_all(struct impostor *impostor, int helper, const char *who)
{
    if (helper < 0) {
        impostor_skip(impostor, "only root can start it before the split");
        impostor_judge(impostor, who, ATTEMPT_SKIPPED, NULL);
        return;
    }
    helper_intrude(impostor, helper, who, "the daemon", getpid());
    helper_intrude(impostor, helper, who, "the opener", impostor->opener);
    if (impostor->has_reader)
        helper_intrude(impostor, helper, who, "the reader", impostor->reader.child.pid);
}

void strangers_run(struct impostor *impostor)
{
    const struct order become = {.kind = ORDER_BECOME, .number = getuid()};

    if (impostor->twin >= 0 && helper_order(impostor->twin, &become, -1) < 0)
        impostor->twin = -1;
    helper_intrude_all(impostor, impostor->accomplice, "an account");
    helper_intrude_all(impostor, impostor->twin, "a process of the daemon's user");
}
