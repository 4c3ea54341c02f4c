/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulates a symboliser or, with the argument "reader", a state file reader that an attacker has taken over: a process
 * in the same jail and with the same descriptors tries what an attacker would try. If root starts the program, it makes
 * the attempts once as root and once as nobody. It prints a line for each attempt; the exit status is 1 if any has an
 * unexpected result.
 *
 * The parent is dumpable, so that only the jail protects it.
 */
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/keyctl.h>
#include <linux/openat2.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "base/error.h"
#include "base/file.h"
#include "process/fdpass.h"
#include "process/sandbox.h"
#include "symbols/symboliser.h"

#define NOBODY 65534
#define PARENT LONG_MIN /* as an argument: replaced by the parent's PID */
#define WORKS INT_MAX   /* the call succeeds */
#define KILLED INT_MIN  /* the process is killed */
#define SYMBOLISER 1    /* the call succeeds for the symboliser, but not for the reader */

static char parent_mem[32], page[4096] __attribute__((aligned(4096)));
static struct open_how how = {.flags = O_RDONLY};
static struct perf_event_attr counter = {.size = sizeof(counter), .type = PERF_TYPE_SOFTWARE};
static union bpf_attr map = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
static struct rlimit more = {1024, 1024}, data = {1 << 20, RLIM_INFINITY};
static struct iovec here = {page, 16}, there = {page, 16};
static struct sockaddr local = {.sa_family = AF_UNIX, .sa_data = "/run/x"};
static struct msghdr empty_message;
static const char *arguments[] = {"true", NULL};
static int pair[2];
static bool is_reader;

#define SIGNED(pointer) ((long)(pointer))

static const struct trial {
    const char *name;
    long number, arguments[6];
    int expected; /* 0 means -EPERM */
} trials[] = {
    /* What the symboliser needs */
    {"memory", SYS_mmap, {0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0}, WORKS},
    {"a table", SYS_memfd_create, {SIGNED("x"), MFD_CLOEXEC | MFD_ALLOW_SEALING}, SYMBOLISER},
    {"a lower memory limit for itself", SYS_prlimit64, {0, RLIMIT_DATA, SIGNED(&data), 0}, SYMBOLISER},
    /* Files */
    {"/etc/shadow", SYS_openat, {AT_FDCWD, SIGNED("/etc/shadow"), O_RDONLY}, 0},
    {"the parent's memory", SYS_openat, {AT_FDCWD, SIGNED(parent_mem), O_RDONLY}, 0},
    {"a file opened with O_PATH", SYS_openat, {AT_FDCWD, SIGNED("/etc/passwd"), O_PATH}, 0},
    {"openat2", SYS_openat2, {AT_FDCWD, SIGNED("/etc/passwd"), SIGNED(&how), sizeof(how)}, 0},
    {"open_by_handle_at", SYS_open_by_handle_at, {AT_FDCWD, SIGNED(page), O_RDONLY}, 0},
    {"a new file", SYS_openat, {AT_FDCWD, SIGNED("/tmp/impostor"), O_WRONLY | O_CREAT, 0600}, 0},
    {"unlink", SYS_unlinkat, {AT_FDCWD, SIGNED("/tmp/impostor"), 0}, 0},
    {"chmod", SYS_fchmodat, {AT_FDCWD, SIGNED("/tmp/impostor"), 0777}, 0},
    {"fchmod of its standard input", SYS_fchmod, {STDIN_FILENO, 0777}, 0},
    {"whether a file exists", SYS_faccessat, {AT_FDCWD, SIGNED("/etc/shadow"), R_OK}, 0},
    {"listing a directory", SYS_getdents64, {STDIN_FILENO, SIGNED(page), sizeof(page)}, 0},
    {"writing to its standard output", SYS_write, {STDOUT_FILENO, SIGNED(page), 1}, 0},
    {"ioctl", SYS_ioctl, {STDIN_FILENO, TIOCSTI, SIGNED(page)}, 0},
    {"fcntl: signals to the parent", SYS_fcntl, {SYMBOLISER_SOCKET, F_SETOWN, PARENT}, 0},
    {"fcntl: other flags", SYS_fcntl, {SYMBOLISER_SOCKET, F_SETFL, O_ASYNC}, 0},
    {"mount", SYS_mount, {SIGNED("none"), SIGNED("/mnt"), SIGNED("tmpfs"), 0, 0}, 0},
    {"chroot", SYS_chroot, {SIGNED("/")}, 0},
    {"unshare", SYS_unshare, {CLONE_NEWUSER}, 0},
    /* Sockets */
    {"a local socket", SYS_socket, {AF_UNIX, SOCK_STREAM, 0}, 0},
    {"a socket pair", SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0, SIGNED(pair)}, 0},
    {"connect", SYS_connect, {SYMBOLISER_SOCKET, SIGNED(&local), sizeof(local)}, 0},
    {"a message over another descriptor", SYS_sendmsg, {STDIN_FILENO, SIGNED(&empty_message), 0}, 0},
    {"the peer's credentials",
     SYS_getsockopt,
     {SYMBOLISER_SOCKET, SOL_SOCKET, SO_PEERCRED, SIGNED(page), SIGNED(pair)},
     0},
    /* Processes */
    {"a process", SYS_clone, {SIGCHLD, 0, 0, 0, 0}, 0},
    {"a program", SYS_execve, {SIGNED("/bin/true"), SIGNED(arguments), 0}, 0},
    {"tracing the parent", SYS_ptrace, {PTRACE_SEIZE, PARENT, 0, 0}, 0},
    {"reading the parent's memory", SYS_process_vm_readv, {PARENT, SIGNED(&here), 1, SIGNED(&there), 1, 0}, 0},
    {"writing to the parent's memory", SYS_process_vm_writev, {PARENT, SIGNED(&here), 1, SIGNED(&there), 1, 0}, 0},
    {"the parent's descriptors", SYS_pidfd_open, {PARENT, 0}, 0},
    {"a signal to the parent", SYS_kill, {PARENT, 0}, 0},
    {"the parent's limits", SYS_prlimit64, {PARENT, RLIMIT_DATA, 0, SIGNED(page)}, 0},
    /* Users and groups */
    {"becoming root", SYS_setresuid, {0, 0, 0}, 0},
    {"capabilities", SYS_capset, {SIGNED(page), SIGNED(page)}, 0},
    {"becoming dumpable", SYS_prctl, {PR_SET_DUMPABLE, 1, 0, 0, 0}, 0},
    {"outliving its parent", SYS_prctl, {PR_SET_PDEATHSIG, 0, 0, 0, 0}, 0},
    {"another filter", SYS_seccomp, {SECCOMP_SET_MODE_FILTER, 0, SIGNED(page)}, 0},
    {"more descriptors", SYS_prlimit64, {0, RLIMIT_NOFILE, SIGNED(&more), 0}, 0},
    {"core files", SYS_prlimit64, {0, RLIMIT_CORE, SIGNED(&more), 0}, 0},
    {"writable and executable memory", SYS_mmap, {0, 4096, 7, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0}, 0},
    {"making written memory executable", SYS_mprotect, {SIGNED(page), sizeof(page), PROT_READ | PROT_EXEC}, 0},
    /* The kernel */
    {"perf_event_open", SYS_perf_event_open, {SIGNED(&counter), 0, -1, -1, 0}, 0},
    {"bpf", SYS_bpf, {BPF_MAP_CREATE, SIGNED(&map), sizeof(map)}, 0},
    {"io_uring", SYS_io_uring_setup, {1, SIGNED(page)}, 0},
    {"userfaultfd", SYS_userfaultfd, {1}, 0},
    {"keyctl", SYS_keyctl, {KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 1}, 0},
