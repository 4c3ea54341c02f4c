/* SPDX-License-Identifier: Apache-2.0 */
/* The impostor's other processes: helpers, which carry out orders, and the witness, a root process that attacks may
 * harm. */
#include <fcntl.h>
#include <grp.h>
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
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compat.h"
#include "tests/impostor/impostor.h"

/* The witness */

#define ADDED 0x11223344U

/* In assembly, so that the second byte of the function is in the middle of an instruction. */
__attribute__((noinline)) unsigned witness_victim(unsigned value)
{
#if defined(__x86_64__) || defined(__i386__)
    __asm__ volatile("addl $0x11223344, %0" : "+r"(value));
    return value;
#else
    __asm__ volatile("" : "+r"(value));
    return value + ADDED;
#endif
}

static struct witness *shared;

static void on_signal(int number)
{
    (void)number;
    atomic_fetch_add(&shared->signals, 1);
}

/* Exits when its parent has ended. PR_SET_PDEATHSIG would not work: the parent then runs as another user, who may not
 * send signals to this process (kernel/signal.c). */
static _Noreturn void be_witness(struct witness *witness, pid_t parent)
{
    for (int number = 1; number < NSIG; number++)
        if (number != SIGSEGV && number != SIGILL && number != SIGBUS && number != SIGTRAP)
            signal(number, on_signal);
    for (unsigned i = 0; getppid() == parent; i++) {
        if (witness_victim(i) != i + ADDED)
            atomic_fetch_add(&witness->wrong, 1);
        atomic_fetch_add(&witness->beats, 1);
        usleep(1000);
    }
    _exit(EXIT_SUCCESS);
}

struct witness *witness_start(void)
{
    struct witness *witness = mmap(NULL, sizeof(*witness), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (witness == MAP_FAILED)
        return NULL;
    shared = witness;
    pid_t parent = getpid(), pid = fork();
    if (pid == 0)
        be_witness(witness, parent);
    witness->pid = pid;
    return pid > 0 ? witness : NULL;
}

bool witness_lives(const struct witness *witness)
{
    unsigned before = atomic_load(&witness->beats);

    for (int i = 0; i < 12000; i++) {
        if (atomic_load(&witness->beats) > before + 3)
            return atomic_load(&witness->wrong) == 0;
        usleep(5000);
    }
    return false;
}

/* Intrusions: what one process may try to do to another */

#define FDS_TRIED 16

static long open_of(pid_t pid, const char *name, int flags)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    _cleanup_(closep) int fd = open(path, flags | O_CLOEXEC);
    return fd < 0 ? -errno : 0;
}

/* Reads from the file as well, since a file that can be opened may still refuse to be read. */
static long read_of(pid_t pid, const char *name)
{
    char path[64], bytes[16];

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = read(fd, bytes, sizeof(bytes));
    return n > 0 ? 0 : n < 0 ? -errno : -EACCES;
}

/* Uses an unmapped address, so that nothing is changed: the kernel checks permissions before the address. */
static long move_memory(pid_t pid, bool write)
{
    unsigned char byte = 0;
    struct iovec ours = {.iov_base = &byte, .iov_len = 1};
    struct iovec theirs = {.iov_base = (void *)(uintptr_t)8, .iov_len = 1};
    ssize_t n =
        write ? process_vm_writev(pid, &ours, 1, &theirs, 1, 0) : process_vm_readv(pid, &ours, 1, &theirs, 1, 0);

    return n >= 0 || errno == EFAULT ? 0 : -errno;
}

/* If the process can be traced, it is stopped, and then continued. */
static long trace(pid_t pid)
{
    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0)
        return -errno;
    ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
    waitpid(pid, NULL, __WALL);
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
    return 0;
}

static long take_file(pid_t pid)
{
    _cleanup_(closep) int process = (int)syscall(SYS_pidfd_open, pid, 0);
    long got = -EBADF;

    if (process < 0)
        return -errno;
    for (int i = 0; i < FDS_TRIED && got == -EBADF; i++) {
        int fd = (int)syscall(SYS_pidfd_getfd, process, i, 0);
        got = fd < 0 ? -errno : 0;
        if (fd >= 0)
            close(fd);
    }
    return got;
}