#ifdef SYS_open
    {"open", SYS_open, {SIGNED("/etc/passwd"), O_RDONLY}, 0},
    {"fork", SYS_fork, {0}, 0},
#endif
#ifdef SYS_iopl
    {"ports", SYS_iopl, {3}, 0},
#endif
#ifdef __x86_64__
    {"an x32 system call", 0x40000000 | SYS_openat, {AT_FDCWD, SIGNED("/etc/passwd"), O_RDONLY}, KILLED},
#endif
};

struct result {
    size_t trial;
    long value;
};

/* The jailed process */

static long try(const struct trial *trial, pid_t parent)
{
    long a[6];

    for (size_t i = 0; i < ARRAY_SIZE(a); i++)
        a[i] = trial->arguments[i] == PARENT ? parent : trial->arguments[i];
    long value = syscall(trial->number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (value == 0 && trial->number != SYS_mmap && getppid() != parent && getppid() != -1)
        _exit(0); /* this is a child process, which must not exist */
    return value == -1 ? -errno : 0;
}

/* Waits until the parent has checked this process. */
static void wait_for_parent(void)
{
    struct result any;
    int fd;

    fd_socket_receive_one(SYMBOLISER_SOCKET, &any, sizeof(any), &fd);
}

/* The reader's process for a file has only the record socket. */
static int enter_jail(void)
{
    const int sockets[] = {SYMBOLISER_SOCKET, SYMBOLISER_INPUT};
    int r = sandbox_enter(&(struct sandbox){.kind = is_reader ? SANDBOX_READER : SANDBOX_SYMBOLISER,
                                            .fds = sockets,
                                            .n_fds = is_reader ? 1 : 2,
                                            .file_size = SYMBOL_TABLE_SIZE_MAX},
                          NULL, NULL);

    return r == 0 && is_reader ? sandbox_forbid_processes() : r;
}

static void live(int socket, pid_t parent, size_t first)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (dup2(open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY), fd) < 0)
            _exit(EXIT_FAILURE);
    if (dup2(socket, SYMBOLISER_SOCKET) < 0 || dup2(socket, SYMBOLISER_INPUT) < 0 || enter_jail() < 0)
        _exit(SYMBOLISER_UNCONFINED);
    for (size_t i = first; i < ARRAY_SIZE(trials); i++) {
        if (trials[i].expected == KILLED)
            wait_for_parent();
        const struct result result = {i, try(&trials[i], parent)};
        if (fd_socket_send_one(SYMBOLISER_SOCKET, &result, sizeof(result), -1) < 0)
            _exit(EXIT_FAILURE);
    }
    wait_for_parent();
    _exit(EXIT_SUCCESS);
}

/* Its parent */

static unsigned n_bad;

static void report(const char *who, const char *what, const char *found, const char *expected)
{
    bool good = str_equal(found, expected);

    n_bad += !good;
    printf("%s %s: %s: %s%s%s\n", good ? "ok    " : "NOT OK", who, what, found, good ? "" : ", expected ",
           good ? "" : expected);
    fflush(stdout);
}

static const char *name_of(long value)
{
    return value == KILLED ? "killed" : value < 0 ? error_name((int)value) : "works";
}

static long expected_of(const struct trial *trial)
{
    if (trial->expected == SYMBOLISER)
        return is_reader ? -EPERM : WORKS;
    return trial->expected ? trial->expected : -EPERM;
}

static void report_trial(const char *who, size_t n, long value)
{
    const struct trial *trial = &trials[n];

    report(who, trial->name, name_of(value), name_of(expected_of(trial)));
}

/* Reports whether a line of /proc/PID/status has the expected value. */
static void report_status(const char *who, pid_t pid, const char *key, const char *expected)
{
    _cleanup_(freep) char *text = NULL;
    char path[64], start[32], found[128] = "nothing";

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    snprintf(start, sizeof(start), "\n%s:", key);
    const char *line = file_read(AT_FDCWD, path, 1 << 16, &text, NULL) == 0 ? strstr(text, start) : NULL;
    if (line) {
        line += strlen(start) + strspn(line + strlen(start), "\t ");
        snprintf(found, sizeof(found), "%.*s", (int)strcspn(line, "\n"), line);
    }
    report(who, key, found, expected);
}

static void report_state(const char *who, pid_t pid, bool was_root)
{
    static const char *const sets[] = {"CapInh", "CapPrm", "CapEff", "CapAmb", "CapBnd"};
    struct stat status;
    char path[64];

    report_status(who, pid, "Uid", "65534\t65534\t65534\t65534");
    report_status(who, pid, "Gid", "65534\t65534\t65534\t65534");
    report_status(who, pid, "Groups", "");
    for (size_t i = 0; i < ARRAY_SIZE(sets) - !was_root; i++)
        report_status(who, pid, sets[i], "0000000000000000");
    report_status(who, pid, "NoNewPrivs", "1");
    report_status(who, pid, "Seccomp", "2");
    snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    report(who, "who may access its memory", stat(path, &status) == 0 && status.st_uid == 0 ? "root alone" : "its user",
           "root alone");
}

/* Runs a process that makes the trials from `first` on until it ends. Returns the number of the next trial. */
static size_t observe(const char *who, size_t first, bool was_root)
{
    int sockets[2], fd, status = 0;
    struct result result;
    size_t next = first;
    pid_t parent = getpid();

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
        return ARRAY_SIZE(trials);
    pid_t child = fork();
    if (child == 0)
        live(sockets[1], parent, first);
    close(sockets[1]);
    while (next < ARRAY_SIZE(trials) && fd_socket_receive_one(sockets[0], &result, sizeof(result), &fd) == 0) {
        report_trial(who, result.trial, result.value);
        next = result.trial + 1;
        if (next < ARRAY_SIZE(trials) && trials[next].expected != KILLED)
            continue;
        report_state(who, child, was_root);
        fd_socket_send_one(sockets[0], &result, sizeof(result), -1);
    }
    close(sockets[0]);
    waitpid(child, &status, 0);
    if (next < ARRAY_SIZE(trials) && WIFEXITED(status) && WEXITSTATUS(status) == SYMBOLISER_UNCONFINED) {
        report(who, "the jail", "cannot be entered", "closed");
        return ARRAY_SIZE(trials);
    }
    if (next < ARRAY_SIZE(trials))
        report_trial(who, next++, WIFSIGNALED(status) ? KILLED : 0);
    return next;
}

static void observe_all(const char *who, bool was_root)
{
    snprintf(parent_mem, sizeof(parent_mem), "/proc/%d/mem", (int)getpid());
    for (size_t next = 0; next < ARRAY_SIZE(trials);)
        next = observe(who, next, was_root);
}

static void become_nobody(void)
{
    if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 || setresuid(NOBODY, NOBODY, NOBODY) < 0 ||
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0) {
        perror("cannot become nobody");
        exit(EXIT_FAILURE);
    }
}

int main(int argc, char **argv)
{
    is_reader = argc > 1 && str_equal(argv[1], "reader");
    signal(SIGPIPE, SIG_IGN);
    if (geteuid() == 0) {
        observe_all("as root", true);
        become_nobody();
        observe_all("as nobody", false);
    } else {
        observe_all("as a user", false);
    }
    printf("%u attempts had an unexpected result\n", n_bad);
    return n_bad ? EXIT_FAILURE : EXIT_SUCCESS;
}