static long limit(pid_t pid)
{
    struct rlimit limits;

    return prlimit(pid, RLIMIT_NOFILE, NULL, &limits) < 0 ? -errno : 0;
}

long intrusion_try(enum intrusion intrusion, pid_t pid)
{
    switch (intrusion) {
    case INTRUSION_READ_MEMORY:
        return move_memory(pid, false);
    case INTRUSION_WRITE_MEMORY:
        return move_memory(pid, true);
    case INTRUSION_OPEN_MEMORY:
        return open_of(pid, "mem", O_RDWR);
    case INTRUSION_OPEN_ENVIRON:
        return read_of(pid, "environ");
    case INTRUSION_OPEN_ROOT:
        return open_of(pid, "root/etc/shadow", O_RDONLY);
    case INTRUSION_TRACE:
        return trace(pid);
    case INTRUSION_TAKE_FILE:
        return take_file(pid);
    case INTRUSION_SIGNAL:
        return kill(pid, 0) < 0 ? -errno : 0;
    case INTRUSION_LIMIT:
        return limit(pid);
    case N_INTRUSIONS:
        break;
    }
    return -EINVAL;
}

const char *intrusion_name(enum intrusion intrusion)
{
    static const char *const names[N_INTRUSIONS] = {
        [INTRUSION_READ_MEMORY] = "process_vm_readv",
        [INTRUSION_WRITE_MEMORY] = "process_vm_writev",
        [INTRUSION_OPEN_MEMORY] = "opening mem",
        [INTRUSION_OPEN_ENVIRON] = "reading environ",
        [INTRUSION_OPEN_ROOT] = "opening root/etc/shadow",
        [INTRUSION_TRACE] = "PTRACE_SEIZE",
        [INTRUSION_TAKE_FILE] = "pidfd_getfd",
        [INTRUSION_SIGNAL] = "kill",
        [INTRUSION_LIMIT] = "prlimit",
    };

    return names[intrusion];
}

/* Orders */

static long become(uid_t user)
{
    if (setgroups(0, NULL) < 0 || setresgid(user, user, user) < 0 || setresuid(user, user, user) < 0)
        return -errno;
    /* A change of user clears the dumpable flag; it is set again, as for a process started by a shell. */
    return prctl(PR_SET_DUMPABLE, 1) < 0 ? -errno : 0;
}

static long replace(const char *path)
{
    return unlink(path) < 0 || symlink("/bin/sh", path) < 0 ? -errno : 0;
}

#define CALLS 20
#define RIGHT "/impostor/no-such-file"
#define WRONG "/impostor/another-file"

/* Returns the leader's count. In the data of a group, it follows the number of members and two times
 * (perf_event_open(2)).
 */
static uint64_t oracle_count(int fd)
{
    uint64_t values[64] = {0};

    return read(fd, values, sizeof(values)) > 0 ? values[3] : 0;
}

static uint64_t oracle_count_calls(int fd, const char *name)
{
    uint64_t before = oracle_count(fd);

    for (int i = 0; i < CALLS; i++) {
        int opened = open(name, O_RDONLY | O_CLOEXEC);
        if (opened >= 0)
            close(opened);
    }
    return oracle_count(fd) - before;
}

/*
 * Reads memory through a filter on syscalls:sys_enter_openat: the kernel compares the filter's string with the file
 * name in the memory of the program that calls openat(2), and the event's count tells whether they are equal. Returns
 * the number of matches that only the memory contents can explain, or -errno. Since Linux 5.18, filters on strings in
 * user space need ".ustring".
 */
static long oracle_try(int fd)
{
    static const char *const filters[] = {"filename.ustring ~ \"" RIGHT "\"", "filename ~ \"" RIGHT "\""};
    cpu_set_t set;
    long got = -EINVAL;

    CPU_ZERO(&set);
    CPU_SET(0, &set);
    sched_setaffinity(0, sizeof(set), &set);
    for (size_t i = 0; i < ARRAY_SIZE(filters) && got < 0 && got != -EEXIST; i++)
        got = ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filters[i]) < 0 ? -errno : 0;
    if (got < 0)
        return got;
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    uint64_t right = oracle_count_calls(fd, RIGHT), wrong = oracle_count_calls(fd, WRONG);
    return right >= CALLS && wrong < CALLS ? (long)right : -ENODATA;
}

static int kept[HOARD_MAX];
static size_t n_kept;

static long keep(int fd)
{
    if (n_kept == HOARD_MAX)
        return -ENOSPC;
    kept[n_kept] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return kept[n_kept] < 0 ? -errno : (long)++n_kept;
}

static long drop(void)
{
    while (n_kept > 0)
        close(kept[--n_kept]);
    return 0;
}

static long obey(const struct order *order, int fd)
{
    switch ((enum order_kind)order->kind) {
    case ORDER_BECOME:
        return become(order->number);
    case ORDER_POWER:
        return power_try(order, fd);
    case ORDER_ORACLE:
        return oracle_try(fd);
    case ORDER_REPLACE:
        return replace(order->path);
    case ORDER_ADDRESS:
        return map_find_address(fd, order->number);
    case ORDER_PROCESS:
        return intrusion_try((enum intrusion)order->number, order->pid);
    case ORDER_KEEP:
        return keep(fd);
    case ORDER_DROP:
        return drop();
    }
    return -EBADMSG;
}

int server_start(void (*serve)(int socket, void *userdata), void *userdata)
{
    int sockets[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
        return -errno;
    pid_t pid = fork();
    if (pid == 0) {
        close(sockets[0]);
        serve(sockets[1], userdata);
        _exit(EXIT_SUCCESS);
    }
    close(sockets[1]);
    if (pid > 0)
        return sockets[0];
    close(sockets[0]);
    return -errno;
}

static void serve(int socket)
{
    struct order order;

    for (;;) {
        _cleanup_(fd_list_close) struct fd_list fds = {0};
        if (fd_socket_receive(socket, &order, sizeof(order), &fds, NULL) != sizeof(order))
            return;
        int64_t got = obey(&order, fds.n ? fds.fds[0] : -1);
        if (fd_socket_send(socket, &got, sizeof(got), &(struct fd_list){0}) < 0)
            return;
    }
}

static void be_helper(int socket, void *unused)
{
    (void)unused;
    signal(SIGIO, SIG_IGN);
    serve(socket);
}

int helper_start(void)
{
    return server_start(be_helper, NULL);
}

static int address_of(const char *path, struct sockaddr_un *ret)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(ret->sun_path))
        return -ENAMETOOLONG;
    strcpy(ret->sun_path, path);
    return 0;
}

int helper_connect(const char *path)
{
    struct sockaddr_un address;
    int r = address_of(path, &address);
    _cleanup_(closep) int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (r < 0)
        return r;
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
        return -errno;
    return steal_fd(&fd);
}

int helper_listen(const char *path)
{
    struct sockaddr_un address;
    int r = address_of(path, &address);
    _cleanup_(closep) int listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (r < 0)
        return r;
    unlink(path);
    if (listening < 0 || bind(listening, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        chmod(path, 0666) < 0 || listen(listening, 1) < 0)
        return -errno;
    _cleanup_(closep) int fd = accept(listening, NULL, NULL);
    if (fd < 0)
        return -errno;
    signal(SIGIO, SIG_IGN);
    serve(fd);
    return 0;
}

long helper_order(int socket, const struct order *order, int fd)
{
    struct fd_list fds = {.n = fd >= 0, .fds = {fd}}, none;
    int64_t got;
    int r = fd_socket_send(socket, order, sizeof(*order), &fds);

    if (r < 0)
        return r;
    ssize_t n = fd_socket_receive(socket, &got, sizeof(got), &none, NULL);
    return n == sizeof(got) ? (long)got : n < 0 ? (long)n : -EPIPE;
}
